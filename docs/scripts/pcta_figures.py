"""Measure the figures of the PCTA paper that reproduce.py leaves out: tables/papers/pcta_figures.md.

Run from the root of the checkout: ``python docs/scripts/pcta_figures.py [--keep DIRECTORY]``, as
``reproduce.py``.

A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data Anonymization",
Transactions on Data Privacy 5, 2012.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from reproduce import BLOCKS, DATA, DATA_SETS, GLOBAL, KS, ROOT, SHARES, SIZES, experiment, shown

import pdanon
from pdanon._kernels import rare_clusters
from pdanon.algorithms.states.clusters import Clusters
from pdanon.guarantees.parameters import constraint_table
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.loss import information_loss
from pdanon.recoding.recoding import Recoding

sys.path.insert(0, str(ROOT))

PARTS = {  # the title of each part, and the column that varies
    "every_k": ("complete k-anonymity by k (figures 17, 18)", "k"),
    "UR x PR5": ("UR1 to UR5 with PR5, k = 5 (figures 25 to 28)", "utility"),
    "UR x PR9": ("UR1 to UR5 with PR9, k = 5 (figures 29 to 32)", "utility"),
    "UR2 by k": ("UR2, k^2-anonymity by k (figure 41)", "k"),
    "rows": ("k = 5, m = 2, by rows (figures 19, 20)", "rows"),
    "UR2 by rows": ("UR2, k = 5, m = 2, by rows (figures 40, 42)", "rows"),
}
ROWS = (0.2, 0.4, 0.6, 0.8, 1.0)
REPEATS = 5  # for times: the least of them


def on_baskets(data_set: str, keep: Path) -> dict[str, pd.DataFrame]:
    """Run the experiments of all parts on a data set."""
    frame = pdanon.read_parquet(DATA / f"{data_set}.parquet")
    items = sorted(frame["items"].itemset.items)
    workload = pdanon.Workload.itemsets(frame, n=1000, size=5, random_state=0)
    blocks = {name: pdanon.utility.by_size(items, size) for name, size in BLOCKS.items()}
    policies = {
        "PR5": pdanon.constraints.pairs(frame, SHARES["PR5"], random_state=0),
        "PR9": pdanon.constraints.random(frame, 1000, SIZES["PR9"], random_state=0),
    }
    tables = {}
    runs = []
    for k in KS:
        rare = pdanon.constraints.pgen(frame, k)
        listed = {"guarantee": pdanon.PrivacyConstraints(constraints=rare, k=k)}
        asked = {"coat": listed, "pcta": listed, "apriori": {**GLOBAL["apriori"], "k": k, "m": None}}
        run = experiment(f"{data_set}_every_{k}", frame, asked, {}, workload, keep)
        runs.append(run.assign(k=k))
    tables["every_k"] = pd.concat(runs)
    for name, policy in policies.items():
        listed = pdanon.PrivacyConstraints(constraints=policy, k=5)
        asked = {each: {"guarantee": listed, "max_suppressed": 0.15} for each in ("coat", "upcta")}
        tables[f"UR x {name}"] = experiment(
            f"{data_set}_{name}", frame, asked, {"utility": blocks}, workload, keep
        )
    within = {"utility": blocks["UR2"], "max_suppressed": 0.15, "m": 2}
    asked = {"coat": within, "upcta": within}
    tables["UR2 by k"] = experiment(f"{data_set}_UR2", frame, asked, {"k": KS}, workload, keep)
    tables["rows"] = by_rows(frame, {name: {**each, "m": 2} for name, each in GLOBAL.items()})
    tables["UR2 by rows"] = by_rows(frame, asked)
    return tables


def by_rows(frame: pd.DataFrame, configurations: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """Measure the processor seconds of each algorithm on the first rows, the least of five runs each."""
    lines = []
    for share in ROWS:
        part = frame.head(round(share * len(frame)))
        taken: dict[str, list[float]] = {name: [] for name in configurations}
        for _ in range(REPEATS):
            for name, asked in configurations.items():
                start = time.process_time()
                try:
                    getattr(pdanon, name)(part, k=5, **asked)
                except pdanon.InfeasibleError:
                    continue
                taken[name].append(time.process_time() - start)
        lines += [
            {"algorithm": name, "rows": f"{len(part):,}", "seconds": min(each, default=np.nan)}
            for name, each in taken.items()
        ]
    return pd.DataFrame(lines).assign(reason=None)


def on_visits(keep: Path) -> pd.DataFrame:
    """All codes of a patient as the constraint, with the groups of diseases as utility constraints."""
    frame = pdanon.read_parquet(DATA / "rt_diabetes130_patients_icd9.parquet")[["items"]]
    tree = pdanon.Hierarchy.from_csv(DATA / "hierarchies" / "diabetes130_icd9_hierarchy.csv")
    workload = pdanon.Workload.frequent(frame, min_support=0.05, n=1000, random_state=0)
    blocks = pdanon.utility.by_level(tree.cover(sorted(frame["items"].itemset.items))[0], 1)
    runs = []
    for k in (2, 5, 10, 25):
        rare = pdanon.constraints.pgen(frame, k)
        asked = {
            name: {
                "guarantee": pdanon.PrivacyConstraints(constraints=rare, k=k),
                "utility": blocks,
                "max_suppressed": 0.1,
            }
            for name in ("coat", "upcta")
        }
        runs.append(experiment(f"visits_{k}", frame, asked, {}, workload, keep).assign(k=k))
    return pd.concat(runs)


# --- The order of the constraints: once per pass (lazy), or again after each constraint


def updates(data_set: str) -> list[str]:
    """Compare the order of a pass with supports that are counted again after each constraint."""
    frame = pdanon.read_parquet(DATA / f"{data_set}.parquet")
    itemsets = Itemsets.from_series(frame["items"])
    lines = []
    policies = {"PR9": pdanon.constraints.random(frame, 1000, SIZES["PR9"], random_state=0)}
    if data_set == "bms_webview1":  # on the other, PR5 has 1.4 million pairs: hours to count them each time
        policies["PR5"] = pdanon.constraints.pairs(frame, SHARES["PR5"], random_state=0)
    for name, policy in policies.items():
        table = constraint_table(policy, itemsets)
        for update, satisfy in (("lazy", lazily), ("after each", eagerly)):
            clusters = Clusters(SupportIndex.of(itemsets))
            start = time.process_time()
            passes = satisfy(clusters, table)
            taken = time.process_time() - start
            recoding = Recoding.of_clusters(clusters.labels, itemsets)
            loss, _ = information_loss(itemsets, recoding, recoding.changes(itemsets))
            cells = [DATA_SETS[data_set], name, update, f"{passes:,}", f"{clusters.n_clusters:,}"]
            cells += [f"{loss['UL']:.2f}", f"{100 * loss['NCP']:.2f}", f"{taken:.2f}"]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def lazily(clusters: Clusters, table: Any) -> int:
    clusters.satisfy(table, 5)
    return 1


def eagerly(clusters: Clusters, table: Any) -> int:
    """Satisfy the constraint with the largest support below k, again and again; return the counts."""
    counts = 0
    while True:
        rows = clusters.index()
        bitmaps = rare_clusters.Bitmaps(rows.codes, rows.offsets, rows.weights, rows.n_items)
        supports = rare_clusters.itemset_supports(table.codes, table.offsets, 5, bitmaps, clusters._state)
        counts += 1
        rare = np.flatnonzero((supports > 0) & (supports < 5))
        if not len(rare):
            return counts
        first = rare[np.argmax(supports[rare])]
        clusters.satisfy(table.take(np.array([first])), 5)


def main() -> None:
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="directory in which figures are kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    text = [f"Measured by `docs/scripts/pcta_figures.py` on {machine()}."]
    with tempfile.TemporaryDirectory() as own:
        keep = given.keep or Path(own)
        keep.mkdir(parents=True, exist_ok=True)
        head = "| data | constraints | supports counted | counts | sets | UL | NCP, % | seconds |"
        text += ["", "### Lazy update, k = 5", "", head, "|---" * 8 + "|"]
        text += [line for data_set in DATA_SETS for line in updates(data_set)]
        for data_set, name in DATA_SETS.items():
            tables = on_baskets(data_set, keep)
            for part, (title, by) in PARTS.items():
                text += ["", f"### {name}: {title}", *shown(tables[part], by)]
        title = "### Diagnoses: all codes of a patient as a constraint, by k"
        text += ["", title, *shown(on_visits(keep), "k")]
    write_section("papers/pcta_figures.md", "figures", text)


if __name__ == "__main__":
    main()
