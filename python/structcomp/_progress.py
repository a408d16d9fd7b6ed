"""Progress while a call runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional

Callback = Callable[[int, float], Any]


@contextmanager
def progress(
    callback: Optional[Callback], verbose: bool, epochs: Optional[int]
) -> Iterator[Optional[Callback]]:
    """The caller's callback, with a tqdm bar or lines on stderr if verbose."""
    if not verbose:
        yield callback
        return
    bar = progress_bar(total=epochs, desc="training", unit="epoch")

    def on_epoch(epoch: int, loss: float) -> Any:
        if bar is None:
            print(f"epoch {epoch}{f' of {epochs}' if epochs else ''}, loss {loss:.4f}", file=sys.stderr)
        else:
            bar.set_postfix(loss=f"{loss:.4f}")
            bar.update()
        return callback(epoch, loss) if callback else None

    try:
        yield on_epoch
    finally:
        if bar is not None:
            bar.close()


def progress_bar(**options: Any) -> Any:
    """A tqdm bar, or None if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**options)
