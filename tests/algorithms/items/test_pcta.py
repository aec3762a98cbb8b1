"""PCTA: the very clusters of a naive run, the published examples, and the cases that break naive runs."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, promised, row_lists, rows_of
from hypothesis import assume, example, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon.algorithms.states.clusters import Clusters

STEPS = 65535  # weights are compared as this many steps from 0 to 1

# The example of Fig. 4 of the paper.
FIG_4 = [{"i1", "i2", "i7"}, {"i2", "i7"}, {"i3", "i5"}, {"i4", "i6", "i7"}, {"i5", "i7"}]
# A table with all the facts that the paper states of its Fig. 1.
FIG_1 = [set(row) for row in ("abcef", "abe", "abd", "acg", "bcg", "e")]


def partition(mapping):
    """The clusters of a mapping table, as sorted tuples of items."""
    return sorted(tuple(sorted(cluster)) for _, cluster in mapping.groupby("generalized")["item"])


def pcta_of(rows, **parameters):
    return partition(frame_of(rows).txanon.pcta(**promised(**parameters)).mapping)


@st.composite
def feasible_rows(draw, **shape):
    """A k, and rows of which at least k hold an item."""
    rows, k = draw(row_lists(least=2, **shape)), draw(st.integers(2, 5))
    assume(sum(map(bool, rows)) >= k)
    return rows, k


weights = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def known(weights, rows):
    """The weights of items that occur."""
    return {item: weight for item, weight in weights.items() if any(item in row for row in rows)}


def in_steps(weights, rows):
    return {item: round(weights.get(item, 1.0) * STEPS) for row in rows for item in row}


# --- the clusters of a naive run


@pytest.mark.one_in(2)
@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(50))
@given(sample=feasible_rows())
def test_clusters_are_those_of_the_naive_run(m, sample):
    rows, k = sample
    assert pcta_of(rows, k=k, m=m) == naive.pcta(rows, k, m)


@settings(max_examples=examples(40))
@given(feasible_rows(items="abcdefgh", longest=7, most=14), st.sampled_from([3, 4, 5, None]))
def test_clusters_of_longer_rows_are_those_of_the_naive_run(sample, m):
    rows, k = sample
    assert pcta_of(rows, k=k, m=m) == naive.pcta(rows, k, m)


@settings(max_examples=examples(60))
@given(
    feasible_rows(items="abcdef", most=12),
    st.lists(st.sets(st.sampled_from("abcdefghijkl"), min_size=6), min_size=1, max_size=2),
    st.dictionaries(st.sampled_from("abcdefghijkl"), st.sampled_from([0.0, 0.5, 1.0])),
    st.sampled_from([1, 2, 3, None]),
)
def test_clusters_beside_a_long_row_are_those_of_the_naive_run(sample, long_rows, weights, m):
    """Items of equal rows, and of rows among those of others: merges that change no support."""
    rows, k = [*sample[0], *map(frozenset, long_rows)], sample[1]
    weights = known(weights, rows)
    expected = naive.pcta(rows, k, m, in_steps(weights, rows))
    assert pcta_of(rows, k=k, m=m, weights=weights) == expected


@pytest.mark.parametrize("seed", range(4))
def test_clusters_of_many_items_are_those_of_the_naive_run(seed):
    """Skewed supports and tens of merges, where cached partners get stale."""
    draw = random.Random(seed)
    items = [f"i{number:02}" for number in range(25)]
    popular = [1 / (rank + 1) for rank in range(len(items))]
    rows = [frozenset(draw.choices(items, popular, k=draw.randint(1, 6))) for _ in range(40)]
    for k, m in [(3, 2), (5, 2), (4, 3), (3, None)]:
        assert pcta_of(rows, k=k, m=m) == naive.pcta(rows, k, m)


@settings(max_examples=examples(40))
@given(feasible_rows(), weights, st.sampled_from([1, 2, 3, None]))
def test_weighted_clusters_are_those_of_the_naive_run(sample, weights, m):
    rows, k = sample
    weights = known(weights, rows)
    expected = naive.pcta(rows, k, m, in_steps(weights, rows))
    assert pcta_of(rows, k=k, m=m, weights=weights) == expected
    assert pcta_of(rows, k=k, m=m, weights=pd.Series(weights, dtype="float64")) == expected


@settings(max_examples=examples(60))
@given(feasible_rows(), st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1), weights)
def test_clusters_under_constraints_are_those_of_the_naive_run(sample, constraints, weights):
    rows, k = sample
    constraints = [each for each in constraints if each <= frozenset().union(*rows)]
    assume(constraints)
    weights = known(weights, rows)
    expected = naive.pcta_constraints(rows, constraints, k, in_steps(weights, rows))
    asked = [sorted(each) for each in constraints]
    result = frame_of(rows).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=asked, k=k), weights=weights
    )
    assert partition(result.mapping) == expected
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    assert naive.constraints_hold(rows_of(result.frame), constraints, k, became)


@settings(max_examples=examples(40))
@given(feasible_rows(), st.randoms(), st.sampled_from([2, 3, None]))
def test_the_order_of_rows_does_not_matter(sample, draw, m):
    rows, k = sample
    shuffled = draw.sample(range(len(rows)), len(rows))
    one = frame_of(rows).txanon.pcta(k=k, m=m)
    other = frame_of([rows[number] for number in shuffled]).txanon.pcta(k=k, m=m)
    pd.testing.assert_frame_equal(one.mapping, other.mapping)
    published = rows_of(one.frame)
    assert [published[number] for number in shuffled] == rows_of(other.frame)


# --- published examples


def test_published_utility_loss():
    """(2**2 - 1) / (2**7 - 1) * 5 / 6 for the cluster (a,b) of the example of Fig. 1."""
    result = frame_of(FIG_1).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["a"]], k=2), weights={"a": 1.0}
    )
    assert len(partition(result.mapping)) == 7  # a is in four rows: nothing had to be merged
    clusters = naive.Clustering([frozenset(row) for row in FIG_1])
    assert clusters.loss("a", "b") / (127 * 6) == pytest.approx(0.019685, abs=5e-7)
    union = frame_of([{"a" if item in "ab" else item for item in row} for row in FIG_1])
    assert union["items"].itemset.support(["a"]) == 5


def test_fig_4_merges_until_the_first_constraint_holds():
    """Supports of 0 satisfy: {i5,i6} is in no row, and i4 to i7 stay as they are."""
    constraints = [["i1"], ["i5", "i6"]]
    frame, mapping = frame_of(FIG_4).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=3)
    )
    assert partition(mapping) == [("i1", "i2", "i3"), ("i4",), ("i5",), ("i6",), ("i7",)]
    assert frame["items"].itemset.support(["(i1,i2,i3)"]) == 3
    assert frame["items"].itemset.support(["i5", "i6"]) == 0


def test_fig_4_utility_losses_of_the_merges():
    clusters = naive.Clustering([frozenset(row) for row in FIG_4])
    losses = []
    while clusters.support({"i1"}) < 3:
        pair = clusters.cheapest(clusters.image({"i1"}))
        losses.append(clusters.loss(*pair) / (127 * 5))
        clusters.merge(*pair)
    assert losses == pytest.approx([0.00945, 0.03307], abs=5e-6)
    assert clusters.partition() == pcta_of(FIG_4, k=3, constraints=[["i1"]])


def test_fig_4_published_illustration_is_a_valid_release():
    """Merged by hand in the paper: (i1..i4), (i5,i6), i7."""
    label = dict.fromkeys(["i1", "i2", "i3", "i4"], "(i1,i2,i3,i4)") | dict.fromkeys(["i5", "i6"], "(i5,i6)")
    released = frame_of([{label.get(item, item) for item in row} for row in FIG_4])
    items = ["i1", "i2", "i3", "i4", "i5", "i6", "i7"]
    mapping = pd.DataFrame(
        {"group": 0, "item": items, "generalized": [label.get(item, item) for item in items]}
    ).astype({"item": "string[pyarrow]", "generalized": "string[pyarrow]"})
    guarantee = pdanon.PrivacyConstraints(constraints=[["i1"], ["i5", "i6"]], k=3, mapping=mapping)
    assert released.txanon.audit(guarantee).holds
    assert released["items"].itemset.supports().to_dict() == {"(i1,i2,i3,i4)": 4, "(i5,i6)": 3, "i7": 4}


def test_substitute_of_fig_1():
    frame, mapping = frame_of(FIG_1).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["a", "b", "e", "f"]], k=3)
    )
    assert partition(mapping) == [("a", "b"), ("c", "e"), ("d", "f", "g")]
    assert frame["items"].itemset.support(["(a,b)", "(c,e)", "(d,f,g)"]) == 3


# --- itemsets of support 0 that come alive


def one_pass(rows, constraints, k):
    """PCTA that takes a constraint of support 0 for satisfied once and for all."""
    alive = [each for each in constraints if naive.support(rows, frozenset(each))]
    clusters = naive.Clustering(rows)
    clusters.satisfy(alive, k)
    return clusters


def test_constraint_in_no_row_comes_alive_by_a_merge_made_for_another():
    # Only a is rare. It is merged with b, the cheapest: {(a,b),c} is in one row, though {b,c} was in none.
    rows = [frozenset(row) for row in ("ac", "b", "b", "c", "c", "c", "c")]
    constraints = [frozenset("bc"), frozenset("a")]
    blind = one_pass(rows, constraints, 3)
    assert blind.partition() == [("a", "b"), ("c",)]
    assert not naive.constraints_hold(blind.generalized(), constraints, 3, blind.label)

    frame, mapping = frame_of(rows).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["b", "c"], ["a"]], k=3)
    )
    became = dict(zip(mapping["item"], mapping["generalized"], strict=True))
    assert became["a"] == became["b"]
    assert naive.constraints_hold(rows_of(frame), constraints, 3, became)


def test_threats_that_were_not_minimal_at_the_start_are_met_too():
    """{a} alone is minimal. Merged with b, which is cheapest, it is no threat; {(a,b),c} is a new one."""
    rows = [frozenset(row) for row in ("acd", "b", "b", "b", "cd", "cd", "cd", "cd")]
    first = naive.km_threats(rows, 3, 3)
    assert first == {frozenset("a"): 1}
    blind = one_pass(rows, first, 3)
    assert frozenset("ac") in naive.km_threats(blind.generalized(), 3, 3)
    for m in (2, 3, None):
        frame, _ = frame_of(rows).txanon.pcta(k=3, m=m)
        assert naive.km_threats(rows_of(frame), 3, m) == {}


# --- what is current, and what is not any more


def test_item_is_merged_with_clusters_as_they_are_now():
    """c would be cheapest with a alone, in two rows; but a is (a,b) by then, and d costs less than that."""
    rows = [{"a"}, {"b"}, {"c"}, *[{"d"}] * 5]
    clusters = naive.Clustering([frozenset(row) for row in rows])
    assert clusters.loss("a", "c") < clusters.loss("c", "d")
    clusters.merge("a", "b")
    assert clusters.loss("a", "c") > clusters.loss("c", "d")
    assert pcta_of(rows, k=2, m=1) == [("a", "b"), ("c", "d")]


def test_members_of_a_merged_cluster_follow_when_it_is_merged_again():
    """Who maps the two merged labels only leaves a behind at (a,b) when (a,b) becomes (a,b,c)."""
    rows = [{"a"}, {"b"}, {"c"}, *[{"d"}] * 9]
    result = frame_of(rows).txanon.pcta(k=3, m=1)
    assert result.mapping["generalized"].tolist() == ["(a,b,c)"] * 3 + ["d"]
    assert rows_of(result.frame)[:3] == [{"(a,b,c)"}] * 3


def test_constraint_that_was_satisfied_on_the_way_costs_nothing_more():
    """{b} and {a} are rare when they are listed; the merge for {b} satisfies {a} as well."""
    rows = [{"a"}, {"b"}, {"c"}, {"c"}, {"c"}]
    assert pcta_of(rows, k=2, constraints=[["b"], ["a"]]) == [("a", "b"), ("c",)]


def test_item_that_no_other_is_with_is_protected_too():
    """Pairs alone would not do: a is in no pair, and all pairs are in two rows."""
    rows = [{"a"}, {"b", "c"}, {"b", "c"}]
    pairs = [["a", "b"], ["a", "c"], ["b", "c"]]
    assert (
        rows_of(frame_of(rows).txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=pairs, k=2)).frame)
        == rows
    )
    frame, _ = frame_of(rows).txanon.pcta(k=2, m=2)
    assert naive.km_threats(rows_of(frame), 2, 2) == {}


# --- the guarantee, whatever the rows


@settings(max_examples=examples(40))
@given(feasible_rows(items="abcdefghij", longest=6, most=20), st.none() | st.integers(1, 5))
@example(([frozenset("ab"), frozenset()], 2), 2)
def test_released_rows_have_the_guarantee(sample, m):
    rows, k = sample
    if sum(map(bool, rows)) < k:
        with pytest.raises(pdanon.InfeasibleError):
            frame_of(rows).txanon.pcta(k=k, m=m)
        return
    assert naive.km_threats(rows_of(frame_of(rows).txanon.pcta(k=k, m=m).frame), k, m) == {}


def test_more_than_a_thousand_items_in_one_cluster():
    """Losses have factors of 2**1199 here, far beyond floats."""
    rows = [{f"item {number}"} for number in range(1200)]
    result = frame_of(rows).txanon.pcta(k=1200, m=1)
    assert result.mapping["generalized"].nunique() == 1
    assert result.loss["UL"] == pytest.approx(0.0, abs=1e-9)
    assert result.loss["NCP"] == 1.0


def test_nothing_is_merged_where_nothing_is_rare():
    rows = [{"a", "b"}, {"a", "b"}, {"c"}, {"c"}, set()]
    result = frame_of(rows).txanon.pcta(k=2, m=None)
    assert rows_of(result.frame) == rows
    assert result.loss["NCP"] == 0.0


def test_unit_weights_change_nothing_and_zero_weights_attract():
    rows = [{"a"}, {"b"}, {"b"}, {"c"}, {"c"}]
    assert pcta_of(rows, k=2, m=1) == [("a", "b"), ("c",)]
    assert pcta_of(rows, k=2, m=1, weights={"a": 1, "b": 1, "c": 1}) == [("a", "b"), ("c",)]
    assert pcta_of(rows, k=2, m=1, weights={"a": 0, "c": 0}) == [("a", "c"), ("b",)]


# --- a wrong decision is not released


@pytest.mark.parametrize("sabotage", ["satisfy_pairs", "satisfy"])
def test_release_that_fails_its_audit_is_withheld(monkeypatch, sabotage):
    monkeypatch.setattr(Clusters, sabotage, lambda *args, **kwargs: None)
    parameters = {"satisfy_pairs": {"m": 2}, "satisfy": {"constraints": [["zebra"], ["tea", "zebra"]]}}
    with pytest.raises(pdanon.GuaranteeError, match="withheld") as caught:
        frame_of([{"zebra", "tea"}, {"tea"}, {"tea"}]).txanon.pcta(**promised(k=2, **parameters[sabotage]))
    assert "1 rows at risk" in str(caught.value)
    assert "zebra" not in str(caught.value)


def test_constraints_may_be_any_iterable_of_itemsets():
    rows = [{"a", "b"}, {"b"}, {"c"}, {"c"}]
    expected = pcta_of(rows, k=2, constraints=[["a"], ["b"]])
    for constraints in (
        (each for each in (["a"], ["b"])),
        iter([{"a"}, ("b",)]),
        pd.Series([["a"], ["b"]]),
        pdanon.as_itemsets([["a"], ["b"]]),
        np.array([["a"], ["b"]]),
    ):
        assert pcta_of(rows, k=2, constraints=constraints) == expected
