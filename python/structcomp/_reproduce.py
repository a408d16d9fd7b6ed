"""The paper's tables and figures, made anew."""

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
    """Makes tables and figures of the paper anew, as ``structcomp reproduce`` does.

    An experiment is a list of cells: a dataset, a model, and what it is trained on. Every finished cell is a
    file below `out`, so the same call goes on where it was stopped.

    Parameters
    ----------
    experiments : str or sequence of str
        ``"small"``, ``"time-memory"``, ``"noise"``, ``"deep"``, ``"partitioners"``, ``"recent"``,
        ``"heterophilous"``, ``"compression"``, ``"loss-trend"``, ``"inductive"``, ``"theory"``,
        ``"recipe"``, or ``"all"``.
    out : path
        The folder for the cells, index.html, results.md, results.json and the figures.
    data_dir : path, optional
        Where the named datasets are kept; by default ``$STRUCTCOMP_DATA`` or the user's data folder.
    seeds : int
        Training seeds of a cell.
    runs : int
        Splits of a seed.
    only : str, optional
        Only cells whose name holds this, such as ``"cora"``, ``"grace"`` or ``"cora/grace"``.
    mode : str
        ``"structcomp"`` for training on clusters only, ``"full"`` for the whole graph only, or ``"both"``.
    anew : bool
        Whether finished cells are done again.
    markdown : path, optional
        Where the Markdown is written as well, its figures in a folder beside it. What the file has of other
        experiments stays.
    memory : int, optional
        The bytes that cells may take together; by default what is free.
    program : path, optional
        The command line program, which measures ``"time-memory"`` in processes of its own; by default the
        ``structcomp`` on the path. Those cells fail where there is none.
    callback : callable, optional
        Called with the name of each cell that is done, how many are done and how many there are; ends the
        work by returning False.
    verbose : bool
        Whether progress is shown.
    random_state : int, optional
        The first training seed.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    results : dict
        finished and finished_before, how many cells were done now and before; failed, why cells failed, by
        name; stopped, whether the callback ended it; notes, such as experiments that were left out; cells,
        all finished cells of the folder as in results.json.

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
    """The folder; one that cannot be written to is told before anything is done."""
    is_new = not os.path.isdir(out)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryFile(dir=out):
        pass
    try:
        yield
    except BaseException:
        # Where nothing was done for an error, nothing is left behind.
        if is_new:
            with suppress(OSError):
                os.rmdir(out)
        raise


@contextmanager
def _progress(callback: Optional[Callback], verbose: bool) -> Iterator[Callable[[str, bool, int, int], Any]]:
    """What hears of each cell that is begun or done."""
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
