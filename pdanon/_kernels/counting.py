"""Kernels that count rows: those of items, of pairs, and of given itemsets.

Rows are in CSR form (``codes``, ``offsets``; ascending and distinct within a row) with a weight each;
``tids``/``positions``/``starts`` are its transpose: for each item the rows that hold it and where in
``codes`` it stands there.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.rows import total
from numpy.typing import NDArray

__all__ = [
    "Rows",
    "count_pairs",
    "followers",
    "item_supports",
    "itemset_supports",
    "mark_itemsets",
    "occurrences",
    "pair_supports",
    "transpose",
]


@cython.final
@cython.cclass
class Rows:
    """Rows in CSR form with weights, and their transpose.

    Parameters
    ----------
    codes, offsets, weights : ndarray of int32, int64, int64
        The rows.
    starts, tids, positions : ndarray of int64, int32, int64
        Their transpose: where the rows of each item begin, the rows, and the places in ``codes``.
    """

    def __init__(
        self,
        codes: Code[::1],
        offsets: Number[::1],
        weights: Number[::1],
        starts: Number[::1],
        tids: Code[::1],
        positions: Number[::1],
    ) -> None:
        self.codes, self.offsets, self.weights = codes, offsets, weights
        self.starts, self.tids, self.positions = starts, tids, positions


def item_supports(
    codes: Code[::1], offsets: Number[::1], weights: Number[::1], n_items: cython.Py_ssize_t
) -> NDArray[np.int64]:
    """Support of each item."""
    result = np.zeros(n_items, np.int64)
    supports: cython.longlong[::1] = result
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    with cython.nogil:
        for row in range(weights.shape[0]):
            for position in range(offsets[row], offsets[row + 1]):
                supports[codes[position]] += weights[row]
    return result


def followers(codes: Code[::1], offsets: Number[::1], n_items: cython.Py_ssize_t) -> NDArray[np.int64]:
    """How many codes follow each item, in all of its rows together."""
    result = np.zeros(n_items, np.int64)
    following: cython.longlong[::1] = result
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    with cython.nogil:
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                following[codes[position]] += offsets[row + 1] - position - 1
    return result


def occurrences(codes: Code[::1], n_items: cython.Py_ssize_t) -> NDArray[np.int64]:
    """How many rows hold each item, whatever their weights."""
    result = np.zeros(n_items, np.int64)
    counts: cython.longlong[::1] = result
    position: cython.Py_ssize_t
    with cython.nogil:
        for position in range(codes.shape[0]):
            counts[codes[position]] += 1
    return result


def transpose(
    codes: Code[::1],
    offsets: Number[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    free: cython.longlong[::1],
    tids: cython.int[::1],
    positions: cython.longlong[::1],
) -> None:
    """Write the rows ``begin..end - 1`` of each item, and where in ``codes`` it stands there.

    ``free`` is where the first of each item goes, and becomes where the next one would.
    """
    row: cython.Py_ssize_t
    item: cython.Py_ssize_t
    position: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    with cython.nogil:
        for row in range(begin, end):
            for position in range(offsets[row], offsets[row + 1]):
                item = codes[position]
                slot = free[item]
                tids[slot] = row
                positions[slot] = position
                free[item] = slot + 1


def pair_supports(
    rows: Rows,
    begin: cython.Py_ssize_t,
    indptr: cython.longlong[::1],
    indices: cython.int[::1],
    data: cython.longlong[::1],
) -> None:
    """Write some rows, from ``begin`` on, of the upper triangle (a < b) of the co-support matrix as CSR.

    As many as ``indptr`` has room for; columns are in no order within a row.
    """
    n_items: cython.Py_ssize_t = rows.starts.shape[0] - 1
    count: cython.longlong[::1] = np.zeros(n_items, np.int64)
    touched: cython.int[::1] = np.empty(n_items, np.int32)
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for a in range(indptr.shape[0] - 1):
            n_touched = _count_partners(begin + a, rows, count, touched)
            for i in range(n_touched):
                b = touched[i]
                indices[size] = b
                data[size] = count[b]
                count[b] = 0
                size += 1
            indptr[a + 1] = size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_partners(
    a: cython.Py_ssize_t, rows: Rows, count: cython.longlong[::1], touched: cython.int[::1]
) -> cython.Py_ssize_t:
    """Count the items b > a of the rows of a: how many there are, in ``touched``."""
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    weight: cython.longlong
    n_touched: cython.Py_ssize_t = 0
    for slot in range(rows.starts[a], rows.starts[a + 1]):
        row = rows.tids[slot]
        weight = rows.weights[row]
        for position in range(rows.positions[slot] + 1, rows.offsets[row + 1]):
            b = rows.codes[position]
            if count[b] == 0:
                touched[n_touched] = b
                n_touched += 1
            count[b] += weight
    return n_touched


def itemset_supports(sets: Code[::1], set_offsets: Number[::1], rows: Rows) -> NDArray[np.int64]:
    """Support of each given itemset (ascending codes); the empty itemset is in every row."""
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: cython.longlong[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(supports.shape[0]):
            supports[i] = support(sets, set_offsets[i], set_offsets[i + 1], rows)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def support(
    sets: Code[::1], first: cython.Py_ssize_t, last: cython.Py_ssize_t, rows: Rows
) -> cython.longlong:
    """Support of the itemset ``sets[first:last]``."""
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    if first == last:
        return total(rows.weights)
    item: cython.Py_ssize_t = rarest(sets, first, last, rows.starts)
    held: cython.longlong = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        row = rows.tids[slot]
        if contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], sets, first, last):
            held += rows.weights[row]
    return held


def mark_itemsets(sets: Code[::1], set_offsets: Number[::1], rows: Rows, held: cython.uchar[::1]) -> None:
    """Set ``held[row]`` in the rows that contain one of the given non-empty itemsets."""
    i: cython.Py_ssize_t
    item: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for i in range(set_offsets.shape[0] - 1):
            first, last = set_offsets[i], set_offsets[i + 1]
            item = rarest(sets, first, last, rows.starts)
            for slot in range(rows.starts[item], rows.starts[item + 1]):
                row = rows.tids[slot]
                if not held[row]:
                    held[row] = contains(
                        rows.codes, rows.offsets[row], rows.offsets[row + 1], sets, first, last
                    )


def count_pairs(
    codes: Code[::1], offsets: Number[::1], weights: Number[::1], n_items: cython.Py_ssize_t
) -> NDArray[np.int32]:
    """Support of each pair a < b of few items, as a matrix in one row."""
    result = np.empty(n_items * n_items, np.int32)
    count: cython.int[::1] = result
    rows: Code[::1] = np.arange(len(weights), dtype=np.int32)
    items: cython.const[cython.uint][::1] = np.asarray(codes).view(np.uint32)
    with cython.nogil:
        count_local_pairs(count, n_items, items, offsets, rows.shape[0], rows, weights)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_local_pairs(
    count: cython.int[::1],
    d: cython.Py_ssize_t,
    items: cython.const[cython.uint][::1],
    bounds: Number[::1],
    n_rows: cython.Py_ssize_t,
    sources: Code[::1],
    weights: Number[::1],
) -> cython.void:
    """Count the pairs of d local items, which are some rows' ``items``, in the dense d x d matrix.

    Row i is ``items[bounds[i]:bounds[i + 1]]``, and weighs as much as row ``sources[i]``. All of them weigh
    less than 2**31 together, so that a support fits the matrix.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    line: cython.size_t
    weight: cython.int
    count[: d * d] = 0
    for i in range(n_rows):
        weight = weights[sources[i]]
        for p in range(bounds[i], bounds[i + 1]):
            line = cython.cast(cython.size_t, items[p]) * d
            for q in range(p + 1, bounds[i + 1]):
                count[line + items[q]] += weight
