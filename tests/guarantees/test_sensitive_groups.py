"""Sensitive groups: the audit of two tables, against a recount, and what it refuses."""

from __future__ import annotations

import pickle

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of
from hypothesis import assume, given, strategies as st

import pdanon
from pdanon import ColumnError, ItemsetDtypeError, ParameterError, SensitiveGroups

FRAME = frame_of([["a"], ["a", "b"], ["b"], ["c"], []]).assign(group=[7, 7, 7, 2, 2])
TABLE = pd.DataFrame(
    {"group": [2, 7, 7], "size": [2, 3, 3], "item": ["flu", "flu", "gout"], "count": [1, 1, 1]}
)


def altered(**columns):
    return TABLE.assign(**columns)


def audited(frame=FRAME, table=TABLE, p=2, sensitive=("flu", "gout")):
    return frame.txanon.audit(SensitiveGroups(p=p, sensitive=sensitive, classes=table))


@given(
    groups=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    counts=st.dictionaries(st.tuples(st.integers(0, 3), st.sampled_from("st")), st.integers(0, 12)),
    p=st.integers(2, 5),
)
def test_audit_is_a_recount(groups, counts, p):
    lines = [(group, item, number) for (group, item), number in sorted(counts.items()) if group in groups]
    secrets = {item for _, item, number in lines if number}
    assume(secrets)
    lines += [(group, None, 0) for group in {*groups} - {group for group, *_ in lines}]
    table = pd.DataFrame(
        {
            "group": [group for group, *_ in lines],
            "size": [groups.count(group) for group, *_ in lines],
            "item": [item for _, item, _ in lines],
            "count": [number for *_, number in lines],
        }
    )
    frame = frame_of([["x"]] * len(groups)).assign(group=groups)
    audit = audited(frame, table, p, secrets)
    broken = {(group, item) for group, item, number in lines if number * p > groups.count(group)}
    assert audit.rows_at_risk == sum(any(group == each for each, _ in broken) for group in groups)
    found = audit.threats
    assert {*zip(found["group"], [item for (item,) in found["itemset"]], strict=True)} == broken
    assert audit.holds == (not broken)


def test_one_more_is_too_many():
    assert audited().holds
    audit = audited(p=3)
    assert (audit.rows_at_risk, audit.threats["group"].tolist()) == (2, [2])
    assert audited(table=altered(count=[1, 2, 1])).rows_at_risk == 3


def test_a_share_that_no_group_is_large_enough_for():
    assert audited(p=10**30).rows_at_risk == len(FRAME)


def test_a_row_that_shows_a_sensitive_item_is_at_risk():
    frame = frame_of([["a"], ["a", "flu"], ["b"], ["c"], []]).assign(group=FRAME["group"])
    audit = audited(frame)
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert audit.threats.drop(columns=["group", "size"]).to_dict("records") == [
        {"itemset": ["flu"], "support": 1, "why": "shown"}
    ]
    assert audit.threats[["group", "size"]].isna().all(axis=None)


def test_without_a_table_all_rows_with_a_sensitive_item_are_at_risk():
    frame = frame_of([["a", "flu"], ["flu"], ["b"], ["b"]])
    audit = frame.txanon.audit(SensitiveGroups(p=2, sensitive=["flu"]))
    assert (audit.rows_at_risk, audit.threats["support"].tolist()) == (2, [2])
    with pytest.raises(ParameterError, match=r"does not occur(.|\n)*guarantee.with_classes"):
        frame_of([["a"], ["b"]]).txanon.audit(SensitiveGroups(p=2, sensitive=["flu"]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (altered(size=[2, 3, 4]), "several sizes"),
        (altered(size=[3, 3, 3]), "another size"),
        (altered(size=[2, 2, 2]), "another size"),
        (altered(group=[2, 7, 8]), "another size|other rows"),
        (altered(group=[3, 7, 7]), "other groups"),
        (altered(item=["flu", "flu", "flu"]), "several lines"),
        (altered(count=[1, -1, 1]), "negative"),
        (altered(item=["flu", None, "gout"]), "without an item has a count"),
        (altered(count=[1.0, 1.0, 1.0]), "must be integers"),
        (altered(group=pd.array([2, None, 7], "Int64")), "must be integers"),
        (TABLE.drop(columns="size"), "lacks a column"),
        (TABLE.iloc[[0, 1]], "in no group"),
        (altered(count=[1, 1, 0]), "in no group"),
        ("counts.csv", "must be a pandas DataFrame"),
    ],
)
def test_a_table_of_something_else_proves_nothing(table, message):
    with pytest.raises(ParameterError, match=message) as caught:
        audited(table=table)
    assert "flu" not in str(caught.value)


