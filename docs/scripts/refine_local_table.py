"""Measure the refinement of cuts, blocks, groups and classes, and write tables/refine.md.

Run from the root of the checkout: ``python docs/scripts/refine_local_table.py``. All but its table stays.
"""

import sys
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

COLUMNS = "| data | asked | NCP, % | refined, % | share left | s | s, refine |"
GROCERIES = str(DATA / "hierarchies" / "groceries_hierarchy.csv")
YEARS = DATA / "hierarchies" / "informs2005_DOBYY_hierarchy.csv"
QUASI = {"quasi": {"DOBMM": None, "DOBYY": YEARS, "RACEX": None, "EDUCYEAR": None, "income": None}}
BMS = "BMS-WebView-1, fan-out 5"
CUTS = [
    *((BMS, "bms_webview1", name, {"k": 5, "hierarchy": 5}) for name in ("apriori", "direct")),
    (BMS, "bms_webview1", "vpa", {"k": 5, "hierarchy": 5, "parts": 10}),
    (BMS, "bms_webview1", "lra", {"k": 5, "hierarchy": 5, "parts": 10}),
    *(("groceries", "groceries", "apriori", {"k": k, "hierarchy": GROCERIES}) for k in (2, 5)),
    ("groceries", "groceries", "apriori", {"k": 5, "m": 3, "hierarchy": GROCERIES}),
    ("groceries", "groceries", "vpa", {"k": 5, "hierarchy": GROCERIES, "parts": 10}),
    ("groceries", "groceries", "lra", {"k": 5, "hierarchy": GROCERIES, "parts": 10}),
    *(("groceries", "groceries", "hghs", {"k": k, "m": 2, "hierarchy": GROCERIES}) for k in (5, 20)),
    ("groceries", "groceries", "mhghs", {"k": 5, "m": 3, "hierarchy": GROCERIES}),
    *(("groceries, fan-out 3", "groceries", "apriori", {"k": k, "hierarchy": 3}) for k in (2, 10)),
]
GROUPS = [
    *((BMS, "bms_webview1", name, {"k": 5, "hierarchy": 5}) for name in ("partition", "clump")),
    *(("groceries", "groceries", name, {"k": 5, "hierarchy": GROCERIES}) for name in ("partition", "clump")),
]
PLAIN = pdanon.Transaction(refine=False)
CLASSES = [
    (
        "informs",
        "rt_informs2005",
        "rum_bound",
        {
            "k": 25,
            "delta": 0.65,
            "merge": merge,
            "random_state": 0,
            "transaction": pdanon.Transaction(refine=False),
        },
    )
    for merge in ("R", "T", "RT")
]


def line(title: str, name: str, algorithm: str, asked: dict[str, Any]) -> str:
    df = frame(name).drop(columns="DUPERSID", errors="ignore")
    run, hidden = getattr(pdanon, algorithm), QUASI if algorithm == "rum_bound" else {}
    small = df.head(1000)
    pdanon.refine(small, run(small, **asked, **hidden))  # the first call loads compiled code
    start = time.perf_counter()
    made = run(df, **asked, **hidden)
    between = time.perf_counter()
    refined = pdanon.refine(df, made)
    end = time.perf_counter()
    ncp = [100 * float(result.loss["NCP"]) for result in (made, refined)]
    told = ", ".join(
        f"{key}={value}"
        for key, value in asked.items()
        if key not in ("hierarchy", "random_state", "transaction")
    )
    cells = [title, f"`{algorithm}({told})`", *(f"{value:.2f}" for value in ncp), f"{ncp[1] / ncp[0]:.3f}"]
    text = "| " + " | ".join([*cells, f"{between - start:.2f}", f"{end - between:.2f}"]) + " |"
    print(text, flush=True)
    return text


def main() -> None:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    lines = [line(*each) for each in [*CUTS, *GROUPS, *CLASSES]]
    text = [f"Measured {date.today()} by `docs/scripts/refine_local_table.py` on {machine()}.", ""]
    text += [COLUMNS, "|---" * 7 + "|", *lines]
    write_section("refine.md", "refine-local", text)


if __name__ == "__main__":
    main()
