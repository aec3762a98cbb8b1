"""Reconstructions of small clusters in the audit of DisassociatedKm: what is counted must be true in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import assume, given, settings, strategies as st
from naive import disassociation as naive

import pdanon
from examples import examples
from pdanon import DisassociatedKm
from pdanon.guarantees import disassociated, disassociated as reconstructions
from pdanon.guarantees.disassociated import RECORDS, find_refuted
from pdanon.guarantees.verdict import threat_table
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.support import no_itemsets


def chunks(*rows):
    return pd.DataFrame(rows, columns=["cluster", "joint", "size", "chunk", "items"])


def cluster(size, terms, *parts, name=1, joint=0):
    """The rows of a cluster: its term chunk, and its record chunks as lists of texts, a letter a term."""
    rows = [(name, joint, size, 0, [*terms])]
    rows += [(name, joint, size, n, [*each]) for n, chunk in enumerate(parts, 1) for each in chunk]
    return rows


def is_refuted(frame, k, m, safe=False):
    """Whether a cluster is; nothing is counted."""
    table = ChunkTable.of(frame)
    return len(find_refuted(table, k, m, safe, np.zeros(len(table.sizes), np.bool_))[0]) > 0


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
    ((n, parts, terms),) = naive.roots_of(frame)
    tables = naive.reconstructions(n, parts, terms, 20_000)
    assume(tables is not None)
    expected = bool(tables) and naive.has_guarantee(frame, k, m, safe)
    assert is_refuted(frame, k, m, safe) is not expected
    just_full = not terms and sum(len(each) for _, each in parts) == n  # no record has parts of two chunks
    assert frame.txanon.audit(DisassociatedKm(k=k, m=m, safe=safe)).holds is expected or just_full


# --- An error in one of the two is seen

SHARED = (3, 0, 4, 1, ["c"])
WRONG = {
    "_find_rare": chunks(*cluster(4, "x", ["ab", "a", "a", "a"])),
    "_find_few_records": chunks(*cluster(2, "xy")),
    "_find_few_parts": chunks(*cluster(4, "", ["a", "a", "a"], ["b", "b"])),
    "_find_rare, in a joint cluster": chunks(
        *cluster(2, "x", joint=3), *cluster(2, "y", name=2, joint=3), SHARED
    ),
    "_find_covered": chunks(*cluster(4, "", ["a", "a", "a"], ["b", "b"], ["c", "c", "c", "c"])),
}


@pytest.mark.parametrize("condition", WRONG)
def test_what_is_counted_wrongly_is_refuted(condition, monkeypatch):
    frame, promise = (
        WRONG[condition],
        DisassociatedKm(k=3 if condition == "_find_few_records" else 2, m=2, safe=True),
    )
    counted = frame.txanon.audit(promise)
    assert not counted.holds
    assert "refuted" not in set(counted.threats["why"])

    def nothing(*_):
        return np.empty(0, np.int64), disassociated.empty_itemsets(np.empty(0, np.int64)), "nothing"

    for name in ("_find_rare", "_find_few_records", "_find_few_parts"):
        monkeypatch.setattr(DisassociatedKm, name, nothing)
    monkeypatch.setattr(disassociated, "_find_covered", nothing)
    audit = frame.txanon.audit(promise)
    assert audit.threats["why"].tolist() == ["refuted"]
    assert audit.rows_at_risk == counted.rows_at_risk


@pytest.mark.parametrize("condition", WRONG)
def test_what_is_enumerated_wrongly_is_counted(condition, monkeypatch):
    nothing = np.empty(0, np.int64), disassociated.empty_itemsets(np.empty(0, np.int64))
    monkeypatch.setattr(disassociated, "find_refuted", lambda *_: nothing)
    promise = DisassociatedKm(k=3 if condition == "_find_few_records" else 2, m=2, safe=True)
    assert not WRONG[condition].txanon.audit(promise).holds


def test_a_release_that_is_refuted_is_withheld(monkeypatch):
    monkeypatch.setattr(disassociated, "find_refuted", lambda table, *_: (np.array([0]), no_itemsets()))
    with pytest.raises(pdanon.GuaranteeError):
        frame_of([["a"], ["a"]]).txanon.disassociate(k=2)


# --- Which clusters are looked at


def test_clusters_that_differ_in_names_are_looked_at_once_and_each_has_its_own_threat(monkeypatch):
    looked, look = [], reconstructions._reconstructions
    monkeypatch.setattr(reconstructions, "_reconstructions", lambda tree: looked.append(tree) or look(tree))
    pairs = ["ab", "cd", "ef"]
    rows = [
        row
        for name, (one, two) in enumerate(pairs, 1)
        for row in cluster(5, "", [one] * 3, [two] * 3, name=name)
    ]
    table = ChunkTable.of(chunks(*rows))
    found, threats = find_refuted(table, 2, 2, False, np.zeros(3, np.bool_))
    assert len(looked) == 1
    assert found.tolist() == [0, 1, 2]
    assert threat_table(table.itemsets, threats, "").itemset.map(lambda each: "".join(each)).tolist() == pairs
    assert threats.supports.tolist() == [1, 1, 1]
    assert find_refuted(table, 2, 2, False, np.array([False, True, False]))[0].tolist() == [0, 2]


def test_terms_of_a_joint_cluster_are_looked_for_in_all_its_chunks():
    rows = [*cluster(2, "d", joint=3), *cluster(4, "", ["e", "ad", "ad", "de"], name=2, joint=3)]
    frame = chunks(*rows, *[(3, 0, 6, 1, ["c"])] * 3)
    assert is_refuted(frame, 2, 1, safe=True)
    assert not is_refuted(frame.replace({"size": {6: 6}}).iloc[:-1], 2, 1, safe=True)


JOINT = [
    (["e"], ["e", "e"], "x"),  # three records have e, one of them in the term chunk of the other cluster
    ([], ["e", "e"], "e"),  # each record has e, two of them in the cluster's own chunk, too
    (["e"], [], "xx"),
]


@pytest.mark.parametrize(("terms", "part", "shared"), JOINT)
@pytest.mark.parametrize("k", [2, 3])
def test_all_records_of_a_joint_cluster_are_candidates(terms, part, shared, k):
    """The definition asks for k records of a reconstruction, not of one of the clusters."""
    rows = [*cluster(1, terms, joint=9), *cluster(2, "", part, name=2, joint=9)]
    frame = chunks(*rows, *[(9, 0, 3, 1, [term]) for term in shared * 2][:3])
    for safe in (False, True):
        assert is_refuted(frame, k, 3, safe) is not naive.has_guarantee(frame, k, 3, safe)


@pytest.mark.parametrize("size", [RECORDS, RECORDS + 1])
def test_larger_clusters_are_left_to_what_is_counted(size):
    assert is_refuted(chunks(*cluster(size, "", ["a"] * size, ["b"])), 2, 1) is (size == RECORDS)


@pytest.mark.parametrize("m", [15, None])
def test_clusters_with_too_much_to_know_are_left_to_what_is_counted(m):
    """Each of 31 terms is in both records: there is one table, and very much that may be known of it."""
    terms = [chr(ord("A") + number) for number in range(31)]
    assert not is_refuted(chunks(*cluster(2, "", *([term] * 2 for term in terms))), 3, m)


def test_a_cluster_that_no_table_can_have_come_from_is_refuted():
    table = ChunkTable.of(chunks(*cluster(3, "", ["a", "a"])))
    found, threats = find_refuted(table, 2, 2, False, np.array([False]))
    assert (found.tolist(), threats.sets(), threats.supports.tolist()) == ([0], [()], [0])
