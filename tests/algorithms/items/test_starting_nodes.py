"""Releases of a hierarchy that start from an earlier one: nodes only rise, and added rows expose nobody."""

from __future__ import annotations

import random
from itertools import chain, pairwise, product

import pandas as pd
import pytest
from conftest import frame_of
from naive import itemsets, series as naive
from naive.cuts import hierarchy_of, subtrees

import pdanon
from examples import ALL, seeds
from pdanon import KmAnonymity, ParameterError

ALGORITHMS = ["apriori", "optimal, cut", "hghs", "optimal"]


def release(prepared, name, **options):
    """Run an algorithm on a prepared table: the optimum suppresses nodes, unless it is named a cut."""
    suppressing = {"suppress": True} if name == "optimal" else {}
    return getattr(prepared, name.removesuffix(", cut"))("items", **options, **suppressing)


def random_tree(draw, items="abcdefgh"):
    """A ragged tree, with nodes of one child."""
    nodes = [(item, None) for item in items]
    for number in range(draw.randint(0, 6)):
        first = draw.randrange(len(nodes))
        last = draw.randint(first + 1, min(first + 4, len(nodes)))
        nodes[first:last] = [(f"node {number}", nodes[first:last])]
    return ("*", nodes)


def months(draw, number, most=9):
    """Months of the same persons: rows are added, and new items come with them."""
    rows, tables = {}, []
    for month in range(number):
        items = "".join(draw.sample("abcdefgh", 3 + 2 * month if month else 4))
        for _ in range(draw.randint(4, most)):
            rows[len(rows)] = {item for item in items if draw.random() < 0.35} or {items[0]}
        tables.append(dict(rows))
    return tables


def table(rows):
    return frame_of([*rows.values()]).assign(id=[*rows])


def read(results):
    """Releases and mappings, as naive attackers read them."""
    releases, mappings = [], []
    for result in results:
        lists = [*result.frame["items"]]
        releases.append(dict(zip(result.frame["id"], map(frozenset, lists), strict=True)))
        labels = (
            result.mapping["generalized"].astype(object).where(result.mapping["generalized"].notna(), None)
        )
        mappings.append(dict(zip(result.mapping["item"], labels, strict=True)))
    return releases, mappings


def release_all(tables, name, **options):
    results = []
    for rows in tables:
        prepared = table(rows).txanon.keep("id").start_from(results[-1] if results else None)
        results.append(release(prepared, name, **options))
    return results


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("name", ALGORITHMS)
def test_added_rows_expose_nobody(name, seed):
    """Every attacker of every span of a series of inserts finds 0 or at least k candidates."""
    draw = random.Random(f"{name} {seed}")
    for _ in range(30 if ALL else 1):
        tree, k, m = random_tree(draw), draw.randint(2, 3), draw.randint(1, 2)
        tables = months(draw, 3)
        results = release_all(tables, name, k=k, m=m, hierarchy=hierarchy_of(tree))
        releases, mappings = read(results)
        above = {each[0]: set(itemsets.leaves(each)) for each in subtrees(tree)}
        for before, after in pairwise(mappings):
            for item, label in before.items():
                assert after[item] is None or (label is not None and above[label] <= above[after[item]])
        for span in naive.spans_of(3):
            assert naive.km_audit(releases, mappings, span, k, m) == ({}, set())
        last = results[-1]
        series = pdanon.after(last.frame, results[:-1], key="id", mapping=last.mapping)
        assert series.audit(KmAnonymity(k, m), "items").holds


def cuts_of(tree):
    """All cuts of a tree: lists of its subtrees."""
    below = product(*map(cuts_of, tree[1])) if tree[1] else []
    return [[tree], *([*chain(*each)] for each in below)]


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("suppress", [False, True])
def test_no_cut_above_the_start_loses_less(seed, suppress):
    """All cuts at or above the start, and all choices of suppressed nodes, are compared."""
    draw = random.Random(seed)
    for _ in range(10 if ALL else 1):
        tree, k, m = random_tree(draw, "abcdef"), 2, draw.randint(1, 2)
        first = {one: {item for item in "abcd" if draw.random() < 0.4} or {"a"} for one in range(6)}
        later = first | {6 + one: {draw.choice("abcdef"), draw.choice("abcdef")} for one in range(5)}
        options = {"k": k, "m": m, "hierarchy": hierarchy_of(tree), "suppress": suppress}
        january = table(first).txanon.keep("id").optimal("items", **options)
        february = table(later).txanon.keep("id").start_from(january).optimal("items", **options)
        labels = read([january])[1][0]
        loss = february.loss["LM" if suppress else "NCP"]
        least = min(losses(tree, later, labels, k, m, suppress=suppress))
        if february.loss["gap"] == 0:
            assert loss == pytest.approx(least)
        assert loss * (1 - february.loss["gap"]) <= least + 1e-9


def losses(tree, rows, labels, k, m, *, suppress):
    """The losses of all safe choices that start from labels."""
    items = sorted(set().union(*rows.values()))
    total, n = sum(map(len, rows.values())), len(itemsets.leaves(tree))
    for cut in cuts_of(tree):
        node_of = {leaf: each for each in cut for leaf in itemsets.leaves(each)}
        if any(
            label is not None and not {*leaves_of(tree, label)} <= {*itemsets.leaves(node_of[item])}
            for item, label in labels.items()
            if item in items
        ):
            continue
        used = sorted({node_of[item][0] for item in items})
        for kept in product(*[[True, False] if suppress else [True]] * len(used)):
            shown = {name for name, each in zip(used, kept, strict=True) if each}
            if any(labels.get(item, "new") is None and node_of[item][0] in shown for item in items):
                continue
            images = [frozenset(node_of[item][0] for item in row) & shown for row in rows.values()]
            if itemsets.km_threats(images, k, m):
                continue
            cost = 0
            for row in rows.values():
                for item in row:
                    size = len(itemsets.leaves(node_of[item]))
                    if node_of[item][0] not in shown:
                        cost += 1
                    elif suppress:
                        cost += (size - 1) / (n - 1)
                    else:
                        cost += size / n if size > 1 else 0
            yield cost / total


