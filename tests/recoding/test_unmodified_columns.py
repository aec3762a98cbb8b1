"""What passes through: counted as a naive count of tuples does, warned about once, and judged by keep=."""

from __future__ import annotations

import datetime as dt
import inspect
import sys
from collections import Counter
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, rows_of
from families import ALGORITHMS as ITEM_ALGORITHMS
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import ColumnError, IdentifierWarning, KmAnonymity, ParameterError
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified, warn_if_identified

KM = KmAnonymity(5, 2)


def counted(frame, *, k=3, judged=()):
    """What passes, without a word."""
    return count_unmodified(frame, [], KmAnonymity(k, 2), judged)


def hospital(rows=1000):
    """A table as hospitals have: no column of it identifies, and all of them together do."""
    rng = np.random.default_rng(7)
    frame = frame_of([{"flu"}, {"cold"}] * (rows // 2))
    frame["GENDER"] = rng.choice(["F", "M"], rows)
    frame["RACE"] = rng.choice(["white", "black", "asian"], rows, p=[0.8, 0.1, 0.1])
    frame["ZIP"] = rng.integers(2100, 2140, rows).astype(str)
    frame["birth_year"] = rng.integers(1930, 2010, rows)
    return frame


# --- Counts


def look(value):
    """A value as it looks: whatever is missing in a column of a type is alike, 0.0 and -0.0 are not."""
    if isinstance(value, float) and value == 0:
        return repr(value)
    return None if value is pd.NA or value is pd.NaT or value != value else value


def naive(columns, k):
    """How many rows are unique, and how many are below k, in some columns of Python values."""
    rows = [*zip(*columns, strict=True)] if columns else []
    sizes = Counter(rows)
    return sum(sizes[row] == 1 for row in rows), sum(sizes[row] < k for row in rows)


KINDS = {
    "int": (st.integers(-2, 2), lambda values: pd.Series(values)),
    "float": (
        st.sampled_from([0.0, -0.0, 1.5, float("nan")]),
        lambda values: pd.Series(values, dtype="float64"),
    ),
    "missing": (st.none() | st.integers(0, 2), lambda values: pd.Series(values, dtype="Int64")),
    "text": (
        st.none() | st.sampled_from(["a", "a\0", "b", ""]),
        lambda values: pd.Series(values, dtype="string"),
    ),
    "dates": (
        st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 3)),
        lambda values: pd.Series(pd.to_datetime(pd.Series(values, dtype=object))),
    ),
    "category": (
        st.none() | st.sampled_from("xy"),
        lambda values: pd.Series(pd.Categorical(values, ["y", "x", "z"])),
    ),
    "lists": (
        st.none() | st.lists(st.sampled_from("ab"), max_size=2).map(tuple),
        lambda values: pd.Series([None if each is None else [*each] for each in values], dtype=object),
    ),
    "objects": (
        st.sampled_from([1, "1", None, Decimal(1), True]).map(lambda value: (type(value).__name__, value)),
        lambda values: pd.Series([value for _, value in values], dtype=object),
    ),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=5))
    drawn = [draw(st.lists(KINDS[kind][0], min_size=rows, max_size=rows)) for kind in kinds]
    made = [KINDS[kind][1](values).reset_index(drop=True) for kind, values in zip(kinds, drawn, strict=True)]
    labels = draw(st.lists(st.sampled_from(["x", "y", 3]), min_size=len(kinds), max_size=len(kinds)))
    frame = pd.concat(made, axis=1) if made else pd.DataFrame(index=range(rows))
    return frame.set_axis(pd.Index(labels, dtype=object), axis=1), [[*map(look, values)] for values in drawn]


@settings(max_examples=examples(200))
@given(tables(), st.integers(2, 4))
def test_the_same_as_counting_tuples(table, k):
    frame, values = table
    found = counted(frame, k=k)
    assert found.columns == found.known == tuple(frame.columns)
    assert (found.rows, found.k, found.incomparable) == (len(frame), k, ())
    assert (found.unique, found.below_k) == naive(values, k)
    if not found.below_k:
        assert (found.subset, found.subset_unique, found.subset_below_k) == ((), 0, 0)
        return
    every = {
        size: [naive(chosen, k) for chosen in combinations(values, size)]
        for size in range(1, min(3, len(values)) + 1)
    }
    assert (found.subset_unique, found.subset_below_k) in every[len(found.subset)]
    most = {size: max(below for _, below in shares) for size, shares in every.items()}
    enough = [size for size, below in most.items() if 100 * below >= 95 * found.below_k]
    enough = enough or [size for size, below in most.items() if 100 * below >= 95 * most[max(most)]]
    assert len(found.subset) == enough[0]
    least = 0.95 * found.below_k if most[enough[0]] >= 0.95 * found.below_k else most[enough[0]]
    assert found.subset_below_k >= least


