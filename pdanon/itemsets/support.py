"""Supports of itemsets over a fixed set of rows."""

# The support of an itemset is the number of rows (transactions) that contain all its items. All guarantees
# are statements about supports, and only this module counts them.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import counting, itemset_search
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, Offsets, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import append_rows, inverse_order, mask_at, offsets_of, rows_of, take_rows
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.threads import even_parts, many_parts, search, share
from pdanon.itemsets.timing import check_time, halt_flag

# --- Tables of itemsets and their supports


MOST_ITEMSETS = 50_000_000  # upper bound on the length of a list, which takes about 5 GB while it is sorted


@frozen
class ItemsetTable:
    """Itemsets and their supports. Itemset ``i`` is ``codes[offsets[i]:offsets[i + 1]]``, ascending."""

    codes: Codes
    offsets: Offsets
    supports: Numbers

    @classmethod
    def listed(cls, codes: Codes, offsets: Offsets) -> ItemsetTable:
        """Return itemsets without their supports, which are 0 here."""
        return cls(codes, offsets, np.zeros(len(offsets) - 1, np.int64))

    def __len__(self) -> int:
        return len(self.supports)

    @property
    def lengths(self) -> Numbers:
        """Number of items of each itemset."""
        return np.diff(self.offsets)

    def to_rows(self, vocabulary: pa.Array) -> Itemsets:
        """Return the itemsets as rows of a column."""
        return Itemsets(self.codes, self.offsets, vocabulary, np.zeros(len(self), np.bool_))

    def sets(self) -> list[tuple[int, ...]]:
        """Return the itemsets of a small table as tuples of codes."""
        return [tuple(row.tolist()) for row in np.split(self.codes, self.offsets[1:-1])] if len(self) else []

    def ordered(self) -> ItemsetTable:
        """Sort the itemsets by size, then by codes."""
        n_items = int(self.codes.max(initial=-1)) + 1
        return self.take(_sort_rows(self.codes, self.offsets, self.lengths, n_items)[0])

    def distinct(self) -> ItemsetTable:
        """Drop duplicates, keep the lowest support of each itemset, and sort by support."""
        rising = self.take(np.argsort(self.supports, kind="stable"))
        return rising.take(first_equal_rows(rising.codes, rising.offsets) == np.arange(len(rising)))

    def take(self, which: NDArray[Any]) -> ItemsetTable:
        """Take some itemsets, by number in the given order, or by mask."""
        numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return ItemsetTable(*take_rows(self.codes, self.offsets, numbers), self.supports[numbers])

    def with_parts(self, optional: Mask) -> ItemsetTable:
        """Add what is left of each itemset without any of its optional items; supports are 0."""
        codes, offsets = self.codes, self.offsets
        # The last places first: what is left out there changes no place before.
        for place in range(int(self.lengths.max(initial=0)) - 1, -1, -1):
            longer = np.flatnonzero(np.diff(offsets) > place)
            chosen = longer[optional[codes[offsets[longer] + place]]]
            parts, bounds = take_rows(codes, offsets, chosen)
            require_memory(4 * (len(codes) + len(parts)), "all parts of the listed itemsets")
            left = ~mask_at(len(parts), bounds[:-1] + place)
            codes = np.concatenate([codes, parts[left]])
            offsets = np.concatenate([offsets, offsets[-1] + offsets_of(left)[bounds[1:]]])
        return ItemsetTable.listed(codes, offsets)


def no_itemsets() -> ItemsetTable:
    """Return an empty table."""
    return empty_itemsets(np.empty(0, np.int64))


def from_matrices(parts: list[NDArray[Any]]) -> ItemsetTable:
    """Build a table from matrices of codes, one per size, with supports 0."""
    sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    codes = np.concatenate([part.ravel() for part in parts]).astype(np.int32)
    return ItemsetTable.listed(codes, offsets_of(sizes))


def empty_itemset(support: int) -> ItemsetTable:
    """Return a table of the empty itemset: no background knowledge."""
    return empty_itemsets(np.array([support]))


