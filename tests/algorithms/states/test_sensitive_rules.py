"""Rules that are too sure, of each number of known labels, against all sets of labels."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from conftest import frame_of

from examples import seeds
from pdanon.algorithms.items.rho import Demand, RuleSearch
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex

SHARES = [Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)]


def every_rule(rows, hidden, share, size):
    """The rules by their definition."""
    labels = sorted(set().union(*rows))
    for known in combinations(labels, size):
        having = [row for row in rows if row.issuperset(known)]
        for label in hidden.difference(known):
            if sum(label in row for row in having) > share * len(having):
                yield frozenset(known), label


@pytest.mark.parametrize("seed", seeds(100))
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_rules_are_all_that_there_are_in_dense_rows(size, seed):
    """Where many sets follow one and the same, each keeps the rows that it has."""
    draw = np.random.default_rng(seed)
    labels = np.array(list("abcdefghi")[: draw.integers(4, 10)])
    rows = [set(labels[draw.random(len(labels)) < 0.6].tolist()) for _ in range(draw.integers(5, 60))]
    rows.append(set(labels.tolist()))
    hidden, share = set(draw.choice(labels, 3, replace=False).tolist()), SHARES[seed % 3]
    itemsets = Itemsets.from_series(frame_of(rows)["items"])
    is_hidden = np.isin(itemsets.texts(), sorted(hidden))
    demand = Demand(is_hidden, share, None, len(rows), np.ones_like(is_hidden))
    found = RuleSearch.of(SupportIndex.of(itemsets).distinct(), demand).breached(size)
    texts = np.array(itemsets.texts())[found.codes].reshape(-1, size + 1).tolist()
    rules = [(frozenset(known), label) for *known, label in texts]
    assert len(set(rules)) == len(rules)
    assert set(rules) == set(every_rule(rows, hidden, share, size))
    first = draw.random(len(is_hidden)) < 0.4
    wanted = set(np.array(itemsets.texts())[first].tolist())
    some = RuleSearch.of(SupportIndex.of(itemsets).distinct(), demand, first).breached(size)
    texts = np.array(itemsets.texts())[some.codes].reshape(-1, size + 1).tolist()
    listed = [(frozenset(known), label) for *known, label in texts]
    assert len(set(listed)) == len(listed)
    assert set(listed) == {(known, label) for known, label in rules if (known | {label}) & wanted}
