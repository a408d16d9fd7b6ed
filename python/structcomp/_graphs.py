"""Graphs from objects of other packages, which are recognised by their attributes and not imported."""

from __future__ import annotations

import os
import warnings
from typing import Any, Optional

import numpy as np

from ._arrays import array, single, whole
from ._names import as_ids, checked_ids, counts, for_native, joined, places, warned, with_ids
from ._native import Graph


def as_graph(
    adjacency: Any, n_nodes: Optional[int] = None, *, ids: Any = None, n_threads: Optional[int] = None
) -> Graph:
    """Convert an object to a checked, undirected graph.

    Duplicate edges and self-loops are dropped, and directed edges become undirected; `Graph.repairs` counts
    them. Values other than one are edge weights and must not be negative; zeros are not edges. Of an edge
    that is listed twice, the largest weight is kept; entries of a matrix in the same place are added.

    Parameters
    ----------
    adjacency : object
        One of

        - a scipy sparse matrix or array of shape (n, n), or a dense array of this shape with n other than 2;
        - an integer array of shape (2, m), an edge index, or of shape (m, 2), a list of edges;
        - a tuple ``(sources, targets)`` of two vectors;
        - a tuple ``(indptr, indices, weights)`` of compressed rows, where weights may be None;
        - a PyG ``Data``, with its ``edge_weight``, or else an ``edge_attr`` of one number per edge, as edge
          weights; a DGL graph, with its ``edata["weight"]`` or ``edata["w"]``; or a networkx graph, whose
          nodes are numbered in its own order;
        - a sparse torch tensor;
        - a table of pandas, polars (also lazy), pyarrow, duckdb or anything else with ``__arrow_c_stream__``:
          two columns with the ends of the edges, and an optional third column of weights;
        - a path, or the name of a dataset;
        - a `Graph`, which is returned as it is.

        The ends of edges in arrays, lists and tables may be strings. Such nodes are sorted by name.
    n_nodes : int, optional
        Number of nodes. By default the object's own, or the largest node number plus one.
    ids : sequence of str or int, optional
        The ids of all nodes, in the order that the graph is to have. Edges are joined by id, and nodes
        without edges are kept. For matrices and other graphs without ids: the names of their nodes.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    graph : Graph

    Examples
    --------
    >>> from structcomp import as_graph
    >>> graph = as_graph([[0, 1, 2, 2], [1, 2, 0, 2]])
    >>> graph
    Graph(n_nodes=3, n_edges=3)
    >>> graph.repairs["self_loops"]
    1
    >>> as_graph([("bob", "ann"), ("ann", "eve")]).ids
    ['ann', 'bob', 'eve']
    """
    graph = graph_of(adjacency, n_nodes, n_threads, checked_ids(ids))
    if n_nodes is not None and graph.n_nodes != n_nodes:
        raise ValueError(f"n_nodes is {n_nodes}, but the graph has {graph.n_nodes} nodes")
    return graph


def graph_of(
    a: Any, n_nodes: Optional[int], n_threads: Optional[int], ids: Optional[np.ndarray] = None
) -> Graph:
    """The graph of an object; `n_nodes` is used only if the object has nothing but edges.

    With `ids`, these are the nodes in this order: edges are joined by id, as are graphs with ids of their
    own.
    """
    if isinstance(a, (str, os.PathLike)):
        from ._datasets import load_dataset

        a = load_dataset(a, n_threads=n_threads)
    inner = getattr(a, "graph", None)
    a = inner if isinstance(inner, Graph) else a  # our Dataset
    graph = a if isinstance(a, Graph) else _converted(a, n_nodes, n_threads, ids)
    return with_ids(graph, ids, n_threads)


def _converted(a: Any, n_nodes: Optional[int], n_threads: Optional[int], ids: Optional[np.ndarray]) -> Graph:
    refuse_several_types(a)
    a = collected(a)
    if hasattr(a, "ndata") and hasattr(a, "num_nodes"):  # DGL
        sources, targets = a.edges()
        return _edges(sources, targets, _dgl_weights(a), int(a.num_nodes()), n_threads)
    if hasattr(a, "number_of_nodes") and hasattr(a, "is_directed"):  # networkx
        return _networkx(a, n_threads)
    if hasattr(a, "edge_index") or hasattr(a, "adj_t"):  # PyG
        return _pyg(a, n_nodes, n_threads)
    if (
        hasattr(a, "crow_indices")
        and getattr(a, "layout", None) is not None
        and "sparse_csr" in str(a.layout)
    ):
        _square(a.shape)
        return _compressed(a.crow_indices(), a.col_indices(), a.values(), n_threads)
    if getattr(a, "is_sparse", False) is True and hasattr(a, "coalesce"):  # torch, coordinates
        _square(a.shape)
        a = a.coalesce()
        return _edges(a.indices()[0], a.indices()[1], a.values(), int(a.shape[0]), n_threads)
    if hasattr(a, "tocoo") and hasattr(a, "shape"):  # scipy
        return _scipy(a, n_threads)
    if isinstance(a, tuple) and len(a) == 3 and not _is_pair_of_names(a[0]):
        return _compressed(a[0], a[1], a[2], n_threads)
    return _listed(a, n_nodes, n_threads, ids)


