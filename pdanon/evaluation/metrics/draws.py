"""Draws of itemsets from rows, for queries and for what an attacker knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.table import ItemsetTable

__all__ = ["draw_subsets"]


def draw_subsets(
    itemsets: Itemsets, rows: NDArray[Any], size: int | None, rng: np.random.Generator
) -> tuple[Codes, Offsets]:
    """Draw so many items of each given row, every subset of that size alike.

    Parameters
    ----------
    itemsets : Itemsets
        The column.
    rows : ndarray of int
        Row numbers; one may be there several times.
    size : int or None
        Number of items; a row with fewer gives all it has, as every row does with None.
    rng : numpy.random.Generator
        Where chance comes from.

    Returns
    -------
    codes, offsets : ndarray
        The itemsets in the order of the rows, ascending within one.
    """
    whole = ItemsetTable(itemsets.codes, itemsets.offsets, np.zeros(itemsets.n_rows, np.int64)).take(rows)
    lengths = np.diff(whole.offsets)
    of_draw = np.repeat(np.arange(len(rows)), lengths)
    order = np.lexsort((rng.random(len(of_draw)), of_draw))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    within = rank - np.repeat(whole.offsets[:-1], lengths)
    kept = within < (len(order) if size is None else size)
    counts = np.bincount(of_draw[kept], minlength=len(rows))
    return whole.codes[kept], offsets_of(counts)
