"""Dask: what is computed is what the algorithm makes of the whole frame, however it is divided."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, settings, strategies as st
from test_stream import (
    ALGORITHMS,
    KINDS,
    TYPES,
    frame_in_memory,
    release_in_memory,
    released_in_memory,
    rows,
    table_of,
)

import pdanon
import pdanon.dask
import pdanon.stream
from examples import examples
from pdanon.errors import (
    ColumnError,
    GuaranteeError,
    IdentifierWarning,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
    PdanonError,
)

distributed = pytest.importorskip("distributed")

# Columns pass through here that tell rows apart; the tests that are about it ask for the warning.
pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def same(part):
    return part


def divided(frame, cuts=()):
    """A Dask frame of unknown divisions; its partitions end at some rows, and may be empty."""
    bounds = [0, *sorted(cuts), len(frame)]
    parts = [frame.iloc[start:stop] for start, stop in itertools.pairwise(bounds)]
    return dd.from_map(same, parts, meta=frame.iloc[:0])


def evenly(frame, partitions):
    return divided(frame, [len(frame) * number // partitions for number in range(1, partitions)])


def assert_same(result, expected):
    pd.testing.assert_frame_equal(result.frame.compute(), expected.frame, check_categorical=False)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    pd.testing.assert_series_equal(result.loss, expected.loss)
    assert repr(result.guarantee) == repr(expected.guarantee)
    assert result.parameters.keys() == expected.parameters.keys()
    assert result.rows == len(expected.frame)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("partitions", [1, 3, 7])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_release_is_that_of_the_frame_row_for_row(name, partitions):
    frame = evenly(frame_in_memory(table_of()), partitions)
    result = getattr(frame.txanon, name.split(",")[0])(**ALGORITHMS[name])
    assert_same(result, released_in_memory(name))
    assert result.frame.npartitions == partitions


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.data(), st.sampled_from(list(ALGORITHMS)), st.integers(0, 99))
def test_however_the_rows_are_divided(data, name, seed):
    frame, asked = frame_of_rows(rows(seed, 60, 9)), dict(ALGORITHMS[name])
    asked |= {"k": 3} if "k" in asked else {}
    cuts = data.draw(st.lists(st.integers(0, len(frame)), max_size=20))
    name, present = name.split(",")[0], set(frame["items"].itemset.supports().index)
    if name == "coat":
        asked["utility"] = None
    if isinstance(asked.get("rules"), list):
        some = [rule for rule in asked["rules"] if present.issuperset(itertools.chain(*rule))]
        asked["rules"] = some or pdanon.constraints.AllRules(1, ["a1"])
    elif "rules" in asked:
        asked["rules"] = pdanon.constraints.AllRules(2, sorted(present & {"a1", "a5"}))
    for each in {"private", "public", "sensitive"} & asked.keys():
        asked[each] = sorted(present & {*asked[each], "a1"})
    try:
        expected = release_in_memory(name, frame, **asked)
    except InfeasibleError:
        with pytest.raises(InfeasibleError) as caught:
            getattr(divided(frame, cuts).txanon, name)(**asked)
        assert caught.value.partial is None
    else:
        assert_same(getattr(divided(frame, cuts).txanon, name)(**asked), expected)


def frame_of_rows(drawn):
    return frame_of([None if row is None else {f"a{item}" for item in row} for row in drawn])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("made", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("name", ["coherence", "suppress_public"])
def test_a_private_column_is_released_as_by_pandas(name, made):
    ills = [None if row is None else [f"b{item}" for item in row[::2]] * 2 for row in rows(1)]  # no sets
    table = pa.table(
        {
            "items": [None if row is None else [made(i) for i in row] for row in rows(2)],
            "n": [*range(75)] * 2,
            "ills": ills,
        }
    )
    frame, asked = frame_in_memory(table), {"column": "items", "h": 0.6, "k": 5, "p": 2, "private": "ills"}
    result = getattr(evenly(frame, 7).txanon, name)(**asked)
    assert_same(result, getattr(pdanon, name)(frame, **asked))
    pd.testing.assert_series_equal(result.frame.dtypes, result.frame.compute().dtypes)
    assert result.frame.txanon.audit(result.guarantee, "items").holds
    with pytest.raises(ColumnError, match="itself"):
        getattr(evenly(frame, 7).txanon, name)(**{**asked, "private": "items"})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_lists_of_any_type_become_lists_of_text(kind):
    frame = frame_in_memory(table_of(kind, seed=3))
    assert_same(evenly(frame, 4).txanon.pcta(k=7), pdanon.pcta(frame, k=7))
    text = pd.ArrowDtype(pa.list_(pa.string()))
    assert evenly(frame, 4).txanon.pcta(k=7).frame.dtypes["items"] == text


def test_index_and_other_columns_pass_through():
    frame = frame_in_memory(table_of())
    frame.index = pd.Index(np.arange(150) // 3 % 7, name="ward")
    frame["kind"] = pd.Categorical(list("xyz") * 50, categories=["z", "y", "x", "unused"])
    frame["at"] = pd.date_range("2020", periods=10, tz="Europe/Athens").repeat(15)
    frame.insert(0, "count", pd.array([1, None, 3] * 50, "Int64"))
    frame = frame.rename(columns={"items": 5})
    result = divided(frame, [0, 10, 10, 150]).txanon.pcta(k=3)
    assert_same(result, pdanon.pcta(frame, k=3))
    assert list(result.frame.columns) == list(frame.columns)
    known = dd.from_pandas(frame_in_memory(table_of()), npartitions=4)
    assert known.txanon.pcta(k=3).frame.divisions == known.divisions


def test_it_unpacks_into_the_frame_and_the_mapping():
    ddf = evenly(frame_in_memory(table_of()), 3)
    result = ddf.txanon.pcta(k=4, m=3)
    frame, mapping = result
    assert frame is result.frame
    assert mapping is result.mapping
    assert repr(result) == "LazyRelease(rows=150, partitions=3, guarantee=KmAnonymity(k=4, m=3))"
    before = frame.compute()
    mapping["generalized"] = mapping["item"]
    pd.testing.assert_frame_equal(frame.compute(), before)


def test_chunks_are_not_taken_for_rows():
    rows = pd.DataFrame({"items": [["a", "b"], ["a", "b"], ["a", "c"]]})
    chunks = rows.txanon.disassociate(k=2, m=2).frame
    with pytest.raises(ParameterError, match="the rows of a release in chunks are no records"):
        evenly(chunks, 2).txanon.risk(k=2, m=2)


def test_no_rows_and_empty_rows():
    for drawn in ([], [[], []], [None, [], []], [None, [], None, []], [None]):
        frame = frame_of(drawn)
        assert_same(divided(frame, [0, len(frame)]).txanon.pcta(k=2), pdanon.pcta(frame, k=2))


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 99), st.integers(2, 4), st.integers(1, 3))
def test_questions_are_answered_as_by_pandas(cuts, seed, k, m):
    frame = frame_of_rows(rows(seed, 60, 9))
    ddf = divided(frame, cuts)
    pd.testing.assert_frame_equal(ddf.txanon.risk(k=k, m=m), frame.txanon.risk(k=k, m=m))
    every = sorted(frame["items"].itemset.supports().index)
    some, others = every[:2], every[2:]
    for guarantee in (
        pdanon.KmAnonymity(k, m),
        pdanon.PrivacyConstraints(constraints=[["a0", "a1"], ["a2"]], k=k),
        pdanon.LmDiversity(m=m, sensitive=some, l=2),
        pdanon.RhoUncertainty(rho=0.5, sensitive=some, m=m),
        pdanon.Coherence(h=0.5, k=k, p=m, private=some),
        pdanon.PublicK(k=k, public=some),
        pdanon.PSRules(rules=[(others[:2], some[:1]), (others[1:2], some)], k=k, c=0.5),
        pdanon.PSRules(rules=pdanon.constraints.AllRules(m, some), k=k, c=0.5),
    ):
        one, other = ddf.txanon.audit(guarantee), frame.txanon.audit(guarantee)
        assert one.rows_at_risk == other.rows_at_risk
        pd.testing.assert_frame_equal(one.threats, other.threats)
    short, guarantee = ddf.txanon.audit(k=k, m=m), pdanon.KmAnonymity(k, m)
    assert (short.guarantee, short.holds) == (guarantee, frame.txanon.audit(guarantee).holds)
    column, whole = ddf["items"].itemset, frame["items"].itemset
    pd.testing.assert_series_equal(column.supports(), whole.supports())
    pd.testing.assert_frame_equal(column.rare(k, m), whole.rare(k, m))
    pd.testing.assert_series_equal(column.lengths.compute(), whole.lengths)
    pd.testing.assert_series_equal(column.contains(["a0", "a1"]).compute(), whole.contains(["a0", "a1"]))


@settings(max_examples=examples(30))
@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=9),
    st.lists(st.integers(0, 9), max_size=3),
)
def test_repeated_items_are_counted_as_by_pandas(rows, cuts):
    lists = pa.array([[], *rows], pa.list_(pa.string()))
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    ddf = divided(frame, [min(cut, len(frame)) for cut in cuts])
    for guarantee in (pdanon.KmAnonymity(2, 2), pdanon.PublicK(k=2, public=["a", "b"])):
        one, other = ddf.txanon.audit(guarantee), frame.txanon.audit(guarantee)
        assert one.rows_at_risk == other.rows_at_risk
        pd.testing.assert_frame_equal(one.threats, other.threats)


def test_new_rows_are_recoded_with_the_mapping():
    old, new = frame_in_memory(table_of(seed=1)), frame_in_memory(table_of(seed=2)).head(40)
    mapping = old.txanon.pcta(k=5).mapping
    expected = new.txanon.apply_mapping(mapping, unseen="suppress")
    found = evenly(new, 3).txanon.apply_mapping(mapping, unseen="suppress")
    pd.testing.assert_frame_equal(found.compute(), expected)
    stranger = divided(frame_of([["a1"], [SECRET]]), [1]).txanon.apply_mapping(mapping)
    with pytest.raises(ParameterError, match="1 items in 1 rows") as caught:
        stranger.compute()
    assert SECRET not in str(caught.value)
    with pytest.raises(ParameterError, match="unseen"):
        evenly(new, 3).txanon.apply_mapping(mapping, unseen="keep")


@pytest.mark.filterwarnings("ignore:The inplace keyword::dask")  # Dask's own
def test_what_was_written_is_audited(tmp_path):
    frame = frame_in_memory(table_of())
    result = evenly(frame, 3).txanon.pcta(k=5)
    result.frame.to_parquet(tmp_path / "released", write_index=False)
    files = sorted((tmp_path / "released").glob("*.parquet"))
    assert len(files) == 3
    expected = pdanon.pcta(frame, k=5).frame
    for written in (
        dd.from_map(pdanon.read_parquet, files),
        dd.read_parquet(tmp_path / "released", dtype_backend="pyarrow"),
    ):
        assert written.txanon.audit(result.guarantee).holds
        assert written["items"].compute().tolist() == expected["items"].tolist()
    assert not evenly(frame, 3).txanon.audit(result.guarantee).holds


def test_nothing_of_the_input_is_left_in_the_partitions():
    frame = frame_of([["tea", "rice"], ["tea", "rice"], ["tea", SECRET], ["rice", "tea"]])
    asked = {"k": 2, "m": 2, "max_suppressed": 0.5, "utility": [[SECRET], ["tea"], ["rice"]]}
    result = divided(frame, [2, 2]).txanon.coat(**asked)
    assert SECRET.encode() in pickle.dumps(frame)
    for part in result.frame.partitions:
        assert SECRET.encode() not in pickle.dumps(part.compute())
    assert SECRET not in repr(result) + repr(result.frame)


class Source:
    """Rows that differ from one reading to the next."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def __dask_tokenize__(self):
        return uuid4().hex  # else Dask takes one for another with the same readings

    def __call__(self, _):
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


