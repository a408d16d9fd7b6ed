"""One pass over the nodes in the order of their clusters: mean rows, the second views of all epochs, sums of
halves, and the edges between clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from .._native import Features, compress, drop_member, project, sums_of_halves
from ._arrow import PIECES, Array, batches_of, by_number, matrix, numbers, piece, rows_of
from ._graph import Prepared

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The tag of mean rows; the view of epoch e has the tag e.
MEANS = -2
#: Numbers of features that are compressed at once.
AT_ONCE = 4 << 20

#: Some whole clusters: the number of the first, the cluster of every row from 0, rows, and which have edges.
Clusters = tuple[int, Array, Array, Array]


def in_order(graph: Prepared, clusters: DataFrame, n_clusters: int, degrees: bool = False) -> DataFrame:
    """Rows by cluster and then by node; whole clusters in each partition, however many workers there are."""
    from pyspark.sql import functions as F

    beside = clusters.select("node", "cluster")
    if degrees:
        ends = graph.pairs.select(F.col("s").alias("node")).unionByName(
            graph.pairs.select(F.col("t").alias("node"))
        )
        linked = ends.distinct().withColumn("linked", F.lit(True))
        beside = beside.join(linked, "node", "left").select(
            "node", "cluster", F.coalesce("linked", F.lit(False)).alias("linked")
        )
    else:
        beside = beside.withColumn("linked", F.lit(True))
    place = (F.col("cluster").cast("long") * graph.parts / F.lit(n_clusters)).cast("int")
    rows = graph.nodes.select("node", "features").join(beside, "node").withColumn("p", place)
    rows = by_number(rows, graph.parts, "p").sortWithinPartitions("cluster", "node")
    return rows.select("cluster", "features", "linked")


def whole_clusters(batches: Iterator[pa.RecordBatch], width: int) -> Iterator[Clusters]:
    """Whole clusters of sorted rows, as many as fit."""
    held: list[tuple[Array, Array, Array]] = []
    count = 0
    for batch in batches:
        held.append((numbers(batch.column(0)), rows_of(batch.column(1), width), numbers(batch.column(2))))
        count += batch.num_rows
        if count * width < AT_ONCE:
            continue
        cluster, x, linked = (np.concatenate(part) for part in zip(*held))
        whole = int(np.searchsorted(cluster, cluster[-1]))
        if whole:
            yield int(cluster[0]), _from_zero(cluster[:whole]), x[:whole], linked[:whole]
        held, count = [(cluster[whole:], x[whole:], linked[whole:])], len(cluster) - whole
    if count:
        cluster, x, linked = (np.concatenate(part) for part in zip(*held))
        yield int(cluster[0]), _from_zero(cluster), x, linked


def _from_zero(cluster: Array) -> Array:
    return np.ascontiguousarray(cluster - cluster[0], dtype=np.int32)


def compressed(
    graph: Prepared,
    clusters: DataFrame,
    n_clusters: int,
    *,
    views: int = 0,
    how: Optional[str] = None,
    seed: int = 0,
) -> DataFrame:
    """Mean rows and views as pieces: the block is the first cluster, the tag the epoch."""
    width = graph.n_features

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(_compressed(batches, width, views, how, seed))

    return in_order(graph, clusters, n_clusters).mapInArrow(run, PIECES)


def _compressed(
    batches: Iterator[pa.RecordBatch], width: int, views: int, how: Optional[str], seed: int
) -> Iterator[tuple[Any, ...]]:
    for first, cluster, x, _ in whole_clusters(batches, width):
        features = Features.dense(np.ascontiguousarray(x), n_threads=1)
        yield piece(first, 0, MEANS, None, compress(features, cluster, n_threads=1))
        for epoch in range(views):
            rows = drop_member(
                features, cluster, seed, how=how, epoch=epoch, first_cluster=first, n_threads=1
            )
            yield piece(first, 0, epoch, None, rows)


def assembled(pieces: DataFrame, n_clusters: int, width: int) -> dict[int, Array]:
    """Mean rows and views on the driver, by tag."""
    from pyspark.sql import functions as F

    found: dict[int, Array] = {}
    filled: dict[int, int] = {}
    rows = pieces.select("block", "tag", F.col("data")).toArrow()
    for block, tag, data in zip(rows.column("block"), rows.column("tag"), rows.column("data")):
        part = matrix(data.as_buffer(), width)
        own = found.setdefault(tag.as_py(), np.zeros((n_clusters, width), np.float32))
        own[block.as_py() : block.as_py() + len(part)] = part
        filled[tag.as_py()] = filled.get(tag.as_py(), 0) + len(part)
    if any(count != n_clusters for count in filled.values()):
        raise RuntimeError(
            f"rows of {set(filled.values())} clusters came, but there are {n_clusters}; run it again"
        )
    return found


def halves(
    graph: Prepared, clusters: DataFrame, n_clusters: int, axes: tuple[Array, ...], draws: int, seed: int
) -> Array:
    """Sums over halves of all clusters, added in the order of the clusters."""
    width = graph.n_features

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        total, start = None, 0
        for first, cluster, x, linked in whole_clusters(batches, width):
            rows, _ = project(Features.dense(np.ascontiguousarray(x), n_threads=1), *axes, n_threads=1)
            linked = np.ascontiguousarray(linked, dtype=bool)
            sums = sums_of_halves(rows, linked, cluster, first, draws, seed, n_threads=1)
            total, start = (sums, first) if total is None else (total + sums, start)
        if total is not None:
            yield pa.RecordBatch.from_pydict({"first": [start], "sums": [total.tolist()]})

    ordered = in_order(graph, clusters, n_clusters, degrees=True)
    rows = ordered.mapInArrow(run, "first long, sums array<double>").toArrow()
    order = np.argsort(rows.column("first").to_numpy())
    sums = np.stack(rows.column("sums").to_numpy(zero_copy_only=False))[order]
    total = np.zeros(sums.shape[1])
    for each in sums:
        total += each
    return total


def coarse_edges(graph: Prepared, clusters: DataFrame) -> tuple[Array, Array, Array]:
    """The total weight of the edges between clusters, on the driver, as sorted pairs in both directions;
    inside a cluster, twice."""
    from pyspark.sql import functions as F

    own = clusters.select("node", "cluster")
    rows = graph.pairs.join(own.select(F.col("node").alias("s"), F.col("cluster").alias("a")), "s")
    rows = rows.join(own.select(F.col("node").alias("t"), F.col("cluster").alias("b")), "t")
    weights = F.array_sort(F.collect_list(F.col("w").cast("double")))
    weight = F.sum("w").cast("double") if not graph.weighted else _sum(weights)
    sums = (
        rows.groupBy(F.least("a", "b").alias("a"), F.greatest("a", "b").alias("b"))
        .agg(weight.alias("w"))
        .toArrow()
    )
    a, b, w = (sums.column(name).to_numpy() for name in ("a", "b", "w"))
    apart = a != b
    a, b, w = (
        np.concatenate([a[apart], b[apart], a[~apart]]),
        np.concatenate([b[apart], a[apart], b[~apart]]),
        np.concatenate([w[apart], w[apart], 2 * w[~apart]]),
    )
    order = np.lexsort((b, a))
    return a[order], b[order], w[order].astype(np.float32)


def _sum(values: Any) -> Any:
    from pyspark.sql import functions as F

    add: Callable[[Any, Any], Any] = lambda total, value: total + value  # noqa: E731
    return F.aggregate(values, F.lit(0.0).cast("double"), add)


def sizes_of(clusters: DataFrame, n_clusters: int) -> Array:
    counts = clusters.groupBy("cluster").count().toArrow()
    sizes = np.zeros(n_clusters, np.int64)
    sizes[counts.column("cluster").to_numpy()] = counts.column("count").to_numpy()
    return sizes
