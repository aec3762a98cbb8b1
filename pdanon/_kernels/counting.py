"""Rows of codes: sort them, find equal ones, count items, pairs and itemsets, estimate supports.

Rows are in CSR form: row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``. For counting, rows are ascending and
distinct, with a weight each. The transpose is ``starts``, ``tids``, ``positions``: for each item, the rows
that contain it, and its positions in ``codes``.
"""

import cython
import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
    cclass,
    cfunc,
    declare,
    double as float64,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    overflowcheck,
    size_t,
    uint as uint32,
    ulonglong as uint64,
    void,
    with_gil,
)
from numpy.typing import NDArray

__all__ = [
    "Rows",
    "canonical_rows",
    "collect_rows",
    "copy_places",
    "count_pairs",
    "estimates",
    "first_alike",
    "followers",
    "gather",
    "hashes",
    "item_supports",
    "itemset_supports",
    "join_rows",
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


@cfunc
@with_gil
def grown(array: Growing[::1], size: Py_ssize_t, capacity: Py_ssize_t) -> Growing[::1]:
    """Return an array of a capacity that begins with the first ``size`` entries of another."""
    larger: Growing[::1] = np.empty(capacity, np.int32 if Growing is int32 else np.int64)
    larger[:size] = array[:size]
    return larger


# --- Rows: sort them, and find equal ones


NUMBER = declare(int32, 31)  # bits of a row number in an entry of a hash table
MOST = declare(int64, 2**31 - 1)


def canonical_rows(
    codes: Codes,
    offsets: Numbers,
    targets: Codes,
    is_used: uint8s,
    repeats: bint,
    found: int32s,
    ends: int64s,
) -> int:
    """Replace each code by its target, and sort each row; drop duplicates unless ``repeats``.

    The rows are written to ``found``, which has room for all codes, and the end of each row to ``ends``.
    Negative codes and targets are left out. Targets that remain are marked in ``is_used``. Return the number
    of codes.
    """
    last: int32
    size: Py_ssize_t = 0
    with nogil:
        for row in range(offsets.shape[0] - 1):
            start, last = size, -1
            in_order: bint = True
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


@cfunc
@inline
@nogil
@exceptval(check=False)
def _drop_duplicates(codes: int32s, start: Py_ssize_t, stop: Py_ssize_t) -> Py_ssize_t:
    """Drop duplicates from the sorted ``codes[start:stop]``; return the new end."""
    size = start
    for position in range(start, stop):
        if size == start or codes[position] != codes[size - 1]:
            codes[size] = codes[position]
            size += 1
    return size


def sort_rows(codes: int32s, starts: Numbers, lengths: Numbers) -> NDArray[np.int64]:
    """Sort some rows in place. Return the positions of codes equal to the previous code of their row."""
    again = np.empty(total(lengths), np.int64)
    found: int64s = again
    count: Py_ssize_t = 0
    with nogil:
        for row in range(starts.shape[0]):
            sort_part(codes, starts[row], starts[row] + lengths[row])
            for position in range(starts[row] + 1, starts[row] + lengths[row]):
                if codes[position] == codes[position - 1]:
                    found[count] = position
                    count += 1
    return again[:count]


@cfunc
@nogil
@exceptval(check=False)
def sort_part(codes: int32s, start: Py_ssize_t, stop: Py_ssize_t) -> void:
    """Sort ``codes[start:stop]`` in place. Shellsort; in short rows, that is insertion sort."""
    gap: Py_ssize_t = 1
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


def sort_by(items: int32s, start: Py_ssize_t, stop: Py_ssize_t, values: Numbers, sign: int64) -> void:
    """Sort ``items[start:stop]`` by value, or with ``sign`` -1 by descending value; ties by item."""
    # Shellsort, as in ``sort_part``.
    gap: Py_ssize_t = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, stop):
            item = items[i]
            place = i
            while place >= start + gap:
                other = items[place - gap]
                if sign * values[other] < sign * values[item]:
                    break
                if values[other] == values[item] and other < item:
                    break
                items[place] = other
                place -= gap
            items[place] = item
        gap //= 3


def total(numbers: Numbers) -> int64:
    """Return the sum."""
    found = 0
    for i in range(numbers.shape[0]):
        found += numbers[i]
    return found


