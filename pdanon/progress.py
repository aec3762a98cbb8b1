"""Progress bars, for people who ask for one; and a time limit, looked at where progress is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import TypeAlias

from pdanon.errors import ParameterError
from pdanon.values import check_flag

__all__ = [
    "Report",
    "TimeLimitError",
    "check_time",
    "is_over",
    "limited",
    "progress_bar",
    "quietly",
    "seconds_left",
    "time_is_up",
]

Report: TypeAlias = Callable[[int], object]

_end: ContextVar[float] = ContextVar("end", default=inf)  # a value of time.perf_counter()


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
    return time_is_up() or (limit is not None and time.perf_counter() - started >= limit)


def check_time() -> None:
    """Stop work whose time is over."""
    if time_is_up():
        raise TimeLimitError


def quietly(done: int) -> None:
    """Report nothing: who asked is told of larger steps, or in another process."""


@contextmanager
def progress_bar(show: bool, label: str, unit: str) -> Iterator[Report]:
    """Give a function that is told how many more units are done, and shows it if asked to.

    Parameters
    ----------
    show : bool
        Whether to show a bar, on stderr or in the notebook.
    label, unit : str
        What is being done, and what is counted.
    """
    if not check_flag(show, "progress"):
        yield lambda done: check_time()
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ParameterError(
            "progress=True needs the package tqdm", hint="pip install 'pdanon[progress]'"
        ) from None
    with tqdm(desc=label, unit=unit) as bar:

        def report(done: int) -> None:
            bar.update(done)
            check_time()

        yield report
