"""Secret orders of items: the same algorithm on renamed items, and tables that minimality gives away."""

from __future__ import annotations

import contextlib
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import minimality
from benchmarks.pages import tables_of
from conftest import frame_of, promised, row_lists, rows_of
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples, some
from pdanon.algorithms.states.clusters import ItemOrder
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets

BASKETS = make_baskets(400, 40, random_state=3)[["items"]]


def sets_of(result):
    """The items that are published as one, and the suppressed ones."""
    table = result.mapping
    return {
        frozenset(part["item"]) for _, part in table.assign(g=table["generalized"].fillna("")).groupby("g")
    }


def renamed(rows, seed):
    """The rows with items renamed so that the drawn order is the order of the names; and the old names."""
    items = sorted(frozenset().union(*rows))
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    new = {items[item]: f"{place:03}" for place, item in enumerate(order)}
    return [frozenset(new[item] for item in row) for row in rows], {name: item for item, name in new.items()}


@settings(max_examples=examples(60), deadline=None)
@given(
    row_lists(least=4, most=14),
    st.integers(2, 3),
    st.integers(1, 3) | st.none(),
    st.integers(0, 99),
    st.sampled_from(["pcta", "coat"]),
    st.booleans(),
)
def test_a_drawn_order_is_that_of_renamed_items(rows, k, m, seed, algorithm, refine):
    if sum(map(bool, rows)) < k:
        return
    function = getattr(pdanon, algorithm)
    drawn = function(frame_of(rows), k=k, m=m, random_state=seed, refine=refine)
    other, old = renamed(rows, seed)
    wanted = function(frame_of(other), k=k, m=m, refine=refine)
    assert sets_of(drawn) == {frozenset(old[item] for item in each) for each in sets_of(wanted)}
    assert drawn.loss["NCP"] == pytest.approx(wanted.loss["NCP"], rel=1e-12)  # summed in another order


@pytest.mark.slow
def test_refine_draws_an_order_too():
    start = BASKETS.txanon.pcta(k=5, m=2)
    refined = [BASKETS.txanon.refine(start, random_state=seed) for seed in (None, *range(8))]
    assert all(each.loss["NCP"] <= start.loss["NCP"] for each in refined)
    assert len({each.loss["NCP"] for each in refined}) > 1
    again = BASKETS.txanon.refine(start, random_state=3)
    assert again.frame.equals(refined[4].frame)


def test_weights_blocks_and_constraints_follow_their_items():
    items = BASKETS["items"].itemset.items.tolist()
    options = {
        "k": 4,
        "weights": {items[0]: 0.1, items[7]: 0.0},
        "utility": [items[:15], items[15:]],
        "max_suppressed": 1.0,
        "constraints": [[items[3]], [items[1], items[9]], [items[20], items[2], items[30]]],
    }
    rows = rows_of(BASKETS)
    drawn = pdanon.coat(BASKETS, random_state=5, **promised(**options))
    other, old = renamed(rows, 5)
    new = {item: name for name, item in old.items()}
    there = options | {
        "weights": {new[item]: weight for item, weight in options["weights"].items()},
        "utility": [[new[item] for item in block] for block in options["utility"]],
        "constraints": [[new[item] for item in each] for each in options["constraints"]],
    }
    wanted = pdanon.coat(frame_of(other), **promised(**there))
    assert sets_of(drawn) == {frozenset(old[item] for item in each) for each in sets_of(wanted)}
    refined = pdanon.refine(BASKETS, drawn, random_state=8)
    assert refined.loss["NCP"] <= drawn.loss["NCP"]


def test_numbers_as_items_keep_their_type():
    lists = pa.array([[3, 1], [2], [1, 2, 3], [3]], pa.list_(pa.int32()))
    order = ItemOrder.draw(Itemsets.from_arrow(lists), 1)
    assert sorted(order.items.tolist()) == [0, 1, 2]
    names = order.itemsets.vocabulary.to_pylist()
    rows = np.split(order.itemsets.codes, order.itemsets.offsets[1:-1])
    assert [{names[code] for code in row} for row in rows] == [{1, 3}, {2}, {1, 2, 3}, {3}]
    assert all((np.diff(row) > 0).all() for row in rows)
    assert order.restore(order.arrange(np.array([5, 6, 7]))).tolist() == [5, 6, 7]


