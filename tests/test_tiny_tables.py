"""Tiny tables in every form, as docs/scripts/hold_table.py judges many; and the judges themselves."""

from __future__ import annotations

from collections import Counter

import pytest
import tiny_tables

from examples import ALL


@pytest.mark.slow
@pytest.mark.parametrize("form", tiny_tables.FORMS)
def test_original_items_never_break_the_promise_of_a_release(form):
    outcomes = [tiny_tables.outcome_of(form, seed) for seed in range(-(400 if ALL else 60), 0)]
    broken = [
        (seed, each) for seed, each in zip(range(-len(outcomes), 0), outcomes, strict=True) if each.broken
    ]
    assert not broken
    assert sum(bool(each.guarantee) for each in outcomes) > len(outcomes) / 3


def test_judges_find_what_is_broken():
    rows, labels = [["a", "b"], ["a"], ["a", "b"]], {"a": "a", "b": "b"}
    judged = [
        tiny_tables.few_show(rows, shown, labels, 2, 2, frozenset(secrets))
        for shown, secrets in [
            (rows, ""),
            ([["a", "b"], ["a"], ["a"]], ""),
            ([["a"], ["a"], ["a"]], ""),
            ([["a"], ["a"], ["c"]], ""),
            (rows, "b"),
        ]
    ]
    assert [len(each) for each in judged] == [0, 4, 0, 1, 6]
    listed = [["a"], ["b"], ["a", "b"], ["z"]]
    assert len(tiny_tables.few_listed(listed, rows, rows, 3)) == 2
    assert len(tiny_tables.few_listed(listed, rows, [["a"], ["a"], ["a", "b"]], 3)) == 2
    tree = {"*": {"N": ["a", "b"]}}
    moved = [tiny_tables.few_below(rows, [["N"], ["N"], each], tree, 2, 2) for each in (["N"], ["a"], ["c"])]
    assert [len(each) for each in moved] == [0, 0, 1]
    assert len(tiny_tables.few_below(rows, [["N"], [], []], tree, 2, 1)) == 5
    assert tiny_tables.emptied(rows, [[], ["a"], ["a"]], 2) == ["1 rows lost all their items"]
    assert tiny_tables.emptied([[], ["a"]], [[], ["a"]], 2) == []
    assert tiny_tables.emptied(rows, [[], [], []], 4) == []


def test_facts_are_labels_stores_and_both_as_often_as_lines_show_them():
    lines = [("p", ["a"], "n"), ("p", ["b"], "n"), ("p", ["c"], "s"), ("q", [], "n")]
    labels = {"a": "(a,b)", "b": "(a,b)", "c": None}
    counted = tiny_tables.facts(lines, labels, counts=True)
    assert counted == {"p": Counter({("(a,b)", None): 2, ("(a,b)", "n"): 2, (None, "n"): 2}), "q": Counter()}
    assert set(tiny_tables.facts(lines, labels, counts=False)["p"].values()) == {1}
