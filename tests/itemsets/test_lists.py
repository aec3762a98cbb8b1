"""Numbers in arrays, as lists of codes are made of them."""

from __future__ import annotations

import numpy as np
import pytest

from pdanon.itemsets.lists import distinct


@pytest.mark.parametrize("numbers", [[], [3], [2, 1, 2, -5, 2**62, 1]])
def test_distinct_numbers_are_those_of_numpy(numbers):
    found = distinct(np.array(numbers, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == np.unique(numbers).tolist()
