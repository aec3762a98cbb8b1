"""What the tests of the command line share: its data, some options, and what is there afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SECRET, frame_of

from pdanon.cli import output
from pdanon.io.csv import to_csv
from pdanon.io.parquet import to_parquet

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [{RICE, TEA}, {RICE, SALT}, {RICE, TEA}, {TEA}]
MERGED = f"({RICE},{SALT})"  # the only way to hide the one row with salt at a smaller loss than with tea
KM = ("--algorithm", "pcta", "-k", "2", "-m", "2")
CSV = ("--column", "items", "--separator", " ")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with the same data as in.parquet and in.csv; no stage takes long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "PATIENCE", 600)
    frame = frame_of(ROWS).assign(store=["north", "north", "south", "south"])
    to_parquet(frame, "in.parquet")
    to_csv(frame, "in.csv", separator=" ")


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def mapped(mapping):
    return dict(zip(mapping["item"].tolist(), mapping["generalized"].tolist(), strict=True))
