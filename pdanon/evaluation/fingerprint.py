"""Fingerprints: hashes of the content of tables and values, and checks that the tables of a result match."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import GuaranteeError, PdanonError
from pdanon.guarantees import DisassociatedKm, SensitiveGroups
from pdanon.guarantees.kkm import list_labels
from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.chunks import NAMES
from pdanon.itemsets.codes import Itemsets, Numbers, read_in_order
from pdanon.itemsets.columns import (
    added_label,
    find_column,
    is_list_column,
    label_key,
    level_label,
    names_column,
    same_label,
)
from pdanon.itemsets.dtype import arrow_values, is_text_type, number_texts
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.mapping import mapping_labels, mapping_values
from pdanon.itemsets.validation import check_frame
from pdanon.recoding.recoding import became_of
from pdanon.recoding.result import Anonymized, in_chunks, mapping_of, other_frame, recoded_lists
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified


@called_by_name
def fingerprint(frame: pd.DataFrame) -> str:
    """Hash the content of a table, so that two people can check whether they hold the same table.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.

    Returns
    -------
    str
        SHA-256, as 64 hexadecimal digits. It covers the names and the values of the columns and of the index,
        row by row and in order, and ``attrs``. The default index 0, 1, 2 ... counts as none.

    Raises
    ------
    ParameterError
        If ``frame`` is not a DataFrame.

    Notes
    -----
    The content of a table is what a Parquet file keeps; how values are stored does not matter. Text may have
    any dtype, be a category or an Arrow column. Integers and floats may have any width. Lists may be Arrow's
    or Python's. An interval counts as its text, such as ``[20, 29]``. A set counts as its sorted list. None,
    NaN and NA are the same missing value.

    CSV files keep neither types, nor an index or ``attrs``. A table with the default index and without
    ``attrs`` has the same fingerprint if it is read back with the types of its columns.

    With knowledge of almost all of a table, an attacker can guess the rest and compare fingerprints. Treat
    the fingerprint of an original like counts of it.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice"]], "store": ["n", "s"]})
    >>> df.txanon.fingerprint()[:16]
    '5ff31f30c86b329e'
    >>> df.astype({"store": "category"}).txanon.fingerprint() == df.txanon.fingerprint()
    True
    """
    return str(describe_table(check_frame(frame, "frame"))["fingerprint"])


def describe_table(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the rows and the fingerprint of a table, and the name, type and hash of its columns."""
    # A column with few values is easier to guess than a table: treat its hash like the column. A level of the
    # index is a column, unless the index is the default.
    parts: list[tuple[str, Any, Any]] = [(str(label), label, column) for label, column in frame.items()]
    digests, columns = [], []
    for place, (name, label, column) in enumerate([*parts, *index_levels(frame)]):
        kind, digest = _describe(column)
        digests.append(_hash(repr(label), digest))
        is_index, shown = place >= frame.shape[1], digests[-1].hex()
        columns.append({"name": name, "type": kind, "index": is_index, "fingerprint": shown})
    whole = _hash("table", *digests, *([_attributes(frame)] if frame.attrs else []))
    return {"rows": len(frame), "columns": columns, "fingerprint": whole.hex()}


def column_fingerprint(column: pd.Series[Any]) -> bytes:
    """Hash the values of a column, independent of its name, its index, and how the values are stored."""
    return _describe(column)[1]


def index_levels(frame: pd.DataFrame) -> Iterator[tuple[str, Hashable, pd.Series[Any]]]:
    """Yield the name as by ``reset_index``, the name and the values of each level of the index."""
    # The default index has no content: no name, and the numbers 0, 1, 2 ... or no rows.
    index = frame.index
    counts_rows = pd.api.types.is_integer_dtype(index.dtype) and index.equals(pd.RangeIndex(len(index)))
    if index.nlevels > 1 or index.name is not None or (len(index) and not counts_rows):
        for level, name in enumerate(index.names):
            yield str(level_label(frame, level)), name, index.get_level_values(level).to_series()


def content_hash(*parts: Any) -> str:
    """Hash values by their content, as 64 hexadecimal digits. A hash of few possible ones can be guessed."""
    return _digest(parts).hex()


