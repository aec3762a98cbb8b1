"""Measures of classes: against naive counts, and by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from naive import queries as naive_queries

from examples import examples
from pdanon import ColumnError, ParameterError
from pdanon.evaluation.metrics.equivalence_classes import class_measures, class_sizes


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xy") | st.none()), min_size=1), st.integers(2, 5)
)
def test_measures_by_definition(keys, k):
    frame = pd.DataFrame(keys, columns=["age", "city"])
    frame["age"] = pd.arrays.IntervalArray.from_tuples([(age, age + 1) for age, _ in keys], closed="both")
    sizes = naive_queries.class_sizes(keys)
    assert class_sizes(frame, ["age", "city"]).tolist() == sizes
    assert class_measures(frame, ["age", "city"], k=k).to_dict() == pytest.approx(
        {
            "DM": sum(keys.count(key) for key in keys),
            "C_avg": len(keys) / len(sizes) / k,
            "classes": len(sizes),
            "smallest": min(sizes),
            "largest": max(sizes),
        }
    )


def test_measures_by_hand():
    """Three classes of two, then two of them merged: 3 * 4 = 12, and 16 + 4 = 20."""
    apart = pd.DataFrame({"age": [1, 1, 2, 2, 3, 3]})
    merged = pd.DataFrame({"age": pd.Categorical(["1 or 2"] * 4 + ["3"] * 2)})
    assert class_measures(apart, ["age"], k=2)[["DM", "C_avg"]].tolist() == [12, 1]
    assert class_measures(merged, ["age"], k=2)[["DM", "C_avg"]].tolist() == [20, 1.5]


def test_no_rows():
    assert class_measures(pd.DataFrame({"age": []}), ["age"], k=2).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("quasi", "error"),
    [
        ([], ParameterError),
        (["age", "age"], ParameterError),
        ("age", ParameterError),
        (None, ParameterError),
        (["weight"], ColumnError),
        (["twice"], ColumnError),
    ],
)
def test_columns_must_be_named(quasi, error):
    frame = pd.DataFrame([[1, 2, 3]], columns=["age", "twice", "twice"])
    with pytest.raises(error):
        class_measures(frame, quasi, k=2)


@pytest.mark.parametrize("k", [1, 2.5, None])
def test_k_is_checked(k):
    with pytest.raises(ParameterError, match="k must be"):
        class_measures(pd.DataFrame({"age": [1]}), ["age"], k=k)
