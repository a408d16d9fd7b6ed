"""The graph as a file that the Python processes of a worker map and share."""

from __future__ import annotations

import fcntl
import glob
import os
import tempfile
from dataclasses import dataclass
from typing import Any

from .._native import Graph, GraphFile, open_graph
from ._storage import opened

#: Graph files of other runs that stay in a worker's folder, for runs side by side.
KEPT = 2


@dataclass(frozen=True)
class MappedGraph:
    """Where the directed edges are, sorted, as Parquet files that every worker can read."""

    run: str
    table: str
    nodes: int
    weighted: bool

    def open(self) -> Graph:
        """The graph, mapped from a file in the worker's own folder; the first process there makes it."""
        folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
        path = os.path.join(folder, f"structcomp-{self.run}.scg")
        with open(f"{path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(path):
                _forget(folder)
                self._write(path)
        return open_graph(path, n_threads=1)

    def _write(self, path: str) -> None:
        system, at = opened(self.table)
        file = GraphFile(path, self.nodes, self.weighted)
        for name in parquet_files(system, at):
            for batch in batches(system, name):
                weights = batch.column(2).to_numpy() if self.weighted else None
                file.push(batch.column(0).to_numpy(), batch.column(1).to_numpy(), weights)
        file.finish()


def parquet_files(system: Any, folder: str) -> list[str]:
    """The files of a table in the order of its partitions."""
    from pyarrow import fs

    infos = system.get_file_info(fs.FileSelector(folder))
    return sorted(info.path for info in infos if info.base_name.endswith(".parquet"))


def batches(system: Any, name: str) -> Any:
    from pyarrow import parquet

    with system.open_input_file(name) as file:
        yield from parquet.ParquetFile(file).iter_batches(batch_size=1 << 18)


def _forget(folder: str) -> None:
    """Removes the files of earlier runs. Processes that still map one keep it until they end."""
    files = sorted(glob.glob(os.path.join(folder, "structcomp-*.scg")), key=os.path.getmtime)
    for old in files[: max(0, len(files) - KEPT)]:
        os.remove(old)
