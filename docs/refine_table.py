"""Measure what refinement leaves of the loss of PCTA, and write docs/refine.md.

Run from the root of the checkout: ``python docs/refine_table.py``. What stands above the figures stays.
"""

import sys
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402

DATA_SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2"}
PAGE = ROOT / "docs" / "refine.md"
START = "<!-- figures -->"
COLUMNS = "| data | k | NCP of pcta, % | refined, % | share left | sets | refined | s, pcta | s, refine |"


def lines() -> list[str]:
    table = [COLUMNS, "|---" * 9 + "|"]
    for name, title in DATA_SETS.items():
        df = frame(name)
        pdanon.pcta(df.head(500), k=5, refine=True)  # the first call loads compiled code
        for k in (2, 5, 10, 25, 50):
            start = time.perf_counter()
            made = pdanon.pcta(df, k=k, m=2)
            between = time.perf_counter()
            refined = pdanon.refine(df, made)
            end = time.perf_counter()
            ncp = [100 * result.loss["NCP"] for result in (made, refined)]
            sets = [result.mapping["generalized"].nunique() for result in (made, refined)]
            cells = [title, k, *(f"{value:.3f}" for value in ncp), f"{ncp[1] / ncp[0]:.3f}", *sets]
            cells += [f"{between - start:.2f}", f"{end - between:.2f}"]
            table.append("| " + " | ".join(map(str, cells)) + " |")
            print(table[-1], flush=True)
    return table


def main() -> None:
    text = [PAGE.read_text(encoding="utf-8").partition(START)[0] + START, ""]
    text += [f"Measured {date.today()} by `docs/refine_table.py` on {machine()}; m = 2.", "", *lines()]
    PAGE.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
