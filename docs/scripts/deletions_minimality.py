"""Count the tiny tables that deletions and mixtures give away, and write a part of tables/minimality.md.

Run from the root of the checkout: ``python docs/scripts/deletions_minimality.py``. It takes minutes.
"""

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import pdanon  # noqa: E402
from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.naive.minimality import Row, lost, share_given_away, tables  # noqa: E402

K, M = 2, 2
SIZES = (("abc", 3), ("abc", 4), ("abc", 5))
KINDS: dict[str, Callable[..., pdanon.Anonymized]] = {
    "sets, `pcta`": pdanon.pcta,
    "sets, refined": lambda frame, **asked: pdanon.pcta(frame, refine=True, **asked),
    "deletions": pdanon.local_suppression,
    "mixture, price 1": lambda frame, **asked: pdanon.local_suppression(frame, deletion_price=1, **asked),
    "mixture, price 4": lambda frame, **asked: pdanon.local_suppression(frame, deletion_price=4, **asked),
}
COLUMNS = "| release | " + " | ".join(f"{len(items)} items, {n} rows" for items, n in SIZES) + " |"


def released(release: Callable[..., pdanon.Anonymized], table: tuple[Row, ...]) -> list[Row]:
    frame = pd.DataFrame({"items": pdanon.as_itemsets([sorted(row) for row in table])})
    return [frozenset(row) for row in release(frame, k=K, m=M).frame["items"]]


def main() -> None:
    shares: dict[str, list[str]] = {}
    for name, release in KINDS.items():
        for size in SIZES:
            made = [(table, released(release, table)) for table in tables(*size)]
            shares.setdefault(name, []).append(f"{100 * share_given_away(made, K, M):.2f}")
            if name == "deletions":
                share = share_given_away(made, K, M, lost)
                shares.setdefault("deletions, with their numbers", []).append(f"{100 * share:.2f}")
        print(name, *shares[name], flush=True)
    lines = ["| " + " | ".join([name, *cells]) + " |" for name, cells in shares.items()]
    when = f"Measured {date.today()} by `docs/scripts/deletions_minimality.py` on {machine()}"
    text = [f"{when}; k = {K}, m = {M}.", "", COLUMNS, "|---" * (len(SIZES) + 1) + "|", *lines]
    write_section("minimality.md", "deletions", text)


if __name__ == "__main__":
    main()
