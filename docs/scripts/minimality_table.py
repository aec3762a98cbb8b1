"""Count the tables that an attacker who runs the algorithm gives away, and write tables/minimality.md.

Run from the root of the checkout: ``python docs/scripts/minimality_table.py``. What stands around the figures
stays. Takes some minutes.
"""

import sys
import warnings
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks import minimality as attack  # noqa: E402
from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

N_ROWS, N_ROWS_SEED = (3, 4), 3
COLUMNS = "| algorithm | m | 3 rows, % | 4 rows, % | a table | 3 rows, seed, % |"


def line(name: str, case: attack.Case, m: int) -> str:
    """Measure an algorithm."""
    shares, example = [], ""
    for n_rows in N_ROWS:
        made = attack.releases(case, n_rows, m)
        found = attack.given_away(case, m, made, [made])
        shares.append(share(found, made))
        example = example or " ".join("".join(sorted(attack.ROWS[each])) for each in next(iter(found), ()))
    secret = ""
    if case.takes_seed:
        drawn = [attack.releases(case, N_ROWS_SEED, m, seed) for seed in attack.seeds()]
        found = [share(attack.given_away(case, m, each, drawn), each) for each in drawn]
        secret = f"{sum(found) / len(found):.2f}"
    cells = [*(f"{each:.2f}" for each in shares), f"`{example}`" if example else "", secret]
    return "| " + " | ".join([f"`{name}`", str(m) if case.takes_m else "", *cells]) + " |"


def share(found: list[attack.Table], made: attack.Releases) -> float:
    """Return the share of tables, in percent, that are given away."""
    return 100 * len(found) / len(made)


def main() -> None:
    warnings.simplefilter("ignore", pdanon.ReleaseWarning)
    lines = []
    for name, case in attack.CASES.items():
        for m in (1, 2) if case.takes_m else (3,):
            lines.append(line(name, case, m))
            print(lines[-1], flush=True)
    text = [f"Counted {date.today()} by `docs/scripts/minimality_table.py` on {machine()}.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *lines]
    write_section("minimality.md", "minimality", text)


if __name__ == "__main__":
    main()
