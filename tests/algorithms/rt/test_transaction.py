"""What is done to the items, as one value: what it may say, how it is kept, and who reads it."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pandas as pd
import pytest
from conftest import SECRET, frame_of
from families import RT, TRANSACTION_ALGORITHMS

import pdanon
from pdanon import ItemsetDtypeError, ParameterError, Transaction
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.evaluation.report import parameter_texts

ROWS = [["a", "b"], ["a"], ["b", "c"], ["b", "c"], ["a", "c"], ["a"]]
TREE = {"*": {"x": ["a", "b"], "y": ["c", SECRET]}}
OWN = {"rum_bound": {"delta": 1.0}, "tum_bound": {"delta": 1.0}, "rfirst": {}, "tfirst": {"parts": 1}}


def people():
    return frame_of(ROWS).assign(age=[30, 31, 45, 46, 70, 71])


def run(name, **given):
    given = {"random_state": 0, **given} if name != "tfirst" else given
    return RT[name](people(), k=2, m=2, quasi=["age"], **OWN[name], **given)


# --- a name, and the value that it stands for


@pytest.mark.parametrize("name", RT)
def test_a_name_is_the_value_that_it_stands_for(name):
    named, valued = run(name, transaction="pcta"), run(name, transaction=Transaction("pcta"))
    pd.testing.assert_frame_equal(named.frame, valued.frame)
    pd.testing.assert_frame_equal(named.frame, run(name).frame)
    assert named.parameters["transaction"] == valued.parameters["transaction"] == Transaction()


@pytest.mark.parametrize("name", RT)
def test_what_is_recorded_makes_the_release_again(name):
    parts = {"hierarchy": TREE, "sensitive": iter([SECRET, "c"]), "l": 2}
    if name.endswith("bound"):
        parts |= {"order": "tum", "tum": "UL"}
    frame = people().assign(items=[[*row, SECRET] if row == ["a"] else row for row in ROWS])
    given = {"k": 2, "m": 1, "quasi": ["age"], **OWN[name]}
    result = RT[name](frame, **given, transaction=Transaction("apriori", **parts))
    recorded = result.parameters["transaction"]
    again = RT[name](frame, **given, transaction=recorded)
    pd.testing.assert_frame_equal(again.frame, result.frame)
    assert again.guarantee == result.guarantee
    assert [*recorded.sensitive] == ["c", SECRET]


def test_what_can_be_read_once_is_read_once():
    once = Transaction("coat", options={"utility": iter([["a", "b"], ["c"]]), "max_suppressed": 1})
    first, second = (run("rfirst", transaction=once) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert Transaction(columns=iter(["one", "two"])).columns == ("one", "two")


@pytest.mark.parametrize("name", TRANSACTION_ALGORITHMS)
def test_every_algorithm_can_be_asked_with_its_options(name):
    record = ALGORITHMS[name]
    tree = TREE if record.nodes else None
    assert Transaction(name, hierarchy=tree, options=record.options).options == record.options
    with pytest.raises(ParameterError, match=r"needs a hierarchy|takes no hierarchy"):
        Transaction(name, hierarchy=None if tree else TREE)


# --- how it is kept


def test_it_is_hashed_if_its_parts_are():
    one, other = (Transaction(columns=columns) for columns in (["one", "two"], ("one", "two")))
    assert one == other
    assert len({one, other, Transaction()}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Transaction("apriori", hierarchy=TREE))


def test_it_is_sent_and_not_changed():
    value = Transaction("apriori", hierarchy=TREE, sensitive=[SECRET], l=2, order="tum", tum="UL")
    assert pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(FrozenInstanceError):
        value.l = 3
    options = {"parts": 2}
    kept = Transaction("vpa", hierarchy=TREE, options=options)
    options["parts"] = 0
    assert kept.options == {"parts": 2}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Transaction(), "Transaction('pcta')"),
        (Transaction(order="tum"), "Transaction('pcta', order='tum')"),
        (
            Transaction("apriori", hierarchy=TREE, sensitive=[SECRET], l=2),
            "Transaction('apriori', hierarchy=dict, sensitive=1 items, l=2)",
        ),
        (
            Transaction("upcta", options={"utility": [[SECRET]], "max_suppressed": 0.5}, columns=["one"]),
            "Transaction('upcta', options={'utility': list, 'max_suppressed': 0.5}, columns=('one',))",
        ),
        (Transaction("apriori", hierarchy=f"{SECRET}.csv"), "Transaction('apriori', hierarchy=str)"),
    ],
)
def test_it_shows_no_item(value, text):
    assert repr(value) == text


# --- what is refused when it is made


@pytest.mark.parametrize(
    ("name", "parts", "message"),
    [
        ("pctaa", {}, "did you mean 'pcta'"),
        (["pcta"], {}, "no such algorithm for transactions"),
        ("partition", {"hierarchy": TREE}, "no such algorithm for transactions"),
        ("apriori", {}, "apriori needs a hierarchy"),
        ("pcta", {"hierarchy": TREE}, "pcta takes no hierarchy"),
        ("pcta", {"options": {"utility": []}}, "pcta has no such option"),
        ("coat", {"options": {"max_supressed": 0.1}}, "did you mean 'max_suppressed'"),
        ("coat", {"options": {"max_suppressed": 2}}, "max_suppressed must be a number"),
        ("coat", {"options": ["utility"]}, "options must be a mapping"),
        ("vpa", {"hierarchy": TREE, "options": {"parts": 0}}, "parts must be an integer"),
        ("optimal", {"hierarchy": TREE, "options": {"time_limit": -1}}, "time_limit must be a number"),
        ("pcta", {"columns": "items"}, "columns must be a list"),
        ("pcta", {"columns": []}, "columns names no column"),
        ("pcta", {"columns": ["one", "one"]}, "columns names a column twice"),
        ("apriori", {"columns": ["one"], "hierarchy": 2}, "hierarchies do not match the columns"),
        ("apriori", {"columns": ["one"], "hierarchy": {"two": TREE}}, "column 'one' has no hierarchy"),
        ("pcta", {"sensitive": [SECRET]}, "sensitive and l go together"),
        ("pcta", {"l": 2}, "sensitive and l go together"),
        (
            "direct",
            {"hierarchy": 2, "sensitive": [SECRET], "l": 2},
            "the algorithm cannot hide sensitive items",
        ),
        ("apriori", {"hierarchy": 2, "sensitive": SECRET, "l": 2}, "sensitive must be a list"),
        ("apriori", {"hierarchy": 2, "sensitive": [], "l": 2}, "there is no sensitive item"),
        ("apriori", {"hierarchy": 2, "sensitive": [SECRET], "l": 1}, "l must be an integer of at least 2"),
        (
            "apriori",
            {"hierarchy": {"one": TREE}, "columns": ["one"], "sensitive": [SECRET], "l": 2},
            "sensitive items must be in one list column",
        ),
        ("pcta", {"order": "rum"}, "no such order of merges"),
        ("pcta", {"tum": 1}, "no such measure of transactions"),
    ],
)
def test_refused(name, parts, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Transaction(name, **parts)
    assert SECRET not in str(caught.value)


def test_sensitive_items_are_of_one_type():
    with pytest.raises(ItemsetDtypeError):
        Transaction("apriori", hierarchy=TREE, sensitive=["a", 1], l=2)


@pytest.mark.parametrize("name", RT)
@pytest.mark.parametrize("value", [None, 5, {"algorithm": "pcta"}, Transaction], ids=str)
def test_other_values_are_refused(name, value):
    with pytest.raises(ParameterError, match="no such algorithm for transactions"):
        run(name, transaction=value)


# --- who reads it


def test_a_report_has_its_parts():
    value = Transaction("apriori", hierarchy=pdanon.Hierarchy.of(TREE), sensitive=["b"], l=2, tum="UL")
    shown = parameter_texts(run("tum_bound", transaction=value, merge="R"))
    assert shown["transaction"] == "apriori"
    assert shown["hierarchy"] == "4 leaves, height 2"
    assert (shown["sensitive"], shown["l"], shown["tum"]) == ("1 given", "2", "UL")
    assert not {"order", "options", "columns"} & shown.keys()
    plain = parameter_texts(run("rfirst"))
    assert plain["transaction"] == "pcta"
    assert not {"order", "tum", "hierarchy"} & plain.keys()


def test_values_are_compared_by_name():
    trees = {"flat": Transaction("apriori", hierarchy={"*": ["a", "b", "c"]}), "sets": "pcta"}
    given = {"rfirst": {"k": 2, "quasi": ["age"], "random_state": 0}}
    table = pdanon.compare(people(), given, vary={"transaction": trees})
    assert table["holds"].all()
    assert table["transaction"].tolist() == ["flat", "sets"]
    table = pdanon.compare(people(), {"rfirst": given["rfirst"] | {"transaction": trees["flat"]}})
    assert table["transaction"].tolist() == ["Transaction('apriori', hierarchy=dict)"]
    with pytest.raises(ParameterError, match="name each"):
        pdanon.compare(people(), given, vary={"transaction": [*trees.values()]})


def test_a_comparison_is_resumed_until_a_hierarchy_changes(tmp_path):
    tree, rows = tmp_path / "tree.csv", tmp_path / "rows.parquet"
    value = Transaction("apriori", hierarchy=str(tree))
    given = {"rfirst": {"k": 2, "quasi": ["age"], "random_state": 0, "transaction": value}}
    tree.write_text("a;*\nb;*\nc;*\n")
    first = pdanon.compare(people(), given, resume=rows)
    assert pdanon.compare(people(), given, resume=rows)["seconds"].equals(first["seconds"])
    tree.write_text("a;x;*\nb;x;*\nc;y;*\n")
    pdanon.compare(people(), given, resume=rows)
    assert len(pdanon.read_parquet(rows)) == 2
