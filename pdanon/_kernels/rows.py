"""Kernels on rows of codes: rows are put in order, and equal ones found.

Rows are in CSR form: row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = [
    "canonical_rows",
    "collect_rows",
    "copy_places",
    "first_alike",
    "gather",
    "hashes",
    "numbered",
    "sort_rows",
]

NUMBER = cython.declare(cython.int, 31)
MOST = cython.declare(cython.longlong, 2**31 - 1)


def canonical_rows(
    codes: Code[::1],
    offsets: Number[::1],
    targets: Code[::1],
    is_used: cython.uchar[::1],
    repeats: cython.bint,
    found: cython.int[::1],
    ends: cython.longlong[::1],
) -> int:
    """Replace each code by its target, sort each row, and drop duplicates unless it may have repeats.

    The rows are written to ``found``, which has room for all codes, and where each of them ends there to
    ``ends``; how many codes they have is returned. Codes or targets below 0 are left out. Targets that are
    there in the end are marked in ``is_used``.
    """
    with cython.nogil:
        size = _canonical_rows(codes, offsets, targets, is_used, repeats, found, ends)
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _canonical_rows(
    codes: Code[::1],
    offsets: Number[::1],
    targets: Code[::1],
    is_used: cython.uchar[::1],
    repeats: cython.bint,
    found: cython.int[::1],
    ends: cython.longlong[::1],
) -> cython.Py_ssize_t:
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    for row in range(offsets.shape[0] - 1):
        start = size
        for position in range(offsets[row], offsets[row + 1]):
            if codes[position] >= 0:
                found[size] = targets[codes[position]]
                size += found[size] >= 0
        _sort(found, start, size)
        stop = size
        size = start
        for position in range(start, stop):
            if repeats or size == start or found[position] != found[size - 1]:
                found[size] = found[position]
                is_used[found[size]] = True
                size += 1
        ends[row] = size
    return size


def sort_rows(codes: cython.int[::1], starts: Number[::1], lengths: Number[::1]) -> NDArray[np.int64]:
    """Sort some rows in place: the positions of the codes that equal the one before them in their row."""
    again = np.empty(total(lengths), np.int64)
    found: cython.longlong[::1] = again
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(starts.shape[0]):
            _sort(codes, starts[row], starts[row] + lengths[row])
            for position in range(starts[row] + 1, starts[row] + lengths[row]):
                if codes[position] == codes[position - 1]:
                    found[count] = position
                    count += 1
    return again[:count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(codes: cython.int[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
    """Sort ``codes[start:stop]`` in place: Shell's sort, which inserts one by one in short rows."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    gap: cython.Py_ssize_t = 1
    while 9 * gap < stop - start:
        gap = 3 * gap + 1
    while gap:
        for i in range(start + gap, stop):
            code = codes[i]
            place = i
            while place >= start + gap and codes[place - gap] > code:
                codes[place] = codes[place - gap]
                place -= gap
            codes[place] = code
        gap //= 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def total(numbers: Number[::1]) -> cython.longlong:
    """Their sum."""
    i: cython.Py_ssize_t
    found: cython.longlong = 0
    for i in range(numbers.shape[0]):
        found += numbers[i]
    return found


def gather(codes: Code[::1], starts: Number[::1], lengths: Number[::1]) -> NDArray[np.int32]:
    """Codes from each start on, as many as its length, one after the other."""
    gathered = np.empty(total(lengths), np.int32)
    found: cython.int[::1] = gathered
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(starts.shape[0]):
            for position in range(starts[row], starts[row] + lengths[row]):
                found[size] = codes[position]
                size += 1
    return gathered


