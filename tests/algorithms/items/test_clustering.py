"""COAT and UPCTA: the very clusters of a naive run, blocks, suppression, and how they fail."""

from __future__ import annotations

import random
import re
from functools import partial
from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, promised, row_lists, rows_of
from hypothesis import assume, example, given, settings, strategies as st
from naive import coat as naive_coat, emptied as naive_emptied, itemsets as naive

import pdanon
from examples import examples
from pdanon.algorithms.items import _starting
from pdanon.algorithms.states.clusters import Clusters
from pdanon.itemsets import timing as progress

STEPS = 65535  # weights are compared as this many steps from 0 to 1
LEAST_FIRST = {"coat": True, "upcta": False}

both = pytest.mark.parametrize("algorithm", ["coat", "upcta"])


def release_of(algorithm, rows, **parameters):
    return getattr(frame_of(rows).txanon, algorithm)(**promised(**parameters))


def became_of(result):
    """What each item became: a label, or None."""
    mapping = result.mapping.astype({"generalized": object})
    labels = mapping["generalized"].where(mapping["generalized"].notna(), None)
    return dict(zip(mapping["item"], labels, strict=True))


def outcome(result):
    """Clusters and suppressed items of a result."""
    became = became_of(result)
    clusters = {}
    for item, label in became.items():
        clusters.setdefault(label, []).append(item)
    suppressed = clusters.pop(None, [])
    return sorted(tuple(sorted(cluster)) for cluster in clusters.values()), sorted(suppressed)


def hidden_outcome(rows, clusters, suppressed, k, constraints):
    """The clusters and suppressed items of a naive run, when none or k rows have to be emptied."""
    became = {item: cluster for cluster in clusters for item in cluster}
    became |= dict.fromkeys(suppressed)
    if constraints is None:
        became = naive_emptied.hidden(rows, became, k)
    else:
        became = naive_emptied.hidden_under(rows, became, k, constraints)
    kept = {cluster for cluster in became.values() if cluster}
    return sorted(kept), sorted(item for item, cluster in became.items() if not cluster)


def block_in(message):
    return int(re.search(r"block (-?\d+) of utility", message)[1])


def assert_same(algorithm, rows, blocks, spare, k, weights=None, **asked):
    """The library's release, or its failure, is that of the naive run."""
    items = sorted(frozenset().union(*rows))
    block = {item: number for number, each in enumerate(blocks) for item in each}
    steps = {item: round((weights or {}).get(item, 1.0) * STEPS) for item in items}
    clusters, broken = naive_coat.run(
        rows, block, spare, LEAST_FIRST[algorithm], k, weights=weights and steps, **asked
    )
    expected = clusters.partition(), clusters.suppressed()
    share = spare / len(items) if items else 0.0
    if "constraints" in asked:
        asked["constraints"] = [sorted(each) for each in asked["constraints"]]
    given = {"k": k, "utility": blocks, "max_suppressed": share, "weights": weights, **asked}
    if broken is None and len(rows) < k:  # alone, a row has nobody to hide among, whatever is suppressed
        with pytest.raises(pdanon.InfeasibleError, match="larger than the number of rows"):
            release_of(algorithm, rows, **given)
        return
    if broken is None:
        expected = hidden_outcome(rows, *expected, k, asked.get("constraints"))
        if len(expected[1]) > spare:
            with pytest.raises(pdanon.InfeasibleError, match="fewer than k rows"):
                release_of(algorithm, rows, **given)
            return
        result = release_of(algorithm, rows, **given)
        assert outcome(result) == expected
        became = became_of(result)
        assert rows_of(result.frame) == [frozenset(became[item] for item in row) - {None} for row in rows]
        return
    with pytest.raises(pdanon.InfeasibleError) as caught:
        release_of(algorithm, rows, **given)
    assert block_in(str(caught.value)) == broken
    assert outcome(caught.value.partial) == expected


