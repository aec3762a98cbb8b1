"""PS-rules: rules as data, and the audit against the definition, the coherence of KDD 2008 and real data."""

from __future__ import annotations

import csv
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive_itemsets, rules as naive
from test_guarantees import mapping_of

import pdanon
from examples import ALL, examples
from pdanon import (
    Coherence,
    ColumnError,
    FormatError,
    ItemsetDtypeError,
    ParameterError,
    PSRules,
    constraints,
)
from pdanon.guarantees.ps import read_rules

# The toy of the specification: public a, b, c; sensitive s.
TOY = frame_of([{"a", "b", "s"}, {"a", "b"}, {"a", "c", "s"}, {"b", "c"}, {"c"}])
TOY_RULES = [(["a"], ["s"]), (["b"], ["s"]), (["c"], ["s"])]
SHARES = [Fraction(*each) for each in ((1, 10), (1, 4), (1, 3), (1, 2), (3, 5), (2, 3), (9, 10))]


def threats_of(audit):
    """The threats of an audit as `naive.broken` has them."""
    table = audit.threats
    sides = (map(frozenset, pa.array(table[name]).to_pylist()) for name in ("itemset", "sensitive"))
    return list(zip(*sides, table["support"].tolist(), strict=True))


def rules_of(table):
    sides = (map(frozenset, pa.array(table[name]).to_pylist()) for name in ("known", "sensitive"))
    return list(zip(*sides, strict=True))


def published(rows, mapping):
    """Rows whose items became what the mapping says."""
    return [None if row is None else naive.became(row, mapping) for row in rows]


# --- the toy


@pytest.mark.parametrize(
    ("sets", "holds"),
    [
        ("a b c", False),  # a: 3 rows, 2 of them with s
        ("abc", True),  # 5 rows, 2
        ("a bc", False),
        ("b ac", True),  # (a,c) is in all five, 2; b: 3, 1
        ("c ab", True),  # (a,b): 4 rows, 2; c: 3, 1
    ],
)
def test_the_states_of_the_toy(sets, holds):
    became = {
        item: f"({','.join(each)})" if len(each) > 1 else each for each in sets.split() for item in each
    }
    became["s"] = "s"
    rows = pa.array(TOY["items"]).to_pylist()
    frame = frame_of(published(map(frozenset, rows), became))
    for rules in (TOY_RULES, constraints.ps_rules(TOY, None, ["s"], 1)):
        audit = frame.txanon.audit(PSRules(rules=rules, k=2, c=0.6, mapping=mapping_of(became)))
        assert audit.holds == holds


def test_the_threats_of_the_toy():
    audit = TOY.txanon.audit(PSRules(rules=[*TOY_RULES, (["a", "c"], ["s"])], k=2, c=0.6))
    assert threats_of(audit) == [
        ({"a"}, {"s"}, 3),
        ({"a", "c"}, set(), 1),
        ({"a", "c"}, {"s"}, 1),
    ]
    assert audit.threats["why"].tolist() == ["breach", "rare", "breach"]
    assert audit.rows_at_risk == 3
    assert [*audit.threats.columns] == ["itemset", "sensitive", "support", "why"]
    assert audit.threats["sensitive"].dtype.pyarrow_dtype == pa.list_(pa.string())


def test_limits_are_met_exactly():
    """k with >=, and c with <=: a third is a third, though no float is."""
    frame = frame_of([{"a", "s"}, {"a"}, {"a"}, {"b"}])
    assert frame.txanon.audit(PSRules(rules=[(["a"], ["s"])], k=3, c=1 / 3)).holds
    assert not frame.txanon.audit(PSRules(rules=[(["a"], ["s"])], k=4, c=1 / 3)).holds
    assert not frame.txanon.audit(PSRules(rules=[(["a"], ["s"])], k=3, c=0.333)).holds
    assert PSRules(rules=[(["a"], ["s"])], k=3, c=1 / 3).c == Fraction(1, 3)


def test_rows_far_apart_from_floats():
    """One row more or less of ten thousand decides."""
    rows = [{"a", "s"}] * 3001 + [{"a"}] * 6999
    guarantee = PSRules(rules=[(["a"], ["s"])], k=2, c=0.3)
    assert not frame_of(rows).txanon.audit(guarantee).holds
    assert frame_of([*rows[1:], {"a"}]).txanon.audit(guarantee).holds


