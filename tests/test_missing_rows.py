"""Missing rows: who knows an item of a row leaves them out, so where items are hidden they must not show."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of, promised
from hypothesis import given, settings, strategies as st

import pdanon
import pdanon.stream
from examples import examples

ITEMS = "abcd"
TREE = {"A": ["a", "b"], "B": ["c", "d"]}
ABOVE = {"a": {"a", "A", "*"}, "b": {"b", "A", "*"}, "c": {"c", "B", "*"}, "d": {"d", "B", "*"}}
K, M = 2, 2
SETS = {"k": K, "m": M, "utility": [["a", "b"], ["c"], ["d"]], "max_suppressed": 1.0}
CUTS = {"k": K, "m": M, "hierarchy": TREE}
CLASSES = {"k": K, "m": M, "quasi": ["s"]}
CLASSES["transaction"] = pdanon.Transaction("apriori", hierarchy=TREE)
GLOBAL = {
    "coat": SETS,
    "coherence": {"h": 1, "k": K, "p": M, "private": []},
    "hghs": CUTS,
    "mhghs": CUTS,
    "optimal": {**CUTS, "suppress": True},
    "suppress_public": {"h": 1, "k": K, "p": M, "private": []},
    "suppress_to_k": {"k": K, "public": list(ITEMS)},
    "upcta": SETS,
}
LOCAL = {
    "clump": {"k": K, "hierarchy": TREE},
    "partition": {"k": K, "hierarchy": TREE},
    "rfirst": CLASSES,
    "rum_bound": {**CLASSES, "delta": 1},
    "tfirst": {**CLASSES, "parts": 1},
    "tum_bound": {**CLASSES, "delta": 1},
}
ALONE = {"hghs", "mhghs", "optimal", "partition", "clump", "tfirst"}  # which need k rows that hold an item
ROWS = st.lists(st.none() | st.sets(st.sampled_from(ITEMS), max_size=3), min_size=1, max_size=7)


def lists_of(frame):
    return pa.array(frame["items"]).to_pylist()


def listed(result):
    return [*zip(result.frame["s"], lists_of(result.frame), strict=True)]


def release_of(name, rows, classes=None):
    frame = frame_of(rows).assign(s=["x"] * len(rows) if classes is None else classes[: len(rows)])
    wanted = {**GLOBAL, **LOCAL}[name]
    if "public" in wanted:
        wanted = wanted | {"public": sorted({item for row in rows for item in row or ()})}
    return getattr(frame.txanon, name)("items", **wanted)


def found(known, labels, hidden, candidates):
    """Rows that an attacker cannot leave out: not missing, with a label of each item that is never hidden."""
    return sum(
        row is not None and all(item in hidden or labels[item] & {*row} for item in known)
        for row in candidates
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*GLOBAL, *LOCAL])
@settings(max_examples=examples(15))
@given(rows=ROWS, classes=st.lists(st.sampled_from("xy"), min_size=7, max_size=7))
def test_who_knows_items_finds_k_rows(name, rows, classes):
    try:
        result = release_of(name, rows, classes)
    except pdanon.InfeasibleError:
        return
    mapping = result.mapping
    hidden = {*mapping["item"][mapping["generalized"].isna()]}
    labels = ABOVE
    if name in GLOBAL:
        labels = {item: {label} for item, label in zip(mapping["item"], mapping["generalized"], strict=True)}
    published = listed(result)
    by_class = name not in GLOBAL and "quasi" in LOCAL[name]
    for row, (own, _) in zip(rows, published, strict=True):
        candidates = [other for cell, other in published if not by_class or cell == own]
        for size in range(1, M + 1):
            for known in combinations(sorted(row or ()), size):
                assert found(known, labels, hidden, candidates) >= K


@pytest.mark.parametrize("name", [name for name in (*GLOBAL, *LOCAL) if name not in ALONE])
def test_a_row_that_lost_its_only_item_looks_like_a_missing_one(name):
    assert lists_of(release_of(name, [{"c"}, None]).frame) == [[], []]


@pytest.mark.parametrize("name", sorted({*GLOBAL, *LOCAL} - {"suppress_public"}))
def test_missing_rows_stay_where_nothing_is_suppressed(name):
    assert lists_of(release_of(name, [{"c"}, {"c"}, None, None]).frame) == [["c"], ["c"], None, None]


@pytest.mark.parametrize("name", ["partition", "clump"])
def test_rows_without_items_are_alike(name):
    """One that is missing looks like one that lost its items, and like one that had none."""
    assert sorted(lists_of(release_of(name, [None, {"c"}, {"c"}, {"c"}]).frame)) == [[], [], ["c"], ["c"]]
    assert lists_of(release_of(name, [None, set(), {"c"}, {"c"}]).frame) == [[], [], ["c"], ["c"]]
    assert lists_of(release_of(name, [None, None, {"c"}, {"c"}]).frame) == [None, None, ["c"], ["c"]]
    before = release_of(name, [None, set(), {"a"}, {"a", "c"}, {"b"}, {"b"}])
    frame = frame_of([None, set(), {"a"}, {"a", "c"}, {"b"}, {"b"}]).assign(s="x")
    assert lists_of(frame.txanon.refine(before).frame)[:2] == [[], []]


@pytest.mark.parametrize("name", ["coat", "upcta"])
@pytest.mark.parametrize("protected", [{"m": 1}, {"constraints": [["q"]]}])
def test_one_row_is_not_released_however_much_is_suppressed(name, protected):
    """Neither is one row and missing ones, if nothing is suppressed; missing rows alone are."""
    asked = promised(**{"k": 2, "utility": [["q"]], "max_suppressed": 1.0, **protected})
    with pytest.raises(pdanon.InfeasibleError, match="k=2, 1 rows"):
        getattr(frame_of([{"q"}]).txanon, name)(**asked)
    if "m" in protected:
        with pytest.raises(pdanon.InfeasibleError, match="k=2, 1 rows"):
            getattr(frame_of([set(), None]).txanon, name)(**asked)
        assert lists_of(getattr(frame_of([None]).txanon, name)(**asked).frame) == [None]


def test_a_column_that_loses_nothing_keeps_its_missing_rows():
    """Of two list columns, one loses an item, and only its missing rows become empty."""
    frame = pd.DataFrame({"s": "x", "one": [["c"], [], None, []], "two": [["a"], ["a"], ["a"], None]})
    asked = {"k": 2, "m": 2, "quasi": ["s"], "transaction": pdanon.Transaction(columns=["one", "two"])}
    released = frame.txanon.rfirst(**asked).frame
    assert released["one"].tolist() == [[], [], [], []]
    assert pa.array(released["two"]).to_pylist() == [["a"], ["a"], ["a"], None]


def test_audits_leave_missing_rows_out():
    """A person whose items were suppressed is in none of them."""
    coherence = pdanon.Coherence(h=0.5, k=2, p=1, private=["flu"])
    assert coherence.audit(frame_of([{"flu"}, set(), None])).holds
    assert coherence.audit(frame_of([{"flu"}, set(), set()])).holds
    assert coherence.audit(frame_of([{"flu"}, {"flu"}, set(), None])).rows_at_risk == 3
    assert coherence.audit(frame_of([{"flu"}, {"flu"}, set(), set()])).holds
    frame = frame_of([set(), None, {"flu"}])
    public = pdanon.PublicK(k=2, public=["tea"])
    assert public.audit(frame.iloc[[0, 2]]).holds
    audit = public.audit(frame.iloc[[0, 1]])
    assert audit.rows_at_risk == 2
    assert pa.array(audit.threats["itemset"]).to_pylist() == [[], None]
    assert audit.threats["support"].tolist() == [1, 1]
    kkm = pdanon.KKm(k=2, m=1, quasi=["s"])
    assert kkm.audit(frame_of([set(), None]).assign(s="x")).rows_at_risk == 1
    assert kkm.audit(frame_of([None, None]).assign(s="x")).holds


@pytest.mark.parametrize("name", ["coherence", "suppress_to_k"])
def test_a_missing_row_becomes_empty_rather_than_too_few_be_left(name):
    """Nothing is suppressed here, but one empty row would be alone among those without items."""
    asked = {"h": 1, "k": 2, "p": 1, "private": ["flu"]} if name == "coherence" else {"k": 2, "public": ["a"]}
    rows = [{"flu"}, None] if name == "coherence" else [{"a"}, {"a"}, set(), None]
    released = getattr(frame_of(rows).txanon, name)(**asked).frame
    assert None not in lists_of(released)


def test_later_rows_say_no_more_than_the_first():
    """Whether these rows lose an item does not matter: others of the same mapping do."""
    first = frame_of([{"a"}, {"a"}, {"a", "b"}])
    mapping = first.txanon.coat(k=2, m=1, utility=[["a"], ["b"]], max_suppressed=1.0).mapping
    later = frame_of([{"a"}, None])
    assert lists_of(later.txanon.apply_mapping(mapping)) == [["a"], []]
    safe = frame_of([{"a"}, {"a"}]).txanon.pcta(k=2, m=1).mapping
    assert lists_of(later.txanon.apply_mapping(safe)) == [["a"], None]
    assert lists_of(later.txanon.apply_mapping(safe, unseen="suppress")) == [["a"], []]


@pytest.mark.parametrize(
    ("name", "asked", "rows"),
    [
        ("coat", SETS, [{"c"}, {"c"}, {"d"}, None]),
        ("coat", SETS, [{"c"}, {"c"}, None, None]),
        ("suppress_to_k", {"k": 2, "public": ["c"]}, [{"c"}, {"c"}, set(), None]),
    ],
)
def test_parts_are_published_as_the_frame_is(tmp_path, name, asked, rows):
    """What is suppressed, and the missing row, are in different files, or partitions."""
    pytest.importorskip("pdanon.dask")
    frames = pytest.importorskip("dask.dataframe")
    frame = frame_of(rows)
    expected = lists_of(getattr(frame.txanon, name)(**asked).frame)
    (tmp_path / "in").mkdir()
    for number in range(4):
        pdanon.to_parquet(frame[number : number + 1], tmp_path / "in" / f"{number}.parquet")
    released = getattr(pdanon.stream, name)(tmp_path / "in", tmp_path / "out", **asked)
    assert lists_of(pd.concat(map(pdanon.read_parquet, released.paths))) == expected
    lazy = getattr(frames.from_pandas(frame, npartitions=4).txanon, name)(**asked)
    assert lists_of(lazy.frame.compute()) == expected


# --- shares: missing rows hold no item, and hide none

FLU = [["flu"], ["flu"], None, None]
SHARES = {
    "LmDiversity": pdanon.LmDiversity(l=2, m=1, sensitive=["flu"]),
    "KLm": pdanon.KLm(k=2, l=2, m=1, quasi=["s"], sensitive=["flu"]),
    "Coherence": pdanon.Coherence(h=0.5, k=2, p=1, private=["flu"]),
    "RhoUncertainty": pdanon.RhoUncertainty(rho=0.5, sensitive=["flu"]),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_one_of_the_rows_that_are_not_missing(name):
    audit = pdanon.audit(frame_of(FLU).assign(s="x"), SHARES[name])
    assert audit.rows_at_risk == 2
    assert audit.threats["support"].tolist() == [2]
    assert pdanon.audit(frame_of([row or [] for row in FLU]).assign(s="x"), SHARES[name]).holds


def test_a_share_of_a_group_is_one_of_its_rows_that_are_not_missing():
    classes = pd.DataFrame({"group": [0, 1], "size": [4, 2], "item": ["flu", None], "count": [1, 0]})
    promise = pdanon.SensitiveGroups(p=4, sensitive=["flu"], classes=classes)
    frame = frame_of([["a"], ["a"], ["a"], ["a"], ["a"], ["a"]]).assign(group=[0, 0, 0, 0, 1, 1])
    assert frame.txanon.audit(promise).holds
    frame = frame_of([["a"], ["a"], ["a"], None, ["a"], None]).assign(group=[0, 0, 0, 0, 1, 1])
    assert frame.txanon.audit(promise).rows_at_risk == 3


def test_a_share_is_one_of_the_rows_that_hold_private_data():
    """Rows missing in the private column are none of a person who is known to have private data."""
    promise = pdanon.Coherence(h=0.5, k=2, p=1, private="d")
    frame = pd.DataFrame({"items": [["a"]] * 4, "d": [["flu"], [], None, None]})
    assert pdanon.audit(frame, promise).holds
    assert pdanon.audit(frame.assign(d=FLU), promise).rows_at_risk == 2
    assert pdanon.audit(frame.assign(d=[["flu"], ["flu"], [], []]), promise).holds
    # Of those that hold private data only one has b: who knows of none, but b, finds two.
    frame = pd.DataFrame({"items": [["a", "b"], ["a"], ["a"], ["b"]], "d": [["flu"], [], [], None]})
    audit = pdanon.audit(frame, pdanon.Coherence(h=0.5, k=2, p=1, private="d"))
    assert audit.rows_at_risk == 1
    assert pa.array(audit.threats["itemset"]).to_pylist() == [["b"]]
    assert audit.threats["support"].tolist() == [1]


def test_missing_rows_of_a_private_column_are_published_as_empty(tmp_path):
    pytest.importorskip("pdanon.dask")
    frames = pytest.importorskip("dask.dataframe")
    frame = frame_of([["a"]] * 4)
    frame["d"] = pd.Series(pa.array([*FLU]).to_pandas(types_mapper=pd.ArrowDtype))
    asked = {"h": 0.5, "k": 2, "p": 1, "private": "d"}
    expected = [["flu"], ["flu"], [], []]
    released = frame.txanon.coherence("items", **asked).frame
    assert pa.array(released["d"]).to_pylist() == expected
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    streamed = pdanon.stream.coherence(tmp_path / "in.parquet", tmp_path / "out", **asked)
    read = pd.concat(map(pdanon.read_parquet, streamed.paths))
    assert pa.array(read["d"]).to_pylist() == expected
    lazy = frames.from_pandas(frame, npartitions=2).txanon.coherence(**asked)
    assert pa.array(lazy.frame.compute()["d"]).to_pylist() == expected


@pytest.mark.parametrize("name", ["rfirst", "tfirst", "rum_bound", "tum_bound"])
@pytest.mark.parametrize("items", ["pcta", "apriori"])
def test_a_class_hides_no_sensitive_item_among_missing_rows(name, items):
    """Three of the four rows that are not missing have flu."""
    frame = frame_of([["flu"], ["flu"], None, None, ["t", "flu"], ["t"]]).assign(s="x")
    tree = {"*": ["t"]} if items == "apriori" else None
    hidden = pdanon.Transaction(items, hierarchy=tree, sensitive=["flu"], l=2)
    more = {"delta": 1} if "bound" in name else {"parts": 1} if name == "tfirst" else {}
    result = getattr(frame.txanon, name)(k=2, m=1, quasi=["s"], transaction=hidden, **more)
    assert lists_of(result.frame) == [[], [], [], [], ["t"], ["t"]]


def test_no_release_hides_a_sensitive_item_among_missing_rows(tmp_path):
    pytest.importorskip("pdanon.dask")
    frames = pytest.importorskip("dask.dataframe")
    frame = frame_of([["flu"], ["flu"], ["flu", "t"], ["t"], None, None])
    asked = promised(k=2, m=1, hierarchy={"*": ["t"]}, sensitive=["flu"], l=2)
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    refused = partial(pytest.raises, pdanon.InfeasibleError, match="3 of 4 rows that are not missing")
    with refused():
        frame.txanon.apriori(**asked)
    with refused():
        pdanon.stream.apriori(tmp_path / "in.parquet", tmp_path / "out", **asked)
    with refused():
        frames.from_pandas(frame, npartitions=2).txanon.apriori(**asked)


def test_coherence_hides_no_private_item_among_missing_rows():
    frame = frame_of([["flu"], ["flu"], [], None])
    with pytest.raises(pdanon.InfeasibleError, match="2/3"):
        frame.txanon.coherence(h=0.5, k=2, p=1, private=["flu"])


@pytest.mark.parametrize("order", ["nn", "gray", "rcm"])
def test_groups_hide_no_sensitive_item_among_missing_rows(order):
    rows = [["a", "flu"], ["a"], None, ["b", "flu"], None, ["b"], None]
    released = frame_of(rows).txanon.cahd(p=2, sensitive=["flu"], order=order)
    groups = released.frame["group"]
    there = groups[[row is not None for row in rows]].value_counts()
    for group, _, item, count in released.classes.itertuples(index=False):
        assert item is pd.NA or 2 * count <= there[group]
    with pytest.raises(pdanon.InfeasibleError, match="2 of 4 rows that are not missing"):
        frame_of(rows).txanon.cahd(p=3, sensitive=["flu"], order=order)


def test_who_knows_where_rows_hold_data_finds_k_rows():
    """Of two list columns: two rows hold data in each, but one in both; a person in both is not alone."""
    frame = pd.DataFrame({"s": "x", "one": [["a"], ["a"], None, None], "two": [None, ["b"], ["b"], None]})
    promise = pdanon.KKm(k=2, m=1, quasi=["s"], columns=["one", "two"])
    audit = pdanon.audit(frame, promise)
    assert audit.rows_at_risk == 1
    assert audit.threats["support"].tolist() == [1]
    asked = {"k": 2, "m": 1, "quasi": ["s"], "transaction": pdanon.Transaction(columns=["one", "two"])}
    released = frame.txanon.rfirst(**asked).frame
    assert pa.array(released["one"]).to_pylist() == [["a"], ["a"], [], []]
    assert pa.array(released["two"]).to_pylist() == [[], ["b"], ["b"], []]
