"""What rows lose of their quasi-identifiers, summed over the columns."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pdanon._kernels import kernel

__all__ = ["look_up"]

Array = NDArray[Any]


@kernel
def look_up(tables: Array, starts: Array, codes: Array, rows: Array, losses: Array) -> None:
    """Sum, for each of some rows, what the tables of all columns have for its values."""
    for place, row in enumerate(rows):
        loss = 0
        for column, start in enumerate(starts):
            loss += tables[start + codes[row, column]]
        losses[place] = loss
