"""Clusters of a graph: rounds of size-capped label propagation shrink it until the driver can cut it into
parts, and every part is split into its share of the clusters by a worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._native import Graph, partition
from ._arrow import Array, by_number, numbers
from ._graph import Prepared

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: Nodes of a part, which a worker splits on its own, and the fewest parts.
PART = 32_768
FEWEST = 2
#: One of so many nodes leads in a round of label propagation; the others may join one that leads.
LEADERS = 4
ROUNDS = 8
#: The driver takes a graph of so many nodes in any case, but never the graph itself.
SMALL = 50_000
#: A round that leaves more than this share of the nodes is the last.
STALLED = 0.9
#: How far a cluster may exceed the average, as everywhere.
IMBALANCE = 0.1
#: What partitioning natively needs for every edge.
BYTES_PER_EDGE = 96


def clusters_of(
    graph: Prepared, n_clusters: int, seed: int, *, method: str, memory: int, max_size: Optional[int] = None
) -> tuple[DataFrame, dict[str, Any]]:
    """`node` and `cluster`, numbered from 0 without gaps, and what is to be told."""
    if not 1 <= n_clusters <= graph.n_nodes:
        raise ValueError(f"numClusters must be from 1 to the {graph.n_nodes} nodes, not {n_clusters}")
    cap = max_size or int(np.ceil((1 + IMBALANCE) * graph.n_nodes / n_clusters))
    if cap * n_clusters < graph.n_nodes:
        raise ValueError(f"{n_clusters} clusters of at most {cap} nodes cannot hold {graph.n_nodes}")
    if method == "auto":
        method = "worker" if graph.n_edges * BYTES_PER_EDGE <= memory else "propagation"
    if method == "worker":
        return _by_one_worker(graph, n_clusters, cap, seed), {"partitioner": method}
    if method != "propagation":
        raise ValueError(f"partitioner must be 'auto', 'worker' or 'propagation', not {method!r}")
    return _by_parts(graph, n_clusters, cap, seed)


def _by_one_worker(graph: Prepared, n_clusters: int, cap: int, seed: int) -> DataFrame:
    """Where the graph fits into one worker, that does all of it."""
    mapped = graph.mapped()

    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            found = _split(mapped.open(), n_clusters, cap, seed, None)
            for first in range(0, len(found), 1 << 16):
                own = found[first : first + (1 << 16)]
                nodes = np.arange(first, first + len(own))
                yield pa.RecordBatch.from_arrays([pa.array(nodes), pa.array(own)], names=["node", "cluster"])

    found = graph.work.spark.range(0, 1, 1, 1).mapInArrow(split, "node long, cluster int")
    return graph.work.write(found, "clusters")


def _split(of: Graph, n_clusters: int, cap: int, seed: int, weights: Optional[Array]) -> Array:
    settings = json.dumps({"n_clusters": n_clusters, "max_size": cap})
    return partition(of, settings, seed, node_weights=weights, n_threads=1).astype(np.int32)


def _by_parts(graph: Prepared, n_clusters: int, cap: int, seed: int) -> tuple[DataFrame, dict[str, Any]]:
    from pyspark.sql import functions as F

    parts = min(max(FEWEST, -(-graph.n_nodes // PART)), n_clusters)
    labels, coarse, told = _contracted(graph, parts, max(n_clusters, 64 * parts, SMALL), seed)
    chosen = _cut(graph, coarse, parts, seed)
    place = F.coalesce(F.col("part"), F.pmod(F.xxhash64("label"), F.lit(parts)).cast("int")).alias("part")
    placed = graph.work.write(labels.join(chosen, "label", "left").select("node", place), "parts")
    counts = placed.groupBy("part").count().toArrow().to_pydict()
    sizes = dict(zip(counts["part"], counts["count"]))
    quotas = shares([sizes.get(part, 0) for part in range(parts)], n_clusters, cap)
    told = {"partitioner": "propagation", "parts": parts, **told}
    return _inside(graph, placed, quotas, cap, seed), told


def shares(sizes: list[int], total: int, cap: int) -> list[int]:
    """How many clusters each part has: in proportion, by largest remainder, and as many as it needs."""
    least = np.array([-(-size // cap) for size in sizes])
    exact = np.array(sizes) * total / max(sum(sizes), 1)
    found = np.clip(np.floor(exact).astype(int), least, sizes)
    while found.sum() != total:
        up = found.sum() < total
        room = found < np.array(sizes) if up else found > least
        if not room.any():
            raise ValueError(
                f"{total} clusters of at most {cap} nodes cannot be shared between parts; raise maxSize"
            )
        want = np.where(room, exact - found if up else found - exact, -np.inf)
        found[int(np.argmax(want))] += 1 if up else -1
    return [int(share) for share in found]


def _contracted(
    graph: Prepared, parts: int, wanted: int, seed: int
) -> tuple[DataFrame, DataFrame, dict[str, Any]]:
    """Rounds of label propagation: the label of every node, and the edges between labels with their sizes."""
    from pyspark.sql import functions as F

    most = max(2, graph.n_nodes // (16 * parts))
    one = F.lit(1).cast("long")
    edges = graph.pairs.select("s", "t", F.col("w").cast("double").alias("w"), one.alias("a"), one.alias("b"))
    labels = graph.work.spark.range(graph.n_nodes).select(F.col("id").cast("int").alias("node"))
    labels = labels.withColumn("label", F.col("node"))
    left, rounds = graph.n_nodes, 0
    for at in range(ROUNDS):
        if not graph.n_edges or (left <= wanted and rounds):
            break
        moves = graph.work.write(_moves(edges, most, seed * ROUNDS + at), f"moves-{at}")
        moved = moves.filter("label != leader").count()
        rounds += 1
        labels = _relabelled(labels, moves)
        edges = graph.work.write(_merged(edges, moves), f"coarse-{at}")
        before, left = left, left - moved
        if left > STALLED * before:
            break
    labels = graph.work.write(labels, "labels")
    return labels, edges, {"rounds": rounds, "coarse_nodes": left}


def _moves(edges: DataFrame, most: int, key: int) -> DataFrame:
    """Who joins whom: `label`, `leader` and the size of the leader then. Leaders are in it as well."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    def mixed(*columns: Any) -> Column:
        return F.xxhash64(*columns, F.lit(key))

    ends = ("s", "t", "a", "b"), ("t", "s", "b", "a")
    ways = [
        edges.select(*(F.col(old).alias(new) for old, new in zip(way, ("u", "v", "a", "b"))), "w")
        for way in ends
    ]
    arcs = ways[0].unionByName(ways[1])
    leads = F.pmod(mixed("v"), F.lit(LEADERS)) == 0
    follows = F.pmod(mixed("u"), F.lit(LEADERS)) != 0
    arcs = arcs.filter(leads & follows & (F.col("a") + F.col("b") <= most))
    score = F.col("w") / F.sqrt(F.col("a").cast("double") * F.col("b"))
    best = arcs.groupBy("u").agg(
        F.max(F.struct(score.alias("score"), mixed("u", "v").alias("tie"), "v", "a", "b")).alias("best")
    )
    best = best.select("u", "best.*")
    order = Window.partitionBy("v").orderBy(F.desc("score"), "tie", "u")
    running = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    joined = best.withColumn("sum", F.sum("a").over(running)).filter(F.col("sum") + F.col("b") <= most)
    size = (F.max("sum").over(Window.partitionBy("v")) + F.col("b")).alias("size")
    joined = joined.select(F.col("u").alias("label"), F.col("v").alias("leader"), size)
    own = joined.select(F.col("leader").alias("label"), "leader", "size").distinct()
    return joined.unionByName(own)


