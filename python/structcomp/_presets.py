"""Parameters for known data."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _native


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
