"""The pages of docs/proofs: claims stand on a theorem, a test or a table, and lemmas hold on small tables."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from os import environ
from pathlib import Path
from random import Random
from shutil import copy2, copytree, ignore_patterns
from tempfile import TemporaryDirectory
from uuid import uuid4

import against
import model
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import frame_of, promised, row_lists, rows_of
from hypothesis import example, given, settings, strategies as st
from mutants.faults import ROOT, read_faults
from naive import series as naive

import pdanon
import pdanon.stream
from examples import ALL, examples
from pdanon import guarantees
from pdanon.algorithms import engines
from pdanon.algorithms.engines import plan, suffices
from pdanon.algorithms.items.lra import divide_rows
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import PairCounts
from pdanon.itemsets.mapping import label_members
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding import unit_release
from pdanon.stream import quasi_files

PROOFS = Path(__file__).parents[1] / "docs" / "proofs"
CLAIMS, REFUTED = model.claims(), model.refuted()
KINDS = re.compile(r"\[(proven)\]\((\S+)\)|\[(tested)\]\((\S+)\)|(refuted): `([^`]+)`")
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
    lines = [(line.guarantee, name) for line in CLAIMS if not line.form for name in line.algorithms]
    assert sorted(lines) == sorted(promised), "docs/proofs/model.md"
    assert {line.guarantee for line in CLAIMS} == {
        name for name in guarantees.__all__ if isinstance(getattr(guarantees, name), type)
    } & {*pdanon.__all__} - {"Audit"}


def headings(page):
    return {*re.findall(r"^#+ .+ \{ #(\S+) \}$", page.read_text(encoding="utf-8"), re.MULTILINE)}


def test_what_is_proven_has_a_theorem():
    cells = [kind_of(cell) for line in CLAIMS for cell in line.cells.values()]
    links = {named for kind, named in cells if kind == "proven"}
    theorems = {f"lemmas.md#{name}" for name in headings(PROOFS / "lemmas.md") if name.startswith("theorem")}
    assert links == theorems


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
        (line.guarantee, name, line.form, attacker, kind_of(cell)[1])
        for line in CLAIMS
        for attacker, cell in line.cells.items()
        if kind_of(cell)[0] == "refuted"
        for name in line.algorithms
    }
    tables = {
        (line.guarantee, line.algorithm, line.form, attacker, line.table)
        for line in REFUTED
        for attacker in model.ATTACKERS[model.ATTACKERS.index(line.attacker) :]
    }
    assert named <= tables
    assert {each[:3] for each in tables} <= {each[:3] for each in named}


def test_an_attacker_who_knows_more_is_held_to_no_more():
    order = ["proven", "tested", "refuted"]
    for line in CLAIMS:
        places = [order.index(kind_of(cell)[0]) for cell in line.cells.values()]
        assert places == sorted(places)


def is_long(line):
    """Whether an attacker tries many tables."""
    return line.attacker == "A3" and len(line.table.split()) > 2


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=[pytest.mark.slow] * is_long(line)) for line in REFUTED],
    ids=lambda line: "-".join((*line[:4], line.table)),
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
    measured = " ".join((PROOFS.parent / "measured" / "loss.md").read_text(encoding="utf-8").split())
    none = re.search(r"`pcta` gives away 1.75 %; (.*?) give away none", measured)[1]
    assert {last[name] for name in re.findall(r"`(\w+)`", none)} == {"tested"}


RUN = [*product(["apriori", "direct", "vpa", "optimal", "hghs", "mhghs", "clump"], [False, True])]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "refined"), [*RUN, ("partition", True)])
def test_an_attacker_who_runs_the_algorithm_finds_two_rows(name, refined):
    """Of all tables of three rows with some of three items, in any order, that are released alike."""
    rows, most = [frozenset(each) for each in ("a", "b", "c", "ab", "ac", "bc", "abc")], 3
    asked = {"k": 2, "hierarchy": {"*": TREE}} | ({"parts": 2} if name == "vpa" else {})
    has_groups = name in ("clump", "partition")  # whose mapping is secret
    if not has_groups:
        most, asked["m"] = 1 + refined, 1 + refined
    found = {}
    for table in product(rows, repeat=3):
        frame = frame_of(table)
        result = infeasible(getattr(frame.txanon, name), **asked)
        if result is not None:
            result = pdanon.refine(frame, result) if refined else result
            mapping = "" if has_groups else result.mapping.to_csv(columns=["item", "generalized"])
            found.setdefault((repr(result.frame["items"].tolist()), mapping), []).append(table)
    assert len(found) >= 10
    for tables in found.values():
        places = [{table[place] for table in tables} for place in range(3)]
        for known in {part for table in tables for row in table for part in model.known_parts(row, most)}:
            assert sum(any(known <= row for row in own) for own in places) >= 2


# --- The lemmas of docs/proofs/lemmas.md, counted naively

ITEMS = "abcd"
ROWS = row_lists(ITEMS, longest=4, most=7, least=1)
KS = st.integers(2, 3)
MS = st.integers(1, 3)
SECRET = "s"
FEW = settings(max_examples=examples(50))  # of tests that make releases
FEWER = settings(max_examples=examples(20))  # of tests that make releases of files or partitions


def support(rows, labels):
    return sum(row is not None and labels <= row for row in rows)


def rare_sets(rows, k, m):
    """Sets of 1 to m labels that some rows hold, but fewer than k."""
    occurring = {part for row in rows for part in model.known_parts(row or frozenset(), m)}
    return {labels for labels in occurring if support(rows, labels) < k}


def recoded(row, became):
    return None if row is None else frozenset(became[item] for item in row) - {None}


def maps(values):
    """A label, or nothing, for each item."""
    return st.fixed_dictionaries({item: st.sampled_from(values) for item in ITEMS})


LABELS = maps(["x", "y", "z", None])
PARTS = st.lists(st.integers(0, 1), min_size=7, max_size=7)


def relabelled(rows, merge):
    """Rows whose labels, which are items here, become others."""
    return [recoded(row, merge) for row in rows]


def became_of(result):
    """The label of each item of a global recoding, None if it is suppressed."""
    labels = result.mapping["generalized"].astype(object).where(result.mapping["generalized"].notna(), None)
    return dict(zip(result.mapping["item"], labels, strict=True))


def words(text):
    """Rows of items with one letter."""
    return [frozenset(row) for row in text.split()]


def parts_of(rows, part_of):
    found = {}
    for row, part in zip(rows, part_of, strict=False):
        found.setdefault(part, []).append(row)
    return [*found.values()]


def infeasible(release, *arguments, **asked):
    """A result, or None if there is no release."""
    try:
        return release(*arguments, **asked)
    except pdanon.InfeasibleError:
        return None


def lemmas():
    text = (PROOFS / "lemmas.md").read_text(encoding="utf-8")
    return re.findall(r"^### Lemma: (.+?) \{ #(\S+) \}$", text, re.MULTILINE)


def test_each_lemma_has_a_test_and_each_test_a_lemma():
    named = [f"test_lemma_{name.replace(' ', '_')}" for name, _ in lemmas()]
    assert named == [f"test_lemma_{anchor.replace('-', '_')}" for _, anchor in lemmas()]
    assert sorted(named) == sorted(name for name in globals() if name.startswith("test_lemma_"))


# Faults of tests/mutants that break a lemma, by the lemma: its test finds them with few examples.
FOUND = {
    "labels_cover_items": ["recoding-labels"],
    "listed_sets_may_become_rare": ["clusters-unique", "constraints-unique"],
    "a_step_up_merges": ["vpa-unsorted-roots", "mhghs-last-size", "descent-sizes"],
    "whole_rows": ["km-support"],
    "searches_end": ["refine-sets-audit", "sets-search-larger"],
    "emptied_rows_hide": [
        "emptied-k",
        "emptied-original",
        "emptied-need",
        "emptied-spare",
        "decision-emptied",
        "emptied-missing",
        "suppression-few-hide",
        "kkm-emptied",
        "kkm-emptied-empty",
    ],
    "deletions_keep_candidates": [
        "deletions-larger",
        "deletions-emptied",
        "deletions-single",
        "deletions-groups",
        "mixture-rows",
    ],
    "equal_rows_match": ["transactional-k", "partition-few-rows", "clump-small-seed", "silent-few"],
    "parts_of_k_rows": ["k-member-size", "mondrian-size", "k-anonymity-class"],
    "labels_for_items_of_their_own": ["lcg-lacking-row"],
    "rows_can_be_exchanged": ["suppression-size"],
    "parts_add_up": ["lra-small-part", "tfirst-small-clusters", "kkm-single-class"],
    "columns_count_as_one": ["kkm-crowd"],
    "no_mole_appears": ["coherence-rare"],
    "rules_to_more_items_are_weaker": ["rules-rare", "ps-rules-suppressed"],
    "the_largest_of_equal_sets_is_surest": ["rho-order", "rho-exact-share", "control-inverted"],
    "groups_leave_a_safe_rest": ["cahd-exact"],
    "chunks_fit_together": ["kernel-chunks-parts"],
    "regions_share_classes": ["stream-empty", "dask-empty"],
    "equal_rows_have_weights": ["support-rare-exposed"],
    "pieces_are_the_table": [
        "stream-row-groups",
        "stream-private-missing",
        "stream-audit-visible",
        "stream-audit-groups",
        "dask-private-missing",
        "dask-merge",
    ],
    "changed_rows_are_refused": [
        "stream-unchanged",
        "dask-changed",
        "dask-order",
        "dask-written",
        "mapping-group",
    ],
    "pairs_decide": ["skeleton-m", "skeleton-rounds"],
    "added_rows_keep_matches": ["k-map-sample", "mapping-unseen"],
    "a_span_is_one_release": [
        "series-missing",
        "series-last-release",
        "series-suppressed",
        "series-dropping",
        "series-alone",
        "series-class",
        "series-joint-lm",
        "risk-series",
    ],
    "units_become_rows": [
        "unit-lines-vanish",
        "stream-units-shown",
        "stream-units-written",
        "dask-units",
    ],
}
FAULTS = {fault.name: fault for fault in read_faults()}


def test_found_faults_and_their_tests_exist():
    assert {f"test_lemma_{name}" for name in FOUND} <= globals().keys()
    assert {name for names in FOUND.values() for name in names} <= FAULTS.keys()


@pytest.mark.slow
@pytest.mark.skipif(not ALL, reason="runs a test for each fault")
@pytest.mark.parametrize(("lemma", "name"), [(lemma, name) for lemma in FOUND for name in FOUND[lemma]])
def test_the_test_of_a_lemma_finds_the_fault(lemma, name, tmp_path):
    others = ignore_patterns("__pycache__", "benchmarks", "measured")
    for folder in ("pdanon", "tests", "docs"):
        copytree(ROOT / folder, tmp_path / folder, ignore=others)
    for file in ("pyproject.toml", "build_kernels.py"):
        copy2(ROOT / file, tmp_path)
    FAULTS[name].apply(tmp_path)
    if FAULTS[name].is_kernel:
        subprocess.run([sys.executable, "build_kernels.py"], cwd=tmp_path, check=True, capture_output=True)
    variables = {**environ, "PYTHONPATH": str(tmp_path), "PDANON_EXAMPLES": ""}
    test = f"tests/test_proofs.py::test_lemma_{lemma}"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "", test]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout  # a test failed


ORIGINALS = [frozenset(each) for size in range(4) for each in combinations("abc", size)]


def candidates(shown, became, known, more=lambda row: True):
    """The rows that hold some items in an original that is published like this, row by row."""
    fits = {
        label: {row for row in ORIGINALS if recoded(row, became) == label and more(row)} for label in shown
    }
    return [place for place, row in enumerate(shown) if any(known <= each for each in fits[row])]


@given(row_lists("abc", most=5, least=1), LABELS, st.frozensets(st.sampled_from("abc"), min_size=1), MS)
def test_lemma_knowledge(rows, became, known, size):
    shown = [recoded(row, became) for row in rows]
    before = candidates(shown, became, known)
    after = candidates(shown, became, known, more=lambda row: len(row) <= size)
    assert {*after} <= {*before}
    assert {*candidates(shown, became, known | {"a"})} <= {*before}


@FEW
@given(row_lists("abc", most=5, least=1), LABELS, st.integers(0, 4))
@example(words("a b c c"), dict.fromkeys("abc", "x"), 0)
def test_lemma_labels_cover_items(rows, became, person):
    shown, person = [recoded(row, became) for row in rows], person % len(rows)
    for known in model.known_parts(rows[person], 3):
        labels = recoded(known, became)
        found = candidates(shown, became, known)
        assert found == [place for place, row in enumerate(shown) if labels <= row]
        assert person in found
        assert len(labels) <= len(known)
    result = infeasible(frame_of(rows).txanon.pcta, k=2, m=1)
    for row, now in [] if result is None else zip(rows, rows_of(result.frame), strict=True):
        named = [{*(label_members(label) or [label])} for label in now]
        assert row <= frozenset().union(*named)
        assert all(row & members for members in named)


@given(ROWS, LABELS, maps(["u", "v"]))
def test_lemma_merging_keeps_matches(rows, became, merge):
    finer = {item: item for item in ITEMS} | {item: None for item in ITEMS if became[item] is None}
    coarser = {item: finer[item] and merge[item] for item in ITEMS}
    for known in {part for row in rows for part in model.known_parts(row, 4)}:
        before, after = (
            {place for place, row in enumerate(rows) if recoded(known, each) <= recoded(row, each)}
            for each in (finer, coarser)
        )
        assert before <= after


@given(ROWS, KS, MS, maps(["u", "v", "w"]))
def test_lemma_merging_keeps_sizes(rows, k, m, merge):
    rows = rows * k if rare_sets(rows, k, m) else rows
    assert not rare_sets(rows, k, m)
    assert not rare_sets(relabelled(rows, merge), k, m)


@FEW
@given(ROWS, KS)
@example(words("abc"), 2)
def test_lemma_listed_sets_may_become_rare(rows, k):
    merge = {"a": "a", "b": "y", "c": "y"}
    merged = relabelled(words("c ab c"), merge)
    assert support(words("c ab c"), frozenset("ac")) == 0
    assert support(merged, frozenset("ay")) == 1
    mapping = pd.DataFrame(merge.items(), columns=["item", "generalized"]).assign(group=0)
    guarantee = pdanon.PrivacyConstraints(k=2, constraints=[["a", "c"]], mapping=mapping)
    assert guarantee.audit(frame_of(merged)).rows_at_risk == 1
    listed, rows = words("ac bd abc"), rows + words("a b c d")
    result = infeasible(
        frame_of(rows).txanon.pcta, **promised(k=k, constraints=[sorted(each) for each in listed])
    )
    if result is not None:
        became, shown = became_of(result), rows_of(result.frame)
        for known in listed:
            assert support(shown, recoded(known, became)) not in range(1, k)


@FEW
@given(ROWS, KS, MS, st.sampled_from(["apriori", "direct", "vpa", "optimal", "hghs", "mhghs"]))
@example(words("a d"), 2, 1, "vpa")
@example(words("b d ac"), 2, 2, "mhghs")
@example(words("b c bd"), 2, 2, "hghs")
def test_lemma_a_step_up_merges(rows, k, m, name):
    """A release by a cut is the original with its labels merged, at and below each node."""
    tree = {"*": {"x": ["a", "b"], "y": ["c", "d"]}}
    own = {"parts": 2} if name == "vpa" else {}
    result = infeasible(getattr(pdanon, name), frame_of(rows), k=k, m=m, hierarchy=tree, **own)
    if result is None:
        return
    became = became_of(result)
    assert rows_of(result.frame) == [recoded(row, became) for row in rows]
    below = {"x": "ab", "y": "cd", "*": "abcd", None: ""}
    for item, label in became.items():
        assert {became[other] for other in below.get(label, item) if other in became} <= {label}
    assert not rare_sets(rows_of(result.frame), k, m)


@given(ROWS, st.frozensets(st.sampled_from(ITEMS)), KS, MS)
def test_lemma_suppression_keeps_supports(rows, gone, k, m):
    left = [row - gone for row in rows]
    for labels in {part for row in left for part in model.known_parts(row, 4)}:
        assert [labels <= row for row in rows] == [labels <= row for row in left]
    assert rare_sets(left, k, m) == {labels for labels in rare_sets(rows, k, m) if not labels & gone}


@given(ROWS, KS)
@example(words("a"), 2)
@example(words("ab a b"), 2)
def test_lemma_whole_rows(rows, k):
    rare = rare_sets(rows, k, 4)
    assert (not rare) == all(support(rows, row) >= k for row in rows if row)
    audit = frame_of(rows).txanon.audit(pdanon.KmAnonymity(k, None))
    assert audit.holds == (len(rows) >= k and not rare)


@FEW
@given(row_lists(ITEMS, longest=3, most=6), KS, st.sampled_from([1, 2, 3, None]), st.booleans())
@example(words("abd c cd"), 2, 1, True)
def test_lemma_searches_end(rows, k, m, refined):
    n_rows, n_filled = len(rows), sum(map(bool, rows))
    for name in ("pcta", "coat", "upcta", "direct"):
        own = {"hierarchy": {"*": ["a", "b", "c", "d"]}} if name == "direct" else {"refine": refined}
        result = infeasible(getattr(pdanon, name), frame_of(rows), k=k, m=m, **own)
        assert (result is None) == (0 < n_rows < k or 0 < n_filled < k)
        assert result is None or not rare_sets(rows_of(result.frame), k, m or 4)
    if refined and set().union(*rows) >= {*ITEMS}:
        rules = [([*known], ["d"]) for size in (1, 2) for known in combinations("abc", size)]
        result = infeasible(pdanon.ps_rules, frame_of(rows), k=k, c=0.5, rules=rules, suppress=True)
        if result is not None:
            assert pdanon.refine(frame_of(rows), result).loss["NCP"] <= result.loss["NCP"]
    unsafe, safe = words("abcd abc abd acd bcd"), [frozenset(), *words("abcd abcd abcd abcd")]
    with pytest.raises(pdanon.ParameterError, match="are not safe in this frame"):
        pdanon.refine(frame_of(unsafe), frame_of(safe).txanon.pcta(k=2, m=4))


def hides(rows, shown, k):
    """Whether no row, at least k rows, or all rows with items are emptied."""
    emptied = sum(bool(row) and not now for row, now in zip(rows, shown, strict=True))
    return emptied not in range(1, k) or not any(shown)


@FEW
@given(
    row_lists(ITEMS, longest=2, most=8, least=3),
    KS,
    MS,
    st.sampled_from([["ab", "cd"], ["a", "b", "c", "d"]]),
    st.lists(st.integers(0, 1), min_size=8, max_size=8),
)
@example(words("a b b c c"), 2, 1, ["ab", "cd"], [0] * 8)
@example([frozenset(), *words("ab b b")], 2, 1, ["ab", "cd"], [0] * 8)
@example([frozenset(), frozenset(), *words("a d d")], 2, 3, ["ab", "cd"], [0] * 8)
@example([frozenset(), *words("a d d d")], 3, 3, ["a", "b", "c", "d"], [0] * 8)
@example(words("a b b c c"), 2, 1, ["ab", "cd"], [0, 0, 0, 1, 1, 0, 0, 0])
@example(words("c ad a"), 2, 1, ["ab", "cd"], [0] * 8)
def test_lemma_emptied_rows_hide(rows, k, m, blocks, part_of):
    blocks = [list(block) for block in blocks]
    result = infeasible(frame_of(rows).txanon.coat, k=k, m=m, utility=blocks, max_suppressed=1)
    if result is None:
        return
    shown = rows_of(result.frame)
    assert hides(rows, shown, k)
    assert not rare_sets(shown, k, m)
    gone = {min(set().union(*rows), default="a")}
    left = [row - gone for row in rows]
    mapping = result.mapping.assign(
        generalized=[None if item in gone else item for item in became_of(result)]
    )
    mapping.attrs["empty_rows"] = rows.count(frozenset())
    guarantee = pdanon.KmAnonymity(k, m, mapping=mapping)
    holds = hides(rows, left, k) and not rare_sets(left, k, m)
    assert [frame_of(left + missing).txanon.audit(guarantee).holds for missing in ([], [None])] == [holds] * 2
    if all(rows):
        parts = [*zip(parts_of(rows, part_of), parts_of(left, part_of), strict=True)]
        classes = frame_of(left).assign(sex=part_of[: len(left)])
        assert pdanon.KKm(k=k, m=m, quasi=["sex"], mapping=mapping).audit(classes).holds == all(
            len(own) >= k and hides(old, own, k) and not rare_sets(own, k, m) for old, own in parts
        )
    if "d" in set().union(*rows):
        result = infeasible(frame_of(rows).txanon.coherence, h=0.5, k=k, p=m, private=["d"])
        kept = rows if result is None else rows_of(result.frame)
        public, shown = ([row - {"d"} for row in each] for each in (rows, kept))
        assert hides(public, shown, k - public.count(frozenset()))


TALL = {"x": {"p": ["a", "b"], "q": ["c", "d"]}, "y": ["e", "f"]}
HOW = [{}, {"deletion_price": 10}, {"hierarchy": TALL}]


@FEW
@given(row_lists(longest=4, most=9, least=3), KS, MS, st.sampled_from(HOW))
@example(words("abc ab ac bc"), 2, 3, {})
@example(words("a a abc b"), 2, 2, {})
@example(words("a ab b c"), 2, 1, {})
def test_lemma_deletions_keep_candidates(rows, k, m, how):
    """The labels of a person's row that stand for what is deleted nowhere are in k rows."""
    result = frame_of(rows).txanon.local_suppression(k=k, m=m, **how)
    shown, own, labels = rows_of(result.frame), {}, {}
    for group, item, label in result.mapping[["group", "item", "generalized"]].itertuples(index=False):
        own[group, item] = None if pd.isna(label) else label
        labels.setdefault(item, set()).add(own[group, item])
    numbers = result.groups.tolist()
    became = [{item: own[group, item] for item in row} for row, group in zip(rows, numbers, strict=True)]
    assert shown == [*map(recoded, rows, became)]
    assert how or all(now <= row for row, now in zip(rows, shown, strict=True))
    assert not rare_sets(shown, k, m)
    assert hides(rows, shown, k)
    for row, here in zip(rows, became, strict=True):
        for known in model.known_parts(row, m):
            left = {item for item in known if None not in labels[item]}
            assert support(shown, recoded(left, here)) >= k
            found = [place for place, now in enumerate(shown) if all(now & labels[item] for item in left)]
            assert len(found) >= k


