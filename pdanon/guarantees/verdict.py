"""Protocols of guarantees, the verdict of an audit, and the rows that suppression emptied."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property, wraps
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.cards import Verdict, card
from pdanon.itemsets.codes import Itemsets, Mask, Numbers, add_first_copies
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemset, empty_itemsets


@holds_tables
class Audit:
    """Verdict of an audit: whether a guarantee holds, and the threats that break it.

    Parameters
    ----------
    guarantee : Guarantee
        The audited guarantee. If a search reached its limit, ``m`` is the number up to which it is proven.
    rows_at_risk, spans, linked : int, pandas.DataFrame or None, str
        The attributes below.
    list_threats, drop_exposed : callable
        Functions that list the threats, and count the rounds of dropping. They are called at the first
        access, and when the audit is pickled or copied deeply.

    Attributes
    ----------
    holds : bool
        Whether the guarantee holds, that is, no row is at risk.
    rows_at_risk : int
        Number of rows that contain a threat.
    threats : pandas.DataFrame
        The minimal violating itemsets: ``itemset`` (published labels), ``support`` and ``why``. With earlier
        releases, ``first`` and ``last`` release come first, and labels are sets of items with the same labels
        in the whole span.
    spans : pandas.DataFrame or None
        One line for each span of releases. What the attacker ``knows`` (only ``"present"`` is promised), the
        ``first`` and ``last`` release, the number of ``releases``, of persons in all of them as ``rows``, and
        of ``rows_at_risk``. Releases count from 0; the audited one is the last.
    linked : str
        How rows of the same person were found: a column, ``key`` for lists of persons, or ``index``.
    dropping : pandas.DataFrame or None
        What dropping the persons at risk from the audited release would come to: one line for each round,
        with its ``rows``, those ``dropped`` and those ``left``. Each round exposes others, until the spans
        that end with this release hold. Spans of earlier releases alone are published, and stay as they are.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        rows_at_risk: int,
        list_threats: Callable[[], pd.DataFrame],
        spans: pd.DataFrame | None = None,
        linked: str = "",
        drop_exposed: Callable[[], pd.DataFrame] | None = None,
    ) -> None:
        self.guarantee = guarantee
        self.rows_at_risk = rows_at_risk
        self.spans = spans
        self.linked = linked
        self._list_threats = list_threats
        self._drop_exposed = drop_exposed

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds."""
        return self.rows_at_risk == 0

    @cached_property
    def threats(self) -> pd.DataFrame:
        """The minimal violating itemsets."""
        return self._list_threats()

    @cached_property
    def dropping(self) -> pd.DataFrame | None:
        """The rounds of dropping the persons at risk from the audited release."""
        return None if self._drop_exposed is None else self._drop_exposed()

    def __getstate__(self) -> dict[str, Any]:
        known = {"guarantee": self.guarantee, "rows_at_risk": self.rows_at_risk}
        known |= {"spans": self.spans, "linked": self.linked}
        # The attributes in which cached_property stores its values.
        return known | {"threats": self.threats, "dropping": self.dropping}

    def _repr_html_(self) -> str:
        verdict: tuple[Verdict, str] = ("holds", "The guarantee holds.")
        if not self.holds:
            rows = "1 row is" if self.rows_at_risk == 1 else f"{self.rows_at_risk:,} rows are"
            verdict = ("broken", f"The guarantee does not hold: {rows} at risk.")
        return card("Audit", [("guarantee", repr(self.guarantee)), *self._series()], verdict=verdict)

    def __repr__(self) -> str:
        verdict = f"Audit(holds={self.holds}, rows_at_risk={self.rows_at_risk}, guarantee={self.guarantee!r}"
        return ", ".join([verdict, *(f"{name}={text}" for name, text in self._series())]) + ")"

    def _series(self) -> list[tuple[str, str]]:
        """Return the lines about earlier releases; none without them."""
        if self.spans is None:
            return []
        promised = self.spans["knows"] == "present"
        lines = [("spans", str(int(promised.sum()))), ("linked", self.linked)]
        for knowledge, counts in self.spans[~promised].groupby("knows")["rows_at_risk"]:
            lines.append((f"{knowledge}_not_promised", f"{int(counts.max())} rows at risk in a span"))
        return lines


Reasons: TypeAlias = str | NDArray[np.str_]  # one for all threats, or one for each
Threats: TypeAlias = tuple[ItemsetTable, Reasons]


def threat_table(
    itemsets: Itemsets, threats: ItemsetTable, why: Reasons, *, missing: bool = False
) -> pd.DataFrame:
    """Return threats as a DataFrame: ``itemset, support, why``."""
    # With ``missing``, the last threat stands for the missing rows.
    nulls = np.zeros(len(threats), np.bool_)
    nulls[len(nulls) - missing :] = True
    codes, offsets = add_first_copies(threats.codes, threats.offsets, itemsets.vocabulary)
    sets = Itemsets(codes, offsets, itemsets.vocabulary, nulls)
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})


class Exposure(NamedTuple):
    """Rows at risk, and the threats in them: both are counted when they are called."""

    mark_rows: Callable[[], Mask]
    list_threats: Callable[[], Threats]

    @classmethod
    def of_all(cls, rows: SupportIndex, n_present: int, why: str) -> Exposure:
        """Expose all rows to an attacker without a known item: no other itemset is a minimal threat."""
        everyone = np.ones(len(rows.weights), np.bool_)
        return cls(lambda: everyone, lambda: (empty_itemset(n_present), why))

    def audit(self, guarantee: Guarantee, itemsets: Itemsets, rows: SupportIndex) -> Audit:
        """Return the verdict for the rows of a list column; a missing row is not at risk."""
        at_risk = min(int(rows.weights[self.mark_rows()].sum()), itemsets.n_present)
        return Audit(guarantee, at_risk, lambda: threat_table(itemsets, *self.list_threats()))


@runtime_checkable
class Guarantee(Protocol):
    """A privacy model that a released frame can be audited against."""

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a released frame from scratch."""

    def with_mapping(self, mapping: pd.DataFrame) -> Guarantee:
        """Return the guarantee for a release with this mapping, if it is about original items."""


