"""Files: Parquet and CSV with a list column, read faithfully and written whole or not at all.

Parquet written by pandas with an Arrow list column of its own dtype cannot be read back by pandas' defaults,
and read with its Arrow backend it loses the other columns' dtypes. The pair here writes files that every
reader of pandas accepts, and reads lists as lists and everything else as it was.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from pdanon.errors import ColumnError, FormatError, check_names, did_you_mean, read_safely
from pdanon.io.files import check_name, replace_file
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import ListDtype, is_list_type
from pdanon.itemsets.validation import check_frame, check_path, check_text, is_uri, read_list

__all__ = [
    "Entry",
    "Listing",
    "check_current",
    "entry_of",
    "is_local",
    "leaves_by_column",
    "list_dtype",
    "locate",
    "open_parquet",
    "read_parquet",
    "read_row_group",
    "read_safely",
    "resolve",
    "shown_path",
    "split_pattern",
    "to_parquet",
]


def open_parquet(
    path: str | os.PathLike[str], filesystem: fs.FileSystem | None = None, dictionaries: Sequence[int] = ()
) -> pq.ParquetFile:
    """Open a file, if its footer agrees with itself.

    Parameters
    ----------
    path : path
        The file.
    filesystem : pyarrow.fs.FileSystem, optional
        Where it is. By default on this machine.
    dictionaries : sequence of int
        The leaves of the schema, by number, to be read as codes into a dictionary.

    Raises
    ------
    FormatError
        If it cannot be opened, or the row groups do not have as many rows as the file.
    ColumnError
        If two columns have the same name.
    """
    where = shown_path(path, filesystem)

    def opened() -> pq.ParquetFile:
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

    return read_safely(opened, where, "Parquet")


def read_row_group(
    file: pq.ParquetFile, number: int, path: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a row group.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        What `open_parquet` opened.
    number : int
        Which row group.
    path : str
        The path of the file, as messages show it.
    columns : sequence of str, optional
        The columns to read, and no others. By default all.

    Raises
    ------
    FormatError
        If it cannot be read, has not the rows and values that the footer says, or holds codes that are not in
        their dictionary or text that is not UTF-8.
    """
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
            # Of a name with a dot Arrow takes the beginning for the name of a column, too.
            table = table.select(list(columns))
            leaves = [leaves[file.schema_arrow.get_field_index(name)] for name in columns]
        _check_values(table, leaves, file.metadata.row_group(number), where)
        return table

    return read_safely(read, path, "Parquet", part)


def shown_path(path: str | os.PathLike[str], filesystem: fs.FileSystem | None) -> str:
    """A path as messages show it: that of another machine as a URI, without credentials or options."""
    if filesystem is None or isinstance(filesystem, fs.LocalFileSystem):
        return os.fspath(path)
    return f"{filesystem.type_name}://{os.fspath(path)}"


def leaves_by_column(schema: pa.Schema) -> list[range]:
    """The leaves of each column, by number; not by path, as a name may hold a dot.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pdanon.io.parquet import leaves_by_column
    >>> kinds = {"items": pa.list_(pa.string()), "place": pa.struct({"x": pa.int8(), "y": pa.int8()})}
    >>> leaves_by_column(pa.schema(kinds))
    [range(0, 1), range(1, 3)]
    """
    ends = accumulate((_leaves(field.type) for field in schema), initial=0)
    return [range(start, end) for start, end in pairwise(ends)]


def _leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if is_list_type(kind):
        return _leaves(kind.value_type)
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        fields = [kind.key_field, kind.item_field] if pa.types.is_map(kind) else kind
        return sum(_leaves(field.type) for field in fields)
    return 1


def _check_values(table: pa.Table, leaves: list[range], group: pq.RowGroupMetaData, where: str) -> None:
    """Check that all values are there that the footer says: a row may lack some of its items."""
    for column, own in zip(table.columns, leaves, strict=True):
        counts = [_values(chunk) for chunk in column.chunks]
        for leaf, found in zip(own, map(sum, zip(*counts, strict=True)), strict=bool(counts)):
            said = group.column(leaf).num_values  # safe to ask of what was read: else Arrow may abort here
            if found != said:
                raise _damaged(f"{found} of {said} values", where)


def _values(values: pa.Array) -> list[int]:
    """How many values of each leaf Parquet counts: an empty or missing list as one."""
    kind = values.type
    if isinstance(values, pa.ExtensionArray):
        return _values(values.storage)
    if pa.types.is_map(kind):
        values = values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if is_list_type(values.type):
        empty = len(values) - int(np.count_nonzero(pc.fill_null(pc.list_value_length(values), 0)))
        return [empty + count for count in _values(values.flatten())]
    if pa.types.is_struct(kind):
        return [count for field in values.flatten() for count in _values(field)]
    return [len(values)]