def changing(*readings):
    first = frame_of(readings[0])
    return dd.from_map(Source(*map(frame_of, readings)), [0], meta=first.iloc[:0])


CHANGES = [
    ([["a", "b"], ["a", "b"], ["a", "b"]], "3 rows instead of 2"),
    ([["a", "b"], ["a"]], "rows with other items"),
    ([["a"], ["a"]], "rows with other items"),  # a release of these rows would be safe
    ([["a", "b"], []], "rows with other items"),
    ([["a", "b"], ["a", SECRET]], "1 new items"),
]


@pytest.mark.parametrize(("later", "got"), CHANGES)
@pytest.mark.parametrize("m", [1, None])
def test_rows_that_change_are_told_from_a_defect(later, got, m):
    with pytest.raises(ParameterError, match=f"the rows have changed since they were counted(.|\n)*{got}"):
        changing([["a", "b"], ["a", "b"]], later).txanon.pcta(k=2, m=m)


def test_rows_may_come_in_another_order():
    drawn = [["a", "b"], ["a"], ["a", "b"], ["a"], []]
    assert changing(drawn, drawn[::-1]).txanon.pcta(k=2).rows == 5


@pytest.mark.parametrize("name", ["items", "ills"])
def test_a_private_column_that_changes_is_noticed(name):
    frame = frame_of([["a"], ["a"], ["b"], ["b"]]).assign(
        ills=frame_of([["x"], ["x"], ["y"], ["y"]])["items"]
    )
    later = frame.assign(**{name: frame[name].iloc[[1, 2, 3, 0]].array})
    ddf = dd.from_map(Source(frame, later), [0], meta=frame.iloc[:0])
    with pytest.raises(ParameterError, match="rows with other items"):
        ddf.txanon.coherence("items", h=1, k=2, p=1, private="ills")


