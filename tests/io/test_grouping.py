"""Lines grouped on disk: the rows of `from_long`, in another order."""

from __future__ import annotations

import gzip
import stat
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET
from hypothesis import given, strategies as st

import pdanon
from pdanon import ColumnError, FormatError, ItemsetDtypeError, ParameterError, stream
from pdanon.io import grouping

pytest.importorskip("duckdb")

LINES = pd.DataFrame(
    {
        "who": [7, 7, 8, 7, 9, 9],
        "shop": ["n", "n", "n", "s", "s", "s"],
        "sex": ["f", "f", "m", "f", None, "m"],
        "what": ["tea", " rice ", "tea", "tea", None, " "],
    }
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LINES.to_parquet("lines.parquet", index=False)
    LINES.to_csv("lines.csv", index=False, sep=";")


def rows(frame):
    """The rows, sorted: lists as tuples, missing values as None."""
    *others, lists = frame.columns
    values = [[None if pd.isna(each) else each for each in frame[name]] for name in others]
    return sorted(zip(*values, map(tuple, frame[lists]), strict=True), key=repr)


@pytest.mark.parametrize("source", ["lines.parquet", "lines.csv"])
@pytest.mark.parametrize(("by", "keep"), [("who", []), ("who", ["sex"]), (["who", "shop"], ["sex"])])
def test_rows_are_those_of_lines_in_memory(source, by, keep):
    stream.from_long(source, "rows.parquet", by=by, item="what", keep=keep)
    expected = pdanon.from_long(LINES, by=by, item="what", keep=keep)
    assert rows(pdanon.read_parquet("rows.parquet")) == rows(expected)
    assert stat.S_IMODE(Path("rows.parquet").stat().st_mode) == 0o600
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.slow
@given(
    lines=st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(-3, 9)), min_size=1, max_size=30),
    size=st.integers(1, 9),
)
def test_persons_that_span_batches_are_one_row(tmp_path_factory, lines, size):
    directory = tmp_path_factory.mktemp("lines")
    frame = pd.DataFrame(lines, columns=["who", "what"]).astype({"what": "Int64"})
    if frame["who"].nunique() == len(frame) >= 20:
        return
    frame.to_parquet(directory / "in.parquet", index=False, row_group_size=size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pdanon.io.grouping._LINES", size)
        stream.from_long(directory / "in.parquet", directory / "out.parquet", by="who", item="what")
    expected = pdanon.from_long(frame, by="who", item="what")
    assert rows(pdanon.read_parquet(directory / "out.parquet")) == rows(expected)


def test_files_of_a_directory_and_compressed_text_are_read():
    Path("parts").mkdir()
    for number in (0, 1):
        LINES.iloc[3 * number :][:3].to_parquet(f"parts/{number}.parquet", index=False)
    Path("lines.tsv.gz").write_bytes(gzip.compress(LINES.to_csv(index=False, sep="\t").encode()))
    expected = rows(pdanon.from_long(LINES, by="who", item="what"))
    for source in ("parts", "lines.tsv.gz"):
        stream.from_long(source, "rows.parquet", by="who", item="what")
        assert rows(pdanon.read_parquet("rows.parquet")) == expected


WRONG = {
    "no column": ({"by": "whom"}, ColumnError, "did you mean 'who'"),
    "two tasks": ({"keep": ["what"]}, ParameterError, "two tasks"),
    "persons": ({"keep": ["who"]}, ParameterError, "the column of persons is never published"),
    "no person": ({"by": "sex"}, ParameterError, "some lines have no person"),
    "conflict": ({"keep": ["shop"]}, ColumnError, "several values in a column that is kept"),
    "memory": ({"memory": "much"}, FormatError, "cannot be grouped"),
    "no directory": ({"target": "new/rows.parquet"}, ParameterError, "directory of the target"),
    "no file": ({"source": "nowhere.parquet"}, FormatError, "nowhere.parquet"),
    "lists": ({"source": "lists.parquet"}, ItemsetDtypeError, "holds lists"),
    "each its own": ({"source": "alone.csv"}, ParameterError, "each line has another person"),
    "later text": (
        {"source": "late.csv", "keep": ["sex"], "types": {"sex": "integer"}},
        FormatError,
        "column 'sex' has another type than requested\n.*late.csv, line 200,002",
    ),
}


@pytest.mark.parametrize(("change", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_grouped_is_refused_whole(change, error, message):
    pdanon.to_parquet(pd.DataFrame({"who": [1], "what": [["tea"]]}), "lists.parquet")
    pd.DataFrame({"who": range(30), "what": "tea"}).to_csv("alone.csv", index=False)
    if change.get("source") == "late.csv":
        many = pd.DataFrame({"who": 1, "what": "tea", "sex": [*[1] * 200_000, SECRET]})
        many.to_csv("late.csv", index=False)
    before = sorted(Path().iterdir())
    asked = {"source": "lines.parquet", "target": "rows.parquet", "by": "who", "item": "what"} | change
    with pytest.raises(error, match=message) as caught:
        stream.from_long(**asked)
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    assert sorted(Path().iterdir()) == before


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match=r"pip install duckdb"):
        stream.from_long("lines.parquet", "rows.parquet", by="who", item="what")


@pytest.mark.parametrize("whats", [[1.0, 2.0, None], [1.5, 2.0, None]])
def test_integers_that_are_stored_as_floats_are_integers_again(whats):
    lines = pd.DataFrame({"who": [1, 1, 2], "what": whats})
    lines.to_parquet("floats.parquet")
    stream.from_long("floats.parquet", "rows.parquet", by="who", item="what")
    expected = pdanon.from_long(lines, by="who", item="what")["what"]
    found = pdanon.read_parquet("rows.parquet")["what"]
    assert found.dtype.pyarrow_dtype.value_type == expected.dtype.pyarrow_dtype.value_type
    assert sorted(map(list, found)) == sorted(map(list, expected))


def test_no_lines_are_no_rows():
    LINES.iloc[:0].to_parquet("empty.parquet", index=False)
    stream.from_long("empty.parquet", "rows.parquet", by="who", item="what", keep=["shop"])
    assert pdanon.read_parquet("rows.parquet").shape == (0, 2)


def test_the_database_prints_no_progress(tmp_path):
    empty = pa.schema({"who": pa.int64()})
    with grouping._database(tmp_path / "target", "1GB", [], empty, "source") as database:
        shown = database.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    assert shown == [(False,)]
