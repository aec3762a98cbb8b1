"""Coherence: the published example, the minimal moles, the order of elimination, two columns, bad input."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import coherence as naive, emptied as naive_emptied

import pdanon
from examples import examples
from pdanon import Coherence, KmAnonymity
from pdanon.algorithms.items import coherence
from pdanon.algorithms.items.coherence import Moles
from pdanon.algorithms.weights import item_losses
from pdanon.guarantees.coherence import PublicAndPrivate
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.encoded_columns import ListColumns

# The example of the paper. Public items are letters, private ones words.
PAPER = ["acdfg Diabetes", "abcf Hepatitis", "bdfx Hepatitis", "bcgyz HIV", "acfg HIV"]
PAPER = [frozenset([*row.split()[0], row.split()[1]]) for row in PAPER]
PRIVATE = ["Diabetes", "HIV", "Hepatitis"]
ASKED = {"h": 0.8, "k": 2, "p": 2, "private": PRIVATE}
LETTERS = "abcdef"


def found_moles(frame, h, k, p, private):
    """The minimal moles as the algorithm lists them, each once."""
    guarantee = Coherence(h=h, k=k, p=p, private=private)
    parts = PublicAndPrivate.of(ListColumns.of(frame, [0]), guarantee.private)
    moles = Moles(parts, guarantee)
    items = parts.itemsets.vocabulary.to_pylist()
    listed = [frozenset(items[code] for code in codes) for codes in moles.larger.sets()]
    assert len(set(listed)) == len(listed)
    return set(listed) | {frozenset([items[code]]) for code in np.flatnonzero(moles.single)}


def threats_of(audit):
    table = audit.threats
    return dict(
        zip(map(frozenset, table["itemset"]), zip(table["support"], table["why"], strict=True), strict=True)
    )


def suppressed_by(result):
    mapping = result.mapping
    return set(mapping["item"][mapping["generalized"].isna()])


def with_emptied(rows, suppressed, k, private):
    """Items that are suppressed when no row or k rows are without public items, if one loses all of them."""
    public = [frozenset(row) - frozenset(private) for row in rows]
    became = {item: None if item in suppressed else item for item in frozenset().union(*public)}
    became = naive_emptied.hidden(public, became, k - sum(not row for row in public))
    return {item for item, label in became.items() if label is None}


def occurring(rows, private):
    """Private items that occur: others are refused."""
    return sorted(frozenset().union(*rows) & set(private))


# --- the published example


def test_published_moles():
    expected = {*"xyz", "ab", "ad", "bd", "bf", "bg", "cd", "dg"}
    assert found_moles(frame_of(PAPER), 0.8, 2, 2, PRIVATE) == set(map(frozenset, expected))
    threats = threats_of(frame_of(PAPER).txanon.audit(Coherence(**ASKED)))
    assert set(threats) == set(map(frozenset, expected))
    assert threats[frozenset("ab")] == (1, "support")
    assert threats[frozenset("bf")] == (2, "breach")
    assert frozenset("a") not in threats  # support 3, and each disease in one of the rows


def test_published_scores():
    larger = [mole for mole in found_moles(frame_of(PAPER), 0.8, 2, 2, PRIVATE) if len(mole) > 1]
    supports = {item: sum(item in row for row in PAPER) for item in "abcdfg"}
    scores = {item: (sum(item in mole for mole in larger), supports[item]) for item in "abcdfg"}
    assert scores == {"b": (4, 3), "d": (4, 2), "a": (2, 3), "g": (2, 3), "c": (1, 4), "f": (1, 4)}


@pytest.mark.parametrize("criterion", ["mm/il", "mm"])
def test_published_elimination(criterion):
    result = frame_of(PAPER).txanon.coherence(**ASKED, criterion=criterion)
    assert suppressed_by(result) == set("xyzbd")
    assert result.loss["S/N"] == pytest.approx(8 / 27)


def test_published_elimination_by_loss_depends_on_ties():
    """After d, the items a, b and g cost 3 each. The paper takes a; here the one with most moles is next."""
    frame = frame_of(PAPER)
    result = frame.txanon.coherence(**ASKED, criterion="1/il")
    assert suppressed_by(result) == set("xyzbd")
    assert result.loss["S/N"] == pytest.approx(8 / 27)
    supports = {item: sum(item in row for row in PAPER) for item in "abcdfgxyz"}
    result = frame.txanon.coherence(**ASKED, criterion="1/il", loss=supports | {"a": 2.999})
    assert suppressed_by(result) == set("xyzdab")
    assert result.loss["S/N"] == pytest.approx(11 / 27)


def test_published_claim_for_one_known_item_holds_only_after_the_first_step():
    """The paper calls the table coherent for p = 1; but x, y and z are in one row, which is fewer than 2."""
    guarantee = Coherence(h=0.8, k=2, p=1, private=PRIVATE)
    audit = frame_of(PAPER).txanon.audit(guarantee)
    assert threats_of(audit) == {frozenset(item): (1, "support") for item in "xyz"}
    assert frame_of([row - set("xyz") for row in PAPER]).txanon.audit(guarantee).holds


def test_published_comparison_with_k_anonymity():
    result = frame_of(PAPER).txanon.suppress_to_k(k=2, public=list("abcdfgxyz"))
    assert [row & set("abcdfgxyz") for row in rows_of(result.frame)] == [{"a"}, {"a"}, set(), set(), {"a"}]
    assert result.loss["S/N"] == pytest.approx(19 / 27)


def test_published_removal_of_all():
    result = frame_of(PAPER).txanon.suppress_public(**ASKED)
    assert rows_of(result.frame) == [row & set(PRIVATE) for row in PAPER]
    assert result.loss["S/N"] == pytest.approx(22 / 27)


def test_published_steps():
    """The score table of the paper: d has 4 moles and loss 2, and then b has 3 moles and loss 3."""
    trace = frame_of(PAPER).txanon.coherence(**ASKED).trace
    assert trace["item"].tolist() == ["x", "y", "z", "d", "b"]
    assert trace.iloc[3:, 1:].to_numpy().tolist() == [[4, 2, 2], [3, 3, 1]]
    result = frame_of(PAPER).txanon.coherence(**ASKED)
    assert "refined" not in repr(result)


# --- against the definition

SHARES = st.fractions(0, 1, max_denominator=6)
COHERENCES = {"h": SHARES, "k": st.integers(2, 4), "p": st.integers(1, 4)}


@settings(max_examples=examples(60))
@given(rows=row_lists("abcdeXYZ", longest=7, most=14), **COHERENCES)
def test_audit_is_the_definition(rows, h, k, p):
    private = occurring(rows, "XYZ")
    audit = frame_of(rows).txanon.audit(Coherence(h=h, k=k, p=p, private=private))
    assert audit.rows_at_risk == naive.rows_at_risk(rows, h, k, p, private)
    expected = naive.minimal_moles(rows, h, k, p, private)
    threats = threats_of(audit)
    assert set(threats) == expected
    assert len(audit.threats) == len(expected)
    for mole, (support, why) in threats.items():
        assert support == sum(mole <= row for row in rows)
        assert why == ("support" if support < k else "breach")
    for mole, item, probability in audit.threats[["itemset", "private", "probability"]].itertuples(
        index=False
    ):
        mole = frozenset(mole)
        assert probability == float(naive.breach(rows, mole, private))
        assert pd.isna(item) == (probability == 0)
        assert pd.isna(item) or naive.breach(rows, mole, {item}) == naive.breach(rows, mole, private)


@settings(max_examples=examples(60))
@given(
    rows=row_lists("abcdeXYZ", longest=7, most=14, least=2), missing=st.sets(st.integers(0, 13)), **COHERENCES
)
def test_probabilities_with_a_private_column(rows, missing, h, k, p):
    """The attacker knows that a row has private data: missing rows do not count."""
    frame = two_columns(rows, "XYZ")
    frame["diagnoses"] = [
        None if row in missing else [*items] for row, items in enumerate(frame["diagnoses"])
    ]
    rows = [None if number in missing else row for number, row in enumerate(rows)]
    frame["diagnoses"] = pdanon.as_itemsets(frame["diagnoses"])
    if not any(row & set("XYZ") for row in rows if row):
        return
    threats = frame.txanon.audit(Coherence(h=h, k=k, p=p, private="diagnoses"), "bought").threats
    for mole, support, _, item, probability in threats.itertuples(index=False):
        held = [row for row in rows if row is not None and frozenset(mole) <= row]
        shares = {each: sum(each in row for row in held) for each in "XYZ"}
        assert probability * support == pytest.approx(max(shares.values()))
        assert pd.isna(item) or shares[item] == max(shares.values())
        assert support == len(held) or not held or not len(mole)


@settings(max_examples=examples(60))
@given(rows=row_lists("abcdeXYZ", longest=7, most=14, least=4), **COHERENCES)
def test_moles_are_those_of_the_definition(rows, h, k, p):
    private = occurring(rows, "XYZ")
    expected = naive.minimal_moles(rows, h, k, p, private)
    if frozenset() not in expected:
        assert found_moles(frame_of(rows), h, k, p, private) == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("h", "k", "p", "least"), [(Fraction(2, 5), 3, 3, 130), (0.6, 2, 4, 260), (1, 3, 3, 0)]
)
def test_many_moles_are_those_of_the_definition(h, k, p, least):
    draw = np.random.default_rng(7)
    rows = [frozenset(draw.choice(30, 8, replace=False).tolist()) for _ in range(150)]
    private = {0, 7, 14, 21, 28}
    frame = pd.DataFrame({"items": [sorted(row) for row in rows]})
    expected = naive.minimal_moles(rows, Fraction(h).limit_denominator(100), k, p, private)
    threats = threats_of(frame.txanon.audit(Coherence(h=h, k=k, p=p, private=private)))
    assert set(threats) == expected == found_moles(frame, h, k, p, private)
    assert sum(why == "breach" for _, why in threats.values()) >= least
    assert len(threats) > 400


@settings(max_examples=examples(60))
@given(
    rows=row_lists("abcdeXYZ", longest=7, most=14, least=4),
    criterion=st.sampled_from(["mm/il", "mm", "1/il"]),
    losses=st.sampled_from(["support", "unit"])
    | st.lists(st.sampled_from([0, 0.25, 0.5, 1, 3, Fraction(1, 10)]), min_size=5, max_size=5),
    **COHERENCES,
)
def test_elimination_is_greedy_and_ends_coherent(rows, criterion, losses, h, k, p):
    private = occurring(rows, "XYZ")
    public = occurring(rows, "abcde")
    frame = frame_of(rows)
    if isinstance(losses, list):
        losses = dict(zip("abcde", losses, strict=True))
        loss = {item: losses[item] for item in public}
        losses = {item: Fraction(value).limit_denominator(1000) for item, value in loss.items()}
    else:
        loss = losses
        losses = {item: sum(item in row for row in rows) if loss == "support" else 1 for item in public}
    asked = {"h": h, "k": k, "p": p, "private": private, "criterion": criterion, "loss": loss}
    expected = naive.minimal_moles(rows, h, k, p, private)
    if frozenset() in expected:
        with pytest.raises(pdanon.InfeasibleError):
            frame.txanon.coherence(**asked)
        return
    result = frame.txanon.coherence(**asked)
    eliminated = naive.eliminated(expected, losses, criterion)
    assert suppressed_by(result) == with_emptied(rows, eliminated, k, private)
    assert naive.is_coherent(rows_of(result.frame), h, k, p, private)
    lost = sum(len(row & suppressed_by(result)) for row in rows)
    assert result.loss["S/N"] == pytest.approx(lost / max(1, sum(map(len, rows))))
    trace, left = result.trace, set(expected)
    assert trace["item"].tolist() == eliminated
    for item, count, loss, score in trace.itertuples(index=False):
        holding = {mole for mole in left if item in mole}
        assert (count, loss) == (len(holding), float(losses[item]))
        infinite, value = naive.score(criterion, count, losses[item])
        assert score == (float("inf") if infinite else pytest.approx(float(value)))
        left -= holding


@settings(max_examples=examples(500, part=10))
@given(
    rows=row_lists("abcdeXYZ", longest=7, most=14, least=4),
    losses=st.lists(st.sampled_from([0, 0.25, 1, 3]), min_size=5, max_size=5) | st.none(),
    few=st.booleans(),
    **COHERENCES,
)
def test_optimal_is_the_least_of_all_choices(rows, losses, few, h, k, p):
    private, public = occurring(rows, "XYZ"), occurring(rows, "abcde")
    moles = naive.minimal_moles(rows, h, k, p, private)
    if frozenset() in moles:
        return
    loss = {item: sum(item in row for row in rows) for item in public}
    if losses is not None:
        loss = {item: dict(zip("abcde", losses, strict=True))[item] for item in public}
    choices = [set(each) for size in range(len(public) + 1) for each in combinations(public, size)]
    least = min(sum(map(loss.get, each)) for each in choices if all(mole & each for mole in moles))
    with pytest.MonkeyPatch.context() as patch:
        if few:
            patch.setattr(coherence, "_FEW", 1)
        asked = {"h": h, "k": k, "p": p, "private": private, "loss": loss}
        result = frame_of(rows).txanon.coherence(**asked, criterion="optimal")
        late = frame_of(rows).txanon.coherence(**asked, criterion="optimal", time_limit=0)
    lost = sum(loss[item] for item in suppressed_by(result))
    assert lost * (1 - result.loss["gap"]) == pytest.approx(least)
    chosen = set(result.trace["item"])
    assert sum(map(loss.get, chosen)) == pytest.approx(least)
    assert all(mole & chosen for mole in moles)
    assert naive.is_coherent(rows_of(result.frame), h, k, p, private)
    greedy = frame_of(rows).txanon.coherence(**asked)
    assert suppressed_by(late) == suppressed_by(greedy)
    lost = sum(loss[item] for item in suppressed_by(late))
    assert lost * (1 - late.loss["gap"]) <= least + 1e-9


def test_the_gap_is_a_share_of_what_is_lost():
    """x has to go, which empties one row. So a, in two rows, goes too, of which the bound knows nothing."""
    frame = frame_of([["x"], ["a"], ["a"], ["b"], ["b"], ["b"]])
    result = frame.txanon.coherence(h=1, k=2, p=1, private=[], criterion="optimal")
    assert suppressed_by(result) == {"a", "x"}
    assert result.loss["gap"] == pytest.approx(2 / 3)


@settings(max_examples=examples(60))
@given(rows=row_lists(most=12, least=2), k=st.integers(2, 4), p=st.integers(1, 4))
def test_without_private_items_it_is_km_anonymity(rows, k, p):
    frame = frame_of(rows)
    audit = frame.txanon.audit(Coherence(h=1, k=k, p=p, private=[]))
    if len(rows) >= k:
        assert audit.rows_at_risk == frame.txanon.audit(KmAnonymity(k, p)).rows_at_risk
    else:
        assert audit.rows_at_risk == len(rows)
        assert threats_of(audit) == {frozenset(): (len(rows), "support")}


@settings(max_examples=examples(60))
@given(
    rows=row_lists("abcdeX", longest=6, most=14), k=st.integers(2, 3), draw=st.sets(st.sampled_from("abcde"))
)
def test_suppression_to_k_is_top_down(rows, k, draw):
    public = frozenset(occurring(rows, draw))
    frame = frame_of(rows)
    if 0 < len(rows) < k:
        with pytest.raises(pdanon.InfeasibleError, match="k is larger"):
            frame.txanon.suppress_to_k(k=k, public=public)
        return
    result = frame.txanon.suppress_to_k(k=k, public=public)
    assert suppressed_by(result) == naive.suppressed_to_k(rows, k, public)
    parts = [row & public for row in rows_of(result.frame)]
    assert all(parts.count(part) >= k for part in parts)


def test_items_that_all_rows_hold_make_no_classes():
    many = [f"i{number:03}" for number in range(300)]
    result = frame_of([many, many, many, [*many, "a"], [*many, "a"]]).txanon.suppress_to_k(k=2, public=many)
    assert suppressed_by(result) == set()


@settings(max_examples=examples(60))
@given(rows=row_lists("abX", most=10), k=st.integers(2, 4))
def test_audit_of_public_parts(rows, k):
    parts = [row - {"X"} for row in rows]
    audit = frame_of(rows).txanon.audit(pdanon.PublicK(k=k, public=list("abc")))
    assert audit.rows_at_risk == sum(parts.count(part) < k for part in parts)
    expected = {part: (parts.count(part), "class") for part in parts if parts.count(part) < k}
    assert threats_of(audit) == expected


# --- the private items


FORMS = {
    "list": PRIVATE,
    "set": set(PRIVATE),
    "array": np.array(PRIVATE, dtype=object),
    "series": pd.Series(PRIVATE),
    "iterator": lambda: iter(PRIVATE),
    "booleans": pd.Series([True] * 3 + [False] * 2, index=[*PRIVATE, "a", "in no row"]),
    "nullable booleans": pd.Series([True] * 3, index=PRIVATE, dtype="boolean"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_private_items_in_any_form(form):
    asked = {**ASKED, "private": form() if callable(form) else form}
    result = frame_of(PAPER).txanon.coherence(**asked)
    assert suppressed_by(result) == set("xyzbd")


def test_guarantee_with_another_parameter():
    guarantee = replace(Coherence(**ASKED), k=3)
    assert repr(guarantee) == "Coherence(h=0.8, k=3, p=2, private=3 items)"
    assert guarantee.audit(frame_of(PAPER)).rows_at_risk == naive.rows_at_risk(
        PAPER, Fraction(4, 5), 3, 2, PRIVATE
    )


def two_columns(rows, private):
    frame = frame_of([row - set(private) for row in rows])
    frame["diagnoses"] = frame_of([row & set(private) for row in rows])["items"]
    return frame.rename(columns={"items": "bought"})


@settings(max_examples=examples(60))
@given(
    rows=row_lists("abcdeXYZ", longest=7, most=14, least=4),
    name=st.sampled_from(["coherence", "suppress_public"]),
    **COHERENCES,
)
def test_private_column_is_as_private_items(rows, name, h, k, p):
    private = occurring(rows, "XYZ")
    one, two = frame_of(rows), two_columns(rows, "XYZ")
    asked = {"h": h, "k": k, "p": p}
    by_items, by_column = Coherence(**asked, private=private), Coherence(**asked, private="diagnoses")
    audit = two.txanon.audit(by_column)
    assert audit.rows_at_risk == one.txanon.audit(by_items).rows_at_risk
    assert threats_of(audit) == threats_of(one.txanon.audit(by_items))
    if frozenset() in naive.moles(rows, h, k, p, private):
        return
    expected = getattr(one.txanon, name)(**asked, private=private)
    result = getattr(two.txanon, name)("bought", **asked, private="diagnoses")
    assert suppressed_by(result) == suppressed_by(expected)
    assert result.loss["S/N"] == expected.loss["S/N"]
    assert rows_of(result.frame, "diagnoses") == [row & set("XYZ") for row in rows]
    assert result.guarantee.audit(result.frame, "bought").holds
    assert [*result.frame.columns] == ["bought", "diagnoses"]


def test_both_columns_are_built_anew():
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3]), pa.array(["flu", SECRET, "flu"]), mask=pa.array([False, True, False])
    )
    frame = frame_of([["a"], ["a"], ["a"]])
    frame["diagnoses"] = pd.Series(hidden, dtype=pd.ArrowDtype(hidden.type))
    result = frame.txanon.coherence(h=1, k=2, p=1, private="diagnoses")
    buffers = arrow_values(result.frame["diagnoses"]).chunk(0).buffers()
    assert not any(SECRET.encode() in buffer.to_pybytes() for buffer in buffers if buffer)
    assert arrow_values(result.frame["diagnoses"]).to_pylist() == [["flu"], [], ["flu"]]


def test_items_keep_their_type():
    frame = pd.DataFrame({"items": [[1, 2, 9], [1, 2], [1, 3, 9], [1]]})
    result = frame.txanon.coherence(h=1, k=2, p=1, private=[9])
    assert result.frame["items"].dtype == pd.ArrowDtype(pa.list_(pa.int64()))
    assert result.mapping["generalized"].isna().tolist() == [False, False, True, False]


# --- refusals


def test_private_items_that_are_too_frequent_are_counted():
    rows = [["a", "X", "Y"], ["a", "X", "Y"], ["a", "X"], ["Z"]]
    frame = frame_of(rows)
    for name in ("coherence", "suppress_public"):
        with pytest.raises(pdanon.InfeasibleError) as caught:
            getattr(frame.txanon, name)(h=0.4, k=2, p=1, private=list("XYZ"))
        assert "2 of 3 private items are in more than h=0.4" in str(caught.value)
        assert "the least h that works is 3/4" in str(caught.value)
        getattr(frame.txanon, name)(h=0.75, k=2, p=1, private=list("XYZ"))


WRONG = {
    "h above 1": ({"h": 1.5}, r"h must be a number in \[0, 1\]"),
    "h below 0": ({"h": -0.1}, r"h must be a number in \[0, 1\]"),
    "h not a number": ({"h": "80%"}, r"h must be a number in \[0, 1\]"),
    "p of 0": ({"p": 0}, "p must be an integer of at least 1"),
    "p not whole": ({"p": 1.5}, "p must be an integer of at least 1"),
    "k of 1": ({"k": 1}, "k must be an integer of at least 2"),
    "criterion": ({"criterion": "il"}, r"no such criterion(.|\n)*did you mean '1/il'"),
    "loss": ({"loss": "rows"}, "loss has an unknown form"),
    "loss below 0": ({"loss": dict.fromkeys("abcdfgxyz", -1)}, "a loss must be a number from 0"),
    "loss not a number": ({"loss": dict.fromkeys("abcdfgxyz", "x")}, "a loss must be a number from 0"),
    "loss not finite": ({"loss": dict.fromkeys("abcdfgxyz", float("nan"))}, "a loss must be a number from 0"),
    "loss of some items": ({"loss": {"a": 1}}, r"loss lacks public items(.|\n)*8 items"),
    "loss of unknown items": ({"loss": {"unknown": 1}}, "1 of 1 losses name items that do not occur"),
    "unknown private items": (
        {"private": ["HIV", "u", "v"]},
        r"does not occur in the data(.|\n)*position 1, 2(.|\n)*2 of 3 items",
    ),
    "private of another type": ({"private": [1, 2]}, "does not occur in the data"),
    "private and public": (
        {"private": pd.Series([True, False, False], index=["HIV", "HIV", "a"])},
        r"both public and private(.|\n)*1 items",
    ),
    "private perhaps": (
        {"private": pd.Series([True, None], index=["HIV", "a"], dtype="boolean")},
        "is missing",
    ),
    "private as a dict": ({"private": {"HIV": True}}, "private must be a list of items"),
    "private as text": ({"private": SECRET}, "names a column that does not exist"),
}


@pytest.mark.parametrize(("asked", "message"), WRONG.values(), ids=WRONG)
def test_bad_input(asked, message):
    with pytest.raises(pdanon.ParameterError, match=message) as caught:
        frame_of(PAPER).txanon.coherence(**{**ASKED, **asked})
    assert SECRET not in str(caught.value)


def test_items_in_both_columns():
    frame = two_columns(PAPER, PRIVATE)
    frame["diagnoses"] = frame_of([["a"]] * len(frame))["items"]
    with pytest.raises(pdanon.ParameterError, match="both public and private"):
        frame.txanon.coherence("bought", h=1, k=2, p=1, private="diagnoses")


def test_private_column_is_another_one():
    with pytest.raises(pdanon.ColumnError, match="is the list column itself"):
        two_columns(PAPER, PRIVATE).txanon.coherence("bought", h=1, k=2, p=1, private="bought")


def test_more_than_all_rows():
    for name in ("coherence", "suppress_public"):
        with pytest.raises(
            pdanon.InfeasibleError, match=r"k is larger than the number of rows(.|\n)*k=6, 5 rows"
        ):
            getattr(frame_of(PAPER).txanon, name)(**{**ASKED, "k": 6})
    with pytest.raises(pdanon.InfeasibleError, match="k is larger than the number of rows"):
        frame_of(PAPER).txanon.suppress_to_k(k=6, public=list("abc"))


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ("a", "public must be a list of items"),
        (["a", "u"], "1 of 2 items"),
        (pd.Series([True, False], ["a", "a"]), "both"),
    ],
)
def test_bad_public_items(public, message):
    with pytest.raises(pdanon.ParameterError, match=message):
        frame_of(PAPER).txanon.suppress_to_k(k=2, public=public)


def test_losses_beyond_exact_comparison():
    rows = [*PAPER, *PAPER]
    huge = dict.fromkeys("abcdfgxyz", 10**9 - 1)
    assert suppressed_by(frame_of(rows).txanon.coherence(**{**ASKED, "k": 4}, loss=huge))
    parts = PublicAndPrivate.of(ListColumns.of(frame_of(PAPER), [0]), Coherence(**ASKED).private)
    losses = item_losses("unit", parts.itemsets, parts.index.singles, ~parts.is_private)[0] * 2**61
    with pytest.raises(pdanon.ParameterError, match="cannot be compared exactly"):
        Moles(parts, Coherence(**ASKED)).eliminate(losses, "mm/il")
