"""`structcomp.spark` where workers are killed, and through Spark Connect. Takes minutes, and runs only when asked for:

STRUCTCOMP_SPARK=all python -m pytest python/tests/test_spark_cluster.py

STRUCTCOMP_SPARK_KILLS says how many workers are killed (10), each in a fit and transform of its own.
"""

import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import structcomp

if os.environ.get("STRUCTCOMP_SPARK") != "all":
    pytest.skip("runs only with STRUCTCOMP_SPARK=all", allow_module_level=True)
pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'structcomp[spark]'")
if not shutil.which("java"):
    pytest.skip("java is not on the path; Spark needs Java 17 or later", allow_module_level=True)

import pyarrow as pa
from pyspark.sql import SparkSession
from structcomp.spark import StructComp, propagate
from structcomp.spark._arrow import lists

NODES = 8_000
KILLS = int(os.environ.get("STRUCTCOMP_SPARK_KILLS", "10"))


@pytest.fixture(scope="module")
def data():
    """8,000 nodes with 32 dense features, synthetic."""
    features = {"kind": "gaussian", "width": 32}
    return structcomp.generate(nodes=NODES, edges=40_000, classes=5, features=features)


def session(master, **settings):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    builder = builder.remote(master[8:]) if master.startswith("connect:") else builder.master(master)
    fixed = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "1g",
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def tables(spark, data, folder):
    graph = data.graph
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    x = lists(np.ascontiguousarray(data.X, dtype=np.float32))
    vertices = pa.table({"id": np.arange(graph.n_nodes), "features": x})
    edges = pa.table({"src": sources[once].astype(np.int64), "dst": graph.indices[once].astype(np.int64)})
    for name, table in (("v", vertices), ("e", edges)):
        spark.createDataFrame(table).write.mode("overwrite").parquet(f"{folder}/{name}")
    return spark.read.parquet(f"{folder}/v"), spark.read.parquet(f"{folder}/e")


def rows_of(found, column):
    found = found.toArrow()
    order = np.argsort(found.column("id").to_numpy())
    return np.stack(found.column(column).to_numpy())[order]


def executors(app):
    """The processes of the executors of this application alone."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if app in command and any("CoarseGrainedExecutorBackend" in part for part in command):
            found.append(int(path.parent.name))
    return found


def embedded(vertices, edges, workspace, **parameters):
    model = StructComp(workspace=workspace, **parameters).fit(vertices, edges)
    return rows_of(model.transform(vertices, edges), "embedding")


@pytest.mark.parametrize("parameters", [{"partitioner": "propagation"}, {"strategy": "blocks"}])
def test_killed_workers_change_no_vector(data, tmp_path, parameters):
    workspace = tmp_path / "workspace"
    spark = session(
        "local-cluster[2,1,1024]",
        **{"spark.task.maxFailures": "8", "spark.excludeOnFailure.enabled": "false"},
    )
    try:
        spark.sparkContext.setLogLevel("OFF")
        vertices, edges = tables(spark, data, f"file://{tmp_path}/tables")
        call = lambda: embedded(vertices, edges, f"file://{workspace}", width=64, **parameters)
        start = time.monotonic()
        want = call()
        took = time.monotonic() - start
        app = spark.sparkContext.applicationId
        assert len(executors(app)) == 2
        for number in range((KILLS + 1) // 2):
            # Somewhere in the middle.
            delay = took * random.Random(number).uniform(0.1, 0.8)
            killed = []

            def kill():
                victim = random.Random(number).choice(executors(app))
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

            timer = threading.Timer(delay, kill)
            timer.start()
            got = call()
            timer.join()
            print(
                f"{parameters}: killed {killed} after {delay:.1f} of {took:.1f} s, same: {(got == want).all()}"
            )
            assert killed and (got == want).all(), f"kill {number}"
        left = [name for name in os.listdir(workspace) if not name.startswith("structcomp-result")]
        assert not left
    finally:
        spark.stop()


def test_all_of_it_works_through_connect(data, tmp_path):
    spark = session("connect:local[2]")
    try:
        vertices, edges = tables(spark, data, f"file://{tmp_path}/tables")
        assert "connect" in type(vertices).__module__
        hops = rows_of(propagate(vertices, edges, workspace=f"file://{tmp_path}/workspace"), "features")
        assert np.abs(hops - structcomp.propagate(data)).max() < 1e-5
        for parameters in ({"partitioner": "propagation"}, {"model": "grace", "epochs": 2, "hidden": 16}):
            rows = embedded(vertices, edges, f"file://{tmp_path}/workspace", **parameters)
            assert rows.shape[0] == NODES and np.isfinite(rows).all()
    finally:
        spark.stop()
