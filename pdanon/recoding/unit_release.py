"""Releases of tables in which a person, the unit of the guarantee, has several rows."""

# The rows of a unit are gathered to the set of its items, any algorithm recodes these sets, and the labels go
# back to the rows. So no algorithm knows of units.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import InfeasibleError, ParameterError, ReleaseWarning, warn
from pdanon.guarantees.class_audit import audit_rows, audit_units, number_values
from pdanon.guarantees.k_anonymity import TransactionalK
from pdanon.guarantees.km import KmAnonymity
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.forms import refuse_published_persons
from pdanon.io.units import UnitRows, UnitTable
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets
from pdanon.itemsets.columns import label_positions
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.equality import pair_numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of, rows_of, take_rows
from pdanon.itemsets.mapping import (
    global_mapping,
    has_one_label,
    mapping_values,
    relabel,
    relabel_by_groups,
)
from pdanon.itemsets.support import ranks_of
from pdanon.recoding.release import withhold
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, keep_parameter

_Values = Mapping[int, "pd.Series[Any]"]  # of the rows of a release, by the position of the column

_CALENDAR = ("day", "week", "month", "quarter")  # by which times are published, the finest first


def release_units(
    table: UnitTable,
    recode: Callable[[pd.DataFrame], Anonymized],
    counts: bool,
    keep: Sequence[Hashable],
) -> Anonymized:
    """Release the rows of units."""
    # ``recode``: recodes a frame with one row per unit: the set of its items. ``counts``: whether each line
    # with an item is published, instead of the distinct ones. ``keep``: columns to publish beside the items.
    columns, kept = table.frame.columns, label_positions(table.frame, keep)
    if table.column in kept:
        hint = "leave it out of keep: its labels are published"
        raise ParameterError("the column of items is recoded", where="keep", hint=hint)
    refuse_published_persons([columns[table.unit]], keep)
    result = _UnitRelease(table, sorted(kept), counts).publish(recode(table.gather()))
    item = columns[table.column] if table.is_long else None
    parameters = {"unit": columns[table.unit], "item": item, "counts": counts}
    return replace(result, parameters={**result.parameters, **parameters, **keep_parameter(keep)})


def rename_units(
    table: UnitTable, names: dict[str, str], guarantee: Guarantee, *, counts: bool
) -> pd.DataFrame:
    """Return the table of units with other names of sets, in the order of its new content, and audit it."""
    release = _UnitRelease(table, table.others, counts)
    rows = replace(table.rows, bags=table.rows.bags.rename(names, repeats=True))
    frame = release.to_frame(rows, {place: table.frame.iloc[:, place] for place in table.others})
    release.audit(guarantee, frame, counts or (table.is_long and not table.others))
    return frame


