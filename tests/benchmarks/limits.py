"""Tables that are hard on memory and time: many items, one row of all, hundreds of items a customer."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pdanon.itemsets import as_itemsets
from tests.benchmarks.measure import PEAK, Figure, fresh_process


def many_items(n_items: int = 100_000, rows: int = 100_000, mean: int = 10) -> pd.DataFrame:
    """Short rows; each item occurs, and the number of rows that hold it falls as 1 / rank."""
    draw = np.random.default_rng(0)
    lengths = 1 + draw.poisson(mean - 1, rows)
    shares = 1 / np.arange(1, n_items + 1)
    drawn = draw.choice(n_items, lengths.sum() - n_items, p=shares / shares.sum())
    items = draw.permutation(np.concatenate((np.arange(n_items), drawn)))
    return pd.DataFrame({"items": as_itemsets(np.split(items, np.cumsum(lengths)[:-1]))})


def customers(rows: int = 4339, n_items: int = 3877, mean: int = 62) -> pd.DataFrame:
    """Rows of 62 items on average, half of them of fewer than 35, and some of a thousand."""
    draw = np.random.default_rng(0)
    lengths = draw.lognormal(np.log(35), 1.07, rows)
    lengths = np.clip(lengths * mean / lengths.mean(), 1, n_items // 2).astype(int)
    shares = np.arange(1, n_items + 1) ** -0.8
    return pd.DataFrame(
        {
            "items": as_itemsets(
                [draw.choice(n_items, each, replace=False, p=shares / shares.sum()) for each in lengths]
            )
        }
    )


def one_row(n_items: int = 30_000, rows: int = 1000) -> pd.DataFrame:
    """A row of all items beside short ones."""
    draw = np.random.default_rng(0)
    short = [np.unique(draw.integers(0, n_items, draw.integers(1, 9))) for _ in range(rows)]
    return pd.DataFrame({"items": as_itemsets([np.arange(n_items), *short])})


def figures() -> Iterator[Figure]:
    for name in ("pcta", "coat", "upcta"):
        yield wide(f"{name}(k=5, m=2)", f"pdanon.{name}(frame, k=5, m=2)")
        taken, peak = measured("one_row()", f"pdanon.{name}(frame, k=3, m=2)")
        text, met = f"{taken:.1f} s, {peak:.2f} GiB", taken < 5 and peak < 1
        yield Figure(f"{name}(k=3, m=2), a row of 30,000 items", "", None, text, "< 5 s, < 1 GiB", met)
    yield wide("apriori(k=5, m=2)", "pdanon.apriori(frame, k=5, m=2, hierarchy=5)")
    yield wide("audit KmAnonymity(5, 2)", "pdanon.KmAnonymity(5, 2).audit(frame)")
    yield wide("risk(k=5, m=2)", "frame.txanon.risk(k=5, m=2)")
    reference, _ = measured("customers()", "pdanon.pcta(frame, k=5, m=3)")
    taken, peak = measured("customers()", "pdanon.coat(frame, k=5, m=3)")
    text = f"{taken / reference:.2f}x ({taken:.1f} s), {peak:.2f} GiB"
    met = taken <= 3 * reference
    yield Figure("coat(k=5, m=3), 62 items a row", "pcta(k=5, m=3)", reference, text, "<= 3x", met)
    taken, _ = measured("customers()", "pdanon.anonymize(frame, pdanon.KmAnonymity(5, 2))")
    yield Figure("anonymize, k=5, m=2, 62 items a row", "", None, f"{taken:.1f} s", "15 s", taken <= 15)


def wide(work: str, call: str) -> Figure:
    """Processor time and memory of a call on 100,000 items."""
    taken, peak = measured("many_items()", call)
    text, met = f"{taken:.1f} s, {peak:.2f} GiB", taken < 60 and peak < 2
    return Figure(f"{work}, 100,000 items, a million occurrences", "", None, text, "< 60 s, < 2 GiB", met)


def measured(table: str, call: str) -> tuple[float, float]:
    """Seconds of processor time, and GiB, of a call in a process of its own."""
    code = (
        "import time, pdanon; from tests.benchmarks.limits import customers, many_items, one_row; "
        f"frame = {table}; start = time.process_time(); {call}; "
        f"print(time.process_time() - start, {PEAK})"
    )
    taken, peak = fresh_process(code).split()
    return float(taken), float(peak)
