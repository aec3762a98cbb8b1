"""The command line: what it writes, says and refuses, by exit code; and what it leaves alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from conftest import SECRET, frame_of, rows_of
from naive import itemsets as naive

import pdanon
from pdanon.algorithms.items import ALGORITHMS
from pdanon.cli import main as cli
from pdanon.io import tables
from pdanon.io.csv import read_csv, to_csv
from pdanon.io.parquet import read_parquet, to_parquet

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [{RICE, TEA}, {RICE, SALT}, {RICE, TEA}, {TEA}]
MERGED = f"({RICE},{SALT})"  # the only way to hide the one row with salt at a smaller loss than with tea
KM = ("--algorithm", "pcta", "-k", "2", "-m", "2")
CSV = ("--column", "items", "--separator", " ")


@pytest.fixture(autouse=True)
def calm(monkeypatch):
    """No stage takes long, also where kernels are compiled first."""
    monkeypatch.setattr(cli, "PATIENCE", 600)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with the same data as in.parquet and in.csv."""
    monkeypatch.chdir(tmp_path)
    frame = frame_of(ROWS).assign(store=["north", "north", "south", "south"])
    to_parquet(frame, "in.parquet")
    to_csv(frame, "in.csv", separator=" ")


def contents():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def mapped(mapping):
    return dict(zip(mapping["item"].tolist(), mapping["generalized"].tolist(), strict=True))


# --- As a process


def process(*arguments, flags=()):
    command = [sys.executable, *flags, "-m", "pdanon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_start_is_fast(argument):
    done = process(argument, flags=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert {"pandas", "argparse"} <= imported
    assert not {"numba", "scipy", "tqdm", "matplotlib"} & imported
    assert "pdanon" in done.stdout


def test_process_ends_with_the_exit_code():
    done = process("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "100")
    assert done.returncode == 1
    assert done.stdout == ""
    refusal = done.stderr.removeprefix("pdanon: running pcta ...\n")  # which is said where it takes a second
    assert refusal.startswith("pdanon: error: k is larger than the number of rows that hold an item\n")
    assert "Traceback" not in done.stderr
    assert process("anonymize").returncode == 2


# --- anonymize


def test_release_and_mapping_are_those_of_the_library(run):
    before = contents()
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "map.parquet")
    assert (code, err) == (0, "")
    assert rows_of(read_parquet("out.parquet")) == [{MERGED, TEA}, {MERGED}, {MERGED, TEA}, {TEA}]
    assert mapped(read_parquet("map.parquet")) == {RICE: MERGED, SALT: MERGED, TEA: TEA}
    result = pdanon.pcta(read_parquet("in.parquet"), k=2, m=2)
    pd.testing.assert_frame_equal(read_parquet("out.parquet"), result.frame)
    assert {name: data for name, data in contents().items() if name in before} == before
    assert out.splitlines() == [
        "Anonymized: 4 rows, pcta",
        "  guarantee  KmAnonymity(k=2, m=2), audited",
        "  items      2 of 3 generalized or suppressed",
        # Of 7 occurrences 4 stand for 2 of 3 items: NCP 8/21. Loss (3 * 3 + 1 * 3) / (7 * 4): UL log2(3/7).
        f"  loss       NCP {8 / 21:.4g}, UL {np.log2(3 / 7):.4g}, suppressed 0",
        "  written    out.parquet",
        "  mapping    map.parquet",
    ]


def test_private_items_are_those_of_a_second_column(run):
    frame = read_parquet("in.parquet").assign(ill=frame_of([{"flu"}, {"flu"}, {"flu"}, ()])["items"])
    to_parquet(frame, "two.parquet")
    asked = ("--h", "0.75", "-k", "2", "-p", "1", "--private", "ill", "--criterion", "mm", "--loss", "unit")
    code, out, err = run("anonymize", "two.parquet", "out.parquet", "--algorithm", "coherence", *asked)
    assert (code, err) == (0, "")
    assert "Coherence(h=0.75, k=2, p=1, private=a column), audited" in out
    released = read_parquet("out.parquet")
    assert rows_of(released) == [{TEA}, set(), {TEA}, {TEA}]  # all with rice have the flu; salt is rare
    assert rows_of(released, "ill") == [{"flu"}, {"flu"}, {"flu"}, set()]
    code, _, err = run("anonymize", "two.parquet", "out.parquet", "--algorithm", "suppress_to_k", "-k", "2")
    assert code == 2
    assert "suppress_to_k needs public, which is no option of the command line" in err


def test_mapping_is_written_only_when_asked(run):
    before = contents().keys()
    code, out, _ = run("anonymize", "in.parquet", "out.parquet", *KM)
    assert code == 0
    assert contents().keys() - before == {"out.parquet"}
    assert "mapping" not in out
    assert b"generalized" not in Path("out.parquet").read_bytes()


def test_report_shows_the_risk_before_and_after(run):
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *KM, "--report", "report.html")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "  report     report.html"
    pdanon.pcta(read_parquet("in.parquet"), k=2, m=2).report("expected.html", read_parquet("in.parquet"))
    assert Path("report.html").read_bytes() == Path("expected.html").read_bytes()
    assert b"Risk before and after" in Path("report.html").read_bytes()


def test_release_report_and_mapping_appear_all_or_none(run, monkeypatch):
    def full(*arguments):
        raise OSError(28, "no space left")

    before = contents()
    monkeypatch.setattr(cli, "write_plain", full)
    files = ("--report", "report.html", "--mapping", "map.parquet")
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *KM, *files)
    assert code == 2
    assert err.startswith("pdanon: error: the file cannot be written\n  where: map.parquet\n")
    assert err.endswith("  got:   No space left on device\n")
    assert contents() == before


