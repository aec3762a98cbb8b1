"""Compare errors of counts with a task, the most frequent items and pairs, and write tables/loss/answers.md.

Run from the root of the checkout: ``python docs/scripts/answers_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from collections.abc import Iterator
from datetime import date
from itertools import combinations
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pdanon.algorithms.preparation import remaining_of  # noqa: E402
from pdanon.errors import InfeasibleError, ReleaseWarning  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from pdanon.itemsets.support import SupportIndex  # noqa: E402
from pdanon.recoding.loss import item_counts, pair_counts  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = (
    *("rt_synthea1k_conditions_snomed", "groceries", "rt_informs2005", "rt_diabetes130_patients_icd9"),
    *("uci_msweb_train", "bms_webview2"),
)
ROWS, MOST, PAIRED = 6000, 50, 60  # rows of a data set; items and pairs of the task; items that are paired
CALLS = [
    *(("pcta", k, 2, {}) for k in (5, 20)),
    *(("coat", k, 2, {}) for k in (5, 20, 100)),
    *(("coat", k, 2, {"refine": True}) for k in (5, 11, 50)),
    *(("coat", k, 1, {}) for k in (5, 20, 100)),
    ("coat", 5, 3, {}),
    *(("local_suppression", k, 2, {}) for k in (5, 50)),
]


def top(counts: np.ndarray) -> set[int]:
    """Return the positions of the largest counts."""
    return set(np.argsort(-counts, kind="stable")[:MOST].tolist())


def measured() -> Iterator[tuple[list[str], float, float, float, float, bool]]:
    """Yield the releases: their names, errors, the shares found of items and of pairs, and the verdict."""
    for name in DATA_SETS:
        df = frame(name)[["items"]].head(ROWS).reset_index(drop=True)
        items = Itemsets.from_series(df["items"])
        frequent = np.argsort(-SupportIndex.of(items).singles, kind="stable")[:PAIRED]
        pairs = np.sort(np.array([*combinations(frequent, 2)], np.int32), axis=1)
        for algorithm, k, m, options in CALLS:
            try:
                result = getattr(df.txanon, algorithm)(k=k, m=m, **options)
            except InfeasibleError:
                continue
            remaining = remaining_of(result, "items", items, np.ones(len(items.codes), np.bool_))
            counts = item_counts(remaining), pair_counts(remaining, pairs)
            found = [len(top(actual) & top(estimate)) / MOST for actual, estimate in counts]
            label = f"{algorithm}{', refined' if options else ''}"
            errors = result.loss["singles"], result.loss["pairs"]
            yield [name, label, str(k), str(m)], *errors, *found, bool(result.do_not_publish)


def main() -> None:
    warnings.simplefilter("ignore", ReleaseWarning)
    rows = [*measured()]
    fails = [max(row[3:5]) < 0.5 for row in rows]
    said = [row[5] for row in rows]
    both = sum(map(min, fails, said))
    text = [
        f"Measured {date.today()} by `docs/scripts/answers_table.py` on {machine()}.",
        "",
        f"Of {len(rows)} releases, {sum(fails)} find less than half of the items and of the pairs. "
        f"`do_not_publish` names {both} of them, and {sum(said) - both} others.",
        "",
        "| data | algorithm | k | m | singles, % | pairs, % "
        "| items found, % | pairs found, % | do not publish |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for names, *figures, verdict in rows:
        cells = [*names, *(f"{100 * figure:.0f}" for figure in figures), "yes" if verdict else ""]
        text.append(f"| {' | '.join(cells)} |")
    write_section("loss/answers.md", "answers", text)


if __name__ == "__main__":
    main()
