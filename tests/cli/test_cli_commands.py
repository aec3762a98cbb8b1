"""The other commands: audit, run, compare, risk and algorithms."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from commands import CSV, MERGED, RICE, ROWS, SALT, TEA, contents, here  # noqa: F401 (`here` acts on every test)
from conftest import frame_of, rows_of
from families import ALGORITHMS, RELATIONAL, RT
from naive import itemsets as naive, rules as naive_rules

import pdanon
from pdanon.guarantees import rho as inferences
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.tables import write_plain
from pdanon.io.text import read_csv

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
        f"  SHA-256    {pdanon.read_parquet('in.parquet').txanon.fingerprint()}",
    ]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_threats_are_written_only_when_asked(run, suffix):
    before = contents()
    assert run("audit", "in.parquet", "-k", "3", "-m", "2")[0] == 1
    assert contents() == before
    asked = ("--threats", f"threats{suffix}", "--separator", " ")
    code, out, _ = run("audit", "in.parquet", "-k", "3", "-m", "2", *asked)
    path = f"threats{suffix}"
    options = {"column": "itemset", "separator": " ", "types": {"support": "integer"}}
    read = read_parquet(path) if suffix == ".parquet" else read_csv(path, **options)
    listed = dict(zip(rows_of(read, "itemset"), read["support"].tolist(), strict=True))
    assert listed == naive.km_threats([frozenset(row) for row in ROWS], 3, 2)
    assert code == 1
    assert out.splitlines()[-1] == f"  threats    {len(listed)}, written to {path}"


def test_no_threats_are_written_as_no_threats(run):
    Path("threats.csv").write_text("of an earlier audit")
    to_parquet(frame_of([{RICE}, {RICE}]), "safe.parquet")
    asked = ("-k", "2", "--threats", "threats.csv", "--separator", " ", "--overwrite")
    assert run("audit", "safe.parquet", *asked)[0] == 0
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
    code, _, err = run("audit", *asked)
    assert code == 2
    assert "--constraints and --mapping go together" in err


def test_with_the_mapping_rows_that_suppression_emptied_are_counted(run):
    """One row was empty before, which a mapping in a Parquet file says, and none was emptied."""
    frame = frame_of([{"a"}, {"a"}, {"a"}, {"a", "b"}, set()])
    result = pdanon.coat(frame, k=2, utility=[["a"], ["b"]], max_suppressed=0.5)
    to_parquet(result.frame.assign(age=1), "in.parquet")
    to_parquet(result.mapping, "map.parquet")
    write_plain(result.mapping, Path("map.csv"))
    for asked in (("-k", "2", "-m", "1"), ("-k", "2", "-m", "1", "--quasi", "age")):
        assert run("audit", "in.parquet", *asked)[0] == 0
        assert run("audit", "in.parquet", *asked, "--mapping", "map.parquet")[0] == 0
        code, out, _ = run(
            "audit",
            "in.parquet",
            *asked,
            "--mapping",
            "map.csv",
            "--threats",
            f"{len(asked)}.csv",
            "--separator",
            " ",
        )
        assert code == 1
        assert re.search(r"at risk +1 rows\n", out)
        assert Path(f"{len(asked)}.csv").read_text().endswith(",1,emptied\n")


def patients():
    """Released and safe: two classes, in each of which one row in three has s."""
    rows = [{"a", "s"}, {"a"}, {"a"}, {"b"}, {"b", "s"}, {"b"}]
    return frame_of(rows).assign(age=[30, 30, 30, 50, 50, 50])


@pytest.mark.parametrize(
    ("asked", "code", "guarantee", "at_risk"),
    [
        (("--quasi", "age"), 1, "KKm(k=3, m=2, quasi=('age',))", 2),
        (("--sensitive", "s", "-l", "3"), 0, "LmDiversity(l=3, m=2, sensitive=1 items, k=3)", 0),
        (("--quasi", "age", "--sensitive", "s", "-l", "3"), 0, "KLm(k=3, l=3, m=2, quasi=('age',), ", 0),
        (("--quasi", "age", "--sensitive", "s", "-l", "4"), 1, "KLm(k=3, l=4, m=2, quasi=('age',), ", 6),
    ],
)
def test_audit_with_quasi_identifiers_and_sensitive_items(run, asked, code, guarantee, at_risk):
    to_parquet(patients(), "patients.parquet")
    found, out, err = run("audit", "patients.parquet", "-k", "3", *asked, "--threats", "threats.parquet")
    assert (found, err) == (code, "")
    assert f"guarantee  {guarantee}" in out
    assert f"at risk    {at_risk} rows" in out
    assert Path("threats.parquet").exists()


def test_audit_of_sensitive_items_that_were_left_out_reads_the_mapping(run):
    to_parquet(patients(), "patients.parquet")
    asked = ("patients.parquet", "-k", "3", "--quasi", "age", "--sensitive", "s", "t", "-l", "3")
    code, _, err = run("audit", *asked)
    assert code == 2
    assert "a sensitive item does not occur" in err
    mapping = {"group": [0] * 4, "item": list("abst"), "generalized": ["a", "b", "s", None]}
    to_parquet(pd.DataFrame(mapping), "mapping.parquet")
    assert run("audit", *asked, "--mapping", "mapping.parquet")[0] == 0


@pytest.mark.parametrize(
    ("asked", "code", "guarantee", "at_risk"),
    [
        (("--rho", "0.5"), 0, "RhoUncertainty(rho=0.5, sensitive=1 items)", 0),
        (("--rho", "0.3", "-m", "1"), 1, "RhoUncertainty(rho=0.3, sensitive=1 items, m=1)", 6),
    ],
)
def test_audit_of_inferences(run, asked, code, guarantee, at_risk):
    to_parquet(patients(), "patients.parquet")
    files = ("--sensitive", "s", "--threats", "threats.parquet")
    found, out, err = run("audit", "patients.parquet", *asked, *files)
    assert (found, err) == (code, "")
    assert f"guarantee  {guarantee}" in out
    assert f"at risk    {at_risk} rows" in out
    assert set(pdanon.read_parquet("threats.parquet")["sensitive"]) == ({"s"} if at_risk else set())
    assert run("audit", "patients.parquet", "--stream", *asked, "--sensitive", "s")[0] == code
    files = ("--sensitive", "s", "--threats", "threats.csv", "--separator", ";")
    assert run("audit", "patients.parquet", *asked, *files)[0] == code
    assert set(pd.read_csv("threats.csv")["sensitive"]) == ({"s"} if at_risk else set())


def test_an_audit_says_how_far_it_came(run, monkeypatch):
    monkeypatch.setattr(inferences, "_STEPS", 3000)
    items = frozenset("abcdefghijkl")
    rows = [sorted((items - {each}) | own) for each in items for own in ({"s"}, set())]
    to_parquet(pd.DataFrame({"items": rows}), "rows.parquet")
    asked = ("audit", "rows.parquet", "--rho", "0.5", "--sensitive", "s")
    code, out, _ = run(*asked)
    assert code == 0
    assert "  proven     The guarantee is proven for 1 known item; any number was requested\n" in out
    assert "proven" not in run(*asked, "-m", "1")[1]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--rho", "0.5"), "--rho and --sensitive go together"),
        (
            ("--rho", "0.5", "--sensitive", "s", "-k", "3"),
            "--rho excludes -k",
        ),
        (
            ("--rho", "0.5", "--sensitive", "s", "--quasi", "age"),
            "--quasi and --rho do not go together",
        ),
        (("--rho", "1", "--sensitive", "s"), "rho must be above 0 and below 1"),
        (("--sensitive", "s"), "-k is needed"),
    ],
)
def test_what_does_not_go_with_rho_is_refused(run, asked, message):
    to_parquet(patients(), "in.parquet")
    code, _, err = run("audit", "in.parquet", *asked)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--sensitive", "s"), "--sensitive and -l go together"),
        (("-l", "3"), "-l and --sensitive go together"),
        (
            ("--quasi", "age", "--constraints", "c.csv", "--mapping", "m.csv"),
            "--quasi and --constraints do not go",
        ),
        (("--sensitive", "s", "-l", "2", "--rules", "r.csv"), "-l excludes --rules"),
    ],
)
def test_what_does_not_go_together_in_an_audit_is_refused(run, asked, message):
    code, _, err = run("audit", "in.parquet", "-k", "3", *asked)
    assert code == 2
    assert message in err


# --- run, compare

POLICY = """
input = "in.parquet"
algorithm = "pcta"
[parameters]
k = 2
[columns]
keep = ["store"]
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
        code, out, err = run("run", "policy.toml", "--overwrite")
        assert (code, err) == (0, "pdanon: writes out.parquet, map.csv\n")
        written.append(contents())
    assert written[0] == written[1]
    assert rows_of(read_parquet("out.parquet")) == [{MERGED, TEA}, {MERGED}, {MERGED, TEA}, {TEA}]
    assert set(contents()) == {"in.parquet", "in.csv", "policy.toml", "out.parquet", "map.csv"}
    assert out.splitlines()[:2] == ["Anonymized: 4 rows, pcta", "  guarantee  KmAnonymity(k=2, m=2), audited"]
    assert out.splitlines()[-2:] == ["  release    out.parquet", "  mapping    map.csv"]


