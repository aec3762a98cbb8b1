"""Query workloads: estimates against literal definitions, published values, draws, files and bad input."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive, queries as naive_queries

import pdanon
from examples import examples
from pdanon import ColumnError, FormatError, ItemsetDtypeError, ParameterError, Workload
from pdanon.evaluation.metrics import estimates as estimating
from pdanon.evaluation.metrics.queries import Answers
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.dtype import text_column
from pdanon.recoding.loss import draw_pairs

MODES = ["subset", "uniform", "optimistic", "none"]
ITEMS = "abcdef"


def mapping_of(entries):
    """A mapping table from (group, item, label)."""
    group, item, label = zip(*sorted(entries), strict=True)
    return pd.DataFrame({"group": group, "item": item, "generalized": text_column(label)})


def errors_of(answers):
    return [None if pd.isna(each) else each for each in answers.table["error"]]


def check(answers, actual, estimates, sanity=0):
    assert answers.table["actual"].tolist() == actual
    assert answers.table["estimate"].tolist() == pytest.approx([float(each) for each in estimates])
    expected = naive_queries.relative_errors(actual, estimates, sanity)
    assert errors_of(answers) == [None if each is None else pytest.approx(float(each)) for each in expected]
    known = [each for each in expected if each is not None]
    if known:
        assert answers.are == pytest.approx(float(sum(known) / len(known)))
    else:
        assert np.isnan(answers.are)


# --- estimates


@st.composite
def releases(draw, groups):
    """Rows, what each item became in each group (None: suppressed), and the group of each row."""
    rows = draw(row_lists(least=1, longest=6))
    group = draw(st.lists(st.integers(0, groups - 1), min_size=len(rows), max_size=len(rows)))
    label = st.none() | st.sampled_from(["A", "B", "C"])
    became = {}
    for number in range(groups):
        for item in ITEMS:
            became[number, item] = draw(st.just(item) | label)
    return rows, became, group


@settings(max_examples=examples(90))
@given(
    releases(groups=1) | releases(groups=2) | releases(groups=3),
    st.sampled_from(MODES),
    st.none() | st.integers(1, 3),
    st.data(),
)
def test_estimates_are_those_of_the_definition(release, mode, sanity, data):
    rows, became, group = release
    occurring = sorted(frozenset().union(*rows))
    if not occurring:
        return
    entries = {(g, item, became[g, item]) for g, row in zip(group, rows, strict=True) for item in row}
    meaning = {}
    for _, item, label in entries:
        meaning.setdefault(label, set()).add(item)
    released = [
        frozenset(became[g, item] for item in row) - {None} for g, row in zip(group, rows, strict=True)
    ]
    query = st.frozensets(st.sampled_from(occurring), min_size=1, max_size=4)
    queries = data.draw(st.lists(query, min_size=1, max_size=5))
    workload = Workload.from_frame(frame_of(queries))
    mapping = pd.DataFrame(sorted(entries, key=str), columns=["group", "item", "generalized"])
    mapping["generalized"] = text_column(mapping["generalized"])
    answers = workload.are(frame_of(rows), frame_of(released), mapping, mode=mode, sanity=sanity)
    estimates = [naive_queries.estimate(each, released, meaning, mode) for each in queries]
    check(answers, [naive.support(rows, each) for each in queries], estimates, sanity or 0)


TREE = {"*": {"X": {"A": ["a", "b"], "B": ["c", "d", "z"]}, "Y": ["e", "f", "g"]}}
LEAVES = {"A": "ab", "B": "cdz", "X": "abcdz", "Y": "efg", "*": "abcdefgz"} | {
    each: each for each in "abcdefgz"
}


@settings(max_examples=examples(40))
@given(row_lists(least=1), st.integers(2, 4), st.sampled_from(["apriori", "lra", "mhghs"]), st.data())
def test_labels_of_a_hierarchy_stand_for_all_leaves(rows, k, algorithm, data):
    frame = frame_of(rows)
    occurring = sorted(frozenset().union(*rows))
    if not occurring or sum(map(bool, rows)) < k:
        return
    options = {"parts": 3} if algorithm == "lra" else {}
    result = getattr(pdanon, algorithm)(frame, k=k, m=2, hierarchy=TREE, **options)
    query = st.frozensets(st.sampled_from(occurring), min_size=1, max_size=3)
    queries = data.draw(st.lists(query, min_size=1, max_size=4))
    answers = Workload.from_frame(frame_of(queries)).are(frame, result, hierarchy=TREE)
    meaning = {label: set(leaves) for label, leaves in LEAVES.items()}
    released = rows_of(result.frame)
    estimates = [naive_queries.estimate(each, released, meaning, "subset") for each in queries]
    check(answers, [naive.support(rows, each) for each in queries], estimates)


@settings(max_examples=examples(60))
@given(row_lists(least=3), st.integers(2, 3), st.sampled_from([None, 2]))
def test_counts_are_divided_by_the_mean_share_that_is_left(rows, k, price):
    frame = frame_of(rows)
    queries = list(naive.supports(rows, 3))
    if not queries or sum(map(bool, rows)) < k:
        return
    result = frame.txanon.local_suppression(k=k, m=2, deletion_price=price)
    lost = result.mapping[result.mapping["generalized"].isna()].groupby("item")["support"].sum()
    label_of = result.mapping.dropna(subset="generalized").set_index("item")["generalized"].to_dict()
    workload = Workload.from_frame(frame_of(queries))
    if not set(lost.index) & set(label_of):
        with pytest.raises(ParameterError, match="no deletions"):
            workload.are(frame, result, mode="retained")
        return
    table = workload.are(frame, result, mode="retained").table
    plain = workload.are(frame, result).table["estimate"]
    for query, estimate, before in zip(queries, table["estimate"], plain, strict=True):
        had = {item: naive.support(rows, frozenset({item})) for item in query}
        shares = [1 - lost.get(item, 0) / had[item] for item in query]
        factor = math.prod(share or 1 for share in shares) ** (1 / len(query))
        assert estimate == pytest.approx(before / factor)
        if len(query) == 1 and price is None and shares[0]:
            assert estimate == pytest.approx(*had.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uci_msweb_train", "bms_webview1"])
def test_frequent_pairs_are_nearer_with_the_shares_that_are_left(data, name):
    frame = pd.read_parquet(data / f"{name}.parquet", columns=["items"], dtype_backend="pyarrow").dropna()
    frame = frame.reset_index(drop=True)
    result = frame.txanon.local_suppression(k=5, m=2)
    counts = Counter(pair for row in frame["items"] for pair in combinations(sorted(row), 2))
    pairs = [pair for pair, count in counts.items() if count >= 100]
    workload = Workload.from_frame(pd.DataFrame({"items": pdanon.as_itemsets(pairs)}))
    counted, restored = (workload.are(frame, result, mode=mode).are for mode in ("none", "retained"))
    assert len(pairs) > 300
    assert restored < 0.6 * counted


@settings(max_examples=examples(40))
@given(row_lists(least=3), st.integers(2, 3))
def test_bounds_enclose_the_truth_and_the_estimates(rows, k):
    frame = frame_of(rows)
    queries = list(naive.supports(rows, 2))
    if not queries or sum(map(bool, rows)) < k:
        return
    result = pdanon.pcta(frame, k=k, m=2)
    workload = Workload.from_frame(frame_of(queries))
    tables = {mode: workload.are(frame, result, mode=mode).table for mode in MODES}
    for mode in ("subset", "uniform"):
        estimate = tables[mode]["estimate"]
        assert (tables["none"]["estimate"] <= estimate + 1e-9).all()
        assert (estimate <= tables["optimistic"]["estimate"] + 1e-9).all()
    assert (tables["none"]["estimate"] <= tables["none"]["actual"]).all()
    assert (tables["optimistic"]["estimate"] >= tables["none"]["actual"]).all()


PCTA_ROWS = ["i1 i2 i7", "i2 i7", "i3 i5", "i4 i6 i7", "i5 i7"]
FOUR, TWO = "(i1,i2,i3,i4)", "(i5,i6)"
PCTA_MAPPING = mapping_of(
    [(0, f"i{i}", FOUR) for i in (1, 2, 3, 4)] + [(0, "i5", TWO), (0, "i6", TWO), (0, "i7", "i7")]
)


@pytest.mark.parametrize(
    ("mode", "estimates", "errors"),
    [
        ("subset", [3 * 8 / 15, 4 * 4 / 15], [0.6, 1 / 15]),
        ("uniform", [3 / 4, 1 / 4], [0.25, 0.75]),
        ("optimistic", [3, 4], [2, 3]),
        ("none", [0, 0], [1, 1]),
    ],
)
def test_worked_example(mode, estimates, errors):
    """The illustration of PCTA's paper: (i1..i4), (i5,i6), i7; queries {i1,i7} and {i1,i2}."""
    original = frame_of([set(row.split()) for row in PCTA_ROWS])
    released = frame_of([{FOUR, "i7"}, {FOUR, "i7"}, {FOUR, TWO}, {FOUR, TWO, "i7"}, {TWO, "i7"}])
    workload = Workload.from_frame(frame_of([{"i1", "i7"}, {"i1", "i2"}]))
    are, table = workload.are(original, released, PCTA_MAPPING, mode=mode)
    assert table["actual"].tolist() == [1, 1]
    assert table["estimate"].tolist() == pytest.approx(estimates)
    assert table["error"].tolist() == pytest.approx(errors)
    assert are == pytest.approx(sum(errors) / 2)


