"""What labels buy: a GCN and GraphSAGE trained end to end with 20 labelled nodes of each class, on the splits of structcomp.

Further 30 nodes of each class are for early stopping and for choosing the settings; all others are test nodes. A graph that brings
the ten splits of geom-gcn uses these. Settings are chosen by the mean validation accuracy over the first splits: dropout, scale of
the features, learning rate and weight decay together, then the width. All splits, learning rates and weight decays are trained at
once, side by side in wider matrices: the same models, in less time on a GPU.

usage: supervised.py OUT.json GRAPH.npz... [--models gcn,sage] [--splits N] [--tuning N] [--file SPLITS_train.txt] [--geom]
       GRAPH.npz as written by graphs/load.py; --file reads the training nodes of one graph, one split per line; --geom uses the
       splits that come with the data; --tuning is the number of splits used for choosing (10)
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

from random_splits import VALIDATION, random_splits

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DROPOUTS, SCALES, WIDTH, WIDTHS = (0.5, 0.8), ("as they are", "rows of sum one"), 64, (16, 64, 256)
STEPS = [(rate, decay) for rate in (0.003, 0.01) for decay in (1e-4, 5e-4, 5e-3, 2e-2)]
EPOCHS, PATIENCE = 400, 50
# Entries of a hidden layer of all models trained at once.
SIDE_BY_SIDE = 3e8 if DEVICE == "cuda" else 2e7


class Spread(torch.autograd.Function):
    """A sparse matrix times a dense one."""

    @staticmethod
    def forward(ctx, x, matrix, transposed):
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx, gradient):
        return ctx.transposed @ gradient.contiguous(), None, None


class Graph:
    def __init__(self, path):
        file = np.load(path)
        self.name, self.y = path.stem, file["labels"]
        self.nodes, self.classes = len(self.y), int(self.y.max()) + 1
        indptr, indices = file["adj_indptr"].astype(np.int64), file["adj_indices"].astype(np.int64)
        rows = np.repeat(np.arange(self.nodes), np.diff(indptr))
        degree = np.diff(indptr).astype(np.float32)
        own = np.arange(self.nodes)
        hat = 1 / np.sqrt(degree + 1)
        looped = np.concatenate([rows, own]), np.concatenate([indices, own])
        self.hat = sparse(*looped, hat[looped[0]] * hat[looped[1]], self.nodes)
        mean = 1 / np.maximum(degree, 1)
        self.mean, self.back = sparse(rows, indices, mean[rows], self.nodes), sparse(indices, rows, mean[rows], self.nodes)
        x = [torch.from_numpy(file[f"attr_{part}"].astype(np.int64)) for part in ("indptr", "indices")]
        x = torch.sparse_csr_tensor(*x, torch.from_numpy(file["attr_data"]), tuple(file["attr_shape"])).to_dense()
        self.x = {"as they are": x.to(DEVICE), "rows of sum one": (x / x.sum(1, keepdim=True).clamp(min=1e-12)).to(DEVICE)}
        self.own_splits = list(zip(*(file[part] for part in ("train", "validation", "test")))) if "train" in file else []


def sparse(rows, columns, values, nodes):
    ends = torch.from_numpy(np.stack([rows, columns]))
    coo = torch.sparse_coo_tensor(ends, torch.from_numpy(values.astype(np.float32)), (nodes, nodes))
    return coo.coalesce().to_sparse_csr().to(DEVICE)


class Gnn:
    """Two layers, `models` of them side by side; weights are in x models x out."""

    def __init__(self, graph, kind, models, width, seed):
        self.graph, self.kind, self.models, self.width = graph, kind, models, width
        draw = torch.Generator().manual_seed(seed)
        wide, classes = next(iter(graph.x.values())).shape[1], graph.classes

        def weights(*shape, ends):
            bound = (6 / sum(ends)) ** 0.5
            return (bound * (2 * torch.rand(*shape, generator=draw) - 1)).to(DEVICE).requires_grad_()

        ways = 1 if kind == "gcn" else 2
        self.first = [weights(wide, models, width, ends=(wide, width)) for _ in range(ways)]
        self.second = [weights(models, width, classes, ends=(width, classes)) for _ in range(ways)]
        self.biases = [torch.zeros(models, n, device=DEVICE, requires_grad=True) for n in (width, classes)]

    def gather(self, parts, bias):
        """Messages are passed after the weights, where rows are shorter."""
        g = self.graph
        flat = [part.reshape(g.nodes, -1) for part in parts]
        out = Spread.apply(flat[0], g.hat, g.hat) if self.kind == "gcn" else flat[1] + Spread.apply(flat[0], g.mean, g.back)
        return out.view(g.nodes, self.models, -1) + bias

    def __call__(self, x, dropout):
        x = F.dropout(x, dropout, dropout > 0)
        hidden = self.gather([x @ w.view(len(w), -1) for w in self.first], self.biases[0])
        hidden = F.dropout(F.relu(hidden), dropout, dropout > 0).transpose(0, 1)
        return self.gather([torch.bmm(hidden, w).transpose(0, 1) for w in self.second], self.biases[1])


class Adam:
    """Adam with a learning rate and a weight decay for each model. Biases have no decay."""

    def __init__(self, gnn, rates, decays):
        rates, decays = (torch.tensor(values, device=DEVICE) for values in (rates, decays))
        wide, deep = (1, -1, 1), (-1, 1, 1)
        self.all = [(w, rates.view(wide), decays.view(wide)) for w in gnn.first]
        self.all += [(w, rates.view(deep), decays.view(deep)) for w in gnn.second]
        self.all += [(b, rates.view(-1, 1), None) for b in gnn.biases]
        self.moments = [(torch.zeros_like(w), torch.zeros_like(w)) for w, _, _ in self.all]
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for (w, rate, decay), (m, v) in zip(self.all, self.moments):
            g = w.grad if decay is None else w.grad.addcmul(w, decay)
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            size = (v / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
            w.sub_(rate * (m / (1 - 0.9**self.steps)) / size)
            w.grad = None


class Parts:
    """Node numbers of one part of every split, padded; weights of one row sum to one."""

    def __init__(self, graph, lists):
        longest = max(map(len, lists))
        nodes = np.array([np.pad(nodes, (0, longest - len(nodes))) for nodes in lists])
        weights = np.array([np.pad(np.full(len(nodes), 1 / len(nodes)), (0, longest - len(nodes))) for nodes in lists])
        self.nodes, self.y = torch.from_numpy(nodes).to(DEVICE), torch.from_numpy(graph.y[nodes]).to(DEVICE)
        self.weights = torch.from_numpy(weights).float().to(DEVICE)
        self.model = torch.arange(len(lists), device=DEVICE)[:, None]

    def loss(self, scores):
        each = F.cross_entropy(scores[self.nodes, self.model].flatten(0, 1), self.y.flatten(), reduction="none")
        return (each.view(self.y.shape) * self.weights).sum(1)

    def accuracy(self, guess):
        return ((guess[self.nodes, self.model] == self.y) * self.weights).sum(1)


def train(graph, kind, splits, scale, dropout, width, steps, seed=0):
    """Trains a model for every pair of a split and (learning rate, weight decay). Returns the validation and the test accuracy of
    each, steps by splits, at the epoch with the best validation accuracy (of equal ones, that with the smallest loss)."""
    pairs = [(split, step) for step in steps for split in splits]
    at_once = max(1, int(SIDE_BY_SIDE / (graph.nodes * max(width, graph.classes))))
    found = [
        train_group(graph, kind, pairs[k : k + at_once], scale, dropout, width, seed + k) for k in range(0, len(pairs), at_once)
    ]
    return tuple(torch.cat(part).view(len(steps), len(splits)).double().cpu().numpy() for part in zip(*found))


def train_group(graph, kind, pairs, scale, dropout, width, seed):
    torch.manual_seed(seed)
    fit, watch, test = (Parts(graph, [split[k] for split, _ in pairs]) for k in range(3))
    gnn = Gnn(graph, kind, len(pairs), width, seed)
    adam = Adam(gnn, *([step[k] for _, step in pairs] for k in range(2)))
    x = graph.x[scale]
    best = torch.full((len(pairs),), -1.0, device=DEVICE)
    best_loss, kept, last = torch.full_like(best, torch.inf), torch.zeros_like(best), torch.zeros_like(best)
    for epoch in range(EPOCHS):
        fit.loss(gnn(x, dropout)).sum().backward()
        adam.step()
        with torch.no_grad():
            scores = gnn(x, 0.0)
            loss, guess = watch.loss(scores), scores.argmax(2)
            right = watch.accuracy(guess)
            better = (right > best + 1e-7) | ((right > best - 1e-7) & (loss < best_loss))
            best, best_loss = torch.where(better, right, best), torch.where(better, loss, best_loss)
            kept, last = torch.where(better, test.accuracy(guess), kept), torch.where(better, float(epoch), last)
        if epoch % 10 == 9 and (epoch - last > PATIENCE).all():
            break
    return best, kept


def judge(graph, kind, splits, tuning):
    start, some = time.time(), splits[:tuning]
    tried = []
    for dropout in DROPOUTS:
        for scale in SCALES:
            watched, _ = train(graph, kind, some, scale, dropout, WIDTH, STEPS)
            tried += [(mean, scale, dropout, WIDTH, step) for mean, step in zip(watched.mean(1), STEPS)]
    _, scale, dropout, _, step = max(tried)
    for width in set(WIDTHS) - {WIDTH}:
        watched, _ = train(graph, kind, some, scale, dropout, width, [step])
        tried.append((watched.mean(), scale, dropout, width, step))
    _, scale, dropout, width, step = max(tried)
    tuned = time.time()
    watched, tested = (100 * part[0] for part in train(graph, kind, splits, scale, dropout, width, [step]))
    return {
        "mean": tested.mean(),
        "std": tested.std(ddof=1) if len(splits) > 1 else 0.0,
        "validation": watched.mean(),
        "splits": len(splits),
        "chosen": {"features": scale, "dropout": dropout, "width": width, "learning rate": step[0], "weight decay": step[1]},
        "settings tried": len(tried),
        "splits for choosing": len(some),
        "seconds tuning": tuned - start,
        "seconds training": time.time() - tuned,
        "per split": [round(value, 3) for value in tested],
    }


def splits_of(graph, options):
    """Training, validation and test nodes, and what they are called."""
    if options.geom:
        return [tuple(map(np.flatnonzero, masks)) for masks in graph.own_splits][: options.splits], "geom-gcn"
    if not options.file:
        return list(random_splits(graph.y, options.splits)), "random20"
    splits = []
    for run, line in enumerate(options.file.read_text().split()[: options.splits]):
        fit, draw = np.array(line.split(","), np.int64), np.random.default_rng(run)
        rest = np.setdiff1d(np.flatnonzero(graph.y >= 0), fit)
        of_class = [draw.permutation(rest[graph.y[rest] == k]) for k in range(graph.classes)]
        watch = np.concatenate([nodes[: min(VALIDATION, len(nodes) // 2)] for nodes in of_class])
        splits.append((fit, watch, np.setdiff1d(rest, watch)))
    return splits, options.file.stem


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("graphs", nargs="+", type=pathlib.Path)
    parser.add_argument("--models", default="gcn,sage")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--tuning", type=int, default=10)
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--geom", action="store_true")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    results = {}
    print("| graph | model | accuracy | split | splits | for choosing | seconds, choosing + training |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for path in options.graphs:
        graph = Graph(path)
        splits, called = splits_of(graph, options)
        for kind in options.models.split(","):
            found = {"split": called, "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU"}
            found |= judge(graph, kind, splits, options.tuning)
            results.setdefault(graph.name, {})[kind] = found
            row = graph.name, kind, f"{found['mean']:.2f} ± {found['std']:.2f}", called, len(splits), found["splits for choosing"]
            seconds = f"{found['seconds tuning']:.0f} + {found['seconds training']:.0f}"
            print("|", " | ".join(map(str, (*row, seconds))), "|", flush=True)
            options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main() if len(sys.argv) > 2 else sys.exit(__doc__)
