"""The command line: what anonymize writes and says; as a process; and what its options may be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import CSV, KM, MERGED, RICE, ROWS, SALT, TEA, contents, here, mapped  # noqa: F401 (`here` acts on every test)
from conftest import SECRET, frame_of, rows_of
from naive import itemsets as naive

import pdanon
from pdanon.cli import main as cli, releases
from pdanon.io import tables
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import read_csv, to_csv

# --- As a process


def process(*arguments, flags=()):
    command = [sys.executable, *flags, "-m", "pdanon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_start_is_fast(argument):
    done = process(argument, flags=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert {"pandas", "argparse"} <= imported
    assert not {"scipy", "tqdm", "matplotlib"} & imported
    assert "pdanon" in done.stdout


@pytest.mark.parametrize(("command", "usage"), [("anonymize", "IN OUT"), ("audit", "RELEASED")])
def test_help_begins_with_what_is_requested(capsys, command, usage):
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"usage: pdanon {command} {usage} -k K [-m M] [options]", ""]
    assert [line.split()[0] for line in lines if line.startswith("  -")][:2] == ["-k", "-m"]
    groups = [line.partition(":")[0] for line in lines if re.match(r"[a-z].*:", line)]
    order = ["guarantee", "input and output", "loss and search", "tables without lists"]
    expected = [each for each in order if each != "loss and search" or command == "anonymize"]
    assert groups[2 : len(expected) + 2] == expected


@pytest.mark.slow
def test_process_ends_with_the_exit_code():
    done = process("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "100")
    assert done.returncode == 1
    assert done.stdout == ""
    refusal = "pdanon: error: k is larger than the number of rows that hold an item\n"
    assert refusal in done.stderr  # before it, what goes on is said where it takes long
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
        "  beyond     with 3 known items, 0 % of the rows (25 % before) are singled out",
        "  beside     with store and 2 released items, fewer than 2 rows match for 50 % of the rows",
        "  changed    57.1 % of 7 occurrences, 0 % suppressed",
        "  labels     3 before, 2 after; a changed one stands for 2 items (median)",
        # Of 3 with rice and 1 with salt 1.5 are expected each; of 2 with rice and tea 1, of 1 with salt 3/4.
        f"  error      {200 / 7:.3g} % in an item's count, {125 / 3:.3g} % in a pair's "
        "(expected from the labels, on average)",
        # Of 7 occurrences 4 stand for 2 of 3 items: NCP 8/21. Loss (3 * 3 + 1 * 3) / (7 * 4): UL log2(3/7).
        f"  details    NCP {8 / 21:.4g}, UL {np.log2(3 / 7):.4g}",
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
    # All with rice have the flu, and salt is rare. One row alone would be emptied, so tea goes as well.
    assert rows_of(released) == [set(), set(), set(), set()]
    assert rows_of(released, "ill") == [{"flu"}, {"flu"}, {"flu"}, set()]
    code, _, err = run("anonymize", "two.parquet", "out.parquet", "--algorithm", "suppress_to_k", "-k", "2")
    assert code == 2
    assert "invalid choice: 'suppress_to_k'" in err
    assert "write a policy, or call pdanon.suppress_to_k" in err


def test_mapping_is_written_only_when_asked(run):
    before = contents().keys()
    code, out, _ = run("anonymize", "in.parquet", "out.parquet", *KM)
    assert code == 0
    assert contents().keys() - before == {"out.parquet"}
    assert "mapping" not in out
    assert b"generalized" not in Path("out.parquet").read_bytes()


@pytest.mark.slow
def test_report_shows_the_risk_before_and_after(run, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *KM, "--report", "report.html")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "  report     report.html"
    pdanon.pcta(read_parquet("in.parquet"), k=2, m=2).report("expected.html", read_parquet("in.parquet"))
    assert Path("report.html").read_bytes() == Path("expected.html").read_bytes()
    assert b"Risk before and after" in Path("report.html").read_bytes()


def test_release_report_and_mapping_appear_all_or_none(run, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "no space left")

    before = contents()
    monkeypatch.setattr(releases, "write_plain", full)
    files = ("--report", "report.html", "--mapping", "map.parquet")
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *KM, *files)
    assert code == 2
    assert err.startswith("pdanon: error: the file cannot be written\n  where: map.parquet\n")
    assert err.endswith(
        "  got:   No space left on device\n  hint:  free some space, or write to another disk\n"
    )
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
        code, out, _ = run("anonymize", *arguments, "--overwrite")
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
        asked = ("--algorithm", "pcta", "-k", "2", "-m", m, "--overwrite")
        assert run("anonymize", "in.parquet", "out.parquet", *asked)[0] == 0
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
            "--overwrite",
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
    return ("--algorithm", "apriori", "-k", "2", "--hierarchy", hierarchy, "--overwrite")


def test_sensitive_items_are_options(run):
    asked = ("--sensitive", SALT, "-l", "4")
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *_apriori("7"), *asked)
    assert (code, err) == (0, "")
    assert "LmDiversity(l=4, m=2, sensitive=1 items, k=2), audited" in out
    assert rows_of(read_parquet("out.parquet")) == [{"*"}, {"*", SALT}, {"*"}, {"*"}]
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *_apriori("7"), *asked[:2])
    assert code == 2
    assert "--sensitive and -l go together" in err


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_constraints_protect_only_what_they_name(run, suffix):
    Path("constraints.csv").write_text(f"{RICE},{SALT}\n")
    to_parquet(frame_of([{RICE, SALT}]).rename(columns={"items": "together"}), "constraints.parquet")
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


def test_constraints_in_csv_need_no_separator(run):
    Path("constraints.csv").write_text(f"{RICE},{SALT}\n")
    asked = ("-k", "2", "--constraints", "constraints.csv")
    code, out, _ = run(
        *("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", *asked, "--mapping", "m.parquet")
    )
    assert code == 0
    assert "PrivacyConstraints(constraints=1, k=2), audited" in out
    assert run("audit", "out.parquet", *asked, "--mapping", "m.parquet")[0] == 0


def test_constraints_written_like_the_data_are_refused(run):
    to_csv(frame_of([{RICE, SALT}]), "constraints.csv", separator=" ")
    pdanon.pcta(frame_of(ROWS), k=2).mapping.to_csv("m.csv", index=False)
    asked = ("-k", "2", "--constraints", "constraints.csv", *CSV)
    for command in (
        ("anonymize", "in.csv", "out.csv"),
        ("anonymize", "in.csv", "out.csv", "--algorithm", "pcta"),
        ("audit", "in.csv", "--mapping", "m.csv"),
    ):
        code, out, err = run(*command, *asked)
        assert (code, out) == (2, "")
        assert "the constraints have a header\n  where: constraints.csv\n" in err
        assert "one itemset per line, one item per field" in err


def test_weights_in_text_are_those_of_the_items(run):
    # Item 3 is rare, and merges where it costs least: with 1 by default, with 2 once 1 is what matters.
    rows = [[1, 2], [1, 2], [1, 2], [2], [1, 2, 3], [3, 1], [3, 2], [1, 2]]
    frame = pd.DataFrame({"items": pdanon.as_itemsets(rows)})
    to_parquet(frame, "in.parquet")
    Path("weights.csv").write_text("importance,item,weight\nhigh,1,1\nlow,2,0.01\nlow,3,0.01\n")
    to_parquet(pd.DataFrame({"item": [1, 2, 3], "weight": [1, 0.01, 0.01]}), "weights.parquet")
    for weights, merged in [(None, "(1,3)"), ("weights.csv", "(2,3)"), ("weights.parquet", "(2,3)")]:
        asked = ("--weights", weights) if weights else ()
        command = ("in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "4", *asked, "--overwrite")
        assert run("anonymize", *command)[0] == 0
        assert frozenset().union(*rows_of(read_parquet("out.parquet"))) & {"(1,3)", "(2,3)"} == {merged}


@pytest.mark.parametrize("item", ["NA", "null", "", 'a"b', "a,b", "a\nb", "a\rb", "1.50"])
def test_tables_in_csv_keep_text_as_it_stands(item):
    mapping = pd.DataFrame({"group": [0, 0], "item": [item, "x"], "generalized": [item, None], "support": 1})
    tables.write_plain(mapping, Path("map.csv"))
    back = tables.read_columns(Path("map.csv"), ["group", "item", "generalized"])
    assert back["item"].tolist() == [item, "x"]
    assert back["generalized"].fillna("(missing)").tolist() == [item, "(missing)"]


@pytest.mark.slow
def test_long_tables_in_csv_are_cut_between_rows():
    items = [f"{SECRET}\n{i}" for i in range(100_000)]  # longer than a block of the reader
    mapping = pd.DataFrame({"group": 0, "item": items, "generalized": "x", "support": 1})
    tables.write_plain(mapping, Path("map.csv"))
    assert tables.read_columns(Path("map.csv"), ["item"])["item"].tolist() == items


def test_weights_written_by_hand_name_items_as_they_stand(run):
    to_parquet(frame_of([{"NA", "007"}, {"NA", "x"}, {"007"}]), "in.parquet")
    Path("weights.csv").write_text("item,weight\nNA,0.5\n007,1\n")
    arguments = ("in.parquet", "out.parquet", *KM, "--weights", "weights.csv", "--overwrite")
    assert run("anonymize", *arguments)[0] == 0
    Path("weights.csv").write_text("item,weight\nNA,0.5\n7,1\n")
    code, _, err = run("anonymize", *arguments)
    assert code == 2
    assert "1 of 2 weights name items that do not occur in the data" in err


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


# --- what passes through


def identifying():
    frame = frame_of(ROWS * 10).assign(ward=[*range(8)] * 5, year=[n // 8 for n in range(40)])
    to_parquet(frame, "in.parquet")


WARNING = (
    "pdanon: warning: 40 of 40 rows (100 %) are unique in ward and year, which are published "
    "unmodified\n  hint:  "
)


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_columns_that_identify_are_told_in_plain_words(run, more):
    identifying()
    code, out, err = run("anonymize", *more, "in.parquet", "out.parquet", *KM)
    assert code == 0
    assert err.startswith(WARNING)
    assert "or pass --keep and their names" in err
    assert err.count("\n") == 2
    assert "IdentifierWarning" not in err
    assert "warning" not in out


def test_columns_that_identify_are_told_once_when_several_algorithms_are_tried(run):
    identifying()
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "-k", "2", "-m", "2")
    assert (code, err.count("warning")) == (0, 1)


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_a_release_that_identifies_too_many_rows_is_refused(run, more):
    identifying()
    asked = ("anonymize", *more, "in.parquet", "out.parquet", *KM, "--max-risk")
    code, out, err = run(*asked, "0.5")
    assert (code, out) == (1, "")
    assert (
        "the unmodified columns identify more rows than max_risk allows\n  where: max_risk\n  got:   40 of"
        in err
    )
    assert not Path("out.parquet").exists()
    assert "max_risk must be a number in [0, 1]" in run(*asked, "2")[2]
    assert run(*asked, "0.5", "--keep", "ward", "year")[0] == 1  # reviewed columns count
    assert run(*asked, "1")[0] == 0


@pytest.mark.parametrize("more", [(), ("--stream",)])
@pytest.mark.parametrize("keep", [("--keep", "ward", "year"), ("--keep", "ward", "--keep", "year")])
def test_columns_that_were_judged_are_options(run, more, keep):
    identifying()
    assert run("anonymize", *more, "in.parquet", "out.parquet", *KM, *keep)[::2] == (0, "")


def test_columns_that_were_judged_are_options_of_the_choice(run):
    identifying()
    assert run("anonymize", "in.parquet", "out.parquet", "-k", "2", "--keep", "ward", "year")[::2] == (0, "")


@pytest.mark.parametrize("more", [(), ("--stream",)])
@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (
            ("wards",),
            "'wards' does not exist\n  where: keep\n  got:   columns ['ward', 'year']\n  hint:  did you mean",
        ),
        (("items",), "'items' is recoded\n  where: keep"),
        (("ward", "ward"), "keep names a column twice"),
    ],
)
def test_columns_that_cannot_be_judged_are_refused(run, more, keep, message):
    identifying()
    code, out, err = run("anonymize", *more, "in.parquet", "out.parquet", *KM, "--keep", *keep)
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("out.parquet").exists()


def test_risk_counts_quasi_identifiers_too(run):
    identifying()
    code, out, _ = run("risk", "in.parquet", "-k", "2", "-m", "1", "--quasi", "ward", "year")
    assert code == 0
    assert [line.split() for line in out.splitlines()][:2] == [
        ["known", "singled_out", "below_k", "items", "rows"],
        ["0", "1", "1", "all", "40"],
    ]
    assert "'wards' does not exist" in run("risk", "in.parquet", "-k", "2", "--quasi", "wards")[2]