@settings(max_examples=examples(60))
@given(row_lists(least=2, longest=8), st.integers(2, 3), st.data())
def test_items_that_are_counted_by_groups_are_expected_in_their_rows(rows, p, data):
    """Of a group's rows each has an item by count over size, and several items independently."""
    held = {item: sum(item in row for row in rows) for item in ITEMS}
    possible = [item for item in ITEMS if 0 < p * held[item] <= len(rows)][:2]
    queries = data.draw(st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), min_size=1))
    queries = [query & {item for item in held if held[item]} for query in queries]
    queries = [query for query in queries if query]
    if not possible or not queries or sum(map(bool, held.values())) < 3:
        return
    secrets = data.draw(st.frozensets(st.sampled_from(possible), min_size=1, max_size=2))
    frame = frame_of(rows)
    result = frame.txanon.cahd(p=p, sensitive=sorted(secrets))
    workload = Workload.from_frame(pd.DataFrame({"items": [*map(sorted, queries)]}))
    counts = {(line.group, line.item): Fraction(line.count, line.size) for line in counted(result.classes)}
    groups = result.frame["group"].tolist()
    estimates = []
    for query in queries:
        factors = [Fraction(query - secrets <= row) for row in rows]
        for row, group in enumerate(groups):
            for secret in query & secrets:
                factors[row] *= counts.get((group, secret), 0)
        estimates.append(sum(factors))
    actual = [sum(query <= row for row in rows) for query in queries]
    check(workload.are(frame, result), actual, estimates)