@frozen
class _UnitRelease:
    """A release of rows that belong to units."""

    # ``kept``: positions of the columns to publish beside the items. Units are published as numbers.
    # ``counts``: whether each line with an item is published, instead of the distinct ones.

    table: UnitTable
    kept: Sequence[int]
    counts: bool

    def publish(self, result: Anonymized) -> Anonymized:
        """Return the release of rows, for a release of the sets of units."""
        table, guarantee = self.table, result.guarantee
        if not table.is_long or self.counts or self.kept:
            rows, sources = self._recoded_rows(result)
            repeats = self.counts
        else:
            rows, repeats = lines_of(Itemsets.from_series(result.frame.iloc[:, 0], repeats=True))
            sources = np.full(len(rows.numbers), -1)
        known = {place: _values(table.frame, place, sources) for place in self.kept}
        values = self._hide(guarantee, rows, known)
        frame = self.to_frame(rows, values)
        self.audit(guarantee, frame, repeats)
        shows_counts = not table.is_long and not self.counts and isinstance(guarantee, KmAnonymity)
        if shows_counts and (few := self._at_risk(guarantee, rows, {}, True)):
            what = f"{few:,} of {rows.n_units:,} persons are at risk if an attacker knows how often"
            what += " they have a label, which the rows show"
            hint = "convert the rows to lines by pdanon.to_long: item= publishes a label of a person once"
            warn(ReleaseWarning(what, hint=hint))
        return replace(result, frame=frame, groups=None, unmodified=UnmodifiedColumns())

    # --- Labels

    def _recoded_rows(self, result: Anonymized) -> tuple[UnitRows, Numbers]:
        """Return the rows of the original with labels, and the position of each; -1 for none."""
        # Lines without a label are left out. A unit without labels has one line.
        units, n_units = self.table.rows.numbers, self.table.rows.n_units
        bags, mapping = self.table.rows.bags.missing_as_empty(), result.mapping
        # Repeated labels of a row are dropped. What a unit loses, it loses in all of its rows.
        if mapping["group"].eq(0).all():
            labels = relabel(bags, *global_mapping(mapping), missing_as_empty=True)
        elif not isinstance(result.guarantee, TransactionalK) and has_one_label(mapping):
            assert result.groups is not None  # it is a local recoding
            items = mapping_values(mapping, "item").unique()
            known = items.take(pa.compute.sort_indices(items)), mapping
            groups = result.groups.to_numpy()[units].astype(np.int32)
            keeps_type = mapping["generalized"].dtype == mapping["item"].dtype
            found = relabel_by_groups(bags, groups, *known, keeps_type=keeps_type)
            assert found is not None  # the mapping is that of the release
            labels = found
        else:
            hint = "leave out counts= and keep= (--counts, --keep), or " if self.table.is_long else ""
            raise local_error(result.parameters.get("algorithm"), hint)
        if not self.table.is_long:
            return UnitRows(units, n_units, labels), np.arange(len(units))
        sources = np.flatnonzero(labels.lengths > 0)
        empty = np.flatnonzero(~mask_at(n_units, units[sources])).astype(np.int32)
        numbers = np.concatenate([units[sources], empty])
        sources = np.concatenate([sources, np.full(len(empty), -1)])
        offsets = offsets_of(sources >= 0)
        bags = Itemsets(labels.codes, offsets, labels.vocabulary, np.zeros(len(numbers), np.bool_))
        return UnitRows(numbers, n_units, bags), sources

    # --- Other columns

    def _hide(self, guarantee: Guarantee, rows: UnitRows, values: _Values) -> _Values:
        """Publish times by larger parts of the calendar until the guarantee covers labels and values."""
        if not values and not self.counts:
            return values
        check_countable(guarantee)
        if self._is_safe(guarantee, rows, values):
            return values
        times = [place for place, column in values.items() if is_time(column)]
        others = {place: column for place, column in values.items() if place not in times}
        if times and self._is_safe(guarantee, rows, others):
            for part in _CALENDAR:
                coarse = {place: by_calendar(values[place], part) for place in times}
                if self._is_safe(guarantee, rows, {**values, **coarse}):
                    names = ", ".join(repr(values[place].name) for place in times)
                    hint = f"convert them beforehand to publish another part of the calendar than the {part}"
                    warn(ReleaseWarning(f"times in {names} are published by {part}", hint=hint))
                    return {**values, **coarse}
        raise exposure_error(rows.n_units, self._exposures(guarantee, rows, values), self.counts)

    def _is_safe(self, guarantee: Guarantee, rows: UnitRows, values: _Values) -> bool:
        return self._at_risk(guarantee, rows, values, self.counts) == 0

    def _at_risk(self, guarantee: Guarantee, rows: UnitRows, values: _Values, counts: bool) -> int:
        """Count the units at risk if an attacker knows labels and values."""
        label = self.table.frame.columns[self.table.column]
        return audit_rows(guarantee, label, rows, [*values.values()], counts).rows_at_risk

    def _exposures(self, guarantee: Guarantee, rows: UnitRows, values: _Values) -> list[str]:
        """Describe how many units are at risk by how often, by each column, and by all of them."""
        found = []
        if self.counts:
            found.append(f"how often: {self._at_risk(guarantee, rows, {}, True):,}")
        for place, column in values.items():
            parts = _CALENDAR if is_time(column) else ()
            shown = {f"{column.name}": column, **{f"its {part}": by_calendar(column, part) for part in parts}}
            for text, each in shown.items():
                found.append(f"{text}: {self._at_risk(guarantee, rows, {place: each}, False):,}")
        if len(values) + self.counts > 1:
            found.append(f"all: {self._at_risk(guarantee, rows, values, self.counts):,}")
        return found

    # --- The table

    def to_frame(self, rows: UnitRows, values: _Values) -> pd.DataFrame:
        """Return the table. Its order depends on its content only, and so do the numbers of units."""
        table = self.table
        content = label_ranks(rows, table.is_long)
        for column in values.values():  # values are ranked by their texts
            _, first, number = np.unique(number_values(column), return_index=True, return_inverse=True)
            ranked = np.array([str(value) for value in column.iloc[first]], object)
            content = pair_numbers(content, inverse_order(np.argsort(ranked, kind="stable"))[number])
        own = unit_places(rows, content)[rows.numbers]
        order = np.lexsort((content, own))
        if table.is_long and values and not self.counts:  # larger parts of the calendar make lines equal
            known = np.stack([own, content])[:, order]
            order = order[(np.diff(known, prepend=-1) != 0).any(axis=0)]
        columns: dict[int, Any] = {table.column: label_column(rows, order, table.is_long)}
        columns[table.unit] = own[order]
        columns |= {place: column.array.take(order) for place, column in values.items()}
        used = sorted(columns)
        frame = pd.DataFrame({number: columns[number] for number in used})
        frame.columns = table.frame.columns[used]
        frame.attrs = dict(table.frame.attrs)
        return frame

    def audit(self, guarantee: Guarantee, frame: pd.DataFrame, counts: bool) -> None:
        """Recount the table as it is published."""
        unit, label = (self.table.frame.columns[place] for place in (self.table.unit, self.table.column))
        item, column = (label, None) if self.table.is_long else (None, label)
        withhold(audit_units(guarantee, frame, column, unit=unit, item=item, counts=counts), "persons")


