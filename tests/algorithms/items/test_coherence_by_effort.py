"""Coherence where the attacker has a budget of effort instead of a number of items."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, rows_of
from naive import coherence as naive

import pdanon
from examples import ALL, seeds
from pdanon import Coherence

PUBLIC, PRIVATE = "abcde", "XY"
TABLES = 40 if ALL else 6  # of a seed: 2,000 of 50 seeds
ROWS = [frozenset(row) for row in ("ab", "ab", "ac", "bc", "abc", "a", "b", "c")]


def draw_tables(seed):
    """Yield small tables, efforts of all public items, and the parameters of a guarantee."""
    rng = np.random.default_rng(seed)
    for _ in range(TABLES):
        rows = [
            frozenset(np.array([*PUBLIC, *PRIVATE])[rng.random(7) < rng.choice([0.3, 0.6])].tolist())
            for _ in range(rng.integers(4, 16))
        ]
        efforts = dict(zip(PUBLIC, rng.integers(1, 5, len(PUBLIC)).tolist(), strict=True))
        listed = {item: effort for item, effort in efforts.items() if effort > 1 or rng.random() < 0.5}
        private = sorted(frozenset().union(*rows) & {*PRIVATE})
        h = Fraction(int(rng.integers(0, 7)), 6)
        asked = {"h": h, "k": int(rng.integers(2, 5)), "p": int(rng.integers(1, 10)), "private": private}
        yield rng, rows, efforts, asked | {"effort": listed}


def moles_of(rows, efforts, asked):
    return naive.moles_by_effort(rows, asked["h"], asked["k"], asked["p"], asked["private"], efforts)


@pytest.mark.parametrize("seed", seeds(50))
def test_audit_is_the_definition(seed):
    for _, rows, efforts, asked in draw_tables(seed):
        audit = frame_of(rows).txanon.audit(Coherence(**asked))
        moles = moles_of(rows, efforts, asked)
        assert audit.rows_at_risk == sum(any(mole <= row for mole in moles) for row in rows)
        assert {*map(frozenset, audit.threats["itemset"])} == naive.minimal(moles)
        for row in audit.threats.itertuples():
            assert row.support == sum(frozenset(row.itemset) <= each for each in rows)


@pytest.mark.parametrize("seed", seeds(50, first=1_000))
def test_release_is_the_greedy_one_and_holds(seed):
    for _, rows, efforts, asked in draw_tables(seed):
        frame, moles = frame_of(rows), naive.minimal(moles_of(rows, efforts, asked))
        public = frozenset().union(*rows) - {*asked["private"]}
        if frozenset() in moles or (public and min(efforts[item] for item in public) > asked["p"]):
            with pytest.raises(pdanon.PdanonError):
                frame.txanon.coherence(**asked)
            continue
        result = frame.txanon.coherence(**asked)
        losses = {item: sum(item in row for row in rows) for item in PUBLIC}
        assert result.trace["item"].tolist() == naive.eliminated(moles, losses, "mm/il")
        assert not moles_of(rows_of(result.frame), efforts, asked)
        assert result.guarantee.audit(result.frame).holds
        best = frame.txanon.coherence(**asked, criterion="optimal")
        assert not moles_of(rows_of(best.frame), efforts, asked)


def test_equal_efforts_are_a_number_of_items():
    for effort in (None, {}, dict.fromkeys("abc", 1), pd.Series(1, index=[*"abc"])):
        audit = frame_of(ROWS).txanon.audit(Coherence(h=1, k=2, p=3, private=[], effort=effort))
        assert [*map(list, audit.threats["itemset"])] == [["a", "b", "c"]]


def test_items_above_the_budget_stay():
    frame = frame_of([*ROWS, "z"])
    result = frame.txanon.coherence(h=1, k=2, p=3, private=[], effort={"z": 4, "a": 2, "b": 2})
    assert rows_of(result.frame) == rows_of(frame)
    assert repr(result.guarantee) == "Coherence(h=1, k=2, p=3, private=0 items, effort=3 items)"


WRONG = {
    "no mapping": ([1, 2], "effort must map items to integers"),
    "zero": ({"a": 0}, "an effort must be an integer of at least 1"),
    "fraction": ({"a": 1.5}, "an effort must be an integer of at least 1"),
    "text": ({"a": SECRET}, "an effort must be an integer of at least 1"),
    "huge": ({"a": 2**31}, "an effort must be an integer of at least 1 and at most"),
    "twice": (pd.Series([1, 2], index=["a", "a"]), "effort lists an item twice"),
    "beyond the budget": (dict.fromkeys("abc", 5), r"p is below the least effort(.|\n)*p=3, least effort 5"),
}


@pytest.mark.parametrize(("effort", "message"), WRONG.values(), ids=WRONG)
def test_bad_input(effort, message):
    with pytest.raises(pdanon.ParameterError, match=message) as caught:
        frame_of(ROWS).txanon.coherence(h=1, k=2, p=3, private=[], effort=effort)
    assert SECRET not in str(caught.value)
