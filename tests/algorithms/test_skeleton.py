"""Decisions by the supports of pairs and some rows: they equal those for all rows."""

import weakref
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pdanon
from examples import examples, seeds, some
from pdanon import stream
from pdanon.algorithms import engines
from pdanon.algorithms.engines import Recoder, Request, plan, suffices
from pdanon.errors import GuaranteeError, InfeasibleError
from pdanon.itemsets import encoded_columns
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import PairCounts, collapse_columns


def draw(rng):
    """Rows of skewed items, some of them missing or empty."""
    n_rows, n_items, length = rng.integers(2, 250), rng.integers(1, 25), rng.integers(1, 7)
    odds = rng.dirichlet(np.full(n_items, rng.choice([0.2, 1, 5])))
    rows = [
        None
        if rng.random() < 0.03
        else [f"i{x:02}" for x in rng.choice(n_items, rng.poisson(length), p=odds)]
        for _ in range(n_rows)
    ]
    return pa.array(rows, pa.list_(pa.string()))


def call(rng, lists):
    """An algorithm and parameters for which a skeleton suffices."""
    algorithm = str(rng.choice(["pcta", "coat", "upcta"]))
    k = int(rng.integers(2, 51) if rng.random() < 0.3 else rng.integers(2, 8))
    chosen = {"k": k, "m": int(rng.integers(1, 3))}
    items = sorted({item for row in lists.to_pylist() for item in row or ()})
    if algorithm != "pcta" and rng.random() < 0.5:
        chosen["utility"] = {each: items[each::3] for each in range(min(3, len(items)))} or None
    if rng.random() < 0.3:
        chosen["weights"] = {item: round(rng.random(), 3) for item in items}
    if algorithm != "upcta" and rng.random() < 0.3:
        chosen["random_state"] = int(rng.integers(9))
    if rng.random() < 0.2 and "utility" not in chosen and items:
        sets = pd.Series([f"s{number % 7}" for number in range(len(items))])
        chosen["start"] = pd.DataFrame({"group": 0, "item": items, "generalized": sets, "support": 1})
    return algorithm, chosen


def decided(decide):
    """The release and its losses, or the reason why there is none."""
    try:
        decision = decide()
    except InfeasibleError as error:
        return str(error)
    return decision.mapping.to_dict("list"), decision.loss.drop("pairs").to_dict()


def by_pairs(batches, algorithm, parameters, fetch=None):
    counts = reduce(PairCounts.merge, map(PairCounts.of, batches))
    return plan(algorithm, parameters).by_pairs(counts, fetch or (lambda request: map(request.find, batches)))


def encode(lists, parts=3):
    bounds = np.linspace(0, len(lists), parts + 1).astype(int)
    return [Itemsets.from_arrow(lists[a:b]) for a, b in pairwise(bounds)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(400))
def test_a_skeleton_decides_like_all_rows(seed):
    rng = np.random.default_rng(seed)
    lists = draw(rng)
    batches, (algorithm, parameters) = encode(lists), call(rng, lists)
    rows = collapse_columns(([each] for each in batches), 1)
    expected = decided(lambda: plan(algorithm, parameters).by_rows(rows))
    assert decided(lambda: by_pairs(batches, algorithm, parameters)) == expected


@pytest.mark.slow
@pytest.mark.seeds
def test_no_decision_holds_rows_while_others_are_fetched(monkeypatch):
    """Neither an interim decision nor the reason why there is none."""
    held, decide = [], engines._decide_lists

    def decide_lists(columns, *given):
        held.append(weakref.ref(columns.itemsets.codes))
        return decide(columns, *given)

    def fetch(request):
        assert held
        assert all(each() is None for each in held)
        return map(request.find, batches)

    monkeypatch.setattr(engines, "_decide_lists", decide_lists)
    rounds, failed = [], 0
    for seed in range(examples(120, part=6)):
        rng = np.random.default_rng(seed)
        lists = draw(rng)
        batches, (algorithm, parameters) = encode(lists), call(rng, lists)
        held.clear()
        try:
            rounds.append(len(by_pairs(batches, algorithm, parameters, fetch).rounds))
        except InfeasibleError:
            failed += 1
    assert max(rounds) > 2
    assert failed


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["pcta", "coat"])
@pytest.mark.parametrize(
    "name",
    some(
        [
            *("bms_webview1", "bms_webview2", "fimi_t10i4d100k", "groceries", "uci_msweb_train"),
            *("foodmart_baskets_1997", "rt_informs2005", "rt_diabetes130_patients_icd9"),
            *("rt_synthea1k_conditions_snomed", "completejourney_baskets_product_type"),
            *("fimi_connect_head10000", "rt_foodmart_customers_1997", "quest_t40i10d100k_head10000"),
        ]
    ),
)
def test_a_skeleton_decides_like_all_rows_of_real_data(name, algorithm, data):
    table = pq.read_table(data / f"{name}.parquet")
    lists = next(each for each in table.schema if pa.types.is_list(each.type)).name
    batches = [Itemsets.from_arrow(table[lists])]
    rows = collapse_columns([batches], 1)
    for k, m in ((2, 2), (5, 1), (5, 2), (50, 2)):
        expected = decided(lambda k=k, m=m: plan(algorithm, {"k": k, "m": m}).by_rows(rows))
        assert decided(lambda k=k, m=m: by_pairs(batches, algorithm, {"k": k, "m": m})) == expected


