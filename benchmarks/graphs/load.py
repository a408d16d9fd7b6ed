"""Reads a graph with features, labels and splits, and packs it into one `.npz` in the layout of gnn-benchmark.

Reads what `structcomp convert` and `structcomp generate` write, folders like those of `folder.py`, and `.npz` files of
gnn-benchmark. Splits that come with the data are packed as masks `train`, `validation` and `test`, one row per split.

usage: load.py GRAPH OUT.npz
"""

import csv
import gzip
import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sp


class Graph:
    """`a` is symmetric, without self loops and with ones; `y` is -1 for unlabelled nodes; `splits` is a list of
    (training, validation, test) nodes."""

    def __init__(self, a, x, y, splits=()):
        a = sp.csr_matrix(a)
        a = a.maximum(a.T).tolil()
        a.setdiag(0)
        self.a = (a.tocsr() != 0).astype(np.float32)
        self.x, self.y, self.splits = sp.csr_matrix(x, dtype=np.float32), np.asarray(y, np.int64), list(splits)


def read(path):
    path = pathlib.Path(path)
    if path.is_dir():
        return from_structcomp(path) if (path / "graph.scg").exists() else from_tables(path)
    file = np.load(path, allow_pickle=False)
    parts = ([file[f"{part}_{key}"] for key in ("data", "indices", "indptr", "shape")] for part in ("adj", "attr"))
    a, x = (sp.csr_matrix(tuple(arrays), shape) for *arrays, shape in parts)
    masks = zip(*(file[part] for part in ("train", "validation", "test"))) if "train" in file else ()
    return Graph(a, x, file["labels"], [tuple(np.flatnonzero(mask) for mask in split) for split in masks])


def from_structcomp(folder):
    file = np.fromfile(folder / "graph.scg", np.uint8)
    nodes, entries, starts, neighbours = (int(value) for value in file[16:48].view("<u8"))
    indptr = file[starts : starts + 8 * (nodes + 1)].view("<u8").astype(np.int64)
    indices = file[neighbours : neighbours + 4 * entries].view("<u4").astype(np.int64)
    a = sp.csr_matrix((np.ones(entries, np.float32), indices, indptr), (nodes, nodes))
    about = json.loads((folder / "dataset.json").read_text())
    if about["features"]["kind"] == "dense":
        x = np.load(folder / "features.npy")
    else:
        parts = (np.load(folder / f"features.{part}.npy") for part in ("data", "indices", "indptr"))
        x = sp.csr_matrix(tuple(parts), (nodes, about["features"]["width"]))
    of_name = json.loads((folder / "splits.json").read_text()) if (folder / "splits.json").exists() else []
    splits = [s for of in of_name if of["name"] == "geom-gcn" for s in of["splits"]]
    parts = [tuple(np.array(split[part], np.int64) for part in ("train", "validation", "test")) for split in splits]
    return Graph(a, x, np.load(folder / "labels.npy"), parts)


def from_tables(folder):
    names = (folder / "names.txt").read_text().splitlines()
    number = {name: k for k, name in enumerate(names)}
    with gzip.open(folder / "edges.csv.gz", "rt", newline="") as file:
        ends = np.array([(number[u], number[v]) for u, v in list(csv.reader(file))[1:]]).T
    a = sp.coo_matrix((np.ones(ends.shape[1], np.float32), ends), (len(names),) * 2)
    with open(folder / "labels.csv", newline="") as file:
        of_name = dict(list(csv.reader(file))[1:])
    classes = {name: k for k, name in enumerate(sorted(set(of_name.values()) - {""}))}
    return Graph(a, sp.load_npz(folder / "x.npz"), [classes.get(of_name[name], -1) for name in names])


def pack(graph, out):
    arrays = {
        f"{part}_{key}": np.asarray(value)
        for part, m in (("adj", graph.a), ("attr", graph.x))
        for key, value in {"data": m.data, "indices": m.indices, "indptr": m.indptr, "shape": m.shape}.items()
    }
    for k, part in enumerate(("train", "validation", "test") if graph.splits else ()):
        arrays[part] = np.zeros((len(graph.splits), len(graph.y)), bool)
        for row, split in zip(arrays[part], graph.splits):
            row[split[k]] = True
    np.savez_compressed(out, **arrays, labels=graph.y)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = read(sys.argv[1])
    pack(found, sys.argv[2])
    counts = f"{len(found.y)} nodes, {found.a.nnz // 2} edges, {found.x.shape[1]} features"
    print(f"{counts}, {found.y.max() + 1} classes, {len(found.splits)} splits")
