"""Run the benchmarks: ``python -m tests.benchmarks [--write] [topic ...]``."""

import argparse
import compileall
from datetime import date
from importlib import import_module
from pathlib import Path

import pdanon
from tests.benchmarks.measure import Figure, machine
from tests.benchmarks.pages import section, write_section

TOPICS = {
    "start": "A first release, and a second thread",
    "core": "Encoding, counting, audit, PCTA, Apriori",
    "km_family": "The rest of the k^m family",
    "refine": "Refinement",
    "coherence": "Coherence",
    "inferences": "Inferences of sensitive items",
    "groups": "Partition and Clump",
    "hiding": "CAHD and disassociation",
    "measures": "Queries and the attack",
    "limits": "Many items, and long rows",
    "rt": "Quasi-identifiers and items together",
    "stream": "Larger than memory",
    "beyond": "The risk beyond the guarantee",
}
PAGE = "speed/benchmarks.md"


def line(figure: Figure) -> str:
    reference = f"{figure.reference_seconds:.3f} s" if figure.reference_seconds is not None else ""
    met = {True: "yes", False: "**no**", None: ""}[figure.met]
    cells = (figure.work, figure.reference, reference, figure.measured, figure.bar, met)
    return "| " + " | ".join(cells) + " |"


def run(topic: str) -> str:
    """Run a topic, and print its figures as they come."""
    lines = [f"### {TOPICS[topic]}", "", f"Measured {date.today()} on {machine()}.", ""]
    lines += ["| work | reference | its time | measured | bar | met |", "|---|---|---|---|---|---|"]
    print(lines[2])
    for figure in import_module(f"tests.benchmarks.{topic}").figures():
        lines.append(line(figure))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def verdict(tables: str) -> list[str]:
    """Count the bars that are met, and list the others."""
    lines = [
        text.strip("| ").split(" | ") for text in tables.splitlines() if text.endswith(("yes |", "no** |"))
    ]
    missed = [cells for cells in lines if cells[-1] != "yes"]
    text = [f"{len(lines) - len(missed)} of {len(lines)} bars are met.", ""]
    if missed:
        text += ["| bar that is not met | measured | bar |", "|---|---|---|"]
        text += [f"| {cells[0]} | {cells[-3]} | {cells[-2]} |" for cells in missed]
    return [*text, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="*", help=f"of {', '.join(TOPICS)}; all if none is named")
    parser.add_argument("--write", action="store_true", help=f"write into tables/{PAGE}")
    asked = parser.parse_args()
    compileall.compile_dir(Path(pdanon.__file__).parent, quiet=1)  # as pip does: imports are measured
    written = f"\n{section(PAGE, 'benchmarks')}".split("\n### ")[1:]
    sections = {text.partition("\n")[0]: f"### {text.rstrip()}\n" for text in written}
    for topic in asked.topics or TOPICS:
        sections[TOPICS[topic]] = run(topic)
    if asked.write:
        order = [sections[title] for title in TOPICS.values() if title in sections]
        write_section(PAGE, "benchmarks", [*verdict("".join(order)), *order])


if __name__ == "__main__":
    main()
