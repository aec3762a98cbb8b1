"""Values and items of tables that are read in parts, numbered by first appearance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.errors import ItemsetDtypeError
from pdanon.io.parquet import to_frame
from pdanon.io.trees import pandas_metadata
from pdanon.itemsets.codes import Codes, Itemsets, canonical_rows, find_items
from pdanon.itemsets.dtype import type_name
from pdanon.itemsets.encoded_columns import number_items
from pdanon.itemsets.lists import QUASI_HINT, item_type, offsets_of, plain, to_numpy

LISTS = "items"  # the column of lists in rows as numbers; others are numbered


class ColumnValues:
    """The distinct values of a column, and its categories if it has some."""

    def __init__(self, field: pa.Field) -> None:
        self._field = field
        self._values = pa.array([], self._comparable(field.type))
        self._categories = self._values if pa.types.is_dictionary(field.type) else None
        self._missing = False

    @property
    def n_values(self) -> int:
        """Number of distinct values, without the missing one."""
        return len(self._values)

    def add(self, column: pa.ChunkedArray) -> Codes:
        """Add the values of a part, and return the number of each; -1 for a missing one."""
        column = _one_array(pa.chunked_array(column.chunks, column.type))
        if self._categories is not None:
            self._categories, _ = number_items(plain(column.dictionary, self._values.type), self._categories)
        column = plain(column, self._values.type)
        missing = pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
        coded = column.filter(pa.array(~missing)).dictionary_encode()
        self._values, numbers = number_items(coded.dictionary, self._values)
        self._missing |= bool(missing.any())
        codes = np.full(len(column), -1, np.int32)
        codes[~missing] = numbers[coded.indices.to_numpy()]
        return codes

    def _comparable(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that stores values of a type, as `Itemsets` does in memory."""
        try:
            return item_type(kind)
        except ItemsetDtypeError:
            pass  # raised outside the handler: that error is about items
        raise ItemsetDtypeError(
            "the values of a quasi-identifier cannot be compared",
            where=f"column {self._field.name!r}",
            got=f"type {type_name(self._field.type)}",
            hint=QUASI_HINT,
        )

    def merge(self, other: ColumnValues, where: str) -> None:
        """Add the values of the same column of a part."""
        self._missing |= other._missing
        if not len(other._values) and other._categories is None:  # any type
            return
        if not len(self._values) and self._categories is None:
            self._field, self._values = other._field, other._values.slice(0, 0)
            self._categories = None if other._categories is None else other._categories.slice(0, 0)
        kinds = [each.type for each in (self._values, other._values)]
        if kinds[0] != kinds[1] or (self._categories is None) != (other._categories is None):
            raise ItemsetDtypeError(
                "the values of a partition have another type than those before",
                where=f"{where}, column {self._field.name!r}",
                got=f"{other._field.type} instead of {self._field.type}",
                hint="convert the column first, such as ddf.astype(...)",
            )
        self._values, _ = number_items(other._values, self._values)
        if other._categories is not None:
            self._categories, _ = number_items(other._categories, self._categories)

    def find(self, other: ColumnValues) -> Codes:
        """Return the number of each value of a part of the table."""
        if not len(other._values):  # any type
            return np.empty(0, np.int32)
        return number_items(other._values, self._values)[1]

    def to_arrow(self, size: int) -> pa.Array:
        """Return all values, a missing one last if there is one, and then copies of the last."""
        n = len(self._values) + self._missing
        places = np.minimum(np.arange(size), max(n - 1, 0))
        taken = pa.array(places, mask=places >= len(self._values))
        if self._categories is None:
            return self._values.take(taken)
        codes = pc.index_in(self._values, value_set=self._categories).take(taken)
        return pa.DictionaryArray.from_arrays(codes, self._categories, ordered=self._field.type.ordered)

    def __len__(self) -> int:
        return len(self._values) + self._missing


def value_frame(columns: Sequence[ColumnValues], schema: pa.Schema) -> pd.DataFrame:
    """Return a frame in which the first rows of each column are its values, as pandas reads them."""
    size = max(map(len, columns), default=0)
    arrays = [each.to_arrow(size) for each in columns]
    fields = [field.with_type(each.type) for field, each in zip(schema, arrays, strict=True)]
    noted = pa.schema(fields, pandas_metadata(schema, {}))
    table = pa.table(arrays, schema=noted)
    try:
        frame = to_frame(table)
    except (NotImplementedError, TypeError):  # pandas notes dtypes that it cannot read
        frame = to_frame(table, ignore_metadata=True)
    return frame.reset_index(drop=True)


