"""Kernel that refines classes of equal rows, item by item, as long as each class keeps k rows."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Number
from cython.cimports.pdanon._kernels.counting import Rows
from cython.cimports.pdanon._kernels.rows import total
from numpy.typing import NDArray

__all__ = ["release_items"]


def release_items(order: Number[::1], rows: Rows, k: cython.longlong) -> NDArray[np.bool_]:
    """Which items can be told of all rows, taken in order, if each class of rows that differ keeps k rows."""
    result = np.zeros(len(rows.starts) - 1, np.bool_)
    released: cython.uchar[::1] = result
    classes = _Classes(rows)
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(order.shape[0]):
            released[order[i]] = classes.refine(order[i], k)
    return result


@cython.final
@cython.cclass
class _Classes:
    """Classes of rows, which have the same of the items that were told."""

    rows: Rows
    class_of: cython.int[::1]
    sizes: cython.longlong[::1]
    holding: cython.longlong[::1]  # rows of each class with the item; 0 between two items
    split: cython.int[::1]  # the class that the rows with the last item became
    n_classes: cython.int

    def __init__(self, rows: Rows) -> None:
        n_rows = len(rows.weights)
        self.rows = rows
        self.class_of = np.zeros(n_rows, np.int32)
        self.sizes = np.zeros(
            n_rows + 1, np.int64
        )  # no class is empty, but there is one if there are no rows
        self.sizes[0] = total(rows.weights)
        self.holding = np.zeros(n_rows + 1, np.int64)
        self.split = np.full(n_rows + 1, -1, np.int32)
        self.n_classes = 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def refine(self, item: cython.Py_ssize_t, k: cython.longlong) -> cython.bint:
        """Tell an item if each class keeps k rows; whether it was told."""
        first: cython.int = self.n_classes
        start: cython.Py_ssize_t = self.rows.starts[item]
        stop: cython.Py_ssize_t = self.rows.starts[item + 1]
        slot: cython.Py_ssize_t
        row: cython.Py_ssize_t
        fits: cython.bint = self._fits(start, stop, k)
        for slot in range(start, stop):
            old = self.class_of[self.rows.tids[slot]]
            # Once for each class, and not where all of its rows hold the item.
            if fits and self.split[old] < first and self.holding[old] < self.sizes[old]:
                self.split[old] = self.n_classes
                self.n_classes += 1
        for slot in range(start, stop):
            self.holding[self.class_of[self.rows.tids[slot]]] = 0
        if not fits:
            return False
        for slot in range(start, stop):
            row = self.rows.tids[slot]
            old = self.class_of[row]
            if self.split[old] >= first:
                self.class_of[row] = self.split[old]
                self.sizes[old] -= self.rows.weights[row]
                self.sizes[self.split[old]] += self.rows.weights[row]
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fits(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, k: cython.longlong) -> cython.bint:
        """Count the rows with an item in ``holding``: whether each class has 0 or k of either kind."""
        slot: cython.Py_ssize_t
        row: cython.Py_ssize_t
        rest: cython.longlong
        fits: cython.bint = True
        for slot in range(start, stop):
            row = self.rows.tids[slot]
            self.holding[self.class_of[row]] += self.rows.weights[row]
        for slot in range(start, stop):
            old = self.class_of[self.rows.tids[slot]]
            rest = self.sizes[old] - self.holding[old]
            fits = fits and self.holding[old] >= k and (rest == 0 or rest >= k)
        return fits
