"""Single stages as functions, for those who need no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._graph import prepared
from ._network import propagated
from ._params import EstimatorParams, given
from ._partition import clusters_of
from ._storage import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _Settings(EstimatorParams):
    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self._set_defaults()
        self._set(**given(values))


def propagate(
    vertices: Any,
    edges: Optional[DataFrame] = None,
    *,
    hops: int = 2,
    path: Optional[str] = None,
    **params: Any,
) -> DataFrame:
    """The features after some hops of the GCN operator; parameters are those of `StructComp`."""
    from ._estimator import tables, told

    vertices, edges = tables(vertices, edges)
    own = _Settings({"outputCol": "features", **params})
    with Workspace(vertices.sparkSession, own._value("workspace")) as work, told():
        graph = prepared(vertices, edges, own._columns(), work)
        work.bound(4 * graph.n_features)
        strategy = own.getOrDefault("strategy")
        rows = propagated(graph, hops, strategy, own._bytes(), own.getOrDefault("numTasks"))
        return kept(own, work, rows.select("id", "features"), path, "features")


def partition(
    vertices: Any, edges: Optional[DataFrame] = None, *, path: Optional[str] = None, **params: Any
) -> DataFrame:
    """The cluster of every vertex; parameters are those of `StructComp`."""
    from ._estimator import tables, told

    vertices, edges = tables(vertices, edges)
    own = _Settings({"outputCol": "cluster", **params})
    with Workspace(vertices.sparkSession, own._value("workspace")) as work, told():
        graph = prepared(vertices, edges, own._columns(), work)
        n_clusters = own._value("numClusters") or -(-graph.n_nodes // 10)
        found, _ = clusters_of(
            graph,
            n_clusters,
            own.getOrDefault("seed"),
            method=own.getOrDefault("partitioner"),
            memory=own._bytes(),
            max_size=own._value("maxSize"),
        )
        rows = graph.nodes.select("node", "id").join(found, "node").select("id", "cluster")
        return kept(own, work, rows, path, "cluster")


def kept(own: EstimatorParams, work: Workspace, rows: DataFrame, path: Optional[str], name: str) -> DataFrame:
    from pyspark.sql import functions as F

    found = work.keep(rows, path, own._value("workspace"))
    return found.select(
        F.col("id").alias(own.getOrDefault("idCol")), F.col(name).alias(own.getOrDefault("outputCol"))
    )