def test_values_that_are_equal_and_look_different_are_not_alike():
    column = pd.Series([0.0, -0.0] * 2)
    assert counted(column.to_frame()).below_k == 4
    assert counted(column.abs().to_frame()).below_k == 0
    mixed = pd.Series([1, True, 1.0, None, float("nan"), pd.NA], dtype=object)
    assert counted(mixed.to_frame(), k=2).unique == 6


def test_order_and_repeats_of_lists_are_seen_and_sets_have_none():
    for rows, below in (
        ([["a", "b"], ["b", "a"]], 2),
        ([["a", "a"], ["a"]], 2),
        ([{"a", "b"}, {"b", "a"}], 0),
    ):
        frame = pd.DataFrame({"more": pd.Series(rows, dtype=object)})
        assert counted(frame, k=2).below_k == below


def test_levels_of_the_index_count_if_they_have_names():
    frame = pd.DataFrame({"sex": list("fm") * 20})
    assert counted(frame).below_k == 0
    named = frame.set_axis(pd.Index([*range(20)] * 2, name="ward"))
    assert counted(named).below_k == 40
    assert counted(named).levels == ("ward",)
    assert counted(named).columns == ("sex",)
    both = frame.set_axis(pd.MultiIndex.from_arrays([range(40), [1] * 40], names=[None, "ward"]))
    assert counted(both).below_k == 0


def test_an_index_without_a_name_is_a_column():
    frame = frame_of([{"a"}, {"b"}] * 20)
    for plain in (frame, frame.set_axis([*range(40)])):  # tells no more than the order
        assert plain.txanon.pcta(k=2, m=1).unmodified.levels == ()
    named = frame.set_axis([f"customer {number}" for number in range(40)])
    with pytest.warns(
        IdentifierWarning, match=r"40 of 40 rows \(100 %\) are unique in index, which"
    ) as caught:
        result = named.txanon.pcta(k=2, m=1)
    assert "reset_index(drop=True)" in caught[0].message.hint
    assert (result.unmodified.levels, result.unmodified.known) == (("index",), ("index",))
    judged = named.txanon.keep("index").pcta(k=2, m=1)
    assert (judged.unmodified.judged, judged.unmodified.known) == (("index",), ())
    assert "with index, fewer than 2 rows match for 100 % of the rows" in repr(judged)
    assert "(index as listed in keep)" in repr(judged)
    with pytest.raises(ColumnError, match="'index' does not exist"):
        frame.txanon.keep("index").pcta(k=2, m=1)
    with pytest.warns(IdentifierWarning, match="unique in index"):  # the places of the rows that are left
        frame.drop(index=3).txanon.pcta(k=2, m=1)
    assert counted(named.assign(index=0)).levels == ("level_0",)
    both = pd.MultiIndex.from_arrays([[*"abcd"] * 10, [*range(40)][::-1]], names=["ward", None])
    assert counted(frame.set_axis(both)).levels == ("ward", "level_1")


def test_a_hospital_is_counted_with_all_that_is_published():
    patients = pd.read_parquet(Path(__file__).parents[2] / "examples" / "patients.parquet")
    guarantee = pdanon.KKm(k=5, m=2, quasi=["age", "sex"])
    with pytest.warns(IdentifierWarning) as caught:
        result = patients.txanon.rfirst(k=5, m=2, quasi=["age", "sex"], random_state=0)
    found, frame = result.unmodified, result.frame
    classes = frame.groupby([frame[label].astype(str) for label in ("age", "sex", "district")])
    sizes = classes["age"].transform("size")
    assert (found.quasi_unique, found.quasi_below_k) == ((sizes == 1).sum(), (sizes < 5).sum())
    recount = pdanon.KKm(k=5, m=2, quasi=["age", "sex", "district"])
    assert found.items_below_k == frame.txanon.audit(recount).rows_at_risk > found.quasi_below_k > 0
    assert (found.below_k, found.items_counted, result.guarantee) == (0, 3000, guarantee)
    some, more = (f"{n:,} of 3,000 rows ({n / 30:.3g} %)" for n in (found.quasi_below_k, found.items_below_k))
    assert caught[0].message.what == (
        "With district, which is published unmodified, and the released age and sex, "
        f"fewer than 5 rows match for {some}; with 2 released items for {more}"
    )
    assert "add ['district'] to quasi=" in caught[0].message.hint
    line = f"for {found.quasi_below_k / 30:.3g} % of the rows; with 2 released items for "
    assert f"  beside     with district, age and sex, fewer than 5 rows match {line}" in repr(result)
    assert "⚠" in result._repr_html_()


