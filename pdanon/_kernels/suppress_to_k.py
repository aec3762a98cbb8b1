"""Kernel that refines classes of equal rows, item by item, as long as each class keeps k rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import kernel
from pdanon._kernels.rows import total

__all__ = ["release_items"]

Array = NDArray[Any]


@kernel
def release_items(order: Array, starts: Array, tids: Array, weights: Array, k: int) -> Array:
    """Which items can be told of all rows, taken in order, if each class of rows that differ keeps k rows."""
    n_rows = len(weights)
    class_of = np.zeros(n_rows, np.int32)
    sizes = np.zeros(n_rows + 1, np.int64)  # no class is empty, but there is one if there are no rows
    sizes[0] = total(weights)
    n_classes = 1
    holding = np.zeros(n_rows + 1, np.int64)
    split = np.full(n_rows + 1, -1, np.int32)  # the class that the rows with the last item became
    released = np.zeros(len(starts) - 1, np.bool_)
    for item in order:
        rows = tids[starts[item] : starts[item + 1]]
        for row in rows:
            holding[class_of[row]] += weights[row]
        fits = True
        for row in rows:
            held = holding[class_of[row]]
            rest = sizes[class_of[row]] - held
            fits = fits and held >= k and (rest == 0 or rest >= k)
        first = n_classes
        for row in rows:
            old = class_of[row]
            # Once for each class, and not where all of its rows hold the item.
            if fits and split[old] < first and holding[old] < sizes[old]:
                split[old] = n_classes
                n_classes += 1
        for row in rows:
            holding[class_of[row]] = 0
        if not fits:
            continue
        released[item] = True
        for row in rows:
            old = class_of[row]
            if split[old] >= first:
                class_of[row] = split[old]
                sizes[old] -= weights[row]
                sizes[split[old]] += weights[row]
    return released
