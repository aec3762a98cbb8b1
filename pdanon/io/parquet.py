"""Files: Parquet and CSV with a list column, read faithfully and written whole or not at all.

Parquet written by pandas with an Arrow list column of its own dtype cannot be read back by pandas' defaults,
and read with its Arrow backend it loses the other columns' dtypes. The pair here writes files that every
reader of pandas accepts, and reads lists as lists and everything else as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pdanon.errors import ColumnError, FormatError, did_you_mean, readable
from pdanon.io.files import check_name, replacing
from pdanon.io.listing import check_current, resolve
from pdanon.io.rowgroups import open_parquet, read_row_group, shown_path
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import ListDtype, is_list_type
from pdanon.itemsets.values import check_frame, check_path, check_text, is_uri, listed

__all__ = ["list_dtype", "read_parquet", "readable", "to_parquet"]

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
    wanted = None if columns is None else [check_text(name, "columns") for name in listed(columns, "columns")]

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

    return readable(read, where, "Parquet")


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
