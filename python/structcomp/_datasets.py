"""Datasets: a graph with its features and labels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from . import _native
from ._arrays import as_json, seed_of
from ._features import CsrArray, to_numpy
from ._graphs import graph_of
from ._names import checked_ids, index_of
from ._native import Graph

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with features, labels and splits.

    It can be passed instead of X and adjacency. Do not change it: copies of an estimator share it.

    Attributes
    ----------
    graph : Graph
        The graph, with n nodes. The constructor accepts anything that `as_graph` does.
    X : ndarray of shape (n, d), CsrArray, or None
        The features.
    y : ndarray of shape (n,), or None
        The class of every node; -1 for none.
    name : str
        Name of the dataset.
    ids : sequence, or None
        The ids of the nodes, by which the constructor joins edges; None if they are 0, 1, 2 and so on.
    class_names : list of str, or None
        Names of the classes.
    splits : dict
        Splits that came with the data: for each name, a list of (train, validation, test) node numbers.
    synthetic : bool
        Whether it was generated.
    sha256 : str
        Hash of the files.
    notes : list of str
        Remarks, such as the number of nodes without a label.
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
        n_nodes = None if self.X is None else self.X.shape[0]
        ids = index_of(self.X) if self.ids is None else checked_ids(self.ids)
        object.__setattr__(self, "graph", graph_of(self.graph, n_nodes, None, ids))
        object.__setattr__(self, "ids", self.graph.ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> Dataset:
        return self

    def __repr__(self) -> str:
        shape = "none" if self.X is None else f"{self.X.shape[1]}"
        about = f"nodes={self.graph.n_nodes}, edges={self.graph.n_edges}, features={shape}"
        return f"Dataset({self.name!r}, {about}{', synthetic' if self.synthetic else ''})"


def load_dataset(
    name: Optional[Path] = None,
    *,
    edges: Optional[Path] = None,
    features: Optional[Path] = None,
    labels: Optional[Path] = None,
    ids: Optional[Path] = None,
    header: Optional[bool] = None,
    source: Union[str, int, None] = None,
    target: Union[str, int, None] = None,
    weight: Union[str, int, None] = None,
    data_dir: Optional[Path] = None,
    format: Optional[str] = None,
    strict: bool = False,
    weights: bool = True,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> Dataset:
    """Read a dataset by name or path, or from separate files.

    Parameters
    ----------
    name : str or path
        Name of a dataset such as ``"cora"``, a file or folder in a supported format, or a synthetic dataset
        such as ``"demo"``.
    edges : path, optional
        A file of edges, instead of `name`.
    features, labels : path, optional
        Files of node features and of class labels, joined with a file of edges by the ids of the nodes.
    ids : path, optional
        A file with one node id per line: the rows of features or labels that have no ids of their own.
    header : bool, optional
        Whether the first line of text tables is a header. By default, the contents tell.
    source, target, weight : str or int, optional
        The columns of a table of edges, by name or by number from 1.
    data_dir : path, optional
        Folder of the named datasets; by default ``$STRUCTCOMP_DATA`` or the user's data folder.
    format : str, optional
        Name of the format, if the content does not show it.
    strict : bool
        Whether to raise an error for data that needs repairs.
    weights : bool
        Whether to read edge weights.
    random_state : int, optional
        Seed of synthetic datasets.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> from structcomp import load_dataset
    >>> load_dataset("demo")
    Dataset('demo', nodes=2708, edges=5296, features=1433, synthetic)
    """
    place = edges if name is None else name
    if place is None or (name is not None and edges is not None):
        raise ValueError("pass either a name or path, or edges")
    loaded = _native.load(
        os.fspath(place),
        seed_of(random_state),
        is_file=name is None,
        features=features,
        labels=labels,
        ids=ids,
        header=header,
        columns=(_column(source), _column(target), _column(weight)),
        data_dir=data_dir,
        format=format,
        strict=strict,
        weights=weights,
        n_threads=n_threads,
    )
    return _dataset(loaded)


def generate(
    name: str = "demo",
    *,
    nodes: Optional[int] = None,
    edges: Optional[int] = None,
    classes: Optional[int] = None,
    class_skew: Optional[float] = None,
    features: Optional[Mapping[str, Any]] = None,
    homophily: Optional[float] = None,
    feature_noise: Optional[float] = None,
    group_signal: Optional[float] = None,
    overlap: Optional[float] = None,
    isolated: Optional[int] = None,
    degree_exponent: Optional[float] = None,
    max_degree: Optional[int] = None,
    community: Optional[int] = None,
    community_share: Optional[float] = None,
    group_share: Optional[float] = None,
    unlabelled: Optional[float] = None,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> Dataset:
    """Generate a synthetic graph with features and labels.

    Parameters
    ----------
    name : str
        ``"demo"``, ``"synthetic-arxiv"``, ``"synthetic-products"`` or ``"synthetic-papers100m"``.
    nodes, edges, classes, isolated, max_degree, community : int, optional
        Numbers of nodes, edges, classes and isolated nodes, the highest degree, and the size of a community.
    features : dict, optional
        ``{"kind": "gaussian", "width": d}`` or ``{"kind": "words", "vocabulary": d, "per_node": words}``.
    homophily : float, optional
        Share of edges within a class.
    class_skew, degree_exponent : float, optional
        How uneven the sizes of classes and the degrees are.
    feature_noise, group_signal, overlap : float, optional
        How much of the features tells nothing about the class, or about a part of it; and the share of
        communities that look like another class.
    community_share, group_share, unlabelled : float, optional
        Shares of edges within a community and within a group of communities, and of nodes without a label.
    random_state : int, optional
        Seed.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> from structcomp import generate
    >>> generate(nodes=500, edges=1500, features={"kind": "gaussian", "width": 8})
    Dataset('demo', nodes=500, edges=1502, features=8, synthetic)
    """
    given = {setting: value for setting, value in locals().items() if value is not None}
    for ours in ("name", "random_state", "n_threads"):
        given.pop(ours, None)
    made = _native.generate(name, as_json(given), seed_of(random_state), n_threads=n_threads)
    return _dataset(made)


def _column(column: Union[str, int, None]) -> Optional[str]:
    return None if column is None else str(column)


def _dataset(parts: dict[str, Any]) -> Dataset:
    features = parts.pop("features")
    return Dataset(X=None if features is None else to_numpy(features), y=parts.pop("labels"), **parts)
