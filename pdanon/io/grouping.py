"""Rows gathered on disk: in buckets by their values, and with lists from lines with one item each."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pdanon.errors import (
    ColumnError,
    FormatError,
    ItemsetDtypeError,
    ParameterError,
    PdanonError,
    cause_of,
)
from pdanon.io.files import check_encoding, check_name, replace_file
from pdanon.io.forms import (
    refuse_list_units,
    refuse_published_persons,
    refuse_single_lines,
    refuse_unknown_persons,
)
from pdanon.io.lines import (
    TYPES,
    TextLines,
    cast_columns,
    check_fields,
    check_present,
    check_types,
    delimiter_of,
    is_text,
    spans_lines,
)
from pdanon.io.parquet import to_frame
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.dtype import is_list_type, is_text_type, type_name
from pdanon.itemsets.libraries import without_views
from pdanon.itemsets.lists import QUASI_HINT, Numbers, offsets_of
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.validation import check_text, read_list

# --- Rows in buckets by their values, and on disk: added part by part, and read bucket by bucket


def number_buckets(table: pa.Table, n_buckets: int) -> Numbers:
    """Return a bucket for each row by its values; equal rows are in the same bucket."""
    hashes = np.zeros(len(table), np.uint64)
    for place, column in enumerate(table.columns, start=1):
        own = _hash_values(column)
        if own is None:  # raised outside the handler, whose error may show a value
            raise ItemsetDtypeError(
                "the values of a quasi-identifier cannot be compared",
                where=f"quasi-identifier {place} of {table.num_columns}",
                got=f"type {type_name(column.type)}",
                hint=f"{QUASI_HINT}: convert the column first",
            )
        hashes = hashes * np.uint64(31) + own
    return (hashes % np.uint64(n_buckets)).astype(np.int64)


def _hash_values(values: pa.ChunkedArray) -> NDArray[np.uint64] | None:
    """Hash the values of a column; return None for a type that pandas cannot read."""
    try:
        column = to_frame(pa.table({"values": values}))["values"]
        column = column.map(str) if pa.types.is_struct(values.type) else column
        hashes = pd.util.hash_pandas_object(column, index=False).to_numpy()
    except NotImplementedError:
        return None
    return np.where(
        column.isna().to_numpy(bool), np.uint64(0), hashes
    )  # missing values of any type are equal


# --- Rows as bytes, and on disk


def pack(table: pa.Table) -> bytes:
    """Return compressed bytes of a table: labels of sets repeat the names of their items."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def unpack(packed: bytes) -> pa.Table:
    """Return the table that `pack` compressed."""
    return pa.ipc.open_stream(packed).read_all()


_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


def write_rows(table: pa.Table, path: Path, counts: Iterable[int] | None = None) -> None:
    """Write rows to a file that `read_rows` reads."""
    # With the number of rows of each bucket, rows are sorted by bucket, and each bucket can be read alone.
    batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, table.schema, options=_COMPRESSED) as writer,
    ):
        first = 0
        for count in [len(table)] if counts is None else counts:
            writer.write_batch(batches[0].slice(first, count))
            first += count


