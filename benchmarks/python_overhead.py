"""The overhead of `fit` in Python compared with Rust.

    cargo build --release --example bench_checks
    python benchmarks/python_overhead.py target/release/examples/bench_checks cora
    python benchmarks/python_overhead.py target/release/examples/bench_checks synthetic-arxiv --model sce

`fit` receives X and a scipy adjacency matrix. The stages are timed within the same call, so that other load on
the machine does not hide the difference. The rest is reading the graph and X, and Python itself. A caller in
Rust also has to build and check a graph and features from the same arrays; a separate process measures that in
alternating rounds.
"""

import argparse
import statistics
import time

import numpy as np
import scipy.sparse
import structcomp
from rounds import Side
from structcomp import StructComp, _native

spent = 0.0


def timed(work):
    """Wraps a function and adds its time to `spent`."""

    def call(*args, **kwargs):
        global spent
        started = time.perf_counter()
        result = work(*args, **kwargs)
        spent += time.perf_counter() - started
        return result

    return call


class Timed:
    """A fitted model whose embedding is timed."""

    def __init__(self, model):
        self.model = model
        self.embed = timed(model.embed)

    def __getattr__(self, name):
        return getattr(self.model, name)


def main():
    global spent
    parser = argparse.ArgumentParser()
    parser.add_argument("checks", help="the program bench_checks")
    parser.add_argument("data")
    parser.add_argument("--data-dir", default="../shared/data")
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
        # Allocated by numpy, as usual, which uses huge pages.
        x = x.copy()
    else:
        x = scipy.sparse.csr_array((x.data, x.indices, x.indptr), x.shape)
    tiny = structcomp.as_graph(([0], [1]))
    started = time.perf_counter()
    for _ in range(100):
        _native.partition(tiny, "{}", 0)
    call = (time.perf_counter() - started) / 100

    fit = timed(_native.fit)
    _native.fit = lambda *args, **kwargs: Timed(fit(*args, **kwargs))
    checks = Side("checks", [args.checks, args.data, args.data_dir])
    rounds = []
    for _ in range(args.rounds + 1):
        checks.run()
        # A new estimator, so that the memory of the last one is freed before the measurement.
        model = StructComp(model=args.model, n_clusters=args.clusters, random_state=0, n_threads=2)
        spent = 0.0
        started = time.perf_counter()
        model.fit(x, adjacency=adjacency)
        rounds.append((spent, time.perf_counter() - started))
    checks.finish()
    stages, whole = (statistics.median(side) for side in zip(*rounds[1:]))
    reading = statistics.median(whole - stages for stages, whole in rounds[1:])
    checked = statistics.median(checks.seconds[1:])
    over = reading - checked
    print(f"{args.data}, {args.model}, median of {args.rounds}: fit {whole:.4f} s, its stages {stages:.4f} s")
    print(f"reading the graph and X, and Python itself: {1e3 * reading:.1f} ms; the same checks in Rust {1e3 * checked:.1f} ms")
    print(f"overhead {1e3 * over:.1f} ms, {100 * over / (stages + checked):.2f} %; a call into Rust {1e6 * call:.0f} µs")


main()