def test_requests_return_each_row_once():
    rows = Itemsets.from_arrow_unsorted(
        pa.array([["c", "a", "b"], ["a", "b", "a"], ["a", "c", "d"], ["d"] * 3])
    )
    items = pa.array(["a", "b", "c", "d"])
    first = Request(items, (np.array([0, 0, 2, 3], np.int32),), (9,))
    found = first.find(rows)
    assert (found.codes.tolist(), found.weights.tolist()) == ([0, 1, 2], [1])  # two items need no row
    second = replace(first, labels=(*first.labels, np.array([0, 0, 0, 0], np.int32)), longest=(9, 9))
    assert second.find(rows).codes.tolist() == [0, 2, 3]
    longest = replace(first, labels=(np.arange(4, dtype=np.int32),), longest=(2,))
    assert len(longest.find(rows).weights) == 2
    assert first.find(Itemsets.from_arrow(pa.array([["a", "e"]]))) is None


def test_where_a_skeleton_does_not_suffice():
    asked = {"guarantee": pdanon.KmAnonymity(5)}
    assert suffices("pcta", asked)
    assert suffices("coat", {"guarantee": pdanon.KmAnonymity(5, 1)})
    for more in (
        {"guarantee": pdanon.KmAnonymity(5, 3)},
        {"guarantee": pdanon.KmAnonymity(5, None)},
        {"guarantee": pdanon.PrivacyConstraints(constraints=[["a"]], k=5)},
        {"guarantee": pdanon.LmDiversity(l=2, m=2, k=5, sensitive=["a"])},
        {"refine": True},
        {"random_state": np.random.default_rng(0)},
    ):
        assert not suffices("pcta", asked | more)
    assert not suffices("coat", asked | {"max_suppressed": 0.1})
    assert not suffices("apriori", asked | {"hierarchy": 5})


# --- Files and partitions


@pytest.fixture
def few(monkeypatch):
    """Pairs are counted for small tables."""
    monkeypatch.setattr(encoded_columns, "FIRST_ROWS", 20)
    monkeypatch.setattr(encoded_columns, "MANY_ROWS", 100)


def baskets():
    rng = np.random.default_rng(5)
    odds = rng.dirichlet(np.full(14, 0.8))
    rows = [[f"i{x:02}" for x in rng.choice(14, rng.integers(1, 9), p=odds)] for _ in range(900)]
    return pd.DataFrame({"items": pdanon.as_itemsets([*rows, [], None])})


@pytest.mark.parametrize("algorithm", ["pcta", "coat"])
def test_files_are_released_by_rounds(few, algorithm, tmp_path):
    frame = baskets()
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", row_group_size=200)
    result = getattr(stream, algorithm)(tmp_path / "rows.parquet", tmp_path / "out.parquet", k=5)
    expected = getattr(pdanon, algorithm)(frame, k=5)
    assert pdanon.read_parquet(tmp_path / "out.parquet")["items"].tolist() == expected.frame["items"].tolist()
    assert result.mapping.equals(expected.mapping)
    assert result.loss.drop("pairs").equals(expected.loss.drop("pairs"))
    assert (result.guarantee, result.rows, result.risk) == (expected.guarantee, 902, None)
    assert list(result.rounds) == ["labels", "rows", "bytes"]
    assert result.rounds["labels"].iloc[-1] == expected.mapping["generalized"].nunique()
    assert (result.rounds["rows"].iloc[-1], (result.rounds["rows"].iloc[:-1] > 0).all()) == (0, True)


def test_a_wrong_release_of_files_is_withheld_with_its_number_of_rows(few, tmp_path, monkeypatch):
    pq.write_table(pa.Table.from_pandas(baskets()), tmp_path / "rows.parquet")
    messages = []
    for many in (100, 10**6):  # by pairs, and by rows
        monkeypatch.setattr(encoded_columns, "MANY_ROWS", many)
        with monkeypatch.context() as patch:
            patch.setattr(Recoder, "labels", property(keep_items))
            with pytest.raises(GuaranteeError) as problem:
                stream.pcta(tmp_path / "rows.parquet", tmp_path / "out.parquet", k=5)
        messages.append(str(problem.value))
    assert messages[0] == messages[1]


def keep_items(self):
    """Publish all items as they are."""
    items = self.mapping["item"].array
    found = Itemsets.from_arrow(pa.array([[each] for each in items], pa.list_(pa.string()))).vocabulary
    return found, pa.DictionaryArray.from_arrays(np.arange(len(items), dtype=np.int32), found)


def test_partitions_are_released_by_rounds(few):
    dd = pytest.importorskip("dask.dataframe")
    import pdanon.dask

    frame = baskets()
    result = dd.from_pandas(frame, npartitions=5).txanon.pcta(k=5)
    expected = pdanon.pcta(frame, k=5)
    assert result.frame.compute()["items"].tolist() == expected.frame["items"].tolist()
    assert result.mapping.equals(expected.mapping)
    assert (result.rows, result.risk) == (902, None)
    assert result.rounds["rows"].iloc[-1] == 0