def _listed(a: Any, n_nodes: Optional[int], n_threads: Optional[int], ids: Optional[np.ndarray]) -> Graph:
    """The graph of a list of edges, which may be between ids."""
    # The stream is read as it is unless its numbers are ids.
    by_number = ids is not None and ids.dtype.kind in "iu" and not counts(ids)
    if not by_number and (stream := table_stream(a)) is not None:
        n_nodes = n_nodes if ids is None else len(ids)
        names = None if ids is None else for_native(ids)
        return warned(Graph.from_table(stream[0], n_nodes, names, n_columns=stream[1], n_threads=n_threads))
    if (columns := _table_columns(a)) is not None:
        if not 2 <= len(columns) <= 3:
            raise ValueError(f"an edge table has two columns, or three with weights, not {len(columns)}")
        sources, targets, *weights = columns.values()
        return _edges(sources, targets, weights[0] if weights else None, n_nodes, n_threads, ids)
    if isinstance(a, tuple) and len(a) == 2 and np.ndim(a[0]) == 1 and not _is_pair_of_names(a[0]):
        return _edges(a[0], a[1], None, n_nodes, n_threads, ids)
    if a is None or isinstance(a, (bool, int, float)):
        raise ValueError(f"{a!r} is not a graph; see structcomp.as_graph")
    # Pairs are edges, also where there are two of them.
    if isinstance(a, list) and a and all(_is_pair_of_names(pair) for pair in a):
        return _edges([u for u, _ in a], [v for _, v in a], None, n_nodes, n_threads, ids)
    return _plain(array(a), n_nodes, n_threads, ids)


def _is_pair_of_names(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(end, str) for end in pair)


def refuse_several_types(a: Any) -> None:
    """Raise an error for a PyG `HeteroData` and a DGL heterograph."""
    if (hasattr(a, "node_types") and hasattr(a, "edge_types")) or getattr(a, "is_homogeneous", True) is False:
        raise ValueError(
            "graphs with several node or edge types are not supported; convert with PyG's "
            "data.to_homogeneous() or dgl.to_homogeneous(g)"
        )


def _plain(
    a: np.ndarray, n_nodes: Optional[int], n_threads: Optional[int], ids: Optional[np.ndarray]
) -> Graph:
    if a.dtype.kind == "O" and not all(isinstance(end, str) for end in a.flat):
        raise ValueError("an array of objects is not a graph; see structcomp.as_graph")
    if a.ndim != 2:
        raise ValueError(f"a graph as an array must have two dimensions, not {a.ndim}")
    if a.shape == (2, 2):
        raise ValueError(
            "an array of shape (2, 2) is ambiguous: an edge index, two edges or an adjacency matrix; "
            "use a tuple (sources, targets)"
        )
    if a.shape[0] == a.shape[1] and a.shape[0] > 0:
        rows, columns = np.nonzero(a)
        return _edges(rows, columns, a[rows, columns], a.shape[0], n_threads)
    if a.shape[0] == 2:
        return _edges(a[0], a[1], None, n_nodes, n_threads, ids)
    if a.shape[1] == 2:
        return _edges(a[:, 0], a[:, 1], None, n_nodes, n_threads, ids)
    if min(a.shape) == 0:
        return _edges([], [], None, n_nodes, n_threads, ids)
    _square(a.shape)
    raise AssertionError("a square array was handled above")


def _scipy(a: Any, n_threads: Optional[int]) -> Graph:
    _square(a.shape)
    # Compressed columns are the rows of the transpose, which is the same undirected graph.
    if a.format in ("csr", "csc"):
        return _compressed(a.indptr, a.indices, a.data, n_threads)
    a = a.tocoo()
    return _entries(a.row, a.col, a.data, a.shape[0], n_threads)


def _entries(rows: Any, columns: Any, values: Any, n_nodes: Optional[int], n_threads: Optional[int]) -> Graph:
    """The graph of the entries of a matrix, where those in one place are added."""
    rows, columns = whole("edges", rows), whole("edges", columns)
    values = np.ones(len(rows), np.float32) if values is None else _weights(values)
    return Graph.from_edges(rows, columns, values, n_nodes, added=True, n_threads=n_threads)


def _networkx(a: Any, n_threads: Optional[int]) -> Graph:
    number = {node: at for at, node in enumerate(a.nodes())}
    edges = [(number[u], number[v], 1.0 if w is None else w) for u, v, w in a.edges(data="weight")]
    sources, targets, weights = zip(*edges) if edges else ((), (), ())
    graph = _edges(sources, targets, single("weights", weights), len(number), n_threads)
    ids = as_ids(np.fromiter(number, object, len(number)))
    return graph if counts(ids) else graph.with_ids(for_native(ids))


