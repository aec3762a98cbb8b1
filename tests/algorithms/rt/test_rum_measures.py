"""Other measures of quasi-identifiers, weights, and what does not count: against the loops written out."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import assume, given, settings, strategies as st
from naive import rt as naive
from naive.relational import Table
from test_rt_merging import COLUMNS, ITEMS, QUASI, TREE, WORLD, as_lists, clustered, encoded, merges, people

import pdanon
from examples import examples
from pdanon import ColumnError, InfeasibleError, ParameterError
from pdanon.algorithms.relational.quasi import QuasiTable, column_weights
from pdanon.algorithms.rt.dataset import Dataset
from pdanon.algorithms.rt.rum_bound import MEASURES, Merging, Rum, merge_next
from pdanon.itemsets.codes import Itemsets

TREES = {"region": TREE}
ASKED = {"k": 2, "m": 2, "quasi": {**dict.fromkeys(COLUMNS), **TREES}, "random_state": 0}
ASKED |= {"transaction": pdanon.Transaction(refine=False)}


class Measured:
    """A table whose clusters lose by another measure; weights are those of its columns."""

    def __init__(self, table: Table, name: str, weights=(1, 1, 1)):
        self.table, self.name, self.weights = table, name, weights

    def penalty(self, cluster):
        if self.name in ("DM", "C_avg"):
            return len(cluster)
        rows = [self.table.rows[number] for number in cluster]
        parts = zip(self.table.columns, zip(*rows, strict=True), self.weights, strict=True)
        lost = [Fraction(weight) * column.penalty(part) for column, part, weight in parts]
        return sum(lost) if self.name == "NCP" else sum(each * each for each in lost) ** Fraction(1, 2)

    def share(self, clusters):
        """What delta bounds."""
        n_rows = len(self.table.rows)
        if self.name == "C_avg":
            return Fraction(1, len(clusters))
        total = sum(len(each) * self.penalty(each) for each in clusters)
        if self.name == "DM":
            return Fraction(total, n_rows**2)
        most = sum(self.weights) if self.name == "NCP" else sum(w * w for w in self.weights) ** 0.5
        return total / (most * n_rows)


def naive_merges(table, clusters, bound, merge, far):
    """Rum-bound, as `naive.rt.rum_bound`, for any measure."""
    while len(clusters) > 1:
        seed, others = naive.candidates(table, clusters, merge, far)
        tried = others[:1] if merge == "R" else others
        allowed = [each for each in tried if table.share(naive.merged(clusters, seed, each)) <= bound]
        if not allowed:
            break
        clusters = naive.merged(clusters, seed, allowed[0])
    return clusters


def weighted(trees, **own):
    """A weight and a hierarchy, or none, for each column."""
    return {label: (weight, trees.get(label)) for label, weight in own.items()}


weights = st.lists(st.sampled_from([0, 0.25, 0.5, 1]), min_size=3, max_size=3).filter(any)


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(clustered(), merges, st.integers(0, 100), st.sampled_from(MEASURES), weights)
def test_merges_by_any_measure(given_rows, merge, percent, name, own):
    rows, clusters = given_rows
    frame, groups, table, items = encoded(rows, clusters)
    table = Measured(table, name, own)
    bound = Fraction(percent, 100)
    assume(table.share(clusters) <= bound)
    encoded_table = QuasiTable.of(frame, weighted(TREES, **dict(zip(COLUMNS, own, strict=True))))
    rum = Rum.of(name, encoded_table, len(rows))
    state = Merging(encoded_table, groups, Itemsets.from_series(frame["items"]), rum)
    assert rum.share(state.total) == pytest.approx(float(table.share(clusters)), abs=1e-7)
    if name == "Minkowski":  # roots are rounded: a bound in between, and no ties
        bound += Fraction(1, 10**6)
    steps = 0
    while merge_next(state, rum.limit(bound), merge, None):
        steps += 1
    expected = naive_merges(table, clusters, bound, merge, lambda rows: naive.btd([items[n] for n in rows]))
    assert as_lists(state) == expected
    assert steps == len(clusters) - len(expected)
    assert rum.share(state.total) == pytest.approx(float(table.share(expected)), abs=1e-7)


def some_rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = frame_of([rng.choice(list("uvwxyz"), rng.integers(0, 4), replace=False) for _ in range(n)])
    return frame.assign(
        age=rng.integers(0, 50, n), city=rng.choice(list("klm"), n), region=rng.choice(list("abcdef"), n)
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("function", [pdanon.rum_bound, pdanon.tum_bound])
def test_the_trace_ends_with_the_release(function, name):
    result = function(some_rows(), delta=0.6, rum=name.lower(), **ASKED)
    trace = result.trace
    assert [*trace.columns] == ["clusters", "Rum", "Tum"]
    assert trace["clusters"].tolist() == [*range(trace["clusters"][0], trace["clusters"].iloc[-1] - 1, -1)]
    assert trace["Rum"].is_monotonic_increasing
    last = trace.iloc[-1]
    assert last["clusters"] == len(result.classes)
    assert last["Tum"] == pytest.approx(result.loss["NCP"])
    sizes = result.classes["size"].to_numpy()
    expected = {
        "NCP": result.loss["NCP_relational"],
        "DM": sizes @ sizes / 40**2,
        "C_avg": 1 / len(sizes),
        "Minkowski": last["Rum"],
    }
    assert last["Rum"] == pytest.approx(expected[name])
    assert ("Rum" in result.loss) == (name != "NCP")
    assert result.loss.get("Rum", last["Rum"]) == last["Rum"]
    assert result.parameters["rum"] == name
    if function is pdanon.rum_bound:
        assert last["Rum"] <= 0.6
        assert trace["Tum"].iloc[:-1].isna().all()
    else:
        assert (trace["Tum"].iloc[:-1] > 0.6).all()


@pytest.mark.parametrize("name", MEASURES)
def test_blocks_share_the_bound_of_any_measure(name):
    frame = some_rows(120)
    result = pdanon.rum_bound(frame, delta=0.3, rum=name, block_rows=30, **ASKED)
    assert result.trace["Rum"].iloc[-1] <= 0.3
    assert result.trace["clusters"].iloc[-1] >= len(result.classes)
    assert len(result.trace) > 1


@pytest.mark.parametrize("name", MEASURES)
def test_no_rows_lose_nothing(name):
    result = pdanon.rum_bound(some_rows().head(0), delta=0, rum=name, **ASKED)
    assert result.trace[["Rum", "Tum"]].to_numpy().tolist() == [[0, 0]]


def test_the_least_is_told_for_any_measure():
    for name in MEASURES:
        with pytest.raises(InfeasibleError, match=r"they lose 0\.\d+") as caught:
            pdanon.rum_bound(some_rows(), delta=0.001, rum=name, **ASKED)
        least = float(str(caught.value).split("they lose ")[1].split()[0])
        assert pdanon.rum_bound(some_rows(), delta=least, rum=name, **ASKED).trace["Rum"].iloc[-1] <= least


# --- weights of quasi-identifiers


def test_weights_are_those_of_the_loss():
    frame = people([set(items) - set("GH") for items in ITEMS])
    asked = {"k": 2, "m": 2, "random_state": 0, "delta": 1}
    asked["quasi"] = weighted(WORLD, **dict.fromkeys(QUASI, 1) | {"age": 0.5, "gender": 0})
    for name in ("rum_bound", "tum_bound", "rfirst", "cluster"):
        function = getattr(pdanon, name)
        taken = asked.keys() & inspect.signature(function).parameters.keys()
        rows = frame if name != "cluster" else frame.drop(columns="items")
        result = function(rows, **{key: asked[key] for key in taken})
        ages = [0 if each.length == 0 else each.length / 51 for each in result.frame["age"]]
        places = {"*": 1, "Africa": 2 / 6, "Europe": 4 / 6}
        origins = [places.get(each, 0) for each in result.frame["origin"]]
        expected = np.mean([(0.5 * age + origin) / 1.5 for age, origin in zip(ages, origins, strict=True)])
        assert result.loss["NCP_relational"] == pytest.approx(expected), name
        if name != "cluster":
            again = pdanon.refine(frame, result)
            assert again.loss["NCP_relational"] == pytest.approx(expected)


def test_equal_weights_are_none():
    frame = some_rows()
    plain = pdanon.rum_bound(frame, delta=0.5, **ASKED)
    halves = pdanon.rum_bound(
        frame, delta=0.5, **ASKED | {"quasi": weighted(TREES, **dict.fromkeys(COLUMNS, 0.5))}
    )
    pd.testing.assert_frame_equal(plain.frame, halves.frame)
    assert plain.loss.equals(halves.loss)
    assert column_weights(dict.fromkeys(COLUMNS, 1) | {"age": 0.5}) == [1, 2, 2]


@pytest.mark.parametrize(
    "bad",
    [
        {"age": 1.1},
        {"age": -0.1},
        {"age": np.nan},
        {"age": True},
        dict.fromkeys(COLUMNS, 0),
        {},
        0.5,
    ],
    ids=str,
)
def test_refused_weights(bad):
    with pytest.raises(ParameterError, match="quasi"):
        pdanon.rum_bound(some_rows(), delta=1, **ASKED | {"quasi": bad})


def test_weights_of_columns_are_passed_with_the_columns():
    with pytest.raises(ColumnError, match="nowhere"):
        pdanon.rum_bound(some_rows(), delta=1, **ASKED | {"quasi": {"nowhere": 1}})
    with pytest.raises(TypeError, match="has no parameter 'quasi_weights'") as caught:
        pdanon.rum_bound(some_rows(), delta=1, quasi_weights={"age": 0.5}, **ASKED)
    assert "quasi={'age': 0.5, 'sex': 1}" in str(caught.value)


@pytest.mark.parametrize("bad", ["UL", "ncpp", None, 3, ["NCP"]], ids=str)
def test_refused_measures(bad):
    for function in (pdanon.rum_bound, pdanon.tum_bound):
        with pytest.raises(ParameterError, match="rum"):
            function(some_rows(), delta=1, rum=bad, **ASKED)


# --- the utility loss of rows, by its own name, and weights of items


def naive_ul(result, rows, weights):
    """The paper's measure of a release by sets, with the highest weight of a set."""
    mapping = result.mapping
    became = {
        (group, item): label
        for group, item, label in zip(mapping["group"], mapping["item"], mapping["generalized"], strict=True)
    }
    domain, total = len({item for row in rows for item in row}), Fraction(0)
    for group, row in zip(result.groups, rows, strict=True):
        labels = {}
        for item in row:
            label = became[group, item]
            label = None if pd.isna(label) else label
            of_label = [other for (g, other), own in became.items() if g == group and own == label]
            labels[label] = (domain, 1) if label is None else (len(of_label), max(map(weights, of_label)))
        total_size = sum(size for size, _ in labels.values())
        if labels:
            total += sum((2**size - 1) * Fraction(w) for size, w in labels.values()) / (2**total_size - 1)
    return total / max(len(rows), 1)


