"""Series of releases on the command line: audits with earlier releases, and releases that start from one."""

from __future__ import annotations

import pandas as pd
import pytest

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
    code, out, _ = run(*audit, "--previous", "january.parquet")
    assert code == 1  # linked by order, most persons are others in February
    assert "linked by order" in out
    code, _, err = run(*audit, "--key", "id")
    assert code == 2
    assert "--key goes with --previous" in err
    code, _, err = run(*audit, "--stream", "--previous", "january.parquet")
    assert code == 2
    assert "neither --stream nor --chunks" in err


def test_a_release_that_starts_from_another(run, directory):
    release = "anonymize", "january.parquet", "first.parquet", "-k", "2", "-m", "2", "--algorithm", "pcta"
    assert run(*release, "--mapping", "mapping.csv", "--reserve", "3", "--keep", "id")[0] == 0
    sets = pd.read_csv("mapping.csv").groupby("generalized")["item"].agg(set)
    assert max(map(len, sets)) > 1
    release = "anonymize", "february.parquet", "second.parquet", "-k", "2", "-m", "2", "--algorithm", "pcta"
    assert run(*release, "--mapping", "grown.csv", "--start", "mapping.csv", "--keep", "id")[0] == 0
    grown = pd.read_csv("grown.csv").groupby("generalized")["item"].agg(set)
    assert all(any(one <= other for other in grown) for one in sets)
    audit = "audit", "second.parquet", "-k", "2", "-m", "2", "--mapping", "grown.csv"
    assert run(*audit, "--previous", "first.parquet", "--key", "id")[0] == 0
