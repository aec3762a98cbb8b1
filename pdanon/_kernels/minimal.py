"""Kernel that finds the minimal of some itemsets: those of which no proper subset is among them."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = ["minimal"]


def minimal(codes: Code[::1], offsets: Number[::1]) -> NDArray[np.bool_]:
    """Which of some itemsets have no proper subset among them. They are ordered by size, then by codes."""
    n: cython.Py_ssize_t = offsets.shape[0] - 1
    longest: cython.Py_ssize_t = offsets[n] - offsets[n - 1] if n else 0
    ends: cython.longlong[::1] = np.zeros(longest + 1, np.int64)  # of the itemsets of each size
    path: cython.longlong[:, ::1] = np.zeros((3, longest), np.int64)
    result = np.ones(n, np.bool_)
    kept: cython.uchar[::1] = result
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t
    length: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            length = offsets[i + 1] - offsets[i]
            for size in range(1, length):
                if kept[i]:
                    kept[i] = not _has_subset(i, ends[size - 1], ends[size], size, codes, offsets, path)
            for size in range(length, longest + 1):
                ends[size] = i + 1
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_subset(
    itemset: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    codes: Code[::1],
    offsets: Number[::1],
    path: cython.longlong[:, ::1],
) -> cython.bint:
    """Whether one of the itemsets of a size, which begin and end there, is a subset.

    ``path`` has for each depth which item it is now, and the itemsets that begin with those so far.
    """
    length: cython.longlong = offsets[itemset + 1] - offsets[itemset]
    first: cython.Py_ssize_t
    after: cython.Py_ssize_t
    depth: cython.Py_ssize_t = 0
    path[0, 0], path[1, 0], path[2, 0] = -1, start, stop
    while depth >= 0:
        path[0, depth] += 1
        if path[0, depth] + size - depth > length:
            depth -= 1
            continue
        item: cython.longlong = codes[offsets[itemset] + path[0, depth]]
        first = _first(item, depth, path[1, depth], path[2, depth], codes, offsets)
        after = _first(item + 1, depth, first, path[2, depth], codes, offsets)
        if first < after and depth + 1 == size:
            return True
        if first < after:
            depth += 1
            path[0, depth], path[1, depth], path[2, depth] = path[0, depth - 1], first, after
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _first(
    item: cython.longlong,
    depth: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    codes: Code[::1],
    offsets: Number[::1],
) -> cython.Py_ssize_t:
    """The first itemset whose item at a depth is not below; those before have the same items."""
    middle: cython.Py_ssize_t
    while start < stop:
        middle = (start + stop) // 2
        if codes[offsets[middle] + depth] < item:
            start = middle + 1
        else:
            stop = middle
    return start
