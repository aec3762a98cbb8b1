"""List columns of a table as integers, from frames, files or clusters: the input of algorithms and audits.

Supports depend only on the distinct transactions and their counts. So for rows in files or on a cluster,
each distinct transaction is kept once, with its count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.itemsets.codes import Codes, Itemsets, Offsets, compact
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.multisets import first_copies
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import random_generator

Reader: TypeAlias = "Callable[[pd.Series[Any]], Itemsets]"


@dataclass(frozen=True, eq=False, slots=True)
class ListColumns:
    """The list column of a table, and optionally a private column, as integers."""

    itemsets: Itemsets  # optionally with weights
    private: Itemsets | None = None  # a second list column of the same rows, with the same weights
    label: Hashable = None  # of the list column, for messages

    @classmethod
    def of(
        cls, frame: pd.DataFrame, positions: Sequence[int], *, read: Reader = Itemsets.from_series
    ) -> ListColumns:
        """Encode the list column and, if there is one, the private column, at positions of `find_columns`.

        Audits read with `read_visible`, which counts repeated labels.
        """
        position, *hidden = positions
        itemsets = read(frame.iloc[:, position])
        private = read(frame.iloc[:, hidden[0]]) if hidden else None
        return cls(itemsets, private, frame.columns[position])

    def sample(self, size: int) -> Itemsets:
        """Draw transactions of the list column, all with the same chance. The seed is fixed."""
        numbers = np.arange(self.n_rows)
        if len(numbers) > size:
            numbers = np.sort(random_generator(None).choice(len(numbers), size, replace=False))
        weights = np.cumsum(SupportIndex.of(self.itemsets).weights)
        return self.itemsets.take(np.searchsorted(weights, numbers, side="right"))

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return SupportIndex.of(self.itemsets).n_rows

    @property
    def columns(self) -> tuple[Itemsets, ...]:
        """The list column and, if there is one, the private column."""
        return (self.itemsets,) if self.private is None else (self.itemsets, self.private)


def collapse_columns(batches: Iterable[Sequence[Itemsets]], n_columns: int) -> ListColumns:
    """Collect the distinct rows of one or two columns that come in batches, in order of first appearance.

    A batch has the rows of each column, the first one optionally with weights, and its own vocabularies.
    Items of a column have one type. Missing rows differ from empty ones.

    Memory: one batch, 24 bytes per distinct row, and twice the distinct rows (4 bytes per occurrence and 16
    bytes per row).
    """
    rows = CollapsedRows(n_columns)
    for batch in batches:
        rows.add(batch)
    return rows.columns()


class CollapsedRows:
    """Distinct rows of one or two columns, to which batches are added; see `collapse_columns`."""

    def __init__(self, n_columns: int) -> None:
        self._items: list[pa.Array | None] = [None] * n_columns
        self._rows = DistinctRows()

    def __len__(self) -> int:
        return len(self._rows.weights)

    def add(self, batch: Sequence[Itemsets]) -> None:
        """Add the rows of a batch."""
        marked, n_columns = [], len(self._items)
        for which, column in enumerate(batch):
            self._items[which], number = number_items(column.vocabulary, self._items[which])
            # Columns use interleaved numbers, so these differ however many items the next batches add.
            numbers = (number * np.int32(n_columns) + np.int32(which))[column.codes]
            marked.append(_mark_missing(numbers, column, -1 - which))
        weights = np.ones(batch[0].n_rows, np.int64) if batch[0].weights is None else batch[0].weights
        # Within a row, items have the order of their vocabulary, so equal rows have equal numbers.
        self._rows.add(*_join_rows(marked), weights)

    def columns(self) -> ListColumns:
        """Return the distinct rows of all batches."""
        found = [pa.array([], pa.string()) if each is None else each for each in self._items]
        return ListColumns(
            *(_split_column(self._rows, which, len(found), each) for which, each in enumerate(found))
        )


def _mark_missing(numbers: Codes, column: Itemsets, mark: int) -> tuple[Codes, Offsets]:
    """Insert a mark into the missing rows of a column."""
    if not column.nulls.any():
        return numbers, column.offsets
    before = offsets_of(column.nulls)
    return np.insert(numbers, column.offsets[:-1][column.nulls], mark), column.offsets + before


def _join_rows(columns: list[tuple[Codes, Offsets]]) -> tuple[Codes, Offsets]:
    """Append the items of the second column to those of the first, row by row."""
    if len(columns) == 1:
        return columns[0]
    rows = [np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) for _, offsets in columns]
    order = np.argsort(np.concatenate(rows), kind="stable")
    offsets: Offsets = np.sum([offsets for _, offsets in columns], axis=0)
    return np.concatenate([numbers for numbers, _ in columns])[order], offsets


def _split_column(rows: DistinctRows, which: int, n_columns: int, items: pa.Array) -> Itemsets:
    """Take one column out of joined rows."""
    nulls = np.zeros(len(rows.weights), np.bool_)
    marks = np.flatnonzero(rows.codes == -1 - which)  # the mark of its missing rows
    nulls[np.searchsorted(rows.offsets, marks, side="right") - 1] = True
    if n_columns == 1 and not len(marks):
        numbers, offsets = rows.codes, rows.offsets
    else:
        own = (rows.codes >= 0) & (rows.codes % n_columns == which)
        offsets = offsets_of(own)[rows.offsets]
        numbers = rows.codes[own] // n_columns
    codes, vocabulary = compact(numbers, items)
    return Itemsets(codes, offsets, vocabulary, nulls, rows.weights)


def number_items(vocabulary: pa.Array, items: pa.Array | None) -> tuple[pa.Array, Codes]:
    """Append the new items of a vocabulary to those known, and return the number of each of its entries."""
    if items is None:
        return vocabulary, np.arange(len(vocabulary), dtype=np.int32)
    if (first_copies(vocabulary) < np.arange(len(vocabulary))).any():
        return _number_copies(vocabulary, items)
    new = vocabulary.filter(pc.invert(pc.is_in(vocabulary, value_set=items)))
    items = pa.concat_arrays([items, new])
    return items, pc.index_in(vocabulary, value_set=items).to_numpy(zero_copy_only=False).astype(np.int32)


def _number_copies(vocabulary: pa.Array, items: pa.Array) -> tuple[pa.Array, Codes]:
    """Number items as `number_items` if entries repeat: the j-th copy in one is the j-th in the other."""
    n = len(items)
    values = pa.concat_arrays([items, vocabulary]).dictionary_encode().indices.to_numpy().astype(np.int64)
    copies = [pd.Series(part).groupby(part).cumcount().to_numpy() for part in (values[:n], values[n:])]
    numbers, _ = pd.factorize(values + len(values) * np.concatenate(copies))  # by first appearance
    items = pa.concat_arrays([items, vocabulary.filter(pa.array(numbers[n:] >= n))])
    return items, numbers[n:].astype(np.int32)
