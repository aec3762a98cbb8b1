"""Progress bars, for people who ask for one; and a time limit, looked at where progress is reported."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from pdanon.errors import ParameterError
from pdanon.itemsets.deadline import check_time, watched
from pdanon.itemsets.values import check_flag

__all__ = ["Pace", "Report", "progress_bar", "quietly", "watching"]

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


def quietly(done: int) -> None:
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
def watching(show: bool, label: str) -> Iterator[None]:
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
        with watched(report):
            yield