def test_compare_prints_and_writes_a_table(run):
    Path("policy.toml").write_text(POLICY)
    code, out, err = run("compare", "policy.toml")
    assert (code, err) == (0, "pdanon: writes comparison.csv\n")
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
        (('keep = ["store"]', ""), 2, "columns have no role"),
        (('release = "out.parquet"', ""), 2, "the policy names no release"),
        (("in.parquet", "none.parquet"), 2, "the file cannot be read as Parquet"),
        (("[outputs]", "[outputs"), 2, "the file cannot be read as TOML"),
    ]:
        assert change[0] in POLICY
        Path("policy.toml").write_text(POLICY.replace(*change, 1))
        before = contents()
        got, out, err = run("run", "policy.toml", "--overwrite")
        assert (got, out) == (code, "")
        assert err.removeprefix("pdanon: writes out.parquet, map.csv\n").startswith("pdanon: error: ")
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
        ["known", "singled_out", "below_k", "items", "rows"],
        ["1", "0.3333", "1", "all", "3"],
        ["2", "0.3333", "1", "all", "3"],
        ["1", "0.3333", "1", "2", "3"],
        ["2", "0.3333", "1", "2", "3"],
    ]
    assert contents() == before


def test_assess_fails_if_a_risk_may_be_above_a_share(run):
    rows, others = [
        frame_of([[f"{row}{item}" for item in "abcd"] for row in some]) for some in ("12345", "1267")
    ]
    to_parquet(rows, "in.parquet")
    to_parquet(others, "others.parquet")
    asked = (
        "assess",
        "in.parquet",
        "--release",
        "in.parquet",
        "--attacks",
        "linkability",
        "--out",
        "attacks.csv",
    )
    code, out, _ = run(*asked, "--max-risk", "0.5")
    assert (code, out.splitlines()[-1]) == (
        1,
        "no control rows: risk is the success, with all that holds for people in general",
    )
    assert pd.read_csv("attacks.csv")["success"].tolist() == [1]
    assert run(*asked, "--overwrite", "--max-risk", "1")[0] == 0
    assert "4 control rows" in run(*asked, "--overwrite", "--control", "others.parquet")[1]
    assert "max_risk must be a number in [0, 1]" in run(*asked, "--overwrite", "--max-risk", "2")[2]


