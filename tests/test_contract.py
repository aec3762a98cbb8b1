"""What every registered algorithm promises, whatever rows it is given.

A new algorithm needs one more line in ARGUMENTS, and one in RECOUNTS if it has a guarantee of its own.
"""

from __future__ import annotations

import ast
import inspect
import io
import pickle
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists
from frames import BASE, FRAMES, NULLS, chunked, many_items, objects
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import coherence as naive_coherence
from naive import itemsets as naive

import pdanon
from pdanon import Coherence, KmAnonymity, LmDiversity, PublicK, TransactionalK
from pdanon.accessors import TxanonAccessor
from pdanon.algorithms.items import ALGORITHMS
from pdanon.evaluation.report.page import render
from pdanon.itemsets.columns import find_column


def tree_over(items):
    """A hierarchy of pairs of items and pairs of those, whose nodes are not named after items."""
    pairs = {f"node {start}": list(items[start : start + 2]) for start in range(0, len(items), 2)}
    names = list(pairs)
    upper = {
        f"upper {start}": {name: pairs[name] for name in names[start : start + 2]}
        for start in range(0, len(names), 2)
    }
    return {"all": upper | {"spare": ["in no row"]}}


def blocks_of(items):
    """Utility blocks of three items, all of which may be suppressed."""
    blocks = [items[start : start + 3] for start in range(0, len(items), 3)]
    return {"utility": blocks, "max_suppressed": 1.0}


def all_but_one_public(items):
    """The first item is private."""
    return {"h": 1, "p": 2, "private": items[:1]}


# Beyond k and, where there is one, m, what to call each algorithm with, given the items of the data.
ARGUMENTS = {
    "apriori": lambda items: {"hierarchy": tree_over(items)},
    "clump": lambda items: {"hierarchy": tree_over(items)},
    "coat": blocks_of,
    "coherence": all_but_one_public,
    "direct": lambda items: {"hierarchy": tree_over(items)},
    "hghs": lambda items: {"hierarchy": tree_over(items)},
    "lra": lambda items: {"hierarchy": tree_over(items), "parts": 2},
    "mhghs": lambda items: {"hierarchy": tree_over(items)},
    "optimal": lambda items: {"hierarchy": tree_over(items)},
    "partition": lambda items: {"hierarchy": tree_over(items)},
    "pcta": lambda items: {},
    "suppress_public": all_but_one_public,
    "suppress_to_k": lambda items: {"public": items[1:]},
    "upcta": blocks_of,
    "vpa": lambda items: {"hierarchy": tree_over(items), "parts": 2},
}
RECOUNTS = {
    KmAnonymity: lambda guarantee, bags: naive.rows_at_risk(as_sets(bags), guarantee.k, guarantee.m),
    TransactionalK: lambda guarantee, bags: sum(bags.count(bag) < guarantee.k for bag in bags),
    Coherence: lambda guarantee, bags: naive_coherence.moles(
        [row for row in as_sets(bags) if row is not None],
        *(guarantee.h, guarantee.k, guarantee.p, guarantee.private.to_pylist()),
    ),
    PublicK: lambda guarantee, bags: (
        not naive_coherence.parts_are_shared(as_sets(bags), guarantee.k, guarantee.public.to_pylist())
    ),
    LmDiversity: lambda guarantee, bags: naive.lm_threats(
        [row or frozenset() for row in as_sets(bags)],
        guarantee.l,
        guarantee.m,
        frozenset(guarantee.sensitive),
        guarantee.k,
    ),
}
GUARANTEES = {"coherence": Coherence, "suppress_public": Coherence, "suppress_to_k": PublicK}
GUARANTEES |= {"clump": TransactionalK, "partition": TransactionalK}  # else k^m
KEEPING = {"coherence", "suppress_public", "suppress_to_k"}  # items stay as they are or go
TRANSACTIONAL = {"clump", "partition"}  # whose rows, with items or without, are published alike, k by k
ALL_ROWS = KEEPING | TRANSACTIONAL  # rows without items need k like all others
BAGS = {"clump"}  # in whose rows a label can come again
LOCAL = {"lra", *TRANSACTIONAL}  # an item can become one thing in one group of rows, another in the next
LOSSES = {"NCP", "LM", "UL", "suppressed", "S/N", "GGD", "NCP_relational", "gap"}

