"""What a guarantee is, and the verdict of an audit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.validation import escape_html

__all__ = ["Audit", "Guarantee", "Recountable", "Yielding", "facts"]


class Audit:
    """Verdict of an audit: whether a guarantee holds, and what breaks it.

    Parameters
    ----------
    guarantee : Guarantee
        What was audited; after a search with a limit, as far as it is proven.
    rows_at_risk : int
        Number of rows that hold a threat.
    list_threats : callable
        Lists the threats; called when they are first asked for.

    Attributes
    ----------
    holds : bool
        Whether the guarantee holds: there is no threat.
    rows_at_risk : int
        Number of rows that hold a threat.
    threats : pandas.DataFrame
        The minimal violating itemsets: ``itemset`` (published labels), ``support`` and ``why``.

    Notes
    -----
    The verdict and the number of rows are counted at once; the table of threats, which can be larger than
    the data, when it is first asked for; also when the audit is pickled or copied deeply, as the rows that it
    would be listed from do not go along.
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
        return known | {"threats": self.threats}  # where cached_property keeps it

    def _repr_html_(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        risk = f"{self.rows_at_risk} rows"
        return facts("Audit", [("guarantee", repr(self.guarantee)), ("verdict", verdict), ("at risk", risk)])

    def __repr__(self) -> str:
        return f"Audit(holds={self.holds}, rows_at_risk={self.rows_at_risk}, guarantee={self.guarantee!r})"


@runtime_checkable
class Guarantee(Protocol):
    """A privacy model that a released frame can be audited against."""

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a released frame from scratch."""

    def with_mapping(self, mapping: pd.DataFrame) -> Guarantee:
        """The same guarantee, knowing what the original items became, if it speaks of those."""


@runtime_checkable
class Recountable(Guarantee, Protocol):
    """One that list columns are enough to audit: it is about no other columns, nor the order of labels."""

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are."""


@runtime_checkable
class Yielding(Guarantee, Protocol):
    """One that can always be had by suppressing all that it protects: such a release serves nobody."""

    def gone(self) -> tuple[str, str]:
        """That all of it is suppressed, by the mapping, and what to do; two empty texts if some is left."""


def facts(title: str, pairs: Iterable[tuple[str, str]]) -> str:
    """A small table of names and texts, which notebooks show in their own style."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;white-space:nowrap">{escape_html(name)}</th>'
        f'<td style="text-align:left">{escape_html(text)}</td></tr>'
        for name, text in pairs
    )
    return (
        f'<table><caption style="text-align:left">{escape_html(title)}</caption><tbody>{rows}</tbody></table>'
    )
