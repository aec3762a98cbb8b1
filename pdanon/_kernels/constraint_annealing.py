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
    Py_ssize_t,
    address,
    bint,
    cast,
    cclass,
    cfunc,
    declare,
    double as float64,
    exceptval,
    final,
    inline,
    longlong as int64,
    nogil,
    overflowcheck,
    uchar as uint8,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Number, Rows
from cython.cimports.pdanon._kernels.odds import COLD, choose, cluster_cost, uniform
from cython.cimports.pdanon._kernels.set_moves import lacking
from numpy.typing import NDArray

__all__ = ["Annealing", "count", "sweep"]

Array = NDArray[Any]

_SEQUENCE = declare(uint64, 0x03F79D71B4CB0A89)  # of de Bruijn: all words of 6 bits


@final
@cclass
class Annealing:
    """Clusters, supports of constraints, and the best safe clusters so far.

    A set of more than one item costs ``(size + change) * held``. If ``change`` is positive, it also costs
    ``change * sqrt(size * squares - held**2)``.
    """

    k: int64
    lack = declare(int64, visibility="readonly")  # what rare supports lack to k
    top: int64  # clusters from here on are empty
    label: int64[::1]  # cluster of each item, -1 if it is suppressed
    size: int64[::1]  # members of each cluster, of all its items
    held: float64[::1]  # sum of the worth of the members
    squares: float64[::1]  # sum of the squared worths
    cost: float64[::1]  # loss of each cluster
    total: float64  # loss of all
    home: int64[::1]  # block of each cluster
    worth: Number[::1]
    mass: Number[::1]  # number of members that each item stands for
    square: float64[::1]  # sum of the squared worth of its members
    block: Number[::1]
    change: float64
    bits: uint64[:, ::1]  # rows of each cluster, one bit a row
    place: uint8[::1]  # position of the only bit of a word, by the first bits of its product
    itemsets: Code[::1]  # items of the constraints, one constraint after the other
    bounds: Number[::1]  # where each constraint begins
    uses: Number[::1]  # constraints of the items, one item after the other
    first: Number[::1]  # where those of each item begin
    met: int64[::1]  # support of the image of each constraint, up to k
    order: int64[::1]  # the items that move
    random: uint64
    found: int64[::1]  # labels of the best safe clusters
    least: float64  # their loss
    # Work space; ``relief`` is 0 between two moves.
    brought: uint64[::1]  # rows of the item
    left: uint64[::1]  # rows of its cluster without it
    words: uint64[::1]  # words that are not 0 of the rows with all other clusters of an image
    at: int64[::1]  # their positions
    image: int64[::1]  # clusters of a constraint
    seen: int64[::1]  # last time when each constraint was counted
    token: int64
    relief: int64[::1]  # what the rare constraints with each cluster lack
    lacking: int64[::1]  # change of `lack` for each new cluster
    targets: int64[::1]  # clusters that the item may move to
    is_target: uint8[::1]
    costs: float64[::1]  # costs of moves to them
    odds: float64[::1]

    def __init__(
        self,
        *,
        k: int,
        label: Array,
        slots: int,
        rows: Rows,
        worth: Array,
        block: Array,
        itemsets: Array,
        bounds: Array,
        change: float,
        seed: int,
        mass: Array | None = None,
        square: Array | None = None,
    ) -> None:
        kept = np.flatnonzero(label >= 0)
        n_words = (rows.weights.shape[0] + 63) // 64
        self.k, self.lack, self.top = k, 0, int(label.max(initial=-1)) + 1
        self.label, self.found = label.copy(), label.copy()
        floats = worth.astype(np.float64)
        mass = np.ones(len(label), np.int64) if mass is None else mass
        square = floats**2 if square is None else square
        size, self.held, self.squares = (
            np.bincount(label[kept], each[kept], minlength=slots).astype(np.float64)
            for each in (mass, floats, square)
        )
        self.mass, self.square, self.size = mass, square, size.astype(np.int64)
        home = np.zeros(slots, np.int64)
        home[label[kept]] = block[kept]
        self.home, self.block, self.worth = home, block, worth
        self.change = change
        self.bits = np.zeros((slots, n_words), np.uint64)
        place = np.zeros(64, np.uint8)
        place[np.uint64(0x03F79D71B4CB0A89) << np.arange(64, dtype=np.uint64) >> np.uint64(58)] = range(64)
        self.place = place
        self.itemsets, self.bounds = itemsets, bounds
        constraint = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        self.uses = constraint[np.argsort(itemsets, kind="stable")]
        self.first = np.append(0, np.cumsum(np.bincount(itemsets, minlength=len(label))))
        self.met, self.seen = np.zeros((2, len(bounds) - 1), np.int64)
        self.order, self.random, self.token = kept, seed, 0
        self.brought, self.left, self.words = np.zeros((3, n_words), np.uint64)
        self.at, self.image = np.zeros(n_words, np.int64), np.zeros(np.diff(bounds).max(initial=0), np.int64)
        self.relief, self.lacking, self.targets = np.zeros((3, slots), np.int64)
        self.is_target = np.zeros(slots, np.uint8)
        self.cost, self.costs, self.odds = np.zeros((3, slots))

    @property
    def state(self) -> dict[str, Any]:
        """The current labels, supports, and totals."""
        return {
            "label": np.array(self.label),
            "met": np.array(self.met),
            "lack": self.lack,
            "cost": self.total,
            "least": self.least,
        }

    @property
    def best(self) -> Array:
        """The labels of the best safe clusters."""
        return np.array(self.found)


