"""Evidence on the command line: written with a release, and compared with its files."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pandas as pd
import pytest
from commands import KM, SALT, here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET

import pdanon

RELEASE = ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "map.parquet", "--evidence", "e.json")


@pytest.fixture
def evidence(here, run):  # noqa: F811
    assert run(*RELEASE)[0] == 0
    return json.loads(Path("e.json").read_text())


def test_a_release_matches_its_evidence(evidence, run):
    code, out, err = run("verify", "e.json", "--release", "out.parquet")
    assert (code, err) == (0, "")
    assert out.startswith("Verification of the evidence\n  seal       matches")
    assert out.endswith("  verdict    what was checked matches; not checked: mapping, original, stated\n")
    more = ("--original", "in.parquet", "--mapping", "map.parquet")
    code, out, _ = run("verify", "e.json", "--release", "out.parquet", *more)
    assert (code, out.endswith("not checked: stated\n")) == (0, True)
    assert evidence["tables"].keys() == {"release", "mapping", "original"}
    assert all(stat.S_IMODE(Path(name).stat().st_mode) == 0o600 for name in ("e.json", "e.html"))


@pytest.mark.slow
def test_the_head_is_on_both_pages(here, run):  # noqa: F811
    texts = ("--head", "title=Baskets of May", "--head", "note=a=b <c>")
    code, _, err = run(*RELEASE, "--report", "r.html", *texts)
    assert (code, err) == (0, "")
    assert json.loads(Path("e.json").read_text())["head"] == {"title": "Baskets of May", "note": "a=b <c>"}
    for page in ("e.html", "r.html"):
        text = Path(page).read_text()
        assert "<title>Baskets of May</title>" in text
        assert "a=b &lt;c&gt;" in text


def test_control_rows_add_the_attacks_to_both_pages(here, run):  # noqa: F811
    pdanon.to_parquet(pd.DataFrame({"items": [[SALT], ["tea", "figs"]]}), "others.parquet")
    code, _, err = run(*RELEASE, "--report", "r.html", "--control", "others.parquet")
    assert (code, err) == (0, "")
    attacks = json.loads(Path("e.json").read_text())["risk"]["attacks"]
    original, others = map(pdanon.read_parquet, ("in.parquet", "others.parquet"))
    result = pdanon.read_parquet("out.parquet"), pdanon.read_parquet("map.parquet")
    played = pdanon.assess(original, result[0], others, mapping=result[1])
    assert [line["success"] for line in attacks["lines"]] == played["success"].tolist()
    assert attacks["lines"][-1]["attack"] == "membership"
    for page in ("e.html", "r.html"):
        assert "2 control rows" in Path(page).read_text()
    assert run("verify", "e.json", "--release", "out.parquet")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*RELEASE[:-2], "--control", "in.parquet"), "pass --evidence evidence.json"),
        ((*RELEASE, "--control", "in.parquet"), "the control rows are in the original"),
        ((*RELEASE, "--control", "nowhere.parquet"), "nowhere.parquet"),
        ((*RELEASE, "--head", "titel=May"), "'titel=May' is not a text of a head"),
        ((*RELEASE, "--head", "title"), "write one of title, dataset"),
        ((*RELEASE[:-2], "--head", "title=May"), "pass --evidence evidence.json"),
    ],
)
def test_a_head_or_control_rows_without_a_page_or_wrong_ones_are_refused(here, run, words, message):  # noqa: F811
    code, _, err = run(*words)
    assert (code, message in err) == (2, True), err
    assert not Path("out.parquet").exists()


def test_another_release_does_not_match(evidence, run):
    for other, part in {"in.parquet": "release, guarantee", "less.parquet": "release"}.items():
        pdanon.to_parquet(pdanon.read_parquet("out.parquet").iloc[1:], "less.parquet")
        code, out, err = run("verify", "e.json", "--release", other)
        assert (code, err) == (1, "")
        assert f"do not match: {part}" in out


def test_lines_and_csv_are_verified_in_their_form(here, run):  # noqa: F811
    lines = [(person, item) for person in range(6) for item in ("tea", ["rice", "salt"][person % 2])]
    table = pd.DataFrame(lines, columns=["who", "what"]).assign(city="a")
    table.to_csv("lines.csv", index=False)
    form = ("--by", "who", "--item", "what")
    written = ("lines.csv", "out.csv", *form, "--keep", "city", "--join", "|", *KM, "--evidence", "e.html")
    assert run("anonymize", *written)[0] == 0
    code, out, _ = run(
        "verify", "e.json", "--release", "out.csv", "--separator", "|", "--original", "lines.csv", *form
    )
    assert (code, "original   matches: 6 rows, 2 columns" in out) == (0, True), out


def test_groups_are_verified_with_their_counts(here, run):  # noqa: F811
    words = ("in.parquet", "out.parquet", "--algorithm", "cahd", "-p", "2", "--sensitive", SALT)
    assert run("anonymize", *words, "--classes", "counts.parquet", "--evidence", "e.json")[0] == 0
    assert run("verify", "e.json", "--release", "out.parquet", "--classes", "counts.parquet")[0] == 0
    code, out, _ = run("verify", "e.json", "--release", "out.parquet")
    assert (code, "pass the classes of the release" in out) == (1, True)


WRONG = {
    "no evidence": ("verify", "in.parquet", "--release", "in.parquet"),
    "no file": ("verify", "nowhere.json", "--release", "in.parquet"),
    "no release": ("verify", "e.json", "--release", "nowhere.parquet"),
    "no separator": ("verify", "e.json", "--release", "in.csv"),
    "nothing to compare": ("verify", "e.json"),
    "another suffix": ("anonymize", "in.parquet", "new.parquet", *KM, "--evidence", "e.txt"),
    "a file that exists": ("anonymize", "in.parquet", "new.parquet", *KM, "--evidence", "e.json"),
    "its page": ("anonymize", "in.parquet", "new.parquet", *KM, "--evidence", "n.json", "--report", "n.html"),
    "a stream": ("anonymize", "in.parquet", "new.parquet", "--stream", *KM, "--evidence", "n.json"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(name, evidence, run):
    Path("in.csv").write_text(f"items\n{SECRET}\n")
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    code, out, err = run(*WRONG[name])
    assert (code, out) == (2, "")
    assert err.startswith("pdanon: error: ")
    assert SECRET not in err
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_both_files_appear_or_none(here, run, monkeypatch):  # noqa: F811
    before = sorted(Path().iterdir())

    def fail(evidence):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pdanon.evaluation.evidence.render", fail)
    assert run(*RELEASE)[0] == 2
    assert sorted(Path().iterdir()) == before
