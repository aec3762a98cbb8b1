"""Choice: the guarantee holds, nothing that was tried loses less, and every reason is one."""

from __future__ import annotations

import inspect
import math
import time
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from frames import FRAMES
from hypothesis import assume, example, given, settings, strategies as st
from naive import itemsets as naive
from pdanon.metrics import patterns

import pdanon
from examples import ALL, examples
from pdanon import (
    Coherence,
    ColumnError,
    HierarchyError,
    InfeasibleError,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    LmDiversity,
    ParameterError,
    PrivacyConstraints,
    PSRules,
    PublicK,
    TransactionalK,
    stream,
)
from pdanon.algorithms import choice as choosing
from pdanon.algorithms.choice import steps
from pdanon.algorithms.losses import LOSSES
from pdanon.algorithms.refinement import refine_release
from pdanon.algorithms.registry import ALGORITHMS, algorithm, parameters_of
from pdanon.algorithms.states import sets_search
from pdanon.errors import OutOfMemoryError
from pdanon.guarantees.ps import AllRules
from pdanon.itemsets import threads
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.timing import (
    TimeLimitError,
    check_time,
    count_steps,
    limit_time,
    progress_bar,
    seconds_left,
)
from pdanon.recoding.counts import choice_lines, percent
from pdanon.recoding.loss import sampling_error
from pdanon.recoding.result import is_refined

TREE = {"*": {"A": {"A1": ["a", "b"], "A2": ["c"]}, "D": ["d", "e", "f"]}}
BLOCKS = [["a", "b", "c"], ["d", "e", "f"]]
ROWS = [*[{"a", "b"}, {"a", "c"}, {"a", "b", "f"}, {"b", "d"}, {"c", "d"}, {"d"}] * 2, {"e"}, {"a", "e"}]
FRAME = frame_of(ROWS).assign(age=[19, 20, 30, 31, 40, 41] * 2 + [20, 40])
QUASI = ["age"]
EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = {
    "km": (KmAnonymity(3, 2), {}),
    "km, nodes": (KmAnonymity(3, 2), {"hierarchy": TREE}),
    "km, blocks": (KmAnonymity(2, 1), {"utility": BLOCKS}),
    "km, all": (KmAnonymity(3, None), {"hierarchy": TREE}),
    "constraints": (PrivacyConstraints(constraints=[["e"], ["a", "b"]], k=3), {}),
    "constraints, blocks": (PrivacyConstraints(constraints=[["e"], ["a", "b"]], k=3), {"utility": BLOCKS}),
    "lm": (LmDiversity(l=2, m=2, sensitive=["f"], k=2), {"hierarchy": TREE}),
    "rules": (PSRules(rules=[(["a"], ["f"]), (["b", "d"], ["f"])], k=3, c=0.3), {}),
    "rules of a size": (PSRules(rules=AllRules(2, ["f"]), k=3, c=0.3), {}),
    "coherence": (Coherence(h=0.5, k=2, p=2, private=["f"]), {}),
    "public": (PublicK(k=2, public=list("abcde")), {}),
    "transactional": (TransactionalK(k=3), {"hierarchy": TREE}),
    "relational": (KAnonymity(3, quasi=QUASI), {"random_state": 1}),
    "hierarchies": (KAnonymity(3, quasi=QUASI), {"quasi": {"age": 2}, "random_state": 1}),
    "kkm": (KKm(k=3, m=2, quasi=QUASI), {"random_state": 1}),
    "kkm, columns": (KKm(k=3, m=2, quasi=QUASI, columns=["items"]), {"random_state": 1}),
    "klm": (KLm(k=2, l=2, m=1, quasi=QUASI, sensitive=["f"]), {"hierarchy": TREE, "random_state": 1}),
    "klm by sets": (KLm(k=2, l=2, m=1, quasi=QUASI, sensitive=["f"]), {"random_state": 1}),
}


def recounted(mapping, base):
    """NCP (base 0) or LM (base 1) over the items that occur, from the definition."""
    entries = list(zip(mapping["item"], mapping["generalized"], mapping["support"], strict=True))
    sizes = Counter(label for _, label in {entry[:2] for entry in entries} if not pd.isna(label))
    total, n = sum(support for *_, support in entries), len({item for item, *_ in entries})
    if n == base or not total:
        return Fraction(0)
    cost = Fraction(0)
    for item, label, support in entries:
        size = n if pd.isna(label) else sizes[label]
        kept = not pd.isna(label) and label == item
        cost += 0 if kept else Fraction(int(support) * (size - base), (n - base) * int(total))
    return cost


def alone(name, frame, best, loss, **asked):
    """The release of one algorithm that is called by hand."""
    if name.endswith("refined"):
        return refine_release(frame, best, loss, None, quick=True)
    if name == "optimal, suppress=True":
        return pdanon.optimal(frame, suppress=True, **asked)
    if name == "local_suppression, nodes":
        return pdanon.local_suppression(frame, **asked)
    function = getattr(pdanon, name)
    return function(
        frame, **{key: value for key, value in asked.items() if key in inspect.signature(function).parameters}
    )


