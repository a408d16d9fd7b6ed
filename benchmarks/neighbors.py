"""The ten nearest rows by cosine: structcomp compared with faiss's flat index.

usage: neighbors.py OUR_BINARY [ROWSxWIDTHxQUERIES...]    runs the comparison
       neighbors.py --theirs FOLDER                       runs the other side
"""

import pathlib
import sys
import tempfile
import time

import numpy as np

from rounds import compare

COUNT = 10
SIZES = ("65536x256x10000", "1000000x128x2000")


def write(folder, rows, width, queries):
    """Rows around a thousand centres, and some of them, a little moved, as queries."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((1000, width), np.float32)
    x = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, (rows, width))
    for start in range(0, rows, 1 << 16):
        block = x[start : start + (1 << 16)]
        block[:] = centres[rng.integers(0, 1000, len(block))] + rng.standard_normal(block.shape, np.float32)
    some = x[rng.choice(rows, queries, replace=False)]
    np.save(folder / "queries.npy", some + 0.1 * rng.standard_normal(some.shape, np.float32))


def theirs(folder):
    import faiss

    faiss.omp_set_num_threads(2)
    x, queries = (np.load(folder / name) for name in ("rows.npy", "queries.npy"))
    faiss.normalize_L2(x)
    faiss.normalize_L2(queries)
    index = faiss.IndexFlatIP(x.shape[1])
    index.add(x)
    del x
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        _, found = index.search(queries, COUNT)
        print(time.perf_counter() - start, flush=True)
    found.astype("<u4").tofile(folder / "theirs.bin")


def main(binary, sizes):
    for size in sizes or SIZES:
        rows, width, queries = (int(number) for number in size.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write(folder, rows, width, queries)
            print(f"{rows} rows of {width}, {queries} queries, two threads")
            compare([binary, folder, COUNT], [sys.executable, __file__, "--theirs", folder], 7)
            a, b = (np.fromfile(folder / name, "<u4").reshape(queries, COUNT) for name in ("ours.bin", "theirs.bin"))
            same = np.mean([len(np.intersect1d(*pair)) for pair in zip(a, b)]) / COUNT
            print(f"{100 * same:.3f} % of the rows found are the same")
            if same < 0.999:
                sys.exit("the results differ")


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(pathlib.Path(sys.argv[2]))
    else:
        main(pathlib.Path(sys.argv[1]), sys.argv[2:])
