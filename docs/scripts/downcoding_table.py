"""Measure whom an attacker with a sample names, by algorithm, and write tables/minimality.md.

He undoes part of the generalization: half of the rows are published, the other half is his sample.

Run from the root of the checkout: ``python docs/scripts/downcoding_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "groceries", "bms_webview1": "BMS-WebView-1", "uci_msweb_train": "msweb"}
K, M, FANOUT, PERSONS = 5, 2, 5, 2000
ALGORITHMS: dict[str, Callable[..., pdanon.Anonymized]] = {
    "pcta": pdanon.pcta,
    "coat": pdanon.coat,
    "pcta, refined": partial(pdanon.pcta, refine=True),
    "apriori": partial(pdanon.apriori, hierarchy=FANOUT),
    "direct": partial(pdanon.direct, hierarchy=FANOUT),
    "vpa": partial(pdanon.vpa, hierarchy=FANOUT, parts=2),
    "optimal": partial(pdanon.optimal, hierarchy=FANOUT, time_limit=20),
    "hghs": partial(pdanon.hghs, hierarchy=FANOUT),
    "mhghs": partial(pdanon.mhghs, hierarchy=FANOUT),
}
COLUMNS = "| data | algorithm | NCP, % | named, % | above 1/5, % | above 1/2, % |"


def measured(name: str) -> list[str]:
    """Attack the releases of half of a data set."""
    rows = np.random.default_rng(1).permutation(len(df := frame(name)[["items"]]))
    half, other = (df.iloc[np.sort(part)].reset_index(drop=True) for part in np.array_split(rows, 2))
    lines = []
    for algorithm, function in ALGORITHMS.items():
        result = function(half, k=K, m=M)
        attack = half.txanon.attack(result, sample=other, n=PERSONS, random_state=1)
        named = 100 * attack.shares.loc[["named", "above 1/k", "above 1/2"], "share"]
        ncp = f"{100 * result.loss['NCP']:.3f}"
        cells = [DATA_SETS[name], f"`{algorithm}`", ncp, *(f"{share:.1f}" for share in named)]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    warnings.simplefilter("ignore", pdanon.ReleaseWarning)
    lines = [line for name in DATA_SETS for line in measured(name)]
    text = [f"Measured {date.today()} by `docs/scripts/downcoding_table.py` on {machine()}.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *lines]
    write_section("minimality.md", "downcoding", text)


if __name__ == "__main__":
    main()
