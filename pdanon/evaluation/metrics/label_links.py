"""Rows of two releases that can stand for the same items: links by labels alone, without a key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.guarantees.generalized_itemsets import SUPPRESSED
from pdanon.guarantees.series import Series
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import csr
from pdanon.itemsets.timing import part_done

_BATCH = 128  # rows of the earlier release that are compared at once


def fitting_rows(series: Series, release: int) -> tuple[Numbers, Mask]:
    """Count the newest rows that fit each person of an earlier release, and return whether their own does.

    Only persons in both releases count. Rows fit if some itemset has the labels of the one in its release,
    and those of the other in the other. The union of such itemsets is one as well, so each label needs one
    item that both rows allow.
    """
    earlier, newest = series.persons.row_of[release], series.persons.row_of[-1]
    both = (earlier >= 0) & (newest >= 0)
    before, number, _ = _distinct(series.columns[release].take(earlier[both]))
    after, place, weights = _distinct(series.columns[-1].take(newest[newest >= 0]))
    place = place[both[newest >= 0]]
    allowed, free, open_ = _links(series.labels[release], series.labels[-1], before.shape[1], after.shape[1])
    lengths = np.asarray(after.sum(axis=1)).reshape(-1)
    # Labels of the earlier row that need an item in the later one, and the later rows that have it.
    needs = before[:, ~open_]
    meets = (after @ allowed[~open_].T).astype(np.bool_).astype(np.int32)
    fits, own = np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
    order = np.argsort(number, kind="stable")
    for first in range(0, before.shape[0], _BATCH):
        rows = before[first : first + _BATCH]
        covered = (rows @ allowed).toarray().astype(np.bool_) | free
        needed = needs[first : first + _BATCH]
        fit = after @ covered.T.astype(np.int32) == lengths[:, None]
        fit &= (meets @ needed.T).toarray() == np.asarray(needed.sum(axis=1)).reshape(-1)
        begin, end = np.searchsorted(number[order], (first, first + _BATCH))
        persons = order[begin:end]
        fits[persons] = (weights @ fit)[number[persons] - first]
        own[persons] = fit[place[persons], number[persons] - first]
        part_done()
    return fits, own


def _distinct(rows: Itemsets) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows as a sparse matrix, the number of each row, and how often each occurs."""
    first = first_equal_rows(rows.codes, rows.offsets)
    chosen, number, weights = np.unique(first, return_inverse=True, return_counts=True)
    some = rows.take(chosen)
    matrix = csr((np.ones(len(some.codes), np.int32), some.codes, some.offsets), len(chosen), rows.n_items)
    return matrix, number.reshape(-1), weights


def _links(before: Codes, after: Codes, n_before: int, n_after: int) -> tuple[Any, Mask, Mask]:
    """Return which labels of two releases share an item, and which have one that the other suppresses."""
    known = (before >= SUPPRESSED) & (after >= SUPPRESSED)  # an unknown item is in no row
    before, after = before[known], after[known]
    free, open_ = np.zeros(n_after, np.bool_), np.zeros(n_before, np.bool_)  # later, and earlier labels
    free[after[(before == SUPPRESSED) & (after >= 0)]] = True
    open_[before[(after == SUPPRESSED) & (before >= 0)]] = True
    shown = (before >= 0) & (after >= 0)
    pairs = np.unique(before[shown] * np.int64(max(n_after, 1)) + after[shown])
    one, other = np.divmod(pairs, max(n_after, 1))
    starts = np.searchsorted(one, np.arange(n_before + 1))
    return csr((np.ones(len(other), np.int32), other, starts), n_before, n_after), free, open_