def gather(codes: Codes, starts: Numbers, lengths: Numbers) -> NDArray[np.int32]:
    """Concatenate ``codes[start:start + length]`` for each start and length."""
    gathered = np.empty(total(lengths), np.int32)
    found: int32s = gathered
    size: Py_ssize_t = 0
    with nogil:
        for row in range(starts.shape[0]):
            for position in range(starts[row], starts[row] + lengths[row]):
                found[size] = codes[position]
                size += 1
    return gathered


def collect_rows(
    codes: Codes,
    offsets: Numbers,
    weights: Numbers,
    kept_codes: int32s,
    kept_offsets: int64s,
    kept_weights: int64s,
    table: int64s,
    count: Py_ssize_t,
) -> tuple[int, NDArray[np.int32]]:
    """Add rows to ``count`` distinct rows; return the number of distinct rows, and of each row."""
    # ``table`` is a hash table with open addressing; its size is a power of 2. An entry has the hash of a row
    # and, in the last ``NUMBER`` bits, the number of the row; an empty entry is -1.
    result = np.empty(len(weights), np.int32)
    numbers: int32s = result
    size = kept_offsets[count]
    with nogil:
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


@cfunc
@nogil
@exceptval(check=False)
def _place(
    key: int64,
    codes: Codes,
    start: Py_ssize_t,
    stop: Py_ssize_t,
    kept_codes: Codes,
    kept_offsets: Numbers,
    table: Numbers,
) -> Py_ssize_t:
    """Return the position of a row in the hash table, or the empty position where it belongs."""
    last = table.shape[0] - 1
    place = key & last
    while table[place] >= 0:
        if table[place] >> NUMBER == key:  # compare hashes first: the other row may not be in the cache
            other = table[place] & MOST
            if _are_equal(codes, start, stop, kept_codes, kept_offsets[other], kept_offsets[other + 1]):
                break
        place = (place + 1) & last
    return place


def hashes(codes: Codes, offsets: Numbers, found: int64s) -> None:
    """Write the 32-bit hash of each row."""
    with nogil:
        for row in range(found.shape[0]):
            found[row] = _hash(codes, offsets[row], offsets[row + 1])


