"""Sources of hierarchies: what each describes, what is refused, and where the message says it is."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st
from trees import DATA, assert_same, naive_dict, naive_nodes, naive_rows, needs_data, nodes_of, ragged, trees

from examples import examples
from pdanon.errors import FormatError, HierarchyError, ItemsetDtypeError, ParameterError
from pdanon.hierarchy import Hierarchy


def write(path, text):
    path.write_bytes(text.encode())
    return path


@settings(max_examples=examples(40))
@given(trees(mixed=False))
def test_dict_describes_the_same_tree(tree):
    hierarchy = Hierarchy.from_dict(naive_dict(tree))
    assert nodes_of(hierarchy) == naive_nodes(tree)


@settings(max_examples=examples(40))
@given(trees(), st.integers(0, 99))
def test_edges_in_any_order(tree, seed):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    assume(len(set(hierarchy.names)) == hierarchy.n_nodes)  # edges have one name space
    edges = [(hierarchy.names[v], hierarchy.names[p]) for v, p in enumerate(hierarchy.parent) if p >= 0]
    np.random.default_rng(seed).shuffle(edges)
    read = Hierarchy.from_frame(pd.DataFrame(edges, columns=["child", "parent"]))
    found = [(read.names[v], read.names[p]) for v, p in enumerate(read.parent) if p >= 0]
    assert sorted(found) == sorted(edges)
    mentioned = list(dict.fromkeys(name for edge in edges for name in edge))
    for v in range(read.n_nodes):
        order = [mentioned.index(read.names[child]) for child in read.children(v)]
        assert order == sorted(order)


def test_layout_details(tmp_path):
    text = '\ufeff"a;1";"x ""y""";x "z";*\r\n\r\n  \r\nb;x "y";x "z";*\r\nb;x "y";x "z";*\n07;*;*'
    hierarchy = Hierarchy.from_csv(write(tmp_path / "h.csv", text))
    assert hierarchy.names == ("*", 'x "z"', 'x "y"', "a;1", "b", "07")
    assert hierarchy.parent.tolist() == [-1, 0, 1, 2, 2, 0]


@pytest.mark.parametrize(
    ("rows", "names", "parent"),
    [
        ("a;X;X;*\nb;X;*", ("*", "X", "a", "b"), [-1, 0, 1, 1]),  # padding
        ("a;a;*", ("*", "a", "a"), [-1, 0, 1]),  # a leaf below a category of its name
        ("a;X\nb;Y", ("*", "X", "a", "Y", "b"), [-1, 0, 1, 0, 3]),  # no common root
        ("a;X\nb;Y;*", ("*", "X", "a", "Y", "b"), [-1, 0, 1, 0, 3]),  # "*" among others
        ("a;X;top\nb;top", ("top", "X", "a", "b"), [-1, 0, 1, 0]),  # a root of another name
        ("a\nb", ("*", "a", "b"), [-1, 0, 0]),  # leaves alone
        ("a;X\na;X\n", ("X", "a"), [-1, 0]),  # the same row again
        ("*;*", ("*", "*"), [-1, 0]),
    ],
)
def test_roots_and_padding(tmp_path, rows, names, parent):
    hierarchy = Hierarchy.from_csv(write(tmp_path / "h.csv", rows))
    assert hierarchy.names == names
    assert hierarchy.parent.tolist() == parent


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("\n \n", "is empty"),
        ("tea;*\n\nSECRET;;*\n;x;*", r"a name is empty\n.*first at line 3\n.*2 in all"),
        ("tea;*;", r"a name is empty\n.*line 1\n.*1 in all"),
        ("a;X;*\nb;X;Y;*\nc;X;Z;*", r"a node has two different parents\n.*line 2\n.*1 in all"),
        ("a;X;*\nb;Y;*\nb;Y;*\na;Y;*\nb;*", r"a node has two different parents\n.*line 4\n.*2 in all"),
        ("c;*\na;X;Y\nb;Y;X", r"a node is on a cycle, or below one\n.*line 2\n.*4 in all"),
        ("a;X;*;X", r"a node is on a cycle"),
        ("a;*;X\nb;Y", r"a node is on a cycle"),
    ],
)
def test_what_is_not_a_tree_is_refused(tmp_path, rows, message):
    secret = re.sub(r"[a-zA-Z]\b", "SECRET\\g<0>", rows)
    with pytest.raises(HierarchyError, match=message) as caught:
        Hierarchy.from_csv(write(tmp_path / "h.csv", secret))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "is empty"),
        ([("a", "X"), ("X", "X")], r"on a cycle, or below one\n.*row 0\n.*2 in all"),
        ([("a", "X"), ("b", "Y"), ("Y", "Z"), ("Z", "Y")], r"on a cycle, or below one\n.*row 1\n.*3 in all"),
        ([("a", "X"), ("a", "Y")], r"a node has two different parents\n.*row 1\n.*1 in all\n.*drop_dup"),
        (
            [("a", "X"), ("X", "Y"), ("X", "Z")],
            r"a node has two different parents\n.*row 2\n.*1 in all",
        ),
        ([("a", "X"), ("X", None), ("", "X")], r"a name is empty\n.*row 1\n.*2 in all\n.*drop the entry"),
    ],
)
def test_edges_that_are_not_a_tree_are_refused(edges, message):
    frame = pd.DataFrame(edges, columns=["child", "parent"], dtype="str")
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.of(frame)


