"""Row groups of Parquet files: what is read is checked, and compared with the footer, before it is used.

Arrow reads what a damaged file seems to say: codes that are not in their dictionary, text that is not UTF-8,
fewer rows than there are. Whoever uses such a table crashes, or goes on with other rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from pdanon.errors import FormatError, check_names, readable
from pdanon.itemsets.dtype import is_list_type

__all__ = ["leaves_by_column", "open_parquet", "read_row_group", "shown_path"]


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

    return readable(opened, where, "Parquet")


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

    return readable(read, path, "Parquet", part)


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
    >>> from pdanon.io.rowgroups import leaves_by_column
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
