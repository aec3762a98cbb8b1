"""Search for the occurrences to delete, so that no itemset of a table is rare.

Items and pairs are searched by annealing, larger itemsets by hitting those that are rare until none is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pdanon._kernels import deletions
from pdanon.itemsets.lists import Floats, Mask, Numbers, inverse_order, offsets_of
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report, check_time

_MOST_ROUNDS = 4  # annealings from the best state so far
_GAIN = 0.01  # of the loss, below which there is no further round
_HOT, _WARM, _COLD = 1.2, 0.7, 0.5  # temperatures, in occurrences
_SCALE = 8.0  # price of a rare pair at last, in occurrences; 1 at first
_LOOSE, _FIRM = 30, 60  # sweeps in which rare pairs become expensive, and in which they die
_LAST = 100  # further sweeps, while pairs are rare
_EVERY = 2  # sweeps after which the occurrences to try are listed again
_PRESS, _LAST_PRESS = 1.12, 1.5  # factor of the price of a dying pair, each time
_SHARE = 0.5  # of the other rare pairs that begin to die, each time
_SLOT = 4  # bytes of a pair in a row


def protect(rows: SupportIndex, k: int, m: int | None, worth: Floats, report: Report) -> Mask:
    """Return whether each occurrence is kept, so that no itemset of up to m items is rare.

    ``rows`` are distinct. ``worth`` is the price of deleting an occurrence of each item, in one row.
    """
    kept = rows.singles[rows.codes] >= k
    if m is None or m >= 2:
        kept = _protect_pairs(rows, k, worth, report)
    commonest_last = inverse_order(np.lexsort((rows.singles, worth))).astype(np.int64)
    flags = kept.astype(np.uint8)
    for size in _sizes(m):
        while len(rare := kept_rows(rows, flags > 0).rare(k, size)):
            deletions.hit(rows.rows, flags, rare.codes, rare.offsets, commonest_last)
            check_time()
    return flags > 0


def kept_rows(rows: SupportIndex, kept: Mask) -> SupportIndex:
    """Return the rows with their occurrences that are kept."""
    return SupportIndex(rows.codes[kept], offsets_of(kept)[rows.offsets], rows.n_items, rows.weights)


def _sizes(m: int | None) -> Iterator[int | None]:
    """Yield the sizes of itemsets to protect one after the other; None for whole rows.

    Smaller ones first: what is deleted for them is in many larger ones.
    """
    if m == 2:  # protected already
        return
    yield from range(1, (4 if m is None else m) + 1)
    if m is None:
        yield None


def _protect_pairs(rows: SupportIndex, k: int, worth: Floats, report: Report) -> Mask:
    """Return the occurrences to keep, so that no item and no pair is rare, by repeated annealing."""
    lengths = rows.lengths
    require_memory(_SLOT * int((lengths * (lengths + 1) // 2).sum()), "the pairs of all rows")
    state = deletions.Deletions(rows.rows, k, worth, 1)
    prices = worth[rows.codes] * np.repeat(rows.weights, lengths)
    deletions.cover(state)
    best = state.kept
    least = prices[~best].sum()
    for _ in range(_MOST_ROUNDS if least else 0):
        _anneal(state, report)
        deletions.cover(state)
        deletions.restore(state)
        kept = state.kept
        loss = prices[~kept].sum()
        gain = least - loss
        if gain > 0:
            best, least = kept, loss
        else:
            state.kept = best
        if gain < _GAIN * loss:
            break
    return best


def _anneal(state: deletions.Deletions, report: Report) -> None:
    """Anneal: rare pairs become expensive at first, then those that are left die."""
    deletions.restart(state)
    for number in range(_LOOSE + _FIRM + _LAST):
        firm = number - _LOOSE
        if number % _EVERY == 0:
            check_time()
            if firm >= _FIRM and not state.lack:
                break
            if firm >= 0:
                deletions.press(state, _PRESS if firm < _FIRM else _LAST_PRESS, _SHARE)
            deletions.scan(state)
        way = min(firm / _FIRM, 1.0) if firm >= 0 else number / (_LOOSE - 1)
        begin, end = (_WARM, _COLD) if firm >= 0 else (_HOT, _WARM)
        deletions.sweep(state, begin * (end / begin) ** way, _SCALE if firm >= 0 else _SCALE**way)
        report(1)
