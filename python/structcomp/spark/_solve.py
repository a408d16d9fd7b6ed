"""The solved model: statistics and the rows of a sample come from the workers, the driver does the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._native import Features, Graph, Model, Sketch, positions, project, signal_rows
from ._arrow import Array, matrix, rows_of
from ._blocks import Polynomial, through_blocks
from ._compress import halves
from ._graph import Prepared
from ._hops import Chunks, chunked, through_columns
from ._network import HOP, chosen

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from .._native import _Projection

#: Nodes that stand for all, as when a model is solved on one machine.
SAMPLE = 16_384
HOPS = 16
NEIGHBORS = json.dumps("neighbors")
TWO = json.dumps({"hops": [0.0, 0.0, 1.0]})
NEAR, SECOND, FAR, LAST, DEGREES = range(5)
#: Bytes for every node and column that making positions takes.
BYTES_OF_POSITION = 24


def solved(
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
    seed = settings["random_state"]
    step = -(-graph.n_nodes // SAMPLE)
    x = sampled(graph, step)
    sketch = Sketch(Features.dense(x), graph.n_nodes, json.dumps(settings))
    axes = sketch.projections()
    sums = halves(graph, clusters, n_clusters, axes[0], sketch.draws, seed)
    rows = _far_rows(graph, axes, sketch.n_far, step, strategy, memory, tasks)
    fits = strategy == "columns" and graph.n_nodes * sketch.n_positions * BYTES_OF_POSITION <= memory
    known = _positions(graph, sketch.n_positions, seed, step) if fits else None
    size, near = axes[0][3].size, rows[NEAR]
    bounds = np.cumsum([size] + [each[3].size for each in axes[1:]])
    apart = (
        [np.ascontiguousarray(part) for part in np.split(near, bounds[:-1], axis=1)]
        if len(axes) > 1
        else [near]
    )
    model, solution = sketch.solve(
        sums.tolist(),
        rows[DEGREES][:, 0].astype(int).tolist(),
        apart[0],
        rows[SECOND],
        rows[FAR],
        rows[LAST],
        apart[1:],
        known,
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        graph=json.loads(known[0])["graph"] if known else f"spark {graph.n_nodes} {graph.n_edges}",
        ids="names" if graph.id_type == "string" else "numbers",
        n_clusters=n_clusters,
    )
    return model, {"solution": json.loads(solution), "positions": fits, "strategy": strategy}


def sampled(graph: Prepared, step: int) -> Array:
    """The features of every so many nodes, on the driver."""
    from pyspark.sql import functions as F

    rows = graph.nodes.filter(F.col("node") % step == 0).select("node", "features").toArrow()
    order = np.argsort(rows.column("node").to_numpy())
    return np.ascontiguousarray(rows_of(rows.column("features").combine_chunks(), graph.n_features)[order])


def _far_rows(
    graph: Prepared,
    axes: list[_Projection],
    far: int,
    step: int,
    strategy: str,
    memory: int,
    tasks: int,
) -> dict[int, Array]:
    """The sampled rows on all axes after hops, by tag."""
    size = axes[0][3].size
    width = sum(each[3].size for each in axes)
    chunks = Chunks.of(width, graph.n_nodes, memory, tasks)

    def projected(x: Array) -> Array:
        features = Features.dense(x, n_threads=1)
        return np.concatenate([project(features, *each, n_threads=1)[0] for each in axes], axis=1)

    def work(of: Graph, chunk: int, first: int, x: Optional[Array]) -> Iterator[tuple[int, Array]]:
        if x is None:
            return
        yield NEAR, signal_rows(of, x, NEIGHBORS, n_threads=1)
        if first == 0:
            yield DEGREES, np.diff(of.indptr)[:, None].astype(np.float32)
        own = np.ascontiguousarray(x[:, : max(0, size - first)])
        if own.shape[1]:
            yield SECOND, signal_rows(of, own, TWO, n_threads=1)
        yield from _smoothed(of, np.ascontiguousarray(own[:, : max(0, far - first)]))

    if strategy == "blocks":
        pieces = _by_blocks(graph, projected, size, width, far, step)
    else:
        columns = chunked(graph.nodes, graph.n_features, projected, chunks)
        pieces = through_columns(graph, columns, chunks, work, only=step)
    rows = pieces.select("chunk", "tag", "data").toArrow()
    found: dict[int, dict[int, Array]] = {}
    count = -(-graph.n_nodes // step)
    for chunk, tag, data in zip(*(rows.column(name) for name in ("chunk", "tag", "data"))):
        part = np.frombuffer(data.as_buffer(), np.float32)
        found.setdefault(tag.as_py(), {})[chunk.as_py()] = part
    if strategy == "blocks":
        return {
            tag: np.concatenate([parts[at] for at in sorted(parts)]).reshape(count, -1)
            for tag, parts in found.items()
        }
    return {
        tag: np.ascontiguousarray(
            np.concatenate([parts[at].reshape(count, -1) for at in sorted(parts)], axis=1)
        )
        for tag, parts in found.items()
    }


def _by_blocks(graph: Prepared, project: Any, size: int, width: int, far: int, step: int) -> DataFrame:
    polynomials = [
        Polynomial(SECOND, [0.0, 0.0, 1.0], np.arange(size)),
        Polynomial(FAR, json.loads(Sketch.far())["hops"], np.arange(far)),
        Polynomial(LAST, [0.0] * HOPS + [1.0], np.arange(far)),
    ]
    near = Polynomial(NEAR, [], np.arange(width))
    rows, inputs = graph.nodes, graph.n_features
    return through_blocks(graph, rows, inputs, project, width, polynomials, near, degrees=DEGREES, only=step)


def _smoothed(of: Graph, x: Array) -> Iterator[tuple[int, Array]]:
    """The mean over all hops, and the last hop alone."""
    if not x.shape[1]:
        return
    weights = json.loads(Sketch.far())["hops"]
    total = np.float32(weights[0]) * x
    for weight in weights[1:]:
        x = signal_rows(of, x, HOP, n_threads=1)
        total += np.float32(weight) * x
    yield FAR, total
    yield LAST, x


def _positions(graph: Prepared, width: int, seed: int, step: int) -> tuple[str, Array]:
    """What makes positions, and those of the sampled nodes, from one worker."""
    mapped = graph.mapped()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            note, rows = positions(mapped.open(), width, seed, n_threads=1)
            data = np.ascontiguousarray(rows[::step]).tobytes()
            yield pa.RecordBatch.from_pydict({"note": [note], "data": [data]})

    row = (
        graph.work.spark.range(0, 1, 1, 1)
        .mapInArrow(run, "note string, data binary")
        .toArrow()
        .to_pylist()[0]
    )
    return row["note"], np.ascontiguousarray(matrix(row["data"], width))
