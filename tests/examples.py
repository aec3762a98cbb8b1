"""How many examples a property is tried on: some in the fast tests, more with ``PDANON_EXAMPLES``.

With ``many``, as in ``.ci/run``: an eighth of them at most, and a tenth or fewer of the cases of the longest
tests.
With ``all``, as in ``.ci/release``: all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

ALL, MANY = (os.environ.get("PDANON_EXAMPLES") == asked for asked in ("all", "many"))


def examples(number: int, part: int = 10) -> int:
    """So many, or one in ``part`` of them: fewer where an example takes long, or others test the same.

    With ``many``, twice as many where these are few.
    """
    if ALL:
        return number
    return max(number // max(part // 2, 8), 10) if MANY else max(number // part, 5)


def some(cases: Sequence, part: int = 10) -> Sequence:
    """All cases of a slow test with ``all``, else one in ``part``: each finds the same as those beside it."""
    return cases if ALL else cases[::part]


def seeds(number: int, first: int = 0) -> list:
    """So many seeds, or a part of them, for a test with a case a seed."""
    return [pytest.param(seed, marks=pytest.mark.seeds) for seed in range(first, first + examples(number))]
