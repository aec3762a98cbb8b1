"""Published quasi-identifiers mean what they say: intervals hold their values, texts are told apart."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from families import RELATIONAL
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples

WHOLE = st.sampled_from([0, 1, 7, 2**53, 2**53 + 1, 2**53 + 3, 2**62 + 1, 2**63 - 1])
DECIMALS = st.decimals(-(10**6), 10**6, places=2) | st.sampled_from(
    [
        *map(
            Decimal,
            ["0.7", "0.1", "-0.3", "9007199254740993", "0.70000000000000000001", "0.70000000000000000002"],
        )
    ]
)
COLUMNS = {
    "object of Decimal": (DECIMALS, lambda values: pd.Series(values, dtype=object)),
    "decimal128": (
        DECIMALS,
        lambda values: pd.Series(pa.array(values), dtype=pd.ArrowDtype(pa.array(values).type)),
    ),
    "float32": (st.floats(-1e6, 1e6, width=32), lambda values: pd.Series(values, dtype="float32")),
    "float64": (
        st.floats(allow_nan=False, allow_infinity=False),
        lambda values: pd.Series(values, dtype="float64"),
    ),
    "int64": (WHOLE | WHOLE.map(lambda n: -n), lambda values: pd.Series(values, dtype="int64")),
    "uint64": (WHOLE | st.just(2**64 - 1), lambda values: pd.Series(values, dtype="uint64")),
    "object of int": (WHOLE | st.just(2**64 - 1), lambda values: pd.Series(values, dtype=object)),
    "int64 of Arrow": (WHOLE, lambda values: pd.Series(values, dtype="int64[pyarrow]")),
    **{
        f"{kind}64[{unit}]": (
            st.integers(-(10**9), 10**9),
            lambda values, kind=kind, unit=unit: pd.Series(np.array(values, f"{kind}64[{unit}]")),
        )
        for kind in ("datetime", "timedelta")
        for unit in ("s", "ms", "us", "ns")
    },
    "times with a zone": (
        st.integers(-(10**9), 10**9),
        lambda values: pd.Series(pd.to_datetime(values, unit="us", utc=True)).dt.tz_convert("Europe/Athens"),
    ),
    "Int64 and missing": (
        st.integers(-(2**53), 2**53) | st.none(),
        lambda values: pd.Series([*values, None, 0, 1], dtype="Int64"),
    ),
    "decimals and missing": (
        DECIMALS | st.none(),
        lambda values: pd.Series([*values, None, Decimal("0.1"), Decimal("0.7")], dtype=object),
    ),
    "dates": (
        st.dates(),
        lambda values: pd.Series(values, dtype=object),
    ),
}
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
ALGORITHMS = [*RELATIONAL]


def exact(value):
    """A number, or the nanoseconds of a time, as a fraction."""
    if isinstance(value, dt.date):
        value = pd.Timestamp(value)
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        return value._value * NANOSECONDS[value.unit]
    return Fraction(value)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=examples(12))
@given(data=st.data(), algorithm=st.sampled_from(ALGORITHMS), few=st.booleans())
def test_every_value_is_within_its_published_interval(kind, data, algorithm, few):
    values, column = COLUMNS[kind]
    drawn = data.draw(st.lists(values, min_size=2, max_size=6))
    original = column(drawn * 2 if few else drawn)
    released = getattr(pdanon, algorithm)(pd.DataFrame({"q": original}), k=2, quasi=["q"]).frame["q"]
    assert isinstance(released.dtype, pd.IntervalDtype)
    for value, interval in zip(original, released, strict=True):
        if pd.isna(value):
            continue
        assert interval.closed == "both"
        assert exact(interval.left) <= exact(value) <= exact(interval.right)


def test_interval_of_a_decimal_is_the_narrowest_that_holds_it():
    column = [Decimal("0.7")] * 2 + [Decimal("0.5")] * 2 + [Decimal("2.5"), None]
    released = pdanon.mondrian(pd.DataFrame({"q": column}), k=2, quasi=["q"]).frame["q"]
    up = float(np.nextafter(0.7, 1))
    assert (released[0].left, released[0].right) == (0.7, up)  # 0.7 as a float is less than 0.7
    assert (released[2].left, released[2].right) == (0.5, 0.5)


def test_decimals_that_look_alike_are_one_class():
    near = [Decimal("0.70000000000000000001")] * 2 + [Decimal("0.70000000000000000002")] * 2
    result = pdanon.mondrian(pd.DataFrame({"q": near}), k=2, quasi=["q"])
    assert result.frame["q"].nunique() == len(result.classes) == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_one_duration_beside_missing_ones_is_a_duration(unit):
    def published(values):
        column = pd.Series(pd.to_timedelta(values)).dt.as_unit(unit)
        return pdanon.mondrian(pd.DataFrame({"q": column}), k=2, quasi=["q"]).frame["q"].tolist()

    assert published([None, None, "1h", "1h"])[2:] == ["0 days 01:00:00"] * 2
    assert published([None, "25h", "25h"]) == ["(1 days 01:00:00,<NA>)"] * 3


def test_missing_value_and_its_text_are_told_apart():
    def published(values, k):
        return pdanon.mondrian(pd.DataFrame({"q": values}), k=k, quasi=["q"]).frame["q"].tolist()

    assert published(["<NA>", "b"], 2) == [r"(\<NA>,b)"] * 2
    assert published([None, "b"], 2) == ["(b,<NA>)"] * 2
    assert published(["<NA>", None, "b"], 3) == [r"(\<NA>,b,<NA>)"] * 3
    assert published([r"\<NA>", "b"], 2) == [r"(\\<NA>,b)"] * 2
    assert published(["<NA>", "<NA>", None, None], 2)[:2] == ["<NA>"] * 2
    assert pd.isna(published(["<NA>", "<NA>", None, None], 2)[2:]).all()
