"""The graph and the features of whatever a caller passes."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import array
from ._datasets import Dataset, load_dataset
from ._features import as_features, matrix
from ._graphs import collected, graph_of, refuse_several_types
from ._names import checked_ids, counts, index_of
from ._native import Features, Graph


class Inputs(NamedTuple):
    """What a call works on."""

    graph: Optional[Graph]
    features: Optional[Features]
    #: The nodes whose embedding is returned; None for all.
    nodes: Optional[np.ndarray] = None
    #: The name of the data.
    name: str = ""


def inputs(X: Any, adjacency: Any, n_threads: Optional[int], data: Any = None, ids: Any = None) -> Inputs:
    """Graph and features from X and adjacency, or from `data`; X then holds node numbers."""
    if data is None:
        return graph_and_features(X, adjacency, n_threads, ids)
    if ids is not None:
        raise ValueError("the parameter data has the ids; leave out ids")
    if adjacency is not None:
        raise ValueError("the parameter data has the graph; leave out adjacency")
    found = graph_and_features(data, None, n_threads)
    if found.graph is None:
        raise ValueError("the parameter data has no graph; use a Dataset, a PyG Data or the like")
    return found if X is None else found._replace(nodes=node_numbers(X, found.graph))


def graph_and_features(X: Any, adjacency: Any, n_threads: Optional[int] = None, ids: Any = None) -> Inputs:
    """Graph and features, where X may hold both.

    Such an X is a `Dataset`, a PyG ``Data``, a DGL or networkx graph, the name of a dataset or a path. The
    rows of X are the nodes. They have the given ids or those in the index of a pandas table.
    """
    if isinstance(X, (str, os.PathLike)):
        X = load_dataset(X, n_threads=n_threads)
    X = collected(X)
    refuse_several_types(X)
    name, graph = "", adjacency
    if isinstance(X, Dataset):
        name, graph, X = X.name, X.graph, X.X
    elif hasattr(X, "edge_index") or hasattr(X, "adj_t"):  # PyG
        graph, X = X, getattr(X, "x", None)
    elif hasattr(X, "ndata") and hasattr(X, "num_nodes"):  # DGL
        graph, X = X, X.ndata.get("feat")
    elif (hasattr(X, "number_of_nodes") and hasattr(X, "is_directed")) or isinstance(X, Graph):  # networkx
        graph, X = X, None
    graph = graph if adjacency is None else adjacency
    names = index_of(X) if ids is None else checked_ids(ids)
    if X is not None and not hasattr(X, "shape") and not isinstance(X, Features):
        X = matrix(X, n_threads=n_threads)
    features = None if X is None else as_features(X, n_threads=n_threads)
    if graph is None:
        return Inputs(None, features)
    if features is not None and names is not None and len(names) != features.n_rows:
        raise ValueError(f"there are {len(names)} ids for {features.n_rows} rows of X")
    # Their nodes have an order that the caller knows.
    in_order = isinstance(graph, (Graph, Dataset)) or hasattr(graph, "number_of_nodes")
    graph = graph_of(graph, None if features is None else features.n_rows, n_threads, names)
    if features is not None and counts(names) and isinstance(graph.ids, list) and not in_order:
        raise ValueError(
            "the edges have names, but the rows of X have none; pass ids, or X as a table with the ids as "
            "its index"
        )
    if features is not None and features.n_rows != graph.n_nodes:
        raise ValueError(f"features have {features.n_rows} rows but the graph has {graph.n_nodes} nodes")
    return Inputs(graph, features, name=name)


def has_graph(X: Any) -> bool:
    """Whether X is an object that holds a graph."""
    ours = isinstance(X, (str, os.PathLike, Dataset, Graph))
    return ours or any(hasattr(X, name) for name in ("edge_index", "adj_t", "ndata", "number_of_nodes"))


def rows_of(X: Any, ids: Any, graph: Graph) -> bool:
    """Whether the rows of X have ids that say which nodes of a graph they are."""
    names = index_of(X) if ids is None else checked_ids(ids)
    return names is not None and graph.ids is not None and not (counts(names) and isinstance(graph.ids, list))


def complete(call: str, X: Any, adjacency: Any, n_threads: Optional[int]) -> tuple[Graph, Features]:
    """The same for functions that need both; `call` shows how."""
    graph, features, _, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError(f"the graph is missing; use {call}")
    if features is None:
        raise ValueError(f"the features are missing; use {call}")
    return graph, features


def node_numbers(X: Any, graph: Graph) -> np.ndarray:
    """Checked node numbers of shape (k,)."""
    nodes = array(X)
    if nodes.ndim == 2 and nodes.shape[1] == 1:
        nodes = nodes[:, 0]
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise ValueError(
            "with the parameter data, X must hold node numbers: integers of shape (k,) or (k, 1), "
            f"not {nodes.dtype} of shape {np.shape(X)}"
        )
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < graph.n_nodes:
        raise ValueError(
            f"X has node numbers from {nodes.min()} to {nodes.max()}, but the graph has {graph.n_nodes} nodes"
        )
    return nodes
