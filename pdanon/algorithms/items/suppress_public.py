"""Suppress every public item: the baseline "RmAll" of coherence.

Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from pdanon.algorithms.items._suppression import check_coherent_without_public, decide_suppressed
from pdanon.algorithms.registry import Algorithm
from pdanon.guarantees import Coherence
from pdanon.guarantees.coherence import PublicAndPrivate
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.result import Anonymized


@called_by_name
def suppress_public(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    h: float,
    k: int,
    p: int,
    private: Any,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Suppress all public items: the baseline of coherence.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one besides the private column.
    h : float
        Upper bound, in [0, 1], on the share of the rows that contain a private item.
    k : int
        Minimum number of rows that match an attacker's knowledge; at least 2.
    p : int
        Maximum number of public items that the attacker knows; at least 1. It has no effect, because no
        public item is published.
    private : list of items, Series of bool, or str
        The private items; or a Series that marks each item as private; or the name of a second list column
        whose items are all private. All other items are public.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding that keeps only the private items, with their type. ``loss`` has ``S/N``, the share
        of suppressed occurrences among all occurrences, public and private.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows; or if a private item is in more than a share h of all rows.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid.

    See Also
    --------
    coherence : Suppresses only the public items that it must.

    Notes
    -----
    Guarantee: ``Coherence(h, k, p, private)``. Only the empty public itemset is left.

    Cost: memory and time linear in the size of the data.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt"]]})
    >>> result = df.txanon.suppress_public(h=0.5, k=2, p=2, private=["flu"])
    >>> result.frame
         items
    0  ['flu']
    1       []
    2       []
    >>> round(float(result.loss["S/N"]), 4)
    0.8571
    """
    return RECORD.release(locals())


def decide(columns: ListColumns, report: Report, *, h: float, k: int, p: int, private: Any) -> ListDecision:
    """Decide which items are suppressed: all public items."""
    guarantee = Coherence(h=h, k=k, p=p, private=private)
    parts = PublicAndPrivate.of(columns, guarantee.private)
    check_coherent_without_public(parts, guarantee)
    suppressed = ~parts.is_private
    report(int(suppressed.sum()))
    return decide_suppressed(parts, suppressed, guarantee)


RECORD = Algorithm(suppress_public, (Coherence,), decide=decide, unit="items", keeps_type=True)