@settings(max_examples=examples(100))
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["rum_bound", "tum_bound", "rfirst"]))
def test_utility_loss_has_its_own_name(seed, weighted, name):
    frame = some_rows(12, seed)
    rows = [frozenset(row) for row in frame["items"]]
    assume(frozenset("uv") <= frozenset().union(*rows))
    given_weights = {"u": 0.5, "v": 0.25} if weighted else {}
    options = {"weights": given_weights} if weighted else None
    asked = {**ASKED, "transaction": pdanon.Transaction(tum="UL", options=options)}
    asked |= {"delta": 1} if name != "rfirst" else {}
    result = getattr(pdanon, name)(frame, **asked)
    expected = naive_ul(result, rows, lambda item: given_weights.get(item, 1))
    assert result.loss["UL_rows"] == pytest.approx(float(expected), abs=1e-4)  # weights in 16 bits
    if name != "rfirst":
        assert result.trace["Tum"].iloc[-1] == result.loss["UL_rows"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pcta", "coat", "upcta"])
def test_weights_of_items_are_those_of_the_algorithm(name):
    """In a single class, the items become the sets that the algorithm alone makes of them."""
    differs = 0
    for seed in range(10):
        frame = some_rows(30, seed)[["items"]].assign(age=1)
        weights = dict(zip("uvwxyz", np.random.default_rng(seed).random(6).round(2), strict=True))
        blocks = {"utility": [list("uvwxyz")]} if name == "upcta" else {}
        alone = getattr(frame.txanon, name)(k=8, m=2, weights=weights, **blocks)
        plain = getattr(frame.txanon, name)(k=8, m=2, **blocks)
        items = pdanon.Transaction(name, options={"weights": weights, **blocks}, refine=False)
        asked = {"k": 8, "m": 2, "quasi": ["age"], "transaction": items}
        result = pdanon.rfirst(frame, cluster="mondrian", **asked)
        columns = ["item", "generalized"]
        pd.testing.assert_frame_equal(result.mapping[columns], alone.mapping[columns])
        differs += not plain.mapping.equals(alone.mapping)
    assert differs


@pytest.mark.parametrize("bad", [{"u": 1.5}, {"u": -1}, {"none": 1}, [1]], ids=str)
def test_refused_weights_of_items(bad):
    items = pdanon.Transaction(options={"weights": bad})
    with pytest.raises(ParameterError, match="weight"):
        pdanon.rum_bound(some_rows(), delta=1, **ASKED | {"transaction": items})


def test_weights_of_items_need_one_column():
    with pytest.raises(ParameterError, match="weights need a single list column"):
        pdanon.Transaction(columns=["a", "b"], options={"weights": {"u": 1}})


# --- sensitive items count in no measure


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(clustered(longest=4), merges, st.integers(0, 100), st.integers(2, 3))
def test_sensitive_items_do_not_count(given_rows, merge, percent, most):
    rows, clusters = given_rows
    frame, groups, _, items = encoded(rows, clusters)
    assume(any(row & frozenset("yz") for row in items))
    hidden = {"sensitive": sorted(frozenset("yz") & frozenset().union(*items)), "l": most}
    transaction = pdanon.Transaction(**hidden, refine=False)
    data = Dataset.of(
        frame, None, k=2, m=2, quasi={**dict.fromkeys(COLUMNS), **TREES}, transaction=transaction
    )
    side = data.transactions
    shown = [row - frozenset("yz") for row in items]
    state = Merging(data.table, groups, side.known, Rum.of("NCP", data.table, len(rows)))
    expected = [float(naive.btd([shown[row] for row in cluster])) for cluster in clusters]
    assert state._own_distances().tolist() == pytest.approx(expected)
    try:
        asked = ASKED | {"transaction": transaction}
        result = pdanon.tum_bound(frame, delta=percent / 100, merge=merge, **asked)
    except InfeasibleError:
        return
    mapping = result.mapping[~result.mapping["item"].isin(["y", "z"])]
    n_items = len(frozenset().union(*items))
    sizes = mapping.groupby(["group", "generalized"])["item"].transform("size")
    sizes = sizes.where(sizes > 1, 0).where(mapping["generalized"].notna(), n_items)
    expected = (sizes * mapping["support"]).sum() / max(n_items * mapping["support"].sum(), 1)
    assert result.loss["NCP_known"] == pytest.approx(expected)
    assert result.trace["Tum"].iloc[-1] == result.loss["NCP_known"] <= percent / 100 + 1e-9


TREE_OF_ITEMS = {"any": {"U": {"V": ["u", "v"], "W": ["w", "x"]}, "Y": ["y", "z"]}}


@pytest.mark.slow
@settings(max_examples=examples(2_000, 50))
@given(
    clustered(longest=4),
    st.sampled_from(["hghs", "mhghs"]),
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
    st.sets(st.sampled_from("uvz"), min_size=1),
)
def test_nodes_hide_sensitive_items_by_suppression(given_rows, name, least, m, secrets):
    rows, _ = given_rows
    frame, _, _, items = encoded(rows, [])
    secrets &= frozenset().union(*items)
    assume(secrets)
    transaction = pdanon.Transaction(name, hierarchy=TREE_OF_ITEMS, sensitive=sorted(secrets), l=least)
    asked = {**ASKED, "m": m, "transaction": transaction}
    result = pdanon.rfirst(frame, **asked)
    quasi = [*map(str, result.frame[COLUMNS].to_numpy().tolist())]
    published = [*zip(quasi, (frozenset(row) for row in result.frame["items"]), strict=True)]
    assert not any(naive.klm_broken(published, 2, least, m, secrets))
    assert result.holds


def test_suppression_avoids_the_root():
    """Of 30 rows, one has a rare item of a chapter of its own: Apriori generalizes all of them."""
    rows = [["u", "v"], ["u"], ["v", "s"]] * 10 + [["u", "y"]]
    frame = frame_of(rows).assign(age=1)
    tree = {"any": {"U": ["u", "v"], "Y": ["y"]}}
    lost = {}
    for name in ("apriori", "hghs"):
        items = pdanon.Transaction(name, hierarchy=tree, sensitive=["s"], l=2)
        asked = {"k": 3, "m": 1, "quasi": ["age"], "transaction": items, "random_state": 0}
        lost[name] = pdanon.rfirst(frame, **asked).loss["NCP_known"]
    assert lost["apriori"] == 1
    assert lost["hghs"] < 0.1
