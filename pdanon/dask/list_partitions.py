"""Releases of Dask frames with list columns, and of lines in which a person has several, over partitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, wraps
from typing import Any, NamedTuple, TypeAlias

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.algorithms.engines import (
    SAMPLE,
    Plan,
    RecodedRows,
    Recoder,
    Request,
    Units,
    decide_lines,
    encode_units,
    merge_found,
    plan,
)
from pdanon.algorithms.registry import Algorithm, watch
from pdanon.dask.lazy import (
    Draft,
    LazyRelease,
    Original,
    PartColumns,
    change_error,
    check_frame,
    compute,
    each_part,
    join_first,
    merge_parts,
    once,
)
from pdanon.errors import ColumnError, ItemsetDtypeError
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.evaluation.metrics.risk import remove_items, risk_of
from pdanon.guarantees import check_recountable, read_guarantee
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.forms import (
    number_persons,
    person_types,
    refuse_list_units,
    refuse_single_lines,
    refuse_types,
    refuse_unknown_persons,
    without_signs,
)
from pdanon.io.units import UnitRows, read_line_items
from pdanon.itemsets.arguments import called_by_name, unknown_method
from pdanon.itemsets.codes import Itemsets, read_visible
from pdanon.itemsets.columns import find_column, find_columns, is_list_column, label_position, with_column
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, Reader, collapse_columns, gather
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, check_max_loss, recount, release
from pdanon.recoding.unit_release import UnitLines
from pdanon.recoding.unmodified_columns import RecodedColumns

_Join: TypeAlias = Callable[[list[Any]], Gathered]  # merges the distinct rows of partitions

_LISTS_HINT = """Dask turns lists of Python objects into text: convert them to Arrow lists first, with \
pdanon.as_itemsets(...), or read them with pdanon.read_parquet or dtype_backend='pyarrow'"""


# --- The columns, and their distinct transactions


def list_columns(frame: dd.DataFrame, column: Hashable | None, private: Any = None) -> list[Hashable]:
    """Return the label of the list column, and of the private column if there is one."""
    check_frame(frame)
    meta = frame._meta
    check_lists(meta)
    positions = find_columns(meta, column, private)
    for position in positions:
        check_lists(meta.iloc[:, [position]])
    return [meta.columns[position] for position in positions]


def check_lists(meta: pd.DataFrame) -> None:
    """Raise an error unless a frame has a column of Arrow lists."""
    if not any(is_list_column(each) for _, each in meta.items()):
        got = f"columns {meta.dtypes.astype(str).to_dict()}"
        raise ColumnError("there is no column of Arrow lists", got=got, hint=_LISTS_HINT)


def count_transactions(
    frame: dd.DataFrame, labels: list[Hashable], *, read: Reader = Itemsets.from_series
) -> ListColumns:
    """Return the distinct transactions of a frame, on the client."""
    counted: ListColumns = _count(frame, labels, read, _merge)
    return counted


def _count(frame: dd.DataFrame, labels: list[Hashable], read: Reader, join: _Join) -> Any:
    return compute(merge_parts(_parts(frame, labels, _collapse_part, read), join))


def _parts(frame: dd.DataFrame, labels: list[Hashable], look: Callable[..., Any], *given: Any) -> list[Any]:
    """Return the results of a function of some columns of each partition, not computed yet."""
    columns = PartColumns.of(frame._meta, labels)
    return each_part(look, frame[columns.labels], columns, *given)  # readers skip all other columns


# --- The release


class ListPartitions(Original):
    """The rows of a Dask DataFrame whose list column is recoded; a private column is written again."""

    def decide(self, decide: Plan) -> Decision[RecodedRows]:
        """Decide on the client, for the distinct transactions or by the supports of their pairs."""
        join = _merge if decide.by_pairs is None else gather
        parts = _parts(self.frame, self.columns.labels, _count_part, join)
        counted: _Counted = compute(merge_parts(parts, partial(_merge_counted, join)))
        decision = decide.decide(counted.rows, self._fetch)
        return decision.with_rows(RecodedRows(counted.rows.n_rows, decision.rows, counted.fingerprint))

    def _fetch(self, request: Request) -> list[SupportIndex]:
        """Return the rows that an interim decision requests, merged by the workers."""
        parts = _parts(self.frame, self.columns.labels, _find_part, once(request))
        return [compute(merge_parts(parts, merge_found))]

    def write(self, decision: Decision[RecodedRows]) -> nullcontext[Draft]:
        """Recode the partitions once for the audit. Computing the release recodes them again."""
        rows, join = decision.rows, _merge if decision.rounds is None else gather
        labels, recoder = self.columns.labels, rows.recoder
        meta, shared = _recode_part(self.frame._meta, labels, recoder), once(recoder)
        released = self.frame.map_partitions(_recode_part, labels, shared, meta=meta)
        columns = PartColumns.of(released._meta, labels)
        facts = each_part(_recode_and_count, self.frame, columns, join, shared)
        seen: _Counted = compute(merge_parts(facts, partial(_merge_counted, join)))
        if seen.rows.n_rows != rows.n_rows:
            raise change_error(f"{seen.rows.n_rows} rows instead of {rows.n_rows}")
        if seen.fingerprint != rows.fingerprint:
            raise change_error("rows with other items")
        return nullcontext(Draft(released, seen.first, rows.n_rows, seen.rows))

    def audit(self, decision: Decision[RecodedRows], draft: Draft) -> Audit:
        """Recount the distinct rows, or the supports of their pairs."""
        return _recount(self.columns.labels, draft.counted, draft.frame, decision.guarantee)

    def result(self, draft: Draft, facts: Facts) -> LazyRelease:
        """Return the result for the caller."""
        join = _merge if facts.decision.rounds is None else gather
        return self.lazy(draft, facts, partial(_recount_written, self.columns.labels, join))


def _recount_written(labels: list[Hashable], join: _Join, frame: dd.DataFrame, guarantee: Guarantee) -> Audit:
    """Audit a written release, by the supports of pairs if it was decided by them."""
    return _recount(labels, _count(frame, labels, read_visible, join), frame, guarantee)


def _recount(labels: list[Hashable], counted: Gathered, frame: dd.DataFrame, guarantee: Guarantee) -> Audit:
    return recount(guarantee, counted, partial(count_transactions, frame, labels, read=read_visible))


# --- The tasks of workers


def _collapse_part(part: pd.DataFrame, number: int, columns: PartColumns, read: Reader) -> ListColumns:
    """Return the distinct transactions of a partition."""
    return collapse_columns([columns.read(part, number, read)], len(columns.lists))


def _merge(parts: list[ListColumns]) -> ListColumns:
    """Merge the distinct transactions of partitions."""
    if len(parts) == 1:
        return parts[0]
    return collapse_columns((part.columns for part in parts), len(parts[0].columns))


class _Counted(NamedTuple):
    """Rows of some partitions, counted by `_merge` or `gather`."""

    rows: Gathered
    fingerprint: int  # of the original rows
    first: pd.DataFrame  # the first ones, if they are recoded


def _count_part(part: pd.DataFrame, number: int, columns: PartColumns, join: _Join) -> _Counted:
    rows = _collapse_part(part, number, columns, Itemsets.from_series)
    return _Counted(join([rows]), rows_fingerprint(rows.columns), part.head(0))


def _merge_counted(join: _Join, parts: list[_Counted]) -> _Counted:
    rows, fingerprints, first = zip(*parts, strict=True)
    return _Counted(join([*rows]), sum(fingerprints) % 2**64, join_first(first))


def _find_part(part: pd.DataFrame, number: int, columns: PartColumns, request: Request) -> SupportIndex:
    """Return the rows of a partition that an interim decision requests."""
    found = request.find(columns.read(part, number)[0])
    if found is None:
        raise change_error("new items")
    return found


def _recode_part(part: pd.DataFrame, labels: list[Hashable], recoder: Recoder) -> pd.DataFrame:
    """Recode a partition; a private column is written again."""
    position, *hidden = (find_column(part, label) for label in labels)
    itemsets = Itemsets.from_series(part.iloc[:, position])
    published = recoder.publish(itemsets)
    if published is None:
        raise change_error(f"{recoder.count_new(itemsets)} new items")
    released = with_column(part, position, published.to_pandas())
    for each in hidden:
        private = Itemsets.from_series(part.iloc[:, each]).missing_as_empty()
        released = with_column(released, each, private.to_pandas())
    return released


def _recode_and_count(
    part: pd.DataFrame, number: int, columns: PartColumns, join: _Join, recoder: Recoder
) -> _Counted:
    """Recode a partition as in the release; the same reading gives the rows and their fingerprint."""
    released = _recode_part(part, columns.lists, recoder)
    fingerprint = rows_fingerprint([Itemsets.from_series(part[label]) for label in columns.lists])
    published = _collapse_part(released, number, columns, read_visible)
    return _Counted(join([published]), fingerprint, released.head(SAMPLE))


# --- Lines in which a person has several


@called_by_name
def by(frame: dd.DataFrame, unit: Hashable, *, item: Hashable, counts: bool = False) -> ByPerson:
    """Take lines by person, where a person has several lines, in any partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The lines.
    unit, item, counts : hashable, hashable, bool
        As in `pdanon.by`.

    Returns
    -------
    ByPerson
        With the methods ``anonymize``, ``audit``, ``risk``, and algorithms such as ``pcta``.

    Raises
    ------
    ColumnError, ParameterError
        If a column is missing, holds lists, or is named twice.

    Notes
    -----
    Releases and audits are those of `pdanon.by`, for lines without other columns, and without ``keep``.
    Workers gather the lines of each person: a shuffle moves persons and items, and no other column. Lines are
    made from the distinct sets of persons on the client, so later changes of the input do not change the
    release. No person spans partitions.
    """
    units = Units.of(unit, item, counts)
    check_columns(frame, units)
    return ByPerson(frame, units)


class ByPerson:
    """A Dask DataFrame of lines taken by person; made by `by`.

    Its methods are ``audit``, ``risk``, ``anonymize`` and the algorithms that recode a list column row by
    row, with the parameters of the accessor of Dask, without the column.
    """

    def __init__(self, frame: dd.DataFrame, units: Units) -> None:
        self._frame, self._units = frame, units

    __getattr__ = unknown_method("persons have no such method", "ddf.txanon.by(...)")

    def anonymize(self, *, max_loss: Mapping[str, float] | None = None, **request: Any) -> LazyRelease:
        """Release the lines by the algorithm that loses least on a sample; parameters as in `anonymize`."""
        return self._release(None, max_loss=max_loss, **request)

    @called_by_name
    def audit(
        self, guarantee: Guarantee | None = None, *, k: int | None = None, m: ItemLimit = DEFAULT_M
    ) -> Audit:
        """Recount from scratch whether a guarantee of items holds for persons.

        Parameters
        ----------
        guarantee : Guarantee
            As in `pdanon.dask.audit`, without those for quasi-identifiers.
        k, m : int, optional
            Short for the guarantee ``KmAnonymity(k, m)``.
        """
        guarantee, _ = read_guarantee(guarantee, None, k, m)
        recountable = check_recountable(guarantee)
        self._units.check_audit(guarantee, list(self._frame.columns))
        columns = read_units(self._frame, self._units, as_shown=True)
        with show_activity("audit"):
            return recountable.recount(columns)

    @called_by_name
    def risk(self, *, k: int, m: int = 2, sensitive: Sequence[Any] | None = None) -> pd.DataFrame:
        """Measure the risk of persons from an attacker with a few known items.

        Parameters
        ----------
        k, m, sensitive
            As in `pdanon.risk`.
        """
        rows = read_units(self._frame, replace(self._units, counts=False)).itemsets
        return measure_risk(rows, k, m, sensitive)

    def _release(
        self, algorithm: str | None, /, *, max_loss: Mapping[str, float] | None = None, **parameters: Any
    ) -> LazyRelease:
        self._units.check_parameters(parameters)
        lines = _LinePartitions(self._frame, RecodedColumns(), self._units)
        most = check_max_loss(max_loss)
        return release(lines, partial(lines.decide, plan(algorithm, parameters)), (), most)


def measure_risk(rows: Itemsets, k: int, m: int, sensitive: Sequence[Any] | None) -> pd.DataFrame:
    """Measure the risk of distinct rows from an attacker who does not know sensitive items."""
    rows = remove_items(rows, sensitive)
    with show_activity("risk"):
        return risk_of(rows, k=k, m=m)


@watch
def _offer(record: Algorithm) -> None:
    """Add a method for an algorithm that recodes the sets of persons."""

    @wraps(record.function)
    def method(self: ByPerson, **parameters: Any) -> LazyRelease:
        return self._release(record.name, **parameters)

    if record.takes_persons:
        setattr(ByPerson, record.name, method)


@frozen
class _LinePartitions(Original):
    """A Dask DataFrame of lines, whose columns are ``units``."""

    units: Units

    def decide(self, decide: Plan) -> Decision[UnitLines]:
        """Decide for the distinct sets of persons, on the client."""
        return decide_lines(read_units(self.frame, self.units), decide, self.units)

    def write(self, decision: Decision[UnitLines]) -> nullcontext[Draft]:
        """Make the lines from those of distinct persons: the input is not read again."""
        # There are as many partitions as in the original. No person spans partitions.
        lines, unit = decision.rows, self.units.unit
        labels = [label for label in self.frame.columns if label in (unit, self.units.item)]
        shared, make = once(lines), dask.delayed(_part_of)
        ends = [*lines.parts(self.frame.npartitions)] or [(0, 0)]
        parts = [make(shared, *each, labels, unit) for each in ends]
        meta = _part_of(lines, 0, 0, labels, unit)
        frame = dd.from_delayed(parts, meta=meta, verify_meta=False)
        return nullcontext(Draft(frame, frame._meta, lines.n_lines))

    def audit(self, decision: Decision[UnitLines], draft: Draft) -> Audit:
        """Recount the persons."""
        return _recount_lines(self.units, draft.frame, decision.guarantee)

    def result(self, draft: Draft, facts: Facts) -> LazyRelease:
        """Return the result for the caller, with the number of lines."""
        return self.lazy(draft, facts, partial(_recount_lines, self.units))


def _recount_lines(units: Units, frame: dd.DataFrame, guarantee: Guarantee) -> Audit:
    """Recount the persons of released lines."""
    return check_recountable(guarantee).recount(read_units(frame, units, as_shown=True))


def _part_of(lines: UnitLines, first: int, end: int, labels: list[Hashable], unit: Hashable) -> pd.DataFrame:
    """Return the lines of some persons."""
    persons, shown = lines.read(first, end)
    items: Any = pd.arrays.ArrowExtensionArray(shown)
    values = [persons if label == unit else items for label in labels]
    part = pd.DataFrame(dict(enumerate(values)))
    part.columns = pd.Index(labels)
    start = lines.n_lines_before(first)
    part.index = pd.RangeIndex(start, start + len(part))
    return part


# --- Gathering


class _Facts(NamedTuple):
    """Facts about the lines of some persons."""

    n_lines: int
    n_missing: int  # lines without a person
    n_units: int
    types: frozenset[str]  # of persons, if they are Python objects


def read_units(frame: dd.DataFrame, units: Units, *, as_shown: bool = False) -> ListColumns:
    """Return the distinct sets of persons, or their bags if lines count, on the client."""
    # Audits read items ``as_shown``, exactly as they are written.
    check_columns(frame, units)
    columns = frame[[units.unit, units.item]]
    meta = _plain_part(columns._meta, 0, None)
    plain = dd.from_delayed(each_part(_plain_part, columns, meta.dtypes), meta=meta, verify_meta=False)
    if plain.npartitions > 1:  # tasks: the other way to shuffle changes types of columns
        plain = plain.shuffle(on="unit", shuffle_method="tasks")
    gathered = each_part(_gather_part, plain, units, as_shown)
    merged = merge_parts([each[0] for each in gathered], _merge_columns)
    found: ListColumns
    found, facts = compute((merged, [each[1] for each in gathered]))
    *lines, types = zip(*facts, strict=True)
    n_lines, n_missing, n_units = map(sum, lines)
    refuse_unknown_persons(n_missing, n_lines, [units.unit], "unit")
    refuse_types(frozenset[str]().union(*types), units.unit, "unit")
    if not as_shown:
        refuse_single_lines(n_lines, n_units, "unit")
    return found


def check_columns(frame: dd.DataFrame, units: Units) -> None:
    """Check the columns of persons and items before any partition is read."""
    check_frame(frame)
    unit, item = (label_position(frame._meta, label) for label in (units.unit, units.item))
    refuse_list_units(units.unit, is_list=is_list_column(frame._meta.iloc[:, unit]))
    number_persons([frame._meta.iloc[:, unit]], "unit")  # refuses values that cannot be compared
    if is_list_column(frame._meta.iloc[:, item]):
        hint = "explode the lists first, ddf.explode(column): lists of a person are not merged here"
        raise ItemsetDtypeError("the item column holds lists", where="item", hint=hint)


def _plain_part(part: pd.DataFrame, number: int, expected: Any) -> pd.DataFrame:
    """Return the persons and items of a partition, persons with a type whose equal values have one hash."""
    unit, item = (_without_categories(part.iloc[:, place]) for place in (0, 1))
    unit = without_signs(unit)
    if len(part):
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


def _gather_part(part: pd.DataFrame, number: int, units: Units, as_shown: bool) -> tuple[ListColumns, _Facts]:
    """Gather the distinct sets or bags of a partition that has all lines of its persons."""
    n_lines, present = len(part), part[part["unit"].notna()]
    numbers, n_units = number_persons([pd.Series(present["unit"].array, name=units.unit)], "unit")
    rows = UnitRows(numbers, n_units, read_line_items(present["item"], as_shown))
    types = person_types(present["unit"])
    columns = collapse_columns([[encode_units(rows, repeats=units.counts)]], 1)
    return columns, _Facts(n_lines, n_lines - len(present), n_units, types)


def _fits_float(items: pa.Array) -> bool:
    """Return whether items are exact as floats, such as the whole numbers of a column of floats."""
    if not pa.types.is_integer(items.type) or not len(items):
        return True
    least, most = (each.as_py() for each in pc.min_max(items).values())
    return bool(least > -(2**53) and most < 2**53)


def _merge_columns(parts: list[ListColumns]) -> ListColumns:
    """Merge the sets or bags of different persons."""
    found = [part.itemsets for part in parts]
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
    return collapse_columns(same, 1)
