"""Release: the one door by which a frame leaves, audited from scratch before anyone sees it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Hashable, Sequence
from types import FrameType
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.errors import GuaranteeError, IdentifierWarning
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column, with_column
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.decided import Decided
from pdanon.recoding.result import Anonymized

__all__ = ["demand", "pass_through", "release"]


_NEARLY_ALL = 0.95


_FEW = 20  # rows; in fewer, any column may differ in each


def release(frame: pd.DataFrame, positions: Sequence[int], decided: Decided) -> Anonymized:
    """Write the rows of a release, and audit it from scratch before anyone sees it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original; it is not modified.
    positions : sequence of int
        Where its list column is, which is recoded, and its private column, if there is one, which is built
        anew.
    decided : Decided
        What becomes of its items.

    Returns
    -------
    Anonymized

    Raises
    ------
    InfeasibleError
        If there is no more than an attempt, which is then its ``partial``.
    GuaranteeError
        If the release fails its audit. It is withheld.
    """
    result, audit = _written(frame, positions, decided)
    if decided.problem is not None:
        decided.problem.partial = result
        raise decided.problem
    demand(audit)
    return result


def _written(frame: pd.DataFrame, positions: Sequence[int], decided: Decided) -> tuple[Anonymized, Audit]:
    """The rows and all that is known of them, with the audit's verdict, whatever it is."""
    position, *hidden = positions
    released = with_column(frame, position, decided.recoding.apply(decided.columns.itemsets).to_pandas())
    for place, private in zip(hidden, decided.columns.columns[1:], strict=True):
        released = with_column(released, place, private.to_pandas())
    audit = decided.guarantee.audit(released, frame.columns[position])
    groups = None
    if decided.recoding.groups is not None:
        groups = pd.Series(decided.recoding.groups, index=frame.index, name="group")
    result = Anonymized(
        released,
        decided.mapping,
        None,
        groups,
        decided.guarantee,
        decided.loss,
        dict(decided.parameters),
        pass_through(frame, [position]),
        audit.holds,
        decided.trace,
    )
    return result, audit


def demand(audit: Audit) -> None:
    """Withhold a release that fails its audit."""
    if not audit.holds:
        raise GuaranteeError(
            "the release does not have its guarantee and is withheld",
            got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
            hint="this is a defect of pdanon; please report it with the parameters that were used",
        )


def pass_through(frame: pd.DataFrame, recoded: Collection[int]) -> tuple[Hashable, ...]:
    """Labels of the columns that are released as they are, with a warning about those that may identify.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    recoded : collection of int
        Positions of the columns that are not.

    Warns
    -----
    IdentifierWarning
        If a column, or a level of the index that has a name, has nearly as many values as there are rows.
    """
    others = [position for position in range(frame.shape[1]) if position not in recoded]
    labels = tuple(frame.columns[position] for position in others)
    if len(frame) < _FEW:
        return labels
    columns = {f"column {frame.columns[position]!r}": frame.iloc[:, position] for position in others}
    for level, name in enumerate(frame.index.names):
        if name is not None:
            columns[f"index {name!r}"] = frame.index.get_level_values(level).to_series()
    for name, column in columns.items():
        if _count_values(column) >= _NEARLY_ALL * len(frame):
            message = f"{name} differs in nearly every row and passes through unchanged: it may identify"
            warnings.warn(message, IdentifierWarning, stacklevel=_levels_within())
    return labels


def _levels_within() -> int:
    """How many calls the caller is away from code that is not of this package, which warnings point to."""
    caller: FrameType | None = sys._getframe(1)
    levels = 1
    while caller is not None and caller.f_globals.get("__name__", "").startswith("pdanon."):
        caller, levels = caller.f_back, levels + 1
    return levels


def _count_values(column: pd.Series[Any]) -> int:
    if is_list_column(column):
        return len(SupportIndex.of(Itemsets.from_series(column)).distinct().weights)
    try:
        return column.nunique()
    except (TypeError, pa.ArrowNotImplementedError):  # values without equality are not looked at
        return 0
