"""The folder of a run: Parquet tables between stages, checked when they are read, removed at the end."""

from __future__ import annotations

import atexit
import os
import tempfile
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def opened(path: str) -> tuple[Any, str]:
    """The file system of a path or an address, and the path there."""
    from pyarrow import fs

    if "://" in path or path.startswith("file:"):
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    return fs.LocalFileSystem(), os.path.abspath(path)


#: Results of this process that are not the caller's to keep.
_results: set[str] = set()


class Workspace:
    """A folder that all workers can read and write. It is removed when the block ends, however it ends."""

    def __init__(self, spark: SparkSession, folder: Optional[str], batch_rows: int = 10_000) -> None:
        self.spark = spark
        self.run = uuid.uuid4().hex[:12]
        base = folder or default_folder(spark)
        self.path = f"{base.rstrip('/')}/structcomp-{self.run}"
        self._settings = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(batch_rows)}
        self._tables = 0
        self._before: dict[str, Optional[str]] = {}

    def __enter__(self) -> Workspace:
        for name, value in self._settings.items():
            self._before[name] = self.spark.conf.get(name, None)
            self.spark.conf.set(name, value)
        return self

    def __exit__(self, *exc: object) -> None:
        for name, value in self._before.items():
            self.spark.conf.unset(name) if value is None else self.spark.conf.set(name, value)
        try:
            self.remove()
        except Exception:
            # What went wrong before says more.
            if exc[0] is None:
                raise

    def bound(self, bytes_per_row: int) -> None:
        """Rows that are handed to Python at once: 20 MB of them."""
        rows = max(64, min(10_000, 20_000_000 // max(bytes_per_row, 1)))
        self.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows))

    def fresh(self, name: str) -> str:
        """A name that no table of this run has."""
        self._tables += 1
        return f"{name}-{self._tables}"

    def table(self, name: str) -> str:
        return f"{self.path}/{name}"

    def keep(self, rows: DataFrame, path: Optional[str], folder: Optional[str]) -> DataFrame:
        """Writes a result where the caller wants it, or where it stays until this process ends."""
        if path is None:
            base = folder or default_folder(self.spark)
            path = f"{base.rstrip('/')}/structcomp-result-{uuid.uuid4().hex[:12]}"
            _results.add(path)
        return self.write(rows, "result", path)

    def write(self, rows: DataFrame, name: str, path: Optional[str] = None) -> DataFrame:
        """Writes a table and reads it again, and fails if rows have been lost between the two."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation(f"{name} {self.run}")
        counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
        where = path or self.table(name)
        counted.write.mode("overwrite").parquet(where)
        back = self.spark.read.schema(rows.schema).parquet(where)
        written, found = seen.get["rows"], back.count()
        if written != found:
            raise OSError(
                f"{written} rows of {name} were written to {where}, but {found} are there; "
                "choose another workspace"
            )
        return back

    def remove(self) -> None:
        """Removes the folder by a task on a worker, since a driver may not reach it."""
        path = self.path
        rows = self.spark.range(1).mapInArrow(lambda batches: _removed(path, batches), "path string")
        rows.collect()


def _removed(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import fs

    system, at = opened(path)
    for _ in batches:
        if system.get_file_info(at).type == fs.FileType.Directory:
            system.delete_dir(at)
        yield pa.RecordBatch.from_pydict({"path": [path]})


def default_folder(spark: SparkSession) -> str:
    """The temporary folder, where driver and workers are one machine."""
    master = spark.conf.get("spark.master", "") or ""
    if master.startswith("local"):
        return tempfile.gettempdir()
    raise ValueError(
        "the workspace is missing: a folder that the driver and all workers can read and write, such as "
        "'hdfs:///tmp' or 's3://bucket/tmp'; pass workspace=..."
    )


@atexit.register
def _forget() -> None:
    from pyarrow import fs

    for path in _results:
        try:
            system, at = opened(path)
            if system.get_file_info(at).type == fs.FileType.Directory:
                system.delete_dir(at)
        except OSError:
            # Nobody is left to hear of it, and temporary folders are emptied by others too.
            continue
