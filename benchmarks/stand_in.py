"""Embeddings of graphs without features: structcomp's stand-ins, node2vec (PecanPy) and the spectral embedding of scikit-network.

usage: stand_in.py OUR_BINARY [DATASET...]        runs the comparison
       stand_in.py --theirs TOOL GRAPH.npz OUT    runs one of the other tools

The features of the graphs are taken away. Every tool makes 128 columns with two threads, each in its own process, and the
tools take turns. The seconds of structcomp are those of the whole process; the imports of the others are not counted. Best
of ROUNDS (1). Accuracy: logistic regression on 20 random training nodes per class, ten splits, where C is chosen by
cross-validation inside the training nodes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp

from rounds import SETTINGS

DATA = pathlib.Path(os.environ.get("STRUCTCOMP_DATA", "../shared/data")).resolve()
ALL = "cora citeseer pubmed amazon-photo amazon-computers chameleon squirrel actor debian".split()
WIDTH, SPLITS = 128, 10
C = [0.1, 1, 10, 100, 1000]


def node2vec(graph):
    """PecanPy: p = q = 1, ten walks of length 80 from each node, window ten, one epoch."""
    from pecanpy.pecanpy import SparseOTF

    def embed():
        walks = SparseOTF(p=1, q=1, workers=2, random_state=0)
        walks.indptr, walks.indices = graph.indptr.astype(np.uint32), graph.indices.astype(np.uint32)
        walks.data = np.ones(graph.nnz, np.float32)
        walks.set_node_ids(list(map(str, range(graph.shape[0]))))
        return walks.embed(dim=WIDTH, num_walks=10, walk_length=80, window_size=10, epochs=1)

    return embed


def spectral(graph):
    from sknetwork.embedding import Spectral

    return lambda: Spectral(WIDTH).fit_transform(graph)


THEIRS = {"node2vec (PecanPy)": node2vec, "spectral (scikit-network)": spectral}
OURS = {"`position`": "position", "`degree`": "degree"}


def theirs(tool, graph, out):
    embed = THEIRS[tool](sp.load_npz(graph))
    start = time.perf_counter()
    z = embed()
    print(time.perf_counter() - start)
    np.save(out, z.astype(np.float32))


def run(command):
    start = time.perf_counter()
    said = subprocess.run([str(part) for part in command], env=os.environ | SETTINGS, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, said.stdout


def without_features(binary, name, folder):
    """Writes the graph for both sides; returns its labels, with -1 for none."""
    files = [DATA / name / "edges.csv.gz", "--labels", DATA / name / "labels.csv"]
    run([binary, "convert", *(files if files[0].exists() else [DATA / name]), folder / "data"])
    run([binary, "convert", folder / "data" / "graph.scg", folder / "edges.csv", "--part", "edges"])
    labels = np.load(folder / "data" / "labels.npy").astype(int)
    u, v = np.loadtxt(folder / "edges.csv", int, delimiter=",", skiprows=1, unpack=True)
    half = sp.coo_matrix((np.ones(len(u)), (u, v)), (len(labels), len(labels)))
    graph = (half + half.T).tocsr()
    graph.sort_indices()
    sp.save_npz(folder / "graph.npz", graph)
    return labels


def accuracy(z, labels):
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    # To the usual size of features; C is a matter of scale.
    z = z - z.mean(0)
    z = z / np.sqrt((z**2).sum(1).mean())
    rng = np.random.default_rng(0)

    def right(train, test, c):
        model = LogisticRegression(C=c, max_iter=200, tol=1e-3).fit(z[train], labels[train])
        return (model.predict(z[test]) == labels[test]).mean()

    found = []
    for _ in range(SPLITS):
        classes = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        train = np.concatenate([rng.permutation(nodes)[:20] for nodes in classes])
        test = np.setdiff1d(np.flatnonzero(labels >= 0), train)
        folds = [(train[np.arange(len(train)) % 3 != fold], train[fold::3]) for fold in range(3)]
        found.append(right(train, test, max(C, key=lambda c: sum(right(*fold, c) for fold in folds))))
    return 100 * np.mean(found), 100 * np.std(found)


def compare(binary, name, folder):
    labels = without_features(binary, name, folder)
    seconds = {tool: [] for tool in [*OURS, *THEIRS]}
    for _ in range(int(os.environ.get("ROUNDS", 1))):
        for tool, kind in OURS.items():
            flags = ["--stand-in", kind, "--stand-in-width", WIDTH]
            seconds[tool].append(run([binary, "convert", folder / "data" / "graph.scg", folder / f"{tool}.npy", *flags])[0])
        for tool in THEIRS:
            said = run([sys.executable, __file__, "--theirs", tool, folder / "graph.npz", folder / f"{tool}.npy"])[1]
            seconds[tool].append(float(said.split()[-1]))
    for tool, times in seconds.items():
        mean, deviation = accuracy(np.load(folder / f"{tool}.npy").astype(float), labels)
        print(f"| {name} | {tool} | {mean:.1f} ± {deviation:.1f} | {min(times):.2f} |", flush=True)


def main(binary, names):
    print("| graph | features | accuracy, % | seconds |\n|---|---|---:|---:|", flush=True)
    for name in names or ALL:
        with tempfile.TemporaryDirectory() as folder:
            compare(binary, name, pathlib.Path(folder))


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(*sys.argv[2:])
    else:
        main(pathlib.Path(sys.argv[1]), sys.argv[2:])
