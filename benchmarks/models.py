"""The four models on compressed graphs in PyTorch, optimised as far as we could.

Gradients come from autograd except where the formula allows more: a symmetric matrix is multiplied once, similarities are
overwritten by their weights, and a sparse matrix is not transposed twice.
"""

import warnings

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore", message="Sparse")


def csr(matrix):
    matrix = matrix.tocsr().astype(np.float32)
    matrix.sort_indices()
    # MKL uses 32-bit indices; wider ones are copied in every product.
    parts = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
    return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), size=matrix.shape)


def multiply(a, b, out=None):
    """A sparse times a dense matrix. Plain `@` would first fill the result with zeros and copy it."""
    out = torch.empty(a.shape[0], b.shape[1]) if out is None else out
    return torch.addmm(out, a, b, beta=0, out=out)


def dense(matrix):
    matrix = matrix.toarray() if sp.issparse(matrix) else matrix
    return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32))


class Compressed:
    """Features with nodes sorted by cluster, and the mean row of every cluster."""

    def __init__(self, x, cluster):
        self.cluster = cluster
        self.sizes = np.bincount(cluster)
        self.rows, self.cols = len(self.sizes), x.shape[1]
        nodes = np.argsort(cluster, kind="stable")
        self.x = x[nodes]
        ends = np.r_[0, np.cumsum(self.sizes)]
        share = np.repeat(1 / self.sizes, self.sizes)
        mean = sp.csr_matrix((share, np.arange(len(nodes)), ends), shape=(self.rows, len(nodes)))
        self.means = mean @ self.x
        self.entries = self.means.count_nonzero() if sp.issparse(x) else np.count_nonzero(self.means)

    def coarse(self, adjacency):
        """1 if an edge connects two clusters or lies inside one."""
        n = len(self.cluster)
        assign = sp.csr_matrix((np.ones(n), self.cluster, np.arange(n + 1)), shape=(n, self.rows))
        return (assign.T @ adjacency @ assign).astype(bool).astype(np.float64)


