"""Release: the one door by which a frame leaves, audited from scratch before anyone sees it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.errors import GuaranteeError, IdentifierWarning
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.collapsed import Collapsed
from pdanon.itemsets.columns import is_list_column, with_column
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["attempt", "demand", "pass_through", "release"]


_NEARLY_ALL = 0.95


_FEW = 20  # rows; in fewer, any column may differ in each


def release(
    frame: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> Anonymized:
    """Build the release, and audit it from scratch before anyone sees it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original; it is not modified.
    position : int
        Which of its columns is recoded.
    itemsets : Itemsets
        That column, encoded.
    recoding : Recoding
        What becomes of its items.
    guarantee : Guarantee
        What the release must fulfil.
    parameters : mapping
        What was asked, for the record.

    Returns
    -------
    Anonymized

    Raises
    ------
    GuaranteeError
        If the release fails its audit. It is withheld.
    """
    if isinstance(frame, Collapsed):
        return _decided(frame, itemsets, recoding, guarantee, parameters)
    result, audit = attempt(frame, position, itemsets, recoding, guarantee, parameters)
    demand(audit)
    return result


def _decided(
    transactions: Any,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> Anonymized:
    """What is known before rows are written; who writes them audits them."""
    from pdanon.recoding.loss import information_loss

    mapping = mapping_table(itemsets, recoding)
    loss = information_loss(itemsets, recoding)
    audited = guarantee.with_mapping(mapping)
    groups = None if recoding.groups is None else pd.Series(recoding.groups, name="group")
    transactions = replace(transactions, itemsets=recoding.prepared(itemsets))
    return Anonymized(transactions, mapping, None, groups, audited, loss, dict(parameters), holds=False)


def demand(audit: Audit) -> None:
    """Withhold a release that fails its audit."""
    if not audit.holds:
        raise GuaranteeError(
            "the release does not have its guarantee and is withheld",
            got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
            hint="this is a defect of pdanon; please report it with the parameters that were used",
        )


def attempt(
    frame: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> tuple[Anonymized, Audit]:
    """As `release`, but with the audit's verdict, whatever it is: for `InfeasibleError.partial`."""
    from pdanon.recoding.loss import information_loss

    released = with_column(frame, position, recoding.apply(itemsets).to_pandas())
    mapping = mapping_table(itemsets, recoding)
    audited = guarantee.with_mapping(mapping)
    audit = audited.audit(released, frame.columns[position])
    loss = information_loss(itemsets, recoding)
    groups = None
    if recoding.groups is not None:
        groups = pd.Series(recoding.groups, index=frame.index, name="group")
    unchanged = pass_through(frame, [position])
    result = Anonymized(
        released, mapping, None, groups, audited, loss, dict(parameters), unchanged, audit.holds
    )
    return result, audit


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
    columns = {f"column {frame.columns[position]!r}": frame.iloc[:, position] for position in others}
    for level, name in enumerate(frame.index.names):
        if name is not None:
            columns[f"index {name!r}"] = frame.index.get_level_values(level).to_series()
    for name, column in columns.items():
        if len(frame) >= _FEW and _count_values(column) >= _NEARLY_ALL * len(frame):
            message = f"{name} differs in nearly every row and passes through unchanged: it may identify"
            warnings.warn(message, IdentifierWarning, stacklevel=_levels_within())
    return tuple(frame.columns[position] for position in others)


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
