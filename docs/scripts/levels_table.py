"""Measure on which levels of a hierarchy labels stay, and write tables/loss/levels.md.

Run from the root of the checkout: ``python docs/scripts/levels_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {  # the hierarchy, and its level of sections of codes, or of products
    "rt_diabetes130_patients_icd9": ("diabetes130_icd9", 2),
    "rt_informs2005": ("informs2005_icd9", 2),
    "groceries": ("groceries", 2),
}
COLUMNS = "| data | release | changed, % | deleted, % | in the section, % | in the chapter, % "
COLUMNS += "| meaning, % | singles, % | pairs, % |"


def releases(df: pd.DataFrame, tree: Path) -> dict[str, pdanon.Anonymized]:
    sets = df.txanon.anonymize(k=5, m=2, time_limit=600)
    chapters = pdanon.utility.by_level(tree, 1)
    within = df.txanon.coat(k=5, m=2, utility=chapters, max_suppressed=0.5)
    return {
        "sets": sets,
        "sets, near": df.txanon.refine(df.txanon.coat(k=5, m=2), hierarchy=tree),
        "sets in a chapter": df.txanon.refine(within),
        "sets in a chapter, near": df.txanon.refine(within, hierarchy=tree),
        "nodes": df.txanon.local_suppression(k=5, m=2, hierarchy=tree),
        "nodes, price 1.5": df.txanon.local_suppression(k=5, m=2, hierarchy=tree, deletion_price=1.5),
        "deletions": df.txanon.local_suppression(k=5, m=2),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    text = [f"Measured {date.today()} by `docs/scripts/levels_table.py` on {machine()}; k = 5, m = 2.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|"]
    for name, (tree, section) in DATA_SETS.items():
        df, path = frame(name)[["items"]].dropna(), DATA / "hierarchies" / f"{tree}_hierarchy.csv"
        for kind, result in releases(df, path).items():
            levels, loss = pdanon.metrics.meaning.levels(result, path), result.loss
            shares = [loss["occurrences"], loss["suppressed"], *levels["changed"][[section, 1]]]
            shares += [1 - levels["occurrences"].mean(), loss["singles"], loss["pairs"]]
            text.append(f"| {name} | {kind} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
    write_section("loss/levels.md", "levels", text)


if __name__ == "__main__":
    main()
