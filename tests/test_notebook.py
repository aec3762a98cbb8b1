"""The notebooks of the examples run, from top to bottom, as they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def cells_of(notebook, kind):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_cells_run_in_order(notebook, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    monkeypatch.chdir(EXAMPLES)
    names = {}
    for cell in cells_of(notebook, "code"):
        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)
    pyplot.close("all")
    assert names["result"].holds
    assert names["table"]["holds"].all()
    assert names["table"].groupby("algorithm")["NCP"].apply(lambda losses: losses.iloc[0] < 1).all()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_outputs_are_shown_and_none_is_an_error(notebook):
    outputs = [output for cell in cells_of(notebook, "code") for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    assert "/tmp/" not in notebook.read_text(encoding="utf-8")
