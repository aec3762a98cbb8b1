"""l^m-diversity: the audit against the naive recount, and releases of Apriori that have it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, promised, row_lists, rows_of
from hypothesis import assume, example, given, settings, strategies as st
from naive import itemsets as naive
from naive.cuts import hierarchy_of, subtrees, trees

import pdanon
from examples import examples
from pdanon import InfeasibleError, KmAnonymity, LmDiversity, ParameterError
from pdanon.algorithms.states.cuts import Cut
from pdanon.guarantees.verdict import Guarantee

SMALL = {"all": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}


def threats_of(audit):
    lists = pa.array(audit.threats["itemset"]).to_pylist()
    return dict(zip(map(frozenset, lists), audit.threats["support"], strict=True))


def became_of(result):
    return dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))


# --- the audit


@settings(max_examples=examples(120))
@given(
    rows=row_lists(least=1, longest=6, most=14),
    sensitive=st.sets(st.sampled_from("abcdef"), min_size=1),
    l=st.integers(2, 4),
    m=st.none() | st.integers(1, 4),
    k=st.none() | st.integers(2, 4),
    missing=st.sets(st.integers(0, 13), max_size=5),
)
@example([frozenset("as"), frozenset("a"), frozenset("bs"), frozenset()], {"s"}, 2, 2, 2, set())
@example([frozenset("s"), frozenset("s"), frozenset(), frozenset()], {"s"}, 2, 1, None, {2, 3})
def test_audit_is_the_naive_recount(rows, sensitive, l, m, k, missing):  # noqa: E741
    rows = [None if number in missing else row for number, row in enumerate(rows)]
    sensitive = frozenset(sensitive).intersection(*[frozenset().union(*filter(None, rows))])
    assume(sensitive)
    audit = LmDiversity(l=l, m=m, sensitive=sorted(sensitive), k=k).audit(frame_of(rows))
    expected = naive.lm_threats(rows, l, m, sensitive, k)
    assert threats_of(audit) == expected
    there = [row for row in rows if row is not None]
    assert audit.rows_at_risk == sum(any(each <= row for each in expected) for row in there)
    assert audit.holds == (not expected)
    rare = [support < (k or 0) for support in threats_of(audit).values()]
    assert [why == "rare" for why in audit.threats["why"]] == rare


def test_threats_say_why_and_are_in_order():
    rows = [{"a", "s"}, {"a", "b"}, {"b", "c", "s"}, {"c"}, {"c"}, {"b"}, {"b"}, {"d", "e"}, {"d", "e"}]
    audit = LmDiversity(l=2, m=2, sensitive=["s"], k=2).audit(frame_of(rows))
    table = audit.threats
    assert pa.array(table["itemset"]).to_pylist() == [["a", "b"], ["b", "c"]]
    assert table["support"].tolist() == [1, 1]
    assert table["why"].tolist() == ["rare", "rare"]
    audit = LmDiversity(l=3, m=2, sensitive=["s"]).audit(frame_of(rows))
    assert threats_of(audit) == {frozenset("a"): 2, frozenset("bc"): 1}
    assert audit.threats["why"].tolist() == ["diversity"] * 2
    assert audit.rows_at_risk == 3


@pytest.mark.parametrize(("holding", "holds"), [(3, True), (4, False)])
def test_exactly_one_in_l_is_allowed(holding, holds):
    """3 of 9 rows: as floats, 3 > 9 * (1 / 3) could go either way."""
    rows = [{"a", "s"}] * holding + [{"a"}] * (9 - holding) + [set()] * 9
    assert LmDiversity(l=3, m=1, sensitive=["s"]).audit(frame_of(rows)).holds == holds


def test_who_knows_nothing_must_not_learn_either():
    """Empty rows make the sensitive item less frequent; missing ones hold no item, and hide none."""
    rows = [{"s"}, {"s"}, {"a"}]
    audit = LmDiversity(l=2, m=1, sensitive=["s"]).audit(frame_of(rows))
    assert audit.rows_at_risk == 3
    assert threats_of(audit) == {frozenset(): 3}
    assert LmDiversity(l=2, m=1, sensitive=["s"]).audit(frame_of([*rows, set()])).holds
    audit = LmDiversity(l=2, m=1, sensitive=["s"]).audit(frame_of([*rows, None, None]))
    assert audit.rows_at_risk == 3
    assert threats_of(audit) == {frozenset(): 3}


def test_sensitive_items_are_no_knowledge():
    """{s} is in one row and {s,t} too, but only a, in four rows, can be known."""
    rows = [{"a", "s", "t"}, {"a"}, {"a"}, {"a"}]
    assert LmDiversity(l=4, m=None, sensitive=["s", "t"], k=4).audit(frame_of(rows)).holds
    assert not KmAnonymity(4, 1).audit(frame_of(rows)).holds


def test_diversity_alone_does_not_hide_a_row():
    rows = [{"a"}, {"b", "s"}, {"b"}]
    assert LmDiversity(l=2, m=2, sensitive=["s"]).audit(frame_of(rows)).holds
    assert threats_of(LmDiversity(l=2, m=2, sensitive=["s"], k=2).audit(frame_of(rows))) == {
        frozenset("a"): 1
    }


@pytest.mark.slow
def test_audit_of_many_rows_is_quick_and_right():
    """Pairs by products of matrices; the itemsets of three items by their pairs within each item's rows."""
    draw = np.random.default_rng(5)
    popular = 1 / np.arange(1, 1001)
    rows = [
        frozenset(f"i{item}" for item in draw.choice(1000, draw.integers(1, 12), p=popular / popular.sum()))
        for _ in range(3000)
    ]
    sensitive = {f"i{item}" for item in range(20, 60)}
    rows = [row | {"common"} for row in rows]
    audit = LmDiversity(l=2, m=3, sensitive=sorted(sensitive), k=3).audit(frame_of(rows))
    supports = naive.supports([row - sensitive for row in rows], 3)
    shared = {}
    for row in rows:
        for itemset in naive.supports([row - sensitive], 3):
            for secret in row & sensitive:
                shared[itemset, secret] = shared.get((itemset, secret), 0) + 1
    broken = {itemset for itemset, count in supports.items() if count < 3}
    broken |= {itemset for (itemset, _), count in shared.items() if 2 * count > supports[itemset]}
    assert broken
    assert audit.rows_at_risk == sum(
        any(itemset in broken for itemset in naive.supports([row - sensitive], 3)) for row in rows
    )