# --- the definition


@st.composite
def tables(draw):
    """Rows over public a to d and sensitive s, t, u; those that occur; and what became of them."""
    row = st.frozensets(st.sampled_from("abcdstu"), max_size=6)
    rows = draw(st.lists(row | st.none(), min_size=1, max_size=12))
    items = frozenset().union(*(row for row in rows if row is not None))
    public, sensitive = sorted(items & set("abcd")), sorted(items & set("stu"))
    assume(public and sensitive)
    mapping = {item: draw(st.sampled_from(["x", "y", "z", item, None])) for item in public}
    mapping |= {item: draw(st.sampled_from([item, item, None])) for item in sensitive}
    if None in mapping.values():  # then missing rows are published as empty
        rows = [row or frozenset() for row in rows]
    return rows, public, sensitive, mapping


asked = st.integers(2, 5), st.sampled_from(SHARES)


def assert_as_defined(rows, rules, listed, k, c, mapping):
    frame = frame_of(published(rows, mapping))
    told = mapping_of(mapping)
    told.attrs["empty_rows"] = len(rows)  # those that are emptied are another matter
    audit = frame.txanon.audit(PSRules(rules=rules, k=k, c=float(c), mapping=told))
    broken = naive.broken(published(rows, mapping), listed, k, c, mapping)
    assert audit.holds == (not broken)
    assert audit.rows_at_risk == naive.rows_at_risk(published(rows, mapping), listed, k, c, mapping)
    return audit, broken


def in_order(broken):
    return sorted(broken, key=lambda each: [(len(part), sorted(part)) for part in each[:2]])


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(tables(), st.data(), *asked)
def test_listed_rules_are_audited_as_they_are_defined(table, data, k, c):
    rows, public, sensitive, mapping = table
    sides = (st.frozensets(st.sampled_from(each), min_size=1, max_size=3) for each in (public, sensitive))
    listed = data.draw(st.lists(st.tuples(*sides), min_size=1, max_size=8))
    rules = [(sorted(known), sorted(hidden)) for known, hidden in listed]
    audit, broken = assert_as_defined(rows, rules, naive.needed(listed), k, c, mapping)
    assert threats_of(audit) == in_order(broken)
    # What was left out as implied changes neither the verdict nor who is at risk.
    assert_as_defined(rows, rules, listed, k, c, mapping)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(tables(), st.integers(1, 4) | st.none(), st.booleans(), st.data(), *asked)
def test_all_rules_are_audited_as_they_are_defined(table, m, every, data, k, c):
    rows, public, sensitive, mapping = table
    known = public if every else data.draw(st.lists(st.sampled_from(public), min_size=1, unique=True))
    listed = naive.all_rules(known, sensitive, m)
    rules = constraints.ps_rules(frame_of(rows), None if every else known, sensitive, m)
    assert rules_of(rules.to_frame()) == listed
    assert len(rules) == len(listed)
    audit, broken = assert_as_defined(rows, rules, listed, k, c, mapping)
    assert_as_defined(rows, rules.listed(), listed, k, c, mapping)
    images = {image for image, _, _ in broken}
    if frozenset() in images:
        images = {frozenset()}
    assert threats_of(audit) == in_order(each for each in broken if each[0] in naive_itemsets.minimal(images))


@pytest.mark.slow
def test_thousands_of_random_tables():
    """Both kinds of rules, by the definition, on tables that are larger than those that are drawn above."""
    rng = np.random.default_rng(20)
    verdicts = set()
    for _ in range(5000 if ALL else 200):
        items, secrets = [*"abcdefg"[: rng.integers(2, 8)]], [*"stu"[: rng.integers(1, 4)]]
        density = rng.uniform(0.1, 0.8)
        rows = [
            frozenset(np.array(items + secrets)[rng.random(len(items) + len(secrets)) < density].tolist())
            for _ in range(rng.integers(2, 40))
        ]
        occurring = frozenset().union(*rows)
        public, sensitive = sorted(occurring & {*items}), sorted(occurring & {*secrets})
        if not public or not sensitive:
            continue
        labels = ["x", "y", "z", None] if rng.random() < 0.3 else ["x", "y", "z"]
        mapping = {item: labels[rng.integers(len(labels))] for item in public} | {s: s for s in sensitive}
        k, c, m = int(rng.integers(2, 6)), SHARES[rng.integers(len(SHARES))], int(rng.integers(1, 5))
        listed = naive.all_rules(public, sensitive, m)
        every = constraints.ps_rules(frame_of(rows), None, sensitive, m)
        audit, _ = assert_as_defined(rows, every, listed, k, c, mapping)
        some = [listed[place] for place in rng.integers(len(listed), size=6)]
        rules = [(sorted(known), sorted(hidden)) for known, hidden in some]
        assert_as_defined(rows, rules, some, k, c, mapping)
        verdicts.add(audit.holds)
    assert verdicts == {True, False}


