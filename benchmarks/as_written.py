"""The four models in PyTorch with losses as written: dense matrices of all pairs and autograd.

Trains on the whole graph, with message passing in every step, and on clusters, as in the paper's comparison.
"""

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

import autograd
from models import Linear as ByHand, adam, csr, dense

# Drop rates of edges and features per view of a whole graph, close to those of the models' repositories.
EDGES, FEATURES = 0.3, 0.2


class Whole:
    """A graph with nodes sorted by cluster, like the features."""

    def __init__(self, data, adjacency):
        nodes = np.argsort(data.cluster, kind="stable")
        self.adjacency = adjacency[nodes][:, nodes]
        upper = sp.triu(self.adjacency, 1).tocoo()
        self.ends = torch.from_numpy(np.stack([upper.row, upper.col]).astype(np.int64))
        self.nodes = len(nodes)

    def edges(self, dropped=0.0):
        """The ends and weights of Â for the kept edges, in both directions, with self-loops."""
        kept = self.ends[:, torch.rand(self.ends.shape[1]) >= dropped]
        own = torch.arange(self.nodes).expand(2, -1)
        ends = torch.cat([kept, kept.flip(0), own], 1)
        scale = ends[0].bincount(minlength=self.nodes).rsqrt()
        return ends, scale[ends[0]] * scale[ends[1]]

    def hat(self):
        ends, weights = self.edges()
        return csr(sp.coo_matrix((weights.numpy(), tuple(ends.numpy())), shape=(self.nodes, self.nodes)))


class Linear:
    """SCE and COLES: a linear map (of Â²X on the whole graph), with all pairs in one dense matrix."""

    def __init__(self, data, adjacency, settings, form):
        self.model, self.rows = settings["model"], data.rows
        self.x = dense(data.x if form == "whole" else data.means)
        if form == "whole":
            whole = Whole(data, adjacency)
            hat, self.rows = whole.hat(), whole.nodes
            for _ in range(2):
                self.x = hat @ self.x
        self.layer = nn.Linear(data.cols, settings["hidden"])
        self.sce = self.model["name"] == "sce"
        if not self.sce:
            joined = whole.adjacency if form == "whole" else data.coarse(adjacency)
            self.pairs = csr(ByHand.eigenmaps(self, joined)).to_dense()
        self.adam = adam(self.layer.parameters(), settings)

    def laplacian(self):
        pairs, count = torch.zeros(self.rows, self.rows), self.model["negatives"]
        own, other = torch.arange(self.rows).repeat_interleave(count), torch.randint(self.rows, (self.rows * count,))
        for ends in ((own, other), (other, own)):
            pairs.index_put_(ends, torch.tensor(1.0), accumulate=True)
        degree = pairs.sum(1)
        pairs.neg_().diagonal().add_(degree)
        return pairs

    def step(self):
        z = self.layer(self.x)
        pairs = self.laplacian() if self.sce else self.pairs
        total = (z * (pairs @ z)).sum()
        loss = self.model["alpha"] / total if self.sce else total / self.rows
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()


class TwoViews(autograd.TwoViews):
    """GRACE and CCA-SSG; each direction of GRACE's loss computes both similarity matrices."""

    def __init__(self, data, adjacency, settings, form):
        super().__init__(data, adjacency, settings, "dense")
        self.whole = Whole(data, adjacency) if form == "whole" else None
        if form == "whole":
            self.x = None

    def views(self):
        if self.whole is None:
            return super().views()
        masks = [(torch.rand(self.nodes.shape[1]) >= FEATURES).float() for _ in range(2)]
        return [(self.whole.edges(EDGES), self.nodes * mask) for mask in masks]

    def encode(self, view):
        if self.whole is None:
            return super().encode(view)
        ((targets, sources), weights), x = view
        for layer in self.encoder:
            # One message per edge, as in graph libraries.
            h = x @ layer.weight.T
            messages = h[sources] * weights[:, None]
            x = torch.zeros_like(h).scatter_add(0, targets[:, None].expand_as(messages), messages) + layer.bias
        return self.prelu(x)

    def contrast(self, one, two):
        def side(u, v):
            within, across = (torch.exp(u @ other.T / self.model["tau"]) for other in (u, v))
            return -(across.diagonal() / (within.sum(1) - within.diagonal() + across.sum(1))).log()

        u, v = (nn.functional.normalize(self.head(rows)) for rows in (one, two))
        return (side(u, v) + side(v, u)).mean() / 2


def trainer(data, adjacency, settings, form):
    kind = Linear if settings["model"]["name"] in ("sce", "coles") else TwoViews
    return kind(data, adjacency, settings, form)
