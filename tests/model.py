"""The tables of docs/proofs/model.md: what is proven, tested or refuted, and the tables that refute it."""

from __future__ import annotations

import re
import tempfile
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import against
import pandas as pd
from attacked_tables import Case, frame_of
from attacker import Knowledge, knowledge_of
from families import RELATIONAL, RT

import pdanon
import pdanon.stream

PAGE = Path(__file__).parents[1] / "docs" / "proofs" / "model.md"
ATTACKERS = ("A0", "A1", "A2", "A3")
TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}
OWN = {"rum_bound": {"delta": 1}, "tum_bound": {"delta": 1}, "tfirst": {"parts": 1}}


class Claims(NamedTuple):
    """A line of the table: what it says of a guarantee of some algorithms, by attacker."""

    guarantee: str
    algorithms: tuple[str, ...]
    form: str
    cells: dict[str, str]


class Refuted(NamedTuple):
    """A line of the tables that refute, for one of its algorithms."""

    attacker: str
    guarantee: str
    algorithm: str
    form: str
    asked: dict[str, Any]
    table: str
    known: str
    promised: Fraction
    left: Fraction


class RefinedCase(Case):
    """A release that is refined, whatever its algorithm."""

    def run(self) -> Any:
        """The frame, and what comes of it."""
        frame, result = super().run()
        return frame, pdanon.refine(frame, result, loss="NCP")


def _lines(section: str) -> list[list[str]]:
    text = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (own,) = (each for each in text if each.startswith(section))
    lines = [line for line in own.splitlines() if line[:1] == "|"][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _named(cell: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the algorithms of a cell, and the forms of release that it is about."""
    form = cell.rpartition("`")[2].removeprefix(", ")
    return tuple(re.findall(r"`(\w+)`", cell)), ["", "refined"] if form == r"\*" else [form]


def claims() -> list[Claims]:
    """Return the lines of the table."""
    found = []
    for guarantees, names, *cells in _lines("The table"):
        for place in range(1, len(cells)):
            if cells[place] == "refuted":  # by the table of the attacker before
                cells[place] = cells[place - 1]
        shown = dict(zip(ATTACKERS, cells, strict=True))
        algorithms, forms = _named(names)
        pairs = product(re.findall(r"`(\w+)`", guarantees), forms)
        found += [Claims(guarantee, algorithms, form, shown) for guarantee, form in pairs]
    return found


def refuted() -> list[Refuted]:
    """Return the tables that refute, one line for each algorithm."""
    found = []
    for attacker, guarantee, names, arguments, *table, left in _lines("Refuted"):
        algorithms, forms = _named(names)
        for name, form in product(algorithms, forms):
            asked = eval(f"dict({arguments.strip('`')})", {"T": TREE})
            words = (each.strip("`") for each in table)
            shares = Fraction(2 if left.isdecimal() else "1/2"), Fraction(left)
            found.append(Refuted(attacker, guarantee.strip("`"), name, form, asked, *words, *shares))
    return found


def play(line: Refuted) -> tuple[str, Fraction, Fraction]:
    """Return the guarantee of a release, and what it and the attacker leave of the known items."""
    if line.algorithm in RELATIONAL:
        return "KAnonymity", *_play_values(line)
    if line.form == "in series":
        return _play_series(line)
    rows = line.table.split()
    table = {"items": ([list(row) for row in rows], "object"), "sex": (["f"] * len(rows), "str")}
    asked, kind = line.asked, Case
    if line.algorithm in RT:
        asked = {
            "transaction": "pcta",
            **asked,
            **OWN.get(line.algorithm, {}),
            "refine": line.form == "refined",
        }
    elif line.form == "refined":
        kind = RefinedCase
    case = kind(line.algorithm, table, asked, ["items"])
    frame, result = against.released(case)
    guarantee = result.guarantee
    if line.form == "of a population":
        guarantee = pdanon.KMap(**asked, population=frame, mapping=result.mapping)
        assert pdanon.audit(result.frame, guarantee, "items").holds
    if line.attacker == "A2":
        return type(guarantee).__name__, *_play_groups(line, frame, result)
    chance = line.promised < 1
    promise = against.Promise(
        [frozenset(row) for row in rows],
        secrets=frozenset("s") if chance else frozenset(),
        in_order=line.algorithm != "disassociate",
    )
    possible, same = against.originals(case)
    before, after = (against.concluded(promise, each, frozenset(line.known)) for each in (possible, same))
    return type(guarantee).__name__, Fraction(before[chance]), Fraction(after[chance])


def _play_series(line: Refuted) -> tuple[str, Fraction, Fraction]:
    """Count the rows of the later release that match, and those that also match earlier if they are there."""
    rows = [list(row) for row in line.table.replace("+", "").split()]
    frame = frame_of({"items": (rows, "object")})
    first = getattr(pdanon, line.algorithm)(frame[: len(line.table.split("+")[0].split())], **line.asked)
    last = getattr(frame.txanon.start_from(first), line.algorithm)(**line.asked)
    matching = []
    for result in (first, last):
        became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
        labels = {became.get(item, "in no row") for item in line.known}
        matching.append([labels <= {*row} for row in result.frame["items"]])
    linked = [all(each) for each in zip(*matching, strict=False)] + matching[1][len(matching[0]) :]
    return type(last.guarantee).__name__, Fraction(sum(matching[1])), Fraction(sum(linked))


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

    def shown(table: Any) -> list[str]:
        frame = pd.DataFrame({"q": table})
        if line.form != "in regions":
            return [*map(str, getattr(pdanon, line.algorithm)(frame, **line.asked).frame["q"])]
        with tempfile.TemporaryDirectory() as directory:
            source, target = Path(directory, "in.parquet"), Path(directory, "out.parquet")
            frame.to_parquet(source)
            getattr(pdanon.stream, line.algorithm)(source, target, **line.asked)
            return [*map(str, pdanon.read_parquet(target)["q"])]

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