def empty_itemsets(supports: Numbers) -> ItemsetTable:
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
        offsets_of(np.concatenate([table.lengths for table in tables])),
        np.concatenate([table.supports for table in tables]),
    )


def _sort_rows(
    codes: Codes, offsets: Offsets, classes: Numbers, n_items: int, *, gray: bool = False
) -> tuple[Numbers, Mask]:
    """Sort rows by class, then by codes; equal ones stay in their order."""
    # Return the order, and which of its places begin a group of equal rows. With ``gray``, rows of a class
    # are sorted as `ranks_of` says; otherwise they have one length.
    #
    # A radix sort from the first codes on: codes are read only while they decide.
    lengths = np.diff(offsets)
    order = np.argsort(classes, kind="stable")
    is_first = np.ones(len(order), np.bool_)
    tied, keys, place = np.arange(len(order)), classes[order], 0
    while len(tied):
        rows = order[tied]
        begins, sizes = offsets[rows], lengths[rows]
        room, longest = (2**63 - 1) // (int(keys[-1]) + 1), int(sizes.max())
        while room > n_items and place < longest:  # as many codes as fit; at least one: both are below 2**31
            items = codes.take(begins + place, mode="clip")
            items[sizes <= place] = n_items
            keys = keys * (n_items + 1) + (n_items - items if gray and place % 2 == 0 else items)
            room, place = room // (n_items + 1), place + 1
        ranks = np.argsort(keys, kind="stable")
        order[tied], keys = rows[ranks], keys[ranks]
        is_first[tied] = np.diff(keys, prepend=-1) != 0
        if place == longest:
            break
        single = is_first[tied] & np.append(is_first[tied][1:], True)
        left = ~single & (sizes[ranks] >= place)
        tied, keys = tied[left], np.cumsum(is_first[tied])[left]
    return order, is_first


# --- Counting


MOST_ROWS = 2**31  # supports must stay below, so that they fit into int32 in kernels


