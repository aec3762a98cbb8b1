"""Cuts of a hierarchy: raise a cut until nothing is rare, and derive demands on every safe cut.

A cut has one node on each path from the root to a leaf. Nodes are numbered in pre-order, so the subtree of
``node`` is ``range(node, node + size[node])``.

Rows are extended by all ancestors of their items, except the root; supports count these rows. If rows contain
sensitive items, a set of nodes is safe if each sensitive item is in at most 1 / ``diversity`` of its rows.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    exceptval,
    final,
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
    contains,
    grown,
    int32s,
    int64s,
    rarest,
    sort_part,
    support,
    uint8s,
)
from numpy.typing import NDArray

__all__ = [
    "Space",
    "State",
    "Supports",
    "forced_nodes",
    "lift_all",
    "node_counts",
    "node_of",
    "pair_demands",
    "satisfy_itemsets",
    "satisfy_pairs",
    "set_demands",
]


# --- Raise a cut


@final
@cclass
class State:
    """A cut of a hierarchy, and its loss."""

    # ``in_cut`` is the mask of its nodes, and ``below`` the sum of the losses of the cut nodes in each
    # subtree.

    parent: Codes  # of each node, -1 for the root
    size: Codes  # number of nodes of each subtree
    leaves: Codes  # number of leaves of each subtree
    cost: Numbers  # loss of publishing each node for all occurrences below it
    in_cut: uint8s
    below: int64s

    def __init__(
        self,
        *,
        parent: Codes,
        size: Codes,
        leaves: Codes,
        cost: Numbers,
        in_cut: Flags,
        below: Numbers,
    ) -> None:
        self.parent, self.size, self.leaves, self.cost = parent, size, leaves, cost
        self.in_cut, self.below = np.array(in_cut), np.array(below)

    def copy(self) -> State:
        """Return a copy of the cut."""
        return State(
            parent=self.parent,
            size=self.size,
            leaves=self.leaves,
            cost=self.cost,
            in_cut=self.in_cut,
            below=self.below,
        )

    @property
    def loss(self) -> int:
        """Loss of the cut."""
        return self.below[0]


@final
@cclass
class Supports:
    """Supports of nodes and pairs of nodes, and the rows of nodes and their ancestors to count others.

    ``starts, partners, together`` are pairs of nodes, the smaller number first, as CSR with ascending
    partners, and their supports. If empty, pairs are counted in the rows. ``secrets`` are the sensitive items
    of each row, as CSR. Each may be in at most 1 / ``diversity`` of the rows of a set of nodes; 0: in all.
    """

    def __init__(
        self,
        *,
        rows: Rows,
        singles: Numbers,
        starts: Numbers,
        partners: Codes,
        together: Numbers,
        secret_offsets: Numbers,
        secrets: Codes,
        n_secrets: Py_ssize_t,
        diversity: int,
    ) -> None:
        self.rows, self.singles = rows, singles
        self.starts, self.partners, self.together = starts, partners, together
        self.secret_offsets, self.secrets, self.n_secrets = secret_offsets, secrets, n_secrets
        self.diversity = min(diversity, 2**31)  # above any support; products fit 64 bits


@final
@cclass
class Space:
    """Work space to count supports of sets of nodes, up to a maximum size."""

    def __init__(self, longest: int, supports: Supports) -> None:
        self.nodes, self.at, self.trial, self.out = np.empty((4, longest), np.int32)
        self.shared = np.empty(supports.n_secrets, np.int64)


@cfunc
@nogil
@exceptval(check=False)
def _lift(node: Py_ssize_t, state: State) -> void:
    """Replace the cut nodes below a node by the node."""
    if state.in_cut[node]:
        return
    for covered in range(node, node + state.size[node]):
        state.in_cut[covered] = False
    state.in_cut[node] = True
    added = state.cost[node] - state.below[node]
    while node >= 0:
        state.below[node] += added
        node = state.parent[node]


def lift_all(nodes: Codes, state: State) -> None:
    """Raise the cut to nodes, given in ascending order; of a node and its ancestor, to the ancestor."""
    end: Py_ssize_t = 0
    with nogil:
        for i in range(nodes.shape[0]):
            if nodes[i] >= end:
                _lift(nodes[i], state)
                end = nodes[i] + state.size[nodes[i]]


def node_of(leaves: Codes, state: State) -> NDArray[np.int32]:
    """Return the cut node at or above each node, given leaves or other nodes not above the cut."""
    i: Py_ssize_t
    result = np.empty(len(leaves), np.int32)
    nodes: int32s = result
    with nogil:
        for i in range(nodes.shape[0]):
            nodes[i] = _above(leaves[i], state)
    return result


@cfunc
@nogil
@exceptval(check=False)
def _above(node: int32, state: State) -> int32:
    """Return the cut node at or above a node."""
    while not state.in_cut[node]:
        node = state.parent[node]
    return node


def maximal(nodes: Codes, n: Py_ssize_t, size: Codes, out: int32s) -> Py_ssize_t:
    """Write the distinct nodes without an ancestor among the n nodes, ascending; return their number."""
    kept: Py_ssize_t = 0
    for i in range(n):
        slot = i
        while slot > 0 and out[slot - 1] > nodes[i]:
            out[slot] = out[slot - 1]
            slot -= 1
        out[slot] = nodes[i]
    for i in range(n):  # in pre-order, an ancestor precedes its descendants
        if kept == 0 or out[i] >= out[kept - 1] + size[out[kept - 1]]:
            out[kept] = out[i]
            kept += 1
    return kept


def reached(nodes: Codes, n: Py_ssize_t, k: int64, supports: Supports, space: Space) -> int64:
    """Return the support of an antichain of n nodes, ascending; unless it is stored, count up to k."""
    # If a sensitive item is in too many of its rows, return 1.
    if supports.diversity and nodes[0] != 0:  # the caller has checked the root, the last resort
        return _hidden_in(nodes, n, supports, supports.rows, space)
    if n == 1:
        return supports.singles[nodes[0]]
    if n == 2 and supports.starts.shape[0]:
        slot = slot_of(nodes[0], nodes[1], supports)
        return supports.together[slot] if slot >= 0 else 0
    return support(nodes, 0, n, supports.rows, k)


@cfunc
@nogil
@exceptval(check=False)
def _hidden_in(nodes: Codes, n: Py_ssize_t, supports: Supports, rows: Rows, space: Space) -> int64:
    """Return the support of an antichain of nodes, or 1 if a sensitive item is in too many of its rows."""
    row: Py_ssize_t
    secret: Py_ssize_t
    node = rarest(nodes, 0, n, rows.starts)
    held = 0
    most = 0
    space.shared[:] = 0
    for slot in range(rows.starts[node], rows.starts[node + 1]):
        row = rows.tids[slot]
        if contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], nodes, 0, n):
            held += rows.weights[row]
            for place in range(supports.secret_offsets[row], supports.secret_offsets[row + 1]):
                secret = supports.secrets[place]
                space.shared[secret] += rows.weights[row]
                most = max(most, space.shared[secret])
    return 1 if most * supports.diversity > held else held


@cfunc
@nogil
@exceptval(check=False)
def _cheapest(n: Py_ssize_t, k: int64, state: State, supports: Supports, space: Space) -> Py_ssize_t:
    """Write the safe generalization of n cut nodes with the lowest added loss; return its length."""
    # Safe: support >= k. Ties: fewer leaves, then the nodes. All combinations of ancestors are compared.
    n_best = 0
    affected: int64
    best_added = 0
    best_affected: int64 = 0
    better: bint
    space.at[:n] = space.nodes[:n]
    while True:
        length = maximal(space.at, n, state.size, space.trial)
        added, affected = 0, 0
        for place in range(length):
            added += state.cost[space.trial[place]] - state.below[space.trial[place]]
            affected += state.leaves[space.trial[place]]
        better = n_best == 0 or added < best_added or (added == best_added and affected < best_affected)
        if not better and added == best_added and affected == best_affected:
            better = _precedes(space.trial, length, space.out, n_best)
        if better and reached(space.trial, length, k, supports, space) >= k:
            space.out[:length] = space.trial[:length]
            n_best, best_added, best_affected = length, added, affected
        # Next combination, as in counting: raise the first node that has a parent, reset all before it.
        place = 0
        while place < n and state.parent[space.at[place]] < 0:
            space.at[place] = space.nodes[place]
            place += 1
        if place == n:
            return n_best
        space.at[place] = state.parent[space.at[place]]


@cfunc
@nogil
@exceptval(check=False)
def _precedes(a: Codes, n_a: Py_ssize_t, b: Codes, n_b: Py_ssize_t) -> bint:
    """Return whether a sequence of nodes precedes another in lexicographic order."""
    for i in range(min(n_a, n_b)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return n_a < n_b


@cfunc
@nogil
@exceptval(check=False)
def _stepwise(n: Py_ssize_t, k: int64, state: State, supports: Supports, space: Space) -> Py_ssize_t:
    """Write a generalization of n cut nodes with support >= k, found greedily; return its length."""
    # First, raise the node that adds least loss, until the support suffices. Then lower each node again as
    # far as possible.
    space.at[:n] = space.nodes[:n]
    length = maximal(space.at, n, state.size, space.out)
    while reached(space.out, length, k, supports, space) < k:
        up = _cheapest_step(n, state, space)
        space.at[up] = state.parent[space.at[up]]
        length = maximal(space.at, n, state.size, space.out)
    for i in range(n):
        top = space.at[i]
        space.at[i] = space.nodes[i]
        length = maximal(space.at, n, state.size, space.out)
        while space.at[i] != top and reached(space.out, length, k, supports, space) < k:
            space.at[i] = state.parent[space.at[i]]
            length = maximal(space.at, n, state.size, space.out)
    return maximal(space.at, n, state.size, space.out)


@cfunc
@nogil
@exceptval(check=False)
def _cheapest_step(n: Py_ssize_t, state: State, space: Space) -> Py_ssize_t:
    """Return the position of the node whose parent adds least loss; not all nodes are the root."""
    place = -1
    least = 0
    for i in range(n):
        node = space.at[i]
        up = state.parent[node]
        if up >= 0:
            added = (state.cost[up] - state.below[up]) - (state.cost[node] - state.below[node])
            if place < 0 or added < least:
                place, least = i, added
    return place


@cfunc
@nogil
@exceptval(check=False)
def _generalize(n: Py_ssize_t, k: int64, state: State, supports: Supports, space: Space) -> void:
    """Raise the cut to ancestors of the first n nodes of the work space."""
    # Up to three nodes are generalized optimally; for more, the number of combinations is too large.
    length = _cheapest(n, k, state, supports, space) if n <= 3 else _stepwise(n, k, state, supports, space)
    for i in range(length):
        _lift(space.out[i], state)


def satisfy_pairs(k: int64, pairs: bint, state: State, supports: Supports) -> int:
    """Raise the cut until no node, and with ``pairs`` no pair of nodes, is rare; return the number of steps.

    Nodes and pairs are visited in pre-order, pass after pass. A node that stays in the cut is visited once.
    If another node enters the cut later, their pair is in no row, or in all rows of a pair that was not rare.
    """
    more: Py_ssize_t
    done: Py_ssize_t = 0
    space = Space(2, supports)
    counts: int32s = np.zeros(len(state.in_cut), np.int32)
    partners: int32s = np.empty(len(state.in_cut), np.int32)
    checked: uint8s = np.zeros(len(state.in_cut), np.uint8)
    with nogil:
        for a in range(state.in_cut.shape[0]):
            if state.in_cut[a] and 0 < supports.singles[a] < k:
                space.nodes[0] = a
                _generalize(1, k, state, supports, space)
                done += 1
        more = pairs
        while more:
            more = 0
            for a in range(state.in_cut.shape[0]):
                if state.in_cut[a] and not checked[a]:
                    checked[a] = True
                    more += _satisfy_pairs_of(a, k, counts, partners, state, supports, space)
            done += more
    return done


@cfunc
@nogil
@exceptval(check=False)
def _satisfy_pairs_of(
    a: Py_ssize_t,
    k: int64,
    counts: int32s,
    partners: int32s,
    state: State,
    supports: Supports,
    space: Space,
) -> Py_ssize_t:
    """Raise the cut until a node has left it, or has no rare pair with a later node; count the steps."""
    # A node that enters the cut in the meantime is an ancestor of a visited node, so it precedes the next
    # ones.
    done: Py_ssize_t = 0
    n = _rare_partners(a, k, counts, partners, state, supports.rows)
    for i in range(n):
        if not state.in_cut[a]:
            break
        if state.in_cut[partners[i]]:
            space.nodes[0], space.nodes[1] = a, partners[i]
            _generalize(2, k, state, supports, space)
            done += 1
    return done


@cfunc
@nogil
@exceptval(check=False)
def _rare_partners(
    a: Py_ssize_t,
    k: int64,
    counts: int32s,
    partners: int32s,
    state: State,
    rows: Rows,
) -> Py_ssize_t:
    """List the later cut nodes that form a rare pair with a node, ascending; return their number."""
    row: Py_ssize_t
    i: Py_ssize_t
    n: Py_ssize_t
    kept: Py_ssize_t
    codes = rows.codes
    n = kept = 0
    for slot in range(rows.starts[a], rows.starts[a + 1]):
        row = rows.tids[slot]
        weight: int32 = rows.weights[row]
        for position in range(rows.positions[slot] + 1, rows.offsets[row + 1]):
            b = codes[position]
            if counts[b] == 0:
                partners[n] = b
                n += 1
            counts[b] += weight
    for i in range(n):
        b = partners[i]
        if counts[b] < k and state.in_cut[b]:
            partners[kept] = b
            kept += 1
        counts[b] = 0
    sort_part(partners, 0, kept)
    return kept


def satisfy_itemsets(k: int64, sets: Codes, set_offsets: Numbers, state: State, supports: Supports) -> int:
    """Raise the cut until no image of a given set of nodes is rare; return the number of steps."""
    # The sets are visited in the given order.
    done: Py_ssize_t = 0
    space = Space(np.diff(set_offsets).max(initial=0), supports)
    with nogil:
        for i in range(set_offsets.shape[0] - 1):
            n = set_offsets[i + 1] - set_offsets[i]
            for place in range(n):
                space.at[place] = _above(sets[set_offsets[i] + place], state)
            n = maximal(space.at, n, state.size, space.nodes)
            if 0 < reached(space.nodes, n, k, supports, space) < k:
                _generalize(n, k, state, supports, space)
                done += 1
    return done


# --- Demands on every safe cut
#
# A cut covers a node if it contains the node or an ancestor. An antichain that is rare demands that every
# safe cut covers the parent of at least one of its nodes. Otherwise the cut is at or below each of them, and
# the nodes that it publishes for a row with the antichain are at least as rare. If a node is raised and the
# set stays rare, the demand becomes stronger.


def forced_nodes(k: int64, pairs: bint, parent: Codes, size: Codes, supports: Supports) -> NDArray[np.bool_]:
    """Return the nodes that a rare node alone demands, and all nodes below them."""
    # With ``pairs``, also the nodes that a rare pair alone demands.
    result = np.zeros(len(parent), np.bool_)
    forced: uint8s = result
    with nogil:
        for node in range(1, parent.shape[0]):
            if 0 < supports.singles[node] < k:
                forced[parent[node]] = True
        if pairs:
            _force_by_pairs(k, parent, size, supports, forced)
        for node in range(1, parent.shape[0]):
            if forced[parent[node]]:
                forced[node] = True
    return result


@cfunc
@nogil
@exceptval(check=False)
def _force_by_pairs(k: int64, parent: Codes, size: Codes, supports: Supports, forced: uint8s) -> void:
    """Mark the nodes that a rare pair demands alone."""
    for a in range(parent.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            b = supports.partners[slot]
            if supports.together[slot] >= k or b < a + size[a]:
                continue
            u, v = min(parent[a], parent[b]), max(parent[a], parent[b])
            if v < u + size[u]:  # a cut that covers the upper parent covers the lower one, too
                forced[v] = True


def pair_demands(
    k: int64, forced: Flags, parent: Codes, size: Codes, supports: Supports
) -> NDArray[np.int32]:
    """Return the demands of the rare pairs that are no longer rare if either node is raised."""
    # Demands that a forced node meets are left out.
    n: Py_ssize_t = 0
    demands: int32s = np.empty(64, np.int32)
    space = Space(2, supports)
    with nogil:
        for a in range(1, parent.shape[0]):
            if forced[parent[a]]:
                continue
            for slot in range(supports.starts[a], supports.starts[a + 1]):
                b = supports.partners[slot]
                if supports.together[slot] >= k or b < a + size[a] or forced[parent[b]]:
                    continue
                if not _is_rare(parent[a], b, k, size, supports, space):
                    if not _is_rare(a, parent[b], k, size, supports, space):
                        if n + 2 > demands.shape[0]:
                            demands = grown(demands, n, 2 * demands.shape[0])
                        demands[n], demands[n + 1] = parent[a], parent[b]
                        n += 2
    return np.asarray(demands[:n])


@cfunc
@nogil
@exceptval(check=False)
def _is_rare(a: int32, b: int32, k: int64, size: Codes, supports: Supports, space: Space) -> bint:
    """Return whether a pair of nodes is rare; it is in a row, and the parents of both are not forced."""
    first = min(a, b)
    last = max(a, b)
    if last < first + size[first]:  # the pair is the upper node, which is not rare: its parent is not forced
        return False
    space.nodes[0], space.nodes[1] = first, last
    return reached(space.nodes, 2, k, supports, space) < k


def set_demands(
    k: int64,
    sets: Codes,
    set_offsets: Numbers,
    parent: Codes,
    size: Codes,
    supports: Supports,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the demand of each rare set of nodes, raised while it stays rare, as CSR."""
    # A set is left out if an earlier demand implies its own.
    n: Py_ssize_t = 0
    demands: int32s = np.empty(len(sets), np.int32)
    starts: int64s = np.zeros(len(set_offsets), np.int64)
    met_with: int64s = np.full(len(parent), -1, np.int64)
    space = Space(np.diff(set_offsets).max(initial=0), supports)
    with nogil:
        for i in range(set_offsets.shape[0] - 1):
            for place in range(set_offsets[i], set_offsets[i + 1]):
                # A cut that covers a proper ancestor of a node of the set meets its demand.
                above = parent[sets[place]]
                while above >= 0 and met_with[above] != i:
                    met_with[above] = i
                    above = parent[above]
                space.at[place - set_offsets[i]] = sets[place]
            if not _any_within(demands, starts, n, met_with, i):
                length = set_offsets[i + 1] - set_offsets[i]
                length = raise_nodes(length, k, parent, size, False, supports, space)
                starts[n + 1] = _write_lowest_parents(length, parent, size, space, starts[n], demands)
                n += 1
    return np.asarray(demands[: starts[n]]), np.asarray(starts[: n + 1])


