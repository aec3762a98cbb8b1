"""Refinement of cuts: safe by a naive recount, never worse, and a naive search finds no node to replace."""

from __future__ import annotations

import time
from dataclasses import replace

import pandas as pd
import pytest
from conftest import SECRET, Clock, frame_of, rows_of
from frames import FRAMES
from hypothesis import given, settings, strategies as st
from naive.cuts import FIRST, SMALL_TREE, best_choice, hierarchy_of, lattice_search, problems
from naive.emptied import emptied
from naive.refine import Released

import pdanon
from examples import examples
from pdanon import ParameterError

RUNS = {
    "apriori": {},
    "direct": {},
    "vpa": {"parts": 2},
    "optimal": {},
    "hghs": {},
    "mhghs": {},
    "lra": {"parts": 3},
}
WITHOUT_ITEMS = ("no rows", "one empty row", "empty rows", "missing rows")  # a fan-out needs some
GLOBAL = [name for name in RUNS if name != "lra"]


@st.composite
def results(draw, names, knowledge=(1, 2, 3, None)):
    """A tree, rows and what an algorithm made of them."""
    tree, rows, k = draw(problems(most=12, longest=4))
    name, m = draw(st.sampled_from(names)), draw(st.sampled_from(knowledge))
    run = getattr(pdanon, name)
    return tree, rows, run(frame_of(rows), k=k, m=m, hierarchy=hierarchy_of(tree), **RUNS[name])


def check(sample, loss):
    tree, rows, result = sample
    frame, base = frame_of(rows), {"NCP": 0, "LM": 1}[loss]
    refined = frame.txanon.refine(result, loss=loss)
    before, after = Released(tree, rows, result, base), Released(tree, rows, refined, base)
    assert refined.guarantee == result.guarantee
    assert rows_of(refined.frame) == after.published(after.became)
    assert after.groups == before.groups
    assert after.is_safe(after.became)
    least = after.cost(after.became)
    assert least <= before.cost(before.became)
    hides = emptied(rows, rows_of(refined.frame)) > 0  # which may cost more than the search has found
    for other in [] if hides else after.neighbours():
        assert after.cost(other) >= least or not after.is_safe(other)
    most = after.most * sum(map(len, rows))
    curve = refined.trace["loss"]
    assert (curve.diff().dropna() < 0).all()
    assert refined.trace["seconds"].is_monotonic_increasing
    assert curve.iloc[0] == pytest.approx(before.cost(before.became) / max(most, 1))
    assert curve.iloc[-1] == pytest.approx(least / max(most, 1))
    assert refined.loss[loss.upper()] == pytest.approx(curve.iloc[-1])
    assert refined.frame.equals(pdanon.refine(frame, result, loss=loss).frame)
    return before, after


@settings(max_examples=examples(80))
@given(results(GLOBAL), st.sampled_from(["NCP", "LM"]))
def test_cuts_are_safe_and_no_single_node_can_be_replaced(sample, loss):
    before, after = check(sample, loss)
    if None not in before.became.values():
        assert None not in after.became.values()


@settings(max_examples=examples(50))
@given(results(["lra"]), st.sampled_from(["NCP", "LM"]))
def test_blocks_are_safe_together(sample, loss):
    check(sample, loss)


@settings(max_examples=examples(60))
@given(results(["optimal"]))
def test_the_least_loss_does_not_fall(sample):
    _, rows, result = sample
    refined = pdanon.refine(frame_of(rows), result)
    assert result.loss["gap"] == refined.loss["gap"] == 0
    assert refined.loss["NCP"] == pytest.approx(result.loss["NCP"])


@settings(max_examples=examples(60))
@given(results(["apriori", "hghs"]), st.booleans(), st.sampled_from(["NCP", "LM"]))
def test_a_bound_stays_and_the_gap_is_that_of_the_refined_release(sample, known, loss):
    """As if `optimal` had been stopped at the result of another algorithm, with or without the best bound."""
    tree, rows, result = sample
    frame, suppress = frame_of(rows), result.parameters["algorithm"] == "hghs"
    refined = pdanon.refine(frame, result, loss=loss)
    assert "gap" not in refined.loss
    name, search = ("LM", best_choice) if suppress else ("NCP", lattice_search)
    bound = float(search(rows, tree, result.guarantee.k, result.guarantee.m)) * known
    before, after = result.loss[name], refined.loss[name]
    stopped = replace(
        result,
        loss=pd.Series({**result.loss, "gap": 1 - bound / before if before else 0.0}),
        parameters={**result.parameters, "algorithm": "optimal", "suppress": suppress},
    )
    again = pdanon.refine(frame, stopped, loss=loss)
    pd.testing.assert_series_equal(again.loss.drop("gap"), refined.loss)
    assert after * (1 - again.loss["gap"]) == pytest.approx(bound)
    assert (again.loss["gap"] == 0) == (after == pytest.approx(bound))


