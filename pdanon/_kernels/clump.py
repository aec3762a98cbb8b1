"""Kernels that put rows into groups, and groups under the bag of nodes that all their rows have.

Rows come with the number of their items under every node that has some: ``nodes`` ascending and
``counts``, row after row. A node's count in a group is the least count of its rows; it is kept in the
place of the row that the group began with, its seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["assign", "clump"]

Array = NDArray[Any]
Rows = tuple[Array, Array, Array, Array]  # starts, nodes, counts, lengths
Groups = tuple[Array, Array, Array, Array, Array]  # seeds, ends of the counts, size, length, saved


@kernel
def clump(
    k: int,
    r: int,
    ahead: int,
    increase: bool,
    scale: int,
    weight: Array,
    group_of: Array,
    rows: Rows,
    groups: Groups,
) -> None:
    """Put each row that is in no group (-1) into one.

    The distortion of a group, times ``scale``, is ``scale * length - size * saved``, where ``saved`` is
    the sum of count times weight over the nodes.
    """
    starts, nodes, counts, lengths = rows
    seeds, ends, size, _, saved = groups
    n_groups = len(seeds)
    for group in range(n_groups):
        for place in range(starts[seeds[group]], ends[group]):
            saved[group] += counts[place] * weight[nodes[place]]
    open_after = np.arange(n_groups + 1)  # leads to the first group from there on that may be examined
    n_open = 0
    for group in range(n_groups - 1, -1, -1):
        if size[group] < k:
            n_open += 1
        else:
            open_after[group] = open_after[group + 1]
    filling = n_open > 0
    if not filling:
        n_open = _open_all(open_after)
    after, before = _unplaced(group_of)
    n_rows = len(group_of)
    have = np.zeros(len(weight), np.int64)
    near, row = 0, after[n_rows]
    while row < n_rows:
        while near < n_groups and seeds[near] < row:  # the turns come in ascending order
            near += 1
        _scatter(have, row, rows)
        group = _nearest(
            near, min(r, n_open), increase, scale, weight, have, lengths[row], open_after, rows, groups
        )
        _clear(have, row, rows)
        chosen = row
        if filling and ahead > 0:
            chosen = _best_row(row, ahead, group, scale, weight, have, after, rows, groups)
        _insert(chosen, group, weight, have, rows, groups)
        group_of[chosen] = group
        after[before[chosen]] = after[chosen]
        before[after[chosen]] = before[chosen]
        if filling and size[group] == k:
            open_after[group] = group + 1
            n_open -= 1
            if n_open == 0:
                filling = False
                n_open = _open_all(open_after)
        row = after[n_rows]


@inner
def _open_all(open_after: Array) -> int:
    """Let all groups be examined; return how many there are."""
    for group in range(len(open_after)):
        open_after[group] = group
    return len(open_after) - 1


@inner
def _unplaced(group_of: Array) -> tuple[Array, Array]:
    """Next and previous row without a group, as a ring closed by the number of rows."""
    n_rows = len(group_of)
    after, before = np.empty(n_rows + 1, np.int64), np.empty(n_rows + 1, np.int64)
    last = n_rows
    for row in range(n_rows):
        if group_of[row] < 0:
            after[last] = row
            before[row] = last
            last = row
    after[last] = n_rows
    before[n_rows] = last
    return after, before


@inner
def _scatter(have: Array, row: int, rows: Rows) -> None:
    starts, nodes, counts, _ = rows
    for place in range(starts[row], starts[row + 1]):
        have[nodes[place]] = counts[place]


@inner
def _clear(have: Array, row: int, rows: Rows) -> None:
    for place in range(rows[0][row], rows[0][row + 1]):
        have[rows[1][place]] = 0


@inner
def _find(group: int, open_after: Array) -> int:
    """The first group from there on that may be examined; paths are halved on the way."""
    while open_after[group] != group:
        open_after[group] = open_after[open_after[group]]
        group = open_after[group]
    return group


@inner
def _common(start: int, end: int, weight: Array, have: Array, rows: Rows) -> int:
    """What is saved by the nodes that both sides have."""
    total = 0
    for place in range(start, end):
        node = rows[1][place]
        total += min(rows[2][place], have[node]) * weight[node]
    return total


@inner
def _nearest(
    near: int,
    examined: int,
    increase: bool,
    scale: int,
    weight: Array,
    have: Array,
    added: int,
    open_after: Array,
    rows: Rows,
    groups: Groups,
) -> int:
    """Of the groups from a place on, in a ring, the one that a row distorts least; then: the first."""
    seeds, ends, size, length, saved = groups
    best, least = -1, np.int64(0)
    group = near
    for _ in range(examined):
        group = _find(group, open_after)
        if group == len(seeds):
            group = _find(np.int64(0), open_after)
        common = _common(rows[0][seeds[group]], ends[group], weight, have, rows)
        score = scale * (length[group] + added) - (size[group] + 1) * common
        if increase:
            score -= scale * length[group] - size[group] * saved[group]
        if best < 0 or score < least or (score == least and group < best):
            best, least = group, score
        group += 1
    return best


@inner
def _best_row(
    row: int,
    ahead: int,
    group: int,
    scale: int,
    weight: Array,
    have: Array,
    after: Array,
    rows: Rows,
    groups: Groups,
) -> int:
    """Of a row and the next ones without a group, the one that distorts the group least; then: the first."""
    starts, nodes, counts, lengths = rows
    seeds, ends, size, _, _ = groups
    first = starts[seeds[group]]
    for place in range(first, ends[group]):
        have[nodes[place]] = counts[place]
    best, least, other = -1, np.int64(0), row
    for _ in range(ahead + 1):
        if other == len(lengths):
            break
        common = _common(starts[other], starts[other + 1], weight, have, rows)
        score = scale * lengths[other] - (size[group] + 1) * common
        if best < 0 or score < least:
            best, least = other, score
        other = after[other]
    for place in range(first, ends[group]):
        have[nodes[place]] = 0
    return best


@inner
def _insert(row: int, group: int, weight: Array, have: Array, rows: Rows, groups: Groups) -> None:
    _, nodes, counts, lengths = rows
    seeds, ends, size, length, saved = groups
    _scatter(have, row, rows)
    saved[group] = 0
    end = start = rows[0][seeds[group]]
    for place in range(start, ends[group]):
        count = min(counts[place], have[nodes[place]])
        if count:
            nodes[end], counts[end] = nodes[place], count
            saved[group] += count * weight[nodes[end]]
            end += 1
    ends[group] = end
    _clear(have, row, rows)
    size[group] += 1
    length[group] += lengths[row]


@kernel
def assign(
    group_of: Array, offsets: Array, leaves: Array, parent: Array, rows: Rows, groups: Groups
) -> Array:
    """The node of each occurrence in its group's bag, -1 where it is left over.

    Bottom up, each node takes the first occurrences below it that none has taken.
    """
    starts, nodes, counts, _ = rows
    seeds, ends = groups[0], groups[1]
    place_of = np.zeros(len(parent), np.int64)
    for group in range(len(seeds)):
        for place in range(starts[seeds[group]], ends[group]):
            place_of[nodes[place]] = place
            if nodes[place]:
                counts[place_of[parent[nodes[place]]]] -= counts[place]
    became = np.full(len(leaves), -1, np.int32)
    for row in range(len(group_of)):
        group = group_of[row]
        for place in range(ends[group] - 1, starts[seeds[group]] - 1, -1):
            node, wanted = nodes[place], counts[place]
            at = offsets[row]
            while wanted:
                if leaves[at] >= node and became[at] < 0:
                    became[at] = node
                    wanted -= 1
                at += 1
    return became
