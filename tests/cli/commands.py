"""What the tests of the command line share: its data, some options, and what is there afterwards."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import SECRET, frame_of

from pdanon.io.parquet import to_parquet
from pdanon.io.text import to_csv

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [{RICE, TEA}, {RICE, SALT}, {RICE, TEA}, {TEA}]
MERGED = f"({RICE},{SALT})"  # the only way to hide the one row with salt at a smaller loss than with tea
KM = ("--algorithm", "pcta", "-k", "2", "-m", "2")
CSV = ("--column", "items", "--separator", " ")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with the same data as in.parquet and in.csv."""
    monkeypatch.chdir(tmp_path)
    for name, content in files().items():
        Path(name).write_bytes(content)


@cache
def files():
    """The content of in.parquet and of in.csv, which are written once."""
    frame = frame_of(ROWS).assign(store=["north", "north", "south", "south"])
    with TemporaryDirectory() as directory:
        to_parquet(frame, Path(directory, "in.parquet"))
        to_csv(frame, Path(directory, "in.csv"), separator=" ")
        return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def mapped(mapping):
    return dict(zip(mapping["item"].tolist(), mapping["generalized"].tolist(), strict=True))
