"""Search for inferences: itemsets with a sensitive item in too many of their rows.

The rows with the sensitive item are its owners. Let a(X) be the number of owners, and b(X) the number of
other rows, that contain an itemset X. X breaks rho = ``above / below`` if ``a(X) * (below - above) > above *
b(X)``.
"""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    grown,
    int32s,
    int64s,
    sort_by,
    uint8s,
)
from cython.cimports.pdanon._kernels.itemset_search import Lists
from numpy.typing import NDArray

__all__ = ["Inferences", "Marks", "Path", "Stack", "rows_beyond"]

Array = NDArray[Any]


# --- Rows marked


def rows_beyond(
    rows: Rows, owners: Codes, items: Codes, begin: Py_ssize_t, end: Py_ssize_t
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the rows that contain all other items of an owner: with its sensitive item, and without."""
    # The owners are ``owners[begin:end]``, and ``items`` has the sensitive item of each. Items are numbered
    # by ascending support, so the first item of a row is its rarest. Both counts are 0 for a row without
    # other items.
    together, apart = np.zeros((2, end - begin), np.int64)
    a: int64s = together
    b: int64s = apart
    codes = rows.codes
    offsets = rows.offsets
    row: Py_ssize_t
    with nogil:
        for i in range(begin, end):
            first, last = offsets[owners[i]], offsets[owners[i] + 1]
            if last - first < 2:
                continue
            rarest: Py_ssize_t = codes[first] if codes[first] != items[i] else codes[first + 1]
            for slot in range(rows.starts[rarest], rows.starts[rarest + 1]):
                row = rows.tids[slot]
                held = _compare_items(codes, offsets[row], offsets[row + 1], first, last, items[i])
                if held == 2:
                    a[i - begin] += rows.weights[row]
                elif held == 1:
                    b[i - begin] += rows.weights[row]
    return together, apart


@cfunc
@inline
@nogil
@exceptval(check=False)
def _compare_items(
    codes: Codes,
    start: Py_ssize_t,
    stop: Py_ssize_t,
    first: Py_ssize_t,
    last: Py_ssize_t,
    item: int32,
) -> int32:
    """Return 2 if a row contains all items of another row, 1 if all except ``item``, otherwise 0."""
    # The rows are ``codes[start:stop]`` and ``codes[first:last]``.
    found: int32 = 2
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


@final
@cclass
class Marks:
    """Marks of rows, for one search after the other."""

    # ``marked`` is set. Each search starts with the marks ``before``, so that none depends on the marks of
    # another. By default, each search sees the marks of all others.

    def __init__(self, marked: Array, before: Array | None) -> None:
        self.result, self.apart = marked, before is not None
        self.before = marked if before is None else before
        self.marked = marked if before is None else before.copy()

    def begin(self) -> void:
        """Reset the marks for a new search."""
        if self.apart:
            self.marked[:] = self.before

    def end(self) -> void:
        """Add the marks of a search to the result."""
        for row in range(self.marked.shape[0] if self.apart else 0):
            if self.marked[row]:
                self.result[row] = True

    def set_all(self, rows: Codes, begin: Py_ssize_t, end: Py_ssize_t) -> void:
        """Mark rows."""
        for i in range(begin, end):
            self.marked[rows[i]] = True

    def set_both(self, rows: Codes, begin: Py_ssize_t, end: Py_ssize_t, which: uint8s) -> void:
        """Mark the rows that have a flag in ``which``."""
        for i in range(begin, end):
            if which[rows[i]]:
                self.marked[rows[i]] = True

    def has_all(self, rows: Codes, begin: Py_ssize_t, end: Py_ssize_t) -> bint:
        """Return whether all rows are marked."""
        for i in range(begin, end):
            if not self.marked[rows[i]]:
                return False
        return True

    def set_if(
        self,
        row: Py_ssize_t,
        codes: Codes,
        begin: Py_ssize_t,
        end: Py_ssize_t,
        values: int64s,
    ) -> void:
        """Mark a row if one of its items, ``codes[begin:end]``, has a negative value."""
        if not self.marked[row]:
            for place in range(begin, end):
                if values[codes[place]] < 0:
                    self.marked[row] = True
                    break


# --- The nodes on the current path, and the rows of each


@final
@cclass
class Path:
    """The nodes from the root to the current one.

    A node has members, and a part of ``following`` from ``begins`` to ``ends``: first the items that break
    rho with the members, then the items that extend them. ``cursor`` is its position in this part.

    The ``status`` of an item is member, banned or free. An item is banned below a node if it breaks rho with
    the members, or if the search has visited all itemsets with it.
    """

    def __init__(self, n_items: Py_ssize_t, deepest: Py_ssize_t) -> None:
        self.begins, self.ends, self.cursor, self.n_members = np.zeros((4, deepest), np.int64)
        self.following, self.members = np.empty(n_items, np.int32), np.empty(n_items + 1, np.int32)
        self.status = np.zeros(n_items, np.uint8)

    def begin(self, item: int32) -> void:
        """Reset the path to the root; ``item`` counts as a member that is not listed."""
        self.status[:] = FREE
        self.status[item] = MEMBER
        self.begins[0] = self.ends[0] = self.n_members[0] = 0
        self.cursor[0] = -1

    def following_at(self, depth: Py_ssize_t) -> Py_ssize_t:
        """Return the position of the next item that extends a node, -1 if there is none."""
        now = self.cursor[depth]
        if now >= self.begins[depth]:
            self.status[self.following[now]] = BANNED
        self.cursor[depth] = now + 1
        return now + 1 if now + 1 < self.ends[depth] else -1

    def enter(self, depth: Py_ssize_t, now: Py_ssize_t) -> void:
        """Append the child with one more item."""
        item = self.following[now]
        self.members[self.n_members[depth]] = item
        self.n_members[depth + 1] = self.n_members[depth] + 1
        self.status[item] = MEMBER
        self.begins[depth + 1] = self.ends[depth + 1] = self.ends[depth]
        self.cursor[depth + 1] = self.ends[depth] - 1

    def leave(self, depth: Py_ssize_t) -> void:
        """Undo the status that a node gave to items."""
        for i in range(self.begins[depth], self.ends[depth]):
            self.status[self.following[i]] = FREE
        for i in range(self.n_members[depth - 1] if depth else 0, self.n_members[depth]):
            self.status[self.members[i]] = FREE

    def make_room(self, n: Py_ssize_t) -> int32:
        """Make room for n items in ``following``."""
        if n > self.following.shape[0]:
            self.following = grown(self.following, self.following.shape[0], 2 * n)
        return 0


@final
@cclass
class Stack:
    """The rows of the nodes of a path, one after the other, and the rows of the extensions of each."""

    # The rows of the item at a position of ``following`` start at ``begins`` of the position, and end at the
    # next. The rows of the current node are ``rows[start:stop]``. Positions from ``free`` on are unused.

    def __init__(self) -> None:
        self.rows, self.begins = np.empty(1024, np.int32), np.zeros(128, np.int64)
        self.start = self.stop = self.free = 0

    def begin(self, n: Py_ssize_t) -> int32:
        """Reserve n rows for the root."""
        self.make_room(n)
        self.start, self.stop, self.free = 0, n, n
        return 0

    def take(self, now: Py_ssize_t, end: Py_ssize_t) -> void:
        """Select the rows of the item at position ``now``; the extensions of its node end at ``end``."""
        self.start, self.stop, self.free = self.begins[now], self.begins[now + 1], self.begins[end]

    def fill(self, tids: Codes, begin: Py_ssize_t, end: Py_ssize_t, without: uint8s) -> int32:
        """Select the rows ``tids[begin:end]`` without a flag in ``without``."""
        self.make_room(end - begin)
        self.start = self.stop = 0
        for i in range(begin, end):
            if not without[tids[i]]:
                self.rows[self.stop] = tids[i]
                self.stop += 1
        self.free = self.stop
        return 0

    def make_room(self, n: Py_ssize_t) -> int32:
        """Make room for n rows."""
        if n > self.rows.shape[0]:
            self.rows = grown(self.rows, self.rows.shape[0], 2 * n)
        return 0

    def make_room_for(self, n: Py_ssize_t) -> int32:
        """Make room for the starts of n extensions."""
        if n >= self.begins.shape[0]:
            self.begins = grown(self.begins, self.begins.shape[0], 2 * n + 2)
        return 0

    def n_items(self, offsets: Numbers) -> int64:
        """Count the items of the current rows."""
        row: Py_ssize_t
        n = 0
        for i in range(self.start, self.stop):
            row = self.rows[i]
            n += offsets[row + 1] - offsets[row]
        return n

    def flag(self, flags: uint8s, value: bint) -> void:
        """Set the flags of the current rows."""
        for i in range(self.start, self.stop):
            flags[self.rows[i]] = value

    def gather(self, tids: Codes, begin: Py_ssize_t, end: Py_ssize_t, flags: uint8s, to: Py_ssize_t) -> void:
        """Write the rows ``tids[begin:end]`` with a flag from position ``to`` on."""
        for i in range(begin, end):
            if flags[tids[i]]:
                self.rows[to] = tids[i]
                to += 1

    def divide(self, codes: Codes, offsets: Numbers, values: int64s, places: int64s) -> int64:
        """Copy the current rows to the places of their items with positive values; return the steps."""
        row: Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(offsets[row], offsets[row + 1]):
                item = codes[place]
                if values[item] > 0:
                    self.rows[places[item]] = self.rows[i]
                    places[item] += 1
        return self.n_items(offsets)


# --- The search


@final
@cclass
class Inferences:
    """Itemsets that break rho, one sensitive item after the other.

    The search is depth first, over itemsets with at least one owner. It tests all extensions of an itemset
    together, and visits the rarest first.

    ``apart`` bounds the search. For an owner, it is the number of other rows that contain all its other
    items. So an itemset in this owner is in at least ``apart`` other rows. The owners of an itemset X are in
    ascending order of ``apart``. An owner counts up to the last position where the owners so far suffice for
    a breach. An itemset that contains X and breaks rho has no owner behind that position. Without such a
    position, no such itemset exists.

    With m > 0, all itemsets of up to m items are listed, or their rows are marked in ``marks``. An itemset
    that breaks rho is not extended. If rows are marked, an itemset is skipped if all its rows are marked.

    With m = 0, the search of a sensitive item stops at the first itemset of any size that breaks rho.
    Itemsets are closed: each includes all items that all its owners contain, because a breach
    stays a breach when they are added. If such an item comes earlier in the order, the itemset was visited
    before.

    The search stops after a number of steps, when more than ``room[0]`` itemsets are listed, or when
    ``halt[0]`` is set.
    """

    declare(above=int64, beyond=int64, m=Py_ssize_t, listing=bint)
    marks: Marks
    halt: Flags
    codes: Codes
    offsets: Numbers
    weights: Numbers
    starts: Numbers
    tids: Codes
    owners: Codes
    apart: Numbers
    supports: Numbers
    # The sensitive item, the range of its owners, and a flag for each of their rows.
    declare(item=int32, first=Py_ssize_t, last=Py_ssize_t)
    is_owner: uint8s
    in_hand: uint8s  # flags of the other rows of the node, if `by_item`
    by_item: bint
    # By item, 0 between nodes, each weighted and unweighted: owners of the node with the item; those of them
    # that count (weighted -1: the item breaks rho); other rows of the node with the item.
    declare(count=int64s, number=int64s, reach=int64s)
    declare(n_reach=int64s, others=int64s, n_others=int64s)
    names: int32s
    # The path. Then, for the current node, its owners as positions in ``owners``, its other rows, and the
    # weight of the owners.
    path: Path
    a: Stack
    b: Stack
    declare(weight=int64, steps=int64, limit=int64, was_cut=bint)
    is_broken: bint
    found: Lists  # the antecedents, with the numbers of owners and of other rows, 31 bits each
    room: int64s

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
        room: Array,
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
        self.found, self.room, self.halt = Lists(), room, halt

    def run(
        self, items: Codes, starts: Numbers, chosen: Codes, limit: int64
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Search for the chosen sensitive items; return lines with an entry for each, and the itemsets found.

        The owners of item ``i`` start at ``starts[i]``, by ascending ``apart``. The lines are the number of
        steps, -1 if that exceeds the limit; whether larger itemsets may exist; and the number of itemsets.
        These are in CSR form, item after item, with their numbers of owners and of other rows.
        """
        n = len(chosen)
        outcome = np.zeros((3, n), np.int64)
        answers: int64[:, ::1] = outcome
        self.limit = limit
        with nogil:
            for i in range(n):
                if self.halt[0]:
                    break
                self.item = items[chosen[i]]
                self.first, self.last = starts[chosen[i]], starts[chosen[i] + 1]
                before = self.found.n
                self._run()
                answers[0, i] = self.steps if self.steps <= limit else -1
                answers[1, i] = self.was_cut
                answers[2, i] = self.found.n - before
        codes, bounds, numbers = self.found.arrays()
        return outcome, codes, bounds, numbers >> 31, numbers & (2**31 - 1)

    @cfunc
    @nogil
    @exceptval(-1)
    def _run(self) -> int32:
        """Search for the current sensitive item."""
        depth: Py_ssize_t = 0
        self._begin()
        self._visit(0)
        while depth >= 0 and self.steps <= self.limit and not self.halt[0] and self.room[0] >= 0:
            if self.m == 0 and self.is_broken:
                break
            now = self.path.following_at(depth)
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

    @cfunc
    @nogil
    @exceptval(-1)
    def _begin(self) -> int32:
        """Reset the search, and select all owners."""
        n = self.last - self.first
        self.steps = self.was_cut = self.is_broken = 0
        if not self.listing:
            self.marks.begin()
        self.path.begin(self.item)
        self.a.begin(n)
        self.b.begin(0)
        for i in range(n):
            self.a.rows[i] = self.first + i
            self.is_owner[self.owners[self.first + i]] = True
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _visit(self, depth: Py_ssize_t) -> int32:
        """Test all extensions of the current itemset, and divide its rows among them."""
        item: Py_ssize_t
        n = self._count_owners()
        if self._can_extend(n, depth):
            if depth == 1:
                item = self.path.members[0]
                self.b.fill(self.tids, self.starts[item], self.starts[item + 1], self.is_owner)
                self.steps += self.b.stop
            if self.m == 0 and depth:
                self._add_closure(n, depth)
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count_owners(self) -> Py_ssize_t:
        """Count the owners of the node by item, and those up to the last position that counts."""
        # List the items; return their number.
        n: Py_ssize_t = 0
        row: Py_ssize_t
        self.weight = 0
        for i in range(self.a.start, self.a.stop):
            row = self.owners[self.a.rows[i]]
            weight = self.weights[row]
            bound = self.above * self.apart[self.a.rows[i]]
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _can_extend(self, n: Py_ssize_t, depth: Py_ssize_t) -> bint:
        """Return whether an itemset that was not visited before can extend the node."""
        # With m = 0, a banned item in all owners is in the closure, so the closed itemset was visited before.
        found: bint = False
        for i in range(n):
            item = self.names[i]
            if self.path.status[item] == BANNED:
                if depth and self.count[item] == self.weight:
                    return False
                self.reach[item] = 0
            found |= self.reach[item] > 0
        return found

    @cfunc
    @nogil
    @exceptval(-1)
    def _add_closure(self, n: Py_ssize_t, depth: Py_ssize_t) -> int32:
        """Add the items that all owners of the node contain, and keep the other rows with all of them."""
        held: Py_ssize_t
        begin = self.path.n_members[depth]
        end = begin
        stop = self.b.start
        support = 0
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
                self._list(end, self.weight, support)
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _list(self, size: Py_ssize_t, owners: int64, others: int64) -> int32:
        """List the first ``size`` members, which break rho."""
        self.is_broken = True
        self.found.add(self.path.members, size, owners << 31 | others)
        self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count_others(self, n: Py_ssize_t, depth: Py_ssize_t) -> void:
        """Count the other rows of the node with each item that can extend it."""
        declare(item=Py_ssize_t, row=Py_ssize_t)
        if depth == 0:
            for i in range(n):
                self.others[self.names[i]] = self.supports[self.names[i]] - self.count[self.names[i]]
            return
        self._choose_by_item(n)
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _choose_by_item(self, n: Py_ssize_t) -> void:
        """Choose the faster way to count the other rows, and count its steps."""
        # Read either all items of the other rows, or all rows of the items that can extend the node.
        item: Py_ssize_t
        of_rows = self.b.n_items(self.offsets)
        of_items = 2 * (self.b.stop - self.b.start)
        for i in range(n):
            item = self.names[i]
            of_items += self.starts[item + 1] - self.starts[item] if self.reach[item] else 0
        self.by_item = of_items < of_rows
        self.steps += min(of_items, of_rows)
        if self.by_item:
            self.b.flag(self.in_hand, True)

    @cfunc
    @nogil
    @exceptval(-1)
    def _judge(self, n: Py_ssize_t, depth: Py_ssize_t) -> int32:
        """Find the items that break rho with the current itemset, and the items that extend it."""
        begin = self.path.begins[depth]
        middle = begin
        n_members = self.path.n_members[depth]
        self.path.make_room(begin + n)
        self.a.make_room_for(begin + n)
        self.b.make_room_for(begin + n)
        for i in range(n):
            item = self.names[i]
            if self.reach[item] * self.beyond > self.above * self.others[item]:
                if self.listing:
                    self.path.members[n_members] = item
                    self._list(n_members + 1, self.reach[item], self.others[item])
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
        sort_by(self.path.following, middle, self.path.ends[depth], self.reach, 1)
        return self._divide(middle, depth)

    @cfunc
    @nogil
    @exceptval(-1)
    def _divide(self, middle: Py_ssize_t, depth: Py_ssize_t) -> int32:
        """Write the rows of each extension after those of the path."""
        a_free = self.number  # from here on the position of the next row of each item
        row: Py_ssize_t
        item: Py_ssize_t
        end = self.path.ends[depth]
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _mark(self, begin: int64, end: int64, depth: int64) -> void:
        """Mark the rows of the current itemset that contain an item with ``reach`` -1."""
        declare(item=Py_ssize_t, row=Py_ssize_t)
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _is_marked(self, depth: Py_ssize_t, now: Py_ssize_t) -> bint:
        """Return whether all rows of the extension at position ``now`` are marked."""
        item: Py_ssize_t = self.path.following[now]
        if depth == 0:
            return self.marks.has_all(self.tids, self.starts[item], self.starts[item + 1])
        for i in range(self.a.begins[now], self.a.begins[now + 1]):
            if not self.marks.marked[self.owners[self.a.rows[i]]]:
                return False
        return self.marks.has_all(self.b.rows, self.b.begins[now], self.b.begins[now + 1])
