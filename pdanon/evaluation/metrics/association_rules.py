"""Frequent itemsets and association rules of a table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.parameters import check_share
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, canonical_rows
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.dtype import ListArray
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import Floats, mask_at, offsets_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import (
    check_count,
    check_frame,
)

MOST_ITEMSETS = 1_000_000  # about a gigabyte; the number is exponential in the length of dense rows
_FEWER = "pass a larger min_support, or a smaller max_size"


def frequent_itemsets(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    min_support: float,
    max_size: int | None = None,
) -> pd.DataFrame:
    """List the itemsets that at least a share of the rows contains.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        Original or released rows, and their list column, by default the only one.
    min_support : float
        Minimum share of the rows, in (0, 1].
    max_size : int, optional
        Maximum number of items. By default any.

    Returns
    -------
    pandas.DataFrame
        ``itemset`` and ``support`` (rows), by size, then by items.

    Raises
    ------
    ParameterError
        If a number is out of range, or there are more than 1,000,000 frequent itemsets.

    Notes
    -----
    A depth-first search stops above the maximum number, so that an excess is reported early. Memory: one bit
    for each row and frequent item, and about 300 bytes for each itemset.
    """
    with show_activity("frequent itemsets"):
        itemsets = Itemsets.from_series(list_column(frame, column))
        found = _mine(itemsets, _min_rows(min_support, itemsets.n_rows), _check_max_size(max_size)).ordered()
    return pd.DataFrame({"itemset": as_lists(found, itemsets), "support": found.supports})


def as_lists(table: ItemsetTable, itemsets: Itemsets) -> ListArray:
    """Return itemsets as a list column, with the items of another column."""
    nulls = np.zeros(len(table), np.bool_)
    return Itemsets(table.codes, table.offsets, itemsets.vocabulary, nulls).to_pandas()


def _check_max_size(max_size: Any) -> int | None:
    return None if max_size is None else check_count(max_size, "max_size", least=1)


def _min_rows(min_support: Any, n_rows: int) -> int:
    """Return the minimum number of rows of a frequent itemset."""
    share = check_positive_share(min_support, "min_support")
    return max(-(-share.numerator * n_rows // share.denominator), 1)  # rounded up, on exact integers


def _mine(
    itemsets: Itemsets, least: int, max_size: int | None, where: str = "min_support", hint: str = _FEWER
) -> ItemsetTable:
    """Return the itemsets that at least a number of rows contain, in no particular order."""
    found = _list_frequent(SupportIndex.of(itemsets), least, max_size, MOST_ITEMSETS)
    if len(found) > MOST_ITEMSETS:
        got = f"more than {MOST_ITEMSETS:,} in at least {least} of {itemsets.n_rows} rows"
        raise ParameterError("too many frequent itemsets", where=where, got=got, hint=hint)
    return found


def _list_frequent(index: SupportIndex, least: int, max_size: int | None, most: int) -> ItemsetTable:
    """List the itemsets that at least a number of rows contain; stop at some number above ``most``."""
    order, ranked = index.keep_items(index.singles >= least).ranked
    items = np.flatnonzero(ranked.singles).tolist()
    found: list[tuple[tuple[int, ...], int]] = [((item,), int(ranked.singles[item])) for item in items]
    nodes: list[tuple[tuple[int, ...], int, list[int]]] = []
    if max_size != 1 and len(found) <= most:
        starts, tids, _ = ranked.transpose
        pairs, partners, _ = ranked.sorted_pairs(least)
        # The rows of an itemset are the bits of an integer.
        masks = (mask_at(len(index.weights), tids[begin:end]) for begin, end in pairwise(starts))
        rows = [int.from_bytes(np.packbits(mask).tobytes()) for mask in masks]
        nodes = [
            ((item,), rows[item], partners[begin:end].tolist())
            for item, (begin, end) in enumerate(pairwise(pairs))
        ]
    while nodes and len(found) <= most:
        itemset, held, later = nodes.pop()
        longer = [
            (item, both, support)
            for item in later
            if (support := (both := held & rows[item]).bit_count()) >= least
        ]
        found += [((*itemset, item), support) for item, _, support in longer]
        if len(itemset) + 1 != max_size:
            items = [item for item, *_ in longer]
            nodes += [
                ((*itemset, item), both, items[place:]) for place, (item, both, _) in enumerate(longer, 1)
            ]
    offsets = offsets_of(np.array([len(itemset) for itemset, _ in found], np.int64))
    ranks = np.fromiter(chain.from_iterable(itemset for itemset, _ in found), np.int32)
    codes, offsets = canonical_rows(order[ranks], offsets, index.n_items)
    return ItemsetTable(codes, offsets, np.array([support for _, support in found], np.int64))


MOST_RULES = 5_000_000  # about a gigabyte as a table
_MOST_SPLITS = 100_000_000  # splits of frequent itemsets into two sides: about 30 seconds
_CELLS = 2**22  # upper bound on the subsets of a block of itemsets, unless one itemset has more


@takes_tables
def rules(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    min_support: float,
    min_confidence: float,
    max_size: int | None = None,
) -> pd.DataFrame:
    """List the association rules of a table.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        Original or released rows, and their list column, by default the only one.
    min_support, min_confidence : float
        Minimum share, in (0, 1], of the rows that contain all items of a rule; and their share among the rows
        with its antecedent.
    max_size : int, optional
        Maximum number of items of a rule, both sides together. By default any.

    Returns
    -------
    pandas.DataFrame
        ``antecedent`` and ``consequent``, disjoint and not empty; ``support`` (rows with both);
        ``confidence``; and ``lift``, the confidence divided by the share of all rows that contain the
        consequent. By descending confidence, then by descending support, size and items.

    Raises
    ------
    ParameterError
        If a number is out of range, the table has chunks of rows, or there are more than 1,000,000 frequent
        itemsets or 5,000,000 rules.

    Notes
    -----
    Confidences are compared with the minimum as exact fractions. In a release, a label is an item: a rule
    over ``(a,b)`` is a statement about rows that contain a or b.
    Cost: that of `frequent_itemsets`, and time to look up each subset of each frequent itemset.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.metrics import patterns
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["tea"], ["rice", "salt", "tea"]]})
    >>> patterns.rules(df, min_support=0.5, min_confidence=0.75)
      antecedent consequent  support  confidence  lift
    0   ['rice']    ['tea']        3        1.00   1.0
    1    ['tea']   ['rice']        3        0.75   1.0
    """
    with show_activity("association rules"):
        share = check_positive_share(min_confidence, "min_confidence")
        refuse_chunks(check_frame(frame))
        itemsets = Itemsets.from_series(list_column(frame, column))
        found = RuleTable.mine(itemsets, _min_rows(min_support, itemsets.n_rows), share, max_size)
        return found.to_frame(itemsets)


def check_positive_share(value: Any, name: str) -> Fraction:
    """Check a share in (0, 1]."""
    share = check_share(value, name)
    if share == 0:
        raise ParameterError(f"{name} must be above 0", got=value)
    return share


# --- Mining: each rule splits a frequent itemset, and both sides are frequent, too


@frozen
class Frequent:
    """Frequent itemsets that are found by their items. Itemset 0 is the empty one."""

    sets: ItemsetTable  # the other itemsets, by size, then by items
    supports: Numbers  # of each itemset, the empty one included
    keys: Numbers  # ascending: of each other one, the number of its prefix and its last item
    n_items: int  # codes are in range(n_items)

    @classmethod
    def mine(cls, itemsets: Itemsets, least: int, max_size: int | None) -> Frequent:
        """Mine the itemsets that at least a number of rows contain."""
        sets = _mine(itemsets, least, _check_max_size(max_size)).ordered()
        supports = np.append(itemsets.n_rows, sets.supports)
        found = cls(sets, supports, np.empty(0, np.int64), itemsets.n_items)
        for _, codes in found.by_size():  # the prefixes are one item smaller, and have numbers already
            keys = found.find(codes[:, :-1]) * found.n_items + codes[:, -1]
            found = replace(found, keys=np.append(found.keys, keys))
        return found

    def by_size(self) -> Iterator[tuple[Numbers, Codes]]:
        """Yield the numbers and the codes of all itemsets of one size, as the rows of a matrix."""
        sizes = self.sets.lengths
        for size in range(1, int(sizes.max(initial=0)) + 1):
            first, end = np.searchsorted(sizes, [size, size + 1])
            codes = self.sets.codes[self.sets.offsets[first] : self.sets.offsets[end]]
            yield np.arange(first, end) + 1, codes.reshape(-1, size)

    def find(self, codes: Codes) -> Numbers:
        """Return the number of each row of a matrix of ascending codes; -1 if it is not frequent."""
        numbers = np.zeros(len(codes), np.int64)
        for column in codes.T:
            numbers = np.where(column < 0, numbers, self.extend(numbers, column))
        return numbers

    def extend(self, numbers: Numbers, items: Codes) -> Numbers:
        """Return the number of each itemset with one more item, beyond its last; -1 if it is not frequent."""
        keys = np.where(numbers >= 0, numbers * self.n_items + items, -1)
        places = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, -2)
        return np.where(known[places] == keys, places + 1, -1)

    def take(self, numbers: Numbers) -> ItemsetTable:
        """Return the itemsets with some numbers, without the empty itemset."""
        return self.sets.take(numbers - 1)


@frozen
class RuleTable:
    """Rules as the numbers of their frequent itemsets: of all items, and of both sides."""

    frequent: Frequent
    wholes: Numbers
    antecedents: Numbers
    consequents: Numbers

    @classmethod
    def mine(cls, itemsets: Itemsets, least: int, share: Fraction, max_size: int | None) -> RuleTable:
        """Mine the rules of a support and a confidence; the strongest first."""
        frequent = Frequent.mine(itemsets, least, max_size)
        splits = float((np.exp2(frequent.sets.lengths) - 2).sum())
        parts, n_found = [np.empty((3, 0), np.int64)], 0
        for numbers, codes in frequent.by_size():
            step = max(_CELLS >> codes.shape[1], 1)
            for first in range(0, len(codes), step):
                if splits > _MOST_SPLITS or n_found > MOST_RULES:
                    got = f"more than {MOST_RULES:,}, or more than {_MOST_SPLITS:,} candidates"
                    hint = "pass a larger min_support or min_confidence, or a smaller max_size"
                    raise ParameterError("too many association rules", got=got, hint=hint)
                block = slice(first, first + step)
                parts.append(_split(frequent, numbers[block], codes[block], share))
                n_found += parts[-1].shape[1]
        found = np.concatenate(parts, axis=1)
        rules = cls(frequent, *found)
        order = np.lexsort((-rules.supports, -rules.confidences))  # stable: ties stay in item order
        return cls(frequent, *found[:, order])

    def __len__(self) -> int:
        return len(self.wholes)

    @property
    def supports(self) -> Numbers:
        """Number of rows with all items of each rule."""
        return self.frequent.supports[self.wholes]

    @property
    def confidences(self) -> Floats:
        """Share of the rows with the antecedent that contain the consequent, too."""
        return self.supports / self.frequent.supports[self.antecedents]

    def to_frame(self, itemsets: Itemsets) -> pd.DataFrame:
        """Return the table of `rules`, with the items of a column."""
        shares = self.frequent.supports / max(itemsets.n_rows, 1)
        return pd.DataFrame(
            {
                "antecedent": as_lists(self.frequent.take(self.antecedents), itemsets),
                "consequent": as_lists(self.frequent.take(self.consequents), itemsets),
                "support": self.supports,
                "confidence": self.confidences,
                "lift": self.confidences / shares[self.consequents],
            }
        )


def _split(frequent: Frequent, numbers: Numbers, codes: Codes, share: Fraction) -> Numbers:
    """Split itemsets of one size in all ways with enough confidence."""
    subsets = np.zeros((len(codes), 1), np.int64)  # subset i has the items at the bits of i
    for column in codes.T:
        subsets = np.hstack((subsets, frequent.extend(subsets, column[:, None])))
    antecedents, consequents = subsets[:, 1:-1], subsets[:, -2:0:-1]
    support, base = frequent.supports[numbers][:, None], frequent.supports[antecedents]
    rows, places = np.nonzero(support * share.denominator >= base * share.numerator)
    return np.stack((numbers[rows], antecedents[rows, places], consequents[rows, places]))
