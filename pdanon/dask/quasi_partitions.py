"""Releases of Dask frames with quasi-identifiers: region by region, see `pdanon.algorithms.regions`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, pairwise, repeat, starmap
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.engines import SAMPLE, recodes_lists
from pdanon.algorithms.regions import ReleasedTable, decide_table
from pdanon.algorithms.regions.region_release import (
    ROWS,
    MemoryStorage,
    RegionFacts,
    number_groups,
    without_missing,
)
from pdanon.algorithms.regions.table_parts import (
    Assignment,
    Drawn,
    Encoder,
    Histogram,
    SplitPart,
    TableValues,
)
from pdanon.dask.lazy import (
    Draft,
    LazyRelease,
    Original,
    PartColumns,
    change_error,
    check_frame,
    compute,
    each_part,
    exchange,
    join_first,
    merge_parts,
    once,
    persist,
)
from pdanon.errors import ItemsetDtypeError
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.guarantees.class_audit import (
    HAD_NONE,
    ByClasses,
    ClassColumns,
    ClassPart,
    audit_part,
    join_audits,
    list_threats,
    read_classes,
)
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.grouping import number_buckets, pack, regroup, unpack
from pdanon.io.parquet import to_frame
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.columns import find_column, find_quasi, quasi_names, release_copy
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import QUASI_HINT, Mask
from pdanon.itemsets.memory import returning_unused
from pdanon.itemsets.timing import call_uncounted, progress_bar
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts
from pdanon.recoding.unmodified_columns import RecodedColumns

_LEAST_BUCKETS = 16  # groups of regions that workers exchange, unless there are more partitions


class TablePartitions(Original):
    """The rows of a Dask DataFrame with quasi-identifiers, and optionally a list column that is recoded."""

    @classmethod
    def of(
        cls, frame: dd.DataFrame, name: str, parameters: dict[str, Any], column: Hashable | None
    ) -> TablePartitions:
        """Find the columns that an algorithm recodes."""
        check_frame(frame)
        has_lists, meta = recodes_lists(name, column), frame._meta
        quasi = [meta.columns[place] for place in find_quasi(meta, quasi_names(parameters["quasi"]))]
        lists = [meta.columns[find_column(meta, column)]] if has_lists else []
        return cls(frame, RecodedColumns(quasi, lists))

    @property
    def parts(self) -> PartColumns:
        """The columns, as workers read them."""
        return PartColumns.of(self.frame._meta, self.columns.lists, self.columns.quasi)

    def decide(self, name: str, given: Mapping[str, Any]) -> Decision[ReleasedTable]:
        """Read the rows, and decide region by region, on the workers."""
        rows = _PartitionRows(self.frame, self.parts)
        with progress_bar(name, "steps"):
            return decide_table(rows, name, given, rows.share)

    def write(self, decision: Decision[ReleasedTable]) -> nullcontext[Draft]:
        """Recode the partitions once for the audit. Computing the release recodes them again."""
        released, columns = decision.rows.rows, self.parts
        parts = [*zip(self.frame.to_delayed(), released.parts, released.digests, strict=True)]
        meta = _place(self.frame._meta, released.schema.empty_table(), columns)
        recode, look = dask.delayed(_recode), dask.delayed(_look)
        recoded = [recode(*part, columns) for part in parts]
        frame = dd.from_delayed(recoded, meta=meta, divisions=self.frame.divisions, verify_meta=False)
        looks = persist([look(*part, columns, number, len(parts)) for number, part in enumerate(parts)])
        before, after = compute(merge_parts([each[0] for each in looks], _merge_shown))
        pieces = [each[1] for each in looks]
        return nullcontext(Draft(frame, after, decision.rows.n_rows, (before, pieces)))

    def columns_left(self, decision: Decision[ReleasedTable], draft: Draft) -> str:
        """Describe the quasi-identifiers and items that are almost empty; columns in the first rows."""
        return decision.rows.columns_left(draft.counted[0], draft.first[[*self.columns.quasi]])

    def audit(self, decision: Decision[ReleasedTable], draft: Draft) -> Audit:
        """Recount all rows by class."""
        guarantee, (quasi, lists, _) = decision.guarantee, self.columns
        assert isinstance(guarantee, ByClasses)
        return _audit_pieces(ClassColumns([*quasi, *lists], len(quasi)), guarantee, draft.counted[1])

    def result(self, draft: Draft, facts: Facts) -> LazyRelease:
        """Return the result for the caller, with the merges and the mapping."""
        decision = facts.decision
        own = {"trace": decision.trace, "local_mapping": decision.rows.rows.mapping()}
        return self.lazy(draft, facts, partial(_recount, next(iter(self.columns.lists), None)), **own)


# --- The rows, on the workers


@frozen
class _Encoded:
    """A partition as numbers of its values and items, and its fingerprint."""

    n_rows: int
    packed: bytes
    values: TableValues
    digest: str


class _PartitionRows:
    """The rows of a Dask DataFrame as numbers, with all values and items on the client."""

    def __init__(self, frame: dd.DataFrame, columns: PartColumns) -> None:
        self._encoded = persist(each_part(_encode, frame[columns.labels], columns))
        values = merge_parts([each.values for each in self._encoded], TableValues.join)
        facts = [(each.n_rows, each.digest) for each in self._encoded]
        self.values, known = compute((values, facts))
        n_rows, digests = zip(*known, strict=True)
        self.n_rows, self.digests = sum(n_rows), [*digests]
        # After `split`:
        self.storages: list[MemoryStorage] = []  # the number of rows of each region
        self._stored: list[tuple[slice, Any]] = []  # adjacent regions, and the storage of each, on a worker
        self._places: list[Any] = []  # of the rows of each partition, sorted by region
        self._counts: NDArray[np.int32]  # rows of each partition in each region

    def each(self, function: Callable[..., Any], encoder: Encoder, *shared: Any) -> list[Any]:
        """Apply a function to each part, with further arguments."""
        found: list[Any] = compute(self._each(function, encoder, *shared))
        return found

    def merge(self, function: Callable[..., Any], join: Callable[..., Any], encoder: Encoder) -> Any:
        """Apply a function to each part and `Encoder.sizes`, and join the results two by two."""
        return compute(merge_parts(self._each(function, encoder, encoder.sizes), partial(reduce, join)))

    def split(
        self, encoder: Encoder, assignment: Assignment, own: Sequence[tuple[Numbers, Drawn]]
    ) -> list[Codes]:
        """Split each part as `SplitPart`, bring the rows of each region together, and return the pairs."""
        n, n_regions = len(self._encoded), assignment.n_regions
        n_buckets = min(n_regions, max(n, _LEAST_BUCKETS))
        bounds = np.linspace(0, n_regions, n_buckets + 1).astype(np.int64).tolist()
        split, join = self._each(_split, encoder, assignment, bounds, own=own), dask.delayed(_join_regions)
        buckets = [join(each) for each in exchange([each[0] for each in split], n_buckets)]
        kept = persist([*(each[1] for each in split), *(each[2] for each in split), *buckets])
        counts, pairs = zip(*compute(kept[:n]), strict=True)
        self._places, self._encoded, self._counts = kept[n : 2 * n], [], np.array(counts, np.int32)
        self._stored = [*zip(starmap(slice, pairwise(bounds)), kept[2 * n :], strict=True)]
        self.storages = [*map(MemoryStorage, self._counts.sum(axis=0).tolist())]
        return [*pairs]

    def share(self, function: Callable[..., Any], parts: Sequence[Any], *given: Sequence[Any]) -> list[Any]:
        """Apply a function to each region, where its rows are; what it stores stays there."""
        shared, work = [once(function), once(replace(parts[0], storage=None))], dask.delayed(_work)
        own = [*zip(*given, strict=True)] if given else [()] * len(parts)
        done = persist([work(*shared, storages, once(own[regions])) for regions, storages in self._stored])
        outcomes: list[list[Any]] = compute([each[0] for each in done])
        regions = [own for own, _ in self._stored]
        self._stored = [*zip(regions, [each[1] for each in done], strict=True)]
        return [each for bucket in outcomes for each in bucket]

    def written(self, name: str) -> Iterator[pa.Table]:
        """Yield a table that each region stored, in their order."""
        pick = dask.delayed(_pick_stored)
        for _, stored in self._stored:
            yield from map(unpack, compute(pick(stored, name)))

    def publish(self, facts: Sequence[RegionFacts], hides_missing: bool) -> _ReleasedPartitions:
        """Bring the released rows back to their partitions."""
        split, gather = dask.delayed(_split_released), dask.delayed(_gather)
        back = [split(tables, once(self._counts[:, own])) for own, tables in self._stored]
        pieces = exchange(back, len(self._places))
        parts = persist([gather(*each, hides_missing) for each in zip(pieces, self._places, strict=True)])
        mappings: list[Any] = []
        if self.values.label is not None:
            first = np.cumsum([0, *(each.n_groups for each in facts)])[:-1]
            pick, join = dask.delayed(_pick_stored), dask.delayed(_join_mappings)
            # What else the regions stored is freed.
            packed = persist([pick(tables, "mapping") for _, tables in self._stored])
            regions = [first[own].tolist() for own, _ in self._stored]
            mappings = [*map(join, packed, regions)]
        schema = compute(dask.delayed(unpack)(parts[0]).schema)
        return _ReleasedPartitions(parts, self.digests, schema, mappings)

    def publish_values(
        self, encoder: Encoder, histogram: Histogram, released: pa.Table
    ) -> _ReleasedPartitions:
        """Release equal values equally, given the published values of each combination."""
        parts = persist(self._each(_publish_values, encoder, histogram, released))
        return _ReleasedPartitions(parts, self.digests, released.schema)

    def _each(
        self,
        function: Callable[..., Any],
        encoder: Encoder,
        *shared: Any,
        own: Iterable[Sequence[Any]] = repeat(()),
    ) -> list[Any]:
        """Apply a function to each partition as codes, after a check that it is the one that was counted."""
        call, given = dask.delayed(_checked), [*map(once, (encoder, *shared))]
        parts = zip(self._encoded, self.digests, own, strict=False)
        return [call(function, part, digest, *given, *map(once, each)) for part, digest, each in parts]


@frozen
class _ReleasedPartitions:
    """The released columns of each partition, on the workers."""

    parts: list[Any]  # as `pack` returns them, in the order of the rows
    digests: list[str]  # the fingerprint of each original partition
    schema: pa.Schema
    mappings: Sequence[Any] = ()  # some regions at a time, made when computed

    def mapping(self) -> dd.DataFrame | None:
        """Return the mapping, if items were recoded."""
        if not self.mappings:
            return None
        meta = compute(self.mappings[0].head(0))
        return dd.from_delayed([*self.mappings], meta=meta, verify_meta=False)


# --- The tasks of workers


def _digest(part: pd.DataFrame, columns: PartColumns) -> str:
    rows = part[columns.labels].reset_index(drop=True)
    rows.attrs = {}
    return fingerprint(rows)


@returning_unused
def _encode(part: pd.DataFrame, number: int, columns: PartColumns) -> _Encoded:
    quasi, label = _as_arrow(part[columns.quasi], number), next(iter(columns.lists), None)
    values = TableValues(quasi.schema, columns.quasi, label, f"partition {number}")
    rows = values.add(quasi.columns, next(iter(columns.read(part, number)), None))
    return _Encoded(len(rows), pack(rows), values, _digest(part, columns))


def _as_arrow(part: pd.DataFrame, number: int) -> pa.Table:
    try:
        return pa.Table.from_pandas(part, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError):
        pass  # raised outside the handler: the message of Arrow may contain a value
    raise ItemsetDtypeError(
        "the values of a quasi-identifier have no common type",
        where=f"quasi, partition {number}",
        hint=QUASI_HINT,
    )


@returning_unused
def _checked(
    function: Callable[..., Any], encoded: _Encoded, digest: str, encoder: Encoder, *given: Any
) -> Any:
    if encoded.digest != digest:
        raise change_error("rows with other values or items, or in another order")
    return function(*encoder.encode(unpack(encoded.packed), encoded.values), *given)


def _split(
    codes: Codes,
    itemsets: Itemsets | None,
    assignment: Assignment,
    bounds: list[int],
    before: Numbers,
    drawn: Drawn,
) -> tuple[list[tuple[bytes, Numbers]], tuple[Numbers, Codes], Codes]:
    """Split a partition into the rows of adjacent regions, with the number of rows of each."""
    split = SplitPart.of(codes, itemsets, assignment, before, drawn)
    counts = [split.counts[start:stop] for start, stop in pairwise(bounds)]
    pieces = [*zip(_pack_each(split.rows, [each.sum() for each in counts]), counts, strict=True)]
    return pieces, (split.counts, split.pairs), split.places


def _pack_each(rows: pa.Table, counts: Numbers | NDArray[np.int32] | list[int]) -> list[bytes]:
    """Pack adjacent rows: so many, then so many, and so on."""
    ends = np.cumsum(counts).tolist()
    return [pack(rows.slice(start, stop - start)) for start, stop in zip([0, *ends], ends, strict=False)]


@returning_unused
def _join_regions(pieces: list[Sequence[tuple[bytes, Numbers]]]) -> list[MemoryStorage]:
    """Return the rows of each region, partition by partition."""
    packed, counts = zip(*chain(*pieces), strict=True)
    by_part = np.array(counts)
    rows = regroup(pa.concat_tables(map(unpack, packed)), by_part)
    n_rows = by_part.sum(axis=0).tolist()
    return [
        MemoryStorage(own, {ROWS: each}) for own, each in zip(n_rows, _pack_each(rows, n_rows), strict=True)
    ]


@returning_unused
def _work(
    function: Callable[..., Any], part: Any, storages: list[MemoryStorage], given: list[Sequence[Any]]
) -> tuple[list[Any], list[MemoryStorage]]:
    """Apply a function to adjacent regions; return the outcomes, and the storages with what it stored."""
    storages = [replace(each, tables={**each.tables}) for each in storages]
    regions = zip(storages, given, strict=True)
    outcomes = [call_uncounted(function, replace(part, storage=each), *own) for each, own in regions]
    return outcomes, storages


def _pick_stored(storages: list[MemoryStorage], name: str) -> list[bytes]:
    return [each.tables[name] for each in storages]


@returning_unused
def _split_released(storages: list[MemoryStorage], counts: NDArray[np.int32]) -> list[bytes]:
    """Return the released rows of some regions by partition, sorted by region."""
    released = pa.concat_tables(each.written("released") for each in storages)
    return _pack_each(regroup(released, counts.T), counts.sum(axis=1))


@returning_unused
def _gather(pieces: list[Sequence[bytes]], places: Numbers, hides_missing: bool) -> bytes:
    """Return the released rows of a partition in their order."""
    released = pa.concat_tables(map(unpack, chain(*pieces))).combine_chunks().take(pa.array(places))
    return pack(without_missing(released) if hides_missing else released)


def _publish_values(
    codes: Codes, itemsets: Itemsets | None, histogram: Histogram, released: pa.Table
) -> bytes:
    return pack(released.take(pa.array(histogram.find(codes))))


@returning_unused
def _join_mappings(packed: list[bytes], first: list[int]) -> pd.DataFrame:
    tables = [number_groups(unpack(each), own) for each, own in zip(packed, first, strict=True)]
    return pa.concat_tables(tables, promote_options="permissive").to_pandas()


# --- The released partitions


def _place(part: pd.DataFrame, released: pa.Table, columns: PartColumns) -> pd.DataFrame:
    """Replace the recoded columns of a partition."""
    values, copy = to_frame(released), release_copy(part)
    for place, label in enumerate(columns.labels):
        copy.isetitem([*part.columns].index(label), values.iloc[:, place].array)
    return copy


@returning_unused
def _recode(part: pd.DataFrame, released: bytes, digest: str, columns: PartColumns) -> pd.DataFrame:
    """Recode a partition, after a check that it is the one that was counted."""
    if _digest(part, columns) != digest:
        raise change_error("rows with other values or items, or in another order")
    return _place(part, unpack(released), columns)


def _look(
    part: pd.DataFrame, released: bytes, digest: str, columns: PartColumns, number: int, n_buckets: int
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], list[bytes]]:
    """Recode a partition as in the release."""
    recoded = _recode(part, released, digest, columns)
    itemsets = next(iter(columns.read(part, number)), None)
    had_none = None if itemsets is None else itemsets.lengths == 0
    pieces = _sort_by_class(recoded[columns.labels], number, len(columns.quasi), n_buckets, had_none)
    return (part[columns.quasi].head(SAMPLE), recoded.head(SAMPLE)), pieces


def _merge_shown(parts: list[tuple[pd.DataFrame, pd.DataFrame]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Merge the first rows."""
    before, after = zip(*parts, strict=True)
    return join_first(before), join_first(after)


