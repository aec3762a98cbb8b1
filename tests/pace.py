"""How long work takes where a known piece of work takes as long as on the machine that bounds are for."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

import numpy as np

__all__ = ["timed"]

T = TypeVar("T")
_KNOWN = 0.04  # seconds of the known piece of work on that machine


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work returns, and its seconds of the processor: as many times fewer as this machine is slower."""
    (_, before), (result, taken), (_, after) = (_timed(each) for each in (_known, work, _known))
    return result, taken * min(2 * _KNOWN / (before + after), 1)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = process_time()
    return work(), process_time() - start


def _known() -> int:
    """Some of what a processor computes, and some of what Python does."""
    np.sort(np.random.default_rng(0).random(500_000))
    return sum(number % 7 for number in range(1_000_000))
