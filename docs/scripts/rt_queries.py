"""Measure queries and merges of Rum-bound and Tum-bound, for tables/papers/rum_bound.md.

Run from the root of the checkout: ``python docs/scripts/rt_queries.py``. The text around the figures stays.
"""

import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from tests.benchmarks.measure import DATA, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

MERGES = ("R", "RT", "T")
KINDS = {"two values": (2, 0), "two items": (0, 2), "a value and two items": (1, 2)}
QUERIES = 500


@dataclass(frozen=True)
class Table:
    """A data set: its file, quasi-identifiers, hierarchies, and the codes that must not be inferred."""

    file: str
    quasi: tuple[str, ...]
    trees: tuple[str, ...]
    rows: int
    rum: tuple[float, ...]
    tum: tuple[float, ...]
    secrets: tuple[str, ...]


TABLES = {
    "Informs": Table(
        "rt_informs2005",
        ("DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income"),
        ("DOBYY",),
        26_735,
        (0.25, 0.35, 0.55, 0.65, 0.75, 0.95),
        (0.08, 0.06, 0.05, 0.04, 0.03),
        ("042", "295", "296", "303", "304", "305", "V08"),
    ),
    "diabetes": Table(
        "rt_diabetes130_patients_icd9",
        ("race", "gender", "age"),
        (),
        8_000,
        (0.25, 0.35, 0.55, 0.65, 0.75, 0.95),
        (0.062, 0.06, 0.058, 0.055),
        ("042", "295", "296", "303", "304", "305", "V08"),
    ),
}


@cache
def read(title: str) -> pd.DataFrame:
    table = TABLES[title]
    frame = pdanon.read_parquet(DATA / f"{table.file}.parquet")[[*table.quasi, "items"]]
    return frame.sample(table.rows, random_state=0).reset_index(drop=True)


@cache
def workloads(title: str) -> dict[str, pdanon.Workload]:
    quasi = [*TABLES[title].quasi]
    return {
        kind: pdanon.Workload.rt(read(title), quasi, QUERIES, values, items, random_state=1)
        for kind, (values, items) in KINDS.items()
    }


def release(
    name: str, title: str, frame: pd.DataFrame | None = None, **asked: Any
) -> pdanon.Anonymized | None:
    """A release with k = 25 and m = 2 as in the paper, not refined; None if the bound is out of reach."""
    table = TABLES[title]
    trees = {each: DATA / "hierarchies" / f"informs2005_{each}_hierarchy.csv" for each in table.trees}
    asked = {"k": 25, "m": 2, "quasi": {**dict.fromkeys(table.quasi), **trees}} | asked
    asked["transaction"] = replace(asked.get("transaction", pdanon.Transaction()), refine=False)
    try:
        return getattr(pdanon, name)(read(title) if frame is None else frame, random_state=0, **asked)
    except pdanon.InfeasibleError:
        return None


def private(title: str) -> pdanon.Transaction:
    there = {code for row in read(title)["items"] for code in row}
    return pdanon.Transaction(sensitive=[each for each in TABLES[title].secrets if each in there], l=3)


def errors(name: str, title: str, deltas: Sequence[float], **asked: Any) -> Iterator[str]:
    """A table of average relative errors: a line for each bound and kind of query."""
    head = ["delta", "queries", *MERGES]
    yield from ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for delta in deltas:
        made = {merge: release(name, title, delta=delta, merge=merge, **asked) for merge in MERGES}
        for kind, workload in workloads(title).items():
            found = [
                "-" if each is None else f"{workload.are(read(title), each).are:.3f}"
                for each in made.values()
            ]
            line = "| " + " | ".join([f"{delta:g}", kind, *found]) + " |"
            print(name, title, line, flush=True)
            yield line


def rum_bound(title: str) -> Iterator[str]:
    return errors("rum_bound", title, TABLES[title].rum)


def tum_bound(title: str) -> Iterator[str]:
    return errors("tum_bound", title, TABLES[title].tum)


def diverse(title: str) -> Iterator[str]:
    return errors("rum_bound", title, TABLES[title].rum, transaction=private(title))


def distances(rows: int = 4_000) -> Iterator[str]:
    """Merges by the distance of transactions, and by the loss of their union: time and loss."""
    head = ["tum", "merge", "order", "seconds", "NCP", "UL of rows", "UL, log2", "merges"]
    yield from ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    frame = read("Informs").head(rows)
    for tum in ("NCP", "UL"):
        for merge in ("RT", "T"):
            for order in ("btd", "tum"):
                start = time.process_time()
                result = release(
                    "rum_bound",
                    "Informs",
                    frame,
                    delta=0.65,
                    merge=merge,
                    transaction=pdanon.Transaction(order=order, tum=tum),
                )
                taken = time.process_time() - start
                loss = result.loss
                rows_lost = f"{loss['UL_rows']:.3f}" if "UL_rows" in loss else "-"
                figures = [f"{taken:.2f}", f"{loss['NCP']:.2%}", rows_lost, f"{loss['UL']:.1f}"]
                line = "| " + " | ".join([tum, merge, order, *figures, str(len(result.trace) - 1)]) + " |"
                print(line, flush=True)
                yield line


def losses() -> Iterator[str]:
    """Losses by merge and bound: what figures 7g and 7h show, and the loss of the quasi-identifiers."""
    head = ["delta", "merge", "NCP of quasi-identifiers", "NCP of items", "UL of rows", "classes", "largest"]
    yield from ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    items = pdanon.Transaction(tum="UL")
    for delta in TABLES["Informs"].rum:
        for merge in MERGES:
            result = release("rum_bound", "Informs", delta=delta, merge=merge, transaction=items)
            loss, sizes = result.loss, result.classes["size"]
            figures = [f"{loss['NCP_relational']:.2%}", f"{loss['NCP']:.2%}", f"{loss['UL_rows']:.3f}"]
            line = [f"{delta:g}", merge, *figures, str(len(sizes)), str(sizes.max())]
            yield "| " + " | ".join(line) + " |"


def timed(lines: Iterable[str], taken: list[float]) -> Iterator[str]:
    """The same lines; the processor time that they take is appended."""
    start = time.process_time()
    yield from lines
    taken.append(time.process_time() - start)


def main() -> None:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    warnings.simplefilter("ignore", pdanon.UselessWarning)
    first, others = [], []  # seconds of figures 4 and 7 on Informs, and of all others
    made = timed(rum_bound("Informs"), first)
    write_section("papers/rum_bound.md", "rum-Informs", made)
    write_section("papers/rum_bound.md", "distances", timed(distances(), first))
    write_section("papers/rum_bound.md", "losses", timed(losses(), first))
    made = timed(rum_bound("diabetes"), others)
    write_section("papers/rum_bound.md", "rum-diabetes", made)
    made = timed(tum_bound("Informs"), others)
    write_section("papers/rum_bound.md", "tum-Informs", made)
    made = timed(tum_bound("diabetes"), others)
    write_section("papers/rum_bound.md", "tum-diabetes", made)
    made = timed(diverse("Informs"), others)
    write_section("papers/rum_bound.md", "diverse-Informs", made)
    made = timed(diverse("diabetes"), others)
    write_section("papers/rum_bound.md", "diverse-diabetes", made)
    seconds = f"{sum(first + others):.0f} s of processor time, {sum(first):.0f} s of it for figures 4 and 7"
    said = f"Measured on {date.today()} in {seconds} on Informs, on {machine()}."
    write_section("papers/rum_bound.md", "rt-machine", [said])


if __name__ == "__main__":
    main()
