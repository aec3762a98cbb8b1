"""Try faults on copies of the checkout: ``python -m tests.mutants [--tier fast] [NAME ...]``.

For each fault, the tests that reach it run, each file of them up to its first failure. So it is known which
files find it. Results are lines of JSON in a file; a later call continues there. All faults take hours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from time import perf_counter

from tests.mutants.faults import ROOT, Fault, read_faults
from tests.mutants.reach import PYTEST, TIERS, Reach, environment, read_reach
from tests.mutants.selection import file_of

UNTRACKED = ("build/kernels-*", "pdanon/_kernels/*.so", "pdanon/_kernels/*.pyd", "pdanon/_kernels/*.sha256")
READING = Lock()  # of what reaches a fault: the first call runs all tests of the tier
LIMIT = 600  # seconds; tests that take longer hang, and so find the fault


def copy_checkout(target: Path) -> None:
    """Copy the tracked files, and what is compiled."""
    command = ["git", "ls-files", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    compiled = [path.relative_to(ROOT) for pattern in UNTRACKED for path in ROOT.glob(pattern)]
    for name in [*map(Path, filter(None, names.split("\0"))), *compiled]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target / name)


def failures(copy: Path, tests: Sequence[str], tier: str, seconds: float, python: Path) -> dict[str, str]:
    """Run tests of a copy; return the first that fails of each file."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "selected.txt").write_text("\n".join(tests))
        files = [file for file in dict.fromkeys(map(file_of, tests)) if (copy / file).exists()]
        limits = {"PDANON_MUTANTS_SECONDS": str(seconds), "PDANON_EXAMPLES": TIERS[tier].examples}
        command = [python, *PYTEST, "-n", "0", "--continue-on-collection-errors", *TIERS[tier].arguments]
        variables = environment(folder, copy) | limits
        try:
            subprocess.run([*command, *files], cwd=copy, env=variables, capture_output=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return {"": "the tests hang"}
        if not (folder / "outcomes.json").exists():
            return {"": "the tests do not start"}
        outcomes = json.loads((folder / "outcomes.json").read_text())
        failed = [test for test, (outcome, _) in outcomes.items() if outcome == "failed"]
    first: dict[str, str] = {}
    for test in failed:
        first.setdefault(file_of(test), test)
    return first


def try_fault(
    fault: Fault, copy: Path, tiers: Sequence[str], seconds: float, last: Container[str]
) -> dict[str, object]:
    """Apply a fault, and run the tests of one tier after the other until some fail; undo the fault.

    The test files that found it ``last`` run first.
    """
    path = copy / fault.file
    original, began = path.read_bytes(), perf_counter()
    python = ROOT / ".venv-lowest" / "bin" / "python" if fault.step == "lowest" else Path(sys.executable)
    try:
        fault.apply(copy)
        compile_kernels(copy, fault, *(["--checked"] if fault.step == "checked" else []))
        for tier in tiers:
            with READING:
                tests = read_reach(tier).tests(fault)
            tests.sort(key=lambda test: file_of(test) not in last)
            found = failures(copy, tests, tier, seconds, python)
            if found:
                tier = "ci" if fault.step else tier
                break
    finally:
        path.write_bytes(original)
        compile_kernels(copy, fault)
    return {
        "name": fault.name, "tier": tier if found else "", "found": found,
        "seconds": round(perf_counter() - began),
    }  # fmt: skip


def compile_kernels(copy: Path, fault: Fault, *how: str) -> None:
    """Compile the kernels of a copy, if a fault is in one."""
    if fault.is_kernel:
        subprocess.run([sys.executable, "build_kernels.py", *how], cwd=copy, check=True, capture_output=True)


def worth(results: Sequence[dict], reach: Reach) -> Iterator[str]:
    """Tell what each test file costs and finds: all that it finds, and what no other file finds."""
    seconds: dict[str, float] = {}
    for test, spent in reach.seconds.items():
        seconds[file_of(test)] = seconds.get(file_of(test), 0) + spent
    found = {file: [each["name"] for each in results if file in each["found"]] for file in seconds}
    alone = {file: [each["name"] for each in results if [*each["found"]] == [file]] for file in seconds}
    yield "| file | seconds | finds | finds alone |"
    yield "|---|---:|---:|---:|"
    for file in sorted(seconds, key=seconds.__getitem__, reverse=True):
        yield f"| `{file}` | {seconds[file]:.1f} | {len(found[file])} | {len(alone[file])} |"


def main() -> int:
    """Try all faults, or those named, and print which tests found each. Return 1 if some were not found."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to try (default: all)")
    parser.add_argument("--tier", choices=TIERS, default="fast", help="tests to run at most (default: fast)")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time (default: 2)")
    parser.add_argument("--seconds", type=float, default=40, help="of tests after a failure (default: 40)")
    parser.add_argument(
        "--again", action="store_true", help="try also what was found, with what found it first"
    )
    parser.add_argument("--worth", action="store_true", help="print what each test file finds")
    results_path = ROOT / "build" / "mutants.jsonl"
    parser.add_argument("--results", type=Path, default=results_path, help="lines of JSON")
    options = parser.parse_args()
    known = {fault.name: fault for fault in read_faults()}
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    options.results.parent.mkdir(exist_ok=True)
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    results = {each["name"]: each for each in map(json.loads, lines)}
    if options.worth:
        print("\n".join(worth([*results.values()], read_reach("fast"))))
        return 0
    last = {name: result["found"] for name, result in results.items()}
    names = options.names or [name for name in known if options.again or not last.get(name)]
    tiers = [*TIERS][: [*TIERS].index(options.tier) + 1]
    copies: SimpleQueue[Path] = SimpleQueue()

    def try_named(name: str) -> None:
        copy = copies.get()
        try:
            results[name] = result = try_fault(known[name], copy, tiers, options.seconds, last.get(name, ()))
        finally:
            copies.put(copy)
        print(json.dumps(result), file=file, flush=True)
        first = next(iter(result["found"].values()), "NOT FOUND")
        print(f"{name}: {first}, {len(result['found'])} files ({result['seconds']} s)", flush=True)

    with (
        tempfile.TemporaryDirectory(prefix="pdanon-mutants-") as place,
        options.results.open("a") as file,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        for number in range(options.jobs):
            copy_checkout(Path(place, str(number)))
            copies.put(Path(place, str(number)))
        for _ in pool.map(try_named, names):
            pass
    tried = sorted(known.keys() & results.keys())
    left = [name for name in tried if not results[name]["found"]]
    found, rest = len(tried) - len(left), len(known) - len(tried)
    print(f"\n{found} of {len(tried)} faults were found; {rest} are not tried")
    for name in left:
        print(f"not found: {name}, in {known[name].file}: {known[name].breaks}")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
