"""PS-rules by bisection: compared with a naive version, and what it promises by itself."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, strategies as st
from naive.bisection import Sets
from naive.rules import all_rules, broken
from pace import timed

import pdanon
from examples import some
from pdanon import InfeasibleError
from pdanon._kernels.clusters import compare_growth
from pdanon.algorithms.items.ps_rules import repair_sets
from pdanon.algorithms.states.rules import rules_of
from pdanon.algorithms.weights import item_weights
from pdanon.guarantees.ps import AllRules
from pdanon.itemsets.codes import Itemsets

ITEMS = "abcdefgh"


class Case:
    """A random table with rules, and what is asked of them."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        share = rng.uniform(0.2, 0.7)
        rows = [
            frozenset(np.array([*ITEMS[:n], "s", "t"])[rng.random(n + 2) < share])
            for _ in range(int(rng.integers(4, 25)))
        ]
        self.rows = [frozenset(map(str, row)) for row in rows]
        held = frozenset().union(*self.rows)
        self.public, self.sensitive = sorted(held - {"s", "t"}), sorted(held & {"s", "t"})
        self.m = [1, 2, 3, None][rng.integers(4)]
        self.listed = bool(rng.integers(2))
        self.k, self.c = int(rng.integers(2, 5)), float(rng.choice([0.3, 0.5, 0.6, 0.75, 0.9]))
        self.weights = (
            {item: int(rng.integers(1, 5)) * 13107 for item in [*ITEMS, *"st"]} if rng.integers(2) else None
        )
        if self.public and self.sensitive:
            every = all_rules(self.public, self.sensitive, self.m)
            both = [(known, frozenset("st")) for known, _ in every] if len(self.sensitive) == 2 else []
            chosen = rng.permutation(len(every + both))[: int(rng.integers(1, 9))]
            self.rules = [(every + both)[place] for place in chosen] if self.listed else every
            self.sensitive = sorted(frozenset().union(*(sensitive for _, sensitive in self.rules)))
            self.public = sorted(held - {*self.sensitive})

    def is_one(self):
        return bool(self.public and self.sensitive)

    def asked(self):
        rules = (
            [[*map(sorted, rule)] for rule in self.rules] if self.listed else AllRules(self.m, self.sensitive)
        )
        weights = self.weights and {
            item: weight / 65535 for item, weight in self.weights.items() if item in self.public
        }
        return {"rules": rules, "k": self.k, "c": self.c, "weights": weights}

    def naive(self):
        return Sets(self.rows, self.rules, self.k, self.c, frozenset(self.public), self.weights)


def assert_as_naive(seed):
    case = Case(seed)
    if not case.is_one():
        return
    sets = case.naive()
    if not sets.begin():
        with pytest.raises(InfeasibleError):
            frame_of(case.rows).txanon.ps_rules(**case.asked())
        return
    sets.part()
    result = frame_of(case.rows).txanon.ps_rules(**case.asked())
    became = result.mapping.set_index("item")["generalized"]
    parts = sorted(sorted(became.index[became == label]) for label in became[case.public].unique())
    others = sorted(set(case.public) - {item for part in sets.parts for item in part})
    assert parts == sorted(sets.partition() + [[item] for item in others]), seed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("part", range(4))
def test_sets_are_those_of_the_naive_version(part):
    for seed in range(30 * part, 30 * (part + 1)):
        assert_as_naive(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(10)))
def test_sets_are_those_of_the_naive_version_on_many_tables(part):
    for seed in range(10_000 + 500 * part, 10_000 + 500 * (part + 1)):
        assert_as_naive(seed)


def assert_repaired_as_naive(seed):
    """From sets that are too fine, drawn at random."""
    case, rng = Case(seed), np.random.default_rng(seed)
    if not case.is_one() or not (sets := case.naive()).begin():
        return
    items = sorted(sets.parts[0])
    drawn = rng.integers(0, len(items), len(items))
    sets.parts = [frozenset(np.array(items)[drawn == number].tolist()) for number in np.unique(drawn)]
    itemsets = Itemsets.from_series(frame_of(case.rows)["items"])
    asked = case.asked()
    rules = rules_of(pdanon.PSRules(rules=asked["rules"], k=case.k, c=case.c), itemsets)
    texts = itemsets.texts()
    labels = np.full(len(texts), -1, np.int32)
    for part in sets.parts:
        labels[[texts.index(item) for item in part]] = texts.index(min(part))
    weights = item_weights(asked["weights"], itemsets)
    became = repair_sets(rules, labels, weights)
    sets.repair(case.m, listed=case.listed)
    found = [
        sorted(texts[code] for code in np.flatnonzero(became == label))
        for label in np.unique(became[became >= 0])
    ]
    assert sorted(found) == sets.partition(), seed