@runtime_checkable
class Recountable(Guarantee, Protocol):
    """A guarantee that depends on list columns only, not on other columns nor on the order of labels."""

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns."""


# --- Emptied rows: rows that lost all of their items by suppression


EMPTY_ROWS, ROWS_WITHOUT_PUBLIC = "empty_rows", "rows_without_public"  # attributes of a mapping table
_Guarantee = TypeVar("_Guarantee")


@frozen
class Suppression:
    """Suppressed items and empty rows, read from the mapping of a release."""

    suppresses: bool  # whether an occurring item is suppressed in some row
    empty_rows: int  # rows without items in the original; of rows in classes, only those of `few_without`
    rows_without_public: int  # the same for public items, if items are public or private

    @classmethod
    def of(cls, mapping: Any) -> Suppression | None:
        """Read a mapping, or return the value that was read before; return None if there is none."""
        if mapping is None or isinstance(mapping, cls):
            return mapping
        check_mapping(mapping)
        gone = mapping["generalized"].isna().to_numpy(bool)
        if "support" in mapping and gone.any():
            gone = gone & ~mapping["support"].isin([0]).to_numpy(bool)
        return cls(bool(gone.any()), *(_rows_of(mapping, name) for name in (EMPTY_ROWS, ROWS_WITHOUT_PUBLIC)))


def _rows_of(mapping: pd.DataFrame, name: str) -> int:
    """Return a number of rows from the attributes of a mapping, or 0 if it is missing."""
    n_rows = mapping.attrs.get(name, 0)
    if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 0:
        problem = "an attribute of the mapping is not a number of rows"
        raise ParameterError(problem, where=f"mapping.attrs[{name!r}]", got=type(n_rows).__name__)
    return n_rows


def mark_emptied(is_empty: Mask, is_shown: Mask, class_of: Numbers, k: int) -> Mask:
    """Return whether each row is one of fewer than k empty rows of a class with labels."""
    # A missing row is neither empty nor shown.
    empty = np.bincount(class_of[is_empty], minlength=int(class_of.max(initial=0)) + 1)
    shown = np.bincount(class_of[is_shown], minlength=len(empty))
    return is_empty & ((shown > 0) & (empty < k))[class_of]


def count_emptied(itemsets: Itemsets, k: int | None, suppression: Suppression | None) -> int:
    """Count the emptied rows of a release, if they are fewer than k and other rows have labels; else 0."""
    if k is None or suppression is None or not suppression.suppresses:
        return 0
    if not itemsets.lengths.any():
        return 0
    is_empty = (itemsets.lengths == 0) & ~itemsets.nulls
    empty = int(is_empty.sum() if itemsets.weights is None else itemsets.weights[is_empty].sum())
    emptied = max(empty - suppression.empty_rows, 0)
    return emptied if emptied < k else 0


def add_emptied(audit: Audit, emptied: int, n_present: int, itemsets: Itemsets) -> Audit:
    """Add emptied rows to the verdict of an audit; no more rows than are not missing are at risk."""
    if not emptied:
        return audit

    def list_threats() -> pd.DataFrame:
        both = pd.concat([list_emptied(itemsets, emptied), audit.threats], ignore_index=True)
        return both[audit.threats.columns]

    at_risk = max(audit.rows_at_risk, min(audit.rows_at_risk + emptied, n_present))
    return Audit(audit.guarantee, at_risk, list_threats)


def counts_emptied(
    recount: Callable[[_Guarantee, ListColumns], Audit],
) -> Callable[[_Guarantee, ListColumns], Audit]:
    """Decorate the recount of a guarantee with ``k`` and ``mapping``, so that it counts emptied rows, too."""

    @wraps(recount)
    def recount_with_emptied(self: Any, columns: ListColumns) -> Audit:
        audit, itemsets = recount(self, columns), columns.itemsets
        emptied = count_emptied(itemsets, self.k, Suppression.of(self.mapping))
        return add_emptied(audit, emptied, itemsets.n_present, itemsets)

    return recount_with_emptied


def list_emptied(itemsets: Itemsets, emptied: int) -> pd.DataFrame:
    """Return a threat table with the empty itemset, for the emptied rows."""
    return threat_table(itemsets, empty_itemsets(np.array([emptied])), "emptied")
