"""Parquet files with list columns: checked when they are read, written whole or not at all."""
# pandas' defaults cannot read its own Arrow lists, and its Arrow backend loses dtypes of other columns.

from __future__ import annotations

import errno
import json
import os
import stat
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pandas.api.types import pandas_dtype
from pyarrow import fs

from pdanon.errors import ColumnError, FormatError, check_names, did_you_mean, read_safely
from pdanon.io.files import INCOMPLETE, check_name, display_path, is_local, is_utf8, replace_file, resolve
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import ListDtype, bare_field, is_list_type
from pdanon.itemsets.validation import FilePath, check_frame, check_path, check_text, is_uri, read_list

pa.array(pd.arrays.IntervalArray.from_breaks([0, 1]))  # registers the type of intervals, to read it


def open_parquet(
    path: FilePath, filesystem: fs.FileSystem | None = None, dictionaries: Sequence[int] = ()
) -> pq.ParquetFile:
    """Open a file, and check that its footer is consistent and no two columns have the same name."""
    # ``dictionaries`` are leaves of the schema, by number, to read as codes into a dictionary.
    where = display_path(path, filesystem)

    def open_checked() -> pq.ParquetFile:
        file = pq.ParquetFile(
            path, filesystem=filesystem, read_dictionary=list(dictionaries), page_checksum_verification=True
        )
        rows = sum(file.metadata.row_group(number).num_rows for number in range(file.num_row_groups))
        if rows != file.metadata.num_rows:
            raise _damaged(f"{rows} rows in all row groups, {file.metadata.num_rows} in the file", where)
        if sum(map(len, leaves_by_column(file.schema_arrow))) != len(file.schema):
            raise _damaged("two different schemas", where)
        check_names(file.schema_arrow.names, where)
        return file

    return read_safely(open_checked, where, "Parquet")


