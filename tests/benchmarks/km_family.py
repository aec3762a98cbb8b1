"""The rest of the k^m family: COAT, UPCTA, VPA, LRA, OA, HgHs and mHgHs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

import pdanon
from tests.benchmarks.measure import DATA, PEAK, Figure, frame, fresh_process, ratio, seconds

HIERARCHIES = DATA / "hierarchies"
GROCERIES = HIERARCHIES / "groceries_hierarchy.csv"


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
    for each, title in (("bms_webview2", "BMS-WebView-2"), ("fimi_retail", "retail")):
        yield triples(frame(each), title)
    yield from searched()
    for name, bar in (("bms_webview1", 5), ("bms_webview2", 90)):
        yield optimal(frame(name), name, bar)
    for name, tree in (("groceries", GROCERIES), ("uci_msweb_train", 5)):
        yield suppressing(frame(name), name, tree)
    yield hghs()
    yield from mhghs()


def triples(baskets: pd.DataFrame, title: str) -> Figure:
    """COAT lists more rare triples than PCTA, as it merges fewer items for the pairs."""
    return ratio(
        f"coat(k=5, m=3), {title}",
        "pcta(k=5, m=3)",
        lambda: pdanon.coat(baskets, k=5, m=3),
        lambda: pdanon.pcta(baskets, k=5, m=3),
        2,
        repeats=1,
    )


def searched() -> Iterator[Figure]:
    """Loss after a minute of two threads on two free cores, where NCP is lowered, and by default."""
    pdanon.config(threads=2)
    for asked, bar in (({"loss": "NCP"}, 0.0007), ({}, None)):
        result = pdanon.anonymize(frame("fimi_retail"), pdanon.KmAnonymity(5, 2), time_limit=60, **asked)
        ncp = result.loss["NCP"]
        call = "anonymize(KmAnonymity(5, 2), time_limit=60" + (', loss="NCP")' if asked else ")")
        text = f"NCP {ncp:.4%}, count of an item {result.loss['singles']:.1%} off"
        met = None if bar is None else ncp <= bar
        yield Figure(f"{call}, retail, two threads", "", None, text, "" if bar is None else "<= 0.07 %", met)
    pdanon.config(threads=None)


def optimal(baskets: pd.DataFrame, name: str, bar: int) -> Figure:
    pdanon.optimal(baskets.head(2000), k=5, m=2, hierarchy=5, time_limit=10)
    results = []
    taken = seconds(lambda: results.append(pdanon.optimal(baskets, k=5, m=2, hierarchy=5, time_limit=180)))
    gap = results[0].loss["gap"]
    text = f"{taken:.1f} s, gap {gap:.2%}, NCP {results[0].loss['NCP']:.3%}"
    met = taken <= bar and gap == 0
    return Figure(f"optimal(k=5, m=2), fan-out 5, {name}", "", None, text, f"proven within {bar} s", met)


def suppressing(baskets: pd.DataFrame, name: str, tree: Path | int) -> Figure:
    def run(rows: pd.DataFrame) -> pdanon.Anonymized:
        return pdanon.optimal(rows, k=5, m=2, hierarchy=tree, suppress=True)

    run(baskets.head(2000))
    results = []
    taken = seconds(lambda: results.append(run(baskets)))
    loss = results[0].loss
    text = f"{taken:.1f} s, gap {loss['gap']:.2%}, LM {loss['LM']:.3%}"
    met = taken <= 60 and loss["gap"] == 0
    return Figure(f"optimal(k=5, m=2, suppress=True), {name}", "", None, text, "proven within 60 s", met)


def hghs() -> Figure:
    baskets = frame("groceries")
    pdanon.hghs(baskets.head(200), k=5, m=3, hierarchy=GROCERIES)
    taken = seconds(lambda: pdanon.hghs(baskets, k=5, m=3, hierarchy=GROCERIES))
    return Figure("hghs(k=5, m=3), groceries", "", None, f"{taken:.2f} s", "< 2 s", taken < 2)


def mhghs() -> Iterator[Figure]:
    """The whole in a process of its own, for its memory, then round by round."""
    work = "mhghs(k=5, m=7), completejourney product types"
    lines = fresh_process(ROUNDS).splitlines()
    for line in lines[:-1]:
        yield Figure(work, "", None, line, "", None)
    taken, peak, text = lines[-1].split("|")
    yield Figure(f"{work}, in all", "", None, f"{taken} s, {text}", "60 s", float(taken) <= 60)
    yield Figure(f"{work}, peak memory", "", None, f"{peak} GB", "4 GB", float(peak) <= 4)


ROUNDS = f"""
import time
import pdanon
from pdanon.algorithms.items.hghs import paths
from pdanon.algorithms.states.cuts import CutTask
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets import Itemsets
from pdanon.itemsets.support import SupportIndex

tree = "{HIERARCHIES / "completejourney_product_type_hierarchy.csv"}"
baskets = pdanon.read_parquet("{DATA / "completejourney_baskets_product_type.parquet"}")
pdanon.mhghs(baskets.head(300), k=5, m=3, hierarchy=tree)
start = time.process_time()
result = pdanon.mhghs(baskets, k=5, m=7, hierarchy=tree)
taken = time.process_time() - start
peak = {PEAK}
itemsets = Itemsets.from_series(baskets["items"])
texts = itemsets.texts()
covering, leaves = Hierarchy.of(tree, texts).cover(texts)
before = time.process_time()
task = CutTask(SupportIndex.of(itemsets), covering, leaves, 5, 7)
for number, (*_, each) in enumerate(paths(task), 1):
    now = time.process_time()
    suppressed = each.cut.sum() - each.kept.sum()
    print(f"round {{number}}: {{now - before:.1f}} s, {{each.cut.sum()}} nodes, {{suppressed}} suppressed")
    before = now
loss = result.loss
print(f"{{taken:.1f}}|{{peak:.2f}}|NCP {{loss['NCP']:.2%}}, suppressed {{loss['suppressed']:.2%}}")
"""
