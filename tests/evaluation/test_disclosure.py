"""Thresholds by name, SUDA scores and the diversity of sensitive items, against naive counts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import exp, factorial, inf, log

import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive
from pdanon.metrics import disclosure

import pdanon
from examples import examples
from pdanon import GuaranteeError, ParameterError
from pdanon.io.datasets import make_baskets

# --- Thresholds


def fewest_naive(frame, m):
    rows = [frozenset(row) for row in frame["items"]]
    known = {frozenset(each) for row in rows for size in range(m + 1) for each in combinations(row, size)}
    return min(naive.support(rows, each) for each in known)


@settings(max_examples=examples(30))
@given(row_lists(least=4, most=30), st.integers(2, 4), st.integers(1, 3))
def test_a_result_meets_a_threshold_if_enough_rows_match(rows, k, m):
    if sum(map(bool, rows)) < k:
        return
    result = pdanon.pcta(frame_of(rows), k=k, m=m)
    fewest = fewest_naive(result.frame, m)
    found = [result.meets(name) for name in ("CMS", "nhs digital")]
    assert [each.fewest for each in found] == [fewest] * 2
    assert [*map(bool, found)] == [fewest >= 11, fewest >= 8]


def test_a_check_says_both_numbers():
    frame = frame_of([["a"]] * 10 + [["b"]] * 11)
    assert repr(frame.txanon.pcta(k=2, m=1).meets("CMS")) == "Not met: CMS needs 11, and 10 rows match"
    assert repr(frame.iloc[10:].txanon.pcta(k=2, m=1).meets("CMS")) == "Met: CMS needs 11, and 11 rows match"


def test_the_number_is_that_of_the_frame_as_it_is_and_of_the_evidence(tmp_path):
    rows = [["a", "flu"], ["a"], ["a", "b"], ["b"]] * 3
    model = pdanon.LmDiversity(l=2, m=2, sensitive=["flu"], k=3)
    result = pdanon.pcta(frame_of(rows), guarantee=model)
    facts = pdanon.evaluation.evidence.collect(result, head={}).risk
    assert result.meets("CMS").fewest == facts["after"]["fewest"]


@pytest.mark.parametrize(
    ("make", "name", "problem"),
    [
        (lambda df: df.txanon.pcta(k=2), "CSM", "did you mean 'CMS'"),
        (lambda df: df.txanon.pcta(k=2), 11, "threshold"),
        (lambda df: df.txanon.disassociate(k=2), "CMS", "parts of records"),
        (lambda df: df.iloc[:0].txanon.pcta(k=2), "CMS", "no rows"),
    ],
)
def test_other_names_and_rows_that_are_no_persons_are_refused(make, name, problem):
    with pytest.raises(ParameterError, match=problem):
        make(make_baskets(60, 20, random_state=1)[["items"]]).meets(name)


# --- SUDA


def suda_naive(rows, m):
    unique = {each for each, count in naive.supports(rows, m).items() if count == 1}
    minimal = naive.minimal(unique)

    def score(itemsets):
        return sum(factorial(m + 1 - len(each)) for each in itemsets)

    items = sorted(frozenset().union(*rows))
    held = {item: [each for each in minimal if item in each] for item in items}
    lines = [(item, len(held[item]), score(held[item])) for item in items]
    of_rows = [score(each for each in minimal if each <= row) for row in rows]
    return of_rows, sorted(lines, key=lambda line: (-line[2], line[0]))


@settings(max_examples=examples(60))
@given(row_lists(longest=5, least=1), st.integers(1, 5))
def test_scores_are_the_naive_sums(rows, m):
    found = disclosure.suda(frame_of(rows), m=m)
    of_rows, items = suda_naive(rows, m)
    assert found.rows.tolist() == of_rows
    assert [*found.items.itertuples(index=False, name=None)] == items
    alone = pdanon.risk(frame_of(rows), k=2, m=m)["singled_out"].iloc[
        min(m, max(map(len, rows), default=1)) - 1
    ]
    assert sum(score > 0 for score in of_rows) == round(alone * len(rows))


def test_few_items_weigh_more():
    """Of four attributes, a unique value weighs 3!, a pair of values 2! and three values 1!."""
    frame = frame_of(["abc", "ab", "ac", "bc", "ef", "e", "f", "g"])
    scores = disclosure.suda(frame, m=3)
    assert scores.rows.tolist() == [1, 0, 0, 0, 2, 0, 0, 6]
    assert [*zip(*map(scores.items.get, ("item", "score")), strict=True)] == [
        *(("g", 6), ("e", 2), ("f", 2), ("a", 1), ("b", 1), ("c", 1))
    ]


def test_missing_rows_and_the_index_stay():
    frame = frame_of([["a", "b"], None, ["a"]]).set_axis(["x", "y", "z"])
    assert disclosure.suda(frame, m=2).rows.to_dict() == {"x": 2, "y": 0, "z": 0}


# --- Diversity of sensitive items


def diversity_naive(rows, sensitive, m):
    sensitive, n, lines = frozenset(sensitive), len(rows), []
    overall = Counter(row & sensitive for row in rows)
    longest = max(len(row - sensitive) for row in rows)
    worst = (Fraction(0), inf, Fraction(0), Fraction(0))
    for size in range(min(m, longest) + 1):
        for known in {frozenset(each) for row in rows for each in combinations(row - sensitive, size)}:
            held = [row & sensitive for row in rows if known <= row]
            most = max(sum(item in each for each in held) for item in sensitive)
            shares = {value: Fraction(count, len(held)) for value, count in Counter(held).items()}
            entropy = exp(-sum(share * log(share) for share in shares.values())) if most else inf
            odds = Fraction(most, len(held) - most) if most < len(held) else inf
            distance = (
                sum(abs(shares.get(each, 0) - Fraction(count, n)) for each, count in overall.items()) / 2
            )
            found = (Fraction(most, len(held)), entropy, odds, distance)
            worst = (*map(max, worst[:1], found[:1]), min(worst[1], entropy), *map(max, worst[2:], found[2:]))
        lines.append((size, *map(float, worst)))
    return lines


@settings(max_examples=examples(60))
@given(row_lists(items="abcdst", longest=5, least=1), st.integers(1, 4), st.integers(0, 2))
def test_diversity_is_the_naive_worst(rows, m, missing):
    sensitive = sorted(frozenset().union(*rows) & {"s", "t"})
    if not sensitive:
        return
    found = disclosure.diversity(frame_of([*rows, *[None] * missing]), sensitive=sensitive, m=m)
    assert [*found.columns] == ["known", "probability", "entropy_l", "recursive_c", "t"]
    for line, expected in zip(
        found.itertuples(index=False, name=None), diversity_naive(rows, sensitive, m), strict=True
    ):
        assert line == pytest.approx(expected)


def test_the_probability_is_what_the_guarantee_bounds():
    rows = [["a", "flu"], ["a", "b"], ["b", "gout"], ["b"], ["a"], ["b", "c"], ["c", "a"]]
    frame = frame_of(rows)
    worst = disclosure.diversity(frame, sensitive=["flu", "gout"], m=2)["probability"].iloc[-1]
    audits = [
        frame.txanon.audit(pdanon.LmDiversity(l=least, m=2, sensitive=["flu", "gout"])) for least in (4, 5)
    ]
    assert [audit.holds for audit in audits] == [worst <= 1 / 4, worst <= 1 / 5] == [True, False]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda df: disclosure.diversity(df, sensitive=[]), "no sensitive item"),
        (lambda df: disclosure.diversity(df, sensitive=["x"]), "does not occur"),
        (lambda df: disclosure.diversity(df, sensitive=["b"], m=None), "m must be"),
        (lambda df: disclosure.diversity(df, sensitive=["c"]), "member of a published set"),
        (lambda df: disclosure.suda(df, m=0), "m must be an integer of at least 1 and at most 12"),
        (lambda df: disclosure.suda(df, m=13), "m must be an integer of at least 1 and at most 12"),
        (lambda df: disclosure.suda(df.txanon.disassociate(k=2).frame), "parts of records|no records"),
    ],
)
def test_bad_arguments_are_refused(call, problem):
    with pytest.raises((ParameterError, GuaranteeError), match=problem):
        call(frame_of([["a", "b"], ["b", "(c,d)"], ["a"], ["b"]]))
