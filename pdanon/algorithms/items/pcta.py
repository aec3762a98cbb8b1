"""PCTA: merge items into clusters until every privacy constraint is satisfied.

Gkoulalas-Divanis, Loukides, "Utility-guided Clustering-based Transaction Data Anonymization",
Transactions on Data Privacy 5, 2012.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items._clustering import decide_within_blocks, merge_occurrences
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.itemsets.arguments import called_by_name
from pdanon.recoding.labels import Labels
from pdanon.recoding.result import Anonymized


@called_by_name
def pcta(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: KmAnonymity | PrivacyConstraints | LmDiversity | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    weights: Mapping[Any, float] | pd.Series[float] | None = None,
    refine: bool = False,
    random_state: int | np.random.Generator | None = None,
    start: Anonymized | pd.DataFrame | None = None,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize by merging items into sets at the least utility loss, without a hierarchy.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    guarantee : KmAnonymity, PrivacyConstraints or LmDiversity, optional
        The guarantee. ``PrivacyConstraints`` protect only listed itemsets, see `pdanon.constraints`. The
        sensitive items of ``LmDiversity`` are published as they are, and the attacker knows none of them.
    k, m : int, optional
        Short for ``KmAnonymity(k, m)``: at least k rows match up to m known items. ``m=None``: all items of a
        row.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1]; 1 for items not listed. Items of low importance are merged first,
        and ``loss["UL"]`` counts them less.
    refine : bool
        Lower the balanced loss afterwards, as `pdanon.refine` does: move items between the sets.
        With ``start``, the sets of the earlier release move as a whole.
    random_state : int, Generator or None
        Seed or generator of a secret order of the items, by which ties are broken. By default they are broken
        by the order of the items, which an attacker knows. See the notes.
    start : Anonymized or DataFrame, optional
        An earlier release of the same persons, or its mapping. Its sets may grow, and are never split. A new
        item joins a set of several items, the one that loses least by it.
    labels : {"set", "short", "first"} or callable
        Labels of the sets: ``(a,b)``, ``G017``, ``a +1``, or the text that a function returns for the list of
        their items. ``result.legend`` lists the items of each set.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding. Merged items are published as ``(a,b)``; nothing is suppressed.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k; or if some rows are not missing, but fewer than k.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or
    ``LmDiversity(l, m, sensitive, k)``. Merging never lowers the support of an itemset. The loop ends only
    when no protected itemset has a support in (0, k). The last resort is one cluster of all items, which is
    in every non-empty row.

    Rare clusters and rare pairs of clusters are merged first. Each step takes the one with the largest
    support below k (then: clusters before pairs, then item order). Larger itemsets, or the given constraints,
    follow: the rare ones are listed and satisfied by descending current support (then: in list order).
    Listing repeats until no rare itemset is left.

    The utility loss of a merge is ``(2**size - 1) * weight * support``. Each rare itemset is satisfied by the
    merges that lose least, compared as exact integers (then: smaller union, then item order). The weight of a
    cluster is the largest weight of its members.

    **Secret ties.** The algorithm is public. An attacker can exclude originals by running it, so that a row
    has fewer than k candidates. With ``random_state``, ties are broken by a drawn order of the items. Such
    tables are then rarer, but not impossible. The loss may change in either direction. Keep the seed secret:
    reports and evidence leave it out.

    With sensitive items, the other items are then merged until no sensitive item can be inferred from up to m
    sets. A step merges two sets: those that end a breach first, then at the lowest NCP. A one-byte table of
    sets and distinct rows is needed, and such releases are not refined.

    Cost: 8 bytes of memory per occurrence and 24 bytes per row. Supports of pairs are counted when they are
    needed. Those that take long to count are kept, in at most 0.07 GB. If m is 3 or more: one bit per
    remaining set and distinct row, and lists of about 4 million rare itemsets. There are fewer merges than
    items. Each takes time linear in the rows of the two merged clusters and in the sets that share one.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> frame, mapping = df.txanon.pcta(k=2, m=2)
    >>> frame
                       items
    0  ['(rice,salt)' 'tea']
    1        ['(rice,salt)']
    2  ['(rice,salt)' 'tea']
    3                ['tea']
    >>> mapping
       group  item  generalized  support
    0      0  rice  (rice,salt)        3
    1      0  salt  (rice,salt)        1
    2      0   tea          tea        3
    """
    return RECORD.release(locals())


RECORD = Algorithm(
    pcta,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    decide=partial(decide_within_blocks, False, one_set=True),
    unit="merges",
    by_pairs=True,
    sets=partial(merge_occurrences, least_first=False),
    options={"weights": None},
    ways=(Way(KmAnonymity, 10), Way(PrivacyConstraints, 10)),
)
