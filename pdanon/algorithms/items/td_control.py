"""TDControl: generalize what is not sensitive, and suppress, until no sensitive item is inferred too surely.

Cao, Karras, Raïssi, Tan, "rho-uncertainty: Inference-Proof Transaction Anonymization", PVLDB 3(1), 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items._inferences import Scope, demand_of, guaranteed
from pdanon.algorithms.items.apriori import covering
from pdanon.algorithms.record import Algorithm, Way
from pdanon.algorithms.states.expansion import Expansion
from pdanon.guarantees import RhoUncertainty
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.calling import called_by_name
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.progress import Report
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.decided import Decided
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "td_control"]


@called_by_name
def td_control(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rho: float,
    sensitive: Iterable[Any],
    m: int | None = None,
    hierarchy: HierarchyLike,
    scope: Scope = "all",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Generalize and suppress items until nobody can infer a sensitive one with more than rho.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    rho : float
        Largest share, above 0 and below 1, of the rows with some items that may hold a sensitive one besides.
    sensitive : iterable
        The sensitive items. All items may be known, these as well.
    m : int, optional
        Most items that the attacker knows; at least 1. By default any number.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        The item taxonomy, or what ``Hierarchy.of`` makes one of; an int is the fan-out of a balanced one
        over the items in order. Sensitive items need not be in it: they are not generalized.
    scope : {"all", "sensitive"}
        What may be suppressed: nodes of the hierarchy and sensitive items, or sensitive items alone.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, of which nodes are suppressed, and so are sensitive
        items. ``guarantee`` has the number of known items up to which it is proven as ``m``, where that is
        not any number.

    Raises
    ------
    HierarchyError
        If the hierarchy is not a tree or lacks items of the data that are not sensitive.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be, or a sensitive item does not occur.

    Warns
    -----
    UselessWarning
        If all sensitive items are suppressed, of 20 rows or more.
    ReleaseWarning
        If no ``m`` is asked for, and it is proven for some number of known items.

    See Also
    --------
    suppress_control : Only suppresses; this one never loses more where both are proven as far.

    Notes
    -----
    Guarantee: ``RhoUncertainty(rho, sensitive, m)``, of published labels. It is proven for the cut that is
    released as :func:`suppress_control` proves it, by rules of all sizes.

    The cut begins at the root. A node is replaced by its children if that lowers the loss: NCP of each
    original occurrence, 1 where it is suppressed. What has to be suppressed for the children counts: rules
    with one of these are repaired as by :func:`suppress_control`; what was suppressed before stays so, but
    for the node. The node that saves most comes first (then: node order); what it saves is worked out anew
    when it is next. Where no node saves anything, what is suppressed is chosen anew for the cut, and the
    way down goes on if a node is worth it then. Released is the best cut at which this stopped, or what
    :func:`suppress_control` makes of the items if that loses no more. What is proven for more known items
    comes first, where searches ended early; then all sensitive items are suppressed if that loses less.

    Cost: that of :func:`suppress_control` for each stop; and for each node that is looked at, mostly once or
    twice, of listing the rules of the rows below it.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "rice"], ["flu", "rice"], ["rice"], ["rye"], ["rye"], ["rye"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> drinks = ["tea", "milk", "beer", "wine", "cider", "cocoa"]
    >>> tree = {"all": {"grain": ["rice", "rye"], "drink": drinks}}
    >>> result = df.txanon.td_control(rho=0.5, sensitive=["flu"], hierarchy=tree)
    >>> result.mapping
       group  item generalized  support
    0      0   flu         flu        2
    1      0  rice       grain        3
    2      0   rye       grain        3
    """
    return RECORD.released(
        frame,
        column,
        progress,
        keep=keep,
        rho=rho,
        sensitive=sensitive,
        m=m,
        hierarchy=hierarchy,
        scope=scope,
    )


def decide(
    columns: ListColumns,
    report: Report,
    *,
    rho: float,
    sensitive: Any,
    m: int | None,
    hierarchy: HierarchyLike,
    scope: Scope,
) -> Decided:
    """What becomes of the items, sensitive or not."""
    guarantee = RhoUncertainty(rho, sensitive, m)
    itemsets = columns.itemsets
    hidden = guarantee.is_sensitive(itemsets)
    tree, leaves, n_leaves = covering(hierarchy, itemsets.vocabulary, hidden)
    is_sensitive = np.zeros(tree.n_nodes, np.bool_)
    is_sensitive[leaves[hidden]] = True
    demand = demand_of(guarantee, itemsets, is_sensitive, scope)
    search = Expansion(SupportIndex.of(itemsets), tree, leaves, n_leaves, demand, report)
    found = search.uncut(), search.descended(), search.without_sensitive()
    best = min(found, key=lambda each: each.rank)
    recoding = Recoding.of_cut(best.nodes, tree, n_leaves=n_leaves)
    return Decided.of(columns, recoding, guaranteed(guarantee, best.m))


RECORD = Algorithm(
    td_control,
    (RhoUncertainty,),
    recodes="items",
    decide=decide,
    unit="steps",
    ways=(Way(RhoUncertainty, 20, needs="hierarchy"),),
)
