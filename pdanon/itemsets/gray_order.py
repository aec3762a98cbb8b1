"""Gray: rows in the order of the Gray code of their items, in which neighbours differ little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Offsets, canonical_rows
from pdanon.itemsets.support import SupportIndex

__all__ = ["by_support", "gray_ranks", "ranks_of", "support_ranks"]


def support_ranks(index: SupportIndex) -> Codes:
    """Place of each item by descending support."""
    ranks = np.empty(index.n_items, np.int32)
    ranks[np.argsort(-index.singles, kind="stable")] = np.arange(index.n_items, dtype=np.int32)
    return ranks


def by_support(index: SupportIndex) -> Codes:
    """The rows as places of their items by descending support."""
    return canonical_rows(support_ranks(index)[index.codes], index.offsets, index.n_items)[0]


def gray_ranks(index: SupportIndex) -> NDArray[np.int64]:
    """Place of each row in the order of the Gray code, items by descending support; equal rows share one."""
    return ranks_of(by_support(index), index.offsets, index.n_items)


def ranks_of(codes: Codes, offsets: Offsets, n_items: int) -> NDArray[np.int64]:
    """Place of each row in the order of the Gray code, items by number; equal rows share one.

    The code has a 1 at each place up to which a row holds an odd number of items. So of two rows that first
    differ in their i-th items, the one whose item comes earlier is greater for i = 0, 2, ..., else less.
    """
    lengths = np.diff(offsets)
    codes = np.append(codes, 0)  # so that the place after the last row's end can be read
    ranks = np.zeros(len(lengths), np.int64)
    tied = np.arange(len(lengths))
    place = 0
    while len(tied):
        ended = lengths[tied] == place
        item = np.where(ended, n_items, codes[offsets[tied] + np.where(ended, 0, place)])
        keys = item if place % 2 else -item
        order = np.lexsort((keys, ranks[tied]))
        tied, ended, keys = tied[order], ended[order], keys[order]
        before = ranks[tied]
        new_class = np.diff(before, prepend=-1) != 0
        new_run = new_class | (np.diff(keys, prepend=keys[0]) != 0)
        class_start = np.flatnonzero(new_class)[np.cumsum(new_class) - 1]
        run = np.cumsum(new_run) - 1
        ranks[tied] = before + np.flatnonzero(new_run)[run] - class_start
        tied = tied[~ended & (np.bincount(run)[run] > 1)]
        place += 1
    return ranks
