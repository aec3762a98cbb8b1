"""Groups of rows published with the same nodes: form groups, and move rows between them to lower the loss.

Each row has the number of its items below each node with at least one: ``nodes`` ascending and ``counts``,
row after row. A group is published as the multiset of nodes that all its rows have in common.
"""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import Codes, Numbers, int32s, int64s, uint8s
from numpy.typing import NDArray

__all__ = ["Clumps", "Groups", "assign", "clump", "cut_nodes", "least_counts", "move_rows"]

Array = NDArray[Any]


# --- Clump: put rows into groups, and publish the multiset of nodes that all rows of a group have
#
# The count of a node in a group is the smallest count of its rows. It is stored in place of the counts of the
# first row of the group, its seed.


@final
@cclass
class Clumps:
    """Rows, and the groups of some of them; the rows of a group are at first equal to its seed."""

    # Rows come in descending order of their lengths, so that the search for a row can end early.
    # The distortion of a group times ``scale`` is ``scale * length - size * saved``, where ``saved`` is the
    # sum of count times weight over the nodes.

    scale: int64
    weight: Numbers
    starts: Numbers
    nodes: int32s
    counts: int32s
    lengths: Numbers
    group_of: int64s
    seeds: Numbers
    near: Py_ssize_t  # the first group whose seed is not before the current row
    filling: bint  # whether some group has fewer than k rows
    n_open: int64  # number of open groups, which accept rows; -1 before the first row
    ends = declare(int64s, visibility="readonly")  # end of the counts of each group
    size: int64s  # rows of each group
    length: int64s  # items of the rows of each group
    saved: int64s  # sum of count times weight over the nodes of each group
    have: int64s  # counts of the current row or group by node, otherwise 0
    open_after: int64s  # path to the first open group at or after each one
    after: int64s  # next row without a group, in a ring closed by the number of rows
    before: int64s  # previous one
    last: Py_ssize_t  # last of the rows that may take the place of the current one

    def __init__(
        self,
        scale: int,
        weight: Array,
        starts: Array,
        nodes: Array,
        counts: Array,
        lengths: Array,
        group_of: Array,
        seeds: Array,
    ) -> None:
        self.scale, self.weight = scale, weight
        self.starts, self.nodes, self.counts, self.lengths = starts, nodes, counts, lengths
        self.group_of, self.seeds, self.ends = group_of, seeds, starts[seeds + 1]
        size = np.bincount(group_of[group_of >= 0], minlength=len(seeds))
        self.size, self.length = size, size * lengths[seeds]  # all rows of a group are equal at first
        self.saved, self.have = np.zeros(len(seeds), np.int64), np.zeros(len(weight), np.int64)
        self.near, self.filling, self.n_open = 0, False, -1
        self.open_after = np.arange(len(seeds) + 1)
        unplaced = np.append(np.flatnonzero(group_of < 0), len(group_of))
        links = np.empty((2, len(group_of) + 1), np.int64)
        links[0, np.roll(unplaced, 1)], links[1, unplaced] = unplaced, np.roll(unplaced, 1)
        self.after, self.before = links


def clump(k: int64, r: int64, ahead: int64, increase: bint, limit: int64, clumps: Clumps) -> int:
    """Put rows without a group (-1) into groups, at most ``limit`` rows; return their number."""
    # Groups with fewer than k rows are filled first. Each row is compared with ``r`` groups. While groups are
    # filled, one of the next ``ahead`` rows may take its place. With ``increase``, the increase of the
    # distortion is compared, otherwise the new distortion.
    n_rows = clumps.group_of.shape[0]
    done: int64 = 0
    with nogil:
        if clumps.n_open < 0:
            _prepare(k, ahead, clumps)
        row = clumps.after[n_rows]
        while row < n_rows and done < limit:
            while clumps.near < clumps.seeds.shape[0] and clumps.seeds[clumps.near] < row:
                clumps.near += 1  # rows come in ascending order
            _scatter(clumps.starts[row], clumps.starts[row + 1], clumps)
            group = _nearest_group(clumps.near, min(r, clumps.n_open), increase, clumps.lengths[row], clumps)
            _clear(clumps.starts[row], clumps.starts[row + 1], clumps)
            if clumps.filling and ahead > 0:
                row = _best_row(row, group, clumps)
            _insert(row, group, clumps)
            clumps.group_of[row] = group
            _unlink(row, clumps)
            if clumps.filling and clumps.size[group] == k:
                clumps.open_after[group] = group + 1
                clumps.n_open -= 1
                if clumps.n_open == 0:
                    clumps.filling = False
                    clumps.n_open = _open_all(clumps)
            done += 1
            row = clumps.after[n_rows]
    return done


