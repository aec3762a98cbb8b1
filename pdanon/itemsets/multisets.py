"""Multisets: columns whose rows may hold the same label several times, as releases by Clump do.

Who sees such a row sees how often a label is there. So audits count each further time as one more label: a
copy, which is an entry of the vocabulary like the first, and comes next to it.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon._kernels.counting import gather
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, canonical_rows, compact, relabel_rows
from pdanon.itemsets.lists import arrow_lists, encode, offsets_of, to_numpy

__all__ = ["Multisets", "add_first_copies", "encode_visible", "first_copies", "read_visible"]


@dataclass(frozen=True, eq=False, slots=True)
class Multisets:
    """A column of bags of items, as codes into a sorted vocabulary.

    Parameters
    ----------
    codes : ndarray of int32, shape (occurrences,)
        Item codes, row after row; ascending within a row, where an item may come again.
    offsets : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    vocabulary : pyarrow.Array, length (items,)
        The distinct items that occur, in ascending order.
    nulls : ndarray of bool, shape (rows,)
        Rows that are missing, as opposed to empty.
    """

    codes: Codes
    offsets: Offsets
    vocabulary: pa.Array
    nulls: NDArray[np.bool_]

    @classmethod
    def from_series(cls, series: pd.Series[Any]) -> Multisets:
        """Encode a pandas Series of lists; as `Itemsets.from_series`, but repeated items stay."""
        return cls.from_arrow(arrow_lists(series))

    @classmethod
    def from_arrow(cls, lists: pa.Array | pa.ChunkedArray) -> Multisets:
        """Encode an Arrow list array; as `Itemsets.from_arrow`, but repeated items stay."""
        codes, offsets, values, nulls = encode(lists)
        return cls(*relabel_rows(codes, offsets, np.arange(len(values)), values, repeats=True), nulls)

    @classmethod
    def from_series_in_order(cls, series: pd.Series[Any]) -> Multisets:
        """As `from_series`, but labels stay in the order in which a row lists them, if it has one."""
        codes, offsets, values, nulls = encode(arrow_lists(series))
        encoded = values.dictionary_encode()
        codes, values = compact(to_numpy(encoded.indices)[codes], encoded.dictionary)
        if series.dtype == object and any(isinstance(row, Set) for row in series.array):
            unordered = np.array([isinstance(row, Set) for row in series.array], np.bool_)
            order = np.where(np.repeat(unordered, np.diff(offsets)), codes, np.arange(len(codes)))
            codes = codes[np.lexsort((order, np.repeat(np.arange(len(nulls)), np.diff(offsets))))]
        return cls(codes, offsets, values, nulls)

    @classmethod
    def relabel(cls, itemsets: Itemsets, occurrences: Codes, vocabulary: pa.Array) -> Multisets:
        """Replace each occurrence on its own, -1 removes it; as `Itemsets.relabel`, but repeats stay."""
        same = np.arange(len(vocabulary))
        rows = relabel_rows(occurrences, itemsets.offsets, same, vocabulary, repeats=True)
        return cls(*rows, itemsets.nulls.copy())

    def take(self, rows: NDArray[np.int64]) -> Multisets:
        """Some of the rows."""
        lengths = np.diff(self.offsets)[rows]
        codes = gather(self.codes, self.offsets[rows], lengths)
        return Multisets(codes, offsets_of(lengths), self.vocabulary, self.nulls[rows])

    def to_pandas(self) -> pd.api.extensions.ExtensionArray:
        """Build the column as a pandas array of Arrow list dtype."""
        return Itemsets(self.codes, self.offsets, self.vocabulary, self.nulls).to_pandas()


def read_visible(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists as its readers see it: where a row repeats a label, each time is a copy."""
    return encode_visible(arrow_lists(series))


def encode_visible(lists: pa.Array | pa.ChunkedArray) -> Itemsets:
    """As `read_visible`, of an Arrow list array."""
    bags = Multisets.from_arrow(lists)
    starts = np.ones(len(bags.codes), np.bool_)  # of runs of a label within a row
    starts[1:] = bags.codes[1:] != bags.codes[:-1]
    starts[bags.offsets[:-1][np.diff(bags.offsets) > 0]] = True
    if starts.all():
        return Itemsets(bags.codes, bags.offsets, bags.vocabulary, bags.nulls)
    places = np.arange(len(starts))
    copy = places - np.maximum.accumulate(np.where(starts, places, 0))
    most = int(copy.max()) + 1
    found, codes = np.unique(bags.codes * np.int64(most) + copy, return_inverse=True)
    vocabulary = bags.vocabulary.take(pa.array(found // most))
    return Itemsets(codes.astype(np.int32), bags.offsets, vocabulary, bags.nulls)


def first_copies(vocabulary: pa.Array) -> NDArray[np.int64]:
    """Where the first copy of each entry of a vocabulary is."""
    return to_numpy(pc.index_in(vocabulary, value_set=vocabulary)).astype(np.int64)


def add_first_copies(codes: Codes, offsets: Offsets, vocabulary: pa.Array) -> tuple[Codes, Offsets]:
    """Itemsets with all copies that come before one of theirs, so that they read as a row that holds them."""
    before = np.arange(len(vocabulary)) - first_copies(vocabulary)
    if not before.any():
        return codes, offsets
    lengths = before[codes] + 1
    bounds = offsets_of(lengths)
    codes = np.repeat(codes - bounds[1:] + 1, lengths) + np.arange(bounds[-1])
    return canonical_rows(codes, bounds[offsets], len(vocabulary))
