"""Readers of tables whose values stay what they are: CSV with any usual delimiter, JSON lines and Parquet."""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from pdanon.errors import (
    UNEVEN,
    ColumnError,
    FormatError,
    ParameterError,
    ReleaseWarning,
    cause_of,
    check_names,
    content_of,
    did_you_mean,
    file_hint,
    read_safely,
    remedy_of,
    warn,
)
from pdanon.io.files import check_encoding, check_name, line_not_in, suffix_of
from pdanon.io.parquet import read_parquet, to_frame
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.validation import check_delimiter, check_known, is_integer, quote_word

_Content = TypeVar("_Content")

_DELIMITERS = (",", ";", "\t", "|")
_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class Table(NamedTuple):
    """The frame of a file, and notes about options that were guessed."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def is_text(path: str | Path) -> bool:
    """Return whether the name of a file is that of CSV, compressed or not."""
    return str(path).lower().endswith(_SUFFIXES)


def is_lines(path: str | Path) -> bool:
    """Return whether the name of a file is that of a readable table."""
    return is_text(path) or is_parquet(path) or str(path).lower().endswith(".jsonl")


def is_parquet(path: str | Path) -> bool:
    """Return whether the name of a file is that of Parquet. The query of a URI is ignored."""
    return suffix_of(path) == ".parquet"


def read_lines(
    path: Path | str,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    *,
    header: bool = True,
    ragged: bool = False,
) -> Table:
    """Read a table, CSV, JSON lines or Parquet by its name. Values stay what they are: text is text."""
    # ``types`` are those of columns of CSV and JSON lines. The default delimiter is the most frequent of
    # comma, semicolon, tab and bar in the first line of a CSV file. Only Parquet may have a URI. ``header``
    # and ``ragged`` are those of `TextLines.read`.
    check_name(path)
    if is_parquet(path):
        return Table(read_parquet(path))
    path, types = Path(path), types or {}
    if is_text(path):
        encoding = check_encoding(encoding)
        mark, notes = delimiter_of(path, delimiter, encoding)
        table = TextLines(path, mark, encoding, header=header).read(types, ragged=ragged)
        if header:
            check_fields(table.column_names, mark, path)
        return Table(to_frame(table), notes)
    table = read_safely(lambda: read_json_lines(path, types), path, "JSON lines")
    return Table(to_frame(table))


def delimiter_of(path: Path, delimiter: str | None, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter of a CSV file, and a note if it is guessed and no comma."""
    if delimiter is not None:
        return check_delimiter(delimiter), ()
    is_tabbed = ".tsv" in path.name.lower()
    mark = "\t" if is_tabbed else read_safely(lambda: _guess_delimiter(path, encoding), path, "CSV")
    return mark, () if mark == "," else (f"the delimiter is {_name_mark(mark)}",)


def check_fields(header: Sequence[str], delimiter: str, path: Path) -> None:
    """Check that a header of one field does not hold another delimiter."""
    others = [mark for mark in _DELIMITERS if mark in header[0]] if len(header) == 1 else []
    if others and others != [delimiter]:
        what, got = f"{_name_mark(delimiter)} separates no fields", "a first line of one field"
        hint = f"if {others[0]!r} is its delimiter, pass delimiter={others[0]!r} (--delimiter)"
        raise FormatError(what, where=str(path), got=got, hint=hint)


def read_raw_text(path: Path, delimiter: str | None, encoding: str) -> tuple[Table, bool]:
    """Read a CSV file of any shape as text, and return whether it has a header."""
    mark, notes = delimiter_of(path, delimiter, check_encoding(encoding))
    lines = TextLines(path, mark, encoding, header=False)
    try:
        table = lines.read({})
    except FormatError as error:
        if error.parts["got"] != UNEVEN:
            raise
        table = lines.read({}, ragged=True)
    frame = to_frame(table)
    first = frame.iloc[0].fillna("").tolist()
    has_header = not _is_row(first, frame.iloc[1:])
    if has_header:
        check_names(first, path)
        if first.count("") > 1:
            first = [name or str(place) for place, name in enumerate(first, start=1)]
        frame = frame.iloc[1:].reset_index(drop=True).set_axis(first, axis=1)
    return Table(frame, notes), has_header


