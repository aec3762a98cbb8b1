"""(k,k^m)-anonymity: what the audit finds is what counting every itemset of every row finds."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings
from hypothesis import strategies as st

import pdanon
from pdanon import KAnonymity, KKm, KmAnonymity


def rare_parts(rows, k, m):
    """For each row the subsets of up to m of its items, or with None all, that fewer than k rows match."""

    def matches(quasi, part):
        return sum(quasi == other and part <= items for other, items in rows)

    parts = []
    for quasi, items in rows:
        sizes = range(min(m, len(items)) + 1) if m is not None else {0, len(items)}
        chosen = (frozenset(each) for size in sizes for each in combinations(sorted(items), size))
        parts.append({(quasi, part): matches(quasi, part) for part in chosen if matches(quasi, part) < k})
    return parts


def listed(found, m):
    """The minimal ones; with m=None, all rare rows of the classes that are large enough."""
    return {
        (quasi, part): count
        for (quasi, part), count in found.items()
        if not any(
            other == quasi and smaller < part and (m is not None or not smaller) for other, smaller in found
        )
    }


@settings(max_examples=150)
@given(
    row_lists(items="abcd", longest=4, most=9),
    st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from("xy")), min_size=9, max_size=9),
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
    st.sets(st.integers(0, 8)),
)
def test_the_same_as_counting_every_itemset(lists, quasi, k, m, missing):
    rows = [*zip(quasi, lists, strict=False)]
    frame = frame_of([None if i in missing and not row else row for i, row in enumerate(lists)])
    frame["age"] = pd.array([age for (age, _), _ in rows], dtype="Int64")
    frame["sex"] = pd.Series([sex for (_, sex), _ in rows], dtype="str")
    audit = frame.txanon.audit(KKm(k, m, ["age", "sex"]))
    parts = rare_parts(rows, k, m)
    assert audit.rows_at_risk == sum(map(bool, parts))
    expected = listed({key: count for each in parts for key, count in each.items()}, m)
    threats = audit.threats
    ages = [None if pd.isna(age) else age for age in threats["age"]]
    itemsets = map(frozenset, pa.chunked_array(threats["itemset"]).to_pylist())
    keys = [*zip(zip(ages, threats["sex"], strict=True), itemsets, strict=True)]
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, threats["support"], strict=True)) == expected
    assert [*threats["why"]] == ["rare" if part else "class" for _, part in keys]
    if audit.holds:
        assert frame.txanon.audit(KAnonymity(k, ["age", "sex"])).holds
        assert frame.txanon.audit(KmAnonymity(k, m)).holds


# Figures of the RT paper: classes, and the items of each row; G and H are not protected.
ORIGINAL = ["EFBG", "EFDH", "BCEG", "FDH", "EG", "AFH"]
FIGURES = {
    "1b": ([0, 0, 1, 1, 2, 2], {0: ["ABCD"], 1: ["ABCD"], 2: ["ABCD"]}, 4),
    "2a": ([0, 0, 1, 1, 2, 2], {0: ["BD"], 1: ["BCF", "DE"], 2: ["AEF"]}, 0),
    "2b": ([0] * 6, {0: ["ABCD"]}, 0),
    "2c": ([0, 0, 0, 0, 1, 1], {0: ["BCD"], 1: ["AEF"]}, 0),
    "2d": ([0, 0, 1, 1, 0, 0], {0: ["ABD"], 1: ["BCF", "DE"]}, 0),
}


def published(classes, merged, unprotected):
    rows = []
    for items, group in zip(ORIGINAL, classes, strict=True):
        of_item = {item: label for label in merged[group] for item in label}
        rows.append({of_item.get(item, item) for item in items if unprotected or item not in "GH"})
    return frame_of(rows).assign(cluster=classes)


@pytest.mark.parametrize("figure", FIGURES)
def test_published_figures(figure):
    classes, merged, at_risk = FIGURES[figure]
    guarantee = KKm(2, 2, ["cluster"])
    assert published(classes, merged, False).txanon.audit(guarantee).rows_at_risk == at_risk
    assert not published(classes, merged, True).txanon.audit(guarantee).holds


def test_neither_of_the_two_alone():
    frame = frame_of([{"a"}, {"b"}, {"a"}, {"b"}]).assign(sex=list("ffmm"))
    assert frame.txanon.audit(KAnonymity(2, ["sex"])).holds
    assert frame.txanon.audit(KmAnonymity(2, 2)).holds
    assert frame.txanon.audit(KKm(2, 2, ["sex"])).rows_at_risk == 4


def test_columns_may_be_named_like_those_of_the_threats():
    frame = frame_of([{"a"}, {"b"}, {"b"}]).assign(why=["u", "v", "v"], support=1)
    threats = frame.txanon.audit(KKm(2, 1, ["why", "support"])).threats
    assert [*threats.columns] == ["why", "support", "itemset", "support", "why"]
    assert threats.iloc[0, [0, 3, 4]].tolist() == ["u", 1, "class"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, 2, ["sex"]), pdanon.ParameterError),
        ((2, 0, ["sex"]), pdanon.ParameterError),
        ((2, 2, "sex"), pdanon.ParameterError),
        ((2, 2, ["nowhere"]), pdanon.ColumnError),
        ((2, 2, ["items"]), pdanon.ColumnError),
    ],
)
def test_refusals(arguments, error):
    frame = frame_of([{"a"}]).assign(sex="f")
    with pytest.raises(error):
        frame.txanon.audit(KKm(*arguments))
