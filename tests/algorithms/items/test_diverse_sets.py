"""l^m-diversity of pcta, coat and upcta: the sets of a naive run, and releases that have the guarantee."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, promised, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive
from naive.diverse import diverse

import pdanon
from examples import examples
from pdanon import InfeasibleError, LmDiversity, ParameterError
from pdanon.algorithms.items.pcta import merge_items
from pdanon.itemsets.codes import Itemsets

NAMES = ["pcta", "coat", "upcta"]


@st.composite
def tasks(draw):
    """Rows with the sensitive items s and t, their guarantee, blocks, and the items that may go."""
    rows = draw(row_lists(items="abcdefgh", least=4, most=24, longest=6))
    for item in "st":
        for number in draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=len(rows) // 3 + 1)):
            rows[number] |= {item}
    k, l, m = draw(st.integers(2, 4)), draw(st.integers(2, 4)), draw(st.none() | st.integers(1, 3))  # noqa: E741
    beside = [row for row in rows if row - set("st")]
    assume(len(beside) >= k)
    most = max(naive.support(beside, {item}) for item in "st")
    everywhere = max(naive.support(rows, {item}) for item in "st")
    assume(most * l <= len(beside) and everywhere * l <= len(rows))
    return rows, k, l, m


@pytest.mark.slow
@settings(max_examples=examples(2000, part=40))
@given(
    task=tasks(),
    numbers=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    spare=st.integers(0, 8),
    least_first=st.booleans(),
    together=st.booleans(),
)
def test_sets_are_those_of_the_naive_run(task, numbers, spare, least_first, together):
    rows, k, l, m = task  # noqa: E741
    block = {item: 0 if together else number for item, number in zip("abcdefghst", numbers, strict=True)}
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    items = itemsets.texts()
    labels, problem = merge_items(
        itemsets,
        LmDiversity(l=l, m=m, sensitive=["s", "t"], k=k),
        first=np.arange(len(items), dtype=np.int32),
        blocks=np.array([block[item] for item in items]),
        spare=spare,
        least_first=least_first,
    )
    expected, broken = diverse(rows, frozenset("st"), block, spare, least_first, k, l, m)
    assert broken == (problem is not None)
    if broken:
        return
    found = {item: label for item, label in zip(items, labels.tolist(), strict=True) if item not in "st"}
    assert {item: None if each < 0 else items[each] for item, each in found.items()} == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(200))
@given(task=tasks(), share=st.sampled_from([0.0, 0.5, 1.0]), seed=st.none() | st.integers(0, 3))
def test_released_rows_have_the_guarantee(name, task, share, seed):
    rows, k, l, m = task  # noqa: E741
    asked = {"k": k, "l": l, "m": m, "sensitive": ["s", "t"]}
    if name != "pcta":
        items = sorted(frozenset().union(*rows))
        asked |= {"max_suppressed": share, "utility": {"one": items[::2], "two": items[1::2]}}
    if name != "upcta":
        asked["random_state"] = seed
    try:
        result = getattr(frame_of(rows).txanon, name)(**promised(**asked))
    except InfeasibleError:
        assert name != "pcta"
        return
    assert result.guarantee == LmDiversity(l=l, m=m, sensitive=["s", "t"], k=k)
    assert pdanon.audit(result.frame, result.guarantee).holds
    released = rows_of(result.frame)
    assert naive.lm_threats(released, l, m, frozenset("st"), k) == {}
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    assert all(pd.isna(became[item]) or became[item] == item for item in "st")


def test_a_set_is_merged_with_the_cheapest_that_hides_the_disease():
    """Half of the rows with a would have s, of a with b or with c a fourth; c is in more rows than b."""
    rows = [{"a", "s"}, {"a"}, {"b"}, {"b"}, {"c"}, {"c"}, {"c"}]
    for name in NAMES:
        result = getattr(frame_of(rows).txanon, name)(
            guarantee=pdanon.LmDiversity(l=3, m=2, k=2, sensitive=["s"])
        )
        assert dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True)) == {
            "a": "(a,b)",
            "b": "(a,b)",
            "c": "c",
            "s": "s",
        }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        ({"sensitive": ["s"], "l": 1}, ParameterError, "l must"),
        ({"sensitive": ["s"], "l": 0}, ParameterError, "l must"),
        ({"sensitive": ["s"], "l": 2.5}, ParameterError, "l must"),
        ({"sensitive": ["z"], "l": 2}, ParameterError, "do not occur|does not occur"),
        ({"sensitive": [], "l": 2}, ParameterError, "sensitive"),
        ({"sensitive": ["a", "b", "c", "s"], "l": 2}, ParameterError, "all items are sensitive"),
        ({"sensitive": ["s"], "l": 9}, InfeasibleError, "more than 1/l"),
        ({"sensitive": ["s"], "l": 2, "refine": True}, ParameterError, "cannot be refined"),
    ],
)
def test_what_cannot_be_is_refused(name, asked, error, match):
    rows = [{"a", "s"}, {"a"}, {"b"}, {"b"}, {"c"}, {"c"}, {"c"}]
    with pytest.raises(error, match=match):
        getattr(frame_of(rows).txanon, name)(**promised(k=2, **asked))


@pytest.mark.parametrize("name", ["coat", "upcta"])
def test_block_that_reveals_a_disease_is_suppressed_if_that_is_allowed(name):
    rows = [{"a", "s"}, {"a"}, {"a"}, {"b"}, {"b"}, {"c"}, {"c"}, {"c"}]
    asked = {"k": 2, "m": 1, "sensitive": ["s"], "l": 4, "utility": [["a"], ["b", "c"], ["s"]]}
    release, asked = getattr(frame_of(rows).txanon, name), promised(**asked)
    with pytest.raises(InfeasibleError, match="max_suppressed does not allow"):
        release(**asked)
    result = release(**asked, max_suppressed=0.25)
    assert dict(result.mapping.set_index("item")["generalized"].fillna("-")) == {
        "a": "-",
        "b": "b",
        "c": "c",
        "s": "s",
    }
    assert pdanon.LmDiversity(l=4, m=1, sensitive=["s"], k=2).audit(result.frame).holds
