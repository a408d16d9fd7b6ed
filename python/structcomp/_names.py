"""Ids of nodes: the names by which graphs, features and labels are joined."""

from __future__ import annotations

import warnings
from typing import Any, Optional

import numpy as np

from ._arrays import array
from ._native import Graph


def as_ids(ids: Any, what: str = "ids") -> Optional[np.ndarray]:
    """Ids as an array of integers or of strings; None for anything that is neither."""
    values = array(ids)
    if values.ndim != 1:
        raise ValueError(f"{what} must have one dimension, not {values.ndim}")
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind in "UTO" or values.dtype.kind == "S":
        names = values.astype(object)
        if all(isinstance(name, str) for name in names):
            return names
        if all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names):
            return names.astype(np.int64)
    return None


def checked_ids(ids: Any) -> Optional[np.ndarray]:
    """The ids that a caller passes as `ids`."""
    if ids is None:
        return None
    found = as_ids(ids)
    if found is None:
        raise ValueError(f"ids must be strings or integers, not {array(ids).dtype}")
    return found


def for_native(ids: Optional[np.ndarray]) -> Any:
    """Ids for the library."""
    if ids is None or ids.dtype.kind == "O":
        return None if ids is None else ids.tolist()
    return np.ascontiguousarray(ids, np.int64)


def index_of(x: Any) -> Optional[np.ndarray]:
    """The index of a pandas table, if it can hold ids."""
    index: Any = getattr(x, "index", None)
    if not hasattr(x, "columns") or not hasattr(index, "to_numpy") or getattr(index, "nlevels", 1) != 1:
        return None
    found = as_ids(index.to_numpy(), "the index of X")
    return found if found is not None and index.is_unique else None


def counts(ids: Optional[np.ndarray]) -> bool:
    """Whether the ids are 0, 1, 2 and so on, like rows without ids."""
    return ids is None or (ids.dtype.kind in "iu" and np.array_equal(ids, np.arange(len(ids))))


def ids_of(graph: Graph) -> np.ndarray:
    """The ids of a graph's nodes as an array; 0, 1, 2 and so on if it has none."""
    ids = graph.ids
    if ids is None:
        return np.arange(graph.n_nodes)
    return np.array(ids, dtype=object) if isinstance(ids, list) else ids.astype(np.int64)


def places(values: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The place of every end of an edge among the ids, -1 for those that are not there."""
    if "O" in (values.dtype.kind, ids.dtype.kind):
        values, ids = (
            np.array([str(value) for value in each.tolist()], dtype=object) for each in (values, ids)
        )
        at = dict(zip(ids, range(len(ids))))
        found = np.fromiter((at.get(value, -1) for value in values), np.int64, len(values))
        distinct, repeated = len(set(values)), len(at) < len(ids)
    else:
        order = np.argsort(ids, kind="stable")
        near = np.minimum(np.searchsorted(ids, values, sorter=order), len(ids) - 1)
        found = np.where(ids[order[near]] == values, order[near], -1)
        distinct, repeated = np.unique(values).size, np.unique(ids).size < len(ids)
    if repeated:
        raise ValueError("ids must be distinct")
    known = np.unique(found[found >= 0]).size
    if 2 * known < min(distinct, len(ids)):
        # As Python's own integers, which numpy would show as np.int64(30).
        example, other = values[[np.argmin(found)]].tolist()[0], ids[:1].tolist()[0]
        raise ValueError(
            f"only {known} of the {distinct} ids in the edges, such as {example!r}, are among the {len(ids)} "
            f"ids of the nodes, such as {other!r}; do both use the same ids? To go by the order of rows "
            "instead, use X.reset_index(drop=True)"
        )
    return found


def reordered(graph: Graph, ids: np.ndarray, n_threads: Optional[int] = None) -> Graph:
    """The graph with these nodes in this order. Edges of other nodes are dropped, with a warning."""
    place = places(ids_of(graph), ids)
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    weights = None if graph.weights is None else graph.weights[once]
    return joined(place[sources[once]], place[graph.indices[once]], weights, ids, n_threads)


def joined(
    sources: np.ndarray, targets: np.ndarray, weights: Any, ids: np.ndarray, n_threads: Optional[int]
) -> Graph:
    """A graph from places among the ids; edges with a negative one are dropped."""
    kept = (sources >= 0) & (targets >= 0)
    weights = None if weights is None else weights[kept]
    graph = Graph.from_edges(sources[kept], targets[kept], weights, len(ids), n_threads=n_threads)
    return warned(graph.with_ids(for_native(ids), int((~kept).sum())))


def warned(graph: Graph) -> Graph:
    """The graph, after a warning if edges were dropped for want of an id."""
    if dropped := graph.repairs["unknown_ids"]:
        edges = "1 edge has an end that is" if dropped == 1 else f"{dropped} edges have ends that are"
        warnings.warn(f"{edges} not among the ids of the nodes; dropped", UserWarning, stacklevel=2)
    return graph


def with_ids(graph: Graph, ids: Optional[np.ndarray], n_threads: Optional[int] = None) -> Graph:
    """The graph with these nodes in this order; one without ids of its own just takes these."""
    if ids is None or (counts(ids) and isinstance(graph.ids, list)):
        return graph
    if graph.ids is not None:
        same = len(ids) == graph.n_nodes and np.array_equal(ids_of(graph), ids)
        return graph if same else reordered(graph, ids, n_threads)
    if len(ids) != graph.n_nodes:
        raise ValueError(f"there are {len(ids)} ids, but the graph has {graph.n_nodes} nodes")
    if counts(ids):
        return graph
    if ids.dtype.kind in "iu" and np.array_equal(np.sort(ids), np.arange(len(ids))):
        raise ValueError(
            f"the ids are 0 to {len(ids) - 1} in another order, but the graph has no ids; give its edges, "
            "or use X.reset_index(drop=True) to go by the order of rows"
        )
    return graph.with_ids(for_native(ids))
