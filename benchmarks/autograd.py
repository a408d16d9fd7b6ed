"""The four models on compressed graphs in typical PyTorch code: layers, losses, autograd.

The code avoids obvious inefficiencies: DropMember has no loop over clusters, SCE uses pairs, COLES sparse matrices, and a Gram
matrix is used where it is cheaper. `models.py` goes further and has hand-written gradients.
"""

import torch
import torch.nn.functional as F
from torch import nn

from models import DropMember, Linear as ByHand, adam, csr, dense


class Linear:
    """SCE and COLES: z = xW + b; a quadratic loss may use the Gram matrix of the rows instead of the rows."""

    def __init__(self, data, adjacency, settings, form):
        self.form, self.model, self.rows = form, settings["model"], data.rows
        self.layer = nn.Linear(data.cols, settings["hidden"])
        self.sce = self.model["name"] == "sce"
        x = data.means
        self.x = csr(x) if form == "sparse" else dense(x)
        if not self.sce:
            self.matrix = csr(ByHand.eigenmaps(self, data.coarse(adjacency)))
            if form == "gram":
                x = F.pad(self.x, (0, 1), value=1.0)
                self.gram = x.T @ (self.matrix @ x)
        self.adam = adam(self.layer.parameters(), settings)

    def step(self):
        loss = self.push() if self.sce else self.pull()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()

    def embedded(self):
        if self.form == "sparse":
            return torch.sparse.mm(self.x, self.layer.weight.T) + self.layer.bias
        return self.layer(self.x)

    def pull(self):
        if self.form == "gram":
            weight = torch.cat([self.layer.weight.T, self.layer.bias[None]])
            return (weight * (self.gram @ weight)).sum() / self.rows
        z = self.embedded()
        return (z * torch.sparse.mm(self.matrix, z)).sum() / self.rows

    def push(self):
        others = torch.randint(self.rows, (self.rows, self.model["negatives"]))
        rows = self.x if self.form == "gram" else self.embedded()
        own = torch.arange(self.rows).repeat_interleave(self.model["negatives"])
        apart = rows[own] - rows[others.flatten()]
        if self.form == "gram":
            weight = self.layer.weight.T
            total = (weight * ((apart.T @ apart) @ weight)).sum()
        else:
            total = apart.square().sum()
        return self.model["alpha"] / total


class TwoViews(nn.Module):
    """GRACE and CCA-SSG: linear layers, then a PReLU, and for GRACE a projection head."""

    def __init__(self, data, _, settings, form):
        super().__init__()
        self.form, self.model, hidden = form, settings["model"], settings["hidden"]
        widths = [data.cols] + settings["layers"] * [hidden]
        self.encoder = nn.ModuleList(nn.Linear(*pair) for pair in zip(widths, widths[1:]))
        self.prelu = nn.PReLU(hidden)
        self.grace = self.model["name"] == "grace"
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, hidden)) if self.grace else None
        self.drop = DropMember(data.sizes)
        self.x, self.nodes = (csr(data.means), csr(data.x)) if form == "sparse" else (dense(data.means), dense(data.x))
        self.adam = adam(self.parameters(), settings)

    def views(self):
        if self.form == "sparse":
            return self.x, self.drop.matrices()[0] @ self.nodes
        kept, starts = self.drop.draw(), self.drop.ends[:-1]
        return self.x, F.embedding_bag(kept, self.nodes, starts, mode="mean")

    def encode(self, x):
        for at, layer in enumerate(self.encoder):
            x = torch.sparse.mm(x, layer.weight.T) + layer.bias if at == 0 and self.form == "sparse" else layer(x)
        return self.prelu(x)

    def step(self):
        one, two = map(self.encode, self.views())
        loss = self.contrast(one, two) if self.grace else self.correlation(one, two)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()

    def contrast(self, one, two):
        u, v = F.normalize(self.head(one)), F.normalize(self.head(two))
        across = torch.exp(u @ v.T / self.model["tau"])
        within_u, within_v = (torch.exp(rows @ rows.T / self.model["tau"]) for rows in (u, v))
        same = across.diagonal()
        of_u = same / (across.sum(1) + within_u.sum(1) - within_u.diagonal())
        of_v = same / (across.sum(0) + within_v.sum(1) - within_v.diagonal())
        return -(of_u.log().mean() + of_v.log().mean()) / 2

    def correlation(self, one, two):
        n, h = one.shape
        one, two = ((z - z.mean(0)) / z.std(0) for z in (one, two))
        identity = torch.eye(h)
        apart = sum((identity - z.T @ z / n).square().sum() for z in (one, two))
        return -(one * two).sum() / n + self.model["lambda"] * apart


def trainer(data, adjacency, settings, form):
    kind = Linear if settings["model"]["name"] in ("sce", "coles") else TwoViews
    return kind(data, adjacency, settings, form)
