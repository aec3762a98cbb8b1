"""Tables of itemsets and their supports, as codes and offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.errors import ParameterError
from pdanon.itemsets.lists import Codes, Offsets, offsets_of
from pdanon.itemsets.parallel import first_equal_rows

MOST_ITEMSETS = 50_000_000  # upper bound on the length of a list, which takes about 5 GB while it is sorted


@dataclass(frozen=True, eq=False, slots=True)
class ItemsetTable:
    """Itemsets and their supports.

    Parameters
    ----------
    codes : ndarray of int32
        Item codes, itemset after itemset; ascending within one.
    offsets : ndarray of int64, shape (itemsets + 1,)
        Itemset ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    supports : ndarray of int64, shape (itemsets,)
        Number of rows that hold the itemset.
    """

    codes: Codes
    offsets: Offsets
    supports: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.supports)

    def sets(self) -> list[tuple[int, ...]]:
        """Return the itemsets of a small table as tuples of codes."""
        return [tuple(row.tolist()) for row in np.split(self.codes, self.offsets[1:-1])] if len(self) else []

    def ordered(self) -> ItemsetTable:
        """Sort the itemsets by size, then by codes."""
        sizes = np.diff(self.offsets)
        order = np.argsort(sizes, kind="stable")
        begins = np.flatnonzero(np.diff(sizes[order], prepend=-1))
        for begin, end in pairwise([*begins.tolist(), len(order)]):  # size by size: no padding of short ones
            members = order[begin:end]
            firsts, size = self.offsets[members], int(sizes[members[0]])
            if size > 0 and len(members) > 1:
                places = (self.codes[firsts + place].astype(np.int64) for place in range(size))
                order[begin:end] = members[np.lexsort(_pack_columns(places)[::-1])]
        return self.take(order)

    def distinct(self) -> ItemsetTable:
        """Drop duplicates, keep the lowest support of each itemset, and sort by support."""
        rising = self.take(np.argsort(self.supports, kind="stable"))
        return rising.take(first_equal_rows(rising.codes, rising.offsets) == np.arange(len(rising)))

    def take(self, which: NDArray[Any]) -> ItemsetTable:
        """Take some itemsets, by number in the given order, or by mask."""
        sizes = np.diff(self.offsets)[which]
        codes = counting.gather(self.codes, self.offsets[:-1][which], sizes)
        return ItemsetTable(codes, offsets_of(sizes), self.supports[which])


def no_itemsets() -> ItemsetTable:
    """Return an empty table."""
    return ItemsetTable(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int64))


def from_matrices(parts: list[NDArray[Any]]) -> ItemsetTable:
    """Build a table from matrices of codes, one per size, with supports 0."""
    sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    codes = np.concatenate([part.ravel() for part in parts]).astype(np.int32)
    return ItemsetTable(codes, offsets_of(sizes), np.zeros(len(sizes), np.int64))


def empty_itemset(support: int) -> ItemsetTable:
    """Return a table of the empty itemset: no background knowledge."""
    return empty_itemsets(np.array([support]))


def empty_itemsets(supports: NDArray[np.int64]) -> ItemsetTable:
    """Return an empty itemset for each support."""
    return ItemsetTable(np.empty(0, np.int32), np.zeros(len(supports) + 1, np.int64), supports)


def refuse_long_list(listed: ItemsetTable) -> None:
    """Refuse a list that was cut off at `MOST_ITEMSETS`."""
    if len(listed) > MOST_ITEMSETS:
        raise ParameterError(
            "there are too many itemsets to list",
            where="m",
            got=f"more than {MOST_ITEMSETS:,}",
            hint="choose a smaller m; an audit's rows_at_risk, and risk, count rows without such a list",
        )


def concatenate(tables: list[ItemsetTable]) -> ItemsetTable:
    """Concatenate tables."""
    return ItemsetTable(
        np.concatenate([table.codes for table in tables]),
        offsets_of(np.concatenate([np.diff(table.offsets) for table in tables])),
        np.concatenate([table.supports for table in tables]),
    )


def _pack_columns(columns: Iterable[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Pack non-negative columns into fewer sort keys, the first column first: as many per key as fit."""
    keys: list[NDArray[np.int64]] = []
    room = 0  # factor by which the last key can still grow without overflow
    for column in columns:
        count = int(column.max(initial=0)) + 1
        if count > room:
            keys.append(np.zeros(len(column), np.int64))
            room = 2**63 - 1
        keys[-1] = keys[-1] * count + column
        room //= count
    return keys
