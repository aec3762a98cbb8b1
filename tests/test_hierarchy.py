"""Hierarchy: arrays against a naive recursive definition, round trips, refusals, and real taxonomies."""

import os
import pickle
import re
from decimal import Decimal
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pdanon.errors import FormatError, HierarchyError, ItemsetDtypeError, ParameterError
from pdanon.hierarchy import Hierarchy

DATA = Path(os.environ.get("PDANON_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = sorted((DATA / "hierarchies").glob("*.csv"))
needs_data = pytest.mark.skipif(not FILES, reason="no PDANON_DATA")

# A tree of the tests is (name, children), and (name, None) for a leaf.


def naive_nodes(tree, parent=-1, start=0):
    """Rows (name, parent, size, leaves, depth, is_leaf) in pre-order, by recursion on the subtrees."""
    name, children = tree
    if children is None:
        return [(name, parent, 1, 1, 0, True)]
    below = []
    for child in children:
        below += naive_nodes(child, start, start + 1 + len(below))
    leaves = sum(node[5] for node in below)
    deeper = [(n, p, s, le, d + 1, i) for n, p, s, le, d, i in below]
    return [(name, parent, 1 + len(below), leaves, 0, False), *deeper]


def naive_rows(tree, above=()):
    name, children = tree
    if children is None:
        return [[name, *above]]
    return [row for child in children for row in naive_rows(child, (name, *above))]


def naive_dict(tree):
    name, children = tree
    if all(grandchildren is None for _, grandchildren in children):
        return {name: [leaf for leaf, _ in children]}
    return {name: {key: value for child in children for key, value in naive_dict(child).items()}}


def nodes_of(hierarchy):
    columns = [hierarchy.parent, hierarchy.size, hierarchy.leaves, hierarchy.depth, hierarchy.is_leaf]
    return list(zip(hierarchy.names, *(column.tolist() for column in columns), strict=True))


def assert_same(one, other):
    assert one.names == other.names
    np.testing.assert_array_equal(one.parent, other.parent)


def write(path, text):
    path.write_bytes(text.encode())
    return path


def ragged(rows):
    return pd.DataFrame(list(zip(*zip_longest(*rows), strict=True)), dtype="str")


# U+FEFF is left out: at the start of a file it is a byte order mark.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1, max_size=4)


@st.composite
def trees(draw, mixed=True):
    """Trees over few short names, so that leaves and categories often share one."""
    if mixed:
        shapes = st.recursive(st.none(), lambda kids: st.lists(kids, min_size=1, max_size=4), max_leaves=12)
    else:
        leaves = st.lists(st.none(), min_size=1, max_size=3)
        shapes = st.recursive(leaves, lambda kids: st.lists(kids, min_size=1, max_size=3), max_leaves=6)
    shape = draw(shapes.filter(lambda shape: shape is not None))
    names = st.one_of(st.sampled_from(["a", "b", "c", "*", " ", 'q"', "x;y", "é\n", "a (category)"]), texts)
    n_leaves, n_nodes = _count(shape)
    leaf_names = iter(draw(st.lists(names, min_size=n_leaves, max_size=n_leaves, unique=True)))
    n_inner = n_nodes - n_leaves
    inner_names = iter(draw(st.lists(names, min_size=n_inner, max_size=n_inner, unique=True)))

    def named(part):
        if part is None:
            return (next(leaf_names), None)
        return (next(inner_names), [named(child) for child in part])

    return named(shape)


def _count(shape):
    if shape is None:
        return 1, 1
    leaves, nodes = zip(*map(_count, shape), strict=True)
    return sum(leaves), 1 + sum(nodes)


@settings(max_examples=50)
@given(trees())
def test_arrays_equal_the_naive_definition(tree):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    expected = naive_nodes(tree)
    assert nodes_of(hierarchy) == expected
    assert (hierarchy.n_nodes, hierarchy.n_leaves) == (len(expected), expected[0][3])
    assert hierarchy.height == max(node[4] for node in expected)
    for v, (_, parent, size, *_) in enumerate(expected):
        assert hierarchy.children(v).tolist() == [c for c, node in enumerate(expected) if node[1] == v]
        ancestors = hierarchy.ancestors_of(v).tolist()
        assert ancestors[0] == v
        assert ancestors[1:] == ([] if v == 0 else hierarchy.ancestors_of(parent).tolist())
        below = [w for w in range(len(expected)) if v in hierarchy.ancestors_of(w)]
        assert below == list(range(v, v + size))


@settings(max_examples=50)
@given(trees())
def test_labels_tell_nodes_apart(tree):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    leaf_names = {n for n, leaf in zip(hierarchy.names, hierarchy.is_leaf, strict=True) if leaf}
    assert len(set(hierarchy.labels)) == hierarchy.n_nodes
    for name, leaf, label in zip(hierarchy.names, hierarchy.is_leaf, hierarchy.labels, strict=True):
        if leaf or name not in leaf_names:
            assert label == name
        else:
            assert re.fullmatch(re.escape(name) + r"( \(category\))+", label)


@settings(max_examples=50)
@given(trees(), st.sampled_from([";", ",", "\t"]))
def test_csv_and_frame_round_trip(tmp_path_factory, tree, sep):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    path = tmp_path_factory.mktemp("csv") / "tree.csv"
    hierarchy.to_csv(path, sep=sep)
    assert_same(Hierarchy.from_csv(path, sep=sep), hierarchy)
    assert_same(Hierarchy.from_frame(hierarchy.to_frame()), hierarchy)
    assert [list(row.dropna()) for _, row in hierarchy.to_frame().iterrows()] == naive_rows(tree)


@settings(max_examples=50)
@given(trees(mixed=False))
def test_dict_describes_the_same_tree(tree):
    hierarchy = Hierarchy.from_dict(naive_dict(tree))
    assert nodes_of(hierarchy) == naive_nodes(tree)


@settings(max_examples=50)
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


@settings(max_examples=50)
@given(trees(), st.lists(texts, max_size=6))
def test_cover_finds_leaves_or_attaches_them(tree, more):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)), missing="root")
    leaf_names = [name for name, *_, leaf in naive_nodes(tree) if leaf]
    wanted = [*more, *leaf_names[::-1], *more]
    covering, nodes = hierarchy.cover(wanted)
    assert nodes.dtype == np.int32
    assert [covering.names[v] for v in nodes] == wanted
    assert covering.is_leaf[nodes].all()
    assert len(set(nodes.tolist())) == len(set(wanted))
    new = list(dict.fromkeys(name for name in more if name not in leaf_names))
    name, children = tree
    assert nodes_of(covering) == naive_nodes((name, children + [(text, None) for text in new]))
    assert (covering is hierarchy) == (not new)
    assert covering.missing == "root"


