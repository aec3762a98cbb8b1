"""Local recoding: the very blocks and cuts of a naive run, and a release that is safe as a whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import example, given, settings, strategies as st
from naive import cuts as naive_cuts, itemsets as naive
from naive.cuts import FIRST, SMALL_TREE, WORKED, hierarchy_of, problems

import pdanon
from examples import examples
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex, gray_ranks


@pytest.mark.parametrize("m", [1, 2, 3, None])
@settings(max_examples=examples(60))
@given(problem=problems(), parts=st.integers(1, 5))
def test_blocks_and_rows_are_those_of_the_naive_run(m, problem, parts):
    tree, rows, k = problem
    result = frame_of(rows).txanon.lra(k=k, m=m, hierarchy=hierarchy_of(tree), parts=parts)
    blocks, published = naive_cuts.lra(rows, tree, k, m, parts)
    assert result.groups.tolist() == blocks
    assert rows_of(result.frame) == published
    assert not naive.km_threats(published, k, m)


@settings(max_examples=examples(120))
@given(row_lists(longest=6, most=12))
@example([frozenset("ab"), frozenset("a"), frozenset(), frozenset("ab"), frozenset("abc"), frozenset("b")])
def test_order_is_that_of_the_gray_code(rows):
    ranks = gray_ranks(SupportIndex.of(Itemsets.from_series(frame_of(rows)["items"])))
    order = naive_cuts.gray_order(rows)
    assert sorted(range(len(rows)), key=lambda number: (ranks[number], order.index(number))) == order
    assert all((ranks[x] == ranks[y]) == (rows[x] == rows[y]) for x in order for y in order)


def test_gray_code_of_three_items():
    """The reflected code: 000, 001, 011, 010, 110, 111, 101, 100, with the most frequent item first."""
    code = ["", "c", "bc", "b", "ab", "abc", "ac", "a"]
    rows = [frozenset(row) for row in code] + [frozenset("ab"), frozenset("a"), frozenset("a")]
    ranks = gray_ranks(SupportIndex.of(Itemsets.from_series(frame_of(rows)["items"])))
    assert np.argsort(ranks[:8]).tolist() == [*range(8)]
    assert ranks[[8, 9]].tolist() == ranks[[4, 7]].tolist()


@pytest.mark.parametrize(("rows", "m", "became", "ncp"), WORKED)
def test_one_block_is_apriori(rows, m, became, ncp):
    result = frame_of(rows).txanon.lra(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE), parts=1)
    assert result.loss["NCP"] == pytest.approx(ncp)
    assert set(result.groups) == {0}
    whole = frame_of(rows).txanon.apriori(k=2, m=m, hierarchy=hierarchy_of(SMALL_TREE))
    pd.testing.assert_frame_equal(result.mapping, whole.mapping)
    pd.testing.assert_series_equal(result.loss.drop("GGD"), whole.loss)


@settings(max_examples=examples(40))
@given(problems(longest=8), st.integers(1, 4))
def test_mapping_and_loss_are_those_of_the_rows(problem, parts):
    tree, rows, k = problem
    result = frame_of(rows).txanon.lra(k=k, m=2, hierarchy=hierarchy_of(tree), parts=parts)
    size = {name: len(naive.leaves(node)) for node in naive_cuts.subtrees(tree) for name in [node[0]]}
    became = {(each.group, each.item): each.generalized for each in result.mapping.itertuples()}
    became = {
        (number, item): became[group, item]
        for number, (group, row) in enumerate(zip(result.groups, rows, strict=True))
        for item in row
    }
    leaves = size[tree[0]]
    costs = [0 if size[label] == 1 else size[label] / leaves for label in became.values()]
    assert result.loss["NCP"] == pytest.approx(sum(costs) / max(len(costs), 1))
    support = {}
    groups = result.groups.tolist()
    for group, row in zip(groups, rows_of(result.frame), strict=True):
        for label in row:
            support[group, label] = support.get((group, label), 0) + 1
    members = {
        (group, label): len({i for (n, i), own in became.items() if (groups[n], own) == (group, label)})
        for group, label in support
    }
    items = len(set().union(*rows))
    utility_loss = sum((2 ** members[key] - 1) / (2**items - 1) * n / len(rows) for key, n in support.items())
    assert result.loss["UL"] == pytest.approx(np.log2(utility_loss) if utility_loss else -np.inf)


def test_equal_rows_stay_together():
    rows = [frozenset("a")] * 5 + [frozenset("b")] * 5
    tree = {"all": ["a", "b"]}
    result = frame_of(rows).txanon.lra(k=2, m=1, hierarchy=tree, parts=5)
    assert result.groups.groupby(result.groups).size().tolist() == [5, 5]


def test_more_parts_than_rows_for_them():
    rows = [frozenset("a"), frozenset("b"), frozenset("ab"), frozenset("c")]
    result = frame_of(rows).txanon.lra(k=2, m=None, hierarchy={"all": ["a", "b", "c"]}, parts=10**9)
    assert sorted(result.groups.value_counts()) == [2, 2]


def test_a_local_mapping_cannot_be_applied_to_other_rows():
    _, mapping = frame_of(FIRST * 3).txanon.lra(k=2, hierarchy=hierarchy_of(SMALL_TREE), parts=2)
    assert set(mapping["group"]) == {0, 1}
    with pytest.raises(pdanon.ParameterError, match="not global"):
        pdanon.apply_mapping(frame_of(FIRST), mapping)


def test_groups_keep_the_index_and_are_no_column_of_the_release():
    frame = frame_of(FIRST * 3).set_index(pd.Index(list("abcdefghijkl"), name="person"))
    result = frame.txanon.lra(k=2, hierarchy=hierarchy_of(SMALL_TREE), parts=2)
    pd.testing.assert_index_equal(result.groups.index, frame.index)
    assert [*result.frame.columns] == ["items"]


@pytest.mark.slow
def test_real_baskets_are_safe_as_a_whole(data):
    frame = pd.read_parquet(data / "bms_webview1.parquet", dtype_backend="pyarrow")
    result = frame.txanon.lra(k=5, m=2, hierarchy=5, parts=20)
    assert result.groups.nunique() == 20
    most_alike = max(Counter(rows_of(frame)).values())
    assert (result.groups.value_counts() - len(frame) / 20).abs().max() <= most_alike
    assert result.frame.txanon.audit(pdanon.KmAnonymity(5, 2)).holds


@pytest.mark.parametrize("parts", [0, -1, 2.0, "2", None, True])
def test_parts_is_a_positive_integer(parts):
    with pytest.raises(pdanon.ParameterError, match="parts"):
        frame_of(FIRST).txanon.lra(k=2, hierarchy=hierarchy_of(SMALL_TREE), parts=parts)


def test_too_few_rows():
    with pytest.raises(pdanon.InfeasibleError, match="k=5"):
        frame_of(FIRST).txanon.lra(k=5, hierarchy=hierarchy_of(SMALL_TREE), parts=2)
