"""Pattern measures against literal definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive, queries as naive_queries

from examples import examples
from pdanon import ParameterError, Workload
from pdanon.evaluation.metrics import association_rules, patterns
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.support import SupportIndex

PATHS = {
    "a": ["a", "A", "X", "*"],
    "b": ["b", "A", "X", "*"],
    "c": ["c", "B", "X", "*"],
    "d": ["d", "B", "X", "*"],
    "e": ["e", "Y", "*"],
    "f": ["f", "Y", "*"],
}
TREE = {"*": {"X": {"A": ["a", "b"], "B": ["c", "d"]}, "Y": ["e", "f"]}}
SHARES = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.5, 2 / 3, 1.0])


def least_rows(share, n):
    return max(-(-Fraction(share).limit_denominator(100) * n // 1), 1)


@settings(max_examples=examples(40))
@given(row_lists(least=1), SHARES, st.none() | st.integers(1, 3))
def test_frequent_itemsets(rows, share, most):
    table = association_rules.frequent_itemsets(frame_of(rows), min_support=share, max_size=most)
    expected = naive_queries.frequent(rows, least_rows(share, len(rows)), most)
    assert rows_of(table, "itemset") == [frozenset(each) for each in naive.by_size(expected)]
    assert table["support"].tolist() == [expected[each] for each in rows_of(table, "itemset")]


def test_a_share_is_compared_exactly():
    """0.1 * 30 is a little above 3 as a float; three of thirty rows are a tenth of them."""
    frame = frame_of([{"a"}] * 3 + [set()] * 27)
    assert association_rules.frequent_itemsets(frame, min_support=0.1)["support"].tolist() == [3]


@settings(max_examples=examples(40))
@given(row_lists(least=1, most=70), st.integers(1, 6), st.none() | st.integers(1, 3), st.integers(1, 100))
def test_a_search_ends_above_a_number(rows, least, most, enough):
    index = SupportIndex.of(Itemsets.from_series(frame_of(rows)["items"]))
    n = len(naive_queries.frequent(rows, least, most))
    found = len(patterns._list_frequent(index, least, most, enough))
    assert found == n if n <= enough else found > enough


def test_what_cannot_be_listed_is_refused_at_once():
    """40 items in two rows are 2**40 itemsets."""
    row = {f"{SECRET}-{number}" for number in range(40)}
    frame = frame_of([row, row, {"a"}, {"a"}])
    calls = {
        "min_support": [
            lambda: association_rules.frequent_itemsets(frame, min_support=0.5),
            lambda: association_rules.frequent_itemsets(frame, min_support=0.5, max_size=10),
            lambda: Workload.frequent(frame),
            lambda: patterns.ml2(
                frame, frame.txanon.apriori(k=2, hierarchy=2).mapping, hierarchy=2, min_support=0.5
            ),
        ],
        "top": [lambda: patterns.tkd(frame, frame, top=100)],
    }
    for where, each in ((where, call) for where, some in calls.items() for call in some):
        with pytest.raises(ParameterError, match="too many frequent itemsets") as caught:
            each()
        assert f"where: {where}" in str(caught.value)
        assert SECRET not in str(caught.value)
    assert len(association_rules.frequent_itemsets(frame, min_support=0.5, max_size=2)) == 41 + 40 * 39 // 2


@settings(max_examples=examples(40))
@given(
    row_lists(least=1),
    SHARES,
    st.lists(st.fixed_dictionaries({each: st.integers(-1, 3) for each in "abcdef"}), min_size=1, max_size=2),
)
def test_ml2_by_definition(rows, share, cuts):
    """Any item published as any of its ancestors or suppressed, differently in one or two groups."""
    occurring = sorted(frozenset().union(*rows))
    if not occurring:
        return
    places = {
        item: [None if cut[item] < 0 else min(cut[item], len(PATHS[item]) - 1) for cut in cuts]
        for item in occurring
    }
    entries = [
        (group, item, None if places[item][group] is None else PATHS[item][places[item][group]])
        for group in range(len(cuts))
        for item in occurring
    ]
    mapping = pd.DataFrame(entries, columns=["group", "item", "generalized"])
    mapping["generalized"] = text_column(mapping["generalized"].to_numpy(object, na_value=None))
    measured = patterns.ml2(frame_of(rows), mapping, hierarchy=TREE, min_support=share)
    # The level of the root is that of the whole hierarchy, whichever items occur.
    paths = {item: PATHS[item] + ["*"] * (4 - len(PATHS[item])) for item in occurring}
    expected = naive_queries.ml2(rows, paths, places, least_rows(share, len(rows)))
    assert measured.to_dict() == pytest.approx({"ML2": float(expected[0]), "dML2": float(expected[1])})


def test_ml2_by_hand():
    """Level 0: a, b, ab; level 1: A, level 2: X; level 3: the root. b became A: b and ab are lost."""
    frame = frame_of([{"a", "b"}] * 2 + [{"a"}, {"b"}])
    mapping = pd.DataFrame({"group": 0, "item": ["a", "b"], "generalized": ["a", "A"]})
    measured = patterns.ml2(frame, mapping, hierarchy=TREE, min_support=0.5)
    assert measured.to_dict() == pytest.approx({"ML2": 2 / 6, "dML2": 2 / 3})


@settings(max_examples=examples(40))
@given(row_lists(least=1), st.integers(1, 30), st.integers(2, 3))
def test_tkd_by_definition(rows, top, k):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k:
        return
    released = frame.txanon.pcta(k=k, m=1).frame
    before, after = naive_queries.top(rows, top), naive_queries.top(rows_of(released), top)
    expected = 1 - len(before & after) / len(before) if before else 0
    assert patterns.tkd(frame, released, top=top) == pytest.approx(expected)
    assert patterns.tkd(frame, frame, top=top) == 0


def test_workload_of_frequent_itemsets():
    frame = make_baskets(200, 20, random_state=1)[["items"]]
    frequent = naive_queries.frequent(rows_of(frame), 10, 2)
    queries = rows_of(Workload.frequent(frame, 20, 0.05, random_state=1).queries)
    assert len(set(queries)) == 20
    assert all(naive.support(rows_of(frame), each) >= 10 for each in queries)
    everything = rows_of(Workload.frequent(frame, 10**6, 0.05).queries)
    assert {each for each in everything if len(each) <= 2} == set(frequent)


# --- supports of items and pairs; without a miner


@settings(max_examples=examples(40))
@given(row_lists(least=3), st.sampled_from(["subset", "uniform"]), st.integers(2, 3))
def test_errors_of_items_and_pairs(rows, mode, k):
    frame = frame_of(rows)
    items = sorted(frozenset().union(*rows))
    if sum(map(bool, rows)) < k or len(items) < 2:
        return
    result = frame.txanon.pcta(k=k, m=2)
    meaning = {}
    for item, label in zip(result.mapping["item"], result.mapping["generalized"], strict=True):
        meaning.setdefault(label, set()).add(item)
    released = rows_of(result.frame)

    def counts(itemset):
        return naive.support(rows, itemset), naive_queries.estimate(itemset, released, meaning, mode)

    table = patterns.item_errors(frame, result, mode=mode)
    assert table["item"].tolist() == items
    expected = [abs(a - e) / a for a, e in (counts(frozenset([item])) for item in items)]
    assert table["error"].tolist() == pytest.approx([float(each) for each in expected])

    table = patterns.pair_errors(frame, result, ranks=(0, 4), mode=mode)
    ranked = sorted(items, key=lambda item: (-naive.support(rows, {item}), item))[:4]
    pairs = [frozenset((a, b)) for i, a in enumerate(ranked) for b in ranked[i + 1 :]]
    assert rows_of(table, "itemset") == pairs
    for pair, error in zip(pairs, table["error"], strict=True):
        actual, estimate = counts(pair)
        if actual + estimate:
            assert error == pytest.approx(float(abs(actual - estimate) / ((actual + estimate) / 2)))
        else:
            assert np.isnan(error)


# --- bad input

FRAME = frame_of([{SECRET, "a"}, {"a", "b"}, {"b"}])
RESULT = FRAME.txanon.pcta(k=3, m=2)
FOREST = {"*": {"A": ["a", "b"], "B": [SECRET]}}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: association_rules.frequent_itemsets(FRAME, min_support=0), "min_support must be above 0"),
        (
            lambda: association_rules.frequent_itemsets(FRAME, min_support=2),
            r"min_support must be a number in \[0, 1\]",
        ),
        (lambda: association_rules.frequent_itemsets(FRAME, min_support="5%"), "min_support must be"),
        (lambda: association_rules.frequent_itemsets(FRAME, min_support=1, max_size=0), "max_size must be"),
        (lambda: patterns.ml2(FRAME, RESULT.mapping, hierarchy=FOREST, min_support=1), "1 of 1 labels"),
        (lambda: patterns.ml2(FRAME, FRAME, hierarchy=FOREST, min_support=1), "lacks columns"),
        (lambda: patterns.tkd(FRAME, FRAME, top=0), "top must be"),
        (lambda: patterns.pair_errors(FRAME, RESULT, ranks=(2, 9)), r"\(2, 9\) of 3 items"),
        (lambda: patterns.pair_errors(FRAME, RESULT, ranks=(-1, 9)), "ranks must be"),
        (lambda: patterns.pair_errors(FRAME, RESULT, ranks=3), "ranks must be two"),
        (lambda: patterns.item_errors(FRAME, RESULT, mode="best"), "no such mode"),
        (lambda: patterns.item_errors(frame_of([set()]), frame_of([set()])), "no row has an item"),
    ],
)
def test_bad_input_is_refused_without_item_text(act, message):
    with pytest.raises(ParameterError, match=message) as caught:
        act()
    assert SECRET not in str(caught.value)


def test_nothing_is_frequent():
    with pytest.raises(ParameterError, match="no itemset is frequent"):
        Workload.frequent(frame_of([{"a"}, {"b"}]), min_support=1)
    with pytest.raises(ParameterError, match="no itemset is frequent"):
        Workload.frequent(frame_of([]))
    assert patterns.tkd(frame_of([]), frame_of([])) == 0