def _damaged(got: str, where: str) -> FormatError:
    return FormatError("the file cannot be read as Parquet", where=where, got=got)


# --- What a source names: each file once, and nothing is left out but what is hidden


_SUFFIX = ".parquet"
_MAGIC = "*?["
_LOST = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # the ways in which a link leads nowhere
_TWICE = "files or directories that another path leads to"
_EMPTY = f"directories that end in {_SUFFIX} and hold no such file"
_VERSIONS = "logs of a table with versions"
# Beside files that are no part of the table any more: logs of Delta, Hudi and Iceberg.
_LOGS = ("_delta_log", ".hoodie", "metadata")
_REPLACED = "files that were replaced would be read, too"
_REPLACED_HINT = "read the table with what wrote it, and write its rows to files of their own"
_NAME = "names that are not UTF-8"
_UNREAD = {
    fs.FileType.File: f"files that do not end in {_SUFFIX}",
    fs.FileType.Directory: "directories where the pattern ends",
    fs.FileType.NotFound: "links that lead nowhere",
    fs.FileType.Unknown: "things that are neither files nor directories",
}


class Entry(NamedTuple):
    """What a path leads to.

    Parameters
    ----------
    name : str
        The last part of the path.
    kind : pyarrow.fs.FileType
        What is there, links followed; ``NotFound`` if nothing is.
    identity : hashable
        The same for all paths that lead there: device and inode, or else the path.
    """

    name: str
    kind: fs.FileType
    identity: Hashable


@dataclass(eq=False, slots=True)
class Listing:
    """The files of a directory and of those below it, or those that match patterns.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where they are.
    root : str
        The directory.
    patterns : tuple of str
        What their names match, level by level. With none, all files are meant.

    Attributes
    ----------
    names : list of str
        The paths of the files, relative to the root, in order.
    directories : set of str
        The real paths of the local directories in which another file would be one of them.

    Raises
    ------
    FormatError
        If there are none, a directory cannot be read, or something is reached in two ways or would be left
        out: the message tells what, and how many of each kind.
    """

    filesystem: fs.FileSystem
    root: str
    patterns: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list, init=False)
    directories: set[str] = field(default_factory=set, init=False)
    _known: set[Hashable] = field(default_factory=set, init=False)
    _refused: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), init=False)

    def __post_init__(self) -> None:
        if is_local(self.filesystem):  # so that a link that leads back up is known as soon as it is met
            above = os.path.realpath(self.root)
            while above not in self._known:
                self._known |= {above, _local_entry(above).identity}
                above = os.path.dirname(above)
        waiting = looked_into = [""]
        while waiting:
            waiting = [name for below in waiting for name in self._look_into(below)]
            looked_into = looked_into + waiting
        self.names.sort()
        within = {str(above) for name in self.names for above in PurePosixPath(name).parents}
        for name in looked_into:
            if _is_parquet(name) and name not in within and not self.patterns:
                self._refused[_EMPTY].append(name)
        self._refused[_VERSIONS] = sorted({*self._refused[_VERSIONS], *self._logs_above()})
        self._check()

    def _logs_above(self) -> list[str]:
        """Logs above the root, and above what links lead to."""
        paths = [f"{self.root}/"]
        if is_local(self.filesystem):
            files = [f"{self.root}/{name}" for name in self.names]
            paths += [f"{directory}/" for directory in self.directories]
            paths += [os.path.realpath(file) for file in files if os.path.islink(file)]
        return _logs_above(self.filesystem, paths)

    def _look_into(self, below: str) -> Iterator[str]:
        """Take the files of a directory; what comes are the directories to look into next."""
        directory = f"{self.root}/{below}".rstrip("/")
        depth = len(PurePosixPath(below).parts)
        last = not self.patterns or depth + 1 == len(self.patterns)
        if last and is_local(self.filesystem):
            self.directories.add(os.path.realpath(directory or "/"))

        def is_meant(name: str) -> bool:
            matches = not self.patterns or fnmatchcase(name, self.patterns[depth])
            if name in _LOGS and _is_log(self.filesystem, f"{directory}/{name}"):
                self._refused[_VERSIONS].append(f"{directory}/{name}")
            return matches and not name.startswith((".", "_"))

        where = shown_path(directory, self.filesystem)
        for found in read_safely(lambda: self._entries(directory, is_meant), where, "Parquet"):
            name = f"{below}/{found.name}".lstrip("/")
            deeper = found.kind == fs.FileType.Directory and not (self.patterns and last)
            if not last and found.kind in (fs.FileType.File, fs.FileType.Unknown):
                continue  # the pattern goes on
            if problem := self._problem(found, deeper=deeper):
                self._refused[problem].append(name)
            elif deeper:
                yield name
            else:
                self.names.append(name)

    def _entries(self, directory: str, is_meant: Callable[[str], bool]) -> list[Entry]:
        """What is in a directory, as far as it is meant."""
        if is_local(self.filesystem):
            names = sorted(filter(is_meant, os.listdir(directory or "/")))
            return [_local_entry(f"{directory}/{name}") for name in names]
        infos = self.filesystem.get_file_info(fs.FileSelector(directory))
        return [_remote_entry(info) for info in infos if is_meant(info.base_name)]

    def _problem(self, found: Entry, *, deeper: bool) -> str | None:
        """Why something cannot be taken, or looked into."""
        if not _is_utf8(found.name):
            return _NAME
        if not deeper and (found.kind != fs.FileType.File or not _is_parquet(found.name)):
            return _UNREAD[found.kind]
        if found.identity in self._known:
            return _TWICE
        self._known.add(found.identity)
        return None

    def _check(self) -> None:
        """Refuse what would be counted twice or left out."""
        refused = {kind: names for kind, names in self._refused.items() if names}
        counts = [f"{len(names)} {kind}, such as {min(names)}" for kind, names in refused.items()]
        if _TWICE in refused:
            problem = "the same rows would be read twice"
            hint = "remove links, so that one path leads to each file"
        elif _VERSIONS in refused:
            problem, hint = _REPLACED, _REPLACED_HINT
        elif not self.names:
            problem = "there is no Parquet file"
            hint = f"files end in {_SUFFIX}; those that begin with '.' or '_' are left out"
        else:
            problem = "not everything in the source can be read"
            hint = f"name the files by a pattern that fits nothing else, such as 'baskets/*{_SUFFIX}'"
        if counts or not self.names:
            where = shown_path("/".join((self.root, *self.patterns)), self.filesystem)
            raise FormatError(problem, where=where, got="; ".join(counts) or "no files", hint=hint)