@pytest.mark.parametrize("name", ["report.txt", "nowhere/report.html"])
def test_report_needs_a_name_that_can_be_written(run, name):
    before = contents()
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *KM, "--report", name)
    assert code == 2
    assert "argument --report" in err
    assert contents() == before


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_same_input_gives_the_same_bytes(run, suffix):
    written = []
    for _ in range(2):
        arguments = ("in.parquet", f"out{suffix}", *KM, "--mapping", f"map{suffix}", "--separator", " ")
        code, out, _ = run("anonymize", *arguments)
        assert code == 0
        written.append((out, contents()))
    assert written[0] == written[1]


def test_csv_in_and_out_is_the_same_release(run):
    code, _, _ = run("anonymize", "in.csv", "out.csv", *KM, *CSV, "--mapping", "map.csv")
    assert code == 0
    released = read_csv("out.csv", column="items", separator=" ")
    assert released.columns.tolist() == ["items", "store"]
    assert rows_of(released) == [{MERGED, TEA}, {MERGED}, {MERGED, TEA}, {TEA}]
    assert mapped(pd.read_csv("map.csv")) == {RICE: MERGED, SALT: MERGED, TEA: TEA}


def test_m_all_protects_whole_rows(run):
    # Each pair is in two rows, the three items together in one.
    rows = [{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}]
    to_parquet(frame_of(rows), "in.parquet")
    for m, whole_rows_differ in [("2", True), ("all", False)]:
        assert (
            run("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "2", "-m", m)[0] == 0
        )
        released = rows_of(read_parquet("out.parquet"))
        assert bool(naive.km_threats(released, 2, None)) == whole_rows_differ


def test_hierarchy_is_a_file_or_a_fanout(run):
    tree = {"drink": [TEA], "food": [RICE, SALT]}
    pdanon.Hierarchy.from_dict(tree).to_csv("tree.txt")
    for hierarchy, label in [("tree.txt", "food"), ("2", f"{RICE}..{SALT}")]:
        arguments = (
            "in.parquet",
            "out.parquet",
            "--algorithm",
            "apriori",
            "-k",
            "2",
            "--hierarchy",
            hierarchy,
        )
        assert run("anonymize", *arguments)[0] == 0
        assert rows_of(read_parquet("out.parquet"))[1] == {label}


def test_fanout_may_be_the_name_of_a_file(run):
    pdanon.Hierarchy.from_dict({"drink": [TEA], "food": [RICE, SALT]}).to_csv("7")
    assert run("anonymize", "in.parquet", "out.parquet", *_apriori("./7"))[0] == 0
    assert rows_of(read_parquet("out.parquet"))[1] == {"food"}
    assert run("anonymize", "in.parquet", "out.parquet", *_apriori("7"))[0] == 0  # all items below one root
    assert rows_of(read_parquet("out.parquet"))[1] == {"*"}


def _apriori(hierarchy):
    return ("--algorithm", "apriori", "-k", "2", "--hierarchy", hierarchy)


def test_sensitive_items_are_options(run):
    asked = ("--sensitive", SALT, "-l", "4")
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *_apriori("7"), *asked)
    assert (code, err) == (0, "")
    assert "LmDiversity(l=4, m=2, sensitive=1 items, k=2), audited" in out
    assert rows_of(read_parquet("out.parquet")) == [{"*"}, {"*", SALT}, {"*"}, {"*"}]
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *_apriori("7"), *asked[:2])
    assert code == 2
    assert "sensitive and l go together" in err


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_constraints_protect_only_what_they_name(run, suffix):
    constraints = frame_of([{RICE, SALT}])
    if suffix == ".csv":
        to_csv(constraints, "constraints.csv", separator=" ")
    else:
        to_parquet(constraints.rename(columns={"items": "together"}), "constraints.parquet")
    asked = ("--constraints", f"constraints{suffix}", "-k", "2", *CSV)
    code, out, _ = run("anonymize", "in.csv", "out.csv", "--algorithm", "pcta", *asked, "--mapping", "m.csv")
    assert code == 0
    assert "PrivacyConstraints(constraints=1, k=2), audited" in out
    became = mapped(pd.read_csv("m.csv"))
    released = rows_of(read_csv("out.csv", column="items", separator=" "))
    assert naive.constraints_hold(released, [{RICE, SALT}], 2, became)
    code, out, _ = run("audit", "out.csv", *asked, "--mapping", "m.csv")
    assert code == 0
    assert re.search(r"verdict +holds\n", out)


