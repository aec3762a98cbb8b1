"""Compare hghs and mhghs with the optimum, and write the table of tables/loss/optimal.md.

Run from the root of the checkout: ``python docs/scripts/exact_table.py [CELLS]``. What stands around the
figures stays. CELLS is a file of lines that are done: a run that was interrupted goes on from there.
"""

import sys
import time
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TREES = DATA / "hierarchies"
DATA_SETS = {
    "groceries": ("groceries", TREES / "groceries_hierarchy.csv"),
    "msweb": ("uci_msweb_train", 5),
    "foodmart": ("foodmart_baskets_1997", TREES / "foodmart_product_hierarchy.csv"),
    "BMS-WebView-1": ("bms_webview1", 5),
}
KS = (2, 5, 10, 25)
SMALL = ("groceries", "msweb")  # for these also m = 3
COLUMNS = (
    "| data | m | k | best, % | proven | hghs, % | mhghs, % | hghs loses more, % | no suppression, % "
    "| s, best | s, hghs | s, no suppression |"
)


def line(title: str, df: pd.DataFrame, hierarchy: object, m: int, k: int) -> str:
    asked = {"k": k, "m": m, "hierarchy": hierarchy}
    column = "items" if "items" in df else None
    work = {
        "best": lambda: pdanon.optimal(df, column, **asked, suppress=True, time_limit=60),
        "hghs": lambda: pdanon.hghs(df, column, **asked),
        "mhghs": lambda: pdanon.mhghs(df, column, **asked),
        "cut": lambda: pdanon.optimal(df, column, **asked, time_limit=60),
    }
    loss, seconds, gap = {}, {}, {}
    for name, run in work.items():
        start = time.perf_counter()
        result = run()
        seconds[name] = time.perf_counter() - start
        loss[name] = result.loss["LM"]
        gap[name] = result.loss.get("gap", 0.0)
    proven = "yes" if gap["best"] == 0 else f"not below {100 * loss['best'] * (1 - gap['best']):.3f}"
    more = loss["hghs"] / loss["best"] - 1
    cells = [title, m, k, f"{100 * loss['best']:.3f}", proven, f"{100 * loss['hghs']:.3f}"]
    cells += [f"{100 * loss['mhghs']:.3f}", f"{100 * more:.2f}"]
    cells += [f"{100 * loss['cut']:.3f}" + (" (not proven)" if gap["cut"] else "")]
    cells += [f"{seconds[name]:.1f}" for name in ("best", "hghs", "cut")]
    return "| " + " | ".join(map(str, cells)) + " |"


def lines(cells: Path | None) -> Iterator[str]:
    done = cells.read_text(encoding="utf-8").splitlines() if cells and cells.exists() else []
    for title, (name, hierarchy) in DATA_SETS.items():
        df = frame(name)
        line(title, df.head(500), hierarchy, 3, 2)  # the first call loads compiled code
        for m, k in product((2, 3) if title in SMALL else (2,), KS):
            known = [cell for cell in done if cell.startswith(f"| {title} | {m} | {k} |")]
            made = known[0] if known else line(title, df, hierarchy, m, k)
            if cells and not known:
                with cells.open("a", encoding="utf-8") as file:
                    print(made, file=file)
            print(made, flush=True)
            yield made


def main() -> None:
    cells = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    table = [COLUMNS, "|---" * 12 + "|", *lines(cells)]
    text = [f"Measured {date.today()} by `docs/scripts/exact_table.py` on {machine()}.", "", *table]
    write_section("loss/optimal.md", "exact", text)


if __name__ == "__main__":
    main()
