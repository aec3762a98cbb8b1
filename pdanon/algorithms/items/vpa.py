"""Vertical partitioning: generalize items by a hierarchy, part by part, then across the parts.

Terrovitis, Mamoulis, Kalnis, "Local and global recoding methods for anonymizing set-valued data", The VLDB
Journal 20(1), 2011.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from heapq import heappop, heappush

import numpy as np
import pandas as pd

from pdanon.algorithms.items._generalization import decide_nodes
from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.states.cuts import CutTask, check_parts
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import rows_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.result import Anonymized


@called_by_name
def vpa(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
    parts: int,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, subtree by subtree, then across them.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    k : int
        Minimum number of rows that match an attacker's knowledge; at least 2.
    m : int or None
        Maximum number of items that the attacker knows. None: all items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Generalization hierarchy of the items, in any form that ``Hierarchy.of`` accepts. An int is the
        fan-out of a balanced hierarchy over the sorted items.
    parts : int
        Number of parts; at least 1. Each is a subtree of the hierarchy. The subtree with the most leaves is
        split into its children until there are enough. There can be more if a node has many children.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy: no published node is below another. Nothing is
        suppressed.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k; or if some rows are not missing, but fewer than k.
    HierarchyError
        If the hierarchy is not a tree, or lacks items of the data.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. The rows, reduced to the items of a part, are treated as in
    :func:`apriori` within the subtree of the part. A part is skipped if fewer than k rows contain its items.
    Then all rows are treated, starting from the cut of the parts. Only itemsets that span parts, or contain
    items of skipped parts, can still be rare.

    Cost: memory of 16 bytes per item of one part in a row and per ancestor of it, part by part. Then the same
    for the nodes that are not below the cut of the parts. That is less than :func:`apriori` needs.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", The VLDB Journal 20(1), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame(
    ...     {"items": [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]}
    ... )
    >>> df.txanon.vpa(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}, parts=2).frame
                  items
    0  ['A' 'b1' 'b2']
    1       ['A' 'b1']
    2  ['A' 'b1' 'b2']
    3       ['A' 'b2']
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns, report: Report, *, k: int, m: ItemLimit, hierarchy: HierarchyLike, parts: int
) -> ListDecision:
    """Decide the node of each item."""
    check_parts(parts)
    nodes = partial(nodes_of, parts=parts)
    return decide_nodes(nodes, columns, report, k=k, m=m, hierarchy=hierarchy)


def nodes_of(task: CutTask, parts: int) -> Codes:
    """Return the node of each item."""
    return task.protected_cut(_cut_by_parts(task, _subtrees(task.tree, parts))).nodes


def _subtrees(tree: Hierarchy, parts: int) -> list[int]:
    """Return the roots of the parts; the subtree with the most leaves (then: the first) is split."""
    widest = [(-tree.n_leaves, 0)]
    while len(widest) < parts and widest[0][0] < -1:
        _, node = heappop(widest)
        for child in tree.children(node).tolist():
            heappush(widest, (-int(tree.leaves[child]), child))
    return sorted(node for _, node in widest)


def _cut_by_parts(task: CutTask, roots: list[int]) -> Codes:
    """Return the node of each item; each subtree has a cut for its own items."""
    index, leaves = task.rows, task.leaves
    nodes = leaves.copy()
    part_of = np.searchsorted(roots, leaves, side="right") - 1
    rows = rows_of(index.offsets)
    for part, root in enumerate(roots):
        items = np.flatnonzero(part_of == part)
        inside = part_of[index.codes] == part
        codes = np.searchsorted(items, index.codes[inside]).astype(np.int32)
        offsets = np.searchsorted(rows[inside], np.arange(len(index.offsets)))
        projected = SupportIndex(codes, offsets, len(items), index.weights)
        if projected.n_non_empty >= task.k:
            own = task._replace(rows=projected, tree=_subtree(task.tree, root), leaves=leaves[items] - root)
            nodes[items] = own.protected_cut().nodes + root  # nodes are numbered in pre-order
    return nodes


def _subtree(tree: Hierarchy, root: int) -> Hierarchy:
    end = root + int(tree.size[root])
    parent = tree.parent[root:end] - root
    parent[0] = -1
    return Hierarchy(tree.names[root:end], parent)


RECORD = Algorithm(
    vpa,
    (KmAnonymity,),
    decide=decide,
    unit="generalizations",
    nodes=nodes_of,
    options={"parts": 2},
)
