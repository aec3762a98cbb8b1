"""Which faults of the audits the independent audit finds: verdicts on random tables with each fault.

Run in the root of a checkout: ``python docs/scripts/independent_faults.py [SEEDS] [NAME ...]``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPARE = """
import sys, warnings
warnings.simplefilter("ignore")
from random_audits import difference
for seed in range(int(sys.argv[1])):
    try:
        found = difference(seed)
    except Exception as error:
        found = type(error).__name__
    if found:
        sys.exit(print(f"seed {seed}: {found}"))
print("agree")
"""


def main(seeds: str = "1300", *names: str) -> None:
    from tests.mutants.faults import ROOT, read_faults

    faults = [each for each in read_faults() if Path(each.file).parent == Path("pdanon/guarantees")]
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
            print(f"{fault.name:26} {run.stdout.strip() or run.stderr.strip()[-80:]}", flush=True)
            shutil.copy(ROOT / fault.file, Path(directory, fault.file))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(*sys.argv[1:])
