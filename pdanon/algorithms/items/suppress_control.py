"""SuppressControl: suppress items until no sensitive one can be inferred too surely.

Cao, Karras, Raïssi, Tan, "rho-uncertainty: Inference-Proof Transaction Anonymization", PVLDB 3(1), 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.sensitive_rules import Scope, demand_of, guaranteed, least_suppression
from pdanon.guarantees import RhoUncertainty
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "suppress_control"]


@called_by_name
def suppress_control(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rho: float,
    sensitive: Iterable[Any],
    m: int | None = None,
    scope: Scope = "all",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Suppress items until nobody can infer a sensitive one with more than rho.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    rho : float
        Largest share, above 0 and below 1, of the rows with some items that may hold a sensitive one besides.
    sensitive : iterable
        The sensitive items. All items may be known, these as well.
    m : int, optional
        Maximum number of items that the attacker knows; at least 1. By default, any number.
    scope : {"all", "sensitive"}
        What may be suppressed: any items, or sensitive ones alone.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding that keeps an item or suppresses it; items keep their type. ``guarantee`` has the
        number of known items up to which it is proven as ``m``, where that is not any number.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, or a sensitive item does not occur.

    Warns
    -----
    UselessWarning
        If all sensitive items are suppressed, of 20 rows or more.
    ReleaseWarning
        If no ``m`` is asked for, and it is proven for some number of known items.

    See Also
    --------
    td_control : Generalizes other items as well.
    coherence : Protects rows, too, against who knows no private item.

    Notes
    -----
    Guarantee: ``RhoUncertainty(rho, sensitive, m)``. A rule leads from known items to a sensitive one; it is
    too sure if more than a share rho of the rows with the known items have it. The support of an itemset that
    survives never changes, so no rule becomes surer, and a rule ends with any of its items. There is always a
    release: with no sensitive item there is no rule.

    Rules are listed by the number of known items, from 0 on, of the items that are left. Of the rules of a
    number, the item with the most rules for the occurrences that it has goes, again and again (then: more
    rules; items that are not sensitive; item order). When no rule is left, items that no rule needs to be
    gone, as others of it are, come back, those with most occurrences first; of rules that were not listed
    before, one of these goes again. With ``scope="all"`` both scopes are tried, and that which loses less
    is released.

    Beyond two known items, rules are listed while the rows with a sensitive item have few sets of so many
    items. Then the search of the audit tells whether there is a rule of any size that is too sure.

    Cost: memory of 40 bytes an occurrence and 4 for each item of each rule; time of visiting, for each row
    with a sensitive item, the pairs of its items, and of the search of the audit.

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
    decision = partial(decide, rho=rho, sensitive=sensitive, m=m, scope=scope)
    return RECORD.release(frame, column, decision, keep=keep, progress=progress)


def decide(
    columns: ListColumns, report: Report, *, rho: float, sensitive: Any, m: int | None, scope: Scope
) -> Decision[ListRows]:
    """Which items are suppressed."""
    guarantee = RhoUncertainty(rho=rho, sensitive=sensitive, m=m)
    itemsets = columns.itemsets
    rows = SupportIndex.of(itemsets)
    demand = demand_of(guarantee, itemsets, guarantee.is_sensitive(itemsets), scope)
    found = least_suppression(rows, demand, rows.singles, report)
    return decide_lists(
        columns, Recoding.of_suppressed(~found.kept, itemsets), guaranteed(guarantee, found.m)
    )


RECORD = Algorithm(
    suppress_control,
    (RhoUncertainty,),
    recodes="items",
    decide=decide,
    unit="lists",
    keeps_type=True,
    ways=(Way(RhoUncertainty, 10),),
)
