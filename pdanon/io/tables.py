"""Tables in files of the command line and of policies: forms of their input, their output, and links."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from secrets import token_bytes
from shlex import quote
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from pdanon.errors import (
    ColumnError,
    FormatError,
    ParameterError,
    csv_command,
    did_you_mean,
    mask_credentials,
    read_safely,
    refuse,
)
from pdanon.io.files import (
    check_encoding,
    check_name,
    is_same,
    locate,
    name_in_errors,
    replace_file,
    replace_files,
    suffix_of,
)
from pdanon.io.forms import (
    describe_numbers,
    from_long,
    from_wide,
    lists_and_numbers,
    read_items,
    refuse_published_persons,
    to_long,
    warn_of_shared_persons,
)
from pdanon.io.lines import (
    Table,
    TextLines,
    cast_columns,
    check_types,
    delimiter_of,
    is_parquet,
    is_text,
    read_lines,
)
from pdanon.io.parquet import read_parquet, to_frame, to_parquet
from pdanon.io.text import (
    escape_frame,
    from_json,
    from_text,
    read_csv,
    split_objects,
    to_csv,
    to_text,
    warn_of_formulas,
)
from pdanon.itemsets.codes import MISSING, as_itemsets, item_texts, read_visible
from pdanon.itemsets.columns import find_column, is_list_column, label_positions, list_column, may_hold_lists
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Numbers
from pdanon.itemsets.validation import FilePath, check_known, check_path, is_uri, list_first

# --- Forms, and their conversion into frames, usually with one row per person


_CONFLICTS = ("refuse", "first")


@frozen
class Form:
    """The form of the table of a file: lists, long (``item``), one-hot (``onehot``), wide (``wide``)."""

    by: Sequence[str] = ()  # the person of a line; not in the frame, and the rows of a person are merged
    item: str | None = None  # in a long table, the column of items
    unit: str | None = None  # persons that have several rows; the frame has the rows as they are
    conflicts: str | None = None  # "refuse" or "first", for several values of a person in a kept column
    onehot: Sequence[str] | None = None  # columns of items; if empty, all except kept ones and those of `by`
    prefix: str | None = None  # the beginning of all labels of items of a one-hot table, which is removed
    wide: Sequence[str] | None = None  # columns of places of items; if empty, as for ``onehot``
    column: str | None = None  # the lists: required for text; the new column of a one-hot or wide table
    separator: str | None = None  # of items in joined text
    field: Sequence[str] | None = None  # of the item in lists of objects; if empty, lists in JSON
    missing: str | None = None  # "refuse" or "drop", for missing items inside lists
    tick: str | int | None = None  # value of a ticked box; by default those of `from_onehot`
    delimiter: str | None = None  # of a CSV file; by default the most frequent one
    encoding: str | None = None  # of a CSV file; by default UTF-8
    no_header: bool | None = None  # of a CSV file: whether its columns are numbered from 1 on
    # columns of CSV and JSON lines; by default, those of CSV are text
    types: Mapping[str, str] | None = None

    @property
    def is_onehot(self) -> bool:
        """Whether the table has one column per item."""
        return self.onehot is not None or self.prefix is not None

    @property
    def is_spread(self) -> bool:
        """Whether the items of a row are in several columns."""
        return self.is_onehot or self.wide is not None

    @property
    def has_no_lists(self) -> bool:
        """Whether the table is long, one-hot or wide."""
        return self.item is not None or self.is_spread

    @property
    def has_no_joined_text(self) -> bool:
        """Whether a CSV file needs no separator of items."""
        return self.has_no_lists or self.field is not None

    @property
    def drops_columns(self) -> bool:
        """Whether the frame has only the list column and kept columns."""
        return self.is_spread or bool(self.by)

    @property
    def has_lines(self) -> bool:
        """Whether the frame has one line per item, and no lists."""
        return self.unit is not None and self.item is not None

    @property
    def lists(self) -> str | None:
        """The label of the list column of the frame, if there is one and it is known."""
        if self.item is not None:
            return None if self.has_lines else self.item
        return self.column or ("items" if self.is_spread else None)

    def check(self, path: Path | str, spelling: Callable[[str], str] = str) -> None:
        """Check that the parts of the form are compatible with each other and with a file."""
        # ``spelling`` returns the name of a part of the form for messages: ``by`` or ``--by``.
        names = ("by", "item", "onehot", "prefix", "wide", "tick", "column", "field", "unit")
        by, item, onehot, prefix, wide, tick, column, field, unit = map(spelling, names)
        spread = [spelling(name) for name in ("onehot", "prefix", "wide") if getattr(self, name) is not None]
        gathers = next(iter([by] if self.by else spread), None)
        both = (self.onehot and self.prefix is not None) or (self.wide is not None and len(spread) > 1)
        is_other = self.has_no_lists or self.unit is not None
        lists = self.column is not None or not is_text(path)
        lacks_items = self.by and not self.has_no_lists and not lists
        lacks_persons = self.item is not None and not self.by and self.unit is None
        refuse(
            (
                self.unit is not None and gathers,
                f"{gathers} and {unit} do not go together",
                f"{by} gathers rows to one per person, and {unit} keeps lines: pass one of them",
            ),
            (
                self.item is not None and spread,
                "items have a line each or a column each, not both",
                f"pass {by} and {item} for lines, {onehot} or {prefix} for columns of 0 and 1",
            ),
            (both, f"{' and '.join(spread[:2])} exclude each other", "pass one of them"),
            (
                self.field is not None and is_other,
                f"{field} is only for lists",
                "leave it out: a column holds lists of objects, or the table has another form",
            ),
            (
                self.field is not None and not lists,
                f"{field} needs {column}",
                f"such as {column} codings",
            ),
            (
                lacks_items or lacks_persons,
                f"{by} and {item} go together",
                f"such as {by} customer {item} product, for a table with one line per item; "
                f"pass {onehot} or {prefix} for columns of 0 and 1, {wide} for columns of items",
            ),
            (
                self.item is not None and self.column not in (None, self.item),
                f"{column} is not used with {item}",
                "leave it out: the list column has the label of the items",
            ),
            (
                self.tick is not None and not self.is_onehot,
                f"{tick} needs {onehot} or {prefix}",
                f"pass the columns of boxes, too; {tick} is the value of a ticked box",
            ),
            (
                self.conflicts is not None and not self.by,
                f"{spelling('conflicts')} needs {by}",
                "pass the columns that identify the person of a line",
            ),
        )
        for name, known in {"missing": MISSING, "conflicts": _CONFLICTS}.items():
            if (value := getattr(self, name)) is not None:
                check_known(value, known, f"treatment of {name}", where=spelling(name))
        if is_uri(path) and not is_parquet(path):
            hint = "copy the file to this machine first"
            raise ParameterError("only Parquet files are read from a URI", got=str(path), hint=hint)
        types = check_types(self.types, spelling("types"))
        if types and is_parquet(path):
            hint = "leave it out: columns of Parquet have types"
            raise ParameterError(
                f"{spelling('types')} is only for CSV and JSON lines", where=str(path), hint=hint
            )
        for name in ("delimiter", "encoding", "no_header"):
            if getattr(self, name) is not None and not is_text(path):
                raise ParameterError(f"{spelling(name)} is only for CSV files", where=str(path))

    def read(self, path: Path | str, keep: Collection[str] = ()) -> Table:
        """Read a file into a frame with one row per person, or with its rows if ``unit`` is set."""
        # A CSV file with lists needs ``column`` and ``separator``. A table with lists keeps all columns,
        # unless ``by`` is set; otherwise the frame has those of ``keep`` beside the lists.
        return self.convert(*self._read_file(path), keep)

    def read_with_persons(self, path: Path | str, keep: Collection[str] = ()) -> tuple[Table, pd.DataFrame]:
        """Read a file as `read` does, and the columns of ``by`` of each row of the frame."""
        frame, notes = self._read_file(path)
        frame = self._split(frame)
        table = self.convert(frame, notes, keep)
        persons = frame.iloc[:, label_positions(frame, self.by)]
        return table, persons.drop_duplicates()  # in order of first appearance, as the rows

    def _read_file(self, path: Path | str) -> Table:
        """Read a file as it is."""
        encoding = check_encoding(self.encoding or "utf-8")
        how: dict[str, Any]
        names_items = self.column is not None or self.separator is not None
        if not names_items or self.has_no_joined_text or not is_text(path):
            how = {"header": not self.no_header, "ragged": self.wide is not None}
            return read_lines(path, self.types, self.delimiter, encoding, **how)
        if self.column is None or self.separator is None:
            raise ParameterError("a CSV file needs a column and a separator", where=str(path))
        mark, notes = delimiter_of(Path(path), self.delimiter, encoding)
        how = {"types": self.types, "delimiter": mark, "encoding": encoding, "header": not self.no_header}
        return Table(read_csv(path, column=self.column, separator=self.separator, **how), notes)

    def _split(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Split columns of objects if the form names a field of one, as in ``subject.reference``."""
        named = (name for name in (*self.by, self.item, self.column, self.unit) if name is not None)
        nested = any("." in name and name not in frame.columns for name in named)
        return split_objects(frame) if nested else frame

    def convert(self, frame: pd.DataFrame, notes: tuple[str, ...] = (), keep: Collection[str] = ()) -> Table:
        """Convert the table of a file."""
        refuse_published_persons(self.by, [*keep])
        frame = self._split(frame)
        if self.is_spread:
            return self._read_spread(frame, notes, list(keep))
        if not self.has_no_lists:
            frame = self._read_lists(frame)
        if self.unit is not None:
            return Table(frame, notes)
        if self.item is not None:
            by, conflicts = list(self.by), self.conflicts or "refuse"
            frame = from_long(frame, by=by, item=self.item, keep=[*keep], conflicts=conflicts)
        elif self.by:
            _check_columns(frame, [*self.by, *keep])
            name = str(frame.columns[find_column(frame, self.column)])
            frame = self._merge_persons(frame, name, list(keep))
        return Table(frame, notes)

    def _read_lists(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Read lists of objects and joined text, and leave out missing items if requested."""
        if self.field is None and self.missing != "drop" and (self.separator is None or self.column is None):
            return frame
        place = find_column(frame, self.column)
        column = frame.iloc[:, place]
        if self.field is not None:
            column = from_json(column, field=list(self.field) or None, missing=self.missing or "refuse")
        elif self.separator is not None and not may_hold_lists(column):
            column = from_text(column, separator=self.separator)
        elif self.missing == "drop":
            column = as_itemsets(column, missing="drop")
        copy = frame.copy(deep=False)
        copy.isetitem(place, column.array)
        return copy

    def _read_spread(self, frame: pd.DataFrame, notes: tuple[str, ...], keep: list[str]) -> Table:
        """Convert a one-hot or wide table."""
        name, by = str(self.lists), list(self.by)
        _check_columns(frame, [*by, *keep])
        others = list(dict.fromkeys([*by, *keep]))
        boxes = frame.drop(columns=others)
        columns = self.onehot or self.wide or None
        if twice := [label for label in others if label in (columns or ())]:
            got, hint = ", ".join(map(repr, twice)), "list each column once"
            raise ParameterError("a column is an item, and another part of the form", got=got, hint=hint)
        if self.wide is not None:
            lists = from_wide(boxes, columns=columns, name=name)
        else:
            lists, numbers, counts = lists_and_numbers(boxes, columns, self.prefix, name, self.tick)
            if columns is None and self.prefix is None:
                notes += (f"{boxes.shape[1]} columns are read as items",)
                if counts:
                    notes += (f"some of them hold counts above 1, are they items? {list_first(counts)}",)
            elif numbers:
                notes += (describe_numbers(numbers),)
        joined = pd.concat([frame[others], lists], axis=1)
        return Table(self._merge_persons(joined, name, keep), notes)

    def _merge_persons(self, lists: pd.DataFrame, name: str, keep: list[str]) -> pd.DataFrame:
        """Merge the rows of each person, and drop all columns but the lists and kept ones."""
        by = list(self.by)
        if by and (unknown := int(lists[by].isna().any(axis=1).sum())):
            raise ParameterError(
                "some rows have no person",
                where=", ".join(map(repr, by)),
                got=f"{unknown:,} of {len(lists):,} rows in which a value is missing",
                hint="drop these rows, or set the number of their person",
            )
        if not by or not lists.duplicated(by).any():
            warn_of_shared_persons(lists, by, name, np.arange(len(lists), dtype=np.int32), len(lists))
            return lists[[*keep, name]]
        number = "_" * (1 + max(map(len, map(str, lists.columns))))  # longer than any other label
        merged = to_long(lists, name, by=number)
        return from_long(merged, by=by, item=name, keep=keep, conflicts=self.conflicts or "refuse")


def _check_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for label in columns:
        if label not in frame.columns:
            hint = did_you_mean(label, map(str, frame.columns))
            raise ColumnError(f"column {label!r} does not exist", hint=hint)


# --- CSV or Parquet, by suffix


# Columns of numbers in the tables that pdanon writes.
_TYPES = {"weight": "number", **dict.fromkeys(("group", "block", "size", "count", "support"), "integer")}
_TOOLS = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd", ".zip": "unzip"}
_READERS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "read_excel"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "read_sas"),
    **{".sav": "read_spss", ".dta": "read_stata", ".json": "read_json"},
    **{".feather": "read_feather", ".arrow": "read_feather", ".orc": "read_orc"},
}
_SHEET = "; or save the sheet as 'CSV UTF-8'"
_BUNDLE = "; of a FHIR Bundle, the page docs/recipes/lines.md makes lines"


def is_csv(path: Path | str) -> bool:
    """Return whether the suffix of a file is that of CSV. All other files are Parquet."""
    return suffix_of(path) == ".csv"


def suffix_hint(path: FilePath, *, written: bool = False) -> str | None:
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
        return f"decompress it first: {_TOOLS[suffix]} {quote(mask_credentials(os.fspath(path)))}"
    if suffix == ".ndjson":
        return "rename it to .jsonl"
    if suffix == ".deid":
        return "it is a project of ARX: export its output there; unzip shows data/input.csv"
    call = _READERS.get(suffix)
    if call is None:
        return None
    return csv_command(call, path) + {"read_excel": _SHEET, "read_json": _BUNDLE}.get(call, "")


def check_distinct(paths: Mapping[str, Path | str], what: str) -> None:
    """Check that all paths and URIs, by their names, lead to different files."""
    places = [(name, locate(check_path(path, name))) for name, path in paths.items()]
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
    lines = TextLines(path, ",", "utf-8")
    table = lines.read({})
    absent = sorted(set(columns) - set(table.column_names))
    if absent:
        raise ColumnError(f"the file lacks columns {absent}", where=str(path))
    return to_frame(cast_columns(table.select(columns), _TYPES, path, lines.line_of))


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


# Small batches bound the memory: each line may have a long label, stored once in the frame.
_FEW_LINES = pa_csv.WriteOptions(batch_size=64)


def write_plain(mapping: pd.DataFrame, path: Path, *, escape_formulas: bool = False) -> None:
    """Write a table without lists, such as a mapping, losses or a comparison."""
    if not is_csv(path):
        return to_parquet(mapping, path)
    check_name(path)
    if escape_formulas:
        mapping = escape_frame(mapping)
    else:
        warn_of_formulas(mapping)
    # Arrow's writer, unlike pandas', distinguishes missing and empty labels.
    with replace_file(path) as draft:
        pa_csv.write_csv(pa.Table.from_pandas(mapping, preserve_index=False), draft, _FEW_LINES)


def write_confidential(table: pd.DataFrame, path: Path | str, *, overwrite: bool = True) -> None:
    """Write a table without lists that must not be published: only the owner may read a new file."""
    write_whole({path: partial(write_plain, table)}, [path], overwrite=overwrite)


def write_confidential_parts(read: Callable[[], Iterator[pa.Table]], path: Path) -> None:
    """Write a table without lists as `write_confidential` does, part by part; at least one."""
    parts = read()
    first = next(parts)
    check_name(path)
    with replace_file(path, confidential=True) as draft:
        kind = pa_csv.CSVWriter if is_csv(path) else pq.ParquetWriter
        options = {"write_options": _FEW_LINES} if is_csv(path) else {"write_page_checksum": True}
        with kind(draft, first.schema, **options) as writer:
            for part in chain([first], parts):
                writer.write_table(part.cast(first.schema))


Writers: TypeAlias = dict[Path | str, Callable[[Path], object]]  # what writes each file


def write_whole(
    writers: Mapping[Path | str, Callable[[Path], object]],
    confidential: Collection[Path | str] = (),
    *,
    overwrite: bool = True,
) -> None:
    """Write all files or none, each by its function; replace them in the order given."""
    # Only their owner may read new files that are confidential.
    with replace_files(writers, confidential, overwrite=overwrite) as drafts:
        for draft, (path, write) in zip(drafts, writers.items(), strict=True):
            with name_in_errors(path):
                write(draft)


# --- Links of a release: the person of each row as a keyed hash, in a file beside it that is not published


_SIZE = 32  # bytes of a secret key, as many as of a hash
_COLUMNS = ["person", "labels", "secret"]


def person_texts(persons: pd.DataFrame) -> list[str]:
    """Return the person of each row as text, from the columns that identify a person together."""
    columns = []
    for name in persons.columns:
        texts = None
        with suppress(pa.ArrowException, TypeError):
            items = read_items(persons[name])
            items = items.dictionary_decode() if pa.types.is_dictionary(items.type) else items
            texts = item_texts(items).to_pylist()
        if texts is None:  # raised outside the handler, whose error may show a value
            hint = "convert the column to numbers or text"
            where, got = f"column {name!r}", str(persons[name].dtype)
            raise ColumnError("links need persons that have a text", where=where, got=got, hint=hint)
        columns.append(texts)
    return [*map(json.dumps, zip(*columns, strict=True))]


def link_files(
    persons: list[str], frame: pd.DataFrame, column: str | None, links: Path, secret: Path
) -> Writers:
    """Return the functions that write the links of a release, and its secret key if that is a new one."""
    # Links have three columns: ``person``, an HMAC-SHA-256 of the text of `person_texts`; ``labels``, the
    # number of labels of the row, which tells releases apart; and ``secret``, a hash that tells secret keys
    # apart.
    is_known = secret.exists()
    key = read_secret(secret) if is_known else token_bytes(_SIZE)
    values = {
        "person": [_hash(text, key) for text in persons],
        "labels": _count_labels(frame, column),
        "secret": _hash("", key),  # the text of a person is never empty
    }
    files: Writers = {links: partial(write_plain, pd.DataFrame(values))}
    if not is_known:
        files[secret] = lambda path: path.write_text(f"{key.hex()}\n", encoding="ascii")
    return files


def read_secret(path: Path) -> bytes:
    """Read the secret key of a series of releases."""
    text = read_safely(path.read_bytes, path, "a secret key").strip()
    key = b""
    with suppress(ValueError):
        key = bytes.fromhex(text.decode("ascii"))
    if len(key) != _SIZE:
        hint = "pass the file that the first release of the series wrote, or a new path"
        raise FormatError("the file holds no secret key", where=str(path), hint=hint)
    return key


def read_links(path: Path, frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Read the links of a release, and check that they are of its rows."""
    links = read_columns(path, _COLUMNS)
    if not np.array_equal(links["labels"].astype(str), _count_labels(frame, column).astype(str)):
        hint = "pass the links of each release in the order of the releases; do not reorder rows of a release"
        raise ParameterError("these are the links of other rows", where=str(path), hint=hint)
    return links


def persons_of(links: list[pd.DataFrame]) -> list[pd.Series[str]]:
    """Return the persons of each release, if all links have the same secret key."""
    if len({text for each in links for text in map(str, each["secret"])}) > 1:
        hint = "release them again with one secret key: --secret FILE"
        raise ParameterError("links with several secret keys link nobody", where="--links", hint=hint)
    return [each["person"] for each in links]


def _hash(text: str, secret: bytes) -> str:
    return hmac.digest(secret, text.encode(), "sha256").hex()


def _count_labels(frame: pd.DataFrame, column: str | None) -> Numbers:
    return read_visible(list_column(frame, column)).lengths
