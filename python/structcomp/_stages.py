"""The stages one by one: numpy in, numpy out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, NamedTuple, Optional, Union

import numpy as np

from . import _native
from ._arrays import array, seed_of, settings, whole
from ._datasets import graph_and_features
from ._features import as_features
from ._graphs import as_graph
from ._native import Encoder
from ._objective import Objective

Callback = Callable[[int, float], Any]


class Trained(NamedTuple):
    """What `train` gives."""

    #: The trained encoder.
    encoder: Encoder
    #: The same encoder with its initial weights: the control.
    untrained: Encoder
    #: The loss of every epoch, shape (epochs,).
    losses: np.ndarray


def partition(
    adjacency: Any,
    n_clusters: Optional[int] = None,
    *,
    partitioner: str = "multilevel",
    node_weights: Any = None,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
    **parameters: Any,
) -> np.ndarray:
    """Splits the nodes of a graph into clusters that cut few edges.

    Parameters
    ----------
    adjacency : object
        The graph; see `as_graph`.
    n_clusters : int, optional
        How many clusters; a tenth of the nodes by default, as in the paper.
    partitioner : str
        ``"multilevel"``, ``"metis"``, ``"metis-recursive"``, ``"metis-strict"``,
        ``"label-propagation"``, ``"variation-neighborhoods"``, ``"algebraic-jc"``,
        ``"affinity-gs"``, ``"random"``, or the path of a ``.part`` file.
    node_weights : array of shape (n,), optional
        What each node counts for in the size of its cluster.
    random_state : int, optional
        The seed. The same seed gives the same clusters, whatever the number of threads.
    n_threads : int, optional
        Threads to use; one a core by default.
    **parameters
        ``imbalance``, ``max_size``, ``refine`` and ``per_component``, where the method has a use for them.

    Returns
    -------
    clusters : ndarray of shape (n,) and type uint32
        The cluster of each node, counted from 0; none is empty.

    Examples
    --------
    Two triangles:

    >>> from structcomp import partition
    >>> clusters = partition([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 2)
    >>> bool(len(set(clusters[:3])) == len(set(clusters[3:])) == 1)
    True
    """
    given = settings(of_partitioning(partitioner, n_clusters, parameters))
    weights = None if node_weights is None else whole("node weights", node_weights)
    graph = as_graph(adjacency, n_threads=n_threads)
    seed = seed_of(random_state)
    return _native.partition(graph, given, seed, node_weights=weights, n_threads=n_threads)


def quality(
    adjacency: Any,
    clusters: Any,
    y: Any = None,
    *,
    hops: int = 1,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """How good clusters are.

    Parameters
    ----------
    adjacency : object
        The graph; see `as_graph`.
    clusters : array of shape (n,)
        The cluster of each node, from whatever made them.
    y : array of shape (n,), optional
        Class numbers, negative where there is none; then purity is told too.
    hops : int
        The number of hops of the gap; above two it is estimated.
    random_state : int, optional
        The seed of the estimate.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    quality : dict
        clusters, cut, cut_share, largest, smallest, balance, singletons, disconnected, gap (the
        distance between the graph and its compression), purity.

    Examples
    --------
    >>> from structcomp import quality
    >>> quality([(0, 1), (1, 2), (2, 3)], [0, 0, 1, 1])["cut"]
    1.0
    """
    clusters = whole("clusters", clusters)
    labels = None if y is None else whole("labels", y)
    graph = as_graph(adjacency, len(clusters), n_threads=n_threads)
    seed = seed_of(random_state)
    said: dict[str, Any] = json.loads(
        _native.quality(graph, clusters, labels=labels, hops=hops, seed=seed, n_threads=n_threads)
    )
    return said


def compress(X: Any, clusters: Any, *, n_threads: Optional[int] = None) -> np.ndarray:
    """The mean features of every cluster: what training sees instead of the graph.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    clusters : array of shape (n,)
        The cluster of each node.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    means : ndarray of shape (n_clusters, d)

    Examples
    --------
    >>> from structcomp import compress
    >>> compress([[1.0], [3.0], [8.0]], [0, 0, 1]).tolist()
    [[2.0], [8.0]]
    """
    return _native.compress(
        as_features(X, n_threads=n_threads), whole("clusters", clusters), n_threads=n_threads
    )


def drop_member(
    X: Any,
    clusters: Any,
    *,
    how: str = "half",
    epoch: int = 0,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> np.ndarray:
    """The second view of an epoch: means over some members of every cluster.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    clusters : array of shape (n,)
        The cluster of each node.
    how : str
        ``"half"`` keeps half the members, as the authors' code does; ``"bernoulli"`` each with
        probability one half, as the paper writes. One is always kept.
    epoch : int
        The number of the epoch; each has other members.
    random_state : int, optional
        The seed.
    n_threads : int, optional
        Threads to use; one a core by default.

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
    """Features after some hops of the GCN operator: the embedding without any training.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    hops : int
        How many hops.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    spread : ndarray of shape (n, d)

    Examples
    --------
    >>> from structcomp import propagate
    >>> propagate([[2.0], [0.0]], ([0], [1]), hops=1).round(3).tolist()
    [[1.0], [1.0]]
    """
    graph, X, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None or X is None:
        raise ValueError("hops need features and the graph: propagate(X, adjacency)")
    return _native.propagate(as_features(X, n_threads=n_threads), graph, hops, n_threads=n_threads)


def train(
    X: Any,
    adjacency: Any = None,
    clusters: Any = None,
    *,
    model: Union[str, Objective, Callable[..., Any]] = "grace",
    callback: Optional[Callback] = None,
    verbose: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
    **parameters: Any,
) -> Trained:
    """Trains an encoder on clusters, or on the whole graph.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features; see `StructComp.fit`.
    adjacency : object, optional
        The graph; see `as_graph`.
    clusters : array of shape (n,), optional
        The cluster of each node. Without clusters, messages are passed in every step, which is what
        StructComp is compared with.
    model : str, Objective or callable
        A model's name, as in `StructComp`, or a loss of your own.
    callback : callable, optional
        Called with the number of each epoch, counted from 1, and its loss; ends training by returning
        False.
    verbose : bool
        Whether progress is shown.
    random_state : int, optional
        The seed.
    n_threads : int, optional
        Threads to use; one a core by default.
    **parameters
        As in `StructComp`: hidden, epochs, layers, learning_rate and so on.

    Returns
    -------
    trained : Trained
        encoder, untrained, losses.

    Examples
    --------
    >>> from structcomp import embed, generate, partition, train
    >>> data = generate(nodes=300, edges=900)
    >>> clusters = partition(data, 30)
    >>> trained = train(data, clusters=clusters, model="sce", hidden=16, epochs=20)
    >>> bool(trained.losses[-1] < trained.losses[0])
    True
    >>> embed(trained.encoder, data).shape
    (300, 16)
    """
    graph, X, data = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError("training needs the graph: train(X, adjacency=A, ...)")
    if X is None:
        raise ValueError("training needs features; StructComp makes some where there are none")
    objective, given = of_model(model, parameters)
    features, seed = as_features(X, n_threads=n_threads), seed_of(random_state)
    clusters = None if clusters is None else whole("clusters", clusters)
    with progress(callback, verbose, given) as on_epoch:
        encoder, untrained, losses = _native.train(
            features,
            graph,
            clusters,
            settings(given),
            seed,
            objective=objective,
            on_epoch=on_epoch,
            data=data,
            n_threads=n_threads,
        )
    return Trained(encoder, untrained, np.array(losses))


def embed(encoder: Encoder, X: Any, adjacency: Any = None, *, n_threads: Optional[int] = None) -> np.ndarray:
    """The embedding of every node of a graph, also of one that was not trained on.

    Parameters
    ----------
    encoder : Encoder
        From `train`, `StructComp.encoder_` or ``Encoder.load``.
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    embedding : ndarray of shape (n, hidden)
    """
    graph, X, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None or X is None:
        raise ValueError("embedding needs features and the graph: embed(encoder, X, adjacency=A)")
    return encoder.embed(as_features(X, n_threads=n_threads), graph, n_threads=n_threads)


def diagnostics(
    encoder: Encoder,
    X: Any,
    adjacency: Any = None,
    *,
    clusters: Any,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """What theory says of clusters and of an encoder that was trained on them.

    Parameters
    ----------
    encoder : Encoder
        From `train`, `StructComp.encoder_` or ``Encoder.load``; only its weights are looked at.
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    clusters : array of shape (n,)
        The cluster of each node, such as `StructComp.partition_`.
    random_state : int, optional
        The seed of the members that are left out.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    diagnostics : dict
        gaps, the distance between the graph and its compression for one and two hops; edges, a loss over
        edges by sums over neighbours (nodes) and over clusters (clusters), how far these are apart, a bound
        for that, and the one that the paper prints; spectral, the spectral contrastive loss over nodes, over
        clusters weighted by size and alike; drop_member, variance and bias of means with members left out,
        over those that statistics expects.

    Examples
    --------
    >>> from structcomp import StructComp, diagnostics, generate
    >>> data = generate(nodes=300, edges=900)
    >>> model = StructComp(model="sce", hidden=8, epochs=5, random_state=0).fit(data)
    >>> edges = diagnostics(model.encoder_, data, clusters=model.partition_)["edges"]
    >>> abs(edges["nodes"] - edges["clusters"]) <= edges["apart"] <= edges["bound"]
    True
    """
    graph, X, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None or X is None:
        raise ValueError(
            "diagnostics look at features and the graph: diagnostics(encoder, X, adjacency, clusters=…)"
        )
    features, seed = as_features(X, n_threads=n_threads), seed_of(random_state)
    numbers = whole("clusters", clusters)
    found: dict[str, Any] = json.loads(
        _native.diagnostics(encoder, features, graph, numbers, seed, n_threads=n_threads)
    )
    return found


def evaluate(
    embedding: Any,
    y: Any,
    *,
    splits: Any = "random20",
    runs: int = 50,
    probe: str = "logistic",
    clustering: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """What an embedding is worth: how often a classifier that learns from it is right.

    Parameters
    ----------
    embedding : array or sparse matrix of shape (n, d)
        A row a node.
    y : array of shape (n,)
        Class numbers, negative where there is none.
    splits : str, path or list
        ``"random20"`` for random splits with 20 training nodes a class, as in the paper; a file of
        node numbers, a split a line; or a list of ``(train, test)`` or ``(train, validation, test)``, each
        node numbers or a mask.
    runs : int
        How many random splits.
    probe : str
        ``"logistic"``, ``"mlp"`` or ``"softmax"``.
    clustering : bool
        Whether k-means is compared with the classes too.
    random_state : int, optional
        The seed.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    result : dict
        mean and std of the accuracy in percent, runs, per_split of shape (runs,); with `clustering`
        also nmi and ari.

    Examples
    --------
    >>> from structcomp import evaluate
    >>> evaluate([[-2.0], [2.0], [-1.0], [1.0]], [0, 1, 0, 1], splits=[([0, 1], [2, 3])])["mean"]
    100.0
    """
    features = as_features(embedding, n_threads=n_threads, what="the embedding")
    labels, seed = whole("labels", y), seed_of(random_state)
    given: dict[str, Any] = {}
    if isinstance(splits, (str, os.PathLike)):
        if splits != "random20":
            given["file"] = splits
    else:
        given["splits"] = [_split(split) for split in splits]
    result: dict[str, Any] = json.loads(
        _native.classify(features, labels, seed, runs=runs, probe=probe, n_threads=n_threads, **given)
    )
    result["per_split"] = np.array(result["per_split"])
    if clustering:
        result.update(json.loads(_native.cluster(features, labels, seed, n_threads=n_threads)))
    return result


def _split(split: Any) -> list[list[int]]:
    parts = [array(part) for part in split]
    if len(parts) not in (2, 3):
        raise ValueError(f"a split is (train, test) or (train, validation, test), not {len(parts)} parts")
    nodes = [np.flatnonzero(part) if part.dtype.kind == "b" else whole("a split", part) for part in parts]
    if any(len(part) and part.min() < 0 for part in nodes):
        raise ValueError("a split names a negative node")
    train, test = nodes[0], nodes[-1]
    return [part.tolist() for part in (train, nodes[1] if len(nodes) == 3 else np.array([], int), test)]


def of_partitioning(partitioner: Any, n_clusters: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The settings of a partition under the library's names."""
    for name, ours in (("method", "partitioner"), ("clusters", "n_clusters")):
        if name in parameters:
            raise ValueError(f"{name} is called {ours} here")
    return {**parameters, "method": os.fspath(partitioner), "clusters": n_clusters}


def of_model(
    model: Union[str, Objective, Callable[..., Any]], parameters: dict[str, Any]
) -> tuple[Optional[Objective], dict[str, Any]]:
    """The objective, where it is the caller's own, and the settings of training."""
    if isinstance(model, str):
        return None, {**parameters, "model": model}
    objective = model if isinstance(model, Objective) else Objective(model)
    return objective, {**parameters, **objective.parameters, "model": "own"}


@contextmanager
def progress(
    callback: Optional[Callback], verbose: bool, given: dict[str, Any]
) -> Iterator[Optional[Callback]]:
    """What hears of each epoch: the caller's function, and a bar of tqdm's or lines on stderr."""
    if not verbose:
        yield callback
        return
    epochs = given.get("epochs") or json.loads(_native.defaults("sce"))["epochs"]
    bar = bar_of(total=epochs, desc="training", unit="epoch")

    def on_epoch(epoch: int, loss: float) -> Any:
        if bar is None:
            print(f"epoch {epoch} of {epochs}, loss {loss:.4f}", file=sys.stderr)
        else:
            bar.set_postfix(loss=f"{loss:.4f}")
            bar.update()
        return callback(epoch, loss) if callback else None

    try:
        yield on_epoch
    finally:
        if bar is not None:
            bar.close()


def bar_of(**about: Any) -> Any:
    """A bar of tqdm's, or None where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**about)
