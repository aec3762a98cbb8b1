"""What every relational algorithm promises, whatever columns it is given."""

from __future__ import annotations

import datetime as dt
import inspect
import io
import pickle
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SECRET, frame_of
from families import FORMATIONS, RELATIONAL

import pdanon
from pdanon import KAnonymity
from pdanon.algorithms.relational.quasi import Classes

RANDOM = {"cluster", "k_member"}
algorithms = pytest.mark.parametrize("name", RELATIONAL)


def run(name, frame, **asked):
    arguments = {"k": 2, "quasi": ["q"]} | ({"random_state": 0} if name in RANDOM else {}) | asked
    return RELATIONAL[name](frame, **arguments)


def arrow(values, kind):
    return pd.array(values, dtype=pd.ArrowDtype(kind))


DAYS = ["2020-01-01", "2020-03-01", "2020-03-02", "2021-01-01", "2021-05-05", "2021-05-05", "2024-02-29"]
TEXTS = ["a", "b", "a", "c,d", "(a,b)", "d", "d"]
NUMBERS = [4, 1, 9, 4, 4, -7, 2]
# What pandas 2 and 3 make of text, and of times.
TEXT, TIME = str(pd.Series([""]).dtype), str(pd.to_datetime(["2020-01-01"]).dtype)

GRADES = ["best", "good", "fair", "poor", "bad"]
ORDERED = [2, 1, -7, 9, 4]
ORDERS = [GRADES, [*map(str, ORDERED)], ["(0, 10]", "(10, 20]", "(20, 30]"]]

# The values of a column, and the kind of its release: what an interval is of, or text.
COLUMNS = {
    "integers": (NUMBERS, "int64"),
    "small integers": (np.array(NUMBERS, np.int8), "int64"),
    "unsigned": (np.array([4, 1, 9, 4, 4, 2**64 - 1, 2], np.uint64), "uint64"),
    "large integers": ([2**63 - 1, -(2**63), 5, 5, 0, 1, 2], "int64"),
    "floats": ([0.5, -0.0, 0.0, 1e300, -1e308, 1.5, 1.7e308], "float64"),
    "floats next to each other": ([0.0, 5e-324, 0.0, 5e-324, 0.0, 0.0, 5e-324], "float64"),
    "floats and none": ([0.5, np.nan, 0.25, np.nan, 4, 4.5, 4.5], "float64"),
    "integers and none": (pd.array([4, None, 9, 4, 4, None, 2], dtype="Int64"), "float64"),
    "arrow integers": (arrow(NUMBERS, pa.int32()), "int64"),
    "arrow floats": (arrow([0.5, None, 0.25, None, 4, 4.5, 4.5], pa.float32()), "float64"),
    "decimals": (arrow([Decimal(n) / 4 for n in NUMBERS], pa.decimal128(6, 2)), "float64"),
    "times": (pd.to_datetime(DAYS), TIME),
    "times and none": (pd.to_datetime([*DAYS[:-1], None]), TIME),
    "times of a zone": (pd.to_datetime(DAYS).tz_localize("Europe/Athens"), f"{TIME[:-1]}, Europe/Athens]"),
    "durations": (pd.to_timedelta(NUMBERS, unit="D"), "timedelta64"),
    "arrow times": (arrow(pd.to_datetime(DAYS).to_pydatetime(), pa.timestamp("ms")), "datetime64[ms]"),
    "dates": ([dt.date.fromisoformat(day) for day in DAYS], "datetime64[ms]"),
    "booleans": ([True, False, True, True, False, True, True], "str"),
    "nullable booleans": (pd.array([True, None, True, None, False, True, True], dtype="boolean"), "str"),
    "text": (TEXTS, "str"),
    "text and none": (["a", None, "a", "<NA>", "<NA>", None, "d"], "str"),
    "objects": (np.array(["a", None, "a", np.nan, "b", pd.NA, "d"], dtype=object), "str"),
    "arrow text": (arrow(TEXTS, pa.string()), "str"),
    "arrow dictionary": (
        arrow(pa.array(TEXTS).dictionary_encode(), pa.dictionary(pa.int32(), pa.string())),
        "str",
    ),
    "categories": (pd.Categorical(TEXTS, categories=[*sorted(set(TEXTS)), SECRET]), "str"),
    "numbers as categories": (pd.Categorical([4, 1, None, 4, 4, 7, 2]), "str"),
    "ordered categories": (
        pd.Categorical(["poor", "good", "fair", "fair", "poor", "bad", "good"], GRADES, ordered=True),
        "str",
    ),
    "ordered categories and none": (
        pd.Categorical(["poor", None, "fair", "fair", None, "good", "good"], GRADES, ordered=True),
        "str",
    ),
    "numbers as ordered categories": (pd.Categorical(NUMBERS, ORDERED, ordered=True), "str"),
    "cut numbers": (pd.cut([1, 2, 11, 12, 13, 25, 30], [0, 10, 20, 30]), "str"),
    "one ordered category or none": (pd.Categorical(["a", None, *"aaaaa"], ["a"], ordered=True), "str"),
    "one number": ([3] * 7, "int64"),
    "one number or none": ([3.0, None, 3, 3, 3, 3, 3], "str"),
    "nothing": ([None] * 7, "str"),
    "no numbers": ([np.nan] * 7, "float64"),
}
columns = pytest.mark.parametrize("values", COLUMNS)


