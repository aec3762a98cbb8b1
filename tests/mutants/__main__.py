"""Try faults on a copy of the checkout: ``python -m tests.mutants [--tier fast] [NAME ...]``.

For each fault, the tests run up to the first that fails, those near the file first. Results are lines of
JSON in a file; a later call continues there. All faults take hours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from tests.mutants.faults import ROOT, Fault, read_faults

# The tests of each tier, in the order in which they run. Each tier holds those before it.
TIERS: dict[str, Sequence[str]] = {
    "near": (),
    "fast": (),
    "ci": ("-m", "slow or hypothesis or seeds"),
    "all": ("-m", "slow or hypothesis or seeds"),
}
EXAMPLES = {"ci": "many", "all": "all"}
UNTRACKED = ("build", "pdanon/_kernels/*.so", "pdanon/_kernels/*.pyd", "pdanon/_kernels/*.sha256")


def copy_checkout(target: Path) -> None:
    """Copy the tracked files, and what is compiled."""
    command = ["git", "ls-files", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    compiled = [path.relative_to(ROOT) for pattern in UNTRACKED for path in ROOT.glob(pattern)]
    for name in [*map(Path, filter(None, names.split("\0"))), *compiled]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target / name)


def tests_near(file: str) -> list[str]:
    """Return the paths of the tests that mirror a file, or its package."""
    path = Path("tests", *Path(file).parts[1:])
    if path.parent.name == "_kernels":
        path = Path("tests", "kernels", path.name)
    test = path.with_name(f"test_{path.name.lstrip('_')}")
    places = [test, *(parent for parent in path.parents if parent.name not in ("tests", ""))]
    found = [place for place in places if (ROOT / place).exists()][:1]
    # The tests of a package without a folder are named after it, such as test_stream_types.py.
    named = ROOT.glob(f"tests/**/test_{path.parts[1]}*.py")
    beside = sorted(each.relative_to(ROOT) for each in named)
    return [str(place) for place in found or beside]


def first_failure(copy: Path, arguments: Sequence[str], examples: str = "") -> str:
    """Run tests up to the first failure; return its name, or nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", *arguments]
    data = os.environ.get("PDANON_DATA", str(ROOT.parent / "shared" / "data"))
    environment = {**os.environ, "PYTHONPATH": str(copy), "PDANON_DATA": data, "PDANON_EXAMPLES": examples}
    ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    if ran.returncode in (0, 5):  # 5: no test
        return ""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return found[1] if found else "the tests do not start"


def compile_kernels(copy: Path, fault: Fault) -> None:
    """Compile the kernels of a copy, if a fault is in one."""
    if fault.is_kernel:
        subprocess.run([sys.executable, "build_kernels.py"], cwd=copy, check=True, capture_output=True)


def try_fault(fault: Fault, copy: Path, tier: str) -> dict[str, object]:
    """Apply a fault, and run tests until one fails; undo the fault."""
    path = copy / fault.file
    original, began = path.read_bytes(), perf_counter()
    try:
        fault.apply(copy)
        compile_kernels(copy, fault)
        failed = ""
        for name, arguments in TIERS.items():
            near = tests_near(fault.file) if name == "near" else []
            if name != "near" or near:
                failed = first_failure(copy, [*near, *arguments], EXAMPLES.get(name, ""))
            if failed or name == tier:
                break
    finally:
        path.write_bytes(original)
        compile_kernels(copy, fault)
    seconds = round(perf_counter() - began)
    return {"name": fault.name, "tier": name if failed else "", "test": failed, "seconds": seconds}


def main() -> None:
    """Try all faults, or those named, and print which test found each."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to try (default: all)")
    parser.add_argument("--tier", choices=TIERS, default="fast", help="the last tests to run (default: fast)")
    results_path = ROOT / "build" / "mutants.jsonl"
    parser.add_argument("--results", type=Path, default=results_path, help="lines of JSON")
    options = parser.parse_args()
    known = {fault.name: fault for fault in read_faults()}
    if unknown := set(options.names) - known.keys():
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    options.results.parent.mkdir(exist_ok=True)
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    results = {each["name"]: each for each in map(json.loads, lines)}
    with tempfile.TemporaryDirectory(prefix="pdanon-mutants-") as place, options.results.open("a") as file:
        copy = Path(place, "pdanon")
        copy_checkout(copy)
        for name in options.names or [name for name in known if not results.get(name, {}).get("test")]:
            results[name] = result = try_fault(known[name], copy, options.tier)
            print(json.dumps(result), file=file, flush=True)
            print(f"{name}: {result['test'] or 'NOT FOUND'} ({result['seconds']} s)", flush=True)
    tried = sorted(known.keys() & results.keys())
    left = [name for name in tried if not results[name]["test"]]
    found, rest = len(tried) - len(left), len(known) - len(tried)
    print(f"\n{found} of {len(tried)} faults were found; {rest} are not tried")
    for name in left:
        print(f"not found: {name}, in {known[name].file}: {known[name].breaks}")


if __name__ == "__main__":
    main()
