"""Releases and audits of tables in which a person has several rows."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, promised
from contract import BAGS, arguments_of
from families import ALGORITHMS, IN_CHUNKS
from frames import BASE
from naive.units import units_at_risk

import pdanon
from examples import examples
from pdanon import KmAnonymity
from pdanon.errors import (
    ColumnError,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
    PdanonError,
    ReleaseWarning,
)

INVOICES = Path(__file__).parents[2] / "examples" / "invoices.csv"
OVER_UNITS = [name for name in ALGORITHMS if hasattr(pdanon.ByPerson, name)]
LONG = {"unit": "who", "item": "what"}


def random_lines(rng, n_columns=0, missing=True):
    """Up to 24 lines of up to 6 persons, or twice as many that are equal in pairs."""
    n, items = int(rng.integers(1, 25)), ["a", "b", "c", "d"][: rng.integers(1, 5)]
    lines = pd.DataFrame({"who": rng.integers(0, rng.integers(1, 7), n)})
    lines["what"] = rng.choice([*items, None] if missing and rng.random() < 0.3 else items, n)
    for place in range(n_columns):
        lines[f"c{place}"] = rng.integers(0, rng.integers(1, 4), n)
    if rng.random() < 0.3:
        lines = pd.concat([lines, lines.assign(who=lines["who"] + 10)], ignore_index=True)
    return lines.astype({"what": object})


def by_unit(lines, columns):
    """The rows of each person, as the naive attacker reads them."""
    table = {}
    for who, what, *values in zip(
        lines["who"], lines["what"], *(lines[name] for name in columns), strict=True
    ):
        shown = [None if pd.isna(each) else int(each) for each in values]
        table.setdefault(who, []).append((None if pd.isna(what) else what, *shown))
    return table


def lists_of(lines, rng):
    """The same table with a list for some of the lines of a person that are equal in other columns."""
    others = [name for name in lines if name != "what"]
    visit = rng.integers(0, 2, len(lines))
    rows = lines.assign(visit=visit).groupby([*others, "visit"], sort=False)["what"]
    return rows.agg(lambda items: [item for item in items if isinstance(item, str)]).reset_index()


@pytest.mark.one_in(5)
@pytest.mark.seeds
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
@pytest.mark.parametrize("as_lists", [False, True])
def test_audits_count_the_persons_whom_a_naive_attacker_finds(n_columns, counts, as_lists):
    rng = np.random.default_rng([n_columns, counts, as_lists])
    columns, verdicts = [f"c{place}" for place in range(n_columns)], set()
    for _ in range(examples(300 if n_columns < 2 else 100, part=6)):
        lines = random_lines(rng, n_columns, missing=not as_lists)
        k, m = int(rng.integers(2, 4)), int(rng.integers(1, 4 if n_columns == 0 else 3))
        guarantee = KmAnonymity(k, m)
        if as_lists and (n_columns == 0 or not counts):  # a list of two labels is one row with its values
            rows = lists_of(lines, rng).drop(columns="visit")
            audit = rows.txanon.by("who", "what", counts=counts).audit(guarantee)
        else:
            audit = lines.txanon.by(**LONG, counts=counts).audit(guarantee)
        expected = units_at_risk(by_unit(lines, columns), k, m, counts)
        assert (audit.rows_at_risk, audit.holds) == (len(expected), not expected)
        assert audit.holds == audit.threats.empty
        verdicts.add(audit.holds)
    assert verdicts == {True, False}


@pytest.mark.slow
@pytest.mark.seeds
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_releases_of_lines_withstand_a_naive_attacker(n_columns, counts):
    rng, outcomes = np.random.default_rng([7, n_columns, counts]), set()
    columns = [f"c{place}" for place in range(n_columns)]
    for _ in range(examples(200, part=6)):
        lines, k, m = random_lines(rng, n_columns), 2, int(rng.integers(1, 3))
        lines["spare"] = 0
        before = lines.copy()
        try:
            result = pdanon.by(lines, **LONG, counts=counts, keep=columns).pcta(k=k, m=m)
        except InfeasibleError:
            outcomes.add("refused")
            continue
        finally:
            pd.testing.assert_frame_equal(lines, before)
        frame = result.frame
        assert [*frame] == ["who", "what", *columns]
        assert not units_at_risk(by_unit(frame, columns), k, m, counts)
        assert sorted(frame["who"].unique()) == [*range(lines["who"].nunique())]
        labels = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
        recoded = lines.assign(what=lines["what"].map(labels))[["who", "what", *columns]]
        shown = recoded.dropna(subset="what")
        expected = shown if counts else shown.drop_duplicates()
        assert bags_of(frame.dropna(subset="what"), columns) == bags_of(expected, columns)
        shuffled = lines.sample(frac=1, random_state=int(rng.integers(2**31)))
        again = pdanon.by(shuffled, **LONG, counts=counts, keep=columns).pcta(k=k, m=m)
        pd.testing.assert_frame_equal(again.frame, frame)
        outcomes.add("released")
    assert outcomes == {"refused", "released"}


def test_rows_without_labels_do_not_hide_how_often_rows_with_labels_have_a_value():
    """Three purchases in the north are not two empty visits and one purchase there."""
    rows = [*((1, item) for item in "abc"), *((2, item) for item in "ab"), (3, "c"), (3, None), (3, None)]
    lines = pd.DataFrame(rows, columns=["who", "what"]).assign(c0=0)
    assert units_at_risk(by_unit(lines, ["c0"]), 2, 1, True) == {1}
    audit = lines.txanon.by(**LONG, counts=True).audit(KmAnonymity(2, 1))
    assert audit.rows_at_risk == 1
    assert audit.threats["itemset"].map(list).tolist() == [["some label, c0=0"] * 3]


def bags_of(lines, columns):
    """The bag of the rows of each person, without who it is."""
    return sorted(sorted(map(repr, rows)) for rows in by_unit(lines, columns).values())


@pytest.mark.seeds
def test_releases_of_lists_label_every_row_of_a_person():
    rng, outcomes = np.random.default_rng(3), set()
    for _ in range(examples(200)):
        rows = lists_of(random_lines(rng), rng).drop(columns="visit")
        counts, m = bool(rng.integers(2)), int(rng.integers(1, 3))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReleaseWarning)
                result = rows.txanon.by("who", "what", counts=counts).pcta(k=2, m=m)
        except InfeasibleError:
            outcomes.add(counts)
            continue
        lines = result.frame.explode("what", ignore_index=True)
        assert not units_at_risk(by_unit(lines, []), 2, m, counts)
        labels = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
        expected = [sorted({labels[item] for item in row}) for row in rows["what"]]
        shown = [(who, [*row]) for who, row in zip(result.frame["who"], result.frame["what"], strict=True)]
        own = [*zip(rows["who"], expected, strict=True)]
        assert sorted(rows_of_each(shown)) == sorted(rows_of_each(own))
        outcomes.add("released")
    assert outcomes == {False, True, "released"}


def rows_of_each(rows):
    """The rows of each person in order, without who it is."""
    table = {}
    for who, row in rows:
        table.setdefault(who, []).append(row)
    return [sorted(rows) for rows in table.values()]


# --- Invoices


@pytest.fixture(scope="module")
def invoices():
    return pd.read_csv(INVOICES)


@pytest.mark.parametrize(
    ("columns", "counts", "expected"),
    [
        ([], True, (7, 336)),
        (["date"], False, (1911, 1975)),
        (["month"], False, (0, 1085)),
        (["store"], False, (0, 580)),
    ],
)
def test_kept_columns_expose_customers_whose_labels_are_safe(invoices, columns, counts, expected):
    customers = {"unit": "customer", "item": "product"}
    mapping = pdanon.by(invoices, **customers).pcta(k=5, m=2).mapping
    labels = dict(zip(mapping["item"], mapping["generalized"], strict=True))
    lines = invoices.assign(product=invoices["product"].map(labels), month=invoices["date"].str[:7])
    shown = lines[["customer", "product", *columns]]
    found = [shown.txanon.by(**customers, counts=counts).audit(k=5, m=m).rows_at_risk for m in (1, 2)]
    assert (found[0], found[1]) == expected
    dates = lines[["customer", "date"]]
    assert dates.txanon.by("customer", item="date").audit(k=5, m=2).rows_at_risk == 357


def test_by_default_a_customer_has_one_line_for_each_label(invoices):
    result = invoices.txanon.by("customer", item="product").pcta(k=5, m=2)
    assert (len(invoices), invoices["customer"].nunique(), len(result.frame)) == (9557, 2000, 8893)
    assert not result.frame.duplicated().any()
    audit = result.frame.txanon.by("customer", item="product", counts=True).audit(result.guarantee)
    assert audit.holds
    sets = pdanon.from_long(invoices, by="customer", item="product")
    pd.testing.assert_frame_equal(result.mapping, sets.txanon.pcta(k=5, m=2).mapping)
    own = {"unit": "customer", "item": "product", "counts": False}
    assert own.items() <= result.parameters.items()
    pd.testing.assert_frame_equal(
        invoices.txanon.by("customer", item="product").risk(k=5), sets.txanon.risk(k=5)
    )


def test_times_are_published_by_the_smallest_part_of_the_calendar_that_is_safe():
    mondays = pd.to_datetime(["2025-01-06", "2025-01-20", "2025-02-03", "2025-04-07"] * 5)
    lines = pd.DataFrame({"who": range(20), "what": "a"})
    lines["when"] = mondays + pd.to_timedelta(lines["who"] % 3, "D")
    lines = pd.concat([lines] * 2, ignore_index=True)
    with pytest.warns(ReleaseWarning, match="times in 'when' are published by week"):
        frame = pdanon.by(lines, **LONG, keep=["when"]).pcta(k=5, m=1).frame
    assert frame["when"].value_counts().to_dict() == dict.fromkeys(
        ["2025-W02", "2025-W04", "2025-W06", "2025-W15"], 5
    )
    lines["when"] += pd.to_timedelta(lines["who"] // 4 * 7, "D")
    with pytest.warns(ReleaseWarning, match="published by quarter"):
        frame = pdanon.by(lines, **LONG, keep=["when"]).pcta(k=5, m=1).frame
    assert frame["when"].value_counts().to_dict() == {"2025-Q1": 15, "2025-Q2": 5}
    lines["when"] = lines["when"].where(lines["who"] > 0)  # a time is missing for one person alone
    with pytest.raises(InfeasibleError, match="its quarter: 1"):
        pdanon.by(lines, **LONG, keep=["when"]).pcta(k=5, m=1)


def test_a_refusal_counts_the_persons_at_risk_by_each_column(invoices):
    lines = invoices.assign(date=pd.to_datetime(invoices["date"]))
    with pytest.raises(InfeasibleError) as caught:
        lines.txanon.by("customer", item="product", counts=True, keep=["date", "store"]).pcta(k=5, m=2)
    for part in ("how often: 336", "date: 1,975", "its month: 1,085", "store: 580", "all: 2,000"):
        assert part in str(caught.value)
    assert not any(product in str(caught.value) for product in lines["product"].unique())


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"unit": "nobody", "item": "what"}, ColumnError, "'nobody' does not exist"),
        ({"unit": "who", "item": "nothing"}, ColumnError, "'nothing' does not exist"),
        ({"unit": "who"}, ColumnError, "name the column of items"),
        ({"unit": "who", "column": "what"}, ItemsetDtypeError, "pass item='what'"),
        ({"unit": "who", "item": "lists"}, ItemsetDtypeError, "pass column='lists'"),
        ({"unit": "lists", "item": "what"}, ColumnError, "the column of units holds lists"),
        ({"unit": "what", "item": "what"}, ParameterError, "units and items are one column"),
        ({"unit": "some", "item": "what"}, ParameterError, "3 of 24 lines"),
        ({"unit": "line", "item": "what"}, ParameterError, "each line has another person"),
        ({"unit": "who", "item": "what", "column": "what"}, ParameterError, "named twice"),
        ({"item": "what"}, ParameterError, "by needs unit"),
        ({"unit": "who", "item": "what", "counts": 2}, ParameterError, "counts"),
        ({"unit": "who", "item": "what", "keep": ["what"]}, ParameterError, "leave it out of keep"),
        ({"unit": "who", "item": "what", "keep": ["who"]}, ParameterError, "persons is never published"),
        ({"unit": "who", "item": "what", "keep": ["nothing"]}, ColumnError, "'nothing' does not exist"),
    ],
)
def test_wrong_calls_are_explained(options, kind, message):
    lines = pd.DataFrame({"who": [1, 2, 3, 4] * 6, "what": ["a", "b"] * 12, "line": range(24)})
    lines["some"] = [None] * 3 + [1] * 21
    if "lists" in options.values():
        lines["lists"] = [["a"]] * 24
    options = dict(options)
    with pytest.raises(kind) as caught:
        lines.txanon.by(**options).pcta(k=2, m=1)
    assert message in str(caught.value)


def test_what_units_do_not_allow_is_explained(invoices):
    customers = {"unit": "customer", "item": "product"}
    tree = pdanon.Hierarchy.balanced(sorted(invoices["product"].unique()), 5)
    persons, counted = (invoices.txanon.by(**customers, counts=counts) for counts in (False, True))
    result = persons.partition(k=5, hierarchy=tree)
    assert result.frame.txanon.by(**customers).audit(result.guarantee).holds
    with pytest.raises(ParameterError, match="with one label for an item"):
        counted.partition(k=5, hierarchy=tree)
    pairs = promised(k=5, constraints=[["tea", "soap"]])
    with pytest.raises(ParameterError, match="only KmAnonymity covers how often"):
        counted.pcta(**pairs)
    result_of_pairs = persons.pcta(**pairs)
    with pytest.raises(ParameterError, match="ignores how often"):
        result_of_pairs.frame.txanon.by(**customers, counts=True).audit(result_of_pairs.guarantee)
    with pytest.raises(ParameterError, match="risk has no parameter 'quasi'"):
        persons.risk(k=5, quasi=["store"])
    with pytest.raises(ParameterError, match="only KmAnonymity covers other columns"):
        persons.audit(result.guarantee)
    with pytest.raises(PdanonError, match="no such method"):
        persons.cahd(p=2, sensitive=["tea"])


@pytest.mark.parametrize("name", ["pcta", "audit", "risk", "rum_bound"])
@pytest.mark.parametrize("old", [{"unit": "who"}, {"item": "what"}, {"counts": True}])
def test_options_of_persons_are_asked_of_the_table(name, old):
    with pytest.raises(ParameterError, match=r"by person first: df.txanon.by\('customer', item='product'\)"):
        getattr(pdanon, name)(frame_of([["a"]]), k=2, **old)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OVER_UNITS)
def test_every_algorithm_releases_lines_with_its_guarantee(name):
    rows = frame_of(BASE)
    lines = pdanon.to_long(rows, by="who").rename(columns={"items": "what"}).sample(frac=1, random_state=0)
    arguments = arguments_of(name, rows)
    result = getattr(lines.txanon.by(**LONG), name)(**arguments)
    assert result.frame.columns.tolist() == ["who", "what"]
    repeats = result.frame.dropna().duplicated().any()
    assert name in BAGS or not repeats
    audit = result.frame.txanon.by(**LONG, counts=bool(repeats)).audit(result.guarantee)
    assert audit.holds
    sets = ALGORITHMS[name](pdanon.from_long(lines, by="who", item="what"), **arguments)
    pd.testing.assert_frame_equal(result.mapping, sets.mapping)
    gathered = items_by(pdanon.to_long(sets.frame), "row")
    assert items_by(result.frame, "who") == gathered


def items_by(lines, person):
    """The items of each person, sorted."""
    rows = [own.dropna().tolist() for _, own in lines.groupby(person)["what"]]
    return sorted(map(sorted, rows))


def test_algorithms_without_units_are_those_that_publish_parts_or_groups():
    assert {*ALGORITHMS} - {*OVER_UNITS} == {*IN_CHUNKS, "cahd"}


def test_persons_without_items_are_no_risk_of_kept_columns():
    lines = pd.DataFrame({"who": [1, 1, 2, 2, 3], "what": [*"abab", None], "store": [7, 8, 7, 8, 9]})
    frame = lines.txanon.by(**LONG, keep=["store"]).pcta(k=2, m=2).frame
    assert frame["store"].isna().tolist() == frame["what"].isna().tolist()
    assert sorted(frame["store"].dropna()) == [7, 7, 8, 8]


def test_numbers_beside_texts_are_no_persons():
    lines = pd.DataFrame({"who": pd.Series([7, "7"], dtype=object), "what": ["x", "x"]})
    persons = lines.txanon.by(**LONG)
    for call in (persons.audit, persons.pcta):
        with pytest.raises(ParameterError, match="the persons are of several types"):
            call(k=2, m=1)
    with pytest.raises(ParameterError, match="the persons are of several types"):
        pdanon.from_long(lines, by="who", item="what")


def test_times_of_several_zones_have_no_calendar():
    when = [pd.Timestamp("2026-01-01", tz=zone) for zone in ("UTC", "Asia/Tokyo")]
    lines = pd.DataFrame({"who": [1, 2], "what": ["x", "x"], "when": pd.Series(when, dtype=object)})
    with pytest.raises(InfeasibleError, match="the guarantee does not cover"):
        lines.txanon.by(**LONG, keep=["when"]).pcta(k=2, m=1)


def test_no_value_of_a_dropped_line_is_left():
    lines = pd.DataFrame({"who": [1, 2, 3, 3], "what": ["a", "a", "a", None], "store": [*"nnn", "secret"]})
    lines["store"] = lines["store"].astype("category")
    frame = lines.txanon.by(**LONG, keep=["store"]).pcta(k=2, m=1).frame
    assert [*frame["store"].cat.categories] == ["n"]
    assert b"secret" not in pickle.dumps(frame)


def test_views_of_rows_are_refused_and_counts_are_of_persons(invoices, tmp_path):
    result = invoices.txanon.by("customer", item="product").pcta(k=5, m=2)
    assert "8893 rows of 2000 persons" in repr(result)
    assert (
        len(result.legend)
        == len(result.mapping) - (result.mapping["item"] == result.mapping["generalized"]).sum()
    )
    for call in (
        lambda: result.report(tmp_path / "page.html"),
        lambda: result.evidence(tmp_path / "evidence.json"),
        lambda: result.explain("tea", invoices),
        lambda: pdanon.attack(invoices, result),
        lambda: pdanon.refine(invoices, result),
        lambda: pdanon.bound(invoices, result),
    ):
        with pytest.raises(ParameterError, match="a person has several rows"):
            call()
    assert not [*tmp_path.iterdir()]