@cfunc
@nogil
@exceptval(check=False)
def _prepare(k: int64, ahead: int64, clumps: Clumps) -> void:
    """Prepare the groups and rows before the first row."""
    _count_saved(clumps)
    clumps.last = clumps.after[clumps.group_of.shape[0]]
    for _ in range(ahead):
        if clumps.after[clumps.last] == clumps.group_of.shape[0]:
            break
        clumps.last = clumps.after[clumps.last]
    clumps.n_open = _open_small(k, clumps)
    clumps.filling = clumps.n_open > 0
    if not clumps.filling:
        clumps.n_open = _open_all(clumps)


@cfunc
@nogil
@exceptval(check=False)
def _count_saved(clumps: Clumps) -> void:
    """Sum count times weight over the nodes of each group."""
    for group in range(clumps.seeds.shape[0]):
        for place in range(clumps.starts[clumps.seeds[group]], clumps.ends[group]):
            clumps.saved[group] += clumps.counts[place] * clumps.weight[clumps.nodes[place]]


@cfunc
@nogil
@exceptval(check=False)
def _open_small(k: int64, clumps: Clumps) -> int64:
    """Open the groups with fewer than k rows; return their number."""
    n_open: int64 = 0
    for group in range(clumps.seeds.shape[0] - 1, -1, -1):
        if clumps.size[group] < k:
            n_open += 1
        else:
            clumps.open_after[group] = clumps.open_after[group + 1]
    return n_open


@cfunc
@nogil
@exceptval(check=False)
def _open_all(clumps: Clumps) -> int64:
    """Open all groups; return their number."""
    for group in range(clumps.open_after.shape[0]):
        clumps.open_after[group] = group
    return clumps.seeds.shape[0]


@cfunc
@nogil
@exceptval(check=False)
def _unlink(row: Py_ssize_t, clumps: Clumps) -> void:
    """Remove a row up to ``last`` from the ring; the row after ``last`` may then take a place, too."""
    if clumps.after[clumps.last] < clumps.group_of.shape[0]:
        clumps.last = clumps.after[clumps.last]
    elif row == clumps.last:
        clumps.last = clumps.before[row]
    clumps.after[clumps.before[row]] = clumps.after[row]
    clumps.before[clumps.after[row]] = clumps.before[row]


@cfunc
@nogil
@exceptval(check=False)
def _scatter(start: Py_ssize_t, end: Py_ssize_t, clumps: Clumps) -> void:
    """Write the counts of a row or group to ``have``."""
    for place in range(start, end):
        clumps.have[clumps.nodes[place]] = clumps.counts[place]


@cfunc
@nogil
@exceptval(check=False)
def _clear(start: Py_ssize_t, end: Py_ssize_t, clumps: Clumps) -> void:
    """Reset the counts of a row or group in ``have``."""
    for place in range(start, end):
        clumps.have[clumps.nodes[place]] = 0


@cfunc
@nogil
@exceptval(check=False)
def _first_open(group: Py_ssize_t, clumps: Clumps) -> Py_ssize_t:
    """Find the first open group from ``group`` on. A union-find structure: the path is halved on the way."""
    while clumps.open_after[group] != group:
        clumps.open_after[group] = clumps.open_after[clumps.open_after[group]]
        group = clumps.open_after[group]
    return group


