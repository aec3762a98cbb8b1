"""Draw the rules found in each release, from the tables of tables/guarantees.md.

Run from the root: ``python docs/scripts/guarantees_picture.py``, after ``guarantees_table.py``.
Needs matplotlib, the extra ``plot``.
"""

import sys
from pathlib import Path

import matplotlib

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.pages import section  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "pdanon", "svg.fonttype": "none", "font.size": 8})
import matplotlib.pyplot as plt  # noqa: E402

FIGURE = ROOT / "docs" / "figures" / "guarantees_rules.svg"


def found() -> dict[str, dict[str, float]]:
    """Rules found in percent, by data set and by release."""
    tables: dict[str, dict[str, float]] = {}
    title, promise = "", ""
    for line in section("guarantees.md", "guarantees").splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if line.startswith("### "):
            title = line.removeprefix("### ")
            tables[title] = {}
        elif len(cells) > 2 and cells[2].isdigit():
            promise = promise if cells[0] == "the same" else cells[0]
            tables[title][f"{promise} {cells[1]}".strip()] = float(cells[2])
    return tables


def main() -> None:
    tables = found()
    picture, axes = plt.subplots(1, len(tables), figsize=(9, 3.6), sharey=True)
    for axis, (title, releases) in zip(axes, tables.items(), strict=True):
        bars = axis.barh(list(releases), list(releases.values()), color="teal")
        for release, bar in zip(releases, bars, strict=True):
            bar.set_gid(f"{title} {release}")
        axis.bar_label(bars, fmt="%d", padding=2)
        axis.set(title=title, xlim=(0, 118), xticks=[0, 50, 100])
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()  # of all, when all that they show is there
    picture.supxlabel("of the 100 strongest rules, found in the release")
    picture.tight_layout()
    picture.savefig(FIGURE, metadata={"Date": None})
    FIGURE.write_text("\n".join(line.rstrip() for line in FIGURE.read_text().splitlines()) + "\n")
    plt.close(picture)


if __name__ == "__main__":
    main()
