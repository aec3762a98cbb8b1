"""Releases in chunks on the command line: audited as what they are, in Parquet and CSV."""

from __future__ import annotations

import pandas as pd
import pytest
from commands import CSV, RICE, SALT, TEA, here  # noqa: F401 (`here` acts on every test)

import pdanon
from pdanon.io.parquet import read_parquet, to_parquet

ROWS = [[RICE, TEA], [RICE, TEA], [RICE, SALT], [SALT, TEA], [SALT], [RICE], [TEA, SALT], [RICE, TEA]]
ASKED = ("-k", "2", "-m", "2")


@pytest.fixture
def parts(run):
    """A release in chunks, as Parquet and as CSV."""
    frame = pd.DataFrame({"items": ROWS})
    to_parquet(frame, "rows.parquet")
    for target in ("parts.parquet", "parts.csv"):
        assert run("anonymize", "rows.parquet", target, "--algorithm", "disassociate", *ASKED, *CSV)[0] == 0
    return frame.txanon.disassociate(k=2, m=2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("source", ["parts.parquet", "parts.csv"])
@pytest.mark.parametrize(
    ("asked", "guarantee"),
    [
        (ASKED, pdanon.DisassociatedKm(k=2, m=2)),
        (("-k", "4", "-m", "all"), pdanon.DisassociatedKm(k=4, m=None)),
        ((*ASKED, "--safe"), pdanon.DisassociatedKm(k=2, m=2, safe=True)),
    ],
)
def test_the_audit_is_that_of_the_guarantee(run, parts, source, asked, guarantee):
    expected = parts.frame.txanon.audit(guarantee)
    code, out, err = run("audit", source, "--chunks", *asked, *CSV, "--threats", "threats.parquet")
    assert (code, err) == (int(not expected.holds), "")
    assert f"  guarantee  {guarantee!r}" in out.splitlines()
    assert f"  at risk    {expected.rows_at_risk} records" in out.splitlines()
    assert read_parquet("threats.parquet")["why"].tolist() == expected.threats["why"].tolist()


def test_the_clusters_are_written_where_a_file_is_named(run, parts):
    asked = ("anonymize", "rows.parquet", "again.parquet", "--algorithm", "disassociate", *ASKED)
    code, out, err = run(*asked, "--classes", "clusters.parquet")
    assert (code, err) == (0, "")
    assert "  classes    clusters.parquet" in out.splitlines()
    pd.testing.assert_frame_equal(read_parquet("clusters.parquet"), parts.published["classes"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_evidence_matches_the_clusters_of_either_form(run, parts, suffix):
    asked = ("anonymize", "rows.parquet", "again.parquet", "--algorithm", "disassociate", *ASKED)
    classes = ("--classes", f"clusters.{suffix}")
    assert run(*asked, *classes, "--evidence", "evidence.json")[0] == 0
    code, out, err = run("verify", "evidence.json", "--release", "again.parquet", *classes)
    assert (code, err) == (0, "")
    assert "classes    matches" in out


def test_one_of_them_holds_and_another_does_not(parts):
    assert parts.frame.txanon.audit(pdanon.DisassociatedKm(k=2, m=2)).holds
    assert not parts.frame.txanon.audit(pdanon.DisassociatedKm(k=4, m=None)).holds


def test_a_release_that_was_altered_does_not_hold(run, parts):
    alone = parts.frame["chunk"].gt(0).idxmax()
    to_parquet(parts.frame.drop(index=alone), "altered.parquet")
    code, out, _ = run("audit", "altered.parquet", "--chunks", *ASKED)
    assert (code, "verdict    does not hold" in out) == (1, True)


def test_records_and_parts_are_counted(run, parts):
    of = f"{len(ROWS)} records in {len(parts.frame)} parts"
    _, out, err = run("audit", "parts.parquet", "--chunks", *ASKED)
    assert (out.splitlines()[0], err) == (f"Audit: {of}", "")
    frame = pd.DataFrame({"items": ROWS, "store": "north"})
    to_parquet(frame, "stores.parquet")
    asked = ("--algorithm", "disassociate", *ASKED)
    _, out, err = run("anonymize", "stores.parquet", "again.parquet", *asked, "--keep", "store")
    assert out.splitlines()[0] == f"Anonymized: {of}, disassociate"
    assert "disassociate publishes no other column" in err
    assert run("anonymize", "stores.parquet", "third.parquet", *asked)[2] == ""


@pytest.mark.parametrize("command", [("risk", "-k", "2"), ("profile",)])
def test_parts_are_not_taken_for_people(run, parts, command):
    code, _, err = run(command[0], "parts.parquet", *command[1:])
    assert (code, "the rows of a release in chunks are no records" in err) == (2, True)
    assert "pdanon.reconstruct" in err


@pytest.mark.parametrize("read", [(), ("--stream",)])
def test_who_audits_it_as_rows_is_told_how_it_is_audited(run, parts, read):
    _, out, err = run("audit", "parts.parquet", *ASKED, *read)
    assert "KmAnonymity(k=2, m=2)" in out
    assert "disassociate: audit it with --chunks" in err
    assert run("audit", "rows.parquet", *ASKED, *read)[2] == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rows.parquet", "--chunks", *ASKED), "no frame of chunks"),
        (("parts.parquet", "--chunks"), "-k is needed"),
        (("parts.parquet", "--safe", *ASKED), "--safe goes with --chunks"),
        (("parts.parquet", "--chunks", "--stream", *ASKED), "--chunks goes with -k, -m and --safe alone"),
        (("parts.parquet", "--chunks", "--quasi", "size", *ASKED), "--chunks goes with -k, -m and --safe"),
    ],
)
def test_what_does_not_go_together_is_refused(run, parts, words, message):
    code, out, err = run("audit", *words)
    assert (code, out) == (2, "")
    assert message in err
