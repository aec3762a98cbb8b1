"""What a stranger finds beside the code: how to report a defect, and who may do what in the checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pdanon

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
of_a_checkout = pytest.mark.skipif(not GITHUB.is_dir(), reason="this is no checkout")
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


FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if GITHUB.is_dir() else []


@of_a_checkout
def test_there_is_a_form_for_each_kind_of_report():
    assert [form.stem for form in FORMS] == ["broken-guarantee", "bug", "config", "idea"]
    assert yaml.safe_load(FORMS[2].read_text(encoding="utf-8")) == {"blank_issues_enabled": False}


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.stem != "config"], ids=lambda form: form.stem
)
def test_a_form_asks_for_no_rows_and_names_functions_that_exist(form):
    text = form.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert {"name", "description", "body"} <= content.keys()
    first = content["body"][0]
    assert first["type"] == "markdown"
    assert re.search(r"\*\*Never paste real rows", first["attributes"]["value"])
    ids = [part["id"] for part in content["body"][1:]]
    assert len({*ids}) == len(ids) > 0
    named = re.findall(r"pdanon\.([\w.]+)\(", text)
    assert {"datasets.like", "show_versions"} <= {*named}
    for name in named:
        found = pdanon
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found)
    assert ("SECURITY.md" in text) == (form.stem != "idea")
