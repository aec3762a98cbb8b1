"""Compare releases by sets and by deletions, and write tables/loss/deletions.md.

Run from the root of the checkout: ``python docs/scripts/deletions_table.py``.
"""

import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from tests.benchmarks.measure import frame, machine, matrix, seconds  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {
    "groceries": "groceries",
    "uci_msweb_train": "msweb",
    "bms_webview1": "BMS-WebView-1",
    "bms_webview2": "BMS-WebView-2",
    "fimi_t10i4d100k": "T10I4D100K",
    "completejourney_baskets_product_type": "completejourney",
}
K, M = 5, 2
QUASI = ["age", "sex", "district"]
BANDS = ((5, 20), (20, 100), (100, np.inf))
COLUMNS = (
    "| data | sets: least, % | sets, % | deletions, % | of the least "
    "| pairs in 5 to 19 rows, error in % | in 20 to 99 | in 100 and more | s | audits |"
)
NAMED = "| data | two items: sets, % | deletions | three items: sets, % | deletions |"
KINDS = {
    "sets": lambda df, k: df.txanon.anonymize(k=k, m=M),
    "deletions": lambda df, k: df.txanon.local_suppression(k=k, m=M),
    "mixture": lambda df, k: df.txanon.local_suppression(k=k, m=M, deletion_price=4),
}
KS = (5, 10, 25)
LOSSES = ("occurrences", "pairs")
MORE = {"deletions": (50,)}  # so that both kinds lose as much for some k
OF_KINDS = "| data | kind | k | occurrences, % | error of pairs, % | named, % | what a row lost is |"
AT_LOSS = "| data | loss | % | sets: named, % | deletions | mixture |"
OF_CLASSES = "| delta | classes | sets, % | deletions, % | sets: error of pairs, % | deletions |"


def pairs(sets: Itemsets) -> np.ndarray:
    """Count the rows with each pair of items; dense, so for a few thousand items."""
    rows = matrix(sets)
    return (rows.T @ rows).toarray()


def errors(original: Itemsets, released: Itemsets) -> list[float]:
    """Mean relative error of pairs, estimated by the share of each item's occurrences that is left."""
    place = original.lookup(released.vocabulary)
    before, after = pairs(original), np.zeros((original.n_items,) * 2)
    after[np.ix_(place, place)] = pairs(released)
    left = np.sqrt(np.diag(after) / np.diag(before))
    left[left == 0] = 1  # none is left, and estimated
    upper = np.triu_indices(original.n_items, 1)
    known, estimate = before[upper], (after / np.outer(left, left))[upper]
    return [
        float(np.mean(np.abs(estimate[band] - known[band]) / known[band]))
        for low, high in BANDS
        for band in [(known >= low) & (known < high)]
    ]


def lines(name: str) -> tuple[str, str]:
    """Compare both kinds of releases by what they lose, and by whom an attacker with a sample names."""
    df = frame(name)[["items"]].dropna().reset_index(drop=True)
    guarantee = pdanon.KmAnonymity(K, M)
    start = time.process_time()
    result = df.txanon.local_suppression(k=K, m=M)
    spent = time.process_time() - start
    audit = seconds(lambda: result.frame.txanon.audit(guarantee))
    least = pdanon.bound(df, guarantee, loss="occurrences").least
    by_sets = df.txanon.anonymize(guarantee)
    sets = by_sets.loss["occurrences"]
    deleted = result.loss["occurrences"]
    bands = errors(Itemsets.from_series(df["items"]), Itemsets.from_series(result.frame["items"]))
    cells = [
        DATA_SETS[name],
        *(f"{100 * each:.1f}" for each in (least, sets, deleted)),
        f"{deleted / least:.2f}",
    ]
    cells += [*(f"{100 * each:.1f}" for each in bands), f"{spent:.1f}", f"{spent / audit:.0f}"]
    named = [
        f"{100 * pdanon.attack(df, each, sample='split', m=m, k=K).named:.1f}"
        for m in (M, M + 1)
        for each in (by_sets, result)
    ]
    return row(cells), row([DATA_SETS[name], *named])


def named_by_kind(name: str) -> list[list[str]]:
    """Measure what releases of each kind lose, and the same persons that are named in each."""
    df, found = frame(name)[["items"]].dropna().reset_index(drop=True), []
    for kind, release in KINDS.items():
        for k in (*KS, *MORE.get(kind, ())):
            result = release(df, k)
            attack = pdanon.attack(df, result, sample="split", m=M, k=K)
            losses = [f"{100 * result.loss[loss]:.1f}" for loss in LOSSES]
            lost = attack.sample.rpartition(" is ")[2] if "lost is" in attack.sample else ""
            found.append([DATA_SETS[name], kind, str(k), *losses, f"{100 * attack.named:.1f}", lost])
            print(row(found[-1]), flush=True)
    return found


def at_equal_loss(cells: list[list[str]]) -> list[str]:
    """Interpolate, for each kind, the share of persons named at the loss of sets with k = 5."""
    table = pd.DataFrame([each[:6] for each in cells], columns=["data", "kind", "k", *LOSSES, "named"])
    table = table.astype(dict.fromkeys((*LOSSES, "named"), float)).set_index(["data", "kind"])
    found = []
    for data in table.index.unique("data"):
        for loss in LOSSES:
            at = table.loc[(data, "sets"), loss].iloc[0]
            shown = [data, loss, f"{at:.1f}"]
            for kind in KINDS:
                own = table.loc[(data, kind)]
                there = np.interp(at, own[loss], own["named"], left=np.nan, right=np.nan)
                shown.append("" if np.isnan(there) else f"{there:.1f}")
            found.append(row(shown))
    return found


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def classes(delta: float) -> str:
    """Compare both kinds in the same classes of patients."""
    df = pdanon.read_parquet(ROOT / "examples" / "patients.parquet")
    asked = {"k": K, "m": M, "quasi": QUASI, "delta": delta, "random_state": 0}
    results = [df.txanon.rum_bound(**asked, transaction=name) for name in ("pcta", "local_suppression")]
    assert results[0].frame[QUASI].equals(results[1].frame[QUASI])
    losses = [f"{100 * each.loss[loss]:.0f}" for loss in ("occurrences", "pairs") for each in results]
    return f"| {delta} | {len(results[0].frame[QUASI].drop_duplicates())} | {' | '.join(losses)} |"


def main() -> None:
    by_kind = [cells for name in [*DATA_SETS][:3] for cells in named_by_kind(name)]
    write_section("loss/deletions.md", "equal", [OF_KINDS, "|---" * 7 + "|", *map(row, by_kind)])
    write_section("loss/deletions.md", "at", [AT_LOSS, "|---" * 6 + "|", *at_equal_loss(by_kind)])
    by_delta = [*map(classes, (0.1, 0.3, 0.4, 0.5, 0.6, 0.7))]
    write_section("loss/deletions.md", "classes", [OF_CLASSES, "|---" * 6 + "|", *by_delta])
    lost, named = zip(*map(lines, DATA_SETS), strict=True)
    write_section("loss/deletions.md", "named", [NAMED, "|---" * 5 + "|", *named])
    text = [
        f"Measured {date.today()} by `docs/scripts/deletions_table.py` on {machine()}; k = {K}, m = {M}.",
        "",
    ]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *lost]
    write_section("loss/deletions.md", "deletions", text)


if __name__ == "__main__":
    main()
