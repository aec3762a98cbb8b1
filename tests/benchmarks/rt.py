"""Quasi-identifiers and items together: Cluster, and Rum-bound on survey and hospital data."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

import pdanon
from tests.benchmarks.measure import (
    DATA,
    PEAK,
    Figure,
    frame,
    fresh_process,
    itemsets,
    matrix,
    ratio,
    seconds,
)

YEARS = DATA / "hierarchies" / "informs2005_DOBYY_hierarchy.csv"
SURVEY = {"quasi": {"DOBMM": None, "DOBYY": YEARS, "RACEX": None, "EDUCYEAR": None, "income": None}}


def figures() -> Iterator[Figure]:
    survey = frame("rt_informs2005").drop(columns="DUPERSID")
    pdanon.cluster(survey.head(200), k=25, **SURVEY, random_state=0)
    yield clustered(survey, 25, SURVEY, "rt_informs2005", 1)
    people = made_up(131_780)
    yield clustered(people, 100, {"quasi": [*people]}, "made up, 6 columns", 5)
    times = {}
    for merge in ("R", "T", "RT"):
        taken, peak, text = fresh_process(RUM.format(merge=merge)).split("|")
        times[merge] = float(taken)
        work = f'rum_bound(k=25, m=2, delta=0.65, merge="{merge}"), rt_informs2005'
        bar = 10 if merge != "RT" else 2 * times["T"]
        yield Figure(work, "", None, f"{taken} s, {text}", f"{bar:.1f} s", times[merge] <= bar)
        yield Figure(f"{work}, peak memory", "", None, f"{peak} GB", "2 GB", float(peak) <= 2)
    yield from hospital()


def clustered(rows: pd.DataFrame, k: int, asked: dict[str, object], name: str, bar: float) -> Figure:
    results = []
    taken = seconds(lambda: results.append(pdanon.cluster(rows, k=k, **asked, random_state=0)))
    text = f"{taken:.2f} s, {len(results[0].classes)} classes, NCP {results[0].loss['NCP_relational']:.2%}"
    return Figure(f"cluster(k={k}), {len(rows)} rows, {name}", "", None, text, f"< {bar} s", taken < bar)


def made_up(n: int) -> pd.DataFrame:
    """As many rows and attributes as the data on videos of the paper."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 1200, n),
            "category": rng.choice([f"c{number}" for number in range(15)], n),
            "length": rng.exponential(200, n).astype(int),
            "rate": rng.integers(0, 501, n) / 100,
            "ratings": rng.zipf(1.6, n).clip(max=100_000),
            "comments": rng.zipf(1.7, n).clip(max=50_000),
        }
    )


PAIRS = [(label, tree and str(tree)) for label, tree in SURVEY["quasi"].items()]
RUM = f"""
import time, warnings
import pdanon

warnings.simplefilter("ignore")
survey = pdanon.read_parquet("{DATA / "rt_informs2005.parquet"}").drop(columns="DUPERSID")
asked = dict(quasi=dict({PAIRS}), random_state=0)
asked |= dict(k=25, m=2, merge="{{merge}}")
pdanon.rum_bound(survey.head(500), **asked, delta=1)
start = time.process_time()
result = pdanon.rum_bound(survey, **asked, delta=0.65)
taken = time.process_time() - start
peak = {PEAK}
text = f"{{{{len(result.classes)}}}} classes, NCP {{{{result.loss['NCP']:.2%}}}} of items"
text += f" and {{{{result.loss['NCP_relational']:.2%}}}} of quasi-identifiers"
print(f"{{{{taken:.1f}}}}|{{{{peak:.2f}}}}|{{{{text}}}}")
"""


def hospital() -> Iterator[Figure]:
    name = "rt_diabetes130_patients_icd9"
    patients, x = frame(name).drop(columns="patient_nbr"), matrix(itemsets(name))
    quasi = ["race", "gender", "age", "payer_code", "n_encounters"]
    parameters = {"k": 25, "m": 2, "quasi": quasi, "merge": "RT", "random_state": 0}
    results = []

    def run() -> None:
        results.append(pdanon.rum_bound(patients, **parameters, delta=0.65))

    taken = seconds(run)
    loss = results[0].loss
    text = f"{taken:.1f} s, {len(results[0].classes)} classes, NCP {loss['NCP']:.2%} of items"
    text += f" and {loss['NCP_relational']:.2%} of quasi-identifiers"
    work = 'rum_bound(k=25, m=2, delta=0.65, merge="RT"), rt_diabetes130_patients'
    yield Figure(work, "", None, text, "60 s", taken <= 60)
    half = 170  # half of the time of 2026-11-22
    yield ratio(work, "X.T @ X", run, lambda: x.T @ x, half, repeats=3)
