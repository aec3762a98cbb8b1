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
HEAD = """\
# Benchmarks

Made by `python -m tests.benchmarks --write`; medians of runs in turn with the reference.
"""
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def line(figure: Figure) -> str:
    reference = f"{figure.reference_seconds:.3f} s" if figure.reference_seconds is not None else ""
    met = {True: "yes", False: "**no**", None: ""}[figure.met]
    cells = (figure.work, figure.reference, reference, figure.measured, figure.bar, met)
    return "| " + " | ".join(cells) + " |"


def section(topic: str) -> str:
    """Run a topic, and print its figures as they come."""
    lines = [f"## {TOPICS[topic]}", "", f"Measured {date.today()} on {machine()}.", ""]
    lines += ["| work | reference | its time | measured | bar | met |", "|---|---|---|---|---|---|"]
    print(lines[2])
    for figure in import_module(f"tests.benchmarks.{topic}").figures():
        lines.append(line(figure))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", default=list(TOPICS), choices=list(TOPICS), help="which to run")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} of the documentation")
    asked = parser.parse_args()
    _, *written = PAGE.read_text().split("\n## ")
    sections = {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in written}
    for topic in asked.topics:
        sections[TOPICS[topic]] = section(topic)
    if asked.write:
        order = [sections[title] for title in TOPICS.values() if title in sections]
        PAGE.write_text("\n".join([HEAD, *order]))


if __name__ == "__main__":
    main()
