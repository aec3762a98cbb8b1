"""Direct anonymization: generalize items to nodes of a hierarchy, for itemsets of all sizes in one scan.

Terrovitis, Mamoulis, Kalnis, "Privacy-preserving Anonymization of Set-valued Data", PVLDB 1(1), 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pdanon.algorithms.items._generalization import decide_nodes
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import CutTask
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import ItemsetTable, SupportIndex
from pdanon.recoding.result import Anonymized


@called_by_name
def direct(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, for itemsets of all sizes in one scan.

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
    Guarantee: ``KmAnonymity(k, m)``. The minimal rare itemsets of all sizes up to m are listed. Each that is
    still rare under the current cut is generalized to the combination of ancestors that adds the least NCP,
    as in :func:`apriori`. The rare itemsets of the generalized rows are listed again, until none is left.
    With ``m=None``, rare rows are listed.

    Itemsets are treated in pre-order, as in a prefix tree of the items in the order of the hierarchy.

    Cost: 4 bytes per item and 16 bytes per itemset of the list of minimal rare itemsets of the original rows.
    If m > 2, this list can be many times larger than the data. In addition, 12 bytes per pair of nodes that
    share a row. :func:`apriori` needs less, because it lists the itemsets of generalized rows.

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
    >>> df.txanon.direct(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}).frame
                  items
    0  ['A' 'b1' 'b2']
    1       ['A' 'b1']
    2  ['A' 'b1' 'b2']
    3       ['A' 'b2']
    """
    return RECORD.release(locals())


def nodes_of(task: CutTask) -> Codes:
    """Return the node of each item."""
    cut = task.cut()
    while len(threats := _rare_in_preorder(cut.index(), task.k, task.m)):
        task.report(cut.satisfy(threats, task.k))
    return cut.nodes


def _rare_in_preorder(index: SupportIndex, k: int, m: int | None) -> ItemsetTable:
    """List minimal rare itemsets of all sizes up to m, or rare rows, in the order of a prefix tree."""
    threats = index.rare(k, m)
    sizes = threats.lengths
    # Padding with -1 sorts a prefix before its extensions.
    padded = np.full((len(threats), int(sizes.max(initial=1))), -1, np.int32)
    padded[np.arange(padded.shape[1]) < sizes[:, None]] = threats.codes
    return threats.take(np.lexsort(padded.T[::-1]))


RECORD = Algorithm(
    direct,
    (KmAnonymity,),
    decide=partial(decide_nodes, nodes_of),
    nodes=nodes_of,
    unit="generalizations",
    ways=(Way(KmAnonymity, 60, needs="hierarchy"),),
)
