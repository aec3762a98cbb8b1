"""A time limit, who is told how far work is, and what stops it: wherever work of seconds is done in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TimeLimitError",
    "check_time",
    "halt_flag",
    "halting",
    "is_over",
    "limited",
    "part_done",
    "seconds_left",
    "time_is_up",
    "watched",
]


_end: ContextVar[float] = ContextVar("end", default=inf)  # a value of time.perf_counter()
_watcher: ContextVar[Callable[[int], object] | None] = ContextVar("watcher", default=None)
_halt: ContextVar[NDArray[np.bool_] | None] = ContextVar("halt", default=None)


class TimeLimitError(Exception):
    """Work was stopped because its time is over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit the time of what is done within: it is stopped by `TimeLimitError` when it next reports progress.

    Parameters
    ----------
    seconds : float
        From now on. A limit that is there already stays where it is earlier.
    """
    token = _end.set(min(time.perf_counter() + seconds, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def seconds_left() -> float:
    """The time until the limit, 0 if it is reached, for work that keeps time itself."""
    return max(_end.get() - time.perf_counter(), 0.0)


def time_is_up() -> bool:
    """Tell whether the limit is reached, for work that can end with what it has."""
    return time.perf_counter() >= _end.get()


def is_over(started: float, limit: float | None) -> bool:
    """Tell whether it is so many seconds since a value of ``time.perf_counter()``, or `time_is_up`."""
    part_done()
    return time_is_up() or (limit is not None and time.perf_counter() - started >= limit)


def check_time() -> None:
    """Stop work whose time is over."""
    if time_is_up():
        raise TimeLimitError


@contextmanager
def watched(report: Callable[[int], object]) -> Iterator[None]:
    """Have it told whenever a part of the work within is done, which reports no progress of its own."""
    token = _watcher.set(report)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def halting() -> Iterator[NDArray[np.bool_]]:
    """Give the flag, shape (1,), of the work within; where an error ends it, or an interrupt, it is set."""
    flag = np.zeros(1, np.bool_)
    token = _halt.set(flag)
    try:
        yield flag
    except BaseException:
        flag[0] = True
        raise
    finally:
        _halt.reset(token)


def halt_flag() -> NDArray[np.bool_]:
    """The flag that a long search looks at, shape (1,): once it is set, nobody waits for what is found."""
    flag = _halt.get()
    return np.zeros(1, np.bool_) if flag is None else flag


def part_done() -> None:
    """Tell who watches that one more part is done."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(1)