def test_rows_that_change_after_the_audit_are_recoded_or_refused():
    once = [["a", "b"], ["a", "b"]]
    later = changing(once, once, [["a", "b"], ["a", SECRET]]).txanon.pcta(k=2)
    with pytest.raises(ParameterError, match="1 new items") as caught:
        later.frame.compute()
    assert SECRET not in str(caught.value)


def test_a_release_that_fails_its_audit_is_withheld(monkeypatch):
    ddf = evenly(frame_in_memory(table_of()), 3)
    monkeypatch.setattr("pdanon.algorithms.engines.relabel", lambda itemsets, *_, **asked: itemsets)
    with pytest.raises(GuaranteeError):
        ddf.txanon.pcta(k=30)


@pytest.mark.parametrize("cuts", [[50], [0, 0, 50], [*range(0, 150, 10), 140]])
def test_columns_that_may_identify_are_told(cuts):
    frame = frame_in_memory(table_of()).assign(person=range(150), ward=[*range(75)] * 2)
    with pytest.warns(IdentifierWarning, match="^150 of 150 rows .* unique in person, which") as caught:
        divided(frame, cuts).txanon.pcta(k=2)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("error::pdanon.IdentifierWarning")
def test_an_index_is_told_unless_it_only_counts_the_rows():
    frame = frame_in_memory(table_of())[["items"]]
    assert divided(frame, [50, 90]).txanon.pcta(k=2).unmodified.levels == ()
    parts = [divided(frame[:50]), divided(frame[50:].reset_index(drop=True))]
    assert dd.concat(parts).txanon.pcta(k=2).unmodified.levels == ()  # each part counts its own rows
    named = divided(frame.set_axis([f"person {number:03}" for number in range(150)]), [50, 90])
    with pytest.warns(IdentifierWarning, match="^150 of 150 rows .* unique in index, which"):
        assert named.txanon.pcta(k=2).unmodified.levels == ("index",)
    assert named.txanon.pcta(k=2, keep=["index"]).unmodified.judged == ("index",)


