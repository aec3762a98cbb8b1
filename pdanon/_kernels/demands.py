"""Kernels that turn rare sets of nodes into demands on a cut.

A cut covers a node if it is at the node or above it. A set of nodes, none above another, that is in some
but too few rows demands of every safe cut that it covers the parent of one of them: otherwise the cut is at
or below each of them, and what it publishes of a row that holds the set is at least as rare. Raising a node
of a rare set gives a stronger demand as long as the set stays rare.
"""

from __future__ import annotations

import numpy as np

from pdanon._kernels import inner, kernel
from pdanon._kernels.arrays import grown
from pdanon._kernels.cuts import Array, Supports, _maximal, _reached

__all__ = ["forced_nodes", "pair_demands", "set_demands"]


@kernel
def forced_nodes(k: int, pairs: bool, parent: Array, size: Array, supports: Supports) -> Array:
    """Nodes that a rare node, or with ``pairs`` a rare pair, demands alone; and all below them."""
    singles, starts, partners, together = supports[:4]
    forced = np.zeros(len(parent), np.bool_)
    for node in range(1, len(parent)):
        if 0 < singles[node] < k:
            forced[parent[node]] = True
    for a in range(len(parent) if pairs else 0):
        for slot in range(starts[a], starts[a + 1]):
            b = partners[slot]
            if together[slot] >= k or b < a + size[a]:
                continue
            u, v = min(parent[a], parent[b]), max(parent[a], parent[b])
            if v < u + size[u]:  # the upper one is covered only together with the lower one
                forced[v] = True
    for node in range(1, len(parent)):
        if forced[parent[node]]:
            forced[node] = True
    return forced


@kernel
def pair_demands(k: int, forced: Array, parent: Array, size: Array, supports: Supports) -> Array:
    """Demands of the rare pairs that stay rare with neither node raised, unless a forced node meets them."""
    starts, partners, together = supports[1:4]
    demands = np.empty(64, np.int32)
    n = np.int64(0)
    for a in range(1, len(parent)):
        u = np.int64(parent[a])
        if forced[u]:
            continue
        for slot in range(starts[a], starts[a + 1]):
            b = np.int64(partners[slot])
            v = np.int64(parent[b])
            if together[slot] >= k or b < a + size[a] or forced[v]:
                continue
            if not _is_rare(u, b, k, size, supports) and not _is_rare(a, v, k, size, supports):
                if n + 2 > len(demands):
                    demands = grown(demands, n, 2 * len(demands))
                demands[n], demands[n + 1] = u, v
                n += 2
    return demands[:n]


@inner
def _is_rare(a: int, b: int, k: int, size: Array, supports: Supports) -> bool:
    """Whether a pair of nodes that is in some row, of parents that are not forced, is rare."""
    first, last = min(a, b), max(a, b)
    if last < first + size[first]:  # one node, the upper one; a rare node has a forced parent
        return False
    pair = np.empty(2, np.int64)
    pair[0], pair[1] = first, last
    return _reached(pair, k, supports) < k


@kernel
def set_demands(
    k: int, sets: Array, set_offsets: Array, parent: Array, size: Array, supports: Supports
) -> tuple[Array, Array]:
    """Demand of each rare set of nodes after raising it as far as it stays rare, as CSR.

    Sets whose demands are implied by those of the sets before them are passed over.
    """
    demands = np.empty(len(sets), np.int32)
    starts = np.zeros(len(set_offsets), np.int64)
    n = np.int64(0)
    met_with = np.full(len(parent), -1, np.int64)
    for i in range(len(set_offsets) - 1):
        at = sets[set_offsets[i] : set_offsets[i + 1]].astype(np.int64)
        for node in at:  # where one of these is covered, the demand of the set is met
            above = parent[node]
            while above >= 0 and met_with[above] != i:
                met_with[above] = i
                above = parent[above]
        if not _any_within(demands, starts, n, met_with, i):
            image = np.empty(len(at), np.int64)
            raised = _raise(at, k, parent, size, supports, image)
            starts[n + 1] = starts[n] + _lowest_parents(image, raised, parent, size, demands[starts[n] :])
            n += 1
    return demands[: starts[n]], starts[: n + 1]


@inner
def _any_within(demands: Array, starts: Array, n: int, mark: Array, value: int) -> bool:
    """Whether all nodes of one of the first n demands are marked with a value."""
    for i in range(n):
        slot = starts[i]
        while slot < starts[i + 1] and mark[demands[slot]] == value:
            slot += 1
        if slot == starts[i + 1]:
            return True
    return False


@inner
def _raise(at: Array, k: int, parent: Array, size: Array, supports: Supports, image: Array) -> int:
    """Raise one node after the other while the set stays rare; write its antichain, return the length."""
    for i in range(len(at)):
        rare = True
        while rare and at[i] > 0:
            below = at[i]
            at[i] = parent[below]
            rare = _reached(image[: _maximal(at, size, image)], k, supports) < k
            if not rare:
                at[i] = below
    return _maximal(at, size, image)


@inner
def _lowest_parents(nodes: Array, n: int, parent: Array, size: Array, out: Array) -> int:
    """Write the parents of an antichain that have no other parent below them, ascending."""
    kept = 0
    for i in range(n):
        above = parent[nodes[i]]
        if kept > 0 and out[kept - 1] <= above < out[kept - 1] + size[out[kept - 1]]:
            kept -= 1  # an ancestor of this one, or this one
        if kept == 0 or out[kept - 1] < above:
            out[kept] = above
            kept += 1
    return kept
