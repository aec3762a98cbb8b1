"""Local recoding: generalize items by a hierarchy, separately in each part of similar rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from pdanon.algorithms.items._generalization import cut_task
from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.states.cuts import CutTask, check_parts
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, canonical_rows, find_items
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import (
    ItemsetTable,
    SupportIndex,
    by_support,
    concatenate,
    gray_ranks,
    ranks_of,
    support_ranks,
)
from pdanon.itemsets.timing import Report
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
    keep: Sequence[Hashable] = (),
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
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

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
    return RECORD.release(locals())


def decide(
    columns: ListColumns, report: Report, *, k: int, m: ItemLimit, hierarchy: HierarchyLike, parts: int
) -> ListDecision:
    """Decide the node of each item in each part of the rows."""
    guarantee = KmAnonymity(k, m)
    check_parts(parts)
    task = cut_task(columns.itemsets, hierarchy, guarantee.k, guarantee.m, report)
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
    lengths = index.lengths
    part_of = np.repeat(part_of_row, lengths)
    nodes = np.empty(len(index.codes), np.int32)
    for part in range(int(part_of_row.max(initial=-1)) + 1):
        inside = part_of == part
        items, codes = np.unique(index.codes[inside], return_inverse=True)
        offsets = offsets_of(lengths[part_of_row == part])
        rows = SupportIndex(codes.astype(np.int32), offsets, len(items), index.weights[part_of_row == part])
        nodes[inside] = task._replace(rows=rows, leaves=task.leaves[items]).protected_cut().nodes[codes]
    return nodes


def _nodes(task: CutTask, parts: int) -> Codes:
    """Return the node of each occurrence."""
    return _cut_by_parts(task, divide_rows(task.rows, parts, task.k))


RECORD = Algorithm(
    lra,
    (KmAnonymity,),
    recodes="rows",
    decide=decide,
    unit="generalizations",
    nodes=_nodes,
    options={"parts": 2},
)
