"""Nodes that rows have in common: of given rows (lcg), and of groups of k similar rows (Clump)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from pdanon._kernels import row_groups
from pdanon.algorithms.items._generalization import decide_groups
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import CutTask, LeafRows, by_first_row, node_counts, silent_rows
from pdanon.errors import ParameterError
from pdanon.guarantees import TransactionalK
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import ItemsetTable
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count, check_known, read_list
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.result import Anonymized

# --- The least common generalization of rows


@called_by_name
def lcg(
    frame: pd.DataFrame, column: Hashable | None = None, *, rows: Iterable[Hashable], hierarchy: HierarchyLike
) -> list[str]:
    """Find the least common generalization of some rows: the most specific labels that fit all of them.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        The table, and its list column, by default the only one.
    rows : iterable of hashable
        Index labels of the rows, as for ``frame.loc``. A label that several rows share stands for all of
        them.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Hierarchy of the items, as for ``Hierarchy.of``; an int is the fan-out of a balanced one.

    Returns
    -------
    list of str
        The sorted labels with which :func:`clump` would publish these rows as a group. A label occurs several
        times if it stands for several items of every row.

    Raises
    ------
    ParameterError, HierarchyError, ColumnError, ItemsetDtypeError
        If no row is listed, the index lacks one, or the hierarchy (no tree, or items are missing) or the
        column is invalid.

    Notes
    -----
    In each row, every label covers a different item. There are as many labels as the shortest row has items,
    and they are as specific as possible. The number of labels below a node is the smallest number of items
    that a row has there.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["apple", "beef"], ["beef", "chicken", "pear"]]})
    >>> df.txanon.lcg(rows=[0, 1], hierarchy={"fruit": ["apple", "pear"], "meat": ["beef", "chicken"]})
    ['beef', 'fruit']
    """
    position = find_column(frame, column)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
    chosen = np.unique(_positions(frame.index, rows))
    taken = LeafRows.of(itemsets.codes, itemsets.offsets, leaves).take(chosen)
    _, nodes, counts = node_counts(taken, tree)
    least = np.full(tree.n_nodes, len(itemsets.codes), np.int64)
    np.minimum.at(least, nodes, counts)
    least[np.bincount(nodes, minlength=tree.n_nodes) < len(chosen)] = 0
    own = least.copy()
    np.subtract.at(own, tree.parent[1:], least[1:])
    return sorted(tree.labels[node] for node in np.repeat(np.arange(tree.n_nodes), own).tolist())


def _positions(index: pd.Index[Any], rows: Iterable[Hashable]) -> Numbers:
    hint = "pass a list of index labels"
    wanted = read_list(rows, "rows", hint)
    if not all(pd.api.types.is_hashable(label) for label in wanted):
        raise ParameterError("rows must be index labels", where="rows", got="a list of lists", hint=hint)
    positions = np.asarray(index.get_indexer_for(pd.Index(wanted))) if wanted else np.empty(0, np.int64)
    lacking = int((positions < 0).sum())
    if lacking or not wanted:
        problem = "the index lacks some of the rows" if lacking else "no row is listed"
        raise ParameterError(problem, where="rows", got=f"{lacking} of {len(wanted)} unknown")
    return positions.astype(np.int64)


# --- Clump


_BATCH = 256  # rows placed between reports

Score: TypeAlias = Literal["increase", "total"]


@called_by_name
def clump(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    hierarchy: HierarchyLike,
    r: int = 10,
    score: Score = "increase",
    lookahead: int = 300,
) -> Anonymized:
    """Anonymize by grouping similar rows, and publishing what the rows of each group have in common.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k : int
        Minimum number of rows in a group; all of them are published with equal lists. At least 2.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Hierarchy of the items, as for ``Hierarchy.of``; an int is the fan-out of a balanced one.
    r : int
        Number of groups compared for each row; at least 1: those that began with the next rows by length.
    score : {"increase", "total"}
        A row joins the group whose distortion increases least, or whose total distortion is least.
    lookahead : int
        Number of following rows compared for a place in a group; at least 0. With 0, the current row gets the
        place. Otherwise, the row with the least distortion of the group gets it.

    Returns
    -------
    Anonymized
        A local recoding. Each row of a group, in ``groups``, is published as the same multiset of nodes: a
        list can contain a label several times. Items of a row beyond this multiset are suppressed.

    Raises
    ------
    InfeasibleError
        If there are rows, but fewer than k; or if some rows contain an item, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``TransactionalK(k)``. At least k equal rows form a group. The other rows are sorted by
    descending length, then by their items in the order of the hierarchy, and every k-th begins a group. The
    first remaining row takes the best group with fewer than k rows; the best of the row and the ``lookahead``
    rows after it joins the group, and if it was another row, the turn repeats. When all groups have k rows,
    the remaining rows may join any (ties: the first group, the first row). The distortion of a group, GGD, is
    LM summed over the published labels, plus 1 for each suppressed item, as an integer.

    Missing rows become empty if there are empty rows. If these are fewer than k, the shortest rows (then: the
    first) are suppressed until there are k; if fewer than k other rows would remain, all are.

    Cost: memory of 20 bytes per occurrence and level of the hierarchy. Each row takes ``r + lookahead``
    comparisons in time linear in the number of nodes above its items.

    References
    ----------
    .. [1] A. Milani Fard, K. Wang, "An Effective Clustering Approach to Web Query Log Anonymization",
       SECRYPT 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1", "a2", "b1"], ["a1", "a2", "b2"], ["a2", "b1"], ["a1", "b1"]]})
    >>> result = df.txanon.clump(k=2, hierarchy={"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]})
    >>> result.frame
                     items
    0  ['B' 'a1' 'a2']
    1  ['B' 'a1' 'a2']
    2       ['A' 'b1']
    3       ['A' 'b1']
    """
    return RECORD.release(locals())


def decide(columns: ListColumns, *, r: int, score: Score, lookahead: int, **others: Any) -> ListDecision:
    """Decide the nodes of each group of rows."""
    check_count(r, "r", least=1)
    check_count(lookahead, "lookahead", least=0)
    check_known(score, get_args(Score), "score", where="score")
    n_rows = columns.itemsets.n_rows  # upper bound on the candidates of a group
    nodes = partial(nodes_of, r=min(r, n_rows), score=score, lookahead=min(lookahead, n_rows))
    return decide_groups(nodes, columns, repeats=True, **others)


def nodes_of(task: CutTask, r: int, score: Score, lookahead: int) -> tuple[Codes, Codes]:
    """Return the node of each occurrence, -1 where it is suppressed, and the group of each row."""
    index, tree, leaves, k, *_ = task
    rows = LeafRows.of(index.codes, index.offsets, leaves)
    members = np.flatnonzero(~silent_rows(rows.lengths, k))
    placed = rows.take(members)
    # By descending length, then by their leaves, then by position.
    table = ItemsetTable(placed.leaves, placed.offsets, np.arange(len(members)))
    by_leaves = table.ordered().supports
    members = members[by_leaves[np.argsort(-placed.lengths[by_leaves], kind="stable")]]
    placed = rows.take(members)
    seeds, group_of = _seeds(placed, k)
    counted = node_counts(placed, tree)
    scale = max(tree.n_leaves - 1, 1)
    clumps = row_groups.Clumps(scale, _weights(tree, scale), *counted, placed.lengths, group_of, seeds)
    while done := row_groups.clump(k, r, lookahead, score == "increase", _BATCH, clumps):
        count_steps(done)
    ends = np.asarray(clumps.ends)
    became = np.full(len(rows.leaves), -1, np.int32)
    became[placed.order] = row_groups.assign(
        group_of, placed.offsets, placed.leaves, tree.parent, *counted, seeds, ends
    )
    of_row = np.full(len(rows.lengths), -1, np.int64)
    of_row[members] = group_of
    return became, by_first_row(of_row)


def _seeds(rows: LeafRows, k: int) -> tuple[Numbers, Numbers]:
    """Return the first row of each group, and the group of each row, -1 where it is undecided."""
    first = first_equal_rows(rows.leaves, rows.offsets)
    # At least k equal rows form a group.
    is_group = np.bincount(first, minlength=len(first))[first] >= k
    rest = np.flatnonzero(~is_group)
    seeds = np.sort(np.concatenate((np.unique(first[is_group]), rest[: len(rest) // k * k : k])))
    group_of = np.full(len(first), -1, np.int64)
    group_of[is_group] = np.searchsorted(seeds, first[is_group])
    group_of[seeds] = np.arange(len(seeds))
    return seeds, group_of


def _weights(tree: Hierarchy, scale: int) -> Numbers:
    """Return the saving by one more item below each node, times the scale."""
    # It is the difference to the leaves of the parent. At the root it is the saving compared with
    # suppression, which is 0 unless there is only one leaf.
    weights = tree.leaves[tree.parent].astype(np.int64) - tree.leaves
    weights[0] = scale - (tree.n_leaves - 1)
    return weights


RECORD = Algorithm(
    clump,
    (TransactionalK,),
    recodes="groups",
    decide=decide,
    unit="rows",
    repeats=True,
    ways=(Way(TransactionalK, 20, needs="hierarchy"),),
    bytes_per_row=940,
)