def frame_with(values):
    frame = frame_of([["x"], ["y"], [], None, ["x"], ["x", "y"], ["z"]])
    frame["q"] = values
    frame["sex"] = pd.Categorical(list("mfmfmfm"))
    frame["age"] = [30, 30, 41, 41, 41, 7, 8]
    frame["other"] = pd.Categorical(list("xyxyxyx"), categories=["x", "y", "unused"])
    frame.attrs["source"] = {"ward": [3]}
    return frame.set_axis([5, 5, 1, 0, 2, 3, 9])


def rows_of(frame, columns):
    """Rows as hashable tuples, missing values as None."""
    cells = [
        [None if missing else value for value, missing in zip(frame[c], frame[c].isna().array, strict=True)]
        for c in columns
    ]
    return [*zip(*cells, strict=True)]


def covers(released, original, domain):
    """Whether a published value can stand for an original one."""
    if " .. " in str(released):
        ends = released.split(" .. ")
        (order,) = (each for each in ORDERS if ends[0] in each)
        low, high = map(order.index, ends)
        return high - low == len(order) - 1 if original is None else low <= order.index(str(original)) <= high
    if original is None:
        return released is None or whole(released, domain) or "<NA>" in str(released)
    if isinstance(released, pd.Interval):
        value = pd.Timestamp(original) if isinstance(original, dt.date) else original
        return released.closed == "both" and released.left <= value <= released.right
    text = text_of(original)
    return released == text or (released[0] == "(" and text in unescaped(released))


def whole(released, domain):
    numbers = [value for value in domain if value is not None]
    return (
        isinstance(released, pd.Interval) and released.left == min(numbers) and released.right == max(numbers)
    )


def text_of(value):
    return str(value) if isinstance(value, pd.Interval) else pa.scalar(value).cast(pa.string()).as_py()


def unescaped(label):
    return label.replace("\\", "")


# --- for any column


