"""Readers of tables without conversion: CSV with any usual delimiter, JSON lines and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from pdanon.errors import FormatError, cause_of, check_names, content_of, file_hint, read_safely, remedy_of
from pdanon.io.files import check_encoding, check_name, line_not_in
from pdanon.io.parquet import read_parquet
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
    path: Path | str, text: Sequence[str] = (), delimiter: str | None = None, encoding: str = "utf-8"
) -> Table:
    """Read a table without conversion.

    Parameters
    ----------
    path : Path, or str
        ``.csv``, ``.tsv``, both also with ``.gz``, ``.jsonl``, or ``.parquet``, which may be a URI.
    text : sequence of str
        Columns of a CSV file to read as text, so that 007 does not become 7.
    delimiter : str, optional
        The delimiter of a CSV file. By default the most frequent of comma, semicolon, tab and bar in its
        first line.
    encoding : str
        The encoding of a CSV file.
    """
    check_name(path)
    if is_parquet(path):
        return Table(read_parquet(path))
    path = Path(path)
    if is_text(path):
        return _read_text(path, text, delimiter, check_encoding(encoding))
    form = "write one object per line, {...}, and one type per field"
    return Table(read_safely(lambda: pa_json.read_json(path).to_pandas(), path, "JSON lines", form=form))


def _read_text(path: Path, text: Sequence[str], delimiter: str | None, encoding: str) -> Table:
    try:
        mark, notes = delimiter_of(path, delimiter, encoding)
        table = parse_csv(path, text, mark, encoding)
        header, problem = table.column_names, None
        if any(map(pa.types.is_binary, table.schema.types)):  # Arrow reads bytes that are no text as binary
            table = None
    except (OSError, UnicodeError, MemoryError, pa.ArrowException) as error:
        table, problem = None, cause_of(error)
    if table is None:
        raise unreadable_text(path, encoding, problem)
    check_fields(header, mark, path)
    check_names(header, path)
    return Table(table.to_pandas(), notes)


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


def unreadable_text(path: Path, encoding: str, problem: str | None) -> FormatError:
    """Build the error for an unreadable CSV file. It shows the number of a line, but no content."""
    problem = content_of(path, "CSV") or problem
    what, where, hint = "the file cannot be read as CSV", str(path), file_hint(path, "CSV", problem)
    other_kind = path.suffix.lower() in (".parquet", ".xlsx", ".toml")
    if path.is_file() and not remedy_of(problem) and not other_kind:
        hint = "put quotes around a field that holds the delimiter, a quote or an end of line"
        line = line_not_in(path, encoding)
        if line is not None:
            where, problem = f"{path}, line {line:,}", f"it is not {encoding.upper()} text"
            hint = "pass encoding (--encoding), such as cp1252 or latin-1; or save it as 'CSV UTF-8'"
    return FormatError(what, where=where, got=problem, hint=hint)


def parse_csv(path: Path, text: Sequence[str], delimiter: str = ",", encoding: str = "utf-8") -> pa.Table:
    """Parse a CSV file, with some columns as text. Empty fields are missing unless quoted."""
    return pa_csv.read_csv(path, **csv_options(text, delimiter, encoding))


def csv_options(text: Sequence[str], delimiter: str, encoding: str) -> dict[str, Any]:
    """Return Arrow's options for a CSV file, as `parse_csv` uses them."""
    return {
        "read_options": pa_csv.ReadOptions(encoding=encoding),
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict.fromkeys(text, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def _guess_delimiter(path: Path, encoding: str) -> str:
    """Return the most frequent delimiter of the first line; ties go to the more usual one."""
    with pa.input_stream(str(path)) as file:  # decompresses .gz
        line = file.read(2**16).decode(encoding, "replace").partition("\n")[0]
    return max(_DELIMITERS, key=line.count)


def _name_mark(mark: str) -> str:
    return "a tab" if mark == "\t" else quote_word(mark)
