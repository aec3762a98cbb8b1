"""Values do not change on their way from a file to a frame, and from a release to a file."""

import gzip
import json
import uuid
from datetime import date, time
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon import stream
from pdanon.cli.main import main
from pdanon.errors import ColumnError, FormatError, ParameterError, ReleaseWarning
from pdanon.io.lines import read_lines

SECRET = "zebra-7731"
BIG = 10625631000119104  # and the next integer are one float

VALUES = {
    "int64": (pa.int64(), [BIG, BIG + 1]),
    "uint8": (pa.uint8(), [1, 255]),
    "uint64": (pa.uint64(), [2**64 - 2, 2**64 - 1]),
    "bool": (pa.bool_(), [True, False]),
    "float": (pa.float32(), [0.5, 1.5]),
    "decimal": (pa.decimal128(20, 2), [Decimal("1.10"), Decimal("12345678901234567.89")]),
    "date": (pa.date32(), [date(2020, 1, 1), date(1, 1, 1)]),
    "date64": (pa.date64(), [date(2020, 1, 1), date(2021, 1, 1)]),
    "time": (pa.time64("ns"), [1, 2]),
    "time32": (pa.time32("ms"), [time(1, 2), time(2, 3)]),
    "timestamp": (pa.timestamp("us"), [1, -(2**60)]),
    "zone": (pa.timestamp("ms", "Europe/Berlin"), [1, 2]),
    "duration": (pa.duration("ms"), [1, 2]),
    "binary": (pa.binary(), [b"a", b""]),
    "fixed": (pa.binary(2), [b"ab", b"cd"]),
    "struct": (
        pa.struct({"a": pa.uint8(), "b": pa.int64()}),
        [{"a": 1, "b": None}, {"a": None, "b": BIG + 1}],
    ),
    "map": (pa.map_(pa.string(), pa.int8()), [[("a", 1)], []]),
    "null": (pa.null(), [None, None]),
    "uuid": (pa.uuid(), [uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes]),
    "lists": (pa.list_(pa.int64()), [[BIG, None], []]),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("nulls", ["none", "one", "all"])
@pytest.mark.parametrize("name", VALUES)
def test_values_and_types_of_parquet_stay(name, nulls):
    kind, values = VALUES[name]
    values = {"none": values, "one": [*values, None], "all": [None, None]}[nulls]
    extends = isinstance(kind, pa.BaseExtensionType)
    column = pa.array(values, kind.storage_type if extends else kind)
    column = pa.ExtensionArray.from_storage(kind, column) if extends else column
    pq.write_table(pa.table({"value": column, "n": range(len(values))}), "in.parquet")
    frame = pdanon.read_parquet("in.parquet")
    assert str(frame["n"].dtype) == "int64"
    pdanon.to_parquet(frame, "out.parquet")
    table = pq.read_table("out.parquet")
    assert table.schema.field("value").type == pq.read_schema("in.parquet").field("value").type
    assert table["value"].combine_chunks().equals(pq.read_table("in.parquet")["value"].combine_chunks())
    assert list(pd.read_parquet("out.parquet")) == ["value", "n"]  # without pdanon


def test_values_and_types_of_lines_that_are_grouped_on_disk_stay():
    columns = {"nanoseconds": pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin"))}
    for name, (kind, values) in VALUES.items():
        if name not in ("null", "lists", "map"):
            extends = isinstance(kind, pa.BaseExtensionType)
            column = pa.array(values, kind.storage_type if extends else kind)
            columns[name] = pa.ExtensionArray.from_storage(kind, column) if extends else column
    table = pa.table(columns | {"item": ["tea", "rice"], "person": ["p", "q"]})
    pq.write_table(table, "in.parquet")
    source = pq.read_table("in.parquet")  # Parquet has no time in seconds
    stream.from_long("in.parquet", "out.parquet", by="person", item="item", keep=[*columns])
    grouped = pq.read_table("out.parquet").sort_by("int64")
    for name in columns:
        assert grouped.schema.field(name).type == source.schema.field(name).type, name
        assert grouped[name].combine_chunks().equals(source[name].combine_chunks()), name
    by = {"by": "nanoseconds", "item": "item"}
    stream.from_long("in.parquet", "out.parquet", **by)
    assert len(pq.read_table("out.parquet")) == 2  # not one person


def test_frames_of_pandas_are_read_back():
    frame = pd.DataFrame(
        {"items": [["a"], ["b"]], "n": pd.array([1, None], "Int64"), "m": pd.array([1, 2], "UInt8")},
        index=pd.Index([7, 9], name="number"),
    ).assign(c=pd.Categorical(["x", None], ["y", "x"], ordered=True), t=pd.to_datetime(["2020-01-01", None]))
    frame.to_parquet("in.parquet")
    back = pdanon.read_parquet("in.parquet")
    pd.testing.assert_frame_equal(back.drop(columns="items"), frame.drop(columns="items"))


def test_integers_beside_missing_ones_are_not_merged(capsys):
    lines = {"p": [1, 2, 3, 4, 5], "i": pa.array([BIG, BIG + 1, None, BIG, BIG + 1])}
    pq.write_table(pa.table(lines), "in.parquet")
    rows = [{"p": p, "i": i} for p, i in zip([1, 2, 3, 4, 5], lines["i"].to_pylist(), strict=True)]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for source in ("in.parquet", "in.jsonl"):
        for form in ("--by", "--unit"):
            assert main(["audit", source, "-k", "3", "-m", "1", form, "p", "--item", "i"]) == 1
            assert "at risk    4" in capsys.readouterr().out
        words = ["anonymize", source, "out.parquet", "-k", "2", "-m", "1", "--by", "p", "--item", "i"]
        assert main([*words, "--overwrite"]) == 0
        items = pdanon.read_parquet("out.parquet")["i"].explode().dropna()
        assert {*map(int, items)} == {BIG, BIG + 1}


def test_large_quasi_identifiers_beside_missing_ones_are_not_merged():
    table = {"id": pa.array([BIG, BIG + 1, None] * 4), "items": [["a"]] * 12}
    pq.write_table(pa.table(table), "in.parquet")
    asked = {"k": 2, "m": 1, "quasi": ["id"], "random_state": 1}
    with pytest.raises(ParameterError, match="integers beyond 2"):
        pdanon.rfirst(pdanon.read_parquet("in.parquet"), **asked)
    with pytest.raises(ParameterError, match="integers beyond 2"):
        stream.rfirst("in.parquet", "out.parquet", **asked)


# --- CSV

KEPT = 'zip,answer,n,items\n02139,None,1E10,a\n2139,,1.10,a\nNA,"",5,a\n02139,NULL,N/A,a\n'
JOINED = ["--column", "items", "--separator", "|"]


def test_text_of_csv_is_published_as_it_came():
    Path("in.csv").write_text(KEPT)
    words = ["anonymize", "in.csv", "out.csv", "-k", "4", "-m", "1", *JOINED]
    assert main([*words, "--keep", "zip", "answer", "n"]) == 0
    assert Path("out.csv").read_text() == KEPT


TEXTS_OF_ZIP = ("02139", "NA", "1.10", "None")


@pytest.mark.parametrize("form", ["--by", "--unit", "--onehot"])
def test_text_of_csv_stays_in_every_form(form):
    lines = [f"{row},{text},1,1" for row, text in enumerate([*TEXTS_OF_ZIP] * 2) for _ in "ab"]
    Path("in.csv").write_text("\n".join(["p,zip,code,q", *lines]))
    forms = {
        "--by": ["--by", "p", "--item", "code"],
        "--unit": ["--unit", "p", "--item", "code"],
        "--onehot": ["--onehot", "code", "q", "--by", "p"],
    }
    words = ["anonymize", "in.csv", "out.parquet", "-k", "2", "-m", "1", *forms[form], "--keep", "zip"]
    assert main(words) == 0
    assert {*pdanon.read_parquet("out.parquet")["zip"]} == {*TEXTS_OF_ZIP}


@pytest.mark.parametrize("quasi", ["zip", "answer"])
def test_texts_of_quasi_identifiers_are_told_apart(quasi):
    Path("in.csv").write_text("zip,answer,items\n02139,None,a\n2139,,a\n")
    assert main(["audit", "in.csv", "-k", "2", "-m", "1", "--quasi", quasi, *JOINED]) == 1
    assert main(["risk", "in.csv", "-k", "2", "-m", "1", "--quasi", quasi, *JOINED, "--out", "r.csv"]) == 0
    assert pd.read_csv("r.csv")["below_k"].max() == 1  # of 1


TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")  # of formulas
@settings(max_examples=examples(60))
@given(texts=st.lists(TEXTS | st.sampled_from(["NA", "007", "1.0", "", '"', "\r\n", "a,b"]), max_size=5))
def test_any_text_of_a_column_comes_back_from_csv(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    frame = pd.DataFrame({"text": pd.Series(texts, dtype="object")})
    frame["items"] = pdanon.as_itemsets([["a"]] * len(texts))
    pdanon.to_csv(frame, path, separator="|")
    back = pdanon.read_csv(path, column="items", separator="|")["text"]
    assert [None if pd.isna(text) else text for text in back] == texts


TYPED = "who,age,seen,at,score,ok,items\n" + "".join(
    f'{n},{20 + n},2020-0{n}-01,2020-0{n}-01 10:00:00.5,{n}.50,{n % 2 == 0},"a"\n' for n in range(1, 5)
)
TYPES = {"age": "integer", "seen": "date", "at": "timestamp", "score": "number", "ok": "boolean"}


def test_types_are_those_that_are_requested():
    Path("in.csv").write_text(TYPED + '5,"", ,,,,a\n')
    frame = pdanon.read_csv("in.csv", column="items", separator="|", types=TYPES)
    assert frame["age"].tolist() == [21, 22, 23, 24, pd.NA]
    assert frame["seen"].tolist()[0] == date(2020, 1, 1)
    assert frame["at"].tolist()[0] == pd.Timestamp("2020-01-01 10:00:00.5")
    assert frame["score"].tolist()[:4] == [1.5, 2.5, 3.5, 4.5]
    assert frame["ok"].tolist() == [False, True, False, True, pd.NA]
    assert frame["who"].tolist() == list("12345")


def test_types_are_an_option_and_an_entry_of_policies(capsys):
    Path("in.csv").write_text(TYPED)
    words = ["anonymize", "in.csv", "out.parquet", "-k", "2", "-m", "1", "--quasi", "age", "seen", *JOINED]
    words += ["--keep", "who", "--algorithm", "rfirst", "--random-state", "1", "--overwrite"]
    assert main(words) == 0
    err = capsys.readouterr().err
    assert "in.csv: age holds whole numbers as text: pass --types age=integer for ranges" in err
    assert "in.csv: seen holds dates as text: pass --types seen=date for ranges" in err
    assert main([*words, "--types", "age=integer", "seen=date"]) == 0
    assert "as text" not in capsys.readouterr().err
    expected = pdanon.read_parquet("out.parquet")
    assert isinstance(expected["age"].iloc[0], pd.Interval)
    policy = """
separator = "|"
algorithm = "rfirst"
parameters = {{ k = 2, m = 1, random_state = 1 }}
input = {{ file = "in.csv"{} }}
columns = {{ items = "items", quasi = ["age", "seen"], keep = ["who"], drop = ["at", "score", "ok"] }}
"""
    Path("policy.toml").write_text(policy.format(', types = { age = "integer", seen = "date" }'))
    frame = pdanon.Policy.from_toml("policy.toml").run().frame
    assert frame["age"].astype(str).tolist() == expected["age"].astype(str).tolist()
    Path("policy.toml").write_text(policy.format(""))
    with pytest.warns(ReleaseWarning) as caught:
        pdanon.Policy.from_toml("policy.toml").read()
    first, second = (str(each.message) for each in caught)
    assert first == 'age holds whole numbers as text: pass types = { age = "integer" } in [input] for ranges'
    assert second.startswith("seen holds dates as text")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", SECRET),
        ("integer", "1.0"),
        ("integer", str(2**64)),
        ("number", "1,5"),
        ("number", str(BIG + 1)),  # a float is another number
        ("date", "31.12.2020"),
        ("timestamp", "2020-01-01T00:00:00+01:00"),
        ("boolean", "yes"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_line(kind, value):
    good = {"integer": "1", "number": "1", "date": "2020-01-01", "timestamp": "2020-01-01", "boolean": "1"}[
        kind
    ]
    text = f'items,n\n"a\nb",{good}\n\na,{good}\na,"{value}"\na,{good}\n'
    Path("in.csv").write_text(text)
    rows = [f'{{"items": ["a"], "n": {json.dumps(each)}}}' for each in (good, good, good, value)]
    Path("in.jsonl").write_text("\n\n".join(rows))
    Path("in.tsv.gz").write_bytes(
        gzip.compress(
            text.replace(",n", "\tn").replace(f",{good}", f"\t{good}").replace(',"', '\t"').encode()
        )
    )
    Path("lines.csv").write_text(text)
    readers = {
        "in.csv, line 6": lambda: pdanon.read_csv("in.csv", column="items", separator="|", types={"n": kind}),
        "in.jsonl, line 7": lambda: read_lines("in.jsonl", {"n": kind}),
        "in.tsv.gz, line 6": lambda: read_lines("in.tsv.gz", {"n": kind}),
        "lines.csv, line 6": lambda: stream.from_long(
            "lines.csv", "out.parquet", by="n", item="items", types={"n": kind}
        ),
    }
    for where, read in readers.items():
        with pytest.raises(FormatError, match="column 'n' has another type than requested") as caught:
            read()
        assert where in str(caught.value)
        assert value not in str(caught.value)


def test_types_of_nothing_are_refused(capsys):
    Path("in.csv").write_text("who,items\n1,a\n")
    options = {"column": "items", "separator": "|"}
    with pytest.raises(ColumnError, match="'age' does not exist"):
        pdanon.read_csv("in.csv", types={"age": "integer"}, **options)
    with pytest.raises(ParameterError, match="type of a column"):
        pdanon.read_csv("in.csv", types={"who": "int"}, **options)
    with pytest.raises(ParameterError, match="column of items has a type"):
        pdanon.read_csv("in.csv", types={"items": "integer"}, **options)
    pdanon.to_parquet(pd.DataFrame({"items": [["a"]]}), "in.parquet")
    assert main(["risk", "in.parquet", "-k", "2", "--types", "who=integer"]) == 2
    assert main(["risk", "in.csv", "-k", "2", "--types", "who=int", *JOINED]) == 2
    err = capsys.readouterr().err
    assert "--types is only for CSV and JSON lines" in err
    assert "integer, number, date, timestamp, boolean" in err


def test_evidence_of_typed_columns_is_verified():
    Path("in.csv").write_text(TYPED)
    types = ["--types", "age=integer", "seen=date", "score=number", "ok=boolean"]
    words = ["anonymize", "in.csv", "out.csv", "-k", "2", "-m", "1", "--quasi", "age", *JOINED, *types]
    words += ["--keep", "who", "seen", "at", "score", "ok", "--algorithm", "rfirst", "--random-state", "1"]
    assert main([*words, "--evidence", "e.json", "--mapping", "map.csv"]) == 0
    words = ["verify", "e.json", "--release", "out.csv", "--separator", "|", "--mapping", "map.csv"]
    assert main([*words, *types, "--original", "in.csv"]) == 0
    assert main(words) == 0
    Path("out.csv").write_text(Path("out.csv").read_text().replace("1.5", "1.51"))
    assert main(words) == 1


def test_codes_with_leading_zeros_need_no_type(capsys):
    Path("in.csv").write_text("zip,items\n02139,a\n2139,a\n02139,a\n2139,a\n")
    words = ["anonymize", "in.csv", "out.csv", "-k", "2", "-m", "1", "--quasi", "zip", *JOINED]
    assert main(words) == 0
    pdanon.to_parquet(pd.DataFrame({"zip": ["1", "2"] * 2, "items": [["a"]] * 4}), "in.parquet")
    assert main(["anonymize", "in.parquet", "out.parquet", *words[3:9]]) == 0
    assert "as text" not in capsys.readouterr().err
    assert pdanon.read_csv("out.csv", column="items", separator="|")["zip"].tolist() == ["02139", "2139"] * 2


# --- Quotes

OPEN = {
    "last column": f'p,i\n1,x\n7,"rice\n8,"{SECRET}"\n9,rice\n',
    "first column": f'i,p\nx,1\n"rice,7\n"{SECRET}",8\nrice,9\n',
    "some lines": f'p,i\n1,x\n7,"rice\n8,{SECRET}\n9,"rice"\n10,x\n',
    "no end": f'p,i\n1,x\n7,"rice\n8,{SECRET}\n9,rice\n',
    "other fields": f'p,i\n1,x\n7,"rice, tea\n8,"{SECRET}"\n',
}


@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_a_quote_that_is_not_closed_is_named_with_its_line(text):
    Path("in.csv").write_text(text)
    pq.write_table(pa.table({"items": [["a"]]}), "x.parquet")
    readers = (
        lambda: read_lines("in.csv"),
        lambda: pdanon.read_csv("in.csv", column="i", separator="|"),
        lambda: stream.from_long("in.csv", "out.parquet", by="p", item="i"),
    )
    for read in readers:
        with pytest.raises(FormatError, match=r"in.csv, line 3\n  got:   a quote is not closed") as caught:
            read()
        assert SECRET not in str(caught.value)
    assert not Path("out.parquet").exists()


def test_two_quotes_that_may_close_each_other_are_reported():
    Path("in.csv").write_text(f'p,i\n1,x\n7,"rice\n8,{SECRET} of 5"\n')
    with pytest.warns(ReleaseWarning, match="line 3: a quoted field spans lines that look like") as caught:
        read_lines("in.csv")
    assert SECRET not in str(caught[0].message)


def test_fields_that_span_lines_are_read():
    Path("in.csv").write_text('p,i\n7,"rice, red\nand tea"\n8,5" pipe\n9,"a ""b""\n"\n7,tea\n')
    assert read_lines("in.csv").frame["i"].tolist() == ["rice, red\nand tea", '5" pipe', 'a "b"\n', "tea"]
    stream.from_long("in.csv", "out.parquet", by="p", item="i")
    items = pdanon.read_parquet("out.parquet")["i"].explode()
    assert {*items} == {"rice, red\nand tea", '5" pipe', 'a "b"', "tea"}


@pytest.mark.parametrize("line", ["2,a,b", "2"])
def test_a_line_of_another_length_is_named(line):
    Path("in.csv").write_text(f'n,items\n1,"x\ny"\n{line}\n')
    with pytest.raises(FormatError, match=r"in.csv, line 4\n  got:   a line has not as many fields"):
        pdanon.read_csv("in.csv", column="items", separator="|")


# --- JSON lines


def test_text_of_json_stays_text():
    rows = [
        {"t": "2020-01-01", "n": 2**63 - 1, "s": {"a": 1}, "l": ["2020-01-01", None], "b": True, "f": 1.5},
        {"t": "2020-01-01T00:00:00", "n": None, "s": None, "l": None, "b": None, "f": 2, "late": 7},
        {"t": "2020-01-01T01:00:00+01:00", "n": 2**63 - 2, "s": {"a": None, "c": "x"}, "l": []},
    ]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    frame = read_lines("in.jsonl").frame
    assert frame["t"].tolist() == [row["t"] for row in rows]
    assert frame["n"].tolist() == [2**63 - 1, pd.NA, 2**63 - 2]
    assert pa.array(frame["s"]).to_pylist() == [{"a": 1, "c": None}, None, {"a": None, "c": "x"}]
    assert pa.array(frame["l"]).to_pylist() == [["2020-01-01", None], None, []]
    assert frame["b"].tolist() == [True, pd.NA, pd.NA]
    assert frame["f"].tolist()[:2] == [1.5, 2.0]
    assert frame["late"].tolist() == [pd.NA, 7, pd.NA]
    typed = read_lines("in.jsonl", {"f": "number", "b": "boolean"}).frame
    assert typed["f"].tolist()[:2] == [1.5, 2.0]


def test_large_integers_of_json_are_told_apart():
    Path("in.jsonl").write_text("".join(f'{{"p": {2**63 + n}, "i": "a"}}\n' for n in range(4)))
    assert read_lines("in.jsonl").frame["p"].tolist() == [2**63 + n for n in range(4)]
    assert main(["audit", "in.jsonl", "-k", "4", "-m", "1", "--by", "p", "--item", "i"]) == 0
    assert main(["audit", "in.jsonl", "-k", "5", "-m", "1", "--by", "p", "--item", "i"]) == 1


REFUSED = {
    "two types": (["1", f'"{SECRET}"'], "no common type", "column 'p'\n  got:   text after an integer"),
    "persons": ([f'"{SECRET}"', "1"], "no common type", "an integer after text"),
    "in lists": (["[1, 2]", f'[3, "{SECRET}"]'], "no common type", "text after an integer"),
    "in objects": (['{"a": 1}', f'{{"a": "{SECRET}"}}'], "no common type", "column 'p'\n"),
    "large": (["1", str(2**64)], "more than 64 bits", "column 'p'"),
    "both signs": (["-1", str(2**63)], "more than 64 bits", "column 'p'"),
    "floats": (["0.5", str(2**53 + 1)], "a float cannot hold", "column 'p'"),
    "no object": (["1"], "JSON lines", "names a field twice"),
}


@pytest.mark.parametrize(("values", "what", "got"), REFUSED.values(), ids=REFUSED)
def test_what_would_be_merged_is_refused_with_its_line(values, what, got):
    lines = [f'{{"p": {value}, "i": "a"}}' for value in values]
    lines = ['{"p": 1}', '{"p": 1, "p": 2}'] if len(lines) == 1 else [lines[0], "", lines[1]]
    Path("in.jsonl").write_text("\n".join(lines))
    with pytest.raises(FormatError, match=what) as caught:
        read_lines("in.jsonl")
    assert got in str(caught.value)
    assert f"in.jsonl, line {len(lines)}" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
