"""Release tiny tables in every form, judge them by original items, and write a part of tables/checks.md.

Run from the root of the checkout: ``python docs/scripts/hold_table.py --tables 500000 --processes 2``.
It takes two hours of processor time. It prints each failure with its form and seed, and ends with 1 if
there is one.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

# How many of a hundred tables have each form: files, partitions and commands take longer.
SHARES = {
    "rows": 44,
    "deletions": 20,
    "persons": 12,
    "series": 6,
    "raw forms": 8,
    "samples": 6,
    "files": 3,
    "persons in files": 0.6,
    "partitions": 0.2,
    "command line": 0.2,
}
SIZE = 250  # tables that a process judges at once
BROKEN, REFUSED = "**broken**", "refused"


def judge(seeds: range) -> Counter[tuple[str, str, str]]:
    """Count tables by form, algorithm and guarantee, and print what is broken."""
    from tiny_tables import outcome_of

    import pdanon

    pdanon.config(threads=1)
    found: Counter[tuple[str, str, str]] = Counter()
    for seed in seeds:
        (form,) = Random(seed).choices([*SHARES], [*SHARES.values()])
        try:
            name, guarantee, broken = outcome_of(form, seed)
        except Exception as error:
            name, guarantee, broken = "", "", (repr(error),)
        found[form, name, guarantee or REFUSED] += 1
        if broken:
            found[form, name, BROKEN] += 1
            print(f"{form}, seed {seed}: {name}, {guarantee}: {'; '.join(broken[:3])}", flush=True)
    return found


def count(counts: Counter[tuple[str, str, str]], **asked: str) -> int:
    """Return the number of tables of a form, an algorithm or an outcome."""
    places = [("form", "algorithm", "outcome").index(name) for name in asked]
    return sum(
        n for key, n in counts.items() if all(map(str.__eq__, (key[i] for i in places), asked.values()))
    )


def lines(counts: Counter[tuple[str, str, str]]) -> list[str]:
    """Return the tables by outcome and form, and by algorithm."""
    outcomes = sorted({key[2] for key in counts} - {BROKEN, REFUSED})
    head = ["outcome", *SHARES, "all"]
    table = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for outcome in [*outcomes, REFUSED, BROKEN]:
        own = [count(counts, form=form, outcome=outcome) for form in SHARES]
        table.append(f"| {outcome} | " + " | ".join(f"{each:,}" for each in [*own, sum(own)]) + " |")
    table += ["", "| algorithm | released | refused | broken |", "|---|---:|---:|---:|"]
    merged: Counter[tuple[str, str, str]] = Counter()
    for (form, name, outcome), n in counts.items():
        merged[form, name.split(", ")[-1], outcome] += n
    for name in sorted({key[1] for key in merged if key[2] != REFUSED}):
        refused, broken = (count(merged, algorithm=name, outcome=each) for each in (REFUSED, BROKEN))
        released = count(merged, algorithm=name) - refused - broken
        table.append(f"| `{name}` | {released:,} | {refused:,} | {broken:,} |")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each table has the next one")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="end after so long, and report the seeds up to there")
    asked = parser.parse_args()
    end, began = asked.seed + asked.tables, time.monotonic()
    parts = [range(first, min(first + SIZE, end)) for first in range(asked.seed, end, SIZE)]
    counts: Counter[tuple[str, str, str]] = Counter()
    minutes, done = 0.0, 0
    with ProcessPoolExecutor(asked.processes) as pool:
        for part, found in zip(parts, pool.map(judge, parts), strict=True):
            counts += found
            done, minutes = part.stop - asked.seed, (time.monotonic() - began) / 60
            if asked.minutes is not None and minutes > asked.minutes:
                pool.shutdown(cancel_futures=True)
                break
    broken = count(counts, outcome=BROKEN)
    released = done - count(counts, outcome=REFUSED)
    seeds = f"{asked.seed:,} to {asked.seed + done - 1:,}"
    text = (
        f"Counted {date.today()} by `docs/scripts/hold_table.py` in {minutes:.0f} minutes by"
        f" {asked.processes} processes on {machine()}."
        f" Seeds {seeds}: {released:,} releases, {broken:,} broken."
    )
    write_section("checks.md", "tiny", [text, "", *lines(counts)])
    print(text)
    return broken > 0


if __name__ == "__main__":
    sys.exit(main())
