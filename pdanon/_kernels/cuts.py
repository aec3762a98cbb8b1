"""Kernels that raise a cut through a hierarchy until nothing rare is left.

A cut has one node on every path from the root to a leaf. Nodes are numbered in pre-order, so the subtree
of ``node`` is ``range(node, node + size[node])``. The state is a tuple of arrays over nodes:

``parent``  -1 for the root
``size``    nodes of the subtree
``leaves``  leaves of the subtree
``cost``    loss of publishing the node for all occurrences below it, as an integer
``in_cut``  whether the node is in the cut
``below``   loss of the cut nodes of the subtree; that of the whole cut at the root

Supports are those of the rows extended by all ancestors of their items, except the root. Where rows hold
sensitive items too, a set of nodes is safe if none of these is in more than one of its rows in ``diversity``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.counting import _contains, _rarest

__all__ = ["lift", "lift_all", "node_of", "satisfy_itemsets", "satisfy_pairs"]

Array = NDArray[Any]
State = tuple[Array, Array, Array, Array, Array, Array]
Limits = tuple[int, int]  # codes of sensitive items; the diversity, 0 if it does not matter
# singles; pairs a < b as CSR with ascending partners; rows; transpose; sensitive items of each row as CSR
Supports = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Limits]


@inner
def lift(node: int, state: State) -> None:
    """Put a node into the cut instead of what the cut has below it."""
    parent, size, _, cost, in_cut, below = state
    if in_cut[node]:
        return
    for covered in range(node, node + size[node]):
        in_cut[covered] = False
    in_cut[node] = True
    added = cost[node] - below[node]
    while node >= 0:
        below[node] += added
        node = parent[node]


@kernel
def lift_all(nodes: Array, state: State) -> None:
    """Put nodes, ascending, into the cut; of those on one path the uppermost."""
    end = 0
    for node in nodes:
        if node >= end:
            lift(node, state)
            end = node + state[1][node]


@kernel
def node_of(leaves: Array, state: State) -> Array:
    """The cut's node above each of some leaves, or nodes at or below the cut."""
    parent, _, _, _, in_cut, _ = state
    nodes = leaves.copy()
    for i in range(len(nodes)):
        while not in_cut[nodes[i]]:
            nodes[i] = parent[nodes[i]]
    return nodes


@inner
def _maximal(nodes: Array, size: Array, out: Array) -> int:
    """Write the distinct nodes that have no ancestor among the given ones, ascending; return their number."""
    n = 0
    for i in range(len(nodes)):
        node = nodes[i]
        slot = n
        while slot > 0 and out[slot - 1] > node:
            out[slot] = out[slot - 1]
            slot -= 1
        out[slot] = node
        n += 1
    kept = 0
    for i in range(n):  # in pre-order an ancestor comes before what it covers
        if kept == 0 or out[i] >= out[kept - 1] + size[out[kept - 1]]:
            out[kept] = out[i]
            kept += 1
    return kept


@inner
def _reached(nodes: Array, k: int, supports: Supports) -> int:
    """Support of an antichain of nodes, ascending; counted up to k where there are more than two.

    Where it gives a sensitive item away, as little as if it were in one row.
    """
    singles, _, _, together, codes, offsets, weights, starts, tids = supports[:9]
    if supports[11][1] and nodes[0] != 0:  # the root, the last resort, is known to be safe
        return _hidden_in(nodes, supports)
    if len(nodes) == 1:
        return singles[nodes[0]]
    if len(nodes) == 2:
        slot = _slot(nodes[0], nodes[1], supports)
        return together[slot] if slot >= 0 else 0
    rarest = _rarest(nodes, starts)
    support = 0
    for slot in range(starts[rarest], starts[rarest + 1]):
        row = tids[slot]
        if _contains(codes, offsets[row], offsets[row + 1], nodes):
            support += weights[row]
            if support >= k:
                break
    return support


@inner
def _slot(a: int, b: int, supports: Supports) -> int:
    """Place of a pair a < b, -1 if it is in no row."""
    pair_starts, partners = supports[1:3]
    slot, last = pair_starts[a], pair_starts[a + 1]
    stop = last
    while slot < stop:
        middle = (slot + stop) // 2
        if partners[middle] < b:
            slot = middle + 1
        else:
            stop = middle
    return slot if slot < last and partners[slot] == b else -1


@inner
def _hidden_in(nodes: Array, supports: Supports) -> int:
    """Support of an antichain of nodes, or 1 where a sensitive item is in too many of its rows."""
    codes, offsets, weights, starts, tids, secret_offsets, secrets, (n_secrets, diversity) = supports[4:]
    shared = np.zeros(n_secrets, np.int64)
    rarest = _rarest(nodes, starts)
    support, most = 0, 0
    for slot in range(starts[rarest], starts[rarest + 1]):
        row = tids[slot]
        if _contains(codes, offsets[row], offsets[row + 1], nodes):
            support += weights[row]
            for place in range(secret_offsets[row], secret_offsets[row + 1]):
                shared[secrets[place]] += weights[row]
                most = max(most, shared[secrets[place]])
    return 1 if most * diversity > support else support


