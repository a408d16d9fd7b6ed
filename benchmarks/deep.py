"""GRACE with sixteen hops on the whole graph of Pubmed in PyTorch, for as many epochs as in its repository.

An independent implementation of the formulas. It takes hours on a CPU and minutes on a GPU.

usage: structcomp convert pubmed FOLDER && structcomp convert pubmed FOLDER/edges.txt --part edges
       deep.py FOLDER
"""

import pathlib
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore", message="Sparse")

HOPS, ALPHA, SPLITS, TRAIN = 16, 0.05, 50, 20
EPOCHS = 80, 150, 300, 1500
# Drop rates of the two views, from GRACE's repository.
DROP, MASK = (0.4, 0.1), (0.0, 0.2)
# Three settings: those of `structcomp reproduce deep`, the same with weights initialised like graph layers, and those of the
# repository with raw features. Fields: widths, activation, temperature, weight decay, whether weights are initialised like
# graph layers, and how many of the numbers of epochs above are tried.
SETTINGS = {
    "ours": ([512], None, 0.5, 0.0, False, 1),
    "ours, glorot": ([512], None, 0.5, 0.0, True, 1),
    "repository": ([512, 256], F.relu, 0.7, 1e-5, True, len(EPOCHS)),
}


class Pairs(torch.autograd.Function):
    """The loss of unit rows in two views and its gradient; autograd would store eight matrices of all pairs."""

    @staticmethod
    def forward(ctx, u, v, tau):
        def similar(a, b):
            return (a @ b.T).sub_(1).div_(tau).exp_()

        uu, vv, uv = similar(u, u).fill_diagonal_(0), similar(v, v).fill_diagonal_(0), similar(u, v)
        du, dv = uu.sum(1) + uv.sum(1), vv.sum(1) + uv.sum(0)
        loss = (du.log() + dv.log() - 2 * uv.diagonal().log()).mean() / 2
        du, dv = 1 / du, 1 / dv
        uu.mul_(du[:, None] + du)
        vv.mul_(dv[:, None] + dv)
        uv.mul_(du[:, None] + dv)
        scale = 1 / (2 * len(u) * tau)
        ctx.save_for_backward(scale * (uu @ u + uv @ v - 2 * v), scale * (vv @ v + uv.T @ u - 2 * u))
        return loss

    @staticmethod
    def backward(ctx, gradient):
        of_u, of_v = ctx.saved_tensors
        return gradient * of_u, gradient * of_v, None


class Pubmed:
    def __init__(self, folder, device):
        def read(name):
            return torch.from_numpy(np.load(folder / f"{name}.npy").astype(np.float32 if "data" in name else np.int64))

        parts = read("features.indptr"), read("features.indices"), read("features.data")
        self.y = read("labels").to(device)
        self.nodes = len(self.y)
        self.x = torch.sparse_csr_tensor(*parts, (self.nodes, 500)).to_dense().to(device)
        ends = torch.from_numpy(np.loadtxt(folder / "edges.txt", dtype=np.int64)).T.to(device)
        self.ends = torch.cat([ends, ends.flip(0)], 1)
        draw = np.random.default_rng(0)
        of_class = [np.flatnonzero(self.y.cpu() == k) for k in range(3)]
        splits = [np.concatenate([draw.permutation(nodes)[:TRAIN] for nodes in of_class]) for _ in range(SPLITS)]
        self.splits = torch.from_numpy(np.stack(splits)).to(device)

    def spread(self, x, dropped=0.0):
        """αX + (1 − α)/K Σ Âᵏ X for the kept directed edges."""
        ends = self.ends[:, torch.rand(self.ends.shape[1], device=x.device) >= dropped]
        own = torch.arange(self.nodes, device=x.device).expand(2, -1)
        ends = torch.cat([ends, own], 1)
        scale = ends[0].bincount(minlength=self.nodes).rsqrt()
        hat = torch.sparse_coo_tensor(ends, scale[ends[0]] * scale[ends[1]], (self.nodes,) * 2).coalesce().to_sparse_csr()
        total, hop = torch.zeros_like(x), x
        for _ in range(HOPS):
            hop = hat @ hop
            total += hop
        return ALPHA * x + (1 - ALPHA) / HOPS * total

    @torch.no_grad()
    def accuracy(self, z):
        """One-vs-rest logistic regression with C = 1 and a regularised bias, by Newton's method on the weights of the training rows."""
        z = F.pad(z.double(), (0, 1), value=1.0)
        rows = z[self.splits]
        gram = (rows @ rows.mT)[:, None]
        sign = torch.stack([2.0 * (self.y[self.splits] == k) - 1 for k in range(3)], 1).double()[..., None]

        def objective(a):
            scores = gram @ a
            return 0.5 * (a * scores).sum(2) + F.softplus(-sign * scores).sum(2)

        a = torch.zeros_like(sign)
        eye = torch.eye(gram.shape[-1], dtype=z.dtype, device=z.device)
        for _ in range(50):
            p = torch.sigmoid(-sign * (gram @ a))
            step = torch.linalg.solve(eye + p * (1 - p) * gram, a - sign * p)
            size = torch.ones_like(step[:, :, :1])
            before = objective(a)
            while (worse := objective(a - size * step) > before + 1e-9).any():
                size = torch.where(worse[..., None], size / 2, size)
            a = a - size * step
        weights = torch.einsum("srw,skr->swk", rows, a[..., 0])
        right = torch.stack([(z @ w).argmax(1) == self.y for w in weights]).double()
        right.scatter_(1, self.splits, 0.0)
        return 100 * (right.sum(1) / (self.nodes - self.splits.shape[1])).mean().item()


def train(data, seed, widths, activation, tau, decay, glorot, marks):
    torch.manual_seed(seed)

    def linear(inputs, outputs, glorot=False):
        layer = torch.nn.Linear(inputs, outputs, device=data.x.device)
        if glorot:
            torch.nn.init.xavier_uniform_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
        return layer

    layers = [linear(inputs, outputs, glorot) for inputs, outputs in zip([500, *widths], widths)]
    head = [linear(widths[-1], widths[-1]) for _ in range(2)]

    def encode(x):
        for layer in layers:
            x = layer(x) if activation is None else activation(layer(x))
        return x

    parameters = [weights for layer in layers + head for weights in layer.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, weight_decay=decay)
    heard = data.spread(data.x)
    found = [data.accuracy(encode(heard))]
    for epoch in range(1, EPOCHS[marks - 1] + 1):
        views = []
        for dropped, masked in zip(DROP, MASK):
            kept = torch.rand(500, device=data.x.device) >= masked
            z = encode(data.spread(data.x * kept, dropped))
            views.append(F.normalize(head[1](F.elu(head[0](z)))))
        adam.zero_grad()
        Pairs.apply(*views, tau).backward()
        adam.step()
        if epoch in EPOCHS:
            found.append(data.accuracy(encode(heard)))
    return found


def main(folder):
    device = "cuda" if torch.cuda.is_available() else sys.exit("this needs a graphics card")
    torch.backends.cuda.matmul.allow_tf32 = True
    data = Pubmed(pathlib.Path(folder), device)
    columns = "".join(f"{epochs:>8}" for epochs in (0, *EPOCHS))
    print(f"accuracy over {SPLITS} splits after epochs\n{'settings':<16}{'seed':>4}{columns}")
    for name, settings in SETTINGS.items():
        for seed in range(3):
            found = train(data, seed, *settings)
            print(f"{name:<16}{seed:>4}{''.join(f'{value:>8.2f}' for value in found)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 2 else sys.exit(__doc__)
