"""The direct algorithm: the very cuts of a naive run, and never a loss below the optimum."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of, rows_of
from hypothesis import example, given, settings, strategies as st
from naive import itemsets as naive
from naive.cuts import FIRST, SMALL_TREE, WORKED, direct, hierarchy_of, lattice_search, problems

import pdanon
from examples import examples


def became_of(result):
    return dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))


# A tree and rows whose cut depends on the itemset that comes first.
ORDERED = ("*", [("A", [("a", None), ("b", None), ("c", None)]), ("B", [("d", None), ("e", None)])])


@pytest.mark.parametrize("m", [1, 2, 3])
@settings(max_examples=examples(75))
@given(problem=problems())
@example((ORDERED, [{"b"}, {"a", "d"}, {"c", "d", "e"}, {"e"}, {"a", "d", "e"}, {"b", "e"}], 2))
def test_cuts_are_those_of_the_naive_run(m, problem):
    tree, rows, k = problem
    became = became_of(frame_of(rows).txanon.direct(k=k, m=m, hierarchy=hierarchy_of(tree)))
    expected = direct(rows, tree, k, m)
    assert became == {item: expected[item] for item in became}


@settings(max_examples=examples(60))
@given(problems(longest=8), st.sampled_from([2, 3, 4, None]))
def test_safe_and_not_below_the_optimum(problem, m):
    tree, rows, k = problem
    result = frame_of(rows).txanon.direct(k=k, m=m, hierarchy=hierarchy_of(tree))
    assert not naive.km_threats(rows_of(result.frame), k, m)
    assert result.loss["NCP"] >= float(lattice_search(rows, tree, k, m)) * (1 - 1e-12)


@pytest.mark.parametrize(("rows", "m", "became", "ncp"), WORKED)
def test_worked_examples(rows, m, became, ncp):
    result = frame_of(rows).txanon.direct(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE))
    assert became_of(result) == {item: became.get(item, item) for item in sorted(set().union(*rows))}
    assert result.loss["NCP"] == pytest.approx(ncp)


@pytest.mark.slow
def test_real_baskets_lose_no_less_than_the_optimum(data):
    frame = pd.read_parquet(data / "bms_webview1.parquet", dtype_backend="pyarrow")
    losses = {
        name: getattr(frame.txanon, name)(k=2, hierarchy=5).loss["NCP"] for name in ("direct", "optimal")
    }
    assert losses["optimal"] <= losses["direct"] < 2 * losses["optimal"]


def test_too_few_rows():
    with pytest.raises(pdanon.InfeasibleError, match="k=5"):
        frame_of(FIRST).txanon.direct(k=5, hierarchy=hierarchy_of(SMALL_TREE))


def test_items_that_the_hierarchy_lacks():
    with pytest.raises(pdanon.HierarchyError, match="2 of 4 items"):
        frame_of(FIRST).txanon.direct(k=2, hierarchy={"A": ["a1", "a2"]})
