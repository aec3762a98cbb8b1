"""Measure the losses of the k^m algorithms, and write the tables of tables/loss/km.md.

Run from the root of the checkout: ``python docs/scripts/utility_table.py``. What stands around the figures
stays.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import pdanon
from pdanon import Anonymized

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
DATA_SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2"}
KS = (2, 5, 10, 25, 50)


def blocks(df: pd.DataFrame) -> pd.DataFrame:
    return pdanon.utility.by_size(sorted(df["items"].itemset.items), 125)


ALGORITHMS: dict[str, Callable[[pd.DataFrame, int], Anonymized]] = {
    "apriori": lambda df, k: pdanon.apriori(df, k=k, m=2, hierarchy=5),
    "direct": lambda df, k: pdanon.direct(df, k=k, m=2, hierarchy=5),
    "optimal": lambda df, k: pdanon.optimal(df, k=k, m=2, hierarchy=5, time_limit=120),
    "coat": lambda df, k: pdanon.coat(df, k=k, m=2),
    "upcta": lambda df, k: pdanon.upcta(df, k=k, m=2, utility=blocks(df), max_suppressed=1.0),
    "pcta": lambda df, k: pdanon.pcta(df, k=k, m=2),
    "hghs": lambda df, k: pdanon.hghs(df, k=k, m=2, hierarchy=5),
    "mhghs": lambda df, k: pdanon.mhghs(df, k=k, m=2, hierarchy=5),
    "lra": lambda df, k: pdanon.lra(df, k=k, m=2, hierarchy=5, parts=20),
    "vpa": lambda df, k: pdanon.vpa(df, k=k, m=2, hierarchy=5, parts=10),
}


def measured() -> pd.DataFrame:
    rows = []
    for data_set in DATA_SETS:
        df = pdanon.read_parquet(DATA / f"{data_set}.parquet")
        for name, run in ALGORITHMS.items():
            run(df.head(2000), 5)  # the first call loads compiled code
            for k in KS:
                start = time.perf_counter()
                result = run(df, k)
                taken = time.perf_counter() - start
                rows.append({"data": data_set, "algorithm": name, "k": k, "seconds": taken, **result.loss})
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def table(figures: pd.DataFrame, measure: str, scale: float, digits: int) -> list[str]:
    wide = figures.pivot(index="algorithm", columns="k", values=measure).loc[list(ALGORITHMS)]
    lines = ["| algorithm | " + " | ".join(f"k={k}" for k in wide.columns) + " |", "|---" * 6 + "|"]
    for name, row in wide.iterrows():
        lines.append(f"| `{name}` | " + " | ".join(f"{scale * value:.{digits}f}" for value in row) + " |")
    return lines


def main() -> None:
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    figures = measured()
    text = [f"Measured by `docs/scripts/utility_table.py` on {machine()}."]
    for data_set, title in DATA_SETS.items():
        part = figures[figures["data"] == data_set]
        text += ["", f"### {title}", "", "NCP in percent:", "", *table(part, "NCP", 100, 3)]
        text += ["", "UL, log2:", "", *table(part, "UL", 1, 1)]
        text += ["", "Suppressed occurrences in percent:", "", *table(part, "suppressed", 100, 3)]
        text += ["", "Seconds:", "", *table(part, "seconds", 1, 2)]
        gaps = part[part["gap"] > 0] if "gap" in part else part.head(0)
        for _, row in gaps.iterrows():
            text += ["", f"`optimal`, k={row['k']}: not proven, {100 * row['gap']:.2f} % above its bound."]
    write_section("loss/km.md", "utility", text)


if __name__ == "__main__":
    main()
