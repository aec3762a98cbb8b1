"""The table of docs/attackers.md: an attacker who comes further, or not so far, refutes a cell."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from pathlib import Path
from random import Random

import against
import model
import pytest
from attacked_tables import Case

import pdanon
from examples import ALL
from pdanon.algorithms.registry import ALGORITHMS

PAGE = (Path(__file__).parents[1] / "docs" / "attackers.md").read_text(encoding="utf-8")
ATTACKERS = {
    "some items": against.foreseen,
    "all that may be known": against.all_items,
    "a sensitive item too": against.secrets_too,
    "an absent item too": against.absence_too,
    "age or sex too": against.age_too,
}
GOALS = {
    "rows": re.compile("k rows"),
    "chance": re.compile(r"1/\w|\bh\b|rho|\bc\b"),
}  # what is fewer, or larger
NAMELESS = {"KmAnonymity", "PrivacyConstraints", "TransactionalK", "DisassociatedKm", "KKm"}  # no secrets


TREE = {"*": {"AB": ["a", "b"], "CD": ["c", "d"]}}
DIVERSE = {"k": 2, "m": 1, "l": 2, "sensitive": ["s"], "hierarchy": TREE}
BOTH = {"items": ([[*"abs"], ["a"], ["a"], ["b"], ["b"]], "object"), "age": (["30s"] * 5, "str")}
BY_HAND = {  # rare at random: a second item that only the one with the secret has as well
    "KLm": Case("rfirst", BOTH, {**DIVERSE, "quasi": ["age"], "transaction": "apriori"}, ["items"]),
    "LmDiversity with k": Case("apriori", BOTH, DIVERSE, ["items"]),
}


@cache
def cells():
    """The cells of the table: by guarantee, then by attacker."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"
    ]
    titles = lines[0][1:]
    names = [re.sub(r"[`\[\]]|\(.*\)", "", line[0]) for line in lines]
    rows = {name: line[1:] for name, line in zip(names, lines, strict=True) if line[0].startswith("[`")}
    return {name: dict(zip(titles, row, strict=True)) for name, row in rows.items()}


def algorithms_of(guarantee):
    model = getattr(pdanon, guarantee.removesuffix(" with k"))
    return [name for name, record in ALGORITHMS.items() if model in record.guarantees]


def bound(guarantee, attacker, goal):
    """Whether the table says that somebody is held to something: to k rows, or to a chance."""
    return GOALS[goal].search(cells()[guarantee][attacker]) is not None


def releases(guarantee):
    """Releases with a guarantee, by its algorithms in turn."""
    if guarantee in BY_HAND:
        yield "by hand", against.seen(BY_HAND[guarantee])[1]
    for seed in count():
        for name in algorithms_of(guarantee):
            found = against.release_of(name, seed)
            if found is not None and found[0] == guarantee:
                yield f"{name}, seed {seed}", found[1]


def test_all_guarantees_of_items_are_in_the_table():
    of_items = {name for name in pdanon.__all__ if hasattr(getattr(pdanon, name), "with_mapping")}
    assert {name.removesuffix(" with k") for name in cells()} == of_items - {"KAnonymity", "KMap"}, (
        "docs/attackers.md"
    )
    assert all([*row] == [*ATTACKERS, "the algorithm too"] for row in cells().values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("guarantee", cells())
def test_nobody_comes_further_than_the_table_says(guarantee):
    played(guarantee, 3)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", cells())
def test_nobody_is_held_to_more_than_the_table_says(guarantee):
    held = played(guarantee, 150 if ALL else 20, 400)
    assert not held, f"so far in all releases: {held}"


def played(guarantee, least, most=0):
    """Play all attackers: nobody comes further than the table says, and what nobody has reached is returned.

    In so many releases at least, and then until all has been reached that the table says can be.
    """
    open_ = {(attacker, goal) for attacker in ATTACKERS for goal in GOALS}
    open_ -= {(attacker, goal) for attacker, goal in open_ if bound(guarantee, attacker, goal)}
    if guarantee in NAMELESS:  # who knows all items has no other one to conclude to
        open_.discard(("all that may be known", "chance"))
    for number, (told, release) in enumerate(releases(guarantee), 1):
        for attacker, knowing in ATTACKERS.items():
            for goal, reached in zip(GOALS, against.broken(release, knowing), strict=True):
                assert not (reached and bound(guarantee, attacker, goal)), f"{told}: {attacker}: {goal}"
                if reached:
                    open_.discard((attacker, goal))
        if number >= least and (number >= most or not open_):
            return open_


# --- who runs the algorithm


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_who_runs_suppress_to_k_still_finds_k_rows(seed):
    """A suppressed item may have been in any row: in this one alone, it would have been suppressed, too."""
    random = Random(seed)
    rows = [random.sample("abs", random.choice([1, 1, 2])) for _ in range(random.randint(3, 4))]
    public = sorted({item for row in rows for item in row} - {"s"})
    case = Case("suppress_to_k", {"items": (rows, "object")}, {"k": 2, "public": public}, ["items"])
    promise = against.Promise([frozenset(row) for row in rows])
    _, alike = against.originals(case)
    for row in promise.rows:
        assert against.concluded(promise, alike, row & {*public})[0] >= 2


def test_the_table_says_of_whom_that_is_shown():
    """A table that refutes is in docs/proofs/model.md."""
    refuted = {line.guarantee for line in model.refuted() if line.attacker == "A3"}
    told = {name: row["the algorithm too"] for name, row in cells().items()}
    without_line = {"KAnonymity", "KMap"}
    assert {name.removesuffix(" with k") for name in told if told[name] == "no"} == refuted - without_line
    assert {name for name in told if told[name] == "k rows"} == {"PublicK"}
    assert {*told.values()} <= {"no", "k rows"}
