"""X of any origin: dense without a copy where possible, sparse, or a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from ._arrays import array, single, whole
from ._graphs import table_stream
from ._native import Features, Graph, table


@dataclass(frozen=True, eq=False)
class CsrArray:
    """A sparse matrix by rows, with the attributes that scipy's have.

    ``scipy.sparse.csr_array((x.data, x.indices, x.indptr), x.shape)`` makes it one of scipy's.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,)
        Where each row starts in `indices` and `data`.
    indices : ndarray of shape (entries,)
        The column of each value.
    data : ndarray of shape (entries,)
        The values.
    shape : tuple of int
        Rows and columns.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]

    format = "csr"

    def toarray(self) -> np.ndarray:
        """All values, zeros included, as an array of shape (n, d)."""
        dense = np.zeros(self.shape, np.float32)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense

    def tocsr(self) -> CsrArray:
        """Itself."""
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.toarray().astype(dtype or np.float32, copy=False)

    def __repr__(self) -> str:
        return f"CsrArray(shape={self.shape}, entries={len(self.data)})"


def as_features(
    x: Any, *, norm: Optional[str] = None, n_threads: Optional[int] = None, what: str = "X"
) -> Features:
    """Checked features from an array, a sparse matrix or a table."""
    if isinstance(x, Features):
        return x
    if isinstance(x, (str, os.PathLike)):
        raise ValueError(f"{what} cannot be a path; load_dataset reads files")
    if hasattr(x, "tocsr") and hasattr(x, "shape"):
        x = x.tocsr()
        indptr, indices = whole("row starts", x.indptr), whole("columns", x.indices)
        return Features.sparse(
            indptr, indices, single(what, x.data), int(x.shape[1]), norm=norm, n_threads=n_threads
        )
    dense = matrix(x, n_threads=n_threads, what=what)
    if dense.ndim != 2:
        raise ValueError(
            f"{what} must have two dimensions, a row a node, not {dense.ndim}. Reshape your data, "
            "as by reshape(-1, 1) for a single feature"
        )
    return Features.dense(single(what, dense), norm=norm, n_threads=n_threads)


def matrix(x: Any, *, n_threads: Optional[int] = None, what: str = "X") -> np.ndarray:
    """An array, or a table, as numpy has it."""
    is_table = hasattr(x, "columns") or not hasattr(x, "__array__")
    if is_table and not _of_numpy(x) and (stream := table_stream(x)) is not None:
        return table(stream[0], what, n_columns=stream[1], n_threads=n_threads)
    return array(x)


def _of_numpy(x: Any) -> bool:
    """Whether a table is one of pandas with one type of numpy's, which may be had without a copy."""
    kinds = set(getattr(x, "dtypes", [None]))
    return len(kinds) < 2 and all(isinstance(kind, np.dtype) for kind in kinds)


def to_numpy(features: Features) -> Union[np.ndarray, CsrArray]:
    """Features as the caller sees them."""
    if not features.is_sparse:
        return features.to_dense()
    return CsrArray(*features.to_csr(), (features.n_rows, features.n_cols))


def stand_in(graph: Graph, kind: str, width: int, seed: int, n_threads: Optional[int]) -> Features:
    """Features made from the graph where there are none."""
    return Features.stand_in(graph, kind, int(width), seed, n_threads=n_threads)