@pytest.mark.parametrize("form", ["lines", "columns"])
def test_assess_reads_an_original_in_other_forms(run, form):
    """The release has lists, however the items of the original are written."""
    to_parquet(frame_of(ROWS), "lists.parquet")
    asked = {"lines": ("--by", "id", "--item", "items"), "columns": ("--onehot",)}[form]
    if form == "lines":
        table = frame_of(ROWS).explode("items").dropna().rename_axis("id").reset_index()
    else:
        table = pd.DataFrame({item: [int(item in row) for row in ROWS] for item in (RICE, SALT, TEA)})
    table.to_csv("original.csv", index=False)
    written = run(
        "anonymize",
        "original.csv",
        "out.parquet",
        "-k",
        "2",
        "--algorithm",
        "pcta",
        "--mapping",
        "map.csv",
        *asked,
    )
    assert written[0] == 0
    released = ("--release", "out.parquet", "--mapping", "map.csv", "--attacks", "linkability")
    code, out, err = run("assess", "original.csv", *released, *asked)
    assert code == 0, err
    assert "linkability" in out


def test_audit_of_rules(run):
    """What known items lead to: in files and in parts of files, with threats in a table."""
    Path("rules.csv").write_text(f"known,sensitive\n{RICE},{SALT}\n")
    Path("all.toml").write_text(f'm = 1\nsensitive = ["{SALT}"]\n')
    asked = ("-k", "2", "-c", "0.4")
    rows = [frozenset(row) for row in ROWS]
    for path, rules in (
        ("rules.csv", [(frozenset([RICE]), frozenset([SALT]))]),
        ("all.toml", naive_rules.all_rules(frozenset().union(*rows) - {SALT}, [SALT], 1)),
    ):
        same = {item: item for item in frozenset().union(*rows)}
        at_risk = naive_rules.rows_at_risk(rows, rules, 2, Fraction(2, 5), same)
        for stream in ([], ["--stream"]):
            table = ("--threats", "threats.csv", "--separator", ";", "--overwrite")
            code, out, _ = run("audit", "in.parquet", *asked, "--rules", path, *stream, *table)
            assert code == (1 if at_risk else 0)
            assert re.search(rf"at risk +{at_risk} rows\n", out)
            found = len(naive_rules.broken(rows, rules, 2, Fraction(2, 5), same))
            assert len(pd.read_csv("threats.csv")) == found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--rules", "rules.csv"), "rules and c go together"),
        (("-c", "0.5"), "rules and c go together"),
        (("-c", "0.5", "--rules", "rules.csv", "-m", "2"), "m is not used with rules"),
        (("-c", "0.5", "--rules", "rules.csv", "--quasi", "age"), "--quasi and -c do not go together"),
        (("-c", "0.5", "--rules", "rules.txt"), "must end in .parquet, .csv or .toml"),
        (("-c", "1", "--rules", "rules.csv"), "c must be above 0 and below 1"),
    ],
)
def test_rules_that_are_asked_for_in_a_wrong_way(run, asked, said):
    Path("rules.csv").write_text(f"known,sensitive\n{RICE},{SALT}\n")
    code, _, err = run("audit", "in.parquet", "-k", "2", *asked)
    assert code == 2
    assert said in err


