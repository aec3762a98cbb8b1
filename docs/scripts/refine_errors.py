"""Take the errors of queries apart, before and after refinement: print the table, and write nothing.

Run from the root of the checkout: ``python docs/scripts/refine_errors.py``. An estimate in the mode
``"subset"`` is the number of released rows that hold all sets of a query, which is the estimate in the mode
``"optimistic"``, times the odds that these sets mean the items of the query.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame  # noqa: E402

DATA_SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2"}
SIZES = (1, 2, 3, 5)
COLUMNS = {
    "AvgRE": "mean error",
    "median": "median error",
    "low": "too low, %",
    "high": "too high, %",
    "claimed": "rows that hold the sets, over those that hold the items: median",
    "odds": "odds: mean",
    "size": "size of the set of an item: median",
    "single": "items of a query that are alone: mean",
    "constant": "AvgRE with the best constant for odds",
}


def figures(df: Any, result: pdanon.Anonymized, workload: pdanon.Workload) -> dict[str, float]:
    subset, optimistic = (workload.are(df, result, mode=mode).table for mode in ("subset", "optimistic"))
    sizes = result.mapping.groupby("generalized")["item"].transform("size").to_numpy()
    size_of = dict(zip(result.mapping["item"], sizes, strict=True))
    asked = np.array([[size_of[item] for item in query] for query in workload.queries.iloc[:, 0]])
    right = subset["estimate"] / subset["actual"]
    claimed = (optimistic["estimate"] / optimistic["actual"]).to_numpy()
    return {
        "AvgRE": subset["error"].mean(),
        "median": subset["error"].median(),
        "low": 100 * (right < 1 - 1e-9).mean(),
        "high": 100 * (right > 1 + 1e-9).mean(),
        "claimed": float(np.median(claimed)),
        "odds": (subset["estimate"] / optimistic["estimate"]).mean(),
        "size": float(np.median(asked)),
        "single": float((asked == 1).sum(axis=1).mean()),
        "constant": float(np.abs(best_constant(claimed) * claimed - 1).mean()),
    }


def best_constant(claimed: Any) -> float:
    """What to multiply with so that the mean distance from 1 is least: a weighted median."""
    order = np.argsort(-claimed)
    weights = np.cumsum(claimed[order])
    return float(1 / claimed[order][np.searchsorted(weights, weights[-1] / 2)])


def main() -> None:
    print("| data | items of a query | release | " + " | ".join(COLUMNS.values()) + " |")
    print("|---" * (3 + len(COLUMNS)) + "|")
    for name, title in DATA_SETS.items():
        df = frame(name)
        made = pdanon.pcta(df, k=5, m=2)
        releases = {"pcta(k=5, m=2)": made, "refined": pdanon.refine(df, made)}
        for size in SIZES:
            workload = pdanon.Workload.itemsets(df, 1000, size, random_state=0)
            for what, result in releases.items():
                found = figures(df, result, workload)
                cells = [title, size, what, *(f"{found[key]:.3f}" for key in COLUMNS)]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
