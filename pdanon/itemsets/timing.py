"""Time limits, progress, cancellation, the options of the process, and searches with a time limit."""

from __future__ import annotations

import logging
import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError

_T = TypeVar("_T")

LOG = logging.getLogger("pdanon.progress")
# Of this process; `pdanon.config` sets them.
SETTINGS: dict[str, Any] = {"progress": False, "threads": None, "processes": 1}
MOST_THREADS = 1024  # more than any machine can use
_VARIABLE = "PDANON_THREADS"

_end: ContextVar[float] = ContextVar("end", default=inf)  # a value of time.perf_counter()
_halt: ContextVar[NDArray[np.bool_] | None] = ContextVar("halt", default=None)


def read_variable() -> int | None:
    """Return the number of threads of the environment variable, if it is set."""
    text = os.environ.get(_VARIABLE)
    if text is None:
        return None
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:9]) <= MOST_THREADS:
        hint = "unset it to use all cores of the process"
        problem = f"{_VARIABLE} must be an integer of at least 1 and at most {MOST_THREADS:,}"
        raise ParameterError(problem, where="environment", got=text[:20], hint=hint)
    return int(text)


class TimeLimitError(Exception):
    """The time limit is reached."""


@contextmanager
def assigned(variable: ContextVar[_T], value: _T) -> Iterator[None]:
    """Set a variable of the context until the end of a block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def limit_time(seconds: float) -> AbstractContextManager[None]:
    """Limit the seconds of a block from now on, or keep an earlier limit of an outer block."""
    # The first step that is counted after the limit raises `TimeLimitError`.
    return assigned(_end, min(time.perf_counter() + seconds, _end.get()))


def seconds_left() -> float:
    """Return the time until the limit, for work that keeps time itself; 0 after it."""
    return max(_end.get() - time.perf_counter(), 0.0)


def time_is_up() -> bool:
    """Return whether the limit is reached, for work that then returns its best result."""
    return time.perf_counter() >= _end.get()


def is_over(started: float, limit: float | None) -> bool:
    """Count a part as done, and return whether the limit, or a limit in seconds since a start, is reached."""
    part_done()
    return time_is_up() or (limit is not None and time.perf_counter() - started >= limit)


def time_spent(since: float, started: float, limit: float | None) -> float:
    """Return the share of the time from a moment to the limit that is spent: 0 without a limit, 1 after it.

    It is 1, too, in a block that is to halt. The limit is in seconds from its start. An earlier one of an
    outer block counts as well. Moments are values of ``time.perf_counter()``.
    """
    part_done()
    if halt_flag()[0]:
        return 1.0
    end = min(_end.get(), inf if limit is None else started + limit)
    return (time.perf_counter() - since) / (end - since) if time.perf_counter() < end else 1.0


def check_time() -> None:
    """Raise `TimeLimitError` if the limit is reached."""
    if time_is_up():
        raise TimeLimitError


@contextmanager
def halt_on_error() -> Iterator[NDArray[np.bool_]]:
    """Yield the halt flag of a block, shape (1,), and set it if an error or an interrupt ends the block."""
    flag = np.zeros(1, np.bool_)
    with assigned(_halt, flag):
        try:
            yield flag
        except BaseException:
            flag[0] = True
            raise


def halt_flag() -> NDArray[np.bool_]:
    """Return the flag that a long search checks, shape (1,). Once it is set, the search stops."""
    flag = _halt.get()
    return np.zeros(1, np.bool_) if flag is None else flag


# --- Progress bars and logs, which also check the time limit


_LOGGED = 10  # seconds between two records of one piece of work
_SHORT = 0.05  # seconds
_MOST_STEPS = 2**12
_PARTS = "parts"  # the unit that `part_done` counts

Counter: TypeAlias = Callable[[int], object]


def _count_nothing(done: int) -> None:
    """Count no step."""


def _check_alone(done: int) -> None:
    """Check the time limit, as no bar shows these steps."""
    check_time()


# Of the outermost progress bar, and of the innermost. Other processes have the defaults, and so
# do other threads, but for those that copy the context, such as Dask's.
_watcher: ContextVar[Counter] = ContextVar("watcher", default=_count_nothing)
COUNTER: ContextVar[Counter] = ContextVar("counter", default=_check_alone)


def part_done(done: int = 1) -> None:
    """Tell the outermost progress bar, if there is one, that another part is done, or several."""
    _watcher.get()(done)


def count_steps(done: int = 1) -> None:
    """Count finished steps in the innermost progress bar, and check the time limit."""
    COUNTER.get()(done)


def call_uncounted(function: Callable[..., _T], *given: Any) -> _T:
    """Call a function whose steps neither count nor check the time limit: the caller counts larger ones."""
    with assigned(COUNTER, _count_nothing):
        return function(*given)


class Pace:
    """Number of steps before the next are counted, adapted to take some hundredths of a second."""

    # An interrupt from the keyboard waits no longer than that. The block returns the number and is timed;
    # results must not depend on it.

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


@contextmanager
def progress_bar(label: str, unit: str, total: int | None = None) -> Iterator[None]:
    """Show or log the units that `count_steps` counts in a block.

    `pdanon.config` and the logger ask for that; work that is part of such work shows nothing. With a total,
    a bar shows the share that is done. Numbers of rows are abbreviated, such as 1.2M.
    """
    if not shows_progress() or _watcher.get() is not _count_nothing:
        with assigned(COUNTER, _check_alone):
            yield
        return
    with _show(label, unit, total) as show:
        started = logged = time.perf_counter()
        count, whole = 0, "" if total is None else f" of {total:,}"

        def log(every: float) -> None:
            nonlocal logged
            if (now := time.perf_counter()) - logged >= every:
                logged = now
                LOG.info("%s: %s%s %s, %.1f s", label, f"{count:,}", whole, unit, now - started)

        def counter(done: int) -> None:
            nonlocal count
            count += done
            show(done)
            log(_LOGGED)
            check_time()

        watcher = counter if unit == _PARTS else lambda done: log(_LOGGED)
        with assigned(_watcher, watcher), assigned(COUNTER, counter):
            yield
        log(0)


def shows_progress() -> bool:
    """Whether there are bars, or records of the logger at level INFO."""
    return bool(SETTINGS["progress"]) or LOG.isEnabledFor(logging.INFO)


@contextmanager
def _show(label: str, unit: str, total: int | None) -> Iterator[Counter]:
    """Yield a function that updates a bar, if there is one."""
    if not SETTINGS["progress"]:
        yield _count_nothing
        return
    with warnings.catch_warnings():  # without ipywidgets tqdm warns, and falls back to plain bars
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    with tqdm(desc=label, unit=f" {unit}", total=total, unit_scale=unit == "rows") as bar:
        yield bar.update


def show_activity(label: str) -> AbstractContextManager[None]:
    """Count the parts that a block finishes in a bar without total."""
    return progress_bar(label, _PARTS)


# --- The time and the losses of searches that start from a safe release


class Clock(NamedTuple):
    """The start of a search, a value of ``time.perf_counter()``, and its time limit in seconds, if any."""

    started: float
    limit: float | None = None

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


class TimedSearch(ABC):
    """A search that lowers the loss of a safe release until its time is over, with its losses over time."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = Clock(time.perf_counter()) if clock is None else clock
        self._curve: list[tuple[float, float]] = []

    @abstractmethod
    def descend(self) -> None:
        """Make moves until none gains, or the time limit is reached."""

    def restart(self, rng: np.random.Generator) -> None:
        """Make random changes and descend again, until the time limit is reached."""
        raise NotImplementedError  # no search of groups of rows is random

    @abstractmethod
    def _share(self, cost: float) -> float:
        """Return the reported loss for a cost."""

    @property
    def trace(self) -> pd.DataFrame:
        """The lowest loss over time, in the columns ``seconds`` and ``loss``."""
        curve = [(seconds, self._share(cost)) for seconds, cost in self._curve]
        return pd.DataFrame(curve, columns=["seconds", "loss"], dtype="float64")

    def is_over(self) -> bool:
        """Count a part as done, and return whether the time limit is reached."""
        return is_over(*self.clock)

    def is_lowest(self, cost: float) -> bool:
        """Add a cost to the trace if it is the lowest so far, and return whether it is."""
        if self._curve and cost >= self._curve[-1][1]:
            return False
        self._curve.append((self.clock.passed, cost))
        return True
