"""The refinement attack: tables where it succeeds and where it finds nothing, and tables of a few rows."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from benchmarks import refinement as attack
from naive import minimality as naive

import pdanon

ITEMS = "abcde"
MEMBERS = {"ab": {0, 1}, "c": {2}, "d": {3}, "e": {4}}
# Twice each: of the sums x1 + x2 + x4 = 2, x1 + x3 + x4 = 1 and x2 + x3 + x4 = 1 of rows with a, only
# x = 1, 1, 0, 0 is left, though each count is neither 0 nor that of all rows.
ORIGINAL = ["acd", "ace", "bde", "bcde"] * 2
RELEASED = [["ab", *row[1:]] for row in ORIGINAL]


def matrix_of(rows, items=ITEMS):
    return np.array([[item in row for item in items] for row in rows])


def state_of(rows, released, members, known, deleted=False, items=ITEMS):
    state, given = attack.read(released, members, len(items), deleted)
    counts, pairs = attack.counted(matrix_of(rows, items))
    given = given._replace(
        **{"counts": {"counts": counts}, "pairs": {"counts": counts, "pairs": pairs}}.get(known, {})
    )
    return attack.close(state, given), given


def rows_left(state, given, items):
    return [row for row in range(len(state.certain)) if attack.is_possible(state, given, row, items)]


def test_counts_of_pairs_give_a_release_away_that_no_single_count_does():
    assert pdanon.audit(pd.DataFrame({"items": pdanon.as_itemsets(RELEASED)}), k=3, m=2).holds
    closed, given = state_of(ORIGINAL, RELEASED, MEMBERS, "pairs")
    assert (closed.possible & ~closed.certain).sum() == 16  # nothing follows from one count
    tight = attack.Program(closed, given).tighten()
    assert (tight.certain == matrix_of(ORIGINAL)).all()
    assert (tight.possible == matrix_of(ORIGINAL)).all()
    assert rows_left(closed, given, (1, 2)) == [3, 7]  # of six rows that match b and c
    shares = attack.Program(closed, given).nearest(np.full(closed.certain.shape, 0.5))
    assert shares == pytest.approx(matrix_of(ORIGINAL).astype(float))


@pytest.mark.parametrize("known", ["labels", "counts"])
def test_sets_hide_their_items_from_counts_of_items(known):
    closed, given = state_of(ORIGINAL, RELEASED, MEMBERS, known)
    tight = attack.Program(closed, given).tighten()
    assert (tight.possible & ~tight.certain).sum() == 16
    assert rows_left(closed, given, (1, 2)) == [0, 1, 3, 4, 5, 7]


def test_counts_of_items_give_away_nodes_below_them_that_are_published():
    # All a are published, so the rows of the node have b.
    rows, released = ["a", "a", "b", "b"], [["a"], ["a"], ["node"], ["node"]]
    members = {"a": {0}, "node": {0, 1}}
    closed, given = state_of(rows, released, members, "labels", items="ab")
    assert rows_left(closed, given, (0,)) == [0, 1, 2, 3]
    closed, given = state_of(rows, released, members, "counts", items="ab")
    assert (closed.certain == matrix_of(rows, "ab")).all()
    assert rows_left(closed, given, (0,)) == [0, 1]


def test_counts_that_contradict_the_release_have_no_solution():
    state, given = attack.read(RELEASED, MEMBERS, len(ITEMS))
    counts, pairs = attack.counted(matrix_of(ORIGINAL))
    for wrong in (
        {"counts": counts + np.array([0, 0, 1, 0, 0])},  # more rows of c than are published
        {"counts": counts - np.array([3, 2, 0, 0, 0])},  # fewer items than labels
        {"counts": counts, "pairs": np.maximum(pairs - 5, 0)},
    ):
        closed = attack.close(state, given._replace(**wrong))
        assert closed is None or not attack.Program(closed, given._replace(**wrong)).is_feasible()


def members_of(result, items):
    pairs = result.mapping.dropna(subset="generalized")
    found = defaultdict(set)
    for item, label in zip(pairs["item"], pairs["generalized"], strict=True):
        found[label].add(items.index(item))
    return found | {"A": {0, 1}, "*": {0, 1, 2}}


def originals(state, given, n_items):
    """Every table that agrees with the labels and the counts."""
    cells = [*zip(*np.nonzero(state.possible & ~state.certain), strict=True)]
    for values in product((False, True), repeat=len(cells)):
        table = state.certain.copy()
        for cell, value in zip(cells, values, strict=True):
            table[cell] = value
        counts, pairs = attack.counted(table)
        if (
            (given.members & table[given.rows]).any(axis=1).all()
            and (given.counts is None or (counts == given.counts).all())
            and (given.pairs is None or (pairs == given.pairs).all())
        ):
            yield table


RELEASES = {
    "sets": lambda df: df.txanon.pcta(k=2, m=2),
    "local recoding": lambda df: df.txanon.lra(
        k=2, m=2, hierarchy={"*": {"A": ["a", "b"], "B": ["c"]}}, parts=2
    ),
    "deletions": lambda df: df.txanon.local_suppression(k=2, m=2),
    "mixture": lambda df: df.txanon.local_suppression(k=2, m=2, deletion_price=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.filterwarnings("ignore::pdanon.ReleaseWarning")
def test_no_original_is_ruled_out(name):
    ruled_out = sharp = 0
    tables = [table for table in naive.tables("abc", 4) if len(set().union(*table)) == 3][::7]
    for rows in tables:
        df = pd.DataFrame({"items": pdanon.as_itemsets([sorted(row) for row in rows])})
        try:
            result = RELEASES[name](df)
        except pdanon.InfeasibleError:
            continue
        released = [[*row] for row in result.frame["items"]]
        for known in ("counts", "pairs"):
            closed, given = state_of(
                rows, released, members_of(result, "abc"), known, name in ("deletions", "mixture"), "abc"
            )
            before, _ = attack.read(released, members_of(result, "abc"), 3, name in ("deletions", "mixture"))
            tight = attack.Program(closed, given).tighten()
            everything = np.array([*originals(before, given, 3)])
            assert (tight.possible >= everything.any(axis=0)).all()
            assert (tight.certain <= everything.all(axis=0)).all()
            for row, size in product(range(4), (1, 2)):
                for items in combinations(range(3), size):
                    exact = everything[:, row][:, items].all(axis=1).any()
                    found = attack.is_possible(tight, given, row, items)
                    assert found or not exact
                    ruled_out += not exact
                    sharp += not found
    assert sharp > 0.9 * ruled_out > 0
