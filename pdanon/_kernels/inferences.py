"""Search for inferences: itemsets whose rows contain one more, sensitive item too often.

The rows with that item are its owners. An itemset X is in a(X) owners and in b(X) other rows, and breaks rho
if ``a(X) * (below - above) > above * b(X)``, where rho is ``above / below``.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, Rows, grown
from numpy.typing import NDArray

__all__ = ["Found", "Inferences", "Marks", "Path", "Stack", "rows_beyond"]

Array = NDArray[Any]


# --- What is found, and marked


def rows_beyond(
    rows: Rows, owners: Code[::1], items: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows hold all that some rows hold besides an item: those with the item, and those without it.

    The rows are ``owners[begin:end]``, the item of each, which it holds, is in ``items``. Items are numbered
    by their supports, so that the first one of a row is its rarest. 0 where a row holds nothing else.
    """
    together, apart = np.zeros((2, end - begin), np.int64)
    a: cython.longlong[::1] = together
    b: cython.longlong[::1] = apart
    codes: Code[::1] = rows.codes
    offsets: Number[::1] = rows.offsets
    cython.declare(first=cython.Py_ssize_t, last=cython.Py_ssize_t, i=cython.Py_ssize_t)
    cython.declare(slot=cython.Py_ssize_t, row=cython.Py_ssize_t)
    with cython.nogil:
        for i in range(begin, end):
            first, last = offsets[owners[i]], offsets[owners[i] + 1]
            if last - first < 2:
                continue
            rarest: cython.Py_ssize_t = codes[first] if codes[first] != items[i] else codes[first + 1]
            for slot in range(rows.starts[rarest], rows.starts[rarest + 1]):
                row = rows.tids[slot]
                held: cython.int = _holds(codes, offsets[row], offsets[row + 1], first, last, items[i])
                if held == 2:
                    a[i - begin] += rows.weights[row]
                elif held == 1:
                    b[i - begin] += rows.weights[row]
    return together, apart


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _holds(
    codes: Code[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    item: cython.int,
) -> cython.int:
    """Whether a row holds all of another: 2, or 1 if all but an item, or 0. Both are parts of the codes."""
    found: cython.int = 2
    for place in range(first, last):
        while start < stop and codes[start] < codes[place]:
            start += 1
        if start < stop and codes[start] == codes[place]:
            start += 1
        elif codes[place] == item:
            found = 1
        else:
            return 0
    return found


@cython.final
@cython.cclass
class Found:
    """Itemsets with a sensitive item each, and their numbers of owners of that item and of rows.

    Codes are in the order in which they are added. There are too many when ``room[0]`` is below 0.
    """

    def __init__(self, room: Array) -> None:
        self.room, self.n = room, 0
        self.codes, self.bounds = np.empty(256, np.int32), np.zeros(128, np.int64)
        self.owners, self.others, self.items = np.zeros((3, 128), np.int64)

    def add(
        self,
        members: cython.int[::1],
        size: cython.Py_ssize_t,
        item: cython.int,
        owners: cython.longlong,
        others: cython.longlong,
    ) -> cython.int:
        """Add an itemset: so many members, for a sensitive item."""
        n: cython.Py_ssize_t = self.n
        begin: cython.Py_ssize_t = self.bounds[n]
        i: cython.Py_ssize_t
        if n + 2 > self.bounds.shape[0]:
            self.bounds = grown(self.bounds, n + 1, 2 * self.bounds.shape[0])
            self.owners = grown(self.owners, n, self.bounds.shape[0])
            self.others = grown(self.others, n, self.bounds.shape[0])
            self.items = grown(self.items, n, self.bounds.shape[0])
        while begin + size > self.codes.shape[0]:
            self.codes = grown(self.codes, begin, 2 * self.codes.shape[0])
        for i in range(size):
            self.codes[begin + i] = members[i]
        self.owners[n], self.others[n], self.items[n] = owners, others, item
        self.bounds[n + 1] = begin + size
        self.n += 1
        self.room[0] -= 1  # threads may lose one of each other's: it only ends later then
        return 0

    def arrays(self) -> tuple[Array, ...]:
        """Codes, bounds, sensitive items, and in how many of their owners and other rows each itemset is."""
        n: cython.Py_ssize_t = self.n
        codes, bounds = np.asarray(self.codes)[: self.bounds[n]], np.asarray(self.bounds)[: n + 1]
        items, owners, others = np.asarray(self.items), np.asarray(self.owners), np.asarray(self.others)
        return codes, bounds, items[:n], owners[:n], others[:n]


@cython.final
@cython.cclass
class Marks:
    """Rows that are marked, one search after the other.

    Parameters
    ----------
    marked : ndarray of bool, shape (rows,)
        The marks, which are set.
    before : ndarray of bool, shape (rows,), optional
        Those that each search begins with, so that none depends on what others did. By default they do.
    """

    def __init__(self, marked: Array, before: Array | None) -> None:
        self.result, self.apart = marked, before is not None
        self.before = marked if before is None else before
        self.marked = marked if before is None else before.copy()

    def begin(self) -> cython.void:
        """Begin a search."""
        if self.apart:
            self.marked[:] = self.before

    def end(self) -> cython.void:
        """End a search."""
        for row in range(self.marked.shape[0] if self.apart else 0):
            if self.marked[row]:
                self.result[row] = True

    def set_all(self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Mark rows."""
        for i in range(begin, end):
            self.marked[rows[i]] = True

    def set_both(
        self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, which: cython.uchar[::1]
    ) -> cython.void:
        """Mark those of some rows that are among others."""
        for i in range(begin, end):
            if which[rows[i]]:
                self.marked[rows[i]] = True

    def has_all(self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether rows are all marked."""
        for i in range(begin, end):
            if not self.marked[rows[i]]:
                return False
        return True

    def set_if(
        self,
        row: cython.Py_ssize_t,
        codes: Code[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        values: cython.longlong[::1],
    ) -> cython.void:
        """Mark a row if one of its items, ``codes[begin:end]``, has a value below 0."""
        if not self.marked[row]:
            for place in range(begin, end):
                if values[codes[place]] < 0:
                    self.marked[row] = True
                    break


# --- The path of nodes that a search is at, and the rows of each


@cython.final
@cython.cclass
class Path:
    """Nodes, each the child of the one before, from the root on.

    A node has some members, and in ``following``, from ``begins`` to ``ends``, first the items that break rho
    with them, then those that may be added. ``cursor`` is where it is in these. The ``status`` of an item is
    whether it is a member, or is banned from all below: it breaks rho, or has been looked at with all others.
    """

    def __init__(self, n_items: cython.Py_ssize_t, deepest: cython.Py_ssize_t) -> None:
        self.begins, self.ends, self.cursor, self.n_members = np.zeros((4, deepest), np.int64)
        self.following, self.members = np.empty(n_items, np.int32), np.empty(n_items + 1, np.int32)
        self.status = np.zeros(n_items, np.uint8)

    def begin(self, item: cython.int) -> cython.void:
        """Begin at the root; an item counts as a member that is not listed."""
        self.status[:] = FREE
        self.status[item] = MEMBER
        self.begins[0] = self.ends[0] = self.n_members[0] = 0
        self.cursor[0] = -1

    def following_at(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Go on to the next item that may be added; -1 if there is none."""
        now: cython.Py_ssize_t = self.cursor[depth]
        if now >= self.begins[depth]:
            self.status[self.following[now]] = BANNED
        self.cursor[depth] = now + 1
        return now + 1 if now + 1 < self.ends[depth] else -1

    def enter(self, depth: cython.Py_ssize_t, now: cython.Py_ssize_t) -> cython.void:
        """Go on to a child: the node with one more item."""
        item: cython.int = self.following[now]
        self.members[self.n_members[depth]] = item
        self.n_members[depth + 1] = self.n_members[depth] + 1
        self.status[item] = MEMBER
        self.begins[depth + 1] = self.ends[depth + 1] = self.ends[depth]
        self.cursor[depth + 1] = self.ends[depth] - 1

    def leave(self, depth: cython.Py_ssize_t) -> cython.void:
        """Undo what a node has said of items."""
        i: cython.Py_ssize_t
        for i in range(self.begins[depth], self.ends[depth]):
            self.status[self.following[i]] = FREE
        for i in range(self.n_members[depth - 1] if depth else 0, self.n_members[depth]):
            self.status[self.members[i]] = FREE

    def make_room(self, n: cython.Py_ssize_t) -> cython.int:
        """Have space for so many items that follow."""
        if n > self.following.shape[0]:
            self.following = grown(self.following, self.following.shape[0], 2 * n)
        return 0


@cython.final
@cython.cclass
class Stack:
    """Rows of the nodes of a path, one after the other, and of what follows each.

    Those of the item at a place in ``following`` are from ``begins`` of the place to the next; those of the
    node in hand are ``rows[start:stop]``. All from ``free`` on is free.
    """

    def __init__(self) -> None:
        self.rows, self.begins = np.empty(1024, np.int32), np.zeros(128, np.int64)
        self.start = self.stop = self.free = 0

    def begin(self, n: cython.Py_ssize_t) -> cython.int:
        """Have so many rows in hand."""
        self.make_room(n)
        self.start, self.stop, self.free = 0, n, n
        return 0

    def take(self, now: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Take the rows of an item in hand; what follows its node ends at a place."""
        self.start, self.stop, self.free = self.begins[now], self.begins[now + 1], self.begins[end]

    def fill(
        self, tids: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, without: cython.uchar[::1]
    ) -> cython.int:
        """Take rows in hand, ``tids[begin:end]`` without some."""
        self.make_room(end - begin)
        self.start = self.stop = 0
        for i in range(begin, end):
            if not without[tids[i]]:
                self.rows[self.stop] = tids[i]
                self.stop += 1
        self.free = self.stop
        return 0

    def make_room(self, n: cython.Py_ssize_t) -> cython.int:
        """Have space for so many rows."""
        if n > self.rows.shape[0]:
            self.rows = grown(self.rows, self.rows.shape[0], 2 * n)
        return 0

    def make_room_for(self, n: cython.Py_ssize_t) -> cython.int:
        """Have space for the rows of so many items that follow."""
        if n >= self.begins.shape[0]:
            self.begins = grown(self.begins, self.begins.shape[0], 2 * n + 2)
        return 0

    def n_items(self, offsets: Number[::1]) -> cython.longlong:
        """How many items the rows in hand have."""
        row: cython.Py_ssize_t
        n: cython.longlong = 0
        for i in range(self.start, self.stop):
            row = self.rows[i]
            n += offsets[row + 1] - offsets[row]
        return n

    def flag(self, flags: cython.uchar[::1], value: cython.bint) -> cython.void:
        """Set the flags of the rows in hand."""
        for i in range(self.start, self.stop):
            flags[self.rows[i]] = value

    def gather(
        self,
        tids: Code[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        flags: cython.uchar[::1],
        to: cython.Py_ssize_t,
    ) -> cython.void:
        """Write those of ``tids[begin:end]`` that have a flag to a place."""
        for i in range(begin, end):
            if flags[tids[i]]:
                self.rows[to] = tids[i]
                to += 1

    def divide(
        self,
        codes: Code[::1],
        offsets: Number[::1],
        values: cython.longlong[::1],
        places: cython.longlong[::1],
    ) -> cython.longlong:
        """Write the rows in hand to the places of their items of a value above 0; the steps that takes."""
        cython.declare(row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(offsets[row], offsets[row + 1]):
                item = codes[place]
                if values[item] > 0:
                    self.rows[places[item]] = self.rows[i]
                    places[item] += 1
        return self.n_items(offsets)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_by(
    items: cython.int[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, values: cython.longlong[::1]
) -> cython.void:
    """Sort ``items[begin:end]`` by their values, then by themselves: Shell's sort."""
    gap: cython.Py_ssize_t = 1
    j: cython.Py_ssize_t
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            item = items[i]
            j = i
            while j >= begin + gap:
                other = items[j - gap]
                if values[other] < values[item] or (values[other] == values[item] and other < item):
                    break
                items[j] = other
                j -= gap
            items[j] = item
        gap //= 3


# --- The search


@cython.final
@cython.cclass
class Inferences:
    """Itemsets that break rho for a sensitive item, item after item.

    Depth first, over itemsets that are in a row with the item; those that may follow one are judged together,
    and the rarest goes first. An itemset in a row is in no fewer other rows than all else of the row, which
    ``apart`` says of each owner. So of the owners of an itemset, by ascending ``apart``, only those up to the
    last one count where those so far would be enough for a breach: an itemset that breaks rho is in no owner
    behind it, and if there is no such place, nothing that holds the itemset breaks it.

    With m, all itemsets of up to m items are listed, or their rows are marked if ``marked`` has a place for
    each row. No itemset that breaks rho is extended. If rows are marked, an itemset is skipped if all its
    rows are marked.

    With m = 0 the search of an item stops at the first itemset of any size that breaks rho. Itemsets are
    closed: each includes all items that all its owners hold, as these can extend any that breaks rho. If
    such an item comes earlier in the order, the itemset was visited before.

    The search stops after a number of steps, when more than ``room[0]`` itemsets are listed, or when
    ``halt[0]`` is set.
    """

    cython.declare(above=cython.longlong, beyond=cython.longlong, m=cython.Py_ssize_t, listing=cython.bint)
    marks: Marks
    halt: Flag[::1]
    codes: Code[::1]
    offsets: Number[::1]
    weights: Number[::1]
    starts: Number[::1]
    tids: Code[::1]
    owners: Code[::1]
    apart: Number[::1]
    supports: Number[::1]
    # The sensitive item, its owners, and which rows they are.
    cython.declare(item=cython.int, first=cython.Py_ssize_t, last=cython.Py_ssize_t)
    is_owner: cython.uchar[::1]
    in_hand: cython.uchar[::1]  # other rows, where they are looked up by item
    by_item: cython.bint
    # By item, 0 between nodes: owners in the node that hold it, in weight and in number; how far these count,
    # in weight (-1: it breaks rho) and number; other rows with it, in weight and in number.
    cython.declare(count=cython.longlong[::1], number=cython.longlong[::1], reach=cython.longlong[::1])
    cython.declare(n_reach=cython.longlong[::1], others=cython.longlong[::1], n_others=cython.longlong[::1])
    names: cython.int[::1]
    # The path, and of the node in hand its owners, as places in ``owners``, its other rows, and what the
    # owners weigh.
    path: Path
    a: Stack
    b: Stack
    cython.declare(weight=cython.longlong, steps=cython.longlong, limit=cython.longlong, was_cut=cython.bint)
    is_broken: cython.bint
    found: Found

    def __init__(
        self,
        rows: Rows,
        supports: Array,
        owners: Array,
        apart: Array,
        above: int,
        below: int,
        m: int,
        marks: Marks | None,
        found: Found,
        halt: Array,
    ) -> None:
        n_items, n_rows = len(supports), len(rows.weights)
        longest = int(np.diff(rows.offsets).max(initial=0)) + 2
        self.codes, self.offsets, self.weights = rows.codes, rows.offsets, rows.weights
        self.starts, self.tids = rows.starts, rows.tids
        self.supports, self.owners, self.apart = supports, owners, apart
        self.above, self.beyond, self.m = above, below - above, m
        self.listing, self.marks = marks is None, marks
        self.is_owner, self.in_hand = np.zeros((2, n_rows), np.uint8)
        self.count, self.number, self.reach, self.n_reach = np.zeros((4, n_items), np.int64)
        self.others, self.n_others = np.zeros((2, n_items), np.int64)
        self.names = np.empty(n_items, np.int32)
        self.path, self.a, self.b = Path(n_items, longest), Stack(), Stack()
        self.found, self.halt = found, halt

    def run(self, items: Code[::1], starts: Number[::1], chosen: Code[::1], limit: cython.longlong) -> Array:
        """Search for some items; the owners of each begin at ``starts``, and are by ascending ``apart``.

        Returns the steps of each, -1 if that is more than the limit, and whether there may be larger sets.
        """
        n: cython.Py_ssize_t = len(chosen)
        outcome = np.zeros((2, n), np.int64)
        told: cython.longlong[:, ::1] = outcome
        i: cython.Py_ssize_t
        self.limit = limit
        with cython.nogil:
            for i in range(n):
                if self.halt[0]:
                    break
                self.item = items[chosen[i]]
                self.first, self.last = starts[chosen[i]], starts[chosen[i] + 1]
                self._run()
                told[0, i] = self.steps if self.steps <= limit else -1
                told[1, i] = self.was_cut
        return outcome

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _run(self) -> cython.int:
        depth: cython.Py_ssize_t = 0
        self._begin()
        self._visit(0)
        while depth >= 0 and self.steps <= self.limit and not self.halt[0] and self.found.room[0] >= 0:
            if self.m == 0 and self.is_broken:
                break
            now: cython.Py_ssize_t = self.path.following_at(depth)
            if now < 0:
                self.path.leave(depth)
                depth -= 1
            elif self.listing or not self._is_marked(depth, now):
                self.a.take(now, self.path.ends[depth])
                self.b.take(now, self.path.ends[depth] if depth else now)
                self.path.enter(depth, now)
                depth += 1
                self._visit(depth)
        for i in range(self.first, self.last):
            self.is_owner[self.owners[i]] = False
        if not self.listing:
            self.marks.end()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self) -> cython.int:
        """Take all owners in hand."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.last - self.first
        self.steps = self.was_cut = self.is_broken = 0
        if not self.listing:
            self.marks.begin()
        self.path.begin(self.item)
        self.a.begin(n)
        self.b.begin(0)
        for i in range(n):
            self.a.rows[i] = cython.cast(cython.int, self.first + i)
            self.is_owner[self.owners[self.first + i]] = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(self, depth: cython.Py_ssize_t) -> cython.int:
        """Judge what may follow the itemset in hand, and divide its rows among that."""
        item: cython.Py_ssize_t
        n: cython.Py_ssize_t = self._count_owners()
        if self._goes_on(n, depth):
            if depth == 1:
                item = self.path.members[0]
                self.b.fill(self.tids, self.starts[item], self.starts[item + 1], self.is_owner)
                self.steps += self.b.stop
            if self.m == 0 and depth:
                self._close(n, depth)
            if not self.is_broken or self.m:
                self._count_others(n, depth)
                self._judge(n, depth)
        if self.by_item:
            self.b.flag(self.in_hand, False)
        self.by_item = False
        for i in range(n):
            item = self.names[i]
            self.count[item] = self.number[item] = self.reach[item] = self.n_reach[item] = 0
            self.others[item] = self.n_others[item] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_owners(self) -> cython.Py_ssize_t:
        """Name the items of the owners in hand; count these, and how far they count, for each."""
        n: cython.Py_ssize_t = 0
        cython.declare(row=cython.Py_ssize_t, place=cython.Py_ssize_t, weight=cython.longlong)
        self.weight = 0
        for i in range(self.a.start, self.a.stop):
            row = self.owners[self.a.rows[i]]
            weight = self.weights[row]
            bound: cython.longlong = self.above * self.apart[self.a.rows[i]]
            self.weight += weight
            self.steps += self.offsets[row + 1] - self.offsets[row]
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                if self.path.status[item] == MEMBER or (self.m and self.path.status[item] == BANNED):
                    continue
                if self.number[item] == 0:
                    self.names[n] = item
                    n += 1
                self.number[item] += 1
                self.count[item] += weight
                if self.count[item] * self.beyond > bound:
                    self.reach[item], self.n_reach[item] = self.count[item], self.number[item]
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _goes_on(self, n: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.bint:
        """Whether one of the n named items may follow, and all owners hold none that went before."""
        found: cython.bint = False
        for i in range(n):
            item = self.names[i]
            if self.path.status[item] == BANNED:
                if depth and self.count[item] == self.weight:
                    return False
                self.reach[item] = 0
            found |= self.reach[item] > 0
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _close(self, n: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.int:
        """Add the items that all owners in hand hold, and keep the other rows that hold these."""
        cython.declare(place=cython.Py_ssize_t, held=cython.Py_ssize_t, row=cython.int)
        begin: cython.Py_ssize_t = self.path.n_members[depth]
        end: cython.Py_ssize_t = begin
        stop: cython.Py_ssize_t = self.b.start
        support: cython.longlong = 0
        for i in range(n):
            item = self.names[i]
            if self.count[item] == self.weight:
                self.path.members[end] = item
                end += 1
                self.number[item] = -1
                self.reach[item] = 0
                self.path.status[item] = MEMBER
        self.path.n_members[depth] = end
        for i in range(self.b.start, self.b.stop if end > begin else self.b.start):
            row = self.b.rows[i]
            self.steps += self.offsets[row + 1] - self.offsets[row]
            held = 0
            for place in range(self.offsets[row], self.offsets[row + 1]):
                held += self.number[self.codes[place]] == -1
            if held == end - begin:
                self.b.rows[stop] = row
                stop += 1
                support += self.weights[row]
        if end > begin:
            self.b.stop = stop
            if self.weight * self.beyond > self.above * support:
                self.is_broken = True
                self.found.add(self.path.members, end, self.item, self.weight, support)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_others(self, n: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.void:
        """Count the other rows with each item that owners count for."""
        cython.declare(item=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        if depth == 0:
            for i in range(n):
                self.others[self.names[i]] = self.supports[self.names[i]] - self.count[self.names[i]]
            return
        self._choose(n)
        if self.by_item:
            for i in range(n):
                item = self.names[i]
                for place in range(self.starts[item], self.starts[item + 1] if self.reach[item] else 0):
                    if self.in_hand[self.tids[place]]:
                        self.others[item] += self.weights[self.tids[place]]
                        self.n_others[item] += 1
            return
        for i in range(self.b.start, self.b.stop):
            row = self.b.rows[i]
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                if self.reach[item]:
                    self.others[item] += self.weights[row]
                    self.n_others[item] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _choose(self, n: cython.Py_ssize_t) -> cython.void:
        """Choose what is less: to look at the other rows in hand, or at all rows with what may follow."""
        item: cython.Py_ssize_t
        of_rows: cython.longlong = self.b.n_items(self.offsets)
        of_items: cython.longlong = 2 * (self.b.stop - self.b.start)
        for i in range(n):
            item = self.names[i]
            of_items += self.starts[item + 1] - self.starts[item] if self.reach[item] else 0
        self.by_item = of_items < of_rows
        self.steps += min(of_items, of_rows)
        if self.by_item:
            self.b.flag(self.in_hand, True)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _judge(self, n: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.int:
        """Find the items that break rho with the itemset in hand, and those that may follow it."""
        begin: cython.Py_ssize_t = self.path.begins[depth]
        middle: cython.Py_ssize_t = begin
        n_members: cython.Py_ssize_t = self.path.n_members[depth]
        self.path.make_room(begin + n)
        self.a.make_room_for(begin + n)
        self.b.make_room_for(begin + n)
        for i in range(n):
            item = self.names[i]
            if self.reach[item] * self.beyond > self.above * self.others[item]:
                if self.listing:
                    self.path.members[n_members] = item
                    self.is_broken = True
                    self.found.add(
                        self.path.members, n_members + 1, self.item, self.reach[item], self.others[item]
                    )
                self.path.following[middle] = item
                self.path.status[item] = BANNED
                self.reach[item] = -1
                middle += 1
        if middle > begin and self.m and not self.listing:
            self._mark(begin, middle, depth)
        self.path.ends[depth] = middle
        self.path.cursor[depth] = middle - 1
        for i in range(n):
            if self.reach[self.names[i]] > 0:
                self.path.following[self.path.ends[depth]] = self.names[i]
                self.path.ends[depth] += 1
        if self.m and depth + 1 == self.m:
            self.was_cut |= self.path.ends[depth] > middle
            self.path.ends[depth] = middle
        sort_by(self.path.following, middle, self.path.ends[depth], self.reach)
        return self._divide(middle, depth)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _divide(self, middle: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.int:
        """Write the rows of each item that may follow behind those of the path."""
        a_free: cython.longlong[::1] = self.number  # from now on where the next row of each item goes
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        item: cython.Py_ssize_t
        end: cython.Py_ssize_t = self.path.ends[depth]
        for i in range(self.path.begins[depth], middle + 1):
            self.a.begins[i], self.b.begins[i] = self.a.free, self.b.free
        for i in range(middle, end):
            item = self.path.following[i]
            self.a.begins[i + 1] = self.a.begins[i] + self.n_reach[item]
            self.b.begins[i + 1] = self.b.begins[i] + self.n_others[item]
            a_free[item] = self.a.begins[i]
            self.others[item] = self.b.begins[i]
        self.a.make_room(self.a.begins[end])
        self.b.make_room(self.b.begins[end])
        for i in range(self.a.start, self.a.stop if end > middle else self.a.start):
            row = self.owners[self.a.rows[i]]
            self.steps += self.offsets[row + 1] - self.offsets[row]
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                if self.reach[item] > 0 and self.n_reach[item] > 0:
                    self.a.rows[a_free[item]] = self.a.rows[i]
                    a_free[item] += 1
                    self.n_reach[item] -= 1
        for i in range(middle, end if self.by_item else middle):
            item = self.path.following[i]
            self.b.gather(self.tids, self.starts[item], self.starts[item + 1], self.in_hand, self.b.begins[i])
        if depth and end > middle and not self.by_item:
            self.steps += self.b.divide(self.codes, self.offsets, self.reach, self.others)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _mark(self, begin: cython.longlong, end: cython.longlong, depth: cython.longlong) -> cython.void:
        """Mark the rows of the itemset in hand that hold one of some items, whose ``reach`` is -1."""
        cython.declare(i=cython.Py_ssize_t, item=cython.Py_ssize_t, row=cython.Py_ssize_t)
        if depth == 0:
            for i in range(begin, end):
                item = self.path.following[i]
                self.marks.set_all(self.tids, self.starts[item], self.starts[item + 1])
            return
        for i in range(self.a.start, self.a.stop):
            row = self.owners[self.a.rows[i]]
            self.marks.set_if(row, self.codes, self.offsets[row], self.offsets[row + 1], self.reach)
        for i in range(begin, end if self.by_item else begin):
            item = self.path.following[i]
            self.marks.set_both(self.tids, self.starts[item], self.starts[item + 1], self.in_hand)
        for i in range(self.b.start, self.b.start if self.by_item else self.b.stop):
            row = self.b.rows[i]
            self.marks.set_if(row, self.codes, self.offsets[row], self.offsets[row + 1], self.reach)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_marked(self, depth: cython.Py_ssize_t, now: cython.Py_ssize_t) -> cython.bint:
        """Whether all rows of an itemset that follows the one at a depth are marked."""
        i: cython.Py_ssize_t
        item: cython.Py_ssize_t = self.path.following[now]
        if depth == 0:
            return self.marks.has_all(self.tids, self.starts[item], self.starts[item + 1])
        for i in range(self.a.begins[now], self.a.begins[now + 1]):
            if not self.marks.marked[self.owners[self.a.rows[i]]]:
                return False
        return self.marks.has_all(self.b.rows, self.b.begins[now], self.b.begins[now + 1])
