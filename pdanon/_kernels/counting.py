"""Rows of codes: sort them, find equal ones, count items, pairs and itemsets, estimate supports.

Rows are in CSR form: row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``. For counting, rows are ascending and
distinct, with a weight each. The transpose is ``starts``, ``tids``, ``positions``: for each item, the rows
that contain it, and its positions in ``codes``.
"""

import cython
import numpy as np
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

__all__ = [
    "Rows",
    "canonical_rows",
    "collect_rows",
    "copy_places",
    "copy_texts",
    "count_pairs",
    "estimates",
    "first_alike",
    "followers",
    "gather",
    "hashes",
    "item_supports",
    "itemset_supports",
    "look_up",
    "mark_itemsets",
    "mark_shortened",
    "numbered",
    "occurrences",
    "pair_supports",
    "sort_rows",
    "transpose",
]


# --- Arrays that grow


@cython.cfunc
@cython.with_gil
def grown(array: Growing[::1], size: cython.Py_ssize_t, capacity: cython.Py_ssize_t) -> Growing[::1]:
    """Return an array of a capacity that begins with the first ``size`` entries of another."""
    larger: Growing[::1] = np.empty(capacity, np.int32 if Growing is cython.int else np.int64)
    larger[:size] = array[:size]
    return larger


# --- Rows: sort them, and find equal ones


NUMBER = cython.declare(cython.int, 31)  # bits of a row number in an entry of a hash table
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
    """Replace each code by its target, and sort each row; drop duplicates unless ``repeats``.

    The rows are written to ``found``, which has room for all codes, and the end of each row to ``ends``.
    Negative codes and targets are left out. Targets that remain are marked in ``is_used``. Return the number
    of codes.
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
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t, code=cython.int, last=cython.int)
    size: cython.Py_ssize_t = 0
    for row in range(offsets.shape[0] - 1):
        start, last = size, -1
        in_order: cython.bint = True
        for position in range(offsets[row], offsets[row + 1]):
            if codes[position] >= 0:
                code = targets[codes[position]]
                if code >= 0:
                    in_order &= last < code
                    found[size] = last = code
                    is_used[code] = True
                    size += 1
        if not in_order:
            sort_part(found, start, size)
            size = size if repeats else _drop_duplicates(found, start, size)
        ends[row] = size
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _drop_duplicates(
    codes: cython.int[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Drop duplicates from the sorted ``codes[start:stop]``; return the new end."""
    position: cython.Py_ssize_t
    size: cython.Py_ssize_t = start
    for position in range(start, stop):
        if size == start or codes[position] != codes[size - 1]:
            codes[size] = codes[position]
            size += 1
    return size