def counted(classes):
    return classes.dropna(subset="item").itertuples()


def test_items_that_are_no_text_are_counted_by_groups():
    frame = pd.DataFrame({"items": [[1, 9], [2]]})
    result = frame.txanon.cahd(p=2, sensitive=[9])
    workload = Workload.from_frame(pd.DataFrame({"items": [[1, 9], [9]]}))
    assert workload.are(frame, result).table["estimate"].tolist() == [0.5, 1]


def test_pairs_of_groups_are_those_of_the_loss(data):
    """Which the release says of itself, by a count of its own."""
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = frame.txanon.cahd(p=2, sensitive=sorted(frame["items"].itemset.items)[::20])
    itemsets = Itemsets.from_series(frame["items"])
    codes, times = draw_pairs(itemsets)
    texts = itemsets.texts()
    pairs = [[texts[code] for code in pair] for pair in codes.tolist()]
    errors = Workload.from_frame(pd.DataFrame({"items": pairs})).are(frame, result).table["error"]
    assert np.average(errors, weights=times) == pytest.approx(result.loss["pairs"])


def test_large_labels_do_not_overflow():
    items = [f"{i:04}" for i in range(3000)]
    frame = frame_of([items[:2], items])
    mapping = mapping_of([(0, item, "all") for item in items])
    answers = Workload.from_frame(frame_of([items[:1], items[:2]])).are(
        frame, frame_of([["all"]] * 2), mapping
    )
    assert answers.table["estimate"].tolist() == pytest.approx([1.0, 0.5])


def test_an_original_answers_without_error_about_itself():
    frame = make_baskets(300, 40, random_state=3)[["items"]]
    workload = Workload.itemsets(frame, n=50, size=3, random_state=1)
    assert workload.are(frame, frame).are == 0


