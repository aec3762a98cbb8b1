"""Releases of other tools, which write a sign for what they suppress: it is no item that anyone has."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, strategies as st

import pdanon
from pdanon import ItemsetDtypeError, KAnonymity, KKm, KmAnonymity, ParameterError
from pdanon.__main__ import main

ROWS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "*"]), max_size=4), min_size=1, max_size=10)


@given(ROWS, st.integers(2, 3), st.integers(1, 2))
def test_a_sign_is_as_if_nobody_had_it(rows, k, m):
    signed, without = frame_of(rows), frame_of([[item for item in row if item != "*"] for row in rows])
    guarantee = KmAnonymity(k=k, m=m)
    found, expected = pdanon.audit(signed, guarantee, suppressed="*"), pdanon.audit(without, guarantee)
    assert found.rows_at_risk == expected.rows_at_risk
    assert found.threats.to_string() == expected.threats.to_string()
    assert pdanon.audit(signed, guarantee, suppressed=["*", "not there"]).holds == expected.holds


def test_a_sign_that_few_rows_have_is_known_unless_it_is_passed():
    frame = frame_of([["a", "b"], ["a", "b"], ["a", "*"]])
    before = frame.copy(deep=True)
    assert frame.txanon.audit(k=2, m=2).rows_at_risk == 1
    assert frame.txanon.audit(k=2, m=2, suppressed="*").holds
    pd.testing.assert_frame_equal(frame, before)


def test_repeated_labels_stay_repeated():
    """An attacker sees that one row has two of a label."""
    frame = pd.DataFrame({"items": [["a", "a", "*"], ["a", "*"], ["a"], ["a"]]})
    assert frame.txanon.audit(k=2, m=2, suppressed="*").rows_at_risk == 1


def test_quasi_identifiers_stay_as_they_are():
    frame = frame_of([["a", "*"], ["a"], ["a"], ["a", "*"]]).assign(age=["*", "*", "2", "2"])
    assert frame.txanon.audit(KKm(k=2, m=1, quasi=["age"]), suppressed="*").holds
    assert not frame.txanon.audit(KKm(k=2, m=1, quasi=["age"])).holds
    assert frame.txanon.audit(KAnonymity(k=2, quasi=["age"]), suppressed="*").holds


def test_a_sign_that_is_an_item_after_all_hides_it():
    """pdanon cannot tell them apart, as the documentation says: the caller vouches for the sign."""
    frame = frame_of([["a", "*"], ["a"], ["a"]])
    assert frame.txanon.audit(k=2, m=1, suppressed="*").holds
    assert "Nobody has this item" in pdanon.audit.__doc__


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"*": 1}, ParameterError), ([None], ItemsetDtypeError), ([["*"]], ItemsetDtypeError)],
)
def test_wrong_signs_are_refused(wrong, error):
    with pytest.raises(error):
        frame_of([["a"]]).txanon.audit(k=2, m=1, suppressed=wrong)


def test_missing_items_of_other_tools_are_left_out_before():
    frame = pd.DataFrame({"items": [["a", None], ["a"]]})
    with pytest.raises(ItemsetDtypeError, match="missing"):
        frame.txanon.audit(k=2, m=1, suppressed="*")
    frame["items"] = pdanon.as_itemsets(frame["items"], missing="drop")
    assert frame.txanon.audit(k=2, m=1).holds


def test_the_command_counts_a_sign_as_absent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.csv").write_text(f"items\na;{SECRET}\na;{SECRET}\na;*\n")
    read = ("--column", "items", "--separator", ";", "-k", "2", "-m", "2")
    assert main(["audit", "out.csv", *read]) == 1
    assert main(["audit", "out.csv", *read, "--suppressed", "*"]) == 0
    assert (
        main(["audit", "out.csv", *read, "--suppressed", "*", "--previous", "out.csv", "--key", "items"]) == 2
    )
    assert "--suppressed is of one release" in capsys.readouterr().err


def test_many_quasi_identifiers_are_shortened():
    names = [f"q{n}" for n in range(70)]
    for guarantee in (KKm(k=5, m=2, quasi=names), KAnonymity(k=5, quasi=names)):
        assert "'q7', and 62 more)" in repr(guarantee)
        assert "q8" not in repr(guarantee)
    assert "quasi=('a', 'b')" in repr(KAnonymity(k=2, quasi=["a", "b"]))
