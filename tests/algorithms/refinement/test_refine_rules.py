"""Refinement of releases by PS-rules: protected by the definition, never worse, and no move is left."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import assume, given, settings, strategies as st
from naive import rules as naive
from naive.itemsets import support
from test_refine import became_of, cost, moved

import pdanon
from examples import examples
from pdanon import ParameterError, constraints

SHARES = [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]
TOY = frame_of([{"a", "b", "s"}, {"a", "b"}, {"a", "c", "s"}, {"b", "c"}, {"c"}])


@st.composite
def results(draw):
    """Rows, rules, and a release that protects these."""
    rows = draw(st.lists(st.frozensets(st.sampled_from("abcdefst"), max_size=5), min_size=3, max_size=16))
    items = frozenset().union(*rows)
    public, sensitive = sorted(items & {*"abcdef"}), sorted(items & {*"st"})
    assume(len(public) > 1 and sensitive)
    k, c = draw(st.integers(2, 3)), draw(st.sampled_from(SHARES))
    if draw(st.booleans()):
        m = draw(st.integers(1, 3))
        listed, rules = naive.all_rules(public, sensitive, m), constraints.AllRules(m, sensitive)
    else:
        sides = (st.frozensets(st.sampled_from(each), min_size=1, max_size=3) for each in (public, sensitive))
        listed = draw(st.lists(st.tuples(*sides), min_size=1, max_size=6))
        rules = [(sorted(known), sorted(hidden)) for known, hidden in listed]
        sensitive = sorted(frozenset().union(*(hidden for _, hidden in listed)))
    try:
        result = frame_of(rows).txanon.ps_rules(rules=rules, k=k, c=float(c), suppress=True)
    except pdanon.InfeasibleError:
        assume(False)
    suppressed = result.mapping["item"][result.mapping["generalized"].isna()]
    assume({*suppressed} <= {*sensitive})  # others hide emptied rows, and are no part of the search
    return rows, listed, frozenset(sensitive), k, c, result


def is_protected(rows, listed, k, c, became):
    """Whether no rule is broken when items are published as these sets."""
    labels = {item: each and str(sorted(each)) for item, each in became.items()}
    published = [frozenset(labels[item] for item in row) - {None} for row in rows]
    named = [(known, frozenset(labels[item] or "?" for item in hidden)) for known, hidden in listed]
    same = {label: label for label in labels.values()} | {"?": None}
    return not naive.broken(published, named, k, c, labels | same)


def moves(became, sensitive):
    """What one move of a public item makes of the sets."""
    for item in became.keys() - sensitive:
        others = {each for other, each in became.items() if each and other not in sensitive}
        for target in others - {became[item]} | {frozenset()}:
            yield moved(became, item, target)


def utility_loss(rows, became):
    """UL, without what all sets have in common."""
    sets = {each for each in became.values() if each}
    gone = sum(support(rows, {item}) for item, each in became.items() if each is None)
    held = sum((2 ** len(each) - 1) * sum(bool(row & each) for row in rows) for each in sets)
    return held + (2 ** len(became) - 1) * gone


@pytest.mark.slow
@settings(max_examples=examples(120))
@given(results(), st.sampled_from(["NCP", "LM", "UL"]))
def test_refined_releases_are_protected_and_no_move_is_left(case, loss):
    rows, listed, sensitive, k, c, result = case
    refined = pdanon.refine(frame_of(rows), result, loss=loss)
    costs = {"NCP": cost, "LM": lambda *case: cost(*case, base=1), "UL": utility_loss}[loss]
    before, after = became_of(result), became_of(refined)
    assert is_protected(rows, listed, k, c, after)
    assert costs(rows, after) <= costs(rows, before)
    assert {after[item] for item in sensitive & after.keys()} <= {None, *map(frozenset, sensitive)}
    assert [item for item in after if after[item] is None] == [
        item for item in before if before[item] is None
    ]
    for each in moves(after, sensitive):
        assert costs(rows, each) >= costs(rows, after) or not is_protected(rows, listed, k, c, each)
    trace = refined.trace["loss"]
    assert trace.is_monotonic_decreasing
    most = (len(after) - (loss == "LM")) * sum(map(len, rows))
    if loss != "UL":
        assert trace.iloc[-1] == pytest.approx(costs(rows, after) / most)
    else:
        most = log2(2 ** len(after) - 1) + log2(len(rows))
        assert trace.iloc[-1] == pytest.approx(log2(costs(rows, after)) - most)


def test_the_toy_gets_the_better_of_two_sets():
    """{c}, {a,b} loses 3 * 4, and {b}, {a,c} 3 * 5, by UL; all in one set 7 * 5."""
    rules = [(["a"], ["s"]), (["b"], ["s"]), (["c"], ["s"])]
    for given_rules in (rules, constraints.AllRules(1, ["s"])):
        result = TOY.txanon.ps_rules(rules=given_rules, k=2, c=0.6)
        for loss in ("UL", "NCP"):
            refined = TOY.txanon.refine(result, loss=loss)
            assert {*became_of(refined).values()} == {frozenset("ab"), frozenset("c"), frozenset("s")}


def test_weights_and_names_of_sets_are_kept():
    result = TOY.txanon.ps_rules(rules=constraints.AllRules(1, ["s"]), k=2, c=0.6)
    refined = TOY.txanon.refine(result, loss={"a": 0.1, "c": 0.1, "s": 0.1}).relabel("short")
    assert refined.mapping["generalized"].str.fullmatch("G1|b|s").all()
    assert {*became_of(refined).values()} == {frozenset("ac"), frozenset("b"), frozenset("s")}
    assert repr(refined.guarantee) == repr(result.guarantee)


def test_with_time_sets_are_merged_at_random_and_the_best_is_kept(clock):
    rows = [{"a", "b"}, {"c", "d", "s"}, {"a", "c"}, {"b", "d"}, {"e", "s"}, {"e", "a"}, {"f"}, {"f", "b"}]
    frame = frame_of(rows)
    result = frame.txanon.ps_rules(rules=constraints.AllRules(2, ["s"]), k=2, c=0.5)
    at_once, clock.look = frame.txanon.refine(result), 0.01
    longer = frame.txanon.refine(result, time_limit=2, random_state=1)
    assert longer.loss["NCP"] <= at_once.loss["NCP"] <= result.loss["NCP"]
    assert longer.trace["seconds"].iloc[-1] < 2.1
    assert clock() < 4


def test_without_time_what_came_in_is_returned():
    result = TOY.txanon.ps_rules(rules=constraints.AllRules(1, ["s"]), k=2, c=0.6)
    refined = TOY.txanon.refine(result, time_limit=1e-9)
    assert refined.cut_short.startswith("stopped at the time limit")
    assert became_of(refined) == became_of(result)
    assert len(refined.trace) == 0


def test_another_frame_is_refused():
    """Its items occur as often, but not together."""
    result = TOY.txanon.ps_rules(rules=constraints.AllRules(1, ["s"]), k=2, c=0.6)
    other = frame_of([{"a", "b", "s"}, {"a", "b", "s"}, {"a", "b", "c"}, {"c"}, {"c"}])
    refined = TOY.txanon.refine(result)
    with pytest.raises(ParameterError, match="not safe in this frame"):
        pdanon.refine(other, refined)


@pytest.mark.slow
def test_real_baskets_lose_less(data):
    frame = pdanon.read_parquet(data / "groceries.parquet")[["items"]]
    supports = frame["items"].itemset.supports().sort_values()
    sensitive = supports.index[40:45].tolist()
    result = frame.txanon.ps_rules(rules=constraints.ps_rules(frame, None, sensitive, 2), k=5, c=0.2)
    refined = frame.txanon.refine(result)
    assert refined.loss["NCP"] < 0.8 * result.loss["NCP"]
    audit = pd.DataFrame(refined.frame).txanon.audit(refined.guarantee)
    assert audit.holds
