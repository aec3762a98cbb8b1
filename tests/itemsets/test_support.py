"""SupportIndex: every count against sets and combinations, with rows of any weight."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from indexes import N_ITEMS, csr, index_of, weighted_rows
from naive import itemsets as naive

from examples import examples
from pdanon.errors import ParameterError
from pdanon.itemsets.support import ItemsetTable, SupportIndex


def table(itemsets):
    """Naive supports by itemset as the rows of an ordered table."""
    ordered = naive.by_size(itemsets)
    return ordered, [itemsets[frozenset(each)] for each in ordered]


def listed(found: ItemsetTable):
    return found.sets(), found.supports.tolist()


@given(weighted_rows())
def test_counts_of_rows_items_and_pairs(sample):
    rows, weights, written_out = sample
    index = index_of(rows, weights)
    assert index.n_rows == len(written_out)
    assert index.n_non_empty == sum(map(bool, written_out))
    assert index.longest == max(map(len, rows), default=0)
    assert index.singles.tolist() == [naive.support(written_out, {item}) for item in range(N_ITEMS)]


@pytest.mark.parametrize("copies", [1, 20], ids=["few rows", "many rows"])
@given(sample=weighted_rows())
def test_pairs(sample, copies):
    rows, weights, written_out = sample
    starts, partners, supports = index_of(rows * copies, weights * copies).pairs
    written_out = written_out * copies
    found = {}
    for a in range(N_ITEMS):
        for slot in range(starts[a], starts[a + 1]):
            pair = a, int(partners[slot])
            assert a < pair[1]
            assert pair not in found
            found[pair] = int(supports[slot])
    every = {pair: naive.support(written_out, set(pair)) for pair in combinations(range(N_ITEMS), 2)}
    assert found == {pair: count for pair, count in every.items() if count}


@given(weighted_rows())
def test_transpose_lists_the_rows_and_places_of_each_item(sample):
    rows, weights, _ = sample
    index = index_of(rows, weights)
    starts, tids, positions = index.transpose
    for item in range(N_ITEMS):
        places = slice(starts[item], starts[item + 1])
        assert tids[places].tolist() == [number for number, row in enumerate(rows) if item in row]
        assert set(index.codes[positions[places]].tolist()) <= {item}
        assert np.searchsorted(index.offsets, positions[places], "right").tolist() == [
            tid + 1 for tid in tids[places]
        ]


@given(weighted_rows(), st.lists(st.frozensets(st.integers(0, N_ITEMS - 1)), max_size=6))
def test_supports_of_any_itemsets(sample, itemsets):
    rows, weights, written_out = sample
    supports = index_of(rows, weights).supports(*csr(itemsets))
    assert supports.tolist() == [naive.support(written_out, itemset) for itemset in itemsets]


@given(weighted_rows(), st.lists(st.frozensets(st.integers(0, N_ITEMS - 1), min_size=1), max_size=4))
def test_rows_that_hold_one_of_some_itemsets(sample, itemsets):
    rows, weights, written_out = sample
    held = ItemsetTable(*csr(itemsets), np.zeros(len(itemsets), np.int64))
    expected = sum(any(itemset <= row for itemset in itemsets) for row in written_out)
    assert index_of(rows, weights).rows_holding(held) == expected


@given(weighted_rows())
def test_distinct_rows_keep_their_joint_weight(sample):
    rows, weights, written_out = sample
    distinct = index_of(rows, weights).distinct()
    kept = [frozenset(row) for row in ItemsetTable(distinct.codes, distinct.offsets, distinct.weights).sets()]
    assert dict(zip(kept, distinct.weights.tolist(), strict=True)) == {
        row: written_out.count(row) for row in rows
    }
    assert len(kept) == len(set(rows))
    assert distinct.n_rows == len(written_out)
    assert distinct.n_items == N_ITEMS


@settings(max_examples=examples(120))
@given(weighted_rows(), st.integers(1, 6), st.integers(1, 5))
def test_rare_itemsets(sample, k, m):
    rows, weights, written_out = sample
    index = index_of(rows, weights)
    assert listed(index.rare(k, m)) == table(naive.km_threats(written_out, k, m))


@settings(max_examples=examples(60))
@given(weighted_rows(), st.integers(1, 6))
def test_rare_rows(sample, k):
    rows, weights, written_out = sample
    found = index_of(rows, weights).rare_rows(k)
    assert listed(found) == table(naive.km_threats(written_out, k, None))
    rare = naive.rare_itemsets(written_out, k, 5)
    holding_one = {row for row in rows if any(each <= row for each in rare)}
    assert {frozenset(row) for row in found.sets()} == holding_one


@settings(max_examples=examples(120))
@given(weighted_rows(), st.integers(1, 6), st.none() | st.integers(1, 5))
def test_exposure_is_the_size_of_the_smallest_rare_itemset_of_a_row(sample, k, m):
    rows, weights, written_out = sample
    exposed = index_of(rows, weights).exposure(k, m)
    size_of = dict(zip(written_out, naive.exposure(written_out, k, m), strict=True))
    assert exposed.tolist() == [size_of[row] for row in rows]
    if m is not None:
        for_more, for_k = index_of(rows, weights).exposures((k + 2, k), m)
        assert for_more.tolist() == index_of(rows, weights).exposure(k + 2, m).tolist()
        assert for_k.tolist() == exposed.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_rare_itemsets_of_long_and_many_rows(seed):
    """More itemsets than the buffers of the kernels first have room for, and prefixes of several depths."""
    draw = random.Random(seed)
    density = draw.choice([0.3, 0.6])
    rows = [frozenset(item for item in range(24) if draw.random() < density) for _ in range(12)]
    rows += [frozenset(draw.sample(range(24), 5)) for _ in range(20)]
    index = index_of(rows, n_items=24)
    for k, m in [(2, 3), (4, 3), (3, 4), (4, 5)]:
        every = naive.rare_itemsets(rows, k, m)
        # An itemset all of whose proper subsets occur in k rows: those one smaller decide.
        smallest = {
            each: count for each, count in every.items() if not any(each - {item} in every for item in each)
        }
        assert listed(index.rare(k, m)) == table(smallest)
        sizes = [min((len(each) for each in every if each <= row), default=0) for row in rows]
        assert index.exposure(k, m).tolist() == sizes


def test_items_that_are_rare_alone_make_no_pairs(monkeypatch):
    """One row of 1,000 items of its own has half a million pairs, and needs none of them to be exposed."""
    index = index_of([range(10, 1010), *[range(3)] * 2], n_items=1010)
    counted = []
    pairs = SupportIndex.pairs.func
    monkeypatch.setattr(SupportIndex, "pairs", property(lambda self: counted.append(self) or pairs(self)))
    assert index.exposure(2, 2).tolist() == [1, 0, 0]
    assert len(index.rare(2, 3)) == 1000
    assert index.at_risk(2, 2).tolist() == [True, False, False]
    assert max(len(each.codes) for each in counted) == 6


def test_rows_may_stand_for_many_transactions():
    index = index_of([{0, 1}, {0}], weights=[2**30, 2**30 - 1])
    assert index.n_rows == 2**31 - 1
    assert index.singles.tolist()[:2] == [2**31 - 1, 2**30]
    assert index.pairs[2].tolist() == [2**30]
    assert index.supports(*csr([{0, 1}, set()])).tolist() == [2**30, 2**31 - 1]
    with pytest.raises(ParameterError, match="too many transactions to count"):
        index_of([{0, 1}, {0}], weights=[2**30, 2**30])


@given(st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=8), st.randoms())
def test_tables_of_itemsets_are_taken_and_ordered(itemsets, draw):
    supports = [draw.randrange(100) for _ in itemsets]
    found = ItemsetTable(*csr(itemsets), np.array(supports, np.int64))
    rows = list(zip(found.sets(), supports, strict=True))
    which = [draw.randrange(len(rows)) for _ in range(5)] if rows else []
    taken = found.take(np.array(which, np.int64))
    assert list(zip(*listed(taken), strict=True)) == [rows[number] for number in which]
    mask = np.array([draw.random() < 0.5 for _ in rows], bool)
    assert list(zip(*listed(found.take(mask)), strict=True)) == [
        row for row, kept in zip(rows, mask, strict=True) if kept
    ]
    ordered = found.ordered()
    assert ordered.sets() == sorted(found.sets(), key=lambda each: (len(each), each))
    assert sorted(zip(*listed(ordered), strict=True)) == sorted(rows)
