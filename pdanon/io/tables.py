"""Files of the command line and of policies: CSV or Parquet, by suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import chain, combinations
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from pdanon.errors import ColumnError, ParameterError
from pdanon.io.column_types import cast_columns
from pdanon.io.csv import escape_frame, to_csv, warn_of_formulas
from pdanon.io.files import check_name, name_in_errors, replace_file, replace_files
from pdanon.io.lines import TextLines, read_text
from pdanon.io.parquet import read_parquet, to_frame, to_parquet
from pdanon.io.storage import is_same, locate, suffix_of
from pdanon.io.text import to_text
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.validation import check_path

# Columns of numbers in the tables that pdanon writes.
_TYPES = {"weight": "number", **dict.fromkeys(("group", "block", "size", "count", "support"), "integer")}
_TOOLS = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd", ".zip": "unzip"}
_READERS = {
    **{".sav": "read_spss", ".dta": "read_stata", ".sas7bdat": "read_sas", ".xpt": "read_sas"},
    **{".json": "read_json", ".feather": "read_feather", ".arrow": "read_feather", ".orc": "read_orc"},
}


def is_csv(path: Path | str) -> bool:
    """Return whether the suffix of a file is that of CSV. All other files are Parquet."""
    return suffix_of(path) == ".csv"


def suffix_hint(path: str | os.PathLike[str], *, written: bool = False) -> str | None:
    """Return how to convert a file, from its suffix, into Parquet or CSV; None for one that is written."""
    suffix = suffix_of(path)
    if os.path.isdir(path):
        return "it is a directory: pass a file; --stream reads directories of Parquet files"
    if str(path).lower().endswith((".csv.gz", ".tsv.gz", ".tsv", ".jsonl")):
        return "such a file can be read, but not written"
    if suffix in (".tab", ".txt", ".dat"):
        return "rename it to .csv, or to .tsv if its delimiter is a tab"
    if written:
        return None
    if suffix in _TOOLS:
        return f"decompress it first, with {_TOOLS[suffix]}"
    if suffix in (".xlsx", ".xls", ".ods"):
        return "save the sheet as 'CSV UTF-8'"
    if suffix == ".ndjson":
        return "rename it to .jsonl"
    if suffix in _READERS:
        return f"convert it in Python: pdanon.to_parquet(pd.{_READERS[suffix]}(path), 'in.parquet')"
    return None


def check_distinct(paths: Mapping[str, Path | str], what: str) -> None:
    """Check that all paths and URIs, by their names, lead to different files."""
    places = [(name, locate(check_path(path))) for name, path in paths.items()]
    for (name, first), (other, second) in combinations(places, 2):
        if is_same(first, second):
            hint = "pass a different file for each; nothing was read or written"
            if str(first).endswith(".html"):
                hint = f"evidence.json comes with a page, evidence.html: {hint}"
            problem, got = f"two {what} name the same file", f"{first}, {second}"
            raise ParameterError(problem, where=f"{name} and {other}", got=got, hint=hint)


def read_weights(path: Path) -> pd.Series[float]:
    """Read weights by item. Items of a CSV file are text, which `find_items` matches with the data."""
    table = read_columns(path, ["item", "weight"])
    repeated = int(table["item"].duplicated().sum())
    if repeated:
        got = f"{repeated} repeated items"
        raise ParameterError("an item has more than one weight", where=str(path), got=got)
    return pd.Series(table["weight"].array, index=table["item"])


def read_columns(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read columns of a table without lists. In CSV, items and labels stay text: 007 does not become 7."""
    if not is_csv(path):
        return read_parquet(path, columns)
    table = read_text(path, {}, ",", "utf-8")
    absent = sorted(set(columns) - set(table.column_names))
    if absent:
        raise ColumnError(f"the file lacks columns {absent}", where=str(path))
    line_of = TextLines(path, ",", "utf-8").line_of
    return to_frame(cast_columns(table.select(columns), _TYPES, path, line_of))


def write_table(
    frame: pd.DataFrame,
    path: Path,
    column: str | None,
    separator: str | None,
    *,
    escape_formulas: bool = False,
) -> None:
    """Write a table with a list column. A CSV file needs a separator."""
    if not is_csv(path):
        return to_parquet(frame, path)
    to_csv(frame, path, column=column, separator=separator or "", escape_formulas=escape_formulas)


def write_threats(threats: pd.DataFrame, path: Path, separator: str | None) -> None:
    """Write the threats of an audit. In CSV, sets of inferred items are joined like the itemsets."""
    if is_csv(path) and "sensitive" in threats and is_list_column(threats["sensitive"]):
        threats = threats.assign(sensitive=to_text(threats["sensitive"], separator=separator or ""))
    write_table(threats, path, "itemset", separator)


def write_plain(mapping: pd.DataFrame, path: Path, *, escape_formulas: bool = False) -> None:
    """Write a table without lists, such as a mapping, losses or a comparison."""
    if not is_csv(path):
        return to_parquet(mapping, path)
    check_name(path)
    if escape_formulas:
        mapping = escape_frame(mapping)
    else:
        warn_of_formulas(mapping)
    # Small batches bound the memory: each line may have a long label, stored once in the frame.
    options = pa_csv.WriteOptions(batch_size=64)
    # Arrow's writer, unlike pandas', distinguishes missing and empty labels.
    with replace_file(path) as draft:
        pa_csv.write_csv(pa.Table.from_pandas(mapping, preserve_index=False), draft, options)


def write_confidential(table: pd.DataFrame, path: Path | str, *, overwrite: bool = True) -> None:
    """Write a table without lists that must not be published: only the owner may read a new file."""
    write_whole({path: partial(write_plain, table)}, [path], overwrite=overwrite)


def write_confidential_parts(parts: Iterator[pa.Table], path: Path) -> None:
    """Write a table without lists as `write_confidential` does, part by part; at least one."""
    first = next(parts)
    check_name(path)
    with replace_file(path, confidential=True) as draft:
        if is_csv(path):
            options = pa_csv.WriteOptions(batch_size=64)
            with pa_csv.CSVWriter(draft, first.schema, write_options=options) as csv:
                for part in chain([first], parts):
                    csv.write_table(part)
            return
        with pq.ParquetWriter(draft, first.schema, write_page_checksum=True) as writer:
            for part in chain([first], parts):
                writer.write_table(part.cast(first.schema))


def write_whole(
    writers: Mapping[Path | str, Callable[[Path], object]],
    confidential: Collection[Path | str] = (),
    *,
    overwrite: bool = True,
) -> None:
    """Write all files or none, each by its function; replace them in the order given.

    Only their owner may read new files that are confidential.
    """
    with replace_files(writers, confidential, overwrite=overwrite) as drafts:
        for draft, (path, write) in zip(drafts, writers.items(), strict=True):
            with name_in_errors(path):
                write(draft)
