"""Tum-bound in blocks: the bound holds for all items together, whatever each block loses."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from families import gathered
from hypothesis import given, settings, strategies as st
from test_rt import QUASI, WORLD, assert_contract, datasets, frame_with, many_rows

import pdanon
from examples import examples
from pdanon import InfeasibleError, ParameterError
from pdanon.algorithms.rt.rum_bound import allowed_losses, sum_steps

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

ASKED = {"k": 2, "m": 2, "quasi": {**dict.fromkeys(QUASI), "region": WORLD}, "random_state": 0}


def run(frame, **asked):
    return pdanon.tum_bound(frame, **gathered(ASKED | {"delta": 1.0} | asked))


@settings(max_examples=examples(50))
@given(datasets(least=4, most=16), st.integers(2, 3), st.integers(0, 3), st.booleans(), st.integers(0, 20))
def test_any_rows_keep_guarantee_and_bound(rows, k, more, refine, share):
    frame = frame_with(rows)
    asked = {"k": k, "block_rows": 2 * k + more, "transaction": pdanon.Transaction(refine=refine)}
    try:
        result = run(frame, **asked, delta=share / 20)
    except InfeasibleError as error:
        least = float(re.search(r"lowest loss reached is ([0-9.]+)", str(error)).group(1))
        assert least > share / 20 or len(rows) > 2 * k + more  # a block alone may lose too much
        return
    assert_contract(frame, result, k, 2)
    assert result.loss["NCP"] <= share / 20 + 1e-12
    assert result.trace["Tum"].iloc[-1] == pytest.approx(result.loss["NCP"])
    pd.testing.assert_frame_equal(run(frame, **asked, delta=share / 20).frame, result.frame)


def test_one_block_is_the_whole():
    frame = many_rows(60)
    whole = run(frame, delta=0.4)
    pd.testing.assert_frame_equal(run(frame, delta=0.4, block_rows=60).frame, whole.frame)
    assert not run(frame, delta=0.4, block_rows=20).frame.equals(whole.frame)


@settings(max_examples=examples(200))
@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=4), min_size=1, max_size=5))
def test_steps_of_one_block_follow_those_of_another(values):
    now, sums = [each[0] for each in values], []
    for place, own in enumerate(values):
        for value in own[1 if place else 0 :]:
            now[place] = value
            sums.append(sum(now))
    assert sum_steps([*map(np.array, values)]).tolist() == sums


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=6), st.integers(0, 10))
def test_blocks_share_the_bound_level(parts, tenths):
    """No block may lose more than it did; those that lost much lose the same share; nothing is left over."""
    most = [own + more for own, more in parts]
    lost, bound = [own for own, _ in parts], Fraction(tenths, 10)
    allowed = allowed_losses(lost, most, bound)
    assert sum(allowed) == bound * sum(most) or sum(allowed) == sum(lost) < bound * sum(most)
    if len(parts) > 1 and sum(lost) > bound * sum(most):
        cut = [place for place, own in enumerate(lost) if allowed[place] < own]
        levels = {allowed[place] / most[place] for place in cut}
        assert len(levels) == 1
        assert all(
            own / most[place] <= float(max(levels)) + 1e-12
            for place, own in enumerate(lost)
            if place not in cut
        )


def test_blocks_are_large_enough():
    with pytest.raises(ParameterError, match="block_rows must be an integer of at least 6"):
        run(many_rows(12), k=3, block_rows=np.int64(5))
