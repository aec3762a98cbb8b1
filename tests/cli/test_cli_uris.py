"""URIs on the command line: Parquet is read from them, nothing is written to them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from conftest import frame_of, rows_of

import pdanon
from pdanon.io.lines import is_lines
from pdanon.io.listing import located

REMOTE = "s3://bucket/month=01/in.parquet?endpoint_override=127.0.0.1:9000&scheme=http"
KM = ("-k", "2", "-m", "1")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A table, as a file and as a policy reads it."""
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(frame_of([["tea", "rice"], ["tea"], ["rice"]] * 3), "in.parquet")


def policy(file, release):
    Path("policy.toml").write_text(
        f'input = "{file}"\nalgorithm = "pcta"\n[parameters]\nk = 2\nm = 1\n'
        f'[columns]\nitems = "items"\n[outputs]\nrelease = "{release}"\n'
    )
    return "policy.toml"


def test_a_uri_of_this_machine_is_its_path(run):
    uri = Path("in.parquet").absolute().as_uri()
    assert run("risk", uri, "-k", "5") == run("risk", "in.parquet", "-k", "5")
    assert run("run", policy(uri, "out.parquet"))[0] == 0
    assert rows_of(pdanon.read_parquet("out.parquet")) == rows_of(pdanon.read_parquet(uri))
    code, _, err = run("anonymize", uri, "in.parquet", *KM)  # the original is not overwritten
    assert (code, "two arguments name the same file" in err) == (2, True)


def test_a_uri_of_another_machine_reaches_the_reader(run, monkeypatch):
    asked = []
    frame = pdanon.read_parquet("in.parquet")
    monkeypatch.setattr("pdanon.io.lines.read_parquet", lambda path: asked.append(path) or frame)
    assert run("audit", REMOTE, *KM)[0] == 0
    assert run("anonymize", REMOTE, "out.parquet", *KM)[0] == 0
    assert run("run", policy(REMOTE, "again.parquet"))[0] == 0
    assert asked == [REMOTE] * 3


def test_what_cannot_be_reached_is_no_path_of_this_machine(run):
    code, _, err = run("risk", "nowhere://bucket/in.parquet", "-k", "2")
    assert code == 2
    assert "where: nowhere://bucket/in.parquet" in err
    assert "hint:  are the address, its endpoint and the credentials right?" in err


def test_what_follows_the_name_in_a_uri_is_no_part_of_it():
    assert is_lines(REMOTE)
    assert not is_lines("in.parquet?scheme=http")  # a name like any other
    assert located(REMOTE) == REMOTE


REFUSED = {
    "release": (
        ("anonymize", "in.parquet", "s3://bucket/out.parquet", *KM),
        "OUT: 's3://bucket/out.parquet' is a URI",
    ),
    "mapping": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "s3://bucket/map.csv"),
        "--mapping: 's3://bucket/map.csv' is a URI",
    ),
    "rules": (
        ("anonymize", "in.parquet", "out.parquet", "-k", "2", "--constraints", "s3://bucket/rules.csv"),
        "--constraints: 's3://bucket/rules.csv' is a URI",
    ),
    "csv": (
        ("risk", "s3://bucket/in.csv", "-k", "2", "--by", "a", "--item", "b"),
        "of URIs only those of Parquet",
    ),
    "directory": (("risk", "s3://bucket/in", "-k", "2"), "must end in .parquet"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_other_uris_are_refused(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert [path.name for path in Path().iterdir()] == ["in.parquet"]


def test_outputs_of_a_policy_are_on_this_machine(run):
    code, _, err = run("run", policy("in.parquet", "s3://bucket/out.parquet"))
    assert code == 2
    assert "an output is a URI\n  where: policy.toml, [outputs]\n  got:   s3://bucket/out.parquet" in err


def test_frames_are_not_written_to_a_uri():
    with pytest.raises(pdanon.ParameterError, match="the path is a URI"):
        pdanon.to_parquet(pd.DataFrame({"items": [["tea"]]}), "s3://bucket/out.parquet")
