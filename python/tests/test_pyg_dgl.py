"""Graphs of PyG and DGL themselves, where they are installed.

0 - 1
| /
2 - 3     4
"""

import numpy as np
import pytest
from structcomp import StructComp, as_graph, train

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
INDICES = [1, 2, 0, 2, 0, 1, 3, 2]
GRACE = dict(model="grace", n_clusters=30, hidden=8, epochs=2, random_state=0)
SEVERAL = "graphs with several node or edge types are not supported"


def same(graph, weights=None):
    assert (graph.n_nodes, graph.indices.tolist()) == (5, INDICES)
    assert (None if graph.weights is None else graph.weights.tolist()) == weights


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def pyg(torch):
    return pytest.importorskip("torch_geometric")


@pytest.fixture
def dgl(torch):
    return pytest.importorskip("dgl")


def test_pyg(torch, pyg):
    data = pyg.data.Data(edge_index=torch.tensor(EDGES).T, num_nodes=5)
    same(as_graph(data))
    data.edge_weight = torch.full((4,), 0.5, requires_grad=True)
    same(as_graph(data), [0.5] * 8)
    for attributes in (torch.full((4,), 0.25), torch.full((4, 1), 0.25)):
        weighted = pyg.data.Data(edge_index=torch.tensor(EDGES).T, num_nodes=5, edge_attr=attributes)
        same(as_graph(weighted), [0.25] * 8)
    data.edge_attr = torch.ones(4, 3)
    same(as_graph(data), [0.5] * 8)
    del data.edge_weight
    with pytest.warns(UserWarning, match=r"edge_attr has the shape \(4, 3\), so it is not read"):
        same(as_graph(data))
    same(as_graph(pyg.data.Data(edge_index=torch.tensor(EDGES).T, x=torch.ones(5, 2))))
    with pytest.raises(ValueError, match="neither edge_index nor adj_t"):
        as_graph(pyg.data.Data(x=torch.ones(5, 2)))
    assert as_graph(pyg.data.Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=5)).n_edges == 0


def test_pyg_adj_t(torch, pyg):
    a = torch.zeros(5, 5)
    a[tuple(torch.tensor(EDGES).T)] = 0.5
    for adj_t in (a.T.to_sparse_csr(), a.T.to_sparse_coo()):
        same(as_graph(pyg.data.Data(adj_t=adj_t, num_nodes=5)), [0.5] * 8)
    layout = pyg.transforms.ToSparseTensor(layout=torch.sparse_csr)
    same(as_graph(layout(pyg.data.Data(edge_index=torch.tensor(EDGES).T, num_nodes=5))))


def test_pyg_edge_index_class(torch, pyg):
    edge_index = pyg.EdgeIndex(torch.tensor(EDGES).T.contiguous(), sparse_size=(5, 5))
    same(as_graph(pyg.data.Data(edge_index=edge_index, num_nodes=5)))
    same(as_graph(edge_index, 5))


def test_pyg_features(torch, pyg, dense):
    edges = torch.from_numpy(
        np.stack([np.repeat(np.arange(300), np.diff(dense.graph.indptr)), dense.graph.indices])
    )
    data = pyg.data.Data(x=torch.from_numpy(dense.X), edge_index=edges.long())
    expected = StructComp(**GRACE).fit_transform(dense)
    assert (StructComp(**GRACE).fit_transform(data) == expected).all()
    assert (StructComp(data=data, **GRACE).fit_transform(np.arange(7)) == expected[:7]).all()
    assert (StructComp(**GRACE).fit_transform(data.x, adjacency=data.edge_index) == expected).all()


def test_pyg_of_several_types(torch, pyg):
    data = pyg.data.HeteroData()
    data["paper"].x, data["author"].x = torch.ones(3, 2), torch.ones(2, 2)
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 2]])
    for refused in (
        lambda: as_graph(data),
        lambda: StructComp().fit(data),
        lambda: train(torch.ones(5, 2), data),
    ):
        with pytest.raises(ValueError, match=SEVERAL):
            refused()
    assert as_graph(data.to_homogeneous()).n_edges == 3


def test_dgl(torch, dgl, dense):
    sources, targets = torch.tensor(EDGES).T
    same(as_graph(dgl.graph((sources, targets), num_nodes=5)))
    weighted = dgl.graph((sources, targets), num_nodes=5)
    weighted.edata["w"] = torch.full((4,), 0.5)
    same(as_graph(weighted), [0.5] * 8)
    sources = torch.from_numpy(np.repeat(np.arange(300), np.diff(dense.graph.indptr)))
    graph = dgl.graph((sources, torch.from_numpy(dense.graph.indices).long()), num_nodes=300)
    graph.ndata["feat"] = torch.from_numpy(dense.X)
    assert (StructComp(**GRACE).fit_transform(graph) == StructComp(**GRACE).fit_transform(dense)).all()


def test_dgl_of_several_types(torch, dgl):
    ends = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 2])
    graph = dgl.heterograph({("author", "writes", "paper"): ends})
    for refused in (lambda: as_graph(graph), lambda: StructComp().fit(graph)):
        with pytest.raises(ValueError, match=SEVERAL):
            refused()
    assert as_graph(dgl.to_homogeneous(graph)).n_edges == 3


class LikeDgl:
    """What the package uses of a DGL graph, for machines without DGL."""

    ndata = {}
    num_nodes = lambda self: 5
    edges = lambda self: tuple(np.array(EDGES).T)

    def __init__(self, **edata):
        self.edata = edata


class LikePyg:
    """The same of PyG."""

    num_nodes, edge_index = 5, np.array(EDGES).T

    def __init__(self, **given):
        vars(self).update(given)


def test_weights_of_edges():
    for like in (LikeDgl(w=np.full(4, 0.5)), LikeDgl(weight=np.full((4, 1), 0.5), w=np.ones(4))):
        same(as_graph(like), [0.5] * 8)
    same(as_graph(LikeDgl(kind=np.full(4, 0.5))))
    same(as_graph(LikePyg(edge_attr=np.full((4, 1), 0.5))), [0.5] * 8)
    same(as_graph(LikePyg(edge_weight=np.full(4, 0.5), edge_attr=np.ones((4, 3)))), [0.5] * 8)
    with pytest.warns(UserWarning, match="so it is not read"):
        same(as_graph(LikePyg(edge_attr=np.ones((4, 3)))))
