"""Files of every form, from the command line: lines, columns of 0 and 1, joined text, lists of JSON."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET

import pdanon
from pdanon.cli.main import main

TEA, RICE, SALT = (f"{SECRET}-{name}" for name in ("tea", "rice", "salt"))
LISTS = [{TEA, RICE}, {TEA, RICE}, {SALT}, {SALT}]
KM = ["-k", "2", "-m", "2", "--algorithm", "pcta"]


def written(name, text, encoding="utf-8"):
    data = text.encode(encoding)
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def ticked(mark=",", yes="1", no="0", items=(TEA, RICE, SALT), first=range(4)):
    lines = [mark.join(["who", "age", *items])]
    for person, age, row in zip(first, (31, 31, 44, 44), LISTS, strict=True):
        lines.append(
            mark.join([str(person), str(age), *(yes if each in row else no for each in (TEA, RICE, SALT))])
        )
    return "\n".join(lines) + "\n"


def released(name, *asked, column="items"):
    assert main(["anonymize", name, "out.parquet", *KM, *asked, "--overwrite"]) == 0
    frame = pdanon.read_parquet("out.parquet")
    assert [set(row) for row in frame[column]] == LISTS
    return frame


def refused(capsys, *command):
    assert main([*command]) == 2
    message = capsys.readouterr().err
    assert SECRET not in message
    assert not Path("out.parquet").exists()
    return message


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("true", "false"), ("TRUE", ""), ("7", "0")])
@pytest.mark.parametrize(
    ("name", "mark"), [("in.csv", ","), ("in.csv", ";"), ("in.tsv", "\t"), ("in.csv.gz", "|")]
)
def test_columns_of_ticks_become_items(name, mark, yes, no):
    asked = ["--onehot", "--by", "who", "--keep", "age", "--types", "age=integer"]
    frame = released(written(name, ticked(mark, yes, no)), *asked)
    assert list(frame) == ["age", "items"]
    assert frame["age"].tolist() == [31, 31, 44, 44]


def test_columns_of_ticks_are_named_or_have_a_prefix(capsys):
    written("in.csv", ticked(items=("has_" + each for each in (TEA, RICE, SALT))))
    assert list(released("in.csv", "--prefix", "has_", "--column", "buys", column="buys")) == ["buys"]
    written("in.csv", ticked())
    released("in.csv", "--onehot", TEA, RICE, SALT)
    assert capsys.readouterr().err == ""  # all was said
    named = ["--onehot", TEA, RICE, SALT, "age"]
    assert main(["anonymize", "in.csv", "out.parquet", *KM, *named, "--overwrite"]) == 0
    assert "a number in every row are read as items that every row has: 'age'" in capsys.readouterr().err
    with pytest.raises(AssertionError):  # numbers of persons and ages were taken for counts
        released("in.csv", "--onehot")
    assert (
        "in.csv: 5 columns are read as items\npdanon: note: in.csv: some of them hold counts above 1"
        in capsys.readouterr().err
    )


def test_rows_of_a_person_are_merged_and_may_not_conflict(capsys):
    written("in.csv", "who,age,a,b,c\n7,30,1,0,0\n8,30,1,1,0\n7,30,0,1,0\n9,,0,0,1\n9,5,0,0,1\n1,5,0,0,1\n")
    frame = released_rows("in.csv", "--onehot", "--by", "who", "--keep", "age")
    assert frame.values.tolist() == [["30", "ab"], ["30", "ab"], ["5", "c"], ["5", "c"]]
    written("in.csv", "who,age,a,b,c\n7,30,1,0,0\n8,30,1,1,0\n7,31,0,1,0\n")
    Path("out.parquet").unlink()
    command = ["anonymize", "in.csv", "out.parquet", *KM, "--onehot", "--by", "who", "--keep", "age"]
    assert "1 of 2 persons" in refused(capsys, *command)
    frame = released_rows("in.csv", "--onehot", "--by", "who", "--keep", "age", "--conflicts", "first")
    assert frame.values.tolist() == [["30", "ab"], ["30", "ab"]]


def released_rows(name, *asked):
    assert main(["anonymize", name, "out.parquet", *KM, *asked, "--overwrite"]) == 0
    frame = pdanon.read_parquet("out.parquet")
    return frame.assign(items=["".join(sorted(row)) for row in frame["items"]])


def test_lines_that_conflict_are_refused_unless_the_first_is_taken(capsys):
    written("in.csv", "who,sex,what\n1,f,a\n2,m,a\n1,m,a\n")
    command = ["anonymize", "in.csv", "out.parquet", *KM, "--by", "who", "--item", "what", "--keep", "sex"]
    assert "1 of 2 persons" in refused(capsys, *command)
    assert main([*command, "--conflicts", "first"]) == 0
    assert pdanon.read_parquet("out.parquet")["sex"].tolist() == ["f", "m"]


@pytest.mark.parametrize(
    ("name", "mark"),
    [("in.csv", ","), ("in.csv", "\t"), ("in.tsv", "\t"), ("in.csv.gz", "|"), ("in.tsv.gz", "\t")],
)
def test_joined_text_is_read_from_any_usual_csv(name, mark):
    rows = [f"{age}{mark}{' ; '.join(sorted(row))}" for age, row in zip("1122", LISTS, strict=True)]
    written(name, "\n".join([f"age{mark}items", *rows]) + "\n", "cp1252")
    asked = ["--column", "items", "--separator", " ; ", "--encoding", "cp1252"]
    assert released(name, *asked)["age"].tolist() == ["1", "1", "2", "2"]


def test_lists_are_read_from_lines_of_json():
    rows = [{"age": 3, "items": sorted(row)} for row in LISTS]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert list(released("in.jsonl")) == ["age", "items"]


@pytest.mark.parametrize("command", ["profile", "risk", "audit"])
def test_raw_tables_are_looked_at_in_every_form(capsys, command):
    lines = "".join(f"{row},{item}\n" for row, items in enumerate(LISTS) for item in items)
    written("in.csv", "who,what\n" + lines)
    joined = "".join(f"{';'.join(row)}\n" for row in LISTS)
    written("joined.csv", "items\n" + joined)
    written("ticked.csv", ticked())
    pdanon.to_parquet(pd.DataFrame({"items": LISTS}), "lists.parquet")
    said = [
        ("lists.parquet",),
        ("in.csv", "--by", "who", "--item", "what"),
        ("joined.csv", "--separator", ";", "--column", "items"),
        ("ticked.csv", "--by", "who", "--onehot", TEA, RICE, SALT),
    ]
    shown = set()
    for asked in said:
        assert main([command, *asked, "-k", "2", "-m", "1"]) == 0
        shown.add(capsys.readouterr().out.replace("'what'", "'items'"))
    if command == "audit":  # in which there is a hash of the labels, too
        shown = {text.partition("  SHA-256")[0] for text in shown}
    assert len(shown) == 1


UNFIT = {
    "a person a line": (
        "who,what\n" + "".join(f"{i},{TEA}\n" for i in range(20)),
        ["--by", "who", "--item", "what"],
        ["each line has another person, so each person would have one item", "customer number"],
    ),
    "persons of lines": (
        "who,what\n1,x\n1,y\n2,x\n",
        ["--by", "who", "--item", "what", "--keep", "who"],
        ["the column of persons is never published", "leave it out of keep (--keep)"],
    ),
    "persons of ticks": (
        "who,tea\n1,1\n2,1\n",
        ["--onehot", "--by", "who", "--keep", "who"],
        ["the column of persons is never published"],
    ),
    "persons of text": (
        "who,what\n1,x;y\n2,x\n",
        ["--column", "what", "--separator", ";", "--by", "who", "--keep", "who"],
        ["the column of persons is never published"],
    ),
    "other values": (
        "who,age,sex,tea\n1,30,f,1\n",
        ["--onehot", "--by", "who"],
        ["other values than 0, 1, true, false and counts\n  where: 'sex'\n", "1 of 3 columns"],
    ),
    "no such column of ticks": (
        "who,tea\n1,1\n",
        ["--onehot", "tee"],
        ["'tee' does not exist", "mean 'tea'"],
    ),
    "no such column to keep": (
        "who,tea\n1,1\n",
        ["--onehot", "tea", "--keep", "hwo"],
        ["'hwo' does not exist", "mean 'who'"],
    ),
    "no such prefix": ("who,tea\n1,1\n", ["--prefix", "has_"], ["no column begins with the prefix"]),
    "who and what": (
        "who,tea\n1,1\n",
        ["--onehot", "tea", "who", "--by", "who"],
        ["is an item, and another part of the form"],
    ),
    "lines and columns": (
        "who,what\n1,x\n",
        ["--by", "who", "--item", "what", "--onehot"],
        ["a line each or a column each, not both"],
    ),
    "columns and a prefix": (
        "who\n1\n",
        ["--onehot", "who", "--prefix", "w"],
        ["--onehot and --prefix exclude each other"],
    ),
    "conflicts of nobody": (
        "who\n1\n",
        ["--onehot", "who", "--conflicts", "first"],
        ["--conflicts needs --by"],
    ),
    "nobody's lines": ("who,what\n1,x\n", ["--item", "what"], ["--by and --item go together"]),
    "no separator": (
        "items\n" + f"{TEA};{RICE}\n" * 20,
        ["--column", "items", "--separator", "|"],
        ["the separator is in no text of the column", "';' is in most texts"],
    ),
    "delimiter of lines": (
        "who;what\n1;x\n",
        ["--by", "who", "--item", "what", "--delimiter", ","],
        ["',' separates no fields", "';' is its delimiter"],
    ),
    "delimiter of text": (
        "who;what\n1;x\n",
        ["--separator", "|", "--column", "what", "--delimiter", ","],
        ["',' separates no fields", "';' is its delimiter"],
    ),
    "no CSV form": (
        "items\nx\n",
        ["--types", "items=integer"],
        ["needs --column and --separator", "--by and --item", "--onehot"],
    ),
}


def test_persons_are_no_quasi_identifier(capsys):
    written("in.csv", "who,what\n1,x\n1,y\n2,x\n")
    asked = ("-k", "2", "-m", "1", "--by", "who", "--item", "what", "--quasi", "who")
    assert "the column of persons is never published" in refused(
        capsys, "anonymize", "in.csv", "out.parquet", *asked
    )


@pytest.mark.parametrize(("text", "asked", "said"), UNFIT.values(), ids=UNFIT)
@pytest.mark.parametrize("command", [["anonymize", "in.csv", "out.parquet", *KM], ["profile", "in.csv"]])
def test_what_does_not_fit_is_said_in_words(capsys, command, text, asked, said):
    written("in.csv", text)
    message = refused(capsys, *command, *asked)
    for each in said:
        assert each in message


@pytest.mark.parametrize(
    "asked", [["--by", "a", "--item", "b"], ["--column", "b", "--separator", "|"], ["--onehot", "b"]]
)
def test_another_encoding_is_told_with_its_line(capsys, asked):
    Path("in.csv").write_bytes(b"a,b\n" + b"1,x\n" * 3000 + b"2,th\xe9\n" + b"3,y\n" * 5)
    message = refused(capsys, "profile", "in.csv", *asked)
    assert "in.csv, line 3,002\n" in message
    assert "it is not UTF-8 text" in message
    assert "--encoding" in message
    Path("in.csv").write_bytes(b"a,th\xe9,b\n1,2,3\n")
    assert "in.csv, line 1\n" in refused(capsys, "profile", "in.csv", *asked)
    Path("in.csv").write_bytes(b"a,c,b\n1,th\xe9,1\n")
    assert "in.csv, line 2\n" in refused(capsys, "profile", "in.csv", *asked)


def test_lists_have_no_lines_and_parquet_no_delimiter(capsys):
    pdanon.to_parquet(pd.DataFrame({"who": range(4), "items": LISTS}), "lists.parquet")
    assert "holds lists" in refused(capsys, "profile", "lists.parquet", "--by", "who", "--item", "items")
    assert "--delimiter is only for CSV" in refused(capsys, "profile", "lists.parquet", "--delimiter", ";")
    assert "--encoding is only for CSV" in refused(capsys, "profile", "lists.parquet", "--encoding", "utf-8")


@pytest.mark.parametrize("asked", ["--conflicts first", "--prefix a", "--onehot", "--encoding utf-8"])
def test_streams_are_of_lists_or_lines(capsys, asked):
    command = ["anonymize", "--stream", "in.parquet", "out.parquet", *KM, *asked.split()]
    said = f"--stream reads lists, or lines by --by or --unit and --item, and takes no {asked.split()[0]}"
    assert said in refused(capsys, *command)


def test_columns_of_ticks_may_be_in_parquet():
    ticks = pd.DataFrame({each: [each in row for row in LISTS] for each in (TEA, RICE, SALT)})
    ticks.assign(who=range(4)).to_parquet("ticks.parquet")
    released("ticks.parquet", "--onehot", "--by", "who")


def test_one_item_a_row_is_no_mistake():
    frame = pd.DataFrame({"items": [[f"{TEA} of the house"]] * 15 + [["(rice,tea)"]] * 25})
    pdanon.to_csv(frame, "one.csv", separator="|")
    back = pdanon.read_csv("one.csv", column="items", separator="|")
    assert [list(row) for row in back["items"]] == frame["items"].tolist()


@pytest.mark.slow
def test_every_form_gives_the_same_release_of_random_rows():
    rng = np.random.default_rng(5)
    ticks = pd.DataFrame(rng.random((400, 12)) < 0.3, columns=[f"i{each:02}" for each in range(12)])
    ticks = ticks[ticks.any(axis=1)].reset_index(drop=True)
    ticks.astype(int).to_csv("ticked.csv", index=False)
    ticks.stack().loc[lambda each: each].reset_index()[["level_0", "level_1"]].to_csv(
        "lines.csv", index=False
    )
    ticks.apply(lambda row: ";".join(row.index[row]), axis=1).to_frame("items").to_csv(
        "joined.csv", index=False
    )
    said = {
        "ticked.csv": ["--onehot"],
        "lines.csv": ["--by", "level_0", "--item", "level_1"],
        "joined.csv": ["--column", "items", "--separator", ";"],
    }
    releases = []
    for name, asked in said.items():
        more = ["--algorithm", "pcta", "-k", "5", "-m", "2", "--overwrite", *asked]
        assert main(["anonymize", name, "out.parquet", *more]) == 0
        releases.append([set(row) for row in pdanon.read_parquet("out.parquet").iloc[:, -1]])
    assert releases[0] == releases[1] == releases[2]


def test_lines_by_invoice_are_warned_of_the_customers(capsys):
    lines = pd.DataFrame({"invoice": [*range(40)] * 2, "customer": [n % 10 for n in range(40)] * 2})
    lines.assign(product=[TEA, RICE] * 40).to_csv("lines.csv", index=False)
    command = ["anonymize", "lines.csv", "out.parquet", "--overwrite", *KM, "--item", "product", "--by"]
    assert main([*command, "invoice"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("pdanon: warning: 40 rows, one per 'invoice', share 10 values of 'customer'")
    assert "\n  hint:  name that column in --by, or leave it out" in said
    assert main([*command, "customer"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_formulas_in_csv_are_reported_and_escaped(run, tmp_path):
    rows = [["=1", "b"], ["b", "c"], ["=1"], ["c"]]
    pdanon.to_parquet(pd.DataFrame({"items": rows}), tmp_path / "in.parquet")
    files = (str(tmp_path / "in.parquet"), str(tmp_path / "out.csv"))
    asked = ("anonymize", *files, "--algorithm", "pcta", "-k", "2", "-m", "1", "--separator", "|")
    asked += ("--overwrite",)
    code, _, err = run(*asked, "--mapping", str(tmp_path / "mapping.csv"))
    assert (code, err.count("as formulas")) == (0, 2)
    assert "--escape-formulas" in err
    code, _, err = run(*asked, "--mapping", str(tmp_path / "mapping.csv"), "--escape-formulas")
    assert (code, err) == (0, "")
    assert "'=1|b" in (tmp_path / "out.csv").read_text().splitlines()
    assert '"\'=1"' in (tmp_path / "mapping.csv").read_text()
