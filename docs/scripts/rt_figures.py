"""Draw Rum-bound on survey data by bound, rows and k, for docs/measured/papers.md.

Run from the root of the checkout: ``python docs/scripts/rt_figures.py``. Needs matplotlib, the extra
``plot``. The figures are tables of tables/papers/rum_bound.md, too.
"""

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "pdanon", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
FIGURES = ROOT / "docs" / "figures"
MERGES = {"R": "o", "T": "s", "RT": "^"}
DELTAS = (0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 1.0)
ROWS = (5_000, 10_000, 15_000, 20_000, 26_735)
KS = (10, 25, 50, 100)
PANELS = {
    "largest": "rows of the largest class",
    "NCP": "NCP of items",
    "UL": "UL of items, log2",
    "NCP_relational": "NCP of quasi-identifiers",
}


def measured(df: pd.DataFrame, **asked: Any) -> dict[str, Any]:
    years = DATA / "hierarchies" / "informs2005_DOBYY_hierarchy.csv"
    quasi = ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income"]
    asked = {"k": 25, "m": 2, "delta": 0.65, "random_state": 0} | asked
    items = pdanon.Transaction(asked.pop("transaction", "pcta"), refine=False)
    start = time.process_time()
    result = pdanon.rum_bound(df, quasi={**dict.fromkeys(quasi), "DOBYY": years}, transaction=items, **asked)
    taken = time.process_time() - start
    figures = {"rows": len(df), "seconds": taken, "classes": len(result.classes), **result.loss}
    figures |= {"largest": int(result.classes["size"].max()), **asked}
    print(figures, flush=True)
    return figures


def lines(axes: Any, figures: pd.DataFrame, x: str, y: str, label: str) -> None:
    for merge, marker in MERGES.items():
        own = figures[figures["merge"] == merge]
        axes.plot(own[x], own[y], marker=marker, markersize=4, linewidth=1.2, label=f'merge="{merge}"')
    axes.set_xlabel(x)
    axes.set_ylabel(label)
    axes.legend()


def table(figures: pd.DataFrame, x: str, columns: dict[str, str]) -> list[str]:
    """Return a table: one line a value of x and merge, with some columns and the way to write them."""
    rows = [f"| {x} | merge | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for _, line in figures.iterrows():
        cells = [f"{line[x]:g}", line["merge"], *(form.format(line[name]) for name, form in columns.items())]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def save(figure: Any, name: str) -> None:
    figure.tight_layout()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    df = pdanon.read_parquet(DATA / "rt_informs2005.parquet").drop(columns="DUPERSID")
    measured(df.head(500), merge="T", delta=1.0)  # the first call loads compiled code
    by_delta = pd.DataFrame([measured(df, delta=delta, merge=merge) for delta in DELTAS for merge in MERGES])
    figure, axes = plt.subplots(2, 2, figsize=(8, 6))
    for panel, (name, label) in zip(axes.flat, PANELS.items(), strict=True):
        lines(panel, by_delta, "delta", name, label)
    axes[0, 0].set_yscale("log")
    axes[0, 1].set_ylim(bottom=0)
    save(figure, "rt_delta")
    shuffled = df.sample(frac=1, random_state=0)
    by_rows = pd.DataFrame([measured(shuffled.head(n), merge=merge) for n in ROWS for merge in MERGES])
    by_k = pd.DataFrame([measured(df, k=k, merge=merge) for k in KS for merge in MERGES])
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    lines(axes[0], by_rows, "rows", "seconds", "processor seconds")
    lines(axes[1], by_k, "k", "seconds", "processor seconds")
    for panel in axes:
        panel.set_ylim(bottom=0)
    save(figure, "rt_time")
    columns = {"NCP": "{:.4f}", "largest": "{:.0f}", "seconds": "{:.2f}"}
    only = {"seconds": "{:.2f}"}
    write_section("papers/rum_bound.md", "by-delta", table(by_delta, "delta", columns))
    write_section("papers/rum_bound.md", "by-rows", table(by_rows, "rows", only))
    write_section("papers/rum_bound.md", "by-k", table(by_k, "k", only))


if __name__ == "__main__":
    main()
