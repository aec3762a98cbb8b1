"""Domain exclusiveness: pairs of released labels of which one is above the other."""

from __future__ import annotations

import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings, strategies as st
from naive.cuts import hierarchy_of, subtrees, trees

import pdanon
from examples import examples


@st.composite
def released(draw):
    """A tree, and rows of any of its nodes and of another label."""
    tree = draw(trees(items=draw(st.permutations("abcdefgh"))))
    names = sorted({name for name, _ in subtrees(tree)})
    return tree, draw(row_lists(items=[*names, "other"], most=12, longest=5))


@pytest.mark.slow
@settings(max_examples=examples(2000, part=12))
@given(released())
def test_pairs_are_those_of_a_naive_search(task):
    tree, rows = task
    expected = set()
    for name, children in subtrees(tree):
        for child in children or ():
            for below, _ in subtrees(child):
                supports = [sum(label in row for row in rows) for label in (name, below)]
                if all(supports):
                    expected.add((name, supports[0], below, supports[1]))
    found = frame_of(rows)["items"].itemset.nested_labels(hierarchy_of(tree))
    assert len(found) == len(expected)
    assert set(found.itertuples(index=False, name=None)) == expected


BASKETS = pdanon.as_itemsets([["ale", "pie"], ["gin", "pie"], ["pie"], ["pie", "rye"], ["ale"]] * 2)
TREE = {"all": {"drink": ["ale", "gin"], "food": ["pie", "rye"]}}


@pytest.mark.parametrize("name", ["hghs", "mhghs", "apriori"])
def test_global_cuts_have_domain_exclusiveness(name):
    frame = BASKETS.rename("items").to_frame()
    result = getattr(frame.txanon, name)(k=3, m=2, hierarchy=TREE)
    assert result.frame["items"].itemset.nested_labels(TREE).empty


def test_partition_may_publish_a_node_and_one_above():
    frame = pdanon.as_itemsets([["ale"], ["ale"], ["ale", "pie"], ["gin", "pie"]]).rename("items").to_frame()
    result = frame.txanon.partition(k=2, hierarchy=TREE)
    found = result.frame["items"].itemset.nested_labels(TREE)
    assert found[["label", "below"]].to_numpy().tolist() == [["drink", "ale"]]


def test_the_root_is_above_every_label():
    found = pdanon.as_itemsets([["all"], ["ale", "food"]]).itemset.nested_labels(TREE)
    assert found[["label", "below"]].to_numpy().tolist() == [["all", "ale"], ["all", "food"]]


def test_what_is_no_tree_is_refused():
    with pytest.raises(pdanon.HierarchyError):
        BASKETS.itemset.nested_labels({"all": {"drink": ["ale"], "food": ["ale"], "x": {"all": ["b"]}}})
