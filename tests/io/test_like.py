"""A table like another has its shape, and none of its values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError, ReleaseWarning
from pdanon.io.datasets import like


def values_of(frame):
    """The text of each value of a frame and of each item, without those that are missing, True or False."""
    found = set()
    for _, column in frame.items():
        for value in column:
            for each in value if isinstance(value, (list, tuple, set, np.ndarray)) else [value]:
                if not pd.isna(each) and not isinstance(each, (bool, np.bool_)):
                    found.add(str(each).removesuffix(".0").removesuffix(" 00:00:00"))
    return found


def frame_of_kinds():
    days = [dt.date(2000, 1, 1), dt.date(2000, 1, 2), None, dt.date(2000, 1, 1)]
    return pd.DataFrame(
        {
            "items": [["v0", SECRET], ["v0"], None, []],
            "codes": [[0, 1], [1], [2], [0]],
            "age": [0, 1, 2, 2],
            "small": pd.Series([127, 126, 125, 124], dtype="int8"),
            "weight": [0.0, 1.5, None, 8],
            "name": ["v0", SECRET, None, "v00"],
            "born": pd.to_datetime(["2000-01-01", "2000-01-02", None, "2000-01-01"]),
            "day": pd.array(days, dtype=pd.ArrowDtype(pa.date32())),
            "sex": pd.Categorical(["f", "m", "m", None], categories=["f", "m", SECRET]),
            "smoker": [True, False, True, True],
        },
        index=pd.Index([SECRET, "b", "c", "d"], name="patient"),
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_value_of_the_original_occurs(seed):
    frame = frame_of_kinds()
    before = frame.copy(deep=True)
    made = like(frame, random_state=seed)
    assert values_of(made)
    assert values_of(made).isdisjoint(values_of(frame))
    assert SECRET not in repr(made.to_dict()) + repr(made.dtypes["sex"].categories) + repr(made.attrs)
    pd.testing.assert_frame_equal(frame, before)


def test_no_value_is_left_in_a_buffer():
    made = like(frame_of_kinds())
    for column in ("items", "name", "sex"):
        buffers = pa.array(made[column]).buffers()
        assert all(SECRET.encode() not in each.to_pybytes() for each in buffers if each is not None)


def test_shape_and_shares_stay():
    frame = frame_of_kinds()
    made = like(frame)
    assert [*made.columns] == [*frame.columns]
    assert made.index.equals(pd.RangeIndex(4))
    assert made.isna().sum().to_dict() == frame.isna().sum().to_dict()
    same = ["age", "small", "weight", "name", "born", "day", "smoker"]
    for column in same:
        assert sorted(made[column].value_counts()) == sorted(frame[column].value_counts()), column
    assert made[same].dtypes.to_dict() == frame[same].dtypes.to_dict()
    assert len(made["sex"].cat.categories) == 3
    lengths = [sorted(len(row) for row in each["items"].dropna()) for each in (made, frame)]
    assert lengths[0] == lengths[1]


def test_supports_stay_about_the_same():
    frame = pdanon.datasets.make_baskets(3000, 60, random_state=5)
    made = like(frame, random_state=1)
    counts = [each["items"].explode().value_counts() for each in (frame, made)]
    assert len(counts[0]) == len(counts[1])
    rank = [np.sort(each.to_numpy(int)) for each in counts]
    assert rank[0].sum() == rank[1].sum()
    assert np.abs(rank[0] - rank[1]).sum() <= 0.1 * rank[0].sum()
    assert all(len(set(row)) == len(row) for row in made["items"])


def test_the_seed_decides():
    frame = frame_of_kinds()
    pd.testing.assert_frame_equal(like(frame, random_state=3), like(frame, random_state=3))
    assert not like(frame, random_state=1).equals(like(frame, random_state=2))


def test_nobody_can_draw_again_what_was_drawn_without_a_seed():
    """With a known seed, the order of each column can be undone, which joins the values of a row again."""
    frame = pd.DataFrame({"age": range(200)})
    assert not like(frame).equals(like(frame))


def test_names_that_may_be_items_are_warned_of():
    frame = pd.DataFrame({SECRET: [0, 1], "tea": [1, 1], "age": [30, 40]})
    with pytest.warns(ReleaseWarning, match="names of columns stay") as caught:
        like(frame)
    assert SECRET not in str(caught[0].message)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**60), 2**60)), max_size=8),
    st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=8),
    st.lists(st.lists(st.sampled_from(["v0", "v1", "v2", "v00"]), max_size=4), max_size=8),
)
def test_of_any_table(numbers, texts, items):
    n = min(len(numbers), len(texts), len(items))
    frame = pd.DataFrame({"n": numbers[:n], "t": texts[:n], "i": items[:n]})
    made = like(frame)
    assert made.shape == frame.shape
    assert values_of(made).isdisjoint(values_of(frame))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame({"a": ["x"]}).iloc[:0]]
)
def test_an_empty_table_stays_empty(frame):
    made = like(frame)
    assert made.shape == frame.shape
    assert [*made.columns] == [*frame.columns]


def test_labels_of_columns_may_repeat():
    made = like(pd.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"]))
    assert [*made.columns] == ["a", "a"]


def test_wrong_calls_are_explained():
    with pytest.raises(ParameterError, match="DataFrame"):
        like([1, 2])
    with pytest.raises(ColumnError, match="cannot be compared") as caught:
        like(pd.DataFrame({"a": [{SECRET: 1}]}))
    assert SECRET not in str(caught.value)
    with pytest.raises(ItemsetDtypeError) as caught:
        like(pd.DataFrame({"a": [[SECRET, 1]]}))
    assert SECRET not in str(caught.value)
