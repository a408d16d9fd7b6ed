"""Checked numpy arrays and settings from what callers pass."""

from __future__ import annotations

import json
import operator
import os
from typing import Any

import numpy as np


def array(value: Any) -> np.ndarray:
    """Anything array-like as a numpy array, also torch tensors with gradients or on a device."""
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    if np.ma.is_masked(value):
        raise ValueError(
            f"an array has {np.count_nonzero(np.ma.getmaskarray(value))} masked values; fill or drop them"
        )
    return np.asarray(value)


def whole(what: str, value: Any) -> np.ndarray:
    """A contiguous vector of 32- or 64-bit integers."""
    numbers = array(value)
    if numbers.ndim != 1:
        raise ValueError(f"{what} must have one dimension, not {numbers.ndim}")
    if numbers.size == 0:
        return np.zeros(numbers.shape, np.int64)
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"{what} must be integers, not {numbers.dtype}")
    if numbers.dtype.kind == "u" and int(numbers.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"invalid {what}: {numbers.max()} is too large")
    narrow = numbers.dtype.kind == "i" and numbers.dtype.itemsize == 4
    return np.ascontiguousarray(numbers, dtype=np.int32 if narrow else np.int64)


def classes(what: str, value: Any) -> np.ndarray:
    """The class of every node as an integer, negative for none. Names of classes are numbered in order."""
    if isinstance(value, (list, tuple)) and any(isinstance(each, str) for each in value):
        value = np.array(value, dtype=object)  # numpy would make a name of NaN
    found = array(value)
    if found.dtype.kind == "b":
        return found.astype(np.int64)
    if found.dtype.kind not in "OSUT":
        return whole(what, found)
    if found.ndim != 1:
        raise ValueError(f"{what} must have one dimension, not {found.ndim}")
    names = found.astype(object)
    # Missing values are None, NaN or pandas.NA, none of which equals itself or is a string.
    missing = np.array([name is None or name == "" or not _equals_itself(name) for name in names], dtype=bool)
    if all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names[~missing]):
        numbers = np.full(len(names), -1, np.int64)
        numbers[~missing] = names[~missing].astype(np.int64)
        return numbers
    if not all(isinstance(name, (str, bytes)) for name in names[~missing]):
        raise ValueError(f"{what} must be integers or names of classes")
    codes = np.full(len(names), -1, np.int64)
    codes[~missing] = np.unique(names[~missing].astype(str), return_inverse=True)[1]
    return codes


def _equals_itself(value: Any) -> bool:
    """Whether a value is not missing."""
    try:
        return bool(value == value)
    except TypeError:  # pandas.NA
        return False


def single(what: str, value: Any) -> np.ndarray:
    """Numbers as aligned, C-contiguous float32; copied only if necessary."""
    numbers = array(value)
    if numbers.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} is {numbers.dtype}")
    if numbers.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be numbers, not {numbers.dtype}; convert with astype(np.float32)")
    # Values too large for 32 bits become inf, which is an error later.
    with np.errstate(over="ignore"):
        return np.require(numbers, np.float32, ["C", "A"])


def seed_of(random_state: Any) -> int:
    """A seed from an integer, None or a numpy generator, as in scikit-learn."""
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
            f"random_state must be an integer, None or a numpy generator, not {random_state!r}"
        ) from None
    if not 0 <= seed < 2**64:
        raise ValueError(f"random_state must be from 0 to 2**64 - 1, not {seed}")
    return seed


def as_json(parameters: dict[str, Any]) -> str:
    """Parameters as JSON, for the library."""

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(f"{name}[{key!r}]", item) for key, item in value.items()}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(name, item) for item in value]
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value}")
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise ValueError(f"invalid value for {name}: {value!r}")
        return value

    return json.dumps({name: plain(name, value) for name, value in parameters.items()})
