"""Audits part by part: the verdict of the whole table, for any table and any mapping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import KAnonymity, KKm, KLm, ParameterError
from pdanon.guarantees.class_audit import ClassPart, audit_parts

rows = st.lists(
    st.tuples(
        st.integers(0, 3), st.none() | st.sets(st.sampled_from(["a", "b", "flu"]), max_size=3), st.booleans()
    ),
    min_size=1,
    max_size=25,
)


def frame_and_mapping(values, suppresses):
    lists = pdanon.as_itemsets([None if items is None else sorted(items) for _, items, _ in values])
    frame = pd.DataFrame({"age": [age for age, *_ in values], "items": lists})
    mapping = pd.DataFrame({"group": 0, "item": ["z", "y"], "generalized": ["z", None], "support": [1, 1]})
    return frame, mapping if suppresses else mapping.head(1)


def unsuppressed(guarantee):
    """The same guarantee, for which no row was emptied."""
    return guarantee if isinstance(guarantee, KAnonymity) else replace(guarantee, mapping=None)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(rows, st.booleans(), st.integers(2, 4), st.integers(1, 3))
@example([(0, set(), False), (1, set(), True), (0, {"a"}, False), (1, {"a"}, False)], True, 2, 2)
def test_parts_are_the_whole(values, suppresses, k, n_parts):
    frame, mapping = frame_and_mapping(values, suppresses)
    had_none = np.array([marked and not items for _, items, marked in values])
    parts = [frame["age"] % n_parts == number for number in range(n_parts)]
    # The rows that were empty before are those of the whole that look emptied and had no item.
    bare = KKm(k=k, m=2, quasi=["age"])
    if suppresses:
        without = bare.with_mapping(mapping)
        emptied = without.audit(frame).rows_at_risk
        assert emptied >= bare.audit(frame).rows_at_risk
    guarantees = [KAnonymity(k, quasi=["age"]), bare.with_mapping(mapping)]
    if any(items and "flu" in items for _, items, _ in values):
        guarantees.append(KLm(k=k, l=2, m=1, quasi=["age"], sensitive=["flu"]).with_mapping(mapping))
    for guarantee in guarantees:
        audit = audit_parts(
            guarantee, [ClassPart(frame[each], had_none[each.to_numpy()]) for each in parts], "items"
        )
        known = getattr(audit.guarantee, "mapping", None)
        n_empty = getattr(getattr(known, "suppression", known), "empty_rows", 0)
        mapping.attrs["empty_rows"] = n_empty
        whole = guarantee.with_mapping(mapping).audit(frame, "items")
        if not suppresses or n_parts == 1:
            assert audit.rows_at_risk == whole.rows_at_risk
        # Parts know where rows were emptied. The whole counts all that look so, or none.
        assert audit.holds == whole.holds
        assert audit.rows_at_risk <= whole.rows_at_risk
        assert audit.rows_at_risk >= unsuppressed(guarantee).audit(frame, "items").rows_at_risk
        assert len(audit.threats) >= len(whole.threats)


def test_sensitive_item_that_occurs_nowhere():
    frame, mapping = frame_and_mapping([(1, {"a"}, False)] * 4, suppresses=False)
    guarantee = KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["flu"]).with_mapping(mapping)
    with pytest.raises(ParameterError, match="a sensitive item does not occur"):
        audit_parts(guarantee, [ClassPart(frame, np.zeros(4, np.bool_))], "items")
