"""HgHs and mHgHs: the published example, and the very cuts and suppressions of a naive run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import hghs as naive_hghs, itemsets as naive
from naive.cuts import hierarchy_of, trees

import pdanon
from examples import examples
from pdanon.algorithms.items.hghs import paths
from pdanon.algorithms.states.cuts import CutTask, Descent
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex

# A table with all the facts that the paper states of its Fig. 1; its taxonomy over 11 items.
ROWS = [frozenset(row) for row in ("bcd", "afg", "dez", "ciy", "deix", "fg", "abcfg")]


def over(name, *below):
    """A tree: a text gives a leaf a letter."""
    return name, [leaf for part in below for leaf in (leaves_of(part) if isinstance(part, str) else [part])]


def leaves_of(letters):
    return [(letter, None) for letter in letters]


TREE = over(
    "T", over("P", over("H", "ab"), over("K", "cd")), over("Q", over("X", "fg"), over("M", "xyz")), "ei"
)
CUTS = {
    1: ["T"],
    2: ["P", "Q", "e", "i"],
    3: ["H", "K", "Q", "e", "i"],
    4: ["P", "X", "M", "e", "i"],
    6: ["P", "f", "g", "M", "e", "i"],
}
# Suppressed nodes, loss by generalization and by suppression, as printed.
PRINTED = {
    1: ("", "23", "0"),
    2: ("i", "6.6", "2"),
    3: ("Hi", "4.6", "5.6"),
    4: ("i", "4.2", "2"),
    6: ("i", "3.6", "2"),
}


class Task:
    """Rows and a tree as the library takes them, with names for its nodes."""

    def __init__(self, rows, tree):
        itemsets = Itemsets.from_series(frame_of(rows)["items"])
        self.index = SupportIndex.of(itemsets)
        self.tree, self.leaves = hierarchy_of(tree).cover(itemsets.texts())

    def descent(self, k, m):
        return Descent(self.task(k, m))

    def rounds(self, k, m):
        return [path[-1] for path in paths(self.task(k, m))]

    def task(self, k, m):
        return CutTask(self.index, self.tree, self.leaves, k, m)

    def mask(self, names):
        return np.isin(np.array(self.tree.names), list(names))

    def names(self, mask):
        return frozenset(np.array(self.tree.names)[mask].tolist())

    def step(self, scenario):
        """A scenario as the naive run has it: cut, suppressed nodes, cost."""
        cut = self.names(scenario.cut)
        cost = Fraction(scenario.cost, max(self.tree.n_leaves - 1, 1))
        return cut, cut - self.names(scenario.kept), cost

    def learnt(self, descent):
        """The threats that a descent has met."""
        codes, ends = descent._threats.codes, descent._threats.offsets[1:-1]
        return {self.names(nodes) for nodes in np.split(codes, ends) if len(nodes)}


def became_of(result):
    """The label of each item, None where it is suppressed."""
    labels = result.mapping["generalized"].astype(object)
    return dict(zip(result.mapping["item"], labels.where(labels.notna(), None), strict=True))


@st.composite
def tasks(draw, **shape):
    """A tree whose leaves are in any order, rows of which at least k hold an item, or none does, and k."""
    tree = draw(trees(items=draw(st.permutations("abcdefgh"))))
    rows = draw(row_lists(items=sorted(naive.leaves(tree)), **shape))
    k = draw(st.integers(2, 4))
    assume(not any(rows) or sum(map(bool, rows)) >= k)
    assume(not rows or len(rows) >= k)
    return tree, rows, k


# --- the published example


@pytest.fixture
def example():
    return Task(ROWS, TREE)


@pytest.fixture
def taxonomy():
    return naive_hghs.Taxonomy(ROWS, TREE, 2, None)


def test_example_has_the_facts_of_the_paper(taxonomy):
    assert sum(map(len, ROWS)) == 23
    occurrences = {node: taxonomy.occurrences(node) for node in "PHKQXMei"}
    assert occurrences == {"P": 10, "H": 4, "K": 6, "Q": 9, "X": 6, "M": 3, "e": 2, "i": 2}
    losses = {node: taxonomy.loss_if_kept(node) for node in "TPHKQXMa"}
    tenths = {"T": 10, "P": 3, "H": 1, "K": 1, "Q": 4, "X": 1, "M": 2, "a": 0}
    assert losses == {node: Fraction(share, 10) for node, share in tenths.items()}


@pytest.mark.parametrize("number", CUTS)
def test_costs_and_suppressed_nodes_of_the_printed_cuts(example, taxonomy, number):
    suppressed, generalization, suppression = PRINTED[number]
    cost = Fraction(generalization) + Fraction(suppression)
    cut = frozenset(CUTS[number])
    assert taxonomy.cost(cut, ()) == Fraction(generalization)
    assert taxonomy.evaluated(cut) == (frozenset(suppressed), cost)
    for m in (5, None):
        scenario = example.descent(2, m).scenario(example.mask(cut))
        assert example.step(scenario) == (cut, frozenset(suppressed), cost)


@pytest.mark.parametrize(
    ("number", "threats"), [(1, []), (2, ["ei"]), (3, ["HKQ", "ei"]), (4, ["ei"]), (6, ["ei"])]
)
def test_relevant_threats_of_the_printed_cuts(example, taxonomy, number, threats):
    expected = {frozenset(threat) for threat in threats}
    assert taxonomy.relevant(frozenset(CUTS[number])) == expected
    descent = example.descent(2, 5)
    descent.scenario(example.mask(CUTS[number]))
    assert example.learnt(descent) == expected  # each of them costs a node here, so none is left out


def test_the_25_minimal_threats_of_all_cuts(taxonomy):
    threats = "x y z Hd KX Ka Kf Kg Mc Qb Xb Xc ab ac bd bf bg cd cf cg ci di ei HKQ HQc"
    assert taxonomy.threats == {frozenset(threat) for threat in threats.split()}
    assert len(taxonomy.threats) == 25


def test_steps_of_the_inner_loop_on_cut3(taxonomy):
    decided = taxonomy.decisions(frozenset(CUTS[3]))
    assert decided == [("Q", True), ("K", True), ("H", False), ("e", True), ("i", False)]
    costs = [taxonomy.cost_to_suppress(node) for node, _ in decided]
    assert costs == [Fraction(tenths, 10) for tenths in (54, 54, 36, 20, 20)]


@pytest.mark.parametrize("m", [5, None, 10**9])
def test_way_of_the_outer_loop(example, m):
    steps = [example.step(each) for each in example.descent(2, m).steps()]
    assert [cut for cut, _, _ in steps] == [frozenset(CUTS[number]) for number in (1, 2, 4, 6)]
    assert [float(cost) for _, _, cost in steps] == [23, 8.6, 6.2, 5.6]


def test_best_four_of_all_cuts(example, taxonomy):
    cuts = {frozenset(name for name, _ in cut.values()) for cut in naive.cuts(TREE)}
    descent = example.descent(2, 5)
    costs = {cut: example.step(descent.scenario(example.mask(cut)))[2] for cut in cuts}
    assert costs == {cut: taxonomy.evaluated(cut)[1] for cut in cuts}
    assert [float(cost) for cost in sorted(costs.values())[:4]] == [5.6, 6.2, 8.0, 8.2]
    assert min(costs, key=costs.get) == frozenset(CUTS[6])
    # Without suppression only the root is safe.
    assert [cut for cut in cuts if not taxonomy.suppressed(cut)] == [frozenset("T")]


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
@pytest.mark.parametrize("m", [5, None])
def test_release_of_the_example(name, m):
    frame = frame_of(ROWS)
    result = getattr(frame.txanon, name)(k=2, m=m, hierarchy=hierarchy_of(TREE))
    expected = dict.fromkeys("abcd", "P") | {"e": "e", "f": "f", "g": "g", "i": None}
    assert became_of(result) == expected | dict.fromkeys("xyz", "M")
    assert rows_of(result.frame) == [frozenset(row) for row in ("P", "Pfg", "PeM", "PM", "PeM", "fg", "Pfg")]
    assert result.loss["LM"] == pytest.approx(5.6 / 23)
    assert result.loss["suppressed"] == pytest.approx(2 / 23)


def test_rounds_of_the_example(example):
    naive_rounds = list(naive_hghs.mhghs(ROWS, TREE, 2, 5))
    assert [len(each.threats) for each, _ in naive_rounds] == [3, 20, 1, 1, 1]
    first = frozenset("abcdfgMei"), frozenset(), Fraction("0.6")
    last = frozenset(CUTS[6]), frozenset("i"), Fraction("5.6")
    assert [step for _, step in naive_rounds] == [first, last, last, last, last]
    for m in (5, None):
        found = [example.step(each) for each in example.rounds(2, m)]
        assert found[:2] == [first, last]
        assert set(found[2:]) <= {last}
    assert [example.step(each) for each in example.rounds(2, 1)] == [first]


# --- the results of a naive run


@settings(max_examples=examples(120))
@given(tasks(), st.sampled_from([1, 2, 3, 4, None]))
def test_every_step_is_that_of_the_naive_run(task, m):
    tree, rows, k = task
    expected = naive_hghs.Taxonomy(rows, naive_hghs.collapsed(tree), k, m)
    given = Task(rows, tree)
    descent = given.descent(k, m)
    assert [given.step(each) for each in descent.steps()] == list(expected.descent())
    assert given.learnt(descent) <= expected.threats


@settings(max_examples=examples(40))
@given(tasks(longest=8, most=16, least=6), st.sampled_from([2, 3, 4, 5, None]))
def test_every_step_for_longer_rows_is_that_of_the_naive_run(task, m):
    tree, rows, k = task
    expected = naive_hghs.Taxonomy(rows, naive_hghs.collapsed(tree), k, m)
    given = Task(rows, tree)
    assert [given.step(each) for each in given.descent(k, m).steps()] == list(expected.descent())


@settings(max_examples=examples(40))
@given(tasks(), st.sampled_from([1, 2, 3, None]), st.data())
def test_any_cut_is_suppressed_as_in_the_naive_run(task, m, data):
    """One search for many cuts: what was learnt at one must not harm another."""
    tree, rows, k = task
    expected = naive_hghs.Taxonomy(rows, naive_hghs.collapsed(tree), k, m)
    given = Task(rows, tree)
    descent = given.descent(k, m)
    cuts = sorted({tuple(sorted({name for name, _ in cut.values()})) for cut in naive.cuts(expected.tree)})
    for cut in map(frozenset, data.draw(st.permutations(cuts))[:20]):
        assert given.step(descent.scenario(given.mask(cut))) == (cut, *expected.evaluated(cut))


@settings(max_examples=examples(70))
@given(tasks(), st.sampled_from([1, 2, 3, 4, None]))
def test_rounds_are_those_of_the_naive_run(task, m):
    """Rounds that the library leaves out would have changed nothing."""
    tree, rows, k = task
    assume(any(rows))
    expected = [step for _, step in naive_hghs.mhghs(rows, tree, k, m)]
    given = Task(rows, tree)
    found = [given.step(each) for each in given.rounds(k, m)]
    assert found == expected[: len(found)]
    assert set(expected[len(found) :]) <= {found[-1]}


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
@settings(max_examples=examples(40))
@given(task=tasks(), m=st.sampled_from([1, 2, 3, 4, None]))
def test_releases_are_those_of_the_naive_run(name, task, m):
    tree, rows, k = task
    assume(any(rows))
    if name == "hghs":
        taxonomy, _ = naive_hghs.hghs(rows, tree, k, m)
    else:
        *_, (taxonomy, _) = naive_hghs.mhghs(rows, tree, k, m)
    result = getattr(frame_of(rows).txanon, name)(k=k, m=m, hierarchy=hierarchy_of(tree))
    became, cost = naive_hghs.hiding_emptied(rows, taxonomy, k)
    assert became_of(result) == became
    assert result.loss["LM"] == pytest.approx(float(cost / sum(map(len, rows))))
    assert not naive.km_threats(rows_of(result.frame), k, m)


# Importance in steps of 1/65535, as the library encodes it.
WEIGHTS = {"0": Fraction(0), "a fifth": Fraction(1, 5), "2/3": Fraction(43690, 65535)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hghs", "mhghs"])
@pytest.mark.parametrize("loss", ["LM", "NCP"])
@settings(max_examples=examples(500, part=40))
@given(
    task=tasks(),
    m=st.sampled_from([1, 2, 3, 4, None]),
    choice=st.lists(st.sampled_from([None, *WEIGHTS]), min_size=12, max_size=12),
)
def test_weighted_releases_are_those_of_the_naive_run(name, loss, task, m, choice):
    tree, rows, k = task
    assume(any(rows))
    items = sorted(frozenset().union(*rows))
    weights = {item: WEIGHTS[each] for item, each in zip(items, choice, strict=False) if each}
    priced = {"loss": loss, "weights": weights}
    if name == "hghs":
        taxonomy, _ = naive_hghs.hghs(rows, tree, k, m, **priced)
    else:
        *_, (taxonomy, _) = naive_hghs.mhghs(rows, tree, k, m, **priced)
    given_weights = {item: float(each) for item, each in weights.items()} or None
    result = getattr(frame_of(rows).txanon, name)(
        k=k, m=m, hierarchy=hierarchy_of(tree), loss=loss, weights=given_weights
    )
    became, cost = naive_hghs.hiding_emptied(rows, taxonomy, k)
    assert became_of(result) == became
    if not weights:
        assert result.loss[loss] == pytest.approx(float(cost / sum(map(len, rows))))
    assert not naive.km_threats(rows_of(result.frame), k, m)


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
def test_weights_decide_which_item_of_a_rare_pair_is_suppressed(name):
    """{a,b} is rare. a is in three rows and b in four, so a goes unless b is worth less."""
    release = getattr(frame_of([frozenset(row) for row in ("ab", *"aabbb")]).txanon, name)
    without_a, without_b = {"a": None, "b": "b"}, {"a": "a", "b": None}
    for weights, became in (
        (None, without_a),
        ({"a": 0.5, "b": 0.5}, without_a),
        ({"b": 0.3}, without_b),
        (pd.Series({"a": 0.3, "b": 0.3}), without_a),
    ):
        assert became_of(release(k=2, m=2, hierarchy={"T": ["a", "b"]}, weights=weights)) == became


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"weights": {"a": 1.5}}, r"\[0, 1\]"),
        ({"weights": {"a": -0.1}}, r"\[0, 1\]"),
        ({"weights": {"a": float("nan")}}, r"\[0, 1\]"),
        ({"weights": {"z": 0.5}}, "do not occur"),
        ({"weights": [0.5]}, "must map items"),
        ({"loss": "UL"}, "loss"),
        ({"loss": {"a": 0.5}}, "loss"),
    ],
)
def test_bad_losses_and_weights_are_refused(name, asked, match):
    frame = frame_of([frozenset(row) for row in ("ab", "a", "b", "b")])
    with pytest.raises(pdanon.ParameterError, match=match):
        getattr(frame.txanon, name)(k=2, hierarchy={"T": ["a", "b"]}, **asked)


# --- ties and pitfalls, by hand


def kept_of(rows, tree, k, m=None):
    """The nodes that are kept of the leaf cut."""
    given = Task([frozenset(row) for row in rows], tree)
    scenario = given.descent(k, m).scenario(given.mask(naive.leaves(tree)))
    return "".join(sorted(given.names(scenario.kept)))


def test_of_two_nodes_the_dearer_is_kept_then_the_first_by_name():
    """{a,b} is rare: whichever is looked at second goes."""
    tree = over("T", "ba")
    assert kept_of(["ab", "a", "b", "b"], tree, 2) == "b"  # b has more occurrences
    assert kept_of(["ab", "a", "a", "b"], tree, 2) == "a"
    assert kept_of(["ab", "a", "b"], tree, 2) == "a"  # though b comes first in the hierarchy


def test_of_two_nodes_that_are_as_dear_the_one_of_more_occurrences_is_kept():
    """z costs 6 * 1/3 and q costs 2 * 1 to suppress, {q,z} is rare, and q is first by name."""
    rows = [frozenset(row) for row in ("uq", "q", "uvw", "uv")]
    tree = over("T", "q", over("z", "uvw"))
    taxonomy = naive_hghs.Taxonomy(rows, tree, 2, 2)
    assert taxonomy.cost_to_suppress("z") == taxonomy.cost_to_suppress("q") == 2
    given = Task(rows, tree)
    assert given.names(given.descent(2, 2).scenario(given.mask("zq")).kept) == {"z"}


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
def test_a_node_is_kept_where_hiding_an_emptied_row_would_lose_more(name):
    """Without b, the row with b is emptied, so a would have to go as well."""
    tree = {"*": {"A": ["a", "b"], "B": ["c", "d"]}}
    result = getattr(pdanon, name)(frame_of([["a"], ["b"], ["a"], ["a"], []]), k=3, m=2, hierarchy=tree)
    assert result.mapping["generalized"].tolist() == ["A", "A"]


def steps_of(rows, tree, k, m):
    """The cuts on the way down, each as its nodes' letters in order."""
    given = Task([frozenset(row) for row in rows], tree)
    steps = given.descent(k, m).steps()
    return ["".join(sorted(given.step(each)[0])) for each in steps]


