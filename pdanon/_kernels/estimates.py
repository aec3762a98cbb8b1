"""Kernel that answers queries from released rows: how many of the original rows hold an itemset."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number, Real
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = ["estimates"]


def estimates(
    sets: Code[::1],
    set_offsets: Number[::1],
    labels: Code[::1],
    label_starts: Number[::1],
    odds: Real[:, ::1],
    rows: Rows,
    classes: Number[::1],
    factors: Real[:, ::1],
) -> NDArray[np.float64]:
    """Estimate for each itemset: sum over the rows of the odds that it is there, times a factor.

    ``labels[label_starts[item]:label_starts[item + 1]]`` stand for an item, the most specific first.
    ``odds[label, j]`` belongs to a label that stands for j of the items; the factor of query ``i`` and a row
    is ``rows.weights[row] * factors[i, classes[row]]``.
    """
    totals = np.empty(len(set_offsets) - 1, np.float64)
    found: cython.double[::1] = totals
    queries = _Queries(sets, labels, label_starts, odds, rows)
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(found.shape[0]):
            queries.first, queries.last = set_offsets[i], set_offsets[i + 1]
            found[i] = queries.answer(classes, factors[i])
    return totals


@cython.final
@cython.cclass
class _Queries:
    """Queries, of which ``sets[first:last]`` is asked, and the released rows that answer them."""

    sets: Code[::1]
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    labels: Code[::1]
    label_starts: Number[::1]
    odds: Real[:, ::1]
    rows: Rows
    chosen: cython.int[::1]  # for each item of the query the label that stands for it in a row

    def __init__(
        self, sets: Code[::1], labels: Code[::1], label_starts: Number[::1], odds: Real[:, ::1], rows: Rows
    ) -> None:
        self.sets, self.labels, self.label_starts = sets, labels, label_starts
        self.odds, self.rows = odds, rows
        self.chosen = np.empty(odds.shape[1], np.int32)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def answer(self, classes: Number[::1], factors: Real[::1]) -> cython.double:
        """The estimate for the query."""
        row: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        place: cython.Py_ssize_t
        label: cython.Py_ssize_t
        item: cython.Py_ssize_t
        factor: cython.double
        total: cython.double = 0.0
        if self.first == self.last:
            for row in range(classes.shape[0]):
                total += self.rows.weights[row] * factors[classes[row]]
            return total
        item = self._rarest()
        for slot in range(self.label_starts[item], self.label_starts[item + 1]):
            label = self.labels[slot]
            for place in range(self.rows.starts[label], self.rows.starts[label + 1]):
                row = self.rows.tids[place]
                factor = self.rows.weights[row] * factors[classes[row]]
                # A row that holds several labels of the item is met once, by the first of them.
                if factor > 0 and self._label_in(item, row) == label:
                    total += factor * self._odds_in(row)
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _rarest(self) -> cython.Py_ssize_t:
        """The item whose labels are in the fewest rows, a row counted for each."""
        i: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        label: cython.Py_ssize_t
        item: cython.Py_ssize_t
        rarest: cython.Py_ssize_t = self.sets[self.first]
        fewest: cython.longlong = -1
        held: cython.longlong
        for i in range(self.first, self.last):
            item = self.sets[i]
            held = 0
            for slot in range(self.label_starts[item], self.label_starts[item + 1]):
                label = self.labels[slot]
                held += self.rows.starts[label + 1] - self.rows.starts[label]
            if fewest < 0 or held < fewest:
                rarest, fewest = item, held
        return rarest

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _label_in(self, item: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The first label of an item that a row holds; -1 if there is none."""
        slot: cython.Py_ssize_t
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        for slot in range(self.label_starts[item], self.label_starts[item + 1]):
            label = self.labels[slot]
            low, high = self.rows.offsets[row], self.rows.offsets[row + 1]
            while low < high:
                middle = (low + high) // 2
                if self.rows.codes[middle] < label:
                    low = middle + 1
                else:
                    high = middle
            if low < self.rows.offsets[row + 1] and self.rows.codes[low] == label:
                return label
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _odds_in(self, row: cython.Py_ssize_t) -> cython.double:
        """Odds that a released row held all items of the query."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        size: cython.Py_ssize_t = self.last - self.first
        times: cython.Py_ssize_t
        seen: cython.bint
        product: cython.double = 1.0
        for i in range(size):
            self.chosen[i] = self._label_in(self.sets[self.first + i], row)
            if self.chosen[i] < 0:
                return 0.0
        for i in range(size):
            seen, times = False, 0
            for j in range(size):
                if self.chosen[j] == self.chosen[i]:
                    seen = seen or j < i
                    times += 1
            if not seen:
                product *= self.odds[self.chosen[i], times]
        return product
