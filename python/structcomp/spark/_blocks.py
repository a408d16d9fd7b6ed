"""Hops by blocks of nodes, for graphs that no worker can map: each block sends every other block the sums
over its nodes that are neighbours there. Nothing is held but a block, and all else is on disk.

A row of the tables here is a part of what a block needs, in the order in which it needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
HELD = 64 << 20
#: Edges whose ends are gathered at once: their rows fit into a processor's cache.
AT_ONCE = 1 << 12


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
    #: The sums of what all blocks have sent so far, its own at first.
    x: Optional[Array] = None
    totals: Optional[Array] = None
    placed: int = 0


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


@dataclass(frozen=True)
class Round:
    """What a round does with what came in: which hop it is, of how many, and what is added up."""

    cut: Cut
    polynomials: list[Polynomial]
    width: int
    hop: int
    last: int
    #: Sums over neighbours alone, without degrees and own rows.
    plain: bool = False

    def kept(self, hop: int) -> list[Polynomial]:
        """Those that have begun by a hop and are not simply the last rows."""
        begun = (each for each in self.polynomials if any(each.weights[: hop + 1]))
        return [each for each in begun if not self.is_last(each)]

    def is_last(self, each: Polynomial) -> bool:
        return len(each.weights) == self.last + 1 and each.weights[-1] == 1 and not any(each.weights[:-1])

    def finished(self, block: _Block) -> Array:
        """The rows after the hop that came in; totals are brought up to it."""
        x, degrees = block.x, block.degrees
        assert x is not None and degrees is not None
        if self.hop and not self.plain:
            x = (x * _scale(degrees)).astype(np.float32)
        before, first = {}, 0
        for each in self.kept(self.hop - 1) if self.hop else []:
            assert block.totals is not None
            before[each.tag] = block.totals[:, first : first + len(each.columns)]
            first += len(each.columns)
        parts = []
        for each in self.kept(self.hop):
            weight = each.weights[self.hop] if self.hop < len(each.weights) else 0.0
            own = np.float32(weight) * x[:, each.columns]
            parts.append(own + before[each.tag] if each.tag in before else own)
        block.totals = np.concatenate(parts, axis=1) if parts else np.zeros((len(x), 0), np.float32)
        return np.asarray(x, dtype=np.float32)


def _scale(degrees: Array) -> Array:
    scale: Array = (1.0 / np.sqrt(1.0 + degrees))[:, None]
    return scale


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
    cut = Cut.of(graph.n_nodes, width)
    edges = _edges(graph, cut)
    work, last = graph.work, max([len(each.weights) for each in polynomials] + [1]) - 1
    first = _first(rows, inputs, project, cut)
    found = []
    if neighbors is not None:
        first = work.write(first, work.fresh("rows"))
        plain = [Round(cut, [neighbors], width, hop, 1, plain=True) for hop in range(2)]
        near = _round(_round(first, edges, plain[0]), edges, plain[1])
        found.append(_pieces(near, plain[1], None, only))
    state = first
    for hop in range(last + 1):
        own = Round(cut, polynomials, width, hop, last)
        state = _round(state, edges, own)
        if hop % 2 == 1 and hop < last:
            state = work.write(state, work.fresh("state"))
    found.append(_pieces(state, own, degrees, only))
    made = found[0]
    return made if len(found) == 1 else made.unionByName(found[1])


def _edges(graph: Prepared, cut: Cut) -> DataFrame:
    """The degrees of each block's nodes, and its edges by the block at the other end."""
    from pyspark.sql import functions as F

    if cut.size in graph.blocks:
        return graph.blocks[cut.size]

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
    graph.blocks[cut.size] = graph.work.write(made, graph.work.fresh("edges"))
    return graph.blocks[cut.size]


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


