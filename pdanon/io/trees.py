"""Trees of Parquet files: a file, a directory or a pattern; and targets that appear whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TypeAlias
from uuid import NAMESPACE_URL, uuid4, uuid5

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pdanon.errors import ColumnError, FormatError, ParameterError, cause_of, read_safely, remedy_of
from pdanon.io.files import (
    Draft,
    directory_of_others,
    display_path,
    is_at,
    is_local,
    is_taken,
    name_in_errors,
    own,
    remove_owned,
    resolve,
    sync_file,
)
from pdanon.io.parquet import (
    check_current,
    entry_of,
    leaves_by_column,
    list_files,
    open_parquet,
    read_notes,
    read_row_group,
    split_pattern,
    to_frame,
)
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.dtype import bare_field, is_list_type, is_text_type
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import item_type, read_part
from pdanon.itemsets.memory import return_unused

ArrowReader: TypeAlias = Callable[[pa.ChunkedArray], Itemsets]  # encodes a list column

_KEPT = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")  # without attrs

_LISTS_HINT = (
    "merge lines into lists first, with 'SELECT person, list(DISTINCT item) ... GROUP BY person', or with "
    "pdanon.from_long if they fit into memory"
)


@frozen
class ParquetTree:
    """Parquet files of one schema."""

    filesystem: fs.FileSystem
    root: str  # the directory that the names are relative to
    names: list[str]  # in order
    pattern: str | None = None  # the requested path, if it is not the root: one file, or wildcards
    # real local ones in which a new file would belong to the tree
    directories: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()  # columns of the files that are not part of the tree
    found: Sequence[object] = ()  # the `stamps` of the files when they were found

    @classmethod
    def find(cls, source: str | os.PathLike[str]) -> ParquetTree:
        """Find the files of a path, of a URI, or of one with wildcards."""
        filesystem, path = resolve(source)
        kind = read_safely(lambda: entry_of(filesystem, path).kind, source, "Parquet")
        if kind == fs.FileType.File:
            check_current(filesystem, path)
            root, _, name = path.rpartition("/")
            tree = cls(filesystem, root, [name], path)
        elif kind == fs.FileType.Unknown:
            raise FormatError("there is neither a file nor a directory", where=str(source))
        else:
            pattern = path if kind == fs.FileType.NotFound else None
            root, patterns = (path, ()) if pattern is None else split_pattern(path)
            names, directories = list_files(filesystem, root, patterns)
            tree = cls(filesystem, root, names, pattern, frozenset(directories))
        return replace(tree, found=tree.stamps())

    @classmethod
    def of_directory(cls, source: str) -> ParquetTree:
        """Return the tree of a directory or URI, to see what it `holds`; its files are not listed."""
        filesystem, path = resolve(source)
        return cls(filesystem, path.rstrip("/"), [], directories=frozenset({os.path.realpath(path)}))

    @property
    def is_file(self) -> bool:
        """Whether the tree is one file that was passed by its own path."""
        return self.pattern is not None and self.pattern == self.path(self.names[0])

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.root}/{name}"

    def display_path(self, name: str) -> str:
        """Return the path of a file for messages."""
        return display_path(self.path(name), self.filesystem)

    def holds(self, target: Path | str) -> bool:
        """Return whether a release written to a path or URI would belong to the tree."""
        if isinstance(target, str):
            # Other options of a URI, such as an endpoint, may lead to the same place.
            filesystem, path = resolve(target)
            same = filesystem.type_name == self.filesystem.type_name
            return same and self.pattern is None and f"{path}/".startswith(f"{self.root}/")
        # A pattern matches files of one depth. A release below the same directory has deeper files.
        above = map(str, Path(os.path.realpath(target)).parents)
        return self.pattern is None and not self.directories.isdisjoint(above)

    def reads(self, path: Path) -> bool:
        """Return whether a file belongs to the tree, or would belong to it after it is written."""
        if not is_local(self.filesystem):
            return False
        real = os.path.realpath(path)
        directory, name = os.path.split(real)
        named = self.pattern is not None and fnmatchcase(name, self.pattern.rpartition("/")[2])
        known = {os.path.realpath(self.path(each)) for each in self.names}
        return (named and directory in self.directories) or real in known or self.holds(path)

    def stamps(self) -> list[object]:
        """Return type, size and time of change of each file, to detect changed files."""
        paths = [self.path(name) for name in self.names]
        root = display_path(self.root, self.filesystem)
        infos = read_safely(lambda: self.filesystem.get_file_info(paths), root, "Parquet")
        return [(info.type, info.size, info.mtime_ns) for info in infos]

    def rows(self) -> int:
        """Count the rows of all files, from their footers."""
        return sum(each.num_rows for each in self.footers())

    def footers(self) -> Iterator[pq.FileMetaData]:
        """Yield the footer of each file."""
        for name in self.names:
            with open_parquet(self.path(name), self.filesystem) as file:
                yield file.metadata

    def schema(self) -> pa.Schema:
        """Return the schema of all files, without metadata and dropped columns. Refuse differing schemas."""
        first: pa.Schema | None = None
        for name in self.names:
            with open_parquet(self.path(name), self.filesystem) as file:  # with text as text, not as codes
                schema = file.schema_arrow.remove_metadata()
            first = schema if first is None else first
            if difference := schema_difference(first, schema):
                raise FormatError(
                    "the files have different columns",
                    where=self.display_path(name),
                    got=difference,
                    hint=f"compared with {self.display_path(self.names[0])}",
                )
        assert first is not None
        return _without(first, self.dropped)

    def find_columns(self, column: Hashable | None, private: str | None = None) -> list[str]:
        """Find the names of the list column and, if ``private`` is set, of the private column."""
        schema = self.schema()
        path = self.display_path(self.names[0])
        if not any(is_list_type(kind) for kind in schema.types):
            what = "the files have no column of lists"
            raise ColumnError(what, where=path, got=schema.names, hint=_LISTS_HINT)
        return [schema.names[place] for place in find_columns(self.empty_frame(), column, private)]

    def empty_frame(self) -> pd.DataFrame:
        """Return a frame with the columns of the files, and no rows."""
        empty = self.schema().empty_table()
        where = self.display_path(self.names[0])
        return read_safely(lambda: to_frame(empty, ignore_metadata=True), where, "Parquet")

    def item_type(self, label: str) -> pa.DataType:
        """Return the type of the encoded items of a list column."""
        return Itemsets.from_arrow(self.schema().empty_table().column(label)).vocabulary.type

    @contextmanager
    def open(self, name: str, labels: Collection[str] = ()) -> Iterator[TreeFile]:
        """Open a file, and read the text of some list columns as codes into a dictionary."""
        path, where = self.path(name), self.display_path(name)
        with open_parquet(path, self.filesystem) as plain:
            # Refuse metadata now that the release could not write again.
            read_safely(lambda: pandas_metadata(plain.schema_arrow, {}), where, "Parquet")
            pairs = zip(plain.schema_arrow, leaves_by_column(plain.schema_arrow), strict=True)
            lists = [own for field, own in pairs if field.name in labels and is_list_type(field.type)]
            leaves = chain.from_iterable(lists)
            texts = [leaf for leaf in leaves if plain.schema.column(leaf).physical_type == "BYTE_ARRAY"]
            with open_parquet(path, self.filesystem, texts) if texts else nullcontext() as coded:
                yield TreeFile(where, plain, coded, _without(plain.schema_arrow, self.dropped))

    def columns(self, labels: list[str], read: ArrowReader = Itemsets.from_arrow) -> Iterator[list[Itemsets]]:
        """Yield some list columns, by row group."""
        for file, number in self.groups(labels):
            table = file.read(number, labels)
            columns = [file.itemsets(table, label, number, read) for label in labels]
            del table
            return_unused()
            yield columns

    def groups(self, labels: Collection[str] = ()) -> Generator[tuple[TreeFile, int], None, None]:
        """Yield each row group as a file opened by `open`, and a number in it."""
        for name in self.names:
            with self.open(name, labels) as file:
                for number in range(file.plain.num_row_groups):
                    yield file, number


@dataclass(eq=False, slots=True)
class TreeFile:
    """An open file of a tree."""

    path: str  # for messages
    plain: pq.ParquetFile  # read without codes
    # text of some lists as codes; None if no such text, or Arrow reads only text
    coded: pq.ParquetFile | None
    schema: pa.Schema  # of the columns that are read, with metadata

    def read(self, number: int, columns: list[str] | None = None) -> pa.Table:
        """Read a row group, or some columns of it."""
        if columns is None and len(self.schema) < len(self.plain.schema_arrow):
            columns = self.schema.names
        if self.coded is not None:
            try:
                return read_row_group(self.coded, number, self.path, columns)
            except FormatError:
                pass  # a damaged file, or an encoding without codes: Arrow's errors do not distinguish these
        table = read_row_group(self.plain, number, self.path, columns)
        self.coded = None
        return table

    def n_rows(self, number: int) -> int:
        """Return the number of rows of a row group."""
        return int(self.plain.metadata.row_group(number).num_rows)

    def itemsets(
        self, table: pa.Table, label: str, number: int, read: ArrowReader = Itemsets.from_arrow
    ) -> Itemsets:
        """Encode a list column of a row group, with items of the file's type."""
        part = f"{self.path}, row group {number}"
        found = read_part(lambda: read(table.column(label)), part)
        kind = read_part(lambda: item_type(self.plain.schema_arrow.field(label).type.value_type), part)
        return replace(found, vocabulary=found.vocabulary.cast(kind))  # codes turn large text into text


