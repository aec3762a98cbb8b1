"""Files: Parquet and CSV with a list column, read faithfully and written whole or not at all.

Parquet written by pandas with an Arrow list column cannot be read back by pandas' defaults, and read with
its Arrow backend it loses the other columns' dtypes. The pair here writes files that every reader of pandas
accepts, and reads lists as lists and everything else as it was.
"""

from __future__ import annotations

import csv
import json
import mmap
import os
import shutil
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pdanon.columns import find_column, is_list_column, is_list_type
from pdanon.errors import ColumnError, FormatError, ParameterError, cause_of, readable
from pdanon.itemsets import Itemsets
from pdanon.rowgroups import open_parquet, read_row_group
from pdanon.values import can_be_written, check_frame, check_path, check_text, listed, quoted

__all__ = [
    "WriteError",
    "check_name",
    "list_dtype",
    "named_as",
    "read_csv",
    "read_parquet",
    "readable",
    "replacing",
    "replacing_all",
    "to_csv",
    "to_parquet",
]

_ATTRS = b"PANDAS_ATTRS"  # the key under which pandas keeps a frame's attrs


class WriteError(FormatError, OSError):
    """A file cannot be written."""

    def __init__(self, path: str | os.PathLike[str], error: OSError) -> None:
        where = os.fspath(path)
        FormatError.__init__(self, "the file cannot be written", where=where, got=cause_of(error))
        self.errno = error.errno


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path
        The file to write. If it exists, its permissions are kept.

    Yields
    ------
    pathlib.Path
        A new empty file in the same directory, to be written instead. When the block ends it replaces
        ``path`` in one step; when the block fails, for whatever reason, it is removed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pdanon.io import replacing
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "report.txt"
    ...     with replacing(path) as temporary:
    ...         _ = temporary.write_text("done")
    ...     print(path.read_text(), len(list(path.parent.iterdir())))
    done 1
    """
    with replacing_all([path]) as (temporary,), named_as(path):
        yield temporary


@contextmanager
def named_as(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file that was asked for, not the hidden one that is to become it."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from None


@contextmanager
def replacing_all(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Write several files whole, and all of them or none.

    Parameters
    ----------
    paths : iterable of path
        The files to write.

    Yields
    ------
    list of pathlib.Path
        A new empty file for each, as by `replacing`. When the block ends and all are safe on the disk, they
        replace the files one after the other, in the order given.
    """
    targets = [Path(os.path.realpath(check_path(path))) for path in paths]
    drafts = [target.with_name(f".{uuid4().hex}.tmp{target.suffix}") for target in targets]
    try:
        for draft, target in zip(drafts, targets, strict=True):
            _create(draft, target)
        yield drafts
        for draft, target in zip(drafts, targets, strict=True):
            with named_as(target), draft.open("rb+") as file:
                os.fsync(file.fileno())
        for draft, target in zip(drafts, targets, strict=True):
            with named_as(target):
                draft.replace(target)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def _create(draft: Path, target: Path) -> None:
    """Make the empty file that is to replace another; an error names that other, not a hidden name."""
    with named_as(target):
        draft.touch(exist_ok=False)
    if target.exists():
        shutil.copymode(target, draft)


