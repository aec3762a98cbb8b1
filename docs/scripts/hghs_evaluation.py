"""Repeat figure 3 of the HgHs paper, and write the tables of tables/papers/hghs.md.

Run from the root of the checkout: ``python docs/scripts/hghs_evaluation.py [POINTS]``. What stands around the
figures stays. POINTS is a JSON file of figures that are done: a run that was interrupted goes on from there.

J. Liu, K. Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization", PAKDD 2010.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import pdanon

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TREES = DATA / "hierarchies"
DATA_SETS: dict[str, tuple[str, Path | int]] = {
    "groceries": ("groceries", TREES / "groceries_hierarchy.csv"),
    "BMS-WebView-1": ("bms_webview1", 5),
    "BMS-WebView-2": ("bms_webview2", 5),
    "completejourney": (
        "completejourney_baskets_product_type",
        TREES / "completejourney_product_type_hierarchy.csv",
    ),
}
MS = (1, 2, 3, 4, 5, 6, 7)
KS = (5, 10, 25, 50, 100)
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)  # of the rows, the first ones: nested subsets
SECONDS = 40  # of processor time for a point

ALGORITHMS = ("LG", "AA", "MM", "mHgHs")


def release(algorithm: str, df: pd.DataFrame, tree: Path | int, k: int, m: int) -> pdanon.Anonymized:
    """Anonymize by an algorithm, by its name in the paper."""
    if algorithm == "LG":
        return pdanon.partition(df, "items", k=k, hierarchy=tree)
    if algorithm == "MM":  # all items are public, and none is private
        return pdanon.coherence(df, "items", h=1.0, k=k, p=m, private=[], criterion="mm/il")
    run = {"AA": pdanon.apriori, "mHgHs": pdanon.mhghs, "HgHs": pdanon.hghs}[algorithm]
    return run(df, "items", k=k, m=m, hierarchy=tree)


def measure(algorithm: str, data_set: str, k: int, m: int, share: float) -> dict[str, float]:
    """Return loss and processor seconds of a release in a process that ends after `SECONDS`."""
    mine, theirs = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.Process(target=_measure, args=(theirs, algorithm, data_set, k, m, share))
    worker.start()
    theirs.close()
    try:
        return mine.recv()
    except EOFError:  # the limit of processor time has ended it
        return {}
    finally:
        worker.join()


def _measure(answer: Any, algorithm: str, data_set: str, k: int, m: int, share: float) -> None:
    import resource

    name, tree = DATA_SETS[data_set]
    df = frame(name)
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    release(algorithm, df.head(500), tree, k, m)  # the first call loads compiled code
    now = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (now + SECONDS, now + SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    start = time.process_time()
    result = release(algorithm, df.head(round(share * len(df))), tree, k, m)
    taken = time.process_time() - start
    loss = result.loss
    answer.send({"NCP": loss["NCP"], "suppressed": loss["suppressed"], "seconds": taken})


def points(part: str) -> Iterator[tuple[str, int, int, float]]:
    """Yield the varied value as text, k, m and the share of the rows."""
    if part == "m":
        yield from ((f"m={m}", 5, m, 1.0) for m in MS)
    elif part == "k":
        yield from ((f"k={k}", k, 7, 1.0) for k in KS)
    else:
        yield from ((f"{share:.0%}", 5, 7, share) for share in SHARES)


PARTS = {"m": "k = 5, by m", "k": "m = 7, by k", "rows": "k = 5, m = 7, by the share of the rows"}
MEASURES = {"NCP": ("NCP, %", 100), "suppressed": ("suppressed, %", 100), "seconds": ("seconds", 1)}


def tables(keep: Path | None) -> Iterator[str]:
    done = json.loads(keep.read_text(encoding="utf-8")) if keep and keep.exists() else {}
    for data_set in DATA_SETS:
        for part, title in PARTS.items():
            algorithms = (*ALGORITHMS, "HgHs") if part == "m" else ALGORITHMS
            yield f"### {data_set}: {title}"
            yield ""
            found = {}
            for value, k, m, share in points(part):
                for algorithm in algorithms:
                    at = m if algorithm != "LG" else 0  # its release does not depend on m
                    key = f"{data_set} {algorithm} {k} {at} {share}"
                    smaller = f"{data_set} {algorithm} {k} {at - 1} {share}"
                    if done.get(smaller) == {}:  # a larger m takes no less
                        done[key] = {}
                    if key not in done:
                        done[key] = measure(algorithm, data_set, k, m, share)
                        print(key, done[key], flush=True)
                        if keep:
                            keep.write_text(json.dumps(done, indent=0), encoding="utf-8")
                    found[algorithm, value] = done[key]
            columns = [value for value, *_ in points(part)]
            for measure_name, (text, unit) in MEASURES.items():
                yield from [f"{text}:", "", "| algorithm | " + " | ".join(columns) + " |"]
                yield "|---" * (len(columns) + 1) + "|"
                for algorithm in algorithms:
                    cells = [found[algorithm, value].get(measure_name) for value in columns]
                    shown = ["stopped" if each is None else f"{unit * each:.2f}" for each in cells]
                    yield f"| {algorithm} | " + " | ".join(shown) + " |"
                yield ""


def main() -> None:
    keep = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    head = [f"Measured by `docs/scripts/hghs_evaluation.py` on {machine()}.", ""]
    write_section("papers/hghs.md", "hghs", [*head, *tables(keep)])


if __name__ == "__main__":
    main()
