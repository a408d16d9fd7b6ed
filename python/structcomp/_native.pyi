"""The part of the package that is written in Rust."""

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "VERSION",
    "Features",
    "Graph",
    "GraphFile",
    "Model",
    "Sketch",
    "classify",
    "cluster",
    "compress",
    "defaults",
    "drop_member",
    "fit",
    "generate",
    "known_positions",
    "load",
    "map_2d",
    "measure",
    "models",
    "neighbors",
    "open_graph",
    "partition",
    "positions",
    "preset",
    "project",
    "propagate",
    "quality",
    "reproduce",
    "signal_rows",
    "sums_of_halves",
    "table",
    "train_given",
    "untrained_rows",
]

VERSION: str

#: Shift, factor, basis with a row per feature, mean.
_Projection: TypeAlias = tuple[
    NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]
]

@final
class Graph:
    """A checked, undirected graph without self-loops and duplicate edges."""

    @staticmethod
    def from_edges(
        sources: NDArray[Any],
        targets: NDArray[Any],
        weights: NDArray[np.float32] | NDArray[np.float64] | None = None,
        n_nodes: int | None = None,
        *,
        added: bool = False,
        n_threads: int | None = None,
    ) -> Graph: ...
    @staticmethod
    def from_names(
        sources: list[str],
        targets: list[str],
        weights: NDArray[np.float32] | NDArray[np.float64] | None = None,
        ids: NDArray[Any] | list[str] | None = None,
        *,
        n_threads: int | None = None,
    ) -> Graph: ...
    @staticmethod
    def from_csr(
        indptr: NDArray[Any],
        indices: NDArray[Any],
        weights: NDArray[np.float32] | NDArray[np.float64] | None = None,
        *,
        n_threads: int | None = None,
    ) -> Graph: ...
    @staticmethod
    def from_table(
        stream: Any,
        n_nodes: int | None = None,
        ids: NDArray[Any] | list[str] | None = None,
        *,
        n_columns: int | None = None,
        n_threads: int | None = None,
    ) -> Graph: ...
    def with_ids(self, ids: NDArray[Any] | list[str] | None, unknown_ids: int = 0) -> Graph: ...
    @property
    def ids(self) -> NDArray[np.uint64] | list[str] | None: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int32]: ...
    @property
    def weights(self) -> NDArray[np.float32] | None: ...
    @property
    def repairs(self) -> dict[str, int]: ...
    def __copy__(self) -> Graph: ...
    def __deepcopy__(self, _memo: Any) -> Graph: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _restored(
        indptr: NDArray[Any],
        indices: NDArray[Any],
        weights: NDArray[np.float32] | None,
        ids: NDArray[Any] | list[str] | None,
    ) -> Graph: ...

@final
class Features:
    """Checked features, one row per node."""

    @staticmethod
    def dense(x: NDArray[np.float32], *, n_threads: int | None = None) -> Features: ...
    @staticmethod
    def sparse(
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[np.float32],
        n_cols: int,
        *,
        n_threads: int | None = None,
    ) -> Features: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    @property
    def is_sparse(self) -> bool: ...
    def digest(self, *, n_threads: int | None = None) -> int: ...
    def to_dense(self) -> NDArray[np.float32]: ...
    def to_csr(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]: ...

