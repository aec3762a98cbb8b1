"""Releases and audits of Dask frames with lines in which a person has several, over partitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.algorithms.engines import Plan
from pdanon.algorithms.unit_engine import DecidedLines, Units, decide_lines, encode_units
from pdanon.dask.lazy import LazyRelease, check_frame, merge_parts
from pdanon.dask.versions import compute
from pdanon.dask.writing import Origin
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError
from pdanon.guarantees import check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.long import (
    number_persons,
    person_types,
    refuse_single_lines,
    refuse_types,
    without_signs,
)
from pdanon.io.units import UnitRows, read_line_items
from pdanon.itemsets.columns import is_list_column, label_position
from pdanon.itemsets.encoded_columns import ListColumns, collapse_columns
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, release
from pdanon.recoding.unit_lines import UnitLines
from pdanon.recoding.unmodified_columns import UnmodifiedColumns


def anonymize_lines(
    frame: dd.DataFrame, units: Units, decide: Plan, max_loss: Mapping[str, float] | None
) -> LazyRelease:
    """Release lines by what decides for distinct transactions, as `pdanon.dask.anonymize` with ``unit``."""
    lines = _LinePartitions(frame, units)
    return release(lines, partial(lines.decide, decide), (), max_loss)


def audit_partition_lines(frame: dd.DataFrame, units: Units, guarantee: Guarantee) -> Audit:
    """Recount the persons of lines, as `pdanon.dask.audit` with ``unit``."""
    recountable = check_recountable(guarantee)
    check_columns(frame, units)
    units.check_audit(guarantee, list(frame.columns))
    columns = read_units(frame, units, as_shown=True)
    with show_activity("audit"):
        return recountable.recount(columns)


@dataclass(frozen=True, eq=False, slots=True)
class _LinePartitions:
    """The lines of a Dask DataFrame, and the columns of persons and items."""

    frame: dd.DataFrame
    units: Units

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Return no columns: `Units.check_parameters` refuses them."""
        return ()

    def decide(self, decide: Plan) -> Decision[DecidedLines]:
        """Decide for the distinct sets of persons, on the client."""
        return decide_lines(read_units(self.frame, self.units), decide, counts=self.units.counts)

    @contextmanager
    def write(self, decision: Decision[DecidedLines]) -> Iterator[_WrittenLines]:
        """Make the lines from those of distinct persons: the input is not read again."""
        yield _WrittenLines(self, decision.rows.lines, _frame_of(decision.rows.lines, self.frame, self.units))


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenLines:
    """A released Dask DataFrame of lines before its audit."""

    original: _LinePartitions
    lines: UnitLines
    frame: dd.DataFrame

    @property
    def n_rows(self) -> int:
        return self.lines.n_units

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        return UnmodifiedColumns()

    def columns_left(self) -> str:
        return ""

    def audit(self, guarantee: Guarantee) -> Audit:
        return _recount(self.original.units, self.frame, guarantee)

    def result(self, facts: Facts) -> LazyRelease:
        decision, rows = facts.decision, facts.decision.rows
        parameters = {**decision.parameters, **self.original.units.parameters}
        known = decision.mapping, facts.guarantee, decision.loss, self.lines.n_lines, parameters
        origin = Origin.of(self.original.frame, partial(_recount, self.original.units))
        return LazyRelease(self.frame, *known, rows.tried, rows.sample, facts.risk, origin=origin)


def _recount(units: Units, frame: dd.DataFrame, guarantee: Guarantee) -> Audit:
    """Recount the persons of released lines."""
    return check_recountable(guarantee).recount(read_units(frame, units, as_shown=True))


def _frame_of(lines: UnitLines, original: dd.DataFrame, units: Units) -> dd.DataFrame:
    """Return the lines as a frame with as many partitions as the original. No person spans partitions."""
    labels = [label for label in original.columns if label in (units.unit, units.item)]
    meta = _part_of(lines, 0, 0, labels, units.unit)
    once, make = dask.delayed(lines, traverse=False), dask.delayed(_part_of)
    parts = [make(once, first, end, labels, units.unit) for first, end in lines.parts(original.npartitions)]
    return dd.from_delayed(parts or [make(once, 0, 0, labels, units.unit)], meta=meta, verify_meta=False)


def _part_of(lines: UnitLines, first: int, end: int, labels: list[Hashable], unit: Hashable) -> pd.DataFrame:
    """Return the lines of some persons."""
    persons, shown = lines.read(first, end)
    items: Any = pd.array(shown, dtype=pd.ArrowDtype(shown.type))
    values = [persons if label == unit else items for label in labels]
    part = pd.DataFrame(dict(enumerate(values)))
    part.columns = pd.Index(labels)
    start = lines.n_lines_before(first)
    part.index = pd.RangeIndex(start, start + len(part))
    return part


# --- Gathering


class _Gathered(NamedTuple):
    """The distinct sets or bags of some persons, and facts about all their lines."""

    columns: ListColumns
    n_lines: int
    n_missing: int  # lines without a person
    n_units: int
    types: frozenset[str]  # of persons, if they are Python objects


