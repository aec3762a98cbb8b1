"""Pattern measures: the loss of frequent itemsets, and the errors of the supports of items and pairs.

ML2 and dML2: Terrovitis, Mamoulis, Kalnis, "Local and global recoding methods for anonymizing set-valued
data", VLDB Journal 20, 2011. tKd and re: Terrovitis, Liagouris, Mamoulis, Skiadopoulos, "Privacy
Preservation by Disassociation", PVLDB 5(10), 2012. Frequent itemsets are mined by mlxtend.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.evaluation.metrics.association_rules import rules
from pdanon.evaluation.metrics.queries import (
    Mode,
    Workload,
    _check_max_size,
    _count_frequent,
    _min_rows,
    _mine,
    frequent_itemsets,
)
from pdanon.evaluation.metrics.rule_errors import RuleErrors, rule_errors
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, list_column
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.support import ItemsetTable, SupportIndex, from_matrices, no_itemsets
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_count
from pdanon.recoding.recoding import codes_of, read_mapping
from pdanon.recoding.result import Anonymized

__all__ = [
    "RuleErrors",
    "frequent_itemsets",
    "item_errors",
    "ml2",
    "pair_errors",
    "rule_errors",
    "rules",
    "tkd",
]


@takes_tables
def ml2(
    original: pd.DataFrame,
    mapping: pd.DataFrame,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike,
    min_support: float,
    max_size: int | None = None,
) -> pd.Series[float]:
    """Measure the share of frequent itemsets, over all levels of a hierarchy, that a release loses.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    mapping : pandas.DataFrame
        The mapping of its items to nodes of the hierarchy.
    column : hashable, optional
        The list column. By default the only one.
    hierarchy : Hierarchy, or what describes one
        The hierarchy of the release.
    min_support : float
        Minimum share of the rows, in (0, 1], on every level.
    max_size : int, optional
        Maximum number of items of an itemset. By default any.

    Returns
    -------
    pandas.Series
        ``ML2`` and ``dML2``, in [0, 1]; 0 if nothing is lost, or nothing was frequent.

    Raises
    ------
    ParameterError
        If a label is not a node, the mapping is not over the items of the original, a number is out of
        range, a level has more than 1,000,000 frequent itemsets, or mlxtend is missing.

    Notes
    -----
    On level j, each item is replaced by its ancestor j steps up, or by the root if there are fewer. An
    itemset is preserved if, in every group, every item below its nodes was published as the node or below
    it. ``ML2`` is 1 minus the share of preserved itemsets among the frequent itemsets of all levels.
    ``dML2`` counts an itemset only if no frequent itemset of the level below generalizes to it. The formulas
    of [1]_ were not available: expect the same order of releases, not the same digits.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", VLDB Journal 20, 2011.
    """
    with show_activity("ML2"):
        itemsets = Itemsets.from_series(list_column(original, column))
        least, most = _min_rows(min_support, itemsets.n_rows), _check_max_size(max_size)
        tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
        items, nodes = _published_nodes(mapping, itemsets, tree)
        frequent = {"ML2": 0, "dML2": 0}
        found = {"ML2": 0, "dML2": 0}
        level, below = leaves, no_itemsets()
        for _ in range(tree.height + 1):
            table = _mine_nodes(itemsets, level, least, most)
            # In pre-order, the descendants of a node have the numbers up to node + size.
            above = level[items]
            lost = np.zeros(tree.n_nodes, np.bool_)
            lost[above[(nodes < above) | (nodes >= above + tree.size[above])]] = True
            kept = np.empty(0, np.bool_)  # reduceat needs an itemset
            if len(table):
                kept = np.logical_and.reduceat(~lost[table.codes], table.offsets[:-1])
            # An itemset of the level below implies its generalization to this level.
            implied = {frozenset(tree.parent[list(each)].clip(0).tolist()) for each in below.sets()}
            detailed = np.array([frozenset(each) not in implied for each in table.sets()], np.bool_)
            for name, counted in (("ML2", np.ones(len(table), np.bool_)), ("dML2", detailed)):
                frequent[name] += int(counted.sum())
                found[name] += int((counted & kept).sum())
            level, below = tree.parent[level].clip(0), table
        return pd.Series({name: 1 - found[name] / n if n else 0.0 for name, n in frequent.items()})


@takes_tables
def tkd(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: Hashable | None = None,
    *,
    top: int = 1000,
) -> float:
    """Measure the share of the most frequent itemsets that a release loses.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The two frames.
    column : hashable, optional
        The list column of both. By default the only one.
    top : int
        Number of itemsets to compare. If there are fewer, all of them.

    Returns
    -------
    float
        1 minus the share of the top itemsets of the original that are top itemsets of the release, in [0, 1].

    Raises
    ------
    ParameterError
        If top is below 1, more than 1,000,000 itemsets are as frequent as the last of the top, or mlxtend is
        missing.

    Notes
    -----
    Itemsets are compared by the text of their items; a label of several items differs from each of them.
    Ties in support are broken by size, then by the order of the items.
    """
    with show_activity("tKd"):
        top = check_count(top, "top", least=1)
        position = find_column(original, column)  # checks the frame, too
        label = original.columns[position]
        columns = (list_column(frame, label) for frame in (original, released))
        before, after = (_top_itemsets(Itemsets.from_series(each), top) for each in columns)
        return 1 - len(before & after) / len(before) if before else 0.0


@takes_tables
def item_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
) -> pd.DataFrame:
    """Measure the errors of the supports of items that are estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    pandas.DataFrame
        ``item``, ``actual``, ``estimate`` and ``error``, the relative error; in item order.

    Raises
    ------
    ColumnError, ParameterError
        As in `Workload.are`; also if no row has an item.
    """
    with show_activity("item errors"):
        position = find_column(original, column)
        itemsets = Itemsets.from_series(original.iloc[:, position])
        if not itemsets.n_items:
            raise ParameterError("no row has an item", where="original", got=f"{len(original)} rows")
        items = np.arange(itemsets.n_items, dtype=np.int32)
        workload = _workload(original, position, itemsets, items[:, None])
        table = workload.are(original, released, mapping, hierarchy=hierarchy, mode=mode).table
        kind = pd.ArrowDtype(itemsets.vocabulary.type)
        table.insert(0, "item", pd.Series(pd.array(itemsets.vocabulary, dtype=kind)))
        return table


@takes_tables
def pair_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    ranks: tuple[int, int] = (200, 220),
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
) -> pd.DataFrame:
    """Measure the errors of the supports of pairs of items of medium frequency, estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.
    ranks : tuple of int
        The half-open range of ranks by descending support, counted from 0. All pairs of the items with
        these ranks are measured.

    Returns
    -------
    pandas.DataFrame
        ``itemset``, ``actual``, ``estimate`` and ``error``, with the more frequent items first. The error is
        the measure re: ``abs(actual - estimate)`` over the average of both, at most 2; NaN if both are 0.

    Raises
    ------
    ColumnError, ParameterError
        As in `Workload.are`; also if fewer than two items have these ranks.
    """
    with show_activity("pair errors"):
        position = find_column(original, column)
        itemsets = Itemsets.from_series(original.iloc[:, position])
        supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
        first, last = _check_ranks(ranks, itemsets.n_items)
        items = np.argsort(-supports, kind="stable")[first:last].astype(np.int32)
        left, right = np.triu_indices(len(items), 1)
        # Codes must ascend within an itemset.
        pairs = np.sort(np.stack((items[left], items[right]), axis=1), axis=1)
        workload = _workload(original, position, itemsets, pairs)
        table = workload.are(original, released, mapping, hierarchy=hierarchy, mode=mode).table
        both = table["actual"] + table["estimate"]
        table["error"] = (table["actual"] - table["estimate"]).abs() / (both / 2).where(both > 0)
        table.insert(0, "itemset", workload.queries.iloc[:, 0])
        return table


def _workload(
    original: pd.DataFrame, position: int, itemsets: Itemsets, codes: NDArray[np.int32]
) -> Workload:
    """Return the queries for itemsets of one size, given as the rows of a matrix of codes."""
    table, label = from_matrices([codes]), original.columns[position]
    sets = Itemsets(table.codes, table.offsets, itemsets.vocabulary, np.zeros(len(table), np.bool_))
    return Workload.from_frame(pd.DataFrame({label: sets.to_pandas()}), label)


def _check_ranks(ranks: Any, n_items: int) -> tuple[int, int]:
    pair = tuple(ranks) if isinstance(ranks, (tuple, list)) else ()
    if len(pair) != 2:
        raise ParameterError("ranks must be two integers", where="ranks", got=type(ranks).__name__)
    first, last = (check_count(each, "ranks", least=0) for each in pair)
    if min(last, n_items) - first < 2:
        got = f"({first}, {last}) of {n_items} items"
        raise ParameterError("fewer than two items have these ranks", where="ranks", got=got)
    return first, last


def _mine_nodes(
    itemsets: Itemsets, nodes: NDArray[np.int32], least: int, max_size: int | None
) -> ItemsetTable:
    """Return the frequent itemsets after each item is replaced by a node."""
    used, targets = np.unique(nodes, return_inverse=True)
    replaced = itemsets.recode(targets.astype(np.int32), pa.array(np.arange(len(used), dtype=np.int32)))
    found = _mine(replaced, least, max_size)
    return ItemsetTable(used[found.codes], found.offsets, found.supports)


def _published_nodes(
    mapping: pd.DataFrame, itemsets: Itemsets, tree: Hierarchy
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the item and the node of each row of a mapping table; -1 for suppressed items."""
    items, labels, texts = read_mapping(mapping, itemsets)
    nodes = codes_of(texts, tree.labels)
    if (nodes < 0).any():
        problem = "the mapping has labels that are not nodes of the hierarchy"
        got = f"{int((nodes < 0).sum())} of {len(nodes)} labels"
        hint = "pass the hierarchy of the release; ML2 is defined for recodings by a hierarchy only"
        raise ParameterError(problem, where="mapping", got=got, hint=hint)
    return items, np.append(nodes, -1)[labels]


def _top_itemsets(itemsets: Itemsets, top: int) -> set[frozenset[str]]:
    """Return the most frequent itemsets as text."""
    index = SupportIndex.of(itemsets)
    # Bisect for the largest support that at least `top` itemsets have; it is 1 if there are fewer itemsets.
    least, beyond = 1, int(index.singles.max(initial=0)) + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if _count_frequent(index, middle, None, top) >= top:
            least = middle
        else:
            beyond = middle
    found = _mine(itemsets, least, None, where="top", hint="pass a smaller top")
    texts = itemsets.texts()
    named = [tuple(sorted(texts[code] for code in each)) for each in found.sets()]
    order = sorted(range(len(named)), key=lambda i: (-found.supports[i], len(named[i]), named[i]))
    return {frozenset(named[i]) for i in order[:top]}
