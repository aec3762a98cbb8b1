"""Tables of polars, DuckDB and Arrow: what is read of them, and what comes back."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from itertools import product

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, row_lists
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon.errors import ColumnError, InfeasibleError, ItemsetDtypeError, ParameterError
from pdanon.itemsets.libraries import _read_table

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")

ROWS = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], [], None] * 2
TABLE = pa.table({"age": range(len(ROWS)), "items": pa.array(ROWS, pa.list_(pa.string()))})
FRAME = pd.DataFrame({"age": range(len(ROWS)), "items": ROWS})
LIBRARIES = {
    "polars": polars.from_arrow,
    "polars, lazy": lambda table: polars.from_arrow(table).lazy(),
    "DuckDB": duckdb.from_arrow,
    "Arrow": lambda table: table,
}
libraries = pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)


class Stream:
    """A table of a library that is unknown, which only exports a stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        if isinstance(self.table, BaseException):
            raise self.table
        return self.table.__arrow_c_stream__(requested_schema)


def arrow(table):
    return pa.table(table.collect() if isinstance(table, polars.LazyFrame) else table)


def rows_of(column):
    return [row and sorted(row) for row in column.to_pylist()]


# --- what functions take and return

TABLES = {
    "release": lambda table: pdanon.pcta(table, k=2, m=2).frame,
    "mapping": lambda table: pdanon.pcta(table, k=2, m=2).mapping,
    "legend": lambda table: pdanon.pcta(table, k=2, m=2).legend,
    "published": lambda table: pdanon.pcta(table, k=2, m=2).published["frame"],
    "unpacked": lambda table: [*pdanon.pcta(table, k=2, m=2)][1],
    "anonymize": lambda table: pdanon.anonymize(table, k=2, m=2).frame,
    "refine": lambda table: pdanon.refine(table, pdanon.pcta(table, k=2, m=2)).frame,
    "audit": lambda table: pdanon.audit(table, k=9, m=2).threats,
    "audit of a guarantee": lambda table: pdanon.KmAnonymity(k=9, m=2).audit(table).threats,
    "explain": lambda table: pdanon.pcta(table, k=4, m=2).explain("salt", table).threats,
    "risk": lambda table: pdanon.risk(table, k=3),
    "attack": lambda table: pdanon.attack(table, pdanon.pcta(table, k=2, m=2), random_state=0).cases,
    "profile": lambda table: pdanon.profile(table).supports,
    "compare": lambda table: pdanon.compare(table, {"pcta": {"k": 2, "m": 1}}),
    "tradeoff": lambda table: pdanon.tradeoff(table, k=[2], m=[1]),
    "apply_mapping": lambda table: pdanon.apply_mapping(table, pdanon.pcta(table, k=2, m=2).mapping),
    "to_long": lambda table: pdanon.to_long(table),
    "to_onehot": lambda table: pdanon.to_onehot(table),
    "workload": lambda table: pdanon.Workload.itemsets(table, n=3, size=1, random_state=0).queries,
    "answers": lambda table: (
        pdanon.Workload.itemsets(table, n=3, size=1, random_state=0)
        .are(table, pdanon.pcta(table, k=2, m=2))
        .table
    ),
    "errors of items": lambda table: pdanon.metrics.patterns.item_errors(table, pdanon.pcta(table, k=2, m=2)),
    "rules": lambda table: pdanon.metrics.patterns.rules(table, min_support=0.2, min_confidence=0.5),
    "errors of rules": lambda table: (
        pdanon.metrics.patterns.rule_errors(table, table, min_support=0.2, min_confidence=0.5).released
    ),
    "reconstruct": lambda table: pdanon.reconstruct(pdanon.disassociate(table, k=2, m=2), random_state=0)[0],
    "cahd": lambda table: pdanon.cahd(table, p=2, sensitive=["salt"]).classes,
}
TIMES = {"seconds", "memory"}


def comparable(frame):
    """A table of pandas as the columns that come back: indexes are columns, and times are left out."""
    frame = frame if type(frame.index) is pd.RangeIndex else frame.reset_index()
    return {
        str(name): [
            [*each] if hasattr(each, "__len__") and not isinstance(each, str) else each for each in column
        ]
        for name, column in frame.astype(object).where(frame.notna(), None).items()
        if name not in TIMES
    }


