"""The time and the losses of searches that start from a safe release."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import pandas as pd

from pdanon.itemsets.timing import is_over


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
