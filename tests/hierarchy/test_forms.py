"""Leaves of a hierarchy are found by the value of a column, however file, dict or frame write it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import Hierarchy, HierarchyError
from pdanon.hierarchy import Form

DAY = pd.to_datetime(["2020-01-01", "2020-01-02"])
DATES = ["2020-01-01", "2020-01-02 00:00"]
COLUMNS = {
    "bool": ([True, False], [["True", "False"], ["TRUE", "false"], [True, False], ["1", "0"], [1, 0]]),
    "boolean of Arrow": (pd.array([True, False], dtype="bool[pyarrow]"), [["true", "FALSE"]]),
    "integers": (
        [1, -20],
        [["1", "-20"], [1.0, -20.0], ["1.00", "-2e1"], [Decimal("1.0"), Decimal("-20.0")]],
    ),
    "floats": ([1.0, 2.5], [["1", "2.50"], ["1.0", "2.5"], ["+1", " 2.5"]]),
    "float32": (np.array([1, 0.1], np.float32), [["1", "0.1"], [1.0, 0.1]]),
    "decimals": ([Decimal("1.00"), Decimal("2.5")], [[1.0, 2.5], ["1", "2.5"]]),
    "numbers as categories": (pd.Categorical([7, 1]), [["7.0", "1.0"]]),
    **{f"datetime64[{unit}]": (DAY.as_unit(unit), [DATES, [*DAY]]) for unit in ("s", "ms", "us", "ns")},
    "dates": ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], [DATES, [*DAY], [*DAY.date]]),
    "dates of Arrow": (pd.array(DAY, dtype=pd.ArrowDtype(pa.date32())), [DATES]),
    "times with a zone": (
        DAY.tz_localize("Europe/Athens"),
        [DATES, ["2019-12-31 22:00Z", "2020-01-02T01:00+0300"], [*DAY.tz_localize("Europe/Athens")]],
    ),
}


def released(values, source):
    frame = pd.DataFrame({"q": values}).iloc[[0, 0, 1, 1]]
    return pdanon.mondrian(frame, k=2, quasi={"q": source}).frame["q"].tolist()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", COLUMNS)
def test_leaves_are_found_by_value(name, tmp_path):
    values, ways = COLUMNS[name]
    for leaves in ways:
        tree = {"*": {"A": leaves[:1], "B": leaves[1:]}}
        texts = [Hierarchy.of(tree).labels[node] for node in (2, 4)]  # as the hierarchy writes them
        lines = [f"{text};{parent};*" for text, parent in zip(texts, "AB", strict=True)]
        (tmp_path / "tree.csv").write_text("\n".join(lines))
        edges = pd.DataFrame({"child": leaves, "parent": ["A", "B"]})
        for source in (tree, edges, tmp_path / "tree.csv"):
            assert released(values, source) == [texts[0]] * 2 + [texts[1]] * 2


def test_text_is_compared_letter_for_letter():
    for text, leaf in [("1", "1.0"), ("true", "True"), ("2020-01-01", "2020-01-01 00:00")]:
        with pytest.raises(HierarchyError, match="compared as text, letter for letter"):
            released([text, text], {"*": [leaf]})


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([True, False], "true or false"),
        ([31, 12], "numbers, such as 12 or 12.0"),
        ([Decimal("31.5"), Decimal(12)], "numbers, such as 12 or 12.0"),
        (DAY, "dates, such as 2020-01-31 or 2020-01-31 09:30"),
        ([dt.time(10), dt.time(11)], "text such as 00:00:00.000000"),
        (pd.to_timedelta([5, 6], unit="s").as_unit("ns"), "text such as 0"),
        ([SECRET, "x"], "text, letter for letter"),
    ],
)
def test_a_message_says_what_was_looked_for(values, looks):
    with pytest.raises(HierarchyError) as caught:
        released(values, {"*": [SECRET + "!"]})
    assert f"2 of 2 items are not leaves, compared as {looks}" in str(caught.value)
    assert "where: quasi['q']" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "one", "other"),
    [([True, True], "true", "1"), ([7, 7], "7", "7.0"), (DAY[[0, 0]], "2020-01-01", "2020-01-01 00:00")],
)
def test_leaves_of_one_value_have_one_parent(values, one, other):
    assert released(values, {"*": {"A": [one, other], "B": ["none"]}}) == [one] * 4
    with pytest.raises(HierarchyError, match="two leaves have one value and different parents"):
        released(values, {"*": {"A": [one], "B": [other]}})
    # As text they are two.
    assert released([one, other], {"*": {"A": [one], "B": [other]}}) == [one, one, other, other]


def test_values_that_a_hierarchy_lacks_are_put_below_its_root_once():
    tree = Hierarchy.of({"*": {"A": ["1.0"]}}, missing="root")
    assert released([1, 2], tree) == ["1.0", "1.0", "2", "2"]
    covering, nodes = tree.cover(["1", "2", "2.0"], Form.of(pa.float64()))
    assert (covering.names, nodes.tolist()) == (("*", "A", "1.0", "2", "2.0"), [2, 3, 3])


def test_a_form_is_one_of_pdanon():
    with pytest.raises(pdanon.errors.ParameterError, match="form must be a Form of pdanon"):
        Hierarchy.of({"*": ["1"]}).cover(["1"], pa.int64())


def test_what_looks_like_no_value_is_text():
    form = Form.of(pa.float64())
    for text in ["", "1_0", "0x1", "nan", "inf", "1e99999", "١", "1,5", "--1", "1 2"]:
        assert form.key(text) == text
    form = Form.of(pa.timestamp("ns"))
    for text in ["now", "2020", "2020-02-30", "20200101", "01/02/2020", "5", "2020-01-01 25:00"]:
        assert form.key(text) == text
    form = Form.of(pa.timestamp("us", "Europe/Athens"))
    assert form.key("2021-03-28 03:30") == "2021-03-28 03:30"  # clocks went forward


@settings(max_examples=examples(60))
@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers(0, 4))
def test_a_number_is_the_same_with_more_zeros(number, zeros):
    key = Form.of(pa.decimal128(38, 3)).key
    assert key(f"{number}{'0' * zeros}") == key(str(number)) == key(f"{number:E}")


@settings(max_examples=examples(60))
@given(st.datetimes(), st.sampled_from(["ms", "us"]))
def test_a_moment_is_the_same_in_any_resolution(moment, unit):
    coarse = np.datetime64(moment, "s")
    key = Form.of(pa.timestamp(unit)).key
    assert key(str(coarse)) == key(str(coarse.astype(f"M8[{unit}]"))) == key(str(coarse).replace("T", " "))
