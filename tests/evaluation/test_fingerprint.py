"""Fingerprints of tables: the same content has the same one, in memory and in a file."""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of
from frames import FRAMES
from hypothesis import given, strategies as st

import pdanon
from pdanon.evaluation.fingerprint import fingerprint

ROWS = [["rice", "tea"], ["rice"], [], ["salt", "rice"]]


def hashed(kind, *parts):
    return sha256(f"{kind} {[len(part) for part in parts]}".encode() + b"".join(parts)).digest()


def arrayed(values, dtype):
    array = np.array(values, dtype)
    return hashed(f"{array.dtype}{array.shape}", array.tobytes())


def texts(values):
    lengths = arrayed([len(text.encode()) for text in values], np.int64)
    missing = arrayed([False] * len(values), np.bool_)
    return hashed("text", missing, lengths, "".join(values).encode())


def naive(rows, other):
    """The fingerprint of a table of lists of texts and a column of texts, written down from scratch."""
    items = texts([item for row in rows for item in row])
    ends = np.cumsum([0, *map(len, rows)])
    lists = hashed("lists", items, arrayed(ends, np.int64), arrayed([False] * len(rows), np.bool_))
    columns = [hashed("'items'", lists), hashed("'store'", texts(other))]
    return hashed("table", *columns).hex()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(
    st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=4, unique=True), WORDS), min_size=1, max_size=6)
)
def test_it_is_that_of_the_definition(drawn):
    rows, other = zip(*drawn, strict=True)
    frame = pd.DataFrame({"items": rows, "store": other})
    assert fingerprint(frame) == frame.txanon.fingerprint() == naive(rows, other)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_parquet_file_has_that_of_the_frame(kind, tmp_path):
    frame = FRAMES[kind]()
    try:
        pdanon.to_parquet(frame, tmp_path / "table.parquet")
    except pdanon.FormatError:
        pytest.skip("Parquet cannot hold it")
    assert fingerprint(pdanon.read_parquet(tmp_path / "table.parquet")) == fingerprint(frame)


def test_a_csv_file_has_that_of_the_frame(tmp_path):
    frame = frame_of([["rice", "tea"], ["rice"]]).assign(store=["n", "s"], year=[1990, 1991])
    for number, closed in enumerate(("both", "left", "right")):  # as what makes numbers coarser does
        frame[f"age {number}"] = pd.arrays.IntervalArray.from_tuples([(20, 29), (30.5, 39)], closed)
    frame["age"] = pd.arrays.IntervalArray.from_tuples([(20, 29), None])
    pdanon.to_csv(frame, tmp_path / "table.csv", column="items", separator=" ")
    options = {"column": "items", "separator": " ", "types": {"year": "integer"}}
    assert fingerprint(pdanon.read_csv(tmp_path / "table.csv", **options)) == fingerprint(frame)


def test_how_values_are_stored_does_not_count():
    frame = pd.DataFrame(
        {
            "items": ROWS,
            "text": ["a", None, "b", "a"],
            "int": pd.array([1, 2, None, 4], "Int64"),
            "float": [0.5, np.nan, 1, 2],
            "time": pd.date_range("2020-01-01", periods=4).astype("datetime64[s]"),
        }
    )
    lists = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([ROWS[:1], ROWS[1:]])))
    others = {
        "items": [lists, pd.Series([tuple(row) for row in ROWS])],
        "text": [frame["text"].astype("category"), frame["text"].astype("object")],
        "int": [frame["int"].astype("Int8"), frame["int"].astype(pd.ArrowDtype(pa.uint16()))],
        "float": [frame["float"].astype("float32"), frame["float"].astype("Float64")],
        "time": [frame["time"].astype("datetime64[ns]"), frame["time"].astype("datetime64[us]")],
    }
    for name, ways in others.items():
        for column in ways:
            assert fingerprint(frame.assign(**{name: column})) == fingerprint(frame), (name, column.dtype)
    assert fingerprint(frame.set_axis(pd.Index([0, 1, 2, 3], dtype="int8"))) == fingerprint(frame)
    assert fingerprint(frame.head(0)) == fingerprint(frame.head(0).set_axis(pd.Index([], dtype=object)))


def test_sets_have_no_order_and_lists_have_one():
    sets = [fingerprint(frame_of([row])) for row in ({"a", "b"}, {"b", "a"})]
    lists = [fingerprint(pd.DataFrame({"items": [row]})) for row in (["a", "b"], ["b", "a"], ["a", "a", "b"])]
    assert sets == [lists[0]] * 2
    assert len({*lists}) == 3


def with_attrs(frame, attrs):
    copy = frame.copy()
    copy.attrs = attrs
    return copy


def test_other_content_has_another():
    frame = pd.DataFrame({"items": ROWS, "age": [1, 2, 3, 4], "sex": list("fmfm")})
    day = pd.date_range("2020-01-01", periods=4)
    others = [
        frame,
        frame.iloc[::-1],
        frame.head(3),
        frame[["age", "items", "sex"]],
        frame.rename(columns={"age": "years"}),
        frame.rename(columns={"age": 1}),
        frame.assign(age=[1, 2, 4, 3]),
        frame.assign(age=list("1234")),
        frame.assign(age=[1.0, 2.0, 3.0, 4.0]),
        frame.assign(age=[1, 2, 3, None]),
        frame.assign(age=[1, 2, None, 3]),
        frame.assign(sex=["fm", "", "fm", ""]),
        frame.assign(sex=[None, "m", "f", "m"]),
        frame.assign(sex=["", "m", "f", "m"]),
        frame.assign(items=[["rice", "tea"], ["rice"], None, ["salt", "rice"]]),
        frame.assign(items=[["rice"], ["tea", "rice"], [], ["salt", "rice"]]),
        frame.assign(age=day),
        frame.assign(age=day.tz_localize("UTC")),
        frame.assign(age=day + pd.Timedelta(1, "ns")),
        frame.assign(age=day - day[0]),
        frame.assign(age=[{}, 1, "x", 2]),
        frame.assign(age=[{"a": 1}, 1, "x", 2]),
        frame.assign(age=pd.Series(["\ud800", "1", "2", "3"], dtype=object)),
        frame.set_index("age"),
        frame.set_axis(list("dcba")),
        frame.set_axis(list("abcd")),
        frame.set_axis([1, 2, 3, 4]),
        frame.set_axis([0.0, 1.0, 2.0, 3.0]),
        frame.rename_axis("id"),
        frame.set_axis(pd.MultiIndex.from_arrays([range(4), range(4)])),
        with_attrs(frame, {"empty_rows": 1}),
        with_attrs(frame, {"empty_rows": 2}),
        with_attrs(frame, {1: (1, 2)}),
        with_attrs(frame, {"a": {3}}),
        frame.assign(age=[2**63, 2, 3, 4]),
    ]
    found = [fingerprint(each) for each in others]
    same = [pair for pair in combinations(range(len(found)), 2) if found[pair[0]] == found[pair[1]]]
    assert same == []
    assert all(len(each) == 64 for each in found)


def test_what_is_no_frame_is_refused():
    with pytest.raises(pdanon.ParameterError, match="must be a pandas DataFrame"):
        fingerprint([["a"]])
