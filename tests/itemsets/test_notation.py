"""The notation of sets is read as it was written, and says no more than it must."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pdanon.itemsets.mapping import label_members, set_labels

TEXTS = st.lists(
    st.text(alphabet="ab,()\\\0\n", max_size=6) | st.sampled_from(["<NA>", "\\<NA>"]),
    min_size=1,
    max_size=6,
    unique=True,
)


def labels_of(texts, sets):
    members = np.array([code for each in sets for code in each])
    return set_labels(pa.array(texts), members, np.array([len(each) for each in sets])).to_pylist()


def escaped_throughout(items):
    """A label as releases had it before parentheses could stay."""
    members = [re.sub(r"([\\,()])", r"\\\1", item) for item in items]
    return f"({','.join(members)})"


@given(TEXTS, st.data())
def test_labels_are_read_as_they_were_written(texts, data):
    owner = data.draw(st.lists(st.integers(0, 2), min_size=len(texts), max_size=len(texts)))
    sets = [[code for code, own in enumerate(owner) if own == each] for each in sorted({*owner})]
    for label, each in zip(labels_of(texts, sets), sets, strict=True):
        if len(each) > 1:
            assert label_members(label) == [texts[code] for code in each]


@given(TEXTS.filter(lambda texts: len(texts) > 1))
def test_labels_of_earlier_releases_are_read(texts):
    assert label_members(escaped_throughout(texts)) == texts
    assert label_members(f"({escaped_throughout(texts)})") == texts


@pytest.mark.parametrize(
    ("items", "label"),
    [
        (["Asthma (disorder)", "Pneumonia (disorder)"], "(Asthma (disorder),Pneumonia (disorder))"),
        (["poisoning (drug, (alcohol))", "x"], "(poisoning (drug, (alcohol)),x)"),
        (["Infection, bacterial (disorder)", "x"], r"(Infection\, bacterial (disorder),x)"),
        (["a) b (c) (d", "x"], r"(a\) b (c) \(d,x)"),
        (["a (b, c", "x"], r"(a \(b\, c,x)"),
        (["a (\\)", "x"], r"(a (\\),x)"),
        (["(a,b)", "c"], "((a,b),c)"),
        (["<NA>", "c"], r"(\<NA>,c)"),
        (["<NA> or (so)", "c"], "(<NA> or (so),c)"),
    ],
)
def test_only_what_is_ambiguous_is_escaped(items, label):
    assert labels_of(items, [[0, 1]]) == [label]
    assert label_members(label) == items


def test_a_label_that_is_the_text_of_an_item_gets_more_parentheses():
    texts = ["(x)", "y", "((x),y)", "(((x),y))"]
    (label,) = labels_of(texts, [[0, 1]])
    assert label == "((((x),y)))"
    assert label_members(label) == ["(x)", "y"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a,b",
        "(a)",
        "()",
        "(a,b",
        "a,b)",
        "((a,b)",
        "(a,b))",
        "(a,b),c",
        "(a),(b)",
        "((a,b) (c,d))",
        "(a\\,b)",
        "(a,b\\)",
        "(C:\\new,b)",
        "\\(a,b)",
    ],
)
def test_other_texts_are_no_sets(text):
    assert label_members(text) == []
