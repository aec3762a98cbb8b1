"""Numbers in arrays, as lists of codes are made of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pdanon.itemsets.lists import distinct, encode, number_distinct


@pytest.mark.parametrize("numbers", [[], [3], [2, 1, 2, -5, 2**62, 1]])
def test_distinct_numbers_are_those_of_numpy(numbers):
    found = distinct(np.array(numbers, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == np.unique(numbers).tolist()


@pytest.mark.parametrize("numbers", [[], [0], [2, 1, 2, 0, 2, 1, 1], [4, 4, 9, 4]])
@pytest.mark.parametrize("more", [0, 100])  # by a table, and by sorting
def test_distinct_numbers_are_numbered_as_by_numpy(numbers, more):
    values = np.array(numbers, np.int64)
    found = number_distinct(values, int(values.max(initial=0)) + 1 + more)
    for each, expected in zip(found, np.unique(values, return_inverse=True), strict=True):
        assert each.tolist() == expected.tolist()


@pytest.mark.parametrize("chunks", [[], [[]], [["b", "a"], ["c"]], [["b"], ["a", "b", "b"], ["c"]]])
def test_lists_are_encoded_in_portions(chunks, monkeypatch):
    lists = pa.chunked_array([[each, None, []] for each in chunks], pa.list_(pa.string()))
    whole = encode(lists)
    monkeypatch.setattr("pdanon.itemsets.lists._PORTION", 1)
    for expected, found in zip(whole, encode(lists), strict=True):
        assert found.tolist() == expected.tolist()
