"""Writes a graph with names, features and labels, and describes it.

`edges.csv.gz` (header, two names), `x.npz` (scipy CSR, f32), `names.txt` (the order of the rows of `x.npz`) and `labels.csv`
(`name,label`; an empty cell means unlabelled) are a graph as a user has it. `graph.npz` is the same with plain numbers, in the
layout of gnn-benchmark, with label -1 for unlabelled nodes.
"""

import collections
import csv
import gzip
import hashlib
import io
import pathlib

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def write(out, source, header, names, edges, x, labels, smallest):
    """Writes the folder `out`. `edges` are pairs of node numbers, `labels` one text per node; classes of fewer than `smallest`
    nodes become unlabelled."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    assert len(names) == len(set(names)) == x.shape[0] == len(labels)
    edges = sorted({(u, v) for u, v in edges if u != v})
    sizes = collections.Counter(labels)
    labels = [label if sizes[label] >= smallest else "" for label in labels]
    classes = sorted(set(labels) - {""})
    number = {name: k for k, name in enumerate(classes)}
    y = np.array([number.get(label, -1) for label in labels])
    x = x.tocsr().astype(np.float32)
    x.sort_indices()

    rows = io.StringIO()
    table = csv.writer(rows, lineterminator="\n")
    table.writerow(header)
    table.writerows((names[u], names[v]) for u, v in edges)
    with open(out / "edges.csv.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(rows.getvalue().encode())
    sp.save_npz(out / "x.npz", x)
    (out / "names.txt").write_text("".join(f"{name}\n" for name in names))
    with open(out / "labels.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("name", "label"), *zip(names, labels)])

    ends = np.array(edges).T
    a = sp.coo_matrix((np.ones(ends.shape[1], np.float32), ends), (len(names),) * 2).tocsr()
    a = a.maximum(a.T).tocsr()
    a.sort_indices()
    parts = {"adj": a, "attr": x}
    arrays = {
        f"{part}_{key}": np.asarray(value)
        for part, m in parts.items()
        for key, value in {"data": m.data, "indices": m.indices, "indptr": m.indptr, "shape": m.shape}.items()
    }
    np.savez_compressed(out / "graph.npz", **arrays, labels=y, class_names=np.array(classes))
    (out / "about.txt").write_text(describe(source, a, x, y, classes))
    print((out / "about.txt").read_text(), end="")
    for file in sorted(path for path in out.iterdir() if path.name != "about.txt"):
        print(hashlib.sha256(file.read_bytes()).hexdigest(), file.name)


def describe(source, a, x, y, classes):
    degree = np.diff(a.indptr)
    u, v = a.nonzero()
    both = (y[u] >= 0) & (y[v] >= 0)
    same = np.mean(y[u[both]] == y[v[both]]) if both.any() else np.nan
    sizes = np.bincount(y[y >= 0])
    return (
        f"{source}\n"
        f"{len(y)} nodes, {a.nnz // 2} edges, {x.shape[1]} features ({x.nnz} non-zeros)\n"
        f"{len(classes)} classes of {sizes.min()} to {sizes.max()} nodes, {np.sum(y < 0)} nodes without a label\n"
        f"{np.sum(degree == 0)} isolated nodes, {connected_components(a)[0]} components, highest degree {degree.max()}, "
        f"{np.sum(np.diff(x.indptr) == 0)} rows without features\n"
        f"{100 * same:.1f} % of the edges between labelled nodes join nodes of one class "
        f"({100 * np.sum((sizes / sizes.sum()) ** 2):.1f} % of random pairs do)\n"
    )
