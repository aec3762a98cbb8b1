"""Local recoding by nodes of a hierarchy: in parts of similar rows, or in groups of at least k equal rows."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import numpy as np
import pandas as pd

from pdanon._kernels import local_recoding
from pdanon.algorithms.items._generalization import cut_task, decide_groups
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import CutTask, LeafRows, ancestors, by_first_row, silent_rows
from pdanon.guarantees import KmAnonymity, TransactionalK
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, canonical_rows, find_items
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import (
    ItemsetTable,
    SupportIndex,
    by_support,
    concatenate,
    gray_ranks,
    ranks_of,
    support_ranks,
)
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized


@called_by_name
def lra(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
    parts: int,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, separately in each part of similar rows.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, hierarchy : int, int or None, Hierarchy or what describes one
        As in `apriori`.
    parts : int
        Number of parts of the rows; at least 1. There are fewer if a part would have fewer than k rows.

    Returns
    -------
    Anonymized
        A local recoding: each part is published at its own cut. An item can be published as it is in one row
        and as an inner node in another. ``groups`` has the part of each row. Nothing is suppressed.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `direct`.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. Each part is treated as in :func:`apriori`, and the release is audited
    as a whole. The rows are sorted by the Gray code of their items, most frequent items first, and cut into
    parts of about equal numbers of non-empty rows. Equal rows stay together.

    Cost: memory of 16 bytes per item of a row and per ancestor of it, and time of :func:`apriori`, part by
    part.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", The VLDB Journal 20(1), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1", "b1"], ["a2", "b1"], ["a1", "b2"], ["a1", "b2"]]})
    >>> result = df.txanon.lra(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}, parts=2)
    >>> result.frame
              items
    0   ['A' 'b1']
    1   ['A' 'b1']
    2  ['a1' 'b2']
    3  ['a1' 'b2']
    >>> result.groups.tolist()
    [0, 0, 1, 1]
    """
    return LRA.release(locals())


def decide(
    columns: ListColumns, *, guarantee: KmAnonymity, hierarchy: HierarchyLike, parts: int
) -> ListDecision:
    """Decide the node of each item in each part of the rows."""
    check_count(parts, "parts", least=1)
    task = cut_task(columns.itemsets, hierarchy, guarantee.k, guarantee.m)
    part_of_row = divide_rows(task.rows, parts, task.k)
    nodes = _cut_by_parts(task, part_of_row)
    return decide_lists(columns, Recoding.of_cut(nodes, task.tree, part_of_row), guarantee)


