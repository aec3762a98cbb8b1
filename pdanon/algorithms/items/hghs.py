"""HgHs and mHgHs: generalize items to a cut of a hierarchy, and suppress nodes that make itemsets rare."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from itertools import count
from typing import Literal

import pandas as pd

from pdanon.algorithms.items._generalization import (
    choose_scenario,
    decide_priced_nodes,
)
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import BASES, CutTask, Descent, NodePrices, Scenario
from pdanon.algorithms.weights import WeightsLike
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.recoding.result import Anonymized

# --- HgHs: for itemsets of all sizes


@called_by_name
def hghs(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = None,
    hierarchy: HierarchyLike,
    loss: Literal["LM", "NCP"] = "LM",
    weights: WeightsLike | None = None,
) -> Anonymized:
    """Anonymize by generalizing items to nodes of a hierarchy and suppressing some nodes.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m : int, int or None
        At least k rows match any m items that an attacker knows; None, the default: all items. k is at least
        2.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Hierarchy of the items, as for ``Hierarchy.of``; an int is the fan-out of a balanced one.
    loss : {"LM", "NCP"}
        The loss to lower, as `information_loss` defines them: with LM, a node just above two leaves costs
        less than with NCP.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1]; 1 for items not listed. An occurrence costs its loss times the
        importance of its item.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, with nodes that are suppressed in all rows.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k; or if some rows are not missing, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. For each cut, nodes are considered by descending cost of suppression,
    and kept unless a rare itemset of at most m kept nodes would contain them. None or at least k rows lose
    all their items: otherwise more nodes of the last cut are suppressed, the nodes of a row together, with
    the fewest occurrences lost per emptied row. The earlier cuts are repaired in the same way, and the
    cheapest one is released (then: the coarsest).

    The search begins at the root. A child cut has the children of one node in its place. The search moves to
    the cheapest child cut, as long as the cost falls: ``loss`` times importance, in steps of 1/65535, summed
    over all original occurrences as an integer; a suppressed one costs 1. A node with one child is replaced
    by it.

    Cost: for each cut, time to visit the itemsets of at most m - 1 kept nodes that contain a new node. Memory
    of 20 bytes per occurrence. :func:`pdanon.mhghs` visits fewer cuts.

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
    """
    return HGHS.release(locals())


def nodes_of(task: CutTask, loss: str = "LM", weights: Numbers | None = None) -> Codes:
    """Return the node of each item, -1 where it is suppressed."""
    prices = NodePrices.of(task.tree, BASES[loss], weights)
    return choose_scenario([*Descent(task, prices).steps()], task, prices)


HGHS = Algorithm(
    hghs,
    (KmAnonymity,),
    decide=partial(decide_priced_nodes, nodes_of),
    nodes=nodes_of,
    starts=True,
    ways=(Way(KmAnonymity, 90, needs="hierarchy"),),
)


# --- mHgHs: in rounds, for itemsets of increasing size over a shrinking hierarchy


@called_by_name
def mhghs(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = None,
    hierarchy: HierarchyLike,
    loss: Literal["LM", "NCP"] = "LM",
    weights: WeightsLike | None = None,
) -> Anonymized:
    """Anonymize by generalization and suppression, in rounds of increasing itemset size.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, hierarchy, loss, weights : int, int or None, Hierarchy or what describes one, str, mapping
        As in `hghs`.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, with nodes that are suppressed in all rows.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `hghs`.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. The last round alone gives it. Round i runs :func:`pdanon.hghs` for
    itemsets of at most i items, from the root, in a hierarchy that ends at the cut of the previous round.
    Rounds end early when no row contains more than i nodes of the hierarchy. None or at least k rows lose all
    their items, by the cuts of the last round.

    Cost: that of :func:`pdanon.hghs`, but large itemsets are only visited in the few remaining cuts. The loss
    may be higher or lower, because early rounds ignore larger itemsets.

    References
    ----------
    .. [1] J. Liu, K. Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization",
       PAKDD 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["ale", "pie"], ["gin", "pie"], ["pie"], ["gin", "pie", "soap"]]})
    >>> tree = {"all": {"drink": ["ale", "gin"], "food": ["pie"], "other": ["soap"]}}
    >>> frame, mapping = df.txanon.mhghs(k=2, m=3, hierarchy=tree)
    >>> frame
                 items
    0  ['drink' 'pie']
    1  ['drink' 'pie']
    2          ['pie']
    3  ['drink' 'pie']
    """
    return MHGHS.release(locals())


def nodes_in_rounds(task: CutTask, loss: str = "LM", weights: Numbers | None = None) -> Codes:
    """Return the node of each item, -1 where it is suppressed."""
    prices = NodePrices.of(task.tree, BASES[loss], weights)
    *_, path = paths(task, prices)
    return choose_scenario(path, task, prices)


def paths(task: CutTask, prices: NodePrices | None = None) -> Iterator[list[Scenario]]:
    """Yield the scenarios of each round, by descending cost; losses are those of the whole hierarchy."""
    floor = task.floor
    for size in count(1):
        descent = Descent(task._replace(m=size), prices, floor)
        path = [*descent.steps()]
        yield path
        if size == task.m or size >= descent.longest:
            return
        floor = path[-1].cut


MHGHS = Algorithm(
    mhghs,
    (KmAnonymity,),
    decide=partial(decide_priced_nodes, nodes_in_rounds),
    nodes=nodes_in_rounds,
    ways=(Way(KmAnonymity, 70, needs="hierarchy"),),
)