@cfunc
@nogil
@exceptval(check=False)
def _any_within(demands: Codes, starts: Numbers, n: Py_ssize_t, mark: Numbers, value: int64) -> bint:
    """Return whether all nodes of one of the first n demands have a mark."""
    for i in range(n):
        slot = starts[i]
        while slot < starts[i + 1] and mark[demands[slot]] == value:
            slot += 1
        if slot == starts[i + 1]:
            return True
    return False


def raise_nodes(
    n: Py_ssize_t,
    k: int64,
    up: Codes,
    size: Codes,
    apart: bint,
    supports: Supports,
    space: Space,
) -> Py_ssize_t:
    """Raise each of n nodes, ``space.at``, while the set stays rare, and with ``apart`` an antichain."""
    # ``up`` is the node to raise each node to, or -1. Write the antichain to ``space.nodes``, ascending;
    # return its length.
    rare: bint
    for i in range(n):
        rare = True
        while rare and up[space.at[i]] >= 0:
            below = space.at[i]
            space.at[i] = up[below]
            length = maximal(space.at, n, size, space.nodes)
            rare = (length == n or not apart) and reached(space.nodes, length, k, supports, space) < k
            if not rare:
                space.at[i] = below
    return maximal(space.at, n, size, space.nodes)


@cfunc
@nogil
@exceptval(check=False)
def _write_lowest_parents(
    n: Py_ssize_t,
    parent: Codes,
    size: Codes,
    space: Space,
    start: Py_ssize_t,
    out: int32s,
) -> Py_ssize_t:
    """Write the parents of an antichain that have no other parent below them, ascending; return their end."""
    end = start
    for i in range(n):
        above = parent[space.nodes[i]]
        if end > start and out[end - 1] <= above < out[end - 1] + size[out[end - 1]]:
            end -= 1  # an ancestor of this parent, or equal
        if end == start or out[end - 1] < above:
            out[end] = above
            end += 1
    return end