def read_rows(path: Path) -> pa.Table:
    """Read a file that `write_rows` wrote."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all().combine_chunks()


def read_bucket(paths: Iterable[Path], number: int) -> pa.Table:
    """Read the rows of a bucket: those of each file, one after the other."""
    batches = []
    for path in paths:
        with pa.OSFile(str(path)) as file:
            batches.append(pa.ipc.open_file(file).get_batch(number))
    return pa.Table.from_batches(batches).combine_chunks()


def regroup(rows: pa.Table, counts: NDArray[np.integer[Any]]) -> pa.Table:
    """Return rows bucket by bucket that come part by part, or the other way round."""
    # ``counts`` has the number of rows of each part and bucket, shape (parts, buckets).
    n_parts, n_buckets = counts.shape
    bucket_of = np.repeat(np.tile(np.arange(n_buckets), n_parts), counts.ravel())
    return rows.take(pa.array(np.argsort(bucket_of, kind="stable")))


_WAITING = 2**25  # bytes of rows that wait in memory to be written together


class Buckets:
    """Rows on disk, added part by part, and read bucket by bucket."""

    # A file has the rows of several parts, bucket by bucket, so few pieces are tiny, and a bucket is in few
    # files.

    def __init__(self, directory: Path, name: str, n_buckets: int) -> None:
        self.n_buckets, self._directory, self._name = n_buckets, directory, name
        self._waiting: list[tuple[pa.Table, NDArray[Any]]] = []
        self._files: list[Path] = []

    def add(self, table: pa.Table, bucket_of: NDArray[Any]) -> None:
        """Add the rows of a part, given the bucket of each. Rows of a bucket keep their order."""
        self._waiting.append((table, bucket_of))
        if sum(rows.nbytes for rows, _ in self._waiting) >= _WAITING:
            self._write()

    def files(self) -> list[Path]:
        """Return the files, with all rows that were added."""
        if self._waiting:
            self._write()
        return self._files

    def read(self, number: int) -> pa.Table:
        """Read the rows of a bucket, part by part."""
        return read_bucket(self.files(), number)

    def _write(self) -> None:
        """Write the waiting rows bucket by bucket to one file."""
        tables, buckets = zip(*self._waiting, strict=True)
        bucket_of = np.concatenate(buckets)
        rows = pa.concat_tables(tables).combine_chunks().take(np.argsort(bucket_of, kind="stable"))
        path = self._directory / f"{self._name}-{len(self._files)}"
        write_rows(rows, path, np.bincount(bucket_of, minlength=self.n_buckets).tolist())
        self._files.append(path)
        self._waiting = []
        return_unused()


# --- Lines, one per item, grouped into rows with lists: DuckDB sorts them on disk


MEMORY = "1GB"  # default limit of DuckDB
_LINES = 2**18  # lines that are converted and written together
_MOST_DIGITS = 38  # of decimals in DuckDB


def group_lines(
    source: Path | str,
    target: Path,
    *,
    by: Any,
    item: Any,
    keep: Any,
    memory: Any,
    types: Mapping[str, str] | None,
    delimiter: str | None,
    encoding: str,
) -> tuple[str, ...]:
    """Write one row per person with the list of the items; parameters as in `pdanon.stream.from_long`."""
    by = [by] if isinstance(by, str) else [check_text(each, "by") for each in read_list(by, "by")]
    if not by:
        hint = "pass the columns that tell persons apart, such as by='customer'"
        raise ParameterError("by names no column", where="by", hint=hint)
    keep = [check_text(each, "keep") for each in read_list(keep, "keep")]
    check_text(item, "item")
    check_text(memory, "memory")
    check_name(target)
    if not target.absolute().parent.is_dir():
        raise ParameterError("the directory of the target does not exist", where="target", got=str(target))
    refuse_published_persons(by, keep)
    if twice := [name for name in (item, *keep) if [*by, item, *keep].count(name) > 1]:
        raise ParameterError("a column has two tasks", got=", ".join(map(repr, twice)), hint="list it once")
    types = check_types(types, "types")
    batches, schema, notes = _open(source, [*by, item, *keep], types, delimiter, encoding)
    if is_list_type(schema.field(item).type):
        hint = "leave out by and item: the table has lists already"
        raise ItemsetDtypeError("the item column holds lists", where=f"column {item!r}", hint=hint)
    _refuse_nested(schema, by, "by")
    lines = _clean(batches, schema, item)
    with (
        _gather(target, memory, lines, schema, source, by, item, keep) as rows,
        replace_file(target, confidential=True) as draft,
        pq.ParquetWriter(draft, (first := next(rows)).schema) as writer,
    ):
        for table in chain([first], rows):
            writer.write_table(table)
    return notes


# --- Lines in batches


def _open(
    source: Path | str, columns: list[str], types: Mapping[str, str], delimiter: str | None, encoding: str
) -> tuple[Iterable[pa.RecordBatch], pa.Schema, tuple[str, ...]]:
    """Return the batches of some columns, their schema, and notes about guessed options."""
    if not is_text(source):
        if types:
            hint = "leave it out: columns of Parquet have types"
            raise ParameterError("types is only for CSV", where=str(source), hint=hint)
        tree = ParquetTree.find(source)
        schema = tree.schema()
        check_present(columns, schema.names, source)
        schema = pa.schema([_decoded(schema.field(name)) for name in columns])
        return _row_groups(tree, schema), schema, ()
    path = Path(source)
    encoding = check_encoding(encoding)
    mark, notes = delimiter_of(path, delimiter, encoding)
    lines = TextLines(path, mark, encoding)
    reader = lines.read_safely(lambda: pa_csv.open_csv(path, **lines.options()))
    header = lines.read_safely(lambda: reader.schema.names)  # which may be no text
    check_fields(header, mark, path)
    check_present([*columns, *types], header, source)
    kinds = {name: TYPES[types[name]] if name in types else pa.string() for name in columns}
    return _read_text(reader, columns, types, lines), pa.schema(kinds), notes


def _read_text(
    reader: Iterator[pa.RecordBatch], columns: list[str], types: Mapping[str, str], lines: TextLines
) -> Iterator[pa.RecordBatch]:
    """Yield batches of a CSV file as `TextLines.read` reads it."""
    start, spans = 0, False
    while (batch := lines.read_safely(lambda: next(reader, None))) is not None:
        if not spans and any(map(spans_lines, batch.columns)):
            lines.check_quotes()
            spans = True
        table = pa.Table.from_batches([batch.select(columns)])
        table = cast_columns(table, types, lines.path, partial(lines.line_of, before=start))
        start += len(batch)
        yield from table.to_batches()


def _decoded(field: pa.Field) -> pa.Field:
    """Return a field without codes and views, in a type that DuckDB reads."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    kind = without_views(kind)
    kind = pa.float32() if pa.types.is_float16(kind) else kind
    if pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS:
        what, hint = "lines cannot be grouped by values of this type", "write the column as text or numbers"
        got = f"type {type_name(kind)}"
        raise ItemsetDtypeError(what, where=f"column {field.name!r}", got=got, hint=hint)
    return field.with_type(kind)