# --- coherence is all rules of a size, and the rule of nothing


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(row_lists("abcdst", least=1), st.integers(1, 4), *asked)
def test_with_all_rules_it_is_coherence_but_for_who_knows_nothing(rows, m, k, c):
    sensitive = sorted(frozenset().union(*rows) & {"s", "t"})
    assume(sensitive and frozenset().union(*rows) - {*sensitive})
    frame = frame_of(rows)
    by_rules = frame.txanon.audit(
        PSRules(rules=constraints.ps_rules(frame, None, sensitive, m), k=k, c=float(c))
    )
    coherent = frame.txanon.audit(Coherence(h=float(c), k=k, p=m, private=sensitive))
    if len(coherent.threats) and len(coherent.threats["itemset"][0]) == 0:
        assert coherent.rows_at_risk == len(rows)
        return
    assert by_rules.rows_at_risk == coherent.rows_at_risk
    found = {(itemset, support) for itemset, _, support in threats_of(by_rules)}
    lists = map(frozenset, pa.array(coherent.threats["itemset"]).to_pylist())
    assert found == set(zip(lists, coherent.threats["support"].tolist(), strict=True))


@pytest.mark.parametrize("m", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("k", "c"), [(5, 0.5), (2, 0.1), (50, 0.25)])
def test_webview_by_rules_and_by_coherence(data, m, k, c):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    items = frame["items"].itemset.supports().index
    sensitive = np.random.default_rng(0).choice(items, 20, replace=False).tolist()
    by_rules = frame.txanon.audit(PSRules(rules=constraints.ps_rules(frame, None, sensitive, m), k=k, c=c))
    coherent = frame.txanon.audit(Coherence(h=c, k=k, p=m, private=sensitive))
    assert by_rules.rows_at_risk == coherent.rows_at_risk > 0
    found = {(itemset, support) for itemset, _, support in threats_of(by_rules)}
    assert len(found) == len(coherent.threats)


# --- rules as data

EVERY_FORM = pytest.mark.parametrize("form", ["pairs", "iterator", "frame", "parquet", "csv", "rules"])


