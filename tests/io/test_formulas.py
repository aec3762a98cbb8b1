"""CSV files that a spreadsheet opens: texts that it would run as formulas are reported, or escaped."""

from __future__ import annotations

import warnings

import pandas as pd
import pyarrow as pa
import pytest

import pdanon
from pdanon import ParameterError
from pdanon.errors import ReleaseWarning
from pdanon.io.tables import write_plain

RUN = ["=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "=1", "-", "+cmd"]
SHOWN = ["-5", "+3.25", "-1e5", "(=1,-a)", "a=b", "'=1", " x", "-,5"]


def written(frame, path, **asked):
    """The text of the file, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pdanon.to_csv(frame, path, separator="~", **asked)
    return path.read_text(), [str(each.message) for each in caught]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("text", RUN)
@pytest.mark.parametrize("place", ["item", "second item", "cell", "header", "category"])
def test_formulas_are_reported_and_escaped(text, place, tmp_path):
    frame = pd.DataFrame({"items": [["a", "b"], ["a"]], "x": ["u", "v"]})
    if place == "item":
        frame["items"] = [[text], ["a"]]
    elif place == "second item":  # another program may split the cell
        frame["items"] = [["\t", text] if text[0] != "\t" else [text, "z"], ["a"]]
    elif place == "header":
        frame = frame.rename(columns={"x": text})
    else:
        frame["x"] = pd.Series([text, "v"], dtype="category" if place == "category" else object)
    _, said = written(frame, tmp_path / "plain.csv")
    assert len(said) == 1
    assert "as formulas" in said[0]
    assert text not in said[0] or text == "-"  # which is among the beginnings that are named
    escaped, said = written(frame, tmp_path / "escaped.csv", escape_formulas=True)
    assert said == []
    assert f"'{text}" in escaped
    again = pd.read_csv(tmp_path / "escaped.csv", dtype=str)
    cells = [*again.columns, *again.to_numpy().ravel()]
    fields = [field for cell in cells for field in cell.split("~")]
    assert not [field for field in fields if field.startswith(tuple("=+-@\t\r"))]


@pytest.mark.parametrize("text", SHOWN)
def test_numbers_and_other_texts_are_left_alone(text, tmp_path):
    frame = pd.DataFrame({"items": [[text], ["a"]], "x": [text, "v"], "n": [-5, 3], "f": [-0.5, None]})
    plain, said = written(frame, tmp_path / "plain.csv")
    assert said == []
    assert written(frame, tmp_path / "escaped.csv", escape_formulas=True) == (plain, [])


def test_items_that_are_numbers_are_no_formulas(tmp_path):
    frame = pd.DataFrame({"items": [[-5, 3], [-1]]})
    plain, said = written(frame, tmp_path / "plain.csv")
    assert (plain, said) == ("items\n-5~3\n-1\n", [])


def test_missing_values_and_mixed_columns_stay(tmp_path):
    frame = pd.DataFrame({"items": [["=1"], None], "x": ["=1", None], "y": ["=1", 7]})
    text, said = written(frame, tmp_path / "escaped.csv", escape_formulas=True)
    assert (text, said) == ("items,x,y\n'=1,'=1,'=1\n,,7\n", [])
    assert frame["x"].tolist()[0] == "=1"  # the input is not modified


def test_an_escaped_item_is_never_another_one(tmp_path):
    frame = pd.DataFrame({"items": [["=1", "'=1"]]})
    with pytest.raises(ParameterError, match="an escaped item is the text of another"):
        pdanon.to_csv(frame, tmp_path / "out.csv", separator="~", escape_formulas=True)
    with pytest.raises(ParameterError, match="escape_formulas"):
        pdanon.to_csv(frame, tmp_path / "out.csv", separator="~", escape_formulas="yes")
    assert not [*tmp_path.iterdir()]


def test_a_mapping_is_treated_in_the_same_way(tmp_path):
    rows = pd.DataFrame({"items": [["=1", "b"], ["c"], ["b", "c"], ["=1"]]})
    mapping = rows.txanon.pcta(k=2, m=1).mapping
    with pytest.warns(ReleaseWarning, match="as formulas"):
        write_plain(mapping, tmp_path / "plain.csv")
    write_plain(mapping, tmp_path / "escaped.csv", escape_formulas=True)
    again = pd.read_csv(tmp_path / "escaped.csv")
    assert again["item"].tolist() == ["'=1", "b", "c"]
    assert mapping["item"].dtype == pd.ArrowDtype(pa.string())
    write_plain(mapping, tmp_path / "mapping.parquet")  # no spreadsheet runs what Parquet holds
