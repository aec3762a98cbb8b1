"""List columns of a table as integers, from frames, files or clusters: the input of algorithms and audits."""

# Supports depend only on the distinct transactions and their counts. So for rows in files or on a cluster,
# each distinct transaction is kept once, with its count. Where pairs of items decide, their supports suffice.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.itemsets.codes import Codes, Itemsets, Numbers, compact
from pdanon.itemsets.columns import with_column
from pdanon.itemsets.dtype import ListArray, is_text_type
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import append_rows, mask_at, offsets_of, to_numpy
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.timing import assigned
from pdanon.itemsets.validation import random_generator

Reader: TypeAlias = "Callable[[pd.Series[Any]], Itemsets]"
_Encoded: TypeAlias = "tuple[pd.DataFrame, dict[int, Itemsets]]"
_encoded: ContextVar[_Encoded | None] = ContextVar("encoded", default=None)


def encode_once(frame: pd.DataFrame) -> AbstractContextManager[None]:
    """Keep the codes of the columns of a frame, which stays as it is, for several algorithms."""
    # Their releases have codes instead of texts, as `write_column` says.
    return assigned(_encoded, (frame, {}))


def encode_column(frame: pd.DataFrame, position: int) -> Itemsets:
    """Encode a list column of a frame, at most once in a block of `encode_once`."""
    of, known = _encoded.get() or (None, {})
    if of is not frame:
        return Itemsets.from_series(frame.iloc[:, position])
    if position not in known:
        known[position] = Itemsets.from_series(frame.iloc[:, position])
    return known[position]


def write_column(itemsets: Itemsets) -> ListArray:
    """Write a list column; in a block of `encode_once` with each text once, as several releases are kept."""
    is_one_of_many = _encoded.get() is not None and is_text_type(itemsets.vocabulary.type)
    return ListArray(itemsets.to_arrow(dictionary=is_one_of_many))


def write_texts(frame: pd.DataFrame, position: int) -> pd.DataFrame:
    """Write the texts of a column that `write_column` has written with codes."""
    codes = Itemsets.from_series(frame.iloc[:, position], repeats=True)
    return with_column(frame, position, codes.to_pandas())


@frozen
class ListColumns:
    """The list column of a table, and optionally a private column, as integers."""

    itemsets: Itemsets  # optionally with weights
    private: Itemsets | None = None  # a second list column of the same rows, with the same weights
    label: Hashable = None  # of the list column, for messages

    @classmethod
    def of(cls, frame: pd.DataFrame, positions: Sequence[int], *, read: Reader | None = None) -> ListColumns:
        """Encode the list column and, if there is one, the private column, at positions of `find_columns`."""
        # Audits read with `read_visible`, which counts repeated labels.
        found = [read(frame.iloc[:, i]) if read else encode_column(frame, i) for i in positions]
        return cls(found[0], found[1] if len(found) > 1 else None, frame.columns[positions[0]])

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
    """Collect the distinct rows of one or two columns that come in batches, in order of first appearance."""
    # A batch has the rows of each column, the first one optionally with weights, and its own vocabularies.
    # Items of a column have one type. Missing rows differ from empty ones.
    #
    # Memory: one batch, 24 bytes per distinct row, and twice the distinct rows (4 bytes per occurrence and 16
    # bytes per row).
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
            offsets, nulls = column.offsets, column.nulls
            if nulls.any():  # a missing row holds a mark
                numbers = np.insert(numbers, offsets[:-1][nulls], -1 - which)
                offsets = offsets + offsets_of(nulls)
            marked.append((numbers, offsets))
        # Within a row, items have the order of their vocabulary, so equal rows have equal numbers.
        self._rows.add(*append_rows(marked), SupportIndex.of(batch[0]).weights)

    def columns(self) -> ListColumns:
        """Return the distinct rows of all batches."""
        joined, offsets, weights = self._rows.codes, self._rows.offsets, self._rows.weights
        n_columns, found = len(self._items), []
        for which, items in enumerate(self._items):
            marks = np.flatnonzero(joined == -1 - which)  # of its missing rows
            nulls = mask_at(len(weights), np.searchsorted(offsets, marks, side="right") - 1)
            if n_columns == 1 and not len(marks):
                numbers, bounds = joined, offsets
            else:
                own = (joined >= 0) & (joined % n_columns == which)
                numbers, bounds = joined[own] // n_columns, offsets_of(own)[offsets]
            codes, vocabulary = compact(numbers, pa.array([], pa.string()) if items is None else items)
            found.append(Itemsets(codes, bounds, vocabulary, nulls, weights))
        return ListColumns(*found)


