"""Series of releases on the command line: audits with earlier releases, and releases that start from one."""

from __future__ import annotations

import random
import stat
from hashlib import algorithms_guaranteed, new
from pathlib import Path

import pandas as pd
import pytest
from conftest import SECRET, rows_of
from naive import series as naive

import pdanon


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Two tables of the same persons, in different orders."""
    rows = [["rice", "tea"], ["rice", "tea"], ["salt"], ["salt"], ["rice"], ["rice"]]
    frame = pd.DataFrame({"id": range(6), "items": rows})
    pdanon.to_parquet(frame, tmp_path / "january.parquet")
    pdanon.to_parquet(frame.iloc[[5, 0, 1, 2, 3, 4]].reset_index(drop=True), tmp_path / "february.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_audit_with_earlier_releases(run, directory):
    audit = "audit", "february.parquet", "-k", "2", "-m", "2", "--column", "items"
    code, out, _ = run(*audit, "--previous", "january.parquet", "--key", "id")
    assert code == 0
    assert "spans      0 of 3 with rows at risk, linked by 'id'" in out
    code, out, err = run(*audit, "--previous", "january.parquet")
    assert (code, out) == (2, "")
    assert "order links nobody" in err
    code, _, err = run(*audit, "--key", "id")
    assert code == 2
    assert "--key goes with --previous" in err
    code, _, err = run(*audit, "--stream", "--previous", "january.parquet")
    assert code == 2
    assert "neither --stream nor --chunks" in err


def test_a_release_that_starts_from_another(run, directory):
    release = "anonymize", "january.parquet", "first.parquet", "-k", "3", "-m", "2", "--algorithm", "pcta"
    assert run(*release, "--mapping", "mapping.csv", "--keep", "id")[0] == 0
    sets = pd.read_csv("mapping.csv").groupby("generalized")["item"].agg(set)
    assert max(map(len, sets)) > 1
    release = "anonymize", "february.parquet", "second.parquet", "-k", "3", "-m", "2", "--algorithm", "pcta"
    assert run(*release, "--mapping", "grown.csv", "--start", "mapping.csv", "--keep", "id")[0] == 0
    grown = pd.read_csv("grown.csv").groupby("generalized")["item"].agg(set)
    assert all(any(one <= other for other in grown) for one in sets)
    audit = "audit", "second.parquet", "-k", "2", "-m", "2", "--mapping", "grown.csv"
    assert run(*audit, "--previous", "first.parquet", "--key", "id")[0] == 0


def test_a_policy_starts_from_a_mapping(run, directory):
    """The sets of the mapping stay, in the release and in a comparison."""
    mapping = pd.DataFrame({"group": 0, "item": ["rice", "tea", "salt"], "generalized": ["x", "y", "x"]})
    mapping.to_csv("mapping.csv", index=False)
    head = (
        'algorithm = "pcta"\nparameters = {k = 2, m = 2, start = "mapping.csv"}\n[columns]\nkeep = ["id"]\n'
    )
    compared = '[compare.algorithms.pcta]\nk = 2\nstart = "mapping.csv"\n'
    compared += '[compare.algorithms.fresh]\nalgorithm = "pcta"\nk = 2\n'
    files = 'file = "january.parquet"\n[outputs]\nrelease = "out.parquet"\nmapping = "grown.csv"\n'
    Path("policy.toml").write_text(f"{head}[input]\n{files}{compared}")
    policy = pdanon.Policy.from_toml("policy.toml")
    result = policy.run()
    assert [sorted(items) for _, items in result.mapping.groupby("generalized")["item"]] == [
        ["rice", "salt"],
        ["tea"],
    ]
    table = policy.compare()
    assert table["NCP"].tolist() == [result.loss["NCP"], 0]


# --- Links: who is in which row of a release that has no column of persons

K_AND_M = ("-k", "2", "-m", "2", "--algorithm", "pcta")
LINES = ("--by", "customer", "--item", "items")
LINKED = (*K_AND_M, *LINES)


def write_lines(path, persons, seed):
    """Write lines of products of persons, in a random order of the persons, and return this order."""
    draw, order = random.Random(seed), random.Random(f"order {seed}").sample(persons, len(persons))
    bought = {person: draw.sample("abcdef", draw.randint(1, 3)) for person in sorted(persons)}
    lines = [f"{person},{item},7" for person in order for item in bought[person]]
    Path(path).write_text("\n".join(["customer,items,amount", *lines, ""]))
    return order


@pytest.fixture
def released(run, tmp_path, monkeypatch):
    """Two releases with links, and the persons of their rows."""
    monkeypatch.chdir(tmp_path)
    persons = [f"{SECRET}{n:02}" for n in range(40)]
    orders = {}
    for month, there in {"january": persons[:30], "february": persons[10:]}.items():
        orders[month] = write_lines(f"{month}.csv", there, month)
        files = f"{month}.csv", f"{month}.parquet", "--links", f"{month}-links.parquet"
        code, out, _ = run("anonymize", *files, "--secret", "series.key", *LINKED)
        assert code == 0
        assert f"links      {month}-links.parquet" in out
        assert ("secret     series.key" in out) == (month == "january")
    return orders


def at_risk(out):
    return int(out.partition("at risk")[2].split()[0])


def audit_of(newest, *links, k=2):
    audit = "audit", f"{newest}.parquet", "-k", str(k), "-m", "2", "--previous", "january.parquet"
    return (*audit, *(["--links"] if links else []), *(f"{each}-links.parquet" for each in links))


def test_links_give_the_verdict_of_the_persons(run, released):
    frames = [pdanon.read_parquet(f"{month}.parquet") for month in released]
    releases = [
        dict(zip(order, map(frozenset, rows_of(frame)), strict=True))
        for order, frame in zip(released.values(), frames, strict=True)
    ]
    labels = [{label for row in each.values() for label in row} for each in releases]
    mappings = [{item: label for label in each for item in label.strip("()").split(",")} for each in labels]
    numbers = []
    for k in (2, 5, 9):
        exposed = [naive.km_audit(releases, mappings, span, k, 2)[1] for span in naive.spans_of(2)]
        code, out, _ = run(*audit_of("february", "january", "february", k=k))
        numbers.append(at_risk(out))
        assert numbers[-1] == len(set().union(*exposed))
        assert code == bool(numbers[-1])
        assert "linked by key" in out
    assert len({*numbers}) > 1


def test_links_in_csv_are_those_in_parquet(run, released):
    expected = run(*audit_of("february", "january", "february"))
    links = [f"{month}-links.parquet" for month in ("january", "february")]
    for path in links:
        pd.read_parquet(path).to_csv(path.replace("parquet", "csv"), index=False)
    asked = [
        each.replace("links.parquet", "links.csv") for each in audit_of("february", "january", "february")
    ]
    assert run(*asked)[:2] == expected[:2]


def test_a_shuffled_table_has_the_same_verdict_and_no_key_has_none(run, released):
    lines = pd.read_csv("february.csv", dtype=str).sample(frac=1, random_state=0)
    lines.to_csv("shuffled.csv", index=False)
    pdanon.to_parquet(lines, "typed.parquet")
    for source in ("shuffled.csv", "typed.parquet"):
        files = source, "again.parquet", "--links", "again-links.parquet", "--secret", "series.key"
        assert run("anonymize", *files, *LINKED, "--overwrite")[0] == 0
        assert rows_of(pdanon.read_parquet("again.parquet")) != rows_of(
            pdanon.read_parquet("february.parquet")
        )
        results = [run(*audit_of(name, "january", name, k=5)) for name in ("february", "again")]
        assert at_risk(results[0][1]) == at_risk(results[1][1]) > 0
    code, out, err = run(*audit_of("again"))
    assert (code, out) == (2, "")
    assert "order links nobody" in err
    assert "--links" in err


def test_links_hold_nothing_of_a_person_and_the_release_nothing_of_the_links(released):
    for path in ("series.key", "january-links.parquet", "february-links.parquet"):
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    links = {month: pdanon.read_parquet(f"{month}-links.parquet") for month in released}
    text = "".join(links[month].to_csv() for month in released)
    assert SECRET not in text
    assert Path("series.key").read_text().strip() not in text
    names = [name for name in sorted(algorithms_guaranteed) if not name.startswith("shake")]
    for person in {*released["january"], *released["february"]}:
        for written in (person, f"{person}\n", f'["{person}"]'):
            assert not any(new(name, written.encode()).hexdigest() in text for name in names)
    for month, table in links.items():
        assert list(table.columns) == ["person", "labels", "secret"]
        release = pdanon.read_parquet(f"{month}.parquet")
        assert list(release.columns) == ["items"]
        assert table["labels"].tolist() == [*map(len, release["items"])]
        content = Path(f"{month}.parquet").read_bytes()
        assert not any(link.encode() in content for link in [*table["person"], *table["secret"]])
    one, other = (dict(zip(released[each], links[each]["person"], strict=True)) for each in released)
    assert {person: one[person] for person in one.keys() & other} == {
        person: other[person] for person in one.keys() & other
    }
    assert len({*one.values()} | {*other.values()}) == len(one.keys() | other.keys())


def test_each_form_of_a_table_with_persons_has_the_same_links(run, tmp_path, monkeypatch):
    """Lines, lists and columns of ticks; persons of one or two columns, as texts or numbers."""
    monkeypatch.chdir(tmp_path)
    lists = pd.DataFrame(
        {"id": [7, 8, 7, 9], "no": ["1", "1", "1", "11"], "a": [[*"xy"], ["x"], ["y"], ["y"]]}
    )
    pdanon.to_parquet(lists, "lists.parquet")
    pdanon.to_parquet(lists.assign(id=lists["id"] * 1.0), "floats.parquet")
    lists.explode("a").to_csv("lines.csv", index=False)
    ticks = lists[["id", "no"]].assign(x=[1, 1, 0, 0], y=[1, 0, 1, 1])
    ticks.to_csv("ticks.csv", index=False)
    found = []
    forms = {
        "lists.parquet": (),
        "floats.parquet": (),
        "lines.csv": ("--item", "a"),
        "ticks.csv": ("--onehot", "--column", "a"),
    }
    for n, (source, form) in enumerate(forms.items()):
        for by in (["id"], ["id", "no"]):
            files = source, "out.csv", "--links", f"{n}.csv", "--secret", "k.key", "--separator", " "
            assert run("anonymize", *files, *K_AND_M, *form, "--by", *by, "--overwrite")[0] == 0
            found.append(pd.read_csv(f"{n}.csv")["person"].tolist())
            assert Path("out.csv").read_text().splitlines()[0].strip('"') == "a"
    assert found[0::2] == [found[0]] * len(forms)
    assert found[1::2] == [found[1]] * len(forms)
    assert not {*found[0]} & {*found[1]}
    assert len({*found[0]}) == 3
    pdanon.to_parquet(lists.assign(id=[b"\xff", b"a", b"\xff", b"b"]), "bytes.parquet")
    files = "bytes.parquet", "out.csv", "--links", "b.csv", "--secret", "k.key", "--separator", " "
    code, _, err = run("anonymize", *files, *K_AND_M, "--by", "id", "--overwrite")
    assert (code, "links need persons that have a text" in err) == (2, True)


def test_links_of_other_rows_or_secrets_are_refused(run, released):
    code, _, err = run(*audit_of("february", "february", "january"))
    assert (code, "links of other rows" in err) == (2, True)
    files = "february.csv", "other.parquet", "--links", "other-links.parquet", "--secret", "other.key"
    assert run("anonymize", *files, *LINKED)[0] == 0
    assert pdanon.read_parquet("other.parquet").equals(pdanon.read_parquet("february.parquet"))
    code, _, err = run(*audit_of("february", "january", "other"))
    assert (code, "several secret keys" in err) == (2, True)


def test_each_release_of_a_series_may_have_its_mapping(run, tmp_path, monkeypatch):
    """Short labels name no item. Without mappings, warnings are printed as others are."""
    monkeypatch.chdir(tmp_path)
    persons = [f"c{n:02}" for n in range(40)]
    known = {}
    for month, there in {"january": persons[:30], "february": persons[10:]}.items():
        known[month] = write_lines(f"{month}.csv", there, month)
        files = (
            f"{month}.csv",
            f"{month}.parquet",
            "--links",
            f"{month}-links.parquet",
            "--mapping",
            f"{month}-m.csv",
        )
        assert run("anonymize", *files, "--secret", "s.key", *LINKED, "--labels", "short")[0] == 0
    audit = audit_of("february", "january", "february", k=5)
    _, _, err = run(*audit)
    assert err.count("pdanon: warning: no label of") == 2
    assert "(--mapping for each release)" in err
    assert "Warning" not in err
    _, out, err = run(*audit, "--mapping", "january-m.csv", "--mapping", "february-m.csv")
    assert err == ""
    pairs = [
        (pdanon.read_parquet(f"{month}.parquet"), pd.read_csv(f"{month}-m.csv"))
        for month in ("january", "february")
    ]
    (frame, mapping), key = pairs[1], [*map(list, known.values())]
    expected = pdanon.after(frame, pairs[0], mapping=mapping, key=key).audit(k=5, m=2)
    assert at_risk(out) == expected.rows_at_risk


def test_a_policy_writes_the_same_links(run, released):
    policy = """
