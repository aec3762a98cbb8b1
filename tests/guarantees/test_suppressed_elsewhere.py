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


def test_a_sign_that_the_mapping_publishes_is_an_item():
    frame = frame_of([["a", "*"], ["a"], ["a"]])
    mapping = pd.DataFrame(
        {"group": 0, "item": ["a", "*", "b"], "generalized": ["a", "*", None], "support": 1}
    )
    with pytest.raises(ParameterError, match="publishes a sign of suppression"):
        frame.txanon.audit(k=2, m=1, suppressed="*", mapping=mapping)
    assert not frame.txanon.audit(k=2, m=1, suppressed="b", mapping=mapping).holds


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


# --- files in the forms that other tools write


def audit_file(tmp_path, text, *options):
    path = tmp_path / "released.csv"
    path.write_text(text)
    return main(["audit", str(path), *options])


ARX = "age;gender;zip\n<50;*;816**\n<50;*;816**\n>=50;*;819**\n>=50;*;819**\n<50;*;819**\n<50;*;819**\n"
QUASI = ("--quasi", "age", "gender", "zip")


@pytest.mark.parametrize(
    ("extra", "k", "code"),
    [
        ("", "2", 0),
        ("", "3", 1),
        ("*;*;*\n*;*;*\n", "2", 0),
        # ARX calls this 2-anonymous. Whoever misses a person in all other classes knows that it is this row.
        ("*;*;*\n", "2", 1),
    ],
)
def test_columns_that_arx_generalized_are_audited_without_a_column_of_items(tmp_path, capsys, extra, k, code):
    assert audit_file(tmp_path, ARX + extra, "-k", k, *QUASI) == code
    captured = capsys.readouterr()
    assert f"KAnonymity(k={k}, quasi=('age', 'gender', 'zip'))" in captured.out
    assert "of the quasi-identifiers alone" in captured.err


@pytest.mark.parametrize("more", [("-m", "2"), ("--sensitive", "a", "-l", "2"), ("--column", "zip")])
def test_a_file_with_items_needs_its_form(tmp_path, capsys, more):
    assert audit_file(tmp_path, ARX, "-k", "2", *QUASI, *more) == 2
    assert "a CSV file needs" in capsys.readouterr().err


AMNESIA = "codes\nE11|drinks\ndrinks|E11\n*|E11\nE11\n"  # a node, the root, and no item twice in a row


def test_sets_of_amnesia_have_nodes_and_its_root(tmp_path):
    form = ("--column", "codes", "--separator", "|", "-k", "2", "-m", "2")
    assert audit_file(tmp_path, AMNESIA, *form) == 1
    assert audit_file(tmp_path, AMNESIA, *form, "--suppressed", "*") == 0
    beside = "age,codes\n30-39,E11|drinks\n30-39,drinks|E11\n,E11\n,*|E11\n"
    assert audit_file(tmp_path, beside, *form, "--quasi", "age", "--suppressed", "*") == 0
    assert audit_file(tmp_path, beside, *form, "--quasi", "age") == 1


def test_a_missing_value_of_sdcmicro_matches_missing_ones_only(tmp_path):
    """sdcMicro counts three rows that match the first; here, the rows of 30 show that they are not it."""
    rows = '"sex","age"\n"f",NA\n"f",30\n"f",30\n'
    assert audit_file(tmp_path, rows, "-k", "2", "--quasi", "sex", "age") == 1
    assert audit_file(tmp_path, rows + '"f",NA\n', "-k", "2", "--quasi", "sex", "age") == 0


def test_many_quasi_identifiers_are_shortened():
    names = [f"q{n}" for n in range(70)]
    for guarantee in (KKm(k=5, m=2, quasi=names), KAnonymity(k=5, quasi=names)):
        assert "'q7', and 62 more)" in repr(guarantee)
        assert "q8" not in repr(guarantee)
    assert "quasi=('a', 'b')" in repr(KAnonymity(k=2, quasi=["a", "b"]))
