"""Suppress public items until every row has the same public items as k - 1 others.

The baseline of Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon._kernels import local_recoding
from pdanon.algorithms.items._suppression import decide_suppressed
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.guarantees import PublicK
from pdanon.guarantees.coherence import PublicAndPrivate
from pdanon.guarantees.named import named_items
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import check_rows
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.result import Anonymized


@called_by_name
def suppress_to_k(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    public: Any,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Suppress public items until each row has the same public items as k - 1 other rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    k : int
        Minimum number of rows with the same public items; at least 2.
    public : list of items, or Series of bool
        The public items; or a Series that marks each item as public. Other items are not suppressed, and are
        not part of the quasi-identifier.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding that keeps or suppresses each item. Items keep their type. ``loss`` has ``S/N``, the
        share of suppressed occurrences.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid, or a public item does not occur.

    See Also
    --------
    coherence : Assumes that the attacker knows at most p public items, and suppresses far less.

    Notes
    -----
    Guarantee: ``PublicK(k, public)``. The search is top-down. At first, all public items are suppressed, and
    all rows are one equivalence class. Then items are released one by one: the item with the most occurrences
    that leaves k rows in every class (then: item order). Classes only become smaller, so an item that does
    not fit never fits later. One pass by descending support therefore suffices.

    Cost: memory linear in the size of the data; time of one pass over it.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice"], ["salt"]]})
    >>> df.txanon.suppress_to_k(k=2, public=["rice", "salt", "tea"]).frame
               items
    0  ['flu' 'tea']
    1        ['tea']
    2             []
    3             []
    """
    return RECORD.release(locals())


def decide(columns: ListColumns, report: Report, *, k: int, public: Any) -> ListDecision:
    """Decide which items are suppressed."""
    guarantee = PublicK(k=k, public=public)
    is_public = named_items(columns.itemsets, guarantee.public)
    parts = PublicAndPrivate.within(columns, ~is_public)
    check_rows(parts.n_rows, guarantee.k)
    numbers = np.flatnonzero(~parts.is_private)
    # A stable sort: ties keep the item order.
    order = numbers[np.argsort(-parts.supports[numbers], kind="stable")]
    released = local_recoding.release_items(order, parts.index.rows, guarantee.k)
    report(len(numbers))
    return decide_suppressed(parts, ~parts.is_private & ~released, guarantee)


RECORD = Algorithm(
    suppress_to_k,
    (PublicK,),
    decide=decide,
    unit="items",
    keeps_type=True,
    ways=(Way(PublicK, 10),),
)