@cfunc
@nogil
@exceptval(check=False)
def _common(start: Py_ssize_t, end: Py_ssize_t, clumps: Clumps) -> int64:
    """Sum the weights of the items that a row or group has in common with ``have``."""
    total = 0
    for place in range(start, end):
        node = clumps.nodes[place]
        count: int64 = clumps.counts[place]
        total += min(count, clumps.have[node]) * clumps.weight[node]
    return total


@cfunc
@nogil
@exceptval(check=False)
def _nearest_group(
    near: Py_ssize_t,
    examined: int64,
    increase: bint,
    added: int64,
    clumps: Clumps,
) -> Py_ssize_t:
    """Find the group that a row distorts least; a tie goes to the lowest number."""
    # Only the first ``examined`` open groups from ``near`` on are compared, in a ring.
    best = -1
    least = 0
    group = near
    for _ in range(examined):
        group = _first_open(group, clumps)
        if group == clumps.seeds.shape[0]:
            group = _first_open(0, clumps)
        common = _common(clumps.starts[clumps.seeds[group]], clumps.ends[group], clumps)
        score = clumps.scale * (clumps.length[group] + added)
        score -= (clumps.size[group] + 1) * common
        if increase:
            score -= clumps.scale * clumps.length[group] - clumps.size[group] * clumps.saved[group]
        if best < 0 or score < least or (score == least and group < best):
            best, least = group, score
        group += 1
    return best


@cfunc
@nogil
@exceptval(check=False)
def _best_row(row: Py_ssize_t, group: Py_ssize_t, clumps: Clumps) -> Py_ssize_t:
    """Find the row that distorts a group least; a tie goes to the first row."""
    # The rows from ``row`` to ``last`` are compared, from the shortest to the longest. A row saves at most
    # what the group saves, so the search ends at the first one that is too long.
    first = clumps.starts[clumps.seeds[group]]
    _scatter(first, clumps.ends[group], clumps)
    size = clumps.size[group] + 1
    best = -1
    least = 0
    other = clumps.last
    while True:
        score = clumps.scale * clumps.lengths[other]
        if best >= 0 and score - size * clumps.saved[group] > least:
            break
        score -= size * _common(clumps.starts[other], clumps.starts[other + 1], clumps)
        if best < 0 or score <= least:
            best, least = other, score
        if other == row:
            break
        other = clumps.before[other]
    _clear(first, clumps.ends[group], clumps)
    return best


@cfunc
@nogil
@exceptval(check=False)
def _insert(row: Py_ssize_t, group: Py_ssize_t, clumps: Clumps) -> void:
    """Put a row into a group, and reduce the counts of the group to what both have in common."""
    start = clumps.starts[clumps.seeds[group]]
    end = start
    saved = 0
    _scatter(clumps.starts[row], clumps.starts[row + 1], clumps)
    for place in range(start, clumps.ends[group]):
        node = clumps.nodes[place]
        own: int64 = clumps.counts[place]
        count = min(own, clumps.have[node])
        if count:
            clumps.nodes[end], clumps.counts[end] = node, count
            saved += count * clumps.weight[node]
            end += 1
    clumps.ends[group], clumps.saved[group] = end, saved
    _clear(clumps.starts[row], clumps.starts[row + 1], clumps)
    clumps.size[group] += 1
    clumps.length[group] += clumps.lengths[row]


