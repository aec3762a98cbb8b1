"""Processor time of calls, divided by that of fixed work in the same process: machines differ less in it."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import pdanon

CALLS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "risk": lambda baskets: baskets.txanon.risk(k=5, m=2),
    "audit": lambda baskets: baskets.txanon.audit(pdanon.guarantees.KmAnonymity(k=5, m=2)),
    "pcta": lambda baskets: baskets.txanon.pcta(k=5, m=2),
    "coat": lambda baskets: baskets.txanon.coat(k=5, m=2),
    "apriori": lambda baskets: baskets.txanon.apriori(k=5, m=2, hierarchy=HIERARCHY),
    "clump": lambda baskets: baskets.txanon.clump(k=5, hierarchy=HIERARCHY),
    "rum_bound": lambda baskets: baskets.txanon.rum_bound(k=5, m=2, quasi=["age", "sex"], delta=0.7),
    "anonymize": lambda baskets: baskets.txanon.keep("age", "sex").anonymize(k=5, m=2),
}
N_ROWS, N_ITEMS = 20_000, 200
ROUNDS = 5


def make_baskets() -> pd.DataFrame:
    """Draw rows of one to nine items, some much more frequent than others, of persons of an age and a sex."""
    random = np.random.default_rng(0)
    sizes = random.integers(1, 10, N_ROWS)
    items = (N_ITEMS * random.random(sizes.sum()) ** 3).astype(int)
    rows = [[f"{item:03}" for item in {*row}] for row in np.split(items, sizes.cumsum()[:-1])]
    ages, sexes = random.integers(18, 90, N_ROWS), random.choice(["f", "m"], N_ROWS)
    return pd.DataFrame({"items": rows, "age": ages, "sex": sexes})


TENS = {f"{ten}0s": [f"{item:03}" for item in range(10 * ten, 10 * ten + 10)] for ten in range(N_ITEMS // 10)}
HIERARCHY = pdanon.Hierarchy.from_dict({"all": TENS})


def reference(numbers: NDArray[np.int64]) -> None:
    """Work that no commit changes."""
    np.bincount(np.sort(numbers) % 1_000)


class Calls:
    """The least of several times, divided by the least of the reference in the same rounds."""

    params = (tuple(CALLS),)
    param_names = ("call",)
    timeout = 300

    def setup(self, call: str) -> None:
        """Draw the table, and let pdanon read it once."""
        self.baskets = make_baskets()
        self.numbers = np.random.default_rng(0).integers(0, 2**40, 2_000_000)
        CALLS[call](self.baskets)

    def track_time(self, call: str) -> float:
        """Return how many times as long as the reference a call takes."""
        times = []
        for _ in range(ROUNDS):
            starts = [process_time()]
            for work, table in ((reference, self.numbers), (CALLS[call], self.baskets)):
                work(table)
                starts.append(process_time())
            times.append(np.diff(starts))
        least = np.min(times, axis=0)
        return float(least[1] / least[0])

    track_time.unit = "times the reference"
