"""The attack: its counts against naive ones, and the promise of each kind of release. Generated data only."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive
from naive.identification import persons_at_risk
from naive.queries import subsets
from scipy import stats

import pdanon
from examples import ALL, examples
from pdanon import ColumnError, ParameterError
from pdanon.hierarchy import Hierarchy
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding import identification
from pdanon.recoding.counts import wilson_interval
from pdanon.recoding.identification import Persons, Sample, guess_rows
from pdanon.recoding.recoding import Cover, became_of

BASKETS = make_baskets(600, 60, random_state=4)[["items"]]
TREE = Hierarchy.balanced(BASKETS["items"].itemset.items, 3)
RELEASES = {
    "pcta": {},
    "coat": {"max_suppressed": 0.2, "utility": pdanon.utility.by_level(TREE, 2)},
    "apriori": {"hierarchy": TREE},
    "mhghs": {"hierarchy": TREE},
    "lra": {"hierarchy": TREE, "parts": 4},
}


@pytest.mark.parametrize("algorithm", RELEASES)
def test_nobody_hides_among_fewer_than_promised(algorithm):
    result = getattr(pdanon, algorithm)(BASKETS, k=6, m=2, **RELEASES[algorithm])
    attack = pdanon.attack(BASKETS, result, m=2, n=3000, random_state=1)
    assert attack.fewest >= 6
    assert attack.rate <= 1 / 6
    assert attack.rate_before > attack.rate
    assert attack.fewest_before == 1


def test_who_knows_more_than_was_assumed_may_succeed():
    result = BASKETS.txanon.pcta(k=6, m=1)
    assert pdanon.attack(BASKETS, result, m=1, n=2000, random_state=1).fewest >= 6
    assert pdanon.attack(BASKETS, result, m=None, n=2000, random_state=1).fewest < 6


def images(row, known, result, group):
    """What known items became, by the mapping table."""
    table = result.mapping
    became = {
        (g, item): None if pd.isna(label) else label
        for g, item, label in zip(table["group"], table["item"], table["generalized"], strict=True)
    }
    return frozenset(became[group, item] for item in known) - {None}


@settings(max_examples=examples(40))
@given(
    row_lists(least=3),
    st.integers(2, 3),
    st.integers(1, 3) | st.none(),
    st.sampled_from(["pcta", "lra", "mhghs"]),
)
def test_counts_are_the_naive_ones(rows, k, m, algorithm):
    frame = frame_of(rows)
    if sum(map(bool, rows)) < k:
        return
    tree = {"*": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f"]}}
    options = {"pcta": {}, "lra": {"hierarchy": tree, "parts": 2}, "mhghs": {"hierarchy": tree}}[algorithm]
    result = getattr(pdanon, algorithm)(frame, k=k, m=2, **options)
    released = rows_of(result.frame)
    groups = [0] * len(rows) if result.groups is None else result.groups.tolist()
    cases = pdanon.attack(frame, result, m=m, n=10, random_state=0).cases
    assert cases.columns.tolist() == ["row", "known", "before", "after"]
    for number, known, before, after in cases.itertuples(index=False):
        row = rows[number]
        assert known == (len(row) if m is None else min(m, len(row)))
        chosen = [each for each in subsets(row) if len(each) == known]
        counts = {
            (naive.support(rows, each), naive.support(released, images(row, each, result, groups[number])))
            for each in chosen
        }
        assert (before, after) in counts


def test_a_suppressed_item_tells_nothing():
    frame = frame_of([{"a"}, {"b", "c"}, {"b", "c"}, {"b", "c"}, {"d"}])
    result = frame.txanon.coat(k=2, m=2, utility=[["a"], ["b"], ["c"], ["d"]], max_suppressed=0.5)
    assert result.mapping.set_index("item")["generalized"].isna().to_dict() == {
        "a": True,
        "b": False,
        "c": False,
        "d": True,
    }
    cases = pdanon.attack(frame, result, m=1, n=50, random_state=1).cases
    assert cases.loc[cases["row"] == 0, ["before", "after"]].drop_duplicates().to_numpy().tolist() == [[1, 5]]


def test_a_missing_row_is_never_that_of_the_person():
    frame, released = frame_of([{"a", "b"}, {"b"}, {"b"}, None]), frame_of([{"b"}, {"b"}, {"b"}, None])
    mapping = frame.txanon.coat(k=2, m=1, utility=[["a"], ["b"]], max_suppressed=0.5).mapping
    cases = pdanon.attack(frame, released, mapping=mapping, m=1, n=50, random_state=1).cases
    assert {*zip(cases["before"], cases["after"], strict=True)} == {(1, 3), (3, 3)}


def test_rows_are_drawn_alike_and_repeatably():
    frame = frame_of([{"a"}, set(), {"a", "b"}, None, {"b"}, {"b"}])
    result = frame.txanon.pcta(k=2, m=1)
    attack = pdanon.attack(frame, result, m=1, n=4000, random_state=3)
    counts = attack.cases["row"].value_counts()
    assert sorted(counts.index) == [0, 2, 4, 5]
    assert counts.between(850, 1150).all()
    again = pdanon.attack(frame, result, m=1, n=4000, random_state=np.random.default_rng(3))
    pd.testing.assert_frame_equal(again.cases, attack.cases)


def test_report_has_numbers_only():
    frame = frame_of([{SECRET, "a"}, {SECRET, "b"}, {"a", "b"}])
    attack = pdanon.attack(frame, frame.txanon.pcta(k=3, m=1), m=1, n=4, random_state=1)
    assert all(kind.kind == "i" for kind in attack.cases.dtypes)
    assert SECRET not in repr(attack) + repr(attack.cases)
    assert repr(attack) == (
        "Attack: 4 cases, up to 1 items known\n"
        "  original   50 % of the guesses are right (15 % to 85 %); in the worst case 2 rows match\n"
        "  release    33.3 % of the guesses are right (7.51 % to 75.5 %); in the worst case 3 rows match"
    )
    assert "all items known" in repr(pdanon.attack(frame, frame.txanon.pcta(k=3, m=1), m=None, n=1))


@pytest.mark.parametrize(
    ("right", "n", "expected"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_intervals_of_newcombe(right, n, expected):
    """The score method in the examples of R. G. Newcombe, Statistics in Medicine 17, 1998."""
    assert wilson_interval(right / n, n) == pytest.approx(expected, abs=5e-5)


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_of_scipy(counts):
    right, n = counts
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    low, high = wilson_interval(right / n, n)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (low == 0, high == 1) == (right == 0, right == n)  # no 1e-18, which would be printed


@pytest.mark.slow
def test_intervals_hold_what_all_cases_have():
    """With one known item, the rate of all cases is counted: of 200 simulations, few miss it."""
    frame = frame_of(rows_of(BASKETS.head(60)))
    result = frame.txanon.pcta(k=2, m=1)
    counts = {item: sum(item in row for row in rows_of(frame)) for row in rows_of(frame) for item in row}
    rows = [row for row in rows_of(frame) if row]
    rate = np.mean([np.mean([1 / counts[item] for item in row]) for row in rows])
    missed = 0
    for seed in range(200):
        attack = pdanon.attack(frame, result, m=1, n=50, random_state=seed)
        low, high = attack.interval_before
        missed += not low <= rate <= high
        assert attack.interval[0] <= attack.rate <= attack.interval[1]
    assert missed <= 10


@pytest.mark.parametrize("algorithm", ["pcta", "coat", "apriori"])
def test_a_frame_with_a_mapping_is_attacked_like_its_result(algorithm):
    result = getattr(pdanon, algorithm)(BASKETS, k=6, m=2, **RELEASES[algorithm])
    expected = pdanon.attack(BASKETS, result, m=2, n=300, random_state=1)
    again = pdanon.attack(BASKETS, result.frame, mapping=result.mapping, m=2, n=300, random_state=1)
    pd.testing.assert_frame_equal(again.cases, expected.cases)


def test_a_frame_of_another_tool():
    """Spices were merged and flu was removed, by hand; the mapping has no more than is needed."""
    frame = frame_of([{"salt", "flu"}, {"sugar", "tea"}, {"tea"}])
    released = frame_of([{"spice"}, {"spice", "tea"}, {"tea"}])
    labels = {"flu": None, "salt": "spice", "sugar": "spice", "tea": "tea"}
    mapping = pd.DataFrame({"group": 0, "item": [*labels], "generalized": [*labels.values()]})
    cases = pdanon.attack(frame, released, mapping=mapping, m=None, n=60, random_state=1).cases
    assert cases.groupby("row")["after"].first().to_dict() == {0: 2, 1: 1, 2: 2}


FRAME = frame_of([{SECRET, "a"}, {"a", "b"}, {"b"}])
RESULT = FRAME.txanon.pcta(k=3, m=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 0}, "m must be"),
        ({"m": 1.5}, "m must be"),
        ({"n": 0}, "n must be"),
        ({"n": "many"}, "n must be"),
        ({"result": [RESULT]}, "not a result"),
        ({"result": RESULT.frame}, "a frame needs its mapping"),
        ({"mapping": RESULT.mapping}, "given twice"),
        ({"result": RESULT.frame, "mapping": RESULT.mapping.assign(group=1)}, "local recoding"),
        ({"result": RESULT.frame, "mapping": RESULT.mapping.drop(columns="item")}, "lacks columns"),
        ({"result": RESULT.frame, "mapping": RESULT.mapping.iloc[1:]}, "1 items without a row"),
        ({"result": RESULT.frame.iloc[1:], "mapping": RESULT.mapping}, "3 and 2 rows"),
        ({"original": FRAME.iloc[1:]}, "2 and 3 rows"),
        ({"original": FRAME.iloc[::-1]}, "differ in their index"),
        ({"original": frame_of([{"a"}, {"b"}, {"c"}])}, "1 items without a row, 1 rows of"),
        (
            {"original": frame_of([set()] * 3), "result": frame_of([set()] * 3).txanon.pcta(k=2)},
            "no row has an item",
        ),
    ],
)
def test_bad_input_is_refused_without_item_text(arguments, message):
    asked = {"original": FRAME, "result": RESULT} | arguments
    with pytest.raises(ParameterError, match=message) as caught:
        pdanon.attack(asked.pop("original"), asked.pop("result"), **asked)
    assert SECRET not in str(caught.value)


def test_what_an_item_became_must_be_known():
    line = RESULT.mapping.iloc[:1]
    twice = pd.concat([RESULT.mapping, line], ignore_index=True)
    attacks = [pdanon.attack(FRAME, RESULT.frame, mapping=each, m=2) for each in (RESULT.mapping, twice)]
    pd.testing.assert_frame_equal(*(each.cases for each in attacks))
    two_labels = pd.concat([RESULT.mapping, line.assign(generalized="other")], ignore_index=True)
    with pytest.raises(ParameterError, match="1 of 4 rows of the mapping"):
        pdanon.attack(FRAME, replace(RESULT, mapping=two_labels))
    with pytest.raises(ColumnError, match="does not exist"):
        pdanon.attack(FRAME, RESULT, "codes")


# --- An attacker with a sample


HELD_OUT = make_baskets(600, 60, random_state=5)[["items"]]


def test_a_sample_names_more_persons_than_the_number_of_candidates():
    result = BASKETS.txanon.pcta(k=6, m=2)
    attack = pdanon.attack(BASKETS, result, sample=HELD_OUT, random_state=1)
    assert attack.k == 6
    assert attack.fewest >= 6
    assert attack.rate <= 1 / 6
    assert attack.rate_before >= 1 / 5
    assert attack.rate < attack.named < attack.rate_before
    assert attack.cases.columns.tolist() == ["row", "known", "before", "after", "named", "largest"]
    assert (attack.cases["before"] < 6).all()
    again = pdanon.attack(BASKETS, result, sample=HELD_OUT, random_state=1)
    pd.testing.assert_frame_equal(again.cases, attack.cases)


@pytest.mark.slow
def test_all_shares_have_intervals():
    result = BASKETS.txanon.pcta(k=6, m=2)
    attack = pdanon.attack(BASKETS, result, sample="split", random_state=1)
    assert attack.shares.index.tolist() == ["original", "release", "named", "above 1/k", "above 1/2"]
    assert (attack.shares["low"] <= attack.shares["share"]).all()
    assert (attack.shares["share"] <= attack.shares["high"]).all()
    assert attack.shares.loc["named", "share"] == attack.cases["named"].mean() == attack.named
    assert attack.shares.loc["above 1/2", "share"] <= attack.shares.loc["above 1/k", "share"]
    assert "sample     each half of the original, drawn at random, for the rows of the other" in repr(attack)
    assert "% are named" in repr(attack)
    assert pdanon.attack(BASKETS, result).shares.index.tolist() == ["original", "release"]


def test_equal_candidates_are_not_above_one_in_k():
    frame = frame_of([{"a"}, {"b"}, {"c"}])
    result = frame.txanon.pcta(k=3, m=1)
    attack = pdanon.attack(
        frame, result, sample=frame_of([{"a"}, {"b"}, {"c"}, {"c"}]), n=300, random_state=1
    )
    assert attack.shares.loc["above 1/k", "share"] == 0
    assert attack.rate == pytest.approx(1 / 3)
    assert attack.shares.loc["named", "low"] <= 1 / 3 <= attack.shares.loc["named", "high"]


def test_what_a_row_has_left_tells_what_it_lost():
    """The row of a, b and c lost a and b. In the sample, both are with c only: so it is one of three rows.

    Who knows that they were deleted has all nine rows left if he knows no more, and three if he knows c. Who
    does not knows that one row lost a, and one b. Beside a, c is 5/3 times as probable as it is, and d 1/3
    times. So each of the rows of c lost a with probability 5/19, and a row of d with 1/19. Both were lost by
    three rows with 25/361, and by two with 1/361; four others lost one and have the other, with 19/361.
    """
    rows = [*map(frozenset, ["abc", "ad", "ad", "bd", "bd", "c", "c", "d", "d"])]
    frame, released = frame_of(rows), frame_of([frozenset("c"), *rows[1:]])
    lines = [(0, "a", "a", 2), (0, "b", "b", 2), (0, "c", "c", 2), (0, "d", "d", 6)]
    lines += [(1, "a", None, 1), (1, "b", None, 1), (1, "c", "c", 1)]
    mapping = pd.DataFrame(lines, columns=["group", "item", "generalized", "support"])
    result = replace(
        frame.txanon.local_suppression(k=2, m=2),
        frame=released,
        mapping=mapping,
        groups=pd.Series([1] + [0] * 8),
    )
    sample = frame_of(map(frozenset, ["abc", "abc", "d", "d"]))
    attack = pdanon.attack(frame, result, sample=sample, n=3000, random_state=1)
    assert attack.sample.endswith("what a row lost is inferred")
    assert attack.named == pytest.approx(1 / 3, abs=0.03)
    assert set(attack.cases["after"]) == {3, 9}
    assert sorted(set(attack.cases["largest"].round(12))) == pytest.approx([25 / 153, 1 / 3])
    assert attack.rate == pytest.approx((1 / 3 + 1 / 3 + 1 / 9) / 3, abs=0.01)


def test_a_release_with_deletions_is_attacked_by_who_names_more():
    result = BASKETS.txanon.local_suppression(k=6, m=2)
    attack = pdanon.attack(BASKETS, result, sample=HELD_OUT, random_state=1)
    with mock.patch.object(identification, "count_deletions", return_value=None):
        knowing = pdanon.attack(BASKETS, result, sample=HELD_OUT, random_state=1)
    assert attack.named >= knowing.named
    assert attack.sample.removeprefix(knowing.sample).startswith("; what a row lost is ")
    pd.testing.assert_series_equal(attack.cases["after"], knowing.cases["after"])


def test_nobody_at_risk_is_no_error():
    frame = frame_of([{"a", "b"}] * 5)
    attack = pdanon.attack(frame, frame.txanon.pcta(k=5, m=2), sample="split", random_state=1)
    assert attack.at_risk == 0
    assert len(attack.cases) == 0
    assert np.isnan(attack.named)
    assert attack.shares.isna().all(axis=None)
    with pytest.raises(ParameterError, match="nobody is at risk, so there are no cases"):
        _ = attack.fewest
    assert "0 persons at risk" in repr(attack)
    assert "0 persons at risk" in attack._repr_html_()


def _rate_of_all_cases(frame, result, sample, k):
    """The rate that the intervals are to hold: over all persons at risk and all their rare pairs."""
    items, published = (Itemsets.from_series(each["items"]) for each in (frame, result.frame))
    at_risk = persons_at_risk(rows_of(frame), k, 2)
    cover = Cover.of_mapping(items, published, result.mapping)
    known = Sample(Itemsets.from_series(sample["items"]).in_codes_of(items), cover)
    rows = [row for row, pairs in at_risk.items() for _ in pairs]
    pairs = [sorted(items.lookup(sorted(pair)).tolist()) for each in at_risk.values() for pair, _ in each]
    codes = np.array([code for pair in pairs for code in pair], np.int32)
    offsets = np.append(0, np.cumsum([len(pair) for pair in pairs]))
    persons = Persons(np.array(rows), codes, offsets, np.ones(len(rows), np.int64))
    became = became_of(items, published, result.mapping, None, np.empty(0), codes)
    chances = guess_rows(persons, became, published, [known], np.zeros(len(frame), np.int64)).chances
    weights = np.array([1 / len(at_risk[row]) / len(at_risk) for row in rows])
    return float(chances @ weights)


@pytest.mark.slow
def test_intervals_hold_the_known_rates_of_simulated_tables():
    hits = n = 0
    tables = 400 if ALL else 200
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        kinds = rng.integers(0, 3, 80)  # rows of a kind prefer the same items
        draws = rng.random((80, 9)) < 0.15 + 0.5 * (np.arange(9) % 3 == kinds[:, None])
        rows = [frozenset("abcdefghi"[item] for item in np.flatnonzero(row)) for row in draws]
        frame, sample = frame_of(rows[:40]), frame_of(rows[40:])
        result = frame.txanon.pcta(k=4, m=2)
        attack = pdanon.attack(frame, result, sample=sample, n=150, random_state=seed)
        if not len(attack.cases):
            continue
        low, high = attack.shares.loc["named", ["low", "high"]]
        n += 1
        hits += low <= _rate_of_all_cases(frame, result, sample, 4) <= high
    assert n >= 0.95 * tables
    assert 0.92 <= hits / n <= 0.98  # 95 %, and two standard errors of 200 tables


SAMPLES = {
    "a list": ([["a"]], "sample must be"),
    "another word": ("half", "no such sample"),
    "without rows": (frame_of([]), "no item of the original"),
    "without items": (frame_of([set(), None]), "no item of the original"),
    "other items": (frame_of([{SECRET}]), "no item of the original"),
    "another type": (pd.DataFrame({"items": [[1.5], [2.5]]}), "no item of the original"),
    "another column": (frame_of([{"a"}]).rename(columns={"items": "lists"}), "column"),
    "no lists": (pd.DataFrame({"items": ["a", "b"]}), "list"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_refused_samples(case):
    frame = frame_of([{"a"}, {"a"}, {"b"}])
    sample, message = SAMPLES[case]
    with pytest.raises(pdanon.PdanonError, match=message) as error:
        pdanon.attack(frame, frame.txanon.pcta(k=2, m=1), sample=sample)
    assert SECRET not in str(error.value)


def test_the_original_as_sample_is_warned_of():
    frame = frame_of([{"a"}, {"a"}, {"b"}])
    with pytest.warns(pdanon.ReleaseWarning, match="knows every row"):
        pdanon.attack(frame, frame.txanon.pcta(k=2, m=1), sample=frame.copy())


def test_unknown_items_of_a_sample_are_reported():
    frame = frame_of([{"a"}, {"a"}, {"b"}])
    attack = pdanon.attack(frame, frame.txanon.pcta(k=2, m=1), sample=frame_of([{"a", SECRET}, {"b"}]))
    assert "33.3 % of their items are not in the original" in repr(attack)
    assert SECRET not in repr(attack)


def test_a_release_without_k_needs_one():
    frame = frame_of([{"a", "s"}, {"a"}, {"b"}, {"b"}])
    result = frame.txanon.suppress_control(rho=0.6, sensitive=["s"])
    with pytest.raises(ParameterError, match="pass k="):
        pdanon.attack(frame, result, sample="split")
    assert pdanon.attack(frame, result, sample="split", k=2, random_state=1).k == 2


def test_an_attack_without_a_sample_names_nobody():
    frame = frame_of([{"a"}, {"a"}, {"b"}])
    with pytest.raises(ParameterError, match="without a sample"):
        _ = pdanon.attack(frame, frame.txanon.pcta(k=2, m=1)).named
