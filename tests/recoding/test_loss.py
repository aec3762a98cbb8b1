"""Information loss: NCP, LM, UL and the suppressed share against their definitions in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, promised, row_lists
from hypothesis import assume, given, settings, strategies as st
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


def loss_of(itemsets, recoding):
    return information_loss(itemsets, recoding, recoding.changes(itemsets))[0]


def edges(tree):
    name, children = tree
    return [edge for child in children or () for edge in [(child[0], name), *edges(child)]]


@settings(max_examples=examples(90))
@given(row_lists(), st.lists(st.integers(-1, 2), min_size=6, max_size=6))
def test_loss_of_clusters(rows, clusters):
    itemsets = itemsets_of(rows)
    items = itemsets.texts()
    targets = np.array(clusters[: len(items)], np.int32)
    loss = loss_of(itemsets, Recoding.of_clusters(targets, itemsets))
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
    loss = loss_of(itemsets, Recoding.of_cut(np.array(nodes, np.int32), tree))
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


KINDS = {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"], "C": ["c1"], "D": ["d1", "d2"]}
BELOW = {"A": 3, "B": 2, "C": 1, "D": 2, "*": 8}
SECRETS = ["flu"]
HIDING = {
    "apriori": {"k": 2, "m": 2, "sensitive": SECRETS, "l": 2},
    "td_control": {"rho": 0.5, "m": 2, "sensitive": SECRETS},
    "cahd": {"p": 2, "k": 2, "m": 2, "sensitive": SECRETS},
    "rfirst": {"k": 2, "m": 1},
}


def penalty(label, n_leaves):
    """The loss of an occurrence by its definition: shares of the leaves that the hierarchy was given with."""
    if label is None:
        return Fraction(1)
    covered = BELOW.get(label, 1)
    return Fraction(0) if covered == 1 else Fraction(covered, n_leaves)


@pytest.mark.parametrize("algorithm", HIDING)
def test_sensitive_items_beside_the_hierarchy_are_no_leaves_of_it(algorithm):
    tree, draw = {"*": KINDS}, Random(3)
    items = [leaf for name in "ABC" for leaf in KINDS[name]]  # no row has a leaf of D
    rows = [{*draw.sample(items, 2), *(SECRETS if place % 3 == 0 else [])} for place in range(24)]
    frame = frame_of(rows)
    if algorithm == "rfirst":
        private = pdanon.Transaction("apriori", hierarchy=tree, sensitive=SECRETS, l=2)
        asked = {"quasi": ["age"], "transaction": private, "random_state": 0, **HIDING[algorithm]}
        result = frame.assign(age=range(24)).txanon.rfirst("items", **asked)
    else:
        asked = HIDING[algorithm]
        asked = promised(**asked) if algorithm == "apriori" else asked
        result = getattr(frame.txanon, algorithm)(hierarchy=tree, **asked)
    mapping = result.mapping
    labels = [None if pd.isna(label) else label for label in mapping["generalized"]]
    lines = [*zip(labels, mapping["support"].tolist(), strict=True)]
    lost = sum(penalty(label, 8) * support for label, support in lines)
    assert any(label in BELOW for label in labels)
    assert result.loss["NCP"] == pytest.approx(float(lost / sum(support for _, support in lines)))


def test_a_node_with_one_leaf_leaves_nothing_open():
    itemsets = itemsets_of([{"a"}, {"b"}, {"b", "c"}])
    tree, leaves = Hierarchy.of({"*": {"X": ["a"], "Y": ["b", "c"]}}).cover(itemsets.texts())
    nodes = np.where(leaves == tree.names.index("a"), tree.names.index("X"), leaves).astype(np.int32)
    loss = loss_of(itemsets, Recoding.of_cut(nodes, tree))
    assert (loss["NCP"], loss["LM"]) == (0, 0)


def test_utility_loss_published_for_one_cluster():
    """Seven items, six rows, five with a or b: 3/127 * 5/6 = 0.019685, and the other five items' own."""
    rows = ["abcef", "abe", "abd", "acg", "bcg", "e"]
    itemsets = itemsets_of(map(set, rows))
    alone = loss_of(itemsets, Recoding.of_clusters(np.arange(7, dtype=np.int32), itemsets))
    merged = loss_of(itemsets, Recoding.of_clusters(np.array([0, 0, 2, 3, 4, 5, 6], np.int32), itemsets))
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
    loss = loss_of(itemsets, Recoding.of_cut(nodes, tree))
    assert loss["NCP"] == pytest.approx(expected, abs=5e-5)


def test_utility_loss_of_items_beyond_the_range_of_floats():
    """3,000 items: powers of two up to 2**3000, in exact arithmetic and as reported."""
    rows = [{f"{number:04}" for number in range(start, 3000, 3)} for start in (0, 1, 2)]
    itemsets = itemsets_of(rows)
    targets = np.repeat([0, 1, 2], [1800, 1150, 50]).astype(np.int32)
    loss = loss_of(itemsets, Recoding.of_clusters(targets, itemsets))
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
    gone = loss_of(itemsets, Recoding.of_clusters(np.array([-1, -1], np.int32), itemsets))
    assert gone.to_dict() == pytest.approx(dict.fromkeys([*READABLE, "NCP"], 1.0) | {"UL": 0.0})
    one = loss_of(itemsets, Recoding.of_clusters(np.array([0, 0], np.int32), itemsets))
    # In 2 rows, 1 of them is expected to hold a, and 1 b, which 2 did; and 1/2 both, which 1 did.
    readable = dict(zip(READABLE, [1.0, 2.0, 1 / 3, 1 / 2, 0.0], strict=True))
    assert one.to_dict() == pytest.approx(readable | {"NCP": 1.0, "UL": np.log2(2 / 3)})


def test_kept_item_costs_nothing_although_it_is_all_of_the_domain():
    frame = pd.DataFrame({"items": [["a"], ["a"]]})
    assert pdanon.pcta(frame, k=2).loss["NCP"] == 0.0


WEIGHTS = {"0": Fraction(0), "a fifth": Fraction(1, 5), "2/3": Fraction(43690, 65535)}


@pytest.mark.slow
@settings(max_examples=examples(2000, part=12))
@given(
    rows=row_lists(least=2, longest=5, most=10),
    chosen=st.lists(st.sampled_from([None, *WEIGHTS]), min_size=8, max_size=8),
    blocks=st.booleans(),
)
def test_ul_of_a_release_counts_important_items_more(rows, chosen, blocks):
    assume(any(rows) and sum(map(bool, rows)) >= 2)
    items = sorted(frozenset().union(*rows))
    weights = {item: WEIGHTS[each] for item, each in zip(items, chosen, strict=False) if each}
    asked = {"k": 2, "m": 2, "weights": {item: float(each) for item, each in weights.items()} or None}
    if blocks:
        halves = {"one": items[::2], "two": items[1::2]}
        result = frame_of(rows).txanon.upcta(**asked, utility=halves, max_suppressed=1.0)
    else:
        result = frame_of(rows).txanon.pcta(**asked)
    labels = result.mapping["generalized"].astype(object)
    became = dict(zip(result.mapping["item"], labels.where(labels.notna(), None), strict=True))
    assert result.loss["UL"] == pytest.approx(naive.ul(rows, became, weights))
