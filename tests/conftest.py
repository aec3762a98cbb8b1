"""Shared by the tests: where the data is, how hypothesis runs, and rows to try."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pdanon
from examples import examples
from pdanon.algorithms.record import Algorithm
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.cli import main

# The first example of a test loads what it needs, and other work may keep a machine busy.
settings.register_profile(
    "pdanon", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pdanon")

SECRET = "zebra-7731"

pytest.register_assert_rewrite("contract")


def pytest_collection_finish():
    """What was imported and collected stays until the end: it is not searched for garbage again and again.

    Nor is what a test has just made, most of which goes without a search.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory of real data sets; tests that need it are skipped where there is none."""
    directory = Path(os.environ.get("PDANON_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not directory.is_dir():
        pytest.skip("no PDANON_DATA")
    return directory


@pytest.fixture
def run(capsys):
    """Run a command: exit code, stdout and stderr, in which no item ever is."""

    def run(*arguments):
        try:
            code = main.main(arguments)
        except SystemExit as error:
            code = error.code
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        return code, out, err

    return run


@pytest.fixture
def stand_in(monkeypatch):
    """Let a function be run by the name of an algorithm, known or not."""

    def put(name, function):
        known = ALGORITHMS.get(name) or Algorithm(function, (pdanon.KmAnonymity,), recodes="items")
        monkeypatch.setitem(ALGORITHMS, name, replace(known, function=function))

    return put


def row_lists(items: str = "abcdef", longest: int = 5, most: int = 10, least: int = 0):
    """Rows over few items, so that supports are now rare and now not; equal and empty rows included."""
    row = st.frozensets(st.sampled_from(list(items)), max_size=longest)
    return st.lists(row, min_size=least, max_size=most)


def frame_of(rows) -> pd.DataFrame:
    """A frame with one column of Arrow lists of strings; None is a missing row."""
    lists = pa.array([None if row is None else sorted(row) for row in rows], pa.list_(pa.string()))
    return pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})


def rows_of(frame: pd.DataFrame, column: str = "items") -> list[frozenset]:
    """The rows of a list column as Python sets; a missing row is an empty one."""
    lists = pa.array(frame[column]).to_pylist()
    return [frozenset(row or ()) for row in lists]