def test_edges_without_a_common_root():
    frame = pd.DataFrame({"label": ["?", "?"], "child": ["a", "b"], "parent": ["X", "*"]}, index=[7, 7])
    hierarchy = Hierarchy.from_frame(frame)
    assert hierarchy.names == ("*", "X", "a", "b")
    assert hierarchy.parent.tolist() == [-1, 0, 1, 0]


def test_frames_of_numbers_and_padding():
    frame = pd.DataFrame({0: [1, 2, 3], 1: [1.5, 1.5, None], 2: ["*", None, "*"]})
    with pytest.raises(HierarchyError, match=r"a name is empty\n.*row 2\n.*1 in all"):
        Hierarchy.from_frame(frame)  # a gap within a row is not padding
    hierarchy = Hierarchy.from_frame(frame.head(2))
    assert hierarchy.names == ("*", "1.5", "1", "2")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "is empty"),
        ({"SECRET": []}, r"neither a dict.*\n.*entry 0\n.*1 in all"),
        ({"*": {"SECRET": "tea", "b": {}, "c": None}}, r"neither a dict.*\n.*entry 1\n.*3 in all"),
        (
            {"*": {"a": {"SECRET": ["x"]}, "SECRET": ["y"]}},
            r"an inner node is named twice\n.*entry 3\n.*1 in all",
        ),
        (
            {"*": {"a": ["SECRET"], "b": ["SECRET"]}},
            r"a node has two different parents\n.*entry 2\n.*1 in all",
        ),
        ({"*": {"a": ["SECRET", ""]}}, r"a name is empty\n.*entry 1\n.*1 in all"),
    ],
)
def test_dicts_that_are_not_a_tree_are_refused(tree, message):
    with pytest.raises(HierarchyError, match=message) as caught:
        Hierarchy.of(tree)
    assert "SECRET" not in str(caught.value)


def test_a_dict_within_itself_is_refused():
    tree = {}
    tree["*"] = {"a": tree}
    with pytest.raises(HierarchyError, match="an inner node is named twice"):
        Hierarchy.from_dict(tree)


def test_dict_with_several_tops_and_numbers():
    hierarchy = Hierarchy.from_dict({"low": [1, 2], "*": {"high": (3.5,)}})
    assert hierarchy.names == ("*", "low", "1", "2", "high", "3.5")
    with pytest.raises(ItemsetDtypeError):
        Hierarchy.from_dict({"*": ["a", None]})


def test_broken_files_are_refused_without_their_text(tmp_path):
    for text in (b'tea;*\n"SECRET;*\n', b"SECRET\xff;*\n", b'"SECRET"x;*'):
        path = tmp_path / "h.csv"
        path.write_bytes(text)
        with pytest.raises(FormatError) as caught:
            Hierarchy.from_csv(path)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


