"""A time limit, who is told how far work is, and what stops it: wherever work of seconds is done in parts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.validation import check_flag

__all__ = [
    "Pace",
    "Report",
    "TimeLimitError",
    "check_time",
    "halt_flag",
    "halt_on_error",
    "is_over",
    "limit_time",
    "observe_parts",
    "part_done",
    "progress_bar",
    "report_nothing",
    "seconds_left",
    "show_activity",
    "time_is_up",
]

_end: ContextVar[float] = ContextVar("end", default=inf)  # a value of time.perf_counter()
_watcher: ContextVar[Callable[[int], object] | None] = ContextVar("watcher", default=None)
_halt: ContextVar[NDArray[np.bool_] | None] = ContextVar("halt", default=None)


class TimeLimitError(Exception):
    """Work was stopped because its time is over."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
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
def observe_parts(report: Callable[[int], object]) -> Iterator[None]:
    """Have it told whenever a part of the work within is done, which reports no progress of its own."""
    token = _watcher.set(report)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def halt_on_error() -> Iterator[NDArray[np.bool_]]:
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


# --- Progress bars, for people who ask for one; and a time limit, looked at where progress is reported


_SHORT = 0.05  # seconds
_MOST_STEPS = 2**12

Report: TypeAlias = Callable[[int], object]


class Pace:
    """How many steps are made in one go, between reports: as many as take some hundredths of a second.

    An interrupt from the keyboard waits as long. It gives the number, and the time within is looked at; what
    is done must not depend on it.
    """

    def __init__(self) -> None:
        self._steps = 1

    def __enter__(self) -> int:
        self._started = time.perf_counter()
        return self._steps

    def __exit__(self, *_: object) -> None:
        taken = time.perf_counter() - self._started
        if taken < _SHORT:
            self._steps = min(2 * self._steps, _MOST_STEPS)
        elif taken > 4 * _SHORT:
            self._steps = max(self._steps // 2, 1)


def report_nothing(done: int) -> None:
    """Report nothing: who asked is told of larger steps, or in another process."""


@contextmanager
def progress_bar(show: bool, label: str, unit: str, total: int | None = None) -> Iterator[Report]:
    """Give a function that is told how many more units are done, and shows it if asked to.

    Parameters
    ----------
    show : bool
        Whether to show a bar, on stderr or in the notebook.
    label, unit : str
        What is being done, and what is counted.
    total : int, optional
        How many units there are, if that is known: the bar shows how far it is, then.
    """
    if not check_flag(show, "progress"):
        yield lambda done: check_time()
        return
    try:
        with warnings.catch_warnings():  # a notebook without ipywidgets has plain bars, and no red lines
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        raise ParameterError(
            "progress=True needs the package tqdm", hint="pip install 'pdanon[progress]'"
        ) from None
    with tqdm(desc=label, unit=f" {unit}", total=total) as bar:

        def report(done: int) -> None:
            bar.update(done)
            check_time()

        yield report


@contextmanager
def show_activity(show: bool, label: str) -> Iterator[None]:
    """Show the parts of what is done within, as many as it takes: that it goes on, not how far it is.

    Parameters
    ----------
    show : bool
        Whether to show a bar.
    label : str
        What is being done.
    """
    with progress_bar(show, label, "parts") as report:
        if not show:
            yield
            return
        with observe_parts(report):
            yield
