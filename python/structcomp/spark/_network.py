"""The network in the workers: a fitted model embeds all nodes of a graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .._native import Features, Graph, Model, known_positions, project, signal_rows
from ._arrow import PIECES, Array, lists
from ._blocks import Polynomial, through_blocks
from ._graph import Prepared
from ._hops import Chunks, beside, chunked, gathered, through_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: How much larger than the memory of a task the graph may be that all tasks of a worker map.
SHARED = 4
#: Tags above those of the parts.
SQUARES, DEGREES = 1000, 1001
#: The hop that is made again and again.
HOP = json.dumps({"hops": [0.0, 1.0]})


def embedded(model: Model, graph: Prepared, strategy: str, memory: int, tasks: int) -> DataFrame:
    """Rows of `node`, `id` and `features`, which are the embedding."""
    strategy = chosen(strategy, graph, memory)
    if json.loads(model.parameters)["model"] == "solved":
        return _solved(model, graph, strategy, memory, tasks)
    return _layers(model, graph, strategy, memory, tasks)


def schema_of(graph: Prepared) -> str:
    return f"node long, id {graph.id_type}, features array<float>"


def output(first: int, names: Any, rows: Array) -> pa.RecordBatch:
    import pyarrow as pa

    nodes = pa.array(np.arange(first, first + len(rows), dtype=np.int64))
    return pa.RecordBatch.from_arrays(
        [nodes, names.field("id"), lists(rows)], names=["node", "id", "features"]
    )


def _solved(model: Model, graph: Prepared, strategy: str, memory: int, tasks: int) -> DataFrame:
    parts = json.loads(model.parts())
    shift, factor, basis, mean = model.projection()
    needed = sorted({c for part in parts if _hopping(part) for c in part["columns"]}) or [0]
    place = {column: at for at, column in enumerate(needed)}
    basis, mean = np.ascontiguousarray(basis[:, needed]), mean[needed]

    def narrowed(x: Array) -> Array:
        rows, squares = project(Features.dense(x, n_threads=1), shift, factor, basis, mean, n_threads=1)
        return np.concatenate([rows, squares[:, None].astype(np.float32)], axis=1)

    chunks = Chunks.of(len(needed) + 1, graph.n_nodes, memory, tasks)
    own = [sorted(place[c] for c in part["columns"]) if _hopping(part) else [] for part in parts]
    positions = [at for at, part in enumerate(parts) if "positions" in part["signal"]]

    def work(of: Graph, chunk: int, first: int, x: Optional[Array]) -> Iterator[tuple[int, Array]]:
        if x is None:
            for at in positions:
                rows = known_positions(of, json.dumps(parts[at]["signal"]["positions"]), n_threads=1)
                yield at, rows[:, parts[at]["columns"]]
            return
        last = first + x.shape[1]
        for at, part in enumerate(parts):
            columns = [c - first for c in own[at] if first <= c < last]
            if columns:
                yield (
                    at,
                    signal_rows(
                        of, np.ascontiguousarray(x[:, columns]), json.dumps(part["signal"]), n_threads=1
                    ),
                )
        if last == chunks.width:
            yield SQUARES, x[:, -1:]
            yield DEGREES, np.diff(of.indptr)[:, None].astype(np.float32)

    if strategy == "blocks":
        pieces = _by_blocks(graph, narrowed, parts, own, len(needed) + 1)
        if positions:
            nothing = graph.work.spark.createDataFrame([], PIECES)
            pieces = pieces.unionByName(through_columns(graph, nothing, Chunks(0, 1), work, alone=True))
    else:
        pieces = chunked(graph.nodes, graph.n_features, narrowed, chunks)
        pieces = through_columns(graph, pieces, chunks, work, alone=bool(positions))

    def finish(start: int, found: dict[int, list[Any]], names: Any) -> pa.RecordBatch:
        count = len(names)
        rows = []
        for at, part in enumerate(parts):
            if "sizes" in part["signal"]:
                rows.append(_sizes(found, part, count))
            else:
                rows.append(beside(found[at], count))
        return output(start, names, model.of_parts(rows, n_threads=1))

    wide = 4 * sum(len(part["columns"]) for part in parts) + 4 * model.n_outputs
    return gathered(graph, pieces, wide, finish, schema_of(graph))


def _by_blocks(
    graph: Prepared, project: Any, parts: list[Any], own: list[list[int]], width: int
) -> DataFrame:
    """The rows of each part that hops make, and the squares beside."""
    polynomials, neighbors = [Polynomial(SQUARES, [1.0], np.array([width - 1]))], None
    for at, part in enumerate(parts):
        if part["signal"] == "neighbors":
            neighbors = Polynomial(at, [], np.array(own[at]))
        elif "hops" in part["signal"]:
            polynomials.append(Polynomial(at, part["signal"]["hops"], np.array(own[at])))
    rows, inputs = graph.nodes, graph.n_features
    return through_blocks(graph, rows, inputs, project, width, polynomials, neighbors, degrees=DEGREES)


def _hopping(part: dict[str, Any]) -> bool:
    """Whether a part is made of the features of other nodes, or of a node's own."""
    return part["signal"] == "neighbors" or "hops" in part["signal"]


