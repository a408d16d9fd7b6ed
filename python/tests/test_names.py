"""Nodes with names: every input takes them, and every output has them in the order of the rows.

ann - bob
 |  /
eve - zoe     joe
"""

import numpy as np
import pytest
from structcomp import Dataset, StructComp, as_graph, evaluate, load_dataset

EDGES = [("bob", "ann"), ("ann", "eve"), ("eve", "bob"), ("eve", "zoe")]
SOURCES, TARGETS = [u for u, _ in EDGES], [v for _, v in EDGES]
SORTED = ["ann", "bob", "eve", "zoe"]
#: In an order of its own, with a node that is in no edge.
PEOPLE = ["zoe", "joe", "eve", "bob", "ann"]


def neighbours(graph):
    """The edges as a set of pairs of names."""
    names = list(range(graph.n_nodes)) if graph.ids is None else list(graph.ids)
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    return {frozenset((names[u], names[v])) for u, v in zip(rows, graph.indices)}


WANTED = {frozenset(edge) for edge in EDGES}


def lists():
    yield EDGES
    yield [*EDGES, ("ann", "bob")]
    yield (SOURCES, TARGETS)
    yield (np.array(SOURCES), np.array(TARGETS, dtype=object))
    yield np.array(EDGES)
    yield np.array(EDGES).T
    yield np.array(EDGES, dtype=object)


def tables():
    columns = {"from": SOURCES, "to": TARGETS}
    pandas = pytest.importorskip("pandas")
    yield pandas.DataFrame(columns)
    yield pandas.DataFrame(columns).astype("category")
    yield pandas.DataFrame(columns, index=list("abcd"))
    yield pytest.importorskip("polars").DataFrame(columns)
    yield pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("source", [lists, tables])
def test_edges_between_names_in_every_form(source):
    for edges in source():
        graph = as_graph(edges)
        assert (graph.ids, neighbours(graph)) == (SORTED, WANTED)
        joined = as_graph(edges, ids=PEOPLE)
        assert (joined.ids, neighbours(joined), joined.n_nodes) == (PEOPLE, WANTED, 5)
        assert joined.repairs["isolated"] == 1


def test_two_edges_and_weights():
    assert neighbours(as_graph([("ann", "bob"), ("bob", "eve")])) == {
        frozenset(("ann", "bob")),
        frozenset(("bob", "eve")),
    }
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": ["ann", "bob"], "b": ["bob", "eve"], "w": [2.0, 3.0]})
    assert sorted(as_graph(table).weights.tolist()) == [2, 2, 3, 3]


def test_other_nodes_are_dropped_with_a_warning_or_refused():
    with pytest.warns(UserWarning, match="1 edge has an end that is not among the ids"):
        graph = as_graph(EDGES, ids=["bob", "ann", "eve"])
    assert (graph.n_edges, graph.repairs["unknown_ids"]) == (3, 1)
    with pytest.raises(ValueError, match="only 0 of the 4 ids in the edges"):
        as_graph(EDGES, ids=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="appears twice"):
        as_graph(EDGES, ids=["ann", "ann", "bob", "eve", "zoe"])
    with pytest.raises(ValueError, match="empty id"):
        as_graph([("ann", ""), ("bob", "eve"), ("ann", "eve")])
    with pytest.raises(ValueError, match=r"without missing values|must be integers"):
        as_graph((["ann", None], ["bob", "eve"]))


def test_numbers_as_ids():
    edges = np.array([(30, 10), (10, 20), (20, 40)])
    graph = as_graph(edges, ids=[40, 30, 20, 10, 50])
    assert neighbours(graph) == {frozenset(edge) for edge in edges.tolist()}
    assert (graph.ids.tolist(), graph.n_nodes) == ([40, 30, 20, 10, 50], 5)
    # Names of nodes that edges refer to by their number.
    assert neighbours(as_graph([(0, 1), (1, 2), (2, 3)], ids=SORTED)) == {
        frozenset(("ann", "bob")),
        frozenset(("bob", "eve")),
        frozenset(("eve", "zoe")),
    }
    with pytest.raises(ValueError, match="only 0 of the 4 ids in the edges, such as 30"):
        as_graph(edges, ids=[1, 2, 3, 5])


def test_matrices_take_names():
    sparse = pytest.importorskip("scipy.sparse")
    graph = as_graph(sparse.csr_matrix(np.ones((3, 3))), ids=["a", "b", "c"])
    assert graph.ids == ["a", "b", "c"]
    with pytest.raises(ValueError, match="there are 2 ids, but the graph has 3 nodes"):
        as_graph(sparse.csr_matrix(np.ones((3, 3))), ids=["a", "b"])


@pytest.fixture(scope="module")
def data(small):
    return small


def frame(data, order, names):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(data.X.toarray()[order], index=names[order])