def test_suppression_needs_no_mapping_and_suppressed_items_are_in_no_row():
    frame = frame_of([{"a", "b"}, {"a"}, {"b"}])
    released = frame["items"].itemset.suppress(["b"]).to_frame("items")
    answers = Workload.from_frame(frame_of([{"a"}, {"b"}, {"a", "b"}])).are(frame, released)
    assert answers.table["estimate"].tolist() == [2, 0, 0]


def test_items_that_are_no_text():
    frame = pd.DataFrame({"items": [[1, 20], [1, 3], [20], [3]]})
    result = frame.txanon.pcta(k=3, m=1)
    workload = Workload.from_frame(pd.DataFrame({"items": [[1], [3, 20]]}))
    assert workload.are(frame, result).table["actual"].tolist() == [2, 0]
    assert Workload.from_frame(pd.DataFrame({"items": [[1], [20]]})).are(frame, frame).are == 0


def test_queries_without_an_answer_are_left_out_and_counted():
    frame = frame_of([{"a"}, {"b"}])
    answers = Workload.from_frame(frame_of([{"a"}, {"a", "b"}])).are(frame, frame)
    assert repr(answers) == "Answers(are=0, queries=2, left_out=1, mode='subset')"
    assert errors_of(answers) == [0, None]


def test_a_shuffled_release_answers_alike():
    frame = make_baskets(200, 30, random_state=3)[["items"]]
    released, mapping = frame.txanon.pcta(k=4, m=2)
    workload = Workload.itemsets(frame, n=40, size=2, random_state=1)
    table = workload.are(frame, released, mapping).table
    shuffled = workload.are(frame, released.sample(frac=1, random_state=1), mapping).table
    pd.testing.assert_frame_equal(shuffled, table)


def test_inputs_are_not_modified():
    frame, queries = frame_of([{"a", "b"}, {"a"}, {"b"}]), frame_of([{"a"}])
    result = frame.txanon.pcta(k=3, m=2)
    copies = frame.copy(deep=True), queries.copy(deep=True), result.frame.copy(deep=True)
    Workload.from_frame(queries).are(frame, result)
    for each, copy in zip((frame, queries, result.frame), copies, strict=True):
        pd.testing.assert_frame_equal(each, copy)


# --- conditions on other columns

PEOPLE = pd.DataFrame(
    {
        "age": [19, 22, 28, 39, 70, 55],
        "origin": ["France", "Greece", "Germany", "Spain", "Algeria", "Nigeria"],
        "gender": list("MMFFFM"),
        "items": pdanon.as_itemsets([list(row) for row in ("EFBG", "EFDH", "BCEG", "FDH", "EG", "AFH")]),
    }
)
BOTH_SEXES, COUNTRIES = "*", {"Europe": "(France,Greece,Germany,Spain)", "Africa": "Africa"}


def released_people(nodes=True):
    """Relational part of the published example: three classes of two."""
    ages = [(19, 22), (19, 22), (28, 39), (28, 39), (55, 70), (55, 70)]
    places = ["Europe"] * 4 + ["Africa"] * 2
    return PEOPLE.assign(
        age=pd.arrays.IntervalArray.from_tuples(ages, closed="both"),
        origin=places if nodes else pd.Categorical([COUNTRIES[place] for place in places]),
        gender=["M", "M", "F", "F", "*", "*"],
    )


@pytest.mark.parametrize("nodes", [True, False])
def test_values_and_items_together_by_hand(nodes):
    workload = Workload.from_frame(
        pd.DataFrame(
            {
                "items": [["E", "F"], ["E"], ["F"], [], ["H"], ["E"]],
                "age": pd.arrays.IntervalArray.from_tuples(
                    [(19, 19), (19, 28), np.nan, (50, 60), (0, 100), np.nan], closed="both"
                ),
                "origin": [None, None, "Spain", None, None, "France"],
                "gender": [None, None, None, "M", None, "M"],
            }
        )
    )
    answers = workload.are(PEOPLE, released_people(nodes))
    estimates = [
        2 * Fraction(1, 4),  # the whole years 19 to 22 twice, E and F as they were
        2 + Fraction(1, 12),  # all of 19 to 22, one year of 28 to 39, of which one row holds E
        3 * Fraction(1, 4),  # rows 0, 1 and 3 hold F and are one of four countries
        2 * Fraction(6, 16) * Fraction(1, 2),  # 55 to 60 of 55 to 70, one of two sexes
        3,
        2 * Fraction(1, 4),
    ]
    check(answers, [1, 3, 1, 1, 3, 1], estimates)


