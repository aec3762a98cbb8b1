"""SuppressControl: suppress items until no sensitive item can be inferred with confidence above rho.

Cao, Karras, Raïssi, Tan, "rho-uncertainty: Inference-Proof Transaction Anonymization", PVLDB 3(1), 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import pandas as pd

from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.sensitive_rules import Scope, demand_of, least_suppression, with_proven_size
from pdanon.guarantees import RhoUncertainty
from pdanon.guarantees.parameters import ItemLimit
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized


@called_by_name
def suppress_control(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rho: float,
    sensitive: Iterable[Any],
    m: ItemLimit = None,
    scope: Scope = "all",
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Suppress items until no sensitive item can be inferred with confidence above rho.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    rho : float
        Upper bound, above 0 and below 1, on the share of the rows with some items that contain another,
        sensitive item.
    sensitive : iterable
        The sensitive items. The attacker may know any items, including these.
    m : int, optional
        Maximum number of items that the attacker knows; at least 1. By default, any number.
    scope : {"all", "sensitive"}
        Items that may be suppressed: all items, or only sensitive ones.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding that keeps or suppresses each item. Items keep their type. If the guarantee is
        proven only for a limited number of known items, ``guarantee`` has it as ``m``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, or a sensitive item does not occur.

    Warns
    -----
    UselessWarning
        If all sensitive items are suppressed in a table of at least 20 rows.
    ReleaseWarning
        If no ``m`` is passed, and the guarantee is proven only for a limited number of known items.

    See Also
    --------
    td_control : Generalizes other items as well.
    coherence : Protects identity as well, if the attacker knows public items only.

    Notes
    -----
    Guarantee: ``RhoUncertainty(rho, sensitive, m)``. A rule leads from known items to a sensitive item. It is
    a breach if more than a share rho of the rows with the known items contain the sensitive item. Suppression
    does not change the support of the remaining itemsets, so the confidence of no rule rises. Suppressing any
    of its items removes a rule. A release always exists: without sensitive items there is no rule.

    Rules of the remaining items are listed by the number of known items, from 0 on. For each number, the item
    with the most rules per occurrence is suppressed, repeatedly (then: more rules, items that are not
    sensitive, item order). When no rule is left, items are restored if other suppressed items already remove
    their rules, those with the most occurrences first. If a rule was not listed before, one of its restored
    items is suppressed again. With ``scope="all"``, both scopes are tried, and the one with the lower loss is
    released.

    Beyond two known items, rules are listed only while the rows with a sensitive item have few itemsets of
    that size. Then the search of the audit decides whether a rule of any size is a breach.

    Cost: memory of 40 bytes per occurrence and 4 per item of each rule. Time to visit the pairs of items of
    each row with a sensitive item, and time of the search of the audit.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "rice", "tea"], ["flu", "tea"], ["tea"], ["oil", "tea"], ["oil"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.suppress_control(rho=0.5, sensitive=["flu"])
    >>> result.frame
               items
    0  ['flu' 'tea']
    1  ['flu' 'tea']
    2        ['tea']
    3  ['oil' 'tea']
    4        ['oil']
    >>> float(result.loss["suppressed"])
    0.1111111111111111
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns, report: Report, *, rho: float, sensitive: Any, m: ItemLimit, scope: Scope
) -> ListDecision:
    """Decide which items are suppressed."""
    guarantee = RhoUncertainty(rho=rho, sensitive=sensitive, m=m)
    itemsets = columns.itemsets
    rows = SupportIndex.of(itemsets)
    demand = demand_of(guarantee, itemsets, guarantee.is_sensitive(itemsets), scope)
    found = least_suppression(rows, demand, rows.singles, report)
    return decide_lists(
        columns, Recoding.of_suppressed(~found.kept, itemsets), with_proven_size(guarantee, found.m)
    )


RECORD = Algorithm(
    suppress_control,
    (RhoUncertainty,),
    decide=decide,
    unit="lists",
    keeps_type=True,
    ways=(Way(RhoUncertainty, 10),),
)