def _without(schema: pa.Schema, dropped: Collection[str]) -> pa.Schema:
    """Return a schema without some columns."""
    if not dropped:
        return schema
    return pa.schema([field for field in schema if field.name not in dropped], schema.metadata)


@contextmanager
def open_writer(
    path: Path,
    file: TreeFile,
    lists: Mapping[str, pa.DataType],
    others: Mapping[str, pa.DataType] | None = None,
    noted: Mapping[bytes, bytes] | None = None,
) -> Iterator[pq.ParquetWriter]:
    """Open a writer of a file like another one, in which some columns become lists with these types."""
    metadata = pandas_metadata(file.schema, lists, noted)
    shown = {**(others or {}), **{name: pa.list_(kind) for name, kind in lists.items()}}
    texts = [name for name, kind in lists.items() if is_text_type(kind)]
    coded = {name: pa.list_(pa.dictionary(pa.int32(), lists[name])) for name in texts}
    fields = [*map(bare_field, file.schema)]
    published, written = (
        pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in fields], metadata)
        for kinds in (shown, {**shown, **coded})
    )
    first = next(name for name in file.schema.names if name in shown)
    with_text = base64.b64encode(published.serialize().to_pybytes())
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(
        path,
        written,
        compression=_compression(file.plain, first),
        store_schema=False,  # that with codes; the one with text is stored instead, to be read as such
        write_page_checksum=True,
        write_batch_size=2**16,  # for statistics, Arrow scans the dictionary once per batch
    ) as writer:
        writer.add_key_value_metadata({**metadata, b"ARROW:schema": with_text})
        yield writer
    sync_file(path)


