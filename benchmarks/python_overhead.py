"""What `fit` in Python costs on top of the stages in Rust, which it calls.

    python benchmarks/python_overhead.py cora --data-dir ../shared/data
    python benchmarks/python_overhead.py synthetic-arxiv --model sce --rounds 3

`fit` is given X and a scipy adjacency as anybody has them. The stages are timed within the same call, so
that a busy machine does not blur the difference; what is left is reading the graph and X, and Python
itself.
"""

import argparse
import statistics
import time

import numpy as np
import scipy.sparse
import structcomp
from structcomp import StructComp, _native

spent = 0.0


def timed(work):
    """The same function, with its time added to `spent`."""

    def call(*args, **kwargs):
        global spent
        started = time.perf_counter()
        result = work(*args, **kwargs)
        spent += time.perf_counter() - started
        return result

    return call


class Timed:
    """An encoder whose embedding is timed."""

    def __init__(self, encoder):
        self.embed = timed(encoder.embed)


def main():
    global spent
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--data-dir")
    parser.add_argument("--model", default="cca-ssg")
    parser.add_argument("--clusters", type=int)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()

    data = structcomp.load_dataset(args.data, data_dir=args.data_dir)
    n = data.graph.n_nodes
    ones = np.ones(len(data.graph.indices), np.float32)
    adjacency = scipy.sparse.csr_array((ones, data.graph.indices, data.graph.indptr), (n, n))
    x = data.X
    if isinstance(x, np.ndarray):
        # In memory of numpy's, as anybody has it; its pages are large.
        x = x.copy()
    else:
        x = scipy.sparse.csr_array((x.data, x.indices, x.indptr), x.shape)
    tiny = structcomp.as_graph(([0], [1]))
    started = time.perf_counter()
    for _ in range(100):
        _native.partition(tiny, "{}", 0)
    call = (time.perf_counter() - started) / 100

    partition, train = timed(_native.partition), timed(_native.train)
    _native.partition = partition
    _native.train = lambda *a, **k: (lambda e, u, losses: (Timed(e), u, losses))(*train(*a, **k))
    rounds = []
    for _ in range(args.rounds + 1):
        # A new one, so that what the last one holds is freed before the clock starts.
        model = StructComp(model=args.model, n_clusters=args.clusters, random_state=0)
        spent = 0.0
        started = time.perf_counter()
        model.fit(x, adjacency=adjacency)
        rounds.append((spent, time.perf_counter() - started))
    core, whole = (statistics.median(side) for side in zip(*rounds[1:]))
    over = statistics.median(whole - core for core, whole in rounds[1:])
    print(
        f"{args.data}, {args.model}, median of {args.rounds}: fit {whole:.4f} s, stages in Rust {core:.4f} s"
    )
    print(f"overhead {1e3 * over:.1f} ms, {100 * over / core:.2f} %; a call into Rust {1e6 * call:.0f} µs")


main()