# Looks at each of so many child cuts at each of so many steps: seconds for what takes others no time.
SLOW_DESCENT = {"hghs", "mhghs"}

# Frames of no item, of one, or whose items are all in more than half of the rows that hold others.
FEW_ITEMS = {
    *("no rows", "one empty row", "empty rows", "missing rows", "equal rows", "one item"),
    *("repeated items", "lists of one size"),
}

algorithms = pytest.mark.parametrize("name", ARGUMENTS)


def sets_of(frame):
    """The rows of the list column, whatever its type; None for a missing row."""
    column = frame.iloc[:, find_column(frame)]
    return [None if row is None or row is pd.NA else set(row) for row in column]


def rows_of(frame):
    return [frozenset(row or ()) for row in sets_of(frame)]


def bags_of(frame):
    """The rows of the list column with what they hold several times; None for a missing row."""
    column = frame.iloc[:, find_column(frame)]
    return [None if row is None or row is pd.NA else sorted(row) for row in column]


def as_sets(bags):
    return [None if bag is None else frozenset(bag) for bag in bags]


def items_of(frame):
    return sorted({item for row in sets_of(frame) for item in row or ()})


def arguments_of(name, frame, **asked):
    arguments = {"k": 2, "m": 2} | ARGUMENTS[name](items_of(frame)) | asked
    accepted = inspect.signature(ALGORITHMS[name]).parameters
    return {key: value for key, value in arguments.items() if key != "m" or key in accepted}


def run(name, frame, **asked):
    return ALGORITHMS[name](frame, **arguments_of(name, frame, **asked))


def test_every_algorithm_is_tested_here():
    assert set(ARGUMENTS) == set(ALGORITHMS)


# --- what is promised of every result


def assert_contract(frame, result):
    assert_released(frame, result)
    assert_mapping_of(frame, result)
    assert_truthful(frame, result)
    assert not RECOUNTS[type(result.guarantee)](result.guarantee, bags_of(result.frame))
    assert set(result.loss.index) <= LOSSES
    assert result.loss.drop("UL").between(0, 1).all()
    changed = sum(text(item) != label for (_, item), labels in became_of(result).items() for label in labels)
    assert f"{changed} of {len(result.mapping)} generalized or suppressed" in repr(result)


def assert_released(frame, result):
    """Index, order and names of columns, attrs and all other columns are those of the input."""
    position, released = find_column(frame), result.frame
    keeping = result.parameters["algorithm"] in KEEPING
    kind = result.mapping["item"].dtype.pyarrow_dtype if keeping else pa.string()
    pd.testing.assert_index_equal(released.index, frame.index, exact=True)
    pd.testing.assert_index_equal(released.columns, frame.columns, exact=True)
    others = [place for place in range(frame.shape[1]) if place != position]
    pd.testing.assert_frame_equal(released.iloc[:, others], frame.iloc[:, others])
    assert released.attrs == frame.attrs
    assert released.iloc[:, position].dtype == pd.ArrowDtype(pa.list_(kind))
    lists = pa.chunked_array(released.iloc[:, position]).to_pylist()
    assert all(row is None or row == sorted(row) for row in lists)