# --- What comes back


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ASKED)
def test_the_guarantee_holds_and_all_tries_are_told(name):
    guarantee, asked = ASKED[name]
    before = FRAME.copy(deep=True)
    result = pdanon.anonymize(FRAME, guarantee, **asked, time_limit=600)
    pd.testing.assert_frame_equal(FRAME, before)
    assert result.holds
    assert type(result.guarantee) is type(guarantee)
    assert result.guarantee.audit(result.frame).holds
    assert {
        each: getattr(result.guarantee, each) for each in ("k", "m", "l") if hasattr(guarantee, each)
    } == {each: getattr(guarantee, each) for each in ("k", "m", "l") if hasattr(guarantee, each)}
    tried = result.tried
    readable = ["occurrences", "stands_for", "singles", "pairs", "suppressed"]
    readable = readable if "occurrences" in result.loss else []
    readable += ["values"] if isinstance(guarantee, KKm | KLm) else []
    by_levels = "hierarchy" in asked and isinstance(guarantee, KmAnonymity | TransactionalK)
    readable += ["meaning"] if by_levels else []
    assert [*tried] == ["algorithm", "loss", *readable, "seconds", "reason"]
    assert (tried["loss"].isna() == tried["reason"].notna()).all()
    assert all(result.loss[each] in tried[each].tolist() for each in readable)
    assert all(type(measure(result)) is float for measure in LOSSES[type(guarantee)].values())
    assert len(tried) == sum(
        not step.way.losses or step.way.floor is not None for step in steps(type(guarantee))
    )
    best = tried.loc[tried["loss"].idxmin(), "algorithm"]
    refined = best.endswith("refined")
    assert result.parameters["algorithm"] == best.split(",")[0]
    assert is_refined(result) == refined


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["occurrences", "stands_for", "singles", "pairs", "suppressed", "UL"])
def test_any_loss_may_be_the_one_that_is_least(name):
    frame = pdanon.datasets.make_baskets(300, 30, random_state=2)[["items"]]
    result = pdanon.anonymize(frame, KmAnonymity(4, 2), hierarchy=5, loss=name.lower())
    tried = result.tried["loss"]
    assert result.loss[name] == tried.min()
    assert tried.nunique() > 1 or name == "suppressed"
    if name != "UL":
        assert (tried.dropna() == result.tried[name].dropna()).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_a_named_loss_is_never_above_that_of_the_default(name):
    guarantee, asked = ASKED[name]
    loses_no_more(FRAME, guarantee, **asked)


@pytest.mark.slow
def test_no_loss_of_drawn_tables_is_above_that_of_the_default():
    frame = pdanon.datasets.make_baskets(200, 30, random_state=0)[["items"]]
    loses_no_more(frame, KmAnonymity(3, 2), ["occurrences", "singles", "pairs", "LM"])


