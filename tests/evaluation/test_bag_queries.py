"""Queries on bags, queries with absent items, and measures of groups: against naive counts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import assume, given, settings, strategies as st
from naive import queries as naive

import pdanon
from examples import examples
from pdanon import ParameterError, Workload
from pdanon.evaluation.metrics.equivalence_classes import class_measures, class_sizes

FOOD = {"Fruit": ["a", "b", "c"], "Meat": ["d", "e"], "Dairy": ["f", "g"]}
MEANING = {"*": [*"abcdefg"], **FOOD, **{item: [item] for item in "abcdefg"}}
rows_of_items = st.lists(st.frozensets(st.sampled_from("abcdefg"), max_size=4), min_size=3, max_size=9)
items = st.frozensets(st.sampled_from("abcdefg"), max_size=3)


def asked(frame, present, absent):
    """A workload, without the queries that ask for nothing and the items that do not occur."""
    there = frozenset().union(*frame["items"])
    pairs = [(p & there, (a & there) - p) for p, a in zip(present, absent, strict=False)]
    pairs = [(p, a) for p, a in pairs if p | a]
    assume(pairs)
    queries = {label: [sorted(pair[i]) for pair in pairs] for i, label in enumerate(("items", "no"))}
    queries = pd.DataFrame({label: pdanon.as_itemsets(lists) for label, lists in queries.items()})
    return pairs, Workload.from_frame(queries, "items", absent="no")


@pytest.mark.slow
@settings(max_examples=examples(2_000, 25))
@given(rows_of_items, st.lists(items, min_size=3), st.lists(items, min_size=3), st.integers(2, 3))
def test_queries_on_bags(rows, present, absent, k):
    frame = frame_of(rows)
    try:
        result = pdanon.clump(frame, k=k, hierarchy=FOOD)
    except pdanon.InfeasibleError:
        return
    pairs, workload = asked(frame, present, absent)
    answers = workload.are(frame, result, hierarchy=FOOD)
    bags = [list(row) for row in result.frame["items"]]
    for (p, a), answer in zip(pairs, answers.table.itertuples(), strict=True):

        def odds(query):
            return sum(naive.bag_odds(query, bag, MEANING) for bag in bags)

        assert answer.actual == naive.count_without(p, a, rows)
        if any(len(bag) > len(set(bag)) for bag in bags):
            assert answer.estimate == pytest.approx(float(naive.estimate_without(p, a, odds)), abs=1e-9)


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(rows_of_items, st.lists(items, min_size=3), st.lists(items, min_size=3), st.data())
def test_absent_items(rows, present, absent, data):
    """In sets, with the release that merges items and the one that publishes them."""
    frame = frame_of(rows)
    assume(sum(map(bool, rows)) >= 2)
    pairs, workload = asked(frame, present, absent)
    mode = data.draw(st.sampled_from(["subset", "uniform", "optimistic", "none"]))
    result = pdanon.pcta(frame, k=2, m=1)
    label_of = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    meaning = {label: [i for i, own in label_of.items() if own == label] for label in label_of.values()}
    published = [frozenset(row) for row in result.frame["items"]]
    for released, own in ((result, (published, meaning)), (frame, (rows, {i: [i] for i in "abcdefg"}))):
        answers = workload.are(frame, released, mode=mode)
        for (p, a), answer in zip(pairs, answers.table.itertuples(), strict=True):
            expected = naive.estimate_without(p, a, lambda q, own=own: naive.estimate(q, *own, mode))
            assert answer.actual == naive.count_without(p, a, rows)
            assert answer.estimate == pytest.approx(float(expected), abs=1e-9)


def test_conditions_beside_bags():
    """Ages of 2 of 4 rows, in groups of equal bags."""
    frame = frame_of(["ab", "ac", "de", "de"]).assign(age=[1, 2, 1, 2])
    released = frame.assign(items=pd.Series([["Fruit", "Fruit"]] * 2 + [["Meat", "Meat"]] * 2))
    queries = pd.DataFrame({"items": [["a"], ["a", "b"], ["d", "e"], ["a", "d"]], "age": [1, None, 2, None]})
    answers = Workload.from_frame(queries).are(frame, released, hierarchy=FOOD)
    assert answers.table["actual"].tolist() == [1, 1, 1, 0]
    assert answers.table["estimate"].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 0])


def test_an_item_below_two_labels():
    """Another item of the leftovers may be a fruit, too: Fruit and Food of three items a, b and d."""
    tree = {"Fruit": ["a", "b"], "Meat": ["d"]}
    frame = frame_of(["ab", "ad"])
    released = frame.assign(items=pd.Series([["Fruit", "Fruit", "*"], ["Fruit", "*", "*"]]))
    answers = Workload.from_frame(pd.DataFrame({"items": [["a"], ["d"]]})).are(
        frame, released, hierarchy=tree
    )
    second = 1 - Fraction(1, 2) * Fraction(1, 3)  # not the fruit, and neither of two of three
    assert answers.table["estimate"].tolist() == pytest.approx([float(1 + second), float(1 / 3 + 2 / 3)])


@pytest.mark.parametrize("mode", ["uniform", "optimistic", "none"])
def test_bags_have_one_estimate(mode):
    frame = frame_of(["ab", "ac"])
    released = frame.assign(items=pd.Series([["Fruit", "Fruit"]] * 2))
    workload = Workload.from_frame(pd.DataFrame({"items": [["a"]]}))
    with pytest.raises(ParameterError, match="a release of bags has no such estimate") as caught:
        workload.are(frame, released, hierarchy=FOOD, mode=mode)
    assert mode in str(caught.value)


def test_refused_queries():
    frame = frame_of([[f"i{n:02}" for n in range(20)]] * 2)
    queries = pd.DataFrame({"items": [["i00"]], "no": [["i01"]]})
    with pytest.raises(ParameterError, match="absent needs column"):
        Workload.from_frame(queries, absent="no")
    with pytest.raises(ParameterError, match="both present and absent"):
        Workload.from_frame(queries.assign(no=[["i00"]]), "items", absent="no")
    with pytest.raises(ParameterError, match="at most 10 absent items"):
        Workload.from_frame(queries.assign(no=[[f"i{n:02}" for n in range(1, 12)]]), "items", absent="no")
    with pytest.raises(ParameterError, match="every query needs an item"):
        Workload.from_frame(queries.assign(items=[[]], no=[[]]), "items", absent="no")
    with pytest.raises(pdanon.ColumnError):
        Workload.from_frame(queries, "items", absent="nowhere")
    unknown = Workload.from_frame(queries.assign(no=[["other"]]), "items", absent="no")
    with pytest.raises(ParameterError, match="does not occur in the original") as caught:
        unknown.are(frame, frame)
    assert "other" not in str(caught.value)


def test_absent_items_are_kept_in_files(tmp_path):
    queries = pd.DataFrame({"items": pdanon.as_itemsets([["a"], []]), "no": pdanon.as_itemsets([[], ["b"]])})
    workload = Workload.from_frame(queries, "items", absent="no")
    assert repr(workload) == "Workload(queries=2, column='items', absent='no', conditions=[])"
    workload.to_parquet(tmp_path / "queries.parquet")
    again = Workload.read_parquet(tmp_path / "queries.parquet", "items", absent="no")
    frame = frame_of(["ab", "a", "b"])
    assert again.are(frame, frame).table["actual"].tolist() == [2, 1]


# --- groups of equal lists


lists = st.none() | st.lists(st.sampled_from("abc"), max_size=3)


@pytest.mark.slow
@settings(max_examples=examples(2_000, 25))
@given(st.lists(st.tuples(lists, st.integers(0, 1), st.sampled_from("xyz")), min_size=1, max_size=12))
def test_groups_of_bags(rows):
    frame = pd.DataFrame(
        {
            "items": pd.Series([row[0] for row in rows], dtype=object),
            "age": [row[1] for row in rows],
            "kind": [row[2] for row in rows],
        }
    )
    assume(frame["items"].notna().any())
    bags = [None if row[0] is None else tuple(sorted(row[0])) for row in rows]
    for quasi, keys in (
        (["items"], bags),
        (["items", "age"], [(bag, row[1]) for bag, row in zip(bags, rows, strict=True)]),
    ):
        assert class_sizes(frame, quasi).tolist() == naive.class_sizes(keys)
        found = class_measures(frame, quasi, k=2, target="kind")
        assert found["DM"] == sum(keys.count(key) for key in keys)
        kinds = {}
        for key, row in zip(keys, rows, strict=True):
            kinds.setdefault(key, Counter())[row[2]] += 1
        wrong = sum(sum(each.values()) - max(each.values()) for each in kinds.values())
        assert found["CM"] == pytest.approx(wrong / len(rows))


def test_no_rows_lose_nothing():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([]), "kind": []})
    assert class_measures(frame, ["items"], k=2, target="kind").tolist() == [0] * 6


def test_groups_of_clump():
    rng = np.random.default_rng(0)
    frame = frame_of([sorted(rng.choice([*"abcdefg"], rng.integers(1, 5), replace=False)) for _ in range(60)])
    result = pdanon.clump(frame, k=5, hierarchy=FOOD)
    assert class_sizes(result.frame, ["items"]).min() >= 5
