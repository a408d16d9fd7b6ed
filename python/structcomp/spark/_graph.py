"""Tables of a user as a graph: dense node numbers, checked features, edges without repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._arrow import by_number, numbers
from ._mapped import MappedGraph
from ._storage import Workspace

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: Nodes are numbered by these many hashes of their ids, and within a hash by the order of the ids.
HASHES = 4096
#: What is counted of the vertices.
NAMES = ["h", "rows", "ids", "nulls", "bad", "least", "most"]
SCANNED = "h int, rows long, ids long, nulls long, bad long, least long, most long"
#: Bytes of features or of edges in a partition.
PARTITION = 32 << 20


@dataclass(frozen=True)
class Columns:
    """Which columns of the tables are what."""

    id: str = "id"
    features: str = "features"
    src: str = "src"
    dst: str = "dst"
    weight: Optional[str] = None


@dataclass
class Prepared:
    """A graph in the workspace."""

    work: Workspace
    #: node, id, features; the rows of a partition are consecutive nodes.
    nodes: DataFrame
    #: s, t, w with s below t, once for every edge.
    pairs: DataFrame
    n_nodes: int
    n_edges: int
    n_features: int
    id_type: str
    #: What was repaired, by name.
    report: dict[str, int]
    weighted: bool
    _mapped: Optional[MappedGraph] = None
    #: Tables of edges between blocks, by the size of blocks.
    blocks: dict[int, DataFrame] = field(default_factory=dict)

    @property
    def parts(self) -> int:
        """Partitions for the features. The order of sums depends on it, so the cluster must not decide."""
        return parts_of(self.n_nodes * (4 * self.n_features + 16))

    def arcs(self) -> DataFrame:
        """Every edge in both directions."""
        from pyspark.sql import functions as F

        back = self.pairs.select(F.col("t").alias("s"), F.col("s").alias("t"), "w")
        return self.pairs.select("s", "t", "w").unionByName(back)

    def mapped(self) -> MappedGraph:
        """The edges sorted, for workers that map them."""
        from pyspark.sql import functions as F

        if self._mapped is None:
            parts = parts_of(self.n_edges * 24)
            place = F.floor(F.col("s").cast("long") * parts / F.lit(self.n_nodes)).cast("int")
            arcs = by_number(self.arcs().withColumn("p", place), parts, "p")
            columns = [F.col("s").cast("int"), F.col("t").cast("int"), F.col("w").cast("float")]
            arcs = arcs.sortWithinPartitions("s", "t").select(*columns[: 3 if self.weighted else 2])
            self.work.write(arcs, "arcs")
            self._mapped = MappedGraph(self.work.run, self.work.table("arcs"), self.n_nodes, self.weighted)
        return self._mapped


def parts_of(size: int) -> int:
    """Partitions for so many bytes."""
    return max(4, min(100_000, -(-size // PARTITION)))


def prepared(vertices: DataFrame, edges: DataFrame, columns: Columns, work: Workspace) -> Prepared:
    """Checks and numbers the vertices, and joins the edges with them."""
    check_columns(vertices, edges, columns)
    nodes, n_nodes, width, id_type = numbered(vertices, columns, work)
    pairs, report = joined(edges, nodes, columns, work)
    n_edges = report.pop("edges")
    return Prepared(work, nodes, pairs, n_nodes, n_edges, width, id_type, report, columns.weight is not None)


def check_columns(vertices: DataFrame, edges: DataFrame, columns: Columns) -> None:
    wanted = [("vertices", vertices, [columns.id, columns.features])]
    ends = [columns.src, columns.dst] + ([columns.weight] if columns.weight else [])
    wanted.append(("edges", edges, ends))
    for what, table, names in wanted:
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise ValueError(
                f"{what} have no column {', '.join(map(repr, missing))}, but {', '.join(table.columns)}; "
                "name the columns with idCol, featuresCol, srcCol, dstCol and weightCol"
            )
    id_type = vertices.schema[columns.id].dataType
    for name in (columns.src, columns.dst):
        other = edges.schema[name].dataType
        if other != id_type:
            have, want = other.simpleString(), id_type.simpleString()
            raise TypeError(f"{name} is {have}, but {columns.id} of the vertices is {want}; cast one of them")


def features_of(vertices: DataFrame, name: str) -> Column:
    """The features as array<float>."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, NumericType

    kind = vertices.schema[name].dataType
    if kind.typeName() in ("vectorudt", "udt") or type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(F.col(name), "float32")
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return F.col(name).cast("array<float>")
    raise TypeError(
        f"{name} is {kind.simpleString()}, but features must be an array of numbers or a vector; "
        "pyspark.ml.feature.VectorAssembler makes a vector of columns"
    )


