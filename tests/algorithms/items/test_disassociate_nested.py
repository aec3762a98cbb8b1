"""disassociate of rows that hold one another: as the naive version has it, and in time."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import given, settings, strategies as st
from naive import disassociation as naive
from pace import timed

from examples import examples


@settings(max_examples=examples(80))
@given(
    ends=st.lists(st.integers(1, 12), min_size=3, max_size=16),
    more=st.lists(st.sampled_from(["", "x", "y", "xy"]), min_size=16, max_size=16),
    k=st.integers(2, 3),
    m=st.sampled_from([1, 2, 3, None]),
    room=st.integers(0, 3),
    refine=st.booleans(),
    blocks=st.sampled_from([{}, {"a": 0, "c": 0, "b": 1, "x": 1}, dict.fromkeys("abcdefxy", 0)]),
)
def test_the_naive_version_releases_the_same(ends, more, k, m, room, refine, blocks):
    rows = [{*"abcdefghijkl"[:end], *also} for end, also in zip(ends, more, strict=False)]
    utility = pd.DataFrame({"item": [*blocks], "block": [*blocks.values()]}) if blocks else None
    asked = {"k": k, "m": m, "max_cluster": k + room, "joint": refine, "utility": utility}
    result = frame_of(rows).txanon.disassociate(**asked)
    expected = naive.release(rows, k, m, k + room, refine=refine, safe=False, blocks=blocks)
    assert naive.as_published(result.frame) == naive.published(expected)


@pytest.mark.slow
def test_rows_that_hold_one_another_take_a_few_seconds():
    """Each split takes off one row of 2,000; the two million items are counted once, and not each time."""
    frame = frame_of([map(str, range(end)) for end in range(1, 2001)])
    _, seconds = timed(lambda: frame.txanon.disassociate(k=5, m=2))
    assert seconds < 9
