"""Regions: each row in one, of even size, cut between rows that differ, and the same however rows come."""

from __future__ import annotations

from collections import Counter
from functools import reduce

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from examples import examples
from pdanon.algorithms.regions.table_parts import (
    Assignment,
    ColumnValues,
    Histogram,
    cut_regions,
    value_frame,
)
from pdanon.algorithms.relational.quasi import QuasiTable

rows = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=40)


def encoded(values):
    return QuasiTable.of(pd.DataFrame(values, columns=["number", "letter"]), ["number", "letter"])


def assigned(table, parts, most, *, coarse=False):
    sizes = [each.n_values for each in table.attributes]
    counted = (Histogram.of(table.codes[part], None, sizes, coarse=coarse) for part in parts)
    histogram = reduce(Histogram.merge, counted)
    regions = cut_regions(table.attributes, histogram, most)
    assignment = Assignment(histogram, regions)
    found, before = [], assignment.none
    for part in parts:
        found.append(assignment.of(table.codes[part], before))
        before = before + assignment.count(table.codes[part])
    return np.concatenate(found), regions, histogram


@settings(max_examples=examples(200))
@given(rows, st.integers(2, 9), st.lists(st.integers(0, 40), max_size=4))
def test_regions_of_any_rows(values, most, cuts):
    table, n = encoded(values), len(values)
    found, regions, histogram = assigned(table, [np.arange(n)], most)
    sizes = np.bincount(found)
    assert len(sizes) == len(regions) == -(-n // most)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.max() <= most
    assert [int(own.sum()) for _, own in regions] == sizes.tolist()
    parts = np.split(np.arange(n), sorted(min(cut, n) for cut in cuts))
    assert assigned(table, parts, most)[0].tolist() == found.tolist()
    counts = Counter(map(tuple, table.codes.tolist()))
    assert [*map(tuple, histogram.combinations().tolist())] == sorted(counts)
    assert histogram.rows.tolist() == [counts[each] for each in sorted(counts)]
    split = {value for value in values if len({int(found[i]) for i in range(n) if values[i] == value}) > 1}
    assert len(split) < len(regions)  # a cut separates equal rows of one combination at most
    for value in split:  # the first ones are in the first region
        numbers = [int(found[i]) for i in range(n) if values[i] == value]
        assert numbers == sorted(numbers)


def test_widest_column_is_cut():
    table = encoded([(0, "ab"[number % 2]) for number in range(6)] * 2)
    assert assigned(table, [np.arange(12)], 6)[0].tolist() == [0, 1] * 6
    table = encoded([(number, "a") for number in range(6)] * 2)
    assert assigned(table, [np.arange(12)], 6)[0].tolist() == [0, 0, 0, 1, 1, 1] * 2


def test_too_many_combinations_are_counted_together():
    codes = np.array([[0, 5, 9], [10**9 - 1] * 3, [0, 5, 9]], np.int32)
    histogram = Histogram.of(codes, None, [10**9] * 3)
    assert not histogram.is_exact
    assert histogram.rows.tolist() == [2, 1]
    assert (histogram.combinations() <= codes[[0, 1]]).all()
    assert Histogram([10**9, 10**9]).is_exact
    assert Histogram([1024, 1024], coarse=True).is_exact
    assert not Histogram([1025, 1024], coarse=True).is_exact


@settings(max_examples=examples(200))
@given(rows, st.integers(2, 9), st.lists(st.integers(0, 40), max_size=4))
def test_regions_of_values_that_are_counted_together(values, most, cuts):
    """Their number and sizes do not depend on how values are counted, nor on the parts."""
    table, n = encoded(values), len(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pdanon.algorithms.regions.table_parts._CUT_KEYS", 4)
        found, regions, histogram = assigned(table, [np.arange(n)], most, coarse=True)
        parts = np.split(np.arange(n), sorted(min(cut, n) for cut in cuts))
        assert assigned(table, parts, most, coarse=True)[0].tolist() == found.tolist()
    assert len(histogram.rows) <= 4
    sizes = np.bincount(found)
    assert len(sizes) == len(regions) == -(-n // most)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 1, 2, 3]),
        pd.Series([3, None, 2, 3]),
        pd.Series([1.5, np.nan, -0.5, 1.5]),
        pd.Series(["b", None, "a", "b"]),
        pd.Series([True, False, None], dtype="boolean"),
        pd.Series(pd.to_datetime(["2020-01-02", None, "2019-01-01"])),
        pd.Series(pd.Categorical(["m", "s", None], ["s", "m", "l"], ordered=True)),
        pd.Series([None, None], dtype="string"),
    ],
    ids=lambda column: f"{column.dtype}{len(column)}",
)
def test_values_are_those_of_the_whole_column(column):
    """Codes by the values of parts are those of the column in memory."""
    frame = column.to_frame("value")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    values = ColumnValues(table.schema.field("value"))
    numbers = np.concatenate([values.add(table.column("value")[i : i + 1]) for i in range(len(column))])
    found = value_frame([values], table.schema)
    read = table.to_pandas()
    assert found["value"].dtype == read["value"].dtype
    own, whole = (QuasiTable.of(each, ["value"], n_rows=len(read)) for each in (found, read))
    assert own.codes[numbers, 0].tolist() == whole.codes[:, 0].tolist()
    assert own.attributes[0].unit == whole.attributes[0].unit
