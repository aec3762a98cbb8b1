"""Steps before a release: what they make of a table, and what a release says of what they dropped."""

from collections import Counter
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of
from hypothesis import given

import pdanon
from pdanon.errors import PdanonError

ROWS = st.lists(st.none() | st.sets(st.sampled_from("abcdef")), min_size=1, max_size=12)


@given(
    ROWS,
    st.integers(1, 4),
    st.none() | st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0, 0.5, 1])),
)
def test_a_limit_keeps_the_first_items_by_weight_then_by_rows(rows, most, weights):
    support = Counter(item for row in rows for item in row or ())
    weights = None if weights is None else {each: weights[each] for each in weights if each in support}
    key = lambda item: (-(weights or {}).get(item, 1), -support[item], item)  # noqa: E731
    frame = pd.DataFrame({"items": pdanon.as_itemsets(rows)})
    steps = {"max_items": most} | ({} if weights is None else {"weights": weights})
    prepared = frame.txanon.prepare({"items": steps}).frame["items"]
    expected = [None if row is None else sorted(sorted(row, key=key)[:most]) for row in rows]
    if any(len(row or ()) > most for row in rows):  # missing rows are hidden among the others
        expected = [row or [] for row in expected]
    assert [None if row is pd.NA else [*row] for row in prepared] == expected
    assert frame["items"].equals(pdanon.as_itemsets(rows).rename("items"))


@given(ROWS, st.integers(1, 3), st.sampled_from(["pcta", "local_suppression", "suppress_to_k"]))
def test_losses_count_dropped_occurrences_as_suppressed(rows, most, name):
    frame = frame_of([row or set() for row in rows])
    prepared = frame.txanon.prepare({"items": {"max_items": most}})
    asked = {"k": 2, "m": 1, "p": 1, "public": list("abcdef"), "h": 0.5}
    asked = {key: asked[key] for key in ("k", "m")} if name != "suppress_to_k" else {"k": 2}
    try:
        result = getattr(prepared, name)(**asked)
    except PdanonError:
        return
    total = sum(len(row or ()) for row in rows)
    dropped = sum(max(len(row or ()) - most, 0) for row in rows)
    if not dropped:
        assert "dropped" not in result.loss
        return
    alone = getattr(prepared.frame.txanon, name)(**asked)
    assert result.frame.equals(alone.frame)
    assert result.loss["dropped"] == dropped / total
    for measure in ("occurrences", "suppressed"):
        before = Fraction(alone.loss[measure]).limit_denominator(total) * (total - dropped)
        assert result.loss[measure] == float((before + dropped) / total)
    became = result.mapping.dropna(subset=["generalized"]).groupby("generalized")["item"]
    sizes = {label: {*items} for label, items in became}
    actual = Counter(item for row in rows for item in row or ())
    held = Counter(label for row in result.frame["items"] for label in row)
    guess = Counter()
    for label, number in held.items():
        for item in sizes[label]:
            guess[item] += Fraction(number, len(sizes[label]))
    error = sum(abs(actual[item] - guess[item]) for item in actual) / sum(actual.values())
    assert result.loss["singles"] == pytest.approx(float(error))


def test_a_bound_is_one_for_rows_so_limited():
    rows = [["a", "b", "c"], ["a", "b"], ["a", "c"], ["a", "d"], ["a", "b", "d"]] * 3 + [["a", "b", "c", "e"]]
    frame = frame_of(rows)
    prepared = frame.txanon.prepare({"items": {"max_items": 2}})
    result = prepared.anonymize(k=3, m=2)
    alone = prepared.frame.txanon.anonymize(k=3, m=2)
    assert result.bound.total == sum(map(len, rows))
    assert result.bound.changed == alone.bound.changed + 8
    assert "of rows so limited" in result.bound.sentence
    assert result.bound.least <= result.loss["occurrences"] == result.bound.reached
    assert "who know a dropped item" in repr(result)
    alone = prepared.frame.txanon.local_suppression(k=3, m=2).bound
    deleted = prepared.local_suppression(k=3, m=2).bound
    assert [deleted.changed - alone.changed, deleted.by_sets - alone.by_sets] == [8, 8]
    assert deleted.kind == "deletions of rows so limited"


