"""Lower bounds on the loss of all releases that recode an item equally in all rows, and of deletions."""

# Items are in conflict if a release cannot publish all of them as they are, because they are a rare itemset.
# In each conflict, at least one item must change. The weight of the changed items is bounded by prices: each
# conflict has a price, and the prices of the conflicts with an item sum to at most its weight.
#
# Releases by deletions keep an item in some rows. There, each row has conflicts of its own.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from pdanon._kernels.conflicts import Packing
from pdanon._kernels.deletions import Deletions, exempt, pack
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import constraint_table
from pdanon.itemsets.cards import Lines, Share, card, listing
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, mask_at, offsets_of, rows_of, sums
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, csr, in_both_directions
from pdanon.itemsets.timing import TimeLimitError, check_time, seconds_left, time_is_up

BOUNDED = (KmAnonymity, PrivacyConstraints)
LOSSES = ("occurrences", "NCP")

_LARGEST = 3  # items of the rare itemsets that are listed
_MOST_VISITED = 2 * 10**8  # itemsets that a search for rare itemsets of 3 items may visit
_PASSES, _STEPS = 100, 2 * 10**8  # of a packing; a step takes about 2 ns
_LEAST_STEPS, _STEPS_OF_OCCURRENCE = 2 * 10**6, 40  # of one that takes a small part of the time of a release
_SLOT = 4  # bytes of a pair in each of its rows
_ROWS = 3000  # rows added to a linear program at once
_TOLERANCE = 1e-6  # of sums of shares


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """A lower bound on the loss of all releases with a guarantee, of one kind.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee.
    loss : {"occurrences", "NCP"}
        The loss.
    changed : int
        Lower bound on the number of occurrences that change.
    total : int
        Number of occurrences.
    n_items : int
        Number of items that occur.
    reached : float or None
        The loss of a release, to compare.
    kind : {"sets", "deletions"}
        The releases: those that recode an item equally in all rows, or those that delete single occurrences.
    by_sets : int
        Beside deletions: a lower bound on the number of occurrences that any release by sets changes.
    """

    guarantee: KmAnonymity | PrivacyConstraints
    loss: str
    changed: int
    total: int
    n_items: int
    reached: float | None = None
    kind: str = "sets"
    by_sets: int = 0

    @property
    def least(self) -> float:
        """The lower bound on the loss, from 0 to 1. It is never above the loss of a result."""
        # Results sum NCP in floats. Their occurrences are a quotient of integers, as here.
        return float(self._exact) * (1 if self.loss == "occurrences" else 1 - 1e-9)

    @property
    def _exact(self) -> Fraction:
        share = Fraction(self.changed, max(self.total, 1))
        if self.loss == "occurrences" or self.kind == "deletions":  # a deletion has an NCP of 1
            return share
        return share * Fraction(2, max(self.n_items, 2))

    def beside(self, reached: float) -> Bound:
        """Return the bound with the loss of a release."""
        return replace(self, reached=float(reached))

    @property
    def is_reached(self) -> bool:
        """Whether the release to compare is proven to have the least loss."""
        return self.loss == "occurrences" and self.reached is not None and self.reached <= self.least

    @property
    def sentence(self) -> str:
        """The bound as a sentence, rounded down to 4 digits, without its last point."""
        what = "changes less" if self.loss == "occurrences" else "has less NCP"
        return f"no release by {self.kind} {what} than {_percent(self._exact)}"

    def __repr__(self) -> str:
        return listing(self._title, self._lines())

    def _repr_html_(self) -> str:
        return card(self._title, self._lines())

    @property
    def _title(self) -> str:
        return f"Bound: {self.sentence}"

    def _lines(self) -> Lines:
        yield "guarantee", repr(self.guarantee)
        yield "proven", f"{self.changed:,} of {self.total:,} occurrences change in any release by {self.kind}"
        if self.by_sets:
            yield "by sets", f"{self.by_sets:,} change, {_percent(Fraction(self.by_sets, self.total))}"
        if self.reached is not None:
            reached = f"{100 * self.reached:.4g} %{', which is optimal' if self.is_reached else ''}"
            yield "reached", reached, Share(self.reached, self.least)


def bound_lines(bound: Bound | None) -> Lines:
    """Return the line of a result with a bound. A bound of 0 is left out."""
    if bound is not None and bound.changed:
        yield "bound", bound.sentence + (", so this one is optimal" if bound.is_reached else "")
        if bound.by_sets:
            yield "by sets", f"none changes less than {_percent(Fraction(bound.by_sets, bound.total))}"


def _percent(share: Fraction) -> str:
    """Return a share in percent, rounded down to 4 digits."""
    exact = Context(4, ROUND_FLOOR).divide(Decimal(100 * share.numerator), Decimal(share.denominator))
    return f"{exact.normalize():f} %"


