"""SuppressControl: the naive version, the optimum, an audit by all subsets, and what is said of it."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from naive import inferences, rho_control as naive

import pdanon
from examples import ALL
from pdanon import ParameterError, RhoUncertainty
from pdanon.algorithms.items import rho as algorithms

SHARES = [1 / 2, 1 / 3, 2 / 3, 1 / 4, 0.8, 0.999]
TOY = [{"a", "b", "x"}, {"a", "x"}, {"a", "b"}, {"b"}]


def tables(number, first=0):
    """Random tables with what is asked of them, each by a seed of its own."""
    for seed in range(first, first + number):
        draw = random.Random(seed)
        items = "abcdefgh"[: draw.randint(2, 8)]
        rows = [{each for each in items if draw.random() < 0.35} for _ in range(draw.randint(1, 12))]
        rows = [None if draw.random() < 0.04 else row for row in rows]
        if there := sorted({item for row in rows for item in row or ()}):
            sensitive = draw.sample(there, draw.randint(1, (len(there) + 1) // 2))
            m, scope = draw.choice([None, None, 1, 2, 3]), draw.choice(["all", "sensitive"])
            yield rows, draw.choice(SHARES), sensitive, m, scope


def gone(result):
    mapping = result.mapping
    return set(mapping["item"][mapping["generalized"].isna()])


def assert_is_naive(rows, rho, sensitive, m, scope):
    result = frame_of(rows).txanon.suppress_control(rho=rho, sensitive=sensitive, m=m, scope=scope)
    share = Fraction(rho).limit_denominator(10**9)
    assert gone(result) == naive.suppress_control(rows, share, sensitive, m, scope)
    left = [
        frozenset(row or ()) for row in result.frame["items"].tolist() if row is not None and row is not pd.NA
    ]
    assert not inferences.breaking_rules(left, share, frozenset(sensitive), m)
    assert result.guarantee == RhoUncertainty(rho=rho, sensitive=sensitive, m=m)


def test_random_tables_are_released_as_the_naive_version_does():
    for table in tables(40):
        assert_is_naive(*table)


@pytest.mark.slow
def test_thousands_of_random_tables():
    for table in tables(5_000 if ALL else 200, first=1_000):
        assert_is_naive(*table)


def test_both_answers_of_the_small_oracle():
    """Of the rule a -> x either item can go: x is in 2 rows, a in 3."""
    frame = frame_of(TOY)
    for scope in ("all", "sensitive"):
        assert gone(frame.txanon.suppress_control(rho=0.5, sensitive=["x"], scope=scope)) == {"x"}
    assert naive.optimum(TOY, Fraction(1, 2), ["x"]) == 2
    audit = frame_of([row - {"a"} for row in TOY]).txanon.audit(RhoUncertainty(rho=0.5, sensitive=["x"]))
    assert audit.holds


def test_a_rare_item_goes_rather_than_a_frequent_sensitive_one():
    rows = [{"rare", "flu"}, *[{"flu", "oil"}] * 3, *[{"oil"}] * 4]
    result = frame_of(rows).txanon.suppress_control(rho=0.5, sensitive=["flu"])
    assert gone(result) == {"rare"}
    only = frame_of(rows).txanon.suppress_control(rho=0.5, sensitive=["flu"], scope="sensitive")
    assert gone(only) == {"flu"}
    assert result.loss["NCP"] < only.loss["NCP"]


def test_sensitive_items_lead_to_sensitive_items():
    """Each gives the other one away; what is left is alone in its row, which is one of ten."""
    rows = [{"gout", "flu"}, *[{"oil"}] * 9]
    result = frame_of(rows).txanon.suppress_control(rho=0.5, sensitive=["gout", "flu"])
    assert gone(result) == {"flu"}


def test_it_never_loses_more_than_all_sensitive_items_and_seldom_more_than_the_optimum():
    best = lost = 0
    for rows, rho, sensitive, m, _ in tables(25, first=500):
        share = Fraction(rho).limit_denominator(10**9)
        result = frame_of(rows).txanon.suppress_control(rho=rho, sensitive=sensitive, m=m)
        supports = naive.supports(rows)
        own = sum(supports[item] for item in gone(result))
        least = naive.optimum(rows, share, sensitive, m)
        assert least <= own <= sum(supports[item] for item in sensitive)
        best, lost = best + least, lost + own
    assert lost <= 1.05 * best


@pytest.mark.parametrize("scope", ["all", "sensitive"])
def test_rules_of_any_size_end_where_they_are_not_listed(monkeypatch, scope):
    """Then the search of the audit finds them."""
    monkeypatch.setattr(algorithms, "_EASY", 0)
    monkeypatch.setattr(algorithms, "_ALWAYS", 0)
    for rows, rho, sensitive, _, _ in tables(25, first=300):
        result = frame_of(rows).txanon.suppress_control(rho=rho, sensitive=sensitive, scope=scope)
        share = Fraction(rho).limit_denominator(10**9)
        left = naive.without(rows, gone(result))
        assert result.guarantee.m is None
        assert not inferences.breaking_rules(left, share, frozenset(sensitive))


def test_rules_that_a_search_finds_late_are_met_although_they_need_nothing_that_came_back(monkeypatch):
    """A search with a limit says nothing at first, and then finds rules that were there before."""
    searches = iter([False, True, True])
    thorough = algorithms.find_inferences

    def find_inferences(rows, *asked):
        found, m = thorough(rows, *asked)
        return (found, m) if next(searches, True) else (found.take(np.zeros(0, np.int64)), 1)

    for name, value in {"find_inferences": find_inferences, "_EASY": 0, "_ALWAYS": 1}.items():
        monkeypatch.setattr(algorithms, name, value)
    # First a goes and then s, so that a comes back; c and d together give t away.
    rows = [{"a", "s"}, *[{"x", "s"}] * 2, {"x"}, *[{"z", "s"}] * 2, {"z"}]
    rows += [{"c", "d", "t"}, *[{"c"}] * 2, *[{"d"}] * 2]
    result = frame_of(rows).txanon.suppress_control(rho=0.5, sensitive=["s", "t"])
    left = naive.without(rows, gone(result))
    assert not inferences.breaking_rules(left, Fraction(1, 2), frozenset("st"))


def test_equal_rows_count_as_often_as_they_are_there():
    rows = [{"a", "s"}, *[{"a"}] * 3, {"b", "s"}, {"b"}]
    once = frame_of(rows).txanon.suppress_control(rho=0.4, sensitive=["s"])
    tripled = frame_of(rows * 3).txanon.suppress_control(rho=0.4, sensitive=["s"])
    assert gone(once) == gone(tripled) == {"b"}


def test_it_is_said_if_no_sensitive_item_is_left():
    rows = [{"flu", f"own {number}"} for number in range(20)]
    with pytest.warns(pdanon.UselessWarning, match=r"All sensitive items \(1\) are suppressed") as caught:
        result = frame_of(rows).txanon.suppress_control(rho=0.5, sensitive=["flu"])
    assert "sensitive" in result.useless
    assert "use cahd, which publishes all of them" in caught[0].message.hint


@pytest.mark.parametrize(
    "asked",
    [
        {"rho": 0},
        {"rho": 1},
        {"rho": "half"},
        {"rho": float("nan")},
        {"m": 0},
        {"scope": "some"},
        {"sensitive": []},
        {"sensitive": "flu"},
        {"sensitive": ["not there"]},
    ],
)
def test_bad_input(asked):
    with pytest.raises(ParameterError):
        frame_of(TOY).txanon.suppress_control(**{"rho": 0.5, "sensitive": ["x"], **asked})
