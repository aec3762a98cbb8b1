"""Emptied rows: none or at least k rows lose all their items, with the original to compare and without."""

from __future__ import annotations

import warnings

import dask.dataframe as dd
import pandas as pd
import pytest
from conftest import frame_of, promised, rows_of
from hypothesis import given, settings, strategies as st
from naive.emptied import few_without_public, singled_out

import pdanon
import pdanon.dask
import pdanon.stream
from examples import examples
from pdanon.errors import InfeasibleError, ReleaseWarning

ITEMS = "abcd"
TREE = {"A": ["a", "b"], "B": ["c", "d"]}
SETS = {"utility": [["a", "b"], ["c"], ["d"]]}
OF_ITEMS = {
    "coat": {"m": 2, **SETS, "max_suppressed": 1.0},
    "upcta": {"m": 2, **SETS, "max_suppressed": 0.5},
    "coat of constraints": {**SETS, "constraints": [["a", "b"], ["b", "c"], ["d"]], "max_suppressed": 1.0},
    "upcta of constraints": {**SETS, "constraints": [["a", "c"], ["b", "d"]], "max_suppressed": 1.0},
    "hghs": {"m": 2, "hierarchy": TREE},
    "hghs of all items": {"hierarchy": TREE},
    "mhghs": {"m": 2, "hierarchy": TREE},
    "optimal": {"m": 2, "hierarchy": TREE, "suppress": True, "time_limit": 0.2},
    "coherence": {"h": 0.8, "p": 2, "private": ["d"]},
    "coherence without private": {"h": 1, "p": 2, "private": []},
    "suppress_public": {"h": 0.8, "p": 2, "private": ["d"]},
    "suppress_to_k": {"public": list("abc")},
    "ps_rules": {"rules": {"m": 1, "sensitive": ["d"]}, "c": 0.5, "suppress": True},
    "cahd": {"p": 2, "sensitive": ["d"], "m": 2},
    "cahd of nodes": {"p": 2, "sensitive": ["d"], "m": 2, "hierarchy": TREE},
}
REFINED = ["coat", "upcta of constraints", "hghs", "mhghs", "optimal"]
TRANSACTIONS = {
    "coat": pdanon.Transaction("coat", options={**SETS, "max_suppressed": 1.0}),
    "hghs": pdanon.Transaction("hghs", hierarchy=TREE),
    "mhghs": pdanon.Transaction("mhghs", hierarchy=TREE),
    "secrets": pdanon.Transaction("pcta", sensitive=["d"], l=2),
    "secrets of nodes": pdanon.Transaction("apriori", hierarchy=TREE, sensitive=["d"], l=2),
}
OF_CLASSES = {"rfirst": {}, "tfirst": {"delta": 1}, "rum_bound": {"delta": 0.5}, "tum_bound": {"delta": 1}}

rows_of_items = st.lists(
    st.one_of(st.none(), st.frozensets(st.sampled_from(ITEMS), max_size=3)), min_size=4, max_size=12
)


