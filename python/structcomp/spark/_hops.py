"""Hops by columns: every task has the whole graph, mapped, and some columns of all nodes, so that any number
of hops needs two shuffles of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from .._native import Graph
from ._arrow import PIECES, Array, batches_of, by_number, matrix, numbers, piece, rows_of
from ._graph import PARTITION, Prepared
from ._mapped import MappedGraph

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Nodes whose rows leave a task together.
BLOCK = 4096
#: The number of a chunk without columns, for what is made of the graph alone.
ALONE = -1

#: What a task makes of a chunk: the graph, the number of the chunk, its first column and its columns of all
#: nodes in; out, for any number of tags, rows of all nodes.
Work = Callable[[Graph, int, int, Optional[Array]], Iterator[tuple[int, Array]]]
#: Rows of features in, wider or narrower rows out.
Project = Callable[[Array], Array]


@dataclass(frozen=True)
class Chunks:
    """How columns are cut into chunks."""

    width: int
    each: int

    @classmethod
    def of(cls, width: int, nodes: int, memory: int, tasks: int) -> Chunks:
        """As wide as memory allows, for what a task holds: the chunk, its next hop and a copy."""
        most = max(1, memory // (16 * max(nodes, 1)))
        wanted = -(-width // max(tasks, 1))
        each = min(max(16, wanted), most)
        return cls(width, max(1, min(each, width)))

    @property
    def count(self) -> int:
        return -(-self.width // self.each)

    def columns(self, chunk: int) -> tuple[int, int]:
        return chunk * self.each, min((chunk + 1) * self.each, self.width)


def chunked(rows: DataFrame, inputs: int, project: Project, chunks: Chunks) -> DataFrame:
    """Rows of `node` and `features`, projected, as pieces of chunks."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(_cut(batches, inputs, project, chunks))

    return rows.select("node", "features").mapInArrow(cut, PIECES)


def _cut(
    batches: Iterator[pa.RecordBatch], inputs: int, project: Project, chunks: Chunks
) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        if not batch.num_rows:
            continue
        nodes = numbers(batch.column(0))
        made = project(rows_of(batch.column(1), inputs))
        for chunk in range(chunks.count):
            first, last = chunks.columns(chunk)
            yield piece(int(nodes[0]), chunk, 0, nodes, made[:, first:last])


def through_columns(
    graph: Prepared,
    pieces: DataFrame,
    chunks: Chunks,
    work: Work,
    alone: bool = False,
    only: Optional[int] = None,
) -> DataFrame:
    """Hands every chunk to `work`. With `only`, the rows of every so many nodes come out; with `alone`, there
    is a chunk without columns too."""
    from pyspark.sql import functions as F

    mapped, count = graph.mapped(), chunks.count
    if alone:
        spark = graph.work.spark
        nothing = F.lit(None).cast("binary")
        marker = spark.range(1).select(
            F.lit(0).cast("long").alias("block"),
            F.lit(count).alias("chunk"),
            F.lit(ALONE).alias("tag"),
            nothing.alias("nodes"),
            nothing.alias("data"),
        )
        pieces = pieces.unionByName(marker)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(_worked(batches, mapped, chunks, work, only))

    return by_number(pieces, count + alone, "chunk").mapInArrow(run, PIECES)


def _worked(
    batches: Iterator[pa.RecordBatch], mapped: MappedGraph, chunks: Chunks, work: Work, only: Optional[int]
) -> Iterator[tuple[Any, ...]]:
    chunk, x, filled = None, None, 0
    for batch in batches:
        columns = (batch.column(name) for name in ("chunk", "tag", "nodes", "data"))
        for at, tag, nodes, data in zip(*columns):
            chunk = at.as_py()
            if tag.as_py() == ALONE:
                continue
            first, last = chunks.columns(chunk)
            if x is None:
                x = np.zeros((mapped.nodes, last - first), np.float32)
            where = np.frombuffer(nodes.as_buffer(), np.int32)
            x[where] = matrix(data.as_buffer(), last - first)
            filled += len(where)
    if chunk is None:
        return
    if x is not None and filled != mapped.nodes:
        raise RuntimeError(
            f"{filled} of {mapped.nodes} rows of columns {chunks.columns(chunk)} came; run it again"
        )
    graph, first = mapped.open(), chunk * chunks.each
    for tag, rows in work(graph, chunk, first, x):
        if only is not None:
            yield piece(0, chunk, tag, None, rows[::only])
            continue
        for start in range(0, mapped.nodes, BLOCK):
            yield piece(start // BLOCK, chunk, tag, None, rows[start : start + BLOCK])


def gathered(
    graph: Prepared, pieces: DataFrame, bytes_per_row: int, finish: Callable[..., Any], schema: str
) -> DataFrame:
    """Puts the pieces of each block of nodes side by side again. `finish` gets the block's first node, its
    pieces by tag, chunk by chunk, and the ids as an Arrow array, and makes a record batch."""
    from pyspark.sql import functions as F

    parts = max(4, -(-graph.n_nodes * bytes_per_row // PARTITION))
    blocks = -(-graph.n_nodes // BLOCK)
    parts = min(parts, blocks)
    number = F.floor(F.col("node") / BLOCK).cast("long")
    named = graph.nodes.select(number.alias("block"), F.struct("node", "id").alias("own"))
    named = named.groupBy("block").agg(F.array_sort(F.collect_list("own")).alias("ids"))
    kind = named.schema["ids"].dataType
    nothing = F.lit(None)
    ids = named.select(
        "block",
        F.lit(ALONE).alias("chunk"),
        F.lit(ALONE).alias("tag"),
        nothing.cast("binary").alias("data"),
        F.col("ids"),
    )
    rows = pieces.select("block", "chunk", "tag", "data", nothing.cast(kind).alias("ids")).unionByName(ids)
    rows = rows.withColumn("p", (F.col("block") * parts / F.lit(blocks)).cast("int"))
    rows = by_number(rows, parts, "p").drop("p").sortWithinPartitions("block", "tag", "chunk")

    def side_by_side(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block, found, names in _blocks(batches):
            yield finish(block * BLOCK, found, names)

    return rows.mapInArrow(side_by_side, schema)


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, dict[int, list[Any]], Any]]:
    block: Optional[int] = None
    found: dict[int, list[Any]] = {}
    names: Any = None
    for batch in batches:
        columns = (batch.column(name) for name in ("block", "tag", "data", "ids"))
        for at, tag, data, ids in zip(*columns):
            if block is not None and at.as_py() != block:
                yield block, found, names
                found, names = {}, None
            block = at.as_py()
            if tag.as_py() == ALONE:
                names = ids.values
            else:
                found.setdefault(tag.as_py(), []).append(data.as_buffer())
    if block is not None:
        yield block, found, names


def beside(pieces: list[Any], nodes: int) -> Array:
    """The pieces of a block side by side."""
    parts = [np.frombuffer(data, np.float32).reshape(nodes, -1) for data in pieces]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))
