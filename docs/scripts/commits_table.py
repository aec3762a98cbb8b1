"""Time the last commit of each of some days by asv, and write tables/speed/commits.md.

Run from the root of the checkout: ``python docs/scripts/commits_table.py 2026-11-20 2026-11-24``. Without
days, the commits that asv has timed are written again. Needs asv and virtualenv, the extra ``speed``.
"""

import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.commits.timed.calls import CALLS  # noqa: E402

CONFIG = ROOT / "tests" / "commits" / "asv.conf.json"
BENCHMARK = "calls.Calls.track_time"


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def asv(*words: str) -> None:
    """Run asv; a call that a commit does not know fails there, and has an empty cell."""
    subprocess.run([sys.executable, "-m", "asv", "--config", CONFIG, *words], check=False)


def measure(days: list[str]) -> None:
    """Have asv build and time the commits that it has not timed yet."""
    asv("machine", "--yes")
    for day in days:
        commit = git("rev-list", "-1", f"--before={day}T23:59:59Z", "HEAD")
        asv("run", "--skip-existing-successful", f"{commit}^!")


def lines() -> list[str]:
    """Return the table: a line a commit, the newest first, and a column a call."""
    from asv.config import Config
    from asv.results import iter_results

    folder = CONFIG.parent / Config.load(str(CONFIG)).results_dir
    results = {result.commit_hash: result for result in iter_results(str(folder))}
    table = [f"| commit | {' | '.join(CALLS)} |", "|---|" + "---:|" * len(CALLS)]
    for commit in sorted(
        results, key=lambda commit: int(git("show", "-s", "--format=%ct", commit)), reverse=True
    ):
        times = results[commit].get_result_value(BENCHMARK, [[repr(call) for call in CALLS]])
        cells = ["" if time is None or time != time else f"{time:.2f}" for time in times]
        table.append(f"| {git('show', '-s', '--format=%cs `%h`', commit)} | {' | '.join(cells)} |")
    return table


def main() -> None:
    measure(sys.argv[1:])
    text = [f"Measured {date.today()} by `{Path(__file__).relative_to(ROOT)}` on {machine()}.", "", *lines()]
    write_section("speed/commits.md", "commits", text)


if __name__ == "__main__":
    main()