def schema_difference(first: pa.Schema, second: pa.Schema) -> str:
    """Describe how the columns of two files differ; return an empty text if they do not."""
    lacks, more = (sorted(set(a.names) - set(b.names)) for a, b in ((first, second), (second, first)))
    if lacks or more:
        return " and ".join([f"no columns {lacks}"] * bool(lacks) + [f"columns {more}"] * bool(more))
    if first.names != second.names:
        return f"columns in the order {second.names} instead of {first.names}"
    fields = zip(first, second, strict=True)
    pairs = [(a, b) for a, b in fields if decode_type(a.type) != decode_type(b.type)]
    return ", ".join(f"column {b.name!r} of type {b.type} instead of {a.type}" for a, b in pairs)


def decode_type(kind: pa.DataType) -> pa.DataType:
    """Replace the type of lists of codes by that of lists of their values, as both are read equally."""
    if not pa.types.is_list(kind) or not pa.types.is_dictionary(kind.value_type):
        return kind
    return pa.list_(kind.value_field.with_type(kind.value_type.value_type))


def _compression(file: pq.ParquetFile, name: str) -> str:
    """Return the compression of a column that was read: for damaged columns Arrow may abort here."""
    if not file.num_row_groups:
        return "snappy"
    leaf = leaves_by_column(file.schema_arrow)[file.schema_arrow.get_field_index(name)].start
    codec = str(file.metadata.row_group(0).column(leaf).compression).lower()
    return {"uncompressed": "none", "lz4_raw": "lz4"}.get(codec, codec)


