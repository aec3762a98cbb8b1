"""A survey as a spreadsheet writes it: joined answers or boxes to tick, semicolons, latin-1, a number."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from commands import KM, here  # noqa: F401 (`here` acts on every test)

import pdanon
from pdanon.cli.main import main

PATIENTS = Path(__file__).parents[2] / "examples" / "patients.parquet"
HEAD = "Nr;Gemeinde;womit unterwegs\n"
ROWS = '007;Zürich;bus,zu Fuß\n7;Genève;bus,zu Fuß\n007;Zürich;tram\n8;Genève;tram\n9;Genève;"tram,bus"\n'
ASKED = ["--column", "womit unterwegs", "--separator", ",", "--encoding", "latin-1"]


def survey(text=HEAD + ROWS, name="survey.csv"):
    Path(name).write_bytes(text.encode("latin-1"))
    return name


def refused(capsys, *command):
    assert main([*command]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", ["survey.csv", "survey.parquet"])
def test_rows_of_lists_are_merged_and_the_number_is_not_published(name):
    survey()
    asked = ASKED
    if name.endswith(".parquet"):
        frame = pdanon.read_csv(
            survey(), column="womit unterwegs", separator=",", delimiter=";", encoding="latin-1"
        )
        pdanon.to_parquet(frame.assign(Nr=["007", "7", "007", "8", "9"]), name)
        asked = []
    command = ["anonymize", name, "out.parquet", "--algorithm", "pcta", "-k", "2", "-m", "1"]
    assert main([*command, *asked, "--by", "Nr", "--keep", "Gemeinde"]) == 0
    frame = pdanon.read_parquet("out.parquet")
    assert list(frame) == ["Gemeinde", "womit unterwegs"]
    assert frame["Gemeinde"].tolist() == ["Zürich", "Genève", "Genève", "Genève"]  # 007 is not 7
    sets = [set(row) for row in frame["womit unterwegs"]]
    assert sets == [{"bus", "tram", "zu Fuß"}, {"bus", "zu Fuß"}, {"tram"}, {"bus", "tram"}]


def test_rows_of_a_person_that_conflict_are_refused_unless_the_first_is_taken(capsys):
    survey(HEAD + ROWS.replace("007;Zürich;tram", "007;Uri;tram"))
    command = ["anonymize", "survey.csv", "out.parquet", *KM, *ASKED, "--by", "Nr", "--keep", "Gemeinde"]
    assert "1 of 4 persons" in refused(capsys, *command)
    assert main([*command, "--conflicts", "first"]) == 0


def test_a_column_that_is_not_there_is_told(capsys):
    command = ["profile", survey(), *ASKED, "--by", "Nr", "--keep", "Gemeinden"]
    assert "did you mean 'Gemeinde'" in refused(capsys, *command)
    assert "where: nowhere.csv\n" in refused(capsys, "audit", "nowhere.csv", "-k", "2", *ASKED)


def test_a_release_may_be_joined_otherwise_than_the_survey(capsys):
    survey(HEAD + "1;Uri;bus,tram\n2;Uri;bus,taxi\n3;Uri;bus,tram\n4;Uri;bus,tram\n")
    command = ["anonymize", "survey.csv", "out.csv", "-k", "2", "-m", "2", *ASKED, "--by", "Nr"]
    message = refused(capsys, *command)
    assert "--join" in message  # the set has a comma
    assert not Path("out.csv").exists()
    assert main([*command, "--join", "|"]) == 0
    again = ["audit", "out.csv", "-k", "2", "--column", "womit unterwegs", "--separator", "|"]
    assert main(again) == 0
    assert set(pd.read_csv("out.csv")["womit unterwegs"]) == {"(taxi,tram)|bus"}


def test_a_policy_may_join_the_release_otherwise(capsys):
    survey(HEAD + "1;Uri;bus,tram\n2;Uri;bus,taxi\n3;Uri;bus,tram\n4;Uri;bus,tram\n")
    text = """
