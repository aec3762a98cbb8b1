"""Pattern measures: what of the frequent itemsets, and of the supports of items and pairs, is left.

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
from pdanon.evaluation.metrics.attacker_candidates import codes_of, read_mapping
from pdanon.evaluation.metrics.queries import Mode, Workload, _count, _least, _mine, _size, frequent_itemsets
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, list_column
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, no_itemsets
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_count
from pdanon.recoding.result import Anonymized

__all__ = ["frequent_itemsets", "item_errors", "ml2", "pair_errors", "tkd"]


def ml2(
    original: pd.DataFrame,
    mapping: pd.DataFrame,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike,
    min_support: float,
    max_size: int | None = None,
    progress: bool = False,
) -> pd.Series[float]:
    """Measure which frequent itemsets of all levels of a hierarchy a release has lost.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    mapping : pandas.DataFrame
        What its items became: nodes of the hierarchy, or suppressed.
    column : hashable, optional
        The list column. By default the only one.
    hierarchy : Hierarchy, or what describes one
        The hierarchy that the release was made with.
    min_support : float
        Least share of the rows, in (0, 1], on every level.
    max_size : int, optional
        Largest size of an itemset. By default any.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    pandas.Series
        ``ML2`` and ``dML2``, in [0, 1]; 0 if nothing is lost, or nothing was frequent.

    Raises
    ------
    ParameterError
        If an item became something else than a node, the mapping is not over the items of the original,
        a number is out of range, a level has more than 1,000,000 frequent itemsets, or mlxtend is missing.

    Notes
    -----
    On level j each item is replaced by its ancestor j steps up, or by the root if there are fewer. ``ML2``
    is 1 less the frequent itemsets of all levels that can still be found over all there are. An itemset
    can be found if in every group every item below its nodes was published as the node or below it.
    ``dML2`` counts an itemset only if no frequent itemset of the level below generalizes to it. The formulas
    of [1]_ were not at hand: expect the same order of releases, not the same digits.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", VLDB Journal 20, 2011.
    """
    with show_activity(progress, "ML2"):
        itemsets = Itemsets.from_series(list_column(original, column))
        least, most = _least(min_support, itemsets.n_rows), _size(max_size)
        tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
        items, nodes = _published_nodes(mapping, itemsets, tree)
        frequent = {"ML2": 0, "dML2": 0}
        found = {"ML2": 0, "dML2": 0}
        level, below = leaves, no_itemsets()
        for _ in range(tree.height + 1):
            table = _mine_nodes(itemsets, level, least, most)
            above = level[items]
            lost = np.zeros(tree.n_nodes, np.bool_)
            lost[above[(nodes < above) | (nodes >= above + tree.size[above])]] = True
            kept = _all_of(~lost, table)
            implied = {frozenset(tree.parent[list(each)].clip(0).tolist()) for each in below.sets()}
            detailed = np.array([frozenset(each) not in implied for each in table.sets()], np.bool_)
            for name, counted in (("ML2", np.ones(len(table), np.bool_)), ("dML2", detailed)):
                frequent[name] += int(counted.sum())
                found[name] += int((counted & kept).sum())
            level, below = tree.parent[level].clip(0), table
        return pd.Series({name: 1 - found[name] / n if n else 0.0 for name, n in frequent.items()})


def tkd(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: Hashable | None = None,
    *,
    top: int = 1000,
    progress: bool = False,
) -> float:
    """Measure how many of the most frequent itemsets of the original are not among those of the release.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The two frames.
    column : hashable, optional
        The list column of both. By default the only one.
    top : int
        How many itemsets of each are compared, or all there are if they are fewer.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    float
        1 less the share of the itemsets of the original that both have, in [0, 1].

    Raises
    ------
    ParameterError
        If top is below 1, more than 1,000,000 itemsets are as frequent as the last of the top, or mlxtend is
        missing.

    Notes
    -----
    Itemsets are compared by the text of their items; a label of several items is none of them. Of equally
    frequent itemsets the smaller come first, then those whose items come first in order.
    """
    with show_activity(progress, "tKd"):
        top = check_count(top, "top", least=1)
        position = find_column(original, column)
        label = original.columns[position]
        before, after = (
            _top(Itemsets.from_series(list_column(frame, label)), top) for frame in (original, released)
        )
        return 1 - len(before & after) / len(before) if before else 0.0


def item_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
    progress: bool = False,
) -> pd.DataFrame:
    """Measure how well the support of each item can be estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    pandas.DataFrame
        ``item``, ``actual``, ``estimate`` and ``error``, the relative error; in item order.

    Raises
    ------
    ColumnError, ParameterError
        As `Workload.are`; also if no row holds an item.
    """
    with show_activity(progress, "item errors"):
        position = find_column(original, column)
        itemsets = Itemsets.from_series(original.iloc[:, position])
        if not itemsets.n_items:
            raise ParameterError("no row holds an item", where="original", got=f"{len(original)} rows")
        items = np.arange(itemsets.n_items, dtype=np.int32)
        table = _estimated(original, itemsets, items, 1, (released, mapping, hierarchy, mode), position)
        kind = pd.ArrowDtype(itemsets.vocabulary.type)
        table.insert(0, "item", pd.Series(pd.array(itemsets.vocabulary, dtype=kind)))
        return table


def pair_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    ranks: tuple[int, int] = (200, 220),
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
    progress: bool = False,
) -> pd.DataFrame:
    """Measure how well the supports of pairs of not too frequent items can be estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.
    ranks : tuple of int
        The pairs of the items with these ranks by descending support, from the first, counted from 0, up to
        but without the second.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    pandas.DataFrame
        ``itemset``, ``actual``, ``estimate`` and ``error``, which is ``abs(actual - estimate)`` over the
        average of both (the measure re; at most 2), NaN where both are 0; the more frequent items first.

    Raises
    ------
    ColumnError, ParameterError
        As `Workload.are`; also if there are less than two items of these ranks.
    """
    with show_activity(progress, "pair errors"):
        position = find_column(original, column)
        itemsets = Itemsets.from_series(original.iloc[:, position])
        supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
        first, last = _ranks(ranks, itemsets.n_items)
        items = np.argsort(-supports, kind="stable")[first:last].astype(np.int32)
        left, right = np.triu_indices(len(items), 1)
        pairs = np.sort(np.stack((items[left], items[right]), axis=1), axis=1).ravel()
        table = _estimated(original, itemsets, pairs, 2, (released, mapping, hierarchy, mode), position)
        both = table["actual"] + table["estimate"]
        table["error"] = (table["actual"] - table["estimate"]).abs() / (both / 2).where(both > 0)
        table.insert(0, "itemset", pd.Series(_sets(itemsets, pairs, 2).to_pandas()))
        return table


def _estimated(
    original: pd.DataFrame,
    itemsets: Itemsets,
    codes: NDArray[np.int32],
    size: int,
    asked: tuple[Any, Any, Any, Mode],
    position: int,
) -> pd.DataFrame:
    """Actual and estimated supports of itemsets of one size."""
    label = original.columns[position]
    workload = Workload.from_frame(pd.DataFrame({label: _sets(itemsets, codes, size).to_pandas()}), label)
    released, mapping, hierarchy, mode = asked
    return workload.are(original, released, mapping, hierarchy=hierarchy, mode=mode).table


def _sets(itemsets: Itemsets, codes: NDArray[np.int32], size: int) -> Itemsets:
    offsets = np.arange(0, len(codes) + 1, size)
    return Itemsets(codes, offsets, itemsets.vocabulary, np.zeros(len(offsets) - 1, np.bool_))


def _ranks(ranks: Any, n_items: int) -> tuple[int, int]:
    pair = tuple(ranks) if isinstance(ranks, (tuple, list)) else ()
    if len(pair) != 2:
        raise ParameterError("ranks must be two integers", where="ranks", got=type(ranks).__name__)
    first, last = (check_count(each, "ranks", least=0) for each in pair)
    if min(last, n_items) - first < 2:
        raise ParameterError(
            "there are less than two items of these ranks",
            where="ranks",
            got=f"({first}, {last}) of {n_items} items",
        )
    return first, last


def _mine_nodes(
    itemsets: Itemsets, nodes: NDArray[np.int32], least: int, max_size: int | None
) -> ItemsetTable:
    """Frequent itemsets of the nodes that the items are replaced by."""
    used, targets = np.unique(nodes, return_inverse=True)
    replaced = itemsets.recode(targets.astype(np.int32), pa.array(np.arange(len(used), dtype=np.int32)))
    found = _mine(replaced, least, max_size)
    return ItemsetTable(used[found.codes], found.offsets, found.supports)


def _published_nodes(
    mapping: pd.DataFrame, itemsets: Itemsets, tree: Hierarchy
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Item and node of each row of a mapping table; -1 where suppressed, which is below no node."""
    items, labels, texts = read_mapping(mapping, itemsets)
    nodes = codes_of(texts, tree.labels)
    if (nodes < 0).any():
        raise ParameterError(
            "items became something else than nodes of the hierarchy",
            where="mapping",
            got=f"{int((nodes < 0).sum())} of {len(nodes)} labels",
            hint="ML2 is for recodings by a hierarchy; give the one that the release was made with",
        )
    return items, np.append(nodes, -1)[labels]


def _all_of(wanted: NDArray[np.bool_], table: ItemsetTable) -> NDArray[np.bool_]:
    """Whether all codes of each itemset are wanted."""
    if not len(table):
        return np.empty(0, np.bool_)
    return np.logical_and.reduceat(wanted[table.codes], table.offsets[:-1])


def _top(itemsets: Itemsets, top: int) -> set[frozenset[str]]:
    """The most frequent itemsets, as text."""
    index = SupportIndex.of(itemsets)
    # The largest support that so many itemsets have, or 1 if there are fewer.
    least, beyond = 1, int(index.singles.max(initial=0)) + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if _count(index, middle, None, top) >= top:
            least = middle
        else:
            beyond = middle
    found = _mine(itemsets, least, None, where="top", hint="choose a smaller top")
    texts = itemsets.texts()
    named = [tuple(sorted(texts[code] for code in each)) for each in found.sets()]
    order = sorted(range(len(named)), key=lambda i: (-found.supports[i], len(named[i]), named[i]))
    return {frozenset(named[i]) for i in order[:top]}
