"""Where the search for inferences is: a path of nodes, and the rows of each."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number, grown

__all__ = ["Path", "Stack"]


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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def begin(self, item: cython.int) -> cython.void:
        """Begin at the root; an item counts as a member that is not listed."""
        self.status[:] = FREE
        self.status[item] = MEMBER
        self.begins[0] = self.ends[0] = self.n_members[0] = 0
        self.cursor[0] = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def following_at(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Go on to the next item that may be added; -1 if there is none."""
        now: cython.Py_ssize_t = self.cursor[depth]
        if now >= self.begins[depth]:
            self.status[self.following[now]] = BANNED
        self.cursor[depth] = now + 1
        return now + 1 if now + 1 < self.ends[depth] else -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def enter(self, depth: cython.Py_ssize_t, now: cython.Py_ssize_t) -> cython.void:
        """Go on to a child: the node with one more item."""
        item: cython.int = self.following[now]
        self.members[self.n_members[depth]] = item
        self.n_members[depth + 1] = self.n_members[depth] + 1
        self.status[item] = MEMBER
        self.begins[depth + 1] = self.ends[depth + 1] = self.ends[depth]
        self.cursor[depth + 1] = self.ends[depth] - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def leave(self, depth: cython.Py_ssize_t) -> cython.void:
        """Undo what a node has said of items."""
        i: cython.Py_ssize_t
        for i in range(self.begins[depth], self.ends[depth]):
            self.status[self.following[i]] = FREE
        for i in range(self.n_members[depth - 1] if depth else 0, self.n_members[depth]):
            self.status[self.members[i]] = FREE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begin(self, n: cython.Py_ssize_t) -> cython.int:
        """Have so many rows in hand."""
        self.make_room(n)
        self.start, self.stop, self.free = 0, n, n
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take(self, now: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Take the rows of an item in hand; what follows its node ends at a place."""
        self.start, self.stop, self.free = self.begins[now], self.begins[now + 1], self.begins[end]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def fill(
        self, tids: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, without: cython.uchar[::1]
    ) -> cython.int:
        """Take rows in hand, ``tids[begin:end]`` without some."""
        i: cython.Py_ssize_t
        self.make_room(end - begin)
        self.start = self.stop = 0
        for i in range(begin, end):
            if not without[tids[i]]:
                self.rows[self.stop] = tids[i]
                self.stop += 1
        self.free = self.stop
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make_room(self, n: cython.Py_ssize_t) -> cython.int:
        """Have space for so many rows."""
        if n > self.rows.shape[0]:
            self.rows = grown(self.rows, self.rows.shape[0], 2 * n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make_room_for(self, n: cython.Py_ssize_t) -> cython.int:
        """Have space for the rows of so many items that follow."""
        if n >= self.begins.shape[0]:
            self.begins = grown(self.begins, self.begins.shape[0], 2 * n + 2)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def n_items(self, offsets: Number[::1]) -> cython.longlong:
        """How many items the rows in hand have."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        n: cython.longlong = 0
        for i in range(self.start, self.stop):
            row = self.rows[i]
            n += offsets[row + 1] - offsets[row]
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def flag(self, flags: cython.uchar[::1], value: cython.bint) -> cython.void:
        """Set the flags of the rows in hand."""
        i: cython.Py_ssize_t
        for i in range(self.start, self.stop):
            flags[self.rows[i]] = value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(
        self,
        tids: Code[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        flags: cython.uchar[::1],
        to: cython.Py_ssize_t,
    ) -> cython.void:
        """Write those of ``tids[begin:end]`` that have a flag to a place."""
        i: cython.Py_ssize_t
        for i in range(begin, end):
            if flags[tids[i]]:
                self.rows[to] = tids[i]
                to += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def divide(
        self,
        codes: Code[::1],
        offsets: Number[::1],
        values: cython.longlong[::1],
        places: cython.longlong[::1],
    ) -> cython.longlong:
        """Write the rows in hand to the places of their items of a value above 0; the steps that takes."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
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
    i: cython.Py_ssize_t
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