class DropMember:
    """Draws half of each cluster's members by sorting one random key per node within clusters."""

    def __init__(self, sizes):
        self.sizes, self.count = torch.from_numpy(sizes), len(sizes)
        kept = (self.sizes // 2).clamp(min=1)
        starts = self.sizes.cumsum(0) - self.sizes
        self.clusters = torch.repeat_interleave(torch.arange(self.count), self.sizes)
        # Sorting keeps clusters in place; the first nodes of each are kept.
        self.places = (torch.arange(len(self.clusters)) - starts[self.clusters] < kept[self.clusters]).nonzero().flatten()
        self.ends = F.pad(kept.cumsum(0), (1, 0))
        self.weights = torch.repeat_interleave(1 / kept, kept)
        self.base = self.clusters.double()
        self.owners = self.clusters[self.places].int()

    def draw(self):
        return (self.base + torch.rand(len(self.base), dtype=torch.float64)).argsort()[self.places]

    def matrices(self):
        """The matrix that averages the kept rows, and its transpose."""
        kept, nodes = self.draw(), len(self.base)
        mean = torch.sparse_csr_tensor(self.ends.int(), kept.int(), self.weights, size=(self.count, nodes))
        # Nodes are sorted by cluster and have at most one entry, so the sorted entries form the transpose.
        used = torch.zeros(nodes, dtype=torch.int32)
        used[kept] = 1
        ends = F.pad(used.cumsum(0, dtype=torch.int32), (1, 0))
        back = torch.sparse_csr_tensor(ends, self.owners, self.weights, size=(nodes, self.count))
        return mean, back


class SparseProduct(torch.autograd.Function):
    """Both views times the weight, with precomputed transposes."""

    @staticmethod
    def forward(ctx, weight, first, second, first_t, second_t):
        ctx.transposed = first_t, second_t
        out = torch.empty(2 * len(first), weight.shape[1])
        multiply(first, weight, out[: len(first)])
        multiply(second, weight, out[len(first) :])
        return out

    @staticmethod
    def backward(ctx, gradient):
        first, second = ctx.transposed
        one, two = gradient.chunk(2)
        return multiply(first, one).addmm_(second, two), None, None, None, None


class Prelu(torch.autograd.Function):
    """Twice as fast as the version in torch.nn.functional."""

    @staticmethod
    def forward(ctx, z, slope):
        low = z.clamp(max=0)
        ctx.save_for_backward(z, low, slope)
        return torch.addcmul(z, low, slope - 1)

    @staticmethod
    def backward(ctx, gradient):
        z, low, slope = ctx.saved_tensors
        high = torch.ops.aten.threshold_backward(gradient, z, 0)
        return torch.addcmul(high, gradient - high, slope), (low * gradient).sum(0)


class Elu(torch.autograd.Function):
    """Twice as fast as the version in torch.nn.functional."""

    @staticmethod
    def forward(ctx, z):
        out = z.clamp(max=0).exp_().sub_(1).add_(z.clamp(min=0))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return ctx.saved_tensors[0].clamp(max=0).add_(1).mul_(gradient)


class InfoNce(torch.autograd.Function):
    """The loss of GRACE for unit rows; the views are stacked."""

    @staticmethod
    def forward(ctx, rows, tau, work):
        u, v = rows.chunk(2)
        n = len(u)
        within_u, within_v, across, weight = work
        scaled_u, scaled_v = u / tau, v / tau
        # Cosines are at most 1, so exponentials need no shift.
        torch.mm(scaled_u, u.T, out=within_u).exp_().fill_diagonal_(0)
        torch.mm(scaled_v, v.T, out=within_v).exp_().fill_diagonal_(0)
        torch.mm(scaled_u, v.T, out=across).exp_()
        of_u = within_u.sum(1) + across.sum(1)
        of_v = within_v.sum(1) + across.sum(0)
        loss = (of_u.log().sum() + of_v.log().sum() - 2 * (scaled_u * v).sum()) / (2 * n)
        a, b = 1 / of_u, 1 / of_v
        for matrix, of_row, of_column in ((within_u, a, a), (within_v, b, b), (across, a, b)):
            matrix.mul_(torch.add(of_row[:, None], of_column, out=weight))
        gradient, scale = torch.empty_like(rows), 1 / (2 * n * tau)
        du, dv = gradient.chunk(2)
        torch.addmm(v, within_u, u, beta=-2 * scale, alpha=scale, out=du).addmm_(across, v, alpha=scale)
        torch.addmm(u, within_v, v, beta=-2 * scale, alpha=scale, out=dv).addmm_(across.T, u, alpha=scale)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx, of_loss):
        return ctx.saved_tensors[0] * of_loss, None, None


class Correlation(torch.autograd.Function):
    """The loss of CCA-SSG; the views are stacked."""

    @staticmethod
    def forward(ctx, rows, weight):
        h = rows.shape[1]
        rows = rows.view(2, -1, h)
        n = rows.shape[1]
        z = rows - rows.mean(1, keepdim=True)
        inverse = (z.square().sum(1, keepdim=True) / (n - 1)).rsqrt_()
        # Constant columns become zero.
        inverse.masked_fill_(inverse.isinf(), 0)
        z.mul_(inverse)
        trace = (z[0] * z[1]).sum()
        # ZᵀZ and ZZᵀ have the same norm and Z(ZᵀZ) = (ZZᵀ)Z, so use the smaller one.
        gram = z @ z.mT if n < h else z.mT @ z
        loss = -trace / n + weight * (2 * h - 2 * z.square().sum() / n + gram.square().sum() / n**2)
        g = torch.add(z.flip(0), z, alpha=4 * weight).mul_(-1 / n)
        left, right = (gram, z) if n < h else (z, gram)
        g.baddbmm_(left, right, alpha=4 * weight / n**2)
        along = (g * z).sum(1, keepdim=True).div_(n - 1)
        g.sub_(g.mean(1, keepdim=True)).addcmul_(z, along, value=-1).mul_(inverse)
        ctx.save_for_backward(g.view(-1, h))
        return loss

    @staticmethod
    def backward(ctx, of_loss):
        return ctx.saved_tensors[0] * of_loss, None


