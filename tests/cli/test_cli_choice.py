"""The command line without an algorithm: what it tries, prints and refuses."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import SECRET, frame_of, rows_of
from naive import itemsets as naive

import pdanon
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import to_csv

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [{RICE, TEA}, {RICE, SALT}, {RICE, TEA}, {TEA}]
FILES = ("anonymize", "in.parquet", "out.parquet", "--overwrite")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with data."""
    monkeypatch.chdir(tmp_path)
    to_parquet(frame_of(ROWS), "in.parquet")
    to_csv(frame_of(ROWS), "in.csv", separator=" ")
    to_parquet(frame_of([{RICE, SALT}]), "protect.parquet")


def tried(out):
    """The first word of each line of the table."""
    lines = out.partition("Anonymized:")[0].splitlines()
    readable = ["occurrences", "stands_for", "singles", "pairs", "suppressed"]
    named = [name for name in lines[0].split() if name != "meaning"]  # only with a hierarchy
    assert named[:8] == ["algorithm", "loss", *readable, "seconds"]
    return [line.split()[0].rstrip(",") for line in lines[1:] if line and not line.startswith("not tried")]


def test_what_was_tried_is_printed_and_the_best_is_written(run):
    code, out, err = run(*FILES, "-k", "2", "-m", "2", "--hierarchy", "2", "--mapping", "mapping.parquet")
    assert (code, err) == (0, "")
    assert tried(out)[:3] == ["pcta", "coat", "pcta"]
    assert "not tried (needs utility): upcta\n" in out
    best = pdanon.anonymize(frame_of(ROWS), pdanon.KmAnonymity(2, 2), hierarchy=2)
    assert f"Anonymized: 4 rows, {best.parameters['algorithm']}" in out
    assert rows_of(read_parquet("out.parquet")) == rows_of(best.frame)
    assert read_parquet("mapping.parquet")["support"].tolist() == best.mapping["support"].tolist()


def test_the_loss_that_is_to_be_least_is_named(run):
    code, out, _ = run(*FILES, "-k", "2", "--loss", "pairs")
    assert code == 0
    best = pdanon.anonymize(frame_of(ROWS), pdanon.KmAnonymity(2, 2), loss="pairs")
    assert [float(line.split()[1]) for line in out.splitlines() if line.strip().startswith("pcta ")] == [
        pytest.approx(float(best.tried["pairs"][0]), rel=1e-3)
    ]
    code, _, err = run(*FILES, "-k", "2", "--loss", "pair")
    assert code == 2
    assert "did you mean 'pairs'?" in err


@pytest.mark.parametrize("m", ["1", "2", "all", None])
def test_known_items(run, m):
    asked = () if m is None else ("-m", m)
    assert run(*FILES, "-k", "3", *asked)[0] == 0
    rows = rows_of(read_parquet("out.parquet"))
    assert not naive.rare_itemsets(rows, 3, {"1": 1, "all": 3}.get(m, 2))


def test_constraints(run):
    code, out, _ = run(*FILES, "-k", "2", "--constraints", "protect.parquet")
    assert code == 0
    assert "PrivacyConstraints(constraints=1, k=2), audited" in out
    assert "pcta, refined" in out


QUASI = ("--quasi", "age", "--random-state", "1")


@pytest.mark.parametrize(
    ("asked", "guarantee"),
    [
        ((), pdanon.KKm(k=2, m=2, quasi=["age"])),
        (
            ("-m", "1", "-l", "2", "--sensitive", SALT),
            pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=[SALT]),
        ),
    ],
)
def test_columns_that_an_attacker_knows_are_protected(run, asked, guarantee):
    frame = frame_of(ROWS * 2).assign(age=[*range(30, 38)])
    to_parquet(frame, "people.parquet")
    code, out, _ = run("anonymize", "people.parquet", "out.parquet", "-k", "2", *asked, *QUASI)
    assert code == 0
    assert f"{guarantee!r}, audited" in out
    expected = pdanon.anonymize(frame, guarantee, random_state=1)
    released = read_parquet("out.parquet")
    assert rows_of(released) == rows_of(expected.frame)
    assert released["age"].astype(str).tolist() == expected.frame["age"].astype(str).tolist()
    assert run("audit", "out.parquet", "-k", "2", *asked, "--quasi", "age")[0] == 0
    assert run("audit", "people.parquet", "-k", "2", *asked, "--quasi", "age")[0] == 1


def test_columns_of_a_table_without_lists_are_protected(run):
    frame = frame_of(ROWS).assign(age=range(4)).drop(columns="items")
    to_parquet(frame, "people.parquet")
    code, out, _ = run("anonymize", "people.parquet", "out.parquet", "-k", "2", *QUASI)
    assert (code, "KAnonymity(k=2, quasi=('age',)), audited" in out) == (0, True)