@inner
def _cheapest(nodes: Array, k: int, state: State, supports: Supports, out: Array) -> int:
    """Write the generalization of some cut nodes to support >= k that adds least loss; return its length.

    Order: added loss, affected leaves, then the nodes. All combinations of ancestors are looked at.
    """
    parent, size, leaves, cost, _, below = state
    at = nodes.copy()
    trial = np.empty(len(nodes), nodes.dtype)
    n_best, best_cost, best_leaves = 0, np.int64(0), np.int64(0)
    while True:
        n = _maximal(at, size, trial)
        added, affected = np.int64(0), np.int64(0)
        for i in range(n):
            added += cost[trial[i]] - below[trial[i]]
            affected += leaves[trial[i]]
        better = n_best == 0 or added < best_cost or (added == best_cost and affected < best_leaves)
        if not better and added == best_cost and affected == best_leaves:
            better = _precedes(trial, n, out, n_best)
        if better and _reached(trial[:n], k, supports) >= k:
            for i in range(n):
                out[i] = trial[i]
            n_best, best_cost, best_leaves = n, added, affected
        # Next combination: one step up at the first place that has one, the places before it back down.
        place = 0
        while place < len(at) and parent[at[place]] < 0:
            at[place] = nodes[place]
            place += 1
        if place == len(at):
            return n_best
        at[place] = parent[at[place]]


@inner
def _precedes(a: Array, n_a: int, b: Array, n_b: int) -> bool:
    for i in range(min(n_a, n_b)):
        if a[i] != b[i]:
            return a[i] < b[i]
    return n_a < n_b


@inner
def _stepwise(nodes: Array, k: int, state: State, supports: Supports, out: Array) -> int:
    """As ``_cheapest``, one step at a time: up where it adds least loss, then back down where it can."""
    parent, size, _, cost, _, below = state
    at = nodes.copy()
    n = _maximal(at, size, out)
    while _reached(out[:n], k, supports) < k:
        place, least = -1, np.int64(0)
        for i in range(len(at)):
            up = parent[at[i]]
            if up >= 0:
                added = (cost[up] - below[up]) - (cost[at[i]] - below[at[i]])
                if place < 0 or added < least:
                    place, least = i, added
        at[place] = parent[at[place]]
        n = _maximal(at, size, out)
    for i in range(len(at)):
        reached = at[i]
        at[i] = nodes[i]
        n = _maximal(at, size, out)
        while at[i] != reached and _reached(out[:n], k, supports) < k:
            at[i] = parent[at[i]]
            n = _maximal(at, size, out)
    return _maximal(at, size, out)


@inner
def _generalize(nodes: Array, k: int, state: State, supports: Supports) -> None:
    out = np.empty(len(nodes), nodes.dtype)
    if len(nodes) <= 3:
        n = _cheapest(nodes, k, state, supports, out)
    else:
        n = _stepwise(nodes, k, state, supports, out)
    for i in range(n):
        lift(out[i], state)


@kernel
def satisfy_pairs(k: int, pairs: bool, state: State, supports: Supports) -> int:
    """Raise the cut until no node, and with ``pairs`` no pair of nodes, of it has a support in (0, k).

    Nodes and pairs are met in pre-order, pass after pass; the number of generalizations is returned.
    """
    in_cut = state[4]
    singles, pair_starts, partners, together = supports[:4]
    one = np.empty(1, np.int64)
    two = np.empty(2, np.int64)
    done = 0
    for a in range(len(in_cut)):
        if in_cut[a] and 0 < singles[a] < k:
            one[0] = a
            _generalize(one, k, state, supports)
            done += 1
    before = -1
    while pairs and done != before:
        before = done
        for a in range(len(in_cut)):
            for slot in range(pair_starts[a], pair_starts[a + 1]):
                if not in_cut[a]:
                    break
                if in_cut[partners[slot]] and together[slot] < k:
                    two[0], two[1] = a, partners[slot]
                    _generalize(two, k, state, supports)
                    done += 1
    return done


@kernel
def satisfy_itemsets(k: int, sets: Array, set_offsets: Array, state: State, supports: Supports) -> int:
    """Raise the cut until what the given sets of nodes have become is not rare; in the order given."""
    done = 0
    for i in range(len(set_offsets) - 1):
        nodes = node_of(sets[set_offsets[i] : set_offsets[i + 1]], state)
        image = np.empty(len(nodes), np.int64)
        n = _maximal(nodes, state[1], image)
        if 0 < _reached(image[:n], k, supports) < k:
            _generalize(image[:n].copy(), k, state, supports)
            done += 1
    return done
