"""Bags: columns whose rows may hold the same label several times, as releases by Clump do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.itemsets import Codes, Itemsets, Offsets, relabelled_rows
from pdanon.lists import arrow_lists, encode

__all__ = ["Bags"]


@dataclass(frozen=True, eq=False, slots=True)
class Bags:
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
    def from_series(cls, series: pd.Series[Any]) -> Bags:
        """Encode a pandas Series of lists; as `Itemsets.from_series`, but repeated items stay."""
        codes, offsets, values, nulls = encode(arrow_lists(series))
        return cls(*relabelled_rows(codes, offsets, np.arange(len(values)), values, repeats=True), nulls)

    @classmethod
    def relabelled(cls, itemsets: Itemsets, occurrences: Codes, vocabulary: pa.Array) -> Bags:
        """Replace each occurrence on its own, -1 removes it; as `Itemsets.relabel`, but repeats stay."""
        same = np.arange(len(vocabulary))
        rows = relabelled_rows(occurrences, itemsets.offsets, same, vocabulary, repeats=True)
        return cls(*rows, itemsets.nulls.copy())

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Some of the rows, none of them missing."""
        from pdanon._kernels.rows import gather

        lengths = np.diff(self.offsets)[rows]
        codes = gather(self.codes, self.offsets[rows], lengths)
        return Bags(codes, np.append(0, np.cumsum(lengths)), self.vocabulary, np.zeros(len(rows), np.bool_))

    def to_pandas(self) -> pd.api.extensions.ExtensionArray:
        """Build the column as a pandas array of Arrow list dtype."""
        return Itemsets(self.codes, self.offsets, self.vocabulary, self.nulls).to_pandas()
