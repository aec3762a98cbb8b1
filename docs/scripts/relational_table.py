"""Measure the loss and time of quasi-identifiers, and write them into tables/quasi.md.

Run from the root of the checkout: ``python docs/scripts/relational_table.py``. The text around the figures
stays.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

# File, names of hierarchies, k, and the quasi-identifiers, with a hierarchy and without.
TABLES = {
    "Adult, k = 10": (
        "adult_arx_relational",
        "adult_hierarchy_{}.csv",
        10,
        ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"],
        [],
    ),
    "Informs, k = 25": (
        "rt_informs2005",
        "informs2005_{}_hierarchy.csv",
        25,
        ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR"],
        ["income"],
    ),
}
ALGORITHMS = ("cluster", "k_member", "mondrian", "top_down", "full_subtree", "incognito")
SHARES = (0, 0.01, 0.05)


def line(title: str, name: str) -> str:
    file, trees, k, with_tree, without = TABLES[title]
    frame = pq.read_table(DATA / f"{file}.parquet").to_pandas()[[*with_tree, *without]]
    hierarchies = {column: DATA / "hierarchies" / trees.format(column) for column in with_tree}
    asked = {"k": k, "quasi": {**dict.fromkeys(frame), **hierarchies}}
    if name in ("cluster", "k_member"):
        asked["random_state"] = 0
    cells = [title, name]
    for share in SHARES:
        start = time.process_time()
        result = getattr(pdanon, name)(frame, max_suppressed=share, **asked)
        seconds = time.process_time() - start
        gone = f", {result.loss['suppressed_rows']:.2%}" if share else ""
        cells.append(f"{result.loss['NCP_relational']:.4f}{gone}, {seconds:.1f} s")
    return "| " + " | ".join(cells) + " |"


def lines() -> Iterator[str]:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    pdanon.cluster(pd.DataFrame({"q": [1, 2]}), k=2, quasi=["q"])  # the first call loads compiled code
    yield f"{machine()}, {date.today():%B %Y}. Seconds are processor time."
    yield ""
    yield "| table | algorithm | NCP, time | `max_suppressed=0.01`: NCP, rows, time | `max_suppressed=0.05` |"
    yield "|---|---|---|---|---|"
    for title in TABLES:
        for name in ALGORITHMS:
            made = line(title, name)
            print(made, flush=True)
            yield made


if __name__ == "__main__":
    write_section("quasi.md", "relational", [*lines()])