@cfunc
@inline
@nogil
@exceptval(check=False)
def _cost(c: int64, clusters: Annealing) -> float64:
    """Return the loss of a cluster as it is."""
    return cluster_cost(clusters.size[c], clusters.held[c], clusters.squares[c], clusters.change)


# --- Supports


@cfunc
@inline
@nogil
@exceptval(check=False)
@overflowcheck(False)
def _weigh(
    word: uint64,
    row: int64,
    enough: int64,
    clusters: Annealing,
    rows: Rows,
) -> int64:
    """Sum the weights of the rows marked in a word, from ``row`` on; stop at ``enough``."""
    total: int64 = 0
    lowest: uint64
    while word and total < enough:
        lowest = word & (~word + 1)
        word ^= lowest
        total += rows.weights[row + clusters.place[cast(Py_ssize_t, (lowest * _SEQUENCE) >> 58)]]
    return total


@cfunc
@nogil
@exceptval(check=False)
def _support(
    constraint: int64,
    x: int64,
    b: int64,
    clusters: Annealing,
    rows: Rows,
) -> int64:
    """Count the support of the image of a constraint, up to k, after a move of x to cluster b.

    The rows of x are marked. -1 for b leaves the other items of its cluster; the constraint then lacks x.
    -1 for x counts the clusters as they are.
    """
    a: int64 = clusters.label[x] if x >= 0 else -1
    total: int64 = 0
    n: int64 = 0
    left: bint = False
    brought: bint = False
    declare(i=int64, j=int64, c=int64, word=uint64)
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
            word &= clusters.bits[b, i] | clusters.brought[i]
        for j in range(n):
            word &= clusters.bits[clusters.image[j], i]
        if word:
            total += _weigh(word, 64 * i, clusters.k - total, clusters, rows)
            if total >= clusters.k:
                return clusters.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _recount(constraint: int64, clusters: Annealing, rows: Rows) -> void:
    """Count a constraint again, in the clusters as they are."""
    now: int64 = _support(constraint, -1, -1, clusters, rows)
    clusters.lack += lacking(now, clusters.k) - lacking(clusters.met[constraint], clusters.k)
    clusters.met[constraint] = now


def count(clusters: Annealing, rows: Rows) -> None:
    """Count the supports for the first time. The clusters must be safe: they are the best so far."""
    declare(row=int64, c=int64, position=int64, constraint=int64)
    with nogil:
        for row in range(rows.weights.shape[0]):
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                c = clusters.label[rows.codes[position]]
                if c >= 0:
                    clusters.bits[c, row >> 6] |= cast(uint64, 1) << (row & 63)
        for constraint in range(clusters.met.shape[0]):
            _recount(constraint, clusters, rows)
        for c in range(clusters.size.shape[0]):
            clusters.cost[c] = _cost(c, clusters)
            clusters.total += clusters.cost[c]
        clusters.least = clusters.total


# --- Moves


