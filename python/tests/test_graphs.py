"""Every way to give a graph leads to the same graph.

0 - 1
| /
2 - 3     4
"""

import sys

import numpy as np
import pytest
from structcomp import as_graph

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
SOURCES, TARGETS = np.array(EDGES).T
INDPTR, INDICES = [0, 2, 4, 7, 8, 8], [1, 2, 0, 2, 0, 1, 3, 2]


def same(graph, weights=None):
    assert (graph.n_nodes, graph.n_edges) == (5, 4)
    assert graph.indptr.tolist() == INDPTR
    assert graph.indices.tolist() == INDICES
    assert (None if graph.weights is None else graph.weights.tolist()) == weights


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i4", ">i8"]
)
def test_edges_of_any_whole_number_type(dtype):
    edges = np.array(EDGES, dtype)
    same(as_graph(edges, 5))
    same(as_graph(edges.T, 5))
    same(as_graph(np.asfortranarray(edges), 5))
    same(as_graph((edges[:, 0], edges[:, 1]), 5))
    same(as_graph((edges[::-1][:, 1], edges[::-1][:, 0]), 5))


def test_lists_and_compressed_rows():
    same(as_graph(EDGES, 5))
    same(as_graph((INDPTR, INDICES, None)))
    same(as_graph((INDPTR, INDICES, np.ones(8))))
    same(as_graph((INDPTR, INDICES, np.full(8, 2.0))), [2.0] * 8)


def test_dense_adjacency():
    a = np.zeros((5, 5), bool)
    a[SOURCES, TARGETS] = True
    same(as_graph(a))
    same(as_graph(a.astype(float)))
    same(as_graph(2 * a.astype(int)), [2.0] * 8)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_scipy(layout, dtype, kind):
    sparse = pytest.importorskip("scipy.sparse")
    ones = np.ones(4, dtype)
    coo = getattr(sparse, f"coo_{kind}")((ones, (SOURCES, TARGETS)), (5, 5))
    same(as_graph(coo.asformat(layout)))


def test_scipy_weights_and_zeros():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.csr_array(([0.5, 0.5, 0.5, 0.5, 0.0], ([0, 1, 2, 2, 4], [1, 2, 0, 3, 0])), (5, 5))
    graph = as_graph(a)
    same(graph, [0.5] * 8)
    assert graph.repairs["zero_weights"] == 1
    with pytest.raises(ValueError, match="an adjacency matrix must be square, not 5 x 4"):
        as_graph(a[:, :4])