# --- Rows of leaves


def node_counts(
    offsets: Numbers, leaves: Codes, parent: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Count the leaves of each row below each node that has any: number of nodes by row, nodes, counts."""
    # The leaves of a row ascend, and so do its nodes. A leaf is below itself.
    sizes = np.zeros(len(offsets) - 1, np.int64)
    n_nodes: int64s = sizes
    last: int64s = np.full(len(parent), -1, np.int64)  # last row with each node
    at: Py_ssize_t
    node: Py_ssize_t
    row: Py_ssize_t
    with nogil:
        for row in range(n_nodes.shape[0]):
            for at in range(offsets[row], offsets[row + 1]):
                node = leaves[at]
                while node >= 0 and last[node] != row:
                    last[node] = row
                    n_nodes[row] += 1
                    node = parent[node]
    found = np.empty(sizes.sum(), np.int32)
    nodes: int32s = found
    numbers = np.zeros(len(found), np.int32)
    counts: int32s = numbers
    place: int64s = np.full(len(parent), -1, np.int64)  # of each node in the last row with it
    first: Py_ssize_t = 0  # place of the current row
    end: Py_ssize_t = 0
    with nogil:
        for row in range(n_nodes.shape[0]):
            for at in range(offsets[row], offsets[row + 1]):
                node = leaves[at]
                while node >= 0 and place[node] < first:  # the new nodes of a path are its lower end
                    node = parent[node]
                    end += 1
                slot: Py_ssize_t = end - 1
                node = leaves[at]
                while node >= 0:
                    if place[node] < first:
                        place[node], nodes[slot] = slot, node
                        slot -= 1
                    counts[place[node]] += 1
                    node = parent[node]
            first = end
    return sizes, found, numbers
