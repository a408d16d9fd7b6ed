"""The rows of an embedding that are most alike."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Optional

import numpy as np

from . import _native
from ._arrays import array, whole
from ._features import as_features


def neighbors(
    embedding: Any,
    queries: Any = None,
    k: int = 10,
    metric: str = "cosine",
    ids: Any = None,
    *,
    n_threads: Optional[int] = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the rows of an embedding that are most like some rows, by exact search.

    Parameters
    ----------
    embedding : array, sparse matrix or table of shape (n, d)
        One row per node. The index of a pandas table names the rows, unless it only counts them.
    queries : id, list of ids, array of shape (q, d), or None
        Nodes to search for: ids, or row numbers where rows have no ids. Or rows from elsewhere, as an array
        with two dimensions. None searches for every node.
    k : int
        Number of neighbours of each query. There are fewer if the embedding has fewer rows.
    metric : str
        ``"cosine"``, ``"dot"`` or ``"euclidean"`` (minus the distance). Larger scores are more alike for
        each of them.
    ids : array of shape (n,), optional
        The ids of the rows: strings or integers.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    found : ndarray of shape (q, k), or (k,) for a single id
        Ids, or row numbers where rows have no ids. The best come first, and of equal scores the one with the
        smaller row number. A node is not its own neighbour.
    scores : ndarray of the same shape and type float32

    Examples
    --------
    >>> from structcomp import neighbors
    >>> z = [[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]
    >>> found, scores = neighbors(z, "ann", k=2, ids=["ann", "bob", "eve"])
    >>> found.tolist(), scores.round(2).tolist()
    (['eve', 'bob'], [0.8899999856948853, 0.0])
    >>> neighbors(z, k=1)[0].tolist()
    [[2], [2], [0]]
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    names = names_of(embedding, ids)
    features = as_features(embedding, n_threads=n_threads, what="embedding")
    if names is not None and len(names) != features.n_rows:
        raise ValueError(f"there are {len(names)} ids for {features.n_rows} rows")
    given: dict[str, Any] = {"metric": metric, "n_threads": n_threads}
    if _are_rows(queries):
        given["rows"] = as_features(queries, n_threads=n_threads, what="queries")
    elif queries is not None:
        given["nodes"] = whole("queries", row_numbers(np.atleast_1d(array(queries)), names, features.n_rows))
    found, scores = _native.neighbors(features, k, **given)
    if queries is not None and np.ndim(queries) == 0:
        found, scores = found[0], scores[0]
    return (found if names is None else names[found]), scores


def most_similar(embedding: np.ndarray, node: Any, ids: Any, **how: Any) -> list[tuple[Any, float]]:
    """The ids and scores of the rows most like one: an id or, unless ids are integers, a row number."""
    if ids is not None and array(ids).dtype.kind not in "iu" and isinstance(node, (int, np.integer)):
        row_numbers(np.array([node]), None, len(ids))
        node = array(ids)[node]
    found, scores = neighbors(embedding, node, ids=ids, **how)
    return list(zip(found.tolist(), scores.tolist()))


def names_of(embedding: Any, ids: Any) -> Optional[np.ndarray]:
    """The ids of the rows: those given, or else the index of a pandas table that does not only count."""
    if ids is not None:
        return array(ids)
    index = getattr(embedding, "index", None) if hasattr(embedding, "columns") else None
    counts = index is None or type(index).__name__ == "RangeIndex"
    return None if counts else array(index)


def row_numbers(queries: np.ndarray, names: Optional[np.ndarray], n_rows: int) -> np.ndarray:
    """The rows of some ids."""
    if queries.ndim != 1:
        raise ValueError(f"ids of queries must have one dimension, not {queries.ndim}")
    if names is None:
        if queries.size and queries.dtype.kind not in "iu":
            raise ValueError(
                f"the rows have no ids, so queries must be row numbers, not {queries.dtype}; pass ids"
            )
        wrong = queries[(queries < 0) | (queries >= n_rows)]
        if wrong.size:
            raise ValueError(f"there is no row {wrong[0]}; there are {n_rows}")
        return queries
    places = {name: row for row, name in enumerate(names.tolist())}
    if len(places) < n_rows:
        raise ValueError("the ids are not all different")
    unknown = [query for query in queries.tolist() if query not in places]
    if unknown:
        near = get_close_matches(str(unknown[0]), [str(name) for name in places], 3, 0.7)
        advice = f"; the closest are {', '.join(map(repr, near))}" if near else ""
        raise ValueError(f"there is no node {unknown[0]!r}{advice}")
    return np.array([places[query] for query in queries.tolist()], np.int64)


def _are_rows(queries: Any) -> bool:
    """Whether queries are rows and not ids: numbers with two dimensions."""
    return queries is not None and (
        hasattr(queries, "tocsr") or hasattr(queries, "columns") or np.ndim(queries) == 2
    )
