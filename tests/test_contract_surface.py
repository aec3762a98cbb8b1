"""How every registered algorithm is called, what it says of itself, and what its result shows."""

from __future__ import annotations

import inspect
from contextlib import nullcontext

import pandas as pd
import pytest
from conftest import SECRET, frame_of
from contract import (
    GROUPING,
    WITH_SECRETS,
    algorithms,
    arguments_of,
    every_algorithm,
    run,
)
from families import ALGORITHMS, IN_CHUNKS
from frames import BASE

import pdanon
from pdanon.accessors import TxanonAccessor
from pdanon.errors import ReleaseWarning


@every_algorithm
def test_result_unpacks_and_says_what_was_asked(name):
    result = run(name, frame_of(BASE))
    two_tables = name in IN_CHUNKS or name in GROUPING
    with pytest.warns(ReleaseWarning, match="leaves out classes") if two_tables else nullcontext():
        frame, mapping = result
    assert frame is result.frame
    assert mapping is result.mapping
    assert [*result.published] == (["frame", "classes"] if two_tables else ["frame"])
    assert (result.classes is None) == (name not in IN_CHUNKS and name not in GROUPING)
    asked = set(inspect.signature(ALGORITHMS[name]).parameters) - {"frame", "column"}
    asked -= {"guarantee"}  # its parameters are recorded
    asked -= {"unit", "item", "counts"}  # recorded if a person has several rows
    asked -= {"m"} if name in GROUPING else set()  # without k nothing comes of it
    assert set(result.parameters) == {"algorithm", *asked}
    assert [result.parameters["algorithm"], result.parameters.get("k") or 2] == [name, 2]
    assert result.parameters.get("m", 2) == 2


@algorithms
def test_columns_that_were_judged_are_recorded_and_nothing_else_changes(name):
    frame = frame_of(BASE).assign(ward=range(len(BASE)), sex=1)
    result = run(name, frame)
    judged = getattr(frame.txanon.keep("ward"), name)(**arguments_of(name, frame))
    assert (judged.parameters["keep"], "keep" in result.parameters) == (["ward"], False)
    assert {*judged.parameters} == {*result.parameters, "keep"}
    assert (judged.unmodified.judged, judged.unmodified.known) == (("ward",), ("sex",))
    assert (result.unmodified.judged, result.unmodified.known) == ((), ("ward", "sex"))
    pd.testing.assert_frame_equal(judged.frame, result.frame)
    pd.testing.assert_frame_equal(judged.mapping, result.mapping)
    pd.testing.assert_series_equal(judged.loss, result.loss)


@every_algorithm
def test_representations_show_no_item(name):
    frame = frame_of([[SECRET, "b"], ["b"], [SECRET], ["c", f"{SECRET}2"]])
    result = run(name, frame)
    assert SECRET not in repr(result) + result._repr_html_()
    assert SECRET not in repr(result.guarantee)
    own = name in IN_CHUNKS or name in WITH_SECRETS  # of the release, and of no other frame
    audit = (result.frame if own else frame).txanon.audit(result.guarantee)
    assert SECRET not in repr(audit) + audit._repr_html_()
    counted = (
        f"{len(frame)} records in {len(result.frame)} parts" if name in IN_CHUNKS else f"{len(frame)} rows"
    )
    assert counted in repr(result)


@every_algorithm
def test_function_and_method_are_one(name):
    function = ALGORITHMS[name]
    method = getattr(frame_of(BASE).txanon, name)
    assert method.__doc__ == function.__doc__
    assert method.__name__ == name
    parameters = list(inspect.signature(function).parameters.values())
    assert list(inspect.signature(method).parameters.values()) == parameters[1:]
    assert [parameter.name for parameter in parameters[:2]] == ["frame", "column"]
    assert {parameter.kind for parameter in parameters[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)
    frame = frame_of(BASE)
    arguments = arguments_of(name, frame)
    pd.testing.assert_frame_equal(
        getattr(frame.txanon, name)("items", **arguments).frame, function(frame, **arguments).frame
    )


@every_algorithm
def test_docstring_has_all_its_parts(name):
    doc = inspect.getdoc(ALGORITHMS[name])
    parts = ["Parameters", "Returns", "Raises", "Notes", "References", "Examples", "Guarantee:", "Cost:"]
    assert [part for part in parts if part not in doc] == []
    lines = doc[doc.index("Parameters") : doc.index("Returns")].splitlines()
    described = [name for line in lines if " : " in line for name in line.split(" : ")[0].split(", ")]
    assert described == [*inspect.signature(ALGORITHMS[name]).parameters]


@every_algorithm
def test_progress_goes_to_stderr_alone(name, capsys):
    frame = frame_of(BASE)
    quiet = run(name, frame)
    assert capsys.readouterr() == ("", "")
    with pdanon.config(progress=True):
        shown = run(name, frame)
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err
    pd.testing.assert_frame_equal(shown.mapping, quiet.mapping)


def test_public_names_exist_and_are_listed_once():
    assert len(set(pdanon.__all__)) == len(pdanon.__all__)
    assert all(hasattr(pdanon, name) for name in pdanon.__all__)
    assert [*ALGORITHMS] == [function.__name__ for function in ALGORITHMS.values()]
    assert all(hasattr(TxanonAccessor, name) for name in ALGORITHMS)
