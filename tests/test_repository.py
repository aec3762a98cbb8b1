"""What a stranger finds beside the code: how to report a defect, and who may do what in the checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_a_broken_guarantee_is_reported_in_private_and_without_rows():
    sections = re.findall(r"^## (.+)$", SECURITY, re.MULTILINE)
    assert sections == [
        *("What counts as a broken guarantee", "What does not count", "How to report it"),
        *("What happens then", "Supported versions"),
    ]
    assert "Do not open a public issue" in SECURITY
    assert "private vulnerability reporting" in SECURITY
    assert "**Never send real rows**" in SECURITY


@pytest.mark.parametrize("page", ["README.md", "docs/limits.md"])
def test_pages_lead_to_the_security_page(page):
    assert "SECURITY.md" in (ROOT / page).read_text(encoding="utf-8")


def test_no_address_is_made_up():
    """There is no public address of the project yet: nothing may claim one."""
    assert re.findall(r"https?://|\b[\w.+-]+@\w+\.\w+", SECURITY) == []


def test_links_of_the_security_page_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", SECURITY)
    assert len(links) > 1
    assert [link for link in links if not (ROOT / link).exists()] == []