@FEW
@given(row_lists("abc", most=7, least=2), KS, st.sampled_from(["partition", "clump"]))
@example([frozenset(), *words("a a")], 2, "partition")
def test_lemma_equal_rows_match(rows, k, name):
    result = infeasible(getattr(pdanon, name), frame_of(rows), k=k, hierarchy=TREE)
    if result is None:
        return
    shown = result.frame["items"].map(tuple).tolist()
    assert min(shown.count(row) for row in shown) >= k
    audit = frame_of(rows).txanon.audit(pdanon.TransactionalK(k=k))
    assert audit.holds == (min(map(rows.count, rows)) >= k)
    assert not rare_sets([frozenset(row) for row in shown], k, 3)


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=16),
    KS,
    st.sampled_from(["mondrian", "cluster", "k_member", "partition"]),
)
def test_lemma_parts_of_k_rows(values, k, name):
    if len(values) < k:
        return
    if name == "partition":
        result = pdanon.partition(frame_of([{ITEMS[value % 3]} for value in values]), k=k, hierarchy=TREE)
    else:
        frame = pd.DataFrame({"q": values})
        result = getattr(pdanon, name)(frame, k=k, quasi=["q"])
        audit = pdanon.KAnonymity(k=k, quasi=["q"]).audit(frame)
        assert audit.holds == (min(map(values.count, values)) >= k)
    assert result.groups.value_counts().min() >= k


