"""PS-rules on the command line, in policies and as files: the release is that of the library."""

from __future__ import annotations

import pandas as pd
import pytest

import pdanon
from pdanon.guarantees.ps import AllRules

RULES = [(["rice", "tea"], ["flu"]), (["salt"], ["flu", "gout"])]
ROWS = [
    ["rice", "tea", "flu"],
    ["rice", "tea"],
    ["rice", "salt", "flu"],
    ["salt", "tea", "gout"],
    ["salt"],
    ["tea"],
]
POLICY = """
input = "sick.parquet"
{}

[parameters]
k = 2
c = 0.5
{}

[outputs]
release = "released.parquet"
"""


@pytest.fixture
def sick(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"items": ROWS * 3})
    frame.to_parquet("sick.parquet")
    rows = (f"{';'.join(known)},{';'.join(sensitive)}" for known, sensitive in RULES)
    (tmp_path / "rules.csv").write_text("\n".join(["known,sensitive", *rows]), "utf-8")
    (tmp_path / "sets.csv").write_text("rice,tea\n", "utf-8")
    (tmp_path / "all.toml").write_text('m = 2\nsensitive = ["flu", "gout"]\n', "utf-8")
    return frame


OF_FILES = {"rules.csv": RULES, "all.toml": AllRules(2, ["flu", "gout"])}


def lists(path):
    return [list(row) for row in pdanon.read_parquet(path)["items"]]


@pytest.mark.parametrize("how", [(), ("--how", "sample", "--sample", "0.5", "--random-state", "1")])
@pytest.mark.parametrize("file", OF_FILES)
def test_a_release_by_rules_is_written_and_audited(sick, run, file, how):
    asked = ("-k", "2", "-c", "0.5", "--rules", file)
    written = ("sick.parquet", "out.parquet", "--mapping", "mapping.csv")
    code, out, err = run("anonymize", *written, "--algorithm", "ps_rules", *asked, *how)
    assert (code, err) == (0, "")
    assert "Anonymized: 18 rows, ps_rules" in out
    options = {"how": "sample", "sample": 0.5, "random_state": 1} if how else {}
    expected = sick.txanon.ps_rules(rules=OF_FILES[file], k=2, c=0.5, **options)
    assert lists("out.parquet") == [list(row) for row in expected.frame["items"]]
    assert run("audit", "out.parquet", *asked, "--mapping", "mapping.csv")[0] == 0


def test_rules_alone_are_enough(sick, run):
    code, _, err = run(
        "anonymize", "sick.parquet", "out.parquet", "-k", "2", "-c", "0.5", "--rules", "all.toml"
    )
    assert (code, err) == (0, "")
    expected = sick.txanon.anonymize(pdanon.PSRules(rules=OF_FILES["all.toml"], k=2, c=0.5))
    assert lists("out.parquet") == [list(row) for row in expected.frame["items"]]


def test_what_is_too_frequent_may_be_suppressed(sick, run):
    asked = ("--algorithm", "ps_rules", "-k", "2", "-c", "0.2", "--rules", "all.toml")
    code, _, err = run("anonymize", "sick.parquet", "out.parquet", *asked)
    assert (code, "suppress=True" in err) == (1, True)
    assert run("anonymize", "sick.parquet", "out.parquet", *asked, "--suppress")[0] == 0
    assert not any("flu" in row for row in lists("out.parquet"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rules", "rules.csv"), "rules and c go together"),
        (("-c", "0.5"), "rules and c go together"),
        (("--rules", "rules.csv", "-c", "0.5", "-m", "2"), "m is not used with rules"),
        (("--rules", "rules.csv", "-c", "0.5", "--constraints", "sets.csv"), "rules exclude constraints"),
        (("--rules", "rules.csv", "-c", "0.5", "--algorithm", "pcta"), "pcta does not take"),
        (("--rules", "rules.txt", "-c", "0.5"), "must end in"),
        (("--algorithm", "ps_rules", "--rules", "rules.csv"), "ps_rules needs -c"),
    ],
)
def test_what_does_not_go_together_is_refused(sick, run, words, message):
    code, _, err = run("anonymize", "sick.parquet", "out.parquet", "-k", "2", *words)
    assert (code, message in err) == (2, True), err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("algorithm", ['algorithm = "ps_rules"', ""])
@pytest.mark.parametrize(
    "rules", ['rules = "rules.csv"', f"rules = {[*map(list, RULES)]}", 'rules = "all.toml"']
)
def test_a_policy_asks_for_rules(sick, run, algorithm, rules, tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY.format(algorithm, rules), "utf-8")
    assert run("run", "policy.toml")[0] == 0
    known = OF_FILES["all.toml" if "all" in rules else "rules.csv"]
    if algorithm:
        expected = sick.txanon.ps_rules(rules=known, k=2, c=0.5)
    else:
        expected = sick.txanon.anonymize(pdanon.PSRules(rules=known, k=2, c=0.5))
    assert lists("released.parquet") == [list(row) for row in expected.frame["items"]]


def test_a_policy_draws_the_rows_of_a_call(sick, run, tmp_path):
    text = POLICY.format('algorithm = "ps_rules"', 'rules = "rules.csv"\nhow = "sample"')
    (tmp_path / "policy.toml").write_text(text, "utf-8")
    assert run("run", "policy.toml")[0] == 0
    expected = sick.txanon.ps_rules(rules=OF_FILES["rules.csv"], k=2, c=0.5, how="sample")
    assert lists("released.parquet") == [list(row) for row in expected.frame["items"]]
