"""A plugin of pytest: run the tests named in a file, each test file up to its first failure, and record all.

The environment variable ``PDANON_MUTANTS`` names the folder of ``selected.txt`` (a test a line, in the order
of their files; without it, all tests run) and of the record, ``outcomes.json``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import Phase, settings

FOLDER = Path(os.environ.get("PDANON_MUTANTS", "."))
ENOUGH = float(os.environ.get("PDANON_MUTANTS_SECONDS", "inf"))  # after a failure, of further tests

began = perf_counter()
outcomes: dict[str, tuple[str, float]] = {}
failed: set[str] = set()


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.split("::")[0]


def pytest_collection():
    """Leave failing examples as long as they are."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    settings.register_profile("mutants", settings.get_profile("pdanon"), phases=phases)
    settings.load_profile("mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep the selected tests, in the order of their files."""
    path = FOLDER / "selected.txt"
    if path.exists():
        selected = path.read_text().splitlines()
        order = {file: number for number, file in enumerate(dict.fromkeys(map(file_of, selected)))}
        wanted = set(selected)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        kept = [item for item in items if item.nodeid in wanted]
        items[:] = sorted(kept, key=lambda item: order[file_of(item.nodeid)])


def pytest_runtest_setup(item):
    """Leave out the rest of a file that has failed."""
    if not hasattr(item.config, "workerinput"):
        if failed and perf_counter() - began > ENOUGH:
            item.session.shouldstop = "enough was tried"
        if failed and file_of(item.nodeid) in failed and "selected.txt" in os.listdir(FOLDER):
            pytest.skip("its file has failed")


def pytest_collectreport(report):
    """Record a file that cannot be imported."""
    if report.failed:
        failed.add(report.nodeid)
        outcomes[report.nodeid] = "failed", 0.0


def pytest_runtest_logreport(report):
    """Record how long a test took, and whether it failed."""
    outcome, seconds = outcomes.get(report.nodeid, ("passed", 0.0))
    if report.failed:
        failed.add(file_of(report.nodeid))
    outcomes[report.nodeid] = "failed" if report.failed else outcome, seconds + report.duration


def pytest_sessionfinish(session):
    """Write the record."""
    if not hasattr(session.config, "workerinput"):
        (FOLDER / "outcomes.json").write_text(json.dumps(outcomes))