BAGS = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=4)


def own_items(labels, row, below):
    """Whether each label has an item of its own in a row."""
    return any(
        all(item in below[label] for label, item in zip(labels, chosen, strict=True))
        for chosen in permutations(sorted(row), len(labels))
    )


@given(BAGS)
def test_lemma_labels_for_items_of_their_own(rows):
    below = {"*": "abcd", "x": "ab", "y": "cd"} | {item: item for item in ITEMS}
    tree = {"*": {"x": ["a", "b"], "y": ["c", "d"]}}
    labels = pdanon.lcg(frame_of(rows), rows=[*range(len(rows))], hierarchy=tree)
    assert all(own_items(labels, row, below) for row in rows)
    for items in below.values():
        count = sum({*below[label]} <= {*items} for label in labels)
        assert count == min(len(row.intersection(items)) for row in rows)


@FEW
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=2, max_size=10), KS)
def test_lemma_what_does_not_fit_never_fits(rows, k):
    """A class of rows with or without an item, and parts of it."""
    for has_item in (True, False):
        if 0 < sum(own == has_item for own, _ in rows) < k:
            parts = [[own for own, part in rows if part == number] for number in range(3)]
            assert any(0 < part.count(has_item) < k for part in parts)
    table = [frozenset("a" * own + "bc"[part : part + 1]) for own, part in rows]
    if len(table) < k:
        return
    shown = rows_of(frame_of(table).txanon.suppress_to_k(k=k, public=sorted(frozenset().union(*table))).frame)
    assert min(shown.count(row) for row in shown) >= k
    for item in frozenset().union(*table) - frozenset().union(*shown):
        finer = [row | ({item} & old) for row, old in zip(shown, table, strict=True)]
        assert min(finer.count(row) for row in finer) < k


