"""Every type of lists and items that Parquet has, in every encoding: streams release what frames release.

A case is a file and an algorithm. Files are written by pyarrow, polars and DuckDB; the rows that are read are
compared with those that were written, and releases of streams with those of frames.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import random
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pdanon
from examples import some
from pdanon import stream
from pdanon.algorithms.registry import functions

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")

DAY, SECOND = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)
N_ITEMS = 8
CODES = np.random.default_rng(7).permuted(np.tile(np.arange(N_ITEMS), (26, 1)), axis=1)[:, :3]
CODES = np.minimum(CODES, CODES[:, ::-1] + 3) % N_ITEMS  # some items are rare
TREE = 2


# --- Items

WORDS = [f"ä{code}" for code in range(N_ITEMS)]
INTEGERS = [3 * code for code in range(N_ITEMS)]
DAYS = [DAY + dt.timedelta(code) for code in range(N_ITEMS)]
TIMES = [SECOND + dt.timedelta(days=code, seconds=code) for code in range(N_ITEMS)]
HOURS = [dt.time(code, 1, 2) for code in range(N_ITEMS)]
SPANS = [dt.timedelta(code, code) for code in range(N_ITEMS)]
DECIMALS = [Decimal(code) / 4 for code in range(N_ITEMS)]
FLOATS = [code / 4 for code in range(N_ITEMS)]
INDEXES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]

ITEMS: dict[pa.DataType, list[Any]] = {
    **dict.fromkeys([pa.string(), pa.large_string(), pa.string_view()], WORDS),
    **{pa.dictionary(index, pa.string()): WORDS for index in INDEXES},
    **{pa.dictionary(index, pa.large_string()): WORDS for index in INDEXES[1:3]},
    **dict.fromkeys(INDEXES, INTEGERS),
    **dict.fromkeys([pa.float16(), pa.float32(), pa.float64()], FLOATS),
    pa.bool_(): [code % 2 == 0 for code in range(N_ITEMS)],
    **dict.fromkeys([pa.date32(), pa.date64()], DAYS),
    **{pa.timestamp(unit): TIMES for unit in ("s", "ms", "us", "ns")},
    pa.timestamp("us", "Europe/Athens"): TIMES,
    **dict.fromkeys([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], HOURS),
    **{pa.duration(unit): SPANS for unit in ("s", "ms", "us", "ns")},
    **dict.fromkeys([pa.decimal128(9, 2), pa.decimal128(30, 2), pa.decimal256(50, 2)], DECIMALS),
}
if hasattr(pa, "decimal32"):
    ITEMS |= dict.fromkeys([pa.decimal32(6, 2), pa.decimal64(12, 2)], DECIMALS)


def is_dictionary(kind):
    return pa.types.is_dictionary(kind)


def values_of(kind, codes):
    """Items of a type."""
    if is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            pa.array(codes).cast(kind.index_type), pa.array(WORDS).cast(kind.value_type)
        )
    items = [ITEMS[kind][code] for code in codes]
    return pa.array(np.array(items, kind.to_pandas_dtype()) if pa.types.is_floating(kind) else items, kind)


# --- Lists


MISSING = np.arange(len(CODES)) % 9 == 4


def sets_of(kind, width):
    """Offsets, items and missing rows."""
    lengths = np.where(MISSING, 0, CODES.shape[1])
    offsets = pa.array(np.concatenate([[0], lengths.cumsum()]), width)
    return offsets, values_of(kind, CODES[~MISSING].ravel()), pa.array(MISSING)


def views_of(kind, width):
    """Offsets, lengths and items of lists that lie in another order than the rows: the last one first."""
    lengths = np.full(len(CODES), CODES.shape[1])
    offsets = (lengths.cumsum() - lengths)[::-1]
    return pa.array(offsets, width), pa.array(lengths, width), values_of(kind, CODES[::-1].ravel())


def made(lists, kind):
    """Rows in lists of a type."""
    if lists == "fixed_size_list":
        return pa.FixedSizeListArray.from_arrays(values_of(kind, CODES.ravel()), CODES.shape[1])
    of = LISTS[lists]
    width = pa.int64() if lists.startswith("large") else pa.int32()
    if lists.endswith("view"):
        return of.from_arrays(*views_of(kind, width))
    offsets, items, missing = sets_of(kind, width)
    return of.from_arrays(offsets, items, mask=missing)


LISTS = {
    "list": pa.ListArray,
    "large_list": pa.LargeListArray,
    "fixed_size_list": pa.FixedSizeListArray,
    "list_view": pa.ListViewArray,
    "large_list_view": pa.LargeListViewArray,
}


# --- Files


class File(NamedTuple):
    """How a file is written: by which library, of which types, with which options."""

    writer: str
    lists: str
    kind: pa.DataType
    options: dict[str, Any]

    def write(self, path):
        """Write it, and return the rows that it holds."""
        column = made(self.lists, self.kind)
        WRITERS[self.writer](column, path, self.options)
        return column.to_pylist()

    def way(self):
        """How values are stored, as far as it is known: the others choose encodings themselves."""
        return self.writer, self.options.get("encoding"), self.options.get("parquet_version")


def write_with_pyarrow(column, path, options):
    encoding, options = options["encoding"], {key: options[key] for key in options if key != "encoding"}
    leaf = "items.list.element" if options["use_compliant_nested_type"] else "items.list.item"
    encodings = {"use_dictionary": encoding == "dictionary"}
    if encoding != "dictionary":
        encodings["column_encoding"] = {leaf: encoding}
    pq.write_table(pa.table({"items": column}), path, row_group_size=13, **encodings, **options)


def write_with_polars(column, path, options):
    polars.from_arrow(pa.table({"items": column})).write_parquet(path, row_group_size=13, **options)


def write_with_duckdb(column, path, options):
    given = ", ".join(f"{name} {value}" for name, value in options.items())
    with duckdb.connect() as connection:
        connection.register("made", pa.table({"items": column}))
        connection.sql(f"COPY made TO '{path}' (FORMAT parquet, {given})")


WRITERS = {"pyarrow": write_with_pyarrow, "polars": write_with_polars, "duckdb": write_with_duckdb}
COMPRESSIONS = ["snappy", "gzip", "zstd", "lz4", "brotli"]
OPTIONS = {
    "pyarrow": {
        "compression": ["none", *COMPRESSIONS],
        "version": ["1.0", "2.4", "2.6"],
        "data_page_version": ["1.0", "2.0"],
        "store_schema": [True, False],
        "use_compliant_nested_type": [True, False],
    },
    "polars": {"compression": ["uncompressed", *COMPRESSIONS], "statistics": [True, False]},
    "duckdb": {"compression": ["uncompressed", *COMPRESSIONS], "parquet_version": ["V1", "V2"]},
}


def options_of(writer, kind):
    """All combinations of options of a library, of which each keeps a type."""
    choices = OPTIONS[writer]
    if writer == "pyarrow" and pa.types.is_duration(
        kind
    ):  # Parquet has none: integers, if no schema is stored
        choices = choices | {"store_schema": [True]}
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def encodings_of(kind):
    """The encodings that Parquet has for a type."""
    if is_dictionary(kind):
        return ["dictionary"]
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return ["dictionary", "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]
    if kind == pa.bool_():
        return ["PLAIN", "RLE"]
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ["dictionary", "PLAIN", "BYTE_STREAM_SPLIT"]
    return ["dictionary", "PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]


@functools.cache
def lacks_pyarrow(lists, kind):
    """Tell whether pyarrow refuses a type: the oldest has neither views nor short decimals."""
    try:
        pq.write_table(pa.table({"items": made(lists, kind)}), pa.BufferOutputStream())
    except pa.ArrowNotImplementedError:
        return True
    return False


def writes(writer, lists, kind):
    """Tell whether a library has a type, and writes it as what it is."""
    if lacks_pyarrow(lists, kind):
        return False
    if writer == "polars":  # it writes days in milliseconds as times
        other = kind == pa.date64() or (pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind))
        return not lists.endswith("view") and not other
    if writer == "duckdb":  # it writes spans as bytes, and reads codes in arrays as other items
        coded = lists == "fixed_size_list" and is_dictionary(kind)
        other = kind == pa.float16() or pa.types.is_duration(kind) or pa.types.is_decimal256(kind)
        return not lists.endswith("view") and not coded and not other
    return True


# --- Algorithms


def asked_of(items):
    """The parameters of every algorithm that streams, for items of a type."""
    rare, ill = items[1], items[0]
    others = sorted({*items} - {ill})
    return {
        "pcta": {"k": 4, "m": 2},
        "coat": {"k": 4, "m": 2, "max_suppressed": 0.5},
        "upcta": {"k": 4, "m": 2, "max_suppressed": 0.5, "utility": [[ill, *others[:3]], others[3:]]},
        "apriori": {"k": 4, "m": 2, "hierarchy": TREE},
        "direct": {"k": 4, "m": 2, "hierarchy": TREE},
        "optimal": {"k": 4, "m": 2, "hierarchy": TREE},
        "vpa": {"k": 4, "m": 2, "hierarchy": TREE, "parts": 2},
        "hghs": {"k": 4, "m": 2, "hierarchy": TREE},
        "mhghs": {"k": 4, "m": None, "hierarchy": TREE},
        "local_suppression": {"k": 4, "m": 2},
        "lra": {"k": 4, "m": 2, "hierarchy": TREE, "parts": 2},
        "coherence": {"h": 0.6, "k": 3, "p": 2, "private": [ill]},
        "suppress_public": {"h": 0.6, "k": 3, "p": 2, "private": [ill]},
        "suppress_to_k": {"k": 5, "public": others},
        "ps_rules": {"k": 4, "c": 0.6, "suppress": True, "rules": [([rare], [ill]), (others[1:3], [ill])]},
        "suppress_control": {"rho": 0.6, "sensitive": [ill], "m": 1},
        "td_control": {"rho": 0.6, "sensitive": [ill], "m": 1, "hierarchy": TREE},
    }


def test_every_algorithm_that_streams_is_tried():
    assert {*functions("items", "rows")} == {*asked_of(WORDS)}


# --- Cases


def cases():
    """Every list of every item with every algorithm, in all encodings; and as other libraries write it.

    All other options are drawn.
    """
    names, draw = [*asked_of(WORDS)], random.Random(5)
    algorithms = itertools.cycle(names)
    for pair, (lists, kind) in enumerate(itertools.product(LISTS, ITEMS)):
        encodings, options = encodings_of(kind), options_of("pyarrow", kind)
        for number, name in enumerate(names if writes("pyarrow", lists, kind) else []):
            encoding = encodings[(pair + number) % len(encodings)]
            yield File("pyarrow", lists, kind, draw.choice(options) | {"encoding": encoding}), name
        for writer in ("polars", "duckdb"):
            if writes(writer, lists, kind):
                for drawn in draw.sample(options_of(writer, kind), 2):
                    yield File(writer, lists, kind, drawn), next(algorithms)


def pairs_of(case):
    """What meets in a case: how is stored what, and what is made of it; algorithms see no encodings."""
    file, name = case
    lists = "view" if file.lists.endswith("view") else file.lists
    kind = "dictionary" if is_dictionary(file.kind) else str(file.kind)
    sort = kind if kind in ("dictionary", "string", "large_string") else "other"
    return {(name, lists), (name, sort), (file.way(), lists), (file.way(), sort)}


def sample():
    """Few cases in which all pairs occur."""
    every, chosen = [*cases()], []
    left = dict(enumerate(map(pairs_of, every)))
    while left:
        best = max(left, key=lambda case: len(left[case]))
        chosen.append(every[best])
        found = left[best]
        left = {case: pairs - found for case, pairs in left.items() if pairs - found}
    return chosen


# --- What is compared


def outcome(make):
    """What came out, or of which kind the refusal is."""
    try:
        return make()
    except pdanon.PdanonError as error:
        return error


def difference(case, directory):
    """How a stream differs from a frame, or a file from its rows; nothing if all is the same."""
    file, name = case
    source, target = directory / "in.parquet", directory / "out.parquet"
    target.unlink(missing_ok=True)
    rows = file.write(source)
    frame = pdanon.read_parquet(source)
    if normal(pa.array(frame["items"]).to_pylist()) != normal(rows):
        return "other rows are read than were written"
    asked = {"column": "items", **asked_of(ITEMS[file.kind])[name]}
    streamed = outcome(lambda: getattr(stream, name)(source, target, **asked))
    expected = outcome(lambda: getattr(pdanon, name)(frame, **asked))
    if isinstance(streamed, pdanon.PdanonError) or isinstance(expected, pdanon.PdanonError):
        return None if str(streamed) == str(expected) else f"{streamed!r} {expected!r}"
    try:
        pd.testing.assert_frame_equal(pdanon.read_parquet(target), expected.frame)
        pd.testing.assert_frame_equal(streamed.mapping, expected.mapping)
        pd.testing.assert_series_equal(streamed.loss, expected.loss)
        assert repr(streamed.guarantee) == repr(expected.guarantee)
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


def normal(rows):
    """Rows as sets of plain values, however a library holds them."""
    plain = {pd.Timestamp: pd.Timestamp.to_pydatetime, pd.Timedelta: pd.Timedelta.to_pytimedelta}
    return [
        None if row is None else {plain.get(type(item), lambda each: each)(item) for item in row}
        for row in rows
    ]


def differences(tried, directory):
    """Each case that differs, and how."""
    found = [(case, difference(case, directory)) for case in tried]
    return [each for each in found if each[1] is not None]


@pytest.mark.slow
def test_streams_release_what_frames_release(tmp_path):
    assert differences(sample(), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("lists", LISTS)
def test_streams_release_what_frames_release_in_every_case(tmp_path, lists):
    every = [case for case in cases() if case[0].lists == lists]
    assert differences(some(every, 20), tmp_path) == []


def test_dropped_columns_are_in_no_byte_of_the_release(tmp_path):
    rows = [["a", "b"], ["a"], ["a", "b"], ["b"]] * 3
    secret = [f"secret{number}" for number in range(12)]
    frame = pd.DataFrame({"name": secret, "items": rows, "shop": ["n", "s"] * 6}).set_index("name")
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    made = stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=3, m=1, drop=["name"])
    content = (tmp_path / "out.parquet").read_bytes()
    assert b"secret" not in content
    assert b'"name": "name"' not in content
    released = pd.read_parquet(tmp_path / "out.parquet")
    assert list(released) == ["items", "shop"]
    assert released.index.equals(pd.RangeIndex(12))
    expected = frame.reset_index(drop=True).txanon.pcta(k=3, m=1)
    assert [sorted(row) for row in released["items"]] == [sorted(row) for row in expected.frame["items"]]
    assert made.rows == 12
    first = stream.pcta(tmp_path / "in.parquet", tmp_path / "two.parquet", k=3, m=1, drop=["shop"])
    assert list(pd.read_parquet(first.paths[0])) == ["items"]
    both = stream.pcta(tmp_path / "in.parquet", tmp_path / "one.parquet", k=3, m=1, drop=["shop", "name"])
    assert b"secret" not in (tmp_path / "one.parquet").read_bytes()
    assert list(pd.read_parquet(both.paths[0])) == ["items"]
    with pytest.raises(pdanon.ParameterError, match="did you mean 'shop'"):
        stream.pcta(tmp_path / "in.parquet", tmp_path / "no.parquet", k=3, drop=["shops"])
    with pytest.raises(pdanon.ColumnError):
        stream.pcta(tmp_path / "in.parquet", tmp_path / "no.parquet", k=3, drop=["items"])
