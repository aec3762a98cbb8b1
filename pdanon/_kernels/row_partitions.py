"""Partitions of rows into groups around each row with a sensitive item."""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Numbers,
    count_bits,
    int32s,
    int64s,
    uint8s,
    uint64s,
)
from numpy.typing import NDArray

__all__ = ["SensitiveGroups", "form"]

Array = NDArray[Any]

LEFT_OUT = declare(int64, 2**62)  # above the number of tries
FEW = declare(int64, 4)  # rows to a part, on average: then counting items takes less time
FARTHEST = declare(int64, 2**62)  # above the keys of rows


# --- CAHD: groups of a row with a sensitive item and p - 1 similar rows
#
# Rows come in an order where neighbors are similar, and are identified by their position in it. The rows
# without a group form a doubly linked list.


@final
@cclass
class SensitiveGroups:
    """Rows, the groups formed so far, and work space."""

    # A group has p rows, and each sensitive item at most once. Candidates are ``width`` rows on each side of
    # a row. The ``n_items`` public items are numbered by descending support, and sensitive items separately.

    p: int64
    width: Py_ssize_t
    offsets: Numbers
    codes: Codes  # public items of each row
    secret_offsets: Numbers
    secrets: Codes  # sensitive items of each row
    left: int64s  # number of rows without a group that contain each sensitive item
    nearest: bint  # whether the nearest rows are searched among all rows
    group_of = declare(int64s, visibility="readonly")  # -1: none
    before: int64s  # the previous row without a group; -1 at the beginning
    after: int64s  # the next one; the number of rows at the end
    pivots: int64s  # rows with a sensitive item and without a group at the start of the pass
    n_pivots: Py_ssize_t
    turn: Py_ssize_t  # position of the current pivot in ``pivots``
    formed: bint  # whether this pass has made a group
    n_groups: int64
    remaining: int64  # number of rows without a group
    marked: uint8s  # flags of the public items of the pivot
    taken: int64s  # the last try that chose a row with the sensitive item
    tries: int64
    chosen: int64s  # rows of the current group
    candidates: int64s
    likeness: int64s  # similarity of each candidate to the pivot
    tally: int64s  # number of candidates by similarity; 0 between two pivots
    longest: int64  # largest number of public items of a row
    holders: _Holders
    seen: int64s  # the last try that compared each row; LEFT_OUT if it has a group
    shared: int32s  # number of items that each row shares with the pivot; 0 between two pivots
    near: int64s  # a heap of the keys of the rows that may be among the nearest
    nearest_free: int64s  # a heap of the least keys of rows without a sensitive item, negated
    parts: int64s  # a heap of the keys of the parts of the holders of the pivot's items

    def __init__(
        self,
        p: int,
        width: int,
        offsets: Array,
        codes: Array,
        secret_offsets: Array,
        secrets: Array,
        left: Array,
        n_items: int,
        nearest: bool,
    ) -> None:
        n_rows = len(offsets) - 1
        self.p, self.width = p, width
        self.offsets, self.codes = offsets, codes
        self.secret_offsets, self.secrets = secret_offsets, secrets
        self.left, self.nearest = left.copy(), nearest
        self.group_of = np.full(n_rows, -1, np.int64)
        self.before, self.after = np.arange(-1, n_rows - 1), np.arange(1, n_rows + 1)
        self.pivots = np.flatnonzero(np.diff(secret_offsets))
        self.n_pivots = len(self.pivots)
        self.turn, self.formed, self.n_groups, self.remaining = 0, False, 0, n_rows
        self.marked = np.zeros(n_items, np.uint8)
        self.taken, self.tries = np.zeros(len(left), np.int64), 0
        self.chosen = np.empty(p, np.int64)
        self.candidates, self.likeness = np.empty((2, 2 * width), np.int64)
        self.longest = int(np.diff(offsets).max(initial=0))
        self.tally = np.zeros(2 * self.longest + 1, np.int64)
        self.holders = _Holders(offsets, codes, n_items) if nearest else None
        self.seen = np.zeros(n_rows if nearest else 0, np.int64)
        self.near = np.empty(n_rows + 2 * width if nearest else 0, np.int64)
        self.shared = np.zeros(n_rows if nearest else 0, np.int32)
        self.nearest_free = np.empty(p - 1, np.int64)
        self.parts = np.empty(self.holders.begins.shape[0] - 1 if nearest else 0, np.int64)