def collect_rows(
    codes: Code[::1],
    offsets: Number[::1],
    weights: Number[::1],
    kept_codes: cython.int[::1],
    kept_offsets: cython.longlong[::1],
    kept_weights: cython.longlong[::1],
    table: cython.longlong[::1],
    count: cython.Py_ssize_t,
) -> tuple[int, NDArray[np.int32]]:
    """Add rows to ``count`` distinct rows: how many of these there are then, and the number of each row.

    ``table`` is a hash table, its size a power of 2, of the hash of a row and, in the last `NUMBER` bits, its
    number; or of -1.
    """
    result = np.empty(len(weights), np.int32)
    numbers: cython.int[::1] = result
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    key: cython.longlong
    size: cython.Py_ssize_t = kept_offsets[count]
    with cython.nogil:
        for row in range(weights.shape[0]):
            start, stop = offsets[row], offsets[row + 1]
            key = _hash(codes, start, stop)
            place = _place(key, codes, start, stop, kept_codes, kept_offsets, table)
            if table[place] < 0:
                table[place] = key << NUMBER | count
                for position in range(start, stop):
                    kept_codes[size] = codes[position]
                    size += 1
                kept_weights[count] = 0
                count += 1
                kept_offsets[count] = size
            numbers[row] = table[place] & MOST
            kept_weights[numbers[row]] += weights[row]
    return count, result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(
    key: cython.longlong,
    codes: Code[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    kept_codes: cython.int[::1],
    kept_offsets: cython.longlong[::1],
    table: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Where in the table the row is, or has to go."""
    last: cython.Py_ssize_t = table.shape[0] - 1
    place: cython.Py_ssize_t = key & last
    other: cython.Py_ssize_t
    while table[place] >= 0:
        if table[place] >> NUMBER == key:  # other rows, which are somewhere in memory, are not looked at
            other = table[place] & MOST
            if _are_equal(codes, start, stop, kept_codes, kept_offsets[other], kept_offsets[other + 1]):
                break
        place = (place + 1) & last
    return place


def hashes(codes: Code[::1], offsets: Number[::1], found: cython.longlong[::1]) -> None:
    """Write a number of 32 bits for each row, which equal rows share."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(found.shape[0]):
            found[row] = _hash(codes, offsets[row], offsets[row + 1])


def first_alike(
    codes: Code[::1],
    offsets: Number[::1],
    keys: Number[::1],
    least: cython.longlong,
    above: cython.longlong,
    first: cython.longlong[::1],
) -> None:
    """Write the first row that each row equals, of rows whose hash is one of ``least..above - 1``."""
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    other: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(keys.shape[0]):
            n_rows += least <= keys[row] < above
    table: cython.longlong[::1] = np.full(1 << (3 * n_rows // 2).bit_length(), -1, np.int64)
    last: cython.Py_ssize_t = table.shape[0] - 1
    with cython.nogil:
        for row in range(keys.shape[0]):
            if not least <= keys[row] < above:
                continue
            place = keys[row] & last
            while table[place] >= 0:
                other = table[place] & MOST
                if table[place] >> NUMBER == keys[row] and _are_equal(
                    codes, offsets[row], offsets[row + 1], codes, offsets[other], offsets[other + 1]
                ):
                    break
                place = (place + 1) & last
            if table[place] < 0:
                table[place] = keys[row] << NUMBER | row
            first[row] = table[place] & MOST


def numbered(
    first: Number[::1], weights: Number[::1]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Number distinct rows as they come: the number of each row; the first and the weight of each number."""
    given, chosen = np.empty(len(first), np.int32), np.empty(len(first), np.int64)
    sums = np.zeros(len(first), np.int64)
    numbers: cython.int[::1] = given
    firsts: cython.longlong[::1] = chosen
    joint: cython.longlong[::1] = sums
    row: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(first.shape[0]):
            if first[row] == row:
                firsts[count] = row
                numbers[row] = count
                count += 1
            else:
                numbers[row] = numbers[first[row]]
            joint[numbers[row]] += weights[row]
    return given, chosen[:count], sums[:count]


def copy_places(table: Number[::1], larger: cython.longlong[::1]) -> None:
    """Write what is in a hash table into a larger one, empty so far."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    last: cython.Py_ssize_t = larger.shape[0] - 1
    with cython.nogil:
        for i in range(table.shape[0]):
            if table[i] >= 0:
                place = (table[i] >> NUMBER) & last
                while larger[place] >= 0:
                    place = (place + 1) & last
                larger[place] = table[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.overflowcheck(False)
def _hash(codes: Code[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.longlong:
    """A number of 32 bits."""
    position: cython.Py_ssize_t
    key: cython.ulonglong = 1469598103934665603
    prime: cython.ulonglong = 1099511628211
    low: cython.ulonglong = 2**32 - 1
    for position in range(start, stop):
        key = (key ^ cython.cast(cython.ulonglong, codes[position])) * prime
    return (key ^ (key >> 29)) & low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _are_equal(
    codes: Code[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    others: Code[::1],
    other: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.bint:
    i: cython.Py_ssize_t
    if stop - start != end - other:
        return False
    for i in range(stop - start):
        if codes[start + i] != others[other + i]:
            return False
    return True