class Data:
    """What PyG's `Data` has, without PyG."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_pyg_data():
    same(as_graph(Data(edge_index=np.array(EDGES).T, num_nodes=5)))
    weighted = Data(edge_index=np.array(EDGES).T, num_nodes=5, edge_weight=np.full(4, 3.0))
    same(as_graph(weighted), [3.0] * 8)

    class SparseTensor:
        def coo(self):
            return TARGETS, SOURCES, None

    same(as_graph(Data(adj_t=SparseTensor(), num_nodes=5)))


def test_dgl_graph():
    class Dgl:
        ndata = {}

        def edges(self):
            return SOURCES, TARGETS

        def num_nodes(self):
            return 5

    same(as_graph(Dgl()))


def test_graphs_of_several_types_are_not_supported():
    for several in (
        Data(node_types=["a"], edge_types=[("a", "to", "a")]),
        Data(is_homogeneous=False, ndata={}),
    ):
        with pytest.raises(ValueError, match="several node or edge types are not supported"):
            as_graph(several)


def test_networkx():
    networkx = pytest.importorskip("networkx")
    g = networkx.Graph()
    g.add_nodes_from("abcde")
    g.add_edges_from(("abcde"[u], "abcde"[v]) for u, v in EDGES)
    same(as_graph(g))
    same(as_graph(networkx.DiGraph(g)))
    networkx.set_edge_attributes(g, 2.0, "weight")
    same(as_graph(g), [2.0] * 8)


def test_torch():
    torch = pytest.importorskip("torch")
    index = torch.tensor(EDGES).T
    same(as_graph(index, 5))
    same(as_graph(torch.sparse_coo_tensor(index, torch.ones(4), (5, 5), check_invariants=True)))
    a = torch.zeros(5, 5)
    a[index[0], index[1]] = 1
    same(as_graph(a.to_sparse_csr()))


def test_files(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n1 2\n2 0\n2 3\n")
    for name in (path, str(path)):
        graph = as_graph(name)
        assert (graph.n_nodes, graph.n_edges) == (4, 4)
    with pytest.raises(ValueError, match="n_nodes is 5, but the graph has 4 nodes"):
        as_graph(path, 5)


def test_a_graph_is_taken_as_it_is(small):
    assert as_graph(small.graph) is small.graph
    assert as_graph(small) is small.graph


def test_repairs_are_counted():
    repairs = as_graph([(0, 1), (1, 0), (0, 1), (2, 2), (1, 2)]).repairs
    assert repairs == {
        "listed": 5,
        "self_loops": 1,
        "duplicates": 1,
        "directed": 1,
        "zero_weights": 0,
        "unknown_ids": 0,
        "isolated": 0,
    }


def test_rows_that_need_no_repair_are_counted_as_any_others():
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.csr_array((np.full(8, 0.5), INDICES, INDPTR), (5, 5))
    for weights in (0.5, 1.0):
        a.data[:] = weights
        rows, places = as_graph(a), as_graph(a.tocoo())
        same(rows, None if weights == 1.0 else [0.5] * 8)
        same(places, None if weights == 1.0 else [0.5] * 8)
        assert rows.repairs == places.repairs
    # Two directions that disagree: the larger weight is kept.
    a.data[0] = 7.0
    assert as_graph(a).weights.tolist() == as_graph(a.tocoo()).weights.tolist() == [7, 1, 7, 1, 1, 1, 1, 1]


def test_no_edges():
    assert as_graph(np.zeros((2, 0), int), 3).n_nodes == 3


@pytest.mark.parametrize(
    ("adjacency", "said"),
    [
        ([(0, -1), (1, 2), (2, 3)], "invalid node -1 in an edge; nodes are numbered from 0"),
        ([(0, 9), (1, 2), (2, 3)], "invalid node 9 in an edge: there are 5 nodes"),
        (
            np.array([[0, 1], [2, 3]]),
            "is ambiguous",
        ),
        (np.array([[0.5, 1.0]] * 3), "must be integers, not float64"),
        (np.array([[None, 1]] * 3), "an array of objects is not a graph"),
        (np.array([[object(), 1]] * 3), "an array of objects is not a graph"),
        (np.zeros((3, 4)), "an adjacency matrix must be square, not 3 x 4"),
        (np.zeros(3), "two dimensions, not 1"),
        (([0, 1, 2], [0, 1]), "3 sources but 2 targets"),
        (([0, 2, 1, 2], [1, 0], None), "indptr must ascend"),
        (([0, 1], [1, 0], None), "indptr must ascend"),
        (([], [], None), "indptr must ascend"),
        (([0, 1, 2], [1, 0], [1.0]), "1 weights for 2 edges"),
        (([0, 1, 2], [1, 0], [np.nan, 1.0]), "weight"),
        (([0, 1, 2], [1, 0], [-1.0, -1.0]), "weight"),
        (([0, 1, 2], [1, 2**40], None), "invalid node 1099511627776 in an edge: there are 2 nodes"),
        (np.array([[0, 2**63]] * 3, np.uint64), "9223372036854775808 is too large"),
        (None, "None is not a graph"),
        (7, "7 is not a graph"),
        (Data(edge_index=np.zeros((3, 4), int)), r"edge_index must have shape \(2, m\)"),
        (Data(edge_index=None), "neither edge_index nor adj_t"),
    ],
)
def test_what_is_not_a_graph_is_an_error(adjacency, said):
    with pytest.raises(ValueError, match=said):
        as_graph(adjacency, 5)


def test_too_many_nodes():
    with pytest.raises(ValueError, match=r"more than the supported 2\^31"):
        as_graph(([0], [2**40]))
    with pytest.raises(ValueError, match=r"more than the supported 2\^31"):
        as_graph(([0], [np.iinfo(np.int64).max - 1]))


def test_no_package_is_imported():
    import subprocess

    program = (
        "import sys, numpy as np, structcomp\n"
        "data = structcomp.generate(nodes=300, edges=900)\n"
        "structcomp.StructComp(n_clusters=2).fit(data)\n"
        "try: structcomp.StructComp().transform(data)\n"
        "except structcomp.NotFittedError: pass\n"
        "print([m for m in ('scipy', 'sklearn', 'torch', 'pandas', 'networkx', 'tqdm') if m in sys.modules])\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
def test_entries_in_the_same_place_of_a_matrix_are_added(layout):
    sparse = pytest.importorskip("scipy.sparse")
    coo = sparse.coo_matrix(([2.0, 3.0, 1.0], ([0, 0, 1], [1, 1, 2])), (3, 3))
    assert as_graph(coo.asformat(layout)).weights.tolist() == [5, 5, 1, 1]
    # As they are stored, without scipy's help.
    twice = sparse.csr_matrix(([2.0, 3.0, 1.0], [1, 1, 2], [0, 2, 3, 3]), (3, 3))
    assert as_graph(twice).weights.tolist() == [5, 5, 1, 1]
    assert as_graph(([0, 0, 1], [1, 1, 2])).weights is None
