"""Long tables, one-hot tables and joined text, to lists and back."""

import ast
import datetime as dt
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import pdanon
from examples import ALL
from pdanon.errors import ColumnError, ItemsetDtypeError, NumbersWarning, ParameterError
from pdanon.io.forms import number_persons

rows_of_text = st.lists(
    st.lists(st.sampled_from(["a", "b", "ä b", "x;y", "1", "NA", ""]), max_size=4), max_size=8
)


def sets(series):
    """The rows of a list column as Python sets; None where they are missing."""
    return [None if isinstance(row, type(pd.NA)) else set(row) for row in series]


def lines_of(rows, rng):
    """A long table of some rows, shuffled; a person without items has a line without one."""
    lines = [(f"id{number}", item) for number, row in enumerate(rows) for item in (row or [None])]
    lines = [lines[i] for i in rng.permutation(len(lines))]
    return pd.DataFrame(lines, columns=["id", "item"])


# --- Long


@pytest.mark.parametrize("n_columns", [1, 2])
@given(numbers=st.lists(st.integers(0, 4), min_size=0, max_size=12))
def test_persons_are_numbered_as_they_first_appear(n_columns, numbers):
    ids = [pd.Series(numbers, dtype="int64"), pd.Series(numbers[::-1], dtype="int64")][:n_columns]
    found, count = number_persons(ids)
    persons = list(zip(*ids, strict=True))
    order = list(dict.fromkeys(persons))
    assert found.tolist() == [order.index(person) for person in persons]
    assert count == len(order)


@given(rows_of_text, st.integers(0, 9))
def test_long_tables_are_grouped_as_a_dict_of_sets_does(rows, seed):
    lines = lines_of(rows, np.random.default_rng(seed))
    expected = {}
    for each in lines.itertuples():
        named = isinstance(each.item, str) and each.item.strip()
        expected.setdefault(each.id, set()).update([each.item.strip()] if named else [])
    frame = pdanon.from_long(lines, by="id", item="item")
    assert sets(frame["item"]) == [*expected.values()]  # in the order in which they come
    assert frame.index.equals(pd.RangeIndex(len(expected)))


@pytest.mark.parametrize("by", ["who", ["shop", "who"]])
def test_the_column_of_persons_is_not_kept(by):
    lines = pd.DataFrame({"who": [1, 1, 2], "shop": [1, 1, 1], "what": ["x", "y", "x"]})
    with pytest.raises(ParameterError, match="the column of persons is never published") as caught:
        pdanon.from_long(lines, by=by, item="what", keep=["who"])
    assert caught.value.parts["where"] == "keep"


@given(rows_of_text)
def test_what_is_written_as_lines_is_read_back(rows):
    frame = pd.DataFrame({"age": np.arange(len(rows)) % 3, "items": pdanon.as_itemsets(rows)})
    lines = frame.txanon.to_long()
    assert list(lines) == ["row", "age", "items"]
    assert len(lines) == sum(len(set(row)) or 1 for row in rows)
    if len(lines) < 20 or lines["row"].nunique() < len(lines):
        back = pdanon.from_long(lines, by="row", item="items", keep=["age"])
        assert sets(back["items"]) == [{item.strip() for item in row} - {""} for row in rows]
        assert back["age"].tolist() == frame["age"].tolist()


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 3],
        [0.5, 2.0, 0.5],
        [True, False, True],
        [dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.date(2020, 1, 1)],
        pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01"]),
        [Decimal("1.5"), Decimal("2.5"), Decimal("1.5")],
        pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"]),
        pd.array(["b", "a", "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
        pd.array(["b", "a", "b"], dtype="string"),
        np.array(["b", "a", "b"], object),
    ],
)
def test_items_may_be_of_any_type_that_lists_may_hold(values):
    lines = pd.DataFrame({"id": [1, 1, 1], "item": values})
    frame = pdanon.from_long(lines, by="id", item="item")
    assert [set(row) for row in frame["item"]] == [set(lines["item"])]


def test_whole_numbers_beside_missing_ones_stay_whole():
    lines = pd.DataFrame({"id": [1, 1, 2], "item": [7.0, 7.0, None]})
    frame = pdanon.from_long(lines, by="id", item="item")
    assert frame["item"].tolist() == [[7], []]
    assert frame["item"].dtype.pyarrow_dtype.value_type == pa.int64()


