"""What remains of items: against definitions in fractions, against `Workload`, and of weighted rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pdanon.datasets
import pytest
from conftest import frame_of, row_lists
from frames import collapse
from hypothesis import given, settings, strategies as st
from naive import losses as naive

import pdanon
import pdanon.stream
from examples import examples
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets import threads
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding.loss import draw_pairs, find_places, information_loss, joint_loss, sample_places
from pdanon.recoding.recoding import Recoding

READABLE = ["occurrences", "stands_for", "singles", "pairs", "suppressed"]
TREE = {"*": {"P": {"H": ["a", "b"], "Q": ["c"]}, "R": ["d", "e", "f"]}}

WAYS = {
    "pcta": {"k": 2, "m": 2},
    "coat": {"k": 3, "m": 2},
    "apriori": {"k": 2, "m": 2, "hierarchy": TREE},
    "hghs": {"k": 3, "m": 2, "hierarchy": TREE},
    "lra": {"k": 2, "m": 2, "hierarchy": TREE, "parts": 2},
    "partition": {"k": 2, "hierarchy": TREE},
    "clump": {"k": 2, "hierarchy": TREE},
    "rfirst": {"k": 2, "m": 1, "quasi": ["age"], "random_state": 0},
}


def loss_of(itemsets, recoding):
    return information_loss(itemsets, recoding, recoding.changes(itemsets))[0]


def entries(mapping):
    columns = (mapping[name].astype(object).tolist() for name in ("group", "item", "generalized", "support"))
    return [
        (group, item, None if pd.isna(label) else label, int(support))
        for group, item, label, support in zip(*columns, strict=True)
    ]


def lists(column):
    return [None if not isinstance(row, (list, np.ndarray)) else list(row) for row in column]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=examples(40))
@given(rows=row_lists(least=2))
def test_results_say_what_remains(name, rows):
    frame = frame_of([*rows, *map(frozenset, "aaab")]).assign(age=range(len(rows) + 4))
    frame = frame if name == "rfirst" else frame[["items"]]
    try:
        result = getattr(frame.txanon, name)(**WAYS[name])
    except pdanon.InfeasibleError:
        return
    expected = naive.readable(lists(frame["items"]), lists(result.frame["items"]), entries(result.mapping))
    assert [*result.loss.index[:5]] == READABLE
    assert result.loss[READABLE].to_dict() == pytest.approx({k: float(v) for k, v in expected.items()})


@settings(max_examples=examples(60))
@given(row_lists(least=1, most=14), st.lists(st.integers(-1, 2), min_size=6, max_size=6), st.data())
def test_distinct_rows_with_weights_say_the_same(rows, clusters, data):
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    collapsed = collapse([itemsets.take(order)]).itemsets
    targets = np.array(clusters[: itemsets.n_items], np.int32)
    expected, found = (loss_of(each, Recoding.of_clusters(targets, each)) for each in (itemsets, collapsed))
    pd.testing.assert_series_equal(found, expected)


def test_the_same_pairs_are_drawn_from_distinct_rows_in_another_order(monkeypatch):
    """Of many more pairs than are drawn."""
    itemsets = Itemsets.from_series(pdanon.datasets.make_baskets(3000, 40, random_state=1)["items"])
    shuffled = itemsets.take(np.random.default_rng(0).permutation(itemsets.n_rows))
    collapsed = collapse([shuffled]).itemsets
    assert collapsed.n_rows < itemsets.n_rows
    codes, times = draw_pairs(itemsets)
    assert times.sum() == 200
    for other in (shuffled, collapsed):
        for one, two in zip((codes, times), draw_pairs(other), strict=True):
            assert (one == two).all()
    monkeypatch.setattr(threads, "_WORTH", 100)  # the rows are read in parts
    monkeypatch.setattr(threads, "_LONGEST", 1000)
    for one, two in zip((codes, times), draw_pairs(itemsets), strict=True):
        assert (one == two).all()


def test_places_are_those_in_the_order_of_all_hashes():
    """The k-th of all pairs, where rows are listed by hash, once for each copy."""
    for seed in range(examples(100)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 400))
        hashes = rng.integers(0, 2**64, n, dtype=np.uint64) >> np.uint64(rng.choice([0, 0, 50]))
        hashes, pairs = np.unique(hashes), rng.integers(0, 4, n)
        pairs, weights = pairs[: len(hashes)], rng.integers(1, 5, len(hashes))
        every = [(row, pair) for row, count in enumerate(pairs) for pair in range(count)]
        listed = [
            (row, pair) for row, many in enumerate(weights) for _ in range(many) for pair in range(pairs[row])
        ]
        shuffled = rng.permutation(len(hashes))
        place = np.empty(len(hashes), np.int64)
        place[shuffled] = np.arange(len(hashes))
        for cells, own in ((every, 1), (listed, weights[shuffled])):
            number = min(200, len(cells))
            expected = [cells[(2 * i + 1) * len(cells) // (2 * number)] for i in range(number)]
            copies = pairs[shuffled] * own
            _, places = sample_places(copies.sum(keepdims=True))
            rows, within = find_places(hashes[shuffled], pairs[shuffled], copies, places)
            assert shuffled[rows].tolist() == [row for row, _ in expected]
            assert within.tolist() == [pair for _, pair in expected]


@pytest.mark.slow
def test_pairs_are_answered_as_a_workload_answers_them(data):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    for result in (
        frame.txanon.pcta(k=5, m=2),
        frame.txanon.lra(k=5, m=2, hierarchy=5, parts=20),
    ):
        itemsets = Itemsets.from_series(frame["items"])
        codes, times = draw_pairs(itemsets)
        items = np.array(itemsets.vocabulary.to_pylist())
        workload = pdanon.Workload.from_frame(pd.DataFrame({"items": items[codes].tolist()}))
        _, table = workload.are(frame, result, mode="uniform")
        assert result.loss["pairs"] == pytest.approx(np.average(table["error"], weights=times))
        singles = pdanon.Workload.from_frame(pd.DataFrame({"items": items[:, None].tolist()}))
        _, table = singles.are(frame, result, mode="uniform")
        assert result.loss["singles"] == pytest.approx(np.average(table["error"], weights=table["actual"]))


def test_the_pairs_drawn_stand_for_all_pairs():
    frame = pdanon.datasets.make_baskets(2000, 60, random_state=3)[["items"]]
    result = frame.txanon.pcta(k=10, m=2)
    itemsets = Itemsets.from_series(frame["items"])
    items = itemsets.vocabulary.to_pylist()
    every = [[items[a], items[b]] for a in range(len(items)) for b in range(a)]
    _, table = pdanon.Workload.from_frame(pd.DataFrame({"items": every})).are(frame, result, mode="uniform")
    occurs = table[table["actual"] > 0]
    exact = np.average(occurs["error"], weights=occurs["actual"])
    assert result.loss["pairs"] == pytest.approx(exact, abs=0.05)


def test_streams_say_the_same(tmp_path, data):
    source = data / "bms_webview1.parquet"
    streamed = pdanon.stream.pcta(source, tmp_path / "released.parquet", k=5, m=2)
    pd.testing.assert_series_equal(streamed.loss, pdanon.read_parquet(source).txanon.pcta(k=5, m=2).loss)


def test_of_several_columns_each_occurrence_counts():
    """The median of ten occurrences behind labels of 2 and four behind labels of 3 is 2."""
    two, three = (
        Itemsets.from_series(frame_of(rows)["items"])
        for rows in ([{"a", "b"}] * 5, [{"x"}, {"y"}, {"z"}, {"x"}, set()])
    )
    merged = [(each, Recoding.of_clusters(np.zeros(each.n_items, np.int32), each)) for each in (two, three)]
    loss = joint_loss([(itemsets, recoding, recoding.changes(itemsets)) for itemsets, recoding in merged])
    assert loss["stands_for"] == 2
    assert loss["occurrences"] == 1
    # a and b: |5 - 2.5| each of 10; x: |2 - 4/3|, y and z: |1 - 4/3| of 4
    assert loss["singles"] == pytest.approx((5 + 2 / 3 + 1 / 3 + 1 / 3) / 14)


def test_a_node_of_one_item_changes_it_and_tells_all():
    frame = frame_of([{"c"}] * 4)
    loss = frame.txanon.apriori(k=2, m=1, hierarchy=TREE).loss
    assert loss["occurrences"] == 0
    itemsets = Itemsets.from_series(frame["items"])
    tree = Hierarchy.from_dict(TREE)
    cut = np.array([tree.names.index("Q")], np.int32)
    loss = loss_of(itemsets, Recoding.of_cut(cut, tree))
    assert loss[READABLE].to_dict() == {
        "occurrences": 1.0, "stands_for": 1.0, "singles": 0.0, "pairs": 0.0, "suppressed": 0.0
    }  # fmt: skip