def read_units(frame: dd.DataFrame, units: Units, *, as_shown: bool = False) -> ListColumns:
    """Return the distinct sets of persons, or their bags if lines count, on the client.

    Audits read items ``as_shown``, exactly as they are written.
    """
    check_columns(frame, units)
    columns = frame[[units.unit, units.item]]
    meta = _plain_part(columns._meta, None, None)
    parts = [
        dask.delayed(_plain_part)(part, meta.dtypes, number)
        for number, part in enumerate(columns.to_delayed())
    ]
    plain = dd.from_delayed(parts, meta=meta, verify_meta=False)
    if plain.npartitions > 1:  # tasks: the other way to shuffle changes types of columns
        plain = plain.shuffle(on="unit", shuffle_method="tasks")
    gather = dask.delayed(_gather_part)
    parts = [gather(part, units, as_shown) for part in plain.to_delayed()]
    found: _Gathered = compute(merge_parts(parts, _merge_gathered))
    if found.n_missing:
        raise ParameterError(
            "some lines have no person",
            where="unit",
            got=f"{found.n_missing} of {found.n_lines} lines in which a value is missing",
            hint=f"leave them out, as by frame.dropna(subset={[units.unit]})",
        )
    refuse_types(found.types, units.unit, "unit")
    if not as_shown:
        refuse_single_lines(found.n_lines, found.n_units, "unit")
    return found.columns


def check_columns(frame: dd.DataFrame, units: Units) -> list[Hashable]:
    """Check the columns of persons and items before any partition is read, and return them."""
    check_frame(frame)
    unit, item = (label_position(frame._meta, label) for label in (units.unit, units.item))
    if is_list_column(frame._meta.iloc[:, unit]):
        hint = "pass the column that is the same in all rows of a person, such as a customer number"
        raise ColumnError("the column of units holds lists", where="unit", got=f"{units.unit!r}", hint=hint)
    number_persons([frame._meta.iloc[:, unit]], "unit")  # refuses values that cannot be compared
    if is_list_column(frame._meta.iloc[:, item]):
        hint = "explode the lists first, ddf.explode(column): lists of a person are not merged here"
        raise ItemsetDtypeError("the item column holds lists", where="item", hint=hint)
    return [units.unit, units.item]


def _plain_part(part: pd.DataFrame, expected: Any, number: int | None) -> pd.DataFrame:
    """Return the persons and items of a partition, persons with a type whose equal values have one hash."""
    unit, item = (_without_categories(part.iloc[:, place]) for place in (0, 1))
    unit = without_signs(unit)
    if number is not None and len(part):
        _refuse_other_type("persons", unit.dtype, expected["unit"], number, same=True)
        _refuse_other_type("items", item.dtype, expected["item"], number)
    return pd.DataFrame({"unit": unit.array, "item": item.array})


def _refuse_other_type(what: str, kind: Any, expected: Any, number: int, *, same: bool = False) -> None:
    """Refuse a type that is not the same, or that would be joined with the expected one as floats."""
    joined = {kind.kind, expected.kind} in ({"i", "f"}, {"u", "f"}, {"i", "u"})
    if joined or (same and kind != expected):
        raise ItemsetDtypeError(
            f"the {what} of a partition have another type than those of the frame",
            where=f"partition {number}",
            got=f"{kind} instead of {expected}",
            hint="convert the column first, such as ddf.astype(...)",
        )


def _without_categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the values of a column of categories, which may differ between partitions."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = column.cat.categories.dtype
        exact: Any = str(kind).replace("int", "Int").replace("uI", "UI") if kind.kind in "iu" else kind
        return column.astype(exact)  # with missing values, other integers would become floats
    return column


def _gather_part(part: pd.DataFrame, units: Units, as_shown: bool) -> _Gathered:
    """Gather the lines of a partition that has all lines of its persons."""
    n_lines, present = len(part), part[part["unit"].notna()]
    numbers, n_units = number_persons([pd.Series(present["unit"].array, name=units.unit)], "unit")
    rows = UnitRows(numbers, n_units, read_line_items(present["item"], as_shown))
    types = person_types(present["unit"])
    columns = collapse_columns([[encode_units(rows, repeats=units.counts)]], 1)
    return _Gathered(columns, n_lines, n_lines - len(present), n_units, types)


def _fits_float(items: pa.Array) -> bool:
    """Return whether items are exact as floats, such as the whole numbers of a column of floats."""
    if not pa.types.is_integer(items.type) or not len(items):
        return True
    least, most = (each.as_py() for each in pc.min_max(items).values())
    return bool(least > -(2**53) and most < 2**53)


def _merge_gathered(parts: list[_Gathered]) -> _Gathered:
    """Merge parts with different persons."""
    found = [part.columns.itemsets for part in parts]
    kinds = {each.vocabulary.type for each in found if each.n_items}
    if kinds == {pa.int64(), pa.float64()} and all(_fits_float(each.vocabulary) for each in found):
        kinds = {pa.float64()}
    if len(kinds) > 1:
        raise ItemsetDtypeError(
            "the items of a partition have another type than those of the frame",
            where="item",
            got=" and ".join(sorted(map(str, kinds))),
            hint="convert the column first, such as ddf.astype(...)",
        )
    kind = kinds.pop() if kinds else pa.string()
    same = [[replace(each, vocabulary=each.vocabulary.cast(kind))] for each in found]
    n_lines, n_missing, n_units = (sum(each) for each in list(zip(*parts, strict=True))[1:-1])
    types = frozenset[str]().union(*(part.types for part in parts))
    return _Gathered(collapse_columns(same, 1), n_lines, n_missing, n_units, types)
