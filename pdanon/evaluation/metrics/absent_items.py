"""Queries with absent items: rows that contain some items and none of others."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.columns import list_column

MOST_ABSENT = 10  # a query with absent items is a sum over their subsets


def check_absent(queries: pd.DataFrame, present: Itemsets, absent: Hashable) -> Itemsets:
    """Check the absent items of queries: few, and other ones than the present items."""
    gone = Itemsets.from_series(list_column(queries, absent))
    if (longest := int(gone.lengths.max(initial=0))) > MOST_ABSENT:
        problem = f"a query may have at most {MOST_ABSENT} absent items"
        raise ParameterError(problem, where="absent", got=f"{longest} items")
    of_present = present.lookup(gone.vocabulary)[gone.codes]
    pairs = present.rows * np.int64(present.n_items + 1) + present.codes
    both = np.isin(gone.rows * np.int64(present.n_items + 1) + of_present, pairs) & (of_present >= 0)
    if both.any():
        got = f"{len(np.unique(gone.rows[both]))} of {gone.n_rows} queries"
        raise ParameterError("an item is both present and absent in a query", where="absent", got=got)
    return gone


def without_absent(
    queries: pd.DataFrame, column: Hashable, absent: Hashable | None
) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.float64]]:
    """Return queries without absent items, and the query and the sign, 1 or -1, of each.

    The rows without some items are counted by inclusion and exclusion, over the subsets of the absent items
    that are required in addition.
    """
    if absent is None:
        return queries, np.arange(len(queries)), np.ones(len(queries))
    present, gone = (
        [[*row] if pd.api.types.is_list_like(row) else [] for row in queries[label]]
        for label in (column, absent)
    )
    added = [
        (number, sorted({*present[number], *more}), 1.0 - 2 * (len(more) % 2))
        for number, items in enumerate(gone)
        for size in range(len(items) + 1)
        for more in combinations(items, size)
    ]
    owner = np.array([number for number, *_ in added], np.int64)
    every = queries.drop(columns=absent).iloc[owner].reset_index(drop=True)
    every[column] = as_itemsets(pd.Series([items for _, items, _ in added], dtype=object))
    return every, owner, np.array([sign for *_, sign in added])