def test_of_accepts_every_source(tmp_path):
    tree = {"*": {"drink": ["tea", "milk"], "food": ["rice"]}}
    hierarchy = Hierarchy.of(tree, missing="root")
    assert hierarchy.missing == "root"
    assert Hierarchy.of(hierarchy) is hierarchy
    hierarchy.to_csv(tmp_path / "h.csv")
    sources = [tmp_path / "h.csv", str(tmp_path / "h.csv"), hierarchy.to_frame()]
    for source in sources:
        assert_same(Hierarchy.of(source), hierarchy)
    grouped = Hierarchy.of(np.int64(2), items=["tea", "milk", "rice"], missing="root")
    assert grouped.names == ("*", "tea..milk", "tea", "milk", "rice")
    assert grouped.missing == "root"


@pytest.mark.parametrize(
    "call",
    [
        lambda: Hierarchy.of(2),
        lambda: Hierarchy.of(1, items=["a"]),
        lambda: Hierarchy.of(["a"]),
        lambda: Hierarchy.of({"*": ["a"]}, missing="ignore"),
        lambda: Hierarchy.intervals([1], 0),
        lambda: Hierarchy.intervals([1], float("nan")),
        lambda: Hierarchy.intervals([1], 1, fanout=1),
        lambda: Hierarchy.intervals([1.0, float("inf")], 1),
        lambda: Hierarchy.intervals(["1", "SECRET"], 1),
        lambda: Hierarchy.prefixes(["a"], (0, 1)),
        lambda: Hierarchy.ranges(["a"], "A-B"),
        lambda: Hierarchy.ranges(["a"], ["A", "SECRET-X"]),
        lambda: Hierarchy.ranges(["a"], ["SECRETb-SECRETa"]),
        lambda: Hierarchy.ranges(["a"], ["A\u2013B"]),
        lambda: Hierarchy.ranges(["a"], [250]),
        lambda: Hierarchy.ranges(["a"], [""]),
        lambda: Hierarchy.ranges(["a"], ["A-"]),
        lambda: Hierarchy.paths(["SECRET"], ""),
        lambda: Hierarchy.paths(["SECRET"], None),
    ],
)
def test_parameters_without_a_meaning_are_refused(call):
    with pytest.raises(ParameterError) as caught:
        call()
    assert "SECRET" not in str(caught.value)


def naive_balanced(items, fanout):
    level = [(item, None) for item in items]
    while len(level) > fanout:
        groups = [level[i : i + fanout] for i in range(0, len(level), fanout)]
        level = [group[0] if len(group) == 1 else ("", group) for group in groups]
    return ("*", level)


@given(st.integers(1, 60), st.integers(2, 6))
def test_balanced_groups_consecutive_items(n, fanout):
    items = [f"i{i}" for i in range(n)]
    hierarchy = Hierarchy.balanced(items, fanout)
    assert [node[1:] for node in nodes_of(hierarchy)] == [
        node[1:] for node in naive_nodes(naive_balanced(items, fanout))
    ]
    for v in np.flatnonzero(~hierarchy.is_leaf)[1:]:
        inside = [hierarchy.names[w] for w in range(v, v + hierarchy.size[v]) if hierarchy.is_leaf[w]]
        assert hierarchy.names[v] == f"{inside[0]}..{inside[-1]}"


def test_balanced_names_are_never_mixed_up():
    items = ["a", "b..c", "a..b", "c"]  # both groups would be called a..b..c
    hierarchy = Hierarchy.balanced([*items, "a"], 2)
    assert [node[1:] for node in nodes_of(hierarchy)] == [
        node[1:] for node in naive_nodes(naive_balanced(items, 2))
    ]
    assert len(set(hierarchy.labels)) == hierarchy.n_nodes


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30), min_size=1, max_size=12),
    st.integers(1, 10**12),
    st.integers(2, 5),
)
def test_intervals_of_integers(values, width, fanout):
    hierarchy = Hierarchy.intervals(values, width, fanout)
    leaves = np.flatnonzero(hierarchy.is_leaf)
    assert [hierarchy.names[v] for v in leaves] == [str(value) for value in sorted(set(values))]
    assert set(hierarchy.depth[leaves].tolist()) == {hierarchy.height}
    assert hierarchy.names[0] == "*"
    for leaf in leaves:
        value, bin_width = int(hierarchy.names[leaf]), width
        for v in hierarchy.ancestors_of(leaf)[1:-1]:
            low = value // bin_width * bin_width
            assert hierarchy.names[v] == f"[{low}, {low + bin_width})"
            bin_width *= fanout
    lows = [int(hierarchy.names[v][1:].split(",")[0]) for v in hierarchy.children(0) if hierarchy.height > 1]
    if lows:  # the root is the first node that joins all values
        top_width = width * fanout ** (hierarchy.height - 2)
        assert len(lows) >= 2
        assert (lows[-1] - lows[0]) // top_width < fanout
    else:
        assert min(values) // width == max(values) // width