def _sizes(found: dict[int, list[Any]], part: dict[str, Any], count: int) -> Array:
    degrees = beside(found[DEGREES], count)[:, 0].astype(np.float64)
    squares = beside(found[SQUARES], count)[:, 0].astype(np.float64)
    relative = squares / part["signal"]["sizes"]["mean"]
    both = np.stack([np.log(1.0 + degrees), np.log(relative + 0.05)], axis=1).astype(np.float32)
    return np.ascontiguousarray(both[:, part["columns"]])


def _layers(model: Model, graph: Prepared, strategy: str, memory: int, tasks: int) -> DataFrame:
    layers = json.loads(model.layers())
    rows = graph.nodes
    for at, layer in enumerate(layers):
        made = run_layer(model, graph, rows, at, layer, strategy, memory, tasks)
        last = at + 1 == len(layers)
        rows = (
            made
            if last
            else graph.work.write(made.select("node", "features"), f"layer-{graph.work.run}-{at}")
        )
    return rows


def run_layer(
    model: Model,
    graph: Prepared,
    rows: DataFrame,
    at: int,
    layer: dict[str, Any],
    strategy: str,
    memory: int,
    tasks: int,
) -> DataFrame:
    """Hops and the linear map can change places, so the hops are made on the narrower side."""
    inputs, outputs = layer["inputs"], layer["outputs"]
    first = outputs < inputs
    signal = json.dumps({"hops": layer["hops"]})

    def linear(x: Array) -> Array:
        return model.linear(at, Features.dense(x, n_threads=1), n_threads=1)

    def before(x: Array) -> Array:
        return linear(x) if first else x

    def work(of: Graph, chunk: int, start: int, x: Optional[Array]) -> Iterator[tuple[int, Array]]:
        if x is not None:
            yield 0, signal_rows(of, x, signal, n_threads=1)

    def finish(start: int, found: dict[int, list[Any]], names: Any) -> pa.RecordBatch:
        made = beside(found[0], len(names))
        made = made if first else linear(made)
        return output(start, names, model.finish_layer(at, made, n_threads=1))

    chunks = Chunks.of(min(inputs, outputs), graph.n_nodes, memory, tasks)
    if strategy == "blocks":
        pieces = polynomial(graph, rows, inputs, before, min(inputs, outputs), layer["hops"])
    else:
        pieces = through_columns(graph, chunked(rows, inputs, before, chunks), chunks, work)
    return gathered(graph, pieces, 4 * (min(inputs, outputs) + outputs), finish, schema_of(graph))


def propagated(graph: Prepared, hops: int, strategy: str, memory: int, tasks: int) -> DataFrame:
    """The features after some hops."""
    signal = json.dumps({"hops": [0.0] * hops + [1.0]})

    def work(of: Graph, chunk: int, start: int, x: Optional[Array]) -> Iterator[tuple[int, Array]]:
        if x is not None:
            yield 0, signal_rows(of, x, signal, n_threads=1)

    def finish(start: int, found: dict[int, list[Any]], names: Any) -> pa.RecordBatch:
        return output(start, names, beside(found[0], len(names)))

    chunks = Chunks.of(graph.n_features, graph.n_nodes, memory, tasks)
    if chosen(strategy, graph, memory) == "blocks":
        weights = json.loads(signal)["hops"]
        pieces = polynomial(graph, graph.nodes, graph.n_features, lambda x: x, graph.n_features, weights)
    else:
        pieces = through_columns(
            graph, chunked(graph.nodes, graph.n_features, lambda x: x, chunks), chunks, work
        )
    return gathered(graph, pieces, 8 * graph.n_features, finish, schema_of(graph))


def polynomial(
    graph: Prepared, rows: DataFrame, inputs: int, project: Any, width: int, weights: list[float]
) -> DataFrame:
    """All columns after hops, by blocks."""
    all_of_them = Polynomial(0, weights, np.arange(width))
    return through_blocks(graph, rows, inputs, project, width, [all_of_them])


def chosen(strategy: str, graph: Prepared, memory: int) -> str:
    """Columns, where the graph and a column of all nodes fit into memory."""
    if strategy not in ("auto", "columns", "blocks"):
        raise ValueError(f"strategy must be 'auto', 'columns' or 'blocks', not {strategy!r}")
    if strategy != "auto":
        return strategy
    per_edge = 16 if graph.weighted else 8
    mapped = 8 * graph.n_nodes + per_edge * graph.n_edges
    return "columns" if mapped <= SHARED * memory and 16 * graph.n_nodes <= memory else "blocks"
