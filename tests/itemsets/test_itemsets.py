"""Every list layout goes in, and comes out as rows of sorted, distinct items with nothing left behind."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import pickle
import traceback
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SECRET
from hypothesis import given, settings, strategies as st

from examples import examples
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError
from pdanon.itemsets import codes as module
from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.columns import find_column, is_list_column

DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1))
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))
SECONDS = st.integers(0, 86399).map(lambda s: dt.time(s // 3600, s // 60 % 60, s % 60))
SPANS = st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999))
CENTS = st.integers(-(10**6), 10**6).map(lambda cents: decimal.Decimal(cents).scaleb(-2))

INTEGERS = {
    getattr(pa, f"{sign}int{bits}")(): st.integers(
        0 if sign else -(2 ** (bits - 1)), 2**bits - 1 if sign else 2 ** (bits - 1) - 1
    )
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
FLOATS = {
    kind: (st.floats(width=width, allow_nan=False) | st.sampled_from([0.0, -0.0])).map(of)
    for kind, width, of in (
        (pa.float16(), 16, np.float16),
        (pa.float32(), 32, float),
        (pa.float64(), 64, float),
    )
}
# Arrow has these two types since version 19.
NARROW_DECIMALS = {pa.decimal32(9, 2): CENTS, pa.decimal64(18, 2): CENTS} if hasattr(pa, "decimal32") else {}
ITEMS = {
    **INTEGERS,
    **FLOATS,
    pa.bool_(): st.booleans(),
    pa.date32(): DAYS,
    pa.date64(): DAYS,
    pa.time32("s"): SECONDS,
    pa.time32("ms"): SECONDS,
    pa.time64("us"): st.times(),
    pa.timestamp("us"): MOMENTS,
    pa.timestamp("s"): MOMENTS.map(lambda moment: moment.replace(microsecond=0)),
    pa.timestamp("us", "UTC"): MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    pa.duration("us"): SPANS,
    pa.decimal128(10, 2): CENTS,
    pa.decimal256(40, 2): CENTS,
    **NARROW_DECIMALS,
    pa.string(): st.text(max_size=3),
    pa.large_string(): st.text(max_size=3),
    pa.string_view(): st.text(max_size=20),
}
LAYOUTS = ["list", "large_list", "fixed_size_list", "list_view", "large_list_view"]


def build(rows, size, pool, item_type, layout, encoded):
    """Lay out rows of pool positions, with unused dictionary entries and values under the null rows."""
    filled = [[0] * size if row is None else row for row in rows]
    lengths = [len(row) for row in filled]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    flat = np.array([position for row in filled for position in row], np.int64)
    mask = pa.array([row is None for row in rows], pa.bool_())
    if layout.endswith("view"):  # the rows lie back to front
        flat = np.array([position for row in reversed(filled) for position in row], np.int64)
        starts = starts[-1] - starts[1:]
    if encoded:
        values = pa.DictionaryArray.from_arrays(pa.array(flat), pa.array([*pool, *pool[::-1]], item_type))
    else:
        values = pa.array([pool[position] for position in flat], item_type)
    match layout:
        case "list":
            return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), values, mask=mask)
        case "large_list":
            return pa.LargeListArray.from_arrays(pa.array(starts), values, mask=mask)
        case "fixed_size_list":
            return pa.FixedSizeListArray.from_arrays(values, size, mask=mask)
        case "list_view":
            ints = pa.array(starts, pa.int32()), pa.array(lengths, pa.int32())
            return pa.ListViewArray.from_arrays(*ints, values, mask=mask)
        case "large_list_view":
            longs = pa.array(starts), pa.array(lengths, pa.int64())
            return pa.LargeListViewArray.from_arrays(*longs, values, mask=mask)


@st.composite
def arrow_columns(draw):
    """A list column of any type and layout: sliced, chunked, with whatever may hide in its buffers."""
    item_type = draw(st.sampled_from(list(ITEMS)))
    layout = draw(st.sampled_from(LAYOUTS))
    size = draw(st.integers(1, 3))
    least, most = (size, size) if layout == "fixed_size_list" else (0, 4)
    # Arrow cannot flatten rows of nulls over a dictionary of half floats.
    encoded = item_type != pa.float16() and draw(st.booleans())
    chunks = []
    for _ in range(draw(st.integers(0, 3))):
        pool = draw(st.lists(ITEMS[item_type], min_size=1, max_size=4))
        row = st.none() | st.lists(st.integers(0, len(pool) - 1), min_size=least, max_size=most)
        rows = draw(st.lists(row, max_size=6))
        chunk = build(rows, size, pool, item_type, layout, encoded)
        start, stop = draw(st.integers(0, 2)), draw(st.integers(4, 6))
        chunks.append(chunk[start:stop])
    if len(chunks) == 1 and draw(st.booleans()):
        return chunks[0]
    empty = build([], size, [draw(ITEMS[item_type])], item_type, layout, encoded)
    return pa.chunked_array(chunks, type=empty.type)


@st.composite
def object_columns(draw):
    """A column of Python list-likes and missing values, and the same rows as plain lists."""
    kinds = [pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.time64("us"), pa.timestamp("us")]
    kinds += [pa.timestamp("us", "UTC"), pa.duration("us"), pa.decimal128(10, 2), pa.string()]
    items = ITEMS[draw(st.sampled_from(kinds))]
    pool = draw(st.lists(items, min_size=1, max_size=5))
    rows = draw(st.lists(st.none() | st.lists(st.sampled_from(pool), max_size=4), max_size=6))
    missing = st.sampled_from([None, float("nan"), np.float64("nan"), pd.NA, pd.NaT])
    into = st.sampled_from([list, tuple, set, frozenset, to_ndarray])
    column = pd.Series([None] * len(rows), dtype=object)
    for number, row in enumerate(rows):
        column.array[number] = draw(missing) if row is None else draw(into)(row)
    return column, rows


def to_ndarray(row):
    array = np.empty(len(row), object)
    array[:] = row
    return array


def as_sets(rows):
    return [None if row is None else sorted(set(row)) for row in rows]


def assert_canonical(itemsets):
    """What is promised of codes, offsets and vocabulary, item by item."""
    assert itemsets.codes.dtype == np.int32
    assert itemsets.offsets.dtype == np.int64
    assert itemsets.offsets[0] == 0
    assert itemsets.offsets[-1] == len(itemsets.codes)
    entries = itemsets.vocabulary.to_pylist()
    assert all(low < high for low, high in pairwise(entries))
    assert set(itemsets.codes.tolist()) == set(range(itemsets.n_items))
    for row, (start, stop) in enumerate(pairwise(itemsets.offsets.tolist())):
        codes = itemsets.codes[start:stop].tolist()
        assert all(low < high for low, high in pairwise(codes))
        assert itemsets.rows[start:stop].tolist() == [row] * len(codes)
        assert not (itemsets.nulls[row] and codes)


def message_chain(error):
    """All that a log would show of an error."""
    return "".join(traceback.format_exception(error))


# --- in and out again


@settings(max_examples=examples(120))
@given(arrow_columns())
def test_arrow_lists_come_back_as_sorted_sets(lists):
    itemsets = Itemsets.from_arrow(lists)
    assert_canonical(itemsets)
    released = itemsets.to_arrow()
    released.validate(full=True)
    assert released.to_pylist() == as_sets(lists.to_pylist())


@given(object_columns())
def test_object_columns_come_back_as_sorted_sets(column_and_rows):
    column, rows = column_and_rows
    itemsets = Itemsets.from_series(column)
    assert_canonical(itemsets)
    assert itemsets.to_arrow().to_pylist() == as_sets(rows)


@pytest.mark.parametrize("item_type", list(ITEMS), ids=str)
def test_item_type_is_kept_where_it_has_an_order(item_type):
    widened = {
        pa.float16(): pa.float32(),
        pa.string_view(): pa.string(),
        **{kind: pa.decimal128(kind.precision, kind.scale) for kind in NARROW_DECIMALS},
    }
    lists = pa.array([[], None], pa.list_(item_type))
    assert Itemsets.from_arrow(lists).to_arrow().type.value_type == widened.get(item_type, item_type)


def test_list_of_nothing_is_a_list_of_text():
    itemsets = Itemsets.from_series(pd.Series([[], None, ()], dtype=object))
    assert itemsets.to_arrow().to_pylist() == [[], None, []]
    assert itemsets.vocabulary.type == pa.string()


def test_both_zeros_are_one_positive_item():
    [[zero]] = Itemsets.from_arrow(pa.array([[-0.0, 0.0]])).to_arrow().to_pylist()
    assert not np.signbit(zero)


def test_nanoseconds_of_objects_are_kept_apart():
    moments = [pd.Timestamp(1), pd.Timestamp(2)]
    assert Itemsets.from_series(pd.Series([moments])).n_items == 2
    spans = [pd.Timedelta(1), pd.Timedelta(2)]
    assert Itemsets.from_series(pd.Series([spans])).n_items == 2


def test_integers_beyond_the_signed_ones_are_kept():
    itemsets = Itemsets.from_series(pd.Series([[2**64 - 1, 1], None], dtype=object))
    assert itemsets.vocabulary.to_pylist() == [1, 2**64 - 1]
    assert itemsets.lookup([2**64 - 1, 2**63]).tolist() == [1, -1]


def test_itemsets_describe_their_rows():
    itemsets = Itemsets.from_arrow(pa.array([["b", "a", "b"], None, [], ["a"]]))
    assert (itemsets.n_rows, itemsets.n_items) == (4, 2)
    assert itemsets.lengths.tolist() == [2, 0, 0, 1]
    assert itemsets.rows.tolist() == [0, 0, 3]
    assert itemsets.texts() == ["a", "b"]
    assert repr(itemsets) == "Itemsets(rows=4, items=2, occurrences=3)"


def test_texts_are_the_items_own():
    lists = pa.array([[dt.date(2020, 2, 1), dt.date(2019, 1, 1)]])
    assert Itemsets.from_arrow(lists).texts() == ["2019-01-01", "2020-02-01"]


@pytest.mark.parametrize("rows", [[["ab", "c"], ["c", "ab"], None], [["a" * 20], ["a" * 20], None]])
def test_lists_widen_and_text_is_in_a_dictionary_beyond_the_limit_of_arrow_offsets(monkeypatch, rows):
    lists = pa.array(rows)
    monkeypatch.setattr(module, "_OFFSET_LIMIT", 3)
    released = Itemsets.from_arrow(lists).to_arrow()
    assert pa.dictionary(pa.int32(), pa.string()) == released.type.value_type
    assert pa.types.is_large_list(released.type) == (len(rows[0]) == 2)
    assert released.to_pylist() == as_sets(rows)


@pytest.mark.parametrize(
    ("name", "rows", "items", "longest", "mean"),
    [("fimi_retail", 88162, 16470, 76, 10.31), ("bms_webview1", 59602, 497, 267, 2.51)],
)
def test_known_data_has_its_published_shape(data, name, rows, items, longest, mean):
    itemsets = Itemsets.from_arrow(pq.read_table(data / f"{name}.parquet")["items"])
    assert (itemsets.n_rows, itemsets.n_items, itemsets.lengths.max()) == (rows, items, longest)
    assert round(itemsets.lengths.mean(), 2) == mean


# --- what is refused, and how


@pytest.mark.parametrize(
    "rows",
    [
        [["a"], f"['{SECRET}']"],
        [["a"], SECRET],
        [["a"], {SECRET: 1}],
        [["a"], np.array(SECRET)],
        [["a"], np.array([[SECRET]])],
        [["a"], 5],
    ],
    ids=["list-like text", "text", "dict", "array without dimension", "matrix", "number"],
)
def test_rows_that_are_not_list_likes_are_refused(rows):
    column = pd.Series([None, *rows], dtype=object)
    with pytest.raises(ItemsetDtypeError, match="row 2") as caught:
        Itemsets.from_series(column)
    assert SECRET not in message_chain(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([SECRET], dtype="str"),
        pd.Series([SECRET], dtype="category"),
        pd.Series([SECRET], dtype=pd.ArrowDtype(pa.string())),
        pd.Series([1, 2]),
        pd.Series([{"a": SECRET}], dtype=pd.ArrowDtype(pa.struct([("a", pa.string())]))),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_that_are_not_lists_are_refused(column):
    with pytest.raises(ItemsetDtypeError, match=r"does not hold lists|is not a list") as caught:
        Itemsets.from_series(column)
    assert SECRET not in message_chain(caught.value)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")], ids=repr)
def test_missing_item_of_an_object_row_is_refused_with_its_row(missing):
    column = pd.Series([None, [], [2.5], [1.5, missing], [missing]], dtype=object)
    if missing is pd.NaT:
        column = column.map(lambda row: row and [x if x is missing else pd.Timestamp(x) for x in row])
    with pytest.raises(ItemsetDtypeError, match=r"row 3\n.*2 missing"):
        Itemsets.from_series(column)


@given(arrow_columns(), st.data())
def test_missing_item_of_an_arrow_row_is_refused_with_its_row(lists, data):
    rows = [None if row is None else list(row) for row in lists.to_pylist()]
    present = [number for number, row in enumerate(rows) if row is not None]
    value_type = lists.type.value_type
    plain = value_type.value_type if pa.types.is_dictionary(value_type) else value_type
    # The older versions of Arrow build half floats from NumPy's alone.
    if not present or pa.types.is_fixed_size_list(lists.type) or plain == pa.float16():
        return
    bad = data.draw(st.sampled_from(present))
    rows[bad].insert(data.draw(st.integers(0, len(rows[bad]))), None)
    with pytest.raises(ItemsetDtypeError, match=f"row {bad}\n.*1 missing"):
        Itemsets.from_arrow(pa.array(rows, pa.list_(plain)))


def test_missing_item_inside_a_dictionary_is_refused():
    items = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([SECRET, None]))
    with pytest.raises(ItemsetDtypeError, match="row 1") as caught:
        Itemsets.from_arrow(pa.ListArray.from_arrays(pa.array([0, 1, 2]), items))
    assert SECRET not in message_chain(caught.value)


def test_missing_item_under_a_null_row_does_not_count():
    values = pa.array(["a", None])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2]), values, mask=pa.array([False, True]))
    assert Itemsets.from_arrow(lists).to_arrow().to_pylist() == [["a"], None]


@pytest.mark.parametrize(
    "items",
    [
        [SECRET, 1],
        [SECRET, b"bytes"],
        [1, 2.5],
        [1, True],
        [[SECRET]],
        [(SECRET,)],
        [{SECRET: 1}],
        [SECRET.encode()],
        [SECRET + "\ud800"],
        [decimal.Decimal("Infinity")],
        [2**70],
        [2**63, -1],
        [1j],
        [pd.Period("2020")],
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)],
        [pd.Timestamp(0), pd.Timestamp(0, tz="UTC")],
        [dt.datetime(9999, 1, 1), pd.Timestamp(1)],
    ],
    ids=repr,
)
def test_items_without_one_exact_type_are_refused(items):
    for column in (pd.Series([items]), pd.Series([[item] for item in items])):
        with pytest.raises(ItemsetDtypeError) as caught:
            Itemsets.from_series(column)
        shown = message_chain(caught.value)
        assert SECRET not in shown
        assert str(2**70) not in shown
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "items",
    [
        pa.array([SECRET.encode()]),
        pa.array([SECRET.encode()], pa.binary(len(SECRET))),
        pa.array([SECRET.encode()], pa.binary_view()),
        pa.array([SECRET.encode()], pa.large_binary()),
        pa.array([{SECRET: 1}]),
        pa.array([[SECRET]]),
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int8(), [1]), pa.array([[1]], pa.list_(pa.int8(), 1))
        ),
        pa.RunEndEncodedArray.from_arrays([1], [SECRET], pa.run_end_encoded(pa.int32(), pa.string())),
    ],
    ids=lambda items: str(items.type).split("<")[0],
)
def test_arrow_items_without_order_or_text_are_refused(items):
    with pytest.raises(ItemsetDtypeError, match="no order or no text") as caught:
        Itemsets.from_arrow(pa.ListArray.from_arrays(pa.array([0, 1]), items))
    assert SECRET not in message_chain(caught.value)


# --- as_itemsets


def test_as_itemsets_keeps_index_and_name_of_a_series():
    column = pd.Series([{"b", "a"}, None], index=[7, 7], name="basket")
    result = as_itemsets(column)
    assert result.dtype == pd.ArrowDtype(pa.list_(pa.string()))
    assert result.index.tolist() == [7, 7]
    assert result.name == "basket"
    assert result.array._pa_array.to_pylist() == [["a", "b"], None]


@pytest.mark.parametrize(
    "lists",
    [[["b", "a"]], pa.array([["b", "a"]]), pa.chunked_array([[["b", "a"]]]), iter([("b", "a")])],
    ids=["list", "array", "chunks", "iterator"],
)
def test_as_itemsets_takes_whatever_holds_rows(lists):
    result = as_itemsets(lists, index=pd.Index(["x"]))
    assert list(result.items()) == [("x", ["a", "b"])]


def test_as_itemsets_does_not_parse_text():
    with pytest.raises(ItemsetDtypeError, match="row 0"):
        as_itemsets("ab")


# --- recode and lookup


@st.composite
def recodings(draw):
    """Rows of small numbers, and a new label, or none, for each item or occurrence."""
    rows = draw(st.lists(st.none() | st.lists(st.integers(0, 6), max_size=5), max_size=8))
    itemsets = Itemsets.from_arrow(pa.array(rows, pa.list_(pa.int64())))
    labels = draw(st.lists(st.text(max_size=2), min_size=1, max_size=5, unique=True))
    local = draw(st.booleans())
    size = len(itemsets.codes) if local else itemsets.n_items
    targets = draw(st.lists(st.integers(-1, len(labels) - 1), min_size=size, max_size=size))
    return itemsets, labels, np.array(targets, np.int32), local


@given(recodings())
def test_recoded_rows_are_those_of_a_naive_model(recoding):
    itemsets, labels, targets, local = recoding
    recode = itemsets.relabel if local else itemsets.recode
    result = recode(targets, pa.array(labels))

    expected = [None if null else set() for null in itemsets.nulls]
    for place, (row, code) in enumerate(zip(itemsets.rows, itemsets.codes, strict=True)):
        target = targets[place] if local else targets[code]
        if target >= 0:
            expected[row].add(labels[target])
    assert result.to_arrow().to_pylist() == as_sets(expected)
    assert_canonical(result)


def test_recode_of_items_is_not_taken_for_one_of_occurrences():
    # As many items as occurrences: only the name of the method can tell which is meant.
    itemsets = Itemsets.from_arrow(pa.array([["b"], ["a"]]))
    labels = pa.array(["x", "y"])
    targets = np.array([0, 1], np.int32)
    assert itemsets.recode(targets, labels).to_arrow().to_pylist() == [["y"], ["x"]]
    assert itemsets.relabel(targets, labels).to_arrow().to_pylist() == [["x"], ["y"]]


def test_recoded_itemsets_share_no_memory_with_their_origin():
    itemsets = Itemsets.from_arrow(pa.array([["a", "b"], None]))
    same = itemsets.recode(np.array([0, 1], np.int32), itemsets.vocabulary)
    for field in ("codes", "offsets", "nulls"):
        assert not np.shares_memory(getattr(itemsets, field), getattr(same, field))
    addresses = [
        {buffer.address for buffer in each.vocabulary.buffers() if buffer} for each in (itemsets, same)
    ]
    assert addresses[0].isdisjoint(addresses[1])


@given(st.sampled_from(list(ITEMS)), st.data())
def test_lookup_finds_what_occurs_and_nothing_else(item_type, data):
    pool = data.draw(st.lists(ITEMS[item_type], min_size=1, max_size=6))
    held = data.draw(st.lists(st.sampled_from(pool), max_size=6))
    itemsets = Itemsets.from_arrow(pa.array([held], pa.list_(item_type)))
    entries = itemsets.vocabulary.to_pylist()
    expected = [entries.index(item) if item in held else -1 for item in pool]
    assert itemsets.lookup(pool).tolist() == expected
    assert itemsets.lookup(pa.array(pool, item_type)).tolist() == expected


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        ([1, 2], [2, 2**40, 1.0], None),
        ([1, 2], [2, 2**40], [1, -1]),
        ([1, 2], [1.5, 2.0], [-1, 1]),
        ([1, 2], ["1", "tea"], [0, -1]),
        ([1, 2], ["tea"], [-1]),
        ([1, 2], [dt.date(2020, 1, 1)], [-1]),
        ([dt.date(2020, 1, 1)], [True, False], [-1, -1]),
        (["1", "tea"], [1, 7], [0, -1]),
        ([0.0, 1.5], [-0.0, 1.5, float("nan")], [0, 1, -1]),
        (["tea"], [None, "tea"], [-1, 0]),
        (["tea"], [], []),
        ([], ["tea", "rice"], [-1, -1]),
    ],
)
def test_lookup_answers_item_by_item_across_types(held, wanted, expected):
    itemsets = as_coded(held)
    if expected is None:
        with pytest.raises(ItemsetDtypeError):
            itemsets.lookup(wanted)
    else:
        assert itemsets.lookup(wanted).tolist() == expected
        assert [itemsets.lookup([item]).tolist() for item in wanted] == [[code] for code in expected]


def as_coded(items):
    return Itemsets.from_series(pd.Series([items], dtype=object))


@pytest.mark.parametrize("empty", [pa.array([], pa.date32()), pa.chunked_array([], pa.date32())])
def test_lookup_of_nothing_is_nothing(empty):
    assert as_coded([1]).lookup(empty).tolist() == []


def test_lookup_takes_dictionaries_and_chunks():
    itemsets = as_coded(["a", "b"])
    encoded = pa.array(["b", "x"]).dictionary_encode()
    assert itemsets.lookup(encoded).tolist() == [1, -1]
    assert as_coded([1, 2]).lookup(pa.array(["2", "x"]).dictionary_encode()).tolist() == [1, -1]
    assert itemsets.lookup(pa.chunked_array([encoded, encoded[1:]])).tolist() == [1, -1, -1]


def test_lookup_of_unwritable_text_does_not_show_it():
    with pytest.raises(ItemsetDtypeError) as caught:
        as_coded(["a"]).lookup([SECRET + "\ud800"])
    assert SECRET not in message_chain(caught.value)


# --- which column


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([None, np.nan, pd.NA, [1], "text", 5], dtype=object), True),
        (pd.Series(["text", [1]], dtype=object), False),
        (pd.Series([None, None], dtype=object), False),
        (pd.Series([frozenset("a")], dtype=object), True),
        (pd.Series([{"a": 1}], dtype=object), False),
        (pd.Series(["['a']"], dtype="str"), False),
        (pd.Series([None], dtype=pd.ArrowDtype(pa.list_(pa.int8()))), True),
        (pd.Series([None], dtype=pd.ArrowDtype(pa.list_view(pa.int8()))), True),
        (pd.Series([None], dtype=pd.ArrowDtype(pa.list_(pa.int8(), 2))), True),
        (pd.Series([None], dtype=pd.ArrowDtype(pa.struct([("a", pa.int8())]))), False),
        (pd.Series([1.5]), False),
    ],
)
def test_list_columns_are_told_by_dtype_and_first_value(column, expected):
    assert is_list_column(column) is expected


def test_only_list_column_is_found():
    frame = pd.DataFrame({"x": [1], 0: [["a"]], ("t", 1): ["b"]})
    assert find_column(frame) == 1
    assert find_column(frame, 0) == 1
    assert find_column(frame, ("t", 1)) == 2


def test_several_or_no_list_columns_are_an_error_that_names_columns():
    frame = pd.DataFrame({"x": [SECRET], "y": [1]})
    with pytest.raises(ColumnError, match="no list-valued column") as none:
        find_column(frame)
    assert f"'x': '{frame['x'].dtype}'" in str(none.value)
    assert SECRET not in message_chain(none.value)
    with pytest.raises(ColumnError, match=r"\['a', 3\]"):
        find_column(pd.DataFrame({"a": [[1]], "x": [1], 3: [[2]]}))


def test_duplicate_labels_are_refused_only_where_they_are_ambiguous():
    frame = pd.DataFrame([[1, 2, ["a"]]], columns=["x", "x", "items"])
    assert find_column(frame) == 2
    with pytest.raises(ColumnError, match="more than once"):
        find_column(frame, "x")
    with pytest.raises(ColumnError, match="does not exist"):
        find_column(frame, "y")


def test_only_frames_have_columns():
    with pytest.raises(ParameterError, match="Series"):
        find_column(pd.Series([["a"]]))


# --- nothing is left behind


def secret_lists(layout):
    """Lists that hold, or hide, the secret and show little of it."""
    match layout:
        case "dictionary":
            items = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1]), pa.array([SECRET, "a", "b"]))
            return pa.ListArray.from_arrays(pa.array([0, 2, 3]), items)
        case "null row":
            mask = pa.array([False, True, False])
            return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["a", SECRET, "b"]), mask=mask)
        case "slice":
            return pa.array([[SECRET], ["a"], ["b"], [SECRET]])[1:3]
        case "visible":
            return pa.array([[SECRET, "a"], ["b", SECRET]])


def parquet_bytes(lists):
    sink = io.BytesIO()
    pq.write_table(pa.table({"items": lists}), sink, compression="none")
    return sink.getvalue()


def ipc_bytes(lists):
    sink = io.BytesIO()
    table = pa.table({"items": lists})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def pickle_bytes(lists):
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    return pickle.dumps(lists) + pickle.dumps(frame)


@pytest.mark.parametrize("layout", ["dictionary", "null row", "slice", "visible"])
@pytest.mark.parametrize("write", [parquet_bytes, ipc_bytes, pickle_bytes])
def test_no_byte_of_a_removed_item_is_written(layout, write):
    itemsets = Itemsets.from_arrow(secret_lists(layout))
    kept = [code for code, text in enumerate(itemsets.texts()) if text != SECRET]
    targets = np.full(itemsets.n_items, -1, np.int32)
    targets[kept] = kept
    released = itemsets.recode(targets, itemsets.vocabulary)
    assert released.texts() == ["a", "b"]
    assert SECRET.encode() not in write(released.to_arrow())
    assert SECRET.encode() not in pickle.dumps(released)


@pytest.mark.parametrize("layout", ["dictionary", "null row", "slice"])
def test_hidden_items_would_have_been_written(layout):
    lists = secret_lists(layout)
    assert SECRET.encode() in pickle_bytes(lists)
    assert SECRET not in str(lists.to_pylist())
