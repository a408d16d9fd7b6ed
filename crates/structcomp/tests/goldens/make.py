"""Computes with PyTorch what the tests in `src/train/goldens.rs` compare our training and embeddings with.

Usage: python make.py CORA_DIR, where CORA_DIR holds the Planetoid files ind.cora.*. Run by hand, since
torch is large: pip install -r requirements.txt. Reads `given.json` beside it, which
`cargo test -p structcomp --lib write_what_pytorch_is_given -- --ignored` writes; writes `steps.json`
and `gcn.json`. All is computed in double precision from numbers that single precision holds exactly.
"""

import json
import pathlib
import pickle
import sys

import numpy as np
import scipy.sparse
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = 2


def exact(numbers) -> torch.Tensor:
    """Single precision as written in JSON, without what its shortest decimals leave out."""
    return torch.tensor(np.array(numbers, dtype=np.float32).astype(np.float64))


class Views:
    """What the models see of the graph: rows of clusters, and pairs of them."""

    def __init__(self, given: dict):
        self.x = exact(given["features"])
        cluster = torch.tensor(given["cluster"])
        self.clusters = int(cluster.max()) + 1
        self.full = torch.stack([self.x[cluster == c].mean(0) for c in range(self.clusters)])
        self.kept = given["kept"]
        self.sce = given["sce"]
        self.positives = torch.zeros(self.clusters, self.clusters, dtype=torch.float64)
        for u, v in given["edges"]:
            a, b = cluster[u], cluster[v]
            self.positives[a, b] = self.positives[b, a] = 1.0
        self.negatives = torch.zeros_like(self.positives)
        for row, entries in enumerate(given["coles"]):
            for column, count in entries:
                self.negatives[row, column] = count

    def second(self, epoch: int) -> torch.Tensor:
        return torch.stack([self.x[members].mean(0) for members in self.kept[epoch]])

    def laplacian(self, epoch: int) -> torch.Tensor:
        """That of the pairs of SCE; a row drawn with itself has no say."""
        pairs = torch.zeros(self.clusters, self.clusters, dtype=torch.float64)
        for row, others in enumerate(self.sce[epoch]):
            for other in others:
                pairs[row, other] += 1.0
        return torch.diag(pairs.sum(1)) - pairs


def scaled(a: torch.Tensor) -> torch.Tensor:
    root = a.sum(1).clamp(min=1e-300).rsqrt() * (a.sum(1) > 0)
    return root[:, None] * a * root[None, :]


def sce(model: dict, views: Views, epoch: int, outputs: list) -> torch.Tensor:
    (z,) = outputs
    return model["alpha"] / torch.trace(z.T @ views.laplacian(epoch) @ z)


def coles(model: dict, views: Views, epoch: int, outputs: list) -> torch.Tensor:
    (z,) = outputs
    apart = torch.trace(z.T @ scaled(views.negatives) @ z)
    together = torch.trace(z.T @ scaled(views.positives) @ z)
    return (model["lambda"] * apart - together) / len(z)


def grace(model: dict, views: Views, epoch: int, outputs: list) -> torch.Tensor:
    u, v = (nn.functional.normalize(z) for z in outputs)
    n = len(u)
    own = torch.eye(n, dtype=torch.bool)

    def side(a, b):
        # The positive is one of 2n - 1 classes: all rows of both views but oneself.
        within = (a @ a.T / model["tau"]).masked_fill(own, -torch.inf)
        logits = torch.cat([a @ b.T / model["tau"], within], dim=1)
        return nn.functional.cross_entropy(logits, torch.arange(n))

    return (side(u, v) + side(v, u)) / 2


def cca_ssg(model: dict, views: Views, epoch: int, outputs: list) -> torch.Tensor:
    a, b = ((z - z.mean(0)) / z.std(0) for z in outputs)
    n, width = a.shape
    one = torch.eye(width, dtype=torch.float64)
    apart = sum(((one - z.T @ z / n) ** 2).sum() for z in (a, b))
    return -torch.trace(a.T @ b) / n + model["lambda"] * apart


LOSSES = {"sce": sce, "coles": coles, "grace": grace, "cca-ssg": cca_ssg}


