"""Risk: shares of rows against a naive count over all that an attacker may know."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import ColumnError, ParameterError
from pdanon.evaluation.metrics.risk import exposure

COLUMNS = ["known", "singled_out", "below_k", "items", "rows"]


def naive_table(rows, k, m):
    """For all rows, then by length: share of rows with known itemsets of up to 1..m items that are rare."""
    lines = []
    for length in [None, *sorted(set(map(len, rows)))]:
        group = [row for row in rows if length is None or len(row) == length]
        for known in range(1, max(min(m, max(map(len, rows))), 1) + 1):
            shares = []
            for least in (2, k):
                rare = naive.rare_itemsets(rows, least, known)
                shares.append(sum(any(each <= row for each in rare) for row in group) / len(group))
            lines.append((known, *shares, length, len(group)))
    return lines


@settings(max_examples=examples(60))
@given(row_lists(longest=6, least=1), st.integers(2, 6), st.integers(1, 8))
def test_risk_is_the_naive_count(rows, k, m):
    table = pdanon.risk(frame_of(rows), k=k, m=m)
    assert [*table.columns] == COLUMNS
    found = [*table.astype(object).where(table.notna(), None).itertuples(index=False, name=None)]
    assert found == naive_table(rows, k, m)


@settings(max_examples=examples(40))
@given(row_lists(least=1), st.integers(2, 5), st.none() | st.just("items"))
def test_knowing_more_never_lowers_the_risk(rows, k, column):
    table = frame_of(rows).txanon.risk(column, k=k, m=4)
    for _, part in table.groupby(table["items"].fillna(-1)):
        assert part["singled_out"].is_monotonic_increasing
        assert part["below_k"].is_monotonic_increasing
        assert (part["singled_out"] <= part["below_k"]).all()


def test_rows_below_k_are_those_at_risk_in_the_audit():
    rows = [{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}, {"d"}, set()]
    frame = frame_of([*rows, None])
    overall = frame.txanon.risk(k=3, m=3).iloc[:3]
    at_risk = [frame.txanon.audit(pdanon.KmAnonymity(3, m)).rows_at_risk for m in (1, 2, 3)]
    assert (overall["below_k"] * 7).round().tolist() == at_risk == [1, 5, 5]


@pytest.mark.parametrize("m", [10**6, 10**9, 2**70])
def test_nobody_knows_more_items_than_there_are(m):
    frame = frame_of([{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}])
    table = frame.txanon.risk(k=2, m=m)
    assert table["known"].tolist() == [1, 2, 3] * 3
    assert table["below_k"].tolist()[:3] == [0, 0, 0.25]


def test_long_rows_end_as_soon_as_all_are_exposed():
    """50 items have 10**15 subsets; each of two rows has a pair of its own, and no row is alone otherwise."""
    common = {f"i{number:02}" for number in range(50)}
    frame = frame_of([common, common, common | {"x", "y"}, common | {"x", "z"}, {"y", "z"}])
    overall = frame.txanon.risk(k=2, m=50).iloc[:3]
    assert overall["singled_out"].tolist() == [0, 0.6, 0.6]


# --- quasi-identifiers and items together

QUASI = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.sampled_from([0.0, -0.0, 1.0])), min_size=10, max_size=10
)


def with_quasi(lists, quasi, missing):
    """Rows over an integer, a float and items, some of which are missing."""
    lists = [None if number in missing else row for number, row in enumerate(lists)]
    frame = frame_of(lists)
    quasi = quasi[: len(lists)]
    frame["age"] = pd.array([age for age, _ in quasi], dtype="Int64")
    frame["size"] = [size for _, size in quasi]
    looks = [(age, repr(size)) for age, size in quasi]
    return frame, [*zip(looks, lists, strict=True)]


def exposed(rows, row, k, known):
    """Whether fewer than k rows match all of a row's quasi-identifiers and some of up to so many items.

    Rows that are missing match no row that is not.
    """
    looks, items = row
    alike = [held for other, held in rows if other == looks]
    present = [held for held in alike if held is not None]
    if len(alike if items is None else present) < k:
        return True
    subsets = [chosen for size in range(1, known + 1) for chosen in combinations(items or (), size)]
    return any(sum({*chosen} <= held for held in present) < k for chosen in subsets)


@settings(max_examples=examples(60))
@given(
    row_lists(items="abcd", longest=4, least=1),
    QUASI,
    st.sets(st.integers(0, 9)),
    st.integers(2, 4),
    st.integers(1, 5),
)
def test_risk_with_quasi_identifiers_is_the_naive_count(lists, quasi, missing, k, m):
    frame, rows = with_quasi(lists, quasi, missing)
    table = frame.txanon.risk(k=k, m=m, quasi=["age", "size"])
    longest = max((len(items) for _, items in rows if items is not None), default=0)
    known = [*range(max(min(m, longest), 1) + 1)]
    lengths = [None, *sorted({len(items or ()) for _, items in rows})]
    expected = []
    for length in lengths:
        group = [row for row in rows if length is None or len(row[1] or ()) == length]
        for number in known:
            shares = [
                sum(exposed(rows, row, least, number) for row in group) / len(group) for least in (2, k)
            ]
            expected.append((number, *shares, length, len(group)))
    found = [*table.astype(object).where(table.notna(), None).itertuples(index=False, name=None)]
    assert found == expected


@settings(max_examples=examples(60))
@given(
    row_lists(items="abcd", longest=4, least=1),
    QUASI,
    st.sets(st.integers(0, 9)),
    st.integers(2, 4),
    st.integers(1, 4),
)
def test_rows_below_k_are_those_at_risk_in_the_audit_of_both(lists, quasi, missing, k, m):
    frame, _ = with_quasi(lists, quasi, missing)
    for labels in (["age"], ["size"], ["age", "size"]):
        overall = frame.txanon.risk(k=k, m=m, quasi=labels).query("items.isna()")
        last = overall["below_k"].iloc[-1] * len(frame)
        assert round(last) == frame.txanon.audit(pdanon.KKm(k=k, m=m, quasi=labels)).rows_at_risk
        assert round(overall["below_k"].iloc[0] * len(frame)) <= round(last)


def test_released_values_of_quasi_identifiers_are_known_as_they_are():
    rows = [{"a"}, {"b"}, {"a", "b"}, {"b"}, {"a"}, {"b"}]
    frame = frame_of(rows).assign(age=[1, 2, 3, 40, 50, 60], place=list("xyzxyz"))
    result = pdanon.rfirst(frame, k=3, m=2, quasi=["age", "place"], random_state=0)
    assert isinstance(result.frame["age"].dtype, pd.IntervalDtype)
    before = frame.txanon.risk(k=3, m=2, quasi=["age", "place"])
    after = result.frame.txanon.risk(k=3, m=2, quasi=["age", "place"])
    assert before["below_k"].tolist()[:3] == [1, 1, 1]
    assert not after["below_k"].any()
    tables = exposure(result, frame)
    assert [table["known"].tolist() for table in tables.values()] == [[0, 1, 2]] * 2
    assert tables["before"]["below_k"].tolist() == [1, 1, 1]
    assert tables["after"]["below_k"].tolist() == [0, 0, 0]


def test_real_patients_are_found_by_both_together(data):
    """Who knows two items only finds 35 % among fewer than 10."""
    patients = pdanon.read_parquet(data / "rt_diabetes130_patients_icd9.parquet")
    quasi = ["race", "gender", "age", "payer_code"]
    assert patients.txanon.risk(k=10, m=2)["below_k"].round(3)[1] == 0.353
    below_k = patients.txanon.risk(k=10, m=2, quasi=quasi)["below_k"]
    assert below_k.round(3)[2] == 0.895
    at_risk = patients.txanon.audit(pdanon.KKm(k=10, m=2, quasi=quasi)).rows_at_risk
    assert round(below_k[2] * len(patients)) == at_risk


@pytest.mark.parametrize(
    ("quasi", "error", "message"),
    [
        (["years"], ColumnError, "'years' does not exist"),
        (["items"], ColumnError, "a quasi-identifier is a list column"),
        (["notes"], ColumnError, "cannot be compared\n  where: quasi\n  got:   notes\n  hint:"),
        ([], ParameterError, "quasi names no column"),
        (["age", "age"], ParameterError, "quasi names a column twice"),
        ("age", ParameterError, "quasi must be a list of columns"),
    ],
)
def test_what_an_attacker_cannot_know_is_refused(quasi, error, message):
    frame = frame_of([{"a"}, {"b"}]).assign(age=[1, 2], notes=[{}, {}])
    with pytest.raises(error, match=message):
        frame.txanon.risk(k=2, quasi=quasi)


def test_release_has_no_row_below_k():
    frame = frame_of([{"a", "b"}, {"a", "c"}, {"b"}, {"c", "d"}]).txanon.pcta(k=3, m=2).frame
    table = frame.txanon.risk(k=3, m=2)
    assert (table["below_k"] == 0).all()
    assert table["rows"].tolist()[:2] == [4, 4]


def test_table_is_typed_and_empty_for_no_rows():
    full = frame_of([{"a"}, {"a", "b"}]).txanon.risk(k=2, m=1)
    empty = frame_of([]).txanon.risk(k=2, m=1)
    assert full["items"].dtype == "Int64"
    assert full["items"].isna().tolist() == [True, False, False]
    assert len(empty) == 0
    assert empty.dtypes.to_dict() == full.dtypes.to_dict()


@pytest.mark.parametrize("m", [0, None, True, 2.0, "2"])
def test_number_of_known_items_is_a_number(m):
    with pytest.raises(ParameterError, match="m must be an integer of at least 1"):
        frame_of([{"a"}]).txanon.risk(k=2, m=m)


def diverse(rows):
    """A release of rows in which nobody is to learn of s, and the rows."""
    frame = frame_of(rows).assign(age=range(len(rows)))
    hidden = pdanon.Transaction("pcta", sensitive=["s"], l=2)
    return frame.txanon.rum_bound(k=2, m=2, quasi=["age"], delta=1, transaction=hidden, random_state=0), frame


@pytest.mark.parametrize("labels", ["set", "short"])
def test_sensitive_items_are_no_part_of_what_is_known(labels):
    rows = [{"a", "s"}, {"a"}, {"a", "b"}, {"b"}, {"c"}, {"b", "c"}]
    result, frame = diverse(rows)
    result = result.relabel(labels)
    assert "s" in set().union(*result.frame["items"])  # and in one row, which it would single out
    assert result.frame.txanon.risk(k=2, m=2, quasi=["age"])["below_k"].iloc[1] > 0
    tables = exposure(result, frame)
    assert tables["after"]["below_k"].tolist() == [0, 0, 0]
    without = frame.assign(items=[sorted(row - {"s"}) for row in rows])
    before = without.txanon.risk(k=2, m=2, quasi=["age"]).query("items.isna()")
    assert tables["before"]["below_k"].tolist() == before["below_k"].tolist()


def test_sensitive_items_are_not_known_where_there_are_no_quasi_identifiers():
    rows = [{"a", "s"}, {"a"}, {"a", "b"}, {"b"}, {"a", "b"}, {"b"}]
    frame = frame_of(rows)
    result = frame.txanon.apriori(
        guarantee=pdanon.LmDiversity(l=2, m=2, k=2, sensitive=["s"]), hierarchy={"*": ["a", "b"]}
    )
    assert result.frame.txanon.risk(k=2, m=2)["below_k"].iloc[0] > 0
    assert exposure(result, frame)["after"]["below_k"].tolist() == [0, 0]


def test_the_picture_says_that_sensitive_items_are_not_known():
    pytest.importorskip("matplotlib")
    result, frame = diverse([{"a", "s"}, {"a"}, {"a"}, {"a"}])
    ax = result.plot.risk(frame)
    assert "non-sensitive items" in " ".join(ax.get_xlabel().split())
    assert [text.get_text() for text in ax.texts][3:] == ["0", "0", "0"][: len(ax.texts) - 3]


# --- sensitive items, which the attacker does not know


@settings(max_examples=examples(30))
@given(row_lists(items="abcdef", longest=5, least=1), st.sets(st.sampled_from("abcdefz"), min_size=1))
def test_sensitive_items_count_in_no_row(rows, sensitive):
    frame = frame_of(rows)
    others = frame_of([None if row is None else {*row} - sensitive for row in rows])
    table = frame.txanon.risk(k=3, m=2, sensitive=sorted(sensitive))
    pd.testing.assert_frame_equal(table, others.txanon.risk(k=3, m=2))
    frame["age"] = others["age"] = [30, 41] * (len(rows) // 2) + [30] * (len(rows) % 2)
    known = {"k": 3, "m": 2, "quasi": ["age"]}
    table = frame.txanon.risk(**known, sensitive=sorted(sensitive))
    pd.testing.assert_frame_equal(table, others.txanon.risk(**known))


def test_sensitive_items_are_a_list():
    with pytest.raises(ParameterError, match="no sensitive item"):
        frame_of([{"a"}]).txanon.risk(k=2, sensitive=[])


def test_an_attacker_of_inferences_knows_no_sensitive_item():
    frame = frame_of([["a", "flu"], ["a", "b"], ["a", "b"], ["b"]])
    result = frame.txanon.suppress_control(rho=0.9, sensitive=["flu"], m=1)
    before = exposure(result, frame, k=2, m=1)["before"]
    assert (
        before["below_k"].tolist()
        == frame.txanon.risk(k=2, m=1, sensitive=["flu"])["below_k"].head(1).tolist()
    )
    assert before["below_k"].tolist() == [0]  # with the flu, who has it stands out
    assert frame.txanon.risk(k=2, m=1)["below_k"].iloc[0] == 0.25
