"""What comes back: the release with everything known about it, and the verdict of an audit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import pandas as pd

__all__ = ["Anonymized", "Audit", "Guarantee"]


class Audit:
    """Verdict of an audit: whether a guarantee holds, and what breaks it.

    Parameters
    ----------
    guarantee : Guarantee
        What was audited.
    rows_at_risk : int
        Number of rows that hold a threat.
    list_threats : callable
        Lists the threats; called when they are first asked for.

    Attributes
    ----------
    passed_through : tuple of hashable
        Labels of the columns that are released as they were.
    holds : bool
        Whether the guarantee holds: there is no threat.
    rows_at_risk : int
        Number of rows that hold a threat.
    threats : pandas.DataFrame
        The minimal violating itemsets: ``itemset`` (published labels), ``support`` and ``why``.

    Notes
    -----
    The verdict and the number of rows are counted at once; the table of threats, which can be larger than
    the data, when it is first asked for.
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

    def __repr__(self) -> str:
        return f"Audit(holds={self.holds}, rows_at_risk={self.rows_at_risk}, guarantee={self.guarantee!r})"


@runtime_checkable
class Guarantee(Protocol):
    """A privacy model that a released frame can be audited against."""

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a released frame from scratch."""

    def with_mapping(self, mapping: pd.DataFrame) -> Guarantee:
        """The same guarantee, knowing what the original items became, if it speaks of those."""


@dataclass(frozen=True, eq=False, slots=True)
class Anonymized:
    """A release and what is known about it. ``frame, mapping = result`` unpacks the first two.

    Parameters
    ----------
    frame : pandas.DataFrame
        The released frame: index, column order, dtypes of other columns and attrs as in the input.
    mapping : pandas.DataFrame
        What each item became: ``group, item, generalized, support``. Not part of the release.
    classes : pandas.DataFrame or None
        Relational results: one row a class: ``group, size``, then the generalized quasi-identifiers.
    groups : pandas.Series or None
        Local recodings and relational results: group of each row. Not part of the release.
    guarantee : Guarantee
        The privacy model, audited on ``frame``.
    loss : pandas.Series
        Information loss by measure.
    parameters : dict
        What was asked.
    holds : bool
        Whether the audit found the guarantee to hold. False only in the `partial` of an `InfeasibleError`,
        which is not to be released.
    """

    frame: pd.DataFrame
    mapping: pd.DataFrame
    classes: pd.DataFrame | None
    groups: pd.Series[int] | None
    guarantee: Guarantee
    loss: pd.Series[float]
    parameters: dict[str, Any]
    passed_through: tuple[Hashable, ...] = ()
    holds: bool = True

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter((self.frame, self.mapping))

    def __repr__(self) -> str:
        lines = [
            f"Anonymized: {len(self.frame)} rows, {self.parameters.get('algorithm', 'release')}",
            f"  guarantee  {self.guarantee!r}, {'audited' if self.holds else 'which does NOT hold'}",
            *self._changes(),
            "  loss       " + ", ".join(f"{name} {value:.4g}" for name, value in self.loss.items()),
        ]
        return "\n".join(lines)

    def _changes(self) -> Iterator[str]:
        if self.classes is not None:
            sizes = self.classes.iloc[:, 1]  # by position: a quasi-identifier may be called size too
            smallest = f", the smallest of {sizes.min()} rows" if len(sizes) else ""
            yield f"  classes    {len(sizes)}{smallest}"
        if self.classes is None or len(self.mapping):
            generalized = self.mapping["generalized"]
            changed = generalized.isna() | (generalized != self.mapping["item"].astype(generalized.dtype))
            of_all = f"{int(changed.sum())} of {len(self.mapping)} generalized or suppressed"
            yield f"  items      {of_all}" + ("" if self.groups is None else ", counted in each group")
