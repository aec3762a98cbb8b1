"""Types of columns of text files: text, unless a type is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ColumnError, FormatError, ParameterError, did_you_mean
from pdanon.io.parquet import to_frame
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.validation import check_known

TYPES = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
}
_EXAMPLES = {
    "integer": "digits, such as 42, up to 64 bits",
    "number": "digits and a point, such as 1.5; integers beyond 15 digits are of type integer",
    "date": "the form 2020-12-31",
    "timestamp": "the form 2020-12-31 23:59:59, without a time zone",
    "boolean": "true, false, 1 or 0",
}
_NOUNS = {"integer": "whole numbers", "number": "numbers", "date": "dates", "timestamp": "timestamps"}
_CODE = r"^0[0-9]+$"
_LONG = r"^[+-]?[0-9]{16,}$"  # integers that floats would merge


def check_types(types: Mapping[str, str] | None, where: str) -> dict[str, str]:
    """Check the requested types of columns."""
    if types is not None and not isinstance(types, Mapping):
        hint = "pass types by column: {'age': 'integer'}"
        raise ParameterError("types must be a dict", where=where, got=type(types).__name__, hint=hint)
    for kind in (types or {}).values():
        check_known(kind, TYPES, "type of a column", where=where)
    return dict(types or {})


def check_typed(types: Mapping[str, str], names: list[str], path: Path) -> None:
    """Check that all columns with a requested type exist."""
    for name in (name for name in types if name not in names):
        raise ColumnError(f"column {name!r} does not exist", where=str(path), hint=did_you_mean(name, names))


def cast_columns(
    table: pa.Table, types: Mapping[str, str], path: Path, line_of: Callable[[int], int]
) -> pa.Table:
    """Convert columns of text to their types, as far as the table has them. Empty text becomes missing.

    ``line_of`` returns the number of the line of a row, for the error about a value of another type.
    """
    for name in (name for name in types if name in table.column_names):
        column, kind = table.column(name), types[name]
        values = _cast(column, kind)
        if values is None:
            raise FormatError(
                f"a value of column {name!r} has another type than requested",
                where=f"{path}, line {line_of(_first_failure(column, kind)):,}",
                got=f"type {kind}",
                hint=f"write {_EXAMPLES[kind]}",
            )
        place = table.column_names.index(name)
        table = table.set_column(place, name, values)
    return table


def cast_schema(schema: pa.Schema, types: Mapping[str, str]) -> pa.Schema:
    """Return the schema of `cast_columns`."""
    return pa.schema([field.with_type(TYPES.get(types.get(field.name, ""), field.type)) for field in schema])


def describe_texts(
    frame: pd.DataFrame, labels: list[str], spelling: str, *, only_times: bool = False
) -> list[str]:
    """Return a note for each column that would be generalized otherwise if its texts had their type.

    ``spelling`` shows how a type is requested, with ``{}`` for the column and its type. Only times matter in
    kept columns of persons with several rows: these are generalized by the calendar.
    """
    purpose = "for its calendar" if only_times else "for ranges"
    notes = []
    for label in labels:
        column = frame[label] if label in frame.columns else None
        if isinstance(column, pd.Series) and pd.api.types.is_string_dtype(column.dtype):
            kind = _type_of(column)
            if kind is not None and not (only_times and kind in ("integer", "number")):
                request = spelling.format(label, kind)
                notes.append(f"{label} holds {_NOUNS[kind]} as text: pass {request} {purpose}")
    return notes


def typed_columns(column: pd.Series[Any]) -> Iterator[pd.Series[Any]]:
    """Yield a column of text in each type that all its values have."""
    if pd.api.types.is_string_dtype(column.dtype):
        texts = pa.chunked_array([pa.array(column, pa.string())])
        for values in filter(None, (_cast(texts, kind) for kind in TYPES)):
            name = str(column.name)
            yield to_frame(pa.table({name: values}))[name].set_axis(column.index)


def _type_of(column: pd.Series[Any]) -> str | None:
    """Return the type that all values of a column of text have; None for codes such as 007."""
    texts = pa.chunked_array([pa.array(column.dropna(), pa.string())])
    if pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
        return None
    fitting = (kind for kind in _NOUNS if (values := _cast(texts, kind)) is not None and _has_values(values))
    return next(fitting, None)


def _has_values(values: pa.ChunkedArray) -> bool:
    return values.null_count < len(values)


def _cast(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray | None:
    """Convert values to a type; return None if one is not of it."""
    if is_text_type(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if kind == "number" and pc.any(pc.match_substring_regex(column, _LONG)).as_py():
            return None
    try:
        return column.cast(TYPES[kind])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _first_failure(column: pa.ChunkedArray, kind: str) -> int:
    """Return the position of the first value that is not of a type, by bisection."""
    good, bad = 0, len(column)  # all values before good are of the type, those before bad are not
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (
            (good, middle) if _cast(column.slice(good, middle - good), kind) is None else (middle, bad)
        )
    return good
