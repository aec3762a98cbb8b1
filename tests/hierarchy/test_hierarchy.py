"""Hierarchy: arrays against a naive recursive definition, round trips, pictures, and real taxonomies."""

import os
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from trees import (
    DATA,
    FILES,
    assert_same,
    naive_nodes,
    naive_rows,
    needs_data,
    nodes_of,
    ragged,
    texts,
    trees,
)

import pdanon
from examples import examples
from pdanon.errors import FormatError, HierarchyError
from pdanon.hierarchy import Hierarchy


@settings(max_examples=examples(40))
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


@settings(max_examples=examples(40))
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


@settings(max_examples=examples(40))
@given(trees(), st.sampled_from([";", ",", "\t"]))
def test_csv_and_frame_round_trip(tmp_path_factory, tree, sep):
    hierarchy = Hierarchy.from_frame(ragged(naive_rows(tree)))
    path = tmp_path_factory.mktemp("csv") / "tree.csv"
    hierarchy.to_csv(path, delimiter=sep)
    assert_same(Hierarchy.from_csv(path, delimiter=sep), hierarchy)
    assert_same(Hierarchy.from_frame(hierarchy.to_frame()), hierarchy)
    assert [list(row.dropna()) for _, row in hierarchy.to_frame().iterrows()] == naive_rows(tree)


@settings(max_examples=examples(40))
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


@pytest.mark.slow
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
    again = pickle.loads(pickle.dumps(hierarchy))
    assert_same(again, hierarchy)
    assert not again.parent.flags.writeable


def test_a_failed_write_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "h.csv"
    path.write_text("old;*")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FormatError, match="cannot be written"):
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


@settings(max_examples=examples(40))
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
def test_empty_and_unknown_texts_are_counted():
    hierarchy = Hierarchy.from_csv(DATA / "hierarchies" / "informs2005_EDUCYEAR_hierarchy.csv")
    with pytest.raises(HierarchyError, match="3 of 4 items"):
        hierarchy.cover(["-9", "1,8", "", "100"])
    assert hierarchy.cover([])[1].dtype == np.int32


# --- weights


@pytest.mark.parametrize("seed", range(100))
def test_weights_are_mean_distances(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, rng.integers(1, 12))
    paths = [(f"i{number}", f"k{kind}", f"g{kind // 2}", "*") for number, kind in enumerate(kinds)]
    tree = Hierarchy.from_frame(pd.DataFrame(paths))
    weights = tree.weights([path[0] for path in paths])
    for one in paths:
        found = []
        for other in paths:
            above = next(name for name in one[1:] if name in other)
            found.append(sum(above in path for path in paths) - 1 if other != one else 0)
        most = max(len(paths) - 1, 1)
        assert weights[one[0]] == pytest.approx(sum(found) / most**2)
    assert weights.between(0, 1).all()


def test_weights_of_items_of_any_type():
    tree = Hierarchy.from_dict({"*": {"a": ["1", "2"], "b": ["3"]}})
    assert tree.weights([2, 1, 2]).to_dict() == {2: 0.75, 1: 0.75}
    frame = pd.DataFrame({"items": [[1], [2], [3], [3]]})
    weights = tree.weights(frame["items"].explode())
    assert pdanon.pcta(frame, k=2, m=1, weights=weights).mapping["generalized"].tolist() == [
        *["(1,2)"] * 2,
        "3",
    ]
    with pytest.raises(pdanon.HierarchyError, match="1 of 1 items are not leaves"):
        tree.weights(["9"])
    with pytest.raises(pdanon.PdanonError):
        tree.weights([1, "2"])
