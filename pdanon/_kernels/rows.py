"""Kernels on rows of codes: rows are put in order, and equal ones found.

Rows are in CSR form: row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["canonical_rows", "collect_rows", "copy_places", "gather", "sort_rows", "total"]

Array = NDArray[Any]
NUMBER = 31
MOST = 2**NUMBER - 1


@kernel
def canonical_rows(
    codes: Array, offsets: Array, targets: Array, is_used: Array, repeats: bool
) -> tuple[Array, Array]:
    """Replace each code by its target, sort each row, and drop duplicates unless it may have repeats.

    Codes or targets below 0 are left out. Targets that are there in the end are marked in ``is_used``.
    """
    found = np.empty(len(codes), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    size = np.int64(0)
    for row in range(len(offsets) - 1):
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
        ends[row + 1] = size
    return found[:size], ends


@kernel
def sort_rows(codes: Array, starts: Array, lengths: Array) -> Array:
    """Sort some rows in place: the positions of the codes that equal the one before them in their row."""
    again = np.empty(total(lengths), np.int64)
    count = 0
    for i in range(len(starts)):
        _sort(codes, starts[i], starts[i] + lengths[i])
        for position in range(starts[i] + 1, starts[i] + lengths[i]):
            if codes[position] == codes[position - 1]:
                again[count] = position
                count += 1
    return again[:count]


@inner
def _sort(codes: Array, start: int, stop: int) -> None:
    """Sort ``codes[start:stop]`` in place: Shell's sort, which inserts one by one in short rows."""
    gap = 1
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


@inner
def total(numbers: Array) -> int:
    """Their sum; that of NumPy, which can say what is wrong with an axis, takes seconds to compile."""
    found = 0
    for number in numbers:
        found += number
    return found


@kernel
def gather(codes: Array, starts: Array, lengths: Array) -> Array:
    """Codes from each start on, as many as its length, one after the other."""
    found = np.empty(total(lengths), np.int32)
    size = 0
    for i in range(len(starts)):
        for position in range(starts[i], starts[i] + lengths[i]):
            found[size] = codes[position]
            size += 1
    return found


@kernel
def collect_rows(
    codes: Array,
    offsets: Array,
    weights: Array,
    kept_codes: Array,
    kept_offsets: Array,
    kept_weights: Array,
    table: Array,
    count: int,
) -> tuple[int, Array]:
    """Add rows to ``count`` distinct rows: how many of these there are then, and the number of each row.

    ``table`` is a hash table, its size a power of 2, of the hash of a row and, in the last `NUMBER` bits, its
    number; or of -1.
    """
    numbers = np.empty(len(weights), np.int32)
    size = kept_offsets[count]
    for row in range(len(weights)):
        start, stop = offsets[row], offsets[row + 1]
        key = _hash(codes, start, stop)
        place = key & (len(table) - 1)
        while table[place] >= 0:
            if table[place] >> NUMBER == key:  # other rows, which are somewhere in memory, are not looked at
                other = table[place] & MOST
                if _are_equal(codes, start, stop, kept_codes, kept_offsets[other], kept_offsets[other + 1]):
                    break
            place = (place + 1) & (len(table) - 1)
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
    return count, numbers


@kernel
def copy_places(table: Array, larger: Array) -> None:
    """Write what is in a hash table into a larger one, empty so far."""
    for entry in table:
        if entry >= 0:
            place = (entry >> NUMBER) & (len(larger) - 1)
            while larger[place] >= 0:
                place = (place + 1) & (len(larger) - 1)
            larger[place] = entry


@inner
def _hash(codes: Array, start: int, stop: int) -> np.int64:
    """A number of 32 bits."""
    key = np.uint64(1469598103934665603)
    for position in range(start, stop):
        key = (key ^ np.uint64(codes[position])) * np.uint64(1099511628211)
    return np.int64((key ^ (key >> np.uint64(29))) & np.uint64(2**32 - 1))


@inner
def _are_equal(codes: Array, start: int, stop: int, others: Array, other: int, end: int) -> bool:
    if stop - start != end - other:
        return False
    for i in range(stop - start):
        if codes[start + i] != others[other + i]:
            return False
    return True