@pytest.mark.one_in(9)
@algorithms
@columns
@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_any_column(name, values, k):
    frame = frame_with(COLUMNS[values][0])
    before = pickle.loads(pickle.dumps(frame))
    quasi = ["age", "q", "sex"]
    result = run(name, frame, k=k, quasi=quasi)
    pd.testing.assert_frame_equal(frame, before)
    assert frame.attrs == before.attrs
    out = result.frame
    # all else is as it was
    pd.testing.assert_index_equal(out.index, frame.index, exact=True)
    pd.testing.assert_index_equal(out.columns, frame.columns, exact=True)
    others = [column for column in frame if column not in quasi]
    pd.testing.assert_frame_equal(out[others], frame[others], check_categorical=False)
    assert out.attrs == frame.attrs
    # types depend on the column alone
    kind = COLUMNS[values][1]
    assert str(out["q"].dtype).startswith(TEXT if kind == "str" else f"interval[{kind}")
    assert out["age"].dtype == pd.IntervalDtype("int64", "both")
    assert out["sex"].dtype == TEXT
    # the guarantee, recounted
    rows = rows_of(out, quasi)
    sizes = Counter(rows)
    assert min(sizes.values()) >= k
    assert out.txanon.audit(result.guarantee).holds
    assert pdanon.audit(out, result.guarantee, independent=True).holds
    assert result.guarantee == KAnonymity(k, quasi=quasi)
    # truth
    for column in quasi:
        originals = [row[0] for row in rows_of(frame, [column])]
        for (released,), original in zip(rows_of(out, [column]), originals, strict=True):
            assert covers(released, original, originals)
    # classes and groups
    classes = result.classes
    assert [*classes.columns] == ["group", "size", *quasi]
    assert classes["group"].tolist() == [*range(len(sizes))]
    listed = rows_of(classes, quasi)
    assert classes["size"].tolist() == [sizes[row] for row in listed]
    assert [listed[group] for group in result.groups] == rows
    assert result.groups.drop_duplicates().tolist() == [*range(len(sizes))]
    pd.testing.assert_index_equal(result.groups.index, frame.index)
    assert [*result.loss.index] == ["NCP_relational"]
    assert 0 <= result.loss["NCP_relational"] <= 1
    assert len(result.mapping) == 0
    assert [*result.mapping] == ["group", "item", "generalized", "support"]
    # the same again
    again = run(name, frame, k=k, quasi=quasi)
    pd.testing.assert_frame_equal(again.frame, out)
    pd.testing.assert_frame_equal(again.classes, classes)


@pytest.mark.one_in(5)
@algorithms
@columns
def test_nothing_is_lost_where_nothing_must_be(name, values):
    frame = frame_with(COLUMNS[values][0])
    twice = pd.concat([frame, frame])
    result = run(name, twice)
    assert result.loss["NCP_relational"] == 0
    originals = [row[0] for row in rows_of(twice, ["q"])]
    for (released,), original in zip(rows_of(result.frame, ["q"]), originals, strict=True):
        if isinstance(released, pd.Interval):
            assert released.left == released.right
        else:
            assert (released is None) == (original is None)
            assert released is None or released == text_of(original)


@pytest.mark.parametrize("name", [name for name in RELATIONAL if name not in RANDOM])
def test_the_order_of_rows_does_not_matter(name):
    frame = frame_with(NUMBERS).reset_index(drop=True)
    quasi = ["q", "sex", "age"]
    result = run(name, frame, quasi=quasi)
    order = [6, 2, 0, 5, 4, 1, 3]
    pd.testing.assert_frame_equal(run(name, frame.iloc[order], quasi=quasi).frame, result.frame.iloc[order])


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_chance_comes_from_random_state(name):
    frame = pd.DataFrame({"q": np.arange(60) ** 2 % 101})
    release = run(name, frame, random_state=1).frame
    generator = np.random.default_rng(1)
    pd.testing.assert_frame_equal(run(name, frame, random_state=generator).frame, release)
    assert not run(name, frame, random_state=generator).frame.equals(release)


@algorithms
def test_hierarchies_of_every_kind(name):
    frame = frame_with([4, 1, 9, 4, None, 7, 2])
    tree = {"*": {"low": [1, 2], "high": [4, 7, 9]}}
    edges = pd.DataFrame({"child": ["m", "f"], "parent": ["any", "any"]})
    result = run(name, frame, quasi={"q": tree, "sex": edges, "age": 2})
    out = result.frame
    assert set(out["q"].dropna()) <= {"1", "2", "4", "7", "9", "low", "high", "*"}
    assert set(out["sex"]) <= {"m", "f", "any"}
    assert [str(dtype) for dtype in out[["q", "sex", "age"]].dtypes] == [TEXT] * 3
    assert min(Counter(rows_of(out, ["q", "sex", "age"])).values()) >= 2
    assert result.parameters["quasi"]["age"] == 2


