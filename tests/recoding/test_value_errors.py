"""Expected error of counts of combinations: a naive estimate over all classes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from examples import examples
from pdanon.recoding.loss import combination_error

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("uv")),
    min_size=1,
    max_size=30,
)


def naive(rows):
    """Spread each released row over all combinations that its labels may stand for."""
    covers = [{}, {}]
    for age, sex, *labels in rows:
        for cover, value, label in zip(covers, (age, sex), labels, strict=True):
            cover.setdefault(label, set()).add(value)
    estimate = Counter()
    for *_, one, other in rows:
        possible = [*product(covers[0][one], covers[1][other])]
        for each in possible:
            estimate[each] += 1 / len(possible)
    actual = Counter((age, sex) for age, sex, *_ in rows)
    return sum(abs(actual[age, sex] - estimate[age, sex]) / actual[age, sex] for age, sex, *_ in rows) / len(
        rows
    )


@settings(max_examples=examples(60))
@given(ROWS)
def test_error_of_combinations(rows):
    frame = pd.DataFrame(rows, columns=["age", "sex", "ages", "sexes"])
    found = combination_error(frame[["age", "sex"]], frame[["ages", "sexes"]], [0, 1])
    assert found == pytest.approx(naive(rows))


def test_values_that_are_kept_have_no_error():
    frame = pd.DataFrame({"age": [1, 1, 2, None], "sex": ["f", "m", "m", "f"]})
    assert combination_error(frame, frame, [0, 1]) == 0
    assert combination_error(frame, frame, []) == 0
    assert combination_error(frame[:0], frame[:0], [0]) == 0
