"""Real baskets: published statistics, and releases recounted by products of sparse matrices."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from examples import ALL
from pdanon import Coherence, KmAnonymity
from pdanon.itemsets.dtype import arrow_values

# Rows, items, longest row and mean length, as published with the data sets.
STATISTICS = {
    "bms_webview1": (59602, 497, 267, 2.51),
    "bms_webview2": (77512, 3340, 161, 4.62),
    "fimi_retail": (88162, 16470, 76, 10.31),
    "fimi_t10i4d100k": (100000, 870, 29, 10.10),
    "groceries": (9835, 169, 32, 4.41),
    "uci_msweb_train": (32711, 285, 35, 3.02),
    "foodmart_baskets_1997": (20530, 1559, 17, 4.23),
}
BMS = ["bms_webview1", "bms_webview2"]


@pytest.fixture
def read(data):
    """Read a data set into a frame with a column of Arrow lists."""

    def read(name):
        path = data / f"{name}.parquet"
        if not path.is_file():
            pytest.skip(f"no {name}")
        lists = pq.read_table(path, columns=["items"])["items"]
        return pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})

    return read


def incidence(frame):
    """Rows by items, 0 or 1, from the lists as Python gives them; nothing of pdanon."""
    rows = pa.array(frame["items"]).to_pylist()
    number = {}
    places = [[number.setdefault(item, len(number)) for item in row or ()] for row in rows]
    assert all(len(set(row)) == len(row) for row in places)
    offsets = np.cumsum([0, *map(len, places)])
    columns = np.concatenate([np.array(row, np.int64) for row in places])
    return csr_array((np.ones(len(columns), np.int64), columns, offsets), (len(rows), len(number)))


def pair_supports(matrix):
    """Supports of items on the diagonal, of pairs beside it; only what occurs."""
    return (matrix.T @ matrix).tocoo()


def rows_with_rare_pairs(matrix, k):
    """Number of rows that hold an item or a pair of a support below k."""
    counts = pair_supports(matrix)
    rare = counts.data < k
    pairs = csr_array((np.ones(rare.sum()), (counts.row[rare], counts.col[rare])), counts.shape)
    return int(((matrix @ pairs).multiply(matrix).sum(axis=1) > 0).sum())


def rare_triples(matrix, k):
    """Number of triples with a support in (0, k), from the pairs within the rows of each item."""
    columns = matrix.tocsc()
    found = 0
    for item in range(matrix.shape[1]):
        rows = columns.indices[columns.indptr[item] : columns.indptr[item + 1]]
        counts = pair_supports(matrix[rows])
        others = (counts.row > counts.col) & (counts.row != item) & (counts.col != item)
        found += int(((counts.data < k) & others).sum())
    return found // 3


@pytest.mark.parametrize("name", STATISTICS)
def test_published_statistics(name, read):
    described = read(name)["items"].itemset.describe()
    rows, items, longest, mean = STATISTICS[name]
    assert described[["rows", "items", "longest"]].tolist() == [rows, items, longest]
    assert round(described["mean length"], 2) == mean


@pytest.mark.slow
@pytest.mark.parametrize("name", BMS if ALL else BMS[:1])
def test_risk_of_real_baskets_is_the_sparse_recount(name, read):
    frame = read(name)
    matrix = incidence(frame)
    table = frame.txanon.risk(k=5, m=2)
    overall = table[table["items"].isna()].set_index("known")
    lone = matrix[:, matrix.sum(axis=0) < 5]
    assert overall.loc[1, "below_k"] == (lone.sum(axis=1) > 0).mean()
    assert overall.loc[2, "below_k"] == rows_with_rare_pairs(matrix, 5) / len(frame)
    assert overall.loc[2, "singled_out"] == rows_with_rare_pairs(matrix, 2) / len(frame)
    at_risk = frame.txanon.audit(KmAnonymity(5, 2)).rows_at_risk
    assert at_risk == rows_with_rare_pairs(matrix, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", BMS)
def test_released_baskets_have_no_rare_pair(name, read):
    df = read(name)
    before = [buffer and buffer.to_pybytes() for buffer in arrow_values(df["items"]).chunk(0).buffers()]
    frame, mapping = df.txanon.pcta(k=5, m=2)
    counts = pair_supports(incidence(frame))
    assert counts.data.min() >= 5
    assert frame.txanon.audit(KmAnonymity(k=5, m=2)).holds
    after = [buffer and buffer.to_pybytes() for buffer in arrow_values(df["items"]).chunk(0).buffers()]
    assert after == before

    became = dict(zip(mapping["item"], mapping["generalized"], strict=True))
    originals, released = (pa.array(each["items"]).to_pylist() for each in (df, frame))
    assert released == [sorted({became[item] for item in row}) for row in originals]
    supports = pd.Series(np.concatenate([np.array(row) for row in originals])).value_counts()
    assert mapping.set_index("item")["support"].to_dict() == supports.to_dict()


@pytest.mark.slow
def test_released_baskets_have_no_rare_triple(read):
    df = read("bms_webview1")
    assert rare_triples(incidence(df), 5) > 100_000
    frame, _ = df.txanon.pcta(k=5, m=3)
    matrix = incidence(frame)
    assert pair_supports(matrix).data.min() >= 5
    assert rare_triples(matrix, 5) == 0
    assert frame.txanon.audit(KmAnonymity(k=5, m=3)).holds


@pytest.mark.slow
def test_released_baskets_have_no_rare_row(read):
    """Whatever is known of a row, k rows match: at least so many hold all of it."""
    df = read("bms_webview1")
    frame, mapping = df.txanon.pcta(k=5, m=None)
    rows = [frozenset(row) for row in pa.array(frame["items"]).to_pylist()]
    holders = {}
    for number, row in enumerate(rows):
        for item in row:
            holders.setdefault(item, set()).add(number)
    matching = [len(set.intersection(*sorted(map(holders.get, row), key=len))) for row in set(rows)]
    assert min(matching) >= 5
    assert 1 < mapping["generalized"].nunique() < df["items"].itemset.describe()["items"]
    assert frame.txanon.audit(KmAnonymity(k=5, m=None)).holds


@pytest.mark.parametrize("m", [1, 2])
def test_released_groceries_are_in_their_categories(m, read, data):
    """A hierarchy with categories that are named like one of their own leaves."""
    path = data / "hierarchies" / "groceries_hierarchy.csv"
    df = read("groceries")
    frame, mapping = df.txanon.apriori(k=5, m=m, hierarchy=path)
    matrix = incidence(frame)
    assert (matrix.sum(axis=0) if m == 1 else pair_supports(matrix).data).min() >= 5
    with path.open(newline="", encoding="utf-8") as file:
        above = {leaf: path for leaf, *path in csv.reader(file, delimiter=";")}
    became = dict(zip(mapping["item"], mapping["generalized"], strict=True))
    kept = [item for item, label in became.items() if label == item]
    raised = [item for item in became if item not in kept]
    assert kept
    assert raised
    assert all(became[item].removesuffix(" (category)") in above[item] for item in raised)
    # No label is that of an item that it does not mean, and none is published beside one of its leaves.
    assert all(label not in above or label in kept for label in became.values())
    for item, label in became.items():
        inside = [other for other in above if label.removesuffix(" (category)") in above[other]]
        assert item in kept or all(became[other] == label for other in inside if other in became)


def moles_of_groceries(matrix, items, private, k):
    """Support of each minimal mole of one or two public items for h = 2/5, from dense matrices of pairs."""
    x = matrix.toarray().astype(np.float64)  # whose products are quicker than those of integers, and as exact
    counts = x.T @ x
    peaks = np.zeros_like(counts)
    for item in private & items.keys():
        holding = x[x[:, items[item]] > 0]
        peaks = np.maximum(peaks, holding.T @ holding)
    moles = (counts > 0) & ((counts < k) | (5 * peaks > 2 * counts))
    public = np.array([item not in private for item in items])
    single = np.diagonal(moles) & public
    free = public & ~single
    pairs = np.triu(moles & free & free[:, None], 1)
    names = [*items]
    found = {frozenset([names[a]]): counts[a, a] for a in np.flatnonzero(single)}
    return found | {
        frozenset([names[a], names[b]]): counts[a, b] for a, b in zip(*np.nonzero(pairs), strict=True)
    }


@pytest.mark.slow
def test_groceries_are_coherent_by_a_dense_recount(read):
    df = read("groceries")
    supports = df["items"].itemset.supports()
    private = set(supports[supports < len(df) / 10].index[::4])

    def recount(frame):
        items = {}
        for row in pa.array(frame["items"]).to_pylist():
            for item in row:
                items.setdefault(item, len(items))
        return moles_of_groceries(incidence(frame), items, private, 20)

    guarantee = Coherence(h=0.4, k=20, p=2, private=private)
    threats = df.txanon.audit(guarantee).threats
    found = dict(zip(map(frozenset, threats["itemset"]), threats["support"], strict=True))
    assert found == recount(df)
    assert set(threats["why"]) == {"support", "breach"}
    for criterion in ("mm/il", "mm", "1/il"):
        result = df.txanon.coherence(h=0.4, k=20, p=2, private=private, criterion=criterion)
        assert recount(result.frame) == {}
        assert result.mapping["generalized"].notna().sum() > len(private)
