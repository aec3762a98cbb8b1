"""What every registered algorithm promises, whatever rows it is given; `contract` says what that is."""

from __future__ import annotations

import io
import itertools
import pickle

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists
from contract import (
    ALL_ROWS,
    ARGUMENTS,
    GROUPING,
    GUARANTEES,
    INFERRING,
    KEEPING,
    LOCAL,
    RECOUNTS,
    TRANSACTIONAL,
    WITH_SECRETS,
    algorithms,
    assert_contract,
    bags_of,
    became_of,
    hiding,
    is_possible,
    items_of,
    rows_of,
    run,
    text,
    tree_over,
)
from families import IN_CHUNKS, OF_ROWS
from frames import BASE, FRAMES, NULLS, chunked, many_items, objects
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import KmAnonymity, LmDiversity, TransactionalK
from pdanon.evaluation.report import render
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.dtype import arrow_values

# Looks at each of so many child cuts at each of so many steps: seconds for what takes others no time.
SLOW_DESCENT = {"hghs", "mhghs"}

# Releases of all algorithms are drawn by the same functions: pictures of sets and of nodes are looked at.
DRAWN = {"pcta", "apriori"}

# One of each kind of release: of sets, of nodes, by groups of rows, with items as they are.
REPORTED = DRAWN | {"lra", "clump", "coherence"}

# Frames of no item, of one, or whose items are all in more than half of the rows that hold others.
FEW_ITEMS = {
    *("no rows", "one empty row", "empty rows", "missing rows", "equal rows", "one item"),
    *("repeated items", "lists of one size"),
}


def test_every_algorithm_is_tested_here():
    assert set(OF_ROWS) - set(ARGUMENTS) == set(), "add a line to ARGUMENTS in tests/contract.py"
    assert set(IN_CHUNKS) == {"disassociate"}  # which has a file of its own


def buffers_of(frame):
    column = frame.iloc[:, find_column(frame)]
    if not isinstance(column.dtype, pd.ArrowDtype):
        return []
    chunks = arrow_values(column).chunks
    return [buffer and buffer.to_pybytes() for chunk in chunks for buffer in chunk.buffers()]


def assert_same(frame, before):
    """pandas cannot compare frames with list views: so their lists are compared on their own."""
    position = find_column(before)
    others = [place for place in range(before.shape[1]) if place != position]
    pd.testing.assert_frame_equal(frame.iloc[:, others], before.iloc[:, others])
    one, other = frame.iloc[:, position], before.iloc[:, position]
    assert one.dtype == other.dtype
    assert [*map(type, one)] == [*map(type, other)]
    assert [*map(plain, one.dropna())] == [*map(plain, other.dropna())]
    assert frame.attrs == before.attrs


def plain(row):
    return row if isinstance(row, (set, frozenset)) else list(row)


# --- for any rows, of any type and layout


@pytest.mark.one_in(2)
@algorithms
@settings(max_examples=examples(40))
@given(
    rows=row_lists(), missing=st.sets(st.integers(0, 9)), k=st.integers(2, 4), m=st.none() | st.integers(1, 4)
)
def test_any_rows(name, rows, missing, k, m):
    rows = [None if number in missing and not row else row for number, row in enumerate(rows)]
    filled = sum(map(bool, rows))
    assume(filled == 0 or filled >= k)
    seen = len(rows) if name in ALL_ROWS else sum(row is not None for row in rows)
    assume(seen == 0 or seen >= k)
    frame = frame_of(rows)
    assume(is_possible(name, frame, k))
    result = run(name, frame, k=k, m=m)
    assert_contract(frame, result)
    guarantee = result.guarantee
    assert type(guarantee) is GUARANTEES[name]
    if name not in (KEEPING - LOCAL) | WITH_SECRETS:
        assert guarantee == (TransactionalK(k=k) if name in TRANSACTIONAL else KmAnonymity(k, m))
        at_risk = RECOUNTS[type(guarantee)](guarantee, bags_of(frame))
        assert frame.txanon.audit(guarantee).rows_at_risk == at_risk
    assert result.frame.txanon.audit(result.guarantee).holds


# Each algorithm with each frame.
OF_EACH_KIND = [
    pytest.param(
        *(name, make),
        id=f"{kind}-{name}",
        marks=[pytest.mark.slow] * (name in SLOW_DESCENT and kind == "many items"),
    )
    for name, (kind, make) in itertools.product(ARGUMENTS, FRAMES.items())
]


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("name", "make"), OF_EACH_KIND)
def test_any_frame(name, make):
    frame = make()
    if not is_possible(name, frame):
        with pytest.raises((pdanon.InfeasibleError, pdanon.ParameterError), match=r"sensitive|public item"):
            run(name, frame)
        return
    before, buffers = pickle.loads(pickle.dumps(frame)), buffers_of(frame)
    if len(frame) == 1 and name not in INFERRING:
        with pytest.raises(pdanon.InfeasibleError, match="k is larger"):
            run(name, frame)
        return
    result = run(name, frame)
    assert_contract(frame, result)
    assert buffers_of(frame) == buffers
    result.frame.attrs["new"] = 1
    result.frame.isetitem(find_column(frame), ["changed"] * len(frame))
    assert_same(frame, before)


@pytest.mark.one_in(4)
@hiding
@pytest.mark.parametrize("m", [1, 3, None])
@pytest.mark.parametrize(
    "rows", [BASE, NULLS, [["a", "b", "c", "d"], ["a", "b", "c"], ["b", "c", "d"], ["d"]]]
)
def test_any_knowledge(name, rows, m):
    frame = frame_of(rows)
    assert_contract(frame, run(name, frame, k=3, m=m))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in SLOW_DESCENT])
