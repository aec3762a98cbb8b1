"""Encoding, counting, audit, PCTA and Apriori."""

import tempfile
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pdanon
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex
from tests.benchmarks.measure import (
    DATA,
    PEAK,
    Figure,
    first_calls,
    frame,
    fresh_process,
    itemsets,
    matrix,
    ratio,
    seconds,
)

FIRST_CALLS = {
    "risk(k=5, m=2)": "df.txanon.risk(k=5, m=2)",
    "then pcta(k=5, m=2)": "df.txanon.pcta(k=5, m=2)",
    "then apriori(k=5, m=2)": "df.txanon.apriori(k=5, m=2, hierarchy=5)",
    "then risk(k=5, m=3)": "df.txanon.risk(k=5, m=3)",
}

SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2", "fimi_retail": "retail"}


def figures() -> Iterator[Figure]:
    yield encoding()
    yield from files()
    for name in SETS:
        yield pairs(name)
    for name, bar in (("bms_webview1", 8), ("bms_webview2", 5)):
        yield from audits(name, pdanon.KmAnonymity(5, 3), "KmAnonymity(5, 3)", bar)
    for name, bar in (("bms_webview1", 8), ("bms_webview2", 5), ("fimi_retail", 5)):
        guarantee = pdanon.LmDiversity(l=5, m=3, sensitive=sensitive(name, 20, 5))
        yield from audits(name, guarantee, "LmDiversity(5, 3, 20 items)", bar)
    for name in ("bms_webview1", "bms_webview2"):
        yield inferences(name)
    for name in ("bms_webview2", "fimi_retail"):
        yield risks(name)
    for name in ("bms_webview1", "bms_webview2"):
        yield from pcta(name)
    yield apriori()
    yield memory()
    for call in ("pcta(frame, k=5, m=2)", "coat(frame, k=5, m=2)", "apriori(frame, k=5, m=2, hierarchy=5)"):
        yield memory_beyond_data(call)
    yield import_time()
    yield from first_calls(FIRST_CALLS)


def encoding() -> Figure:
    rng = np.random.default_rng(0)
    words = pa.array([f"product-{i:05d}" for i in range(1657)])
    lengths = rng.poisson(5.5, 1_550_000) + 1
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    offsets = offsets[offsets <= 10_000_000]
    items = words.take(pa.array(rng.zipf(1.4, int(offsets[-1])) % len(words)))
    lists = pa.ListArray.from_arrays(offsets.astype(np.int32), items)
    return ratio(
        f"canonical encode of {offsets[-1]:,} strings",
        "flatten + dictionary_encode",
        lambda: Itemsets.from_arrow(lists),
        lambda: lists.flatten().dictionary_encode(),
        5,
    )


def files() -> Iterator[Figure]:
    """Parquet, beside pandas and pyarrow."""
    baskets = pdanon.datasets.make_baskets(200_000, 2000, random_state=0)
    with tempfile.TemporaryDirectory() as directory:
        path, copy = f"{directory}/baskets.parquet", f"{directory}/copy.parquet"
        yield ratio(
            "to_parquet, 200,000 baskets",
            "frame.to_parquet of pandas",
            lambda: pdanon.to_parquet(baskets, path),
            lambda: baskets.to_parquet(copy),
            1.3,
        )
        yield ratio(
            "read_parquet, 200,000 baskets",
            "pq.read_table",
            lambda: pdanon.read_parquet(path),
            lambda: pq.read_table(path),
            1.4,
        )


def pairs(name: str) -> Figure:
    sets = itemsets(name)
    x = matrix(sets)
    return ratio(
        f"pair supports, {SETS[name]}", "X.T @ X", lambda: SupportIndex.of(sets).pairs, lambda: x.T @ x, 1.1
    )


def sensitive(name: str, number: int, l: int) -> list[int]:  # noqa: E741
    """Items of which each is in at most one row in l, from the most frequent to rare ones."""
    sets = itemsets(name)
    supports = np.bincount(sets.codes)
    order = np.argsort(-supports, kind="stable")
    order = order[supports[order] * l <= sets.n_rows][:400]
    chosen: list[int] = sets.vocabulary.take(
        order[np.linspace(0, len(order) - 1, number).astype(int)]
    ).to_pylist()
    return chosen


