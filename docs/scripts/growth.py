"""Measure how time, files and memory grow with the rows, and write tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/growth.py --keep DIR [--millions 1 10 50]``. Files
and figures stay in DIR: a run goes on where another one ended, and the page has all figures that are there.
What stands around the figures in the page stays.
"""

import argparse
import json
import pickle
import resource
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon.datasets  # noqa: E402

import pdanon  # noqa: E402
from pdanon import stream  # noqa: E402
from pdanon.algorithms.engines import Recoder  # noqa: E402
from pdanon.io.trees import ParquetTree  # noqa: E402
from tests.benchmarks.measure import fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.benchmarks.stream import distinct, write  # noqa: E402

PRIVATE = [f"p{number:04d}" for number in range(100, 2001, 100)]
FEW = 200_000  # rows to begin with, which are not measured
BILLION = 1000  # millions
WORKERS = (1, 8, 32, 128)
Figures = dict[str, Any]


# --- The steps; each is run in a process of its own


def generate(source: Path, directory: Path, millions: int) -> Figures:
    if millions:
        write(source, millions)
    else:
        pdanon.to_parquet(pdanon.datasets.make_baskets(FEW, 2000, random_state=0), source)
    return {"bytes": source.stat().st_size}


def collapsed(source: Path, directory: Path, millions: int) -> Figures:
    rows = distinct(source).itemsets
    return {"distinct": rows.n_rows, "occurrences": len(rows.codes)}


def audit(source: Path, directory: Path, millions: int) -> Figures:
    found = pdanon.KmAnonymity(5, 2).recount(distinct(source))
    return {"at_risk": found.rows_at_risk}


def pcta(source: Path, directory: Path, millions: int) -> Figures:
    target = directory / f"pcta{millions}.parquet"
    target.unlink(missing_ok=True)
    result = stream.pcta(source, target, k=5, m=2)
    (directory / f"recoder{millions}.pickle").write_bytes(pickle.dumps(Recoder(result.mapping)))
    return {"bytes": target.stat().st_size, "labels": result.mapping["generalized"].nunique()}


def recode(source: Path, directory: Path, millions: int) -> Figures:
    target = directory / f"recoded{millions}.parquet"
    recoder = pickle.loads((directory / f"recoder{millions}.pickle").read_bytes())
    stream.list_files.recode_files(ParquetTree.find(source), target, ["items"], recoder)
    return {"bytes": target.stat().st_size}


def coherence(source: Path, directory: Path, millions: int) -> Figures:
    target = directory / f"coherence{millions}.parquet"
    target.unlink(missing_ok=True)
    asked = {"h": 0.8, "k": 5, "p": 2, "private": PRIVATE}
    result = stream.coherence(source, target, **asked)
    return {"bytes": target.stat().st_size, "suppressed": result.loss["suppressed"]}


STEPS: dict[str, tuple[Callable[[Path, Path, int], Figures], str]] = {
    "generate": (generate, "`make_baskets`, written"),
    "collapse": (collapsed, "reading, collapsing"),
    "audit": (audit, "audit, k = 5, m = 2"),
    "pcta": (pcta, "`pcta`, k = 5, m = 2"),
    "recode": (recode, "of that, recoding"),
    "coherence": (coherence, "`coherence`, h = 0.8, k = 5, p = 2"),
}


def measured(step: str, directory: Path, millions: int) -> Figures:
    """Seconds of processor time and peak memory of a step, and what it tells."""
    STEPS[step][0](directory / "0.parquet", directory, 0)  # compiled code is loaded
    source = directory / f"{millions}.parquet"
    start = time.process_time()
    found = STEPS[step][0](source, directory, millions)
    seconds = time.process_time() - start
    return {"seconds": seconds, "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, **found}


# --- The page


def table(figures: dict[str, dict[str, Figures]]) -> list[str]:
    sizes = sorted(figures, key=int)
    head = "".join(f" {size} million: s | GB | s a million |" for size in sizes)
    lines = [f"| step |{head}", "|---|" + "---:|" * 3 * len(sizes)]
    for step, (_, title) in STEPS.items():
        cells = []
        for size in sizes:
            found = figures[size].get(step)
            shown = found and (found["seconds"], found["GB"], found["seconds"] / int(size))
            cells += [f"{shown[0]:.1f}", f"{shown[1]:.2f}", f"{shown[2]:.2f}"] if shown else ["", "", ""]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def files(figures: dict[str, dict[str, Figures]]) -> list[str]:
    lines = ["| rows | distinct | items in them | source, MB | `pcta`, MB | labels | `coherence`, MB |"]
    lines.append("|" + "---:|" * 7)
    for size in sorted(figures, key=int):
        of = figures[size]
        cells = [f"{size},000,000", f"{of['collapse']['distinct']:,}", f"{of['collapse']['occurrences']:,}"]
        cells += [f"{of['generate']['bytes'] / 1e6:,.0f}", f"{of['pcta']['bytes'] / 1e6:,.0f}"]
        cells += [str(of["pcta"]["labels"])]
        cells += [f"{of['coherence']['bytes'] / 1e6:,.0f}" if "coherence" in of else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def billion(figures: dict[str, dict[str, Figures]]) -> list[str]:
    """What a billion rows would take: calculated in proportion to the largest measurement."""
    *_, less, most = [0, *sorted(map(int, figures))]
    of = figures[str(most)]
    counting, recoding, whole = (
        of[step]["seconds"] * BILLION / most for step in ("collapse", "recode", "pcta")
    )
    alone = whole - recoding  # what one machine does with the distinct rows: merge them twice, decide, audit
    lines = ["| workers | counting, twice | recoding, twice | merging, deciding, auditing | all, minutes |"]
    lines.append("|" + "---:|" * 5)
    for workers in WORKERS:
        parts = [2 * counting / workers, 2 * recoding / workers, alone]
        minutes = [part / 60 for part in (*parts, sum(parts))]
        lines.append(f"| {workers} | " + " | ".join(f"{each:.1f}" for each in minutes) + " |")
    before = figures[str(less)]["pcta"]["GB"] if less else 0
    memory = (of["pcta"]["GB"] - before) / (most - less) * BILLION
    distinct = of["collapse"]["distinct"] / most * BILLION / 1e6
    return [*lines, "", f"Memory of the client: {memory:.0f} GB, for {distinct:.0f} million distinct rows."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="for files and figures")
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10, 50], help="of rows")
    asked = parser.parse_args()
    directory = asked.keep.absolute()
    known = directory / "figures.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import growth, json, pathlib;"
    for millions in asked.millions:
        of = figures.setdefault(str(millions), {})
        for step in STEPS:
            if step not in of:
                call = f"growth.measured({step!r}, pathlib.Path({str(directory)!r}), {millions})"
                of[step] = json.loads(fresh_process(f"{here} print(json.dumps({call}))"))
                known.write_text(json.dumps(figures))
                print(millions, step, of[step], flush=True)
    text = [
        f"Measured {date.today()} by `docs/scripts/growth.py` on {machine()}.",
        "",
        *table(figures),
        "",
        *files(figures),
    ]
    text += ["", "#### A billion rows on a cluster, calculated", "", *billion(figures)]
    write_section("speed/growth.md", "growth", text)


if __name__ == "__main__":
    main()
