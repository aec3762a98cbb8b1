"""Sets of items that are near in a hierarchy: the loss that is lowered, and what cannot have a hierarchy."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon.algorithms.losses import LOSSES
from pdanon.recoding.meaning import lost_levels

TREE = {"*": {"AC": {"AB": ["a", "b"], "C": ["c"]}, "DF": ["d", "e", "f"]}}
# a, b, d and e are rare, and equally frequent: two pairs of them are safe.
ROWS = [*["ax"] * 3, *["bx"] * 3, *["dx"] * 3, *["ex"] * 3, *["fy"] * 8, *["cx"] * 8]
LEAVES = {"*": {"AC": {"AB": ["a", "b"], "C": ["c"]}, "DF": ["d", "e", "f"], "XY": ["x", "y"]}}


def summed(result):
    return LOSSES[pdanon.KmAnonymity]["balanced"](result) + lost_levels(result.mapping, TREE)


@settings(max_examples=examples(100))
@given(
    rows=row_lists("abcdef", longest=4, most=12),
    k=st.integers(2, 3),
    m=st.sampled_from([1, 2, 3]),
    seed=st.none() | st.integers(0, 3),
)
def test_the_sum_of_both_losses_falls(rows, k, m, seed):
    assume(sum(map(bool, rows)) >= k)
    frame = frame_of(rows)
    first = frame.txanon.pcta(k=k, m=m)
    result = frame.txanon.refine(first, hierarchy=TREE, random_state=seed)
    assert not naive.rare_itemsets(rows_of(result.frame), k, m)
    assert summed(result) <= summed(first) + 1e-9
    if len(result.trace):
        assert result.trace["loss"].iloc[-1] == pytest.approx(summed(result))
        assert result.trace["loss"].iloc[0] == pytest.approx(summed(first))


def test_a_rare_item_joins_its_nearest():
    """The supports alone prefer none."""
    frame = frame_of(ROWS)
    first = frame.txanon.coat(k=5, m=2)
    result = frame.txanon.refine(first, hierarchy=LEAVES)
    assert {"(a,b)", "(d,e)"} < {*result.mapping["generalized"]}
    other = {"*": {"AC": {"AD": ["a", "d"], "C": ["c"]}, "BE": ["b", "e"], "F": ["f"], "XY": ["x", "y"]}}
    result = frame.txanon.refine(first, hierarchy=other)
    assert {"(a,d)", "(b,e)"} < {*result.mapping["generalized"]}
    tried = frame.txanon.anonymize(k=5, m=2, hierarchy=other, loss="meaning").tried
    refined = tried[tried["algorithm"].str.endswith("refined")]
    assert refined["loss"].iloc[0] == lost_levels(result.mapping, other)


def test_blocks_and_constraints_are_kept():
    frame, guarantee = frame_of(ROWS), pdanon.PrivacyConstraints(constraints=[[item] for item in "abde"], k=5)
    blocks = pdanon.utility.by_level(LEAVES, 1)
    within = frame.txanon.upcta(k=3, m=2, utility=blocks)
    result = frame.txanon.refine(within, hierarchy=LEAVES)
    levels = pdanon.metrics.meaning.levels(result, LEAVES)
    assert levels["occurrences"][1] == 1
    limited = frame.txanon.pcta(guarantee=guarantee)
    nearer = frame.txanon.refine(limited, hierarchy=LEAVES)
    assert nearer.guarantee.audit(nearer.frame).holds
    assert lost_levels(nearer.mapping, LEAVES) <= lost_levels(limited.mapping, LEAVES)


WRONG = {
    "nodes": ("apriori", {"hierarchy": LEAVES}, {"hierarchy": LEAVES}, "a hierarchy is for sets"),
    "deletions": ("local_suppression", {}, {"hierarchy": LEAVES}, "a hierarchy is for sets"),
    "NCP": ("pcta", {}, {"hierarchy": LEAVES, "loss": "NCP"}, "a hierarchy is for sets"),
    "half": ("pcta", {}, {"hierarchy": {"*": [*"abcd"]}}, "does not cover the items"),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_releases_have_no_hierarchy(name):
    algorithm, asked, given, problem = WRONG[name]
    frame = frame_of(ROWS)
    result = getattr(frame.txanon, algorithm)(k=5, m=2, **asked)
    with pytest.raises(pdanon.PdanonError, match=problem):
        frame.txanon.refine(result, **given)


def test_a_balanced_hierarchy_is_over_the_items_in_order():
    """Also if a seed gives the items a secret order."""
    frame = frame_of(ROWS)
    first = frame.txanon.coat(k=5, m=2)
    left, right = {"ab": ["a", "b"], "cd": ["c", "d"]}, {"ef": ["e", "f"], "xy": ["x", "y"]}
    pairs = {"*": {"ad": left, "ey": right}}
    found, same = (frame.txanon.refine(first, hierarchy=tree, random_state=5) for tree in (2, pairs))
    pd.testing.assert_frame_equal(found.mapping, same.mapping)
