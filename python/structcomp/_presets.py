"""Parameters for known and for unknown data."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _native
from ._arrays import seed_of
from ._inputs import complete


def preset(model: str, dataset: str, *, paper: bool = False) -> Optional[dict[str, Any]]:
    """Parameters for a model on a dataset of the paper.

    Parameters
    ----------
    model : str
        Name of a model, as in `StructComp`.
    dataset : str
        Name of the dataset, such as ``"cora"``.
    paper : bool
        Whether to return the paper's parameters where ours differ.

    Returns
    -------
    parameters : dict, or None
        For ``StructComp(**parameters)``; None if there are none for this model and dataset.

    Examples
    --------
    >>> from structcomp import preset
    >>> preset("cca-ssg", "cora", paper=True)
    {'epochs': 20, 'layers': 2, 'model': 'cca-ssg', 'n_clusters': 300}
    """
    found = _native.preset(model, dataset, paper)
    return None if found is None else dict(sorted(json.loads(found).items()))


def recipe(
    X: Any, adjacency: Any = None, *, random_state: Any = None, n_threads: Optional[int] = None
) -> dict[str, Any]:
    """Parameters for any data, chosen from the graph and the features without labels.

    The command line uses them when no model is named.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    random_state : int, optional
        Seed for the sample of nodes that is examined.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    parameters : dict
        For ``StructComp(**parameters)``.

    Examples
    --------
    >>> from structcomp import StructComp, load_dataset, recipe
    >>> data = load_dataset("demo")
    >>> model = StructComp(**recipe(data), random_state=0)
    >>> model.get_params()["model"], model.get_params()["stop"]
    ('cca-ssg', 'auto')
    """
    graph, features = complete("recipe(X, adjacency)", X, adjacency, n_threads)
    given = _native.recipe(features, graph, seed_of(random_state))
    return dict(sorted(json.loads(given).items()))
