"""The transactions of a table with quasi-identifiers, made k^m-anonymous cluster by cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.rt.diverse_sets import DiverseSets
from pdanon.algorithms.rt.refining import ClassSearch, held, rows_of
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.states.cuts import Cut
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import check_share
from pdanon.guarantees.utility import item_blocks, partition
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.progress import quietly
from pdanon.itemsets.support import SupportIndex

__all__ = ["TransactionSide", "by_cuts", "by_diverse_cuts", "by_diverse_sets", "by_sets"]


@dataclass(frozen=True, eq=False, slots=True)
class TransactionSide:
    """The transactions of all rows, and how those of a cluster are anonymized.

    Parameters
    ----------
    itemsets : Itemsets
        The transactions.
    k, m : int
        As in :class:`pdanon.KmAnonymity`.
    decide : callable
        The algorithm: rows and their items to a number for each occurrence, which is a node of the
        hierarchy, or is shared by the items of a set, or is -1 where the item is suppressed.
    sizes : ndarray of int64, shape (nodes,), or None
        How many leaves each node covers; None where sets are published.
    domains : ndarray of int64, shape (columns,)
        By list column, the number of leaves, or of items that occur.
    column_of : ndarray of int32, shape (items,)
        The list column of each item.
    measure : {"ncp", "ul"}
        What is meant by the loss of transactions (Tum).
    search : ClassSearch, optional
        How what was decided is refined, if it is.
    """

    itemsets: Itemsets
    k: int
    m: int | None
    decide: Callable[[SupportIndex, Codes], Codes]
    sizes: NDArray[np.int64] | None
    domains: NDArray[np.int64]
    column_of: Codes
    measure: str
    search: ClassSearch | None = None

    @property
    def most(self) -> int:
        """The loss of all rows together, if nothing were known of their transactions."""
        return self._most(self.itemsets.n_rows, len(self.itemsets.codes))

    def _most(self, n_rows: int, n_occurrences: int) -> int:
        """The loss of some rows together, if nothing were known of their transactions."""
        return n_rows if self.measure == "ul" else lcm(*self.domains.tolist()) * n_occurrences

    def protect(self, rows: Numbers) -> tuple[Numbers, Codes]:
        """Anonymize the transactions of some rows.

        Parameters
        ----------
        rows : ndarray of int64
            The rows of a cluster.

        Returns
        -------
        places : ndarray of int64
            Where their occurrences are among all.
        numbers : ndarray of int32
            What each becomes, as `decide` says. All are suppressed if fewer than k rows hold an item: no
            release of them could be k^m-anonymous.
        """
        places, own, items, numbers = self._decided(rows)
        if self.search is None or np.count_nonzero(own.lengths) < self.k:
            return places, numbers
        became = np.empty(len(items), np.int32)
        became[own.codes] = numbers
        refined = self.search.refined(own, items, became)[own.codes]
        return places, min(numbers, refined, key=partial(self.loss, places))

    def _decided(self, rows: Numbers) -> tuple[Numbers, Itemsets, Codes, Codes]:
        """Where the occurrences of some rows are, the rows not missing, their items, and what was decided."""
        places = self.itemsets.places(rows)
        own, items = held(self.itemsets.take(rows[~self.itemsets.nulls[rows]]))  # a missing one hides nothing
        index = SupportIndex.of(own)
        if index.n_non_empty < self.k:
            return places, own, items, np.full(len(places), -1, np.int32)
        return places, own, items, self.decide(index, items)

    def loss(self, places: Numbers, numbers: Codes) -> float:
        """Loss of some rows together, by what their occurrences become.

        NCP as a release reports it, where an occurrence costs a share of its list column's domain: times a
        multiple of all domains, an integer.
        """
        covered = self._stands_for(places, numbers)
        if self.measure == "ncp":
            changed = (covered > 1) | (numbers < 0)
            lost = np.zeros(len(self.domains), np.int64)
            np.add.at(lost, self._column_of(places)[changed], covered[changed])
            unit = lcm(*self.domains.tolist())
            return sum(
                each * (unit // size) for each, size in zip(lost.tolist(), self.domains.tolist(), strict=True)
            )
        row_of = np.searchsorted(self.itemsets.offsets, places, side="right")
        published = row_of * (int(numbers.max(initial=0)) + 2) + numbers + 1
        _, first = np.unique(published, return_index=True)
        rows, row = np.unique(row_of[first], return_inverse=True)
        size = covered[first].astype(np.float64)
        all_sizes = np.bincount(row, size, minlength=len(rows))
        terms = (np.exp2(size - all_sizes[row]) - np.exp2(-all_sizes[row])) / (1 - np.exp2(-all_sizes[row]))
        return float(terms.sum())

    def average_loss(self, rows: Numbers) -> Fraction:
        """Loss of some rows on average, anonymized together but not refined; a share of the most."""
        places, _, _, numbers = self._decided(rows)
        return Fraction(self.loss(places, numbers)) / max(self._most(len(rows), len(places)), 1)

    def _column_of(self, places: Numbers) -> Codes:
        """The list column of some occurrences."""
        return self.column_of[self.itemsets.codes[places]]

    def _stands_for(self, places: Numbers, numbers: Codes) -> NDArray[np.int64]:
        """How many items what each occurrence becomes stands for; a suppressed one for all of its column."""
        sizes = self.sizes
        if sizes is None:
            members = distinct(numbers * np.int64(self.itemsets.n_items) + self.itemsets.codes[places])
            sizes = np.bincount(members[members >= 0] // self.itemsets.n_items)
        return np.where(numbers < 0, self.domains[self._column_of(places)], np.append(sizes, 0)[numbers])


def by_cuts(
    transaction: Transaction,
    itemsets: Itemsets,
    k: int,
    m: int | None,
    tree: Hierarchy,
    leaves: Codes,
    domains: NDArray[np.int64],
    column_of: Codes,
    *,
    refine: bool,
) -> TransactionSide:
    """Transactions that are published as nodes of a hierarchy; below the root, if that joins columns."""
    joint = len(domains) > 1
    record = ALGORITHMS[transaction.algorithm]
    nodes_of: Any = record.nodes
    decide = partial(_nodes, partial(nodes_of, **_options(transaction)), k, m, tree, leaves, joint)
    sizes = tree.leaves.astype(np.int64)
    side = TransactionSide(itemsets, k, m, decide, sizes, domains, column_of, transaction.tum)
    if not refine or record.recodes != "items":  # an item may become several things in a class
        return side
    return replace(side, search=ClassSearch(KmAnonymity(k, m), (tree, leaves), joint))


def by_diverse_cuts(
    transaction: Transaction,
    itemsets: Itemsets,
    k: int,
    m: int | None,
    tree: Hierarchy,
    leaves: Codes,
    n_leaves: int,
    hidden: NDArray[np.bool_],
    diversity: int,
) -> TransactionSide:
    """Transactions whose known items are published as nodes, and do not give a sensitive one away."""
    decide = partial(_diverse_nodes, k, m, tree, leaves, hidden, diversity)
    sizes, column_of = (
        np.minimum(tree.leaves, n_leaves).astype(np.int64),
        np.zeros(itemsets.n_items, np.int32),
    )
    domains = np.array([n_leaves])
    return TransactionSide(itemsets, 0, m, decide, sizes, domains, column_of, transaction.tum)


def by_diverse_sets(
    transaction: Transaction,
    itemsets: Itemsets,
    k: int,
    m: int | None,
    hidden: NDArray[np.bool_],
    diversity: int,
    *,
    refine: bool,
) -> TransactionSide:
    """Transactions whose known items are published as sets, and do not give a sensitive one away."""
    sets_of: Any = ALGORITHMS[transaction.algorithm].sets
    kinds, share = _limits(transaction, itemsets)
    search = ClassSearch(KmAnonymity(k, m), blocks=kinds) if refine else None
    decide = partial(_diverse_sets, sets_of, k, m, kinds, share, hidden, diversity, search)
    domains, column_of = np.array([itemsets.n_items]), np.zeros(itemsets.n_items, np.int32)
    return TransactionSide(itemsets, 0, m, decide, None, domains, column_of, transaction.tum)


def by_sets(
    transaction: Transaction,
    itemsets: Itemsets,
    k: int,
    m: int | None,
    domains: NDArray[np.int64],
    column_of: Codes,
    *,
    refine: bool,
) -> TransactionSide:
    """Transactions that are published as sets of items, of one column each if there are several."""
    kinds, share = _limits(transaction, itemsets)
    if len(domains) > 1:  # sets of one column may not suffice: what is rare then can only be suppressed
        kinds, share = kinds * len(domains) + column_of, Fraction(1)
    sets_of: Any = ALGORITHMS[transaction.algorithm].sets
    decide = partial(_sets, sets_of, k, m, kinds, share)
    search = ClassSearch(KmAnonymity(k, m), blocks=kinds) if refine else None
    return TransactionSide(itemsets, k, m, decide, None, domains, column_of, transaction.tum, search)


def _limits(transaction: Transaction, itemsets: Itemsets) -> tuple[Numbers, Fraction]:
    """The block of each item, and the share of the items of a class that may be suppressed."""
    options = _options(transaction)
    utility = options.get("utility")
    kinds = item_blocks(None if utility is None else partition(utility), itemsets)
    return kinds, check_share(options.get("max_suppressed", 0.0), "max_suppressed")


def _options(transaction: Transaction) -> dict[str, Any]:
    """All that an algorithm is asked: what is said, and else its defaults."""
    return {**ALGORITHMS[transaction.algorithm].options, **(transaction.options or {})}


# --- The decisions: what they are asked, then rows and their items. Other processes can be sent them.


def _nodes(
    nodes_of: Callable[..., Codes],
    k: int,
    m: int | None,
    tree: Hierarchy,
    leaves: Codes,
    joint: bool,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    nodes = nodes_of(index, tree, leaves[items], k, m, quietly)
    # What is joined at the root is suppressed: then all items are, and nothing is left to be rare.
    return np.where(nodes == 0, -1, nodes) if joint else nodes


def _diverse_nodes(
    k: int,
    m: int | None,
    tree: Hierarchy,
    leaves: Codes,
    hidden: NDArray[np.bool_],
    diversity: int,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    known, secrets = _hiding(index, hidden[items], diversity)
    result = np.where(secrets.singles > 0, leaves[items], -1).astype(np.int32)
    if known.n_non_empty >= k:
        cut = Cut(known, tree, leaves[items], secrets=secrets, diversity=diversity)
        cut.protect(k, m, quietly)
        result = np.where(known.singles > 0, cut.nodes, result)
    return result[index.codes]


def _diverse_sets(
    sets_of: Callable[..., Codes],
    k: int,
    m: int | None,
    kinds: Numbers,
    share: Fraction,
    hidden: NDArray[np.bool_],
    diversity: int,
    search: ClassSearch | None,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    known, secrets = _hiding(index, hidden[items], diversity)
    labels = np.full(index.n_items, -1, np.int32)
    if known.n_non_empty >= k:
        there = np.flatnonzero(known.singles)  # what is in no row would count as suppressed with its block
        found = known.recoded(np.searchsorted(there, np.arange(index.n_items)), len(there))
        labels[known.codes] = _sets(sets_of, k, m, kinds, share, found, items[there])
        if search is not None:  # before: what a move gains is not worth that somebody is surer
            refined = search.refined(rows_of(known, items), items, labels)
            labels = np.where(hidden[items], -1, refined).astype(np.int32)
        sets = DiverseSets(known, secrets, labels, kinds[items], diversity, len(hidden))
        sets.protect(k, m)
        _, first, number = np.unique(sets.labels, return_index=True, return_inverse=True)
        labels = np.where(sets.labels < 0, -1, first[number]).astype(np.int32)
    shown = np.flatnonzero(secrets.singles > 0)
    labels[shown] = shown  # a set has the number of an item of its own
    return labels[index.codes]


def _hiding(
    index: SupportIndex, secret: NDArray[np.bool_], diversity: int
) -> tuple[SupportIndex, SupportIndex]:
    """The known items of some rows, and the secrets that can hide in them.

    None of the rows is missing. An attacker who knows the class alone, or that a row holds any known item,
    must not be surer than one in l.
    """
    known, secrets = index.holding_only(~secret), index.holding_only(secret)
    filled = secrets.within(np.diff(known.offsets) > 0)
    sure = (secrets.singles * diversity > index.n_rows) | (filled.singles * diversity > filled.n_rows)
    return known, secrets.holding_only(~sure)


def _sets(
    sets_of: Callable[..., Codes],
    k: int,
    m: int | None,
    kinds: Numbers,
    share: Fraction,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    try:
        return sets_of(index, kinds[items], int(share * index.n_items), k, m, quietly)
    except InfeasibleError as error:
        raise InfeasibleError(
            "items of a class cannot hide within their block, and too many would have to be left out",
            where=f"utility, in a class of {index.n_rows:,} rows",
            got=f"max_suppressed={float(share):g}: the share of the items of a class that may be",
            hint="max_suppressed=1 leaves out of a class what cannot hide in it; more can in larger blocks, "
            "and in larger classes, which a larger delta makes",
        ) from error
