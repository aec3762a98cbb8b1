"""Measure releases of tables in which a person has several rows, and write them into tables/unit.md.

Run from the root of the checkout: ``python docs/scripts/unit_table.py``. The text around the figures stays.
"""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.measure import PEAK, fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

SIZES = {100_000: 1_000_000, 1_000_000: 10_000_000}  # lines by persons
SEED = 0
MAKE = f"""
import time, numpy as np, pandas as pd, pdanon, pdanon.stream
rng = np.random.default_rng({SEED})
often = 1 / np.arange(1, 1001) ** 0.8
products = pd.array([f"p{{{{i:04}}}}" for i in range(1000)], dtype="str")
codes = rng.choice(1000, {{n_lines}}, p=often / often.sum())
lines = pd.DataFrame({{{{"who": rng.integers(0, {{n_persons}}, {{n_lines}}), "what": products[codes]}}}})
del codes
"""
PERSONS = '"who", item="what"'
FRAME = f"""{MAKE}
before, began = {PEAK}, time.process_time()
result = pdanon.by(lines, {PERSONS}).pcta(k=5, m=2)
print(len(result.frame), time.process_time() - began, before, {PEAK})
"""
WRITE = f"""{MAKE}
pdanon.to_parquet(lines, "{{directory}}/lines.parquet")
"""
STREAM = f"""
import time, pdanon, pdanon.stream
before, began = {PEAK}, time.process_time()
source, target = "{{directory}}/lines.parquet", "{{directory}}/released.parquet"
result = pdanon.stream.by(source, {PERSONS}).pcta(target, k=5, m=2)
print(result.rows, time.process_time() - began, before, {PEAK})
"""


def measure(code: str, n_lines: int, n_persons: int, name: str) -> str:
    published, seconds, before, peak = map(float, fresh_process(code).split())
    figures = [f"{n_lines:,}", f"{n_persons:,}", name, f"{published:,.0f}", f"{seconds:.1f} s"]
    return "| " + " | ".join([*figures, f"{before:.2f} GiB", f"{peak:.2f} GiB"]) + " |"


def rows(n_lines: int, n_persons: int) -> Iterator[str]:
    size = {"n_lines": n_lines, "n_persons": n_persons}
    yield measure(FRAME.format(**size), **size, name="`pdanon.by(...).pcta`")
    with TemporaryDirectory() as directory:
        fresh_process(WRITE.format(**size, directory=directory))
        yield measure(STREAM.format(directory=directory), **size, name="`pdanon.stream.by(...).pcta`")


def lines() -> Iterator[str]:
    yield f"Measured {date.today()} by `docs/scripts/unit_table.py` on {machine()}."
    yield ""
    titles = "lines", "persons", "call", "published lines", "processor time", "memory before", "at most"
    yield "| " + " | ".join(titles) + " |"
    yield "|---:|---:|---|---:|---:|---:|---:|"
    for n_persons, n_lines in SIZES.items():
        for made in rows(n_lines, n_persons):
            print(made, flush=True)
            yield made


if __name__ == "__main__":
    write_section("unit.md", "unit", [*lines()])
