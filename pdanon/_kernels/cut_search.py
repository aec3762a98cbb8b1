"""Search for the cut with the lowest loss: descend from a safe cut, or derive clauses for a solver."""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    exceptval,
    final,
    gil,
    int as int32,
    longlong as int64,
    nogil,
    size_t,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    contains,
    grown,
    int32s,
    int64s,
    rarest,
    uint8s,
)
from cython.cimports.pdanon._kernels.cuts import Space, Supports, raise_nodes, reached, slot_of
from cython.cimports.pdanon._kernels.itemset_search import Lists, Nodes
from numpy.typing import NDArray

__all__ = ["find_threats", "keep", "node_supports", "pair_clauses", "set_clauses"]


# --- Descent: choose the nodes of a cut to keep, and find the rare itemsets that forbid some
#
# The lowest nodes are numbered from left to right, so the lowest nodes below a node are a range, from
# ``first[node]`` to ``last[node] - 1``. Rows are sets of such numbers.


def node_supports(first: Numbers, last: Numbers, rows: Rows) -> NDArray[np.int64]:
    """Return the support of each node."""
    result = np.zeros(len(first), np.int64)
    supports: int64s = result
    seen: int64s = np.full(len(rows.weights), -1, np.int64)
    with nogil:
        for node in range(first.shape[0]):
            for slot in range(rows.starts[first[node]], rows.starts[last[node]]):
                row = rows.tids[slot]
                if seen[row] != node:
                    seen[row] = node
                    supports[node] += rows.weights[row]
    return result


def keep(
    order: Numbers,
    cut: Flags,
    rare: Flags,
    safe: Flags,
    penalty: Numbers,
    cost: int64,
    bound: int64,
    codes: Codes,
    offsets: Numbers,
    newest: Numbers,
    before: Numbers,
) -> tuple[NDArray[np.bool_], int]:
    """Keep each node of the cut, in the given order, unless it would complete a known threat.

    Rare nodes are never kept, and ``cost`` includes them. Each other node that is not kept adds its penalty.
    The scan stops when the cost reaches ``bound``. No threat is within ``safe``.

    ``codes`` and ``offsets`` are the nodes of each threat, as CSR. ``newest`` has the newest threat with each
    node as its last one in the order, and ``before`` the previous threat with the same last node; -1 if there
    is none.
    """
    lacking: Py_ssize_t
    within: bint = True
    result = np.zeros(len(cut), np.bool_)
    kept: uint8s = result
    with nogil:
        for place in range(order.shape[0]):
            node = order[place]
            if not cut[node] or rare[node]:
                continue
            within = within and safe[node]
            threat = -1 if within else newest[node]
            while threat >= 0:
                lacking = 0
                for position in range(offsets[threat], offsets[threat + 1]):
                    lacking += not kept[codes[position]]
                if lacking == 1:  # the node itself
                    break
                threat = before[threat]
            if threat < 0:
                kept[node] = True
                continue
            cost += penalty[node]
            if cost >= bound:
                break
    return result, cost


def find_threats(
    size: Py_ssize_t,
    k: int64,
    nodes: Numbers,
    pivots: Numbers,
    rank: Numbers,
    first: Numbers,
    last: Numbers,
    rows: Rows,
    halt: Flags,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_], int]:
    """Find rare sets of up to ``size`` nodes with a pivot; suppress the node of the highest rank of each.

    The search ends when each such set lacks a kept node, or when ``halt[0]`` is set. Nodes are ascending, and
    none is below another. Here they are items, numbered by their positions.

    Return the sets found, as positions in ``nodes``, a mask of the nodes that are not suppressed, and the
    largest number of nodes of a row with a pivot.
    """
    kept = np.ones(len(nodes), np.bool_)
    search = _Search(size, k, rank, kept, rows, halt)
    search.number(nodes, first, last)
    with nogil:
        for i in range(pivots.shape[0]):
            if halt[0]:
                break
            search.search_pivot(pivots[i])
    n = search.n_found
    return (
        np.asarray(search.found[: search.starts[n]]),
        np.asarray(search.starts[: n + 1]),
        kept,
        search.longest,
    )