def assert_mapping_of(frame, result):
    """One row for each group, item and label, with the number of rows of the group where it became that."""
    mapping, groups, rows = result.mapping, groups_of(result), rows_of(frame)
    held = Counter((group, item) for group, row in zip(groups, rows, strict=True) for item in row)
    assert [*mapping.columns] == ["group", "item", "generalized", "support"]
    assert [*map(str, mapping.dtypes.drop("item"))] == ["int64", "string[pyarrow]", "int64"]
    assert mapping["generalized"].dtype == pd.ArrowDtype(pa.string())
    assert isinstance(mapping["item"].dtype, pd.ArrowDtype)
    pd.testing.assert_index_equal(mapping.index, pd.RangeIndex(len(mapping)), exact=True)
    keys = [*zip(mapping["group"], mapping["item"], strict=True)]
    assert keys == sorted(keys)
    assert mapping.groupby(["group", "item"])["support"].sum().to_dict() == held
    algorithm = result.parameters["algorithm"]
    assert len(keys) == len(held) or algorithm in BAGS
    assert not mapping.duplicated(["group", "item", "generalized"]).any()
    assert (result.groups is not None) == (algorithm in LOCAL)
    if result.groups is not None:
        pd.testing.assert_index_equal(result.groups.index, frame.index, exact=True)


def groups_of(result):
    return [0] * len(result.frame) if result.groups is None else result.groups.tolist()


def became_of(result):
    """The labels of each item in each group, None where it is suppressed; more than one only in bags."""
    labels = result.mapping["generalized"]
    keys = zip(result.mapping["group"], result.mapping["item"], strict=True)
    became = {}
    for key, label in zip(keys, labels.astype(object).where(labels.notna(), None), strict=True):
        became.setdefault(key, []).append(label)
    return became


def assert_truthful(frame, result):
    """Each row is published as what its items became, no more and no less."""
    became = became_of(result)
    algorithm = result.parameters["algorithm"]
    if algorithm in KEEPING:
        assert all({None, text(item)} >= {*labels} for (_, item), labels in became.items())
        became = {key: [label and key[1] for label in labels] for key, labels in became.items()}
    for group, row, bag in zip(groups_of(result), rows_of(frame), bags_of(result.frame), strict=True):
        choices = [became[group, item] for item in sorted(row)]
        if algorithm in BAGS:
            assert covers(bag or [], choices)
        else:
            assert (bag or []) == sorted({label for (label,) in choices} - {None})
    stay = missing_rows_stay(frame, result)
    missing = [row is None and stay for row in sets_of(frame)]
    assert [row is None for row in sets_of(result.frame)] == missing
    if "hierarchy" in result.parameters:
        above = names_above(result.parameters["hierarchy"])
        for (_, item), labels in became.items():
            assert {None, text(item), *above.get(text(item), ())} >= {*labels}


def missing_rows_stay(frame, result):
    """Unless something is suppressed, or rows that hold nothing would be too few if they looked different."""
    if any(None in labels for labels in became_of(result).values()):
        return False
    if result.parameters["algorithm"] in TRANSACTIONAL:
        return set() not in sets_of(frame)
    return result.parameters["algorithm"] not in KEEPING or not RECOUNTS[type(result.guarantee)](
        result.guarantee, bags_of(frame)
    )


def covers(bag, choices):
    """Whether each label is what an item of its own has become, and the other items were suppressed."""
    if not choices:
        return not bag
    first, *others = choices
    return any(
        covers(bag, others) if label is None else label in bag and covers(without(bag, label), others)
        for label in first
    )


def without(bag, label):
    return [*bag[: bag.index(label)], *bag[bag.index(label) + 1 :]]


def names_above(tree, path=()):
    """The categories above each leaf of a nested dict."""
    if isinstance(tree, dict):
        parts = [names_above(below, (name, *path)) for name, below in tree.items()]
        return {leaf: names for part in parts for leaf, names in part.items()}
    return {text(leaf): path for leaf in tree}


def text(item):
    return pa.scalar(item).cast(pa.string()).as_py()


def buffers_of(frame):
    column = frame.iloc[:, find_column(frame)]
    if not isinstance(column.dtype, pd.ArrowDtype):
        return []
    chunks = pa.chunked_array(column).chunks
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


