"""One line of JSON for every command, its errors too, as the schema in the package describes it."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pandas as pd
import pytest
from commands import KM, SALT, files, here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET, frame_of
from jsonschema import Draft202012Validator

import pdanon
from pdanon.cli.main import _COMMANDS

SCHEMA = json.loads((resources.files("pdanon.cli") / "output.schema.json").read_text(encoding="utf-8"))
# Further properties of these are named after parameters or losses.
OPEN = {"guarantee"}
CLASSES = ("--classes", "new.csv")
RUNS = {
    "profile": ("profile", "in.parquet", "-k", "2", "-m", "2"),
    "profile of lines": ("profile", "lines.csv", "--by", "who", "--item", "what", "--report", "new.html"),
    "tradeoff": ("tradeoff", "in.parquet", "-k", "2", "-m", "1", "--algorithm", "pcta", "--out", "new.csv"),
    "no release": ("tradeoff", "in.parquet", "-k", "9", "-m", "1", "--algorithm", "pcta"),
    "anonymize": ("anonymize", "in.parquet", "new.parquet", *KM, "--mapping", "new.csv"),
    "tried": ("anonymize", "in.parquet", "new.parquet", "-k", "2", "-m", "1", "--time-limit", "5"),
    "stream": ("anonymize", "in.parquet", "new.parquet", "--stream", *KM),
    "sampled": ("anonymize", "in.parquet", "new.parquet", "--stream", "-k", "2", "-m", "1"),
    "cahd": (
        "anonymize",
        "in.parquet",
        "new.parquet",
        "-p",
        "2",
        "--sensitive",
        SALT,
        "--classes",
        "new.csv",
    ),
    "parts": ("anonymize", "in.parquet", "new.parquet", "--algorithm", "disassociate", "-k", "2"),
    "audit": ("audit", "in.parquet", "-k", "2", "--threats", "new.parquet"),
    "audit of a stream": ("audit", "in.parquet", "-k", "2", "--stream"),
    "audit of lines": ("audit", "lines.csv", "-k", "2", "--unit", "who", "--item", "what"),
    "lines": ("anonymize", "lines.csv", "new.csv", "--unit", "who", "--item", "what", *KM),
    "evidence": ("anonymize", "in.parquet", "new.parquet", *KM, "--evidence", "new.json"),
    "verify": ("verify", "evidence.json", "--release", "released.parquet"),
    "risk": ("risk", "in.parquet", "-k", "2", "--quasi", "store", "--out", "new.csv"),
    "assess": ("assess", "in.parquet", "--release", "in.parquet", "--max-risk", "1", "--out", "new.csv"),
    "risk of a stream": ("risk", "in.parquet", "-k", "2", "--stream"),
    "profile of a stream": ("profile", "in.parquet", "-k", "2", "--stream"),
    "run": ("run", "policy.toml"),
    "compare": ("compare", "policy.toml"),
    "algorithms": ("algorithms",),
    "an algorithm": ("algorithms", "pcta"),
}
ERRORS = {
    "no command": ("-k", "2"),
    "an unknown command": ("anonymise", "in.parquet"),
    "an unknown option": ("risk", "in.parquet", "-k", "2", "--colum", "items"),
    "a missing file": ("profile", "nowhere.parquet"),
    "a wrong file": ("audit", "wrong.parquet", "-k", "2"),
    "no algorithm has it": ("anonymize", "in.parquet", "new.parquet", "-k", "9"),
    "a wrong column": ("tradeoff", "in.parquet", "--column", "store"),
    "no policy": ("run", "in.parquet"),
    "a policy that compares nothing": ("compare", "nothing.toml"),
    "no such algorithm": ("algorithms", "pctt"),
}
POLICY = """
input = "in.parquet"
algorithm = "pcta"
columns = { drop = ["store"] }
parameters = { k = 2 }
[outputs]
release = "new.parquet"
loss = "new.csv"
comparison = "compared.csv"
[compare.algorithms.pcta]
k = 2
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A release and its evidence, of the same data as in.parquet."""
    directory = tmp_path_factory.mktemp("results")
    (directory / "in.parquet").write_bytes(files()["in.parquet"])
    result = pdanon.pcta(pdanon.read_parquet(directory / "in.parquet"), k=2, m=2)
    result.evidence(directory / "evidence.json")
    pdanon.to_parquet(result.frame, directory / "released.parquet")
    return directory


@pytest.fixture(autouse=True)
def data(here, results):  # noqa: F811
    for path in results.iterdir():
        shutil.copy(path, path.name)
    Path("policy.toml").write_text(POLICY)
    Path("nothing.toml").write_text('input = "in.parquet"')
    Path("wrong.parquet").write_text(SECRET)
    Path("lines.csv").write_text(f"who;what\n1;{SECRET}\n2;{SALT}\n")


def closed(schema, name=None):
    """A schema in which every property must be described."""
    schema = copy.deepcopy(schema)
    waiting = [("", schema)]
    while waiting:
        name, each = waiting.pop()
        if isinstance(each, dict):
            if each.get("type") == "object" and "properties" in each and name not in OPEN:
                each.setdefault("additionalProperties", name in ("trials", "tried", "configurations"))
            waiting += [(name if key in ("items", "oneOf") else key, value) for key, value in each.items()]
        elif isinstance(each, list):
            waiting += [(name, value) for value in each]
    return schema


VALIDATOR = Draft202012Validator(closed(SCHEMA))


def document_of(run, *arguments):
    code, out, err = run(*arguments, "--json")
    assert out.count("\n") == 1
    assert out.isascii()
    document = json.loads(out)
    assert document["exit_code"] == code
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    return document, err


def test_the_schema_is_one_and_knows_every_command():
    Draft202012Validator.check_schema(SCHEMA)
    assert {*_COMMANDS, None} == {*SCHEMA["properties"]["command"]["enum"]}
    strange = {"schema_version": 1}
    assert [*VALIDATOR.iter_errors(strange)]
    assert {each[0] for each in RUNS.values()} == {*_COMMANDS} - {"demo"}  # which prints several results


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize("name", RUNS)
def test_results_are_as_the_schema_says(run, name):
    document, _ = document_of(run, *RUNS[name])
    assert document["command"] == RUNS[name][0]
    assert document["error"] is None
    assert document["exit_code"] == (RUNS[name][0] == "audit")  # the original has no guarantee
    written = {each["path"] for each in document["result"].get("files", [])}
    assert written == {path for path in map(str, Path().iterdir()) if path.startswith(("new", "compared"))}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_as_the_schema_says(run, name):
    code, out, err = run(*ERRORS[name])
    assert out == ""
    document, again = document_of(run, *ERRORS[name])
    assert again == err  # people still read it
    error = document["error"]
    assert document["exit_code"] == code == (1 if name == "no algorithm has it" else 2)
    assert err.startswith(f"pdanon: error: {error['what']}\n")
    for part in ("where", "got", "hint"):
        assert (error[part] is None) or error[part] in err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RUNS)
def test_plans_are_as_the_schema_says(run, name):
    if name in ("algorithms", "an algorithm", "verify"):
        pytest.skip("it writes nothing")
    before = sorted(Path().iterdir())
    document, _ = document_of(run, *RUNS[name], "--dry-run")
    assert document["dry_run"]
    assert {each["path"] for each in document["result"]["writes"]} >= {
        word for word in RUNS[name] if word.startswith("new")
    }
    assert sorted(Path().iterdir()) == before


def test_figures_are_those_of_python(run):
    frame = pdanon.read_parquet("in.parquet")
    release = document_of(run, *RUNS["anonymize"])[0]["result"]
    result = pdanon.pcta(frame, k=2, m=2)
    assert release["loss"] == result.loss.to_dict()
    assert (release["guarantee"]["k"], release["guarantee"]["m"]) == (2, 2)
    assert release["guarantee"]["text"] == repr(result.guarantee)
    table = pd.DataFrame(document_of(run, "risk", "in.parquet", "-k", "2")[0]["result"]["risk"])
    expected = pdanon.risk(frame, k=2)
    assert table["below_k"].tolist() == expected["below_k"].tolist()
    assert table["items"].isna().tolist() == expected["items"].isna().tolist()
    looks = [document_of(run, *RUNS[name])[0]["result"] for name in ("profile", "profile of a stream")]
    assert [look["counts"]["repeated_rows"] for look in looks] == [0, None]  # the stores differ


def test_warnings_and_notes_are_part_of_it(run):
    many = frame_of([{"a", "b"}] * 40).assign(born=range(40))
    pdanon.to_parquet(many, "born.parquet")
    document, err = document_of(run, "anonymize", "born.parquet", "new.parquet", *KM)
    (warning,) = document["warnings"]
    assert warning["kind"] == "IdentifierWarning"
    assert f"pdanon: warning: {warning['what']}\n  hint:  {warning['hint']}\n" == err
    document, err = document_of(run, *RUNS["profile of lines"][:-2])
    assert document["notes"] == ["lines.csv: the delimiter is ';'"]
    assert err == "pdanon: note: lines.csv: the delimiter is ';'\n"


def test_quiet_commands_print_warnings_and_errors_only(run):
    assert run(*RUNS["profile of lines"][:-2], "--quiet") == (0, "", "")
    assert run("run", "policy.toml", "--quiet") == (0, "", "")
    assert run(*RUNS["audit of a stream"], "--quiet") == (1, "", "")
    assert run("risk", "nowhere.parquet", "-k", "2", "--quiet")[2].startswith(
        "pdanon: error: the file cannot"
    )
    document, err = document_of(run, *RUNS["profile of lines"][:-2], "--quiet")
    assert (len(document["notes"]), err) == (1, "")


def test_a_defect_tells_no_item(run, monkeypatch):
    def fail(*arguments, **options):
        raise LookupError(f"{os.sep}unknown")

    monkeypatch.setattr("pdanon.accessors.TxanonAccessor.risk", fail)
    document, err = document_of(run, "risk", "in.parquet", "-k", "2")
    assert document["error"]["kind"] == "LookupError"
    assert "unknown" not in json.dumps(document)
    assert "Traceback" in err


def test_words_after_two_dashes_are_no_options(run):
    code, out, err = run("risk", "-k", "2", "--", "--json")
    assert (code, out) == (2, "")
    assert "'--json' must end in" in err


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("algorithms",), ("risk", "nowhere.parquet", "-k", "2")])
def test_nobody_reads_the_json(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "pdanon", *arguments, "--json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert "BrokenPipe" not in done.stderr
