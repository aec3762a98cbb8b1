"""Measure the loss of rho-uncertainty and its lower bound, and write tables/papers/rho.md.

Run from the root of the checkout: ``python docs/scripts/rho_evaluation.py``. What stands around the figures
stays.
"""

import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from pdanon.algorithms.items.optimal import solve_program  # noqa: E402
from pdanon.algorithms.items.rho import Demand, RuleSearch, Suppression  # noqa: E402
from pdanon.guarantees.rho import find_inferences  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, csr, no_itemsets  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TREES = DATA / "hierarchies"
DATA_SETS = {
    "groceries": ("groceries", TREES / "groceries_hierarchy.csv"),
    "msweb": ("uci_msweb_train", 5),
    "diabetes": ("rt_diabetes130_patients_icd9", TREES / "diabetes130_icd9_hierarchy.csv"),
    "BMS-WebView-1": ("bms_webview1", 5),
    "BMS-WebView-2": ("bms_webview2", 5),
}
RHO = Fraction(1, 2)
SHARE = 20  # one item in so many is sensitive
SECONDS = 60  # for the optimum
MOST = 20_000  # rules that are added at a time
COLUMNS = (
    '| data | m | all sensitive, % | nothing comes back, % | `scope="sensitive"`, % '
    "| `suppress_control`, % | least possible, % | `td_control`, % | sensitive items left | s "
    "| s, `td_control` |"
)


class Greedy(Suppression):
    """Suppression from which nothing comes back."""

    def _take_back(self) -> np.ndarray:
        return np.zeros_like(self.kept)


class Optimum:
    """The least loss of suppression: items that meet all rules that were found to be broken so far."""

    def __init__(self, itemsets: Itemsets, sensitive: np.ndarray, m: int | None) -> None:
        self.rows = SupportIndex.of(itemsets).distinct()
        every = np.ones_like(sensitive)
        self.demand = Demand(sensitive, RHO, m, itemsets.n_present, every)
        self.rules = no_itemsets()

    def bound(self) -> tuple[int, bool]:
        """A loss that no choice is below, and whether a choice has it."""
        end, bound, kept = time.monotonic() + SECONDS, 0, self.demand.may_go.copy()
        while (seconds := end - time.monotonic()) > 0:
            rules = self.broken(kept)
            if not len(rules):
                return bound, True
            self.rules = concatenate(
                [self.rules, rules.take(np.arange(0, len(rules), 1 + len(rules) // MOST))]
            )
            sums = csr(self.rules.codes, self.rules.offsets, len(kept))
            gone, least, solved = solve_program(self.rows.singles, sums, 1, np.inf, seconds)
            bound = max(bound, least)
            if gone is None or not solved:
                break
            kept = ~gone
        return bound, False

    def broken(self, kept: np.ndarray) -> ItemsetTable:
        """Rules that are too sure, of the least number of known items that has some."""
        rows, m = self.rows.relabel(np.where(kept, np.arange(len(kept)), -1)), self.demand.m
        search = RuleSearch.of(rows, self.demand)
        for size in range(min(search.longest, 3 if m is None else m + 1)):
            rules = search.breached(size)
            if len(rules):
                return rules
        if m is not None or search.longest <= 3:
            return no_itemsets()
        found, _ = find_inferences(rows, self.demand.hidden, RHO, self.demand.n_present)
        return found.rules()


def line(title: str, df: pd.DataFrame, hierarchy: object, m: int | None) -> str:
    itemsets = Itemsets.from_series(df["items"])
    rng = np.random.default_rng(0)
    drawn = rng.choice(itemsets.n_items, itemsets.n_items // SHARE, replace=False)
    sensitive = np.isin(np.arange(itemsets.n_items), drawn)
    items = itemsets.vocabulary.take(drawn).to_pylist()
    asked = {"rho": float(RHO), "sensitive": items, "m": m}
    losses, left, seconds = [], [], []
    for name, more in (
        ("suppress_control", {"scope": "sensitive"}),
        ("suppress_control", {}),
        ("td_control", {"hierarchy": hierarchy}),
    ):
        began = time.process_time()
        result = getattr(df.txanon, name)("items", **asked, **more)
        seconds.append(time.process_time() - began)
        losses.append(float(result.loss["NCP"]))
        mapping = result.mapping
        left.append(int(mapping["generalized"][mapping["item"].isin(items)].notna().sum()))
        assert result.guarantee.m == m
    supports = SupportIndex.of(itemsets).singles
    optimum = Optimum(itemsets, sensitive, m)
    greedy = Greedy(optimum.rows, optimum.demand, supports).loss / supports.sum()
    bound, is_least = optimum.bound()
    least = 100 * bound / supports.sum()
    cells = [title, "any" if m is None else m, f"{100 * supports[sensitive].sum() / supports.sum():.3f}"]
    cells += [f"{100 * loss:.3f}" for loss in (greedy, *losses[:2])]
    cells += [f"{least:.3f}" if is_least else f"at least {least:.3f}", f"{100 * losses[2]:.3f}"]
    cells += [f"{left[0]}, {left[1]}, {left[2]} of {len(items)}", f"{seconds[1]:.1f}", f"{seconds[2]:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    table = [COLUMNS, "|---" * 11 + "|"]
    for title, (name, hierarchy) in DATA_SETS.items():
        df = frame(name)[["items"]] if "items" in frame(name) else lists_of(frame(name))
        for m in (1, 2, None):
            table.append(line(title, df, hierarchy, m))
            print(table[-1], flush=True)
    text = [f"Measured by `docs/scripts/rho_evaluation.py` on {machine()}.", "", *table]
    write_section("papers/rho.md", "rho", text)


def lists_of(df: pd.DataFrame) -> pd.DataFrame:
    """The list column alone, called items."""
    return df[[df.columns[-1]]].set_axis(["items"], axis=1)


if __name__ == "__main__":
    main()
