"""UPCTA: merge items within utility blocks at least utility loss, or suppress them.

Gkoulalas-Divanis, Loukides, "Utility-guided Clustering-based Transaction Data Anonymization",
Transactions on Data Privacy 5, 2012.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from pdanon.algorithms.items._clustering import decide_within_blocks, merged
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.itemsets.arguments import called_by_name
from pdanon.recoding.labels import Labels
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "upcta"]


@called_by_name
def upcta(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = DEFAULT_M,
    constraints: Any = None,
    utility: Any = None,
    max_suppressed: float = 0.0,
    weights: Mapping[Any, float] | pd.Series[float] | None = None,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Merge items within given blocks, at least utility loss; suppress them only if that is allowed.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; None: all items of a row. Not given with
        ``constraints``.
    constraints : Series, iterable of list-likes, path or AllItemsets, optional
        Protect these itemsets only, instead of all itemsets of up to ``m`` items. A path is that of a
        ``.parquet`` file with one list column, or of a ``.csv`` file with an itemset a line and an item a
        field; `pdanon.constraints` makes lists of several kinds.
    utility : DataFrame, mapping or iterable of list-likes, optional
        A partition of the items: a frame with columns ``item`` and ``block``, lists of items by block, or one
        list of items a block; `pdanon.utility` makes some. Only items of one block are merged. By default
        all items are in one block. Items that do not occur are ignored.
    max_suppressed : float
        Largest share of the items that occur, in [0, 1], that may be suppressed. A suppressed cluster counts
        with all its items.
    weights : mapping or Series, optional
        Importance of items in [0, 1], 1 where not given: the lower, the sooner an item is merged.
    labels : {"set", "short", "first"} or callable
        What sets are called: ``(a,b)``, ``G017``, ``a +1``, or the text that a function makes of the list of
        their items. ``result.legend`` says which items they stand for.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding. Merged items are published as ``(a,b)``; a suppressed item is in no row, and NA
        in the mapping table. Rows that lose all items stay, empty: none or at least k.

    Raises
    ------
    InfeasibleError
        If fewer than k, but more than 0, rows are not missing; or if more items would have to be suppressed
        than ``max_suppressed`` allows, also to hide rows that lose all items. For a block, the message names
        it, by its label if labels are integers, else by its number; ``partial`` is the attempt up to there,
        which keeps the utility constraints, and whose guarantee does not hold.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is not what it should be.

    See Also
    --------
    coat : Deals with the rarest item of an itemset first; mostly less NCP, and more suppressed.
    pcta : Without blocks and without suppression.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, or ``PrivacyConstraints(constraints, k)``. Merging never lowers the
    support of an itemset, suppressing changes no support of what is left, and the loop ends only when no
    protected itemset has a support in (0, k), as it is then published: an itemset all of whose items are
    suppressed is safe. That every published item lies within one block, and how many items are suppressed,
    is counted again from the mapping table.

    The order in which rare itemsets are dealt with is that of `pcta`. The steps for one: make the merge of
    one of its clusters with another of the same block that leads to the least utility loss (compared as in
    `pcta`); where no block allows a merge, suppress of its clusters the one in the fewest rows (then: of
    fewest items, then in item order). With one block and nothing to suppress this is `pcta`.

    Cost: 4 bytes of memory for each two items, but no more than 0.5 GB: with more than 11,585 items, supports
    of pairs that are counted again quickly are given up in the meantime. With m of 3 and more, one bit for
    each set that is left and distinct row, and lists of some 4 million rare itemsets. Each of fewer than
    ``items`` steps takes time linear in the number of clusters and in the rows of the two that are merged.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice", "tea"], ["milk", "tea"]]})
    >>> blocks = {"drink": ["milk", "tea"], "food": ["rice", "salt"]}
    >>> frame, mapping = df.txanon.upcta(k=2, m=2, utility=blocks)
    >>> frame
                              items
    0  ['(milk,tea)' '(rice,salt)']
    1  ['(milk,tea)' '(rice,salt)']
    2  ['(milk,tea)' '(rice,salt)']
    3                ['(milk,tea)']
    >>> blocks = {"milk": ["milk"], "tea": ["tea"], "food": ["rice", "salt"]}
    >>> df.txanon.upcta(k=2, m=2, utility=blocks, max_suppressed=0.25).mapping
       group  item  generalized  support
    0      0  milk         <NA>        1
    1      0  rice  (rice,salt)        2
    2      0  salt  (rice,salt)        1
    3      0   tea          tea        4
    """
    decision = partial(
        decide_within_blocks,
        False,
        k=k,
        m=m,
        constraints=constraints,
        utility=utility,
        max_suppressed=max_suppressed,
        weights=weights,
    )
    return RECORD.release(frame, column, decision, labels=labels, keep=keep, progress=progress)


RECORD = Algorithm(
    upcta,
    (KmAnonymity, PrivacyConstraints),
    recodes="items",
    decide=partial(decide_within_blocks, False),
    sets=partial(merged, least_first=False),
    options={"utility": None, "max_suppressed": 0.0},
    ways=(
        # Without blocks it does what pcta does.
        Way(KmAnonymity, 20, needs="utility"),
        Way(PrivacyConstraints, 20, needs="utility"),
    ),
)