def leaves_of(tree, name):
    return next(itemsets.leaves(each) for each in subtrees(tree) if each[0] == name)


TREE = {"*": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"], "C": ["c"]}}
ROWS = [{"a1", "b1", "b2"}, {"a2", "b1"}, {"a2", "b1", "b2"}, {"a1", "a2", "b2"}]
JANUARY = frame_of(ROWS).txanon.apriori(k=2, m=2, hierarchy=TREE)


def test_a_new_item_is_published_as_a_node_of_the_start():
    frame = frame_of([*ROWS, {"a3"}, {"a3"}, {"c"}, {"c"}])
    later = frame.txanon.start_from(JANUARY).apriori(k=2, m=2, hierarchy=TREE)
    assert dict(zip(later.mapping["item"], later.mapping["generalized"], strict=True)) == {
        **{"a1": "A", "a2": "A", "a3": "A"},
        **{"b1": "b1", "b2": "b2", "c": "c"},
    }
    assert later.parameters["start"] == "3 labels of an earlier release"


def test_suppressed_items_stay_suppressed():
    tree = {"*": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]}}
    first = frame_of([{"b1", "b2"}] * 3 + [{"b1", "a1"}]).txanon.hghs(k=2, m=2, hierarchy=tree)
    assert first.mapping.set_index("item")["generalized"].isna().to_dict() == {
        "a1": True,
        "b1": False,
        "b2": False,
    }
    more = frame_of([{"b1", "b2"}] * 3 + [{"b1", "a1"}] * 4 + [{"a2"}] * 4)
    prepared = more.txanon.start_from(first)
    later = prepared.hghs(k=2, m=2, hierarchy=tree)
    assert later.mapping.set_index("item")["generalized"].dropna().to_dict() == {
        "a2": "a2",
        "b1": "b1",
        "b2": "b2",
    }
    with pytest.raises(ParameterError, match="suppresses items"):
        prepared.apriori(k=2, m=2, hierarchy=tree)
    with pytest.raises(ParameterError, match="suppresses items"):
        prepared.optimal(k=2, m=2, hierarchy=tree)
    assert prepared.optimal(k=2, m=2, hierarchy=tree, suppress=True).holds


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    ("tree", "start", "options", "words"),
    [
        (
            {"*": {"X": ["a1", "b1"], "A": ["a2", "b2"]}},
            JANUARY,
            {},
            ["not that of the earlier release", "1 of 4 items"],
        ),
        (TREE, frame_of(ROWS).txanon.pcta(k=2, m=2), {}, ["not that of the earlier release"]),
        (TREE, JANUARY, {"m": 1}, ["weaker than that of the earlier"]),
        (TREE, 5, {}, ["where: start"]),
        (TREE, JANUARY.mapping.assign(item=["x", "y", "z", "w"]), {}, ["none of the items"]),
        ({"*": {"A": ["a1", "a2"], "B": ["b1"]}}, JANUARY, {}, ["does not cover the items"]),
        (
            {"*": {"A": {"B": ["b1", "b2"], "D": ["a1", "a2"]}}},
            JANUARY.mapping.assign(generalized=["A", "A", "B", "B"]),
            {},
            ["labels below other labels"],
        ),
    ],
)
def test_bad_input_is_explained(name, tree, start, options, words):
    with pytest.raises(pdanon.PdanonError) as caught:
        release(
            frame_of(ROWS).txanon.start_from(start), name, **{"k": 2, "m": 2, "hierarchy": tree, **options}
        )
    for word in words:
        assert word in str(caught.value)


def test_sensitive_items_have_no_start():
    with pytest.raises(ParameterError, match="start excludes sensitive items"):
        frame_of([*ROWS, {"c"}, {"a1", "c"}]).txanon.start_from(JANUARY).apriori(
            guarantee=pdanon.LmDiversity(l=2, m=2, k=2, sensitive=["c"]), hierarchy=TREE
        )


def test_anonymize_starts_from_nodes_and_from_sets():
    """The best algorithm that can start from a release is taken."""
    january = frame_of(ROWS)
    february = frame_of([*ROWS, {"a3"}, {"a3"}])
    sets = january.txanon.pcta(k=2, m=2)
    nodes = january.txanon.hghs(k=2, m=2, hierarchy=TREE)
    for first in (sets, nodes, JANUARY):
        result = february.txanon.start_from(first).anonymize(k=2, m=2, hierarchy=TREE)
        assert february[:4].shape == january.shape
        options = {"mapping": result.mapping, "key": [[*range(4)], [*range(6)]]}
        assert result.frame.txanon.after(first, **options).audit(KmAnonymity(2, 2)).holds
        reasons = result.tried.set_index("algorithm")["reason"]
        assert "not that of the earlier release" in str(reasons["apriori"]) if first is sets else True
    gone = january.txanon.hghs(k=2, m=2, hierarchy=TREE).mapping.assign(
        generalized=pd.Series([None] * 4, dtype=object)
    )
    with pytest.raises(ParameterError, match="suppresses items"):
        february.txanon.start_from(gone).anonymize(k=2, m=2)
