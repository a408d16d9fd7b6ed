"""Reruns of the paper's tables and figures."""

from __future__ import annotations

import json
import os
import shutil
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


def reproduce(
    experiments: Union[str, Sequence[str]],
    *,
    out: Path = "reproduction",
    data_dir: Optional[Path] = None,
    seeds: int = 3,
    runs: int = 50,
    only: Optional[str] = None,
    mode: str = "both",
    anew: bool = False,
    markdown: Optional[Path] = None,
    memory: Optional[int] = None,
    program: Optional[Path] = None,
    callback: Optional[Callback] = None,
    verbose: bool = False,
    random_state: Any = 0,
    n_threads: Optional[int] = None,
) -> dict[str, Any]:
    """Rerun tables and figures of the paper, as ``structcomp reproduce`` does.

    An experiment is a list of cells: a dataset, a model and a training mode. Every finished cell is a file
    below `out`, so an interrupted call resumes.

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
        Number of training seeds per cell.
    runs : int
        Number of splits per seed.
    only : str, optional
        Run only cells whose name contains this, such as ``"cora"``, ``"grace"`` or ``"cora/grace"``.
    mode : str
        ``"structcomp"`` trains on clusters only, ``"full"`` on the whole graph only, ``"both"`` on both.
    anew : bool
        Whether to run finished cells again.
    markdown : path, optional
        File to write the Markdown to as well, with a folder of figures next to it. Other experiments in the
        file are kept.
    memory : int, optional
        Memory in bytes that all cells may use together; by default the free memory.
    program : path, optional
        The command line program, which measures ``"time-memory"`` in separate processes; by default the
        ``structcomp`` on the path. Without it, these cells fail.
    callback : callable, optional
        Called with the name of each finished cell, the number of finished cells and the number of all cells.
        The run ends if it returns False.
    verbose : bool
        Whether to show progress.
    random_state : int, optional
        First training seed.
    n_threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    results : dict
        finished and finished_before: how many cells this call and earlier calls finished. failed: the reason
        for every failed cell. stopped: whether the callback ended the run. notes: remarks, such as skipped
        experiments. cells: all finished cells of the folder, as in results.json.

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
                anew=anew,
                markdown=markdown,
                memory=memory,
                program=program or shutil.which("structcomp"),
                on_event=on_event,
                n_threads=n_threads,
            )
        )
    return results


@contextmanager
def _folder(out: Any) -> Iterator[None]:
    """Create the folder; raise an error at once if it is not writable."""
    is_new = not os.path.isdir(out)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryFile(dir=out):
        pass
    try:
        yield
    except BaseException:
        # Leave no empty folder behind.
        if is_new:
            with suppress(OSError):
                os.rmdir(out)
        raise


@contextmanager
def _progress(callback: Optional[Callback], verbose: bool) -> Iterator[Callable[[str, bool, int, int], Any]]:
    """A function that is called when a cell starts and when it is finished."""
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
