"""Texts of items are Arrow's or Python's: NumPy's lose NULs at the end, and are as wide as the longest."""

from __future__ import annotations

import ast
import tracemalloc
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of
from contract import ARGUMENTS, run as release
from families import RT

import pdanon
from pdanon import Coherence, KLm, KmAnonymity, LmDiversity, ParameterError, PublicK

NAMES = {"texts", "sensitive", "named", "vocabulary"}
MAKING = {"texts", "to_pylist"}
LONG = "x" * 1_200_000
ROWS = [[f"i{row}", f"i{row + 25}"] for row in range(25)] * 2
OWN = {"rum_bound": {"delta": 1.0}, "tum_bound": {"delta": 1.0}, "rfirst": {}, "tfirst": {"parts": 1}}


# --- no call of NumPy is given texts


def is_text(node):
    """Whether an argument is texts, as far as its name tells."""
    name = getattr(node, "attr", getattr(node, "id", None))
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", None))
        return called in MAKING or (called in {"list", "sorted"} and any(map(is_text, node.args)))
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(map(is_text, node.elts))
    return name in NAMES or (isinstance(node, (ast.Subscript, ast.Starred)) and is_text(node.value))


def texts_for_numpy(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "np.char":
            yield "np.char"
        if isinstance(node, ast.Call) and getattr(getattr(node.func, "value", None), "id", None) == "np":
            types = {
                getattr(each, "id", None) for each in [*node.args, *(word.value for word in node.keywords)]
            }
            if "str" in types or (any(map(is_text, node.args)) and "object" not in types):
                yield ast.unparse(node)


@pytest.mark.parametrize(
    "source",
    [
        "np.isin(itemsets.texts(), self.sensitive)",
        "np.isin(classes.itemsets.texts(), known)[codes]",
        "np.unique(column.to_pylist())",
        "np.array(texts[:5])",
        "np.array([*texts, None])",
        "np.asarray(values, dtype=str)",
        "np.char.add(a, b)",
    ],
)
def test_such_a_call_is_found(source):
    assert [*texts_for_numpy(source)]


@pytest.mark.slow
def test_numpy_gets_no_texts():
    files = sorted(Path(pdanon.__file__).parent.rglob("*.py"))
    assert not [(file.name, call) for file in files for call in texts_for_numpy(file.read_text())]


# --- one long text takes no more space than itself, whatever is asked


def with_long(item):
    """50 items, of which one may be as long as all that is allowed."""
    return frame_of([[item if each == "i0" else each for each in row] for row in ROWS])


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_narrow(work):
    """Each item as wide as the longest would be 240 MB."""
    work("short")  # loads what is needed
    assert peak_of(lambda: work(LONG)) < 120e6


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_space_of_algorithms(name):
    assert_narrow(lambda item: release(name, with_long(item)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RT)
def test_space_with_quasi_identifiers(name):
    def work(item):
        frame = with_long(item).assign(age=[*range(10)] * 5)
        others = {"*": [f"i{number}" for number in range(1, 50)]}
        hidden = pdanon.Transaction("apriori", hierarchy=others, sensitive=[item], l=2)
        RT[name](frame, k=2, m=1, quasi=["age"], transaction=hidden, **OWN[name])

    assert_narrow(work)


@pytest.mark.parametrize(
    "guarantee",
    [
        lambda item: KmAnonymity(3, 2),
        lambda item: LmDiversity(l=2, m=2, sensitive=[item, "i1"], k=3),
        lambda item: KLm(k=3, l=2, m=2, quasi=["age"], sensitive=[item, "i1"]),
        lambda item: Coherence(h=0.5, k=3, p=2, private=[item, "i1"]),
        lambda item: PublicK(k=3, public=[item, "i1"]),
        lambda item: pdanon.TransactionalK(k=3),
        lambda item: pdanon.PrivacyConstraints(constraints=[[item], ["i1"]], k=3),
        lambda item: pdanon.PSRules(rules=[(["i2"], [item]), (["i3"], ["i1"])], k=3, c=0.5),
        lambda item: pdanon.PSRules(rules=pdanon.constraints.AllRules(2, [item, "i1"]), k=3, c=0.5),
    ],
)
def test_space_of_audits(guarantee):
    ages = [*range(10)] * 5
    assert_narrow(lambda item: with_long(item).assign(age=ages).txanon.audit(guarantee(item)).threats)


# --- NULs at the end make another item


def test_sensitive_items_that_differ_in_a_nul():
    frame = frame_of([["a"], ["b"], ["b"], ["b", "a\0"]]).assign(sex="x")
    assert not frame.txanon.audit(KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=["a\0"])).holds
    assert (
        frame.txanon.audit(KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=["a\0"])).rows_at_risk == 1
    )  # of the one with `a`
    assert frame.txanon.audit(KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=["a\0", "a"])).holds


@pytest.mark.parametrize("name", RT)
def test_a_release_does_not_take_an_item_for_another(name):
    frame = frame_of([["a"], ["b"], ["b"], ["b"]]).assign(sex="x")
    hidden = pdanon.Transaction("apriori", hierarchy={"*": ["a", "b"]}, sensitive=["a\0"], l=2)
    with pytest.raises(ParameterError, match="does not occur"):
        RT[name](frame, k=2, m=1, quasi=["sex"], transaction=hidden, **OWN[name])


def test_quasi_identifiers_that_differ_in_a_nul():
    names = ["a", "a\0", "a", "a\0\0"]
    coded = pd.Categorical.from_codes([0, 1, 0, 2], ["a", "a\0", "a\0\0"])  # pandas 2 itself would merge them
    kinds = ("str", object, "string[python]", "string[pyarrow]", pd.ArrowDtype(pa.string()))
    for column in (*(pd.Series(names, dtype=kind) for kind in kinds), coded):
        frame = pd.DataFrame({"name": column})
        assert pdanon.audit(frame, pdanon.KAnonymity(2, quasi=["name"])).rows_at_risk == 2