@pytest.mark.filterwarnings("error::pdanon.IdentifierWarning")
def test_columns_that_were_judged_are_not_told(monkeypatch):
    frame = frame_in_memory(table_of()).drop(columns="number").assign(ward=[*range(10)] * 15)
    frame = frame.assign(year=[row // 10 for row in range(150)])
    frame = frame.set_axis(pd.Index(range(150), name="person"))
    ddf = divided(frame, [50])
    result = ddf.txanon.pcta(k=2, keep=iter(["ward", "person"]))
    assert result.parameters["keep"] == ["ward", "person"]
    for module in (pdanon.dask.list_partitions, pdanon.dask.lazy):
        monkeypatch.setattr(module, "SAMPLE", 60)
    with pytest.warns(
        IdentifierWarning, match="60 of the first 60 rows .*In all 150 rows, the shares may be"
    ):
        ddf.txanon.pcta(k=2, keep=["person"])
    for keep, message in (
        (["wards"], "did you mean 'ward'"),
        (["items"], "'items' is recoded"),
        ("ward", "a list"),
    ):
        with pytest.raises((ColumnError, ParameterError), match=message):
            ddf.txanon.pcta(k=2, keep=keep)


def test_lists_of_objects_are_refused_with_the_remedy():
    objects = pd.DataFrame({"items": [["a"], ["b"]], "n": [1, 2]})
    for ddf in (dd.from_pandas(objects, npartitions=1), divided(objects)):
        with pytest.raises(ColumnError, match="as_itemsets"):
            ddf.txanon.pcta(k=2)
        with pytest.raises(ColumnError, match="as_itemsets"):
            _ = ddf["items"].itemset
        with pytest.raises(ColumnError, match="as_itemsets"):
            ddf.txanon.pcta(k=2, column="items")
    mixed = divided(frame_of([["a"], ["a"]]).assign(other=1))
    with pytest.raises(ColumnError, match="as_itemsets"):
        mixed.txanon.pcta(column="other", k=2)
    with pytest.raises(ColumnError, match="does not exist"):
        mixed.txanon.pcta(column="none", k=2)
    with pytest.raises(ParameterError, match="Dask DataFrame"):
        pdanon.dask.anonymize(frame_of([["a"]]), k=2)


def test_a_bad_partition_is_named():
    frame = frame_of([["a"], ["a"], ["a"]])
    missing = pd.DataFrame({"items": pd.Series([["b"], [SECRET, None]], dtype=frame.dtypes["items"])})
    numbers = frame_in_memory(pa.table({"items": [[1, 2]]}))
    text = pd.DataFrame({"items": ["['a']"]})
    for bad, message in ((missing, "row 1"), (numbers, "int64 instead of string"), (text, "not hold lists")):
        ddf = dd.from_map(same, [frame, frame.iloc[:0], bad, frame], meta=frame.iloc[:0])
        with pytest.raises(
            ItemsetDtypeError, match=rf"(?s)({message}.*partition 2|partition 2.*{message})"
        ) as caught:
            ddf.txanon.pcta(k=2)
        assert SECRET not in str(caught.value)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("m", [2, None])
@pytest.mark.parametrize("n_parts", [1, 3, 8])
def test_parts_of_lra_do_not_depend_on_partitions(m, n_parts):
    lists = [[f"a{number % 7}", f"a{number * number % 11}"] for number in range(60)]
    frame = frame_of([*lists, None, [], *lists[:9]])
    asked = {"k": 3, "m": m, "hierarchy": 3, "parts": 4}
    result, whole = evenly(frame, n_parts).txanon.lra(**asked), frame.txanon.lra(**asked)
    assert len(set(whole.mapping["group"])) > 1
    assert_same(result, whole)
    assert whole.guarantee.audit(result.frame.compute()).holds


def test_rows_of_lra_that_were_not_counted_are_refused():
    frame = frame_of([["a", "b"], ["c", "d"]] * 6)
    ddf, rows = evenly(frame, 2), iter(range(100))
    new = frame_of([["a", "x"]] * 6)
    changed = ddf.map_partitions(lambda part: part if next(rows) < 2 else new, meta=frame.iloc[:0])
    with pytest.raises(ParameterError, match="the rows have changed"):
        changed.txanon.lra(k=2, hierarchy=2, parts=2)


def test_what_needs_all_rows_at_once_is_refused():
    ddf = divided(frame_of([["a"], ["a"]]))
    for name in ("partition", "clump", "cahd", "disassociate"):
        with pytest.raises(ParameterError, match="needs all rows at once"):
            getattr(ddf.txanon, name)(k=2)
    with pytest.raises(ParameterError, match="sensitive"):
        ddf.txanon.apriori(guarantee=pdanon.LmDiversity(l=2, m=2, k=2, sensitive=["a"]), hierarchy=2)
    with pytest.raises(ParameterError, match="a guarantee of items"):
        ddf.txanon.audit(pdanon.TransactionalK(k=2))
    for guarantee in (pdanon.KmAnonymity, 5):
        with pytest.raises(ParameterError, match="not a guarantee"):
            ddf.txanon.audit(guarantee)
    with pytest.raises(ParameterError, match="no guarantee is given"):
        ddf.txanon.pcta()


def test_what_only_pandas_has_is_refused_in_words(capsys):
    frame = frame_of([["a"], ["a"], ["b"]]).assign(sex=list("mff"))
    ddf = evenly(frame, 2)
    with pytest.raises(ParameterError, match="Dask counts only items"):
        ddf.txanon.risk(k=2, quasi=["sex"])
    with pytest.raises(ParameterError, match="has no parameter 'qasi'"):
        ddf.txanon.risk(k=2, qasi=["sex"])
    with pytest.raises(PdanonError, match="the method needs all rows at once") as caught:
        ddf.txanon.refine(k=2)
    assert "ddf.compute().txanon.refine(...)" in str(caught.value)
    assert isinstance(caught.value, AttributeError)  # what hasattr and completion go by
    with pytest.raises(PdanonError, match="Dask has no such method"):
        _ = ddf.txanon.refin
    assert not hasattr(ddf.txanon, "compare")
    guarantee = pdanon.KmAnonymity(k=2, m=2)
    with pdanon.config(progress=True):
        assert ddf.txanon.audit(guarantee).rows_at_risk == 1
        shown = ddf.txanon.risk(k=2)
    assert shown.equals(ddf.txanon.risk(k=2))
    shown = capsys.readouterr().err
    assert "audit" in shown
    assert "risk" in shown


@pytest.mark.parametrize("partitions", [1, 4])
def test_without_an_algorithm_the_best_one_on_a_sample_decides(partitions, tmp_path):
    frame = frame_in_memory(table_of())
    result = evenly(frame, partitions).txanon.anonymize(k=3, m=2)
    assert result.tried["algorithm"].tolist()[:2] == ["pcta", "upcta"]
    assert result.sample == len(frame)
    name = result.parameters["algorithm"]
    assert result.tried.set_index("algorithm")["loss"].idxmin() == name
    pd.testing.assert_frame_equal(result.frame.compute(), getattr(frame.txanon, name)(k=3, m=2).frame)
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    streamed = pdanon.stream.anonymize(tmp_path / "in.parquet", tmp_path / "out.parquet", k=3, m=2)
    pd.testing.assert_frame_equal(streamed.mapping, result.mapping)


def test_a_request_is_checked_before_any_row_is_read():
    def never(part):
        raise AssertionError

    ddf = dd.from_map(never, [0], meta=frame_of([["a"]]))
    with pytest.raises(ParameterError, match="there is no such parameter of anonymize"):
        ddf.txanon.anonymize(k=2, qasi=["sex"])
    with pytest.raises(ParameterError, match="max_loss"):
        ddf.txanon.pcta(k=2, max_loss={"pairs": "few"})


def test_a_release_that_loses_more_than_allowed_is_refused():
    ddf = evenly(frame_of([["a", "b"], ["a"], ["b", "c"], ["c"]] * 2), 2)
    with pytest.raises(InfeasibleError, match="loses more than max_loss allows"):
        ddf.txanon.anonymize(k=4, m=2, max_loss={"occurrences": 0})


def test_a_profile_is_that_of_the_frame():
    frame = frame_in_memory(table_of()).assign(sex=["m", "f", "f"] * 50)
    found, expected = evenly(frame, 3).txanon.profile(k=3, m=2), frame.txanon.profile(k=3, m=2)
    pd.testing.assert_frame_equal(found.risk, expected.risk)
    # Dask converts text to another dtype.
    assert found.columns.drop(columns="dtype").equals(expected.columns.drop(columns="dtype"))
    for name in ("lengths", "supports"):
        assert getattr(found, name).equals(getattr(expected, name))
    assert found.counts["repeated rows"] == -1  # not counted
    pd.testing.assert_series_equal(found.counts[:-1], expected.counts[:-1])


def test_attacks_are_those_on_the_whole_release():
    frame = frame_in_memory(table_of())
    ddf = evenly(frame, 3)
    result = ddf.txanon.pcta(k=3, m=2)
    attack = ddf.txanon.attack(result, m=2, n=2000, random_state=1)
    assert attack.fewest >= 3
    assert attack.fewest_before < 3
    again = ddf.txanon.attack(result.frame, mapping=result.mapping, m=2, n=2000, random_state=1)
    pd.testing.assert_frame_equal(again.cases, attack.cases)
    whole = frame.txanon.attack(frame.txanon.pcta(k=3, m=2), m=2, n=2000, random_state=1)
    low, high = whole.interval
    assert low <= attack.rate <= high
    with pytest.raises(ParameterError, match="a frame needs its mapping"):
        ddf.txanon.attack(result.frame)
    with pytest.raises(ParameterError, match="other rows"):
        ddf.txanon.attack(evenly(result.frame.compute().head(9), 2), mapping=result.mapping)


def test_the_accessor_shows_its_columns_and_partitions_but_no_item():
    assert repr(evenly(frame_of([[SECRET], ["a"]]), 2).txanon) == "ddf.txanon of 'items', in 2 partitions"


def test_constraints_are_audited_with_the_mapping():
    frame, constraints = frame_in_memory(table_of(seed=5)), [["a1", "a5"], ["a10"], ["a0", "a3", "a8"]]
    result = evenly(frame, 5).txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=9))
    assert_same(result, pdanon.pcta(frame, guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=9)))
    assert result.frame.txanon.audit(result.guarantee).holds


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two worker processes, each with a nanny that starts it again when it is gone."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    directory = tmp_path_factory.mktemp("workers")
    with (
        # So long after each loss, a cluster gives up a worker that happens to be gone just then.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "3600s"}),
        distributed.LocalCluster(**options, local_directory=str(directory)) as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler=None),
    ):
        yield client


