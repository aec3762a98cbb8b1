"""Recoding: labels that mean one thing, the mapping table, and mappings used again."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import assume, example, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import KmAnonymity, ParameterError, PrivacyConstraints, apply_mapping
from pdanon.hierarchy import Hierarchy
from pdanon.io.tables import write_plain
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.mapping import global_mapping, relabel
from pdanon.recoding.recoding import Recoding, mapping_table

# Texts that look like labels, or like what labels are made of.
AWKWARD = [
    "a",
    "b",
    "(a,b)",
    "((a,b))",
    "a,b",
    "\\",
    "\\,",
    ",",
    "(",
    ")",
    "()",
    "(a",
    "b)",
    "a\\,b",
    "",
    " ",
]
texts = st.sampled_from(AWKWARD) | st.text(st.sampled_from("ab,()\\"), max_size=6)


@st.composite
def partitions(draw, least=1):
    """Distinct texts and a cluster for each of them, -1 for none."""
    items = sorted(draw(st.lists(texts, min_size=least, max_size=8, unique=True)))
    clusters = draw(st.lists(st.integers(-1, 3), min_size=len(items), max_size=len(items)))
    return items, clusters


def encoded(items):
    return Itemsets.from_arrow(pa.array([[item] for item in items], pa.list_(pa.string())))


def became_of(mapping):
    labels = mapping["generalized"].astype(object).where(mapping["generalized"].notna(), None)
    return dict(zip(mapping["item"], labels, strict=True))


# --- labels


@settings(max_examples=examples(90))
@given(partitions())
@example((["(a,b)", "a", "b"], [0, 1, 1]))
@example((["((a,b))", "(a,b)", "a", "b"], [0, 0, 1, 1]))
@example((["a", "a,b", "b", "b,a"], [0, 1, 1, 0]))
def test_labels_of_clusters_mean_one_thing_each(partition):
    items, clusters = partition
    itemsets = encoded(items)
    recoding = Recoding.of_clusters(np.array(clusters, np.int32), itemsets)
    became = became_of(mapping_table(itemsets, recoding))
    members = {}
    for item, cluster in zip(items, clusters, strict=True):
        if cluster < 0:
            assert became[item] is None
        else:
            members.setdefault(cluster, []).append(item)
    labels = {cluster: {became[item] for item in own} for cluster, own in members.items()}
    assert all(len(label) == 1 for label in labels.values())
    assert len(set.union(set(), *labels.values())) == len(members)
    for cluster, own in members.items():
        (label,) = labels[cluster]
        assert (label in items) == (len(own) == 1)
        assert label not in items or own == [label]


@settings(max_examples=examples(90))
@given(partitions(), partitions())
def test_equal_labels_of_two_partitions_stand_for_the_same_items(one, other):
    """So the label alone, without the mapping, says what it stands for, given the items of the data."""
    items = sorted({*one[0], *other[0]})
    itemsets = encoded(items)
    stands_for = {}
    for partition in (one, other):
        by_item = dict(zip(*partition, strict=True))
        clusters = [by_item.get(item, 4) for item in items]
        recoding = Recoding.of_clusters(np.array(clusters, np.int32), itemsets)
        for number, label in enumerate(recoding.labels.to_pylist()):
            members = tuple(items[code] for code in np.flatnonzero(recoding.targets == number))
            assert stands_for.setdefault(label, members) == members


@pytest.mark.parametrize(
    ("items", "label"),
    [
        (["b", "a"], "(a,b)"),
        (["a,b", "c"], r"(a\,b,c)"),
        (["a", "\\"], r"(\\,a)"),
        (["(x)", "y"], "((x),y)"),
        ([2, 10], "(2,10)"),
        ([dt.date(2020, 1, 2), dt.date(2019, 1, 2)], "(2019-01-02,2020-01-02)"),
        (["ä", "日本"], "(ä,日本)"),
        (["", "a"], "(,a)"),
    ],
)
def test_label_of_a_cluster(items, label):
    frame = pd.DataFrame({"items": [[item] for item in items]})
    released, mapping = frame.txanon.pcta(k=2, m=1)
    assert rows_of(released) == [{label}] * 2
    assert mapping["generalized"].tolist() == [label] * 2


def test_label_of_a_cluster_gives_way_to_an_item_of_that_name():
    # a and b, in one row each, are merged; an item is called (a,b), and another as its stand-in would be.
    rows = [{"a"}, {"b"}, {"(a,b)"}, {"(a,b)"}, {"((a,b))"}, {"((a,b))"}]
    released, mapping = frame_of(rows).txanon.pcta(k=2, m=1)
    assert became_of(mapping) == {
        "a": "(((a,b)))",
        "b": "(((a,b)))",
        "(a,b)": "(a,b)",
        "((a,b))": "((a,b))",
    }
    assert rows_of(released)[:3] == [{"(((a,b)))"}, {"(((a,b)))"}, {"(a,b)"}]


def test_node_named_like_a_leaf_is_published_under_another_name():
    tree = Hierarchy.from_dict({"food": {"tea": ["tea", "mate"], "rest": ["rice"]}})
    itemsets = encoded(["mate", "rice", "tea"])
    node = tree.names.index("tea")
    assert not tree.is_leaf[node]
    leaf = tree.names.index("rice")
    recoding = Recoding.of_cut(np.array([node, leaf, node], np.int32), tree)
    assert became_of(mapping_table(itemsets, recoding)) == {
        "mate": "tea (category)",
        "tea": "tea (category)",
        "rice": "rice",
    }
    assert sorted(zip(recoding.labels.to_pylist(), recoding.covered, strict=True)) == [
        ("rice", 1),
        ("tea (category)", 2),
    ]


# --- applied to rows


@settings(max_examples=examples(60))
@given(row_lists(least=1), st.lists(st.integers(-1, 2), min_size=6, max_size=6))
def test_recoded_rows_and_mapping_table(rows, clusters):
    items = sorted(frozenset().union(*rows))
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    recoding = Recoding.of_clusters(np.array(clusters[: len(items)], np.int32), itemsets)
    mapping = mapping_table(itemsets, recoding)
    assert mapping["item"].tolist() == items
    assert mapping["support"].tolist() == [naive.support(rows, {item}) for item in items]
    became = became_of(mapping)
    released = recoding.apply(itemsets).to_arrow().to_pylist()
    assert released == [sorted({became[item] for item in row} - {None}) for row in rows]


# --- a mapping used again


@settings(max_examples=examples(40))
@given(row_lists(least=4), row_lists(), st.sampled_from([1, 2, None]))
def test_mapping_applied_to_its_own_and_to_new_rows(rows, new, m):
    assume(sum(map(bool, rows)) >= 2)
    frame, mapping = frame_of(rows).txanon.pcta(k=2, m=m)
    pd.testing.assert_frame_equal(apply_mapping(frame_of(rows), mapping), frame)
    became = became_of(mapping)
    expected = [frozenset(became[item] for item in row if item in became) for row in new]
    assert rows_of(apply_mapping(frame_of(new), mapping, unseen="suppress")) == expected
    if any(item not in became for row in new for item in row):
        with pytest.raises(ParameterError, match="mapping lacks"):
            apply_mapping(frame_of(new), mapping)
    else:
        assert rows_of(apply_mapping(frame_of(new), mapping)) == expected


def test_union_with_later_rows_is_audited_anew():
    rows = [{"a", "c"}, {"b", "c"}, {"a", "d"}, {"b", "d"}, {"e"}, {"e"}]
    frame, mapping = frame_of(rows).txanon.pcta(k=2, m=2)
    guarantee = KmAnonymity(2, 2)
    fits = apply_mapping(frame_of([{"b", "c"}, {"e"}]), mapping)
    assert pd.concat([frame, fits]).txanon.audit(guarantee).holds
    breaks = apply_mapping(frame_of([{"c", "d"}, {"c", "e"}]), mapping)
    union = pd.concat([frame, breaks], ignore_index=True)
    audit = union.txanon.audit(guarantee)
    assert audit.rows_at_risk == naive.rows_at_risk(rows_of(union), 2, 2) > 0
    assert not audit.holds


@given(
    st.lists(st.none() | st.lists(st.sampled_from("abcdef"), max_size=6), max_size=8),
    st.lists(st.none() | st.sampled_from(["z", "(a,b)", "c"]), min_size=5, max_size=5),
    st.booleans(),
)
def test_rows_as_they_come_are_recoded_as_in_a_frame(rows, labels, with_dictionary):
    became = dict(zip("abcde", labels, strict=True))  # and no f: it is suppressed
    mapping = pd.DataFrame(
        {"group": 0, "item": list("abcde"), "generalized": pd.array(labels, "string[pyarrow]")}
    )
    mapping["item"] = mapping["item"].astype("string[pyarrow]")
    lists = pa.array(rows, pa.list_(pa.string()))
    if with_dictionary:  # in an order of its own, with items that do not occur and one that is there twice
        entries = [*"gfedcba", "a"]
        codes = pa.array([entries.index(item) for row in rows for item in row or ()], pa.int32())
        items = pa.DictionaryArray.from_arrays(codes, pa.array(entries))
        lists = pa.ListArray.from_arrays(lists.offsets, items, mask=lists.is_null())
    found = relabel(Itemsets.from_arrow_unsorted(lists), *global_mapping(mapping), missing_as_empty=False)
    expected = [None if row is None else sorted({became.get(item) for item in row} - {None}) for row in rows]
    for dictionary in (True, False):
        assert found.to_arrow(dictionary=dictionary).to_pylist() == expected
    assert found.vocabulary.to_pylist() == sorted({label for row in expected for label in row or ()})


def test_mapping_with_suppressed_items():
    mapping = pd.DataFrame(
        {
            "group": 0,
            "item": pd.array(["a", "b", "c"], "string[pyarrow]"),
            "generalized": pd.array(["x", None, "x"], "string[pyarrow]"),
        }
    )
    frame = frame_of([{"a", "b"}, {"b"}, {"c", "a"}, None])
    released = apply_mapping(frame, mapping)
    assert pa.array(released["items"]).to_pylist() == [["x"], [], ["x"], []]
    assert PrivacyConstraints(constraints=[["a", "b"]], k=2, mapping=mapping).audit(released).holds


@pytest.mark.parametrize(
    "items", [[1, 20, 3], [1.5, 0.25, 3.0], [dt.date(2020, 1, day) for day in (1, 2, 3)]]
)
def test_mapping_keeps_the_type_of_the_items(items):
    frame = pd.DataFrame({"items": [[item] for item in items] * 2, "other": 0})
    result = frame.txanon.pcta(k=3, m=1)
    assert result.mapping["item"].tolist() == sorted(items)
    pd.testing.assert_frame_equal(apply_mapping(frame, result.mapping), result.frame)


@pytest.mark.parametrize("items", [["a", "b", "c,(d)"], [1, 20, 3]])
def test_mapping_survives_a_text_file(items):
    frame = pd.DataFrame({"items": [items[:1], items[1:2], items[:2], items[2:], items[2:], items[2:]]})
    released, mapping = frame.txanon.pcta(k=3, m=1)
    again = pd.read_csv(io.StringIO(mapping.to_csv(index=False)))
    pd.testing.assert_frame_equal(apply_mapping(frame, again), released)


VALUES = {
    "text": ["1", "2", "3"],
    "integers": [1, 2, 3],
    "fractions": [0.25, 0.5, 1.5],
    "decimals": [Decimal("0.25"), Decimal("0.50"), Decimal("1.50")],
    "dates": [dt.date(2020, 1, day) for day in (1, 2, 3)],
    "times": [dt.datetime(2020, 1, day, 12) for day in (1, 2, 3)],
}
SUPPRESSING = {
    "suppress_control": lambda frame, last: frame.txanon.suppress_control(rho=0.5, sensitive=[last], m=1),
    "suppress_public": lambda frame, last: frame.txanon.suppress_public(h=0.8, k=2, p=1, private=[last]),
    "coherence": lambda frame, last: frame.txanon.coherence(h=0.8, k=2, p=1, private=[last]),
    "cahd": lambda frame, last: frame.txanon.cahd(p=2, sensitive=[last]),
}


@pytest.mark.parametrize("algorithm", SUPPRESSING)
@pytest.mark.parametrize("kind", VALUES)
def test_a_mapping_joins_the_items_that_are_released_in_their_type(kind, algorithm):
    first, second, last = VALUES[kind]
    rows = [[first, second], [first, second], [first, last], [second], [first, second, last], [first]]
    frame = pd.DataFrame({"items": [*rows, [second]]})
    result = SUPPRESSING[algorithm](frame, last)
    mapping = result.mapping
    items = pa.array(result.frame["items"]).flatten().unique()
    released = pd.Series(items, dtype=pd.ArrowDtype(items.type), name="generalized")
    joined = mapping.merge(released.to_frame(), on="generalized")
    assert len(released) > 0
    assert joined["item"].tolist() == joined["generalized"].tolist() == sorted(released)
    pd.testing.assert_frame_equal(apply_mapping(frame, mapping), result.frame[["items"]])


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_mapping_of_numbers_is_read_back_as_numbers(suffix, tmp_path):
    frame = pd.DataFrame({"items": [[1, 2], [1, 2], [1, 3], [2], [1, 2, 3], [1], [2]]})
    result = frame.txanon.cahd(p=2, sensitive=[3])
    path = tmp_path / f"mapping{suffix}"
    write_plain(result.mapping, path)
    again = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path)
    assert again["generalized"].tolist()[:2] == [1, 2]
    assert again["generalized"].isna().tolist() == [False, False, True]
    pd.testing.assert_frame_equal(apply_mapping(frame, again), result.frame[["items"]])


def test_long_labels_are_stored_once_and_mean_the_same(monkeypatch, tmp_path):
    items = [f"item {number:03d}" for number in range(300)]
    frame = frame_of([{*items}, {items[0]}, {items[1]}, {items[0]}, {items[1]}])
    plain = frame.txanon.pcta(k=3, m=2)
    assert plain.mapping["generalized"].dtype == pd.ArrowDtype(pa.string())
    monkeypatch.setattr("pdanon.recoding.recoding._MOST_TEXT", 10_000)
    result = frame.txanon.pcta(k=3, m=2)
    mapping = result.mapping
    assert mapping["generalized"].dtype == "category"
    assert mapping["generalized"].tolist() == plain.mapping["generalized"].tolist()
    assert result.legend.astype(object).equals(plain.legend.astype(object))
    assert repr(result) == repr(plain)
    assert len(repr(mapping)) < 1000
    pd.testing.assert_frame_equal(result.frame, plain.frame)
    pd.testing.assert_frame_equal(apply_mapping(frame, mapping), result.frame)
    assert result.guarantee.with_mapping(mapping).audit(result.frame).holds
    pd.testing.assert_frame_equal(pdanon.refine(frame, result).frame, pdanon.refine(frame, plain).frame)
    for made, path in ((plain, tmp_path / "plain.csv"), (result, tmp_path / "coded.csv")):
        write_plain(made.mapping, path)
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "coded.csv").read_bytes()
    write_plain(mapping, tmp_path / "coded.parquet")
    again = pd.read_parquet(tmp_path / "coded.parquet")
    assert again["generalized"].tolist() == mapping["generalized"].tolist()
    pd.testing.assert_frame_equal(apply_mapping(frame, again), result.frame)


@pytest.mark.slow
def test_a_row_of_very_many_items_takes_no_quadratic_text():
    items = [f"item {number:05d}" for number in range(10_000)]  # of which one set has 110,000 characters
    result = frame_of([{*items}, {items[0]}, {items[1]}, {items[0]}, {items[1]}]).txanon.pcta(k=3, m=2)
    assert result.mapping["generalized"].nunique() == 1
    assert result.mapping.memory_usage(deep=True).sum() < 10_000_000


def test_apply_mapping_keeps_everything_else():
    rows = [{"a"}, {"b"}, {"a", "b"}]
    _, mapping = frame_of(rows).txanon.pcta(k=3, m=1)
    frame = frame_of(rows).assign(x=[1.5, 2.5, 3.5])[["x", "items"]].set_axis([7, 7, 8])
    frame.attrs["source"] = "ward 3"
    before = frame.copy()
    released = frame.txanon.apply_mapping(mapping)
    pd.testing.assert_frame_equal(released[["x"]], frame[["x"]])
    assert [*released.columns] == ["x", "items"]
    assert released.attrs == {"source": "ward 3"}
    pd.testing.assert_frame_equal(frame, before)


def test_unseen_items_are_counted_not_shown():
    _, mapping = frame_of([{"a"}, {"a"}]).txanon.pcta(k=2)
    with pytest.raises(ParameterError) as caught:
        apply_mapping(frame_of([{"a", SECRET}, {SECRET, "b"}, {"a"}]), mapping)
    assert "2 items in 2 rows" in str(caught.value)
    assert "suppress" in str(caught.value)
    assert SECRET not in str(caught.value)
    with pytest.raises(ParameterError, match="must be a pandas DataFrame"):
        apply_mapping(frame_of([{"a"}]), {"a": SECRET})
    with pytest.raises(ParameterError, match="no such treatment of unseen items"):
        apply_mapping(frame_of([{"a"}]), mapping, unseen="keep")
    with pytest.raises(ParameterError, match="lacks columns"):
        pdanon.apply_mapping(frame_of([{"a"}]), mapping.drop(columns="group"))


# --- recodings that differ from group to group


@settings(max_examples=examples(90))
@given(row_lists(items="abcd", least=1), st.data())
def test_sets_of_groups(rows, data):
    """Each group has clusters of its own; the same set is the same label in all of them."""
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    items = itemsets.texts()
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    cluster_of = {
        (group, item): data.draw(st.integers(-1, 1)) for group in sorted(set(groups)) for item in items
    }
    of_row = [groups[row] for row in itemsets.rows]
    keys = [(group, items[code]) for group, code in zip(of_row, itemsets.codes, strict=True)]
    clusters = [-1 if cluster_of[key] < 0 else 2 * key[0] + cluster_of[key] for key in keys]
    recoding = Recoding.of_clusters(np.array(clusters, np.int32), itemsets, np.array(groups, np.int32))
    members = {}
    for key, cluster in zip(keys, clusters, strict=True):
        members.setdefault(cluster, set()).add(key[1])

    def label(cluster):
        own = sorted(members[cluster])
        return None if cluster < 0 else own[0] if len(own) == 1 else "(" + ",".join(own) + ")"

    expected = sorted({(*key, label(cluster) or "") for key, cluster in zip(keys, clusters, strict=True)})
    mapping = mapping_table(itemsets, recoding)
    table = zip(mapping["group"], mapping["item"], mapping["generalized"].fillna(""), strict=True)
    assert [*table] == expected
    held = {(g, i): sum(i in row for row, own in zip(rows, groups, strict=True) if own == g) for g, i in keys}
    assert mapping["support"].tolist() == [held[group, item] for group, item, _ in expected]
    assert dict(zip(recoding.labels.to_pylist(), recoding.covered, strict=True)) == {
        label(cluster): len(own) for cluster, own in members.items() if cluster >= 0
    }


# --- what passes through


@pytest.mark.parametrize(
    "values",
    [
        range(40),
        [f"{number} Main Street" for number in range(40)],
        [*range(37), 0, 0, 0],
        pd.date_range("2020-01-01", periods=40),
        [[number, "x"] for number in map(str, range(40))],
    ],
)
def test_columns_that_may_identify_are_warned_about(values):
    frame = frame_of([{"a"}] * 40).assign(number=values, constant=1)
    with pytest.warns(pdanon.IdentifierWarning, match="are unique in number, which is published") as caught:
        result = frame.txanon.pcta("items", k=2)
    assert len(caught) == 1
    assert Path(caught[0].filename).name == Path(__file__).name
    assert result.passed_through == ("number", "constant")


def test_an_index_with_a_name_may_identify():
    frame = frame_of([{"a"}] * 40)
    assert frame.txanon.pcta(k=2).passed_through == ()
    frame.index = pd.Index(range(100, 140), name="patient")
    with pytest.warns(pdanon.IdentifierWarning, match="unique in patient"):
        frame.txanon.pcta(k=2)


@pytest.mark.parametrize("names", [["patient", None], ["ward", "patient"], ["patient", "patient"]])
def test_a_level_of_an_index_may_identify(names):
    frame = frame_of([{"a"}] * 40)
    wards = [1] * 40 if names[0] == "ward" else range(40)
    frame.index = pd.MultiIndex.from_arrays([wards, range(40)], names=names)
    with pytest.warns(pdanon.IdentifierWarning, match="unique in patient"):
        frame.txanon.pcta(k=2)


@pytest.mark.parametrize("values", [[*range(20)] * 2, [1.5] * 40, [None] * 40, [(), ("a",)] * 20])
def test_other_columns_pass_in_silence(values):
    frame = frame_of([{"a"}] * 40).assign(other=values)
    assert frame.txanon.pcta("items", k=2).passed_through == ("other",)
    assert frame_of([{"a"}] * 19).assign(number=range(19)).txanon.pcta(k=2).passed_through == ("number",)
