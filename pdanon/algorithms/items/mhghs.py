"""mHgHs: HgHs in rounds, for ever larger itemsets over an ever smaller hierarchy.

Liu, Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization", PAKDD 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import count

import pandas as pd

from pdanon.algorithms.items._generalization import decide_nodes, hiding_emptied, of_occurrences
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.descent import Descent, Scenario
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "mhghs", "paths"]


@called_by_name
def mhghs(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = None,
    hierarchy: HierarchyLike,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize by generalization and suppression, in rounds for ever larger itemsets.

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
        Show a progress bar for each round.

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
    Guarantee: ``KmAnonymity(k, m)``. Round i is :func:`pdanon.hghs` for itemsets of at most i items, over
    the hierarchy without what is below the cut of the round before; the last round alone gives the
    guarantee. Each round starts at the root and decides anew what is suppressed. Rounds end early when no
    row holds more than i nodes of that hierarchy: further ones would change nothing. None or at least k rows
    lose all their items, as with :func:`pdanon.hghs`, by the cuts of the last round.

    Cost: as :func:`pdanon.hghs`, but large itemsets are only looked at in the few cuts that are left. The
    loss may be higher or lower, as early rounds decide without regard to larger itemsets.

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
    decision = partial(decide_nodes, nodes_of, k=k, m=m, hierarchy=hierarchy)
    return RECORD.release(frame, column, decision, keep=keep, progress=progress)


def nodes_of(
    index: SupportIndex, tree: Hierarchy, leaves: Codes, k: int, m: int | None, report: Report
) -> Codes:
    """The node of each item; -1 where it is suppressed."""
    *_, path = paths(index, tree, leaves, k, m, report)
    return hiding_emptied(path, index, tree, leaves, k)


def paths(
    index: SupportIndex, tree: Hierarchy, leaves: Codes, k: int, m: int | None, report: Report
) -> Iterator[list[Scenario]]:
    """Give the scenarios of each round, each of less cost than the one before."""
    floor = None
    for size in count(1):
        descent = Descent(index, tree, leaves, k=k, m=size, floor=floor)
        path = [*descent.steps(report)]
        yield path
        if size == m or size >= descent.longest:
            return
        floor = path[-1].cut


RECORD = Algorithm(
    mhghs,
    (KmAnonymity,),
    recodes="items",
    decide=partial(decide_nodes, nodes_of),
    nodes=partial(of_occurrences, nodes_of),
    ways=(Way(KmAnonymity, 70, needs="hierarchy"),),
)
