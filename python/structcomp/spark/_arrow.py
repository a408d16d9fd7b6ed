"""Columns of Arrow as numpy arrays, and back. Matrices travel as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Array = np.ndarray
#: Of a table of matrices: which rows and columns they are, what they mean, and their numbers.
PIECES = "block long, chunk int, tag int, nodes binary, data binary"


def rows_of(column: Any, width: int) -> Array:
    """A column of lists as a matrix."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values.reshape(-1, width), dtype=np.float32)


def numbers(column: Any) -> Array:
    found: Array = column.to_numpy(zero_copy_only=False)
    return found


def lists(rows: Array) -> Any:
    """A matrix as a column of lists."""
    import pyarrow as pa

    count, width = rows.shape
    offsets = (
        np.arange(0, (count + 1) * width, width, dtype=np.int32) if width else np.zeros(count + 1, np.int32)
    )
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.reshape(-1)))


def piece(block: int, chunk: int, tag: int, nodes: Optional[Array], rows: Optional[Array]) -> tuple[Any, ...]:
    """A matrix as a row of a table of `PIECES`."""
    own = None if nodes is None else np.ascontiguousarray(nodes, dtype=np.int32).tobytes()
    return (
        block,
        chunk,
        tag,
        own,
        None if rows is None else np.ascontiguousarray(rows, dtype=np.float32).tobytes(),
    )


def batch_of(pieces: list[tuple[Any, ...]]) -> pa.RecordBatch:
    import pyarrow as pa

    types = [pa.int64(), pa.int32(), pa.int32(), pa.binary(), pa.binary()]
    names = ["block", "chunk", "tag", "nodes", "data"]
    columns = zip(*pieces)
    return pa.RecordBatch.from_arrays([pa.array(c, t) for c, t in zip(columns, types)], names=names)


def batches_of(pieces: Iterator[tuple[Any, ...]], most: int = 16 << 20) -> Iterator[pa.RecordBatch]:
    """Batches of bounded size."""
    held: list[tuple[Any, ...]] = []
    size = 0
    for each in pieces:
        held.append(each)
        size += len(each[4] or b"")
        if size >= most:
            yield batch_of(held)
            held, size = [], 0
    if held:
        yield batch_of(held)


def matrix(data: bytes, width: int) -> Array:
    return np.frombuffer(data, np.float32).reshape(-1, width)


def by_number(rows: DataFrame, parts: int, column: str) -> DataFrame:
    """Puts rows with number i into partition i."""
    from pyspark.sql import functions as F

    return rows.repartitionById(parts, F.col(column).cast("int"))