@algorithms
def test_values_that_a_hierarchy_lacks_can_be_put_below_its_root(name):
    tree = pdanon.Hierarchy.from_dict({"*": {"A": ["a", "b"]}}, missing="root")
    frame = pd.DataFrame({"q": ["a", "b", "c", "c", None, None]})
    out = run(name, frame, quasi={"q": tree}).frame
    assert out["q"].iloc[2:].fillna("none").tolist() == ["c", "c", "none", "none"]
    assert out["q"].iloc[0] == out["q"].iloc[1] == "A"


# --- edges


@algorithms
def test_tables_without_rows(name):
    frame = pd.DataFrame({"q": pd.Series([], dtype="int64"), "t": pd.Series([], dtype="str")})
    result = run(name, frame, quasi=["q", "t"])
    assert len(result.frame) == len(result.classes) == 0
    assert result.frame["q"].dtype == pd.IntervalDtype("int64", "both")
    assert result.loss["NCP_relational"] == 0
    assert "classes    0" in repr(result)


@algorithms
def test_labels_that_are_no_text_and_columns_that_repeat(name):
    frame = pd.DataFrame([[1, 2, 2, 7], [1, 3, 3, 8], [4, 5, 5, 9]], columns=[0, "x", "x", ("size", 1)])
    result = run(name, frame, quasi=[0, ("size", 1)])
    assert [*result.frame.columns] == [*frame.columns]
    assert len(set(rows_of(result.frame, [0]))) == 1
    assert [*result.classes.columns] == ["group", "size", 0, ("size", 1)]
    frame = pd.DataFrame({"size": [1, 2, 3], "group": ["a", "a", "b"]})
    assert [*run(name, frame, quasi=["size", "group"]).classes.columns] == ["group", "size", "size", "group"]


# --- nothing is left behind


def parquet_bytes(frame):
    sink = io.BytesIO()
    frame.to_parquet(sink, compression=None)
    return sink.getvalue()


def ipc_bytes(frame):
    sink = io.BytesIO()
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


WRITERS = [parquet_bytes, ipc_bytes, pickle.dumps, lambda frame: frame.to_csv().encode()]


@pytest.mark.one_in(5)
@algorithms
@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda texts: texts,
        lambda texts: pd.Categorical(texts, categories=[*texts, f"{SECRET}-unused"]),
        lambda texts: arrow(texts, pa.string()),
        lambda texts: np.array(texts, dtype=object),
    ],
)
def test_values_that_became_nodes_are_not_released(name, write, make):
    texts = [f"{SECRET}-{number}" for number in range(6)]
    frame = pd.DataFrame({"q": make(texts), "number": range(6)})
    frame = pd.concat([frame.iloc[:0], frame])
    tree = {"all": {"one": texts[:3], "two": texts[3:]}}
    result = run(name, frame, quasi={"q": tree})
    assert SECRET.encode() in pickle.dumps(frame)
    for table in (result.frame, result.classes):
        assert SECRET.encode() not in write(table)
    assert SECRET not in repr(result)


@algorithms
@pytest.mark.parametrize("write", [parquet_bytes, ipc_bytes, pickle.dumps])
def test_numbers_within_a_range_are_not_released(name, write):
    hidden = 0x5A5BA5CBADEBAD
    frame = pd.DataFrame({"q": [1, hidden, 2 * hidden], "other": [1, 2, 3]})
    assert hidden.to_bytes(8, "little") in pickle.dumps(frame)
    result = run(name, frame, k=3)
    assert hidden.to_bytes(8, "little") not in write(result.frame)


