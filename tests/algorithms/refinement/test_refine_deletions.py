"""Refinement of deletions: the same guarantee by a naive recount, and never more deleted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive, mixtures

import pdanon
from examples import examples

PRESENT = row_lists(longest=6, most=12)


def lost(rows, released, weights):
    return sum(
        weights.get(item, 1.0)
        for row, now in zip(rows, released, strict=True)
        for item in row
        if not any(item in mixtures.members(label) for label in now)
    )


@settings(max_examples=examples(300))
@given(
    rows=PRESENT,
    k=st.integers(2, 4),
    m=st.sampled_from([1, 2, 3, None]),
    price=st.sampled_from([None, 1, 5]),
    weights=st.none() | st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.25, 0.5])),
    seed=st.integers(0, 3),
)
def test_a_refined_release_is_safe_and_loses_no_more(rows, k, m, price, weights, seed):
    if len(rows) < k:
        return
    if weights is not None:
        weights = {item: own for item, own in weights.items() if any(item in row for row in rows)}
    frame = frame_of(rows)
    before = frame.copy(deep=True)
    result = frame.txanon.local_suppression(k=k, m=m, deletion_price=price, weights=weights)
    refined = frame.txanon.refine(result, random_state=seed)
    released, first = rows_of(refined.frame), rows_of(result.frame)
    assert not mixtures.untrue_rows(rows, released)
    assert not mixtures.found(rows, released, k, m)
    assert not naive.km_threats(released, k, m)
    emptied = sum(bool(row) and not now for row, now in zip(rows, released, strict=True))
    assert emptied == 0 or sum(not now for now in released) >= k
    assert refined.guarantee == result.guarantee
    assert refined.trace["loss"].is_monotonic_decreasing
    if price is None:  # labels of sets are worth less: for mixtures, NCP falls
        assert lost(rows, released, weights or {}) <= lost(rows, first, weights or {}) + 1e-9
    if weights is None:
        assert refined.loss["NCP"] <= result.loss["NCP"] + 1e-9
    pd.testing.assert_frame_equal(frame, before)
    if price is not None:  # the sets stay
        labels = {label for row in first for label in row}
        assert all(label in labels or len(mixtures.members(label)) == 1 for row in released for label in row)


@settings(max_examples=examples(150))
@given(rows=row_lists("abcdst", longest=5, most=14), k=st.integers(2, 3), m=st.sampled_from([1, 2, None]))
def test_sensitive_items_stay(rows, k, m):
    secrets = frozenset("st") & frozenset().union(*rows)
    if not secrets:
        return
    guarantee = pdanon.LmDiversity(l=2, m=m, k=k, sensitive=sorted(secrets))
    frame = frame_of(rows)
    try:
        result = frame.txanon.local_suppression(guarantee=guarantee)
    except pdanon.InfeasibleError:
        return
    released = rows_of(frame.txanon.refine(result).frame)
    assert not naive.lm_threats(released, 2, m, secrets, k)
    assert [row & secrets for row in released] == [row & secrets for row in rows]
    assert sum(map(len, released)) >= sum(map(len, rows_of(result.frame)))


def random_rows(seed, n=150):
    rng = np.random.default_rng(seed)
    items = [f"i{number}" for number in range(25)]
    return [frozenset(rng.choice(items, rng.integers(1, 7), replace=False)) for _ in range(n)]


def test_occurrences_are_put_back():
    """In some of these tables; from the same release, equal seeds give equal rows."""
    gained = 0
    for seed in range(6):
        frame = frame_of(random_rows(seed))
        result = frame.txanon.local_suppression(k=6, m=2)
        refined, again = (frame.txanon.refine(result) for _ in range(2))
        pd.testing.assert_frame_equal(refined.frame, again.frame)
        assert pdanon.bound(frame, refined).least <= refined.loss["suppressed"] <= result.loss["suppressed"]
        assert refined.trace["loss"].iloc[-1] == pytest.approx(refined.loss["suppressed"])
        gained += refined.loss["suppressed"] < result.loss["suppressed"]
    assert gained >= 3


def test_the_first_release_is_kept_if_there_is_no_time():
    frame = frame_of(random_rows(0))
    result = frame.txanon.local_suppression(k=6, m=2)
    refined = frame.txanon.refine(result, time_limit=1e-9)
    assert "time limit" in refined.cut_short
    pd.testing.assert_frame_equal(refined.frame, result.frame)
    longer = frame.txanon.refine(result, time_limit=0.05)
    assert longer.loss["suppressed"] <= result.loss["suppressed"]


def test_what_does_not_fit_is_refused():
    frame = frame_of(random_rows(0))
    result = frame.txanon.local_suppression(k=6, m=2)
    for other in (frame[::-1].reset_index(drop=True), frame_of(random_rows(1)), frame[1:]):
        with pytest.raises(pdanon.ParameterError, match="not of this frame"):
            pdanon.refine(other, result)
    for loss in ("balanced", "UL"):
        with pytest.raises(pdanon.ParameterError, match=r"where: +loss"):
            frame.txanon.refine(result, loss=loss)
    with pytest.raises(pdanon.ParameterError, match=r"weights must be numbers"):
        frame.txanon.refine(result, loss={"i3": float("nan")})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groceries", "uci_msweb_train"])
def test_real_data_lose_less(data, name):
    frame = pd.read_parquet(data / f"{name}.parquet", columns=["items"], dtype_backend="pyarrow")
    result = frame.txanon.local_suppression(k=5, m=2)
    assert frame.txanon.refine(result).loss["occurrences"] < result.loss["occurrences"]
