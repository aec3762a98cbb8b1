"""Full-subtree generalization, bottom-up: replace all children of a node by the node, again and again.

After Wang, Yu, Chakraborty, "Bottom-Up Generalization: A Data Mining Solution to Privacy Protection",
ICDM 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute
from pdanon.algorithms.relational.cells import Numbers, Taxonomy
from pdanon.algorithms.relational.incognito import Levels, best_levels, ladder
from pdanon.algorithms.relational.publishing import release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows, sums
from pdanon.algorithms.relational.suppression import lost, published
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "full_subtree", "raise_groups"]

_FEW = 20_000  # combinations of levels: a few seconds

# The column, the node, the values below it, and their nodes before.
Step: TypeAlias = tuple[int, int, Numbers, Numbers]


@called_by_name
def full_subtree(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    suppress: float = 0,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Replace all children of a node by the node, where that hides most rows for least loss.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    quasi : sequence of hashable
        Labels of the columns that an attacker may know.
    hierarchies : mapping, optional
        By quasi-identifier, a hierarchy or what ``Hierarchy.of`` makes one of.
    suppress : float
        Share of the rows, in [0, 1], of which nothing need be published, if that loses less. They are one
        class, of at least k rows.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to a cut of each hierarchy: no published node is below another.

    Raises
    ------
    InfeasibleError
        If there are fewer than k, but more than 0, rows.
    HierarchyError
        If a hierarchy is not a tree or lacks values of its column.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A value that is in fewer than k rows can be in no release, so first
    each is raised to the lowest node that is in k rows, with all that is below it. Then, as long as a row
    is in a class of fewer than k, a node is chosen all of whose children are in the cut, and replaces
    them: the one that gains the most anonymity for its NCP. Anonymity is the size of the class, or k if that
    is less, summed over the rows. Ties: a node above a row in a class of fewer than k, then the least NCP,
    the first column, the first node. The roots, the last resort, put all rows into one class. At last the
    steps that turn out not to be necessary are taken back, the latest first. If there are at most 20,000
    combinations of levels, the same is done from the best of them, see :func:`pdanon.incognito`; the release
    of less NCP is returned.

    With ``suppress``, all this is also done until no more rows than allowed are in nodes, and then in
    classes, of fewer than k. The last are suppressed, and with them the smallest other class if they are
    fewer than k. Steps are taken back if that loses less.

    Without a hierarchy, numbers and times have one of pairs of consecutive values, pairs of those, and so
    on; of other values all become the set of all, or none.

    Cost: time of the classes for each column and step; at most as many steps as nodes; and the time of
    `incognito` where that is tried. Memory of a few numbers for each row and column.


    References
    ----------
    .. [1] K. Wang, P. S. Yu, S. Chakraborty, "Bottom-Up Generalization: A Data Mining Solution to Privacy
       Protection", ICDM 2004.


    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.full_subtree(df, k=2, quasi=["age", "origin"]).frame
            age                 origin
    0  [19, 22]  (France,Greece,Spain)
    1  [19, 22]  (France,Greece,Spain)
    2  [28, 39]  (France,Greece,Spain)
    3  [28, 39]  (France,Greece,Spain)
    """
    return release_classes(
        frame,
        "full_subtree",
        raise_groups,
        k=k,
        quasi=quasi,
        hierarchies=hierarchies,
        suppress=suppress,
        keep=keep,
        progress=progress,
    )


def raise_groups(
    table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any], most: int = 0
) -> Classes:
    """Decide the cut of each hierarchy, as `full_subtree` says; nothing is left to chance."""
    releases = [each for allowed in sorted({0, most}) for each in _releases(table, k, allowed, report)]
    return min(releases, key=lambda each: each.lost)


def _releases(table: QuasiTable, k: int, most: int, report: Callable[[int], Any]) -> list[Classes]:
    """What is found from the leaves, and from the best levels, if so many rows may be suppressed."""
    tuples, weights = table.distinct()
    taxonomies = [each.taxonomy for each in table.attributes]
    cuts = [
        _necessary_cut(taxonomy, codes, weights, k, most)
        for taxonomy, codes in zip(taxonomies, tuples, strict=True)
    ]
    starts = [(cuts, _raise(cuts, taxonomies, tuples, weights, k, most, report))]
    ladders = [ladder(each) for each in table.attributes]
    if prod(map(len, ladders)) <= _FEW:
        starts.append(_levels(ladders, best_levels(table, ladders, k, report, most)))
    found = []
    for cuts, steps in starts:
        before = published(table, cuts, k, most)
        _take_back(cuts, steps, table.attributes, tuples, weights, k, most)
        # Ranges and sets of fewer values may lose less than their nodes: so neither is sure to be better.
        found += [each for each in (published(table, cuts, k, most), before) if each is not None]
    return found


def _levels(ladders: list[list[Numbers]], levels: Levels) -> tuple[list[Numbers], list[Step]]:
    """The cuts at these levels, and the steps to them from the leaves."""
    steps: list[Step] = []
    for place, (column, level) in enumerate(zip(ladders, levels, strict=True)):
        for before, after in pairwise(column[: level + 1]):
            for node in np.unique(after[after != before]).tolist():
                values = np.flatnonzero(after == node)
                steps.append((place, node, values, before[values]))
    return [column[level].copy() for column, level in zip(ladders, levels, strict=True)], steps


