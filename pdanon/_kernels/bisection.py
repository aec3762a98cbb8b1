"""Bisection: a set of items is parted in two, so that what the parts lose together grows least on the way.

Supports are below 2**31 and weights below 2**16, so that a loss without its power of two is below 2**47.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = ["bisect", "compare_growth"]


def bisect(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: cython.uchar[::1]
) -> NDArray[np.bool_]:
    """Part a set of at least two items in two; tell which are in the second part.

    Parameters
    ----------
    items : ndarray of int32
        The items, the most frequent first.
    singles, weights : ndarray of int64
        Rows that hold each item, and its importance, by item.
    rows : Rows
        The rows.
    held : ndarray of uint8, shape (rows,)
        0; becomes 1, 2 or 3 where a row holds an item of the first part, the second, or both.

    Notes
    -----
    The two items that lose most together, the first such in the order given, begin a part each. Any other
    goes, in that order, where the loss ``(2**size - 1) * weight * support`` grows less: if alike, to the
    first part. A part has the weight of its heaviest item.
    """
    result = np.zeros(len(items), np.bool_)
    second: cython.uchar[::1] = result.view(np.uint8)
    i: cython.Py_ssize_t
    item: cython.Py_ssize_t
    size_1: cython.longlong = 1
    size_2: cython.longlong = 1
    with cython.nogil:
        one, two = _seeds(items, singles, weights, rows, held)
        _mark(items[one], 1, rows, held)
        _mark(items[two], 2, rows, held)
        second[two] = 1
        rows_1: cython.longlong = singles[items[one]]
        rows_2: cython.longlong = singles[items[two]]
        weight_1: cython.longlong = weights[items[one]]
        weight_2: cython.longlong = weights[items[two]]
        for i in range(items.shape[0]):
            if i in (one, two):
                continue
            item = items[i]
            new_1: cython.longlong = rows_1 + _lacking(item, 1, rows, held)
            new_2: cython.longlong = rows_2 + _lacking(item, 2, rows, held)
            heavier_1: cython.longlong = max(weight_1, weights[item])
            heavier_2: cython.longlong = max(weight_2, weights[item])
            if (
                _compare_growth(
                    size_1, rows_1 * weight_1, new_1 * heavier_1, size_2, rows_2 * weight_2, new_2 * heavier_2
                )
                <= 0
            ):
                size_1, rows_1, weight_1 = size_1 + 1, new_1, heavier_1
                _mark(item, 1, rows, held)
            else:
                size_2, rows_2, weight_2 = size_2 + 1, new_2, heavier_2
                _mark(item, 2, rows, held)
                second[i] = 1
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _seeds(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: cython.uchar[::1]
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """The places of the two items whose rows, times the larger weight, are most; of such the first two."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    heaviest: cython.longlong = 0
    most: cython.longlong = -1
    first: cython.Py_ssize_t = 0
    second: cython.Py_ssize_t = 1
    for i in range(items.shape[0]):
        heaviest = max(heaviest, weights[items[i]])
    for i in range(items.shape[0] - 1):
        one: cython.Py_ssize_t = items[i]
        if heaviest * (singles[one] + singles[items[i + 1]]) <= most:
            break
        _mark(one, 4, rows, held)
        for j in range(i + 1, items.shape[0]):
            two: cython.Py_ssize_t = items[j]
            if heaviest * (singles[one] + singles[two]) <= most:  # as the items that follow are rarer
                break
            loss: cython.longlong = max(weights[one], weights[two])
            loss *= singles[one] + _lacking(two, 4, rows, held)
            if loss > most:
                first, second, most = i, j, loss
        for slot in range(rows.starts[one], rows.starts[one + 1]):
            held[rows.tids[slot]] = 0
    return first, second


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark(item: cython.Py_ssize_t, bit: cython.uchar, rows: Rows, held: cython.uchar[::1]) -> cython.void:
    """Mark the rows of an item."""
    slot: cython.Py_ssize_t
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        held[rows.tids[slot]] |= bit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lacking(
    item: cython.Py_ssize_t, bit: cython.uchar, rows: Rows, held: cython.uchar[::1]
) -> cython.longlong:
    """How many rows of an item are not marked."""
    slot: cython.Py_ssize_t
    found: cython.longlong = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        if not held[rows.tids[slot]] & bit:
            found += rows.weights[rows.tids[slot]]
    return found


def compare_growth(
    size_1: cython.longlong,
    old_1: cython.longlong,
    new_1: cython.longlong,
    size_2: cython.longlong,
    old_2: cython.longlong,
    new_2: cython.longlong,
) -> int:
    """Sign of what loss one set grows by, less what another does, if each gets an item more; exactly.

    A set of ``size`` items grows by ``(2**(size + 1) - 1) * new - (2**size - 1) * old``, where
    ``0 <= old <= new < 2**47``.
    """
    return _compare_growth(size_1, old_1, new_1, size_2, old_2, new_2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_growth(
    size_1: cython.longlong,
    old_1: cython.longlong,
    new_1: cython.longlong,
    size_2: cython.longlong,
    old_2: cython.longlong,
    new_2: cython.longlong,
) -> cython.int:
    if size_1 < size_2:
        return -_compare_growth(size_2, old_2, new_2, size_1, old_1, new_1)
    # Growth is 2**size * lead - rest, where rest <= lead < 2**48; all is divided by 2**size_2 below.
    lead_1: cython.longlong = 2 * new_1 - old_1
    lead_2: cython.longlong = 2 * new_2 - old_2
    rest: cython.longlong = (new_1 - old_1) - (new_2 - old_2)
    most: cython.longlong = cython.cast(cython.longlong, 1) << 48
    shift: cython.longlong = size_1 - size_2
    if lead_1 > 0 and (shift >= 50 or lead_1 > ((lead_2 + most) >> shift)):
        return 1
    lead: cython.longlong = (lead_1 << shift if lead_1 else 0) - lead_2
    if lead == 0:
        return (rest < 0) - (rest > 0)
    # The sign of 2**size_2 * lead - rest, whose first part is farther from 0 if it is not shifted out.
    size: cython.longlong = lead if lead > 0 else -lead
    if size_2 >= 50 or size > (most >> size_2):
        return 1 if lead > 0 else -1
    lead *= cython.cast(cython.longlong, 1) << size_2
    return (lead > rest) - (lead < rest)
