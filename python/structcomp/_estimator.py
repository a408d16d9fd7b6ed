"""The estimator."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _native
from ._arrays import as_json, seed_of
from ._features import as_features
from ._graphs import as_graph
from ._inputs import has_graph, inputs, node_numbers
from ._names import ids_of
from ._native import Features, Graph, Model
from ._neighbors import most_similar
from ._objective import Objective, with_model
from ._progress import Callback, progress
from ._sklearn import Parameters

Path = Union[str, os.PathLike[str]]


class StructComp(Parameters):
    """Node embeddings by graph contrastive learning without message passing in training.

    The graph is split into clusters. By default nothing is trained: the directions of feature space in which
    the two halves of a cluster agree are computed. The other models average the features of each cluster and
    train a network on these few rows; its weights then run as a graph neural network on the whole graph.

    Parameters
    ----------
    model : str, Objective or callable
        ``"solved"``, the default, which is not trained; ``"sce"``, ``"coles"``, ``"grace"``, ``"cca-ssg"``,
        ``"dgi"``, ``"ggd"``, ``"blockgcl"``, ``"contrast-reg"``, ``"mvgrl"``, ``"bgrl"``, ``"sp-gcl"``; or a
        loss of your own, see `Objective` and `autograd`.
    n_clusters : int, optional
        Number of clusters. By default a tenth of the number of nodes, as in the paper.
    partitioner : str
        Partitioning method, or the path of a ``.part`` file; see `partition`.
    hidden : int
        Embedding dimension of trained models; the default model has `width`.
    layers : int
        Trained models: layers of the encoder.
    epochs : int
        Trained models: number of epochs. Every epoch is one step on all clusters, or on each batch.
    learning_rate, weight_decay : float
        Trained models: learning rate and weight decay of the optimiser.
    mode : str
        ``"structcomp"`` uses clusters. The others are baselines with message passing, which the default model
        cannot: ``"full"`` trains on the whole graph, ``"cluster-gcn"`` on batches of clusters, ``"graphsaint"``
        on samples of the graph, and ``"graphzoom"`` on a coarsened graph.
    feature_norm : str
        Scaling of the features: ``"none"``, ``"row-l1"``, ``"row-l2"`` or ``"standardize"``. The statistics
        of `fit` are kept and used in `transform`.
    stand_in : str
        Features for a graph without any: ``"position"``, where a node is in the graph, or ``"degree"``. Only
        ``"degree"`` works on another graph in `transform`.
    stand_in_width : int
        Number of these features.
    data : object, optional
        A graph with features, such as a `Dataset` or a PyG ``Data``. X in `fit` and `transform` then holds
        node numbers, which scikit-learn can split.
    callback : callable, optional
        Trained models: called with the number (from 1) and the loss of every epoch. Training ends if it
        returns False.
    verbose : bool
        Trained models: whether to show progress, with tqdm if it is installed.
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same bytes for any number of threads. None draws a seed.
    n_threads : int, optional
        Number of threads; one per core by default.
    **parameters
        All other settings of the model: ``width`` (the most columns of the embedding, 256), ``directions``,
        ``draws`` and ``weights`` of the default; ``tau``, ``lambda_``, ``alpha``, … of others. Those of
        training (``drop_member``, ``optimizer``, ``encoder``, ``hops``, ``activation``, ``batch_norm``,
        ``dropout``, ``patience``, …), of partitioning (``imbalance``, ``max_size``, ``refine``, …)
        and of modes: ``batch_clusters`` of Cluster-GCN; ``sampler``, ``budget``, ``walk_length``, ``batches``
        and ``coverage`` of GraphSAINT; ``levels`` and ``fusion_neighbors`` of GraphZoom.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, hidden), or (n, at most width) with the default model
        The embedding of the nodes of `fit`.
    model_ : Model
        The fitted model: scaling of the features, weights and settings.
    graph_ : Graph
        The graph of `fit`.
    ids_ : ndarray of shape (n,)
        The ids of the nodes of `fit`, in the order of `embedding_`: names, or numbers.
    loss_history_ : ndarray of shape (epochs,)
        The loss of every epoch; empty with the default model.
    n_features_in_ : int or None
        Number of features per node; None if they were made from the graph.
    partition_ : ndarray of shape (n,), or None
        The cluster of every node, or its coarse node with ``mode="graphzoom"``; None if there are none.
    seed_ : int
        The seed that was used.

    Examples
    --------
    >>> from structcomp import StructComp, evaluate, load_dataset
    >>> data = load_dataset("demo")
    >>> z = StructComp(random_state=0).fit_transform(data.X, adjacency=data.graph)
    >>> z.shape
    (2708, 256)
    >>> evaluate(z, data.y, runs=5)["mean"] > 85
    True
    """

    def __init__(
        self,
        *,
        model: Union[str, Objective, Callable[..., Any]] = "solved",
        n_clusters: Optional[int] = None,
        partitioner: str = "multilevel",
        hidden: int = 512,
        layers: int = 1,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        weight_decay: float = 5e-4,
        mode: str = "structcomp",
        feature_norm: str = "none",
        stand_in: str = "position",
        stand_in_width: int = 128,
        data: Any = None,
        callback: Optional[Callback] = None,
        verbose: bool = False,
        random_state: Any = None,
        n_threads: Optional[int] = None,
        **parameters: Any,
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.partitioner = partitioner
        self.hidden = hidden
        self.layers = layers
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.mode = mode
        self.feature_norm = feature_norm
        self.stand_in = stand_in
        self.stand_in_width = stand_in_width
        self.data = data
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_threads = n_threads
        self._store(parameters, TypeError)

    def fit(self, X: Any = None, y: Any = None, *, adjacency: Any = None, ids: Any = None) -> StructComp:
        """Fit the model to a graph and embed its nodes.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            Features, one row per node. C-contiguous float32 arrays are not copied and must not change during
            the call. Or an object with graph and features: a `Dataset`, a PyG ``Data``, a DGL graph with
            ``ndata["feat"]``, a networkx graph, a dataset's name or a path. None if there are no features.
            With the parameter `data`: node numbers. If a pandas table has the ids of the nodes as its index,
            the graph is joined by them, in the order of X.
        y : ignored
            For scikit-learn.
        adjacency : object, optional
            The graph, unless X has it; see `as_graph`.
        ids : sequence of str or int, optional
            The ids of the rows of X, by which edges are joined; or of all nodes, if there is no X.

        Returns
        -------
        self : StructComp
        """
        graph, features, _, name = inputs(X, adjacency, self.n_threads, self.data, ids)
        if graph is None:
            raise ValueError("the graph is missing; use fit(X, adjacency=A), or fit(data) with both")
        loss, given = with_model(self._settings(), self.model)
        settings = as_json({**given, "random_state": seed_of(self.random_state)})
        with progress(self.callback, self.verbose and self.model != "solved", self.epochs) as on_epoch:
            hooks: dict[str, Any] = {"loss": loss, "on_epoch": on_epoch}
            model = _native.fit(features, graph, settings, data=name, n_threads=self.n_threads, **hooks)
        self.embedding_ = model.embed(features, graph, n_threads=self.n_threads)
        self.graph_, self.loss_history_, self.partition_ = graph, model.losses, model.partition
        self.ids_ = ids_of(graph)
        return self._fitted(model)

    def transform(self, X: Any = None, *, adjacency: Any = None, ids: Any = None) -> np.ndarray:
        """Embed the nodes of a graph, which need not be the graph of `fit`.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            As in `fit`.
        adjacency : object, optional
            The graph, unless X has it. By default the graph of `fit`.
        ids : sequence of str or int, optional
            As in `fit`.

        Returns
        -------
        embedding : ndarray, one row per node and as wide as `embedding_`
        """
        graph, features, nodes = self._known(X, adjacency, ids)
        embedding = self.model_.embed(features, graph, n_threads=self.n_threads)
        return embedding if nodes is None else np.take(embedding, nodes, axis=0)

    def fit_transform(
        self, X: Any = None, y: Any = None, *, adjacency: Any = None, ids: Any = None
    ) -> np.ndarray:
        """Fit the model to a graph and return the embedding of its nodes; parameters as in `fit`."""
        self.fit(X, y, adjacency=adjacency, ids=ids)
        if self.data is None or X is None:
            return self.embedding_
        return np.take(self.embedding_, node_numbers(X, self.graph_), axis=0)

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

    @classmethod
    def load(cls, path: Path) -> StructComp:
        """Read a model that `save` or ``structcomp train`` wrote. It has no embedding, graph or clusters."""
        model = Model.load(os.fspath(path))
        return cls(**json.loads(model.parameters), random_state=model.seed)._fitted(model)

    def _fitted(self, model: Model) -> StructComp:
        self.model_, self.n_features_in_, self.seed_ = model, model.n_features, model.seed
        return self

    def _known(
        self, X: Any, adjacency: Any, ids: Any = None
    ) -> tuple[Graph, Optional[Features], Optional[np.ndarray]]:
        """The inputs of a fitted model."""
        self._check_fitted()
        if adjacency is None and self.data is None and not has_graph(X):
            adjacency = getattr(self, "graph_", None)
        graph, features, nodes, _ = inputs(X, adjacency, self.n_threads, self.data, ids)
        if graph is None:
            raise ValueError("the graph is missing; use transform(X, adjacency=A)")
        if features is not None and self.n_features_in_ not in (None, features.n_cols):
            have, name, want = features.n_cols, type(self).__name__, self.n_features_in_
            raise ValueError(f"X has {have} features, but {name} is expecting {want} features as input")
        return graph, features, nodes
