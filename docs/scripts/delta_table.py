"""Measure what `delta` of Rum-bound changes, and write it into tables/quasi.md.

Run from the root of the checkout: ``python docs/scripts/delta_table.py``. The text around the figures stays.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TABLES = {
    "patients": ("rt_diabetes130_patients_icd9", ["race", "gender", "age"]),
    "survey": ("rt_informs2005", ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR"]),
}
DELTAS = (None, 0.25, 0.5, 1.0)
LOSSES = ("NCP_relational", "NCP", "occurrences", "singles", "pairs")


def line(title: str, delta: float | None) -> str:
    file, quasi = TABLES[title]
    frame = pdanon.read_parquet(DATA / f"{file}.parquet")[[*quasi, "items"]]
    if delta is None:
        call, result = "rfirst", pdanon.rfirst(frame, k=5, m=2, quasi=quasi, random_state=0)
    else:
        call = f"delta={delta:g}"
        result = pdanon.rum_bound(frame, k=5, m=2, quasi=quasi, delta=delta, random_state=0)
    losses = [f"{result.loss[name]:.2%}" for name in LOSSES]
    return "| " + " | ".join([title, f"`{call}`", *(each.replace("%", " %") for each in losses)]) + " |"


def lines() -> Iterator[str]:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    titles = "loss of quasi-identifiers", "NCP of items", "changed", "error of an item", "error of a pair"
    yield "| " + " | ".join(["data", "call", *titles]) + " |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for title in TABLES:
        for delta in DELTAS:
            made = line(title, delta)
            print(made, flush=True)
            yield made


if __name__ == "__main__":
    write_section("quasi.md", "delta", [*lines()])
