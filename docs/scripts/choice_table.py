"""Measure the loss of k^m-anonymity by algorithm on six data sets: tables/loss/six_data_sets.md.

Run from the root of the checkout: ``python docs/scripts/choice_table.py``. What stands around the figures
stays. The times are those of the processor, as a multiple of what ``pcta`` takes, so that other work on the
machine counts little.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from pdanon.itemsets.mapping import changes  # noqa: E402
from tests.benchmarks.measure import DATA, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

GUARANTEE = pdanon.KmAnonymity(k=5, m=2)
TREES = DATA / "hierarchies"
DATA_SETS: dict[
    str, tuple[str, object]
] = {  # title, and a hierarchy of their own or the fan-out of a balanced one
    "bms_webview1": ("BMS-WebView-1", 5),
    "bms_webview2": ("BMS-WebView-2", 5),
    "groceries": ("Groceries", TREES / "groceries_hierarchy.csv"),
    "fimi_retail": ("Retail", 5),
    "uci_msweb_train": ("MSWeb", 5),
    "completejourney_baskets_product_type": (
        "Complete Journey",
        TREES / "completejourney_product_type_hierarchy.csv",
    ),
}
Run = Callable[[pd.DataFrame, object], pdanon.Anonymized]
ALGORITHMS: dict[str, Run] = {
    "`pcta`": lambda df, tree: pdanon.pcta(df, k=5, m=2),
    "`coat`": lambda df, tree: pdanon.coat(df, k=5, m=2),
    "`pcta`, refined": lambda df, tree: pdanon.refine(df, pdanon.pcta(df, k=5, m=2)),
    "`coat`, refined": lambda df, tree: pdanon.refine(df, pdanon.coat(df, k=5, m=2)),
    "`anonymize`": lambda df, tree: pdanon.anonymize(df, GUARANTEE),
    "`upcta`, blocks": lambda df, tree: pdanon.upcta(df, k=5, m=2, utility=blocks(df), max_suppressed=1.0),
    "`coat`, blocks": lambda df, tree: pdanon.coat(df, k=5, m=2, utility=blocks(df), max_suppressed=1.0),
    "`apriori`": lambda df, tree: pdanon.apriori(df, k=5, m=2, hierarchy=tree),
    "`direct`": lambda df, tree: pdanon.direct(df, k=5, m=2, hierarchy=tree),
    "`vpa`": lambda df, tree: pdanon.vpa(df, k=5, m=2, hierarchy=tree, parts=10),
    "`optimal`": lambda df, tree: pdanon.optimal(df, k=5, m=2, hierarchy=tree, time_limit=60),
    "`hghs`": lambda df, tree: pdanon.hghs(df, k=5, m=2, hierarchy=tree),
    "`mhghs`": lambda df, tree: pdanon.mhghs(df, k=5, m=2, hierarchy=tree),
    "`lra`": lambda df, tree: pdanon.lra(df, k=5, m=2, hierarchy=tree, parts=20),
}


REFINED = ("`pcta`, refined", "`coat`, refined")  # without a limit, which takes long with many items
MOST_ITEMS = 5_000


def blocks(df: pd.DataFrame) -> pd.DataFrame:
    return pdanon.utility.by_size(sorted(df["items"].itemset.items), 125)


def measured() -> pd.DataFrame:
    rows = []
    for name, (title, tree) in DATA_SETS.items():
        df = pdanon.read_parquet(DATA / f"{name}.parquet")
        for algorithm, run in ALGORITHMS.items():
            if algorithm in REFINED and df["items"].itemset.describe()["items"] > MOST_ITEMS:
                continue
            rows.append({"data": title, "algorithm": algorithm, **figures(run, df, tree)})
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def figures(run: Run, df: pd.DataFrame, tree: object) -> dict[str, float]:
    start = time.process_time()
    result = run(df, tree)
    seconds = time.process_time() - start
    occurrences = changes(result.mapping)["occurrences"]
    kept, lost = occurrences["kept"] / occurrences.sum(), occurrences["suppressed"] / occurrences.sum()
    shares = {"NCP": result.loss["NCP"], "changed": 1 - kept, "suppressed": lost}
    return {**{name: 100 * share for name, share in shares.items()}, "seconds": seconds}


def table(found: pd.DataFrame, measure: str, digits: int) -> list[str]:
    wide = found.pivot(index="algorithm", columns="data", values=measure)
    wide = wide.reindex([name for name in ALGORITHMS if name in wide.index])
    wide = wide.reindex(columns=[title for title, _ in DATA_SETS.values()])
    lines = ["| | " + " | ".join(wide.columns) + " |", "|---" * (len(wide.columns) + 1) + "|"]
    for name, row in wide.iterrows():
        cells = ["not tried" if pd.isna(value) else f"{value:.{digits}f}" for value in row]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    found = measured()
    base = found[found["algorithm"] == "`pcta`"].set_index("data")["seconds"]
    found["ratio"] = found["seconds"] / found["data"].map(base)
    text = [f"Measured by `docs/scripts/choice_table.py` on {machine()}; k = 5, m = 2."]
    text += ["", "NCP in percent:", "", *table(found, "NCP", 3)]
    text += ["", "Occurrences that were changed, in percent:", "", *table(found, "changed", 1)]
    lost = found[found.groupby("algorithm")["suppressed"].transform("max") > 0]
    text += ["", "Occurrences that were suppressed, in percent; by the others none:", ""]
    text += table(lost, "suppressed", 2)
    text += ["", "Processor time, as a multiple of that of `pcta`:", "", *table(found, "ratio", 1)]
    write_section("loss/six_data_sets.md", "choice", text)


if __name__ == "__main__":
    main()
