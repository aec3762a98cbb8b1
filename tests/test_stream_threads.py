"""Streams in several threads: the same files, and the same errors."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from test_stream import IN_BLOCKS, partitions, table_of

import pdanon
from pdanon import stream
from pdanon.errors import FormatError, IdentifierWarning
from pdanon.io.trees import TreeFile
from pdanon.itemsets import threads

# Columns pass through here that tell rows apart; the tests that are about it ask for the warning.
pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")


@pytest.fixture(autouse=True)
def _few_steps_are_shared(monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 1)
    yield
    pdanon.config(threads=None)


def files(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.parquet")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("pcta", {"k": 4, "m": 3}),
        ("lra", IN_BLOCKS["lra"]),
        ("suppress_to_k", {"k": 4, "public": ["a1", "a3"]}),
    ],
)
def test_every_byte_is_the_same_for_any_number_of_threads(name, asked, tmp_path):
    source = partitions(table_of(), tmp_path)
    made = []
    for n in (1, 2, 3, 8):
        pdanon.config(threads=n)
        result = getattr(stream, name)(source, tmp_path / f"out{n}", **asked)
        made.append((files(tmp_path / f"out{n}"), result))
    assert len(made[0][0]) == 3
    for written, result in made[1:]:
        assert written == made[0][0]
        assert result.mapping.equals(made[0][1].mapping)
        assert result.rows == made[0][1].rows


@pytest.mark.parametrize("n", [1, 2, 8])
def test_a_row_group_that_breaks_while_others_are_written_is_named(n, tmp_path, monkeypatch):
    source = partitions(table_of(), tmp_path)
    pdanon.config(threads=n)
    before, read = {*threading.enumerate()}, TreeFile.read
    seen = []

    def break_later(file, number, columns=None):
        if columns is None:  # of the second pass
            seen.append((file.path, number))
            if number == 2:
                raise FormatError(
                    "the file cannot be read as Parquet", where=f"{file.path}, row group {number}"
                )
        return read(file, number, columns)

    monkeypatch.setattr(TreeFile, "read", break_later)
    with pytest.raises(FormatError, match=r"store=b/x\.parquet, row group 2"):
        stream.pcta(source, tmp_path / "out", k=2)
    assert seen[-1] == (str(source / "store=b" / "x.parquet"), 2)
    assert list(tmp_path.iterdir()) == [source]
    assert {*threading.enumerate()} <= before


@pytest.mark.parametrize("n", [1, 2])
def test_a_disk_that_is_full_ends_all_threads(n, tmp_path, monkeypatch):
    source = partitions(table_of(), tmp_path)
    pdanon.config(threads=n)
    before = {*threading.enumerate()}

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(FormatError, match="the release cannot be written"):
        stream.pcta(source, tmp_path / "out", k=2)
    assert list(tmp_path.iterdir()) == [source]
    assert {*threading.enumerate()} <= before


@pytest.mark.parametrize("n", [1, 2])
def test_a_warning_points_to_the_caller(n, tmp_path):
    table = table_of().set_column(0, "number", [np.arange(150)])
    source = partitions(table, tmp_path)
    pdanon.config(threads=n)
    with pytest.warns(IdentifierWarning) as caught:
        stream.pcta(source, tmp_path / "out", k=2)
    assert [each.filename for each in caught] == [__file__]


def test_small_files_start_no_thread(tmp_path, monkeypatch):
    monkeypatch.undo()

    def started(*_):
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threads, "ThreadPoolExecutor", started)
    pdanon.config(threads=8)
    frame = pd.DataFrame({"items": [["a"], ["a"], ["b"], ["b"]]})
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    assert stream.pcta(tmp_path / "in.parquet", tmp_path / "out", k=2).rows == 4