def assign(
    group_of: Numbers,
    offsets: Numbers,
    leaves: Codes,
    parent: Codes,
    starts: Numbers,
    nodes: Codes,
    counts: int32s,
    seeds: Numbers,
    ends: Numbers,
) -> NDArray[np.int32]:
    """Return the node of each occurrence in the multiset of its group, -1 if it is suppressed."""
    # From the leaves up, each node takes the first free occurrences below it. ``counts`` of groups are
    # changed: on return, a count excludes the items that lower nodes take.
    place_of: int64s = np.zeros(len(parent), np.int64)
    result = np.full(len(leaves), -1, np.int32)
    became: int32s = result
    wanted: int32
    with nogil:
        for group in range(seeds.shape[0]):
            for place in range(starts[seeds[group]], ends[group]):
                place_of[nodes[place]] = place
                if nodes[place]:
                    counts[place_of[parent[nodes[place]]]] -= counts[place]
        for row in range(group_of.shape[0]):
            group = group_of[row]
            for place in range(ends[group] - 1, starts[seeds[group]] - 1, -1):
                node = nodes[place]
                wanted = counts[place]
                at = offsets[row]
                while wanted > 0:
                    if leaves[at] >= node and became[at] < 0:
                        became[at] = node
                        wanted -= 1
                    at += 1
    return result


# --- Moves of rows between groups
#
# A group is published as a multiset (``bags``), or at the lowest cut where all its rows have the same nodes.
# Losses are below 2**63: the loss of a row is at most the number of its items times the number of leaves.


@final
@cclass
class Groups:
    """Rows, the tree of nodes, the groups of the rows, and work space."""

    # ``group_of`` has the group of each row, and ``first`` a row of each group. A row may move to ``tried``
    # near groups, which are selected from ``looked_at`` groups.

    bags: bint  # whether groups are published as multisets of nodes; otherwise at a cut
    starts: Numbers
    nodes: Codes
    counts: Codes
    parent: Codes
    size: Codes
    price: Numbers  # loss of an item by the published node; the last entry is that of a suppressed item
    saved: Numbers  # loss of an item at the parent of a node (root: suppressed) less that at the node
    group_of = declare(int64s, visibility="readonly")
    after: int64s  # the next row of the same group, in a ring
    first = declare(int64s, visibility="readonly")
    sizes: int64s  # number of rows of each group
    cost = declare(int64s, visibility="readonly")  # loss of each group
    held: int64s  # current rows that contain the node
    least: int64s  # smallest count in the current rows
    total: int64s  # sum of the counts in the current rows
    torn: uint8s  # whether a child of the node is in some of the current rows only
    members: int64s  # the current rows
    unlike: int64s  # rows of a group by what they have in common with a row, ascending
    common: int64s  # loss saved by what these have in common with it
    shared: int64s  # loss saved by what a row has in common with each group, otherwise 0
    near: int64s  # groups where that is not 0
    nearest: int64s  # the groups with the largest values

    def __init__(
        self,
        *,
        bags: bool,
        starts: Array,
        nodes: Array,
        counts: Array,
        parent: Array,
        size: Array,
        price: Array,
        group_of: Array,
        after: Array,
        first: Array,
        sizes: Array,
        tried: int,
        looked_at: int,
    ) -> None:
        self.bags = bags
        self.starts, self.nodes, self.counts = starts, nodes, counts
        self.parent, self.size, self.price = parent, size, price
        self.saved = price[parent] - price[: len(price) - 1]  # parent of the root is -1: the last entry
        self.group_of, self.after, self.first, self.sizes = group_of, after, first, sizes
        self.cost, self.shared = np.zeros((2, len(sizes)), np.int64)
        self.held, self.least, self.total = np.zeros((3, len(parent)), np.int64)
        self.torn = np.zeros(len(parent), np.uint8)
        self.members, self.unlike, self.common = np.zeros((3, len(group_of) + 1), np.int64)
        self.near, self.nearest = np.empty(looked_at, np.int64), np.empty(tried, np.int64)
        with nogil:
            for group in range(self.sizes.shape[0]):
                self.cost[group] = _cost_of(group, -1, -1, self)