def pandas_metadata(
    schema: pa.Schema, lists: Mapping[str, pa.DataType], changed: Mapping[bytes, bytes] | None = None
) -> dict[bytes, bytes]:
    """Return pandas' metadata of a schema in which some columns become lists, or as in other metadata."""
    noted = read_notes(schema.metadata)
    if not noted:
        return {}
    kept = {key: noted[key] for key in _KEPT if key in noted}
    if "index_columns" in kept:  # a dropped index is none
        levels = [each for each in kept["index_columns"] if isinstance(each, dict) or each in schema.names]
        kept["index_columns"] = levels
    named = [(each, each.get("field_name", each.get("name"))) for each in noted.get("columns", ())]
    named = [(each, name) for each, name in named if name is None or name in schema.names]
    if "columns" in kept:
        kept["columns"] = [each for each, _ in named]
    described_as = {each["field_name"]: each for each in read_notes(changed).get("columns", ())}
    for described, name in named:
        described |= described_as.get(name, {})
        kind = lists.get(name)
        if kind is not None:
            items = "unicode" if is_text_type(kind) else str(kind)
            described |= {"pandas_type": f"list[{items}]", "numpy_type": "object", "metadata": None}
        elif str(described.get("pandas_type")).startswith("list"):  # pandas cannot read its own name of lists
            described["numpy_type"] = "object"
    return {b"pandas": json.dumps(kept).encode()}


# --- Targets of streams: files or directories that appear whole or not at all, for one run at a time


def check_target(target: Path | str, *sources: ParquetTree) -> None:
    """Check that a release can be written to a path or URI, which must not exist or be in a source."""
    check_absent(target)
    if isinstance(target, Path) and not target.absolute().parent.is_dir():
        raise ParameterError("the directory of the target does not exist", where="target", got=str(target))
    if any(source.holds(target) for source in sources):
        hint = "the release would become part of the source"
        raise ParameterError("the target is within the source", where="target", got=str(target), hint=hint)


def check_absent(target: Path | str) -> None:
    """Check that a target does not exist, as a directory cannot be replaced in one step."""
    if isinstance(target, Path):
        _check_length(target)
    if is_taken(target):
        hint = "remove it, or pass another target; nothing was read or written"
        raise ParameterError("the target exists", where="target", got=str(target), hint=hint)


def check_mapping_file(path: Path, target: Path | str, tree: ParquetTree) -> Path:
    """Return the path of the mapping if it can be written there: neither in the source nor in the target."""
    _check_length(path)
    problem = hint = None
    if path.suffix.lower() not in (".parquet", ".csv"):
        problem = "must end in .parquet or .csv"
    elif path.is_dir():
        problem = "is a directory"
    elif tree.reads(path):
        problem, hint = "is within the source", "it would become part of the source"
    elif Path(os.path.realpath(target)) in (real := Path(os.path.realpath(path)), *real.parents):
        problem, hint = "is within the target", "it would become part of the release"
    elif not path.absolute().parent.is_dir():
        problem = "is in a directory that does not exist"
    if problem:
        raise ParameterError(f"the mapping {problem}", where="mapping", got=str(path), hint=hint)
    return path


