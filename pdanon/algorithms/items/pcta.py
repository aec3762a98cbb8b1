"""PCTA, UPCTA and COAT: merge items into clusters until every privacy constraint is satisfied."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items._starting import Model, Start, clusters_of
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.clusters import Clusters, ItemOrder
from pdanon.algorithms.states.rules import DiverseSets, check_diverse
from pdanon.algorithms.states.sets_search import Refinement, check_refinable
from pdanon.algorithms.weights import WeightsLike, importance, item_weights
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.parameters import (
    DEFAULT_M,
    ItemLimit,
    check_k,
    check_share,
    constraint_table,
    least_share,
)
from pdanon.guarantees.utility import check_release, item_blocks, partition
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, canonical_rows
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import ItemsetTable, SupportIndex, check_feasible, check_rows
from pdanon.itemsets.validation import Seed, check_flag
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

# --- Steps of all three


def merge_items(
    itemsets: Itemsets,
    guarantee: Model,
    *,
    first: Codes,
    weights: Numbers | None = None,
    blocks: Numbers | None = None,
    **options: Any,
) -> tuple[Codes, InfeasibleError | None]:
    """Merge and suppress items until they satisfy a guarantee, from the sets of an earlier release on."""
    # ``first`` is the first item of the set of each item there; ``options`` are those of `Clusters`.
    # Returns labels: the set of each item, -1 if it is suppressed. Returns problem: the reason why the
    # guarantee is not reached with ``spare`` suppressed items.
    if isinstance(guarantee, LmDiversity):
        return _merge_known(itemsets, guarantee, weights, blocks, options)
    clusters = clusters_of(SupportIndex.of(itemsets), first, weights, blocks, **options)
    try:
        if isinstance(guarantee, KmAnonymity):
            clusters.satisfy_km(guarantee.k, guarantee.m)
        else:
            listed = constraint_table(guarantee.constraints, itemsets)
            images = canonical_rows(first[listed.codes], listed.offsets, itemsets.n_items)
            clusters.satisfy(ItemsetTable.listed(*images), guarantee.k)
    except InfeasibleError as problem:
        return clusters.labels[first], problem
    return clusters.labels[first], None


def _merge_known(
    itemsets: Itemsets,
    guarantee: LmDiversity,
    weights: Numbers | None,
    blocks: Numbers | None,
    options: Any,
) -> tuple[Codes, InfeasibleError | None]:
    """Merge the known items until none of the sensitive items, each a set of its own, can be inferred."""
    hidden = guarantee.is_sensitive(itemsets)
    k, diversity = check_k(guarantee.k), min(guarantee.l, itemsets.n_rows + 1)
    rows = SupportIndex.of(itemsets).distinct()
    known, secrets = rows.keep_items(~hidden), rows.keep_items(hidden)
    check_feasible(known, k, itemsets.n_present)
    check_diverse(known, secrets, diversity, itemsets.n_present)
    items = np.flatnonzero(~hidden).astype(np.int32)
    kinds = np.zeros(itemsets.n_items, np.int64) if blocks is None else blocks
    clusters = Clusters(
        known.select(items), None if weights is None else weights[items], kinds[items], **options
    )
    labels = np.arange(itemsets.n_items, dtype=np.int32)
    try:
        clusters.satisfy_km(k, guarantee.m)
        merged = np.where(hidden, np.int32(-1), labels)
        merged[items] = np.where(clusters.labels < 0, -1, items[clusters.labels])
        spare = options.get("spare", 0) - int(np.count_nonzero(clusters.labels < 0))
        sets = DiverseSets(known, secrets, merged, kinds, diversity, itemsets.n_items, spare)
        sets.protect(k, guarantee.m)
        return np.where(hidden, labels, sets.labels), None
    except InfeasibleError as problem:
        labels[items] = np.where(clusters.labels < 0, -1, items[clusters.labels])
        return labels, problem


def decide_within_blocks(
    least_first: bool,
    columns: ListColumns,
    *,
    guarantee: Model,
    weights: Any,
    refine: bool,
    start: Any = None,
    random_state: Any = None,
    utility: Any = None,
    max_suppressed: float = 0,
    one_set: bool = False,
) -> ListDecision:
    """Decide as COAT, which merges the least frequent item first (``least_first``), or as UPCTA."""
    # With ``one_set``, decide as PCTA: in the worst case all items become one set.
    itemsets = columns.itemsets
    share = check_share(max_suppressed, "max_suppressed")
    blocks = None if utility is None else partition(utility)
    if check_flag(refine, "refine"):
        check_refinable(guarantee)
    started = Start.of(start, itemsets, guarantee)
    order = ItemOrder.draw(itemsets, random_state)
    if one_set:
        check_feasible(SupportIndex.of(itemsets), check_k(guarantee.k), itemsets.n_present)
    allowed = int(share * itemsets.n_items)  # a fraction: rounded down exactly
    steps, block_of = item_weights(weights, order.itemsets), item_blocks(blocks, order.itemsets.vocabulary)
    options: Any = {"weights": steps, "blocks": block_of, "spare": allowed, "least_first": least_first}
    first = started.first(order, block_of)
    labels, problem = merge_items(order.itemsets, guarantee, first=first, **options)
    if problem is None:
        try:
            n_rows = SupportIndex.of(itemsets).n_rows if (labels < 0).any() else itemsets.n_present
            check_rows(n_rows, check_k(guarantee.k))
        except InfeasibleError as error:
            problem = error
    trace = None
    if refine and problem is None:
        labels, trace = refine_sets(order.itemsets, labels, guarantee, block_of, started.kept(order))
    recoding = Recoding.of_clusters(order.restore(labels), itemsets)
    valued = importance(weights, itemsets)
    read = started.parameters if one_set else {**started.parameters, "utility": blocks}
    decided = decide_lists(columns, recoding, guarantee, read, trace=trace, problem=problem, weights=valued)
    if problem is not None or one_set:
        return decided
    suppressed = int((decided.rows.recoding.targets < 0).sum())
    if decided.rows.recoding is not recoding and suppressed > allowed:
        problem = InfeasibleError(
            "hiding fewer than k rows that lose all items takes more suppression than max_suppressed allows",
            where="max_suppressed",
            got=f"max_suppressed={float(share):g} allows {allowed} items; {suppressed} are required",
            hint=f"pass max_suppressed={least_share(suppressed, itemsets.n_items):g}",
        )
        return decide_lists(columns, recoding, guarantee, read, problem=problem, weights=valued)
    check_release(decided.mapping, blocks, allowed)
    return decided


def refine_sets(
    itemsets: Itemsets,
    labels: Codes,
    guarantee: Guarantee,
    block_of: Numbers | None = None,
    kept: Codes | None = None,
) -> tuple[Codes, pd.DataFrame]:
    """Lower the balanced loss as `pdanon.refine` does; return the set of each item, and the trace."""
    # ``kept`` is the first item of the set of each item in an earlier release, whose sets are not split.
    search = Refinement(itemsets, labels, guarantee, block_of, "balanced", first=kept)
    search.descend()
    return search.best.astype(np.int32), search.trace


def merge_occurrences(
    index: SupportIndex,
    blocks: Numbers,
    spare: int,
    k: int,
    m: int | None,
    *,
    least_first: bool,
    weights: Numbers | None = None,
) -> Codes:
    """Return the set of each occurrence, -1 where it is suppressed."""
    state = Clusters(index, weights, blocks, spare=spare, least_first=least_first)
    state.satisfy_km(k, m)
    return state.labels[index.codes]


# --- PCTA: at the least utility loss


@called_by_name
def pcta(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: Model | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    weights: WeightsLike | None = None,
    refine: bool = False,
    random_state: Seed = None,
) -> Anonymized:
    """Anonymize by merging items into sets at the least utility loss, without a hierarchy.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    guarantee : KmAnonymity, PrivacyConstraints or LmDiversity, optional
        ``PrivacyConstraints`` protect listed itemsets. ``LmDiversity`` publishes sensitive items as they are.
    k, m : int, optional
        Short for ``KmAnonymity(k, m)``: at least k rows match up to m known items; None: all items of a row.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1], by default 1: low ones are merged first, and count less in UL.
    refine : bool
        Lower the balanced loss afterwards, as `pdanon.refine` does: move items between the sets.
    random_state : int, Generator or None
        Seed or generator of a secret order of the items, which breaks ties; see the notes.

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
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or ``LmDiversity(l, m,
    sensitive, k)``. The loop ends only when no protected itemset has a support in (0, k); the page of the
    algorithm has the proof.

    Rare clusters and rare pairs of clusters are merged first: the largest support below k, then clusters
    before pairs, then item order. Larger itemsets, or the given constraints, follow: they are listed and
    satisfied by descending current support (then: in list order), until none is rare. Each takes the merges
    that add least utility loss, ``(2**size - 1) * weight * support``, compared as exact integers (then:
    smaller union, then item order). The weight of a cluster is the largest of its members.

    **Secret ties.** With ``random_state``, ties are broken by a drawn order of the items, so that an attacker
    who runs the public algorithm can rarely exclude originals: see the page of limits. Keep the seed secret.

    With sensitive items, the other items are then merged until no sensitive item can be inferred from up to m
    sets: sets that end a breach first, then at the lowest NCP. A one-byte table of sets and distinct rows is
    needed, and such releases are not refined.

    Cost: 8 bytes of memory per occurrence, 24 bytes per row, and at most 0.07 GB for supports of pairs. If m
    is 3 or more: one bit per remaining set and distinct row, and lists of about 4 million rare itemsets.
    There are fewer steps than items, each linear in the rows of the two merged clusters and in the sets that
    share one.

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
    """
    return PCTA.release(locals())


PCTA = Algorithm(
    pcta,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    decide=partial(decide_within_blocks, False, one_set=True),
    unit="merges",
    by_pairs=True,
    sets=partial(merge_occurrences, least_first=False),
    options={"weights": None},
    starts=True,
    ways=(Way(KmAnonymity, 10), Way(PrivacyConstraints, 10)),
)


# --- UPCTA: within utility blocks, with suppression


@called_by_name
def upcta(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: Model | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    utility: Any = None,
    max_suppressed: float = 0.0,
    weights: WeightsLike | None = None,
    refine: bool = False,
) -> Anonymized:
    """Anonymize by merging items within given blocks at the least utility loss, with suppression if allowed.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    guarantee, k, m : KmAnonymity, PrivacyConstraints or LmDiversity, int, int
        As in `pcta`.
    utility : DataFrame, mapping or iterable of list-likes, optional
        A partition of the items: a frame with columns ``item`` and ``block``, a mapping from block to items,
        or one list of items per block. `pdanon.utility` builds such partitions. Only items of one block are
        merged. By default, all items are in one block. Items that do not occur are ignored.
    max_suppressed : float
        Upper bound on the share of suppressed items among the items that occur, in [0, 1]. A suppressed
        cluster counts with all its items.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1], by default 1: low ones are merged first, and count less in UL.
    refine : bool
        As in `pcta`; items move between the sets of a block.

    Returns
    -------
    Anonymized
        A global recoding. Merged items are published as ``(a,b)``. A suppressed item is in no row, and is NA
        in the mapping table. Rows that lose all their items remain as empty rows: none, or at least k.

    Raises
    ------
    InfeasibleError
        If some rows are not missing, but fewer than k; or if more items must be suppressed than
        ``max_suppressed`` allows, also to hide emptied rows. The message names the block by its integer
        label, or else its number. ``partial`` is the unfinished release: its guarantee does not hold.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or ``LmDiversity(l, m,
    sensitive, k)``. The loop ends only when no protected itemset, as published, has a support in (0, k); one
    whose items are all suppressed is safe. The blocks of the sets and the number of suppressed items are
    recounted from the mapping.

    Rare itemsets are satisfied in the order of `pcta`. One step merges a cluster of the itemset with another
    of the same block, at the least utility loss, compared as in `pcta`. If no block allows a merge, the
    cluster of the itemset in the fewest rows is suppressed (then: fewest items, then item order). With one
    block and no suppression, this is `pcta`.

    Sensitive items are treated as in `pcta`. Cost: as of `pcta`.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice", "tea"], ["milk", "tea"]]})
    >>> blocks = {"milk": ["milk"], "tea": ["tea"], "food": ["rice", "salt"]}
    >>> df.txanon.upcta(k=2, m=2, utility=blocks, max_suppressed=0.25).mapping
       group  item  generalized  support
    0      0  milk         <NA>        1
    1      0  rice  (rice,salt)        2
    2      0  salt  (rice,salt)        1
    3      0   tea          tea        4
    """
    return UPCTA.release(locals())


UPCTA = Algorithm(
    upcta,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    decide=partial(decide_within_blocks, False),
    by_pairs=True,
    sets=partial(merge_occurrences, least_first=False),
    options={"utility": None, "max_suppressed": 0.0, "weights": None},
    starts=True,
    ways=(
        # Without blocks, upcta equals pcta.
        Way(KmAnonymity, 20, needs="utility"),
        Way(PrivacyConstraints, 20, needs="utility"),
    ),
)


# --- COAT: the least frequent item first


@called_by_name
def coat(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: Model | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    utility: Any = None,
    max_suppressed: float = 0.0,
    weights: WeightsLike | None = None,
    refine: bool = False,
    random_state: Seed = None,
) -> Anonymized:
    """Anonymize by merging items within given blocks, rarest first, with suppression only if allowed.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    guarantee, k, m : KmAnonymity, PrivacyConstraints or LmDiversity, int, int
        As in `pcta`.
    utility, max_suppressed, weights : DataFrame or mapping, float, mapping
        As in `upcta`.
    refine, random_state : bool, int or Generator
        As in `pcta`; items move between the sets of a block.

    Returns
    -------
    Anonymized
        A global recoding, as by `upcta`.

    Raises
    ------
    InfeasibleError
        As in `upcta`.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or ``LmDiversity(l, m,
    sensitive, k)``, for the same reason as in `upcta`.

    Rare itemsets are satisfied in the order of `pcta`. One step takes the cluster of the itemset in the
    fewest rows (then: fewest items, then item order), and merges it with the cluster of its block that leads
    to the least utility loss, compared as in `pcta`. If its block has no other cluster, it is suppressed. The
    paper also requires subsets of a constraint in no row to be safe: `pdanon.constraints.with_subsets`. For
    ``random_state``, see `pcta`.

    Sensitive items are treated as in `pcta`. Cost: as of `pcta`.

    References
    ----------
    .. [1] G. Loukides, A. Gkoulalas-Divanis, B. Malin, "COAT: COnstraint-based Anonymization of
       Transactions", Knowledge and Information Systems 28, 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice", "tea"], ["milk", "tea"]]})
    >>> blocks = {"milk": ["milk"], "tea": ["tea"], "food": ["rice", "salt"]}
    >>> df.txanon.coat(k=2, m=2, utility=blocks, max_suppressed=0.25).mapping
       group  item  generalized  support
    0      0  milk         <NA>        1
    1      0  rice  (rice,salt)        2
    2      0  salt  (rice,salt)        1
    3      0   tea          tea        4
    """
    return COAT.release(locals())


COAT = Algorithm(
    coat,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    decide=partial(decide_within_blocks, True),
    by_pairs=True,
    sets=partial(merge_occurrences, least_first=True),
    options={"utility": None, "max_suppressed": 0.0, "weights": None},
    starts=True,
    ways=(Way(KmAnonymity, 30), Way(PrivacyConstraints, 30)),
)
