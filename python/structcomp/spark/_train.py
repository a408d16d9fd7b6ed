"""Training on the driver, by the library, on what the workers compressed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._native import Features, Graph, Model, defaults, signal_rows, train_given
from ._arrow import Array
from ._compress import MEANS, assembled, coarse_edges, compressed, sizes_of
from ._graph import Prepared
from ._hops import Chunks, chunked, through_columns
from ._network import chosen, polynomial, run_layer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def trained(
    graph: Prepared,
    clusters: DataFrame,
    n_clusters: int,
    settings: dict[str, Any],
    strategy: str,
    memory: int,
    tasks: int,
) -> tuple[Model, dict[str, Any]]:
    """The fitted model, and what is to be told."""
    strategy = chosen(strategy, graph, memory)
    epochs = settings.get("epochs") or json.loads(defaults(settings["model"]))["epochs"]
    views = epochs if needs_views(settings, graph.n_features) else 0
    how = settings.get("drop_member")
    pieces = compressed(graph, clusters, n_clusters, views=views, how=how, seed=settings["random_state"])
    found = assembled(pieces, n_clusters, graph.n_features)
    model, due = train_given(
        Features.dense(found[MEANS]),
        _counts(*coarse_edges(graph, clusters), n_clusters),
        sizes_of(clusters, n_clusters).tolist(),
        [found[epoch] for epoch in range(views)],
        json.dumps(settings),
        n_nodes=graph.n_nodes,
        graph=f"spark {graph.n_nodes} {graph.n_edges}",
        ids="names" if graph.id_type == "string" else "numbers",
    )
    if due:
        model = _with_statistics(model, graph, strategy, memory, tasks)
    return model, {"views": views, "batch_norm_of_all_nodes": due, "strategy": strategy}


def needs_views(settings: dict[str, Any], width: int) -> bool:
    """Whether a model compares two views of the clusters: found out on four rows, which also refuses models
    that cannot be trained on clusters made elsewhere, before any work is done."""
    x = np.random.default_rng(0).normal(size=(4, width)).astype(np.float32)
    # A ring of four.
    a, b = np.repeat(np.arange(4), 2), np.array([1, 3, 0, 2, 1, 3, 0, 2])
    counts = _counts(a, b, np.ones(8), 4)
    tiny = {**settings, "epochs": 1, "batch": None, "negatives": None, "positives": None, "roots": None}
    try:
        train_given(
            Features.dense(x),
            counts,
            [1] * 4,
            [],
            json.dumps(tiny),
            n_nodes=4,
            graph="",
            ids="numbers",
            n_threads=1,
        )
    except ValueError as error:
        if "views of 0 epochs" in str(error):
            return True
        raise
    return False


def _counts(a: Array, b: Array, w: Array, n_clusters: int) -> tuple[Array, Array, Array]:
    starts = np.zeros(n_clusters + 1, np.int64)
    np.cumsum(np.bincount(a, minlength=n_clusters), out=starts[1:])
    return starts, np.ascontiguousarray(b, dtype=np.int32), np.ascontiguousarray(w, dtype=np.float32)


def _with_statistics(model: Model, graph: Prepared, strategy: str, memory: int, tasks: int) -> Model:
    """Batch norm with the means and variances of all nodes, layer by layer."""
    rows = graph.nodes
    layers = json.loads(model.layers())
    for at, layer in enumerate(layers):
        if layer["norm"]:
            model = model.with_statistics(
                at, *_moments(model, graph, rows, at, layer, strategy, memory, tasks)
            )
        if at + 1 < len(layers):
            made = run_layer(model, graph, rows, at, layer, strategy, memory, tasks).select(
                "node", "features"
            )
            rows = graph.work.write(made, f"statistics-{at}")
    return model


def _moments(
    model: Model,
    graph: Prepared,
    rows: DataFrame,
    at: int,
    layer: dict[str, Any],
    strategy: str,
    memory: int,
    tasks: int,
) -> tuple[list[float], list[float]]:
    """The mean and the variance of each column of a layer, before its bias."""
    signal = json.dumps({"hops": layer["hops"]})
    chunks = Chunks.of(layer["outputs"], graph.n_nodes, memory, tasks)

    def linear(x: Array) -> Array:
        return model.linear(at, Features.dense(x, n_threads=1), n_threads=1)

    def work(of: Graph, chunk: int, first: int, x: Optional[Array]) -> Iterator[tuple[int, Array]]:
        if x is not None:
            yield 0, signal_rows(of, x, signal, n_threads=1)

    if strategy == "blocks":
        pieces = polynomial(graph, rows, layer["inputs"], linear, layer["outputs"], layer["hops"])
    else:
        pieces = through_columns(graph, chunked(rows, layer["inputs"], linear, chunks), chunks, work)
    return moments(pieces, layer["outputs"], chunks, graph.n_nodes, strategy == "blocks")


def moments(
    pieces: DataFrame, width: int, chunks: Chunks, nodes: int, whole: bool
) -> tuple[list[float], list[float]]:
    """Means and variances of columns, from sums of pieces in the order of their blocks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for block, chunk, data in zip(*(batch.column(name) for name in ("block", "chunk", "data"))):
                first, last = (0, width) if whole else chunks.columns(chunk.as_py())
                x = np.frombuffer(data.as_buffer(), np.float32).reshape(-1, last - first).astype(np.float64)
                sums = {"sums": [x.sum(axis=0).tolist()], "squares": [(x * x).sum(axis=0).tolist()]}
                yield pa.RecordBatch.from_pydict({"block": [block.as_py()], "first": [first], **sums})

    kind = "block long, first long, sums array<double>, squares array<double>"
    rows = pieces.select("block", "chunk", "data").mapInArrow(run, kind).toArrow().to_pylist()
    sums, squares = np.zeros(width), np.zeros(width)
    for row in sorted(rows, key=lambda row: (row["first"], row["block"])):
        own = slice(row["first"], row["first"] + len(row["sums"]))
        sums[own] += row["sums"]
        squares[own] += row["squares"]
    mean = sums / nodes
    return mean.tolist(), np.maximum(squares / nodes - mean * mean, 0.0).tolist()