@cfunc
@nogil
@exceptval(check=False)
def _tally(n: Py_ssize_t, times: int64, groups: Groups) -> void:
    """Count the nodes in the first n ``members``; the first member stands for ``times`` rows."""
    for i in range(n):
        row = groups.members[i]
        for place in range(groups.starts[row], groups.starts[row + 1]):
            node = groups.nodes[place]
            count: int64 = groups.counts[place]
            groups.least[node] = count if groups.held[node] == 0 else min(groups.least[node], count)
            groups.held[node] += 1
            groups.total[node] += count * (times if i == 0 else 1)
    for i in range(n):
        row = groups.members[i]
        for place in range(groups.starts[row], groups.starts[row + 1]):
            node = groups.nodes[place]
            if groups.held[node] < n and groups.parent[node] >= 0:
                groups.torn[groups.parent[node]] = True


@cfunc
@nogil
@exceptval(check=False)
def _clear_tally(n: Py_ssize_t, groups: Groups) -> void:
    """Reset the counts of ``_tally``."""
    for i in range(n):
        row = groups.members[i]
        for place in range(groups.starts[row], groups.starts[row + 1]):
            node = groups.nodes[place]
            groups.held[node] = groups.total[node] = 0
            groups.torn[node] = False


@cfunc
@nogil
@exceptval(check=False)
def _cost(n: Py_ssize_t, times: int64, groups: Groups) -> int64:
    """Return the loss if the first n ``members``, none of them empty, are published as one group."""
    # The first member stands for ``times`` rows.
    first = groups.members[0]
    n_rows = n - 1 + times
    lost = 0
    end: Py_ssize_t = 0  # end of the subtree of the last published node
    node: Py_ssize_t
    _tally(n, times, groups)
    if groups.bags:
        lost = groups.total[0] * groups.price[groups.parent.shape[0]]
    for place in range(groups.starts[first], groups.starts[first + 1]):
        node = groups.nodes[place]
        if groups.bags:
            if groups.held[node] == n:
                lost -= n_rows * groups.least[node] * groups.saved[node]
        elif node >= end and (groups.torn[node] or groups.size[node] == 1):
            lost += groups.total[node] * groups.price[node]
            end = node + groups.size[node]
    _clear_tally(n, groups)
    return lost


@cfunc
@nogil
@exceptval(check=False)
def _gather(group: Py_ssize_t, without: Py_ssize_t, extra: Py_ssize_t, groups: Groups) -> Py_ssize_t:
    """Write the rows of a group to ``members``; return their number."""
    # Leave out row ``without``, and add row ``extra``; -1 for none.
    n: Py_ssize_t = 0
    row = groups.first[group]
    for _ in range(groups.sizes[group]):
        if row != without:
            groups.members[n] = row
            n += 1
        row = groups.after[row]
    if extra >= 0:
        groups.members[n] = extra
        n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _cost_of(group: Py_ssize_t, without: Py_ssize_t, extra: Py_ssize_t, groups: Groups) -> int64:
    """Return the loss of a group without row ``without`` and with row ``extra``; -1 for none."""
    return _cost(_gather(group, without, extra, groups), 1, groups)


@cfunc
@nogil
@exceptval(check=False)
def _transfer(row: Py_ssize_t, group: Py_ssize_t, groups: Groups) -> void:
    """Move a row from its group to another."""
    own = groups.group_of[row]
    before = row
    while groups.after[before] != row:
        before = groups.after[before]
    groups.after[before] = groups.after[row]
    if groups.first[own] == row:
        groups.first[own] = before
    groups.sizes[own] -= 1
    groups.after[row] = groups.after[groups.first[group]]
    groups.after[groups.first[group]] = row
    groups.sizes[group] += 1
    groups.group_of[row] = group


