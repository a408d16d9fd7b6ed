"""Maps of embeddings."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _native
from ._features import as_features


def map_2d(embedding: Any, *, n_threads: Optional[int] = None) -> np.ndarray:
    """Place the rows of an embedding in the plane, so that similar rows are close (t-SNE).

    Rows are compared by cosine, with their 15 nearest neighbours from an exact search. The same rows give the
    same map for any number of threads. The time grows with the square of the number of rows.

    Parameters
    ----------
    embedding : array, sparse matrix or table of shape (n, d)
        One row per node, at most 131,072 of them. Choose some rows of larger embeddings, for instance at
        random.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    places : ndarray of shape (n, 2) and type float32
        Distances between groups that are far apart mean little, and the axes have no meaning.

    Examples
    --------
    >>> from structcomp import generate, map_2d, propagate
    >>> data = generate(nodes=200, edges=800, classes=3)
    >>> map_2d(propagate(data)).shape
    (200, 2)
    """
    return _native.map_2d(as_features(embedding, n_threads=n_threads, what="embedding"), n_threads=n_threads)
