"""Hops by blocks of nodes, for graphs that no worker can map: each block sends every other block the sums
over its nodes that are neighbours there. Nothing is held but a block, and all else is on disk.

A row of the tables here is a part of what a block needs, in the order in which it needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._arrow import PIECES, Array, batches_of, by_number, matrix, numbers, piece, rows_of
from ._graph import Prepared
from ._hops import BLOCK, Project

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Degrees, own rows, sums from other blocks, and edges to other blocks.
DEGREES, OWN, SUMS, EDGES = range(4)
#: Made of a block, and not for another round.
RESULT = 9
ROW = "block int, kind int, source int, a binary, b binary, c binary, data binary"
NAMES = ["block", "kind", "source", "a", "b", "c", "data"]
#: Bytes of a block's rows.
HELD = 16 << 20
#: Edges whose ends are gathered at once.
AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Polynomial:
    """What hops are added up to: a tag, the weight of each number of hops, and columns."""

    tag: int
    weights: list[float]
    columns: Array


@dataclass
class _Block:
    """A block while its rows come in."""

    number: int = -1
    degrees: Optional[Array] = None
    x: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    totals: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    sums: Optional[Array] = None


@dataclass(frozen=True)
class Cut:
    """How nodes are cut into blocks."""

    nodes: int
    size: int

    @classmethod
    def of(cls, nodes: int, width: int) -> Cut:
        rows = max(1, HELD // (4 * max(width, 1)) // BLOCK) * BLOCK
        return cls(nodes, min(rows, max(BLOCK, -(-nodes // 4 // BLOCK) * BLOCK)))

    @property
    def count(self) -> int:
        return -(-self.nodes // self.size)

    def rows(self, block: int) -> int:
        return min(self.size, self.nodes - block * self.size)


def through_blocks(
    graph: Prepared,
    rows: DataFrame,
    inputs: int,
    project: Project,
    width: int,
    polynomials: list[Polynomial],
    neighbors: Optional[Polynomial] = None,
    degrees: Optional[int] = None,
    only: Optional[int] = None,
) -> DataFrame:
    """Polynomials of hops of projected rows as pieces, for `gathered`; means over neighbours; the degrees."""
    cut = Cut.of(graph.n_nodes, width + sum(len(each.columns) for each in polynomials))
    edges = _edges(graph, cut)
    state = _first(rows, inputs, project, cut, polynomials, graph)
    work, last = graph.work, max([len(each.weights) for each in polynomials] + [1]) - 1
    found = []
    if neighbors is not None or last > 2:
        state = work.write(state, f"{work.fresh('state')}")
    if neighbors is not None:
        near = _round(_round(state, edges, cut, [], None, True), edges, cut, [], None, True, end=True)
        found.append(_pieces(near, cut, [neighbors], None, only, sums=True))
    for hop in range(last + 1):
        at = hop if hop else None
        state = _round(state, edges, cut, polynomials, at, False, end=hop == last)
        if last > 2 and hop % 2 == 1:
            state = work.write(state, work.fresh("state"))
    found.append(_pieces(state, cut, polynomials, degrees, only))
    made = found[0]
    return made if len(found) == 1 else made.unionByName(found[1])


def _edges(graph: Prepared, cut: Cut) -> DataFrame:
    """The degrees of each block's nodes, and its edges by the block at the other end."""
    from pyspark.sql import functions as F

    def block(end: str) -> Any:
        return F.floor(F.col(end) / F.lit(cut.size)).cast("int")

    arcs = graph.arcs().select(block("s").alias("b"), block("t").alias("c"), "s", "t", "w")
    rows = by_number(arcs, cut.count, "b").sortWithinPartitions("b", "c", "t", "s")
    weighted = graph.weighted

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if held:
            columns = [np.concatenate([numbers(batch.column(at)) for batch in held]) for at in range(5)]
            yield from _bounded(_compact(columns, cut, weighted))

    made = rows.mapInArrow(run, ROW)
    return graph.work.write(made, graph.work.fresh("edges"))


