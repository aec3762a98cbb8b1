"""Clusters of items: count their common rows, merge or suppress them.

The label of a cluster is its smallest member. ``clusters.pxd`` documents the attributes. There are fewer than
2**31 rows and weights are below 2**16, so a loss without its power of two is below 2**47.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    address,
    bint,
    cast,
    ccall,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    sizeof,
    void,
)
from cython.cimports.libc.string import memmove
from cython.cimports.pdanon._kernels.counting import Codes, int32s
from numpy.typing import NDArray

from pdanon._kernels.counting import item_supports

__all__ = [
    "State",
    "begin_lines",
    "compare_growth",
    "count_rows",
    "drop",
    "merge",
    "together",
]


# --- The state, and one merge


MOST = declare(int64, 2**62)  # above any support
READ = declare(int64, 4)  # items of a line that can be read in the time of one item of a row
BEGIN, END, WEIGHT = (
    declare(Py_ssize_t, 0),
    declare(Py_ssize_t, 1),
    declare(Py_ssize_t, 2),
)


@final
@cclass
class State:
    """Clusters of items; at first each item is a cluster of its own. Only those of a block are merged.

    The state takes ``tids``, the rows of each item as in `Rows`, over, and reorders it. ``size`` is the
    number of members that each item stands for; 0 for an item without rows and cluster. ``weight`` is its
    importance. ``lines`` is the number of clusters whose supports with all others can be stored at the same
    time, and ``spare`` that of items that may be suppressed.
    """

    def __init__(
        self,
        *,
        codes: NDArray[np.int32],
        offsets: NDArray[np.int64],
        weights: NDArray[np.int64],
        starts: NDArray[np.int64],
        tids: NDArray[np.int32],
        size: NDArray[np.int64],
        support: NDArray[np.int64],
        weight: NDArray[np.int64],
        lines: Py_ssize_t,
        block: NDArray[np.int32],
        spare: int,
    ) -> None:
        n = len(size)
        used = np.flatnonzero(size).astype(np.int32)
        self.walk = item_supports(codes, offsets, np.diff(offsets), n)  # before the arrays that stay
        self.cells, self.tids = codes.copy(), tids
        self.rows = np.column_stack((offsets[: len(weights)], offsets[1:], weights))
        self.starts, self.ends = starts, starts[1:].copy()
        self.cell, self.owner = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        self.label = np.where(size > 0, np.arange(n, dtype=np.int32), np.int32(-1))
        self.after = np.full(n, -1, np.int32)
        self.tail = np.arange(n, dtype=np.int32)
        self.size, self.support, self.weight = size.copy(), support.copy(), weight.copy()
        self.co = np.empty((lines, n), np.int32)  # the system allocates pages when they are first written
        self.line, self.holder = np.full(n, -1, np.int32), np.empty(lines, np.int32)
        self.n_lines = 0
        order = np.lexsort((support[used], weight[used], size[used], block[used]))
        self.active = np.append(used[order], np.zeros(n - len(used), np.int32))
        self.n_active = len(used)
        self.block = block
        self.spare, self.refused = spare, -1
        self.image, self.touched = np.empty(n, np.int32), np.empty(n, np.int32)
        self.counts = np.zeros(n, np.int32)
        self.stamp, self.stamps = np.zeros(n, np.int64), 0
        self.best_x = self.best_y = -1

    def place_of(self, block: int32, size: int64, weight: int64, support: int64, label: int32) -> int32:
        """Count the labels in ``active`` before a key: block, size, importance, support, label."""
        low: int32 = 0
        high: int32 = self.n_active
        order: int64
        while low < high:
            middle: int32 = (low + high) // 2
            a = self.active[middle]
            order = self.block[a] - block
            if order == 0:
                order = self.size[a] - size
            if order == 0:
                order = self.weight[a] - weight
            if order == 0:
                order = self.support[a] - support
            if order == 0:
                order = a - label
            if order < 0:
                low = middle + 1
            else:
                high = middle
        return low

    def strike(self, a: int32) -> void:
        """Remove a label from ``active``."""
        place: Py_ssize_t = self.place_of(self.block[a], self.size[a], self.weight[a], self.support[a], a)
        self.n_active -= 1
        if place < self.n_active:
            memmove(
                address(self.active[place]),
                address(self.active[place + 1]),
                sizeof(int32) * (self.n_active - place),
            )

    def enter(self, a: int32) -> void:
        """Insert a label into ``active``."""
        place: Py_ssize_t = self.place_of(self.block[a], self.size[a], self.weight[a], self.support[a], a)
        if place < self.n_active:
            memmove(
                address(self.active[place + 1]),
                address(self.active[place]),
                sizeof(int32) * (self.n_active - place),
            )
        self.active[place] = a
        self.n_active += 1

    def release_line(self, a: int32) -> void:
        """Free the line of a cluster, if it has one."""
        if self.line[a] >= 0:
            self.holder[self.line[a]] = -1
            self.line[a] = -1


def begin_lines(state: State) -> bool:
    """Give each item an empty line; return False if there are too few lines, or one is in use."""
    if state.n_lines or state.holder.shape[0] < state.label.shape[0]:
        return False
    state.co[:, :] = 0
    state.holder[:] = -1
    for a in range(state.n_active):
        item = state.active[a]
        state.line[item] = state.holder[item] = item
    state.n_lines = state.holder.shape[0]
    return True


def count_rows(begin: Py_ssize_t, end: Py_ssize_t, state: State) -> None:
    """Add the rows ``begin..end - 1`` to the lines of all items."""
    with nogil:
        for row in range(begin, end):
            weight: int32 = state.rows[row, WEIGHT]
            for p in range(state.rows[row, BEGIN], state.rows[row, END]):
                a = state.cells[p]
                for q in range(state.rows[row, BEGIN], state.rows[row, END]):
                    state.co[a, state.cells[q]] += weight
                state.co[a, a] -= weight


@cfunc
@nogil
@exceptval(check=False)
def count(a: int32, state: State) -> int32:
    """Count the common rows of a with each other cluster; list the clusters, and return their number."""
    # The counts stay until ``forget``. They come from the line of a, if it has one or is worth one.
    i: int32
    cell: int32
    n: int32 = 0
    if state.line[a] < 0 and READ * state.walk[a] >= state.n_active:
        _take_line(a, state)
    if state.line[a] < 0:
        n = _count_in_rows(a, state.counts, state)
        for i in range(n):
            state.touched[i] = state.owner[state.touched[i]]
        return n
    line: Py_ssize_t = state.line[a]
    if 2 * state.n_active < state.label.shape[0]:
        for i in range(state.n_active):
            y = state.active[i]
            if state.co[line, state.cell[y]]:
                state.counts[state.cell[y]] = state.co[line, state.cell[y]]
                state.touched[n] = y
                n += 1
        return n
    kept = state.co[line]
    for cell in range(kept.shape[0]):
        if kept[cell] and state.owner[cell] >= 0:
            state.counts[cell] = kept[cell]
            state.touched[n] = state.owner[cell]
            n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _count_in_rows(a: int32, counts: int32s, state: State) -> int32:
    """Count the other cells in the rows of a; list the cells, and return their number."""
    row: Py_ssize_t
    # Local names for the arrays of the inner loop: they stay in registers.
    cells = state.cells
    touched = state.touched
    n: int32 = 0
    own = state.cell[a]
    member = a
    while member >= 0:
        for slot in range(state.starts[member], state.ends[member]):
            row = state.tids[slot]
            weight: int32 = state.rows[row, WEIGHT]
            for position in range(state.rows[row, BEGIN], state.rows[row, END]):
                cell = cells[position]
                before = counts[cell]
                counts[cell] = before + weight
                if before == 0 and cell != own and n < touched.shape[0]:  # interim counts may return to 0
                    touched[n] = cell
                    n += 1
        member = state.after[member]
    counts[own] = 0
    return n


@cfunc
@nogil
@exceptval(check=False)
def forget(n: int32, state: State) -> void:
    """Reset the counts of n clusters."""
    for i in range(n):
        state.counts[state.cell[state.touched[i]]] = 0


@cfunc
@nogil
@exceptval(check=False)
def _take_line(a: int32, state: State) -> void:
    """Allocate and count a line of ``co`` for a cluster."""
    # If no line is free, the cluster that is fastest to count again loses its line, unless that is a itself.
    found: int32
    found = -1
    if state.n_lines < state.holder.shape[0]:
        found = state.n_lines
        state.n_lines += 1
        state.holder[found] = -1
    else:
        for i in range(state.n_lines):
            if state.holder[i] < 0:
                found = i
                break
            if found < 0 or state.walk[state.holder[i]] < state.walk[state.holder[found]]:
                found = i
    if found < 0 or (state.holder[found] >= 0 and state.walk[state.holder[found]] >= state.walk[a]):
        return
    if state.holder[found] >= 0:
        state.release_line(state.holder[found])
    state.line[a], state.holder[found] = found, a
    state.co[found, :] = 0
    _count_in_rows(a, state.co[found], state)


@ccall
@nogil
@exceptval(check=False)
def together(a: int32, b: int32, state: State) -> int32:
    """Return the support of two clusters together."""
    row: Py_ssize_t
    if state.line[a] < 0 and (state.line[b] >= 0 or is_longer(a, b, state)):
        a, b = b, a
    cell = state.cell[b]
    if state.line[a] >= 0:
        return state.co[state.line[a], cell]
    found: int32 = 0
    member = a
    while member >= 0:
        for slot in range(state.starts[member], state.ends[member]):
            row = state.tids[slot]
            for position in range(state.rows[row, BEGIN], state.rows[row, END]):
                if state.cells[position] == cell:
                    found += state.rows[row, WEIGHT]
                    break
        member = state.after[member]
    return found


@cfunc
@nogil
@exceptval(check=False)
def is_longer(a: int32, b: int32, state: State) -> bint:
    """Return whether the rows of a take longer to read than those of b; a tie goes to the larger label."""
    return state.walk[a] > state.walk[b] or (state.walk[a] == state.walk[b] and a > b)


@ccall
@nogil
@exceptval(check=False)
def compare_growth(
    size_1: int64,
    old_1: int64,
    new_1: int64,
    size_2: int64,
    old_2: int64,
    new_2: int64,
) -> int32:
    """Compare the growth of two losses exactly; return the sign of the first less the second."""
    # If an item joins a set of ``size`` items, its loss grows by ``(2**(size + 1) - 1) * new - (2**size - 1)
    # * old``, where ``0 <= old <= new < 2**53``.
    if size_1 < size_2:
        return -compare_growth(size_2, old_2, new_2, size_1, old_1, new_1)
    # Growth is 2**size * lead - rest, where rest <= lead < 2**54; all is divided by 2**size_2 below.
    lead_1 = 2 * new_1 - old_1
    lead_2 = 2 * new_2 - old_2
    rest = (new_1 - old_1) - (new_2 - old_2)
    most = cast(int64, 1) << 54
    shift = size_1 - size_2
    if lead_1 > 0 and (shift >= 56 or lead_1 > ((lead_2 + most) >> shift)):
        return 1
    lead = (lead_1 << shift if lead_1 else 0) - lead_2
    if lead == 0:
        return (rest < 0) - (rest > 0)
    # The sign of 2**size_2 * lead - rest, whose first part is farther from 0 if it is not shifted out.
    size = lead if lead > 0 else -lead
    if size_2 >= 56 or size > (most >> size_2):
        return 1 if lead > 0 else -1
    lead *= cast(int64, 1) << size_2
    return (lead > rest) - (lead < rest)


@ccall
@nogil
@exceptval(check=False)
def _compare_loss(size_1: int64, rows_1: int64, size_2: int64, rows_2: int64) -> int32:
    """Compare two losses exactly: the sign of (2**size_1 - 1) * rows_1 - (2**size_2 - 1) * rows_2."""
    # A loss is the growth of an empty set. Where pairs stand in place of rows, interim numbers of rows may be
    # negative: no loss.
    return compare_growth(size_1 - 1, 0, max(rows_1, 0), size_2 - 1, 0, max(rows_2, 0))


@cfunc
@nogil
@exceptval(check=False)
def _cheapest_merge(begin: int32, end: int32, state: State) -> tuple[int32, int32]:
    """Return the cheapest merge of a cluster of the image with another of its block, or (-1, -1)."""
    # Only positions ``begin..end - 1`` of the image count. Ties: the smaller union, then the labels.
    place: int32
    first: int32
    state.best_x = state.best_y = -1
    first = begin
    for place in range(begin + 1, end):  # the lowest bound first: it may rule out the others
        if _compare_least(state.image[place], state.image[first], state) < 0:
            first = place
    _offer_merges(state.image[first], state)
    for place in range(begin, end):
        x = state.image[place]
        if place != first and (
            state.best_x < 0 or not _costs_more(state.size[x] + 1, state.support[x] * state.weight[x], state)
        ):
            _offer_merges(x, state)
    return min(state.best_x, state.best_y), max(state.best_x, state.best_y)


@cfunc
@nogil
@exceptval(check=False)
def _compare_least(x: int32, y: int32, state: State) -> int32:
    """Compare lower bounds for the loss of a merge of x and of a merge of y."""
    return _compare_loss(
        state.size[x] + 1,
        state.support[x] * state.weight[x],
        state.size[y] + 1,
        state.support[y] * state.weight[y],
    )


@cfunc
@nogil
@exceptval(check=False)
def _offer_merges(x: int32, state: State) -> void:
    """Offer the merges of x that can be cheapest."""
    # These are the merges with all clusters that share a row with x, and with the first other cluster of each
    # kind. Without a common row, and with equal block, size and importance, a lower support means a lower
    # loss.
    place: int32
    first: int32 = state.label.shape[0]
    n = count(x, state)
    for i in range(n):
        y = state.touched[i]
        if first < y or state.block[y] != state.block[x]:
            continue
        _offer(x, y, state.counts[state.cell[y]], state)
        if state.best_x == x and state.best_size == state.size[x] + 1:
            if state.best_rows == state.support[x] * state.weight[x]:
                first = state.best_y  # the lower bound is reached: only a smaller label can still win
    place = state.place_of(state.block[x], 0, 0, 0, 0)  # the first of its block
    while place < state.n_active and state.block[state.active[place]] == state.block[x]:
        y = state.active[place]
        size = state.size[x] + state.size[y]
        if state.best_x >= 0 and _costs_more(size, state.support[x] * state.weight[x], state):
            break  # larger clusters cost even more
        last = state.place_of(state.block[y], state.size[y], state.weight[y], MOST, 0)
        rows = (state.support[x] + state.support[y]) * max(state.weight[x], state.weight[y])
        if state.best_x < 0 or not _costs_more(size, rows, state):
            while place < last and (
                state.active[place] == x or state.counts[state.cell[state.active[place]]]
            ):
                place += 1
            if place < last:
                _offer(x, state.active[place], 0, state)
        place = last
    forget(n, state)


@cfunc
@nogil
@exceptval(check=False)
def _costs_more(size: int64, rows: int64, state: State) -> bint:
    """Return whether a merge costs more than the best so far."""
    return _compare_loss(size, rows, state.best_size, state.best_rows) > 0


@cfunc
@nogil
@exceptval(check=False)
def _offer(x: int32, y: int32, both: int64, state: State) -> void:
    """Store the merge of x and y if it comes before the best so far."""
    size = state.size[x] + state.size[y]
    rows = state.support[x] + state.support[y] - both
    order = 0
    rows *= max(state.weight[x], state.weight[y])
    if state.best_x >= 0:
        if size >= state.best_size and rows >= state.best_rows:  # the common case needs no exact comparison
            if size > state.best_size or rows > state.best_rows:
                return
        else:
            order = _compare_loss(size, rows, state.best_size, state.best_rows)
            if order == 0:
                order = size - state.best_size
        if order == 0:
            order = min(x, y) - min(state.best_x, state.best_y)
        if order == 0:
            order = max(x, y) - max(state.best_x, state.best_y)
        if order >= 0:
            return
    state.best_x, state.best_y, state.best_size, state.best_rows = x, y, size, rows


@ccall
@nogil
@exceptval(check=False)
def merge(a: int32, b: int32, state: State) -> void:
    """Merge two clusters; the result has the smaller label."""
    # The cluster with the longer rows keeps its cell, so only the shorter rows are rewritten.
    a, b = min(a, b), max(a, b)
    state.strike(a)
    state.strike(b)
    both = _unite_rows(a, b, state) if is_longer(a, b, state) else _unite_rows(b, a, state)
    member = b
    while member >= 0:
        state.label[member] = a
        member = state.after[member]
    state.after[state.tail[a]] = b
    state.tail[a] = state.tail[b]
    state.size[a] += state.size[b]
    state.support[a] += state.support[b] - both
    state.weight[a] = max(state.weight[a], state.weight[b])
    state.walk[a] += state.walk[b]
    state.enter(a)


@cfunc
@nogil
@exceptval(check=False)
def _unite_rows(x: int32, y: int32, state: State) -> int64:
    """Replace the cell of y by that of x in the rows of y; return the support of both together."""
    # The smaller label gets the cell and the line of x.
    row: Py_ssize_t
    both: int64 = 0
    cells = state.cells
    cell, line = state.cell[x], state.line[x]
    state.release_line(y)
    member = y
    while member >= 0:
        kept = state.starts[member]
        for slot in range(state.starts[member], state.ends[member]):
            row = state.tids[slot]
            weight: int32 = state.rows[row, WEIGHT]
            if _replace(state.cell[y], cell, row, cells, state):
                both += weight
            else:
                state.tids[kept] = row
                kept += 1
                if state.n_lines:
                    _add_to_lines(cell, line, row, weight, state)
        state.ends[member] = kept
        member = state.after[member]
    state.owner[state.cell[y]] = -1
    if line >= 0:
        state.co[line, state.cell[y]] = 0
    y = min(x, y)
    state.line[x] = -1
    state.cell[y], state.owner[cell], state.line[y] = cell, y, line
    if line >= 0:
        state.holder[line] = y
    return both


@cfunc
@nogil
@exceptval(check=False)
def _replace(old: int32, new: int32, row: Py_ssize_t, cells: int32s, state: State) -> bint:
    """Replace a cell of a row; return whether the row gets shorter."""
    # It gets shorter if it already contains the new cell, or if the new cell is negative.
    end = state.rows[row, END]
    place = end
    there: bint = new < 0
    for position in range(state.rows[row, BEGIN], end):
        if cells[position] == old:
            place = position
        if cells[position] == new:
            there = True
    if there:
        state.rows[row, END] = end - 1
        cells[place] = cells[end - 1]
    else:
        cells[place] = new
    return there


@cfunc
@nogil
@exceptval(check=False)
def _add_to_lines(cell: int32, line: int32, row: Py_ssize_t, weight: int32, state: State) -> void:
    """Add a row with a new cell to the line of its cluster, and to the lines of the others in the row."""
    for position in range(state.rows[row, BEGIN], state.rows[row, END]):
        other = state.cells[position]
        if other == cell:
            continue
        if line >= 0:
            state.co[line, other] += weight
        if state.line[state.owner[other]] >= 0:
            state.co[state.line[state.owner[other]], cell] += weight


@ccall
@nogil
@exceptval(check=False)
def drop(a: int32, state: State) -> void:
    """Suppress a cluster with all its members; supports of other clusters do not change."""
    member = a
    while member >= 0:
        state.label[member] = -1
        for slot in range(state.starts[member], state.ends[member]):
            _replace(state.cell[a], -1, state.tids[slot], state.cells, state)
        member = state.after[member]
    state.owner[state.cell[a]] = -1
    state.release_line(a)
    state.strike(a)


@cfunc
@nogil
@exceptval(check=False)
def _least_supported(n: int32, state: State) -> int32:
    """Return the position in an image of the cluster with the lowest support."""
    # Ties: fewer members, then the smaller label.
    best: int32 = 0
    for i in range(1, n):
        x, y = state.image[i], state.image[best]
        order = state.support[x] - state.support[y]
        if order == 0:
            order = state.size[x] - state.size[y]
        if order < 0 or (order == 0 and x < y):
            best = i
    return best


@cfunc
@nogil
@exceptval(check=False)
def coarsen(n: int32, least_first: bint, state: State) -> tuple[int32, int32]:
    """Generalize an image of n clusters by the cheapest merge, or suppress a cluster of it.

    Only if no merge within a block is possible, the cluster with the lowest support is suppressed. With
    ``least_first``, only the cluster with the lowest support is merged. Return a, b if b was merged into a;
    a, a if a was suppressed. If more than ``spare`` items would be suppressed, set ``refused`` and return -1,
    -1.
    """
    least = _least_supported(n, state)
    a, b = _cheapest_merge(least, least + 1, state) if least_first else _cheapest_merge(0, n, state)
    if a >= 0:
        merge(a, b, state)
        return a, b
    a = state.image[least]
    if state.size[a] > state.spare:
        state.refused = a
        return -1, -1
    state.spare -= state.size[a]
    drop(a, state)
    return a, a


@cfunc
@nogil
@exceptval(check=False)
def image_of(items: Codes, start: int64, stop: int64, state: State) -> int32:
    """List the distinct clusters of an itemset; return their number. Suppressed items have none."""
    n: int32 = 0
    state.stamps += 1
    for i in range(start, stop):
        cluster = state.label[items[i]]
        if cluster >= 0 and state.stamp[cluster] != state.stamps:
            state.stamp[cluster] = state.stamps
            state.image[n] = cluster
            n += 1
    return n