def test_weights_in_text_are_those_of_the_items(run):
    # Item 3 is rare, and merges where it costs least: with 1 by default, with 2 once 1 is what matters.
    rows = [[1, 2], [1, 2], [1, 2], [2], [1, 2, 3], [3, 1], [3, 2], [1, 2]]
    frame = pd.DataFrame({"items": pdanon.as_itemsets(rows)})
    to_parquet(frame, "in.parquet")
    Path("weights.csv").write_text("importance,item,weight\nhigh,1,1\nlow,2,0.01\nlow,3,0.01\n")
    to_parquet(pd.DataFrame({"item": [1, 2, 3], "weight": [1, 0.01, 0.01]}), "weights.parquet")
    for weights, merged in [(None, "(1,3)"), ("weights.csv", "(2,3)"), ("weights.parquet", "(2,3)")]:
        asked = ("--weights", weights) if weights else ()
        command = ("in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "4", *asked)
        assert run("anonymize", *command)[0] == 0
        assert frozenset().union(*rows_of(read_parquet("out.parquet"))) & {"(1,3)", "(2,3)"} == {merged}


@pytest.mark.parametrize("item", ["NA", "null", "", 'a"b', "a,b", "a\nb", "a\rb", "1.50"])
def test_tables_in_csv_keep_text_as_it_stands(item):
    mapping = pd.DataFrame({"group": [0, 0], "item": [item, "x"], "generalized": [item, None], "support": 1})
    tables.write_plain(mapping, Path("map.csv"))
    back = tables.read_columns(Path("map.csv"), ["group", "item", "generalized"])
    assert back["item"].tolist() == [item, "x"]
    assert back["generalized"].fillna("(missing)").tolist() == [item, "(missing)"]


def test_long_tables_in_csv_are_cut_between_rows():
    items = [f"{SECRET}\n{i}" for i in range(100_000)]  # longer than a block of the reader
    mapping = pd.DataFrame({"group": 0, "item": items, "generalized": "x", "support": 1})
    tables.write_plain(mapping, Path("map.csv"))
    assert tables.read_columns(Path("map.csv"), ["item"])["item"].tolist() == items


def test_weights_written_by_hand_name_items_as_they_stand(run):
    to_parquet(frame_of([{"NA", "007"}, {"NA", "x"}, {"007"}]), "in.parquet")
    Path("weights.csv").write_text("item,weight\nNA,0.5\n007,1\n")
    arguments = ("in.parquet", "out.parquet", *KM, "--weights", "weights.csv")
    assert run("anonymize", *arguments)[0] == 0
    Path("weights.csv").write_text("item,weight\nNA,0.5\n7,1\n")
    code, _, err = run("anonymize", *arguments)
    assert code == 2
    assert "1 of 2 weights name items that do not occur in the data" in err


# --- audit


@pytest.mark.parametrize("source", ["in.parquet", "in.csv"])
@pytest.mark.parametrize("m", ["1", "2", "all"])
def test_audit_of_what_does_not_hold(run, source, m):
    code, out, err = run("audit", source, "-k", "2", "-m", m, *CSV)
    most = None if m == "all" else int(m)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "Audit: 4 rows",
        f"  guarantee  KmAnonymity(k=2, m={most})",
        "  verdict    does not hold",
        f"  at risk    {naive.rows_at_risk([frozenset(row) for row in ROWS], 2, most)} rows",
    ]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_threats_are_written_only_when_asked(run, suffix):
    before = contents()
    assert run("audit", "in.parquet", "-k", "3", "-m", "2")[0] == 1
    assert contents() == before
    asked = ("--threats", f"threats{suffix}", "--separator", " ")
    code, out, _ = run("audit", "in.parquet", "-k", "3", "-m", "2", *asked)
    path = f"threats{suffix}"
    read = read_parquet(path) if suffix == ".parquet" else read_csv(path, column="itemset", separator=" ")
    listed = dict(zip(rows_of(read, "itemset"), read["support"].tolist(), strict=True))
    assert listed == naive.km_threats([frozenset(row) for row in ROWS], 3, 2)
    assert code == 1
    assert out.splitlines()[-1] == f"  threats    {len(listed)}, written to {path}"