@pytest.mark.slow
@pytest.mark.parametrize("hierarchy", [None, 5])
@pytest.mark.parametrize("seed", range(10 if ALL else 3))
def test_no_loss_of_many_tables_is_above_that_of_the_default(seed, hierarchy):
    rng = np.random.default_rng(seed)
    frame = pdanon.datasets.make_baskets(int(rng.integers(50, 400)), 40, random_state=seed)[["items"]]
    nodes = {"hierarchy": hierarchy} if hierarchy else {}
    loses_no_more(frame, KmAnonymity(int(rng.integers(2, 6)), int(rng.integers(1, 4))), **nodes)
    if hierarchy:
        loses_no_more(frame, TransactionalK(k=3), **nodes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rt_synthea1k_conditions_snomed", "groceries"])
def test_no_loss_of_real_tables_is_above_that_of_the_default(data, name):
    frame = pdanon.read_parquet(data / f"{name}.parquet")
    lists = [i for i in range(frame.shape[1]) if isinstance(frame.iloc[0, i], (list, np.ndarray))]
    loses_no_more(frame.iloc[:, lists], KmAnonymity(5, 2), time_limit=600)


def loses_no_more(frame, guarantee, losses=None, **asked):
    """Each loss, if it is named, is at most that of the release for which none is named."""
    usual = pdanon.anonymize(frame, guarantee, **asked)
    for loss, measure in LOSSES[type(guarantee)].items():
        if losses is None or loss in losses:
            result = pdanon.anonymize(frame, guarantee, loss=loss, **asked)
            assert result.holds
            assert measure(result) <= measure(usual), loss


@pytest.mark.slow
@given(
    row_lists(least=2, most=12),
    st.integers(2, 4),
    st.sampled_from([1, 2, 3, None]),
    st.booleans(),
    st.sampled_from(["NCP", "LM"]),
)
@settings(max_examples=examples(40))
def test_nothing_that_was_tried_loses_less(rows, k, m, nodes, loss):
    assume(sum(map(bool, rows)) >= k)
    frame, tree = frame_of(rows), TREE if nodes else None
    result = pdanon.anonymize(frame, KmAnonymity(k, m), hierarchy=tree, loss=loss)
    assert not naive.rare_itemsets(rows_of(result.frame), k, 5 if m is None else m)
    best = usual = None  # by the named loss, and among what is tried without a name, by the default loss
    balanced = LOSSES[KmAnonymity]["balanced"]
    for row in result.tried.itertuples():
        if pd.isna(row.loss):
            expected = ("needs utility", "it is refined" if nodes else "needs hierarchy")
            assert row.reason in expected or row.reason.startswith("deletes at least")
            continue
        name, _, as_usual = row.algorithm.partition(", loss=")
        of_nodes = usual is not None and usual.parameters.get("hierarchy") is not None
        lowered = "NCP" if of_nodes else "balanced"
        is_usual = as_usual or not name.endswith("refined") or (usual is best and loss == lowered)
        asked = (usual, lowered) if as_usual else (best, loss)
        made = alone(name, frame, *asked, k=k, m=m, hierarchy=tree)
        cost = recounted(made.mapping, loss == "LM")
        assert row.loss == pytest.approx(float(cost))
        if is_usual and (usual is None or balanced(made) < balanced(usual)):
            usual = made
        if best is None or cost < recounted(best.mapping, loss == "LM"):
            best = made
    pd.testing.assert_frame_equal(result.mapping, best.mapping)
    assert rows_of(result.frame) == rows_of(best.frame)


@pytest.mark.parametrize("loss", ["NCP", "LM"])
def test_a_node_is_compared_by_the_items_that_occur(loss):
    """Of the 4 leaves below the root 2 occur: by leaves a set of two loses half of what the root does."""
    frame = frame_of([["a"], ["b"], ["a", "b"], ["a"]])
    result = pdanon.anonymize(frame, KmAnonymity(2, 2), hierarchy={"*": ["a", "b", "c", "d"]}, loss=loss)
    losses = result.tried.dropna(subset="loss").set_index("algorithm")["loss"]
    assert losses["apriori"] == losses["pcta"] == 1


def test_suppression_is_chosen_where_it_loses_least():
    """Without c and d, 4 of 19 occurrences, all is safe; as one set they would be with b in 2 rows."""
    rows = ["be", "be", "e", "be", "e", "ce", "bce", "", "de", "e", "bde"]
    result = pdanon.anonymize(frame_of(map(list, rows)), KmAnonymity(3, 2), hierarchy=TREE)
    losses = result.tried.dropna(subset="loss").set_index("algorithm")["loss"]
    assert losses["optimal, suppress=True"] == pytest.approx(4 / 19)
    local = "local_suppression, nodes"  # finds the same, but is tried later
    assert losses.drop(["optimal, suppress=True", "optimal, refined", local]).min() > 4 / 19
    assert result.parameters["suppress"]
    assert result.trace is None
    assert result.mapping["generalized"].isna().tolist() == [False, True, True, False]


def rare_answer(n_rare):
    """A survey with 19 common answers, and one that ``n_rare`` of the persons gave."""
    rng = np.random.default_rng(0)
    held = rng.random((1886, 19)) < np.linspace(0.75, 0.1, 19)
    rows = [[f"q{answer:02d}" for answer in np.flatnonzero(row)] for row in held]
    for row in rng.choice(1886, n_rare, replace=False):
        rows[row].append("control")
    return frame_of(rows)


def test_a_rare_answer_is_deleted_rather_than_merged_with_a_common_one():
    result = pdanon.anonymize(rare_answer(7), k=5, m=2)
    assert set(result.mapping["item"][result.mapping["generalized"].isna()]) == {"control"}
    total = int(result.mapping["support"].sum())
    tried = result.tried.set_index("algorithm")
    assert result.loss["occurrences"] * total == pytest.approx(7)
    # A deletion costs 1. In a set of two items, each occurrence costs more than 2 of 20 items.
    assert tried["loss"]["local_suppression"] * total == pytest.approx(7)
    merged = tried.loc["pcta"]
    assert merged["loss"] > 2 / 20 * merged["occurrences"] > 7 / total
    line = next(line for line in repr(result).splitlines() if line.startswith("  kinds"))
    deleted, joined = (f"{tried['loss'][name]:.4g}" for name in ("local_suppression", "pcta"))
    assert line.split(maxsplit=1)[1] == (
        f"local_suppression {deleted}, what is left is exact; pcta {joined}, nothing missing"
    )
    assert f"pcta {joined}, nothing missing" in result._repr_html_()
    again = pdanon.anonymize(rare_answer(7), k=5, m=2)
    assert again.frame.equals(result.frame)


@pytest.mark.parametrize("loss", ["NCP", "UL", "stands_for"])
def test_deletions_are_tried_for_another_loss_if_the_default_release_may_be_one(loss):
    frame = rare_answer(7).head(800)
    free = pdanon.anonymize(frame, k=5, m=2)
    assert free.parameters["algorithm"] == "local_suppression"
    named = pdanon.anonymize(frame, k=5, m=2, loss=loss)
    assert named.tried.set_index("algorithm")["loss"].notna()["local_suppression"]


def lines_of(frame):
    return frame.assign(person=range(len(frame))).explode("items").dropna()


def test_lines_of_persons_are_released_as_their_rows():
    frame = rare_answer(7).head(800)
    results = [frame.txanon.anonymize(k=5, m=2)]
    results.append(lines_of(frame).txanon.by("person", item="items").anonymize(k=5, m=2))
    for result in results:
        assert result.parameters["algorithm"] == "local_suppression"
    pd.testing.assert_series_equal(results[0].loss, results[1].loss)
    tried = lines_of(frame_of(map(list, ROWS))).txanon.by("person", item="items")
    tried = tried.anonymize(k=3, m=2, hierarchy=TREE).tried
    assert "local_suppression, nodes" in tried["algorithm"].tolist()


def test_an_item_has_the_same_label_in_lines_with_counts_or_other_columns():
    lines = lines_of(rare_answer(7).head(800)).assign(month=1)
    for asked in ({"counts": True}, {"keep": ["month"]}):
        result = lines.txanon.by("person", item="items", **asked).anonymize(k=5, m=2)
        assert not result.tried["algorithm"].str.startswith("local_suppression").any()
        assert (result.mapping.groupby("item").size() == 1).all()


@settings(max_examples=examples(60))
@given(row_lists("abcdef", longest=5, most=12), st.integers(2, 3))
@example([*map(frozenset, ["cdf", "a", "b", "ef", "de"])], 2)  # e becomes D beside two other changes
def test_labels_that_differ_by_row_are_compared_by_the_items_that_became_them(rows, k):
    assume(len(rows) >= k)
    mapping = (made := pdanon.local_suppression(frame_of(rows), k=k, m=2, hierarchy=TREE)).mapping
    for base, loss in enumerate(["NCP", "LM"]):
        assert LOSSES[KmAnonymity][loss](made) == pytest.approx(float(recounted(mapping, base)))
    n, became = mapping["item"].nunique(), defaultdict(Counter)
    for item, label, support in mapping[["item", "generalized", "support"]].itertuples(index=False):
        if pd.isna(label) or item != label:
            became["" if pd.isna(label) else label][item] += support
    expected = (n + math.sqrt(n)) * became.pop("", Counter()).total()
    for held in became.values():
        spread = len(held) * sum(support**2 for support in held.values()) - held.total() ** 2
        expected += (len(held) + math.sqrt(n)) * held.total() + math.sqrt(n * spread)
    whole = (n + math.sqrt(n)) * mapping["support"].sum() or 1
    assert LOSSES[KmAnonymity]["balanced"](made) == pytest.approx(expected / whole)


def test_steps_up_a_hierarchy_are_tried_and_chosen_where_they_lose_least(tmp_path):
    """ad and bd are rare, each in one row. In all other rows, a and b stay."""
    rows = [*["ac"] * 3, *["bc"] * 3, "ad", "bd", "d", "d"]
    result = pdanon.anonymize(frame_of(rows), KmAnonymity(2, 2), hierarchy=TREE, loss="NCP")
    tried = result.tried.dropna(subset="loss").set_index("algorithm")["loss"]
    assert tried.idxmin() == "local_suppression, nodes"
    assert tried.min() == pytest.approx(2 * 2 / 4 / 18)  # two of 18 occurrences stand for 2 of 4 items
    assert rows_of(result.frame)[5:8] == [{"b", "c"}, {"A1", "d"}, {"A1", "d"}]
    pdanon.to_parquet(frame_of(rows), tmp_path / "rows.parquet")
    given = {"k": 2, "m": 2, "hierarchy": TREE, "loss": "NCP"}
    stream.anonymize(tmp_path / "rows.parquet", tmp_path / "released.parquet", **given)
    assert rows_of(pdanon.read_parquet(tmp_path / "released.parquet")) == rows_of(result.frame)


@pytest.mark.slow
def test_few_steps_up_are_tried_for_pairs_and_meaning_alone():
    frame, tree = pdanon.read_parquet("examples/baskets.parquet"), "examples/baskets_hierarchy.csv"
    frame, usual, few = frame[["items"]].head(300), "local_suppression, nodes", ", deletion_price=1.5"
    given = {"k": 5, "m": 2, "hierarchy": tree}
    result = frame.txanon.anonymize(**given, loss="meaning")
    tried = result.tried.set_index("algorithm")["loss"]
    assert tried.idxmin() == usual + few
    assert result.parameters["deletion_price"] == 1.5
    assert tried[usual + few] < tried[[usual, "local_suppression", "pcta"]].min()
    assert usual + few not in frame.txanon.anonymize(**given, loss="occurrences").tried["algorithm"].tolist()


@pytest.mark.slow
def test_steps_up_do_not_end_the_search_for_k():
    named = pdanon.anonymize(FRAME, k=2, m=2, hierarchy=TREE, max_loss={"named": 1.0})
    assert not named.tried["algorithm"].str.startswith("local_suppression").any()


def test_deletions_that_lose_more_are_not_tried():
    """Each row with a rare item or pair loses at least one item."""
    frame = pdanon.read_parquet(EXAMPLES / "baskets.parquet").drop(columns="store")
    rows = [sorted(row) for row in rows_of(frame)]
    known = [[*row, *combinations(row, 2)] for row in rows]
    supports = Counter(itemset for itemsets in known for itemset in itemsets)
    exposed = sum(any(supports[itemset] < 5 for itemset in itemsets) for itemsets in known)
    share = exposed / sum(map(len, rows))
    result = pdanon.anonymize(frame, k=5, m=2)
    assert 10 * share > result.tried["loss"].min()
    tried = result.tried.set_index("algorithm")
    assert tried["reason"]["local_suppression"] == f"deletes at least {percent(share)}"
    assert "kinds" not in repr(result)


def test_blocks_are_kept():
    result = pdanon.anonymize(FRAME, KmAnonymity(2, 1), utility=iter(BLOCKS), hierarchy=TREE)
    reasons = result.tried.set_index("algorithm")["reason"]
    assert (reasons[["pcta", "apriori", "optimal"]] == "does not keep to utility").all()
    block = dict.fromkeys("abc", 0) | dict.fromkeys("def", 1)
    for _, items in result.mapping.groupby("generalized"):
        assert len({block[item] for item in items["item"]}) == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_frame(name):
    frame = FRAMES[name]()
    if name == "many columns":
        frame = frame.drop(columns="anything")
    if name == "one empty row":
        with pytest.raises(pdanon.InfeasibleError, match="number of rows"):
            pdanon.anonymize(frame, KmAnonymity(2, 2))
        return
    result = pdanon.anonymize(frame, KmAnonymity(2, 2))
    assert result.holds
    assert result.frame.index.equals(frame.index)
    assert [*result.frame] == [*frame]


def test_method_of_a_frame():
    result = FRAME.txanon.anonymize(KmAnonymity(3, 2), "items", loss="LM")
    assert result.guarantee == KmAnonymity(3, 2)
    assert result.parameters.get("loss") in (None, "LM")


def test_what_may_identify_is_said_once():
    frame = frame_of([["a", "b"]] * 30).assign(number=range(30))
    with pytest.warns(pdanon.IdentifierWarning) as caught:
        pdanon.anonymize(frame, KmAnonymity(2, 2), hierarchy=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__


# --- The ways


def test_every_guarantee_has_ways():
    models = {getattr(pdanon.guarantees, name) for name in pdanon.guarantees.__all__}
    assert set(LOSSES) == {model for model in models if inspect.isclass(model)} - {pdanon.KMap}
    documented = inspect.getdoc(pdanon.anonymize)
    for model in LOSSES:
        assert f"``{model.__name__}``" in documented
        assert steps(model)
        for name, way in steps(model):
            assert f"`{name}`" in documented
            if name != "refine":
                assert set(way.options) <= set(parameters_of(algorithm(name)))


# --- What is refused


class Strange:
    """A guarantee of somebody else."""

    def audit(self, frame, column=None):
        raise AssertionError

    def with_mapping(self, mapping):
        return self


@pytest.mark.parametrize(
    ("guarantee", "asked", "message"),
    [
        (KmAnonymity, {}, "not a guarantee"),
        ("km", {}, "not a guarantee"),
        (Strange(), {}, "no algorithm supports Strange"),
        (
            LmDiversity(l=2, m=2, sensitive=["f"]),
            {"hierarchy": TREE},
            "no algorithm supports LmDiversity without k",
        ),
        (LmDiversity(l=2, m=2, sensitive=["f"], k=2), {}, "LmDiversity needs a hierarchy"),
        (TransactionalK(k=2), {}, "TransactionalK needs a hierarchy"),
        (KKm(k=2, m=2, quasi=QUASI), {"hierarchy": TREE}, "no algorithm for KKm uses hierarchy"),
        (PublicK(k=2, public=["a"]), {"hierarchy": TREE}, "no algorithm for PublicK uses hierarchy"),
        (
            PrivacyConstraints(constraints=[["a"]], k=2),
            {"hierarchy": TREE},
            "no algorithm for PrivacyConstraints uses",
        ),
        (TransactionalK(k=2), {"hierarchy": TREE, "utility": BLOCKS}, "uses utility"),
        (
            KmAnonymity(2, 2),
            {"quasi": {"age": 2}},
            r"the guarantee lacks columns\n  where: quasi\n  got:   \['age'\]",
        ),
        (KmAnonymity(2, 2), {"loss": "pair"}, "did you mean 'pairs'?"),
        (KmAnonymity(2, 2), {"loss": "NPC"}, "did you mean 'NCP'?"),
        (KmAnonymity(2, 2), {"loss": 2}, "there is no such loss of this guarantee"),
        (KAnonymity(2, quasi=QUASI), {"loss": "LM"}, "there is no such loss of this guarantee"),
        (KmAnonymity(2, 2), {"time_limit": 0}, "time_limit must be a number of seconds above 0"),
        (KmAnonymity(2, 2), {"time_limit": float("nan")}, "time_limit must be a number"),
        (KmAnonymity(2, 2), {"time_limit": True}, "time_limit must be a number"),
        (KmAnonymity(2, 2), {"time_limit": "60"}, "time_limit must be a number"),
        (KmAnonymity(2, 2), {"utility": [["a"], ["a"]]}, "blocks must be disjoint"),
        (KmAnonymity(2, 2), {"utility": [["a"]]}, "every item of the data must be in one block"),
    ],
)
def test_what_cannot_be_meant_is_refused(guarantee, asked, message):
    with pytest.raises(ParameterError, match=message):
        pdanon.anonymize(FRAME, guarantee, **asked)


def test_errors_of_input_are_raised():
    with pytest.raises(HierarchyError):
        pdanon.anonymize(FRAME, KmAnonymity(2, 2), hierarchy={"*": ["a", "b"]})
    with pytest.raises(ColumnError):
        pdanon.anonymize(FRAME, KmAnonymity(2, 2), "no such column")
    with pytest.raises(ColumnError):
        pdanon.anonymize(FRAME, KAnonymity(2, quasi=["no such column"]))


def test_no_release():
    frame = frame_of([[SECRET], [SECRET, "b"], None])
    with pytest.raises(InfeasibleError, match="no algorithm found a release") as caught:
        pdanon.anonymize(frame, KmAnonymity(4, 2), hierarchy=2)
    assert "9 of 11 algorithms tried, 9 of them found that there is none" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_an_attempt_is_kept():
    with pytest.raises(InfeasibleError) as caught:
        pdanon.anonymize(frame_of([["a"], ["a"], ["b"]]), KmAnonymity(2, 2), utility=[["a"], ["b"]])
    assert not caught.value.partial.holds


def test_what_fails_is_told():
    """One way fails and another one does not: a bound of a tenth is too tight for these rows."""
    result = pdanon.anonymize(FRAME, KKm(k=6, m=2, quasi=QUASI), random_state=1)
    reasons = result.tried.set_index("algorithm")["reason"]
    assert "the first clusters lose more" in reasons["rum_bound, delta=0.1"]
    assert not any(item in reason for reason in reasons.dropna() for item in ["'a'", "(a"])


def test_without_memory_others_are_tried(stand_in):
    def large(frame, column=None, *, k, m=2):
        raise MemoryError(SECRET)

    stand_in("pcta", large)
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2))
    assert result.tried["reason"][0] == "not enough memory"
    assert result.parameters["algorithm"] == "coat"
    stand_in("coat", large)
    with pytest.raises(OutOfMemoryError, match="not enough memory") as caught:  # nothing is infeasible
        pdanon.anonymize(FRAME, KmAnonymity(3, 2))
    assert SECRET not in str(caught.value)


