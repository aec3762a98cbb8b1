"""The transactions of a table with quasi-identifiers, made k^m-anonymous cluster by cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.states.cuts import Cut
from pdanon.algorithms.states.cuts_search import CutRefinement
from pdanon.algorithms.states.sets_search import Refinement
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.breaches import breaches
from pdanon.guarantees.parameters import check_share
from pdanon.guarantees.utility import item_blocks, partition
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import report_nothing
from pdanon.recoding.emptied import labels_to_suppress

__all__ = [
    "ClassSearch",
    "DiverseSets",
    "TransactionSide",
    "by_cuts",
    "by_diverse_cuts",
    "by_diverse_sets",
    "by_sets",
    "held",
    "rows_of",
]


def held(rows: Itemsets) -> tuple[Itemsets, Codes]:
    """Some rows with the items that they hold alone, and the codes that these have among all."""
    items, codes = np.unique(rows.codes, return_inverse=True)
    vocabulary = rows.vocabulary.take(pa.array(items))
    return replace(rows, codes=codes.astype(np.int32), vocabulary=vocabulary), items


def rows_of(index: SupportIndex, items: Codes) -> Itemsets:
    """Rows that are known by the codes of their items alone."""
    missing = np.zeros(len(index.weights), np.bool_)
    return Itemsets(index.codes, index.offsets, pa.array(items), missing, index.weights)


@dataclass(frozen=True, eq=False, slots=True)
class ClassSearch:
    """How the items of a class are refined.

    Parameters
    ----------
    guarantee : KmAnonymity
        What is to be kept in each class.
    cover : tuple of Hierarchy and ndarray, optional
        The hierarchy, and the leaf of each item of the table, where nodes are published.
    joint : bool
        Whether the root joins columns, so that what is there is suppressed.
    blocks : ndarray of int64, shape (items,), optional
        Only items of one block share a set.
    base : int
        The loss that is to fall: 0 for NCP, 1 for LM.
    """

    guarantee: KmAnonymity
    cover: tuple[Hierarchy, Codes] | None = None
    joint: bool = False
    blocks: NDArray[np.int64] | None = None
    base: int = 0

    def begin(
        self, rows: Itemsets, items: Codes, became: Codes, started: float | None = None
    ) -> Refinement | CutRefinement:
        """A search in a class, whose rows and items are those of `held`.

        Parameters
        ----------
        rows : Itemsets
            The rows.
        items : ndarray of int32
            Which items of the table they hold.
        became : ndarray of int32
            The node of each of these items, or a number of its set; -1 where it is suppressed.
        started : float, optional
            Since when seconds are counted; a value of ``time.perf_counter()``.
        """
        since = time.perf_counter() if started is None else started
        if self.cover is None:
            blocks = None if self.blocks is None else self.blocks[items]
            return Refinement(rows, became, self.guarantee, blocks, "lm" if self.base else "ncp", since)
        tree, leaves = self.cover
        index = SupportIndex.of(rows)
        one = np.zeros(len(index.weights), np.int32)
        return CutRefinement(index, one, tree, leaves[items], became[None], self.guarantee, self.base, since)

    def refined(self, rows: Itemsets, items: Codes, became: Codes) -> Codes:
        """What each item becomes when no single move gains; parameters as those of `begin`."""
        search = self.begin(rows, items, became)
        if isinstance(search, CutRefinement):
            search.lower()
        else:
            search.descend()
        found = search.best.reshape(-1).astype(np.int32)
        return np.where(found == 0, -1, found) if self.joint else found


# --- Sets of known items that are merged, and at worst suppressed, until none of them gives a secret away


class DiverseSets:
    """Sets of the known items of some rows, beside the secrets of the same rows.

    To merge sets, or to suppress one, lowers no support: what has k rows keeps them. Where no set is left,
    nobody who knows items learns anything.

    Parameters
    ----------
    known, secrets : SupportIndex
        The same rows, none of which counts more than once.
    labels : ndarray of int32, shape (items,)
        The set of each known item, -1 if it is suppressed or a secret; k^m-anonymous.
    kinds : ndarray of int64, shape (items,)
        The block of each item; those of a set have the same one, and sets of different ones do not merge.
    diversity : int
        Of the rows that hold some sets, at most one in so many may hold a secret.
    domain : int
        What a suppressed occurrence loses: the number of items of the table.

    Attributes
    ----------
    labels : ndarray of int32
        The set of each item now.

    Notes
    -----
    Memory: a byte for each set and row.
    """

    def __init__(
        self,
        known: SupportIndex,
        secrets: SupportIndex,
        labels: Codes,
        kinds: NDArray[np.int64],
        diversity: int,
        domain: int,
    ) -> None:
        self.labels, self._known, self._secrets = labels.copy(), known, secrets
        self._diversity, self._domain = diversity, domain
        kept = labels >= 0
        n_sets = int(labels.max(initial=-1)) + 1
        self._size = np.bincount(labels[kept], minlength=n_sets)
        self._held = np.zeros(n_sets, np.int64)
        np.add.at(self._held, labels[kept], known.singles[kept])
        self._kind = np.zeros(n_sets, np.int64)
        self._kind[labels[kept]] = kinds[kept]
        self._rows = _table(known.recode(labels, max(n_sets, 1)), n_sets)
        told = secrets.singles > 0
        self._told = _table(secrets, secrets.n_items)[told].T.astype(np.int32)

    def protect(self, k: int, m: int | None) -> None:
        """Merge and suppress until of the rows that hold up to m sets few enough hold each secret."""
        asked = {"share": Fraction(1, self._diversity), "m": m, "k": k}
        while True:
            rows = self._known.recode(self.labels, max(len(self._size), 1))
            found = breaches(rows, self._secrets, **asked).sets()  # type: ignore[arg-type]
            if not found:
                return
            now = np.arange(len(self._size))
            for sets in found:
                self._mend(np.unique([now[each] for each in sets if now[each] >= 0]), now)

    def _mend(self, image: NDArray[np.int64], now: NDArray[np.int64]) -> None:
        """Make one step, if some sets together still give a secret away: that which loses least."""
        if not len(image) or not self._gives_away(np.logical_and.reduce(self._rows[image], keepdims=True))[0]:
            return
        steps = [step for one in image.tolist() for step in self._steps(one, image)]
        _, one, other = min(steps, key=lambda step: step[0])
        self.labels[self.labels == one] = now[now == one] = other
        if other >= 0:
            self._rows[other] |= self._rows[one]
            self._size[other] += self._size[one]
            self._held[other] += self._held[one]
        self._rows[one], self._size[one], self._held[one] = False, 0, 0

    def _steps(self, one: int, image: NDArray[np.int64]) -> list[tuple[int, int, int]]:
        """What can become of a set, so that these give nothing away: the loss, the set, and what it joins.

        It joins the set with which least is lost, if there is any that will do, or -1: it is suppressed.
        """
        own = int(self._price(self._size[one], self._held[one]))
        steps = [(self._domain * int(self._held[one]) - own, one, -1)]
        beside = self._rows[image[image != one]].all(axis=0)
        together = self._rows[:, beside] | self._rows[one, beside]
        fit = ~self._gives_away(together, beside) & (self._size > 0) & (self._kind == self._kind[one])
        fit[image] = False
        others = np.flatnonzero(fit)
        if len(others):
            size, held = self._size[others], self._held[others]
            lost = self._price(size + self._size[one], held + self._held[one]) - self._price(size, held)
            best = int(np.argmin(lost))
            steps.insert(0, (int(lost[best]) - own, one, int(others[best])))
        return steps

    def _gives_away(
        self, matches: NDArray[np.bool_], of: NDArray[np.bool_] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Whether a secret is in too many of the rows of each line."""
        shared = matches.astype(np.int32) @ self._told[of]
        return (shared.astype(np.int64) * self._diversity > matches.sum(axis=1)[:, None]).any(axis=1)

    @staticmethod
    def _price(size: NDArray[np.int64], held: NDArray[np.int64]) -> NDArray[np.int64]:
        """NCP of sets, times the number of items of the table."""
        return np.where(size > 1, size * held, 0)


