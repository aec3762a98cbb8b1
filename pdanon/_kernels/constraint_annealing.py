"""Annealing of sets under constraints: items move at random, and rare constraints have a price.

The image of a constraint is the set of the clusters of its published items. Supports of images are exact up
to k after each move. ``lack`` is what rare supports, those in (0, k), lack to k in total. Clusters are safe
if it is 0.

A move costs the change of the loss, plus a penalty for each row that is lacking. The item chooses its new
cluster with a probability that falls with these costs. All costs are exact. They are counted only for
clusters where they can be low enough, even if the move ended all that its constraints lack.
"""

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
    longlong as int64,
    nogil,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import Numbers, Rows, int64s, uint8s, uint64s, weigh
from cython.cimports.pdanon._kernels.odds import COLD, choose
from cython.cimports.pdanon._kernels.set_annealing import Annealing, begin, cost_with, settle, shuffle
from cython.cimports.pdanon._kernels.set_moves import enter, first_empty, lacking
from numpy.typing import NDArray

__all__ = ["ConstraintAnnealing", "count", "sweep"]

Array = NDArray[Any]


@final
@cclass
class ConstraintAnnealing(Annealing):
    """Clusters, supports of constraints, and the best safe clusters so far."""

    uses: Numbers  # constraints of the items, one item after the other
    first: Numbers  # where those of each item begin
    # Work space; ``relief`` is 0 between two moves.
    joined: uint64s  # rows of the item
    left: uint64s  # rows of its cluster without it
    words: uint64s  # words that are not 0 of the rows with all other clusters of an image
    at: int64s  # their positions
    image: int64s  # clusters of a constraint
    seen: int64s  # last time when each constraint was counted
    token: int64
    relief: int64s  # what the rare constraints with each cluster lack
    lacking: int64s  # change of `lack` for each new cluster
    is_target: uint8s

    def __init__(self, **options: Any) -> None:
        Annealing.__init__(self, **options)
        itemsets, bounds = np.asarray(self.itemsets), np.asarray(self.bounds)
        n_words, slots = self.bits.shape[1], len(self.size)
        constraint = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        self.uses = constraint[np.argsort(itemsets, kind="stable")]
        self.first = np.append(0, np.cumsum(np.bincount(itemsets, minlength=len(self.label))))
        self.seen, self.token = np.zeros(len(bounds) - 1, np.int64), 0
        self.joined, self.left, self.words = np.zeros((3, n_words), np.uint64)
        self.at, self.image = np.zeros(n_words, np.int64), np.zeros(np.diff(bounds).max(initial=0), np.int64)
        self.relief, self.lacking = np.zeros((2, slots), np.int64)
        self.is_target = np.zeros(slots, np.uint8)


# --- Supports


@cfunc
@nogil
@exceptval(check=False)
def _support(constraint: int64, x: int64, b: int64, clusters: ConstraintAnnealing, rows: Rows) -> int64:
    """Count the support of the image of a constraint, up to k, after a move of x to cluster b."""
    # The rows of x are marked. -1 for b leaves the other items of its cluster; the constraint then lacks x.
    # -1 for x counts the clusters as they are.
    a = clusters.label[x] if x >= 0 else -1
    total = 0
    n: int64 = 0
    left = False
    brought = False
    word: uint64
    for j in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        c = b if clusters.itemsets[j] == x else clusters.label[clusters.itemsets[j]]
        if c >= 0 and c == b:
            brought = True
        elif c >= 0 and c == a:
            left = True
        elif c >= 0:
            clusters.image[n] = c
            n += 1
    for i in range(clusters.bits.shape[1] if n or left or brought else 0):
        word = ~cast(uint64, 0)
        if left:
            word = clusters.left[i]
        if brought:
            word &= clusters.bits[b, i] | clusters.joined[i]
        for j in range(n):
            word &= clusters.bits[clusters.image[j], i]
        if word:
            total += weigh(word, 64 * i, clusters.k - total, rows)
            if total >= clusters.k:
                return clusters.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _recount(constraint: int64, clusters: ConstraintAnnealing, rows: Rows) -> void:
    """Count a constraint again, in the clusters as they are."""
    now = _support(constraint, -1, -1, clusters, rows)
    clusters.lack += lacking(now, clusters.k) - lacking(clusters.met[constraint], clusters.k)
    clusters.met[constraint] = now


def count(clusters: ConstraintAnnealing, rows: Rows) -> None:
    """Count the supports for the first time. The clusters must be safe: they are the best so far."""
    with nogil:
        for row in range(rows.weights.shape[0]):
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                c = clusters.label[rows.codes[position]]
                if c >= 0:
                    clusters.bits[c, row >> 6] |= cast(uint64, 1) << (row & 63)
        for constraint in range(clusters.met.shape[0]):
            _recount(constraint, clusters, rows)
        begin(clusters)


