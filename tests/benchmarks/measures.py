"""Query workloads and the attack on BMS-WebView-2, and what passes through a large table: time."""

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import pdanon
from pdanon.recoding.unmodified_columns import count_unmodified
from tests.benchmarks.measure import Figure, frame, seconds


def figures() -> Iterator[Figure]:
    baskets = frame("bms_webview2")
    workload = pdanon.Workload.itemsets(baskets, n=1000, size=5, random_state=0)
    releases = {
        "pcta": pdanon.pcta(baskets, k=5, m=2),
        "apriori": pdanon.apriori(baskets, k=5, m=2, hierarchy=5),
        "lra, 20 parts": pdanon.lra(baskets, k=5, m=2, hierarchy=5, parts=20),
    }
    for name, result in releases.items():
        workload.are(baskets, result)
        taken = seconds(lambda result=result: workload.are(baskets, result))
        work = f"1,000 queries for 5 items, BMS-WebView-2, released by {name}"
        yield Figure(work, "", None, f"{taken:.2f} s", "< 2 s", taken < 2)
    taken = seconds(lambda: pdanon.attack(baskets, releases["pcta"], m=2, n=1000, random_state=0))
    yield Figure("attack, 1,000 cases, BMS-WebView-2", "", None, f"{taken:.2f} s", "", None)
    people = columns(1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pdanon.IdentifierWarning)
        taken = seconds(lambda: count_unmodified(people, [], pdanon.KmAnonymity(5, 2)))
    yield Figure(
        "what passes through, 1,000,000 rows, 6 columns", "", None, f"{taken:.2f} s", "< 3 s", taken < 3
    )


def columns(rows: int) -> pd.DataFrame:
    """Texts, integers, dates and numbers of people."""
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    return pd.DataFrame(
        {
            "zip": rng.integers(0, 30_000, rows).astype(str),
            "sex": rng.choice(["f", "m"], rows),
            "born": rng.integers(1920, 2010, rows),
            "admitted": pd.Timestamp("2020-01-01") + days,
            "weight": rng.normal(70, 10, rows).round(1),
            "ward": rng.integers(0, 400, rows),
        }
    )