separator = "|"
parameters = { k = 2, m = 2 }
[input]
file = "survey.csv"
separator = ","
encoding = "latin-1"
by = "Nr"
[columns]
items = "womit unterwegs"
keep = ["Gemeinde"]
[outputs]
release = "out.csv"
"""
    Path("policy.toml").write_text(text)
    assert main(["run", "policy.toml"]) == 0
    assert Path("out.csv").read_text().splitlines()[1] == 'Uri,"(taxi,tram)|bus"'
    Path("policy.toml").write_text(text.replace('encoding = "latin-1"\n', "") + 'encoding = "latin-1"\n')
    assert "move it to [input]" in refused(capsys, "run", "policy.toml")


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("x", ""),
        ("X", "-"),
        (" ja ", "nein"),
        ("Ja", "k.A."),
        ("1", "0"),
        ("2", "1"),
        ("1", "2"),
        ("1.0", ""),
    ],
)
def test_boxes_hold_what_is_said_to_be_a_tick(yes, no):
    rows = [f"{age};{yes};{other}" for age, other in ((30, yes), (31, no), (32, yes), (33, no))]
    survey("age;mit: bus;mit: Fähre\n" + "\n".join(rows) + "\n")
    asked = ["--prefix", "mit: ", "--tick", yes.strip().lower(), "--encoding", "latin-1", "--keep", "age"]
    assert main(["anonymize", "survey.csv", "out.parquet", *KM, *asked]) == 0
    frame = pdanon.read_parquet("out.parquet")
    assert [set(row) for row in frame["items"]] == [{"bus", "Fähre"}, {"bus"}] * 2


def test_codes_of_a_survey_are_told_apart_from_counts(capsys):
    survey("bus;tram\n1;2\n2;\n1;1\n")
    assert "if 1 means yes, pass tick=1 (--tick 1)" in refused(capsys, "profile", "survey.csv", "--onehot")
    assert main(["profile", "survey.csv", "--onehot", "--tick", "1"]) == 0
    assert "counts above 1" not in capsys.readouterr().err
    survey("bus;tram\n1;3\n2;0\n1;1\n")
    assert main(["profile", "survey.csv", "--onehot"]) == 0
    assert "counts above 1, are they items? bus, tram" in capsys.readouterr().err


@pytest.mark.parametrize("missing", [";Uri;tram\n", ";Uri;tram\n;Uri;bus\n"])
def test_rows_of_nobody_are_counted_as_the_file_has_them(capsys, missing):
    survey(HEAD + ROWS + missing)
    message = refused(capsys, "profile", "survey.csv", *ASKED, "--by", "Nr")
    unknown = missing.count("\n")
    assert f"{unknown} of {5 + unknown} rows in which a value is missing" in message
    assert "frame." not in message


def test_an_audit_does_not_cut_sets(capsys):
    sets = [["(ferry,plane)", "bus"], ["(ferry,plane)"], ["bus", "tram"], ["bus"]] * 6
    pdanon.to_csv(pd.DataFrame({"items": sets}), "out.csv", separator="|")
    audit = ["audit", "out.csv", "-k", "2", "--column", "items", "--separator"]
    assert "'|' is in some texts" in refused(capsys, *audit, ",")
    assert main([*audit, "|"]) == 0
    pdanon.to_csv(pd.DataFrame({"items": [["(ferry,plane)"], ["bus"]] * 12}), "out.csv", separator="|")
    assert main([*audit, "|"]) == 0  # nothing is joined, by whatever


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["out.csv", "--drop", "age"], "pass --keep for the columns"),
        (["out.csv", "--quasi", "age"], "column 'age' does not exist"),
        (["out.csv", "--algorithm", "rum_bound"], "rum_bound needs --quasi, --delta"),
        (["out.parquet", "--join", "|"], "--join needs a release in CSV"),
    ],
)
def test_what_is_said_elsewhere_is_told(capsys, asked, said):
    command = ["anonymize", survey(), *asked, "-k", "2", *ASKED]
    try:
        code = main(command)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--prefix", "mit: "], "--tick x"),
        (["--prefix", "mit: ", "--tick", "y"], "no box is ticked"),
        (["--prefix", "mit: ", "--tick", " "], "no box is ticked"),
        (["--onehot", "mit: bus", "--tick", "nan"], "no box is ticked"),
        (["--column", "mit: bus", "--separator", ",", "--tick", "x"], "--tick needs --onehot or --prefix"),
    ],
)
def test_what_is_no_tick_is_refused(capsys, asked, said):
    survey("age;mit: bus\n30;x\n31;\n")
    assert said in refused(capsys, "profile", "survey.csv", *asked)


@pytest.mark.slow
def test_the_hints_of_a_first_look_are_commands(capsys):
    lines = "".join(
        f"{i};{'Zürich' if i % 2 else 'Uri'};{'bus,tram' if i < 24 else 'taxi'}\n" for i in range(25)
    )
    survey(HEAD + lines)
    assert main(["profile", "survey.csv", *ASKED, "--report", "look.html"]) == 0
    printed = capsys.readouterr().out
    assert "--by Nr" in printed
    for text in (printed, Path("look.html").read_text(encoding="utf-8")):
        assert "txanon" not in text
        assert "KKm(" not in text
    (command,) = re.findall(r"-> pdanon (anonymize survey.csv released.parquet .*)", printed)
    assert "--by" not in command
    assert main([*shlex.split(command), "--labels", "short"]) == 0


def test_the_policy_of_the_help_can_be_run(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    text = capsys.readouterr().out.partition("such a policy.toml:\n")[2]
    Path("policy.toml").write_text(text.replace("patients.parquet", str(PATIENTS)))
    assert list(pdanon.Policy.from_toml("policy.toml").read()) == ["age", "sex", "district", "diagnoses"]


def test_a_first_look_is_beside_the_columns_that_are_named(capsys):
    assert main(["profile", survey(), *ASKED, "--keep", "Gemeinde"]) == 0
    assert "  columns    Gemeinde (not judged: fewer than 20 rows)\n" in capsys.readouterr().out


def test_an_audit_counts_what_is_known_beside_the_items(capsys):
    pdanon.to_parquet(pd.DataFrame({"age": [1, 1, 2, 2], "items": [["a"], ["a"], ["a"], ["b"]]}), "r.parquet")
    assert main(["audit", "r.parquet", "-k", "2", "-m", "1", "--quasi", "age"]) == 1
    assert "KKm(k=2, m=1, quasi=('age',))" in capsys.readouterr().out
    pdanon.to_parquet(pd.DataFrame({"age": [1, 1, 2, 2], "items": [["a"], ["a"], ["b"], ["b"]]}), "r.parquet")
    assert main(["audit", "r.parquet", "-k", "2", "-m", "1", "--quasi", "age"]) == 0
    assert "did you mean 'age'" in refused(capsys, "audit", "r.parquet", "-k", "2", "--quasi", "ages")


@pytest.mark.slow
def test_the_fingerprint_of_a_report_is_that_of_the_file_in_which_ages_are_ranges(capsys):
    rows = "".join(f"{i};{20 + i % 40};{'bus,tram' if i % 3 else 'bus'}\n" for i in range(60))
    survey("Nr;age;womit\n" + rows)
    Path("policy.toml").write_text("""
separator = ","
algorithm = "rfirst"
parameters = { k = 5, m = 1, random_state = 1, labels = "short" }
input = { file = "survey.csv", by = "Nr", types = { age = "integer" } }
columns = { items = "womit", quasi = ["age"] }
outputs = { release = "out.csv", report = "out.html" }
""")
    assert main(["run", "policy.toml"]) == 0
    capsys.readouterr()
    asked = ["-k", "5", "-m", "1", "--quasi", "age", "--column", "womit", "--separator", ","]
    assert main(["audit", "out.csv", *asked]) == 0
    (found,) = re.findall("SHA-256 +(.*)", capsys.readouterr().out)
    assert found in Path("out.html").read_text(encoding="utf-8")
    assert pd.read_csv("out.csv")["age"].str.startswith("[").all()
