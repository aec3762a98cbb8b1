"""The attack: its counts against naive ones, and the promise of each kind of release. Generated data only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import itemsets as naive
from naive.queries import subsets

import pdanon
from examples import examples
from pdanon import ColumnError, ParameterError
from pdanon.hierarchy import Hierarchy
from pdanon.io.datasets import make_baskets

BASKETS = make_baskets(600, 60, random_state=4)
TREE = Hierarchy.balanced(BASKETS["items"].itemset.items, 3)
RELEASES = {
    "pcta": {},
    "coat": {"max_suppressed": 0.2, "utility": pdanon.utility.by_level(TREE, 2)},
    "apriori": {"hierarchy": TREE},
    "mhghs": {"hierarchy": TREE},
    "lra": {"hierarchy": TREE, "parts": 4},
}


@pytest.mark.parametrize("algorithm", RELEASES)
def test_nobody_hides_among_fewer_than_promised(algorithm):
    result = getattr(pdanon, algorithm)(BASKETS, k=6, m=2, **RELEASES[algorithm])
    attack = pdanon.attack(BASKETS, result, m=2, n=3000, random_state=1)
    assert attack.fewest >= 6
    assert attack.rate <= 1 / 6
    assert attack.rate_before > attack.rate
    assert attack.fewest_before == 1


def test_who_knows_more_than_was_assumed_may_succeed():
    result = BASKETS.txanon.pcta(k=6, m=1)
    assert pdanon.attack(BASKETS, result, m=1, n=2000, random_state=1).fewest >= 6
    assert pdanon.attack(BASKETS, result, m=None, n=2000, random_state=1).fewest < 6


def images(row, known, result, group):
    """What known items became, by the mapping table."""
    table = result.mapping
    became = {
        (g, item): None if pd.isna(label) else label
        for g, item, label in zip(table["group"], table["item"], table["generalized"], strict=True)
    }
    return frozenset(became[group, item] for item in known) - {None}


@settings(max_examples=examples(40))
@given(
    row_lists(least=3),
    st.integers(2, 3),
    st.integers(1, 3) | st.none(),
    st.sampled_from(["pcta", "lra", "mhghs"]),
)
def test_counts_are_the_naive_ones(rows, k, m, algorithm):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k:
        return
    tree = {"*": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f"]}}
    options = {"pcta": {}, "lra": {"hierarchy": tree, "parts": 2}, "mhghs": {"hierarchy": tree}}[algorithm]
    result = getattr(pdanon, algorithm)(frame, k=k, m=2, **options)
    released = rows_of(result.frame)
    groups = [0] * len(rows) if result.groups is None else result.groups.tolist()
    cases = pdanon.attack(frame, result, m=m, n=10, random_state=0).cases
    assert cases.columns.tolist() == ["row", "known", "before", "after"]
    for number, known, before, after in cases.itertuples(index=False):
        row = rows[number]
        assert known == (len(row) if m is None else min(m, len(row)))
        chosen = [each for each in subsets(row) if len(each) == known]
        counts = {
            (naive.support(rows, each), naive.support(released, images(row, each, result, groups[number])))
            for each in chosen
        }
        assert (before, after) in counts


def test_a_suppressed_item_tells_nothing():
    frame = frame_of([{"a"}, {"b", "c"}, {"b", "c"}, {"b", "c"}, {"d"}])
    result = frame.txanon.coat(k=2, m=2, utility=[["a"], ["b"], ["c"], ["d"]], max_suppressed=0.5)
    assert result.mapping.set_index("item")["generalized"].isna().to_dict() == {
        "a": True,
        "b": False,
        "c": False,
        "d": True,
    }
    cases = pdanon.attack(frame, result, m=1, n=50, random_state=1).cases
    assert cases.loc[cases["row"] == 0, ["before", "after"]].drop_duplicates().to_numpy().tolist() == [[1, 5]]


def test_rows_are_drawn_alike_and_repeatably():
    frame = frame_of([{"a"}, set(), {"a", "b"}, None, {"b"}, {"b"}])
    result = frame.txanon.pcta(k=2, m=1)
    attack = pdanon.attack(frame, result, m=1, n=4000, random_state=3)
    counts = attack.cases["row"].value_counts()
    assert sorted(counts.index) == [0, 2, 4, 5]
    assert counts.between(850, 1150).all()
    again = pdanon.attack(frame, result, m=1, n=4000, random_state=np.random.default_rng(3))
    pd.testing.assert_frame_equal(again.cases, attack.cases)


def test_report_has_numbers_only():
    frame = frame_of([{SECRET, "a"}, {SECRET, "b"}, {"a", "b"}])
    attack = pdanon.attack(frame, frame.txanon.pcta(k=3, m=1), m=1, n=4, random_state=1)
    assert all(kind.kind == "i" for kind in attack.cases.dtypes)
    assert SECRET not in repr(attack) + repr(attack.cases)
    assert repr(attack) == (
        "Attack: 4 cases, up to 1 items known\n"
        "  original   50 % of the guesses are right; in the worst case 2 rows match\n"
        "  release    33.3 % of the guesses are right; in the worst case 3 rows match"
    )
    assert "all items known" in repr(pdanon.attack(frame, frame.txanon.pcta(k=3, m=1), m=None, n=1))


FRAME = frame_of([{SECRET, "a"}, {"a", "b"}, {"b"}])
RESULT = FRAME.txanon.pcta(k=3, m=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 0}, "m must be"),
        ({"m": 1.5}, "m must be"),
        ({"n": 0}, "n must be"),
        ({"n": "many"}, "n must be"),
        ({"result": RESULT.frame}, "not a result"),
        ({"original": FRAME.iloc[1:]}, "2 and 3 rows"),
        ({"original": FRAME.iloc[::-1]}, "differ in their index"),
        ({"original": frame_of([{"a"}, {"b"}, {"c"}])}, "1 items without a row, 1 rows of"),
        (
            {"original": frame_of([set()] * 3), "result": frame_of([set()] * 3).txanon.pcta(k=2)},
            "no row has an item",
        ),
    ],
)
def test_bad_input_is_refused_without_item_text(arguments, message):
    asked = {"original": FRAME, "result": RESULT} | arguments
    with pytest.raises(ParameterError, match=message) as caught:
        pdanon.attack(asked.pop("original"), asked.pop("result"), **asked)
    assert SECRET not in str(caught.value)


def test_what_an_item_became_must_be_known():
    from dataclasses import replace

    double = pd.concat([RESULT.mapping, RESULT.mapping.iloc[:1]], ignore_index=True)
    with pytest.raises(ParameterError, match="1 of 4 rows of the mapping"):
        pdanon.attack(FRAME, replace(RESULT, mapping=double))
    with pytest.raises(ColumnError, match="does not exist"):
        pdanon.attack(FRAME, RESULT, "codes")