def test_items_beside_a_column_are_counted():
    patients = pd.read_parquet(Path(__file__).parents[2] / "examples" / "patients.parquet")
    with pytest.warns(
        IdentifierWarning, match=r"^With district, which .* and 2 released items, .* 628 of 3,000"
    ):
        result = patients[["district", "diagnoses"]].txanon.pcta(k=5, m=2)
    found = result.unmodified
    assert (found.below_k, found.quasi_below_k, found.items_below_k) == (0, 0, 628)
    assert (found.lists, found.m, found.known) == (("diagnoses",), 2, ("district",))


def test_a_long_count_is_that_of_a_sample(monkeypatch):
    baskets = pdanon.datasets.make_baskets(2000, 40, mean_length=6, random_state=0)
    for name, value in (("_MOST_VISITED", 0), ("_MOST_STEPS", 1_000_000)):
        monkeypatch.setattr(f"pdanon.recoding.unmodified_columns.{name}", value)
    with pytest.warns(IdentifierWarning, match="sampled rows"):
        found = baskets.txanon.pcta(k=5, m=3).unmodified
    monkeypatch.undo()
    with pytest.warns(IdentifierWarning, match="of 2,000 rows"):
        whole = baskets.txanon.pcta(k=5, m=3).unmodified
    assert 100 < found.items_counted < whole.items_counted == 2000
    share, expected = found.items_below_k / found.items_counted, whole.items_below_k / 2000
    assert share == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize("number", [9, 40, 300])