VALUES = st.lists(st.tuples(st.sampled_from([1, 2, 5, 9]), st.sampled_from("pq")), min_size=2, max_size=7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name", ["mondrian", "top_down", "incognito", "full_subtree", "suppress_to_k", "suppress_public"]
)
@FEW
@given(st.data())
def test_lemma_rows_can_be_exchanged(name, data):
    if name.startswith("suppress"):
        rows = data.draw(row_lists("abs", most=7, least=2))
        if not any(SECRET in row for row in rows) or not any(row - {SECRET} for row in rows):
            return
        public = sorted(frozenset().union(*rows) - {SECRET})
        own = {"public": public} if name == "suppress_to_k" else {"h": 1, "p": 1, "private": [SECRET]}

        def shown(rows):
            result = infeasible(getattr(pdanon, name), frame_of(rows), k=2, **own)
            return result and rows_of(result.frame)

        def exchange(rows, one, other):
            """Exchange the public items of two rows."""
            rows = [*rows]
            both = rows[one] & {SECRET}, rows[other] & {SECRET}
            rows[one], rows[other] = both[0] | rows[other] - {SECRET}, both[1] | rows[one] - {SECRET}
            return rows

        published = shown(rows)
        look = published and [row - {SECRET} for row in published]
    else:
        rows = data.draw(VALUES)

        def shown(rows):
            frame = pd.DataFrame(rows, columns=["q", "r"])
            result = infeasible(getattr(pdanon, name), frame, k=2, quasi=["q", "r"])
            return result and [*map(str, result.frame.itertuples(index=False))]

        def exchange(rows, one, other):
            rows = [*rows]
            rows[one], rows[other] = rows[other], rows[one]
            return rows

        look = published = shown(rows)
    if published is None:
        return
    pairs = [pair for pair in combinations(range(len(rows)), 2) if look[pair[0]] == look[pair[1]]]
    assert shown(exchange(rows, *data.draw(st.sampled_from(pairs)))) == published


