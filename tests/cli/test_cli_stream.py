"""The command line on files larger than memory: the same release, and what makes no sense is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SECRET, frame_of, rows_of

import pdanon
from pdanon import stream
from pdanon.algorithms import engines
from pdanon.cli import output
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import to_csv
from pdanon.stream import streamed

ROWS = [[f"{SECRET}-{item}" for item in row] for row in (["a", "b"], ["a", "c"], ["a", "b"], ["b"]) * 3]
LINES = ("--by", "who", "--item", "what")
PCTA = ("--algorithm", "pcta", "-k", "4", "-m", "2")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The same rows as two files in a directory, as one file, and as CSV."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streamed, "fits", lambda n_bytes: False)
    frame = frame_of(ROWS).assign(store=["north", "south"] * 6)
    to_parquet(frame, "in.parquet")
    to_csv(frame, "in.csv", separator=" ")
    for number in range(2):
        part = Path("baskets") / f"year={number}"
        part.mkdir(parents=True)
        to_parquet(frame[6 * number :][:6].reset_index(drop=True), part / "part.parquet")


def released(target):
    paths = [target] if target.is_file() else sorted(target.rglob("*.parquet"))
    return pd.concat([read_parquet(path) for path in paths], ignore_index=True)


SOURCES = {
    "directory": ("baskets", "2 files"),
    "file": ("in.parquet", "1 file"),
    "wildcards": ("baskets/*/part.parquet", "2 files"),
    "uri": (None, "2 files"),
}


@pytest.mark.parametrize(("source", "files"), SOURCES.values(), ids=SOURCES)
def test_the_release_and_the_mapping_are_those_of_the_library(run, source, files):
    source = Path("baskets").absolute().as_uri() if source is None else source
    asked = ("--stream", source, "out", *PCTA, "--mapping", "map.csv")
    code, out, err = run("anonymize", *asked)
    assert (code, err) == (0, "")
    expected = pdanon.pcta(released(Path("in.parquet")), k=4, m=2)
    assert rows_of(released(Path("out"))) == rows_of(expected.frame)
    mapping = pd.read_csv("map.csv", keep_default_na=False)
    assert mapping["item"].tolist() == expected.mapping["item"].tolist()
    assert mapping["generalized"].tolist() == expected.mapping["generalized"].tolist()
    title, *lines = repr(expected).splitlines()
    assert out.splitlines() == [title, *lines, f"  written    out, {files}", "  mapping    map.csv"]


def test_options_that_are_files_are_read(run):
    pq.write_table(pa.table({"items": [[f"{SECRET}-b", f"{SECRET}-a"]]}), "rules.parquet")
    asked = ("--algorithm", "pcta", "-k", "8", "--constraints", "rules.parquet")
    assert run("anonymize", "--stream", "baskets", "out", *asked)[0] == 0
    expected = pdanon.pcta(
        frame_of(ROWS), guarantee=pdanon.PrivacyConstraints(constraints=[[f"{SECRET}-b", f"{SECRET}-a"]], k=8)
    )
    assert rows_of(released(Path("out"))) == rows_of(expected.frame)


def test_a_private_column_is_named(run):
    ills = frame_of([[f"{SECRET}-{number % 3}"] for number in range(12)])["items"]
    frame = frame_of(ROWS).assign(ills=ills)
    to_parquet(frame, "two.parquet")
    asked = ("--algorithm", "coherence", "-k", "4", "-p", "2", "--h", "0.5", "--private", "ills")
    assert run("anonymize", "--stream", "two.parquet", "out.parquet", "--column", "items", *asked)[0] == 0
    expected = pdanon.coherence(frame, "items", h=0.5, k=4, p=2, private="ills")
    pd.testing.assert_frame_equal(released(Path("out.parquet")), expected.frame)


def test_progress_is_for_terminals_and_not_for_quiet_commands(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for quiet in ((), ("--quiet",)):
        err = run("risk", "--stream", "baskets", "-k", "2", *quiet)[2]
        assert ("rows/s]" in err) == (not quiet)


# --- Lines with one item each


def test_lines_are_grouped_on_disk(run):
    pytest.importorskip("duckdb")
    pairs = [(who, who % 2, item) for who, row in enumerate(ROWS) for item in row]
    lines = pd.DataFrame(pairs, columns=["who", "store", "what"])
    lines.to_csv("lines.csv", index=False, sep=";")
    lines.to_parquet("lines.parquet", index=False)
    before = {path.name for path in Path().iterdir()}
    form = ("--by", "who", "--item", "what")
    for source, target in (("lines.csv", "out1.parquet"), ("lines.parquet", "out2.parquet")):
        asked = ("--stream", source, target, *PCTA, *form, "--keep", "store")
        code, out, err = run("anonymize", *asked)
        assert (code, f"{target}, 1 file" in out) == (0, True), err
        expected = pdanon.pcta(frame_of(ROWS), k=4, m=2)
        rows = sorted(map(sorted, rows_of(read_parquet(target).rename(columns={"what": "items"}))))
        assert rows == sorted(map(sorted, rows_of(expected.frame)))
        assert list(read_parquet(target)) == ["store", "what"]
        measured = ("risk", source, *form, "-k", "2")
        assert run(*measured, "--stream")[1] == run(*measured)[1]
        code, out, _ = run("profile", "--stream", source, *form, "--keep", "store", "-k", "2")
        assert (code, "Profile: 12 rows, lists in 'what'" in out) == (0, True)
    assert {path.name for path in Path().iterdir()} - before == {"out1.parquet", "out2.parquet"}
    code, _, err = run("anonymize", "--stream", "lines.csv", "out3.parquet", *PCTA, *form, "--keep", "what")
    assert (code, "two tasks" in err) == (2, True)
    assert not Path("out3.parquet").exists()


# --- Without an algorithm


@pytest.mark.parametrize("size", [8, 10_000])
def test_without_an_algorithm_a_sample_decides(run, monkeypatch, size):
    monkeypatch.setattr(engines, "SAMPLE", size)
    asked = ("baskets", "out", "-k", "2", "-m", "1", "--hierarchy", "2", "--loss", "pairs")
    code, out, err = run("anonymize", "--stream", *asked)
    assert (code, err) == (0, "")
    assert f"  chosen     on a sample of {min(size, 12)} of 12 rows\n" in out
    table = out.partition("Anonymized:")[0].splitlines()
    losses = {
        line[: line.index("0")].strip(): float(line.removeprefix(line[: line.index("0")]).split()[0])
        for line in table[1:]
        if line and not line.startswith("not tried")
    }
    name = out.partition("12 rows, ")[2].partition("\n")[0]
    assert losses[name] == min(losses.values())
    assert "refine" not in out
    assert audit_holds("out")


def audit_holds(path):
    return stream.audit(path, pdanon.KmAnonymity(k=2, m=1)).holds


def test_the_chosen_algorithm_decides_on_all_rows(monkeypatch):
    monkeypatch.setattr(engines, "SAMPLE", 8)
    made = stream.anonymize("baskets", "out", k=4, m=2)
    expected = getattr(pdanon, made.parameters["algorithm"])(frame_of(ROWS), k=4, m=2)
    assert rows_of(released(Path("out"))) == rows_of(expected.frame)
    assert (made.sample, made.rows) == (8, 12)
    assert made.tried["algorithm"][0] == "pcta"


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (("-k", "13", "-m", "1"), 1, "the sample cannot decide between the algorithms"),
        (("-p", "2", "--sensitive", "a"), 2, "no algorithm for SensitiveGroups recodes rows in parts"),
        (("-k", "2", "--refine"), 2, "--refine needs --algorithm"),
        (("-m", "2"), 2, "-k is needed"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(run, monkeypatch, asked, code, message):
    monkeypatch.setattr(engines, "SAMPLE", 8)
    got, out, err = run("anonymize", "--stream", "baskets", "out", *asked)
    assert (got, out) == (code, "")
    assert message in err
    assert not Path("out").exists()


def test_parameters_of_no_request_are_refused():
    with pytest.raises(pdanon.ParameterError, match="did you mean 'loss'"):
        stream.anonymize("baskets", "out", k=2, los="pairs")


WRONG = {
    "csv source": (
        ("in.csv", "out", *PCTA),
        "--stream reads no CSV\n  where: in.csv\n  hint:  convert the file",
    ),
    "csv target": (("baskets", "out.csv", *PCTA), "--stream reads no CSV\n  where: out.csv"),
    "report": (("baskets", "out", *PCTA, "--report", "page.html"), "--stream writes no report"),
    "local recoding": (
        ("baskets", "out", "--algorithm", "partition", "-k", "2", "--hierarchy", "2"),
        "the algorithm needs all rows at once",
    ),
    "target exists": (("in.parquet", "in.csv.parquet", *PCTA), "the target exists"),
    "target is a directory": (("in.parquet", "baskets", *PCTA), "the target exists\n  where: target"),
    "target has credentials": (("baskets", "s3://KEY:SECRET@bucket/out", *PCTA), "the URI holds credentials"),
    "target in nowhere": (("baskets", "new/out", *PCTA), "is in a directory that does not exist"),
    "target within the source": (("baskets", "baskets/out", *PCTA), "the target is within the source"),
    "mapping within the source": (
        ("baskets", "out", *PCTA, "--mapping", "baskets/map.parquet"),
        "the mapping is within the source",
    ),
    "mapping is the source": (
        ("in.parquet", "out", *PCTA, "--mapping", "in.parquet"),
        "two arguments name the same file\n  where: IN and --mapping\n",
    ),
    "mapping is the target": (
        ("baskets", "out.parquet", *PCTA, "--mapping", "out.parquet"),
        "two arguments name the same file\n  where: OUT and --mapping\n",
    ),
    "no lists": (("lines.parquet", "out", *PCTA), "no column of lists"),
    "no source": (("nowhere", "out", *PCTA), "there is no such file or directory"),
    "no k": (("baskets", "out", "--algorithm", "pcta"), "pcta needs -k"),
    "foreign option": (("baskets", "out", *PCTA, "--hierarchy", "5"), "pcta does not take --hierarchy"),
    "column": (("baskets", "out", *PCTA, "--column", "none"), "column 'none' does not exist"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_refused_and_nothing_written(run, arguments, message):
    Path("in.csv.parquet").touch()
    pd.DataFrame({"customer": [1, 1], "product": ["tea", "rice"]}).to_parquet("lines.parquet")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, err = run("anonymize", "--stream", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_directories_are_audited_as_one_table(run):
    asked = ("audit", "--stream", "baskets", "-m", "1")
    code, out, err = run(*asked, "-k", "8")
    assert (code, err) == (1, "")  # 4 rows have c, 2 of them in each file
    assert out.splitlines()[0] == "Audit: 12 rows, 2 files"
    assert out.splitlines()[2:] == ["  verdict    does not hold", "  at risk    3 rows"]
    assert run(*asked, "-k", "3", "--threats", "threats.parquet")[0] == 0
    assert len(read_parquet("threats.parquet")) == 0
    assert run(*asked, "-k", "8", "--threats", "threats.parquet", "--overwrite")[0] == 1
    assert read_parquet("threats.parquet")["itemset"].tolist() == [[f"{SECRET}-c"]]


def test_an_audit_of_directories_needs_the_option_and_lists(run):
    code, _, err = run("audit", "baskets", "-k", "2")
    assert (code, "--stream reads directories" in err) == (2, True)
    code, _, err = run("audit", "--stream", "baskets", "-k", "2", "--by", "who", "--item", "what")
    assert (code, "takes no --by" in err) == (2, True)
    code, _, err = run("audit", "--stream", "in.csv", "-k", "2")
    assert (code, "--stream reads no CSV" in err) == (2, True)
    code, _, err = run("risk", "baskets", "-k", "2")
    assert (code, "--stream reads directories" in err) == (2, True)


@pytest.mark.parametrize("command", ["risk", "profile"])
def test_files_are_measured_as_one_table(run, command):
    assert run(command, "--stream", "baskets", "-k", "2")[0] == 0
    code, out, _ = run(command, "--stream", "in.parquet", "-k", "2")
    whole = run(command, "in.parquet", "-k", "2")[1]
    assert (code, out) == (
        0,
        whole.replace("released.parquet -k 2 -m 2", "released.parquet --stream -k 2 -m 2"),
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("risk", "-k", "2", "--quasi", "store"), "--stream takes no --quasi"),
        (("profile", "--keep", "store"), "--stream takes no --keep"),
        (("risk", "-k", "2", "--by", "who", "--onehot"), "takes no --by"),
        (
            ("risk", "-k", "2", "--by", "who", "--item", "what", "--conflicts", "first"),
            "takes no --conflicts",
        ),
        (("risk", "-k", "2", "--item", "what"), "--by and --item go together"),
        (("profile", "--stream", "nowhere"), "unrecognized arguments"),
    ],
)
def test_measures_of_files_count_lists(run, asked, message):
    code, out, err = run(*asked, "--stream", "baskets")
    assert (code, out, message in err) == (2, "", True), err


@pytest.mark.parametrize(("source", "target"), [("baskets", "out.parquet"), ("in.parquet", "out")])
def test_directories_need_the_option(run, source, target):
    code, _, err = run("anonymize", source, target, *PCTA)
    assert code == 2
    assert "must end in .parquet" in err
    assert "--stream" in err


def test_exit_codes_are_those_of_tables(run, monkeypatch):
    code, _, err = run("anonymize", "--stream", "baskets", "out", "--algorithm", "pcta", "-k", "100")
    assert code == 1
    assert "k is larger than the number of rows" in err

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(stream, "pcta", interrupted)
    assert run("anonymize", "--stream", "baskets", "out", *PCTA)[::2] == (130, "pdanon: interrupted\n")
    assert not Path("out").exists()


def test_long_runs_say_what_goes_on(run, until_named, monkeypatch):
    monkeypatch.setattr(output, "PATIENCE", 0)
    anonymize = stream.pcta
    monkeypatch.setattr(stream, "pcta", lambda *given, **asked: until_named() and anonymize(*given, **asked))
    code, _, err = run("anonymize", "--stream", "baskets", "out", *PCTA)
    assert code == 0
    named, *passes = err.splitlines()
    assert named == "pdanon: running pcta ..."
    counted = [f"pdanon: {each}: 12 of 12 rows" for each in ("read", "write", "audit")]
    assert [line.partition(", ")[0] for line in passes if "of 12 rows" in line] == counted


def test_a_table_that_fits_into_memory_is_said_to_fit_once(run, monkeypatch):
    monkeypatch.setattr(streamed, "fits", lambda n_bytes: True)
    chosen = ("-k", "4", "-m", "2")
    code, _, err = run("anonymize", "--stream", "baskets", "out", *chosen)
    assert code == 0
    (line,) = err.splitlines()
    assert line.startswith("pdanon: note: the 12 rows fit into memory (about 0.1 GB): without --stream, ")
    code, out, err = run("anonymize", "--stream", "baskets", "other", *chosen, "--json", "--quiet")
    assert (code, err) == (0, "")
    assert [f"pdanon: note: {note}" for note in json.loads(out)["notes"]] == [line]


@pytest.mark.slow
def test_as_a_process():
    command = [sys.executable, "-m", "pdanon", "anonymize", "--stream", "baskets", "out", *PCTA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("Anonymized: 12 rows, pcta\n")
