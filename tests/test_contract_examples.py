"""Published examples, and the best of all cuts, for every registered algorithm that cuts a hierarchy."""

from __future__ import annotations

import pytest
from conftest import frame_of, row_lists
from contract import (
    ARGUMENTS,
    INFERRING,
    LOCAL,
)
from families import ALGORITHMS
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

from examples import examples

# --- published examples

TWO_BY_TWO = {"ALL": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}
FIRST = ["a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2"]
SECOND = ["a1", "a1 a2", "b1 b2", "b1 b2", "a1 a2 b2", "a1 a2 b2", "a1 a2 b1 b2"]


@pytest.mark.parametrize("name", ["apriori", "optimal"])
@pytest.mark.parametrize(
    ("rows", "m", "expected", "ncp"),
    [
        (FIRST, 2, "A A b1 b2", 0.2273),
        (FIRST, 3, "A A b1 b2", 0.2273),
        (FIRST, 1, "a1 a2 b1 b2", 0.0),
        (SECOND, 2, "a1 a2 B B", 0.2353),
        (SECOND, 4, "a1 a2 B B", 0.2353),
    ],
)
def test_published_example(name, rows, m, expected, ncp):
    frame = frame_of([row.split() for row in rows])
    result = ALGORITHMS[name](frame, k=2, m=m, hierarchy=TWO_BY_TWO)
    assert result.mapping["generalized"].tolist() == expected.split()
    assert result.loss["NCP"] == pytest.approx(ncp, abs=5e-5)


SMALL_TREE = {"all": {"P": {"Q": ["a", "b"], "R": ["c"]}, "S": ["d", "e", "f"]}}


def as_tuples(name, below):
    if isinstance(below, dict):
        return name, [as_tuples(*part) for part in below.items()]
    return name, [(leaf, None) for leaf in below]


SUPPRESSING = {"hghs", "mhghs"}  # and a local recoding can lose less than any cut
CUTTING = [
    name
    for name in ARGUMENTS
    if "hierarchy" in ARGUMENTS[name]([]) and name not in SUPPRESSING | INFERRING | LOCAL
]


@pytest.mark.parametrize("name", CUTTING)
@settings(max_examples=examples(40))
@given(rows=row_lists(least=2), m=st.sampled_from([1, 2, None]))
def test_no_cut_is_better_than_the_best_of_all_cuts(name, rows, m):
    assume(sum(map(bool, rows)) >= 2)
    tree = as_tuples("all", SMALL_TREE["all"])
    least, _ = naive.optimal_cut(rows, tree, 2, m)
    arguments = {**ARGUMENTS[name]([]), "hierarchy": SMALL_TREE}
    result = ALGORITHMS[name](frame_of(rows), k=2, m=m, **arguments)
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    of_results = [
        cut for cut in naive.cuts(tree) if all(cut[item][0] == label for item, label in became.items())
    ]
    assert of_results
    assert result.loss["NCP"] == pytest.approx(float(naive.cut_ncp(rows, of_results[0])))
    assert result.loss["LM"] == pytest.approx(float(naive.cut_lm(rows, of_results[0])))
    assert naive.cut_ncp(rows, of_results[0]) >= least
    assert "gap" not in result.loss or naive.cut_ncp(rows, of_results[0]) == least
