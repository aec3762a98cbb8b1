"""CAHD and disassociation, whole calls: which item is whose is hidden, and not what the items are."""

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

import pdanon
from tests.benchmarks.measure import Figure, frame, itemsets, matrix, seconds

# Seconds of `cahd` and of `disassociate`.
BARS = {
    "bms_webview1": ("BMS-WebView-1", 1.0, 0.5),
    "bms_webview2": ("BMS-WebView-2", 2.0, 0.5),
    "fimi_retail": ("retail", 1.5, 1.4),
}
P, SENSITIVE = 10, 10


def figures() -> Iterator[Figure]:
    for file, (name, *bars) in BARS.items():
        baskets, rows = frame(file), matrix(itemsets(file))
        reference = statistics.median(seconds(lambda rows=rows: rows.T @ rows) for _ in range(7))
        hidden = sensitive(baskets)
        calls: dict[str, Callable[[], object]] = {
            f"cahd(p={P}), {SENSITIVE} sensitive items, {name}": lambda df=baskets, items=hidden: pdanon.cahd(
                df, p=P, sensitive=items
            ),
            f"disassociate(k=5, m=2), with Refine, {name}": lambda df=baskets: pdanon.disassociate(
                df, k=5, m=2
            ),
        }
        for (work, call), bar in zip(calls.items(), bars, strict=True):
            call()
            taken = statistics.median(seconds(call) for _ in range(3))
            text = f"{taken:.2f} s, {taken / reference:.0f}x"
            yield Figure(work, "X.T @ X", reference, text, f"< {bar:g} s", taken < bar)


def sensitive(baskets: pd.DataFrame) -> list[object]:
    """Items that can be hidden, at random, always the same ones."""
    supports = baskets["items"].itemset.supports()
    able = supports.index[supports * P <= len(baskets)]
    chosen: list[object] = np.random.default_rng(0).choice(able, SENSITIVE, replace=False).tolist()
    return chosen
