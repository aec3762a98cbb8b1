"""Deletion of single occurrences: the state of a search, and the deletions that itemsets require.

An item alone counts as its pair with itself. A pair is in a row while both of its occurrences are kept. It is
rare if its support is in (0, k). The supports of all pairs are exact after each step.

The annealing allows rare pairs at a price. A pair that may survive is cheaper the closer its support is to 0
or to k. The price of one that is dying falls to a support of 0 only.
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
    double as float64,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.libc.math import sqrt
from cython.cimports.pdanon._kernels.counting import Code, Number, Real, Rows, find
from cython.cimports.pdanon._kernels.odds import COLD, decay, uniform
from numpy.typing import NDArray

__all__ = [
    "Deletions",
    "break_up",
    "cover",
    "exempt",
    "holding",
    "pack",
    "press",
    "restart",
    "restore",
    "scan",
    "sweep",
]

Array = NDArray[Any]


@final
@cclass
class Deletions:
    """The occurrences that are kept, and the support of each pair of items."""

    # ``rows`` are distinct, ``worth`` is the price of deleting an occurrence of each item, in one row.

    def __init__(self, rows: Rows, k: int64, worth: Real[::1], seed: int) -> None:
        lengths = np.diff(np.asarray(rows.offsets))
        longest = int(lengths.max(initial=0))
        self.rows, self.k, self.lack, self.worth, self.random = rows, k, 0, worth, seed
        self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths * (lengths + 1) // 2)])
        self.slots = np.empty(int((lengths * (lengths + 1) // 2).sum()), np.int32)
        n_pairs = _number_pairs(self, np.zeros((2, len(worth)), np.int32))
        self.support, self.original = np.zeros((2, n_pairs), np.int32)
        self.factor, supports = np.zeros(n_pairs), np.arange(k + 1)
        self.living, self.leaving = np.sqrt(np.minimum(supports, k - supports)), np.sqrt(supports % k)
        self.is_kept, self.inside = np.ones(len(rows.codes), np.uint8), np.zeros(longest, np.uint8)
        self.threats, self.risks = np.zeros(longest, np.int64), np.zeros(longest)
        self.left, self.rivals, self.deltas = np.zeros(longest, np.int32), np.zeros(2, np.int32), np.zeros(2)
        self.hot = np.empty(len(rows.codes), np.int32)
        self.hot_rows, self.hot_starts = np.zeros((2, len(lengths) + 1), np.int64)
        _count(self)

    @property
    def kept(self) -> Array:
        """Whether each occurrence is kept."""
        return np.array(self.is_kept).astype(np.bool_)

    @kept.setter
    def kept(self, kept: Array) -> None:
        for row, a in zip(*_places(self, np.flatnonzero(self.kept != kept)), strict=True):
            _toggle(self, row, a)


def _places(state: Deletions, occurrences: Array) -> Any:
    """Return the row and the position of each occurrence, as lists."""
    offsets = np.asarray(state.rows.offsets)
    rows = np.searchsorted(offsets, occurrences, side="right") - 1
    return rows.tolist(), (occurrences - offsets[rows]).tolist()


@cfunc
def _number_pairs(state: Deletions, seen: int32[:, ::1]) -> Py_ssize_t:
    """Number the pairs that occur, the items first; ``seen`` is the last item paired with each, plus 1."""
    rows = state.rows
    n: Py_ssize_t = state.worth.shape[0]
    with nogil:
        for item in range(state.worth.shape[0]):
            for place in range(rows.starts[item], rows.starts[item + 1]):
                row = rows.tids[place]
                begin = rows.offsets[row]
                a = rows.positions[place] - begin
                slot = state.starts[row] + a * (a + 1) // 2
                state.slots[slot + a] = item
                for b in range(a):
                    other = rows.codes[begin + b]
                    if seen[0, other] != item + 1:
                        seen[0, other], seen[1, other] = item + 1, n
                        n += 1
                    state.slots[slot + b] = seen[1, other]
    return n


@cfunc
def _count(state: Deletions) -> void:
    """Count the supports of all pairs, with all occurrences kept."""
    with nogil:
        for row in range(state.rows.weights.shape[0]):
            for slot in range(state.starts[row], state.starts[row + 1]):
                state.support[state.slots[slot]] += state.rows.weights[row]
        for pair in range(state.support.shape[0]):
            state.original[pair] = state.support[pair]
            state.lack += 0 < state.support[pair] < state.k


def exempt(state: Deletions, starts: Number[::1], partners: Code[::1]) -> None:
    """Raise the supports of unlisted pairs to such numbers that they are never rare."""
    # ``partners[starts[i]:starts[i + 1]]`` are listed with item i, up to i itself. All occurrences are kept.
    n_rows: int64 = np.asarray(state.rows.weights).sum()
    most: int64 = 2**31 - 1 - n_rows
    with nogil:
        for row in range(state.rows.weights.shape[0]):
            begin, slot = state.rows.offsets[row], state.starts[row]
            for a in range(state.rows.offsets[row + 1] - begin):
                item = state.rows.codes[begin + a]
                for b in range(a + 1):
                    pair, other = state.slots[slot], state.rows.codes[begin + b]
                    if state.support[pair] == state.original[pair]:
                        if find(partners, starts[item], starts[item + 1], other) < 0:
                            state.lack -= state.support[pair] < state.k
                            state.support[pair] += most
                    slot += 1


# --- One occurrence


@cfunc
@inline
@nogil
@exceptval(check=False)
def _pair(state: Deletions, row: Py_ssize_t, a: Py_ssize_t, b: Py_ssize_t) -> Py_ssize_t:
    """Return the number of the pair at two positions of a row."""
    if a < b:
        a, b = b, a
    return state.slots[state.starts[row] + a * (a + 1) // 2 + b]


@cfunc
@nogil
@exceptval(check=False)
def _toggle(state: Deletions, row: Py_ssize_t, a: Py_ssize_t) -> void:
    """Delete an occurrence, or restore it."""
    begin, end = state.rows.offsets[row], state.rows.offsets[row + 1]
    weight = state.rows.weights[row]
    if state.is_kept[begin + a]:
        weight = -weight
    slot = state.starts[row] + a * (a + 1) // 2
    for b in range(end - begin):
        if b == a or state.is_kept[begin + b]:
            pair = state.slots[slot]
            support: int64 = state.support[pair]
            state.support[pair] = support + weight
            state.lack += (0 < support + weight < state.k) - (0 < support < state.k)
        slot += 1 if b < a else b + 1  # the pairs of a with the positions before it, then with those after it
    state.is_kept[begin + a] ^= 1


@cfunc
@nogil
@exceptval(check=False)
def _list_kept(state: Deletions, row: Py_ssize_t) -> void:
    """List the positions of a row that are kept."""
    begin, end = state.rows.offsets[row], state.rows.offsets[row + 1]
    n: Py_ssize_t = 0
    for a in range(end - begin):
        state.left[n] = a
        n += state.is_kept[begin + a]
    state.n_left = n


@cfunc
@nogil
@exceptval(check=False)
def _change(state: Deletions, row: Py_ssize_t, a: Py_ssize_t, weight: int64) -> float64:
    """Return the change of all prices if an occurrence is toggled, which adds a weight to supports."""
    # Also count the rare pairs with other positions that there are then, and note the first two.
    start, k = state.starts[row], state.k
    lower = start + a * (a + 1) // 2
    own: Py_ssize_t = state.slots[lower + a]
    total: float64 = _delta(state, own, state.support[own], weight)
    state.touches = state.support[own] < k
    state.n_rivals = 0
    for i in range(state.n_left):
        b: Py_ssize_t = state.left[i]
        slot = lower + b if b < a else start + b * (b + 1) // 2 + a
        pair: Py_ssize_t = state.slots[slot]
        support: int64 = state.support[pair]
        if b != a and min(support, support + weight) < k:
            delta = _delta(state, pair, support, weight)
            total += delta
            state.touches |= support < k
            if support + weight < k:
                if state.n_rivals < 2:
                    state.rivals[state.n_rivals], state.deltas[state.n_rivals] = b, delta
                state.n_rivals += 1
    return total


@cfunc
@inline
@nogil
@exceptval(check=False)
def _delta(state: Deletions, pair: Py_ssize_t, support: int64, weight: int64) -> float64:
    """Return the change of the price of a pair if a weight is added to its support."""
    factor, before, after = state.factor[pair], min(support, state.k), min(support + weight, state.k)
    if factor > 0:
        return factor * (state.leaving[after] - state.leaving[before])
    return state.living[after] - state.living[before]


@cfunc
@nogil
@exceptval(check=False)
def _loss(state: Deletions, row: Py_ssize_t, a: Py_ssize_t) -> float64:
    """Return what the deletion of an occurrence loses."""
    return state.rows.weights[row] * state.worth[state.rows.codes[state.rows.offsets[row] + a]]


# --- Annealing


def restart(state: Deletions) -> None:
    """Reset the prices: pairs that no row has any more are dying, like those that were rare at first."""
    with nogil:
        for pair in range(state.support.shape[0]):
            state.factor[pair] = state.support[pair] == 0 or state.original[pair] < state.k


def press(state: Deletions, factor: float64, share: float64) -> None:
    """Raise the price of each rare pair that is dying; each other one begins to, with odds of ``share``."""
    with nogil:
        for pair in range(state.support.shape[0]):
            if 0 < state.support[pair] < state.k:
                if state.factor[pair] > 0:
                    state.factor[pair] *= factor
                elif uniform(address(state.random)) < share:
                    state.factor[pair] = 1.0


def scan(state: Deletions, most: float64, scale: float64) -> None:
    """List what sweeps try: the occurrences of rare pairs, and deleted ones that cost at most so much."""
    # ``scale`` is the price of a pair in one row, compared with the loss of an occurrence.
    state.n_hot = state.n_rows = 0
    with nogil:
        for row in range(state.rows.weights.shape[0]):
            state.hot_rows[state.n_rows], state.hot_starts[state.n_rows] = row, state.n_hot
            _list_hot(state, row, most, scale)
            state.n_rows += state.n_hot > state.hot_starts[state.n_rows]
    state.hot_starts[state.n_rows] = state.n_hot


@cfunc
@nogil
@exceptval(check=False)
def _list_hot(state: Deletions, row: Py_ssize_t, most: float64, scale: float64) -> void:
    """List the occurrences of a row to try. Restoring one costs nothing for what an exchange resolves."""
    begin, end = state.rows.offsets[row], state.rows.offsets[row + 1]
    _list_kept(state, row)
    for a in range(end - begin):
        state.inside[a] = 0
    for i in range(state.n_left):
        slot = state.starts[row] + state.left[i] * (state.left[i] + 1) // 2
        for j in range(i + 1):
            if state.support[state.slots[slot + state.left[j]]] < state.k:
                state.inside[state.left[i]] = state.inside[state.left[j]] = 1
    for a in range(end - begin):
        if not state.is_kept[begin + a]:
            change = _change(state, row, a, state.rows.weights[row])
            if 0 < state.n_rivals < 3:
                change -= max(state.deltas[0], state.deltas[state.n_rivals - 1])
            state.inside[a] = scale * change - _loss(state, row, a) <= most
        if state.inside[a]:
            state.hot[state.n_hot] = a
            state.n_hot += 1


def sweep(state: Deletions, temperature: float64, scale: float64) -> None:
    """Try each listed occurrence, row by row from a random one: delete, restore, or exchange it."""
    with nogil:
        for place in range(state.n_rows):
            first, end = state.hot_starts[place], state.hot_starts[place + 1]
            middle = first + cast(int64, uniform(address(state.random)) * (end - first))
            _list_kept(state, state.hot_rows[place])
            for hot in range(middle, end):
                _try(state, state.hot_rows[place], state.hot[hot], temperature, scale)
            for hot in range(first, middle):
                _try(state, state.hot_rows[place], state.hot[hot], temperature, scale)


@cfunc
@nogil
@exceptval(check=False)
def _try(state: Deletions, row: Py_ssize_t, a: Py_ssize_t, temperature: float64, scale: float64) -> void:
    weight = state.rows.weights[row]
    if state.is_kept[state.rows.offsets[row] + a]:
        change = scale * _change(state, row, a, -weight)
        if state.touches and _accepts(state, change + _loss(state, row, a), temperature):
            _move(state, row, a)
        return
    change = scale * _change(state, row, a, weight) - _loss(state, row, a)
    if _accepts(state, change, temperature):
        _move(state, row, a)
    elif 0 < state.n_rivals < 3:
        rival = 1 if state.n_rivals == 2 and uniform(address(state.random)) < 0.5 else 0
        b = state.rivals[rival]
        change -= scale * state.deltas[rival]  # no row has this pair more or less
        change += scale * _change(state, row, b, -weight) + _loss(state, row, b)
        if _accepts(state, change, temperature):
            _toggle(state, row, a)
            _move(state, row, b)


@cfunc
@nogil
@exceptval(check=False)
def _move(state: Deletions, row: Py_ssize_t, a: Py_ssize_t) -> void:
    """Toggle an occurrence of a row, and list again what the row keeps."""
    _toggle(state, row, a)
    _list_kept(state, row)


@cfunc
@nogil
@exceptval(check=False)
def _accepts(state: Deletions, change: float64, temperature: float64) -> bint:
    if change <= 0:
        return True
    above = change / temperature
    return above < COLD and uniform(address(state.random)) < decay(above)


# --- Safe states


def cover(state: Deletions, afresh: bint) -> None:
    """Delete occurrences until no pair is rare."""
    # Pairs below k are dead, and stay so. Each row with a pair that has died is solved again, ``afresh`` from
    # all its occurrences, or else from those left. That may make further pairs rare, which then die as well.
    dead, fresh = np.zeros((2, state.support.shape[0]), np.uint8)
    _cover(state, dead, fresh, afresh)


@cfunc
def _cover(state: Deletions, dead: uint8[::1], fresh: uint8[::1], afresh: bint) -> void:
    with nogil:
        while _bury(state, dead, fresh):
            for row in range(state.rows.weights.shape[0]):
                if _holds(state, row, fresh):
                    _solve(state, row, dead, afresh)
                    for a in range(state.rows.offsets[row + 1] - state.rows.offsets[row]):
                        if state.is_kept[state.rows.offsets[row] + a] != state.inside[a]:
                            _toggle(state, row, a)


@cfunc
@nogil
@exceptval(check=False)
def _bury(state: Deletions, dead: uint8[::1], fresh: uint8[::1]) -> bint:
    """Note which pairs have died since the last time; return whether any has."""
    found: bint = False
    for pair in range(dead.shape[0]):
        fresh[pair] = state.support[pair] < state.k and not dead[pair]
        dead[pair] |= fresh[pair]
        found |= fresh[pair]
    return found


@cfunc
@nogil
@exceptval(check=False)
def _holds(state: Deletions, row: Py_ssize_t, pairs: uint8[::1]) -> bint:
    """Return whether a row has one of some pairs."""
    begin, end = state.rows.offsets[row], state.rows.offsets[row + 1]
    slot = state.starts[row]
    for a in range(end - begin):
        if state.is_kept[begin + a]:
            for b in range(a + 1):
                if pairs[state.slots[slot + b]] and state.is_kept[begin + b]:
                    return True
        slot += a + 1
    return False


@cfunc
@nogil
@exceptval(check=False)
def _solve(state: Deletions, row: Py_ssize_t, dead: uint8[::1], afresh: bint) -> void:
    """Choose which positions of a row are inside, so that it has no dead pair, and none can be added."""
    # The next one to go is in the most dead pairs, compared with its worth, and with the risk that its other
    # pairs become rare.
    begin = state.rows.offsets[row]
    n = state.rows.offsets[row + 1] - begin
    for a in range(n):
        state.inside[a] = (afresh or state.is_kept[begin + a]) and not dead[_pair(state, row, a, a)]
        state.threats[a] = 0
        state.risks[a] = 1.0
    for a in range(n):
        if state.inside[a]:
            for b in range(n):
                if b != a and state.inside[b]:
                    pair = _pair(state, row, a, b)
                    if dead[pair]:
                        state.threats[a] += 1
                    else:
                        state.risks[a] += _risk(state, pair)
    worst: Py_ssize_t
    most: float64
    while True:
        worst, most = -1, -1.0
        for a in range(n):
            if state.inside[a] and state.threats[a]:
                common = sqrt(sqrt(cast(float64, state.original[_pair(state, row, a, a)])))
                cost = state.risks[a] * common * (_loss(state, row, a) / state.rows.weights[row] + 1e-6)
                if state.threats[a] / cost > most:
                    worst, most = a, state.threats[a] / cost
        if worst < 0:
            break
        state.inside[worst] = 0
        for b in range(n):
            if state.inside[b]:
                pair = _pair(state, row, worst, b)
                if dead[pair]:
                    state.threats[b] -= 1
                else:
                    state.risks[b] -= _risk(state, pair)
    for a in range(n):
        if not state.inside[a]:
            state.inside[a] = 1
            for b in range(n):
                if state.inside[b] and dead[_pair(state, row, a, b)]:
                    state.inside[a] = 0
                    break


@cfunc
@nogil
@exceptval(check=False)
def _risk(state: Deletions, pair: Py_ssize_t) -> float64:
    """Return how close a living pair is to becoming rare."""
    return (state.k - 1) / sqrt(cast(float64, max(state.support[pair] - state.k + 1, 1)))


def restore(state: Deletions) -> None:
    """Restore each occurrence whose pairs would all have a support of at least k."""
    with nogil:
        for row in range(state.rows.weights.shape[0]):
            begin, end = state.rows.offsets[row], state.rows.offsets[row + 1]
            for a in range(end - begin):
                if not state.is_kept[begin + a]:
                    for b in range(end - begin):
                        if b == a or state.is_kept[begin + b]:
                            pair = _pair(state, row, a, b)
                            if state.support[pair] + state.rows.weights[row] < state.k:
                                break
                    else:
                        _toggle(state, row, a)


def pack(state: Deletions) -> int64:
    """Return a lower bound on the weight of all deletions, of a state in which all occurrences are kept."""
    # An item in fewer than k rows loses all occurrences. Of a clique of pairs that are rare, a row keeps one
    # at most. The cliques of a row are disjoint.
    least: int64 = 0
    with nogil:
        for row in range(state.rows.weights.shape[0]):
            least += state.rows.weights[row] * _pack(state, row)
    return least


@cfunc
@nogil
@exceptval(check=False)
def _pack(state: Deletions, row: Py_ssize_t) -> int64:
    """Count the deletions in a row that rare items and disjoint cliques of rare pairs require."""
    # A clique begins with the position that has the fewest rare pairs left, and grows by those with the most.
    n = state.rows.offsets[row + 1] - state.rows.offsets[row]
    count: int64 = 0
    best: Py_ssize_t
    for a in range(n):
        state.inside[a] = state.support[_pair(state, row, a, a)] >= state.k
        count += not state.inside[a]
    for a in range(n):
        state.threats[a] = 0
        for b in range(n):
            state.threats[a] += state.inside[b] and _is_rare(state, row, a, b)
    while True:
        best = -1
        for a in range(n):
            if state.inside[a] and state.threats[a] and (best < 0 or state.threats[a] < state.threats[best]):
                best = a
        if best < 0:
            return count
        for a in range(n):  # 2: it may join the clique
            state.inside[a] += state.inside[a] and _is_rare(state, row, best, a)
        _remove(state, row, best, n)
        while True:
            best = -1
            for a in range(n):
                if state.inside[a] == 2 and (best < 0 or state.threats[a] > state.threats[best]):
                    best = a
            if best < 0:
                break
            count += 1
            for a in range(n):
                state.inside[a] -= state.inside[a] == 2 and not _is_rare(state, row, best, a)
            _remove(state, row, best, n)


@cfunc
@nogil
@exceptval(check=False)
def _remove(state: Deletions, row: Py_ssize_t, a: Py_ssize_t, n: Py_ssize_t) -> void:
    """Remove a position from those inside, and its pairs from the numbers of rare pairs."""
    state.inside[a] = 0
    for b in range(n):
        state.threats[b] -= _is_rare(state, row, a, b)


@cfunc
@inline
@nogil
@exceptval(check=False)
def _is_rare(state: Deletions, row: Py_ssize_t, a: Py_ssize_t, b: Py_ssize_t) -> bint:
    """Return whether two different positions of a row are a rare pair."""
    return a != b and state.support[_pair(state, row, a, b)] < state.k


# --- Listed itemsets


def holding(rows: Rows, sets: Code[::1], bounds: Number[::1], counts: int64[::1], found: int32[::1]) -> None:
    """List the itemsets of each row: number ``i`` in row ``r`` goes to ``found[counts[r]]``."""
    # ``counts`` then has the next free place of each row. Without room in ``found``, itemsets are only
    # counted.
    with nogil:
        for number in range(bounds.shape[0] - 1):
            rarest: Py_ssize_t = sets[bounds[number]]
            for place in range(bounds[number], bounds[number + 1]):
                if rows.starts[sets[place] + 1] - rows.starts[sets[place]] < (
                    rows.starts[rarest + 1] - rows.starts[rarest]
                ):
                    rarest = sets[place]
            for place in range(rows.starts[rarest], rows.starts[rarest + 1]):
                row = rows.tids[place]
                if _contains(rows, row, sets, bounds[number], bounds[number + 1]):
                    if found.shape[0]:
                        found[counts[row]] = number
                    counts[row] += 1


@cfunc
@nogil
@exceptval(check=False)
def _contains(rows: Rows, row: Py_ssize_t, sets: Code[::1], begin: Py_ssize_t, end: Py_ssize_t) -> bint:
    """Return whether a row has all items of a sorted itemset."""
    for place in range(rows.offsets[row], rows.offsets[row + 1]):
        if begin < end and rows.codes[place] == sets[begin]:
            begin += 1
    return begin == end


def break_up(
    rows: Rows,
    kept: uint8[::1],
    sets: Code[::1],
    bounds: Number[::1],
    starts: Number[::1],
    found: Code[::1],
    price: Real[::1],
) -> None:
    """Solve each row: keep all of its occurrences but some of each itemset that `holding` found."""
    # The next one to go is in the most itemsets that are whole, compared with the price of its item. No
    # occurrence can be put back. An item with a negative price is never deleted.
    numbers = np.zeros((2, price.shape[0]), np.int64)
    broken = np.zeros(found.shape[0], np.int64)
    _break_up(rows, kept, sets, bounds, starts, found, price, numbers[0], numbers[1], broken)


@cfunc
def _break_up(
    rows: Rows,
    kept: uint8[::1],
    sets: Code[::1],
    bounds: Number[::1],
    starts: Number[::1],
    found: Code[::1],
    price: Real[::1],
    count: int64[::1],
    gone: int64[::1],
    broken: int64[::1],
) -> void:
    """Break up itemsets: ``broken`` has the number of deleted items of each, ``gone`` whether an item is."""
    with nogil:
        for row in range(rows.weights.shape[0]):
            begin, end = rows.offsets[row], rows.offsets[row + 1]
            for place in range(begin, end):
                kept[place] = 1
                count[rows.codes[place]] = gone[rows.codes[place]] = 0
            for each in range(starts[row], starts[row + 1]):
                for spot in range(bounds[found[each]], bounds[found[each] + 1]):
                    count[sets[spot]] += 1
            while True:
                worst: Py_ssize_t = -1
                for place in range(begin, end):
                    item = rows.codes[place]
                    if count[item] and price[item] >= 0 and not gone[item]:
                        if worst < 0 or (
                            count[item] * (price[rows.codes[worst]] + 1e-6)
                            > count[rows.codes[worst]] * (price[item] + 1e-6)
                        ):
                            worst = place
                if worst < 0:
                    break
                kept[worst], item = 0, rows.codes[worst]
                gone[item] = 1
                for each in range(starts[row], starts[row + 1]):
                    if _has(sets, bounds[found[each]], bounds[found[each] + 1], item):
                        broken[each] += 1
                        if broken[each] == 1:
                            for spot in range(bounds[found[each]], bounds[found[each] + 1]):
                                count[sets[spot]] -= 1
            for place in range(begin, end):
                if kept[place]:
                    continue
                item = rows.codes[place]
                for each in range(starts[row], starts[row + 1]):
                    if broken[each] == 1 and _has(sets, bounds[found[each]], bounds[found[each] + 1], item):
                        break
                else:
                    kept[place] = 1
                    for each in range(starts[row], starts[row + 1]):
                        broken[each] -= _has(sets, bounds[found[each]], bounds[found[each] + 1], item)


@cfunc
@inline
@nogil
@exceptval(check=False)
def _has(sets: Code[::1], begin: Py_ssize_t, end: Py_ssize_t, item: Py_ssize_t) -> bint:
    """Return whether an itemset has an item."""
    for spot in range(begin, end):
        if sets[spot] == item:
            return True
    return False
