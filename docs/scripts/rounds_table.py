"""Measure releases without all distinct rows in memory, and write them to tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/rounds_table.py --keep DIR [--millions 10]``. Files
and figures stay in DIR, as those of ``growth.py``: a run goes on where another one ended.
"""

import argparse
import json
import resource
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pdanon import stream  # noqa: E402
from pdanon.evaluation.fingerprint import content_hash  # noqa: E402
from pdanon.itemsets import encoded_columns  # noqa: E402
from tests.benchmarks.measure import fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.benchmarks.stream import write  # noqa: E402

NEVER = 2**40  # rows
BILLION = 1000  # millions
Figures = dict[str, Any]


def measured(directory: Path, millions: int, *, by_pairs: bool) -> Figures:
    """Return processor time, peak memory and result of a release, of all distinct rows or by pairs."""
    if not by_pairs:
        encoded_columns.MANY_ROWS = NEVER
    target = directory / f"rounds{millions}.parquet"
    target.unlink(missing_ok=True)
    start = time.process_time()
    result = stream.pcta(directory / f"{millions}.parquet", target, k=5, m=2)
    found: Figures = {"seconds": time.process_time() - start}
    found["GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found["labels"], found["mapping"] = result.mapping["generalized"].nunique(), content_hash(result.mapping)
    if result.rounds is not None:
        found["rounds"], found["rows"] = len(result.rounds), int(result.rounds["rows"].sum())
        found["MB"] = result.rounds["bytes"].sum() / 1e6
    return found


def table(figures: dict[str, dict[str, Figures]]) -> list[str]:
    head = ("million rows", "all distinct rows: s", "GB", "by pairs: s", "GB", "rounds", "rows read", "MB")
    lines = ["| " + " | ".join([*head, "same labels"]) + " |"]
    lines.append("|" + "---:|" * 9)
    for size in sorted(figures, key=int):
        rows, pairs = figures[size]["rows"], figures[size]["pairs"]
        cells = [size, f"{rows['seconds']:.1f}", f"{rows['GB']:.2f}", f"{pairs['seconds']:.1f}"]
        cells += [f"{pairs['GB']:.2f}", str(pairs["rounds"]), f"{pairs['rows']:,}", f"{pairs['MB']:.0f}"]
        cells.append("yes" if rows["mapping"] == pairs["mapping"] else "no")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def billion(figures: dict[str, dict[str, Figures]]) -> str:
    """The memory that a billion rows would take by pairs, in proportion to the last two measurements."""
    *_, less, most = sorted(map(int, figures))
    smaller, larger = (figures[str(each)]["pairs"]["GB"] for each in (less, most))
    memory = larger + max(larger - smaller, 0) / (most - less) * (BILLION - most)
    return (
        f"A billion rows by pairs, calculated: {memory:.1f} GB, if memory grows with the rows as from {less} "
        f"to {most} million."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="for files and figures")
    parser.add_argument("--millions", type=int, nargs="+", default=[10], help="of rows")
    asked = parser.parse_args()
    directory = asked.keep.absolute()
    known = directory / "rounds.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    here = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import rounds_table, json, pathlib;"
    )
    for millions in asked.millions:
        source = directory / f"{millions}.parquet"
        if not source.exists():
            write(source, millions)
        of = figures.setdefault(str(millions), {})
        for name in ("pairs", "rows"):
            if name not in of:
                place, way = f"pathlib.Path({str(directory)!r})", name == "pairs"
                call = f"rounds_table.measured({place}, {millions}, by_pairs={way})"
                of[name] = json.loads(fresh_process(f"{here} print(json.dumps({call}))"))
                known.write_text(json.dumps(figures))
                print(millions, name, of[name], flush=True)
    text = [f"Measured {date.today()} by `docs/scripts/rounds_table.py` on {machine()}.", "", *table(figures)]
    if len(figures) > 1:
        text += ["", billion(figures)]
    write_section("speed/growth.md", "rounds", text)


if __name__ == "__main__":
    main()
