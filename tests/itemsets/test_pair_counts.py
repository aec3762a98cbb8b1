"""Supports of pairs in place of rows: those of the rows, however they are divided."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from examples import seeds
from pdanon.itemsets import encoded_columns
from pdanon.itemsets.codes import Itemsets, encode_visible
from pdanon.itemsets.encoded_columns import ListColumns, PairCounts, collapse_columns, gather
from pdanon.itemsets.support import SupportIndex


def make(rng, n_rows=200, n_items=12, length=3):
    lists = [
        None if rng.random() < 0.05 else [f"i{x}" for x in rng.choice(n_items, rng.poisson(length))]
        for _ in range(n_rows)
    ]
    return pa.array(lists, pa.list_(pa.string()))


def columns(lists, parts, read=Itemsets.from_arrow):
    bounds = np.linspace(0, len(lists), parts + 1).astype(int)
    return [ListColumns(read(lists[a:b])) for a, b in pairwise(bounds)]


def supports(itemsets):
    """Of items and pairs, by their items, and the numbers of all and of missing rows."""
    index = SupportIndex.of(itemsets)
    starts, partners, counts = index.pairs
    first = np.repeat(np.arange(index.n_items), np.diff(starts))
    names = itemsets.vocabulary.to_pylist()
    found = {(names[a], names[b]): int(n) for a, b, n in zip(first, partners, counts, strict=True) if n}
    found |= dict(zip(names, index.singles.tolist(), strict=True))
    return found, index.n_rows, index.n_rows - itemsets.n_present


@pytest.mark.parametrize("seed", seeds(100))
def test_counts_of_parts_are_those_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    lists, parts = make(rng, length=rng.integers(1, 6)), int(rng.integers(1, 6))
    read = [Itemsets.from_arrow, encode_visible][seed % 2]
    own = [PairCounts.of(part.itemsets) for part in columns(lists, parts, read)]
    each = [reduce(PairCounts.merge, half) for half in (own[::2], own[1::2]) if half]
    counts = reduce(PairCounts.merge, each)
    whole = read(lists)
    if read is Itemsets.from_arrow:  # copies of an item have the same name
        assert supports(counts.sort().columns().itemsets) == supports(whole)
    assert counts.sort().items.equals(whole.vocabulary)
    assert counts.lengths[whole.lengths.max(initial=0)] > 0
    index, chosen = SupportIndex.of(whole), rng.random(len(lists)) < 0.3
    known = counts.sort().columns(index.within(chosen)).itemsets
    found = SupportIndex.of(known)
    assert found.singles.tolist() == index.singles.tolist()
    assert [each.tolist() for each in found.sorted_pairs()] == [
        each.tolist() for each in index.sorted_pairs()
    ]
    assert (known.n_present, found.n_rows) == (whole.n_present, len(lists))


def test_pairs_replace_many_rows_only_if_they_are_fewer(monkeypatch):
    monkeypatch.setattr(encoded_columns, "FIRST_ROWS", 50)
    monkeypatch.setattr(encoded_columns, "MANY_ROWS", 500)
    rng = np.random.default_rng(0)
    parts = columns(make(rng, 500, n_items=12, length=5), 5)
    expected = collapse_columns((part.columns for part in parts), 1)
    assert isinstance(gather(parts), ListColumns)  # fewer distinct rows
    assert isinstance(gather(parts, 500), PairCounts)
    assert isinstance(gather([*parts, gather(parts, 500)]), PairCounts)
    assert gather([*parts, gather(parts, 500)]).n_rows == 1000
    wide = columns(make(rng, 500, n_items=1000, length=5), 5)
    found = gather(wide, 500)
    assert isinstance(found, ListColumns)  # more pairs than rows
    assert found.n_rows == 500
    assert gather(parts).itemsets.codes.tolist() == expected.itemsets.codes.tolist()
    assert gather([]).n_rows == PairCounts.of(gather([]).itemsets).sort().columns().n_rows == 0


def test_counts_are_not_changed_by_adding_them():
    rng = np.random.default_rng(1)
    one, other = (PairCounts.of(columns(make(rng, n_items=n), 1)[0].itemsets) for n in (5, 20))
    before = supports(one.sort().columns().itemsets)
    one.merge(other), other.merge(one)
    assert supports(one.sort().columns().itemsets) == before
