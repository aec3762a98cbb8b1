"""Collapsed: distinct transactions and how often each is there, in place of a frame.

Supports do not depend on which of two equal rows is which. So an algorithm that makes one recoding for the
whole table, and the audit of its release, need each distinct transaction once, with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.bags import first_copies
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, compact
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.distinct import DistinctRows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex

__all__ = ["Collapsed", "Reader", "collapse", "collapse_columns", "encoded"]

Reader: TypeAlias = "Callable[[pd.Series[Any]], Itemsets]"


@dataclass(frozen=True, eq=False, slots=True)
class Collapsed:
    """A table of one list column, or two, in which equal rows are one.

    Parameters
    ----------
    itemsets : Itemsets
        The rows, with weights. Missing rows are not equal to empty ones.
    private : Itemsets, optional
        A second list column of the same rows, with the same weights. Rows are equal if both columns are.
    """

    itemsets: Itemsets
    private: Itemsets | None = None

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return SupportIndex.of(self.itemsets).n_rows

    @property
    def columns(self) -> tuple[Itemsets, ...]:
        """The list column, and the private column if there is one."""
        return (self.itemsets,) if self.private is None else (self.itemsets, self.private)


def encoded(
    table: pd.DataFrame | Collapsed, column: Hashable | None, *, read: Reader = Itemsets.from_series
) -> tuple[int, Itemsets]:
    """The position of a list column, and the column as codes; parameters as those of an algorithm."""
    if isinstance(table, Collapsed):
        return 0, table.itemsets
    position = find_column(table, column)
    return position, read(table.iloc[:, position])


def collapse(batches: Iterable[Itemsets]) -> Collapsed:
    """Collect the distinct rows of a column that comes in batches.

    Parameters
    ----------
    batches : iterable of Itemsets
        Rows of one type of items, each as often as it counts. Each batch has a vocabulary of its own.

    Returns
    -------
    Collapsed
        Rows in the order in which they came first.

    Notes
    -----
    Memory: twice the distinct rows (4 bytes an occurrence and 16 bytes a row), 24 bytes for each of them, and
    one batch.
    """
    return collapse_columns(((batch,) for batch in batches), 1)


def collapse_columns(batches: Iterable[Sequence[Itemsets]], n_columns: int) -> Collapsed:
    """Collect the distinct rows of a column, or of it and a private column; as `collapse`."""
    return Collapsed(*_collected(batches, n_columns))


def _collected(batches: Iterable[Sequence[Itemsets]], n_columns: int) -> Iterator[Itemsets]:
    """The distinct rows of some columns, column by column."""
    items: list[pa.Array | None] = [None] * n_columns
    rows = DistinctRows()
    for batch in batches:
        numbers = []
        for which, column in enumerate(batch):
            items[which], number = _numbered(column.vocabulary, items[which])
            # The columns take turns, so that their numbers differ however many items are to come.
            own = (number * np.int32(n_columns) + np.int32(which))[column.codes]
            numbers.append(_marked(own, column, _missing(which)))
        # Items keep the order within a row that their vocabulary has: equal rows have equal numbers.
        rows.add(*_side_by_side(batch, numbers))
    for which, vocabulary in enumerate(items):
        yield _column(rows, which, n_columns, pa.array([], pa.string()) if vocabulary is None else vocabulary)


def _missing(which: int) -> int:
    """The number that the missing rows of a column hold instead of an item's."""
    return -1 - which


def _marked(numbers: Codes, column: Itemsets, missing: int) -> tuple[Codes, Offsets]:
    """The rows of a column, where missing ones hold a number of their own."""
    if not column.nulls.any():
        return numbers, column.offsets
    before = offsets_of(column.nulls)
    return np.insert(numbers, column.offsets[:-1][column.nulls], missing), column.offsets + before


def _side_by_side(
    batch: Sequence[Itemsets], marked: list[tuple[Codes, Offsets]]
) -> tuple[Codes, Offsets, NDArray[np.int64]]:
    """The rows of a batch, each with the items of one column after those of the other."""
    if len(batch) == 1:
        return *marked[0], _weights(batch[0])
    rows = [np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) for _, offsets in marked]
    order = np.argsort(np.concatenate(rows), kind="stable")
    joined: Offsets = np.sum([offsets for _, offsets in marked], axis=0)
    return np.concatenate([numbers for numbers, _ in marked])[order], joined, _weights(batch[0])


def _column(rows: DistinctRows, which: int, n_columns: int, items: pa.Array) -> Itemsets:
    """One of the columns that have been collected."""
    nulls = np.zeros(len(rows.weights), np.bool_)
    marks = np.flatnonzero(rows.codes == _missing(which))
    nulls[np.searchsorted(rows.offsets, marks, side="right") - 1] = True
    if n_columns == 1 and not len(marks):
        numbers, offsets = rows.codes, rows.offsets
    else:
        own = (rows.codes >= 0) & (rows.codes % n_columns == which)
        offsets = offsets_of(own)[rows.offsets]
        numbers = rows.codes[own] // n_columns
    codes, vocabulary = compact(numbers, items)
    return Itemsets(codes, offsets, vocabulary, nulls, rows.weights)


def _numbered(vocabulary: pa.Array, items: pa.Array | None) -> tuple[pa.Array, Codes]:
    """All items so far, new ones at the end, and the number among them of each of a vocabulary."""
    if items is None:
        return vocabulary, np.arange(len(vocabulary), dtype=np.int32)
    if (first_copies(vocabulary) < np.arange(len(vocabulary))).any():
        return _numbered_copies(vocabulary, items)
    new = vocabulary.filter(pc.invert(pc.is_in(vocabulary, value_set=items)))
    items = pa.concat_arrays([items, new])
    return items, pc.index_in(vocabulary, value_set=items).to_numpy(zero_copy_only=False).astype(np.int32)


def _numbered_copies(vocabulary: pa.Array, items: pa.Array) -> tuple[pa.Array, Codes]:
    """As `_numbered`, where some entries are copies: the j-th of one is the j-th of the other."""
    n = len(items)
    values = pa.concat_arrays([items, vocabulary]).dictionary_encode().indices.to_numpy().astype(np.int64)
    copies = [pd.Series(part).groupby(part).cumcount().to_numpy() for part in (values[:n], values[n:])]
    numbers, _ = pd.factorize(values + len(values) * np.concatenate(copies))  # in the order they come
    items = pa.concat_arrays([items, vocabulary.filter(pa.array(numbers[n:] >= n))])
    return items, numbers[n:].astype(np.int32)


def _weights(batch: Itemsets) -> NDArray[np.int64]:
    return np.ones(batch.n_rows, np.int64) if batch.weights is None else batch.weights
