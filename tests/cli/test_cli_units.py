"""Tables in which a person has several rows, from the command line and in policies."""

import json
from pathlib import Path

import pandas as pd
import pytest
from commands import here  # noqa: F401 (`here` acts on every test)

import pdanon
from pdanon.cli.main import main
from pdanon.errors import InfeasibleError, ParameterError, ReleaseWarning

LINES = pd.DataFrame(
    {
        "who": ["007", "007", "12", "12", "12", "3", "3", "4"],
        "what": ["tea", "rice", "tea", "salt", "tea", "rice", "tea", "tea"],
        "when": pd.to_datetime(["2025-01-07", "2025-02-07", "2025-03-04", "2025-01-11"] * 2),
        "shop": [*"nsnsnsns"],
    }
)
UNIT = ["--unit", "who", "--item", "what"]
KM = ["-k", "2", "-m", "2", "--algorithm", "pcta"]
CALL = {"unit": "who", "item": "what"}


@pytest.fixture(autouse=True)
def lines(here):  # noqa: F811
    LINES.to_parquet("lines.parquet")
    LINES.to_csv("lines.csv", index=False, sep=";")
    LINES.to_json("lines.jsonl", orient="records", lines=True, date_format="iso")


def texts(frame):
    return frame.astype("str").to_numpy().tolist()


@pytest.mark.parametrize("source", ["lines.parquet", "lines.csv", "lines.jsonl"])
def test_lines_are_published_as_in_python(source, capsys):
    expected = pdanon.by(LINES, **CALL).pcta(k=2, m=2)
    words = ["anonymize", source, "out.parquet", *UNIT, *KM, "--mapping", "map.csv", "--legend", "legend.csv"]
    assert main(words) == 0
    assert "rows of 4 persons" in capsys.readouterr().out
    frame = pdanon.read_parquet("out.parquet")
    assert [*frame] == ["who", "what"]
    assert texts(frame) == texts(expected.frame)
    mapping = pd.read_csv("map.csv")
    assert mapping["generalized"].tolist() == expected.mapping["generalized"].tolist()
    assert main(["audit", "out.parquet", *UNIT, "-k", "2", "--counts"]) == 0
    assert "at risk    0 persons" in capsys.readouterr().out


