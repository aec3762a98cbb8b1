"""Full-subtree generalization, bottom-up: replace all children of a node by the node, repeatedly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Taxonomy
from pdanon.algorithms.relational.incognito import Levels, best_levels, ladder
from pdanon.algorithms.relational.publishing import Combinations, publish_values, release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows
from pdanon.algorithms.states.cuts import sum_below
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.lists import mask_at, sums
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized

_FEW = 20_000  # combinations of levels that are searched in a few seconds

# Column, node, the values below the node, and their nodes before the step.
Step: TypeAlias = tuple[int, int, Numbers, Numbers]


@called_by_name
def full_subtree(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    max_suppressed: float = 0,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Replace all children of a node by the node where this gains the most anonymity for its loss.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, hierarchies, max_suppressed : int, sequence of hashable, mapping, float
        As in `cluster`.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding to a cut of each hierarchy: no published node is below another.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. Each value in fewer than k rows is first raised, with its whole
    subtree, to the lowest ancestor in k rows. While a row is in a class of fewer than k, a node replaces its
    children if all of them are in the cut: the one that gains the most anonymity for its NCP. Anonymity is
    the size of the class, at most k, summed over the rows. Ties: a node above a row in a class of fewer than
    k, then the least NCP, the first column, the first node. The roots are the last resort. Unnecessary steps
    are then reverted, the latest first. For at most 20,000 combinations of levels, the search also starts
    from the best one, see :func:`pdanon.incognito`, and the release with less NCP is returned.

    With ``max_suppressed``, both phases also end when no more rows than allowed are in nodes, then in
    classes, of fewer than k. Rows in such classes are suppressed, and the smallest other class with them if
    they are fewer than k. Steps are reverted if that loses less. Numbers and times without a hierarchy have a
    balanced one: pairs of consecutive values, pairs of pairs, and so on. Other values without a hierarchy are
    published as they are, or all as the set of all values.

    Cost: time of the classes for each column and step, with at most as many steps as nodes, and of
    `incognito` where it is tried. Memory of a few numbers for each row and column.

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
    return release_classes(RECORD, locals())


def raise_groups(table: QuasiTable, k: int, rng: np.random.Generator, report: Report, most: int) -> Classes:
    """Choose the cut of each hierarchy as `full_subtree` does; nothing is random."""
    releases = [each for allowed in sorted({0, most}) for each in _releases(table, k, allowed, report)]
    return min(releases, key=lambda each: each.loss)


def _releases(table: QuasiTable, k: int, most: int, report: Report) -> list[Classes]:
    """Return the releases found from the leaves and from the best levels, for this many suppressed rows."""
    data = Combinations(table.attributes, *table.combinations(), k, most)
    columns = zip(table.attributes, data.tuples, strict=True)
    cuts = [_necessary_cut(each.taxonomy, codes, data.weights, k, most) for each, codes in columns]
    starts = [(cuts, _raise(cuts, data, report))]
    ladders = [ladder(each) for each in table.attributes]
    if prod(map(len, ladders)) <= _FEW:
        starts.append(_levels(ladders, best_levels(data, ladders, report)))
    found = []
    for cuts, steps in starts:
        before = publish_values(table, cuts, k, most)
        _take_back(cuts, steps, data)
        # Ranges and sets of fewer values may lose less than their nodes, so either release may be better.
        found += [each for each in (publish_values(table, cuts, k, most), before) if each is not None]
    return found


def _levels(ladders: list[list[Numbers]], levels: Levels) -> tuple[list[Numbers], list[Step]]:
    """Return the cuts at some levels, and the steps to them from the leaves."""
    steps: list[Step] = []
    for place, (column, level) in enumerate(zip(ladders, levels, strict=True)):
        for before, after in pairwise(column[: level + 1]):
            for node in np.unique(after[after != before]).tolist():
                values = np.flatnonzero(after == node)
                steps.append((place, node, values, before[values]))
    return [column[level].copy() for column, level in zip(ladders, levels, strict=True)], steps


def _take_back(cuts: list[Numbers], steps: list[Step], data: Combinations) -> None:
    """Revert steps in place, the latest first, where this loses less."""
    least = data.loss(data.keys(cuts))
    for place, node, values, before in reversed(steps):
        cut = cuts[place]
        if (cut[values] == node).all():  # else a later step raised them further and was necessary
            cut[values] = before
            now = data.loss(data.keys(cuts))
            if now is None or (least is not None and now > least):
                cut[values] = node
            else:
                least = now


def _raise(cuts: list[Numbers], data: Combinations, report: Report) -> list[Step]:
    """Raise the cuts in place until few rows are in classes of fewer than k; return the steps."""
    taxonomies = [each.taxonomy for each in data.attributes]
    keys, weights, k = data.keys(cuts), data.weights, data.k
    steps: list[Step] = []
    while True:
        keys, weights = _merge_equal(keys, weights)
        if weights[weights < k].sum() <= data.most:
            return steps
        found = [
            (*score, place, node)
            for place, taxonomy in enumerate(taxonomies)
            for score, node in _best_group(taxonomy, keys, weights, place, k)
        ]
        # Of equal scores, the first column and the lowest node.
        *_, place, node = max(found, key=lambda each: (*each[:-2], -each[-2], -each[-1]))
        last = node + taxonomies[place].hierarchy.size[node]
        cut, key = cuts[place], keys[place]
        values = np.flatnonzero((cut >= node) & (cut < last))
        steps.append((place, node, values, cut[values]))
        cut[values] = node
        key[(key >= node) & (key < last)] = node
        report(1)


def _necessary_cut(taxonomy: Taxonomy, codes: Codes, weights: Numbers, k: int, allowed: int) -> Numbers:
    """Raise nodes of fewer than k rows until few rows have one; return the node of each value."""
    tree = taxonomy.hierarchy
    rows = sum_below(weights, tree, taxonomy.leaves[codes])
    nodes = taxonomy.leaves.copy()
    while True:
        rare = np.unique(nodes[(rows[nodes] > 0) & (rows[nodes] < k)])
        if rows[rare].sum() <= allowed:
            return nodes
        for node in np.unique(tree.parent[rare]).tolist():
            nodes[(nodes >= node) & (nodes < node + tree.size[node])] = node


def _merge_equal(keys: list[Numbers], weights: Numbers) -> tuple[list[Numbers], Numbers]:
    """Merge classes that became equal."""
    groups = group_rows(keys, len(weights))
    first = np.unique(groups, return_index=True)[1]
    return [key[first] for key in keys], sums(groups, weights)


def _best_group(
    taxonomy: Taxonomy, keys: list[Numbers], weights: Numbers, place: int, k: int
) -> list[tuple[tuple[Fraction, bool, int], int]]:
    """Return the best node to replace its children in one column, with its score; none at the root."""
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
    near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-9))  # floats preselect, fractions decide
    scores = [
        ((Fraction(int(gain[i]), max(int(cost[i]), 1)), bool(risky[i]), -int(cost[i])), int(nodes[i]))
        for i in near
    ]
    return [max(scores, key=lambda each: (each[0], -each[1]))]


def _complete(taxonomy: Taxonomy, cut: Numbers) -> Mask:
    """Return for each node whether the cut contains all its children that have a value."""
    parent = taxonomy.hierarchy.parent
    present = np.zeros(len(parent), np.bool_)
    nodes = np.unique(cut)
    in_cut = mask_at(len(parent), nodes)
    while len(nodes):
        present[nodes] = True
        nodes = np.unique(parent[nodes[nodes > 0]])
    lacking = present & ~in_cut
    complete = np.ones(len(parent), np.bool_)
    complete[parent[np.flatnonzero(lacking)[1:]]] = False  # the first is the root, which has no parent
    return complete


RECORD = Algorithm(full_subtree, (KAnonymity,), recodes="values", form=raise_groups, by_value=True)
