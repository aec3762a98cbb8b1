"""Readers of tables whose values stay what they are: CSV with any usual delimiter, JSON lines and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from pdanon.errors import (
    UNEVEN,
    FormatError,
    ReleaseWarning,
    cause_of,
    check_names,
    content_of,
    file_hint,
    read_safely,
    remedy_of,
    warn,
)
from pdanon.io.column_types import cast_columns, check_typed
from pdanon.io.files import check_encoding, check_name, line_not_in
from pdanon.io.json_lines import read_json_lines
from pdanon.io.parquet import read_parquet, to_frame
from pdanon.itemsets.validation import check_delimiter, is_uri, quote_word

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
    name = str(path).partition("?")[0] if is_uri(path) else str(path)
    return name.lower().endswith(".parquet")


def read_lines(
    path: Path | str,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Read a table, CSV, JSON lines or Parquet by its name. Values stay what they are: text is text.

    ``types`` are those of columns of CSV and JSON lines. The default delimiter is the most frequent of comma,
    semicolon, tab and bar in the first line of a CSV file. Only Parquet may have a URI.
    """
    check_name(path)
    if is_parquet(path):
        return Table(read_parquet(path))
    path, types = Path(path), types or {}
    if is_text(path):
        encoding = check_encoding(encoding)
        mark, notes = delimiter_of(path, delimiter, encoding)
        table = read_text(path, types, mark, encoding)
        check_fields(table.column_names, mark, path)
        return Table(to_frame(table), notes)
    table = read_safely(lambda: read_json_lines(path, types), path, "JSON lines")
    return Table(to_frame(table))


def read_text(path: Path, types: Mapping[str, str], delimiter: str, encoding: str) -> pa.Table:
    """Read a CSV file: all columns as text, except those with a requested type.

    Empty fields are missing unless quoted. In a file of one column, an empty line is a row.
    """
    table, problem = None, None
    try:
        table = parse_csv(path, delimiter, encoding)
    except (OSError, UnicodeError, MemoryError, pa.ArrowException) as error:
        problem = cause_of(error)
    if table is None:
        raise unreadable_text(path, delimiter, encoding, problem)
    check_names(table.column_names, path)
    lines = TextLines(path, delimiter, encoding)
    if any(map(spans_lines, table.columns)):
        lines.check_quotes()
    check_typed(types, table.column_names, path)
    return cast_columns(table, types, path, lines.line_of)


def delimiter_of(path: Path, delimiter: str | None, encoding: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter of a CSV file, and a note if it is guessed and no comma."""
    if delimiter is not None:
        return check_delimiter(delimiter, "delimiter"), ()
    is_tabbed = ".tsv" in path.name.lower()
    mark = "\t" if is_tabbed else read_safely(lambda: _guess_delimiter(path, encoding), path, "CSV")
    return mark, () if mark == "," else (f"the delimiter is {_name_mark(mark)}",)


def check_fields(header: Sequence[str], delimiter: str, path: Path) -> None:
    """Check that a header of one field does not hold another delimiter."""
    others = [mark for mark in _DELIMITERS if mark in header[0]] if len(header) == 1 else []
    if others and others != [delimiter]:
        what, got = f"{_name_mark(delimiter)} separates no fields", "a first line of one field"
        hint = f"{_name_mark(others[0])} is in it: is that the delimiter?"
        raise FormatError(what, where=str(path), got=got, hint=hint)


def unreadable_text(path: Path, delimiter: str, encoding: str, problem: str | None) -> FormatError:
    """Build the error for an unreadable CSV file. It shows the number of a line, but no content."""
    problem = content_of(path, "CSV") or problem
    what, where, hint = "the file cannot be read as CSV", str(path), file_hint(path, "CSV", problem)
    other_kind = path.suffix.lower() in (".parquet", ".xlsx", ".toml")
    if path.is_file() and not remedy_of(problem) and not other_kind and path.stat().st_size:
        hint = "put quotes around a field that holds the delimiter, a quote or an end of line"
        line = line_not_in(path, encoding)
        if line is not None:
            problem = f"it is not {encoding.upper()} text"
            hint = "pass encoding (--encoding), such as cp1252 or latin-1; or save it as 'CSV UTF-8'"
        elif problem == UNEVEN:
            line = TextLines(path, delimiter, encoding).first_uneven()
        where = str(path) if line is None else f"{path}, line {line:,}"
    return FormatError(what, where=where, got=problem, hint=hint)


@contextmanager
def open_text(path: Path) -> Iterator[pa.NativeFile]:
    """Open a CSV file, and decompress it. Arrow opens no path that is not UTF-8, so Python does."""
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    with path.open("rb") as raw, pa.input_stream(raw, compression=compression) as file:
        yield file


def parse_csv(path: Path, delimiter: str, encoding: str) -> pa.Table:
    """Parse a CSV file with all columns as text."""
    options = csv_options(path, delimiter, encoding)
    with open_text(path) as file:
        return pa_csv.read_csv(file, **options)


def csv_options(path: Path, delimiter: str, encoding: str) -> dict[str, Any]:
    """Return Arrow's options for a CSV file, to read all columns as text."""
    options = {
        "read_options": pa_csv.ReadOptions(encoding=encoding),
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
    }
    with open_text(path) as file, pa_csv.open_csv(file, **options) as reader:  # reads the first block
        names = reader.schema.names
    parsing = {"delimiter": delimiter, "newlines_in_values": True, "ignore_empty_lines": len(names) > 1}
    options["parse_options"] = pa_csv.ParseOptions(**parsing)
    options["convert_options"] = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return options


def spans_lines(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a text holds an end of line, as after a quote that is not closed."""
    ends = [pc.any(pc.match_substring(column, mark), min_count=0).as_py() for mark in "\r\n"]
    return any(ends)


class _Record(NamedTuple):
    """A record of a CSV file."""

    line: int  # the first
    width: int  # number of fields
    lines: list[str]  # if several


def _note_lines(file: Iterable[str], lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


class TextLines:
    """Numbers of the lines of a CSV file, which is read again."""

    def __init__(self, path: Path, delimiter: str, encoding: str) -> None:
        self.path, self.delimiter, self.encoding = path, delimiter, encoding

    def check_quotes(self) -> None:
        """Check that all quotes are closed, if a field spans lines.

        A quote that is not closed swallows lines up to the next quote. As quotes come in pairs, a single one
        too many has no partner: some later quote is followed by text instead of a delimiter, or the last has
        no end. Arrow's parser accepts both. Two quotes too many may have each other as partners: then all
        lines of a field have as many delimiters as a record. This can also be a text, so it is a warning.
        """
        found = [record.line for record in self._records() if self._looks_merged(record)]
        if found:
            what = f"{self.path}, line {found[0]:,}: a quoted field spans lines that look like records"
            more = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
            warn(ReleaseWarning(what + more, hint="check that its quote is closed"))

    def _looks_merged(self, record: _Record) -> bool:
        marks = record.width - 1
        return marks > 0 and all(line.count(self.delimiter) >= marks for line in record.lines)

    def line_of(self, row: int) -> int:
        """Return the number of the first line of a row, counted from 0."""
        return next(islice(self._records(), row + 1, None)).line

    def first_uneven(self) -> int | None:
        """Return the number of the first line that has not as many fields as the header."""
        records = self._records()
        header = next(records, None)
        return next((each.line for each in records if header and each.width != header.width), None)

    def _records(self) -> Iterator[_Record]:
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
                        yield _Record(start, len(record), lines[:] if len(lines) > 1 else [""])
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