def written(form, rules, directory):
    """Rules in one of the forms that are read."""
    frame = pd.DataFrame(
        {
            "known": pdanon.as_itemsets([each for each, _ in rules]),
            "sensitive": pdanon.as_itemsets([each for _, each in rules]),
        }
    )
    if form == "parquet":
        pdanon.to_parquet(frame, directory / "rules.parquet")
        return directory / "rules.parquet"
    if form == "csv":
        with (directory / "rules.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["known", "sensitive"], *[map(";".join, rule) for rule in rules]])
        return str(directory / "rules.csv")
    return {"pairs": rules, "iterator": iter(rules), "frame": frame.set_index([[7] * len(rules)])}.get(
        form, read_rules(rules)
    )


@EVERY_FORM
def test_rules_are_read_in_every_form(form, tmp_path):
    rules = [(["a, b", "c"], ["s"]), (["c"], ["s", "t;u"] if form != "csv" else ["s", "t"]), (["c"], ["s"])]
    guarantee = PSRules(rules=written(form, rules, tmp_path), k=2, c=0.5)
    assert rules_of(guarantee.rules.to_frame()) == [({"a, b", "c"}, {"s"}), ({"c"}, {"s"})]
    assert repr(guarantee.rules) == "Rules(2, 1 more are implied)"
    assert repr(guarantee) == "PSRules(rules=2, k=2, c=0.5)"


@given(
    st.lists(
        st.tuples(*[st.frozensets(st.sampled_from(each), min_size=1) for each in ("abc", "stuv")]),
        min_size=1,
        max_size=20,
    )
)
def test_rules_that_others_imply_are_left_out(rules):
    found = read_rules([(sorted(known), sorted(hidden)) for known, hidden in rules])
    kept = rules_of(found.to_frame())
    assert len(set(kept)) == len(kept) == len(found)
    assert set(kept) == naive.needed(rules)
    assert kept == sorted(kept, key=rules.index)
    assert found.n_given == len(rules)
    antecedents, numbers = found.antecedents()
    sets = [*map(frozenset, antecedents.to_arrow().to_pylist())]
    assert len(set(sets)) == len(sets)
    assert [sets[number] for number in numbers] == [known for known, _ in kept]


def test_a_file_says_all_rules_of_a_size(tmp_path):
    (tmp_path / "rules.toml").write_text(
        'm = "all"\nsensitive = ["s"]\npublic = ["a", "b"]\n', encoding="utf-8"
    )
    found = read_rules(tmp_path / "rules.toml")
    assert rules_of(found.to_frame()) == naive.all_rules("ab", "s", None)
    others = read_rules({"m": 2, "sensitive": ["s"]})
    assert repr(others) == "AllRules(m=2, public=all others, sensitive=1 items)"
    assert TOY.txanon.audit(PSRules(rules=others, k=2, c=0.6)).rows_at_risk == 4
    for wrong in ({"m": 2}, {"sensitive": ["s"]}, {"m": 2, "sensitive": ["s"], SECRET: 1}):
        with pytest.raises(ParameterError, match="need m and sensitive") as caught:
            read_rules(wrong)
        assert SECRET not in str(caught.value)
    (tmp_path / "rules.toml").write_text(f"{SECRET} =", encoding="utf-8")
    with pytest.raises(FormatError, match="cannot be read as TOML") as caught:
        read_rules(tmp_path / "rules.toml")
    assert SECRET not in str(caught.value)


def test_all_rules_are_counted_and_not_listed():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[*range(4000)]])})
    every = constraints.ps_rules(frame, None, range(20), 2)
    assert len(every) == 20 * (3980 + 3980 * 3979 // 2)
    assert repr(every) == "AllRules(m=2, public=3980 items, sensitive=20 items)"
    assert repr(PSRules(rules=every, k=5, c=0.5)) == f"PSRules(rules={every!r}, k=5, c=0.5)"
    with pytest.raises(ParameterError, match="too many"):
        every.to_frame()
    with pytest.raises(ParameterError, match="too many rules to count"):
        len(constraints.AllRules(None, ["s"], [f"a{i}" for i in range(30_000)]))
    with pytest.raises(ParameterError, match="depends on the data"):
        len(constraints.AllRules(2, ["s"]))


def test_items_that_are_neither_public_nor_sensitive_lead_to_nothing():
    """Nobody knows q, which one row has; and it is published within a set, of which c is known."""
    frame = frame_of([{"a", "q"}, {"a"}, {"s"}])
    assert not frame.txanon.audit(
        PSRules(rules=constraints.ps_rules(frame, None, ["s"], 2), k=2, c=0.5)
    ).holds
    some = constraints.ps_rules(frame, ["a"], ["s"], 2)
    assert frame.txanon.audit(PSRules(rules=some, k=2, c=0.5)).holds
    became = mapping_of({"a": "a", "b": "(b,c)", "c": "(b,c)", "s": "s"})
    known = constraints.AllRules(1, ["s"], ["c"])
    released = frame_of([{"a"}, {"(b,c)"}, {"(b,c)", "s"}, {"a", "s"}])
    assert released.txanon.audit(PSRules(rules=known, k=2, c=0.5, mapping=became)).holds
    assert not released.txanon.audit(PSRules(rules=known, k=3, c=0.5, mapping=became)).holds


def test_numbers_and_texts_are_matched():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[1, 2, 9], [1, 2], [1]])})
    assert threats_of(frame.txanon.audit(PSRules(rules=[([1], [9]), ([2], [9])], k=2, c=0.4))) == [
        ({2}, {9}, 2)
    ]
    repeated = pd.DataFrame({"items": [[1, 1, 9], [1, 9], [2]]})
    guarantee = PSRules(rules=[([1.0], [9.0])], k=2, c=0.5)
    assert threats_of(repeated.txanon.audit(guarantee)) == [({1}, {9}, 2)]
    text = pd.DataFrame({"items": pdanon.as_itemsets([["1", "2", "9"], ["1", "2"], ["1"]])})
    assert threats_of(text.txanon.audit(PSRules(rules=[([1], [9]), ([2], [9])], k=2, c=0.4))) == [
        ({"2"}, {"9"}, 2)
    ]


