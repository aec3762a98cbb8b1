"""Lower bounds on loss, against the least loss of all partitions of tiny tables, and against releases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from random import Random

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, promised
from naive import bounds as naive

import pdanon
from examples import ALL, seeds
from pdanon import KmAnonymity, ParameterError, PrivacyConstraints
from pdanon.evaluation.report import known_losses
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import encode_column
from pdanon.itemsets.support import SupportIndex, from_matrices
from pdanon.recoding.bounds import Conflicts, bound_changes

CASES = 50 if ALL else 1  # tiny tables of a seed: 5,000 of 100 seeds


def tiny_table(random):
    """Rows, constraints, and blocks of utility constraints, over up to 5 items that occur."""
    items = "abcde"[: random.randint(1, 5)]
    chance = random.uniform(0.2, 0.8)
    rows = [frozenset(i for i in items if random.random() < chance) for _ in range(random.randint(2, 8))]
    rows[0] |= set(items)
    listed = [random.sample(items, random.randint(1, len(items))) for _ in range(random.randint(1, 4))]
    numbers = [random.randrange(2) for _ in items]
    blocks = [[i for i, n in zip(items, numbers, strict=True) if n == number] for number in (0, 1)]
    return items, rows, listed, blocks


@pytest.mark.parametrize("seed", seeds(100))
def test_no_partition_of_a_tiny_table_loses_less(seed):
    """The bound holds for all releases, and so for those without suppression, or within blocks."""
    random = Random(seed)
    for _ in range(CASES):
        items, rows, listed, blocks = tiny_table(random)
        itemsets = Itemsets.from_series(frame_of([sorted(row) for row in rows])["items"])
        k = random.choice([2, 2, 3, 4])
        every = [(each, naive.losses(rows, each)) for each in naive.assignments(list(items))]
        for m in (1, 2, 3, 4, None) if ALL else (random.choice([1, 2, 2, 3, 3, 4, None]),):
            safe = [(each, loss) for each, loss in every if naive.holds_km(rows, each, k, m)]
            check(itemsets, KmAnonymity(k, m), safe, blocks)
        safe = [(each, loss) for each, loss in every if naive.holds_constraints(rows, each, k, listed)]
        check(itemsets, PrivacyConstraints(constraints=listed, k=k), safe, blocks)


def check(itemsets, guarantee, safe, blocks):
    """Compare both bounds with the least losses: of all, without suppression, and within blocks."""
    quick, full = bound_changes(itemsets, guarantee), bound_changes(itemsets, guarantee, exhaustive=True)
    assert quick.changed <= full.changed
    kinds = [
        safe,
        [pair for pair in safe if None not in pair[0].values()],
        [pair for pair in safe if naive.within(pair[0], blocks)],
    ]
    for kind in filter(None, kinds):
        changed, ncp = (min(losses[place] for _, losses in kind) for place in (0, 1))
        assert Fraction(full.changed, full.total) <= changed
        assert full.least <= float(changed)
        assert replace(full, loss="NCP").least <= float(ncp)


@pytest.mark.parametrize("seed", seeds(60))
def test_the_bound_is_mostly_the_least_cover(seed):
    """The programs have a gap only where their shares are fractions, and the packing has a larger one."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 20, 7)
    drawn = {
        size: [each for each in combinations(range(7), size) if rng.random() < chance]
        for size, chance in ((1, 0.05), (2, 0.3), (3, 0.1))
    }
    table = from_matrices([np.array(each, np.int32).reshape(-1, size) for size, each in drawn.items()])
    found = Conflicts.of(table, weights)
    packed, rows = found.pack(10**6)
    best = max([packed, *found.relax(rows)]) + found.forced
    least = naive.least_cover([each for sets in drawn.values() for each in sets], weights.tolist())
    assert packed + found.forced <= best <= least
    assert best >= 0.8 * least


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_conflicts_of_pairs_need_no_list(k):
    """The partners of each item are those of the listed rare pairs of frequent items, on both sides."""
    index = SupportIndex.of(encode_column(make_baskets(60, 12, random_state=k)[["items"]], 0))
    pairs = [pair for pair in index.rare(k, 2).sets() if len(pair) == 2]
    beside = [[pair for pair in pairs if item in pair] for item in range(index.n_items)]
    partners = [sorted({*chain(*holding)} - {item}) for item, holding in enumerate(beside)]
    starts, found = index.rare_partners(k)
    assert [each.tolist() for each in np.split(found, starts[1:-1])] == partners