@settings(max_examples=examples(60))
@given(st.data())
def test_conditions_by_definition(data):
    n = data.draw(st.integers(1, 7))
    whole = data.draw(st.booleans())
    ages = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    numbers = ages if whole else [age / 2 for age in ages]
    cities = data.draw(st.lists(st.sampled_from("xyz") | st.none(), min_size=n, max_size=n))
    groups = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    rows = data.draw(st.lists(st.frozensets(st.sampled_from("ab"), max_size=2), min_size=n, max_size=n))
    bounds = {g: ([x for x, h in zip(numbers, groups, strict=True) if h == g]) for g in set(groups)}
    spans = [(min(bounds[g]), max(bounds[g])) for g in groups]
    labels = [f"group {g}" for g in groups]
    original = frame_of(rows).assign(age=numbers, city=pd.Series(cities, dtype="str"))
    released = frame_of(rows).assign(
        age=pd.arrays.IntervalArray.from_tuples(spans, closed="both"), city=labels
    )
    occurring = sorted(frozenset().union(*rows))
    present = [city for city in cities if city]
    queries = []
    for _ in range(data.draw(st.integers(1, 4))):
        low = data.draw(st.integers(0, 9)) / (1 if whole else 2)
        high = low + data.draw(st.integers(0, 5))
        items = data.draw(st.frozensets(st.sampled_from(occurring), max_size=2)) if occurring else frozenset()
        queries.append(
            (items, (low, high), data.draw(st.sampled_from(present) | st.none()) if present else None)
        )
    asked = frame_of([items for items, _, _ in queries])
    asked["items"] = asked["items"].astype(original["items"].dtype)
    asked["age"] = pd.arrays.IntervalArray.from_tuples([span for _, span, _ in queries], closed="both")
    if present:
        asked["city"] = [city for _, _, city in queries]
    answers = Workload.from_frame(asked).are(original, released, mode="uniform")
    meaning = {item: {item} for item in "ab"}
    share = naive_queries.whole_numbers if whole else naive_queries.length
    actual, estimates = [], []
    for items, (low, high), city in queries:
        truly = [low <= x <= high and city in (None, c) for x, c in zip(numbers, cities, strict=True)]
        actual.append(sum(items <= row and met for row, met in zip(rows, truly, strict=True)))
        factors = [
            share(low, high, *span)
            * (
                1
                if city is None
                else naive_queries.label_share(lambda value, city=city: value == city, label, cities, labels)
            )
            for span, label in zip(spans, labels, strict=True)
        ]
        estimates.append(naive_queries.estimate(items, rows, meaning, "uniform", factors))
    check(answers, actual, estimates)


def test_times_have_ranges():
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-05"])
    original = frame_of([{"a"}] * 3).assign(day=days)
    spans = pd.arrays.IntervalArray.from_arrays(days[[0, 0, 2]], days[[1, 1, 2]], closed="both")
    wanted = pd.arrays.IntervalArray.from_arrays(days[[0]], days[[0]] + pd.Timedelta(hours=6), closed="both")
    answers = Workload.from_frame(frame_of([{"a"}]).assign(day=wanted)).are(
        original, original.assign(day=spans)
    )
    assert answers.table.loc[0].tolist() == [1, 0.5, 0.5]  # a quarter of each of two days


@pytest.mark.parametrize(
    "wanted", [[22], [22.0], pd.arrays.IntervalArray.from_tuples([(22, 22)], closed="both")]
)
def test_one_value_of_a_column_of_numbers(wanted):
    asked = frame_of([set()]).assign(age=wanted)
    asked["items"] = asked["items"].astype(PEOPLE["items"].dtype)
    answers = Workload.from_frame(asked).are(PEOPLE, released_people())
    assert answers.table.loc[0].tolist() == [1, 0.5, 0.5]  # two rows, one of four whole years


def test_missing_values_fulfil_no_condition():
    original = frame_of([{"a"}] * 3).assign(age=[1.0, np.nan, 3.0], city=["x", None, "y"])
    spans = pd.arrays.IntervalArray.from_tuples([(1, 3), np.nan, (1, 3)], closed="both")
    released = original.assign(age=spans, city=["x or none", "x or none", "y"])
    asked = frame_of([{"a"}] * 2).assign(
        age=pd.arrays.IntervalArray.from_tuples([(0, 9), np.nan], closed="both"), city=[None, "x"]
    )
    answers = Workload.from_frame(asked).are(original, released)
    assert answers.table["actual"].tolist() == [2, 1]
    assert answers.table["estimate"].tolist() == [2, 1]  # half of two rows