def read_parquet(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a Parquet file with its list columns as Arrow lists.

    Parameters
    ----------
    path : path
        One Parquet file, written by any tool.
    columns : sequence of str, optional
        The columns to read. By default all.

    Returns
    -------
    DataFrame
        List columns have dtype ``ArrowDtype``, of whatever list type the file holds; the other columns,
        the index and ``attrs`` are what ``pandas.read_parquet`` makes of them by default.

    Raises
    ------
    FormatError
        If the file is missing, cannot be read or is not a Parquet file, or a row group, which the message
        names, is damaged: it has fewer rows or values than the footer says, text that is not UTF-8, or a page
        with another checksum. Without checksums it is not noticed if a value has become another one.
    ColumnError
        If the file lacks one of the columns.

    See Also
    --------
    to_parquet : The inverse.

    Examples
    --------
    >>> import pandas as pd, pdanon, pathlib, tempfile
    >>> frame = pd.DataFrame({"items": [{"tea", "rice"}, None], "store": ["north", "south"]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.parquet"
    ...     pdanon.to_parquet(frame, path)
    ...     pdanon.read_parquet(path).dtypes
    items    list<element: string>[pyarrow]
    store                               str
    dtype: object
    """
    path = check_path(path)
    wanted = None if columns is None else [check_text(name, "columns") for name in listed(columns, "columns")]

    def read() -> pd.DataFrame:
        with open_parquet(path) as file:
            schema = file.schema_arrow
            absent = set(wanted or ()) - set(schema.names)
            if absent:
                raise ColumnError(
                    f"the file {os.fspath(path)!r} lacks columns {sorted(absent)}",
                    got=f"columns {schema.names}",
                )
            chosen = None if wanted is None else [*wanted, *_index_columns(schema, wanted)]
            groups = range(file.num_row_groups)
            # One after the other: Arrow cannot put codes into several dictionaries together within lists.
            tables = [read_row_group(file, number, os.fspath(path), chosen) for number in groups]
            empty = schema.empty_table() if chosen is None else schema.empty_table().select(chosen)
        table = pa.concat_tables(tables or [empty])
        frame: pd.DataFrame = table.to_pandas(types_mapper=list_dtype)
        if _ATTRS in (table.schema.metadata or {}):
            frame.attrs = json.loads(table.schema.metadata[_ATTRS])
        return frame

    return readable(read, path, "Parquet")


def to_parquet(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a frame with list columns to a Parquet file, whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame. Object columns with sets among their rows are written as by ``as_itemsets``: sorted, and
        all of one type. Lists, tuples and arrays keep their order and their duplicates.
    path : path
        The file. If it exists it is replaced when the new one is complete.

    Raises
    ------
    ItemsetDtypeError
        If a set holds a missing item, or items of several types.
    FormatError
        If Parquet cannot hold a column or the ``attrs``, the path is not UTF-8, or the file cannot be
        written.

    See Also
    --------
    read_parquet : The inverse.

    Notes
    -----
    ``pandas.read_parquet`` reads the list columns of the file as objects by default and as Arrow lists with
    ``dtype_backend="pyarrow"``. Index, ``attrs`` and categories are kept.

    Columns are written as they are. What a release must not contain was removed when it was built; a
    categorical column of other origin keeps the categories it does not use. Pages have checksums.

    Examples
    --------
    >>> import pandas as pd, pdanon, pathlib, tempfile
    >>> frame = pd.DataFrame({"items": pdanon.as_itemsets([["tea", "rice"], None])})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.parquet"
    ...     pdanon.to_parquet(frame, path)
    ...     pd.read_parquet(path)
             items
    0  [rice, tea]
    1         None
    """
    check_name(path)
    table = _to_table(frame)
    written = False
    with replacing(path) as temporary:
        try:
            pq.write_table(table, temporary, write_page_checksum=True)
            written = True
        except pa.ArrowNotImplementedError:
            pass
        if not written:  # raised outside the handler: Arrow shows a type, in which values may be names
            raise FormatError("Parquet cannot hold the type of a column", where=os.fspath(path))


def read_csv(
    path: str | os.PathLike[str], *, column: str, separator: str, field_separator: str = ","
) -> pd.DataFrame:
    r"""Read a CSV file in which one column joins the items of a row by a separator.

    Parameters
    ----------
    path : path
        A CSV file with a header line.
    column : str
        The column of joined items.
    separator : str
        What stands between two items. It is never guessed, and nothing around it is stripped.
    field_separator : str
        The one character between two fields.

    Returns
    -------
    DataFrame
        The column has dtype ``ArrowDtype(list<string>)``, rows sorted and distinct; the others are what
        ``pandas.read_csv`` makes of them. An empty field is an empty row; no text means a missing one, and
        ``NA`` is an item. In a file of one column an empty line is an empty row.

    Raises
    ------
    FormatError
        If the file is missing, cannot be read, has lines with more fields than the header, or an item is
        empty (two separators in a row).
    ColumnError
        If there is no such column.
    ParameterError
        If a separator is empty or holds a control character that ends a line or field, or
        ``field_separator`` is not one ASCII character, or a quotation mark or the end of a line.

    See Also
    --------
    to_csv : The inverse.

    Notes
    -----
    The file is parsed twice, once for the items and once for everything else.

    Examples
    --------
    >>> import pdanon, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.csv"
    ...     _ = path.write_text("store,items\nnorth,tea|rice\nsouth,\n")
    ...     pdanon.read_csv(path, column="items", separator="|")
       store           items
    0  north  ['rice' 'tea']
    1  south              []
    """
    path = check_path(path)
    _check_separators(separator, field_separator)
    check_text(column, "column")

    def read() -> tuple[pd.DataFrame, pd.Series[Any]]:
        options: dict[str, Any] = {"sep": field_separator, "index_col": False, "dtype": {column: str}}
        with warnings.catch_warnings():
            # pandas only warns when it drops the fields that a line has too many.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(path, nrows=0, **options)
            options["skip_blank_lines"] = header.shape[1] > 1
            _check_header(header, column, path)
            return pd.read_csv(path, **options), pd.read_csv(path, na_filter=False, **options)[column]

    frame, text = readable(read, path, "CSV")
    joined = pa.array(text, pa.large_string())
    split = pc.split_pattern(pc.if_else(pc.equal(joined, ""), None, joined), separator)
    itemsets = Itemsets.from_arrow(split)
    empty = itemsets.rows[itemsets.codes == itemsets.lookup([""])[0]]
    if len(empty):
        raise FormatError(
            "an item is empty",
            where=f"{os.fspath(path)}, row {empty[0]}",
            got=f"{len(empty)} rows with empty items",
            hint="remove separators at the ends and repeated ones",
        )
    vocabulary, nulls = itemsets.vocabulary.cast(pa.string()), np.zeros(len(frame), np.bool_)
    frame[column] = replace(itemsets, vocabulary=vocabulary, nulls=nulls).to_pandas()
    return frame


def to_csv(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    separator: str,
    column: Hashable | None = None,
    field_separator: str = ",",
) -> None:
    """Write a frame with one list column to a CSV file, whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame. Its index is not written.
    path : path
        The file. If it exists it is replaced when the new one is complete.
    separator : str
        What to put between two items. No item may contain it, or end with a beginning of it that makes it
        appear too early: ``a:`` before ``::``.
    column : hashable, optional
        Label of the list column. By default the only list-valued column.
    field_separator : str
        The one character between two fields.

    Raises
    ------
    ParameterError
        If an item could not be read back, since it is the empty text, contains a carriage return or a null
        character, or does not end where the separator begins; or a separator is one that `read_csv` refuses.
    ColumnError
        If there is not exactly one list column, or its label could not be read back.
    ItemsetDtypeError
        If the column does not hold sets of items.
    FormatError
        If the file cannot be written.

    See Also
    --------
    read_csv : The inverse, up to the types of the items (text) and missing rows.
    to_parquet : Keeps both, and the index.

    Notes
    -----
    CSV has no way to tell a missing row from an empty one: both are written as an empty field. There are
    quotes around what needs them; around all text, if some holds a carriage return.

    Examples
    --------
    >>> import pandas as pd, pdanon, pathlib, tempfile
    >>> frame = pd.DataFrame({"store": ["north", "south"], "items": [{"tea", "rice"}, set()]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.csv"
    ...     pdanon.to_csv(frame, path, separator="|")
    ...     print(path.read_text())
    store,items
    north,rice|tea
    south,
    """
    _check_separators(separator, field_separator)
    position = find_column(frame, column)
    lists = [label for i, label in enumerate(frame) if i != position and is_list_column(frame.iloc[:, i])]
    if lists:
        raise ColumnError("a CSV file holds one list column", got=f"more: {lists}", hint="write Parquet")
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    texts = itemsets.texts()
    # The separator must be found after an item, and no sooner: splitting finds the first one that there is.
    unreadable = [
        not text or any(mark in text for mark in "\r\0") or (text + separator).find(separator) < len(text)
        for text in texts
    ]
    if any(unreadable):
        raise ParameterError(
            "an item that is empty or contains the separator, ends with its beginning, or contains a control "
            "character could not be read back",
            where="separator",
            got=f"{sum(unreadable)} of {itemsets.n_items} items",
            hint="choose a separator that no item contains or ends with the beginning of, or write Parquet",
        )
    as_text = itemsets.recode(np.arange(itemsets.n_items, dtype=np.int32), pa.array(texts, pa.string()))
    joined = pc.binary_join(as_text.to_arrow(), separator).fill_null("")
    written = frame.copy(deep=False)
    written.isetitem(position, pd.array(joined, dtype="str"))
    unwritable = False
    with replacing(path) as temporary:
        try:
            _write_csv(written, temporary, field_separator)
        except UnicodeEncodeError:
            unwritable = True
        if unwritable:  # raised outside the handler: the error of Python carries the text along
            raise FormatError("a text holds half of a surrogate pair", where="another column")
        header = pd.read_csv(temporary, sep=field_separator, index_col=False, nrows=0).columns
        if header[position] != str(frame.columns[position]):
            hint = "give it a name of its own, which is text"
            raise ColumnError("the label of the list column could not be read back", hint=hint)


def _write_csv(frame: pd.DataFrame, path: Path, field_separator: str) -> None:
    """Write a CSV file in which a line ends only at the end of a row."""
    options: dict[str, Any] = {"sep": field_separator, "index": False, "lineterminator": "\n"}
    frame.to_csv(path, **options)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        returns = content.find(b"\r") >= 0
    if returns:  # it ends a line for those who read, but pandas puts no quotes around it on its own
        frame.to_csv(path, quoting=csv.QUOTE_NONNUMERIC, **options)


def check_name(path: str | os.PathLike[str]) -> None:
    """Check that a path, links followed, is UTF-8: Arrow takes no others."""
    real = os.path.realpath(check_path(path))
    if real != real.encode(errors="replace").decode():
        raise FormatError("the path is not UTF-8", where=real, hint="rename the file or its directory")


def _check_header(header: pd.DataFrame, column: str, path: str | os.PathLike[str]) -> None:
    """Check that a CSV file has a column, without a word of a first line that may be one of the data."""
    if column not in header.columns:
        hint = "the first line of the file must name its columns"
        got = f"{header.shape[1]} columns"
        raise ColumnError(f"column {column!r} does not exist", where=os.fspath(path), got=got, hint=hint)


def _index_columns(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """The columns that pandas noted as index, but for those that are chosen anyway."""
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return [name for name in noted if isinstance(name, str) and name in schema.names and name not in columns]


def list_dtype(kind: pa.DataType) -> pd.ArrowDtype | None:
    """The pandas dtype of an Arrow list type; None for other types."""
    return pd.ArrowDtype(kind) if is_list_type(kind) else None


def _to_table(frame: pd.DataFrame) -> pa.Table:
    """Build the table of a frame, with metadata that lets every reader of pandas read its lists."""
    frame = check_frame(frame).copy(deep=False)
    for position in range(frame.shape[1]):
        if _holds_sets(frame.iloc[:, position]):
            frame.isetitem(position, Itemsets.from_series(frame.iloc[:, position]).to_pandas())
    try:
        attrs = json.dumps(frame.attrs)
        table = pa.Table.from_pandas(frame)
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        table = None
    if table is None:  # raised outside the handler: Arrow's own message may show a value
        objects = [label for label, column in frame.items() if pd.api.types.is_object_dtype(column)]
        hint = "the values of a column must be of one type, column names unique, and attrs JSON"
        raise FormatError("Parquet cannot hold the frame", got=f"object columns {objects}", hint=hint)
    described_frame = json.loads(table.schema.metadata[b"pandas"])
    for described in described_frame["columns"]:
        # pandas does not understand the name of a list dtype when it reads it.
        if is_list_type(table.schema.field(described["field_name"]).type):
            described["numpy_type"] = "object"
    return table.replace_schema_metadata({"pandas": json.dumps(described_frame), _ATTRS: attrs})


def _holds_sets(column: pd.Series[Any]) -> bool:
    return is_list_column(column) and any(isinstance(row, (set, frozenset)) for row in column)


def _check_separators(separator: str, field_separator: str) -> None:
    unfit = not isinstance(separator, str) or any(mark in separator for mark in "\r\0")
    if unfit or not separator or not can_be_written(separator):
        hint = "such as '|' or '; ', without a carriage return or a null character"
        raise ParameterError("some text is needed", where="separator", got=quoted(separator), hint=hint)
    # Quotation marks and ends of lines have a meaning of their own, and the parser knows ASCII only.
    one = isinstance(field_separator, str) and len(field_separator) == 1 and field_separator.isascii()
    if not one or field_separator in '"\r\n\0':
        hint = "such as ',', ';' or a tab; no quotation mark and no end of a line"
        got = quoted(field_separator)
        raise ParameterError("one ASCII character is needed", where="field_separator", got=got, hint=hint)
