"""Audits of tables in which a person, the unit of the guarantee, has several rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees.independent import count_again, join_persons
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.ps import PSRules
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.units import KnownRows, UnitRows, UnitTable
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import arrow_lists


def audit_units(
    guarantee: Guarantee,
    frame: pd.DataFrame,
    column: Hashable | None,
    *,
    unit: Hashable,
    item: Hashable,
    counts: bool,
    seconds: float | None = None,
) -> Audit:
    """Recount a table in which a unit may have several rows."""
    # ``guarantee``: a guarantee of list columns, for units instead of rows. ``frame``: the table. All columns
    # other than those of units and items are known to the attacker as well.
    # ``seconds``: the time limit of the independent audit, which then counts.
    table = UnitTable.of(frame, unit, item, column, as_shown=True)
    label = frame.columns[table.column]
    refuse_counts(guarantee, counts)
    if seconds is not None:
        return _count_again(guarantee, table, seconds, counts)
    if not table.others:
        return guarantee.audit(table.gather(repeats=counts), label)
    columns = [frame.iloc[:, place] for place in table.others]
    return audit_rows(guarantee, label, table.rows, columns, counts)


def _count_again(guarantee: Guarantee, table: UnitTable, seconds: float, counts: bool) -> Audit:
    """Return the independent audit of a table that has only units and items."""
    if table.others:
        what = "the independent audit of persons covers no other columns"
        hint = "leave out all columns but those of persons and items, or omit independent=True"
        raise ParameterError(what, where="independent", got=f"{len(table.others)} columns", hint=hint)
    units, items = (table.frame.iloc[:, place] for place in (table.unit, table.column))
    rows = items.convert_dtypes() if table.is_long else items
    joined = join_persons(units.tolist(), rows, counts=counts)
    joined.columns = table.frame.columns[[table.column]]
    return count_again(joined, guarantee, joined.columns[0], seconds)


def refuse_counts(guarantee: Guarantee, counts: bool) -> None:
    """Refuse to count repeated labels for a guarantee that ignores them."""
    if counts and isinstance(guarantee, PrivacyConstraints | PSRules):
        what = f"{type(guarantee).__name__} ignores how often a label occurs"
        raise ParameterError(what, where="counts", hint="leave out counts=, or audit KmAnonymity")


def audit_rows(
    guarantee: Guarantee,
    label: Hashable,
    rows: UnitRows,
    columns: Sequence[pd.Series[Any]],
    counts: bool,
) -> Audit:
    """Audit rows together with the values of other columns, which the attacker knows as well."""
    # Guarantees of other kinds cannot include values of columns. ``rows`` are published, and ``counts`` is
    # whether the attacker knows how often.
    if not isinstance(guarantee, KmAnonymity):
        hint = "leave out all columns but those of units and items"
        what = "only KmAnonymity covers other columns of the rows of a unit"
        raise ParameterError(what, where="guarantee", got=type(guarantee).__name__, hint=hint)
    known = KnownRows(rows, [*map(number_values, columns)], [str(each.name) for each in columns], counts)
    audit = guarantee.audit(known.to_frame(label), label)

    def list_threats() -> pd.DataFrame:
        return _describe(audit.threats, known, columns)

    return Audit(audit.guarantee, audit.rows_at_risk, list_threats)


def number_values(column: pd.Series[Any]) -> Numbers:
    """Number the values of a column that is published with the labels."""
    numbers = value_numbers(column)
    if numbers is None:
        hint = "leave the column out, or convert it to text"
        raise ColumnError(
            "the values of a column cannot be compared", where=f"column {column.name!r}", hint=hint
        )
    return numbers


def _describe(threats: pd.DataFrame, known: KnownRows, columns: Sequence[pd.Series[Any]]) -> pd.DataFrame:
    """Replace numbers by texts in a table of threats."""
    lists = arrow_lists(threats["itemset"]).to_pylist()
    texts = known.describe([number for each in lists for number in each], columns)
    itemsets = pd.Series([[texts[number] for number in each] for each in lists], dtype=object)
    return threats.assign(itemset=itemsets)
