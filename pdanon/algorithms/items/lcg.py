"""The least common generalization of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.states.cuts import LeafRows, node_counts
from pdanon.errors import ParameterError
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets, Numbers
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.validation import read_list


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