def _table(index: SupportIndex, n_items: int) -> NDArray[np.bool_]:
    """Which rows hold each item."""
    table = np.zeros((n_items, len(index.weights)), np.bool_)
    table[index.codes, np.repeat(np.arange(len(index.weights)), np.diff(index.offsets))] = True
    return table


# --- The transactions of a table with quasi-identifiers, made k^m-anonymous cluster by cluster


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
        both = self._hidden(own, numbers), self._hidden(own, refined)
        return places, min(both, key=partial(self.loss, places))

    def _hidden(self, rows: Itemsets, numbers: Codes) -> Codes:
        """What occurrences become when none or at least k rows are to be emptied."""
        gone = labels_to_suppress(numbers.astype(np.int64), rows, self.k)
        return np.where(np.isin(numbers, gone), np.int32(-1), numbers)

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
    nodes = nodes_of(index, tree, leaves[items], k, m, report_nothing)
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
        cut.protect(k, m, report_nothing)
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
        found = known.recode(np.searchsorted(there, np.arange(index.n_items)), len(there))
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
    known, secrets = index.keep_items(~secret), index.keep_items(secret)
    filled = secrets.within(np.diff(known.offsets) > 0)
    sure = (secrets.singles * diversity > index.n_rows) | (filled.singles * diversity > filled.n_rows)
    return known, secrets.keep_items(~sure)


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
        return sets_of(index, kinds[items], int(share * index.n_items), k, m, report_nothing)
    except InfeasibleError as error:
        raise InfeasibleError(
            "items of a class cannot hide within their block, and too many would have to be left out",
            where=f"utility, in a class of {index.n_rows:,} rows",
            got=f"max_suppressed={float(share):g}: the share of the items of a class that may be",
            hint="max_suppressed=1 leaves out of a class what cannot hide in it; more can in larger blocks, "
            "and in larger classes, which a larger delta makes",
        ) from error
