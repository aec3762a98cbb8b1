"""The page of costs has each public call that takes a table, and says whether its time is limited.

The docstring of an algorithm states its cost.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pdanon
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.evaluation.metrics import association_rules, equivalence_classes as classes, patterns

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "speed.md"
TABLES = {"frame", "original", "series"}


def public_calls():
    """Name and signature of what is public and takes a table."""
    functions = {name: getattr(pdanon, name) for name in pdanon.__all__}
    functions |= {f"Workload.{name}": getattr(pdanon.Workload, name) for name in vars(pdanon.Workload)}
    functions |= {each.__name__: each for each in (association_rules.frequent_itemsets, classes.class_sizes)}
    functions |= {name: getattr(patterns, name) for name in patterns.__all__}
    functions["class_measures"] = classes.class_measures
    functions |= {
        name: getattr(pdanon.constraints, name) for name in ("all_itemsets", "pgen", "pairs", "random")
    }
    functions["constraints.ps_rules"] = pdanon.constraints.ps_rules
    for name, function in functions.items():
        if (
            callable(function)
            and not inspect.isclass(function)
            and "_" not in (name[0], name.split(".")[-1][0])
        ):
            parameters = inspect.signature(function).parameters
            if TABLES & set(parameters) or name in ("compare", "Workload.from_frame"):
                yield name, parameters


def rows():
    """By call: what the page says of limits."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("{ #calls }")
    for line in section.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            for name in re.findall(r"`([\w.]+)`", cells[0]):
                yield name, cells[2]


def test_every_call_that_takes_a_table_is_on_the_page():
    listed = {name for name, _ in rows()}
    calls = {name for name, _ in public_calls()}
    assert calls - listed - ALGORITHMS.keys() == set(), "add a line to the table in docs/measured/speed.md"
    assert listed <= calls


def test_the_page_is_right_about_time_limits():
    said = dict(rows())
    for name, parameters in public_calls():
        if name in said:
            assert ("time_limit=" in said[name]) == ("time_limit" in parameters), name
