"""Meaning of labels: how near the items of a label are in a hierarchy."""

from __future__ import annotations

import numpy as np

from pdanon.cards import Measures
from pdanon.errors import ParameterError
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.mapping import is_kept, mapping_labels, mapping_values
from pdanon.recoding.result import Anonymized

__all__ = ["levels"]


@called_by_name
def levels(result: Anonymized, hierarchy: HierarchyLike) -> Measures:
    """Measure on which levels of a hierarchy the labels of a release stay.

    Parameters
    ----------
    result : Anonymized
        A release by sets, nodes or deletions, of one list column.
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
    A label stands for all items that became it, in any row. Cost: the lines of the mapping times the height
    of the hierarchy.

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
    if not isinstance(result, Anonymized) or result.mapping.empty:
        hint = "pass the result of an algorithm for one list column"
        raise ParameterError("the result has no labels of items", where="result", hint=hint)
    mapping = result.mapping
    items = mapping_values(mapping, "item").dictionary_encode()
    tree, leaves = Hierarchy.over(hierarchy, items.dictionary)
    labels = number_texts(mapping_labels(mapping, items.type.value_type))
    reached = np.where(is_kept(mapping), tree.height, -1)  # the lowest level of each line
    changed = reached < 0
    lines = np.flatnonzero(changed & (labels >= 0))
    lines = lines[np.argsort(labels[lines], kind="stable")]
    paths = _paths(tree)[leaves[items.indices.to_numpy()[lines]]]
    starts = np.flatnonzero(np.diff(labels[lines], prepend=-1))
    if len(lines):
        least, most = (extreme.reduceat(paths, starts) for extreme in (np.minimum, np.maximum))
        shared = ((least == most) & (least >= 0)).sum(axis=1)
        reached[lines] = np.repeat(shared - 1, np.diff(starts, append=len(lines)))
    supports, every = mapping["support"].to_numpy(), np.arange(tree.height + 1)
    within = (reached[:, None] >= every) * supports[:, None]
    shares = [within[some].sum(axis=0) / max(supports[some].sum(), 1) for some in (slice(None), changed)]
    table = {"level": every, "occurrences": shares[0], "changed": shares[1] if changed.any() else np.nan}
    return Measures(table)


def _paths(tree: Hierarchy) -> Numbers:
    """Return the node above each node on each level, and the node itself on its own; -1 below it."""
    paths = np.full((tree.n_nodes, tree.height + 1), -1)
    for level in range(tree.height + 1):
        nodes = np.flatnonzero(tree.depth == level)
        paths[nodes] = paths[tree.parent[nodes]]
        paths[nodes, level] = nodes
    return paths