@pytest.mark.one_in(7)
@libraries
@pytest.mark.parametrize("call", TABLES.values(), ids=TABLES)
@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")
def test_tables_come_back_in_their_library(make, call):
    table = make(TABLE)
    returned, expected = call(table), call(FRAME)
    assert type(returned) is type(table)
    columns = {name: each.to_pylist() for name, each in zip(*parts(arrow(returned)), strict=True)}
    assert {name: each for name, each in columns.items() if name not in TIMES} == comparable(expected)


def parts(table):
    return table.column_names, table.columns


@libraries
def test_files_and_texts_are_those_of_pandas(make, tmp_path):
    table, result = make(TABLE), pdanon.pcta(make(TABLE), k=2, m=2)
    assert pdanon.fingerprint(table) == pdanon.fingerprint(FRAME)
    assert pdanon.fingerprint(result.frame) == pdanon.fingerprint(pdanon.pcta(FRAME, k=2, m=2).frame)
    pdanon.to_parquet(table, tmp_path / "table.parquet")
    assert rows_of(pa.array(pdanon.read_parquet(tmp_path / "table.parquet")["items"])) == rows_of(
        TABLE["items"]
    )
    pdanon.to_csv(table, tmp_path / "table.csv", separator=";")
    pdanon.to_csv(FRAME, tmp_path / "frame.csv", separator=";")
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "frame.csv").read_bytes()
    result.save(tmp_path / "release")
    assert pdanon.audit(pdanon.read_parquet(tmp_path / "release" / "frame.parquet"), result.guarantee).holds


@libraries
def test_tables_of_parameters_are_read(make):
    tree = pa.table({"leaf": ["rice", "salt", "tea"], "above": ["food", "food", "drink"], "top": ["all"] * 3})
    ages = pa.table({"leaf": [str(age) for age in range(12)], "top": ["all"] * 12})
    rules = pa.table({"known": [["rice"]], "sensitive": [["salt"]]})
    asked = [
        (pdanon.apriori, {"m": 2}, {"hierarchy": tree}),
        (pdanon.mondrian, {}, {"quasi": {"age": ages}}),
    ]
    for function, others, tables in asked:
        given = {name: translate(each, make) for name, each in tables.items()}
        expected = {name: translate(each, lambda table: table.to_pandas()) for name, each in tables.items()}
        released = function(make(TABLE), k=2, **others, **given).frame
        of_pandas = function(FRAME, k=2, **others, **expected).frame
        assert rows_of(arrow(released)["items"]) == rows_of(pa.array(of_pandas["items"]))
        assert [*map(str, arrow(released)["age"].to_pylist())] == [*map(str, of_pandas["age"])]
    guarantees = [pdanon.PSRules(rules=each, k=2, c=0.5) for each in (make(rules), rules.to_pandas())]
    threats = [pdanon.audit(FRAME, each).threats for each in guarantees]
    pd.testing.assert_frame_equal(*threats)
    mapping = pdanon.pcta(make(TABLE), k=2, m=2).mapping
    assert pdanon.PublicK(k=2, public=["tea"], mapping=mapping).audit(make(TABLE)).rows_at_risk >= 0


def translate(table, make):
    return {name: make(each) for name, each in table.items()} if isinstance(table, dict) else make(table)


@libraries
def test_lines_and_columns_become_lists(make):
    lines = make(pa.table({"who": [1, 1, 2], "what": ["tea", "rice", "tea"]}))
    ticks = make(pa.table({"rice": [1, 0], "tea": [1, 1]}))
    for table in (pdanon.from_long(lines, by="who", item="what"), pdanon.from_onehot(ticks)):
        assert type(table) is type(lines)
        assert rows_of(arrow(table).columns[-1]) == [["rice", "tea"], ["tea"]]


def test_columns_become_columns():
    texts = polars.DataFrame({"items": ["rice,tea", "tea", None]})
    made = texts.with_columns(pdanon.from_text(texts["items"], separator=","))
    assert made["items"].to_list() == [["rice", "tea"], ["tea"], None]
    assert pdanon.to_text(made["items"], separator=",").equals(texts["items"])
    column = pdanon.from_text(pa.chunked_array([["rice,tea", "tea"]]), separator=",")
    assert isinstance(column, pa.ChunkedArray)
    assert column.to_pylist() == [["rice", "tea"], ["tea"]]


