"""Node embeddings by graph contrastive learning, without message passing in training.

An independent implementation of StructComp (ICLR 2024). `StructComp` is the estimator; each of its stages is
also a function.
"""

from ._datasets import Dataset, generate, load_dataset
from ._errors import FormatError, NotFittedError
from ._estimator import StructComp
from ._evaluate import diagnostics, evaluate, quality
from ._features import CsrArray
from ._graphs import as_graph
from ._map import map_2d
from ._native import VERSION as __version__
from ._native import Graph, Model
from ._neighbors import neighbors
from ._objective import Objective, autograd
from ._presets import preset
from ._reproduce import reproduce
from ._stages import compress, drop_member, embed, partition, propagate, train, untrained, untrained_rows

__all__ = [
    "CsrArray",
    "Dataset",
    "FormatError",
    "Graph",
    "Model",
    "NotFittedError",
    "Objective",
    "StructComp",
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
    "map_2d",
    "neighbors",
    "partition",
    "preset",
    "propagate",
    "quality",
    "reproduce",
    "train",
    "untrained",
    "untrained_rows",
]
