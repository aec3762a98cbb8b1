"""Write the results of the last checks into tables/checks.md.

Run from the root of the checkout, after ``.ci/release``: ``python docs/scripts/checks.py``. It reads what the
steps left in ``build/checks.tsv``, and what faults left in ``build/mutants.jsonl``.
After ``python -m tests.mutants --again``, the argument ``worth`` also writes what each test file finds.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.pages import write_section  # noqa: E402
from tests.mutants.__main__ import worth  # noqa: E402
from tests.mutants.faults import read_faults  # noqa: E402
from tests.mutants.reach import read_reach  # noqa: E402

STEPS = {
    "delivery": "all of `.ci/run`",
    "examples": "all examples, seeds and cases of the slow tests",
    "checked": "slow tests with indices and sums of kernels tested",
    "lowest": "slow tests with the oldest supported versions",
    "tiny": "half a million tiny tables in every form, judged by their original items",
    "faults": "faults, each with the tests that reach it",
}
TIERS = {"fast": "the fast tests", "ci": "other steps of `.ci/run`", "all": "all examples"}


def steps() -> Iterator[str]:
    """Each step of ``.ci/release`` as it last passed."""
    names = ["script", "step", "date", "seconds", "counted"]
    done = pd.read_csv(ROOT / "build" / "checks.tsv", sep="\t", names=names, keep_default_na=False)
    last = done[done["script"] == "release"].groupby("step").last()
    yield "| step | what runs | passed on | minutes | of it |"
    yield "|---|---|---|---:|---|"
    for step, what in STEPS.items():
        if step in last.index:
            date, seconds, counted = last.loc[step, ["date", "seconds", "counted"]]
            yield f"| `{step}` | {what} | {date} | {seconds / 60:.0f} | {counted.removesuffix(' in ')} |"


def results_of_faults() -> dict[str, dict[str, Any]]:
    """The last result of each fault, by its name."""
    lines = (ROOT / "build" / "mutants.jsonl").read_text(encoding="utf-8").splitlines()
    return {each["name"]: each for each in map(json.loads, lines)}


def faults() -> Iterator[str]:
    """How many faults each tier finds."""
    results = results_of_faults()
    known = [fault.name for fault in read_faults()]
    tiers = Counter(results[name]["tier"] for name in known if name in results)
    yield f"Of {len(known)} faults, {sum(tiers.values())} were tried:\n"
    yield "| found first by | faults | share, with those above |"
    yield "|---|---:|---:|"
    found = 0
    for tier, what in TIERS.items():
        found += tiers[tier]
        yield f"| {what} | {tiers[tier]} | {found / tiers.total():.1%} |"


if __name__ == "__main__":
    write_section("checks.md", "steps", steps())
    write_section("checks.md", "faults", faults())
    if sys.argv[1:] == ["worth"]:
        write_section("checks.md", "worth", worth([*results_of_faults().values()], read_reach("fast")))
