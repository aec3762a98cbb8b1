"""Order of rows by the Gray code of their items: neighbors differ in few items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Offsets, canonical_rows
from pdanon.itemsets.support import SupportIndex


def support_ranks(index: SupportIndex) -> Codes:
    """Rank the items by descending support; ties by code."""
    ranks = np.empty(index.n_items, np.int32)
    ranks[np.argsort(-index.singles, kind="stable")] = np.arange(index.n_items, dtype=np.int32)
    return ranks


def by_support(index: SupportIndex) -> Codes:
    """Replace the items of rows by their ranks of `support_ranks`."""
    return canonical_rows(support_ranks(index)[index.codes], index.offsets, index.n_items)[0]


def gray_ranks(index: SupportIndex) -> NDArray[np.int64]:
    """Rank rows by the Gray code of their items, the items by descending support. Equal rows share a rank."""
    return ranks_of(by_support(index), index.offsets, index.n_items)


def ranks_of(codes: Codes, offsets: Offsets, n_items: int) -> NDArray[np.int64]:
    """Rank rows by the Gray code of their items, the items by number. Equal rows share a rank.

    Bit j of the code is 1 if the row holds an odd number of the items 0 to j. Let two rows differ first in
    their i-th items. If i is even, the row with the smaller item is greater; if i is odd, it is less.
    """
    lengths = np.diff(offsets)
    codes = np.append(codes, 0)  # a sentinel: the position after the end of the last row is read
    ranks = np.zeros(len(lengths), np.int64)
    tied = np.arange(len(lengths))
    place = 0
    while len(tied):  # one item of all tied rows at a time, as in a radix sort from the first item on
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