def test_cover_refuses_what_is_only_a_category():
    hierarchy = Hierarchy.from_dict({"*": {"SECRET": ["tea"], "food": ["rice"]}})
    with pytest.raises(HierarchyError, match=r"2 of 3 items(.|\n)*missing=\"root\"") as caught:
        hierarchy.cover(["SECRET", "tea", "SECRET2"])
    assert "SECRET" not in str(caught.value)
    covering, nodes = Hierarchy.of({"*": {"food": ["rice"]}}, missing="root").cover(["food", "rice"])
    assert covering.labels == ("*", "food (category)", "rice", "food")
    assert nodes.tolist() == [3, 2]


def test_labels_skip_names_that_are_in_use():
    rows = [["a", "a", "*"], ["b", "a (category)", "*"]]
    assert Hierarchy.from_frame(ragged(rows)).labels == (
        "*",
        "a (category) (category)",
        "a",
        "a (category)",
        "b",
    )


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
        ("a;X;*\nb;X;Y;*\nc;X;Z;*", r"a category has two different parents\n.*line 2\n.*1 in all"),
        ("a;X;*\nb;Y;*\nb;Y;*\na;Y;*\nb;*", r"a leaf has two different parents\n.*line 4\n.*2 in all"),
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
        ([("a", "X"), ("a", "Y")], r"a leaf has two different parents\n.*row 1\n.*1 in all"),
        ([("a", "X"), ("X", "Y"), ("X", "Z")], r"a category has two different parents\n.*row 2\n.*1 in all"),
        ([("a", "X"), ("X", None), ("", "X")], r"a name is empty\n.*row 1\n.*2 in all"),
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
    frame = pd.DataFrame({0: [1, 2, 3], 1: [1.5, 1.5, None], 2: pd.array(["*", None, "*"], "str")})
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
            r"a category is named twice\n.*entry 3\n.*1 in all",
        ),
        (
            {"*": {"a": ["SECRET"], "b": ["SECRET"]}},
            r"a leaf has two different parents\n.*entry 2\n.*1 in all",
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
    with pytest.raises(HierarchyError, match="a category is named twice"):
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


def test_intervals_spell_numbers_as_arrow_does():
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
        assert leaves == {"0" if text in ("-0", "-0.0") else text for text in texts}
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


def test_deep_trees_need_no_recursion(tmp_path):
    depth = 1500
    tree = ["leaf"]
    for level in range(depth):
        tree = {f"c{level}": tree}
    hierarchy = Hierarchy.from_dict(tree)
    assert (hierarchy.height, hierarchy.n_leaves, hierarchy.size[0]) == (depth, 1, depth + 1)
    hierarchy.to_csv(tmp_path / "deep.csv")
    assert_same(Hierarchy.from_csv(tmp_path / "deep.csv"), hierarchy)
    assert_same(Hierarchy.from_frame(hierarchy.to_frame()), hierarchy)
    edges = {"child": [f"c{i}" for i in range(depth)], "parent": [f"c{i + 1}" for i in range(depth)]}
    assert Hierarchy.from_frame(pd.DataFrame(edges)).height == depth
    assert len(str(hierarchy).splitlines()) <= 30
    assert hierarchy._repr_html_().count("<details") <= 30


def test_arrays_are_read_only_and_copied():
    parent = np.array([-1, 0], np.int32)
    hierarchy = Hierarchy(("*", "a"), parent)
    parent[1] = -1
    assert hierarchy.parent.tolist() == [-1, 0]
    for array in (hierarchy.parent, hierarchy.size, hierarchy.leaves, hierarchy.depth, hierarchy.is_leaf):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert_same(pickle.loads(pickle.dumps(hierarchy)), hierarchy)


def test_a_failed_write_changes_nothing(tmp_path, monkeypatch):
    path = write(tmp_path / "h.csv", "old;*")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Hierarchy.from_dict({"*": ["new"]}).to_csv(path)
    assert [p.name for p in tmp_path.iterdir()] == ["h.csv"]
    assert path.read_text() == "old;*"


class Tags(HTMLParser):
    """Checks that tags nest, and gathers the text."""

    def __init__(self):
        super().__init__()
        self.open, self.depths, self.lines = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.lines.append(("  " * (self.open.count("details") - self.open.count("summary")), data))


@settings(max_examples=50)
@given(trees())
def test_pictures_are_small_and_agree(tree):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    plain = tuple(f"<{v}&amp;>" for v in range(hierarchy.n_nodes))
    hierarchy = Hierarchy(plain, hierarchy.parent)
    tags = Tags()
    tags.feed(hierarchy._repr_html_())
    assert not tags.open
    assert "\n".join(indent + text for indent, text in tags.lines) == str(hierarchy)
    assert "<0&amp;>" not in hierarchy._repr_html_()
    if hierarchy.n_nodes <= 30 and max(len(hierarchy.children(v)) for v in range(hierarchy.n_nodes)) <= 8:
        shown = [line.strip().split(" (")[0] for line in str(hierarchy).splitlines()]
        assert shown == list(hierarchy.names)


def test_pictures_account_for_what_they_leave_out():
    hierarchy = Hierarchy.balanced(range(1000), 12)
    lines = str(hierarchy).splitlines()
    assert len(lines) <= 30
    below_root = [re.fullmatch(r"  \S.*\((\d+) leaves\)( …)?", line) for line in lines]
    total = sum(int(found[1]) for found in below_root if found)
    assert total == 1000
    assert any(found and found[2] for found in below_root)
    flat = str(Hierarchy.from_dict({"*": [f"i{i}" for i in range(100)]})).splitlines()
    drawn = sum(line.startswith("  i") for line in flat)
    assert flat[-1] == f"  … {100 - drawn} more"
    long = str(Hierarchy.from_dict({"*": ["a\nb " + "x" * 500]})).splitlines()
    assert len(long) == 2
    assert len(long[1]) < 80


def test_repr_keeps_names_to_itself():
    hierarchy = Hierarchy.from_dict({"SECRET": {"SECRET1": ["SECRET2", "SECRET3"]}})
    assert repr(hierarchy) == "Hierarchy(nodes=4, leaves=2, height=2, missing='error')"


def manifest():
    """Leaves, levels and covered data of each hierarchy file, as its collector counted them."""
    rows = [line.strip("| \n").split(" | ") for line in (DATA / "MANIFEST.md").read_text().splitlines()]
    return {row[0]: row[1:4] for row in rows if row[0].endswith(".csv")}


@needs_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_hierarchies(path, tmp_path):
    leaves, levels, covers = manifest()[path.name]
    hierarchy = Hierarchy.from_csv(path)
    assert hierarchy.n_leaves == int(leaves)
    assert hierarchy.height + 1 == int(levels.split()[0].split("-")[-1])
    assert len(set(hierarchy.labels)) == hierarchy.n_nodes
    hierarchy.to_csv(tmp_path / "h.csv")
    assert_same(Hierarchy.from_csv(tmp_path / "h.csv"), hierarchy)
    assert_same(Hierarchy.from_frame(hierarchy.to_frame()), hierarchy)
    naive = {line.split(";")[0] for line in path.read_text().splitlines()}
    assert {hierarchy.names[v] for v in np.flatnonzero(hierarchy.is_leaf)} == naive
    if covers != "-":
        (table,) = DATA.glob(covers.replace("_", "*") + ".parquet")
        items = pq.read_table(table, columns=["items"])["items"].combine_chunks().flatten().unique()
        covering, nodes = hierarchy.cover(items.cast(pa.string()).to_pylist())
        assert covering is hierarchy
        assert hierarchy.is_leaf[nodes].all()


@needs_data
def test_groceries_have_categories_named_like_leaves():
    hierarchy = Hierarchy.from_csv(DATA / "hierarchies" / "groceries_hierarchy.csv")
    (leaf,) = hierarchy.cover(["sausage"])[1]
    parent = hierarchy.parent[leaf]
    assert hierarchy.names[leaf] == hierarchy.names[parent] == hierarchy.labels[leaf] == "sausage"
    assert hierarchy.labels[parent] == "sausage (category)"


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
    for code, leaf in zip(codes, hierarchy.cover(codes)[1], strict=True):
        category = next(
            hierarchy.names[v] for v in hierarchy.ancestors_of(leaf) if "." not in hierarchy.names[v]
        )
        leaf = prefixes.cover([code])[1][0]
        assert prefixes.names[prefixes.parent[leaf]] == f"{category}*"


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


@needs_data
def test_empty_and_unknown_texts_are_counted():
    hierarchy = Hierarchy.from_csv(DATA / "hierarchies" / "informs2005_EDUCYEAR_hierarchy.csv")
    with pytest.raises(HierarchyError, match="3 of 4 items"):
        hierarchy.cover(["-9", "1,8", "", "100"])
    assert hierarchy.cover([])[1].dtype == np.int32