def released(function, *given, **asked):
    """A release, or None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)
            return function(*given, **asked)
    except (InfeasibleError, pdanon.errors.ParameterError):
        return None  # or an item that is named does not occur


def lists_of(column):
    return [None if row is None or row is pd.NA else [*row] for row in column]


def assert_hidden(frame, result, k, column="items", quasi=()):
    """Count with the original, and have the guarantee of the result count without it."""
    before, after = lists_of(frame[column]), lists_of(result.frame[column])
    classes = [*map(tuple, result.frame[list(quasi)].astype(str).to_numpy())] if quasi else None
    if isinstance(result.guarantee, (pdanon.Coherence, pdanon.PublicK)):  # who knows public items only
        private = result.parameters.get("private", ["d"])
        assert few_without_public(before, after, k, private) == 0
    else:
        assert singled_out(before, after, k, classes) == 0
    assert result.guarantee.audit(result.frame, column).holds
    told = result.guarantee.with_mapping(result.mapping)
    assert told.audit(result.frame, column).holds


def check_items(name, rows, k):
    frame = frame_of(rows)
    asked = {"k": k, **OF_ITEMS[name]}
    function, asked = getattr(pdanon, name.split()[0]), promised(**asked) if "constraints" in asked else asked
    result = released(function, frame, **asked)
    if result is None:
        return
    assert_hidden(frame, result, k)
    if name in REFINED:
        finer = pdanon.refine(frame, result)
        assert_hidden(frame, finer, k)
        assert finer.loss["NCP"] <= result.loss["NCP"] + 1e-12
        if name == "coat":
            weights = {item: 0.5 for row in rows if row for item in row}
            assert_hidden(frame, pdanon.refine(frame, result, loss=weights), k)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OF_ITEMS)
@given(rows=rows_of_items, k=st.sampled_from([2, 3]))
@settings(max_examples=5)
def test_none_or_k_rows_are_emptied(name, rows, k):
    check_items(name, rows, k)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ITEMS)
@given(rows=rows_of_items, k=st.sampled_from([2, 3, 4]))
@settings(max_examples=examples(240))
def test_none_or_k_rows_of_many_tables_are_emptied(name, rows, k):
    check_items(name, rows, k)


def check_classes(name, items, rows, ages):
    frame = frame_of(rows).assign(age=ages[: len(rows)])
    asked = {"k": 2, "m": 2, "quasi": ["age"], "transaction": TRANSACTIONS[items], "random_state": 0}
    result = released(getattr(pdanon, name), frame, **asked, **OF_CLASSES[name])
    if result is None:
        return
    assert_hidden(frame, result, 2, quasi=["age"])
    if not items.startswith("secrets"):
        assert_hidden(frame, pdanon.refine(frame, result), 2, quasi=["age"])


OF_CLASS = {
    "name": st.sampled_from([*OF_CLASSES]),
    "items": st.sampled_from([*TRANSACTIONS]),
    "rows": rows_of_items,
    "ages": st.lists(st.sampled_from([1, 2, 9]), min_size=12, max_size=12),
}


@given(**OF_CLASS)
@settings(max_examples=8)
def test_none_or_k_rows_of_a_class_are_emptied(name, items, rows, ages):
    check_classes(name, items, rows, ages)


@pytest.mark.slow
@given(**OF_CLASS)
@settings(max_examples=examples(600))
def test_none_or_k_rows_of_many_classes_are_emptied(name, items, rows, ages):
    check_classes(name, items, rows, ages)


def mapping_of(became, empty=0):
    mapping = pd.DataFrame({"item": [*became], "generalized": [*became.values()]}, dtype="str").assign(
        group=0
    )
    mapping.attrs = {"empty_rows": empty} if empty else {}
    return mapping


GUARANTEES = [
    pdanon.KmAnonymity(3, 1),
    pdanon.PrivacyConstraints(constraints=[["a"]], k=3),
    pdanon.LmDiversity(l=2, m=1, sensitive=["s"], k=3),
    pdanon.PSRules(rules=[(["a"], ["s"])], k=3, c=0.5),
    pdanon.SensitiveGroups(p=2, sensitive=["s"], k=3, m=1, classes=None),
    pdanon.KKm(k=3, m=1, quasi=["age"]),
    pdanon.KLm(k=3, l=2, m=1, quasi=["age"], sensitive=["s"]),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=[type(each).__name__ for each in GUARANTEES])
def test_an_audit_counts_emptied_rows_where_the_mapping_is_given(guarantee):
    """Neither a row that was empty before, nor rows of a release that suppresses nothing."""
    hidden = {"a": "a", "b": None, "s": "s"}
    if isinstance(guarantee, pdanon.SensitiveGroups):
        hidden["s"] = None
    kept = ["a"] if isinstance(guarantee, pdanon.SensitiveGroups) else ["a", "s"]
    rows = [*[kept] * 3, *[["a"]] * 5]
    for n_empty, empty_before, few in [(0, 0, 0), (2, 0, 2), (2, 1, 1), (2, 2, 0), (3, 0, 0), (4, 2, 2)]:
        if (
            isinstance(guarantee, (pdanon.KKm, pdanon.KLm))
            and (n_empty, empty_before) != (2, 2)
            and empty_before
        ):
            continue  # it says something else of classes
        frame = frame_of([*rows, *[[]] * n_empty]).assign(age=1, group=0)
        told = guarantee.with_mapping(mapping_of(hidden, empty_before))
        if isinstance(guarantee, pdanon.SensitiveGroups):
            counts = {"group": [0], "size": [len(frame)], "item": ["s"], "count": [1]}
            told = told.with_classes(pd.DataFrame(counts))
        audit = told.audit(frame)
        assert audit.holds == (few == 0)
        assert few <= audit.rows_at_risk <= n_empty
        assert audit.threats["why"].tolist() == ["emptied"] * (few > 0)
        assert [len(each) for each in audit.threats["itemset"]] == [0] * (few > 0)


def test_a_missing_row_is_not_emptied():
    told = pdanon.KmAnonymity(2, 1).with_mapping(mapping_of({"a": "a", "b": None}))
    audit = told.audit(frame_of([["a"], ["a"], [], None]))
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert told.audit(frame_of([["a"], ["a"], None])).holds


@pytest.mark.parametrize("column", ["items", "drugs"])
def test_each_of_several_list_columns_counts(column):
    guarantee = pdanon.KKm(k=2, m=1, quasi=["age"], columns=["items", "drugs"])
    rows = {"items": [["a"], ["a"], ["a"]], "drugs": [["x"], ["x"], ["x"]]}
    rows[column][2] = []
    frame = pd.DataFrame({name: pdanon.as_itemsets(lists) for name, lists in rows.items()}).assign(age=1)
    audit = guarantee.with_mapping(mapping_of({"a": "a", "b": None, "x": "x"})).audit(frame)
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert guarantee.with_mapping(mapping_of({"a": "a", "x": "x"})).audit(frame).holds


@pytest.mark.parametrize("number", [-1, 1.5, "1", True])
def test_a_number_of_empty_rows_that_is_none_is_refused(number):
    mapping = mapping_of({"a": None})
    mapping.attrs["empty_rows"] = number
    with pytest.raises(pdanon.ParameterError, match="empty_rows"):
        pdanon.KmAnonymity(2, 1).with_mapping(mapping)


def test_the_least_is_suppressed_by_hand():
    """b is rare. Of a, c and d, which are alone in rows, c has the fewest occurrences for a row."""
    rows = [["b"], ["a"], ["a"], ["a"], ["c"], ["c", "d"], ["d"], ["d"], ["d"]]
    blocks = [["a"], ["b"], ["c"], ["d"]]
    result = frame_of(rows).txanon.coat(k=2, m=1, utility=blocks, max_suppressed=1)
    assert rows_of(result.frame) == [set(), {"a"}, {"a"}, {"a"}, set(), {"d"}, {"d"}, {"d"}, {"d"}]
    with pytest.raises(InfeasibleError, match="max_suppressed") as caught:
        frame_of(rows).txanon.coat(k=2, m=1, utility=blocks, max_suppressed=0.25)
    assert "max_suppressed=0.5" in str(caught.value)
    assert caught.value.partial is not None


def test_a_coarser_cut_is_taken_where_it_loses_less():
    rows = [["a"], ["a"], ["a"], ["b"]]
    for tree in ({"*": ["a", "b"]}, {"*": {"A": ["a", "b"], "C": ["c", "d", "e"]}}):
        result = frame_of(rows).txanon.hghs(k=2, m=1, hierarchy=tree)
        assert len({*map(tuple, result.frame["items"])}) == 1
        assert result.mapping["generalized"].notna().all()


COHERENT = [  # rows before, and the rows after; flu is private
    ([["a"], ["b"]], [[], []]),
    ([["a", "flu"], ["a", "flu"], ["a", "flu"], ["b"]], [["flu"], ["flu"], ["flu"], []]),
    ([["a"], ["a"], ["a"], ["b"], []], [["a"], ["a"], ["a"], [], []]),
    ([["a"], ["a"], ["a"], ["b"], ["flu"]], [["a"], ["a"], ["a"], [], ["flu"]]),
    ([["a"], ["a"], ["a", "b"], ["flu"]], [["a"], ["a"], ["a"], ["flu"]]),
]


@pytest.mark.parametrize(("rows", "expected"), COHERENT)
def test_rows_without_public_items_hide_those_that_lost_all_of_them(rows, expected):
    """All public items can go: there is a release whenever there are k rows, and private items stay."""
    private = ["flu"] if ["flu"] in expected else []
    result = frame_of(rows).txanon.coherence(h=1, k=2, p=1, private=private)
    assert lists_of(result.frame["items"]) == expected
    apart = frame_of([[item for item in row if item != "flu"] for row in rows])
    apart["sick"] = frame_of([[item for item in row if item == "flu"] for row in rows])["items"]
    if private:
        split = apart.txanon.coherence("items", h=1, k=2, p=1, private="sick").frame
        both = zip(lists_of(split["items"]), lists_of(split["sick"]), strict=True)
        assert [one + other for one, other in both] == expected


def test_an_audit_of_coherence_counts_rows_without_public_items():
    mapping = mapping_of({"a": "a", "b": None, "flu": "flu"})
    told = pdanon.Coherence(h=1, k=3, p=1, private=["flu"], mapping=mapping)
    shown = [["a", "flu"], ["a"], ["a"]]
    assert told.audit(frame_of(shown)).holds
    assert told.audit(frame_of([*shown, ["flu"], [], []])).holds
    assert told.audit(frame_of([["flu"], ["flu"], [], []])).holds  # no row differs
    audit = told.audit(frame_of([*shown, ["flu"], []]))
    assert (audit.holds, audit.rows_at_risk) == (False, 2)
    (threat,) = audit.threats.itertuples(index=False)
    assert (len(threat.itemset), threat.support, threat.why) == (0, 2, "emptied")
    mapping.attrs["rows_without_public"] = 2
    assert told.with_mapping(mapping).audit(frame_of([*shown, ["flu"], []])).holds


def test_streams_and_frames_of_dask_hide_them_as_well(tmp_path):
    rows = [["a"], ["a"], ["a"], ["b"], ["c"], ["c"], ["c"], ["c"], [], None]
    frame = frame_of(rows)
    asked = {"k": 3, "m": 1, "utility": [["a"], ["b"], ["c"]], "max_suppressed": 1.0}
    expected = frame.txanon.coat(**asked)
    assert expected.mapping.attrs == {"empty_rows": 2}
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    made = pdanon.stream.coat(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        mapping=tmp_path / "m.parquet",
        **asked,
    )
    pd.testing.assert_frame_equal(made.mapping, expected.mapping)
    assert rows_of(pdanon.read_parquet(tmp_path / "out.parquet")) == rows_of(expected.frame)
    told = pdanon.KmAnonymity(3, 1).with_mapping(pdanon.read_parquet(tmp_path / "m.parquet"))
    assert pdanon.stream.audit(tmp_path / "out.parquet", told).holds

    lazy = dd.from_pandas(frame, npartitions=3).txanon.coat(**asked)
    pd.testing.assert_frame_equal(lazy.mapping, expected.mapping)
    assert lazy.frame.txanon.audit(lazy.guarantee).holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "algorithm", "asked"),
    [
        ("groceries", "coherence", {"h": 1, "k": 5, "p": 1, "private": []}),
        ("groceries", "hghs", {"k": 25, "m": 2, "hierarchy": 8}),
        ("uci_msweb_train", "hghs", {"k": 5, "m": 2, "hierarchy": 8}),
    ],
)
def test_real_baskets(data, name, algorithm, asked):
    frame = pdanon.read_parquet(data / f"{name}.parquet")[["items"]]
    result = getattr(frame.txanon, algorithm)(**asked)
    assert_hidden(frame, result, asked["k"])
    assert not result.useless