def move_rows(
    k: int64,
    turns: Numbers,
    partners: Py_ssize_t,
    most: int64,
    bounds: Numbers,
    holders: Numbers,
    groups: Groups,
) -> int:
    """Apply the best move or swap of each row in ``turns``, if it lowers the loss; return the loss saved."""
    # A group keeps at least k rows. A row may be swapped with one of ``partners`` rows of a group. A group
    # with more than ``most`` rows never loses rows, and receives rows only while its rows are equal.
    # ``bounds`` and ``holders`` are the groups that contain each node, as CSR.
    saved = 0
    with nogil:
        for i in range(turns.shape[0]):
            saved += _move(turns[i], k, partners, most, bounds, holders, groups)
    return saved


@cfunc
@nogil
@exceptval(check=False)
def _move(
    row: Py_ssize_t,
    k: int64,
    partners: Py_ssize_t,
    most: int64,
    bounds: Numbers,
    holders: Numbers,
    groups: Groups,
) -> int64:
    """Apply the best move or swap of one row; return the loss saved."""
    own = groups.group_of[row]
    if groups.cost[own] == 0 or groups.sizes[own] > most:
        return 0
    best = 0
    target = -1
    partner = -1
    alone = 0
    may_leave: bint = groups.sizes[own] > k
    if may_leave:
        alone = _cost_of(own, row, -1, groups)
    for i in range(_list_nearest(row, own, bounds, holders, groups)):
        group = groups.nearest[i]
        if groups.sizes[group] > most and groups.cost[group] > 0:
            continue
        before = groups.cost[own] + groups.cost[group]
        if may_leave:
            gain = before - alone - _cost_with(row, group, groups)
            if gain > best:
                best, target, partner = gain, group, -1
        if groups.cost[group] == 0:  # its rows are equal and have no loss: no swap is tried
            continue
        for j in range(_list_dissimilar(row, group, partners, groups)):
            other = groups.unlike[j]
            gain = before - _cost_of(group, other, row, groups)
            if gain > best:
                gain -= _cost_of(own, row, other, groups)
                if gain > best:
                    best, target, partner = gain, group, other
    if target >= 0:
        _transfer(row, target, groups)
        if partner >= 0:
            _transfer(partner, own, groups)
        groups.cost[own] = _cost_of(own, -1, -1, groups)
        groups.cost[target] = _cost_of(target, -1, -1, groups)
    return best


@cfunc
@nogil
@exceptval(check=False)
def _cost_with(row: Py_ssize_t, group: Py_ssize_t, groups: Groups) -> int64:
    """Return the loss of a group with one more row."""
    if groups.cost[group] > 0:
        return _cost_of(group, -1, row, groups)
    groups.members[0], groups.members[1] = groups.first[group], row  # its rows are equal: one stands for all
    return _cost(2, groups.sizes[group], groups)


