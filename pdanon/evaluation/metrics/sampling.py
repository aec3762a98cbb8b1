"""Draws of itemsets from rows, for queries and for what an attacker knows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.threads import many_parts
from pdanon.itemsets.timing import part_done

__all__ = ["draw_rows", "draw_subsets", "holding_only", "query_frame"]

_AT_A_TIME = 2**22  # items that are drawn from; between two such parts a draw can be interrupted
_MOST_ITEMS = 2 * 10**8  # of all queries together
_BYTES = 50  # an item of a query, until the queries are checked


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
    codes, counts = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    before = offsets_of(itemsets.lengths[rows])
    for begin, end in many_parts(before, int(before[-1]) // _AT_A_TIME + 1):
        drawn, lengths = _drawn(itemsets, rows[begin:end], size, rng)
        codes.append(drawn)
        counts.append(lengths)
        part_done()
    return np.concatenate(codes), offsets_of(np.concatenate(counts))


def _drawn(
    itemsets: Itemsets, rows: NDArray[Any], size: int | None, rng: np.random.Generator
) -> tuple[Codes, NDArray[np.int64]]:
    """The items that are drawn of some rows, and how many of each."""
    whole = ItemsetTable(itemsets.codes, itemsets.offsets, np.zeros(itemsets.n_rows, np.int64)).take(rows)
    lengths = np.diff(whole.offsets)
    of_draw = np.repeat(np.arange(len(rows)), lengths)
    order = np.lexsort((rng.random(len(of_draw)), of_draw))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    within = rank - np.repeat(whole.offsets[:-1], lengths)
    kept = within < (len(order) if size is None else size)
    return whole.codes[kept], np.bincount(of_draw[kept], minlength=len(rows))


def draw_rows(able: NDArray[Any], n: int, size: int, rng: np.random.Generator, what: str) -> NDArray[Any]:
    """Draw the rows that n queries of so many items are about."""
    if n * size > _MOST_ITEMS:
        raise ParameterError(
            "the queries hold more items than there is room for",
            where="n",
            got=f"{n:,} queries of {size} items: about {n * size * _BYTES / 1e9:.0f} GB",
            hint="draw fewer queries, or smaller ones",
        )
    if not len(able):
        raise ParameterError("there is nothing to draw queries from", got=f"no {what}")
    return rng.choice(able, n)


def query_frame(
    label: Hashable, sets: Itemsets, rows: NDArray[Any], size: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw so many items of each row, as a list column."""
    codes, offsets = draw_subsets(sets, rows, size, rng)
    drawn = Itemsets(codes, offsets, sets.vocabulary, np.zeros(len(rows), np.bool_))
    return pd.DataFrame({label: drawn.to_pandas()})


def holding_only(sets: Itemsets, items: list[Any]) -> Itemsets:
    """The same rows with some of their items only."""
    codes = sets.lookup(items)
    if not len(codes) or (codes < 0).any():
        raise ParameterError(
            "queries can be drawn from items that occur only",
            where="items",
            got=f"{int((codes < 0).sum())} unknown of {len(codes)} items",
        )
    targets = np.full(sets.n_items, -1, np.int32)
    targets[codes] = codes
    return sets.recode(targets, sets.vocabulary)
