"""Reader of JSON lines: text stays text, and integers stay integers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pdanon.errors import FormatError
from pdanon.io.column_types import cast_columns, check_typed

_KINDS = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}
_PLAIN = {str: pa.string(), float: pa.float64(), bool: pa.bool_()}
_HINT = "write one object per line, {...}, and one type per field"
_EXACT = 2**53  # floats hold all integers up to here


def read_json_lines(path: Path, types: Mapping[str, str]) -> pa.Table:
    """Read a file with one object per line, with the requested types of columns. Empty lines are ignored.

    An error about a value names its line: a field may not have two types. An integer may not exceed 64 bits,
    nor be too large for a float beside fractions.
    """
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    with path.open(encoding="utf-8-sig") as file:
        for line, text in enumerate(file, start=1):
            if text.strip():
                rows.append(_parse(text, path, line))
                lines.append(line)
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    columns = [_encode([row.get(name) for row in rows], lines, name, path) for name in names]
    table = pa.table(columns, names=names)
    check_typed(types, names, path)
    return cast_columns(table, types, path, lines.__getitem__)


def _parse(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        row = _DECODER.decode(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):  # raised outside the handler: the error of the parser may show the line
        got = "a line that is no object, or names a field twice"
        raise FormatError(
            "the file cannot be read as JSON lines", where=f"{path}, line {line:,}", got=got, hint=_HINT
        )
    return row


def _refuse(name: str) -> None:
    raise ValueError(name)


def _unite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unite)


def _encode(values: Sequence[Any], lines: Sequence[int], name: str, path: Path) -> pa.Array:
    """Return the values of a field, which have one type, as an array."""
    kinds = {*map(type, values)} - {type(None)}
    if kinds == {int, float}:
        return pa.array(_floats(values, lines, name, path), pa.float64())
    kind = min(kinds, key=str, default=None)
    if len(kinds) > 1:
        first = next(type(value) for value in values if value is not None)
        place = next(place for place, value in enumerate(values) if type(value) not in (first, type(None)))
        got = f"{_KINDS[type(values[place])]} after {_KINDS[first]}"
        raise _error("a field has two types", name, path, lines[place], got)
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    if kind is list:
        lengths = [len(value or ()) for value in values]
        flat = list(chain.from_iterable(value or () for value in values))
        inner = _encode(flat, np.repeat(lines, lengths).tolist(), name, path)
        offsets = pa.array([*accumulate(lengths, initial=0)], pa.int64())
        lists = pa.LargeListArray.from_arrays(offsets, inner, mask=pa.array(missing))
        return lists.cast(pa.list_(inner.type)) if len(flat) < 2**31 else lists
    if kind is dict:
        fields = list(dict.fromkeys(chain.from_iterable(value or () for value in values)))
        if not fields:
            return pa.array(values, pa.struct([]))
        parts = [[None if value is None else value.get(field) for value in values] for field in fields]
        arrays = [_encode(part, lines, name, path) for part in parts]  # a key within may be a value
        return pa.StructArray.from_arrays(arrays, fields, mask=pa.array(missing))
    if kind is int:
        return _integers(values, lines, name, path)
    return pa.array(values, pa.null() if kind is None else _PLAIN[kind])


def _integers(values: Sequence[int | None], lines: Sequence[int], name: str, path: Path) -> pa.Array:
    present = [value for value in values if value is not None]
    low, high = (min(present), max(present))
    if low >= -(2**63) and high < 2**63:
        return pa.array(values, pa.int64())
    if low >= 0 and high < 2**64:
        return pa.array(values, pa.uint64())
    limit = 2**63 if low < 0 else 2**64
    place = next(i for i, each in enumerate(values) if each is not None and not -(2**63) <= each < limit)
    raise _error("an integer has more than 64 bits", name, path, lines[place], "an integer")


def _floats(
    values: Sequence[float | None], lines: Sequence[int], name: str, path: Path
) -> Sequence[float | None]:
    """Return numbers as floats, also those that are written as integers."""
    for place, value in enumerate(values):
        if type(value) is int and abs(value) > _EXACT:
            raise _error(
                "a float cannot hold an integer beside fractions", name, path, lines[place], "an integer"
            )
    return [None if value is None else float(value) for value in values]


def _error(what: str, name: str, path: Path, line: int, got: str) -> FormatError:
    hint = f"{_HINT}; write identifiers as text"
    return FormatError(what, where=f"{path}, line {line:,}, column {name!r}", got=got, hint=hint)