def sort_rows(codes: cython.int[::1], starts: Number[::1], lengths: Number[::1]) -> NDArray[np.int64]:
    """Sort some rows in place.

    Return the positions of codes equal to the previous code of their row.
    """
    again = np.empty(total(lengths), np.int64)
    found: cython.longlong[::1] = again
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t)
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(starts.shape[0]):
            sort_part(codes, starts[row], starts[row] + lengths[row])
            for position in range(starts[row] + 1, starts[row] + lengths[row]):
                if codes[position] == codes[position - 1]:
                    found[count] = position
                    count += 1
    return again[:count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_part(codes: cython.int[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
    """Sort ``codes[start:stop]`` in place.

    Shellsort; in short rows, that is insertion sort.
    """
    cython.declare(i=cython.Py_ssize_t, place=cython.Py_ssize_t)
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


def total(numbers: Number[::1]) -> cython.longlong:
    """Return the sum."""
    i: cython.Py_ssize_t
    found: cython.longlong = 0
    for i in range(numbers.shape[0]):
        found += numbers[i]
    return found


def gather(codes: Code[::1], starts: Number[::1], lengths: Number[::1]) -> NDArray[np.int32]:
    """Concatenate ``codes[start:start + length]`` for each start and length."""
    gathered = np.empty(total(lengths), np.int32)
    found: cython.int[::1] = gathered
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t)
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for row in range(starts.shape[0]):
            for position in range(starts[row], starts[row] + lengths[row]):
                found[size] = codes[position]
                size += 1
    return gathered


def copy_texts(codes: Code[::1], starts: Number[::1], texts: Flag[::1], found: cython.uchar[::1]) -> None:
    """Concatenate the text of each code; text ``c`` is ``texts[starts[c]:starts[c + 1]]``."""
    i: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(codes.shape[0]):
            length: cython.Py_ssize_t = starts[codes[i] + 1] - starts[codes[i]]
            if length:
                memcpy(cython.address(found[size]), cython.address(texts[starts[codes[i]]]), length)
            size += length


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
    """Add rows to ``count`` distinct rows; return the new number of distinct rows and the number of each row.

    ``table`` is a hash table with open addressing; its size is a power of 2. An entry has the hash of a row
    and, in the last ``NUMBER`` bits, the number of the row; an empty entry is -1.
    """
    result = np.empty(len(weights), np.int32)
    numbers: cython.int[::1] = result
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t, key=cython.longlong)
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
    """Return the position of a row in the hash table, or the empty position where it belongs."""
    last: cython.Py_ssize_t = table.shape[0] - 1
    place: cython.Py_ssize_t = key & last
    other: cython.Py_ssize_t
    while table[place] >= 0:
        if table[place] >> NUMBER == key:  # compare hashes first: the other row may not be in the cache
            other = table[place] & MOST
            if _are_equal(codes, start, stop, kept_codes, kept_offsets[other], kept_offsets[other + 1]):
                break
        place = (place + 1) & last
    return place


def hashes(codes: Code[::1], offsets: Number[::1], found: cython.longlong[::1]) -> None:
    """Write the 32-bit hash of each row."""
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
    """Write the first row that is equal to each row, for rows with a hash in ``least..above - 1``.

    Threads share the work by ranges of hashes: equal rows have equal hashes.
    """
    cython.declare(row=cython.Py_ssize_t, place=cython.Py_ssize_t, other=cython.Py_ssize_t)
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
    """Number distinct rows in order of their first occurrence, given the first row equal to each.

    Return the number of each row, and the first row and the weight of each number.
    """
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
    """Insert the entries of a hash table into a larger, empty one."""
    cython.declare(i=cython.Py_ssize_t, place=cython.Py_ssize_t)
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
    """Return a 32-bit hash, in the manner of FNV-1a."""
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
    """Return whether two rows are equal."""
    i: cython.Py_ssize_t
    if stop - start != end - other:
        return False
    for i in range(stop - start):
        if codes[start + i] != others[other + i]:
            return False
    return True


# --- Supports of items, pairs and itemsets


@cython.final
@cython.cclass
class Rows:
    """Rows in CSR form with weights, and their transpose.

    The transpose is the start of the rows of each item, the rows, and the positions in ``codes``.
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
    """Count the support of each item."""
    result = np.zeros(n_items, np.int64)
    supports: cython.longlong[::1] = result
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t)
    with cython.nogil:
        for row in range(weights.shape[0]):
            for position in range(offsets[row], offsets[row + 1]):
                supports[codes[position]] += weights[row]
    return result


def followers(codes: Code[::1], offsets: Number[::1], n_items: cython.Py_ssize_t) -> NDArray[np.int64]:
    """Count the codes that follow each item, over all of its rows."""
    result = np.zeros(n_items, np.int64)
    following: cython.longlong[::1] = result
    cython.declare(row=cython.Py_ssize_t, position=cython.Py_ssize_t)
    with cython.nogil:
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                following[codes[position]] += offsets[row + 1] - position - 1
    return result


def occurrences(codes: Code[::1], n_items: cython.Py_ssize_t) -> NDArray[np.int64]:
    """Count the rows that contain each item, without weights."""
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
    """Write, for each item, its rows among ``begin..end - 1``, and its positions in ``codes``.

    ``free`` has the position of the next entry of each item, and is updated. Empty ``positions`` stay empty.
    """
    cython.declare(row=cython.Py_ssize_t, item=cython.Py_ssize_t, position=cython.Py_ssize_t)
    slot: cython.Py_ssize_t
    written: cython.bint = positions.shape[0] > 0
    with cython.nogil:
        for row in range(begin, end):
            for position in range(offsets[row], offsets[row + 1]):
                item = codes[position]
                slot = free[item]
                tids[slot] = row
                if written:
                    positions[slot] = position
                free[item] = slot + 1


def pair_supports(
    rows: Rows,
    begin: cython.Py_ssize_t,
    indptr: cython.longlong[::1],
    indices: cython.int[::1],
    data: cython.longlong[::1],
) -> None:
    """Write rows of the upper triangle (a < b) of the co-support matrix as CSR, from row ``begin`` on.

    The length of ``indptr`` determines the number of rows. Columns are unordered within a row.
    """
    n_items: cython.Py_ssize_t = rows.starts.shape[0] - 1
    count: cython.longlong[::1] = np.zeros(n_items, np.int64)
    touched: cython.int[::1] = np.empty(n_items, np.int32)
    cython.declare(a=cython.Py_ssize_t, i=cython.Py_ssize_t)
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
    """Count the items b > a in the rows of a; list them in ``touched``, and return their number."""
    cython.declare(slot=cython.Py_ssize_t, row=cython.Py_ssize_t, position=cython.Py_ssize_t)
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


def itemset_supports(
    sets: Code[::1], set_offsets: Number[::1], rows: Rows, enough: cython.longlong
) -> NDArray[np.int64]:
    """Count the support of each given itemset (ascending codes); the empty itemset is in all rows.

    A count ends when it reaches ``enough``.
    """
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: cython.longlong[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(supports.shape[0]):
            supports[i] = support(sets, set_offsets[i], set_offsets[i + 1], rows, enough)
    return result


def support(
    sets: Code[::1], first: cython.Py_ssize_t, last: cython.Py_ssize_t, rows: Rows, enough: cython.longlong
) -> cython.longlong:
    """Return the support of the itemset ``sets[first:last]``, or a part of it that reaches ``enough``."""
    cython.declare(slot=cython.Py_ssize_t, row=cython.Py_ssize_t)
    if first == last:
        return total(rows.weights)
    item: cython.Py_ssize_t = rarest(sets, first, last, rows.starts)
    held: cython.longlong = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        row = rows.tids[slot]
        if contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], sets, first, last):
            held += rows.weights[row]
            if held >= enough:
                break
    return held


def mark_itemsets(sets: Code[::1], set_offsets: Number[::1], rows: Rows, held: cython.uchar[::1]) -> None:
    """Set ``held[row]`` in the rows that contain at least one of the given non-empty itemsets."""
    cython.declare(i=cython.Py_ssize_t, item=cython.Py_ssize_t, slot=cython.Py_ssize_t, row=cython.Py_ssize_t)
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


def mark_shortened(
    codes: Code[::1],
    offsets: Number[::1],
    labels: Code[::1],
    n_labels: cython.Py_ssize_t,
    shortened: cython.uchar[::1],
) -> None:
    """Set ``shortened[row]`` in the rows in which two codes have the same label."""
    cython.declare(row=cython.Py_ssize_t, p=cython.Py_ssize_t)
    stamp: cython.longlong[::1] = np.full(n_labels, -1, np.int64)  # the last row with each label
    with cython.nogil:
        for row in range(offsets.shape[0] - 1):
            for p in range(offsets[row], offsets[row + 1]):
                label = labels[codes[p]]
                if stamp[label] == row:
                    shortened[row] = True
                    break
                stamp[label] = row


def count_pairs(
    codes: Code[::1], offsets: Number[::1], weights: Number[::1], n_items: cython.Py_ssize_t
) -> NDArray[np.int32]:
    """Count the support of each pair a < b of a few items, as a flattened matrix."""
    result = np.empty(n_items * n_items, np.int32)
    count: cython.int[::1] = result
    rows: Code[::1] = np.arange(len(weights), dtype=np.int32)
    items: cython.const[cython.uint][::1] = np.asarray(codes).view(np.uint32)
    with cython.nogil:
        count_local_pairs(count, n_items, items, offsets, rows.shape[0], rows, weights)
    return result


def count_local_pairs(
    count: cython.int[::1],
    d: cython.Py_ssize_t,
    items: cython.const[cython.uint][::1],
    bounds: Number[::1],
    n_rows: cython.Py_ssize_t,
    sources: Code[::1],
    weights: Number[::1],
) -> cython.void:
    """Count the pairs of d local items in a dense d x d matrix.

    Row i is ``items[bounds[i]:bounds[i + 1]]``, with the weight of row ``sources[i]``. The sum of all weights
    is below 2**31, so a support fits an entry.
    """
    cython.declare(i=cython.Py_ssize_t, p=cython.Py_ssize_t, q=cython.Py_ssize_t, line=cython.size_t)
    weight: cython.int
    count[: d * d] = 0
    for i in range(n_rows):
        weight = weights[sources[i]]
        for p in range(bounds[i], bounds[i + 1]):
            line = cython.cast(cython.size_t, items[p]) * d
            for q in range(p + 1, bounds[i + 1]):
                count[line + items[q]] += weight


# --- Estimates: how many original rows contain an itemset


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
    """Estimate the support of each itemset: the sum over the rows of odds times a factor.

    ``labels[label_starts[item]:label_starts[item + 1]]`` may represent an item, the most specific label
    first. ``odds[label, j]`` is for a label that represents j items of the query. The factor of query ``i``
    and a row is ``rows.weights[row] * factors[i, classes[row]]``.
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
    """Queries, with the current one in ``sets[first:last]``, and the released rows that answer them."""

    sets: Code[::1]
    cython.declare(first=cython.Py_ssize_t, last=cython.Py_ssize_t)
    labels: Code[::1]
    label_starts: Number[::1]
    odds: Real[:, ::1]
    rows: Rows
    chosen: cython.int[::1]  # for each item of the query, the label that represents it in a row

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
        """Return the estimate for the current query."""
        cython.declare(row=cython.Py_ssize_t, slot=cython.Py_ssize_t, place=cython.Py_ssize_t)
        cython.declare(label=cython.Py_ssize_t, item=cython.Py_ssize_t, factor=cython.double)
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
                # Count a row with several labels of the item once, for the first of them.
                if factor > 0 and self._label_in(item, row) == label:
                    total += factor * self._odds_in(row)
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _rarest(self) -> cython.Py_ssize_t:
        """Return the item whose labels have the lowest total support."""
        cython.declare(i=cython.Py_ssize_t, slot=cython.Py_ssize_t, label=cython.Py_ssize_t)
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
        """Return the first label of an item in a row, -1 if there is none."""
        cython.declare(slot=cython.Py_ssize_t, low=cython.Py_ssize_t, high=cython.Py_ssize_t)
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
        """Return the odds that a released row contained all items of the query."""
        cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t)
        size: cython.Py_ssize_t = self.last - self.first
        cython.declare(times=cython.Py_ssize_t, seen=cython.bint)
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


# --- Losses of quasi-identifiers


def look_up(
    tables: Number[::1], starts: Number[::1], codes: Code[:, ::1], rows: Number[::1]
) -> NDArray[np.int64]:
    """Sum, for some rows, the table entries of their values in all columns."""
    losses = np.empty(len(rows), np.int64)
    found: cython.longlong[::1] = losses
    cython.declare(place=cython.Py_ssize_t, column=cython.Py_ssize_t, loss=cython.longlong)
    with cython.nogil:
        for place in range(rows.shape[0]):
            loss = 0
            for column in range(starts.shape[0]):
                loss += tables[starts[column] + codes[rows[place], column]]
            found[place] = loss
    return losses