def test_the_person_may_be_named_by_several_columns_and_is_not_kept():
    lines = pd.DataFrame({"shop": ["n", "n", "s"], "card": [1, 1, 1], "item": ["a", "b", "a"]})
    frame = pdanon.from_long(lines, by=["shop", "card"], item="item")
    assert list(frame) == ["item"]
    assert frame["item"].tolist() == [["a", "b"], ["a"]]


def test_a_kept_value_is_the_first_that_is_not_missing():
    lines = pd.DataFrame({"id": [1, 1, 2, 2], "age": [None, 40.0, None, None], "item": list("abab")})
    frame = pdanon.from_long(lines, by="id", item="item", keep=["age"])
    assert frame["age"].iloc[0] == 40
    assert pd.isna(frame["age"].iloc[1])


def test_conflicting_values_are_counted_or_the_first_is_taken():
    lines = pd.DataFrame({"id": [1, 1, 2, 3], "age": [40, 41, 50, 60], "item": list("abab")})
    with pytest.raises(ColumnError, match=r"(?s)'age'.*1 of 3 persons.*conflicts='first'"):
        pdanon.from_long(lines, by="id", item="item", keep=["age"])
    frame = pdanon.from_long(lines, by="id", item="item", keep=["age"], conflicts="first")
    assert frame["age"].tolist() == [40, 50, 60]


def test_a_table_without_lines_has_no_rows():
    lines = pd.DataFrame({"id": pd.array([], "int64"), "item": pd.array([], "str")})
    assert len(pdanon.from_long(lines, by="id", item="item")) == 0


@pytest.mark.parametrize(
    ("change", "options", "error", "match"),
    [
        ({"id": [1, None, 2]}, {}, ParameterError, r"1 of 3 lines"),
        ({"item": [["secret"], [], []]}, {}, ItemsetDtypeError, r"holds lists.*'item'"),
        ({"item": ["secret", 1, 2]}, {}, ItemsetDtypeError, "not of one known type"),
        ({"id": [{}, {}, {}]}, {}, ColumnError, "cannot be compared"),
        ({}, {"by": "ID"}, ColumnError, "does not exist"),
        ({}, {"by": []}, ParameterError, "names no column"),
        ({}, {"item": "items"}, ColumnError, "did you mean 'item'"),
        ({}, {"keep": ["item"]}, ParameterError, "several values per person"),
        ({}, {"keep": "age"}, ParameterError, "pass a list, even for one column"),
        ({}, {"conflicts": "frist"}, ParameterError, "did you mean 'first'"),
    ],
)
def test_lines_that_are_refused(change, options, error, match):
    lines = pd.DataFrame({"id": [1, 1, 2], "item": ["a", "b", "a"], **change})
    with pytest.raises(error, match="(?s)" + match) as caught:
        pdanon.from_long(lines, **{"by": "id", "item": "item", **options})
    assert "secret" not in str(caught.value)


def test_lines_of_as_many_persons_are_refused():
    lines = pd.DataFrame({"line": range(20), "item": list("ab") * 10})
    with pytest.raises(ParameterError, match=r"(?s)each line has another person.*customer number"):
        pdanon.from_long(lines, by="line", item="item")
    assert len(pdanon.from_long(lines[:19], by="line", item="item")) == 19


INVOICES = pd.DataFrame({"invoice": [*range(40)] * 2, "product": ["a", "b"] * 40})


@pytest.mark.parametrize(
    ("named", "customers", "told"),
    [
        (
            "customer",
            [n % 10 for n in range(40)],
            "40 rows, one per 'invoice', share 10 values of 'customer'",
        ),
        ("KundenNr", [n % 10 or None for n in range(40)], "36 rows, one per 'invoice', share 9 values of"),
        ("customer", [f"c{n % 39}" for n in range(40)], "40 rows, one per 'invoice', share 39 values"),
        ("customer", [*range(40)], None),
        ("customer", [None] * 40, None),
        ("customer", [{}] * 40, None),
        ("store", [n % 10 for n in range(40)], None),
    ],
)
def test_rows_that_are_parts_of_persons_are_warned_of(named, customers, told):
    lines = INVOICES.assign(**{named: customers * 2})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = pdanon.from_long(lines, by="invoice", item="product")
    assert [each.category for each in caught] == ([pdanon.PersonsWarning] if told else [])
    assert not told or (told in str(caught[0].message) and f"by={named!r}" in str(caught[0].message))
    assert frame.equals(pdanon.from_long(INVOICES, by="invoice", item="product"))


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_persons_where_it_would_be_no_news():
    lines = INVOICES.assign(customer=[n % 10 for n in range(40)] * 2)
    pdanon.from_long(lines.rename(columns={"invoice": "patient"}), by="patient", item="product")
    pdanon.from_long(lines, by=["customer", "invoice"], item="product")
    pdanon.from_long(lines[lines["invoice"] < 19], by="invoice", item="product")
    several = lines.assign(customer=range(80))  # of one invoice: no number of whose it is
    pdanon.from_long(several, by="invoice", item="product")
    pdanon.from_long(lines, by="invoice", item="customer")