@FEW
@given(ROWS, PARTS, KS, MS, st.integers(2, 3), st.sampled_from(["lra", "rfirst", "tfirst"]))
@example([*words("d b"), frozenset()], [0, 0, 1], 2, 1, 2, "tfirst")
@example([*words("a a"), frozenset()], [0, 0, 1], 2, 1, 2, "lra")
def test_lemma_parts_add_up(rows, part_of, k, m, l, name):  # noqa: E741
    parts = parts_of(rows, part_of)
    rare = [rare_sets(part, k, m) for part in parts]
    assert any(rare) or not rare_sets(rows, k, m)
    for known in {part for row in rows for part in model.known_parts(row - {"d"}, m)}:
        shares = [(support(part, known | {"d"}), support(part, known)) for part in parts]
        if all(held * l <= n for held, n in shares):
            assert support(rows, known | {"d"}) * l <= support(rows, known)
    tree = {"*": {"x": ["a", "b"], "y": ["c", "d"]}}
    own = {"rfirst": {}, "tfirst": {"parts": 2}}.get(name)
    asked = {"hierarchy": tree, "parts": 2} if own is None else {"quasi": ["sex"], **own}
    frame = frame_of(rows).assign(sex=part_of[: len(rows)])
    audit = pdanon.KKm(k=k, m=m, quasi=["sex"]).audit(frame)
    assert audit.holds == (not any(rare) and min(map(len, parts)) >= k)
    divided = divide_rows(SupportIndex.of(Itemsets.from_series(frame["items"])), 2, k)
    filled = [sum(map(bool, part)) for part in parts_of(rows, divided)]
    assert min(filled) >= min(k, sum(filled))  # with fewer rows no cut of a part is safe
    result = infeasible(getattr(pdanon, name), frame, "items", k=k, m=m, **asked)
    if result is not None:
        groups = parts_of(rows_of(result.frame), result.groups)
        assert name == "lra" or min(map(len, groups)) >= k
        assert not any(rare_sets(part, k, m) for part in groups)


LISTS = st.none() | st.frozensets(st.sampled_from("ab"))


@FEW
@given(st.lists(st.tuples(LISTS, LISTS, st.integers(0, 1)), min_size=1, max_size=7), KS, MS)
@example([("a", "b", 0), ("a", None, 0), ("a", None, 0)], 2, 1)
def test_lemma_columns_count_as_one(rows, k, m):
    """A row with lists in some columns is hidden by rows with lists there, in its class."""
    exposed = 0
    for *lists, part in rows:
        own = [number for number in (0, 1) if lists[number] is not None]
        crowd = [
            frozenset((number, item) for number in own for item in row[number])
            for row in rows
            if row[-1] == part and not any(row[number] is None for number in own)
        ]
        row = frozenset((number, item) for number in own for item in lists[number])
        exposed += len(crowd) < k or any(support(crowd, known) < k for known in model.known_parts(row, m))
        for some in (own, own[:1], own[1:]):
            present = [row for row in rows if row[-1] == part and None not in [row[each] for each in some]]
            assert len(present) >= len(crowd)
    both = [frame_of([row[number] for row in rows])["items"] for number in (0, 1)]
    frame = pd.DataFrame({"one": both[0], "other": both[1], "part": [row[-1] for row in rows]})
    audit = pdanon.KKm(k=k, m=m, quasi=["part"], columns=["one", "other"]).audit(frame)
    assert audit.rows_at_risk == exposed


def moles(rows, k, p, h):
    """Sets of public items in fewer than k rows, or with a private item in more than the share h of them."""
    public = {part for row in rows for part in model.known_parts(row - {SECRET}, p)}
    return {
        known
        for known in public
        if support(rows, known) < k or support(rows, known | {SECRET}) > h * support(rows, known)
    }


@FEW
@given(row_lists("abcs", longest=4, most=8, least=3), KS, st.integers(1, 2), st.sampled_from([0.5, 0.75]))
@example([frozenset(), *words("as b b")], 2, 1, 0.5)
def test_lemma_no_mole_appears(rows, k, p, h):
    found = moles(rows, k, p, h)
    minimal = [mole for mole in found if not any(other < mole for other in found)]
    gone = frozenset(min(mole) for mole in minimal)
    left = [row - gone for row in rows]
    assert moles(left, k, p, h) == {mole for mole in found if not mole & gone} == set()
    if any(SECRET in row for row in rows):
        result = infeasible(frame_of(rows).txanon.coherence, h=h, k=k, p=p, private=[SECRET])
        assert result is None or not moles(rows_of(result.frame), k, p, h)


@FEW
@given(
    ROWS,
    st.frozensets(st.sampled_from("ab")),
    st.frozensets(st.sampled_from("cd"), min_size=1),
    st.booleans(),
)
@example(words("ac ac b"), frozenset("a"), frozenset("c"), True)
def test_lemma_rules_to_more_items_are_weaker(rows, known, sensitive, suppress):
    for more in ({"c"}, {"d"}, {"c", "d"}):
        assert support(rows, known | sensitive | more) <= support(rows, known | sensitive)
    rules, own = [(sorted(known), sorted(sensitive))], frozenset().union(*rows)
    if not known or not known | sensitive <= own:
        return
    result = infeasible(frame_of(rows).txanon.ps_rules, k=2, c=0.5, rules=rules, suppress=suppress)
    if result is not None:
        became, shown = became_of(result), rows_of(result.frame)
        labels = recoded(known, became)
        assert support(shown, labels) != 1
        published = all(became[item] for item in sensitive)
        assert not published or support(shown, labels | sensitive) * 2 <= support(shown, labels)


def is_told(rows):
    """Whether more than half of the rows with some items have the secret."""
    known = {part for row in rows if SECRET in row for part in model.known_parts(row - {SECRET}, 3)}
    return any(2 * support(rows, part | {SECRET}) > support(rows, part) for part in known | {frozenset()})


@FEW
@given(row_lists("abcs", most=8, least=1))
@example(words("as a bs b b"))
@example([frozenset(), frozenset(), *words("ab bc as cs a abcs")])
@example(words("abcs s"))
def test_lemma_the_largest_of_equal_sets_is_surest(rows):
    owners = [row for row in rows if SECRET in row]
    others = [row for row in rows if SECRET not in row]
    sets = {part for row in owners for part in model.known_parts(row - {SECRET}, 3)}

    def confidence(known):
        held = support(owners, known)
        return Fraction(held, held + support(others, known))

    for known in sets:
        same = [row for row in owners if known <= row]
        largest = frozenset.intersection(*same) - {SECRET}
        assert support(owners, largest) == support(owners, known)
        assert confidence(known) <= confidence(largest)
        for row in same:
            least = support(others, row - {SECRET})
            bound = Fraction(len(same), len(same) + least)
            between = (part for part in model.known_parts(row - {SECRET}, 3) if known <= part)
            assert all(confidence(part) <= bound for part in between)
    if owners:
        uncertain = pdanon.RhoUncertainty(rho=0.5, sensitive=[SECRET])
        assert frame_of(rows).txanon.audit(uncertain).holds == (not is_told(rows))
        result = infeasible(frame_of(rows).txanon.suppress_control, rho=0.5, sensitive=[SECRET])
        assert result is None or not is_told(rows_of(result.frame))


