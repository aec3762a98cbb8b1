"""Files with quasi-identifiers on the command line and in policies: the release of the library call."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of

import pdanon
from pdanon import Transaction, stream
from pdanon.io.parquet import read_parquet, to_parquet

FLU = f"{SECRET}-flu"
ROWS = 48
QUASI = ("--quasi", "age", "city")
FILES = ("anonymize", "--stream", "rows", "out")
LIBRARY = {"k": 3, "quasi": ["age", "city"]}
SEED, SEEDED = ("--random-state", "1"), {"random_state": 1}
TREES, CITIES = ("--hierarchies", "city=cities.csv", "age=3"), {"age": 3, "city": Path("cities.csv")}
CALLS = {
    "rum_bound": (
        ("--delta", "0.6", *SEED, "--block-rows", "20", "--processes", "1", "--cluster", "mondrian"),
        {"delta": 0.6, **SEEDED, "block_rows": 20, "cluster": "mondrian"},
    ),
    "tum_bound": (
        ("-m", "1", "--delta", "0.9", *SEED, "--merge", "R", "--rum", "DM", "--quasi-weights", "age=0.5"),
        {"m": 1, "delta": 0.9, **SEEDED, "merge": "R", "rum": "DM", "quasi": {"age": 0.5, "city": 1}},
    ),
    "rfirst": (
        (*SEED, *TREES, "--transaction", "apriori", "--hierarchy", "2", "--no-refine"),
        {
            **SEEDED,
            "quasi": CITIES,
            "transaction": Transaction("apriori", hierarchy=2, refine=False),
        },
    ),
    "rfirst, sensitive": (
        (*SEED, "--sensitive", FLU, "-l", "2"),
        {**SEEDED, "transaction": Transaction(sensitive=[FLU], l=2)},
    ),
    "tfirst": (("--parts", "4"), {"parts": 4}),
    "cluster": (("--block-rows", "20", *SEED), {"block_rows": 20, **SEEDED}),
    "k_member": (("--max-suppressed", "0.2", *SEED), {"max_suppressed": 0.2, **SEEDED}),
    "mondrian": (("--block-rows", "20", "--keep", "shop"), {"block_rows": 20, "keep": ["shop"]}),
    "incognito": (TREES, {"quasi": CITIES}),
    "top_down": (TREES, {"quasi": CITIES}),
    "full_subtree": ((), {}),
}
ALONE = ("cluster", "k_member", "mondrian", "incognito", "top_down", "full_subtree")
IN_MEMORY = [name for name, (asked, _) in CALLS.items() if name not in ALONE or "--block-rows" not in asked]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    lists = [rng.choice([*"abcdef", FLU], 3, replace=False) for _ in range(ROWS)]
    ages, cities = rng.integers(20, 40, ROWS), rng.choice(["c0", "c1", "c2", "c3"], ROWS)
    return frame_of(lists).assign(age=ages, city=cities, shop=["north", "south"] * (ROWS // 2))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, table):
    """Two files in a directory, with the items and without, and a hierarchy."""
    monkeypatch.chdir(tmp_path)
    Path("cities.csv").write_text("c0;north;*\nc1;north;*\nc2;south;*\nc3;south;*\n")
    for name, frame in {"rows": table, "people": table.drop(columns="items")}.items():
        Path(name).mkdir()
        for part in range(2):
            to_parquet(frame[20 * part :][: 20 + 8 * part].reset_index(drop=True), f"{name}/{part}.parquet")


def contents(target):
    """All files of a release, by name."""
    return {
        str(path.relative_to(target)): path.read_bytes() for path in sorted(Path(target).rglob("*.parquet"))
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize("call", CALLS)
def test_the_release_and_the_mapping_are_those_of_the_library(run, call):
    name, (asked, given) = call.split(",")[0], CALLS[call]
    source = "people" if name in ALONE else "rows"
    options = ("--algorithm", name, "-k", "3", *QUASI, *asked, "--mapping", "map.csv")
    code, out, err = run("anonymize", "--stream", source, "out", *options)
    with pytest.warns() if err else pytest.MonkeyPatch.context():
        made = getattr(stream, name)(source, "expected", mapping="kept.csv", **LIBRARY | given)
    assert (code, "error" in err) == (0, False)
    assert contents("out") == contents("expected")
    assert Path("map.csv").read_bytes() == Path("kept.csv").read_bytes()
    title, guarantee, *lines = out.splitlines()
    assert title == f"Anonymized: {ROWS} rows, {name}"
    assert guarantee == f"  guarantee  {made.guarantee!r}, audited"
    assert lines[-2:] == ["  written    out, 2 files", "  mapping    map.csv"]
    assert "0 occurrences" not in out


@pytest.mark.one_in(3)
@pytest.mark.parametrize("call", IN_MEMORY)
def test_a_table_in_memory_takes_the_same_options(run, table, call):
    name, (asked, given) = call.split(",")[0], CALLS[call]
    frame = table.drop(columns="items") if name in ALONE else table
    to_parquet(frame, "whole.parquet")
    options = ("--algorithm", name, "-k", "3", *QUASI, *asked)
    code, _, err = run("anonymize", "whole.parquet", "out.parquet", *options)
    assert code == 0
    with pytest.warns() if err else pytest.MonkeyPatch.context():
        expected = getattr(pdanon, name)(frame, **LIBRARY | given)
    to_parquet(expected.frame, "expected.parquet")
    pd.testing.assert_frame_equal(read_parquet("out.parquet"), read_parquet("expected.parquet"))


def test_lines_keep_the_quasi_identifiers_of_a_person(run, table):
    pytest.importorskip("duckdb")
    pairs = [
        (who, row.age, row.city, item)
        for who, row in enumerate(table.itertuples(index=False))
        for item in row.items
    ]
    pd.DataFrame(pairs, columns=["who", "age", "city", "what"]).to_csv("lines.csv", index=False)
    form = ("--by", "who", "--item", "what", "-k", "3", *QUASI)
    asked = ("--algorithm", "rfirst", *SEED)
    assert run("anonymize", "--stream", "lines.csv", "out.parquet", *form, *asked)[0] == 0
    released = read_parquet("out.parquet")
    assert sorted(released) == ["age", "city", "what"]
    assert pdanon.KKm(k=3, m=2, quasi=["age", "city"]).audit(released, "what").holds
    code, _, err = run("anonymize", "--stream", "lines.csv", "no.parquet", *form, "--algorithm", "mondrian")
    assert (code, "mondrian recodes no list column\n  where: --item\n" in err) == (2, True)


RUM = ("--algorithm", "rum_bound", "--delta", "0.5")
REFUSED = {
    "no algorithm": ((), 2, "--stream with --quasi needs --algorithm\n  hint:  pass one of cluster, "),
    "no delta": (("--algorithm", "rum_bound"), 2, "rum_bound needs --delta"),
    "of items": (
        ("--algorithm", "pcta"),
        2,
        "pcta does not take --quasi\n  hint:  algorithms that take it: clu",
    ),
    "misspelt": (("--algorithm", "rum_bond"), 2, "did you mean 'rum_bound'"),
    "lists": (("--algorithm", "mondrian", "--column", "items"), 2, "mondrian recodes no list column"),
    "delta": (
        ("--algorithm", "rum_bound", "--delta", "2"),
        2,
        "delta must be a number in [0, 1]\n  got:   2.0",
    ),
    "processes": ((*RUM, "--processes", "0"), 2, "processes must be an integer of at least 1"),
    "old processes": ((*RUM, "--n-jobs", "2"), 2, "--processes 4"),
    "block": ((*RUM, "--block-rows", "3"), 2, "block_rows must be an integer of at least 6"),
    "pair": (
        (*RUM, "--hierarchies", "age"),
        2,
        "'age' is not a column with a hierarchy\n  hint:  write a column",
    ),
    "weight": (
        (*RUM, "--quasi-weights", "age"),
        2,
        "'age' is not a column with a number\n  hint:  write a column",
    ),
    "no column": (
        (*RUM, "--hierarchies", "ag=5"),
        2,
        "there is no such quasi-identifier\n  where: hierarchies",
    ),
    "no file": (
        (*RUM, "--hierarchies", "age=no.csv"),
        2,
        "the file cannot be read as CSV\n  where: no.csv\n  got:   No such file",
    ),
    "no tree": ((*RUM, "--transaction", "apriori"), 2, "apriori needs a hierarchy of the items"),
    "items": ((*RUM, "--transaction", "rum_bound"), 2, "invalid choice: 'rum_bound' (choose from 'apriori'"),
    "classes": ((*RUM, "--cluster", "mondrain"), 2, "did you mean 'mondrian'?"),
    "half": ((*RUM, "--sensitive", FLU), 2, "sensitive and l go together"),
    "labels": ((*RUM, "--labels", "short"), 2, "labels of regions are counted apart"),
    "report": ((*RUM, "--report", "page.html"), 2, "--stream writes no report"),
    "persons": ((*RUM, "--unit", "shop"), 2, "--quasi and --unit do not go together"),
    "too tight": ((*RUM[:-1], "0.0001"), 1, "lose more of the quasi-identifiers than delta allows"),
    "too large": ((*RUM[:-1], "1", "--max-loss", "NCP=0"), 1, "which max_loss does not allow"),
}


@pytest.mark.parametrize(("asked", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_released_is_refused_and_nothing_written(run, asked, code, message):
    got, out, err = run(*FILES, "-k", "3", *QUASI, *asked, "--mapping", "map.csv")
    assert (got, out) == (code, "")
    assert message in err
    assert not Path("out").exists()
    assert not Path("map.csv").exists()


def test_options_of_regions_need_files(run, table):
    to_parquet(table, "whole.parquet")
    asked = ("--algorithm", "mondrian", "-k", "3", *QUASI, "--block-rows", "20")
    code, _, err = run("anonymize", "whole.parquet", "out.parquet", *asked)
    assert (code, "algorithms that take it: rum_bound, tum_bound; with --stream also cluster" in err) == (
        2,
        True,
    )


def test_a_dry_run_lists_hierarchies(run):
    asked = (*RUM, "-k", "3", *QUASI, "--hierarchies", "age=ages.csv", "city=5", "--dry-run")
    code, out, _ = run(*FILES, *asked)
    assert (code, out.splitlines()[1:3]) == (0, ["  reads      rows", "  reads      ages.csv"])


def test_the_document_has_the_loss_and_no_item(run):
    code, out, _ = run(*FILES, *RUM, "-k", "3", *QUASI, *SEED, "--json")
    result = json.loads(out)["result"]
    assert (code, result["algorithm"], result["rows"]) == (0, "rum_bound", ROWS)
    assert result["guarantee"]["quasi"] == ["age", "city"]
    assert result["loss"]["NCP_relational"] <= 0.5
    assert result["summary"]["changed"].endswith("of the occurrences, 0 % suppressed")


# --- Policies

POLICY = """
input = "{source}"
algorithm = "{algorithm}"
[parameters]
k = 3
block_rows = 20
{parameters}
[columns]
quasi = ["age", "city"]
keep = ["shop"]
[hierarchies]
city = "cities.csv"
[outputs]
release = "out"
mapping = "map.csv"
"""
POLICIES = {
    "rum_bound": ("rows", "delta = 0.6\nrandom_state = 1", {"delta": 0.6, **SEEDED}),
    "rfirst": (
        "rows",
        f'random_state = 1\ntransaction = {{ sensitive = ["{FLU}"], l = 2 }}',
        {**SEEDED, "transaction": Transaction(sensitive=[FLU], l=2)},
    ),
    "mondrian": ("people", "processes = 1", {}),
    "incognito": ("people", "", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_releases_what_the_library_does(run, name):
    source, parameters, given = POLICIES[name]
    Path("policy.toml").write_text(POLICY.format(source=source, algorithm=name, parameters=parameters))
    assert run("run", "policy.toml", "--dry-run")[0] == 0
    code, out, err = run("run", "policy.toml")
    assert (code, err.splitlines()[0]) == (0, "pdanon: writes out, map.csv")
    more = {"quasi": {"age": None, "city": Path("cities.csv")}, "keep": ["shop"], "block_rows": 20}
    asked = LIBRARY | more | given
    with pytest.warns() if "warning" in err else pytest.MonkeyPatch.context():
        made = getattr(stream, name)(source, "expected", mapping="kept.csv", **asked)
    assert f"  guarantee  {made.guarantee!r}, audited" in out
    assert contents("out") == contents("expected")
    assert Path("map.csv").read_bytes() == Path("kept.csv").read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('algorithm = "rum_bound"', "", "quasi in parts needs an algorithm"),
        ('algorithm = "rum_bound"', 'algorithm = "pcta"', "pcta does not protect quasi-identifiers"),
        ("delta = 0.6", "", "rum_bound lacks a parameter"),
        ("block_rows", "block_row", "did you mean 'block_rows'"),
        ('keep = ["shop"]', "", "columns have no role"),
    ],
)
def test_a_policy_that_cannot_run_is_refused(run, old, new, message):
    text = POLICY.format(source="rows", algorithm="rum_bound", parameters="delta = 0.6\nrandom_state = 1")
    Path("policy.toml").write_text(text.replace(old, new))
    code, out, err = run("run", "policy.toml")
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("out").exists()
