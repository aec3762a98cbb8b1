"""Rho-uncertainty: one item in 20 is sensitive, any number of items is known, rho is one half."""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import pdanon
from pdanon.itemsets.codes import Itemsets
from tests.benchmarks.measure import Figure, frame

DATA_SETS = {"BMS-WebView-1": "bms_webview1", "BMS-WebView-2": "bms_webview2"}


def figures() -> Iterator[Figure]:
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    for title, name in DATA_SETS.items():
        df = frame(name)
        vocabulary = Itemsets.from_series(df["items"]).vocabulary
        drawn = np.random.default_rng(0).choice(len(vocabulary), len(vocabulary) // 20, replace=False)
        asked = {"rho": 0.5, "sensitive": vocabulary.take(drawn).to_pylist()}
        yield timed(
            f"audit for any number of known items, {title}",
            partial(df.txanon.audit, pdanon.RhoUncertainty(**asked)),
            5,
        )
        yield timed(f"suppress_control, {title}", partial(pdanon.suppress_control, df, **asked), 20)
        tree = {"hierarchy": 5}
        yield timed(f"td_control, {title}", partial(pdanon.td_control, df, **asked, **tree), 60)
        two = partial(pdanon.td_control, df, **asked, **tree, m=2)
        yield timed(f"td_control(m=2), {title}", two, 60)


def timed(work: str, run: Callable[[], object], bar: float) -> Figure:
    """The seconds of processors of the second call, all threads together."""
    run()
    start = time.process_time()
    run()
    taken = time.process_time() - start
    return Figure(work, "", None, f"{taken:.2f} s", f"< {bar:g} s", taken < bar)
