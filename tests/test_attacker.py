"""What is counted in labels against what an attacker who knows original items concludes, and audits likewise.

The tables are made up at random, from seeds. One that fails is printed as code to be pasted.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pandas as pd
import pytest
from attacked_tables import random_case, random_published
from attacker import Knowledge, attack, covers
from verdicts import REFUSED, verdict

import pdanon
from examples import some
from pdanon import KmAnonymity, LmDiversity, TransactionalK

# In parts, so that workers share them.
RELEASES = range(25_000)
PUBLISHED = range(1_000_000, 1_008_000)
SIZE = 500


def parts_of(seeds):
    return [seeds[start : start + SIZE] for start in range(0, len(seeds), SIZE)]


def assert_promises_kept(seeds):
    """No release tells the attacker more than it promises; how many there are, by algorithm."""
    released = Counter()
    for seed in seeds:
        case = random_case(seed)
        try:
            frame, result = case.run()
        except Exception as error:
            if is_refusal(case, error):
                continue
            raise AssertionError(f"seed {seed}: {error!r}\n{case!r}") from error
        released[case.name] += 1
        broken = attack(frame, result, case.lists, case.asked)
        assert not broken, f"seed {seed}: {broken[:3]}\n{case!r}"
    return released


def is_refusal(case, error):
    """Whether a table is refused for a reason that it has."""
    if isinstance(error, pdanon.InfeasibleError):
        return True
    rows = case.columns["items"][0]
    if isinstance(error, pdanon.ParameterError) and "private" in case.asked:
        return not any(rows)  # no private item occurs
    if isinstance(error, pdanon.ParameterError) and "sensitive" in case.asked:
        named = {item for row in rows for item in row or ()} - {*case.asked["sensitive"]}
        return not named or not case.asked["sensitive"]
    return False


def assert_audits_agree(seeds):
    """An audit says of any frame what he concludes, or refuses what cannot be counted."""
    verdicts = Counter()
    for seed in seeds:
        case = random_published(seed)
        frame, promise = case.frame, case.promise
        expected = verdict(frame, promise, case.lists, case.asked)
        try:
            found = pdanon.audit(frame, promise, case.column).holds
        except pdanon.ParameterError:
            found = REFUSED
        assert found == expected, f"seed {seed}: {found}, not {expected}\n{case!r}"
        verdicts[type(promise).__name__, expected] += 1
    return verdicts


def test_promises_are_kept():
    assert len(assert_promises_kept(range(200_000, 200_080))) > 15


@pytest.mark.slow
@pytest.mark.parametrize("seeds", some(parts_of(RELEASES), 25), ids=str)
def test_promises_are_kept_by_many_releases(seeds):
    released = assert_promises_kept(seeds)
    assert released.total() > 0.6 * len(seeds)
    assert len(released) > 24  # of 27


def test_audits_agree_with_who_knows_labels():
    assert_audits_agree(range(300_000, 300_100))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", some(parts_of(PUBLISHED), 25), ids=str)
def test_audits_agree_with_who_knows_labels_on_many_frames(seeds):
    verdicts = assert_audits_agree(seeds)
    assert sum(said is not REFUSED for _, said in verdicts) > 15  # of 10 guarantees that hold or do not


# --- the attacker himself: he finds what is not hidden


def finds(rows, published, became, known, data=frozenset(), **told):
    """How many rows he finds of the first person, of one list column and one group."""
    rows = [frozenset((0, item) for item in row) for row in rows]
    became = {(0, (0, item)): labels for item, labels in became.items()}
    knowledge = Knowledge(rows, [(row,) for row in published], became, **told)
    return len(knowledge.finds({knowledge.public[0]}, frozenset((0, item) for item in known), data))


def test_a_suppressed_item_may_have_been_in_any_row_that_is_not_missing():
    assert finds(["q", ""], [[], []], {"q": {None}}, "q") == 2
    assert finds(["q", ""], [[], None], {"q": {None}}, "q") == 1
    assert finds(["q", ""], [[], None], {"q": {None}}, "") == 2


def test_a_row_that_holds_data_is_none_of_those_shown_as_missing():
    assert finds(["q", ""], [["q"], None], {"q": {"q"}}, "", data={0}) == 1
    assert finds(["q", ""], [["q"], []], {"q": {"q"}}, "", data={0}) == 2
    rows, published = [frozenset()] * 3, [(["q"], ["r"]), (["q"], None), (None, ["r"])]
    knowledge = Knowledge(rows, published, {})
    assert knowledge.held == [{0, 1}, {0}, {1}]
    assert [len(knowledge.finds({0}, set(), data)) for data in ({0}, {1}, {0, 1}, ())] == [2, 2, 1, 3]


def test_an_item_may_have_become_a_label_in_rows_that_look_alike():
    became = {"a": {"(a,b)"}, "b": {"(a,b)"}, "c": {"c"}}
    published = [["(a,b)", "c"], ["(a,b)"], ["c"]]
    assert finds(["ac", "b", "c"], published, became, "a") == 2
    assert finds(["ac", "b", "c"], published, became, "ac") == 1
    assert finds(["ac", "b", "c"], published, became, "a", public=[1, 2, 1]) == 1


def test_labels_of_bags_stand_for_items_of_their_own():
    became = {"a": {"F", None}, "b": {"F"}}
    assert finds(["ab", "a"], [["F"], ["F"]], became, "ab", bags=True) == 2
    became = {"a": {"F"}, "b": {"F"}}
    assert finds(["ab", "a"], [["F", "F"], ["F"]], became, "ab", bags=True) == 1
    assert finds(["ab", "a"], [["F", "F"], ["F"]], became, "ab") == 2


@pytest.mark.parametrize(
    ("shown", "value", "found"),
    [
        (pd.Interval(0.7, 5.0, "both"), Decimal("0.7"), True),  # the float is below 0.7
        (pd.Interval(0.7000000000000001, 5.0, "both"), Decimal("0.7"), False),
        (pd.Interval(0, 5, "both"), None, False),
        (pd.Interval(0, 9, "both"), None, True),
        ("(x,<NA>)", None, True),
        ("((x\\,y,z))", "z", True),
        ("(x\\,y,z)", "x,y", True),
        ("(x\\,y,z)", "x", False),
        (None, None, True),
        (None, "x", False),
    ],
)
def test_what_is_published_covers_what_it_stands_for(shown, value, found):
    values = ["x", "x,y", "z"] if not isinstance(shown, pd.Interval) else [Decimal("0.7"), 5, 9]
    assert covers(shown, value, values, None) is found


@pytest.mark.parametrize(
    ("rows", "promise", "expected"),
    [
        ([["F", "F"], ["F"]], KmAnonymity(2, 2), False),
        ([[]], KmAnonymity(2, 2), False),
        ([None], KmAnonymity(2, 2), True),
        ([["a", "b"], ["b", "a"]], TransactionalK(k=2), False),
        ([None, []], TransactionalK(k=2), False),
        ([["t"], ["t"], ["s", "t"], ["t"]], LmDiversity(l=2, m=1, sensitive=["s"]), True),
        ([["t"], ["s"], []], LmDiversity(l=3, m=1, sensitive=["s"]), True),
        ([["t"], ["s"], None], LmDiversity(l=3, m=1, sensitive=["s"]), False),
        ([["t"], ["(s,u)"], ["s"]], LmDiversity(l=2, m=1, sensitive=["s"]), REFUSED),
        ([["(a,b)", "(a,c)"], ["s"], []], LmDiversity(l=2, m=1, sensitive=["s"]), REFUSED),
    ],
)
def test_what_is_to_be_said_of_a_frame(rows, promise, expected):
    frame = pd.DataFrame({"items": pd.Series(rows, dtype=object)})
    assert verdict(frame, promise, ["items"], {"named": getattr(promise, "sensitive", ())}) == expected
