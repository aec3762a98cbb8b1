"""What sets are called: another name is the same release, and no name means two things."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from families import RT
from hypothesis import assume, given, settings, strategies as st

import pdanon
from examples import ALL, examples
from pdanon import ParameterError, Transaction

ITEMS = ("G1", "G02", "a", "a +1", "a +1 #1", "a +2", "b", "(a,b)", "GG3")  # which look like labels
OWN = {"rum_bound": {"delta": 1.0}, "tum_bound": {"delta": 1.0}, "rfirst": {}}
OWN = {name: {**asked, "random_state": 0} for name, asked in OWN.items()} | {"tfirst": {"parts": 1}}
# The middle dot is in no item, so no label is that of an item, and a joined text says which set it is of.
LABELS = {"set": "set", "short": "short", "first": "first", "callable": "·".join}
SETS = ("pcta", "coat", "upcta")
OTHERS = [each for each in LABELS if each != "set"]
others = pytest.mark.parametrize("labels", OTHERS)


def blocks_of(frame):
    items = sorted({item for row in rows_of(frame) for item in row})
    return {"utility": [items[:4], items[4:]], "max_suppressed": 1.0}


def of_items(name, frame, labels, **asked):
    asked = {"k": 2, "m": 2} | ({} if name == "pcta" else blocks_of(frame)) | asked
    return getattr(frame.txanon, name)(**asked).relabel(LABELS[labels])


def assert_same_but_for_names(result, plain, frame):
    """One label for one label, in the mapping and in the rows; all that is counted is equal."""
    pairs = {*zip(plain.mapping["generalized"].dropna(), result.mapping["generalized"].dropna(), strict=True)}
    called = dict(pairs)
    assert len(called) == len({new for _, new in pairs}) == len(pairs)
    unnamed = ["group", "item", "support"]
    pd.testing.assert_frame_equal(result.mapping[unnamed], plain.mapping[unnamed])
    assert result.mapping["generalized"].isna().equals(plain.mapping["generalized"].isna())
    assert rows_of(result.frame) == [frozenset(called[each] for each in row) for row in rows_of(plain.frame)]
    rest = [*frame.columns.drop("items")]
    pd.testing.assert_frame_equal(result.frame[rest], plain.frame[rest])
    pd.testing.assert_series_equal(result.loss, plain.loss)
    assert result.useless == plain.useless
    items = {item for row in rows_of(frame) for item in row}
    for old, new in pairs:
        assert (new in items) == (old in items)
        assert new not in items or new == old


def assert_legend(result):
    members = {}
    for item, label in zip(result.mapping["item"], result.mapping["generalized"], strict=True):
        if pd.notna(label) and label != item:
            members.setdefault(label, set()).add(item)
    expected = [(label, item) for label in sorted(members) for item in sorted(members[label])]
    assert [*zip(result.legend["label"], result.legend["item"], strict=True)] == expected
    assert [*result.legend.columns] == ["label", "item"]


# --- the same release


ROWS = [["G1", "a"], ["a", "a +1", "b"], ["G02", "b"], ["(a,b)", "GG3"], ["a +1 #1"], ["a +2", "G1"], []]
any_rows = st.lists(st.frozensets(st.sampled_from(ITEMS), max_size=5), min_size=2, max_size=9)


NOTHING_LEFT = [["a +1"], ["a +1 #1"], ["G1", "G02", "a"]]  # coat suppresses every item of its sets


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rows", [ROWS, NOTHING_LEFT], ids=["rows", "nothing left"])
@pytest.mark.parametrize("name", SETS)
def test_another_name_is_the_same_release(name, rows):
    assert_same_release_of_items(name, frame_of(rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@settings(max_examples=40 if ALL else 5)
@given(rows=any_rows)
def test_another_name_is_the_same_release_of_any_rows(name, rows):
    assume(sum(map(bool, rows)) >= 2)
    assert_same_release_of_items(name, frame_of(rows))


def assert_same_release_of_items(name, frame):
    plain, *results = (of_items(name, frame, each) for each in LABELS)
    lower = frame.txanon.refine(plain)
    for each, result in zip(OTHERS, results, strict=True):
        assert_same_but_for_names(result, plain, frame)
        assert_legend(result)
        assert_same_but_for_names(lower.relabel(LABELS[each]), lower, frame)
        for guarantee in (result.guarantee, pdanon.KmAnonymity(3, 3), pdanon.KmAnonymity(4, 1)):
            audits = [each.frame.txanon.audit(guarantee) for each in (plain, result)]
            assert audits[0].rows_at_risk == audits[1].rows_at_risk
            supports = [sorted(audit.threats["support"]) for audit in audits]
            assert supports[0] == supports[1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RT)
def test_so_it_is_with_quasi_identifiers(name):
    assert_same_release_of_both(name, frame_of(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("name", RT)
@settings(max_examples=40 if ALL else 5)
@given(rows=any_rows)
def test_so_it_is_with_quasi_identifiers_and_any_rows(name, rows):
    assert_same_release_of_both(name, frame_of(rows))


def assert_same_release_of_both(name, frame):
    table = frame.assign(age=range(len(frame)))
    asked = {"k": 2, "m": 2, "quasi": ["age"], **OWN[name]}
    plain = RT[name](table, **asked)
    lower = table.txanon.refine(plain)
    for each in OTHERS:
        result = plain.relabel(LABELS[each])
        assert_same_but_for_names(result, plain, frame)
        assert_legend(result)
        assert result.frame.txanon.audit(result.guarantee).holds
        assert_same_but_for_names(lower.relabel(LABELS[each]), lower, frame)


@others
def test_so_it_is_with_sensitive_items(labels):
    rows = [["a", "flu"], ["a", "b"], ["b"], ["c", "flu"], ["c"], ["d"], ["d", "b"], ["a"]]
    frame = frame_of(rows).assign(age=range(8))
    hidden = {"sensitive": ["flu"], "l": 2}
    asked = {"k": 4, "m": 2, "quasi": ["age"], "random_state": 0}
    plain = frame.txanon.rfirst(**asked, transaction=Transaction(**hidden))
    result = plain.relabel(LABELS[labels])
    assert_same_but_for_names(result, plain, frame[["items"]])
    assert result.frame.txanon.audit(result.guarantee).holds


@others
def test_privacy_constraints_are_audited_by_the_mapping(labels):
    frame = frame_of([["a", "b"], ["a"], ["b"], ["c"], ["c", "a"], ["b", "c"]])
    constraints = [["a", "b"], ["c"]]
    plain = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=2))
    result = plain.relabel(LABELS[labels])
    assert_same_but_for_names(result, plain, frame)
    assert result.frame.txanon.audit(result.guarantee).holds
    unsafe = pdanon.PrivacyConstraints(constraints=constraints, k=4, mapping=result.mapping)
    assert result.frame.txanon.audit(unsafe).rows_at_risk == (
        plain.frame.txanon.audit(
            pdanon.PrivacyConstraints(constraints=constraints, k=4, mapping=plain.mapping)
        ).rows_at_risk
    )


# --- whatever reads a release


@others
def test_whoever_reads_a_release_goes_by_its_mapping(labels):
    baskets = pdanon.datasets.make_baskets(300, 40, random_state=0)[["items"]]
    plain = baskets.txanon.pcta(k=20, m=3)
    result = plain.relabel(LABELS[labels])
    item = result.legend["item"].iloc[0]
    queries = pdanon.Workload.itemsets(baskets, size=1, n=30, random_state=0)
    answers = [queries.are(baskets, each).table for each in (plain, result)]
    pd.testing.assert_frame_equal(*answers)
    attacks = [baskets.txanon.attack(each, m=1, random_state=0) for each in (plain, result)]
    assert repr(attacks[0]) == repr(attacks[1])
    whys = [each.explain(item, baskets) for each in (plain, result)]
    assert whys[0].threats.equals(whys[1].threats)
    assert whys[1].became in {*result.legend["label"]}
    again = [pdanon.apply_mapping(baskets, each.mapping) for each in (plain, result)]
    assert rows_of(again[1]) == rows_of(result.frame)
    assert repr(result).splitlines()[1:] == repr(plain).splitlines()[1:]


@pytest.mark.slow
def test_a_report_shows_no_legend(tmp_path):
    frame = frame_of([["rice", SECRET], ["rice"], ["rice"], [SECRET]] * 3 + [["tea", "rice"]])
    result = frame.txanon.pcta(k=2, m=2).relabel("short")
    assert "tea" in {*result.legend["item"]}
    result.report(tmp_path / "page.html", frame)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "G1" in page
    assert "tea" not in page


def test_the_release_of_anonymize_is_renamed():
    rows = [["a", "b"], ["a"], ["b", "c"], ["c", "d"], ["a", "d"]]
    frame = frame_of(rows)
    for given_ in ({"k": 2, "m": 2}, {"guarantee": pdanon.KKm(k=2, m=2, quasi=["age"]), "random_state": 0}):
        table = frame.assign(age=range(5)) if "guarantee" in given_ else frame
        plain = table.txanon.anonymize(**given_)
        result = plain.relabel("short")
        assert_same_but_for_names(result, plain, frame)
        assert {re.sub("[0-9]+", "", label) for label in result.legend["label"]} == {"G"}


# --- short ones


@settings(max_examples=examples(60))
@given(rows=row_lists(items="abcdefghij", least=2), seed=st.randoms())
def test_numbers_say_no_more_than_the_release(rows, seed):
    assume(sum(map(bool, rows)) >= 2)
    result = of_items("pcta", frame_of(rows), "short")
    supports = Counter(label for row in rows_of(result.frame) for label in row)
    numbered = [supports[label] for label in sorted({*result.legend["label"]})]
    assert numbered == sorted(numbered, reverse=True)
    seed.shuffle(rows)
    pd.testing.assert_frame_equal(of_items("pcta", frame_of(rows), "short").legend, result.legend)


def test_ties_are_not_in_the_order_of_items():
    """Forty sets in two rows each: by item order, or its reverse, by chance once in 40! / 2 times."""
    blocks = [[f"{number:02}", f"{number:02}x"] for number in range(40)]
    frame = frame_of([[item] for block in blocks for item in block])
    result = frame.txanon.upcta(k=2, m=1, utility=blocks).relabel("short")
    firsts = result.legend.groupby("label")["item"].min().tolist()
    assert len(firsts) == 40
    assert firsts not in (sorted(firsts), sorted(firsts, reverse=True))


@pytest.mark.parametrize(
    ("item", "label"), [("x", "G1"), ("G", "G1"), ("G5", "GG1"), ("g47.3", "GG1"), ("GG0", "G1")]
)
def test_no_item_looks_like_a_number(item, label):
    frame = frame_of([["a"], ["b"], [item], [item]])
    assert {*frame.txanon.pcta(k=2, m=1).relabel("short").legend["label"]} == {label}


def test_numbers_have_equally_many_digits():
    single = frame_of([[f"{number:02}"] for number in range(24)])
    blocks = [[f"{number:02}", f"{number + 1:02}"] for number in range(0, 24, 2)]
    result = single.txanon.upcta(k=2, m=1, utility=blocks).relabel("short")
    assert [*dict.fromkeys(result.legend["label"])] == [f"G{number:02}" for number in range(1, 13)]


def test_labels_of_several_columns_are_apart():
    rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]
    frame = frame_of(rows).assign(other=frame_of(rows)["items"], age=range(4))
    for labels in ("short", "first"):
        result = frame.txanon.rfirst(
            k=2,
            m=2,
            quasi=["age"],
            transaction=Transaction(columns=["items", "other"]),
            random_state=0,
        ).relabel(labels)
        assert [*result.legend.columns] == ["column", "label", "item"]
        own = {name: {*lines["label"]} for name, lines in result.legend.groupby("column")}
        assert own["items"]
        assert not own["items"] & own["other"]


def test_a_column_without_items_has_no_sets():
    frame = frame_of([["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]).assign(age=range(4))
    frame.insert(0, "none", pdanon.as_itemsets([[], ["a"]]).take([0] * 4).array)
    parts = Transaction(columns=["none", "items"])
    plain = frame.txanon.rfirst(k=2, m=2, quasi=["age"], transaction=parts, random_state=0)
    result = plain.relabel("first")
    assert_same_but_for_names(result, plain, frame)
    assert {*result.legend["column"]} == {"items"}


# --- the first item


@pytest.mark.parametrize(
    ("items", "label"),
    [
        (["a", "b"], "a +1"),
        (["a", "b", "c"], "a +2"),
        ([1, 2], "1 +1"),
        ([dt.date(2020, 1, 2), dt.date(2019, 1, 2)], "2019-01-02 +1"),
        (["(a", "b"], "(a +1"),
    ],
)
def test_the_first_item_and_how_many_more(items, label):
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[item] for item in items])})
    result = frame.txanon.pcta(k=len(items), m=1).relabel("first")
    assert {*result.legend["label"]} == {label}


def test_sets_that_begin_alike_are_numbered():
    frame = frame_of([["a"], ["b"], ["a"], ["c"], ["a"]]).assign(age=[1, 1, 9, 9, 9])
    result = frame.txanon.rfirst(k=2, m=1, quasi=["age"], cluster="mondrian").relabel("first")
    assert rows_of(result.frame) == [{"a +1 #2"}] * 2 + [{"a +1 #1"}] * 3
    assert result.legend["item"].tolist() == ["a", "c", "a", "b"]


def test_an_item_of_that_name_means_itself():
    frame = frame_of([["a"], ["b"], ["a +1"], ["a +1"], ["a +1 #1"], ["a +1 #1"]])
    result = frame.txanon.pcta(k=2, m=1).relabel("first")
    assert {*result.legend["label"]} == {"a +1 #2"}
    assert rows_of(result.frame)[2:] == [{"a +1"}] * 2 + [{"a +1 #1"}] * 2


# --- functions


def test_a_function_is_given_the_items_as_they_are():
    seen = []

    def label(items):
        seen.append(items)
        return f"{items[0]} to {items[-1]}"

    frame = pd.DataFrame({"items": pdanon.as_itemsets([[10], [2], [30], [30]])})
    result = frame.txanon.pcta(k=2, m=1).relabel(label)
    assert seen == [[2, 10]]
    assert rows_of(result.frame) == [{"2 to 10"}] * 2 + [{"30"}] * 2


@pytest.mark.parametrize(
    ("labels", "problem", "got"),
    [
        (lambda items: "same", "a label is that of another set", "2 of 2 labels"),
        (len, "a label is not text", "2 of 2 labels"),
        (lambda items: "" if items[0] == "a" else items[0] + "x", "a label is empty", "1 of 2 labels"),
        (lambda items: " \n", "a label is empty", "2 of 2 labels"),
        (lambda items: items[0], "a label is the text of an item", "2 of 2 labels"),
        (lambda items: items[0] + "\ud800", "a label contains half of a surrogate pair", "2 of 2 labels"),
        (lambda items: {}[items[0]], "the function for labels fails", "KeyError"),
        (lambda: "x", "the function for labels fails", "TypeError"),
        ("shrt", "there is no such kind of labels", "did you mean 'short'"),
        (None, "there is no such kind of labels", "None"),
        (["a"], "there is no such kind of labels", "list"),
    ],
)
def test_what_cannot_be_a_label_is_refused(labels, problem, got):
    frame = frame_of([["a"], [SECRET], ["c"], ["d"]])
    blocks = [["a", SECRET], ["c", "d"]]
    result = frame.txanon.upcta(k=2, m=1, utility=blocks)
    with pytest.raises(ParameterError, match=problem) as caught:
        result.relabel(labels)
    assert got in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_nodes_and_values_keep_their_names():
    frame = frame_of([["a", "b"], ["a"], ["b", "c"], ["c", "d"], ["a", "d"]]).assign(age=range(5))
    for result in (
        frame.txanon.keep("age").apriori(k=2, m=1, hierarchy=2),
        frame.txanon.rfirst(k=2, m=1, quasi=["age"], transaction=Transaction("apriori", hierarchy=2)),
        frame[["age"]].txanon.mondrian(k=2, quasi=["age"]),
    ):
        with pytest.raises(ParameterError, match="the release has no sets of items"):
            result.relabel("short")


def test_sets_are_renamed_once_and_after_all_other_steps():
    frame = frame_of([["a"], ["b"], ["c"], ["c"]])
    result = frame.txanon.pcta(k=2, m=1)
    renamed = result.relabel("short")
    assert result.relabel("set") is result
    assert rows_of(result.frame)[0] == {"(a,b)"}
    assert renamed.parameters["labels"] == "short"
    with pytest.raises(ParameterError, match="the sets already have other names"):
        renamed.relabel("first")
    with pytest.raises(ParameterError, match="the sets of the release have other names") as caught:
        frame.txanon.refine(renamed)
    assert "relabel('short')" in str(caught.value)
    for attempt in (frame.txanon.pcta, frame.txanon.anonymize):
        with pytest.raises(TypeError, match="has no parameter 'labels'") as caught:
            attempt(k=2, m=1, labels="short")
        assert "result.relabel('short')" in str(caught.value)


@pytest.mark.parametrize("keep", [[], ["day"]])
@pytest.mark.parametrize("counts", [False, True])
def test_lines_of_persons_are_sorted_by_their_new_names(keep, counts):
    """In a row order of the old names, the first label of each person would tell which set it is."""
    lines = pd.DataFrame({"person": [*"aabbccdd"], "item": [*"zyzyefef"], "day": 1})
    plain = lines.txanon.by("person", item="item", counts=counts, keep=keep).coat(
        k=2, m=1, utility=[["z", "e"], ["y", "f"]]
    )
    called = {"(e,z)": "z1", "(f,y)": "a2"}
    result = plain.relabel(lambda items: called[f"({items[0]},{items[1]})"])
    assert {*plain.frame["item"]} <= {*called, "e", "f", "y", "z"}
    expected = plain.frame.assign(item=plain.frame["item"].map(lambda each: called.get(each, each)))
    columns = [*result.frame.columns]
    assert sorted(result.frame.itertuples(index=False)) == sorted(expected[columns].itertuples(index=False))
    own = result.frame.groupby("person")["item"]
    assert own.apply(lambda each: [*each] == sorted(each)).all()
    assert pdanon.by(result.frame, "person", item="item", counts=counts).audit(result.guarantee).holds


def test_a_legend_leaves_out_what_says_itself_or_nothing():
    frame = frame_of([["a"], ["b"], ["c"], ["c"], ["c", "d"]])
    result = frame.txanon.upcta(k=2, m=1, utility=[["a", "b"], ["c"], ["d"]], max_suppressed=0.5)
    assert result.legend.to_dict("list") == {"label": ["(a,b)"] * 2, "item": ["a", "b"]}
    assert np.array_equal(result.legend.index, [0, 1])
    nothing = frame_of([["a"], ["a"]]).txanon.pcta(k=2, m=1).legend
    assert [*nothing.columns] == ["label", "item"]
    assert len(nothing) == 0
