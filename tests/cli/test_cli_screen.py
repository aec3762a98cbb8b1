"""No command prints more than a screen, unless that is asked for."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pdanon
from pdanon.cli.main import main
from pdanon.cli.output import print_comparison

SCREEN = 40
POLICY = """
input = "in.parquet"
algorithm = "pcta"
parameters = { k = 5 }
columns = { drop = [%s] }
outputs = { release = "run.parquet", comparison = "compared.csv" }
[compare.algorithms.pcta]
[compare.vary]
k = [%s]
"""
COMMANDS = {
    "profile": "profile in.parquet -m 40",
    "first look as a page": "profile in.parquet -m 40 --report look.html",
    "tradeoff": "tradeoff in.parquet -k 3 5 400 -m 1 2 --algorithm pcta --report costs.html",
    "risk": "risk in.parquet -k 5 -m 40",
    "risk, with more known": "risk in.parquet -k 5 -m 20 --quasi c0 c1",
    "anonymize": "anonymize in.parquet out.parquet -k 5 -m 1",
    "one algorithm": "anonymize in.parquet out.parquet -k 5 -m 1 --algorithm pcta --report out.html",
    "audit": "audit in.parquet -k 5 --threats threats.parquet",
    "run": "run policy.toml --overwrite",
    "compare": "compare policy.toml --overwrite",
    "algorithms": "algorithms",
    "an algorithm": "algorithms pcta",
    "misspelt": "algorithms pctt",
    "role": "run forgotten.toml --overwrite",
    "misspelt column": "risk in.parquet -k 5 --column c",
    "column of ticks": "profile ticked.csv --onehot",
    "conflict": "profile ticked.csv --prefix c --by c1",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wide")
    rng = np.random.default_rng(3)
    lists = [rng.choice(40, size, replace=False) for size in rng.integers(1, 26, 200)]
    others = {f"c{each}": rng.integers(0, 190, 200) for each in range(70)}
    pdanon.to_parquet(pd.DataFrame({"items": lists, **others}), directory / "in.parquet")
    pd.DataFrame(others).to_csv(directory / "ticked.csv", index=False)
    names = ", ".join(f'"{name}"' for name in others)
    ks = ", ".join(map(str, range(2, 60)))
    (directory / "policy.toml").write_text(POLICY % (names, ks))
    (directory / "forgotten.toml").write_text(POLICY % ("", ks))
    return directory


@pytest.fixture
def run(directory, monkeypatch, capsys):
    monkeypatch.chdir(directory)

    def ran(command):
        with suppress(SystemExit):
            main(command.split())
        return capsys.readouterr()

    return ran


@pytest.mark.parametrize(
    "command", [pytest.param(each, id=name, marks=pytest.mark.slow) for name, each in COMMANDS.items()]
)
def test_a_command_prints_a_screen_at_most(run, command):
    out, err = run(command)
    assert len((out + err).splitlines()) <= SCREEN
    assert max(map(len, (out + err).splitlines())) < 1000
    assert "Traceback" not in err


def test_columns_that_lack_a_role_are_named_up_to_twenty(run):
    _, err = run("run forgotten.toml --overwrite")
    assert "'c19' and 50 more" in err


def test_risk_is_summed_up_and_there_in_full(run, directory):
    out, _ = run("risk in.parquet -k 5 -m 40")
    longest = max(map(len, pdanon.read_parquet(directory / "in.parquet")["items"]))
    known = [line.split()[0] for line in out.splitlines()[1:-1]]
    assert known == ["1", "2", "3", "5", "10", "20", str(longest)]
    assert all(line.split()[3:] == ["all", "200"] for line in out.splitlines()[1:-1])
    whole, _ = run("risk in.parquet -k 5 -m 40 --all")
    lengths = {len(row) for row in pdanon.read_parquet(directory / "in.parquet")["items"]}
    assert len(whole.splitlines()) == 1 + longest * (1 + len(lengths))
    written, _ = run("risk in.parquet -k 5 -m 40 --out risk.csv")
    assert "written    risk.csv" in written
    table = pd.read_csv(directory / "risk.csv")
    assert len(table) == longest * (1 + len(lengths))
    assert table["rows"].iloc[0] == 200
    assert out.splitlines()[-1].startswith(f"{len(table) - len(known):,} more lines")


def test_a_comparison_is_printed_to_its_end_if_asked(capsys):
    for whole, shown in ((False, 30), (True, 40)):
        print_comparison(pd.DataFrame({"k": range(40)}), whole=whole)
        lines = capsys.readouterr().out.splitlines()
        assert [line.strip() for line in lines[: shown + 1]] == ["k", *map(str, range(shown))]
        assert [line.split(":")[0] for line in lines[shown + 1 :]] == ([] if whole else ["10 more lines"])


@pytest.mark.slow
def test_a_comparison_is_cut_and_there_in_full(run):
    out, _ = run("compare policy.toml --overwrite")
    assert out.splitlines()[-1].startswith("28 more lines")
    assert len(run("compare policy.toml --all --overwrite")[0].splitlines()) == 1 + 58
    assert len(pd.read_csv(Path("compared.csv"))) == 58


def test_no_name_controls_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = ["\x1b[2J", "\u202e", "\r", "\x9b"]
    rows = [set(names), {"tea"}] * 12
    pdanon.to_parquet(pd.DataFrame({"\x1b]0;items": rows, "\u202eward": range(24)}), "\x1b[1m.parquet")
    for command in ("profile", "risk -k 3", "anonymize out\u202e.parquet -k 2", "audit -k 30 --column i"):
        name, *options = command.split()
        main([name, "\x1b[1m.parquet", *options])
    with suppress(SystemExit):
        main(["risk", "in.parquet", "-k", "\x1b[2J"])
    shown = "".join(capsys.readouterr())
    assert "written    out\\u202e.parquet" in shown
    assert "\\u202eward" in shown
    assert not any(name in shown for name in (*names, "\x1b"))
