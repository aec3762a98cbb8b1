"""Values for calls: a good frame and its release, and what is bad of all kinds, each made anew."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from conftest import SECRET

import pdanon

FLU, RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("flu", "rice", "salt", "tea"))
ROWS = [[RICE, TEA], [RICE, SALT], [RICE, TEA, FLU], [TEA], [RICE, SALT, FLU], [TEA, SALT], [], [RICE]]
TREE = {"all": {"food": [RICE, SALT], "other": [TEA, FLU]}}


def good_frame() -> pd.DataFrame:
    frame = pd.DataFrame({"items": ROWS})
    frame["age"] = [31, 32, 33, 34, 51, 52, 53, 54]
    frame["city"] = pd.Categorical([f"{SECRET}-{name}" for name in "xyxyxyxy"])
    return frame


@cache
def released(name: str = "pcta") -> Any:
    frame = good_frame()
    if name == "apriori":
        return pdanon.apriori(frame, k=2, m=2, hierarchy=TREE)
    if name == "cluster":
        return pdanon.cluster(frame, k=2, quasi=["age"], random_state=0)
    if name == "disassociate":
        return pdanon.disassociate(frame, k=2, m=2)
    if name == "cahd":
        return pdanon.cahd(frame, p=2, sensitive=[FLU])
    return pdanon.pcta(frame, k=2, m=2)


# --- What is bad


class Lookalike:
    """A frame of another library."""

    columns = ("items",)
    shape = (1, 1)

    def to_pandas(self) -> pd.DataFrame:
        return good_frame()

    def __len__(self) -> int:
        return 1


def cells(*values: Any) -> pd.Series:
    column = pd.Series([None] * len(values), dtype=object)
    for number, value in enumerate(values):
        column.array[number] = value
    return column


def arrow(values: Any, kind: pa.DataType) -> pd.Series:
    return pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind))


def arrow_column(values: Any) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([values])))


def storage(kind: Any, values: Any) -> pd.Series:
    return arrow_column(pa.ExtensionArray.from_storage(kind, values))


def mapping(**columns: Any) -> pd.DataFrame:
    good = {"group": [0, 0], "item": [RICE, TEA], "generalized": ["x", "x"], "support": [1, 1]}
    return pd.DataFrame({name: column for name, column in (good | columns).items() if column is not None})


def looped() -> dict[str, Any]:
    tree: dict[str, Any] = {"a": {}}
    tree["a"]["b"] = tree
    return tree


def deep(levels: int = 5000) -> dict[str, Any]:
    tree: Any = [RICE]
    for level in range(levels):
        tree = {str(level): tree}
    return tree


NUMBERS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "NA": lambda: pd.NA,
    "NaN": lambda: float("nan"),
    "NaT": lambda: pd.NaT,
    "True": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "10**9": lambda: 10**9,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "2**70": lambda: 2**70,
    "-2**70": lambda: -(2**70),
    "10**400": lambda: 10**400,
    "1e400": lambda: float("1e400"),
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "0.5": lambda: 0.5,
    "2.5": lambda: 2.5,
    "-0.1": lambda: -0.1,
    "Decimal": lambda: Decimal("0.3"),
    "Decimal NaN": lambda: Decimal("NaN"),
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(10**30 + 1, 10**30),
    "complex": lambda: 1j,
    "int64": lambda: np.int64(2),
    "uint8": lambda: np.uint8(2),
    "float16": lambda: np.float16(0.5),
    "float64 NaN": lambda: np.float64("nan"),
    "0-d array": lambda: np.array(2),
    "timedelta": lambda: pd.Timedelta("1s"),
    "timestamp": lambda: pd.Timestamp("2020-01-01"),
}
TEXTS: dict[str, Callable[[], Any]] = {
    "no text": lambda: "",
    "text": lambda: "x",
    "blank": lambda: " ",
    "long text": lambda: "x" * 100_000,
    "surrogate": lambda: "\ud800",
    "NUL": lambda: "\0",
    "NUL inside": lambda: "a\0.parquet",
    "NUL page": lambda: "a\0.html",
    "line feed": lambda: "\n",
    "quote": lambda: '"',
    "item": lambda: RICE,
    "bytes": lambda: b"\xff",
    "missing file": lambda: "missing.parquet",
    "missing directory": lambda: "missing/file.parquet",
    "missing csv": lambda: "missing.csv",
    "missing page": lambda: "missing/page.html",
    "directory": lambda: "directory",
    "directory.parquet": lambda: "directory.parquet",
    "directory.csv": lambda: "directory.csv",
    "directory.html": lambda: "directory.html",
    "path": lambda: Path("missing"),
    "path of a directory": lambda: Path("directory"),
    "path with NUL": lambda: Path("\0.parquet"),
    "path with a surrogate": lambda: Path("missing-\ud800.parquet"),
    "long path": lambda: Path("x" * 5000 + ".parquet"),
    "not Parquet": lambda: "not.parquet",
    "not UTF-8": lambda: "bytes.csv",
    "empty csv": lambda: "empty.csv",
    "empty toml": lambda: "empty.toml",
    "nul csv": lambda: "nul.csv",
    "wide csv": lambda: "wide.csv",
    "no lists": lambda: "no-lists.parquet",
    "device": lambda: "/dev/null",
    "uri": lambda: "s3x://nowhere/at/all",
    "wildcard": lambda: "[",
}
LISTS: dict[str, Callable[[], Any]] = {
    "[]": list,
    "()": tuple,
    "set()": set,
    "[[]]": lambda: [[]],
    "[[], [item]]": lambda: [[], [RICE]],
    "[None]": lambda: [None],
    "[[None]]": lambda: [[None]],
    "[NA]": lambda: [pd.NA],
    "[NaN]": lambda: [float("nan")],
    "[[NaN]]": lambda: [[float("nan")]],
    "[NaT]": lambda: [pd.NaT],
    "[1.5]": lambda: [1.5],
    "[1, 1]": lambda: [1, 1],
    "[0, 1]": lambda: [0, 1],
    "[2**70]": lambda: [2**70],
    "[10**9]": lambda: [10**9],
    "[True, False]": lambda: [True, False],
    "['a']": lambda: ["a"],
    "mixed": lambda: [RICE, 1],
    "mixed lists": lambda: [[RICE], [1]],
    "list and item": lambda: [[RICE], TEA],
    "item twice": lambda: [RICE, RICE],
    "list twice": lambda: [[RICE], [RICE]],
    "item twice in a list": lambda: [[RICE, RICE]],
    "unknown item": lambda: [SECRET],
    "unknown list": lambda: [[SECRET]],
    "nested": lambda: [[[RICE]]],
    "[surrogate]": lambda: ["\ud800"],
    "[[surrogate]]": lambda: [["\ud800"]],
    "[NUL]": lambda: ["\0"],
    "[[NUL]]": lambda: [["a\0"]],
    "[bytes]": lambda: [b"\xff"],
    "[object]": lambda: [object()],
    "[dict]": lambda: [{RICE: 1}],
    "['age', 'age']": lambda: ["age", "age"],
    "['items']": lambda: ["items"],
    "['items', 'age']": lambda: ["items", "age"],
    "['city']": lambda: ["city"],
    "[('age',)]": lambda: [("age",)],
    "[['age']]": lambda: [["age"]],
    "long list": lambda: ["x" * 100_000] * 3,
    "array": lambda: np.array([1, 2]),
    "2-d array": lambda: np.array([[1, 2], [3, 4]]),
    "float array": lambda: np.array([np.nan, np.inf]),
    "object array": lambda: np.array([RICE, None, 1], dtype=object),
    "Arrow array": lambda: pa.array([RICE]),
    "Arrow null array": lambda: pa.array([None]),
    "Arrow lists": lambda: pa.array([[RICE], None]),
    "Arrow structs": lambda: pa.array([{"a": RICE}]),
    "Arrow table": lambda: pa.table({"items": [[RICE]]}),
    "generator": lambda: (item for item in [RICE]),
    "failing generator": lambda: iter(["x", None, 1.5]),
    "range": lambda: range(3),
    "Index": lambda: pd.Index([1, 1]),
    "(1, 2, 3)": lambda: (1, 2, 3),
    "(5, 2)": lambda: (5, 2),
    "Series": lambda: pd.Series([RICE, TEA]),
    "empty Series": lambda: pd.Series([], dtype=object),
    "Series of bool": lambda: pd.Series([True, False], index=[RICE, SECRET]),
    "Series of NA": lambda: pd.Series([pd.NA, pd.NA]),
    "Series by item twice": lambda: pd.Series([0.5, 0.5], index=[RICE, RICE]),
    "Series by mixed": lambda: pd.Series([0.5, "x"], index=[RICE, 1]),
    "Series of levels": lambda: pd.Series([1], index=pd.MultiIndex.from_tuples([(RICE, 1)])),
    "object": object,
    "class": lambda: int,
    "function": lambda: len,
    "failing function": lambda: [].__getitem__,
    "slice": lambda: slice(None),
    "generator of random numbers": lambda: np.random.RandomState(0),
}
DICTS: dict[str, Callable[[], Any]] = {
    "{}": dict,
    "{item: 1}": lambda: {RICE: 1},
    "{item: 2}": lambda: {RICE: 2},
    "{item: NaN}": lambda: {RICE: float("nan")},
    "{item: NA}": lambda: {RICE: pd.NA},
    "{item: -1}": lambda: {RICE: -1},
    "{item: 2**70}": lambda: {RICE: 2**70},
    "{item: 1e400}": lambda: {RICE: float("1e400")},
    "{item: None}": lambda: {RICE: None},
    "{item: 'x'}": lambda: {RICE: "x"},
    "{item: surrogate}": lambda: {RICE: "\ud800"},
    "{item: NUL}": lambda: {RICE: "\0"},
    "{item: no text}": lambda: {RICE: ""},
    "{surrogate: 'x'}": lambda: {"\ud800": "x"},
    "{surrogate: leaf}": lambda: {"\ud800": [RICE]},
    "{'x': [surrogate]}": lambda: {"x": ["\ud800"]},
    "{'x': [None]}": lambda: {"x": [None]},
    "{'x': [mixed]}": lambda: {"x": [RICE, 1]},
    "{'x': {}}": lambda: {"x": {}},
    "{'x': []}": lambda: {"x": []},
    "{'x': 'x'}": lambda: {"x": "x"},
    "{'x': 1}": lambda: {"x": 1},
    "{None: 1}": lambda: {None: [RICE]},
    "{1: [item]}": lambda: {1: [RICE], "x": [TEA]},
    "{NaN: [item]}": lambda: {float("nan"): [RICE]},
    "upside down": lambda: {RICE: "food", SALT: "food", "food": "all"},
    "list upside down": lambda: {RICE: ["food"], SALT: ["food"]},
    "repeated leaf": lambda: {"a": [RICE], "b": [RICE]},
    "loop": looped,
    "deep": deep,
    "{'age': 1}": lambda: {"age": 1},
    "{'age': 2**70}": lambda: {"age": 2**70},
    "{'age': 'missing'}": lambda: {"age": "missing.csv"},
    "{'age': None}": lambda: {"age": None},
    "{'age': {}}": lambda: {"age": {"all": ["31"]}},
    "{'k': 'x'}": lambda: {"k": "x"},
    "{'pcta': 5}": lambda: {"pcta": 5},
    "{'pcta': {}}": lambda: {"pcta": {}},
    "{'pcta': unknown}": lambda: {"pcta": {"k": 2, "x": 1}},
    "{'pcta': bad}": lambda: {"pcta": {"k": -1}},
    "{'x': {'k': 2}}": lambda: {"x": {"k": 2}},
    "{'k': []}": lambda: {"k": []},
    "{'k': [x]}": lambda: {"k": ["x", None]},
    "{'k': {}}": lambda: {"k": {}},
    "{1: 1.0}": lambda: {1: 1.0},
    "{1: NaN}": lambda: {1: float("nan")},
    "{10**9: 1}": lambda: {10**9: 1},
    "{1: 0}": lambda: {1: 0},
    "{'release': path}": lambda: {"release": Path("x\0.parquet")},
    "{'release': text}": lambda: {"release": "x.parquet"},
    "{'x': function}": lambda: {"x": len},
}
FRAMES: dict[str, Callable[[], Any]] = {
    "empty frame": pd.DataFrame,
    "no list column": lambda: good_frame().drop(columns="items"),
    "two list columns": lambda: good_frame().assign(more=ROWS),
    "list columns alike": lambda: good_frame().set_axis(["items", "items", "city"], axis=1),
    "columns alike": lambda: good_frame().set_axis(["items", "age", "age"], axis=1),
    "no rows": lambda: good_frame().iloc[:0],
    "no rows, objects": lambda: pd.DataFrame({"items": pd.Series([], dtype=object)}),
    "one row": lambda: good_frame().iloc[:1],
    "missing rows": lambda: pd.DataFrame({"items": cells(None, None), "age": [1, 1], "city": ["x", "x"]}),
    "NaN rows": lambda: pd.DataFrame({"items": [float("nan")] * 2, "age": [1, 1]}),
    "several levels": lambda: pd.concat({"a": good_frame()}, axis=1),
    "column None": lambda: good_frame().set_axis([None, "age", "city"], axis=1),
    "column NaN": lambda: good_frame().set_axis([float("nan"), "age", "city"], axis=1),
    "column 1": lambda: good_frame().set_axis([1, 2, 3], axis=1),
    "tuple columns": lambda: good_frame().set_axis(
        pd.Index([("a", 1), ("b", 2), "c"], tupleize_cols=False), axis=1
    ),
    "index alike": lambda: good_frame().set_axis([0] * 8),
    "index of levels": lambda: good_frame().set_index(["age", "city"], drop=False),
    "index of NA": lambda: good_frame().set_axis([None, pd.NA, float("nan"), 1, 2, 3, 4, 5]),
    "text rows": lambda: good_frame().assign(items=["x y"] * 8),
    "mixed rows": lambda: good_frame().assign(items=cells([RICE], "x", 1, None, {}, (), {RICE}, b"")),
    "dict rows": lambda: good_frame().assign(items=[{RICE: 1}] * 8),
    "mixed items": lambda: good_frame().assign(items=[[RICE, 1]] * 8),
    "missing items": lambda: good_frame().assign(items=[[RICE, None]] * 8),
    "NaN items": lambda: good_frame().assign(items=[[1.0, float("nan")]] * 8),
    "NaT items": lambda: good_frame().assign(items=[[pd.NaT]] * 8),
    "surrogate items": lambda: good_frame().assign(items=[["\ud800"]] * 8),
    "NUL items": lambda: good_frame().assign(items=[["\0", "a\0", "a"]] * 8),
    "bytes items": lambda: good_frame().assign(items=[[b"\xff"]] * 8),
    "huge items": lambda: good_frame().assign(items=[[2**70]] * 8),
    "complex items": lambda: good_frame().assign(items=[[1j]] * 8),
    "object items": lambda: good_frame().assign(items=[[object()]] * 8),
    "tuple items": lambda: good_frame().assign(items=[[(1, 2)]] * 8),
    "list items": lambda: good_frame().assign(items=[[[1, 2]]] * 8),
    "int items": lambda: good_frame().assign(items=[[1, 2]] * 8),
    "float items": lambda: good_frame().assign(items=[[0.5, float("inf")]] * 8),
    "decimal items": lambda: good_frame().assign(items=[[Decimal("NaN"), Decimal(1)]] * 8),
    "date items": lambda: good_frame().assign(items=[[pd.Timestamp("2020-01-01")]] * 8),
    "period items": lambda: good_frame().assign(items=[[pd.Period("2020")]] * 8),
    "bool items": lambda: good_frame().assign(items=[[True]] * 8),
    "2-d rows": lambda: good_frame().assign(items=cells(*[np.zeros((2, 2))] * 8)),
    "Arrow nulls": lambda: good_frame().assign(items=arrow([[None]] * 8, pa.list_(pa.null()))),
    "Arrow lists of lists": lambda: good_frame().assign(
        items=arrow([[[RICE]]] * 8, pa.list_(pa.list_(pa.string())))
    ),
    "Arrow structs": lambda: good_frame().assign(
        items=arrow([[{"a": 1}]] * 8, pa.list_(pa.struct([("a", pa.int64())])))
    ),
    "Arrow map": lambda: good_frame().assign(items=arrow([[("a", 1)]] * 8, pa.map_(pa.string(), pa.int64()))),
    "Arrow binary": lambda: good_frame().assign(items=arrow([[b"\xff"]] * 8, pa.list_(pa.binary()))),
    "Arrow durations": lambda: good_frame().assign(items=arrow([[1]] * 8, pa.list_(pa.duration("s")))),
    "struct column": lambda: good_frame().assign(age=arrow([{"a": 1}] * 8, pa.struct([("a", pa.int64())]))),
    "map column": lambda: good_frame().assign(age=arrow([[("a", 1)]] * 8, pa.map_(pa.string(), pa.int64()))),
    "list quasi": lambda: good_frame().assign(age=ROWS),
    "mixed quasi": lambda: good_frame().assign(age=cells(1, "x", None, pd.NA, 2.5, b"", (), pd.NaT)),
    "dict quasi": lambda: good_frame().assign(age=[{}] * 8),
    "surrogate quasi": lambda: good_frame().assign(age=cells(*["\ud800"] * 8)),
    "infinite quasi": lambda: good_frame().assign(
        age=[float("inf"), float("-inf"), 1, 2, 3, 4, 5, float("nan")]
    ),
    "huge quasi": lambda: good_frame().assign(age=cells(*[2**70 + row for row in range(8)])),
    "large quasi": lambda: good_frame().assign(age=[1e308, -1e308, 0, 1, 2, 3, 4, 5e-324]),
    "complex quasi": lambda: good_frame().assign(age=[1j] * 8),
    "decimal quasi": lambda: good_frame().assign(age=cells(*[Decimal("NaN"), *map(Decimal, range(7))])),
    "unsigned quasi": lambda: good_frame().assign(age=np.array([2**64 - 1, *range(7)], np.uint64)),
    "NA quasi": lambda: good_frame().assign(age=[pd.NA] * 8),
    "bool quasi": lambda: good_frame().assign(age=[True, False] * 4),
    "date quasi": lambda: good_frame().assign(age=pd.date_range("2020", periods=8)),
    "NaT quasi": lambda: good_frame().assign(age=[pd.NaT] * 8),
    "timedelta quasi": lambda: good_frame().assign(age=pd.timedelta_range("1s", periods=8)),
    "period quasi": lambda: good_frame().assign(age=pd.period_range("2020", periods=8)),
    "interval quasi": lambda: good_frame().assign(age=pd.interval_range(0, 8)),
    "sparse quasi": lambda: good_frame().assign(age=pd.arrays.SparseArray([0] * 8)),
    "empty category": lambda: good_frame().assign(age=pd.Categorical([None] * 8)),
    "category of mixed": lambda: good_frame().assign(age=pd.Categorical([1, "x", 2.5, b"", 1, 1, 1, 1])),
    "binary quasi": lambda: good_frame().assign(age=arrow([b"\xff"] * 8, pa.binary())),
    "other columns": lambda: good_frame().rename(columns={"items": "x", "age": "y"}),
    "other rows": lambda: good_frame().iloc[:5],
    "shuffled": lambda: good_frame().iloc[::-1],
    "other items": lambda: good_frame().assign(items=[[SECRET]] * 8),
    "Series instead": lambda: good_frame()["items"],
    "frame of another library": Lookalike,
    "Arrow table instead": lambda: pa.table({"items": ROWS}),
    "dict instead": lambda: {"items": ROWS},
    "class instead": lambda: pd.DataFrame,
    "edges": lambda: pd.DataFrame({"child": [RICE, TEA], "parent": ["x", "x"]}),
    "edges with NA": lambda: pd.DataFrame({"child": [RICE, None], "parent": ["x", pd.NA]}),
    "edges in a loop": lambda: pd.DataFrame({"child": ["a", "b"], "parent": ["b", "a"]}),
    "mixed edges": lambda: pd.DataFrame({"child": [RICE, 1], "parent": ["x", 2.5]}),
    "list edges": lambda: pd.DataFrame({"child": [[RICE]], "parent": [[TEA]]}),
    "surrogate edges": lambda: pd.DataFrame({"child": cells("\ud800"), "parent": ["x"]}),
    "edges alike": lambda: pd.DataFrame([[RICE, "x"]], columns=["child", "child"]),
    "blocks": lambda: pd.DataFrame({"item": [RICE, TEA], "block": [0, 1]}),
    "blocks of lists": lambda: pd.DataFrame({"item": [[RICE]], "block": [[0]]}),
    "blocks with NA": lambda: pd.DataFrame({"item": [RICE, None], "block": [0, None]}),
    "blocks alike": lambda: pd.DataFrame([[RICE, TEA, 1]], columns=["item", "item", "block"]),
    "blocks alike twice": lambda: pd.DataFrame([[RICE, 2, 1]], columns=["item", "block", "block"]),
    "mixed blocks": lambda: pd.DataFrame({"item": [RICE, 1], "block": ["a", 1]}),
    "huge blocks": lambda: pd.DataFrame({"item": [RICE, SALT, TEA, FLU], "block": [2**70, -1, 2.5, True]}),
    "good mapping": lambda: released().mapping,
    "empty mapping": lambda: released().mapping.iloc[:0],
    "mapping of an empty table": lambda: pdanon.pcta(pd.DataFrame({"items": [[], []]}), k=2, m=2).mapping,
    "mapping of half": lambda: released().mapping.iloc[:1],
    "mapping in objects": lambda: mapping(),
    "mapping without support": lambda: mapping(support=None),
    "mapping without item": lambda: mapping(item=None),
    "mapping, mixed items": lambda: mapping(item=[RICE, 1]),
    "mapping, missing items": lambda: mapping(item=[RICE, None]),
    "mapping, all items missing": lambda: mapping(item=[None, None]),
    "mapping, list items": lambda: mapping(item=[[RICE], [TEA]]),
    "mapping, int items": lambda: mapping(item=[1, 2]),
    "mapping, repeated items": lambda: mapping(item=[RICE, RICE]),
    "mapping, surrogate items": lambda: mapping(item=cells(RICE, "\ud800")),
    "mapping, lists": lambda: mapping(generalized=[["x"], ["y"]]),
    "mapping, ints": lambda: mapping(generalized=[1, 2]),
    "mapping, mixed labels": lambda: mapping(generalized=["x", 1]),
    "mapping, objects": lambda: mapping(generalized=cells(object(), object())),
    "mapping, surrogates": lambda: mapping(generalized=cells("\ud800", "x")),
    "mapping, bytes": lambda: mapping(generalized=[b"\xff", b""]),
    "mapping, nothing left": lambda: mapping(generalized=[None, None]),
    "mapping, groups": lambda: mapping(group=[0, 1]),
    "mapping, text groups": lambda: mapping(group=["0", "x"]),
    "mapping, missing groups": lambda: mapping(group=[0, None]),
    "mapping, list groups": lambda: mapping(group=[[0], [0]]),
    "mapping, categories": lambda: mapping(
        generalized=pd.Categorical(["x", "x"]), item=pd.Categorical([RICE, TEA])
    ),
    "mapping, columns alike": lambda: pd.DataFrame(
        [[0, RICE, "x", "x"]], columns=["group", "item", "generalized", "generalized"]
    ),
    "mapping, items alike": lambda: pd.DataFrame(
        [[0, RICE, TEA, "x"]], columns=["group", "item", "item", "generalized"]
    ),
    "mapping, levels": lambda: pd.concat({"a": mapping()}, axis=1),
    "queries of unknown items": lambda: pd.DataFrame({"items": [[SECRET]]}),
    "queries of nothing": lambda: pd.DataFrame({"items": cells(None, [])}),
    "queries on unknown columns": lambda: pd.DataFrame({"items": [[RICE]], "x": [1]}),
    "queries on mixed values": lambda: pd.DataFrame({"items": [[RICE]] * 2, "age": [1, "x"]}),
    "queries on lists": lambda: pd.DataFrame({"items": [[RICE]], "age": cells([1, 2, 3])}),
    "table of text": lambda: pd.DataFrame({"algorithm": ["a"], "k": ["x"], "NCP": ["y"], "risk": ["z"]}),
    "table of NA": lambda: pd.DataFrame({"algorithm": [None], "k": [None], "NCP": [None], "risk": [None]}),
}
OBJECTS: dict[str, Callable[[], Any]] = {
    "guarantee": lambda: pdanon.KmAnonymity(2, 2),
    "TransactionalK": lambda: pdanon.TransactionalK(k=2),
    "Coherence": lambda: pdanon.Coherence(h=0.5, k=2, p=2, private=[SECRET]),
    "PublicK": lambda: pdanon.PublicK(k=2, public=[SECRET]),
    "LmDiversity": lambda: pdanon.LmDiversity(l=2, m=2, sensitive=[SECRET]),
    "RhoUncertainty": lambda: pdanon.RhoUncertainty(rho=0.5, sensitive=[SECRET]),
    "KAnonymity": lambda: pdanon.KAnonymity(2, quasi=["x"]),
    "KAnonymity of lists": lambda: pdanon.KAnonymity(2, quasi=["items"]),
    "KKm": lambda: pdanon.KKm(k=2, m=2, quasi=["city"], columns=["age"]),
    "KLm": lambda: pdanon.KLm(k=2, l=2, m=2, quasi=["age"], sensitive=[SECRET]),
    "PrivacyConstraints": lambda: pdanon.PrivacyConstraints(constraints=[[SECRET]], k=2),
    "PSRules": lambda: pdanon.PSRules(rules=[([RICE], [SECRET])], k=2, c=0.5),
    "all rules": lambda: pdanon.constraints.AllRules(2, [SECRET]),
    "guarantee class": lambda: pdanon.KmAnonymity,
    "Hierarchy": lambda: pdanon.Hierarchy.of(TREE),
    "Hierarchy of others": lambda: pdanon.Hierarchy.of({"*": ["a", "b"]}),
    "result": lambda: released(),
    "relational result": lambda: released("cluster"),
    "Policy": lambda: pdanon.Policy.from_toml("good.toml"),
    "Workload": lambda: pdanon.Workload.from_frame(pd.DataFrame({"items": [[SECRET]]})),
    "all itemsets": lambda: pdanon.constraints.all_itemsets(pd.DataFrame({"items": [[SECRET]]}), 2),
}
# Columns of two values in four rows, of types that pandas or Arrow cannot compare, sort or convert.
_ENDS = pa.array([2, 4], pa.int32())
_RUNS = pa.array([RICE, TEA])
_TWICE = [0, 0, 1, 1]
TYPES: dict[str, Callable[[], pd.Series]] = {
    "period": lambda: pd.Series(pd.PeriodIndex(["2020-01", "2020-02"], freq="M").take(_TWICE)),
    "missing period": lambda: pd.Series(pd.PeriodIndex(["2020-01", "2020-01", "2020-02", None], freq="M")),
    "complex": lambda: pd.Series([1j, 1j, 2j, 2j]),
    "missing complex": lambda: pd.Series([1j, 1j, 2j, complex("nan")]),
    "sparse": lambda: pd.Series(pd.arrays.SparseArray(_TWICE)),
    "sparse float": lambda: pd.Series(pd.arrays.SparseArray([1.5, 1.5, 2, np.nan])),
    "sparse bool": lambda: pd.Series(pd.arrays.SparseArray([True, True, False, False])),
    "sparse text": lambda: pd.Series(pd.arrays.SparseArray([RICE, RICE, TEA, TEA])),
    "category of types": lambda: pd.Series(pd.Categorical([1, 1, RICE, TEA])),
    "category of periods": lambda: TYPES["missing period"]().astype("category"),
    "category of intervals": lambda: TYPES["interval"]().astype("category"),
    "category of Arrow": lambda: pd.Series([RICE, RICE, TEA, None], dtype="string[pyarrow]").astype(
        "category"
    ),
    "interval": lambda: pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2]).take(_TWICE)),
    "objects of types": lambda: cells(1, 1, RICE, 2.5),
    "objects": lambda: cells(*map([object(), object()].__getitem__, _TWICE)),
    "dicts": lambda: cells({RICE: 1}, {RICE: 1}, {TEA: 1}, None),
    "ids": lambda: cells(*map([uuid.UUID(int=1), uuid.UUID(int=2)].__getitem__, _TWICE)),
    "big integers": lambda: cells(2**70, 2**70, 1, None),
    "bytes": lambda: cells(b"a", b"a", b"b", None),
    "tuples of dates": lambda: cells(*[(pd.Timestamp(0),)] * 2, None, ()),
    "struct": lambda: arrow([{"a": RICE}] * 2 + [{"a": TEA}, None], pa.struct([("a", pa.string())])),
    "map": lambda: arrow([[(RICE, 1)]] * 2 + [[], None], pa.map_(pa.string(), pa.int64())),
    "null": lambda: arrow([None] * 4, pa.null()),
    "binary": lambda: arrow([b"a", b"a", b"b", None], pa.binary()),
    "fixed binary": lambda: arrow([b"a", b"a", b"b", None], pa.binary(1)),
    "binary view": lambda: arrow([b"a", b"a", b"b", None], pa.binary_view()),
    "text view": lambda: arrow([RICE, RICE, TEA, None], pa.string_view()),
    "decimal32": lambda: arrow([Decimal("1.5"), Decimal("1.5"), 2, None], pa.decimal32(5, 2)),
    "decimal256": lambda: arrow([Decimal("1.5"), Decimal("1.5"), 2, None], pa.decimal256(50, 2)),
    "float16": lambda: arrow_column(pa.array([1, 1, 2, None], pa.float32()).cast(pa.float16())),
    "duration": lambda: arrow([1, 1, 2, None], pa.duration("s")),
    "time": lambda: arrow([1, 1, 2, None], pa.time64("us")),
    "dictionary": lambda: arrow([RICE, RICE, TEA, None], pa.dictionary(pa.int8(), pa.string())),
    "dictionary of binary": lambda: arrow([b"a", b"a", b"b", None], pa.dictionary(pa.int8(), pa.binary())),
    "months": lambda: arrow([(1, 2, 3), (1, 2, 3), (0, 0, 1), None], pa.month_day_nano_interval()),
    "uuid": lambda: storage(pa.uuid(), pa.array([b"1" * 16, b"1" * 16, b"2" * 16, None], pa.binary(16))),
    "json": lambda: storage(pa.json_(), pa.array([f'"{RICE}"', f'"{RICE}"', "{}", None])),
    "bool8": lambda: storage(pa.bool8(), pa.array([1, 1, 0, None], pa.int8())),
    "opaque": lambda: storage(pa.opaque(pa.string(), "point", "db"), pa.array([RICE, RICE, TEA, None])),
    "tensor": lambda: storage(
        pa.fixed_shape_tensor(pa.int64(), [1]), pa.array([[1], [1], [2], [2]], pa.list_(pa.int64(), 1))
    ),
    "runs": lambda: arrow_column(pa.RunEndEncodedArray.from_arrays(_ENDS, _RUNS)),
    "runs of missing": lambda: arrow_column(pa.RunEndEncodedArray.from_arrays(_ENDS, pa.array([RICE, None]))),
    "lists of lists": lambda: arrow([[[RICE]], [[RICE]], [], None], pa.list_(pa.list_(pa.string()))),
    "dense union": lambda: arrow_column(
        pa.UnionArray.from_sparse(
            pa.array([0, 0, 1, 1], pa.int8()), [pa.array([RICE] * 4), pa.array([1] * 4)]
        )
    ),
}
BAD = NUMBERS | TEXTS | LISTS | DICTS | FRAMES | OBJECTS