@FEW
@given(row_lists("abst", longest=4, most=8, least=2), st.integers(2, 3))
@example(words("as b"), 2)
def test_lemma_groups_leave_a_safe_rest(rows, p):
    secrets = sorted({item for row in rows for item in row} & {"s", "t"})
    if not secrets or not any(row & {"a", "b"} for row in rows):
        return
    result = infeasible(frame_of(rows).txanon.cahd, p=p, sensitive=secrets)
    safe = all(support(rows, {secret}) * p <= len(rows) for secret in secrets)
    assert (result is not None) == safe
    for group in [] if result is None else parts_of(rows, result.frame["group"]):
        assert all(support(group, {secret}) * p <= len(group) for secret in secrets)


@FEW
@given(
    st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1, max_size=3), min_size=2, max_size=5),
    KS,
    MS,
    st.integers(3, 5),
)
@example(words("b a ab bc cd cde ce"), 2, 2, 5)
def test_lemma_chunks_fit_together(rows, k, m, most):
    if len(rows) < k:
        return
    result = infeasible(pdanon.disassociate, frame_of(rows), k=k, m=m, max_cluster=most)
    tables = None if result is None else against.all_tables(result.frame)
    for known in {part for row in rows for part in model.known_parts(row, m)} if tables else ():
        assert max(support(table, known) for table in tables) >= k


@given(ROWS)
def test_lemma_equal_rows_have_weights(rows):
    weights, index = Counter(rows), SupportIndex.of(Itemsets.from_series(frame_of(rows)["items"])).distinct()
    assert index.n_rows == len(rows)
    occurring = {part for row in rows for part in model.known_parts(row, 4)}
    for known in occurring:
        assert sum(n for row, n in weights.items() if known <= row) == support(rows, known)
    for k in (2, 3):
        assert index.at_risk(k, 2).any() == bool(rare_sets(rows, k, 2))


HOW_DIVIDED = pytest.mark.parametrize("how", ["files", "partitions"])
CUTS = st.lists(st.integers(0, 9), max_size=8).map(sorted)


def in_parts(frame, cuts):
    bounds = [0, *(min(cut, len(frame)) for cut in cuts), len(frame)]
    return [frame.iloc[first:end] for first, end in pairwise(bounds)]


def write_files(frame, cuts, directory):
    """Write a file for each part of a frame, with row groups of two rows."""
    directory.mkdir()
    for number, part in enumerate(in_parts(frame, cuts)):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=2)
    return directory


def read_files(directory):
    return pd.concat([*map(pdanon.read_parquet, sorted(directory.iterdir()))], ignore_index=True)


@contextmanager
def partitions(source, parts):
    """A Dask frame, which is computed in this thread."""
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    pytest.importorskip("pdanon.dask")
    with dask.config.set(scheduler="synchronous"):
        yield dd.from_map(source, parts, meta=source(parts[0]).iloc[:0])


def same(part):
    return part


class Readings:
    """A partition of one frame in the first readings, and of another one later."""

    def __init__(self, frame, other, first):
        self.frame, self.other, self.left = frame, other, first + 1  # one for the columns

    def __dask_tokenize__(self):
        return uuid4().hex

    def __call__(self, _):
        self.left -= 1
        return self.frame if self.left >= 0 else self.other


def released_in(how, frame, cuts, name, **asked):
    """The release of a frame in parts: its mapping, and its rows."""
    with TemporaryDirectory() as place:
        target = Path(place) / "out"
        if how == "files":
            source = write_files(frame, cuts, Path(place) / "in")
            mapping = getattr(pdanon.stream, name)(source, target, **asked).mapping
            return mapping, read_files(target)
        with partitions(same, in_parts(frame, cuts)) as ddf:
            result = getattr(ddf.txanon, name)(**asked)
            return result.mapping, result.frame.compute()


def with_bags(rows):
    """A frame with a missing row, and with one item twice in every second row."""
    bags = [sorted(row) + sorted(row)[: place % 2] for place, row in enumerate(rows)]
    lists = pa.array([*bags, None], pa.list_(pa.string()))
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    return frame.assign(sex=[number % 2 for number in range(len(lists))])


