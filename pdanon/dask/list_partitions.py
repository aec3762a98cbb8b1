"""Releases of Dask frames with list columns: workers count, the client decides, workers recode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import dask.dataframe as dd
import pandas as pd

from pdanon.algorithms.engines import SAMPLE, Plan, RecodedRows, Recoder
from pdanon.algorithms.skeleton import Request, merge_found
from pdanon.dask.lazy import (
    LazyRelease,
    Original,
    PartColumns,
    WrittenPartitions,
    check_frame,
    join_first,
)
from pdanon.dask.tasks import change_error, compute, each_part, merge_parts, once
from pdanon.errors import ColumnError
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, find_columns, is_list_column, with_column
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, Reader, collapse_columns, gather
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, recount

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
    if not any(is_list_column(meta.iloc[:, number]) for number in range(meta.shape[1])):
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

    @contextmanager
    def write(self, decision: Decision[RecodedRows]) -> Iterator[_WrittenLists]:
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
        yield _WrittenLists(self, decision, released, seen.first, seen.rows)


@frozen
class _WrittenLists(WrittenPartitions):
    """A released Dask DataFrame with a list column, and its distinct rows or the supports of their pairs."""

    published: Gathered

    def audit(self, guarantee: Guarantee) -> Audit:
        return _recount(self.original.columns.labels, self.published, self.frame, guarantee)

    def result(self, facts: Facts) -> LazyRelease:
        join = _merge if facts.decision.rounds is None else gather
        return self.lazy(facts, self.n_rows, partial(_recount_written, self.original.columns.labels, join))


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