# --- Values of other columns


def _values(frame: pd.DataFrame, place: int, sources: Numbers) -> pd.Series[Any]:
    """Return the values of rows of the original; missing for -1."""
    column = frame.iloc[:, place].reset_index(drop=True)
    if (sources < 0).any() and column.dtype.kind in "iub":  # which has no missing values
        column = column.convert_dtypes()
    return _without_residue(column.reindex(sources).reset_index(drop=True))


def _without_residue(column: pd.Series[Any]) -> pd.Series[Any]:
    """Drop categories that no published row has."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    if isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_dictionary(column.dtype.pyarrow_dtype):
        return column.astype(pd.ArrowDtype(column.dtype.pyarrow_dtype.value_type))
    return column


def is_time(column: pd.Series[Any]) -> bool:
    """Return whether a column holds dates or times."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return True
    if pd.api.types.is_object_dtype(column.dtype):
        if pd.api.types.infer_dtype(column, skipna=True) not in ("date", "datetime"):
            return False
        try:  # times of several zones, or outside the range of pandas, have no calendar in common
            return pd.api.types.is_datetime64_any_dtype(pd.to_datetime(column).dtype)
        except (ValueError, TypeError):
            return False
    dtype = column.dtype
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_date(dtype.pyarrow_dtype)


def by_calendar(column: pd.Series[Any], part: str) -> pd.Series[Any]:
    """Return texts such as ``2025-03-09``, ``2025-W10``, ``2025-03`` and ``2025-Q1`` for times."""
    numbers, found = pd.factorize(pd.DatetimeIndex(pd.to_datetime(column)))
    times = pd.DatetimeIndex(found)
    formats = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
    if part == "quarter":
        texts = [f"{year}-Q{quarter}" for year, quarter in zip(times.year, times.quarter, strict=True)]
    else:
        texts = times.strftime(formats[part]).tolist()
    return pd.Series(text_column(np.array([*texts, None], object)[numbers]), name=column.name)


# --- Lines of distinct persons

_LINES = 2**18  # lines that are read together