def test_no_threats_are_written_as_no_threats(run):
    Path("threats.csv").write_text("of an earlier audit")
    to_parquet(frame_of([{RICE}, {RICE}]), "safe.parquet")
    assert run("audit", "safe.parquet", "-k", "2", "--threats", "threats.csv", "--separator", " ")[0] == 0
    assert Path("threats.csv").read_text() == "itemset,support,why\n"


def test_audit_of_constraints_needs_what_the_items_became(run):
    to_parquet(frame_of([{RICE, SALT}]), "constraints.parquet")
    to_parquet(pdanon.pcta(frame_of(ROWS), k=2).mapping, "map.parquet")
    kept = pdanon.pcta(frame_of(ROWS), k=2).mapping.assign(generalized=[RICE, SALT, TEA])
    to_parquet(kept, "kept.parquet")
    asked = ("in.parquet", "-k", "2", "--constraints", "constraints.parquet")
    code, out, _ = run("audit", *asked, "--mapping", "kept.parquet")
    assert code == 1
    assert re.search(r"verdict +does not hold\n +at risk +1 rows\n", out)
    code, _, err = run("audit", *asked, "--mapping", "map.parquet")  # of another release
    assert code == 2
    assert "the frame holds labels that the mapping lacks" in err
    for half in (asked, ("in.parquet", "-k", "2", "--mapping", "kept.parquet")):
        code, _, err = run("audit", *half)
        assert code == 2
        assert "--constraints and --mapping go together" in err


# --- run, compare

POLICY = """
input = "in.parquet"
algorithm = "pcta"
[parameters]
k = 2
[columns]
sensitive = ["store"]
[outputs]
release = "out.parquet"
mapping = "map.csv"
comparison = "comparison.csv"
[compare.algorithms.pcta]
[compare.vary]
k = [2, 100]
"""


def test_run_is_the_policy(run):
    Path("policy.toml").write_text(POLICY)
    written = []
    for _ in range(2):
        code, out, err = run("run", "policy.toml")
        assert (code, err) == (0, "")
        written.append(contents())
    assert written[0] == written[1]
    assert rows_of(read_parquet("out.parquet")) == [{MERGED, TEA}, {MERGED}, {MERGED, TEA}, {TEA}]
    assert set(contents()) == {"in.parquet", "in.csv", "policy.toml", "out.parquet", "map.csv"}
    assert out.splitlines()[:2] == ["Anonymized: 4 rows, pcta", "  guarantee  KmAnonymity(k=2, m=2), audited"]
    assert out.splitlines()[-2:] == ["  release    out.parquet", "  mapping    map.csv"]


