"""Measure what each guarantee leaves of rules, pairs and items: tables/guarantees.md.

Run from the root of the checkout: ``python docs/scripts/guarantees_table.py [NAME ...]``; names of data sets
measure these alone, and print. What stands around the figures stays.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from pdanon.evaluation.metrics.association_rules import frequent_itemsets  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

GROCERIES = DATA / "hierarchies" / "groceries_hierarchy.csv"
DATA_SETS: dict[str, tuple[str, object]] = {  # title, and a hierarchy or the fan-out of a balanced one
    "bms_webview1": ("BMS-WebView-1", 5),
    "bms_webview2": ("BMS-WebView-2", 5),
    "groceries": ("Groceries", GROCERIES),
    "uci_msweb_train": ("MSWeb", 5),
}
N_SENSITIVE, MOST = 20, 10  # sensitive items, of those that no more than one in so many rows hold
LEAST = 20  # rows that hold the items of a rule
K, STRONGEST, PAIRS, TABLES = 5, 100, 1_000, 3


@dataclass(frozen=True)
class Case:
    """A table, what is sensitive in it, and what an analyst asks of it."""

    df: pd.DataFrame
    tree: object

    @cached_property
    def supports(self) -> pd.Series:
        lines = self.df["items"].explode().value_counts().sort_index()
        return pd.Series(lines.to_numpy(), index=lines.index.tolist())

    @cached_property
    def sensitive(self) -> list:
        """Items at random, of those that are neither rare nor frequent."""
        able = self.supports[self.supports.between(LEAST, len(self.df) // MOST)].index.to_numpy()
        return np.random.default_rng(0).choice(able, N_SENSITIVE, replace=False).tolist()

    @cached_property
    def public(self) -> list:
        return [item for item in self.supports.index if item not in {*self.sensitive}]

    @cached_property
    def rules(self) -> pd.DataFrame:
        """All rules of one or two public items to a sensitive one that enough rows bear out."""
        found = []
        for secret in self.sensitive:
            rows = self.df[[secret in row for row in self.df["items"]]]
            known = frequent_itemsets(rows, min_support=LEAST / len(rows), max_size=2)["itemset"]
            found += [(list(each), secret) for each in known if not {*self.sensitive} & {*each}]
        return pd.DataFrame(found, columns=["known", "secret"])

    @cached_property
    def workload(self) -> pdanon.Workload:
        """What is counted: known items of each rule, the same with the secret, pairs, and single items."""
        both = [
            [*known, secret] for known, secret in zip(self.rules["known"], self.rules["secret"], strict=True)
        ]
        pairs = pdanon.Workload.itemsets(self.df, PAIRS, 2, random_state=0).queries["items"].tolist()
        singles = [[item] for item in self.supports.index]
        asked = [*self.rules["known"], *both, *(list(each) for each in pairs), *singles]
        return pdanon.Workload.from_frame(pd.DataFrame({"items": asked}))

    @cached_property
    def actual(self) -> np.ndarray:
        return self.workload.are(self.df, self.df).table["actual"].to_numpy(float)

    def counted(self, result: pdanon.Anonymized) -> np.ndarray:
        """What who has the release expects the counts to be."""
        if not isinstance(result.guarantee, pdanon.DisassociatedKm):
            return self.workload.are(self.df, result).table["estimate"].to_numpy()
        tables = pdanon.reconstruct(result, TABLES, random_state=0)
        return np.mean([self.workload.are(self.df, each).table["estimate"] for each in tables], axis=0)

    def by_themselves(self) -> np.ndarray:
        """The same by the supports of single items alone, as if no item had to do with any other."""
        share = self.supports / len(self.df)
        asked = self.workload.queries["items"]
        return np.array([len(self.df) * np.prod([share[item] for item in each]) for each in asked])

    def figures(self, counts: np.ndarray) -> list[str]:
        """One line of the table: what is left of the strongest rules, of pairs and of items."""
        ends = np.cumsum([len(self.rules), len(self.rules), PAIRS])
        known, both, pairs, singles = np.split(counts, ends)
        true_known, true_both, true_pairs, true_singles = np.split(self.actual, ends)
        true = true_both / true_known
        told = np.divide(both, known, out=np.zeros(len(known)), where=known > 0)
        best = strongest(true, true_both)
        kept = np.isin(best, strongest(told, both)) & (told[best] > 0)
        hidden = self.supports.index.isin(self.sensitive)
        off = np.abs(singles - true_singles) / true_singles
        return [
            f"{100 * kept.mean():.0f}",
            f"{100 * np.abs(told - true)[best].mean():.1f}",
            f"{100 * np.abs(told - true).mean():.1f}",
            f"{100 * (np.abs(pairs - true_pairs) / true_pairs).mean():.1f}",
            f"{100 * off[~hidden].mean():.1f}",
            f"{100 * off[hidden].mean():.1f}",
        ]


def strongest(confidences: np.ndarray, supports: np.ndarray) -> np.ndarray:
    return np.lexsort((-supports, -confidences))[:STRONGEST]


def of_nodes(case: Case) -> dict[str, object]:
    return {"k": K, "m": 2, "hierarchy": case.tree}


def of_rules(case: Case) -> pdanon.Anonymized:
    rules = pdanon.constraints.ps_rules(case.df, None, case.sensitive, 2)
    return pdanon.ps_rules(case.df, rules=rules, k=K, c=0.5)


Run = Callable[[Case], pdanon.Anonymized]
MEASURES = (
    *("strongest rules found, %", "their confidence off by, points", "that of all rules, points"),
    *("pairs, %", "public items, %", "sensitive items, %"),
)
COLUMNS = f"| guarantee | algorithm | {' | '.join(MEASURES)} |"
RELEASES: dict[tuple[str, str], Run] = {
    ("`KmAnonymity(k=5, m=2)`", "`anonymize`"): lambda case: pdanon.anonymize(
        case.df, pdanon.KmAnonymity(k=K, m=2)
    ),
    ("the same", "`apriori`"): lambda case: pdanon.apriori(case.df, **of_nodes(case)),
    ("`LmDiversity(l=2, m=2, k=5)`", "`apriori`"): lambda case: pdanon.apriori(
        case.df,
        guarantee=pdanon.LmDiversity(l=2, m=2, k=K, sensitive=case.sensitive),
        hierarchy=case.tree,
    ),
    ("`Coherence(h=0.5, k=5, p=2)`", "`coherence`"): lambda case: pdanon.coherence(
        case.df, h=0.5, k=K, p=2, private=case.sensitive
    ),
    ("`PublicK(k=5)`", "`suppress_to_k`"): lambda case: pdanon.suppress_to_k(
        case.df, k=K, public=case.public
    ),
    ("`TransactionalK(k=5)`", "`partition`"): lambda case: pdanon.partition(
        case.df, k=K, hierarchy=case.tree
    ),
    ("`DisassociatedKm(k=5, m=2)`", "`disassociate`"): lambda case: pdanon.disassociate(case.df, k=K, m=2),
    ("`PSRules(k=5, c=0.5)`", "`ps_rules`"): lambda case: of_rules(case),
    ("the same", "`refine`"): lambda case: pdanon.refine(case.df, of_rules(case)),
    ("`RhoUncertainty(rho=0.5)`", "`suppress_control`"): lambda case: pdanon.suppress_control(
        case.df, rho=0.5, sensitive=case.sensitive
    ),
    ("the same", "`td_control`"): lambda case: pdanon.td_control(
        case.df, rho=0.5, sensitive=case.sensitive, hierarchy=case.tree
    ),
    ("`RhoUncertainty(rho=0.5, m=2)`", "`suppress_control`"): lambda case: pdanon.suppress_control(
        case.df, rho=0.5, sensitive=case.sensitive, m=2
    ),
    ("`RhoUncertainty(rho=0.5, m=1)`", "`suppress_control`"): lambda case: pdanon.suppress_control(
        case.df, rho=0.5, sensitive=case.sensitive, m=1
    ),
    ("`SensitiveGroups(p=2)`", "`cahd`"): lambda case: pdanon.cahd(case.df, p=2, sensitive=case.sensitive),
    ("`SensitiveGroups(p=10)`", "`cahd`"): lambda case: pdanon.cahd(case.df, p=10, sensitive=case.sensitive),
    ("`SensitiveGroups(p=2, k=5, m=2)`", "`cahd`"): lambda case: pdanon.cahd(
        case.df, p=2, sensitive=case.sensitive, k=K, m=2
    ),
}


def lines(case: Case) -> Iterable[str]:
    yield COLUMNS
    yield "|---" * (COLUMNS.count("|") - 1) + "|"
    for (guarantee, algorithm), run in RELEASES.items():
        start = time.process_time()
        try:
            cells = case.figures(case.counted(run(case)))
        except pdanon.InfeasibleError:
            cells = ["no release", *[""] * (len(MEASURES) - 1)]
        line = f"| {guarantee} | {algorithm} | " + " | ".join(cells) + " |"
        print(line, f"{time.process_time() - start:.1f} s", flush=True)
        yield line
    yield "| no link between items | | " + " | ".join(case.figures(case.by_themselves())) + " |"


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    text = [f"Measured by `docs/scripts/guarantees_table.py` on {machine()}."]
    for name in names or DATA_SETS:
        title, tree = DATA_SETS[name]
        case = Case(frame(name), tree)
        print(title, len(case.rules), "rules", f"{time.process_time():.1f} s", flush=True)
        text += ["", f"### {title}", "", f"{len(case.rules):,} rules.", "", *lines(case)]
    if not names:
        write_section("guarantees.md", "guarantees", text)


if __name__ == "__main__":
    main(sys.argv[1:])