# --- releases


def release_of(rows, **asked):
    return frame_of(rows).txanon.apriori(**promised(**asked))


@st.composite
def tasks(draw, **shape):
    """A tree without the sensitive items s and t, rows with them, and k, l and m."""
    tree = draw(trees(items=draw(st.permutations("abcdefgh"))))
    rows = draw(row_lists(items=sorted(naive.leaves(tree)), least=4, **shape))
    for item in "st":
        for number in draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=len(rows) // 3 + 1)):
            rows[number] |= {item}
    return tree, rows, draw(st.integers(2, 4)), draw(st.integers(2, 4)), draw(st.none() | st.integers(1, 4))


def largest_l(rows):
    """The largest l for which the root is safe."""
    beside = [row for row in rows if row - set("st")]
    return min(
        len(among) // count
        for among in (rows, beside)
        for item in "st"
        if (count := naive.support(among, {item}))
    )


@settings(max_examples=examples(120))
@given(tasks(most=24))
def test_released_rows_have_the_guarantee(task):
    tree, rows, k, l, m = task  # noqa: E741
    known = sum(bool(row - set("st")) for row in rows)
    assume(known >= k)
    asked = {"k": k, "m": m, "hierarchy": hierarchy_of(tree), "sensitive": ["t", "s"]}
    largest = largest_l(rows)
    if l > largest:
        with pytest.raises(InfeasibleError) as caught:
            release_of(rows, l=l, **asked)
        hint = f"the largest l that works is {largest}" if largest > 1 else "leave it out of the table"
        assert hint in str(caught.value)
        if largest < 2:
            return
        l = largest  # noqa: E741
    result = release_of(rows, l=l, **asked)
    became = became_of(result)
    assert result.guarantee == LmDiversity(l=l, m=m, sensitive=["s", "t"], k=k)
    assert rows_of(result.frame) == [frozenset(became[item] for item in row) for row in rows]
    assert naive.lm_threats(rows_of(result.frame), l, m, frozenset("st"), k) == {}
    assert (became["s"], became["t"]) == ("s", "t")
    published = {label for item, label in became.items() if item not in "st"}
    below = {each[0]: set(naive.leaves(each)) for each in subtrees(tree)}
    assert all(item in below[label] for item, label in became.items() if item not in "st")
    assert sum(len(below[label]) for label in published) == len(set().union(*map(below.get, published)))


@settings(max_examples=examples(40))
@given(tasks())
def test_sensitive_items_without_others_change_nothing(task):
    (name, children), rows, k, l, m = task  # noqa: E741
    rows = [row - set("st") for row in rows]
    assume(sum(map(bool, rows)) >= k)
    hierarchy = hierarchy_of((name, [*children, ("s", None), ("t", None)]))
    plain = became_of(release_of(rows, k=k, m=m, hierarchy=hierarchy))
    rows += [{"s"}, {"t"}, set(), None]
    result = release_of(rows, k=k, m=m, hierarchy=hierarchy, sensitive=["s", "t"], l=l)
    assert became_of(result) == plain | {"s": "s", "t": "t"}
    assert result.loss["suppressed"] == 0


