"""Refinement after PCTA: what is left of the loss, and in what time."""

from collections.abc import Iterator

import pdanon
from tests.benchmarks.measure import Figure, frame, seconds

BARS = {"bms_webview1": 0.50, "bms_webview2": 0.45}


def figures() -> Iterator[Figure]:
    for name, bar in BARS.items():
        baskets = frame(name)
        pdanon.pcta(baskets.head(500), k=5, refine=True)
        for k in (2, 5, 10, 25, 50):
            results = []
            before = seconds(lambda k=k: results.append(pdanon.pcta(baskets, k=k)))  # noqa: B023
            taken = seconds(lambda: results.append(pdanon.refine(baskets, results[0])))  # noqa: B023
            made, refined = results
            left = refined.loss["NCP"] / made.loss["NCP"]
            rises = bool((refined.trace["loss"].diff() > 0).any())
            work, reference = f"refine(pcta(k={k}, m=2)), {name}", f"pcta(k={k}, m=2)"
            text = f"{left:.3f}x its NCP"
            yield Figure(
                work, reference, before, text, f"<= {bar:g}x, never rises", left <= bar and not rises
            )
            text, met = f"{taken / before:.1f}x ({taken:.2f} s)", taken <= min(20 * before, 10)
            yield Figure(work, reference, before, text, "<= 20x, < 10 s", met)
