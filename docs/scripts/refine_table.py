"""Measure and draw the refinement of releases by PCTA, and write tables/refine.md.

Run from the root of the checkout: ``python docs/scripts/refine_table.py``. What stands around the figures
stays. Needs matplotlib, the extra ``plot``.
"""

import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "pdanon", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

DATA_SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2"}
KS = {2: (2, 5, 10, 25, 50), 3: (5, 25)}
FIGURES = ROOT / "docs" / "figures"
COLUMNS = (
    "| data | m | k | NCP of pcta, % | refined for NCP, % | share left | refined, % | sets | refined "
    "| changed, % | refined | bound | count of an item, % off | refined | of a pair | refined "
    "| AvgRE, optimistic | refined | AvgRE, subset | refined | s, pcta | s, refine |"
)
PICTURES = """
![NCP of pcta and refined, by k](../../../docs/figures/refine_ncp.svg)

![What is left of the NCP over time](../../../docs/figures/refine_trace.svg)
"""


def measured(name: str, k: int, m: int) -> dict[str, Any]:
    df = frame(name)
    pdanon.pcta(df.head(500), k=5, m=m, refine=True)  # the first call loads compiled code
    start = time.process_time()
    made = pdanon.pcta(df, k=k, m=m)
    between = time.process_time()
    refined = pdanon.refine(df, made)
    end = time.process_time()
    for_ncp = pdanon.refine(df, made, loss="NCP")
    workload = pdanon.Workload.itemsets(df, 1000, 5, random_state=0)
    both = made, refined
    return {
        "title": DATA_SETS[name],
        "m": m,
        "k": k,
        "NCP": [100 * result.loss["NCP"] for result in (made, for_ncp, refined)],
        "sets": [result.mapping["generalized"].nunique() for result in both],
        "occurrences": [100 * result.loss["occurrences"] for result in both],
        "bound": 100 * pdanon.bound(df, refined).least,
        "counts": [100 * result.loss[name] for name in ("singles", "pairs") for result in both],
        "AvgRE": [
            workload.are(df, result, mode=mode).are for mode in ("optimistic", "subset") for result in both
        ],
        "seconds": [between - start, end - between],
        "trace": for_ncp.trace,
    }


def line(row: dict[str, Any]) -> str:
    made, for_ncp, refined = row["NCP"]
    cells = [row["title"], row["m"], row["k"], f"{made:.3f}", f"{for_ncp:.3f}", f"{for_ncp / made:.3f}"]
    cells += [f"{refined:.3f}", *row["sets"]]
    cells += [f"{value:.1f}" for value in (*row["occurrences"], row["bound"], *row["counts"])]
    cells += [f"{value:.3f}" for value in row["AvgRE"]] + [f"{value:.2f}" for value in row["seconds"]]
    return "| " + " | ".join(map(str, cells)) + " |"


def draw(rows: list[dict[str, Any]]) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for panel, title in zip(axes, DATA_SETS.values(), strict=True):
        for m, colour in zip(KS, ("C0", "C1"), strict=True):
            own = [row for row in rows if (row["title"], row["m"]) == (title, m)]
            for number, (style, what) in enumerate((("--o", "pcta"), ("-o", "refined for NCP"))):
                values = [row["NCP"][number] for row in own]
                panel.plot(
                    [row["k"] for row in own],
                    values,
                    style,
                    color=colour,
                    markersize=4,
                    label=f"{what}, m={m}",
                )
        panel.set(title=title, xlabel="k", ylabel="NCP, %")
        panel.set_ylim(bottom=0)
    axes[1].legend()
    save(figure, "refine_ncp")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for panel, title in zip(axes, DATA_SETS.values(), strict=True):
        for row in (row for row in rows if row["title"] == title and row["k"] in KS[3]):
            curve = row["trace"]
            label = f"k={row['k']}, m={row['m']}"
            panel.step(curve["seconds"], curve["loss"] / curve["loss"].iloc[0], where="post", label=label)
        panel.set(title=title, xlabel="seconds", ylabel="share of the NCP of pcta", xscale="log")
        panel.set_ylim(bottom=0)
        panel.legend()
    save(figure, "refine_trace")


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    rows = []
    for name in DATA_SETS:
        for m, ks in KS.items():
            for k in ks:
                rows.append(measured(name, k, m))
                print(line(rows[-1]), flush=True)
    draw(rows)
    about = (
        "Refined: for the balanced loss, the default, and for NCP where the column says so. AvgRE is that of "
        "1000 queries for 5 items each; s is processor time, on a busy machine."
    )
    text = [f"Measured {date.today()} by `docs/scripts/refine_table.py` on {machine()}. {about}", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *map(line, rows), PICTURES.rstrip()]
    write_section("refine.md", "refine-sets", text)


if __name__ == "__main__":
    main()
