"""COAT: the published example, and what sets it apart from UPCTA."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from conftest import frame_of, promised, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive
from test_clustering import became_of, outcome

import pdanon
from examples import examples

# A table with all the facts that the PCTA paper states of its Fig. 1.
FIG_1 = [frozenset(row) for row in ("abcef", "abe", "abd", "acg", "bcg", "e")]
FIG_1D = {"a": "(a,b,c)", "b": "(a,b,c)", "c": "(a,b,c)"} | dict.fromkeys("defg", "(d,e,f,g)")


def coat_of(rows, **parameters):
    return frame_of(rows).txanon.coat(**promised(**parameters))


# --- published


def test_published_release_of_fig_1d():
    """With (a,b,c) and (d,e,f,g) the constraint {a,d} has support 5, and so holds for k=4."""
    mapping = pd.DataFrame({"group": 0, "item": list(FIG_1D), "generalized": list(FIG_1D.values())})
    mapping = mapping.astype({"item": "string[pyarrow]", "generalized": "string[pyarrow]"})
    released = frame_of([{FIG_1D[item] for item in row} for row in FIG_1])
    assert released["items"].itemset.support(["(a,b,c)", "(d,e,f,g)"]) == 5
    assert released.txanon.audit(
        pdanon.PrivacyConstraints(constraints=[["a", "d"]], k=4, mapping=mapping)
    ).holds


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_fig_1_within_the_blocks_of_fig_1d(k):
    blocks = [["a", "b", "c"], ["d", "e", "f", "g"]]
    result = coat_of(FIG_1, k=k, constraints=[["a", "d"]], utility=blocks)
    became = became_of(result)
    assert naive.constraints_hold(rows_of(result.frame), [frozenset("ad")], k, became)
    assert result.frame["items"].itemset.support([became["a"], became["d"]]) >= k
    assert all(set(cluster) <= set("abc") or set(cluster) <= set("defg") for cluster in outcome(result)[0])


def test_more_rows_than_the_blocks_of_fig_1d_can_give():
    blocks = [["a", "b", "c"], ["d", "e", "f", "g"]]
    asked = {"k": 6, "constraints": [["a", "d"]], "utility": blocks}
    with pytest.raises(pdanon.InfeasibleError) as caught:
        coat_of(FIG_1, **asked)
    assert outcome(caught.value.partial) == ([("a", "b", "c"), ("d", "e", "f", "g")], [])
    # (a,b,c) is in 5 rows, (d,e,f,g) in 6: the rarer one goes, and then the constraint holds.
    assert outcome(coat_of(FIG_1, max_suppressed=3 / 7, **asked)) == ([("d", "e", "f", "g")], ["a", "b", "c"])


# --- by hand


def test_rarest_item_of_a_constraint_is_merged_though_another_merge_costs_less():
    rows = [frozenset(row) for row in ("ab", "ad", "bc", "b", "c", "c", "c", "d")]
    clusters = naive.Clustering(rows)
    assert naive.support(rows, {"a"}) < naive.support(rows, {"b"})
    assert clusters.loss("a", "c") > clusters.loss("b", "d")
    asked = {"k": 2, "constraints": [["a", "b"]], "utility": [["a", "c"], ["b", "d"]]}
    assert outcome(coat_of(rows, **asked))[0] == [("a", "c"), ("b",), ("d",)]
    assert outcome(frame_of(rows).txanon.upcta(**promised(**asked)))[0] == [("a",), ("b", "d"), ("c",)]


def test_rarest_item_is_suppressed_though_another_could_be_merged():
    """{a,b} is rare, a is the rarer and alone in its block. UPCTA merges b with c instead."""
    rows = [frozenset(row) for row in ("ab", "ac", "b", "b", "c", "c")]
    asked = {"k": 2, "constraints": [["a", "b"]], "utility": [["a"], ["b", "c"]], "max_suppressed": 1 / 3}
    assert naive.support(rows, {"a"}) < naive.support(rows, {"b"})
    assert outcome(coat_of(rows, **asked)) == ([("b",), ("c",)], ["a"])
    upcta = frame_of(rows).txanon.upcta(**promised(**asked))
    assert outcome(upcta) == ([("a",), ("b", "c")], [])


def test_rarest_item_is_the_one_in_fewest_rows_then_the_first():
    asked = {"k": 2, "constraints": [["a", "b"]], "utility": [["a"], ["b"]], "max_suppressed": 0.5}
    for rows, suppressed in ((["ab", "a", "a", "b"], "b"), (["ab", "a", "b", "b"], "a"), (["ab"], "a")):
        rows = [frozenset(row) for row in [*rows, "b", "a", "b", "a"]]
        assert outcome(coat_of(rows, **asked))[1] == [suppressed]


def test_of_equally_rare_clusters_the_one_of_fewer_items_is_suppressed():
    """For the sake of {a}, a and c are merged; then (a,c) and b are in three rows each, in one together."""
    rows = [frozenset(row) for row in ("ab", "c", "c", "b", "b")]
    asked = {"k": 2, "constraints": [["a"], ["a", "b"]], "utility": [["a", "c"], ["b"]]}
    assert outcome(coat_of(rows, max_suppressed=1.0, **asked)) == ([("a", "c")], ["b"])


# --- the subsets of a constraint


def holds_with_subsets(rows, constraints, k, became):
    """The definition of COAT: a constraint and each of its subsets is in no row or in at least k."""
    subsets = [
        frozenset(chosen)
        for each in constraints
        for size in range(1, len(each) + 1)
        for chosen in combinations(sorted(each), size)
    ]
    return naive.constraints_hold(rows, subsets, k, became)


def test_constraint_in_no_row_does_not_protect_its_subsets():
    rows = [frozenset(row) for row in ("a", "b", "b", "b")]
    alone = coat_of(rows, k=2, constraints=[["a", "b"]])
    assert rows_of(alone.frame) == rows  # {a,b} is in no row; {a} is in one
    assert not holds_with_subsets(rows, [frozenset("ab")], 2, became_of(alone))
    closed = pdanon.constraints.with_subsets([["a", "b"]])
    result = coat_of(rows, k=2, constraints=closed)
    assert holds_with_subsets(rows_of(result.frame), [frozenset("ab")], 2, became_of(result))


@settings(max_examples=examples(40))
@given(
    row_lists(least=2),
    st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=4),
    st.integers(2, 4),
)
def test_constraints_with_their_subsets_fulfil_the_definition(rows, constraints, k):
    constraints = [each for each in constraints if each <= frozenset().union(*rows)]
    assume(constraints and len(rows) >= k)
    closed = pdanon.constraints.with_subsets([sorted(each) for each in constraints])
    utility = [["a", "b", "c"], ["d"], ["e", "f"]]
    result = coat_of(rows, k=k, constraints=closed, utility=utility, max_suppressed=1.0)
    assert holds_with_subsets(rows_of(result.frame), constraints, k, became_of(result))


@pytest.mark.parametrize("name", ["coat", "upcta"])
def test_cost_of_suppressed_items(name):
    """UL adds the share of rows with each suppressed item."""
    frame = frame_of([["a", "b"], ["c", "b"], ["a", "b"], ["d", "b"]])
    asked = {"k": 2, "m": 2, "utility": [["d"], ["b"], ["a", "c"]], "max_suppressed": 0.25}
    result = getattr(frame.txanon, name)(**asked)
    assert 2 ** result.loss["UL"] == pytest.approx((3 / 15 * 3 + 1 / 15 * 4 + 1) / 4)


def test_another_cost_of_suppressed_items_is_no_parameter():
    with pytest.raises(TypeError, match="coat has no parameter 'penalty'") as caught:
        frame_of([["a"]] * 2).txanon.coat(k=2, m=1, penalty=2)
    assert "changed no release" in str(caught.value)
