"""Datasets: a graph with its features and labels."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from . import _native
from ._arrays import seed_of, settings
from ._features import CsrArray, matrix, to_numpy
from ._graphs import as_graph, graph_of, refuse_several_types
from ._native import Graph


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with what is known about its nodes.

    Estimators take it in place of X and adjacency. It is not meant to be changed: copies of an
    estimator share it.

    Attributes
    ----------
    graph : Graph
        The graph, on n nodes. Anything that `as_graph` knows may be given.
    X : ndarray of shape (n, d), CsrArray, or None
        The features.
    y : ndarray of shape (n,), or None
        Class numbers; -1 where a node has no class.
    name : str
        What people call it.
    ids : sequence, or None
        What the files call the nodes; None where they are called 0, 1, 2 and so on.
    class_names : list of str, or None
        The names of the classes.
    splits : dict
        The splits that came with the data: by name, a list of (train, validation, test) node numbers.
    synthetic : bool
        Whether a generator made it.
    sha256 : str
        The fingerprint of the files.
    notes : list of str
        What a reader of results should know.
    """

    graph: Graph
    X: Union[np.ndarray, CsrArray, None] = None
    y: Optional[np.ndarray] = None
    name: str = ""
    ids: Any = None
    class_names: Optional[list[str]] = None
    splits: dict[str, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = field(default_factory=dict)
    synthetic: bool = False
    sha256: str = ""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            n_nodes = None if self.X is None else self.X.shape[0]
            object.__setattr__(self, "graph", as_graph(self.graph, n_nodes))

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        return self

    def __repr__(self) -> str:
        shape = "none" if self.X is None else f"{self.X.shape[1]}"
        said = f"nodes={self.graph.n_nodes}, edges={self.graph.n_edges}, features={shape}"
        return f"Dataset({self.name!r}, {said}{', synthetic' if self.synthetic else ''})"


def load_dataset(
    name: Union[str, os.PathLike[str]],
    *,
    data_dir: Union[str, os.PathLike[str], None] = None,
    format: Optional[str] = None,
    strict: bool = False,
    weights: bool = True,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> Dataset:
    """Reads a dataset by name or path, as the command line does.

    Parameters
    ----------
    name : str or path
        A dataset's name such as ``"cora"``, a file or folder in any of the known formats, or a
        synthetic one such as ``"demo"``.
    data_dir : path, optional
        Where the named datasets are kept; by default ``$STRUCTCOMP_DATA`` or the user's data folder.
    format : str, optional
        The format, where content does not tell it.
    strict : bool
        Whether data that would need repairs is an error.
    weights : bool
        Whether weights of edges are read.
    random_state : int, optional
        The seed of synthetic datasets.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> from structcomp import load_dataset
    >>> load_dataset("demo")
    Dataset('demo', nodes=2708, edges=5296, features=1433, synthetic)
    """
    loaded = _native.load(
        os.fspath(name),
        seed_of(random_state),
        data_dir=data_dir,
        format=format,
        strict=strict,
        weights=weights,
        n_threads=n_threads,
    )
    return _dataset(loaded)


def generate(
    name: str = "demo", *, random_state: Any = 0, n_threads: Optional[int] = None, **parameters: Any
) -> Dataset:
    """Makes a synthetic graph with features and labels.

    Parameters
    ----------
    name : str
        ``"demo"``, ``"synthetic-arxiv"``, ``"synthetic-products"`` or ``"synthetic-papers100m"``.
    random_state : int, optional
        The seed.
    n_threads : int, optional
        Threads to use; one a core by default.
    **parameters
        What shall differ: nodes, edges, classes, class_skew, features, homophily, feature_noise,
        group_signal, overlap, isolated, degree_exponent, max_degree, community, community_share,
        group_share, unlabelled. `features` is ``{"kind": "gaussian", "width": d}`` or
        ``{"kind": "words", "vocabulary": d, "per_node": words}``.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> from structcomp import generate
    >>> generate(nodes=500, edges=1500, features={"kind": "gaussian", "width": 8})
    Dataset('demo', nodes=500, edges=1502, features=8, synthetic)
    """
    made = _native.generate(name, settings(parameters), seed_of(random_state), n_threads=n_threads)
    return _dataset(made)


def _dataset(parts: dict[str, Any]) -> Dataset:
    features = parts.pop("features")
    return Dataset(X=None if features is None else to_numpy(features), y=parts.pop("labels"), **parts)


def graph_and_features(
    X: Any, adjacency: Any, n_threads: Optional[int] = None
) -> tuple[Optional[Graph], Any, str]:
    """The graph and the features of what a caller gave, and the data's name.

    X may hold both: a `Dataset`, a PyG ``Data``, a DGL or networkx graph, or a dataset's name or path.
    """
    if isinstance(X, (str, os.PathLike)):
        X = load_dataset(X, n_threads=n_threads)
    refuse_several_types(X)
    if isinstance(X, Dataset):
        if adjacency is None:
            return X.graph, X.X, X.name
        X = X.X
    elif hasattr(X, "edge_index") or hasattr(X, "adj_t"):  # PyG
        adjacency, X = (X if adjacency is None else adjacency), getattr(X, "x", None)
    elif hasattr(X, "ndata") and hasattr(X, "num_nodes"):  # DGL
        adjacency, X = (X if adjacency is None else adjacency), X.ndata.get("feat")
    elif hasattr(X, "number_of_nodes") and hasattr(X, "is_directed"):  # networkx
        adjacency, X = (X if adjacency is None else adjacency), None
    elif isinstance(X, Graph):
        adjacency, X = (X if adjacency is None else adjacency), None
    if adjacency is None:
        return None, X, ""
    if X is not None and not hasattr(X, "shape"):
        X = matrix(X, n_threads=n_threads)
    rows = int(X.shape[0]) if X is not None and len(X.shape) == 2 else None
    graph = graph_of(adjacency, rows, n_threads)
    if rows is not None and rows != graph.n_nodes:
        raise ValueError(f"there are features for {rows} nodes, but the graph has {graph.n_nodes}")
    return graph, X, ""
