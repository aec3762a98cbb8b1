"""Audits of tables that are read in parts, each of whole classes, and of tables with rows of persons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees import check_recountable
from pdanon.guarantees.independent import count_again, join_persons
from pdanon.guarantees.k_anonymity import KAnonymity
from pdanon.guarantees.kkm import KKm, KLm, QuasiClasses, list_labels
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.ps import PSRules
from pdanon.guarantees.verdict import Audit, Guarantee, Recountable
from pdanon.io.grouping import number_buckets
from pdanon.io.parquet import to_frame
from pdanon.io.units import KnownRows, UnitRows, UnitTable
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.columns import find_column, find_quasi
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import Mask, arrow_lists

ByClasses: TypeAlias = KAnonymity | KKm | KLm


def check_countable(guarantee: Any) -> Recountable | ByClasses:
    """Check that a guarantee can be audited on list columns alone, or class by class."""
    if isinstance(guarantee, ByClasses):
        return guarantee
    return check_recountable(guarantee, [kind.__name__ for kind in get_args(ByClasses)])


class ClassColumns(NamedTuple):
    """The columns that an audit by class reads: quasi-identifiers, then list columns."""

    labels: list[Any]
    n_quasi: int

    @classmethod
    def of(cls, guarantee: ByClasses, frame: pd.DataFrame, column: Hashable | None) -> ClassColumns:
        """Find the columns of a frame, whose rows are not read."""
        lists = list_labels(guarantee, column)
        quasi, found = find_quasi(frame, guarantee.quasi), [find_column(frame, each) for each in lists]
        return cls([frame.columns[place] for place in [*quasi, *found]], len(quasi))

    @property
    def column(self) -> Hashable | None:
        """The list column, if it is one."""
        return self.labels[-1] if len(self.labels) == self.n_quasi + 1 else None


class ClassPart(NamedTuple):
    """All rows of some classes, as released."""

    frame: pd.DataFrame
    had_none: Mask | None  # whether a row had no item in the original; None: unknown


class PartAudit(NamedTuple):
    """Counts of all rows of some classes."""

    rows_at_risk: int  # if no row was emptied
    with_emptied: int  # if the rows that look emptied were emptied
    n_emptied: int = 0  # rows that look emptied
    n_empty: int | None = None  # of them, those without an item in the original; None: unknown
    occurring: frozenset[int] = frozenset()  # numbers of the sensitive items that occur


def audit_part(guarantee: ByClasses, column: Hashable | None, part: ClassPart) -> PartAudit:
    """Recount all rows of some classes."""
    if isinstance(guarantee, KAnonymity):
        at_risk = guarantee.audit(part.frame, column).rows_at_risk
        return PartAudit(at_risk, at_risk)
    classes = QuasiClasses.of(part.frame, guarantee, column, is_part=True)
    exposed, few, n_empty, occurring = classes.exposed, classes.emptied, None, []
    if part.had_none is not None:
        n_empty = int(np.sum([each & part.had_none for each in few]))
    if isinstance(guarantee, KLm):
        occurring = guarantee.sensitive.find(classes.crowds.itemsets.vocabulary).tolist()
    at_risk, with_emptied = (int(np.sum(each)) for each in (exposed, np.logical_or.reduce([exposed, *few])))
    return PartAudit(at_risk, with_emptied, int(np.sum(few)), n_empty, frozenset(occurring))


def list_threats(
    guarantee: ByClasses, column: Hashable | None, part: ClassPart, *, emptied: bool
) -> pd.DataFrame:
    """List the threats of some classes; ``emptied`` if the rows that look emptied were emptied."""
    if isinstance(guarantee, KAnonymity):
        return guarantee.audit(part.frame, column).threats
    classes = QuasiClasses.of(part.frame, guarantee, column, is_part=True)
    return classes.table(*(classes.emptied if emptied else []))


def join_audits(
    guarantee: ByClasses, parts: Sequence[PartAudit], list_parts: Callable[[bool], Iterable[pd.DataFrame]]
) -> Audit:
    """Return the audit of a table, given those of its classes."""
    # ``list_parts`` lists the threats of each part, given whether rows that look emptied were emptied.
    if isinstance(guarantee, KLm):
        occurring = frozenset().union(*(each.occurring for each in parts))
        left_out = frozenset() if guarantee.mapping is None else guarantee.mapping.left_out
        guarantee.sensitive.refuse_unknown({*occurring, *left_out})
    emptied = False
    if isinstance(guarantee, KKm | KLm) and guarantee.mapping is not None:
        known = [each.n_empty for each in parts if each.n_empty is not None]
        if known:
            guarantee = replace(guarantee, mapping=replace(guarantee.mapping, empty_rows=sum(known)))
        emptied = sum(each.n_emptied for each in parts) > guarantee.mapping.empty_rows

    def list_all() -> pd.DataFrame:
        found = [*list_parts(emptied)]
        return pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)

    at_risk = sum(each.with_emptied if emptied else each.rows_at_risk for each in parts)
    return Audit(guarantee, at_risk, list_all)


def audit_parts(guarantee: ByClasses, parts: Iterable[ClassPart], column: Hashable | None) -> Audit:
    """Recount a table part by part."""
    # Rows with equal quasi-identifiers are in the same part. Parts are read again for the table of threats.

    def list_parts(emptied: bool) -> Iterable[pd.DataFrame]:
        return (list_threats(guarantee, column, part, emptied=emptied) for part in parts)

    return join_audits(guarantee, [audit_part(guarantee, column, part) for part in parts], list_parts)


# --- Rows by class

HAD_NONE = "__had_none__"  # whether the original row had no item
AUDITED = 5_000  # rows that are audited at once; more if the last class has more


def read_classes(rows: pa.Table, n_quasi: int) -> Iterator[ClassPart]:
    """Yield the rows of a bucket of whole classes, some classes at a time; at least one part."""
    # The first columns are the quasi-identifiers. A column `HAD_NONE` is no part of the frames.
    hashes = number_buckets(rows.select(range(n_quasi)), 2**62)
    _, class_of, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    part_of = ((np.cumsum(sizes) - sizes) // AUDITED)[class_of]
    for number in range(int(part_of.max(initial=0)) + 1):
        part, had_none = rows.take(pa.array(np.flatnonzero(part_of == number))), None
        if HAD_NONE in part.column_names:
            had_none = part.column(HAD_NONE).to_numpy()
            part = part.drop_columns([HAD_NONE])
        yield ClassPart(to_frame(part), had_none)


# --- Tables in which a person, the unit of the guarantee, has several rows


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
    if seconds is None:
        if not table.others:
            return guarantee.audit(table.gather(repeats=counts), label)
        columns = [frame.iloc[:, place] for place in table.others]
        return audit_rows(guarantee, label, table.rows, columns, counts)
    if table.others:
        what = "the independent audit of persons covers no other columns"
        hint = "leave out all columns but those of persons and items, or omit independent=True"
        raise ParameterError(what, where="independent", got=f"{len(table.others)} columns", hint=hint)
    units, items = (frame.iloc[:, place] for place in (table.unit, table.column))
    rows = items.convert_dtypes() if table.is_long else items
    joined = join_persons(units.tolist(), rows, counts=counts)
    joined.columns = frame.columns[[table.column]]
    return count_again(joined, guarantee, label, seconds)


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
