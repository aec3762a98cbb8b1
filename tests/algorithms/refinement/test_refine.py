"""Refinement: safe by a naive recount, never worse, and no move that a naive search finds is left."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, Clock, frame_of, row_lists, rows_of
from frames import FRAMES
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import ALL, examples
from pdanon import ParameterError
from pdanon.algorithms.states import sets_search
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.timing import halt_flag

BLOCKS = [["a", "b", "c"], ["d", "e", "f"]]
RUNS = {
    "pcta": {},
    "coat": {"max_suppressed": 1.0},
    "upcta": {"max_suppressed": 1.0, "utility": BLOCKS},
}
ROWS = [{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}, {"c"}, {"d"}, {"d", "a"}, {"d", "a"}]


@st.composite
def results(draw, knowledge=(1, 2, 3, 4, None)):
    """Rows and what an algorithm made of them."""
    rows = draw(row_lists(least=2, most=14, longest=4))
    k, name = draw(st.integers(2, 4)), draw(st.sampled_from([*RUNS]))
    assume(sum(map(bool, rows)) >= k)
    items = frozenset().union(*rows)
    arguments = dict(RUNS[name])
    if "utility" in arguments:
        blocks = [[item for item in block if item in items] for block in BLOCKS]
        arguments["utility"] = [block for block in blocks if block]
    return rows, getattr(pdanon, name)(frame_of(rows), k=k, m=draw(st.sampled_from(knowledge)), **arguments)


def became_of(result):
    """The cluster of each item, as a frozenset; None where it is suppressed."""
    mapping = result.mapping
    members = mapping.groupby("generalized")["item"].agg(frozenset).to_dict()
    return {
        item: members.get(label) for item, label in zip(mapping["item"], mapping["generalized"], strict=True)
    }


def cost(rows, became, base=0):
    """The loss times the number of occurrences and the (number of items - base), an integer."""
    n, total = len(became), 0
    for item, cluster in became.items():
        each = n - base if cluster is None else len(cluster) - base if len(cluster) > 1 else 0
        total += each * naive.support(rows, {item})
    return total


def published(rows, became):
    return [frozenset(became[item] for item in row) - {None} for row in rows]


def hides_emptied(rows, became, k):
    """Whether no row or at least k rows lose all their items; if all rows do, nobody is singled out."""
    held = published(rows, became)
    emptied = sum(bool(row) and not labels for row, labels in zip(rows, held, strict=True))
    return emptied == 0 or emptied >= k or not any(held)


def empties(rows, became):
    """Whether a row loses all its items: the search ends before more are emptied to hide it."""
    return any(row and not labels for row, labels in zip(rows, published(rows, became), strict=True))


def is_safe(rows, became, k, m):
    labels = {cluster: str(sorted(cluster)) for cluster in became.values() if cluster}
    named = [frozenset(labels[cluster] for cluster in row) for row in published(rows, became)]
    return not naive.km_threats(named, k, m) and hides_emptied(rows, became, k)


def moved(became, item, target):
    """The clusters after an item moved into a cluster, or, if that is empty, out to its own."""
    old = became[item]
    after = dict(became)
    for other in (old or frozenset()) - {item}:
        after[other] = old - {item}
    for other in target | {item}:
        after[other] = target | {item}
    return after


def neighbours(became, blocks):
    """What one move of an item, or one merge, makes of the clusters."""
    block_of = {item: number for number, block in enumerate(blocks) for item in block}
    clusters = {cluster for cluster in became.values() if cluster}
    for item, old in became.items():
        for target in {*clusters, frozenset()} - {old}:
            if all(block_of[item] == block_of[other] for other in target):
                yield moved(became, item, target)
    for one in clusters:
        for other in clusters - {one}:
            if len({block_of[item] for item in one | other}) == 1:
                yield {**became, **dict.fromkeys(one | other, one | other)}


def blocks_of(result):
    table = result.parameters.get("utility")
    if table is None:
        return [list(result.mapping["item"])]
    return [list(group) for _, group in table.groupby("block")["item"]]


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(results(), st.sampled_from(["NCP", "LM"]))
def test_refined_is_safe_and_never_worse(sample, loss):
    rows, result = sample
    frame, base = frame_of(rows), {"NCP": 0, "LM": 1}[loss]
    refined = frame.txanon.refine(result, loss=loss)
    k, m = result.parameters["k"], result.parameters["m"]
    became = became_of(refined)
    assert refined.guarantee == result.guarantee
    assert not naive.km_threats(rows_of(refined.frame), k, m)
    assert is_safe(rows, became, k, m)
    assert cost(rows, became, base) <= cost(rows, became_of(result), base)
    blocks = {item: number for number, block in enumerate(blocks_of(result)) for item in block}
    assert all(len({blocks[item] for item in cluster}) == 1 for cluster in became.values() if cluster)
    assert refined.frame.equals(pdanon.refine(frame, result, loss=loss).frame)
    most = (len(became) - base) * sum(map(len, rows))
    curve = refined.trace["loss"]
    assert (curve.diff().dropna() < 0).all()
    assert refined.trace["seconds"].is_monotonic_increasing
    assert curve.iloc[0] == pytest.approx(cost(rows, became_of(result), base) / max(most, 1))
    assert curve.iloc[-1] == pytest.approx(cost(rows, became, base) / max(most, 1))
    assert loss == "LM" or refined.loss["NCP"] == pytest.approx(curve.iloc[-1])


@settings(max_examples=examples(60))
@given(results(), st.sampled_from([0, 1]))
def test_no_single_move_is_left(sample, base):
    rows, result = sample
    refined = pdanon.refine(frame_of(rows), result, loss=("NCP", "LM")[base])
    became, k, m = became_of(refined), result.parameters["k"], result.parameters["m"]
    for other in [] if empties(rows, became) else neighbours(became, blocks_of(result)):
        assert cost(rows, other, base) >= cost(rows, became, base) or not is_safe(rows, other, k, m)


def priced(rows, became, loss):
    """Any loss as an exact number, up to a factor; weights are those of items, in [0, 1]."""
    if isinstance(loss, dict):
        whole = {item: Fraction(loss.get(item, 1)) for item in became}
        return sum(
            whole[item]
            * naive.support(rows, {item})
            * (len(became) if cluster is None else len(cluster) if len(cluster) > 1 else 0)
            for item, cluster in became.items()
        )
    if loss == "UL":
        held = published(rows, became)
        total = sum(
            (2 ** len(cluster) - 1) * sum(cluster in row for row in held)
            for cluster in {*became.values()} - {None}
        )
        gone = [item for item, cluster in became.items() if cluster is None]
        return total + (2 ** len(became) - 1) * sum(naive.support(rows, {item}) for item in gone)
    if loss == "balanced":
        n, total = len(became), 0.0
        for cluster in {*became.values()} - {None}:
            supports = [naive.support(rows, {item}) for item in cluster]
            if len(cluster) > 1:
                total += (len(cluster) + n**0.5) * sum(supports) + n**0.5 * len(cluster) * np.std(supports)
        gone = [item for item, cluster in became.items() if cluster is None]
        return total + (n + n**0.5) * sum(naive.support(rows, {item}) for item in gone)
    return cost(rows, became, {"NCP": 0, "LM": 1}[loss])


LOSSES = ["NCP", "LM", "UL", "balanced", {}, {"a": 0, "b": 0.2, "d": 0.6}]


@settings(max_examples=examples(60))
@given(results(), st.sampled_from(LOSSES))
def test_any_loss_falls_and_no_single_move_is_left(sample, loss):
    rows, result = sample
    k, m = result.parameters["k"], result.parameters["m"]
    became = became_of(result)
    if isinstance(loss, dict):
        loss = {item: weight for item, weight in loss.items() if item in became}
    refined = pdanon.refine(frame_of(rows), result, loss=loss)
    after = became_of(refined)
    # weights are rounded to steps of 1/65535
    slack = len(became) * sum(map(len, rows)) * Fraction(1, 65535) if isinstance(loss, dict) else 0
    slack = 1e-9 * priced(rows, became, loss) if loss == "balanced" else slack  # rounding errors
    assert priced(rows, after, loss) <= priced(rows, became, loss) + slack
    assert is_safe(rows, after, k, m)
    assert (refined.trace["loss"].diff().dropna() <= 0).all()
    if loss == "UL":
        assert refined.trace["loss"].iloc[0] == pytest.approx(result.loss["UL"])
        assert refined.trace["loss"].iloc[-1] == pytest.approx(refined.loss["UL"])
    if not empties(rows, after):
        for other in neighbours(after, blocks_of(result)):
            assert priced(rows, other, loss) >= priced(rows, after, loss) - slack or not is_safe(
                rows, other, k, m
            )


@settings(max_examples=examples(50))
@given(results(), st.sampled_from(["NCP", "LM"]))
def test_no_cluster_of_two_or_three_can_be_parted(sample, loss):
    """Parting so few is a single move."""
    rows, result = sample
    became = became_of(pdanon.refine(frame_of(rows), result, loss=loss))
    k, m = result.parameters["k"], result.parameters["m"]
    for cluster in {*became.values()} - {None}:
        for item in cluster if len(cluster) in (2, 3) else ():
            assert not is_safe(rows, moved(became, item, frozenset()), k, m)


@st.composite
def constrained(draw):
    """Rows, constraints, and what an algorithm made of them."""
    rows = draw(row_lists(least=2, most=14, longest=4))
    k, name = draw(st.integers(2, 4)), draw(st.sampled_from([*RUNS]))
    assume(sum(map(bool, rows)) >= k)
    items = sorted(frozenset().union(*rows))
    arguments = dict(RUNS[name])
    if "utility" in arguments:
        blocks = [[item for item in block if item in items] for block in BLOCKS]
        arguments["utility"] = [block for block in blocks if block]
    constraints = draw(
        st.lists(st.sets(st.sampled_from(items), min_size=1, max_size=3), min_size=1, max_size=5)
    )
    made = getattr(pdanon, name)(
        frame_of(rows),
        guarantee=pdanon.PrivacyConstraints(constraints=[*map(sorted, constraints)], k=k),
        **arguments,
    )
    return rows, constraints, made


def keeps(rows, became, constraints, k):
    """Whether the image of each constraint is in no row or in k, counted one by one."""
    held = published(rows, became)
    if not hides_emptied(rows, became, k):
        return False
    for constraint in constraints:
        image = {became[item] for item in constraint} - {None}
        if image and 0 < sum(image <= row for row in held) < k:
            return False
    return True


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(constrained(), st.sampled_from(["NCP", "UL"]))
def test_constraints_are_kept_and_no_single_move_is_left(sample, loss):
    rows, constraints, result = sample
    k = result.parameters["k"]
    refined = pdanon.refine(frame_of(rows), result, loss=loss)
    became = became_of(refined)
    assert keeps(rows, became, constraints, k)
    assert refined.frame.txanon.audit(refined.guarantee).holds
    assert priced(rows, became, loss) <= priced(rows, became_of(result), loss)
    others = neighbours(became, blocks_of(result))
    for other in [] if empties(rows, became) else others:
        assert priced(rows, other, loss) >= priced(rows, became, loss) or not keeps(
            rows, other, constraints, k
        )
    blocks = {item: number for number, block in enumerate(blocks_of(result)) for item in block}
    assert all(len({blocks[item] for item in cluster}) == 1 for cluster in became.values() if cluster)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(10))
def test_constraints_are_counted_in_more_rows_than_a_word_has_bits(seed):
    rng = np.random.default_rng(seed)
    rows = [frozenset(rng.choice([*"abcdefghij"], rng.integers(1, 6), replace=False)) for _ in range(300)]
    constraints = [set(rng.choice([*"abcdefghij"], size, replace=False)) for size in (2, 2, 3, 3, 4, 4)]
    result = pdanon.pcta(
        frame_of(rows), guarantee=pdanon.PrivacyConstraints(constraints=[*map(sorted, constraints)], k=25)
    )
    became = became_of(pdanon.refine(frame_of(rows), result, loss="NCP"))
    assert cost(rows, became) <= cost(rows, became_of(result))
    for other in neighbours(became, blocks_of(result)):
        assert cost(rows, other) >= cost(rows, became) or not keeps(rows, other, constraints, 25)


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(constrained(), st.integers(0, 3))
def test_restarts_keep_constraints(sample, seed):
    rows, constraints, result = sample
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock(look=0.01))
        refined = pdanon.refine(frame_of(rows), result, time_limit=5, random_state=seed)
    assert keeps(rows, became_of(refined), constraints, result.parameters["k"])
    assert priced(rows, became_of(refined), "NCP") <= priced(rows, became_of(result), "NCP")


def test_constraints_that_need_nothing_bring_every_item_back():
    frame = frame_of(ROWS)
    refined = pdanon.pcta(
        frame, guarantee=pdanon.PrivacyConstraints(constraints=[["a", "c"]], k=3), refine=True
    )
    again = pdanon.refine(
        frame, pdanon.pcta(frame, guarantee=pdanon.PrivacyConstraints(constraints=[["a", "c"]], k=3))
    )
    pd.testing.assert_frame_equal(refined.mapping, again.mapping)
    assert keeps([frozenset(row) for row in ROWS], became_of(refined), [{"a", "c"}], 3)


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_no_step_is_left_where_sets_have_many_neighbours(seed, m):
    """Steps are refused by what is known of a few clusters: none may be that is safe."""
    rng = np.random.default_rng(seed)
    items = [*"abcdefghijkl"]
    shares = 1 / np.arange(1, len(items) + 1)
    shares /= shares.sum()
    rows = [frozenset(rng.choice(items, rng.integers(1, 5), replace=False, p=shares)) for _ in range(40)]
    result = pdanon.coat(frame_of(rows), k=3, m=m)
    became = became_of(pdanon.refine(frame_of(rows), result, loss="NCP"))
    assert is_safe(rows, became, 3, m)
    lost = cost(rows, became)
    assert lost < 1000  # so that every gain is worth another round
    for other in neighbours(became, blocks_of(result)):
        assert cost(rows, other) >= lost or not is_safe(rows, other, 3, m)


def test_a_set_is_parted_where_no_item_can_leave_alone():
    """In each half two items are needed beside x: nobody can go first, two can go together."""
    rows = [["a", "x"], ["b", "x"], ["c", "x"], ["d", "x"], ["x"]]
    frame = frame_of([{*row} for row in rows])
    result = pdanon.pcta(frame, k=2, m=2)
    whole = {item: "(a,b,c,d)" if item != "x" else "x" for item in "abcdx"}
    mapping = result.mapping.assign(
        generalized=pd.array(
            [whole[item] for item in result.mapping["item"]], result.mapping["generalized"].dtype
        )
    )
    refined = pdanon.refine(frame, replace(result, mapping=mapping))
    assert sorted(map(len, {*became_of(refined).values()})) == [1, 2, 2]


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(results((2, 3, 4, None)), st.integers(0, 3))
def test_restarts_are_safe_and_no_worse(sample, seed):
    rows, result = sample
    frame = frame_of(rows)
    once = pdanon.refine(frame, result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock(look=0.01))
        often = pdanon.refine(frame, result, time_limit=5, random_state=seed)
    k, m = result.parameters["k"], result.parameters["m"]
    assert not naive.km_threats(rows_of(often.frame), k, m)
    before, after = (priced(rows, became_of(each), "balanced") for each in (result, often))
    assert after <= before * (1 + 1e-9)
    assert (often.trace["loss"].diff().dropna() < 0).all()
    assert once.trace["loss"].iloc[0] == often.trace["loss"].iloc[0]


def test_suppressed_items_come_back():
    """c is suppressed, though it is in k rows."""
    frame = frame_of([{"a"}, {"a"}, {"b"}, {"b"}, {"c"}, {"c"}])
    result = pdanon.upcta(frame, k=2, utility=[["a", "b", "c"]])
    mapping = result.mapping.assign(
        generalized=pd.array(["a", "b", None], result.mapping["generalized"].dtype)
    )
    poorer = replace(result, mapping=mapping, loss=result.loss)
    refined = pdanon.refine(frame, poorer)
    assert refined.mapping["generalized"].tolist() == ["a", "b", "c"]
    assert rows_of(refined.frame) == rows_of(frame)


def test_pcta_refines_what_it_made():
    frame = frame_of(ROWS * 2)
    refined = pdanon.pcta(frame, k=3, refine=True)
    again = pdanon.refine(frame, pdanon.pcta(frame, k=3))
    pd.testing.assert_frame_equal(refined.mapping, again.mapping)
    assert [*refined.trace.columns] == ["seconds", "loss"]
    assert pdanon.pcta(frame, k=3).trace is None
    assert refined.parameters["refine"] is True


def test_what_is_recorded_is_what_each_was_asked():
    frame = frame_of(ROWS * 2).assign(age=range(2 * len(ROWS)))
    classes = pdanon.rfirst(frame, k=2, quasi=["age"], random_state=7)
    asked = {"loss": "LM", "time_limit": 0.01, "random_state": 3}
    refined = pdanon.refine(frame, classes, **asked)
    own = {"refine": True, "refine_loss": "LM", "refine_time_limit": 0.01, "refine_random_state": 3}
    assert refined.parameters == {**classes.parameters, **own}


def test_without_time_to_count_what_came_in_is_returned(monkeypatch):
    monkeypatch.setattr(sets_search, "_STEPS", 1)  # the clock is looked at after every row
    frame = frame_of(ROWS * 2)
    result = pdanon.pcta(frame, k=3)
    refined = pdanon.refine(frame, result, time_limit=1e-9)
    pd.testing.assert_frame_equal(refined.mapping, result.mapping)
    assert refined.guarantee == result.guarantee
    assert refined.trace.empty
    assert refined.cut_short == "stopped at the time limit of 1e-09 s; more time may lose less"
    assert f"  search     {refined.cut_short}" in repr(refined)
    assert len(pdanon.refine(frame, result).trace) > 0


def test_a_descent_that_was_completed_is_not_cut_short(clock):
    """With a limit it goes on at random until the end, which no more time would be the end of."""
    frame = frame_of(ROWS * 2)
    result, clock.look = pdanon.pcta(frame, k=3), 0.01
    for limit in (None, 600):
        assert pdanon.refine(frame, result, time_limit=limit).cut_short == ""


@pytest.mark.parametrize("rows", [[], [[], []], [None, [], []], [["a"], ["a"]]])
def test_nothing_to_refine(rows, clock):
    frame, clock.look = frame_of(rows), 0.01
    refined = pdanon.refine(frame, pdanon.pcta(frame, k=2), time_limit=1)
    assert rows_of(refined.frame) == rows_of(frame)
    assert refined.trace["loss"].tolist() == [0.0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_any_frame(make):
    frame = make()
    if len(frame) == 1:
        return
    result = pdanon.pcta(frame, k=2)
    refined = pdanon.refine(frame, result)
    others = [label in result.passed_through for label in frame.columns]
    pd.testing.assert_frame_equal(refined.frame.loc[:, others], frame.loc[:, others], check_categorical=False)
    assert refined.loss["NCP"] <= result.loss["NCP"]
    assert refined.frame.index.equals(frame.index)


def test_a_column_of_missing_rows_alone_need_not_say_that_it_holds_lists():
    frame = pd.DataFrame({"items": pd.Series([None, None], dtype=object)})
    released = pdanon.refine(frame, pdanon.pcta(frame, "items", k=2)).frame
    assert released["items"].isna().tolist() == [True, True]


def test_one_of_several_list_columns():
    frame = frame_of(ROWS).assign(other=[["u"], ["v"]] * 4)
    result = frame.txanon.pcta("items", k=3)
    refined = pdanon.refine(frame, result)
    assert refined.frame["other"].tolist() == [["u"], ["v"]] * 4
    assert not naive.km_threats(rows_of(refined.frame), 3, 2)


# --- refusals


def test_results_of_other_frames_are_refused():
    frame = frame_of(ROWS)
    result = frame.txanon.pcta(k=3)
    others = {
        "rows": frame.head(5),
        "items": frame_of([*ROWS[:-1], {"d", SECRET}]),
        "supports": frame_of([*ROWS[:-1], {"d", "b"}]),
        "columns": frame.rename(columns={"items": "others"}),
        "a column more": frame.assign(age=1),
        "lists": frame.assign(items=1),
        "numbers": pd.DataFrame({"items": [[1, 2, 3, 4]] * 8}),
    }
    for other in others.values():
        with pytest.raises(ParameterError, match="not of this frame") as caught:
            pdanon.refine(other, result)
        assert SECRET not in str(caught.value)
        if "age" in other:
            assert caught.value.parts["got"] == "columns that only one of them has: age"


def test_results_that_are_not_safe_here_are_refused():
    """The items have the same supports, but not together."""
    frame = frame_of([{"a", "b"}] * 2 + [{"c"}, {"c"}])
    other = frame_of([{"a", "b"}, {"a", "c"}, {"b"}, {"c"}])
    result = pdanon.pcta(frame, k=2)
    assert result.mapping["generalized"].tolist() == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="not safe in this frame"):
        pdanon.refine(other, result)


def test_results_whose_four_items_are_not_safe_together_are_refused():
    """All three items of one row are in another one, all four are not."""
    result = pdanon.pcta(frame_of([*["abcd"] * 4, ""]), k=2, m=4)
    assert result.mapping["generalized"].tolist() == [*"abcd"]
    with pytest.raises(ParameterError, match="not safe in this frame"):
        pdanon.refine(frame_of(["abcd", "abc", "abd", "acd", "bcd"]), result)


def test_other_kinds_of_results_are_refused():
    frame = frame_of(ROWS)
    result = frame.txanon.pcta(k=3)
    with pytest.raises(pdanon.InfeasibleError) as caught:
        pdanon.coat(frame, k=3, utility=[["a"], ["b"], ["c"], ["d"]])
    wrong = {
        "does not have its guarantee": caught.value.partial,
        "result is not a release": result.frame,
    }
    for message, other in wrong.items():
        with pytest.raises(ParameterError, match=message) as caught:
            pdanon.refine(frame, other)
        assert "hint" in str(caught.value)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True, "1"])
def test_time_limits_must_be_seconds(limit):
    frame = frame_of(ROWS)
    with pytest.raises(ParameterError, match="time_limit must be"):
        pdanon.refine(frame, frame.txanon.pcta(k=3), time_limit=limit)


def test_the_default_is_balanced_where_there_is_one():
    frame = frame_of([*map(set, ["ab", "ab", "ac", "bc", "cd", "d", "de", "e", "ae", "bd"])])
    rules = pdanon.ps_rules(frame, rules=[(["a"], ["e"])], k=3, c=0.9)
    cases = {
        "balanced": [
            pdanon.pcta(frame, k=3),
            pdanon.pcta(frame, guarantee=pdanon.PrivacyConstraints(constraints=[["a", "c"]], k=3)),
        ],
        "NCP": [rules, pdanon.apriori(frame, k=3, hierarchy=2)],
    }
    for name, results in cases.items():
        for result in results:
            refined = pdanon.refine(frame, result)
            assert refined.parameters["refine_loss"] == name
            assert refined.frame.equals(pdanon.refine(frame, result, loss=name).frame)


def test_unknown_losses_are_refused():
    frame = frame_of(ROWS)
    with pytest.raises(ParameterError, match="no such loss"):
        pdanon.refine(frame, frame.txanon.pcta(k=3), loss="gcp")
    with pytest.raises(ParameterError, match="do not occur") as caught:
        pdanon.refine(frame, frame.txanon.pcta(k=3), loss={SECRET: 0.5})
    assert SECRET not in str(caught.value)


# --- on real data


@pytest.mark.slow
@pytest.mark.parametrize(("name", "m"), [("uci_msweb_train", 2), ("groceries", 3)])
def test_the_number_of_threads_changes_nothing(data, name, m):
    frame = pdanon.read_parquet(data / f"{name}.parquet")
    result = pdanon.coat(frame, k=5, m=m)
    frames = []
    try:
        for n in (1, 2, 3):
            pdanon.config(threads=n)
            frames.append(pdanon.refine(frame, result).frame)
    finally:
        pdanon.config(threads=None)
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


@pytest.mark.slow
@pytest.mark.parametrize("m", [4, None])
def test_many_known_items_leave_a_third_of_the_loss_to_save(data, m):
    """Moves need no annealing there; a short time limit ends them, at worst with the first release."""
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = pdanon.coat(frame, k=5, m=m)
    refined = pdanon.refine(frame, result, loss="NCP")
    assert refined.loss["NCP"] < 0.67 * result.loss["NCP"]
    hurried = pdanon.refine(frame, result, loss="NCP", time_limit=0.01)
    assert refined.loss["NCP"] <= hurried.loss["NCP"] <= result.loss["NCP"]
    for each in (refined, hurried):
        assert result.guarantee.audit(each.frame).holds
    assert hurried.cut_short


@pytest.mark.slow
def test_annealing_lowers_the_loss_under_constraints(data, monkeypatch):
    frame = pdanon.read_parquet(data / "groceries.parquet")
    rows = frame["items"].sample(2000, random_state=0).map(sorted)
    constraints = sorted({tuple(row[:3]) for row in rows if len(row) > 2})
    result = pdanon.coat(
        frame, guarantee=pdanon.PrivacyConstraints(constraints=[*map(list, constraints)], k=5)
    )
    found = []
    try:
        for n in (1, 2, 3):
            pdanon.config(threads=n)
            found.append(pdanon.refine(frame, result))
    finally:
        pdanon.config(threads=None)
    assert all(each.frame.equals(found[0].frame) for each in found)
    assert found[0].guarantee.audit(found[0].frame).holds
    quick = pdanon.refine(frame, result, time_limit=0.2)
    assert quick.guarantee.audit(quick.frame).holds
    assert quick.trace["loss"].iloc[-1] <= quick.trace["loss"].iloc[0]
    monkeypatch.setattr(sets_search.Refinement, "_anneals", lambda _: False)
    moved = pdanon.refine(frame, result)
    least, before = (each.trace["loss"].iloc[-1] for each in (found[0], moved))
    assert least < 0.97 * before


@pytest.mark.skipif(os.name != "posix", reason="the signal is sent to the process as a terminal does")
@pytest.mark.parametrize("n_threads", [2, 1])
def test_an_interrupt_ends_the_annealings(n_threads, monkeypatch):
    """Each of both looks at the clock once before it begins, and after each of 40 sweeps."""
    result, spent, looks = pdanon.pcta(frame_of(ROWS * 2), k=3), sets_search.time_spent, []

    def interrupt(*asked):
        looks.append(asked)
        if len(looks) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        patience = 6000
        while len(looks) >= 3 and not halt_flag()[0] and patience:  # until the main thread was interrupted
            patience -= 1
            time.sleep(0.01)
        return spent(*asked)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(sets_search, "time_spent", interrupt)
    pdanon.config(threads=n_threads)
    try:
        with pytest.raises(KeyboardInterrupt):
            pdanon.refine(frame_of(ROWS * 2), result)
        assert len(looks) <= 2 + n_threads
    finally:
        signal.signal(signal.SIGINT, before)
        pdanon.config(threads=None)


@pytest.mark.slow
def test_an_annealing_with_little_time_takes_larger_steps(data, monkeypatch):
    """Five sweeps instead of 40: safe, noted, and still near the fewest occurrences that must change."""
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = pdanon.coat(frame, k=5, m=2)
    whole = pdanon.refine(frame, result)
    spent = iter([0.0, *(i / 10 for i in range(1, 6)), *[1.0] * 100])
    monkeypatch.setattr(sets_search, "time_spent", lambda *_: next(spent))
    refined = pdanon.refine(frame, result)
    assert not whole.cut_short
    assert refined.cut_short == "annealed in fewer sweeps, for the time limit; more time may lose less"
    assert result.guarantee.audit(refined.frame).holds
    least = refined.bound.least
    assert least <= whole.loss["occurrences"] <= 1.01 * least
    assert refined.loss["occurrences"] <= 1.1 * least < result.loss["occurrences"]


@pytest.mark.parametrize(
    "guarantee",
    [
        KmAnonymity(2, 1),
        KmAnonymity(2, 2),
        PrivacyConstraints(constraints=[[0], [1, 2], [3]], k=4),
    ],
    ids=str,
)
def test_a_search_that_makes_room_for_more_sets_finds_the_same(guarantee, monkeypatch):
    """Room for all sets from the start, and for one set more each time."""
    rng = np.random.default_rng(8)
    rows = [rng.choice(24, rng.integers(1, 4), replace=False).tolist() for _ in range(400)]
    itemsets = Itemsets.from_series(pd.Series(rows))
    grown, grow = [], sets_search.Refinement._make_space
    monkeypatch.setattr(
        sets_search.Refinement, "_make_space", lambda self: grown.append(len(self._state.size)) or grow(self)
    )
    monkeypatch.setattr(sets_search.Refinement, "_anneals", lambda _: False)
    found = []
    for slots, spare in ((24, 24), (1, 1)):
        monkeypatch.setattr(sets_search, "_SLOTS", slots)
        monkeypatch.setattr(sets_search, "_SPARE", spare)
        search = sets_search.Refinement(itemsets, np.zeros(24, np.int64), guarantee, loss="balanced")
        search.descend()
        found.append((search.best.tolist(), search.trace["loss"].tolist()))
    assert found[0] == found[1]
    assert len(set(found[0][0])) > 2
    assert grown[:3] == [24, 2, 4]


@pytest.mark.slow
def test_sets_that_stay_unsafe_are_merged(data, monkeypatch):
    """Rows that are lacking cost next to nothing here, so that many are left in the end."""
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = pdanon.coat(frame, k=25, m=2)
    repaired = []
    repair = sets_search.Refinement._repair
    monkeypatch.setattr(sets_search, "_PENALTY", 20.0)
    monkeypatch.setattr(sets_search, "_RISE", 1.0)
    monkeypatch.setattr(sets_search, "_PRESS", 1.0)
    monkeypatch.setattr(
        sets_search.Refinement, "_repair", lambda self: repaired.append(self._state.lack) or repair(self)
    )
    refined = pdanon.refine(frame, result)
    assert repaired
    assert min(repaired) > 0
    assert result.guarantee.audit(refined.frame).holds
    assert refined.loss["occurrences"] < result.loss["occurrences"]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "m", "share"), [(2, 2, 0.5), (25, 2, 0.5), *([(25, 3, 0.7)] if ALL else [])])
def test_half_of_the_loss_of_pcta_is_not_necessary(data, k, m, share):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    result = frame.txanon.pcta(k=k, m=m)
    refined = frame.txanon.refine(result, loss="NCP")
    assert refined.loss["NCP"] <= share * result.loss["NCP"]
    assert refined.frame.txanon.audit(result.guarantee).holds


@pytest.mark.parametrize("name", ["pcta", "coat", "upcta"])
@settings(max_examples=examples(40))
@given(row_lists(items="abcdef", longest=4, most=10), st.integers(2, 3), st.booleans())
def test_an_algorithm_that_refines_gives_what_refine_gives(name, rows, k, in_blocks):
    blocks = {"utility": [["a", "b", "c"], ["d", "e", "f"]], "max_suppressed": 0.5} if in_blocks else {}
    asked = {"k": k, "m": 2} | ({} if name == "pcta" else blocks)
    frame = frame_of(rows)
    try:
        first = getattr(pdanon, name)(frame, **asked)
    except pdanon.InfeasibleError:
        return
    expected, found = pdanon.refine(frame, first), getattr(pdanon, name)(frame, **asked, refine=True)
    before, after = (priced(rows, became_of(each), "balanced") for each in (first, found))
    assert after <= before * (1 + 1e-9)
    assert found.guarantee.audit(found.frame).holds
    if rows_of(first.frame).count(set()) == list(rows).count(set()):  # else the two begin with other items
        assert found.frame.equals(expected.frame)
        assert found.trace["loss"].tolist() == expected.trace["loss"].tolist()
