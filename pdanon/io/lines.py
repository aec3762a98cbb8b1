"""Tables with a line for each item, from files: CSV with any usual delimiter, JSON lines and Parquet."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from pdanon.errors import FormatError, ParameterError, cause_of
from pdanon.io.files import check_name
from pdanon.io.parquet import read_parquet
from pdanon.itemsets.values import check_delimiter, quoted

__all__ = ["Lines", "is_lines", "parsed", "read_lines"]

_DELIMITERS = (",", ";", "\t", "|")
_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_NAMES = {";": "';'", "\t": "a tab", "|": "'|'"}


class Lines(NamedTuple):
    """A table that was read, and what was guessed of its file, if anything."""

    frame: pd.DataFrame
    guessed: str = ""


def is_lines(path: str | Path) -> bool:
    """Tell whether a file can be read as lines, by its name."""
    return str(path).lower().endswith((*_SUFFIXES, ".jsonl", ".parquet"))


def read_lines(
    path: Path, text: Sequence[str], delimiter: str | None = None, encoding: str = "utf-8"
) -> Lines:
    """Read a table with a line for each item.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv``, both also with ``.gz``, ``.jsonl``, or ``.parquet``.
    text : sequence of str
        Columns that are text as they stand, in a CSV file: 007 is not 7.
    delimiter : str, optional
        What stands between two fields of a CSV file. By default that of comma, semicolon, tab and bar that
        its first line has most often.
    encoding : str
        That of a CSV file.
    """
    check_name(path)
    name = str(path).lower()
    if name.endswith(".parquet"):
        return Lines(read_parquet(path))
    guessed = ""
    try:
        if name.endswith(".jsonl"):
            table = pa_json.read_json(path)
        else:
            if delimiter is None:
                delimiter = "\t" if ".tsv" in name else _most_often(path, encoding)
                guessed = f"{_NAMES[delimiter]} stands between two fields" if delimiter in _NAMES else ""
            table = parsed(path, text, check_delimiter(delimiter, "delimiter"), _known(encoding))
        problem = None
    except (OSError, UnicodeError, pa.ArrowException) as error:
        table, problem = None, cause_of(error)
    if table is None:  # raised outside the handler: Arrow's own message may show a line of the file
        hint = "which is not in UTF-8 may be in latin-1 or cp1252: --encoding"
        raise FormatError("the lines cannot be read", where=str(path), got=problem, hint=f"a file {hint}")
    return Lines(table.to_pandas(), guessed)


def parsed(path: Path, text: Sequence[str], delimiter: str = ",", encoding: str = "utf-8") -> pa.Table:
    """A CSV file, of which some columns are text as they stand; an empty field is missing, unless quoted."""
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(text, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(encoding=encoding),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=convert,
    )


def _most_often(path: Path, encoding: str) -> str:
    """The usual delimiter that the first line has most often; of equally many, the most usual."""
    with pa.input_stream(str(path)) as file:  # which unpacks what ends in .gz
        line = file.read(2**16).decode(_known(encoding), "replace").partition("\n")[0]
    return max(_DELIMITERS, key=line.count)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        pass
    hint = "such as utf-8, latin-1 or cp1252"
    raise ParameterError("there is no such encoding", where="encoding", got=quoted(encoding), hint=hint)