def test_the_number_of_the_row_takes_no_name_that_is_there():
    frame = pd.DataFrame({"row": [1], "items": [["a"]]})
    with pytest.raises(ColumnError, match="by="):
        pdanon.to_long(frame)
    assert list(pdanon.to_long(frame, by="n")) == ["n", "row", "items"]


def test_a_bag_has_a_line_for_each_copy():
    frame = pd.DataFrame({"items": [["F", "F", "G"]]})
    assert pdanon.to_long(frame)["items"].tolist() == ["F", "F", "G"]


@pytest.mark.slow
def test_millions_of_lines():
    """More pairs of persons and items than 32 bits can number."""
    rng = np.random.default_rng(0)
    persons = rng.integers(0, 1_000_000, 10_000_000 if ALL else 2_000_000)
    items = pd.Categorical.from_codes(rng.integers(0, 5_000, len(persons)), [f"p{i}" for i in range(5_000)])
    lines = pd.DataFrame({"id": persons, "age": persons % 80, "item": items})
    frame = pdanon.from_long(lines, by="id", item="item", keep=["age"])
    assert (frame["age"] == pd.unique(persons) % 80).all()
    distinct = len(np.unique(persons * np.int64(5_000) + items.codes))
    assert int(frame["item"].itemset.lengths.sum()) == distinct


# --- One-hot


@given(rows_of_text)
def test_onehot_there_and_back(rows):
    frame = pd.DataFrame({"sex": list("fm" * 4)[: len(rows)], "items": pdanon.as_itemsets(rows)}, index=None)
    onehot = (
        frame.txanon.to_onehot(prefix="has_") if rows else pdanon.to_onehot(frame, "items", prefix="has_")
    )
    items = sorted({item for row in rows for item in row})
    assert list(onehot) == ["sex", *(f"has_{item}" for item in items)]
    for item in items:
        assert onehot[f"has_{item}"].tolist() == [item in row for row in rows]
    if any(item == "" for item in items) or not items:
        return
    back = pdanon.from_onehot(onehot.assign(who_has_it=1), prefix="has_")
    assert sets(back["items"]) == [set(row) for row in rows]
    assert back["who_has_it"].tolist() == [1] * len(rows)
    assert back["sex"].tolist() == frame["sex"].tolist()


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, 3],
        [True, False, True],
        [1.0, np.nan, 2.0],
        ["1", "0", "2"],
        ["true", "FALSE", "True"],
        ["1", "", "1.0"],
        [True, None, 1],
        pd.array([True, None, True], "boolean"),
        pd.array([1, None, 2], "Int8"),
        pd.array([1, None, 2], pd.ArrowDtype(pa.int64())),
        pd.arrays.SparseArray([1, 0, 1]),
        pd.Categorical(["1", "0", "1"]),
    ],
)
def test_what_says_that_a_row_has_an_item(values):
    frame = pd.DataFrame({"tea": values, "rice": [0, 1, 1]}, index=[5, 6, 7])
    result = pdanon.from_onehot(frame)
    assert result["items"].tolist() == [["tea"], ["rice"], ["rice", "tea"]]
    assert result.index.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "values", [[1, 0, -1], [0.5, 0, 1], ["yes", "no", "yes"], [1, 0, np.inf], [dt.date.today()] * 3]
)
def test_other_values_are_refused_with_the_column(values):
    frame = pd.DataFrame({"tea": values, "rice": [0, 1, 1]})
    with pytest.raises(ColumnError, match=r"(?s)'tea'.*1 of 2 columns.*columns="):
        pdanon.from_onehot(frame)
    assert pdanon.from_onehot(frame, columns=["rice"])["items"].tolist() == [[], ["rice"], ["rice"]]


