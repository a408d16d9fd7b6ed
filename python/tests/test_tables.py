"""Tables of edges and of features, through Arrow's C stream.

0 - 1
| /
2 - 3     4
"""

import numpy as np
import pytest
from structcomp import StructComp, as_graph, compress

SOURCES, TARGETS = np.array([(0, 1), (1, 2), (2, 0), (2, 3)]).T
INDICES = [1, 2, 0, 2, 0, 1, 3, 2]
CLUSTERS = np.arange(300) // 10


def same(graph, weights=None):
    assert (graph.n_nodes, graph.indices.tolist()) == (5, INDICES)
    assert (None if graph.weights is None else graph.weights.tolist()) == weights


def tables(columns):
    """The same columns as tables of each package that is installed."""
    for package, make in {
        "pandas": lambda pandas: pandas.DataFrame(columns),
        "polars": lambda polars: polars.DataFrame(columns),
        "pyarrow": lambda pyarrow: pyarrow.table(columns),
    }.items():
        try:
            yield make(__import__(package))
        except ImportError:
            continue


class Stream:
    """What offers the stream alone."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture
def pyarrow():
    return pytest.importorskip("pyarrow")


@pytest.mark.parametrize("dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_ends_of_any_whole_type(dtype):
    for table in tables({"from": SOURCES.astype(dtype), "to": TARGETS.astype(dtype)}):
        same(as_graph(table, 5))
        assert as_graph(table).n_nodes == 4


@pytest.mark.parametrize("dtype", "float16 float32 float64 int8 int64 uint64 bool".split())
def test_weights_of_any_type(dtype):
    weights = np.array([1, 0, 1, 1]).astype(dtype)
    for table in tables({"from": SOURCES, "to": TARGETS, "weight": weights}):
        graph = as_graph(table, 5)
        assert (graph.n_edges, graph.repairs["zero_weights"]) == (3, 1)
    for table in tables({"from": SOURCES, "to": TARGETS, "weight": np.full(4, 0.5)}):
        same(as_graph(table, 5), [0.5] * 8)


def test_what_offers_the_stream_alone(pyarrow):
    table = pyarrow.table({"a": SOURCES, "b": TARGETS})
    same(as_graph(Stream(table), 5))
    same(as_graph(table.to_reader(), 5))
    x = pyarrow.table({"a": np.arange(300.0), "b": np.ones(300)})
    z = StructComp(random_state=0).fit_transform(x, adjacency=(CLUSTERS, np.arange(300)))
    read_once = StructComp(random_state=0)
    assert (read_once.fit_transform(x.to_reader(), adjacency=(CLUSTERS, np.arange(300))) == z).all()


def test_tables_in_many_pieces(pyarrow):
    piece = lambda at: pyarrow.table({"a": SOURCES[at], "b": TARGETS[at], "w": np.full(4, 0.5)[at]})
    pieces = pyarrow.concat_tables([piece(slice(0, 1)), piece(slice(1, 1)), piece(slice(1, 4))])
    assert pieces.column(0).num_chunks > 1
    same(as_graph(pieces, 5), [0.5] * 8)
    none = pyarrow.table({"a": pyarrow.chunked_array([], "int64"), "b": pyarrow.chunked_array([], "int64")})
    assert as_graph(none, 5).n_edges == 0


def test_dictionaries(pyarrow):
    coded = lambda ends: pyarrow.array(ends.astype(np.int16)).dictionary_encode()
    same(as_graph(pyarrow.table({"a": coded(SOURCES), "b": coded(TARGETS)}), 5))
    weights = pyarrow.array([0.5] * 4).dictionary_encode()
    same(as_graph(pyarrow.table({"a": coded(SOURCES), "b": coded(TARGETS), "w": weights}), 5), [0.5] * 8)
    pandas = pytest.importorskip("pandas")
    same(as_graph(pandas.DataFrame({"a": SOURCES, "b": TARGETS}).astype("category"), 5))
    named = as_graph(pyarrow.table({"a": pyarrow.array(["x"]).dictionary_encode(), "b": [1]}))
    assert named.ids == ["1", "x"]
    for key in (-1, 2):
        keys = pyarrow.array([0, key], pyarrow.int8())
        outside = pyarrow.DictionaryArray.from_arrays(keys, pyarrow.array([4, 5]), safe=False)
        with pytest.raises(ValueError, match=f"key {key} in a dictionary of 2 values"):
            as_graph(pyarrow.table({"a": outside, "b": [1, 2]}))


def test_the_index_of_pandas_is_no_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"from": [9, *SOURCES], "to": [9, *TARGETS]}).query("to < 9")
    same(as_graph(frame, 5))
    same(as_graph(frame.set_index(pandas.Index([7.0] * 4, name="weight")), 5))
    x = frame.astype("Int64")
    assert compress(x, [0, 0, 0, 1]).tolist() == [[1, 1], [2, 3]]


def test_pandas_without_pyarrow():
    pandas = pytest.importorskip("pandas")

    class Frame(pandas.DataFrame):
        def __arrow_c_stream__(self, requested_schema=None):
            raise ImportError("no pyarrow")

    same(as_graph(Frame({"from": SOURCES, "to": TARGETS, "weight": 0.5}), 5), [0.5] * 8)
    with pytest.raises(ValueError, match="two columns, or three with weights, not 1"):
        as_graph(Frame({"from": SOURCES}))
    assert compress(Frame({"x": [1.0, 3.0]}), [0, 0]).tolist() == [[2]]


def test_edges_that_are_none(pyarrow):
    def refused(said, **columns):
        for table in tables(columns):
            with pytest.raises(ValueError, match=said):
                as_graph(table, 5)

    refused("two columns, or three with weights, not 1", a=SOURCES)
    refused("two columns, or three with weights, not 4", a=SOURCES, b=TARGETS, c=SOURCES, d=TARGETS)
    refused("edges must be integers, not float64", a=SOURCES, b=[0.5, 1.0, 2.0, 3.0])
    refused("n_nodes is 5, but the graph has 7 nodes", a=SOURCES, b=list("abcd"))
    refused("must be integers, not bool", a=SOURCES, b=[True] * 4)
    refused("weights must be numbers, not", a=SOURCES, b=TARGETS, c=list("abcd"))
    refused("9223372036854775808 is too large", a=np.full(4, 2**63, np.uint64), b=SOURCES)
    refused("invalid node -2 in an edge; nodes are numbered from 0", a=-SOURCES, b=TARGETS)
    refused("invalid node 9 in an edge: there are 5 nodes", a=3 * TARGETS, b=SOURCES)
    refused(r"more than the supported 2\^31|invalid node 4294967296", a=np.full(4, 2**32), b=SOURCES)
    with pytest.raises(ValueError, match="cannot read the table"):
        as_graph(Stream(pyarrow.chunked_array([SOURCES])))


def test_nulls(pyarrow):
    table = pyarrow.table({"a": [0, None, None], "b": [1, 2, 3], "w": [1.0, None, 1.0]})
    with pytest.raises(ValueError, match="edges: column 'a' has 2 nulls; drop or fill them"):
        as_graph(table)
    with pytest.raises(ValueError, match="weights: column 'w' has 1 null; drop or fill them"):
        as_graph(table.set_column(0, "a", [[0, 1, 2]]))
    with pytest.raises(ValueError, match="X: column 'w' has 1 null; drop or fill them"):
        compress(table.select(["b", "w"]), [0, 0, 1])
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="column 'a' has 1 null;"):
        as_graph(polars.DataFrame({"a": [0, None], "b": [1, 2]}))


def test_features(dense):
    halves = np.round(4 * dense.X) / 4
    expected = compress(halves, CLUSTERS)
    for table in tables({f"f{at}": halves[:, at] for at in range(8)}):
        assert (compress(table, CLUSTERS) == expected).all()
    mixed = {"a": np.arange(300), "b": np.arange(300) % 2 == 0, "c": np.arange(300).astype(np.float16)}
    expected = compress(np.column_stack([np.asarray(column, float) for column in mixed.values()]), CLUSTERS)
    for table in tables(mixed):
        assert (compress(table, CLUSTERS) == expected).all()
    for table in tables({"a": ["x"] * 300}):
        with pytest.raises(ValueError, match="X must be numbers, not"):
            compress(table, CLUSTERS)


def test_features_in_many_pieces(pyarrow, dense):
    table = pyarrow.table({f"f{at}": dense.X[:, at] for at in range(8)})
    pieces = pyarrow.concat_tables([table.slice(0, 70), table.slice(70, 1), table.slice(71)])
    assert (compress(pieces, CLUSTERS) == compress(dense.X, CLUSTERS)).all()


def test_columns_that_are_no_table():
    polars = pytest.importorskip("polars")
    same(as_graph((polars.Series(SOURCES), polars.Series(TARGETS)), 5))
    with pytest.raises(ValueError, match="X must have two dimensions, one row per node, not 1"):
        compress(polars.Series([1.0, 2.0]), [0, 1])


def test_lazy_tables(dense):
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"from": SOURCES, "to": TARGETS, "weight": np.full(4, 0.5)})
    same(as_graph(lazy, 5), [0.5] * 8)
    same(as_graph(lazy.select("from", "to"), ids=range(5)))
    x = polars.LazyFrame({f"f{at}": dense.X[:, at] for at in range(8)})
    assert (compress(x, CLUSTERS) == compress(x.collect(), CLUSTERS)).all()
    model = StructComp(random_state=0)
    assert (model.fit_transform(x, adjacency=dense.graph) == model.fit_transform(dense)).all()


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    edges = duckdb.sql("select * from (values (0, 1), (1, 2), (2, 0), (2, 3)) as edges(a, b)")
    same(as_graph(edges, 5))
