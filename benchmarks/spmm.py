"""Two hops of message passing: structcomp compared with sparse CSR products in PyTorch.

usage: spmm.py OUR_BINARY          runs the comparison
       spmm.py --theirs FOLDER     runs the other side
"""

import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp

from rounds import compare

NODES, EDGES, WIDTH = 169_343, 1_157_799, 128


def graph(rng):
    """A symmetric 0/1 matrix with power-law degrees and randomly ordered nodes."""
    weight = rng.permutation((np.arange(NODES) + 10.0) ** -0.6)
    ladder = np.cumsum(weight / weight.sum())
    u, v = (np.searchsorted(ladder, rng.random(EDGES * 6 // 5)).clip(max=NODES - 1) for _ in range(2))
    keys = np.unique(np.minimum(u, v)[u != v] * NODES + np.maximum(u, v)[u != v])
    u, v = np.divmod(rng.permutation(keys)[:EDGES], NODES)
    ones = np.ones(2 * len(u), np.float32)
    matrix = sp.csr_matrix((ones, (np.r_[u, v], np.r_[v, u])), shape=(NODES, NODES))
    matrix.sort_indices()
    return matrix


def write(folder):
    rng = np.random.default_rng(0)
    matrix = graph(rng)
    matrix.indptr.astype("<u8").tofile(folder / "offsets.bin")
    matrix.indices.astype("<u4").tofile(folder / "targets.bin")
    rng.standard_normal((NODES, WIDTH)).astype("<f4").tofile(folder / "features.bin")
    return matrix.nnz


def theirs(folder):
    import torch

    warnings.filterwarnings("ignore", message="Sparse")
    torch.set_num_threads(2)
    offsets = np.fromfile(folder / "offsets.bin", "<u8").astype(np.int64)
    targets = np.fromfile(folder / "targets.bin", "<u4").astype(np.int64)
    a = sp.csr_matrix((np.ones(len(targets)), targets, offsets), shape=(NODES, NODES))
    a = (a + sp.identity(NODES, format="csr")).tocsr()
    scale = sp.diags(np.diff(a.indptr) ** -0.5)
    a = (scale @ a @ scale).tocsr().astype(np.float32)
    a.sort_indices()
    # 64-bit indices are PyTorch's default and no slower here than 32-bit ones.
    parts = (torch.from_numpy(part) for part in (a.indptr.astype(np.int64), a.indices.astype(np.int64), a.data))
    a_hat = torch.sparse_csr_tensor(*parts, size=(NODES, NODES))
    x = torch.from_numpy(np.fromfile(folder / "features.bin", "<f4").reshape(NODES, WIDTH))
    print("ready", flush=True)
    y = None
    for _ in sys.stdin:
        del y
        start = time.perf_counter()
        y = a_hat @ (a_hat @ x)
        print(time.perf_counter() - start, flush=True)
    y.numpy().tofile(folder / "theirs.bin")


def main(binary):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        entries = write(folder)
        print(f"{NODES} nodes, {entries} entries, {WIDTH} features, two hops, two threads")
        compare([binary, folder], [sys.executable, __file__, "--theirs", folder], 30)
        a, b = (np.fromfile(folder / name, "<f4") for name in ("ours.bin", "theirs.bin"))
        error = np.abs(a - b).max()
        print(f"largest difference {error:.1e}")
        if not error < 1e-4:
            sys.exit("the results differ")


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(pathlib.Path(sys.argv[2]))
    else:
        main(pathlib.Path(sys.argv[1]))