@st.composite
def tasks(draw, items="abcdef", **shape):
    """Rows, blocks of their items, how many may be suppressed, and k."""
    rows = draw(row_lists(items, least=1, **shape))
    blocks = [[] for _ in range(draw(st.integers(1, 4)))]
    for item in items:
        draw(st.sampled_from(blocks)).append(item)
    used = len(frozenset().union(*rows))
    spare = draw(st.sampled_from([0, used]) | st.integers(0, used))
    return rows, [each for each in blocks if each], spare, draw(st.integers(2, 5))


weights = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1)
constraint_lists = st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=8)


def known(weights, rows):
    return {item: weight for item, weight in weights.items() if any(item in row for row in rows)}


# --- the clusters of a naive run


@pytest.mark.one_in(3)
@both
@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(40))
@given(task=tasks())
def test_clusters_are_those_of_the_naive_run(algorithm, m, task):
    assert_same(algorithm, *task, m=m)


@both
@settings(max_examples=examples(20))
@given(tasks("abcdefgh", longest=7, most=14), st.sampled_from([3, 4, 5, None]))
def test_clusters_of_longer_rows_are_those_of_the_naive_run(algorithm, task, m):
    assert_same(algorithm, *task, m=m)


@both
@settings(max_examples=examples(25))
@given(
    tasks("abcdefghij", most=12), st.sets(st.sampled_from("abcdefghij"), min_size=6), st.sampled_from([2, 3])
)
def test_clusters_beside_a_long_row_are_those_of_the_naive_run(algorithm, task, long_row, m):
    """Items of equal rows, and of rows among those of others: merges that change no support."""
    rows, *asked = task
    assert_same(algorithm, [*rows, frozenset(long_row)], *asked, m=m)


@both
@settings(max_examples=examples(25))
@given(tasks(), constraint_lists, weights)
def test_clusters_under_constraints_are_those_of_the_naive_run(algorithm, task, constraints, weights):
    rows = task[0]
    constraints = [each for each in constraints if each <= frozenset().union(*rows)]
    assume(constraints)
    assert_same(algorithm, *task, known(weights, rows), constraints=constraints)


@both
@settings(max_examples=examples(25))
@given(tasks(), weights)
def test_weighted_clusters_are_those_of_the_naive_run(algorithm, task, weights):
    assert_same(algorithm, *task, known(weights, task[0]), m=3)