# --- Time


def test_nothing_is_done_in_time():
    said = r"in 10 times the time limit\n  where: time_limit\n  got:   1e-09 seconds"
    with pytest.raises(InfeasibleError, match=said):
        pdanon.anonymize(FRAME, KmAnonymity(3, 2), hierarchy=TREE, time_limit=1e-9)


def slower(function, clock, seconds):
    """The same algorithm, which reports progress each second, for so many of them, before it begins."""

    def slow(frame, column=None, *, k, m=2):
        with progress_bar("slow", "steps"):
            for _ in range(seconds):
                clock.pass_by(1)
                count_steps()
        return function(frame, column, k=k, m=m)

    return slow


@pytest.mark.parametrize("limit", [1, 5])
def test_the_first_is_stopped_too(limit, stand_in, clock):
    stand_in("pcta", slower(pdanon.pcta, clock, 1000))
    with pytest.raises(InfeasibleError, match="no algorithm found a release in 10 times"):
        pdanon.anonymize(FRAME, KmAnonymity(3, 2), time_limit=limit)
    assert clock() == 10 * limit


def test_a_first_release_comes_back_after_the_limit_and_says_what_was_not_done(stand_in, clock, tmp_path):
    stand_in("pcta", slower(pdanon.pcta, clock, 4))
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2), time_limit=3)
    assert result.guarantee.audit(result.frame).holds
    left = result.tried["reason"] == "no time left: not started"
    assert result.tried["algorithm"][left].tolist() == ["coat", "refine", "local_suppression"]
    said = "stopped at the time limit of 3 s; more time may lose less. "
    said += "not started: coat; refine; local_suppression"
    assert result.cut_short == said
    assert f"  search     {said}" in repr(result)
    assert said in result._repr_html_()
    result.report(tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("clock")  # which stands still: nothing waits for the limit
def test_a_search_that_was_completed_says_nothing():
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2), hierarchy=TREE, time_limit=3600)
    assert result.cut_short == ""
    assert "search" not in repr(result)


