"""The pages of docs/proofs: claims stand on a theorem, a test or a table, and lemmas hold on small tables."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import model
import pytest
from conftest import frame_of

import pdanon
from pdanon import guarantees
from pdanon.algorithms.registry import ALGORITHMS

PROOFS = Path(__file__).parents[1] / "docs" / "proofs"
CLAIMS, REFUTED = model.claims(), model.refuted()
KINDS = re.compile(r"\[(proven)\]\((\S+)\)|\[(tested)\]\((\S+)\)|(refuted): `([^`]+)`|(not claimed)")
TREE = {"x": ["a", "b"], "y": ["c"]}
READ_FIRST = ["guide", "limits", "index", "when", "accept", "faq", "attackers", "guarantees"]
READ_FIRST += ["guarantees-rows", "guarantees-sensitive"]


def kind_of(cell):
    """What a cell says, and what it names for that."""
    kind, *named = filter(None, KINDS.fullmatch(cell).groups())
    return kind, "".join(named)


# --- The table of docs/proofs/model.md


def test_each_algorithm_and_guarantee_has_a_line():
    promised = {(model.__name__, name) for name, each in ALGORITHMS.items() for model in each.guarantees}
    lines = [(line.guarantee, name) for line in CLAIMS if not line.refined for name in line.algorithms]
    assert sorted(lines) == sorted(promised)
    assert {line.guarantee for line in CLAIMS} == {
        name for name in guarantees.__all__ if isinstance(getattr(guarantees, name), type)
    } & {*pdanon.__all__} - {"Audit"}


def headings(page):
    return {*re.findall(r"^#+ .+ \{ #(\S+) \}$", page.read_text(encoding="utf-8"), re.MULTILINE)}


def test_what_is_proven_has_a_theorem():
    cells = [kind_of(cell) for line in CLAIMS for cell in line.cells.values()]
    links = {named for kind, named in cells if kind == "proven"}
    theorems = {f"lemmas.md#{name}" for name in headings(PROOFS / "lemmas.md") if name.startswith("theorem")}
    assert links <= theorems
    assert theorems - links == {"lemmas.md#theorem-series"}  # of several releases


def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_what_is_tested_has_a_test():
    links = [
        kind_of(cell)[1] for line in CLAIMS for cell in line.cells.values() if kind_of(cell)[0] == "tested"
    ]
    assert links
    for link in links:
        path, _, name = link.partition("#")
        assert name in functions_of(PROOFS / path)


def test_what_is_refuted_has_a_table():
    named = {
        (line.guarantee, name, line.refined, attacker, kind_of(cell)[1])
        for line in CLAIMS
        for attacker, cell in line.cells.items()
        if kind_of(cell)[0] == "refuted"
        for name in line.algorithms
    }
    tables = {
        (line.guarantee, line.algorithm, line.is_refined, attacker, line.table)
        for line in REFUTED
        for attacker in model.ATTACKERS[model.ATTACKERS.index(line.attacker) :]
    }
    assert named <= tables
    assert {each[:3] for each in tables} <= {each[:3] for each in named}


def test_an_attacker_who_knows_more_is_held_to_no_more():
    order = ["proven", "tested", "not claimed", "refuted"]
    for line in CLAIMS:
        places = [order.index(kind_of(cell)[0]) for cell in line.cells.values()]
        assert places == sorted(places)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "line", REFUTED, ids=lambda line: f"{line.attacker}-{line.guarantee}-{line.algorithm}-{line.table}"
)
def test_the_table_is_refuted(line):
    """The release keeps its promise for its recipients, and the attacker is left with less."""
    guarantee, before, after = model.play(line)
    assert guarantee == line.guarantee
    assert after == line.left
    assert after < line.promised <= before if line.promised > 1 else after > line.promised >= before


# What other pages say of protection: a part of the sentence, and why it is no more than the table says.
ELSEWHERE = {
    "README.md": {"proven to be necessary": "a loss"},
    "docs/limits.md": {
        "which guarantee protects against which attacker": "a link",
    },
    "docs/attackers.md": {
        "No guarantee protects against every attacker": "no claim",
        "What is proven against whom": "a link",
    },
    "docs/guarantees-sensitive.md": {"up to which it is proven": "the audit of a release"},
}


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in READ_FIRST)])
def test_other_pages_claim_no_more(page):
    text = " ".join((PROOFS.parents[1] / page).read_text(encoding="utf-8").split())
    known = ELSEWHERE.get(page, {})
    assert all(sentence in text for sentence in known)
    for sentence in known:
        text = text.replace(sentence, "")
    assert not re.findall(r".{40}(?:\bproven|\bprotects? (?:from|against)).{40}", text)


def test_algorithms_that_other_pages_name_are_refuted():
    """And those that they call proven are proven."""
    text = " ".join((PROOFS.parent / "limits.md").read_text(encoding="utf-8").split())
    named = re.search(r"This happens .*? also with ([^(]*)\(\[tables\]\(proofs/model.md#refuted\)\)", text)[1]
    last = {name: kind_of(line.cells["A3"])[0] for line in CLAIMS[::-1] for name in line.algorithms}
    assert {last[name] for name in re.findall(r"`(\w+)`", named)} == {"refuted"}
    none = re.search(r"`pcta` gives away 1.75 %; (.*?) give away none", text)[1]
    assert {last[name] for name in re.findall(r"`(\w+)`", none)} == {"tested"}


@pytest.mark.slow
def test_an_attacker_who_runs_clump_finds_two_rows():
    """Of all tables of three rows with some of three items, in any order."""
    rows = [frozenset(each) for each in ("a", "b", "c", "ab", "ac", "bc", "abc")]
    found = {}
    for table in product(rows, repeat=3):
        released = frame_of(table).txanon.clump(k=2, hierarchy=TREE).frame["items"].map(tuple)
        found.setdefault(tuple(released), []).append(table)
    assert len(found) > 10
    for tables in found.values():
        places = [{table[place] for table in tables} for place in range(3)]
        for known in {part for table in tables for row in table for part in model.known_parts(row, 3)}:
            assert sum(any(known <= row for row in own) for own in places) >= 2
