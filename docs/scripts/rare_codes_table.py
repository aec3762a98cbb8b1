"""Measure what readers see of rare codes, and write tables/loss/rare_codes.md.

Run from the root of the checkout: ``python docs/scripts/rare_codes_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from datetime import date
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

NAME, TREE, K = "rt_diabetes130_patients_icd9", "diabetes130_icd9", 5
COLUMNS = (
    "| release | guarantee | as code, % | as category, % | as section, % | as chapter, % | as nothing, % "
)
COLUMNS += "| patients of a chapter, error, % | pairs below k, % of the patients |"


def main() -> None:
    warnings.simplefilter("ignore")
    df, path = frame(NAME)[["items"]].dropna(), DATA / "hierarchies" / f"{TREE}_hierarchy.csv"
    above = paths_above(path)
    text = [f"Measured {date.today()} by `docs/scripts/rare_codes_table.py` on {machine()}; k = {K}.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|"]
    for m in (1, 2):
        releases = {
            '"Other"': name_other(df, m),
            "deletions": df.txanon.local_suppression(k=K, m=m).frame,
            "nodes": df.txanon.local_suppression(k=K, m=m, hierarchy=path).frame,
        }
        for kind, released in releases.items():
            risk = released.txanon.risk(k=K, m=2)
            below = risk.loc[risk["items"].isna() & (risk["known"] == 2), "below_k"].item()
            shares = [*seen(df, released, above), chapter_error(df, released, above), below]
            text.append(f"| {kind} | m = {m} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |")
    write_section("loss/rare_codes.md", "rare_codes", text)


def paths_above(path: Path) -> dict[str, list[str]]:
    """Return the labels of each node up to its chapter, from itself on."""
    tree, above = pdanon.Hierarchy.of(path), dict[str, list[str]]()
    for node in range(1, tree.n_nodes):  # parents come first; the root is 0
        above[tree.labels[node]] = [tree.labels[node], *above.get(tree.labels[tree.parent[node]], [])]
    return above


def name_other(df: pd.DataFrame, m: int) -> pd.DataFrame:
    """Name the fewest codes, the rarest first, "Other", so that the guarantee holds."""
    counts = df["items"].explode().value_counts().sort_values(kind="stable")
    low, high = -1, len(counts)
    while high - low > 1:
        middle = (low + high) // 2
        released = rename(df, {*counts.index[:middle]})
        low, high = (low, middle) if released.txanon.audit(k=K, m=m).holds else (middle, high)
    return rename(df, {*counts.index[:high]})


def rename(df: pd.DataFrame, rare: set[str]) -> pd.DataFrame:
    rows = [[*dict.fromkeys("Other" if code in rare else code for code in row)] for row in df["items"]]
    return pd.DataFrame({"items": pd.Series(rows, index=df.index)})


def seen(df: pd.DataFrame, released: pd.DataFrame, above: dict[str, list[str]]) -> list[float]:
    """Return the shares of codes that are seen as code, category, section, chapter, nothing."""
    counts = dict.fromkeys(("code", "category", "section", "chapter", "nothing"), 0)
    for row, labels in zip(df["items"], map(set, released["items"]), strict=True):
        for code in row:
            place = next((place for place, node in enumerate(above[code]) if node in labels), None)
            counts[kind_of(place, len(above[code]))] += 1
    return [count / sum(counts.values()) for count in counts.values()]


def kind_of(place: int | None, length: int) -> str:
    """Return what a node is, from its place on the path from a code to its chapter."""
    if place is None:
        return "nothing"
    return "code" if place == 0 else ["chapter", "section", "category"][length - 1 - place]


def chapter_error(df: pd.DataFrame, released: pd.DataFrame, above: dict[str, list[str]]) -> float:
    """Return the mean error of the number of patients with a diagnosis of a chapter."""
    before, after = (count_chapters(each["items"], above) for each in (df, released))
    return float(((after.reindex(before.index).fillna(0) - before).abs() / before).mean())


def count_chapters(rows: pd.Series, above: dict[str, list[str]]) -> pd.Series:
    labels = rows.explode().dropna()
    chapters = labels.map(lambda label: above[label][-1] if label in above else None).dropna()
    return chapters.groupby([chapters.index, chapters]).first().groupby(level=1).size()


if __name__ == "__main__":
    main()
