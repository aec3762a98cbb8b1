"""Tables of itemsets: their order is that of Python's tuples, and costs what the itemsets do."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given, strategies as st

from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import ItemsetTable


def table_of(sets):
    codes = np.array([code for each in sets for code in each], np.int32)
    lengths = np.array([len(each) for each in sets], np.int64)
    return ItemsetTable(codes, offsets_of(lengths), np.arange(len(sets)))


@given(st.lists(st.lists(st.integers(0, 5), max_size=5).map(tuple)))
def test_itemsets_are_ordered_by_size_then_by_codes_and_equal_ones_stay_in_order(sets):
    ordered = table_of(sets).ordered()
    expected = sorted(range(len(sets)), key=lambda number: (len(sets[number]), sets[number]))
    assert ordered.supports.tolist() == expected
    assert ordered.sets() == [sets[number] for number in expected]


def test_one_long_itemset_does_not_make_all_others_cost_as_much():
    table = table_of([range(20_000), *[(code,) for code in range(20_000)]])
    tracemalloc.start()
    try:
        ordered = table.ordered()
        assert tracemalloc.get_traced_memory()[1] < 20e6  # a matrix of them has 400 million codes
    finally:
        tracemalloc.stop()
    assert ordered.supports.tolist() == [*range(1, 20_001), 0]
