"""An attacker with a sample: persons at risk and guesses against a naive attacker. Generated data only."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive.identification import NaiveAttacker, persons_at_risk

import pdanon
from examples import examples
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding import identification
from pdanon.recoding.identification import (
    Sample,
    count_deletions,
    draw_persons,
    guess_rows,
    infer_rows,
    rows_at_risk,
)
from pdanon.recoding.recoding import Cover, became_of

TREE = {"*": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f"]}}
OPTIONS = {"pcta": {}, "lra": {"hierarchy": TREE, "parts": 2}, "hghs": {"hierarchy": TREE}}


@settings(max_examples=examples(60))
@given(row_lists(least=3), st.integers(2, 4), st.integers(1, 3), st.sampled_from([1, 4]))
def test_persons_at_risk_are_the_naive_ones(rows, k, m, rounds):
    with mock.patch.object(identification, "_FEW_ROUNDS", rounds):
        _compare_persons(rows, k, m)


def _compare_persons(rows, k, m):
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    able = np.flatnonzero(rows_at_risk(itemsets, k, m))
    wanted = persons_at_risk(rows, k, m)
    assert able.tolist() == sorted(wanted)
    persons = draw_persons(itemsets, able, k, m, 20, np.random.default_rng(0))
    assert len(persons.rows) == (20 if len(able) else 0)
    texts = itemsets.texts()
    for number, row in enumerate(persons.rows.tolist()):
        known = persons.codes[persons.offsets[number] : persons.offsets[number + 1]]
        assert (frozenset(texts[code] for code in known), persons.supports[number]) in wanted[row]


@pytest.mark.parametrize("rounds", [4, 0])
def test_rare_itemsets_are_drawn_uniformly(monkeypatch, rounds):
    monkeypatch.setattr(identification, "_FEW_ROUNDS", rounds)
    rows = [frozenset("abcd"), *[frozenset("ab")] * 9, *[frozenset("cd")] * 9]
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    persons = draw_persons(itemsets, np.array([0]), 3, 2, 4000, np.random.default_rng(1))
    pairs, counts = np.unique(persons.codes.reshape(-1, 2), axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert (abs(counts - 1000) < 120).all()


def _samples(rows, sample, is_split, result, items, published):
    """The samples of an attacker, and a naive attacker with the same."""
    cover = Cover.of_mapping(items, published, result.mapping)
    if is_split:
        learned_from = np.arange(len(rows)) % 2
        halves = [np.flatnonzero(learned_from != half) for half in (0, 1)]
        known = [Sample(items.take(half), cover, half) for half in halves]
        samples = [rows[1::2], rows[::2]]
    else:
        known = [Sample(Itemsets.from_series(frame_of(sample)["items"]).in_codes_of(items), cover)]
        samples, learned_from = [sample], np.zeros(len(rows), np.int64)
    texts, names = items.texts(), published.texts()
    members = {name: [texts[code] for code in known[0].members(label)] for label, name in enumerate(names)}
    naive = NaiveAttacker(rows_of(result.frame), members, samples, learned_from)
    return known, learned_from, naive


@settings(max_examples=examples(100), deadline=None)
@given(
    row_lists(least=3),
    row_lists("abcdefg", least=1),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from(sorted(OPTIONS)),
    st.booleans(),
)
def test_guesses_are_those_of_a_naive_attacker(rows, sample, k, m, algorithm, is_split):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k:
        return
    try:
        result = getattr(pdanon, algorithm)(frame, k=k, m=2, **OPTIONS[algorithm])
    except pdanon.InfeasibleError:
        return
    items, published = (Itemsets.from_series(each["items"]) for each in (frame, result.frame))
    known, learned_from, naive = _samples(rows, sample, is_split, result, items, published)
    texts, names = items.texts(), published.texts()
    persons = draw_persons(
        items, np.flatnonzero(rows_at_risk(items, k, m)), k, m, 6, np.random.default_rng(0)
    )
    of_known = np.repeat(persons.rows, np.diff(persons.offsets))
    became = became_of(items, published, result.mapping, result.groups, of_known, persons.codes)
    guesses = guess_rows(persons, became, published, known, learned_from)
    for number, row in enumerate(persons.rows.tolist()):
        place = slice(*persons.offsets[number : number + 2])
        labels = [names[label] if label >= 0 else None for label in became[place].tolist()]
        pairs = zip((texts[code] for code in persons.codes[place].tolist()), labels, strict=True)
        chances = naive.guess(dict(pairs), row, rows[row])
        best = max(chances.values())
        ties = [each for each, chance in chances.items() if chance == best]
        assert guesses.candidates[number] == len(chances)
        assert guesses.largest[number] == pytest.approx(float(best), rel=1e-9)
        assert guesses.chances[number] == pytest.approx((row in ties) / len(ties))


@settings(max_examples=examples(100), deadline=None)
@given(
    row_lists(least=3),
    row_lists("abcdefg", least=1),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from([None, 1, 4]),
    st.booleans(),
)
def test_who_infers_deletions_guesses_like_a_naive_attacker(rows, sample, k, m, price, is_split):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k:
        return
    result = frame.txanon.local_suppression(k=k, m=2, deletion_price=price)
    items, published = (Itemsets.from_series(each["items"]) for each in (frame, result.frame))
    known, learned_from, naive = _samples(rows, sample, is_split, result, items, published)
    texts, names, released = items.texts(), published.texts(), rows_of(result.frame)
    label_of = {
        item: label
        for item, label in zip(result.mapping["item"], result.mapping["generalized"], strict=True)
        if pd.notna(label)
    }
    pairs = [*zip(rows, released, strict=True)]
    lost = {item: sum(item in row and label_of.get(item) not in now for row, now in pairs) for item in texts}
    cover = Cover.of_mapping(items, published, result.mapping)
    deleted = count_deletions(items, published, result.mapping, cover)
    assert (deleted is None) == all(count == 0 or item not in label_of for item, count in lost.items())
    if deleted is None:
        return
    assert deleted.tolist() == [lost[item] for item in texts]
    persons = draw_persons(
        items, np.flatnonzero(rows_at_risk(items, k, m)), k, m, 6, np.random.default_rng(0)
    )
    labels = np.array([names.index(label_of[item]) if item in label_of else -1 for item in texts], np.int32)
    guesses = infer_rows(
        persons, deleted[persons.codes], labels[persons.codes], published, known, learned_from
    )
    for number, row in enumerate(persons.rows.tolist()):
        own = [texts[code] for code in persons.codes[slice(*persons.offsets[number : number + 2])].tolist()]
        chances = naive.infer({item: label_of.get(item) for item in own}, lost, row, rows[row])
        best = max(chances.values())
        ties = [each for each, chance in chances.items() if chance == best]
        assert guesses.candidates[number] == len(chances)
        assert guesses.largest[number] == pytest.approx(float(best), rel=1e-9)
        assert guesses.chances[number] == pytest.approx((row in ties) / len(ties))
