"""rho-uncertainty: the audit against all subsets of all rows."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of
from naive import inferences as naive

from examples import seeds, some
from pdanon import ParameterError, RhoUncertainty, config, datasets, read_parquet
from pdanon.guarantees import rho as inferences
from pdanon.guarantees.breaches import Breaches
from pdanon.guarantees.rho import Owners
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import TimeLimitError, limit_time

SHARES = [Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(999, 1000), Fraction(1, 10)]
TOY = [{"a", "b", "x"}, {"a", "x"}, {"a", "b"}, {"b"}]


def rules_of(audit):
    lists = pa.array(audit.threats["itemset"]).to_pylist()
    return {(frozenset(each), item) for each, item in zip(lists, audit.threats["sensitive"], strict=True)}


def random_table(seed):
    """Rows over few items, often alike, empty and missing ones among them; which are sensitive; and rho."""
    draw = np.random.default_rng(seed)
    items = np.array(list("abcdefgh")[: draw.integers(2, 9)])
    popular = draw.random(len(items)) ** 2
    rows = [frozenset(items[draw.random(len(items)) < popular].tolist()) for _ in range(draw.integers(1, 9))]
    rows += [rows[place] for place in draw.integers(0, len(rows), draw.integers(0, 25))]
    rows += [row - {draw.choice(items)} for row in rows[: draw.integers(0, 12)]]
    rows += [None] * draw.integers(0, 3)
    occurring = sorted(frozenset().union(*(row for row in rows if row is not None)))
    if not occurring:
        return random_table(seed + 10**6)
    sensitive = draw.choice(occurring, draw.integers(1, len(occurring) + 1), replace=False)
    return rows, frozenset(sensitive.tolist()), SHARES[draw.integers(len(SHARES))]


def compare(seed, sizes):
    rows, sensitive, rho = random_table(seed)
    for m in sizes:
        audit = RhoUncertainty(rho=rho, sensitive=sorted(sensitive), m=m).audit(frame_of(rows))
        rules = naive.breaking_rules(rows, rho, sensitive, m)
        minimal = naive.minimal_rules(rules)
        assert rules_of(audit) == minimal
        assert audit.holds == (not rules)
        assert audit.rows_at_risk == naive.rows_at_risk(rows, minimal)
        assert audit.guarantee.m == m
        for itemset, support, item, confidence in audit.threats.drop(columns="why").itertuples(index=False):
            assert support == naive.support([row for row in rows if row is not None], frozenset(itemset))
            assert confidence == float(naive.confidence(rows, frozenset(itemset), item))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(600))
def test_audit_is_the_naive_recount(seed):
    compare(seed, [None, 1 + seed % 4])


def searched(rows, sensitive, rho):
    """What a search of any size finds, and which sensitive items it is for: not those that are frequent."""
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    is_sensitive = np.isin(itemsets.texts(), sorted(sensitive))
    owners = Owners.of(SupportIndex.of(itemsets), is_sensitive, Fraction(rho), itemsets.n_present)
    found, is_all, *_ = owners._search_within_limit(0, 10**9)
    assert is_all
    found = found.recode(owners.order)
    texts = np.array(itemsets.texts())
    rules = {
        (frozenset(texts[list(antecedent)].tolist()), texts[item])
        for antecedent, item in zip(found.antecedents.sets(), found.sensitive, strict=True)
    }
    return rules, set(texts[owners.order[owners.items]].tolist())


@pytest.mark.parametrize("seed", seeds(600, 10_000))
def test_closed_sets_decide_for_all(seed):
    """What is found breaks rho, and one is found for each item for which there is one."""
    rows, sensitive, rho = random_table(seed)
    found, items = searched(rows, sensitive, rho)
    rules = naive.breaking_rules(rows, rho, sensitive)
    assert found <= rules
    assert {item for _, item in found} == {item for antecedent, item in rules if item in items}


@pytest.mark.parametrize("seed", seeds(400, 20_000))
def test_nothing_is_promised_that_was_not_proven(seed, monkeypatch):
    """However early a search ends, a promise is true, and a breach that is reported is there."""
    rows, sensitive, rho = random_table(seed)
    monkeypatch.setattr(inferences, "_STEPS", int(np.random.default_rng(seed).integers(1, 400)))
    audit = RhoUncertainty(rho=rho, sensitive=sorted(sensitive)).audit(frame_of(rows))
    rules = naive.breaking_rules(rows, rho, sensitive)
    if audit.holds:
        assert not naive.breaking_rules(rows, rho, sensitive, audit.guarantee.m)
        assert audit.threats.empty or audit.guarantee.m is not None
    else:
        assert audit.guarantee.m is None
        assert 0 < audit.rows_at_risk <= naive.rows_at_risk(rows, rules)
        assert len(rules_of(audit))
    assert rules_of(audit) <= rules


def test_a_search_that_ends_early_says_how_far_it_came(monkeypatch):
    """Nothing breaks one half, but any part of 12 items could."""
    items = frozenset("abcdefghijkl")
    rows = [items - {each} | own for each in items for own in ({"s"}, set())]
    guarantee = RhoUncertainty(rho=0.5, sensitive=["s"])
    assert frame_of(rows).txanon.audit(guarantee).guarantee.m is None
    monkeypatch.setattr(inferences, "_STEPS", 3000)
    audit = frame_of(rows).txanon.audit(guarantee)
    assert audit.holds
    assert repr(audit.guarantee) == "RhoUncertainty(rho=0.5, sensitive=1 items, m=1)"


@pytest.mark.slow
def test_a_time_limit_stops_the_search_of_an_algorithm_and_no_audit(monkeypatch):
    """Any part of dense rows could give s away; each is in one row with it and in one without."""
    monkeypatch.setattr(inferences, "_STEPS", 4 * 10**7)
    draw = np.random.default_rng(0)
    rows = [np.flatnonzero(draw.random(60) < 0.7).tolist() for _ in range(50)]
    frame = pd.DataFrame({"items": [row + own for row in rows for own in ([99], [])]})
    index = SupportIndex.of(Itemsets.from_series(frame["items"]))
    is_sensitive = np.arange(index.n_items) == index.n_items - 1
    with limit_time(0.01):
        with pytest.raises(TimeLimitError):
            inferences.find_inferences(index, is_sensitive, Fraction(1, 2), index.n_rows)
        assert RhoUncertainty(rho=0.5, sensitive=[99]).audit(frame).guarantee.m is not None


@pytest.mark.parametrize(("name", "m"), [("groceries", 3), ("uci_msweb_train", 2)])
def test_real_rows_are_those_of_breaches(data, name, m):
    """The search for known items that give a secret away, item by item, marks the same rows."""
    index = SupportIndex.of(Itemsets.from_series(list_column(read_parquet(data / f"{name}.parquet"))))
    sensitive = np.arange(index.n_items) % 20 == 3
    owners = Owners.of(index, sensitive, Fraction(1, 2), index.n_rows)
    assert not len(owners.frequent)
    expected = np.zeros(len(index.weights), np.bool_)
    for item in np.flatnonzero(sensitive):
        alone = np.arange(index.n_items) == item
        known, secret = index.keep_items(~alone), index.keep_items(alone)
        expected |= Breaches(known, secret, Fraction(1, 2), m).rows_at_risk()
    marked = np.zeros(len(owners.index.weights), np.bool_)
    owners.search(m, marked)
    assert owners.index.weights[marked].sum() == index.weights[expected].sum() > 0


def test_threads_and_the_order_of_rows_change_nothing(monkeypatch):
    """Nor does it matter where a search ends: it is a number of steps, for each item by itself."""
    rows = datasets.make_baskets(1_500, 40, random_state=0)[["items"]]
    some = rows["items"].iloc[0][:2] + rows["items"].iloc[1][:2]
    found = []
    for n, steps in itertools.product((1, 2, 3), (10**4, 10**6, 10**9)):
        config(threads=n)
        monkeypatch.setattr(inferences, "_STEPS", steps)
        audit = RhoUncertainty(rho=0.4, sensitive=some).audit(rows.iloc[::-1] if n == 3 else rows)
        found.append((steps, repr(audit), len(audit.threats), audit.threats["support"].sum()))
    config(threads=None)
    assert len(set(found)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("start", some(range(1000, 6000, 500)))
def test_audit_is_the_naive_recount_of_thousands(start):
    for seed in range(start, start + 500):
        compare(seed, [None, 1 + seed % 3])


def test_toy():
    audit = frame_of(TOY).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["x"]))
    assert rules_of(audit) == {(frozenset("a"), "x")}
    assert audit.rows_at_risk == 3
    assert frame_of([row - {"a"} for row in TOY]).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["x"])).holds
    assert audit.threats["why"].tolist() == ["inference"]


def test_exactly_rho_is_allowed():
    """As floats, 3 > 9 * (1 / 3) could go either way."""
    rows = [{"a", "s"}] * 3 + [{"a"}] * 6
    assert frame_of(rows).txanon.audit(RhoUncertainty(rho=1 / 3, sensitive=["s"])).holds
    assert not frame_of(rows[:-1]).txanon.audit(RhoUncertainty(rho=1 / 3, sensitive=["s"])).holds


def test_sensitive_items_are_knowledge():
    """Everybody with gout has flu: l^m-diversity says nothing of it."""
    rows = [{"flu", "gout"}, {"flu"}, {"rice"}, {"rice"}, {"rice"}]
    audit = frame_of(rows).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["flu", "gout"]))
    assert rules_of(audit) == {(frozenset({"gout"}), "flu")}


def test_missing_rows_do_not_hide_what_the_others_have():
    assert (
        not frame_of([{"s"}, {"s"}, {"a"}, None, None])
        .txanon.audit(RhoUncertainty(rho=0.5, sensitive=["s"]))
        .holds
    )
    assert frame_of([{"s"}, {"s"}, {"a"}, set()]).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["s"])).holds


def test_items_that_are_all_sensitive_are_known_to_each_other():
    rows = [{"s", "t"}, {"s"}, {"t"}, {"t"}, set()]
    audit = frame_of(rows).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["s", "t"]))
    assert rules_of(audit) == {(frozenset(), "t")}
    assert audit.rows_at_risk == 5
    audit = frame_of([*rows, set(), set()]).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["s", "t"]))
    assert audit.holds


def test_a_label_that_a_row_repeats_is_one_more():
    """Who knows of one dose of the drug knows of the second."""
    frame = pd.DataFrame({"items": [["s", "s"], ["s", "s"], ["s"], ["a"], ["a"]]})
    audit = frame.txanon.audit(RhoUncertainty(rho=0.6, sensitive=["s"]))
    assert pa.array(audit.threats["itemset"]).to_pylist() == [["s", "s"], ["s"]]
    assert audit.threats["confidence"].tolist() == [1, 2 / 3]


def test_items_of_any_type():
    frame = pd.DataFrame({"items": [[1, 7], [7], [1], [2]]})
    audit = frame.txanon.audit(RhoUncertainty(rho=0.4, sensitive=[7]))
    assert audit.threats["sensitive"].tolist() == [7]
    assert audit.threats["itemset"].map(len).tolist() == [0]


@pytest.mark.parametrize("m", [None, 2])
def test_what_was_left_out_is_inferred_from_nothing(m):
    rows = [{"a"}, {"a", "b"}, None]
    mapping = pd.DataFrame({"group": 0, "item": list("abs"), "generalized": ["a", "b", None]})
    guarantee = RhoUncertainty(rho=0.5, sensitive=["s"], m=m)
    with pytest.raises(ParameterError, match="a sensitive item does not occur"):
        guarantee.audit(frame_of(rows))
    audit = guarantee.with_mapping(mapping).audit(frame_of(rows))
    assert audit.holds
    assert audit.threats.empty
    assert audit.guarantee == guarantee


@pytest.mark.parametrize("m", [None, 1, 3])
def test_what_cannot_be_counted_is_refused(m):
    with pytest.raises(ParameterError, match="a sensitive item is a member of a published set"):
        RhoUncertainty(rho=0.5, sensitive=["s"], m=m).audit(frame_of([{"(a,s)"}, {"s"}]))
    with pytest.raises(ParameterError, match="labels of a row share an item"):
        RhoUncertainty(rho=0.5, sensitive=["s"], m=m).audit(frame_of([{"(a,b)", "(a,c)"}, {"s"}]))


@pytest.mark.parametrize("rho", [0, 1, -0.5, 1.5, 1e-12, float("nan"), "0.5", None, True])
def test_rho_is_a_share(rho):
    with pytest.raises(ParameterError, match="rho must be above 0 and below 1\n  where: rho"):
        RhoUncertainty(rho=rho, sensitive=["s"])


def test_repr_says_what_is_promised_and_names_nobody():
    assert repr(RhoUncertainty(rho=0.5, sensitive=[SECRET])) == "RhoUncertainty(rho=0.5, sensitive=1 items)"
    assert (
        repr(RhoUncertainty(rho=1 / 3, sensitive=[SECRET, "s"], m=2))
        == "RhoUncertainty(rho=1/3, sensitive=2 items, m=2)"
    )
