"""Measure releases of tables in which a person has several rows, and write them into docs/unit.md.

Run from the root of the checkout: ``python docs/scripts/unit_table.py``. The text around the figures stays.
"""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.measure import PEAK, fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

SIZES = {100_000: 1_000_000, 1_000_000: 10_000_000}  # lines by persons
SEED = 0
CODE = f"""
import time, numpy as np, pandas as pd, pdanon
rng = np.random.default_rng({SEED})
often = 1 / np.arange(1, 1001) ** 0.8
products = pd.array([f"p{{{{i:04}}}}" for i in range(1000)], dtype="str")
codes = rng.choice(1000, {{n_lines}}, p=often / often.sum())
lines = pd.DataFrame({{{{"who": rng.integers(0, {{n_persons}}, {{n_lines}}), "what": products[codes]}}}})
del codes
before, began = {PEAK}, time.process_time()
result = pdanon.pcta(lines, k=5, m=2, unit="who", item="what")
print(len(result.frame), time.process_time() - began, before, {PEAK})
"""


def line(n_persons: int, n_lines: int) -> str:
    printed = fresh_process(CODE.format(n_lines=n_lines, n_persons=n_persons))
    published, seconds, before, peak = map(float, printed.split())
    figures = [f"{n_lines:,}", f"{n_persons:,}", f"{published:,.0f}", f"{seconds:.1f} s"]
    return "| " + " | ".join([*figures, f"{before:.2f} GiB", f"{peak:.2f} GiB"]) + " |"


def lines() -> Iterator[str]:
    yield f"Measured {date.today()} by `docs/scripts/unit_table.py` on {machine()}."
    yield ""
    titles = "lines", "persons", "published lines", "processor time", "memory with the table", "at most"
    yield "| " + " | ".join(titles) + " |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for n_persons, n_lines in SIZES.items():
        made = line(n_persons, n_lines)
        print(made, flush=True)
        yield made


if __name__ == "__main__":
    write_section("unit.md", "unit", [*lines()])