def listed(out):
    """What `pdanon algorithms` says, by name and by the word in front."""
    blocks = [block.splitlines() for block in out.split("\n\n")]
    return {name: dict(line.split(maxsplit=1) for line in lines) for name, *lines in blocks}


def test_every_algorithm_is_listed(run):
    code, out, err = run("algorithms")
    assert (code, err) == (0, "")
    by_command, elsewhere, _ = out.split("\n\n")
    runs, others = ([line.split()[0] for line in part.splitlines()[1:]] for part in (by_command, elsewhere))
    every = {**ALGORITHMS, **RELATIONAL, **RT}
    assert {*runs, *others} == {*every}
    assert {*others} == {name for name in every if refuses(run, name)}
    algorithms = {}
    for name, algorithm in every.items():
        algorithms |= listed(run("algorithms", name)[1])
        assert algorithm.__doc__.splitlines()[0] in out
        assert hasattr(pdanon, algorithms[name]["guarantee"].partition("(")[0])
        assert algorithms[name]["does"] == algorithm.__doc__.splitlines()[0]
    assert algorithms["apriori"]["options"] == "-k [-m] [-l] [--sensitive] --hierarchy [--start]"
    options = "-k [-m] [--constraints] [-l] [--sensitive] [--weights] [--refine] [--random-state]"
    options += " [--start] [--labels]"
    assert algorithms["pcta"]["options"] == options
    assert algorithms["suppress_to_k"]["options"] == "none"
    assert algorithms["suppress_to_k"]["elsewhere"] == "k, public: in a policy or Python"
    assert algorithms["coat"]["elsewhere"] == "[utility]: in a policy or Python"
    assert (
        algorithms["mondrian"]["options"] == "-k --quasi [--max-suppressed] [--hierarchies] [--quasi-weights]"
    )
    assert algorithms["tfirst"]["options"].endswith("[--labels] [--hierarchy] [--sensitive] [-l] [--refine]")