@cfunc
@nogil
@exceptval(check=False)
def _list_dissimilar(row: Py_ssize_t, group: Py_ssize_t, n: Py_ssize_t, groups: Groups) -> Py_ssize_t:
    """List in ``unlike`` the n rows of a group with the least in common with a row; return their number."""
    for place in range(groups.starts[row], groups.starts[row + 1]):
        groups.total[groups.nodes[place]] = groups.counts[place]
    n_members = _gather(group, -1, -1, groups)
    for i in range(n_members):
        member = groups.members[i]
        common = 0
        for place in range(groups.starts[member], groups.starts[member + 1]):
            node = groups.nodes[place]
            count: int64 = groups.counts[place]
            common += min(count, groups.total[node]) * groups.saved[node]
        groups.unlike[i], groups.common[i] = member, common
    for place in range(groups.starts[row], groups.starts[row + 1]):
        groups.total[groups.nodes[place]] = 0
    n = min(n, n_members)
    for i in range(n):
        least = i
        for j in range(i + 1, n_members):
            if groups.common[j] < groups.common[least]:
                least = j
        groups.common[i], groups.common[least] = groups.common[least], groups.common[i]
        groups.unlike[i], groups.unlike[least] = groups.unlike[least], groups.unlike[i]
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_nearest(
    row: Py_ssize_t,
    own: Py_ssize_t,
    bounds: Numbers,
    holders: Numbers,
    groups: Groups,
) -> Py_ssize_t:
    """List in ``nearest`` the groups with the most in common with a row, in order; return their number."""
    # The nodes of the row in the fewest groups are looked up first, until there are enough groups.
    n: Py_ssize_t = 0
    below = 0
    most = groups.sizes.shape[0]
    node: Py_ssize_t
    while n < groups.near.shape[0]:
        shortest = most + 1  # of all lists longer than the last one
        for place in range(groups.starts[row], groups.starts[row + 1]):
            node = groups.nodes[place]
            length = bounds[node + 1] - bounds[node]
            if below < length < shortest:
                shortest = length
        if shortest > most:
            break
        for place in range(groups.starts[row], groups.starts[row + 1]):
            node = groups.nodes[place]
            if bounds[node + 1] - bounds[node] != shortest:
                continue
            worth = groups.counts[place] * groups.saved[node]
            for slot in range(bounds[node], bounds[node + 1]):
                group = holders[slot]
                if group == own:
                    continue
                if groups.shared[group] == 0:
                    if n == groups.near.shape[0]:
                        continue
                    groups.near[n] = group
                    n += 1
                    groups.shared[group] = 1
                groups.shared[group] += worth
        below = shortest
    return _keep_nearest(n, groups)


@cfunc
@nogil
@exceptval(check=False)
def _keep_nearest(n: Py_ssize_t, groups: Groups) -> Py_ssize_t:
    """Sort the best of the n groups in ``near`` into ``nearest``, and reset ``shared``."""
    kept = 0
    tried = groups.nearest.shape[0]
    for i in range(n):
        shared = groups.shared[groups.near[i]]
        if kept == tried and shared <= groups.shared[groups.nearest[kept - 1]]:
            continue
        slot = min(kept, tried - 1)
        while slot > 0 and shared > groups.shared[groups.nearest[slot - 1]]:
            groups.nearest[slot] = groups.nearest[slot - 1]
            slot -= 1
        groups.nearest[slot] = groups.near[i]
        kept = min(kept + 1, tried)
    for i in range(n):
        groups.shared[groups.near[i]] = 0
    return kept


def cut_nodes(offsets: Numbers, leaves: Codes, groups: Groups) -> NDArray[np.int32]:
    """Return the node of each occurrence at the lowest cut where all rows of its group are equal."""
    result = np.full(len(leaves), -1, np.int32)
    became: int32s = result
    with nogil:
        for group in range(groups.sizes.shape[0]):
            _cut_of(group, offsets, leaves, became, groups)
    return result


@cfunc
@nogil
@exceptval(check=False)
def _cut_of(group: Py_ssize_t, offsets: Numbers, leaves: Codes, became: int32s, groups: Groups) -> void:
    """Write the nodes of the occurrences of a group."""
    n = _gather(group, -1, -1, groups)
    _tally(n, 1, groups)
    for i in range(n):
        row = groups.members[i]
        for at in range(offsets[row], offsets[row + 1]):
            node = upper = leaves[at]
            while upper >= 0:  # publish the highest torn node
                if groups.torn[upper]:
                    node = upper
                upper = groups.parent[upper]
            became[at] = node
    _clear_tally(n, groups)


def least_counts(groups: Groups) -> NDArray[np.int32]:
    """Return the counts of all rows; the first row of each group gets the smallest counts of its rows."""
    result = np.array(groups.counts)
    least: int32s = result
    with nogil:
        for group in range(groups.sizes.shape[0]):
            n = _gather(group, -1, -1, groups)
            _tally(n, 1, groups)
            first = groups.members[0]
            for place in range(groups.starts[first], groups.starts[first + 1]):
                node = groups.nodes[place]
                least[place] = groups.least[node] if groups.held[node] == n else 0
            _clear_tally(n, groups)
    return result
