"""Run the benchmarks: ``python -m tests.benchmarks [--write] [topic ...]``."""

import argparse
from datetime import date
from importlib import import_module
from pathlib import Path

from tests.benchmarks.measure import Figure, machine

TOPICS = {
    "core": "Encoding, counting, audit, PCTA, Apriori",
    "km_family": "The rest of the k^m family",
    "refine": "Refinement",
    "coherence": "Coherence",
    "groups": "Partition and Clump",
    "measures": "Queries and the attack",
    "rt": "Quasi-identifiers and items together",
    "stream": "Larger than memory",
}
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def line(figure: Figure) -> str:
    reference = f"{figure.reference_seconds:.3f} s" if figure.reference_seconds is not None else ""
    met = {True: "yes", False: "**no**", None: ""}[figure.met]
    cells = (figure.work, figure.reference, reference, figure.measured, figure.bar, met)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", default=list(TOPICS), choices=list(TOPICS), help="which to run")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} of the documentation")
    asked = parser.parse_args()
    lines = [
        "# Benchmarks",
        "",
        "Made by `python -m tests.benchmarks --write`; medians of runs in turn with the reference.",
        f"Measured {date.today()} on {machine()}.",
    ]
    print(lines[-1])
    for topic in asked.topics:
        lines += ["", f"## {TOPICS[topic]}", ""]
        lines += ["| work | reference | its time | measured | bar | met |", "|---|---|---|---|---|---|"]
        for figure in import_module(f"tests.benchmarks.{topic}").figures():
            lines.append(line(figure))
            print(lines[-1], flush=True)
    if asked.write:
        PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
