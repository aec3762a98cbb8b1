"""Rho-uncertainty: one item in 20 is sensitive, any number of items is known, rho is one half."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import pdanon
from tests.benchmarks.measure import Figure, frame, itemsets, matrix, ratio, seconds

DATA_SETS = {"bms_webview1": "BMS-WebView-1", "bms_webview2": "BMS-WebView-2"}
SECONDS = {"suppress_control": 20, "td_control": 60, "td_control(m=2)": 60}
# For BMS-WebView-2: half of the times of 2026-11-22, in multiples of those of X.T @ X.
MULTIPLES = {"suppress_control": 9.5, "td_control": 55, "td_control(m=2)": 30}


def figures() -> Iterator[Figure]:
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    for name, title in DATA_SETS.items():
        df, sets = frame(name), itemsets(name)
        drawn = np.random.default_rng(0).choice(sets.n_items, sets.n_items // 20, replace=False)
        rule = {"rho": 0.5, "sensitive": sets.vocabulary.take(drawn).to_pylist()}
        audit = partial(df.txanon.audit, pdanon.RhoUncertainty(**rule))
        yield timed(f"audit for any number of known items, {title}", audit, 5)
        calls: dict[str, Callable[[], object]] = {
            "suppress_control": partial(pdanon.suppress_control, df, **rule),
            "td_control": partial(pdanon.td_control, df, **rule, hierarchy=5),
            "td_control(m=2)": partial(pdanon.td_control, df, **rule, hierarchy=5, m=2),
        }
        for call, run in calls.items():
            yield timed(f"{call}, {title}", run, SECONDS[call])
    x = matrix(sets)
    for call, run in calls.items():
        bar = MULTIPLES[call]
        yield ratio(f"{call}, {title}", "X.T @ X", run, lambda: x.T @ x, bar, repeats=3)


def timed(work: str, run: Callable[[], object], bar: float) -> Figure:
    """Time the second call."""
    run()
    taken = seconds(run)
    return Figure(work, "", None, f"{taken:.2f} s", f"< {bar:g} s", taken < bar)
