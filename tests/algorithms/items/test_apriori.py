"""Apriori: the very cut of a naive run, and what simpler runs get wrong."""

from __future__ import annotations

import pytest
from conftest import frame_of, rows_of
from hypothesis import given, settings
from naive import cuts as naive_cuts, itemsets as naive
from naive.cuts import SMALL_TREE, hierarchy_of, problems

from examples import examples


def became_of(result):
    return dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))


def apriori_of(rows, tree, **asked):
    return became_of(frame_of(rows).txanon.apriori(hierarchy=hierarchy_of(tree), **asked))


@pytest.mark.parametrize("m", [1, 2, 3])
@settings(max_examples=examples(60))
@given(problem=problems(longest=3))
def test_cut_is_that_of_the_naive_run(m, problem):
    tree, rows, k = problem
    expected = naive_cuts.apriori(rows, tree, k, m)
    items = sorted(set().union(*rows))
    assert apriori_of(rows, tree, k=k, m=m) == {item: expected[item] for item in items}


def test_smaller_itemsets_are_protected_too():
    """a1 is in no pair, and all pairs are in two rows: who counts pairs only releases it."""
    rows = [{"a1"}, {"b1", "b2"}, {"b1", "b2"}, {"a2"}]
    assert {pair for pair in naive.supports(map(frozenset, rows), 2) if len(pair) == 2} == {
        frozenset(["b1", "b2"])
    }
    assert apriori_of(rows, SMALL_TREE, k=2, m=2) == {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"}


def test_node_and_what_is_below_it_are_no_itemset():
    """{A,a2} would be in one row, as a2 is, and not for its own sake. All of A is what becomes of a2."""
    rows = [{"a1", "b1"}, {"a1", "b1"}, {"a1", "a2", "b1"}]
    frame, _ = frame_of(rows).txanon.apriori(k=2, m=3, hierarchy=hierarchy_of(SMALL_TREE))
    assert rows_of(frame) == [{"A", "b1"}] * 3


def test_siblings_follow_though_they_are_in_no_rare_itemset():
    """a1 becomes A, and a2 was frequent. Who leaves it as it is publishes a node and its parent."""
    rows = [{"a1"}, *[{"a2"}] * 5, {"b1"}, {"b1"}]
    assert apriori_of(rows, SMALL_TREE, k=2, m=1) == {"a1": "A", "a2": "A", "b1": "b1"}


def test_siblings_that_are_categories_follow_with_all_their_leaves():
    """The leaf x lies beside the category Q; its rare pair lifts both to P."""
    tree = ("*", [("P", [("x", None), ("Q", [("y", None), ("z", None)])]), ("w", None)])
    rows = [{"x"}, {"y"}, {"y"}, {"z"}, {"z"}, {"w"}, {"w"}]
    assert apriori_of(rows, tree, k=2, m=1) == dict.fromkeys("xyz", "P") | {"w": "w"}


def test_root_is_a_node_like_others():
    """No category is in two rows. Who stops below the root finds no release, though there is one."""
    rows = [{"a1"}, {"b1"}]
    assert apriori_of(rows, SMALL_TREE, k=2, m=1) == {"a1": "*", "b1": "*"}


def test_losses_of_leaves_and_of_categories():
    """NCP charges a category its share of the leaves, LM one leaf less; a leaf costs nothing in both."""
    rows = [{"a1"}, {"a2"}, {"b1"}, {"b1"}]
    result = frame_of(rows).txanon.apriori(k=2, m=1, hierarchy=hierarchy_of(SMALL_TREE))
    assert result.loss["NCP"] == pytest.approx((2 / 4 * 2) / 4)
    assert result.loss["LM"] == pytest.approx((1 / 3 * 2) / 4)