def test_of_two_child_cuts_that_cost_the_same_the_first_nodes_wins():
    """From ABz: to replace B saves its 4; to replace A saves 12, and costs 8 for b, as {b,z} is rare."""
    rows = ["c"] * 2 + ["d"] * 2 + ["a"] * 8 + ["az"] * 2 + ["b", "bz", "z", "z"]
    assert steps_of(rows, over("T", over("B", "cd"), over("A", "ab"), "z"), 2, 2) == [
        "T",
        "ABz",
        "Acdz",
        "abcdz",
    ]
    assert steps_of(rows, over("T", over("A", "ab"), over("B", "cd"), "z"), 2, 2) == [
        "T",
        "ABz",
        "Babz",
        "abcdz",
    ]


def test_child_cut_that_costs_the_same_is_not_taken():
    """A costs 4 * 1/2. To replace it suppresses b, which costs 2, because {b,c} is rare."""
    rows = ["ac", "ac", "bc", "b"]
    tree = over("T", over("A", "ab"), "c")
    taxonomy = naive_hghs.Taxonomy([frozenset(row) for row in rows], tree, 2, 2)
    assert taxonomy.evaluated(frozenset("Ac")) == (frozenset(), 2)
    assert taxonomy.evaluated(frozenset("abc")) == (frozenset("b"), 2)
    assert steps_of(rows, tree, 2, 2) == ["T", "Ac"]
    assert steps_of([*rows, "a", "a"], tree, 2, 2) == ["T", "Ac", "abc"]


