"""The site of the documentation: what is found by its search, how signatures are shown, what is loaded."""

from __future__ import annotations

import ast
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow

# What somebody types who is new here, and a page that answers it.
LOOKED_FOR = {
    "one-hot": "faq.html",
    "explode": "faq.html",
    "claims": "faq.html",
    "OMOP": "forms.html",
    "FHIR": "forms.html",
    "polars": "forms.html",
    "DuckDB": "forms.html",
    "Spark": "faq.html",
    "GDPR": "faq.html",
    "HIPAA": "faq.html",
    "k": "faq.html",
    "m": "faq.html",
    "NCP": "loss.html",
    "hierarchy": "hierarchies.html",
    "report": "report.html",
    "policy": "policy.html",
    "l-diversity": "guarantees.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The directory of the site: the one that PDANON_SITE names, or a new one."""
    if made := os.environ.get("PDANON_SITE"):
        return ROOT / made
    for needed in ("mkdocs", "material", "mkdocstrings", "ruff"):
        pytest.importorskip(needed)
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(built)]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return built


@pytest.fixture(scope="module")
def sections(site):
    """Page, title and words of each section that the search knows."""
    known = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    separator = re.compile(known["config"]["separator"])

    def words(text):
        plain = html.unescape(re.sub(r"<[^>]+>", "", text))
        return {word.strip(".?") for word in separator.split(plain.lower())}

    return [
        (each["location"].split("#")[0], words(each["title"]), words(each["title"] + " " + each["text"]))
        for each in known["docs"]
    ]


@pytest.mark.parametrize("asked", LOOKED_FOR)
def test_the_search_finds(asked, sections):
    wanted = set(asked.lower().split("-"))
    assert LOOKED_FOR[asked] in {page for page, _, words in sections if wanted <= words}


def test_nothing_else_is_found_by_its_title(sections):
    assert [page for page, _, words in sections if "blockchain" in words] == []
    assert {page for page, title, _ in sections if {"gdpr", "hipaa"} <= title} == {"faq.html"}


def test_signatures_have_a_parameter_a_line(site):
    page = (site / "reference" / "anonymize.html").read_text(encoding="utf-8")
    code = re.search(r'<code><span class="nf">anonymize</span>.*?</code>', page, re.DOTALL)
    lines = html.unescape(re.sub(r"<[^>]+>", "", code[0])).splitlines()
    assert lines[:2] == ["anonymize(", "    frame: DataFrame,"]
    assert lines[-1] == ") -> Anonymized"


def test_nothing_is_loaded_from_other_hosts(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'(?:src|<link[^>]*href)="https?:[^"]*"', text) == [], page.name


def test_what_the_button_copies_is_code(site):
    """Prompts and what was printed are marked, and the style hides what is marked while it is copied."""
    style = " ".join((site / "assets" / "site.css").read_text(encoding="utf-8").split())
    assert "[data-md-copying] .gp, [data-md-copying] .go { display: none; }" in style
    pages = [site / f"{name}.html" for name in ("guide", "prepare", "k_and_m", "release", "later")]
    page = "".join(each.read_text(encoding="utf-8") for each in pages)
    blocks = re.findall(r'<pre><span></span><code>(<span class="gp">.*?)</code>', page, re.DOTALL)
    assert len(blocks) > 20
    for block in blocks:
        copied = re.sub(r'<span class="g[po]">.*?</span>', "", block, flags=re.DOTALL)
        ast.parse(html.unescape(re.sub(r"<[^>]+>", "", copied)))
