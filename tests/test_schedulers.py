"""Recipes for schedulers: what can be run here is run as the page shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from jsonschema import Draft202012Validator
from test_docs import BLOCK, ROOT

import pdanon

PAGE = (ROOT / "docs" / "recipes" / "pipeline.md").read_text(encoding="utf-8")
BLOCKS = {title or kind: text for kind, title, text in BLOCK.findall(PAGE)}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with the examples, and a command pdanon that runs this code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "baskets.parquet", tmp_path / "examples")
    command = tmp_path / "bin" / "pdanon"
    command.parent.mkdir()
    package = Path(pdanon.__file__).parents[1]
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m pdanon "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def make(**more):
    done = subprocess.run(["make", *more.pop("arguments", [])], capture_output=True, text=True, **more)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_releases_and_audits_what_is_new(here):
    Path("Makefile").write_text(BLOCKS["Makefile"])
    code, _, err = make()
    assert (code, re.findall("rror|warning", err)) == (0, [])  # on a busy machine it names its stages
    assert json.loads(Path("audit.json").read_text())["result"]["holds"]
    written = Path("released.parquet").stat().st_mtime_ns
    assert "up to date" in make()[1]
    assert Path("released.parquet").stat().st_mtime_ns == written
    shutil.copy("examples/baskets.parquet", "released.parquet")  # as if somebody replaced the release
    code, _, err = make()
    assert code == 2  # of make, which prints the exit code of the command
    assert "Error 1" in err
    assert not Path("audit.json").exists()


@pytest.fixture
def airflow(monkeypatch):
    """A stand-in for Airflow: the task is a function, and a failure an exception."""

    failure = type("AirflowFailException", (Exception,), {})

    def decorator(**options):
        return lambda function: function

    tasks = {"airflow": {}, "airflow.exceptions": {"AirflowFailException": failure}}
    tasks |= {
        "airflow.sdk": {"dag": lambda **options: lambda function: lambda: None, "task": decorator},
        "pendulum": {"datetime": lambda *parts: SimpleNamespace(parts=parts)},
    }
    for name, content in tasks.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return failure


@pytest.mark.slow
def test_a_task_returns_losses_and_fails_for_good(here, airflow):
    names = {}
    exec(compile(BLOCKS["dag.py"], "dag.py", "exec"), names)
    loss = names["anonymize"]("examples/baskets.parquet", "out.parquet", "kept.parquet")
    expected = pdanon.pcta(pdanon.read_parquet("examples/baskets.parquet", ["items"]), k=5, m=2).loss
    assert loss == expected.to_dict()
    with pytest.raises(subprocess.CalledProcessError):  # the target exists: exit code 2
        names["anonymize"]("examples/baskets.parquet", "out.parquet", "kept.parquet")
    few = pdanon.read_parquet("examples/baskets.parquet").head(3)
    pdanon.to_parquet(few, "few.parquet")
    with pytest.raises(airflow, match="k is larger than the number of rows"):
        names["anonymize"]("few.parquet", "never.parquet", "kept.parquet")


def test_the_facet_has_what_the_specification_requires():
    facet = json.loads(BLOCKS["json"])["outputs"][0]["facets"]["pdanon_anonymization"]
    required = {"type": "object", "required": ["_producer", "_schemaURL"]}
    assert not [*Draft202012Validator(required).iter_errors(facet)]
    assert facet["guarantee"] == {"name": "KmAnonymity", "k": 5, "m": 2}
