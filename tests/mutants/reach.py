"""Which tests reach a fault: those that run one of its lines, by coverage of all fast tests."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData

from tests.mutants.faults import ROOT, Fault
from tests.mutants.selection import file_of

RECORD = ROOT / "build" / "reach"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.selection")


def environment(folder: Path, checkout: Path = ROOT) -> dict[str, str]:
    """Return the environment of tests that are recorded in a folder."""
    data = os.environ.get("PDANON_DATA", str(ROOT.parent / "shared" / "data"))
    return {**os.environ, "PYTHONPATH": str(checkout), "PDANON_DATA": data, "PDANON_MUTANTS": str(folder)}


@dataclass(frozen=True)
class Tier:
    """What selects the tests of a tier."""

    arguments: tuple[str, ...] = ()
    examples: str = ""  # the value of PDANON_EXAMPLES


_MORE = ("-m", "slow or hypothesis or seeds")
TIERS = {"fast": Tier(), "ci": Tier(_MORE, "many"), "all": Tier(_MORE, "all")}


@dataclass(frozen=True)
class Reach:
    """Which lines each test runs, and how long each takes."""

    lines: CoverageData
    seconds: dict[str, float]

    def tests(self, fault: Fault) -> list[str]:
        """Return the tests that reach a fault: those of the same name first, then by seconds of their file.

        These are all tests for what runs at import or in another process.
        """
        reached = self._reaching(fault) or set(self.seconds)
        files: dict[str, float] = {}
        for test in reached:
            files[file_of(test)] = files.get(file_of(test), 0) + self.seconds.get(test, 0)
        name = Path(fault.file).stem.strip("_")

        def order(test: str) -> tuple[bool, float, str, float]:
            file = file_of(test)
            return name not in Path(file).stem, files[file], file, self.seconds.get(test, 0)

        return sorted(reached, key=order)

    def _reaching(self, fault: Fault) -> set[str]:
        if fault.is_kernel:
            return self._calling(Path(fault.file).stem)
        text = (ROOT / fault.file).read_text()
        start = text[: text.index(fault.old)].count("\n") + 1
        if any(
            node.lineno <= start <= (node.end_lineno or 0)
            for node in ast.parse(text).body
            if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        ):
            return set()
        contexts = self.lines.contexts_by_lineno(str(ROOT / fault.file))
        end = start + fault.old.rstrip("\n").count("\n")
        reached = [line for line in contexts if start <= line <= end]
        # A line within a statement counts as the statement's first.
        reached = reached or [max((line for line in contexts if line < start), default=0)]
        return {context.rsplit("|", 1)[0] for line in reached for context in contexts.get(line, ())} - {""}

    def _calling(self, kernel: str) -> set[str]:
        """Return the tests of kernels, and those that run a line with the name of a kernel's module."""
        tests: set[str] = set()
        for path in ROOT.glob("pdanon/**/*.py"):
            contexts = self.lines.contexts_by_lineno(str(path))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if re.search(rf"\b{kernel}\.", line):
                    tests |= {context.rsplit("|", 1)[0] for context in contexts.get(number, ())}
        return tests - {""} | {test for test in self.seconds if test.startswith("tests/kernels/")}


@cache
def read_reach(tier: str) -> Reach:
    """Read which tests of a tier reach which lines; run them first, unless it is known for these files."""
    command = ["git", "rev-parse", "HEAD:pdanon", "HEAD:tests"]
    trees = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    record = RECORD / "-".join([tier, *trees])
    if not record.exists():
        record.mkdir(parents=True)
        settings = record / "coveragerc"
        settings.write_text(f"[run]\ndata_file={record / 'coverage'}\nsource=pdanon\n")
        options = ["--cov=pdanon", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
        examples = {"PDANON_EXAMPLES": TIERS[tier].examples}
        command = [sys.executable, *PYTEST, *options, *TIERS[tier].arguments]
        subprocess.run(command, cwd=ROOT, env=environment(record) | examples, check=True)
    lines = CoverageData(str(record / "coverage"))
    lines.read()
    outcomes = json.loads((record / "outcomes.json").read_text())
    # The test of the list of faults sees that a text has changed, whatever it means.
    of_list = "tests/test_mutants.py"
    return Reach(lines, {test: spent for test, (_, spent) in outcomes.items() if file_of(test) != of_list})