def _compact(columns: list[Array], cut: Cut, weighted: bool) -> Iterator[tuple[Any, ...]]:
    b, c, s, t, w = columns
    block = int(b[0])
    own = (s - block * cut.size).astype(np.int32)
    degrees = np.bincount(own, weights=w, minlength=cut.rows(block))
    yield block, DEGREES, 0, degrees.astype(np.float64).tobytes(), None, None, None
    bounds = [0, *(np.flatnonzero(np.diff(c)) + 1).tolist(), len(c)]
    for first, last in zip(bounds, bounds[1:]):
        for start in range(first, last, 1 << 20):
            part = slice(start, min(last, start + (1 << 20)))
            targets, starts = np.unique(t[part] - c[first] * cut.size, return_index=True)
            weights = w[part].astype(np.float32).tobytes() if weighted else None
            yield (
                block,
                EDGES,
                int(c[first]),
                targets.astype(np.int32).tobytes(),
                starts.astype(np.int32).tobytes(),
                own[part].tobytes(),
                weights,
            )


def _first(
    rows: DataFrame, inputs: int, project: Project, cut: Cut, polynomials: list[Polynomial], graph: Prepared
) -> DataFrame:
    """The projected rows of each block, and the totals before any hop."""
    from pyspark.sql import functions as F

    place = F.floor(F.col("node") / F.lit(cut.size)).cast("int")
    placed = by_number(rows.select("node", "features").withColumn("b", place), cut.count, "b")
    placed = placed.sortWithinPartitions("node").select("node", "features")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made, start = [], -1
        for batch in batches:
            if batch.num_rows:
                start = numbers(batch.column(0))[0] if start < 0 else start
                made.append(project(rows_of(batch.column(1), inputs)))
        if made:
            x = np.concatenate(made)
            block = int(start) // cut.size
            if len(x) != cut.rows(block):
                raise RuntimeError(f"{len(x)} of {cut.rows(block)} rows of block {block} came; run it again")
            totals = [np.float32(each.weights[0]) * x[:, each.columns] for each in polynomials]
            yield from _bounded(iter([_own(block, x, totals)]))

    return placed.mapInArrow(run, ROW)


def _own(block: int, x: Array, totals: list[Array]) -> tuple[Any, ...]:
    beside = np.concatenate(totals, axis=1) if totals else np.zeros((len(x), 0), np.float32)
    return block, OWN, -1, None, beside.astype(np.float32).tobytes(), None, x.astype(np.float32).tobytes()


def _round(
    state: DataFrame,
    edges: DataFrame,
    cut: Cut,
    polynomials: list[Polynomial],
    hop: Optional[int],
    plain: bool,
    end: bool = False,
) -> DataFrame:
    """Adds up the sums that came, and sends those of the next hop. `plain` sums know nothing of degrees."""
    rows = by_number(state.unionByName(edges), cut.count, "block")
    rows = rows.sortWithinPartitions("block", "kind", "source")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _bounded(_sent(batches, cut, polynomials, hop, plain, end))

    return rows.mapInArrow(run, ROW)