@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize(("refined", "title"), [(False, "14 rows, pcta"), (True, "14 rows, pcta, refined")])
def test_the_title_says_whether_a_release_was_refined(refined, title, tmp_path):
    result = pdanon.pcta(FRAME, k=3, m=2, refine=refined)
    again = pdanon.refine(FRAME, pdanon.pcta(FRAME, k=3, m=2)) if refined else result
    for each in (result, again):
        assert repr(each).splitlines()[0] == f"Anonymized: {title}"
        assert f">Anonymized: {title}<" in each._repr_html_()
        each.report(tmp_path / "page.html")
        assert title.replace("rows, ", "rows, by ") in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pcta", "coat"])
def test_millions_of_itemsets_do_not_delay_the_end(data, name, monkeypatch):
    frame = pdanon.read_parquet(data / "quest_t40i10d100k_head10000.parquet")
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # whatever else the machine does
    start = time.process_time()
    with pytest.raises(TimeLimitError), limit_time(1):
        algorithm(name)(frame, k=5, m=3)
    assert time.process_time() - start < 15  # it takes 1.1


def test_what_is_done_at_the_end_is_audited():
    made = FRAME.txanon.pcta(k=3, m=3)
    with limit_time(-1):
        assert made.guarantee.audit(FRAME).rows_at_risk
        assert pdanon.refine(FRAME, made).holds


