"""Matching: items of one type among those of another, and the text that an item is published as."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.lists import item_type, plain
from pdanon.itemsets.versions import as_pandas_writes

__all__ = ["item_texts", "places"]

# A fraction that ends with zeros, of a number or of a second, and the mark of UTC.
_ZEROS = r"(?:\.0+|(\.[0-9]*[1-9])0+)(Z?)$"


def item_texts(items: pa.Array) -> pa.Array:
    """Return the text that each item is published as.

    Parameters
    ----------
    items : pyarrow.Array
        Items of any type; null where one is missing.

    Returns
    -------
    pyarrow.LargeStringArray

    Notes
    -----
    Equal values have one text, whatever unit, scale or time zone their type has: fractions end without zeros,
    an instant is written in UTC, and a duration as pandas writes it.
    """
    kind = items.type
    if pa.types.is_duration(kind):
        return as_pandas_writes(items)
    if pa.types.is_decimal(kind):
        return _trimmed(_plain_texts(items.to_pylist()))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        items = items.cast(pa.timestamp(kind.unit, "UTC"))
    texts = items.cast(pa.large_string())
    return _trimmed(texts) if pa.types.is_timestamp(kind) or pa.types.is_time(kind) else texts


def places(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    """Find items among others; every parameter that names items is read by this function.

    Parameters
    ----------
    wanted : pyarrow.Array
        Items of any type; missing ones are not found.
    among : pyarrow.Array
        Items of any type.

    Returns
    -------
    ndarray of int32
        The first place of each item, -1 for one that is not there.

    Notes
    -----
    Numbers of different types are the same if their values are, and so are times, instants in any time zone
    and durations; a date is its midnight. A text is the same as an item that is published so, or that Arrow
    or pandas write so. All else is different: a truth value is no number, and a time with a zone is none
    without.
    """
    wanted, among = (plain(items, item_type(items.type)) for items in (wanted, among))
    if wanted.type == among.type:
        return _found(wanted, among)
    kinds = {_kind(wanted.type), _kind(among.type)}
    if "text" in kinds:
        return _by_text(wanted, among)
    if kinds == {"number"}:
        place: dict[object, int] = {}
        for number, value in enumerate(among.to_pylist()):
            place.setdefault(value, number)
        return np.fromiter(map(place.get, wanted.to_pylist(), repeat(-1)), np.int32, len(wanted))
    if len(kinds) == 1:
        return _found(_exactly(wanted, among.type), among)
    return np.full(len(wanted), -1, np.int32)


def _kind(kind: pa.DataType) -> str:
    """What values of a type are: only within a kind may two be the same."""
    types = pa.types
    if is_text_type(kind):
        return "text"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_timestamp(kind) and kind.tz is not None:
        return "instant"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    return "clock" if types.is_time(kind) else str(kind.id)


def _found(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = pc.index_in(wanted, value_set=among, skip_nulls=True).fill_null(-1)
    return np.array(found.to_numpy(zero_copy_only=False), np.int32)


def _exactly(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Items as of another type, missing where that changes them."""
    there = items.cast(kind, safe=False)
    return pc.if_else(pc.equal(there.cast(items.type, safe=False), items), there, None)


def _by_text(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = np.full(len(wanted), -1, np.int32)
    for texts in _texts(wanted):
        for others in _texts(among):
            found = np.where(found < 0, _found(texts, others), found)
            if (found >= 0).all():
                return found
    return found


def _texts(items: pa.Array) -> Iterator[pa.Array]:
    """Write items as they are published, as an equal one of another type is, and as Arrow and pandas do."""
    kind = _kind(items.type)
    yield item_texts(items)
    if kind == "text":
        return
    if kind == "number":
        yield from _number_texts(items.to_pylist())
    if kind == "date":
        yield from (item_texts(_exactly(items, other)) for other in (pa.date32(), pa.timestamp("s")))
    if not pa.types.is_duration(items.type):  # of which Arrow writes only how many of its unit they are
        yield items.cast(pa.large_string())
    if kind == "instant":
        yield items.cast(pa.timestamp(items.type.unit, "UTC")).cast(pa.large_string())
    if not pa.types.is_integer(items.type):
        yield as_pandas_writes(items)


def _number_texts(values: list[Any]) -> Iterator[pa.Array]:
    """Write numbers as decimals, and as floats of each width where one is equal."""
    yield _trimmed(_plain_texts(values))
    for width, kind in ((np.float64, pa.float64()), (np.float32, pa.float32())):
        with np.errstate(over="ignore"):
            floats = [None if value is None else float(width(value)) for value in values]
        same = [one if one == value else None for one, value in zip(floats, values, strict=True)]
        yield pa.array(same, kind).cast(pa.large_string())


def _plain_texts(values: list[Any]) -> pa.Array:
    """Write numbers with all of their digits, and without an exponent."""
    return pa.array(
        [None if value is None else format(Decimal(value), "f") for value in values], pa.large_string()
    )


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, _ZEROS, r"\1\2")