@pytest.mark.parametrize("price", [0, 1, 2.5, 1e12, -1, np.nan, np.inf])
def test_any_prices_give_a_valid_bound(price):
    """A solver that returns nonsense cannot make the bound invalid."""
    weights = np.array([5, 3, 4], np.int64)
    table = from_matrices([np.array([[0, 1], [1, 2]], np.int32)])
    found = Conflicts.of(table, weights)
    _, rows = found.pack(10**6)
    assert found._changed(rows, np.full(len(rows), price)) <= naive.least_cover([[0, 1], [1, 2]], [5, 3, 4])


def test_the_bound_of_a_larger_m_is_never_lower():
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    found = [pdanon.bound(baskets, k=5, m=m).changed for m in (1, 2, 3, 4, None)]
    assert found == sorted(found)
    assert found[2] == found[3] == found[4]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_release_is_below_the_bound(m):
    baskets = make_baskets(100, 30, random_state=0)[["items"]]
    a = baskets.txanon
    for result in (
        a.pcta(k=5, m=m),
        a.coat(k=5, m=m),
        a.refine(a.coat(k=5, m=m)),
        a.apriori(k=5, m=m, hierarchy=5),
        a.hghs(k=5, m=m, hierarchy=5),
    ):
        found = a.bound(result)
        assert found.least <= found.reached == result.loss["occurrences"]


def test_a_bound_that_is_reached():
    """Of a and b, which are both in 2 rows but in only one together, one must change."""
    df = frame_of([["a", "b"], ["a"], ["b"], ["c"], ["c"]])
    result = df.txanon.coat(k=2, m=2)
    found = df.txanon.bound(result)
    assert (found.changed, found.total) == (2, 6)
    # Four of the six occurrences become a set of two of the three items.
    assert df.txanon.bound(result, loss="NCP").reached == pytest.approx(4 / 6 * 2 / 3)
    assert "no release by sets changes less than 33.33 %" in repr(found)
    assert "2 of 6 occurrences" in repr(found)


@pytest.mark.parametrize(
    ("changed", "total", "text"),
    [(0, 10, "0 %"), (10, 10, "100 %"), (1, 3, "33.33 %"), (2, 3, "66.66 %"), (99_999, 10**5, "99.99 %"),
     (1, 10**7, "0.00001 %"), (2, 10, "20 %"), (0, 0, "0 %")],
)  # fmt: skip
def test_the_bound_is_printed_rounded_down(changed, total, text):
    found = pdanon.Bound(KmAnonymity(2, 2), "occurrences", changed, total, 5)
    assert found.sentence.endswith(f"than {text}")


# --- Results


def test_refined_releases_have_their_bound():
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    chosen = baskets.txanon.anonymize(k=5, m=2)
    refined = baskets.txanon.refine(baskets.txanon.pcta(k=5, m=2))
    for result in (chosen, refined, baskets.txanon.refine(refined)):
        found = result.bound
        assert found.reached == result.loss["occurrences"] >= found.least > 0
        assert found.changed <= baskets.txanon.bound(result).changed
        assert f"  bound      {found.sentence}" in repr(result)
        assert known_losses(result)["least_occurrences"] == found.least
    assert baskets.txanon.pcta(k=5, m=2).bound is None


@pytest.mark.parametrize("price", [None, 3])
def test_deletions_and_mixtures_have_their_bound_beside_that_of_sets(price):
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    result = baskets.txanon.local_suppression(k=5, m=2, deletion_price=price)
    sets = baskets.txanon.refine(baskets.txanon.pcta(k=5, m=2)).bound
    for found in (result.bound, baskets.txanon.refine(result).bound):
        assert found.kind == "deletions"
        assert found.changed == pdanon.bound(baskets, k=5, kind="deletions").changed
        assert 0 < found.least <= found.reached < sets.least
        assert found.by_sets == sets.changed
    share = sets.sentence.partition(" than ")[2]
    text = f"  bound      {result.bound.sentence}\n  by sets    none changes less than {share}"
    assert text in repr(result)
    known = known_losses(result)
    assert (known["least_occurrences"], known["least_by_sets"]) == (result.bound.least, sets.least)
    chosen = baskets.txanon.anonymize(k=5, m=2, loss="occurrences")
    assert chosen.bound.kind == "deletions"
    assert chosen.bound.reached == chosen.loss["occurrences"]


def test_releases_of_separate_groups_have_no_bound():
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    result = baskets.txanon.lra(k=5, m=2, hierarchy=5, parts=3)
    assert baskets.txanon.refine(result).bound is None


