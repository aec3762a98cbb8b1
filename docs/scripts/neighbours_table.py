"""Measure neighbours, recommendations and rules in releases, and write tables/loss/neighbours.md.

Run from the root of the checkout: ``python docs/scripts/neighbours_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from pdanon.metrics import patterns  # noqa: E402
from prediction_table import COMPARED, without_one  # noqa: E402

from pdanon import Anonymized  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from tests.benchmarks.measure import frame, machine, matrix  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "Groceries", "uci_msweb_train": "MSWeb", "bms_webview1": "BMS-WebView-1"}
K, M, PRICE = 5, 2, 4
NEAREST, SHOWN, FREQUENT, SAMPLE = 10, 5, 100, 1000
COLUMNS = "| data | release | similar items, % | of rare items, % | nearest rows, % | hits, % "
COLUMNS += "| rules kept, % | lost, % | false, % |"


def releases(df: pd.DataFrame) -> Iterator[tuple[str, Anonymized]]:
    yield "sets", df.txanon.anonymize(k=K, m=M, random_state=0, time_limit=600)
    yield "deletions", df.txanon.local_suppression(k=K, m=M, random_state=0)
    yield "mixture", df.txanon.local_suppression(k=K, m=M, deletion_price=PRICE, random_state=0)


def found(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the chance of each column to be among the n largest of its row, with ties in random order."""
    least = -np.partition(-scores, n - 1, axis=1)[:, n - 1 : n]
    above, tied = scores > least, scores == least
    open_places = n - above.sum(axis=1, keepdims=True)
    return above + tied * open_places / tied.sum(axis=1, keepdims=True)


def staying(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return, for each row, the share of the nearest after that are as near as the nearest before."""
    least = -np.partition(-before, NEAREST - 1, axis=1)[:, NEAREST - 1 : NEAREST]
    near = (before >= least) & (before > 0)
    return np.sum(found(after, NEAREST) * near, axis=1) / np.clip(near.sum(axis=1), 1, NEAREST)


def cosines(df: pd.DataFrame, release: Anonymized | pd.DataFrame) -> np.ndarray:
    """Estimate the cosine similarity of all pairs of items; -1 of an item with itself."""
    items = patterns.item_errors(df, release)
    counts, number = items["estimate"].to_numpy(), {item: n for n, item in enumerate(items["item"])}
    pairs = patterns.pair_errors(df, release, ranks=(0, len(items)))
    left, right = np.array([[number[item] for item in pair] for pair in pairs["itemset"]]).T
    similar = np.zeros((len(items),) * 2)
    size = np.sqrt(counts[left] * counts[right])
    similar[left, right] = np.divide(pairs["estimate"], size, out=np.zeros(len(size)), where=size > 0)
    similar = (similar + similar.T).round(9)  # equal estimates are ties
    np.fill_diagonal(similar, -1)
    return similar


def jaccard(df: pd.DataFrame, sampled: np.ndarray) -> np.ndarray:
    """Return the Jaccard similarity of some rows with all; -1 of a row with itself."""
    rows = matrix(Itemsets.from_series(df["items"]))
    common, sizes = (rows[sampled] @ rows.T).toarray(), np.diff(rows.indptr)
    similar = common / np.maximum(sizes[sampled][:, None] + sizes - common, 1)
    similar[np.arange(len(sampled)), sampled] = -1
    return similar


def hits(df: pd.DataFrame, test: pd.DataFrame, scores: np.ndarray) -> float:
    """Return the chance that a hidden item of a row is recommended, by its scores beside known items."""
    number = {item: n for n, item in enumerate(df["items"].itemset.items)}
    known, hidden = without_one(test, np.random.default_rng(0))
    pairs = [(row, number[item]) for row, each in enumerate(known) for item in each if item in number]
    rows, columns = np.array(pairs).T
    taken = np.zeros((len(known), len(number)))
    taken[rows, columns] = 1
    total = (taken @ np.maximum(scores, 0)).round(9)
    total[rows, columns] = -1
    chances = found(total, SHOWN)
    return float(
        np.mean([chances[n, number[item]] if item in number else 0 for n, item in enumerate(hidden)])
    )


def lines() -> Iterator[str]:
    yield COLUMNS
    yield "|---" * (COLUMNS.count(" | ") + 1) + "|"
    for name, title in DATA_SETS.items():
        table = frame(name)[["items"]]
        parts = np.split(np.random.default_rng(0).permutation(len(table)), [len(table) // 5])
        test, df = (table.iloc[np.sort(part)].reset_index(drop=True) for part in parts)
        supports = df["items"].itemset.supports()[df["items"].itemset.items].to_numpy()
        long = np.flatnonzero(df["items"].map(len) > 1)
        sampled = np.random.default_rng(0).choice(long, SAMPLE, replace=False)
        items, rows = cosines(df, df), jaccard(df, sampled)
        popular = hits(df, test, np.tile(supports / len(df), (len(supports), 1)))
        yield line(title, "most frequent items", ["", "", "", popular, "", "", ""])
        yield line(title, "raw", [1, 1, 1, hits(df, test, items), 1, 0, 0])
        for kind, release in releases(df):
            similar = cosines(df, release)
            stay, errors = staying(items, similar), patterns.rule_errors(df, release, **COMPARED)
            shares = [stay[supports >= FREQUENT].mean(), stay[supports < FREQUENT].mean()]
            shares += [staying(rows, jaccard(release.frame, sampled)).mean(), hits(df, test, similar)]
            shares += [errors.kept / len(errors.original), errors.lost / len(errors.original)]
            yield line(title, kind, [*shares, errors.false / len(errors.released)])


def line(title: str, kind: str, shares: list[float | str]) -> str:
    shown = [share if share == "" else f"{100 * share:.1f}" for share in shares]
    print(title, kind, *shown, flush=True)
    return f"| {title} | {kind} | {' | '.join(shown)} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measured = (
        f"Measured {date.today()} by `docs/scripts/neighbours_table.py` on {machine()}; k = {K}, m = {M}."
    )
    write_section("loss/neighbours.md", "neighbours", [measured, "", *lines()])
