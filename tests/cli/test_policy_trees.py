"""Policies on directories of Parquet files, which are read in parts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from conftest import frame_of, rows_of

import pdanon
from pdanon.stream import streamed

ROWS = [{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}] * 6
POLICY = """
input = "{input}"
{algorithm}
parameters = {{ k = 4, m = 2 }}
[columns]
{roles}
[outputs]
release = "released"
{outputs}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streamed, "fits", lambda n_bytes: False)
    frame = frame_of(ROWS).assign(name=[f"person{number}" for number in range(24)], shop="north")
    for month in (1, 2):
        Path(f"baskets/month={month}").mkdir(parents=True)
        part = frame[12 * (month - 1) :][:12].reset_index(drop=True)
        pdanon.to_parquet(part, f"baskets/month={month}/part.parquet")


def write(
    input="baskets",
    algorithm='algorithm = "pcta"',
    roles='drop = ["name"]\nkeep = ["shop"]',
    outputs='mapping = "kept.parquet"',
):
    parts = {"input": input, "algorithm": algorithm, "roles": roles, "outputs": outputs}
    Path("policy.toml").write_text(POLICY.format(**parts))


@pytest.mark.parametrize("source", ["baskets", "baskets/*/part.parquet"])
def test_a_directory_is_released_as_a_directory(run, source):
    write(source)
    code, out, err = run("run", "policy.toml", "--dry-run")
    assert (code, err) == (0, "")
    assert not Path("released").exists()
    code, out, err = run("run", "policy.toml")
    assert (code, err) == (0, "pdanon: writes released, kept.parquet\n")
    assert "Anonymized: 24 rows, pcta" in out
    paths = sorted(Path("released").rglob("*.parquet"))
    released = pd.concat(map(pdanon.read_parquet, paths), ignore_index=True)
    assert list(released) == ["items", "shop"]
    assert rows_of(released) == rows_of(pdanon.pcta(frame_of(ROWS), k=4, m=2).frame)
    assert not any(b"person" in path.read_bytes() for path in paths)
    assert len(pdanon.read_parquet("kept.parquet")) == 3
    code, _, err = run("run", "policy.toml", "--overwrite")
    assert (code, "the target exists" in err) == (2, True)


def test_a_sample_chooses_the_algorithm(run):
    write(algorithm="", outputs="")
    code, out, _ = run("run", "policy.toml", "--json")
    result = json.loads(out)["result"]
    assert (code, result["sample"], result["rows"]) == (0, 24, 24)
    assert result["files"] == [{"name": "release", "path": "released"}]


WRONG = {
    "no role": ({"roles": 'drop = ["name"]'}, "columns have no role"),
    "no such column": ({"roles": 'drop = ["names"]\nkeep = ["shop"]'}, "the table lacks columns"),
    "quasi": (
        {"algorithm": "", "roles": 'quasi = ["shop"]\ndrop = ["name"]'},
        "quasi in parts needs an algorithm",
    ),
    "report": ({"outputs": 'report = "page.html"'}, "an output needs all rows at once"),
    "algorithm": (
        {"algorithm": 'algorithm = "disassociate"', "roles": 'drop = ["name", "shop"]'},
        "needs all",
    ),
    "no files": ({"input": "baskets/*/none*.parquet"}, ""),
    "lines": ({"outputs": "[input]"}, ""),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_released_in_parts_is_refused(run, change, message):
    write(**change)
    code, out, err = run("run", "policy.toml")
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("released").exists()


def test_in_python_a_directory_has_its_own_call():
    write()
    policy = pdanon.Policy.from_toml("policy.toml")
    assert policy.is_streamed
    assert policy.run_stream().rows == 24
    with pytest.raises(pdanon.ParameterError, match="the target exists"):
        policy.run_stream(overwrite=True)
    with pytest.raises(pdanon.FormatError, match="directory"):
        policy.run()