def test_work_that_takes_too_long_is_stopped(stand_in, clock):
    stand_in("coat", slower(pdanon.coat, clock, 1000))
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2), time_limit=20)
    rows = result.tried.set_index("algorithm")
    assert rows.loc["coat", ["reason", "seconds"]].tolist() == ["no time left: stopped", 20]
    assert result.holds
    assert result.parameters["algorithm"] == "pcta"


def test_the_chosen_release_is_that_of_its_algorithm():
    """While others are tried, its list column has codes for texts."""
    lists = FRAME[["items"]]
    chosen = pdanon.anonymize(lists, PublicK(k=2, public=["e"]))
    pd.testing.assert_frame_equal(chosen.frame, pdanon.suppress_to_k(lists, k=2, public=["e"]).frame)
    with pytest.raises(InfeasibleError) as error:
        pdanon.anonymize(lists, k=3, m=2, utility=[[item] for item in "abcdef"])
    assert error.value.partial.frame.dtypes.equals(lists.dtypes)


def test_each_criterion_of_coherence_is_started_and_stopped(monkeypatch, clock):
    """The first takes most of the time: the second is begun all the same, and stopped in the midst of it."""
    decide = ALGORITHMS["coherence"].decide

    def slow(columns, **asked):
        clock.pass_by(3)
        count_steps()
        return decide(columns, **asked, time_limit=60)

    def called(frame, column=None, *, h, k, p, private, criterion="mm/il", loss="support"):
        return ALGORITHMS["coherence"].release(locals())

    record = replace(ALGORITHMS["coherence"], function=called, decide=slow)
    monkeypatch.setitem(ALGORITHMS, "coherence", record)
    result = pdanon.anonymize(FRAME, Coherence(h=0.5, k=2, p=2, private=["f"]), time_limit=5)
    reasons = result.tried["reason"].fillna("").tolist()
    assert reasons == ["", "no time left: stopped", "no time left: not started"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("criterion", ["mm/il", "mm", "1/il"])
def test_coherence_ends_with_the_time_limit(criterion, monkeypatch):
    """The search alone would take minutes."""
    held = np.random.default_rng(0).random((1000, 60)) < 0.6
    frame = frame_of([[f"{item:02}" for item in np.flatnonzero(row)] for row in held])
    monkeypatch.setattr(threads, "seconds_left", lambda: 0.05)  # of the search, however slowly it is reached
    with pytest.raises(TimeLimitError):
        pdanon.coherence(frame, h=0.9, k=5, p=9, private=["00"], criterion=criterion)


@pytest.mark.usefixtures("clock")  # which stands still
def test_solver_gets_what_is_left(stand_in):
    seconds = []

    def solver(frame, column=None, *, k, m=2, hierarchy, time_limit=60):
        seconds.append(time_limit)
        return pdanon.apriori(frame, column, k=k, m=m, hierarchy=hierarchy)

    stand_in("optimal", solver)
    pdanon.anonymize(FRAME, KmAnonymity(3, 2), hierarchy=TREE, time_limit=50)
    assert seconds == [25, 5]
    pdanon.anonymize(FRAME, KmAnonymity(3, 2), hierarchy=TREE, time_limit=8)
    assert seconds[2:] == [4, 4]


def test_what_is_proven_as_far_as_asked_is_better_than_what_loses_less(stand_in):
    """SuppressControl would lose less here, but is proven for one known item alone."""
    rows = [{"flu", "rice", "tea"}, {"flu", "tea"}, {"tea"}, {"rice"}, {"rice", "oil"}, {"oil"}]
    frame, tree = frame_of(rows), {"all": ["rice", "tea", "oil"]}
    asked = pdanon.RhoUncertainty(rho=0.5, sensitive=["flu"])

    def short(frame, column=None, *, rho, sensitive, m=None):
        return pdanon.suppress_control(frame, column, rho=1 - 1e-9, sensitive=sensitive, m=1)

    stand_in("suppress_control", short)
    result = pdanon.anonymize(frame, asked, hierarchy=tree)
    first, second = result.tried["reason"].fillna("").tolist()
    assert first.startswith("only proven: RhoUncertainty(")
    assert "m=1" in first
    assert (second, result.parameters["algorithm"]) == ("", "td_control")
    assert result.guarantee == asked
    assert result.tried["loss"].iloc[0] < result.tried["loss"].iloc[1]


def test_refinement_ends_at_the_limit_with_what_it_has():
    made = FRAME.txanon.pcta(k=3, m=2)
    with limit_time(-1):
        refined = pdanon.refine(FRAME, made)
    assert refined.holds
    assert refined.loss["NCP"] == made.loss["NCP"]


def test_refinement_that_was_ended_says_so(monkeypatch, clock):
    def slow(*arguments, **options):
        clock.pass_by(3)
        return refine_release(*arguments, **options)

    monkeypatch.setattr(choosing, "refine_release", slow)
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2), time_limit=3)
    refined = result.tried.iloc[3]
    assert refined["reason"] == "no time left: ended with what it had"
    assert refined["loss"] > 0
    assert "ended with what it had: pcta, refined" in result.cut_short


