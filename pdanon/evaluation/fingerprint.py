"""Fingerprints: the same content has the same one, in this process or in the next."""

from __future__ import annotations

import dataclasses
import os
import pickle
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column

__all__ = ["fingerprint", "rows_fingerprint"]


def fingerprint(*parts: Any) -> str:
    """Hash values by their content.

    Parameters
    ----------
    *parts : object
        Frames, arrays, containers, dataclasses, plain values, and whatever can be pickled. What cannot be
        is known by the name of its type only. A path is that of a file, whose content is hashed.

    Returns
    -------
    str
        64 hexadecimal digits.

    Notes
    -----
    A hash of few possible values can be guessed: handle fingerprints of data like the data.

    Examples
    --------
    >>> from pdanon.evaluation.fingerprint import fingerprint
    >>> fingerprint({"k": 2}) == fingerprint({"k": 2}), fingerprint({"k": 2}) == fingerprint({"k": 3})
    (True, False)
    """
    return _digest(parts).hex()


def rows_fingerprint(columns: Sequence[Itemsets]) -> int:
    """Hash the rows of some columns by their content, in whatever order they are.

    Parameters
    ----------
    columns : sequence of Itemsets
        Columns of the same rows. A row counts as often as its weight says, and a missing one as an empty one.

    Returns
    -------
    int
        Of 64 bits. The sum of those of parts, modulo ``2**64``, is that of the whole.

    Examples
    --------
    >>> from pdanon.evaluation.fingerprint import rows_fingerprint
    >>> from pdanon.itemsets.codes import Itemsets
    >>> import pyarrow as pa
    >>> one, other = (Itemsets.from_arrow(pa.array(rows)) for rows in ([["a"], ["b"]], [["b"], ["a"]]))
    >>> rows_fingerprint([one]) == rows_fingerprint([other])
    True
    """
    rows = np.zeros(columns[0].n_rows, np.uint64)
    for column in columns:
        items = pd.util.hash_array(np.array(column.texts(), dtype=object), categorize=False)
        sums = np.append(np.uint64(0), np.cumsum(items[column.codes], dtype=np.uint64))
        rows = _mixed(rows + sums[column.offsets[1:]] - sums[column.offsets[:-1]])
    weights = columns[0].weights
    return int(np.sum(rows if weights is None else rows * weights.astype(np.uint64), dtype=np.uint64))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Other numbers, one to one, whose sums are not sums of these: the finalizer of SplitMix64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values


def _digest(value: Any) -> bytes:
    kind = type(value).__name__
    match value:
        case bool() | int() | float() | str() | None:
            return _hash(kind, repr(value).encode())
        case Path():
            return _hash(kind, value.read_bytes() if value.is_file() else os.fsencode(value))
        case Mapping():
            return _hash(kind, *(_digest(pair) for pair in value.items()))
        case list() | tuple():
            return _hash(kind, *map(_digest, value))
        case set() | frozenset():
            return _hash(kind, *sorted(map(_digest, value)))
        case pd.DataFrame():
            columns = (value.iloc[:, position] for position in range(value.shape[1]))
            return _hash(kind, _digest([*map(repr, value.columns)]), *map(_digest, columns))
        case pd.Series():
            return _hash(kind, _series(value), _pickled(value.index.to_numpy()))
        case Itemsets():
            arrays = [_array(array) for array in (value.codes, value.offsets, value.nulls)]
            return _hash(kind, *arrays, _digest(value.texts()))
        case np.ndarray() if not value.dtype.hasobject:
            return _array(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _hash(kind, *(_digest(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return _pickled(value)


def _series(column: pd.Series[Any]) -> bytes:
    if is_list_column(column):
        return _digest(Itemsets.from_series(column))
    try:
        return _hash(str(column.dtype), _array(pd.util.hash_pandas_object(column, index=False).to_numpy()))
    except TypeError:  # values without a hash
        return _pickled(column.tolist())


def _array(array: NDArray[Any]) -> bytes:
    return _hash(f"{array.dtype}{array.shape}", np.ascontiguousarray(array).view(np.uint8).data)


def _pickled(value: Any) -> bytes:
    try:
        return _hash("pickle", pickle.dumps(value))
    except (AttributeError, TypeError, pickle.PicklingError):
        return _hash("type", f"{type(value).__module__}.{type(value).__qualname__}".encode())


def _hash(kind: str, *parts: bytes | memoryview) -> bytes:
    """Of a kind, and of parts that are told apart by their lengths."""
    digest = sha256(f"{kind} {[memoryview(part).nbytes for part in parts]}".encode())
    for part in parts:
        digest.update(part)
    return digest.digest()