def test_suppressed_node_comes_back_when_what_it_was_dropped_for_is_expanded():
    """{P,q} is rare, so q goes. Once P is a and b, the rare a goes instead, and q stays.

    Who takes over what the cut before suppressed loses q for nothing.
    """
    rows = [frozenset(row) for row in ["aq", *"bbbbbb", "q", "q"]]
    tree = over("T", over("P", "ab"), "q")
    given = Task(rows, tree)
    steps = [given.step(each) for each in given.descent(2, 2).steps()]
    assert steps == [({"T"}, set(), 10), ({"P", "q"}, {"q"}, Fraction("6.5")), ({"a", "b", "q"}, {"a"}, 1)]
    result = frame_of(rows).txanon.hghs(k=2, m=2, hierarchy=hierarchy_of(tree))
    assert became_of(result) == {"a": None, "b": "b", "q": "q"}


def test_kept_node_is_dropped_when_its_partner_is_expanded():
    """{P,q} is in two rows; {a,q} and {b,q} are in one each. Who only looks at old threats releases both."""
    rows = [frozenset(row) for row in ["aq", "bq", *"aaabbb"]]
    tree = over("T", over("P", "ab"), "q")
    assert steps_of(rows, tree, 2, 2) == ["T", "Pq", "abq"]
    result = frame_of(rows).txanon.hghs(k=2, m=2, hierarchy=hierarchy_of(tree))
    assert became_of(result) == {"a": "a", "b": "b", "q": None}


@pytest.mark.parametrize("name", ["hghs", "mhghs"])
def test_rows_that_lose_all_items_stay_and_other_supports_do_not_change(name):
    """Without these rows, the number of transactions would be another."""
    rows = [{"q"}, {"r"}, {"a", "b"}, {"a", "b"}, {"a"}, {"b"}, set(), None]
    tree = {"T": {"P": ["a", "b"], "Q": ["q"], "R": ["r"]}}
    result = getattr(frame_of(rows).txanon, name)(k=2, hierarchy=tree)
    assert became_of(result) == {"a": "a", "b": "b", "q": None, "r": None}
    lists = result.frame["items"].tolist()
    assert list(lists[0]) == list(lists[1]) == []
    assert list(lists[7]) == []  # it was missing, and looks like one that has lost its items
    supports = result.frame["items"].itemset.supports().to_dict()
    became = became_of(result)
    published = [{became[item] for item in row or ()} for row in rows]
    assert supports == {label: sum(label in row for row in published) for label in supports}
