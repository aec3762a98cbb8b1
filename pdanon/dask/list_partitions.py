"""Releases of Dask frames with list columns: workers count, the client decides, workers recode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE, Plan, Publisher, Recoder
from pdanon.algorithms.skeleton import Request, merge_found
from pdanon.dask.lazy import (
    LazyRelease,
    check_frame,
    check_keep,
    encode_lists,
    item_types,
    join_first,
    merge_parts,
)
from pdanon.dask.versions import change_error, compute
from pdanon.dask.writing import Origin
from pdanon.errors import ColumnError
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.guarantees import check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, find_columns, is_list_column, label_positions, with_column
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, Reader, collapse_columns, gather
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, release
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified, judged_columns

_LISTS_HINT = """Dask turns lists of Python objects into text: convert them to Arrow lists first, with \
pdanon.as_itemsets(...), or read them with pdanon.read_parquet or dtype_backend='pyarrow'"""


def anonymize_lists(
    frame: dd.DataFrame, labels: list[Hashable], decide: Plan, keep: Any, max_loss: Mapping[str, float] | None
) -> LazyRelease:
    """Release a frame by an algorithm for list columns, as `pdanon.dask.anonymize`."""
    partitions = _Partitions(frame, labels)
    return release(partitions, partial(partitions.decide, decide), keep, max_loss)


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
    merged: ListColumns = compute(merge_parts(_parts(frame, labels, _collapse_part, read), _merge))
    return merged


# --- The release


@dataclass(frozen=True, eq=False, slots=True)
class _PartitionRows:
    """Recoding of rows, their number and fingerprint, and the facts about it of `Chosen`."""

    n_rows: int
    fingerprint: int
    recoder: Recoder
    tried: pd.DataFrame | None = None
    sample: int | None = None
    rounds: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Partitions:
    """The rows of a Dask DataFrame, as an original."""

    frame: dd.DataFrame
    labels: list[Hashable]  # of the list column, and of the private column if there is one

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""
        return check_keep(self.frame._meta, self.labels, keep)

    def decide(self, decide: Plan) -> Decision[_PartitionRows]:
        """Decide on the client, for the distinct transactions or by the supports of their pairs."""
        if decide.by_pairs is None:
            columns = count_transactions(self.frame, self.labels)
            counted = _Counted(columns, rows_fingerprint(columns.columns))
        else:
            counted = compute(merge_parts(_parts(self.frame, self.labels, _count_part), _merge_counted))
        chosen = decide.decide(counted.rows, self._fetch)
        known = counted.rows.n_rows, counted.fingerprint, chosen.decision.rows
        facts = chosen.tried, chosen.sample, chosen.rounds
        return chosen.decision.with_rows(_PartitionRows(*known, *facts))

    def _fetch(self, request: Request) -> list[SupportIndex]:
        """Return the rows that an interim decision requests, merged by the workers."""
        once = dask.delayed(request, traverse=False)  # one node of the graph
        return [compute(merge_parts(_parts(self.frame, self.labels, _find_part, once), merge_found))]

    @contextmanager
    def write(self, decision: Decision[_PartitionRows]) -> Iterator[_WrittenPartitions]:
        """Recode the partitions once for the audit. Computing the release recodes them again."""
        join = _merge if decision.rows.rounds is None else gather
        released, look = _recode(self.frame, self.labels, decision.rows.recoder, join)
        seen: _RowFacts = compute(look)
        if seen.published.n_rows != decision.rows.n_rows:
            raise change_error(f"{seen.published.n_rows} rows instead of {decision.rows.n_rows}")
        if seen.fingerprint != decision.rows.fingerprint:
            raise change_error("rows with other items")
        yield _WrittenPartitions(decision.rows.n_rows, self.frame, released, self.labels, seen)


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenPartitions:
    """A released Dask DataFrame before its audit, and the facts about its rows."""

    n_rows: int
    original: dd.DataFrame
    frame: dd.DataFrame
    labels: list[Hashable]
    seen: _RowFacts

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        first = self.seen.first
        position, *private = label_positions(first, self.labels)
        judged = judged_columns(
            first, [position, *private], judged
        )  # again, as the values can now be checked
        return count_unmodified(first, [position], guarantee, judged, private=private, rows=self.n_rows)

    def columns_left(self) -> str:
        return ""  # only list columns are recoded

    def audit(self, guarantee: Guarantee) -> Audit:
        return _recount(guarantee, self.seen.published, self.frame, self.labels)

    def result(self, facts: Facts) -> LazyRelease:
        decision, rows = facts.decision, facts.decision.rows
        known = decision.mapping, facts.guarantee, decision.loss, rows.n_rows, dict(decision.parameters)
        recount = partial(_recount_written, self.labels, by_pairs=rows.rounds is not None)
        origin = Origin.of(self.original, recount)
        chosen = rows.tried, rows.sample, facts.risk, rows.rounds
        return LazyRelease(self.frame, *known, *chosen, origin=origin, unmodified=facts.unmodified)


def _recount(guarantee: Guarantee, published: Gathered, frame: dd.DataFrame, labels: list[Hashable]) -> Audit:
    """Audit a released frame, given its distinct transactions or the supports of their pairs."""
    recountable = check_recountable(guarantee)
    if isinstance(published, ListColumns):
        return recountable.recount(published)
    audit = recountable.recount(published.sort().columns())
    if audit.holds:
        return audit
    # Supports of pairs tell that something is rare, but not how many rows hold it.
    return recountable.recount(count_transactions(frame, labels, read=read_visible))


def _recount_written(
    labels: list[Hashable], frame: dd.DataFrame, guarantee: Guarantee, *, by_pairs: bool
) -> Audit:
    """Audit a written release, by the supports of pairs if it was decided by them."""
    parts = _parts(frame, labels, _collapse_part, read_visible)
    published = compute(merge_parts(parts, gather if by_pairs else _merge))
    return _recount(guarantee, published, frame, labels)


# --- The tasks of workers


def _parts(frame: dd.DataFrame, labels: list[Hashable], look: Callable[..., Any], *options: Any) -> list[Any]:
    """Return the results of a function of some columns of each partition, not computed yet."""
    columns = frame[labels]  # Parquet readers then skip all other columns
    kinds, call = item_types(columns._meta, labels), dask.delayed(look)
    return [call(part, labels, kinds, number, *options) for number, part in enumerate(columns.to_delayed())]


def _collapse_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int, read: Reader
) -> ListColumns:
    """Return the distinct transactions of a partition, with items of the given types."""
    pairs = zip(labels, kinds, strict=True)
    columns = [encode_lists(part[label], kind, number, read) for label, kind in pairs]
    return collapse_columns([columns], len(columns))


def _merge(parts: list[ListColumns]) -> ListColumns:
    """Merge the distinct transactions of partitions."""
    return collapse_columns((part.columns for part in parts), len(parts[0].columns))


class _Counted(NamedTuple):
    """Distinct transactions, or the supports of their pairs, and the fingerprint of the rows."""

    rows: Gathered
    fingerprint: int


def _count_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int
) -> _Counted:
    rows = _collapse_part(part, labels, kinds, number, Itemsets.from_series)
    return _Counted(gather([rows]), rows_fingerprint(rows.columns))


def _merge_counted(parts: list[_Counted]) -> _Counted:
    return _Counted(gather(part.rows for part in parts), sum(part.fingerprint for part in parts) % 2**64)


def _find_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int, request: Request
) -> SupportIndex:
    """Return the rows of a partition that an interim decision requests."""
    found = request.find(encode_lists(part[labels[0]], kinds[0], number, Itemsets.from_series))
    if found is None:
        raise change_error("new items")
    return found


class _RowFacts(NamedTuple):
    """Facts about rows that were read again and recoded."""

    fingerprint: int  # of the original rows
    published: Gathered  # the distinct recoded transactions, or the supports of their pairs
    first: pd.DataFrame  # the first recoded rows


def _recode(
    frame: dd.DataFrame, labels: list[Hashable], recoder: Recoder, join: Callable[[list[Any]], Gathered]
) -> tuple[dd.DataFrame, Any]:
    """Return the released frame, and the facts about its rows; nothing is computed yet."""
    publisher = Publisher.of(recoder)
    once = dask.delayed(publisher, traverse=False)  # one node of the graph, instead of a copy in each task
    meta = _recode_part(frame._meta, labels, publisher)
    released = frame.map_partitions(_recode_part, labels, once, meta=meta)
    kinds, look = item_types(released._meta, labels), dask.delayed(_recode_and_count)
    parts = enumerate(frame.to_delayed())
    facts = [look(part, labels, once, kinds, number) for number, part in parts]
    return released, merge_parts(facts, partial(_merge_facts, join))


def _recode_part(part: pd.DataFrame, labels: list[Hashable], publisher: Publisher) -> pd.DataFrame:
    """Recode a partition; a private column is written again."""
    position, *hidden = (find_column(part, label) for label in labels)
    itemsets = Itemsets.from_series(part.iloc[:, position])
    published = publisher.publish(itemsets)
    if published is None:
        raise change_error(f"{publisher.count_new(itemsets)} new items")
    released = with_column(part, position, published.to_pandas())
    for each in hidden:
        private = Itemsets.from_series(part.iloc[:, each]).missing_as_empty()
        released = with_column(released, each, private.to_pandas())
    return released


def _recode_and_count(
    part: pd.DataFrame,
    labels: list[Hashable],
    publisher: Publisher,
    kinds: list[pa.DataType],
    number: int,
) -> _RowFacts:
    """Recode a partition as in the release; the same reading gives the rows and their fingerprint."""
    released = _recode_part(part, labels, publisher)
    fingerprint = rows_fingerprint([Itemsets.from_series(part[label]) for label in labels])
    published = _collapse_part(released, labels, kinds, number, read_visible)
    return _RowFacts(fingerprint, published, released.head(SAMPLE))


def _merge_facts(join: Callable[[list[Any]], Gathered], parts: list[_RowFacts]) -> _RowFacts:
    fingerprint = sum(part.fingerprint for part in parts) % 2**64
    published = join([part.published for part in parts])
    return _RowFacts(fingerprint, published, join_first([part.first for part in parts]))