def uniform(inputs, outputs):
    """A layer initialised like torch.nn.Linear; the weight has one row per input."""
    bound = inputs**-0.5
    shapes = (inputs, outputs), (outputs,)
    return [torch.empty(shape).uniform_(-bound, bound).requires_grad_() for shape in shapes]


class Linear:
    """SCE and COLES: z = xW + b. The form is dense, sparse or gram, which uses the rows only to compute XᵀLX."""

    def __init__(self, data, adjacency, settings, form):
        self.form, self.model, self.rows = form, settings["model"], data.rows
        weight, bias = uniform(data.cols, settings["hidden"])
        self.sce = self.model["name"] == "sce"
        if self.sce:
            bias.grad = torch.zeros_like(bias)  # only weight decay changes it
        else:
            self.matrix = self.eigenmaps(data.coarse(adjacency))
        x = data.means
        if form == "gram" and not self.sce:
            # The bias is the weight of a constant feature 1.
            x = F.pad(dense(x), (0, 1), value=1.0)
            self.gram = x.T @ multiply(csr(self.matrix), x)
            weight = torch.cat([weight.detach(), bias.detach()[None]]).requires_grad_()
            parameters = [weight]
        else:
            parameters = [weight, bias]
            self.x = csr(x) if form == "sparse" else dense(x)
            self.x_t = csr(x.T) if form == "sparse" else self.x.T
            if not self.sce:
                self.matrix = csr(self.matrix)
        self.weight, self.bias = weight, bias
        self.adam = adam(parameters, settings)

    def eigenmaps(self, coarse):
        """λN − S."""
        count = self.model["negatives"]
        row = np.repeat(np.arange(self.rows), count)
        other = np.random.default_rng(0).integers(self.rows, size=len(row))
        row, other = row[row != other], other[row != other]
        pairs = sp.csr_matrix((np.ones(2 * len(row)), (np.r_[row, other], np.r_[other, row])), shape=coarse.shape)

        def normalized(matrix):
            degree = np.asarray(matrix.sum(1)).ravel()
            scale = sp.diags(np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
            return scale @ matrix @ scale

        return (self.model["lambda"] * normalized(pairs) - normalized(coarse)).tocsr()

    @torch.no_grad()
    def step(self):
        loss = self.push() if self.sce else self.pull()
        self.adam.step()
        return loss

    def product(self, a, b, out=None):
        return multiply(a, b, out) if self.form == "sparse" else torch.mm(a, b, out=out)

    def pull(self):
        """COLES: the gradient in Z is (2/n')(λN − S)Z."""
        scale = 2 / self.rows
        if self.form == "gram":
            self.weight.grad = torch.mm(self.gram, self.weight, out=self.weight.grad).mul_(scale)
            return torch.dot(self.weight.flatten(), self.weight.grad.flatten()).item() / 2
        z = self.product(self.x, self.weight).add_(self.bias)
        gradient = multiply(self.matrix, z).mul_(scale)
        self.weight.grad, self.bias.grad = self.product(self.x_t, gradient, self.weight.grad), gradient.sum(0)
        return torch.dot(z.flatten(), gradient.flatten()).item() / 2

    def push(self):
        """SCE: T is the trace of ZᵀLZ, where L is the Laplacian of the sampled pairs."""
        count = self.model["negatives"]
        others = torch.randint(self.rows, (self.rows, count))
        degree = (others.flatten().bincount(minlength=self.rows) + count)[:, None]
        if self.form == "gram":
            # L = D − C − Cᵀ, and XᵀCX needs no transpose of C.
            half = self.x_t @ (self.x * (degree / 2) - F.embedding_bag(others, self.x, mode="sum"))
            gradient = torch.mm(half + half.T, self.weight, out=self.weight.grad)
            total = torch.dot(self.weight.flatten(), gradient.flatten()).item()
        else:
            z = self.product(self.x, self.weight)
            own = torch.arange(self.rows).repeat_interleave(count)
            order = others.flatten().argsort()
            ends = others.flatten().bincount(minlength=self.rows).cumsum(0)
            drawn = F.embedding_bag(others, z, mode="sum")
            drawn += F.embedding_bag(own[order], z, F.pad(ends, (1, 0)), mode="sum", include_last_offset=True)
            pulled = drawn.neg_().addcmul_(z, degree)
            total = torch.dot(z.flatten(), pulled.flatten()).item()
            gradient = self.product(self.x_t, pulled, self.weight.grad)
        alpha = self.model["alpha"]
        self.weight.grad = gradient.mul_(-2 * alpha / total**2)
        return alpha / total

    @torch.no_grad()
    def embed(self, x, hat):
        """Two hops, then the layer; the bias is not propagated."""
        weight, bias = (self.weight, self.bias) if self.weight.shape[0] == x.shape[1] else (self.weight[:-1], self.weight[-1])
        return hat @ (hat @ (x @ weight)) + bias


class TwoViews:
    """GRACE and CCA-SSG: linear layers, a PReLU, and for GRACE a projection head; rows are dense or sparse."""

    def __init__(self, data, _, settings, form):
        self.form, self.model, hidden = form, settings["model"], settings["hidden"]
        widths = [data.cols] + settings["layers"] * [hidden]
        self.encoder = [uniform(*pair) for pair in zip(widths, widths[1:])]
        self.slope = torch.full((hidden,), 0.25, requires_grad=True)
        self.grace = self.model["name"] == "grace"
        self.head = [uniform(hidden, hidden) for _ in range(2)] if self.grace else []
        self.drop, n = DropMember(data.sizes), data.rows
        if form == "sparse":
            self.x, self.x_t, self.nodes, self.nodes_t = map(csr, (data.means, data.means.T, data.x, data.x.T))
        else:
            self.nodes = dense(data.x)
            self.both = torch.empty(2 * n, data.cols)
            self.both[:n] = dense(data.means)
        self.rows = n
        # If multiplying the weights is cheaper than another product with all rows, merge the layers.
        self.composed = data.cols < 2 * n
        self.work = [torch.empty(n, n) for _ in range(4)] if self.grace else []
        self.adam = adam([p for layer in self.encoder + self.head for p in layer] + [self.slope], settings)

    def first(self, weight, bias):
        if self.form == "sparse":
            mean, back = self.drop.matrices()
            return SparseProduct.apply(weight, self.x, mean @ self.nodes, self.x_t, self.nodes_t @ back) + bias
        kept, starts = self.drop.draw(), self.drop.ends[:-1]
        self.both[self.rows :] = F.embedding_bag(kept, self.nodes, starts, mode="mean")
        return torch.addmm(bias, self.both, weight)

    def encode(self):
        (weight, bias), *rest = self.encoder
        if self.composed:
            for next_weight, next_bias in rest:
                weight, bias = weight @ next_weight, torch.addmv(next_bias, next_weight.T, bias)
        z = self.first(weight, bias)
        for weight, bias in [] if self.composed else rest:
            z = torch.addmm(bias, z, weight)
        return Prelu.apply(z, self.slope)

    def step(self):
        z = self.encode()
        if self.grace:
            (weight, bias), (last_weight, last_bias) = self.head
            z = Elu.apply(torch.addmm(bias, z, weight))
            z = F.normalize(torch.addmm(last_bias, z, last_weight))
            loss = InfoNce.apply(z, self.model["tau"], self.work)
        else:
            loss = Correlation.apply(z, self.model["lambda"])
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()

    @torch.no_grad()
    def embed(self, x, hat):
        """The same layers, each followed by a hop."""
        for weight, bias in self.encoder:
            x = hat @ (x @ weight) + bias
        return F.prelu(x, self.slope)


def adam(parameters, settings):
    rate, decay = settings["learning-rate"], settings["weight-decay"]
    return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)


def trainer(data, adjacency, settings, form):
    kind = Linear if settings["model"]["name"] in ("sce", "coles") else TwoViews
    return kind(data, adjacency, settings, form)


def forms(data, model):
    """The forms of training that may be the fastest."""
    ways = ["dense"]
    if sp.issparse(data.x) and data.entries < 0.5 * data.rows * data.cols:
        ways.append("sparse")
    if model in ("sce", "coles"):
        ways.append("gram")
    return ways
