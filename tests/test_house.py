"""The house: what is in the root, who imports whom, and how long a file is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pdanon

PACKAGE = Path(pdanon.__file__).parent
ROOT = [
    *("__init__.py", "__main__.py", "_kernels", "accessors.py", "algorithms", "cli", "dask", "errors.py"),
    *("evaluation", "guarantees", "hierarchy", "io", "itemsets", "recoding", "stream"),
]
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 800


def name_of(file):
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in FILES}


@cache
def imports_of(file):
    """The modules of the package that a file imports, in functions and for types alone, too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative"
            module = node.module.removeprefix("cython.cimports.")  # compiled code that a kernel calls
            names = {each: f"{module}.{each.name}" for each in node.names}
            found |= {name if name in MODULES else module for name in names.values()}
    return found & set(MODULES)


def circles(arrows):
    """Modules that are reached again from where they lead: what is left when all ends were taken away."""
    arrows = {module: set(targets) - {module} for module, targets in arrows.items()}
    while ends := [module for module, targets in arrows.items() if not targets & set(arrows)]:
        for module in ends:
            del arrows[module]
    return sorted(arrows)


def test_the_root_holds_these_entries_and_no_others():
    entries = {entry.name for entry in PACKAGE.iterdir()} - {"__pycache__", "py.typed"}
    assert sorted(entries) == sorted(ROOT)


def test_nothing_imports_in_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["a", "b", "c", "d"]
    assert circles({module: imports_of(file) for module, file in MODULES.items()}) == []


def test_nothing_inside_imports_the_package_as_a_whole():
    inside = {module: file for module, file in MODULES.items() if module not in ("pdanon", "pdanon.__main__")}
    assert [module for module, file in inside.items() if "pdanon" in imports_of(file)] == []


def test_no_file_is_long():
    lengths = {name_of(file): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_all_random_numbers_come_from_one_function():
    """A call without a seed draws the same in every process. Secret keys are no such numbers."""
    draws = re.compile(r"(?<!`)\bdefault_rng\(|np\.random\.(seed|rand|choice)|^(import|from) random\b", re.M)
    making = [name for name, file in MODULES.items() if draws.search(file.read_text(encoding="utf-8"))]
    assert making == ["pdanon.itemsets.validation"]


def test_a_package_says_what_it_is_for_and_what_it_shows():
    for file in FILES:
        if file.name == "__init__.py":
            tree = ast.parse(file.read_text(encoding="utf-8"))
            targets = [
                target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
            ]
            targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
            assert ast.get_docstring(tree), file
            assert "__all__" in {getattr(target, "id", None) for target in targets}, file


def test_the_package_shows_its_public_names_alone():
    assert sorted(dir(pdanon)) == sorted([*pdanon.__all__, "__version__"])


def test_guarantees_reach_no_code_that_decides():
    """An audit shares no code with what it audits."""
    reached, waiting = set(), [module for module in MODULES if module.startswith("pdanon.guarantees")]
    assert "pdanon.guarantees.km" in waiting
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += imports_of(MODULES[module])
    assert "pdanon._kernels.counting" in reached
    assert [module for module in reached if module.startswith("pdanon.algorithms")] == []
    counting = {"counting", "itemset_search", "exposure", "inferences"}
    kernels = {module for module in reached if module.startswith("pdanon._kernels.")}
    assert kernels - {"pdanon._kernels._compiled"} == {f"pdanon._kernels.{name}" for name in counting}
