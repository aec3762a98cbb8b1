"""Guarantees: verdicts, rows at risk and tables of threats against the naive recount."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import KmAnonymity, ParameterError, PrivacyConstraints
from pdanon.guarantees.verdict import Guarantee


def threats_of(audit):
    lists = pa.array(audit.threats["itemset"]).to_pylist()
    return list(zip(map(tuple, lists), audit.threats["support"], strict=True))


def in_order(supports):
    return [(each, supports[frozenset(each)]) for each in naive.by_size(supports)]


# --- k^m-anonymity


@settings(max_examples=examples(120))
@given(row_lists(longest=6), st.integers(2, 5), st.none() | st.integers(1, 5))
def test_km_audit_is_the_naive_recount(rows, k, m):
    audit = KmAnonymity(k, m).audit(frame_of(rows))
    expected = naive.km_audit(rows, k, m)
    assert audit.rows_at_risk == naive.rows_at_risk(rows, k, m)
    assert audit.holds == (not expected)
    assert threats_of(audit) == in_order(expected)
    assert set(audit.threats["why"]) <= {"rare"}


def test_table_of_threats_has_fixed_columns_and_dtypes():
    for rows in ([{"a", "b"}, {"a"}], [{"a"}, {"a"}], []):
        for m in (1, 3, None):
            threats = KmAnonymity(2, m).audit(frame_of(rows)).threats
            assert [*threats.columns] == ["itemset", "support", "why"]
            assert threats["itemset"].dtype.pyarrow_dtype == pa.list_(pa.string())
            assert threats["support"].dtype == "int64"
            assert isinstance(threats.index, pd.RangeIndex)


def test_itemsets_of_threats_keep_the_type_of_the_items():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[1, 10], [1, 9]])})
    assert threats_of(KmAnonymity(2, 2).audit(frame)) == [((9,), 1), ((10,), 1)]


def test_empty_and_missing_rows_hold_no_threat():
    frame = frame_of([{"a"}, {"a"}, set(), None])
    assert KmAnonymity(2, None).audit(frame).holds
    assert KmAnonymity(3, 1).audit(frame).rows_at_risk == 2


@pytest.mark.parametrize("m", [1, 3, None])
def test_nothing_known_is_an_itemset_that_rows_that_are_not_missing_hold(m):
    """An item that was suppressed leads to a row that is there, and not to a missing one."""
    for rows, few in (([None], 0), ([set()], 1), ([set(), None], 1), ([set(), set(), None], 0), ([], 0)):
        audit = KmAnonymity(2, m).audit(frame_of(rows))
        assert audit.rows_at_risk == few
        assert threats_of(audit) == [((), 1)] * few
        became = pd.DataFrame(
            {"group": [0], "item": pd.array(["q"], "string[pyarrow]"), "generalized": [None]}
        )
        became["generalized"] = became["generalized"].astype("string[pyarrow]")
        assert (
            PrivacyConstraints(constraints=[["q"]], k=2, mapping=became).audit(frame_of(rows)).rows_at_risk
            == few
        )


def test_m_beyond_the_longest_row_is_all_of_it():
    rows = [frozenset("abc"), frozenset("abc"), frozenset("ab")]
    for m in (3, 4, 10**9):
        assert KmAnonymity(2, m).audit(frame_of(rows)).holds
        assert KmAnonymity(3, m).audit(frame_of(rows)).rows_at_risk == 2


# --- privacy constraints

constraint_lists = st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=6)


def mapping_of(became):
    """A mapping table with what it takes to audit."""
    return pd.DataFrame(
        {
            "group": 0,
            "item": pd.array(list(became), dtype="string[pyarrow]"),
            "generalized": pd.array(list(became.values()), dtype="string[pyarrow]"),
        }
    )


@settings(max_examples=examples(60))
@given(row_lists(least=1), constraint_lists, st.integers(2, 4))
def test_constraints_on_original_rows(rows, constraints, k):
    items = frozenset().union(*rows)
    constraints = [each for each in constraints if each <= items]
    assume(constraints)
    audit = PrivacyConstraints(constraints=[sorted(each) for each in constraints], k=k).audit(frame_of(rows))
    rare = [each for each in constraints if 0 < naive.support(rows, each) < k]
    rare = [frozenset()] if naive.is_too_few(rows, k) else rare
    assert audit.holds == naive.constraints_hold(rows, constraints, k, {item: item for item in items})
    assert audit.rows_at_risk == sum(any(each <= row for each in rare) for row in rows)
    assert threats_of(audit) == [
        (tuple(sorted(each)), naive.support(rows, each))
        for each in sorted(set(rare), key=lambda each: (len(each), sorted(each)))
    ]
    assert set(audit.threats["why"]) <= {"constraint"}


@settings(max_examples=examples(60))
@given(row_lists(least=1), constraint_lists, st.integers(2, 4), st.data())
def test_constraints_on_recoded_rows(rows, constraints, k, data):
    """Items become any labels, or nothing; an item may keep its text while others take it as a label."""
    items = sorted(frozenset().union(*rows))
    constraints = [each for each in constraints if each <= set(items)]
    assume(constraints)
    labels = st.sampled_from(["x", "y", "z", "a", None])
    became = {item: data.draw(labels) for item in items}
    published = [frozenset(became[item] for item in row) - {None} for row in rows]
    shuffled = dict(data.draw(st.permutations(list(became.items()))))
    guarantee = PrivacyConstraints(
        constraints=[sorted(each) for each in constraints], k=k, mapping=mapping_of(shuffled)
    )
    audit = guarantee.audit(frame_of(published))
    images = [frozenset(became[item] for item in each) - {None} for each in constraints]
    rare = [image for image in images if image and 0 < naive.support(published, image) < k]
    rare = [frozenset()] if naive.is_too_few(published, k) else rare
    at_risk = [any(image <= row for image in rare) for row in published]
    emptied = [not row for row in published]
    if (
        None in became.values() and any(published) and 0 < sum(emptied) < k
    ):  # all rows had an item, for all we know
        rare, at_risk = [*rare, frozenset()], [*map(any, zip(at_risk, emptied, strict=True))]
    else:
        assert audit.holds == naive.constraints_hold(published, constraints, k, became)
    assert audit.rows_at_risk == sum(at_risk)
    assert {frozenset(each) for each, _ in threats_of(audit)} == set(rare)


def test_constraint_whose_labels_no_row_holds_is_satisfied():
    """Labels of the mapping that this frame lacks, such as after rows were dropped, have support 0."""
    became = {"a": "x", "b": "y", "c": "c"}
    guarantee = PrivacyConstraints(
        constraints=[["a", "b"], ["b", "c"], ["b"]], k=2, mapping=mapping_of(became)
    )
    assert guarantee.audit(frame_of([{"x"}, {"x", "c"}, {"c"}])).holds


def test_mapping_of_another_release_is_refused():
    became = {"a": "x", "b": "y"}
    guarantee = PrivacyConstraints(constraints=[["a"]], k=2, mapping=mapping_of(became))
    with pytest.raises(ParameterError, match="labels that the mapping lacks") as caught:
        guarantee.audit(frame_of([{"x"}, {SECRET}]))
    assert SECRET not in str(caught.value)


def test_released_frame_without_its_mapping_proves_nothing():
    result = frame_of([{"a", "c"}, {"b", "c"}]).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["a"], ["c"]], k=2)
    )
    bare = PrivacyConstraints(constraints=[["a"], ["c"]], k=2)
    with pytest.raises(ParameterError, match="is a member of a published set"):
        result.frame.txanon.audit(bare)
    assert result.frame.txanon.audit(bare.with_mapping(result.mapping)).holds
    assert result.frame.txanon.audit(result.guarantee).holds


def test_mapping_is_checked_before_it_is_believed():
    frame = frame_of([{"x"}, {"x"}])
    good = mapping_of({"a": "x", "b": "x"})
    assert PrivacyConstraints(constraints=[["a"]], k=2, mapping=good).audit(frame).holds
    for wrong, message in [
        (good.drop(columns="generalized"), "lacks columns"),
        (pd.concat([good, good.assign(group=1, generalized="y")]), "not global"),
        (pd.concat([good, good]), "more than once"),
    ]:
        with pytest.raises(ParameterError, match=message):
            PrivacyConstraints(constraints=[["a"]], k=2, mapping=wrong).audit(frame)


# --- what all guarantees have in common


@pytest.mark.parametrize("wrong", [KmAnonymity, "km", None, 5, {"k": 5}])
def test_what_is_no_guarantee_is_refused(wrong):
    frame = frame_of([{SECRET}])
    with pytest.raises(ParameterError, match=r"not a guarantee|no guarantee is given") as caught:
        frame.txanon.audit(wrong)
    assert "hint" in str(caught.value)


@pytest.mark.parametrize("guarantee", [KmAnonymity(2, 2), PrivacyConstraints(constraints=[[SECRET]], k=2)])
def test_representations_hold_counts_and_parameters_only(guarantee):
    assert isinstance(guarantee, Guarantee)
    frame = frame_of([{SECRET, "b"}, {"b"}])
    audit = frame.txanon.audit(guarantee)
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert SECRET not in repr(audit) + repr(guarantee)
    assert "k=2" in repr(audit)
    assert rows_of(frame) == [{SECRET, "b"}, {"b"}]
