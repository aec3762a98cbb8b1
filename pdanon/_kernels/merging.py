"""How far apart sets are: the distance of transactions that stands in for what generalizing them loses."""

import cython
from cython.cimports.pdanon._kernels.arrays import Code, Number

__all__ = ["farthest", "joined"]

# What a pair loses is (different items + 1) / (common items + 1) * items of both. With sizes given it is
# most for pairs without common items, so that rows in descending order of size need few comparisons.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _common(
    codes: Code[::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    count: cython.Py_ssize_t = 0
    while start < end and other < last:
        if codes[start] == codes[other]:
            count += 1
            start += 1
            other += 1
        elif codes[start] < codes[other]:
            start += 1
        else:
            other += 1
    return count


def farthest(
    rows: Number[::1], others: Number[::1], codes: Code[::1], offsets: Number[::1], best: cython.double
) -> float:
    """Largest distance of a row to one of others, or ``best``; both by descending size."""
    with cython.nogil:
        best = _farthest(rows, others, 0, others.shape[0], codes, offsets, best)
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _farthest(
    rows: Number[::1],
    others: Number[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    codes: Code[::1],
    offsets: Number[::1],
    best: cython.double,
) -> cython.double:
    """Largest distance of a row to one of ``others[first:last]``, or ``best``."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    other: cython.Py_ssize_t
    size: cython.Py_ssize_t
    both: cython.Py_ssize_t
    common: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        row = rows[i]
        size = offsets[row + 1] - offsets[row]
        for j in range(first, last):
            other = others[j]
            both = size + offsets[other + 1] - offsets[other]
            if (both + 1.0) * both <= best:
                if j == first:  # nor can a shorter row be farther from any
                    return best
                break
            if other == row:
                continue
            common = _common(codes, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1])
            # Integers far below 2**53 in, so that equal quotients are equal floats.
            best = max(best, (both - 2 * common + 1.0) * (both - common) / (common + 1.0))
    return best


def joined(
    rows: Number[::1],
    members: Number[::1],
    bounds: Number[::1],
    own: cython.double,
    codes: Code[::1],
    offsets: Number[::1],
    result: cython.double[::1],
) -> None:
    """Distance within the union of some rows with each cluster of rows; ``result`` begins with theirs."""
    cluster: cython.Py_ssize_t
    with cython.nogil:
        for cluster in range(bounds.shape[0] - 1):
            first, last = bounds[cluster], bounds[cluster + 1]
            result[cluster] = _farthest(rows, members, first, last, codes, offsets, max(own, result[cluster]))