class SupportIndex:
    """Supports of items, pairs and itemsets over a fixed set of rows, as the fields of `Itemsets`."""

    # Each attribute is computed at its first use. The sum of the weights is below 2**31.
    # Memory: 16 bytes per occurrence, 16 bytes per row, and 12 bytes per pair of items that occurs.

    def __init__(self, codes: Codes, offsets: Offsets, n_items: int, weights: Numbers | None = None) -> None:
        self.codes = codes
        self.offsets = offsets
        self.n_items = n_items
        self.weights = np.ones(len(offsets) - 1, np.int64) if weights is None else weights
        if self.n_rows >= MOST_ROWS:
            raise ParameterError("there are too many transactions to count", got=f"{self.n_rows} rows")

    @classmethod
    def of(cls, itemsets: Itemsets) -> SupportIndex:
        """Index the rows of a column with their weights."""
        return cls(itemsets.codes, itemsets.offsets, itemsets.n_items, itemsets.weights)

    def table(self, supports: Numbers) -> ItemsetTable:
        """Return the rows as itemsets with these supports."""
        return ItemsetTable(self.codes, self.offsets, supports)

    def to_rows(self, vocabulary: pa.Array) -> Itemsets:
        """Return the rows as those of a column; none is missing."""
        return replace(self.table(self.weights).to_rows(vocabulary), weights=self.weights)

    @property
    def n_rows(self) -> int:
        """Number of transactions, empty and missing ones included."""
        return int(self.weights.sum())

    @property
    def lengths(self) -> Numbers:
        """Number of items of each row."""
        return np.diff(self.offsets)

    @cached_property
    def n_non_empty(self) -> int:
        """Number of transactions with at least one item."""
        return int(self.weights[self.lengths > 0].sum())

    @cached_property
    def longest(self) -> int:
        """Number of items of the longest transaction."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def transpose(self) -> tuple[Offsets, Codes, Numbers]:
        """The rows of each item, as ``starts, tids, positions`` of `row_loops.transpose`."""
        return row_loops.transpose(self.codes, self.offsets, self.n_items)

    @cached_property
    def rows(self) -> counting.Rows:
        """The rows and their transpose, in the form of the kernels."""
        return counting.Rows(self.codes, self.offsets, self.weights, *self.transpose)

    @cached_property
    def singles(self) -> Numbers:
        """Support of each item, shape (items,)."""
        return row_loops.item_supports(self.codes, self.offsets, self.weights, self.n_items)

    @cached_property
    def pairs(self) -> tuple[Offsets, Codes, Numbers]:
        """Support of each pair a < b that occurs, as CSR ``starts, partners, supports``."""
        if self.n_items**2 <= len(self.codes):
            return self._pairs_of_few_items()
        return row_loops.pair_supports(self.rows)

    def _pairs_of_few_items(self) -> tuple[Offsets, Codes, Numbers]:
        """Count `pairs` in a dense matrix."""
        n = self.n_items
        counts = counting.count_pairs(self.codes, self.offsets, self.weights, n)
        cells = np.flatnonzero(counts)
        starts = np.searchsorted(cells, np.arange(n + 1) * n)
        return starts, (cells % max(n, 1)).astype(np.int32), counts[cells].astype(np.int64)

    def supports(self, codes: Codes, offsets: Offsets, enough: int = MOST_ROWS) -> Numbers:
        """Count the support of each given itemset. The empty one is in every row."""
        # Counts may end at ``enough``: a support of at least that may be reported lower, but not below it.
        return row_loops.supports(self.rows, codes, offsets, enough)

    def distinct(self) -> SupportIndex:
        """Merge equal rows, and sum their weights."""
        return self.number_rows()[1]

    def number_rows(self) -> tuple[Codes, SupportIndex]:
        """Merge equal rows, and return the number of the merged row of each row, too."""
        first = row_loops.first_equal_rows(self.codes, self.offsets)
        numbers, chosen, weights = counting.numbered(first, self.weights)
        distinct = self.within(chosen)
        return numbers, SupportIndex(distinct.codes, distinct.offsets, self.n_items, weights)

    def within(self, rows: NDArray[Any]) -> SupportIndex:
        """Take some rows, by number or mask."""
        chosen = self.table(self.weights).take(rows)
        return SupportIndex(chosen.codes, chosen.offsets, self.n_items, chosen.supports)

    def recode(self, targets: NDArray[Any], n_items: int) -> SupportIndex:
        """Replace each item by its target; drop duplicates in a row, and items with a target below 0."""
        codes, offsets, _ = row_loops.recode_rows(self.codes, self.offsets, targets, n_items)
        return SupportIndex(codes, offsets, n_items, self.weights)

    def select(self, items: NDArray[Any]) -> SupportIndex:
        """Keep some items only, by number in the given order or by mask, renumbered from 0. Rows stay."""
        kept = np.arange(self.n_items)[items]
        targets = np.full(self.n_items, -1)
        targets[kept] = np.arange(len(kept))
        return self.recode(targets, len(kept))

    def keep_items(self, items: Mask) -> SupportIndex:
        """Drop all items but those of a mask. The rows stay."""
        return self.recode(np.where(items, np.arange(self.n_items), -1), self.n_items)

    def relabel(self, labels: NDArray[Any]) -> SupportIndex:
        """Recode the rows, and merge equal ones."""
        return self.recode(labels, self.n_items).distinct()

    def rare_rows(self, k: int) -> ItemsetTable:
        """List the distinct non-empty rows that fewer than k transactions contain, by size, then by codes."""
        # These are exactly the rows that contain a rare itemset of any size.
        rows = self.distinct()
        supports = rows.supports(rows.codes, rows.offsets, k)
        return rows.table(supports).take((rows.lengths > 0) & (supports < k)).ordered()

    def rare(self, k: int, m: int | None) -> ItemsetTable:
        """List the minimal itemsets of size 1 to m with a support from 1 to k - 1, by size, then by codes."""
        # They have no rare proper subset. With ``m=None``, list the rows that contain a rare itemset of any
        # size: `rare_rows`.
        if m is None:
            return self.rare_rows(k)
        items = np.flatnonzero((self.singles > 0) & (self.singles < k)).astype(np.int32)
        tables = [ItemsetTable(items, np.arange(len(items) + 1), self.singles[items])]
        m = min(m, self.longest)
        rest = self._drop_rare_items(k) if m >= 2 else self
        if m >= 2:
            tables.append(rest._rare_pairs(k))
        if m >= 3:
            # All pairs of a minimal rare itemset of at least 3 items are frequent.
            order, ranked = rest.ranked
            cliques = ranked.sorted_pairs(k)[:2]
            rows = ranked.distinct()
            exposed = np.zeros(len(rows.weights), np.int32)
            tables += rows._mine_rare(k, m, cliques, exposed, order)
        check_time()
        found = concatenate(tables)
        refuse_long_list(found)
        return found.ordered()

    def at_risk(self, k: int, m: int | None) -> Mask:
        """Return whether each row contains a rare itemset of at most m items; of any size if m is None."""
        return self.exposure(k, m if m is not None and m < self.longest else None) > 0

    def exposure(self, k: int, m: int | None) -> NDArray[np.int32]:
        """Return the size of the smallest rare itemset of each row, up to m; 0 where there is none."""
        # With ``m=None`` it is the length of the row, if it contains a rare itemset of any size.
        if m is None:
            numbers, rows = self.number_rows()
            lengths = rows.lengths.astype(np.int32)
            return np.where(rows.supports(rows.codes, rows.offsets, k) < k, lengths, 0)[numbers]
        return self.exposures((k,), m)[0]

    def exposures(self, ks: Sequence[int], m: int) -> list[NDArray[np.int32]]:
        """Return the `exposure` for several k, in descending order; pairs are counted once."""
        # An itemset that is rare for k is rare for a larger k. So only rows exposed for that are searched.
        m = min(m, self.longest)
        _, ranked = self._drop_rare_items(ks[-1]).ranked
        least = np.ones(len(self.weights), np.int32)  # lower bound on the size of a rare itemset of each row
        found = []
        for k in ks:
            exposed = np.zeros(len(self.weights), np.int32)
            self._expose(exposed, itemset_search.mark_items, self.singles < k)
            if m >= 2:
                rare = ranked._select_pairs(ranked.pairs[2] < k)
                ranked._expose(exposed, itemset_search.mark_pairs, *rare)
            if m >= 3:
                ranked._expose_larger(k, m, exposed, least)
            least = np.where(exposed > 0, exposed, m + 1).astype(np.int32)
            found.append(exposed)
        return found

    def _expose(self, exposed: NDArray[np.int32], mark: Callable[..., None], *rare: NDArray[Any]) -> None:
        """Mark the rows that hold one of the given items or pairs."""

        def part(begin: int, end: int) -> None:
            mark(self.codes, self.offsets[begin : end + 1], *rare, exposed[begin:end])

        share(part, even_parts(self.offsets))

    def _expose_larger(self, k: int, m: int, exposed: NDArray[np.int32], least: NDArray[np.int32]) -> None:
        """Set sizes from 3 on in ascending order. Skip rows that have a size or can have none."""
        # The codes of the rows are ranks. ``least`` is a lower bound on the size in each row.
        numbers, rows = self._drop_rare_items(k).number_rows()
        cliques = self.sorted_pairs(k)[:2]
        least = least.copy()
        if m > 3:  # no itemset of a row has less support than all its items together
            is_open = mask_at(len(rows.weights), numbers[(least <= m) & (exposed == 0)])
            some = rows.within(is_open)
            is_open[is_open] = rows.supports(some.codes, some.offsets, k) < k
            least[~is_open[numbers]] = m + 1
        for size in range(3, m + 1):
            is_open = (least <= size) & (exposed == 0)
            if not is_open.any():
                continue
            found = np.ones(len(rows.weights), np.int32)
            found[numbers[is_open]] = 0
            rows._mine_rare(k, size, cliques, found)
            exposed[is_open] = found[numbers[is_open]]

    def search_bound(self, m: int) -> float:
        """Return an upper bound on the itemsets of size at most m that a search visits, row by row."""
        return search_bound(self.lengths, m)

    def _drop_rare_items(self, k: int) -> SupportIndex:
        """Drop rare items: a minimal rare itemset of at least 2 items contains none."""
        common = self.singles >= k
        return self if common[self.codes].all() else self.keep_items(common)

    def rows_holding(self, itemsets: ItemsetTable) -> int:
        """Count the transactions that contain at least one of the given itemsets."""
        return int(self.weights[self.contains_any(itemsets)].sum())

    def contains_any(self, itemsets: ItemsetTable) -> Mask:
        """Return whether each row contains at least one of the given non-empty itemsets."""
        return row_loops.mark_rows(self.rows, itemsets.codes, itemsets.offsets)

    @cached_property
    def ranked(self) -> tuple[Codes, SupportIndex]:
        """The items by ascending support, and the rows with these ranks as codes."""
        # With the rarest items first, the prefixes of a search have few extensions.
        order = np.argsort(self.singles, kind="stable").astype(np.int32)
        return order, self.select(order)

    def _select_pairs(self, kept: Mask) -> tuple[Offsets, Codes]:
        """Return some of the `pairs`, partners in any order."""
        starts, partners, _ = self.pairs
        return np.searchsorted(np.flatnonzero(kept), starts), partners[kept]

    def sorted_pairs(self, least: int = 1) -> tuple[Offsets, Codes, Numbers]:
        """Return the `pairs` with at least a support, the partners of each item sorted."""
        starts, partners, supports = self.pairs
        if least > 1:
            kept = supports >= least
            (starts, partners), supports = self._select_pairs(kept), supports[kept]
        # Transposing twice sorts in linear time.
        starts, firsts, inverted = row_loops.transpose(partners, starts, self.n_items)
        starts, partners, places = row_loops.transpose(firsts, starts, self.n_items)
        return starts, partners, supports[inverted[places]]

    def rare_partners(self, k: int) -> tuple[Offsets, Codes]:
        """Return the frequent items that each frequent item is rare with, as ``starts, partners``, sorted."""
        common = self._drop_rare_items(k)
        return in_both_directions(*common._select_pairs(common.pairs[2] < k))

    def _rare_pairs(self, k: int) -> ItemsetTable:
        """List the rare pairs of rows without rare items."""
        order, ranked = self.ranked
        starts, partners, supports = ranked.pairs
        first, rare = rows_of(starts), supports < k
        codes = np.sort(np.column_stack((order[first[rare]], order[partners[rare]])), axis=1).ravel()
        return ItemsetTable(codes, np.arange(0, len(codes) + 1, 2), supports[rare])

    def _mine_rare(
        self,
        k: int,
        m: int,
        cliques: tuple[Offsets, Codes],
        exposed: NDArray[np.int32],
        order: Codes | None = None,
    ) -> list[ItemsetTable]:
        """Search rare itemsets of size 3 and more, in parts, between which it can be stopped."""
        # The codes of the rows are ranks. With ``order``, the item of each rank, the itemsets are listed.
        listing = order is not None
        items = np.empty(0, np.int32) if order is None else order
        nothing, room = np.empty(0, np.int64), np.array([MOST_ITEMSETS])

        def part(begin: int, end: int) -> ItemsetTable:
            if listing:  # audits do not list, and must finish after the time limit, too
                check_time()
            # Threads may write to the same element of `exposed`, but then the same number.
            output = items, exposed, 1, k - 1, nothing, room, halt_flag()
            kernel = itemset_search.RareSearch(k, m, begin, end, self.rows, *cliques, *output)
            return ItemsetTable(*kernel.itemsets())

        return search(part, many_parts(self.transpose[0], 51), self.search_bound(m), limited=listing)


def threats_beyond_pairs(rows: Callable[[], SupportIndex], k: int, m: int | None) -> Iterator[ItemsetTable]:
    """List the rare itemsets of size 3 to m, size by size, until none is left."""
    # No item and no pair is rare. Lists are of minimal rare itemsets, or of rare rows if m covers every
    # itemset of a row. Between two lists the caller generalizes the rows, so that the listed itemsets are no
    # longer rare. No smaller size becomes rare again: a row that holds a generalized itemset holds an itemset
    # that it stands for, whose support was 0 or at least k.
    for size in sizes_beyond_pairs(rows().longest, m):
        while len(threats := rows().rare(k, size)):
            yield threats


def sizes_beyond_pairs(longest: int, m: int | None) -> Sequence[int | None]:
    """Return the sizes of itemsets to search in rows of a maximum length; None stands for whole rows."""
    if m is not None and m <= 2:
        return ()
    return (None,) if m is None or m >= longest else range(3, m + 1)


def in_both_directions(starts: Offsets, partners: Codes) -> tuple[Offsets, Codes]:
    """Return the sorted partners of each item on both sides, given those after it in any order."""
    n_items = len(starts) - 1
    before = row_loops.holders(partners, starts, n_items)
    after = row_loops.holders(before[1], before[0], n_items)
    codes, offsets = append_rows([(each, bounds) for bounds, each in (before, after)])
    return offsets, codes


def csr(columns: NDArray[Any], offsets: NDArray[Any], n_columns: int, values: Any = 1.0) -> Any:
    """Build a sparse matrix of rows, with the index type that is fastest in SciPy."""
    # ``values`` are those of the elements, or the one of all.
    from scipy.sparse import csr_array

    index = np.int32 if len(columns) < 2**31 else np.int64
    values = values if np.ndim(values) else np.full(len(columns), values)
    shape = len(offsets) - 1, n_columns
    return csr_array((values, columns.astype(index), offsets.astype(index)), shape=shape)


def check_rows(n_rows: int, k: int) -> None:
    """Check that 0 or at least k rows are present, so that empty rows can be equal to k - 1 others."""
    if 0 < n_rows < k:
        raise InfeasibleError(
            "k is larger than the number of rows",
            got=f"k={k}, {n_rows} rows",
            hint="choose a smaller k",
        )


def check_feasible(index: SupportIndex, k: int, n_present: int) -> None:
    """Check that 0 or at least k rows hold an item, and that 0 or at least k rows are not missing."""
    if 0 < index.n_non_empty < k:
        raise InfeasibleError(
            "k is larger than the number of rows that hold an item",
            got=f"k={k}, {index.n_non_empty} non-empty of {index.n_rows} rows",
            hint="choose a smaller k",
        )
    check_rows(n_present, k)


def supports(itemsets: Itemsets) -> pd.Series[int]:
    """Count the rows that hold each item of a column, by item."""
    items = pd.Index(pd.array(itemsets.vocabulary, dtype=pd.ArrowDtype(itemsets.vocabulary.type)))
    return pd.Series(SupportIndex.of(itemsets).singles, index=items, name="support")


def search_bound(lengths: Numbers, m: int) -> float:
    """Return an upper bound on the itemsets of size at most m in rows with these lengths, row by row."""
    found = np.ones(len(lengths))
    for place in range(min(m, int(lengths.max(initial=0)))):
        found *= np.maximum((lengths - place) / (place + 1), 1)  # the largest binomial up to this size
    return m * float(found.sum())


# --- Order of rows by the Gray code of their items: neighbors differ in few items


def support_ranks(index: SupportIndex) -> Codes:
    """Rank the items by descending support; ties by code."""
    return inverse_order(np.argsort(-index.singles, kind="stable").astype(np.int32))


def by_support(index: SupportIndex) -> Codes:
    """Replace the items of rows by their ranks of `support_ranks`."""
    return canonical_rows(support_ranks(index)[index.codes], index.offsets, index.n_items)[0]


def gray_ranks(index: SupportIndex) -> Numbers:
    """Rank rows by the Gray code of their items, the items by descending support. Equal rows share a rank."""
    return ranks_of(by_support(index), index.offsets, index.n_items)


def ranks_of(codes: Codes, offsets: Offsets, n_items: int) -> Numbers:
    """Rank rows by the Gray code of their items, the items by number. Equal rows share a rank."""
    # Bit j of the code is 1 if the row holds an odd number of the items 0 to j. Let two rows differ first in
    # their i-th items. If i is even, the row with the smaller item is greater; if i is odd, it is less.
    order, is_first = _sort_rows(codes, offsets, np.zeros(len(offsets) - 1, np.int64), n_items, gray=True)
    ranks = np.empty_like(order)
    ranks[order] = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    return ranks