# --- what proves nothing is refused

RULE = (["a"], ["s"])


@pytest.mark.parametrize(
    ("rules", "error", "said"),
    [
        ([], ParameterError, "no rules"),
        ([RULE, ([], ["s"])], ParameterError, "1 of 2 rules lack a side"),
        ([RULE, (["a"], [])], ParameterError, "1 of 2 rules lack a side"),
        ([RULE, (["a"], None)], ParameterError, "1 of 2 rules lack a side"),
        ([RULE, (["b", SECRET], ["s"]), (["c"], [SECRET])], ParameterError, "1 items, in 1 of 3 rules"),
        ([RULE, ["a"]], ParameterError, "1 of 2 are no pairs"),
        ([RULE, (SECRET, ["s"])], ItemsetDtypeError, "a list of items"),
        ([RULE, ([1], ["s"])], ItemsetDtypeError, "not of one known type"),
        ({"a": "s"}, ParameterError, "need m and sensitive"),
        (7, ParameterError, "must be a list of pairs"),
        (pd.DataFrame({"known": [["a"]]}), ParameterError, "lacks a column"),
        ("rules.txt", ParameterError, "are read from"),
    ],
)
def test_what_are_no_rules(rules, error, said):
    with pytest.raises(error) as caught:
        PSRules(rules=rules, k=2, c=0.5)
    assert said in str(caught.value)
    assert "hint" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "error", "said"),
    [
        ("known,other\na,s\n", ColumnError, "lack a column"),
        ("other,sensitive\na,s\n", ColumnError, "known"),
        ("known,sensitive\na;;b,s\n", FormatError, "empty"),
        ("known,sensitive\na,\n", ParameterError, "1 of 1 rules lack a side"),
        ("known,sensitive\n", ParameterError, "no rules"),
    ],
)
def test_files_that_hold_no_rules(tmp_path, lines, error, said):
    (tmp_path / "rules.csv").write_text(lines, encoding="utf-8")
    with pytest.raises(error, match=said):
        PSRules(rules=tmp_path / "rules.csv", k=2, c=0.5)
    with pytest.raises(FormatError):
        PSRules(rules=tmp_path / "absent.csv", k=2, c=0.5)


@pytest.mark.parametrize("c", [0, 1, -0.1, 1.1, 1e-12, float("nan"), None, "0.5", True])
def test_a_share_is_between_none_and_all(c):
    with pytest.raises(ParameterError, match="c must be above 0 and below 1\n  where: c"):
        PSRules(rules=[RULE], k=2, c=c)


@pytest.mark.parametrize("k", [0, 1, 2.5, None, "2", True])
def test_k_is_a_number_of_rows(k):
    with pytest.raises(ParameterError, match="k must be"):
        PSRules(rules=[RULE], k=k, c=0.5)


@pytest.mark.parametrize(
    ("public", "sensitive", "said"),
    [
        (["a", SECRET], [SECRET], "both public and sensitive"),
        ([], [SECRET], "no public item"),
        (["a"], [], "no sensitive item"),
        (["nowhere"], [SECRET], "a public item does not occur"),
        (["a"], ["nowhere"], "a sensitive item does not occur"),
        (None, ["a", "b", SECRET], "no public item"),
        ("a", [SECRET], "public must be a list of items"),
    ],
)
def test_what_is_neither_public_nor_sensitive(public, sensitive, said):
    with pytest.raises(ParameterError, match=said) as caught:
        constraints.ps_rules(frame_of([{"a", "b", SECRET}]), public, sensitive, 2)
    assert SECRET not in str(caught.value)


def test_items_that_do_not_occur_prove_nothing():
    frame = frame_of([{"a", "s"}, {"a"}])
    for rule in ((["q"], ["s"]), (["a"], ["q"])):
        with pytest.raises(ParameterError, match="does not occur"):
            frame.txanon.audit(PSRules(rules=[rule], k=2, c=0.5))
    for public, sensitive in ((["q"], ["s"]), (["a"], ["q"])):
        with pytest.raises(ParameterError, match="does not occur"):
            frame.txanon.audit(PSRules(rules=constraints.AllRules(2, sensitive, public), k=2, c=0.5))


