"""Kernels that move single items between clusters, so that no cluster and no pair of clusters gets rare.

The state is a tuple of arrays. Clusters have numbers below the number of items; some are empty.

``label``   cluster of each item, -1 if it is suppressed
``size``    members of each cluster
``held``    occurrences of the members of each cluster
``support`` transactions that hold a member
``co``      dense matrix: transactions that hold members of both clusters; 0 on the diagonal
``singles`` support of each item
``block``   block of each item; a cluster has items of one block
``home``    block of each cluster that is not empty
``top``     one number: clusters from here on are empty

The work space is a tuple of arrays over clusters, but for ``token``, which is one number:

``beside``  transactions that hold the item in hand and another item of the cluster
``alone``   those of them without another item of its own cluster
``touched`` the clusters for which these are not 0
``stamp``   the last row in which a cluster was seen, as a value of ``token``
``near``    the clusters that a row holds, or those that few rows hold beside the item

Joint supports are 0 or at least k at all times. So only what an item brings to a cluster that was never
beside another one can be rare: to check a move takes a look at each cluster that is beside the item.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

__all__ = ["co_supports", "descend", "move_to"]

Array = NDArray[Any]
State = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array]
Rows = tuple[Array, Array, Array, Array, Array]  # codes, offsets, weights, starts, tids
Space = tuple[Array, Array, Array, Array, Array, Array]


@njit(cache=True)
def _clusters_beside(x: int, row: int, label: Array, rows: Rows, space: Space) -> int:
    """List in ``near`` the clusters of the other items of a row, and return their number."""
    codes, offsets = rows[0], rows[1]
    stamp, near, token = space[3], space[4], space[5]
    token[0] += 1
    n = 0
    for position in range(offsets[row], offsets[row + 1]):
        item = codes[position]
        cluster = label[item]
        if item != x and cluster >= 0 and stamp[cluster] != token[0]:
            stamp[cluster] = token[0]
            near[n] = cluster
            n += 1
    return n


@njit(cache=True)
def move_to(x: int, b: int, state: State, rows: Rows, space: Space) -> None:
    """Move an item to cluster b, which may be empty; -1 suppresses it."""
    label, size, held, support, co, singles, block, home, top = state
    weights, starts, tids = rows[2], rows[3], rows[4]
    stamp, near, token = space[3], space[4], space[5]
    a = label[x]
    for slot in range(starts[x], starts[x + 1]):
        row = tids[slot]
        n = _clusters_beside(x, row, label, rows, space)
        if a >= 0 and stamp[a] != token[0]:
            support[a] -= weights[row]
            for i in range(n):
                co[a, near[i]] -= weights[row]
                co[near[i], a] -= weights[row]
        if b >= 0 and stamp[b] != token[0]:
            support[b] += weights[row]
            for i in range(n):
                co[b, near[i]] += weights[row]
                co[near[i], b] += weights[row]
    if a >= 0:
        size[a] -= 1
        held[a] -= singles[x]
    if b >= 0:
        size[b] += 1
        held[b] += singles[x]
        home[b] = block[x]
        top[0] = max(top[0], b + 1)
    label[x] = b


@njit(cache=True)
def co_supports(state: State, rows: Rows, space: Space) -> None:
    """Count supports of clusters and pairs from nothing; labels, sizes and occurrences are there."""
    label, support, co = state[0], state[3], state[4]
    weights, near = rows[2], space[4]
    for row in range(len(weights)):
        n = _clusters_beside(-1, row, label, rows, space)
        for i in range(n):
            support[near[i]] += weights[row]
            for j in range(n):
                if i != j:
                    co[near[i], near[j]] += weights[row]


@njit(cache=True)
def _price(size: int, held: int, base: int) -> int:
    """What a cluster costs: each occurrence its size, less the base; nothing if it has one member."""
    return (size - base) * held if size > 1 else 0


@njit(cache=True)
def _tally(x: int, state: State, rows: Rows, space: Space) -> tuple[int, int]:
    """Fill ``beside`` and ``alone``; the number of clusters touched, and the rows that x's cluster loses."""
    label = state[0]
    weights, starts, tids = rows[2], rows[3], rows[4]
    beside, alone, touched, stamp, near, token = space
    a, n_touched, lost = label[x], 0, 0
    for slot in range(starts[x], starts[x + 1]):
        row = tids[slot]
        n = _clusters_beside(x, row, label, rows, space)
        leaves = a >= 0 and stamp[a] != token[0]
        if leaves:
            lost += weights[row]
        for i in range(n):
            cluster = near[i]
            if beside[cluster] == 0:
                touched[n_touched] = cluster
                n_touched += 1
            beside[cluster] += weights[row]
            if leaves:
                alone[cluster] += weights[row]
    return n_touched, lost


@njit(cache=True)
def _best_target(
    x: int, k: int, pairs: bool, base: int, state: State, rows: Rows, space: Space
) -> tuple[int, int]:
    """The cluster to which an item moves safely with the most gain, and the gain; -1, 0 if there is none.

    Of equal gains the cluster with the lowest number, and an own cluster last.
    """
    label, size, held, support, co, singles, block, home, top = state
    beside, alone, touched, _, near, _ = space
    a, rows_of_x = label[x], singles[x]
    if a >= 0:
        saved = _price(size[a], held[a], base) - _price(size[a] - 1, held[a] - rows_of_x, base)
    else:
        saved = (len(label) - base) * rows_of_x
    if saved <= 0:
        return -1, 0
    n_touched, lost = _tally(x, state, rows, space)
    best, most = -1, 0
    if a < 0 or not 0 < support[a] - lost < k:
        # What gets rare without the item can be mended only by the cluster itself that receives it.
        n_broken, broken, n_near = 0, -1, 0
        for i in range(n_touched if pairs else 0):
            c = touched[i]
            if c == a:
                continue
            if a >= 0 and 0 < co[a, c] - alone[c] < k:
                n_broken, broken = n_broken + 1, c
            if beside[c] < k:
                near[n_near] = c
                n_near += 1
        empty = -1
        for i in range(top[0] + 1):
            b = i
            if i == top[0]:
                b = empty if empty >= 0 else i
                if b == len(size) or rows_of_x < k:
                    break
            elif size[b] == 0:
                empty = b if empty < 0 else empty
                continue
            elif b == a or home[b] != block[x]:
                continue
            paid = _price(size[b] + 1, held[b] + rows_of_x, base) - _price(size[b], held[b], base)
            if saved - paid <= most or n_broken > 1 or (n_broken == 1 and broken != b):
                continue
            if pairs and a >= 0:
                both = co[a, b] - alone[b] + beside[a] - (beside[b] - alone[b])
                if 0 < both < k:
                    continue
            safe = True
            for j in range(n_near):
                if co[b, near[j]] == 0 and near[j] != b:
                    safe = False
                    break
            if safe:
                best, most = b, saved - paid
    for i in range(n_touched):
        beside[touched[i]] = 0
        alone[touched[i]] = 0
    return best, most


@njit(cache=True)
def descend(k: int, pairs: bool, base: int, order: Array, state: State, rows: Rows, space: Space) -> int:
    """Give each item, in the given order, its best safe move if that gains; return the sum of gains."""
    gained = 0
    for x in order:
        b, gain = _best_target(x, k, pairs, base, state, rows, space)
        if gain > 0:
            move_to(x, b, state, rows, space)
            gained += gain
    return gained
