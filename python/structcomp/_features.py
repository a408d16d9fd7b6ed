"""Features from arrays, sparse matrices and tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from ._arrays import array, single, whole
from ._graphs import collected, table_stream
from ._native import Features, table


@dataclass(frozen=True, eq=False)
class CsrArray:
    """A sparse matrix of compressed rows, with the attributes of scipy's.

    ``scipy.sparse.csr_array((x.data, x.indices, x.indptr), x.shape)`` converts it to scipy.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,)
        Start of each row in `indices` and `data`.
    indices : ndarray of shape (entries,)
        The column of each value.
    data : ndarray of shape (entries,)
        The values.
    shape : tuple of int
        Numbers of rows and columns.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]

    format = "csr"

    def toarray(self) -> np.ndarray:
        """The matrix as a dense array of shape (n, d)."""
        dense = np.zeros(self.shape, np.float32)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense

    def tocsr(self) -> CsrArray:
        """The matrix itself."""
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.toarray().astype(dtype or np.float32, copy=False)

    def __repr__(self) -> str:
        return f"CsrArray(shape={self.shape}, entries={len(self.data)})"


def as_features(x: Any, *, n_threads: Optional[int] = None, what: str = "X") -> Features:
    """Checked features from an array, a sparse matrix or a table."""
    if isinstance(x, Features):
        return x
    if isinstance(x, (str, os.PathLike)):
        raise ValueError(f"{what} cannot be a path; read files with load_dataset")
    if hasattr(x, "tocsr") and hasattr(x, "shape"):
        x = x.tocsr()
        indptr, indices = whole("indptr", x.indptr), whole("indices", x.indices)
        return Features.sparse(indptr, indices, single(what, x.data), int(x.shape[1]), n_threads=n_threads)
    dense = matrix(x, n_threads=n_threads, what=what)
    if dense.ndim != 2:
        raise ValueError(
            f"{what} must have two dimensions, one row per node, not {dense.ndim}. Reshape your data, "
            "for a single feature with reshape(-1, 1)"
        )
    return Features.dense(single(what, dense), n_threads=n_threads)


def matrix(x: Any, *, n_threads: Optional[int] = None, what: str = "X") -> np.ndarray:
    """An array or a table as a numpy array."""
    x = collected(x)
    is_table = hasattr(x, "columns") or not hasattr(x, "__array__")
    if is_table and not _of_numpy(x) and (stream := table_stream(x)) is not None:
        return table(stream[0], what, n_columns=stream[1], n_threads=n_threads)
    return array(x)


def _of_numpy(x: Any) -> bool:
    """Whether a pandas table has a single numpy type, so that it may not need a copy."""
    kinds = set(getattr(x, "dtypes", [None]))
    return len(kinds) < 2 and all(isinstance(kind, np.dtype) for kind in kinds)


def to_numpy(features: Features) -> Union[np.ndarray, CsrArray]:
    """Features for the caller."""
    if not features.is_sparse:
        return features.to_dense()
    return CsrArray(*features.to_csr(), (features.n_rows, features.n_cols))
