"""Items of one type among those of another: the same, and not only alike."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import pdanon
from pdanon.itemsets.codes import Itemsets, find_items

DAY, NOON = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12)
MIDNIGHT = dt.datetime(2020, 1, 1)
NUMBERS = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), Fraction(1, 2), Fraction(1, 10)]
TYPES = [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(25, 2)]


def holdable(numbers, kind):
    """The numbers as values of a type, where it holds them exactly; naively, one by one."""
    values = []
    for number in numbers:
        try:
            value = pa.array([Decimal(number.numerator) / number.denominator]).cast(kind, safe=False)
            if pa.types.is_integer(kind):
                value = pa.array([int(number)], kind) if number == int(number) else pa.nulls(1, kind)
            elif pa.types.is_floating(kind):
                value = pa.array([float(number)], kind)
        except (pa.ArrowException, OverflowError):
            continue
        if value[0].as_py() is not None and Fraction(value[0].as_py()) == number:
            values.append(value[0].as_py())
    return pa.array(values, kind)


@pytest.mark.parametrize("one", TYPES, ids=str)
@pytest.mark.parametrize("other", TYPES, ids=str)
def test_numbers_are_the_same_if_their_values_are(one, other):
    wanted, among = holdable(NUMBERS, one), holdable(NUMBERS, other)
    assert len(wanted) >= 3
    values = [Fraction(value) for value in among.to_pylist()]
    expected = [values.index(value) if value in values else -1 for value in map(Fraction, wanted.to_pylist())]
    assert find_items(wanted, among).tolist() == expected


UNITS = st.sampled_from(["s", "ms", "us", "ns"])
COUNTS = st.lists(
    st.integers(-3, 3) | st.sampled_from([86_400, 86_400_000, 10**9, -(10**9), 2**62, -(2**63) + 1]),
    max_size=5,
)


@given(COUNTS, UNITS, COUNTS, UNITS, st.sampled_from([pa.timestamp, pa.duration]))
def test_times_are_the_same_if_they_are_as_long_after_the_same_moment(wanted, unit, among, other, kind):
    steps = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    among = sorted(set(among))
    exact = [count * steps[other] for count in among]
    expected = [exact.index(c * steps[unit]) if c * steps[unit] in exact else -1 for c in wanted]
    assert find_items(pa.array(wanted, kind(unit)), pa.array(among, kind(other))).tolist() == expected


@pytest.mark.parametrize(
    ("wanted", "among", "expected"),
    [
        (["01", "1", "0x2", "2", "+1", " 1", "1.0"], [1, 2], [-1, 0, -1, 1, -1, -1, -1]),
        ([1, 2], ["01", "2", "x"], [-1, 1]),
        (["1", "1.0", "1.00", "1e0"], [1.0, 2.5], [0, 0, -1, -1]),
        ([1.0], ["1.0", "1"], [1]),
        ([True, False], [0, 1], [-1, -1]),
        ([1, 0], [False, True], [-1, -1]),
        ([1.0], [True], [-1]),
        (["true", "True", "1", "TRUE", "yes"], [False, True], [1, 1, -1, -1, -1]),
        ([NOON, MIDNIGHT], [DAY], [-1, 0]),
        ([DAY], [MIDNIGHT, NOON], [0]),
        (["2020-01-01", "2020-1-1", "2020-01-01 00:00"], [DAY], [0, -1, -1]),
        (["2020-01-01 12:00:00", "2020-01-01 12:00:00.000000", "2020-01-01"], [NOON], [0, 0, -1]),
        ([18262], [DAY], [-1]),
        ([DAY], [18262], [-1]),
        ([pd.Timedelta("1h")], [3_600_000_000_000], [-1]),
        (["0 days 01:00:00"], [pd.Timedelta("1h")], [0]),
        (["1.50", "1.5", "1.500"], [Decimal("1.50")], [0, 0, -1]),
        ([dt.time(5)], ["05:00:00", "5:00"], [0]),
        ([NOON.replace(tzinfo=dt.UTC)], [NOON], [-1]),
        (["a", "a\0", "a\0\0"], ["a\0"], [-1, 0, -1]),
    ],
)
def test_what_only_looks_alike_is_not_the_same(wanted, among, expected):
    assert find_items(pa.array(wanted), pa.array(among)).tolist() == expected


def test_moments_are_the_same_in_every_zone():
    counts = [1, 10**9]
    athens, utc = (pa.array(counts, pa.timestamp("ns", zone)) for zone in ("Europe/Athens", "UTC"))
    assert find_items(athens, utc).tolist() == [0, 1]
    texts = [
        "1970-01-01 02:00:01+02:00",
        "1970-01-01 02:00:01.000000000+0200",
        "1970-01-01 00:00:01.000000000Z",
    ]
    assert find_items(pa.array(texts), athens).tolist() == [1, 1, 1]
    assert find_items(pa.array(["1970-01-01 02:00:01"]), athens).tolist() == [-1]


def test_no_item_is_looked_up_on_its_own():
    wanted = pa.array([f"x{i}" for i in range(5_000)] + ["7"])
    column = Itemsets.from_arrow(pa.array([[7, 8]]))
    assert column.lookup(wanted).tolist() == [-1] * 5_000 + [0]  # thousands of calls would exceed the stack


# --- wherever items are named


INTS = pd.DataFrame({"items": [[1, 2]] * 3})


def test_mapping_recodes_no_items_that_only_look_like_its_own():
    mapping = pdanon.pcta(INTS, k=2).mapping
    rows = pd.DataFrame({"items": [["01", "1", "0x2"]]})
    with pytest.raises(pdanon.ParameterError, match="2 items in 1 rows"):
        pdanon.apply_mapping(rows, mapping)
    recoded = pdanon.apply_mapping(rows, mapping, unseen="suppress")
    assert [list(row) for row in recoded["items"]] == [["1"]]


@pytest.mark.parametrize("item", ["01", "1.0", True, 1.5, pd.Timestamp(1)])
def test_other_items_are_unknown_wherever_they_are_named(item):
    column = INTS["items"]
    assert column.itemset.support([item]) == 0
    assert not column.itemset.contains([item]).any()
    assert column.itemset.suppress([item]).map(list).tolist() == [[1, 2]] * 3
    assert column.itemset.generalize({item: "x"}).map(list).tolist() == [["1", "2"]] * 3
    result = pdanon.pcta(INTS, k=2)
    calls = [
        lambda: pdanon.pcta(INTS, guarantee=pdanon.PrivacyConstraints(constraints=[[item]], k=2)),
        lambda: pdanon.pcta(INTS, k=2, weights={item: 0.5}),
        lambda: pdanon.upcta(INTS, k=2, m=1, utility=[[item]]),
        lambda: pdanon.coherence(INTS, h=0.5, k=2, p=1, private=[item]),
        lambda: pdanon.suppress_to_k(INTS, k=2, public=[item]),
        lambda: result.explain(item, INTS),
    ]
    for call in calls:
        with pytest.raises(pdanon.ParameterError):
            call()


@pytest.mark.parametrize(
    "items",
    [
        [1.0, 2.5],
        [True, False],
        [DAY, DAY.replace(day=2)],
        [NOON, MIDNIGHT],
        [pd.Timestamp("2020-01-01", tz="Europe/Athens"), pd.Timestamp("2020-07-01", tz="Europe/Athens")],
        [Decimal("1.5"), Decimal("2.25")],
        [pd.Timedelta("1h"), pd.Timedelta("2h")],
        [np.float32(0.1), np.float32(0.3)],
    ],
    ids=lambda items: type(items[0]).__name__,
)
@pytest.mark.parametrize("writer", ["arrow", "pandas"])
def test_items_of_a_csv_file_are_those_of_the_data(tmp_path, items, writer):
    from pdanon.io.tables import read_columns, write_plain

    path = tmp_path / "mapping.csv"
    result = pdanon.pcta(pd.DataFrame({"items": [items] * 2}), k=2)
    if writer == "arrow":
        if isinstance(items[0], pd.Timedelta):
            pytest.skip("Arrow writes no durations")
        write_plain(result.mapping, path)
    else:
        result.mapping.to_csv(path, index=False)
    mapping = read_columns(path, ["group", "item", "generalized", "support"])
    column = Itemsets.from_series(pd.Series([items]))
    assert sorted(column.lookup(mapping["item"].tolist()).tolist()) == [0, 1]