@algorithms
@settings(max_examples=40)
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
    result = run(name, frame, k=k, m=m)
    assert_contract(frame, result)
    guarantee = result.guarantee
    assert type(guarantee) is GUARANTEES.get(name, KmAnonymity)
    if name not in KEEPING:
        assert guarantee == (TransactionalK(k) if name in TRANSACTIONAL else KmAnonymity(k, m))
        at_risk = RECOUNTS[type(guarantee)](guarantee, bags_of(frame))
        assert frame.txanon.audit(guarantee).rows_at_risk == at_risk
    assert result.frame.txanon.audit(result.guarantee).holds


@algorithms
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_any_frame(name, make):
    frame = make()
    before, buffers = pickle.loads(pickle.dumps(frame)), buffers_of(frame)
    if len(frame) == 1:
        with pytest.raises(pdanon.InfeasibleError, match="k is larger"):
            run(name, frame)
        return
    result = run(name, frame)
    assert_contract(frame, result)
    assert_same(frame, before)
    assert buffers_of(frame) == buffers
    result.frame.attrs["new"] = 1
    result.frame.isetitem(find_column(frame), ["changed"] * len(frame))
    assert_same(frame, before)


@algorithms
@pytest.mark.parametrize("m", [1, 3, None])
@pytest.mark.parametrize(
    "rows", [BASE, NULLS, [["a", "b", "c", "d"], ["a", "b", "c"], ["b", "c", "d"], ["d"]]]
)
def test_any_knowledge(name, rows, m):
    frame = frame_of(rows)
    assert_contract(frame, run(name, frame, k=3, m=m))


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in SLOW_DESCENT])
def test_many_items_and_few_rare_pairs(name):
    frame = many_items()
    assert_contract(frame, run(name, frame))


SENSITIVE = {name: make for name, make in FRAMES.items() if name not in FEW_ITEMS}


@pytest.mark.parametrize("make", SENSITIVE.values(), ids=SENSITIVE)
def test_any_frame_with_a_sensitive_item(make):
    """The rarest item is sensitive, and there are enough rows without it."""
    frame = make()
    rows = rows_of(frame)
    secret = min(items_of(frame), key=lambda item: naive.support(rows, {item}))
    others = [item for item in items_of(frame) if item != secret]
    result = run("apriori", frame, sensitive=[secret], l=2, hierarchy=tree_over(others))
    assert_contract(frame, result)
    assert type(result.guarantee) is LmDiversity
    assert became_of(result)[0, secret] == [text(secret)]


# --- the same again


@algorithms
@settings(max_examples=25)
@given(rows=row_lists(least=2), m=st.sampled_from([1, 2, 3, None]), draw=st.randoms())
def test_neither_order_nor_layout_of_rows_matters(name, rows, m, draw):
    assume(sum(map(bool, rows)) >= 2)
    frame = frame_of(rows)
    result = run(name, frame, m=m)
    # Which of two rows comes first can decide which of them joins a group of rows published alike.
    order = range(len(rows)) if name in TRANSACTIONAL else draw.sample(range(len(rows)), len(rows))
    cut = 0 if name in TRANSACTIONAL else draw.randrange(len(rows))
    for other, expected in [
        (frame, result.frame),
        (frame.iloc[order], result.frame.iloc[order]),
        (chunked([*map(sorted, rows)][cut:] + [*map(sorted, rows)][:cut]), None),
        (objects(rows, set), result.frame),
    ]:
        again = run(name, other, m=m)
        pd.testing.assert_frame_equal(again.mapping, result.mapping)
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


@algorithms
@pytest.mark.parametrize("hide", [hidden_in_dictionary, hidden_under_null, hidden_before_slice])
def test_items_that_no_row_shows_are_not_released(name, hide):
    lists = hide()
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    assert SECRET.encode() in pickle.dumps(lists)
    result = run(name, frame)
    for write in WRITERS:
        assert SECRET.encode() not in write(result.frame)
    assert SECRET.encode() not in pickle.dumps(result.mapping)


@algorithms
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