@pytest.mark.slow
def test_real_visits_by_definition(data):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    result = frame.txanon.coat(k=5, m=2)
    workload = Workload.itemsets(frame, n=15, size=3, random_state=7)
    answers = workload.are(frame, result)
    label = result.mapping.set_index("item")["generalized"].to_dict()
    meaning = {}
    for item, became in label.items():
        meaning.setdefault(became, set()).add(item)
    size = {became: len(items) for became, items in meaning.items()}
    rows, released = rows_of(frame), rows_of(result.frame)
    actual, estimates = [], []
    for query in rows_of(workload.queries):
        needed = pd.Series([label[item] for item in query]).value_counts()
        odds = np.prod([2.0 ** (size[each] - j) / (2.0 ** size[each] - 1) for each, j in needed.items()])
        actual.append(naive.support(rows, query))
        estimates.append(naive.support(released, frozenset(needed.index)) * odds)
    check(answers, actual, estimates)


def test_many_queries_and_rows_are_counted_in_blocks(monkeypatch):
    frame = make_baskets(60, 20, random_state=2)
    workload = Workload.rt(frame, ["store"], n=25, random_state=1)
    whole = workload.are(frame, frame)
    monkeypatch.setattr(estimating, "_CELLS", 12)
    pd.testing.assert_frame_equal(workload.are(frame, frame).table, whole.table)
    assert whole.are == 0


# --- draws


@settings(max_examples=examples(40))
@given(row_lists(least=1), st.integers(1, 4), st.integers(1, 20), st.integers(0, 99))
def test_drawn_itemsets_have_their_size_and_occur(rows, size, n, seed):
    frame = frame_of(rows)
    if max(map(len, rows)) < size:
        with pytest.raises(ParameterError, match="no row to draw queries from"):
            Workload.itemsets(frame, n, size, random_state=seed)
        return
    queries = rows_of(Workload.itemsets(frame, n, size, random_state=seed).queries)
    assert len(queries) == n
    assert all(len(query) == size and naive.support(rows, query) for query in queries)
    again = Workload.itemsets(frame, n, size, random_state=np.random.default_rng(seed))
    assert rows_of(again.queries) == queries


def test_all_subsets_of_a_row_are_drawn_alike():
    queries = rows_of(Workload.itemsets(frame_of([set("abcd")]), 6000, 2, random_state=0).queries)
    counts = pd.Series(queries).value_counts()
    assert len(counts) == 6
    assert counts.between(850, 1150).all()  # 1,000 expected, standard deviation 29


def test_draws_from_generalized_items_keep_codes():
    frame = make_baskets(400, 40, random_state=3)[["items"]]
    mapping = frame.txanon.pcta(k=5, m=2).mapping
    generalized = mapping.loc[mapping["item"] != mapping["generalized"], "item"]
    workload = Workload.itemsets(frame, n=30, size=2, items=generalized, random_state=1)
    assert frozenset().union(*rows_of(workload.queries)) <= set(generalized)


def test_drawn_conditions_are_of_a_row_that_answers():
    workload = Workload.rt(PEOPLE, ["age", "origin", "gender"], n=40, relational=2, items=2, random_state=5)
    conditions = workload.queries.drop(columns="items")
    assert (conditions.notna().sum(axis=1) == 2).all()
    assert conditions.notna().any().all()  # on each column some
    assert (workload.queries["items"].map(len) == 2).all()
    answers = workload.are(PEOPLE, PEOPLE)
    assert (answers.table["actual"] >= 1).all()
    assert answers.are == 0


