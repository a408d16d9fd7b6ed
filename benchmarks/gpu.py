#!/usr/bin/env python3
"""Training steps and hops on one NVIDIA GPU: ours beside PyTorch, eager and compiled, in one call.

    cargo test --release -p structcomp --lib --no-run    # prints the path of the binary
    python3 benchmarks/gpu.py --ours target/release/deps/structcomp-…

Needs PyTorch with CUDA, and libcublas on LD_LIBRARY_PATH. A step of PyTorch is DropMember, encoder, head, loss, gradient and
a fused Adam. Every figure is the median of 20 steps after warm-up, in milliseconds.
"""

import argparse
import statistics
import subprocess
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {"arxiv": (169_343, 20_000), "products": (2_449_029, 25_000)}
FEATURES, HIDDEN, NEGATIVES = 128, 512, 5
DEVICE = "cuda"


def median(run, warmup: int, repeats: int = 20) -> float:
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


class Data:
    """Random features, nodes in order of their clusters, and the graph between clusters as COLES needs it."""

    def __init__(self, nodes: int, clusters: int) -> None:
        generator = torch.Generator(DEVICE).manual_seed(0)
        self.clusters = clusters
        self.x = torch.randn(nodes, FEATURES, device=DEVICE, generator=generator)
        self.cluster = torch.randint(clusters, (nodes,), device=DEVICE, generator=generator).sort().values
        self.cluster[:clusters] = torch.arange(clusters, device=DEVICE)
        self.cluster = self.cluster.sort().values
        self.sizes = torch.bincount(self.cluster, minlength=clusters)
        self.starts = self.sizes.cumsum(0) - self.sizes
        self.first = self.means(torch.ones(nodes, device=DEVICE))
        # As many as five negatives of each row and its neighbours make.
        pairs = torch.randint(clusters, (2, clusters * (2 * NEGATIVES + 3)), device=DEVICE, generator=generator)
        size, ones = (clusters, clusters), torch.ones(pairs.shape[1], device=DEVICE)
        self.pairs = torch.sparse_coo_tensor(pairs, ones, size).coalesce().to_sparse_csr()

    def means(self, kept: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros(self.clusters, FEATURES, device=DEVICE).index_add_(0, self.cluster, self.x * kept[:, None])
        counts = torch.zeros(self.clusters, device=DEVICE).index_add_(0, self.cluster, kept)
        return sums / counts[:, None]

    def dropped(self) -> torch.Tensor:
        """Half of each cluster's members at random."""
        order = torch.argsort(self.cluster + torch.rand(len(self.cluster), device=DEVICE, dtype=torch.float64))
        rank = torch.arange(len(order), device=DEVICE) - self.starts[self.cluster[order]]
        kept = (rank < (self.sizes[self.cluster[order]] // 2).clamp(min=1)).float()
        return self.means(torch.zeros_like(kept).index_copy_(0, order, kept))


class Grace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.PReLU(HIDDEN))
        self.head = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, HIDDEN))

    def forward(self, data: Data) -> torch.Tensor:
        p = F.normalize(self.head(self.encoder(torch.cat([data.first, data.dropped()]))))
        n = len(p) // 2
        similarity = torch.exp(p @ p.T / 0.5)
        sums = similarity.sum(1) - similarity.diagonal()
        partners = (p[:n] * p[n:]).sum(1) / 0.5
        return (sums.log().sum() - 2 * partners.sum()) / (2 * n)


class Cca(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.PReLU(HIDDEN))

    def forward(self, data: Data) -> torch.Tensor:
        z = [self.encoder(view) for view in (data.first, data.dropped())]
        a, b = ((view - view.mean(0)) / view.std(0) for view in z)
        n, identity = len(a), torch.eye(HIDDEN, device=DEVICE)
        apart = sum(((identity - view.T @ view / n) ** 2).sum() for view in (a, b))
        return -(a * b).sum() / n + 5e-4 * apart


