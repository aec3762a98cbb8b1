"""Annealing of sets: items move at random between clusters, and rare supports have a price.

The supports of all clusters, pairs and, if needed, triples are exact after each move; with constraints, those
of their images are. ``lack`` is the price of rare supports, those in (0, k), in total: by default what they
lack to k. Clusters are safe if it is 0.

A move costs the change of the loss, plus a penalty for each unit of this price. The item chooses its new
cluster with a probability that falls with these costs. Costs of moves are exact, with an exception: they
assume that no row of the item contains the new cluster, if it is rare with one or two clusters of the row.
"""

from math import comb
from typing import Any

import numpy as np
from cython import (
    address,
    bint,
    cast,
    cclass,
    cfunc,
    double as float64,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    overflowcheck,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import Rows, first_bit, weigh
from cython.cimports.pdanon._kernels.odds import COLD, choose, uniform
from cython.cimports.pdanon._kernels.set_annealing import admits, cost_with
from cython.cimports.pdanon._kernels.set_moves import (
    Space,
    State,
    clear,
    clusters_beside,
    contains,
    contains_member,
    enter,
    first_empty,
    mark_rows,
    price_of,
    recount_constraints,
    spot,
    support_after,
    tally,
    tally_pairs,
)
from numpy.typing import NDArray

__all__ = ["Annealing", "begin", "sweep"]

Array = NDArray[Any]


# --- The state


@final
@cclass
class Annealing(State):
    """Clusters, their supports, and the best safe clusters so far; a state of the balanced loss."""

    # A set of more than one item costs ``(size + change) * held``. If ``change`` is positive, it also costs
    # ``change * sqrt(size * squares - held**2)``. The options are those of `State`, whose clusters are safe.

    # ``prices`` has one for each support below ``k``; by default what it lacks to ``k``.

    def __init__(self, *, seed: int, prices: Any = None, **options: Any) -> None:
        State.__init__(self, **options)
        self.prices = np.append(-np.arange(self.k) % self.k if prices is None else prices, 0)
        slots, pairs = len(self.size), len(self.co)
        side = slots if self.largest == 3 else 0
        self.found, self.random = np.array(self.label), seed
        self.order = np.flatnonzero(np.asarray(self.label) >= 0)
        self.targets, self.short, self.short_triples = np.zeros((3, slots), np.int64)
        self.brought, self.changes, self.lacks = np.zeros((3, slots), np.int64)
        itemsets, bounds = np.asarray(self.itemsets), np.asarray(self.bounds)
        self.uses = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))[
            np.argsort(itemsets, kind="stable")
        ]
        self.first = np.append(0, np.cumsum(np.bincount(itemsets, minlength=len(self.label))))
        self.leaves = np.zeros(len(bounds) - 1, np.uint8)
        self.words, self.at = (np.zeros(self.bits.shape[1], each) for each in (np.uint64, np.int64))
        self.cost, self.costs, self.odds, self.floors = np.zeros((4, slots))
        self.open = np.zeros((slots + 63) // 64, np.uint64)
        self.low = np.full((pairs, (slots + 63) // 64), np.uint64(2**64 - 1))
        self.short_pairs = np.zeros((side, side), np.int64)
        self.triples = np.zeros((comb(side, 2), 3), np.int32)

    @property
    def state(self) -> dict[str, Any]:
        """The current labels, supports, and totals."""
        top = self.top
        pairs = np.array(self.co)[:top, :top]
        if len(pairs):
            np.fill_diagonal(pairs, self.support[:top])
        return {
            "label": np.array(self.label),
            "pairs": pairs,
            "triples": np.array(self.cube)[: comb(top, 3)],
            "met": np.array(self.met),
            "short": np.array(self.short)[:top],
            "short_pairs": np.array(self.short_pairs)[:top, :top],
            "short_triples": np.array(self.short_triples)[:top],
            "lack": self.lack,
            "cost": self.total,
            "least": self.least,
        }

    @property
    def best(self) -> Array:
        """The labels of the best safe clusters."""
        return np.array(self.found)


@cfunc
@nogil
@exceptval(check=False)
def _price(c: int64, clusters: Annealing) -> float64:
    """Compute the loss of a cluster."""
    clusters.cost[c] = price_of(c, 0, clusters)
    return clusters.cost[c]


@cfunc
@nogil
@exceptval(check=False)
def _settle(a: int64, b: int64, clusters: Annealing) -> void:
    """Compute the loss after a move between two clusters; store the clusters if they are the best so far."""
    clusters.total -= clusters.cost[a] + clusters.cost[b]
    clusters.total += _price(a, clusters) + _price(b, clusters)
    if clusters.lack == 0 and clusters.total < clusters.least * (1.0 - 1e-12):
        clusters.least = clusters.total
        clusters.found[:] = clusters.label


@cfunc
@nogil
@exceptval(check=False)
def _shuffle(clusters: Annealing) -> void:
    """Put the items that move in random order."""
    j: int64
    for i in range(clusters.order.shape[0] - 1, 0, -1):
        j = cast(int64, uniform(address(clusters.random)) * (i + 1))
        clusters.order[i], clusters.order[j] = clusters.order[j], clusters.order[i]


# --- Supports


@cfunc
@inline
@nogil
@exceptval(check=False)
def _lack(support: int64, clusters: Annealing) -> int64:
    """Return the price of a support: 0 from k on."""
    return clusters.prices[min(support, clusters.k)]


@cfunc
@inline
@nogil
@exceptval(check=False)
def _flip(c: int64, d: int64, clusters: Annealing) -> void:
    """Flip the bit of cluster d in ``low`` of cluster c."""
    clusters.low[c, d >> 6] ^= cast(uint64, 1) << (d & 63)


@cfunc
@nogil
@exceptval(check=False)
def _add(c: int64, d: int64, rows: int64, clusters: Annealing) -> void:
    """Add rows to the support of two clusters; the number may be negative."""
    before = _lack(clusters.co[c, d], clusters)
    old: int64 = clusters.co[c, d]
    clusters.co[c, d] = clusters.co[d, c] = old + rows
    if (old < clusters.k) != (old + rows < clusters.k):
        _flip(c, d, clusters)
        _flip(d, c, clusters)
    after = _lack(clusters.co[c, d], clusters)
    clusters.lack += after - before
    clusters.short[c] += after - before
    clusters.short[d] += after - before


@cfunc
@nogil
@exceptval(check=False)
def _add_single(c: int64, rows: int64, clusters: Annealing) -> void:
    """Add rows to the support of a cluster."""
    before = _lack(clusters.support[c], clusters)
    clusters.support[c] += rows
    after = _lack(clusters.support[c], clusters)
    clusters.lack += after - before
    clusters.short[c] += after - before


@cfunc
@nogil
@exceptval(check=False)
def _add_triple(c: int64, d: int64, e: int64, rows: int64, clusters: Annealing) -> void:
    """Add rows to the support of three clusters; the number may be negative."""
    at = spot(c, d, e)
    before = _lack(clusters.cube[at], clusters)
    clusters.cube[at] += rows
    change = _lack(clusters.cube[at], clusters) - before
    if change:
        clusters.lack += change
        clusters.short_triples[c] += change
        clusters.short_triples[d] += change
        clusters.short_triples[e] += change
        clusters.short_pairs[max(c, d), min(c, d)] += change
        clusters.short_pairs[max(c, e), min(c, e)] += change
        clusters.short_pairs[max(d, e), min(d, e)] += change


def begin(clusters: Annealing) -> None:
    """Prepare the first moves. The clusters are counted and safe: they are the best so far."""
    with nogil:
        for c in range(clusters.co.shape[0]):
            _flip(c, c, clusters)
            for d in range(c if c < clusters.top else 0):
                if clusters.co[c, d] >= clusters.k:
                    _flip(c, d, clusters)
                    _flip(d, c, clusters)
        for c in range(clusters.size.shape[0]):
            clusters.total += _price(c, clusters)
        clusters.least = clusters.total


# --- Moves, with prices of rare sets, pairs and triples


@cfunc
@nogil
@exceptval(check=False)
def _lack_after_leaving(a: int64, n_touched: int64, lost: int64, clusters: Annealing, space: Space) -> int64:
    """Return the change of ``lack`` when the item leaves its cluster."""
    change = _lack(clusters.support[a] - lost, clusters) - _lack(clusters.support[a], clusters)
    for i in range(n_touched):
        c = space.touched[i]
        if space.alone[c] and c != a:
            change += _lack(clusters.co[a, c] - space.alone[c], clusters) - _lack(clusters.co[a, c], clusters)
    return change


@cfunc
@nogil
@exceptval(check=False)
@overflowcheck(False)
def _fill_changes(
    a: int64, n_touched: int64, penalty: float64, most: float64, clusters: Annealing, space: Space
) -> void:
    """Fill ``changes`` for the ``open`` clusters: only their pairs with clusters beside the item."""
    # Pairs with ``a`` are left out. Clusters whose moves cost ``most`` or more are closed.
    k = clusters.k
    n_words = (min(clusters.top + 1, clusters.size.shape[0]) + 63) // 64
    word: uint64
    for i in range(n_touched):
        c = space.touched[i]
        beside = space.beside[c]
        if c == a or (beside >= k and clusters.short[c] == 0):
            continue
        for j in range(n_words):
            word = clusters.low[c, j] & clusters.open[j]
            while word:
                b = 64 * j + first_bit(word)
                clusters.changes[b] += _lack(clusters.co[c, b] + beside, clusters)
                clusters.changes[b] -= _lack(clusters.co[c, b], clusters)
                if clusters.floors[b] + penalty * clusters.changes[b] > most:
                    clusters.open[j] ^= word & (~word + 1)
                word &= word - 1


@cfunc
@nogil
@exceptval(check=False)
@overflowcheck(False)
def _open_targets(
    x: int64,
    left: float64,
    penalty: float64,
    most: float64,
    clusters: Annealing,
    space: Space,
) -> void:
    """Mark in ``open`` the clusters that x may move to, unless each change of their pairs costs ``most``."""
    # ``floors`` has a lower bound on their costs without ``changes``; ``costs`` has ``left`` and the rows
    # that lack.
    a = clusters.label[x]
    empty = first_empty(clusters.top, clusters.size)
    n = min(clusters.top + 1, clusters.size.shape[0])
    for j in range((n + 63) // 64):
        clusters.open[j] = 0
    for b in range(n):
        if not admits(b, x, empty, clusters):
            continue
        lack = _lack(clusters.co[a, b] + space.beside[a] - space.beside[b], clusters)
        lack -= _lack(clusters.co[a, b] - space.alone[b], clusters)
        lack += _lack(clusters.support[b] + clusters.singles[x] - space.beside[b], clusters)
        lack -= _lack(clusters.support[b], clusters)
        lack -= clusters.short_triples[a] + clusters.short_triples[b]
        # Without the root of the cost, which does not fall when an item comes.
        least = left
        if clusters.size[b] == 1:
            least += (2.0 + clusters.change) * (clusters.held[b] + clusters.worth[x])
        elif clusters.size[b]:
            least += clusters.held[b] + (1.0 + clusters.size[b] + clusters.change) * clusters.worth[x]
        # Its rare pairs lack ``short`` at most; 1 more is above any rounding error.
        floor = least + penalty * (lack - clusters.short[b] - 1)
        if floor < most:
            clusters.open[b >> 6] |= cast(uint64, 1) << (b & 63)
            clusters.floors[b], clusters.lacks[b], clusters.changes[b] = floor, lack, 0


@cfunc
@nogil
@exceptval(check=False)
@overflowcheck(False)
def _list_targets(
    x: int64,
    n_touched: int64,
    leaving: int64,
    penalty: float64,
    most: float64,
    clusters: Annealing,
    space: Space,
) -> int64:
    """List in ``targets`` the clusters that x may move to with costs of less than ``most``."""
    # ``costs`` has their costs. No triple of clusters counts as rare after the move.
    a = clusters.label[x]
    word: uint64
    n: int64 = 0
    left = penalty * leaving - clusters.cost[a]
    left += cost_with(a, x, -1, clusters)
    _open_targets(x, left, penalty, most, clusters, space)
    _fill_changes(a, n_touched, penalty, most, clusters, space)
    for j in range((min(clusters.top + 1, clusters.size.shape[0]) + 63) // 64):
        word = clusters.open[j]
        while word:
            b = 64 * j + first_bit(word)
            word &= word - 1
            cost = left + penalty * (clusters.lacks[b] + clusters.changes[b])
            cost += cost_with(b, x, 1, clusters)
            clusters.costs[n] = cost - clusters.cost[b]
            clusters.targets[n] = b
            n += clusters.costs[n] < most
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_pairs(a: int64, n_pairs: int64, clusters: Annealing, space: Space) -> tuple[int64, int64]:
    """List in ``triples`` the pairs whose triples can change ``lack`` when the item joins; return both."""
    # Their number, and the change of ``lack`` by triples when the item leaves its cluster.
    n: int64
    lone: int64
    k = clusters.k
    n, change = 0, 0
    for i in range(n_pairs):
        high, low = space.pairs[i, 0], space.pairs[i, 1]
        c, d = space.touched[high], space.touched[low]
        if c == a or d == a:
            continue
        lone = space.lone[high, low]
        if lone:
            at = spot(a, c, d)
            change += _lack(clusters.cube[at] - lone, clusters) - _lack(clusters.cube[at], clusters)
        if space.joint[high, low] < k or clusters.short_pairs[max(c, d), min(c, d)]:
            clusters.triples[n, 0] = c
            clusters.triples[n, 1] = d
            clusters.triples[n, 2] = space.joint[high, low]
            n += 1
    return n, change


@cfunc
@inline
@nogil
@exceptval(check=False)
def _at_places(i: int64, j: int64, counts: int32[:, ::1]) -> int64:
    """Return the count of two clusters at positions in ``touched``; -1 is the position of a missing one."""
    return counts[max(i, j), min(i, j)] if min(i, j) >= 0 else 0


@cfunc
@nogil
@exceptval(check=False)
def _lack_after_joining(
    a: int64,
    b: int64,
    n_touched: int64,
    n: int64,
    clusters: Annealing,
    space: Space,
) -> int64:
    """Return the change of ``lack`` by triples when the item comes to b, the first n ``triples`` given."""
    # The triples with both clusters count as changed by the item from the time when it has left a.
    d: int64
    k = clusters.k
    change = 0
    for i in range(n):
        c, d = clusters.triples[i, 0], clusters.triples[i, 1]
        if c != b and d != b:
            before = clusters.cube[spot(b, c, d)]
            if before < k:
                change += _lack(before + clusters.triples[i, 2], clusters) - _lack(before, clusters)
    at_a = space.place[a] - 1
    at_b = space.place[b] - 1
    for i in range(n_touched if max(at_a, at_b) >= 0 else 0):
        c = space.touched[i]
        if c != a and c != b:
            before = clusters.cube[spot(a, b, c)]
            left = before - _at_places(i, at_b, space.lone)
            before += _at_places(i, at_a, space.joint) - _at_places(i, at_b, space.joint)
            change += _lack(before, clusters) - _lack(left, clusters)
    return change


@cfunc
@nogil
@exceptval(check=False)
def _price_triples(
    a: int64,
    n: int64,
    n_touched: int64,
    n_pairs: int64,
    penalty: float64,
    most: float64,
    clusters: Annealing,
    space: Space,
) -> int64:
    """Add what triples lack to the costs of the n targets; keep those below ``most``, return their number."""
    kept: int64
    n_listed, leaving = _list_pairs(a, n_pairs, clusters, space)
    kept = 0
    for j in range(n):
        b = clusters.targets[j]
        lack = leaving + _lack_after_joining(a, b, n_touched, n_listed, clusters, space)
        lack += clusters.short_triples[a] + clusters.short_triples[b]
        cost = clusters.costs[j] + penalty * lack
        if cost < most:
            clusters.costs[kept], clusters.targets[kept] = cost, b
            kept += 1
    return kept


@cfunc
@nogil
@exceptval(check=False)
def _move_triples(a: int64, b: int64, n: int64, weight: int64, clusters: Annealing, space: Space) -> void:
    """Move the triples of a row with n clusters in ``near`` from a to b, if the row leaves or joins them."""
    leaves: bint = space.stamp[a] != space.token
    joins: bint = space.stamp[b] != space.token
    for i in range(n if leaves or joins else 0):
        for j in range(i):
            if leaves:
                _add_triple(a, space.near[i], space.near[j], -weight, clusters)
            if joins:
                _add_triple(b, space.near[i], space.near[j], weight, clusters)


@cfunc
@nogil
@exceptval(check=False)
def _move(
    x: int64,
    b: int64,
    n_touched: int64,
    lost: int64,
    clusters: Annealing,
    rows: Rows,
    space: Space,
) -> void:
    """Move an item to another cluster, with all supports."""
    a = clusters.label[x]
    gained = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row: int64 = rows.tids[slot]
        n = clusters_beside(x, row, clusters.label, rows, space)
        if clusters.largest == 3:
            _move_triples(a, b, n, rows.weights[row], clusters, space)
        if space.stamp[b] != space.token:
            gained += rows.weights[row]
            for i in range(n):
                clusters.brought[space.near[i]] += rows.weights[row]
    for i in range(n_touched):
        c = space.touched[i]
        if space.alone[c] and c != a:
            _add(a, c, -space.alone[c], clusters)
    for i in range(n_touched):
        c = space.touched[i]
        if clusters.brought[c] and c != b:
            _add(b, c, clusters.brought[c], clusters)
        clusters.brought[c] = 0
    _add_single(a, -lost, clusters)
    _add_single(b, gained, clusters)
    enter(x, b, clusters)
    _settle(a, b, clusters)


@cfunc
@nogil
@exceptval(check=False)
def _worst(clusters: Annealing) -> int64:
    """Return the largest sum of what the supports of one cluster lack."""
    worst = 0
    for c in range(clusters.top):
        worst = max(worst, clusters.short[c] + clusters.short_triples[c])
    return worst


@cfunc
@nogil
@exceptval(check=False)
def _step(
    x: int64,
    temperature: float64,
    penalty: float64,
    clusters: Annealing,
    rows: Rows,
    space: Space,
) -> void:
    """Move an item to a cluster that is chosen at random, or leave it where it is."""
    a = clusters.label[x]
    n_touched, lost = tally(x, clusters.label, rows, space)
    leaving = _lack_after_leaving(a, n_touched, lost, clusters, space)
    most = COLD * temperature
    n = _list_targets(x, n_touched, leaving, penalty, most, clusters, space)
    n_pairs = 0
    if clusters.largest == 3 and n:  # counted late: few items have targets
        n_pairs = tally_pairs(x, clusters.label, rows, space)
        n = _price_triples(a, n, n_touched, n_pairs, penalty, most, clusters, space)
    j = choose(clusters.costs, clusters.odds, n, temperature, address(clusters.random))
    if j >= 0:
        _move(x, clusters.targets[j], n_touched, lost, clusters, rows, space)
    clear(n_touched, n_pairs, space)


# --- Moves, with prices of rare constraints


@cfunc
@nogil
@exceptval(check=False)
def _is_repeated(position: int64, constraint: int64, clusters: Annealing) -> bint:
    """Return whether an item before ``position`` in a constraint has the same cluster."""
    for other in range(clusters.bounds[constraint], position):
        if clusters.label[clusters.itemsets[other]] == clusters.label[clusters.itemsets[position]]:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _sum_lacks(a: int64, clusters: Annealing) -> int64:
    """Return what the rare constraints with cluster a lack; sum in ``short`` what the others lack."""
    own = 0
    for c in range(clusters.top):
        clusters.short[c] = 0
    for constraint in range(clusters.met.shape[0] if clusters.lack else 0):
        lack = _lack(clusters.met[constraint], clusters)
        if lack and contains_member(a, constraint, clusters):
            own += lack
        elif lack:
            for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
                c = clusters.label[clusters.itemsets[position]]
                if c >= 0 and not _is_repeated(position, constraint, clusters):
                    clusters.short[c] += lack
    return own


@cfunc
@nogil
@exceptval(check=False)
def _list_candidates(x: int64, penalty: float64, most: float64, clusters: Annealing, space: Space) -> int64:
    """List in ``targets`` the clusters that x may move to for less than ``most``; return their number."""
    # ``costs`` has the change of the loss. The move ends all that the constraints with both clusters lack, at
    # the best.
    a = clusters.label[x]
    own = _sum_lacks(a, clusters)
    empty = -1 if clusters.size[a] == clusters.mass[x] else first_empty(clusters.top, clusters.size)
    n: int64 = 0
    left = -clusters.cost[a]
    left += cost_with(a, x, -1, clusters)
    for b in range(min(clusters.top + 1, clusters.size.shape[0])):
        space.refused[b] = True
        if not admits(b, x, empty, clusters):
            continue
        cost = left - clusters.cost[b]
        cost += cost_with(b, x, 1, clusters)
        if cost - penalty * (own + clusters.short[b]) < most:
            clusters.costs[n], clusters.targets[n], clusters.lacks[b] = cost, b, 0
            space.refused[b] = False
            n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _list_words(constraint: int64, x: int64, clusters: Annealing, space: Space) -> int64:
    """List in ``words`` the rows with all clusters of a constraint but that of x; return their number."""
    # x has left its cluster. Words that are 0 are left out.
    a = clusters.label[x]
    n: int64 = 0
    word: uint64
    for i in range(clusters.bits.shape[1]):
        word = ~cast(uint64, 0)
        for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
            c = clusters.label[clusters.itemsets[position]]
            if c >= 0 and clusters.itemsets[position] != x:
                word &= space.left[i] if c == a else clusters.bits[c, i]
        if word:
            clusters.words[n], clusters.at[n] = word, i
            n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _count_with(b: int64, n_words: int64, clusters: Annealing, rows: Rows, space: Space) -> int64:
    """Count the rows in ``words`` that x or cluster b has, up to k; b may be -1."""
    total = 0
    for j in range(n_words):
        i = clusters.at[j]
        word = clusters.words[j] & (space.brought[i] | (clusters.bits[b, i] if b >= 0 else 0))
        if word:
            total += weigh(word, 64 * i, clusters.k - total, rows)
            if total >= clusters.k:
                return clusters.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _add_own(constraint: int64, x: int64, n: int64, clusters: Annealing, rows: Rows, space: Space) -> int64:
    """Add the changes by a constraint with x to ``lacks``; return the change for all targets."""
    before = _lack(clusters.met[constraint], clusters)
    n_words = _list_words(constraint, x, clusters, space)
    if _count_with(-1, n_words, clusters, rows, space) >= clusters.k:
        return -before
    for j in range(n):
        b = clusters.targets[j]
        if contains_member(b, constraint, clusters):
            support = support_after(constraint, x, b, clusters, rows, space)
        else:
            support = _count_with(b, n_words, clusters, rows, space)
        clusters.lacks[b] += _lack(support, clusters)
    return -before


@cfunc
@nogil
@exceptval(check=False)
def _add_other(
    constraint: int64, x: int64, leaves: bint, clusters: Annealing, rows: Rows, space: Space
) -> int64:
    """Add the changes by a constraint without x to ``lacks``; return the change for all targets."""
    # ``leaves``: whether it has another item of the cluster of x.
    k = clusters.k
    before = _lack(clusters.met[constraint], clusters)
    after = before
    if leaves:
        support = support_after(constraint, x, -1, clusters, rows, space)
        if support >= k:
            return -before
        after = _lack(support, clusters)
    for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        b = clusters.label[clusters.itemsets[position]]
        if b >= 0 and not space.refused[b] and not _is_repeated(position, constraint, clusters):
            support = support_after(constraint, x, b, clusters, rows, space)
            clusters.lacks[b] += _lack(support, clusters) - after
    return after - before


@cfunc
@nogil
@exceptval(check=False)
def _step_constrained(
    x: int64,
    temperature: float64,
    penalty: float64,
    clusters: Annealing,
    rows: Rows,
    space: Space,
) -> void:
    """Move an item to a cluster that is chosen at random, or leave it where it is."""
    a = clusters.label[x]
    n = _list_candidates(x, penalty, COLD * temperature, clusters, space)
    if n == 0:
        return
    mark_rows(x, clusters, rows, space)
    change = 0
    for y in range(clusters.label.shape[0]):
        if clusters.label[y] == a:
            for i in range(clusters.first[y], clusters.first[y + 1]):
                clusters.leaves[clusters.uses[i]] = True
    for constraint in range(clusters.met.shape[0]):
        leaves: bint = clusters.leaves[constraint]
        clusters.leaves[constraint] = False
        if leaves and contains(x, constraint, clusters):
            change += _add_own(constraint, x, n, clusters, rows, space)
        elif leaves or clusters.met[constraint] < clusters.k:  # other supports can only rise
            change += _add_other(constraint, x, leaves, clusters, rows, space)
    for j in range(n):
        clusters.costs[j] += penalty * (change + clusters.lacks[clusters.targets[j]])
    j = choose(clusters.costs, clusters.odds, n, temperature, address(clusters.random))
    if j >= 0:
        b = clusters.targets[j]
        clusters.bits[a, :] = space.left
        for i in range(clusters.bits.shape[1]):
            clusters.bits[b, i] |= space.brought[i]
        enter(x, b, clusters)
        recount_constraints(x, a, b, clusters, rows, space)
        _settle(a, b, clusters)


def sweep(temperature: float64, penalty: float64, clusters: Annealing, rows: Rows, space: Space) -> None:
    """Move each item once, in random order."""
    with nogil:
        _shuffle(clusters)
        bound = COLD * temperature + penalty * _worst(clusters)
        for i in range(clusters.order.shape[0]):
            x = clusters.order[i]
            a = clusters.label[x]
            if clusters.largest == 0:
                _step_constrained(x, temperature, penalty, clusters, rows, space)
                continue
            # An item of its own, where the cheapest set costs more than any gain.
            if clusters.size[a] == 1 and clusters.short[a] + clusters.short_triples[a] == 0:
                if (2.0 + clusters.change) * clusters.worth[x] > bound:
                    continue
            _step(x, temperature, penalty, clusters, rows, space)