@cfunc
@nogil
@exceptval(check=False)
def _holds(constraint: int64, x: int64, a: int64, clusters: Annealing) -> bint:
    """Return whether a constraint contains item x, or an item of cluster a."""
    for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        if clusters.itemsets[position] == x or clusters.label[clusters.itemsets[position]] == a:
            return True
    return False


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
def _fill_relief(x: int64, sign: int64, clusters: Annealing) -> int64:
    """Add what rare constraints lack to ``relief`` of their clusters, or subtract it.

    Return what those with x, or with an item of its cluster, lack.
    """
    a: int64 = clusters.label[x]
    own: int64 = 0
    declare(constraint=int64, position=int64, c=int64)
    for constraint in range(clusters.met.shape[0] if clusters.lack else 0):
        lack: int64 = lacking(clusters.met[constraint], clusters.k)
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
def _first_empty(clusters: Annealing) -> int64:
    for c in range(min(clusters.top + 1, clusters.size.shape[0])):
        if clusters.size[c] == 0:
            return c
    return -1


@cfunc
@nogil
@exceptval(check=False)
def _list_targets(x: int64, penalty: float64, most: float64, clusters: Annealing) -> int64:
    """List in ``targets`` the clusters that x may move to, if costs of less than ``most`` are possible.

    ``costs`` has the change of the loss. Return the number of targets.
    """
    a: int64 = clusters.label[x]
    worth: float64 = clusters.worth[x]
    own: int64 = _fill_relief(x, 1, clusters)
    empty: int64 = -1 if clusters.size[a] == clusters.mass[x] else _first_empty(clusters)
    n: int64 = 0
    left: float64 = -clusters.cost[a]
    left += cluster_cost(
        clusters.size[a] - clusters.mass[x],
        clusters.held[a] - worth,
        clusters.squares[a] - clusters.square[x],
        clusters.change,
    )
    declare(cost=float64, b=int64)
    for b in range(min(clusters.top + 1, clusters.size.shape[0])):
        if b == a or (b != empty if clusters.size[b] == 0 else clusters.home[b] != clusters.block[x]):
            continue
        cost = left - clusters.cost[b]
        cost += cluster_cost(
            clusters.size[b] + clusters.mass[x],
            clusters.held[b] + worth,
            clusters.squares[b] + clusters.square[x],
            clusters.change,
        )
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
def _mark_rows(x: int64, clusters: Annealing, rows: Rows) -> void:
    """Mark the rows of an item in ``brought``, and the rows of its cluster without it in ``left``."""
    a: int64 = clusters.label[x]
    declare(slot=int64, row=int64, position=int64, bit=uint64)
    clusters.brought[:] = 0
    clusters.left[:] = clusters.bits[a]
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        bit = cast(uint64, 1) << (row & 63)
        clusters.brought[row >> 6] |= bit
        for position in range(rows.offsets[row], rows.offsets[row + 1]):
            if rows.codes[position] != x and clusters.label[rows.codes[position]] == a:
                break
        else:
            clusters.left[row >> 6] &= ~bit


@cfunc
@nogil
@exceptval(check=False)
def _fill_words(constraint: int64, x: int64, clusters: Annealing) -> int64:
    """List in ``words`` the rows with all clusters of a constraint but that of x, after x has left.

    Return the number of words that are not 0.
    """
    a: int64 = clusters.label[x]
    n: int64 = 0
    declare(i=int64, position=int64, c=int64, word=uint64)
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
def _count_with(b: int64, n_words: int64, clusters: Annealing, rows: Rows) -> int64:
    """Count the rows in ``words`` that x or cluster b has, up to k; b may be -1."""
    total: int64 = 0
    declare(j=int64, i=int64, word=uint64)
    for j in range(n_words):
        i = clusters.at[j]
        word = clusters.words[j] & (clusters.brought[i] | (clusters.bits[b, i] if b >= 0 else 0))
        if word:
            total += _weigh(word, 64 * i, clusters.k - total, clusters, rows)
            if total >= clusters.k:
                return clusters.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _count_own(
    constraint: int64,
    x: int64,
    n: int64,
    clusters: Annealing,
    rows: Rows,
) -> int64:
    """Add the changes of a constraint with x to ``lacking``; return the change for all targets."""
    k: int64 = clusters.k
    before: int64 = lacking(clusters.met[constraint], k)
    n_words: int64 = _fill_words(constraint, x, clusters)
    if _count_with(-1, n_words, clusters, rows) >= k:
        return -before
    declare(j=int64, b=int64, position=int64, support=int64)
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
    clusters: Annealing,
    rows: Rows,
) -> int64:
    """Add the changes of a constraint without x to ``lacking``; return the change for all targets.

    ``leaving``: whether it has an item of the cluster of x.
    """
    k: int64 = clusters.k
    before: int64 = lacking(clusters.met[constraint], k)
    after: int64 = before
    if leaving:
        support: int64 = _support(constraint, x, -1, clusters, rows)
        if support >= k:
            return -before
        after = lacking(support, k)
    declare(position=int64, b=int64)
    for position in range(clusters.bounds[constraint], clusters.bounds[constraint + 1]):
        b = clusters.label[clusters.itemsets[position]]
        if b >= 0 and clusters.is_target[b] and not _is_repeated(position, constraint, clusters):
            clusters.lacking[b] += lacking(_support(constraint, x, b, clusters, rows), k) - after
    return after - before


