"""Match all persons to the rows of a release at once, beside one by one, and write tables/minimality.md.

The attacker knows some random items of every person in the table. One by one, he takes the likeliest of the
rows that match; at once, the one-to-one matching that is likeliest for all. A row of n labels shows s given
ones with the probability of one in all its sets of s labels. Ties are drawn.

Run from the root of the checkout: ``python docs/scripts/matching_table.py``. What stands around the figures
stays.
"""

import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import gammaln

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "groceries", "bms_webview1": "BMS-WebView-1"}
ROWS, K, KNOWN = 5000, 5, (2, 4)
ALGORITHMS: dict[str, Callable[[pd.DataFrame], pdanon.Anonymized] | None] = {
    "raw data": None,
    "pcta": partial(pdanon.pcta, k=K, m=2),
    "coat": partial(pdanon.coat, k=K, m=2),
    "refined": partial(pdanon.pcta, k=K, m=2, refine=True),
}
_NEVER = 1e6  # cost of a row that does not match
COLUMNS = "| data | release | items known | matching rows | one by one, % | at once, % |"


def candidates(known: list[list[int]], rows: list[list[int]], n_labels: int) -> csr_array:
    """Return the cost of each row that matches what is known of each person: a sparse matrix."""

    def matrix(lists: list[list[int]]) -> csr_array:
        offsets = np.cumsum([0, *map(len, lists)])
        codes = np.concatenate(lists).astype(np.int32)
        return csr_array((np.ones(len(codes), np.int32), codes, offsets), shape=(len(lists), n_labels))

    shared = (matrix(known) @ matrix(rows).T).tocoo()
    sizes, lengths = (np.array([*map(len, lists)]) for lists in (known, rows))
    match = shared.data == sizes[shared.row]
    person, row = shared.row[match], shared.col[match]
    n, s = lengths[row], sizes[person]
    cost = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)
    return csr_array((cost, (person, row)), shape=(len(known), len(rows)))


def named(
    rows: list[list[int]], known: list[list[int]], n_labels: int, rng: np.random.Generator
) -> list[float]:
    """Return the rows that match, and the shares of persons that are named one by one and at once."""
    costs = candidates(known, rows, n_labels)
    drawn = costs.data + 1e-6 * rng.random(costs.nnz)
    costs = csr_array((drawn, costs.indices, costs.indptr), shape=costs.shape)
    dense = np.full(costs.shape, _NEVER)
    dense[np.repeat(np.arange(len(rows)), np.diff(costs.indptr)), costs.indices] = costs.data
    alone, matched, own = dense.argmin(axis=1), linear_sum_assignment(dense)[1], np.arange(len(rows))
    return [costs.nnz / len(rows), 100 * np.mean(alone == own), 100 * np.mean(matched == own)]


def measured(name: str) -> list[str]:
    """Attack all releases of the first rows of a data set."""
    df = frame(name)[["items"]].dropna().head(ROWS).reset_index(drop=True)
    originals, lines = [[*row] for row in df["items"]], []
    for algorithm, function in ALGORITHMS.items():
        became = {item: item for row in originals for item in row}
        if function is not None:
            mapping = function(df).mapping
            became = dict(zip(mapping["item"], mapping["generalized"], strict=True))
        numbers = {label: number for number, label in enumerate(dict.fromkeys(became.values()))}
        rows = [sorted({numbers[became[item]] for item in row}) for row in originals]
        for most in KNOWN:
            rng = np.random.default_rng(0)
            some = [rng.permutation(row)[:most] for row in originals]
            known = [sorted({numbers[became[item]] for item in row}) for row in some]
            figures = named(rows, known, len(numbers), np.random.default_rng(0))
            cells = [DATA_SETS[name], algorithm, most, *(f"{each:.2f}" for each in figures)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    lines = [line for name in DATA_SETS for line in measured(name)]
    text = [f"Measured {date.today()} by `docs/scripts/matching_table.py` on {machine()}.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *lines]
    write_section("minimality.md", "matching", text)


if __name__ == "__main__":
    main()
