"""Generalize items to nodes of one cut of a hierarchy: by itemset size, in one scan, or part by part."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.items._generalization import decide_nodes
from pdanon.algorithms.items._starting import StartCut
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import Cut, CutTask
from pdanon.algorithms.states.rules import check_diverse
from pdanon.guarantees import KmAnonymity, LmDiversity
from pdanon.guarantees.breaches import split_rows
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit, check_k
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, item_texts
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import check_feasible
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

# --- Apriori: itemsets of increasing size


@called_by_name
def apriori(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: KmAnonymity | LmDiversity | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    hierarchy: HierarchyLike,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, by increasing itemset size.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    guarantee : KmAnonymity or LmDiversity, optional
        The guarantee. The sensitive items of ``LmDiversity`` are published as they are, and the attacker
        knows none of them.
    k, m : int, optional
        Short for ``KmAnonymity(k, m)``: at least k rows match up to m known items; None: all items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Generalization hierarchy of the items, in any form that ``Hierarchy.of`` accepts. An int is the
        fan-out of a balanced hierarchy over the sorted items. It may lack sensitive items.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy: no published node is below another. None is suppressed.

    Raises
    ------
    InfeasibleError
        If some rows contain an item that is not sensitive, but fewer than k; or if a sensitive item is in
        more than 1/l of the rows that are not missing, or of the rows with other items.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, or with sensitive items ``LmDiversity(l, m, sensitive, k)``. Sizes are
    treated in ascending order, until no rare itemset is left; the last resort is the root.

    A rare itemset, in the order of the hierarchy, is generalized to the combination of ancestors in at least
    k rows that adds the least NCP over all occurrences, siblings included (then: fewer affected leaves, then
    node order). Up to three items, all combinations are compared. Beyond, the cheapest node is raised step by
    step, then nodes are lowered where possible. Itemsets that reveal a sensitive item follow in the same way,
    and are listed again until there is none.

    Cost: memory of 16 bytes per item of a row and per ancestor of it. Time to count the pairs of each node of
    the cut in its rows and, if m > 2, to list the rare itemsets of the generalized rows.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving Anonymization of Set-valued Data",
       PVLDB 1(1), 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> frame, mapping = df.txanon.apriori(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> frame
                  items
    0  ['A' 'b1' 'b2']
    1       ['A' 'b1']
    2  ['A' 'b1' 'b2']
    3       ['A' 'b2']
    """
    return APRIORI.release(locals())


