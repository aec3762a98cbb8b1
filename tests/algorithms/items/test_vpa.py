"""Vertical partitioning: the very cuts of a naive run, for any number of parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive
from naive.cuts import FIRST, SMALL_TREE, WORKED, hierarchy_of, lattice_search, problems, vpa

import pdanon
from examples import examples


def became_of(result):
    return dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))


@pytest.mark.parametrize("m", [1, 2, 3])
@settings(max_examples=examples(75))
@given(problem=problems(), parts=st.integers(1, 9))
def test_cuts_are_those_of_the_naive_run(m, problem, parts):
    tree, rows, k = problem
    result = frame_of(rows).txanon.vpa(k=k, m=m, hierarchy=hierarchy_of(tree), parts=parts)
    expected = vpa(rows, tree, k, m, parts)
    became = became_of(result)
    assert became == {item: expected[item] for item in became}


@settings(max_examples=examples(60))
@given(problems(longest=8), st.sampled_from([2, 3, 4, None]), st.integers(1, 9))
def test_safe_and_not_below_the_optimum(problem, m, parts):
    tree, rows, k = problem
    result = frame_of(rows).txanon.vpa(k=k, m=m, hierarchy=hierarchy_of(tree), parts=parts)
    assert not naive.km_threats(rows_of(result.frame), k, m)
    assert result.loss["NCP"] >= float(lattice_search(rows, tree, k, m)) * (1 - 1e-12)


@given(problems(), st.sampled_from([1, 2, 3, None]))
def test_one_part_is_apriori(problem, m):
    tree, rows, k = problem
    frame, hierarchy = frame_of(rows), hierarchy_of(tree)
    whole = frame.txanon.vpa(k=k, m=m, hierarchy=hierarchy, parts=1)
    pd.testing.assert_frame_equal(whole.mapping, frame.txanon.apriori(k=k, m=m, hierarchy=hierarchy).mapping)


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 99])
@pytest.mark.parametrize(("rows", "m", "became", "ncp"), WORKED)
def test_worked_examples(rows, m, became, ncp, parts):
    result = frame_of(rows).txanon.vpa(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE), parts=parts)
    assert became_of(result) == {item: became.get(item, item) for item in sorted(set().union(*rows))}
    assert result.loss["NCP"] == pytest.approx(ncp)


@pytest.mark.slow
def test_real_baskets_lose_no_less_than_the_optimum(data):
    frame = pd.read_parquet(data / "bms_webview1.parquet", dtype_backend="pyarrow")
    vertical = frame.txanon.vpa(k=2, hierarchy=5, parts=10).loss["NCP"]
    optimum = frame.txanon.optimal(k=2, hierarchy=5).loss["NCP"]
    assert optimum <= vertical < 2 * optimum


@pytest.mark.parametrize("parts", [0, -1, 2.0, "2", None, True])
def test_parts_is_a_positive_integer(parts):
    with pytest.raises(pdanon.ParameterError, match="parts"):
        frame_of(FIRST).txanon.vpa(k=2, hierarchy=hierarchy_of(SMALL_TREE), parts=parts)


def test_parts_may_be_an_integer_of_numpy():
    result = frame_of(FIRST).txanon.vpa(k=2, hierarchy=hierarchy_of(SMALL_TREE), parts=np.int64(2))
    assert result.loss["NCP"] == pytest.approx(2.5 / 11)


def test_too_few_rows():
    with pytest.raises(pdanon.InfeasibleError, match="k=5"):
        frame_of(FIRST).txanon.vpa(k=5, hierarchy=hierarchy_of(SMALL_TREE), parts=2)