def bound_changes(
    itemsets: Itemsets, guarantee: KmAnonymity | PrivacyConstraints, *, exhaustive: bool = False
) -> Bound:
    """Bound the number of occurrences that any release by sets changes."""
    # By default, the number of steps is proportional to the occurrences. ``exhaustive`` raises the bound by
    # linear programs until the time limit of the block, see `limit_time`, or until there is no further
    # condition. The bound is valid also if the time limit is reached before anything is counted.
    index = SupportIndex.of(itemsets)
    weights, total = index.singles, int(index.singles.sum())
    least = 0
    try:
        conflicts = _find_conflicts(itemsets, index.distinct(), guarantee)
        least = conflicts.forced
        steps = _STEPS if exhaustive else max(_LEAST_STEPS, _STEPS_OF_OCCURRENCE * len(itemsets.codes))
        found, rows = conflicts.pack(steps)
        least += found
        if exhaustive and least < total:
            for found in conflicts.relax(rows):
                least = max(least, conflicts.forced + found)
    except TimeLimitError:
        pass
    return Bound(guarantee, "occurrences", least, total, int((weights > 0).sum()))


def bound_deletions(itemsets: Itemsets, guarantee: KmAnonymity | PrivacyConstraints) -> Bound:
    """Bound the number of occurrences that any release by deletions deletes, row by row; and by sets."""
    index = SupportIndex.of(itemsets)
    rows, weights = index.distinct(), index.singles
    if isinstance(guarantee, PrivacyConstraints):
        listed = constraint_table(guarantee.constraints, itemsets)
        least = pack(deletions_of(rows, guarantee.k, np.ones(rows.n_items), listed=listed))
    elif guarantee.m == 1:
        least = int(weights[weights < guarantee.k].sum())
    else:
        least = pack(deletions_of(rows, guarantee.k, np.ones(rows.n_items)))
    sets = bound_changes(itemsets, guarantee)
    return replace(sets, changed=least, kind="deletions", by_sets=sets.changed)


