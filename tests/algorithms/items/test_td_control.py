"""TDControl: the naive version, an audit by all subsets, and no loss above that of SuppressControl."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of
from naive import inferences, rho_control as naive

from examples import ALL, some
from pdanon import HierarchyError, ParameterError, RhoUncertainty, guarantees
from pdanon.algorithms.items import rho as algorithms
from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.items.rho import Demand, Expansion
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex

SHARES = [1 / 2, 1 / 3, 2 / 3, 1 / 4, 0.8, 0.999]
TOY = [{"a", "b", "x"}, {"a", "x"}, {"a", "b"}, {"b"}]


def parted(draw, items, depth=0):
    """A nested dict of categories over items, with parts of any size."""
    if depth == 2 or len(items) < 3 or draw.random() < 0.2:
        return items
    parts, rest = [], items
    while rest:
        size = draw.randint(1, max(len(rest) - (not parts), 1))
        parts.append(rest[:size])
        rest = rest[size:]
    return {f"{depth}.{part[0]}": parted(draw, part, depth + 1) for part in parts}


def tables(number, first=0):
    """Random tables with what is asked of them and a tree, each by a seed of its own."""
    for seed in range(first, first + number):
        draw = random.Random(seed)
        items = "abcdefgh"[: draw.randint(2, 8)]
        rows = [{each for each in items if draw.random() < 0.35} for _ in range(draw.randint(2, 12))]
        rows = [None if draw.random() < 0.04 else row for row in rows]
        if not (there := sorted({item for row in rows for item in row or ()})):
            continue
        sensitive = draw.sample(there, draw.randint(1, (len(there) + 1) // 2))
        m, scope = draw.choice([None, None, 1, 2, 3]), draw.choice(["all", "sensitive"])
        leaves = [item for item in items if item not in sensitive or draw.random() < 0.5]
        tree = {"all": parted(draw, draw.sample(leaves, len(leaves))) or ["spare"]}
        yield rows, draw.choice(SHARES), sensitive, m, scope, tree


def became(result):
    mapping = result.mapping
    labels = mapping["generalized"].astype(object).where(mapping["generalized"].notna(), None)
    return dict(zip(mapping["item"], labels, strict=True))


def published(result):
    return [frozenset(row) for row in result.frame["items"].tolist() if row is not pd.NA and row is not None]


def descended(rows, rho, sensitive, m, scope, tree):
    """The best cut, also where it loses more than to suppress alone."""
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    texts = itemsets.texts()
    hierarchy, leaves, n_leaves = find_leaves(tree, pa.array(texts), np.isin(texts, sensitive))
    is_sensitive = np.isin(np.arange(hierarchy.n_nodes), leaves[np.isin(texts, sensitive)])
    may_go = is_sensitive if scope == "sensitive" else np.ones_like(is_sensitive)
    demand = Demand(is_sensitive, rho, m, itemsets.n_present, may_go)
    found = Expansion(SupportIndex.of(itemsets), hierarchy, leaves, n_leaves, demand).descend()
    names = [*hierarchy.names, None]
    return {text: names[node] for text, node in zip(texts, found.nodes, strict=True)}, found.loss


def assert_is_naive(rows, rho, sensitive, m, scope, tree):
    asked = {"rho": rho, "sensitive": sensitive, "m": m, "scope": scope}
    result = frame_of(rows).txanon.td_control(**asked, hierarchy=tree)
    share = Fraction(rho).limit_denominator(10**9)
    expected = naive.stops(rows, share, sensitive, m, scope, tree)
    became_expected, loss = naive.least(expected)
    assert became(result) == became_expected
    assert descended(rows, share, sensitive, m, scope, tree) == naive.least(expected[1:])
    left = published(result)
    assert not inferences.breaking_rules(left, share, frozenset(sensitive), m)
    assert result.guarantee == RhoUncertainty(rho=rho, sensitive=sensitive, m=m)
    leaves = naive.Tree(tree, sensitive).n_leaves
    assert result.loss["NCP"] == pytest.approx(loss / (leaves * sum(naive.supports(rows).values())))
    suppressed = frame_of(rows).txanon.suppress_control(**asked)
    assert result.loss["NCP"] <= suppressed.loss["NCP"] + 1e-12


def test_random_tables_are_released_as_the_naive_version_does():
    for table in tables(12):
        assert_is_naive(*table)


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(10)))  # so that workers share them
def test_five_thousand_random_tables(part):
    for table in tables(500 if ALL else 100, first=1_000 + 500 * part):
        assert_is_naive(*table)


def test_a_lone_child_is_no_step_that_ends_the_way_down():
    """Nodes with one child lose as much as that child, and the leaves less."""
    tree = {"all": {"one": {"two": {"left": ["a", "b"], "right": ["c"]}}}}
    rows = [{"a"}, {"b"}, {"c", "s"}, {"c"}, {"c"}]
    result = frame_of(rows).txanon.td_control(rho=0.5, sensitive=["s"], hierarchy=tree)
    assert became(result) == {"a": "a", "b": "b", "c": "c", "s": "s"}
    assert descended(rows, Fraction(1, 2), ["s"], None, "all", tree)[1] == 0


def test_it_generalizes_where_that_loses_less_than_to_suppress():
    """Rice gives the flu away; among all grain it does not."""
    rows = [{"flu", "rice"}, *[{"rye"}] * 2, *[{"flu", "tea"}, {"tea"}, {"tea"}] * 4, *[{"flu", "rye"}]]
    tree = {"all": {"grain": ["rice", "rye"], "drink": ["tea", *"12345678"]}}
    asked = {"rho": 0.5, "sensitive": ["flu"]}
    result = frame_of(rows).txanon.td_control(**asked, hierarchy=tree)
    assert became(result) == {"flu": "flu", "rice": "grain", "rye": "grain", "tea": "tea"}
    assert result.loss["NCP"] < frame_of(rows).txanon.suppress_control(**asked).loss["NCP"]


def test_rules_of_any_size_end_where_they_are_not_listed(monkeypatch):
    """Then the search of the audit finds them, when a cut is settled."""
    for name in ("_EASY", "_EASY_STEP", "_ALWAYS"):
        monkeypatch.setattr(algorithms, name, 0)
    for rows, rho, sensitive, _, scope, tree in tables(20, first=300):
        result = frame_of(rows).txanon.td_control(rho=rho, sensitive=sensitive, scope=scope, hierarchy=tree)
        share = Fraction(rho).limit_denominator(10**9)
        left = published(result)
        assert result.guarantee.m is None
        assert not inferences.breaking_rules(left, share, frozenset(sensitive))


def test_sensitive_items_need_not_be_in_the_hierarchy():
    frame = frame_of(TOY)
    tree = {"all": ["a", "b"]}
    inside = {"all": {"some": ["a", "b"], "other": ["x"]}}
    for hierarchy in (tree, inside, 2):
        result = frame.txanon.td_control(rho=0.5, sensitive=["x"], hierarchy=hierarchy)
        assert result.frame.txanon.audit(result.guarantee).holds
    with pytest.raises(HierarchyError, match="does not cover"):
        frame.txanon.td_control(rho=0.5, sensitive=["x"], hierarchy={"all": ["a", "x"]})


@pytest.mark.parametrize("m", [None, 3])
def test_it_never_loses_more_than_all_sensitive_items_however_early_a_search_ends(monkeypatch, m):
    """Any part of 12 items could give s away, so that only what says next to nothing is proven."""
    monkeypatch.setattr(guarantees.rho, "_STEPS", 3000)
    monkeypatch.setattr(algorithms, "_EASY", 0)
    items = frozenset("abcdefghijkl")
    frame = frame_of([(items - {each}) | own for each in items for own in ({"s"}, set())])
    result = frame.txanon.td_control(rho=0.5, sensitive=["s"], hierarchy=3, m=m)
    assert result.guarantee.m == m
    assert result.loss["NCP"] == pytest.approx(12 / (24 * 11 + 12) if m is None else 0)


@pytest.mark.parametrize("hierarchy", [2, {"all": ["a", "b"]}])
def test_where_all_items_are_sensitive_there_is_nothing_to_generalize(hierarchy):
    frame = frame_of([{"s", "t"}, {"s"}, {"t"}, {"t"}, set(), set(), set()])
    asked = {"rho": 0.5, "sensitive": ["s", "t"]}
    result = frame.txanon.td_control(**asked, hierarchy=hierarchy)
    assert became(result) == {"s": "s", "t": "t"}
    result = frame[:4].txanon.td_control(**asked, hierarchy=hierarchy)  # t is in three of four rows
    assert became(result) == {"s": "s", "t": None}


@pytest.mark.parametrize(
    "asked", [{"rho": 1}, {"m": 0}, {"scope": "nodes"}, {"sensitive": []}, {"sensitive": ["not there"]}]
)
def test_bad_input(asked):
    with pytest.raises(ParameterError):
        frame_of(TOY).txanon.td_control(**{"rho": 0.5, "sensitive": ["x"], "hierarchy": 2, **asked})


@pytest.mark.parametrize("hierarchy", [2, {"all": ["y", "z"]}])
def test_where_all_items_are_sensitive_it_is_as_suppress_control(hierarchy):
    frame = frame_of(TOY)
    asked = {"rho": 0.5, "sensitive": ["a", "b", "x"]}
    result = frame.txanon.td_control(**asked, hierarchy=hierarchy)
    assert result.mapping.equals(frame.txanon.suppress_control(**asked).mapping)
    assert frame.txanon.anonymize(RhoUncertainty(**asked), hierarchy=hierarchy).holds


def test_who_says_what_must_hold_gets_what_loses_less():
    rows = [{"flu", "rice"}] * 2 + [{"rice"}] + [{"rye"}] * 3
    tree = {"all": {"grain": ["rice", "rye"], "drink": ["tea", *"12345678"]}}
    asked = RhoUncertainty(rho=0.5, sensitive=["flu"])
    result = frame_of(rows).txanon.anonymize(asked, hierarchy=tree)
    assert result.tried["algorithm"].tolist() == ["suppress_control", "td_control"]
    assert result.tried["loss"].tolist() == pytest.approx(
        [2 / 8, 2 / 3 * 6 / 8]
    )  # the flu; two of three items
    assert result.parameters["algorithm"] == "suppress_control"
    rows += [{"tea"}] * 9 + [{"1"}] * 9 + [{"2"}] * 9
    result = frame_of(rows).txanon.anonymize(asked, hierarchy=tree)
    assert result.parameters["algorithm"] == "td_control"
    assert frame_of(rows).txanon.anonymize(asked).parameters["algorithm"] == "suppress_control"
