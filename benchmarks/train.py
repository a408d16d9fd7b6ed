"""Training: one epoch of each model compared with PyTorch, on the same clusters.

usage: train.py OUR_BINARY [small|large]     runs the comparison
       train.py --theirs FOLDER MODULE       runs another side; MODULE is autograd or models
"""

import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp
import torch

from models import Compressed, DropMember, forms
from rounds import Side

MODELS = ["sce", "coles", "grace", "cca-ssg"]
SMALL = ["cora", "citeseer", "pubmed", "amazon-photo", "amazon-computers"]
LARGE = ["synthetic-arxiv"]
HIDDEN = 512


class Prepared:
    """A dataset as written by our side."""

    def __init__(self, folder, name):
        def read(what, kind):
            return np.fromfile(folder / f"{name}.{what}", kind)

        self.settings = json.loads((folder / f"{name}.json").read_text())
        self.cluster = np.loadtxt(folder / f"{name}.part", dtype=np.int64)
        n = len(self.cluster)
        offsets, targets = read("offsets", "<u8").astype(np.int64), read("targets", "<u4").astype(np.int64)
        self.adjacency = sp.csr_matrix((np.ones(len(targets)), targets, offsets), shape=(n, n))
        values = read("values", "<f4")
        if (folder / f"{name}.rows").exists():
            columns = int((folder / f"{name}.width").read_text())
            parts = values, read("columns", "<u4").astype(np.int64), read("rows", "<u8").astype(np.int64)
            x = sp.csr_matrix(parts, shape=(n, columns))
        else:
            x = values.reshape(n, -1)
        self.data = Compressed(x, self.cluster)


def timed(trainer, data, adjacency, settings, form, warm, epochs):
    """Seconds per epoch, seconds before the first epoch, and the first and last losses."""
    torch.manual_seed(0)
    start = time.perf_counter()
    training = trainer(data, adjacency, settings, form)
    before = time.perf_counter() - start
    losses = [training.step() for _ in range(warm)]
    start = time.perf_counter()
    losses += [training.step() for _ in range(epochs)]
    return (time.perf_counter() - start) / epochs, before, losses[0], losses[-1]


def theirs(folder, module):
    torch.set_num_threads(2)
    trainer = importlib.import_module(module).trainer
    prepared, fastest = {}, {}
    print("ready", flush=True)
    for line in sys.stdin:
        model, name, warm, epochs = line.split()
        if name not in prepared:
            prepared[name] = Prepared(folder, name)
        data, adjacency, settings = (getattr(prepared[name], part) for part in ("data", "adjacency", "settings"))
        ways = forms(data, model)
        if (model, name) not in fastest:
            # Finds the fastest form, which is not part of the measurement.
            runs = {way: [timed(trainer, data, adjacency, settings[model], way, 1, 5)[0] for _ in range(3)] for way in ways[1:] and ways}
            fastest[model, name] = min(runs, key=lambda way: min(runs[way])) if runs else ways[0]
        form = fastest[model, name]
        print(*timed(trainer, data, adjacency, settings[model], form, int(warm), int(epochs)), form, flush=True)