def audits(name: str, guarantee: Guarantee, text: str, bar: float) -> Iterator[Figure]:
    original = frame(name)
    x = matrix(itemsets(name))
    yield ratio(
        f"audit {text}, {SETS[name]}",
        "X.T @ X",
        lambda: guarantee.audit(original),
        lambda: x.T @ x,
        bar,
    )
    seconds(lambda: guarantee.audit(original).threats)  # compiled code is loaded
    listed = guarantee.audit(original)
    taken = seconds(lambda: listed.threats)
    more = f"{taken:.2f} s more for the table of {len(listed.threats):,} threats"
    yield Figure("", "", None, more, "", None)


def inferences(name: str) -> Figure:
    """The audit of all antecedents, with 5 % of the items sensitive."""
    original, items = frame(name), itemsets(name).vocabulary
    chosen = np.random.default_rng(0).choice(len(items), len(items) // 20, replace=False)
    guarantee = pdanon.RhoUncertainty(rho=0.5, sensitive=items.take(chosen).to_pylist())
    taken = seconds(lambda: guarantee.audit(original))
    work = f"audit RhoUncertainty(0.5, {len(chosen)} items), {SETS[name]}"
    return Figure(work, "", None, f"{taken:.1f} s", "5 s", taken <= 5)


def risks(name: str) -> Figure:
    original, guarantee = frame(name), pdanon.KmAnonymity(5, 3)
    return ratio(
        f"risk(k=5, m=3), {SETS[name]}",
        "audit KmAnonymity(5, 3)",
        lambda: original.txanon.risk(k=5, m=3),
        lambda: guarantee.audit(original),
        1.1,
    )


def pcta(name: str) -> Iterator[Figure]:
    original = frame(name)
    x = matrix(itemsets(name))
    yield ratio(
        f"pcta(k=5, m=2), DataFrame to audited result, {SETS[name]}",
        "X.T @ X",
        lambda: pdanon.pcta(original, k=5, m=2),
        lambda: x.T @ x,
        12,
    )
    yield ratio(
        f"pcta(k=50, m=2), {SETS[name]}",
        "pcta(k=2, m=2)",
        lambda: pdanon.pcta(original, k=50, m=2),
        lambda: pdanon.pcta(original, k=2, m=2),
        1.5,
        repeats=5,
    )


def apriori() -> Figure:
    original = frame("bms_webview2")
    return ratio(
        "apriori(k=5, m=2), fan-out 5, BMS-WebView-2",
        "pcta(k=5, m=2)",
        lambda: pdanon.apriori(original, k=5, m=2, hierarchy=5),
        lambda: pdanon.pcta(original, k=5, m=2),
        4,
        repeats=5,
    )


def memory() -> Figure:
    path = DATA / "bms_webview2.parquet"
    code = (
        f"import pdanon; pdanon.apriori(pdanon.read_parquet({str(path)!r}), k=5, m=2, hierarchy=5);"
        f"print({PEAK})"
    )
    peak = float(fresh_process(code)) * 1024
    work = "peak memory of the whole process for that"
    return Figure(work, "", None, f"{peak:.0f} MB", "< 450 MB", peak < 450)


def memory_beyond_data(call: str) -> Figure:
    """Peak memory of a release of retail, without imports and the table; and the text of its labels."""
    path = DATA / "fimi_retail.parquet"
    code = (
        f"import pdanon; tiny = pdanon.datasets.make_baskets(500, 20, random_state=0)[['items']];"
        f"frame = tiny; pdanon.{call}; frame = pdanon.read_parquet({str(path)!r});"
        f"open('/proc/self/clear_refs', 'w').write('5'); before = {PEAK}; made = pdanon.{call};"
        f"print({PEAK} - before, made.frame['items'].nbytes / 2**30)"
    )
    peak, release = (float(each) * 1024 for each in fresh_process(code).split())
    text = f"{peak:.0f} MB, {release:.0f} of them for the release"
    work = f"memory of {call.replace('frame, ', '')} beyond imports and data, retail"
    return Figure(work, "", None, text, "<= 200 MB", peak <= 200)


def import_time() -> Figure:
    code = (
        "import sys, time, pandas, pyarrow; start = time.process_time(); import pdanon;"
        "print(time.process_time() - start, 'scipy' in sys.modules)"
    )
    taken, scipy = min(fresh_process(code).split() for _ in range(5))
    text = f"{float(taken):.3f} s, scipy {'' if scipy == 'True' else 'not '}imported"
    met = float(taken) < 0.3 and scipy == "False"
    return Figure("import pdanon after pandas and pyarrow", "", None, text, "< 0.3 s", met)