@pytest.mark.parametrize("part", range(2))
def test_repair_is_that_of_the_naive_version(part):
    for seed in range(60 * part, 60 * (part + 1)):
        assert_repaired_as_naive(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(10)))
def test_repair_is_that_of_the_naive_version_on_many_tables(part):
    for seed in range(20_000 + 500 * part, 20_000 + 500 * (part + 1)):
        assert_repaired_as_naive(seed)


# --- the example of the specification, by hand

TOY = [["a", "b", "s"], ["a", "b"], ["a", "c", "s"], ["b", "c"], ["c"]]
TOY_RULES = [(["a"], ["s"]), (["b"], ["s"]), (["c"], ["s"])]


def toy(**asked):
    return pd.DataFrame({"items": TOY}).txanon.ps_rules(**({"rules": TOY_RULES, "k": 2, "c": 0.6} | asked))


def labels_of(result):
    labels = (None if label is pd.NA else label for label in result.mapping["generalized"])
    return dict(zip(result.mapping["item"], labels, strict=True))


@pytest.mark.parametrize("rules", [TOY_RULES, AllRules(1, ["s"])])
def test_of_two_partitions_that_are_safe_the_one_that_loses_less_comes_out(rules):
    """(a,c) would be in five rows and (a,b) is in four; a by itself would give s away in 2 of 3."""
    assert labels_of(toy(rules=rules)) == {"a": "(a,b)", "b": "(a,b)", "c": "c", "s": "s"}


def test_a_share_of_exactly_c_is_enough_and_k_rows_are():
    assert labels_of(toy(c=0.5))["a"] == "(a,b)"  # in 2 of 4
    assert labels_of(toy(c=0.49))["a"] == "(a,c)"  # in 2 of 5, and b by itself in 1 of 3
    assert labels_of(toy(c=0.7))["a"] == "a"  # in 2 of 3
    assert labels_of(toy(c=0.7, k=4))["a"] == "(a,b,c)"


def test_items_that_no_rule_knows_stay_as_they_are():
    result = toy(rules=[(["a"], ["s"]), (["b"], ["s"])])
    assert labels_of(result)["c"] == "c"
    assert result.guarantee.rules is result.parameters["rules"]


def test_items_that_no_rule_knows_hide_others_if_they_must():
    """Two of two rows with a have s: only with the rows of c they are half of all."""
    frame = pd.DataFrame({"items": [["a", "s"], ["a", "s"], ["c"], ["c"], ["d"]]})
    result = frame.txanon.ps_rules(rules=[(["a"], ["s"])], k=2, c=0.5)
    assert labels_of(result) == {"a": "(a,c)", "c": "(a,c)", "d": "d", "s": "s"}


def test_several_sensitive_items_are_to_be_inferred_together_only():
    frame = pd.DataFrame({"items": [["a", "s", "t"], ["a", "s"], ["b", "t"], ["b"]]})
    result = frame.txanon.ps_rules(rules=[(["a"], ["s", "t"]), (["b"], ["t"])], k=2, c=0.5)
    assert labels_of(result)["a"] == "a"
    result = frame.txanon.ps_rules(rules=[(["a"], ["s"]), (["b"], ["t"])], k=2, c=0.5)
    assert labels_of(result)["a"] == "(a,b)"


def test_labels_are_called_as_asked():
    assert set(toy().relabel("first").frame["items"].explode()) == {"a +1", "c", "s"}


def test_the_less_an_item_weighs_the_longer_it_is_merged():
    frame = pd.DataFrame({"items": [["a", "b", "c", "d"]] * 5 + [[item] for item in "abcd"] + [["s"]]})
    rules = [([item], ["s"]) for item in "abcd"] + [(["a", "c"], ["s"])]
    heavy = {"a": 1, "b": 0.001, "c": 0.001, "d": 0.001}
    assert labels_of(frame.txanon.ps_rules(rules=rules, k=2, c=0.5, weights=heavy))["a"] == "a"


# --- too frequent


