"""Steps before a release, on the command line and in policies: the same as in Python."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import contents, here  # noqa: F401
from conftest import SECRET

import pdanon
from pdanon.__main__ import main

ROWS = [["E11.9", "I10"], ["E11.0", "I10", "J45"], ["E11.9"], ["I10"]] * 6
STEPS = {"items": {"length": 3, "max_items": 2}, "age": {"band": 10}, "day": {"period": "month"}}
WORDS = ["--prepare", "items.length=3", "items.max_items=2", "age.band=10", "day.period=month"]


@pytest.fixture
def table(here):  # noqa: F811
    """A table with codes, ages and dates, in patients.parquet."""
    days = pd.to_datetime(["2025-01-03", "2025-01-30", "2025-02-01", "2025-02-02"] * 6)
    frame = pd.DataFrame({"items": pdanon.as_itemsets(ROWS), "age": [31, 38, 40, 49] * 6, "day": days})
    pdanon.to_parquet(frame, "patients.parquet")
    return frame


def test_the_command_the_policy_and_python_release_the_same(table):
    asked = ["-k", "5", "-m", "2", "--quasi", "age", "--keep", "day"]
    files = ["--evidence", "evidence.json", "--mapping", "mapping.parquet"]
    assert main(["anonymize", "patients.parquet", "out.parquet", *WORDS, *asked, *files]) == 0
    policy = """
        input = "patients.parquet"
        parameters = { k = 5, m = 2 }
        columns = { items = "items", quasi = ["age"], keep = ["day"] }
        outputs = { release = "run.parquet", evidence = "run.json" }
        [prepare]
        items = { length = 3, max_items = 2 }
        age = { band = 10 }
        day = { period = "month" }
    """
    with open("policy.toml", "w") as file:
        file.write(policy)
    assert main(["run", "policy.toml"]) == 0
    result = table.txanon.prepare(STEPS).keep("day").anonymize(k=5, m=2, quasi=["age"])
    released = [pdanon.read_parquet(name) for name in ("out.parquet", "run.parquet")]
    for each in released:
        assert [list(row) for row in each["items"]] == [list(row) for row in result.frame["items"]]
        assert each["age"].tolist() == result.frame["age"].tolist()
        assert {*each["day"]} == {"2025-01", "2025-02"}
    for name in ("evidence.json", "run.json"):
        stored = json.loads(Path(name).read_text())
        assert stored["loss"]["dropped"] == result.loss["dropped"] == 6 / 42
        expected = "items: length 3, max_items 2; age: band 10; day: period month"
        assert stored["request"]["parameters"]["prepared"] == expected
    verify = ["verify", "evidence.json", "--release", "out.parquet", "--original", "patients.parquet"]
    assert main([*verify, "--mapping", "mapping.parquet", *WORDS]) == 0
    assert main([*verify, "--mapping", "mapping.parquet"]) == 1


def test_weights_are_a_file(table, capsys):
    with open("weights.csv", "w") as file:
        file.write("item,weight\nI10,0.1\n")
    words = ["--prepare", "items.max_items=1", "items.weights=weights.csv"]
    asked = ["-k", "2", "-m", "1", "--keep", "age", "day"]
    assert main(["anonymize", "patients.parquet", "out.parquet", *words, *asked, "--dry-run"]) == 0
    assert "weights.csv" in capsys.readouterr().out
    assert main(["anonymize", "patients.parquet", "out.parquet", *words, *asked]) == 0
    assert pdanon.read_parquet("out.parquet")["items"].map(list).tolist()[:2] == [["E11.9"], ["E11.0"]]
    policy = (
        'input = "patients.parquet"\nparameters = { k = 2, m = 1 }\ncolumns = { keep = ["age", "day"] }\n'
    )
    policy += 'outputs = { release = "run.parquet" }\n[prepare]\n'
    with open("policy.toml", "w") as file:
        file.write(policy + 'items = { max_items = 1, weights = "weights.csv" }\n')
    assert main(["run", "policy.toml"]) == 0
    assert pdanon.read_parquet("run.parquet")["items"].map(list).tolist()[:2] == [["E11.9"], ["E11.0"]]
    assert "weights.csv" in {path.name for path in pdanon.Policy.from_toml("policy.toml").inputs}


def test_a_tradeoff_shows_both(table, capsys):
    words = ["tradeoff", "patients.parquet", "-k", "2", "-m", "1", "--keep", "age", "day", "--json"]
    assert main([*words, "--prepare", "items.max_items=2"]) == 0
    trials = json.loads(capsys.readouterr().out)["result"]["trials"]
    assert [(each["prepared"], each["dropped"]) for each in trials] == [
        ("", None),
        ("items: max_items 2", 6 / 42),
    ]


def test_a_profile_names_the_steps_in_its_commands(table, capsys):
    assert main(["profile", "patients.parquet", "-k", "20", *WORDS[:2]]) == 0
    assert "patients.parquet released.parquet --prepare items.length=3 -k 20" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["items.limit=3"], "is no step"),
        (["items=3"], "is no step"),
        (["items.max_items="], "is no step"),
        (["items.max_items=x"], "max_items must be an integer"),
        (["items.weights=weights.txt"], ".parquet or .csv"),
        (["day.period=decade"], "no such period"),
        (["days.period=month"], "does not exist"),
        (["items.band=3"], "holds lists"),
    ],
)
def test_steps_that_are_refused(table, capsys, words, match):
    before = contents()
    code = main(["anonymize", "patients.parquet", "out.parquet", "-k", "2", "--prepare", *words])
    err = capsys.readouterr().err
    assert code == 2
    assert match in err
    assert SECRET not in err
    assert contents() == before


def test_length_and_period_file_by_file_make_the_stream_of_the_prepared_table(table, capsys):
    rng = np.random.default_rng(0)
    codes = [f"{letter}{n}.{rank}" for letter in "ABC" for n in range(4) for rank in range(3)]
    items = [[*rng.choice(codes, 3, replace=False)] for _ in range(80)]
    days = pd.Timestamp("2024-01-30") + pd.to_timedelta(rng.integers(0, 60, 80), unit="D")
    frame = pd.DataFrame({"day": days, "items": items})
    steps = {"items": {"length": 2}, "day": {"period": "month"}}
    assert (
        main(["anonymize", "patients.parquet", "out", "-k", "2", "--stream", "--prepare", "day.period=month"])
        == 2
    )
    call = capsys.readouterr().err.partition("in Python: ")[2].splitlines()[0]
    Path("cut").mkdir()
    for name, part in (("a", frame[:30]), ("b", frame[30:])):
        pdanon.to_parquet(part, f"{name}.parquet")
        exec(
            call,
            {"pdanon": pdanon, "path": f"{name}.parquet", "steps": steps, "other": f"cut/{name}.parquet"},
        )
    whole = frame.txanon.prepare(steps)
    pdanon.stream.pcta("cut", "released", k=3, m=2, keep=["day"])
    released = pd.concat([pdanon.read_parquet(f"released/{name}.parquet") for name in "ab"])
    expected = whole.keep("day").pcta(k=3, m=2).frame
    assert released["items"].map(list).tolist() == expected["items"].map(list).tolist()
    assert released["day"].tolist() == expected["day"].tolist()
    assert whole.frame["items"].map(list).tolist() != expected["items"].map(list).tolist()  # some are recoded


def test_neither_streams_nor_persons_with_several_rows(table, capsys):
    words = ["anonymize", "patients.parquet", "out.parquet", "-k", "2", "--prepare", "items.max_items=2"]
    assert main([*words, "--unit", "age"]) == 2
    assert "max_items and --unit" in capsys.readouterr().err
    assert main([*words, "--stream"]) == 2
    assert "--stream takes no --prepare" in capsys.readouterr().err
    form = {"unit": "age"}
    with pytest.raises(pdanon.ParameterError, match="max_items and unit"):
        pdanon.Policy(
            input="patients.parquet", form=form, prepare={"items": {"max_items": 2}}, parameters={"k": 2}
        )
    with pytest.raises(pdanon.ParameterError, match="no such step"):
        pdanon.Policy(input="patients.parquet", prepare={"items": {"most": 2}}, parameters={"k": 2})