# --- Audits by class


def _recount(column: Hashable | None, frame: dd.DataFrame, guarantee: Guarantee) -> Audit:
    """Recount the columns of a written release."""
    assert isinstance(guarantee, ByClasses)
    return audit_partition_classes(frame, guarantee, column)


def audit_partition_classes(frame: dd.DataFrame, guarantee: ByClasses, column: Hashable | None) -> Audit:
    """Recount the classes of a frame, as `pdanon.dask.audit` with quasi-identifiers."""
    columns = ClassColumns.of(guarantee, frame._meta, column)
    pieces = each_part(_sort_by_class, frame[columns.labels], columns.n_quasi, frame.npartitions)
    return _audit_pieces(columns, guarantee, pieces)


@returning_unused
def _sort_by_class(
    part: pd.DataFrame,
    number: int,
    n_quasi: int,
    n_buckets: int,
    had_none: Mask | None = None,
) -> list[bytes]:
    """Return quasi-identifiers and lists by bucket; rows with equal quasi-identifiers are in one bucket."""
    table = _as_arrow(part, number).replace_schema_metadata(None)
    for place, column in enumerate(table.columns[:n_quasi]):
        if pa.types.is_dictionary(column.type) and isinstance(column.type.value_type, pa.BaseExtensionType):
            values = [chunk.dictionary_decode() for chunk in column.chunks]  # Arrow cannot store such codes
            table = table.set_column(place, table.field(place).name, pa.chunked_array(values))
    bucket_of = number_buckets(table.select(range(n_quasi)), n_buckets)
    if had_none is not None:
        table = table.append_column(HAD_NONE, pa.array(had_none))
    rows = table.take(pa.array(np.argsort(bucket_of, kind="stable")))
    return _pack_each(rows, np.bincount(bucket_of, minlength=n_buckets))