def deletions_of(
    rows: SupportIndex, k: int, worth: Floats, seed: int = 1, listed: ItemsetTable | None = None
) -> Deletions:
    """Return a state of deletions that keeps all occurrences, if there is memory for the pairs of rows."""
    # With ``listed``, only the items and pairs among these itemsets count.
    lengths = rows.lengths
    require_memory(_SLOT * int((lengths * (lengths + 1) // 2).sum()), "the pairs of all rows")
    k = min(k, rows.n_rows + 1)  # there is a price for each support below k
    state = Deletions(rows.rows, k, worth, seed)
    if listed is not None:
        small = (listed.lengths > 0) & (listed.lengths < 3)
        first, last = listed.offsets[:-1][small], listed.offsets[1:][small] - 1
        pairs = np.unique(listed.codes[last].astype(np.int64) * rows.n_items + listed.codes[first])
        items, partners = np.divmod(pairs, rows.n_items)
        exempt(state, offsets_of(np.bincount(items, minlength=rows.n_items)), partners.astype(np.int32))
    return state


def _find_conflicts(
    itemsets: Itemsets, index: SupportIndex, guarantee: KmAnonymity | PrivacyConstraints
) -> Conflicts:
    """Return the itemsets that a release cannot have: not all their items can be published as they are."""
    check_time()
    k = guarantee.k
    if isinstance(guarantee, PrivacyConstraints):
        wanted = constraint_table(guarantee.constraints, itemsets)
        supports = index.supports(wanted.codes, wanted.offsets)
        rare = (supports > 0) & (supports < k)
        return Conflicts.of(replace(wanted, supports=supports).take(rare).distinct().ordered(), index.singles)
    largest = _LARGEST if guarantee.m is None else min(guarantee.m, _LARGEST)
    if largest > 2 and index.search_bound(largest) > _MOST_VISITED:
        largest = 2
    if largest == 2:  # there may be millions of pairs, which need no list
        return Conflicts.of(index.rare(k, 1), index.singles, index.rare_partners(k))
    return Conflicts.of(index.rare(k, largest), index.singles)


@frozen
class Conflicts:
    """Conflicts between items: in each, at least one item changes."""

    forced: int  # weight of the items that change in any case; the others are in no conflict with them
    weights: Numbers  # of each item; 0 if it changes in any case
    starts: Offsets  # the conflicting pairs in CSR form, in both directions
    partners: Codes
    larger: ItemsetTable  # the conflicts of more than two items

    @classmethod
    def of(
        cls, rare: ItemsetTable, weights: Numbers, pairs: tuple[Offsets, Codes] | None = None
    ) -> Conflicts:
        """Return the conflicts of distinct rare itemsets in order of size, or of some and all free pairs."""
        sizes = rare.lengths
        must = mask_at(len(weights), rare.codes[: (sizes == 1).sum()])
        n_forced = np.bincount(rows_of(rare.offsets)[must[rare.codes]], minlength=len(rare))
        free = n_forced == 0
        if pairs is None:
            first, second = rare.take(free & (sizes == 2)).codes.reshape(-1, 2).T
            starts = offsets_of(np.bincount(first, minlength=len(weights)))
            pairs = in_both_directions(starts, np.ascontiguousarray(second))
        left = np.where(must, 0, weights)
        return cls(int(weights[must].sum()), left, *pairs, rare.take(free & (sizes > 2)))

    def pack(self, steps: int) -> tuple[int, ItemsetTable]:
        """Bound the weight of the changed items by parts of their weights, in exact integers."""
        # No further pass begins after ``steps`` steps. Return the best bound of the passes, and the cliques
        # of the first pass, as conditions for `relax`.
        packing, best = self._packing(self.weights), 0
        rows: ItemsetTable | None = None
        for _ in range(_PASSES):
            found, done = packing.improve()
            best = max(best, found)
            if rows is None:
                rows = _distinct_cliques(packing)
            if done >= steps or time_is_up():
                break
        assert rows is not None
        return best, rows

    def _packing(self, weights: Numbers) -> Packing:
        return Packing(self.starts, self.partners, self.larger.codes, self.larger.offsets, weights)

    def relax(self, rows: ItemsetTable) -> Iterator[int]:
        """Yield bounds on the weight of the changed items by linear programs of more and more conditions."""
        # The first conditions are ``rows``: itemsets, and the number of their items that may stay unchanged.
        # Any prices that the solver returns give a valid bound, which is computed in integers.
        added = rows
        while (len(added) or rows is added) and (solved := self._solve(rows)) is not None:
            shares, prices = solved
            yield self._changed(rows, prices)
            added = self._violated(shares)
            rows = concatenate([rows, added])

    def _violated(self, shares: Floats) -> ItemsetTable:
        """List the conditions that shares of unchanged items violate most."""
        # The supports of the table are the numbers of items that may stay unchanged.
        shares = np.where(shares > _TOLERANCE, shares, 0.0)
        heaviest = int(self.weights.max(initial=1))
        # Cliques grow by share, then by weight. All products are exact in floats.
        worth = (shares * 2**20).astype(np.int64) * 2**20 + (self.weights * (2**20 - 2)) // heaviest + 1
        order = np.argsort(-worth, kind="stable").astype(np.int32)
        order = order[(shares[order] > 0) & (np.diff(self.starts)[order] > 0)]
        packing = self._packing(worth)
        packing.find_violated(order, shares, 1 + _TOLERANCE, _ROWS)
        larger = replace(self.larger, supports=self.larger.lengths - 1)
        rows = concatenate([_distinct_cliques(packing), larger])
        if not len(rows):
            return rows
        excess = np.add.reduceat(shares[rows.codes], rows.offsets[:-1]) - rows.supports
        most = np.argsort(-excess, kind="stable")[:_ROWS]
        return rows.take(most[excess[most] > _TOLERANCE])

    def _solve(self, rows: ItemsetTable) -> tuple[Floats, Floats] | None:
        """Find the shares of unchanged items with the most weight, and prices of the rows; None if late."""
        from scipy.optimize import linprog

        if time_is_up():
            return None
        matrix = csr(rows.codes, rows.offsets, len(self.weights))
        limit = {"time_limit": seconds_left()} if np.isfinite(seconds_left()) else {}
        result = linprog(-self.weights, matrix, rows.supports, bounds=(0, 1), method="highs", options=limit)
        if result.status != 0:
            return None
        return result.x, -result.ineqlin.marginals

    def _changed(self, rows: ItemsetTable, prices: Floats) -> int:
        """Return the bound that prices of conditions prove."""
        # The unchanged items weigh at most the sum of price times largest sum of all conditions, and what the
        # prices leave of the weight of each item. Prices are rounded to fractions with a power of two.
        total = int(self.weights.sum())
        bits = max(62 - total.bit_length() - len(rows.codes).bit_length(), 0)
        scale = 1 << min(bits, 30)
        exact = np.rint(np.clip(np.nan_to_num(prices), 0, total) * scale).astype(np.int64)
        paid = sums(rows.codes, np.repeat(exact, rows.lengths), len(self.weights))
        unpaid = np.maximum(self.weights * scale - paid, 0)
        unchanged = (int(exact @ rows.supports) + int(unpaid.sum())) // scale
        return total - unchanged


def _distinct_cliques(packing: Packing) -> ItemsetTable:
    """Return the stored cliques, and 1 for each: the number of items that may stay unchanged."""
    codes, offsets = packing.cliques()
    table = ItemsetTable(
        codes[np.lexsort((codes, rows_of(offsets)))], offsets, np.ones(len(offsets) - 1, np.int64)
    )
    return table.distinct()
