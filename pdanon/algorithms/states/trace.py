"""The trace of a search: how its loss fell."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

__all__ = ["trace_of"]


def trace_of(curve: Iterable[tuple[float, float]]) -> pd.DataFrame:
    """Tabulate the least loss over time: columns ``seconds`` and ``loss``."""
    return pd.DataFrame(list(curve), columns=["seconds", "loss"], dtype="float64")