def test_the_seed_decides():
    releases = [BASKETS.txanon.pcta(k=5, m=2, random_state=seed) for seed in (1, 1, 2)]
    assert releases[0].frame.equals(releases[1].frame)
    assert not releases[0].frame.equals(releases[2].frame)
    rng = np.random.default_rng(1)
    assert releases[0].frame.equals(BASKETS.txanon.pcta(k=5, m=2, random_state=rng).frame)
    choice = BASKETS.txanon.anonymize(k=5, m=2, random_state=1)
    assert choice.frame.equals(BASKETS.txanon.anonymize(k=5, m=2, random_state=1).frame)


# --- Minimality: an attacker runs the algorithm on all tables of 3 items


@pytest.mark.slow
@pytest.mark.parametrize("name", minimality.CASES)
def test_the_attack_succeeds_on_the_tables_that_the_figures_list(name):
    """Tables of three rows and one known item, or any number, are attacked again."""
    case = minimality.CASES[name]
    (lines,) = tables_of("minimality.md", "minimality").values()
    line = lines[lines["algorithm"] == name].iloc[0]
    made = minimality.releases(case, 3, 1)
    found = minimality.given_away(case, 1, made, [made])
    assert 100 * len(found) / len(made) == pytest.approx(line["3 rows, %"], abs=0.005)
    if found:
        rows = [frozenset(row) for row in line["a table"].split()]
        assert tuple(minimality.ROWS.index(row) for row in rows) in found


@pytest.mark.slow
@pytest.mark.parametrize("more", [2, 3])
def test_of_all_originals_by_the_labels_those_with_c_in_the_first_row_are_left(more):
    """The other rows hold b. If one held c, it would have lost less to publish c and b as one."""
    rows = ["c", *["ab"] * more]
    released = pdanon.pcta(frame_of(rows), k=2, m=1).frame
    assert released["items"].map(list).tolist() == [["(a,c)"], *[["(a,c)", "b"]] * more]
    originals = product(["a", "c", "ac"], *[["ab", "bc", "abc"]] * more)
    left = [each for each in originals if pdanon.pcta(frame_of(each), k=2, m=1).frame.equals(released)]
    assert tuple(rows) in left
    assert all("c" in each[0] and "c" not in "".join(each[1:]) for each in left)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cahd", "suppress_control", "td_control"])
def test_of_all_originals_by_what_is_published_those_with_a_secret_beside_b_are_left(name):
    """Beside a, c would have been grouped with the other a; b is suppressed as it led to c too often."""
    options = {"cahd": {"p": 2}, "td_control": {"rho": 0.5, "hierarchy": minimality.TREE}}.get(
        name, {"rho": 0.5}
    )

    def released(rows):
        with contextlib.suppress(pdanon.InfeasibleError, pdanon.ParameterError):
            result = getattr(pdanon, name)(frame_of(rows), sensitive=["c"], **options)
            classes = result.published.get("classes")
            return result.frame.map(str).values.tolist(), None if classes is None else classes.to_csv()
        return None

    given = released(["a", "a", "bc"])
    assert given[0][2][0] in ("['b']", "['c']")
    rows = ["a", "b", "c", "ab", "ac", "bc", "abc"]
    left = [each for each in product(rows, repeat=3) if released(each) == given]
    assert ("a", "a", "bc") in left
    assert all("c" in row for each in left for row in each if "b" in row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rows", "m"),
    some([("pcta", 3, 1), ("coat", 3, 1), ("pcta, refined", 3, 1), ("pcta", 4, 2)]),
)
def test_an_unknown_seed_hides_most_tables_that_minimality_gives_away(name, n_rows, m):
    case = minimality.CASES[name]
    known = minimality.releases(case, n_rows, m)
    before = minimality.given_away(case, m, known, [known])
    drawn = [minimality.releases(case, n_rows, m, seed) for seed in minimality.seeds()]
    after = [minimality.given_away(case, m, each, drawn) for each in drawn]
    assert before
    assert np.mean([*map(len, after)]) <= 0.2 * len(before)