def test_an_annealing_that_hurried_says_so(monkeypatch):
    """The first look at the clock, before the annealing, finds no time spent, and the next one nearly all."""
    spent = iter([0.0, 0.45, *[0.9] * 100])
    monkeypatch.setattr(sets_search, "time_spent", lambda *_: next(spent))
    result = pdanon.anonymize(FRAME, KmAnonymity(3, 2))
    said = (
        "hurried for the time limit of 60 s; more time may lose less. annealed in fewer sweeps: pcta, refined"
    )
    assert result.cut_short == said
    assert result.tried["reason"].iloc[3] == "no time left: annealed in fewer sweeps"


@pytest.mark.parametrize(("moves", "sweeps"), [(2**18, 28), (20 * 6 + 5, 20), (1, 10)])
def test_sets_are_annealed_once_and_for_fewer_sweeps_if_there_are_many_items(moves, sweeps, monkeypatch):
    anneal, found = sets_search.Refinement._anneal_once, []
    monkeypatch.setattr(sets_search, "_QUICK", moves)
    monkeypatch.setattr(sets_search, "_FEW", 5)
    monkeypatch.setattr(
        sets_search.Refinement,
        "_anneal_once",
        lambda self, labels, *asked: found.append((len(labels), asked[0])) or anneal(self, labels, *asked),
    )
    pdanon.anonymize(FRAME, KmAnonymity(3, 2))
    assert found == [(6, sweeps)]
    monkeypatch.setattr(sets_search, "_FEW", 6)
    pdanon.anonymize(FRAME, KmAnonymity(3, 2))
    assert found[1:] == [(6, 40)] * 2
    pdanon.refine(FRAME, pdanon.pcta(FRAME, k=3, m=2))
    assert found[3:] == [(6, 40)] * 2


def test_a_column_is_encoded_once(monkeypatch):
    """Once for all algorithms; audits read releases."""
    encode, read = Itemsets.from_series.__func__, []
    monkeypatch.setattr(
        Itemsets,
        "from_series",
        classmethod(lambda cls, series, **options: read.append(series) or encode(cls, series, **options)),
    )
    pdanon.anonymize(FRAME, KmAnonymity(3, 2), "items")
    assert sum(each.equals(FRAME["items"]) for each in read) == 1


def test_limits_end_with_their_block():
    with progress_bar("", ""):
        with pytest.raises(TimeLimitError), limit_time(-1):
            count_steps()
        count_steps()


@pytest.mark.usefixtures("clock")  # which stands still
def test_limits_within_a_limit_are_not_longer():
    with limit_time(50), limit_time(100):
        assert seconds_left() == 50
        with limit_time(10):
            assert seconds_left() == 10
    with limit_time(-1), limit_time(10):
        assert seconds_left() == 0
        with pytest.raises(TimeLimitError):
            check_time()
    assert seconds_left() == math.inf


@pytest.mark.slow
def test_real_baskets(data):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    result = pdanon.anonymize(frame, KmAnonymity(5, 2))
    assert result.holds
    others = [each(frame, k=5).loss["NCP"] for each in (pdanon.pcta, pdanon.coat)]
    assert result.loss["NCP"] < min(others)


def test_k_and_m_are_short_for_their_guarantee():
    short, long = pdanon.anonymize(FRAME, k=2, m=1), pdanon.anonymize(FRAME, KmAnonymity(2, 1))
    assert short.guarantee == KmAnonymity(2, 1)
    pd.testing.assert_frame_equal(short.frame, long.frame)
    assert FRAME.txanon.anonymize(k=2).guarantee == KmAnonymity(2, 2)
    assert FRAME.txanon.anonymize(k=2, m=None).guarantee == KmAnonymity(2, None)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({}, "no guarantee is given"),
        ({"guarantee": KmAnonymity(2, 2), "k": 2}, "given twice"),
        ({"guarantee": KmAnonymity(2, 2), "m": 2}, "given twice"),
        ({"m": 2}, "k must be"),
        ({"k": "2"}, "k must be"),
    ],
)
def test_what_must_hold_is_said_once(asked, match):
    with pytest.raises(ParameterError, match=match):
        pdanon.anonymize(FRAME, **asked)


# --- Two kinds of loss


def test_the_error_of_counts_decides_between_two_kinds_of_loss():
    result = pdanon.anonymize(FRAME, KKm(k=3, m=2, quasi=QUASI), random_state=1)
    tried = result.tried.dropna(subset="loss")
    assert np.allclose(tried["loss"], (tried["pairs"] + tried["values"]) / 2)
    assert result.loss["values"] == tried.sort_values("loss", kind="stable")["values"].iloc[0]
    by_ncp = pdanon.anonymize(FRAME, KKm(k=3, m=2, quasi=QUASI), random_state=1, loss="NCP")
    assert by_ncp.tried["values"].equals(result.tried["values"])


