"""Local recoding: cuts of blocks of rows, and partitions from the root down."""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
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
    Code,
    Codes,
    Number,
    Numbers,
    Rows,
    contains,
    int32s,
    int64s,
)
from numpy.typing import NDArray

__all__ = ["BlockCut", "Parts", "force", "replace"]

Array = NDArray[Any]


# --- Cuts of blocks of rows: exchange nodes where that lowers the loss and nothing becomes rare
#
# Items are in the order of the hierarchy, so the items below a node are a range. The last code of each row is
# the number of items plus the number of its block. The support of a label counts the rows of all blocks.


@final
@cclass
class BlockCut:
    """The cuts of blocks of rows, and work space."""

    # A support in (0, k) is rare. With ``whole``, the set of all labels of a row must not be rare; without,
    # no set of a label and up to ``depth`` others. With ``drop``, nodes in rare sets are suppressed.

    became: int32[:, ::1]  # node of each item in each block, -1 for a suppressed one; it is changed
    first: Numbers  # of the items below each node; `last` ends their range
    last: Numbers
    parent: Codes
    size: Codes  # of the subtree of each node
    occurrences: Number[:, ::1]  # of each item in each block
    # loss of an occurrence by the published node; the last entry is that of a suppressed one
    price: Numbers
    rows: Rows  # the items and the block of each row
    n_items: int32
    k: int64
    whole: bint
    drop: bint
    depths: Py_ssize_t
    turn: int64  # number of searches so far
    stamp: int64s  # the last search that met a row
    held: int32[:, ::1]  # the rows that contain the current labels, by depth
    n_held: int64s
    count: int64[:, ::1]  # support of each label in them, by depth; 0 between searches
    touched: int32[:, ::1]  # labels where that is not 0
    n_touched: int64s
    place: int64s  # position of the current touched label, by depth
    labels: int32s  # labels of the held rows, if `whole`, as CSR
    starts: int64s

    def __init__(
        self,
        *,
        became: int32[:, ::1],
        first: Numbers,
        last: Numbers,
        parent: Codes,
        size: Codes,
        occurrences: Number[:, ::1],
        price: Numbers,
        rows: Rows,
        k: int64,
        whole: bint,
        depth: Py_ssize_t,
        drop: bint,
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


def replace(blocks: Numbers, top: int32, nodes: Codes, least: int64, state: BlockCut) -> int:
    """Replace a node by nodes below it in some blocks, if that is safe; return the loss saved."""
    # If no more than ``least`` would be saved, nothing changes and 0 is returned.
    for i in range(blocks.shape[0]):
        if 0 <= state.became[blocks[i], state.first[top]] < top:  # published at an ancestor in the meantime
            return 0
    saved = _saving(blocks, top, nodes, state)
    if saved <= least:
        return 0
    old: int32[:, ::1] = np.empty((len(blocks), state.last[top] - state.first[top]), np.int32)
    with nogil:
        for i in range(blocks.shape[0]):
            old[i, :] = state.became[blocks[i], state.first[top] : state.last[top]]
        _publish_node(blocks, top, -1, state)
        if blocks.shape[0] == state.became.shape[0] or _is_safe_elsewhere(old, state):
            saved = _publish_safe(blocks, nodes, saved, least, state)
        else:
            saved = least
        if saved <= least:
            for i in range(blocks.shape[0]):
                state.became[blocks[i], state.first[top] : state.last[top]] = old[i, :]
    return saved if saved > least else 0


@cfunc
@nogil
@exceptval(check=False)
def _saving(blocks: Numbers, top: int32, nodes: Codes, state: BlockCut) -> int64:
    """Compute the loss saved if blocks publish ``nodes`` below ``top``."""
    saved: int64 = 0
    for i in range(blocks.shape[0]):
        for item in range(state.first[top], state.last[top]):
            saved += state.occurrences[blocks[i], item] * _price(state.became[blocks[i], item], state)
        for place in range(nodes.shape[0]):
            for item in range(state.first[nodes[place]], state.last[nodes[place]]):
                saved -= state.occurrences[blocks[i], item] * state.price[nodes[place]]
    return saved


@cfunc
@nogil
@exceptval(check=False)
def _price(node: int32, state: BlockCut) -> int64:
    """Return the loss of an occurrence by the node that is published; -1 for a suppressed one."""
    return state.price[node] if node >= 0 else state.price[state.price.shape[0] - 1]


@cfunc
@nogil
@exceptval(check=False)
def _publish_node(blocks: Numbers, top: int32, node: int32, state: BlockCut) -> void:
    """Publish a node for all items below ``top`` in some blocks."""
    for i in range(blocks.shape[0]):
        state.became[blocks[i], state.first[top] : state.last[top]] = node


@cfunc
@nogil
@exceptval(check=False)
def _publish_safe(blocks: Numbers, nodes: Codes, saved: int64, least: int64, state: BlockCut) -> int64:
    """Publish nodes in some blocks while more than ``least`` is saved; return the loss saved."""
    # With ``drop``, an unsafe node is suppressed. Without, the first unsafe node ends the attempt.
    for place in range(nodes.shape[0]):
        if saved <= least:
            break
        node = nodes[place]
        _publish_node(blocks, node, node, state)
        if _find_rare(node, state) < 0:
            continue
        _publish_node(blocks, node, -1, state)
        if not state.drop:
            return least
        for i in range(blocks.shape[0]):
            for item in range(state.first[node], state.last[node]):
                saved -= state.occurrences[blocks[i], item] * (_price(-1, state) - state.price[node])
    return saved


@cfunc
@nogil
@exceptval(check=False)
def _is_safe_elsewhere(old: int32[:, ::1], state: BlockCut) -> bint:
    """Return whether the labels that blocks no longer publish are safe in the other blocks."""
    for i in range(old.shape[0]):
        for item in range(old.shape[1]):
            label = old[i, item]
            if (
                label >= 0
                and (item == 0 or label != old[i, item - 1])
                and (i == 0 or label != old[i - 1, item])
            ):
                if _find_rare(label, state) >= 0:
                    return False
    return True


def force(top: int32, nodes: Codes, state: BlockCut) -> bool:
    """Replace a node of the only block by nodes below, and all that becomes rare; return if possible."""
    # With ``drop``, rare labels are suppressed; without, they are replaced by their parents. The caller has
    # to undo a failed attempt.
    if 0 <= state.became[0, state.first[top]] < top:  # published at an ancestor in the meantime
        return False
    with nogil:
        done = _force(top, nodes, state)
    return done


@cfunc
@nogil
@exceptval(check=False)
def _force(top: int32, nodes: Codes, state: BlockCut) -> bint:
    """Publish the nodes, and resolve rare sets until all nodes are safe."""
    safe: Py_ssize_t = 0  # number of safe nodes since the last change
    for i in range(nodes.shape[0]):
        state.became[0, state.first[nodes[i]] : state.last[nodes[i]]] = nodes[i]
    i = 0
    while safe < nodes.shape[0]:
        other = _find_rare(nodes[i], state)
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


@cfunc
@nogil
@exceptval(check=False)
def _find_rare(node: int32, state: BlockCut) -> int32:
    """Return a label of a rare set of ``node`` and up to ``depth`` others; -1 if all such sets are safe."""
    support = _list_rows_with(node, state, state.rows)
    if support < state.k:
        return node if support else -1
    if state.whole:
        return _rare_in_row(node, state, state.rows)
    return _rare_in_set(node, state) if state.depths else -1


@cfunc
@nogil
@exceptval(check=False)
def _block_of(row: Py_ssize_t, state: BlockCut) -> Py_ssize_t:
    """Return the block of a row."""
    return state.rows.codes[state.rows.offsets[row + 1] - 1] - state.n_items


@cfunc
@nogil
@exceptval(check=False)
def _list_rows_with(node: int32, state: BlockCut, rows: Rows) -> int64:
    """List the rows that contain a label; return its support."""
    n: Py_ssize_t = 0
    support = 0
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


@cfunc
@nogil
@exceptval(check=False)
def _rare_in_set(pivot: int32, state: BlockCut) -> int32:
    """Return the last label of a rare set with the pivot, -1 if there is none."""
    # The search is depth first, in ascending order.
    depth: Py_ssize_t = 0
    rare = _tally(pivot, -1, 0, state, state.rows)
    state.place[0] = -1
    while depth >= 0:
        state.place[depth] += 1
        if rare >= 0 or depth + 1 == state.depths or state.place[depth] == state.n_touched[depth]:
            for i in range(state.n_touched[depth]):
                state.count[depth, state.touched[depth, i]] = 0
            depth -= 1
            continue
        label = state.touched[depth, state.place[depth]]
        _extend_rows(label, depth, state, state.rows)
        depth += 1
        rare = _tally(pivot, label, depth, state, state.rows)
        state.place[depth] = -1
    return rare


@cfunc
@nogil
@exceptval(check=False)
def _tally(pivot: int32, above: int32, depth: Py_ssize_t, state: BlockCut, rows: Rows) -> int32:
    """Count the labels in the rows of a depth; return one that is rare there, -1 if none is."""
    # Only labels larger than ``above`` count, and not the pivot, so each set is visited once.
    row: Py_ssize_t
    previous: int32
    n: Py_ssize_t = 0
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


@cfunc
@nogil
@exceptval(check=False)
def _extend_rows(label: int32, depth: Py_ssize_t, state: BlockCut, rows: Rows) -> void:
    """List, for the next depth, the rows of a depth that contain one more label."""
    row: Py_ssize_t
    n: Py_ssize_t = 0
    for i in range(state.n_held[depth]):
        row = state.held[depth, i]
        block = _block_of(row, state)
        for position in range(rows.offsets[row], rows.offsets[row + 1] - 1):
            if state.became[block, rows.codes[position]] == label:
                state.held[depth + 1, n] = row
                n += 1
                break
    state.n_held[depth + 1] = n


@cfunc
@nogil
@exceptval(check=False)
def _rare_in_row(pivot: int32, state: BlockCut, rows: Rows) -> int32:
    """Return a label of a row whose set of labels is rare, -1 if there is none."""
    # Only the rows with the pivot are compared: these are all rows that can contain such a set.
    n = state.n_held[0]
    support: int64
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


@cfunc
@nogil
@exceptval(check=False)
def _list_labels(state: BlockCut, rows: Rows) -> void:
    """List the labels of the listed rows, ascending, as CSR."""
    row: Py_ssize_t
    previous: int32
    end: Py_ssize_t = 0
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


# --- Partition: split rows into parts of at least k, from the root of a hierarchy down
#
# A part is a set of rows with equal published nodes. The entry of an occurrence is ``node`` if the published
# node may still be expanded, otherwise ``~node`` (a leaf, or blocked in its part). Leaves ascend within a
# row, and therefore nodes do, too.


@final
@cclass
class Parts:
    """Rows, their parts so far, the tree, and work space. The nodes of the occurrences of members change."""

    k: int64
    offsets: Numbers
    leaves: Codes
    nodes: int32s
    weight: Numbers  # by node
    depth: Codes  # by node
    path: Code[:, ::1]  # the ancestor of a node at each depth
    size: Codes  # of the subtree
    part_of: int32s  # part of each row, -1 if it is not final
    order: int64s  # the members, part after part, ascending within each
    bounds: int64[:, ::1]  # bounds of the open parts in ``order``
    gains: int64s  # by node, 0 between parts
    row_gain: int64s  # gain of each row by the expansion
    bucket: int64s  # bucket of each row; rows with the same children share one
    children: int32s  # children of the expanded node, at the offset of the row
    n_children: int64s
    table: int64s  # the first row of each bucket, by hash
    sizes: int64s  # rows of each bucket
    totals: int64s  # gain of the rows of each bucket
    part: int64s  # copy of the current rows, while ``order`` is written

    def __init__(
        self,
        k: int,
        members: Array,
        offsets: Array,
        leaves: Array,
        nodes: Array,
        weight: Array,
        depth: Array,
        path: Array,
        size: Array,
    ) -> None:
        n_rows, n = len(offsets) - 1, len(members)
        self.offsets, self.leaves, self.nodes = offsets, leaves, nodes
        self.weight, self.depth, self.path, self.size = weight, depth, path, size
        self.part_of = np.full(n_rows, -1, np.int32)
        self.order, self.part = members.copy(), np.empty(n, np.int64)
        self.bounds = np.empty((n // k + 2, 2), np.int64)
        self.gains = np.zeros(len(weight), np.int64)
        self.row_gain, self.bucket, self.n_children = np.zeros((3, n_rows), np.int64)
        self.children = np.empty(len(leaves), np.int32)
        self.table = np.empty(2 << max(n - 1, 1).bit_length(), np.int64)
        self.sizes, self.totals = np.empty((2, n + 1), np.int64)
        self.k = k

    def split(self) -> NDArray[np.int32]:
        """Return the part of each row, -1 for rows that are no members."""
        with nogil:
            _split_all(self)
        return np.asarray(self.part_of)


@cfunc
@nogil
@exceptval(check=False)
def _split_all(parts: Parts) -> void:
    """Split the members into parts, depth first."""
    n_parts: int32 = 0
    todo = min(parts.order.shape[0], 1)
    parts.bounds[0, 0], parts.bounds[0, 1] = 0, parts.order.shape[0]
    while todo:
        todo -= 1
        start, stop = parts.bounds[todo, 0], parts.bounds[todo, 1]
        node = _best_expansion(start, stop, parts)
        if node < 0:
            for i in range(start, stop):
                parts.part_of[parts.order[i]] = n_parts
            n_parts += 1
            continue
        for i in range(start, stop):
            _expand(parts.order[i], node, parts)
        n_buckets = _assign_buckets(start, stop, parts)
        _balance(start, stop, n_buckets, parts)
        _publish(start, stop, node, n_buckets, parts)
        todo = _divide(start, stop, n_buckets, todo, parts)


@cfunc
@nogil
@exceptval(check=False)
def _divide(
    start: Py_ssize_t,
    stop: Py_ssize_t,
    n_buckets: Py_ssize_t,
    todo: Py_ssize_t,
    parts: Parts,
) -> Py_ssize_t:
    """Append each bucket with rows to the open parts; return the number of open parts."""
    first = start
    for number in range(n_buckets + 1):
        size = parts.sizes[number]
        if size:
            parts.bounds[todo, 0], parts.bounds[todo, 1] = first, first + size
            todo += 1
        parts.sizes[number] = first  # from here on the position of its next row
        first += size
    for i in range(start, stop):
        parts.part[i - start] = parts.order[i]
    for i in range(stop - start):
        row = parts.part[i]
        number = parts.bucket[row]
        parts.order[parts.sizes[number]] = row
        parts.sizes[number] += 1
    return todo


@cfunc
@nogil
@exceptval(check=False)
def _best_expansion(start: Py_ssize_t, stop: Py_ssize_t, parts: Parts) -> Py_ssize_t:
    """Return the first node with the largest gain by expansion, -1 if none can be expanded."""
    first = parts.order[start]
    best: Py_ssize_t = -1
    most = -1
    for i in range(start, stop):
        row = parts.order[i]
        for place in range(parts.offsets[row], parts.offsets[row + 1]):
            node = parts.nodes[place]
            if node >= 0:
                child = parts.path[parts.depth[node] + 1, parts.leaves[place]]
                parts.gains[node] += parts.weight[node] - parts.weight[child]
    for place in range(parts.offsets[first], parts.offsets[first + 1]):  # all rows have the same nodes
        node = parts.nodes[place]
        if node >= 0 and parts.gains[node] > most:
            best, most = node, parts.gains[node]
    for place in range(parts.offsets[first], parts.offsets[first + 1]):
        node = parts.nodes[place]
        if node >= 0:
            parts.gains[node] = 0
    return best


@cfunc
@nogil
@exceptval(check=False)
def _expand(row: Py_ssize_t, node: Py_ssize_t, parts: Parts) -> void:
    """List the children of a node in a row, count them, and compute the gain."""
    end = parts.offsets[row]
    gain: int64 = 0
    for place in range(parts.offsets[row], parts.offsets[row + 1]):
        if parts.nodes[place] == node:
            child = parts.path[parts.depth[node] + 1, parts.leaves[place]]
            gain += parts.weight[node] - parts.weight[child]
            if end == parts.offsets[row] or parts.children[end - 1] != child:
                parts.children[end] = child
                end += 1
    parts.n_children[row], parts.row_gain[row] = end - parts.offsets[row], gain


@cfunc
@nogil
@exceptval(check=False)
def _assign_buckets(start: Py_ssize_t, stop: Py_ssize_t, parts: Parts) -> Py_ssize_t:
    """Assign each row to the bucket of its set of children; return the number of buckets."""
    # Buckets are numbered in the order of their first rows. A hash table with linear probing finds them.
    size: int64 = 2
    n_buckets: Py_ssize_t = 0
    key: int64
    slot: int64
    while size < 2 * (stop - start):
        size *= 2
    for i in range(size):
        parts.table[i] = -1
    for i in range(start, stop):
        row = parts.order[i]
        key = 0
        for place in range(parts.offsets[row], parts.offsets[row] + parts.n_children[row]):
            key = (key * 1000003 + parts.children[place]) & 0x7FFFFFFF
        slot = (key ^ (key >> 15)) & (size - 1)
        while parts.table[slot] >= 0 and not _has_equal_children(row, parts.table[slot], parts):
            slot = (slot + 1) & (size - 1)
        if parts.table[slot] < 0:
            parts.table[slot] = row
            parts.bucket[row] = n_buckets
            n_buckets += 1
        parts.bucket[row] = parts.bucket[parts.table[slot]]
    return n_buckets


@cfunc
@nogil
@exceptval(check=False)
def _has_equal_children(a: Py_ssize_t, b: Py_ssize_t, parts: Parts) -> bint:
    """Return whether two rows have the same children."""
    if parts.n_children[a] != parts.n_children[b]:
        return False
    for i in range(parts.n_children[a]):
        if parts.children[parts.offsets[a] + i] != parts.children[parts.offsets[b] + i]:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _balance(start: Py_ssize_t, stop: Py_ssize_t, n_buckets: Py_ssize_t, parts: Parts) -> void:
    """Collect the rows of small buckets in one more bucket, and count the rows of each bucket."""
    # If the last bucket has fewer than k rows, it receives rows of buckets with more than k, lowest gain
    # first. If that does not suffice, it receives whole buckets.
    rest = 0
    for number in range(n_buckets + 1):
        parts.sizes[number] = parts.totals[number] = 0
    for i in range(start, stop):
        row = parts.order[i]
        parts.sizes[parts.bucket[row]] += 1
        parts.totals[parts.bucket[row]] += parts.row_gain[row]
    for number in range(n_buckets):
        if parts.sizes[number] < parts.k:
            rest += parts.sizes[number]
            parts.sizes[number] = 0
    while 0 < rest < parts.k:
        least = -1
        for i in range(start, stop):
            row = parts.order[i]
            if parts.sizes[parts.bucket[row]] > parts.k:
                if least < 0 or parts.row_gain[row] < parts.row_gain[least]:
                    least = row
        if least < 0:
            break
        parts.sizes[parts.bucket[least]] -= 1
        parts.totals[parts.bucket[least]] -= parts.row_gain[least]
        parts.bucket[least] = n_buckets
        rest += 1
    while 0 < rest < parts.k:
        least = -1
        for number in range(n_buckets):
            if parts.sizes[number] and (least < 0 or parts.totals[number] < parts.totals[least]):
                least = number
        rest += parts.sizes[least]
        parts.sizes[least] = 0
    for i in range(start, stop):
        row = parts.order[i]
        if parts.sizes[parts.bucket[row]] == 0:
            parts.bucket[row] = n_buckets
    parts.sizes[n_buckets] = rest


@cfunc
@nogil
@exceptval(check=False)
def _publish(
    start: Py_ssize_t,
    stop: Py_ssize_t,
    node: Py_ssize_t,
    n_buckets: Py_ssize_t,
    parts: Parts,
) -> void:
    """Replace a node by its children; in rows of the last bucket, block it instead."""
    blocked = ~cast(int32, node)
    for i in range(start, stop):
        row = parts.order[i]
        for place in range(parts.offsets[row], parts.offsets[row + 1]):
            if parts.nodes[place] == node:
                child = parts.path[parts.depth[node] + 1, parts.leaves[place]]
                if parts.bucket[row] == n_buckets:
                    parts.nodes[place] = blocked
                else:
                    parts.nodes[place] = ~child if parts.size[child] == 1 else child