@settings(max_examples=examples(15))
@given(results(["apriori", "hghs", "lra"], (2, 3)), st.integers(0, 3))
def test_restarts_are_safe_and_no_worse(sample, seed):
    tree, rows, result = sample
    once = pdanon.refine(frame_of(rows), result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock(look=0.01))
        often = pdanon.refine(frame_of(rows), result, time_limit=1, random_state=seed)
    after = Released(tree, rows, often, 0)
    assert after.is_safe(after.became)
    assert often.loss["NCP"] <= result.loss["NCP"] + 1e-9
    assert (often.trace["loss"].diff().dropna() < 0).all()
    assert once.trace["loss"].iloc[0] == often.trace["loss"].iloc[0]


def coarser(result, became):
    """The result with another mapping, as if the algorithm had been content with it."""
    labels = pd.array([became[item] for item in result.mapping["item"]], result.mapping["generalized"].dtype)
    return replace(result, mapping=result.mapping.assign(generalized=labels))


def test_what_was_not_necessary_is_undone():
    """Safe cuts of these rows keep A; that of B can be lowered."""
    frame = frame_of(FIRST)
    result = frame.txanon.apriori(k=2, hierarchy=hierarchy_of(SMALL_TREE))
    poorer = coarser(result, {"a1": "A", "a2": "A", "b1": "B", "b2": "B"})
    before = frame.copy(), poorer.mapping.copy()
    refined = frame.txanon.refine(poorer)
    pd.testing.assert_frame_equal(frame, before[0])
    pd.testing.assert_frame_equal(poorer.mapping, before[1])
    assert refined.mapping["generalized"].tolist() == ["A", "A", "b1", "b2"]
    refined = frame.txanon.refine(coarser(result, dict.fromkeys(["a1", "a2", "b1", "b2"], "*")))
    assert refined.mapping["generalized"].tolist() == ["A", "A", "b1", "b2"]


def test_suppressed_items_come_back():
    frame = frame_of(FIRST)
    result = frame.txanon.hghs(k=2, m=1, hierarchy=hierarchy_of(SMALL_TREE))
    poorer = coarser(result, {"a1": "a1", "a2": None, "b1": None, "b2": None})
    assert rows_of(frame.txanon.refine(poorer).frame) == rows_of(frame)


def test_rows_that_k_rows_hold_are_no_obstacle():
    """Two pairs of rows, of whatever size: each is in just k rows, which is enough."""
    rows = [
        frozenset(row)
        for row in ({"a1", "b1"}, {"a1", "b1"}, {"a2"}, {"a2"}, {"b2"}, {"a2", "b2"}, {"a2", "b2"})
    ]
    frame = frame_of(rows)
    for m in (2, 3, None):
        result = frame.txanon.apriori(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE))
        assert rows_of(result.frame) == rows
        poorer = coarser(result, {"a1": "A", "a2": "A", "b1": "B", "b2": "B"})
        assert rows_of(frame.txanon.refine(poorer).frame) == rows


def test_one_node_is_raised_to_lower_another():
    """u1 and u2 are rare with x1 and with x2. That x is raised is less than what u gains."""
    tree = ("*", [("U", [("u1", None), ("u2", None)]), ("X", [("x1", None), ("x2", None)])])
    rows = [{"u1", "x1"}, {"u1", "x2"}, {"u2", "x1"}, {"u2", "x2"}, *[{"u1"}] * 9, *[{"u2"}] * 9]
    rows = [frozenset(row) for row in rows]
    frame = frame_of(rows)
    result = frame.txanon.apriori(k=2, hierarchy=hierarchy_of(tree))
    poorer = coarser(result, {"u1": "U", "u2": "U", "x1": "x1", "x2": "x2"})
    assert frame.txanon.refine(poorer).mapping["generalized"].tolist() == ["u1", "u2", "X", "X"]


def test_blocks_learn_from_each_other():
    """Each of the two blocks alone has x once; together they have it twice, in both or in none."""
    tree = ("*", [("X", [("x1", None), ("x2", None)])])
    frame = frame_of([{"x1"}, {"x2"}] * 2)
    result = frame.txanon.lra(k=2, m=1, hierarchy=hierarchy_of(tree), parts=2)
    assert result.groups.nunique() == 2  # equal rows are together
    apart = frame_of([{"x1"}, {"x2"}, {"x1"}, {"x2"}])
    groups = pd.Series([0, 0, 1, 1], name="group")
    mapping = pd.DataFrame(
        {"group": [0, 0, 1, 1], "item": ["x1", "x2"] * 2, "generalized": "X", "support": 1}
    )
    refined = apart.txanon.refine(replace(result, groups=groups, mapping=mapping))
    assert rows_of(refined.frame) == rows_of(apart)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["apriori", "lra", "hghs"])
