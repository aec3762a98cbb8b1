"""Sampling of itemsets from rows, for queries and for background knowledge."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.threads import many_parts
from pdanon.itemsets.timing import part_done

_PART = 2**22  # items per part; sampling can be interrupted between two parts
_MOST_ITEMS = 2 * 10**8  # of all queries together
_BYTES = 50  # peak memory per item of a query


def draw_subsets(
    itemsets: Itemsets, rows: Numbers, size: int | None, rng: np.random.Generator
) -> tuple[Codes, Offsets]:
    """Draw a subset of the items of each given row, uniformly among the subsets of one size.

    Rows may repeat. A row of fewer items gives all of them, as with ``size=None``. Itemsets are in the order
    of the rows, with ascending codes.
    """
    codes, counts = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    before = offsets_of(itemsets.lengths[rows])
    for begin, end in many_parts(before, int(before[-1]) // _PART + 1):
        drawn, lengths = _draw_part(itemsets, rows[begin:end], size, rng)
        codes.append(drawn)
        counts.append(lengths)
        part_done()
    return np.concatenate(codes), offsets_of(np.concatenate(counts))


def _draw_part(
    itemsets: Itemsets, rows: Numbers, size: int | None, rng: np.random.Generator
) -> tuple[Codes, Numbers]:
    """Draw items of some rows, and return them with their number per row."""
    whole = itemsets.take(rows)
    of_draw = whole.rows
    # A random permutation within each row: its first `size` items are a uniform subset.
    order = np.lexsort((rng.random(len(of_draw)), of_draw))
    if size is not None:
        order = order[np.arange(len(order)) - whole.offsets[of_draw] < size]
    return whole.codes[np.sort(order)], np.bincount(of_draw[order], minlength=len(rows))


def draw_rows(able: Numbers, n: int, size: int, rng: np.random.Generator, what: str) -> Numbers:
    """Draw a row for each of n queries."""
    if n * size > _MOST_ITEMS:
        got = f"{n:,} queries of {size} items: about {n * size * _BYTES / 1e9:.0f} GB"
        hint = "draw fewer queries, or smaller ones"
        raise ParameterError("too many items in the queries", where="n", got=got, hint=hint)
    if not len(able):
        raise ParameterError("no row to draw queries from", got=f"no {what}")
    return rng.choice(able, n)


def query_frame(
    label: Hashable, sets: Itemsets, rows: Numbers, size: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw a number of items of each row, as a list column."""
    codes, offsets = draw_subsets(sets, rows, size, rng)
    drawn = Itemsets(codes, offsets, sets.vocabulary, np.zeros(len(rows), np.bool_))
    return pd.DataFrame({label: drawn.to_pandas()})


def keep_items(sets: Itemsets, items: list[Any]) -> Itemsets:
    """Return the rows restricted to some items."""
    codes = sets.lookup(items)
    if not len(codes) or (codes < 0).any():
        got = f"{int((codes < 0).sum())} unknown of {len(codes)} items"
        raise ParameterError("queries need items that occur", where="items", got=got)
    targets = np.full(sets.n_items, -1, np.int32)
    targets[codes] = codes
    return sets.recode(targets, sets.vocabulary)
