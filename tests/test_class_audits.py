"""Audits of classes in files and partitions: the verdict and the threats of the whole frame."""

from __future__ import annotations

from functools import partial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from test_dask_tables import divided
from test_stream_tables import table, write

import pdanon
import pdanon.dask
from examples import seeds, some
from pdanon import KAnonymity, KKm, KLm, stream
from pdanon.errors import ColumnError, FormatError, ItemsetDtypeError, ParameterError, PdanonError
from pdanon.guarantees import class_audit

QUASI = ["age", "city", "size", "income", "number"]


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def mixed(seed):
    """Quasi-identifiers of all kinds, with missing values; some classes have several rows."""
    rng = np.random.default_rng(seed)
    frame = table(seed, rows=int(rng.integers(1, 70)), empty=0.3).drop(columns="row")
    frame["age"] = frame["age"] // 10
    frame["city"] = frame["city"].where(rng.random(len(frame)) < 0.8)
    frame["size"] = frame["size"].where(rng.random(len(frame)) < 0.8)
    frame["income"] = pd.cut(pd.Series(rng.random(len(frame))), [0, 0.4, 0.5]).astype("interval")
    large = pd.array(rng.integers(2**53, 2**53 + 2, len(frame)), dtype="Int64")
    frame["number"] = pd.Series(large).mask(rng.random(len(frame)) < 0.2)
    frame["more"] = pdanon.as_itemsets([["x"] if draw < 0.5 else [] for draw in rng.random(len(frame))])
    return frame


def guarantee_of(seed):
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(2, 5)), [1, 2, None][seed % 3]
    quasi = list(rng.choice(QUASI, int(rng.integers(1, 3)), replace=False))
    mapping = pd.DataFrame({"group": 0, "item": ["z", "y"], "generalized": ["z", None], "support": [1, 1]})
    mapping.attrs["empty_rows"] = int(rng.integers(0, 9))
    kind = seed % 5
    if kind == 0:
        return KAnonymity(k, quasi=quasi)
    if kind == 1:
        found = KLm(k=k, l=2, m=m, quasi=quasi, sensitive=["flu"])
    elif kind == 2:
        found = KKm(k=k, m=m, quasi=quasi, columns=["items", "more"])
    else:
        found = KKm(k=k, m=m, quasi=quasi)
    return found.with_mapping(mapping) if rng.random() < 0.6 else found


def told(threats):
    """Threats as texts, in any order."""
    columns = [
        [None if missing else str(value) for value, missing in zip(own, own.isna(), strict=True)]
        for _, own in threats.items()
    ]
    return sorted(zip(*columns, strict=True), key=str)


def verdict(call):
    """The number of rows at risk and the threats of an audit, or the first line of its error."""
    try:
        audit = call()
    except PdanonError as error:
        return type(error), str(error).partition("\n")[0]
    threats = audit.threats
    return audit.holds, audit.rows_at_risk, repr(audit.guarantee), told(threats) if len(threats) else []


MANY = [*seeds(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in some(range(60, 400), 3))]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", MANY)
def test_the_verdict_is_that_of_the_frame(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(class_audit, "AUDITED", [10_000, 10, 1][seed // 2 % 3])
    frame, guarantee = mixed(seed), guarantee_of(seed)
    column = None if isinstance(guarantee, KAnonymity) or getattr(guarantee, "columns", None) else "items"
    expected = verdict(lambda: guarantee.audit(frame, column))
    assert verdict(lambda: divided(frame, 1 + seed % 4, seed).txanon.audit(guarantee, column)) == expected
    source = write(frame, tmp_path / "source", [20] if seed % 2 else [])
    assert verdict(lambda: stream.audit(source, guarantee, column)) == expected


def test_integers_beyond_floats_are_classes_of_their_own(tmp_path):
    """A missing value must not turn integers into floats, which would merge the two classes."""
    numbers = pd.array([2**53, 2**53, 2**53 + 1, None, None], dtype="Int64")
    frame, guarantee = pd.DataFrame({"number": numbers}), KAnonymity(2, quasi=["number"])
    pdanon.to_parquet(frame, tmp_path / "rows.parquet")
    for audit in (stream.audit(tmp_path, guarantee), divided(frame, 2).txanon.audit(guarantee)):
        assert audit.rows_at_risk == 1
        assert audit.threats["number"].tolist() == [2**53 + 1]


def test_files_that_changed_list_no_threats(tmp_path):
    path = tmp_path / "rows.parquet"
    pdanon.to_parquet(pd.DataFrame({"age": [1, 1, 2]}), path)
    audit = stream.audit(path, KAnonymity(2, quasi=["age"]))
    pdanon.to_parquet(pd.DataFrame({"age": [1, 1, 2, 3]}), path)
    with pytest.raises(FormatError, match="the files have changed"):
        _ = audit.threats


LISTS = pd.DataFrame({"age": [1, 1], "items": pdanon.as_itemsets([["a"], ["b"]])})
WRONG = [
    (LISTS, KAnonymity(2, quasi=["items"]), ColumnError, "is a list column"),
    (LISTS, KAnonymity(2, quasi=["ages"]), ColumnError, "mean 'age'"),
    (LISTS[["age"]], KKm(k=2, m=1, quasi=["age"]), ColumnError, "no list-valued column"),
    (LISTS, KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["flu"]), ParameterError, "does not occur"),
    (LISTS, pdanon.TransactionalK(k=2), ParameterError, "KAnonymity, KKm, KLm.*read the rows into memory"),
    (LISTS, KKm, ParameterError, "(?s)got:   the class KKm.*with its parameters, such as"),
]


@pytest.mark.parametrize(("frame", "guarantee", "error", "message"), WRONG)
def test_wrong_audits_are_explained(frame, guarantee, error, message, tmp_path):
    pdanon.to_parquet(frame, tmp_path / "rows.parquet")
    for call in (partial(stream.audit, tmp_path), divided(frame, 2).txanon.audit):
        with pytest.raises(error, match=message):
            call(guarantee)


def test_partitions_with_other_types_are_refused():
    frame = pd.DataFrame({"age": [1, 1, 2, 2]})
    parts = [frame, frame.astype(float), frame.iloc[:0]]
    ddf = dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])
    with pytest.raises(
        ItemsetDtypeError, match=r"(?s)several types.*'age', partitions \[1, 2\].*double and int64"
    ):
        ddf.txanon.audit(KAnonymity(2, quasi=["age"]))


@pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning")
def test_attacks_on_releases_by_region_are_refused(tmp_path):
    frame = table(1)
    asked = {"k": 3, "m": 1, "quasi": ["age"], "random_state": 0}
    source, target, mapping = write(frame, tmp_path / "source"), tmp_path / "out", tmp_path / "m.parquet"
    released = stream.rfirst(source, target, mapping=mapping, **asked)
    written, ddf = pdanon.read_parquet(mapping), divided(frame, 3)
    lazy = ddf.txanon.rfirst(**asked)
    for call, got in (
        (lambda: stream.attack(source, target, released.mapping), "an empty mapping"),
        (lambda: stream.attack(source, target, written), "a local recoding"),
        (lambda: ddf.txanon.attack(lazy), "an empty mapping"),
        (lambda: ddf.txanon.attack(lazy.frame, mapping=lazy.local_mapping.compute()), "a local recoding"),
    ):
        with pytest.raises(ParameterError, match=f"(?s)one label for each item.*{got}.*audit counts all"):
            call()


@pytest.mark.parametrize("name", ["compare", "tradeoff", "refine"])
def test_functions_that_need_all_rows_are_refused(name):
    for place, hint in (
        (divided(LISTS, 2).txanon, f"ddf.compute().txanon.{name}"),
        (stream, f"pdanon.read_parquet(path).txanon.{name}"),
    ):
        with pytest.raises(AttributeError, match=r"(?s)needs all rows at once.*hint") as caught:
            getattr(place, name)
        assert hint in str(caught.value)
        assert callable(getattr(LISTS.txanon, name))  # what the hint names
    assert not hasattr(stream, "nothing")


@pytest.mark.filterwarnings("ignore::pdanon.UselessWarning")
@pytest.mark.parametrize(
    ("step", "argument"), [("keep", "keep=['store']"), ("start_from", "start=january.mapping")]
)
def test_steps_before_a_release_are_arguments_of_files_and_partitions(tmp_path, step, argument):
    pdanon.to_parquet(LISTS, tmp_path / "rows.parquet")
    parts, files = divided(LISTS, 2).txanon, (tmp_path / "rows.parquet", tmp_path / "out.parquet")
    for place, call in (
        (parts, "ddf.txanon.pcta(k=5, "),
        (stream, "pdanon.stream.pcta(source, target, k=5, "),
    ):
        with pytest.raises(AttributeError, match="no such step") as caught:
            getattr(place, step)
        assert f"{call}{argument})" in str(caught.value)
    given = {"keep": ["age"]} if step == "keep" else {"start": LISTS.txanon.pcta(k=2, m=1).mapping}
    for result in (stream.pcta(*files, k=2, m=1, **given), parts.pcta(k=2, m=1, **given)):
        assert argument.partition("=")[0] in result.parameters


@pytest.mark.filterwarnings("ignore::pdanon.UselessWarning")
def test_views_that_need_all_rows_are_refused(tmp_path):
    pdanon.to_parquet(LISTS, tmp_path / "rows.parquet")
    written = stream.pcta(tmp_path / "rows.parquet", tmp_path / "out.parquet", k=2, m=1, keep=["age"])
    for result in (written, divided(LISTS, 2).txanon.pcta(k=2, m=1, keep=["age"])):
        for name in ("evidence", "report", "plot", "save"):
            assert hasattr(pdanon.Anonymized, name)
            with pytest.raises(AttributeError, match=f"needs all rows at once(.|\n)*in memory.*{name}"):
                getattr(result, name)
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = result.nothing
