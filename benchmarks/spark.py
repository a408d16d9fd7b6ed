"""structcomp.spark next to the library on one machine, and next to plain Spark SQL.

    python benchmarks/spark.py stages synthetic-arxiv        # hops, clusters, compression; cold and warm
    python benchmarks/spark.py sizes                         # shuffled bytes and times at four sizes, synthetic
    python benchmarks/spark.py accuracy debian pubmed        # the default model, SEEDS seeds (3)
    python benchmarks/spark.py sql                           # plain Spark SQL on a tenth of the first graph, synthetic

Needs `pip install 'structcomp[spark]' scikit-learn` and Java 17. Datasets are looked for in ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import urllib.request

import numpy as np
import pyarrow as pa
import structcomp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from structcomp import _native
from structcomp._features import as_features
from structcomp.spark import StructComp
from structcomp.spark._arrow import lists
from structcomp.spark._blocks import Cut
from structcomp.spark._compress import assembled, coarse_edges, compressed
from structcomp.spark._graph import Columns, prepared
from structcomp.spark._network import propagated
from structcomp.spark._partition import clusters_of
from structcomp.spark._storage import Workspace

DATA = os.environ.get("STRUCTCOMP_DATA", "../shared/data")
MEMORY, TASKS = 1 << 30, 64
#: How clusters are made when accuracies are compared.
METHODS = os.environ.get("METHODS", "worker propagation").split()


def session(master: str = "local[2]", **settings: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # The status of stages is read from the interface.
    fixed = {
        "spark.ui.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "8",
        **settings,
    }
    builder = SparkSession.builder.master(master).appName("structcomp")
    for name, value in fixed.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load(name: str):
    if name.startswith("synthetic") or name == "demo":
        return structcomp.load_dataset(name)
    if name == "debian":
        files = {"edges": "edges.csv.gz", "features": "x.npz", "ids": "names.txt", "labels": "labels.csv"}
        return structcomp.load_dataset(**{what: f"{DATA}/debian/{file}" for what, file in files.items()})
    return structcomp.load_dataset(name, data_dir=DATA)


def tables(spark: SparkSession, data, folder: str):
    """Vertices and edges as Parquet, as a user would have them."""
    x = np.ascontiguousarray(as_features(data.X).to_dense(), dtype=np.float32)
    graph = data.graph
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    ids = pa.array(np.arange(graph.n_nodes))
    spark.createDataFrame(pa.table({"id": ids, "features": lists(x)})).write.mode("overwrite").parquet(f"{folder}/v")
    ends = {"src": pa.array(sources[once].astype(np.int64)), "dst": pa.array(graph.indices[once].astype(np.int64))}
    spark.createDataFrame(pa.table(ends)).write.mode("overwrite").parquet(f"{folder}/e")
    return spark.read.parquet(f"{folder}/v"), spark.read.parquet(f"{folder}/e")


def shuffled(spark: SparkSession) -> int:
    """Bytes that all stages so far have written for others."""
    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages") as page:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(page))


def timed(what: str, call, runs: int = 3, spark: SparkSession | None = None, native: float | None = None):
    seconds, moved, result = [], [], None
    for _ in range(runs):
        before = shuffled(spark) if spark else 0
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
        moved.append((shuffled(spark) - before) / 1e6 if spark else 0)
    best = min(seconds[1:] or seconds)
    ratio = f", {best / native:.1f} times native" if native else ""
    shuffle = f", {moved[-1]:.0f} MB shuffled" if spark else ""
    print(f"{what}: first {seconds[0]:.2f} s, then {best:.2f} s{ratio}{shuffle}", flush=True)
    return result, best


def native_order(graph, data):
    """The same graph and features in the order in which Spark has numbered the nodes."""
    rows = graph.nodes.select("node", "id").toArrow()
    ids = np.empty(graph.n_nodes, np.int64)
    ids[rows.column("node").to_numpy()] = rows.column("id").to_numpy()
    place = np.empty_like(ids)
    place[ids] = np.arange(len(ids))
    of = data.graph
    sources = np.repeat(np.arange(of.n_nodes), np.diff(of.indptr))
    same = _native.Graph.from_edges(place[sources], place[of.indices.astype(np.int64)], None, len(ids))
    return same, np.ascontiguousarray(as_features(data.X).to_dense()[ids])


def noop(rows) -> None:
    rows.write.format("noop").mode("overwrite").save()


def by_sql(graph, hops: int) -> None:
    """The same hops as people write them: join, multiply, add up lists."""
    arcs = graph.arcs().select("s", "t")
    loops = graph.nodes.select(F.col("node").cast("int").alias("s"), F.col("node").cast("int").alias("t"))
    arcs = arcs.unionByName(loops)
    degrees = arcs.groupBy("s").agg(F.sqrt(F.count(F.lit(1))).alias("d"))
    arcs = arcs.join(degrees, "s").join(degrees.select(F.col("s").alias("t"), F.col("d").alias("e")), "t")
    rows = graph.nodes.select(F.col("node").cast("int").alias("s"), "features")
    for _ in range(hops):
        sent = arcs.join(rows, "s").select(
            "t", F.transform("features", lambda value: value / (F.col("d") * F.col("e"))).alias("x")
        )
        first = F.element_at(F.collect_list("x"), 1)
        zeros = F.transform(first, lambda value: F.lit(0.0).cast("double"))
        added = F.aggregate(
            F.collect_list("x"), zeros, lambda total, x: F.zip_with(total, x, lambda a, b: a + b)
        )
        rows = sent.groupBy("t").agg(added.alias("features")).select(F.col("t").alias("s"), "features")
    noop(rows)


def stages(names: list[str]) -> None:
    spark = session()
    for name in names:
        data = load(name)
        with Workspace(spark, None) as work:
            start = time.perf_counter()
            vertices, edges = tables(spark, data, f"{work.path}/tables")
            print(f"{name}: tables written in {time.perf_counter() - start:.1f} s")
            graph, _ = timed("cleaning and numbering", lambda: prepared(vertices, edges, Columns(), work), 2, spark)
            start = time.perf_counter()
            graph.mapped()
            print(f"edges sorted for mapping: {time.perf_counter() - start:.2f} s")
            same, x = native_order(graph, data)
            of_hops(spark, graph, same, x)
            of_clusters(spark, graph, same, x)


def of_hops(spark, graph, same, x) -> None:
    exact, native = timed("native: two hops", lambda: structcomp.propagate(x, same), 4)
    for strategy in ("columns", "blocks"):
        rows = propagated(graph, 2, strategy, MEMORY, TASKS)
        timed(f"two hops by {strategy}", lambda rows=rows: noop(rows), 3, spark, native)
        found = rows.select("node", "features").toArrow()
        order = np.argsort(found.column("node").to_numpy())
        got = np.stack(found.column("features").to_numpy())[order]
        print(f"  largest difference {np.abs(got - exact).max():.1e}, of numbers up to {np.abs(exact).max():.1f}")


def of_clusters(spark, graph, same, x) -> None:
    count = -(-graph.n_nodes // 10)
    own, native = timed("native: clusters", lambda: structcomp.partition(same, count), 3)
    share = structcomp.quality(same, own)["cut_share"]
    for method in ("worker", "propagation"):
        call = lambda method=method: clusters_of(graph, count, 0, method=method, memory=MEMORY)  # noqa: E731
        (found, told), _ = timed(f"clusters by {method}", call, 3, spark, native)
        rows = found.toArrow()
        clusters = np.empty(graph.n_nodes, np.int64)
        clusters[rows.column("node").to_numpy()] = rows.column("cluster").to_numpy()
        cut, sizes = structcomp.quality(same, clusters)["cut_share"], np.bincount(clusters)
        print(f"  cut {cut:.4f}, {cut / share:.3f} times native; {len(sizes)} clusters of {count}, "
              f"from {sizes.min()} to {sizes.max()} nodes, native to {np.bincount(own).max()}; {told}")

    def native_views():
        return [structcomp.compress(x, clusters)] + [
            structcomp.drop_member(x, clusters, epoch=epoch) for epoch in range(20)
        ]

    exact, native = timed("native: X_c and 20 views", native_views, 3)
    call = lambda: assembled(compressed(graph, found, count, views=20), count, graph.n_features)  # noqa: E731
    got, _ = timed("X_c and 20 views", call, 3, spark, native)
    same_bits = all((got[tag].view(np.uint32) == rows.view(np.uint32)).all() for tag, rows in zip([-2, *range(20)], exact))
    print(f"  bit for bit the same: {same_bits}")
    timed("A_c", lambda: coarse_edges(graph, found), 2, spark)


def formula(graph, strategy: str, hops: int) -> float:
    """Megabytes that docs/spark.md says are shuffled."""
    nodes, once = graph.n_nodes, 4e-6 * graph.n_nodes * graph.n_features
    if strategy == "columns":
        return 2 * once
    count = Cut.of(nodes, graph.n_features).count
    met = 1 - np.exp(-2 * graph.n_edges / (nodes * count))
    return once * (2 + hops * (1 + (count - 1) * met)) + 16e-6 * graph.n_edges * (hops + 1)


def sizes(_: list[str]) -> None:
    """Shuffled bytes and times, next to the formula of docs/spark.md; and four times the edges."""
    spark = session()
    for nodes, edges in ((20_000, 140_000), (80_000, 560_000), (160_000, 1_120_000), (160_000, 4_480_000)):
        data = structcomp.generate(nodes=nodes, edges=edges, features={"kind": "gaussian", "width": 64})
        with Workspace(spark, None) as work:
            vertices, ends = tables(spark, data, f"{work.path}/tables")
            graph = prepared(vertices, ends, Columns(), work)
            graph.mapped()
            print(f"{graph.n_nodes} nodes, {graph.n_edges} edges, 64 features (synthetic)")
            for strategy in ("columns", "blocks"):
                rows = propagated(graph, 2, strategy, MEMORY, TASKS)
                timed(f"  two hops by {strategy}", lambda rows=rows: noop(rows), 3, spark)
                print(f"    by the formula: {formula(graph, strategy, 2):.0f} MB", flush=True)


def sql(names: list[str]) -> None:
    """Plain Spark SQL on a tenth of a synthetic graph, and ours on the same."""
    spark = session()
    data = structcomp.generate(nodes=16_934, edges=115_515, features={"kind": "gaussian", "width": 128})
    with Workspace(spark, None) as work:
        graph = prepared(*tables(spark, data, f"{work.path}/tables"), Columns(), work)
        graph.mapped()
        print(f"{graph.n_nodes} nodes, {graph.n_edges} edges, 128 features (synthetic)")
        for strategy in ("columns", "blocks"):
            rows = propagated(graph, 2, strategy, MEMORY, TASKS)
            timed(f"two hops by {strategy}", lambda rows=rows: noop(rows), 3, spark)
            print(f"  by the formula: {formula(graph, strategy, 2):.0f} MB", flush=True)
        timed("two hops by plain Spark SQL", lambda: by_sql(graph, 2), 2, spark)


def accuracy(names: list[str]) -> None:
    spark = session()
    seeds = int(os.environ.get("SEEDS", "3"))
    for name in names:
        data = load(name)
        with Workspace(spark, None) as work:
            vertices, edges = tables(spark, data, f"{work.path}/tables")
            both = {method: [] for method in ("native", *METHODS)}
            for seed in range(seeds):
                start = time.perf_counter()
                native = structcomp.StructComp(random_state=seed).fit_transform(data)
                print(f"{name}, seed {seed}: native {time.perf_counter() - start:.1f} s", flush=True)
                both["native"].append(structcomp.evaluate(native, data.y)["mean"])
                for method in METHODS:
                    start = time.perf_counter()
                    model = StructComp(seed=seed, partitioner=method).fit(vertices, edges)
                    fitted = time.perf_counter() - start
                    rows = model.transform(vertices, edges).toArrow()
                    z = np.zeros((len(native), model.outputs), np.float32)
                    z[rows.column("id").to_numpy()] = np.stack(rows.column("embedding").to_numpy())
                    both[method].append(structcomp.evaluate(z, data.y)["mean"])
                    took = time.perf_counter() - start
                    print(f"  {method}: fit {fitted:.1f} s, in all {took:.1f} s, {both[method][-1]:.2f}", flush=True)
            for method, found in both.items():
                shown = ", ".join(f"{each:.2f}" for each in found)
                print(f"{name} {method}: {shown}; mean {statistics.mean(found):.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stages", "sizes", "sql", "accuracy"])
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    {"stages": stages, "sizes": sizes, "sql": sql, "accuracy": accuracy}[given.what](given.names)
