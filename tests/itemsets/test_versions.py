"""What pandas 2 and 3 do in different ways is the same to who releases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

import pdanon
from pdanon.itemsets.dtype import arrow_values, as_pandas_writes, number_texts, text_column


@pytest.mark.parametrize(
    "values",
    [["a", None, "long"], [None, None], [], pa.array(["a", None]), pa.chunked_array([["a"], [None]])],
)
def test_text_has_the_dtype_of_pandas_and_missing_texts_stay_missing(values):
    column = text_column(values)
    plain = values if isinstance(values, list) else values.to_pylist()
    assert pd.Series(column).dtype == pd.Series(["text"]).dtype
    assert [None if pd.isna(each) else each for each in column] == plain


@pytest.mark.parametrize(
    "values", [["a", None], [1.5, None], [["a"], None], [datetime(2020, 1, 1, tzinfo=UTC)]]
)
def test_columns_are_arrow_values_of_their_type(values):
    array = pa.array(values)
    column = pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([array, array[:0]])), index=[7] * len(values)
    )
    assert arrow_values(column).type == array.type
    assert arrow_values(column).to_pylist() == array.to_pylist()


def test_objects_and_categories_are_arrow_values():
    assert arrow_values(pd.Series(["a", None], dtype="object")).to_pylist() == ["a", None]
    assert arrow_values(pd.Series(["a", None], dtype="category")).to_pylist() == ["a", None]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([0.5, None, float("nan")], pa.float32()), ["0.5", None, None]),
        (pa.array([True, None]), ["True", None]),
        (pa.array([datetime(2020, 1, 1), None], pa.timestamp("s")), ["2020-01-01 00:00:00", None]),
        (pa.array([timedelta(days=1, seconds=5), None]), ["1 days 00:00:05", None]),
        (pa.array([], pa.float64()), []),
    ],
    ids=lambda each: str(each.type) if isinstance(each, pa.Array) else "",
)
def test_values_are_written_as_by_pandas_and_missing_ones_not_at_all(values, texts):
    assert as_pandas_writes(values).equals(pa.array(texts, pa.large_string()))


def test_texts_are_numbered_as_they_come_and_told_apart_beyond_a_nul():
    assert number_texts(pa.array(["b", None, "a\0", "a", "b", "a\0\0"])).tolist() == [0, -1, 1, 2, 0, 3]
    assert number_texts(pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize(
    "release",
    [
        lambda frame: pdanon.pcta(frame, k=2),
        lambda frame: pdanon.k_member(frame, quasi=["age"], k=2),
        lambda frame: pdanon.apply_mapping(frame, pdanon.pcta(frame, k=2).mapping),
    ],
)
def test_what_is_changed_afterwards_does_not_change_the_release(release):
    frame = pd.DataFrame({"items": pdanon.as_itemsets([["a"], ["a"]]), "age": [1, 1], "city": ["x", "y"]})
    result = release(frame)
    released = result if isinstance(result, pd.DataFrame) else result.frame
    frame.loc[0, "city"] = "z"
    assert released["city"].tolist() == ["x", "y"]
    released.loc[1, "city"] = "w"
    assert frame["city"].tolist() == ["z", "y"]
