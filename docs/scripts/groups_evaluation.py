"""Measure the losses of Clump and Partition, and write the table of tables/loss/groups.md.

Run from the root of the checkout: ``python docs/scripts/groups_evaluation.py``. What stands around the
figures stays.
"""

import os
import sys
import time
from pathlib import Path

import pandas as pd

import pdanon

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
DATA_SETS: dict[str, tuple[str, Path | int]] = {
    "groceries": ("groceries", DATA / "hierarchies" / "groceries_hierarchy.csv"),
    "foodmart": ("foodmart_baskets_1997", DATA / "hierarchies" / "foodmart_product_hierarchy.csv"),
    "msweb": ("uci_msweb_train", 5),
}
KS = (5, 10, 25)
WAYS = {
    "`partition`": lambda df, k, tree: df.txanon.partition("items", k=k, hierarchy=tree),
    "`clump`": lambda df, k, tree: df.txanon.clump("items", k=k, hierarchy=tree),
    "`clump`, lookahead=1000": lambda df, k, tree: df.txanon.clump(
        "items", k=k, hierarchy=tree, lookahead=1000
    ),
    "`clump`, lookahead=0": lambda df, k, tree: df.txanon.clump("items", k=k, hierarchy=tree, lookahead=0),
}


def line(title: str, df: pd.DataFrame, k: int, tree: Path | int, way: str) -> str:
    start = time.perf_counter()
    result = WAYS[way](df, k, tree)
    taken = time.perf_counter() - start
    measures = " | ".join(f"{100 * result.loss[name]:.1f}" for name in ("GGD", "NCP", "LM", "suppressed"))
    published = result.frame["items"].list.len().sum() / df["items"].list.len().sum()
    return f"| {title} | {k} | {way} | {measures} | {100 * published:.1f} | {taken:.2f} |"


def main() -> None:
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    text = [f"Measured by `docs/scripts/groups_evaluation.py` on {machine()}.", ""]
    text += [
        "| data | k | algorithm | GGD % | NCP % | LM % | suppressed % | labels % | seconds |",
        "|---" * 9 + "|",
    ]
    for title, (name, tree) in DATA_SETS.items():
        df = pdanon.read_parquet(DATA / f"{name}.parquet")
        for way in WAYS.values():
            way(df.head(2000), 5, tree)  # the first call loads compiled code
        text += [line(title, df, k, tree, way) for k in KS for way in WAYS]
    write_section("loss/groups.md", "groups", text)


if __name__ == "__main__":
    main()