# --- Moves


@cfunc
@nogil
@exceptval(check=False)
def _holds(constraint: int64, x: int64, a: int64, clusters: ConstraintAnnealing) -> bint:
    """Return whether a constraint contains item x, or an item of cluster a."""
    for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        if clusters.itemsets[position] == x or clusters.label[clusters.itemsets[position]] == a:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _is_repeated(position: int64, constraint: int64, clusters: ConstraintAnnealing) -> bint:
    """Return whether an item before ``position`` in a constraint has the same cluster."""
    for other in range(clusters.bounds[constraint], position):
        if clusters.label[clusters.itemsets[other]] == clusters.label[clusters.itemsets[position]]:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _fill_relief(x: int64, sign: int64, clusters: ConstraintAnnealing) -> int64:
    """Add what rare constraints lack to ``relief``, or subtract it; return what those near x lack."""
    # These are the constraints with x, or with an item of its cluster.
    a = clusters.label[x]
    own = 0
    for constraint in range(clusters.met.shape[0] if clusters.lack else 0):
        lack = lacking(clusters.met[constraint], clusters.k)
        if lack == 0:
            continue
        if _holds(constraint, x, a, clusters):
            own += lack
            continue
        for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
            c = clusters.label[clusters.itemsets[position]]
            if c >= 0 and not _is_repeated(position, constraint, clusters):
                clusters.relief[c] += sign * lack
    return own


@cfunc
@nogil
@exceptval(check=False)
def _list_targets(x: int64, penalty: float64, most: float64, clusters: ConstraintAnnealing) -> int64:
    """List in ``targets`` the clusters that x may move to for less than ``most``; return their number."""
    # ``costs`` has the change of the loss.
    a = clusters.label[x]
    own = _fill_relief(x, 1, clusters)
    empty = -1 if clusters.size[a] == clusters.mass[x] else first_empty(clusters.top, clusters.size)
    n: int64 = 0
    left = -clusters.cost[a]
    left += cost_with(a, x, -1, clusters)
    for b in range(min(clusters.top + 1, clusters.size.shape[0])):
        if b == a or (b != empty if clusters.size[b] == 0 else clusters.home[b] != clusters.block[x]):
            continue
        cost = left - clusters.cost[b]
        cost += cost_with(b, x, 1, clusters)
        if cost - penalty * (own + clusters.relief[b]) < most:
            clusters.costs[n] = cost
            clusters.targets[n] = b
            clusters.is_target[b] = True
            clusters.lacking[b] = 0
            n += 1
    _fill_relief(x, -1, clusters)
    return n


@cfunc
@nogil
@exceptval(check=False)
def _mark_rows(x: int64, clusters: ConstraintAnnealing, rows: Rows) -> void:
    """Mark the rows of an item in ``joined``, and the rows of its cluster without it in ``left``."""
    a = clusters.label[x]
    row: int64
    clusters.joined[:] = 0
    clusters.left[:] = clusters.bits[a]
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        bit = cast(uint64, 1) << (row & 63)
        clusters.joined[row >> 6] |= bit
        for position in range(rows.offsets[row], rows.offsets[row + 1]):
            if rows.codes[position] != x and clusters.label[rows.codes[position]] == a:
                break
        else:
            clusters.left[row >> 6] &= ~bit


@cfunc
@nogil
@exceptval(check=False)
def _fill_words(constraint: int64, x: int64, clusters: ConstraintAnnealing) -> int64:
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
                word &= clusters.left[i] if c == a else clusters.bits[c, i]
        if word:
            clusters.words[n] = word
            clusters.at[n] = i
            n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _count_with(b: int64, n_words: int64, clusters: ConstraintAnnealing, rows: Rows) -> int64:
    """Count the rows in ``words`` that x or cluster b has, up to k; b may be -1."""
    total = 0
    for j in range(n_words):
        i = clusters.at[j]
        word = clusters.words[j] & (clusters.joined[i] | (clusters.bits[b, i] if b >= 0 else 0))
        if word:
            total += weigh(word, 64 * i, clusters.k - total, rows)
            if total >= clusters.k:
                return clusters.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _count_own(constraint: int64, x: int64, n: int64, clusters: ConstraintAnnealing, rows: Rows) -> int64:
    """Add the changes of a constraint with x to ``lacking``; return the change for all targets."""
    k = clusters.k
    before = lacking(clusters.met[constraint], k)
    n_words = _fill_words(constraint, x, clusters)
    if _count_with(-1, n_words, clusters, rows) >= k:
        return -before
    for j in range(n):
        b = clusters.targets[j]
        shared: bint = False
        for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
            shared |= clusters.label[clusters.itemsets[position]] == b
        if shared:
            support = _support(constraint, x, b, clusters, rows)
        else:
            support = _count_with(b, n_words, clusters, rows)
        clusters.lacking[b] += lacking(support, k)
    return -before


