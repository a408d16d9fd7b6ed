"""The stages of `StructComp`, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _native
from ._arrays import as_json, seed_of, whole
from ._features import as_features
from ._graphs import as_graph
from ._inputs import complete, graph_and_features
from ._native import Model
from ._objective import Objective, with_model
from ._parameters import settings
from ._progress import Callback, progress


def partition(
    adjacency: Any,
    n_clusters: Optional[int] = None,
    *,
    partitioner: str = "multilevel",
    imbalance: Optional[float] = None,
    max_size: Optional[int] = None,
    refine: Optional[str] = None,
    per_component: Optional[bool] = None,
    node_weights: Any = None,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> np.ndarray:
    """Split the nodes of a graph into clusters that cut few edges.

    Parameters
    ----------
    adjacency : object
        The graph; see `as_graph`.
    n_clusters : int, optional
        Number of clusters. By default a tenth of the number of nodes, as in the paper.
    partitioner : str
        ``"multilevel"``, ``"metis"``, ``"metis-recursive"``, ``"metis-strict"``,
        ``"label-propagation"``, ``"variation-neighborhoods"``, ``"algebraic-jc"``,
        ``"affinity-gs"``, ``"random"``, or the path of a ``.part`` file.
    imbalance : float, optional
        How far a cluster may exceed the average size, as a share of it.
    max_size : int, optional
        Size of the largest cluster, instead of `imbalance`.
    refine : str, optional
        What ``"multilevel"`` minimises: ``"cut"`` (the default), or ``"objective"``, the distance between the
        graph and its compression.
    per_component : bool, optional
        Coarsening methods: whether every component is coarsened on its own, as in the paper.
    node_weights : array of shape (n,), optional
        How much each node counts in the size of its cluster.
    random_state : int, optional
        Seed. The same seed gives the same clusters for any number of threads.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    clusters : ndarray of shape (n,) and type uint32
        The cluster of every node, numbered from 0. No cluster is empty.

    Examples
    --------
    Two triangles:

    >>> from structcomp import partition
    >>> clusters = partition([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 2)
    >>> bool(len(set(clusters[:3])) == len(set(clusters[3:])) == 1)
    True
    """
    limits = {"imbalance": imbalance, "max_size": max_size, "per_component": per_component}
    settings = as_json({**limits, "refine": refine, "partitioner": partitioner, "n_clusters": n_clusters})
    weights = None if node_weights is None else whole("node_weights", node_weights)
    graph, seed = as_graph(adjacency, n_threads=n_threads), seed_of(random_state)
    return _native.partition(graph, settings, seed, node_weights=weights, n_threads=n_threads)


def compress(X: Any, clusters: Any, *, n_threads: Optional[int] = None) -> np.ndarray:
    """Average the features of every cluster: what training sees instead of the graph.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, d)
        The features.
    clusters : array of shape (n,)
        The cluster of every node.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    means : ndarray of shape (n_clusters, d)

    Examples
    --------
    >>> from structcomp import compress
    >>> compress([[1.0], [3.0], [8.0]], [0, 0, 1]).tolist()
    [[2.0], [8.0]]
    """
    features = as_features(X, n_threads=n_threads)
    return _native.compress(features, whole("clusters", clusters), n_threads=n_threads)


def drop_member(
    X: Any,
    clusters: Any,
    *,
    how: str = "half",
    epoch: int = 0,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> np.ndarray:
    """The second view of an epoch: averages over a part of every cluster's members (DropMember).

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, d)
        The features.
    clusters : array of shape (n,)
        The cluster of every node.
    how : str
        ``"half"`` keeps half of the members, as the authors' code does; ``"bernoulli"`` keeps each member
        with probability one half, as in the paper. At least one member is kept.
    epoch : int
        The epoch, from 0. Each epoch keeps other members.
    random_state : int, optional
        Seed.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    means : ndarray of shape (n_clusters, d)

    Examples
    --------
    >>> from structcomp import drop_member
    >>> view = drop_member([[1.0], [3.0], [8.0]], [0, 0, 1])
    >>> float(view[0, 0]) in (1.0, 3.0), float(view[1, 0])
    (True, 8.0)
    """
    features, clusters = as_features(X, n_threads=n_threads), whole("clusters", clusters)
    seed = seed_of(random_state)
    return _native.drop_member(features, clusters, seed, how=how, epoch=epoch, n_threads=n_threads)


def propagate(X: Any, adjacency: Any = None, hops: int = 2, *, n_threads: Optional[int] = None) -> np.ndarray:
    """Propagate features by the GCN operator: an embedding without training.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    hops : int
        Number of hops.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    propagated : ndarray of shape (n, d)

    Examples
    --------
    >>> from structcomp import propagate
    >>> propagate([[2.0], [0.0]], ([0], [1]), hops=1).round(3).tolist()
    [[1.0], [1.0]]
    """
    graph, features = complete("propagate(X, adjacency)", X, adjacency, n_threads)
    return _native.propagate(features, graph, hops, n_threads=n_threads)


def untrained_rows(
    X: Any, adjacency: Any = None, name: str = "ssgc16", *, n_threads: Optional[int] = None
) -> np.ndarray:
    """Compute one of the embeddings without training that a run is compared with.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    name : str
        ``"features"``, ``"hop1"``, ``"propagated"`` (two hops), ``"hops_mean"`` (of the features and two
        hops), ``"ssgc4"``, ``"ssgc16"``, ``"hops_concat"`` (the features and two hops side by side),
        ``"ggcm"`` or ``"slimg"``.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    rows : ndarray of shape (n, k)
        k is d for most of them. Where both n and d are large, rows start from the leading principal axes.

    Examples
    --------
    >>> from structcomp import generate, untrained_rows
    >>> data = generate(nodes=300, edges=900)
    >>> untrained_rows(data, name="ssgc4").shape == data.X.shape
    True
    """
    graph, features = complete("untrained_rows(X, adjacency)", X, adjacency, n_threads)
    return _native.untrained_rows(features, graph, name, n_threads=n_threads)


def train(
    X: Any,
    adjacency: Any = None,
    clusters: Any = None,
    *,
    model: Union[str, Objective, Callable[..., Any]] = "solved",
    callback: Optional[Callback] = None,
    verbose: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
    device: str = "auto",
    precision: str = "f32",
    hidden: int = 512,
    layers: int = 1,
    epochs: int = 50,
    learning_rate: float = 1e-3,
    weight_decay: float = 5e-4,
    mode: Optional[str] = None,
    feature_norm: str = "none",
    stand_in: str = "position",
    stand_in_width: int = 128,
    width: Optional[int] = None,
    directions: Optional[int] = None,
    draws: Optional[int] = None,
    weights: Optional[Sequence[float]] = None,
    encoder: Optional[str] = None,
    hops: Optional[int] = None,
    ssgc_alpha: Optional[float] = None,
    activation: Optional[str] = None,
    inner_activation: Optional[str] = None,
    batch_norm: Optional[bool] = None,
    renormalize: Optional[bool] = None,
    initial: Optional[str] = None,
    dropout: Optional[float] = None,
    optimizer: Optional[str] = None,
    drop_member: Optional[str] = None,
    drop_edges: Optional[Sequence[float]] = None,
    mask_features: Optional[Sequence[float]] = None,
    patience: Optional[int] = None,
    batch_clusters: Optional[int] = None,
    sampler: Optional[str] = None,
    budget: Optional[int] = None,
    walk_length: Optional[int] = None,
    batches: Optional[int] = None,
    coverage: Optional[int] = None,
    levels: Optional[int] = None,
    fusion_neighbors: Optional[int] = None,
    alpha: Optional[float] = None,
    lambda_: Optional[float] = None,
    tau: Optional[float] = None,
    negatives: Optional[int] = None,
    positives: Optional[int] = None,
    batch: Optional[int] = None,
    roots: Optional[int] = None,
    reach: Optional[int] = None,
    laplacian: Optional[bool] = None,
    coarse: Optional[Mapping[str, Any]] = None,
    projection: Optional[int] = None,
    projections: Optional[int] = None,
    projection_activation: Optional[str] = None,
    mask: Optional[float] = None,
    contrast: Optional[str] = None,
    nearest: Optional[int] = None,
    ratio: Optional[float] = None,
    iterations: Optional[int] = None,
    decay: Optional[float] = None,
) -> Model:
    """Fit a model to clusters, or train it on the whole graph or on parts of it.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
        The features; see `StructComp.fit`.
    adjacency : object, optional
        The graph; see `as_graph`.
    clusters : array of shape (n,), optional
        The cluster of every node, such as `partition` makes; the default model needs them. Without clusters,
        training passes messages on the whole graph unless another `mode` is given; see `StructComp`.
    model : str, Objective or callable
        Name of a model, as in `StructComp`, or a loss of your own.
    callback : callable, optional
        As in `StructComp`.
    verbose : bool
        As in `StructComp`.
    random_state : int, optional
        Seed.
    n_threads : int, optional
        Number of threads; one per core by default.
    device : str
        Where to train and embed: ``"cpu"``; ``"cuda"``, an NVIDIA GPU, or an error; or ``"auto"``, the GPU
        where there is one and it pays.
    precision : str
        Precision of matrix products on the GPU: ``"f32"``, ``"tf32"`` or ``"bf16"``.
    hidden, layers, epochs, learning_rate, weight_decay and all others
        As in `StructComp`.

    Returns
    -------
    model : Model
        The fitted model; its attribute ``losses`` has the loss of every epoch of training.

    Examples
    --------
    >>> from structcomp import embed, generate, partition, train
    >>> data = generate(nodes=300, edges=900)
    >>> clusters = partition(data, 30)
    >>> embed(train(data, clusters=clusters, width=64), data).shape
    (300, 64)
    >>> model = train(data, clusters=clusters, model="sce", hidden=16, epochs=20)
    >>> bool(model.losses[-1] < model.losses[0])
    True
    >>> embed(model, data).shape
    (300, 16)
    """
    parameters = settings(locals())
    graph, features, _, name = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError("the graph is missing; use train(X, adjacency=A)")
    if clusters is None and model == "solved":
        raise ValueError("the solved model needs clusters; pass clusters, or choose another model")
    loss, given = with_model(parameters, model)
    given["mode"] = mode or ("full" if clusters is None else "structcomp")
    given["random_state"] = seed_of(random_state)
    members = None if clusters is None else whole("clusters", clusters)
    with progress(callback, verbose and model != "solved", epochs) as on_epoch:
        hooks: dict[str, Any] = {"clusters": members, "loss": loss, "on_epoch": on_epoch}
        return _native.fit(features, graph, as_json(given), data=name, n_threads=n_threads, **hooks)


def embed(model: Model, X: Any, adjacency: Any = None, *, n_threads: Optional[int] = None) -> np.ndarray:
    """Embed every node of a graph, which need not be the graph of training.

    Parameters
    ----------
    model : Model
        From `train`, `StructComp.model_` or ``Model.load``.
    X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    embedding : ndarray, one row per node
    """
    graph, features, _, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError("the graph is missing; use embed(model, X, adjacency=A)")
    return model.embed(features, graph, n_threads=n_threads)


def untrained(model: Model, X: Any, adjacency: Any = None, *, n_threads: Optional[int] = None) -> Model:
    """The same model with its initial weights: a control for what training adds.

    Parameters
    ----------
    model : Model
        A trained model. A solved one has no initial weights.
    X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
        The features of the training graph.
    adjacency : object, optional
        The training graph; see `as_graph`.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    model : Model

    Examples
    --------
    >>> from structcomp import StructComp, embed, generate, untrained
    >>> data = generate(nodes=300, edges=900)
    >>> fitted = StructComp(model="sce", hidden=8, epochs=5, random_state=0).fit(data)
    >>> embed(untrained(fitted.model_, data), data).shape
    (300, 8)
    """
    graph, features, _, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError("the graph is missing; use untrained(model, X, adjacency=A)")
    return model.untrained(features, graph, n_threads=n_threads)