def test_an_unknown_library_gets_arrow():
    result = pdanon.pcta(Stream(TABLE), k=2, m=2)
    assert isinstance(result.frame, pa.Table)
    assert rows_of(result.frame["items"]) == rows_of(pdanon.pcta(TABLE, k=2, m=2).frame["items"])


def test_the_first_table_decides():
    result = pdanon.pcta(polars.from_arrow(TABLE), k=2, m=2)
    assert isinstance(pdanon.attack(FRAME, result, random_state=0).cases, pd.DataFrame)
    assert isinstance(FRAME.txanon.attack(result, random_state=0).cases, pd.DataFrame)
    assert isinstance(pdanon.apply_mapping(FRAME, result.mapping), pd.DataFrame)
    assert isinstance(pdanon.attack(TABLE, result, random_state=0).cases, pa.Table)


def test_a_relation_stays_on_its_connection():
    with duckdb.connect() as connection:
        connection.register("source", TABLE)
        released = pdanon.pcta(connection.sql("select * from source"), k=2, m=2).frame
        assert connection.sql("select count(*) from released").fetchall() == [(len(ROWS),)]
        assert connection.sql("select count(*) from duckdb_views() where not internal").fetchall() == [(1,)]
    with duckdb.connect(config={"python_enable_replacements": False}) as closed:
        closed.register("source", TABLE)
        released = pdanon.pcta(closed.sql("select * from source"), k=2, m=2).frame
        assert len(released.fetchall()) == len(ROWS)  # on the default connection


def test_an_attempt_is_in_the_library_of_the_table():
    table = polars.from_arrow(TABLE)
    with pytest.raises(InfeasibleError) as caught:
        pdanon.coat(table, k=4, m=2, utility=[["rice"], ["tea"], ["salt"]], max_suppressed=0)
    assert isinstance(caught.value.partial.frame, polars.DataFrame)
    assert not caught.value.partial.holds


# --- types


def lists_of(kind, rows=ROWS):
    return pa.table({"items": pa.array(rows, kind)})


LAYOUTS = [
    *(pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.string_view())),
    *(pa.large_list(pa.string_view()), pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    pa.large_list(pa.dictionary(pa.int32(), pa.string())),
]


@pytest.mark.parametrize("kind", LAYOUTS, ids=str)
@pytest.mark.parametrize("asked", [{"k": 2}, {"k": 4}], ids=["one label", "sets"])
def test_lists_keep_their_layout(kind, asked):
    for algorithm, more in ((pdanon.pcta, {"m": 2}), (pdanon.suppress_to_k, {"public": ["rice", "tea"]})):
        result = algorithm(lists_of(kind), **asked, **more)
        assert result.frame.schema.field("items").type == kind
        expected = algorithm(FRAME[["items"]], **asked, **more).frame["items"]
        assert rows_of(result.frame["items"]) == rows_of(pa.array(expected))


@pytest.mark.parametrize("kind", [pa.list_(pa.int16()), pa.large_list(pa.int64())], ids=str)
def test_numbers_stay_numbers_unless_they_are_merged(kind):
    table = lists_of(kind, [[1, 2], [1, 3], [1, 2], [2], [], None])
    assert pdanon.suppress_to_k(table, k=2, public=[1, 2, 3]).frame.schema.field("items").type == kind
    merged = pdanon.pcta(table, k=2, m=2).frame.schema.field("items").type
    assert pa.types.is_large_list(merged) == pa.types.is_large_list(kind)
    assert merged.value_type == pa.string()


@pytest.mark.parametrize("kind", [pa.list_view(pa.string()), pa.list_(pa.string(), 2)], ids=str)
def test_other_layouts_become_lists(kind):
    table = lists_of(kind, [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], None])
    result = pdanon.pcta(table, k=2, m=2)
    assert pa.types.is_list(result.frame.schema.field("items").type)
    assert rows_of(result.frame["items"]) == [
        ["(rice,salt)", "tea"],
        ["(rice,salt)"],
        ["(rice,salt)", "tea"],
        None,
    ]


