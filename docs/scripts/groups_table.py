"""Measure memory and time of algorithms that need all rows at once, and write tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/groups_table.py --keep DIR [algorithm ...]``. Figures
stay in DIR, so that a run continues where another one ended. The page has all figures that are there.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402
import pdanon.datasets  # noqa: E402

import pdanon  # noqa: E402
from pdanon.algorithms.engines import MACHINE_GB, rows_held  # noqa: E402
from tests.benchmarks.measure import fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.benchmarks.scaling import memory, sensitive  # noqa: E402

ROWS = (100_000, 1_000_000)
ITEMS, LENGTH = 1000, 6.0
CALLS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "partition": lambda frame: pdanon.partition(frame, k=5, hierarchy=10),
    "clump": lambda frame: pdanon.clump(frame, k=5, hierarchy=10),
    "disassociate": lambda frame: pdanon.disassociate(frame, k=5, m=2),
    "cahd": lambda frame: pdanon.cahd(frame, p=5, sensitive=sensitive(frame, 1 / 5, 10)),
}
Figures = dict[str, dict[str, float]]


def baskets(rows: int) -> pd.DataFrame:
    """Synthetic rows of about six items."""
    return pdanon.datasets.make_baskets(rows, ITEMS, mean_length=LENGTH, random_state=0)


def measured(name: str, source: str, target: str) -> dict[str, float]:
    """Bytes above the start, and seconds of the processor, of reading, releasing and writing a table."""
    CALLS[name](baskets(2000))  # the first call loads what later ones do not
    pdanon.config(threads=1)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before, start = memory(), time.process_time()
    result = CALLS[name](pdanon.read_parquet(source))
    pdanon.to_parquet(result.frame, target)
    return {"seconds": time.process_time() - start, "bytes": (memory() - before) * 2**30}


def measure(name: str, rows: int, directory: Path) -> dict[str, float]:
    """Measure an algorithm in a process of its own."""
    source, target = directory / f"{rows}.parquet", directory / "released.parquet"
    if not source.exists():
        pdanon.to_parquet(baskets(rows), source)
    here = f"import sys, json; sys.path.insert(0, {str(Path(__file__).parent)!r}); import groups_table;"
    call = f"groups_table.measured({name!r}, {str(source)!r}, {str(target)!r})"
    found: dict[str, float] = json.loads(fresh_process(f"{here} print(json.dumps({call}))"))
    return found


def lines(figures: Figures) -> list[str]:
    """The table of the page."""
    head = " | ".join(f"{rows:,} rows: GB | CPU s" for rows in ROWS)
    text = [f"| algorithm | {head} | bytes a row | rows in {MACHINE_GB} GB |"]
    text.append("|---|" + "---:|" * (2 * len(ROWS) + 2))
    for name in CALLS:
        found = [figures[f"{name} {rows}"] for rows in ROWS]
        cells = [f"{each['bytes'] / 1e9:.2f} | {each['seconds']:.1f}" for each in found]
        a_row = f"{found[-1]['bytes'] / ROWS[-1]:.0f}"
        text.append(f"| `{name}` | {' | '.join(cells)} | {a_row} | {rows_held(name):,} |")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithms", nargs="*", default=[*CALLS], help="those to measure")
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="for files and figures")
    asked = parser.parse_args()
    known = asked.keep / "groups.json"
    figures: Figures = json.loads(known.read_text()) if known.exists() else {}
    for name in asked.algorithms:
        for rows in ROWS:
            if f"{name} {rows}" not in figures:
                figures[f"{name} {rows}"] = measure(name, rows, asked.keep)
                known.write_text(json.dumps(figures))
                print(name, rows, figures[f"{name} {rows}"], flush=True)
    if figures.keys() >= {f"{name} {rows}" for name in CALLS for rows in ROWS}:
        text = [f"Measured {date.today()} by `docs/scripts/groups_table.py` on {machine()}.", ""]
        write_section("speed/growth.md", "groups", [*text, *lines(figures)])


if __name__ == "__main__":
    main()
