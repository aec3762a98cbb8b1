"""Search for the occurrences to delete, so that no itemset of a table is rare."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from pdanon._kernels import deletions
from pdanon.guarantees.breaches import Breaches, likeliest_secrets
from pdanon.guarantees.named import unite_itemsets
from pdanon.itemsets.lists import Floats, Mask, mask_at, offsets_of, ranges, rows_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, no_itemsets
from pdanon.itemsets.timing import check_time, count_steps
from pdanon.recoding.bounds import deletions_of

_HEATS = 1.0, 0.6, 0.5, 0.4, 0.3  # factors of the temperatures of annealings, each from the best state so far
_GAIN = 0.002  # of the loss, below which only the coldest round is left
_HOT, _WARM, _COLD = 1.2, 0.7, 0.5  # temperatures, in occurrences
_SCALE = 8.0  # price of a rare pair at last, in occurrences; 1 at first
_LOOSE, _FIRM = 40, 120  # sweeps in which rare pairs become expensive, and in which they die
_LAST = 100  # further sweeps, while pairs are rare
_EVERY = 4  # sweeps after which the occurrences to try are listed again
_MOST = 5.0  # temperatures that the return of a listed occurrence costs
_PRESS, _LAST_PRESS = 1.12, 1.5  # factor of the price of a dying pair, each time
_SHARE = 0.5  # of the other rare pairs that begin to die, each time


class Start(NamedTuple):
    """A safe release from which a search continues."""

    kept: Mask  # whether each occurrence is kept
    slow: int  # factor of the number of sweeps
    heat: float  # factor of the temperatures


def protect(
    rows: SupportIndex, k: int, m: int | None, worth: Floats, seed: int, start: Start | None = None
) -> Mask:
    """Return whether each occurrence is kept, so that no itemset of up to m items is rare."""
    # ``rows`` are distinct. ``worth`` is the price of deleting an occurrence of each item, in one row.
    kept = rows.singles[rows.codes] >= k if m == 1 else protect_pairs(rows, k, worth, seed, start)
    # Smaller itemsets first: what is deleted for them breaks up many larger ones. None: whole rows.
    for size in (3, 4, None) if m is None else range(3, m + 1):
        base = kept_rows(rows, kept)
        kept[kept] = break_up(base, partial(_list_rare, base, k, size), worth)
    return kept if m is not None and m < 3 else revive(rows, kept, k, m)


def protect_secrets(
    rows: SupportIndex,
    k: int,
    m: int | None,
    l: int,  # noqa: E741
    hidden: Mask,
    worth: Floats,
    seed: int,
    start: Start | None = None,
) -> Mask:
    """Return whether each occurrence is kept, so that no known itemset is rare or tells a sensitive item."""
    # ``hidden`` tells which items are sensitive. They are kept.

    def list_threats(chosen: Mask) -> ItemsetTable:
        """List rare itemsets; and others with the sensitive item that most of their rows have."""
        left = kept_rows(base, chosen)
        known, secrets = left.keep_items(~hidden), left.keep_items(hidden)
        found = Breaches(known, secrets, Fraction(1, l), m, k).threats()
        told = np.where(found.supports < k, -1, likeliest_secrets(known, secrets, found)[0])
        secret = ItemsetTable.listed(told[told >= 0], offsets_of(told >= 0))
        return unite_itemsets(found, secret, rows.n_items)

    kept = hidden[rows.codes]
    own = None if start is None else start._replace(kept=start.kept[~kept])
    kept[~kept] = protect(rows.keep_items(~hidden), k, m, worth, seed, own)
    base = kept_rows(rows, kept)
    kept[kept] = break_up(base, list_threats, np.where(hidden, -1.0, worth))
    return kept


def _list_rare(rows: SupportIndex, k: int, m: int | None, kept: Mask) -> ItemsetTable:
    """List the rare itemsets of rows with some of their occurrences."""
    return kept_rows(rows, kept).rare(k, m)


def break_up(rows: SupportIndex, list_rare: Callable[[Mask], ItemsetTable], worth: Floats) -> Mask:
    """Return whether each occurrence is kept, so that no listed itemset is left in a row."""
    # ``list_rare`` lists the itemsets that rows must not have, if some occurrences are kept. They are dead,
    # and stay so. Each row with one that has died is solved again from all of its occurrences. That may make
    # further ones rare. An item with a negative worth is never deleted.
    kept = np.ones(len(rows.codes), np.uint8)
    price = worth * np.sqrt(np.sqrt(rows.singles))
    dead = no_itemsets()
    while len(rare := list_rare(kept > 0)):
        check_time()
        dead = concatenate([dead, rare])
        wanted = rows.contains_any(rare)
        few, sets = rows.within(wanted), (dead.codes, dead.offsets)
        counts, solved = np.zeros(len(few.weights), np.int64), np.empty(len(few.codes), np.uint8)
        deletions.holding(few.rows, *sets, counts, np.empty(0, np.int32))
        starts = offsets_of(counts)
        found = np.empty(starts[-1], np.int32)
        deletions.holding(few.rows, *sets, starts[:-1].copy(), found)
        deletions.break_up(few.rows, solved, *sets, starts, found, price)
        kept[wanted[rows_of(rows.offsets)]] = solved
    return kept > 0


def revive(rows: SupportIndex, kept: Mask, k: int, m: int | None) -> Mask:
    """Restore occurrences of an item that rows can have again together, item by item, the frequent first."""
    # Only rows with the item count for itemsets with it. All of them take it back. Those where this makes an
    # itemset rare give it up, which may make others rare. Rows that have kept it are never among them.
    kept, (starts, tids, positions) = kept.copy(), rows.transpose
    for item in np.argsort(-rows.singles, kind="stable").tolist():
        chosen = slice(starts[item], starts[item + 1])
        own, places = tids[chosen], positions[chosen]
        if rows.singles[item] < k or kept[places].all():
            continue
        check_time()
        table = rows.within(own)
        others = kept[ranges(rows.offsets[own], table.lengths)[1]] & (table.codes != item)
        table, joins = kept_rows(table, others), np.ones(len(own), np.bool_)
        while joins.any():
            having = table.within(joins)
            gives_up = having.at_risk(k, None if m is None else m - 1) | (having.n_rows < k)
            if not gives_up.any():
                break
            joins[joins] = ~gives_up
        kept[places] = joins
    return kept


def with_single_items(rows: SupportIndex, kept: Mask, k: int) -> Mask:
    """Restore the most frequent item of each row that lost all, if the item is still in at least k rows."""
    # No other itemset occurs in such a row, so that none becomes rare.
    left = kept_rows(rows, kept)
    row_of, supports = rows_of(rows.offsets), left.singles[rows.codes]
    places = np.flatnonzero((left.lengths == 0)[row_of] & (supports >= k))
    places = places[np.lexsort((-supports[places], row_of[places]))]
    first = places[np.flatnonzero(np.diff(row_of[places], prepend=-1))]
    return kept | mask_at(len(kept), first)


def with_enough_emptied(rows: SupportIndex, kept: Mask, k: int) -> Mask:
    """Empty further rows if fewer than k rows lost all items: those with one item that enough others have."""
    left = kept_rows(rows, kept)
    lack = k - int(rows.weights[(rows.lengths > 0) & (left.lengths == 0)].sum())
    if not 0 < lack < k:
        return kept
    kept, supports = kept.copy(), left.singles.copy()
    alone = np.flatnonzero(left.lengths == 1)
    for row in alone[np.argsort(rows.weights[alone], kind="stable")].tolist():
        item, weight = left.codes[left.offsets[row]], int(rows.weights[row])
        if lack > 0 and supports[item] - weight >= k:
            supports[item] -= weight
            lack -= weight
            kept[rows.offsets[row] : rows.offsets[row + 1]] = False
    return kept


def kept_rows(rows: SupportIndex, kept: Mask) -> SupportIndex:
    """Return the rows with their occurrences that are kept."""
    return SupportIndex(rows.codes[kept], offsets_of(kept)[rows.offsets], rows.n_items, rows.weights)


def protect_pairs(
    rows: SupportIndex,
    k: int,
    worth: Floats,
    seed: int,
    start: Start | None = None,
    listed: ItemsetTable | None = None,
) -> Mask:
    """Return the occurrences to keep, so that no item and no pair is rare, by repeated annealing."""
    # From a start, there is one annealing, which may delete more. With ``listed``, only the items and pairs
    # among these itemsets count.
    lengths = rows.lengths
    state = deletions_of(rows, k, worth, seed, listed)
    if start is not None:
        state.kept = start.kept
        return _anneal(state, start.slow, start.heat)
    prices = worth[rows.codes] * np.repeat(rows.weights, lengths)
    deletions.cover(state, afresh=True)
    best = state.kept
    least = prices[~best].sum()
    heats = [*_HEATS] if least else []
    while heats:
        kept = _anneal(state, heat=heats.pop(0))
        loss = prices[~kept].sum()
        gain = least - loss
        if gain >= 0:  # equal ones, too: only the annealing is random
            best, least = kept, loss
        else:
            state.kept = best
        if gain < _GAIN * loss:
            del heats[:-1]  # a larger k needs it
    return best


def _anneal(state: deletions.Deletions, slow: int = 1, heat: float = 1.0) -> Mask:
    """Anneal: rare pairs become expensive at first, then those that are left die. Return what is kept."""
    deletions.restart(state)
    loose, firm_sweeps = _LOOSE * slow, _FIRM * slow
    for number in range(loose + firm_sweeps + _LAST):
        firm = number - loose
        if number % _EVERY == 0:
            check_time()
            if firm >= firm_sweeps and not state.lack:
                break
            if firm >= 0:
                press = _PRESS ** (1 / slow) if firm < firm_sweeps else _LAST_PRESS
                deletions.press(state, press, 1 - (1 - _SHARE) ** (1 / slow))
        way = min(firm / firm_sweeps, 1.0) if firm >= 0 else number / (loose - 1)
        begin, end = (_WARM, _COLD) if firm >= 0 else (_HOT, _WARM)
        temperature = heat * begin * (end / begin) ** way
        scale = _SCALE if firm >= 0 else _SCALE**way
        if number % _EVERY == 0:
            deletions.scan(state, _MOST * temperature, scale)
        deletions.sweep(state, temperature, scale)
        count_steps()
    deletions.cover(state, afresh=False)
    deletions.restore(state)
    return state.kept
