"""Rare itemsets in turn: portions of any size are the list of all, the largest support first."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from indexes import index_of, weighted_rows
from naive.itemsets import rare_itemsets

from examples import examples
from pdanon.algorithms.states.clusters import rare_in_turn


@settings(max_examples=examples(80))
@given(weighted_rows(), st.integers(2, 8), st.sampled_from([1, 2, 5, 1000]))
def test_portions_are_all_minimal_rare_triples_in_order(sample, k, most):
    rows, weights, written_out = sample
    rare = rare_itemsets(written_out, k, 3)
    triples = {each: n for each, n in rare.items() if len(each) == 3 and not any(o < each for o in rare)}
    expected = sorted((-support, sorted(each)) for each, support in triples.items())
    portions = list(rare_in_turn(index_of(rows, weights), k, 3, most))
    found = [
        (-int(support), list(codes))
        for portion in portions
        for codes, support in zip(portion.sets(), portion.supports, strict=True)
    ]
    assert found == expected


def test_a_portion_is_as_large_as_it_may_be_or_of_one_support():
    draw = np.random.default_rng(0)
    rows = [set(draw.choice(12, 8, replace=False).tolist()) for _ in range(40)]
    index = index_of(rows, n_items=12)
    portions = list(rare_in_turn(index, 11, 3, most=30))
    assert sum(map(len, portions)) == len(index.rare(11, 3)) - len(index.rare(11, 2)) > 100
    assert len(portions) > 3
    assert all(len(each) <= 30 or len(set(each.supports.tolist())) == 1 for each in portions)
