"""Reads a SNAP edge list of five million edges: structcomp compared with pandas and scipy.

usage: load.py OUR_BINARY        runs the comparison
       load.py --theirs FILE     runs the other side
"""

import pathlib
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import scipy.sparse as sp

from rounds import compare

NODES, EDGES = 1_000_000, 5_000_000


def write(path):
    """Writes a graph with power-law degrees, gaps in the ids, and comments at the start and in between."""
    rng = np.random.default_rng(0)
    ladder = np.cumsum((np.arange(NODES) + 10.0) ** -0.7)
    ids = rng.permutation(np.sort(rng.choice(4 * NODES, NODES, replace=False)))
    u, v = (ids[np.searchsorted(ladder, rng.random(EDGES) * ladder[-1]).clip(max=NODES - 1)] for _ in range(2))
    with open(path, "w") as file:
        file.write("# Undirected graph, made up\n# FromNodeId\tToNodeId\n")
        for part in np.array_split(np.arange(EDGES), 50):
            pd.DataFrame({"u": u[part], "v": v[part]}).to_csv(file, sep="\t", header=False, index=False)
            file.write("# a comment in between\n")


def theirs(path):
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        table = pd.read_csv(path, sep="\t", comment="#", header=None, names=["u", "v"], dtype=np.int64)
        # Three times as fast as numpy.unique.
        ends, ids = pd.factorize(table.to_numpy().ravel(), sort=True)
        u, v = ends.reshape(-1, 2).T
        u, v = u[u != v], v[u != v]
        ones = np.ones(len(u), np.int8)
        matrix = sp.coo_matrix((ones, (u, v)), shape=(len(ids), len(ids))).tocsr()
        matrix = matrix.maximum(matrix.T).tocsr()
        matrix.sort_indices()
        seconds = time.perf_counter() - start
        print(seconds, len(ids), matrix.nnz // 2, flush=True)
        del table, ids, ends, u, v, ones, matrix


def main(binary):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "edges.txt"
        write(path)
        print(f"{EDGES} lines, {path.stat().st_size / 2**20:.0f} MiB, two threads")
        ours, theirs = compare([binary, path], [sys.executable, __file__, "--theirs", path], 7)
        print(f"nodes and edges: ours {' '.join(ours.facts)}, theirs {' '.join(theirs.facts)}")
        if ours.facts != theirs.facts:
            sys.exit("the graphs differ")


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(sys.argv[2])
    else:
        main(pathlib.Path(sys.argv[1]))
