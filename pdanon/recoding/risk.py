"""Risk beyond a guarantee: how far a release still hides rows from an attacker with one more known item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels.exposure import RowSearch
from pdanon.guarantees import (
    Coherence,
    DisassociatedKm,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    LmDiversity,
    PSRules,
    PublicK,
    SensitiveGroups,
    TransactionalK,
)
from pdanon.guarantees.kkm import Crowds
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber
from pdanon.guarantees.ps import AllRules
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.cards import Lines, Share
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.counts import percent, wilson_interval

MOST_ROWS = 10_000  # rows of a sample
_FEW_ROWS = 400  # a share of a smaller sample may be off by 5 percentage points or more
# A table that is no larger than a sample is counted whole: two counts with this number of steps, about 2 ns
# each, take a second.
_STEPS_OF_ALL = 250_000_000
# A release of more rows takes at least some 50 ms, and 200 ns for each occurrence, or more if m is above 1.
# Two counts with this number of steps take less than a quarter of this.
_LEAST_STEPS = 2_000_000
_STEPS, _STEPS_OF_PAIRS = 10, 4  # for each occurrence, and if at most 2 items are known

# A risk, or what counts it when it is first read. This holds the rows, so they must be few: `MOST_ROWS`.
Counted: TypeAlias = Callable[[], pd.DataFrame | None] | pd.DataFrame | None


@frozen
class Attacker:
    """An attacker that a guarantee does not cover: one step beyond it."""

    k: int | None  # fewer than k matching rows are a risk, as in the guarantee; None if it has no k
    known: int  # maximum number of known items: one more than in the guarantee; 2 if it limits no number
    covered: int  # known items for which k rows match by the guarantee; 0 if it does not promise this
    hidden: NamedItems | None  # items that the attacker does not know

    @classmethod
    def beyond(cls, guarantee: Guarantee) -> Attacker | None:
        """Return the attacker for a guarantee; None if it covers all items, or has other ones than rows."""
        if isinstance(guarantee, (KAnonymity, TransactionalK, DisassociatedKm)):
            return None
        k, m, hidden = getattr(guarantee, "k", None), known_items(guarantee), hidden_items(guarantee)
        if isinstance(guarantee, (KmAnonymity, KKm, KLm, LmDiversity, SensitiveGroups, Coherence)):
            return None if m is None else cls(k, m + 1, 0 if k is None else m, hidden)
        if m is None or isinstance(m, DefaultNumber):
            return cls(k, int(DEFAULT_M), 0, hidden)
        return cls(k, m + 1, 0, hidden)

    def count(self, before: Visible, after: Visible, n_occurrences: int) -> pd.DataFrame | None:
        """Count the rows at risk in the original and in the release, on the same sample of rows."""
        # Return ``known, rows, counted, singled_out, below_k, singled_out_before, below_k_before``; None if
        # there is no row, or no row can be counted in time. The time is proportional to ``n_occurrences``,
        # those of the original.
        n_rows = after.n_rows
        most_known = min(self.known, before.index.longest + 1)  # no row has more: the shares stay the same
        least_size = min(self.covered + 1, most_known)
        least = _STEPS_OF_ALL if n_rows <= MOST_ROWS else _LEAST_STEPS
        work = max(least, (_STEPS_OF_PAIRS if most_known <= 2 else _STEPS) * n_occurrences)
        chosen = random_generator(None).choice(n_rows, min(n_rows, MOST_ROWS), replace=False)
        sizes = after.smallest(chosen, self.k, least_size, most_known, work)
        sizes_before = before.smallest(chosen[: len(sizes)], self.k, 1, most_known, work)
        counted = len(sizes_before)
        if not counted:
            return None
        known = np.arange(1 if after.own is None else 0, most_known + 1)  # the class is known
        table: dict[str, Any] = {"known": known, "rows": n_rows, "counted": counted}
        for suffix, found in (("", sizes[:counted]), ("_before", sizes_before)):
            below_k, singled_out = np.array([np.mean(found <= number, axis=0) for number in known]).T
            table[f"singled_out{suffix}"] = singled_out
            table[f"below_k{suffix}"] = below_k if self.k is not None else np.nan
        return pd.DataFrame(table)


def known_items(guarantee: Guarantee) -> int | None:
    """Return the maximum number of items that an attacker of a guarantee knows; None: any number."""
    # It is `DEFAULT_M` if the guarantee lists what is known, or is not about items.
    if isinstance(guarantee, (TransactionalK, PublicK)):
        return None
    if isinstance(guarantee, Coherence):
        return guarantee.covered
    if isinstance(guarantee, PSRules) and isinstance(guarantee.rules, AllRules):
        return guarantee.rules.m
    return getattr(guarantee, "m", DEFAULT_M)


def hidden_items(guarantee: Guarantee | None) -> NamedItems | None:
    """Return the items of a guarantee that the attacker does not know, or None."""
    named = getattr(guarantee, "sensitive", getattr(guarantee, "private", None))
    return named if isinstance(named, NamedItems) else None


@frozen
class Visible:
    """Rows as an attacker sees them."""

    index: SupportIndex  # the items of each row; with classes, another code for an item in each class
    is_hidden: Mask  # items that the attacker does not know, by code
    # with classes, the row of `index` that represents each row of the table
    own: Numbers | None = None
    # with classes, the rows that match without any known item, by row of the table
    sizes: Numbers | None = None

    @classmethod
    def of_crowds(cls, crowds: Crowds, is_hidden: Mask) -> Visible:
        """Return the rows of classes, given the items that the attacker does not know."""
        sizes = crowds.sizes[crowds.members[crowds.own]]
        return cls(crowds.index, is_hidden[crowds.item_of], crowds.own, sizes)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.index.n_rows if self.own is None else len(self.own)

    def smallest(self, chosen: Numbers, k: int | None, least: int, most: int, work: int) -> Numbers:
        """Return the sizes of the smallest itemsets with support below k, and 1, of some rows."""
        # Only itemsets of ``least`` to ``most`` items count. A row without one has size ``most + 1``. Rows of
        # classes below these supports have size 0. If the search ends early, fewer rows are returned.
        rows, thresholds = self._places(chosen), np.array([max(k or 2, 2), 2])
        table = self.index.codes, self.index.offsets, self.index.weights, self.index.singles
        found = RowSearch(rows, most, work, *table, self.is_hidden).smallest_rare(thresholds, least)
        sizes = np.where(found > 0, found, most + 1).astype(np.int64)
        if self.sizes is not None:
            sizes[self.sizes[chosen[: len(sizes)], None] < thresholds] = 0
        return sizes

    def _places(self, chosen: Numbers) -> Numbers:
        """Return the rows of ``index`` that stand for some rows of the table."""
        if self.own is not None:
            return self.own[chosen]
        if len(self.index.weights) == self.n_rows:
            return chosen
        return np.searchsorted(np.cumsum(self.index.weights), chosen, side="right")


def risk_of_classes(
    guarantee: Guarantee,
    before: tuple[Sequence[Itemsets], Numbers],
    after: tuple[Sequence[Itemsets], Numbers],
) -> pd.DataFrame | None:
    """Count the risk beyond a guarantee of quasi-identifiers and items, as `Attacker.count`."""
    # ``before`` and ``after`` are the list columns, and the class of each row: rows with equal
    # quasi-identifiers. None if the guarantee covers all known items.
    attacker = Attacker.beyond(guarantee)
    if attacker is None:
        return None
    original, released = (
        Visible.of_crowds(crowds, is_hidden_item(crowds.itemsets, attacker.hidden))
        for crowds in (Crowds.of(*before), Crowds.of(*after))
    )
    return attacker.count(original, released, sum(len(column.codes) for column in before[0]))


def risk_of_lists(
    guarantee: Guarantee, original: Itemsets, targets: NDArray[Any], released: SupportIndex
) -> pd.DataFrame | None:
    """Count the risk beyond a guarantee of a recoded list column, as `Attacker.count`."""
    # ``targets`` has the label of each item, or of each occurrence; -1 if it is suppressed. The released rows
    # have labels as codes. None if the guarantee covers all known items.
    attacker = Attacker.beyond(guarantee)
    if attacker is None:
        return None
    is_hidden = is_hidden_item(original, attacker.hidden)
    of_item = is_hidden if len(targets) == original.n_items else is_hidden[original.codes]
    is_hidden_label = mask_at(released.n_items, targets[of_item & (targets >= 0)])
    rows = Visible(SupportIndex.of(original), is_hidden), Visible(released, is_hidden_label)
    return attacker.count(*rows, len(original.codes))


def is_hidden_item(itemsets: Itemsets, hidden: NamedItems | None) -> Mask:
    """Return whether each item of a column is among those that an attacker does not know."""
    if hidden is None:
        return np.zeros(itemsets.n_items, np.bool_)
    return hidden.find(itemsets.vocabulary) >= 0


def risk_lines(guarantee: Guarantee, risk: pd.DataFrame | None) -> Lines:
    """Return the line that describes the risk beyond a guarantee, if it was counted."""
    # Of a small sample it states the intervals of the shares, at 95 %.
    if risk is None:
        return
    last = risk.iloc[-1]
    items = f"{int(last['known'])} known {'' if hidden_items(guarantee) is None else 'public '}items"
    if getattr(guarantee, "quasi", None):
        items = f"the quasi-identifiers and {items}"

    sampled = int(last["counted"]) if last["counted"] < last["rows"] else None

    def estimate(name: str) -> str:
        if sampled is None or sampled >= _FEW_ROWS:
            return percent(last[name])
        return " to ".join(map(percent, wilson_interval(last[name], sampled)))

    def share(name: str, of: str = "") -> str:
        return f"{estimate(name)}{of} ({estimate(f'{name}_before')} before)"

    k, names = getattr(guarantee, "k", None), {"singled_out": "singled out"}
    if k is None or k == 2:  # fewer than 2 rows match: singled out
        text = f"with {items}, {share('singled_out', ' of the rows')} are singled out"
    else:
        text = f"with {items}, fewer than {k} rows match for {share('below_k', ' of the rows')}"
        text += f", and {share('singled_out')} are singled out"
        names["below_k"] = f"fewer than {k}"
    if sampled is not None:
        text += f"; of {sampled:,} sampled rows"
    yield "beyond", text, *(Share(last[each], last[f"{each}_before"], name) for each, name in names.items())