@pytest.mark.parametrize("names", ["numbers", "text"])
def test_a_table_of_features_is_joined_by_its_index(data, names):
    order = np.random.default_rng(0).permutation(300)
    ids = np.arange(300) if names == "numbers" else np.array([f"n{at}" for at in range(300)], dtype=object)
    u = np.repeat(np.arange(300), np.diff(data.graph.indptr))
    edges = (ids[u], ids[data.graph.indices])
    plain = StructComp(random_state=0).fit_transform(data.X, adjacency=data.graph)
    model = StructComp(random_state=0)
    z = model.fit_transform(frame(data, order, ids), adjacency=edges)
    assert model.ids_.tolist() == ids[order].tolist()
    accuracy = [evaluate(rows, y, runs=5)["mean"] for rows, y in ((plain, data.y), (z, data.y[order]))]
    assert abs(accuracy[0] - accuracy[1]) < 5
    # The same edges as the same graph, whatever the order of the rows.
    assert neighbours(model.graph_) == {frozenset(pair) for pair in zip(*(end.tolist() for end in edges))}


def test_networkx_nodes_are_joined_by_name(data):
    networkx, pandas = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    graph = networkx.Graph(EDGES)
    graph.add_node("joe")
    assert as_graph(graph).ids == ["bob", "ann", "eve", "zoe", "joe"]
    x = pandas.DataFrame(np.eye(5, dtype=np.float32), index=PEOPLE)
    model = StructComp(random_state=0, n_clusters=2).fit(x, adjacency=graph)
    assert (model.ids_.tolist(), neighbours(model.graph_)) == (PEOPLE, WANTED)
    mixed = networkx.Graph([(3, 1), (2, 0)])
    assert as_graph(mixed).ids.tolist() == [3, 1, 2, 0]


def test_rows_without_names_are_not_guessed():
    x = np.eye(4, dtype=np.float32)
    with pytest.raises(ValueError, match="the rows of X have none; pass ids"):
        StructComp().fit(x, adjacency=EDGES)
    pandas = pytest.importorskip("pandas")
    a = np.ones((4, 4))
    with pytest.raises(ValueError, match="in another order, but the graph has no ids"):
        StructComp().fit(pandas.DataFrame(x, index=[2, 0, 1, 3]), adjacency=np.ones((4, 4)))
    # What is left of a larger table says nothing about a matrix.
    model = StructComp(random_state=0, n_clusters=2).fit(
        pandas.DataFrame(x, index=[7, 9, 11, 12]), adjacency=a
    )
    assert model.ids_.tolist() == [7, 9, 11, 12]
    model = StructComp(random_state=0, n_clusters=2).fit(x, adjacency=EDGES, ids=["zoe", "eve", "bob", "ann"])
    assert model.ids_.tolist() == ["zoe", "eve", "bob", "ann"]
    assert StructComp(random_state=0, n_clusters=2).fit(x, adjacency=a).ids_.tolist() == [0, 1, 2, 3]


def test_copies_and_datasets_keep_the_names():
    import pickle

    graph = pickle.loads(pickle.dumps(as_graph(EDGES, ids=PEOPLE)))
    assert graph.ids == PEOPLE
    data = Dataset(EDGES, X=np.eye(5, dtype=np.float32), ids=PEOPLE)
    assert (data.ids, neighbours(data.graph)) == (PEOPLE, WANTED)
    assert StructComp(random_state=0, n_clusters=2).fit(data).ids_.tolist() == PEOPLE


def test_files_are_joined_by_name(tmp_path):
    (tmp_path / "e.csv").write_text("who,whom,times\n" + "".join(f"{u},{v},2\n" for u, v in EDGES))
    (tmp_path / "people.txt").write_text("\n".join(PEOPLE) + "\n")
    (tmp_path / "y.csv").write_text("person,team\nann,red\nbob,red\neve,blue\nzoe,blue\n")
    np.save(tmp_path / "x.npy", np.eye(5, dtype=np.float32))
    at = lambda name: tmp_path / name
    files = {"edges": at("e.csv"), "features": at("x.npy"), "labels": at("y.csv"), "ids": at("people.txt")}
    data = load_dataset(**files, weight="times")
    assert (data.ids, neighbours(data.graph)) == (PEOPLE, WANTED)
    assert data.graph.weights.tolist() == [2.0] * 8
    assert (data.class_names, data.y.tolist()) == (["blue", "red"], [0, -1, 0, 1, 1])
    assert load_dataset(at("e.csv"), header=False).graph.n_nodes == 6
    assert load_dataset(edges=at("e.csv"), source=2, target="who").graph.n_nodes == 4
    with pytest.raises(ValueError, match="either a name or path, or edges"):
        load_dataset()


def test_a_folder_of_packages(data_dir):
    if not (data_dir / "debian").is_dir():
        pytest.skip("the published datasets lack debian")
    data = load_dataset(data_dir / "debian")
    assert (data.graph.n_nodes, data.X.shape[1], len(data.class_names)) == (63651, 2432, 51)
    assert ((data.y < 0).sum(), data.ids[0]) == (261, "0ad")
