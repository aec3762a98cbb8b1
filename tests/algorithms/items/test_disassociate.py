"""disassociate: published examples, the naive version, and all tables that releases can have come from."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, settings, strategies as st
from naive import disassociation as naive

import pdanon
from examples import ALL, examples, some
from pdanon import DisassociatedKm
from pdanon.cli.main import main
from pdanon.evaluation.report import render

# The records of Loukides et al., JBI 50, 2014, and the terms that are to stay together.
RECORDS = [
    "296.00 296.01 296.02 834.0 944.01",
    "296.00 296.01 296.02 401.0 944.01 692.71 695.10",
    "296.00 296.02 692.71 834.0 695.10",
    "296.00 296.01 692.71 401.0",
    "296.00 296.01 296.02 692.71 695.10",
    "296.03 295.04 404.00 480.1",
    "294.10 296.03 834.0 944.01",
    "294.10 295.04 296.03 480.1",
    "294.10 295.04 404.00",
    "294.10 295.04 296.03 834.0 944.01",
]
DIAGNOSES = frame_of([each.split() for each in RECORDS])
TOGETHER = {
    "u1": ["294.10", "295.04", "296.00", "296.01", "296.02", "296.03"],
    "u2": ["692.71", "695.10"],
    "u3": ["401.0", "404.00"],
    "u4": ["480.1"],
    "u5": ["834.0", "944.01"],
}
FEW = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["c", "d"], ["d"], ["c"]])


def terms_of(frame):
    """The terms of each chunk, by cluster and chunk, as texts."""
    chunks = frame.groupby(["cluster", "chunk"])["items"]
    return {key: " ".join(sorted({term for row in rows for term in row})) for key, rows in chunks}


def bags_of(frame):
    """The sub-records of each chunk with how often each is there."""
    chunks = frame.groupby(["cluster", "chunk"])["items"]
    return {key: Counter(" ".join(sorted(row)) for row in rows) for key, rows in chunks}


# --- Published examples


@pytest.mark.parametrize(
    ("m", "first", "second"),
    [
        (2, ["296.00 296.01 296.02 692.71", "695.10"], ["294.10 295.04 296.03"]),
        (3, ["296.00 296.01 296.02", "692.71 695.10"], ["294.10 295.04", "296.03"]),
    ],
)
def test_published_chunks(m, first, second):
    result = DIAGNOSES.txanon.disassociate(k=3, m=m, joint=False)
    expected = {(1, 0): "404.00 480.1 834.0 944.01", (2, 0): "401.0 834.0 944.01"}
    expected |= {(1, number): terms for number, terms in enumerate(second, 1)}
    expected |= {(2, number): terms for number, terms in enumerate(first, 1)}
    assert terms_of(result.frame) == expected
    assert result.classes["size"].tolist() == [5, 5]
    assert result.groups.tolist() == [1] * 5 + [0] * 5


def test_published_chunks_of_terms_that_are_to_stay_together():
    result = DIAGNOSES.txanon.disassociate(k=3, m=2, utility=TOGETHER)
    assert terms_of(result.frame) == {
        (1, 0): "404.00 480.1",
        (1, 1): "294.10 295.04 296.03",
        (2, 0): "401.0",
        (2, 1): "296.00 296.01 296.02",
        (2, 2): "692.71 695.10",
        (3, 1): "834.0 944.01",
    }
    assert bags_of(result.frame)[3, 1] == {"834.0 944.01": 3, "834.0": 1, "944.01": 1}
    assert result.classes.to_dict("list") == {"cluster": [1, 2, 3], "size": [5, 5, 10], "joint": [3, 3, 0]}
    assert result.loss["term_chunks"] == pytest.approx(6 / 46)
    assert result.loss["tlost"] == 0.0


# --- The naive version

TABLES = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=3, max_size=14)
BLOCKS = [{}, {"a": 0, "b": 0, "c": 1, "d": 1}, dict.fromkeys("abcdef", 0)]


@settings(max_examples=examples(120))
@given(
    rows=TABLES,
    k=st.integers(2, 3),
    m=st.sampled_from([1, 2, 3, None]),
    more=st.integers(0, 4),
    refine=st.booleans(),
    safe=st.booleans(),
    blocks=st.sampled_from(BLOCKS),
)
def test_the_naive_version_releases_the_same(rows, k, m, more, refine, safe, blocks):
    assert_naive(rows, k, m, more, refine, safe, blocks)


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(10)))  # of up to 500 tables; workers share them
def test_the_naive_version_releases_the_same_of_thousands_of_tables(part):
    draw = Random(part)
    for _ in range(500 if ALL else 100):
        items = "abcdef"[: draw.randint(2, 6)]
        k = draw.randint(2, 3)
        rows = [
            {*draw.sample(items, draw.randint(1, min(4, len(items))))} for _ in range(draw.randint(3, 14))
        ]
        m, more, blocks = draw.choice([1, 2, 3, None]), draw.randint(0, 4), draw.choice(BLOCKS)
        assert_naive(rows, k, m, more, draw.random() < 0.5, draw.random() < 0.5, blocks)


def assert_naive(rows, k, m, more, refine, safe, blocks):
    utility = pd.DataFrame({"item": [*blocks], "block": [*blocks.values()]}) if blocks else None
    asked = {"k": k, "m": m, "max_cluster": k + more, "joint": refine, "safe": safe, "utility": utility}
    frame = frame_of([sorted(row) for row in rows])
    result = frame.txanon.disassociate(**asked)
    expected = naive.release(rows, k, m, k + more, refine=refine, safe=safe, blocks=blocks)
    assert naive.as_published(result.frame) == naive.published(expected)
    assert result.guarantee == DisassociatedKm(k=k, m=m, safe=safe)
    again = frame.iloc[::-1].txanon.disassociate(**asked)  # so that the order tells nothing
    pd.testing.assert_frame_equal(again.frame, result.frame)


# --- All tables that a release can have come from


@settings(max_examples=examples(60), deadline=None)
@given(
    rows=st.lists(st.sets(st.sampled_from("abcde"), min_size=1, max_size=3), min_size=3, max_size=8),
    m=st.integers(1, 3),
    most=st.integers(2, 3),
    safe=st.booleans(),
)
def test_who_knows_m_terms_finds_k_records_in_some_reconstruction(rows, m, most, safe):
    frame = (
        frame_of([sorted(row) for row in rows])
        .txanon.disassociate(k=2, m=m, max_cluster=most, safe=safe)
        .frame
    )
    assert naive.has_guarantee(frame, 2, m, safe, limit=5000) is not False


def random_chunks(draw):
    """A frame of chunks, by whatever means, of one cluster or of two that share a chunk."""
    joint = draw(st.booleans())
    shared, *own = [draw(st.permutations("abcdef"))[:1], *draw(st.permutations(["ab", "cd", "ef", "bc"]))]
    rows, sizes = [], []

    def parts(terms, size):
        first, second = (draw(st.sets(st.sampled_from(terms), min_size=1)) for _ in range(2))
        return ([first] * draw(st.integers(1, size)) + [second] * draw(st.integers(0, size)))[:size]

    for cluster in (1, 2)[: 1 + joint]:
        sizes.append(draw(st.integers(2, 3)))
        above = (cluster, 3 * joint, sizes[-1])
        rows.append((*above, 0, draw(st.sampled_from([[], ["x"], ["x", "y"]]))))
        for chunk in range(draw(st.integers(0, 2))):
            rows += [(*above, chunk + 1, sorted(part)) for part in parts(own[chunk], sizes[-1])]
    rows += [(3, 0, sum(sizes), 1, sorted(part)) for part in parts(shared, sum(sizes))] if joint else []
    return pd.DataFrame(rows, columns=["cluster", "joint", "size", "chunk", "items"])


@settings(max_examples=examples(120), deadline=None)
@given(data=st.data(), k=st.integers(2, 3), m=st.integers(1, 3), safe=st.booleans())
def test_what_is_audited_holds_in_all_reconstructions(data, k, m, safe):
    frame = random_chunks(data.draw)
    audit = frame.txanon.audit(DisassociatedKm(k=k, m=m, safe=safe))
    again = frame.txanon.audit(DisassociatedKm(k=k, m=m, safe=safe), independent=True)
    assert again.rows_at_risk == audit.rows_at_risk
    assert "refuted" not in set(audit.threats["why"])  # what is counted suffices
    if not audit.holds:
        return  # and may be had all the same
    assert naive.has_guarantee(frame, k, m, safe, limit=5000) is not False
    (table,) = pdanon.reconstruct(frame, random_state=0)
    for n, chunks, terms in naive.roots_of(frame):
        tables = naive.reconstructions(n, chunks, terms, 5000)
        assert tables is None or tuple(map(frozenset, table["items"])) in tables


# --- The audit


def chunks(*rows):
    return pd.DataFrame(rows, columns=["cluster", "joint", "size", "chunk", "items"])


TWO = [(1, 0, 4, 0, ["x"]), *[(1, 0, 4, 1, ["a", "b"])] * 2, *[(1, 0, 4, 2, ["c"])] * 2]


@pytest.mark.parametrize(
    ("frame", "safe", "why", "at_risk"),
    [
        (chunks(*TWO), True, [], 0),
        (chunks(*TWO, (1, 0, 4, 2, ["c", "d"])), False, ["rare"], 4),
        (chunks(*TWO, *[(1, 0, 4, 3, ["a"])] * 2), False, ["repeated"], 4),
        (chunks(*TWO, *[(1, 0, 4, 3, ["x"])] * 2), False, ["repeated"], 4),
        (chunks((1, 0, 1, 0, ["x"])), False, ["few records"], 1),
        (chunks((1, 0, 4, 0, []), *TWO[1:]), False, ["few sub-records"], 4),
        (
            chunks((1, 0, 2, 0, []), *[(1, 0, 2, c, [t]) for c, t in ((1, "a"), (2, "b")) for _ in "kk"]),
            False,
            [],
            0,
        ),
        (chunks(*TWO, *[(1, 0, 4, 3, ["d"])] * 3), False, [], 0),
        (chunks(*TWO, *[(1, 0, 4, 3, ["d"])] * 3), True, ["covered"], 4),
        (chunks(*TWO, *[(1, 0, 4, 3, ["d"])] * 4), True, ["covered"], 4),
    ],
)
def test_audits_find_each_threat(frame, safe, why, at_risk):
    audit = frame.txanon.audit(DisassociatedKm(k=2, m=2, safe=safe))
    assert audit.rows_at_risk == at_risk
    assert audit.threats["why"].tolist() == why
    moved = frame.iloc[::-1, [4, 2, 0, 3, 1]]  # rows and columns in any order, named otherwise
    moved = moved.rename(columns={"items": "terms"})
    assert moved.txanon.audit(DisassociatedKm(k=2, m=2, safe=safe)).rows_at_risk == at_risk


@pytest.mark.parametrize("most", [2, 2**63 - 2, 2**63 - 1])
def test_numbers_of_chunks_are_names_however_large(most):
    """A frame that somebody made may have any: of no two clusters may chunks be counted as one."""
    frame = chunks(*[(c, 0, 3, 0, ["x"]) for c in (1, 2, 3)], (1, 0, 3, 1, ["a"]), (3, 0, 3, 3, ["a"]))
    frame = pd.concat([frame, chunks(*[(1, 0, 3, most, ["b"])] * 2)], ignore_index=True)
    audit = frame.txanon.audit(DisassociatedKm(k=2, m=2))
    assert audit.threats["why"].tolist() == ["rare"] * 2
    assert audit.rows_at_risk == 6


def test_a_term_of_a_joint_cluster_counts_in_all_its_chunks():
    """Here d is in at least 4 of 6 records, so that one of them has c, too."""
    rows = [(1, 3, 2, 0, ["d"]), (2, 3, 4, 0, []), *[(3, 0, 6, 1, ["c"])] * 3]
    frame = chunks(*rows, *[(2, 3, 4, 1, [*each]) for each in ("e", "ad", "ad", "de")])
    assert not naive.has_guarantee(frame, 2, 1, True)
    assert frame.txanon.audit(DisassociatedKm(k=2, m=1)).holds
    audit = frame.txanon.audit(DisassociatedKm(k=2, m=1, safe=True))
    assert [sorted(each) for each in audit.threats["itemset"]] == [["c", "d"]]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([(1, 2, 2, 0, ["x"])], "a joint cluster has no rows"),
        ([(0, 0, 2, 0, ["x"])], "numbered from 1 on"),
        ([(1, 0, 2, 0, ["x"]), (1, 0, 3, 1, ["a"])], "several sizes"),
        ([(1, 0, 0, 0, ["x"])], "no number of records"),
        ([(1, 0, 2, -1, ["x"])], "numbered from 0 on"),
        ([(1, 0, 2, 1, ["x"])], "one term chunk"),
        ([(1, 0, 2, 0, ["x"])] * 2, "one term chunk"),
        ([(1, 2, 2, 0, ["x"]), (2, 0, 3, 1, ["a"])], "the records of its parts"),
        ([(1, 2, 2, 1, ["x"]), (2, 1, 2, 1, ["a"])], "a part of itself"),
        ([(1, 0, 2, 0, []), (1, 0, 2, 1, [])], "a sub-record is empty"),
        ([(1, 0, 2, 0, []), *[(1, 0, 2, 1, ["a"])] * 3], "more sub-records"),
        ([(1, 0, 2, 0, None), (1, 0, 2, 1, ["a"])], "a row is missing"),
    ],
)
def test_what_is_no_table_of_chunks_is_refused(rows, problem):
    for call in (lambda frame: frame.txanon.audit(DisassociatedKm(k=2, m=2)), pdanon.reconstruct):
        with pytest.raises(pdanon.ParameterError, match=problem):
            call(chunks(*rows))


def test_a_frame_without_the_columns_of_chunks_is_refused():
    for frame in (FEW, chunks(*TWO).astype({"size": str}), chunks(*TWO).drop(columns="joint")):
        with pytest.raises(pdanon.ColumnError, match="this is no frame of chunks"):
            frame.txanon.audit(DisassociatedKm(k=2, m=2))


# --- Releases


def test_the_release_has_rows_of_its_own_and_no_other_column():
    frame = FEW.assign(ward=[1, 2, 3, 4, 5, 6]).set_index(pd.Index(range(10, 16), name="person"))
    before = pickle.loads(pickle.dumps(frame))
    result = frame.txanon.keep("ward").disassociate(k=2, m=2)
    pd.testing.assert_frame_equal(frame, before)
    assert [*result.frame] == ["cluster", "joint", "size", "chunk", "items"]
    pd.testing.assert_index_equal(result.frame.index, pd.RangeIndex(len(result.frame)), exact=True)
    assert result.passed_through == ()
    assert result.parameters["keep"] == ["ward"]
    pd.testing.assert_index_equal(result.groups.index, frame.index)
    assert result.groups.value_counts().tolist() == result.classes["size"].tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64(), pa.date32()])
def test_items_keep_their_type(kind):
    items = (
        pa.array([1, 2, 3, 4], pa.int32()).cast(pa.int64() if kind != pa.date32() else pa.int32()).cast(kind)
    )
    lists = pa.ListArray.from_arrays([0, 2, 4, 6], items.take(pa.array([0, 1, 0, 1, 2, 3])))
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    released = frame.txanon.disassociate(k=2, m=2).frame
    assert released["items"].dtype == pd.ArrowDtype(pa.list_(kind))
    assert pdanon.reconstruct(released)[0]["items"].dtype == pd.ArrowDtype(pa.list_(kind))


def test_rows_without_items_are_in_no_cluster():
    rows = [["a"], [], ["a", "b"], None, ["b"]]
    result = frame_of(rows).txanon.disassociate(k=2, m=2)
    assert result.groups.tolist() == [0, -1, 0, -1, 0]
    assert result.classes["size"].tolist() == [3]
    expected = frame_of([row for row in rows if row]).txanon.disassociate(k=2, m=2)
    pd.testing.assert_frame_equal(result.frame, expected.frame)


@pytest.mark.parametrize("rows", [[], [[], None], [None]])
def test_tables_without_items_have_a_release_without_rows(rows):
    result = frame_of(rows).txanon.disassociate(k=2, m=2)
    assert (len(result.frame), len(result.classes), len(result.mapping)) == (0, 0, 0)
    assert result.loss.eq(0).all()
    assert result.frame.txanon.audit(DisassociatedKm(k=2, m=2)).holds
    assert len(pdanon.reconstruct(result)[0]) == 0


def test_equal_rows_are_one_cluster_and_lose_nothing():
    result = frame_of([["a", "b"]] * 50).txanon.disassociate(k=2, m=None)
    assert bags_of(result.frame) == {(1, 0): {"": 1}, (1, 1): {"a b": 50}}
    assert result.loss.eq(0).all()


def test_losses_are_those_of_the_formulas():
    result = FEW.txanon.disassociate(k=2, m=2, joint=False)
    parts = [row for row, chunk in zip(result.frame["items"], result.frame["chunk"], strict=True) if chunk]
    assert result.loss["term_chunks"] == pytest.approx(1 - sum(map(len, parts)) / 10)
    assert result.loss["tlost"] == pytest.approx(sum(all(t not in row for row in parts) for t in "abcd") / 4)
    (table,) = pdanon.reconstruct(result, random_state=np.random.default_rng(0))
    errors = []
    for pair in combinations("abcd", 2):
        before, after = (sum({*pair} <= {*row} for row in each["items"]) for each in (FEW, table))
        errors += [abs(before - after) / ((before + after) / 2)] if before + after else []
    assert result.loss["re"] == pytest.approx(sum(errors) / len(errors))
    assert list(result.loss.index) == ["term_chunks", "tlost", "re"]


def test_no_item_that_no_row_shows_is_released():
    items = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1, 2]), pa.array([SECRET, "a", "b"]))
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 4]), items)
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    assert SECRET.encode() not in pickle.dumps(frame.txanon.disassociate(k=2, m=2).frame)


# --- Reconstructions


def test_reconstructions_hold_what_is_published():
    result = DIAGNOSES.txanon.disassociate(k=3, m=2, utility=TOGETHER)
    tables = pdanon.reconstruct(result, n=20, random_state=1)
    for table in tables:
        supports = table["items"].itemset.supports()
        assert len(table) == 10
        assert table["items"].itemset.lengths.min() >= 1
        assert table["items"].itemset.support(["834.0", "944.01"]) == 3
        assert (supports[["296.00", "294.10", "692.71"]] == [5, 4, 4]).all()
        assert supports["401.0"] >= 1
    assert len({str(table["items"].tolist()) for table in tables}) > 1
    for one, other in zip(tables, pdanon.reconstruct(result.frame, 20, random_state=1), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_no_reconstructed_record_is_empty():
    """The first chunk must not share its records where later chunks could not fill the others."""
    frame = frame_of([["a"], ["c", "e"], ["a", "d", "e"], ["a"], ["a", "c", "d"]])
    tables = pdanon.reconstruct(frame.txanon.disassociate(k=2, m=2), n=20, random_state=1)
    assert min(table["items"].itemset.lengths.min() for table in tables) == 1


# --- Refusals


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"k": 7}, "k is larger than the number of rows"),
        ({"k": 1}, "k must be an integer of at least 2"),
        ({"k": 2, "m": 0}, "m must be an integer of at least 1"),
        ({"k": 3, "max_cluster": 2}, "max_cluster must be an integer of at least 3"),
        ({"k": 2, "safe": 1}, "safe must be True or False"),
        ({"k": 2, "joint": None}, "joint must be True or False"),
        ({"k": 2, "refine": True}, "its name is joint"),
        ({"k": 2, "utility": [["a"], ["a"]]}, "blocks must be disjoint"),
    ],
)
def test_what_cannot_be_is_refused(asked, problem):
    with pytest.raises(pdanon.PdanonError, match=problem):
        FEW.txanon.disassociate(**asked)


def test_a_list_column_with_the_name_of_another_one_is_refused():
    with pytest.raises(pdanon.ColumnError, match="another column of that name"):
        FEW.rename(columns={"items": "size"}).txanon.disassociate(k=2)


def test_rows_that_are_elsewhere_are_refused(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pdanon.dask")
    frame = FEW.assign(items=pdanon.as_itemsets(FEW["items"]))
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    with pytest.raises(pdanon.ParameterError, match="needs all rows at once"):
        pdanon.stream.disassociate(tmp_path / "in.parquet", tmp_path / "out", k=2)
    with pytest.raises(pdanon.ParameterError, match="needs all rows at once"):
        dd.from_pandas(frame, npartitions=2).txanon.disassociate(k=2)


def test_sub_records_have_no_risk_of_records():
    result = FEW.txanon.disassociate(k=2)
    with pytest.raises(pdanon.ParameterError, match="no records"):
        result.plot.risk(FEW)
    with pytest.raises(pdanon.ParameterError):
        result.explain("a", FEW)


# --- What goes by the record


def test_a_guarantee_alone_finds_it():
    result = FEW.txanon.anonymize(DisassociatedKm(k=2, m=2, safe=True))
    assert result.parameters["algorithm"] == "disassociate"
    assert result.guarantee == DisassociatedKm(k=2, m=2, safe=True)
    assert result.tried["loss"].tolist() == [result.loss["term_chunks"]]


def test_the_command_line_writes_a_release_that_can_be_audited(tmp_path, capsys):
    frame = DIAGNOSES.assign(items=pdanon.as_itemsets(DIAGNOSES["items"]))
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    paths = [str(tmp_path / name) for name in ("in.parquet", "out.parquet")]
    asked = [
        "-k",
        "3",
        "-m",
        "2",
        "--no-joint",
        "--max-cluster",
        "5",
        "--report",
        str(tmp_path / "page.html"),
    ]
    assert main(["anonymize", *paths, "--algorithm", "disassociate", *asked]) == 0
    assert "DisassociatedKm(k=3, m=2, safe=False), audited" in capsys.readouterr().out
    old = [*asked[:4], "--refine"]
    assert main(["anonymize", *paths, "--overwrite", "--algorithm", "disassociate", *old]) == 2
    assert "its name is joint (--joint)" in capsys.readouterr().err
    released = pdanon.read_parquet(paths[1])
    assert released.txanon.audit(DisassociatedKm(k=3, m=2)).holds
    expected = DIAGNOSES.txanon.disassociate(k=3, m=2, joint=False, max_cluster=5).frame
    assert naive.as_published(released) == naive.as_published(expected)


def test_reports_and_comparisons_show_what_is_lost():
    result = DIAGNOSES.txanon.disassociate(k=3, m=2)
    page = render(result, original=DIAGNOSES)
    assert "Clusters of records" in page
    assert "Number of clusters by their number of records." in page
    records, parts = sum(map(bool, DIAGNOSES["items"])), len(result.frame)
    assert repr(result).startswith(f"Anonymized: {records} records in {parts} parts, disassociate\n")
    assert f"{records} records in {parts} parts, by disassociate" in page
    clusters = result.classes[~result.classes["cluster"].isin(result.classes["joint"])]
    assert f"clusters   {len(clusters)}, the smallest of {clusters['size'].min()} records" in repr(result)
    assert "Risk before and after" not in page
    table = pdanon.compare(DIAGNOSES, {"disassociate": {"k": 3}}, vary={"safe": [False, True]})
    assert table["holds"].tolist() == [True, True]
    assert table["tlost"].notna().all()


def test_parts_are_not_compared_with_rows():
    result = DIAGNOSES.txanon.disassociate(k=3, m=2)
    queries = pdanon.Workload.itemsets(DIAGNOSES, n=20, size=2, random_state=1)
    (table,) = pdanon.reconstruct(result, n=1, random_state=0)
    held = DIAGNOSES[DIAGNOSES["items"].map(len) > 0]
    assert len(queries.are(held, table).table) == 20
    calls = [
        lambda: queries.are(DIAGNOSES, result),
        lambda: queries.are(DIAGNOSES, result.frame),
        lambda: pdanon.attack(DIAGNOSES, result, m=2),
        lambda: result.frame.txanon.risk(k=3),
        lambda: result.frame.txanon.profile(),
        lambda: DIAGNOSES.txanon.tradeoff(k=[3], m=[1], algorithm="disassociate"),
    ]
    for call in calls:
        with pytest.raises(pdanon.ParameterError, match="a release in chunks are no records"):
            call()
    with pytest.raises(pdanon.ParameterError, match="the rows of the original that have an item"):
        queries.are(pd.concat([DIAGNOSES, DIAGNOSES.assign(items=[[]] * len(DIAGNOSES))]), table)


# --- Real data


@pytest.mark.slow
@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("name", ["bms_webview1", "bms_webview2"])
def test_real_baskets_are_recounted_by_plain_loops(data, name, safe):
    frame = pdanon.read_parquet(data / f"{name}.parquet")
    result = frame.txanon.disassociate(k=5, m=2, safe=safe)
    released = result.frame
    clusters = released[~released["cluster"].isin(released["joint"])]
    assert clusters.groupby("cluster")["size"].first().sum() == len(frame)
    parts = released[released["chunk"] > 0]
    for _, rows in parts.groupby(["cluster", "chunk"])["items"]:
        counts = Counter(pair for row in rows for n in (1, 2) for pair in combinations(sorted(row), n))
        assert min(counts.values()) >= 5
    (table,) = pdanon.reconstruct(result, random_state=0)
    before, after = (each["items"].itemset.supports() for each in (frame, table))
    assert len(table) == len(frame)
    rare = {item for row in released["items"][released["chunk"] == 0] for item in row}
    exact = [item for item in before.index if item not in rare]
    assert (after[exact] == before[exact]).all()
    assert len(after) == len(before)
