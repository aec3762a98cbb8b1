"""Partition and Clump: time, how it grows with the rows, and first calls."""

from collections.abc import Callable, Iterator

import pandas as pd
import pdanon.datasets

import pdanon
from tests.benchmarks.measure import Figure, first_calls, frame, itemsets, matrix, ratio, seconds

FIRST_CALLS = {
    "partition(k=5)": "df.txanon.partition(k=5, hierarchy=5)",
    "then clump(k=5)": "df.txanon.clump(k=5, hierarchy=5)",
}


def figures() -> Iterator[Figure]:
    baskets = frame("bms_webview2")
    ways: dict[str, tuple[Callable[[pd.DataFrame], object], float]] = {
        "partition(k=5)": (lambda df: pdanon.partition(df, k=5, hierarchy=10), 5),
        "clump(k=5)": (lambda df: pdanon.clump(df, k=5, hierarchy=10), 20),
    }
    for name, (run, bar) in ways.items():
        run(baskets.head(2000))
        taken = seconds(lambda run=run: run(baskets))
        work = f"{name}, fan-out 10, BMS-WebView-2"
        yield Figure(work, "", None, f"{taken:.2f} s", f"< {bar} s", taken < bar)
        yield growth(f"{name}, made-up baskets", run)
    x = matrix(itemsets("bms_webview2"))
    yield ratio(
        "clump(k=5), fan-out 10, BMS-WebView-2",
        "X.T @ X",
        lambda: pdanon.clump(baskets, k=5, hierarchy=10),
        lambda: x.T @ x,
        9.5,  # half of the time of 2026-11-22
    )
    yield from first_calls(FIRST_CALLS)


def growth(work: str, run: Callable[[pd.DataFrame], object]) -> Figure:
    """Time, the best of three, for once, twice and four times as many rows of one kind."""
    most = pdanon.datasets.make_baskets(200_000, 2000, random_state=0)
    times = []
    for rows in (50_000, 100_000, 200_000):
        some = most.head(rows)
        times.append(min(seconds(lambda some=some: run(some)) for _ in range(3)))
    text = ", ".join(f"{taken:.2f} s" for taken in times)
    work = f"{work}, 50,000, 100,000 and 200,000 rows"
    return Figure(work, "", None, text, "< 6x", times[-1] < 6 * times[0])