def waiting(number, directory, frame):
    """A partition whose first reader waits to be killed."""
    if number == 4 and not (directory / "go").exists():
        (directory / "pid.tmp").write_text(str(os.getpid()))
        (directory / "pid.tmp").rename(directory / "pid")
        time.sleep(600)
    return frame.iloc[20 * number : 20 * number + 20]


def kill_the_reader(directory):
    until = time.monotonic() + 300
    while not (directory / "pid").exists() and time.monotonic() < until:
        time.sleep(0.01)
    (directory / "go").touch()
    os.kill(int((directory / "pid").read_text()), signal.SIGKILL)


@pytest.mark.slow
def test_processes_release_the_same_even_if_one_is_killed(client, tmp_path):
    frame = frame_in_memory(table_of())
    expected = pdanon.pcta(frame, k=4, m=3)
    with dask.config.set(scheduler=None):
        assert_same(evenly(frame, 7).txanon.pcta(k=4, m=3), expected)
        ddf = dd.from_map(waiting, range(8), directory=tmp_path, frame=frame, meta=frame.iloc[:0])
        with ThreadPoolExecutor(1) as thread:
            killed = thread.submit(kill_the_reader, tmp_path)
            result = ddf.txanon.pcta(k=4, m=3)
            killed.result()
        assert_same(result, expected)
        with pytest.raises(ItemsetDtypeError, match="partition 1"):
            divided(frame, [10]).map_partitions(broken, meta=frame.iloc[:0]).txanon.pcta(k=2)


def broken(part):
    return part if len(part) == 10 else part.assign(items=SECRET)


def test_a_misspelt_parameter_of_a_recoding_is_named():
    ddf = divided(frame_of([["a"]] * 4), [2])
    mapping = ddf.txanon.pcta(k=2, m=1).mapping
    for call in (
        ddf.txanon.apply_mapping,
        lambda *given, **named: pdanon.dask.apply_mapping(ddf, *given, **named),
    ):
        with pytest.raises(ParameterError, match=r"(?s)no parameter 'colum'.*did you mean 'column'"):
            call(mapping, colum="items")