def test_ranges_have_their_width():
    workload = Workload.rt(PEOPLE, ["age"], n=20, items=0, width=0.5, random_state=5)
    assert np.allclose(pd.arrays.IntervalArray(workload.queries["age"]).length, (70 - 19) / 2)
    assert (workload.are(PEOPLE, PEOPLE).table["actual"] > 1).any()
    assert repr(workload) == "Workload(queries=20, column='items', conditions=['age'])"


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2, None, 4, 5, 6], dtype="Int64"),
        pd.array([1, 2, None, 4, 5, 6], dtype="int64[pyarrow]"),
        pd.array([1.5, 2, None, 4, 5, 6], dtype="double[pyarrow]"),
        pd.date_range("2020-01-01", periods=6),
        pytest.param(
            pd.date_range("2020-01-01", periods=6, tz="Europe/Athens"),
            marks=pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 writes no intervals with a zone"),
        ),
        pd.array(pd.date_range("2020-01-01", periods=6), dtype="timestamp[us][pyarrow]"),
        pd.array([True, False, None, True, True, False], dtype="boolean"),
        [True, False, True, True, True, False],
        pd.Categorical(list("xxyyzz"), categories=list("wxyz")),
        text_column([*list("xxyyz"), None]),
        pd.array([*list("xxyyz"), None], dtype="string[pyarrow]"),
    ],
    ids=lambda column: str(getattr(column, "dtype", "list")),
)
def test_columns_of_any_kind_survive_a_file(column, tmp_path):
    frame = PEOPLE[["items", "age"]].assign(other=column)
    workload = Workload.rt(frame, ["other", "age"], n=15, relational=1, items=1, random_state=2)
    answers = workload.are(frame, frame)
    assert answers.are == 0
    workload.to_parquet(tmp_path / "queries.parquet")
    again = Workload.read_parquet(tmp_path / "queries.parquet")
    pd.testing.assert_frame_equal(again.are(frame, frame).table, answers.table)


# --- bad input

FRAME = frame_of([{SECRET, "a"}, {"a", "b"}, {"b"}])
ASK = Workload.from_frame(frame_of([{"a"}]))
RESULT = FRAME.txanon.pcta(k=3, m=2)
BAG = pd.DataFrame({"items": pd.array([["a", "a"], ["b"], []], dtype=FRAME["items"].dtype)})
AGES = FRAME.assign(age=[1, 2, 3], city=["x", SECRET, "y"])


def about(**conditions):
    return Workload.from_frame(frame_of([{"a"}]).assign(**conditions))


