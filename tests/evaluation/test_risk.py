"""Risk: shares of rows against a naive count over all that an attacker may know."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import ParameterError

COLUMNS = ["known", "items", "rows", "singled_out", "below_k"]


def naive_table(rows, k, m):
    """For all rows, then by length: share of rows with known itemsets of up to 1..m items that are rare."""
    lines = []
    for length in [None, *sorted(set(map(len, rows)))]:
        group = [row for row in rows if length is None or len(row) == length]
        for known in range(1, max(min(m, max(map(len, rows))), 1) + 1):
            shares = []
            for least in (2, k):
                rare = naive.rare_itemsets(rows, least, known)
                shares.append(sum(any(each <= row for each in rare) for row in group) / len(group))
            lines.append((known, length, len(group), *shares))
    return lines


@settings(max_examples=examples(60))
@given(row_lists(longest=6, least=1), st.integers(2, 6), st.integers(1, 8))
def test_risk_is_the_naive_count(rows, k, m):
    table = pdanon.risk(frame_of(rows), k=k, m=m)
    assert [*table.columns] == COLUMNS
    found = [
        (known, None if pd.isna(items) else items, *rest)
        for known, items, *rest in table.itertuples(index=False)
    ]
    assert found == naive_table(rows, k, m)


@settings(max_examples=examples(40))
@given(row_lists(least=1), st.integers(2, 5), st.none() | st.just("items"))
def test_knowing_more_never_lowers_the_risk(rows, k, column):
    table = frame_of(rows).txanon.risk(column, k=k, m=4)
    for _, part in table.groupby(table["items"].fillna(-1)):
        assert part["singled_out"].is_monotonic_increasing
        assert part["below_k"].is_monotonic_increasing
        assert (part["singled_out"] <= part["below_k"]).all()


def test_rows_below_k_are_those_at_risk_in_the_audit():
    rows = [{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}, {"d"}, set()]
    frame = frame_of([*rows, None])
    overall = frame.txanon.risk(k=3, m=3).iloc[:3]
    at_risk = [frame.txanon.audit(pdanon.KmAnonymity(3, m)).rows_at_risk for m in (1, 2, 3)]
    assert (overall["below_k"] * 7).round().tolist() == at_risk == [1, 5, 5]


@pytest.mark.parametrize("m", [10**6, 10**9, 2**70])
def test_nobody_knows_more_items_than_there_are(m):
    frame = frame_of([{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}])
    table = frame.txanon.risk(k=2, m=m)
    assert table["known"].tolist() == [1, 2, 3] * 3
    assert table["below_k"].tolist()[:3] == [0, 0, 0.25]


def test_long_rows_end_as_soon_as_all_are_exposed():
    """50 items have 10**15 subsets; each of two rows has a pair of its own, and no row is alone otherwise."""
    common = {f"i{number:02}" for number in range(50)}
    frame = frame_of([common, common, common | {"x", "y"}, common | {"x", "z"}, {"y", "z"}])
    overall = frame.txanon.risk(k=2, m=50).iloc[:3]
    assert overall["singled_out"].tolist() == [0, 0.6, 0.6]


def test_release_has_no_row_below_k():
    frame = frame_of([{"a", "b"}, {"a", "c"}, {"b"}, {"c", "d"}]).txanon.pcta(k=3, m=2).frame
    table = frame.txanon.risk(k=3, m=2)
    assert (table["below_k"] == 0).all()
    assert table["rows"].tolist()[:2] == [4, 4]


def test_table_is_typed_and_empty_for_no_rows():
    full = frame_of([{"a"}, {"a", "b"}]).txanon.risk(k=2, m=1)
    empty = frame_of([]).txanon.risk(k=2, m=1)
    assert full["items"].dtype == "Int64"
    assert full["items"].isna().tolist() == [True, False, False]
    assert len(empty) == 0
    assert empty.dtypes.to_dict() == full.dtypes.to_dict()


@pytest.mark.parametrize("m", [0, None, True, 2.0, "2"])
def test_number_of_known_items_is_a_number(m):
    with pytest.raises(ParameterError, match="m must be an integer of at least 1"):
        frame_of([{"a"}]).txanon.risk(k=2, m=m)
