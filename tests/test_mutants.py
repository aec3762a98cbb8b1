"""The faults of `tests.mutants` can still be applied."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from mutants.faults import ROOT, read_faults

FAULTS = read_faults()


def test_each_fault_replaces_one_text():
    counts = {fault.name: (ROOT / fault.file).read_text().count(fault.old) for fault in FAULTS}
    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.slow
def test_each_fault_is_a_program():
    for fault in FAULTS:
        text = (ROOT / fault.file).read_text().replace(fault.old, fault.new)
        assert fault.old != fault.new, fault.name
        if fault.file.endswith(".pxd"):  # which is no Python
            continue
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse((ROOT / fault.file).read_text())), fault.name


def test_names_are_unique():
    assert [name for name, count in Counter(fault.name for fault in FAULTS).items() if count > 1] == []
