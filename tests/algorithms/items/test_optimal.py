"""The optimal cut: never worse than a search of the whole lattice, and safe whatever the solver says."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.optimize
import scipy.sparse
from conftest import frame_of, rows_of
from hypothesis import example, given, settings, strategies as st
from naive import itemsets as naive
from naive.cuts import (
    FIRST,
    SMALL_TREE,
    WORKED,
    best_choice,
    hierarchy_of,
    lattice_search,
    problems,
    safe_choices,
)
from naive.emptied import singled_out
from scipy.optimize import OptimizeResult

import pdanon
from examples import examples
from pdanon.algorithms.items.optimal import _Search
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.timing import TimeLimitError

# --- the optimum


@pytest.mark.one_in(2)
@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(75))
@given(problem=problems())
def test_no_safe_cut_loses_less(m, problem):
    tree, rows, k = problem
    result = frame_of(rows).txanon.optimal(k=k, m=m, hierarchy=hierarchy_of(tree))
    assert result.loss["NCP"] == pytest.approx(float(lattice_search(rows, tree, k, m)), rel=1e-12)
    assert result.loss["gap"] == 0
    assert not naive.km_threats(rows_of(result.frame), k, m)


@settings(max_examples=examples(30))
@given(problems(longest=8, most=16, least=6), st.sampled_from([2, 3, 4, 5, None]))
def test_no_safe_cut_of_longer_rows_loses_less(problem, m):
    tree, rows, k = problem
    result = frame_of(rows).txanon.optimal(k=k, m=m, hierarchy=hierarchy_of(tree))
    assert result.loss["NCP"] == pytest.approx(float(lattice_search(rows, tree, k, m)), rel=1e-12)
    assert not naive.km_threats(rows_of(result.frame), k, m)


@pytest.mark.parametrize(("rows", "m", "became", "ncp"), WORKED)
def test_worked_examples(rows, m, became, ncp):
    result = frame_of(rows).txanon.optimal(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE))
    items = result.mapping["item"]
    assert result.mapping["generalized"].tolist() == [became.get(item, item) for item in items]
    assert result.loss["NCP"] == pytest.approx(ncp)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fanout", "m"), [("bms_webview1", 5, 2), ("groceries", 3, 3)])
def test_proven_on_real_baskets(data, name, fanout, m):
    frame = pd.read_parquet(data / f"{name}.parquet", dtype_backend="pyarrow")
    asked = {"k": 5, "m": m, "hierarchy": fanout}
    result = frame.txanon.optimal(**asked)
    assert result.loss["gap"] == 0
    assert result.loss["NCP"] <= frame.txanon.apriori(**asked).loss["NCP"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("k", [2, 5])
def test_optimum_of_the_program_with_a_variable_a_node(data, k):
    """One node a path, and no two whose joint support, counted by matrix products, is in (0, k)."""
    frame = pd.read_parquet(data / "bms_webview1.parquet", dtype_backend="pyarrow")
    lists = arrow_values(frame["items"]).combine_chunks()
    items = pa.chunked_array([lists.flatten()]).unique().sort()
    tree = pdanon.Hierarchy.balanced([str(item) for item in items.to_pylist()], 5)
    leaves = np.flatnonzero(tree.is_leaf)
    paths = scipy.sparse.lil_array((len(leaves), tree.n_nodes))
    for number, leaf in enumerate(leaves):
        paths[number, tree.ancestors_of(leaf)] = 1
    codes = np.array([tree.names[leaf] for leaf in leaves]).astype(int).searchsorted(lists.flatten())
    shape = len(lists), len(leaves)
    rows = scipy.sparse.csr_array((np.ones(len(codes)), codes, lists.offsets.to_numpy()), shape=shape)
    held = (rows @ paths.tocsr() > 0).astype(np.int64)
    pairs = scipy.sparse.triu(held.T @ held, 0).tocoo()
    apart = (pairs.row == pairs.col) | (pairs.col >= pairs.row + tree.size[pairs.row])
    rare = (pairs.data > 0) & (pairs.data < k) & apart
    single = rare & (pairs.row == pairs.col)
    both = np.column_stack((pairs.row, pairs.col))[rare & ~single]
    conflicts = scipy.sparse.csr_array(
        (np.ones(both.size), both.astype(np.int32).ravel(), np.arange(0, both.size + 1, 2, np.int32)),
        shape=(len(both), tree.n_nodes),
    )
    share = np.where(tree.leaves == 1, 0, tree.leaves / len(leaves))
    allowed = np.ones(tree.n_nodes)
    allowed[pairs.row[single]] = 0
    best = scipy.optimize.milp(
        share * (rows @ paths.tocsr()).sum(axis=0),
        integrality=np.ones(tree.n_nodes),
        bounds=scipy.optimize.Bounds(0, allowed),
        constraints=[(paths.tocsr(), 1, 1), (conflicts, 0, 1)],
        options={"mip_rel_gap": 0},
    )
    ncp = frame.txanon.optimal(k=k, m=2, hierarchy=tree).loss["NCP"]
    assert ncp == pytest.approx(best.fun / len(codes), rel=1e-9)


# --- without enough time, and with a solver that fails


@settings(max_examples=examples(30))
@given(problems(), st.sampled_from([1, 2, 3, None]))
def test_without_time_the_cut_is_that_of_apriori(problem, m):
    tree, rows, k = problem
    frame, hierarchy = frame_of(rows), hierarchy_of(tree)
    result = frame.txanon.optimal(k=k, m=m, hierarchy=hierarchy, time_limit=0)
    greedy = frame.txanon.apriori(k=k, m=m, hierarchy=hierarchy)
    pd.testing.assert_frame_equal(result.frame, greedy.frame)
    assert result.loss["gap"] == (greedy.loss["NCP"] > 0)


def interrupted(c, **program):
    """No choice is found."""
    return OptimizeResult(status=1, x=None, mip_dual_bound=None)


def halfway(c, **program):
    """The choice of everything, and a bound as far below 0 or the optimum as these are apart."""
    bound = true_milp(c, **program).mip_dual_bound
    return OptimizeResult(status=1, x=np.ones(len(c)), mip_dual_bound=bound / 2 if bound > 0 else 2 * bound)


def wrong(c, **program):
    """A choice that meets no demand, called the optimum."""
    return OptimizeResult(status=0, x=np.zeros(len(c)), mip_dual_bound=0.0)


true_milp = scipy.optimize.milp


@pytest.mark.one_in(4)
@pytest.mark.parametrize("solver", [interrupted, halfway, wrong])
@pytest.mark.parametrize("m", [2, 3, None])
@settings(max_examples=examples(25))
@given(problem=problems(least=4))
def test_what_is_released_is_safe_and_its_gap_true_whatever_the_solver_says(solver, m, problem):
    tree, rows, k = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.optimize, "milp", solver)
        result = frame_of(rows).txanon.optimal(k=k, m=m, hierarchy=hierarchy_of(tree), time_limit=0.05)
    least = float(lattice_search(rows, tree, k, m))
    ncp, gap = result.loss["NCP"], result.loss["gap"]
    assert not naive.km_threats(rows_of(result.frame), k, m)
    assert 0 <= gap <= 1
    assert ncp * (1 - gap) <= least * (1 + 1e-12) <= ncp * (1 + 1e-9)


def test_same_cut_again():
    draw = np.random.default_rng(3)
    rows = [set(draw.choice(list("abcdefghijklmnop"), draw.integers(1, 6))) for _ in range(60)]
    results = [frame_of(rows).txanon.optimal(k=3, hierarchy=2) for _ in range(2)]
    pd.testing.assert_frame_equal(results[0].mapping, results[1].mapping)


# --- bad input


@pytest.mark.parametrize("time_limit", [-1, float("nan"), "60", None, True])
def test_time_limit_is_a_number_of_seconds(time_limit):
    with pytest.raises(pdanon.ParameterError, match="time_limit"):
        frame_of(FIRST).txanon.optimal(k=2, hierarchy=hierarchy_of(SMALL_TREE), time_limit=time_limit)


def test_too_few_rows():
    with pytest.raises(pdanon.InfeasibleError, match="k=5"):
        frame_of(FIRST).txanon.optimal(k=5, hierarchy=hierarchy_of(SMALL_TREE))


# --- with suppression


def suppressing(rows, tree, k, m, **options):
    hierarchy = hierarchy_of(tree)
    return frame_of(rows).txanon.optimal(k=k, m=m, hierarchy=hierarchy, suppress=True, **options)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(30))
@given(problem=problems())
def test_no_safe_choice_of_what_to_publish_loses_less(m, problem):
    tree, rows, k = problem
    result = suppressing(rows, tree, k, m)
    assert_least(result, *problem, m)


def assert_least(result, tree, rows, k, m):
    """No choice loses less, but for what it takes to hide rows that lost all their items: that is the gap."""
    safe = [*safe_choices(rows, tree, k, m)]
    least = safe[0][0]
    hidden = min(loss for loss, published in safe if not singled_out(rows, published, k))
    lm, gap, published = result.loss["LM"], result.loss["gap"], rows_of(result.frame)
    assert lm * (1 - gap) == pytest.approx(float(least), rel=1e-12)
    assert lm >= float(hidden) - 1e-12
    assert gap == 0 or any(singled_out(rows, each, k) for loss, each in safe if loss == least)
    assert not naive.km_threats(published, k, m)
    assert not singled_out(rows, published, k)


# A tree, rows and k whose best choice is worth one more than the greedy one.
ONE_MORE = (
    ("*", [("A", [("a", None), ("b", None), ("c", None)]), ("B", [("d", None), ("e", None)])]),
    [set(), {"a"}, {"a", "c", "e"}, {"b", "d"}, {"a", "d"}, {"a", "d", "e"}, {"b"}],
    2,
)


@settings(max_examples=examples(30))
@given(problems(longest=7, most=16, least=6), st.sampled_from([2, 3, 4, None]))
@example(ONE_MORE, 2)
def test_no_safe_choice_for_longer_rows_loses_less(problem, m):
    tree, rows, k = problem
    result = suppressing(rows, tree, k, m)
    assert_least(result, *problem, m)
    for greedy in (pdanon.hghs, pdanon.mhghs):
        assert result.loss["LM"] <= greedy(frame_of(rows), k=k, m=m, hierarchy=hierarchy_of(tree)).loss["LM"]


def test_suppression_is_chosen_where_it_loses_less():
    rows = [{"a1"}, {"a1"}, {"a2"}, {"a2"}, {"b1"}, {"b1"}, {"a1", "b2"}]
    result = suppressing(rows, SMALL_TREE, 2, 1)
    labels = result.mapping["generalized"]
    # To generalize b1 and b2 costs 3 occurrences a third each, as much as to suppress b2 costs.
    assert result.loss["LM"] == pytest.approx(1 / 8)
    assert labels[:2].tolist() == ["a1", "a2"]
    result = suppressing([*rows, {"b1"}], SMALL_TREE, 2, 1)
    assert result.mapping["generalized"].isna().tolist() == [False, False, False, True]


@settings(max_examples=examples(40))
@given(problems(), st.sampled_from([1, 2, 3, None]), st.integers(0, 12))
def test_whenever_the_time_is_over_what_was_found_is_released_and_its_gap_true(problem, m, looks):
    """The clock is looked at so many times before the limit is reached; 0: no more is done than must be."""
    tree, rows, k = problem
    with pytest.MonkeyPatch.context() as patch:
        clock = itertools.chain([0.0] * (looks + 1), itertools.repeat(10.0))
        patch.setattr(time, "perf_counter", lambda: next(clock))
        result = suppressing(rows, tree, k, m, time_limit=1)
    least, lm, gap = float(best_choice(rows, tree, k, m)), result.loss["LM"], result.loss["gap"]
    assert not naive.km_threats(rows_of(result.frame), k, m)
    assert lm * (1 - gap) <= least * (1 + 1e-12) <= lm * (1 + 1e-9)


@settings(max_examples=examples(40))
@given(problems(), st.sampled_from([1, 2, 3, None]))
def test_without_time_to_suppress_best_the_greedy_choice_is_released(problem, m):
    tree, rows, k = problem
    asked = {"k": k, "m": m, "hierarchy": hierarchy_of(tree)}

    def interrupted(self):
        raise TimeLimitError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Search, "improve", interrupted)
        result = suppressing(rows, tree, k, m)
    greedy = [function(frame_of(rows), **asked).loss["LM"] for function in (pdanon.hghs, pdanon.mhghs)]
    assert result.loss["LM"] == min(greedy)


@pytest.mark.parametrize("solver", [interrupted, halfway])
@settings(max_examples=examples(40))
@given(problem=problems(least=6, most=14, longest=6), m=st.sampled_from([2, 3, None]))
def test_with_suppression_what_is_released_is_safe_whatever_the_solver_says(solver, problem, m):
    tree, rows, k = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.optimize, "milp", solver)
        result = suppressing(rows, tree, k, m, time_limit=0.2)
    least = float(best_choice(rows, tree, k, m))
    lm, gap = result.loss["LM"], result.loss["gap"]
    assert not naive.km_threats(rows_of(result.frame), k, m)
    assert 0 <= gap <= 1
    assert lm * (1 - gap) <= least * (1 + 1e-12) <= lm * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fanout", "k"), [pytest.param("bms_webview1", 5, 2, marks=pytest.mark.slow), ("groceries", 3, 5)]
)
def test_suppression_is_proven_best_on_real_baskets(data, name, fanout, k):
    frame = pd.read_parquet(data / f"{name}.parquet", dtype_backend="pyarrow")
    asked = {"k": k, "m": 2, "hierarchy": fanout}
    result = frame.txanon.optimal(**asked, suppress=True)
    assert result.loss["gap"] == 0
    for other in ("hghs", "mhghs", "optimal"):
        assert result.loss["LM"] <= getattr(frame.txanon, other)(**asked).loss["LM"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bms_webview1", "uci_msweb_train"])
def test_the_limit_is_kept_on_real_baskets(data, name):
    """For all items of a row the search takes minutes, and making one choice safe ten seconds and more."""
    frame = pd.read_parquet(data / f"{name}.parquet", dtype_backend="pyarrow")
    asked = {"k": 5, "m": None, "hierarchy": 5, "suppress": True}
    frame.head(500).txanon.optimal(**asked, time_limit=0.5)  # loads compiled code
    start = time.process_time()  # whatever else the machine does
    result = frame.txanon.optimal(**asked, time_limit=1)
    assert time.process_time() - start < 8
    assert 0 < result.loss["gap"] <= 1  # 1 where the time did not even suffice for a bound