@pytest.mark.parametrize("inner", [polars.String, polars.Categorical], ids=str)
def test_lists_of_polars_keep_their_type(inner):
    table = polars.from_arrow(TABLE).cast({"items": polars.List(inner)})
    result = pdanon.pcta(table, k=4, m=2)
    assert result.frame.schema == table.schema


def test_an_enum_has_the_labels_of_the_release_only():
    rows = [["tea", "rice"], ["tea", SECRET, "rice"], ["tea", "rice"], ["rice", "tea"]]
    kind = polars.Enum(["tea", SECRET, "rice", "in no row"])
    table = polars.DataFrame({"items": rows}, schema={"items": polars.List(kind)})
    kept = pdanon.suppress_to_k(table, k=2, public=["tea", "rice", SECRET]).frame
    assert kept.schema["items"] == polars.List(polars.Enum(["tea", "rice"]))  # in the order of the table
    written = io.BytesIO()
    kept.write_ipc(written)
    assert SECRET.encode() not in written.getvalue()
    assert b"in no row" not in written.getvalue()
    merged = pdanon.pcta(table, k=2, m=1).frame
    (label,) = {*merged["items"].explode().cast(polars.String)} - {"tea", "rice"}
    assert merged.schema["items"].inner.categories.to_list()[-1] == label


def test_metadata_of_recoded_columns_is_dropped():
    noted = {"values": SECRET}
    codes = pa.array(["a", "b"] * 2).dictionary_encode()
    kinds = pa.string(), pa.dictionary(pa.int32(), pa.string())
    for kind, more in product(kinds, (noted, None)):
        lists = pa.list_(pa.field("item", kind, metadata=more))
        fields = [pa.field("sex", codes.type, metadata=noted), pa.field("items", lists, metadata=noted)]
        fields.append(pa.field("age", pa.int64(), metadata={"unit": "year"}))
        columns = [codes, pa.array([["tea"]] * 4, lists), pa.array([1] * 4)]
        table = pa.table(columns, schema=pa.schema(fields, metadata=noted))
        released = pdanon.rfirst(table, "items", k=4, m=1, quasi=["sex"], random_state=0).frame
        assert SECRET.encode() not in released.schema.serialize().to_pybytes()
        assert released.schema.field("age").metadata == {b"unit": b"year"}


def test_nothing_of_a_removed_item_is_in_the_bytes():
    rows = [["tea", "rice"], ["tea", SECRET, "rice"], ["tea", "rice"], ["rice", "tea"]]
    for inner in (polars.String, polars.Categorical):
        table = polars.DataFrame({"items": rows}, schema={"items": polars.List(inner)})
        released, written = (
            pdanon.suppress_to_k(table, k=2, public=["tea", "rice", SECRET]).frame,
            io.BytesIO(),
        )
        released.write_parquet(written)
        assert b"rice" in written.getvalue()
        assert SECRET.encode() not in written.getvalue() + pickle.dumps(released)


