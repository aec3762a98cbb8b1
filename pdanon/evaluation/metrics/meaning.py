"""Meaning of labels: how near the items of a label are in a hierarchy."""

from __future__ import annotations

from pdanon.errors import ParameterError
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures
from pdanon.recoding.meaning import level_shares
from pdanon.recoding.result import Labelled

__all__ = ["levels"]


@called_by_name
def levels(result: Labelled, hierarchy: HierarchyLike) -> Measures:
    """Measure on which levels of a hierarchy the labels of a release stay.

    Parameters
    ----------
    result : Anonymized
        A release, also of files or partitions, by sets, nodes or deletions, of one list column.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Any hierarchy of the items, in any form that ``Hierarchy.of`` accepts.

    Returns
    -------
    pandas.DataFrame
        A line per level, from 0, the root: ``level, occurrences, changed``. They are the shares of all
        occurrences, and of the changed ones (missing if there are none), whose label stands for items of one
        node of this level, or of lower ones. A kept item is on each level, a deleted one on none.

    Raises
    ------
    ParameterError, HierarchyError
        If the result has no labels of items, or the hierarchy is not a tree, or lacks items of the data.

    Notes
    -----
    A label stands for all items that became it, in any row. Cost: lines of the mapping times levels.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"codes": [["I10"], ["I10"], ["M05"], ["T31"], ["M06"], ["T30"]]})
    >>> tree = pdanon.Hierarchy.prefixes(df["codes"].explode(), lengths=(1,))
    >>> result = df.txanon.local_suppression(k=2, m=1, hierarchy=tree)
    >>> pdanon.metrics.meaning.levels(result, tree)
       level  occurrences  changed
    0      0     1.000000      1.0
    1      1     1.000000      1.0
    2      2     0.333333      0.0
    """
    if not isinstance(result, Labelled) or result.mapping.empty:
        hint = "pass the result of an algorithm for one list column"
        raise ParameterError("the result has no labels of items", where="result", hint=hint)
    return Measures(level_shares(result.mapping, hierarchy))
