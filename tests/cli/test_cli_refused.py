"""Commands that are refused before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import CSV, KM, here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET

from pdanon.cli.main import main
from pdanon.io import tables


@pytest.fixture
def unread(monkeypatch):
    """Any reading fails the test."""

    def fail(*arguments, **options):
        raise AssertionError("a file was read")

    monkeypatch.setattr(tables.Form, "read", fail)
    for name in ("read_parquet", "read_columns"):
        monkeypatch.setattr(tables, name, fail)


WRONG = {
    "no command": ((), "the following arguments are required: COMMAND"),
    "neither algorithm nor k": (("anonymize", "in.parquet", "out.parquet"), "-k is needed"),
    "unknown algorithm": (
        ("anonymize", "in.parquet", "out.parquet", "--algorithm", "best"),
        "argument --algorithm: invalid choice: 'best' (choose from",
    ),
    "unknown option": (
        ("risk", "in.parquet", "-k", "2", "--colum", "items"),
        "unrecognized arguments: --colum",
    ),
    "values of an option at another place": (
        ("risk", "in.parquet", "-k", "2", SECRET, SECRET),
        "unrecognized arguments: 2 after -k\n",
    ),
    "values of no option": (
        ("anonymize", "in.parquet", "out.parquet", SECRET, "-k", "2"),
        "unrecognized arguments: 1 after pdanon anonymize\n",
    ),
    "values of an unknown option": (
        ("risk", "in.parquet", "-k", "2", f"--item-list={SECRET}", SECRET),
        "unrecognized arguments: --item-list\n",
    ),
    "an option of other commands": (
        ("verify", "e.json", "--release", "in.parquet", "--keep", "sex"),
        "unrecognized arguments: --keep\n  hint:  leave it out: only anonymize",
    ),
    "half of a form": (
        ("risk", "in.csv", "-k", "2", "--by", "person"),
        "pass --onehot or --prefix for columns of 0 and 1, --wide for",
    ),
    "k is no number": (("risk", "in.parquet", "-k", "two"), "argument -k: invalid int value: 'two'"),
    "no k": (("risk", "in.parquet"), "required: -k"),
    "no k for the algorithm": (
        ("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta"),
        "pcta needs -k\n  hint:  'pdanon algorithms pcta' lists its options",
    ),
    "m is no number": (
        ("audit", "in.parquet", "-k", "2", "-m", "None"),
        "argument -m: 'None' is neither a number nor 'all'",
    ),
    "k is too small": (("audit", "in.parquet", "-k", "1"), "k must be an integer of at least 2"),
    "m is too small": (("audit", "in.parquet", "-k", "2", "-m", "0"), "m must be an integer of at least 1"),
    "foreign option": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--hierarchy", "5"),
        "pcta does not take --hierarchy\n  hint:  algorithms that take it: apriori",
    ),
    "suffix of the input": (
        ("risk", "in.txt", "-k", "2"),
        "'in.txt' must end in .parquet, .csv, .tsv or .jsonl",
    ),
    "suffix of the mapping": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "map"),
        "argument --mapping: 'map' must end in .parquet or .csv",
    ),
    "output directory": (
        ("anonymize", "in.parquet", "new/out.parquet", *KM),
        "argument OUT: 'new/out.parquet' is in a directory that does not exist",
    ),
    "output is a directory": (
        ("audit", "in.parquet", "-k", "2", "--threats", "folder.csv"),
        "argument --threats: 'folder.csv' is a directory",
    ),
    "separator to read": (
        ("risk", "in.csv", "-k", "2", "--column", "items"),
        "a CSV file needs --separator\n  where: in.csv\n  hint:  pass the separator of the items",
    ),
    "separator to write": (
        ("anonymize", "in.parquet", "out.csv", *KM),
        "a CSV file needs --separator\n  where: out.csv",
    ),
    "separator of threats": (
        ("audit", "in.parquet", "-k", "2", "--threats", "threats.csv"),
        "a CSV file needs --separator\n  where: threats.csv",
    ),
    "column": (
        ("risk", "in.csv", "-k", "2", "--separator", " "),
        "a CSV file needs --column\n  where: in.csv\n  hint:  name the column of the items",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_usage_is_refused_at_once(run, unread, arguments, message):
    Path("folder.csv").mkdir()
    before = sorted(Path().iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert SECRET not in err
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("command", ["verify", "audit", "risk", "assess"])
def test_help_names_no_option_of_other_commands(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "--keep" not in capsys.readouterr().out


ONE_FILE = {
    "out is in": ("anonymize", "in.parquet", "in.parquet", *KM),
    "by another path": ("anonymize", "in.parquet", "folder/../in.parquet", *KM),
    "by a symbolic link": ("anonymize", "in.parquet", "link.parquet", *KM),
    "by a hard link": ("anonymize", "in.parquet", "twin.parquet", *KM),
    "by a broken link": ("anonymize", "in.parquet", "new.parquet", *KM, "--mapping", "broken.parquet"),
    "mapping is in": ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "in.parquet"),
    "mapping is out": ("anonymize", "in.parquet", "new.parquet", *KM, "--mapping", "folder/../new.parquet"),
    "out is constraints": ("anonymize", "in.parquet", "c.parquet", *KM, "--constraints", "c.parquet"),
    "threats is released": ("audit", "in.parquet", "-k", "2", "--threats", "in.parquet"),
}


@pytest.mark.parametrize("arguments", ONE_FILE.values(), ids=ONE_FILE.keys())
def test_two_names_of_one_file_are_refused_at_once(run, unread, arguments):
    Path("folder").mkdir()
    Path("link.parquet").symlink_to("in.parquet")
    Path("broken.parquet").symlink_to("new.parquet")
    os.link("in.parquet", "twin.parquet")
    before = {path: path.read_bytes() for path in Path().glob("*.parquet") if path.exists()}
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pdanon: error: two arguments name the same file\n  where: ")
    assert " and " in err.splitlines()[1]
    assert {path: path.read_bytes() for path in Path().glob("*.parquet") if path.exists()} == before
