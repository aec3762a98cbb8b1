"""Compare the loss of releases with the bound on any release by sets, and write tables/refine.md.

Run from the root of the checkout: ``python docs/scripts/necessary_table.py``. What stands around the figures
stays. Needs matplotlib, the extra ``plot``.
"""

import sys
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "pdanon", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

DATA_SETS = {
    "groceries": "groceries",
    "uci_msweb_train": "msweb",
    "bms_webview1": "BMS-WebView-1",
    "rt_diabetes130_patients_icd9": "diabetes",
    "foodmart_baskets_1997": "foodmart",
    "bms_webview2": "BMS-WebView-2",
}
KS = (5, 25)
PUBLISHED = {
    "pcta": pdanon.pcta,
    "coat": pdanon.coat,
    "apriori": lambda df, k, m: pdanon.apriori(df, k=k, m=m, hierarchy=5),
}
COLUMNS = (
    "| data | k | bound, % | anonymize, % | over the bound | coat, % | pcta, % | apriori, % "
    "| NCP: bound, % | NCP: anonymize, % | for NCP, % | NCP: coat, % | NCP: pcta, % | NCP: apriori, % |"
)
BALANCED = (
    "| data | k | changed, %: for NCP | balanced | count of an item, % off: for NCP | balanced "
    "| of a pair: for NCP | balanced | NCP, %: for NCP | balanced |"
)


def measured(name: str, k: int) -> dict[str, Any]:
    """Measure all releases of a data set."""
    df = frame(name)
    df = df[["items"]].dropna()
    guarantee = pdanon.KmAnonymity(k, 2)
    found = {each: function(df, k=k, m=2) for each, function in PUBLISHED.items()}
    found["anonymize"] = pdanon.anonymize(df, guarantee)
    found["for NCP"] = pdanon.anonymize(df, guarantee, loss="NCP")
    return {
        "data": DATA_SETS[name],
        "k": k,
        **{
            loss: {each: 100 * result.loss[loss] for each, result in found.items()}
            | {"bound": 100 * pdanon.bound(df, guarantee, loss=loss).least}
            for loss in ("occurrences", "NCP")
        },
        "balanced": [
            100 * found[each].loss[loss]
            for loss in ("occurrences", "singles", "pairs", "NCP")
            for each in ("for NCP", "anonymize")
        ],
    }


def line(row: dict[str, Any]) -> str:
    changed, ncp = row["occurrences"], row["NCP"]
    cells = [row["data"], row["k"], f"{changed['bound']:.2f}", f"{changed['anonymize']:.2f}"]
    cells += [f"{changed['anonymize'] / changed['bound']:.3f}"]
    cells += [f"{changed[each]:.2f}" for each in ("coat", "pcta", "apriori")]
    cells += [f"{ncp[each]:.4f}" for each in ("bound", "anonymize", "for NCP", "coat", "pcta", "apriori")]
    return "| " + " | ".join(map(str, cells)) + " |"


def line_of_losses(row: dict[str, Any]) -> str:
    cells = [row["data"], row["k"], *(f"{value:.1f}" for value in row["balanced"][:6])]
    return "| " + " | ".join(map(str, [*cells, *(f"{value:.3f}" for value in row["balanced"][6:])])) + " |"


def draw(rows: list[dict[str, Any]]) -> None:
    figure, panels = plt.subplots(1, len(KS), figsize=(8, 3.2), sharey=True)
    for panel, k in zip(panels, KS, strict=True):
        own = [row for row in rows if row["k"] == k]
        places = np.arange(len(own))[::-1]
        for each, marker, label in (
            ("apriori", "s", "apriori"),
            ("pcta", "^", "pcta"),
            ("coat", "v", "coat"),
            ("anonymize", "o", "anonymize"),
        ):
            panel.plot([row["occurrences"][each] for row in own], places, marker, markersize=5, label=label)
        bounds = [row["occurrences"]["bound"] for row in own]
        panel.barh(places, bounds, height=0.6, color="0.85", zorder=0, label="necessary")
        panel.set(title=f"k = {k}, m = 2", xlabel="occurrences changed, %", xlim=(0, 103))
        panel.set_yticks(places, [row["data"] for row in own])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(ROOT / "docs" / "figures" / "necessary.svg", metadata={"Date": None})


def main() -> None:
    rows = []
    for k in KS:
        for name in DATA_SETS:
            rows.append(measured(name, k))
            print(line(rows[-1]), flush=True)
    draw(rows)
    text = [f"Measured {date.today()} by `docs/scripts/necessary_table.py` on {machine()}; m = 2.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *map(line, rows)]
    text += ["", "`anonymize` for NCP, and for the balanced loss, the default:", ""]
    text += [BALANCED, "|---" * (BALANCED.count(" | ") + 1) + "|", *map(line_of_losses, rows)]
    write_section("refine.md", "necessary", text)


if __name__ == "__main__":
    main()
