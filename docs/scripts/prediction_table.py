"""Predict an item of a row by association rules, and write the table of tables/loss/prediction.md.

Run from the root of the checkout: ``python docs/scripts/prediction_table.py``. Rules are mined in one half of
the rows, raw or released, and used on the other half, which is raw. The text around the figures stays.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pdanon.metrics import patterns  # noqa: E402

import pdanon  # noqa: E402
from pdanon import Anonymized  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "Groceries", "bms_webview1": "BMS-WebView-1"}
RELEASES: dict[str, Callable[[pd.DataFrame, int], Anonymized]] = {
    "pcta": lambda df, k: pdanon.pcta(df, k=k, m=2),
    "pcta, refined": lambda df, k: pdanon.pcta(df, k=k, m=2, refine=True),
    "apriori": lambda df, k: pdanon.apriori(df, k=k, m=2, hierarchy=5),
}
BASELINE = "most frequent item"
SPLITS = 3
THRESHOLDS = {"min_support": 0.002, "min_confidence": 0.01, "max_size": 4}
COMPARED = {"min_support": 0.002, "min_confidence": 0.3}


def without_one(df: pd.DataFrame, rng: np.random.Generator) -> tuple[list[list[object]], list[object]]:
    """Return the rows with two items or more without a random one, and these items."""
    known, hidden = [], []
    for row in df["items"]:
        if len(row) > 1:
            place = rng.integers(len(row))
            hidden.append(row[place])
            known.append([*row[:place], *row[place + 1 :]])
    return known, hidden


class Classifier:
    """The rules of a table with a single label as consequent, by the chance of each of its items."""

    def __init__(self, rows: pd.DataFrame, members: dict[str, list[object]], *, use_rules: bool) -> None:
        self.labels = {label: number for number, label in enumerate(members)}
        self.members = [*members.values()]
        self.label_of = {item: self.labels[label] for label, items in members.items() for item in items}
        found = patterns.rules(rows, "items", **THRESHOLDS)
        found = found[(found["consequent"].map(len) == 1) & use_rules]
        self.n_rules = len(found)
        labels = [self.labels[str(consequent[0])] for consequent in found["consequent"]]
        antecedents = [[self.labels[str(label)] for label in each] for each in found["antecedent"]]
        supports = rows["items"].itemset.supports()
        for label in supports.index:  # rules without an antecedent
            labels.append(self.labels[str(label)])
            antecedents.append([])
        confidences = np.append(found["confidence"], supports / len(rows))
        chances = confidences / [len(self.members[label]) for label in labels]
        self.rules = [(antecedents[i], labels[i]) for i in np.argsort(-chances, kind="stable")]

    def chances(self, known: list[list[object]], hidden: list[object]) -> float:
        """Return the mean chance to guess the hidden item, by the first rule that applies to each row."""
        pairs = [
            (row, self.label_of[item])
            for row, items in enumerate(known)
            for item in items
            if item in self.label_of
        ]
        places = np.array(sorted(set(pairs)))
        shape = len(known), len(self.labels)
        rows = csr_array((np.ones(len(places), np.int32), (places[:, 0], places[:, 1])), shape=shape)
        columns = [column.indices for column in (rows.tocsc()[:, [i]] for i in range(shape[1]))]
        chance, is_open = np.zeros(len(known)), np.ones(len(known), np.bool_)
        for antecedent, label in self.rules:
            holding = np.flatnonzero(is_open) if not antecedent else columns[antecedent[0]]
            for other in antecedent[1:]:
                holding = np.intersect1d(holding, columns[other], assume_unique=True)
            for row in holding[is_open[holding]]:
                left = [item for item in self.members[label] if item not in known[row]]
                if left:
                    is_open[row], chance[row] = False, (hidden[row] in left) / len(left)
        return float(chance.mean())


def meaning(result: Anonymized | None, rows: pd.DataFrame) -> dict[str, list[object]]:
    """Return the items behind each label."""
    if result is None:
        return {str(item): [item] for item in rows["items"].itemset.items}
    published = result.mapping.dropna(subset="generalized")
    return {str(label): [*items] for label, items in published.groupby("generalized")["item"]}


def figures(df: pd.DataFrame, name: str, k: int | None, split: int) -> dict[str, float]:
    order = np.random.default_rng(split).permutation(len(df))
    train, test = (df.iloc[np.sort(part)].reset_index(drop=True) for part in np.array_split(order, 2))
    result = None if k is None else RELEASES[name](train, k)
    released = train if result is None else result.frame
    classifier = Classifier(released, meaning(result, train), use_rules=name != BASELINE)
    accuracy = classifier.chances(*without_one(test, np.random.default_rng(split)))
    errors = patterns.rule_errors(train, train if result is None else result, **COMPARED)
    shares = {"kept": errors.kept / len(errors.original), "lost": errors.lost / len(errors.original)}
    return {"rules": classifier.n_rules, **shares, "false": errors.false, "accuracy": accuracy}


def lines() -> Iterator[str]:
    warnings.simplefilter("ignore")
    yield "| data | k | release | rules used | kept, % | lost, % | false | accuracy, % |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for file, title in DATA_SETS.items():
        df = frame(file)
        for k, name in [(None, BASELINE), (None, "raw"), *((k, name) for k in (5, 25) for name in RELEASES)]:
            found = pd.DataFrame([figures(df, name, k, split) for split in range(SPLITS)]).mean()
            cells = [title, k or "", name if k is None else f"`{name}`", f"{found['rules']:,.0f}"]
            errors = [f"{100 * found['kept']:.1f}", f"{100 * found['lost']:.1f}", f"{found['false']:.0f}"]
            cells += [*([""] * 3 if k is None else errors), f"{100 * found['accuracy']:.1f}"]
            made = "| " + " | ".join(map(str, cells)) + " |"
            print(made, flush=True)
            yield made


if __name__ == "__main__":
    measured = f"Measured {date.today()} by `docs/scripts/prediction_table.py` on {machine()}."
    write_section("loss/prediction.md", "prediction", [measured, "", *lines()])