def test_columns_become_bands_periods_and_beginnings():
    frame = pd.DataFrame(
        {
            "age": [0, 9, 10, 34, -1],
            "weight": [1.0, 2.5, np.nan, 7.25, 2.5],
            "zip": ["02139", "02", "", None, "é1234"],
            "day": pd.to_datetime(["2024-12-31", "2025-01-01", None, "2024-02-29", "2024-12-31"]),
            "codes": [["E11.9", "E11.0"], ["I10"], [], ["E11.9"], ["é12"]],
        }
    )
    steps = {"age": {"band": 10}, "weight": {"band": 2.5}, "zip": {"length": 2}, "day": {"period": "year"}}
    found = frame.txanon.prepare(steps | {"codes": {"length": 2}}).frame
    assert found["age"].tolist() == ["0-9", "0-9", "10-19", "30-39", "-10--1"]
    assert found["age"].cat.categories.tolist() == ["-10--1", "0-9", "10-19", "30-39"]
    assert found["age"].cat.ordered
    assert found["weight"].tolist() == ["[0, 2.5)", "[2.5, 5)", np.nan, "[5, 7.5)", "[2.5, 5)"]
    assert found["zip"].tolist()[:3] + found["zip"].tolist()[4:] == ["02", "02", "", "é1"]
    assert found["zip"].isna().tolist() == [False, False, False, True, False]
    assert found["day"].fillna("none").tolist() == ["2024", "2025", "none", "2024", "2024"]
    assert [[*row] for row in found["codes"]] == [["E1"], ["I1"], [], ["E1"], ["é1"]]


def test_evidence_and_report_have_the_steps(tmp_path):
    frame = frame_of([["E11.9", "I10"], ["E11.0", "I10", "J45"], ["E11.9"], ["I10"]] * 6)
    result = frame.txanon.prepare({"items": {"length": 3, "max_items": 2}}).pcta(k=5, m=2)
    result.evidence(tmp_path / "evidence.json")
    text = (tmp_path / "evidence.json").read_text()
    assert '"prepared": "items: length 3, max_items 2"' in text
    assert "attackers who know a dropped item" in text
    assert pdanon.verify(tmp_path / "evidence.json", result.frame).matches
    result.report(tmp_path / "page.html")
    assert "attackers who know a dropped item" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_tradeoff_has_a_line_for_each_preparation():
    frame = frame_of([["a", "b", "c"], ["a", "b"], ["a", "c"]] * 4)
    steps = {"items": {"max_items": 2}}
    table = frame.txanon.tradeoff(k=[2], m=[1, 2], algorithm="pcta", prepare=[{}, steps])
    assert table["prepared"].tolist() == ["", "", "items: max_items 2", "items: max_items 2"]
    assert table["dropped"].fillna(0).tolist() == [0, 0, 4 / 28, 4 / 28]
    only = frame.txanon.prepare(steps).pcta(k=2, m=2)
    assert table["occurrences"].iloc[-1] == only.loss["occurrences"]


@pytest.mark.parametrize(
    ("steps", "match"),
    [
        ([], "steps must be a mapping"),
        ({"items": 3}, "steps must be a mapping"),
        ({"items": {"maxitems": 3}}, "max_items"),
        ({"items": {"max_items": 0}}, "at least 1"),
        ({"items": {"max_items": True}}, "integer"),
        ({"items": {"length": 2.5}}, "integer"),
        ({"items": {"band": 3}}, "holds lists"),
        ({"items": {"weights": {"a": 1}}}, "weights need max_items"),
        ({"items": {"max_items": 1, "weights": {"a": 3}}}, "weight"),
        ({"age": {"max_items": 3}}, "holds no lists"),
        ({"age": {"band": 0}}, "positive"),
        ({"age": {"band": float("nan")}}, "positive"),
        ({"age": {"band": 5, "length": 1}}, "exclude each other"),
        ({"age": {"period": "month"}}, r"holds no dates(.|\n)*to_datetime"),
        ({"age": {"period": "decade"}}, "no such period"),
        ({"name": {"band": 5}}, r"holds no numbers(.|\n)*to_numeric"),
        ({"share": {"length": 1}}, "holds fractions"),
        ({"ages": {"band": 5}}, "age"),
    ],
)
def test_steps_that_are_refused(steps, match):
    frame = pd.DataFrame(
        {"age": [3, 4], "name": [SECRET, "b"], "share": [0.5, 1.5], "items": [[SECRET], ["a"]]}
    )
    with pytest.raises(PdanonError, match=match) as caught:
        frame.txanon.prepare(steps)
    assert SECRET not in str(caught.value)


def test_a_limit_needs_rows_of_one_list():
    frame = frame_of([["a", "b"], ["a"], ["c"]] * 6)
    prepared = frame.txanon.prepare({"items": {"max_items": 1}})
    with pytest.raises(PdanonError, match="one list column, in rows"):
        prepared.disassociate(k=3, m=2)
    with pytest.raises(PdanonError, match="one list column"):
        prepared.anonymize(pdanon.SensitiveGroups(p=2, sensitive=["c"]))