def test_compare_prints_and_writes_a_table(run):
    Path("policy.toml").write_text(POLICY)
    code, out, err = run("compare", "policy.toml")
    assert (code, err) == (0, "")
    header, done, failed = out.splitlines()
    assert header.split()[:3] == ["algorithm", "label", "k"]
    assert "True" in done
    assert "k is larger than the number of rows that hold an item" in failed
    table = pd.read_csv("comparison.csv")
    assert table["k"].tolist() == [2, 100]
    assert table["NCP"].tolist()[0] == pytest.approx(8 / 21)
    assert not Path("out.parquet").exists()


def test_policy_that_fails_writes_nothing(run):
    Path("out.parquet").write_text("of an earlier run")
    for change, code, message in [
        (("k = 2\n", "k = 100\n"), 1, "k is larger than the number of rows"),
        (("k = 2\n", "kk = 2\n"), 2, "there is no such parameter of pcta"),
        (('sensitive = ["store"]', ""), 2, "columns have no role"),
        (('release = "out.parquet"', ""), 2, "the policy names no release"),
        (("in.parquet", "none.parquet"), 2, "the file cannot be read as Parquet"),
        (("[outputs]", "[outputs"), 2, "the file cannot be read as TOML"),
    ]:
        assert change[0] in POLICY
        Path("policy.toml").write_text(POLICY.replace(*change, 1))
        before = contents()
        got, out, err = run("run", "policy.toml")
        assert (got, out) == (code, "")
        assert err.startswith("pdanon: error: ")
        assert message in err
        assert contents() == before
    assert run("compare", "none.toml")[0] == 2


# --- risk, algorithms


def test_risk_is_a_table_of_counts_and_shares(run):
    to_parquet(frame_of([{RICE, TEA}, {RICE, TEA}, {RICE, SALT}]), "in.parquet")
    before = contents()
    code, out, err = run("risk", "in.parquet", "-k", "3", "-m", "2")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["known", "items", "rows", "singled_out", "below_k"],
        ["1", "all", "3", "0.3333", "1"],
        ["2", "all", "3", "0.3333", "1"],
        ["1", "2", "3", "0.3333", "1"],
        ["2", "2", "3", "0.3333", "1"],
    ]
    assert contents() == before


def listed(out):
    """What `pdanon algorithms` says, by name and by the word in front."""
    blocks = [block.splitlines() for block in out.split("\n\n")]
    return {name: dict(line.split(maxsplit=1) for line in lines) for name, *lines in blocks}


def test_every_algorithm_is_listed(run):
    code, out, err = run("algorithms")
    assert (code, err) == (0, "")
    algorithms = listed(out)
    assert list(algorithms) == list(ALGORITHMS)
    for name, algorithm in ALGORITHMS.items():
        assert hasattr(pdanon, algorithms[name]["guarantee"].partition("(")[0])
        assert algorithms[name]["does"] == algorithm.__doc__.splitlines()[0]
    assert algorithms["apriori"]["options"] == "-k [-m] --hierarchy [--sensitive] [-l]"
    assert algorithms["pcta"]["options"] == "-k [-m] [--constraints] [--weights] [--refine]"
    assert algorithms["suppress_to_k"]["options"] == "none: it needs public, from Python"


def test_new_algorithm_needs_no_change_here(run, monkeypatch):
    received = []

    def newest(frame, column=None, *, k, m=2, hierarchy, weights=None, progress=False):
        """Do what the others do.

        Guarantee: ``KmAnonymity(k,
        m)``. And so on.
        """
        received.append((k, m, hierarchy, progress))
        return pdanon.pcta(frame, column, k=k, m=m, weights=weights)

    monkeypatch.setitem(ALGORITHMS, "newest", newest)
    assert listed(run("algorithms")[1])["newest"] == {
        "does": "Do what the others do.",
        "guarantee": "KmAnonymity(k, m)",
        "options": "-k [-m] --hierarchy [--weights]",
    }
    command = ("anonymize", "in.parquet", "out.parquet", "--algorithm", "newest", "-k", "2")
    code, _, err = run(*command)
    assert code == 2
    assert "newest needs --hierarchy" in err
    assert run(*command, "--hierarchy", "3", "-m", "all")[0] == 0
    assert received == [(2, None, 3, False)]
    code, _, err = run(*command, "--hierarchy", "3", "--constraints", "c.parquet")
    assert code == 2
    assert "newest does not take --constraints" in err
    assert re.search(r"algorithms that do: .*\bpcta\b", err)


