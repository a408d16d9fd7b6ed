"""Arrays of any origin as numpy arrays of a known kind, with errors that say what to do."""

from __future__ import annotations

import json
import operator
from typing import Any

import numpy as np


def array(value: Any) -> np.ndarray:
    """Anything array-like as numpy has it; torch's tensors leave their graph and their device."""
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    return np.asarray(value)


def whole(what: str, value: Any) -> np.ndarray:
    """A contiguous vector of whole numbers, 32 or 64 bits wide."""
    numbers = array(value)
    if numbers.ndim != 1:
        raise ValueError(f"{what} must have one dimension, not {numbers.ndim}")
    if numbers.size == 0:
        return np.zeros(numbers.shape, np.int64)
    if numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{what} must be whole numbers, not {numbers.dtype}; other names become numbers by "
            "names, numbers = np.unique(values, return_inverse=True)"
        )
    if numbers.dtype.kind == "u" and int(numbers.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{what} hold {numbers.max()}, which is too large")
    narrow = numbers.dtype.kind == "i" and numbers.dtype.itemsize == 4
    return np.ascontiguousarray(numbers, dtype=np.int32 if narrow else np.int64)


def single(what: str, value: Any) -> np.ndarray:
    """Numbers as 32-bit floats, aligned and in C order; copied only where they are not so already."""
    numbers = array(value)
    if numbers.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} is {numbers.dtype}")
    if numbers.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be numbers, not {numbers.dtype}; convert it, as by astype(np.float32)")
    # A number too large for 32 bits becomes inf, which is refused by name later.
    with np.errstate(over="ignore"):
        return np.require(numbers, np.float32, ["C", "A"])


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn takes: a whole number, None, or one of numpy's generators."""
    if random_state is None:
        return int(np.random.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise ValueError(
            f"random_state must be a whole number, None or a generator, not {random_state!r}"
        ) from None
    if not 0 <= seed < 2**64:
        raise ValueError(f"random_state must be from 0 to 2**64 - 1, not {seed}")
    return seed


def settings(parameters: dict[str, Any]) -> str:
    """Parameters as the library reads them."""

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(f"{name}[{key!r}]", item) for key, item in value.items()}
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(name, item) for item in value]
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value}")
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise ValueError(f"{name} cannot be {value!r}")
        return value

    return json.dumps({name: plain(name, value) for name, value in parameters.items()})
