"""Print the cost and loss of Rum-bound in blocks, for tables/papers/rum_bound.md.

Run from the root of the checkout: ``python docs/scripts/rt_blocks.py survey``, or ``made_up``, or
``million``. Each line of the table is measured in processes of its own.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from pdanon.io.datasets import make_baskets  # noqa: E402
from tests.benchmarks.rt import SURVEY, made_up  # noqa: E402

DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
RUNS = {  # block_rows and processes
    "survey": [(None, 1), *((rows, jobs) for rows in (20_000, 10_000, 5_000, 2_000) for jobs in (1, 2))],
    "made_up": [(None, 1), *((rows, jobs) for rows in (20_000, 10_000, 5_000, 2_000) for jobs in (1, 2))],
    "million": [(5_000, 2)],
}


def table(name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows, and what Rum-bound is asked."""
    if name == "survey":
        survey = pdanon.read_parquet(DATA / "rt_informs2005.parquet").drop(columns="DUPERSID")
        return survey, {"k": 25, **SURVEY}
    people = made_up(1_000_000 if name == "million" else 131_780)
    quasi = [*people]
    baskets = make_baskets(len(people), 936, mean_length=6.51, random_state=0)
    return people.assign(items=baskets["items"]), {"k": 100, "quasi": quasi}


def measured(name: str, block_rows: int | None, processes: int) -> dict[str, Any]:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    rows, asked = table(name)
    asked |= {"m": 2, "delta": 0.65, "random_state": 0}
    asked["transaction"] = pdanon.Transaction(refine=False)
    pdanon.rum_bound(rows.head(500), **asked | {"delta": 1.0})  # the first call loads compiled code
    before = processor_seconds()
    with pdanon.config(processes=processes):
        result = pdanon.rum_bound(rows, **asked, block_rows=block_rows)
    seconds = [after - own for after, own in zip(processor_seconds(), before, strict=True)]
    peaks = [usage.ru_maxrss / 1e6 for usage in usages()]
    blocks = 1 if block_rows is None else int(np.ceil(len(rows) / block_rows))
    figures = {"rows": len(rows), "blocks": blocks, "seconds": seconds, "peaks": peaks}
    figures |= {"classes": len(result.classes), "largest": int(result.classes["size"].max())}
    return figures | {key: float(result.loss[key]) for key in ("NCP", "NCP_relational")}


def usages() -> list[resource.struct_rusage]:
    """What this process took, and what those took that it has ended."""
    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def processor_seconds() -> list[float]:
    """Of both: what others do on the machine at the same time does not count."""
    return [usage.ru_utime + usage.ru_stime for usage in usages()]


def main(name: str) -> None:
    print("| `block_rows` | blocks | `processes` | items | quasi | classes | largest | CPU s | GB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for block_rows, processes in RUNS[name]:
        run = [sys.executable, __file__, name, json.dumps([block_rows, processes])]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        own = json.loads(done.stdout)
        seconds, memory = f"{own['seconds'][0]:.1f}", f"{own['peaks'][0]:.2f}"
        if processes > 1:
            seconds += f" + {processes} x {own['seconds'][1] / processes:.1f}"
            memory += f" + {processes} x {own['peaks'][1]:.2f}"
        print(
            f"| {block_rows or 'whole'} | {own['blocks']} | {processes} | {own['NCP']:.2%} | "
            f"{own['NCP_relational']:.2%} | {own['classes']} | {own['largest']} | {seconds} | {memory} |",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], *json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1])