def test_algorithm_with_parameters_that_only_python_can_give(run, monkeypatch):
    def special(frame, column=None, *, k, rules, threshold, progress=False):
        raise AssertionError

    monkeypatch.setitem(ALGORITHMS, "special", special)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "special", "-k", "2")
    assert code == 2
    assert "special needs rules, threshold, which is no option of the command line" in err
    assert "call pdanon.special from Python" in err


# --- Refused before anything is read


@pytest.fixture
def unread(monkeypatch):
    """Any reading fails the test."""

    def fail(*arguments, **options):
        raise AssertionError("a file was read")

    for name in ("read_parquet", "read_csv", "read_columns"):
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
    "k is no number": (("risk", "in.parquet", "-k", "two"), "argument -k: invalid int value: 'two'"),
    "no k": (("risk", "in.parquet"), "required: -k"),
    "no k for the algorithm": (
        ("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta"),
        "pcta needs -k\n  hint:  'pdanon algorithms' lists what each one takes",
    ),
    "m is no number": (
        ("audit", "in.parquet", "-k", "2", "-m", "None"),
        "argument -m: 'None' is neither a number nor 'all'",
    ),
    "k is too small": (("audit", "in.parquet", "-k", "1"), "k must be an integer of at least 2"),
    "m is too small": (("audit", "in.parquet", "-k", "2", "-m", "0"), "m must be an integer of at least 1"),
    "foreign option": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--hierarchy", "5"),
        "pcta does not take --hierarchy\n  hint:  algorithms that do: apriori",
    ),
    "suffix of the input": (
        ("risk", "in.txt", "-k", "2"),
        "argument IN: 'in.txt' must end in .parquet or .csv",
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
        "a CSV file needs --separator\n  where: in.csv\n  hint:  say what stands between two items",
    ),
    "separator to write": (
        ("anonymize", "in.parquet", "out.csv", *KM),
        "a CSV file needs --separator\n  where: out.csv",
    ),
    "separator of threats": (
        ("audit", "in.parquet", "-k", "2", "--threats", "threats.csv"),
        "a CSV file needs --separator\n  where: threats.csv",
    ),
    "separator of constraints": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--constraints", "c.csv"),
        "a CSV file needs --separator\n  where: c.csv",
    ),
    "column": (
        ("risk", "in.csv", "-k", "2", "--separator", " "),
        "a CSV file needs --column\n  where: in.csv\n  hint:  say which column has the items",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_usage_is_refused_at_once(run, unread, arguments, message):
    Path("folder.csv").mkdir()
    before = sorted(Path().iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(Path().iterdir()) == before


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
    assert err.startswith("pdanon: error: two arguments name the same file\n")
    assert {path: path.read_bytes() for path in Path().glob("*.parquet") if path.exists()} == before


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


PARQUET = ("anonymize", "in.parquet", "out.parquet", "--mapping", "map.parquet", "-k", "2")
PCTA = (*PARQUET, "--algorithm", "pcta")
HIER = (*PARQUET, "--algorithm", "apriori", "--hierarchy")
UNUSABLE = {
    "k of no use": (1, (*PCTA[:-4], *KM, "-k", "5"), "k is larger than the number of rows"),
    "no input": (2, ("risk", "none.parquet", "-k", "2"), "the file cannot be read as Parquet"),
    "not Parquet": (2, ("risk", "bad.parquet", "-k", "2"), "the file cannot be read as Parquet"),
    "not CSV": (2, ("risk", "bad.csv", "-k", "2", *CSV), "the file cannot be read as CSV"),
    "no column": (2, (*PCTA, "--column", "itms"), "column 'itms' does not exist"),
    "no header": (2, ("risk", "headless.csv", "-k", "2", *CSV), "the first line of the file must name"),
    "no lists": (2, (*PCTA, "--column", "store"), "the column does not hold lists"),
    "empty items": (2, ("risk", "gaps.csv", "-k", "2", *CSV), "an item is empty\n  where: gaps.csv, row 0"),
    "label with the separator": (
        2,
        ("anonymize", "in.parquet", "out.csv", *KM, "--separator", ",", "--mapping", "map.csv"),
        "an item that is empty or contains the separator",
    ),
    "no weights": (2, (*PCTA, "--weights", "none.csv"), "the file cannot be read as CSV\n  where: none.csv"),
    "unreadable weights": (2, (*PCTA, "--weights", "bad.csv"), "the file cannot be read as CSV"),
    "no item column": (2, (*PCTA, "--weights", "other.csv"), "the file lacks columns ['item', 'weight']"),
    "unknown item": (2, (*PCTA, "--weights", "strange.csv"), "1 of 1 weights name items that do not occur"),
    "no item": (2, (*PCTA, "--weights", "nameless.csv"), "weights name items"),
    "too heavy": (2, (*PCTA, "--weights", "heavy.csv"), "weights must be numbers in [0, 1]"),
    "weight in words": (2, (*PCTA, "--weights", "words.csv"), "weights must be numbers in [0, 1]"),
    "two weights": (2, (*PCTA, "--weights", "twice.csv"), "an item has more than one weight"),
    "unknown constraint": (2, (*PCTA, "--constraints", "unknown.parquet"), "an item that does not occur"),
    "no hierarchy": (2, (*HIER, "none.csv"), "No such file or directory\n  where: none.csv"),
    "no tree": (2, (*HIER, "torn.csv"), "a leaf has two different parents"),
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


def test_release_that_fails_its_audit_is_not_written(run, earlier, monkeypatch):
    """An algorithm with a defect: it publishes what it got."""

    def faulty(frame, column=None, *, k, progress=False):
        raise pdanon.GuaranteeError("the release does not have its guarantee and is withheld")

    monkeypatch.setitem(ALGORITHMS, "faulty", faulty)
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
def test_no_half_of_anything_is_left(run, monkeypatch, failure, code, suffix, stage, anew):
    if not anew:
        for name in ("out", "map"):
            Path(f"{name}{suffix}").write_text("of an earlier run")
    before = contents()
    if stage == "run":
        monkeypatch.setitem(ALGORITHMS, "pcta", lambda frame, column=None, *, k, m: failure())
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
    got, out, err = run("anonymize", *arguments)
    assert (got, out) == (code, "")
    named = f"{'map' if stage == 'mapping' else 'out'}{suffix}"
    full = "pdanon: error: No space left on device\n"
    if stage != "run":
        problem = f"the file cannot be written\n  where: {named}\n  got:   No space left on device"
        full = f"pdanon: error: {problem}\n"
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
    assert run("anonymize", "in.parquet", "out.parquet", *KM)[0] == 0
    assert rows_of(read_parquet("out.parquet"))[3] == {TEA}
    assert Path("out.parquet").stat().st_mode & 0o777 == 0o600


# --- What is said meanwhile


def test_stage_is_named_when_it_takes_long(run, monkeypatch):
    def slow(frame, column=None, *, k, progress=False):
        time.sleep(0.2)
        return pdanon.pcta(frame, column, k=k)

    monkeypatch.setitem(ALGORITHMS, "slow", slow)
    monkeypatch.setattr(cli, "PATIENCE", 0.05)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "slow", "-k", "2")
    assert code == 0
    assert "pdanon: running slow ...\n" in err


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
def test_bar_is_for_terminals(run, monkeypatch, terminal, installed):
    asked = []

    def slow(frame, column=None, *, k, progress=False):
        asked.append(progress)
        time.sleep(0.05)
        return pdanon.pcta(frame, column, k=k)

    monkeypatch.setitem(ALGORITHMS, "slow", slow)
    monkeypatch.setattr(cli, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(cli, "find_spec", lambda name: object() if installed else None)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "slow", "-k", "2")
    assert code == 0
    assert asked == [terminal and installed]
    assert ("running slow" in err) != asked[0]


# --- Real data


def test_real_baskets(run, data):
    source = str(data / "groceries.parquet")
    assert run("audit", source, "-k", "5", "-m", "2")[0] == 1
    asked = ("--algorithm", "pcta", "-k", "5", "-m", "2")
    code, out, _ = run("anonymize", source, "out.parquet", *asked, "--mapping", "map.parquet")
    assert code == 0
    assert out.startswith("Anonymized: 9835 rows, pcta\n")
    assert run("audit", "out.parquet", "-k", "5", "-m", "2")[0] == 0
    became = mapped(read_parquet("map.parquet"))
    assert rows_of(read_parquet("out.parquet")) == [
        frozenset(became[item] for item in row) for row in rows_of(read_parquet(source))
    ]
