"""Apriori anonymization: generalize items to nodes of a hierarchy, for itemsets of increasing size.

Terrovitis, Mamoulis, Kalnis, "Privacy-preserving Anonymization of Set-valued Data", PVLDB 1(1), 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.items._starting import StartCut
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import Cut, CutTask
from pdanon.algorithms.states.diverse_sets import check_diverse
from pdanon.guarantees import KmAnonymity, LmDiversity
from pdanon.guarantees.breaches import split_rows
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit, check_k
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, item_texts
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import check_feasible
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized


@called_by_name
def apriori(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: KmAnonymity | LmDiversity | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    hierarchy: HierarchyLike,
    start: Anonymized | pd.DataFrame | None = None,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, by increasing itemset size.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    guarantee : KmAnonymity or LmDiversity, optional
        The guarantee. The sensitive items of ``LmDiversity`` are published as they are, and the attacker
        knows none of them.
    k, m : int, optional
        Short for ``KmAnonymity(k, m)``: at least k rows match up to m known items. ``m=None``: all items of a
        row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Generalization hierarchy of the items, in any form that ``Hierarchy.of`` accepts. An int is the
        fan-out of a balanced hierarchy over the sorted items. It may lack sensitive items.
    start : Anonymized or DataFrame, optional
        An earlier release of the same persons, or its mapping. Its nodes may be raised, and are never split.
        New items must be in the hierarchy. It excludes sensitive items.
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
        If some rows contain an item that is not sensitive, but fewer than k; or if a sensitive item is too
        frequent. It must be in at most 1/l of the rows that are not missing, and of the rows with other
        items.
    HierarchyError
        If the hierarchy is not a tree, or lacks items of the data that are not sensitive.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid, or ``start`` has another hierarchy, a stronger guarantee or
        suppressed items.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, or with sensitive items ``LmDiversity(l, m, sensitive, k)``. Sizes are
    treated in ascending order. When size i is reached, all smaller itemsets that occur have support k.
    Raising the cut never lowers a support. The loop ends when no rare itemset is left. The last resort is the
    root, which is in every non-empty row.

    With ``start``, the cut is raised from the nodes of the earlier release. A row that holds sets of nodes
    there holds the same or higher ones here. So rows that are only added expose nobody.

    A rare itemset is generalized to a combination of ancestors with support of at least k. The combination
    that adds the least NCP over all occurrences is chosen, including the siblings that are generalized with
    them (then: fewer affected leaves, then node order). For up to three items, all combinations are compared.
    For more items, the search raises the cheapest node step by step, then lowers nodes where that is
    possible. Itemsets are treated in the order of the hierarchy.

    With sensitive items, the itemsets from which a sensitive item can be inferred are listed next. They are
    generalized in the same way, to a combination of ancestors from which it cannot. Raising the cut can make
    other itemsets unsafe, so listing repeats until none is left. The root is safe, or there is no release.

    Cost: memory of 16 bytes per item of a row and per ancestor of it. Time to count the pairs of each node of
    the cut in its rows and, if m > 2, to list the rare itemsets of the generalized rows.

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
    return RECORD.release(locals())


def decide(
    columns: ListColumns,
    report: Report,
    *,
    guarantee: KmAnonymity | LmDiversity,
    hierarchy: HierarchyLike,
    start: Any = None,
) -> ListDecision:
    """Decide the node of each item; sensitive items are published as they are."""
    k, itemsets = check_k(guarantee.k), columns.itemsets
    hidden, diversity = np.zeros(itemsets.n_items, np.bool_), 0
    if isinstance(guarantee, LmDiversity):
        hidden, diversity = guarantee.is_sensitive(itemsets), guarantee.l
    known, secrets = split_rows(itemsets, hidden)
    check_feasible(known, k, itemsets.n_present)
    if diversity:
        check_diverse(known, secrets, diversity, itemsets.n_present)
    tree, leaves, n_leaves = find_leaves(hierarchy, itemsets.vocabulary, hidden)
    started = StartCut.of(start, itemsets, guarantee, tree, leaves, drop=False)
    cut = Cut(known, tree, leaves, started.nodes, secrets=secrets if diversity else None, diversity=diversity)
    cut.protect(k, guarantee.m, report)
    recoding = Recoding.of_cut(np.where(hidden, leaves, cut.nodes), tree, n_leaves=n_leaves)
    return decide_lists(columns, recoding, guarantee, started.parameters)


def find_leaves(hierarchy: HierarchyLike, items: pa.Array, hidden: Mask) -> tuple[Hierarchy, Codes, int]:
    """Return the leaf of each item in a hierarchy that contains at least the known items.

    Returns
    -------
    tree : Hierarchy
        The hierarchy. Sensitive items that it lacks are added as leaves below the root.
    leaves : ndarray of int32, shape (items,)
        The leaf of each item.
    n_leaves : int
        Number of leaves without the added ones.
    """
    known = items.filter(pa.array(~hidden))
    grouped = known if len(known) else items  # a balanced hierarchy needs at least one item
    tree, _ = Hierarchy.of(hierarchy, item_texts(grouped).to_pylist()).cover_items(known)
    return *replace(tree, missing="root").cover_items(items), tree.n_leaves


def _nodes(task: CutTask) -> Codes:
    """Return the node of each item; none is sensitive."""
    return task.protected_cut().nodes


RECORD = Algorithm(
    apriori,
    (KmAnonymity, LmDiversity),
    decide=decide,
    unit="generalizations",
    nodes=_nodes,
    ways=(Way(KmAnonymity, 50, needs="hierarchy"), Way(LmDiversity, 10, needs="hierarchy")),
)
