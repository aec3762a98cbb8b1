"""Matching: items of one type among those of another, where they are the same and not only alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.versions import as_pandas_writes

__all__ = ["places"]


def places(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    """Where items are among others.

    Parameters
    ----------
    wanted : pyarrow.Array
        Items of any type.
    among : pyarrow.Array
        Items of any type, none of them missing.

    Returns
    -------
    ndarray of int32
        The first place of each item, -1 for one that is not there.

    Notes
    -----
    Of different types, numbers are the same if their values are, and so are times; a date is its midnight.
    Text is the same as an item that Arrow or pandas writes so. All else is different: a truth value is no
    number, and a time with a zone is none without.
    """
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
    return _by_cast(wanted, among) if len(kinds) == 1 else np.full(len(wanted), -1, np.int32)


def _kind(kind: pa.DataType) -> str:
    """What values of a type are: only within a kind may two be the same."""
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_timestamp(kind) and kind.tz is not None:
        return "instant"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    return "clock" if types.is_time(kind) else str(kind.id)


def _found(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = pc.index_in(wanted, value_set=among).fill_null(-1)
    return np.array(found.to_numpy(zero_copy_only=False), np.int32)


def _by_cast(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    there = wanted.cast(among.type, safe=False)
    back = there.cast(wanted.type, safe=False)
    return _found(pc.if_else(pc.equal(back, wanted), there, None), among)


def _by_text(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = np.full(len(wanted), -1, np.int32)
    for texts in _texts(wanted):
        for others in _texts(among):
            found = np.where(found < 0, _found(texts, others), found)
            if (found >= 0).all():
                return found
    return found


def _texts(items: pa.Array) -> Iterator[pa.Array]:
    """How items are written: by Arrow, by pandas where that differs, and in a CSV file of Arrow."""
    text = pa.large_string()
    yield items.cast(text)
    if _kind(items.type) == "text" or pa.types.is_integer(items.type) or pa.types.is_decimal(items.type):
        return
    if _kind(items.type) == "instant":
        yield items.cast(pa.timestamp(items.type.unit, "UTC")).cast(text)
    yield as_pandas_writes(items)
