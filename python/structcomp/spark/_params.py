"""The parameters, in the manners of pyspark.ml: a getter and a setter each."""

from __future__ import annotations

import json
from typing import Any, Optional, TypeVar

from pyspark.ml.param import Param, Params, TypeConverters

from ._graph import Columns

Self = TypeVar("Self", bound="StructCompParams")

TEXT, WHOLE, NUMBER = TypeConverters.toString, TypeConverters.toInt, TypeConverters.toFloat


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"settings must be a dict of names and values, not {type(value).__name__}")
    json.dumps(value)
    return value


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, convert)


class StructCompParams(Params):  # type: ignore[misc, unused-ignore]
    """What the estimator and the model share."""

    idCol = _param("idCol", "column of the vertices: their ids, of any type", TEXT)
    featuresCol = _param("featuresCol", "column of the vertices: an array of numbers or a vector", TEXT)
    srcCol = _param("srcCol", "column of the edges: the id at one end", TEXT)
    dstCol = _param("dstCol", "column of the edges: the id at the other end", TEXT)
    weightCol = _param("weightCol", "column of the edges: their weights; without it, all are 1", TEXT)
    outputCol = _param("outputCol", "column of the result: the embedding", TEXT)
    outputType = _param(
        "outputType", "'array' for array<float>, 'vector' for the estimators of pyspark.ml", TEXT
    )
    strategy = _param(
        "strategy",
        "how messages pass: 'columns' maps the graph in every worker, 'blocks' needs nothing but disk; "
        "'auto' takes columns where the graph and a column fit into memory",
        TEXT,
    )
    workspace = _param("workspace", "folder that driver and workers can write; needed on a cluster", TEXT)
    memory = _param("memory", "what a task may hold, in MB", WHOLE)
    numTasks = _param("numTasks", "tasks that the columns are shared between, if that is not too many", WHOLE)

    def _set_defaults(self) -> None:
        self._setDefault(
            idCol="id",
            featuresCol="features",
            srcCol="src",
            dstCol="dst",
            outputCol="embedding",
            outputType="array",
            strategy="auto",
            memory=1024,
            numTasks=64,
        )

    def _columns(self) -> Columns:
        names = {
            "id": "idCol",
            "features": "featuresCol",
            "src": "srcCol",
            "dst": "dstCol",
            "weight": "weightCol",
        }
        return Columns(**{field: self._value(name) for field, name in names.items()})

    def _value(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _bytes(self) -> int:
        return int(self.getOrDefault("memory")) << 20


class EstimatorParams(StructCompParams):
    """What the estimator has besides."""

    model = _param("model", "'solved', 'sce', 'coles', 'grace', 'cca-ssg', ...", TEXT)
    numClusters = _param("numClusters", "number of clusters; by default a tenth of the nodes", WHOLE)
    maxSize = _param("maxSize", "the largest cluster; by default a tenth above the average", WHOLE)
    partitioner = _param(
        "partitioner",
        "'worker': one worker splits the whole graph; 'propagation': all do; 'auto': one where memory allows",
        TEXT,
    )
    width = _param("width", "solved model: the most columns of the embedding", WHOLE)
    hidden = _param("hidden", "trained models: columns of the embedding", WHOLE)
    layers = _param("layers", "trained models: layers of the encoder", WHOLE)
    epochs = _param("epochs", "trained models: passes over all clusters", WHOLE)
    learningRate = _param("learningRate", "trained models: step of the optimiser", NUMBER)
    weightDecay = _param("weightDecay", "trained models: weight decay of the optimiser", NUMBER)
    seed = _param("seed", "seed of every random choice", WHOLE)
    settings = _param(
        "settings", "other settings by their names in structcomp.StructComp, as a dict", _settings
    )

    def _set_defaults(self) -> None:
        super()._set_defaults()
        self._setDefault(model="solved", partitioner="auto", seed=0)

    def _native_settings(self) -> dict[str, Any]:
        """The settings under the names of the library."""
        names = {"width": "width", "hidden": "hidden", "layers": "layers", "epochs": "epochs"}
        names |= {"learningRate": "learning_rate", "weightDecay": "weight_decay"}
        given = {"model": self.getOrDefault("model"), "random_state": self.getOrDefault("seed")}
        given |= {native: self.getOrDefault(name) for name, native in names.items() if self.isSet(name)}
        others: dict[str, Any] = self._value("settings") or {}
        taken = sorted(set(others) & {*names.values(), *given, "n_clusters", "max_size", "partitioner"})
        if taken:
            raise ValueError(f"set {', '.join(taken)} by the parameter of that name, not in settings")
        elsewhere = sorted(
            set(others) & {"feature_norm", "mode", "stand_in", "stand_in_width", "per_component", "refine"}
        )
        if elsewhere:
            raise ValueError(
                f"{', '.join(elsewhere)} cannot be set on Spark; scale features by pyspark.ml.feature"
            )
        return given | others


def with_accessors(of: type[Any]) -> type[Any]:
    """Adds getModel and setModel for the parameter model, and so on."""
    for name in [name for name in dir(of) if isinstance(getattr(of, name), Param)]:
        own = name[0].upper() + name[1:]

        def get(self: Any, name: str = name) -> Any:
            return self.getOrDefault(name)

        def put(self: Self, value: Any, name: str = name) -> Self:
            self._set(**{name: value})
            return self

        for prefix, function in (("get", get), ("set", put)):
            if not hasattr(of, prefix + own):
                function.__name__ = prefix + own
                function.__doc__ = (
                    f"{'The value of' if prefix == 'get' else 'Sets'} `{name}`: {getattr(of, name).doc}."
                )
                setattr(of, prefix + own, function)
    return of


def given(values: dict[str, Any]) -> dict[str, Optional[Any]]:
    return {name: value for name, value in values.items() if value is not None}