def is_local(filesystem: fs.FileSystem) -> bool:
    """Tell whether files are those of this machine."""
    return isinstance(filesystem, fs.LocalFileSystem)


def entry_of(filesystem: fs.FileSystem, path: str) -> Entry:
    """What a path leads to."""
    return _local_entry(path) if is_local(filesystem) else _remote_entry(filesystem.get_file_info(path))


def check_current(filesystem: fs.FileSystem, path: str) -> None:
    """Check that a file is no part of a table with versions, in which it may have been replaced.

    Raises
    ------
    FormatError
        If a directory above it, links followed, holds the log of Delta, Hudi or Iceberg, as far as it can be
        listed.
    """
    links = [os.path.abspath(path), os.path.realpath(path)]
    logs = _logs_above(filesystem, links if is_local(filesystem) else [path])
    if logs:
        got = f"{len(logs)} {_VERSIONS}, such as {min(logs)}"
        raise FormatError(_REPLACED, where=shown_path(path, filesystem), got=got, hint=_REPLACED_HINT)


def _logs_above(filesystem: fs.FileSystem, paths: Iterable[str]) -> list[str]:
    """Logs of tables with versions in the directories above some paths."""
    above = {path[:place] for path in paths for place, mark in enumerate(path) if mark == "/"}
    logs = (f"{directory}/{name}" for directory in sorted(above) for name in _LOGS)
    return [log for log in logs if _is_log(filesystem, log)]


def _is_log(filesystem: fs.FileSystem, path: str) -> bool:
    """Tell whether there is the log of a table with versions, as far as it can be listed."""
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
        if error.errno not in _LOST:
            raise
        return Entry(name, fs.FileType.NotFound, path)
    kinds = {stat.S_IFREG: fs.FileType.File, stat.S_IFDIR: fs.FileType.Directory}
    kind = kinds.get(stat.S_IFMT(found.st_mode), fs.FileType.Unknown)
    return Entry(name, kind, (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path))


def _remote_entry(info: Any) -> Entry:
    return Entry(info.base_name, info.type, info.path)


