"""Which faults of the audits the independent audit finds: verdicts on random tables with each fault.

Run in the root of a checkout: ``python docs/scripts/independent_faults.py [SEEDS] [NAME ...]``. Without
names, all are tried, and the table is written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

AUDITS = "breaches coherence disassociated emptied k_anonymity kkm km named ps rho sensitive_groups verdict"
# Faults of parameters and messages.
LEFT_OUT = {"rules-both", "rules-sizes", "rules-both-known", "errors-item"}
COMPARE = """
import sys, warnings
warnings.simplefilter("ignore")
from random_audits import difference
raised = f" | none in {int(sys.argv[1]):,} tables |"
for seed in range(int(sys.argv[1])):
    try:
        found = difference(seed)
    except Exception as error:
        raised = f"{seed} | the audit raises {type(error).__name__} |"
        continue
    if found:
        sys.exit(print(f"{seed} | {found} |"))
print(raised)
"""


def main(seeds: str = "20000", *names: str) -> None:
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section
    from tests.mutants.faults import ROOT, read_faults

    files = [Path("pdanon", "guarantees", f"{each}.py") for each in AUDITS.split()]
    faults = [each for each in read_faults() if Path(each.file) in files and each.name not in LEFT_OUT]
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(ROOT / "pdanon", Path(directory, "pdanon"))
        path = os.pathsep.join([directory, str(ROOT / "tests")])
        for fault in faults:
            if names and fault.name not in names:
                continue
            fault.apply(Path(directory))
            run = subprocess.run(
                [sys.executable, "-c", COMPARE, seeds],
                env={**os.environ, "PYTHONPATH": path},
                cwd=directory,
                capture_output=True,
                text=True,
                check=False,
            )
            lines.append(f"| `{fault.name}` | {run.stdout.strip() or run.stderr.strip()[-80:]}")
            print(lines[-1], flush=True)
            shutil.copy(ROOT / fault.file, Path(directory, fault.file))
    if not names:
        made = f"Counted {date.today()} by `docs/scripts/independent_faults.py` on {machine()}."
        head = "| fault | first table | audit, and independent audit |"
        write_section("independent.md", "faults", [made, "", head, "|---|---:|---|", *lines])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
