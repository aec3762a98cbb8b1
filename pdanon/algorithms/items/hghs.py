"""HgHs: generalize items to a cut of a hierarchy, and suppress of it what would be rare.

Liu, Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization", PAKDD 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import pandas as pd

from pdanon.algorithms.items._generalization import decide_nodes, hiding_emptied, of_occurrences
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.descent import Descent
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "hghs"]


@called_by_name
def hghs(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = None,
    hierarchy: HierarchyLike,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy and suppressing some of these nodes.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; None, the default here: all items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        The item taxonomy, or what ``Hierarchy.of`` makes one of; an int is the fan-out of a balanced one
        over the items in order.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy: no published node is below another. Nodes of the cut
        are published in all rows or in none.

    Raises
    ------
    InfeasibleError
        If fewer than k, but more than 0, rows hold an item or are not missing.
    HierarchyError
        If the hierarchy is not a tree or lacks items of the data.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. At each cut, nodes are kept one by one, those first that are most
    expensive to suppress, each unless a rare itemset of at most m nodes would be kept with it. To suppress
    a node changes no support of what is left.

    None or at least k rows lose all their items. Where they would be fewer, more nodes of the last cut are
    suppressed: those of a row together, of which the fewest occurrences go for each row that is emptied. The
    cuts before it are mended in the same way, and that which then costs least is taken (then: the coarsest).

    The search begins at the root and goes to the child cut of least cost, in which the children of one
    node replace it, as long as that costs less. The cost is LM, summed over all original occurrences;
    costs are compared as integers. A node with one child is taken for that child.

    Cost: at each cut that is looked at, the itemsets of at most m - 1 kept nodes that occur and that
    contain a node which is new there; memory of 20 bytes an occurrence. :func:`pdanon.mhghs` looks at
    fewer cuts.

    References
    ----------
    .. [1] J. Liu, K. Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization",
       PAKDD 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["ale", "pie"], ["gin", "pie"], ["pie"], ["gin", "pie", "soap"]]})
    >>> tree = {"all": {"drink": ["ale", "gin"], "food": ["pie"], "other": ["soap"]}}
    >>> frame, mapping = df.txanon.hghs(k=2, hierarchy=tree)
    >>> frame
                 items
    0  ['drink' 'pie']
    1  ['drink' 'pie']
    2          ['pie']
    3  ['drink' 'pie']
    >>> mapping
       group  item generalized  support
    0      0   ale       drink        1
    1      0   gin       drink        2
    2      0   pie         pie        4
    3      0  soap        <NA>        1
    """
    decision = partial(decide_nodes, nodes_of, k=k, m=m, hierarchy=hierarchy)
    return RECORD.release(frame, column, decision, keep=keep, progress=progress)


def nodes_of(
    index: SupportIndex, tree: Hierarchy, leaves: Codes, k: int, m: int | None, report: Report
) -> Codes:
    """The node of each item; -1 where it is suppressed."""
    path = [*Descent(index, tree, leaves, k=k, m=m).steps(report)]
    return hiding_emptied(path, index, tree, leaves, k)


RECORD = Algorithm(
    hghs,
    (KmAnonymity,),
    recodes="items",
    decide=partial(decide_nodes, nodes_of),
    nodes=partial(of_occurrences, nodes_of),
    ways=(Way(KmAnonymity, 90, needs="hierarchy"),),
)
