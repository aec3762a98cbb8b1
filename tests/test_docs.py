"""Documentation: the commands it shows print what is shown, and nothing public is left out of it."""

import doctest
import inspect
import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest
from benchmarks.pages import TABLES
from families import ALGORITHMS, RT
from pages import names_of_the_reference

import pdanon
import pdanon.stream
from pdanon import errors
from pdanon.algorithms import registry
from pdanon.cli.main import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PAGES = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if "```console" in page.read_text(encoding="utf-8")
]


LONG = {"stream-tables", "survey"}  # whose commands take seconds


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG), id=page.stem) for page in PAGES],
)
def test_commands_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    checker = doctest.OutputChecker()
    for kind, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            Path(title).write_text(text)
        if kind != "console":
            continue
        for shown in re.split(r"^\$ pdanon ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, expected = shown.partition("\n")
            main(shlex.split(command))
            printed = capsys.readouterr()
            got = printed.out or printed.err
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert checker.check_output(expected, got, flags), f"$ pdanon {command}\n{got}"


def kept_and_looked_at(text):
    """The columns that a release keeps, and those of which the risk is shown, in the code of a page."""
    text = "".join(block for _, _, block in BLOCK.findall(text)) or text.replace('\\"', '"')
    text = text.replace("\\\n", " ")
    listed = r"\[([^\]]+)\]"
    keep = re.findall(rf"^(?!.*(?:from_long|\.by\()).*\bkeep ?= ?{listed}", text, re.MULTILINE)
    keep += re.findall(r"\.keep\(([^)]+)\)", text)
    keep += re.findall(r"^\$ pdanon (?!profile).*--keep ((?:\w+ ?)+)", text, re.MULTILINE)
    quasi = re.findall(rf"risk\(.*quasi={listed}", text)
    quasi += re.findall(r"^\$ pdanon risk .*--quasi ((?:\w+ ?)+)", text, re.MULTILINE)
    return [{name for each in found for name in re.findall(r"\w+", each)} for found in (keep, quasi)]


@pytest.mark.parametrize(
    "page",
    ["README.md", *sorted(ROOT.glob("docs/**/*.md")), *ROOT.glob("examples/*.ipynb"), "examples/policy.toml"],
    ids=lambda page: Path(page).name,
)
def test_a_column_is_kept_only_where_the_risk_with_it_is_shown(page):
    """`keep` silences a warning and protects nothing: no page shows it without a look at the risk.

    Of persons with several rows, taken by person, it is audited.
    """
    keep, quasi = kept_and_looked_at((ROOT / page).read_text(encoding="utf-8"))
    assert keep - {"index"} <= quasi  # by which releases are linked


@pytest.mark.slow
def test_what_the_survey_says_of_its_municipalities(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "recipes" / "survey.md").read_text(encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    ((_, _, policy),) = [block for block in BLOCK.findall(text) if block[1] == "policy.toml"]
    protected = '"age", "sex", "municipality"]'
    assert protected in policy
    for role in ("drop", "keep"):
        changed = policy.replace(protected, f'"age", "sex"]\n{role} = ["municipality"]').replace("ages", role)
        Path(f"{role}.toml").write_text(changed)
        assert main(["run", f"{role}.toml"]) == 0
        assert "changed    15.1 % of" in capsys.readouterr().out
    assert "only 15.1 % of the answers change" in " ".join(text.split())
    kept = pdanon.read_csv("keep.csv", column="means of transport", separator="|")
    risk = kept.txanon.risk(k=5, m=2, quasi=["age", "sex", "municipality"])
    assert f"for {risk.loc[2, 'below_k']:.1%} of".replace("%", " %") in " ".join(text.split())


PRINTED = ["README", "release", "anonymize", "guide", "k_and_m", "command-line", "policy", "accept"]
PRINTED += [f"recipes/{name}" for name in ("hospital", "shop", "survey")]
# Of runs that are not shown: of other tests, or of a policy that is changed.
NOT_PRINTED = {"README": {"35"}, "recipes/survey": {"15.1", "31.7"}, "policy": {"29"}}


@pytest.mark.parametrize("page", PRINTED)
def test_percentages_in_sentences_are_printed_on_the_page(page):
    text = (ROOT / ("" if page == "README" else "docs") / f"{page}.md").read_text(encoding="utf-8")
    blocks = "\n".join(block for _, _, block in BLOCK.findall(text))
    sentences = re.sub(r"<!-- (\S+) -->.*?<!-- /\1 -->|^\|.*?$", "", BLOCK.sub("", text), flags=re.S | re.M)
    numbers = [float(each) for each in re.findall(r"\b\d+(?:\.\d+)?\b", blocks)]
    percents = [float(each) for each in re.findall(r"\b(\d+(?:\.\d+)?) ?%", blocks)]
    percents += [100 * number for number in numbers if number <= 1]
    for said in set(re.findall(r"\b(\d+(?:\.\d+)?) %", sentences)) - NOT_PRINTED.get(page, set()):
        step = 10.0 ** -len(said.partition(".")[2])
        assert any(abs(float(said) - each) <= step / 2 + 1e-9 for each in percents), said


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_a_page_with_code_shows_it_soon(page):
    """In two screens, or not much more: the first that can be tried."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = [n for n, line in enumerate(lines) if line.startswith((">>> ", "$ pdanon "))][:1]
    assert first <= [60]


def test_the_first_release_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = [text for kind, _, text in blocks if kind == "sh"]
    shown = [text for kind, _, text in blocks if kind == "text"]
    assert main(shlex.split(commands[0].partition("pdanon ")[2].replace("\\\n", ""))) == 0
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # seconds differ
    assert len(shown) == 1
    assert doctest.OutputChecker().check_output(shown[0], printed := capsys.readouterr().out, flags), printed


def test_the_reference_has_every_public_name():
    """An algorithm at the end of its page; all else on pages that docs/api.md lists."""
    with_page = {*ALGORITHMS, *RT}
    pages = (ROOT / "docs" / "algorithms").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = re.findall(r"^::: pdanon\.(\w+)$", text, re.MULTILINE)
    assert sorted(found) == sorted(with_page), (
        "a line `::: pdanon.<name>` belongs in docs/algorithms/<name>.md"
    )
    listed = [name for name in names_of_the_reference() if "." not in name]
    assert sorted(listed) == sorted(pdanon.__all__), "a line for each name belongs in docs/api.md"


def test_pages_of_the_reference_differ_by_more_than_case():
    """A file system may take them for one."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    pages = {*re.findall(r"\(reference/([\w.]+)\.md", text)}
    assert len(pages) > 100
    assert len({page.lower() for page in pages}) == len(pages)


def test_errors_and_warnings_have_public_names():
    classes = [name for name in errors.__all__ if inspect.isclass(getattr(errors, name))]
    assert len(classes) > 10
    assert {*classes} <= {*pdanon.__all__}


def test_the_reference_says_which_functions_are_methods_of_which_accessor():
    """Its table, of every function, beside the accessors and the functions for files themselves."""
    dask = pytest.importorskip("pdanon.dask")
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (.+?)" + r" \| (yes|no)\b[^|]*" * 3 + r"\|$", reference, re.MULTILINE)
    assert len(lines) == 13
    said = {}
    for names, *places in lines:
        algorithms = names.startswith("all [algorithms]")
        listed = registry.ALGORITHMS if algorithms else re.findall(r"`(\w+)`", names)
        assert said.keys().isdisjoint(listed)
        said |= dict.fromkeys(listed, tuple(place == "yes" for place in places))
    functions = {name for name in pdanon.__all__ if inspect.isfunction(getattr(pdanon, name))}
    functions |= registry.ALGORITHMS.keys()
    accessors = (pdanon.accessors.TxanonAccessor, dask.TxanonAccessor)
    found = [{name for name in vars(each) if not name.startswith("_")} for each in accessors]
    found.insert(1, {*pdanon.stream.__all__} - {"ByPerson", "Streamed"} | registry.ALGORITHMS.keys())
    assert said == {name: tuple(name in each for each in found) for name in functions}
    assert set().union(*found) == {name for name, places in said.items() if any(places)}


def test_a_page_on_an_algorithm_is_read_in_minutes():
    pages = {*(ROOT / "docs" / "algorithms").glob("*.md")} - {ROOT / "docs" / "algorithms" / "index.md"}
    assert len(pages) > 10
    texts = {page.name: page.read_text(encoding="utf-8").partition("\n## Reference")[0] for page in pages}
    assert [name for name, text in texts.items() if len(text.split()) > 600] == []


LINK = re.compile(r"\]\(([^)#]+)")
TO_FILES = re.compile(r"\]\((?!https:)([^)#]+)")


def test_links_of_the_readme_lead_somewhere():
    links = TO_FILES.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 40
    assert [link for link in links if not (ROOT / link).exists()] == []
    packed = {*PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "LICENSE"}
    assert {Path(link).parts[0] for link in links} <= packed


def test_an_index_page_has_no_links_that_end_nowhere():
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    (rule,) = hook["substitutions"]
    text = (ROOT / hook["fragments"][0]["path"]).read_text(encoding="utf-8")
    shown = re.sub(rule["pattern"], rule["replacement"], text)
    assert [link for link in LINK.findall(shown) if not link.startswith("https:")] == []
    assert "![" not in shown
    assert "The guide continues from here" in shown


def test_the_readme_says_what_the_project_needs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = PROJECT["project"]
    python = project["requires-python"].removeprefix(">=")
    (pandas,) = (each.removeprefix("pandas>=") for each in project["dependencies"] if "pandas" in each)
    assert f"\nPython {python} or later · pandas {pandas} or later · typed" in text
    assert f"[{project['license'].replace('-', ' ')}](LICENSE)" in text
    assert "Typing :: Typed" in project["classifiers"]
    assert (ROOT / "pdanon" / "py.typed").is_file()


def test_the_picture_shows_the_figures_of_today():
    script = runpy.run_path(str(ROOT / "docs" / "scripts" / "picture.py"))
    assert script["picture"]() == script["PICTURE"].read_text(encoding="utf-8")


def test_scripts_find_the_sections_that_they_write():
    scripts = [*(ROOT / "docs" / "scripts").glob("*.py")]
    scripts += [ROOT / "tests" / "benchmarks" / f"{name}.py" for name in ("__main__", "scaling")]
    asked = []
    for script in scripts:
        text = script.read_text(encoding="utf-8").replace("(PAGE,", '("speed/benchmarks.md",')
        asked += re.findall(r'write_section\("(\S+)", "(\S+)"', text)
    there = []
    for page in TABLES.rglob("*.md"):
        names = re.findall(r"<!-- /(\S+) -->", page.read_text(encoding="utf-8"))
        there += [(page.relative_to(TABLES).as_posix(), name) for name in names]
    assert sorted(asked) == sorted(there)


def test_the_gallery_shows_every_picture():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((\S+)\)", text)
    drawn = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*/*.svg")]
    assert sorted(shown) == sorted(drawn)
    scripts = re.findall(r"`python (docs/scripts/\w+\.py)", text)
    assert [script for script in scripts if not (ROOT / script).exists()] == []


def anchors(page):
    """What links to a page can end with: its headings."""
    headings = re.findall(r"^#+ (.+?)(?: \{ #(\S+) \})?$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {anchor or re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title, anchor in headings}


def test_links_between_pages_and_tables_lead_somewhere():
    """The site names the tables instead of links to them, so that MkDocs does not check these."""
    pages = [*(ROOT / "docs").rglob("*.md"), *TABLES.rglob("*.md")]
    links = [
        (page, link)
        for page in pages
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if TABLES in page.parents or "/tables/" in link
    ]
    assert len(links) > 100
    broken = []
    for page, link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append((page.name, link))
    assert broken == []
    linked = {
        (page.parent / link.partition("#")[0]).resolve() for page, link in links if TABLES not in page.parents
    }
    assert {*TABLES.rglob("*.md")} <= linked