@final
class Model:
    """A fitted model: how features are prepared, the trained weights, and the settings."""

    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    @staticmethod
    def from_bytes(
        contents: bytes, losses: list[float] | None = None, clusters: NDArray[Any] | None = None
    ) -> Model: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def to_bytes(self) -> bytes: ...
    def embed(
        self, features: Features | None, graph: Graph, *, n_threads: int | None = None
    ) -> NDArray[np.float32]: ...
    def embed_new(
        self,
        features: Features | None,
        graph: Graph,
        new_features: Features,
        edges: Graph,
        *,
        n_threads: int | None = None,
    ) -> NDArray[np.float32]: ...
    def untrained(
        self, features: Features | None, graph: Graph, *, n_threads: int | None = None
    ) -> Model: ...
    def diagnostics(
        self,
        features: Features | None,
        graph: Graph,
        *,
        clusters: NDArray[Any] | None = None,
        n_threads: int | None = None,
    ) -> str: ...
    def projection(self) -> _Projection: ...
    def parts(self) -> str: ...
    def of_parts(
        self, rows: list[NDArray[np.float32]], *, n_threads: int | None = None
    ) -> NDArray[np.float32]: ...
    def layers(self) -> str: ...
    def linear(
        self, layer: int, features: Features, *, n_threads: int | None = None
    ) -> NDArray[np.float32]: ...
    def finish_layer(
        self, layer: int, rows: NDArray[np.float32], *, n_threads: int | None = None
    ) -> NDArray[np.float32]: ...
    def with_statistics(self, layer: int, mean: list[float], variance: list[float]) -> Model: ...
    @property
    def n_features(self) -> int | None: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def device(self) -> str | None: ...
    @property
    def losses(self) -> NDArray[np.float64]: ...
    @property
    def partition(self) -> NDArray[np.uint32] | None: ...
    @property
    def settings(self) -> str: ...
    @property
    def trained_on(self) -> str: ...
    @property
    def parameters(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def __copy__(self) -> Model: ...
    def __deepcopy__(self, _memo: Any) -> Model: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Sketch:
    """The axes of a sample of the nodes, from which the solved model is made."""

    def __new__(
        cls, sample: Features, n_nodes: int, settings: str, *, n_threads: int | None = None
    ) -> Sketch: ...
    def projections(self) -> list[_Projection]: ...
    @property
    def n_far(self) -> int: ...
    @property
    def n_positions(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @staticmethod
    def far() -> str: ...
    def solve(
        self,
        sums: list[float],
        degrees: list[int],
        near: NDArray[np.float32],
        two: NDArray[np.float32],
        far: NDArray[np.float32],
        last: NDArray[np.float32],
        halves: list[NDArray[np.float32]],
        positions: tuple[str, NDArray[np.float32]] | None,
        *,
        n_nodes: int,
        n_edges: int,
        graph: str,
        ids: str,
        n_clusters: int,
        n_threads: int | None = None,
    ) -> tuple[Model, str]: ...

@final
class GraphFile:
    """Writes a graph file from directed edges that come sorted, in many arrays."""

    def __new__(cls, path: str | PathLike[str], n_nodes: int, weighted: bool) -> GraphFile: ...
    def push(
        self,
        sources: NDArray[Any],
        targets: NDArray[Any],
        weights: NDArray[np.float32] | NDArray[np.float64] | None = None,
    ) -> None: ...
    def finish(self) -> None: ...

def open_graph(path: str | PathLike[str], *, n_threads: int | None = None) -> Graph: ...
def project(
    features: Features,
    shift: NDArray[np.float32],
    factor: NDArray[np.float32],
    basis: NDArray[np.float32],
    mean: NDArray[np.float32],
    *,
    n_threads: int | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...
def signal_rows(
    graph: Graph, rows: NDArray[np.float32], signal: str, *, n_threads: int | None = None
) -> NDArray[np.float32]: ...
def positions(
    graph: Graph, width: int, seed: int, *, n_threads: int | None = None
) -> tuple[str, NDArray[np.float32]]: ...
def known_positions(graph: Graph, note: str, *, n_threads: int | None = None) -> NDArray[np.float32]: ...
def sums_of_halves(
    rows: NDArray[np.float32],
    connected: NDArray[np.bool_],
    clusters: NDArray[Any],
    first_cluster: int,
    draws: int,
    seed: int,
    *,
    n_threads: int | None = None,
) -> NDArray[np.float64]: ...
def train_given(
    rows: Features,
    counts: tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]],
    sizes: list[int],
    views: list[NDArray[np.float32]],
    settings: str,
    *,
    n_nodes: int,
    graph: str,
    ids: str,
    n_threads: int | None = None,
) -> tuple[Model, bool]: ...
def fit(
    features: Features | None,
    graph: Graph,
    settings: str,
    *,
    clusters: NDArray[Any] | None = None,
    loss: Callable[..., Any] | None = None,
    on_epoch: Callable[[int, float], Any] | None = None,
    data: str = "",
    n_threads: int | None = None,
) -> Model: ...
def partition(
    graph: Graph,
    settings: str,
    seed: int,
    *,
    node_weights: NDArray[Any] | None = None,
    n_threads: int | None = None,
) -> NDArray[np.uint32]: ...
def quality(
    graph: Graph,
    clusters: NDArray[Any],
    *,
    labels: NDArray[Any] | None = None,
    hops: int = 1,
    seed: int = 0,
    n_threads: int | None = None,
) -> str: ...
def compress(
    features: Features, clusters: NDArray[Any], *, n_threads: int | None = None
) -> NDArray[np.float32]: ...
def drop_member(
    features: Features,
    clusters: NDArray[Any],
    seed: int,
    *,
    how: str | None = None,
    epoch: int = 0,
    first_cluster: int = 0,
    n_threads: int | None = None,
) -> NDArray[np.float32]: ...
def propagate(
    features: Features, graph: Graph, hops: int, *, n_threads: int | None = None
) -> NDArray[np.float32]: ...
def untrained_rows(
    features: Features, graph: Graph, name: str, *, n_threads: int | None = None
) -> NDArray[np.float32]: ...
def map_2d(features: Features, *, n_threads: int | None = None) -> NDArray[np.float32]: ...
def neighbors(
    features: Features,
    k: int,
    *,
    nodes: NDArray[Any] | None = None,
    rows: Features | None = None,
    metric: str | None = None,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def table(
    stream: Any, what: str, *, n_columns: int | None = None, n_threads: int | None = None
) -> NDArray[np.float32]: ...
def measure(request: str) -> str: ...
def reproduce(
    experiments: list[str],
    out: str | PathLike[str],
    seed: int,
    *,
    data_dir: str | PathLike[str] | None = None,
    seeds: int = 3,
    runs: int = 50,
    only: str | None = None,
    mode: str = "both",
    redo: bool = False,
    markdown: str | PathLike[str] | None = None,
    memory: int | None = None,
    measure_command: list[str] | None = None,
    on_event: Callable[[str, bool, int, int], Any] | None = None,
    n_threads: int | None = None,
) -> str: ...
def classify(
    features: Features,
    labels: NDArray[Any],
    seed: int,
    *,
    splits: list[list[list[int]]] | None = None,
    file: str | PathLike[str] | None = None,
    runs: int = 50,
    probe: str = "logistic-cv",
    n_threads: int | None = None,
) -> str: ...
def cluster(features: Features, labels: NDArray[Any], seed: int, *, n_threads: int | None = None) -> str: ...
def load(
    name: str,
    seed: int,
    *,
    is_file: bool = False,
    features: str | PathLike[str] | None = None,
    labels: str | PathLike[str] | None = None,
    ids: str | PathLike[str] | None = None,
    header: bool | None = None,
    columns: tuple[str | None, str | None, str | None] | None = None,
    data_dir: str | PathLike[str] | None = None,
    format: str | None = None,
    strict: bool = False,
    weights: bool = True,
    n_threads: int | None = None,
) -> dict[str, Any]: ...
def generate(name: str, settings: str, seed: int, *, n_threads: int | None = None) -> dict[str, Any]: ...
def preset(model: str, dataset: str, paper: bool) -> str | None: ...
def defaults(model: str) -> str: ...
def models() -> list[str]: ...
