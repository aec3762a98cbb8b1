"""Tables of itemsets and their supports, as codes and offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.errors import ParameterError
from pdanon.itemsets.lists import Codes, Offsets, offsets_of
from pdanon.itemsets.row_loops import first_equal_rows

MOST_ITEMSETS = 50_000_000  # upper bound on the length of a list, which takes about 5 GB while it is sorted


@dataclass(frozen=True, eq=False, slots=True)
class ItemsetTable:
    """Itemsets and their supports. Itemset ``i`` is ``codes[offsets[i]:offsets[i + 1]]``, ascending."""

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
        return self.take(_order(self.codes, self.offsets))

    def distinct(self) -> ItemsetTable:
        """Drop duplicates, keep the lowest support of each itemset, and sort by support."""
        rising = self.take(np.argsort(self.supports, kind="stable"))
        return rising.take(first_equal_rows(rising.codes, rising.offsets) == np.arange(len(rising)))

    def take(self, which: NDArray[Any]) -> ItemsetTable:
        """Take some itemsets, by number in the given order, or by mask."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which
        starts = self.offsets[numbers]
        sizes = self.offsets[numbers + 1] - starts
        return ItemsetTable(
            counting.gather(self.codes, starts, sizes), offsets_of(sizes), self.supports[numbers]
        )


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


def _order(codes: Codes, offsets: Offsets) -> NDArray[np.int64]:
    """Return the order of itemsets by size, then by codes; equal ones stay in their order.

    A radix sort from the first codes on: codes are read only while they decide.
    """
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")
    tied, keys, place = np.arange(len(order)), sizes[order], 0
    n = int(codes.max(initial=0)) + 1
    while len(tied):
        members = order[tied]
        begins, lengths = offsets[members], sizes[members]
        room, longest = (2**63 - 1) // (int(keys[-1]) + 1), int(lengths[-1])
        while room >= n and place < longest:  # as many codes as fit; at least one, as both are below 2**31
            keys = keys * n + codes.take(begins + place, mode="clip") * (lengths > place)
            room, place = room // n, place + 1
        ranks = np.argsort(keys, kind="stable")
        order[tied] = members[ranks]
        if place == longest:
            break
        is_first = np.diff(keys[ranks], prepend=-1, append=-1) != 0
        left = ~(is_first[:-1] & is_first[1:]) & (lengths > place)
        tied, keys = tied[left], np.cumsum(is_first[:-1])[left]
    return order
