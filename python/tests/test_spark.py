"""`structcomp.spark` on a real Spark in this process, small.

With STRUCTCOMP_SPARK=all also on two executors that are killed, and through Spark Connect (`test_spark_cluster.py`).
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import structcomp

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'structcomp[spark]'")
if not shutil.which("java"):
    pytest.skip("java is not on the path; Spark needs Java 17 or later", allow_module_level=True)

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from structcomp import _native
from structcomp.spark import StructComp, StructCompModel, partition, propagate
from structcomp.spark._arrow import lists
from structcomp.spark._compress import MEANS, assembled, coarse_edges, compressed
from structcomp.spark._graph import Columns, prepared
from structcomp.spark._partition import clusters_of, shares
from structcomp.spark._storage import Workspace

NODES = 600


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def data():
    """600 nodes with 12 dense features, synthetic."""
    return structcomp.generate(nodes=NODES, edges=2400, classes=3, features={"kind": "gaussian", "width": 12})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return str(tmp_path_factory.mktemp("workspace"))


def ends_of(graph):
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    return sources[once].astype(np.int64), graph.indices[once].astype(np.int64)


def tables(spark, data, name=lambda node: int(node)):
    ids = [name(node) for node in range(data.graph.n_nodes)]
    src, dst = ends_of(data.graph)
    vertices = pa.table({"id": ids, "features": lists(np.ascontiguousarray(data.X, dtype=np.float32))})
    edges = pa.table({"src": [ids[node] for node in src], "dst": [ids[node] for node in dst]})
    return spark.createDataFrame(vertices), spark.createDataFrame(edges)


def rows_of(found, column, width):
    """The column in the order of the integer ids."""
    found = found.toArrow()
    rows = np.zeros((found.num_rows, width), np.float32)
    rows[found.column("id").to_numpy()] = np.stack(found.column(column).to_numpy())
    return rows


@pytest.fixture(scope="module")
def fitted(spark, data, workspace):
    vertices, edges = tables(spark, data)
    model = StructComp(numClusters=60, seed=3, workspace=workspace).fit(vertices, edges)
    return model, rows_of(model.transform(vertices, edges), "embedding", model.outputs)


@pytest.fixture
def ready(spark, data, workspace):
    """The graph in a workspace, and natively with the same numbers of nodes."""
    with Workspace(spark, workspace) as work:
        graph = prepared(*tables(spark, data), Columns(), work)
        found = graph.nodes.select("node", "id").toArrow()
        ids = np.empty(NODES, np.int64)
        ids[found.column("node").to_numpy()] = found.column("id").to_numpy()
        place = np.argsort(ids)
        src, dst = ends_of(data.graph)
        yield (
            graph,
            np.ascontiguousarray(data.X[ids]),
            _native.Graph.from_edges(place[src], place[dst], None, NODES),
        )


@pytest.mark.parametrize("strategy", ["columns", "blocks"])
def test_hops_are_those_of_the_library(spark, data, workspace, strategy):
    found = propagate(*tables(spark, data), hops=3, strategy=strategy, workspace=workspace)
    assert np.abs(rows_of(found, "features", 12) - structcomp.propagate(data, hops=3)).max() < 1e-5


def test_clusters_are_as_many_as_asked_for_within_the_cap_and_about_as_good(ready):
    graph, _, same = ready
    found, told = clusters_of(graph, 61, 0, method="propagation", memory=1 << 30)
    rows = found.toArrow()
    clusters = np.empty(NODES, np.int64)
    clusters[rows.column("node").to_numpy()] = rows.column("cluster").to_numpy()
    assert told["parts"] == 2 and told["coarse_nodes"] < NODES / 2
    # The cap is a tenth above the average of 9.8, rounded up.
    assert len(np.unique(clusters)) == 61 and np.bincount(clusters).max() <= 11
    share, own = (
        structcomp.quality(same, each)["cut_share"] for each in (clusters, structcomp.partition(same, 61))
    )
    assert share < 1.06 * own, (share, own)


def test_shares_of_parts_add_up_and_suffice():
    # In proportion 3.33, 3.33 and 3.33 of ten.
    assert shares([100, 100, 100], 10, 40) == [4, 3, 3]
    # 12 nodes need three clusters of at most 5, although their share is 2.4.
    assert shares([12, 35], 10, 5) == [3, 7]
    with pytest.raises(ValueError, match="raise maxSize"):
        shares([11, 11], 5, 5)


def test_mean_rows_and_views_are_the_library_s_bit_for_bit(ready, monkeypatch):
    graph, x, same = ready
    clusters = structcomp.partition(same, 60).astype(np.int64)
    table = pa.table({"node": np.arange(NODES), "cluster": pa.array(clusters, pa.int32())})
    found = graph.work.spark.createDataFrame(table)
    got = assembled(compressed(graph, found, 60, views=3, seed=5), 60, 12)
    assert (got[MEANS] == structcomp.compress(x, clusters)).all()
    for epoch in range(3):
        assert (got[epoch] == structcomp.drop_member(x, clusters, epoch=epoch, random_state=5)).all()
    # A_c by hand: the weight of all edges between two clusters, and twice that inside.
    src, dst = ends_of(same)
    dense = np.zeros((60, 60))
    np.add.at(dense, (clusters[src], clusters[dst]), 1)
    a, b, weights = coarse_edges(graph, found)
    built = np.zeros((60, 60))
    built[a, b] = weights
    assert (built == dense + dense.T).all()


def test_the_default_model_is_as_good_as_the_library_s(data, fitted):
    model, rows = fitted
    native = structcomp.StructComp(n_clusters=60, random_state=3).fit_transform(data)
    ours, theirs = (structcomp.evaluate(each, data.y)["mean"] for each in (rows, native))
    assert abs(ours - theirs) < 1.0, (ours, theirs)
    assert model.summary["repairs"]["unknown_ids"] == 0 and model.summary["positions"]


def test_saved_weights_are_those_that_the_library_reads(spark, data, workspace, tmp_path):
    vertices, edges = tables(spark, data)
    estimator = StructComp(model="sce", epochs=3, hidden=16, numClusters=60, workspace=workspace)
    model = estimator.fit(vertices, edges)
    model.save(str(tmp_path / "model"))
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(str(tmp_path / "model"))
    again = StructCompModel.load(str(tmp_path / "model"))
    assert again.uid == model.uid and again.getWorkspace() == workspace
    rows = rows_of(again.transform(vertices, edges), "embedding", 16)
    native = structcomp.StructComp.load(tmp_path / "model" / "model.safetensors")
    assert np.abs(rows - native.transform(data.X, adjacency=data.graph)).max() < 1e-5


def test_batch_norm_gets_the_statistics_of_all_nodes(spark, data, workspace):
    vertices, edges = tables(spark, data)
    settings = {"batch_norm": True, "activation": "none"}
    estimator = StructComp(
        model="cca-ssg", epochs=3, hidden=8, numClusters=60, workspace=workspace, settings=settings
    )
    model = estimator.fit(vertices, edges)
    assert model.summary["views"] == 3 and model.summary["batch_norm_of_all_nodes"]
    sums = model.transform(vertices, edges)
    rows = rows_of(sums, "embedding", 8)
    # Without an activation, what batch norm makes is seen: scale 1 or nearly so, shift 0.
    assert np.abs(rows.mean(axis=0)).max() < 0.05 and np.abs(rows.std(axis=0) - 1).max() < 0.05


IDS = {
    "text": lambda node: f"n{node}",
    "long": lambda node: 10**12 + node,
    "binary": lambda node: b"\x00%d" % node,
    "struct": lambda node: {"kind": "page" if node % 2 else "user", "number": node},
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_come_back_as_they_were(spark, data, workspace, kind):
    name = IDS[kind]
    vertices, edges = tables(spark, data, name)
    found = partition(vertices, edges, numClusters=60, workspace=workspace)
    assert found.schema["id"].dataType == vertices.schema["id"].dataType
    ids = [row["id"] for row in found.toArrow().to_pylist()]
    assert sorted(map(str, ids)) == sorted(str(name(node)) for node in range(NODES))


def test_repairs_are_told_and_what_is_left_is_right(spark, data, workspace):
    vertices, edges = tables(spark, data)
    src, dst = ends_of(data.graph)
    more = spark.createDataFrame(
        pa.table(
            {
                # Two repeated, one of them turned; a loop; one unknown; one without an end.
                "src": pa.array([src[0], dst[1], 5, 10**9, None], pa.int64()),
                "dst": pa.array([dst[0], src[1], 5, 3, 4], pa.int64()),
            }
        )
    )
    with Workspace(spark, workspace) as work:
        graph = prepared(vertices, edges.unionByName(more), Columns(), work)
        report, count = graph.report, graph.n_edges
    assert count == data.graph.n_edges
    expected = {"listed": count + 5, "nulls": 1, "self_loops": 1, "zero_weights": 0}
    assert report == {**expected, "unknown_ids": 1, "duplicates": 2}


def test_weights_count_as_in_the_library(spark, data, workspace):
    vertices, edges = tables(spark, data)
    src, dst = ends_of(data.graph)
    weights = (1 + (src + dst) % 5).astype(np.float32)
    edges = edges.withColumn("w", (1 + F.pmod(F.col("src") + F.col("dst"), F.lit(5))).cast("double"))
    native = structcomp.propagate(data.X, _native.Graph.from_edges(src, dst, weights, NODES))
    for strategy in ("columns", "blocks"):
        found = propagate(vertices, edges, strategy=strategy, weightCol="w", workspace=workspace)
        assert np.abs(rows_of(found, "features", 12) - native).max() < 1e-5, strategy


def bad_inputs(spark, data):
    vertices, edges = tables(spark, data)
    null = F.when(F.col("id") != 7, F.col("features"))
    nan = F.when(F.col("id") != 7, F.col("features")).otherwise(F.array_repeat(F.lit(float("nan")), 12))
    return {
        "features is null in 1 of 600": (vertices.withColumn("features", null), edges),
        "null, NaN or infinite in 1 of": (vertices.withColumn("features", nan), edges),
        "the id 7 is in more than one row": (vertices.unionByName(vertices.filter("id = 7")), edges),
        "vertices have no column 'features'": (vertices.withColumnRenamed("features", "x"), edges),
        "src is string, but id of the vertices is bigint": (
            vertices,
            edges.withColumn("src", F.col("src").cast("string")),
        ),
        "features must be an array of numbers or a vector": (
            vertices.withColumn("features", F.lit("a")),
            edges,
        ),
        "there are no vertices": (vertices.filter("id < 0"), edges),
    }


def test_bad_tables_are_refused_in_words_and_nothing_is_left_behind(spark, data, workspace):
    for words, (vertices, edges) in bad_inputs(spark, data).items():
        with pytest.raises((ValueError, TypeError), match=words):
            StructComp(workspace=workspace).fit(vertices, edges)
    assert not [name for name in os.listdir(workspace) if not name.startswith("structcomp-result")]


def test_bad_settings_are_refused_before_any_work(spark, data):
    vertices, edges = tables(spark, data)
    for words, parameters in {
        "epochs would have no effect": {"epochs": 3},
        "corrupted": {"model": "dgi"},
        "unknown model": {"model": "magic"},
        "set width by the parameter": {"settings": {"width": 3}},
        "cannot be set on Spark": {"settings": {"feature_norm": "standardize"}},
    }.items():
        with pytest.raises(ValueError, match=words):
            StructComp(**parameters).fit(vertices, edges)
    with pytest.raises(TypeError, match="must be a Spark DataFrame, not Table"):
        StructComp().fit(vertices, pa.table({"src": [1], "dst": [2]}))


def test_lost_rows_are_noticed(spark, workspace, monkeypatch):
    with Workspace(spark, workspace) as work:
        read = work.spark.read.schema("a long").parquet
        reader = type(work.spark.read)
        monkeypatch.setattr(reader, "parquet", lambda self, path: read(path).filter("a > 3"))
        with pytest.raises(OSError, match=r"10 rows of numbers were written to .*, but 6 are there"):
            work.write(spark.range(10).select(F.col("id").alias("a")), "numbers")


def test_parameters_are_in_the_manners_of_spark(spark):
    estimator = StructComp(numClusters=5).setSeed(4).setOutputCol("z")
    assert (estimator.getSeed(), estimator.getOutputCol(), estimator.getNumClusters()) == (4, "z", 5)
    assert "seed: seed of every random choice (default: 0, current: 4)" in estimator.explainParams()
    copied = estimator.copy({estimator.seed: 9})
    assert (copied.getSeed(), estimator.getSeed()) == (9, 4)
    with pytest.raises(TypeError):
        estimator.setSeed("many")


def test_a_pipeline_of_spark_takes_the_embedding(spark, data, workspace, fitted):
    from pyspark.ml.classification import LogisticRegression

    vertices, edges = tables(spark, data)
    vectors = fitted[0].copy().setOutputType("vector").transform(vertices, edges)
    labels = spark.createDataFrame(
        pa.table({"id": np.arange(NODES), "label": np.asarray(data.y, dtype=np.int64)})
    )
    table = vectors.join(labels, "id")
    found = LogisticRegression(featuresCol="embedding", maxIter=10).fit(table).transform(table)
    assert found.filter("prediction = label").count() > 0.9 * NODES


def test_the_same_seed_gives_the_same_bytes_whatever_the_partitions_are(spark, data, workspace, fitted):
    vertices, edges = tables(spark, data)
    turned = (
        vertices.repartition(5).orderBy(F.desc("id")),
        edges.select(F.col("dst").alias("src"), F.col("src").alias("dst")),
    )
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        model = StructComp(numClusters=60, seed=3, workspace=workspace).fit(*turned)
        rows = rows_of(model.transform(*turned), "embedding", model.outputs)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert (rows == fitted[1]).all()


def test_a_graphframe_is_taken_apart_and_the_columns_say_their_size(spark, data, workspace, fitted):
    vertices, edges = tables(spark, data)
    graph = type("GraphFrame", (), {"vertices": vertices, "edges": edges})()
    found = fitted[0].transform(graph)
    assert found.columns == ["id", "embedding"]
    assert found.schema["embedding"].metadata == {"arrow.fixed-size-list.size": fitted[0].outputs}


def test_the_package_does_not_import_spark_by_itself():
    code = "import sys, structcomp; print([m for m in ('pyspark', 'pyarrow', 'pandas') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout.replace("'", '"')) == []
