"""Bags: what they hold several times stays, in any layout, and the guarantee counts it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frames import arrow, chunked, objects
from hypothesis import given, strategies as st

import pdanon
from pdanon import TransactionalK
from pdanon.itemsets.codes import Itemsets, read_visible

ROWS = st.lists(st.none() | st.lists(st.sampled_from("abc"), max_size=5), max_size=10)
LAYOUTS = [
    lambda rows: arrow(rows, pa.list_(pa.string())),
    lambda rows: arrow(rows, pa.large_list(pa.dictionary(pa.int8(), pa.string()))),
    chunked,
    lambda rows: objects(rows, list),
    lambda rows: objects(rows, lambda row: np.array(row, object)),
]


def listed(column):
    return pa.chunked_array([pa.array(column)]).to_pylist()


def copies_of(row):
    """Items with how often each has been there before."""
    return sorted((item, row[:place].count(item)) for place, item in enumerate(row))


@pytest.mark.parametrize("layout", LAYOUTS)
@given(rows=ROWS)
def test_rows_come_back_sorted_with_all_they_hold(layout, rows):
    bags = Itemsets.from_series(layout(rows)["items"], repeats=True)
    assert listed(bags.to_pandas()) == [row if row is None else sorted(row) for row in rows]


@given(ROWS, st.integers(2, 4))
def test_rows_are_counted_as_they_are_listed(rows, k):
    audit = arrow(rows, pa.list_(pa.string())).txanon.audit(TransactionalK(k=k))
    times = Counter(None if row is None else tuple(row) for row in rows)
    rare = {row: count for row, count in times.items() if count < k}
    assert audit.rows_at_risk == sum(rare.values())
    assert audit.holds == (not rare)
    threats = audit.threats
    assert [*threats.columns] == ["itemset", "support", "why"]
    itemsets = [None if row is None else tuple(row) for row in listed(threats["itemset"])]
    assert dict(zip(itemsets, threats["support"], strict=True)) == rare
    assert (threats["why"] == "rare").all()


@given(st.lists(st.lists(st.sampled_from("abc"), unique=True), max_size=8), st.data())
def test_occurrences_are_replaced_one_by_one(rows, data):
    itemsets = Itemsets.from_series(arrow(rows, pa.list_(pa.string()))["items"])
    chosen = data.draw(
        st.lists(st.integers(-1, 1), min_size=len(itemsets.codes), max_size=len(itemsets.codes))
    )
    labels = pa.array(["y", "x"])
    bags = itemsets.relabel(np.array(chosen, np.int32), labels, repeats=True)
    left = iter(chosen)
    became = [[next(left) for _ in row] for row in rows]
    assert listed(bags.to_pandas()) == [sorted("yx"[each] for each in row if each >= 0) for row in became]


def test_what_is_not_used_is_not_kept():
    itemsets = Itemsets.from_series(arrow([["a", "b"]], pa.list_(pa.string()))["items"])
    bags = itemsets.relabel(np.array([1, 1], np.int32), pa.array(["secret", "x"]), repeats=True)
    assert bags.vocabulary.to_pylist() == ["x"]
    assert listed(bags.to_pandas()) == [["x", "x"]]


def test_text_is_no_bag():
    with pytest.raises(pdanon.ItemsetDtypeError, match="does not hold lists"):
        Itemsets.from_series(pd.Series([1, 2]), repeats=True)


def test_a_missing_row_is_not_like_one_without_items():
    for rows, at_risk in (([None, []], 2), ([None, None], 0), ([[], []], 0), ([None, [], []], 1)):
        frame = arrow([*rows, ["a"], ["a"]], pa.list_(pa.string()))
        assert frame.txanon.audit(TransactionalK(k=2)).rows_at_risk == at_risk


def test_transactional_implies_every_itemset():
    frame = arrow([["a", "b"]] * 3 + [["a"]] * 3, pa.list_(pa.string()))
    assert frame.txanon.audit(TransactionalK(k=3)).holds
    assert frame.txanon.audit(pdanon.KmAnonymity(3, None)).holds
    pairs = arrow([["a"], ["b"], ["a", "b"], ["a", "b"]], pa.list_(pa.string()))
    assert pairs.txanon.audit(pdanon.KmAnonymity(2, None)).holds
    assert not pairs.txanon.audit(TransactionalK(k=2)).holds


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_of_a_list_is_seen(layout):
    frame = layout([["a", "b"], ["b", "a"], ["b", "a", "b"], ["b", "a", "b"]])
    assert frame.txanon.audit(TransactionalK(k=2)).rows_at_risk == 2


def test_an_entry_of_a_dictionary_may_be_there_twice():
    items = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", "b", "a"]))
    lists = pa.ListArray.from_arrays([0, 2, 4], items)
    frame = pd.DataFrame({"items": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([lists])))})
    assert frame.txanon.audit(TransactionalK(k=2)).holds


def test_sets_have_no_order():
    names = [f"i{number}" for number in range(9)]
    rows = [set(names), {*sorted(names, reverse=True)}, frozenset(names)]
    assert objects(rows, lambda row: row).txanon.audit(TransactionalK(k=3)).holds
    assert not objects([names[::-1], *rows[1:]], lambda row: row).txanon.audit(TransactionalK(k=3)).holds


@given(ROWS)
def test_repeats_are_copies_that_stand_next_to_each_other(rows):
    seen = read_visible(arrow(rows, pa.list_(pa.string()))["items"])
    copies = [copies_of(row or []) for row in rows]
    vocabulary = sorted({copy for row in copies for copy in row})
    assert seen.vocabulary.to_pylist() == [item for item, _ in vocabulary]
    expected = [vocabulary.index(copy) for row in copies for copy in row]
    assert seen.codes.tolist() == expected
    assert np.diff(seen.offsets).tolist() == [*map(len, copies)]
    assert seen.nulls.tolist() == [row is None for row in rows]
