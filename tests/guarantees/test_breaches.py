"""Breaches: the same for any number of threads, and for any parts of the search."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import pdanon
from pdanon.guarantees.breaches import Breaches
from pdanon.itemsets import SupportIndex, threads


@pytest.fixture(autouse=True)
def _nothing_is_set():
    yield
    pdanon.config(threads=None)


def found(rows, secret, asked):
    """What is listed and marked, in numbers."""
    codes = np.array([code for row in rows for code in sorted(row)], np.int32)
    index = SupportIndex(codes, np.cumsum([0, *map(len, rows)]), 8)
    is_secret = np.isin(np.arange(8), list(secret))
    search = Breaches(index.keep_items(~is_secret), index.keep_items(is_secret), **asked)
    tables = search.breaches(), search.threats()
    lists = [each for table in tables for each in (table.codes, table.offsets, table.supports)]
    return [*lists, search.rows_at_risk()]


@given(
    rows=st.lists(st.sets(st.integers(0, 7)), max_size=60),
    secret=st.sets(st.integers(0, 7), min_size=1, max_size=3),
    m=st.none() | st.integers(1, 5),
    k=st.integers(1, 3),
    share=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3)]),
)
def test_few_rows_in_parts(rows, secret, m, k, share):
    asked = {"m": m, "k": k, "share": share}
    pdanon.config(threads=1)
    alone = found(rows, secret, asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "_PART", 1)
        for n in (1, 2, 3, 8):
            pdanon.config(threads=n)
            for expected, other in zip(alone, found(rows, secret, asked), strict=True):
                np.testing.assert_array_equal(other, expected)


@pytest.mark.slow
def test_many_rows():
    rows = pdanon.datasets.make_baskets(20_000, 60, random_state=0)[["items"]]
    guarantee = pdanon.LmDiversity(l=3, m=3, sensitive=rows["items"].iloc[0][:2], k=5)
    pdanon.config(threads=1)
    alone = guarantee.audit(rows)
    assert not alone.holds
    for n in (2, 3, 8):
        pdanon.config(threads=n)
        audit = guarantee.audit(rows)
        assert audit.rows_at_risk == alone.rows_at_risk
        assert audit.threats.equals(alone.threats)