def test_many_items_and_few_rare_pairs(name):
    frame = many_items()
    assert_contract(frame, run(name, frame))


SENSITIVE = {name: make for name, make in FRAMES.items() if name not in FEW_ITEMS}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("make", SENSITIVE.values(), ids=SENSITIVE)
def test_any_frame_with_a_sensitive_item(make):
    """The rarest item is sensitive, and there are enough rows without it."""
    frame = make()
    rows = rows_of(frame)
    secret = min(items_of(frame), key=lambda item: naive.support(rows, {item}))
    others = [item for item in items_of(frame) if item != secret]
    guarantee = LmDiversity(l=2, m=2, k=2, sensitive=[secret])
    result = run("apriori", frame, guarantee=guarantee, hierarchy=tree_over(others))
    assert_contract(frame, result)
    assert type(result.guarantee) is LmDiversity
    assert became_of(result)[0, secret] == [text(secret)]


# --- the same again


@pytest.mark.slow
@algorithms
@settings(max_examples=examples(25))
@given(rows=row_lists(least=2), m=st.sampled_from([1, 2, 3, None]), draw=st.randoms())
def test_neither_order_nor_layout_of_rows_matters(name, rows, m, draw):
    assume(sum(map(bool, rows)) >= 2)
    frame = frame_of(rows)
    assume(is_possible(name, frame))
    result = run(name, frame, m=m)
    # Which of two rows comes first can decide which of them joins a group of rows published alike.
    ordered = name in TRANSACTIONAL | GROUPING
    order = range(len(rows)) if ordered else draw.sample(range(len(rows)), len(rows))
    cut = 0 if ordered else draw.randrange(len(rows))
    for other, expected in [
        (frame, result.frame),
        (frame.iloc[order], result.frame.iloc[order]),
        (chunked([*map(sorted, rows)][cut:] + [*map(sorted, rows)][:cut]), None),
        (objects(rows, set), result.frame),
    ]:
        again = run(name, other, m=m)
        assert again.mapping.equals(result.mapping)
        pd.testing.assert_series_equal(again.loss, result.loss)
        assert expected is None or expected.equals(again.frame)


# --- nothing is left behind


def parquet_bytes(frame):
    sink = io.BytesIO()
    frame.to_parquet(sink, compression=None)
    return sink.getvalue()


def ipc_bytes(frame):
    sink = io.BytesIO()
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def csv_bytes(frame):
    return frame.to_csv().encode()


WRITERS = [parquet_bytes, ipc_bytes, pickle.dumps, csv_bytes]


def hidden_in_dictionary():
    items = pa.DictionaryArray.from_arrays(pa.array([1, 2, 1]), pa.array([SECRET, "a", "b"]))
    return pa.ListArray.from_arrays(pa.array([0, 2, 3]), items)


def hidden_under_null():
    mask = pa.array([False, True, False])
    return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["a", SECRET, "a"]), mask=mask)


def hidden_before_slice():
    return pa.array([[SECRET], ["a", "b"], ["b"], [SECRET]])[1:3]


@pytest.mark.one_in(2)
@hiding
@pytest.mark.parametrize("hide", [hidden_in_dictionary, hidden_under_null, hidden_before_slice])
def test_items_that_no_row_shows_are_not_released(name, hide):
    lists = hide()
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    assert SECRET.encode() in pickle.dumps(lists)
    result = run(name, frame)
    for write in WRITERS:
        assert SECRET.encode() not in write(result.frame)
    assert SECRET.encode() not in pickle.dumps(result.mapping)


@pytest.mark.one_in(2)
@hiding
@pytest.mark.parametrize("layout", [frame_of, lambda rows: objects(rows, list), chunked])
def test_items_that_no_label_names_are_not_released(name, layout):
    """The members of a set are in its label, by design; what a node stands for is not in its name."""
    single = [f"{SECRET}-{number}" for number in range(6)]
    result = run(name, layout([[item, "common"] for item in single]))
    published = frozenset().union(*rows_of(result.frame))
    assert published.isdisjoint(single)
    removed = [item for item in single if not any(item in label for label in published)]
    gone = {item for (_, item), labels in became_of(result).items() if labels == [None]}
    assert set(removed) >= gone & set(single)
    assert len(removed) == 6 or "hierarchy" not in result.parameters
    for write in WRITERS:
        written = write(result.frame)
        assert not any(item.encode() in written for item in removed)
    assert result.frame.attrs == {}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in REPORTED))
        for name in ARGUMENTS
        if name not in WITH_SECRETS
    ],
)
def test_items_that_no_label_names_are_not_reported(name, request):
    if name not in DRAWN:
        request.getfixturevalue("tables_only")
    single = [f"{SECRET}-{number}" for number in range(6)]
    frame = frame_of([[item, "common"] for item in single])
    result = run(name, frame)
    page = render(result, original=frame)
    published = frozenset().union(*rows_of(result.frame))
    removed = [item for item in single if not any(item in label for label in published)]
    assert not any(item in page for item in removed)
    assert "The release has its guarantee" in page


# --- refusals


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted(ARGUMENTS.keys() - KEEPING - WITH_SECRETS)
        if "max_suppressed" not in ARGUMENTS[name]([])
    ],
)
@pytest.mark.parametrize("rows", [[["a"]], [["a"], []], [["a", "b"], ["b"], None, []]])
def test_fewer_than_k_rows_with_items_are_infeasible(name, rows):
    frame = frame_of(rows)
    with pytest.raises(pdanon.InfeasibleError, match="k is larger") as caught:
        run(name, frame, k=3)
    assert caught.value.partial is None
    pd.testing.assert_frame_equal(frame, frame_of(rows))
