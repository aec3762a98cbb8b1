"""Full-subtree generalization, bottom-up: replace all children of a node by the node, again and again.

After Wang, Yu, Chakraborty, "Bottom-Up Generalization: A Data Mining Solution to Privacy Protection",
ICDM 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.record import Algorithm
from pdanon.algorithms.relational.attributes import Numbers, Taxonomy
from pdanon.algorithms.relational.publishing import form
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows, least_class, sums
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.codes import Codes
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "full_subtree", "raise_groups"]

# The column, the node, the values below it, and their nodes before.
Step: TypeAlias = tuple[int, int, Numbers, Numbers]


def full_subtree(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
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
    steps that turn out not to be necessary are taken back, the latest first.

    Without a hierarchy, numbers and times have one of pairs of consecutive values, pairs of those, and so
    on; of other values all become the set of all, or none.

    Cost: time of the classes for each column and step; at most as many steps as nodes. Memory of a few
    numbers for each row and column.


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
    asked = {"algorithm": "full_subtree"}
    return form(frame, raise_groups, k, quasi, hierarchies, keep, progress, asked)


def raise_groups(
    table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any]
) -> Classes:
    """Decide the cut of each hierarchy, as `full_subtree` says; nothing is left to chance."""
    tuples, weights = table.distinct()
    taxonomies = [each.taxonomy for each in table.attributes]
    cuts = [
        _necessary_cut(taxonomy, codes, weights, k)
        for taxonomy, codes in zip(taxonomies, tuples, strict=True)
    ]
    steps = _raise(cuts, taxonomies, tuples, weights, k, report)
    for place, node, values, before in reversed(steps):
        cut = cuts[place]
        if (cut[values] == node).all():  # else a later step, further up, was necessary
            cut[values] = before
            keys = [nodes[codes] for nodes, codes in zip(cuts, tuples, strict=True)]
            if least_class(keys, weights) < k:
                cut[values] = node
    return Classes.of_values(table, cuts)


def _raise(
    cuts: list[Numbers],
    taxonomies: list[Taxonomy],
    tuples: list[Codes],
    weights: Numbers,
    k: int,
    report: Callable[[int], Any],
) -> list[Step]:
    """Raise the cuts, in place, until all classes have k rows; the steps that were taken."""
    keys = [cut[codes] for cut, codes in zip(cuts, tuples, strict=True)]
    steps: list[Step] = []
    while True:
        keys, weights = _merged(keys, weights)
        if len(weights) == 0 or weights.min() >= k:
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


def _necessary_cut(taxonomy: Taxonomy, codes: Codes, weights: Numbers, k: int) -> Numbers:
    """Node of each value, where a node of a few rows, below k, is raised, and all below with it."""
    tree = taxonomy.hierarchy
    rows = np.zeros(tree.n_nodes, np.int64)
    np.add.at(rows, taxonomy.leaves[codes], weights)
    for node in range(tree.n_nodes - 1, 0, -1):
        rows[tree.parent[node]] += rows[node]
    nodes = taxonomy.leaves.copy()
    while (rare := (rows[nodes] > 0) & (rows[nodes] < k)).any() and nodes.any():
        raised = np.unique(tree.parent[nodes[rare]])
        for node in raised[raised >= 0].tolist():
            nodes[(nodes >= node) & (nodes < node + tree.size[node])] = node
    return nodes


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
