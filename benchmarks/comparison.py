"""Compares StructComp with other node embeddings on the same data and splits.

    pip install . -r benchmarks/comparison-requirements.txt
    python benchmarks/comparison.py --data-dir ../shared/data cora pubmed amazon-computers

Each method runs once with the settings recommended by its authors or documentation and the same number of
threads. The output shows accuracy (logistic regression, 50 random splits with 20 training nodes per class), the
seconds from arrays to the embedding, and the CPU seconds of all threads, which depend less on other load.
Imports and, for PecanPy, compilation are included, since users wait for them.
"""

import argparse
import os
import time

import numpy as np
import structcomp
from structcomp import StructComp


def structcomp_by(model):
    def embed(data, threads):
        given = structcomp.preset(model, data.name) or {"model": model}
        return StructComp(**given, random_state=0, n_threads=threads).fit_transform(data)

    return embed


def recipe(data, threads):
    return StructComp(random_state=0, n_threads=threads).fit_transform(data)


def hops(data, threads):
    return structcomp.propagate(data, n_threads=threads)


def features(data, threads):
    return np.asarray(data.X)


def deep_graph_infomax(data, threads):
    """DeepGraphInfomax as in the PyG example: one GCN layer of width 512, Adam, 300 epochs."""
    import torch
    from torch_geometric.nn import DeepGraphInfomax, GCNConv

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    x = torch.from_numpy(np.asarray(data.X))
    edges = torch.from_numpy(edge_index(data))

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = GCNConv(x.shape[1], 512, cached=True)
            self.prelu = torch.nn.PReLU(512)

        def forward(self, x, edges):
            return self.prelu(self.conv(x, edges))

    model = DeepGraphInfomax(
        hidden_channels=512,
        encoder=Encoder(),
        summary=lambda z, *_: z.mean(dim=0).sigmoid(),
        corruption=lambda x, edges: (x[torch.randperm(len(x))], edges),
    )
    adam = torch.optim.Adam(model.parameters(), lr=0.001)
    for _ in range(300):
        adam.zero_grad()
        loss = model.loss(*model(x, edges))
        loss.backward()
        adam.step()
    with torch.no_grad():
        return model.encoder(x, edges).numpy()


def node2vec(data, threads):
    """node2vec by PecanPy with p = q = 1, dimension 128, and ten walks of length 80 per node."""
    from pecanpy.pecanpy import SparseOTF

    graph = SparseOTF(p=1, q=1, workers=threads, random_state=0)
    graph.indptr = data.graph.indptr.astype(np.uint32)
    graph.indices = data.graph.indices.astype(np.uint32)
    graph.data = np.ones(len(graph.indices), np.float32)
    graph.set_node_ids(list(map(str, range(data.graph.n_nodes))))
    return graph.embed(dim=128, num_walks=10, walk_length=80, window_size=10, epochs=1)


def cleora(data, threads):
    """Cleora with its defaults: dimension 256, 40 iterations, whitening. Isolated nodes are zero."""
    import pycleora

    sources, targets = edge_index(data)
    lines = (f"{u} {v}" for u, v in zip(sources, targets) if u < v)
    graph = pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::node")
    found = pycleora.embed(graph, num_workers=threads)
    z = np.zeros((data.graph.n_nodes, found.shape[1]), np.float32)
    z[[int(name) for name in graph.entity_ids]] = found
    return z


def spectral(data, threads):
    """Spectral embedding by scikit-network, dimension 128."""
    import scipy.sparse
    from sknetwork.embedding import Spectral

    n, indices = data.graph.n_nodes, data.graph.indices
    adjacency = scipy.sparse.csr_matrix((np.ones(len(indices)), indices, data.graph.indptr), (n, n))
    return Spectral(128).fit_transform(adjacency)


METHODS = {
    "X, the features alone": features,
    "Â²X, two hops, no training": hops,
    "StructComp, our recipe": recipe,
    "StructComp, CCA-SSG": structcomp_by("cca-ssg"),
    "StructComp, GRACE": structcomp_by("grace"),
    "StructComp, SCE": structcomp_by("sce"),
    "StructComp, COLES": structcomp_by("coles"),
    "DeepGraphInfomax (PyG)": deep_graph_infomax,
    "node2vec (PecanPy)": node2vec,
    "Cleora": cleora,
    "spectral (scikit-network)": spectral,
}


def edge_index(data):
    sources = np.repeat(np.arange(data.graph.n_nodes), np.diff(data.graph.indptr))
    return np.stack([sources, data.graph.indices.astype(np.int64)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data-dir")
    parser.add_argument("--only", default="", help="methods whose names hold this")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    print("| data | method | accuracy, % | seconds | processor | width |\n|---|---|---|---|---|---|")
    for name in args.datasets:
        data = structcomp.load_dataset(name, data_dir=args.data_dir)
        for method, embed in METHODS.items():
            if args.only not in method:
                continue
            started, before = time.perf_counter(), time.process_time()
            z = np.ascontiguousarray(embed(data, args.threads), np.float32)
            seconds, processor = time.perf_counter() - started, time.process_time() - before
            said = structcomp.evaluate(z, data.y)
            accuracy = f"{said['mean']:.1f} ± {said['std']:.1f}"
            print(
                f"| {name} | {method} | {accuracy} | {seconds:.2f} | {processor:.2f} | {z.shape[1]} |",
                flush=True,
            )


main()