def resolve(source: str | os.PathLike[str]) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path there.

    Raises
    ------
    FormatError
        If there is no such file system, or the path cannot be told to one.
    """
    text = os.fsdecode(source)
    if not is_uri(text):
        # The way up from a link does not lead to the directory that holds the link.
        path = os.path.realpath(text) if ".." in text.split("/") else os.path.abspath(text)
        if not _is_utf8(path):
            raise FormatError("the path is not UTF-8", where=path, hint="rename the file or its directory")
        return fs.LocalFileSystem(), path
    if "#" in text or (text.startswith("file:") and "?" in text):
        hint = "in a URI '#' is written %23 and '?' is written %3F"
        raise FormatError("the end of the URI is no part of the path", where=text, hint=hint)
    found: tuple[fs.FileSystem, str] = read_safely(lambda: fs.FileSystem.from_uri(text), text, "Parquet")
    return found


def locate(source: str | os.PathLike[str]) -> Path | str:
    """A path, also that of a URI that leads to this machine, which is the same file; or else the URI."""
    text = os.fspath(source)
    if text.lower().startswith("file:"):
        return Path(resolve(text)[1])
    return text if is_uri(text) else Path(text)


def split_pattern(path: str) -> tuple[str, tuple[str, ...]]:
    """A path with wildcards as the directory before them, and what they match below it, level by level.

    Raises
    ------
    FormatError
        If there are none, so that the path leads nowhere, or one of them is for any number of levels.
    """
    marks = [path.find(mark) for mark in _MAGIC if mark in path]
    if not marks:
        raise FormatError("there is no such file or directory", where=path)
    if "**" in path:
        hint = "write one * for each level; or name the directory, which is read with all that is below it"
        raise FormatError("** does not stand for any number of directories", where=path, hint=hint)
    root = path[: min(marks)].rpartition("/")[0]
    return root, tuple(path[len(root) :].lstrip("/").split("/"))


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(_SUFFIX)


def _is_utf8(name: str) -> bool:
    return name == name.encode(errors="replace").decode()


# --- Files: Parquet and CSV with a list column, read faithfully and written whole or not at all


_ATTRS = b"PANDAS_ATTRS"  # the key under which pandas keeps a frame's attrs


def read_parquet(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a Parquet file with its list columns as Arrow lists.

    Parameters
    ----------
    path : path
        One Parquet file, written by any tool; also the URI of one that `pyarrow.fs` opens.
    columns : sequence of str, optional
        The columns to read. By default all.

    Returns
    -------
    DataFrame
        List columns have dtype ``ArrowDtype``, of whatever list type the file holds, under the name
        ``object``, so that ``DataFrame.to_parquet`` can write them; the other columns, the index and
        ``attrs`` are what ``pandas.read_parquet`` makes of them by default.

    Raises
    ------
    FormatError
        If the file is missing, cannot be read, is not a Parquet file, or belongs to a table of Delta, Hudi or
        Iceberg, in which it may have been replaced. Or if a row group, which the message names, is damaged:
        it has fewer rows or values than the footer says, text that is not UTF-8, or a page with another
        checksum. Without checksums it is not noticed if a value has become another one.
    ColumnError
        If the file lacks one of the columns, or two columns have the same name.

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
    ...     pdanon.read_parquet(path)["items"].dtype
    list<element: string>[pyarrow]
    """
    path = check_path(path)
    filesystem, place = resolve(path) if is_uri(path) else (fs.LocalFileSystem(), path)
    where = shown_path(place, filesystem)
    wanted = (
        None if columns is None else [check_text(name, "columns") for name in read_list(columns, "columns")]
    )

    def read() -> pd.DataFrame:
        with open_parquet(place, filesystem) as file:
            check_current(filesystem, place)  # of what can be reached
            schema = file.schema_arrow
            absent = set(wanted or ()) - set(schema.names)
            if absent:
                raise ColumnError(
                    f"the file {where!r} lacks columns {sorted(absent)}",
                    got=f"columns {schema.names}",
                    hint=did_you_mean(min(absent), schema.names),
                )
            chosen = None if wanted is None else [*wanted, *_index_columns(schema, wanted)]
            groups = range(file.num_row_groups)
            # One after the other: Arrow cannot put codes into several dictionaries together within lists.
            tables = [read_row_group(file, number, where, chosen) for number in groups]
            empty = schema.empty_table() if chosen is None else schema.empty_table().select(chosen)
        table = pa.concat_tables(tables or [empty])
        frame: pd.DataFrame = table.to_pandas(types_mapper=list_dtype)
        if _ATTRS in (table.schema.metadata or {}):
            frame.attrs = json.loads(table.schema.metadata[_ATTRS])
        return frame

    return read_safely(read, where, "Parquet")


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
    with replace_file(path) as temporary:
        try:
            pq.write_table(table, temporary, write_page_checksum=True)
            written = True
        except pa.ArrowNotImplementedError:
            pass
        if not written:  # raised outside the handler: Arrow shows a type, in which values may be names
            raise FormatError("Parquet cannot hold the type of a column", where=os.fspath(path))


def _index_columns(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """The columns that pandas noted as index, but for those that are chosen anyway."""
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return [name for name in noted if isinstance(name, str) and name in schema.names and name not in columns]


def list_dtype(kind: pa.DataType) -> ListDtype | None:
    """The pandas dtype of an Arrow list type; None for other types."""
    return ListDtype(kind) if is_list_type(kind) else None


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
