"""Annealing of sets: items move at random between clusters, and rare pairs of clusters have a price.

The supports of all clusters and pairs of clusters are exact after each move. ``lack`` is what rare supports,
those in (0, k), lack to k in total. Clusters are safe if it is 0.

A move costs the change of the loss, plus a penalty for each row that is lacking. The item chooses its new
cluster with a probability that falls with these costs. Costs of moves assume that no row of the item contains
the new cluster, if it is rare with a cluster of the row. They are exact otherwise.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import sqrt
from cython.cimports.pdanon._kernels.counting import Number
from cython.cimports.pdanon._kernels.set_moves import Rows
from numpy.typing import NDArray

__all__ = ["Annealing", "count", "sweep"]

Array = NDArray[Any]

_COLD = cython.declare(cython.double, 14.0)  # costs of this many temperatures are never accepted
_FACTOR = cython.declare(cython.ulonglong, 2685821657736338717)  # of xorshift64*
_SEQUENCE = cython.declare(cython.ulonglong, 0x03F79D71B4CB0A89)  # of de Bruijn: all words of 6 bits


@cython.final
@cython.cclass
class Annealing:
    """Clusters, their supports, and the best safe clusters so far.

    A set of more than one item costs ``(size + change) * held + spread * sqrt(size * squares - held**2)``.
    """

    k: cython.longlong
    lack = cython.declare(cython.longlong, visibility="readonly")  # what rare supports lack to k
    top: cython.longlong  # clusters from here on are empty
    label: cython.int[::1]  # cluster of each item, -1 if it is suppressed
    size: cython.longlong[::1]  # members of each cluster
    held: cython.double[::1]  # sum of the worth of the members
    squares: cython.double[::1]  # sum of the squared worths
    cost: cython.double[::1]  # loss of each cluster
    total: cython.double  # loss of all
    support: cython.longlong[::1]  # support of each cluster
    co: cython.int[:, ::1]  # support of each pair of clusters
    low: cython.ulonglong[:, ::1]  # bits of the clusters whose support with each cluster is below k
    place: cython.uchar[::1]  # position of the only bit of a word, by the first bits of its product
    short: cython.longlong[::1]  # what the supports of each cluster lack in total
    home: cython.longlong[::1]  # block of each cluster
    singles: Number[::1]
    worth: Number[::1]
    block: Number[::1]
    change: cython.double
    spread: cython.double
    order: cython.longlong[::1]  # the items that move
    random: cython.ulonglong
    found: cython.int[::1]  # labels of the best safe clusters
    least: cython.double  # their loss
    # Work space; the counts are 0 between two moves.
    beside: cython.longlong[::1]  # support of each cluster in the rows of the item, without the item
    alone: cython.longlong[::1]  # the same, in rows without another item of its own cluster
    brought: cython.longlong[::1]  # the same, in rows without the new cluster
    touched: cython.longlong[::1]  # clusters where `beside` is not 0
    near: cython.longlong[::1]  # clusters in a row
    stamp: cython.longlong[::1]
    token: cython.longlong
    lacking: cython.longlong[::1]  # change of `lack` by pairs, for each new cluster
    targets: cython.longlong[::1]  # clusters that the item may move to
    costs: cython.double[::1]  # costs of moves to them
    odds: cython.double[::1]

    def __init__(
        self,
        *,
        k: int,
        label: Array,
        slots: int,
        singles: Array,
        worth: Array,
        block: Array,
        change: float,
        spread: float,
        seed: int,
    ) -> None:
        kept = np.flatnonzero(label >= 0)
        self.k, self.lack, self.top = k, 0, int(label.max(initial=-1)) + 1
        self.label, self.found = label.astype(np.int32), label.astype(np.int32)
        self.size = np.bincount(label[kept], minlength=slots)
        floats = worth[kept].astype(np.float64)
        self.held, self.squares = (
            np.bincount(label[kept], each, minlength=slots).astype(np.float64) for each in (floats, floats**2)
        )
        home = np.zeros(slots, np.int64)
        home[label[kept]] = block[kept]
        self.home, self.block = home, block
        self.singles, self.worth = singles, worth
        self.change, self.spread = change, spread
        self.support, self.short = np.zeros((2, slots), np.int64)
        self.co = np.zeros((slots, slots), np.int32)
        self.low = np.full((slots, (slots + 63) // 64), np.uint64(2**64 - 1))
        place = np.zeros(64, np.uint8)
        place[np.uint64(0x03F79D71B4CB0A89) << np.arange(64, dtype=np.uint64) >> np.uint64(58)] = range(64)
        self.place = place
        self.order, self.random = kept, seed
        self.beside, self.alone, self.brought, self.touched = np.zeros((4, slots), np.int64)
        self.near, self.stamp, self.token = np.zeros(slots, np.int64), np.zeros(slots, np.int64), 0
        self.targets, self.lacking = np.zeros((2, slots), np.int64)
        self.cost, self.costs, self.odds = np.zeros((3, slots))

    @property
    def state(self) -> dict[str, Any]:
        """The current labels, supports, and totals."""
        top = self.top
        pairs = np.array(self.co)[:top, :top]
        np.fill_diagonal(pairs, self.support[:top])
        return {
            "label": np.array(self.label),
            "pairs": pairs,
            "short": np.array(self.short)[:top],
            "lack": self.lack,
            "cost": self.total,
            "least": self.least,
        }

    @property
    def best(self) -> Array:
        """The labels of the best safe clusters."""
        return np.array(self.found)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _lack(support: cython.longlong, k: cython.longlong) -> cython.longlong:
    """Return what a support in (0, k) lacks to k."""
    return k - support if 0 < support < k else 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _cost(
    size: cython.longlong, held: cython.double, squares: cython.double, clusters: Annealing
) -> cython.double:
    """Return the loss of a cluster."""
    if size < 2:
        return 0.0
    cost: cython.double = (size + clusters.change) * held
    if clusters.spread:
        cost += clusters.spread * sqrt(max(size * squares - held * held, 0.0))
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.overflowcheck(False)
def _uniform(clusters: Annealing) -> cython.double:
    """Return a random number in [0, 1), by xorshift64*."""
    word: cython.ulonglong = clusters.random
    word ^= word >> 12
    word ^= word << 25
    word ^= word >> 27
    clusters.random = word
    word *= _FACTOR
    return (word >> 11) * (1.0 / 9007199254740992.0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decay(x: cython.double) -> cython.double:
    """Return exp(-x) for x in [0, 16], up to some percent, in sums and products: equal on all machines."""
    y: cython.double = 1.0 - x * (1.0 / 256.0)
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


# --- Supports


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _flip(c: cython.longlong, d: cython.longlong, clusters: Annealing) -> cython.void:
    """Flip the bit of cluster d in ``low`` of cluster c."""
    clusters.low[c, d >> 6] ^= cython.cast(cython.ulonglong, 1) << (d & 63)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(c: cython.longlong, d: cython.longlong, rows: cython.longlong, clusters: Annealing) -> cython.void:
    """Add rows to the support of two clusters; the number may be negative."""
    before: cython.longlong = _lack(clusters.co[c, d], clusters.k)
    old: cython.longlong = clusters.co[c, d]
    clusters.co[c, d] = clusters.co[d, c] = cython.cast(cython.int, old + rows)
    if (old < clusters.k) != (old + rows < clusters.k):
        _flip(c, d, clusters)
        _flip(d, c, clusters)
    after: cython.longlong = _lack(clusters.co[c, d], clusters.k)
    clusters.lack += after - before
    clusters.short[c] += after - before
    clusters.short[d] += after - before


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_single(c: cython.longlong, rows: cython.longlong, clusters: Annealing) -> cython.void:
    """Add rows to the support of a cluster."""
    before: cython.longlong = _lack(clusters.support[c], clusters.k)
    clusters.support[c] += rows
    after: cython.longlong = _lack(clusters.support[c], clusters.k)
    clusters.lack += after - before
    clusters.short[c] += after - before


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clusters_beside(
    x: cython.longlong, row: cython.longlong, clusters: Annealing, rows: Rows
) -> cython.longlong:
    """List in ``near`` the clusters of the items of a row, except for x; return their number."""
    n: cython.longlong = 0
    clusters.token += 1
    now: cython.longlong = clusters.token
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        item = rows.codes[position]
        cluster: cython.longlong = clusters.label[item]
        if item != x and cluster >= 0 and clusters.stamp[cluster] != now:
            clusters.stamp[cluster] = now
            clusters.near[n] = cluster
            n += 1
    return n


def count(clusters: Annealing, rows: Rows) -> None:
    """Count the supports for the first time. The clusters must be safe: they are the best so far."""
    row: cython.longlong
    with cython.nogil:
        for c in range(clusters.co.shape[0]):
            _flip(c, c, clusters)
            clusters.cost[c] = _cost(clusters.size[c], clusters.held[c], clusters.squares[c], clusters)
            clusters.total += clusters.cost[c]
        for row in range(rows.weights.shape[0]):
            n = _clusters_beside(-1, row, clusters, rows)
            for i in range(n):
                _add_single(clusters.near[i], rows.weights[row], clusters)
                for j in range(i):
                    _add(clusters.near[i], clusters.near[j], rows.weights[row], clusters)
        clusters.least = clusters.total


# --- Moves


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_empty(clusters: Annealing) -> cython.longlong:
    for c in range(min(clusters.top + 1, clusters.size.shape[0])):
        if clusters.size[c] == 0:
            return c
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _tally(x: cython.longlong, clusters: Annealing, rows: Rows) -> tuple[cython.longlong, cython.longlong]:
    """Count the clusters in the rows of x, in ``beside``, ``alone`` and ``touched``.

    Return the number of clusters touched, and the support that the cluster of x loses without x.
    """
    a: cython.longlong = clusters.label[x]
    n_touched: cython.longlong = 0
    lost: cython.longlong = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row: cython.longlong = rows.tids[slot]
        weight: cython.longlong = rows.weights[row]
        n = _clusters_beside(x, row, clusters, rows)
        leaves: cython.bint = clusters.stamp[a] != clusters.token
        if leaves:
            lost += weight
        for i in range(n):
            c = clusters.near[i]
            if clusters.beside[c] == 0:
                clusters.touched[n_touched] = c
                n_touched += 1
            clusters.beside[c] += weight
            if leaves:
                clusters.alone[c] += weight
    return n_touched, lost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lack_after_leaving(
    a: cython.longlong, n_touched: cython.longlong, lost: cython.longlong, clusters: Annealing
) -> cython.longlong:
    """Return the change of ``lack`` when the item leaves its cluster."""
    k: cython.longlong = clusters.k
    change: cython.longlong = _lack(clusters.support[a] - lost, k) - _lack(clusters.support[a], k)
    for i in range(n_touched):
        c = clusters.touched[i]
        if clusters.alone[c] and c != a:
            change += _lack(clusters.co[a, c] - clusters.alone[c], k) - _lack(clusters.co[a, c], k)
    return change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.overflowcheck(False)
def _fill_lacking(a: cython.longlong, n_touched: cython.longlong, clusters: Annealing) -> cython.void:
    """Fill ``lacking`` for clusters that the item may move to: only their pairs with clusters beside it.

    Pairs with ``a`` are left out.
    """
    k: cython.longlong = clusters.k
    n: cython.longlong = min(clusters.top + 1, clusters.size.shape[0])
    n_words: cython.longlong = (n + 63) // 64
    cython.declare(b=cython.longlong, before=cython.longlong, i=cython.longlong, j=cython.longlong)
    cython.declare(word=cython.ulonglong, lowest=cython.ulonglong)
    every: cython.ulonglong = ~cython.cast(cython.ulonglong, 0)
    last: cython.ulonglong = every >> (64 * n_words - n)  # no clusters from n on
    for b in range(n):
        clusters.lacking[b] = 0
    for i in range(n_touched):
        c = clusters.touched[i]
        beside: cython.longlong = clusters.beside[c]
        if c == a or (beside >= k and clusters.short[c] == 0):
            continue
        for j in range(n_words):
            word = clusters.low[c, j] & (last if j == n_words - 1 else every)
            while word:
                lowest = word & (~word + 1)
                word ^= lowest
                b = 64 * j + clusters.place[cython.cast(cython.Py_ssize_t, (lowest * _SEQUENCE) >> 58)]
                before = k - clusters.co[c, b]
                clusters.lacking[b] += max(before - beside, 0) - (before if before < k else 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_targets(
    x: cython.longlong,
    leaving: cython.longlong,
    penalty: cython.double,
    most: cython.double,
    clusters: Annealing,
) -> cython.longlong:
    """List in ``targets`` the clusters that x may move to with costs of less than ``most``.

    ``costs`` has their costs.
    """
    a: cython.longlong = clusters.label[x]
    k: cython.longlong = clusters.k
    worth: cython.double = clusters.worth[x]
    empty = _first_empty(clusters)
    n: cython.longlong = 0
    left: cython.double = penalty * leaving - clusters.cost[a]
    left += _cost(
        clusters.size[a] - 1, clusters.held[a] - worth, clusters.squares[a] - worth * worth, clusters
    )
    cython.declare(cost=cython.double, least=cython.double, lack=cython.longlong)
    b: cython.longlong
    for b in range(min(clusters.top + 1, clusters.size.shape[0])):
        if b == a or (b != empty if clusters.size[b] == 0 else clusters.home[b] != clusters.block[x]):
            continue
        lack = clusters.lacking[b] + _lack(clusters.co[a, b] + clusters.beside[a] - clusters.beside[b], k)
        lack -= _lack(clusters.co[a, b] - clusters.alone[b], k)
        lack += _lack(clusters.support[b] + clusters.singles[x] - clusters.beside[b], k)
        lack -= _lack(clusters.support[b], k)
        cost = left + penalty * lack
        least = cost  # without the root, which does not fall when an item comes
        if clusters.size[b] == 1:
            least += (2.0 + clusters.change) * (clusters.held[b] + worth)
        elif clusters.size[b]:
            least += clusters.held[b] + (1.0 + clusters.size[b] + clusters.change) * worth
        if least >= most:
            continue
        cost += _cost(
            clusters.size[b] + 1, clusters.held[b] + worth, clusters.squares[b] + worth * worth, clusters
        )
        clusters.costs[n] = cost - clusters.cost[b]
        clusters.targets[n] = b
        n += 1
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose(
    a: cython.longlong, n: cython.longlong, temperature: cython.double, clusters: Annealing
) -> cython.longlong:
    """Choose one of n new clusters at random, or to stay in a, with odds that fall with the costs."""
    least: cython.double = 0.0
    cython.declare(j=cython.longlong, above=cython.double)
    for j in range(n):
        least = min(least, clusters.costs[j])
    scale: cython.double = 1.0 / temperature
    stay: cython.double = _decay(-least * scale) if -least * scale < _COLD else 0.0
    total: cython.double = stay
    for j in range(n):
        above = (clusters.costs[j] - least) * scale
        clusters.odds[j] = _decay(above) if above < _COLD else 0.0
        total += clusters.odds[j]
    target: cython.double = _uniform(clusters) * total - stay
    if target < 0.0:
        return a
    for j in range(n):
        target -= clusters.odds[j]
        if target < 0.0:
            return clusters.targets[j]
    return a  # a rounding error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    x: cython.longlong,
    b: cython.longlong,
    n_touched: cython.longlong,
    lost: cython.longlong,
    clusters: Annealing,
    rows: Rows,
) -> cython.void:
    """Move an item to another cluster, with all supports."""
    a: cython.longlong = clusters.label[x]
    gained: cython.longlong = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row: cython.longlong = rows.tids[slot]
        n = _clusters_beside(x, row, clusters, rows)
        if clusters.stamp[b] != clusters.token:
            gained += rows.weights[row]
            for i in range(n):
                clusters.brought[clusters.near[i]] += rows.weights[row]
    for i in range(n_touched):
        c = clusters.touched[i]
        if clusters.alone[c] and c != a:
            _add(a, c, -clusters.alone[c], clusters)
    for i in range(n_touched):
        c = clusters.touched[i]
        if clusters.brought[c] and c != b:
            _add(b, c, clusters.brought[c], clusters)
        clusters.brought[c] = 0
    _add_single(a, -lost, clusters)
    _add_single(b, gained, clusters)
    worth: cython.double = clusters.worth[x]
    clusters.size[a] -= 1
    clusters.held[a] -= worth
    clusters.squares[a] -= worth * worth
    clusters.size[b] += 1
    clusters.held[b] += worth
    clusters.squares[b] += worth * worth
    clusters.home[b] = clusters.block[x]
    clusters.label[x] = cython.cast(cython.int, b)
    clusters.top = max(clusters.top, b + 1)
    clusters.total -= clusters.cost[a] + clusters.cost[b]
    clusters.cost[a] = _cost(clusters.size[a], clusters.held[a], clusters.squares[a], clusters)
    clusters.cost[b] = _cost(clusters.size[b], clusters.held[b], clusters.squares[b], clusters)
    clusters.total += clusters.cost[a] + clusters.cost[b]
    if clusters.lack == 0 and clusters.total < clusters.least * (1.0 - 1e-12):
        clusters.least = clusters.total
        clusters.found[:] = clusters.label


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _worst(clusters: Annealing) -> cython.longlong:
    """Return the largest sum of what the supports of one cluster lack."""
    worst: cython.longlong = 0
    c: cython.longlong
    for c in range(clusters.top):
        worst = max(worst, clusters.short[c])
    return worst


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(
    x: cython.longlong,
    temperature: cython.double,
    penalty: cython.double,
    clusters: Annealing,
    rows: Rows,
) -> cython.void:
    """Move an item to a cluster that is chosen at random, or leave it where it is."""
    cython.declare(n_touched=cython.longlong, lost=cython.longlong)
    a: cython.longlong = clusters.label[x]
    n_touched, lost = _tally(x, clusters, rows)
    leaving = _lack_after_leaving(a, n_touched, lost, clusters)
    most: cython.double = _COLD * temperature
    _fill_lacking(a, n_touched, clusters)
    n = _list_targets(x, leaving, penalty, most, clusters)
    chosen = _choose(a, n, temperature, clusters)
    if chosen != a:
        _move(x, chosen, n_touched, lost, clusters, rows)
    for i in range(n_touched):
        clusters.beside[clusters.touched[i]] = clusters.alone[clusters.touched[i]] = 0


def sweep(temperature: cython.double, penalty: cython.double, clusters: Annealing, rows: Rows) -> None:
    """Move each item once, in random order."""
    cython.declare(i=cython.longlong, j=cython.longlong, x=cython.longlong)
    with cython.nogil:
        for i in range(clusters.order.shape[0] - 1, 0, -1):
            j = cython.cast(cython.longlong, _uniform(clusters) * (i + 1))
            x = clusters.order[i]
            clusters.order[i] = clusters.order[j]
            clusters.order[j] = x
        bound: cython.double = _COLD * temperature + penalty * _worst(clusters)
        for i in range(clusters.order.shape[0]):
            x = clusters.order[i]
            a = clusters.label[x]
            # An item of its own, where the cheapest set costs more than any gain.
            if clusters.size[a] == 1 and clusters.short[a] == 0:
                if (2.0 + clusters.change) * clusters.worth[x] > bound:
                    continue
            _step(x, temperature, penalty, clusters, rows)
