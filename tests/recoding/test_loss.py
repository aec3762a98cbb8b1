"""Information loss: NCP, LM, UL and the suppressed share against their definitions in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding.loss import information_loss
from pdanon.recoding.recoding import Recoding

READABLE = ["occurrences", "stands_for", "singles", "pairs", "suppressed"]
TREE = (
    "*",
    [
        ("P", [("H", [("a", None), ("b", None)]), ("c", None)]),
        ("Q", [("d", None), ("e", None), ("unused", None)]),
        ("f", None),
    ],
)


def itemsets_of(rows):
    return Itemsets.from_series(frame_of(rows)["items"])


def edges(tree):
    name, children = tree
    return [edge for child in children or () for edge in [(child[0], name), *edges(child)]]


@settings(max_examples=examples(90))
@given(row_lists(), st.lists(st.integers(-1, 2), min_size=6, max_size=6))
def test_loss_of_clusters(rows, clusters):
    itemsets = itemsets_of(rows)
    items = itemsets.texts()
    targets = np.array(clusters[: len(items)], np.int32)
    loss = information_loss(itemsets, Recoding.of_clusters(targets, itemsets))
    became = {item: None if own < 0 else own for item, own in zip(items, targets.tolist(), strict=True)}
    assert [*loss.index] == [*READABLE, "NCP", "UL"]
    assert loss["NCP"] == pytest.approx(float(naive.ncp(rows, naive.set_share(became))))
    assert loss["UL"] == pytest.approx(naive.ul(rows, became))
    gone = {item: Fraction(label is None) for item, label in became.items()}
    assert loss["suppressed"] == pytest.approx(float(naive.ncp(rows, gone)))


@settings(max_examples=examples(60))
@given(row_lists(), st.sampled_from(naive.cuts(TREE)), st.frozensets(st.sampled_from("abcdef")))
def test_loss_of_cuts(rows, cut, suppressed):
    itemsets = itemsets_of(rows)
    tree = Hierarchy.from_frame(pd.DataFrame(edges(TREE), columns=["child", "parent"]))
    items = itemsets.texts()
    nodes = [-1 if item in suppressed else tree.names.index(cut[item][0]) for item in items]
    loss = information_loss(itemsets, Recoding.of_cut(np.array(nodes, np.int32), tree))
    kept = {leaf: Fraction(size * (size > 1), 7) for leaf, (_, size) in cut.items()}
    kept_lm = {leaf: Fraction(size - 1, 6) for leaf, (_, size) in cut.items()}
    gone = dict.fromkeys(suppressed, Fraction(1))
    assert [*loss.index] == [*READABLE, "NCP", "LM", "UL"]
    assert loss["NCP"] == pytest.approx(float(naive.ncp(rows, kept | gone)))
    assert loss["LM"] == pytest.approx(float(naive.ncp(rows, kept_lm | gone)))
    assert loss["UL"] == pytest.approx(
        naive.ul(rows, {item: None if item in suppressed else cut[item][0] for item in items})
    )
    if not suppressed:
        assert naive.ncp(rows, kept) == naive.cut_ncp(rows, cut)
        assert naive.ncp(rows, kept_lm) == naive.cut_lm(rows, cut)


@settings(max_examples=examples(40))
@given(row_lists(least=2), st.sampled_from([1, 2, None]))
def test_results_report_the_loss_of_their_mapping(rows, m):
    rows = [*rows, frozenset("a"), frozenset("a")]
    result = frame_of(rows).txanon.pcta(k=2, m=m)
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    assert result.loss["NCP"] == pytest.approx(float(naive.ncp(rows, naive.set_share(became))))
    assert result.loss["UL"] == pytest.approx(naive.ul(rows, became))
    assert result.loss["suppressed"] == 0.0


# --- published and hand-made values


def test_utility_loss_published_for_one_cluster():
    """Seven items, six rows, five with a or b: 3/127 * 5/6 = 0.019685, and the other five items' own."""
    rows = ["abcef", "abe", "abd", "acg", "bcg", "e"]
    itemsets = itemsets_of(map(set, rows))
    alone = information_loss(itemsets, Recoding.of_clusters(np.arange(7, dtype=np.int32), itemsets))
    merged = information_loss(
        itemsets, Recoding.of_clusters(np.array([0, 0, 2, 3, 4, 5, 6], np.int32), itemsets)
    )
    own = (4 + 4) / 6 / 127  # of a and b as single items
    assert 2 ** merged["UL"] - (2 ** alone["UL"] - own) == pytest.approx(0.019685, abs=5e-7)


