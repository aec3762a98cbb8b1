"""Releases of two tables: written together or not at all, and audited together."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import CSV, KM, RICE, SALT, TEA, here  # noqa: F401 (`here` acts on every test)

import pdanon
from pdanon.cli.releases import release_table
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import read_csv

FLU = f"{RICE}-flu"
SICK = [[RICE, TEA, FLU], [RICE, TEA], [SALT], [SALT, TEA], [RICE], [TEA]]
ASKED = ("--algorithm", "cahd", "-p", "3", "--sensitive", FLU)


@pytest.fixture
def sick():
    frame = pd.DataFrame({"items": SICK})
    to_parquet(frame, "sick.parquet")
    return frame


@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("classes", ["counts.parquet", "counts.csv"])
def test_both_tables_are_written_and_audited(run, sick, target, classes):
    code, out, err = run("anonymize", "sick.parquet", target, *ASKED, "--classes", classes, *CSV)
    assert (code, err) == (0, "")
    assert f"  classes    {classes}" in out.splitlines()
    expected = sick.txanon.cahd(p=3, sensitive=[FLU])
    written = (
        read_parquet(target)
        if target.endswith("parquet")
        else read_csv(target, column="items", separator=" ", types={"group": "integer"})
    )
    assert written["group"].tolist() == expected.frame["group"].tolist()
    table = pd.read_parquet(classes) if classes.endswith("parquet") else pd.read_csv(classes)
    assert table["count"].tolist() == expected.classes["count"].tolist()
    asked = ("--sensitive", FLU, "--classes", classes, *CSV)
    assert run("audit", target, "-p", "3", *asked)[0] == 0
    code, out, _ = run("audit", target, "-p", "4", *asked, "--threats", "threats.parquet")
    assert (code, "verdict    does not hold" in out) == (1, True)
    assert read_parquet("threats.parquet")["why"].tolist() == ["frequent"]


@pytest.mark.parametrize("hidden", [(), ("-k", "2", "-m", "2")])
def test_without_an_algorithm_the_best_groups_are_written(run, sick, hidden):
    asked = ("-p", "3", "--sensitive", FLU, "--classes", "counts.csv")
    code, out, err = run("anonymize", "sick.parquet", "out.parquet", *asked, *hidden)
    assert (code, err) == (0, "")
    assert "cahd, order=gray" in out
    assert run("audit", "out.parquet", *asked, *hidden)[0] == 0
    guarantee = pdanon.SensitiveGroups(p=3, sensitive=[FLU], **({"k": 2, "m": 2} if hidden else {}))
    expected = sick.txanon.anonymize(guarantee)
    assert read_parquet("out.parquet")["group"].tolist() == expected.frame["group"].tolist()


@pytest.mark.parametrize("asked", [{"p": 3}, {"rho": 0.5}])
def test_what_is_asked_of_sensitive_items_protects_no_other_column(sick, asked):
    with pytest.raises(pdanon.ParameterError, match="do not protect quasi-identifiers"):
        release_table(
            sick.assign(age=1).txanon.prepare({}),
            None,
            None,
            {},
            {"sensitive": [FLU], "quasi": ["age"], **asked},
        )


def test_a_policy_asks_for_groups_without_an_algorithm(run, sick):
    parameters = f'parameters = {{ p = 3, sensitive = ["{FLU}"] }}'
    text = f'input = "sick.parquet"\n{parameters}\n[outputs]\nrelease = "out.parquet"\n'
    Path("policy.toml").write_text(text)
    code, _, err = run("run", "policy.toml")
    assert (code, "cahd publishes a second table" in err) == (2, True)
    Path("policy.toml").write_text(text + 'classes = "counts.csv"\n')
    assert run("run", "policy.toml")[0] == 0
    asked = ("-p", "3", "--sensitive", FLU, "--classes", "counts.csv")
    assert run("audit", "out.parquet", *asked)[0] == 0


def test_rows_are_hidden_as_well_and_both_are_audited(run, sick):
    hidden = ("-k", "2", "-m", "2")
    code, out, err = run(
        "anonymize", "sick.parquet", "out.parquet", *ASKED, *hidden, "--classes", "counts.csv"
    )
    assert (code, err) == (0, "")
    assert "SensitiveGroups(p=3, sensitive=1 items, k=2, m=2), audited" in out
    expected = sick.txanon.cahd(p=3, sensitive=[FLU], k=2, m=2)
    assert [*map(list, read_parquet("out.parquet")["items"])] == [*map(list, expected.frame["items"])]
    asked = ("-p", "3", "--sensitive", FLU, "--classes", "counts.csv")
    assert run("audit", "out.parquet", *asked, *hidden)[0] == 0
    code, out, _ = run("audit", "out.parquet", *asked, "-k", "6", "--threats", "threats.parquet")
    assert (code, "SensitiveGroups(p=3, sensitive=1 items, k=6, m=2)" in out) == (1, True)
    assert {*read_parquet("threats.parquet")["why"]} == {"rare"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("anonymize", "sick.parquet", "out.parquet", *ASKED), "publishes a second table"),
        (("anonymize", "sick.parquet", "out.parquet", "-k", "2", "--classes", "c.csv"), "no second table"),
        (
            (
                "anonymize",
                "sick.parquet",
                "out.parquet",
                "--algorithm",
                "pcta",
                "-k",
                "2",
                "--classes",
                "c.csv",
            ),
            "no second table",
        ),
        (("anonymize", "sick.parquet", "out.parquet", *ASKED, "--classes", "out.parquet"), "same file"),
        (("audit", "sick.parquet"), "-k is needed"),
        (("audit", "sick.parquet", "-p", "3"), "go together"),
        (("audit", "sick.parquet", "-k", "3", "--classes", "in.parquet"), "go together"),
        (
            ("audit", "sick.parquet", "-m", "3", "-p", "3", "--sensitive", FLU, "--classes", "in.parquet"),
            "m is given without k",
        ),
        (
            (
                *(
                    "audit",
                    "sick.parquet",
                    "-k",
                    "3",
                    "-p",
                    "3",
                    "--sensitive",
                    FLU,
                    "--classes",
                    "in.parquet",
                ),
                *("-l", "2"),
            ),
            "--sensitive needs --rho, -p or -l",
        ),
        (("anonymize", "sick.parquet", "out.parquet", *ASKED, "-m", "2", "--classes", "c.csv"), "without k"),
        (("anonymize", "sick.parquet", "new", "--stream", *ASKED), "needs all rows at once"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_written(run, sick, words, message):
    before = sorted(Path().iterdir())
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(Path().iterdir()) == before


def test_sensitive_items_that_nobody_may_infer(run, sick):
    """By a command as by a policy; the mapping says which were left out."""
    asked = ("--algorithm", "td_control", "--rho", "0.4", "--sensitive", FLU, SALT, "--hierarchy", "2")
    code, out, err = run("anonymize", "sick.parquet", "out.parquet", *asked, "--mapping", "map.parquet")
    assert (code, err) == (0, "")
    assert "RhoUncertainty(rho=0.4, sensitive=2 items), audited" in out
    expected = sick.txanon.td_control(rho=0.4, sensitive=[FLU, SALT], hierarchy=2)
    assert expected.mapping["generalized"].isna().any()
    assert read_parquet("out.parquet")["items"].tolist() == expected.frame["items"].tolist()
    again = ("--rho", "0.4", "--sensitive", FLU, SALT, "--mapping", "map.parquet")
    assert run("audit", "out.parquet", *again)[0] == 0
    Path("out.parquet").unlink()
    Path("policy.toml").write_text(
        'input = "sick.parquet"\nalgorithm = "td_control"\n[parameters]\nrho = 0.4\n'
        f'sensitive = ["{FLU}", "{SALT}"]\n[columns]\nitems = "items"\n[hierarchies]\nitems = 2\n'
        '[outputs]\nrelease = "out.parquet"\n'
    )
    assert run("run", "policy.toml")[0] == 0
    assert read_parquet("out.parquet")["items"].tolist() == expected.frame["items"].tolist()


POLICY = """
input = "sick.parquet"
algorithm = "cahd"
[parameters]
p = 3
sensitive = ["{}"]
[outputs]
release = "out.parquet"
"""


@pytest.mark.slow
def test_a_policy_names_a_file_for_each_table(run, sick):
    Path("policy.toml").write_text(POLICY.format(FLU))
    code, _, err = run("run", "policy.toml")
    assert (code, "publishes a second table" in err) == (2, True)
    Path("policy.toml").write_text(POLICY.format(FLU) + 'classes = "counts.parquet"\nreport = "page.html"\n')
    code, out, _ = run("run", "policy.toml")
    assert (code, "  classes    counts.parquet" in out) == (0, True)
    guarantee = pdanon.SensitiveGroups(p=3, sensitive=[FLU], classes=pd.read_parquet("counts.parquet"))
    assert pd.read_parquet("out.parquet").txanon.audit(guarantee).holds
    assert "<h2>Sensitive items</h2>" in Path("page.html").read_text()
    both = POLICY.format(FLU).replace("p = 3", "p = 3\nk = 2\nm = 2")
    Path("both.toml").write_text(both + 'classes = "both.parquet"\nreport = "page.html"\n')
    assert run("run", "both.toml", "--overwrite")[0] == 0
    guarantee = pdanon.SensitiveGroups(
        p=3, sensitive=[FLU], classes=pd.read_parquet("both.parquet"), k=2, m=2
    )
    assert pd.read_parquet("out.parquet").txanon.audit(guarantee).holds
    assert "Risk before and after" in Path("page.html").read_text()
    other = POLICY.format(FLU).replace('"cahd"', '"pcta"').replace("p = 3", "k = 2")
    other = "\n".join(line for line in other.splitlines() if not line.startswith("sensitive"))
    Path("policy.toml").write_text(other + '\nclasses = "counts.parquet"\n')
    code, _, err = run("run", "policy.toml")
    assert (code, "publishes no second table" in err) == (2, True)