@final
@cclass
class _Search:
    """The search for rare sets of up to ``size`` items with a pivot."""

    size: Py_ssize_t
    k: int64
    rank: Numbers
    kept: uint8s
    rows: Rows
    n_items: Py_ssize_t
    item_of: int32s  # item of each number, or -1
    begin: int64s  # range of the numbers of each item
    end: int64s
    is_candidate: uint8s  # candidates: items that are kept, and were no pivots so far
    found: int32s  # items of the sets found
    starts: int64s
    n_found: Py_ssize_t
    longest: Py_ssize_t
    seen: int32s  # the last pivot found in each row
    n_rows: Py_ssize_t
    sources: int32s  # the rows with the pivot
    sets: int32s  # the candidates in each of them
    bounds: int64s  # start of each row in `sets`
    count: int64s  # support of each candidate in them
    local: int32s  # local number of each item, -1 between steps
    prefix: int32s
    cursor: int64s
    nodes: Nodes
    halt: Flags

    def __init__(
        self, size: Py_ssize_t, k: int64, rank: Numbers, kept: uint8s, rows: Rows, halt: Flags
    ) -> None:
        n = len(rank)
        self.size, self.k, self.rank, self.kept, self.rows, self.halt = size, k, rank, kept, rows, halt
        self.n_items = n
        self.begin, self.end = np.empty((2, n), np.int64)
        self.is_candidate = np.ones(n, np.uint8)
        self.found, self.starts = np.empty(n * size, np.int32), np.zeros(n + 1, np.int64)
        self.n_found, self.longest = 0, 0
        self.seen = np.full(len(rows.weights), -1, np.int32)
        self.n_rows = 0
        self.sources, self.sets = np.empty((2, 64), np.int32)
        self.bounds = np.zeros(65, np.int64)
        self.count, self.local = np.zeros(n, np.int64), np.full(n, -1, np.int32)
        self.prefix, self.cursor = np.empty(size, np.int32), np.zeros(size, np.int64)
        self.nodes = Nodes(size - 2, 0, 0, 0)

    def number(self, nodes: Numbers, first: Numbers, last: Numbers) -> None:
        """Write the range of row codes of each item."""
        self.item_of = np.full(len(self.rows.starts) - 1, -1, np.int32)
        for item in range(self.n_items):
            self.begin[item], self.end[item] = first[nodes[item]], last[nodes[item]]
            for place in range(self.begin[item], self.end[item]):
                self.item_of[place] = item

    @cfunc
    @nogil
    @exceptval(-1)
    def search_pivot(self, pivot: Py_ssize_t) -> int32:
        """Find the rare sets of a pivot and candidates."""
        self.is_candidate[pivot] = False
        if not self.kept[pivot]:
            return 0
        self.gather(pivot, self.rows)
        self.prefix[0] = pivot
        self.test_pairs_of_pivot()
        if self.kept[pivot] and self.size > 2:
            self.make_room(self.nodes)
            self.fill_root(self.nodes)
            self.descend(self.nodes)
        for item in range(self.n_items):
            self.is_candidate[item] &= self.kept[item]
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def gather(self, pivot: Py_ssize_t, rows: Rows) -> int32:
        """List the rows with the pivot as sets of candidates, and count the candidates."""
        row: Py_ssize_t
        before: int32
        n: Py_ssize_t = 0
        at: Py_ssize_t = 0
        most = rows.starts[self.end[pivot]] - rows.starts[self.begin[pivot]]
        if most > self.sources.shape[0]:
            self.sources = grown(self.sources, 0, 2 * most)
            self.bounds = grown(self.bounds, 1, 2 * most + 1)
        self.count[:] = 0
        for slot in range(rows.starts[self.begin[pivot]], rows.starts[self.end[pivot]]):
            row = rows.tids[slot]
            if self.seen[row] == pivot:
                continue
            self.seen[row] = pivot
            if at + rows.offsets[row + 1] - rows.offsets[row] > self.sets.shape[0]:
                self.sets = grown(self.sets, at, 2 * (at + rows.offsets[row + 1] - rows.offsets[row]))
            before = -1
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                item = self.item_of[rows.codes[position]]
                if item != before and item >= 0 and self.is_candidate[item]:
                    self.sets[at] = item
                    at += 1
                    self.count[item] += rows.weights[row]
                before = item
            self.longest = max(self.longest, at - self.bounds[n] + 1)
            self.sources[n] = row
            n += 1
            self.bounds[n] = at
        self.n_rows = n
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def test_pairs_of_pivot(self) -> void:
        """Suppress an item of each rare pair of the pivot and a candidate."""
        for item in range(self.n_items):
            if 0 < self.count[item] < self.k and self.is_candidate[item]:
                self.prefix[1] = item
                if self.suppress_one(2) == 0:
                    return

    @cfunc
    @nogil
    @exceptval(check=False)
    def suppress_one(self, length: Py_ssize_t) -> Py_ssize_t:
        """List the prefix as a rare set, suppress its item of the highest rank, and return its position."""
        worst = 0
        start = self.starts[self.n_found]
        for place in range(length):
            self.found[start + place] = self.prefix[place]
            if self.rank[self.prefix[place]] > self.rank[self.prefix[worst]]:
                worst = place
        self.n_found += 1
        self.starts[self.n_found] = start + length
        self.kept[self.prefix[worst]] = False
        return worst

    @cfunc
    @nogil
    @exceptval(-1)
    def make_room(self, nodes: Nodes) -> int32:
        """Allocate larger nodes if the listed rows, reduced to frequent items, do not fit."""
        n: Py_ssize_t = 0
        for item in range(self.n_items):
            n += self.count[item] >= self.k
        occurrences = max(self.bounds[self.n_rows], nodes.items.shape[1] - 1)
        rows = max(self.n_rows, nodes.sources.shape[1])
        names: Py_ssize_t = max(n, nodes.names.shape[1])
        if occurrences >= nodes.items.shape[1] or rows > nodes.sources.shape[1] or n > nodes.names.shape[1]:
            with gil:
                self.nodes = Nodes(self.size - 2, occurrences, rows, names)
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def fill_root(self, nodes: Nodes) -> void:
        """Write the first node: the listed rows, reduced to frequent items."""
        start: Py_ssize_t
        at: Py_ssize_t = 0
        n: int32 = 0
        for item in range(self.n_items):
            if self.count[item] >= self.k:
                nodes.names[0, n] = item
                self.local[item] = n
                n += 1
        nodes.n_names[0] = n
        n = 0
        for i in range(self.n_rows):
            start = at
            for p in range(self.bounds[i], self.bounds[i + 1]):
                item = self.local[self.sets[p]]
                nodes.items[0, at] = item
                at += item >= 0
            if at - start < 2:
                at = start
                continue
            nodes.sources[0, n] = self.sources[i]
            n += 1
            nodes.bounds[0, n] = at
        nodes.n_rows[0] = n
        for i in range(nodes.n_names[0]):
            self.local[nodes.names[0, i]] = -1

    @cfunc
    @nogil
    @exceptval(check=False)
    def descend(self, nodes: Nodes) -> void:
        """Visit all itemsets that begin with the pivot, depth first, by the pairs that extend a prefix."""
        depth: Py_ssize_t = 0
        arrived = True
        while depth >= 0 and not self.halt[0]:
            if arrived:
                nodes.count_pairs(depth, self.rows.weights)
                self.test_pairs(depth, nodes)
                self.cursor[depth] = 0
                arrived = False
            b = self.cursor[depth]
            self.cursor[depth] += 1
            if depth + 3 == self.size or b + 2 >= nodes.n_names[depth] or not self.all_kept(depth + 1):
                depth -= 1
            elif self.kept[nodes.names[depth, b]]:
                self.prefix[depth + 1] = nodes.names[depth, b]
                arrived = nodes.fill_child(depth, b, self.k, self.local)
                depth += arrived

    @cfunc
    @nogil
    @exceptval(check=False)
    def test_pairs(self, depth: Py_ssize_t, nodes: Nodes) -> void:
        """Suppress an item of each rare itemset of the prefix and two items of the node."""
        line: size_t
        d: size_t = nodes.n_names[depth]
        for row in range(nodes.n_rows[depth]):
            for p in range(nodes.bounds[depth, row], nodes.bounds[depth, row + 1]):
                line = nodes.items[depth, p] * d
                for q in range(p + 1, nodes.bounds[depth, row + 1]):
                    if nodes.counts[depth, line + nodes.items[depth, q]] >= self.k:
                        continue
                    one, other = (
                        nodes.names[depth, nodes.items[depth, p]],
                        nodes.names[depth, nodes.items[depth, q]],
                    )
                    if self.kept[one] and self.kept[other]:
                        self.prefix[depth + 1], self.prefix[depth + 2] = one, other
                        if self.suppress_one(depth + 3) < depth + 1:
                            return

    @cfunc
    @nogil
    @exceptval(check=False)
    def all_kept(self, length: Py_ssize_t) -> bint:
        """Return whether all items of a prefix of this length are kept."""
        for place in range(length):
            if not self.kept[self.prefix[place]]:
                return False
        return True


