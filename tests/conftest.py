"""Shared by the tests: where the data is, how hypothesis runs, and rows to try."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.internal.conjecture import providers
from object_storage import bucket, server  # noqa: F401 - fixtures

import pdanon
from examples import examples
from pdanon.accessors import TxanonAccessor
from pdanon.algorithms import choice
from pdanon.algorithms.registry import ALGORITHMS, Algorithm
from pdanon.cli import main, output
from pdanon.itemsets.arguments import as_method

# The first example of a test loads what it needs, other work may keep a machine busy, and other versions draw
# other examples.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile(
    "pdanon", max_examples=examples(100), deadline=None, suppress_health_check=UNCHECKED
)
settings.load_profile("pdanon")
# Its examples would depend on the constants of the modules that other tests have loaded before.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

output.PATIENCE = 600  # a busy machine would have stages named

os.environ.pop("COLUMNS", None)  # of a narrow terminal: pandas would leave columns out of what it prints

# Workers, the commands that tests start, and later runs compile no module again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SECRET = "zebra-7731"

pytest.register_assert_rewrite("contract")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector off while tests are collected, as nothing that is made there is freed."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave all but one case in n of what is marked with ``one_in(n)`` to the slow tests."""
    numbers = defaultdict(count)
    for item in items:
        marker = item.get_closest_marker("one_in")
        if marker and not item.get_closest_marker("slow"):
            number = next(numbers[item.nodeid.split("[")[0]])
            if number % marker.args[0]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory of real data sets; tests that need it are skipped where there is none."""
    directory = Path(os.environ.get("PDANON_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not directory.is_dir():
        pytest.skip("no PDANON_DATA")
    return directory


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Open a page in headless Chromium: what it prints, and what the page and its console say."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium")
    profile = tmp_path_factory.mktemp("profile")

    def run(path, *flags):
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += ["--enable-logging=stderr", "--hide-scrollbars", "--disable-background-networking"]
        done = subprocess.run(
            [*command, *flags, path.as_uri()], capture_output=True, text=True, check=True, timeout=600
        )
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return run


@pytest.fixture
def tables_only(monkeypatch):
    """Pages without pictures, where these take most of the time and are not looked at."""
    monkeypatch.setattr("pdanon.evaluation.html.find_spec", lambda name: None)


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
def until_named(monkeypatch):
    """Wait until stderr names the running stage."""
    report, named = output.report, Event()

    def report_and_set(message, *code):
        code = report(message, *code)
        if message.startswith("running"):
            named.set()
        return code

    monkeypatch.setattr(output, "report", report_and_set)
    return partial(named.wait, 600)


class Clock:
    """Seconds that pass only as a test says, so that no load of a machine changes what comes of a limit.

    Each look at the clock takes so many seconds as ``look``.
    """

    def __init__(self, look=0.0):
        self.now, self.look = 0.0, look

    def __call__(self):
        self.now += self.look
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    """The clock of the time limits of algorithms; it stands still until a test moves it on."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(choice, "perf_counter", clock)
    return clock


@pytest.fixture
def stand_in(monkeypatch):
    """Let a function be run by the name of an algorithm, known or not."""

    def put(name, function):
        known = ALGORITHMS.get(name) or Algorithm(function, (pdanon.KmAnonymity,), recodes="items")
        monkeypatch.setitem(ALGORITHMS, name, replace(known, function=function))
        monkeypatch.setattr(TxanonAccessor, name, as_method(function), raising=False)

    return put


def row_lists(items: str = "abcdef", longest: int = 5, most: int = 10, least: int = 0):
    """Rows over few items, so that supports are now rare and now not; equal and empty rows included."""
    row = st.frozensets(st.sampled_from(list(items)), max_size=longest)
    return st.lists(row, min_size=least, max_size=most)


def frame_of(rows) -> pd.DataFrame:
    """A frame with one column of Arrow lists of strings; None is a missing row."""
    lists = pa.array([None if row is None else sorted(row) for row in rows], pa.list_(pa.string()))
    return pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})


def promised(**asked):
    """The arguments of an algorithm with ``guarantee=``, for the parameters of its guarantee by name."""
    kind = pdanon.PrivacyConstraints if "constraints" in asked else pdanon.LmDiversity
    if not {"constraints", "l"} & asked.keys():
        return asked
    own = {name: asked.pop(name) for name in ("constraints", "k", "l", "m", "sensitive") if name in asked}
    return {"guarantee": kind(**({"m": 2} if "l" in own else {}) | own), **asked}


def rows_of(frame: pd.DataFrame, column: str = "items") -> list[frozenset]:
    """The rows of a list column as Python sets; a missing row is an empty one."""
    lists = pa.array(frame[column]).to_pylist()
    return [frozenset(row or ()) for row in lists]
