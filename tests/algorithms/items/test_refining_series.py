"""Refined releases of a series: sets of the earlier release move as a whole, and their size counts."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from conftest import frame_of, promised
from naive import itemsets as naive_items

import pdanon
from examples import ALL, seeds
from pdanon import KmAnonymity, ParameterError
from pdanon.algorithms.states.sets_search import Refinement, balanced_loss
from pdanon.itemsets.codes import Itemsets


def sets_of(mapping):
    """The items of each label."""
    return {frozenset(items) for _, items in mapping.groupby("generalized")["item"]}


def months(draw, number):
    """Months of the same persons: rows and items are added."""
    rows, tables = {}, []
    for month in range(number):
        items = "abcdefghijkl"[: 6 + 3 * month]
        for _ in range(draw.randint(8, 20)):
            rows[len(rows)] = {item for item in items if draw.random() < 0.25} or {draw.choice(items)}
        tables.append(frame_of([*rows.values()]).assign(id=[*rows]))
    return tables


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(20))
def test_refined_releases_of_a_series_expose_nobody(seed):
    """Sets are never split, no loss is higher than without refinement, and no attacker is served."""
    draw = random.Random(seed)
    for _ in range(20 if ALL else 2):
        k, m, results = draw.randint(2, 3), draw.choice([1, 2, 2, 3]), []
        for frame in months(draw, 3):
            prepared = frame.txanon.keep("id").start_from(results[-1] if results else None)
            results.append(prepared.pcta(k=k, m=m, refine=True))
            plain = prepared.pcta(k=k, m=m)
            losses = [balanced(frame, each) for each in (results[-1], plain)]
            assert losses[0] <= losses[1] * (1 + 1e-9)
        for earlier, later in pairwise(results):
            grown = {item: each for each in sets_of(later.mapping) for item in each}
            assert all(one <= grown[min(one)] for one in sets_of(earlier.mapping))
        last = results[-1]
        series = pdanon.after(last.frame, results[:-1], key="id", mapping=last.mapping)
        audit = series.audit(KmAnonymity(k, m), "items")
        assert (audit.spans["rows_at_risk"] == 0).all()


def balanced(frame, result):
    supports = frame["items"].itemset.supports()[result.mapping["item"]].to_numpy(np.int64)
    labels = result.mapping["generalized"].astype("category").cat.codes.to_numpy(np.int64)
    return balanced_loss(labels, supports, np.bincount(labels)[labels] > 1, len(labels))


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("loss", ["NCP", "balanced", "LM"])
def test_the_loss_of_sets_that_move_counts_their_items(loss, seed):
    """The reported loss is that of the labels, recounted item by item; the sets stay whole and safe."""
    draw = random.Random(f"{loss} {seed}")
    for _ in range(15 if ALL else 3):
        items = "abcdefghij"[: draw.randint(2, 10)]
        rows = [
            {item for item in items if draw.random() < 0.3} or {items[0]} for _ in range(draw.randint(6, 30))
        ]
        itemsets = Itemsets.from_series(frame_of(rows)["items"])
        names = itemsets.texts()
        first = np.arange(len(names))
        for i in range(len(names)):
            if draw.random() < 0.5:
                first[i] = first[draw.randrange(i + 1)]
        k, m = 2, draw.choice([1, 2, 3])
        search = Refinement(
            itemsets, np.zeros(len(names), np.int64), KmAnonymity(k, m), loss=loss, first=first
        )
        search.descend()
        best = search.best
        assert (best == best[first]).all()
        images = [frozenset(best[names.index(item)] for item in row) for row in rows]
        assert not naive_items.km_threats(images, k, m)
        size = np.bincount(best)[best]
        supports = np.array([sum(name in row for row in rows) for name in names])
        if loss == "balanced":
            expected = balanced_loss(best, supports, size > 1, len(best))
        else:
            base = int(loss == "LM")
            expected = (np.where(size > 1, size - base, 0) @ supports) / (
                supports.sum() * (len(names) - base)
            )
        assert search.trace["loss"].iloc[-1] == pytest.approx(expected)


@pytest.mark.parametrize("seed", seeds(10))
def test_items_of_their_own_move_as_before(seed):
    """Sets of one item each are no sets."""
    draw = random.Random(seed)
    rows = [{draw.choice("abcdefgh"), draw.choice("abcdefgh")} for _ in range(40)]
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    labels = np.zeros(itemsets.n_items, np.int64)
    found = []
    for first in (None, np.arange(itemsets.n_items)):
        search = Refinement(itemsets, labels, KmAnonymity(2, 2), loss="balanced", first=first)
        search.descend()
        found.append(search.best)
    np.testing.assert_array_equal(*found)


def test_constraints_and_blocks_are_kept():
    rows = [{"a", "x"}, {"b", "x"}, {"c"}, {"a"}, {"b"}, {"c", "y"}, {"d", "y"}] * 2
    first = frame_of(rows).txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["a", "x"], ["b"]], k=3)
    )
    later = frame_of([*rows, {"e"}, {"e", "x"}])
    options = {"k": 3, "constraints": [["a", "x"], ["b"], ["e"]]}
    result = later.txanon.start_from(first).pcta(**promised(**options), refine=True)
    grown = {item: each for each in sets_of(result.mapping) for item in each}
    assert all(one <= grown[min(one)] for one in sets_of(first.mapping))
    blocks = [["a", "b", "c", "d", "e"], ["x", "y"]]
    january = frame_of(rows).txanon.coat(k=3, m=1, utility=blocks)
    february = later.txanon.start_from(january).coat(k=3, m=1, utility=blocks, refine=True)
    assert all(any(one <= {*block} for block in blocks) for one in sets_of(february.mapping))


def test_sets_that_are_split_already_are_refused():
    itemsets = Itemsets.from_series(frame_of([{"a", "b"}, {"a"}, {"b"}])["items"])
    with pytest.raises(ParameterError, match="splits sets of the earlier release"):
        Refinement(itemsets, np.arange(2), KmAnonymity(2, 1), first=np.zeros(2, np.int64))