def read_row_group(
    file: pq.ParquetFile, number: int, path: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a row group of a file that `open_parquet` opened, by default all columns."""
    # Check that it has as many rows and values as the footer says, its codes are in dictionaries, and its
    # texts are UTF-8.
    part = f", row group {number}"
    where = f"{path}{part}"

    def read() -> pa.Table:
        table = file.read_row_group(number, columns=columns)
        rows = file.metadata.row_group(number).num_rows
        if table.num_rows != rows:
            raise _damaged(f"{table.num_rows} of {rows} rows", where)
        table.validate(full=True)
        leaves = leaves_by_column(file.schema_arrow)
        if columns is not None:
            # For a name with a dot, Arrow also reads the column named by the part before the dot.
            table = table.select(list(columns))
            leaves = [leaves[file.schema_arrow.get_field_index(name)] for name in columns]
        _check_values(table, leaves, file.metadata.row_group(number), where)
        return table

    return read_safely(read, path, "Parquet", part)


def leaves_by_column(schema: pa.Schema) -> list[range]:
    """Return the leaves of each column, by number, not by path: a name may hold a dot.

    >>> kinds = {"items": pa.list_(pa.string()), "place": pa.struct({"x": pa.int8(), "y": pa.int8()})}
    >>> leaves_by_column(pa.schema(kinds))
    [range(0, 1), range(1, 3)]
    """
    counts = (len(_count_values(pa.nulls(0, kind))) for kind in schema.types)
    ends = accumulate(counts, initial=0)
    return [range(start, end) for start, end in pairwise(ends)]


def _check_values(table: pa.Table, leaves: list[range], group: pq.RowGroupMetaData, where: str) -> None:
    """Check that each leaf has the number of values in the footer: damaged rows can lack items."""
    for column, own in zip(table.columns, leaves, strict=True):
        counts = [_count_values(chunk) for chunk in column.chunks]
        for leaf, found in zip(own, map(sum, zip(*counts, strict=True)), strict=bool(counts)):
            expected = group.column(leaf).num_values  # safe for columns that were read: else Arrow may abort
            if found != expected:
                raise _damaged(f"{found} of {expected} values", where)


def _count_values(values: pa.Array) -> list[int]:
    """Count the values of each leaf as Parquet does: an empty or missing list counts as one."""
    kind = values.type
    if isinstance(values, pa.ExtensionArray):
        return _count_values(values.storage)
    if pa.types.is_map(kind):
        values = values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if is_list_type(values.type):
        empty = len(values) - int(np.count_nonzero(pc.fill_null(pc.list_value_length(values), 0)))
        return [empty + count for count in _count_values(values.flatten())]
    if pa.types.is_struct(kind):
        return [count for field in values.flatten() for count in _count_values(field)]
    return [len(values)]


def _damaged(got: str, where: str) -> FormatError:
    return FormatError("the file cannot be read as Parquet", where=where, got=got)


# --- The files of a source: each file once, and all except hidden ones


_SUFFIX = ".parquet"
_MAGIC = "*?["
_BROKEN_LINK = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_TWICE = "files or directories that another path leads to"
_EMPTY = f"directories that end in {_SUFFIX} and hold no such file"
_VERSIONS = "logs of a table with versions"
# Logs of Delta, Hudi and Iceberg. Next to them are files that are no longer part of the table.
_LOGS = ("_delta_log", ".hoodie", "metadata")
_UNFINISHED = "marks of releases that are being written, or were cut off"
_REPLACED = "files that were replaced would be read, too"
_REPLACED_HINT = "read the table with the program that wrote it, and write its rows to new files"
_NAME = "names that are not UTF-8"
_UNREAD = {
    fs.FileType.File: f"files that do not end in {_SUFFIX}",
    fs.FileType.Directory: "directories where the pattern ends",
    fs.FileType.NotFound: "links that lead nowhere",
    fs.FileType.Unknown: "things that are neither files nor directories",
}


class Entry(NamedTuple):
    """The target of a path."""

    name: str  # the last part of the path
    kind: fs.FileType  # links followed; `NotFound` if nothing exists
    identity: Hashable  # equal for all paths that lead there: device and inode, or else the path


def list_files(
    filesystem: fs.FileSystem, root: str, patterns: tuple[str, ...] = ()
) -> tuple[list[str], set[str]]:
    """List the files of a directory and its subdirectories, or those that match patterns, level by level.

    Return their names relative to the root, in order, and the real local directories in which a new file
    would belong to them.
    """
    # It fails if there are no files, a directory cannot be read, two paths lead to a file, or a file would be
    # ignored. The message counts these by kind.
    names, directories, visited = list[str](), set[str](), [""]
    refused: dict[str, list[str]] = defaultdict(list)
    known = _identities_above(root) if is_local(filesystem) else set()
    for below in visited:  # which grows
        directory = f"{root}/{below}".rstrip("/")
        depth = len(PurePosixPath(below).parts)
        pattern = patterns[depth] if patterns else "*"
        last = not patterns or depth + 1 == len(patterns)
        if last and is_local(filesystem):
            directories.add(os.path.realpath(directory or "/"))
        for found in _list_entries(filesystem, directory, pattern, refused):
            name = f"{below}/{found.name}".lstrip("/")
            deeper = found.kind == fs.FileType.Directory and not (patterns and last)
            if not last and found.kind in (fs.FileType.File, fs.FileType.Unknown):
                continue  # the pattern has more levels
            if not is_utf8(found.name):
                refused[_NAME].append(name)
            elif not deeper and (found.kind != fs.FileType.File or not _is_parquet(found.name)):
                refused[_UNREAD[found.kind]].append(name)
            elif found.identity in known:
                refused[_TWICE].append(name)
            else:
                known.add(found.identity)
                (visited if deeper else names).append(name)
    names.sort()
    within = {str(above) for name in names for above in PurePosixPath(name).parents}
    if empty := [name for name in visited if _is_parquet(name) and name not in within and not patterns]:
        refused[_EMPTY] = empty
    # Logs are also searched above the root, and above the targets of links.
    paths = [f"{root}/"]
    if is_local(filesystem):
        files = [f"{root}/{name}" for name in names]
        paths += [f"{directory}/" for directory in directories]
        paths += [os.path.realpath(file) for file in files if os.path.islink(file)]
    if logs := {*refused.get(_VERSIONS, ()), *_logs_above(filesystem, paths)}:
        refused[_VERSIONS] = sorted(logs)
    _refuse_entries(refused, names, display_path("/".join((root, *patterns)), filesystem))
    return names, directories


def _identities_above(root: str) -> set[Hashable]:
    """Return the identities of a local directory and all above it: links back up are refused at once."""
    above, known = os.path.realpath(root), set[Hashable]()
    while above not in known:
        known |= {above, _local_entry(above).identity}
        above = os.path.dirname(above)
    return known


def _list_entries(
    filesystem: fs.FileSystem, directory: str, pattern: str, refused: dict[str, list[str]]
) -> list[Entry]:
    """List the entries of a directory that match a pattern and are not hidden; note marks among all."""

    def is_included(name: str) -> bool:
        if name == INCOMPLETE:
            refused[_UNFINISHED].append(f"{directory}/{name}".lstrip("/"))
        if name in _LOGS and _is_log(filesystem, f"{directory}/{name}"):
            refused[_VERSIONS].append(f"{directory}/{name}")
        return fnmatchcase(name, pattern) and not name.startswith((".", "_"))

    def read() -> list[Entry]:
        if is_local(filesystem):
            names = sorted(filter(is_included, os.listdir(directory or "/")))
            return [_local_entry(f"{directory}/{name}") for name in names]
        infos = filesystem.get_file_info(fs.FileSelector(directory))
        return [_remote_entry(info) for info in infos if is_included(info.base_name)]

    return read_safely(read, display_path(directory, filesystem), "Parquet")


def _refuse_entries(refused: dict[str, list[str]], names: list[str], where: str) -> None:
    """Refuse sources with entries that would be counted twice or ignored."""
    if _TWICE in refused:
        problem = "the same rows would be read twice"
        hint = "remove links, so that one path leads to each file"
    elif _VERSIONS in refused:
        problem, hint = _REPLACED, _REPLACED_HINT
    elif _UNFINISHED in refused:
        problem = "a release is incomplete"
        hint = "wait until it is written; if its process was killed, remove it and write it again"
    elif not names:
        problem = "there is no Parquet file"
        hint = f"rename the files: they must end in {_SUFFIX}, and must not begin with '.' or '_'"
    else:
        problem = "not everything in the source can be read"
        hint = f"pass a pattern that matches only Parquet files, such as 'baskets/*{_SUFFIX}'"
    if refused or not names:
        counts = [f"{len(each)} {kind}, such as {min(each)}" for kind, each in refused.items()]
        raise FormatError(problem, where=where, got="; ".join(counts) or "no files", hint=hint)


def entry_of(filesystem: fs.FileSystem, path: str) -> Entry:
    """Return the target of a path."""
    return _local_entry(path) if is_local(filesystem) else _remote_entry(filesystem.get_file_info(path))


def check_current(filesystem: fs.FileSystem, path: str) -> None:
    """Check that a file does not belong to a table with versions, which may have replaced it."""
    # No directory above it, links followed, may hold a log of Delta, Hudi or Iceberg. Directories that cannot
    # be listed are ignored.
    links = [os.path.abspath(path), os.path.realpath(path)]
    logs = _logs_above(filesystem, links if is_local(filesystem) else [path])
    if logs:
        got = f"{len(logs)} {_VERSIONS}, such as {min(logs)}"
        raise FormatError(_REPLACED, where=display_path(path, filesystem), got=got, hint=_REPLACED_HINT)


def _logs_above(filesystem: fs.FileSystem, paths: Iterable[str]) -> list[str]:
    """Return the logs of tables with versions in all directories above some paths."""
    above = {path[:place] for path in paths for place, mark in enumerate(path) if mark == "/"}
    logs = (f"{directory}/{name}" for directory in sorted(above) for name in _LOGS)
    return [log for log in logs if _is_log(filesystem, log)]


def _is_log(filesystem: fs.FileSystem, path: str) -> bool:
    """Return whether a path is the log of a table with versions; False if it cannot be listed."""
    path = path if is_local(filesystem) else path.lstrip("/")
    try:
        if not path.endswith("/metadata"):
            return entry_of(filesystem, path).kind != fs.FileType.NotFound
        found = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (OSError, pa.ArrowException):
        return False
    return any(info.base_name.endswith(".metadata.json") for info in found)


def _local_entry(path: str) -> Entry:
    name = os.path.basename(path)
    try:
        found = os.stat(path)
    except OSError as error:
        if error.errno not in _BROKEN_LINK:
            raise
        return Entry(name, fs.FileType.NotFound, path)
    kinds = {stat.S_IFREG: fs.FileType.File, stat.S_IFDIR: fs.FileType.Directory}
    kind = kinds.get(stat.S_IFMT(found.st_mode), fs.FileType.Unknown)
    return Entry(name, kind, (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path))


def _remote_entry(info: Any) -> Entry:
    return Entry(info.base_name, info.type, info.path)


def split_pattern(path: str) -> tuple[str, tuple[str, ...]]:
    """Split a path with wildcards into the directory before them, and the patterns of the levels below."""
    # A path without wildcards is refused, as it then does not exist, and so is ``**``.
    marks = [path.find(mark) for mark in _MAGIC if mark in path]
    if not marks:
        raise FormatError("there is no such file or directory", where=path)
    if "**" in path:
        hint = "write one * per level, or pass the directory, which is read with all its subdirectories"
        raise FormatError("** is not supported", where=path, hint=hint)
    root = path[: min(marks)].rpartition("/")[0]
    return root, tuple(path[len(root) :].lstrip("/").split("/"))


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(_SUFFIX)


# --- Frames


_ATTRS = b"PANDAS_ATTRS"  # pandas' key of a frame's attrs
_OBJECTS = (
    *(pa.types.is_date, pa.types.is_time, pa.types.is_interval, pa.types.is_decimal),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view),
    *(pa.types.is_struct, pa.types.is_map, pa.types.is_union, pa.types.is_run_end_encoded),
)


@called_by_name
def read_parquet(path: FilePath, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a Parquet file with its list columns as Arrow lists.

    Parameters
    ----------
    path : path
        One Parquet file, written by any tool, or the URI of one that pyarrow or fsspec opens.
    columns : sequence of str, optional
        The columns to read. By default all.

    Returns
    -------
    DataFrame
        List columns have an ``ArrowDtype`` of the file's list type. Its name is ``object``, so that
        ``DataFrame.to_parquet`` can write it. The other columns, the index and ``attrs`` are as
        ``pandas.read_parquet`` reads them.

    Raises
    ------
    FormatError, ColumnError
        If the file is missing, cannot be read, is not a Parquet file, or belongs to a table of Delta, Hudi or
        Iceberg, which may have replaced it. If a row group is damaged: its rows or values differ in number
        from the footer, a text is not UTF-8, or a page does not match its checksum (without checksums,
        changed values are not detected). If the file lacks one of the columns, or two columns have the same
        name.

    Examples
    --------
    >>> import pandas as pd, pdanon, pathlib, tempfile
    >>> frame = pd.DataFrame({"items": [{"tea", "rice"}, None], "store": ["north", "south"]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.parquet"
    ...     pdanon.to_parquet(frame, path)
    ...     pdanon.read_parquet(path)["items"].dtype
    list<element: string>[pyarrow]
    """
    path = check_path(path)
    filesystem, place = resolve(path) if is_uri(path) else (fs.LocalFileSystem(), path)
    where = display_path(place, filesystem)
    wanted = (
        None if columns is None else [check_text(name, "columns") for name in read_list(columns, "columns")]
    )

    def read() -> pd.DataFrame:
        with open_parquet(place, filesystem) as file:
            check_current(filesystem, place)  # after opening, so that an unreachable file has its own error
            schema = file.schema_arrow
            absent = set(wanted or ()) - set(schema.names)
            if absent:
                raise ColumnError(
                    f"the file {where!r} lacks columns {sorted(absent)}",
                    got=f"columns {schema.names}",
                    hint=did_you_mean(min(absent), schema.names),
                )
            noted = read_notes(schema.metadata).get("index_columns", [])  # by pandas
            index = [name for name in noted if name in schema.names and name not in (wanted or ())]
            chosen = None if wanted is None else [*wanted, *index]
            groups = range(file.num_row_groups)
            # One row group at a time: within lists, Arrow cannot merge codes into several dictionaries.
            tables = [read_row_group(file, number, where, chosen) for number in groups]
            empty = schema.empty_table() if chosen is None else schema.empty_table().select(chosen)
        table = pa.concat_tables(tables or [empty])
        frame = to_frame(table)
        if _ATTRS in (table.schema.metadata or {}):
            frame.attrs = json.loads(table.schema.metadata[_ATTRS])
        return frame

    return read_safely(read, where, "Parquet")


@called_by_name
def to_parquet(frame: pd.DataFrame, path: FilePath) -> None:
    """Write a frame with list columns to a Parquet file, whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame. Object columns with sets are converted by ``as_itemsets``: sorted, and of one type. Lists,
        tuples and arrays keep their order and their duplicates.
    path : path
        The file, or its URI. An existing file is replaced when the new one is complete.

    Raises
    ------
    ItemsetDtypeError, FormatError
        If a set holds a missing item, or items of several types. If Parquet cannot store a column or the
        ``attrs``, the path is not UTF-8, or the file cannot be written.

    Notes
    -----
    ``pandas.read_parquet`` reads the list columns of the file as objects, and with
    ``dtype_backend="pyarrow"`` as Arrow lists. Index, ``attrs`` and categories stay. Pages have checksums.

    For a URI such as ``s3://bucket/baskets.parquet``, the file is written to the temporary directory of this
    machine, and then sent in one request of the storage, which replaces an existing file at its end.

    Columns are written without changes. A categorical column keeps unused categories; in a release, these
    were already removed.

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
    if not is_uri(path):
        check_name(path)
    table = _to_table(frame)
    written = False
    with replace_file(path) as temporary:
        try:
            pq.write_table(table, temporary, write_page_checksum=True)
            written = True
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            pass
        if not written:  # raised outside the handler: Arrow shows a type, whose field names may be values
            raise FormatError("Parquet cannot store the type of a column", where=os.fspath(path))


def read_notes(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return the notes of pandas in the metadata of a schema, if there are any."""
    notes: dict[str, Any] = json.loads((metadata or {}).get(b"pandas", b"{}"))
    return notes


def to_frame(table: pa.Table, *, ignore_metadata: bool = False) -> pd.DataFrame:
    """Convert a table that was read from a file, of any format, into a frame with the same values.

    Dtypes are pandas' nullable ones or Arrow's where its own would change a value.

    >>> to_frame(pa.table({"code": [10625631000119104, 10625631000119105, None], "n": [1, 2, 3]})).dtypes
    code    Int64
    n       int64
    dtype: object
    """
    if not table.num_rows:  # pandas reads no chunks, but no empty chunk of intervals of times with a zone
        table = pa.Table.from_batches([], table.schema)
    frame: pd.DataFrame = table.to_pandas(types_mapper=_exact_dtype, ignore_metadata=ignore_metadata)
    index = [] if ignore_metadata else read_notes(table.schema.metadata).get("index_columns", [])
    columns = [
        column for name, column in zip(table.column_names, table.columns, strict=True) if name not in index
    ]
    for place, column in enumerate(columns):
        if column.null_count and isinstance(frame.dtypes.iloc[place], np.dtype):
            nullable = _nullable_dtype(column.type)
            if nullable is not None:
                frame.isetitem(place, nullable.__from_arrow__(column))
    return frame


def _nullable_dtype(kind: pa.DataType) -> Any:
    """Return pandas' dtype of integers or booleans that may be missing; None for other types."""
    if pa.types.is_integer(kind):
        return pandas_dtype(str(kind).replace("int", "Int").replace("u", "U"))
    return pd.BooleanDtype() if pa.types.is_boolean(kind) else None


def _exact_dtype(kind: pa.DataType) -> pd.ArrowDtype | None:
    """Return the dtype of a type that pandas would change or convert to Python objects, text excepted."""
    if is_list_type(kind):
        return ListDtype(kind)
    if isinstance(kind, pa.BaseExtensionType):  # those of pandas have a dtype
        return pd.ArrowDtype(kind) if kind.extension_name.startswith("arrow.") else None
    return pd.ArrowDtype(kind) if any(is_kind(kind) for is_kind in _OBJECTS) else None


def _to_table(frame: pd.DataFrame) -> pa.Table:
    """Convert a frame to Arrow, with metadata that lets pandas read its lists."""
    frame = check_frame(frame).copy(deep=False)
    for position, (_, column) in enumerate(frame.items()):
        # Arrow holds no sets, so rows of its lists are not visited.
        is_own = isinstance(column.dtype, np.dtype) and is_list_column(column)
        if is_own and any(issubclass(kind, (set, frozenset)) for kind in {*map(type, column)}):
            frame.isetitem(position, Itemsets.from_series(column).to_pandas())
    try:
        attrs = json.dumps(frame.attrs)
        table = pa.Table.from_pandas(frame)
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        table = None
    if table is None:  # raised outside the handler: the chained error of Arrow may show a value
        objects = [label for label, column in frame.items() if column.dtype == object]
        hint = "a column must have values of one type, column names must be unique, and attrs JSON"
        raise FormatError("Parquet cannot store the frame", got=f"object columns {objects}", hint=hint)
    described_frame = read_notes(table.schema.metadata)
    for described in described_frame["columns"]:
        # pandas writes the names of some dtypes of Arrow, but cannot read them.
        if not _is_readable(described["numpy_type"]):
            described["numpy_type"] = "object"
    metadata = {"pandas": json.dumps(described_frame), _ATTRS: attrs}
    return table.cast(pa.schema(map(bare_field, table.schema), metadata))


def _is_readable(name: str) -> bool:
    """Return whether pandas can read the name of a dtype."""
    try:
        return pandas_dtype(name) is not None
    except (NotImplementedError, TypeError, ValueError):
        return False
