"""How many threads share the work on a large table, and how it is divided."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import pairwise
from math import inf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.timing import TimeLimitError, halt_on_error, part_done, seconds_left
from pdanon.itemsets.validation import check_count

__all__ = ["count_threads", "even_parts", "many_parts", "prefetch", "search", "set_threads", "share"]

_T = TypeVar("_T")

_VARIABLE = "PDANON_THREADS"
_MOST = 1024  # more than any machine has use for
_PART = 2**14  # steps of a search that is done in one go
_WORTH = 100_000  # steps of a loop, below which a thread costs more than it saves
_LONGEST = 2**24  # steps of a loop in one go, which cannot be interrupted: some tenths of a second

_chosen: int | None = None
_own = threading.local()  # `busy` in the threads that are started here


def set_threads(n: int | None) -> None:
    """Set how many threads share the work on large tables, in this process.

    Parameters
    ----------
    n : int or None
        At least 1. None: what the environment variable ``PDANON_THREADS`` says, or as many as the process has
        cores.

    Raises
    ------
    ParameterError
        If it is not such a number.

    Notes
    -----
    What is released, and every number, is the same for any number of threads. Small tables are worked on by
    one.

    By default a call from another thread than the main one works alone, as whoever started that thread shares
    the cores already; so do processes that were started with ``OMP_NUM_THREADS=1``, which workers of Dask and
    joblib are.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.set_threads(2)
    >>> pdanon.set_threads(None)
    """
    global _chosen
    hint = "None stands for the cores that this process may use"
    _chosen = None if n is None else check_count(n, "n", least=1, most=_MOST, hint=hint)


def count_threads() -> int:
    """How many threads may work now.

    Raises
    ------
    ParameterError
        If the environment variable is not a number of at least 1.
    """
    asked = _asked()
    if getattr(_own, "busy", False):
        return 1
    if _chosen is not None:
        return _chosen
    if asked is not None:
        return asked
    if threading.current_thread() is not threading.main_thread():
        return 1
    return min(_cores(), _limit_of_workers())


def _asked() -> int | None:
    """What the environment variable says, if it is set."""
    text = os.environ.get(_VARIABLE)
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:9]) <= _MOST:
        hint = "or unset it: then it is the cores that the process may use"
        problem = f"{_VARIABLE} must be an integer of at least 1 and at most {_MOST:,}"
        raise ParameterError(problem, where="environment", got=text[:20], hint=hint)
    return int(text)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # which not all systems have
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _limit_of_workers() -> int:
    """How many threads a process may have, by what those who start several of them set."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return max(int(text), 1) if text.isdecimal() and len(text) < 5 else _MOST


def even_parts(before: NDArray[Any]) -> list[tuple[int, int]]:
    """Divide work among the threads: one part each; one alone where there is little to do, more of much.

    Parameters
    ----------
    before : ndarray of int, shape (things + 1,)
        Steps of work before each thing, ascending from 0, such as the offsets of rows.

    Returns
    -------
    list of tuple of int
        Begin and end of each part, in their order; together all things. There is at least one.
    """
    n_things, steps = len(before) - 1, int(before[-1])
    if steps < 2 * _WORTH:  # this is often so: the system is not asked how many cores there are
        _asked()
        return [(0, n_things)]
    n_parts = max(min(max(min(count_threads(), steps // _WORTH), -(-steps // _LONGEST)), n_things), 1)
    ends = np.searchsorted(before, steps * np.arange(1, n_parts) // n_parts)
    return list(pairwise([0, *ends.tolist(), n_things]))


def many_parts(before: NDArray[Any], most: int) -> list[tuple[int, int]]:
    """Divide a search, where some steps take far longer than others: more parts than threads.

    Parameters
    ----------
    before : ndarray of int, shape (things + 1,)
        Steps of work before each thing, ascending from 0.
    most : int
        So many parts, or fewer where there is little to do.

    Returns
    -------
    list of tuple of int
        As `even_parts`.
    """
    n_things, steps = len(before) - 1, int(before[-1])
    n_parts = min(steps // _PART + 1, most)
    ends = np.searchsorted(before, steps * np.arange(1, n_parts) // n_parts)
    return list(pairwise([0, *ends.tolist(), n_things]))


def share(function: Callable[..., _T], parts: Sequence[tuple[Any, ...]]) -> list[_T]:
    """Do the same with each of some parts, in as many threads as there may be.

    Parameters
    ----------
    function : callable
        It leaves the interpreter to others while it works, or nothing is gained.
    parts : sequence of tuple
        What it is given, part by part.

    Returns
    -------
    list
        What it returned, in the order of the parts. If a part fails its error is raised.
    """
    n_threads = min(count_threads(), len(parts)) if len(parts) > 1 else 1
    if n_threads <= 1:
        return [_done(function(*part)) for part in parts]
    return _in_pool(function, parts, n_threads, limited=False)


def search(
    function: Callable[..., _T], parts: Sequence[tuple[Any, ...]], steps: float, *, limited: bool = False
) -> list[_T]:
    """As `share`, where a part may take any time, and looks at `halt_flag`.

    Parameters
    ----------
    function, parts
        As of `share`.
    steps : float
        More than so many there are not.
    limited : bool
        Whether it ends with the time limit, by `TimeLimitError`; an audit goes on.

    Returns
    -------
    list
        As of `share`.

    Notes
    -----
    A thread is started even where one alone works, unless there is little to do: who waits for it can be
    interrupted, a loop that is compiled cannot.
    """
    if getattr(_own, "busy", False) or (len(parts) <= 1 and steps < _LONGEST):
        return [_done(function(*part)) for part in parts]
    return _in_pool(function, parts, max(min(count_threads(), len(parts)), 1), limited=limited)


def _in_pool(
    function: Callable[..., _T], parts: Sequence[tuple[Any, ...]], n_threads: int, *, limited: bool
) -> list[_T]:
    """What some threads return; they are told, and have ended, when waiting for them is interrupted."""
    pool = ThreadPoolExecutor(n_threads, "pdanon", _begin)
    try:
        with halt_on_error():
            futures = [pool.submit(copy_context().run, function, *part) for part in parts]
            return [_done(_awaited(future, limited=limited)) for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)


def _awaited(future: Future[_T], *, limited: bool) -> _T:
    left = seconds_left() if limited else inf
    # Not `future.result(left)`: a `TimeoutError` of a signal handler or of the part would look the same.
    if not wait([future], None if left == inf else left).done:
        raise TimeLimitError
    return future.result()


def _done(result: _T) -> _T:
    part_done()
    return result


def prefetch(things: Iterator[_T], steps: Callable[[_T], int]) -> Iterator[_T]:
    """Have each of some things made by another thread while the one before is in use.

    Parameters
    ----------
    things : iterator
        What makes them; never None. Making one leaves the interpreter to others, or nothing is gained.
    steps : callable
        How many steps of work a thing was. Where there are few, or only one thread may work, none is started.

    Yields
    ------
    object
        The things, in their order. An error of making one is raised where it would be yielded.
    """
    for thing in things:
        if count_threads() > 1 and steps(thing) >= _WORTH:
            yield from _made_ahead(thing, things)
            return
        yield thing


def _made_ahead(thing: _T | None, things: Iterator[_T]) -> Iterator[_T]:
    def make() -> _T | None:
        return next(things, None)

    with ThreadPoolExecutor(1, "pdanon", _begin) as pool:
        while thing is not None:
            following = pool.submit(copy_context().run, make)
            yield thing
            thing = following.result()


def _begin() -> None:
    _own.busy = True