class Sce(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(FEATURES, HIDDEN)

    def forward(self, data: Data) -> torch.Tensor:
        z = self.encoder(data.first)
        pairs = torch.randint(data.clusters, (data.clusters * NEGATIVES,), device=DEVICE)
        rows = torch.arange(data.clusters, device=DEVICE).repeat_interleave(NEGATIVES)
        return 20_000 / ((z[rows] - z[pairs]) ** 2).sum()


class Coles(Sce):
    def forward(self, data: Data) -> torch.Tensor:
        z = self.encoder(data.first)
        return (z * (data.pairs @ z)).sum() / data.clusters


MODELS = {"grace": Grace, "cca-ssg": Cca, "sce": Sce, "coles": Coles}


def step_of(name: str, data: Data, precision: str, compiled: bool):
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest" if precision == "f32" else "high")
    model = MODELS[name]().to(DEVICE)
    adam = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=5e-4, fused=True)

    def loss() -> torch.Tensor:
        with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == "bf16"):
            return model(data)

    run = torch.compile(loss) if compiled else loss

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        run().backward()
        adam.step()

    return step


def pytorch(sizes: list[str], names: list[str], precisions: list[str]) -> None:
    for size in sizes:
        data = Data(*SIZES[size])
        for name in names:
            for precision in precisions:
                for compiled in (False, True):
                    how = "compiled" if compiled else "eager"
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                    before = torch.cuda.memory_allocated()
                    try:
                        # Compiled sparse products are not supported everywhere.
                        taken = median(step_of(name, data, precision, compiled), 4)
                    except Exception as error:  # noqa: BLE001
                        print(f"TORCH {size} {name} {precision} {how} failed: {type(error).__name__}", flush=True)
                        continue
                    peak = (torch.cuda.max_memory_allocated() - before) / 2**30
                    print(f"TORCH {size} {name} {precision} {how} {taken:.3f} ms, {peak:.2f} GiB", flush=True)
                    torch.compiler.reset()
        del data


def hops() -> None:
    """cuSPARSE on a graph like that of our hops: 2.45 million nodes with 25 drawn neighbours each, in both directions."""
    nodes, degree = SIZES["products"][0], 25
    for near in (False, True):
        generator = torch.Generator(DEVICE).manual_seed(0)
        u = torch.arange(nodes, device=DEVICE).repeat_interleave(degree)
        v = torch.randint(nodes, u.shape, device=DEVICE, generator=generator)
        if near:
            close = (u + 1 + torch.randint(100, u.shape, device=DEVICE, generator=generator)) % nodes
            v = torch.where(torch.rand(u.shape, device=DEVICE, generator=generator) < 0.9, close, v)
        loops = torch.arange(nodes, device=DEVICE)
        edges = torch.cat([torch.stack([u, v]), torch.stack([v, u]), torch.stack([loops, loops])], 1)
        del u, v
        adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1], device=DEVICE), (nodes, nodes))
        adjacency = adjacency.coalesce().to_sparse_csr()
        del edges
        for kind in (torch.float32, torch.float16):
            a = torch.sparse_csr_tensor(
                adjacency.crow_indices().int(), adjacency.col_indices().int(), adjacency.values().to(kind), (nodes, nodes)
            )
            x = torch.randn(nodes, HIDDEN, device=DEVICE, dtype=kind)
            taken = median(lambda a=a, x=x: a @ x, 3)
            entries, bits = adjacency.values().numel(), "half" if kind == torch.float16 else "single"
            print(f"CUSPARSE {entries} entries, 512 columns, near {near}, {bits}: {taken:.2f} ms", flush=True)
            del a, x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", help="the test binary of the library")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--precisions", nargs="+", default=["f32", "tf32", "bf16"])
    parser.add_argument("--hops", action="store_true", help="also compare hops with cuSPARSE")
    options = parser.parse_args()
    if options.ours:
        tests = ["steps_take_so_long", *(["hops_take_so_long"] if options.hops else [])]
        for test in tests:
            command = [options.ours, "--ignored", "--nocapture", "--test-threads=1", f"engine::cuda::tests::speed::{test}"]
            subprocess.run(command, check=True)
    pytorch(options.sizes, options.models, options.precisions)
    if options.hops:
        hops()


if __name__ == "__main__":
    main()
