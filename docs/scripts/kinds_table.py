"""Compare what sets, deletions and mixtures change with the bounds, and write tables/loss/kinds.md.

Run from the root of the checkout: ``python docs/scripts/kinds_table.py``. What stands around the figures
stays. Needs matplotlib, the extra ``plot``.
"""

import sys
from datetime import date
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from scipy.sparse import triu

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from tests.benchmarks.measure import frame, machine, matrix  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.naive.mixtures import cost  # noqa: E402

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "pdanon", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
import matplotlib.pyplot as plt  # noqa: E402

DATA_SETS = {
    "groceries": "groceries",
    "uci_msweb_train": "msweb",
    "bms_webview1": "BMS-WebView-1",
    "foodmart_baskets_1997": "foodmart",
}
OTHERS = {
    "bms_webview2": "BMS-WebView-2",
    "fimi_t10i4d100k": "T10I4D100K",
    "quest_t40i10d100k_head10000": "T40I10D100K",
    "completejourney_baskets_product_type": "completejourney",
}
LARGE = {"fimi_retail": "retail"}
KS = (2, 5, 10, 25, 50)
BANDS = {"5 to 19": (5, 20), "20 to 99": (20, 100), "100 and more": (100, np.inf)}
PAIRS = 1_000  # drawn from each band
MODES = ("uniform", "retained", "uniform")  # of the estimates: for labels as in `loss["pairs"]`
M = 2
PRICE = 4
KINDS = ("sets", "deletions")
COLUMNS = (
    "| data | k | sets: least, % | sets, % | deletions: least, % | deletions, % | mixture, % | deleted, % "
    "| pairs: sets, % | pairs: deletions, % | pairs: mixture, % |"
)


def measured(name: str, k: int) -> list[float]:
    """Return the shares of a line of the table, in percent."""
    df = frame(name)[["items"]].dropna()
    results = [df.txanon.anonymize(k=k, m=M).loss]
    results += [df.txanon.local_suppression(k=k, m=M, deletion_price=price).loss for price in (None, PRICE)]
    bounds = [pdanon.bound(df, k=k, m=M, kind=kind).least for kind in KINDS]
    shares = [
        share for least, loss in zip(bounds, results, strict=False) for share in (least, loss["occurrences"])
    ]
    shares += [results[-1]["occurrences"], results[-1]["suppressed"], *(loss["pairs"] for loss in results)]
    return [100 * share for share in shares]


def costs(name: str, k: int) -> list[float]:
    """Return the costs of sets, deletions and a mixture, by occurrence; and the last by the lower end."""
    df = frame(name)[["items"]].dropna()
    results = [df.txanon.anonymize(k=k, m=M)]
    results += [df.txanon.local_suppression(k=k, m=M, deletion_price=price) for price in (None, PRICE)]
    found = [cost(result.mapping, PRICE) / result.mapping["support"].sum() for result in results]
    return [*found, found[-1] / min(found[:-1])]


def errors(name: str, k: int) -> dict[str, list[float]]:
    """Return the mean error of the counts of pairs by band, of three kinds, and of the best by sets."""
    df = frame(name)[["items"]].dropna()
    results = [df.txanon.anonymize(k=k, m=M)]
    results += [df.txanon.local_suppression(k=k, m=M, deletion_price=price) for price in (None, PRICE)]
    itemsets, rng = Itemsets.from_series(df["items"]), np.random.default_rng(0)
    rows, items = matrix(itemsets), itemsets.vocabulary.to_numpy(zero_copy_only=False)
    counts, found = triu(rows.T @ rows, 1).tocoo(), {}
    for band, (low, high) in BANDS.items():
        pairs = np.flatnonzero((counts.data >= low) & (counts.data < high))
        if len(pairs):
            pairs = rng.choice(pairs, min(len(pairs), PAIRS), replace=False)
            asked = items[np.stack([counts.row[pairs], counts.col[pairs]], 1)].tolist()
            workload = pdanon.Workload.from_frame(pd.DataFrame({"items": asked}))
            own = [
                workload.are(df, result, mode=mode).are for result, mode in zip(results, MODES, strict=True)
            ]
            found[band] = [*own, min(own) / own[0]]
    return found


def draw(rows: dict[str, list[list[float]]]) -> None:
    """Draw a panel for each data set: releases as lines, and what is necessary as areas."""
    figure, panels = plt.subplots(1, len(rows), figsize=(9, 3), sharey=True)
    for panel, (name, shares) in zip(panels, rows.items(), strict=True):
        for kind, columns, color in zip(KINDS, ((0, 1), (2, 3)), ("C0", "C1"), strict=True):
            least, changed = ([row[column] for row in shares] for column in columns)
            panel.fill_between(KS, least, color=color, alpha=0.2, label=f"{kind}: necessary")
            panel.plot(KS, changed, "o-", color=color, markersize=4, label=f"{kind}: released")
        panel.plot(KS, [row[4] for row in shares], "--", color="C2", label="mixture: released")
        panel.set(title=name, xlabel="k", xscale="log", ylim=(0, 100))
        panel.set_xticks(KS, KS)
        panel.minorticks_off()
    panels[0].set_ylabel("occurrences changed, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(ROOT / "docs" / "figures" / "kinds.svg", metadata={"Date": None})


def main() -> None:
    rows = {label: [measured(name, k) for k in KS] for name, label in DATA_SETS.items()}
    draw(rows)
    text = [
        f"Measured {date.today()} by `docs/scripts/kinds_table.py` on {machine()}; m = {M}, price {PRICE}.",
        "",
    ]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|"]
    for label, shares in rows.items():
        for k, row in zip(KS, shares, strict=True):
            text.append(f"| {label} | {k} | {' | '.join(f'{share:.1f}' for share in row)} |")
    write_section("loss/kinds.md", "kinds", text)
    text = ["| data | sets | deletions | mixture | of the better end |", "|---" * 5 + "|"]
    ratios = []
    for name, label in (DATA_SETS | OTHERS).items():
        found = costs(name, 5)
        ratios.append(found[-1])
        text.append(f"| {label} | {' | '.join(f'{share:.3f}' for share in found)} |")
    write_section("loss/kinds.md", "costs", [*text, f"| mean | | | | {np.mean(ratios):.3f} |"])
    header = "| data | rows with the pair | sets, % | deletions, % | mixture, % | best / sets |"
    text, ratios = [header, "|---" * 6 + "|"], {}
    for name, label in (DATA_SETS | OTHERS | LARGE).items():
        for band, (*shares, ratio) in errors(name, 5).items():
            ratios.setdefault(band, []).append(ratio)
            text.append(
                f"| {label} | {band} | {' | '.join(f'{100 * share:.1f}' for share in shares)} | {ratio:.2f} |"
            )
    text += [f"| mean | {band} | | | | {np.mean(found):.2f} |" for band, found in ratios.items()]
    write_section("loss/kinds.md", "bands", text)


if __name__ == "__main__":
    main()
