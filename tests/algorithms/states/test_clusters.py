"""Clusters: supports stay current through merges and drops, and losses are compared exactly."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from conftest import row_lists
from hypothesis import assume, example, given, settings, strategies as st
from indexes import csr, index_of, weighted_rows
from naive.itemsets import Clustering

from examples import examples
from pdanon._kernels import clusters as kernels
from pdanon._kernels.clusters import _compare_loss
from pdanon.algorithms.states.clusters import Clusters
from pdanon.itemsets import timing as progress
from pdanon.itemsets.support import ItemsetTable

N_ITEMS = 7


# --- losses, without their factors 2**size


def exact_order(size_1, rows_1, size_2, rows_2):
    loss_1, loss_2 = (2**size_1 - 1) * rows_1, (2**size_2 - 1) * rows_2
    return (loss_1 > loss_2) - (loss_1 < loss_2)


@st.composite
def losses(draw):
    """Two losses: of any sizes and counts, and often so near each other that floats would be wrong."""
    largest = 2**53 - 1
    counts = st.integers(0, largest) | st.integers(0, 100) | st.integers(2**52 - 2, 2**52 + 2)
    size_1, rows_1 = draw(st.integers(1, 3000) | st.integers(1, 60)), draw(counts)
    shift = draw(st.integers(0, 56))
    if draw(st.booleans()) or (rows_1 << shift) + 2 > largest:
        return size_1, rows_1, draw(st.integers(1, 3000) | st.integers(1, 60)), draw(counts)
    near = (rows_1 << shift) + draw(st.integers(-2, 2))
    if draw(st.booleans()) and size_1 < 60:  # the very next integers around an equal loss
        near = ((2 ** (size_1 + shift) - 1) * rows_1) // (2**size_1 - 1) + draw(st.integers(-1, 1))
    return size_1 + shift, rows_1, size_1, min(max(near, 0), largest)


@settings(max_examples=examples(300))
@given(losses())
@example((2, 1, 1, 3))  # equal losses of unequal sizes
@example((3000, 1, 2999, 2))
@example((54, 2**52 + 1, 53, 2**53 - 1))
@example((1, 0, 3000, 0))
@example((54, 1, 1, 2**53 - 1))
def test_losses_compare_as_the_integers_they_are(pair):
    size_1, rows_1, size_2, rows_2 = pair
    assert _compare_loss(size_1, rows_1, size_2, rows_2) == exact_order(*pair)
    assert _compare_loss(size_2, rows_2, size_1, rows_1) == -exact_order(*pair)


def test_all_small_losses_compare_exactly():
    sample = [(size, rows) for size in range(1, 8) for rows in range(0, 40, 3)]
    for one in sample:
        for other in sample:
            assert _compare_loss(*one, *other) == exact_order(*one, *other)


# --- supports under merges and drops


def support(clusters, one, other=None):
    """The support of a cluster, or of two together."""
    if other is None:
        return clusters._state.support[one]
    return kernels.together(one, other, clusters._state)


def assert_equal_state(clusters, naive):
    """Every support that the clusters can be asked for, and the rows as sets of clusters."""
    label_of = [naive.label.get(item, item) for item in range(N_ITEMS)]
    assert clusters.labels.tolist() == [-1 if label is None else label for label in label_of]
    published = sorted(set(label_of) - {None})
    assert clusters.n_clusters == len(published)
    for label in published:
        assert support(clusters, label) == naive.support({label})
    for one, other in combinations(published, 2):
        assert support(clusters, one, other) == support(clusters, other, one) == naive.support({one, other})
    rows = clusters.index()
    found = ItemsetTable(rows.codes, rows.offsets, rows.weights)
    generalized = naive.generalized()
    assert {frozenset(row): weight for row, weight in zip(found.sets(), rows.weights, strict=True)} == {
        row: generalized.count(row) for row in set(generalized)
    }


@settings(max_examples=examples(60))
@given(weighted_rows(), st.integers(2, N_ITEMS), st.randoms())
def test_supports_stay_current_through_merges_and_drops(sample, lines, draw):
    rows, weights, written_out = sample
    clusters = Clusters(index_of(rows, weights), room=4 * N_ITEMS * lines)
    naive = Clustering(written_out)
    naive.label = {item: item for item in range(N_ITEMS)}  # also those in no row
    while len(naive.labels) > 1:
        one, other = draw.sample(naive.labels, 2)
        if draw.random() < 0.25:
            kernels.drop(one, clusters._state)
            naive.drop(one)
        else:
            kernels.merge(one, other, clusters._state)
            naive.merge(one, other)
        assert_equal_state(clusters, naive)


def test_supports_stay_current_up_to_the_largest_number_of_rows():
    """Counts of two clusters are added before what they share is taken off: more than 31 bits."""
    most = 2**31 - 1
    clusters = Clusters(index_of([{0, 1, 2}, {1, 3}], weights=[most - 5, 5]))
    kernels.merge(0, 1, clusters._state)
    assert support(clusters, 0) == most
    assert support(clusters, 0, 2) == most - 5
    assert support(clusters, 0, 3) == 5
    kernels.merge(2, 3, clusters._state)
    assert support(clusters, 0, 2) == most


# --- satisfying


@settings(max_examples=examples(60))
@given(weighted_rows(), st.integers(2, 8), st.booleans())
def test_no_pair_is_rare_when_pairs_are_satisfied(sample, k, pairs):
    rows, weights, written_out = sample
    assume(sum(map(bool, written_out)) >= k)
    merges = []
    clusters = Clusters(index_of(rows, weights))
    with progress.assigned(progress.COUNTER, merges.append):
        clusters.satisfy_pairs(k, pairs=pairs)
    assert sum(merges) == N_ITEMS - clusters.n_clusters
    used = sorted({int(label) for row in rows for label in clusters.labels[list(row)]})
    assert all(support(clusters, one) >= k for one in used)
    supports = [support(clusters, one, other) for one, other in combinations(used, 2)]
    published = [{int(clusters.labels[item]) for item in row} for row in written_out]
    assert supports == [sum({one, other} <= row for row in published) for one, other in combinations(used, 2)]
    assert not pairs or not any(0 < support < k for support in supports)


def test_an_item_in_no_row_is_never_merged_for_its_own_sake():
    clusters = Clusters(index_of([{0}] * 3 + [{1}] * 3))
    clusters.satisfy_pairs(3)
    assert clusters.labels.tolist() == list(range(N_ITEMS))


@pytest.mark.parametrize("batch", [1, 2])
@given(rows=row_lists(items=range(6), least=4), k=st.integers(2, 4))
def test_the_batches_of_merges_do_not_matter(batch, rows, k):
    """Work is done in batches, so that progress can be shown; its outcome is that of one go."""
    itemsets = [row for row in rows if row]
    assume(len(itemsets) >= k)
    table = ItemsetTable(*csr(itemsets), np.zeros(len(itemsets), np.int64))
    outcomes = []
    for size in (batch, 500):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(progress, "_MOST_STEPS", size)
            pairwise, listed = (Clusters(index_of(rows)) for _ in range(2))
            pairwise.satisfy_pairs(k)
            listed.satisfy(table, k)
        outcomes.append((pairwise.labels.tolist(), listed.labels.tolist()))
    assert outcomes[0] == outcomes[1]


def random_rows(seed, n_items):
    """Rows in which few items are frequent, so that supports of pairs come up and go again."""
    draw = np.random.default_rng(seed)
    shares = np.arange(1, n_items + 1) ** -0.7
    return [
        set(draw.choice(n_items, draw.integers(1, 6), replace=False, p=shares / shares.sum()).tolist())
        for _ in range(60)
    ]


@settings(max_examples=examples(60))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(6, 40),
    st.integers(2, 6),
    st.integers(0, 8),
    st.sampled_from([1, 2, 3, 4, None]),
    st.booleans(),
)
def test_the_room_for_supports_changes_no_outcome(seed, n_items, k, lines, m, least_first):
    """Supports that are given up are counted again, and itemsets that are listed in turn keep their order."""
    index = index_of(random_rows(seed, n_items), n_items=n_items)
    blocks = np.random.default_rng(seed).integers(0, 2, n_items)
    outcomes = []
    for room, listed in ((4 * n_items * n_items, 2**22), (4 * n_items * lines, 1 + lines)):
        asked = {"spare": n_items, "least_first": least_first, "room": room, "listed": listed}
        clusters = Clusters(index, None, blocks, **asked)
        clusters.satisfy_km(k, m)
        used = np.unique(clusters.labels[clusters.labels >= 0]).tolist()
        pairs = [support(clusters, one, other) for one, other in combinations(used, 2)]
        outcomes.append((clusters.labels.tolist(), pairs))
    assert outcomes[0] == outcomes[1]


def test_a_weight_is_that_of_the_most_important_member():
    """Supports are equal, and by the larger weight two merges are too: the first in order is made."""
    clusters = Clusters(index_of([{0}, {1}, {2}, {3}], n_items=4), np.array([5, 4, 1, 6]))
    clusters.satisfy(ItemsetTable(*csr([{0}]), np.zeros(1, np.int64)), 2)
    assert clusters.labels.tolist() == [0, 0, 2, 3]