def test_other_columns_keep_their_types():
    kinds = {
        "day": polars.Date,
        "time": polars.Datetime("ms", "Europe/Berlin"),
        "span": polars.Duration("us"),
        "cost": polars.Decimal(9, 2),
        "ward": polars.Categorical,
        "grade": polars.Enum(["a", "b", "c"]),
        "small": polars.UInt8,
        "truth": polars.Boolean,
        "bytes": polars.Binary,
        "point": polars.Struct({"x": polars.Int32, "text": polars.String}),
        "lists": polars.List(polars.Int64),
        "nothing": polars.Null,
    }
    point, days = {"x": 1, "text": "here"}, polars.Series([18000, None, 19000], dtype=polars.Int32)
    columns = {
        **{"day": days, "time": days, "span": days, "cost": days, "ward": ["x", None, "y"]},
        **{"grade": ["a", None, "b"], "small": [1, None, 3], "truth": [True, None, False]},
        **{"bytes": [b"a", None, b""], "point": [point, None, point], "lists": [[1, 1], None, []]},
        "nothing": [None] * 3,
    }
    table = polars.DataFrame(columns).cast(kinds, strict=False)
    table = table.with_columns(items=polars.Series([["tea"], ["tea", "rice"], ["tea"]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pdanon.ReleaseWarning)
        released = pdanon.suppress_to_k(table, "items", k=2, public=["tea", "rice"]).frame
    assert released.schema == table.schema
    assert released.drop("items").equals(table.drop("items"))


def test_other_columns_of_duckdb_keep_their_types():
    kinds = ["uuid", "hugeint", "time", "interval", "map(int, text)", "blob", "json", "bit", "decimal(30, 3)"]
    kinds += ["timestamptz", "struct(x int, y text)", "union(x int, y text)", "int[3]", "utinyint"]
    columns = ", ".join(f"null::{kind} as column_{number}" for number, kind in enumerate(kinds))
    table = duckdb.sql(f"select {columns}, ['tea'] as items from range(3)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pdanon.ReleaseWarning)
        released = pdanon.suppress_to_k(table, "items", k=2, public=["tea"]).frame
    expected = duckdb.from_arrow(pa.table(table))  # without types that DuckDB does not export
    assert released.types == expected.types
    assert released.fetchall() == expected.fetchall()


def test_columns_with_one_name_twice_stay():
    twice = pa.table([[1, 2], [3, 4], [["tea"], ["tea"]]], names=["age", "age", "items"])
    released = pdanon.pcta(twice, k=2, m=2).frame
    assert released.column_names == twice.column_names
    sized = polars.DataFrame({"size": [1, 1, 2, 2], "group": ["a", "a", "b", "b"]})
    assert pdanon.mondrian(sized, k=2, quasi=["size", "group"]).classes.columns == [
        *("group", "size", "size_2", "group_2")
    ]


def test_columns_of_an_index_of_pandas_are_columns():
    table = pa.Table.from_pandas(FRAME.set_index(pd.Index([*"abcdefghijkl"], name="person")))
    released = pdanon.keep(table, "person").pcta(k=2, m=2).frame
    assert released.column_names == table.column_names


def test_values_are_shared():
    result = pdanon.pcta(TABLE, k=2, m=2)
    assert address(result.frame["age"]) == address(TABLE["age"])
    large = pa.concat_tables([TABLE] * 10_000).combine_chunks()
    before = pa.total_allocated_bytes()
    frame, _ = _read_table(large, "frame")
    assert len(frame) == 10_000 * len(ROWS)
    assert pa.total_allocated_bytes() - before < 10_000  # bytes, of 2 MB


def address(column):
    return column.chunk(0).buffers()[1].address


def test_chunks_are_read_as_one_table():
    parts = pa.concat_tables([TABLE.slice(0, 5), TABLE.slice(5, 0), TABLE.slice(5)])
    assert rows_of(pdanon.pcta(parts, k=2, m=2).frame["items"]) == rows_of(
        pdanon.pcta(TABLE, k=2, m=2).frame["items"]
    )


@settings(max_examples=examples(30))
@given(rows=row_lists(), k=st.integers(2, 4), inner=st.sampled_from([polars.String, polars.Categorical]))
def test_any_rows_of_polars(rows, k, inner):
    table = polars.DataFrame({"items": rows}, schema={"items": polars.List(inner)})
    frame = pd.DataFrame({"items": pdanon.as_itemsets(rows)})
    try:
        expected = pdanon.pcta(frame, k=k, m=2)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            pdanon.pcta(table, k=k, m=2)
        return
    result = pdanon.pcta(table, k=k, m=2)
    assert result.frame.schema == table.schema
    assert rows_of(result.frame["items"].to_arrow()) == rows_of(pa.array(expected.frame["items"]))


# --- results


def test_a_result_is_that_of_pandas_with_other_tables():
    table = polars.from_arrow(TABLE)
    result, expected = pdanon.pcta(table, k=2, m=2), pdanon.pcta(FRAME, k=2, m=2)
    assert isinstance(result, pdanon.Anonymized)
    assert result.frame is result.frame
    assert (repr(result), result._repr_html_()) == (repr(expected), expected._repr_html_())
    assert {"frame", "mapping", "explain"} <= {*dir(result)}
    with pytest.raises(AttributeError, match="no such attribute"):
        result.no_such_name  # noqa: B018
    with pytest.raises(TypeError, match="not a frame"):
        result["items"]
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert twin.frame.equals(result.frame)
    assert not pdanon.audit(table, k=9, m=2).holds
    assert pickle.loads(pickle.dumps(pdanon.audit(table, k=9, m=2))).threats.columns == [
        "itemset",
        "support",
        "why",
    ]


def test_a_stored_result_has_no_rows_of_the_original():
    table = polars.from_arrow(TABLE).with_columns(name=polars.lit(SECRET))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pdanon.ReleaseWarning)
        result = pdanon.disassociate(table, "items", k=2, m=2)
    assert SECRET.encode() not in pickle.dumps(result)


# --- what cannot be read

REFUSED = {
    "a lazy frame of a column that does not exist": (
        lambda: polars.from_arrow(TABLE).lazy().select("nothing"),
        (
            ParameterError,
            r"cannot be read(.|\n)*where: frame(.|\n)*ColumnNotFoundError(.|\n)*frame.collect\(\)",
        ),
    ),
    "a lazy frame that shows a value in its error": (
        lambda: polars.LazyFrame({"items": [SECRET]}).cast(polars.Int64),
        (ParameterError, "InvalidOperationError"),
    ),
    "a stream that raises": (
        lambda: Stream(ValueError(SECRET)),
        (ParameterError, r"ValueError(.|\n)*pyarrow.table\(frame\)"),
    ),
    "a query that fails": (
        lambda: duckdb.sql(f"select '{SECRET}'::int as items"),
        (ParameterError, "ConversionException"),
    ),
    "a table without lists": (
        lambda: polars.DataFrame({"items": ["rice,tea", "tea,salt"]}),
        (ColumnError, r"no list-valued column(.|\n)*from_text"),
    ),
    "no columns": (lambda: polars.DataFrame(), (ColumnError, "no columns")),
    "a column": (
        lambda: polars.Series("items", ROWS),
        (ParameterError, "pass the frame"),
    ),
    "lists of lists": (lambda: polars.DataFrame({"items": [[["tea"]]]}), (ItemsetDtypeError, "no order")),
    "a missing item": (lambda: polars.DataFrame({"items": [["tea", None]]}), (ItemsetDtypeError, "missing")),
    "several columns of lists": (
        lambda: polars.DataFrame({"one": [["tea"]], "two": [["tea"]]}),
        (ColumnError, "several list-valued"),
    ),
}


@pytest.mark.parametrize(("make", "expected"), REFUSED.values(), ids=REFUSED)
def test_refused_tables(make, expected):
    kind, message = expected
    with pytest.raises(kind, match=message) as caught:
        pdanon.pcta(make(), k=2, m=2)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_relation_of_a_closed_connection():
    connection = duckdb.connect()
    relation = connection.sql("select ['tea'] as items")
    connection.close()
    with pytest.raises(ParameterError, match="cannot be read"):
        pdanon.pcta(relation, k=2, m=2)


def test_an_interrupt_is_no_error_of_a_table():
    with pytest.raises(KeyboardInterrupt):
        pdanon.pcta(Stream(KeyboardInterrupt()), k=2, m=2)


# --- all functions


def public_functions():
    """The public functions, and the methods of public classes, with a parameter for a pandas frame."""
    modules = [pdanon, pdanon.constraints, pdanon.plotting, pdanon.metrics.classes]
    modules += [pdanon.metrics.patterns, pdanon.metrics.reconstruction]
    for module in modules:
        for name in module.__all__ if module is pdanon else vars(module):
            value = getattr(module, name)
            members = vars(value) if isinstance(value, type) else {name: value}
            of_module = module is pdanon or getattr(value, "__module__", "") == module.__name__
            for member in members.values() if of_module else ():
                function = getattr(member, "__func__", member)
                annotations = {**getattr(function, "__annotations__", {})}
                annotations.pop("return", None)
                public = getattr(function, "__name__", "_")[0] != "_"
                if public and any("pd.DataFrame" in str(each) for each in annotations.values()):
                    yield function


# Parts of plots, and `styled`, which formats frames of pandas for a notebook.
INTERNAL = {"draw_bands", "draw_lengths", "draw_risk", "draw_shares"}
INTERNAL |= {"check_columns", "check_tradeoff", "styled"}


def test_every_public_function_takes_tables():
    functions = {*public_functions()}
    assert {"pcta", "audit", "are", "ml2", "frontier", "explain"} <= {each.__name__ for each in functions}
    alone = {each.__name__ for each in functions if not hasattr(each, "__wrapped__")}
    assert {*alone} - INTERNAL == set()
