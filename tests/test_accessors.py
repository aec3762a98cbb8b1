"""Accessors: df.txanon forwards, and series.itemset answers as a naive count of sets does."""

from __future__ import annotations

import importlib
import re

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive
from pages import names_of_the_reference

import pdanon
from examples import examples
from pdanon import ColumnError, ItemsetDtypeError, ParameterError
from pdanon.accessors import ItemsetAccessor, TxanonAccessor

itemsets = st.lists(st.sampled_from("abcdefz"), max_size=4)


def column_of(rows):
    return frame_of(rows)["items"]


def as_sets(series):
    return [None if row is None else frozenset(row) for row in pa.array(series).to_pylist()]


@st.composite
def columns(draw):
    """Rows, with missing ones, as Arrow lists or as objects, on some index."""
    rows = [None if draw(st.booleans()) and not row else row for row in draw(row_lists())]
    index = [5 * number for number in range(len(rows))]
    series = column_of(rows).set_axis(index).rename("baskets")
    if draw(st.booleans()) and any(row is not None for row in rows):
        series = pd.Series([None if row is None else [*row] for row in rows], index, object, "baskets")
    return series, rows


# --- series.itemset


def test_a_column_shown_lists_what_can_be_asked():
    offered = {name for name in dir(ItemsetAccessor) if not name.startswith("_")}
    shown = repr(column_of([{"a"}]).itemset)
    assert {name for name in offered if re.search(rf"\b{name}\b", shown)} == offered


@settings(max_examples=examples(40))
@given(columns(), itemsets)
def test_questions_about_a_column(column, itemset):
    series, rows = column
    sets = [row or frozenset() for row in rows]
    items = sorted(frozenset().union(*sets))
    accessor = series.itemset
    assert [*accessor.items] == items
    assert accessor.lengths.isna().tolist() == [row is None for row in rows]
    assert accessor.lengths.dropna().tolist() == [len(row) for row in rows if row is not None]
    assert accessor.supports().to_dict() == {item: naive.support(sets, {item}) for item in items}
    assert accessor.support(itemset) == naive.support(sets, frozenset(itemset))
    assert accessor.contains(itemset).tolist() == [frozenset(itemset) <= row for row in sets]
    assert accessor.contains(itemset).index.equals(series.index)
    assert accessor.lengths.index.equals(series.index)


@settings(max_examples=examples(40))
@given(columns(), st.integers(2, 4), st.integers(1, 4))
def test_rare_itemsets_of_a_column(column, k, m):
    series, rows = column
    sets = [None if row is None else frozenset(row) for row in rows]
    table = series.itemset.rare(k, m)
    threats = naive.km_audit(sets, k, m)
    assert [*table.columns] == ["itemset", "support"]
    assert [*map(tuple, pa.array(table["itemset"]).to_pylist())] == naive.by_size(threats)
    assert table["support"].tolist() == [threats[frozenset(each)] for each in naive.by_size(threats)]
    assert series.itemset.is_km_anonymous(k, m) == (not threats)
    assert series.itemset.is_km_anonymous(k, None) == (not naive.km_audit(sets, k, None))


@settings(max_examples=examples(40))
@given(columns(), st.dictionaries(st.sampled_from("abcdez"), st.sampled_from(["x", "a", "(a,b)"])))
def test_generalized_column(column, mapping):
    series, rows = column
    edited = series.itemset.generalize(mapping)
    expected = [None if row is None else frozenset(mapping.get(item, item) for item in row) for row in rows]
    assert as_sets(edited) == expected
    assert edited.index.equals(series.index)
    assert edited.name == "baskets"


@settings(max_examples=examples(40))
@given(columns(), itemsets)
def test_column_with_items_removed(column, removed):
    series, rows = column
    edited = series.itemset.suppress(removed)
    assert as_sets(edited) == [None if row is None else row - set(removed) for row in rows]
    assert edited.index.equals(series.index)
    assert edited.name == "baskets"


def test_removing_items_keeps_the_type_of_the_others():
    series = pdanon.as_itemsets([[1, 2], [2, 3]])
    edited = series.itemset.suppress([2, 7])
    assert edited.dtype.pyarrow_dtype == pa.list_(pa.int64())
    assert as_sets(edited) == [{1}, {3}]
    assert as_sets(series.itemset.generalize({1: "one"})) == [{"one", "2"}, {"2", "3"}]
    assert as_sets(series) == [{1, 2}, {2, 3}]


def test_description_of_a_column():
    series = column_of([{"a", "b", "c"}, {"a"}, set(), None]).rename("baskets")
    described = series.itemset.describe()
    assert described.to_dict() == {
        "rows": 4,
        "missing rows": 1,
        "empty rows": 1,
        "items": 3,
        "occurrences": 4,
        "mean length": 1.0,
        "longest": 3,
    }
    assert described.name == "baskets"
    assert column_of([]).itemset.describe()["mean length"] == 0


