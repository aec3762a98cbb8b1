"""Each exported function of a kernel is compared with a naive twin, or is listed with the reason."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import pdanon
from pdanon._kernels import _compiled

KERNELS = _compiled.kernels(Path(pdanon.__file__).parent / "_kernels")

# Work space of kernels, and flags: functions with a twin use each of them.
NO_TWIN = {
    "chunks.Terms": "terms of Clusters",
    "cuts.Space": "work space of the searches for cuts",
    "inferences.Path": "work space of Inferences",
    "inferences.Stack": "work space of Inferences",
    "itemset_search.Lists": "itemsets found by RareSearch, MoleSearch, Breaches and Packing",
    "itemset_search.Nodes": "work space of RareSearch and find_threats",
    "set_moves.wake": "clears flags; relocate calls it",
}


def exported(name):
    """Return the functions and classes that a kernel defines, without imported ones."""
    module = import_module(f"pdanon._kernels.{name}")
    found = {each for each, value in vars(module).items() if callable(value) and not each.startswith("_")}
    return {each for each in found if getattr(module, each).__module__ == module.__name__}


@cache
def used():
    """Return the names ``kernel.function`` used in the tests of this directory."""
    files = [path for path in Path(__file__).parent.glob("*.py") if path != Path(__file__)]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    attributes = [
        node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    found = {f"{node.value.id}.{node.attr}" for node in attributes}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pdanon._kernels."):
            found |= {f"{node.module.rpartition('.')[2]}.{each.name}" for each in node.names}
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_exported_functions_have_a_twin(name):
    names = {f"{name}.{each}" for each in exported(name)}
    assert names or name.startswith("_")
    assert names - used() == {each for each in NO_TWIN if each.startswith(f"{name}.")}