def rows_fingerprint(columns: Sequence[Itemsets]) -> int:
    """Hash the rows of some columns in 64 bits, in any order; hashes of parts add up modulo ``2**64``."""
    rows = np.ones(columns[0].n_rows, np.uint64)  # an empty row must not be 0, which stays 0
    for column in columns:
        items = pd.util.hash_array(np.array(column.texts(), dtype=object), categorize=False)
        # Sums over the items of a row do not depend on their order; they wrap around modulo 2**64.
        sums = np.append(np.uint64(0), np.cumsum(items[column.codes], dtype=np.uint64))
        # Scrambled one to one: otherwise {a, b} + {c} would equal {a} + {b, c}.
        rows = pd.util.hash_array(rows + sums[column.offsets[1:]] - sums[column.offsets[:-1]])
    weights = columns[0].weights
    return int(np.sum(rows if weights is None else rows * weights.astype(np.uint64), dtype=np.uint64))


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
        case pd.DataFrame() | pd.Series():
            return _hash(kind, bytes.fromhex(describe_table(pd.DataFrame(value))["fingerprint"]))
        case Itemsets():
            arrays = [_array(array) for array in (value.codes, value.offsets, value.nulls)]
            return _hash(kind, *arrays, _digest(value.texts()))
        case np.ndarray() if not value.dtype.hasobject:
            return _array(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _hash(kind, *(_digest(getattr(value, field.name)) for field in dataclasses.fields(value)))
    try:
        return _hash("pickle", pickle.dumps(value))
    except (AttributeError, TypeError, pickle.PicklingError):
        return _hash("type", f"{type(value).__module__}.{type(value).__qualname__}".encode())


def _attributes(frame: pd.DataFrame) -> bytes:
    """Hash the attributes as JSON, the form in a Parquet file."""
    try:
        return _hash("attributes", json.dumps(frame.attrs, sort_keys=True).encode())
    except (TypeError, ValueError):
        return _hash("attributes", _digest(frame.attrs))


def _describe(column: pd.Series[Any]) -> tuple[str, bytes]:
    """Return the type of the values of a column, and their hash, independent of how they are stored."""
    if isinstance(column.dtype, pd.IntervalDtype):  # as text, the form in a CSV file
        column = column.astype("string")
    try:
        if is_list_column(column):
            bags = read_in_order(column)
            items = _values(bags.vocabulary.take(pa.array(bags.codes)))
            digest = _hash("lists", items, _array(bags.offsets), _array(bags.nulls))
            return f"lists of {_type_text(bags.vocabulary.type)}", digest
        chunks = arrow_values(column)
        values = pa.concat_arrays(chunks.chunks) if chunks.num_chunks else chunks.combine_chunks()
        return (_type_text(values.type) if column.notna().any() else "nothing"), _values(values)
    except (PdanonError, pa.ArrowException, OverflowError, TypeError, UnicodeError):  # values of mixed types
        return "mixed", _digest(column.tolist())


def _type_text(kind: pa.DataType) -> str:
    """Return an Arrow type with the width of numbers, but without the storage of text and times."""
    if pa.types.is_dictionary(kind):
        return _type_text(kind.value_type)
    if is_text_type(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_timestamp(kind):
        return "times" if kind.tz is None else f"times of {kind.tz}"
    return "durations" if pa.types.is_duration(kind) else str(kind)


def _values(values: pa.Array) -> bytes:
    """Hash an Arrow array: its kind, the places of missing values, and the other values."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    missing = _array(to_numpy(values.is_null()))
    present = values.drop_null()
    if not len(present):
        return _hash("nothing", missing)
    kind, plain = _plain(present)
    if not pa.types.is_large_string(plain.type):
        return _hash(kind, missing, _array(to_numpy(plain)))
    # A sliced array shares the buffers of its parent: take the lengths, and the bytes between its bounds.
    _, bounds, text = plain.buffers()
    ends = np.frombuffer(bounds, np.int64)[plain.offset : plain.offset + len(plain) + 1]
    return _hash(kind, missing, _array(np.diff(ends)), memoryview(text or b"")[ends[0] : ends[-1]])


def _plain(values: pa.Array) -> tuple[str, pa.Array]:
    """Return the kind of values, and the values as the widest type of this kind."""
    kind = values.type
    if is_text_type(kind) or pa.types.is_string_view(kind):
        return "text", values.cast(pa.large_string())
    if pa.types.is_boolean(kind):
        return "bool", values.cast(pa.int8())
    if pa.types.is_integer(kind):
        large = pa.types.is_uint64(kind) and (pc.max(values).as_py() >= 2**63)
        return "int", values if large else values.cast(pa.int64())
    if pa.types.is_floating(kind):
        return "float", values.cast(pa.float64())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _times(values)
    return str(kind), values.cast(pa.large_string())


def _times(values: pa.Array) -> tuple[str, pa.Array]:
    """Return times in microseconds, or in nanoseconds if microseconds lose digits."""
    zone = getattr(values.type, "tz", None)
    timed = pa.types.is_timestamp(values.type)
    of = partial(pa.timestamp, tz=zone) if timed else pa.duration
    for unit in ("us", "ns"):
        try:
            numbers = values.cast(of(unit)).cast(pa.int64())
            return f"{'timestamp' if timed else 'duration'} {unit} {zone}", numbers
        except pa.ArrowInvalid:
            continue
    return str(values.type), values.cast(pa.int64())


def _array(array: NDArray[Any]) -> bytes:
    return _hash(f"{array.dtype}{array.shape}", np.ascontiguousarray(array).view(np.uint8).data)


def _hash(kind: str, *parts: bytes | memoryview) -> bytes:
    """Hash a kind and parts; the lengths of the parts separate them."""
    digest = sha256(f"{kind} {[memoryview(part).nbytes for part in parts]}".encode())
    for part in parts:
        digest.update(part)
    return digest.digest()


# --- Checks that the tables of a result belong together: its rows, its mapping, and the original


def own_columns(frame: pd.DataFrame, guarantee: Guarantee, column: Hashable | None) -> list[list[int]]:
    """Return the positions of recoded lists, quasi-identifiers, and columns that the release adds."""
    # All others are unmodified.
    added: list[Hashable] = [*NAMES] if isinstance(guarantee, DisassociatedKm) else []
    if isinstance(guarantee, SensitiveGroups):
        added = [added_label(frame, GROUP)]
    labels = (list_labels(guarantee, column), getattr(guarantee, "quasi", ()), added)
    keys = [{label_key(label) for label in some} for some in labels]
    return [[place for place, label in enumerate(frame.columns) if label_key(label) in own] for own in keys]


def recount_unmodified(
    frame: pd.DataFrame, guarantee: Guarantee, column: Hashable | None, judged: Collection[Hashable]
) -> UnmodifiedColumns:
    """Count again what the unmodified columns of a release identify."""
    *_, added = own_columns(frame, guarantee, column)
    rows = frame.iloc[:, [place for place in range(frame.shape[1]) if place not in added]]
    lists, quasi, _ = own_columns(rows, guarantee, column)
    private = getattr(guarantee, "private", None)
    kept = [find_column(rows, private)] if names_column(private) else []
    levels = [name for name, *_ in index_levels(rows)]
    known = {label_key(label) for label in (*rows.columns, *rows.index.names, *levels)}
    present = [label for label in judged if label_key(label) in known]
    return count_unmodified(rows, lists, guarantee, present, quasi=quasi, private=kept)


def check_release(result: Anonymized, original: pd.DataFrame | None = None) -> list[Hashable]:
    """Check that the tables of a result describe its rows, and return its recoded list columns."""
    lists, guarantee = recoded_lists(result), result.guarantee
    if len(lists) != len(list_labels(guarantee, None)):
        raise _changed(f"{len(lists)} recoded list columns")
    if not in_chunks(result):
        if result.groups is not None and len(result.groups) != len(result.frame):
            raise _changed(f"{len(result.frame)} rows, {len(result.groups)} were released")
        for label in lists:
            _check_supports(result, label)
        if result.classes is not None and result.groups is not None and hasattr(guarantee, "quasi"):
            _check_classes(result)
    if original is not None:
        check_original(result, check_frame(original, "original"), lists)
    return lists


def _changed(got: str) -> GuaranteeError:
    problem = "the rows are not those that were released"
    hint = "the frame or the mapping was changed after the release; make the release again"
    return GuaranteeError(problem, where="result.frame", got=got, hint=hint)


def _check_supports(result: Anonymized, label: Hashable) -> None:
    """Compare the supports of the labels with those of the mapping."""
    released, lines = _read(result.frame, label), mapping_of(result, label)
    labels = mapping_labels(lines, released.vocabulary.type)
    codes = np.append(released.lookup(labels.dictionary), -2)[number_texts(labels)]
    supports = lines["support"].to_numpy(np.int64)
    if (codes[supports > 0] == -1).any():
        raise _changed("labels of the mapping are missing")
    by_label = pd.DataFrame({"group": lines["group"].to_numpy(), "label": codes, "support": supports})
    by_label = by_label[codes >= 0]
    least = by_label.groupby(["group", "label"])["support"].max().groupby("label").sum()
    most = by_label.groupby("label")["support"].sum()
    counted = pd.Series(np.bincount(released.codes, minlength=released.n_items))
    if not counted.between(least.reindex(counted.index), most.reindex(counted.index)).all():
        raise _changed("labels with other supports than in the mapping")


def _check_classes(result: Anonymized) -> None:
    """Compare the quasi-identifiers of each row with those of its class."""
    assert result.classes is not None
    assert result.groups is not None
    of_row = result.classes.iloc[result.groups.to_numpy()]
    for place, label in enumerate(result.guarantee.quasi, start=2):  # type: ignore[attr-defined]
        if column_fingerprint(of_row.iloc[:, place]) != column_fingerprint(_column(result.frame, label)):
            raise _changed("quasi-identifiers that differ from those of the classes")


# --- The original


def check_original(result: Anonymized, original: pd.DataFrame, lists: list[Hashable]) -> None:
    """Check that a release was made from a table, as far as that shows."""
    frame, places = result.frame, {key: place for place, key in enumerate(_keys(original))}
    rows_stay = not in_chunks(result)
    if rows_stay and len(original) != len(frame):
        raise other_frame(f"{len(original)} rows, and {len(frame)} in the release")
    column = lists[0] if lists else None
    own = {*chain(*own_columns(frame, result.guarantee, column))}
    for position, key in enumerate(_keys(frame) if rows_stay else ()):
        label, released = frame.columns[position], frame.iloc[:, position]
        if key not in places:
            if position not in own:
                raise other_frame(f"no column {label!r}")
            continue
        before = original.iloc[:, places[key]]
        if position not in own and column_fingerprint(before) != column_fingerprint(released):
            raise other_frame(f"other values in column {label!r}")
        if position in own and not _contain(released, before):
            raise other_frame(f"values outside the intervals in column {label!r}")
    if rows_stay and any(index_levels(frame)) and not _same_index(frame, original):
        raise other_frame("another index")
    for column in lists:
        if (label_key(column), 0) not in places:
            raise other_frame(f"no column {column!r}")
        _check_items(result, column, _read(original, column))


def _keys(frame: pd.DataFrame) -> Iterator[tuple[Any, int]]:
    """Yield a key of each column: its label, and the number of columns before it with this label."""
    seen = Counter[Any]()
    for label in frame.columns:
        yield label_key(label), seen[label_key(label)]
        seen[label_key(label)] += 1


def _same_index(frame: pd.DataFrame, original: pd.DataFrame) -> bool:
    one, other = (
        [column_fingerprint(index.get_level_values(level).to_series()) for level in range(index.nlevels)]
        for index in (frame.index, original.index)
    )
    return one == other


def _contain(released: pd.Series, values: pd.Series) -> bool:
    """Return whether each interval, if there are any, contains the number of its row, if it is known."""
    if not isinstance(released.dtype, pd.IntervalDtype) or not pd.api.types.is_numeric_dtype(values.dtype):
        return True
    intervals, numbers = pd.arrays.IntervalArray(released), values.to_numpy(np.float64, na_value=np.nan)
    left, right = (np.asarray(each, np.float64) for each in (intervals.left, intervals.right))
    return not ((numbers < left) | (numbers > right)).any()


def _check_items(result: Anonymized, label: Hashable, original: Itemsets) -> None:
    """Compare the supports of the items with those of the mapping, and each row with its labels."""
    lines = mapping_of(result, label)
    items, supports = original.lookup(mapping_values(lines, "item")), lines["support"].to_numpy(np.int64)
    if (items[supports > 0] < 0).any():
        raise other_frame("items of the mapping are missing")
    known = np.bincount(items[items >= 0], supports[items >= 0], minlength=original.n_items)
    if (np.bincount(original.codes, minlength=original.n_items) != known).any():
        raise other_frame("items with other supports than in the mapping")
    if in_chunks(result):
        return
    released = _read(result.frame, label)
    listed = lines[items >= 0]
    if listed.duplicated(["group", "item"]).any():
        return
    groups = result.groups if listed["group"].any() else None
    became = became_of(original, released, listed, groups, original.rows, original.codes)
    images = original.relabel(became.astype(np.int32), released.vocabulary)
    same_labels = images.vocabulary.equals(released.vocabulary)
    if not same_labels or not np.isin(_cells(released), _cells(images), assume_unique=True).all():
        raise other_frame("rows without an item of their label")


def _cells(itemsets: Itemsets) -> Numbers:
    """Number the items of all rows."""
    return itemsets.rows * max(itemsets.n_items, 1) + itemsets.codes


# --- Items and labels


def _column(frame: pd.DataFrame, label: Hashable) -> pd.Series[Any]:
    return next(column for each, column in frame.items() if same_label(each, label))


def _read(frame: pd.DataFrame, label: Hashable) -> Itemsets:
    return Itemsets.from_series(_column(frame, label))
