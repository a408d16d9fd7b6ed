"""Reruns the paper's tables and figures."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Callable, Optional, Union

from . import _native
from ._arrays import seed_of
from ._progress import progress_bar

Path = Union[str, os.PathLike[str]]
Callback = Callable[[str, int, int], Any]

# Time and memory are measured in processes of their own.
MEASURE = "import sys; from structcomp._native import measure; print(measure(sys.argv[1]))"


def reproduce(
    experiments: Union[str, Sequence[str]],
    *,
    out: Path = "reproduction",
    data_dir: Optional[Path] = None,
    seeds: int = 3,
    runs: int = 50,
    only: Optional[str] = None,
    mode: str = "both",
    redo: bool = False,
    markdown: Optional[Path] = None,
    memory: Optional[int] = None,
    callback: Optional[Callback] = None,
    verbose: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """Reruns tables and figures of the paper, as ``structcomp reproduce`` does.

    An experiment is a list of cells: a dataset, a model, and what it is trained on. Every finished cell is a
    file below `out`, so that interrupted runs resume.

    Parameters
    ----------
    experiments : str or sequence of str
        ``"small"``, ``"time-memory"``, ``"noise"``, ``"deep"``, ``"partitioners"``, ``"recent"``,
        ``"heterophilous"``, ``"compression"``, ``"loss-trend"``, ``"inductive"``, ``"theory"``,
        ``"recipe"``, or ``"all"``.
    out : path
        Folder for the cells, index.html, results.md, results.json and the figures.
    data_dir : path, optional
        Folder of the named datasets; by default ``$STRUCTCOMP_DATA`` or the user's data folder.
    seeds : int
        Training seeds per cell.
    runs : int
        Splits per seed.
    only : str, optional
        Only cells whose name contains this, such as ``"cora"``, ``"grace"`` or ``"cora/grace"``.
    mode : str
        ``"structcomp"`` for training on clusters only, ``"full"`` for the whole graph only, or ``"both"``.
    redo : bool
        Whether finished cells are run again.
    markdown : path, optional
        Where the Markdown is also written, with figures in a folder next to it. Sections of other experiments
        are kept.
    memory : int, optional
        The memory in bytes for all cells that run at the same time; by default 3/4 of the machine's.
    callback : callable, optional
        Called with the name of each finished cell, the number of finished cells and the number of cells;
        stops the run by returning False.
    verbose : bool
        Whether to show progress.
    random_state : int, optional
        First training seed.
    n_threads : int, optional
        Threads to use; one per core by default.

    Returns
    -------
    results : dict
        finished and finished_before, the number of cells finished now and before; failed, the errors of
        failed cells by name; stopped, whether the callback stopped it; notes, such as skipped datasets;
        cells, all finished cells of the folder as in results.json.

    Examples
    --------
    >>> import tempfile
    >>> from structcomp import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = reproduce("theory", out=folder, only="star")
    >>> results["finished"], results["cells"][0]["cell"]["dataset"]
    (1, 'star')
    """
    names = [experiments] if isinstance(experiments, str) else list(experiments)
    seed = seed_of(random_state)
    with _folder(out), _progress(callback, verbose) as on_event:
        results: dict[str, Any] = json.loads(
            _native.reproduce(
                names,
                out,
                seed,
                data_dir=data_dir,
                seeds=seeds,
                runs=runs,
                only=only,
                mode=mode,
                redo=redo,
                markdown=markdown,
                memory=memory,
                measure_command=[sys.executable, "-c", MEASURE] if sys.executable else None,
                on_event=on_event,
                n_threads=n_threads,
            )
        )
    return results


@contextmanager
def _folder(out: Any) -> Iterator[None]:
    """Makes the folder, and fails early if it is not writable."""
    is_new = not os.path.isdir(out)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryFile(dir=out):
        pass
    try:
        yield
    except BaseException:
        # A failed call leaves no empty folder behind.
        if is_new:
            with suppress(OSError):
                os.rmdir(out)
        raise


@contextmanager
def _progress(callback: Optional[Callback], verbose: bool) -> Iterator[Callable[[str, bool, int, int], Any]]:
    """The function to call for each cell that is started or finished."""
    bar = progress_bar(desc="reproducing", unit="cell") if verbose else None

    def on_event(cell: str, is_done: bool, done: int, total: int) -> Any:
        if bar is not None:
            bar.total = total
            bar.set_postfix_str(cell)
            bar.update(is_done)
        elif verbose and is_done:
            print(f"{done} of {total} cells, {cell}", file=sys.stderr)
        return callback(cell, done, total) if callback and is_done else None

    try:
        yield on_event
    finally:
        if bar is not None:
            bar.close()