@algorithms
def test_items_that_no_label_names_are_not_reported(name):
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
    [name for name in ARGUMENTS if "max_suppressed" not in ARGUMENTS[name]([]) and name not in KEEPING],
)
@pytest.mark.parametrize("rows", [[["a"]], [["a"], []], [["a", "b"], ["b"], None, []]])
def test_fewer_than_k_rows_with_items_are_infeasible(name, rows):
    frame = frame_of(rows)
    with pytest.raises(pdanon.InfeasibleError, match="k is larger") as caught:
        run(name, frame, k=3)
    assert caught.value.partial is None
    pd.testing.assert_frame_equal(frame, frame_of(rows))


# --- the surface


@algorithms
def test_result_unpacks_and_says_what_was_asked(name):
    result = run(name, frame_of(BASE))
    frame, mapping = result
    assert frame is result.frame
    assert mapping is result.mapping
    assert result.classes is None
    asked = set(inspect.signature(ALGORITHMS[name]).parameters) - {"frame", "column", "progress"}
    assert set(result.parameters) == {"algorithm", *asked}
    assert [result.parameters[key] for key in ("algorithm", "k")] == [name, 2]
    assert result.parameters.get("m", 2) == 2


@algorithms
def test_representations_show_no_item(name):
    frame = frame_of([[SECRET, "b"], ["b"], [SECRET], ["c", f"{SECRET}2"]])
    result = run(name, frame)
    assert SECRET not in repr(result) + result._repr_html_()
    assert SECRET not in repr(result.guarantee)
    audit = frame.txanon.audit(result.guarantee)
    assert SECRET not in repr(audit) + audit._repr_html_()
    assert "4 rows" in repr(result)


