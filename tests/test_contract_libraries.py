"""Every registered algorithm takes a table of polars, and returns tables of polars with equal rows."""

from __future__ import annotations

import inspect
import warnings

import pandas as pd
import pytest
from contract import arguments_of
from families import ALGORITHMS, IN_CHUNKS, RELATIONAL, RT
from frames import BASE

import pdanon
from pdanon.errors import ReleaseWarning

polars = pytest.importorskip("polars")

ROWS = BASE + BASE[::-1]
GRADES = ["low", "middle", "high", "in no row"]
OF_RT = {"tfirst": {"parts": 2}, "rum_bound": {"delta": 1.0}, "tum_bound": {"delta": 1.0}}


def columns():
    return {
        "age": [20 + number // 2 for number in range(len(ROWS))],
        "sex": ["f", "m"] * (len(ROWS) // 2),
        "grade": [GRADES[number % 3] for number in range(len(ROWS))],
        "weight": [float(number) if number else None for number in range(len(ROWS))],
        "items": ROWS,
    }


def both_tables():
    """The same table of polars, with types that pandas has not, and of pandas."""
    types = {"sex": polars.Categorical, "grade": polars.Enum(GRADES), "weight": polars.Float32}
    grades = pd.Categorical(columns()["grade"], GRADES, ordered=True)
    frame = pd.DataFrame(columns()).assign(grade=grades).astype({"sex": "category", "weight": "float32"})
    return polars.DataFrame(columns(), schema_overrides=types), frame


def calls_of(name):
    frame = pd.DataFrame(columns())
    if name in ALGORITHMS:
        return ALGORITHMS[name], arguments_of(name, frame[["items"]])
    function = {**RELATIONAL, **RT}[name]
    asked = (
        {"k": 2, "quasi": ["age", "sex", "grade"]} | ({"m": 2} if name in RT else {}) | OF_RT.get(name, {})
    )
    random = {"random_state": 0} if "random_state" in inspect.signature(function).parameters else {}
    return function, asked | random


def values(table):
    """The rows as Python values; intervals as texts, and lists sorted."""
    if isinstance(table, pd.DataFrame):
        table = table.astype(object).where(table.notna(), None).to_dict("records")
        return [{name: value_of(value) for name, value in row.items()} for row in table]
    return [{name: value_of(value) for name, value in row.items()} for row in table.to_dicts()]


def value_of(value):
    if isinstance(value, pd.Interval):
        return str(value)
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*ALGORITHMS, *RELATIONAL, *RT])
def test_polars_in_and_polars_out(name):
    foreign, frame = both_tables()
    before, (function, asked) = foreign.clone(), calls_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # both warn in the same way
        result, expected = function(foreign, **asked), function(frame, **asked)
    assert isinstance(result, pdanon.Anonymized)
    assert isinstance(result.frame, polars.DataFrame)
    assert isinstance(result.mapping, polars.DataFrame)
    assert values(result.frame) == values(expected.frame)
    assert values(result.mapping) == values(expected.mapping)
    assert isinstance(result.classes, polars.DataFrame) == (expected.classes is not None)
    pd.testing.assert_series_equal(result.loss, expected.loss)
    assert pdanon.audit(result.frame, result.guarantee).holds
    unmodified = result.passed_through
    assert result.frame.select(unmodified).equals(foreign.select(unmodified))
    assert result.frame.select(unmodified).schema == foreign.select(unmodified).schema
    assert name in IN_CHUNKS or set(unmodified) >= {"weight"}
    assert foreign.equals(before)
    assert repr(result) == repr(expected)
