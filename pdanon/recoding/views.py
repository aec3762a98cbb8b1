"""Types of the views of a result: `pdanon.evaluation`, which is above this room, computes them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from pdanon.itemsets.cards import Lines, card, listing
from pdanon.itemsets.libraries import holds_tables
from pdanon.recoding.counts import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ResultPlots(Protocol):
    """The plots of a result; `pdanon.plotting.Plots` documents them."""

    def loss(self, ax: Axes | None = None) -> Axes:
        """Draw the information loss."""

    def risk(
        self,
        original: pd.DataFrame,
        column: Hashable | None = None,
        *,
        k: int | None = None,
        m: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the risk before and after."""

    def sizes(self, ax: Axes | None = None) -> Axes:
        """Draw the sizes of groups or of labels."""

    def mapping(self, most: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the largest labels."""


@dataclass(frozen=True, slots=True, repr=False)
class ThresholdCheck:
    """Whether a release meets a threshold: true or false, and displayed as a sentence.

    Parameters
    ----------
    name : str
        Name of the threshold.
    least : int
        Number of matching rows that it needs.
    fewest : int
        The lowest number of matching rows of a row, exact.
    """

    name: str
    least: int
    fewest: int

    def __bool__(self) -> bool:
        return self.fewest >= self.least

    def __repr__(self) -> str:
        return f"{'Met' if self else 'Not met'}: {self.name} needs {self.least}, and {self.fewest} rows match"


_INFERRED = ("inference", "breach", "diversity")  # in the column ``why`` of threats


@holds_tables
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Explanation:
    """The reason why an item was generalized or suppressed; it describes the original: do not publish it.

    Parameters
    ----------
    item : object
        The item, as passed.
    became : str, None or tuple
        The published label of the item; None if it was suppressed. Several labels of a local recoding are a
        tuple, that of most rows first.
    kept : bool
        Whether the item is published as is, in all rows.
    k : int or None
        The k of the release, if its guarantee has one.
    threats : pandas.DataFrame
        The minimal threats of the original that contain the item: ``itemset, support``. A minimal threat is
        an itemset of up to m items with a support below k, all of whose subsets have support k. With
        ``m=None`` it is a row that fewer than k rows contain; with privacy constraints, a constraint that
        fewer than k rows contain. For other guarantees, the threats of an audit of the original, with its
        columns: inferences of the item as well. Quasi-identifiers are those of the release.
    exposed : pandas.DataFrame
        The threats of the release if the item were restored: if it left its set, were not suppressed, or if
        its node were replaced by the children of the node, in each group that changed it. ``itemset`` of
        published labels, and the other columns of ``threats``. Empty if restoring the item is safe.
    k_alone : int or None
        The largest k, up to that of the release, at which no itemset with the item is rare. None if
        there is no such k of at least 2, or for other guarantees than `KmAnonymity` and `PrivacyConstraints`.
    loss : pandas.Series
        The information loss of the release.
    loss_then : pandas.Series or None
        The loss of the same algorithm with the same parameters and ``k_alone``. None if ``k_alone`` is None
        or the k of the release.
    """

    item: Any
    became: str | tuple[str | None, ...] | None
    kept: bool
    k: int | None
    threats: pd.DataFrame
    exposed: pd.DataFrame
    k_alone: int | None
    loss: pd.Series[float]
    loss_then: pd.Series[float] | None

    def __repr__(self) -> str:
        return listing("Explanation", self._lines())

    def _repr_html_(self) -> str:
        return card("Explanation", self._lines())

    def _lines(self) -> Lines:
        """Yield names and counts; no text of an item."""
        yield "item", self._describe_change()
        k = "" if self.k is None else f"; k={self.k}"
        yield "threats", f"{_count(self.threats)} with the item at risk{_lowest(self.threats)}{k}"
        if not self.kept:
            would = f"{_count(self.exposed)} would be at risk if it were restored"
            yield "exposed", would + _lowest(self.exposed)
        if [*self.threats] == ["itemset", "support"]:
            yield "alone", self._describe_k_alone()

    def _describe_change(self) -> str:
        if isinstance(self.became, tuple) and len(self.became) == 2 and None in self.became:
            most, others = ("suppressed" if label is None else "published" for label in self.became)
            return f"{most} in most rows, {others} in the others"
        if isinstance(self.became, tuple):
            return f"{len(self.became)} labels, by group"
        return "kept" if self.kept else "suppressed" if self.became is None else "generalized"

    def _describe_k_alone(self) -> str:
        if self.k_alone is None:
            return "itemsets with the item are at risk at every k"
        if self.loss_then is None:
            return f"no itemset with the item is at risk at k={self.k}"
        then, now = (percent(each["occurrences"]) for each in (self.loss_then, self.loss))
        changed = f"occurrences changed: {then}, now {now}"
        return f"no itemset with the item is at risk up to k={self.k_alone}; {changed}"


def _count(threats: pd.DataFrame) -> str:
    inferred = int(threats["why"].isin(_INFERRED).sum()) if "why" in threats else 0
    found = {"itemset": len(threats) - inferred, "inference": inferred}
    counted = [f"{n} {name}{'' if n == 1 else 's'}" for name, n in found.items() if n]
    return " and ".join(counted) or "0 itemsets"


def _lowest(threats: pd.DataFrame) -> str:
    return f", lowest support {threats['support'].min()}" if len(threats) else ""
