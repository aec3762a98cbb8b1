"""Wrong parameters and wrong data: the right error, what teaches in it, no item text, input as it was."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, promised
from hypothesis import given, strategies as st

import pdanon
from pdanon import (
    ColumnError,
    InfeasibleError,
    ItemsetDtypeError,
    KmAnonymity,
    ParameterError,
    PdanonError,
    PrivacyConstraints,
)
from pdanon.algorithms.weights import WEIGHT_STEPS, item_weights
from pdanon.itemsets.codes import Itemsets

ROWS = [{SECRET, "tea"}, {SECRET, "rice"}, {"tea"}, set(), None]


def objects(rows):
    return pd.DataFrame({"items": pd.Series(rows, dtype=object), "age": range(len(rows))})


def refused(error, frame, call, *parts):
    """The error of a call: of a class, with these parts in its message, no item text, frame untouched."""
    before = frame.copy(deep=True)
    with pytest.raises(error) as caught:
        call(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert isinstance(caught.value, PdanonError)
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return message


@pytest.mark.parametrize(
    "call", [lambda: pdanon.pcta(objects(ROWS), k=0), lambda: KmAnonymity(0)], ids=["function", "class"]
)
def test_the_traceback_of_a_mistake_ends_at_the_call(call):
    with pytest.raises(ParameterError) as caught:
        call()
    functions = [each.name for each in traceback.extract_tb(caught.value.__traceback__)]
    assert functions[-1] in ("called", "constructed")  # what wraps the function, and none that it calls


# --- columns

NO_LISTS = pd.DataFrame({"items": [SECRET, "tea"], "age": [1, 2]})
TWO_LISTS = pd.DataFrame({"items": [[SECRET], ["tea"]], "more": [[SECRET], ["tea"]]})

CALLS = {
    "pcta": lambda frame, **asked: pdanon.pcta(frame, k=2, **asked),
    "risk": lambda frame, **asked: pdanon.risk(frame, k=2, **asked),
    "audit": lambda frame, **asked: pdanon.audit(frame, KmAnonymity(2), **asked),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_list_column_must_be_clear(call):
    refused(ColumnError, NO_LISTS, call, "no list-valued column", "'age': 'int64'", "hint", "from_long")
    refused(ColumnError, TWO_LISTS, call, "several list-valued columns", "items", "more", "column=")
    missing = lambda frame: call(frame, column="ward")  # noqa: E731
    refused(ColumnError, TWO_LISTS, missing, "'ward' does not exist", "items", "more")
    near = lambda frame: call(frame, column="itms")  # noqa: E731
    refused(ColumnError, TWO_LISTS, near, "'itms' does not exist", "did you mean 'items'?")
    misplaced = lambda frame: call(frame, column={SECRET: ["tea"]})  # noqa: E731
    refused(ColumnError, TWO_LISTS, misplaced, "named by its label", "dict", "by name")
    wrong = lambda frame: call(frame, column="age")  # noqa: E731
    refused(ItemsetDtypeError, NO_LISTS, wrong, "does not hold lists", "int64")
    text = lambda frame: call(frame, column="items")  # noqa: E731
    refused(ItemsetDtypeError, NO_LISTS, text, "list", "never parsed")


def test_errors_of_columns_are_attribute_errors():
    """So hasattr(series, "itemset") answers, instead of raising."""
    assert issubclass(ColumnError, AttributeError)
    assert not hasattr(NO_LISTS["items"], "itemset")


# --- k and m

MESSAGES = {"k": "k must be an integer of at least 2", "m": "m must be an integer of at least 1"}


@pytest.mark.parametrize(
    "k", [1, 0, -3, True, False, 2.0, 2.5, "2", None, np.float64(2), [2], np.bool_(True)]
)
def test_k_is_an_integer_of_at_least_two(k):
    frame = frame_of(ROWS)
    for call in (
        lambda frame: frame.txanon.pcta(k=k, m=2),
        lambda frame: frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["tea"]], k=k)),
        lambda frame: frame.txanon.risk(k=k, m=2),
        lambda frame: KmAnonymity(k, 2),
        lambda frame: PrivacyConstraints(constraints=[["tea"]], k=k),
    ):
        message = refused(ParameterError, frame, call, MESSAGES["k"], "got:", "hint")
        assert (str(k) if isinstance(k, (int, float)) or k is None else type(k).__name__) in message


@pytest.mark.parametrize("k", [2**31, 2**63, 10**30])
def test_k_beyond_all_tables_is_refused(k):
    frame = frame_of(ROWS)
    for call in (lambda frame: KmAnonymity(k, 3), lambda frame: frame.txanon.pcta(k=k, m=3)):
        refused(ParameterError, frame, call, "k must be below 2147483648, as the number of rows", str(k))
    assert not frame.txanon.audit(KmAnonymity(2**31 - 1, 3)).holds


@pytest.mark.parametrize("m", [0, -1, True, 2.0, "2", "all", [2], np.float64(1)])
def test_m_is_an_integer_of_at_least_one(m):
    frame = frame_of(ROWS)
    for call in (
        lambda frame: frame.txanon.pcta(k=2, m=m),
        lambda frame: frame.txanon.risk(k=2, m=m),
        lambda frame: KmAnonymity(2, m),
    ):
        refused(ParameterError, frame, call, MESSAGES["m"], "got:", "hint")
    with pytest.raises(ParameterError, match="m=None for all items of a row"):
        KmAnonymity(2, m)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16])
def test_integers_of_numpy_are_integers(kind):
    result = frame_of([{"a"}, {"b"}]).txanon.pcta(k=kind(2), m=kind(1))
    assert result.guarantee == KmAnonymity(2, 1)
    assert type(result.guarantee.k) is int


@pytest.mark.parametrize("asked", [{}, {"m": None}, {"m": 1}, {"constraints": [["tea"]]}])
def test_k_above_the_number_of_rows_with_items_is_infeasible(asked):
    call = lambda frame: frame.txanon.pcta(**promised(k=4, **asked))  # noqa: E731
    frame = frame_of(ROWS)
    message = refused(InfeasibleError, frame, call, "k is larger", "k=4, 3 non-empty of 5 rows", "smaller k")
    assert "tea" not in message
    assert len(frame.txanon.pcta(**promised(k=3, **asked)).frame) == 5


# --- constraints


@pytest.mark.parametrize(
    ("constraints", "parts"),
    [
        (
            [["tea"], ["unknown"]],
            ["does not occur", "constraint 1", "1 of 2 constraints with 1 unknown", "hint"],
        ),
        ([["tea", SECRET + "?"]], ["does not occur", "constraint 0", "1 unknown"]),
        ([[1, 2]], ["does not occur", "2 unknown"]),
        ([["tea"], []], ["non-empty itemset", "1 empty of 2", "hint"]),
        ([["tea"], None], ["non-empty itemset", "1 empty of 2"]),
        ([], ["non-empty itemset", "0 empty of 0"]),
        (SECRET, ["constraints must be a list of itemsets", "str", "hint"]),
        ({SECRET: 1}, ["constraints must be a list of itemsets", "dict"]),
        (5, ["constraints must be a list of itemsets", "int"]),
    ],
)
def test_constraints_are_itemsets_of_the_data(constraints, parts):
    frame = frame_of(ROWS)
    refused(
        ParameterError,
        frame,
        lambda f: f.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=2)),
        *parts,
    )
    audit = lambda f: f.txanon.audit(PrivacyConstraints(constraints=constraints, k=2))  # noqa: E731
    refused(ParameterError, frame, audit, *parts)


@pytest.mark.parametrize(
    ("constraints", "parts"),
    [
        ([SECRET, "tea"], ["a constraint is an item, not a list", "constraints", "list of lists"]),
        ([["tea"], 7], ["not a list", "row 1", "int"]),
        ([["tea", None]], ["missing", "row 0"]),
        ([[SECRET, 1]], ["not of one known type", "int, str"]),
    ],
)
def test_constraints_are_lists_of_one_type_of_item(constraints, parts):
    frame = frame_of(ROWS)
    refused(
        ItemsetDtypeError,
        frame,
        lambda f: f.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=2)),
        *parts,
    )


# --- weights


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ({"tea": 1.5}, ["[0, 1]", "1.5"]),
        ({"tea": -0.01}, ["[0, 1]", "-0.01"]),
        ({"tea": float("nan")}, ["[0, 1]", "nan"]),
        ({"tea": np.float64("inf")}, ["[0, 1]", "inf"]),
        ({"tea": True}, ["[0, 1]", "True"]),
        ({"tea": None}, ["[0, 1]", "None"]),
        ({"tea": SECRET}, ["[0, 1]", "str"]),
        ({"tea": 0.5, SECRET + "?": 0.5}, ["1 of 2 weights", "do not occur", "spelling"]),
        ({1: 0.5}, ["do not occur"]),
        ([0.5], ["must map items", "list", "hint"]),
        (0.5, ["must map items", "float"]),
        (pd.Series([0.5], [SECRET + "?"]), ["1 of 1 weights"]),
        (pd.Series([2.0], ["tea"]), ["[0, 1]", "2.0"]),
        (pd.Series([0.5, None], ["tea", "rice"]), ["[0, 1]", "nan"]),
    ],
)
def test_weights_are_numbers_from_zero_to_one_by_item(weights, parts):
    frame = frame_of(ROWS)
    refused(ParameterError, frame, lambda f: f.txanon.pcta(k=2, weights=weights), *parts)


@pytest.mark.parametrize(
    "weights", [{"tea": 0.5, 1: 0.5}, {("tea",): 0.5}, {None: 0.5}, {"tea": 1, float("nan"): 1}]
)
def test_weighted_items_are_of_one_type(weights):
    refused(
        ItemsetDtypeError, frame_of(ROWS), lambda f: f.txanon.pcta(k=2, weights=weights), "where: weights"
    )


@given(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1)))
def test_weights_become_steps(weights):
    itemsets = Itemsets.from_series(frame_of([{"a", "b", "c"}])["items"])
    steps = item_weights(weights, itemsets)
    assert steps.tolist() == [round(weights.get(item, 1.0) * WEIGHT_STEPS) for item in "abc"]
    assert item_weights(None, itemsets) is None


def test_weights_find_items_of_any_type():
    itemsets = Itemsets.from_series(pdanon.as_itemsets([[3, 10, 7]]))
    half = round(WEIGHT_STEPS / 2)
    assert item_weights({10: 0.5}, itemsets).tolist() == [WEIGHT_STEPS, WEIGHT_STEPS, half]
    assert item_weights(pd.Series({3: 0.0}), itemsets).tolist() == [0, WEIGHT_STEPS, WEIGHT_STEPS]
    assert item_weights({7: 1, 3: np.float32(0)}, itemsets).tolist() == [0, WEIGHT_STEPS, WEIGHT_STEPS]


# --- items


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([["tea"], [SECRET, None]], ["missing", "row 1", "1 missing", "hint"]),
        ([[1.5], [2.5], [float("nan"), 1.0]], ["missing", "row 2"]),
        ([[SECRET], [1]], ["not of one known type", "int, str", "hint"]),
        ([[SECRET], [("a", "b")]], ["not of one known type"]),
        ([["tea"], SECRET], ["row 1", "str", "from_text"]),
        ([["tea"], {SECRET: 1}], ["row 1", "dict", "hint"]),
        ([["tea"], 5], ["row 1", "int"]),
    ],
)
def test_items_are_of_one_type_and_not_missing(call, rows, parts):
    refused(ItemsetDtypeError, objects(rows), call, *parts)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_missing_item_in_an_arrow_list_is_refused_by_row(call):
    lists = pa.array([["tea"], None, [], [SECRET, None]])
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    refused(ItemsetDtypeError, frame, call, "missing", "row 3", "1 missing")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("thing", [[["tea"]], pd.Series([["tea"]]), {"items": [["tea"]]}, None])
def test_only_frames_are_anonymized(call, thing):
    with pytest.raises(ParameterError, match="DataFrame"):
        call(thing)


def test_parts_of_a_message_that_are_not_known_are_left_out():
    assert str(PdanonError("what")) == "what"
    full = PdanonError("what", where="here", got=3, hint="do this")
    assert str(full).splitlines() == ["what", "  where: here", "  got:   3", "  hint:  do this"]


TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}
RT = {"k": 2, "m": 1, "quasi": ["q"]}
ASKED = {
    "rum_bound": RT
    | {"delta": 0.9, "merge": "T", "transaction": pdanon.Transaction("apriori", hierarchy=TREE)}
    | {"cluster": "k_member", "random_state": np.random.default_rng(1), "block_rows": 4},
    "tum_bound": RT | {"delta": 0.9, "transaction": pdanon.Transaction(order="tum", tum="UL")},
    "rfirst": RT | {"cluster": "mondrian", "random_state": 5},
    "tfirst": RT | {"parts": 2},
    "coherence": {"h": 0.8, "k": 2, "p": 1, "private": ["c"], "criterion": "mm", "loss": "unit"},
    "suppress_public": {"h": 0.8, "k": 2, "p": 1, "private": ["c"]},
    "suppress_to_k": {"k": 2, "public": ["a"]},
    "apriori": {"k": 2, "m": 1, "hierarchy": TREE, "sensitive": ["c"], "l": 2},
    "suppress_control": {"rho": 0.5, "sensitive": ["c"], "m": 2, "scope": "sensitive"},
    "td_control": {"rho": 0.5, "sensitive": ["c"], "m": None, "scope": "all", "hierarchy": TREE},
    "optimal": {"k": 2, "m": 1, "hierarchy": TREE, "suppress": True, "time_limit": 9},
    "clump": {"k": 2, "hierarchy": TREE, "r": 3, "lookahead": 2},
    "cluster": {"k": 2, "quasi": ["q"], "random_state": 4},
}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_asked_is_recorded_even_if_it_can_be_read_once(name):
    lists = [["a", "b"], ["a"], ["b", "c"], ["b", "c"], ["a", "c"], ["a"]]
    frame = pd.DataFrame({"q": [1, 2, 3, 4, 5, 6], "items": lists})
    once = {"quasi", "sensitive", "private", "public"}
    given = {key: iter(value) if key in once else value for key, value in ASKED[name].items()}
    arguments = promised(**given) if name == "apriori" else given
    recorded = getattr(pdanon, name)(frame, **arguments).parameters
    found = {key: recorded[key] for key in given}
    if name == "apriori":
        found["sensitive"] = [*found["sensitive"]]
    assert found == ASKED[name]