def _relabelled(labels: DataFrame, moves: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    found = labels.join(moves.select("label", "leader"), "label", "left")
    return found.select("node", F.coalesce("leader", "label").alias("label"))


def _merged(edges: DataFrame, moves: DataFrame) -> DataFrame:
    """The edges between labels after the moves. Sums are of whole numbers, or sorted."""
    from pyspark.sql import functions as F

    for end, size in (("s", "a"), ("t", "b")):
        own = moves.select(
            F.col("label").alias(end), F.col("leader").alias("to"), F.col("size").alias("grown")
        )
        rest = [name for name in ("s", "t", "a", "b", "w") if name not in (end, size)]
        new = [F.coalesce("to", end).alias(end), F.coalesce("grown", size).alias(size)]
        edges = edges.join(own, end, "left").select(*new, *rest)
    turned = F.col("s") < F.col("t")

    def either(a: str, b: str) -> Column:
        return F.when(turned, F.col(a)).otherwise(F.col(b))

    between = edges.filter("s != t").select(
        either("s", "t").alias("s"),
        either("t", "s").alias("t"),
        either("a", "b").alias("a"),
        either("b", "a").alias("b"),
        "w",
    )
    weight = F.aggregate(
        F.array_sort(F.collect_list("w")), F.lit(0.0).cast("double"), lambda sum_, w: sum_ + w
    )
    sums = between.groupBy("s", "t").agg(F.max("a").alias("a"), F.max("b").alias("b"), weight.alias("w"))
    return sums.select("s", "t", "w", "a", "b")


def _cut(graph: Prepared, coarse: DataFrame, parts: int, seed: int) -> DataFrame:
    """The part of every label that has edges: the driver holds this small graph."""
    import pyarrow as pa

    rows = coarse.toArrow()
    s, t, w, a, b = (rows.column(name).to_numpy() for name in ("s", "t", "w", "a", "b"))
    labels, place = np.unique(np.concatenate([s, t]), return_inverse=True)
    sizes = np.ones(len(labels), np.int64)
    sizes[place] = np.concatenate([a, b])
    if len(labels) <= parts:
        found = (np.arange(len(labels)) % parts).astype(np.uint32)
    else:
        of = Graph.from_edges(place[: len(s)], place[len(s) :], w, len(labels))
        found = partition(of, json.dumps({"n_clusters": parts}), seed, node_weights=sizes)
    table = pa.table({"label": pa.array(labels, pa.int32()), "part": pa.array(found.astype(np.int32))})
    return graph.work.spark.createDataFrame(table)


def _inside(graph: Prepared, placed: DataFrame, quotas: list[int], cap: int, seed: int) -> DataFrame:
    """Splits every part natively."""
    from pyspark.sql import functions as F

    firsts = np.concatenate([[0], np.cumsum(quotas)])
    left = placed.select(F.col("node").alias("s"), "part")
    right = placed.select(F.col("node").alias("t"), F.col("part").alias("other"))
    edges = graph.pairs.join(left, "s").join(right, "t").filter("part = other").select("part", "s", "t", "w")
    own = placed.select(
        "part", F.col("node").alias("s"), F.lit(-1).alias("t"), F.lit(0.0).cast("float").alias("w")
    )
    rows = by_number(edges.unionByName(own), len(quotas), "part")

    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        held = list(batches)
        if not held:
            return
        part = held[0].column(0)[0].as_py()
        s, t, w = (np.concatenate([numbers(batch.column(at)) for batch in held]) for at in (1, 2, 3))
        nodes = np.sort(s[t < 0])
        inner = t >= 0
        a, b = (np.searchsorted(nodes, side[inner]) for side in (s, t))
        of = Graph.from_edges(a, b, w[inner], len(nodes))
        found = _split(of, quotas[part], cap, seed, None) + firsts[part]
        yield pa.RecordBatch.from_arrays(
            [pa.array(nodes.astype(np.int64)), pa.array(found.astype(np.int32))], names=["node", "cluster"]
        )

    return graph.work.write(rows.mapInArrow(split, "node long, cluster int"), "clusters")
