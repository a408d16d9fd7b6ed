"""The interface of scikit-learn, which is not imported unless it is in use already."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Optional, TypeVar, Union

import numpy as np

from ._errors import not_fitted
from ._names import ids_of
from ._native import Graph, Model

Self = TypeVar("Self", bound="Transformer")

#: A request that is to stay as it is; the value that scikit-learn has for this.
UNCHANGED = "$UNCHANGED$"
Request = Union[bool, str, None]


class Transformer:
    """A transformer of scikit-learn: tags, names of columns, tables as output, routing of metadata."""

    model_: Model
    feature_names_in_: np.ndarray

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the embedding: ``structcomp0``, ``structcomp1`` and so on.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        names : ndarray, one name per column
        """
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{at}" for at in range(self.model_.n_outputs)], dtype=object)

    def set_output(self: Self, *, transform: Optional[str] = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : str, optional
            ``"pandas"`` for a table whose index has the ids of the nodes if they have names, ``"polars"``, or
            ``"default"`` for an array. None changes nothing. Without a choice, that of
            ``sklearn.set_config(transform_output=…)`` holds.

        Returns
        -------
        self : StructComp
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"transform must be 'default', 'pandas' or 'polars', not {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def set_fit_request(self: Self, *, adjacency: Request = UNCHANGED, ids: Request = UNCHANGED) -> Self:
        """Choose whether pipelines and searches of scikit-learn pass the graph on to `fit`.

        Needs ``sklearn.set_config(enable_metadata_routing=True)``.

        Parameters
        ----------
        adjacency, ids : bool, str or None
            True: pass it if it is given. False: do not. None: raise an error if it is given. A string: pass
            what is given under this name.

        Returns
        -------
        self : StructComp
        """
        return self._request("fit", adjacency=adjacency, ids=ids)

    def set_transform_request(
        self: Self, *, adjacency: Request = UNCHANGED, ids: Request = UNCHANGED
    ) -> Self:
        """Choose whether pipelines and searches of scikit-learn pass the graph on to `transform`.

        Parameters
        ----------
        adjacency, ids : bool, str or None
            As in `set_fit_request`.

        Returns
        -------
        self : StructComp
        """
        return self._request("transform", adjacency=adjacency, ids=ids)

    def get_metadata_routing(self) -> Any:
        """For scikit-learn: which metadata `fit` and `transform` ask for."""
        # Whoever asks has scikit-learn.
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = MetadataRequest(owner=type(self).__name__)
        for method in ("fit", "transform"):
            asked = vars(self).get("_metadata_request")
            asked = {} if asked is None else getattr(asked, method).requests
            for name in ("adjacency", "ids"):
                getattr(requests, method).add_request(param=name, alias=asked.get(name))
        return requests

    def _request(self: Self, method: str, **aliases: Request) -> Self:
        from sklearn import get_config

        if not get_config().get("enable_metadata_routing"):
            raise RuntimeError(
                "metadata is routed only after sklearn.set_config(enable_metadata_routing=True)"
            )
        requests = self.get_metadata_routing()
        for name, alias in aliases.items():
            if alias != UNCHANGED:
                getattr(requests, method).add_request(param=name, alias=alias)
        self._metadata_request = requests
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn calls this, so it is installed.
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float32"]),
            input_tags=InputTags(sparse=True),
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise not_fitted(self)

    def _remember_names(self, X: Any) -> None:
        """Keeps the names of the columns of X, if all are strings."""
        vars(self).pop("feature_names_in_", None)
        if (names := column_names(X)) is not None:
            self.feature_names_in_ = names

    def _check_names(self, X: Any) -> None:
        """Compares the names of columns with those of `fit`, in the words of scikit-learn."""
        known, names = vars(self).get("feature_names_in_"), column_names(X)
        estimator = type(self).__name__
        if names is not None and known is None:
            warnings.warn(
                f"X has feature names, but {estimator} was fitted without feature names", stacklevel=4
            )
        if known is None or not hasattr(X, "shape"):
            return
        if names is None:
            said = f"X does not have valid feature names, but {estimator} was fitted with feature names"
            warnings.warn(said, stacklevel=4)
        elif not np.array_equal(known, names):
            said = "The feature names should match those that were passed during fit.\n"
            raise ValueError(said + _difference(known, names))

    def _contained(self, embedding: np.ndarray, X: Any, graph: Graph, nodes: Optional[np.ndarray]) -> Any:
        """The embedding as `set_output` asks for it."""
        kind = vars(self).get("_sklearn_output_config", {}).get("transform")
        if kind is None and (sklearn := sys.modules.get("sklearn")) is not None:
            kind = sklearn.get_config().get("transform_output")
        if kind == "polars":
            import polars

            return polars.DataFrame(embedding, schema=self.get_feature_names_out().tolist(), orient="row")
        if kind != "pandas":
            return embedding
        import pandas

        index = X.index if hasattr(X, "columns") and hasattr(X, "index") else None
        if graph.ids is not None:
            ids = ids_of(graph)
            index = ids if nodes is None else ids[nodes]
        return pandas.DataFrame(embedding, columns=self.get_feature_names_out(), index=index, copy=False)


def column_names(X: Any) -> Optional[np.ndarray]:
    """The names of the columns of a table, if all are strings."""
    columns = getattr(X, "columns", None) if hasattr(X, "shape") else None
    names = [] if columns is None else list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def _difference(known: np.ndarray, names: np.ndarray) -> str:
    """How other names of columns differ."""

    def listed(title: str, some: set[str]) -> str:
        shown = sorted(some)[:5]
        return f"{title}:\n" + "".join(f"- {name}\n" for name in shown) + ("- ...\n" if len(some) > 5 else "")

    new, missing = {*names} - {*known}, {*known} - {*names}
    said = listed("Feature names unseen at fit time", new) if new else ""
    said += listed("Feature names seen at fit time, yet now missing", missing) if missing else ""
    return said or "Feature names must be in the same order as they were in fit.\n"