def _audit_pieces(columns: ClassColumns, guarantee: ByClasses, pieces: Sequence[Any]) -> Audit:
    """Recount the rows of all buckets, given those of each partition."""

    def each(function: Callable[..., Any]) -> list[Any]:
        known = dask.delayed(partial(_each_class, function, columns, guarantee))
        return [*chain(*compute([known(own) for own in exchange(pieces, len(pieces))]))]

    def list_parts(emptied: bool) -> list[pd.DataFrame]:
        return each(partial(list_threats, emptied=emptied))

    return join_audits(guarantee, each(audit_part), list_parts)


@returning_unused
def _each_class(
    function: Callable[..., Any], columns: ClassColumns, guarantee: ByClasses, pieces: list[Sequence[bytes]]
) -> list[Any]:
    """Apply a function to the rows of a bucket, some classes at a time."""
    return [function(guarantee, columns.column, part) for part in _join_bucket(columns, pieces)]


def _join_bucket(columns: ClassColumns, pieces: list[Sequence[bytes]]) -> Iterator[ClassPart]:
    """Yield the rows of a bucket, given those of each partition, some classes at a time."""
    tables = [*map(unpack, chain(*pieces))]
    for place, label in enumerate(columns.labels):
        kinds = {piece.schema.field(place).type: number for number, piece in enumerate(tables)}
        kinds.pop(pa.null(), None)  # no value of the partition is known
        if len(kinds) > 1:
            raise ItemsetDtypeError(
                "the values of a column have several types",
                where=f"column {label!r}, partitions {sorted(kinds.values())}",
                got=" and ".join(sorted(map(str, kinds))),
                hint="convert the column first, such as ddf.astype(...)",
            )
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    for part in read_classes(rows, columns.n_quasi):
        part.frame.columns = pd.Index(columns.labels)
        yield part