def _pyg(a: Any, n_nodes: Optional[int], n_threads: Optional[int]) -> Graph:
    n_nodes = getattr(a, "num_nodes", None) if n_nodes is None else n_nodes
    edge_index = getattr(a, "edge_index", None)
    if edge_index is None:
        adj_t = getattr(a, "adj_t", None)
        if adj_t is None:
            raise ValueError("the data has neither edge_index nor adj_t")
        if not hasattr(adj_t, "coo"):
            return graph_of(adj_t, n_nodes, n_threads)
        targets, sources, weights = adj_t.coo()
        return _entries(sources, targets, weights, n_nodes, n_threads)
    edge_index = array(edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, m), not {edge_index.shape}")
    return _edges(edge_index[0], edge_index[1], _pyg_weights(a), n_nodes, n_threads)


def _pyg_weights(a: Any) -> Any:
    """`edge_weight`, or else `edge_attr` if it has one number per edge."""
    weights = getattr(a, "edge_weight", None)
    if weights is not None or getattr(a, "edge_attr", None) is None:
        return weights
    attributes = _column(a.edge_attr)
    if attributes.ndim == 1 and attributes.dtype.kind in "fiub":
        return attributes
    warnings.warn(
        f"edge_attr has the shape {attributes.shape}, so it is not read; weights have one number per edge",
        UserWarning,
        stacklevel=2,
    )
    return None


def _dgl_weights(a: Any) -> Any:
    """The edge weights of a DGL graph, under the names that its own functions and examples use."""
    data = getattr(a, "edata", {})
    found = next((data[name] for name in ("weight", "w", "edge_weight") if name in data), None)
    return None if found is None else _column(found)


def _column(values: Any) -> np.ndarray:
    """A vector, also if it is given as a matrix of one column."""
    numbers = array(values)
    return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def _edges(
    sources: Any,
    targets: Any,
    weights: Any,
    n_nodes: Optional[int],
    n_threads: Optional[int],
    ids: Optional[np.ndarray] = None,
) -> Graph:
    weights = None if weights is None else _weights(weights)
    ends = [as_ids(array(end), "edges") for end in (sources, targets)]
    if any(end is not None and end.dtype.kind == "O" for end in ends):
        if any(end is None for end in ends):
            raise ValueError("edges must be strings or integers, without missing values")
        u, v = ([str(name) for name in end.tolist()] for end in ends if end is not None)
        names = None if ids is None else for_native(ids)
        return warned(Graph.from_names(u, v, weights, names, n_threads=n_threads))
    sources, targets = whole("edges", sources), whole("edges", targets)
    if ids is None or ids.dtype.kind == "O" or counts(ids):
        # Numbers are the places of the nodes.
        n_nodes = n_nodes if ids is None else len(ids)
        return Graph.from_edges(sources, targets, weights, n_nodes, n_threads=n_threads)
    place = places(np.concatenate([sources, targets]), ids)
    return joined(place[: len(sources)], place[len(sources) :], weights, ids, n_threads)


def _compressed(indptr: Any, indices: Any, weights: Any, n_threads: Optional[int]) -> Graph:
    weights = None if weights is None else _weights(weights)
    indptr, indices = whole("indptr", indptr), whole("indices", indices)
    return Graph.from_csr(indptr, indices, weights, n_threads=n_threads)


def _weights(weights: Any) -> np.ndarray:
    numbers = array(weights)
    if numbers.dtype != np.float64:
        numbers = single("weights", numbers)
    if numbers.ndim != 1:
        raise ValueError(f"weights must have one dimension, not shape {numbers.shape}")
    return np.require(numbers, requirements=["C", "A"])


def _square(shape: Any) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"an adjacency matrix must be square, not {' x '.join(map(str, shape))}")


def table_stream(table: Any) -> Optional[tuple[Any, Optional[int]]]:
    """The Arrow stream of a table and the number of columns to read; None if it has no stream."""
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    try:
        stream = table.__arrow_c_stream__()
    except ImportError:  # pandas needs pyarrow for it
        return None
    # After its columns, pandas streams its index.
    return stream, len(table.columns) if hasattr(table, "columns") else None


def collected(table: Any) -> Any:
    """The table that a lazy one of polars stands for; anything else as it is."""
    lazy = hasattr(table, "collect_schema") and not hasattr(table, "shape")
    return table.collect() if lazy else table


def _table_columns(table: Any) -> Optional[dict[Any, Any]]:
    """The columns of a pandas table by name; None for anything else."""
    names = list(getattr(table, "columns", ()))
    # Other classes may have an array as `columns`.
    if (
        not names
        or not hasattr(table, "__getitem__")
        or not all(isinstance(name, (str, int)) for name in names)
    ):
        return None
    return {name: table[name] for name in names}
