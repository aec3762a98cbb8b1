"""Query workloads and the attack: time on BMS-WebView-2."""

from collections.abc import Iterator

import pdanon
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
