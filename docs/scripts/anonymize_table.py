"""Tabulate what is tried on real data when only the guarantee is said, and write tables/anonymize.md.

Run from the root of the checkout: ``python docs/scripts/anonymize_table.py``. What stands around the figures
stays.
"""

import sys
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

CASES = {
    "BMS-WebView-1, balanced hierarchy with a fan-out of 5": ("bms_webview1", 5),
    "Groceries, with their hierarchy": ("groceries", DATA / "hierarchies" / "groceries_hierarchy.csv"),
}
KNOWN = (2, 3)


def lines(name: str, hierarchy: object) -> list[str]:
    df = frame(name)
    asked: dict[str, Any] = {"hierarchy": hierarchy, "loss": "NCP"}
    pdanon.anonymize(df.head(500), pdanon.KmAnonymity(2, 3), **asked)  # the first call loads compiled code
    found = [
        pdanon.anonymize(df, pdanon.KmAnonymity(5, m), **asked).tried.dropna(subset="loss") for m in KNOWN
    ]
    table = ["| algorithm " + "".join(f"| NCP, %, m = {m} | s " for m in KNOWN) + "|", "|---" * 5 + "|"]
    for rows in zip(*(tried.itertuples() for tried in found), strict=True):
        names = dict.fromkeys(row.algorithm for row in rows)
        cells = [cell for row in rows for cell in (f"{100 * row.loss:.3f}", f"{row.seconds:.2f}")]
        table.append("| " + " | ".join([" / ".join(names), *cells]) + " |")
    return table


def main() -> None:
    text = [f"Measured {date.today()} by `docs/scripts/anonymize_table.py` on {machine()}; k = 5."]
    for title, case in CASES.items():
        text += ["", f"### {title}", "", *lines(*case)]
        print(*text[-10:], sep="\n", flush=True)
    write_section("anonymize.md", "anonymize", text)


if __name__ == "__main__":
    main()
