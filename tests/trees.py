"""Trees to try hierarchies on: made-up ones, what is true of them by a naive definition, and real files.

A tree is ``(name, children)``, and ``(name, None)`` for a leaf.
"""

import os
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

DATA = Path(os.environ.get("PDANON_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = sorted((DATA / "hierarchies").glob("*.csv"))
needs_data = pytest.mark.skipif(not FILES, reason="no PDANON_DATA")

# U+FEFF is left out: at the start of a file it is a byte order mark.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1, max_size=4)


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


def ragged(rows):
    return pd.DataFrame(list(zip(*zip_longest(*rows), strict=True)), dtype="str")


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
