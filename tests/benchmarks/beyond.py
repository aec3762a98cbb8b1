"""The risk beyond a guarantee, beside the release without it, in processor time."""

import statistics
import warnings
from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import pdanon
from tests.benchmarks.measure import Figure, frame, seconds

BAR, MORE = 1.25, 0.4  # of the time without the count, or seconds more
DATA = (
    *("groceries", "bms_webview1", "uci_msweb_train", "foodmart_baskets_1997", "bms_webview2", "fimi_retail"),
    *("fimi_t10i4d100k", "completejourney_baskets_product_type"),
)
CALLS = {
    "pcta, m=1": ("pcta", {"m": 1}),
    "pcta, m=2": ("pcta", {"m": 2}),
    "apriori, m=1": ("apriori", {"m": 1, "hierarchy": 5}),
    "apriori, m=2": ("apriori", {"m": 2, "hierarchy": 5}),
}
QUASI = {
    "rt_informs2005": ["DOBMM", "SEX", "RACEX"],
    "rt_diabetes130_patients_icd9": ["race", "gender", "age"],
}


def figures() -> Iterator[Figure]:
    warnings.simplefilter("ignore")
    for name in DATA:
        rows = frame(name)[["items"]]
        for call, (algorithm, options) in CALLS.items():
            run = partial(getattr(pdanon, algorithm), rows, k=5, **options)
            yield beside_the_release(f"{name}: {call}", run)
    for name, quasi in QUASI.items():
        rows = frame(name)[[*quasi, "items"]]
        run = partial(pdanon.rfirst, rows, k=5, m=2, quasi=quasi, random_state=0)
        yield beside_the_release(f"{name}: rfirst, m=2", run)


def beside_the_release(work: str, run: partial[pdanon.Anonymized]) -> Figure:
    """Time a release with the count and without it, in turn."""
    counted = int(run().risk["counted"].iloc[-1])

    def bare() -> None:
        with (
            patch("pdanon.recoding.decision.risk_of_lists", no_count),
            patch("pdanon.algorithms.rt.dataset.risk_of_classes", no_count),
        ):
            run()

    run()
    bare()
    times = [(seconds(bare), seconds(run)) for _ in range(7)]
    without, whole = (statistics.median(each) for each in zip(*times, strict=True))
    measured, bar = f"{whole / without:.2f}x ({whole:.3f} s)", f"<= {BAR:g}x or {MORE:g} s more"
    met = whole <= max(BAR * without, without + MORE)
    return Figure(f"{work}, {counted:,} rows", "without it", without, measured, bar, met)


def no_count(*_: object) -> None:
    """Count nothing."""
