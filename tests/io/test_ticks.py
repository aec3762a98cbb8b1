"""Boxes of one-hot tables: ticks are compared by value, and codes are no counts."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import pdanon
from pdanon.errors import ColumnError, NumbersWarning, ParameterError

BIG = 2**53 + 1  # no float


def _arrow(kind):
    return lambda cells: pd.Series(pa.array(cells, kind), dtype=pd.ArrowDtype(kind))


def _with_missing(make):
    return lambda cells: [None if cell is None else make(cell) for cell in cells]


# Columns of whole numbers and missing values, by the type that stores them.
STORED = {
    "float": lambda cells: pd.Series(cells, dtype="float64"),
    "Float32": lambda cells: pd.Series(cells, dtype="Float32"),
    "Int64": lambda cells: pd.Series(cells, dtype="Int64"),
    "sparse": lambda cells: pd.Series(pd.arrays.SparseArray(pd.Series(cells, dtype="float64"))),
    "category": lambda cells: pd.Series(pd.Categorical(cells)),
    "category of floats": lambda cells: pd.Series(pd.Categorical(pd.Series(cells, dtype="float64"))),
    "objects": lambda cells: pd.Series(cells, dtype=object),
    "Decimal": lambda cells: pd.Series(_with_missing(Decimal)(cells), dtype=object),
    "Fraction": lambda cells: pd.Series(_with_missing(Fraction)(cells), dtype=object),
    "text": lambda cells: pd.Series(_with_missing(str)(cells), dtype=object),
    "text of floats": lambda cells: pd.Series(_with_missing(" {}.0 ".format)(cells), dtype="string"),
    "Arrow integer": _arrow(pa.int64()),
    "Arrow float": _arrow(pa.float64()),
    "Arrow decimal": _arrow(pa.decimal128(20, 2)),
    "Arrow text": lambda cells: _arrow(pa.string())(_with_missing(str)(cells)),
    "polars": lambda cells: pl.Series(cells, dtype=pl.Float64),
    "polars text": lambda cells: pl.Series(_with_missing(str)(cells), dtype=pl.String),
}
EXACT = {*STORED} - {"float", "Float32", "sparse", "category of floats", "Arrow float", "polars"}
# One value as a caller may write it.
WRITTEN = [
    int,
    float,
    str,
    Decimal,
    Fraction,
    np.int64,
    np.float64,
    " {}\t".format,
    "{}.00".format,
    "+{}".format,
]


def ticked(columns, tick):
    frame = pl.DataFrame(columns) if isinstance(columns["a"], pl.Series) else pd.DataFrame(columns)
    lists = pdanon.from_onehot(frame, tick=tick)["items"]
    return [set(row) for row in (lists.to_list() if isinstance(frame, pl.DataFrame) else lists)]


@pytest.mark.parametrize("stored", STORED)
@given(
    rows=st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2, 10])] * 2), max_size=6),
    wanted=st.sampled_from([0, 1, 2]),
    write=st.sampled_from(WRITTEN),
)
def test_a_tick_is_equal_in_value_to_its_boxes(stored, rows, wanted, write):
    rows = [*rows, (wanted, None)]  # one box at least
    columns = {
        name: STORED[stored](list(cells)) for name, cells in zip("ab", zip(*rows, strict=True), strict=True)
    }
    expected = [{name for name, cell in zip("ab", row, strict=True) if cell == wanted} for row in rows]
    assert ticked(columns, write(wanted)) == expected


@pytest.mark.parametrize("stored", sorted(EXACT))
def test_integers_that_are_no_float_are_compared_exactly(stored):
    columns = {"a": STORED[stored]([BIG, BIG - 1, None])}
    for tick in (BIG, str(BIG), Decimal(BIG)):
        assert ticked(columns, tick) == [{"a"}, set(), set()]
    with pytest.raises(ParameterError, match="no box is ticked"):
        ticked(columns, BIG + 1)


@pytest.mark.parametrize("tick", [True, np.True_, "true", " TRUE", 1, "1", 1.0])
@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]", "object", "category", "Sparse[bool]"])
def test_a_boolean_is_true_or_1(tick, dtype):
    assert ticked({"a": pd.Series([True, False], dtype=dtype)}, tick) == [{"a"}, set()]


def test_text_that_writes_no_number_is_compared_as_text():
    boxes = {"a": ["x", " X ", "x1", "1_0", "1e1", "", None]}
    assert ticked(boxes, "X") == [{"a"}, {"a"}, set(), set(), set(), set(), set()]
    assert ticked(boxes, "1E1")[4] == {"a"}
    with pytest.raises(ParameterError, match="no box is ticked"):
        ticked(boxes, 10)


def test_a_value_of_several_types_is_not_merged():
    boxes = {"a": pd.Series([1, True, 1.0, "1", "true"], dtype=object)}
    assert ticked(boxes, "true") == [set(), {"a"}, set(), set(), {"a"}]
    assert ticked(boxes, 1) == [{"a"}, {"a"}, {"a"}, {"a"}, set()]


@pytest.mark.parametrize(
    "tick", [None, float("nan"), Decimal("NaN"), pd.NA, 1j, ["x"], pd.Timedelta(1), b"x"], ids=repr
)
def test_what_is_no_value_of_a_box_is_no_tick(tick):
    boxes = {"a": ["x", None]}
    with pytest.raises(ColumnError if tick is None else ParameterError, match="tick="):
        ticked(boxes, tick)


# --- Codes 1 and 2


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(
    "rows", [[(1, 2), (2, 1)], [(1, 2), (2, None), (None, 1)], [(2, None)], [(2, 2), (1, 1)]]
)
def test_boxes_of_only_1_and_2_are_refused_with_both_readings(stored, rows):
    columns = {
        name: STORED[stored](list(cells)) for name, cells in zip("ab", zip(*rows, strict=True), strict=True)
    }
    frame = pl.DataFrame(columns) if stored.startswith("polars") else pd.DataFrame(columns)
    with pytest.raises(
        ParameterError, match=r"only 1 and 2.*\n.*tick\n.*2 columns.*\n.*tick=1 .*fillna\(0\)"
    ):
        pdanon.from_onehot(frame)
    assert ticked(columns, 2) == [
        {name for name, cell in zip("ab", row, strict=True) if cell == 2} for row in rows
    ]


def test_both_calls_of_the_hint_work():
    frame = pd.DataFrame({"a": [1, 2, None], "b": [2, None, 2]})
    assert pdanon.from_onehot(frame, tick=1)["items"].tolist() == [["a"], [], []]
    assert pdanon.from_onehot(frame.fillna(0))["items"].tolist() == [["a", "b"], ["a"], ["b"]]


@pytest.mark.parametrize(
    "rows",
    [[(1, 1), (1, None)], [(0, 2), (1, 0)], [(3, None), (None, 2)], [(None, None)], [(False, 2), (1, 0)], []],
)
def test_other_boxes_are_no_codes(rows):
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    expected = [{name for name, cell in zip("ab", row, strict=True) if cell} for row in rows]
    assert [set(row) for row in pdanon.from_onehot(frame)["items"]] == expected  # warnings are errors


def test_a_column_of_1_and_2_in_every_row_is_named_beside_other_boxes():
    frame = pd.DataFrame({"bus": [1, 1, 2], "tram": [0, 1, 0]})
    with pytest.warns(NumbersWarning, match=r"every row has: 'bus'\n  hint:  .*tick=1"):
        pdanon.from_onehot(frame)