def test_without_an_algorithm_lines_have_the_release_that_loses_least(capsys):
    assert main(["anonymize", "lines.csv", "out.csv", *UNIT, "-k", "2", "-m", "2"]) == 0
    assert "pcta, refined" in capsys.readouterr().out
    assert Path("out.csv").read_text().splitlines()[0] == '"who","what"'
    assert main(["audit", "out.csv", *UNIT, "-k", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["result"]
    assert (shown["counted"], shown["rows_at_risk"], shown["holds"]) == ("persons", 0, True)


def test_dates_of_csv_are_kept_by_the_calendar(capsys):
    words = ["anonymize", "lines.csv", "out.csv", *UNIT, "--keep", "when", "-k", "2", "-m", "1"]
    assert main([*words, "--algorithm", "pcta"]) == 1  # as text
    assert "pass --types when=date for its calendar" in capsys.readouterr().err
    assert main([*words, "--algorithm", "pcta", "--types", "when=timestamp"]) == 0
    assert "times in 'when' are published by" in capsys.readouterr().err
    with pytest.warns(ReleaseWarning, match="times in"):
        kept = pdanon.by(LINES, **CALL, keep=["when"]).pcta(k=2, m=1).frame
    assert texts(pd.read_csv("out.csv")) == texts(kept)
    assert main(["audit", "out.csv", *UNIT, "-k", "2", "-m", "1"]) == 0
    assert main(["audit", "lines.csv", *UNIT, "-k", "2", "-m", "1"]) == 1  # with its dates and shops


def test_how_often_is_covered_or_refused(capsys):
    assert main(["anonymize", "lines.csv", "out.csv", *UNIT, *KM, "--counts"]) == 1
    assert "--counts" in capsys.readouterr().err
    assert not Path("out.csv").exists()


def test_risk_and_its_persons(capsys):
    assert main(["risk", "lines.csv", *UNIT, "-k", "2", "--out", "risk.parquet"]) == 0
    assert texts(pdanon.read_parquet("risk.parquet")) == texts(pdanon.by(LINES, **CALL).risk(k=2))


def test_visits_with_lists_stay_rows():
    visits = pd.DataFrame({"who": [7, 7, 8, 8], "codes": ["a b", "b", "a b", "b"]})
    visits.to_csv("visits.csv", index=False)
    lists = ["--column", "codes", "--separator", " "]
    assert main(["anonymize", "visits.csv", "out.csv", *lists, "--unit", "who", *KM]) == 0
    assert Path("out.csv").read_text().splitlines()[1:] == ["0,b", "0,a b", "1,b", "1,a b"]
    assert main(["audit", "out.csv", *lists, "--unit", "who", "-k", "2", "--counts"]) == 0


def test_files_larger_than_memory(capsys):
    LINES.iloc[::-1].to_parquet("lines.parquet", row_group_size=3)
    words = ["--stream", "lines.parquet", "out.parquet", *UNIT, *KM, "--mapping", "map.parquet", "--json"]
    assert main(["anonymize", *words]) == 0
    shown = json.loads(capsys.readouterr().out)["result"]
    expected = pdanon.by(LINES, **CALL).pcta(k=2, m=2)
    assert shown["rows"] == len(expected.frame)
    assert texts(pdanon.read_parquet("out.parquet")) == texts(expected.frame)
    assert main(["audit", "--stream", "out.parquet", *UNIT, "-k", "2", "--counts"]) == 0
    assert "at risk    0 persons" in capsys.readouterr().out
    assert main(["audit", "--stream", "lines.parquet", *UNIT, "-k", "2"]) == 2
    assert "other columns of lines" in capsys.readouterr().err
    assert main(["risk", "--stream", "lines.parquet", *UNIT, "-k", "2", "--out", "risk.parquet"]) == 0
    assert texts(pdanon.read_parquet("risk.parquet")) == texts(pdanon.by(LINES, **CALL).risk(k=2))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["risk", "lines.csv", "-k", "2", "--unit", "who", "--item", "wat"], "'wat' does not exist"),
        (["risk", "lines.csv", "-k", "2", *UNIT, "--by", "who"], "--by and --unit do not go together"),
        (["risk", "lines.csv", "-k", "2", *UNIT, "--quasi", "shop"], "--quasi and --unit do not go together"),
        (["risk", "lines.csv", "-k", "2", *UNIT, "--onehot"], "--onehot and --unit do not go together"),
        (["risk", "lines.parquet", "-k", "2", "--unit", "who"], "(--item product)"),
        (["risk", "lines.parquet", "-k", "2", "--unit", "who", "--column", "what"], "(--item)"),
        (["risk", "lines.parquet", "-k", "2", *UNIT, "--column", "shop"], "--column is not used with --item"),
        (["audit", "lines.csv", "-k", "2", "--by", "who", "--item", "what", "--counts"], "needs --unit"),
        (["audit", "lines.csv", "-k", "2", *UNIT, "--previous", "lines.csv"], "--previous and --unit"),
        (["profile", "lines.csv", *UNIT], "pass --by"),
        (["risk", "--stream", "lines.csv", *UNIT, "-k", "2"], "--stream reads no CSV"),
        (["risk", "--stream", "lines.parquet", "--unit", "who", "-k", "2"], "(--item product)"),
        (["risk", "--stream", "lines.parquet", *UNIT, "-k", "2", "--by", "who"], "takes no --by"),
        (["anonymize", "lines.csv", "out.csv", *UNIT, *KM, "--report", "new.html"], "--report and --unit"),
        (["anonymize", "lines.csv", "out.csv", *UNIT, *KM, "--join", ","], "--join is of lists"),
        (["anonymize", "lines.csv", "out.csv", *UNIT, *KM, "--keep", "what"], "leave it out of keep"),
        (
            ["anonymize", "lines.csv", "o.csv", *UNIT, "-p", "2", "--algorithm", "cahd"],
            "does not take --unit",
        ),
    ],
)
def test_what_does_not_go_together_names_the_options(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert {path.name for path in Path().iterdir()} >= {"lines.csv"}
    assert not Path("out.csv").exists()


# --- Policies


def policy(
    more="", parameters="k = 2\nm = 1", columns="", outputs='release = "out.parquet"', file="lines.csv"
):
    head = f"[parameters]\n{parameters}\n[columns]\n{columns}\n[outputs]\n{outputs}\n"
    types = 'types = { when = "timestamp" }' if file == "lines.csv" else ""
    unit = f'[input]\nfile = "{file}"\nunit = "who"\nitem = "what"\n{types}\n'
    Path("policy.toml").write_text(f"{more}\n{head}{unit}")
    return pdanon.Policy.from_toml("policy.toml")


@pytest.mark.parametrize("algorithm", ['algorithm = "pcta"', ""])
@pytest.mark.parametrize("file", ["lines.csv", "lines.parquet"])
def test_a_policy_publishes_lines_as_in_python(file, algorithm):
    with pytest.warns(ReleaseWarning, match="by quarter"):
        result = policy(algorithm, columns='keep = ["when"]', file=file).run()
    assert [*result.frame] == [*LINES][:3]
    persons = pdanon.by(LINES, **CALL, keep=["when"])
    call = persons.pcta if algorithm else persons.anonymize
    with pytest.warns(ReleaseWarning, match="by quarter"):
        assert texts(result.frame) == texts(call(k=2, m=1).frame)


def test_a_policy_of_lines_is_planned_and_run(capsys):
    outputs = 'release = "out.csv"\nmapping = "map.parquet"\nloss = "loss.csv"'
    policy('algorithm = "pcta"', columns='drop = ["shop"]', outputs=outputs)
    assert main(["run", "policy.toml", "--dry-run"]) == 0
    assert not Path("out.csv").exists()
    assert main(["run", "policy.toml"]) == 0
    assert "rows of 4 persons" in capsys.readouterr().out
    assert Path("out.csv").read_text().splitlines()[0] == '"who","what"'
    assert len(pdanon.read_parquet("map.parquet")) == 3


def test_a_policy_may_cover_how_often():
    more, parameters = 'algorithm = "pcta"', "k = 2\nm = 2\ncounts = true"
    with pytest.raises(InfeasibleError, match="how often"):
        policy(more, parameters).run()
    twice = pd.concat([LINES, LINES.assign(who="9" + LINES["who"])])
    twice.to_parquet("lines.parquet")
    assert len(policy(more, parameters, file="lines.parquet").run().frame) == len(twice)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": 'quasi = ["shop"]'}, "quasi and unit do not go together"),
        ({"outputs": 'release = "o.csv"\nreport = "o.html"'}, "report and unit do not go together"),
        ({"parameters": 'k = 2\nitem = "what"'}, r"move it to \[input\]"),
        ({"parameters": "k = 2\ncounts = 3"}, "counts"),
        ({"more": "[compare.algorithms.pcta]\nk = 2"}, r"\[compare\] and unit do not go together"),
        ({"more": 'algorithm = "disassociate"'}, "disassociate takes no unit"),
        ({"columns": 'items = "shop"'}, "column is not used with item"),
    ],
)
def test_what_a_policy_of_lines_does_not_allow_is_refused_at_once(changes, message):
    with pytest.raises(ParameterError, match=message):
        policy(**changes)


def test_a_policy_reads_a_directory_of_lines():
    Path("parts").mkdir()
    LINES.iloc[:3].to_parquet("parts/a.parquet")
    LINES.iloc[3:].to_parquet("parts/b.parquet")
    more = {"more": 'algorithm = "pcta"', "file": "parts", "parameters": "k = 2\nm = 2"}
    policy(**more, columns='drop = ["shop"]')
    assert main(["run", "policy.toml"]) == 0
    assert texts(pdanon.read_parquet("out.parquet")) == texts(pdanon.by(LINES, **CALL).pcta(k=2, m=2).frame)
    with pytest.raises(ParameterError, match="keep needs all rows at once"):
        policy(**more, columns='keep = ["shop"]')


def test_a_policy_without_persons_takes_no_counts():
    Path("policy.toml").write_text('input = "in.parquet"\nparameters = { k = 2, counts = true }\n')
    with pytest.raises(ParameterError, match="counts needs unit"):
        pdanon.Policy.from_toml("policy.toml")