@algorithms
def test_function_and_method_are_one(name):
    function = ALGORITHMS[name]
    assert getattr(pdanon, name) is function
    assert name in pdanon.__all__
    method = getattr(frame_of(BASE).txanon, name)
    assert method.__doc__ == function.__doc__
    assert method.__name__ == name
    parameters = list(inspect.signature(function).parameters.values())
    assert list(inspect.signature(method).parameters.values()) == parameters[1:]
    assert [parameter.name for parameter in parameters[:2]] == ["frame", "column"]
    assert {parameter.kind for parameter in parameters[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)
    assert "progress" in inspect.signature(function).parameters
    frame = frame_of(BASE)
    arguments = arguments_of(name, frame)
    pd.testing.assert_frame_equal(
        getattr(frame.txanon, name)("items", **arguments).frame, function(frame, **arguments).frame
    )


@algorithms
def test_docstring_has_all_its_parts(name):
    doc = inspect.getdoc(ALGORITHMS[name])
    parts = ["Parameters", "Returns", "Raises", "Notes", "References", "Examples", "Guarantee:", "Cost:"]
    assert [part for part in parts if part not in doc] == []
    lines = doc[doc.index("Parameters") : doc.index("Returns")].splitlines()
    described = [line.split(" : ")[0] for line in lines if " : " in line]
    assert described == [*inspect.signature(ALGORITHMS[name]).parameters]


@algorithms
def test_progress_goes_to_stderr_alone(name, capsys):
    frame = frame_of(BASE)
    quiet = run(name, frame)
    assert capsys.readouterr() == ("", "")
    shown = run(name, frame, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err
    pd.testing.assert_frame_equal(shown.mapping, quiet.mapping)


def test_public_names_exist_and_are_listed_once():
    assert len(set(pdanon.__all__)) == len(pdanon.__all__)
    assert all(hasattr(pdanon, name) for name in pdanon.__all__)
    assert [*ALGORITHMS] == [function.__name__ for function in ALGORITHMS.values()]
    assert all(hasattr(TxanonAccessor, name) for name in ALGORITHMS)


# --- an audit shares no code with what it audits

PACKAGE = Path(pdanon.__file__).parent


def imports_of(module):
    """The modules of the package that a module imports, in functions too, but not for types alone."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    for node in [*ast.walk(tree)]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {each for each in found if is_module(each)}


def is_module(name):
    path = PACKAGE.parent.joinpath(*name.split("."))
    return name.startswith("pdanon.") and (path.with_suffix(".py").is_file() or path.is_dir())


def test_guarantees_reach_no_code_that_decides():
    reached, waiting = set(), [f"pdanon.guarantees.{path.stem}" for path in PACKAGE.glob("guarantees/*.py")]
    waiting = [name.removesuffix(".__init__") for name in waiting]
    assert "pdanon.guarantees.km" in waiting
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += imports_of(module)
    assert "pdanon._kernels.counting" in reached
    deciding = (
        "pdanon.algorithms",
        "pdanon.clusters",
        "pdanon.cuts",
        "pdanon.moles",
        "pdanon._kernels.cl",
        "pdanon._kernels.cu",
        "pdanon._kernels.mo",
        "pdanon._kernels.pa",
        "pdanon.groups",
    )
    assert [module for module in reached if module.startswith(deciding)] == []


# --- published examples

TWO_BY_TWO = {"ALL": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}
FIRST = ["a1 b1 b2", "a2 b1", "a2 b1 b2", "a1 a2 b2"]
SECOND = ["a1", "a1 a2", "b1 b2", "b1 b2", "a1 a2 b2", "a1 a2 b2", "a1 a2 b1 b2"]


@pytest.mark.parametrize("name", ["apriori", "optimal"])
@pytest.mark.parametrize(
    ("rows", "m", "expected", "ncp"),
    [
        (FIRST, 2, "A A b1 b2", 0.2273),
        (FIRST, 3, "A A b1 b2", 0.2273),
        (FIRST, 1, "a1 a2 b1 b2", 0.0),
        (SECOND, 2, "a1 a2 B B", 0.2353),
        (SECOND, 4, "a1 a2 B B", 0.2353),
    ],
)
def test_published_example(name, rows, m, expected, ncp):
    frame = frame_of([row.split() for row in rows])
    result = ALGORITHMS[name](frame, k=2, m=m, hierarchy=TWO_BY_TWO)
    assert result.mapping["generalized"].tolist() == expected.split()
    assert result.loss["NCP"] == pytest.approx(ncp, abs=5e-5)


SMALL_TREE = {"all": {"P": {"Q": ["a", "b"], "R": ["c"]}, "S": ["d", "e", "f"]}}


def as_tuples(name, below):
    if isinstance(below, dict):
        return name, [as_tuples(*part) for part in below.items()]
    return name, [(leaf, None) for leaf in below]


SUPPRESSING = {"hghs", "mhghs"}  # and a local recoding can lose less than any cut
CUTTING = [
    name for name in ARGUMENTS if "hierarchy" in ARGUMENTS[name]([]) and name not in SUPPRESSING | LOCAL
]


@pytest.mark.parametrize("name", CUTTING)
@settings(max_examples=40)
@given(rows=row_lists(least=2), m=st.sampled_from([1, 2, None]))
def test_no_cut_is_better_than_the_best_of_all_cuts(name, rows, m):
    assume(sum(map(bool, rows)) >= 2)
    tree = as_tuples("all", SMALL_TREE["all"])
    least, _ = naive.optimal_cut(rows, tree, 2, m)
    arguments = {**ARGUMENTS[name]([]), "hierarchy": SMALL_TREE}
    result = ALGORITHMS[name](frame_of(rows), k=2, m=m, **arguments)
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    of_results = [
        cut for cut in naive.cuts(tree) if all(cut[item][0] == label for item, label in became.items())
    ]
    assert of_results
    assert result.loss["NCP"] == pytest.approx(float(naive.cut_ncp(rows, of_results[0])))
    assert result.loss["LM"] == pytest.approx(float(naive.cut_lm(rows, of_results[0])))
    assert naive.cut_ncp(rows, of_results[0]) >= least
    assert "gap" not in result.loss or naive.cut_ncp(rows, of_results[0]) == least
