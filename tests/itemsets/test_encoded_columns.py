"""Distinct rows with weights: what is decided and audited on them is what all rows say, one by one."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of, promised
from frames import collapse
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon.algorithms import engines
from pdanon.algorithms.items.lra import Parts
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import collapse_columns
from pdanon.itemsets.mapping import relabel_by_groups

PRIVATE = "XYZ"
TREE = {"A": ["a", "b"], "B": ["c", "d"]}


@st.composite
def repeated_rows(draw):
    """Few distinct rows, each there several times, in any order; some missing."""
    items = st.lists(st.sampled_from("abcdXYZ"), max_size=5, unique=True)
    rows = draw(st.lists(st.one_of(st.none(), items), min_size=1, max_size=7))
    return draw(st.lists(st.sampled_from(rows), min_size=1, max_size=25))


def in_batches(rows):
    """The rows as batches of a few, each with a vocabulary of its own."""
    return [
        Itemsets.from_arrow(pa.array(rows[i : i + 4], pa.list_(pa.string()))) for i in range(0, len(rows), 4)
    ]


def occurring(rows, items):
    return sorted(set().union(*(row or [] for row in rows)) & set(items))


def parts(rows, wanted):
    return [None if row is None else [item for item in row if item in wanted] for row in rows]


def as_sets(rows):
    return [None if row is None else frozenset(row) for row in rows]


def two_columns(rows):
    """The rows with their private items in a column of their own: collapsed, and as a frame."""
    public, private = parts(rows, "abcd"), parts(rows, PRIVATE)
    pairs = list(zip(in_batches(public), in_batches(private), strict=True))
    return collapse_columns(pairs, 2), frame_of(public).assign(private=frame_of(private)["items"])


def assert_decided_alike(algorithm, collapsed, frame, *column, **asked):
    try:
        expected = algorithm(frame, *column, **asked)
    except pdanon.errors.PdanonError as error:
        refusal, message = type(error), str(error)
    else:
        refusal, message = None, ""
    if refusal is not None:
        with pytest.raises(refusal, match=re.escape(message)):
            engines.decide(collapsed, algorithm.__name__, asked)
        return
    found = engines.decide(collapsed, algorithm.__name__, asked)
    pd.testing.assert_frame_equal(found.mapping, expected.mapping)
    pd.testing.assert_series_equal(found.loss, expected.loss)
    assert repr(found.guarantee) == repr(expected.guarantee)


def assert_audited_alike(guarantee, collapsed, frame, *column):
    found, expected = guarantee.recount(collapsed), guarantee.audit(frame, *column)
    assert found.rows_at_risk == expected.rows_at_risk
    for name in ("support", "why"):
        assert found.threats[name].tolist() == expected.threats[name].tolist()
    assert found.threats["itemset"].tolist() == expected.threats["itemset"].tolist()


SHARES = st.sampled_from([0, 0.25, 0.4, 0.5, 0.75, 1])
COHERENCES = {"h": SHARES, "k": st.integers(2, 5), "p": st.integers(1, 4)}


@settings(max_examples=examples(80))
@given(rows=repeated_rows())
def test_pairs_are_counted_by_both_columns(rows):
    found, _ = two_columns(rows)
    columns = [as_sets(column.to_arrow().to_pylist()) for column in (found.itemsets, found.private)]
    pairs = list(zip(*columns, strict=True))
    assert len(set(pairs)) == len(pairs)
    expected = Counter(zip(as_sets(parts(rows, "abcd")), as_sets(parts(rows, PRIVATE)), strict=True))
    assert dict(zip(pairs, found.itemsets.weights.tolist(), strict=True)) == expected
    assert found.private.weights.tolist() == found.itemsets.weights.tolist()


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(rows=repeated_rows(), criterion=st.sampled_from(["mm/il", "mm", "1/il"]), **COHERENCES)
def test_coherence(rows, criterion, h, k, p):
    asked = {"h": h, "k": k, "p": p}
    collapsed, frame, private = collapse(in_batches(rows)), frame_of(rows), occurring(rows, PRIVATE)
    for algorithm, more in ((pdanon.coherence, {"criterion": criterion}), (pdanon.suppress_public, {})):
        assert_decided_alike(algorithm, collapsed, frame, **asked, **more, private=private)
    assert_audited_alike(pdanon.Coherence(**asked, private=private), collapsed, frame)


@settings(max_examples=examples(80))
@given(rows=repeated_rows(), **COHERENCES)
def test_coherence_of_two_columns(rows, h, k, p):
    asked = {"h": h, "k": k, "p": p, "private": "private"}
    collapsed, frame = two_columns(rows)
    for algorithm in (pdanon.coherence, pdanon.suppress_public):
        assert_decided_alike(algorithm, collapsed, frame, "items", **asked)
    assert_audited_alike(pdanon.Coherence(**asked), collapsed, frame, "items")


@settings(max_examples=examples(80))
@given(rows=repeated_rows(), k=st.integers(2, 5))
def test_public_parts(rows, k):
    collapsed, frame, public = collapse(in_batches(rows)), frame_of(rows), occurring(rows, "abcd")
    assert_decided_alike(pdanon.suppress_to_k, collapsed, frame, k=k, public=public)
    assert_audited_alike(pdanon.PublicK(k=k, public=public), collapsed, frame)


@settings(max_examples=examples(80))
@given(rows=repeated_rows(), k=st.integers(2, 5), m=st.sampled_from([1, 2, 3, None]), l=st.integers(2, 4))
def test_sensitive_items(rows, k, m, l):  # noqa: E741  (its name in the literature)
    collapsed, frame, sensitive = collapse(in_batches(rows)), frame_of(rows), occurring(rows, PRIVATE)
    if not sensitive:
        return
    asked = {"k": k, "m": m, "l": l, "sensitive": sensitive}
    assert_decided_alike(pdanon.apriori, collapsed, frame, hierarchy=TREE, **promised(**asked))
    assert_audited_alike(pdanon.LmDiversity(**asked), collapsed, frame)
    assert_audited_alike(pdanon.LmDiversity(l=l, m=m, sensitive=sensitive), collapsed, frame)


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(rows=repeated_rows(), k=st.integers(2, 4), m=st.sampled_from([1, 2, None]), parts=st.integers(1, 5))
def test_parts_of_rows(rows, k, m, parts):
    collapsed, frame = collapse(in_batches(rows)), frame_of(rows)
    asked = {"k": k, "m": m, "hierarchy": {**TREE, "C": ["X", "Y", "Z"]}, "parts": parts}
    assert_decided_alike(pdanon.lra, collapsed, frame, **asked)
    try:
        found = engines.decide(collapsed, "lra", asked).rows.parts
    except pdanon.InfeasibleError:
        return
    expected = pdanon.lra(frame, **asked).groups.tolist()
    for number, batch in enumerate(in_batches(rows)):
        assert found.of(batch).tolist() == expected[4 * number :][:4]


def test_a_row_that_no_part_has_is_not_recoded():
    frame = frame_of([["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]])
    result = pdanon.lra(frame, k=2, hierarchy=2, parts=2)
    parts = Parts(Itemsets.from_series(frame["items"]), result.groups.to_numpy(np.int32))
    for row, known in ((["c", "d"], True), (["c", "a"], False), (["new"], False)):
        rows = Itemsets.from_series(frame_of([row])["items"])
        recoded = relabel_by_groups(rows, parts.of(rows), parts.items, result.mapping, keeps_type=False)
        assert (recoded is not None) == known


def test_a_private_column_that_was_not_collapsed_is_refused():
    collapsed = collapse(in_batches([["a", "X"]] * 3))
    with pytest.raises(pdanon.ParameterError, match="private column was not collapsed"):
        engines.decide(collapsed, "coherence", {"h": 1, "k": 2, "p": 1, "private": "private"})


rows_of_two = st.lists(st.tuples(*[st.frozensets(st.sampled_from("ab\0"), max_size=2)] * 2), max_size=5)


@given(rows_of_two, rows_of_two, st.integers(0, 5))
def test_rows_are_known_by_what_and_how_many_they_are(one, other, cut):
    def columns(drawn):
        return [Itemsets.from_series(frame_of([row[which] for row in drawn])["items"]) for which in (0, 1)]

    prints = [rows_fingerprint(columns(drawn)) for drawn in (one, other)]
    assert (prints[0] == prints[1]) == (Counter(one) == Counter(other))
    parts = [rows_fingerprint(columns(drawn)) for drawn in (one[:cut], one[cut:])]
    assert sum(parts) % 2**64 == prints[0]
    assert rows_fingerprint(collapse_columns([columns(one)], 2).columns) == prints[0]
