"""The registry: an algorithm is added by its record alone, which says all that others read."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import pandas as pd
import pytest
from conftest import frame_of

import pdanon
import pdanon.stream
from pdanon import KAnonymity, KKm, KmAnonymity, ParameterError, Policy, guarantees
from pdanon.accessors import TxanonAccessor
from pdanon.algorithms.choice import steps
from pdanon.algorithms.registry import (
    ALGORITHMS,
    OF_LISTS,
    Algorithm,
    Way,
    algorithm,
    parameters_of,
    register,
)
from pdanon.algorithms.relational.groups import cut_boxes
from pdanon.algorithms.states.clusters import Clusters
from pdanon.itemsets import SupportIndex
from pdanon.recoding import Recoding, decide_lists

ROWS = ["ab", "abc", "abc", "bc", "cd", "abd"]
FRAME = frame_of(ROWS)


def rare_first(frame, column=None, *, k, m=2):
    """Do what pcta does.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person.
    column : hashable, optional
        The list column.
    k, m : int
        Rows, and items known.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. Nothing else.
    """
    return RECORD.release(locals())


def decide(columns, *, guarantee):
    """What becomes of the items."""
    clusters = Clusters(SupportIndex.of(columns.itemsets))
    clusters.satisfy_km(guarantee.k, guarantee.m)
    return decide_lists(columns, Recoding.of_clusters(clusters.labels, columns.itemsets), guarantee)


RECORD = Algorithm(rare_first, (KmAnonymity,), recodes="items", decide=decide, ways=(Way(KmAnonymity, 15),))


@pytest.fixture
def added():
    """A further algorithm, until the test ends."""
    pytest.importorskip("dask.dataframe")
    import pdanon.dask

    def add(record=RECORD):
        register(record)
        names.append(record.name)

    names = []
    yield add
    for name in names:
        del ALGORITHMS[name]
        for accessor in (TxanonAccessor, pdanon.dask.TxanonAccessor):
            delattr(accessor, name)


# --- One record is all it takes


def test_accessors_have_it(added):
    import dask.dataframe as dd

    assert not hasattr(FRAME.txanon, "rare_first")
    added()
    expected = FRAME.txanon.pcta(k=2).frame
    pd.testing.assert_frame_equal(FRAME.txanon.rare_first(k=2).frame, expected)
    assert "rare_first" in dir(FRAME.txanon)
    assert FRAME.txanon.rare_first.__doc__ == rare_first.__doc__
    lazy = dd.from_pandas(FRAME, npartitions=2).txanon.rare_first(k=2)
    pd.testing.assert_frame_equal(lazy.frame.compute(), expected)


def test_it_is_compared(added):
    added()
    table = pdanon.compare(FRAME, {"rare_first": {}, "pcta": {}}, vary={"k": [2]})
    assert table["holds"].all()
    assert table["algorithm"].tolist() == ["rare_first", "pcta"]


def test_it_is_tried_in_its_turn(added):
    added()
    assert [step.algorithm for step in steps(KmAnonymity)][:3] == ["pcta", "rare_first", "upcta"]
    result = pdanon.anonymize(FRAME, KmAnonymity(2, 2), time_limit=600)
    assert result.tried["algorithm"].tolist()[:3] == ["pcta", "rare_first", "upcta"]
    assert result.tried["loss"][0] == result.tried["loss"][1]


def test_files_are_anonymized_by_it(added, tmp_path, run):
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    added()
    policy = Policy(input=tmp_path / "in.parquet", items="items", algorithm="rare_first", parameters={"k": 2})
    assert policy.run().holds
    result = pdanon.stream.rare_first(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2)
    assert result.guarantee == KmAnonymity(2, 2)
    paths = str(tmp_path / "in.parquet"), str(tmp_path / "told.parquet")
    code, _, err = run("anonymize", *paths, "--algorithm", "rare_first", "-k", "2")
    assert (code, err) == (0, "")
    assert "rare_first       Do what pcta does." in run("algorithms")[1]


def test_stream_needs_rows_that_are_recoded_alike(added, tmp_path):
    added(replace(RECORD, recodes="groups"))
    with pytest.raises(ParameterError, match="needs all rows at once") as caught:
        pdanon.stream.rare_first(tmp_path / "in", tmp_path / "out", k=2)
    assert "lra" in str(caught.value).partition("hint:")[2]


def root_of(task, *, root):
    """Each item becomes the root, or nothing."""
    return task.leaves * 0 if root else task.leaves * 0 - 1


@pytest.mark.parametrize(("options", "labels"), [(None, 1), ({"root": False}, 0)])
def test_clusters_of_rows_are_anonymized_by_it(added, options, labels):
    def boxes(frame, *, k, quasi):
        """Refuse.

        Parameters
        ----------
        frame, k, quasi
            Not used.
        """
        raise AssertionError

    added(replace(RECORD, nodes=root_of, options={"root": True}))
    added(Algorithm(boxes, (KAnonymity,), recodes="values", form=cut_boxes))
    frame = FRAME.assign(age=range(len(FRAME)))
    result = frame.txanon.rfirst(
        **{"k": 3, "m": 2, "quasi": ["age"], "cluster": "boxes"},
        transaction=pdanon.Transaction("rare_first", hierarchy=2, options=options, refine=False),
    )
    assert type(result.guarantee) is KKm
    assert result.mapping["generalized"].nunique() == labels


# --- What a record must say


@pytest.mark.parametrize("name", ALGORITHMS)
def test_parameters_are_described(name):
    """In the section of parameters: a line with their names, then indented text."""
    text = inspect.getdoc(algorithm(name))
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)[1]
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?\n +\S", section, re.MULTILINE)
    described = {each for entry in entries for each in entry.split(", ")}
    assert described == set(inspect.signature(algorithm(name)).parameters)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_guarantees_are_known_and_decided(name):
    record = ALGORITHMS[name]
    assert {each.__name__ for each in record.guarantees} <= {*guarantees.__all__}
    assert {way.guarantee for way in record.ways} <= {*record.guarantees}
    assert record.decide is not None or record.recodes not in OF_LISTS, "rows outside memory need it"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_parameters_are_few(name):
    """Beside the frame and the column; what belongs together is one value."""
    assert len(parameters_of(algorithm(name))) <= 10


def test_what_is_registered_is_what_is_public():
    for name, record in ALGORITHMS.items():
        assert record.name == name
        assert name in pdanon.__all__, "import it in pdanon/__init__.py, and add it to __all__"
        assert algorithm(name) is record.function is getattr(pdanon, name)
        assert record.guarantees
        if record.nodes or record.sets:
            assert set(record.options) <= set(inspect.signature(record.function).parameters)