@pytest.mark.parametrize(
    ("rows", "cut", "expected"),
    [
        (["a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2"], ["A", "A", "b1", "b2"], 0.2273),
        (["a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2"], ["A", "A", "B", "B"], 0.5),
        (["a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2"], ["*", "*", "*", "*"], 1.0),
        (
            ["a1", "a1 a2", "b1 b2", "b1 b2", "a1 a2 b2", "a1 a2 b2", "a1 a2 b1 b2"],
            ["a1", "a2", "B", "B"],
            0.2353,
        ),
    ],
)
def test_ncp_published_for_cuts(rows, cut, expected):
    itemsets = itemsets_of(row.split() for row in rows)
    tree = Hierarchy.from_dict({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
    nodes = np.array([tree.names.index(name) for name in cut], np.int32)
    loss = information_loss(itemsets, Recoding.of_cut(nodes, tree))
    assert loss["NCP"] == pytest.approx(expected, abs=5e-5)


def test_utility_loss_of_items_beyond_the_range_of_floats():
    """3,000 items: powers of two up to 2**3000, in exact arithmetic and as reported."""
    rows = [{f"{number:04}" for number in range(start, 3000, 3)} for start in (0, 1, 2)]
    itemsets = itemsets_of(rows)
    targets = np.repeat([0, 1, 2], [1800, 1150, 50]).astype(np.int32)
    loss = information_loss(itemsets, Recoding.of_clusters(targets, itemsets))
    became = {f"{number:04}": int(target) for number, target in enumerate(targets)}
    assert loss["UL"] == pytest.approx(naive.ul(list(map(frozenset, rows)), became))
    assert loss["UL"] == pytest.approx(-1200.0)


@pytest.mark.parametrize("rows", [[], [set(), set()], [None, set(), set()]])
def test_nothing_to_lose(rows):
    loss = frame_of(rows).txanon.pcta(k=2).loss
    assert loss.to_dict() == {
        **dict.fromkeys(READABLE, 0.0), "stands_for": 1.0, "NCP": 0.0, "UL": float("-inf")
    }  # fmt: skip
    assert isinstance(loss, pd.Series)
    assert loss.dtype == "float64"


def test_everything_suppressed_and_everything_merged():
    itemsets = itemsets_of([{"a", "b"}, {"b"}, set()])
    gone = information_loss(itemsets, Recoding.of_clusters(np.array([-1, -1], np.int32), itemsets))
    assert gone.to_dict() == pytest.approx(dict.fromkeys([*READABLE, "NCP"], 1.0) | {"UL": 0.0})
    one = information_loss(itemsets, Recoding.of_clusters(np.array([0, 0], np.int32), itemsets))
    # In 2 rows, 1 of them is expected to hold a, and 1 b, which 2 did; and 1/2 both, which 1 did.
    readable = dict(zip(READABLE, [1.0, 2.0, 1 / 3, 1 / 2, 0.0], strict=True))
    assert one.to_dict() == pytest.approx(readable | {"NCP": 1.0, "UL": np.log2(2 / 3)})


def test_kept_item_costs_nothing_although_it_is_all_of_the_domain():
    frame = pd.DataFrame({"items": [["a"], ["a"]]})
    assert pdanon.pcta(frame, k=2).loss["NCP"] == 0.0