def _check_length(path: Path) -> None:
    """Check that the file system accepts the length of a path."""
    with name_in_errors(path), suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


@contextmanager
def lock_target(target: Path | str) -> Iterator[None]:
    """Keep other runs from writing to a target until the block, or the process, ends."""
    # Object storage has no locks: there, another run is noticed when both have written.
    if isinstance(target, str):
        yield
        return
    # Otherwise a second run could replace the mapping of the first, whose release is at the target.
    lock = target.with_name(f".{uuid5(NAMESPACE_URL, target.name).hex}.lock")
    numbers: list[int] = []
    try:
        with report_write_errors(target), suppress(BlockingIOError):
            if own(lock, numbers):
                _lock(lock, numbers)
        if not numbers:
            what = "another run writes to the target"
            hint = "wait for its end, or pass another target; nothing was read or written"
            raise ParameterError(what, where="target", got=str(target), hint=hint)
        yield
    finally:
        remove_owned(lock, numbers)  # before unlocking, so that no other run can hold the removed file


def _lock(path: Path, numbers: list[int]) -> None:
    """Open and lock the file of a path, and note its number."""
    import fcntl  # not available on all systems

    is_held = False
    while not is_held:  # another run, which held the lock, may have removed the file in the meantime
        numbers.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        try:
            fcntl.flock(numbers[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_held = is_at(path, numbers[0])
        finally:
            if not is_held:
                os.close(numbers.pop())


@contextmanager
def draft_target(target: Path | str, before: Callable[[], object], *, directory: bool) -> Iterator[Path]:
    """Create a temporary file or directory that becomes the target if the block ends without an error."""
    # ``before`` is called when everything is written, before the target gets its name.
    with report_write_errors(target):
        draft = Draft(target, directory=directory)
        try:
            yield draft.path
            if is_taken(target):
                what = "the target was created by another process"
                raise ParameterError(what, where="target", got=str(target))
            for each in (path for path in (draft.path, *draft.path.rglob("*")) if path.is_dir()):
                _sync(each)
            before()
            draft.publish()
        finally:
            draft.remove()
    if isinstance(target, Path):
        _sync(target.absolute().parent)  # the new name is then on the disk, too


@contextmanager
def shared_target(target: Path | str) -> Iterator[Path | str]:
    """Create a directory for the files of other processes, which become the target if the block succeeds."""
    # Only this run knows its name: processes that outlive an earlier run cannot write to it, and no process
    # can when the block has ended. A URI is marked as incomplete instead.
    if isinstance(target, str):
        with directory_of_others(target):
            yield target
        return
    with draft_target(target, lambda: None, directory=True) as draft:
        shared = draft / uuid4().hex
        shared.mkdir()
        try:
            yield shared
            for path in shared.glob("[!.]*"):
                path.rename(draft / path.name)
        finally:
            shutil.rmtree(shared.rename(draft / f".{shared.name}"))


def write_mapping(write: Callable[[Path], object], path: Path | None) -> None:
    """Write the mapping by a function, if a path is given, and flush its name to the disk."""
    if path is None:
        return
    with report_write_errors(path, "mapping"):
        write(path)
        _sync(Path(os.path.realpath(path)).parent)


@contextmanager
def report_write_errors(path: Path | str, what: str = "release") -> Iterator[None]:
    """Raise errors of the system, from writing, as those of a release: reading raises others."""
    try:
        yield
    except OSError as error:
        got = cause_of(error)
        hint = f"{remedy_of(got) or 'check its directory'}; nothing is left of the release"
        problem = f"the {what} cannot be written"
        raise FormatError(problem, where=str(path), got=got, hint=hint) from error


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
