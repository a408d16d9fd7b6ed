"""The fitted estimator: embeddings of other graphs and of new nodes, similar nodes, files."""

from __future__ import annotations

import os
from typing import Any, Optional, TypeVar, Union

import numpy as np

from ._features import as_features
from ._graphs import as_graph
from ._inputs import has_graph, inputs, rows_of
from ._native import Features, Graph, Model
from ._neighbors import most_similar
from ._sklearn import Transformer

Path = Union[str, os.PathLike[str]]
Self = TypeVar("Self", bound="Fitted")


class Fitted(Transformer):
    """What `StructComp` does after `fit`."""

    data: Any
    n_threads: Optional[int]
    embedding_: np.ndarray
    n_features_in_: Optional[int]
    seed_: int
    #: A digest of the X of `fit`.
    _rows: Optional[int]

    def transform(self, X: Any = None, *, adjacency: Any = None, ids: Any = None) -> Any:
        """Embed the nodes of a graph, which need not be the graph of `fit`.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            As in `fit`.
        adjacency : object, optional
            The graph, unless X has it. By default the graph of `fit`, which needs the X of `fit`.
        ids : sequence of str or int, optional
            As in `fit`.

        Returns
        -------
        embedding : ndarray, one row per node and as wide as `embedding_`; or a table, see `set_output`
        """
        graph, features, nodes = self._known(X, adjacency, ids)
        embedding = self.model_.embed(features, graph, n_threads=self.n_threads)
        return self._contained(
            embedding if nodes is None else np.take(embedding, nodes, axis=0), X, graph, nodes
        )

    def transform_new(self, X_new: Any, edges: Any, *, X: Any = None, adjacency: Any = None) -> np.ndarray:
        """Embed new nodes that join a known graph.

        Parameters
        ----------
        X_new : array, sparse matrix or table of shape (k, d)
            Features of the new nodes.
        edges : object
            The edges that come with the new nodes, in any form of `as_graph`; they have weight 1. Known nodes
            are 0 to n - 1, new nodes n to n + k - 1. Every edge has a new node.
        X : array, sparse matrix or table of shape (n, d), or an object with a graph
            Features of the known nodes, as in `transform`. Not needed with the parameter `data`.
        adjacency : object, optional
            The known graph, unless X has it. By default the graph of `fit`.

        Returns
        -------
        embedding : ndarray, one row per new node and as wide as `embedding_`
        """
        graph, features, _ = self._known(X, adjacency)
        new = as_features(X_new, n_threads=self.n_threads, what="X_new")
        added = as_graph(edges, graph.n_nodes + new.n_rows, n_threads=self.n_threads)
        if added.weights is not None:
            raise ValueError("edges of new nodes cannot have weights")
        return self.model_.embed_new(features, graph, new, added, n_threads=self.n_threads)

    def most_similar(self, node: Any, k: int = 10, *, metric: str = "cosine") -> list[tuple[Any, float]]:
        """Find the nodes of `fit` that are most like a node.

        Parameters
        ----------
        node : str or int
            The id of a node, or its number.
        k : int
            Number of nodes to find.
        metric : str
            ``"cosine"``, ``"dot"`` or ``"euclidean"``; see `neighbors`.

        Returns
        -------
        similar : list of (id, score)
            The best come first. Numbers instead of ids if the graph of `fit` had none.

        Examples
        --------
        >>> from structcomp import StructComp, generate
        >>> model = StructComp(random_state=0).fit(generate(nodes=300, edges=900))
        >>> [score > 0.5 for node, score in model.most_similar(7, k=3)]
        [True, True, True]
        """
        self._check_fitted()
        if not hasattr(self, "embedding_"):
            raise ValueError("a loaded model has no embedding; use neighbors(model.transform(data), node)")
        ids = getattr(self, "ids_", None)
        return most_similar(self.embedding_, node, ids, k=k, metric=metric, n_threads=self.n_threads)

    def save(self, path: Path) -> None:
        """Write the fitted model as a safetensors file, for `load` and ``structcomp embed``."""
        self._check_fitted()
        self.model_.save(os.fspath(path))

    def _fitted(self: Self, model: Model) -> Self:
        self.model_, self.n_features_in_, self.seed_ = model, model.n_features, model.seed
        return self

    def _known(
        self, X: Any, adjacency: Any, ids: Any = None
    ) -> tuple[Graph, Optional[Features], Optional[np.ndarray]]:
        """The inputs of a fitted model."""
        self._check_fitted()
        if self.data is None:
            self._check_names(X)
        if adjacency is None and self.data is None and not has_graph(X):
            adjacency = getattr(self, "graph_", None)
            if adjacency is not None and not rows_of(X, ids, adjacency):
                X = self._those_of_fit(X)
        graph, features, nodes, _ = inputs(X, adjacency, self.n_threads, self.data, ids)
        if graph is None:
            raise ValueError("the graph is missing; use transform(X, adjacency=A)")
        self._check_width(features)
        return graph, features, nodes

    def _those_of_fit(self, X: Any) -> Optional[Features]:
        """X, if it is the X of `fit`: nothing else tells that its rows are the nodes of that graph."""
        features = None if X is None else as_features(X, n_threads=self.n_threads)
        self._check_width(features)
        if (None if features is None else features.digest(n_threads=self.n_threads)) != self._rows:
            raise ValueError(
                "X is not the X of fit, so its rows may not be the nodes of that graph; pass its graph: "
                "transform(X, adjacency=A)"
            )
        return features

    def _check_width(self, features: Optional[Features]) -> None:
        if features is not None and self.n_features_in_ not in (None, features.n_cols):
            have, name, want = features.n_cols, type(self).__name__, self.n_features_in_
            raise ValueError(f"X has {have} features, but {name} is expecting {want} features as input")
