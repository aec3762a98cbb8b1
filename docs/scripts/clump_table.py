"""Measure Clump by r, look-ahead and k, beside Partition, for tables/papers/clump.md.

Run from the root of the checkout: ``python docs/scripts/clump_table.py``. The text around the figures stays.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from pdanon.evaluation.metrics import classes  # noqa: E402
from tests.benchmarks.measure import DATA, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TREES = {"groceries": "groceries_hierarchy", "diabetes": "diabetes130_icd9_hierarchy"}
QUERIES = 1_000
EVERY = 100_000  # more groups than there are


@cache
def read(title: str) -> pd.DataFrame:
    if title == "groceries":
        return pdanon.read_parquet(DATA / "groceries.parquet")[["items"]]
    frame = pdanon.read_parquet(DATA / "rt_diabetes130_patients_icd9.parquet")[["items", "age"]]
    return frame.sample(8_000, random_state=0).reset_index(drop=True)


@cache
def tree(title: str) -> pdanon.Hierarchy:
    return pdanon.Hierarchy.of(DATA / "hierarchies" / f"{TREES[title]}.csv")


@cache
def workloads(title: str) -> dict[str, pdanon.Workload]:
    """Two items of a row; and an item without another, both drawn from rows at random."""
    frame = read(title)
    pairs = pdanon.Workload.itemsets(frame, QUERIES, 2, random_state=1)
    rng = np.random.default_rng(1)
    single = pdanon.Workload.itemsets(frame, QUERIES, 1, random_state=2).queries["items"]
    other = single.sample(frac=1, random_state=int(rng.integers(100))).reset_index(drop=True)
    differs = [row[0] != without[0] for row, without in zip(single, other, strict=True)]
    queries = pd.DataFrame({"items": single, "no": other})[differs]
    return {"two": pairs, "not": pdanon.Workload.from_frame(queries, "items", absent="no")}


def line(title: str, name: str, k: int, **asked: Any) -> str:
    frame = read(title)
    start = time.process_time()
    keep = [label for label in frame.columns if label != "items"]
    result = getattr(pdanon.keep(frame, *keep), name)("items", k=k, hierarchy=tree(title), **asked)
    taken = time.process_time() - start
    target = "age" if "age" in frame else None
    sizes = classes.class_measures(result.frame, ["items"], k=k, target=target)
    mode = "uniform" if name == "partition" else "subset"  # each label stands for one item in both
    errors = [workload.are(frame, result, mode=mode).are for workload in workloads(title).values()]
    r = "all" if asked.get("r") == EVERY else str(asked.get("r", "-"))
    labels = result.frame["items"].map(len).sum() / frame["items"].map(len).sum()
    cells = [title, name, str(k), r, str(asked.get("lookahead", "-")), f"{taken:.2f}"]
    cells += [f"{result.loss['GGD']:.2%}", f"{labels:.1%}", *(f"{each:.3f}" for each in errors)]
    cells += [f"{sizes['DM'] / len(frame):.1f}", f"{sizes['CM']:.3f}" if target else "-"]
    return "| " + " | ".join(cells) + " |"


def lines() -> Iterator[str]:
    head = ["data", "algorithm", "k", "r", "look-ahead", "CPU s", "GGD", "labels"]
    head += ["two items", "one, not another", "DM / rows", "CM"]
    yield from ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for title in TREES:
        for k in (5, 25):
            yield line(title, "partition", k)
            for r in (1, 10, 50, EVERY):
                yield line(title, "clump", k, r=r, lookahead=0)
            for lookahead in (30, 300, 1_000):
                yield line(title, "clump", k, r=10, lookahead=lookahead)
            yield line(title, "clump", k, r=EVERY, lookahead=300)


def main() -> None:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    made = []
    for each in lines():
        print(each, flush=True)
        made.append(each)
    write_section("papers/clump.md", "clump", made)
    said = f"Measured on {date.today()}, on {machine()}."
    write_section("papers/clump.md", "clump-machine", [said])


if __name__ == "__main__":
    main()