def first_alike(
    codes: Codes, offsets: Numbers, keys: Numbers, least: int64, above: int64, first: int64s
) -> None:
    """Write the first row that is equal to each row, for rows with a hash in ``least..above - 1``."""
    # Threads share the work by ranges of hashes: equal rows have equal hashes.
    n_rows: Py_ssize_t = 0
    with nogil:
        for row in range(keys.shape[0]):
            n_rows += least <= keys[row] < above
    table: int64s = np.full(1 << (3 * n_rows // 2).bit_length(), -1, np.int64)
    with nogil:
        for row in range(keys.shape[0]):
            if least <= keys[row] < above:
                place = _place(keys[row], codes, offsets[row], offsets[row + 1], codes, offsets, table)
                if table[place] < 0:
                    table[place] = keys[row] << NUMBER | row
                first[row] = table[place] & MOST


def numbered(
    first: Numbers, weights: Numbers
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Number distinct rows by first occurrence; return the numbers, the first rows, and the weights."""
    given, chosen = np.empty(len(first), np.int32), np.empty(len(first), np.int64)
    sums = np.zeros(len(first), np.int64)
    numbers: int32s = given
    firsts: int64s = chosen
    joint: int64s = sums
    count: Py_ssize_t = 0
    with nogil:
        for row in range(first.shape[0]):
            if first[row] == row:
                firsts[count] = row
                numbers[row] = count
                count += 1
            else:
                numbers[row] = numbers[first[row]]
            joint[numbers[row]] += weights[row]
    return given, chosen[:count], sums[:count]


def copy_places(table: Numbers, larger: int64s) -> None:
    """Insert the entries of a hash table into a larger, empty one."""
    last = larger.shape[0] - 1
    with nogil:
        for i in range(table.shape[0]):
            if table[i] >= 0:
                place = (table[i] >> NUMBER) & last
                while larger[place] >= 0:
                    place = (place + 1) & last
                larger[place] = table[i]


@cfunc
@nogil
@exceptval(check=False)
@overflowcheck(False)
def _hash(codes: Codes, start: Py_ssize_t, stop: Py_ssize_t) -> int64:
    """Return a 32-bit hash, in the manner of FNV-1a."""
    position: Py_ssize_t
    key: uint64 = 1469598103934665603
    prime: uint64 = 1099511628211
    low: uint64 = 2**32 - 1
    for position in range(start, stop):
        key = (key ^ cast(uint64, codes[position])) * prime
    return (key ^ (key >> 29)) & low


@cfunc
@nogil
@exceptval(check=False)
def _are_equal(
    codes: Codes, start: Py_ssize_t, stop: Py_ssize_t, others: Codes, other: Py_ssize_t, end: Py_ssize_t
) -> bint:
    """Return whether two rows are equal."""
    if stop - start != end - other:
        return False
    for i in range(stop - start):
        if codes[start + i] != others[other + i]:
            return False
    return True


# --- Supports of items, pairs and itemsets


@final
@cclass
class Rows:
    """Rows in CSR form with weights, and their transpose."""

    # The transpose is the start of the rows of each item, the rows, and the positions in ``codes``.

    def __init__(
        self,
        codes: Codes,
        offsets: Numbers,
        weights: Numbers,
        starts: Numbers,
        tids: Codes,
        positions: Numbers,
    ) -> None:
        self.codes, self.offsets, self.weights = codes, offsets, weights
        self.starts, self.tids, self.positions = starts, tids, positions


def item_supports(codes: Codes, offsets: Numbers, weights: Numbers, n_items: Py_ssize_t) -> NDArray[np.int64]:
    """Count the support of each item."""
    result = np.zeros(n_items, np.int64)
    supports: int64s = result
    with nogil:
        for row in range(weights.shape[0]):
            for position in range(offsets[row], offsets[row + 1]):
                supports[codes[position]] += weights[row]
    return result


def followers(codes: Codes, offsets: Numbers, n_items: Py_ssize_t) -> NDArray[np.int64]:
    """Count the codes that follow each item, over all of its rows."""
    result = np.zeros(n_items, np.int64)
    following: int64s = result
    with nogil:
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                following[codes[position]] += offsets[row + 1] - position - 1
    return result


def occurrences(codes: Codes, n_items: Py_ssize_t) -> NDArray[np.int64]:
    """Count the rows that contain each item, without weights."""
    result = np.zeros(n_items, np.int64)
    counts: int64s = result
    with nogil:
        for position in range(codes.shape[0]):
            counts[codes[position]] += 1
    return result


def transpose(
    codes: Codes,
    offsets: Numbers,
    begin: Py_ssize_t,
    end: Py_ssize_t,
    free: int64s,
    tids: int32s,
    positions: int64s,
) -> None:
    """Write, for each item, its rows among ``begin..end - 1``, and its positions in ``codes``."""
    # ``free`` has the position of the next entry of each item, and is updated. Empty ``positions`` stay
    # empty.
    item: Py_ssize_t
    written: bint = positions.shape[0] > 0
    with nogil:
        for row in range(begin, end):
            for position in range(offsets[row], offsets[row + 1]):
                item = codes[position]
                slot = free[item]
                tids[slot] = row
                if written:
                    positions[slot] = position
                free[item] = slot + 1


def pair_supports(rows: Rows, begin: Py_ssize_t, indptr: int64s, indices: int32s, data: int64s) -> None:
    """Write rows of the upper triangle (a < b) of the co-support matrix as CSR, from row ``begin`` on."""
    # The length of ``indptr`` determines the number of rows. Columns are unordered within a row.
    n_items = rows.starts.shape[0] - 1
    count: int64s = np.zeros(n_items, np.int64)
    touched: int32s = np.empty(n_items, np.int32)
    size: Py_ssize_t = 0
    with nogil:
        for a in range(indptr.shape[0] - 1):
            n_touched = _count_partners(begin + a, rows, count, touched)
            for i in range(n_touched):
                b = touched[i]
                indices[size] = b
                data[size] = count[b]
                count[b] = 0
                size += 1
            indptr[a + 1] = size


@cfunc
@nogil
@exceptval(check=False)
def _count_partners(a: Py_ssize_t, rows: Rows, count: int64s, touched: int32s) -> Py_ssize_t:
    """Count the items b > a in the rows of a; list them in ``touched``, and return their number."""
    row: Py_ssize_t
    n_touched: Py_ssize_t = 0
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


def itemset_supports(sets: Codes, set_offsets: Numbers, rows: Rows, enough: int64) -> NDArray[np.int64]:
    """Count the support of each given itemset (ascending codes); the empty itemset is in all rows."""
    # A count ends when it reaches ``enough``.
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: int64s = result
    i: Py_ssize_t
    with nogil:
        for i in range(supports.shape[0]):
            supports[i] = support(sets, set_offsets[i], set_offsets[i + 1], rows, enough)
    return result


def support(sets: Codes, first: Py_ssize_t, last: Py_ssize_t, rows: Rows, enough: int64) -> int64:
    """Return the support of the itemset ``sets[first:last]``, or a part of it that reaches ``enough``."""
    row: Py_ssize_t
    if first == last:
        return total(rows.weights)
    item = rarest(sets, first, last, rows.starts)
    held = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        row = rows.tids[slot]
        if contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], sets, first, last):
            held += rows.weights[row]
            if held >= enough:
                break
    return held


def mark_itemsets(sets: Codes, set_offsets: Numbers, rows: Rows, held: uint8s) -> None:
    """Set ``held[row]`` in the rows that contain at least one of the given non-empty itemsets."""
    row: Py_ssize_t
    with nogil:
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
    codes: Codes, offsets: Numbers, labels: Codes, n_labels: Py_ssize_t, shortened: uint8s
) -> None:
    """Set ``shortened[row]`` in the rows in which two codes have the same label."""
    stamp: int64s = np.full(n_labels, -1, np.int64)  # the last row with each label
    with nogil:
        for row in range(offsets.shape[0] - 1):
            for p in range(offsets[row], offsets[row + 1]):
                label = labels[codes[p]]
                if stamp[label] == row:
                    shortened[row] = True
                    break
                stamp[label] = row


def count_pairs(codes: Codes, offsets: Numbers, weights: Numbers, n_items: Py_ssize_t) -> NDArray[np.int32]:
    """Count the support of each pair a < b of a few items, as a flattened matrix."""
    result = np.empty(n_items * n_items, np.int32)
    count: int32s = result
    rows: Codes = np.arange(len(weights), dtype=np.int32)
    items: cython.const[uint32][::1] = np.asarray(codes).view(np.uint32)
    with nogil:
        count_local_pairs(count, n_items, items, offsets, rows.shape[0], rows, weights)
    return result


def count_local_pairs(
    count: int32s,
    d: Py_ssize_t,
    items: cython.const[uint32][::1],
    bounds: Numbers,
    n_rows: Py_ssize_t,
    sources: Codes,
    weights: Numbers,
) -> void:
    """Count the pairs of d local items in a dense d x d matrix."""
    # Row i is ``items[bounds[i]:bounds[i + 1]]``, with the weight of row ``sources[i]``. The sum of all
    # weights is below 2**31, so a support fits an entry.
    weight: int32
    count[: d * d] = 0
    for i in range(n_rows):
        weight = weights[sources[i]]
        for p in range(bounds[i], bounds[i + 1]):
            line = cast(size_t, items[p]) * d
            for q in range(p + 1, bounds[i + 1]):
                count[line + items[q]] += weight


# --- Estimates: how many original rows contain an itemset


def estimates(
    sets: Codes,
    set_offsets: Numbers,
    labels: Codes,
    label_starts: Numbers,
    odds: Real[:, ::1],
    rows: Rows,
    classes: Numbers,
    factors: Real[:, ::1],
) -> NDArray[np.float64]:
    """Estimate the support of each itemset: the sum over the rows of odds times a factor."""
    # ``labels[label_starts[item]:label_starts[item + 1]]`` may represent an item, the most specific label
    # first. ``odds[label, j]`` is for a label that represents j items of the query. The factor of query ``i``
    # and a row is ``rows.weights[row] * factors[i, classes[row]]``.
    totals = np.empty(len(set_offsets) - 1, np.float64)
    found: float64s = totals
    queries = _Queries(sets, labels, label_starts, odds, rows)
    i: Py_ssize_t
    with nogil:
        for i in range(found.shape[0]):
            queries.first, queries.last = set_offsets[i], set_offsets[i + 1]
            found[i] = queries.answer(classes, factors[i])
    return totals


@final
@cclass
class _Queries:
    """Queries, with the current one in ``sets[first:last]``, and the released rows that answer them."""

    sets: Codes
    first: Py_ssize_t
    last: Py_ssize_t
    labels: Codes
    label_starts: Numbers
    odds: Real[:, ::1]
    rows: Rows
    chosen: int32s  # for each item of the query, the label that represents it in a row

    def __init__(
        self, sets: Codes, labels: Codes, label_starts: Numbers, odds: Real[:, ::1], rows: Rows
    ) -> None:
        self.sets, self.labels, self.label_starts = sets, labels, label_starts
        self.odds, self.rows = odds, rows
        self.chosen = np.empty(odds.shape[1], np.int32)

    @cfunc
    @nogil
    @exceptval(check=False)
    def answer(self, classes: Numbers, factors: Reals) -> float64:
        """Return the estimate for the current query."""
        label: Py_ssize_t
        total = 0.0
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _rarest(self) -> Py_ssize_t:
        """Return the item whose labels have the lowest total support."""
        label: Py_ssize_t
        item: Py_ssize_t
        rarest: Py_ssize_t = self.sets[self.first]
        fewest = -1
        for i in range(self.first, self.last):
            item = self.sets[i]
            held = 0
            for slot in range(self.label_starts[item], self.label_starts[item + 1]):
                label = self.labels[slot]
                held += self.rows.starts[label + 1] - self.rows.starts[label]
            if fewest < 0 or held < fewest:
                rarest, fewest = item, held
        return rarest

    @cfunc
    @nogil
    @exceptval(check=False)
    def _label_in(self, item: Py_ssize_t, row: Py_ssize_t) -> Py_ssize_t:
        """Return the first label of an item in a row, -1 if there is none."""
        for slot in range(self.label_starts[item], self.label_starts[item + 1]):
            label = self.labels[slot]
            if find(self.rows.codes, self.rows.offsets[row], self.rows.offsets[row + 1], label) >= 0:
                return label
        return -1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _odds_in(self, row: Py_ssize_t) -> float64:
        """Return the odds that a released row contained all items of the query."""
        size = self.last - self.first
        times: Py_ssize_t
        seen: bint
        product: float64 = 1.0
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


def look_up(tables: Numbers, starts: Numbers, codes: Code[:, ::1], rows: Numbers) -> NDArray[np.int64]:
    """Sum, for some rows, the table entries of their values in all columns."""
    losses = np.empty(len(rows), np.int64)
    found: int64s = losses
    loss: int64
    with nogil:
        for place in range(rows.shape[0]):
            loss = 0
            for column in range(starts.shape[0]):
                loss += tables[starts[column] + codes[rows[place], column]]
            found[place] = loss
    return losses


# --- Joint rows of several releases


def join_rows(
    codes: Codes,
    offsets: Numbers,
    labels: Codes,
    label_offsets: Numbers,
    starts: Numbers,
    needed: Codes,
    first_known: Codes,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Extend the joint rows of some releases by one release. Items and labels ascend within a row.

    Joint item ``c`` is extended to the joint items from ``starts[c]`` to ``starts[c + 1] - 1``. ``needed``
    has the label of the next release that each one needs; -1 if it needs none. ``first_known`` has the
    extended joint item of each label alone, if some item has no label before; -1 if there is none. These
    items have the lowest codes.
    """
    size: Py_ssize_t = 0
    row_of: int64s = np.full(len(first_known), -1, np.int64)  # last row with each label
    ends = np.zeros(len(offsets), np.int64)
    bounds: int64s = ends
    joined = np.empty(len(labels) + int(np.diff(starts)[codes].sum()), np.int32)  # large enough
    found: int32s = joined
    with nogil:
        for row in range(offsets.shape[0] - 1):
            for place in range(label_offsets[row], label_offsets[row + 1]):
                row_of[labels[place]] = row
                if first_known[labels[place]] >= 0:
                    found[size] = first_known[labels[place]]
                    size += 1
            for place in range(offsets[row], offsets[row + 1]):
                for joint in range(starts[codes[place]], starts[codes[place] + 1]):
                    if needed[joint] < 0 or row_of[needed[joint]] == row:
                        found[size] = joint
                        size += 1
            bounds[row + 1] = size
    return joined[:size].copy(), ends