def _refuse_nested(schema: pa.Schema, persons: Iterable[str], where: str) -> None:
    """Refuse persons that are no single values."""
    for name in persons:
        kind = schema.field(name).type
        if pa.types.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind):
            what, got = f"the values of {name!r} cannot be compared", f"type {type_name(kind)}"
            hint = "pass a column of numbers or text that identifies the person of a line"
            raise ColumnError(what, where=where, got=got, hint=hint)


def _row_groups(tree: ParquetTree, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for file, number in tree.groups():
        table = file.read(number, schema.names).select(schema.names).cast(schema)
        yield from map(_without_nan, table.to_batches())


def _clean(batches: Iterable[pa.RecordBatch], schema: pa.Schema, item: str) -> Iterator[pa.RecordBatch]:
    """Remove blanks around items of text; items of blanks only become missing."""
    place = schema.get_field_index(item)
    for batch in batches:
        if is_text_type(schema.field(place).type):
            texts = pc.utf8_trim_whitespace(batch.column(place))
            texts = pc.if_else(pc.equal(texts, ""), None, texts)
            batch = batch.set_column(place, schema.field(place), texts)
        yield batch


# --- Values that DuckDB would change are stored as integers or bytes


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """Return a type of the same values that DuckDB keeps: times in nanoseconds or a zone lose both there."""
    if isinstance(kind, pa.BaseExtensionType):
        return _stored_type(kind.storage_type)
    is_long = (pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time64, pa.types.is_date64)
    if any(is_kind(kind) for is_kind in is_long):
        return pa.int64()
    if pa.types.is_time32(kind):
        return pa.int32()
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else kind


def _restore(table: pa.Table, schema: pa.Schema, names: Iterable[str]) -> pa.Table:
    """Return a table in which some columns have their own types again."""
    for name in names:
        kind, place = schema.field(name).type, table.column_names.index(name)
        if _stored_type(kind) != kind:
            column = table.column(name).cast(getattr(kind, "storage_type", kind))
            table = table.set_column(place, name, column.cast(kind))
    return table


# --- Grouping


@contextmanager
def _database(
    near: Path, memory: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, source: Path | str
) -> Iterator[Any]:
    """Store lines in a database in a new directory beside a path, which only its owner can read."""
    try:
        import duckdb
    except ImportError:
        raise ParameterError("lines are grouped by the package duckdb", hint="pip install duckdb") from None
    failures: list[PdanonError] = []

    def note_failures() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except PdanonError as error:  # which does not pass through DuckDB
            failures.append(error)
            raise

    directory = tempfile.mkdtemp(prefix=".pdanon-", dir=near.absolute().parent)
    try:
        with duckdb.connect(os.path.join(directory, "lines.duckdb")) as database:
            _run(lambda: database.execute("SET memory_limit = ?", [memory]), memory)
            database.execute("SET temp_directory = ?", [directory])
            database.execute("SET preserve_insertion_order = false")
            database.execute("SET enable_progress_bar = false")  # which is part of the standard output
            stored = pa.schema([field.with_type(_stored_type(field.type)) for field in schema])
            kept = (batch.cast(stored) for batch in note_failures())
            database.register("batches", pa.RecordBatchReader.from_batches(stored, kept))
            _run(lambda: database.execute("CREATE TABLE lines AS SELECT * FROM batches"), source, failures)
            yield database
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(query: Callable[[], object], where: Path | str, failures: Sequence[PdanonError] = ()) -> None:
    """Raise errors of DuckDB and Arrow without their messages, which may show a line of the file."""
    try:
        query()
        return
    except (OSError, ValueError, pa.ArrowException) as error:
        problem = cause_of(error)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        problem = type(error).__name__
    if failures:
        raise failures[0]
    hint = "check that each column has one type"
    raise FormatError("the lines cannot be grouped", where=str(where), got=problem, hint=hint)


@contextmanager
def gather_units(
    tree: ParquetTree,
    near: Path,
    *,
    unit: str,
    item: str,
    repeats: bool,
    as_shown: bool,
) -> Iterator[Iterator[pa.Array]]:
    """Sort lines on disk, and yield the items of each person as lists, those of some persons at a time."""
    # The database has a hidden directory beside the path ``near``. With ``repeats``, repeated items of a
    # person are kept. With ``as_shown``, for audits, items are read exactly as they are written. Otherwise
    # blanks around a text are removed.
    schema = tree.schema()
    check_present([unit, item], schema.names, tree.display_path(tree.names[0]))
    schema = pa.schema([_decoded(schema.field(name)) for name in (unit, item)])
    refuse_list_units(unit, is_list=is_list_type(schema.field(unit).type))
    if is_list_type(schema.field(item).type):
        hint = "write a line for each item, as pdanon.to_long does: lists of a person are not merged here"
        raise ItemsetDtypeError("the item column holds lists", where="item", hint=hint)
    _refuse_nested(schema, [unit], "unit")
    batches: Iterable[pa.RecordBatch] = _row_groups(tree, schema)
    batches = batches if as_shown else _clean(batches, schema, item)
    options: dict[str, Any] = {"where": "unit", "single": not as_shown, "repeats": repeats}
    with _gather(near, MEMORY, batches, schema, tree.root, [unit], item, **options) as rows:
        yield (table.column(item).combine_chunks() for table in rows)


@contextmanager
def _gather(
    near: Path,
    memory: str,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    source: Path | str,
    by: list[str],
    item: str,
    keep: Sequence[str] = (),
    *,
    where: str = "by",
    single: bool = True,
    repeats: bool = False,
) -> Iterator[Iterator[pa.Table]]:
    """Sort lines on disk, and yield the rows of persons, some at a time; at least one table."""
    with _database(near, memory, batches, schema, source) as database:
        _check(database, by, keep, where, single=single)
        value = _quote(item)
        if pa.types.is_floating(schema.field(item).type):  # integers that pandas stores as floats
            is_part = f"NOT (abs({value}) < {2**53} AND {value} = floor({value}))"  # not exact as an integer
            (n_parts,) = _count(database, f"SELECT count(*) FILTER (WHERE {is_part}) FROM lines")
            value = value if n_parts else f"CAST({value} AS BIGINT)"
        persons, distinct = ", ".join(map(_quote, by)), "" if repeats else "DISTINCT"
        values = "".join(f", max({_quote(name)}) AS {_quote(name)}" for name in keep)
        kept = f"JOIN (SELECT {persons}{values} FROM lines GROUP BY {persons}) USING ({persons})"
        # In the order of a hash, a row does not show the rank of its person among the persons.
        found = database.sql(f"""
            SELECT * FROM (SELECT {distinct} {persons}, {value} AS {_quote(item)} FROM lines)
            {kept if keep else ""} ORDER BY hash({persons}), {persons}, {_quote(item)}""")
        yield _rows(pa.RecordBatchReader.from_stream(found), schema, by, item, keep)


def _without_nan(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace NaN by missing values."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_floating(field.type):
            values = batch.column(place)
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, field.type), values)
            batch = batch.set_column(place, field, values)
    return batch


