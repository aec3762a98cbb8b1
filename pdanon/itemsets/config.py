"""Options that belong to the process, not to a call."""

from __future__ import annotations

from concurrent.futures import Executor
from types import EllipsisType
from typing import Any

from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.threads import check_processes, check_threads
from pdanon.itemsets.timing import SETTINGS, check_progress

_CHECKS = {"progress": check_progress, "threads": check_threads, "processes": check_processes}


class Settings:
    """Options that are set, until the end of a ``with`` block. Shows the values of all options."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._earlier = {name: SETTINGS[name] for name in given}
        SETTINGS.update(given)

    def __enter__(self) -> Settings:
        return self

    def __exit__(self, *_: object) -> None:
        SETTINGS.update(self._earlier)

    def __repr__(self) -> str:
        return f"pdanon.config({', '.join(f'{name}={value}' for name, value in SETTINGS.items())})"


@called_by_name
def config(
    *,
    progress: bool | EllipsisType = ...,
    threads: int | EllipsisType | None = ...,
    processes: int | Executor | EllipsisType = ...,
) -> Settings:
    """Set options of this process, in all its threads. An option that is not passed stays as it is.

    Parameters
    ----------
    progress : bool
        Show progress bars, on stderr or in the notebook. By default there are none. A bar hides those of
        parts of its work; worker processes show none.
    threads : int or None
        The number of threads for large tables, at least 1. None, the default, is the value of the environment
        variable ``PDANON_THREADS``, or the number of cores of the process.
    processes : int or Executor
        The number of processes that share the configurations of `compare`, the blocks of `rum_bound`, and the
        regions of quasi-identifiers in files; by default 1, this process. Or a
        ``concurrent.futures.Executor`` with workers of its own, such as ``client.get_executor()`` of Dask,
        for blocks and regions.

    Returns
    -------
    Settings
        At the end of a ``with`` block, the options that were passed have their earlier values again.

    Raises
    ------
    ParameterError
        If a value is out of range, or there is no package tqdm to show progress.

    Notes
    -----
    Releases and all numbers are the same for any values. Small tables use one thread. With several processes,
    a script must start its work below ``if __name__ == "__main__":``.

    By default, calls outside the main thread use one thread, as their caller already uses several. So do
    processes with ``OMP_NUM_THREADS=1`` in their environment, such as workers of Dask and joblib.

    Examples
    --------
    >>> import pdanon
    >>> with pdanon.config(threads=2):
    ...     pdanon.config()
    pdanon.config(progress=False, threads=2, processes=1)
    >>> pdanon.config()
    pdanon.config(progress=False, threads=None, processes=1)
    """
    given = {"progress": progress, "threads": threads, "processes": processes}
    return Settings({name: _CHECKS[name](value) for name, value in given.items() if value is not ...})
