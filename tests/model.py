"""The tables of docs/proofs/model.md: what is proven, tested or refuted, and the tables that refute it."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import against
import pandas as pd
from attacked_tables import Case
from attacker import Knowledge, knowledge_of
from families import RELATIONAL, RT

import pdanon

PAGE = Path(__file__).parents[1] / "docs" / "proofs" / "model.md"
ATTACKERS = ("A0", "A1", "A2", "A3")
TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}
OWN = {"rum_bound": {"delta": 1}, "tum_bound": {"delta": 1}, "tfirst": {"parts": 1}}


class Claims(NamedTuple):
    """A line of the table: what it says of a guarantee of some algorithms, by attacker."""

    guarantee: str
    algorithms: tuple[str, ...]
    refined: bool
    cells: dict[str, str]


class Refuted(NamedTuple):
    """A line of the tables that refute, for one of its algorithms."""

    attacker: str
    guarantee: str
    algorithm: str
    asked: dict[str, Any]
    table: str
    known: str
    promised: Fraction
    left: Fraction

    @property
    def is_refined(self) -> bool:
        """Whether the release is refined."""
        return bool(self.asked.get("refine")) and self.algorithm not in RT


def _lines(section: str) -> list[list[str]]:
    text = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (own,) = (each for each in text if each.startswith(section))
    lines = [line for line in own.splitlines() if line[:1] == "|"][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def claims() -> list[Claims]:
    """Return the lines of the table."""
    found = []
    for guarantee, names, *cells in _lines("The table"):
        shown = dict(zip(ATTACKERS, cells, strict=True))
        algorithms = tuple(re.findall(r"`(\w+)`", names))
        found.append(Claims(guarantee.strip("`"), algorithms, names.endswith("refined"), shown))
    return found


def refuted() -> list[Refuted]:
    """Return the tables that refute, one line for each algorithm."""
    found = []
    for attacker, guarantee, names, arguments, *table, promised, left in _lines("Refuted"):
        for name in re.findall(r"`(\w+)`", names):
            asked = eval(f"dict({arguments.strip('`')})", {"T": TREE})
            words = (each.strip("`") for each in table)
            shares = Fraction(promised), Fraction(left)
            found.append(Refuted(attacker, guarantee.strip("`"), name, asked, *words, *shares))
    return found


def play(line: Refuted) -> tuple[str, Fraction, Fraction]:
    """Return the guarantee of a release, and what it and the attacker leave of the known items."""
    if line.algorithm in RELATIONAL:
        return "KAnonymity", *_play_values(line)
    rows = line.table.split()
    table = {"items": ([list(row) for row in rows], "object"), "sex": (["f"] * len(rows), "str")}
    asked = line.asked | OWN.get(line.algorithm, {}) if line.algorithm in RT else {**line.asked}
    if line.is_refined:
        del asked["refine"]
    case = Case(line.algorithm, table, asked, ["items"], "NCP" if line.is_refined else None)
    frame, result = against.released(case)
    if line.attacker == "A2":
        return type(result.guarantee).__name__, *_play_groups(line, frame, result)
    chance = line.promised < 1
    promise = against.Promise(
        [frozenset(row) for row in rows],
        secrets=frozenset("s") if chance else frozenset(),
        in_order=line.algorithm != "disassociate",
    )
    possible, same = against.originals(case)
    before, after = (against.concluded(promise, each, frozenset(line.known)) for each in (possible, same))
    return type(result.guarantee).__name__, Fraction(before[chance]), Fraction(after[chance])


def _play_groups(line: Refuted, frame: pd.DataFrame, result: pdanon.Anonymized) -> tuple[Fraction, Fraction]:
    """Count the rows that match without and with the groups."""
    own = knowledge_of(frame, result, ["items"])
    groups = result.groups.tolist()
    known = frozenset((0, item) for item in line.known)
    everywhere: dict[Any, set] = {}
    for (_, item), labels in own.became.items():
        everywhere.setdefault((0, item), set()).update(labels)
    without = Knowledge(own.rows, own.published, everywhere)
    with_groups = Knowledge(own.rows, own.published, own.became, groups, groups)
    found = [each.finds({*each.public}, known) for each in (without, with_groups)]
    return Fraction(len(found[0])), Fraction(len(found[1]))


def _play_values(line: Refuted) -> tuple[Fraction, Fraction]:
    """Count the rows of a class, and those that can have a value if the algorithm is run on all tables."""
    values = [int(value) for value in line.table.split()]
    release = getattr(pdanon, line.algorithm)

    def shown(table: Any) -> list[str]:
        return [*map(str, release(pd.DataFrame({"q": table}), **line.asked).frame["q"])]

    published = shown(values)
    rows = [[low <= int(line.known) <= high for low, high in [bounds(cell)]] for cell in published]
    same = [table for table in product(sorted({*values}), repeat=len(values)) if shown(table) == published]
    places = {place for table in same for place, value in enumerate(table) if value == int(line.known)}
    return Fraction(sum(map(any, rows))), Fraction(len(places))


def bounds(cell: str) -> tuple[int, int]:
    """Return both ends of a published interval."""
    low, high = map(int, re.findall(r"\d+", cell))
    return low, high


def known_parts(row: frozenset, most: int) -> list[frozenset]:
    """Return the sets of 1 to so many items of a row."""
    sizes = range(1, min(most, len(row)) + 1)
    return [frozenset(each) for size in sizes for each in combinations(sorted(row), size)]
