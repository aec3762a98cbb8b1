"""COAT: merge items within utility blocks, starting with the rarest item of an itemset, or suppress them.

Loukides, Gkoulalas-Divanis, Malin, "COAT: COnstraint-based Anonymization of Transactions", Knowledge and
Information Systems 28, 2011.
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
def coat(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: KmAnonymity | PrivacyConstraints | LmDiversity | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    utility: Any = None,
    max_suppressed: float = 0.0,
    weights: Mapping[Any, float] | pd.Series[float] | None = None,
    penalty: float = 1,
    refine: bool = False,
    random_state: int | np.random.Generator | None = None,
    start: Anonymized | pd.DataFrame | None = None,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize by merging items within given blocks, rarest first, with suppression only if allowed.

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
    utility : DataFrame, mapping or iterable of list-likes, optional
        A partition of the items: a frame with columns ``item`` and ``block``, a mapping from block to items,
        or one list of items per block. `pdanon.utility` builds such partitions. Only items of one block are
        merged. By default, all items are in one block. Items that do not occur are ignored.
    max_suppressed : float
        Upper bound on the share of suppressed items among the items that occur, in [0, 1]. A suppressed
        cluster counts with all its items.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1]; 1 for items not listed. Items of low importance are merged first,
        and ``loss["UL"]`` counts them less.
    penalty : float
        Cost of a suppressed item in ``loss["UL"]``, for each row that contains it; not negative. It does not
        change the release.
    refine : bool
        Lower the balanced loss afterwards, as `pdanon.refine` does: move items between the sets of a block.
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
        A global recoding. Merged items are published as ``(a,b)``. A suppressed item is in no row, and is NA
        in the mapping table. Rows that lose all their items remain as empty rows: none, or at least k.

    Raises
    ------
    InfeasibleError
        If some rows are not missing, but fewer than k; or if more items must be suppressed than
        ``max_suppressed`` allows. Items suppressed to hide emptied rows count as well. The message names the
        block by its label if labels are integers, else by its number. ``partial`` is the unfinished release:
        it satisfies the utility constraints, but its guarantee does not hold.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is invalid.

    See Also
    --------
    upcta : Chooses the merge with the least utility loss (UL), and suppresses less.
    pcta : Uses neither blocks nor suppression.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or
    ``LmDiversity(l, m, sensitive, k)``. Merging never lowers the support of an itemset. Suppression does not
    change the support of the remaining itemsets. The loop ends only when no protected itemset, as published,
    has a support in (0, k). An itemset whose items are all suppressed is safe. The blocks of the published
    sets and the number of suppressed items are recounted from the mapping table.

    Rare itemsets are satisfied in the order of `pcta`. One step takes the cluster of the itemset that is in
    the fewest rows (then: fewest items, then item order). It is merged with the cluster of its block that
    leads to the least utility loss, compared as in `pcta`. If its block has no other cluster, it is
    suppressed, even where other clusters of the itemset could still be merged.

    The definition in the paper also requires that the subsets of a constraint that no row contains are safe;
    see `pdanon.constraints.with_subsets`.

    **Secret ties.** The algorithm is public. An attacker can exclude originals by running it, so that a row
    has fewer than k candidates. With ``random_state``, ties are broken by a drawn order of the items. Such
    tables are then rarer, but not impossible. The loss may change in either direction. Keep the seed secret:
    reports and evidence leave it out.

    With sensitive items, the other items are then merged until no sensitive item can be inferred from up to m
    sets. A step merges two sets: those that end a breach first, then at the lowest NCP. A one-byte table of
    sets and distinct rows is needed, and such releases are not refined.

    Cost: 8 bytes of memory per occurrence and 24 bytes per row. Supports of pairs are counted when they are
    needed. Those that take long to count are kept, in at most 0.07 GB. If m is 3 or more: one bit per
    remaining set and distinct row, and lists of about 4 million rare itemsets. There are fewer steps than
    items. Each takes time linear in the rows of the two merged clusters and in the sets that share one.

    References
    ----------
    .. [1] G. Loukides, A. Gkoulalas-Divanis, B. Malin, "COAT: COnstraint-based Anonymization of
       Transactions", Knowledge and Information Systems 28, 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice", "tea"], ["milk", "tea"]]})
    >>> blocks = {"drink": ["milk", "tea"], "food": ["rice", "salt"]}
    >>> frame, mapping = df.txanon.coat(k=2, m=2, utility=blocks)
    >>> frame
                              items
    0  ['(milk,tea)' '(rice,salt)']
    1  ['(milk,tea)' '(rice,salt)']
    2  ['(milk,tea)' '(rice,salt)']
    3                ['(milk,tea)']
    >>> blocks = {"milk": ["milk"], "tea": ["tea"], "food": ["rice", "salt"]}
    >>> df.txanon.coat(k=2, m=2, utility=blocks, max_suppressed=0.25).mapping
       group  item  generalized  support
    0      0  milk         <NA>        1
    1      0  rice  (rice,salt)        2
    2      0  salt  (rice,salt)        1
    3      0   tea          tea        4
    """
    return RECORD.release(locals())


RECORD = Algorithm(
    coat,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    decide=partial(decide_within_blocks, True),
    by_pairs=True,
    sets=partial(merge_occurrences, least_first=True),
    options={"utility": None, "max_suppressed": 0.0, "weights": None},
    ways=(Way(KmAnonymity, 30), Way(PrivacyConstraints, 30)),
)