def number_items(vocabulary: pa.Array, items: pa.Array | None) -> tuple[pa.Array, Codes]:
    """Append the new items of a vocabulary to those known, and return the number of each of its entries."""
    # If entries repeat, the j-th copy in one is the j-th in the other.
    if items is None:
        return vocabulary, np.arange(len(vocabulary), dtype=np.int32)
    n, both = len(items), pa.concat_arrays([items, vocabulary])
    values = to_numpy(both.dictionary_encode(null_encoding="encode").indices).astype(np.int64)
    is_known = np.arange(len(values)) < n
    copies = pd.Series(values).groupby(2 * values + is_known).cumcount().to_numpy()
    numbers, _ = pd.factorize(values + len(values) * copies)  # by first appearance
    return both.filter(pa.array(is_known | (numbers >= n))), numbers[n:].astype(np.int32)


# --- Supports of items and pairs, added up over batches of rows that are not kept
#
# Many rows hold few distinct pairs. Rows are collected until their pairs take less memory than they do; from
# then on, only the pairs are counted.


# For fewer rows, a decision by pairs takes longer and saves little memory. If there are more, the first ones
# show whether their pairs need less memory.
MANY_ROWS, FIRST_ROWS = 2**22, 2**19
_ROW, _OCCURRENCE = 24, 16  # bytes in an index of supports

Gathered: TypeAlias = "ListColumns | PairCounts"  # of one column