def products(prepared, model):
    """The minimum flops of the products of an epoch: two per non-zero entry, half for symmetric results, and
    the cheapest of equivalent forms. Excludes element-wise work and the optimiser."""
    data, settings, h = prepared.data, prepared.settings[model], HIDDEN
    n, d, entries = data.rows, data.cols, data.entries
    if model == "sce":
        pairs = n * (2 * settings["model"]["negatives"] + 1)
        rowwise = 4 * entries * h + 2 * pairs * h
        return min(rowwise, 2 * pairs * d + n * d * d + 2 * d * d * h)
    if model == "coles":
        matrix = data.coarse(prepared.adjacency).nnz + 2 * n * settings["model"]["negatives"]
        return min(4 * entries * h + 2 * matrix * h, 2 * (d + 1) ** 2 * h)
    kept = DropMember(data.sizes).draw().numpy()
    ends = np.r_[0, np.maximum(data.sizes // 2, 1).cumsum()]
    mean = sp.csr_matrix((np.ones(len(kept)), kept, ends), shape=(n, len(data.cluster)))
    view = mean @ data.x
    # The first layer needs the forward product and the weight's gradient; later ones also the input's gradient.
    encoder = 4 * (entries + np.count_nonzero(view.data if sp.issparse(view) else view)) * h
    encoder += (settings["layers"] - 1) * 6 * h * h * min(2 * n, d)
    if model == "grace":
        return encoder + 2 * 6 * 2 * n * h * h + 12 * n * n * h
    return encoder + 6 * n * h * min(n, h)


def peak():
    """Flops per second of a large product on two threads."""
    torch.set_num_threads(2)
    a, b = torch.rand(4096, 4096), torch.rand(4096, 4096)
    best = math.inf
    for _ in range(6):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * 4096**3 / best


def main(binary, which="small"):
    sets = {"small": (SMALL, 9), "large": (LARGE, 1)}
    if which not in sets:
        sys.exit(f"'{which}' is not one of {', '.join(sets)}")
    names, rounds = sets[which]
    rounds = int(os.environ.get("ROUNDS", rounds))
    binary = pathlib.Path(binary).resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:
            command = [str(binary), "prepare", name, str(folder)]
            subprocess.run(command, check=True)
        compare(binary, folder, names, rounds, which)


def compare(binary, folder, names, rounds, which):
    speed = peak()
    print(f"two threads, hidden {HIDDEN}, best of {rounds}; the floor is the flops of its products at {speed / 1e9:.0f} GFLOP/s,")
    print("which PyTorch's product of two 4096×4096 matrices reaches; ms an epoch, set-up once.")
    modules = {"autograd": "autograd", "by hand": "models"}
    print("PyTorch with autograd, and with gradients written by hand.\n")
    theirs = "".join(f"{what:>11}{'ratio':>7}" for what in modules)
    print(
        f"{'model':8} {'dataset':17}{'ours':>11}{theirs}  {'forms':15}{'Mflop':>9}{'floor':>11}{'ours/floor':>12}{'set-up':>9}"
        f"{'MiB':>7}" + "".join(f"{what:>10}" for what in modules)
    )
    ratios, differing = [[] for _ in modules], []
    for name in names:
        prepared = Prepared(folder, name)
        ours = Side("ours", [binary, "run", folder])
        others = [Side(module, [sys.executable, __file__, "--theirs", folder, module]) for module in modules.values()]
        sides = [ours, *others]
        for model in MODELS:
            epochs = {"small": 8 if model == "grace" else 20, "large": 1 if model == "grace" else 4}[which]
            line = f"{model} {name} 1 {epochs}"
            for _ in range(rounds):
                for side in sides:
                    side.run(line)
            flops = products(prepared, model)
            best = [1e3 * min(side.seconds[-rounds:]) for side in sides]
            faster = [other / best[0] for other in best[1:]]
            for all_ratios, ratio in zip(ratios, faster):
                all_ratios.append(ratio)
            floor = 1e3 * flops / speed
            before = 1e3 * float(ours.facts[0])
            memory = [max(side.memory[-rounds:]) / 2**20 for side in sides]
            used = "/".join(other.facts[3] for other in others)
            theirs = "".join(f"{other:11.3f}{ratio:7.2f}" for other, ratio in zip(best[1:], faster))
            print(
                f"{model:8} {name:17}{best[0]:11.3f}{theirs}  {used:15}{flops / 1e6:9.0f}{floor:11.3f}{best[0] / floor:12.2f}"
                f"{before:9.1f}{memory[0]:7.0f}" + "".join(f"{other:10.0f}" for other in memory[1:]),
                flush=True,
            )
            losses = [[float(loss) for loss in side.facts[1:3]] for side in sides]
            if not all(np.allclose(losses[0], other, rtol=0.2) for other in losses[1:]):
                differing.append(f"{model} on {name}: {losses}")
        for side in sides:
            side.finish()
    print()
    for what, some in zip(modules, ratios):
        mean = math.exp(statistics.mean(map(math.log, some)))
        print(f"{what}: geometric mean of the ratios {mean:.2f}, smallest {min(some):.2f}")
    # Weights and pairs are drawn differently, so the losses are similar but not equal.
    if differing:
        sys.exit("the losses of the first or the last epoch differ by more than a fifth:\n" + "\n".join(differing))


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(pathlib.Path(sys.argv[2]), sys.argv[3])
    else:
        main(*sys.argv[1:])