@pytest.mark.parametrize("method", ["support", "contains", "suppress"])
def test_one_item_is_not_taken_for_a_list_of_letters(method):
    with pytest.raises(ParameterError, match="list of items"):
        getattr(column_of([{"a"}]).itemset, method)("tea")
    with pytest.raises(ParameterError, match=r"list of items(.|\n)*int"):
        getattr(column_of([{"a"}]).itemset, method)(5)


@pytest.mark.parametrize("mapping", [{"a": None}, {"a": 3}, {"z": 1.5}, str.upper, ["a", SECRET]])
def test_labels_are_text_by_item(mapping):
    with pytest.raises(ParameterError, match="label") as caught:
        column_of([{"a", SECRET}]).itemset.generalize(mapping)
    assert SECRET not in str(caught.value)


def test_labels_may_be_a_series():
    edited = column_of([{"a", "b"}]).itemset.generalize(pd.Series({"a": "x", "c": "y"}))
    assert as_sets(edited) == [{"x", "b"}]


def test_columns_of_other_things_have_no_itemsets():
    for series in (pd.Series(["['a']"]), pd.Series([1]), pd.Series([None], dtype=object)):
        assert not hasattr(series, "itemset")
        with pytest.raises(ColumnError, match="does not hold lists"):
            series.itemset  # noqa: B018


# --- df.txanon


def test_frames_without_lists_have_no_anonymization():
    frame = pd.DataFrame({"diagnosis": [SECRET]})
    with pytest.raises(ColumnError, match="no list-valued column") as caught:
        frame.txanon.pcta(k=2)
    assert "no list-valued column" in repr(frame.txanon)
    assert "diagnosis" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "txanon" in dir(frame_of([{"a"}]))
    assert isinstance(dir(frame), list)


def test_accessors_keep_the_object_and_nothing_else():
    frame = frame_of([{"a"}])
    assert vars(frame.txanon).keys() == vars(frame["items"].itemset).keys() == {"_obj"}
    assert frame.txanon._obj is frame


def test_accessors_look_at_the_first_value_only():
    """A wrong row further down is found by who asks for it, not by each tab completion."""
    frame = pd.DataFrame({"items": [None, ["a"], "text"]})
    frame.txanon  # noqa: B018
    frame["items"].itemset  # noqa: B018
    with pytest.raises(ItemsetDtypeError, match="row 2"):
        frame["items"].itemset.supports()
    with pytest.raises(ItemsetDtypeError, match="row 2"):
        frame.txanon.risk(k=2)


def test_frame_methods_are_the_functions():
    frame = frame_of([{"a", "b"}, {"a"}, {"b"}])
    guarantee = pdanon.KmAnonymity(2, 2)
    assert frame.txanon.audit(guarantee).rows_at_risk == pdanon.audit(frame, guarantee).rows_at_risk == 1
    assert frame.txanon.audit(guarantee, "items").rows_at_risk == 1
    pd.testing.assert_frame_equal(frame.txanon.risk("items", k=2, m=1), pdanon.risk(frame, k=2, m=1))
    mapping = frame.txanon.pcta(k=2).mapping
    pd.testing.assert_frame_equal(
        frame.txanon.apply_mapping(mapping, unseen="suppress"), pdanon.apply_mapping(frame, mapping)
    )


def test_one_of_several_list_columns_is_named():
    frame = frame_of([{"a"}, {"b"}]).assign(other=[["c"], ["c"]])
    with pytest.raises(ColumnError, match="several"):
        frame.txanon.pcta(k=2)
    released = frame.txanon.pcta("items", k=2).frame
    assert rows_of(released) == [{"(a,b)"}] * 2
    assert released["other"].tolist() == [["c"], ["c"]]
    assert frame.txanon.audit(pdanon.KmAnonymity(2), "other").holds
    assert (frame.txanon.risk("other", k=2)["below_k"] == 0).all()


def test_accessors_are_documented():
    for accessor in (TxanonAccessor, ItemsetAccessor):
        public = [name for name in vars(accessor) if not name.startswith("_")]
        assert public
        assert all(getattr(accessor, name).__doc__ for name in public)


@pytest.mark.parametrize("name", ["constraints", "dask", "datasets", "plotting", "stream", "utility"])
def test_a_public_module_lists_what_the_reference_lists(name):
    if name == "dask":
        pytest.importorskip("dask.dataframe")
    module = importlib.import_module(getattr(pdanon, name).__name__)
    inside = [
        each.removeprefix(f"{name}.") for each in names_of_the_reference() if each.startswith(f"{name}.")
    ]
    assert sorted(dir(module)) == sorted(inside)
