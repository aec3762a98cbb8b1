"""Options of the process, work divided among threads and processes, and versions of what runs here."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from math import inf
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal
from threading import Thread
from types import EllipsisType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdanon import _kernels
from pdanon._kernels._compiled import are_checked
from pdanon.errors import ParameterError
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.timing import (
    MOST_THREADS,
    SETTINGS,
    TimeLimitError,
    call_uncounted,
    count_steps,
    halt_on_error,
    part_done,
    read_variable,
    seconds_left,
)
from pdanon.itemsets.validation import check_count, check_flag

_T = TypeVar("_T")

_PART = 2**14  # steps of a search per part
_WORTH = 100_000  # steps of a loop below which a thread costs more than it saves
_STACK = 2**25  # bytes that a thread may need
_LONGEST = 2**24  # steps of a loop that cannot be interrupted: some tenths of a second

_own = threading.local()  # has `busy` in threads of this module


def count_threads() -> int:
    """Return the number of threads for the current call."""
    requested = read_variable()
    if getattr(_own, "busy", False):
        return 1
    requested = SETTINGS["threads"] or requested
    if requested is not None:
        return requested
    if threading.current_thread() is not threading.main_thread():
        return 1
    text = os.environ.get("OMP_NUM_THREADS", "")  # set by programs that start several processes
    limit = max(int(text), 1) if text.isdecimal() and len(text) < 5 else MOST_THREADS
    # macOS and Windows have no sched_getaffinity.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, limit)


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
        parts of its work; worker processes show none. The logger ``pdanon`` has the same counts as INFO.
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
    given: dict[str, Any] = {}
    if progress is not ...:
        given["progress"] = check_flag(progress, "progress")
        if progress and find_spec("tqdm") is None:
            raise ParameterError("progress=True needs the package tqdm", hint="pip install tqdm")
    if threads is not ...:
        hint = "None stands for the cores that this process may use"
        bounds: Any = {"least": 1, "most": MOST_THREADS, "hint": hint}
        given["threads"] = None if threads is None else check_count(threads, "threads", **bounds)
    if processes is not ...:
        hint, is_pool = "pass a number of processes, or an Executor", isinstance(processes, Executor)
        given["processes"] = processes if is_pool else check_count(processes, "processes", least=1, hint=hint)
    return Settings(given)


# --- The division of work


def even_parts(before: NDArray[Any]) -> list[tuple[int, int]]:
    """Divide work among the threads into consecutive parts: one per thread; one in all for little work."""
    # ``before`` has the steps of work before each unit, ascending from 0, such as the offsets of rows. Much
    # work has more parts. Return the begin and end of each part, and at least one part.
    n_units, steps = len(before) - 1, int(before[-1])
    if steps < 2 * _WORTH:  # the usual case, in which counting the cores would take longer than the work
        read_variable()
        return [(0, n_units)]
    n_parts = max(min(max(min(count_threads(), steps // _WORTH), -(-steps // _LONGEST)), n_units), 1)
    return _split(before, n_parts)


def many_parts(before: NDArray[Any], most: int) -> list[tuple[int, int]]:
    """Divide a search as `even_parts`, into more parts than threads, as some steps take far longer."""
    # Little work has fewer parts than ``most``.
    return _split(before, min(int(before[-1]) // _PART + 1, most))


def _split(before: NDArray[Any], n_parts: int) -> list[tuple[int, int]]:
    """Divide work into parts of about as many steps, none of them empty if there is any unit."""
    ends = np.searchsorted(before, int(before[-1]) * np.arange(1, n_parts) // n_parts)
    parts = [(begin, end) for begin, end in pairwise([0, *ends.tolist(), len(before) - 1]) if begin < end]
    return parts or [(0, 0)]


def share(function: Callable[..., _T], parts: Sequence[tuple[Any, ...]], steps: float = inf) -> list[_T]:
    """Call a function that releases the GIL for each part, in as many threads as allowed."""
    # Results are in the order of the parts. The error of a part is raised. Few ``steps`` start no thread.
    n_threads = min(count_threads(), len(parts)) if len(parts) > 1 and steps >= _WORTH else 1
    if n_threads <= 1:
        return _run_in_turn(function, parts)
    return _run_in_pool(function, parts, n_threads, limited=False)


def search(
    function: Callable[..., _T], parts: Sequence[tuple[Any, ...]], steps: float, *, limited: bool = False
) -> list[_T]:
    """Call a function for each part as `share`, where a part can take any time and checks `halt_flag`."""
    # ``steps`` is an upper bound on those of all parts. If ``limited``, the time limit raises
    # `TimeLimitError`. Audits ignore the limit.
    #
    # Much work runs in another thread even if only one is allowed. Waiting can be interrupted from the
    # keyboard; a compiled loop cannot.
    if getattr(_own, "busy", False) or (len(parts) <= 1 and steps < _LONGEST):
        return _run_in_turn(function, parts)
    return _run_in_pool(function, parts, max(min(count_threads(), len(parts)), 1), limited=limited)


def _run_in_turn(function: Callable[..., _T], parts: Sequence[tuple[Any, ...]]) -> list[_T]:
    results = []
    for part in parts:
        results.append(function(*part))
        part_done()
    return results


def _run_in_pool(
    function: Callable[..., _T], parts: Sequence[tuple[Any, ...]], n_threads: int, *, limited: bool
) -> list[_T]:
    """Run parts in threads. If waiting is interrupted, halt the threads and wait for their end."""
    require_memory(
        _STACK, "threads"
    )  # a thread without memory for its first step would be waited for forever
    pool = ThreadPoolExecutor(n_threads, "pdanon", _mark_thread)
    try:
        with halt_on_error():
            futures = [pool.submit(copy_context().run, function, *part) for part in parts]
            results = []
            for future in futures:
                results.append(_wait_for(future, limited=limited))
                part_done()
            return results
    finally:
        pool.shutdown(cancel_futures=True)


def _wait_for(future: Future[_T], *, limited: bool) -> _T:
    left = seconds_left() if limited else inf
    # `future.result(left)` could not tell its own `TimeoutError` from one of a signal handler or of the part.
    if not wait([future], None if left == inf else left).done:
        raise TimeLimitError
    return future.result()


def prefetch(values: Iterator[_T], steps: Callable[[_T], int]) -> Iterator[_T]:
    """Compute each value in another thread while the previous one is in use. None ends the values."""
    # The iterator releases the GIL. No thread is started for few ``steps`` of a value, or if only one is
    # allowed. An error is raised in place of its value.
    for value in values:
        if count_threads() > 1 and steps(value) >= _WORTH:
            yield from _prefetch_from(value, values)
            return
        yield value


def _prefetch_from(value: _T | None, values: Iterator[_T]) -> Iterator[_T]:
    with ThreadPoolExecutor(1, "pdanon", _mark_thread) as pool:
        while value is not None:
            following = pool.submit(copy_context().run, lambda: next(values, None))
            yield value
            value = following.result()


def _mark_thread() -> None:
    _own.busy = True


# --- Worker processes, and work that they share


_MOST_PROCESSES = 1000  # more than any machine can use

# Applies a function to the arguments of each part, and returns the results in order.
Share: TypeAlias = Callable[..., list[Any]]


@contextmanager
def processes(number: int, *prepare: Any) -> Iterator[ProcessPoolExecutor]:
    """Start processes, and end them with the block; work that has not started is then canceled."""
    # Each process first calls the function ``prepare[0]`` with the other values.
    most, others = min(number, _MOST_PROCESSES), {*active_children()}
    pool = ProcessPoolExecutor(most, get_context("spawn"), _begin, prepare)
    try:
        yield pool
    except KeyboardInterrupt:  # otherwise the block waits for running work
        for process in {*active_children()} - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[..., object] | None = None, *given: Any) -> None:
    """Prepare a process that ends with its parent, even if the parent is killed."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)  # Ctrl-C reaches all processes of a terminal; only the parent reports it
    Thread(target=_end_with_parent, daemon=True).start()
    config(progress=False, threads=1, processes=1)  # the processes already share the cores
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def sharing(jobs: int | Executor) -> Iterator[Share]:
    """Return a function that applies another to each of several parts, here or in other processes."""
    # One job is this process, which counts each step; for other processes, each part is counted. Results do
    # not depend on the order in which parts finish. If a part fails, its error is raised, and parts that have
    # not started are canceled.
    if isinstance(jobs, Executor):
        yield partial(_shared, jobs)
    elif jobs == 1:
        yield lambda function, *given: [function(*each) for each in zip(*given, strict=True)]
    else:
        with processes(jobs) as pool:
            yield partial(_shared, pool)