def test_items_that_are_too_frequent_are_told_by_count_and_place():
    frame = pd.DataFrame({"items": [[f"{SECRET}-a", "s"], [f"{SECRET}-a", "s"], [f"{SECRET}-a"], ["t"]]})
    rules = AllRules(2, ["s", "t"])
    with pytest.raises(InfeasibleError) as caught:
        frame.txanon.ps_rules(rules=rules, k=2, c=0.5)
    assert "1 of 2 sensitive itemsets, in item order those at 0, are in more than c=0.5 of the 3" in str(
        caught.value
    )
    assert "the least c that works is 2/3, about 0.6667" in str(caught.value)
    assert frame.txanon.ps_rules(rules=rules, k=2, c=0.6667).guarantee
    assert SECRET not in str(caught.value)


def test_what_is_too_frequent_is_suppressed_if_that_is_allowed():
    frame = pd.DataFrame({"items": [["a", SECRET], ["b", SECRET], ["a", "t"], ["b"], None]})
    result = frame.txanon.ps_rules(rules=AllRules(2, [SECRET, "t"]), k=2, c=0.4, suppress=True)
    assert labels_of(result) == {"a": "(a,b)", "b": "(a,b)", SECRET: None, "t": "t"}  # half of a's have t
    assert result.loss["suppressed"] == 2 / 7
    assert result.parameters["suppress"] is True
    assert SECRET.encode() not in pickle.dumps(result.frame)
    assert result.frame["items"].isna().sum() == 0  # a row that is missing would tell that it had none
    assert result.frame.txanon.audit(result.guarantee).holds


def test_of_an_itemset_the_rarest_item_is_suppressed():
    rows = [["a", "s", "t"], ["a", "s", "t"], ["a", "s"], ["a", "u"], ["a"]]
    frame = pd.DataFrame({"items": rows})
    rules = [(["a"], ["s", "t"]), (["a"], ["u"])]
    result = frame.txanon.ps_rules(rules=rules, k=2, c=0.3, suppress=True)
    assert labels_of(result) == {"a": "a", "s": "s", "t": None, "u": "u"}


def test_of_an_itemset_that_has_lost_an_item_no_other_is_suppressed():
    frame = pd.DataFrame({"items": [["a", "s", "t", "u"], ["a", "s", "t", "u"], ["a", "s", "t"], ["a", "t"]]})
    rules = [(["a"], ["s", "t"]), (["a"], ["s", "u"])]  # s is the rarest of the first, u of the second
    result = frame.txanon.ps_rules(rules=rules, k=2, c=0.4, suppress=True)
    assert labels_of(result) == {"a": "a", "s": None, "t": "t", "u": "u"}


def test_suppressing_helps_nobody_who_is_alone():
    frame = pd.DataFrame({"items": [["a", "s"], ["s"], ["s"]]})
    with pytest.raises(InfeasibleError, match="k is larger than the number of rows with a public item"):
        frame.txanon.ps_rules(rules=[(["a"], ["s"])], k=2, c=0.5, suppress=True)


# --- what is refused


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rules": [(["a", "s"], ["s"])]}, "a sensitive item is among the known items of a rule"),
        ({"rules": [(["a"], ["s"]), (["s"], ["t"])]}, "a sensitive item is among the known items of a rule"),
        ({"rules": [([], ["s"])]}, "at least one known and one sensitive item"),
        ({"rules": [(["a"], [])]}, "at least one known and one sensitive item"),
        ({"rules": []}, "at least one known and one sensitive item"),
        ({"rules": [(["x"], ["s"])]}, "does not occur"),
        ({"rules": [(["a"], ["x"])]}, "does not occur"),
        ({"rules": AllRules(2, ["x"])}, "does not occur"),
        ({"rules": AllRules(2, ["s"], ["x"])}, "does not occur"),
        ({"rules": AllRules(2, ["a", "b", "c", "s"])}, "all items are sensitive"),
        ({"c": 0}, "above 0 and below 1"),
        ({"c": 1}, "above 0 and below 1"),
        ({"c": 1.5}, "c must be above 0 and below 1"),
        ({"k": 1}, "k must be"),
        ({"how": "apriori"}, "there is no such way"),
        ({"sample": 0.5}, "sample has no effect"),
        ({"how": "sample", "sample": 0}, "sample must be above 0"),
        ({"how": "sample", "random_state": -1}, "this is no seed"),
        ({"suppress": 1}, "suppress must be True or False"),
        ({"weights": {"a": 2}}, "weights must be numbers"),
    ],
)
def test_what_is_no_rule_or_no_parameter_is_refused(asked, message):
    with pytest.raises(pdanon.ParameterError, match=message):
        toy(**asked)


# --- all rows, and samples of them