@pytest.mark.parametrize("years", [[1971, 2004, 1], ["1971", "2004", "1996"]])
def test_a_column_of_numbers_among_the_items_is_told(years):
    frame = pd.DataFrame({"Action": [0, 1, 0], "year": years})
    with pytest.warns(
        NumbersWarning, match=r"a number in every row .*: 'year'\n  hint:  .*columns="
    ) as caught:
        result = pdanon.from_onehot(frame, columns=["Action", "year"])
    assert caught[0].filename == __file__
    assert result["items"].tolist() == [["year"], ["Action", "year"], ["year"]]


@pytest.mark.parametrize("counts", [[2, 0, 12], [2, None, 12], [1, 1, 12], [1, 1, 1], []])
def test_counts_are_no_such_numbers(counts):
    pdanon.from_onehot(pd.DataFrame({"eggs": pd.Series(counts, dtype="float64")}))  # warnings are errors


def test_columns_of_items_that_are_refused():
    frame = pd.DataFrame({"has_tea": [1], "has_": [1], "items": [1]})
    with pytest.raises(ColumnError, match="no column begins"):
        pdanon.from_onehot(frame, prefix="had")
    with pytest.raises(ParameterError, match="no name"):
        pdanon.from_onehot(frame, prefix="has_")
    with pytest.raises(ColumnError, match="name="):
        pdanon.from_onehot(frame, columns=["has_tea"])
    with pytest.raises(ParameterError, match="exclude each other"):
        pdanon.from_onehot(frame, columns=["has_tea"], prefix="has_")
    with pytest.raises(ColumnError, match="prefix="):
        pdanon.to_onehot(pd.DataFrame({"tea": [1], "items": [["tea"]]}))


# --- Text


@given(
    st.lists(
        st.one_of(st.none(), st.lists(st.sampled_from(["a", "b c", "ä", "NA", "x,y"]), max_size=4)),
        max_size=8,
    )
)
def test_text_there_and_back(rows):
    series = pdanon.as_itemsets(rows).rename("items")
    series.index = pd.Index(range(5, 5 + len(rows)))
    texts = series.itemset.to_text(separator="; ")
    assert [None if pd.isna(text) else text for text in texts] == [
        None if row is None else "; ".join(sorted(set(row))) for row in rows
    ]
    if any(";" in text for text in texts.dropna()):
        pd.testing.assert_series_equal(pdanon.from_text(texts, separator=";"), series)


def test_blanks_around_items_are_read_alike_in_all_forms():
    texts = [["tea", "tea "], [" tea", "rice"], ["  "], ["\u00a0rice\t"]]
    lines = pd.Series(texts, name="item").explode().rename_axis("id").reset_index()
    ticked = pd.DataFrame([{text: 1 for text in items if text.strip()} for items in texts])
    expected = [["tea"], ["rice", "tea"], [], ["rice"]]
    for items in (
        pdanon.from_text(pd.Series([";".join(items) for items in texts]), separator=";"),
        pdanon.from_long(lines, by="id", item="item")["item"],
        pdanon.from_onehot(ticked)["items"],
    ):
        assert list(map(list, items)) == expected