BAD = {
    "unknown item": (
        lambda: Workload.from_frame(frame_of([{f"{SECRET}!"}])).are(FRAME, RESULT),
        "1 of 1 quer",
    ),
    "items of another type": (
        lambda: Workload.from_frame(pd.DataFrame({"items": [[7]]})).are(FRAME, RESULT),
        "1 of 1",
    ),
    "unknown mode": (lambda: ASK.are(FRAME, RESULT, mode="best"), "no such mode"),
    "mode of another type": (lambda: ASK.are(FRAME, RESULT, mode=3), "no such mode"),
    "sanity": (lambda: ASK.are(FRAME, RESULT, sanity=0), "sanity must be"),
    "other rows": (lambda: ASK.are(FRAME, RESULT.frame.iloc[:2], RESULT.mapping), "3 and 2 rows"),
    "no release": (lambda: ASK.are(FRAME, RESULT.mapping["item"]), "not a release"),
    "no mapping": (lambda: ASK.are(FRAME, RESULT.frame), "1 of 1 labels"),
    "other mapping": (lambda: ASK.are(FRAME, FRAME, RESULT.mapping), "the mapping lacks"),
    "mapping of other items": (
        lambda: ASK.are(FRAME, FRAME, PCTA_MAPPING),
        "3 items without a row",
    ),
    "no mapping table": (lambda: ASK.are(FRAME, RESULT.frame, FRAME), "lacks columns"),
    "other hierarchy": (lambda: ASK.are(FRAME, RESULT, hierarchy=2), "not nodes of the hierarchy"),
    "bag": (lambda: ASK.are(FRAME, BAG, mode="none"), "no such estimate"),
    "bag of objects": (lambda: ASK.are(FRAME, BAG.astype(object), mode="none"), "no such estimate"),
    "value does not occur": (lambda: about(city=["z"]).are(AGES, AGES), "1 of 1 queries"),
    "range of text": (
        lambda: about(city=pd.interval_range(0, 1, 1, closed="both")).are(AGES, AGES),
        "numbers or",
    ),
    "open interval": (lambda: about(age=pd.interval_range(0, 1, 1)), "closed on both sides"),
    "list of values": (
        lambda: Workload.from_frame(frame_of([{"a"}]).assign(city=[["x"]]), "items"),
        "not a list",
    ),
    "other order": (lambda: about(age=[1]).are(AGES, AGES.iloc[::-1]), "differ in their index"),
    "no query": (lambda: Workload.from_frame(frame_of([])), "0 empty of 0"),
    "empty query": (lambda: Workload.from_frame(frame_of([{"a"}, set(), None])), "2 empty of 3"),
    "n": (lambda: Workload.itemsets(FRAME, 0), "n must be an integer of at least 1"),
    "n for frequent": (lambda: Workload.frequent(FRAME, n=-1), "n must be an integer of at least 1"),
    "n for rt": (lambda: Workload.rt(AGES, ["age"], n=0.5), "n must be an integer of at least 1"),
    "size": (lambda: Workload.itemsets(FRAME, 1, True), "size must be an integer of at least 1"),
    "too large": (lambda: Workload.itemsets(FRAME, 1, 3), "no rows with 3 items"),
    "draw unknown": (lambda: Workload.itemsets(FRAME, 1, 1, items=["a", f"{SECRET}!"]), "1 unknown of 2"),
    "draw from none": (lambda: Workload.itemsets(FRAME, 1, 1, items=[]), "0 unknown of 0"),
    "too many conditions": (lambda: Workload.rt(AGES, ["age"], relational=2), "2 conditions on 1 columns"),
    "repeated column": (lambda: Workload.rt(AGES, ["age", "age"]), "names a column twice"),
    "one label": (lambda: Workload.rt(AGES, "age"), "quasi must be"),
    "width": (lambda: Workload.rt(AGES, ["age"], width=2), "width must be"),
    "nothing asked": (lambda: Workload.rt(AGES, ["age"], relational=0, items=0), "100 empty of 100"),
    "no complete row": (lambda: Workload.rt(AGES, ["age"], items=5), "no rows with 5 items"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_without_item_text(name):
    act, message = BAD[name]
    with pytest.raises((ParameterError, pdanon.HierarchyError), match=message) as caught:
        act()
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_columns_that_the_data_lack():
    with pytest.raises(ColumnError, match=r"the original lacks\n  where: column 'age'"):
        about(age=[1]).are(FRAME, RESULT)
    with pytest.raises(ColumnError, match="the release lacks"):
        about(age=[1]).are(AGES, RESULT)
    with pytest.raises(ColumnError, match="the original lacks"):
        ASK.are(FRAME.rename(columns={"items": "codes"}), RESULT)
    with pytest.raises(ColumnError, match="the release lacks the list column"):
        ASK.are(FRAME, RESULT.frame.rename(columns={"items": "codes"}), RESULT.mapping)
    with pytest.raises(ColumnError, match="no list-valued column"):
        Workload.from_frame(pd.DataFrame({"age": [1]}))
    with pytest.raises(ColumnError, match="does not exist"):
        Workload.rt(AGES, ["weight"])


def test_files_that_hold_no_queries(tmp_path):
    with pytest.raises(FormatError):
        Workload.read_parquet(tmp_path / "absent.parquet")
    pdanon.to_parquet(frame_of([]), tmp_path / "empty.parquet")
    with pytest.raises(ParameterError, match="0 empty of 0"):
        Workload.read_parquet(tmp_path / "empty.parquet")


def test_representations_have_no_item_text():
    workload = Workload.from_frame(frame_of([{SECRET}]))
    answers = workload.are(FRAME, RESULT)
    assert isinstance(answers, Answers)
    assert SECRET not in repr(workload) + str(workload) + repr(answers) + repr(answers.table)
    with pytest.raises(ItemsetDtypeError):
        Workload.from_frame(pd.DataFrame({"items": [["a", 1]]}))


def test_queries_are_not_drawn_from_a_release_in_chunks():
    """Its rows are parts of records: what they hold together says nothing of how many records do."""
    parts = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["b"]] * 3).txanon.disassociate(k=2, m=2).frame
    for draw in (
        lambda: Workload.itemsets(parts, n=2, size=1),
        lambda: Workload.frequent(parts, n=2, min_support=0.1),
        lambda: Workload.rt(parts, ["size"], n=2),
    ):
        with pytest.raises(ParameterError, match="the rows of a release in chunks are no records"):
            draw()
    assert "are no records" in repr(parts.txanon)
    assert "finds" not in repr(parts.txanon)
