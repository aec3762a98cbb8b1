"""Collapsed: distinct transactions and how often each is there, in place of a frame.

Supports do not depend on which of two equal rows is which. So an algorithm that makes one recoding for the
whole table, and the audit of its release, need each distinct transaction once, with its number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.itemsets import Codes, Itemsets, compact, find_column
from pdanon.support import ItemsetTable, SupportIndex, concatenated

__all__ = ["Collapsed", "collapse", "encoded"]


@dataclass(frozen=True, eq=False, slots=True)
class Collapsed:
    """A table of one list column in which equal rows are one.

    Parameters
    ----------
    itemsets : Itemsets
        The rows, with weights. None is missing: a missing row counts as an empty one.
    """

    itemsets: Itemsets

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return SupportIndex.of(self.itemsets).n_rows


def encoded(table: pd.DataFrame | Collapsed, column: Hashable | None) -> tuple[int, Itemsets]:
    """The position of a list column, and the column as codes; parameters as those of an algorithm."""
    if isinstance(table, Collapsed):
        return 0, table.itemsets
    position = find_column(table, column)
    return position, Itemsets.from_series(table.iloc[:, position])


def collapse(batches: Iterable[Itemsets]) -> Collapsed:
    """Collect the distinct rows of a column that comes in batches.

    Parameters
    ----------
    batches : iterable of Itemsets
        Rows of one type of items. Each has a vocabulary of its own.

    Returns
    -------
    Collapsed
        Rows in the order in which they came first.

    Notes
    -----
    Memory: twice the distinct rows (4 bytes an occurrence and 16 bytes a row), and one batch.
    """
    items: pa.Array | None = None
    rows, new, waiting = _no_rows(), [], 0
    for batch in batches:
        items, numbers = _numbered(batch.vocabulary, items)
        # Items keep the order within a row that their vocabulary has: equal rows have equal numbers.
        new.append(_distinct([ItemsetTable(numbers[batch.codes], batch.offsets, _ones(batch))]))
        waiting += len(new[-1]) + len(new[-1].codes)
        if waiting >= len(rows) + len(rows.codes):  # so that all merges together take linear time
            rows, new, waiting = _distinct([rows, *new]), [], 0
    rows = _distinct([rows, *new])
    codes, vocabulary = compact(rows.codes, pa.array([], pa.string()) if items is None else items)
    nulls = np.zeros(len(rows), np.bool_)
    return Collapsed(Itemsets(codes, rows.offsets, vocabulary, nulls, rows.supports))


def _numbered(vocabulary: pa.Array, items: pa.Array | None) -> tuple[pa.Array, Codes]:
    """All items so far, new ones at the end, and the number among them of each of a vocabulary."""
    if items is None:
        return vocabulary, np.arange(len(vocabulary), dtype=np.int32)
    new = vocabulary.filter(pc.invert(pc.is_in(vocabulary, value_set=items)))
    items = pa.concat_arrays([items, new])
    return items, pc.index_in(vocabulary, value_set=items).to_numpy(zero_copy_only=False).astype(np.int32)


def _distinct(tables: list[ItemsetTable]) -> ItemsetTable:
    """The distinct rows of some tables with their joint numbers."""
    table = concatenated(tables)
    rows = SupportIndex(table.codes, table.offsets, 0, table.supports).distinct()
    return ItemsetTable(rows.codes, rows.offsets, rows.weights)


def _ones(batch: Itemsets) -> np.ndarray:
    return np.ones(batch.n_rows, np.int64)


def _no_rows() -> ItemsetTable:
    return ItemsetTable(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int64))
