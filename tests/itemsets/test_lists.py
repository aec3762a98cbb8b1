"""Numbers in arrays, as lists of codes are made of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pdanon.itemsets.lists import distinct, encode


@pytest.mark.parametrize("numbers", [[], [3], [2, 1, 2, -5, 2**62, 1]])
def test_distinct_numbers_are_those_of_numpy(numbers):
    found = distinct(np.array(numbers, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == np.unique(numbers).tolist()


@pytest.mark.parametrize("chunks", [[], [[]], [["b", "a"], ["c"]], [["b"], ["a", "b", "b"], ["c"]]])
def test_lists_are_encoded_in_portions(chunks, monkeypatch):
    lists = pa.chunked_array([[each, None, []] for each in chunks], pa.list_(pa.string()))
    whole = encode(lists)
    monkeypatch.setattr("pdanon.itemsets.lists._PORTION", 1)
    for expected, found in zip(whole, encode(lists), strict=True):
        assert found.tolist() == expected.tolist()
