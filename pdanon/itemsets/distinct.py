"""DistinctRows: each row of codes once, with the number of transactions that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Offsets

__all__ = ["DistinctRows"]


class DistinctRows:
    """Distinct rows, in the order in which they came first.

    Notes
    -----
    Memory: up to twice 4 bytes an occurrence and 16 bytes a row, and 12 to 24 bytes a row to find it by.
    """

    def __init__(self) -> None:
        self._codes = np.empty(0, np.int32)
        self._offsets = np.zeros(1, np.int64)
        self._weights = np.empty(0, np.int64)
        self._table = np.full(1, -1, np.int64)
        self._count = 0

    @property
    def codes(self) -> Codes:
        """Codes, row after row."""
        return self._codes[: self._offsets[self._count]]

    @property
    def offsets(self) -> Offsets:
        """Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
        return self._offsets[: self._count + 1]

    @property
    def weights(self) -> NDArray[np.int64]:
        """How many transactions each row stands for."""
        return self._weights[: self._count]

    def add(self, codes: Codes, offsets: Offsets, weights: NDArray[np.int64]) -> Codes:
        """Add rows.

        Parameters
        ----------
        codes : ndarray of int32
            Codes, row after row; equal rows have the same order.
        offsets : ndarray of int64, shape (rows + 1,)
            Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
        weights : ndarray of int64, shape (rows,)
            How many transactions each stands for.

        Returns
        -------
        ndarray of int32, shape (rows,)
            The number of the distinct row that each of them equals.
        """
        from pdanon._kernels import rows

        most = self._count + len(weights)
        self._codes = _with_room(self._codes, len(self.codes) + len(codes))
        self._offsets = _with_room(self._offsets, most + 1)
        self._weights = _with_room(self._weights, most)
        if 2 * len(self._table) < 3 * most:  # at most two thirds full, so that few places are tried
            table = np.full(1 << (3 * most // 2).bit_length(), -1, np.int64)
            rows.copy_places(self._table, table)
            self._table = table
        kept = self._codes, self._offsets, self._weights
        self._count, numbers = rows.collect_rows(codes, offsets, weights, *kept, self._table, self._count)
        return numbers


def _with_room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array itself if it is large enough, or one that begins like it."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)  # room that is never used takes no memory
    larger[: len(array)] = array
    return larger
