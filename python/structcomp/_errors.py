"""The exceptions that Python does not have."""

from __future__ import annotations

import sys


class FormatError(OSError, ValueError):
    """A file that is there but does not hold what its format promises."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for something that only `fit` gives it."""


def not_fitted(estimator: object) -> Exception:
    """The error to raise: scikit-learn's own where the caller uses scikit-learn."""
    said = f"this {type(estimator).__name__} is not fitted yet; call fit first"
    theirs = sys.modules.get("sklearn.exceptions")
    return (theirs.NotFittedError if theirs else NotFittedError)(said)
