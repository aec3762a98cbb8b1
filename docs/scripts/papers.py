"""Measure what the claims of the papers are compared with, and write tables/papers/claims.md.

Run from the root of the checkout: ``python docs/scripts/papers.py [--page]``. A script runs again only if the
script, the data, or the code of the library has changed since; ``--page`` runs none. Docstrings are no code.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from paper_claims import CLAIMS  # noqa: E402

from tests.benchmarks.measure import DATA  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DONE = ROOT / "tests" / "benchmarks" / "tables" / "papers" / "fingerprints.json"
# What decides the figures of a release of a frame; other packages show them, or release tables in files.
PACKAGES = (
    "_kernels",
    *(f"algorithms/{name}" for name in ("items", "refinement", "relational", "rt", "states")),
    *("evaluation/metrics", "guarantees", "hierarchy", "itemsets", "recoding"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from the tables that exist")
    if not parser.parse_args().page:
        done = json.loads(DONE.read_text(encoding="utf-8")) if DONE.exists() else {}
        for script in sorted({each.script for each in CLAIMS}):
            found = fingerprint(script)
            if done.get(script) == found:
                print(f"{script}: unchanged", flush=True)
                continue
            print(f"{script} ...", flush=True)
            subprocess.run([sys.executable, str(Path(__file__).parent / script)], check=True, cwd=ROOT)
            done[script] = found
            DONE.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    write_section("papers/claims.md", "claims", page())


def fingerprint(script: str) -> str:
    """Return a checksum of a script, the data, and the code of the library without its docstrings."""
    total = hashlib.sha256()
    library = [path for name in PACKAGES for path in sorted((ROOT / "pdanon" / name).rglob("*.py"))]
    for path in [Path(__file__).parent / script, *library]:
        total.update(_code_of(path).encode())
    for path in sorted(DATA.rglob("*")):
        if path.suffix in (".parquet", ".csv"):
            total.update(path.name.encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def _code_of(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value = ast.Constant(None)
    return ast.dump(tree)


def page() -> list[str]:
    """Return the lines of the page: a table for each paper."""
    lines: list[str] = []
    for paper in dict.fromkeys(each.paper for each in CLAIMS):
        lines += [f"## {paper}", "", "| claim | where | here | verdict | script |", "|---" * 5 + "|"]
        for claim in CLAIMS:
            if claim.paper != paper:
                continue
            here, verdict = claim.check()
            if verdict != claim.verdict:
                raise SystemExit(f"{claim.text}: stated as {claim.verdict!r}, but it {verdict!r}: {here}")
            reason = f": {claim.reason}" if claim.reason else ""
            cells = [claim.text, claim.where, here, f"**{verdict}**{reason}", f"`{claim.script}`"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return lines


if __name__ == "__main__":
    main()