# --- Clauses on what is published, from rare sets of nodes
#
# Only fit nodes may be published; ``up`` is the next fit node above each node, -1 if there is none. A path
# leads from a node to an ancestor. A clause is a list of paths; at least one of them must have no published
# node. If all paths begin in the same row, and the set of their upper ends is rare, then any set with a node
# of each path is rare.


def pair_clauses(k: int64, fit: Flags, up: Codes, size: Codes, supports: Supports) -> NDArray[np.int32]:
    """Derive clauses of two paths for all rare pairs of fit nodes: both ends of each path."""
    # The lower end comes first. A path begins at a rare pair that is not rare with a lower node in place of
    # either, and is as long as possible.
    a: int32
    n: Py_ssize_t = 0
    rare: uint8s = np.zeros(len(supports.partners), np.uint8)
    within: uint8s = np.zeros(len(supports.partners), np.uint8)
    ends: int32s = np.empty(64, np.int32)
    with nogil:
        _mark_rare_pairs(k, fit, size, supports, rare)
        _mark_above(up, rare, supports, within)
        for a in range(up.shape[0]):
            for slot in range(supports.starts[a], supports.starts[a + 1]):
                if not rare[slot] or within[slot]:
                    continue
                b = supports.partners[slot]
                top_a, top_b = a, b
                while True:
                    while _rare_slot(top_a, up[top_b], rare, supports) >= 0:
                        top_b = up[top_b]
                    while _rare_slot(up[top_a], top_b, rare, supports) >= 0:
                        top_a = up[top_a]
                    if n + 4 > ends.shape[0]:
                        ends = grown(ends, n, 2 * ends.shape[0])
                    ends[n], ends[n + 1], ends[n + 2], ends[n + 3] = a, top_a, b, top_b
                    n += 4
                    top_a, top_b = up[top_a], b
                    if _rare_slot(top_a, b, rare, supports) < 0:
                        break
    return np.asarray(ends[:n])


