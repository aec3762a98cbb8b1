"""Probabilities of private items, given known items, against their definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import ParameterError


@settings(max_examples=examples(500))
@given(
    row_lists("abcdXYZ", least=1),
    st.sets(st.sampled_from("abcd")),
    st.sets(st.integers(0, 12)),
    st.booleans(),
)
def test_probabilities_by_definition(rows, known, missing, apart):
    private = sorted(frozenset().union(*rows) & set("XYZ"))
    known &= frozenset().union(*rows)
    if not private:
        return
    if apart:  # a private column, with missing rows
        frame = frame_of([row - set("XYZ") for row in rows])
        rows = [None if number in missing else row for number, row in enumerate(rows)]
        lists = [None if row is None else sorted(row & set("XYZ")) for row in rows]
        frame["illness"] = pdanon.as_itemsets(lists)
        rows = [row for row in rows if row is not None]
        private = sorted(frozenset().union(*rows) & set("XYZ"))
        if not private:
            return
        table = frame.txanon.breach("items", known=known, private="illness")
    else:
        table = frame_of(rows).txanon.breach(known=known, private=private)
    matching = [row for row in rows if known <= row]
    counts = {item: sum(item in row for row in matching) for item in private}
    order = sorted(private, key=lambda item: (-counts[item], item))
    assert table["private"].tolist() == order
    assert table["support"].tolist() == [counts[item] for item in order]
    assert set(table["matches"]) == {len(matching)}
    if matching:
        expected = [float(Fraction(counts[item], len(matching))) for item in order]
        assert table["probability"].tolist() == expected
    else:
        assert table["probability"].isna().all()


def test_coherence_limits_the_probabilities():
    rng = np.random.default_rng(3)
    rows = [{f"i{item}" for item in rng.choice(12, 5, replace=False)} for _ in range(80)]
    frame, private = frame_of(rows), ["i0", "i1"]
    result = frame.txanon.coherence(h=0.6, k=3, p=2, private=private)
    shown = [item for item in result.frame["items"].itemset.items if item not in private]
    for first in shown:
        for second in shown:
            table = result.frame.txanon.breach(known=[first, second], private=private)
            matches = int(table["matches"].iloc[0])
            assert matches == 0 or (matches >= 3 and table["probability"].max() <= 0.6)


FRAME = frame_of([{SECRET, "a", "X"}, {"a", "b"}])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: FRAME.txanon.breach(known=["z"], private=["X"]), "known"),
        (lambda: FRAME.txanon.breach(known=["a"], private=["z"]), "private"),
        (lambda: FRAME.txanon.breach(known=[SECRET, "a"], private=[SECRET]), "a known item is private"),
        (lambda: FRAME.txanon.breach(known="a", private=["X"]), "known"),
        (lambda: FRAME.txanon.breach(known=["a"], private="lost"), "private names a column"),
    ],
)
def test_bad_input_is_refused_without_item_text(act, message):
    with pytest.raises(ParameterError, match=message) as caught:
        act()
    assert SECRET not in str(caught.value)


def test_a_frame_without_items():
    with pytest.raises(ParameterError):
        pd.DataFrame({"items": [[], []]}).txanon.breach(known=[], private=["X"])