def _check(database: Any, by: Sequence[str], keep: Sequence[str], where: str, *, single: bool) -> None:
    """Check that each line has a person, that persons have several lines, and that kept values agree."""
    persons = ", ".join(map(_quote, by))
    lacking = " OR ".join(f"{_quote(name)} IS NULL" for name in by)
    distinct = f"(SELECT count(*) FROM (SELECT DISTINCT {persons} FROM lines))"
    counts = f"SELECT count(*), count(*) FILTER (WHERE {lacking}), {distinct} FROM lines"
    n_lines, n_unknown, n_persons = _count(database, counts)
    refuse_unknown_persons(n_unknown, n_lines, None, where)
    if single:
        refuse_single_lines(n_lines, n_persons, where)
    for name in map(_quote, keep):
        several = f"SELECT 1 FROM lines GROUP BY {persons} HAVING min({name}) <> max({name})"
        (many,) = _count(database, f"SELECT count(*) FROM ({several})")
        if many:
            raise ColumnError(
                "the lines of a person have several values in a column that is kept",
                where=f"column {name}",
                got=f"{many:,} of {n_persons:,} persons",
                hint="unify spellings such as m and M, or leave it out of keep",
            )


def _count(database: Any, query: str) -> tuple[int, ...]:
    (row,) = database.execute(query).fetchall()  # all: an unfinished result would block the next query
    return tuple(row)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _merge(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Merge batches to tables of about as many lines as are written together."""
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _LINES:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _rows(
    reader: pa.RecordBatchReader, schema: pa.Schema, by: list[str], item: str, keep: Sequence[str]
) -> Iterator[pa.Table]:
    """Yield rows with lists for sorted lines: consecutive lines with the same person are one row."""
    columns = [*keep, item]
    rest = _restore(reader.schema.empty_table(), schema, columns)
    for each in _merge(reader):
        lines = pa.concat_tables([rest, _restore(each, schema, columns)]).combine_chunks()
        starts = _starts(lines, by)
        yield _lists(lines.slice(0, int(starts[-1])), starts[:-1], item, keep)
        rest = lines.slice(int(starts[-1]))
    yield _lists(rest, _starts(rest, by), item, keep)


def _starts(lines: pa.Table, by: list[str]) -> Numbers:
    """Return the first line of each person."""
    changed = np.zeros(len(lines), np.bool_)
    changed[:1] = True
    for name in by:
        values = lines.column(name)
        changed[1:] |= pc.not_equal(values[1:], values[:-1]).to_numpy()
    return np.flatnonzero(changed)


def _lists(lines: pa.Table, starts: Numbers, item: str, keep: Sequence[str]) -> pa.Table:
    """Collect the items of each person; its lines begin at some positions."""
    items = lines.column(item).combine_chunks()
    present = pc.is_valid(items).to_numpy(zero_copy_only=False)
    counts = np.add.reduceat(present, starts, dtype=np.int64) if len(starts) else starts
    lists = pa.ListArray.from_arrays(pa.array(offsets_of(counts), pa.int32()), items.drop_null())
    columns = [lines.column(name).take(pa.array(starts)) for name in keep]
    return pa.table([*columns, lists], [*keep, item])
