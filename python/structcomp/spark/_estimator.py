"""The estimator: fit on two DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._native import Features, Sketch
from ._graph import Prepared, prepared
from ._model import StructCompModel
from ._params import EstimatorParams, given, with_accessors
from ._partition import clusters_of
from ._solve import solved
from ._storage import Workspace
from ._train import needs_views, trained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@with_accessors
class StructComp(EstimatorParams):
    """Node embeddings of a graph whose vertices and edges are DataFrames.

    Every parameter has a getter and a setter, as in pyspark.ml: `StructComp(model="grace").setEpochs(20)`.
    `explainParams()` lists them.

    Examples
    --------
    >>> from structcomp.spark import StructComp                    # doctest: +SKIP
    >>> model = StructComp(seed=1).fit(vertices, edges)            # doctest: +SKIP
    >>> model.transform(vertices, edges).show()                    # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        idCol: Optional[str] = None,
        featuresCol: Optional[str] = None,
        srcCol: Optional[str] = None,
        dstCol: Optional[str] = None,
        weightCol: Optional[str] = None,
        outputCol: Optional[str] = None,
        outputType: Optional[str] = None,
        model: Optional[str] = None,
        numClusters: Optional[int] = None,
        maxSize: Optional[int] = None,
        partitioner: Optional[str] = None,
        width: Optional[int] = None,
        hidden: Optional[int] = None,
        layers: Optional[int] = None,
        epochs: Optional[int] = None,
        learningRate: Optional[float] = None,
        weightDecay: Optional[float] = None,
        seed: Optional[int] = None,
        settings: Optional[dict[str, Any]] = None,
        strategy: Optional[str] = None,
        workspace: Optional[str] = None,
        memory: Optional[int] = None,
        numTasks: Optional[int] = None,
    ) -> None:
        values = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self._set_defaults()
        self._set(**given(values))

    def fit(self, vertices: Any, edges: Optional[DataFrame] = None) -> StructCompModel:
        """Fits the model to a graph.

        Parameters
        ----------
        vertices : DataFrame, or GraphFrame
            Ids of any type, and features.
        edges : DataFrame
            The ids at both ends. A GraphFrame has its own.

        Returns
        -------
        model : StructCompModel
        """
        vertices, edges = tables(vertices, edges)
        settings = self._native_settings()
        check(settings)
        with Workspace(vertices.sparkSession, self._value("workspace")) as work, told():
            graph = prepared(vertices, edges, self._columns(), work)
            work.bound(4 * graph.n_features)
            return self._fitted(graph, settings)

    def _fitted(self, graph: Prepared, settings: dict[str, Any]) -> StructCompModel:
        memory, tasks = self._bytes(), self.getOrDefault("numTasks")
        n_clusters = self._value("numClusters") or -(-graph.n_nodes // 10)
        method, largest = self.getOrDefault("partitioner"), self._value("maxSize")
        seed = settings["random_state"]
        clusters, report = clusters_of(
            graph, n_clusters, seed, method=method, memory=memory, max_size=largest
        )
        fit = solved if settings["model"] == "solved" else trained
        native, more = fit(
            graph, clusters, n_clusters, settings, self.getOrDefault("strategy"), memory, tasks
        )
        counts = {"nodes": graph.n_nodes, "edges": graph.n_edges, "features": graph.n_features}
        summary = {**counts, "repairs": graph.report, "clusters": n_clusters, **report, **more}
        model = StructCompModel(native, summary)
        self._copyValues(model)
        return model


def check(settings: dict[str, Any]) -> None:
    """Refuses settings before any work is done."""
    if settings["model"] == "solved":
        Sketch(Features.dense(np.eye(4, dtype=np.float32)), 4, json.dumps(settings))
    else:
        needs_views(settings, 4)


def tables(vertices: Any, edges: Optional[DataFrame]) -> tuple[DataFrame, DataFrame]:
    """Two DataFrames, from a GraphFrame too."""
    if edges is None and hasattr(vertices, "vertices") and hasattr(vertices, "edges"):
        return vertices.vertices, vertices.edges
    if edges is None:
        raise TypeError("the edges are missing; pass two DataFrames, fit(vertices, edges), or a GraphFrame")
    for what, table in (("vertices", vertices), ("edges", edges)):
        if not hasattr(table, "sparkSession") or not hasattr(table, "mapInArrow"):
            raise TypeError(f"{what} must be a Spark DataFrame, not {type(table).__name__}")
    if not hasattr(vertices, "repartitionById"):
        raise RuntimeError("structcomp.spark needs Spark 4.1 or later")
    return vertices, edges


@contextmanager
def told() -> Iterator[None]:
    """Says in words what workers lack."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if "No module named 'structcomp'" in str(error):
            raise RuntimeError(
                "the workers cannot import structcomp; install structcomp[spark] in their Python, "
                "and let PYSPARK_PYTHON or spark.pyspark.python name it"
            ) from error
        raise