algorithm = "pcta"
parameters = { k = 2, m = 2 }
input = { file = "february.csv", by = "customer", item = "items" }
outputs = { release = "run.parquet", links = "run-links.parquet", secret = "series.key" }
"""
    Path("february.toml").write_text(policy)
    out = run("run", "february.toml", "--dry-run")[1]
    assert "reads      february.toml" in out
    assert "series.key" in out.partition("writes")[0]
    code, out, _ = run("run", "february.toml")
    assert code == 0
    assert "links      run-links.parquet" in out
    assert stat.S_IMODE(Path("run-links.parquet").stat().st_mode) == 0o600
    tables = [pdanon.read_parquet(f"{name}-links.parquet") for name in ("february", "run")]
    pd.testing.assert_frame_equal(*tables)
    Path("new.toml").write_text(policy.replace("series.key", "new.key").replace("run", "new"))
    assert run("run", "new.toml")[0] == 0
    assert stat.S_IMODE(Path("new.key").stat().st_mode) == 0o600
    assert not {*pdanon.read_parquet("new-links.parquet")["person"]} & {*tables[0]["person"]}
    loaded = pdanon.Policy.from_toml("february.toml")
    original = loaded.read()
    result = loaded.run(original)
    with pytest.raises(pdanon.ParameterError, match="links need the original"):
        loaded.write(result, overwrite=True)
    write_lines("february.csv", released["february"], 3)
    with pytest.raises(pdanon.ParameterError, match="links need the original"):
        loaded.write(result, original, overwrite=True)
    for old, new_text, words in (
        (', secret = "series.key"', "", "links and secret go together"),
        ('by = "customer"', 'unit = "customer"', "links and unit do not go together"),
        ('"pcta"', '"disassociate"', "parts of rows, which have no links"),
        ("series.key", "january.csv", "no secret key"),
    ):
        Path("bad.toml").write_text(policy.replace(old, new_text))
        code, _, err = run("run", "bad.toml", "--overwrite")
        assert (code, words in err) == (2, True), err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "anonymize january.csv new.parquet --links new-links.csv --by customer --item items",
            "go together",
        ),
        ("anonymize january.csv new.parquet --secret new.key --by customer --item items", "go together"),
        (
            "anonymize january.parquet new.parquet --links new-links.csv --secret new.key",
            "--links needs --by",
        ),
        (
            "anonymize january.csv new.csv --links l.csv --secret s.key --unit customer --item items",
            "--links and --unit do not go together",
        ),
        (
            "anonymize january.parquet new.parquet --links l.csv --secret s.key --stream --by a --item b",
            "--stream writes no links",
        ),
        (
            "anonymize january.csv n.parquet --links l.csv --secret january.csv --by customer --item items",
            "no secret key",
        ),
        (
            "anonymize january.csv n.csv --links s.key.csv --secret s.key.csv --by customer --item items "
            "--separator |",
            "name the same file",
        ),
        ("audit february.parquet --links january-links.parquet", "--links goes with --previous"),
        ("audit february.parquet --mapping a.csv --mapping b.csv", "several --mapping go with --previous"),
        (
            "audit february.parquet --previous january.parquet --links january-links.parquet",
            "1 for 2 releases",
        ),
        (
            "audit february.parquet --previous january.parquet --links a.csv b.csv --key id",
            "named twice",
        ),
        (
            "audit february.parquet --previous january.parquet --links january.csv january.csv",
            "lacks columns",
        ),
    ],
)
def test_wrong_links_are_explained(run, released, words, message):
    before = sorted(path.name for path in Path().iterdir())
    code, _, err = run(*words.split(), "-k", "2", "-m", "2")
    assert (code, message in err) == (2, True), err
    assert sorted(path.name for path in Path().iterdir()) == before
