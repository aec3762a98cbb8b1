"""Claims of the papers: verdicts follow from the measured tables, and the page states them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.pages import section

SCRIPTS = Path(__file__).parents[1] / "docs" / "scripts"
sys.path.append(str(SCRIPTS))

import paper_claims  # noqa: E402
import papers  # noqa: E402


@pytest.mark.parametrize("claim", paper_claims.CLAIMS, ids=lambda claim: f"{claim.paper}: {claim.text}")
def test_verdict_is_the_one_that_the_tables_give(claim):
    here, verdict = claim.check()
    assert verdict == claim.verdict, here
    assert verdict in (paper_claims.HOLDS, paper_claims.PART, paper_claims.NOT)
    assert (SCRIPTS / claim.script).exists()
    assert (verdict == paper_claims.HOLDS) == (not claim.reason), "what does not hold needs a reason"


def test_page_has_all_claims_with_the_figures_of_the_tables():
    assert section("papers/claims.md", "claims") == "\n".join(papers.page()).strip()


def test_changed_verdict_stops_the_page(monkeypatch):
    (first, *_) = paper_claims.CLAIMS
    others = {paper_claims.HOLDS, paper_claims.NOT} - {first.verdict}
    monkeypatch.setattr(papers, "CLAIMS", [type(first)(**{**vars(first), "verdict": others.pop()})])
    with pytest.raises(SystemExit, match="stated as"):
        papers.page()


def test_fingerprint_ignores_docstrings_and_sees_code(tmp_path):
    file = tmp_path / "a.py"
    codes = []
    for text in ('"""One."""\nx = 1\n', '"""Two."""\nx = 1  # a comment\n', '"""Two."""\nx = 2\n'):
        file.write_text(text)
        codes.append(papers._code_of(file))
    assert codes[0] == codes[1] != codes[2]
