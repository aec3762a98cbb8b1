"""Ordered categories are merged in their order, and published as ranges that can be read back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon.evaluation.metrics.queries import Workload

AGES = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]


def ordered(values, categories):
    return pd.Categorical(values, categories, ordered=True)


def ends_of(label, categories):
    """The first and the last category of a label, read as the documentation says, or None if it is none."""
    marks = 2
    while any("." * marks in each for each in categories):
        marks += 1
    parts = label.split(f" {'.' * marks} ")
    return (parts[0], parts[-1]) if len(parts) <= 2 and set(parts) <= set(categories) else None


def test_ages_are_ranges_without_gaps_or_escapes():
    frame = pd.DataFrame({"age": ordered([AGES[i] for i in (3, 5, 4, 7, 7, 8)], AGES)})
    result = pdanon.mondrian(frame, k=3, quasi=["age"])
    assert result.frame["age"].tolist() == ["[30-40) .. [50-60)"] * 3 + ["[70-80) .. [80-90)"] * 3
    # Two of nine steps for three rows, and one for the others.
    assert result.loss["NCP_relational"] == pytest.approx((3 * 2 / 9 + 3 * 1 / 9) / 6)
    unordered = pdanon.mondrian(frame.astype({"age": str}), k=3, quasi=["age"])
    assert unordered.frame["age"][0] == "([30-40\\),[40-50\\),[50-60\\))"


def test_a_hierarchy_wins():
    frame = pd.DataFrame({"q": ordered(["b", "a", "c", "c"], ["c", "b", "a"])})
    result = pdanon.mondrian(frame, k=2, quasi={"q": {"*": {"ab": ["a", "b"], "C": ["c"]}}})
    assert result.frame["q"].tolist() == ["ab", "ab", "c", "c"]


@settings(max_examples=examples(100))
@given(
    st.lists(st.text(". a\\(),", min_size=1, max_size=6), min_size=2, max_size=6, unique=True),
    st.lists(st.integers(0, 5), min_size=2, max_size=8),
)
def test_labels_can_be_read_back(categories, chosen):
    values = [categories[i % len(categories)] for i in chosen]
    released = pdanon.mondrian(pd.DataFrame({"q": ordered(values, categories)}), k=2, quasi=["q"]).frame["q"]
    for label, value in zip(released, values, strict=True):
        first, last = map(categories.index, ends_of(label, categories))
        assert first <= categories.index(value) <= last
    # Two labels are one if and only if their ranges are.
    ranges = {label: ends_of(label, categories) for label in released}
    assert len(set(ranges.values())) == len(ranges)


def test_a_missing_value_is_alone_or_in_the_range_of_all():
    frame = pd.DataFrame({"q": ordered(["b", None, "b", "b"], ["a", "b", "c"])})
    assert pdanon.mondrian(frame, k=4, quasi=["q"]).frame["q"].tolist() == ["a .. c"] * 4
    twice = pd.concat([frame, frame])
    assert set(pdanon.mondrian(twice, k=2, quasi=["q"]).frame["q"].dropna()) == {"b"}


@pytest.mark.parametrize("categories", [["a", "b", 3], [("a",), ("b",)]])
def test_categories_of_no_known_type_are_refused(categories):
    index = pd.Index(categories, tupleize_cols=False)
    values = pd.Categorical.from_codes([0, 1], categories=index, ordered=True)
    with pytest.raises(pdanon.errors.ItemsetDtypeError, match=r"where: column 'q'(.|\n)*hint:") as caught:
        pdanon.mondrian(pd.DataFrame({"q": values}), k=2, quasi=["q"])
    assert "'a'" not in str(caught.value)


def diabetes(rows=800):
    rng = np.random.default_rng(5)
    ages = rng.normal(60, 15, rows).clip(0, 99).astype(int) // 10
    items = [[f"i{i}" for i in np.flatnonzero(rng.random(6) < 0.3)] for _ in range(rows)]
    return pd.DataFrame({"age": ordered([AGES[age] for age in ages], AGES), "items": items})


def test_releases_are_audited_and_measured():
    frame = diabetes()
    result = pdanon.keep(frame, "items").mondrian(k=100, quasi=["age"])
    assert result.frame["age"].str.contains(" .. ", regex=False).any()
    assert pdanon.audit(result.frame, pdanon.KAnonymity(100, quasi=["age"])).holds
    table = result.frame.txanon.risk(k=100, m=1, quasi=["age"])
    assert table.loc[0, "below_k"] == 0
    assert frame.txanon.risk(k=100, m=1, quasi=["age"]).loc[0, "below_k"] > 0
    # A released range stands equally for the ages that were released as it.
    work = Workload.rt(frame, ["age"], n=40, items=0, random_state=0)
    answers = work.are(frame, result).table
    ages, labels = frame["age"].astype(str), result.frame["age"]
    spread = pd.crosstab(labels, ages).gt(0)
    for asked, actual, estimate in zip(
        work.queries["age"], answers["actual"], answers["estimate"], strict=True
    ):
        assert actual == (ages == asked).sum()
        likely = spread[asked] / spread.sum(axis=1)
        assert estimate == pytest.approx(labels.map(likely).sum())


@pytest.mark.parametrize("name", ["rum_bound", "tum_bound", "rfirst", "tfirst"])
def test_algorithms_for_both_publish_ranges(name):
    extra = {
        "rum_bound": {"delta": 0.5, "random_state": 0},
        "tum_bound": {"delta": 0.5, "random_state": 0},
        "rfirst": {"random_state": 0},
        "tfirst": {"parts": 2},
    }[name]
    result = getattr(pdanon, name)(diabetes(), k=20, m=1, quasi=["age"], **extra)
    assert result.frame.txanon.audit(result.guarantee).holds
    assert all(ends_of(label, AGES) for label in result.frame["age"])