def test_intervals_spell_numbers_as_arrow_does_without_zeros_at_the_end():
    for values, kind in [
        ([0.1, 0.3, -0.0, 1e16, 1e-7], pa.float64()),
        ([0.1, 0.3], pa.float32()),
        ([2**64 - 1, 0], pa.uint64()),
        ([Decimal("0.10"), Decimal("2.50")], pa.decimal128(5, 2)),
    ]:
        array = pa.array(values, kind)
        hierarchy = Hierarchy.intervals(array.to_numpy(zero_copy_only=False), 0.1)
        texts = set(array.cast(pa.string()).to_pylist())
        leaves = {hierarchy.names[v] for v in np.flatnonzero(hierarchy.is_leaf)}
        assert leaves == {{"-0": "0", "0.10": "0.1", "2.50": "2.5"}.get(text, text) for text in texts}
    assert Hierarchy.intervals([0.3, 0.25], 0.1).names == ("*", "[0.2, 0.3)", "0.25", "[0.3, 0.4)", "0.3")


def test_prefixes_of_short_and_long_codes():
    hierarchy = Hierarchy.prefixes(["250.83", "25", "250", "2", "E9", "250.8", "2"], (3, 1))
    parents = {hierarchy.names[v]: hierarchy.names[p] for v, p in enumerate(hierarchy.parent) if p >= 0}
    assert parents == {
        "2*": "*",
        "250*": "2*",
        "250.83": "250*",
        "250.8": "250*",
        "250": "2*",
        "25": "2*",
        "2": "*",
        "E*": "*",
        "E9": "E*",
    }


@needs_data
def test_icd9_edges():
    edges = pd.read_parquet(DATA / "hierarchies" / "icd9cm_child_parent.parquet")
    hierarchy = Hierarchy.of(edges)
    assert hierarchy.n_nodes == len(edges) + 1
    assert hierarchy.n_leaves == (~edges["child"].isin(edges["parent"])).sum()
    assert hierarchy.names[0] == "*"
    parent_of = dict(zip(edges["child"], edges["parent"], strict=True))
    for v in range(1, hierarchy.n_nodes):
        assert parent_of[hierarchy.names[v]] == hierarchy.names[hierarchy.parent[v]]
    # The three-digit categories of the official tree are the three-character prefixes of its codes.
    codes = [hierarchy.names[v] for v in np.flatnonzero(hierarchy.is_leaf)]
    codes = [code for code in codes if re.fullmatch(r"\d{3}\.\d+", code)]
    prefixes = Hierarchy.prefixes(codes, (1, 3))
    for leaf, prefix in zip(hierarchy.cover(codes)[1], prefixes.cover(codes)[1], strict=True):
        category = next(
            hierarchy.names[v] for v in hierarchy.ancestors_of(leaf) if "." not in hierarchy.names[v]
        )
        assert prefixes.names[prefixes.parent[prefix]] == f"{category}*"


@needs_data
def test_intervals_equal_the_published_age_hierarchy():
    published = Hierarchy.from_csv(DATA / "hierarchies" / "adult_hierarchy_age.csv")
    leaves = np.flatnonzero(published.is_leaf)
    ages = [int(published.names[v]) for v in leaves]
    # The file counts from 1: it puts 1 to 5 into "0-4".
    built = Hierarchy.intervals([age - 1 for age in ages], 5)
    for leaf, ours in zip(leaves, built.cover([str(age - 1) for age in ages])[1], strict=True):
        bins = [published.names[v].split("-") for v in published.ancestors_of(leaf)[1:4]]
        expected = [f"[{low}, {int(high) + 1})" for low, high in bins]
        assert [built.names[v] for v in built.ancestors_of(ours)[1:4]] == expected