def _is_row(first: Sequence[str], rows: pd.DataFrame) -> bool:
    """Return whether the first line is a row: it has words of other rows, or numbers that do not count up."""
    marks = [mark for mark in _DELIMITERS if mark in first[0]] if len(first) == 1 else []
    if marks:  # items joined to a text
        first, rows = first[0].split(marks[0]), rows[rows.columns[0]].str.split(marks[0], expand=True)
    words = [text for text in first if any(map(str.isalpha, text))]
    counted = [[*map(str, range(start, start + len(first)))] for start in (0, 1)]
    return bool(rows.isin(words).any(axis=None)) or (not words and first not in counted)


@contextmanager
def open_text(path: Path) -> Iterator[pa.NativeFile]:
    """Open a CSV file, and decompress it. Arrow opens no path that is not UTF-8, so Python does."""
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with path.open("rb") as raw, pa.input_stream(raw, compression=compression) as file:
        yield file


def _is_partly_utf8(path: Path) -> bool:
    """Return whether a line with more than ASCII characters is UTF-8 text."""
    with open_text(path) as file, io.BufferedReader(file) as lines:
        return any(not line.isascii() and "\ufffd" not in line.decode("utf-8", "replace") for line in lines)


def spans_lines(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a text holds an end of line, as after a quote that is not closed."""
    ends = [pc.any(pc.match_substring(column, mark), min_count=0).as_py() for mark in "\r\n"]
    return any(ends)


class _Record(NamedTuple):
    """A record of a CSV file."""

    line: int  # the first
    fields: list[str]
    lines: list[str]  # if several


def _note_lines(file: Iterable[str], lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


class TextLines:
    """A CSV file, which is read again for the numbers of its lines."""

    def __init__(self, path: Path, delimiter: str, encoding: str, *, header: bool = True) -> None:
        self.path, self.delimiter, self.encoding, self.header = path, delimiter, encoding, header

    def read(self, types: Mapping[str, str], *, ragged: bool = False) -> pa.Table:
        """Read all columns as text, except those with a requested type."""
        # Empty fields are missing unless quoted. In a file of one column, an empty line is a row. Without a
        # header, the columns are numbered from 1 on. ``ragged`` lines may lack fields at their end.
        table = self.read_safely(self.parse_ragged if ragged else self.parse)
        check_names(table.column_names, self.path)
        if not ragged and any(map(spans_lines, table.columns)):
            self.check_quotes()
        check_present(types, table.column_names, self.path)
        return cast_columns(table, types, self.path, self.line_of)

    def parse(self) -> pa.Table:
        """Parse the file with all columns as text."""
        with open_text(self.path) as file:
            return pa_csv.read_csv(file, **self.options())

    def parse_ragged(self) -> pa.Table:
        """Parse lines that may lack fields at their end; without a header, up to the longest line."""
        records = [*self.records()]
        if not records:
            raise pa.ArrowInvalid("Empty CSV file")  # as Arrow says of other forms
        names = records.pop(0).fields if self.header else []
        longest = max(records, key=lambda each: len(each.fields), default=_Record(0, names, []))
        width = len(longest.fields)
        if self.header and width > len(names):
            raise FormatError(
                "a line has more fields than the header",
                where=f"{self.path}, line {longest.line:,}",
                got=f"{width} fields for {len(names)} columns",
                hint="if the first line is a row, pass --no-header (no_header); otherwise name each column",
            )
        names = [name or str(place) for place, name in enumerate(names or [""] * width, start=1)]
        rows = [each.fields + [""] * (len(names) - len(each.fields)) for each in records]
        texts = pa.array(chain.from_iterable(zip(*rows, strict=True)), pa.string())
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        n = len(rows)
        return pa.table([texts[n * place : n * (place + 1)] for place in range(len(names))], names=names)

    def options(self) -> dict[str, Any]:
        """Return Arrow's options to read all columns as text."""
        reading = pa_csv.ReadOptions(encoding=self.encoding)
        parsing = pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        with (
            open_text(self.path) as file,
            pa_csv.open_csv(file, reading, parsing) as reader,
        ):  # the first block
            names = reader.schema.names
        if not self.header:
            names = reading.column_names = [*map(str, range(1, len(names) + 1))]
        parsing.ignore_empty_lines = len(names) > 1
        converting = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return {"read_options": reading, "parse_options": parsing, "convert_options": converting}

    def read_safely(self, read: Callable[[], _Content]) -> _Content:
        """Read from the file. An error shows the number of a line, but no content."""
        try:
            return read()
        except (OSError, UnicodeError, MemoryError, pa.ArrowException) as error:
            problem = cause_of(error)
        # Raised outside the handler: the error of Arrow may show a line of the file.
        path, line = self.path, None
        problem = content_of(path, "CSV") or problem
        hint = file_hint(path, "CSV", problem)
        other_kind = path.suffix.lower() in (".parquet", ".xlsx", ".toml")
        if path.is_file() and not remedy_of(problem) and not other_kind and path.stat().st_size:
            hint = "put quotes around a field that holds the delimiter, a quote or an end of line"
            line = line_not_in(path, self.encoding)
            if line is not None:
                problem = f"it is not {self.encoding.upper()} text"
                hint = "save it as 'CSV UTF-8'; or pass encoding (--encoding) of a table: cp1252, latin-1"
                if self.encoding == "utf-8" and _is_partly_utf8(path):
                    problem = "it has two encodings: other lines are UTF-8"
                    hint = f"read what is not UTF-8 as cp1252: {_unite_command(path)}"
            elif problem == UNEVEN:
                line = self.first_uneven()
        where = str(path) if line is None else f"{path}, line {line:,}"
        raise FormatError("the file cannot be read as CSV", where=where, got=problem, hint=hint)

    def check_quotes(self) -> None:
        """Check that all quotes are closed, if a field spans lines."""
        # Quotes come in pairs. So one too many is followed by text, or has no end; Arrow accepts both.
        # Two too many may be partners, around lines that look like records. Text may look so, too.
        found = []
        for record in self.records():
            marks = len(record.fields) - 1
            if marks > 0 and all(line.count(self.delimiter) >= marks for line in record.lines):
                found.append(record.line)
        if found:
            what = f"{self.path}, line {found[0]:,}: a quoted field spans lines that look like records"
            more = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
            warn(ReleaseWarning(what + more, hint="check that its quote is closed"))

    def line_of(self, row: int, before: int = 0) -> int:
        """Return the number of the first line of a row, counted from 0 after some rows before."""
        return next(islice(self.records(), before + row + self.header, None)).line

    def first_uneven(self) -> int | None:
        """Return the number of the first line that has not as many fields as the header."""
        records = self.records()
        header = next(records, None)
        width = len(header.fields) if header else 0
        return next((each.line for each in records if len(each.fields) != width), None)

    def records(self) -> Iterator[_Record]:
        """Yield the header and the rows."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        limit, start, width, failed = csv.field_size_limit(2**31 - 1), 1, 0, False
        try:
            with (
                open_text(self.path) as stream,
                io.TextIOWrapper(stream, encoding, newline="") as file,
            ):
                lines: list[str] = []
                reader = csv.reader(_note_lines(file, lines), delimiter=self.delimiter, strict=True)
                for record in reader:
                    width = width or len(record)
                    if record or width == 1:
                        yield _Record(start, record, lines[:] if len(lines) > 1 else [""])
                    start = reader.line_num + 1
                    lines.clear()
        except csv.Error:
            failed = True
        finally:
            csv.field_size_limit(limit)
        if failed:  # raised outside the handler: the error of the parser may show a text
            raise FormatError(
                "the file cannot be read as CSV",
                where=f"{self.path}, line {start:,}",
                got="a quote is not closed, or text follows a closing quote",
                hint='end the field with a quote; write a quote within quotes as ""',
            )


def _guess_delimiter(path: Path, encoding: str) -> str:
    """Return the most frequent delimiter of the first line; ties go to the more usual one."""
    with open_text(path) as file:
        line = file.read(2**16).decode(encoding, "replace").partition("\n")[0]
    return max(_DELIMITERS, key=line.count)


def _name_mark(mark: str) -> str:
    return "a tab" if mark == "\t" else quote_word(mark)


# --- Types of columns: text, unless a type is requested


TYPES = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
}
_EXAMPLES = {
    "integer": "digits, such as 42, up to 64 bits",
    "number": "digits and a point, such as 1.5; integers beyond 15 digits are of type integer; columns with "
    "decimal commas are read by pd.read_csv(path, decimal=','), and written by pdanon.to_parquet",
    "date": "the form 2020-12-31",
    "timestamp": "the form 2020-12-31 23:59:59, without a time zone",
    "boolean": "true, false, 1 or 0",
}
NOUNS = {"integer": "whole numbers", "number": "numbers", "date": "dates", "timestamp": "timestamps"}
_CODE = r"^0[0-9]+$"
_LONG = r"^[+-]?[0-9]{16,}$"  # integers that floats would merge


def check_types(types: Mapping[str, str] | None, where: str) -> dict[str, str]:
    """Check the requested types of columns."""
    if types is not None and not isinstance(types, Mapping):
        hint = "pass types by column: {'age': 'integer'}"
        raise ParameterError("types must be a dict", where=where, got=type(types).__name__, hint=hint)
    for kind in (types or {}).values():
        check_known(kind, TYPES, "type of a column", where=where)
    return dict(types or {})


def check_present(columns: Iterable[str], known: Sequence[str], path: Path | str) -> None:
    """Check that a file has each of some columns once."""
    for name in columns:
        if known.count(name) != 1:
            what = "exists twice" if name in known else "does not exist"
            raise ColumnError(f"column {name!r} {what}", where=str(path), hint=did_you_mean(name, known))


def cast_columns(
    table: pa.Table, types: Mapping[str, str], path: Path, line_of: Callable[[int], int]
) -> pa.Table:
    """Convert columns of text to their types, as far as the table has them. Empty text becomes missing."""
    # ``line_of`` returns the number of the line of a row, for the error about a value of another type.
    for name in (name for name in types if name in table.column_names):
        column, kind = table.column(name), types[name]
        values = _cast(column, kind)
        if values is None:
            place = _first_failure(len(column), lambda n: _cast(column.slice(0, n), kind) is None)  # noqa: B023
            raise FormatError(
                f"a value of column {name!r} has another type than requested",
                where=f"{path}, line {line_of(place):,}",
                got=f"type {kind}",
                hint=f"write {_EXAMPLES[kind]}",
            )
        place = table.column_names.index(name)
        table = table.set_column(place, name, values)
    return table


def describe_texts(
    frame: pd.DataFrame,
    path: Path | str,
    spelling: str,
    *,
    quasi: Iterable[str],
    trees: Mapping[str, Any],
    keep: Iterable[str],
    only_times: bool,
) -> list[str]:
    """Return a note for each column that would be generalized otherwise if its texts had their type."""
    # ``spelling`` shows how a type is requested, with ``{}`` for the column and its type. ``only_times``:
    # persons have several rows, whose kept columns are generalized by the calendar.
    if is_parquet(path):
        return []
    labels = keep if only_times else [name for name in quasi if is_integer(trees.get(name, 0))]
    purpose = "for its calendar" if only_times else "for ranges"
    notes = []
    for label in labels:
        column = frame[label] if label in frame.columns else None
        if isinstance(column, pd.Series) and pd.api.types.is_string_dtype(column.dtype):
            kind = type_of(column)
            if kind is not None and not (only_times and kind in ("integer", "number")):
                request = spelling.format(label, kind)
                notes.append(f"{label} holds {NOUNS[kind]} as text: pass {request} {purpose}")
    return notes


def typed_columns(column: pd.Series[Any]) -> Iterator[pd.Series[Any]]:
    """Yield a column of text in each type that all its values have."""
    if pd.api.types.is_string_dtype(column.dtype):
        texts = pa.chunked_array([pa.array(column, pa.string())])
        for values in filter(None, (_cast(texts, kind) for kind in TYPES)):
            name = str(column.name)
            yield to_frame(pa.table({name: values}))[name].set_axis(column.index)


def _unite_command(path: Path) -> str:
    """Return the command that writes a file of UTF-8 and cp1252 as UTF-8."""
    reader = 'lambda e: (e.object[e.start : e.end].decode("cp1252"), e.end)'
    text = f'Path({json.dumps(str(path))}).read_text("utf-8", "mixed")'
    code = f'from pathlib import Path; import codecs; codecs.register_error("mixed", {reader}); '
    code += f'Path("in.csv").write_text({text}, "utf-8")'
    return f"python -c {quote(code)}"


def type_of(column: pd.Series[Any]) -> str | None:
    """Return the type that all values of a column have as text; None for codes such as 007."""
    texts = pa.chunked_array([pa.array(column.dropna().map(str), pa.string())])
    if pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
        return None
    cast = ((kind, _cast(texts, kind)) for kind in NOUNS)
    return next((kind for kind, each in cast if each is not None and each.null_count < len(each)), None)


def _cast(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray | None:
    """Convert values to a type; return None if one is not of it."""
    if is_text_type(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), None, column)
        if kind == "number" and pc.any(pc.match_substring_regex(column, _LONG)).as_py():
            return None
    try:
        return column.cast(TYPES[kind])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _first_failure(n: int, fails: Callable[[int], bool]) -> int:
    """Return the position of the first of n values, by whether so many first values fail."""
    return bisect(range(n), False, key=lambda place: fails(place + 1))


# --- JSON lines: text stays text, and integers stay integers


_KINDS = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}
_PLAIN = {str: pa.string(), float: pa.float64(), bool: pa.bool_(), type(None): pa.null()}
_HINT = "write one object per line, {...}, and one type per field"


def read_json_lines(path: Path, types: Mapping[str, str]) -> pa.Table:
    """Read a file with one object per line, with the requested types of columns. Empty lines are ignored."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    with path.open(encoding="utf-8-sig") as file:
        for line, text in enumerate(file, start=1):
            if text.strip():
                rows.append(_parse(text, path, line))
                lines.append(line)
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    fields = {name: [row.get(name) for row in rows] for name in names}
    columns = {name: _read_field(each, lines, path, name) for name, each in fields.items()}
    table = pa.table(columns)
    check_present(types, names, path)
    return cast_columns(table, types, path, lines.__getitem__)


def _parse(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        row = _DECODER.decode(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):  # raised outside the handler: the error of the parser may show the line
        got = "a line that is no object, or names a field twice"
        raise FormatError(
            "the file cannot be read as JSON lines", where=f"{path}, line {line:,}", got=got, hint=_HINT
        )
    return row


def _refuse(name: str) -> None:
    raise ValueError(name)


def _unite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unite)


def _read_field(values: list[Any], lines: list[int], path: Path, name: str) -> pa.Array:
    """Return the values of a field, of one type; an error names the line of the first other one."""
    column = _to_array(values)
    if isinstance(column, str):
        place = _first_failure(len(values), lambda n: isinstance(_to_array(values[:n]), str))
        raise FormatError(
            "the values of a field have no common type",
            where=f"{path}, line {lines[place]:,}, column {name!r}",
            got=_to_array(values[: place + 1]),
            hint=f"{_HINT}; write identifiers as text",
        )
    return column


def _to_array(values: list[Any]) -> pa.Array | str:
    """Return values in their type, or why they have none."""
    try:
        return pa.array(values, _find_type(values))
    except TypeError as error:
        return str(error)
    except (OverflowError, pa.ArrowInvalid):
        return "an integer of more than 64 bits, or that a float cannot hold beside fractions"


def _find_type(values: list[Any]) -> pa.DataType:
    """Return the type of values, all of one kind."""
    kinds = dict.fromkeys(map(type, values))
    kinds.pop(type(None), None)
    first, *others = kinds or [type(None)]
    if others and {first, *others} != {int, float}:
        raise TypeError(f"{_KINDS[others[0]]} after {_KINDS[first]}")
    if first is int and not others:
        is_large = max(value or 0 for value in values) >= 2**63
        return pa.uint64() if is_large else pa.int64()
    if first is list:
        return pa.list_(_find_type([*chain.from_iterable(value or () for value in values)]))
    if first is dict:
        fields = dict.fromkeys(chain.from_iterable(value or () for value in values))
        parts = ([None if value is None else value.get(name) for value in values] for name in fields)
        return pa.struct([*zip(fields, map(_find_type, parts), strict=True)])
    return _PLAIN[float if others else first]
