"""Exceptions of the package."""

from __future__ import annotations

import sys


class FormatError(OSError, ValueError):
    """An invalid file: it does not have the contents that its format requires."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before `fit`."""


def not_fitted(estimator: object) -> Exception:
    """The error to raise: scikit-learn's own if scikit-learn is in use."""
    message = f"this {type(estimator).__name__} is not fitted yet; call fit first"
    theirs = sys.modules.get("sklearn.exceptions")
    return (theirs.NotFittedError if theirs else NotFittedError)(message)
