"""Protocols of guarantees, and the verdict of an audit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.cards import Verdict, card
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.multisets import add_first_copies
from pdanon.itemsets.table import ItemsetTable


@holds_tables
class Audit:
    """Verdict of an audit: whether a guarantee holds, and the threats that break it.

    Parameters
    ----------
    guarantee : Guarantee
        The audited guarantee. If a search reached its limit, ``m`` is the number up to which it is proven.
    rows_at_risk : int
        Number of rows that contain a threat.
    list_threats : callable
        A function that lists the threats; it is called at the first access.

    Attributes
    ----------
    holds : bool
        Whether the guarantee holds, that is, no row is at risk.
    rows_at_risk : int
        Number of rows that contain a threat.
    threats : pandas.DataFrame
        The minimal violating itemsets: ``itemset`` (published labels), ``support`` and ``why``.

    Notes
    -----
    The verdict and the number of rows are counted at once. The table of threats can be larger than the data,
    so it is computed at the first access. It is also computed when the audit is pickled or copied deeply,
    because the copy does not contain the rows.
    """

    def __init__(
        self, guarantee: Guarantee, rows_at_risk: int, list_threats: Callable[[], pd.DataFrame]
    ) -> None:
        self.guarantee = guarantee
        self.rows_at_risk = rows_at_risk
        self._list_threats = list_threats

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds."""
        return self.rows_at_risk == 0

    @cached_property
    def threats(self) -> pd.DataFrame:
        """The minimal violating itemsets."""
        return self._list_threats()

    def __getstate__(self) -> dict[str, Any]:
        known = {"guarantee": self.guarantee, "rows_at_risk": self.rows_at_risk}
        return known | {"threats": self.threats}  # the attribute in which cached_property stores its value

    def _repr_html_(self) -> str:
        verdict: tuple[Verdict, str] = ("holds", "The guarantee holds.")
        if not self.holds:
            verdict = ("broken", f"The guarantee does not hold: {_rows(self.rows_at_risk)} at risk.")
        return card("Audit", [("guarantee", repr(self.guarantee))], verdict=verdict)

    def __repr__(self) -> str:
        return f"Audit(holds={self.holds}, rows_at_risk={self.rows_at_risk}, guarantee={self.guarantee!r})"


def _rows(number: int) -> str:
    return "1 row is" if number == 1 else f"{number:,} rows are"


def threat_table(
    itemsets: Itemsets, threats: ItemsetTable, why: str | NDArray[np.str_], *, missing: bool = False
) -> pd.DataFrame:
    """Return threats as a DataFrame: ``itemset, support, why``, with one reason for all or one for each.

    With ``missing``, the last threat stands for the missing rows.
    """
    nulls = np.zeros(len(threats), np.bool_)
    nulls[len(nulls) - missing :] = True
    codes, offsets = add_first_copies(threats.codes, threats.offsets, itemsets.vocabulary)
    sets = Itemsets(codes, offsets, itemsets.vocabulary, nulls)
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})


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


@runtime_checkable
class Yielding(Guarantee, Protocol):
    """A guarantee that a release satisfies trivially if it suppresses everything that is protected."""

    def gone(self) -> tuple[str, str]:
        """Return a problem and a hint if everything protected is suppressed; otherwise two empty texts."""
