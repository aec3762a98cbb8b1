"""Compare the attacks of pdanon with those of Anonymeter, on sets and the same tables with a column per item.

Anonymeter knows which items a person lacks. So a row here has an item for each column: with it, or without.
Run from the root of the checkout with anonymeter 1.1, which needs a Python below 3.12 and an environment of
its own: ``python docs/scripts/anonymeter_table.py``. It writes a section of tables/assess.md.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402

N_COLUMNS, N_ROWS, N_ATTACKS, NEAREST = 30, 120, 80, 10
LINES = ["singling out, 2 labels", "linkability", "inference"]
HEADER = "| table | release | attack | risk | interval | Anonymeter | interval |"


def generated(seed: int) -> pd.DataFrame:
    """Return columns of 0 and 1, each the sign of one of three hidden numbers with noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(2 * N_ROWS, 3))[:, np.arange(N_COLUMNS) % 3]
    values = hidden + rng.normal(size=hidden.shape) > 3 * np.linspace(0, 1, N_COLUMNS)
    return pd.DataFrame(values.astype(int), columns=[f"c{i}" for i in range(N_COLUMNS)])


def baskets() -> pd.DataFrame:
    """Return the most frequent items of some rows of groceries, as columns of 0 and 1."""
    from tests.benchmarks.measure import frame

    rows = frame("groceries")["items"].sample(2 * N_ROWS, random_state=1)
    top = rows.explode().value_counts().index[:N_COLUMNS]
    return pd.DataFrame({f"c{i}": [int(item in {*row}) for row in rows] for i, item in enumerate(top)})


def releases(original: pd.DataFrame, seed: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the original itself, one with half of the rows shuffled by column, and one with all."""
    rng = np.random.default_rng(seed)
    shuffled = pd.DataFrame({name: rng.permutation(column) for name, column in original.items()})
    yield "copy", original
    yield "half shuffled", pd.concat([original[: N_ROWS // 2], shuffled[N_ROWS // 2 :]])
    yield "shuffled", shuffled


def as_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row of texts such as ``c0=1`` for each row."""
    rows = [[f"{name}={value}" for name, value in row.items()] for row in table.to_dict("records")]
    return pd.DataFrame({"items": pdanon.as_itemsets(rows).set_axis(table.index)})


def by_pdanon(*tables: pd.DataFrame, secret: str = "c0") -> pd.DataFrame:
    """Return risk and interval by attack, given original, release and control."""
    given: dict[str, Any] = {"n_attacks": N_ATTACKS, "random_state": 0}
    attacks = pdanon.assess(*map(as_sets, tables), attacks=["singling out", "linkability"], **given)
    # The secret is not known by its absence.
    sets = (
        as_sets(each).assign(items=lambda df: df["items"].itemset.suppress([f"{secret}=0"]))
        for each in tables
    )
    inferred = pdanon.assess(*sets, f"{secret}=1", attacks=["inference"], m=N_COLUMNS, **given)
    found = pd.concat([attacks, inferred]).set_index("attack")
    return found.loc[LINES, ["risk", "low", "high"]]


def by_anonymeter(*tables: pd.DataFrame, secret: str = "c0") -> pd.DataFrame:
    """Return risk and interval by attack of Anonymeter, given original, release and control."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    names = [*tables[0].columns]
    ori, syn, control = (each.reset_index(drop=True).astype(str) for each in tables)
    given: dict[str, Any] = {"ori": ori, "syn": syn, "control": control, "n_attacks": N_ATTACKS}
    halves = names[::2], names[1::2]
    known = [name for name in names if name != secret]
    found = [
        SinglingOutEvaluator(**given, n_cols=2).evaluate(),
        LinkabilityEvaluator(**given, aux_cols=halves, n_neighbors=NEAREST).evaluate(n_jobs=1),
        InferenceEvaluator(**given, aux_cols=known, secret=secret, regression=False).evaluate(n_jobs=1),
    ]
    risks = [each.risk() for each in found]
    return pd.DataFrame(
        [(each.value, *each.ci) for each in risks], index=LINES, columns=["risk", "low", "high"]
    )


def compare(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return both risks by attack, and whether each lies in the interval of the other, cut at 0 and 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = by_pdanon(*tables), by_anonymeter(*tables)
    cut = ours.clip(0, 1)
    agree = (cut["low"] <= theirs["risk"]) & (theirs["risk"] <= cut["high"])
    agree &= (theirs["low"] <= cut["risk"]) & (cut["risk"] <= theirs["high"])
    return ours.join(theirs, rsuffix="_anonymeter").assign(agree=agree)


def all_tables(*seeds: int) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name of a table, that of a release, and the comparison."""
    for seed in seeds:
        whole = generated(seed) if seed else baskets()
        original, control = whole[:N_ROWS], whole[N_ROWS:]
        name = f"generated, seed {seed}" if seed else "groceries"
        for release, table in releases(original, seed):
            yield name, release, compare(original, table, control)


if __name__ == "__main__":
    from tests.benchmarks.pages import write_section

    lines = [HEADER, "|---" * 7 + "|"]
    for name, release, found in all_tables(0, 1, 2, 3):
        for attack, risk, low, high, other, least, most, agree in found.itertuples():
            numbers = f"{risk:.2f} | {low:.2f} to {high:.2f} | {other:.2f} | {least:.2f} to {most:.2f}"
            lines.append(f"| {name} | {release} | {attack} | {numbers} |")
            print(lines[-1], "" if agree else "differs", flush=True)
    write_section("assess.md", "anonymeter", lines)
