"""Kernels that put other nodes into the cut of a block of rows, where that loses less and nothing gets rare.

Items are in the order of the hierarchy: those below a node are a range. Each row ends with the number of its
block, counted from the number of items on. The state is a tuple of arrays:

``became``       node of each item in each block, -1 where it is suppressed
``first, last``  range of the items below each node
``occurrences``  of each item in each block
``price``        loss of an occurrence published as each node; the last entry: of a suppressed one

Labels are counted over all blocks. The work space, for ``depth`` labels that are looked at beside one:

``stamp``    the last search that met a row; ``turn``, one number, is that of the search
``held``     the rows that hold the labels looked at, depth by depth
``count``    rows of each label, depth by depth; ``touched``, the labels for which that is not 0
``size, place``  number of touched labels, and the one looked at, depth by depth
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.counting import _contains

__all__ = ["force", "replace"]

Array = NDArray[Any]
State = tuple[Array, Array, Array, Array, Array]
Rows = tuple[Array, Array, Array, Array, Array]  # codes, offsets, weights, starts, tids
Space = tuple[Array, Array, Array, Array, Array, Array, Array]


@kernel
def replace(
    blocks: Array,
    top: int,
    nodes: Array,
    least: int,
    drop: bool,
    k: int,
    whole: bool,
    state: State,
    rows: Rows,
    space: Space,
) -> int:
    """Publish all that some blocks have below a node as nodes below it, if that is safe; the loss saved.

    Nothing is done, and 0 returned, if no more than ``least`` would be saved. With ``drop``, nodes that would
    be rare, or part of something rare, are suppressed.
    """
    became, first, last, occurrences, price = state
    start, stop = first[top], last[top]
    saved = 0
    for block in blocks:
        if 0 <= became[block, start] < top:  # published above by now
            return 0
        for item in range(start, stop):
            saved += occurrences[block, item] * price[became[block, item]]
        for node in nodes:
            for item in range(first[node], last[node]):
                saved -= occurrences[block, item] * price[node]
    if saved <= least:
        return 0
    old = np.empty((len(blocks), stop - start), became.dtype)
    for i in range(len(blocks)):  # item by item: slices would take seconds to compile
        for item in range(start, stop):
            old[i, item - start] = became[blocks[i], item]
    _publish(blocks, top, -1, state)
    safe = len(blocks) == len(became) or _rest_is_safe(old, k, whole, state, rows, space)
    for node in nodes:
        if not safe or saved <= least:
            break
        _publish(blocks, node, node, state)
        if _rare_beside(node, k, whole, state, rows, space) >= 0:
            safe = drop
            _publish(blocks, node, -1, state)
            for block in blocks:
                for item in range(first[node], last[node]):
                    saved -= occurrences[block, item] * (price[-1] - price[node])
    if safe and saved > least:
        return saved
    for i in range(len(blocks)):
        for item in range(start, stop):
            became[blocks[i], item] = old[i, item - start]
    return 0


@inner
def _publish(blocks: Array, top: int, node: int, state: State) -> None:
    became, first, last = state[:3]
    for block in blocks:
        became[block, first[top] : last[top]] = node


@inner
def _rest_is_safe(old: Array, k: int, whole: bool, state: State, rows: Rows, space: Space) -> bool:
    """Whether labels that some blocks have no more are safe where other blocks have them."""
    for i in range(len(old)):
        for item in range(old.shape[1]):
            label = old[i, item]
            if (
                label >= 0
                and (item == 0 or label != old[i, item - 1])
                and (i == 0 or label != old[i - 1, item])
            ):
                if _rare_beside(label, k, whole, state, rows, space) >= 0:
                    return False
    return True


@kernel
def force(
    top: int,
    nodes: Array,
    drop: bool,
    k: int,
    whole: bool,
    parent: Array,
    size: Array,
    state: State,
    rows: Rows,
    space: Space,
) -> bool:
    """Replace a node of the only block by nodes below it, and get what is rare with them out of the way.

    That is suppressed with ``drop``, else raised to its parent. Tells whether that is possible; what is left
    of an attempt that is not has to be undone.
    """
    became, first, last = state[:3]
    if 0 <= became[0, first[top]] < top:  # published above by now
        return False
    for node in nodes:
        became[0, first[node] : last[node]] = node
    safe = i = 0  # how many nodes were looked at since something changed; which one is next
    while safe < len(nodes):
        other = _rare_beside(nodes[i], k, whole, state, rows, space)
        if other < 0:
            i, safe = (i + 1) % len(nodes), safe + 1
            continue
        safe = 0
        if drop:
            became[0, first[other] : last[other]] = -1
            continue
        above = parent[other]
        if top <= other < top + size[top] or above <= top < above + size[above]:
            return False
        became[0, first[above] : last[above]] = above
    return True


@inner
def _rare_beside(node: int, k: int, whole: bool, state: State, rows: Rows, space: Space) -> int:
    """A label of a rare set of the given one and up to ``depth`` others; -1 if all of these are safe."""
    n, support = _rows_with(node, state, rows, space)
    if support < k:
        return node if support else -1
    if whole:
        return _rare_in_row(node, n, k, state, rows, space)
    return _rare_in_set(node, n, k, state, rows, space) if len(space[3]) else -1


@inner
def _rows_with(node: int, state: State, rows: Rows, space: Space) -> tuple[int, int]:
    """List the rows that hold a label; their number, and how many transactions they are."""
    became, first, last = state[:3]
    codes, offsets, weights, starts, tids = rows
    stamp, turn, held = space[:3]
    turn[0] += 1
    n, support, n_items = 0, 0, became.shape[1]
    for item in range(first[node], last[node]):
        for slot in range(starts[item], starts[item + 1]):
            row = tids[slot]
            block = codes[offsets[row + 1] - 1] - n_items
            if became[block, item] == node and stamp[row] != turn[0]:
                stamp[row] = turn[0]
                held[0, n] = row
                n += 1
                support += weights[row]
    return n, support


@inner
def _rare_in_set(pivot: int, n: int, k: int, state: State, rows: Rows, space: Space) -> int:
    """The last label of a rare set of labels with the pivot, -1 if there is none; depth first, ascending."""
    held, count, touched, size, place = space[2:]
    depths = len(count)
    depth, n_held = 0, np.empty(depths + 1, np.int64)
    n_held[0] = n
    rare = _tally(pivot, -1, 0, n, k, state, rows, space)
    place[0] = -1
    while depth >= 0:
        place[depth] += 1
        if rare >= 0 or depth + 1 == depths or place[depth] == size[depth]:
            for i in range(size[depth]):
                count[depth, touched[depth, i]] = 0
            depth -= 1
            continue
        label = touched[depth, place[depth]]
        n_held[depth + 1] = _rows_also_with(label, depth, n_held[depth], state, rows, held)
        rare = _tally(pivot, label, depth + 1, n_held[depth + 1], k, state, rows, space)
        depth += 1
        place[depth] = -1
    return rare


@inner
def _tally(pivot: int, above: int, depth: int, n: int, k: int, state: State, rows: Rows, space: Space) -> int:
    """Count the labels above a number, except the pivot, in some rows; one that is rare there, else -1."""
    became = state[0]
    codes, offsets, weights = rows[:3]
    held, count, touched, size, _ = space[2:]
    size[depth] = 0
    for i in range(n):
        row = held[depth, i]
        block, previous = codes[offsets[row + 1] - 1] - became.shape[1], -1
        for position in range(offsets[row], offsets[row + 1] - 1):
            label = became[block, codes[position]]
            if label > above and label != pivot and label != previous:
                if count[depth, label] == 0:
                    touched[depth, size[depth]] = label
                    size[depth] += 1
                count[depth, label] += weights[row]
                previous = label
    for i in range(size[depth]):
        if count[depth, touched[depth, i]] < k:
            return touched[depth, i]
    return -1


@inner
def _rows_also_with(label: int, depth: int, n: int, state: State, rows: Rows, held: Array) -> int:
    """List the rows of a depth that hold one more label; return their number."""
    became = state[0]
    codes, offsets = rows[:2]
    found = 0
    for i in range(n):
        row = held[depth, i]
        block = codes[offsets[row + 1] - 1] - became.shape[1]
        for position in range(offsets[row], offsets[row + 1] - 1):
            if became[block, codes[position]] == label:
                held[depth + 1, found] = row
                found += 1
                break
    return found


@inner
def _rare_in_row(pivot: int, n: int, k: int, state: State, rows: Rows, space: Space) -> int:
    """A label of a row that is rare as a whole; -1 if none is. All rows that hold the pivot are listed."""
    labels, starts = _published(n, state, rows, space[2])
    weights, held = rows[2], space[2]
    for i in range(n):
        support = weights[held[0, i]]
        own = labels[starts[i] : starts[i + 1]]
        for j in range(n):
            if support >= k:
                break
            if j != i and _contains(labels, starts[j], starts[j + 1], own):
                support += weights[held[0, j]]
        if support < k:
            return own[0] if own[0] != pivot else own[-1]
    return -1


@inner
def _published(n: int, state: State, rows: Rows, held: Array) -> tuple[Array, Array]:
    """The labels of the listed rows, ascending, as CSR."""
    became = state[0]
    codes, offsets = rows[:2]
    starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        starts[i + 1] = starts[i] + offsets[held[0, i] + 1] - offsets[held[0, i]]
    labels, end = np.empty(starts[n], np.int32), 0
    for i in range(n):
        starts[i] = end
        row = held[0, i]
        block, previous = codes[offsets[row + 1] - 1] - became.shape[1], -1
        for position in range(offsets[row], offsets[row + 1] - 1):
            label = became[block, codes[position]]
            if label >= 0 and label != previous:
                labels[end] = label
                end += 1
                previous = label
    starts[n] = end
    return labels[:end], starts
