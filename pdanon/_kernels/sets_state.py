"""The state of a refinement: clusters, what they are counted in, and how one item moves.

Clusters have numbers below the number of slots; some are empty. A state is safe if nothing that it counts is
rare, that is, has a support in (0, k). How much is lacking is kept current, ``short``: so several moves can
be made one after the other, of which only the last has to lead to a safe state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = [
    "Rows",
    "Space",
    "State",
    "changed",
    "count",
    "first_empty",
    "move_to",
    "relocate",
    "spot",
    "weigh",
]

Array = NDArray[Any]


class Rows(NamedTuple):
    """Distinct transactions."""

    codes: Array  # items, row after row
    offsets: Array  # where each row begins
    weights: Array  # transactions that a row stands for
    starts: Array  # where each item's rows begin
    tids: Array  # rows, item after item


class State(NamedTuple):
    """Clusters and supports; what is not counted has no entries."""

    asked: Array  # k; what must not be rare: sets of up to 1, 2 or 3 clusters, or 0 for constraints; the loss
    label: Array  # cluster of each item, -1 if it is suppressed
    size: Array  # members of each cluster
    held: Array  # sum of the worth of the members of each cluster
    support: Array  # transactions that hold a member
    co: Array  # dense matrix: transactions that hold members of both clusters; 0 on the diagonal
    cube: Array  # transactions that hold members of three clusters, by `spot`
    singles: Array  # support of each item
    worth: Array  # what each item costs for each member of its cluster
    block: Array  # block of each item; a cluster has items of one block
    home: Array  # block of each cluster that is not empty
    top: Array  # one number: clusters from here on are empty
    asleep: Array  # which items found no move, and are in clusters that have not changed since
    tried: Array  # which clusters could not be parted, and have not changed since
    short: Array  # one number: what supports in (0, k) lack to k
    itemsets: Array  # items of the constraints, one constraint after the other
    bounds: Array  # where each constraint begins
    met: Array  # support of the image of each constraint, or k if it is more
    bits: Array  # for each cluster the rows that hold it, one bit a row


class Space(NamedTuple):
    """Work space. ``beside``, ``alone``, ``place``, ``joint`` and ``lone`` are 0 between two steps."""

    beside: Array  # transactions that hold the item in hand and another item of the cluster
    alone: Array  # those of them without another item of its own cluster
    touched: Array  # the clusters for which these are not 0
    place: Array  # where in ``touched`` a cluster is, plus 1
    stamp: Array  # the last row in which a cluster was seen, as a value of ``token``
    near: Array  # the clusters that a row holds
    few: Array  # the clusters that few rows hold beside the item
    broken: Array  # the clusters that get rare with the item's own when it leaves
    gains: Array  # what it gains to move the item to each cluster
    token: Array  # one number
    joint: Array  # by places: as ``beside``, of two clusters
    lone: Array  # by places: as ``alone``, of two clusters
    pairs: Array  # two places a row, the higher one first: for which these are not 0
    few_pairs: Array  # two clusters a row: those that few rows hold beside the item
    broken_pairs: Array  # two clusters a row: those that get rare with its own when the item leaves
    members: Array  # items in hand
    refused: Array  # for constraints: the clusters to which the item may not move, or has no reason to
    brought: Array  # for constraints: rows that each of two items holds, one bit a row
    left: Array  # for constraints: rows of the cluster of each without it, one bit a row


@inner
def spot(a: int, b: int, c: int) -> int:
    """Where in ``cube`` three different clusters are."""
    low, high = min(a, b), max(a, b)
    if c < low:
        low, middle = c, low
    elif c < high:
        middle = c
    else:
        middle, high = high, c
    return high * (high - 1) * (high - 2) // 6 + middle * (middle - 1) // 2 + low


@inner
def clusters_beside(x: int, row: Array, label: Array, stamp: Array, near: Array, token: Array) -> int:
    """List in ``near`` the clusters of the other items of a row, and return their number."""
    token[0] += 1
    now, n = token[0], 0
    for item in row:
        cluster = label[item]
        if item != x and cluster >= 0 and stamp[cluster] != now:
            stamp[cluster] = now
            near[n] = cluster
            n += 1
    return n


@inner
def first_empty(state: State) -> int:
    """The first empty cluster, -1 if there is none."""
    for cluster in range(min(state.top[0] + 1, len(state.size))):
        if state.size[cluster] == 0:
            return cluster
    return -1


@inner
def _lack(support: int, k: int) -> int:
    return k - support if 0 < support < k else 0


@inner
def _count(c: int, weight: int, n: int, near: Array, state: State) -> None:
    """Add transactions to what a cluster is counted in together with n others."""
    k, largest, support, co, cube = state.asked[0], state.asked[1], state.support, state.co, state.cube
    short = 0
    if largest:
        short = _lack(support[c] + weight, k) - _lack(support[c], k)
    support[c] += weight
    for i in range(n if largest >= 2 else 0):
        d = near[i]
        old = co[c, d]
        short += _lack(old + weight, k) - _lack(old, k)
        co[c, d] = co[d, c] = old + weight
        for j in range(i if largest == 3 else 0):
            at = spot(c, d, near[j])
            old = cube[at]
            short += _lack(old + weight, k) - _lack(old, k)
            cube[at] = old + weight
    state.short[0] += short


@inner
def _flip(cluster: int, row: int, bits: Array) -> None:
    bits[cluster, row >> 6] ^= np.uint64(1) << np.uint64(row & 63)


@inner
def weigh(word: np.uint64, row: int, enough: int, weights: Array) -> int:
    """Transactions of the rows that a word marks, from the given one on, counted until there are enough."""
    total = 0
    while word and total < enough:
        if word & np.uint64(1):
            total += weights[row]
        word >>= np.uint64(1)
        row += 1
    return total


@inner
def _recount(constraint: int, state: State, rows: Rows) -> None:
    """Count the support of the image of a constraint again, up to k."""
    k, label, bits = state.asked[0], state.label, state.bits
    image = state.itemsets[state.bounds[constraint] : state.bounds[constraint + 1]]
    published = False
    for item in image:
        published |= label[item] >= 0
    total = 0
    for i in range(bits.shape[1] if published else 0):
        word = ~np.uint64(0)
        for item in image:
            if label[item] >= 0:
                word &= bits[label[item], i]
        total += weigh(word, 64 * i, k - total, rows.weights)
        if total >= k:
            break
    total = min(total, k)
    state.short[0] += _lack(total, k) - _lack(state.met[constraint], k)
    state.met[constraint] = total


@inner
def _recount_touched(x: int, a: int, b: int, state: State, rows: Rows) -> None:
    """Count again the constraints that hold an item, or that two clusters stand for."""
    for constraint in range(len(state.met)):
        for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
            item = state.itemsets[position]
            cluster = state.label[item]
            if item == x or (cluster >= 0 and cluster in (a, b)):
                _recount(constraint, state, rows)
                break


@inner
def move_to(x: int, b: int, state: State, rows: Rows, space: Space) -> None:
    """Move an item to cluster b, which may be empty; -1 suppresses it."""
    stamp, near, token = space.stamp, space.near, space.token
    label, codes, offsets = state.label, rows.codes, rows.offsets
    constrained = state.asked[1] == 0
    a = state.label[x]
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        n = clusters_beside(x, codes[offsets[row] : offsets[row + 1]], label, stamp, near, token)
        if a >= 0 and stamp[a] != token[0]:
            _count(a, -rows.weights[row], n, near, state)
            if constrained:
                _flip(a, row, state.bits)
        if b >= 0 and stamp[b] != token[0]:
            _count(b, rows.weights[row], n, near, state)
            if constrained:
                _flip(b, row, state.bits)
    if a >= 0:
        state.size[a] -= 1
        state.held[a] -= state.worth[x]
    if b >= 0:
        state.size[b] += 1
        state.held[b] += state.worth[x]
        state.home[b] = state.block[x]
        state.top[0] = max(state.top[0], b + 1)
    state.label[x] = b
    if constrained:
        _recount_touched(x, a, b, state, rows)


@inner
def changed(cluster: int, state: State) -> None:
    """Wake the members of a cluster, so that they are looked at again."""
    if cluster >= 0:
        state.tried[cluster] = False
        for x in range(len(state.label)):
            if state.label[x] == cluster:
                state.asleep[x] = False


@kernel
def relocate(labels: Array, state: State, rows: Rows, space: Space) -> None:
    """Move every item to where the labels say."""
    for x in range(len(labels)):
        if labels[x] != state.label[x]:
            move_to(x, labels[x], state, rows, space)
    for x in range(len(labels)):
        state.asleep[x] = False
    for cluster in range(len(state.tried)):
        state.tried[cluster] = False


@kernel
def count(state: State, rows: Rows, space: Space) -> None:
    """Count all supports from nothing; labels, sizes and what clusters hold are there."""
    near, label, codes, offsets = space.near, state.label, rows.codes, rows.offsets
    for row in range(len(rows.weights)):
        n = clusters_beside(
            np.int64(-1), codes[offsets[row] : offsets[row + 1]], label, space.stamp, near, space.token
        )
        # Each cluster counts with those before it, so that every pair and every triple counts once.
        for i in range(n):
            _count(near[i], rows.weights[row], i, near, state)
            if state.asked[1] == 0:
                _flip(near[i], row, state.bits)
    for constraint in range(len(state.met)):
        _recount(constraint, state, rows)