@algorithms
def test_releases_can_be_written_and_read(name, tmp_path):
    frame = frame_with(COLUMNS["times and none"][0])
    released = run(name, frame, quasi=["q", "age", "sex"]).frame
    pdanon.to_parquet(released, tmp_path / "released.parquet")
    again = pdanon.read_parquet(tmp_path / "released.parquet")
    pd.testing.assert_frame_equal(again[["q", "age", "sex"]], released[["q", "age", "sex"]])
    assert again.txanon.audit(KAnonymity(2, quasi=["q", "age", "sex"])).holds


# --- refusals


@algorithms
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": 8}, pdanon.InfeasibleError, "k=8, 7 rows"),
        ({"k": 1}, pdanon.ParameterError, "at least 2"),
        ({"quasi": []}, pdanon.ParameterError, "names no column"),
        ({"quasi": "q"}, pdanon.ParameterError, "list of columns"),
        ({"quasi": [["q"]]}, pdanon.ParameterError, "list of columns"),
        ({"quasi": ["q", "q"]}, pdanon.ParameterError, "twice"),
        ({"quasi": ["nowhere"]}, pdanon.ColumnError, "'nowhere' does not exist"),
        ({"quasi": ["q", "items"]}, pdanon.ColumnError, "is a list column"),
        ({"quasi": ["other"]}, pdanon.ColumnError, "more than once"),
        ({"quasi": 2}, pdanon.ParameterError, "list of columns"),
        ({"quasi": {}}, pdanon.ParameterError, "names no column"),
        ({"quasi": {"nowhere": 2}}, pdanon.ColumnError, "'nowhere' does not exist"),
        (
            {"quasi": {"q": {"A": ["b"]}}},
            pdanon.HierarchyError,
            r"4 of 4 items are not leaves(.|\n)*quasi\['q'\]",
        ),
        ({"quasi": {"q": True}}, pdanon.ParameterError, "fanout must be an integer of at least 2"),
        (
            {"quasi": {"q": (0.5, 2, 3)}},
            pdanon.ParameterError,
            r"not describe a hierarchy(.|\n)*quasi\['q'\]",
        ),
        ({"quasi": {"q": -1}}, pdanon.ParameterError, r"quasi\['q'\] must be a number in \[0, 1\]"),
        ({"quasi": {"q": (1.5, 2)}}, pdanon.ParameterError, r"quasi\['q'\] must be a number in \[0, 1\]"),
        ({"quasi": {"q": 0}}, pdanon.ParameterError, "all weights are 0"),
        (
            {"hierarchies": {"q": 2}},
            pdanon.ParameterError,
            r"no parameter 'hierarchies'(.|\n)*quasi=\{'age': 'ages.csv'",
        ),
    ],
)
def test_refusals(name, change, error, message):
    frame = frame_with([SECRET, "x", "y", "z", "z", "z", "z"])
    frame.insert(0, "other", 1, allow_duplicates=True)
    with pytest.raises(error, match=message) as caught:
        run(name, frame, **change)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, np.inf, -np.inf], pdanon.ParameterError, "2 rows"),
        (pd.array([2**53 + 1, None, 1], dtype="Int64"), pdanon.ParameterError, r"2\*\*53"),
        (np.array([SECRET, 1, 2], dtype=object), pdanon.ItemsetDtypeError, "have no common type"),
        (np.array([{SECRET: 1}, {}, {}], dtype=object), pdanon.ItemsetDtypeError, "have no common type"),
        ([1 + 2j, 1, 2], pdanon.ItemsetDtypeError, "have no common type"),
        (pd.interval_range(0, 3), pdanon.ItemsetDtypeError, "have no common type"),
    ],
)
def test_columns_that_are_no_quasi_identifiers(values, error, message):
    frame = pd.DataFrame({"q": values})
    with pytest.raises(error, match=message) as caught:
        run("mondrian", frame)
    assert "column 'q'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_too_many_levels_to_look_at():
    frame = pd.DataFrame({column: np.arange(1000) ** 3 % 997 for column in "abcdefg"})
    with pytest.raises(pdanon.ParameterError, match="7 columns") as caught:
        run("incognito", frame, quasi=[*frame])
    assert "mondrian" in str(caught.value)


