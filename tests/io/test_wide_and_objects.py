"""Wide baskets, lists of objects, and missing items inside lists: read as their naive twins, or refused."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET
from hypothesis import given, strategies as st

import pdanon
from pdanon import ColumnError, FormatError, ItemsetDtypeError, NumbersWarning, ParameterError, PersonsWarning
from pdanon.cli.policy import Policy
from pdanon.io.lines import read_lines
from pdanon.io.tables import Form

ITEMS = st.sampled_from(["tea", "rice", "salt", " tea ", "é", "7"])
BASKETS = st.lists(st.lists(ITEMS, max_size=4), min_size=1, max_size=12)
CODES = [[{"system": "icd", "code": "E11"}, {"system": "icd", "code": "I10"}], [], None]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def sets(lists):
    return [None if each is None else {*each} for each in lists]


def stripped(rows):
    return [{item.strip() for item in row} for row in rows]


# --- Wide baskets


@given(BASKETS)
def test_wide_baskets_are_their_rows(rows):
    frame = pd.DataFrame(
        [[*row, *[None] * (4 - len(row))] for row in rows], columns=list("abcd"), dtype=object
    )
    frame = frame.assign(age=range(len(rows))).set_index("age", drop=False)
    for each in (frame, frame.astype("string"), frame.astype("category")):
        found = pdanon.from_wide(each, columns=list("abcd"), name="basket")
        assert [*found] == ["age", "basket"]
        assert found.index.equals(frame.index)
        assert sets(found["basket"]) == stripped(rows)


@given(BASKETS)
def test_ragged_lines_are_their_rows(rows):
    rows = [["first"], *(row for row in rows if row)]
    lines = [",".join(row) for row in rows]
    Path("ragged.csv").write_text("\n".join(lines), encoding="utf-8")
    found = Form(wide=[], no_header=True).read("ragged.csv").frame
    assert sets(found["items"]) == stripped(rows)
    width = max(map(len, rows))
    header = ",".join(f"place {n}" for n in range(width))
    Path("named.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
    named = Form(wide=[], column="basket").read("named.csv").frame
    assert sets(named["basket"]) == stripped(rows)


def test_numbers_stay_numbers_although_places_are_missing():
    frame = pd.DataFrame({"a": [7, 8], "b": [8.0, np.nan]})
    assert pdanon.from_wide(frame)["items"].tolist() == [[7, 8], [8]]


def test_persons_of_wide_baskets_are_merged():
    Path("visits.csv").write_text("who,sex,dx1,dx2\n1,f,E11,I10\n2,m,J45\n1,f,K20,\n")
    found = Form(by=["who"], wide=["dx1", "dx2"]).read("visits.csv", keep=["sex"]).frame
    assert found["sex"].tolist() == ["f", "m"]
    assert sets(found["items"]) == [{"E11", "I10", "K20"}, {"J45"}]


def test_lines_wider_than_the_header_are_refused_with_their_line():
    Path("wide.csv").write_text(f"a,b\nx,y\n\n\nx,{SECRET},z\n")
    with pytest.raises(FormatError, match="more fields than the header") as caught:
        Form(wide=[]).read("wide.csv")
    assert caught.value.parts["where"] == "wide.csv, line 5"
    assert caught.value.parts["got"] == "3 fields for 2 columns"
    assert "--no-header" in caught.value.parts["hint"]
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "asked", "error", "match"),
    [
        ({"a": ["x"], "b": [7]}, {}, ItemsetDtypeError, "one known type"),
        ({"a": [["x"]]}, {}, ItemsetDtypeError, "holds lists"),
        ({"a": ["x"]}, {"columns": ["b"]}, ColumnError, "does not exist"),
        ({"a": ["x"], "items": [1]}, {"columns": ["a"]}, ColumnError, "already"),
        ({"a": ["x"]}, {"columns": []}, ParameterError, "names no column"),
    ],
)
def test_what_is_no_wide_basket_is_refused(frame, asked, error, match):
    with pytest.raises(error, match=match):
        pdanon.from_wide(pd.DataFrame(frame), **asked)


def test_an_unclosed_quote_of_ragged_lines_is_refused_with_its_line():
    Path("open.csv").write_text(f'a,b\nx,"{SECRET}\ny\n')
    with pytest.raises(FormatError, match="cannot be read as CSV") as caught:
        Form(wide=[]).read("open.csv")
    assert "line 2" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_two_encodings_in_one_file_are_refused_with_the_line():
    Path("mixed.csv").write_bytes(f"a,b\né,x\n{SECRET}".encode() + "é,y\n".encode("cp1252"))
    for form in (Form(wide=[]), Form(column="a", separator=";")):
        with pytest.raises(FormatError, match="UTF-8") as caught:
            form.read("mixed.csv")
        assert "line 3" in str(caught.value)
        assert SECRET not in str(caught.value)
    _, _, command = str(caught.value).partition("as cp1252: ")
    exec(shlex.split(command)[2])
    assert Path("in.csv").read_text(encoding="utf-8") == f"a,b\né,x\n{SECRET}é,y\n"


def test_columns_without_a_header_are_numbered_in_every_form():
    Path("lines.csv").write_text("7,tea\n7,rice\n8,tea\n")
    found = Form(by=["1"], item="2", no_header=True).read("lines.csv").frame
    assert sets(found["2"]) == [{"rice", "tea"}, {"tea"}]
    Path("text.csv").write_text("1 2\n3\n1 3\n")
    found = Form(column="1", separator=" ", no_header=True).read("text.csv").frame
    assert sets(found["1"]) == [{"1", "2"}, {"3"}, {"1", "3"}]
    with pytest.raises(FormatError, match="another type") as caught:
        Form(by=["1"], item="2", no_header=True, types={"2": "integer"}).read("lines.csv")
    assert "line 1" in str(caught.value)


# --- Lists of objects


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(CODES),
        pd.Series([None if each is None else json.dumps(each) for each in CODES]),
        pd.Series([None if each is None else str(each) for each in CODES]),
        pd.Series(pa.array(CODES), dtype=pd.ArrowDtype(pa.array(CODES).type)),
    ],
    ids=["dicts", "json", "python", "arrow"],
)
def test_objects_of_every_kind_have_the_same_items(series):
    assert sets(pdanon.from_json(series, field="code")[:2]) == [{"E11", "I10"}, set()]
    assert pdanon.from_json(series, field="code").isna().tolist() == [False, False, True]
    assert [*pdanon.from_json(series, field=["system", "code"])[0]] == ["icd|E11", "icd|I10"]


@given(BASKETS)
def test_lists_in_json_are_the_lists(rows):
    for write in (json.dumps, str):
        assert sets(pdanon.from_json(pd.Series([*map(write, rows)]))) == stripped(rows)


def test_objects_without_the_field_are_refused_or_left_out():
    series = pd.Series([[{"code": "E11"}], [{"code": SECRET}, {"text": SECRET}], [{"code": None}]], name="x")
    with pytest.raises(ItemsetDtypeError, match="lacks the field") as caught:
        pdanon.from_json(series, field="code")
    assert caught.value.parts["where"] == "column 'x', row 1"
    assert caught.value.parts["got"] == "2 rows with such items"
    assert "missing='drop'" in caught.value.parts["hint"]
    assert SECRET not in str(caught.value)
    found = pdanon.from_json(series, field="code", missing="drop")
    assert sets(found) == [{"E11"}, {SECRET}, set()]


@pytest.mark.parametrize(
    ("row", "field", "match"),
    [
        (f"{SECRET};b", None, "no list"),
        (f"[{SECRET}", None, "no list"),
        ("7", None, "no list"),
        (f'[{{"{SECRET}": 1}}]', None, "are objects"),
        (f'["{SECRET}"]', "code", "lacks the field"),
        (f'["{SECRET}", 7]', None, "not of one known type"),
        (f'[["{SECRET}"]]', None, "no Arrow type|no order|one known type"),
    ],
)
def test_what_is_no_list_is_refused_without_its_text(row, field, match):
    with pytest.raises(ItemsetDtypeError, match=match) as caught:
        pdanon.from_json(pd.Series([row]), field=field)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_files_of_objects_are_read(suffix):
    rows = [{"who": 1, "codes": CODES[0]}, {"who": 1, "codes": [{"system": "icd", "code": "J45"}]}]
    if suffix == "jsonl":
        Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    elif suffix == "csv":
        pd.DataFrame(rows).assign(codes=[json.dumps(row["codes"]) for row in rows]).to_csv(
            "in.csv", index=False
        )
    else:
        pdanon.to_parquet(pd.DataFrame(rows), "in.parquet")
    form = Form(by=["who"], column="codes", field=["code"])
    form.check(f"in.{suffix}")
    assert sets(form.read(f"in.{suffix}").frame["codes"]) == [{"E11", "I10", "J45"}]


@pytest.mark.parametrize(
    "form",
    [
        {"field": ["code"]},
        {"field": ["code"], "column": "x", "onehot": []},
        {"field": ["code"], "column": "x", "item": "y", "by": ["z"]},
        {"wide": [], "prefix": "dx"},
        {"wide": [], "onehot": ["a"]},
        {"wide": [], "unit": "who"},
        {"missing": "keep"},
    ],
)
def test_forms_that_exclude_each_other_are_refused(form):
    with pytest.raises(ParameterError):
        Form(**form).check("in.csv")


def test_a_policy_reads_both_forms():
    Path("wide.csv").write_text("tea,rice\ntea\ntea,rice\ntea,rice\n")
    Path("policy.toml").write_text(
        'algorithm = "pcta"\nparameters = {k = 2, m = 1}\noutputs = {release = "out.parquet"}\n'
        '[input]\nfile = "wide.csv"\nwide = []\nno_header = true\n[columns]\nitems = "basket"\n'
    )
    policy = Policy.from_toml(Path("policy.toml"))
    assert sets(policy.read()["basket"]) == [{"tea", "rice"}, {"tea"}, {"tea", "rice"}, {"tea", "rice"}]


# --- Missing items


@given(st.lists(st.none() | st.lists(st.none() | ITEMS, max_size=3), max_size=6))
def test_missing_items_are_left_out_on_request(rows):
    expected = [None if row is None else {each for each in row if each is not None} for row in rows]
    kinds = [rows, pa.array(rows, pa.list_(pa.string())), pd.Series(rows, dtype=object)]
    for each in kinds:
        found = pdanon.as_itemsets(each, missing="drop")
        assert [None if row is pd.NA else {*row} for row in found] == expected


def test_the_refusal_of_missing_items_names_the_call_that_leaves_them_out():
    frame = pd.DataFrame({"items": [["tea", None], ["tea", float("nan")]]})
    with pytest.raises(ItemsetDtypeError, match="an item is missing") as caught:
        pdanon.pcta(frame, k=2, m=1)
    call = caught.value.parts["hint"].partition(": ")[2].partition(" (")[0]
    frame["items"] = eval(call, {"pdanon": pdanon, "lists": frame["items"]})
    assert sets(pdanon.pcta(frame, k=2, m=1).frame["items"]) == [{"tea"}, {"tea"}]
    Path("in.jsonl").write_text('{"items": ["tea", null]}\n{"items": ["tea"]}\n')
    assert sets(Form(missing="drop").read("in.jsonl").frame["items"]) == [{"tea"}, {"tea"}]


# --- Decimal commas


def test_decimal_commas_are_refused_with_the_call_that_reads_them():
    Path("in.csv").write_text("a;b\n2,5;x\n")
    with pytest.raises(FormatError, match="another type") as caught:
        read_lines("in.csv", {"a": "number"})
    assert "pd.read_csv(path, decimal=',')" in caught.value.parts["hint"]


# --- Objects within objects, as in resources of FHIR


RESOURCES = [
    {"id": 1, "code": {"coding": [{"code": "E11"}, {"code": "I10"}]}, "subject": {"reference": "Patient/1"}},
    {"id": 2, "code": None, "subject": {"reference": "Patient/2"}},
    {"id": 3, "code": {"coding": None}, "subject": {"reference": "Patient/1"}},
    {"id": 4, "code": {"coding": [{"code": "J45"}]}, "subject": {"reference": "Patient/1"}},
    {"id": 5, "code": {"coding": [{"code": "I10"}]}, "subject": {"reference": "Patient/3"}},
]


def test_fields_of_objects_are_columns_if_a_form_names_one(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, RESOURCES)))
    form = Form(by=["subject.reference"], column="code.coding", field=["code"])
    assert form.read(path).frame["code.coding"].tolist() == [["E11", "I10", "J45"], [], ["I10"]]
    frame = Form(column="id").read(path).frame
    assert [*frame.columns] == ["id", "code", "subject"]
    with pytest.raises(
        ColumnError, match=r"'subject\.ref' does not exist\n.*\n  hint: .*'subject.reference'"
    ):
        Form(by=["subject.ref"], item="id").read(path)


def test_python_gets_the_call_for_a_field_of_objects():
    table = pa.table({name: [each[name] for each in RESOURCES * 9] for name in RESOURCES[0]})
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    call = pdanon.profile(frame).readings[0].call
    assert call == (
        "frame['code.coding'] = pdanon.from_json(frame['code'].struct.field(['coding']), field=['code'])"
    )
    exec(call)
    assert frame["code.coding"].iloc[0] == ["E11", "I10"]


ENCOUNTERS = pd.DataFrame(
    {
        "patient_id": [f"P{n % 13}" for n in range(40)],
        "encounter": [f"V{n}" for n in range(40)],
        "age": [f"{20 + n}" for n in range(40)],
        "sex": ["F", "M"] * 20,
        "dx1": ["E11", "I10", "J45", "K20"] * 10,
        "dx2": [" I10", "J45", None, "E11"] * 10,
        "dx3": ["K20", *[None] * 38, "in no other column"],
        "date": [f"2024-05-{10 + n % 20}" for n in range(40)],
    }
)
DX = ["dx1", "dx2", "dx3"]


def test_columns_that_share_no_item_are_told():
    frame = ENCOUNTERS.drop(columns=["patient_id", "encounter"])
    told = r"^columns that share no value .*: 'age', 'sex', 'date'\n  hint:  .*columns=.*--wide"
    with pytest.warns(NumbersWarning, match=told) as caught:
        pdanon.from_wide(frame)
    assert caught[0].filename == __file__
    frame = frame.assign(ward=["north", "south"] * 20, nurse=["A", "B"] * 20, room=["1a", "2b"] * 20)
    with pytest.warns(NumbersWarning, match=r"'age', 'sex', 'date', 'ward', 'nurse' and 1 more\n"):
        pdanon.from_wide(frame)


def test_places_and_columns_that_are_named_are_not_told():
    pdanon.from_wide(ENCOUNTERS[DX])  # warnings are errors
    pdanon.from_wide(ENCOUNTERS, columns=["age", *DX])
    pdanon.from_wide(ENCOUNTERS.drop(columns="patient_id").iloc[:19])


def test_the_command_line_tells_which_columns_become_items(run):
    ENCOUNTERS.to_csv("in.csv", index=False)
    code, _, err = run(*["anonymize", "in.csv", "out.parquet", "--by", "patient_id", "--wide", "-k", "2"])
    assert code == 0
    assert "are read as items: 'encounter', 'age', 'sex', 'date'" in err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"wide": DX}, "40 rows share 13 values of 'patient_id'"),
        ({"wide": DX, "by": ["encounter"]}, "40 rows, one per 'encounter', share 13 values of 'patient_id'"),
        ({"wide": DX, "by": ["age", "sex"]}, r"40 rows, one per \['age', 'sex'\], share 13 values of"),
        ({"prefix": "has_"}, "40 rows share 13 values of 'patient_id'"),
        ({"column": "codes", "by": ["visit"]}, "20 rows, one per 'visit', share 13 values of 'patient_id'"),
        ({"column": "codes", "by": ["encounter"]}, "40 rows, one per 'encounter', share 13 values of"),
        ({"wide": DX, "by": ["patient_id"]}, None),
        ({"wide": DX, "by": ["patient_id", "encounter"]}, None),
    ],
    ids=str,
)
def test_rows_of_dropped_persons_are_told(asked, told):
    """As `from_long` does: the number of the patient is dropped, and the rows are encounters."""
    frame = ENCOUNTERS.assign(has_tea=1, codes=[["E11"], ["I10"]] * 20)
    if "column" not in asked:
        frame = frame.drop(columns="codes")
    if asked.get("by") == ["visit"]:
        frame = pd.concat([frame.iloc[:20]] * 2).assign(visit=[*range(20)] * 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released = Form(**asked).convert(frame).frame
    assert [each.category for each in caught] == ([PersonsWarning] if told else [])
    assert not told or re.search(told, str(caught[0].message))
    assert len(released.columns) == 1


def test_the_command_line_tells_that_rows_are_encounters(run):
    ENCOUNTERS.to_csv("in.csv", index=False)
    asked = ["-k", "2", "--wide", *DX]
    code, _, err = run("anonymize", "in.csv", "visits.parquet", *asked)
    assert code == 0
    assert "40 rows share 13 values of 'patient_id'" in err
    assert "name that column in --by" in err
    code, _, err = run("anonymize", "in.csv", "patients.parquet", "--by", "patient_id", *asked)
    assert code == 0
    assert "share" not in err
