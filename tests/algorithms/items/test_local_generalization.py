"""Local suppression with a hierarchy: what every attacker can find, and what rows become."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import example, given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import stream
from pdanon.algorithms.items import local_suppression

TREE = {"*": {"AC": {"AB": ["a", "b"], "C": ["c"]}, "DF": ["d", "e", "f"]}}
COVERED = {"AB": "ab", "C": "c", "AC": "abc", "DF": "def"} | {item: item for item in "abcdef"}
PRESENT = row_lists("abcdef", longest=5, most=14)


def released_by(rows, **asked):
    return frame_of(rows).txanon.local_suppression(hierarchy=TREE, **asked)


def became(result):
    """The label of each item of each row, by the groups and the mapping; None if it is deleted."""
    labels = result.mapping.set_index(["group", "item"])["generalized"].to_dict()
    return [{key[1]: label for key, label in labels.items() if key[0] == group} for group in result.groups]


def candidates(released, known):
    """The number of rows in which each known item has a label that stands for it."""
    return sum(all(any(item in COVERED[label] for label in row) for item in known) for row in released)


@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(400))
@given(rows=PRESENT, k=st.integers(2, 4), price=st.sampled_from([None, 1.01, 1.5, 1e6]))
@example(rows=[*map(frozenset, ["a", "ab", "abc", "b", "cd", "def", ""])], k=2, price=None)
def test_no_attacker_finds_fewer_than_k_rows(m, rows, k, price):
    """Of all itemsets of original rows, by all that labels of a row stand for."""
    if len(rows) < k:
        return
    released = rows_of(released_by(rows, k=k, m=m, deletion_price=price).frame)
    most = max(map(len, rows)) if m is None else m
    for row in rows:
        for size in range(1, most + 1):
            for known in combinations(sorted(row), size):
                assert not 0 < candidates(released, known) < k
    emptied = sum(bool(before) and not now for now, before in zip(released, rows, strict=True))
    assert emptied == 0 or sum(not now for now in released) >= k


def test_prices_do_not_depend_on_the_last_digits_of_a_power():
    """Processors differ in them, and ties of prices would break differently: steps lose single precision."""
    tree = pdanon.Hierarchy.balanced([f"i{number}" for number in range(60)], 3)
    above, prices = local_suppression._steps_up(tree, np.array([]), None, None)
    shares = [size / tree.n_leaves if size > 1 else 0.0 for size in tree.leaves.tolist()] + [1.0]
    for off in (1 - 2**-52, 1.0, 1 + 2**-52):
        lost = [float(np.float32(share**local_suppression._STEEP * off)) for share in shares]
        assert prices.tolist() == [lost[upper] - own for upper, own in zip(above, lost, strict=True)]


@settings(max_examples=examples(300))
@given(rows=PRESENT, k=st.integers(2, 4), m=st.sampled_from([1, 2, None]))
def test_groups_and_mapping_say_what_each_row_became(rows, k, m):
    """Each item has itself, a node above it, or nothing; supports add up to those of the original."""
    if len(rows) < k:
        return
    result = released_by(rows, k=k, m=m)
    own = became(result)
    for before, now, labels in zip(rows, rows_of(result.frame), own, strict=True):
        assert now == {labels[item] for item in before if not pd.isna(labels[item])}
        assert all(item in COVERED[labels[item]] for item in before if not pd.isna(labels[item]))
    supports = result.mapping.groupby("item")["support"].sum().to_dict()
    assert supports == {item: sum(item in row for row in rows) for item in frozenset().union(*rows)}


@settings(max_examples=examples(100))
@given(rows=PRESENT, k=st.integers(2, 4), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, k, order):
    if len(rows) < k:
        return
    places = [*range(len(rows))]
    order.shuffle(places)
    released = rows_of(released_by(rows, k=k, m=2).frame)
    again = rows_of(released_by([rows[place] for place in places], k=k, m=2).frame)
    assert again == [released[place] for place in places]


@settings(max_examples=examples(200))
@given(rows=PRESENT, k=st.integers(2, 4))
def test_a_hierarchy_of_one_level_deletes(rows, k):
    """Nothing is between an item and the root, so that each step is a deletion."""
    if len(rows) < k:
        return
    flat = {"*": [*"abcdef"]}
    frame = frame_of(rows)
    result = frame.txanon.local_suppression(k=k, m=2, hierarchy=flat)
    deleting = frame.txanon.local_suppression(k=k, m=2)
    assert all(now <= before for now, before in zip(rows_of(result.frame), rows, strict=True))
    assert result.loss["occurrences"] == result.loss["suppressed"]
    assert (result.loss["occurrences"] > 0) == (deleting.loss["occurrences"] > 0)


def test_rare_codes_become_the_node_that_enough_rows_share():
    rows = ["a", "b", "c", "c", "d", "d", "e", "f"]
    result = released_by([*map(frozenset, rows)], k=2, m=1)
    assert rows_of(result.frame) == [{"AB"}, {"AB"}, {"c"}, {"c"}, {"d"}, {"d"}, {"DF"}, {"DF"}]
    assert (result.loss["NCP"], result.loss["suppressed"]) == (pytest.approx((2 * 2 + 2 * 3) / 6 / 8), 0)


def test_a_node_with_one_leaf_is_skipped():
    """C stands for c alone, so that it is as rare as c."""
    rows = [*map(frozenset, ["c", "ab", "ab", "a", "b"])]
    result = released_by(rows, k=2, m=1)
    assert rows_of(result.frame)[0] == set()
    assert "C" not in {*result.mapping["generalized"].dropna()}


def test_a_node_waits_for_those_that_may_join_it():
    """Otherwise c would be deleted as the only AC, before a and b have come there."""
    result = released_by([*map(frozenset, "abc")], k=3, m=1)
    assert rows_of(result.frame) == [{"AC"}] * 3


def test_important_items_stay():
    rows = [frozenset("ad")] * 2 + [frozenset("a")] * 3 + [frozenset("d")] * 3
    for kept, weights in (("a", {"d": 0.1}), ("d", {"a": 0.1})):
        released = rows_of(released_by(rows, k=3, m=2, weights=weights).frame)
        assert all(kept in row for row in released[:2])


def test_a_low_price_changes_fewer_codes_and_a_high_one_keeps_them_lower():
    """No price is the cube root of half the leaves, as documented."""
    frame, tree = pdanon.read_parquet("examples/baskets.parquet"), "examples/baskets_hierarchy.csv"
    frame = frame[["items"]].head(300)
    usual = (pdanon.Hierarchy.of(tree).n_leaves / 2) ** (1 / 3)
    results = [
        frame.txanon.local_suppression(k=5, m=2, hierarchy=tree, deletion_price=price)
        for price in (1.1, usual, 1000)
    ]
    assert results[1].frame.equals(frame.txanon.local_suppression(k=5, m=2, hierarchy=tree).frame)
    low, usual, high = (result.loss["occurrences"] for result in results)
    assert low < usual < high
    levels = [pdanon.metrics.meaning.levels(result, tree)["changed"][2] for result in results]
    assert levels[0] < levels[1] < levels[2]
    assert results[0].loss["suppressed"] > results[2].loss["suppressed"]


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_releases_the_same_rows(seed, tmp_path):
    rng = np.random.default_rng(seed)
    rows = [frozenset(rng.choice([*"abcdef"], rng.integers(0, 5))) for _ in range(60)]
    frame = frame_of(rows)
    expected = frame.txanon.local_suppression(k=6, m=2, hierarchy=TREE)
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    written = stream.local_suppression(
        tmp_path / "in.parquet", tmp_path / "out.parquet", k=6, m=2, hierarchy=TREE
    )
    assert rows_of(pdanon.read_parquet(tmp_path / "out.parquet")) == rows_of(expected.frame)
    pd.testing.assert_frame_equal(written.mapping, expected.mapping)


def test_attacks_and_audits_read_the_nodes():
    """Who knows what rows became finds k rows; so does a second program that counts."""
    rng = np.random.default_rng(2)
    rows = [frozenset(rng.choice([*"abcdef"], rng.integers(1, 5))) for _ in range(40)]
    frame, result = frame_of(rows), released_by(rows, k=5, m=2)
    assert (result.loss[["occurrences", "NCP"]] > 0).all()
    assert result.guarantee.audit(result.frame).holds
    assert pdanon.audit(result.frame, result.guarantee, independent=True).holds
    assert frame.txanon.attack(result, n=100).cases["after"].min() >= 5
    assert len(frame.txanon.assess(result, n_attacks=50)) == 4


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"k": 2, "deletion_price": 1}, "deletion_price must be a number above 1"),
        ({"k": 2, "deletion_price": float("nan")}, "deletion_price must be a number above 1"),
        (
            {"guarantee": pdanon.LmDiversity(l=2, m=1, k=2, sensitive=["a"])},
            "items are generalized only for KmAnonymity",
        ),
    ],
)
def test_what_excludes_a_hierarchy(asked, what):
    with pytest.raises(pdanon.ParameterError, match=what):
        released_by([frozenset("ab")] * 4, **asked)


def test_rows_that_are_generalized_cannot_be_refined():
    rows = [*map(frozenset, ["a", "b", "ab", "d"])]
    result = released_by(rows, k=2, m=1)
    with pytest.raises(pdanon.ParameterError, match="generalized one by one"):
        pdanon.refine(frame_of(rows), result)
