"""From process start to an evaluated embedding of Cora: structcomp compared with the same steps in one Python process.

usage: pipeline.py OUR_BINARY                     runs the comparison
       pipeline.py --theirs MODEL RUN.json OUT    runs the other side

The Python side uses PyTorch (models.py), KaMinPar and scikit-learn. structcomp also evaluates the untrained features and writes
a report page.
"""

import json
import math
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

from rounds import SETTINGS

MODELS = ["sce", "coles", "grace", "cca-ssg"]
DATA = pathlib.Path(os.environ.get("STRUCTCOMP_DATA", "../shared/data")).resolve()


def cora():
    """Features, adjacency and labels."""
    import numpy as np
    import scipy.sparse as sp

    # The pickled files refer to modules of an older scipy.
    warnings.filterwarnings("ignore", category=DeprecationWarning)

    def part(name):
        return pickle.loads((DATA / "cora" / f"ind.cora.{name}").read_bytes(), encoding="latin1")

    test = np.loadtxt(DATA / "cora" / "ind.cora.test.index", dtype=int)
    x, y = sp.vstack([part("allx"), part("tx")]).tolil(), np.r_[part("ally"), part("ty")]
    x[test], y[test] = x[np.sort(test)], y[np.sort(test)]
    graph = part("graph")
    row = np.repeat(np.arange(len(graph)), [len(graph[node]) for node in range(len(graph))])
    column = np.concatenate([graph[node] for node in range(len(graph))])
    a = sp.csr_matrix((np.ones(len(row)), (row, column)), shape=(len(y), len(y)))
    a = ((a + a.T) > 0).astype(np.float64).tolil()
    a.setdiag(0)
    return x.tocsr().astype(np.float32), a.tocsr(), y.argmax(1)


def clusters(adjacency, count, folder):
    """Clusters by KaMinPar, which only reads graphs from files."""
    import kaminpar
    import numpy as np

    adjacency.eliminate_zeros()
    lines = (" ".join(map(str, 1 + adjacency[node].indices)) for node in range(adjacency.shape[0]))
    path = folder / "cora.graph"
    path.write_text(f"{adjacency.shape[0]} {adjacency.nnz // 2}\n" + "\n".join(lines) + "\n")
    graph = kaminpar.load_graph(str(path), kaminpar.GraphFileFormat.METIS)
    part = kaminpar.KaMinPar(2, kaminpar.largek_fast_context()).compute_partition(graph, count, 0.03)
    return np.unique(part, return_inverse=True)[1]


def judge(z, labels, runs):
    """Accuracy over splits with 20 training nodes per class and all others as test nodes."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    rng, accuracy = np.random.default_rng(0), []
    for _ in range(runs):
        of_class = (rng.permutation(np.flatnonzero(labels == name))[:20] for name in np.unique(labels))
        train = np.concatenate(list(of_class))
        test = np.setdiff1d(np.arange(len(labels)), train)
        classifier = OneVsRestClassifier(LogisticRegression(solver="liblinear", max_iter=400))
        accuracy.append(classifier.fit(z[train], labels[train]).score(z[test], labels[test]))
    return 100 * np.mean(accuracy), 100 * np.std(accuracy)


def theirs(model, run, out):
    import numpy as np
    import scipy.sparse as sp
    import torch
    from models import Compressed, csr, trainer

    torch.set_num_threads(2)
    torch.manual_seed(0)
    out = pathlib.Path(out)
    run = json.loads(pathlib.Path(run).read_text())
    seconds, last = {}, time.perf_counter()

    def lap(stage):
        nonlocal last
        seconds[stage], last = time.perf_counter() - last, time.perf_counter()

    x, adjacency, labels = cora()
    lap("load")
    cluster = clusters(adjacency, run["partition"]["requested"], out)
    lap("partition")
    # The fastest form of training on Cora.
    training = trainer(Compressed(x, cluster), adjacency, run["model"], "sparse")
    for _ in range(run["model"]["epochs"]):
        training.step()
    lap("train")
    loops = adjacency + sp.identity(len(labels), format="csr")
    scale = sp.diags(np.asarray(loops.sum(1)).ravel() ** -0.5)
    z = training.embed(csr(x), csr(scale @ loops @ scale)).numpy()
    np.save(out / "embedding.npy", z)
    lap("embed")
    mean, std = judge(z, labels, run["accuracy"]["runs"])
    lap("evaluate")
    result = {"accuracy": {"mean": mean, "std": std}, "seconds": seconds}
    (out / "run.json").write_text(json.dumps(result))


def timed(command):
    start = time.perf_counter()
    environment = os.environ | SETTINGS | {"STRUCTCOMP_DATA": str(DATA)}
    subprocess.run([str(part) for part in command], check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(binary):
    binary, rounds = pathlib.Path(binary).resolve(), int(os.environ.get("ROUNDS", 5))
    print(f"Cora, seconds of the whole process, best of {rounds}, two threads\n")
    print(f"{'model':8}{'ours':>8}{'theirs':>8}{'ratio':>7}{'median':>8}   accuracy of ours and theirs")
    ratios, stages = [], {}
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            ours, other = (pathlib.Path(folder) / name for name in ("ours", "theirs"))
            other.mkdir()
            a, b = [], []
            for _ in range(rounds):
                flags = ["--model", model, "--preset", "paper", "--threads", 2, "--quiet", "--out", ours]
                a.append(timed([binary, "run", "cora", *flags]))
                b.append(timed([sys.executable, __file__, "--theirs", model, ours / "run.json", other]))
            results = [json.loads((out / "run.json").read_text()) for out in (ours, other)]
        ratios.append(min(b) / min(a))
        judged = ", ".join(f"{result['accuracy']['mean']:.2f} ± {result['accuracy']['std']:.2f}" for result in results)
        median = statistics.median(b) / statistics.median(a)
        print(f"{model:8}{min(a):8.3f}{min(b):8.3f}{ratios[-1]:7.2f}{median:8.2f}   {judged}", flush=True)
        stages[model] = [result["seconds"] for result in results]
    print("\nwhere the last round spent its time (s); what is missing in theirs is mostly imports")
    for model, pair in stages.items():
        for name, seconds in zip(("ours", "theirs"), pair):
            print(f"{model:8} {name:7}" + ", ".join(f"{stage} {time:.3f}" for stage, time in seconds.items()))
    print(f"\ngeometric mean of the ratios {math.exp(statistics.mean(map(math.log, ratios))):.2f}, smallest {min(ratios):.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
