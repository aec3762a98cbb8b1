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

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {  # the hierarchy, and its level of sections of codes, or of products
    "rt_diabetes130_patients_icd9": ("diabetes130_icd9", 2),
    "rt_informs2005": ("informs2005_icd9", 2),
    "groceries": ("groceries", 2),
}
COLUMNS = "| data | release | changed, % | deleted, % | in the section, % | in the chapter, % "
COLUMNS += "| singles, % | pairs, % |"


def main() -> None:
    warnings.simplefilter("ignore")
    text = [f"Measured {date.today()} by `docs/scripts/levels_table.py` on {machine()}; k = 5, m = 2.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|"]
    for name, (tree, section) in DATA_SETS.items():
        df, path = frame(name)[["items"]].dropna(), DATA / "hierarchies" / f"{tree}_hierarchy.csv"
        releases = {
            "sets": df.txanon.anonymize(k=5, m=2),
            "deletions": df.txanon.local_suppression(k=5, m=2),
            "nodes": df.txanon.local_suppression(k=5, m=2, hierarchy=path),
        }
        for kind, result in releases.items():
            levels, loss = pdanon.metrics.meaning.levels(result, path), result.loss
            shares = [loss["occurrences"], loss["suppressed"], *levels["changed"][[section, 1]]]
            shares += [loss["singles"], loss["pairs"]]
            text.append(f"| {name} | {kind} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
    write_section("loss/levels.md", "levels", text)


if __name__ == "__main__":
    main()
