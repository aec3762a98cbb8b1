"""Deletions of tiny tables, against the fewest of all releases, whose promise is counted here."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from conftest import frame_of, rows_of
from naive import bounds, itemsets as naive

import pdanon
from examples import ALL, seeds

CASES = 50 if ALL else 3  # tiny tables of a seed: 5,000 of 100 seeds
ITEMS = "abcd"


def tiny_table(random):
    """Rows with 2 to 4 items and up to 11 occurrences."""
    while True:
        chance = random.uniform(0.3, 0.7)
        rows = [frozenset(i for i in ITEMS if random.random() < chance) for _ in range(random.randint(3, 7))]
        if sum(map(len, rows)) < 12 and len(frozenset().union(*rows)) > 1:
            return rows


def drawn(random, rows, k):
    """A guarantee, and what finds its breaches in rows with deletions."""
    kind, m = random.choice(["km", "listed", "listed", "diverse"]), random.choice([1, 2, 2, 3, None])
    there = sorted(frozenset().union(*rows))
    if kind == "km":
        return pdanon.KmAnonymity(k=k, m=m), lambda left: naive.km_threats(left, k, m)
    if kind == "listed":
        listed = [random.sample(there, random.randint(1, min(3, len(there)))) for _ in range(4)]
        promise = pdanon.PrivacyConstraints(constraints=listed, k=k)
        return promise, partial(bounds.rare_parts, rows, k=k, listed=listed)
    secrets = frozenset(there[:1])
    promise = pdanon.LmDiversity(l=2, m=m, k=k, sensitive=[*secrets])

    def broken(left):
        told = [secrets & row for row in left] != [secrets & row for row in rows]
        return told or naive.lm_threats(left, 2, m, secrets, k)

    return promise, broken


@pytest.mark.parametrize("seed", seeds(100))
def test_the_bound_is_at_most_the_optimum_and_the_release_at_least(seed):
    random = Random(seed)
    for _ in range(CASES):
        rows, k = tiny_table(random), random.choice([2, 2, 3])
        promise, broken = drawn(random, rows, k)
        frame, total = frame_of(rows), sum(map(len, rows))
        try:
            result = frame.txanon.local_suppression(guarantee=promise, random_state=random.randrange(9))
        except pdanon.InfeasibleError:
            assert isinstance(promise, pdanon.LmDiversity)
            continue
        released = rows_of(result.frame)
        assert all(now <= before for now, before in zip(released, rows, strict=True))
        assert not broken(released)
        least = bounds.least_deleted(rows, lambda left, broken=broken: not broken(left))
        assert least <= total - sum(map(len, released))
        if isinstance(promise, pdanon.LmDiversity):
            with pytest.raises(pdanon.ParameterError, match="no lower bound is known"):
                pdanon.bound(frame, promise, kind="deletions")
            continue
        proven = pdanon.bound(frame, promise, kind="deletions").changed
        assert proven <= least
        price = random.choice([0.5, 2, 10])
        mixture = frame.txanon.local_suppression(guarantee=promise, deletion_price=price)
        changed = round(mixture.loss["occurrences"] * total)
        assert (least if isinstance(promise, pdanon.KmAnonymity) else proven) <= changed
