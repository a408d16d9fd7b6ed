"""Node embeddings by graph contrastive learning, without message passing in training.

An independent implementation of StructComp (ICLR 2024). `StructComp` is the estimator; the stages of its work
can also be had one by one.
"""

from ._datasets import Dataset, generate, load_dataset
from ._errors import FormatError, NotFittedError
from ._estimator import StructComp, preset, recipe
from ._features import CsrArray
from ._graphs import as_graph
from ._native import VERSION as __version__
from ._native import Encoder, Graph
from ._objective import Objective, autograd
from ._reproduce import reproduce
from ._stages import (
    Trained,
    compress,
    diagnostics,
    drop_member,
    embed,
    evaluate,
    partition,
    propagate,
    quality,
    train,
)

__all__ = [
    "CsrArray",
    "Dataset",
    "Encoder",
    "FormatError",
    "Graph",
    "NotFittedError",
    "Objective",
    "StructComp",
    "Trained",
    "__version__",
    "as_graph",
    "autograd",
    "compress",
    "diagnostics",
    "drop_member",
    "embed",
    "evaluate",
    "generate",
    "load_dataset",
    "partition",
    "preset",
    "propagate",
    "quality",
    "recipe",
    "reproduce",
    "train",
]