@pytest.mark.parametrize("how", [{}, {"how": "sample", "sample": 0.5, "random_state": 3}])
def test_order_and_copies_of_rows_do_not_matter(how):
    rng = np.random.default_rng(0)
    rows = [[item for item in "abcdefgs" if rng.random() < 0.4] for _ in range(60)]
    asked = {"rules": AllRules(2, ["s"]), "k": 3, "c": 0.6} | how
    one = pd.DataFrame({"items": rows}).txanon.ps_rules(**asked)
    if not how:
        other = pd.DataFrame({"items": rows[::-1]}).txanon.ps_rules(**asked)
        pd.testing.assert_frame_equal(one.mapping, other.mapping)
    again = pd.DataFrame({"items": rows}).txanon.ps_rules(**asked)
    pd.testing.assert_frame_equal(one.mapping, again.mapping)


def test_a_sample_is_repaired_on_all_rows():
    """In a sample of a tenth hardly any rule holds as it does in all rows."""
    repairs = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = [[item for item in "abcdefghst" if rng.random() < 0.3] for _ in range(80)]
        frame = pd.DataFrame({"items": rows})
        rules = AllRules(2, ["s", "t"])
        asked = {"rules": rules, "k": 4, "c": 0.5, "suppress": True}
        sampled = frame.txanon.ps_rules(**asked, how="sample", sample=0.2, random_state=seed)
        naive = all_rules("abcdefgh", "st", 2)
        published = [frozenset(row) for row in sampled.frame["items"]]
        assert not broken(published, naive, 4, Fraction(1, 2), labels_of(sampled))
        repairs += (
            sampled.mapping["generalized"].nunique()
            != frame.txanon.ps_rules(**asked).mapping["generalized"].nunique()
        )
    assert repairs > 1


def test_the_whole_as_a_sample_is_all_rows():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"items": [[item for item in "abcdefghs" if rng.random() < 0.4] for _ in range(60)]})
    asked = {"rules": AllRules(2, ["s"]), "k": 3, "c": 0.6}
    one = frame.txanon.ps_rules(**asked)
    pd.testing.assert_frame_equal(one.mapping, frame.txanon.ps_rules(**asked, how="sample", sample=1).mapping)


# --- comparing losses of many items


numbers = st.integers(0, 2**47 - 1)


@given(st.lists(st.tuples(st.integers(1, 120), numbers, numbers), min_size=2, max_size=2))
def test_growth_is_compared_exactly(sides):
    sides = [(size, *sorted(rows)) for size, *rows in sides]
    one, other = ((2 ** (size + 1) - 1) * new - (2**size - 1) * old for size, old, new in sides)
    assert compare_growth(*sides[0], *sides[1]) == (one > other) - (one < other)


@given(st.integers(1, 60), st.integers(0, 4), st.integers(0, 2**46), st.integers(-3, 3))
def test_growth_that_is_nearly_alike_is_compared_exactly(size, more, rows, nearly):
    sides = [(size, rows, rows), (size + more, rows >> more, max((rows >> more) + nearly, rows >> more))]
    one, other = ((2 ** (size + 1) - 1) * new - (2**size - 1) * old for size, old, new in sides)
    assert compare_growth(*sides[0], *sides[1]) == (one > other) - (one < other)


# --- real data


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seconds"), [("bms_webview1", 5), ("bms_webview2", 30)])
def test_all_pairs_of_real_data(data, name, seconds):
    frame = pdanon.read_parquet(data / f"{name}.parquet")
    items = sorted(frame["items"].itemset.items)
    sensitive = np.random.default_rng(0).choice(items, 20, replace=False).tolist()
    rules = pdanon.constraints.ps_rules(frame, None, sensitive, 2)
    result, taken = timed(lambda: frame.txanon.ps_rules(rules=rules, k=5, c=0.5))
    assert taken < seconds
    told = result.guarantee.mapping
    assert set(told["generalized"][told["item"].isin(sensitive)]) == {*map(str, sensitive)}
    coherence = pdanon.Coherence(h=0.5, k=5, p=2, private=sensitive).with_mapping(result.mapping)
    assert result.frame.txanon.audit(coherence).holds


@pytest.mark.usefixtures("tables_only")
def test_a_report_says_for_which_rules_it_is(tmp_path):
    frame = frame_of([{"a", "s"}, {"a"}, {"b", SECRET}, {"b"}])
    for rules, told in [
        (AllRules(2, ["s", SECRET]), "AllRules(m=2, public=all others, sensitive=2 items)"),
        ([(["a"], ["s"]), (["b"], [SECRET])], "2 given"),
    ]:
        path = tmp_path / "report.html"
        frame.txanon.ps_rules(rules=rules, k=2, c=0.5).report(path)
        assert told in path.read_text()