def test_wide_frames(number):
    """Each column tells two rows from 98; all of them together, all rows."""
    columns = {f"c{place}": [int(row // 2 == place) for row in range(100)] for place in range(number)}
    found = counted(pd.DataFrame(columns), k=3)
    told = 2 * min(number, 50)
    assert (found.unique, found.below_k) == (0, told + (told == 98) * 2)
    assert found.subset == ("c0", "c1", "c2")
    assert found.subset_below_k == 6


def test_many_columns_of_many_values_are_counted_without_overflow():
    frame = pd.DataFrame({place: np.random.default_rng(place).permutation(5000) for place in range(12)})
    frame = pd.concat([frame, frame])
    assert counted(frame, k=2).below_k == 0
    assert counted(frame, k=3).below_k == 10_000
    assert counted(frame, k=3).subset == (0,)


def test_a_frame_of_nothing_has_nothing_to_tell():
    assert counted(pd.DataFrame()) == UnmodifiedColumns(k=3)
    assert counted(pd.DataFrame({"x": []})) == UnmodifiedColumns(columns=("x",), known=("x",), k=3)


# --- What is said


def test_a_hospital_table_is_warned_about():
    frame = hospital()
    with pytest.warns(IdentifierWarning) as caught:
        result = frame.txanon.pcta("items", k=5, m=2)
    labels = ("GENDER", "RACE", "ZIP", "birth_year")
    rows = [*zip(*(frame[label] for label in labels), strict=True)]
    unique, below = (sum(size for size in Counter(rows).values() if size < k) for k in (2, 5))
    assert (result.unmodified.unique, result.unmodified.below_k) == (unique, below) == (931, 1000)
    assert (result.unmodified.known, result.unmodified.judged) == (labels, ())
    assert len(caught) == 1
    assert Path(caught[0].filename).name == Path(__file__).name
    message = str(caught[0].message)
    assert message.startswith(
        "931 of 1,000 rows (93.1 %) are unique in GENDER, RACE, ZIP and birth_year, which are published "
        "unmodified; for 1,000 (100 %), fewer than 5 rows match. With ZIP and birth_year alone, "
    )
    assert "KKm(k=5, m=2, quasi=['GENDER', 'RACE', 'ZIP', 'birth_year'])" in message
    assert result.unmodified.subset == ("ZIP", "birth_year")


def test_real_patients_are_warned_about(data):
    patients = pdanon.read_parquet(data / "rt_synthea1k_conditions_snomed.parquet")
    frame = patients[["GENDER", "RACE", "ZIP", "year_of_birth", "items"]]
    with pytest.warns(IdentifierWarning, match="858 of 1,064 rows .80.6 %."):
        assert (
            frame.txanon.pcta(k=5, m=2).unmodified.unique
            == frame.drop(columns="items").value_counts(dropna=False).eq(1).sum()
        )
    with pytest.warns(IdentifierWarning, match="are unique in ID, which is published"):
        patients.txanon.pcta(k=5, m=2)


@pytest.mark.parametrize("k", [2, 5])
def test_a_column_that_alone_explains_everything_is_named_alone(k):
    frame = hospital().assign(number=range(1000))
    with pytest.warns(IdentifierWarning) as caught:
        frame.txanon.pcta("items", k=k, m=2)
    message = str(caught[0].message)
    assert message.startswith("1,000 of 1,000 rows (100 %) are unique in number, which is published")
    assert not any(label in message for label in ("GENDER", "ZIP", "birth_year"))


def test_rows_that_are_few_and_not_unique_are_told():
    frame = frame_of([{"a"}] * 40).assign(ward=[1] * 36 + [2] * 2 + [3] * 2)
    with pytest.warns(
        IdentifierWarning, match=r"^For 4 of 40 rows \(10 %\), fewer than 3 rows match in ward, "
    ):
        frame.txanon.pcta("items", k=3)
    frame.txanon.pcta("items", k=2)


def test_many_columns_are_not_all_named():
    rng = np.random.default_rng(0)
    frame = frame_of([{"a"}] * 200).assign(**{f"c{place}": rng.integers(0, 3, 200) for place in range(20)})
    with pytest.warns(IdentifierWarning) as caught:
        frame.txanon.pcta("items", k=2)
    message = str(caught[0].message)
    assert "200 of 200 rows (100 %) are unique in 20 columns" in message
    assert message.count("'c") == 6  # three in quasi, three in keep


def test_nearly_all_are_not_said_to_be_all():
    frame = frame_of([{"a"}] * 4000).assign(number=[*range(3999), 3998])
    with pytest.warns(IdentifierWarning, match=r"3,998 of 4,000 rows \(99.9 %\)"):
        frame.txanon.pcta("items", k=2)


def test_labels_that_are_no_words_are_written_as_python_does():
    frame = frame_of([{"a"}] * 30)
    for label in (" ", 7, ("a", 1), None, "two\nlines"):
        frame.insert(len(frame.columns), label, range(30), allow_duplicates=True)
        with pytest.warns(IdentifierWarning) as caught:
            frame.txanon.pcta("items", k=2)
        assert "\n" not in caught[0].message.what
        frame = frame[["items"]]


def test_anonymize_warns_once_with_the_numbers_of_the_release_that_it_returns():
    frame = pdanon.read_parquet(Path(__file__).parents[2] / "examples" / "baskets.parquet")
    for bound in ({}, {"max_loss": {"named": 0.3}}):  # with a bound, the k of the decision is another one
        with pytest.warns(IdentifierWarning) as caught:
            result = pdanon.anonymize(frame, k=5, m=2, **bound)
        (message,) = [each.message for each in caught if issubclass(each.category, IdentifierWarning)]
        assert message.what == ". ".join(result.unmodified.sentences())
        items = [*map(frozenset, rows_of(result.frame))]
        known = Counter(
            (store, *pair)
            for store, row in zip(frame["store"], items, strict=True)
            for size in (0, 1, 2)
            for pair in combinations(sorted(row), size)
        )
        rare = sum(
            any(known[store, *pair] < 5 for size in (0, 1, 2) for pair in combinations(sorted(row), size))
            for store, row in zip(frame["store"], items, strict=True)
        )
        assert f"{rare:,} of 2,000 rows" in message.what


def test_an_index_that_identifies_is_not_blamed_on_a_column():
    frame = frame_of([{"a"}] * 30).assign(region=["n", "s"] * 15)
    frame.index = pd.MultiIndex.from_product([range(5), range(6)])
    with pytest.warns(IdentifierWarning) as caught:
        frame.txanon.pcta("items", k=2)
    assert "reset_index" in caught[0].message.hint
    assert "drop(columns=['region'])" not in caught[0].message.hint


def test_categories_of_rows_left_out_before_are_not_released():
    frame = frame_of([{"a"}] * 60).assign(ward=pd.Categorical(["n", SECRET, "s"] * 20, ordered=True))
    frame = frame[frame["ward"] != SECRET].reset_index(drop=True)
    made = frame.txanon.keep("ward").pcta("items", k=2)
    assert [*made.frame["ward"].cat.categories] == ["n", "s"]
    assert made.frame["ward"].tolist() == frame["ward"].tolist()
    assert SECRET in frame["ward"].cat.categories  # the input is not modified


def test_values_are_never_shown():
    frame = frame_of([{"a"}] * 30).assign(name=[f"{SECRET}{n}" for n in range(30)], more=[{SECRET: 1}] * 30)
    with pytest.warns(IdentifierWarning) as caught:
        frame.txanon.pcta("items", k=2)
    assert SECRET not in str(caught[0].message)


def test_what_cannot_be_compared_is_said():
    frame = frame_of([{"a"}] * 30).assign(notes=[{}] * 30, ward=1)
    with pytest.warns(
        IdentifierWarning, match=r"^The values of notes cannot be compared, and are not counted\n"
    ):
        result = frame.txanon.pcta("items", k=2)
    assert result.unmodified.incomparable == ("notes",)
    assert result.unmodified.known == ("ward",)
    frame["ward"] = range(30)
    with pytest.warns(IdentifierWarning, match=r"in ward, .*\. The values of notes cannot be compared"):
        frame.txanon.pcta("items", k=2)


class Stubborn:
    """Objects of any class may pass."""

    def __hash__(self):
        raise RuntimeError(SECRET)

    def __repr__(self):
        raise RuntimeError(SECRET)


def test_values_of_any_class_pass():
    frame = frame_of([{"a"}] * 30).assign(other=pd.Series([Stubborn() for _ in range(30)], dtype=object))
    with pytest.warns(IdentifierWarning, match="other cannot be compared"):
        frame.txanon.pcta("items", k=2)


def test_a_quasi_identifier_is_protected_and_does_not_count():
    frame = hospital(200)
    with pytest.warns(IdentifierWarning, match=r"add \['ZIP', 'birth_year'\] to quasi=") as caught:
        result = frame.drop(columns="items").pipe(pdanon.mondrian, k=5, quasi=["GENDER", "RACE"])
    assert len(caught) == 1
    assert result.unmodified.known == ("ZIP", "birth_year")
    quasi = ["GENDER", "RACE", "ZIP", "birth_year"]
    result = pdanon.rum_bound(frame, k=5, m=1, quasi=quasi, delta=1, random_state=0)
    assert result.unmodified == UnmodifiedColumns(rows=200, k=5)


def test_a_private_column_is_what_the_guarantee_speaks_of():
    ills = pdanon.as_itemsets([[f"ill {n}"] for n in range(30)])
    frame = frame_of([{"a"}] * 30).assign(ills=ills.to_numpy())
    result = pdanon.coherence(frame, "items", h=1, k=2, p=1, private="ills")
    assert result.passed_through == ("ills",)
    assert result.unmodified.known == ()
    with pytest.raises(ColumnError, match="'ills' is recoded"):
        pdanon.keep(frame, "ills").coherence("items", h=1, k=2, p=1, private="ills")


def test_a_guarantee_without_k_counts_pairs():
    frame = frame_of([{"a"}, {"b"}] * 15).assign(ward=[*range(15)] * 2)
    guarantee = pdanon.LmDiversity(l=2, m=1, sensitive=["a"])
    found = count_unmodified(frame, [0], guarantee, ())
    with pytest.warns(IdentifierWarning, match="With ward, .* and 1 released item, fewer than 2 rows match"):
        warn_if_identified(found, guarantee, frame)
    # The sensitive item is not known.
    assert (found.k, found.m, found.items_counted, found.items_below_k) == (2, 1, 30, 15)


# --- keep=


def test_what_is_judged_does_not_warn_and_is_recorded():
    frame = hospital()
    result = frame.txanon.keep("GENDER", "RACE", "ZIP", "birth_year").pcta("items", k=5, m=2)
    assert result.parameters["keep"] == ["GENDER", "RACE", "ZIP", "birth_year"]
    assert result.unmodified.judged == ("GENDER", "RACE", "ZIP", "birth_year")
    assert (result.unmodified.known, result.unmodified.below_k) == ((), 0)
    assert result.passed_through == ("GENDER", "RACE", "ZIP", "birth_year")
    with pytest.warns(IdentifierWarning) as caught:
        result = frame.txanon.keep("ZIP").pcta("items", k=5, m=2)
    assert "ZIP" not in str(caught[0].message)
    assert result.parameters["keep"] == ["ZIP"]
    assert result.unmodified.known == ("GENDER", "RACE", "birth_year")


def test_the_release_is_the_same_whatever_is_judged():
    frame = hospital()
    with pytest.warns(IdentifierWarning):
        before = frame.txanon.pcta("items", k=5, m=2)
    after = frame.txanon.keep("GENDER", "RACE", "ZIP", "birth_year").pcta("items", k=5, m=2)
    pd.testing.assert_frame_equal(before.frame, after.frame)
    pd.testing.assert_frame_equal(before.mapping, after.mapping)
    pd.testing.assert_series_equal(before.loss, after.loss)
    assert "keep" not in before.parameters


def test_a_level_of_the_index_can_be_judged():
    frame = frame_of([{"a"}] * 40).set_axis(pd.Index(range(40), name="patient"))
    with pytest.warns(IdentifierWarning, match="unique in patient, which is published"):
        frame.txanon.pcta(k=2)
    assert frame.txanon.keep("patient").pcta(k=2).unmodified.judged == ("patient",)


def test_all_columns_of_a_label_are_judged():
    frame = pd.DataFrame({"items": [["a"]] * 30, "x": range(30), "y": range(30)}).set_axis(
        ["items", "x", "x"], axis=1
    )
    with pytest.warns(IdentifierWarning):
        frame.txanon.pcta("items", k=2)
    assert frame.txanon.keep("x").pcta("items", k=2).unmodified.known == ()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_it(name):
    assert "keep" not in inspect.signature(ALGORITHMS[name].function).parameters
    assert callable(getattr(hospital(40).txanon.keep("ZIP"), name))
    assert name not in ITEM_ALGORITHMS or ALGORITHMS[name].decide is not None


@pytest.mark.parametrize(
    ("keep", "error", "message"),
    [
        (["ZIPS"], ColumnError, r"'ZIPS' does not exist\n  where: keep\n.*\n  hint:  did you mean 'ZIP'\?"),
        (["GENDER", "items"], ColumnError, "'items' is recoded\n  where: keep"),
        (["ZIP", "ZIP"], ParameterError, "keep names a column twice"),
        (["GENDER", ["ZIP"]], ParameterError, r"keep takes labels of columns\n  where: keep\n  got:   list"),
        ([None], ColumnError, "column None does not exist"),
        ([5], ColumnError, "column 5 does not exist"),
        (["notes"], ColumnError, "the values of a column cannot be compared\n  where: keep\n  got:   notes"),
    ],
)
def test_what_cannot_be_judged_is_refused(keep, error, message):
    frame = hospital(40).assign(notes=[{}] * 40)
    with pytest.raises(error, match=message):
        frame.txanon.keep(*keep).pcta("items", k=2)
    with pytest.raises(error, match=message):
        pdanon.keep(frame, *keep).anonymize(KmAnonymity(2, 1), "items")
    if keep != ["GENDER", "items"]:
        with pytest.raises(error, match=message):
            pdanon.keep(frame, *keep).mondrian(k=2, quasi=["GENDER"])
    with pytest.raises(error, match=message):
        pdanon.keep(frame, *keep).rfirst("items", k=2, m=1, quasi=["RACE"])


def test_reviewed_columns_are_a_step_beside_others():
    frame = hospital(40)[["ZIP", "birth_year", "items"]]
    assert repr(frame.txanon.keep("ZIP")) == "df.txanon.keep('ZIP'): 40 rows; no steps"
    prepared = frame.txanon.prepare({"birth_year": {"band": 20}}).keep("ZIP").keep("birth_year")
    assert repr(prepared).startswith("df.txanon.prepare(...).keep('ZIP', 'birth_year'): 40 rows; birth_year")
    result = prepared.pcta("items", k=2, m=1)
    assert result.unmodified.judged == ("ZIP", "birth_year")
    assert result.parameters["prepared"] == "birth_year: band 20"
    with pytest.warns(IdentifierWarning):  # the step holds for its own releases alone
        assert frame.txanon.pcta("items", k=2, m=1).unmodified.judged == ()
    with pytest.raises(AttributeError, match=r"no such method(.|\n)*did you mean 'pcta'"):
        prepared.pctaa(k=2)
    with pytest.raises(ParameterError, match="keep has no parameter 'columns'"):
        pdanon.keep(frame, columns=["ZIP"])
    with pytest.raises(ParameterError, match="keep needs frame"):
        pdanon.keep()


class Label:
    """A label of a column. Python calls a function for each look at it."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return isinstance(other, Label) and self.number == other.number


def calls_with(n_columns):
    """How often looking up all columns looks at a label, and calls another function."""
    labels, calls = [Label(number) for number in range(n_columns)], Counter()
    frame = pd.DataFrame(np.zeros((25, n_columns), int), columns=pd.Index(labels, dtype=object))
    frame["items"] = [["a"]] * 25

    def count(called, event, _):
        if event == "call":
            calls[called.f_code in (Label.__hash__.__code__, Label.__eq__.__code__)] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = frame.txanon.keep(*labels).pcta("items", k=2, m=2)
        audit = pdanon.audit(frame, pdanon.KAnonymity(2, quasi=labels))
    finally:
        sys.setprofile(before)
    assert result.unmodified.judged == tuple(labels)
    assert audit.holds
    return calls


def test_many_columns_are_looked_up_in_one_pass():
    fewer, more = calls_with(30), calls_with(90)
    assert more[True] < 4 * fewer[True]  # 9 times as many if each label were compared with all others
    assert more[False] < 4 * fewer[False]


def test_a_quasi_identifier_cannot_be_judged():
    with pytest.raises(ColumnError, match="'RACE' is recoded"):
        pdanon.keep(hospital(40), "RACE").mondrian(k=2, quasi=["GENDER", "RACE"])


def test_refined_releases_keep_what_was_judged():
    labels = ["GENDER", "RACE", "ZIP", "birth_year"]
    frame = hospital(60)
    result = frame.txanon.refine(frame.txanon.keep(*labels).pcta("items", k=2, m=2))
    assert result.parameters["keep"] == labels
    assert result.unmodified.judged == tuple(labels)
    made = pdanon.keep(frame, *labels[1:]).rfirst(k=2, m=1, quasi=["GENDER"], random_state=0)
    assert pdanon.refine(frame, made).parameters["keep"] == labels[1:]


def test_refining_warns_once():
    frame = hospital(60)
    with pytest.warns(IdentifierWarning):
        made = pdanon.rfirst(frame, k=2, m=1, quasi=["GENDER"], random_state=0)
    with pytest.warns(IdentifierWarning) as caught:
        pdanon.refine(frame, made)
    assert len(caught) == 1


def test_the_choice_keeps_what_was_judged():
    labels = ["GENDER", "RACE", "ZIP", "birth_year"]
    result = pdanon.keep(hospital(60), *labels).anonymize(KmAnonymity(2, 1))
    assert result.parameters["keep"] == labels
    assert result.unmodified.judged == tuple(labels)


def test_reviewed_columns_cause_no_warning_and_are_counted(recwarn):
    frame = pdanon.datasets.make_baskets(200, 20, random_state=4)
    kept = frame.txanon.keep("store").pcta(k=5, m=2)
    assert not recwarn.list
    assert (kept.unmodified.below_k, kept.unmodified.items_below_k) == (0, 0)
    everything = kept.unmodified.with_judged
    audit = kept.frame.txanon.audit(pdanon.KKm(k=5, m=2, quasi=["store"]))
    assert everything.items_below_k == audit.rows_at_risk > 0
    with pytest.warns(IdentifierWarning, match=f"for {audit.rows_at_risk} of 200 rows"):
        assert frame.txanon.pcta(k=5, m=2).unmodified == everything
