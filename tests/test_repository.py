"""What a stranger finds beside the code: how to report a defect, and who may do what in the checks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import pdanon

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


WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml")) if GITHUB.is_dir() else []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.stem)
def test_a_workflow_may_do_no_more_than_it_needs(workflow):
    text = workflow.read_text(encoding="utf-8")
    pinned = re.findall(r"\buses: *(.*)", text)  # to a commit: a tag can be moved to other code
    assert pinned
    assert [each for each in pinned if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", each)] == []
    content = yaml.safe_load(text)
    assert content["permissions"] == {}
    for name, job in content["jobs"].items():
        publishes = name == "publish"
        assert job["permissions"] == ({"id-token": "write"} if publishes else {"contents": "read"})
        assert not publishes or job["if"] is False  # until there is a project of an index
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@of_a_checkout
def test_each_push_runs_what_a_machine_runs():
    (check,) = (path for path in WORKFLOWS if path.stem == "check")
    content = yaml.safe_load(check.read_text(encoding="utf-8"))
    assert {"push", "pull_request"} <= content[True].keys()  # YAML reads the key "on" as true
    assert [step["run"] for step in content["jobs"]["run"]["steps"] if "run" in step] == [".ci/run"]
    (update,) = yaml.safe_load((GITHUB / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert update["package-ecosystem"] == "github-actions"


@of_a_checkout
def test_hooks_take_their_versions_from_the_environment():
    content = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [each["repo"] for each in content["repos"]] == ["local"]
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for hook in content["repos"][0]["hooks"]:
        assert hook["entry"].partition(" --")[0] in steps


def test_the_citation_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert [citation["version"], citation["license"]] == [project["version"], project["license"]]
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in project["authors"]]
    assert {"message", "title"} <= citation.keys()
    described = " ".join(" ".join((getattr(pdanon, name).__doc__ or "").split()) for name in pdanon.__all__)
    titles = [each["title"].lower() for each in citation["references"]]
    assert len(titles) == 6
    assert [title for title in titles if title not in described.lower()] == []


def test_an_ignored_check_has_a_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (block,) = re.findall(r"^\[tool\.repo-review\]\nignore = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    lines = block.splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r'(?: *"[A-Z]+\d+",)+  # .{10,}', line)] == []


@of_a_checkout
def test_the_recipe_of_conda_is_that_of_the_package():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, build = content["project"], content["build-system"]["requires"]
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["package"] == {name: project[name] for name in ("name", "version")}
    host, run = ({each.replace(" ", "") for each in recipe["requirements"][name]} for name in ("host", "run"))
    assert run == {*project["dependencies"], f"python{project['requires-python']}"}
    assert host == {*build, "python", "pip"}
    commands = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    about = {name: recipe["about"][name] for name in ("summary", "license", "license_file")}
    assert about == {
        "summary": project["description"],
        "license": project["license"],
        "license_file": project["license-files"][0],
    }