def _sent(
    batches: Iterator[pa.RecordBatch],
    cut: Cut,
    polynomials: list[Polynomial],
    hop: Optional[int],
    plain: bool,
    end: bool,
) -> Iterator[tuple[Any, ...]]:
    block = _Block()
    scaled: Optional[Array] = None
    for number, kind, source, a, b, c, data in _rows(batches):
        block.number = number
        count = cut.rows(number)
        if kind == DEGREES:
            block.degrees = np.frombuffer(a, np.float64)
        elif kind == OWN:
            block.x = matrix(data, len(data) // (4 * count))
            block.totals = np.frombuffer(b, np.float32).reshape(count, -1)
        elif kind == SUMS:
            _add(block, a, data)
        elif not end:
            scaled = _finished(block, cut, polynomials, hop, plain) if scaled is None else scaled
            yield _sums(number, source, scaled, a, b, c, data)
    if block.number >= 0:
        if scaled is None:
            _finished(block, cut, polynomials, hop, plain)
        degrees = block.degrees if block.degrees is not None else np.zeros(cut.rows(block.number))
        _, kind, source, *rest = _own(block.number, block.x, [block.totals])
        kind = RESULT if end else kind
        sums = None if block.sums is None or not plain else block.sums.astype(np.float32).tobytes()
        yield block.number, kind, source, degrees.tobytes(), rest[1], sums, rest[3]


def _add(block: _Block, a: bytes, data: bytes) -> None:
    if block.sums is None:
        block.sums = np.zeros(block.x.shape)
    targets = np.frombuffer(a, np.int32)
    block.sums[targets] += matrix(data, block.x.shape[1])


def _finished(
    block: _Block, cut: Cut, polynomials: list[Polynomial], hop: Optional[int], plain: bool
) -> Array:
    """The rows after the hop that came in, as the others need them."""
    degrees = block.degrees if block.degrees is not None else np.zeros(cut.rows(block.number))
    if plain:
        return block.x
    scale: Array = (1.0 / np.sqrt(1.0 + degrees))[:, None]
    if hop is not None:
        sums = block.sums if block.sums is not None else 0.0
        block.x = (scale * (sums + scale * block.x)).astype(np.float32)
        parts, first = [], 0
        for each in polynomials:
            own = block.totals[:, first : first + len(each.columns)]
            first += len(each.columns)
            weight = each.weights[hop] if hop < len(each.weights) else 0.0
            parts.append(own + np.float32(weight) * block.x[:, each.columns] if weight else own)
        block.totals = np.concatenate(parts, axis=1) if parts else block.totals
        block.sums = None
    sent: Array = (scale * block.x).astype(np.float32)
    return sent


def _sums(
    number: int, target: int, x: Array, a: bytes, b: bytes, c: bytes, data: Optional[bytes]
) -> tuple[Any, ...]:
    """The sums over a block's nodes for the nodes of another."""
    starts, sources = np.frombuffer(b, np.int32), np.frombuffer(c, np.int32)
    weights = None if data is None else np.frombuffer(data, np.float32)
    out = np.empty((len(starts), x.shape[1]), np.float32)
    ends = np.append(starts[1:], len(sources))
    first = 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + AT_ONCE, "right")))
        part = slice(starts[first], ends[last - 1])
        rows = x[sources[part]]
        if weights is not None:
            rows = rows * weights[part, None]
        np.add.reduceat(rows, starts[first:last] - starts[first], axis=0, out=out[first:last])
        first = last
    return target, SUMS, number, bytes(a), None, None, out.tobytes()


def _pieces(
    state: DataFrame,
    cut: Cut,
    polynomials: list[Polynomial],
    degrees: Optional[int],
    only: Optional[int],
    sums: bool = False,
) -> DataFrame:
    """What blocks hold in the end, by tag."""
    from pyspark.sql import functions as F

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(_parts(batches, cut, polynomials, degrees, only, sums))

    return state.filter(F.col("kind") == RESULT).mapInArrow(run, PIECES)


def _parts(
    batches: Iterator[pa.RecordBatch],
    cut: Cut,
    polynomials: list[Polynomial],
    degrees: Optional[int],
    only: Optional[int],
    sums: bool,
) -> Iterator[tuple[Any, ...]]:
    for number, _, _, a, b, c, data in _rows(batches):
        count, found = cut.rows(number), np.frombuffer(a, np.float64)
        made: list[tuple[int, Array]] = []
        if sums:
            near = np.zeros(len(data) // 4, np.float32) if c is None else np.frombuffer(c, np.float32)
            near = near.reshape(count, -1)[:, polynomials[0].columns]
            inverse = np.divide(1.0, found, out=np.zeros(count), where=found > 0)
            made.append((polynomials[0].tag, (near * inverse[:, None]).astype(np.float32)))
        else:
            totals, first = np.frombuffer(b, np.float32).reshape(count, -1), 0
            for each in polynomials:
                made.append((each.tag, totals[:, first : first + len(each.columns)]))
                first += len(each.columns)
        if degrees is not None:
            made.append((degrees, found[:, None].astype(np.float32)))
        start = number * cut.size
        for tag, rows in made:
            if only is not None:
                yield piece(start, number, tag, None, rows[-start % only :: only])
                continue
            for at in range(0, count, BLOCK):
                yield piece((start + at) // BLOCK, 0, tag, None, rows[at : at + BLOCK])


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        for values in zip(*(batch.column(name) for name in NAMES)):
            number, kind, source = (value.as_py() for value in values[:3])
            yield number, kind, source, *(None if not v.is_valid else v.as_buffer() for v in values[3:])


def _bounded(rows: Iterator[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    types = [pa.int32()] * 3 + [pa.binary()] * 4
    for row in rows:
        arrays = [pa.array([value], kind) for value, kind in zip(row, types)]
        yield pa.RecordBatch.from_arrays(arrays, names=NAMES)