def _shared(pool: Executor, function: Callable[..., Any], *given: Iterable[Any]) -> list[Any]:
    futures = [pool.submit(call_uncounted, function, *each) for each in zip(*given, strict=True)]
    results = []
    try:
        for future in futures:
            results.append(future.result())
            count_steps()
    finally:
        for future in futures:
            future.cancel()
    return results


# --- Versions of what runs here, for reports of defects


_NEEDED = ("pandas", "numpy", "pyarrow", "scipy")
_OPTIONAL = ("dask", "distributed", "duckdb", "matplotlib", "polars", "pyspark", "shtab", "tqdm")


@called_by_name
def show_versions() -> None:
    """Print the versions of pdanon, Python, the platform, and the libraries that pdanon can use.

    It prints no path, no name of a user or a machine, and nothing of a table. A report of a defect begins
    with it.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.show_versions()
    pdanon       0.1.0
    Python       3...
    platform     ...
    threads      ...
    kernels      ...
    pandas       ...
    """
    checked = are_checked(Path(_kernels.__file__).parent)
    facts = {
        "pdanon": version("pdanon"),
        "Python": f"{platform.python_version()} {platform.python_implementation()}",
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "threads": count_threads(),
        "kernels": "checked" if checked else "fast",
        **{name: _version(name) for name in _NEEDED + _OPTIONAL},
    }
    print(*(f"{name:12} {fact}" for name, fact in facts.items()), sep="\n")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