@cfunc
@nogil
@exceptval(check=False)
def _fill_lacking(x: int64, n: int64, clusters: Annealing, rows: Rows) -> int64:
    """Fill ``lacking`` for the targets; return the change that is the same for all of them.

    A move changes constraints with x and with another item of its old cluster. It also changes constraints
    with an item of the new cluster, but matters only if their support is below k.
    """
    a: int64 = clusters.label[x]
    change: int64 = 0
    declare(y=int64, i=int64, constraint=int64)
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
def _move(x: int64, b: int64, clusters: Annealing, rows: Rows) -> void:
    """Move an item to another cluster, with all supports. Its rows are marked."""
    a: int64 = clusters.label[x]
    worth: float64 = clusters.worth[x]
    declare(i=int64, y=int64, constraint=int64)
    clusters.bits[a, :] = clusters.left
    for i in range(clusters.bits.shape[1]):
        clusters.bits[b, i] |= clusters.brought[i]
    clusters.size[a] -= clusters.mass[x]
    clusters.held[a] -= worth
    clusters.squares[a] -= clusters.square[x]
    clusters.size[b] += clusters.mass[x]
    clusters.held[b] += worth
    clusters.squares[b] += clusters.square[x]
    clusters.home[b] = clusters.block[x]
    clusters.label[x] = b
    clusters.top = max(clusters.top, b + 1)
    clusters.total -= clusters.cost[a] + clusters.cost[b]
    clusters.cost[a] = _cost(a, clusters)
    clusters.cost[b] = _cost(b, clusters)
    clusters.total += clusters.cost[a] + clusters.cost[b]
    clusters.token += 1
    for y in range(clusters.label.shape[0]):
        if clusters.label[y] != a and clusters.label[y] != b:
            continue
        for i in range(clusters.first[y], clusters.first[y + 1]):
            constraint = clusters.uses[i]
            if clusters.seen[constraint] != clusters.token:
                clusters.seen[constraint] = clusters.token
                _recount(constraint, clusters, rows)
    if clusters.lack == 0 and clusters.total < clusters.least * (1.0 - 1e-12):
        clusters.least = clusters.total
        clusters.found[:] = clusters.label


@cfunc
@nogil
@exceptval(check=False)
def _step(
    x: int64,
    temperature: float64,
    penalty: float64,
    clusters: Annealing,
    rows: Rows,
) -> void:
    """Move an item to a cluster that is chosen at random, or leave it where it is."""
    n: int64 = _list_targets(x, penalty, COLD * temperature, clusters)
    if n == 0:
        return
    _mark_rows(x, clusters, rows)
    change: int64 = _fill_lacking(x, n, clusters, rows)
    j: int64
    for j in range(n):
        clusters.is_target[clusters.targets[j]] = False
        clusters.costs[j] += penalty * (change + clusters.lacking[clusters.targets[j]])
    j = choose(clusters.costs, clusters.odds, n, temperature, address(clusters.random))
    if j >= 0:
        _move(x, clusters.targets[j], clusters, rows)


def sweep(temperature: float64, penalty: float64, clusters: Annealing, rows: Rows) -> None:
    """Move each item once, in random order."""
    declare(i=int64, j=int64, x=int64)
    with nogil:
        for i in range(clusters.order.shape[0] - 1, 0, -1):
            j = cast(int64, uniform(address(clusters.random)) * (i + 1))
            x = clusters.order[i]
            clusters.order[i] = clusters.order[j]
            clusters.order[j] = x
        for i in range(clusters.order.shape[0]):
            _step(clusters.order[i], temperature, penalty, clusters, rows)