def test_itemset_that_gives_a_sensitive_item_away_is_generalized():
    """a1 is in two rows, both with s. A is in four, two of them with s."""
    rows = [{"a1", "s"}, {"a1", "s"}, {"a2"}, {"a2"}, {"b1"}, {"b1"}]
    assert not naive.km_threats([frozenset(row) for row in rows], 2, 2)
    result = release_of(rows, k=2, m=2, hierarchy=SMALL, sensitive=["s"], l=2)
    assert became_of(result) == {"a1": "A", "a2": "A", "b1": "b1", "s": "s"}


def test_raising_for_one_itemset_can_make_another_give_away():
    """Only a3 gives s away, and A does not. But {A,b} does, in three rows; {a1,b} and {a2,b} did not."""
    sets = ["a1 a2 b", "a1 a2", "a1 b s", "a2 b s", "a3 s", "a3 s", "b", "b", "a1", "a1", "a1 c", "a1 c"]
    rows = [frozenset(each.split()) for each in sets]
    tree = {"all": {"A": ["a1", "a2", "a3"], "B": ["b", "c"]}}
    sensitive = frozenset("s")
    assert naive.lm_threats(rows, 2, 2, sensitive, 2) == {frozenset(["a3"]): 2}
    raised = [frozenset("A" if item[0] == "a" else item for item in row) for row in rows]
    assert naive.lm_threats(raised, 2, 2, sensitive, 2) == {frozenset("Ab"): 3}
    result = release_of(rows, k=2, m=2, hierarchy=tree, sensitive=["s"], l=2)
    assert became_of(result) == dict.fromkeys(["a1", "a2", "a3"], "A") | {"b": "B", "c": "B", "s": "s"}


def test_rows_that_hold_sensitive_items_alone_stay():
    rows = [{"s"}, {"a1"}, {"a1"}, {"a2", "s"}, {"a2"}, None, set()]
    result = release_of(rows, k=2, m=2, hierarchy=SMALL, sensitive=["s"], l=2)
    assert rows_of(result.frame) == [{"s"}, {"a1"}, {"a1"}, {"a2", "s"}, {"a2"}, set(), set()]


@pytest.mark.parametrize(
    ("items", "secret"),
    [
        ([1, 10, 2], 10),
        ([0.5, 1e300, -2.0], -2.0),
        ([dt.date(2020, 1, day) for day in (1, 2, 3)], dt.date(2020, 1, 3)),
    ],
)
def test_sensitive_items_of_any_type(items, secret):
    others = [item for item in items if item != secret]
    rows = [[others[0], secret], [others[0]], [others[1]], [others[1]], [others[1], secret]]
    frame = pd.DataFrame({"items": [*rows, *rows[1:3]]})
    result = frame.txanon.apriori(
        guarantee=pdanon.LmDiversity(l=2, m=2, k=2, sensitive=[secret]), hierarchy=2
    )
    published = pa.scalar(secret).cast(pa.string()).as_py()
    assert became_of(result)[secret] == published
    assert naive.lm_threats(rows_of(result.frame), 2, 2, frozenset([published]), 2) == {}
    assert result.frame.txanon.audit(LmDiversity(l=2, m=2, sensitive=[secret], k=2)).holds


def test_category_is_not_taken_for_the_sensitive_item_of_its_name():
    rows = [{"a1", "A"}, {"a2"}, {"b1"}, {"b1"}]
    result = release_of(rows, k=2, m=1, hierarchy=SMALL, sensitive=["A"], l=2)
    assert became_of(result) == {"A": "A", "a1": "A (category)", "a2": "A (category)", "b1": "b1"}


def test_hierarchy_may_have_the_sensitive_items_and_must_have_the_others():
    rows = [{"a1", "s"}, {"a2"}, {"b1"}, {"b1"}]
    asked = {"k": 2, "m": 1, "sensitive": ["s"], "l": 2}
    with_it = {"all": {"A": ["a1", "a2", "s"], "B": ["b1", "b2"]}}
    expected = {"a1": "A", "a2": "A", "b1": "b1", "s": "s"}
    assert became_of(release_of(rows, hierarchy=with_it, **asked)) == expected
    assert became_of(release_of(rows, hierarchy=SMALL, **asked)) == expected
    with pytest.raises(pdanon.HierarchyError, match="1 of 4 items are not leaves"):
        release_of([*rows, {"new"}], hierarchy=SMALL, **asked)


