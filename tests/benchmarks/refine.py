"""Refinement after PCTA: what is left of the loss and of the error of queries, and in what time."""

import time
from collections.abc import Iterator

import pdanon
from tests.benchmarks.measure import Figure, first_calls, frame, seconds

BARS = {2: {"bms_webview1": 0.50, "bms_webview2": 0.45}, 3: {"bms_webview1": 0.70, "bms_webview2": 0.70}}
FIRST_CALLS = {
    "pcta(k=5, m=2)": "result = df.txanon.pcta(k=5, m=2)",
    "then refine": "df.txanon.refine(result)",
}
KS = {2: (2, 5, 10, 25, 50), 3: (5, 25)}


def figures() -> Iterator[Figure]:
    for m, bars in BARS.items():
        for name, bar in bars.items():
            baskets = frame(name)
            pdanon.pcta(baskets.head(500), k=5, m=m, refine=True)
            for k in KS[m]:
                yield from _figures(name, k, m, bar)
    yield from _constrained("bms_webview1", 5)
    yield _large("fimi_retail")
    yield from first_calls(FIRST_CALLS)


def _figures(name: str, k: int, m: int, most: float) -> Iterator[Figure]:
    baskets, results = frame(name), []
    before = seconds(lambda: results.append(pdanon.pcta(baskets, k=k, m=m)))
    taken = seconds(lambda: results.append(pdanon.refine(baskets, results[0])))
    made, refined = results
    left = refined.loss["NCP"] / made.loss["NCP"]
    rises = bool((refined.trace["loss"].diff() > 0).any())
    work, reference = f"refine(pcta(k={k}, m={m})), {name}", f"pcta(k={k}, m={m})"
    text = f"{left:.3f}x its NCP"
    yield Figure(work, reference, before, text, f"<= {most:g}x, never rises", left <= most and not rises)
    text, met = f"{taken / before:.1f}x ({taken:.2f} s)", taken <= min(20 * before, 10)
    yield Figure(work, reference, before, text, "<= 20x, < 10 s" if m == 2 else "", met if m == 2 else None)
    workload = pdanon.Workload.itemsets(baskets, 1000, 5, random_state=0)
    for mode, bar in (("optimistic", "falls"), ("subset", "")):  # as with PCTA; and the default
        errors = [workload.are(baskets, result, mode=mode).are for result in (made, refined)]
        text = f"AvgRE, {mode}: {errors[0]:.3f} -> {errors[1]:.3f}"
        yield Figure(work, reference, before, text, bar, errors[1] < errors[0] if bar else None)


def _large(name: str) -> Figure:
    """The search without a limit, where swaps are many; in CPU time."""
    baskets, results = frame(name), []
    made = pdanon.coat(baskets, k=5, m=2)
    taken = seconds(lambda: results.append(pdanon.refine(baskets, made)), time.process_time)
    text = f"{taken:.0f} s, NCP {made.loss['NCP']:.4%} -> {results[0].loss['NCP']:.4%}"
    work = f"refine(coat(k=5, m=2)) without a limit, {name}, CPU time"
    return Figure(work, "", None, text, "ends within 120 s", taken <= 120)


def _constrained(name: str, k: int) -> Iterator[Figure]:
    baskets, results = frame(name), []
    pairs = pdanon.constraints.random(baskets, 1000, random_state=0)
    few = pdanon.constraints.random(baskets.head(500), 2, random_state=0)
    pdanon.pcta(baskets.head(500), guarantee=pdanon.PrivacyConstraints(constraints=few, k=2), refine=True)
    before = seconds(
        lambda: results.append(
            pdanon.pcta(baskets, guarantee=pdanon.PrivacyConstraints(constraints=pairs, k=k))
        )
    )
    taken = seconds(lambda: results.append(pdanon.refine(baskets, results[0])))
    left = results[1].loss["NCP"] / results[0].loss["NCP"]
    work, reference = f"refine(pcta(k={k}, 1,000 pairs)), {name}", f"pcta(k={k}, 1,000 pairs)"
    text = f"{left:.3f}x its NCP, {taken / before:.1f}x ({taken:.2f} s)"
    yield Figure(work, reference, before, text, "", None)
