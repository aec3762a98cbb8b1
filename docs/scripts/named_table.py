"""Measure and draw the persons that an attacker with a sample names, and their price in NCP.

Half of the rows are published, the other half is the sample of the attacker. Persons at risk hold two items
that fewer than 5 rows hold together, whatever the k of the release.

Run from the root of the checkout: ``python docs/scripts/named_table.py``. It writes tables/named.md.
What stands around the figures stays. Needs matplotlib, the extra ``plot``.
"""

import sys
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

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
    "bms_webview1": "BMS-WebView-1",
    "uci_msweb_train": "msweb",
    "bms_webview2": "BMS-WebView-2",
}
ALGORITHMS = {
    "pcta": pdanon.pcta,
    "coat": pdanon.coat,
    "refined": lambda df, k, m: pdanon.pcta(df, k=k, m=m, refine=True),
}
KS = (5, 10, 15, 25, 50)
AT_RISK, PERSONS = 5, 3000
NORMAL = 1.96  # standard errors to the ends of an interval of 95 %
SMALLER = (2, 3)  # further k of pcta, to compare refined releases with less NCP
COLUMNS = "| data | algorithm | k | NCP, % | named, % | interval | above 1/5, % | above 1/2, % |"


def measured(name: str) -> list[dict[str, Any]]:
    """Measure all releases of half of a data set."""
    rows = np.random.default_rng(1).permutation(len(df := frame(name)))
    half, other = (df.iloc[np.sort(part)] for part in np.array_split(rows, 2))
    found = []
    for algorithm, function in ALGORITHMS.items():
        for k in (*(SMALLER if algorithm == "pcta" else ()), *KS):
            result = function(half, k=k, m=2)
            attack = half.txanon.attack(result, sample=other, k=AT_RISK, n=PERSONS, random_state=1)
            found.append({"data": name, "algorithm": algorithm, "k": k, "NCP": 100 * result.loss["NCP"]})
            found[-1] |= {"attack": attack, "named": 100 * attack.named}
            print(line(found[-1]), flush=True)
    return found


def line(row: dict[str, Any]) -> str:
    shares = 100 * row["attack"].shares
    low, high = shares.loc["named", ["low", "high"]]
    cells = [DATA_SETS[row["data"]], row["algorithm"], row["k"], f"{row['NCP']:.3f}", f"{row['named']:.1f}"]
    cells += [f"{low:.1f} to {high:.1f}", *(f"{shares.loc[f'above 1/{x}', 'share']:.1f}" for x in ("k", "2"))]
    return "| " + " | ".join(map(str, cells)) + " |"


def ratios(rows: list[dict[str, Any]]) -> list[str]:
    """Compare refined releases with those of pcta at the same NCP, interpolated between values of k.

    The interval is that of the persons drawn in both releases; the split of the rows is the same in all.
    """
    found, above = [], 0
    lines = [
        "| data | k, refined | NCP, % | named, % | named by pcta at this NCP, % | ratio | interval |",
        "|---" * 7 + "|",
    ]
    for name in DATA_SETS:
        own = [row for row in rows if row["data"] == name]
        pcta = pd.DataFrame([row for row in own if row["algorithm"] == "pcta"]).sort_values("NCP")
        for row in own:
            inside = pcta["NCP"].iloc[0] <= row["NCP"] <= pcta["NCP"].iloc[-1]
            if row["algorithm"] == "refined" and inside:
                there = float(np.interp(np.log(row["NCP"]), np.log(pcta["NCP"]), pcta["named"]))
                ratio = row["named"] / there
                low, high = (
                    ratio * float(np.exp(side * NORMAL * error(row["named"], there))) for side in (-1, 1)
                )
                cells = [
                    DATA_SETS[name],
                    row["k"],
                    f"{row['NCP']:.3f}",
                    f"{row['named']:.1f}",
                    f"{there:.1f}",
                    f"{ratio:.2f}",
                    f"{low:.2f} to {high:.2f}",
                ]
                found.append(ratio)
                above += low > 1
                lines.append("| " + " | ".join(map(str, cells)) + " |")
    mean = float(np.exp(np.mean(np.log(found))))
    return [
        *lines,
        "",
        f"The geometric mean of the ratios is {mean:.2f}, the largest is {max(found):.2f}. "
        f"{above} of {len(found)} intervals are above 1.",
    ]


def error(*named: float) -> float:
    """Return the standard error of the logarithm of a ratio of two shares in percent."""
    return float(np.sqrt(sum((100 - share) / share / PERSONS for share in named)))


def draw(rows: list[dict[str, Any]]) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(8, 6))
    for panel, name in zip(axes.flat, DATA_SETS, strict=True):
        for number, algorithm in enumerate(ALGORITHMS):
            own = [
                row for row in rows if (row["data"], row["algorithm"]) == (name, algorithm) and row["k"] in KS
            ]
            own.sort(key=lambda row: row["k"])
            losses, named = [row["NCP"] for row in own], [row["named"] for row in own]
            panel.plot(losses, named, "-o", color=f"C{number}", markersize=4, label=algorithm)
            for row in own:
                panel.annotate(
                    row["k"],
                    (row["NCP"], row["named"]),
                    fontsize=6,
                    xytext=(3, 3),
                    textcoords="offset points",
                )
        panel.set(title=DATA_SETS[name], xlabel="NCP, %", ylabel="persons at risk named, %")
        panel.set_ylim(bottom=0)
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "figures" / "named.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    rows = [row for name in DATA_SETS for row in measured(name)]
    draw(rows)
    text = [f"Measured {date.today()} by `docs/scripts/named_table.py` on {machine()}.", ""]
    originals = [next(row for row in rows if row["data"] == name) for name in DATA_SETS]
    for row in originals:
        attack = row["attack"]
        text.append(
            f"- {DATA_SETS[row['data']]}: {100 * attack.at_risk:.1f} % of the rows at risk; in the original, "
            f"{100 * attack.rate_before:.1f} % of the guesses among the matching rows are right."
        )
    text += ["", COLUMNS, "|---" * 8 + "|", *map(line, rows), "", *ratios(rows)]
    print(*ratios(rows), sep="\n")
    write_section("named.md", "named", text)


if __name__ == "__main__":
    main()