class TableValues:
    """The distinct values and items of a table that is read in parts.

    The schema is that of the quasi-identifiers, with the metadata of the table. The labels are theirs.
    ``label`` is that of the list column, if there is one.
    """

    def __init__(self, schema: pa.Schema, labels: Sequence[Hashable], label: Hashable | None) -> None:
        self.label = label
        self._labels, self._schema = list(labels), schema
        self._columns = [ColumnValues(field) for field in schema]
        self._items: pa.Array | None = None

    def add(self, quasi: Sequence[pa.ChunkedArray], itemsets: Itemsets | None) -> pa.Table:
        """Add the quasi-identifiers and the list column of a part, and return its rows as numbers."""
        codes = [each.add(column) for each, column in zip(self._columns, quasi, strict=True)]
        columns = {str(place): pa.array(own) for place, own in enumerate(codes)}
        if itemsets is not None:
            self._items, numbers = number_items(itemsets.vocabulary, self._items)
            columns[LISTS] = code_lists(numbers[itemsets.codes], itemsets.offsets, itemsets.nulls)
        return pa.table(columns)

    @classmethod
    def join(cls, parts: Sequence[tuple[TableValues, str]]) -> TableValues:
        """Return the values and items of several parts, each with its name for errors, in order."""
        first, _ = parts[0]
        joint = cls(first._schema, first._labels, first.label)
        for part, where in parts:
            for own, column in zip(joint._columns, part._columns, strict=True):
                own.merge(column, where)
            if part._items is not None:
                joint._items, _ = number_items(part._items, joint._items)
        return joint

    def frame(self) -> pd.DataFrame:
        """Return a frame with all values and items: those of each column in its first rows."""
        frame = value_frame(self._columns, self._schema)
        frame.columns = pd.Index(self._labels)
        if self.label is not None:
            items = pa.array([], pa.string()) if self._items is None else self._items
            offsets = np.minimum(np.arange(len(frame) + 1), 1) * len(items)
            lists = pa.ListArray.from_arrays(offsets.astype(np.int32), items)
            frame[self.label] = pd.arrays.ArrowExtensionArray(lists)
        return frame

    def places(self, own: TableValues) -> list[Codes]:
        """Return the row of `frame` with each value of a part of the table, a missing one last."""
        return [
            np.append(column.find(part), column.n_values).astype(np.int64)
            for column, part in zip(self._columns, own._columns, strict=True)
        ]

    def find_items(self, vocabulary: pa.Array) -> Codes | None:
        """Return the code of each item in a vocabulary."""
        return None if self._items is None else find_items(self._items, vocabulary)


@dataclass(frozen=True, eq=False, slots=True)
class Encoder:
    """Encodes rows of numbers by the codes of a whole table."""

    values: TableValues
    table: QuasiTable  # quasi-identifiers of the frame of all values
    vocabulary: pa.Array | None  # items by code, if there is a list column

    @property
    def sizes(self) -> list[int]:
        """Number of values of each column."""
        return [each.n_values for each in self.table.attributes]

    def encode(self, rows: pa.Table, own: TableValues) -> tuple[Codes, Itemsets | None]:
        """Return the codes of values and items, given the values and items that the rows number."""
        columns = []
        for place, rows_of in enumerate(self.values.places(own)):
            columns.append(self.table.codes[rows_of[to_numpy(rows[str(place)])], place])
        codes = np.column_stack(columns) if columns else np.empty((len(rows), 0), np.int32)
        itemsets = None
        if self.vocabulary is not None:
            itemsets = read_lists(rows, self.vocabulary, own.find_items(self.vocabulary))
        return codes.astype(np.int32), itemsets


def code_lists(codes: Codes, offsets: Any, nulls: Any) -> pa.Array:
    """Return lists of codes as Arrow."""
    mask = pa.array(nulls) if nulls.any() else None
    return pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(codes.astype(np.int32)), mask=mask)


def read_lists(rows: pa.Table, vocabulary: pa.Array, numbers: Codes | None) -> Itemsets:
    """Return the lists of rows, with the code of each number if they are not codes yet."""
    lists = _one_array(rows[LISTS])
    nulls = lists.is_null().to_numpy(zero_copy_only=False)
    codes = to_numpy(lists.flatten()).astype(np.int32)
    offsets = offsets_of(to_numpy(pc.fill_null(pc.list_value_length(lists), 0)))
    if numbers is not None:
        codes, offsets = canonical_rows(numbers[codes], offsets, len(vocabulary))
    return Itemsets(codes, offsets, vocabulary, nulls)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