def test_a_mapping_of_another_release_is_refused():
    frame = frame_of([{"a", "s"}, {"b"}])
    for rules in ([RULE], constraints.AllRules(1, ["s"])):
        with pytest.raises(ParameterError, match="labels that the mapping lacks"):
            frame.txanon.audit(PSRules(rules=rules, k=2, c=0.5, mapping=mapping_of({"a": "a", "s": "s"})))
        with pytest.raises(ParameterError, match="another item has the label of a sensitive item"):
            PSRules(rules=rules, k=2, c=0.5, mapping=mapping_of({"a": "s", "s": "s"}))
        with pytest.raises(ParameterError, match="a sensitive item is generalized"):
            PSRules(rules=rules, k=2, c=0.5, mapping=mapping_of({"a": "a", "s": "(s,t)", "t": "(s,t)"}))


def test_sets_cannot_be_counted_without_a_mapping():
    frame = frame_of([{"(a,b)"}, {"(a,b)", "s"}, {"s", "a"}, {"a"}])
    with pytest.raises(ParameterError, match="a known item is a member of a published set"):
        frame.txanon.audit(PSRules(rules=[RULE], k=2, c=0.9))
    with pytest.raises(ParameterError, match="a known item is a member of a published set"):
        frame.txanon.audit(PSRules(rules=constraints.AllRules(1, ["s"], ["a"]), k=2, c=0.9))
    assert frame.txanon.audit(PSRules(rules=constraints.AllRules(1, ["s"]), k=2, c=0.9)).holds


def test_what_a_release_left_out_is_known_from_its_mapping():
    mapping = mapping_of({"a": "a", "b": None, "s": "s", "t": None})
    mapping.attrs["empty_rows"] = 1
    frame = frame_of([{"a", "s"}, {"a"}, set()])
    rules = [(["a"], ["s", "t"]), (["a"], ["t"]), (["a", "b"], ["s"])]
    assert frame.txanon.audit(PSRules(rules=rules, k=2, c=0.5, mapping=mapping)).holds
    # Of b nothing is left: who knows it finds three rows, one of which has s.
    assert frame.txanon.audit(PSRules(rules=[(["b"], ["s"])], k=3, c=0.4, mapping=mapping)).holds
    audit = frame.txanon.audit(PSRules(rules=[(["b"], ["s"])], k=3, c=0.3, mapping=mapping))
    assert (audit.rows_at_risk, threats_of(audit)) == (3, [(set(), {"s"}, 3)])
    # A missing row is not one of them.
    audit = frame_of([{"a", "s"}, {"a"}, set(), None]).txanon.audit(audit.guarantee)
    assert (audit.rows_at_risk, threats_of(audit)) == (3, [(set(), {"s"}, 3)])
    audit = frame.txanon.audit(
        PSRules(rules=constraints.AllRules(1, ["s", "t"]), k=2, c=0.3, mapping=mapping)
    )
    assert (audit.rows_at_risk, threats_of(audit)) == (3, [(set(), {"s"}, 3)])


def test_no_message_shows_an_item():
    frame = frame_of([{SECRET, "b"}, {"b"}])
    guarantee = PSRules(rules=[([SECRET], ["b"])], k=2, c=0.5)
    audit = frame.txanon.audit(guarantee)
    every = constraints.ps_rules(frame, None, [SECRET], 1)
    shown = [guarantee, guarantee.rules, audit, every, PSRules(rules=every, k=2, c=0.5)]
    assert all(SECRET not in repr(each) for each in shown)
    again = pickle.loads(pickle.dumps(guarantee))
    assert frame.txanon.audit(again).rows_at_risk == audit.rows_at_risk == 1
    assert len(pickle.loads(pickle.dumps(every))) == 1


def test_a_label_that_a_row_repeats():
    """To rules that are listed it is one; of all rules some know it twice."""
    frame = pd.DataFrame({"items": [["a", "a"], ["a"], ["s"]]})
    assert frame.txanon.audit(PSRules(rules=[RULE], k=2, c=0.5)).holds
    audit = frame.txanon.audit(PSRules(rules=constraints.AllRules(2, ["s"]), k=2, c=0.5))
    assert [*map(list, audit.threats["itemset"])] == [["a", "a"]]
