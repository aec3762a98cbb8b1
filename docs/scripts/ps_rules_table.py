"""Measure `ps_rules` with and without its own order of steps: tables/papers/ps_rules.md.

Run from the root of the checkout: ``python docs/scripts/ps_rules_table.py``. What stands around the figures
stays.
"""

import os
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import pdanon
from pdanon.algorithms.items import ps_rules
from pdanon.algorithms.items.ps_rules import Bisection
from pdanon.algorithms.states.rules import ItemSet

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
DATA_SETS = {"BMS-WebView-1": "bms_webview1", "BMS-WebView-2": "bms_webview2"}
COLUMNS = ("rules", "way", "UL", "NCP, %", "labels", "largest set", "seconds")


class DepthFirst(Bisection):
    """Parts a set and all that comes of it before the next, as a recursion does."""

    _numbers = count()

    def _loss(self, one: ItemSet) -> tuple[int, int]:
        return -next(self._numbers), one.label


class OnlyInTwo(Bisection):
    """Takes no single item out where a set cannot be parted in two."""

    def _take_out_items(self, whole: ItemSet) -> tuple[ItemSet, ...]:
        return ()


class AsPublished(DepthFirst, OnlyInTwo):
    """Both."""


WAYS: dict[str, tuple[type[Bisection], dict[str, Any]]] = {
    "tree": (Bisection, {}),
    "tree, depth first": (DepthFirst, {}),
    "tree, only in two": (OnlyInTwo, {}),
    "tree, both": (AsPublished, {}),
    "sample of 50 %": (Bisection, {"how": "sample", "sample": 0.5, "random_state": 0}),
    "sample of 10 %": (Bisection, {"how": "sample", "sample": 0.1, "random_state": 0}),
}


def rules_of(frame: pd.DataFrame, items: list[Any]) -> Iterator[tuple[str, float, Any]]:
    """What the rules are called, c, and the rules: all of two sizes, and some that are listed."""
    rng = np.random.default_rng(0)
    sensitive = rng.choice(items, 20, replace=False).tolist()
    for m in (2, 3):
        yield f"m={m}", 0.5, pdanon.constraints.ps_rules(frame, None, sensitive, m)
    public = sorted({*items}.difference(sensitive))
    inferred = rng.choice(sensitive, 1000).tolist()
    known = [rng.choice(public, rng.integers(1, 4), replace=False).tolist() for _ in inferred]
    yield "listed", 0.1, [(some, [item]) for some, item in zip(known, inferred, strict=True)]


def line(names: list[str], result: pdanon.Anonymized, seconds: float) -> str:
    sizes = result.mapping.groupby("generalized").size()
    figures = [
        f"{result.loss['UL']:.2f}",
        f"{100 * result.loss['NCP']:.2f}",
        str(len(sizes)),
        str(sizes.max()),
    ]
    return f"| {' | '.join([*names, *figures, f'{seconds:.2f}'])} |"


def main() -> None:
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    text = [f"Measured by `docs/scripts/ps_rules_table.py` on {machine()}.", ""]
    for title, name in DATA_SETS.items():
        frame = pdanon.read_parquet(DATA / f"{name}.parquet")
        items = sorted(frame["items"].itemset.items)
        text += [f"### {title}: 20 of {len(items):,} items are sensitive", ""]
        text += [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        for called, c, rules in rules_of(frame, items):
            for way, (kind, asked) in WAYS.items():
                start = time.process_time()
                with mock.patch.object(ps_rules, "Bisection", kind):
                    result = frame.txanon.ps_rules(rules=rules, k=5, c=c, suppress=True, **asked)
                text.append(line([called, way], result, time.process_time() - start))
                print(title, text[-1], flush=True)
            if called != "listed":
                start = time.process_time()
                result = frame.txanon.pcta(k=5, m=int(called[2:]))
                text.append(line([called, "pcta"], result, time.process_time() - start))
                print(title, text[-1], flush=True)
        text.append("")
    write_section("papers/ps_rules.md", "ps_rules", text)


if __name__ == "__main__":
    main()
