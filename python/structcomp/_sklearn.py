"""The interface of scikit-learn, which is not imported."""

from __future__ import annotations

import inspect
import json
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from . import _native
from ._errors import not_fitted
from ._native import Model

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """Parameters by name: those of the constructor's signature, and all other settings of the library."""

    model_: Model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name. Those of `**parameters` are included only if they were given.

        Parameters
        ----------
        deep : bool
            For scikit-learn.

        Returns
        -------
        params : dict
        """
        more = (name for name in _known() if name in vars(self))
        return {name: getattr(self, name) for name in sorted({*self._own_parameters(), *more})}

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters by name, as in the constructor.

        Returns
        -------
        self : StructComp
        """
        self._store(params, ValueError)
        return self

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

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name not in usual or value is not usual[name].default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

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

    def _store(self, params: dict[str, Any], error: type[Exception]) -> None:
        for name, value in params.items():
            if name not in self._own_parameters() and name not in _known():
                raise error(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)

    def _settings(self) -> dict[str, Any]:
        """The parameters that are settings of the library."""
        return {name: value for name, value in self.get_params().items() if name in _known()}

    @classmethod
    def _own_parameters(cls) -> tuple[str, ...]:
        """The names in the constructor's signature."""
        kinds = inspect.signature(cls.__init__).parameters.values()
        return tuple(p.name for p in kinds if p.kind is p.KEYWORD_ONLY)


@lru_cache
def _known() -> frozenset[str]:
    """The names of all settings of the library."""
    return frozenset(name for model in _native.models() for name in json.loads(_native.defaults(model)))
