"""Multisets: columns whose rows may repeat a label, as in releases by Clump.

A reader of such a row sees how often it repeats a label. So audits count each repetition as another label, a
copy. Copies are entries of the vocabulary of their own, next to the first copy.
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


@dataclass(frozen=True, eq=False, slots=True)
class Multisets:
    """A column of multisets of items, as codes into a sorted vocabulary, as `Itemsets`."""

    codes: Codes  # ascending within a row, with repetitions
    offsets: Offsets
    vocabulary: pa.Array
    nulls: NDArray[np.bool_]

    @classmethod
    def from_series(cls, series: pd.Series[Any]) -> Multisets:
        """Encode a pandas Series of lists as `Itemsets.from_series`, but keep repeated items."""
        return cls.from_arrow(arrow_lists(series))

    @classmethod
    def from_arrow(cls, lists: pa.Array | pa.ChunkedArray) -> Multisets:
        """Encode an Arrow list array as `Itemsets.from_arrow`, but keep repeated items."""
        codes, offsets, values, nulls = encode(lists)
        return cls(*relabel_rows(codes, offsets, np.arange(len(values)), values, repeats=True), nulls)

    @classmethod
    def from_series_in_order(cls, series: pd.Series[Any]) -> Multisets:
        """Encode as `from_series`, but keep the order of items within a row. Sort rows that are sets."""
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
        """Replace each occurrence as `Itemsets.relabel`, but keep repeated items; -1 removes one."""
        same = np.arange(len(vocabulary))
        rows = relabel_rows(occurrences, itemsets.offsets, same, vocabulary, repeats=True)
        return cls(*rows, itemsets.nulls.copy())

    def take(self, rows: NDArray[np.int64]) -> Multisets:
        """Take some rows."""
        lengths = np.diff(self.offsets)[rows]
        codes = gather(self.codes, self.offsets[rows], lengths)
        return Multisets(codes, offsets_of(lengths), self.vocabulary, self.nulls[rows])

    def to_pandas(self) -> pd.api.extensions.ExtensionArray:
        """Build the column as a pandas array of Arrow list dtype."""
        return Itemsets(self.codes, self.offsets, self.vocabulary, self.nulls).to_pandas()


def read_visible(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists as its readers see it: repetitions of a label in a row become copies."""
    return encode_visible(arrow_lists(series))


def encode_visible(lists: pa.Array | pa.ChunkedArray) -> Itemsets:
    """Encode an Arrow list array as `read_visible`."""
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
    """Return the position of the first copy of each entry of a vocabulary."""
    return to_numpy(pc.index_in(vocabulary, value_set=vocabulary)).astype(np.int64)


def add_first_copies(codes: Codes, offsets: Offsets, vocabulary: pa.Array) -> tuple[Codes, Offsets]:
    """Add to each itemset the earlier copies of its items, so that it reads like a row that holds them."""
    before = np.arange(len(vocabulary)) - first_copies(vocabulary)
    if not before.any():
        return codes, offsets
    lengths = before[codes] + 1
    bounds = offsets_of(lengths)
    codes = np.repeat(codes - bounds[1:] + 1, lengths) + np.arange(bounds[-1])
    return canonical_rows(codes, bounds[offsets], len(vocabulary))