AGES = st.lists(st.sampled_from([20, 60]), min_size=12, max_size=12)
IN_PIECES = {
    "pcta": {"k": 2, "m": 2},
    "coat": {"k": 2, "m": 1, "max_suppressed": 1, "utility": [["a", "b"], ["c"]]},
    "lra": {"k": 2, "m": 2, "hierarchy": {"x": ["a", "b"], "y": ["c", "d"]}, "parts": 2},
    "coherence": {"h": 1, "k": 2, "p": 1, "private": "ills"},
    "rfirst": {"k": 2, "m": 1, "quasi": ["sex"]},
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")
@HOW_DIVIDED
@FEWER
@given(st.lists(LISTS, min_size=3, max_size=9), CUTS, st.sampled_from([*IN_PIECES][:-1]))
@example([*words("a a b b a a b b"), None], [*range(1, 9)], "pcta")
@example([*words("a a b b"), None], [2], "coherence")
@example(words("a a a a"), [], "lra")
def test_lemma_pieces_are_the_table(how, rows, cuts, name):
    frame = frame_of([row and row | {"c"} for row in rows])
    if not any(rows):
        return
    if name == "coherence":
        frame["ills"] = frame_of([row and {"i"} for row in rows])["items"]
    asked = {"column": "items", **IN_PIECES[name]}
    expected = infeasible(getattr(pdanon, name), frame, **asked)
    if expected is not None:
        mapping, shown = released_in(how, frame, cuts, name, **asked)
        for column in frame:
            assert pa.array(shown[column]).to_pylist() == pa.array(expected.frame[column]).to_pylist()
        assert mapping.equals(expected.mapping)
    if how == "files":
        bags = with_bags([row or frozenset() for row in rows])
        with TemporaryDirectory() as place:
            source = write_files(bags, cuts, Path(place) / "in")
            for guarantee in (pdanon.KmAnonymity(2, 2), pdanon.KKm(k=2, m=1, quasi=["sex"])):
                audit = pdanon.stream.audit(source, guarantee, column="items")
                assert audit.rows_at_risk == guarantee.audit(bags, "items").rows_at_risk


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")
@FEWER
@given(
    row_lists("abc", most=4, least=4),
    row_lists("abc", most=4, least=4),
    st.sampled_from(["pcta", "lra", "rfirst"]),
)
@example(words("a a b b"), words("b b a a"), "rfirst")
@example(words("a a b b"), words("a a a a"), "pcta")
@example(words("ab ab ab ab"), words("ab a a b"), "pcta")
@example(words("ab ab c c"), words("ac ab c c"), "lra")
def test_lemma_changed_rows_are_refused(rows, later, name):
    frame, other = (frame_of(each).assign(sex=0) for each in (rows, later))
    asked = {"column": "items", **IN_PIECES[name]}
    by_row, below = name == "rfirst", {"x": "ab", "y": "cd", "*": "abcd"}
    if (rows == later if by_row else Counter(rows) == Counter(later)) or infeasible(
        getattr(pdanon, name), frame, **asked
    ) is None:
        return
    with TemporaryDirectory() as place:
        target = Path(place) / "out"
        with (
            partitions(Readings(frame, other, 1), [0]) as ddf,
            pytest.raises(pdanon.ParameterError, match="the rows have changed"),
        ):
            getattr(ddf.txanon, name)(**asked)
        with partitions(Readings(frame, other, 2), [0]) as ddf:
            result = getattr(ddf.txanon, name)(**asked)
            try:
                result.to_parquet(target)
            except pdanon.PdanonError:
                assert not target.exists()
            else:
                shown = rows_of(read_files(target))
                assert not rare_sets(shown, asked["k"], asked["m"])
                for row, now in zip(later, shown, strict=True):
                    assert all(row & {*below.get(label, label_members(label) or label)} for label in now)
        source = write_files(frame, [], Path(place) / "in")
        module, decide = (quasi_files, "decide_table") if by_row else (engines, "decide")
        original = getattr(module, decide)

        def change(*arguments, **given):
            pq.write_table(pa.Table.from_pandas(other, preserve_index=False), source / "0.parquet")
            return original(*arguments, **given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, decide, change)
            with pytest.raises(pdanon.FormatError, match="the files have changed"):
                getattr(pdanon.stream, name)(source, Path(place) / "other", **asked)
        assert not (Path(place) / "other").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")
@HOW_DIVIDED
@FEWER
@given(row_lists("ab", most=12, least=9), AGES, CUTS, KS)
@example([*words("a"), *[frozenset()] * 5, *words("a a a a a a")], [20] * 12, [5], 3)
@example(
    [*words("a a a b"), *[frozenset()] * 3, *words("a a")], [20] * 3 + [60, 20, 60, 60] + [20] * 5, [5], 2
)
def test_lemma_regions_share_classes(how, rows, ages, cuts, k):
    frame = frame_of(rows).assign(age=ages[: len(rows)])
    asked = {"k": k, "m": 1, "quasi": ["age"], "block_rows": 6, "random_state": 0}
    result = infeasible(released_in, how, frame, cuts, "rfirst", column="items", **asked)
    if result is not None:
        shown, classes = rows_of(result[1]), result[1]["age"].map(str)
        for own, now in zip(parts_of(rows, classes), parts_of(shown, classes), strict=True):
            assert len(now) >= k
            assert hides(own, now, k)
            assert not rare_sets(now, k, 1)


@FEW
@given(
    row_lists(longest=3, most=8),
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("def")),
    st.booleans(),
)
@example(words("bde b a"), frozenset("a"), frozenset("d"), False)
def test_lemma_pairs_decide(rows, one, other, same):
    published = [frozenset("abc"), frozenset("def")]
    table = rows
    rows = [row for row in rows if len(row) <= 2 or all(len(row & own) <= 1 for own in published)]
    other = published[0] - one if same else other
    pairs = {pair: support(rows, {*pair}) for pair in combinations("abcdef", 2)}

    def supports(items):
        """Of the union of some items, by supports of items and pairs alone."""
        singles = sum(support(rows, {item}) for item in items)
        return singles - sum(n for pair, n in pairs.items() if items.issuperset(pair))

    across = sum(n for (a, b), n in pairs.items() if (a in one and b in other) or (a in other and b in one))
    assert supports(one) == sum(bool(row & one) for row in rows)
    assert across == sum(bool(row & one) and bool(row & other) for row in rows)

    # A release by pairs, and by the rows that are asked for, is that by all rows.
    itemsets = Itemsets.from_series(frame_of(table)["items"])
    counts = PairCounts.of(itemsets)
    for m in (1, 2, 3):
        assert suffices("pcta", {"guarantee": pdanon.KmAnonymity(2, m)}) == (m < 3)
    result = infeasible(frame_of(table).txanon.pcta, k=2, m=2)
    by_pairs = plan("pcta", {"k": 2, "m": 2}).by_pairs
    decision = infeasible(by_pairs, counts, lambda request: [request.find(itemsets)])
    assert (decision is None) == (result is None)
    assert result is None or decision.mapping.equals(result.mapping)


@FEW
@given(row_lists(ITEMS, most=6, least=3), row_lists(ITEMS, most=3), KS, MS)
@example([frozenset(), *words("b c")], [], 2, 1)
@example(words("a a a"), words("ab"), 2, 1)
def test_lemma_added_rows_keep_matches(rows, more, k, m):
    result = infeasible(frame_of(rows).txanon.pcta, k=k, m=m)
    if result is None:
        return
    old = rows_of(result.frame)
    if not frozenset().union(*more) <= frozenset().union(*rows):
        with pytest.raises(pdanon.ParameterError, match="items that the mapping lacks"):
            pdanon.apply_mapping(frame_of(more), result.mapping)
    new = rows_of(pdanon.apply_mapping(frame_of(more), result.mapping, unseen="suppress"))
    for labels in {part for row in old for part in model.known_parts(row, m)}:
        assert support(old + new, labels) >= support(old, labels) >= k
    assert all(not labels <= row for labels in rare_sets(old + new, k, m) for row in old)
    people = frame_of(rows + more)
    audit = frame_of(rows).txanon.audit(pdanon.KMap(k=k, m=m, population=people))
    known = {part for row in rows for part in model.known_parts(row, m)}
    assert audit.holds == all(support(rows + more, part) >= k for part in known)


@FEW
@given(
    row_lists(ITEMS, most=6, least=3), row_lists(ITEMS, most=4), KS, MS, st.sampled_from(["pcta", "apriori"])
)
def test_lemma_series_only_merge(rows, more, k, m, name):
    tree = {"hierarchy": {"*": {"x": ["a", "b"], "y": ["c", "d"]}}} if name == "apriori" else {}
    first = infeasible(getattr(pdanon, name), frame_of(rows), k=k, m=m, **tree) if any(rows) else None
    later = frame_of(rows + more).txanon.start_from(first)
    second = first and infeasible(getattr(later, name), k=k, m=m, **tree)
    if second is None:
        return
    maps = became_of(first), became_of(second)
    shown = rows_of(first.frame), rows_of(second.frame)
    for known in {part for row in rows for part in model.known_parts(row, m)}:
        found = [
            {place for place in range(len(rows)) if recoded(known, became) <= table[place]}
            for became, table in zip(maps, shown, strict=True)
        ]
        assert found[0] <= found[1]
        assert len(found[0]) >= k