@frozen
class UnitLines:
    """Lines of persons to publish. Persons with equal lines are next to each other, and stored once."""

    # ``codes`` (lines of distinct persons,): the label of each line; -1 for none. ``offsets`` (distinct
    # persons + 1,): the lines of each. ``weights`` (distinct persons,): the number of persons with these
    # lines.

    codes: Codes
    offsets: Offsets
    weights: Numbers
    vocabulary: pa.Array

    @classmethod
    def of(cls, rows: UnitRows, weights: Numbers) -> UnitLines:
        """Sort the lines of distinct persons, given the number of each, as a release in memory."""
        content = label_ranks(rows, is_long=True)
        of_unit = unit_places(rows, content)
        own = of_unit[rows.numbers]
        order = np.lexsort((content, own))
        offsets = offsets_of(np.bincount(own, minlength=rows.n_units))
        sizes = weights[np.argsort(of_unit)]
        return cls((content[order] - 1).astype(np.int32), offsets, sizes, rows.bags.vocabulary)

    @property
    def n_rows(self) -> int:
        """Number of persons: each is a row for a guarantee."""
        return int(self.weights.sum())

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return int(self.weights @ np.diff(self.offsets))

    def n_lines_before(self, unit: int) -> int:
        """Number of lines of all persons before one."""
        before = np.clip(unit - offsets_of(self.weights)[:-1], 0, self.weights)  # of the persons of each
        return int(before @ np.diff(self.offsets))

    def parts(self, n_parts: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first person of each part of the lines, and the end of the part."""
        size = max(_LINES * self.n_rows // max(self.n_lines, 1), 1)
        size = size if n_parts is None else max(-(-self.n_rows // n_parts), 1)
        for first in range(0, self.n_rows, size):
            yield first, min(first + size, self.n_rows)

    def read(self, first: int, end: int) -> tuple[Numbers, pa.Array]:
        """Return the lines of some persons: their numbers and their labels."""
        persons = np.arange(first, end)
        distinct = np.searchsorted(offsets_of(self.weights), persons, side="right") - 1
        codes, offsets = take_rows(self.codes, self.offsets, distinct)
        return persons[rows_of(offsets)], self.vocabulary.take(pa.array(codes, mask=codes < 0))


# --- What lines cannot show


def check_countable(guarantee: Guarantee) -> None:
    """Check that a guarantee covers how often a person has a label, and values beside it."""
    if not isinstance(guarantee, KmAnonymity):
        hint = "leave out counts= and keep= (--counts, --keep)"
        what = "only KmAnonymity covers how often, or other columns"
        raise ParameterError(what, where="unit", got=type(guarantee).__name__, hint=hint)


def local_error(algorithm: object, hint: str) -> ParameterError:
    """Return the error for single rows of a release with several labels for an item."""
    return ParameterError(
        "labels of single rows need the same label for an item in all persons",
        where="unit",
        got=f"{algorithm}, which recodes groups of persons",
        hint=f"{hint}choose an algorithm with one label for an item, such as pcta",
    )


def exposure_error(n_units: int, exposures: list[str], counts: bool) -> InfeasibleError:
    """Return the error for lines that put persons at risk, with their number for each thing known."""
    return InfeasibleError(
        "the guarantee does not cover what the rows show beside the sets of labels",
        where="counts and keep" if counts else "keep",
        got=f"of {n_units:,} persons at risk, if an attacker knows the labels and {'; '.join(exposures)}",
        hint=f"leave out {'counts=True (--counts)' if counts else 'the columns at risk'}",
    )


# --- Rows without values of other columns


def lines_of(bags: Itemsets) -> tuple[UnitRows, bool]:
    """Return a line for each label that a unit has, and whether a unit repeats a label."""
    # A unit without labels has a line without a label.
    lengths = bags.lengths
    lines = np.maximum(lengths, 1)
    offsets = offsets_of(np.repeat(lengths > 0, lines))
    numbers = np.repeat(np.arange(len(lengths), dtype=np.int32), lines)
    repeats = (np.diff(bags.codes) == 0) & (np.diff(rows_of(bags.offsets)) == 0)
    rows = Itemsets(bags.codes, offsets, bags.vocabulary, np.zeros(len(numbers), np.bool_))
    return UnitRows(numbers, len(lengths), rows), bool(repeats.any())


def label_column(rows: UnitRows, order: Numbers, is_long: bool) -> Any:
    """Return the column of labels: lists, or the label of each line."""
    if not is_long:
        return rows.bags.take(order).to_pandas()
    codes = label_ranks(rows, is_long)[order] - 1
    return pd.arrays.ArrowExtensionArray(rows.bags.vocabulary.take(pa.array(codes, mask=codes < 0)))


# --- Orders that depend on content only


def label_ranks(rows: UnitRows, is_long: bool) -> Numbers:
    """Rank rows by their labels; equal ones share a rank."""
    bags = rows.bags
    if not is_long:
        return ranks_of(bags.codes, bags.offsets, len(bags.vocabulary))
    ranks = np.zeros(len(rows.numbers), np.int64)
    ranks[bags.lengths > 0] = bags.codes.astype(np.int64) + 1
    return ranks


def unit_places(rows: UnitRows, content: Numbers) -> Numbers:
    """Rank units by the contents of their rows. Ties have equal rows, and keep their order."""
    order = np.lexsort((content, rows.numbers))
    offsets = offsets_of(np.bincount(rows.numbers, minlength=rows.n_units))
    ranks = ranks_of(content[order].astype(np.int32), offsets, int(content.max(initial=-1)) + 1)
    return inverse_order(np.argsort(ranks, kind="stable"))
