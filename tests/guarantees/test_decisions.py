"""The smallest tables of what docs/limits.md does not promise: audits hold, and somebody is found."""

from __future__ import annotations

from collections import Counter

import pandas as pd
from conftest import frame_of, rows_of

import pdanon
from pdanon import KKm, KLm, KmAnonymity

TREE = {"all": {"drink": ["ale", "gin", "rum"], "food": ["pie"]}}


def test_a_known_sensitive_item_may_single_out():
    frame = frame_of([["tea", "flu"], ["tea"]]).assign(sex="f")
    assert frame.txanon.audit(KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=["flu"])).holds
    assert sum("flu" in row for row in frame["items"]) == 1
    assert not frame.txanon.audit(KKm(k=2, m=1, quasi=["sex"])).holds  # counts it


def test_one_of_several_sensitive_items_may_be_certain_and_not_under_one_name():
    frame = frame_of([["flu"], ["gout"]]).assign(sex="f")
    asked = {"k": 2, "l": 2, "m": 1, "quasi": ["sex"]}
    assert frame.txanon.audit(KLm(**asked, sensitive=["flu", "gout"])).holds
    assert all({"flu", "gout"} & {*row} for row in frame["items"])
    one_name = frame.assign(items=[["ill"], ["ill"]])
    assert not one_name.txanon.audit(KLm(**asked, sensitive=["ill"])).holds


def test_a_known_part_of_a_refined_release_may_single_out():
    frame = frame_of([["c"], ["c", "d"], ["b", "c", "d"], ["a", "c", "d"]])
    result = frame.txanon.lra(k=2, m=1, hierarchy={"A": ["a", "b"], "B": ["c", "d"]}, parts=2)
    refined = frame.txanon.refine(result)
    assert refined.frame.txanon.audit(KmAnonymity(2, 1)).holds
    parts = {"before": result, "after": refined}
    by_part = {
        name: each.frame.assign(part=each.groups).txanon.audit(KKm(k=2, m=1, quasi=["part"])).holds
        for name, each in parts.items()
    }
    assert by_part == {"before": True, "after": False}


def test_an_item_that_no_row_holds_matches_no_row_or_k():
    frame = frame_of([["ale"], ["rum"], ["pie"], ["pie"]])
    result = frame.txanon.apriori(k=2, m=1, hierarchy=TREE)
    labels = [label for row in result.frame["items"] for label in row]
    assert "gin" not in [*result.mapping["item"]]
    assert Counter(labels) == {"drink": 2, "pie": 2}  # gin is a drink


def test_an_exact_number_may_single_out():
    lines = pd.DataFrame({"person": [1, 2, 2, 3, 3], "item": ["soap"] * 5})
    result = lines.txanon.by("person", item="item", counts=True).pcta(k=2, m=1)
    numbers = Counter(result.frame["person"]).values()
    assert sorted(numbers) == [1, 2, 2]
    assert sum(number >= 1 for number in numbers) == 3  # at least once, and at least twice
    assert sum(number >= 2 for number in numbers) == 2
    assert sum(number == 1 for number in numbers) == 1


def test_an_item_that_a_person_has_lost_may_single_out():
    january = frame_of([["a"], ["a"], ["b"], ["b"]]).set_axis(pd.Index([1, 2, 3, 4], name="id"))
    february = frame_of([["b"], ["b"], ["b"]]).set_axis(pd.Index([1, 3, 4], name="id"))
    first = january.txanon.pcta(k=2, m=1)
    second = february.txanon.start_from(first).pcta(k=2, m=1)
    series = second.frame.txanon.after(first, mapping=second.mapping)
    assert series.audit(KmAnonymity(2, 1)).holds
    had = {person for person, row in zip(january.index, rows_of(first.frame), strict=True) if "a" in row}
    assert had & {*february.index} == {1}
    assert pdanon.pcta(february, k=2, m=1).frame.equals(second.frame)  # start_from is not the reason