def numbered(vertices: DataFrame, columns: Columns, work: Workspace) -> tuple[DataFrame, int, int, str]:
    """Nodes in the order of a hash of their ids, then of the ids: Spark's partitions do not matter."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rows = vertices.select(F.col(columns.id).alias("id"), features_of(vertices, columns.features).alias("x"))
    rows = rows.withColumn("h", F.pmod(F.xxhash64("id"), F.lit(HASHES)).cast("int"))
    counts = _scanned(rows)
    n_nodes, width = _checked(counts, columns)
    firsts: dict[int, int] = {}
    total = 0
    for hashed, count in sorted(zip(counts["h"], counts["rows"])):
        firsts[hashed] = total
        total += count
    place = F.element_at(F.lit([firsts.get(at, 0) for at in range(HASHES)]), F.col("h") + 1)
    within = Window.partitionBy("h").orderBy("id")
    nodes = rows.select(
        (place + F.row_number().over(within) - 1).cast("long").alias("node"),
        "id",
        F.col("x").alias("features"),
        (F.lag("id").over(within) == F.col("id")).alias("again"),
    )
    parts = parts_of(n_nodes * (4 * width + 16))
    nodes = nodes.withColumn("p", F.floor(F.col("node") * parts / F.lit(n_nodes)).cast("int"))
    nodes = by_number(nodes, parts, "p").sortWithinPartitions("node").drop("p")
    nodes = work.write(nodes, "nodes")
    again = nodes.filter("again").select("id").limit(3).toArrow().column(0).to_pylist()
    if again:
        raise ValueError(
            f"the id {again[0]!r} is in more than one row of the vertices; "
            f"vertices.dropDuplicates(['{columns.id}']) keeps one of each"
        )
    kind = vertices.schema[columns.id].dataType.simpleString()
    return nodes.drop("again"), n_nodes, width, kind


def _scanned(rows: DataFrame) -> dict[str, list[Any]]:
    """How many vertices have each hash, and what is wrong with them."""
    from pyspark.sql import functions as F

    found = rows.select("h", F.col("id").isNull().alias("null"), "x").mapInArrow(_scan, SCANNED)
    sums = [F.sum(name).alias(name) for name in ("rows", "ids", "nulls", "bad")]
    ends = [F.min("least").alias("least"), F.max("most").alias("most")]
    counts: dict[str, list[Any]] = found.groupBy("h").agg(*sums, *ends).toArrow().to_pydict()
    return counts


def _scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        if not batch.num_rows:
            continue
        counts = np.bincount(numbers(batch.column(0)), minlength=HASHES)
        hashes = np.flatnonzero(counts)
        x = batch.column(2)
        lengths, values = pc.list_value_length(x), x.flatten()
        bad = 0
        if values.null_count or not np.isfinite(numbers(values)).all():
            odd = ~np.isfinite(numbers(values.fill_null(float("nan"))))
            bad = len(np.unique(numbers(pc.list_parent_indices(x))[odd]))
        told = {"ids": pc.sum(batch.column(1)).as_py() or 0, "nulls": x.null_count, "bad": bad}
        told |= {"least": pc.min(lengths).as_py(), "most": pc.max(lengths).as_py()}
        columns: dict[str, list[Any]] = {"h": hashes.tolist(), "rows": counts[hashes].tolist()}
        # Once for the batch: with its first hash.
        columns |= {name: [value] + [None] * (len(hashes) - 1) for name, value in told.items()}
        yield pa.RecordBatch.from_arrays(
            [pa.array(columns[name], pa.int32() if name == "h" else pa.int64()) for name in NAMES],
            names=NAMES,
        )


def _checked(counts: dict[str, list[Any]], columns: Columns) -> tuple[int, int]:
    total = sum(counts["rows"])
    counts = {name: [value for value in counts[name] if value is not None] for name in NAMES}
    if total == 0:
        raise ValueError("there are no vertices")
    if sum(counts["ids"]):
        raise ValueError(
            f"{sum(counts['ids'])} vertices have no {columns.id}; leave them out or give them one"
        )
    if sum(counts["nulls"]):
        raise ValueError(
            f"{columns.features} is null in {sum(counts['nulls'])} of {total} vertices; "
            "fill them, for example with zeros, or leave these vertices out"
        )
    least, most = min(counts["least"], default=0), max(counts["most"], default=0)
    if least != most or most == 0:
        raise ValueError(
            f"{columns.features} has from {least} to {most} numbers; all vertices need as many, 1 or more"
        )
    if sum(counts["bad"]):
        raise ValueError(
            f"{columns.features} has numbers that are null, NaN or infinite in {sum(counts['bad'])} of "
            f"{total} vertices; fill them"
        )
    if total >= 1 << 31:
        raise ValueError(f"{total} vertices are more than the supported 2^31")
    return total, most


def joined(
    edges: DataFrame, nodes: DataFrame, columns: Columns, work: Workspace
) -> tuple[DataFrame, dict[str, int]]:
    """The edges between known nodes, once each with the largest weight, and what was left out."""
    from pyspark.sql import functions as F

    weight = F.col(columns.weight).cast("float") if columns.weight else F.lit(1.0).cast("float")
    rows = edges.select(F.col(columns.src).alias("a"), F.col(columns.dst).alias("b"), weight.alias("w"))
    null = F.col("a").isNull() | F.col("b").isNull()
    wrong = F.col("w").isNull() | F.isnan("w") | (F.col("w") < 0) | (F.col("w") == float("inf"))
    loop = ~null & (F.col("a") == F.col("b"))
    flags = {
        "nulls": null,
        "self_loops": loop,
        "wrong": wrong,
        "zero_weights": ~null & ~loop & (F.col("w") == 0),
    }
    sums = [F.coalesce(F.sum(flag.cast("long")), F.lit(0)).alias(name) for name, flag in flags.items()]
    report = rows.agg(F.count(F.lit(1)).alias("listed"), *sums).toArrow().to_pylist()[0]
    if report.pop("wrong"):
        raise ValueError(
            f"{columns.weight} must be 0 or more in every edge, and not null; fill or filter the others"
        )
    ids = nodes.select("id", F.col("node").cast("int").alias("node"))
    left = ids.select(F.col("id").alias("a"), F.col("node").alias("u"))
    right = ids.select(F.col("id").alias("b"), F.col("node").alias("v"))
    plain = rows.filter(~null & ~loop & (F.col("w") > 0))
    known = plain.join(left, "a").join(right, "b")
    pairs = known.select(F.least("u", "v").alias("s"), F.greatest("u", "v").alias("t"), "w")
    once = pairs.groupBy("s", "t").agg(F.max("w").alias("w"), F.count(F.lit(1)).alias("times"))
    once = work.write(once, "pairs")
    total = once.agg(F.count(F.lit(1)).alias("edges"), F.coalesce(F.sum("times"), F.lit(0)).alias("times"))
    found = total.toArrow().to_pylist()[0]
    plainly = report["listed"] - report["nulls"] - report["self_loops"] - report["zero_weights"]
    report["unknown_ids"] = plainly - found["times"]
    report["duplicates"] = found["times"] - found["edges"]
    report["edges"] = found["edges"]
    return once.select("s", "t", "w"), report
