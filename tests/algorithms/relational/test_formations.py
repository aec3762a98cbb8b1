"""Relational formations: the same releases as literal versions, on small tables."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from families import FORMATIONS
from hypothesis import given, settings, strategies as st
from naive import relational as naive

import pdanon
from examples import examples
from pdanon.algorithms.relational.attributes import common_unit, cover_loss, shares
from pdanon.algorithms.relational.quasi import Classes, Digests, QuasiTable

TREE = {"all": {"P": {"Q": ["a", "b"], "R": ["c"]}, "S": ["d", "e", "f"]}}
GRADES = (*"gfedcba",)  # ordered categories, of which the first never occurs
KINDS = [
    *(["range", "set", TREE], ["range", "range"], [TREE, TREE], ["set"], ["range"], [TREE, "range", "set"]),
    *([GRADES], [GRADES, "range"], ["set", GRADES, TREE]),
]
RANDOM = {"cluster", "k_member"}


def tables(least=2, most=9):
    """Rows that come once to three times: so that some classes are large enough without a change."""

    def rows(kinds):
        values = [st.sampled_from([None, *(range(13) if kind == "range" else "abcdef")]) for kind in kinds]
        some = st.lists(st.tuples(st.tuples(*values), st.integers(1, 3)), min_size=least, max_size=most)
        return st.tuples(st.just(kinds), some.map(lambda found: [row for row, n in found for _ in range(n)]))

    return st.sampled_from(KINDS).flatmap(rows)


def frame_of(kinds, rows):
    dtypes = [dtype_of(kind) for kind in kinds]
    columns = {f"q{i}": pd.Series([row[i] for row in rows], dtype=dtype) for i, dtype in enumerate(dtypes)}
    return pd.DataFrame(columns)


def dtype_of(kind):
    if isinstance(kind, tuple):
        return pd.CategoricalDtype(kind, ordered=True)
    return "Int64" if kind == "range" else "str"


def hierarchies_of(kinds):
    return {f"q{i}": kind for i, kind in enumerate(kinds) if isinstance(kind, dict)}


def released(frame):
    """Rows as tuples; intervals as pairs."""

    def plain(value):
        if isinstance(value, pd.Interval):
            assert value.closed == "both"
            return value.left, value.right
        return None if pd.isna(value) else value

    return [tuple(map(plain, row)) for row in frame.itertuples(index=False)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FORMATIONS)
@settings(max_examples=examples(60))
@given(table=tables(), k=st.integers(2, 4), seed=st.integers(0, 3))
def test_the_same_as_a_literal_version(name, table, k, seed):
    kinds, rows = table
    k = min(k, len(rows))
    frame = frame_of(kinds, rows)
    chance = {"random_state": seed} if name in RANDOM else {}
    asked = {"k": k, "quasi": {**dict.fromkeys(frame), **hierarchies_of(kinds)}} | chance
    result = getattr(pdanon, name)(frame, **asked)
    expected = getattr(naive, name)(
        naive.Table(rows, kinds), k, *[np.random.default_rng(seed)] * (name in RANDOM)
    )
    assert released(result.frame) == expected
    assert naive.smallest(expected) >= k


@pytest.mark.parametrize("name", ["incognito", "full_subtree"])
@settings(max_examples=examples(40))
@given(table=tables(), k=st.integers(2, 4), share=st.sampled_from([0.1, 0.3, 0.5, 1]))
def test_the_same_as_a_literal_version_that_suppresses(name, table, k, share):
    kinds, rows = table
    k = min(k, len(rows))
    most = int(Fraction(str(share)) * len(rows))
    frame = frame_of(kinds, rows)
    asked = {"k": k, "quasi": {**dict.fromkeys(frame), **hierarchies_of(kinds)}, "max_suppressed": share}
    result = getattr(pdanon, name)(frame, **asked)
    expected = getattr(naive, name)(naive.Table(rows, kinds), k, most if most >= k else 0)
    assert released(result.frame) == expected
    assert naive.smallest(expected) >= k


@settings(max_examples=examples(75))
@given(tables(least=1), st.data())
def test_penalties(table, data):
    kinds, rows = table
    groups = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    frame = frame_of(kinds, rows)
    encoded = QuasiTable.of(frame, dict.fromkeys(frame) | hierarchies_of(kinds))
    oracle = naive.Table(rows, kinds)
    names, of_row = np.unique(groups, return_inverse=True)
    members = [np.flatnonzero(of_row == group) for group in range(len(names))]
    everything = np.arange(len(rows))
    digests = Digests(encoded, members)

    def fractions(losses):
        return [Fraction(loss, encoded.attributes[0].unit) for loss in losses.tolist()]

    assert fractions(digests.losses) == [*map(oracle.penalty, members)]
    heights = [oracle.penalty(each, heights=True) for each in members]
    assert fractions(Digests(encoded.by_height(), members).losses) == heights
    assert fractions(encoded.losses_with_each(members[0], everything)) == [
        oracle.penalty([*members[0], row]) for row in everything
    ]
    values = encoded.codes[0, :, np.newaxis]
    assert fractions(digests.losses_with(values)) == [oracle.penalty([*each, 0]) for each in members]
    digests.add(len(members) - 1, values)
    grown = [*members[:-1], np.append(members[-1], 0)]
    assert fractions(digests.losses) == [*map(oracle.penalty, grown)]
    digests.add(0, digests.of(len(members) - 1))
    digests.remove(len(members) - 1)
    merged = [np.concatenate((grown[0], grown[-1])), *grown[1:-1]] if len(grown) > 1 else []
    assert fractions(digests.losses) == [*map(oracle.penalty, merged)]
    classes = Classes.of_members(encoded, groups)
    assert (np.diff(np.unique(classes.of_row, return_index=True)[1]) > 0).all()
    published = oracle.publish(members)
    assert len(classes) == len(set(published))
    assert [published[i] == published[0] for i in everything] == (classes.of_row == 0).tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0, 3, 0, 1, 0], [0, 0, 0, 2, 3]),
        ([0.2, 0.5, 0.2, 0.3, 0.2], [0.5, 0.5, 0.5, 0.7, 0.8]),
        ([*map(Decimal, ["0.2", "0.5", "0.2", "0.3", "0.2"])], ["a", "a", "a", "b", "c"]),
        (pd.to_datetime([0, 3, 0, 1, 0], unit="D"), pd.to_timedelta([0, 0, 0, 2, 3], unit="h")),
    ],
    ids=["integers", "floats", "decimals", "times"],
)
def test_equal_sums_of_shares_are_equal(one, other):
    """All of one column is as much as a third of it and two thirds of another: rounded, these are less."""
    table = QuasiTable.of(pd.DataFrame({"a": one, "b": other}), ["a", "b"])
    losses = Digests(table, [np.array([0, 1]), np.array([2, 3])]).losses
    assert losses.tolist() == [table.attributes[0].unit] * 2


def test_unit_is_a_multiple_of_what_fits():
    assert common_unit([3, 7, 16, 16, 0], 1000) % (3 * 7 * 16) == 0
    primes = [999_983, 1_000_003, 1_000_033, 5]
    unit = common_unit(primes, 10**6)
    assert unit % (5 * 999_983) == 0  # the largest are left out
    assert unit * 10**6 * 2 < 2**63
    assert 2**31 < common_unit([], 10) <= 2**32
    assert shares(np.array([0, 1, 2, 3]), 3, 2**32).tolist() == [2**32 * i // 3 for i in range(4)]


# --- the running example of the RT paper

EXAMPLE = pd.DataFrame(
    {
        "age": [19, 22, 28, 39, 70, 55],
        "origin": ["France", "Greece", "Germany", "Spain", "Algeria", "Nigeria"],
        "gender": ["M", "M", "F", "F", "F", "M"],
    }
)
WORLD = {
    "origin": {"*": {"Africa": ["Algeria", "Nigeria"], "Europe": ["Greece", "France", "Germany", "Spain"]}},
    "gender": {"All": ["M", "F"]},
}
PUBLISHED = [  # rows, NCP by attribute in fractions of the domain
    ([0, 1], (3 / 51, 4 / 6, 0)),
    ([2, 3], (11 / 51, 4 / 6, 0)),
    ([4, 5], (15 / 51, 2 / 6, 1)),
    ([0, 1, 2, 3], (20 / 51, 4 / 6, 1)),
    ([0, 1, 4, 5], (1, 1, 1)),
    ([2, 3, 4, 5], (42 / 51, 1, 1)),
    ([0, 1, 2, 3, 4, 5], (1, 1, 1)),
]


@pytest.mark.parametrize(("rows", "expected"), PUBLISHED)
def test_published_penalties(rows, expected):
    table = QuasiTable.of(EXAMPLE, dict.fromkeys(EXAMPLE) | WORLD)
    found = [cover_loss(each, codes) / table.attributes[0].unit for each, codes in table.columns(rows)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], 0.3595),
        ([0, 0, 0, 0, 1, 1], 0.6383),
        ([0, 0, 1, 1, 0, 0], 0.7647),
        ([0] * 6, 1.0),
    ],
)
def test_published_losses(groups, expected):
    table = QuasiTable.of(EXAMPLE, dict.fromkeys(EXAMPLE) | WORLD)
    assert Classes.of_members(table, np.array(groups)).ncp == pytest.approx(expected, abs=5e-5)


def test_published_clusters():
    """Figure 2a of the paper, the relational part; with seeds that lead to it."""
    asked = {"k": 2, "quasi": {**dict.fromkeys(EXAMPLE), **WORLD}}
    result = pdanon.cluster(EXAMPLE, **asked, random_state=0)
    europe = [((19, 22), "Europe", "M")] * 2 + [((28, 39), "Europe", "F")] * 2
    assert "classes    3, the smallest of 2 rows\n" in repr(result)
    assert "items" not in repr(result)
    assert released(result.frame) == europe + [((55, 70), "Africa", "All")] * 2
    assert result.loss["NCP_relational"] == pytest.approx(0.3595, abs=5e-5)
