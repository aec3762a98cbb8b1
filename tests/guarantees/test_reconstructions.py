"""Reconstructions of small releases in chunks: what the audit of DisassociatedKm counts is true in them."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from naive import disassociation as naive

from examples import examples
from pdanon import DisassociatedKm


def chunks(*rows):
    return pd.DataFrame(rows, columns=["cluster", "joint", "size", "chunk", "items"])


def cluster(size, terms, *parts, name=1, joint=0):
    """The rows of a cluster: its term chunk, and its record chunks as lists of texts, a letter a term."""
    rows = [(name, joint, size, 0, [*terms])]
    rows += [(name, joint, size, n, [*each]) for n, chunk in enumerate(parts, 1) for each in chunk]
    return rows


@st.composite
def clusters(draw):
    """One cluster, by whatever means."""
    size, rows = draw(st.integers(2, 4)), []
    for terms in draw(st.sampled_from([["ab", "cd"], ["ab"], ["a", "b", "c"], []])):
        kinds = draw(
            st.lists(st.sets(st.sampled_from(terms), min_size=1).map(sorted), min_size=1, max_size=2)
        )
        rows.append(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=size)))
    return chunks(*cluster(size, draw(st.sampled_from(["", "x", "xy"])), *rows))


@settings(max_examples=examples(150), deadline=None)
@given(frame=clusters(), k=st.integers(2, 3), m=st.integers(1, 3), safe=st.booleans())
def test_of_one_cluster_counting_and_all_its_tables_say_the_same(frame, k, m, safe):
    expected = naive.has_guarantee(frame, k, m, safe)
    assume(expected is not None)
    ((n, parts, terms),) = naive.roots_of(frame)
    just_full = not terms and sum(len(each) for _, each in parts) == n  # no record has parts of two chunks
    assert frame.txanon.audit(DisassociatedKm(k=k, m=m, safe=safe)).holds is expected or just_full


@st.composite
def joint_clusters(draw):
    """Two clusters that share a chunk, perhaps with a third below another joint cluster."""
    size, nested, rows = draw(st.integers(2, 3)), draw(st.booleans()), []
    for name, terms in zip([1, 2, 3] if nested else [1, 2], ["ab", "ac", "bd"], strict=False):
        chunk = [draw(st.sampled_from([terms, terms[0]]))] * draw(st.integers(2, size))
        parts, rare = draw(st.sampled_from([[], [chunk]])), draw(st.sampled_from(["", "x", "xy"]))
        rows += cluster(size, rare, *parts, name=name, joint=8 if name == 3 else 9)
    for name, joint, n, term in (
        [(9, 8, 2 * size, "s"), (8, 0, 3 * size, "t")] if nested else [(9, 0, 2 * size, "s")]
    ):
        rows += [(name, joint, n, 1, [draw(st.sampled_from([term, term, "a"]))])] * draw(st.integers(2, n))
    return chunks(*rows)


@settings(max_examples=examples(150), deadline=None)
@given(frame=joint_clusters(), m=st.integers(1, 3), safe=st.booleans())
def test_no_table_refutes_what_is_counted_of_joint_clusters(frame, m, safe):
    if frame.txanon.audit(DisassociatedKm(k=2, m=m, safe=safe)).holds:
        assert naive.has_guarantee(frame, 2, m, safe, limit=5000) is not False


# --- What each condition excludes

SHARED = (3, 0, 4, 1, ["c"])
EXCLUDED = [
    ("rare", 2, chunks(*cluster(4, "x", ["ab", "a", "a", "a"]))),
    ("rare", 2, chunks(*cluster(2, "x", joint=3), *cluster(2, "y", name=2, joint=3), SHARED)),
    ("few records", 3, chunks(*cluster(2, "xy"))),
    ("few sub-records", 2, chunks(*cluster(4, "", ["a", "a", "a"], ["b", "b"]))),
    ("covered", 2, chunks(*cluster(4, "", ["a", "a", "a"], ["b", "b"], ["c", "c", "c", "c"]))),
    ("few sub-records", 2, chunks(*cluster(3, "", ["a", "a"]))),  # no table can have become this
]


@pytest.mark.parametrize(("why", "k", "frame"), EXCLUDED)
def test_what_a_condition_excludes_all_tables_refute(why, k, frame):
    audit = frame.txanon.audit(DisassociatedKm(k=k, m=2, safe=True))
    assert why in set(audit.threats["why"])
    assert naive.has_guarantee(frame, k, 2, safe=True) is False