# --- refusals


@pytest.mark.parametrize(
    ("rows", "l", "told"),
    [
        (
            [{"a1", SECRET}, {"a1"}, {"a1"}, {"a1", SECRET}, {"a1", SECRET}],
            2,
            "3 of 5 rows that are not missing\n  hint:  leave it out of the table",
        ),
        (
            [{"a1", SECRET}, {"a1"}, {"a1"}, {"a1"}],
            5,
            "1 of 4 rows that are not missing\n  hint:  the largest l",
        ),
        (
            [{"a1", SECRET}, {"a1"}, None, None],
            3,
            "1 of 2 rows that are not missing\n  hint:  the largest l th",
        ),
        (
            [{"a1", SECRET}, {"a1"}, set(), {}],
            3,
            "1 of 2 rows that contain other items\n  hint:  the largest l that w",
        ),
        (
            [{"a1", SECRET}, {"a1"}, {SECRET}, {}],
            3,
            "2 of 4 rows that are not missing\n  hint:  the largest l",
        ),
    ],
)
def test_sensitive_item_that_is_too_frequent(rows, l, told):  # noqa: E741
    with pytest.raises(InfeasibleError) as caught:
        release_of(rows, k=2, hierarchy=SMALL, sensitive=[SECRET], l=l)
    assert told in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"l": 2}, "LmDiversity needs sensitive"),
        ({"sensitive": [SECRET], "l": 1}, "l must be an integer of at least 2"),
        ({"sensitive": [SECRET], "l": 2.0}, "l must be an integer of at least 2"),
        ({"sensitive": [SECRET], "l": True}, "l must be an integer of at least 2"),
        ({"sensitive": [], "l": 2}, "no sensitive item"),
        ({"sensitive": SECRET, "l": 2}, "must be a list of items"),
        ({"sensitive": 5, "l": 2}, "must be a list of items"),
        ({"sensitive": [SECRET, f"{SECRET} 2"], "l": 2}, "1 of 2 items"),
        ({"sensitive": [SECRET, "a1", "a2"], "l": 2}, "all items are sensitive"),
        ({"sensitive": [SECRET], "l": 2, "k": 1}, "k must be"),
        ({"sensitive": [SECRET], "l": 2, "m": 0}, "m must be"),
    ],
)
def test_bad_parameters(asked, told):
    rows = [{"a1", SECRET}, {"a1"}, {"a2"}, {"a2"}]
    with pytest.raises(ParameterError, match=told) as caught:
        release_of(rows, **{"k": 2, "hierarchy": SMALL} | asked)
    assert SECRET not in str(caught.value)


def test_audit_for_items_that_do_not_occur_proves_nothing():
    with pytest.raises(ParameterError, match="does not occur") as caught:
        frame_of([{"a"}]).txanon.audit(LmDiversity(l=2, m=2, sensitive=[SECRET]))
    assert SECRET not in str(caught.value)


def test_representation_shows_no_item():
    assert (
        repr(LmDiversity(l=3, m=None, sensitive=[SECRET, "s"]))
        == "LmDiversity(l=3, m=None, sensitive=2 items)"
    )
    guarantee = LmDiversity(l=3, m=2, sensitive=[SECRET], k=5)
    assert isinstance(guarantee, Guarantee)
    assert SECRET not in repr(guarantee.audit(frame_of([{SECRET, "a"}, {"a"}])))
    assert repr(guarantee) == "LmDiversity(l=3, m=2, sensitive=1 items, k=5)"


def test_release_that_fails_its_audit_is_withheld(monkeypatch):
    monkeypatch.setattr(Cut, "satisfy", lambda *args: 0)
    rows = [{"a1", "s"}, {"a1", "s"}, {"a2"}, {"a2"}]
    with pytest.raises(pdanon.GuaranteeError, match="2 rows at risk"):
        release_of(rows, k=2, hierarchy=SMALL, sensitive=["s"], l=2)


@pytest.mark.parametrize("l", [3, 2**62, 2**63 - 1, 10**30])
def test_one_in_more_rows_than_there_are_is_none(l):  # noqa: E741
    frame = frame_of([{"s", "a"}, {"s", "a"}, {"a"}, {"a"}, {"a"}])
    assert frame.txanon.audit(LmDiversity(l=l, m=2, sensitive=["s"])).rows_at_risk == 5
    with pytest.raises(InfeasibleError):
        frame.txanon.apriori(
            guarantee=pdanon.LmDiversity(l=l, m=2, k=2, sensitive=["s"]), hierarchy={"*": ["a"]}
        )
