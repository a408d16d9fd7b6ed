"""Measures of clusters, models and embeddings."""

from __future__ import annotations

import json
import os
from typing import Any, Optional

import numpy as np

from . import _native
from ._arrays import array, classes, seed_of, whole
from ._features import as_features
from ._graphs import as_graph
from ._inputs import graph_and_features
from ._native import Model


def quality(
    adjacency: Any,
    clusters: Any,
    y: Any = None,
    *,
    hops: int = 1,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """Measure the quality of clusters.

    Parameters
    ----------
    adjacency : object
        The graph; see `as_graph`.
    clusters : array of shape (n,)
        The cluster of every node, from any method.
    y : array of shape (n,), optional
        The class of every node, as in `evaluate`; adds the purity.
    hops : int
        Number of hops of the gap; it is estimated for more than two.
    random_state : int, optional
        Seed of the estimate.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    quality : dict
        clusters, cut, cut_share, largest, smallest, balance, singletons, disconnected, gap (the distance
        between the graph and its compression) and purity.

    Examples
    --------
    >>> from structcomp import quality
    >>> quality([(0, 1), (1, 2), (2, 3)], [0, 0, 1, 1])["cut"]
    1.0
    """
    clusters = whole("clusters", clusters)
    labels = None if y is None else classes("labels", y)
    graph, seed = as_graph(adjacency, len(clusters), n_threads=n_threads), seed_of(random_state)
    measures: dict[str, Any] = json.loads(
        _native.quality(graph, clusters, labels=labels, hops=hops, seed=seed, n_threads=n_threads)
    )
    return measures


def diagnostics(
    model: Model, X: Any, adjacency: Any = None, *, clusters: Any = None, n_threads: Optional[int] = None
) -> dict[str, Any]:
    """Compute the paper's bounds for a graph, its clusters and a trained model.

    Parameters
    ----------
    model : Model
        From `train`, `StructComp.model_` or ``Model.load``.
    X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    clusters : array of shape (n,), optional
        The cluster of every node. By default the clusters of training, which a file does not have.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    diagnostics : dict
        ``gaps``: the distance between the graph and its compression for one and two hops. ``edges``: a loss
        over edges, computed from nodes and from clusters, with their difference, its bound, and the paper's
        bound. ``spectral``: the spectral contrastive loss over nodes and over clusters, weighted by size and
        unweighted. ``drop_member``: variance and bias of the averages with dropped members, relative to their
        expectation.

    Examples
    --------
    >>> from structcomp import StructComp, diagnostics, generate
    >>> data = generate(nodes=300, edges=900)
    >>> model = StructComp(model="sce", hidden=8, epochs=5, random_state=0).fit(data)
    >>> edges = diagnostics(model.model_, data)["edges"]
    >>> abs(edges["nodes"] - edges["clusters"]) <= edges["apart"] <= edges["bound"]
    True
    """
    graph, features, _, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None:
        raise ValueError("the graph is missing; use diagnostics(model, X, adjacency)")
    members = None if clusters is None else whole("clusters", clusters)
    found: dict[str, Any] = json.loads(
        model.diagnostics(features, graph, clusters=members, n_threads=n_threads)
    )
    return found


def evaluate(
    embedding: Any,
    y: Any,
    *,
    splits: Any = "random20",
    runs: int = 50,
    probe: str = "logistic-cv",
    clustering: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """Measure the accuracy of a classifier on an embedding.

    Parameters
    ----------
    embedding : array or sparse matrix of shape (n, d)
        One row per node.
    y : array of shape (n,)
        The class of every node: integers, negative for none, or names, where missing values mean none.
    splits : str, path or list
        ``"random20"`` for random splits with 20 training nodes per class, as in the paper; a file with the
        training nodes of one split per line; or a list of ``(train, test)`` or ``(train, validation, test)``,
        each an array of node numbers or a mask.
    runs : int
        Number of random splits.
    probe : str
        Classifier: ``"logistic-cv"`` (C chosen by cross-validation among the training nodes, rows of any
        scale), ``"logistic"`` (C = 1 on rows as they are, as in the paper), ``"mlp"`` or ``"softmax"``. The
        first tests at most 4000 nodes per split.
    clustering : bool
        Whether to compare k-means clusters with the classes as well.
    random_state : int, optional
        Seed.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    result : dict
        mean and std of the test accuracy (%), runs, and per_split of shape (runs,); with `clustering` also
        nmi and ari.

    Examples
    --------
    >>> from structcomp import evaluate
    >>> evaluate([[-2.0], [2.0], [-1.0], [1.0]], [0, 1, 0, 1], splits=[([0, 1], [2, 3])])["mean"]
    100.0
    """
    features = as_features(embedding, n_threads=n_threads, what="the embedding")
    labels, seed = classes("labels", y), seed_of(random_state)
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
    nodes = [np.flatnonzero(part) if part.dtype.kind == "b" else whole("splits", part) for part in parts]
    if any(len(part) and part.min() < 0 for part in nodes):
        raise ValueError("splits must not have negative node numbers")
    train, test = nodes[0], nodes[-1]
    return [part.tolist() for part in (train, nodes[1] if len(nodes) == 3 else np.array([], int), test)]
