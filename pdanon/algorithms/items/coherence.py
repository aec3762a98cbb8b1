"""Coherence by suppression: remove public items until no known itemset is rare or reveals a private item."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon._kernels import conflicts as kernels
from pdanon.algorithms.items.optimal import solve_program
from pdanon.algorithms.items.suppress_to_k import (
    check_coherent_without_public,
    decide_suppressed,
    too_frequent_where_public,
)
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.weights import WeightsLike, item_losses
from pdanon.errors import ParameterError
from pdanon.guarantees import Coherence
from pdanon.guarantees.coherence import PublicAndPrivate, affordable, knowable_items, most_items
from pdanon.guarantees.parameters import check_seconds
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import mask_at, offsets_of
from pdanon.itemsets.row_loops import transpose
from pdanon.itemsets.support import MOST_ITEMSETS, ItemsetTable, SupportIndex, csr
from pdanon.itemsets.threads import search
from pdanon.itemsets.timing import count_steps, halt_flag
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.result import Anonymized


class Moles:
    """The minimal moles of some rows."""

    def __init__(self, parts: PublicAndPrivate, guarantee: Coherence) -> None:
        k, above, below = guarantee.k, guarantee.h.numerator, guarantee.h.denominator
        supports = parts.index.singles
        relevant = np.flatnonzero(parts.is_private)[(parts.totals * below > above * k) & (above < below)]
        knowable, efforts = knowable_items(guarantee, parts)
        public = np.flatnonzero(knowable & (supports >= k))
        public = public[np.argsort(supports[public], kind="stable")]  # rare prefixes match few rows
        peaks = _Numbered(parts, public, relevant).peaks()
        breaching = peaks * below > above * supports[public]
        self.single = knowable.copy()  # the items that are moles alone
        self.single[public[~breaching]] = False
        rows = _Numbered(parts, public[~breaching], relevant)
        p = guarantee.p if efforts is None else most_items(efforts, guarantee.p)
        found = rows.minimal_moles(k, p, above, below, peaks[~breaching])
        if efforts is not None:
            by_item = np.zeros(len(knowable), np.int64)
            by_item[knowable] = efforts
            found = found.take(affordable(found, by_item, guarantee.p))
        self.larger = found

    def eliminate(self, losses: Numbers, criterion: str) -> Numbers:
        """Choose the items to suppress, so that no mole is left; first those that are moles alone."""
        # ``losses``: loss of each item, by item number. ``criterion``: the item to choose next. Returns the
        # numbers of the items, in the order of their choice.
        items, bounds = self.larger.codes, self.larger.offsets
        most = int(np.bincount(items).max(initial=0))
        if most * int(losses.max(initial=0)) >= 2**63:
            got = f"losses up to {losses.max():,} in the smallest unit, {most:,} moles of an item"
            hint = "pass them in a larger unit, or as whole numbers"
            raise ParameterError("the losses cannot be compared exactly", where="loss", got=got, hint=hint)
        starts, holding, _ = transpose(items, bounds, len(self.single))
        by_moles, by_loss = criterion != "1/il", criterion != "mm"
        chosen = kernels.eliminate(items, bounds, starts, holding, losses, by_moles, by_loss)
        return np.concatenate((np.flatnonzero(self.single), chosen))

    def least(self, losses: Numbers, seconds: float) -> tuple[Numbers, int]:
        """Choose items with the least total loss, so that no mole is left, as far as the time suffices."""
        # ``losses``: loss of each item, by item number. ``seconds``: time limit of the search, which starts
        # with the result of `eliminate`. Returns chosen: the numbers of the items; first those that are moles
        # alone. Returns bound: lower bound on the total loss of any choice.
        chosen, bound = self.eliminate(losses, "mm/il"), 0
        alone, moles = np.flatnonzero(self.single), self.larger
        items, columns = np.unique(moles.codes, return_inverse=True)
        demanded = np.arange(0, len(moles), 1 + len(moles) // _FEW)
        deadline, solved = monotonic() + seconds, len(moles) > 0
        while solved and (left := deadline - monotonic()) > 0:
            demands = moles.take(demanded)
            places = np.searchsorted(items, demands.codes)
            rows = csr(places, demands.offsets, len(items), np.int64(1))
            found, least, solved = solve_program(losses[items], rows, 1, np.inf, left)
            count_steps()
            bound = max(bound, least)
            if found is None:
                break
            is_hit = np.logical_or.reduceat(found[columns], moles.offsets[:-1])
            if is_hit.all():
                better = np.concatenate((alone, items[found].astype(np.int64)))
                chosen = min(chosen, better, key=lambda each: int(losses[each].sum()))
                break
            missed = np.flatnonzero(~is_hit)
            demanded = np.union1d(demanded, missed[:: 1 + len(missed) // _FEW])
        return chosen, bound + int(losses[alone].sum())

    def removed_by(self, chosen: Numbers) -> Numbers:
        """Count the moles that each of some items removes, which are chosen one after the other."""
        step = np.full(len(self.single), len(chosen))
        step[chosen] = np.arange(len(chosen))
        counts = self.single[chosen].astype(np.int64)
        if len(self.larger):
            first = np.minimum.reduceat(step[self.larger.codes], self.larger.offsets[:-1])
            counts += np.bincount(first, minlength=len(chosen))
        return counts


class _Numbered:
    """Rows of selected public items, which have the lowest numbers, and selected private items."""

    # The highest numbers mark the private items where they are public.

    def __init__(self, parts: PublicAndPrivate, public: Numbers, private: Numbers) -> None:
        rows = parts.with_copies()
        copies = private + int(parts.is_private.sum()) if parts.copies else private[:0]
        items = np.concatenate((public, private, copies))
        self._index = rows.select(items)
        self._public, self._n_private = public, len(private)

    def peaks(self) -> Numbers:
        """Count the rows that each public item shares with its most frequent private item."""
        hidden = np.arange(self._index.n_items) >= len(self._public)
        index = self._index.within(self._index.keep_items(hidden).lengths > 0)
        starts, tids, _ = index.transpose
        rows = self._mole_rows(index, self._ends(index))
        return kernels.private_peaks(rows, starts[: len(self._public) + 1], tids, index.n_items)

    def minimal_moles(self, k: int, p: int, above: int, below: int, peaks: Numbers) -> ItemsetTable:
        """Return the minimal moles of 2 to p items; no single item is a mole."""
        index = self._index = self._index.distinct()  # replaced to free memory
        ends = self._ends(index)
        longest = int((ends - index.offsets[:-1]).max(initial=0))
        codes, offsets = np.empty(0, np.int32), np.zeros(1, np.int64)
        if min(p, longest) >= 2:
            supports = index.singles[: len(self._public)].copy()
            starts, tids, places = index.transpose
            columns = (starts[: len(self._public) + 1], tids, places, supports, peaks, index.n_items)
            rows = self._mole_rows(index, ends)
            arguments = k, min(p, longest), above, below, rows, *columns

            def list_moles() -> tuple[Codes, Numbers, bool]:
                return kernels.MoleSearch(*arguments).minimal(MOST_ITEMSETS, halt_flag())

            ((codes, offsets, is_done),) = search(list_moles, [()], index.search_bound(p), limited=True)
            if not is_done:
                raise ParameterError(
                    "there are too many minimal moles to list",
                    where="p",
                    got=f"p={p}, rows of up to {longest} public items: more than {MOST_ITEMSETS:,} moles, "
                    f"or more than {4 * MOST_ITEMSETS:,} candidates",
                    hint="pass a smaller p; or use suppress_public, which lists no moles",
                )
        return ItemsetTable.listed(self._public[codes].astype(np.int32), offsets)

    def _mole_rows(self, index: SupportIndex, ends: Numbers) -> kernels.MoleRows:
        first_copy = len(self._public) + self._n_private
        return kernels.MoleRows(index.codes, index.offsets, ends, index.weights, first_copy, self._n_private)

    def _ends(self, index: SupportIndex) -> Numbers:
        """Return the end of the public items of each row."""
        is_public = index.codes < len(self._public)
        return index.offsets[:-1] + np.diff(offsets_of(is_public)[index.offsets])


# --- The public function and its decision


CRITERIA = ("mm/il", "mm", "1/il", "optimal")
_FEW = 2_000  # moles per round that become demands of the 0-1 program


@called_by_name
def coherence(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    h: float,
    k: int,
    p: int,
    private: Any,
    criterion: str = "mm/il",
    effort: Mapping[Any, int] | pd.Series[int] | None = None,
    loss: str | WeightsLike = "support",
    time_limit: float = 60,
) -> Anonymized:
    """Suppress public items until known items match neither few rows nor mostly rows with a private item.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one not
        ``private``.
    h : float
        Upper bound, in [0, 1], on the share of the rows matching the known items that contain a private item.
    k : int
        Minimum number of rows that match an attacker's knowledge; at least 2.
    p : int
        Maximum number of public items that the attacker knows; at least 1. With ``effort``, the maximum total
        effort of them.
    private : list of items, Series of bool, or str
        The private items; or a Series that marks each item as private; or the name of a second list column
        with the private items of each row. All other items are public. Private items are not suppressed. A
        str is always a column name: pass a single private item in a list. With a column, an item can be
        private in some rows and public in others.
    criterion : {"mm/il", "mm", "1/il", "optimal"}
        The item to suppress next: the one with the most remaining minimal moles per loss, with the most
        remaining minimal moles, or with the least loss. With ``"optimal"``, the items with the least total
        loss.
    effort : mapping or Series, optional
        The effort of learning that a person has an item: a positive integer by item. Other items have 1.
    loss : {"support", "unit"}, mapping or Series
        Cost of suppressing an item: the number of rows that contain it, 1, or a non-negative number for each
        public item. Fractional numbers are rounded to six decimals.
    time_limit : float
        Upper bound on the search of ``"optimal"``, in seconds, once the moles are listed; not negative.

    Returns
    -------
    Anonymized
        A global recoding that keeps or suppresses each item. Items keep their type. ``loss`` has ``S/N``, the
        share of suppressed occurrences among all occurrences, public and private. With a private column, both
        columns are released, and ``mapping`` describes the list column. ``trace`` has a row for each step:
        the suppressed ``item``, ``MM``, the number of remaining minimal moles with it, ``IL``, its loss, and
        its ``score``. It lacks the items that are suppressed to hide emptied rows. With ``"optimal"``,
        ``loss["gap"]`` is the largest share of the total loss that a better choice could still save. It is 0
        if the choice is proven optimal. It can be positive if the time limit was reached, or if more was
        suppressed to hide emptied rows.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows; or if a private item is in more than a share h of all rows. An
        attacker without any knowledge can then infer it. The message states how many items are affected
        and the least ``h`` that works.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid; if ``p`` is below the least effort; if an item is both public
        and private, with a column in the same row; or if a private item does not occur.

    Notes
    -----
    Guarantee: ``Coherence(h, k, p, private)``. A mole is an itemset of at most p public items in fewer than k
    rows, or with a private item in more than a share h of its rows. Suppression creates no mole, so the
    minimal ones are listed once, and one item of each is suppressed.

    Items that are moles alone go first, then repeatedly the item with the highest score (ties: more moles,
    less loss, item order; compared as integers). With ``effort``, itemsets with a total effort above p are no
    moles, and moles of all sizes that p allows are listed. An item that is private in some rows and public in
    others is suppressed only where it is public, and goes first if it is in more than a share h of all rows.
    If a row loses all its public items, at least k rows of the release have none.

    ``"optimal"`` solves a 0-1 program with HiGHS: of each mole, at least one item is suppressed. Moles are
    added while a solution leaves them. It starts with the result of ``"mm/il"``, never returns a worse one,
    and may take time exponential in the number of items.

    Cost: memory of about 30 bytes per occurrence, 20 per itemset of fewer than p items without a mole, and 4
    per item of each minimal mole. Time to extend, in each distinct row, these itemsets by one public item
    and, if h < 1, to count private items in the rows of each, unless their share is known to be low enough.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["rice", "salt", "flu"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.coherence(h=0.8, k=2, p=2, private=["flu"])
    >>> result.frame
                      items
    0  ['flu' 'rice' 'tea']
    1        ['rice' 'tea']
    2        ['flu' 'rice']
    3        ['flu' 'rice']
    >>> result.trace
       item  MM   IL  score
    0  salt   1  2.0    0.5
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns, *, guarantee: Coherence, criterion: str, loss: Any, time_limit: float
) -> ListDecision:
    """Decide which items are suppressed: at least one of each mole."""
    check_known(criterion, CRITERIA, "criterion", where="criterion")
    seconds = check_seconds(time_limit, zero=True)
    parts = PublicAndPrivate.of(columns, guarantee.private)
    _check_budget(parts, guarantee)
    losses, unit = item_losses(loss, parts.itemsets, parts.index.singles, ~parts.is_private)
    check_coherent_without_public(parts, guarantee)
    moles = Moles(parts.without(too_frequent_where_public(parts, guarantee)), guarantee)
    count_steps(len(moles.larger))
    if criterion == "optimal":
        chosen, bound = moles.least(losses, seconds)
    else:
        chosen, bound = moles.eliminate(losses, criterion), None
    suppressed = mask_at(len(losses), chosen)
    counts, costs, ones = moles.removed_by(chosen), (losses / unit)[chosen], np.ones(len(chosen))
    above, below = (ones if criterion == "1/il" else counts), (ones if criterion == "mm" else costs)
    score = np.divide(above, below, out=np.full(len(chosen), np.inf), where=below > 0)
    items = pd.arrays.ArrowExtensionArray(parts.itemsets.vocabulary.take(pa.array(chosen)))
    trace = pd.DataFrame({"item": items, "MM": counts, "IL": costs, "score": score})
    decided = replace(decide_suppressed(parts, suppressed, guarantee), trace=trace)
    if bound is None:
        return decided
    lost = int(losses[: parts.itemsets.n_items][decided.rows.recoding.targets < 0].sum())
    return decided.with_loss("gap", (lost - bound) / lost if lost > bound else 0.0)


def _check_budget(parts: PublicAndPrivate, guarantee: Coherence) -> None:
    """Check that an attacker can know at least one public item, if there is any."""
    if guarantee.effort is None or parts.is_private.all() or knowable_items(guarantee, parts)[0].any():
        return
    efforts = guarantee.effort.find(parts.itemsets.vocabulary)
    least = efforts[~parts.is_private[: len(efforts)]].min()
    raise ParameterError(
        "p is below the least effort, so that the attacker could know no item",
        where="p",
        got=f"p={guarantee.p}, least effort {least}",
        hint=f"pass the maximum total effort of the known items: p={least} or more",
    )


RECORD = Algorithm(
    coherence,
    (Coherence,),
    decide=decide,
    unit="moles",
    keeps_type=True,
    ways=(
        Way(Coherence, 10, {"criterion": "mm/il"}),
        Way(Coherence, 20, {"criterion": "mm"}),
        Way(Coherence, 30, {"criterion": "1/il"}),
    ),
)
