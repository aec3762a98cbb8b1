"""The rest of the k^m family: COAT, UPCTA, VPA, LRA, OA, HgHs and mHgHs."""

from collections.abc import Callable, Iterator

import pandas as pd

import pdanon
from tests.benchmarks.measure import DATA, Figure, frame, ratio, seconds

HIERARCHIES = DATA / "hierarchies"


def figures() -> Iterator[Figure]:
    baskets = frame("bms_webview2")
    blocks = pdanon.utility.by_size(sorted(baskets["items"].itemset.items), 125)

    def pcta() -> object:
        return pdanon.pcta(baskets, k=5, m=2)

    def apriori() -> object:
        return pdanon.apriori(baskets, k=5, m=2, hierarchy=5)

    within: dict[str, Callable[[], object]] = {
        "coat, blocks of 125": lambda: pdanon.coat(baskets, k=5, m=2, utility=blocks, max_suppressed=1.0),
        "upcta, blocks of 125": lambda: pdanon.upcta(baskets, k=5, m=2, utility=blocks, max_suppressed=1.0),
        "vpa, 10 parts": lambda: pdanon.vpa(baskets, k=5, m=2, hierarchy=5, parts=10),
    }
    for name, run in within.items():
        yield ratio(f"{name}, k=5, m=2, BMS-WebView-2", "pcta(k=5, m=2)", run, pcta, 3, repeats=3)
    yield ratio(
        "lra, 20 parts, k=5, m=2, BMS-WebView-2",
        "apriori(k=5, m=2)",
        lambda: pdanon.lra(baskets, k=5, m=2, hierarchy=5, parts=20),
        apriori,
        3,
        repeats=3,
    )
    for name, bar in (("bms_webview1", 5), ("bms_webview2", 90)):
        yield optimal(frame(name), name, bar)
    yield hghs()
    yield mhghs()


def optimal(baskets: pd.DataFrame, name: str, bar: int) -> Figure:
    pdanon.optimal(baskets.head(2000), k=5, m=2, hierarchy=5, time_limit=10)
    results = []
    taken = seconds(lambda: results.append(pdanon.optimal(baskets, k=5, m=2, hierarchy=5, time_limit=180)))
    gap = results[0].loss["gap"]
    text = f"{taken:.1f} s, gap {gap:.2%}, NCP {results[0].loss['NCP']:.3%}"
    met = taken <= bar and gap == 0
    return Figure(f"optimal(k=5, m=2), fan-out 5, {name}", "", None, text, f"proven within {bar} s", met)


def hghs() -> Figure:
    baskets = frame("groceries")
    tree = HIERARCHIES / "groceries_hierarchy.csv"
    pdanon.hghs(baskets.head(200), k=5, m=3, hierarchy=tree)
    taken = seconds(lambda: pdanon.hghs(baskets, k=5, m=3, hierarchy=tree))
    return Figure("hghs(k=5, m=3), groceries", "", None, f"{taken:.2f} s", "< 2 s", taken < 2)


def mhghs() -> Figure:
    baskets = frame("completejourney_baskets_product_type")
    tree = HIERARCHIES / "completejourney_product_type_hierarchy.csv"
    results = []
    taken = seconds(lambda: results.append(pdanon.mhghs(baskets, k=5, m=7, hierarchy=tree)))
    loss = results[0].loss
    text = f"{taken:.0f} s, NCP {loss['NCP']:.2%}, suppressed {loss['suppressed']:.2%}"
    return Figure("mhghs(k=5, m=7), completejourney product types", "", None, text, "60 s", taken <= 60)
