"""Refinement of classes and groups: safe by a naive recount, never worse, and no single step is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from families import gathered
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive, rt as naive_rt
from naive.cuts import hierarchy_of, subtrees, trees
from naive.emptied import emptied
from naive.groups import lcg
from naive.refine import Released, ReleasedSets

import pdanon
from examples import examples
from pdanon import ParameterError, Transaction
from pdanon.algorithms.rt.transaction import ClassSearch

RUNS = {
    "rum_bound": {"delta": 1.0, "merge": "T", "random_state": 0},
    "tum_bound": {"delta": 1.0, "random_state": 0},
    "rfirst": {"random_state": 0},
    "tfirst": {"parts": 2},
}
OPTIONS = {
    "vpa": {"parts": 2},
    "upcta": {"max_suppressed": 1.0, "utility": [["a", "b"], ["c", "d", "e", "f"]]},
}


def frame_with(rows, ages):
    return frame_of(rows).assign(age=ages[: len(rows)])


@st.composite
def results(draw, transactions, knowledge=(1, 2, 3, None)):
    """A tree, rows, and what an algorithm of RT-datasets made of them."""
    tree = draw(trees(most=6, items="abcdef"))
    rows = draw(row_lists(items=naive.leaves(tree), longest=4, most=14, least=4))
    ages = draw(st.lists(st.integers(0, 5), min_size=14, max_size=14))
    name, transaction = draw(st.sampled_from([*RUNS])), draw(st.sampled_from(transactions))
    asked = {"k": draw(st.integers(2, 4)), "m": draw(st.sampled_from(knowledge)), "quasi": ["age"]}
    asked |= {"transaction": transaction, "options": OPTIONS.get(transaction)} | RUNS[name]
    if transaction not in ("pcta", "upcta"):
        asked["hierarchy"] = hierarchy_of(tree)
    frame = frame_with(rows, ages)
    return tree, rows, frame, getattr(pdanon, name)(frame, **gathered(asked))


def check(sample, loss, released):
    """Refine, recount, and return what was and is released."""
    tree, rows, frame, result = sample
    base = {"NCP": 0, "LM": 1}[loss]
    refined = frame.txanon.refine(result, loss=loss)
    before, after = released(tree, rows, result, base), released(tree, rows, refined, base)
    assert refined.guarantee == result.guarantee
    pairs = zip(refined.frame["age"].map(str), rows_of(refined.frame), strict=True)
    assert not any(naive_rt.kkm_broken([*pairs], before.k, before.m))
    pd.testing.assert_series_equal(refined.frame["age"], result.frame["age"])
    pd.testing.assert_series_equal(refined.groups, result.groups)
    pd.testing.assert_frame_equal(refined.classes, result.classes)
    assert refined.loss["NCP_relational"] == result.loss["NCP_relational"]
    assert after.is_safe(after.became)
    least = after.cost(after.became)
    assert least <= before.cost(before.became)
    most = after.most * sum(map(len, rows))
    curve = refined.trace["loss"]
    assert (curve.diff().dropna() < 0).all()
    assert curve.iloc[0] == pytest.approx(before.cost(before.became) / max(most, 1))
    assert curve.iloc[-1] == pytest.approx(least / max(most, 1))
    assert loss == "LM" or refined.loss["NCP"] == pytest.approx(curve.iloc[-1])
    after.hides = (
        emptied(rows, rows_of(refined.frame)) > 0
    )  # to hide these may cost more than the search found
    return after


def apart(*released):
    return Released(*released, apart=True)


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(results(["apriori", "direct", "vpa", "hghs", "mhghs", "optimal"]), st.sampled_from(["NCP", "LM"]))
def test_cuts_of_classes(sample, loss):
    after = check(sample, loss, apart)
    least = after.cost(after.became)
    for other in [] if after.hides else after.neighbours():
        assert after.cost(other) >= least or not after.is_safe(other)


@settings(max_examples=examples(50))
@given(results(["pcta", "upcta"]), st.sampled_from(["NCP", "LM"]))
def test_sets_of_classes(sample, loss):
    after = check(sample, loss, ReleasedSets)
    least = after.cost(after.became)
    utility = sample[3].parameters["transaction"].algorithm == "upcta"
    blocks = OPTIONS["upcta"]["utility"] if utility else ["abcdef"]
    for other in [] if after.hides else after.neighbours(blocks):
        assert after.m not in (1, 2) or after.cost(other) >= least or not after.is_safe(other)


def test_time_is_shared_among_classes(clock):
    rows = [{"a", "b"}, {"a", "c"}, {"b", "d"}, {"a"}, {"c", "d"}, {"c"}] * 2
    frame = frame_with([frozenset(row) for row in rows], [20] * 6 + [40] * 6)
    result = pdanon.rfirst(frame, k=3, m=2, quasi=["age"])
    assert result.loss["NCP"] > 0
    once, clock.look = frame.txanon.refine(result), 0.01
    often = frame.txanon.refine(result, time_limit=2, random_state=1)
    assert often.loss["NCP"] <= once.loss["NCP"]
    assert often.trace["seconds"].iloc[-1] < 2.1
    assert (often.trace["loss"].diff().dropna() < 0).all()
    assert clock() < 4


def test_no_class_is_begun_when_time_is_over(monkeypatch):
    rows = [{"a", "b"}, {"a", "c"}, {"b", "d"}, {"a"}, {"c", "d"}, {"c"}] * 2
    frame = frame_with([frozenset(row) for row in rows], [20] * 6 + [40] * 6)
    result = pdanon.rfirst(frame, k=3, m=2, quasi=["age"], transaction="pcta")
    begun, begin = [], ClassSearch.begin
    monkeypatch.setattr(ClassSearch, "begin", lambda *asked: begun.append(asked) or begin(*asked))
    refined = frame.txanon.refine(result, time_limit=1e-9)
    assert not begun
    assert refined.cut_short.startswith("stopped at the time limit")
    pd.testing.assert_frame_equal(refined.mapping, result.mapping)
    assert frame.txanon.refine(result).cut_short == ""
    assert len(begun) == 2


def test_results_of_other_frames_are_refused():
    rows = [frozenset(row) for row in [{"a"}, {"a", "b"}, {"b"}, {"a", "b"}, {"c"}, {"c"}]]
    ages = [20, 20, 21, 21, 22, 22]
    frame = frame_with(rows, ages)
    for asked in ({}, {"transaction": Transaction("apriori", hierarchy=2)}):
        result = pdanon.rfirst(frame, k=2, quasi=["age"], **asked)
        others = {
            "rows": frame.head(4),
            "ages": frame_with(rows, [60, *ages[1:]]),
            "supports": frame_with([frozenset({"b"}), *rows[1:]], ages),
            "columns": frame.rename(columns={"items": "others"}),
        }
        for other in others.values():
            with pytest.raises(ParameterError, match=r"not of this frame|not safe in this frame"):
                pdanon.refine(other, result)
        with pytest.raises(pdanon.PdanonError) as caught:
            pdanon.refine(frame_with([frozenset({SECRET}), *rows[1:]], ages), result)
        assert SECRET not in str(caught.value)


def test_classes_that_cannot_be_refined():
    rows = [frozenset(row) for row in [{"a"}, {"a", "b"}, {"b"}, {"a", "b"}]]
    frame = frame_with(rows, [20, 20, 21, 21]).assign(more=[["x"]] * 4)
    wrong = {
        "several list columns": (None, Transaction(columns=["items", "more"])),
        "recoded by lra": ("items", Transaction("lra", hierarchy=2)),
        "with this guarantee": ("items", Transaction("apriori", hierarchy=2, sensitive=["b"], l=2)),
    }
    for message, (column, items) in wrong.items():
        result = pdanon.rfirst(frame, column, k=2, quasi=["age"], transaction=items)
        with pytest.raises(ParameterError, match=message) as caught:
            pdanon.refine(frame, result)
        assert "hint" in str(caught.value)


def test_classes_without_their_guarantee_are_refused():
    rows = [frozenset(row) for row in [{"a"}, {"a"}, {"b"}, {"b"}]]
    frame = frame_with(rows, [20, 20, 21, 21])
    result = pdanon.rfirst(frame, k=2, quasi=["age"])
    strict = replace(result, parameters=result.parameters | {"k": 3})
    with pytest.raises(ParameterError, match="not safe in this frame"):
        pdanon.refine(frame, strict)


# --- groups of rows that are published alike


@st.composite
def grouped(draw):
    """A tree, rows, and the groups that an algorithm made of them."""
    tree = draw(trees(most=6, items="abcdef"))
    rows = draw(row_lists(items=naive.leaves(tree), longest=4, most=24, least=4))
    k = draw(st.integers(2, 3).filter(lambda k: len(rows) >= k))
    arguments = {"k": k, "hierarchy": hierarchy_of(tree)}
    if sum(map(bool, rows)) < k:
        return None
    if draw(st.booleans()):
        return tree, rows, frame_of(rows).txanon.partition(**arguments)
    return tree, rows, frame_of(rows).txanon.clump(lookahead=draw(st.integers(0, 3)), r=1, **arguments)


def lowest_cut(rows, tree):
    """The nodes that some rows are published as, if each is to hold the same."""
    name, children = tree
    below = [
        frozenset(child[0] for child in children or () if set(naive.leaves(child)) & row) for row in rows
    ]
    if not children or len(set(below)) > 1:
        return {name}
    return set().union(*(lowest_cut(rows, child) for child in children if child[0] in below[0]))


def bags_of(frame):
    return [Counter(row or ()) for row in pa.array(frame["items"]).to_pylist()]


@settings(max_examples=examples(60))
@given(grouped().filter(bool), st.sampled_from(["NCP", "LM"]))
def test_groups(sample, loss):
    tree, rows, result = sample
    frame, k = frame_of(rows), result.parameters["k"]
    refined = frame.txanon.refine(result, loss=loss)
    released, numbers = bags_of(refined.frame), refined.groups.tolist()
    silent = [number for number, bag in enumerate(bags_of(result.frame)) if not bag]
    assert silent == [number for number, bag in enumerate(released) if not bag]
    for group in set(numbers):
        members = [number for number, own in enumerate(numbers) if own == group]
        held = [frozenset(rows[number]) for number in members]
        assert len(members) >= k
        if set(members) <= set(silent):
            continue
        if result.parameters["algorithm"] == "clump":
            expected = Counter(lcg(held, tree))
        else:
            expected = Counter(lowest_cut(held, tree))
        assert all(released[number] == expected for number in members)
    assert naive_loss(rows, tree, refined, loss) <= naive_loss(rows, tree, result, loss)
    assert refined.loss[loss.upper()] == pytest.approx(float(naive_loss(rows, tree, refined, loss)))
    curve = refined.trace["loss"]
    assert (curve.diff().dropna() < 0).all()
    assert curve.iloc[0] == pytest.approx(float(naive_loss(rows, tree, result, loss)))
    assert curve.iloc[-1] == pytest.approx(refined.loss[loss.upper()])
    assert refined.frame.equals(frame.txanon.refine(result, loss=loss).frame)


def naive_loss(rows, tree, result, loss):
    """By the lines of the mapping, in exact numbers."""
    base, most = {"NCP": 0, "LM": 1}[loss], len(naive.leaves(tree))
    sizes = {each[0]: len(naive.leaves(each)) for each in subtrees(tree)}
    total = 0
    for label, support in zip(result.mapping["generalized"], result.mapping["support"], strict=True):
        size = most if pd.isna(label) else sizes[label] if sizes[label] > 1 else base
        total += support * Fraction(size - base, max(most - base, 1)) if not pd.isna(label) else support
    return Fraction(total, max(sum(map(len, rows)), 1))


def test_two_rows_change_places():
    """Four rows in two groups of two, each of an a and a b."""
    tree = ("*", [("A", [("a1", None), ("a2", None)]), ("B", [("b1", None), ("b2", None)])])
    rows = [frozenset(row) for row in [{"a1"}, {"b1"}, {"a1"}, {"b1"}]]
    frame = frame_of(rows)
    result = frame.txanon.clump(k=2, hierarchy=hierarchy_of(tree))
    groups = pd.Series([0, 0, 1, 1], name="group")
    mapping = pd.DataFrame(
        {"group": [0, 0, 1, 1], "item": ["a1", "b1"] * 2, "generalized": "*", "support": 1}
    )
    for algorithm in ("clump", "partition"):
        parameters = result.parameters | {"algorithm": algorithm}
        poorer = replace(result, groups=groups, mapping=mapping, parameters=parameters)
        refined = frame.txanon.refine(poorer)
        assert rows_of(refined.frame) == rows
        assert refined.groups.tolist() == [0, 1, 0, 1]
        assert poorer.groups.tolist() == [0, 0, 1, 1]


def test_a_row_moves_to_a_larger_group():
    tree = ("*", [("A", [("a1", None), ("a2", None)]), ("B", [("b1", None), ("b2", None)])])
    rows = [frozenset(row) for row in [*[{"a1"}] * 3, *[{"b1"}] * 3]]
    frame = frame_of(rows)
    for name in ("clump", "partition"):
        result = getattr(frame.txanon, name)(k=2, hierarchy=hierarchy_of(tree))
        groups = pd.Series([0, 0, 1, 1, 1, 1], name="group")
        lines = {"group": [0, 1, 1], "item": ["a1", "a1", "b1"], "generalized": ["a1", "*", "*"]}
        poorer = replace(result, groups=groups, mapping=pd.DataFrame(lines | {"support": [2, 1, 3]}))
        assert rows_of(frame.txanon.refine(poorer).frame) == rows


@pytest.mark.parametrize("name", ["partition", "clump"])
def test_groups_of_other_frames_are_refused(name):
    rows = [frozenset(row) for row in [{"a", "b"}, {"a", "b"}, {"c"}, {"c"}]]
    frame = frame_of(rows)
    result = getattr(frame.txanon, name)(k=2, hierarchy=2)
    supports = frame_of([{"a"}, {"a", "b"}, {"c"}, {"c", "b"}])
    for other in (frame.head(3), supports, frame.rename(columns={"items": "others"}), frame.assign(items=1)):
        with pytest.raises(ParameterError, match="not of this frame"):
            pdanon.refine(other, result)
    small = replace(result, groups=pd.Series([0, 1, 2, 2], name="group"))
    for unsafe in (small, replace(result, guarantee=pdanon.TransactionalK(k=3))):
        with pytest.raises(ParameterError, match=r"not safe in this frame|not of this frame"):
            pdanon.refine(frame, unsafe)


@pytest.mark.parametrize("limit", [0.001, 5])
def test_time_limits_of_groups(limit, data):
    frame = pdanon.read_parquet(data / "groceries.parquet").head(1000)
    result = frame.txanon.clump(k=5, hierarchy=data / "hierarchies" / "groceries_hierarchy.csv")
    refined = frame.txanon.refine(result, time_limit=limit)
    assert refined.loss["NCP"] <= result.loss["NCP"]
    assert refined.frame.txanon.audit(result.guarantee).holds
