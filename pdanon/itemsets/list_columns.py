"""List columns of a table as integers: what algorithms decide on and audits count, wherever the rows are.

Supports do not depend on which of two equal rows is which. So where rows are in files or on a cluster, each
distinct transaction is there once, with its number, and says as much as the rows one by one.
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

from pdanon.itemsets.codes import Codes, Itemsets, Offsets, compact
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.multisets import first_copies
from pdanon.itemsets.support import SupportIndex

__all__ = ["ListColumns", "Reader", "collapse", "collapse_columns"]

Reader: TypeAlias = "Callable[[pd.Series[Any]], Itemsets]"


@dataclass(frozen=True, eq=False, slots=True)
class ListColumns:
    """The list column of a table, or it and a private column, as integers.

    Parameters
    ----------
    itemsets : Itemsets
        The rows. They may have weights: then each stands for so many.
    private : Itemsets, optional
        A second list column of the same rows, with the same weights.
    label : hashable
        What the list column is called, for messages.
    """

    itemsets: Itemsets
    private: Itemsets | None = None
    label: Hashable = None

    @classmethod
    def of(
        cls, frame: pd.DataFrame, positions: Sequence[int], *, read: Reader = Itemsets.from_series
    ) -> ListColumns:
        """Encode columns of a frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            The data.
        positions : sequence of int
            What `find_columns` returned: where the list column is, and the private one if there is one.
        read : callable
            Encodes a column; an audit sees copies of a label, which an algorithm does not.
        """
        position, *hidden = positions
        itemsets = read(frame.iloc[:, position])
        private = read(frame.iloc[:, hidden[0]]) if hidden else None
        return cls(itemsets, private, frame.columns[position])

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return SupportIndex.of(self.itemsets).n_rows

    @property
    def columns(self) -> tuple[Itemsets, ...]:
        """The list column, and the private column if there is one."""
        return (self.itemsets,) if self.private is None else (self.itemsets, self.private)


def collapse(batches: Iterable[Itemsets]) -> ListColumns:
    """Collect the distinct rows of a column that comes in batches.

    Parameters
    ----------
    batches : iterable of Itemsets
        Rows of one type of items, each as often as it counts; missing ones are not equal to empty ones. Each
        batch has a vocabulary of its own.

    Returns
    -------
    ListColumns
        Distinct rows in the order in which they came first.

    Notes
    -----
    Memory: twice the distinct rows (4 bytes an occurrence and 16 bytes a row), 24 bytes for each of them, and
    one batch.
    """
    return collapse_columns(((batch,) for batch in batches), 1)


def collapse_columns(batches: Iterable[Sequence[Itemsets]], n_columns: int) -> ListColumns:
    """Collect the distinct rows of a column, or of it and a private column; as `collapse`."""
    return ListColumns(*_collected(batches, n_columns))


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
