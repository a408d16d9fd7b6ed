"""The fitted model: transform, save and load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Optional

from .._native import Model
from ._graph import Prepared, prepared
from ._network import embedded
from ._params import StructCompParams, with_accessors
from ._storage import Workspace, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WEIGHTS, ABOUT = "model.safetensors", "metadata.json"


@with_accessors
class StructCompModel(StructCompParams):
    """A fitted model. It embeds any graph whose vertices have the same features."""

    def __init__(self, native: Model, summary: Optional[dict[str, Any]] = None) -> None:
        super().__init__()
        self._set_defaults()
        self._native = native
        #: What the graph was like, what was repaired, and how the model came about; not in a file.
        self.summary = summary or {}

    @property
    def outputs(self) -> int:
        """The columns of the embedding."""
        return self._native.n_outputs

    def transform(
        self, vertices: Any, edges: Optional[DataFrame] = None, path: Optional[str] = None
    ) -> DataFrame:
        """Embeds all vertices of a graph.

        Parameters
        ----------
        vertices, edges : DataFrame
            As in `StructComp.fit`.
        path : str, optional
            A folder for the result, as Parquet. Otherwise it is in the workspace until this process ends.

        Returns
        -------
        embedding : DataFrame
            The ids as they were, and the embedding.
        """
        from ._estimator import tables, told

        vertices, edges = tables(vertices, edges)
        self._check_output()
        spark = vertices.sparkSession
        with Workspace(spark, self._value("workspace")) as work, told():
            graph = prepared(vertices, edges, self._columns(), work)
            work.bound(4 * max(graph.n_features, self.outputs))
            self._check(graph)
            strategy = self.getOrDefault("strategy")
            rows = embedded(self._native, graph, strategy, self._bytes(), self.getOrDefault("numTasks"))
            named = rows.select("id", "features")
            return self._kept(work, named, path)

    def _check(self, graph: Prepared) -> None:
        wanted = self._native.n_features
        if graph.n_features != wanted:
            raise ValueError(
                f"the model takes {wanted} features per vertex, but these have {graph.n_features}"
            )

    def _check_output(self) -> None:
        kind = self.getOrDefault("outputType")
        if kind not in ("array", "vector"):
            raise ValueError(f"outputType must be 'array' or 'vector', not {kind!r}")

    def _kept(self, work: Workspace, rows: DataFrame, path: Optional[str]) -> DataFrame:
        """Writes the rows where they stay, under the caller's names."""
        from pyspark.sql import functions as F

        found = work.keep(rows, path, self._value("workspace"))
        name, size = self.getOrDefault("outputCol"), self.outputs
        column = F.col("features")
        if self.getOrDefault("outputType") == "vector":
            from pyspark.ml.functions import array_to_vector

            return found.select(
                F.col("id").alias(self.getOrDefault("idCol")), array_to_vector(column).alias(name)
            )
        # Lance and others read lists of this length as vectors.
        own = column.alias(name, metadata={"arrow.fixed-size-list.size": size})
        return found.select(F.col("id").alias(self.getOrDefault("idCol")), own)

    def save(self, path: str, overwrite: bool = False) -> None:
        """Writes a folder with the model, on any file system that pyarrow knows. `structcomp embed` reads the
        safetensors file in it."""
        from pyarrow import fs

        system, at = opened(path)
        if system.get_file_info(at).type != fs.FileType.NotFound and not overwrite:
            raise FileExistsError(f"{path} exists; pass overwrite=True to write over it")
        system.create_dir(at, recursive=True)
        params = {param.name: value for param, value in self._paramMap.items()}
        about = {"class": "structcomp.spark.StructCompModel", "uid": self.uid, "params": params}
        # The weights come last: a folder without them is not a model.
        for name, contents in (
            (ABOUT, json.dumps(about, indent=2).encode()),
            (WEIGHTS, self._native.to_bytes()),
        ):
            with system.open_output_stream(f"{at}/{name}") as file:
                file.write(contents)

    @classmethod
    def load(cls, path: str) -> StructCompModel:
        """Reads what `save` wrote."""
        system, at = opened(path)
        found = {}
        for name in (ABOUT, WEIGHTS):
            try:
                with system.open_input_stream(f"{at}/{name}") as file:
                    found[name] = bytes(file.read())
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{path} is not a saved model: it has no {name}") from error
        about = json.loads(found[ABOUT])
        model = cls(Model.from_bytes(found[WEIGHTS]))
        model._resetUid(about["uid"])
        model._set(**about["params"])
        return model
