"""Apriori anonymization: replace items by nodes of a hierarchy, for ever larger itemsets.

Terrovitis, Mamoulis, Kalnis, "Privacy-preserving Anonymization of Set-valued Data", PVLDB 1(1), 2008.
"""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd

from pdanon.cuts import Cut
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets import Itemsets, find_column
from pdanon.parameters import check_feasible
from pdanon.progress import progress_bar
from pdanon.recoding import Recoding, release
from pdanon.result import Anonymized
from pdanon.support import SupportIndex

__all__ = ["apriori"]


def apriori(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = 2,
    hierarchy: HierarchyLike,
    progress: bool = False,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, itemset size by itemset size.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; None: all items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        The item taxonomy, or what ``Hierarchy.of`` makes one of; an int is the fan-out of a balanced one
        over the items in order.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy: no published node is below another. Nothing is
        suppressed.

    Raises
    ------
    InfeasibleError
        If fewer than k, but more than 0, rows hold an item.
    HierarchyError
        If the hierarchy is not a tree or lacks items of the data.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. Sizes are treated in ascending order. When size i is reached, all
    smaller itemsets that occur have support k, and raising the cut never lowers a support; the loop ends
    when no rare itemset is listed any more, and the root, the last resort, is in every non-empty row.

    A rare itemset is generalized to the combination of ancestors with support of at least k that adds the
    least NCP over all occurrences, those of siblings that have to follow included (then: fewer affected
    leaves, then the order of the nodes). Up to three items all combinations are looked at; beyond, one
    step at a time, up where it is cheapest and back down where it can. Itemsets are met in the order of
    the hierarchy.

    Cost: memory of 12 bytes for each pair of nodes that are in a row together; time of counting those
    pairs, and for m > 2 of listing the rare itemsets of the generalized rows.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving Anonymization of Set-valued Data",
       PVLDB 1(1), 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame(
    ...     {"items": [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]}
    ... )
    >>> frame, mapping = df.txanon.apriori(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> frame
                  items
    0  ['A' 'b1' 'b2']
    1       ['A' 'b1']
    2  ['A' 'b1' 'b2']
    3       ['A' 'b2']
    """
    guarantee = KmAnonymity(k, m)
    position = find_column(frame, column)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    index = SupportIndex.of(itemsets)
    check_feasible(index, k)
    texts = itemsets.texts()
    tree, leaves = Hierarchy.of(hierarchy, texts).cover(texts)
    cut = Cut(index, tree, leaves)
    with progress_bar(progress, "apriori", "generalizations") as report:
        cut.protect(k, m, report)
    asked = {"algorithm": "apriori", "k": k, "m": m, "hierarchy": hierarchy}
    return release(frame, position, itemsets, Recoding.of_cut(cut.nodes, tree), guarantee, asked)