def test_a_bound_by_constraints_and_blocks():
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    blocks = pdanon.utility.by_size(baskets["items"].itemset.items, 10)
    listed = pdanon.constraints.random(baskets, 200, 2, random_state=0)
    for options in ({"m": 2}, {"constraints": listed}):
        result = baskets.txanon.refine(baskets.txanon.coat(**promised(k=5, utility=blocks, **options)))
        assert 0 < result.bound.least <= result.loss["occurrences"]


# --- Limits and bad input


def test_a_time_limit_that_is_too_short_gives_a_valid_bound():
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    full = pdanon.bound(baskets, k=5, m=3)
    assert 0 <= pdanon.bound(baskets, k=5, m=3, time_limit=1e-9).changed <= full.changed


def test_the_packing_is_returned_when_programs_run_out_of_time(monkeypatch):
    baskets = make_baskets(300, 30, random_state=0)[["items"]]
    quick = bound_changes(Itemsets.from_series(baskets["items"]), KmAnonymity(5, 3))
    monkeypatch.setattr(Conflicts, "_solve", lambda self, rows: None)
    assert pdanon.bound(baskets, k=5, m=3).changed >= quick.changed > 0


@pytest.mark.parametrize("kind", ["sets", "deletions"])
@pytest.mark.parametrize(
    ("guarantee", "name"),
    [
        (pdanon.LmDiversity(l=2, m=2, k=2, sensitive=["a"]), "LmDiversity"),
        (pdanon.TransactionalK(k=2), "TransactionalK"),
        (pdanon.RhoUncertainty(rho=0.5, sensitive=["a"]), "RhoUncertainty"),
        (pdanon.KKm(k=2, m=2, quasi=["age"]), "KKm"),
        (pdanon.KLm(k=2, l=2, m=2, quasi=["age"], sensitive=["a"]), "KLm"),
    ],
)
def test_a_guarantee_without_a_bound_is_named(guarantee, name, kind):
    df = frame_of([["a", "b"], ["a"], ["b"]])
    with pytest.raises(ParameterError, match="no lower bound") as error:
        df.txanon.bound(guarantee, kind=kind)
    assert name in str(error.value)
    assert "KmAnonymity or PrivacyConstraints" in str(error.value)


def test_bad_input():
    df = frame_of([["a", "b"], ["a"], ["b"], ["a", "c"], ["c"]])
    other = frame_of([["a", "b"], ["a"], ["b"], ["a", "d"], ["d"]])
    result = df.txanon.pcta(k=2, m=2)
    with pytest.raises(ParameterError, match="not of this frame"):
        other.txanon.bound(result)
    with pytest.raises(ParameterError, match="not of this frame"):
        df.head(3).txanon.bound(result)
    with pytest.raises(ParameterError, match="loss with a lower bound"):
        df.txanon.bound(k=2, loss="pairs")
    with pytest.raises(ParameterError, match="time_limit"):
        df.txanon.bound(k=2, time_limit=0)
    with pytest.raises(ParameterError, match="no guarantee is given"):
        df.txanon.bound()
    with pytest.raises(ParameterError, match="k must be"):
        df.txanon.bound(k=1)
    with pytest.raises(ParameterError, match="guarantee is given twice"):
        df.txanon.bound(result, k=2)
    with pytest.raises(ParameterError, match="does not occur in the data"):
        df.txanon.bound(PrivacyConstraints(constraints=[["x"]], k=2))
    with pytest.raises(ParameterError, match="no bound of NCP"):
        df.txanon.bound(df.txanon.lra(k=2, m=2, hierarchy=2, parts=2), loss="NCP")
    with pytest.raises(ParameterError, match="leaves of the hierarchy"):
        df.txanon.bound(df.txanon.apriori(k=2, m=2, hierarchy=2), loss="NCP")


@pytest.mark.parametrize("seed", seeds(60))
def test_blocks_of_nodes_change_no_less_than_deletions_must(seed):
    """Without the labels of nodes, they are a release by deletions."""
    rng = np.random.default_rng(seed)
    rows = [{*rng.choice([*"abcdef"], rng.integers(1, 4))} for _ in range(12)]
    df = frame_of([sorted(row) for row in rows])
    result = df.txanon.lra(k=2, m=2, hierarchy=2, parts=3)
    bound = df.txanon.bound(result)
    changed = sum(len(row - {*labels}) for row, labels in zip(rows, result.frame["items"], strict=True))
    assert bound.kind == "deletions"
    assert bound.changed <= changed == round(bound.reached * sum(map(len, rows)))


def test_tables_without_occurrences():
    for rows in ([], [[]], [[], None]):
        df = pd.DataFrame({"items": pd.Series(rows, dtype=object)})
        if rows == []:
            df = frame_of([["a"]]).head(0)
        assert pdanon.bound(df, k=2).least == 0