@frozen
class PairCounts:
    """Supports of the items and pairs of some rows, and their number."""

    # Memory: 12 bytes per pair of items that occurs, three times that while counts are merged.

    n_rows: int  # empty and missing ones included
    n_missing: int
    lengths: Numbers  # number of rows by length
    items: pa.Array  # those that occur, in the order of their numbers
    singles: Numbers  # supports of items
    pairs: Any  # supports as an upper triangular matrix

    @classmethod
    def of(cls, rows: Itemsets) -> PairCounts:
        """Count rows, which may have weights."""
        index = SupportIndex.of(rows)
        lengths = np.bincount(rows.lengths, index.weights, 1).astype(np.int64)
        n_missing = index.n_rows - rows.n_present
        return cls(index.n_rows, n_missing, lengths, rows.vocabulary, index.singles, _matrix(index))

    def merge(self, other: PairCounts) -> PairCounts:
        """Return the counts of both rows."""
        items, numbers = number_items(other.items, self.items)
        n, own = len(items), self.pairs
        offsets = np.pad(own.indptr, (0, n - len(self.items)), mode="edge")
        pairs = csr(own.indices, offsets, n, own.data) + _renumber(other.pairs, numbers, n)
        singles = np.pad(self.singles, (0, n - len(self.items)))
        singles[numbers] += other.singles
        few, many = sorted((self.lengths, other.lengths), key=len)
        lengths = many + np.pad(few, (0, len(many) - len(few)))
        n_rows, n_missing = self.n_rows + other.n_rows, self.n_missing + other.n_missing
        return PairCounts(n_rows, n_missing, lengths, items, singles, pairs)

    def sort(self) -> PairCounts:
        """Number the items in ascending order, as in the vocabulary of `Itemsets`."""
        rank, vocabulary = compact(np.arange(len(self.items), dtype=np.int32), self.items)
        singles = np.empty_like(self.singles)
        singles[rank] = self.singles
        pairs = _renumber(self.pairs, rank, len(vocabulary))
        return replace(self, items=vocabulary, singles=singles, pairs=pairs)

    def columns(self, known: SupportIndex | None = None) -> ListColumns:
        """Return rows with the same supports of items and pairs, and the same number of missing rows."""
        # ``known`` are some of the rows, by the codes of the vocabulary, after a `sort`. They are kept. In
        # place of all others, there is a row for each pair, weighted by the number of other rows that hold
        # it. A row for each item corrects its support, and may have a negative weight. Only supports of up to
        # two items, and the numbers of all and missing rows, are correct.
        n = len(self.items)
        if known is None:
            known = SupportIndex(np.empty(0, np.int32), np.zeros(1, np.int64), n)
        others = self.pairs - _matrix(known)
        others.eliminate_zeros()
        others = others.tocoo()
        first, second = others.row, others.col
        singles = self.singles - known.singles - others.sum(axis=0) - others.sum(axis=1)
        items = np.flatnonzero(singles).astype(np.int32)
        codes = np.concatenate((known.codes, np.column_stack((first, second)).ravel(), items)).astype(
            np.int32
        )
        sizes = np.repeat((2, 1, 0), (len(first), len(items), 2))
        weights = np.concatenate((known.weights, others.data, singles[items]))
        empty = self.n_rows - self.n_missing - int(weights.sum())
        weights = np.concatenate((weights, (empty, self.n_missing)))
        if not self.n_missing:
            sizes, weights = sizes[:-1], weights[:-1]
        offsets = offsets_of(np.concatenate((known.lengths, sizes)))
        nulls = np.zeros(len(weights), np.bool_)
        nulls[len(weights) - bool(self.n_missing) :] = True
        return ListColumns(Itemsets(codes, offsets, self.items, nulls, weights))


def gather(batches: Iterable[Gathered], n_rows: int = 0) -> Gathered:
    """Collect the distinct rows of batches, or count only their pairs once that takes less memory."""
    # Batches are rows of one column, as for `collapse_columns`, or the counts of rows. Distinct rows have
    # weights and the order of first appearance. ``n_rows`` is the number of all rows, if it is known.
    rows, counts, few = CollapsedRows(1), None, MANY_ROWS if n_rows < MANY_ROWS else FIRST_ROWS
    for batch in batches:
        if counts is not None or isinstance(batch, PairCounts):
            own = batch if isinstance(batch, PairCounts) else PairCounts.of(batch.itemsets)
            before = PairCounts.of(rows.columns().itemsets) if len(rows) else counts
            counts, rows = own if before is None else before.merge(own), CollapsedRows(1)
            continue
        rows.add(batch.columns)
        if len(rows) > few:
            few, found = 2 * len(rows), rows.columns().itemsets
            pairs = PairCounts.of(found)
            size = _ROW * found.n_rows + _OCCURRENCE * len(found.codes)
            if 2 * (_ROW + 2 * _OCCURRENCE) * pairs.pairs.nnz <= size:  # their index takes half of the memory
                counts, rows = pairs, CollapsedRows(1)
    return rows.columns() if counts is None else counts


def _matrix(index: SupportIndex) -> Any:
    """Return the supports of pairs as an upper triangular matrix."""
    starts, partners, supports = index.pairs
    return csr(partners, starts, index.n_items, supports)


def _renumber(pairs: Any, numbers: Codes, n_items: int) -> Any:
    """Return an upper triangular matrix for other numbers of the items."""
    found = pairs.tocoo()
    one, other = (numbers[each] for each in (found.row, found.col))
    cells = np.minimum(one, other), np.maximum(one, other)
    return type(found)((found.data, cells), shape=(n_items, n_items)).tocsr()
