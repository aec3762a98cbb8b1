"""Coherence where an item is public for some persons and private for others, against the definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, rows_of
from naive import coherence as naive, emptied as naive_emptied

import pdanon
from examples import ALL, seeds
from pdanon import Coherence

ITEMS = "abcdef"
TABLES = 40 if ALL else 6  # of a seed: 2,000 of 50 seeds


def draw_tables(seed):
    """Yield small tables of public and private items, and the parameters of a guarantee."""
    rng = np.random.default_rng(seed)
    for _ in range(TABLES):
        chance = rng.choice([0, 0.1, 0.3, 0.6], len(ITEMS))
        rows = []
        for _ in range(rng.integers(4, 16)):
            row = np.flatnonzero(rng.random(len(ITEMS)) < rng.choice([0.3, 0.6]))
            hidden = rng.random(len(row)) < chance[row]
            rows.append(tuple(frozenset(ITEMS[item] for item in row[mask]) for mask in (~hidden, hidden)))
        h = Fraction(int(rng.integers(0, 7)), 6)
        if all(any(part) for part in zip(*rows, strict=True)):
            yield rng, rows, {"h": h, "k": int(rng.integers(2, 5)), "p": int(rng.integers(1, 4))}


def columns_of(rows):
    frame = frame_of([public for public, _ in rows]).rename(columns={"items": "bought"})
    frame["hidden"] = frame_of([private for _, private in rows])["items"]
    return frame


@pytest.mark.parametrize("seed", seeds(50))
def test_audit_is_the_definition(seed):
    for _, rows, asked in draw_tables(seed):
        audit = columns_of(rows).txanon.audit(Coherence(**asked, private="hidden"), "bought")
        moles = naive.minimal(naive.moles_by_person(rows, **asked))
        assert audit.rows_at_risk == naive.rows_at_risk_by_person(rows, **asked)
        assert {*map(frozenset, audit.threats["itemset"])} == moles
        for mole, item, probability in audit.threats[["itemset", "private", "probability"]].itertuples(
            index=False
        ):
            shares = naive.shares_by_person(rows, frozenset(mole))
            assert probability == float(max(shares.values(), default=0))
            assert pd.isna(item) if not shares else shares[item] == max(shares.values())


@pytest.mark.parametrize("seed", seeds(50, first=1_000))
def test_release_is_the_greedy_one_and_holds(seed):
    for rng, rows, asked in draw_tables(seed):
        frame = columns_of(rows)
        criterion = str(rng.choice(["mm/il", "mm", "1/il", "optimal"]))
        losses = {item: sum(item in public for public, _ in rows) for item in ITEMS}
        greedy = "mm/il" if criterion == "optimal" else criterion
        chosen = naive.eliminated_by_person(rows, **asked, losses=losses, criterion=greedy)
        if chosen is None:
            with pytest.raises(pdanon.InfeasibleError):
                frame.txanon.coherence("bought", **asked, private="hidden")
            continue
        result = frame.txanon.coherence("bought", **asked, private="hidden", criterion=criterion)
        released = [*zip(rows_of(result.frame, "bought"), rows_of(result.frame, "hidden"), strict=True)]
        assert not naive.moles_by_person(released, **asked)
        assert [private for _, private in released] == [private for _, private in rows]
        if criterion == "optimal":
            assert sum(map(losses.get, result.trace["item"])) <= sum(map(losses.get, chosen))
            continue
        assert result.trace["item"].tolist() == chosen
        public = [public for public, _ in rows]
        became = {item: None if item in chosen else item for item in frozenset().union(*public)}
        bare = sum(not row for row in public)
        became = naive_emptied.hidden(public, became, asked["k"] - bare)
        assert [public for public, _ in released] == [
            frozenset(became[item] for item in row) - {None} for row in public
        ]


@pytest.mark.parametrize("seed", seeds(50, first=2_000))
def test_probabilities_are_those_of_the_definition(seed):
    for rng, rows, _ in draw_tables(seed):
        public = sorted(frozenset().union(*(public for public, _ in rows)))
        known = rng.choice(public, min(len(public), int(rng.integers(0, 3))), replace=False).tolist()
        table = columns_of(rows).txanon.breach("bought", known=known, private="hidden")
        matching = [row for row in rows if row[0] >= {*known}]
        assert set(table["matches"]) == {len(matching)}
        shares = naive.shares_by_person(rows, frozenset(known)) if matching else {}
        found = dict(zip(table["private"], table["probability"].fillna(0), strict=True))
        assert {item: share for item, share in found.items() if share} == {
            item: pytest.approx(float(share)) for item, share in shares.items()
        }


def test_an_item_that_is_public_elsewhere_reveals_it_as_well():
    """Half of the rows with tea have a private flu, the others a public one: all have flu."""
    rows = [(frozenset(["tea"]), frozenset(["flu"]))] * 2 + [(frozenset(["tea", "flu"]), frozenset())] * 2
    frame = columns_of([*rows, *[(frozenset(["salt"]), frozenset())] * 4])
    audit = frame.txanon.audit(Coherence(h=0.6, k=2, p=1, private="hidden"), "bought")
    assert audit.threats.to_dict("records") == [
        {"itemset": ["tea"], "support": 4, "why": "breach", "private": "flu", "probability": 1.0}
    ]


def test_an_item_that_is_too_frequent_is_suppressed_where_it_is_public():
    rows = [(frozenset(["flu"]), frozenset())] * 7 + [(frozenset(), frozenset(["flu"]))] * 3
    result = columns_of(rows).txanon.coherence("bought", h=0.5, k=2, p=1, private="hidden")
    assert not any(rows_of(result.frame, "bought"))
    assert result.trace["item"].tolist() == ["flu"]


def test_contradictions_are_refused_with_their_rows():
    frame = columns_of(
        [(frozenset("ab"), frozenset("c")), (frozenset(["a", SECRET]), frozenset([SECRET]))] * 2
    )
    for call in (
        lambda: frame.txanon.coherence("bought", h=1, k=2, p=1, private="hidden"),
        lambda: frame.txanon.audit(Coherence(h=1, k=2, p=1, private="hidden"), "bought"),
        lambda: frame.txanon.breach("bought", known=["a"], private="hidden"),
    ):
        with pytest.raises(
            pdanon.ParameterError, match=r"public and private in a row(.|\n)*rows 1, 3"
        ) as caught:
            call()
        assert SECRET not in str(caught.value)
    with pytest.raises(pdanon.ParameterError, match="1 rows with an item in both columns"):
        frame.head(3).txanon.breach("bought", known=["a"], private="hidden")
