"""Kernels that move rows between groups of rows that are published alike, where that loses less.

Rows come with the number of their items under every node that has some: ``nodes`` ascending and ``counts``,
row after row. A group is published as the bag of nodes that all its rows have (``bags``), or as the lowest
cut at which all its rows hold the same nodes. The state is a tuple of arrays:

``group_of``  group of each row
``after``     the next row of the same group, in a ring
``first``     a row of each group
``size``      rows of each group
``cost``      loss of each group

The work space, over nodes: ``held``, rows that hold the node; ``least``, fewest items that one of them has
below it, and ``total`` of all; ``torn``, whether rows have different children of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["costs", "cut_nodes", "least_counts", "move_rows"]

Array = NDArray[Any]
Rows = tuple[Array, Array, Array]  # starts, nodes, counts
Tree = tuple[Array, Array, Array]  # parent, size; price of an item by node, the last entry: a suppressed one
State = tuple[Array, Array, Array, Array, Array]
Space = tuple[Array, Array, Array, Array]
Index = tuple[Array, Array]  # groups that hold each node, as CSR


@inner
def _tally(members: Array, times: int, rows: Rows, tree: Tree, space: Space) -> None:
    """Fill the work space; the first row stands for so many."""
    starts, nodes, counts = rows
    held, least, total, torn = space
    for row in members:
        for place in range(starts[row], starts[row + 1]):
            node = nodes[place]
            least[node] = counts[place] if held[node] == 0 else min(least[node], counts[place])
            held[node] += 1
            total[node] += counts[place] * (times if row == members[0] else 1)
    for row in members:
        for place in range(starts[row], starts[row + 1]):
            node = nodes[place]
            if held[node] < len(members) and tree[0][node] >= 0:
                torn[tree[0][node]] = True


@inner
def _clear(members: Array, rows: Rows, space: Space) -> None:
    starts, nodes = rows[:2]
    held, _, total, torn = space
    for row in members:
        for place in range(starts[row], starts[row + 1]):
            held[nodes[place]] = total[nodes[place]] = 0
            torn[nodes[place]] = False


@inner
def _cost(members: Array, times: int, bags: bool, rows: Rows, tree: Tree, space: Space) -> int:
    """Loss of some rows that are published alike, all of which hold items; the first stands for so many."""
    starts, nodes = rows[:2]
    parent, size, price = tree
    held, least, total, torn = space
    _tally(members, times, rows, tree, space)
    first, n_rows = members[0], len(members) - 1 + times
    lost = 0
    if bags:
        lost = total[0] * price[-1]
    end = 0  # of the subtree of the last node that is published
    for place in range(starts[first], starts[first + 1]):
        node = nodes[place]
        if bags:
            if held[node] == len(members):
                above = price[parent[node]]  # of the root: the last entry
                lost -= n_rows * least[node] * (above - price[node])
        elif node >= end and (torn[node] or size[node] == 1):
            lost += total[node] * price[node]
            end = node + size[node]
    _clear(members, rows, space)
    return lost


@inner
def _members(group: int, without: int, extra: int, state: State) -> Array:
    """The rows of a group, without one of them and with another; -1 for none."""
    after, first, size = state[1:4]
    found = np.empty(size[group] + 1, np.int64)
    n, row = 0, first[group]
    for _ in range(size[group]):
        if row != without:
            found[n] = row
            n += 1
        row = after[row]
    if extra >= 0:
        found[n] = extra
        n += 1
    return found[:n]


@kernel
def costs(bags: bool, rows: Rows, tree: Tree, state: State, space: Space) -> None:
    """Count the loss of each group."""
    for group in range(len(state[3])):
        state[4][group] = _cost(_members(group, -1, -1, state), 1, bags, rows, tree, space)


@inner
def _put(row: int, group: int, state: State) -> None:
    """Take a row out of its group and put it into another."""
    group_of, after, first, size, _ = state
    own = group_of[row]
    before = row
    while after[before] != row:
        before = after[before]
    after[before] = after[row]
    if first[own] == row:
        first[own] = before
    size[own] -= 1
    after[row] = after[first[group]]
    after[first[group]] = row
    size[group] += 1
    group_of[row] = group


@kernel
def move_rows(
    k: int,
    turns: Array,
    limits: tuple[int, int, int, int],
    bags: bool,
    index: Index,
    rows: Rows,
    tree: Tree,
    state: State,
    space: Space,
) -> int:
    """Give each row its best move to a near group, or swap with a row there, if that gains; the loss saved.

    ``limits``: how many near groups are tried; of how many they are the nearest; with how many of their
    rows; the rows of a group beyond which it only receives rows, and that only while its rows are equal.
    """
    tried, looked_at, partners, most = limits
    group_of, _, first, size, cost = state
    shared = np.zeros(len(size), np.int64)
    nearest, near = np.empty(tried, np.int64), np.empty(looked_at, np.int64)
    saved = 0
    for row in turns:
        own = group_of[row]
        if cost[own] == 0 or size[own] > most:
            continue
        best, target, partner, alone = 0, -1, -1, 0
        if size[own] > k:
            alone = _cost(_members(own, row, -1, state), 1, bags, rows, tree, space)
        for i in range(_nearest(row, own, nearest, near, shared, index, rows, tree, state)):
            group = nearest[i]
            if size[group] > most and cost[group] > 0:
                continue
            before = cost[own] + cost[group]
            if size[own] > k:
                if cost[group] > 0:
                    joined = _cost(_members(group, -1, row, state), 1, bags, rows, tree, space)
                else:
                    joined = _cost(np.array([first[group], row]), size[group], bags, rows, tree, space)
                if before - alone - joined > best:
                    best, target, partner = before - alone - joined, group, -1
            if cost[group] == 0:  # all its rows are equal, and lose nothing
                continue
            for other in _least_alike(row, group, partners, rows, tree, state, space):
                gain = before - _cost(_members(group, other, row, state), 1, bags, rows, tree, space)
                if gain > best:
                    gain -= _cost(_members(own, row, other, state), 1, bags, rows, tree, space)
                    if gain > best:
                        best, target, partner = gain, group, other
        if target >= 0:
            _put(row, target, state)
            if partner >= 0:
                _put(partner, own, state)
            for group in (own, target):
                cost[group] = _cost(_members(group, -1, -1, state), 1, bags, rows, tree, space)
            saved += best
    return saved


@inner
def _least_alike(row: int, group: int, n: int, rows: Rows, tree: Tree, state: State, space: Space) -> Array:
    """The n rows of a group that have least in common with a row."""
    starts, nodes, counts = rows
    parent, _, price = tree
    have = space[2]
    for place in range(starts[row], starts[row + 1]):
        have[nodes[place]] = counts[place]
    members = _members(group, -1, -1, state)
    common = np.zeros(len(members), np.int64)
    for i in range(len(members)):
        for place in range(starts[members[i]], starts[members[i] + 1]):
            node = nodes[place]
            common[i] += min(counts[place], have[node]) * (price[parent[node]] - price[node])
    for place in range(starts[row], starts[row + 1]):
        have[nodes[place]] = 0
    n = min(n, len(members))
    for i in range(n):
        least = i + np.argmin(common[i:])
        common[i], common[least] = common[least], common[i]
        members[i], members[least] = members[least], members[i]
    return members[:n]


@inner
def _nearest(
    row: int,
    own: int,
    best: Array,
    near: Array,
    shared: Array,
    index: Index,
    rows: Rows,
    tree: Tree,
    state: State,
) -> int:
    """Write the groups that have most in common with a row, in that order; return how many there are.

    The nodes of the row that the fewest groups hold are looked up first, until there are enough groups.
    """
    starts, nodes, counts = rows
    parent, _, price = tree
    bounds, groups = index
    n, below, tried = 0, 0, len(best)
    while n < len(near):
        shortest = len(state[3]) + 1  # of the lists that are longer than the last one
        for place in range(starts[row], starts[row + 1]):
            length = bounds[nodes[place] + 1] - bounds[nodes[place]]
            if below < length < shortest:
                shortest = length
        if shortest > len(state[3]):
            break
        for place in range(starts[row], starts[row + 1]):
            node = nodes[place]
            if bounds[node + 1] - bounds[node] != shortest:
                continue
            for slot in range(bounds[node], bounds[node + 1]):
                group = groups[slot]
                if group == own:
                    continue
                if shared[group] == 0:
                    if n == len(near):
                        continue
                    near[n] = group
                    n += 1
                    shared[group] = 1
                shared[group] += counts[place] * (price[parent[node]] - price[node])
        below = shortest
    kept = 0
    for i in range(n):
        if kept == tried and shared[near[i]] <= shared[best[kept - 1]]:
            continue
        slot = min(kept, tried - 1)
        while slot > 0 and shared[near[i]] > shared[best[slot - 1]]:
            best[slot] = best[slot - 1]
            slot -= 1
        best[slot] = near[i]
        kept = min(kept + 1, tried)
    for i in range(n):
        shared[near[i]] = 0
    return kept


@kernel
def cut_nodes(offsets: Array, leaves: Array, rows: Rows, tree: Tree, state: State, space: Space) -> Array:
    """The node of each occurrence at the lowest cut at which all rows of its group hold the same nodes."""
    became = np.full(len(leaves), -1, np.int32)
    for group in range(len(state[3])):
        members = _members(group, -1, -1, state)
        _tally(members, 1, rows, tree, space)
        for row in members:
            for at in range(offsets[row], offsets[row + 1]):
                node = upper = leaves[at]
                while upper >= 0:  # what is torn furthest up
                    if space[3][upper]:
                        node = upper
                    upper = tree[0][upper]
                became[at] = node
        _clear(members, rows, space)
    return became


@kernel
def least_counts(rows: Rows, least: Array, tree: Tree, state: State, space: Space) -> None:
    """Write the least count of each group's rows into the place of its first row."""
    starts, nodes = rows[:2]
    for group in range(len(state[3])):
        members = _members(group, -1, -1, state)
        _tally(members, 1, rows, tree, space)
        first = members[0]
        for place in range(starts[first], starts[first + 1]):
            node = nodes[place]
            least[place] = space[1][node] if space[0][node] == len(members) else 0
        _clear(members, rows, space)