# --- the audit


def test_the_table_of_classes_has_no_attributes_of_the_frame():
    frame = pd.DataFrame({"age": [1, 1, 2, 2]})
    frame.attrs["source"] = "ward 3"
    result = run("mondrian", frame, quasi=["age"])
    assert (result.classes.attrs, result.frame.attrs) == ({}, {"source": "ward 3"})


def test_audit_counts_classes_of_any_frame():
    frame = pd.DataFrame({"q": [1, 1, None, None, 3], "size": list("aabbb")})
    audit = pdanon.audit(frame, KAnonymity(2, quasi=["q", "size"]))
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert audit.threats.to_numpy().tolist() == [[3, "b", 1]]
    assert pdanon.audit(frame, KAnonymity(2, quasi=["size"])).holds
    assert len(pdanon.audit(frame, KAnonymity(2, quasi=["size"])).threats) == 0
    assert pdanon.audit(frame, KAnonymity(3, quasi=["size"])).rows_at_risk == 2


@pytest.mark.parametrize(
    "values",
    [
        [1, True],
        [0, 0.0],
        [Decimal("1.0"), Decimal("1.00")],
        [
            pd.Timestamp("2020-01-01", tz=zone) + pd.Timedelta(hours=more)
            for zone, more in (("UTC", 0), ("CET", 1))
        ],
        [pd.Interval(0, 1), pd.Interval(0, 1, closed="both")],
        [None, np.nan],
        [None, pd.NA],
        [np.nan, pd.NaT],
        [0.0, -0.0],
    ],
)
def test_objects_that_are_equal_and_look_different_are_no_class(values):
    frame = pd.DataFrame({"q": pd.Series(values, dtype=object)})
    assert pdanon.audit(frame, KAnonymity(2, quasi=["q"])).rows_at_risk == 2
    frame = pd.DataFrame({"q": pd.Series([*values, *values], dtype=object)})
    assert pdanon.audit(frame, KAnonymity(2, quasi=["q"])).holds
    assert pdanon.audit(frame, KAnonymity(3, quasi=["q"])).rows_at_risk == 4


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "double[pyarrow]", "interval"])
def test_zeros_that_look_different_are_no_class(dtype):
    values = pd.Series([0.0, -0.0, np.nan, -np.nan])
    if dtype == "interval":
        values = pd.Series(pd.IntervalIndex.from_arrays(values, [1.0, 1.0, np.nan, np.nan]))
    frame = pd.DataFrame({"q": values if dtype == "interval" else values.astype(dtype)})
    assert pdanon.audit(frame, KAnonymity(2, quasi=["q"])).rows_at_risk == 2
    assert pdanon.audit(pd.concat([frame, frame]), KAnonymity(2, quasi=["q"])).holds


class Masked(str):
    def __repr__(self):
        return "***"


def test_objects_that_look_alike_and_differ_are_no_class():
    frame = pd.DataFrame({"q": pd.Series([Masked("a"), Masked("b"), Masked("b")], dtype=object)})
    assert pdanon.audit(frame, KAnonymity(2, quasi=["q"])).rows_at_risk == 1


def test_values_that_cannot_be_compared_are_refused():
    frame = pd.DataFrame({"q": pd.Series([{SECRET: 1}, {SECRET: 1}], dtype=object)})
    with pytest.raises(pdanon.ColumnError, match="cannot be compared") as caught:
        pdanon.audit(frame, KAnonymity(2, quasi=["q"]))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", ["category", "Float64", "string"])
def test_what_is_missing_is_alike_however_it_was_written(kind):
    """In columns that write it in one way; objects may look different."""
    column = pd.Series([None, pd.NA, "1.0"], dtype=object).astype(kind)
    assert pdanon.audit(pd.DataFrame({"q": column}), KAnonymity(2, quasi=["q"])).rows_at_risk == 1