def test_a_release_without_its_table_is_told_what_it_lacks():
    result = frame_of([{"a", "s"}, {"a"}]).txanon.cahd(p=2, sensitive=["s"])
    with pytest.raises(ParameterError, match=r"does not occur(.|\n)*result.classes(.|\n)*--classes"):
        result.frame.txanon.audit(SensitiveGroups(p=2, sensitive=["s"]))
    assert result.frame.txanon.audit(SensitiveGroups(p=2, sensitive=["s"], classes=result.classes)).holds


def test_a_group_that_the_table_has_and_the_frame_lacks_is_refused():
    table = pd.concat([TABLE, pd.DataFrame({"group": [9], "size": [4], "item": ["flu"], "count": [1]})])
    with pytest.raises(ParameterError, match="another size"):
        audited(table=table)


def test_groups_are_whole_numbers_in_a_column_of_the_frame():
    with pytest.raises(ColumnError, match="does not exist"):
        audited(FRAME.drop(columns="group"))
    with pytest.raises(ColumnError, match="must be integers"):
        audited(FRAME.assign(group=list("aabbb")))


def test_a_sensitive_item_within_a_published_set_is_refused():
    frame = frame_of([["(a,flu)"], ["b"], ["b"], ["c"], []]).assign(group=FRAME["group"])
    with pytest.raises(ParameterError, match="member of a published set"):
        audited(frame)


@pytest.mark.parametrize("p", [1, 0, 2.0, True, "2", None])
def test_p_is_an_integer_of_at_least_two(p):
    with pytest.raises(ParameterError, match="p must be"):
        SensitiveGroups(p=p, sensitive=["flu"])


def test_sensitive_items_are_of_one_type():
    with pytest.raises(ItemsetDtypeError):
        SensitiveGroups(p=2, sensitive=["flu", 1])


def test_items_are_compared_by_text():
    frame = pd.DataFrame({"items": [[1], [2], [1, 2]], "group": [0, 0, 0]})
    table = pd.DataFrame({"group": [0], "size": [3], "item": [9], "count": [1]})
    assert frame.txanon.audit(SensitiveGroups(p=3, sensitive=[9], classes=table)).holds
    assert frame.txanon.audit(SensitiveGroups(p=3, sensitive=["9"], classes=table.assign(item=["9"]))).holds


def test_a_table_that_was_written_is_read_again(tmp_path):
    rows = [["x", f"{SECRET}"], ["x"], ["y"], ["y"], ["z"]]
    result = frame_of(rows).txanon.cahd(p=2, sensitive=[SECRET])
    pdanon.to_parquet(result.frame, tmp_path / "released.parquet")
    result.classes.to_parquet(tmp_path / "classes.parquet")
    frame, classes = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("released", "classes"))
    assert frame.txanon.audit(SensitiveGroups(p=2, sensitive=[SECRET], classes=classes)).holds
    assert not frame.txanon.audit(SensitiveGroups(p=3, sensitive=[SECRET], classes=classes)).holds


def test_it_shows_no_item_and_can_be_pickled():
    table = altered(item=[SECRET, SECRET, "gout"])
    guarantee = SensitiveGroups(p=2, sensitive=[SECRET, "gout"], classes=table)
    assert repr(guarantee) == "SensitiveGroups(p=2, sensitive=2 items)"
    assert FRAME.txanon.audit(pickle.loads(pickle.dumps(guarantee))).holds
    audit = pickle.loads(pickle.dumps(FRAME.txanon.audit(guarantee)))
    assert audit.threats["itemset"].dtype == pd.ArrowDtype(pa.list_(pa.string()))
    assert len(audit.threats) == 0