@pytest.mark.parametrize(
    ("texts", "items"),
    [
        (["['a', 'b']", "['a']", "[]"], [["a", "b"], ["a"], []]),
        ([None, "['it', \"it's\"]", " ['a'] "], [None, ["it", "it's"], ["a"]]),
        (['["a"]', '["a","b"]', "nan"], None),  # of which the call reads the lists only
        (['["a"]', '["a","b"]', "[]"], [["a"], ["a", "b"], []]),
        (['{"a": 1, "b": 2}', "{}"], [["a", "b"], []]),
        (['[{"code": "a"}, {"code": "b"}]', "[]"], [["a", "b"], []]),
        (["{'a', 'b'}", "{'a'}"], [["a", "b"], ["a"]]),
        (["('a', 'b')", "('a',)", "()"], [["a", "b"], ["a"], []]),
        (["[1, 2]", "[3,4]", "[5]"], [[1, 2], [3, 4], [5]]),
        (["[a, b]", "[c]"], [["a", "b"], ["c"]]),
        (["[a]", "[]", "[]", "b,c"], None),
        (["[]", "a,b"], [[], ["a", "b"]]),
        (["['a' 'b']", "['c']"], None),  # of NumPy
    ],
)
def test_lists_in_text_are_refused_and_the_call_of_the_hint_reads_them(tmp_path, texts, items):
    frame = pd.DataFrame({"x": pd.Series(texts, dtype=object)})
    with pytest.raises(ParameterError, match=r"lists in the notation.*\n.*separator") as caught:
        pdanon.from_text(frame["x"], separator=",")
    frame.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(ParameterError, match=r"separator, .*in.csv, column 'x'(.*\n)*.*pd.read_csv\(path\)"):
        pdanon.read_csv(tmp_path / "in.csv", column="x", separator=",")
    if items is not None:
        call = caught.value.parts["hint"].partition(": ")[2].removesuffix(" makes lists")
        exec(call, {"frame": frame, "pdanon": pdanon, "ast": ast, "json": json})
        rows = frame["x"] if items[0] != [] else pdanon.from_text(frame["x"], separator=",")
        expected = [None if row is None else set(row) for row in items]
        assert [None if row is None or row is pd.NA or row != row else set(row) for row in rows] == expected


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["(a,b)|c", "(a,b)"], "|"),
        (["('n Beetje,b)|c", "('n Beetje,d)"], "|"),
        (["[1,5]|[6,9]", "[1,5]"], "|"),
        (["[tag one];[tag two]", "[tag one]"], ";"),
        (["(a) b, (c)", "(d), e"], ","),
        (["[x] y, z", "q"], ","),
        (["{a,b};{c}", "{a,b}"], ";"),
    ],
)
def test_labels_with_brackets_are_no_lists_in_text(texts, separator):
    found = pdanon.from_text(pd.Series(texts), separator=separator)
    assert sets(found) == [{each.strip() for each in text.split(separator)} for text in texts]


def test_an_item_of_one_column_has_a_name():
    with pytest.raises(ParameterError, match="an item has no name\n  where: columns"):
        pdanon.from_onehot(pd.DataFrame({"tea": [1], " ": [1]}))


def test_nothing_between_separators_is_no_item_and_blanks_are_none():
    texts = pd.Series([" a ;;b;", ";", "", None, "a"], dtype=object)
    assert sets(pdanon.from_text(texts, separator=";")) == [{"a", "b"}, set(), set(), None, {"a"}]


def test_a_separator_that_never_occurs_is_refused_with_those_that_do():
    texts = pd.Series(["secret|b", "c"])
    with pytest.raises(ParameterError, match=r"(?s)in no text.*';'.*'\|'") as caught:
        pdanon.from_text(texts, separator=";")
    assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"a text is one item"):
        pdanon.from_text(pd.Series(["a", "b"]), separator=";")
    assert sets(pdanon.from_text(pd.Series(["", None], dtype="str"), separator=";")) == [set(), None]


@pytest.mark.parametrize("values", [[1, 2], [["a"], ["b"]], ["a;b", 1], [dt.date.today()] * 2])
def test_what_is_not_text_is_not_split(values):
    with pytest.raises(ItemsetDtypeError):
        pdanon.from_text(pd.Series(values), separator=";")


@pytest.mark.parametrize("sep", ["", None, 1, "\0", "a\r", "\ud800"])
def test_separators_that_are_refused(sep):
    with pytest.raises(ParameterError, match="where: separator"):
        pdanon.from_text(pd.Series(["a;b"]), separator=sep)
    with pytest.raises(ParameterError, match="where: separator"):
        pdanon.to_text(pdanon.as_itemsets([["a"]]), separator=sep)


@pytest.mark.parametrize(("item", "sep"), [("a;b", ";"), ("", ";"), (" a", ";"), ("a:", "::")])
def test_items_that_could_not_be_read_back_are_refused(item, sep):
    with pytest.raises(ParameterError, match="1 of 2 items"):
        pdanon.to_text(pdanon.as_itemsets([[item, "q"]]), separator=sep)


@pytest.mark.parametrize(
    ("items", "hint"),
    [
        (["(a,b)"], r"such as ';'"),
        (["(a,b)", "c;d"], r"such as '\|'"),
        (["(a,b)", "c;d|"], "such as a tab"),
        ([",;|\t/\n "], "no item contains or ends with the beginning of .*, or write Parquet"),
    ],
)
def test_a_separator_that_fits_is_named(items, hint, tmp_path):
    rows = pdanon.as_itemsets([[*items, "q"]])
    with pytest.raises(ParameterError, match=hint):
        pdanon.to_text(rows, separator=",")
    with pytest.raises(ParameterError, match=hint):
        pdanon.to_csv(pd.DataFrame({"items": rows}), tmp_path / "a.csv", separator=",")