def _first(rows: DataFrame, inputs: int, project: Project, cut: Cut) -> DataFrame:
    """The projected rows, block by block."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nodes = numbers(batch.column(0))
            if not len(nodes):
                continue
            made = project(rows_of(batch.column(1), inputs))
            for block in np.unique(nodes // cut.size):
                own = np.flatnonzero(nodes // cut.size == block)
                place = (nodes[own] - block * cut.size).astype(np.int32).tobytes()
                data = np.ascontiguousarray(made[own], dtype=np.float32).tobytes()
                yield from _bounded(iter([(int(block), OWN, int(nodes[own[0]]), place, None, None, data)]))

    return rows.select("node", "features").mapInArrow(run, ROW)


def _round(state: DataFrame, edges: DataFrame, own: Round) -> DataFrame:
    """Adds up what came, and sends what others need for the next hop."""
    rows = by_number(state.unionByName(edges), own.cut.count, "block")
    rows = rows.sortWithinPartitions("block", "kind", "source")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _bounded(_sent(batches, own))

    return rows.mapInArrow(run, ROW)


def _sent(batches: Iterator[pa.RecordBatch], own: Round) -> Iterator[tuple[Any, ...]]:
    block = _Block()
    x: Optional[Array] = None
    kept: Optional[Array] = None
    for number, kind, source, a, b, c, data in _rows(batches):
        block.number = number
        if kind == DEGREES:
            block.degrees = np.frombuffer(a, np.float64)
        elif kind == OWN:
            _place(block, own, a, b, data)
        elif kind == SUMS:
            _add(block, own, a, data)
        elif own.hop < own.last:
            if x is None or kept is None:
                x, kept = _ready(block, own)
            sums = _sums(x, b, c, data)
            if source == number:
                kept[np.frombuffer(a, np.int32)] += sums
            else:
                yield source, SUMS, number, bytes(a), None, None, sums.tobytes()
    if block.number >= 0:
        yield _left(block, own, kept)


def _place(block: _Block, own: Round, a: Optional[Any], b: Optional[Any], data: Any) -> None:
    """A part of the first rows, or a block's own sums."""
    count = own.cut.rows(block.number)
    if block.degrees is None:
        block.degrees = np.zeros(count)
    if block.x is None:
        block.x = np.zeros((count, own.width))
    rows = matrix(data, own.width)
    where = slice(None) if a is None else np.frombuffer(a, np.int32)
    block.x[where] = rows
    block.placed += len(rows)
    if b is not None:
        block.totals = np.frombuffer(b, np.float32).reshape(count, -1)


def _add(block: _Block, own: Round, a: Any, data: Any) -> None:
    if block.x is None:
        raise RuntimeError(f"the rows of block {block.number} are missing; run it again")
    targets = np.frombuffer(a, np.int32)
    block.x[targets] += matrix(data, own.width)


def _ready(block: _Block, own: Round) -> tuple[Array, Array]:
    """The rows as others need them, and what the block keeps for itself."""
    x = own.finished(block)
    if own.plain:
        return x, np.zeros(x.shape)
    scaled = (x * _scale(np.asarray(block.degrees))).astype(np.float32)
    return scaled, scaled.astype(np.float64)


def _left(block: _Block, own: Round, kept: Optional[Array]) -> tuple[Any, ...]:
    """What the block has in the end, or keeps for the next round."""
    end = own.hop == own.last
    if block.placed != own.cut.rows(block.number):
        raise RuntimeError(f"{block.placed} rows of block {block.number} came; run it again")
    if end:
        rows = own.finished(block)
    else:
        rows = _ready(block, own)[1] if kept is None else kept
    totals = np.asarray(block.totals, dtype=np.float32).tobytes()
    degrees = np.asarray(block.degrees).tobytes() if end else None
    return (
        block.number,
        RESULT if end else OWN,
        -1,
        None,
        totals,
        degrees,
        np.ascontiguousarray(rows, dtype=np.float32).tobytes(),
    )


def _sums(x: Array, b: Any, c: Any, data: Optional[Any]) -> Array:
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
    return out


def _pieces(state: DataFrame, own: Round, degrees: Optional[int], only: Optional[int]) -> DataFrame:
    """What blocks hold in the end, by tag."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches_of(_parts(batches, own, degrees, only))

    return state.mapInArrow(run, PIECES)


def _parts(
    batches: Iterator[pa.RecordBatch], own: Round, degrees: Optional[int], only: Optional[int]
) -> Iterator[tuple[Any, ...]]:
    for number, _, _, _, b, c, data in _rows(batches):
        count, found = own.cut.rows(number), np.frombuffer(c, np.float64)
        start = number * own.cut.size
        for tag, rows in _tagged(own, count, found, b, data):
            if only is not None:
                yield piece(start, number, tag, None, rows[-start % only :: only])
                continue
            for at in range(0, count, BLOCK):
                yield piece((start + at) // BLOCK, 0, tag, None, rows[at : at + BLOCK])
        if degrees is not None:
            rows = found[:, None].astype(np.float32)
            if only is not None:
                yield piece(start, number, degrees, None, rows[-start % only :: only])
                continue
            for at in range(0, count, BLOCK):
                yield piece((start + at) // BLOCK, 0, degrees, None, rows[at : at + BLOCK])


def _tagged(own: Round, count: int, degrees: Array, b: Any, data: Any) -> Iterator[tuple[int, Array]]:
    x = matrix(data, own.width)
    if own.plain:
        each = own.polynomials[0]
        inverse = np.divide(1.0, degrees, out=np.zeros(count), where=degrees > 0)
        yield each.tag, (x[:, each.columns] * inverse[:, None]).astype(np.float32)
        return
    totals, first = np.frombuffer(b, np.float32).reshape(count, -1), 0
    for each in own.kept(own.hop):
        yield each.tag, totals[:, first : first + len(each.columns)]
        first += len(each.columns)
    for each in own.polynomials:
        if own.is_last(each):
            yield each.tag, x[:, each.columns]


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