def network(training: dict, features: int) -> nn.Sequential:
    """The encoder, and GRACE's projection head behind it."""
    model, hidden = training["model"], training["hidden"]
    two_views = model["name"] in ("grace", "cca-ssg")
    modules = []
    for at in range(training["layers"]):
        modules.append(nn.Linear(hidden if at else features, hidden))
    if two_views:
        modules.append(nn.PReLU(hidden))
    if model["name"] == "grace":
        width = model["projection"] or hidden
        modules += [nn.Linear(hidden, width), nn.ELU(), nn.Linear(width, hidden)]
    return nn.Sequential(*modules).double()


def flat(net: nn.Sequential, of) -> torch.Tensor:
    """In our order: each layer's weight with a row an input, its bias, its slopes."""
    parts = []
    for parameter in net.parameters():
        values = of(parameter).detach()
        parts.append((values.T if values.dim() == 2 else values).flatten())
    return torch.cat(parts)


def fill(net: nn.Sequential, values: torch.Tensor) -> None:
    at = 0
    for parameter in net.parameters():
        piece = values[at : at + parameter.numel()]
        shape = parameter.shape
        piece = piece.reshape(shape[::-1]).T if len(shape) == 2 else piece
        parameter.data.copy_(piece)
        at += parameter.numel()
    assert at == len(values)


def steps(case: dict, views: Views) -> dict:
    training = case["training"]
    model = training["model"]
    net = network(training, views.x.shape[1])
    fill(net, exact(case["initial"]))
    kind = {"adam": torch.optim.Adam, "adam-w": torch.optim.AdamW}[training["optimizer"]]
    optimizer = kind(net.parameters(), lr=training["learning-rate"], weight_decay=training["weight-decay"])
    epochs = []
    for epoch in range(EPOCHS):
        inputs = [views.full]
        if model["name"] in ("grace", "cca-ssg"):
            inputs.append(views.second(epoch))
        loss = LOSSES[model["name"]](model, views, epoch, [net(x) for x in inputs])
        optimizer.zero_grad()
        loss.backward()
        gradient = flat(net, lambda parameter: parameter.grad)
        optimizer.step()
        parameters = flat(net, lambda parameter: parameter)
        epochs.append({"loss": loss.item(), "gradient": gradient.tolist(), "parameters": parameters.tolist()})
    return {"name": case["name"], "epochs": epochs}


def cora(folder: pathlib.Path) -> tuple:
    """Features, and the edges without loops and repetitions."""

    def part(name):
        with open(folder / f"ind.cora.{name}", "rb") as file:
            return pickle.load(file, encoding="latin1")

    order = np.loadtxt(folder / "ind.cora.test.index", dtype=np.int64)
    x = scipy.sparse.vstack([part("allx"), part("tx")]).tolil()
    x[order, :] = x[np.sort(order), :]
    pairs = {(u, v) for u, near in part("graph").items() for v in near if u != v}
    return x.toarray(), sorted(pairs | {(v, u) for u, v in pairs})


def formula(rows: int, cols: int, salt: int) -> torch.Tensor:
    """Numbers from -1/2 to 1/2 that the tests compute alike."""
    at = np.arange(rows)[:, None] * 31 + np.arange(cols)[None, :] * 17 + salt * 7
    return exact((at * at % 1009) / 1009.0 - 0.5)


def gcn(folder: pathlib.Path) -> dict:
    x, pairs = cora(folder)
    n = len(x)
    a = torch.eye(n, dtype=torch.float64)
    for u, v in pairs:
        a[u, v] = 1.0
    root = a.sum(1).rsqrt()
    a_hat = root[:, None] * a * root[None, :]
    h = torch.tensor(x, dtype=torch.float64)
    for layer, width in enumerate([16, 8]):
        weight = formula(h.shape[1], width, 3 * layer)
        bias = formula(1, width, 3 * layer + 1)[0]
        slopes = formula(1, width, 3 * layer + 2)[0]
        h = nn.functional.prelu(a_hat @ h @ weight + bias, slopes)
    rows = list(range(0, n, n // 50))[:50]
    return {"nodes": n, "rows": rows, "values": h[rows].tolist(), "sums": h.sum(0).tolist()}


def main() -> None:
    given = json.loads((HERE / "given.json").read_text())
    views = Views(given)
    done = [steps(case, views) for case in given["cases"]]
    (HERE / "steps.json").write_text(json.dumps(done) + "\n")
    (HERE / "gcn.json").write_text(json.dumps(gcn(pathlib.Path(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    main()
