"""The notebooks of the examples run, from top to bottom, and print what is stored in them."""

from __future__ import annotations

import ast
import doctest
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from pdanon.cli.main import main

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
COMMAND = "!{sys.executable} -m pdanon "  # works where the kernel has another PATH than the environment
README = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
INDEX = (EXAMPLES.parent / "docs" / "index.md").read_text(encoding="utf-8")


def cells_of(notebook, kind):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def shown_by(cell):
    """The text that is stored with a cell."""
    texts = [each.get("text") or each["data"]["text/plain"] for each in cell["outputs"]]
    return "".join(line for text in texts for line in text).strip()


def run(source, names, capsys):
    """What a cell prints, or the value of its last line, as a notebook shows it."""
    if source.startswith(COMMAND):
        main(shlex.split(source.removeprefix(COMMAND)))
        return capsys.readouterr().out.strip()
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "notebook", "exec"), names)
    value = last and eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    return (capsys.readouterr().out if value is None else repr(value)).strip()


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_cells_print_what_is_stored(notebook, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    names = {}
    checker = doctest.OutputChecker()
    for cell in cells_of(notebook, "code"):
        printed = run("".join(cell["source"]), names, capsys)
        expected = re.sub(r"^<Figure .*>$", "", shown_by(cell))
        expected = re.sub(r"^pdanon: .*\n", "", expected)  # on standard error, which Jupyter shows as well
        assert checker.check_output(expected, printed, doctest.NORMALIZE_WHITESPACE), printed
    pyplot.close("all")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_outputs_are_shown_and_none_is_an_error(notebook):
    outputs = [output for cell in cells_of(notebook, "code") for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data", "stream"}
    assert {output["name"] for output in outputs if output["output_type"] == "stream"} <= {"stdout"}
    text = notebook.read_text(encoding="utf-8")
    assert not re.search(r"/tmp/|/home/|\x1b|\\u001b", text)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_it_is_found_and_its_links_lead_somewhere(notebook):
    assert f"](examples/{notebook.name})" in README
    assert f"examples/{notebook.name}" in INDEX
    text = "".join(line for cell in cells_of(notebook, "markdown") for line in cell["source"])
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if not (EXAMPLES / link).exists()] == []
