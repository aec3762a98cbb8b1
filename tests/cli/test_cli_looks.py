"""Looks at a raw table from the command line: the same as from Python, written as asked, and nothing else."""

from __future__ import annotations

import pandas as pd
import pytest
from commands import CSV, RICE, SALT, contents, here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET, frame_of
from pages import Page, rows_below

import pdanon
from pdanon.io.parquet import to_parquet


@pytest.mark.slow
def test_a_first_look_is_written_as_a_page(run, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    code, out, _ = run("profile", "in.parquet", "-k", "2", "-m", "2", "--report", "look.html")
    assert code == 0
    look = pdanon.read_parquet("in.parquet").txanon.profile(k=2, m=2)
    python, command = (
        "frame.txanon.anonymize(k=2, m=2)",
        "pdanon anonymize in.parquet released.parquet -k 2 -m 2",
    )
    assert out == f"{look!r}\n  report     look.html\n".replace(python, command)
    look.report("again.html")
    written = contents()
    assert written["look.html"] == written["again.html"].replace(python.encode(), command.encode())
    assert SALT.encode() not in written["look.html"]  # it is in one row
    assert RICE.encode() in written["look.html"]


@pytest.mark.usefixtures("tables_only")
def test_lines_and_joined_text_have_a_page_too(run):
    table = pd.DataFrame({"who": [1, 1, 2, 2], "what": [SECRET, "b", SECRET, "c"], "city": list("xxyy")})
    table.to_csv("lines.csv", index=False)
    lines = ("--by", "who", "--item", "what", "--keep", "city", "--report", "look.html", "-k", "2")
    assert run("profile", "lines.csv", *lines)[0] == 0
    page = Page(contents()["look.html"].decode())
    assert rows_below(page, "Other columns")[0][6] == "city"
    assert run("profile", "in.csv", *CSV, "--report", "look.html", "--overwrite")[0] == 0
    assert Page(contents()["look.html"].decode()).texts("h1") == ["A first look"]


@pytest.mark.slow
def test_what_each_k_and_m_costs_is_that_of_the_library(run, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    before = contents()
    asked = ("--algorithm", "pcta", "-k", "2", "500", "-m", "1", "2", "--keep", "store")
    written = ("--out", "costs.parquet", "--picture", "costs.svg", "--report", "costs.html")
    code, out, _ = run("tradeoff", "in.parquet", *asked, *written)
    assert code == 0
    table = pdanon.read_parquet("in.parquet").txanon.tradeoff(k=[2, 500], m=[1, 2], algorithm="pcta")
    found, table = (
        each.drop(columns="seconds").fillna({"reason": ""})
        for each in (pdanon.read_parquet("costs.parquet"), table)
    )
    pd.testing.assert_frame_equal(found, table)
    assert {*contents()} == {*before, "costs.parquet", "costs.svg", "costs.html"}
    lines = out.splitlines()
    assert [line.split()[:3] for line in lines[:3]] == [
        ["k", "m", "below_k"],
        ["2", "1", "0"],
        ["2", "2", "0"],
    ]
    assert lines[4].startswith("no release for k=500 m=1, k=500 m=2: k is larger than")
    assert lines[5:] == ["  written    costs.parquet", "  picture    costs.svg", "  report     costs.html"]
    assert contents()["costs.svg"].startswith(b"<?xml")
    page = Page(contents()["costs.html"].decode())
    assert page.texts("h2")[:3] == ["What to do first", "Who can be singled out", "What each k and m costs"]


def test_the_best_release_of_each_is_taken_without_an_algorithm(run):
    code, out, _ = run(
        "tradeoff", "in.parquet", "-k", "2", "-m", "1", "--time-limit", "5", "--hierarchy", "2"
    )
    assert code == 0
    best = pdanon.read_parquet("in.parquet").txanon.keep("store").anonymize(k=2, m=1, hierarchy=2)
    assert float(out.splitlines()[1].split()[7]) == pytest.approx(best.loss["NCP"], rel=1e-3)


@pytest.mark.slow
def test_many_of_them_are_printed_on_a_screen(run):
    to_parquet(frame_of([["a", "b"]] * 50), "plain.parquet")
    ks = [str(k) for k in range(2, 42)]
    code, out, _ = run("tradeoff", "plain.parquet", "--algorithm", "pcta", "-m", "1", "-k", *ks)
    assert code == 0
    assert len(out.splitlines()) <= 40
    assert "10 more lines: --out FILE" in out
    ks = [str(k) for k in range(60, 100)]
    out = run("tradeoff", "plain.parquet", "--algorithm", "pcta", "-m", "1", "-k", *ks)[1]
    assert out.splitlines() == [
        "no release for k=60 m=1, k=61 m=1, k=62 m=1, k=63 m=1, k=64 m=1, k=65 m=1 and 34 more: k is larger "
        "than the number of rows that hold an item"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-k 1", "k must be"),
        ("-m 0", "m must be"),
        ("-k", "expected at least one argument"),
        ("-m all", "invalid int"),
        ("--refine", "--refine needs --algorithm"),
        ("--algorithm coherence", "coherence does not take -m"),
        ("--algorithm cluster", "invalid choice"),
        ("--picture p.jpg", ".png, .svg or .pdf"),
        ("--report p.pdf", ".html"),
        ("--out p.xlsx", ".parquet or .csv"),
        ("--out in.parquet", "in.parquet"),
        ("--keep nowhere", "nowhere"),
    ],
)
def test_what_cannot_be_asked_is_said_and_nothing_is_written(run, words, said):
    before = contents()
    code, out, err = run("tradeoff", "in.parquet", *words.split())
    assert (code, out) == (2, "")
    assert said in err
    assert contents() == before


def test_pictures_need_matplotlib_before_anything_is_done(run, monkeypatch):
    monkeypatch.setattr("pdanon.cli.main.find_spec", lambda name: None)
    code, _, err = run("tradeoff", "in.parquet", "--picture", "p.png")
    assert code == 2
    assert "pip install matplotlib" in err