PEOPLE = st.dictionaries(
    st.integers(0, 4), st.none() | st.frozensets(st.sampled_from(ITEMS)), min_size=1, max_size=5
)
SAME = {item: item for item in ITEMS}


def of_words(text, became=SAME):
    """The rows of persons, a dot for a missing one, and the label of each item."""
    rows = {person: None if row == "." else frozenset(row) - {"-"} for person, row in enumerate(text.split())}
    return rows, became


@pytest.mark.slow
@FEW
@given(st.lists(st.tuples(PEOPLE, LABELS), min_size=2, max_size=3), KS, st.integers(1, 2))
@example([of_words("- - -"), of_words(". . - - -")], 2, 1)
@example([of_words("a ab"), of_words("a ab")], 2, 1)
@example([of_words("a b b", SAME | {"a": None}), of_words("a b b a")], 2, 1)
@example([of_words("a a"), of_words("a a b", SAME | {"b": None})], 2, 1)
@example([of_words("- - -"), of_words("- - -")], 2, 1)
@example([of_words("d d a a"), of_words("d d a . a")], 2, 1)
def test_lemma_a_span_is_one_release(releases, k, m):
    maps = [became | {"d": "d"} for _, became in releases]
    shown = [
        {person: recoded(row, became) for person, row in people.items()}
        for (people, _), became in zip(releases, maps, strict=True)
    ]
    spans = naive.spans_of(len(shown))
    for span in spans:
        chosen, persons = range(span[0], span[1] + 1), naive.present(shown, span)
        joint = {item: {(each, maps[each][item]) for each in chosen if maps[each][item]} for item in ITEMS}
        rows = {one: {(each, label) for each in chosen for label in shown[each][one]} for one in persons}
        for known, found in naive.attackers(shown, maps, span, m, persons):
            labels = set().union(*(joint[item] for item in known))
            assert found == {one for one in persons if labels <= rows[one]}

    # The audits count the joint labels of each span, whatever guarantee they have.
    ages = [{one: one % 2 if not number else 0 for one in each} for number, each in enumerate(shown)]
    frames = [
        frame_of([*each.values()]).assign(id=[*each], age=[*own.values()])
        for each, own in zip(shown, ages, strict=True)
    ]
    tables = [
        pd.DataFrame(became.items(), columns=["item", "generalized"]).assign(group=0) for became in maps
    ]
    earlier = [*zip(frames[:-1], tables[:-1], strict=True)]
    series = frames[-1].txanon.after(earlier, key="id", mapping=tables[-1])
    audit = series.audit(pdanon.KmAnonymity(k, m), "items")
    exposed = [naive.km_audit(shown, maps, span, k, m)[1] for span in spans]
    newest = [row for row in shown[-1].values() if row is not None]
    emptied = None in maps[-1].values() and any(newest) and newest.count(frozenset()) in range(1, k)
    assert audit.spans["rows_at_risk"].tolist() == [*map(len, exposed)]
    assert audit.holds == (not any(exposed) and not emptied)
    assert audit.dropping["dropped"].tolist() == naive.drop_exposed(shown, maps, k, m)
    risk = series.risk("items", k=k, m=m)
    assert (risk["below_k"] * risk["rows"]).round().tolist() == [*map(len, exposed)]
    audit = series.audit(pdanon.KKm(k=k, m=m, quasi=["age"]), "items")
    for span, found in zip(spans, audit.spans["rows_at_risk"], strict=True):
        classes = {}
        for one in naive.present(shown, span):
            classes.setdefault(tuple(ages[each][one] for each in range(span[0], span[1] + 1)), set()).add(one)
        alone = [naive.km_audit(shown, maps, span, k, m, persons)[1] for persons in classes.values()]
        assert found == sum(map(len, alone))
    if any("d" in row for row in newest):
        audit = series.audit(pdanon.LmDiversity(l=2, m=m, k=k, sensitive=["d"]), "items")
        exposed = [naive.lm_exposed(shown, maps, span, k, m, 2, {"d"}) for span in spans]
        assert audit.spans["rows_at_risk"].tolist() == [*map(len, exposed)]


LINES = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(ITEMS)), min_size=2, max_size=14)
BLOCKS = {"utility": [["a", "b"], ["c"], ["d"]], "max_suppressed": 1}


@pytest.mark.parametrize(
    "how", ["frames", *(pytest.param(how, marks=pytest.mark.slow) for how in ("files", "partitions"))]
)
@FEW
@given(LINES, KS, MS, st.sampled_from([{}, BLOCKS]), st.randoms(use_true_random=False))
@example([(0, "a"), (1, "a"), (2, "c"), (3, "d")], 2, 1, BLOCKS, Random(0))
@example([(0, "a"), (1, "a"), (0, "b"), (1, "b")], 2, 1, {}, Random(0))
def test_lemma_units_become_rows(how, lines, k, m, blocks, random):
    frame = pd.DataFrame(lines, columns=["person", "item"])
    result = infeasible(frame.txanon.by("person", item="item").coat, k=k, m=m, **blocks)
    if result is None:
        return
    became = became_of(result)
    persons = [frozenset(own) for _, own in frame.groupby("person")["item"]]
    shown = [[*own.dropna()] for _, own in result.frame.groupby("person")["item"]]
    assert sorted(sorted(recoded(row, became)) for row in persons) == sorted(map(sorted, shown))
    assert not rare_sets([*map(frozenset, shown)], k, m)
    renamed = frame.sample(frac=1, random_state=random.randrange(99))
    names = random.sample(range(50), 6)
    renamed = renamed.assign(person=[names[person] for person in renamed["person"]])
    again = renamed.txanon.by("person", item="item").coat(k=k, m=m, **blocks)
    assert again.frame.astype(str).values.tolist() == result.frame.astype(str).values.tolist()
    if how == "frames":
        return
    persons, cuts = {"unit": "person", "item": "item"}, [random.randrange(len(lines))]
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_release, "_LINES", 2)
        if how == "files":
            source, target = write_files(frame, cuts, Path(place) / "in"), Path(place) / "out"
            pdanon.stream.by(source, **persons).coat(target, k=k, m=m, **blocks)
            again = pdanon.read_parquet(target)
        else:
            with partitions(same, in_parts(frame, cuts)) as ddf:
                again = ddf.txanon.by(**persons).coat(k=k, m=m, **blocks).frame.compute()
        assert again.astype(str).values.tolist() == result.frame.astype(str).values.tolist()
        spaced = frame.assign(item=[item + " " * (person % 2) for person, item in lines])
        if how == "files":
            source = write_files(spaced, [], Path(place) / "spaced")
            both = pdanon.stream.by(source, **persons), spaced.txanon.by(**persons)
            audit, other = (each.audit(pdanon.KmAnonymity(k, m)) for each in both)
            assert audit.rows_at_risk == other.rows_at_risk