@cfunc
@nogil
@exceptval(check=False)
def _mark_rare_pairs(k: int64, fit: Flags, size: Codes, supports: Supports, rare: uint8s) -> void:
    """Mark the rare pairs of two fit nodes, neither above the other."""
    for a in range(fit.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            b = supports.partners[slot]
            rare[slot] = fit[a] and fit[b] and supports.together[slot] < k and b >= a + size[a]


@cfunc
@nogil
@exceptval(check=False)
def _mark_above(up: Codes, rare: Flags, supports: Supports, within: uint8s) -> void:
    """Mark the rare pairs that stay rare with a lower node in place of either."""
    a: int32
    for a in range(up.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            if rare[slot]:
                b = supports.partners[slot]
                above = _rare_slot(up[a], b, rare, supports)
                if above >= 0:
                    within[above] = True
                above = _rare_slot(a, up[b], rare, supports)
                if above >= 0:
                    within[above] = True


@cfunc
@nogil
@exceptval(check=False)
def _rare_slot(a: int32, b: int32, rare: Flags, supports: Supports) -> Py_ssize_t:
    """Return the position of a rare pair, -1 if the pair is not rare."""
    if a < 0 or b < 0:
        return -1
    slot = slot_of(min(a, b), max(a, b), supports)
    return slot if slot >= 0 and rare[slot] else -1


def set_clauses(
    k: int64,
    sets: Codes,
    set_offsets: Numbers,
    fit: Flags,
    up: Codes,
    size: Codes,
    supports: Supports,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Derive clauses for rare sets of fit nodes, as CSR: the lower and the upper end of each path."""
    # Each set is reduced while it stays rare, then its nodes are raised while they stay rare. There is one
    # clause for each row with all upper ends. The paths of the clause begin as low as possible in the row:
    # below the node of the set if the row contains it, otherwise below the upper end.
    rows = supports.rows
    row: Py_ssize_t
    found = Lists()
    longest = np.diff(set_offsets).max(initial=0)
    at: int32s = np.empty(longest, np.int32)
    ends: int32s = np.empty(2 * longest, np.int32)
    space = Space(longest, supports)
    with nogil:
        for i in range(set_offsets.shape[0] - 1):
            length = _shrink(sets, set_offsets[i], set_offsets[i + 1], k, supports, space, at)
            space.at[:length] = at[:length]
            raise_nodes(length, k, up, size, True, supports, space)
            rarest_node = rarest(space.nodes, 0, length, rows.starts)
            for slot in range(rows.starts[rarest_node], rows.starts[rarest_node + 1]):
                row = rows.tids[slot]
                if not contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], space.nodes, 0, length):
                    continue
                for place in range(length):
                    ends[2 * place] = _lowest_fit(at[place], space.at[place], row, rows, fit, size)
                    ends[2 * place + 1] = space.at[place]
                found.add(ends, 2 * length, 0)
    codes, bounds, _ = found.arrays()
    return codes, bounds


@cfunc
@nogil
@exceptval(check=False)
def _shrink(
    sets: Codes,
    start: Py_ssize_t,
    stop: Py_ssize_t,
    k: int64,
    supports: Supports,
    space: Space,
    kept: int32s,
) -> Py_ssize_t:
    """Write a rare subset of a set, ascending, that has no rare proper subset; return its length."""
    place: Py_ssize_t = 0
    n = stop - start
    kept[:n] = sets[start:stop]
    while place < n and n > 1:
        for i in range(n - 1):
            space.nodes[i] = kept[i + (i >= place)]
        if reached(space.nodes, n - 1, k, supports, space) < k:
            n -= 1
            kept[:n] = space.nodes[:n]
        else:
            place += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _lowest_fit(node: int32, top: int32, row: Py_ssize_t, rows: Rows, fit: Flags, size: Codes) -> int32:
    """Return a lowest fit node of a row below ``node``, or below ``top`` if ``node`` is not in the row."""
    lowest = top
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        if rows.codes[position] == node:
            lowest = node
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        code = rows.codes[position]  # in pre-order, descendants directly follow a node
        if lowest < code < lowest + size[lowest] and fit[code]:
            lowest = code
    return lowest