def _take_back(
    cuts: list[Numbers],
    steps: list[Step],
    attributes: Sequence[Attribute],
    tuples: list[Codes],
    weights: Numbers,
    k: int,
    most: int,
) -> None:
    """Undo steps, in place, the latest first, where less is lost without."""

    def loss() -> int | None:
        keys = [cut[codes] for cut, codes in zip(cuts, tuples, strict=True)]
        return lost(attributes, keys, weights, k, most)

    least = loss()
    for place, node, values, before in reversed(steps):
        cut = cuts[place]
        if (cut[values] == node).all():  # else a later step, further up, was necessary
            cut[values] = before
            now = loss()
            if now is None or (least is not None and now > least):
                cut[values] = node
            else:
                least = now


def _raise(
    cuts: list[Numbers],
    taxonomies: list[Taxonomy],
    tuples: list[Codes],
    weights: Numbers,
    k: int,
    allowed: int,
    report: Callable[[int], Any],
) -> list[Step]:
    """Raise the cuts, in place, until few rows are in classes of fewer than k; the steps that were taken."""
    keys = [cut[codes] for cut, codes in zip(cuts, tuples, strict=True)]
    steps: list[Step] = []
    while True:
        keys, weights = _merged(keys, weights)
        if weights[weights < k].sum() <= allowed:
            return steps
        found = [
            (*score, place, node)
            for place, taxonomy in enumerate(taxonomies)
            for score, node in _best_group(taxonomy, keys, weights, place, k)
        ]
        *_, place, node = max(found, key=lambda each: (*each[:-2], -each[-2], -each[-1]))
        last = node + taxonomies[place].hierarchy.size[node]
        cut, key = cuts[place], keys[place]
        values = np.flatnonzero((cut >= node) & (cut < last))
        steps.append((place, node, values, cut[values]))
        cut[values] = node
        key[(key >= node) & (key < last)] = node
        report(1)


def _necessary_cut(taxonomy: Taxonomy, codes: Codes, weights: Numbers, k: int, allowed: int) -> Numbers:
    """Node of each value, where nodes of fewer than k rows are raised until few rows have such ones."""
    tree = taxonomy.hierarchy
    rows = np.zeros(tree.n_nodes, np.int64)
    np.add.at(rows, taxonomy.leaves[codes], weights)
    for node in range(tree.n_nodes - 1, 0, -1):
        rows[tree.parent[node]] += rows[node]
    nodes = taxonomy.leaves.copy()
    while True:
        rare = np.unique(nodes[(rows[nodes] > 0) & (rows[nodes] < k)])
        if rows[rare].sum() <= allowed:
            return nodes
        for node in np.unique(tree.parent[rare]).tolist():
            nodes[(nodes >= node) & (nodes < node + tree.size[node])] = node


def _merged(keys: list[Numbers], weights: Numbers) -> tuple[list[Numbers], Numbers]:
    """Classes that became equal as one."""
    groups = group_rows(keys, len(weights))
    first = np.unique(groups, return_index=True)[1]
    return [key[first] for key in keys], sums(groups, weights)


def _best_group(
    taxonomy: Taxonomy, keys: list[Numbers], weights: Numbers, place: int, k: int
) -> list[tuple[tuple[Fraction, bool, int], int]]:
    """Score of the best node that can replace its children in one column, and the node; none at the root."""
    complete = _complete(taxonomy, keys[place])
    above = taxonomy.hierarchy.parent[keys[place]].astype(np.int64)
    chosen = (above >= 0) & complete[above]
    if not chosen.any():
        return []
    nodes, below = np.unique(above[chosen], return_inverse=True)
    old = weights[chosen]
    others = [key[chosen] for i, key in enumerate(keys) if i != place]
    merged = group_rows([*others, below], len(old))
    new = sums(merged, old)
    owner = np.empty(len(new), np.int64)
    owner[merged] = below
    gain = sums(owner, new * np.minimum(new, k)) - sums(below, old * np.minimum(old, k))
    lost = taxonomy.penalties[above[chosen]] - taxonomy.penalties[keys[place][chosen]]
    cost = sums(below, old * lost)
    risky = sums(below, np.where(old < k, old, 0)) > 0
    ratio = gain / np.maximum(cost, 1)
    near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-9))  # the exact comparison is among these
    scores = [
        ((Fraction(int(gain[i]), max(int(cost[i]), 1)), bool(risky[i]), -int(cost[i])), int(nodes[i]))
        for i in near
    ]
    return [max(scores, key=lambda each: (each[0], -each[1]))]


def _complete(taxonomy: Taxonomy, cut: Numbers) -> NDArray[np.bool_]:
    """Whether all children of each node that stand for a value of these rows are in the cut."""
    parent = taxonomy.hierarchy.parent
    present = np.zeros(len(parent), np.bool_)
    nodes = np.unique(cut)
    in_cut = np.zeros(len(parent), np.bool_)
    in_cut[nodes] = True
    while len(nodes):
        present[nodes] = True
        nodes = np.unique(parent[nodes[nodes > 0]])
    lacking = present & ~in_cut
    complete = np.ones(len(parent), np.bool_)
    complete[parent[np.flatnonzero(lacking)[1:]]] = False  # the first is the root, which has no parent
    return complete


RECORD = Algorithm(
    full_subtree,
    (KAnonymity,),
    recodes="values",
    form=raise_groups,
)
