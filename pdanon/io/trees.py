"""Trees of Parquet files: one file, a directory with subdirectories, or what a pattern names.

Files are read row group by row group. What goes wrong is told with the file and the row group, and without
what is in them.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pdanon.errors import ColumnError, FormatError, ItemsetDtypeError, read_safely
from pdanon.io.parquet import (
    Listing,
    check_current,
    entry_of,
    is_local,
    leaves_by_column,
    list_dtype,
    open_parquet,
    read_row_group,
    resolve,
    shown_path,
    split_pattern,
)
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.dtype import is_list_type, is_text_type
from pdanon.itemsets.lists import item_type

__all__ = ["ArrowReader", "ParquetTree", "TreeFile", "open_writer"]

ArrowReader: TypeAlias = Callable[[pa.ChunkedArray], Itemsets]  # encodes a list column

_KEPT = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")  # and no attributes

_LISTS_HINT = (
    "lines become lists before, as by 'SELECT person, list(DISTINCT item) ... GROUP BY person', or by "
    "pdanon.from_long, if they fit into memory"
)


@dataclass(frozen=True, eq=False, slots=True)
class ParquetTree:
    """Parquet files of one schema.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where they are.
    root : str
        The directory that their names are relative to.
    names : list of str
        Their names, in order.
    pattern : str or None
        The path that was asked for, if it is not the root: of one file, or with wildcards.
    directories : frozenset of str
        The real paths of the local directories in which another file would be one of them.
    """

    filesystem: fs.FileSystem
    root: str
    names: list[str]
    pattern: str | None = None
    directories: frozenset[str] = frozenset()

    @classmethod
    def find(cls, source: str | os.PathLike[str]) -> ParquetTree:
        """Find the files of a path, of a URI that `pyarrow.fs` opens, or of one with wildcards.

        Raises
        ------
        FormatError
            If there are none, the URI cannot be opened, a file is reached in two ways, or something else
            than Parquet files would be left out.
        ParameterError
            If the path is empty.
        """
        filesystem, path = resolve(source)
        kind = read_safely(lambda: entry_of(filesystem, path).kind, source, "Parquet")
        if kind == fs.FileType.File:
            check_current(filesystem, path)
            root, _, name = path.rpartition("/")
            return cls(filesystem, root, [name], path)
        if kind == fs.FileType.Unknown:
            raise FormatError("there is neither a file nor a directory", where=str(source))
        pattern = path if kind == fs.FileType.NotFound else None
        root, patterns = (path, ()) if pattern is None else split_pattern(path)
        listing = Listing(filesystem, root, patterns)
        return cls(filesystem, root, listing.names, pattern, frozenset(listing.directories))

    @property
    def is_file(self) -> bool:
        """Whether it is one file that was named as such."""
        return self.pattern is not None and self.pattern == self.path(self.names[0])

    def path(self, name: str) -> str:
        """The path of a file."""
        return f"{self.root}/{name}"

    def shown(self, name: str) -> str:
        """The path of a file, as messages show it."""
        return shown_path(self.path(name), self.filesystem)

    def holds(self, target: Path) -> bool:
        """Tell whether a release that is written to a path would be part of the tree."""
        # A pattern names files of one depth, and those of a release below the same directory are deeper.
        above = map(str, Path(os.path.realpath(target)).parents)
        return self.pattern is None and not self.directories.isdisjoint(above)

    def reads(self, path: Path) -> bool:
        """Tell whether a single file of this path is part of the tree, or would be if it were written."""
        if not is_local(self.filesystem):
            return False
        real = os.path.realpath(path)
        directory, name = os.path.split(real)
        named = self.pattern is not None and fnmatchcase(name, self.pattern.rpartition("/")[2])
        known = {os.path.realpath(self.path(each)) for each in self.names}
        return (named and directory in self.directories) or real in known or self.holds(path)

    def stamps(self) -> list[object]:
        """When each file was changed, and its size; equal as long as the files are what they were."""
        paths = [self.path(name) for name in self.names]
        root = shown_path(self.root, self.filesystem)
        infos = read_safely(lambda: self.filesystem.get_file_info(paths), root, "Parquet")
        return [(info.type, info.size, info.mtime_ns) for info in infos]

    def rows(self) -> int:
        """How many rows all files have together, as their footers say."""
        counts = []
        for name in self.names:
            with open_parquet(self.path(name), self.filesystem) as file:
                counts.append(file.metadata.num_rows)
        return sum(counts)

    def schema(self) -> pa.Schema:
        """The schema that all files have, but for metadata.

        Raises
        ------
        FormatError
            If a file has another; the message says how it differs from the first one's.
        """
        first: pa.Schema | None = None
        for name in self.names:
            with open_parquet(self.path(name), self.filesystem) as file:  # as it is, without codes
                schema = file.schema_arrow.remove_metadata()
            first = schema if first is None else first
            if difference := _difference(first, schema):
                raise FormatError(
                    "the files have different columns",
                    where=self.shown(name),
                    got=difference,
                    hint=f"compared with {self.shown(self.names[0])}",
                )
        assert first is not None
        return first

    def find_columns(self, column: str | None, private: str | None = None) -> tuple[int, ...]:
        """The position of the list column, which all files have, and of a private column if one is named."""
        schema, options = self.schema(), {"types_mapper": list_dtype, "ignore_metadata": True}
        path = self.shown(self.names[0])
        if not any(is_list_type(kind) for kind in schema.types):
            raise ColumnError(
                "the files have no column of lists", where=path, got=schema.names, hint=_LISTS_HINT
            )
        empty = read_safely(lambda: schema.empty_table().to_pandas(**options), path, "Parquet")
        return find_columns(empty, column, private)

    def item_type(self, position: int) -> pa.DataType:
        """The type that the items of a list column have when they are encoded."""
        return Itemsets.from_arrow(self.schema().empty_table().column(position)).vocabulary.type

    @contextmanager
    def open(self, name: str, labels: Collection[str] = ()) -> Iterator[TreeFile]:
        """Open a file, to read text in some list columns as codes into a dictionary."""
        path, shown = self.path(name), self.shown(name)
        with open_parquet(path, self.filesystem) as plain:
            read_safely(
                lambda: _pandas_metadata(plain.schema_arrow, {}), shown, "Parquet"
            )  # to be written again
            texts = _texts_in_lists(plain, labels)
            with open_parquet(path, self.filesystem, texts) if texts else nullcontext() as coded:
                yield TreeFile(shown, plain, coded)

    def columns(self, labels: list[str], read: ArrowReader = Itemsets.from_arrow) -> Iterator[list[Itemsets]]:
        """Some list columns, row group by row group."""
        for name in self.names:
            with self.open(name, labels) as file:
                for number in range(file.plain.num_row_groups):
                    table = file.read(number, labels)
                    yield [file.itemsets(table, label, number, read) for label in labels]


@dataclass(eq=False, slots=True)
class TreeFile:
    """A file of a tree that is open.

    Parameters
    ----------
    path : str
        Its path, as messages show it.
    plain : pyarrow.parquet.ParquetFile
        The file as it is.
    coded : pyarrow.parquet.ParquetFile or None
        The same file, whose text in some lists is read as codes. None if there is none, or Arrow cannot: some
        encodings are read as text alone.
    """

    path: str
    plain: pq.ParquetFile
    coded: pq.ParquetFile | None

    def read(self, number: int, columns: list[str] | None = None) -> pa.Table:
        """Read a row group."""
        if self.coded is not None:
            try:
                return read_row_group(self.coded, number, self.path, columns)
            except FormatError:
                pass  # either the file is damaged, or an encoding has no codes: Arrow says the same of both
        table = read_row_group(self.plain, number, self.path, columns)
        self.coded = None
        return table

    def itemsets(
        self, table: pa.Table, label: str, number: int, read: ArrowReader = Itemsets.from_arrow
    ) -> Itemsets:
        """Encode a list column of a row group, with items of the type that the file has."""
        try:
            found = read(table.column(label))
            kind = item_type(self.plain.schema_arrow.field(label).type.value_type)
            return replace(found, vocabulary=found.vocabulary.cast(kind))  # Arrow has no codes of large text
        except ItemsetDtypeError as error:
            problem = str(error)
        raise ItemsetDtypeError(f"{problem}\n  in:    {self.path}, row group {number}")


@contextmanager
def open_writer(
    path: Path, file: pq.ParquetFile, lists: Mapping[int, pa.DataType]
) -> Iterator[pq.ParquetWriter]:
    """Write a file like another one, but for some columns, which become lists.

    Parameters
    ----------
    path : path
        The new file. When the block ends it is safe on the disk.
    file : pyarrow.parquet.ParquetFile
        The other.
    lists : mapping of int to pyarrow.DataType
        Which columns differ, by position, and the type of their items. Text is written as codes into a
        dictionary, and read as text.

    Notes
    -----
    Of the metadata only the names and types that pandas notes of the columns are kept.
    """
    schema = file.schema_arrow
    fields = [field.remove_metadata() for field in schema]
    metadata = _pandas_metadata(schema, {schema.names[position]: kind for position, kind in lists.items()})
    for position, kind in lists.items():
        fields[position] = fields[position].with_type(pa.list_(kind))
    published = pa.schema(fields, metadata)
    for position, kind in lists.items():
        coded = pa.dictionary(pa.int32(), kind) if is_text_type(kind) else kind
        fields[position] = fields[position].with_type(pa.list_(coded))
    described = base64.b64encode(published.serialize().to_pybytes())
    # Arrow notes the types of the columns in the file: here those that they are to be read with.
    options: dict[str, Any] = {"compression": _compression(file, min(lists)), "store_schema": False}
    options["write_page_checksum"] = True
    options["write_batch_size"] = 2**16  # Arrow looks through the dictionary once a batch, for statistics
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, pa.schema(fields, metadata), **options) as writer:
        writer.add_key_value_metadata({**metadata, b"ARROW:schema": described})
        yield writer
    with path.open("rb+") as written:
        os.fsync(written.fileno())


def _difference(first: pa.Schema, second: pa.Schema) -> str:
    """How the columns of one file differ from those of another; nothing if they do not."""
    lacks, more = (sorted(set(a.names) - set(b.names)) for a, b in ((first, second), (second, first)))
    if lacks or more:
        return " and ".join([f"no columns {lacks}"] * bool(lacks) + [f"columns {more}"] * bool(more))
    if first.names != second.names:
        return f"columns in the order {second.names} instead of {first.names}"
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if _read_as(a.type) != _read_as(b.type)]
    return ", ".join(f"column {b.name!r} of type {b.type} instead of {a.type}" for a, b in pairs)


def _read_as(kind: pa.DataType) -> pa.DataType:
    """The type of a column, of which lists of codes are lists of text: they are read alike."""
    if not pa.types.is_list(kind) or not pa.types.is_dictionary(kind.value_type):
        return kind
    return pa.list_(kind.value_field.with_type(kind.value_type.value_type))


def _texts_in_lists(file: pq.ParquetFile, labels: Collection[str]) -> list[int]:
    """The leaves that are text of some list columns."""
    pairs = zip(file.schema_arrow, leaves_by_column(file.schema_arrow), strict=True)
    leaves = [
        leaf for field, own in pairs if field.name in labels and is_list_type(field.type) for leaf in own
    ]
    return [leaf for leaf in leaves if file.schema.column(leaf).physical_type == "BYTE_ARRAY"]


def _compression(file: pq.ParquetFile, position: int) -> str:
    """That of a column that has been read: of one that was not, and is damaged, Arrow may abort."""
    if not file.num_row_groups:
        return "snappy"
    leaf = leaves_by_column(file.schema_arrow)[position].start
    name = str(file.metadata.row_group(0).column(leaf).compression).lower()
    return {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name)


def _pandas_metadata(schema: pa.Schema, lists: Mapping[str, pa.DataType]) -> dict[bytes, bytes]:
    noted = json.loads((schema.metadata or {}).get(b"pandas", b"null"))
    if noted is None:
        return {}
    kept = {key: noted[key] for key in _KEPT if key in noted}
    for described in kept.get("columns", ()):
        kind = lists.get(described.get("field_name", described.get("name")))
        if kind is not None:
            items = "unicode" if is_text_type(kind) else str(kind)
            described |= {"pandas_type": f"list[{items}]", "numpy_type": "object", "metadata": None}
        elif str(described.get("pandas_type")).startswith("list"):  # pandas may have noted its own name
            described["numpy_type"] = "object"
    return {b"pandas": json.dumps(kept).encode()}
