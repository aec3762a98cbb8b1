"""Utility constraints: blocks of the leaves of a hierarchy or of so many items, and how they are read."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import given, settings, strategies as st
from trees import naive_rows, ragged, trees

import pdanon
from examples import examples
from pdanon import Hierarchy, ItemsetDtypeError, ParameterError
from pdanon.guarantees import utility
from pdanon.itemsets.codes import Itemsets

TREE = {"*": {"drink": {"hot": ["tea", "coffee"], "cold": ["milk"]}, "food": ["rice", "bread"]}}


def naive_level(tree, level, depth=0):
    """Blocks of leaves, by recursion: everything below a node of the level, or a leaf above it."""
    name, children = tree
    if children is None:
        return [[name]]
    below = [block for child in children for block in naive_level(child, level, depth + 1)]
    return [[leaf for block in below for leaf in block]] if depth >= level else below


def lists_of(blocks):
    return [list(block) for _, block in blocks.groupby("block")["item"]]


# --- made from a hierarchy


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(tree=trees(), level=st.integers(0, 5))
def test_blocks_of_a_level_are_the_leaves_below_its_nodes(tree, level):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    blocks = utility.by_level(hierarchy, level)
    nested = nested_of(hierarchy)
    assert lists_of(blocks) == naive_level(nested, level)
    assert blocks["item"].tolist() == [leaf for block in naive_level(nested, 0) for leaf in block]
    assert blocks["block"].is_monotonic_increasing


def nested_of(hierarchy, node=0):
    """A hierarchy as (name, children) again: sources may have joined nodes of one name."""
    if hierarchy.is_leaf[node]:
        return hierarchy.names[node], None
    return hierarchy.names[node], [nested_of(hierarchy, child) for child in hierarchy.children(node)]


@pytest.mark.parametrize(
    ("level", "blocks"),
    [
        (0, [["tea", "coffee", "milk", "rice", "bread"]]),
        (1, [["tea", "coffee", "milk"], ["rice", "bread"]]),
        (2, [["tea", "coffee"], ["milk"], ["rice"], ["bread"]]),  # rice and bread are leaves of this level
        (9, [["tea"], ["coffee"], ["milk"], ["rice"], ["bread"]]),
    ],
)
def test_blocks_of_the_levels_of_a_small_tree(level, blocks):
    for source in (TREE, Hierarchy.of(TREE)):
        made = utility.by_level(source, level)
        assert lists_of(made) == blocks
        assert made.dtypes.tolist() == [pd.Series(["text"]).dtype, np.int64]


@pytest.mark.parametrize("level", [-1, 1.0, "1", True, None])
def test_no_such_level(level):
    with pytest.raises(pdanon.ParameterError, match="level must be an integer of at least 0"):
        utility.by_level(TREE, level)


def test_no_hierarchy():
    with pytest.raises(pdanon.ParameterError, match="fan-out needs the items"):
        utility.by_level(5, 1)


def test_blocks_of_a_hierarchy_fit_items_of_any_type():
    """The names of leaves are text; items that are numbers or dates are found by it."""
    days = [date(2020, 1, day) for day in range(1, 5)]
    for items in ([1, 2, 10, 20], [0.1, 0.25, 1e300, 3.0], days, [*"abcd"]):
        frame = pd.DataFrame({"items": pdanon.as_itemsets([[item] for item in items])})
        blocks = utility.by_level(Hierarchy.balanced(items, 2), 1)
        result = frame.txanon.upcta(k=2, m=1, utility=blocks)
        assert result.mapping["generalized"].value_counts().tolist() == [2, 2]
        text = [str(Itemsets.from_series(frame["items"]).texts()[code]) for code in range(2)]
        assert result.mapping["generalized"][0] == f"({text[0]},{text[1]})"


# --- made by size


@pytest.mark.parametrize("size", [1, 2, 25, 50, 125, 250, 500])
def test_blocks_of_so_many_items(size):
    items = [f"i{number}" for number in np.random.default_rng(0).permutation(497)]
    blocks = utility.by_size(items, size)
    assert lists_of(blocks) == [items[start : start + size] for start in range(0, 497, size)]
    assert list(blocks.columns) == ["item", "block"]


def test_items_in_any_form_and_once():
    expected = utility.by_size([3, 1, 2], 2)
    assert lists_of(expected) == [[3, 1], [2]]
    for items in (
        (3, 1, 2),
        iter([3, 1, 3, 2, 1]),
        np.array([3, 1, 2]),
        pd.Series([3, 1, 2]),
        pd.Index([3, 1, 2]),
    ):
        pd.testing.assert_frame_equal(utility.by_size(items, 2), expected)
    frame = frame_of([{"b", "a"}, {"c"}])
    assert lists_of(utility.by_size(frame["items"].itemset.items, 2)) == [["a", "b"], ["c"]]
    assert len(utility.by_size([], 3)) == 0


@pytest.mark.parametrize("size", [0, -1, 1.5, "5", None, True])
def test_no_such_size(size):
    with pytest.raises(pdanon.ParameterError, match="size must be an integer of at least 1") as caught:
        utility.by_size([SECRET], size)
    assert SECRET not in str(caught.value)


# --- reading


@settings(max_examples=examples(60))
@given(
    st.permutations([*"abcdefgh"]),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.permutations(range(4)),
)
def test_forms_are_read_alike(items, numbers, order):
    lists = [[item for item, number in zip(items, numbers, strict=True) if number == each] for each in order]
    table = pd.DataFrame({"item": items, "block": numbers})
    itemsets = Itemsets.from_series(pdanon.as_itemsets([[*"abcdefgh"]]))
    expected = dict(zip(items, numbers, strict=True))
    by_label = (table, dict(zip(order, lists, strict=True)))
    for form in by_label:
        found = utility.item_blocks(utility.partition(form), itemsets.vocabulary)
        assert dict(zip("abcdefgh", found.tolist(), strict=True)) == expected
    by_order = (lists, {f"block {number}": each for number, each in zip(order, lists, strict=True)})
    for form in by_order:
        found = utility.item_blocks(utility.partition(form), itemsets.vocabulary)
        assert dict(zip("abcdefgh", found.tolist(), strict=True)) == {
            item: order.index(number) for item, number in expected.items()
        }


def test_items_that_one_item_of_the_data_stands_for_may_not_be_in_two_blocks():
    """Two texts can be one number."""
    itemsets = Itemsets.from_series(pdanon.as_itemsets([[1.0, 2.0]]))
    with pytest.raises(pdanon.ParameterError, match="0 of 2 items are in none, 1 in several"):
        utility.item_blocks(utility.partition([["1", "2"], ["1.0"]]), itemsets.vocabulary)


def test_the_frame_of_blocks_is_not_changed():
    table = pd.DataFrame({"item": ["a", "b"], "block": [1, 2]})
    before = table.copy()
    frame_of([{"a"}, {"b"}]).txanon.coat(k=2, m=1, utility=table, max_suppressed=1.0)
    pd.testing.assert_frame_equal(table, before)


# --- by prefix


@given(st.lists(st.text(alphabet="E1.", max_size=4), unique=True), st.integers(1, 5))
def test_codes_that_begin_alike_share_a_block(codes, length):
    blocks = utility.by_prefix(codes, length)
    assert blocks["item"].tolist() == codes
    own = dict(zip(codes, blocks["block"], strict=True))
    for one in codes:
        for other in codes:
            assert (own[one] == own[other]) == (one[:length] == other[:length])
    assert sorted({*own.values()}) == [*range(len({*own.values()}))]


@pytest.mark.parametrize("blocks", [utility.by_size, utility.by_prefix])
def test_a_table_is_not_read_as_the_names_of_its_columns(blocks):
    with pytest.raises(ParameterError, match="items must not be a table") as caught:
        blocks(frame_of([{"a", "b"}]), 1)
    assert "itemset.items" in str(caught.value)


def test_what_has_no_beginning_is_refused():
    with pytest.raises(ParameterError, match="length must be an integer of at least 1"):
        utility.by_prefix(["E11"], 0)
    with pytest.raises(ItemsetDtypeError, match="codes must be text") as caught:
        utility.by_prefix([11, 12], 1)
    assert "2 of other types" in str(caught.value)


def test_sets_of_a_release_keep_to_the_beginnings():
    rows = [["E1", "I1"], ["E2"], ["I2", "E1"], ["M1"], ["M2"], ["I1"]]
    frame = pd.DataFrame({"codes": rows})
    chapters = utility.by_prefix(frame["codes"].itemset.items, 1)
    legend = pdanon.anonymize(frame, k=2, m=1, utility=chapters).legend
    assert {label: {item[0] for item in own} for label, own in legend.groupby("label")["item"]} == {
        "(E1,E2)": {"E"},
        "(I1,I2)": {"I"},
        "(M1,M2)": {"M"},
    }


# --- made from rules


def test_blocks_of_rules_are_single_items():
    rules = pd.DataFrame({"antecedent": [["b"], ["b", "d"]], "consequent": [["d"], ["e"]]})
    items = ["a", "b", "c", "d", "e", "f", "b"]
    for given_rules in (rules, [(["b"], ["d"]), (["b", "d"], ["e"])]):
        blocks = utility.from_rules(given_rules, items)
        assert blocks["item"].tolist() == ["a", "b", "c", "d", "e", "f"]
        assert blocks["block"].tolist() == [0, 1, 0, 2, 3, 0]
    assert utility.from_rules([], items)["block"].tolist() == [0] * 6
    numbers = pd.DataFrame({"antecedent": [np.array([2])], "consequent": [np.array([3])]})
    assert utility.from_rules(numbers, [1, 2, 3])["block"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([(["a"], [SECRET])], "1 of 2 items of the rules"),
        ([([1], [2])], "2 of 2 items of the rules"),
        ([(["a"],)], "a rule is a pair of lists"),
        ([("a", "b")], "rules must be a list of items"),
        (["a"], "1 of 1 are no pairs"),
        (3, "rules must be a list"),
        (pd.DataFrame({"antecedent": [["a"]]}), "lacks a column"),
    ],
)
def test_bad_rules_are_refused_without_item_text(rules, message):
    with pytest.raises(ParameterError, match=message) as caught:
        utility.from_rules(rules, ["a", "b"])
    assert SECRET not in str(caught.value)


@settings(max_examples=examples(200, part=10))
@given(row_lists(least=3), st.sampled_from(["coat", "upcta"]), st.booleans(), st.booleans())
def test_rules_of_published_items_are_kept(rows, name, may_suppress, refined):
    """A rule is kept, with its confidence, or one of its items is suppressed."""
    frame = frame_of(rows)
    thresholds = {"min_support": 0.3, "min_confidence": 0.5}
    rules = pdanon.metrics.patterns.rules(frame, **thresholds)
    if rules.empty:
        return
    blocks = utility.from_rules(rules, frame["items"].itemset.items)
    parameters = {"k": 2, "m": 2, "utility": blocks, "max_suppressed": 1 if may_suppress else 0}
    if sum(map(bool, rows)) < 2:
        return
    try:
        result = getattr(frame.txanon, name)(**parameters, refine=refined)
    except pdanon.InfeasibleError:
        assert not may_suppress
        return
    gone = set(result.mapping.loc[result.mapping["generalized"].isna(), "item"])
    before = pdanon.metrics.patterns.rule_errors(frame, result, **thresholds).original
    items = [{*left, *right} for left, right in zip(before["antecedent"], before["consequent"], strict=True)]
    expected = ["lost" if gone & each else "kept" for each in items]
    assert before["verdict"].tolist() == expected
    assert may_suppress or "lost" not in expected
    kept = before[before["verdict"] == "kept"]
    assert kept["estimate"].tolist() == pytest.approx(kept["confidence"].tolist())