def form(batch: Py_ssize_t, groups: SensitiveGroups) -> int:
    """Try to form a group around each of the next ``batch`` pivots; return the number tried, 0 at the end."""
    done: Py_ssize_t = 0
    with nogil:
        while done < batch:
            if groups.turn == groups.n_pivots:
                if not groups.formed:
                    break
                _begin_pass(groups)
                continue
            _form_group(groups.pivots[groups.turn], groups)
            groups.turn += 1
            done += 1
    return done


@cfunc
@nogil
@exceptval(check=False)
def _begin_pass(groups: SensitiveGroups) -> void:
    """Begin a pass over the pivots without a group."""
    # A pivot that failed may succeed now: fewer rows are left, and so fewer sensitive items conflict.
    n: Py_ssize_t = 0
    for i in range(groups.n_pivots):
        if groups.group_of[groups.pivots[i]] < 0:
            groups.pivots[n] = groups.pivots[i]
            n += 1
    groups.n_pivots, groups.turn, groups.formed = n, 0, False


@cfunc
@nogil
@exceptval(check=False)
def _form_group(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Form a group around a row, if there are enough rows and the remaining rows stay safe."""
    n = 1
    if groups.group_of[row] >= 0:
        return
    groups.tries += 1
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = True
    groups.chosen[0] = row
    _note_secrets(row, groups)
    groups.group_of[row] = groups.n_groups
    if groups.nearest:
        n = _choose_nearest(row, groups)
    if n < groups.p:
        n = _choose_neighbors(row, n, groups)
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = False
    if n == groups.p and _is_safe(groups):
        for i in range(n):
            _unlink(groups.chosen[i], groups)
            if groups.nearest:
                groups.seen[groups.chosen[i]] = LEFT_OUT
        groups.remaining -= n
        groups.n_groups += 1
        groups.formed = True
        return
    for i in range(n):
        groups.group_of[groups.chosen[i]] = -1


@cfunc
@nogil
@exceptval(check=False)
def _note_secrets(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Note that the sensitive items of a row are in the group or among its candidates."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        groups.taken[groups.secrets[place]] = groups.tries


@cfunc
@nogil
@exceptval(check=False)
def _conflicts(row: Py_ssize_t, groups: SensitiveGroups) -> bint:
    """Return whether a row has a sensitive item that is already taken."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        if groups.taken[groups.secrets[place]] == groups.tries:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _is_safe(groups: SensitiveGroups) -> bint:
    """Return whether the remaining rows can still form one group; if so, count their sensitive items."""
    # No sensitive item may be in more than one p-th of the remaining rows.
    most = (groups.remaining - groups.p) // groups.p
    safe = True
    _count_secrets(-1, groups)
    for item in range(groups.left.shape[0]):
        if groups.left[item] > most:
            safe = False
            break
    if not safe:
        _count_secrets(1, groups)
    return safe


@cfunc
@nogil
@exceptval(check=False)
def _count_secrets(change: int64, groups: SensitiveGroups) -> void:
    """Add ``change`` to the counts of the sensitive items of the group."""
    for i in range(groups.p):
        row = groups.chosen[i]
        for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
            groups.left[groups.secrets[place]] += change


@cfunc
@nogil
@exceptval(check=False)
def _unlink(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Remove a row from the list of rows without a group."""
    before = groups.before[row]
    after = groups.after[row]
    if before >= 0:
        groups.after[before] = after
    if after < groups.before.shape[0]:
        groups.before[after] = before


# --- Neighbors in the order


@cfunc
@nogil
@exceptval(check=False)
def _choose_neighbors(row: Py_ssize_t, n_chosen: int64, groups: SensitiveGroups) -> int64:
    """Choose the most similar candidates, if they fill the group; return the size of the group."""
    # A tie goes to the nearest candidate; candidates are listed by distance.
    lacking = groups.p - n_chosen
    least = groups.tally.shape[0] - 1
    n = _list_neighbors(row, groups)
    if n < lacking:
        return n_chosen
    for i in range(n):
        groups.tally[groups.likeness[i]] += 1
    more = 0  # candidates more similar than the last one to choose
    while more + groups.tally[least] < lacking:
        more += groups.tally[least]
        least -= 1
    for i in range(n):
        groups.tally[groups.likeness[i]] = 0
    equal = lacking - more
    for i in range(n):
        if groups.likeness[i] < least or (groups.likeness[i] == least and equal == 0):
            continue
        if groups.likeness[i] == least:
            equal -= 1
        groups.chosen[n_chosen] = groups.candidates[i]
        groups.group_of[groups.candidates[i]] = groups.n_groups
        n_chosen += 1
    return n_chosen


@cfunc
@nogil
@exceptval(check=False)
def _list_neighbors(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """List candidates on both sides of a row by distance; return their number."""
    # A tie goes to the row before.
    n: Py_ssize_t = 0
    n_rows = groups.before.shape[0]
    before = groups.before[row]
    after = groups.after[row]
    room_before = groups.width
    room_after = groups.width
    while (before >= 0 and room_before) or (after < n_rows and room_after):
        is_before: bint = before >= 0 and room_before > 0
        if is_before and after < n_rows and room_after and after - row < row - before:
            is_before = False
        if is_before:
            candidate = before
            before = groups.before[before]
        else:
            candidate = after
            after = groups.after[after]
        if groups.group_of[candidate] >= 0 or _conflicts(candidate, groups):
            continue
        if is_before:
            room_before -= 1
        else:
            room_after -= 1
        _note_secrets(candidate, groups)
        groups.candidates[n], groups.likeness[n] = candidate, _likeness(candidate, groups)
        n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _likeness(row: Py_ssize_t, groups: SensitiveGroups) -> int64:
    """Return the similarity of a row to the pivot: the number of public items that both have."""
    # If the nearest rows are searched, it is twice that number, less the length of the row, plus the largest
    # length. So it is the number of differing items, negated and shifted to be at least 0.
    n: int64 = 0
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        n += groups.marked[groups.codes[place]]
    return 2 * n - _length(row, groups) + groups.longest if groups.nearest else n


@cfunc
@nogil
@exceptval(check=False)
def _length(row: Py_ssize_t, groups: SensitiveGroups) -> int64:
    """Return the number of public items of a row."""
    return groups.offsets[row + 1] - groups.offsets[row]


# --- Nearest rows, anywhere in the order
#
# A row differs from the pivot in a + b - 2c items, if their lengths are a and b and they share c items.
# Before the rarest shared item, there are i items of the pivot and j of the row, so c <= min(i, j) + 1.
# The rows with the same b and j are a part of the holders of this item, with one lower bound for all of them.
# Parts are searched by ascending bound. The search ends when enough rows differ less than the next bound.
# A row that is found in the part of another shared item was found before, in that of the rarest one.
#
# Long rows have so many lengths and places that a part has few rows. Then the shared items of all holders are
# counted instead.


@final
@cclass
class _Holders:
    """The rows with each item, in parts by their length and the place of the item in the row."""

    # A part ends before its rows that were removed. The holders of an item are consecutive parts.

    firsts: int64s  # the first part of each item
    begins: int64s  # the first entry of each part in ``rows``
    ends: int64s  # end of the rows of each part that may still have no group
    lengths: int32s
    places: int32s
    rows: int32s
    signatures: uint64s  # of each of ``rows``, see ``_signature``

    def __init__(self, offsets: Numbers, codes: Codes, n_items: int) -> None:
        lengths = np.diff(offsets)
        order = np.argsort(lengths, kind="stable")
        n_parts, free = np.zeros((2, n_items + 1), np.int64)
        free[1:] = np.cumsum(np.bincount(codes, minlength=n_items))
        self.rows, self.firsts = np.empty(len(codes), np.int32), n_parts
        self.signatures, words = np.empty(len(codes), np.uint64), np.empty(len(lengths), np.uint64)
        _sign_rows(words, offsets, codes)
        self.begins = self.ends = np.zeros(1, np.int64)
        self.lengths = self.places = np.zeros(1, np.int32)
        self._divide(offsets, codes, order, words, free, False)
        firsts = np.append(0, np.cumsum(n_parts[:n_items]))
        self.firsts = firsts[:n_items].copy()
        self.begins = np.full(firsts[n_items] + 1, len(codes))
        self.lengths, self.places = np.zeros((2, firsts[n_items]), np.int32)
        self._divide(offsets, codes, order, words, free, True)
        self.firsts, self.ends = firsts, np.asarray(self.begins)[1:].copy()

    @cfunc
    def _divide(
        self,
        offsets: Numbers,
        codes: Codes,
        order: Numbers,
        words: uint64s,
        free: int64s,
        write: bint,
    ) -> int32:
        """Visit the occurrences by length and place: count the parts of each item in ``firsts``, or write."""
        # ``order`` has the rows by length, and ``words`` the signature of each row. ``free`` has the position
        # of the next row of each item.
        last: int64s = np.full(len(free), -1)  # the last kind of rows that had each item
        i: Py_ssize_t
        item: Py_ssize_t
        stop: Py_ssize_t
        kind: int64 = 0
        begin: Py_ssize_t = 0
        with nogil:
            while begin < order.shape[0]:
                length = offsets[order[begin] + 1] - offsets[order[begin]]
                stop = begin
                while stop < order.shape[0] and offsets[order[stop] + 1] - offsets[order[stop]] == length:
                    stop += 1
                for place in range(length):
                    kind += 1
                    for i in range(begin, stop):
                        row = order[i]
                        item = codes[offsets[row] + place]
                        if last[item] != kind:
                            last[item] = kind
                            part = self.firsts[item]
                            self.firsts[item] = part + 1
                            if write:
                                self.begins[part] = free[item]
                                self.lengths[part] = length
                                self.places[part] = place
                        if write:
                            self.rows[free[item]] = row
                            self.signatures[free[item]] = words[row]
                            free[item] += 1
                begin = stop
        return 0


@cfunc
@nogil
@exceptval(check=False)
def _choose_nearest(row: Py_ssize_t, groups: SensitiveGroups) -> int64:
    """Choose the rows that differ least from a row, if they share an item; return the group's size."""
    n = _list_nearest(row, groups)
    n_chosen: int64 = 1
    for i in range(n // 2 - 1, -1, -1):
        _sink(i, n, groups.near)
    while n_chosen < groups.p and n:
        candidate = _row_at(groups.near[0], row, groups)
        n -= 1
        groups.near[0] = groups.near[n]
        _sink(0, n, groups.near)
        if _conflicts(candidate, groups):
            continue
        _note_secrets(candidate, groups)
        groups.chosen[n_chosen] = candidate
        groups.group_of[candidate] = groups.n_groups
        n_chosen += 1
    return n_chosen


@cfunc
@nogil
@exceptval(check=False)
def _list_nearest(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """List the keys of the rows without a group that may be among the nearest; return their number."""
    # They share a public item with the row. Rows are not listed if p - 1 rows without a sensitive item, which
    # never conflict, are nearer.
    for i in range(groups.p - 1):
        groups.nearest_free[i] = -FARTHEST
    n = _list_adjacent(row, groups)
    if _has_small_parts(row, groups):
        return _list_sharing(row, n, groups)
    return _search_parts(row, n, groups)


@cfunc
@nogil
@exceptval(check=False)
def _has_small_parts(row: Py_ssize_t, groups: SensitiveGroups) -> bint:
    """Return whether the parts of the items of a row have few rows on average."""
    n_parts = 0
    n_holders = 0
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        first = groups.holders.firsts[groups.codes[place]]
        end = groups.holders.firsts[groups.codes[place] + 1]
        n_parts += end - first
        n_holders += groups.holders.begins[end] - groups.holders.begins[first]
    return n_holders <= FEW * n_parts


@cfunc
@nogil
@exceptval(check=False)
def _list_sharing(row: Py_ssize_t, n: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Add the keys of rows that share an item, whose shared items are counted; return the number of keys."""
    # Until then, the rows are behind the keys.
    listed = n
    n_rows = n
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        begin = groups.holders.begins[groups.holders.firsts[groups.codes[place]]]
        end = groups.holders.begins[groups.holders.firsts[groups.codes[place] + 1]]
        for slot in range(begin, end):
            other = groups.holders.rows[slot]
            if groups.shared[other] == 0:
                groups.near[n_rows] = other
                n_rows += 1
            groups.shared[other] += 1
    for i in range(listed, n_rows):
        other = groups.near[i]
        if groups.seen[other] < groups.tries:  # neither in a group nor adjacent
            n = _list_key(other, row, groups.shared[other], n, groups)
        groups.shared[other] = 0
    return n


@cfunc
@nogil
@exceptval(check=False)
def _search_parts(row: Py_ssize_t, n: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Add the keys of rows in parts, by ascending bound; return the number of keys."""
    n_parts = _list_parts(row, groups)
    signature = _signature(row, groups.offsets, groups.codes)
    all_parts = groups.parts.shape[0]
    while n_parts and _remoteness(row, row, groups.parts[0] // all_parts, groups) <= -groups.nearest_free[0]:
        part = groups.parts[0] % all_parts
        n_parts -= 1
        groups.parts[0] = groups.parts[n_parts]
        _sink(0, n_parts, groups.parts)
        n = _list_part(part, row, signature, n, groups)
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_adjacent(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Add the keys of rows beside a row, so that few other rows can be nearer; return their number."""
    n = 0
    before = groups.before[row]
    after = groups.after[row]
    groups.seen[row] = groups.tries
    for _ in range(groups.width):
        if before >= 0:
            n = _list_row(before, row, n, groups)
            before = groups.before[before]
        if after < groups.before.shape[0]:
            n = _list_row(after, row, n, groups)
            after = groups.after[after]
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_parts(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Build a heap of the parts of a row's items, by the least difference of their rows; return its size."""
    n: Py_ssize_t = 0
    all_parts = groups.parts.shape[0]
    start = groups.offsets[row]
    item: Py_ssize_t
    i: Py_ssize_t
    before: int64
    bound: int64
    for at in range(start, groups.offsets[row + 1]):
        item = groups.codes[at]
        for part in range(groups.holders.firsts[item], groups.holders.firsts[item + 1]):
            if groups.holders.begins[part] == groups.holders.ends[part]:
                continue
            before = min(cast(int64, at - start), groups.holders.places[part])
            bound = _length(row, groups) + groups.holders.lengths[part] - 2 * (before + 1)
            groups.parts[n] = bound * all_parts + part
            n += 1
    for i in range(n // 2 - 1, -1, -1):
        _sink(i, n, groups.parts)
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_part(
    part: Py_ssize_t,
    row: Py_ssize_t,
    signature: uint64,
    n: Py_ssize_t,
    groups: SensitiveGroups,
) -> Py_ssize_t:
    """Add the keys of the rows of a part that are not listed yet; return the number of all listed rows."""
    # Rows with a group are removed from the part when they are found.
    slot = groups.holders.begins[part]
    end = groups.holders.ends[part]
    other: Py_ssize_t
    while True:
        slot = _skip_far(slot, end, row, signature, groups)
        if slot == end:
            break
        other = groups.holders.rows[slot]
        if groups.seen[other] == LEFT_OUT:
            end -= 1
            groups.holders.rows[slot], groups.holders.rows[end] = groups.holders.rows[end], other
            groups.holders.signatures[slot] = groups.holders.signatures[end]
            continue
        slot += 1
        if groups.seen[other] != groups.tries:
            n = _list_row(other, row, n, groups)
    groups.holders.ends[part] = end
    return n


@cfunc
@nogil
@exceptval(check=False)
def _skip_far(
    slot: Py_ssize_t,
    end: Py_ssize_t,
    row: Py_ssize_t,
    signature: uint64,
    groups: SensitiveGroups,
) -> Py_ssize_t:
    """Return the next slot of a row that may be among the nearest, by its signature."""
    limit = -groups.nearest_free[0]
    most = limit // (2 * groups.before.shape[0])
    while slot < end:
        differing = count_bits(groups.holders.signatures[slot] ^ signature)
        if differing < most:
            break
        if differing == most and _remoteness(groups.holders.rows[slot], row, most, groups) <= limit:
            break
        slot += 1
    return slot


@cfunc
@nogil
@exceptval(check=False)
def _list_row(other: Py_ssize_t, row: Py_ssize_t, n: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Count the shared items of a row that is not listed yet, and add its key; return the number of keys."""
    start = groups.offsets[other]
    stop = groups.offsets[other + 1]
    shared: int64 = 0
    groups.seen[other] = groups.tries
    for place in range(start, stop):
        shared += groups.marked[groups.codes[place]]
    return _list_key(other, row, shared, n, groups)


@cfunc
@nogil
@exceptval(check=False)
def _list_key(
    other: Py_ssize_t,
    row: Py_ssize_t,
    shared: int64,
    n: Py_ssize_t,
    groups: SensitiveGroups,
) -> Py_ssize_t:
    """Add the key of a row that shares an item and may be among the nearest; return the number of keys."""
    differing = _length(row, groups) + _length(other, groups) - 2 * shared
    key = _remoteness(other, row, differing, groups)
    if not shared or key > -groups.nearest_free[0]:
        return n
    groups.near[n] = key
    if groups.secret_offsets[other] == groups.secret_offsets[other + 1]:
        groups.nearest_free[0] = -key
        _sink(0, groups.p - 1, groups.nearest_free)
    return n + 1


@cfunc
@nogil
@exceptval(check=False)
def _sign_rows(words: uint64s, offsets: Numbers, codes: Codes) -> void:
    """Write the signature of each row."""
    for row in range(words.shape[0]):
        words[row] = _signature(row, offsets, codes)


@cfunc
@nogil
@exceptval(check=False)
def _signature(row: Py_ssize_t, offsets: Numbers, codes: Codes) -> uint64:
    """Return a word whose bit b is 1 if the row has an odd number of items of the form 64 i + b."""
    # So two rows differ in at least as many items as their words differ in bits.
    word: uint64 = 0
    one: uint64 = 1
    for place in range(offsets[row], offsets[row + 1]):
        word ^= one << (codes[place] & 63)
    return word


@cfunc
@nogil
@exceptval(check=False)
def _remoteness(other: Py_ssize_t, row: Py_ssize_t, differing: int64, groups: SensitiveGroups) -> int64:
    """Return a key to compare rows by: number of differing items, then distance, then side."""
    # The key also encodes the row; see ``_row_at``.
    far = 2 * (other - row) if other > row else 2 * (row - other) - 1
    return differing * 2 * groups.before.shape[0] + far


@cfunc
@nogil
@exceptval(check=False)
def _row_at(remoteness: int64, row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Return the row with this key."""
    far = remoteness % (2 * groups.before.shape[0])
    return row - (far + 1) // 2 if far % 2 else row + far // 2


@cfunc
@nogil
@exceptval(check=False)
def _sink(place: Py_ssize_t, n: Py_ssize_t, heap: int64s) -> void:
    """Move an entry of a min-heap down to its position."""
    entry = heap[place]
    below = 2 * place + 1
    while below < n:
        if below + 1 < n and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = entry
