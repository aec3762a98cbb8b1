"""Rows of codes: recoded, sorted and told apart as a few lines with sets and sorted lists do it."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pdanon.itemsets.codes import canonical_rows, relabel_rows
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.lists import distinct

LABELS = ["b", "a", "ab", "", "ä", "b"]  # in no order, one of them twice


def csr(rows):
    codes = np.fromiter(chain.from_iterable(rows), np.int32)
    return codes, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def split(codes, offsets):
    return [codes[start:stop].tolist() for start, stop in pairwise(offsets)]


def rows_of(longest, least=0):
    return st.lists(st.lists(st.integers(least, 7), max_size=longest), max_size=6)


@given(
    rows_of(9, least=-1) | rows_of(90, least=-1),
    st.lists(st.integers(-1, len(LABELS) - 1), min_size=8, max_size=8),
    st.booleans(),
)
def test_relabelled_rows_are_those_of_a_naive_model(rows, targets, repeats):
    found = relabel_rows(*csr(rows), np.array(targets), pa.array(LABELS), repeats=repeats)
    became = [[LABELS[targets[code]] for code in row if code >= 0 and targets[code] >= 0] for row in rows]
    expected = [sorted(row if repeats else set(row)) for row in became]
    vocabulary = found[2].to_pylist()
    assert [[vocabulary[code] for code in row] for row in split(*found[:2])] == expected
    assert vocabulary == sorted({label for row in expected for label in row})
    assert [array.dtype for array in found[:2]] == [np.int32, np.int64]


@pytest.mark.parametrize("length", [10, 11, 36, 37, 1000, 20_000])
@pytest.mark.parametrize("many", [5, 10**6], ids=["few items", "many items"])
def test_long_rows(length, many):
    rng = np.random.default_rng(length)
    rows = [rng.integers(many, size=length).tolist(), [], list(range(min(length, many)))[::-1]]
    codes, offsets = canonical_rows(*csr(rows), many)
    assert codes.tolist() == [code for row in rows for code in sorted(set(row))]
    assert np.diff(offsets).tolist() == [len(set(row)) for row in rows]


def test_no_rows_and_no_items():
    nothing = np.empty(0, np.int32)
    labels = pa.array([], pa.string())
    for offsets in ([0], [0, 0, 0]):
        codes, ends, vocabulary = relabel_rows(nothing, np.array(offsets), nothing, labels)
        assert (len(codes), ends.tolist(), vocabulary.to_pylist()) == (0, offsets, [])
    removed = relabel_rows(np.zeros(3, np.int32), np.array([0, 1, 3]), np.array([-1]), pa.array(["secret"]))
    assert (removed[0].tolist(), removed[1].tolist(), removed[2].to_pylist()) == ([], [0, 0, 0], [])


@given(st.lists(rows_of(3), max_size=5), st.data())
def test_distinct_rows_of_some_batches(batches, data):
    rows, expected, order = DistinctRows(), Counter(), []
    for batch in batches:
        weights = data.draw(st.lists(st.integers(1, 9), min_size=len(batch), max_size=len(batch)))
        numbers = rows.add(*csr(batch), np.array(weights, np.int64))
        for row, weight in zip(map(tuple, batch), weights, strict=True):
            order += [] if row in expected else [row]
            expected[row] += weight
        assert numbers.tolist() == [order.index(tuple(row)) for row in batch]
        assert list(map(tuple, split(rows.codes, rows.offsets))) == order
        assert rows.weights.tolist() == [expected[row] for row in order]


def test_many_distinct_rows_in_batches_of_any_size():
    rng = np.random.default_rng(0)
    drawn = rng.integers(40, size=(30_000, 3), dtype=np.int32)
    rows, numbers = DistinctRows(), []
    for part in np.split(drawn, [1, 2, 1000, 1000, 20_000]):
        offsets = np.arange(0, part.size + 1, 3)
        numbers.append(rows.add(part.ravel(), offsets, np.ones(len(part), np.int64)))
    assert (rows.codes.reshape(-1, 3)[np.concatenate(numbers)] == drawn).all()
    assert len(rows.weights) == len(np.unique(drawn, axis=0))
    assert rows.weights.sum() == 30_000


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8), st.sampled_from([1, 2**61, 2**62]))
def test_distinct_numbers_are_those_of_a_sorted_set(numbers, of):
    values = np.array([number // of for number in numbers], np.int64)
    found = distinct(values)
    assert found.tolist() == sorted({*values.tolist()})
    assert found.dtype == np.int64