def divide_rows(index: SupportIndex, parts: int, k: int) -> Codes:
    """Divide rows into parts of similar size, with at least k non-empty rows and all equal rows each."""
    ranks = gray_ranks(index)
    counted = np.where(index.lengths > 0, index.weights, 0)
    filled = np.bincount(ranks, counted, minlength=len(ranks)).astype(np.int64)
    total = index.n_non_empty
    shares = max(min(parts, total // k), 1)  # k rows for each part
    share_of_rank = np.minimum((np.cumsum(filled) - filled) * shares // max(total, 1), shares - 1)
    part_of_share = np.zeros(shares, np.int32)
    part = n_filled = 0
    for share, size in enumerate(np.bincount(share_of_rank, filled, minlength=shares).tolist()):
        part_of_share[share] = part
        n_filled += size
        if n_filled >= k:
            part, n_filled = part + 1, 0
    # A rest of fewer than k rows joins the last part.
    part_of_share = np.minimum(part_of_share, max(part - 1, 0))
    return part_of_share[share_of_rank[ranks]]


class Parts:
    """The parts of rows, to find the part of equal rows later."""

    def __init__(self, itemsets: Itemsets, parts: Codes) -> None:
        index = SupportIndex.of(itemsets)
        order = np.argsort(gray_ranks(index), kind="stable")
        first = order[np.flatnonzero(np.diff(parts[order], prepend=-1))]
        self._parts = parts[first]
        self.items = itemsets.vocabulary
        self._ranks = support_ranks(index)
        self._first = ItemsetTable(by_support(index), index.offsets, index.weights).take(first)

    def of(self, itemsets: Itemsets) -> Codes:
        """Return the part of each row; the rows contain only items of the parts."""
        known = find_items(itemsets.vocabulary, self.items)
        n_items = len(self._ranks)
        codes, _ = canonical_rows(self._ranks[known][itemsets.codes], itemsets.offsets, n_items)
        rows = ItemsetTable(codes, itemsets.offsets, np.ones(itemsets.n_rows, np.int64))
        joint = concatenate([self._first, rows])
        ranks = ranks_of(joint.codes, joint.offsets, n_items)
        starts, ranks = np.split(ranks, [len(self._first)])
        return self._parts[np.searchsorted(starts, ranks, side="right") - 1]


def _cut_by_parts(task: CutTask, part_of_row: Codes) -> Codes:
    """Return the node of each occurrence, by the cut of the part of its row."""
    index = task.rows
    part_of = np.repeat(part_of_row, index.lengths)
    nodes = np.empty(len(index.codes), np.int32)
    for part in range(int(part_of_row.max(initial=-1)) + 1):
        rows = index.within(part_of_row == part)
        items = np.flatnonzero(rows.singles)
        own = rows.select(items)
        cut = task._replace(rows=own, leaves=task.leaves[items]).protected_cut()
        nodes[part_of == part] = cut.nodes[own.codes]
    return nodes


def _nodes(task: CutTask, parts: int) -> Codes:
    """Return the node of each occurrence."""
    return _cut_by_parts(task, divide_rows(task.rows, parts, task.k))


LRA = Algorithm(
    lra,
    (KmAnonymity,),
    recodes="rows",
    decide=decide,
    unit="generalizations",
    nodes=_nodes,
    options={"parts": 2},
)


# --- Partition


@called_by_name
def partition(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    hierarchy: HierarchyLike,
) -> Anonymized:
    """Anonymize by splitting the rows into groups with equal lists, node by node.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, hierarchy : int, Hierarchy or what describes one
        As in `clump`.

    Returns
    -------
    Anonymized
        A local recoding: each group of rows, in ``groups``, is published at its own cut.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `clump`.

    Notes
    -----
    Guarantee: ``TransactionalK(k)``. The rows of a group have equal lists at all times. At first, all items
    are published as the root. A group is split by the children of the node with the largest decrease of NCP
    (then: the first in the hierarchy). If fewer than k rows have the same children, they stay as they are; if
    these together are fewer than k, other rows join them, those with the least decrease (then: the first).

    Missing rows become empty if there are empty rows. If these are fewer than k, the shortest rows (then: the
    first) are suppressed until there are k; if fewer than k other rows would remain, all are. Nothing else is
    suppressed.

    Cost: memory of 40 bytes per occurrence and 60 bytes per row. Time grows with the rows and with the number
    of nodes that are tried per group.

    References
    ----------
    .. [1] Y. He, J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization",
       PVLDB 2(1), 2009.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1"], ["a1", "a2"], ["b1", "b2"], ["b1", "b2"]]})
    >>> result = df.txanon.partition(k=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> result.frame
               items
    0          ['A']
    1          ['A']
    2  ['b1' 'b2']
    3  ['b1' 'b2']
    """
    return PARTITION.release(locals())


def nodes_of(task: CutTask) -> tuple[Codes, Codes]:
    """Return the node of each occurrence, -1 where it is suppressed, and the group of each row."""
    index, tree, leaves, k, *_ = task
    rows = LeafRows.of(index.codes, index.offsets, leaves)
    silent = silent_rows(rows.lengths, k)
    # A leaf loses nothing.
    weight = np.where(tree.leaves == 1, 0, tree.leaves).astype(np.int64)
    nodes = np.zeros(len(rows.leaves), np.int32)
    search = local_recoding.Parts(
        k,
        np.flatnonzero(~silent),
        *(rows.offsets, rows.leaves, nodes),
        *(weight, tree.depth, ancestors(tree), tree.size),
    )
    parts = search.split()
    count_steps(int(parts.max(initial=-1)) + 1)
    became = np.empty_like(nodes)
    became[rows.order] = np.where(np.repeat(silent, rows.lengths), -1, ~nodes)
    return became, by_first_row(parts)


PARTITION = Algorithm(
    partition,
    (TransactionalK,),
    recodes="groups",
    decide=partial(decide_groups, nodes_of),
    unit="groups",
    ways=(Way(TransactionalK, 10, needs="hierarchy"),),
    bytes_per_row=980,
)
