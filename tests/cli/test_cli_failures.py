"""Commands that fail leave everything as it was; and what is said meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from commands import CSV, KM, RICE, TEA, contents, here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET, frame_of, rows_of

import pdanon
from pdanon.cli import output
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.itemsets.timing import SETTINGS

# --- Failures leave everything as it was


@pytest.fixture
def earlier():
    """Outputs of an earlier run, and files that cannot be used."""
    for name in ("out.parquet", "out.csv", "map.parquet", "map.csv"):
        Path(name).write_text("of an earlier run")
    Path("bad.parquet").write_text(SECRET)
    Path("bad.csv").write_bytes(f'item,weight\n"{SECRET},1\n'.encode() + b"\xff\n")
    Path("gaps.csv").write_text(f"items\n{SECRET}  x\n")
    Path("strange.csv").write_text(f"item,weight\n{SECRET},0.5\n")
    Path("heavy.csv").write_text(f"item,weight\n{RICE},1.5\n")
    Path("words.csv").write_text(f"item,weight\n{RICE},{SECRET}\n")
    Path("twice.csv").write_text(f"item,weight\n{RICE},0.5\n{RICE},0.6\n")
    Path("other.csv").write_text(f"items,importance\n{RICE},0.5\n")
    Path("nameless.csv").write_text("item,weight\n,0.5\n")
    Path("torn.csv").write_text(f"{SECRET};a;*\n{SECRET};b;*\n")
    to_parquet(frame_of([{SECRET}]), "unknown.parquet")
    Path("headless.csv").write_text(f"{SECRET} tea\ntea\n")


PARQUET = ("anonymize", "in.parquet", "out.parquet", "--mapping", "map.parquet", "--overwrite", "-k", "2")
PCTA = (*PARQUET, "--algorithm", "pcta")
HIER = (*PARQUET, "--algorithm", "apriori", "--hierarchy")
UNUSABLE = {
    "k of no use": (1, (*PCTA[:-4], *KM, "-k", "5"), "k is larger than the number of rows"),
    "no input": (2, ("risk", "none.parquet", "-k", "2"), "the file cannot be read as Parquet"),
    "not Parquet": (2, ("risk", "bad.parquet", "-k", "2"), "the file cannot be read as Parquet"),
    "not CSV": (2, ("risk", "bad.csv", "-k", "2", *CSV), "the file cannot be read as CSV"),
    "no column": (2, (*PCTA, "--column", "itms"), "column 'itms' does not exist"),
    "no header": (2, ("risk", "headless.csv", "-k", "2", *CSV), "the first line of the file must name"),
    "no lists": (2, (*PCTA, "--column", "store"), "text is never parsed"),
    "empty items": (2, ("risk", "gaps.csv", "-k", "2", *CSV), "an item is empty\n  where: gaps.csv, row 0"),
    "label with the separator": (
        2,
        ("anonymize", "in.parquet", "out.csv", "--overwrite", *KM, "--separator", ","),
        "an item that is empty or contains the separator",
    ),
    "no weights": (2, (*PCTA, "--weights", "none.csv"), "the file cannot be read as CSV\n  where: none.csv"),
    "unreadable weights": (2, (*PCTA, "--weights", "bad.csv"), "the file cannot be read as CSV"),
    "no item column": (2, (*PCTA, "--weights", "other.csv"), "the file lacks columns ['item', 'weight']"),
    "unknown item": (2, (*PCTA, "--weights", "strange.csv"), "1 of 1 weights name items that do not occur"),
    "no item": (
        2,
        (*PCTA, "--weights", "nameless.csv"),
        "an item is missing (null or NaN)\n  where: weights, position 0",
    ),
    "too heavy": (2, (*PCTA, "--weights", "heavy.csv"), "weights must be numbers in [0, 1]"),
    "weight in words": (2, (*PCTA, "--weights", "words.csv"), "words.csv, line 2"),
    "two weights": (2, (*PCTA, "--weights", "twice.csv"), "an item has more than one weight"),
    "unknown constraint": (2, (*PCTA, "--constraints", "unknown.parquet"), "an item that does not occur"),
    "no file of text": (
        2,
        ("anonymize", "none.csv", "out.csv", "-k", "2"),
        "the file cannot be read as CSV\n  where: none.csv\n  got:   No such file or directory",
    ),
    "no hierarchy": (2, (*HIER, "none.csv"), "where: none.csv\n  got:   No such file or directory"),
    "no tree": (2, (*HIER, "torn.csv"), "a node has two different parents"),
    "hierarchy of other items": (2, (*HIER, "other.csv"), "the hierarchy does not cover the items"),
}


@pytest.mark.parametrize(("code", "arguments", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_error_is_one_message_and_changes_nothing(run, earlier, code, arguments, message):
    before = contents()
    got, out, err = run(*arguments)
    assert (got, out) == (code, "")
    assert err.startswith("pdanon: error: ")
    assert message in err
    assert contents() == before


def test_release_that_fails_its_audit_is_not_written(run, earlier, stand_in):
    """An algorithm with a defect: it publishes what it got."""

    def faulty(frame, column=None, *, k):
        raise pdanon.GuaranteeError("the release does not have its guarantee and is withheld")

    stand_in("faulty", faulty)
    before = contents()
    code, out, err = run(*PARQUET, "--algorithm", "faulty")
    assert (code, out) == (1, "")
    assert err == "pdanon: error: the release does not have its guarantee and is withheld\n"
    assert contents() == before


def interrupt(*arguments, **options):
    """Ctrl-C, with something half written."""
    for draft in Path().glob(".*"):
        draft.write_text("half")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def break_down(*arguments, **options):
    for draft in Path().glob(".*"):
        draft.write_text("half")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("failure", "code"), [(interrupt, 130), (break_down, 2)])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("stage", ["run", "release", "mapping"])
@pytest.mark.parametrize("anew", [True, False])
def test_no_half_of_anything_is_left(run, monkeypatch, stand_in, failure, code, suffix, stage, anew):
    if not anew:
        for name in ("out", "map"):
            Path(f"{name}{suffix}").write_text("of an earlier run")
    before = contents()
    if stage == "run":
        stand_in("pcta", lambda frame, column=None, *, k, m: failure())
    elif stage == "release" and suffix == ".csv":
        monkeypatch.setattr(pd.DataFrame, "to_csv", failure)
    elif stage == "mapping" and suffix == ".csv":
        monkeypatch.setattr(pyarrow.csv, "write_csv", failure)
    else:
        write = pyarrow.parquet.write_table

        def write_or_fail(table, path, **options):
            is_mapping = "generalized" in table.column_names
            return failure() if is_mapping == (stage == "mapping") else write(table, path, **options)

        monkeypatch.setattr(pyarrow.parquet, "write_table", write_or_fail)
    arguments = ("in.parquet", f"out{suffix}", *KM, "--mapping", f"map{suffix}", "--separator", " ")
    got, out, err = run("anonymize", *arguments, "--overwrite")
    assert (got, out) == (code, "")
    named = f"{'map' if stage == 'mapping' else 'out'}{suffix}"
    full = "pdanon: error: No space left on device\n"
    if stage != "run":
        problem = f"the file cannot be written\n  where: {named}\n  got:   No space left on device"
        full = f"pdanon: error: {problem}\n  hint:  free some space, or write to another disk\n"
    assert err == ("pdanon: interrupted\n" if code == 130 else full)
    assert contents() == before


def test_mapping_is_there_before_its_release(run, monkeypatch):
    replaced = []
    replace = Path.replace

    def note(self, target):
        if not Path(target).name.startswith("."):
            replaced.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", note)
    assert run("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "map.parquet")[0] == 0
    assert replaced == ["map.parquet", "out.parquet"]


def test_existing_release_is_replaced_and_keeps_its_permissions(run):
    Path("out.parquet").write_text("of an earlier run")
    Path("out.parquet").chmod(0o600)
    assert run("anonymize", "in.parquet", "out.parquet", *KM, "--overwrite")[0] == 0
    assert rows_of(read_parquet("out.parquet"))[3] == {TEA}
    assert Path("out.parquet").stat().st_mode & 0o777 == 0o600


POLICY = """
input = "in.parquet"
algorithm = "pcta"
parameters = { k = 2, labels = "short" }
columns = { keep = ["store"] }
[outputs]
release = "out.parquet"
mapping = "confidential.csv"
legend = "legend.csv"
loss = "loss.csv"
report = "report.html"
comparison = "confidential.parquet"
[compare]
resume = "confidential_rows.parquet"
[compare.algorithms.pcta]
k = 2
"""
TRADEOFF = ("tradeoff", "in.parquet", "-k", "2", "-m", "1", "--algorithm", "pcta")
WRITING = {
    "anonymize": ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "confidential.csv"),
    "stream": ("anonymize", "--stream", "in.parquet", "out.parquet", *KM, "--mapping", "confidential.csv"),
    "audit": ("audit", "in.parquet", "-k", "3", "--threats", "confidential.parquet"),
    "risk": ("risk", "in.parquet", "-k", "2", "--out", "confidential.csv"),
    "assess": ("assess", "in.parquet", "--release", "in.parquet", "--out", "confidential.csv"),
    "profile": ("profile", "in.parquet", "--report", "confidential.html"),
    "tradeoff": (*TRADEOFF, "--out", "confidential.csv", "--report", "confidential.html"),
    "picture": (*TRADEOFF, "--picture", "confidential.svg"),
    "run": ("run", "policy.toml"),
    "compare": ("compare", "policy.toml"),
}


@pytest.mark.usefixtures("tables_only")
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "picture")) for name in WRITING]
)
def test_what_is_not_to_be_published_is_for_its_owner_alone(run, name):
    Path("policy.toml").write_text(POLICY)
    before, umask = set(Path().iterdir()), os.umask(0o022)
    try:
        code, _, err = run(*WRITING[name])
    finally:
        os.umask(umask)
    assert code == (name == "audit"), err
    written = set(Path().iterdir()) - before
    modes = {path.name: path.stat().st_mode & 0o777 for path in written}
    assert modes == {name: 0o600 if name.startswith("confidential") else 0o644 for name in modes}
    asked = POLICY if name in ("run", "compare") else " ".join(WRITING[name])
    assert modes.keys() <= set(asked.replace('"', " ").split())


# --- What is said meanwhile


def test_stage_is_named_when_it_takes_long(run, until_named, monkeypatch, stand_in):
    def slow(frame, column=None, *, k):
        until_named()
        return pdanon.pcta(frame, column, k=k)

    stand_in("slow", slow)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "slow", "-k", "2")
    assert code == 0
    assert "pdanon: running slow ...\n" in err


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
def test_bar_is_for_terminals(run, monkeypatch, stand_in, terminal, installed):
    asked = []

    class AtOnce(threading.Timer):
        def start(self):
            self.function(*self.args)

    def slow(frame, column=None, *, k):
        asked.append(SETTINGS["progress"])
        return pdanon.pcta(frame, column, k=k)

    stand_in("slow", slow)
    monkeypatch.setattr(output, "Timer", AtOnce)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(output, "find_spec", lambda name: object() if installed else None)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "slow", "-k", "2")
    assert code == 0
    assert asked == [terminal and installed]
    assert ("running slow" in err) != asked[0]
