"""Graphs larger than one machine: partitioning, compression, hops and embedding inside Spark 4.1 or later.

Needs ``pip install structcomp[spark]`` on the driver and on the workers.
"""

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "structcomp.spark needs pyspark and pyarrow; pip install 'structcomp[spark]'"
    ) from error

from ._estimator import StructComp
from ._model import StructCompModel
from ._stages import partition, propagate

__all__ = ["StructComp", "StructCompModel", "partition", "propagate"]