@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind not in WITHOUT_ITEMS])
def test_any_frame(kind, name):
    frame = FRAMES[kind]()
    result = getattr(frame.txanon, name)(k=2, hierarchy=2, **RUNS[name])
    refined = frame.txanon.refine(result)
    others = [label in result.passed_through for label in frame.columns]
    pd.testing.assert_frame_equal(refined.frame.loc[:, others], frame.loc[:, others], check_categorical=False)
    assert refined.loss["NCP"] <= result.loss["NCP"] + 1e-12
    assert refined.frame.index.equals(frame.index)


# --- refusals


@pytest.mark.parametrize("name", ["apriori", "lra"])
def test_results_of_other_frames_are_refused(name):
    frame = frame_of(FIRST)
    result = getattr(frame.txanon, name)(k=2, hierarchy=hierarchy_of(SMALL_TREE), **RUNS[name])
    others = {
        "rows": frame.head(3),
        "supports": frame_of([*FIRST[:3], {"a1", "a2", "b1"}]),
        "columns": frame.rename(columns={"items": "others"}),
        "lists": frame.assign(items=1),
    }
    for other in others.values():
        with pytest.raises(ParameterError, match="not of this frame"):
            pdanon.refine(other, result)
    with pytest.raises(pdanon.PdanonError) as caught:
        pdanon.refine(frame_of([*FIRST[:3], {"a1", SECRET}]), result)
    assert SECRET not in str(caught.value)


def test_labels_beside_the_ancestors_of_an_item_are_refused():
    """b follows the nodes below A."""
    frame = frame_of([{"a1", "b"}] * 2)
    tree = hierarchy_of(("*", [("A", [("a1", None), ("a2", None)]), ("b", None)]))
    wrong = coarser(frame.txanon.apriori(k=2, hierarchy=tree), {"a1": "a1", "b": "A"})
    with pytest.raises(ParameterError, match="labels that are not nodes of its hierarchy"):
        frame.txanon.refine(wrong)


def test_results_that_are_not_safe_here_are_refused():
    """The items have the same supports, but not together."""
    frame = frame_of([{"a", "b"}] * 2 + [{"c"}, {"c"}])
    other = frame_of([{"a", "b"}, {"a", "c"}, {"b"}, {"c"}])
    for m in (2, None):
        result = pdanon.apriori(frame, k=2, m=m, hierarchy=2)
        assert result.mapping["generalized"].tolist() == ["a", "b", "c"]
        with pytest.raises(ParameterError, match="not safe in this frame"):
            pdanon.refine(other, result)


def test_recodings_to_anything_but_cuts_are_refused():
    frame = frame_of(FIRST)
    result = frame.txanon.apriori(k=2, hierarchy=hierarchy_of(SMALL_TREE))
    for became in ({"a1": "B"}, {"a1": "other"}, {"a1": "*"}, {"b1": "B"}):
        poorer = coarser(result, {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"} | became)
        with pytest.raises(ParameterError, match=r"labels that are not nodes|is not a cut of"):
            frame.txanon.refine(poorer)


def test_other_guarantees_are_refused():
    frame = frame_of([{"a", "b"}, {"a"}, {"b"}, {"a", "b"}, {"s"}] * 2)
    diverse = frame.txanon.apriori(guarantee=pdanon.LmDiversity(l=2, m=2, k=2, sensitive=["s"]), hierarchy=2)
    hiding = [
        frame.txanon.suppress_control(rho=0.5, sensitive=["s"]),
        frame.txanon.td_control(rho=0.5, sensitive=["s"], hierarchy=2),
        frame.txanon.cahd(p=2, sensitive=["s"], k=2),
        frame.txanon.disassociate(k=2),
    ]
    for result in (diverse, *hiding):
        with pytest.raises(ParameterError, match="with this guarantee") as caught:
            frame.txanon.refine(result)
        assert "KmAnonymity, PrivacyConstraints, PSRules, TransactionalK or KKm" in str(caught.value)


# --- on real data


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10])
def test_the_optimum_is_reached(k, data):
    """`optimal` proves which loss is the least; `apriori` alone loses a tenth more, or a fifth."""
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = frame.txanon.apriori(k=k, hierarchy=3)
    least = frame.txanon.optimal(k=k, hierarchy=3)
    assert least.loss["gap"] == 0
    assert result.loss["NCP"] > 1.1 * least.loss["NCP"]
    assert frame.txanon.refine(result).loss["NCP"] == pytest.approx(least.loss["NCP"])


@pytest.mark.slow
def test_most_of_the_loss_of_blocks_is_not_necessary(data):
    frame = pdanon.read_parquet(data / "groceries.parquet")
    hierarchy = data / "hierarchies" / "groceries_hierarchy.csv"
    result = frame.txanon.lra(k=5, hierarchy=hierarchy, parts=10)
    refined = frame.txanon.refine(result)
    assert refined.loss["NCP"] <= 0.3 * result.loss["NCP"]
    assert refined.frame.txanon.audit(result.guarantee).holds
