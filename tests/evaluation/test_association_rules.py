"""Association rules and their errors against literal definitions."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import association_rules as naive

from examples import examples
from pdanon import ParameterError
from pdanon.evaluation.metrics import association_rules, patterns
from pdanon.itemsets.dtype import text_column

TREE = {"*": {"X": {"A": ["a", "b"], "B": ["c", "d"]}, "Y": ["e", "f"]}}
PATHS = {"a": "aAX*", "b": "bAX*", "c": "cBX*", "d": "dBX*", "e": "eY*", "f": "fY*"}
SHARES = st.sampled_from([0.1, 0.2, 1 / 3, 0.5, 2 / 3, 1.0])
SIZES = st.none() | st.integers(1, 4)


def exactly(share):
    return Fraction(share).limit_denominator(1000)


def least_rows(share, n):
    return max(-(-exactly(share) * n // 1), 1)


def pairs_of(table):
    return list(zip(rows_of(table, "antecedent"), rows_of(table, "consequent"), strict=True))


@pytest.mark.slow
@settings(max_examples=examples(2000, part=40))
@given(row_lists(least=1), SHARES, SHARES, SIZES)
def test_rules_by_definition(rows, support, confidence, most):
    table = patterns.rules(frame_of(rows), min_support=support, min_confidence=confidence, max_size=most)
    expected = naive.rules(rows, least_rows(support, len(rows)), exactly(confidence), most)
    found = pairs_of(table)
    assert len(found) == len(expected) == len(set(found))
    assert table["support"].tolist() == [expected[each][0] for each in found]
    assert table["confidence"].tolist() == [float(expected[each][1]) for each in found]
    assert table["lift"].tolist() == pytest.approx([float(naive.lift(rows, each)) for each in found])
    strength = [(-expected[each][1], -expected[each][0], len(each[0] | each[1])) for each in found]
    assert strength == sorted(strength)


@pytest.mark.slow
@settings(max_examples=examples(2000, part=40))
@given(
    row_lists(least=1),
    SHARES,
    SHARES,
    st.lists(st.fixed_dictionaries({each: st.integers(-1, 3) for each in "abcdef"}), min_size=1, max_size=3),
    st.sampled_from(["subset", "uniform"]),
)
def test_errors_by_definition(rows, support, confidence, cuts, mode):
    """Any item published as any of its ancestors or suppressed, differently in up to three groups of rows."""
    occurring = sorted(frozenset().union(*rows))
    if not occurring:
        return
    published = [
        {item: None if cut[item] < 0 else PATHS[item][min(cut[item], len(PATHS[item]) - 1)] for item in cut}
        for cut in cuts
    ]
    released = [
        frozenset(published[number % len(cuts)][item] for item in row) - {None}
        for number, row in enumerate(rows)
    ]
    meaning = {}
    for labels in published:
        for item in occurring:
            meaning.setdefault(labels[item], set()).add(item)
    meaning.pop(None, None)
    meaning = {label: items for label, items in meaning.items() if any(label in row for row in released)}
    entries = [(group, item, labels[item]) for group, labels in enumerate(published) for item in occurring]
    mapping = pd.DataFrame(entries, columns=["group", "item", "generalized"])
    mapping["generalized"] = text_column(mapping["generalized"].to_numpy(object, na_value=None))

    thresholds = {"min_support": support, "min_confidence": confidence}
    errors = patterns.rule_errors(frame_of(rows), frame_of(released), mapping, **thresholds, mode=mode)
    least, share = least_rows(support, len(rows)), exactly(confidence)
    originals, releases = naive.verdicts(rows, released, meaning, least, share)
    before, after = errors.original, errors.released
    assert dict(zip(pairs_of(before), before["verdict"], strict=True)) == originals
    assert dict(zip(pairs_of(after), after["verdict"], strict=True)) == releases
    estimates = [naive.estimated_confidence(released, meaning, rule, mode) for rule in pairs_of(before)]
    assert before["estimate"].tolist() == pytest.approx(list(map(float, estimates)))
    actual = [naive.actual_confidence(rows, meaning, rule) for rule in pairs_of(after)]
    assert after["actual_confidence"].tolist() == list(map(float, actual))
    if len(cuts) == 1:  # each item has one label: every rule is true, with the right confidence
        assert errors.false == 0
        assert after["actual_confidence"].equals(after["confidence"])


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(row_lists(least=3), SHARES, SHARES, st.integers(2, 3))
def test_a_global_recoding_has_no_false_rule(rows, support, confidence, k):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k or len(frozenset().union(*rows)) < 2:
        return
    thresholds = {"min_support": support, "min_confidence": confidence}
    for result in (frame.txanon.pcta(k=k, m=2), frame.txanon.hghs(k=k, m=2, hierarchy=TREE)):
        errors = patterns.rule_errors(frame, result, **thresholds)
        assert errors.false == 0
        assert errors.kept + errors.lost <= len(errors.original)
    unchanged = patterns.rule_errors(frame, frame, **thresholds)
    assert (unchanged.kept, unchanged.lost, unchanged.new) == (len(unchanged.original), 0, 0)
    assert unchanged.original["estimate"].equals(unchanged.original["confidence"])
    assert unchanged.released["actual_confidence"].equals(unchanged.released["confidence"])


def test_a_label_of_some_rows_makes_a_false_rule():
    """Two rows publish rice, and both have tea; the other two rows with rice publish A and have no tea."""
    frame = frame_of([{"rice", "tea"}] * 2 + [{"rice"}] * 2 + [{"salt"}])
    released = frame_of([{"rice", "tea"}] * 2 + [{"A"}] * 3)
    mapping = pd.DataFrame(
        {
            "group": [0, 0, 0, 1, 1, 1],
            "item": ["rice", "salt", "tea"] * 2,
            "generalized": ["rice", "A", "tea", "A", "A", "tea"],
        }
    )
    errors = patterns.rule_errors(frame, released, mapping, min_support=0.4, min_confidence=0.8)
    assert (len(errors.original), errors.kept, errors.lost) == (1, 1, 0)  # tea -> rice
    assert (len(errors.released), errors.false, errors.new) == (2, 1, 0)  # rice -> tea has confidence 1/2
    false = errors.released[errors.released["verdict"] == "false"].iloc[0]
    assert (list(false["antecedent"]), list(false["consequent"])) == (["rice"], ["tea"])
    assert (false["confidence"], false["actual_confidence"], false["actual_support"]) == (1.0, 0.5, 2)


FRAME = frame_of([{SECRET, "a"}, {"a", "b"}, {"b"}])
RESULT = FRAME.txanon.pcta(k=3, m=2)
OK = {"min_support": 0.3, "min_confidence": 0.5}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: patterns.rules(FRAME, min_support=0, min_confidence=1), "min_support must be above 0"),
        (lambda: patterns.rules(FRAME, min_support=1, min_confidence=0), "min_confidence must be above 0"),
        (lambda: patterns.rules(FRAME, min_support=1, min_confidence=1.5), "min_confidence must be a number"),
        (lambda: patterns.rules(FRAME, min_support=-1, min_confidence=1), "min_support must be a number"),
        (lambda: patterns.rules(FRAME, **OK, max_size=0), "max_size must be"),
        (
            lambda: patterns.rules(FRAME.txanon.disassociate(k=2, m=2).frame, **OK),
            "rows of a release in chunks",
        ),
        (lambda: patterns.rule_errors(FRAME, RESULT, **OK, mode="best"), "no such mode"),
        (lambda: patterns.rule_errors(FRAME, RESULT.frame, **OK), "labels that the original lacks"),
        (lambda: patterns.rule_errors(FRAME, FRAME.iloc[1:], **OK), "number of rows"),
        (lambda: patterns.rule_errors(FRAME, FRAME.txanon.disassociate(k=2, m=2), **OK), "release in chunks"),
        (lambda: patterns.rule_errors(FRAME, FRAME.assign(items=[["a", "a"]] * 3), **OK), "holds bags"),
        (lambda: patterns.rule_errors(FRAME, RESULT, min_support=1, min_confidence=0), "min_confidence must"),
    ],
)
def test_bad_input_is_refused_without_item_text(act, message):
    with pytest.raises(ParameterError, match=message) as caught:
        act()
    assert SECRET not in str(caught.value)


@pytest.mark.slow
def test_too_many_rules_are_refused(monkeypatch):
    row = {f"{SECRET}-{number}" for number in range(14)}
    monkeypatch.setattr(association_rules, "MOST_RULES", 1000)
    with pytest.raises(ParameterError, match="too many association rules") as caught:
        patterns.rules(frame_of([row, row]), min_support=1, min_confidence=1)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("rows", [[set()], [{"a"}], []])
def test_tables_without_rules(rows):
    frame = frame_of(rows)
    assert patterns.rules(frame, **OK).empty
    errors = patterns.rule_errors(frame, frame, **OK)
    assert (errors.kept, errors.lost, errors.new, errors.false) == (0, 0, 0, 0)
    assert errors.original.empty
    assert errors.released.empty