def test_columns_of_lines_are_read_if_they_are_known(run):
    lines = [(who, 30 + who % 2, item) for who, row in enumerate(ROWS) for item in sorted(row)]
    pd.DataFrame(lines, columns=["who", "age", "what"]).to_csv("lines.csv", index=False)
    form = ("--by", "who", "--item", "what")
    assert run("anonymize", "lines.csv", "out.parquet", "-k", "2", "-m", "1", *form, *QUASI)[0] == 0
    assert list(read_parquet("out.parquet")) == ["age", "what"]


def test_csv(run):
    code, _, _ = run("anonymize", "in.csv", "out.csv", "-k", "2", "--column", "items", "--separator", " ")
    assert code == 0


def test_time_limit(run):
    code, _, err = run(*FILES, "-k", "2", "--time-limit", "1e-9")
    assert code == 1
    assert "no algorithm found a release in 10 times the time limit\n  where: time_limit" in err
    code, _, err = run(*FILES, "-k", "2", "--time-limit", "0")
    assert code == 2
    assert "time_limit must be a number of seconds above 0" in err


def test_the_search_of_an_algorithm_has_the_same_option(run):
    asked = ("-k", "2", "--time-limit", "5")
    assert run(*FILES, "--algorithm", "optimal", "--hierarchy", "2", *asked)[0] == 0
    code, _, err = run(*FILES, "--algorithm", "pcta", *asked)
    assert code == 2
    assert "pcta does not take --time-limit\n  hint:  algorithms that take it: coherence, optimal" in err


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ((), 2, "-k is needed"),
        (
            ("-k", "2", "--sensitive", "a"),
            2,
            "--sensitive needs --rho, -p or -l, or an algorithm",
        ),
        (("-p", "2"), 2, "-p and --sensitive go together"),
        (("--rho", "0.5", "-p", "2", "--sensitive", "a"), 2, "--sensitive needs --rho, -p or -l"),
        (("-k", "2", "-l", "2"), 2, "-l and --sensitive go together"),
        (("--rho", "0.5", "-l", "2", "--sensitive", "a"), 2, "--sensitive needs --rho, -p or -l"),
        (("-k", "2", "-l", "2", "--sensitive", "a", "--constraints", "protect.parquet"), 2, "-l excludes"),
        (("-k", "2", "-l", "2", "--sensitive", RICE), 2, "LmDiversity needs a hierarchy"),
        (("-k", "2", "--quasi", "stor"), 2, "column 'stor' does not exist"),
        (("-k", "2", "--quasi", "items"), 2, "items"),
        (("-k", "2", "--quasi", "store", "--constraints", "protect.parquet"), 2, "by constraints"),
        (
            ("-k", "2", "--quasi", "store", "--algorithm", "pcta"),
            2,
            "pcta does not take --quasi",
        ),
        (("--rho", "0.5", "-k", "2", "--sensitive", "a"), 2, "--rho excludes -k"),
        (("-p", "2", "-k", "2", "-c", "0.5", "--sensitive", "a"), 2, "-p excludes -c"),
        (("-p", "2", "--sensitive", "a"), 2, "cahd publishes a second table"),
        (("-k", "2", "--classes", "counts.csv"), 2, "no second table for --classes"),
        (("-k", "2", "--refine"), 2, "--refine needs --algorithm"),
        (("-k", "2", "--stream", "--quasi", "age"), 2, "--stream with --quasi needs --algorithm"),
        (("-k", "2", "--constraints", "protect.parquet", "--hierarchy", "2"), 2, "uses hierarchy"),
        (("-k", "1"), 2, "k must be an integer of at least 2"),
        (("-k", "5"), 1, "no algorithm found a release"),
    ],
)
def test_what_is_refused(run, tmp_path, asked, code, message):
    before = {path.name for path in tmp_path.iterdir()}
    got, out, err = run(*FILES, *asked)
    assert (got, out) == (code, "")
    assert message in err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_the_command_bounds_named_persons(run, tmp_path):
    frame = pdanon.datasets.make_baskets(300, 20, random_state=2)
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    call = "anonymize", str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), "-k", "4"
    code, _, _ = run(*call, "--max-named", "1")
    assert code == 0
    code, _, err = run(*call, "--max-named", "1.5", "--overwrite")
    assert code == 2
    assert "max_loss['named'] must be a number in [0, 1]" in err
    code, _, err = run(*call, "--max-named", "0.5", "--algorithm", "pcta", "--overwrite")
    assert code == 2
    assert "--max-named" in err