@pytest.mark.one_in(3)
@both
@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_many_items_are_those_of_the_naive_run(algorithm, seed):
    """Skewed supports, tens of merges and some suppressed blocks, where cached partners get stale."""
    draw = random.Random(seed)
    items = [f"i{number:02}" for number in range(24)]
    popular = [1 / (rank + 1) for rank in range(len(items))]
    rows = [frozenset(draw.choices(items, popular, k=draw.randint(1, 6))) for _ in range(40)]
    shuffled = draw.sample(items, len(items))
    used = len(frozenset().union(*rows))
    for size in (3, 12):
        blocks = [shuffled[start : start + size] for start in range(0, len(items), size)]
        for spare in (used, used // 4):
            assert_same(algorithm, rows, blocks, spare, 4, m=2)
            assert_same(algorithm, rows, blocks, spare, 3, m=3)


@both
@pytest.mark.parametrize("batch", [1, 3])
@settings(max_examples=examples(20))
@given(tasks(), st.sampled_from([2, None]))
def test_the_batches_of_steps_do_not_matter(algorithm, batch, task, m):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_MOST_STEPS", batch)
        assert_same(algorithm, *task, m=m)


@both
@settings(max_examples=examples(25))
@given(tasks(), st.randoms(), st.sampled_from([2, 3, None]))
def test_the_order_of_rows_and_blocks_does_not_matter(algorithm, task, draw, m):
    rows, blocks, _, k = task
    assume(len(rows) >= k)
    order = draw.sample(range(len(rows)), len(rows))
    one = release_of(algorithm, rows, k=k, m=m, utility=blocks, max_suppressed=1.0)
    shuffled = [draw.sample(each, len(each)) for each in draw.sample(blocks, len(blocks))]
    other = release_of(
        algorithm, [rows[number] for number in order], k=k, m=m, utility=shuffled, max_suppressed=1
    )
    pd.testing.assert_frame_equal(one.mapping, other.mapping)
    published = rows_of(one.frame)
    assert [published[number] for number in order] == rows_of(other.frame)


# --- one block and nothing to suppress is PCTA


@settings(max_examples=examples(40))
@given(row_lists(least=2), st.integers(2, 4), st.sampled_from([1, 2, 3, None]), weights)
def test_upcta_without_utility_constraints_is_pcta(rows, k, m, weights):
    assume(sum(map(bool, rows)) >= k)
    asked = {"k": k, "m": m, "weights": known(weights, rows)}
    expected = release_of("pcta", rows, **asked)
    result = release_of("upcta", rows, **asked)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    pd.testing.assert_series_equal(result.loss, expected.loss)


@both
@pytest.mark.parametrize("m", [1, None])
def test_too_few_rows_are_infeasible_unless_all_may_go(algorithm, m):
    rows = [{"a", "b"}, {"a"}, set()]
    with pytest.raises(pdanon.InfeasibleError):
        release_of(algorithm, rows, k=3, m=m)
    with pytest.raises(pdanon.InfeasibleError):
        release_of(algorithm, rows, k=3, m=m, max_suppressed=0.99)
    frame, mapping = release_of(algorithm, rows, k=3, m=m, max_suppressed=1.0)
    assert rows_of(frame) == [set()] * 3
    assert mapping["generalized"].isna().all()


@both
def test_no_rows_and_no_items(algorithm):
    for rows in ([], [set(), set()], [None, set(), set()], [None]):
        result = release_of(algorithm, rows, k=2, utility=[["a"]], max_suppressed=0.5)
        assert len(result.mapping) == 0
        assert len(result.frame) == len(rows)


@both
def test_merging_everything_costs_all_and_is_done(algorithm):
    """Its utility loss is 1, the most there is."""
    result = release_of(algorithm, [{"a"}, {"b"}], k=2, m=1)
    assert outcome(result) == ([("a", "b")], [])
    assert result.loss["UL"] == pytest.approx(0.0, abs=1e-12)  # log2(1)


@both
def test_cheapest_partner_of_another_block_is_not_taken(algorithm):
    """a and b together are in two rows, a and c in four: who looks at all items merges a with b."""
    rows = [frozenset(row) for row in ("a", "b", "c", "c", "c", "d", "d")]
    assert naive.Clustering(rows).cheapest({"a"}) == ("a", "b")
    asked = {"k": 2, "constraints": [["a"]], "utility": [["a", "c"], ["b", "d"]]}
    assert outcome(release_of(algorithm, rows, **asked)) == ([("a", "c"), ("b",), ("d",)], [])


@both
def test_suppressed_item_is_left_out_of_later_constraints(algorithm):
    """a is suppressed for {a}. Who still looks for it in {a,c} works on a set that no row can hold."""
    rows = [frozenset(row) for row in ("ac", "c", "c", "d", "d")]
    asked = {"k": 2, "constraints": [["a"], ["a", "c"]], "utility": [["a"], ["c", "d"]]}
    result = release_of(algorithm, rows, max_suppressed=1 / 3, **asked)
    assert outcome(result) == ([("c",), ("d",)], ["a"])


# --- suppression


@both
def test_cluster_is_suppressed_with_all_its_members(algorithm):
    """{a,b} is a block, and even together the two are rare; x and y are not touched."""
    rows = [{"a", "x"}, {"b", "x", "y"}, {"x", "y"}, {"x", "y"}, None, set(), {"a", "y"}]
    utility = [["a", "b"], ["x"], ["y"]]
    result = release_of(algorithm, rows, k=4, m=1, utility=utility, max_suppressed=0.75)
    assert became_of(result) == {"a": None, "b": None, "x": "x", "y": "y"}
    xy = {"x", "y"}
    assert rows_of(result.frame) == [{"x"}, xy, xy, xy, set(), set(), {"y"}]
    lists = pa.array(result.frame["items"]).to_pylist()
    assert lists[4:6] == [[], []]  # one that is missing looks like one that lost its items
    assert result.mapping["support"].tolist() == [2, 1, 4, 4]
    assert result.loss["suppressed"] == pytest.approx(3 / 11)


@both
def test_suppression_counts_the_original_items_of_a_cluster(algorithm):
    """Two of four items go at one step, in one cluster: more than a quarter."""
    rows = [{"a", "x"}, {"b", "x"}, {"x", "y"}, {"x", "y"}, {"y"}]
    asked = {"k": 3, "m": 1, "utility": [["a", "b"], ["x", "y"]]}
    message = "2 items to suppress after 0, with an upper bound of 1 of 4"
    with pytest.raises(pdanon.InfeasibleError, match=message) as caught:
        release_of(algorithm, rows, max_suppressed=0.25, **asked)
    assert outcome(caught.value.partial) == ([("a", "b"), ("x",), ("y",)], [])
    result = release_of(algorithm, rows, max_suppressed=0.5, **asked)
    assert outcome(result) == ([("x",), ("y",)], ["a", "b"])


@both
def test_supports_of_what_is_left_do_not_change(algorithm):
    rows = [{"a", "x", "y"}, {"x", "y"}, {"x", "y"}, {"x"}]
    frame, _ = release_of(algorithm, rows, k=2, utility=[["a"], ["x"], ["y"]], max_suppressed=0.34)
    assert frame["items"].itemset.supports().to_dict() == {"x": 4, "y": 3}
    assert frame["items"].itemset.support(["x", "y"]) == 3


@both
def test_constraint_without_items_left_is_satisfied(algorithm):
    rows = [{"a", "b"}, {"a"}, {"b"}, {"c"}, {"c"}]
    asked = {"k": 3, "constraints": [["a", "b"], ["b"]], "utility": [["a"], ["b"], ["c"]]}
    result = release_of(algorithm, rows, max_suppressed=2 / 3, **asked)
    assert outcome(result) == ([("c",)], ["a", "b"])
    assert result.guarantee.audit(result.frame).holds


@both
def test_rare_pair_loses_its_rarer_item_only(algorithm):
    rows = [{"a", "b"}, {"a"}, {"a"}, {"b"}, {"b"}, {"b"}]
    result = release_of(algorithm, rows, k=2, utility=[["a"], ["b"]], max_suppressed=0.5)
    assert outcome(result) == ([("b",)], ["a"])


@both
@pytest.mark.parametrize(
    ("share", "n_items", "n_suppressed"),
    [
        (0.15, 100, 15),  # as floats, 0.15 * 100 is 15 and 0.29 * 100 is below 29
        (0.29, 100, 29),
        (0.1, 30, 3),
        (1 / 3, 6, 2),
        (2 / 3, 3, 2),
        (1 / 49, 98, 2),  # as floats, 1 / 49 * 49 is below 1
        (0.999, 1000, 999),
    ],
)
def test_largest_share_is_met_exactly(algorithm, share, n_items, n_suppressed):
    """All items are rare, and none can be merged: all are suppressed, or as many as may be."""

    def suppressed(rare):
        rows = [{item} for item in range(n_items) for _ in range(1 if item < rare else 2)]
        lists = pa.array([list(row) for row in rows])
        frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
        blocks = [[item] for item in range(n_items)]
        run = getattr(frame.txanon, algorithm)
        return run(k=2, m=1, utility=blocks, max_suppressed=share).mapping["generalized"].isna().sum()

    assert suppressed(n_suppressed) == n_suppressed
    with pytest.raises(pdanon.InfeasibleError, match=f"an upper bound of {n_suppressed} of {n_items}"):
        suppressed(n_suppressed + 1)


# --- itemsets of support 0 that come alive


def one_pass(algorithm, rows, blocks, constraints, k):
    """A naive run that takes a constraint of support 0 for satisfied once and for all."""
    block = {item: number for number, each in enumerate(blocks) for item in each}
    clusters = naive_coat.Blocks(rows, block, len(block), LEAST_FIRST[algorithm])
    for each in [each for each in constraints if 0 < clusters.support(each) < k]:
        clusters.work_on(each, k)
    return clusters


@both
def test_constraint_in_no_row_comes_alive_by_a_merge_made_for_another(algorithm):
    # Only a is rare. It is merged with b: {(a,b),c} is in one row, though {b,c} was in none.
    rows = [frozenset(row) for row in ("ac", "b", "b", "b", "c", "c", "c", "c")]
    blocks, constraints = ["ab", "c"], [frozenset("bc"), frozenset("a")]
    blind = one_pass(algorithm, rows, blocks, constraints, 3)
    assert blind.partition() == [("a", "b"), ("c",)]
    assert not naive.constraints_hold(blind.generalized(), constraints, 3, blind.label)

    utility = [list(each) for each in blocks]
    result = release_of(
        algorithm, rows, k=3, constraints=[["b", "c"], ["a"]], utility=utility, max_suppressed=1.0
    )
    assert naive.constraints_hold(rows_of(result.frame), constraints, 3, became_of(result))
    assert outcome(result) == ([("c",)], ["a", "b"])  # the rarer of the two blocks


@both
def test_constraint_in_no_row_comes_alive_by_a_suppression_made_for_another(algorithm):
    # {a,c} is in no row. Once a is suppressed, the constraint is {c}, which is in one row.
    rows = [frozenset(row) for row in ("a", "c", "d", "d", "d")]
    constraints = [frozenset("ac"), frozenset("a")]
    blind = one_pass(algorithm, rows, "acd", constraints, 2)
    assert blind.suppressed() == ["a"]
    assert not naive.constraints_hold(blind.generalized(), constraints, 2, blind.label)

    asked = {"k": 2, "constraints": [["a", "c"], ["a"]], "utility": [["a"], ["c"], ["d"]]}
    result = release_of(algorithm, rows, max_suppressed=2 / 3, **asked)
    assert outcome(result) == ([("d",)], ["a", "c"])
    with pytest.raises(pdanon.InfeasibleError) as caught:
        release_of(algorithm, rows, max_suppressed=1 / 3, **asked)
    assert block_in(str(caught.value)) == 1
    assert outcome(caught.value.partial) == ([("c",), ("d",)], ["a"])


@both
@settings(max_examples=examples(40))
@given(tasks(longest=6, most=14), st.sampled_from([1, 2, 3, 4, None]))
@example(([frozenset("abc"), frozenset("ab"), frozenset("c")], ["a", "b", "c"], 3, 2), None)
def test_released_rows_have_the_guarantee(algorithm, task, m):
    """All sizes up to m are protected, also after suppression: by a recount of the released rows."""
    rows, blocks, _, k = task
    assume(len(rows) >= k)
    utility = [list(each) for each in blocks]
    result = release_of(algorithm, rows, k=k, m=m, utility=utility, max_suppressed=1.0)
    assert naive.km_threats(rows_of(result.frame), k, m) == {}
    clusters, _ = outcome(result)
    assert all(any(set(cluster) <= set(each) for each in blocks) for cluster in clusters)


# --- utility constraints in all their forms


@both
def test_forms_of_utility_are_alike(algorithm):
    rows = [frozenset(row) for row in ("ab", "bc", "cd", "ad", "d")]
    lists = [["a", "b"], ["c", "d"], ["not in the data"]]
    expected = release_of(algorithm, rows, k=2, utility=lists)
    table = pd.DataFrame({"item": [*"abcd"], "block": [*"xxyy"], "note": 1})
    for utility in (
        iter(lists),
        [{"a", "b"}, ("c", "d")],
        {"x": ["a", "b"], "y": ["c", "d"]},
        {7: ["c", "d"], -3: ["a", "b"]},
        table.sample(frac=1, random_state=1),
        table.astype({"item": "string[pyarrow]", "block": "category"}),
        pdanon.as_itemsets(lists),
    ):
        result = release_of(algorithm, rows, k=2, utility=utility)
        pd.testing.assert_frame_equal(result.mapping, expected.mapping)


@both
@pytest.mark.parametrize(
    ("utility", "name"),
    [
        ([["d"], ["a"], ["b"]], 1),
        ({f"{SECRET} d": ["d"], f"{SECRET} a": ["a"], "b": ["b"]}, 1),
        ({9: ["d"], -4: ["a"], 2: ["b"]}, -4),
        ({True: ["d"], False: ["a"], 5: ["b"]}, 1),
        ({10**30: ["d"], 0: ["a"], 1: ["b"]}, 1),
        (pd.DataFrame({"item": [*"dab"], "block": [9, -4, 2]}), -4),
        (pd.DataFrame({"item": [*"dab"], "block": [SECRET, "x", "y"]}), 1),
    ],
)
def test_failure_names_the_block_by_a_number(algorithm, utility, name):
    rows = [{"a"}, {"b"}, {"b"}, {"d"}, {"d"}]
    with pytest.raises(pdanon.InfeasibleError) as caught:
        release_of(algorithm, rows, k=2, m=1, utility=utility)
    assert block_in(str(caught.value)) == name
    assert SECRET not in str(caught.value)


@both
def test_partial_attempt_says_that_it_is_not_for_release(algorithm):
    frame = frame_of([{SECRET, "tea"}, {"tea"}, {"tea"}, {"rice"}, {"salt"}])
    utility = [[SECRET], ["tea"], ["rice", "salt"]]
    with pytest.raises(pdanon.InfeasibleError) as caught:
        getattr(frame.txanon, algorithm)(k=2, m=2, utility=utility)
    assert SECRET not in str(caught.value)
    partial = caught.value.partial
    assert not partial.holds
    assert "does NOT hold" in repr(partial)
    audit = partial.guarantee.audit(partial.frame)
    assert not audit.holds
    assert [list(each) for each in pa.array(audit.threats["itemset"]).to_pylist()] == [[SECRET]]
    assert outcome(partial) == ([("rice", "salt"), ("tea",), (SECRET,)], [])
    assert partial.parameters["algorithm"] == algorithm
    assert partial.loss["suppressed"] == 0


@both
def test_release_holds_and_says_so(algorithm):
    result = release_of(algorithm, [{"a"}, {"b"}], k=2)
    assert result.holds
    assert "does NOT hold" not in repr(result)
    assert result.parameters["max_suppressed"] == 0.0


# --- a wrong decision is not released


@both
def test_release_across_blocks_is_withheld(monkeypatch, algorithm):
    monkeypatch.setattr(
        _starting, "Clusters", lambda index, weights, blocks, **asked: Clusters(index, **asked)
    )
    with pytest.raises(pdanon.GuaranteeError, match="1 labels across blocks, 0 suppressed items") as caught:
        release_of(algorithm, [{"a"}, {SECRET}], k=2, utility=[["a"], [SECRET]], max_suppressed=1.0)
    assert SECRET not in str(caught.value)


@both
def test_release_with_more_suppressed_is_withheld(monkeypatch, algorithm):
    def generous(*args, spare, **asked):
        return Clusters(*args, spare=spare + 1, **asked)

    monkeypatch.setattr(_starting, "Clusters", generous)
    with pytest.raises(pdanon.GuaranteeError, match="2 suppressed items of at most 1"):
        release_of(algorithm, [{"a"}, {"b"}], k=2, utility=[["a"], ["b"]], max_suppressed=0.5)


@both
@pytest.mark.parametrize("sabotage", ["satisfy_pairs", "satisfy"])
def test_release_that_fails_its_audit_is_withheld(monkeypatch, algorithm, sabotage):
    monkeypatch.setattr(Clusters, sabotage, lambda *args, **kwargs: None)
    parameters = {"satisfy_pairs": {"m": 2}, "satisfy": {"constraints": [["zebra"], ["tea", "zebra"]]}}
    with pytest.raises(pdanon.GuaranteeError, match="1 rows at risk"):
        release_of(algorithm, [{"zebra", "tea"}, {"tea"}, {"tea"}], k=2, **parameters[sabotage])


# --- bad input


@both
@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan"), True, "0.1", None, [0.1], pd.NA])
def test_bad_share(algorithm, share):
    with pytest.raises(pdanon.ParameterError, match=r"max_suppressed must be a number in \[0, 1\]"):
        release_of(algorithm, [{"a"}, {"a"}], k=2, max_suppressed=share)


@both
@pytest.mark.parametrize(
    ("utility", "told"),
    [
        (SECRET, "utility must be blocks of items"),
        (5, "utility must be blocks of items"),
        ([], "2 of 2 items are in none"),
        ({}, "2 of 2 items are in none"),
        ([["tea"]], "1 of 2 items are in none"),
        ([["tea", SECRET], [SECRET]], "1 of 2 items are in several blocks"),
        ([["tea", SECRET], ["new"], ["new"]], "1 of 3 items are in several blocks"),
        (pd.DataFrame({"item": ["tea", SECRET]}), "lacks a column, or has it twice"),
        (pd.DataFrame({"item": ["tea", SECRET], "block": ["x", None]}), "1 rows without one"),
        (pd.DataFrame({"item": ["tea", SECRET, "tea"], "block": [0, 0, 1]}), "1 of 2 items are in several"),
        ([[1, 2]], "2 of 2 items are in none"),
    ],
)
def test_bad_utility(algorithm, utility, told):
    with pytest.raises(pdanon.ParameterError, match=told) as caught:
        release_of(algorithm, [{SECRET, "tea"}, {"tea"}], k=2, utility=utility)
    assert SECRET not in str(caught.value)


@both
@pytest.mark.parametrize("utility", [[SECRET, "tea"], {"x": SECRET}, [["tea", 5]], [["tea", None]]])
def test_blocks_that_are_no_lists_of_items(algorithm, utility):
    with pytest.raises(pdanon.ItemsetDtypeError) as caught:
        release_of(algorithm, [{SECRET, "tea"}, {"tea"}], k=2, utility=utility)
    assert SECRET not in str(caught.value)


@both
@pytest.mark.parametrize(
    ("name", "value"), [("k", 1), ("k", None), ("m", 0), ("m", "2"), ("constraints", [[]])]
)
def test_bad_shared_parameters(algorithm, name, value):
    with pytest.raises(pdanon.ParameterError):
        release_of(algorithm, [{"a"}, {"a"}], **{"k": 2, name: value})


# --- real data


@pytest.mark.slow
@both
def test_real_data_within_blocks(data, algorithm):
    """BMS-WebView-1: pairs of labels counted one by one, and blocks looked up one by one."""
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    column = frame.columns[pdanon.itemsets.columns.find_column(frame)]
    items = list(frame[column].itemset.items)
    blocks = pdanon.utility.by_size(items, 25)
    result = getattr(frame.txanon, algorithm)(k=5, m=2, utility=blocks, max_suppressed=0.2)
    supports = {}
    for row in rows_of(result.frame, column):
        for size in (1, 2):
            for labels in combinations(sorted(row), size):
                supports[labels] = supports.get(labels, 0) + 1
    assert min(supports.values()) >= 5
    block = dict(zip(blocks["item"], blocks["block"], strict=True))
    clusters, suppressed = outcome(result)
    assert all(len({block[item] for item in cluster}) == 1 for cluster in clusters)
    assert 0 < len(suppressed) <= 0.2 * len(items)
    fails = partial(getattr(frame.txanon, algorithm), k=5, m=2, utility=blocks)
    with pytest.raises(pdanon.InfeasibleError):
        fails(max_suppressed=(len(suppressed) - 1) / len(items))
