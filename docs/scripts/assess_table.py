"""Measure the attacks of `assess` on releases of half of a table; the other half is control.

Run from the root of the checkout: ``python docs/scripts/assess_table.py``. It writes tables/assess.md.
What stands around the figures stays.
"""

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "groceries", "bms_webview1": "BMS-WebView-1", "uci_msweb_train": "msweb"}
RELEASES: dict[str, Callable[[Any], Any]] = {
    "original": lambda df: df,
    "pcta": lambda df: df.txanon.pcta(k=5, m=2),
    "anonymize": lambda df: df.txanon.anonymize(k=5, m=2, time_limit=20),
    "local_suppression": lambda df: df.txanon.local_suppression(k=5, m=2),
}
HEADER = "| data | release | singling out, 1 label | 2 labels | linkability | inference | membership |"


def measured(name: str) -> list[str]:
    """Return the lines of a data set: risk with its interval, and the success."""
    rows = np.random.default_rng(1).permutation(len(df := frame(name)))
    half, control = (df.iloc[np.sort(part)] for part in np.array_split(rows, 2))
    lines = []
    for release, make in RELEASES.items():
        table = pdanon.assess(half, make(half), control, random_state=1)
        cells = [
            f"{100 * risk:.1f} ({100 * low:.1f} to {100 * high:.1f}); {100 * success:.1f}"
            for success, risk, low, high in table[["success", "risk", "low", "high"]].itertuples(index=False)
        ]
        lines.append(f"| {DATA_SETS[name]} | {release} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    found = [line for name in DATA_SETS for line in measured(name)]
    made = f"Measured {date.today():%Y-%m-%d} by `docs/scripts/assess_table.py` on {machine()}"
    what = f"{made}; 2,000 attacks of each kind; in percent."
    write_section("assess.md", "attacks", [what, "", HEADER, "|---" * 7 + "|", *found])
