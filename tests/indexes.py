"""Rows of codes, and the index of them."""

from __future__ import annotations

from itertools import chain

import numpy as np
from conftest import row_lists
from hypothesis import strategies as st

from pdanon.itemsets.support import SupportIndex

N_ITEMS = 7  # of which the rows use up to six, and never the last


def csr(rows):
    """Sorted rows of codes, and where they begin."""
    lists = [sorted(row) for row in rows]
    codes = np.fromiter(chain.from_iterable(lists), np.int32)
    return codes, np.cumsum([0, *map(len, lists)], dtype=np.int64)


def index_of(rows, weights=None, n_items=N_ITEMS):
    return SupportIndex(*csr(rows), n_items, None if weights is None else np.array(weights, np.int64))


@st.composite
def weighted_rows(draw):
    """Rows of codes, how often each counts, and the same rows written out so often."""
    rows = draw(row_lists(items=range(6), most=9))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    return rows, weights, [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