def decide(
    columns: ListColumns, *, guarantee: KmAnonymity | LmDiversity, hierarchy: HierarchyLike, start: Any = None
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
    cut.protect(k, guarantee.m)
    recoding = Recoding.of_cut(np.where(hidden, leaves, cut.nodes), tree, n_leaves=n_leaves)
    return decide_lists(columns, recoding, guarantee, started.parameters)


def find_leaves(hierarchy: HierarchyLike, items: pa.Array, hidden: Mask) -> tuple[Hierarchy, Codes, int]:
    """Return the leaf of each item in a hierarchy that contains at least the known items."""
    # Returns tree: the hierarchy. Sensitive items that it lacks are added as leaves below the root. Returns
    # leaves: the leaf of each item. Returns n_leaves: number of leaves without the added ones.
    known = items.filter(pa.array(~hidden))
    grouped = known if len(known) else items  # a balanced hierarchy needs at least one item
    tree, _ = Hierarchy.of(hierarchy, item_texts(grouped).to_pylist()).cover_items(known)
    return *replace(tree, missing="root").cover_items(items), tree.n_leaves


def _nodes(task: CutTask) -> Codes:
    """Return the node of each item; none is sensitive."""
    return task.protected_cut().nodes


APRIORI = Algorithm(
    apriori,
    (KmAnonymity, LmDiversity),
    decide=decide,
    unit="generalizations",
    nodes=_nodes,
    starts=True,
    ways=(Way(KmAnonymity, 50, needs="hierarchy"), Way(LmDiversity, 10, needs="hierarchy")),
)


# --- Direct: itemsets of all sizes in one scan


@called_by_name
def direct(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, for itemsets of all sizes in one scan.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, hierarchy : int, int or None, Hierarchy or what describes one
        As in `apriori`.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, as by `apriori`.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k; or if some rows are not missing, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. The minimal rare itemsets of all sizes up to m (``m=None``: rare rows)
    are listed in pre-order, as in a prefix tree. Each that is still rare is generalized as in
    :func:`apriori`. The list is repeated on the generalized rows until it is empty.

    Cost: 4 bytes per item and 16 bytes per itemset of the first list, which can be many times larger than the
    data if m > 2, and 12 bytes per pair of nodes that share a row. :func:`apriori` needs less.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving Anonymization of Set-valued Data",
       PVLDB 1(1), 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1", "b1"], ["a2", "b1"], ["a2", "b1"]]})
    >>> df.txanon.direct(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}).frame
              items
    0  ['A' 'b1']
    1  ['A' 'b1']
    2  ['A' 'b1']
    """
    return DIRECT.release(locals())


def _nodes_in_one_scan(task: CutTask) -> Codes:
    """Return the node of each item."""
    cut = task.cut()
    while len(threats := cut.index().rare(task.k, task.m)):  # of all sizes up to m, or rare rows
        sizes = threats.lengths
        # In the order of a prefix tree: padding with -1 sorts a prefix before its extensions.
        padded = np.full((len(threats), int(sizes.max(initial=1))), -1, np.int32)
        padded[np.arange(padded.shape[1]) < sizes[:, None]] = threats.codes
        threats = threats.take(np.lexsort(padded.T[::-1]))
        count_steps(cut.satisfy(threats, task.k))
    return cut.nodes


DIRECT = Algorithm(
    direct,
    (KmAnonymity,),
    decide=partial(decide_nodes, _nodes_in_one_scan),
    nodes=_nodes_in_one_scan,
    unit="generalizations",
    ways=(Way(KmAnonymity, 60, needs="hierarchy"),),
)


# --- Vertical partitioning: part by part, then across the parts


@called_by_name
def vpa(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
    parts: int,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy, subtree by subtree, then across them.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, hierarchy : int, int or None, Hierarchy or what describes one
        As in `apriori`.
    parts : int
        Number of parts; at least 1. Each is a subtree of the hierarchy. The subtree with the most leaves is
        split into its children until there are enough. There can be more if a node has many children.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, as by `apriori`.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `direct`.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. The rows, reduced to the items of a part, are treated as in
    :func:`apriori` within the subtree of the part, unless fewer than k rows contain its items. Then all rows
    are treated, from the cut of the parts.

    Cost: memory of 16 bytes per item of one part in a row and per ancestor of it, part by part, then the same
    for the nodes that are not below the cut of the parts. That is less than :func:`apriori` needs.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", The VLDB Journal 20(1), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1", "b1"], ["a2", "b1"], ["a2", "b1"]]})
    >>> df.txanon.vpa(k=2, m=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}, parts=2).frame
              items
    0  ['A' 'b1']
    1  ['A' 'b1']
    2  ['A' 'b1']
    """
    return VPA.release(locals())


def decide_by_parts(
    columns: ListColumns, *, guarantee: KmAnonymity, hierarchy: HierarchyLike, parts: int
) -> ListDecision:
    """Decide the node of each item."""
    check_count(parts, "parts", least=1)
    nodes = partial(nodes_by_parts, parts=parts)
    return decide_nodes(nodes, columns, guarantee=guarantee, hierarchy=hierarchy)


def nodes_by_parts(task: CutTask, parts: int) -> Codes:
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
    for part, root in enumerate(roots):
        items = part_of == part
        projected = index.select(items)
        if projected.n_non_empty >= task.k:
            below = slice(root, root + int(task.tree.size[root]))
            parents = task.tree.parent[below] - root
            parents[0] = -1
            subtree = Hierarchy(task.tree.names[below], parents)
            own = task._replace(rows=projected, tree=subtree, leaves=leaves[items] - root)
            nodes[items] = own.protected_cut().nodes + root  # nodes are numbered in pre-order
    return nodes


VPA = Algorithm(
    vpa,
    (KmAnonymity,),
    decide=decide_by_parts,
    unit="generalizations",
    nodes=nodes_by_parts,
    options={"parts": 2},
)