@cfunc
@nogil
@exceptval(check=False)
def _count_other(
    constraint: int64,
    x: int64,
    leaving: bint,
    clusters: ConstraintAnnealing,
    rows: Rows,
) -> int64:
    """Add the changes of a constraint without x to ``lacking``; return the change for all targets."""
    # ``leaving``: whether it has an item of the cluster of x.
    k = clusters.k
    before = lacking(clusters.met[constraint], k)
    after = before
    if leaving:
        support = _support(constraint, x, -1, clusters, rows)
        if support >= k:
            return -before
        after = lacking(support, k)
    for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        b = clusters.label[clusters.itemsets[position]]
        if b >= 0 and clusters.is_target[b] and not _is_repeated(position, constraint, clusters):
            clusters.lacking[b] += lacking(_support(constraint, x, b, clusters, rows), k) - after
    return after - before


@cfunc
@nogil
@exceptval(check=False)
def _fill_lacking(x: int64, n: int64, clusters: ConstraintAnnealing, rows: Rows) -> int64:
    """Fill ``lacking`` for the targets; return the change that is the same for all of them."""
    # A move changes constraints with x and with another item of its old cluster. It also changes constraints
    # with an item of the new cluster, but matters only if their support is below k.
    a = clusters.label[x]
    change = 0
    clusters.token += 1
    for i in range(clusters.first[x], clusters.first[x + 1]):
        constraint = clusters.uses[i]
        clusters.seen[constraint] = clusters.token
        change += _count_own(constraint, x, n, clusters, rows)
    for y in range(clusters.label.shape[0] if clusters.size[a] > 1 else 0):
        if clusters.label[y] != a:
            continue
        for i in range(clusters.first[y], clusters.first[y + 1]):
            constraint = clusters.uses[i]
            if clusters.seen[constraint] != clusters.token:
                clusters.seen[constraint] = clusters.token
                change += _count_other(constraint, x, True, clusters, rows)
    for constraint in range(clusters.met.shape[0]):
        if clusters.met[constraint] < clusters.k and clusters.seen[constraint] != clusters.token:
            change += _count_other(constraint, x, False, clusters, rows)
    return change


@cfunc
@nogil
@exceptval(check=False)
def _move(x: int64, b: int64, clusters: ConstraintAnnealing, rows: Rows) -> void:
    """Move an item to another cluster, with all supports. Its rows are marked."""
    a = clusters.label[x]
    clusters.bits[a, :] = clusters.left
    for i in range(clusters.bits.shape[1]):
        clusters.bits[b, i] |= clusters.joined[i]
    enter(x, b, clusters)
    clusters.token += 1
    for y in range(clusters.label.shape[0]):
        if clusters.label[y] != a and clusters.label[y] != b:
            continue
        for i in range(clusters.first[y], clusters.first[y + 1]):
            constraint = clusters.uses[i]
            if clusters.seen[constraint] != clusters.token:
                clusters.seen[constraint] = clusters.token
                _recount(constraint, clusters, rows)
    settle(a, b, clusters)


@cfunc
@nogil
@exceptval(check=False)
def _step(
    x: int64,
    temperature: float64,
    penalty: float64,
    clusters: ConstraintAnnealing,
    rows: Rows,
) -> void:
    """Move an item to a cluster that is chosen at random, or leave it where it is."""
    n = _list_targets(x, penalty, COLD * temperature, clusters)
    if n == 0:
        return
    _mark_rows(x, clusters, rows)
    change = _fill_lacking(x, n, clusters, rows)
    for j in range(n):
        clusters.is_target[clusters.targets[j]] = False
        clusters.costs[j] += penalty * (change + clusters.lacking[clusters.targets[j]])
    j = choose(clusters.costs, clusters.odds, n, temperature, address(clusters.random))
    if j >= 0:
        _move(x, clusters.targets[j], clusters, rows)


def sweep(temperature: float64, penalty: float64, clusters: ConstraintAnnealing, rows: Rows) -> None:
    """Move each item once, in random order."""
    with nogil:
        shuffle(clusters)
        for i in range(clusters.order.shape[0]):
            _step(clusters.order[i], temperature, penalty, clusters, rows)
