"""The parameters of the estimator by name. They are one list with those of `train`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Callable, Optional, TypeVar, Union

from . import _native
from ._objective import Objective
from ._progress import Callback

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """The constructor of `StructComp`, which stores its parameters, and scikit-learn's access to them."""

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
        device: str = "auto",
        precision: str = "f32",
        width: Optional[int] = None,
        directions: Optional[int] = None,
        draws: Optional[int] = None,
        weights: Optional[Sequence[float]] = None,
        imbalance: Optional[float] = None,
        max_size: Optional[int] = None,
        refine: Optional[str] = None,
        per_component: Optional[bool] = None,
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
        self.device = device
        self.precision = precision
        self.width = width
        self.directions = directions
        self.draws = draws
        self.weights = weights
        self.imbalance = imbalance
        self.max_size = max_size
        self.refine = refine
        self.per_component = per_component
        self.encoder = encoder
        self.hops = hops
        self.ssgc_alpha = ssgc_alpha
        self.activation = activation
        self.inner_activation = inner_activation
        self.batch_norm = batch_norm
        self.renormalize = renormalize
        self.initial = initial
        self.dropout = dropout
        self.optimizer = optimizer
        self.drop_member = drop_member
        self.drop_edges = drop_edges
        self.mask_features = mask_features
        self.patience = patience
        self.batch_clusters = batch_clusters
        self.sampler = sampler
        self.budget = budget
        self.walk_length = walk_length
        self.batches = batches
        self.coverage = coverage
        self.levels = levels
        self.fusion_neighbors = fusion_neighbors
        self.alpha = alpha
        self.lambda_ = lambda_
        self.tau = tau
        self.negatives = negatives
        self.positives = positives
        self.batch = batch
        self.roots = roots
        self.reach = reach
        self.laplacian = laplacian
        self.coarse = coarse
        self.projection = projection
        self.projections = projections
        self.projection_activation = projection_activation
        self.mask = mask
        self.contrast = contrast
        self.nearest = nearest
        self.ratio = ratio
        self.iterations = iterations
        self.decay = decay

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name.

        Parameters
        ----------
        deep : bool
            For scikit-learn.

        Returns
        -------
        params : dict
        """
        return {name: getattr(self, name) for name in sorted(self._defaults())}

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters by name, as in the constructor.

        Returns
        -------
        self : StructComp
        """
        for name, value in params.items():
            if name not in self._defaults():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = self._defaults()
        given = self.get_params().items()
        shown = [f"{name}={value!r}" for name, value in given if value is not usual[name]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _settings(self) -> dict[str, Any]:
        """The parameters that are settings of the library."""
        return settings(self.get_params())

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The names in the constructor's signature, with their defaults."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that are settings of the library; None leaves a default as it is."""
    return {name: value for name, value in given.items() if name in _known() and value is not None}


@lru_cache
def _known() -> frozenset[str]:
    """The names of all settings of the library."""
    return frozenset(name for model in _native.models() for name in json.loads(_native.defaults(model)))