@pytest.mark.slow
def test_of_releases_within_the_error_of_their_estimate_the_one_that_changes_least_is_returned():
    frame = pdanon.read_parquet(EXAMPLES / "patients.parquet").iloc[:700]
    guarantee = KKm(k=3, m=2, quasi=["age", "sex", "district"])
    result = pdanon.anonymize(frame, guarantee)
    tried, least = result.tried, result.tried.loc[result.tried["loss"].idxmin()]
    n_pairs = sum(len(row) * (len(row) - 1) // 2 for row in frame["diagnoses"])
    variances = [
        least[name] * (1 - least[name]) / 200 * (1 - 200 / n)
        for name, n in (("pairs", n_pairs), ("values", len(frame)))
    ]
    near = tried["loss"] <= least["loss"] + math.sqrt(sum(variances)) / 2
    assert 1 < near.sum() < len(tried)
    changed = tried["occurrences"].where(near)
    assert result.loss["occurrences"] == changed.min() < least["occurrences"]
    reasons = near.map({True: "near the lowest loss", False: ""}).tolist()
    reasons[changed.idxmin()] += ", and changes least"
    assert tried["reason"].fillna("").tolist() == reasons
    named = pdanon.anonymize(frame, guarantee, loss="counts")
    assert named.loss["occurrences"] == least["occurrences"]
    assert named.tried["loss"].equals(tried["loss"])
    assert named.tried["reason"].isna().all()


def test_nothing_is_near_if_all_was_counted():
    assert [sampling_error(0.5, n) for n in (0, 1, 200)] == [0, 0, 0]
    assert sampling_error(0.5, 400) == pytest.approx(0.5 / math.sqrt(400))
    assert sampling_error(0.0, 10**9) == sampling_error(1.5, 10**9) == 0
    two = FRAME.assign(more=FRAME["items"])
    for columns in (["items"], ["items", "more"]):
        reasons = pdanon.anonymize(two, KKm(k=3, m=2, quasi=QUASI, columns=columns)).tried["reason"]
        assert not reasons.str.startswith("near").any()


def test_the_other_releases_are_named_with_their_calls():
    tried = pd.DataFrame(
        {
            "algorithm": ["rfirst, cluster=mondrian", "rum_bound, delta=0.25", "rum_bound, delta=0.5"],
            "pairs": [0.8, 0.3, 0.2],
            "values": [0.1, 0.4, 0.9],
            "reason": ["near the lowest loss", None, "almost empty"],
        }
    )
    lines = [text for _, text in choice_lines(tried, pd.Series({"pairs": 0.5, "values": 0.2}))]
    assert lines == [
        "30 % in a pair's count, but 40 % in a combination's count: call rum_bound(delta=0.25, ...)",
        "10 % in a combination's count, but 80 % in a pair's count: call rfirst(cluster='mondrian', ...)",
    ]
    best = pd.Series({"pairs": 0.3, "values": 0.1})
    assert list(choice_lines(tried, best)) == []
    assert list(choice_lines(None, best)) == []


def test_quasi_identifiers_beside_k_and_m_are_short_for_their_guarantee():
    frame = pdanon.read_parquet(EXAMPLES / "patients.parquet")[["age", "diagnoses"]].iloc[:60]
    result = frame.txanon.anonymize(k=3, m=1, quasi=["age"])
    assert result.guarantee == KKm(k=3, m=1, quasi=["age"])
    with pytest.raises(pdanon.ParameterError, match="the guarantee is given twice"):
        frame.txanon.anonymize(KKm(k=3, m=1, quasi=["age"]), quasi=["age"])


# --- A loss of the caller


def test_a_function_or_a_workload_decides_between_the_releases():
    """Each release that is tried is measured again, by hand."""
    rows = [frozenset("ab")] * 9 + [frozenset("cd")] * 9 + [frozenset("ac"), frozenset("bd")]
    frame = frame_of(rows)
    pairs = pd.DataFrame({"items": [["a", "b"], ["c", "d"]]})
    workload = pdanon.Workload.from_frame(pairs)
    seen = []

    def lost(original, result):
        assert original is frame
        seen.append(result)
        return workload.are(original, result).are

    result = frame.txanon.anonymize(k=3, m=2, loss=lost)
    measured = [workload.are(frame, each).are for each in seen]
    assert result.tried["loss"].dropna().tolist() == measured
    assert workload.are(frame, result).are == min(measured) < max(measured)
    again = frame.txanon.anonymize(k=3, m=2, loss=workload)
    pd.testing.assert_frame_equal(again.frame, result.frame)
    opposite = frame.txanon.anonymize(k=3, m=2, loss=lambda frame, each: -workload.are(frame, each).are)
    assert workload.are(frame, opposite).are > workload.are(frame, result).are


def test_a_function_decides_by_lost_rules():
    rows = [frozenset("ab")] * 9 + [frozenset("cd")] * 9 + [frozenset("ac"), frozenset("bd")]
    frame = frame_of(rows)

    def lost(frame, result):
        found = patterns.rule_errors(frame, result, min_support=0.1, min_confidence=0.5)
        return found.lost + found.false

    result = frame.txanon.anonymize(k=3, m=2, loss=lost)
    assert lost(frame, result) == 0 < lost(frame, frame.txanon.pcta(k=3, m=2))


@pytest.mark.parametrize("value", [None, "1", float("nan"), float("inf"), True, {}, [1.0]])
def test_a_loss_that_is_no_number_is_refused(value):
    frame = frame_of([frozenset("ab")] * 4)
    with pytest.raises(pdanon.ParameterError, match="the loss of a release is no number"):
        frame.txanon.anonymize(k=2, m=2, loss=lambda frame, result: value)


@pytest.mark.parametrize("loss", [1, ["pairs"], {"pairs": 1}, pd.DataFrame()])
def test_a_loss_is_a_name_or_a_function(loss):
    with pytest.raises(pdanon.ParameterError, match="there is no such loss of this guarantee"):
        frame_of([frozenset("ab")] * 4).txanon.anonymize(k=2, m=2, loss=loss)
