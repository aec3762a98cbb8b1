"""Repeat the experiments of the paper of CAHD: tables in tables/papers/cahd.md, and a picture.

Run from the root of the checkout: ``python docs/scripts/cahd_evaluation.py``. Needs matplotlib, the extra
``plot``. What stands around the figures stays.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import pdanon
from pdanon.algorithms.items.cahd import GroupedRows
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding.recoding import Recoding

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
DATA_SETS = {"BMS-WebView-1": "bms_webview1", "BMS-WebView-2": "bms_webview2"}
FIGURE = ROOT / "docs" / "figures" / "cahd_kl.svg"
ORDERS = ("nn", "gray", "rcm")
LINES = {"KL nn": "o", "KL gray": "s", "KL rcm": "^", "KL one group": "x"}
VARIED = {"p": "p", "m": "sensitive items", "r": "items a query"}
MOST_P = 20
DRAWS = 5  # of the sensitive items
QUERIES = 100
SETTINGS = {
    "by p, 10 sensitive items, 4 items a query": [("p", p, (p, 10, 4)) for p in (4, 8, 12, 16, 20)],
    "by sensitive items, p = 10, 4 items a query": [("m", m, (10, m, 4)) for m in (5, 10, 15, 20)],
    "by items a query, p = 10, 10 sensitive items": [("r", r, (10, 10, r)) for r in (2, 4, 6, 8)],
}


def measured(
    frame: pd.DataFrame, itemsets: Itemsets, setting: tuple[int, int, int], draw: int
) -> list[float]:
    """KL by order, and of one group of all rows; then seconds of the processor by order."""
    p, m, r = setting
    rng = np.random.default_rng(draw)
    supports = np.bincount(itemsets.codes)
    sensitive = rng.choice(np.flatnonzero(supports * MOST_P <= len(frame)), m, replace=False)
    is_sensitive = np.isin(np.arange(itemsets.n_items), sensitive)
    items = itemsets.vocabulary.take(sensitive).to_pylist()
    errors, seconds = [], []
    for order in ORDERS:
        start = time.process_time()
        result = frame.txanon.cahd(p=p, sensitive=items, order=order)
        seconds.append(time.process_time() - start)
        errors.append(error(itemsets, is_sensitive, result.frame["group"].to_numpy(), r, draw))
    errors.append(error(itemsets, is_sensitive, np.zeros(len(frame), np.int64), r, draw))
    return errors + seconds


def error(itemsets: Itemsets, is_sensitive: np.ndarray, groups: np.ndarray, r: int, draw: int) -> float:
    rows = GroupedRows(itemsets, Recoding.of_suppressed(is_sensitive, itemsets), groups, is_sensitive)
    queries = rows.draw_queries(QUERIES, r, np.random.default_rng(draw))
    return float(np.mean([rows.kl(*query) for query in queries]))


def draw(figures: pd.DataFrame) -> None:
    """A panel for each data set and what is varied, with a line for each order and one for one group."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "pdanon", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(len(DATA_SETS), len(VARIED), figsize=(9, 6), sharey="row")
    for line, title in zip(axes, DATA_SETS, strict=True):
        for axis, (name, label) in zip(line, VARIED.items(), strict=True):
            own = figures[(figures["data"] == title) & (figures["varied"] == name)]
            for column, mark in LINES.items():
                (drawn,) = axis.plot(own["value"], own[column], marker=mark, markersize=4, label=column[3:])
                drawn.set_gid(f"{title} {name} {column}")
            axis.set_xlabel(label)
        line[0].set_ylim(bottom=0)  # of all three, when all that they show is there
        line[0].set_ylabel(f"{title}\nreconstruction error, KL")
    picture.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncol=len(LINES))
    picture.tight_layout(rect=(0, 0, 1, 0.96))
    picture.savefig(FIGURE, metadata={"Date": None})
    FIGURE.write_text("\n".join(line.rstrip() for line in FIGURE.read_text().splitlines()) + "\n")


def main() -> None:
    warnings.simplefilter("ignore", pdanon.EmptiedWarning)
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    drawn: list[dict[str, object]] = []
    text = [f"Measured by `docs/scripts/cahd_evaluation.py` on {machine()}.", ""]
    for title, name in DATA_SETS.items():
        frame = pdanon.read_parquet(DATA / f"{name}.parquet")
        itemsets = Itemsets.from_series(frame["items"])
        for heading, settings in SETTINGS.items():
            names = [f"KL {order}" for order in ORDERS] + ["KL one group"]
            names += [f"seconds {order}" for order in ORDERS]
            text += [f"### {title} {heading}", "", f"| {settings[0][0]} | {' | '.join(names)} |"]
            text += ["|---" * (1 + len(names)) + "|"]
            for varied, value, setting in settings:
                figures = np.mean([measured(frame, itemsets, setting, draw) for draw in range(DRAWS)], axis=0)
                errors = dict(zip(LINES, figures, strict=False))
                drawn.append({"data": title, "varied": varied, "value": value, **errors})
                cells = [f"{each:.4f}" for each in figures[:4]] + [f"{each:.2f}" for each in figures[4:]]
                print(title, heading, value, *cells, flush=True)
                text.append(f"| {value} | {' | '.join(cells)} |")
            text.append("")
    write_section("papers/cahd.md", "cahd", text)
    draw(pd.DataFrame(drawn))


if __name__ == "__main__":
    main()