def test_a_release_without_its_guarantee_is_withheld(monkeypatch):
    def faulty(table, k, rng, most):
        return Classes.of_members(table, np.arange(table.n_rows))

    module = sys.modules[pdanon.mondrian.__module__]
    monkeypatch.setattr(module, "MONDRIAN", replace(module.MONDRIAN, form=faulty))
    with pytest.raises(pdanon.GuaranteeError, match="3 rows at risk"):
        run("mondrian", pd.DataFrame({"q": [1, 2, 3]}))


# --- the surface


@algorithms
def test_function_and_method_are_one(name):
    function = RELATIONAL[name]
    frame = frame_with(NUMBERS)
    method = getattr(frame.txanon, name)
    assert method.__doc__ == function.__doc__
    parameters = [*inspect.signature(function).parameters.values()]
    assert [*inspect.signature(method).parameters.values()] == parameters[1:]
    assert {parameter.kind for parameter in parameters[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert ("random_state" in inspect.signature(function).parameters) == (name in RANDOM)
    result = run(name, frame)
    asked = {"k": 2, "quasi": ["q"]} | ({"random_state": 0} if name in RANDOM else {})
    pd.testing.assert_frame_equal(method(**asked).frame, result.frame)
    assert set(result.parameters) == {"algorithm", *(p.name for p in parameters[1:])}
    assert result.parameters["algorithm"] == name


@algorithms
def test_docstring_has_all_its_parts(name):
    doc = inspect.getdoc(RELATIONAL[name])
    parts = ["Parameters", "Returns", "Raises", "Notes", "References", "Examples", "Guarantee:", "Cost:"]
    assert [part for part in parts if part not in doc] == []
    lines = doc[doc.index("Parameters") : doc.index("Returns")].splitlines()
    described = [name for line in lines if " : " in line for name in line.split(" : ")[0].split(", ")]
    assert described == [*inspect.signature(RELATIONAL[name]).parameters]


@algorithms
def test_progress_goes_to_stderr_alone(name, capsys):
    frame = pd.DataFrame({"q": [1, 5, 6, 9]})
    run(name, frame)
    assert capsys.readouterr() == ("", "")
    with pdanon.config(progress=True):
        run(name, frame)
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err


def test_registries_have_the_same_names():
    assert [*FORMATIONS] == [*RELATIONAL] == [function.__name__ for function in RELATIONAL.values()]


# --- real data


def naive_sizes(frame, columns):
    return Counter(zip(*(frame[column].astype(str).to_list() for column in columns), strict=True)).values()


def each_but(slow):
    """The algorithms, of which one takes seconds for this table, and less for the other."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name == slow)) for name in RELATIONAL]


@pytest.mark.slow
@pytest.mark.parametrize("name", each_but("full_subtree"))
@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")
def test_informs(name, data):
    path = data / "rt_informs2005.parquet"
    if not path.is_file():
        pytest.skip("no rt_informs2005")
    quasi = ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income"]
    trees = {column: data / "hierarchies" / f"informs2005_{column}_hierarchy.csv" for column in quasi[:-1]}
    frame = pq.read_table(path).to_pandas().drop(columns="DUPERSID")
    rows = frame if name != "k_member" else frame.iloc[:5000]
    result = run(name, rows, k=25, quasi={**dict.fromkeys(quasi), **trees})
    assert min(naive_sizes(result.frame, quasi)) >= 25
    assert 0 < result.loss["NCP_relational"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", each_but("cluster"))
@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")
def test_adult(name, data):
    path = data / "adult_arx_relational.parquet"
    if not path.is_file():
        pytest.skip("no adult_arx_relational")
    frame = pq.read_table(path).to_pandas()
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    trees = {column: data / "hierarchies" / f"adult_hierarchy_{column}.csv" for column in quasi}
    rows = frame if name != "k_member" else frame.iloc[:5000]
    result = run(name, rows, k=10, quasi={**dict.fromkeys(quasi), **trees})
    assert min(naive_sizes(result.frame, quasi)) >= 10
    assert 0 < result.loss["NCP_relational"] < 1
