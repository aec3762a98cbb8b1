"""What the algorithms of (k,k^m)-anonymity refuse: with a reason, and without a word of the data."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of
from families import RT, gathered

import pdanon
from pdanon import ColumnError, HierarchyError, InfeasibleError, ItemsetDtypeError, ParameterError

OWN = {
    "rum_bound": {"delta": 1.0},
    "tum_bound": {"delta": 1.0},
    "rfirst": {},
    "tfirst": {"parts": 1},
}
TREE = {"any": {"upper": [SECRET, "b"], "lower": ["c"]}}
ROWS = [[SECRET, "b"], ["b"], [SECRET], ["b", "c"], ["c"], [SECRET, "c"]]
algorithms = pytest.mark.parametrize("name", RT)


def frame(**columns):
    people = {"age": [30, 31, 45, 46, 70, 71], "city": list("ppqqrr"), "other": [1, 1, 2, 2, 3, 3]}
    return frame_of(ROWS).assign(**(people | columns))


def run(name, table=None, **asked):
    arguments = {"k": 2, "m": 2, "quasi": ["age", "city"]} | OWN[name] | asked
    return RT[name](frame() if table is None else table, **gathered(arguments))


def refused(name, error, table=None, **asked):
    table = frame() if table is None else table
    before = table.copy(deep=True)
    with pytest.raises(error) as caught:
        run(name, table, **asked)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    pd.testing.assert_frame_equal(table, before)
    return str(caught.value)


TWICE = frame().set_axis(["items", "age", "city", "age"], axis=1)
NESTED = frame(city=[["p"]] * 6)
BAD = {
    "k": (ParameterError, {"k": 1}, None),
    "k of rows": (InfeasibleError, {"k": 7}, None),
    "m": (ParameterError, {"m": 0}, None),
    "no quasi": (ParameterError, {"quasi": []}, None),
    "quasi as text": (ParameterError, {"quasi": "age"}, None),
    "quasi twice": (ParameterError, {"quasi": ["age", "age"]}, None),
    "unknown quasi": (ColumnError, {"quasi": ["age", "nowhere"]}, None),
    "quasi of lists": (ColumnError, {"quasi": ["age", "items"]}, None),
    "other lists": (ColumnError, {"column": "items"}, NESTED),
    "a label twice": (ColumnError, {}, TWICE),
    "unknown column": (ColumnError, {"column": "nowhere"}, None),
    "no lists": (ColumnError, {}, frame().drop(columns="items")),
    "several lists": (ColumnError, {"quasi": ["age"]}, NESTED),
    "infinite": (ParameterError, {}, frame(age=[1.0, 2, 3, 4, 5, np.inf])),
    "mixed values": (ItemsetDtypeError, {}, frame(city=pd.Series(["p", 1, 2, "q", "r", "r"], dtype=object))),
    "transaction": (ParameterError, {"transaction": "pctaa"}, None),
    "transaction of no text": (ParameterError, {"transaction": ["pcta"]}, None),
    "no item hierarchy": (ParameterError, {"transaction": "apriori"}, None),
    "item hierarchy unused": (ParameterError, {"hierarchy": TREE}, None),
    "item hierarchy lacks": (
        HierarchyError,
        {"transaction": "apriori", "hierarchy": {"any": ["b", "c"]}},
        None,
    ),
    "hierarchy lacks": (HierarchyError, {"quasi": {"city": {"any": ["p", "q"]}}}, None),
    "option": (ParameterError, {"options": {"utility": []}}, None),
    "option near": (ParameterError, {"transaction": "coat", "options": {"max_supressed": 0.1}}, None),
    "option value": (ParameterError, {"transaction": "coat", "options": {"max_suppressed": 2}}, None),
    "options of no mapping": (ParameterError, {"options": ["utility"]}, None),
    "parts": (ParameterError, {"transaction": "vpa", "hierarchy": TREE, "options": {"parts": 0}}, None),
    "column and columns": (ParameterError, {"column": "items", "columns": ["items"]}, None),
    "columns as text": (ParameterError, {"columns": "items"}, None),
    "no columns": (ParameterError, {"columns": []}, None),
    "columns twice": (ParameterError, {"columns": ["items", "items"]}, None),
    "unknown columns": (ColumnError, {"columns": ["items", "nowhere"]}, None),
    "columns without lists": (ItemsetDtypeError, {"columns": ["items", "other"]}, None),
    "columns of quasi": (ColumnError, {"columns": ["items", "city"]}, NESTED),
    "columns, one hierarchy": (
        ParameterError,
        {"columns": ["items"], "transaction": "apriori", "hierarchy": TREE["any"]},
        None,
    ),
    "columns, another hierarchy": (
        ParameterError,
        {"columns": ["items"], "transaction": "apriori", "hierarchy": {"items": TREE, "drugs": TREE}},
        None,
    ),
    "sensitive alone": (ParameterError, {"sensitive": [SECRET]}, None),
    "l alone": (ParameterError, {"l": 2}, None),
    "l": (ParameterError, {"sensitive": [SECRET], "l": 1, "transaction": "apriori", "hierarchy": TREE}, None),
    "sensitive of another": (
        ParameterError,
        {"sensitive": [SECRET], "l": 2, "transaction": "direct", "hierarchy": TREE},
        None,
    ),
    "sensitive unknown": (
        ParameterError,
        {"sensitive": [SECRET + "?"], "l": 2, "transaction": "apriori", "hierarchy": TREE},
        None,
    ),
    "sensitive in columns": (
        ParameterError,
        {"sensitive": [SECRET], "l": 2, "transaction": "apriori", "hierarchy": TREE, "columns": ["items"]},
        None,
    ),
}


@pytest.mark.one_in(3)
@algorithms
@pytest.mark.parametrize("what", BAD)
def test_refusals(name, what):
    error, asked, table = BAD[what]
    refused(name, error, table, **asked)


@pytest.mark.parametrize("name", ["rum_bound", "tum_bound"])
@pytest.mark.parametrize(
    "asked",
    [
        {"delta": 1.1},
        {"delta": -0.1},
        {"delta": "1"},
        {"delta": np.nan},
        {"delta": True},
        {"merge": "r"},
        {"merge": None},
        {"merge": ["R"]},
        {"order": "rum"},
        {"tum": "ncpp"},
        {"tum": 1},
        {"cluster": "clusters"},
        {"cluster": None},
    ],
    ids=str,
)
def test_refusals_of_bounds(name, asked):
    message = refused(name, ParameterError, **asked)
    assert next(iter(asked)) in message


@pytest.mark.parametrize("parts", [0, -1, 1.5, True, None])
def test_refusals_of_parts(parts):
    refused("tfirst", ParameterError, parts=parts)


def test_hints():
    assert "did you mean 'max_suppressed'?" in refused(
        "rfirst", ParameterError, transaction="coat", options={"max_supressed": 0.1}
    )
    assert "did you mean 'k_member'?" in refused("rfirst", ParameterError, cluster="kmember")


# --- bounds that cannot be kept


@pytest.mark.parametrize("merge", ["R", "T", "RT"])
@pytest.mark.parametrize(("name", "measure"), [("rum_bound", "NCP_relational"), ("tum_bound", "NCP")])
def test_the_least_that_can_be_reached_is_told(name, measure, merge):
    message = refused(name, InfeasibleError, delta=0.01, merge=merge, random_state=0)
    least = float(re.search(r"(?:reached is|they lose) ([0-9.]+)", message).group(1))
    result = run(name, delta=least, merge=merge, random_state=0)
    assert result.loss[measure] == pytest.approx(least, abs=1e-6)
    refused(name, InfeasibleError, delta=least - 2e-6, merge=merge, random_state=0)


def test_one_number_beside_missing_values_keeps_the_bound():
    """What mixes both is told from what does not, so that each class loses what its cluster did."""
    rows = frame(age=[3, None, 3, 3, 3, 3], city=list("ppqqrr"))
    result = run("rum_bound", rows, delta=1 / 6, random_state=0)
    assert result.frame["age"].tolist() == ["(3,<NA>)"] * 2 + ["3"] * 4
    assert result.loss["NCP_relational"] == pytest.approx(1 / 6)  # one of two columns of two of six rows
    refused("rum_bound", InfeasibleError, rows, delta=0.16, random_state=0)


@algorithms
def test_a_quasi_identifier_without_values(name):
    for values in ([None] * 6, [np.nan] * 6):
        result = run(name, frame(age=values))
        assert result.frame["age"].isna().all()
        assert result.frame.txanon.audit(pdanon.KKm(k=2, m=2, quasi=["age", "city"])).holds
