"""Bad input is refused by an error of pdanon, and soon: never by one of what pdanon is built on."""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import bad_calls
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_values import RICE, TEA, TYPES
from conftest import frame_of

import pdanon
import pdanon.stream
from examples import examples
from pdanon import FormatError, Hierarchy, HierarchyError, ItemsetDtypeError, ParameterError

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working directory with the files that calls name."""
    monkeypatch.chdir(tmp_path)
    bad_calls.write_files()


def problems(calls):
    told = [(call.name[:200], bad_calls.problem_of(call)) for call in calls]
    return [each for each in told if each[1]]


def drawn(seed, count, among=lambda name: True):
    """Calls drawn at random, the same for a seed."""
    every = bad_calls.all_calls()
    random.Random(seed).shuffle(every)
    chosen = (call for call in (make() for make in every) if among(call.name))
    return [call for call, _ in zip(chosen, range(count), strict=False)]


def test_base_calls_are_good(files):
    """What is refused is refused for the argument that was replaced."""
    one_each = {"accessors.ItemsetAccessor.contains", "as_itemsets", "pcta", "Hierarchy.of", "audit"}
    assert [each.name for each in bad_calls.targets() if each.name in one_each] != []
    for each in bad_calls.targets():
        if each.name in one_each:
            each.function(**{name: value() for name, value in each.base.items()})


def test_every_public_function_is_called():
    called = {each.name for each in bad_calls.targets()}
    functions = {name for name in pdanon.__all__ if callable(getattr(pdanon, name))}
    classes = {name for name in functions if isinstance(getattr(pdanon, name), type)}
    assert functions - classes <= called
    assert {"Policy.run", "KLm", "KLm.audit", "Hierarchy.balanced", "TxanonAccessor.pcta"} <= called


def test_a_few_bad_calls(files):
    """Of functions that are quick."""
    quick = ("as_itemsets(", "Hierarchy.", "KmAnonymity(", "Policy(", "apply_mapping(", "utility.", "pcta(")
    assert problems(drawn(1, 20, lambda name: name.startswith(quick))) == []


@pytest.mark.slow
def test_500_bad_calls(files):
    wrong = bad_calls.warm_up()
    refused = {name for name in wrong if not name.startswith("dask.TxanonAccessor.")}  # some need all rows
    assert refused == set()
    assert problems(drawn(0, 500)) == []


# --- What was not refused, or by something else


def looked_up(frame):
    return pdanon.apply_mapping(pd.DataFrame({"items": [["a"]]}), frame, unseen="suppress")


MAPPING = pd.DataFrame({"group": [0, 0], "item": ["a", "b"], "generalized": ["x", "x"]})


def test_the_mapping_of_an_empty_table_knows_no_item():
    empty = pdanon.pcta(frame_of([[], []]), k=2, m=2).mapping
    assert looked_up(empty)["items"].tolist() == [[]]
    with pytest.raises(ParameterError, match="1 items in 1 rows"):
        pdanon.apply_mapping(frame_of([["a"]]), empty)


@pytest.mark.parametrize(
    "change",
    [
        {"item": ["a", 1]},
        {"item": [["a"], ["b"]]},
        {"generalized": [["x"], ["y"]]},
        {"generalized": ["x", 1]},
        {"generalized": pd.Series(["\ud800", "x"], dtype=object)},
        {"group": pd.array([0, None], dtype="Int64")},
    ],
    ids=str,
)
def test_a_mapping_of_mixed_values_is_refused(change):
    with pytest.raises((ItemsetDtypeError, ParameterError)):
        looked_up(MAPPING.assign(**change))


def test_a_mapping_with_a_column_twice_is_refused():
    with pytest.raises(ParameterError, match="twice"):
        looked_up(pd.concat([MAPPING, MAPPING["generalized"]], axis=1))


@pytest.mark.parametrize("seed", ["x", -1, 1.5, [1], True], ids=str)
@pytest.mark.parametrize("call", [pdanon.cluster, pdanon.k_member, pdanon.attack, pdanon.Workload.itemsets])
def test_a_seed_is_an_integer_from_0(call, seed):
    frame = frame_of([["a"], ["a"]]).assign(age=[1, 1])
    arguments = {"cluster": {"k": 2, "quasi": ["age"]}, "k_member": {"k": 2, "quasi": ["age"]}}
    asked = arguments.get(call.__name__, {})
    more = [pdanon.pcta(frame, k=2, m=1)] if call is pdanon.attack else []
    size = {"size": 1} if call == pdanon.Workload.itemsets else {}
    with pytest.raises(ParameterError, match="seed"):
        call(frame, *more, **asked, **size, random_state=seed)


def test_huge_numbers_are_counted_or_refused():
    frame = frame_of([["a", "b"], ["a", "b"], ["b"], ["b"]])
    released = pdanon.clump(frame, k=2, hierarchy=2, r=2**70, lookahead=2**70).frame
    pd.testing.assert_frame_equal(released, pdanon.clump(frame, k=2, hierarchy=2).frame)
    for count in (10**9, 2**70):
        with pytest.raises(ParameterError, match="at most 100,000,000"):
            pdanon.Workload.itemsets(frame, count, 1)
    with pytest.raises(ParameterError, match="must be a number in"):
        pdanon.coat(frame, k=2, m=1, utility=[["a", "b"]], max_suppressed=10**400)


def test_a_small_integer_type_does_not_wrap_around():
    frame = pd.DataFrame({"items": [["a"]] * 300, "age": np.arange(300) // 2})
    for k in (np.uint8(200), np.int8(100)):
        assert pdanon.mondrian(frame, k=k, quasi=["age"]).classes["size"].min() >= int(k)
        assert pdanon.keep(frame, "age").pcta(k=k, m=1).parameters["k"] == int(k)


@pytest.mark.parametrize("sep", [";;", "", None, "\n", '"', 5], ids=repr)
def test_fields_of_a_hierarchy_are_separated_by_one_character(tmp_path, sep):
    (tmp_path / "tree.csv").write_text("a;*\n")
    with pytest.raises(ParameterError, match="delimiter"):
        Hierarchy.from_csv(tmp_path / "tree.csv", delimiter=sep)
    with pytest.raises(ParameterError, match="delimiter"):
        Hierarchy.of({"*": ["a"]}).to_csv(tmp_path / "new.csv", delimiter=sep)


def test_a_hierarchy_that_cannot_be_read_names_its_file(tmp_path):
    for path in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(FormatError, match=str(path)):
            Hierarchy.from_csv(path)
        with pytest.raises(FormatError, match=str(path)):
            pdanon.apriori(frame_of([["a"], ["a"]]), k=2, hierarchy=path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.balanced("abc", 2.5),
        lambda: Hierarchy.balanced(None, 2),
        lambda: Hierarchy.prefixes(["abc"], [1.5]),
        lambda: Hierarchy.prefixes(["abc"], 3),
        lambda: Hierarchy.prefixes(["abc"], ["a"]),
        lambda: Hierarchy.of({"*": ["a"]}).children(5),
        lambda: pdanon.utility.by_size(None, 2),
        lambda: pdanon.Policy(input=5),
        lambda: pdanon.Policy(input="x"),
        lambda: pdanon.Policy(input="x\0.parquet"),
        lambda: pdanon.pcta(frame_of([["a"], ["a"]]), k=2, m=1).report(None),
        lambda: pdanon.pcta(frame_of([["a"], ["a"]]), k=2, m=1).report("x.html", original=5),
        lambda: pdanon.as_itemsets([["a"]]).itemset.generalize({"a": "\ud800"}),
    ],
)
def test_wrong_values_are_parameter_errors(make):
    with pytest.raises(ParameterError):
        make()


def test_half_of_a_surrogate_pair_is_no_name():
    with pytest.raises(HierarchyError, match="surrogate"):
        Hierarchy.of({"*": ["\ud800"]})


def test_a_missing_label_names_no_column():
    with pytest.raises(pdanon.ColumnError, match="does not exist"):
        pdanon.pcta(frame_of([["a"], ["a"]]), pd.NA, k=2, m=1)


@pytest.mark.parametrize(
    "kind", [pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())], ids=["struct", "map"]
)
def test_values_that_cannot_be_compared_are_no_quasi_identifiers(kind):
    values = [{"a": 1} if pa.types.is_struct(kind) else [("a", 1)]] * 2
    frame = frame_of([["a"], ["a"]]).assign(age=pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind)))
    for guarantee in (pdanon.KAnonymity(2, quasi=["age"]), pdanon.KKm(k=2, m=1, quasi=["age"])):
        with pytest.raises(pdanon.ColumnError, match="cannot be compared"):
            pdanon.audit(frame, guarantee)


# --- Columns that are named


def test_a_column_without_a_label_is_a_quasi_identifier():
    frame = pd.DataFrame({None: [1, 1, 2, 3], "items": [["a"]] * 4})
    assert pdanon.mondrian(frame, k=2, quasi=[None]).classes["size"].tolist() == [2, 2]
    assert pdanon.audit(frame, pdanon.KKm(k=2, m=1, quasi=[None])).rows_at_risk == 2
    objects = frame.set_axis(pd.Index([None, "items"], dtype=object), axis=1)
    assert pdanon.audit(objects, pdanon.KAnonymity(2, quasi=[None])).rows_at_risk == 2


@pytest.mark.parametrize(
    "rows",
    [pd.Series([None] * 3, dtype=object), pd.Series([np.nan] * 3), pd.Series([], dtype=object)],
    ids=["None", "NaN", "no rows"],
)
def test_a_column_of_missing_rows_is_one_of_lists_if_it_is_named(rows):
    frame = pd.DataFrame({"items": rows, "age": 1})
    for released in (
        frame.txanon.pcta("items", k=2, m=2).frame,
        frame.txanon.anonymize(pdanon.KmAnonymity(2, 2), "items").frame,
    ):
        assert released["items"].tolist() == [pd.NA] * len(rows)
        assert released["items"].dtype.name.startswith("list")
    assert frame.txanon.audit(pdanon.KmAnonymity(2), "items").holds
    with pytest.raises(pdanon.ColumnError, match="no list-valued column"):
        frame.txanon.pcta(k=2, m=2)
    numbers = pd.DataFrame({"items": [1.0, np.nan]})
    with pytest.raises(ItemsetDtypeError):
        pdanon.pcta(numbers, "items", k=2, m=2)


# --- Columns of any type in any role


def lines(column):
    return pd.DataFrame({"who": [1, 1, 2, 2], "what": [RICE, TEA] * 2, "x": column})


def rows(column):
    return pd.DataFrame({"lists": [[RICE], [RICE], [TEA], [TEA]], "x": column, "age": [30, 30, 40, 40]})


ROLES = {
    "item": lambda x: pdanon.from_long(lines(x), by="who", item="x"),
    "person": lambda x: pdanon.from_long(lines(x), by="x", item="what"),
    "persons": lambda x: pdanon.from_long(lines(x), by=["who", "x"], item="what"),
    "kept by from_long": lambda x: pdanon.from_long(lines(x), by="who", item="what", keep=["x"]),
    "first kept by from_long": lambda x: pdanon.from_long(
        lines(x), by="who", item="what", keep=["x"], conflicts="first"
    ),
    "box": lambda x: pdanon.from_onehot(lines(x)[["x"]]),
    "ticked box": lambda x: pdanon.from_onehot(lines(x)[["x"]], tick="1"),
    "beside boxes": lambda x: pdanon.from_onehot(lines(x)[["who", "x"]], columns=["who"], tick=1),
    "text": lambda x: pdanon.from_text(x, separator=";"),
    "lists": lambda x: pdanon.pcta(rows(x), "x", k=2, m=1),
    "series of lists": lambda x: x.itemset.supports(),
    "list column of an audit": lambda x: pdanon.audit(rows(x), pdanon.KmAnonymity(2), "x"),
    "list column of an attack": lambda x: pdanon.risk(rows(x), "x", k=2),
    "frame without lists": lambda x: pdanon.pcta(lines(x), k=2, m=1),
    "column without lists": lambda x: pdanon.pcta(lines(x)[["x"]], k=2, m=1),
    "unit": lambda x: pdanon.by(rows(x), "x").pcta(k=2, m=1),
    "item of units": lambda x: pdanon.by(lines(x), "who", item="x").pcta(k=2, m=1),
    "kept with units": lambda x: pdanon.by(lines(x), "who", item="what", keep=["x"]).pcta(k=2, m=1),
    "unit of an audit": lambda x: pdanon.by(rows(x), "x").audit(pdanon.KmAnonymity(2)),
    "item of an audit": lambda x: pdanon.by(lines(x), "who", item="x").audit(pdanon.KmAnonymity(2)),
    "beside an audit of units": lambda x: pdanon.by(lines(x), "who", item="what").audit(k=2),
    "unit of a risk": lambda x: pdanon.by(rows(x), "x").risk(k=2),
    "item of a risk": lambda x: pdanon.by(lines(x), "who", item="x").risk(k=2),
    "quasi of a risk": lambda x: pdanon.risk(rows(x), k=2, quasi=["x"]),
    "quasi of an audit": lambda x: pdanon.audit(rows(x), pdanon.KAnonymity(2, quasi=["x"])),
    "quasi of an audit of both": lambda x: pdanon.audit(rows(x), pdanon.KKm(k=2, m=1, quasi=["x"])),
    "quasi of mondrian": lambda x: pdanon.mondrian(rows(x), k=2, quasi=["x"]),
    "quasi of cluster": lambda x: pdanon.cluster(rows(x), k=2, quasi=["x"], random_state=0),
    "quasi of top_down": lambda x: pdanon.top_down(rows(x), k=2, quasi=["x", "age"]),
    "quasi of rfirst": lambda x: pdanon.rfirst(rows(x), k=2, m=1, quasi=["x"], delta=0.5, random_state=0),
    "quasi of anonymize": lambda x: pdanon.anonymize(
        rows(x), pdanon.KKm(k=2, m=1, quasi=["x"]), time_limit=1
    ),
    "kept": lambda x: repr(pdanon.keep(rows(x), "x").pcta(k=2, m=1)),
    "unmodified": lambda x: pdanon.pcta(rows(x), k=2, m=1).evidence("evidence.json", original=rows(x)),
    "kept by disassociate": lambda x: pdanon.keep(rows(x)[["lists", "x"]], "x").disassociate(k=2, m=1),
    "kept beside quasi": lambda x: pdanon.keep(rows(x), "x").mondrian(k=2, quasi=["age"]),
    "attacked": lambda x: pdanon.attack(
        rows(x), pdanon.keep(rows(x), "x").pcta(k=2, m=1), n=5, random_state=0
    ),
    "compared": lambda x: pdanon.compare(rows(x), {"pcta": {}}, k=2, m=1),
    "explored": lambda x: pdanon.profile(rows(x), k=2, m=1),
    "written to CSV": lambda x: pdanon.to_csv(rows(x), "out.csv", separator="|"),
    "written to Parquet": lambda x: pdanon.to_parquet(rows(x), "out.parquet"),
    "made long": lambda x: pdanon.to_long(rows(x), "lists"),
    "made onehot": lambda x: pdanon.to_onehot(rows(x), "lists"),
}


BY_LINES = [each for each in ROLES if "item" in each or "person" in each or "box" in each]


def refused_for_its_type(role, kind):
    problem = bad_calls.problem_of(bad_calls.Call(f"{kind} as {role}", lambda: ROLES[role](TYPES[kind]())))
    return problem and f"{kind} as {role}: {problem}"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("role", BY_LINES)
def test_a_column_of_any_type_in_a_long_or_onehot_table_is_read_or_refused(place, role):
    assert [*filter(None, (refused_for_its_type(role, kind) for kind in TYPES))] == []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("role", [each for each in ROLES if each not in BY_LINES])
def test_a_column_of_any_type_elsewhere_is_read_or_refused(place, role):
    tried = some_types(role, [*ROLES])
    assert [*filter(None, (refused_for_its_type(role, kind) for kind in tried))] == []


@pytest.mark.parametrize("kind", TYPES)
def test_values_of_any_type_are_told_apart_by_their_text(kind):
    """Those of a type that is refused are so after the call of the hint."""
    column = TYPES[kind]()
    values = [None if pd.api.types.is_scalar(value) and pd.isna(value) else repr(value) for value in column]
    per_person = [len({*values[begin : begin + 2]} - {None}) for begin in (0, 2)]
    if kind not in ("lists of lists", "tuples of dates"):  # rows of items
        found = read_by_hint(lambda frame: pdanon.from_long(frame, by="who", item="x"), lines(column))
        assert found["x"].map(len).tolist() == per_person
    if None not in values:
        found = read_by_hint(lambda frame: pdanon.from_long(frame, by="x", item="what"), lines(column))
        assert len(found) == len({*values})


def read_by_hint(read, frame):
    """What a function returns for a frame, or after the call that its error names."""
    try:
        return read(frame)
    except (pdanon.ColumnError, ItemsetDtypeError, ParameterError) as error:
        hint = error.parts["hint"].replace("such as frame['x'].", "make them text: frame['x'] = frame['x'].")
        call = hint.partition("make them text: ")[2]
    frame = frame.copy()
    exec(call or "raise AssertionError", {"frame": frame, "pd": pd})
    return read(frame)


FILES = {
    "item": lambda: pdanon.stream.from_long("lines.parquet", "out.parquet", by="who", item="x"),
    "person": lambda: pdanon.stream.from_long("lines.parquet", "out.parquet", by="x", item="what"),
    "item of units": lambda: pdanon.stream.by("lines.parquet", "who", item="x").audit(KM),
    "unit": lambda: pdanon.stream.by("lines.parquet", "x", item="what").audit(KM),
    "quasi": lambda: pdanon.stream.audit("rows.parquet", KKM),
    "kept": lambda: pdanon.stream.pcta("rows.parquet", "out.parquet", k=2, m=1, keep=["x"]),
    "generalized": lambda: pdanon.stream.mondrian("rows.parquet", "out.parquet", k=2, quasi=["x"]),
}
PARTITIONS = {
    "item of units": lambda lines, _: lines.txanon.by("who", item="x").audit(KM),
    "unit": lambda lines, _: lines.txanon.by("x", item="what").audit(KM),
    "quasi": lambda _, rows: rows.txanon.audit(KKM),
    "generalized": lambda _, rows: rows.txanon.mondrian(k=2, quasi=["x"]),
}
KM, KKM = pdanon.KmAnonymity(2), pdanon.KKm(k=2, m=1, quasi=["x"])
NOT_IN_DASK = ("months", "dense union", "view", "runs")  # Dask itself refuses most of these


@pytest.mark.one_in(4)
@pytest.mark.parametrize("role", FILES)
def test_a_column_of_any_type_in_a_file_is_read_or_refused(place, role):
    assert [*filter(None, (refused_in_a_file(role, kind) for kind in some_types(role, [*FILES])))] == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("role", PARTITIONS)
def test_a_column_of_any_type_in_partitions_is_read_or_refused(place, role):
    dd = pytest.importorskip("dask.dataframe")
    importlib.import_module("pdanon.dask")  # adds the accessor
    kinds = [kind for kind in some_types(role, [*PARTITIONS]) if not any(map(kind.__contains__, NOT_IN_DASK))]
    frames = {kind: [make(TYPES[kind]()) for make in (lines, rows)] for kind in kinds}
    for kind, (long, wide) in frames.items():
        parts = [dd.from_pandas(each, npartitions=2) for each in (long, wide.assign(lists=LISTS))]
        call = bad_calls.Call(f"{kind} as {role}", lambda parts=parts: PARTITIONS[role](*parts))
        assert (kind, bad_calls.problem_of(call)) == (kind, None)


LISTS = pdanon.as_itemsets([[RICE], [RICE], [TEA], [TEA]])


def some_types(role, roles):
    kinds, first = [*TYPES], 11 * roles.index(role) % len(TYPES)
    return [*kinds[first:], *kinds[:first]][: examples(len(kinds), 4)]


def refused_in_a_file(role, kind):
    try:
        column = pa.array(TYPES[kind]())
        for name, frame in (("lines", lines([1] * 4)), ("rows", rows([1] * 4).assign(lists=LISTS))):
            table = pa.Table.from_pandas(frame).replace_schema_metadata(None)
            pq.write_table(table.set_column(table.column_names.index("x"), "x", column), f"{name}.parquet")
    except (pa.ArrowException, OverflowError):  # Parquet stores no such column
        return None
    Path("out.parquet").unlink(missing_ok=True)
    problem = bad_calls.problem_of(bad_calls.Call(f"{kind} as {role}", FILES[role]))
    return problem and f"{kind} as {role}: {problem}"