def refuses(run, name):
    """Whether the command says that an algorithm needs what is no option, or is none of its own."""
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", name)
    assert code == 2
    return "write a policy" in err


def test_new_algorithm_needs_no_change_here(run, stand_in):
    received = []

    def newest(frame, column=None, *, k, m=2, hierarchy, weights=None):
        """Do what the others do.

        Guarantee: ``KmAnonymity(k,
        m)``. And so on.
        """
        received.append((k, m, hierarchy))
        return pdanon.pcta(frame, column, k=k, m=m, weights=weights)

    stand_in("newest", newest)
    assert listed(run("algorithms", "newest")[1])["newest"] == {
        "does": "Do what the others do.",
        "guarantee": "KmAnonymity(k, m)",
        "options": "-k [-m] --hierarchy [--weights]",
    }
    command = ("anonymize", "in.parquet", "out.parquet", "--algorithm", "newest", "-k", "2")
    code, _, err = run(*command)
    assert code == 2
    assert "newest needs --hierarchy" in err
    assert run(*command, "--hierarchy", "3", "-m", "all")[0] == 0
    assert received == [(2, None, 3)]
    code, _, err = run(*command, "--hierarchy", "3", "--constraints", "c.parquet")
    assert code == 2
    assert "newest does not take --constraints" in err
    assert re.search(r"algorithms that take it: .*\bpcta\b", err)


def test_algorithm_with_parameters_that_only_python_can_give(run, stand_in):
    def special(frame, column=None, *, k, grades, threshold):
        raise AssertionError

    stand_in("special", special)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", "--algorithm", "special", "-k", "2")
    assert code == 2
    assert "invalid choice: 'special'" in err
    assert "write a policy, or call pdanon.special" in err


def test_each_warning_is_printed_as_one_of_the_command_line(run):
    """Also of commands that only read, and of tables that they write."""
    lines = [f"i{n},c{n % 20},{item}" for n in range(60) for item in "ab"]
    Path("visits.csv").write_text("\n".join(["visit,customer,code", *lines, ""]))
    commands = {
        "risk visits.csv --unit visit --item code": "60 rows, one per 'visit', share 20 values",
        "audit formulas.csv --column codes --separator | --threats threats.csv": "Spreadsheets run",
    }
    Path("formulas.csv").write_text("codes\n=a|b\nb\nb\n")
    for command, words in commands.items():
        _, _, err = run(*command.split(), "-k", "2", "-m", "1")
        assert err.startswith("pdanon: warning: ")
        assert words in err
        assert "Warning" not in err
