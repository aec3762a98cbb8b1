"""Kernels that put other nodes into the cut of a block of rows, where that loses less and nothing gets rare.

Items are in the order of the hierarchy: those below a node are a range. Each row ends with the number of its
block, counted from the number of items on. Labels are counted over all blocks.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.counting import Rows, contains

__all__ = ["State", "force", "replace"]


@cython.final
@cython.cclass
class State:
    """The cuts of blocks of rows, and work space.

    Parameters
    ----------
    became : ndarray of int32, shape (blocks, items)
        Node of each item in each block, -1 where it is suppressed. It is changed.
    first, last : ndarray of int64, shape (nodes,)
        Range of the items below each node.
    parent, size : ndarray of int32, shape (nodes,)
        Of the hierarchy: the node above each, and how many its subtree has.
    occurrences : ndarray of int64, shape (blocks, items)
        Of each item in each block.
    price : ndarray of int64, shape (nodes + 1,)
        Loss of an occurrence published as each node; the last entry: of a suppressed one.
    rows : Rows
        Of items and blocks.
    k : int
        A support in (0, k) is rare.
    whole : bool
        Whether all labels of a row are looked at together.
    depth : int
        Up to how many labels are looked at beside one, unless whole rows are.
    drop : bool
        Whether nodes that would be rare, or part of something rare, are suppressed.
    """

    became: cython.int[:, ::1]
    first: Number[::1]
    last: Number[::1]
    parent: Code[::1]
    size: Code[::1]
    occurrences: Number[:, ::1]
    price: Number[::1]
    rows: Rows
    n_items: cython.int
    k: cython.longlong
    whole: cython.bint
    drop: cython.bint
    depths: cython.Py_ssize_t
    turn: cython.longlong  # number of searches so far
    stamp: cython.longlong[::1]  # the last search that met a row
    held: cython.int[:, ::1]  # the rows that hold the labels looked at, depth by depth
    n_held: cython.longlong[::1]
    count: cython.longlong[:, ::1]  # rows of each label, depth by depth; 0 between searches
    touched: cython.int[:, ::1]  # the labels for which that is not 0
    n_touched: cython.longlong[::1]
    place: cython.longlong[::1]  # of the touched label that is looked at
    labels: cython.int[::1]  # those of the held rows, where whole rows are looked at, as CSR
    starts: cython.longlong[::1]

    def __init__(
        self,
        *,
        became: cython.int[:, ::1],
        first: Number[::1],
        last: Number[::1],
        parent: Code[::1],
        size: Code[::1],
        occurrences: Number[:, ::1],
        price: Number[::1],
        rows: Rows,
        k: cython.longlong,
        whole: cython.bint,
        depth: cython.Py_ssize_t,
        drop: cython.bint,
    ) -> None:
        n_rows, n_nodes = len(rows.weights), len(first)
        self.became, self.occurrences, self.price = became, occurrences, price
        self.first, self.last, self.parent, self.size = first, last, parent, size
        self.rows, self.n_items = rows, became.shape[1]
        self.k, self.whole, self.depths, self.drop = k, whole, depth, drop
        self.turn, self.stamp = 0, np.zeros(n_rows, np.int64)
        self.held = np.empty((max(depth, 1), n_rows), np.int32)
        self.count = np.zeros((depth, n_nodes), np.int64)
        self.touched = np.empty((depth, n_nodes), np.int32)
        self.n_touched, self.place, self.n_held = np.zeros((3, depth + 1), np.int64)
        self.labels = np.empty(len(rows.codes) if whole else 0, np.int32)
        self.starts = np.zeros(n_rows + 1 if whole else 0, np.int64)


def replace(
    blocks: Number[::1], top: cython.int, nodes: Code[::1], least: cython.longlong, state: State
) -> int:
    """Publish all that some blocks have below a node as nodes below it, if that is safe; the loss saved.

    Nothing is done, and 0 returned, if no more than ``least`` would be saved.
    """
    i: cython.Py_ssize_t
    for i in range(blocks.shape[0]):
        if 0 <= state.became[blocks[i], state.first[top]] < top:  # published above by now
            return 0
    saved: cython.longlong = _saved(blocks, top, nodes, state)
    if saved <= least:
        return 0
    old: cython.int[:, ::1] = np.empty((len(blocks), state.last[top] - state.first[top]), np.int32)
    with cython.nogil:
        for i in range(blocks.shape[0]):
            old[i, :] = state.became[blocks[i], state.first[top] : state.last[top]]
        _publish(blocks, top, -1, state)
        if blocks.shape[0] == state.became.shape[0] or _rest_is_safe(old, state):
            saved = _publish_safe(blocks, nodes, saved, least, state)
        else:
            saved = least
        if saved <= least:
            for i in range(blocks.shape[0]):
                state.became[blocks[i], state.first[top] : state.last[top]] = old[i, :]
    return saved if saved > least else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _saved(blocks: Number[::1], top: cython.int, nodes: Code[::1], state: State) -> cython.longlong:
    """Loss that is saved by publishing some nodes for all that blocks have below another."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    saved: cython.longlong = 0
    for i in range(blocks.shape[0]):
        for item in range(state.first[top], state.last[top]):
            saved += state.occurrences[blocks[i], item] * _price(state.became[blocks[i], item], state)
        for place in range(nodes.shape[0]):
            for item in range(state.first[nodes[place]], state.last[nodes[place]]):
                saved -= state.occurrences[blocks[i], item] * state.price[nodes[place]]
    return saved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price(node: cython.int, state: State) -> cython.longlong:
    """Loss of an occurrence published as a node, or suppressed: -1."""
    return state.price[node] if node >= 0 else state.price[state.price.shape[0] - 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _publish(blocks: Number[::1], top: cython.int, node: cython.int, state: State) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(blocks.shape[0]):
        state.became[blocks[i], state.first[top] : state.last[top]] = node


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _publish_safe(
    blocks: Number[::1], nodes: Code[::1], saved: cython.longlong, least: cython.longlong, state: State
) -> cython.longlong:
    """Publish nodes in some blocks as long as more than ``least`` is saved, and return what is.

    A node that is not safe is suppressed with ``drop``, else nothing is saved.
    """
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    for place in range(nodes.shape[0]):
        if saved <= least:
            break
        node = nodes[place]
        _publish(blocks, node, node, state)
        if _rare_beside(node, state) < 0:
            continue
        _publish(blocks, node, -1, state)
        if not state.drop:
            return least
        for i in range(blocks.shape[0]):
            for item in range(state.first[node], state.last[node]):
                saved -= state.occurrences[blocks[i], item] * (_price(-1, state) - state.price[node])
    return saved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rest_is_safe(old: cython.int[:, ::1], state: State) -> cython.bint:
    """Whether labels that some blocks have no more are safe where other blocks have them."""
    i: cython.Py_ssize_t
    item: cython.Py_ssize_t
    for i in range(old.shape[0]):
        for item in range(old.shape[1]):
            label = old[i, item]
            if (
                label >= 0
                and (item == 0 or label != old[i, item - 1])
                and (i == 0 or label != old[i - 1, item])
            ):
                if _rare_beside(label, state) >= 0:
                    return False
    return True


def force(top: cython.int, nodes: Code[::1], state: State) -> bool:
    """Replace a node of the only block by nodes below it, and get what is rare with them out of the way.

    That is suppressed with ``drop``, else raised to its parent. Tells whether that is possible; what is left
    of an attempt that is not has to be undone.
    """
    if 0 <= state.became[0, state.first[top]] < top:  # published above by now
        return False
    done: cython.bint
    with cython.nogil:
        done = _force(top, nodes, state)
    return done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _force(top: cython.int, nodes: Code[::1], state: State) -> cython.bint:
    i: cython.Py_ssize_t
    safe: cython.Py_ssize_t = 0  # how many nodes were looked at since something changed
    other: cython.int
    above: cython.int
    for i in range(nodes.shape[0]):
        state.became[0, state.first[nodes[i]] : state.last[nodes[i]]] = nodes[i]
    i = 0
    while safe < nodes.shape[0]:
        other = _rare_beside(nodes[i], state)
        if other < 0:
            i, safe = (i + 1) % nodes.shape[0], safe + 1
            continue
        safe = 0
        if state.drop:
            state.became[0, state.first[other] : state.last[other]] = -1
            continue
        above = state.parent[other]
        if top <= other < top + state.size[top] or above <= top < above + state.size[above]:
            return False
        state.became[0, state.first[above] : state.last[above]] = above
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rare_beside(node: cython.int, state: State) -> cython.int:
    """A label of a rare set of the given one and up to ``depth`` others; -1 if all of these are safe."""
    support: cython.longlong = _hold_rows_with(node, state, state.rows)
    if support < state.k:
        return node if support else -1
    if state.whole:
        return _rare_in_row(node, state, state.rows)
    return _rare_in_set(node, state) if state.depths else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _block_of(row: cython.Py_ssize_t, state: State) -> cython.Py_ssize_t:
    return state.rows.codes[state.rows.offsets[row + 1] - 1] - state.n_items


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hold_rows_with(node: cython.int, state: State, rows: Rows) -> cython.longlong:
    """List the rows that hold a label; return how many transactions they are."""
    item: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    support: cython.longlong = 0
    state.turn += 1
    for item in range(state.first[node], state.last[node]):
        for slot in range(rows.starts[item], rows.starts[item + 1]):
            row = rows.tids[slot]
            if state.became[_block_of(row, state), item] == node and state.stamp[row] != state.turn:
                state.stamp[row] = state.turn
                state.held[0, n] = row
                n += 1
                support += rows.weights[row]
    state.n_held[0] = n
    return support


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rare_in_set(pivot: cython.int, state: State) -> cython.int:
    """The last label of a rare set of labels with the pivot, -1 if there is none; depth first, ascending."""
    i: cython.Py_ssize_t
    depth: cython.Py_ssize_t = 0
    rare: cython.int = _tally(pivot, -1, 0, state, state.rows)
    state.place[0] = -1
    while depth >= 0:
        state.place[depth] += 1
        if rare >= 0 or depth + 1 == state.depths or state.place[depth] == state.n_touched[depth]:
            for i in range(state.n_touched[depth]):
                state.count[depth, state.touched[depth, i]] = 0
            depth -= 1
            continue
        label = state.touched[depth, state.place[depth]]
        _hold_rows_also_with(label, depth, state, state.rows)
        depth += 1
        rare = _tally(pivot, label, depth, state, state.rows)
        state.place[depth] = -1
    return rare


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tally(
    pivot: cython.int, above: cython.int, depth: cython.Py_ssize_t, state: State, rows: Rows
) -> cython.int:
    """Count the labels above a number, except the pivot, in some rows; one that is rare there, else -1."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    block: cython.Py_ssize_t
    previous: cython.int
    n: cython.Py_ssize_t = 0
    for i in range(state.n_held[depth]):
        row = state.held[depth, i]
        block, previous = _block_of(row, state), -1
        for position in range(rows.offsets[row], rows.offsets[row + 1] - 1):
            label = state.became[block, rows.codes[position]]
            if label > above and label != pivot and label != previous:
                if state.count[depth, label] == 0:
                    state.touched[depth, n] = label
                    n += 1
                state.count[depth, label] += rows.weights[row]
                previous = label
    state.n_touched[depth] = n
    for i in range(n):
        if state.count[depth, state.touched[depth, i]] < state.k:
            return state.touched[depth, i]
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hold_rows_also_with(
    label: cython.int, depth: cython.Py_ssize_t, state: State, rows: Rows
) -> cython.void:
    """List, for the next depth, the rows of a depth that hold one more label."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    block: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    for i in range(state.n_held[depth]):
        row = state.held[depth, i]
        block = _block_of(row, state)
        for position in range(rows.offsets[row], rows.offsets[row + 1] - 1):
            if state.became[block, rows.codes[position]] == label:
                state.held[depth + 1, n] = row
                n += 1
                break
    state.n_held[depth + 1] = n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rare_in_row(pivot: cython.int, state: State, rows: Rows) -> cython.int:
    """A label of a row that is rare as a whole; -1 if none is. All rows that hold the pivot are listed."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = state.n_held[0]
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    support: cython.longlong
    _list_labels(state, rows)
    for i in range(n):
        support = rows.weights[state.held[0, i]]
        start, stop = state.starts[i], state.starts[i + 1]
        for j in range(n):
            if support >= state.k:
                break
            if j != i and contains(
                state.labels, state.starts[j], state.starts[j + 1], state.labels, start, stop
            ):
                support += rows.weights[state.held[0, j]]
        if support < state.k:
            return state.labels[start] if state.labels[start] != pivot else state.labels[stop - 1]
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_labels(state: State, rows: Rows) -> cython.void:
    """Write the labels of the listed rows, ascending, as CSR."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    block: cython.Py_ssize_t
    previous: cython.int
    end: cython.Py_ssize_t = 0
    for i in range(state.n_held[0]):
        row = state.held[0, i]
        block, previous = _block_of(row, state), -1
        for position in range(rows.offsets[row], rows.offsets[row + 1] - 1):
            label = state.became[block, rows.codes[position]]
            if label >= 0 and label != previous:
                state.labels[end] = label
                end += 1
                previous = label
        state.starts[i + 1] = end
