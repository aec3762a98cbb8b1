"""Local suppression: delete single occurrences of items, or generalize them, in the rows that need it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial
from math import inf, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.items._starting import Model
from pdanon.algorithms.items.pcta import merge_items
from pdanon.algorithms.registry import LOWERED_BY_DELETIONS, Algorithm, Way
from pdanon.algorithms.states import deletions
from pdanon.algorithms.states.rules import check_diverse
from pdanon.algorithms.states.sets_search import Refinement, balanced_costs, balanced_loss
from pdanon.algorithms.weights import WEIGHT_STEPS, WeightsLike, check_price, importance
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit, check_k, constraint_table
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets, canonical_rows
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Codes, Floats, Mask, Numbers, mask_at, ranges, sums
from pdanon.itemsets.support import ItemsetTable, SupportIndex, check_rows, ranks_of
from pdanon.itemsets.validation import Seed, random_generator
from pdanon.recoding.bounds import bound_deletions
from pdanon.recoding.decision import ListDecision, decide_lists, labels_to_suppress
from pdanon.recoding.recoding import Recoding, number_changes
from pdanon.recoding.result import Anonymized

_STEEP = 1 / 3  # power of NCP that prices a step up: with 1, more items change, but to lower nodes
_TINY = 1e-9
_CHANCES = 0.1, 0.4  # of a row to be lost by deletions elsewhere: two guesses, as tables differ
_MARGIN, _LEAST = 10, 0.2  # supports above k that may matter, and the expected deletions that do
_TRIES = 4  # searches of a class: each takes little time, and the best of them deletes less


@called_by_name
def local_suppression(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    guarantee: Model | None = None,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    weights: WeightsLike | None = None,
    hierarchy: HierarchyLike | None = None,
    deletion_price: float | None = None,
    random_state: Seed = None,
) -> Anonymized:
    """Anonymize by deleting or generalizing single occurrences of items, in the rows that need it.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    guarantee : KmAnonymity, PrivacyConstraints or LmDiversity, optional
        The guarantee. The sensitive items of ``LmDiversity`` are published as they are, and the attacker
        knows none of them.
    k, m : int, optional
        Short for ``KmAnonymity(k, m)``: at least k rows match up to m known items; None: all items of a row.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1]; 1 for items not listed. Deleting an occurrence costs as much.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        Generalize instead: an occurrence becomes a node of this hierarchy, in any form that ``Hierarchy.of``
        accepts. Only what cannot be published below the root is deleted. Requires ``KmAnonymity``.
    deletion_price : float, optional
        Publish a mixture: join items into sets where this costs less than deletions. It is the cost of a
        deletion, where an occurrence that changes in a small set costs 1. The higher it is, the more items
        are joined. None: no sets. Excludes ``LmDiversity``. With m=1, no items are joined.
        With a hierarchy, it is above 1, the cost of a node with two leaves: the lower it is, the fewer
        occurrences change, but to higher nodes. None: the cube root of half the leaves.
    random_state : int, Generator or None
        Seed or generator of the search; None is the seed 0. With a seed that nobody knows, an attacker cannot
        run the same search.

    Returns
    -------
    Anonymized
        A local recoding: each row is published as a subset of its items, which keep their type. With a
        ``deletion_price``, it is a subset of the labels of its items, which are text. With a ``hierarchy``,
        an item can be published as it is in one row, and as a node in another. ``groups`` has the number of
        the set of changes of a row; 0 if nothing changes. Keep it and the mapping secret: they say what rows
        lost. Equal rows lose the same. Rows that lose all their items remain as empty rows: none, or at least
        k.

    Raises
    ------
    InfeasibleError
        If some rows are not missing, but fewer than k; if a sensitive item is in more than 1/l of the rows,
        or of the rows with other items; or if fewer than k rows would lose all their items, and too few
        others have no sensitive item.
    OutOfMemoryError
        If the pairs of items of all rows need more memory than there is.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid, or m is 3 or
        more and too many itemsets are rare.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``, ``PrivacyConstraints(constraints, k)``, or ``LmDiversity(l, m,
    sensitive, k)``. The page of the algorithm has the proof, also for mixtures and nodes. Counts are lower
    bounds: an item that a row lacks may have been deleted.

    The search is an annealing over the supports of all items and pairs, from a safe release. Rare pairs are
    allowed at a price that rises, and later die: their price then falls only if they are in fewer rows. A
    step deletes, restores or exchanges an occurrence of a row. The release with the fewest deletions, by
    weight, is kept. With m of 3 or more, larger rare itemsets are then listed and broken up row by row, until
    there are none, and items return to rows that can have them together. Known items that tell a sensitive
    one lose an item in each row with all of them. For ``PrivacyConstraints``, only listed items and pairs are
    annealed. Then larger rare constraints are broken up, and what is left of one without lost items, if it is
    rare. Equal tables and seeds give equal releases, in any order of the rows.

    With a ``deletion_price``, the sets of `pcta` or `coat` are annealed first as in `refine`, for up to 3
    known items (2 if there are more than 640 sets; more than 4,096 are not annealed). A rare itemset costs as
    many deletions as it has rows, and one of little more than k rows costs some, too. Then each set is
    deleted like an item, of the mean importance that rows lose with it. Two such mixtures are tried, sets
    without rare itemsets, and items alone if their bound is low enough. The one that costs least is
    published.

    With a ``hierarchy``, the same search decides which labels of a row rise to the next node with more
    leaves. It is repeated until none rises, as a node may be rare beside other labels. The price of a step is
    what it adds to a power of NCP: by default the cube root. Children of the root are deleted. If a row has
    both a node and a leaf below it, they stand for different items.

    Cost: 4 bytes of memory for each pair of items of each distinct row, and 17 for each distinct pair. About
    160 sweeps in each of up to five annealings take time linear in the pairs of rows with deletions or rare
    pairs. With m of 3 or more: lists of about 4 million rare itemsets.

    References
    ----------
    .. [1] M. Templ, A. Kowarik, B. Meindl, "Statistical Disclosure Control for Micro-Data Using the R Package
       sdcMicro", Journal of Statistical Software 67(4), 2015.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> result = df.txanon.local_suppression(k=2, m=2)
    >>> result.frame
                items
    0  ['rice' 'tea']
    1        ['rice']
    2  ['rice' 'tea']
    3         ['tea']
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns,
    *,
    guarantee: Model,
    weights: Any,
    random_state: Any,
    hierarchy: HierarchyLike | None = None,
    deletion_price: Any = None,
) -> ListDecision:
    """Decide which items are joined into sets, and which occurrences are deleted or generalized."""
    itemsets, seed = columns.itemsets, _seed(random_state)
    worth = importance(weights, itemsets)
    if hierarchy is not None:
        if not isinstance(guarantee, KmAnonymity):
            what, hint = "items are generalized only for KmAnonymity", "leave out the hierarchy"
            raise ParameterError(what, where="hierarchy", got=repr(guarantee), hint=hint)
        price = None if deletion_price is None else check_price(deletion_price, above=1)
        recoding = _generalize(itemsets, hierarchy, worth, price, guarantee, seed)
    elif deletion_price is not None:
        recoding = _mix(itemsets, guarantee, worth, check_price(deletion_price), seed)
    else:
        table = LabelTable.of(itemsets, None, worth)
        recoding = table.recoding(keep_labels(table, guarantee, seed))
    decision = decide_lists(columns, recoding, guarantee)
    if isinstance(guarantee, LmDiversity):
        return decision
    bound = bound_deletions(itemsets, guarantee)  # the least that any release by deletions changes
    return replace(decision, bound=bound.beside(decision.loss["occurrences"]))


@frozen
class LabelTable:
    """Items with the same label in all rows, whose labels are deleted row by row."""

    # ``sets`` is the set of each item, numbered from 0; None if each item is its own label. ``worth`` is the
    # price of deleting each label from a row.

    itemsets: Itemsets
    sets: Numbers | None
    joined: Itemsets  # the labels of each row
    worth: Floats

    @classmethod
    def of(cls, itemsets: Itemsets, sets: Numbers | None, worth: Floats | None) -> LabelTable:
        """Join items; a label has the mean importance of the occurrences that rows lose with it."""
        worth = np.ones(itemsets.n_items) if worth is None else worth
        if sets is None:
            return cls(itemsets, None, itemsets, worth)
        joined = itemsets.recode(sets, pa.array(np.arange(int(sets.max(initial=-1)) + 1)))
        supports = SupportIndex.of(itemsets).singles, SupportIndex.of(joined).singles
        return cls(itemsets, sets, joined, np.bincount(sets, worth * supports[0]) / supports[1])

    def images(self, itemsets: ItemsetTable) -> ItemsetTable:
        """Return the labels of the items of itemsets."""
        if self.sets is None:
            return itemsets
        codes = self.sets[itemsets.codes].astype(np.int32)
        return ItemsetTable.listed(*canonical_rows(codes, itemsets.offsets, self.joined.n_items))

    def cost(self, kept: Mask) -> float:
        """Return the price of the deleted labels."""
        return float(self.worth @ np.bincount(self.joined.codes[~kept], minlength=self.joined.n_items))

    def cost_of_sets(self, kept: Mask) -> float:
        """Return the balanced loss of the items that change, where an occurrence in a small set costs 1."""
        assert self.sets is not None
        n, size = self.itemsets.n_items, np.bincount(self.sets)
        supports = np.bincount(self.itemsets.codes[kept[self.places()]], minlength=n).astype(np.float64)
        held, squares = (np.bincount(self.sets, each) for each in (supports, supports**2))
        costs = balanced_costs(size, held.astype(np.int64), squares.astype(np.float64), n)
        return float(costs[size > 1].sum()) / sqrt(max(n, 1))

    def recoding(self, kept: Mask) -> Recoding:
        """Return the recoding that deletes the other labels."""
        itemsets, sets = self.itemsets, self.sets
        deleted = ~kept[self.places()]
        losses = number_changes(itemsets, deleted)
        if sets is None:
            return Recoding.of_suppressed(deleted, itemsets, losses)
        return Recoding.of_clusters(np.where(deleted, -1, sets[itemsets.codes]), itemsets, losses)

    def places(self) -> Numbers:
        """Return the label of each occurrence, as its place in the joined rows."""
        if self.sets is None:
            return np.arange(len(self.itemsets.codes))
        n = np.int64(self.joined.n_items)
        labels = self.joined.rows * n + self.joined.codes
        return np.searchsorted(labels, self.itemsets.rows * n + self.sets[self.itemsets.codes])


def _generalize(
    itemsets: Itemsets,
    source: HierarchyLike,
    weights: Floats | None,
    deletion_price: float | None,
    guarantee: KmAnonymity,
    seed: int,
) -> Recoding:
    """Move occurrences up a hierarchy, row by row, until no set of up to m labels of a row is rare."""
    tree, leaves = Hierarchy.over(source, itemsets.vocabulary)
    k, gone = check_k(guarantee.k), tree.n_nodes  # the number of what is deleted
    above, prices = _steps_up(tree, leaves, weights, deletion_price)
    first = nodes = leaves[itemsets.codes].astype(np.int64)  # the label of each occurrence
    while True:
        labels = itemsets.relabel(nodes.astype(np.int32), pa.array(np.arange(gone + 1)))
        node_of = labels.vocabulary.to_numpy()
        listed = labels.rows * (gone + 1) + node_of[labels.codes]
        place = np.searchsorted(listed, itemsets.rows * (gone + 1) + nodes)  # of the label of each occurrence
        rows, places = _distinct_rows(SupportIndex.of(labels))
        shown = node_of[rows.codes] != gone
        price = prices[node_of]
        price *= rows.singles.sum() / max(price @ rows.singles, _TINY)  # 1 on average, as of deletions
        kept = shown.copy()
        kept[shown] = deletions.protect(deletions.kept_rows(rows, shown), k, guarantee.m, price, seed)
        if (kept == shown).all():
            break
        rises = (shown & ~kept)[places][place]
        rises &= ~_are_above(np.unique(nodes[rises]), tree)[nodes]  # a node waits for those that may join it
        nodes = np.where(rises, above[nodes], nodes)
    kept = deletions.with_enough_emptied(rows, kept, k)
    kept = _suppress_more(labels, kept[places], np.zeros(labels.n_items, np.bool_), k)[place]
    check_rows(itemsets.n_present if kept.all() else itemsets.n_rows, k)
    changes = number_changes(itemsets, ~kept | (nodes != first), nodes)
    return Recoding.of_cut(np.where(kept, nodes, -1), tree, changes)


def _are_above(nodes: Numbers, tree: Hierarchy) -> Mask:
    """Return whether each node is above one of some nodes; the number after the last node is not."""
    found, upper = np.zeros(tree.n_nodes + 1, np.bool_), tree.parent[nodes]
    while (upper > 0).any():
        found[upper] = True
        upper = tree.parent[np.maximum(upper, 0)]
    return found


def _steps_up(
    tree: Hierarchy, leaves: NDArray[Any], weights: Floats | None, deletion_price: float | None
) -> tuple[Numbers, Floats]:
    """Return the next node with more leaves above each node, and what a step to it loses."""
    # The number after the last node stands for a deletion: it is above the children of the root, and itself.
    size, parent, gone = tree.leaves.astype(np.int64), tree.parent.astype(np.int64), tree.n_nodes
    above = parent.copy()
    while (equal := (above > 0) & (size[above] == size)).any():
        above[equal] = parent[above[equal]]
    above = np.append(np.where(above > 0, above, gone), gone)
    power = _STEEP if deletion_price is None else log(deletion_price) / log(max(tree.n_leaves, 3) / 2)
    # In single precision, as processors differ in the last digits of a power: ties would break differently.
    lost = np.float32(np.append(np.where(size > 1, size / tree.n_leaves, 0.0), 1.0) ** power).astype(float)
    prices = lost[above] - lost
    if weights is None:
        return above, prices
    worth, nodes = np.zeros(gone + 1), leaves
    while nodes.any():  # up to the root, which is 0
        np.maximum.at(worth, nodes, weights)
        nodes = np.maximum(parent[nodes], 0)
    return above, prices * worth


def _mix(itemsets: Itemsets, guarantee: Model, worth: Floats | None, price: float, seed: int) -> Recoding:
    """Return the cheapest of two mixtures, and of both ends: items in safe sets, and items alone."""
    if isinstance(guarantee, LmDiversity):
        what, hint = "items are not joined into sets for LmDiversity", "leave out deletion_price"
        raise ParameterError(what, where="deletion_price", got=repr(guarantee), hint=hint)
    best, least, alone = None, inf, np.arange(itemsets.n_items)
    for sets in _join_items(itemsets, guarantee, price, seed):
        table = LabelTable.of(itemsets, sets, worth)
        kept = keep_labels(table, guarantee, seed)
        cost = table.cost_of_sets(kept) + price * table.cost(kept)
        if cost < least:
            best, least = table.recoding(kept), cost
    table = LabelTable.of(itemsets, alone, worth)
    deleted = bound_deletions(itemsets, guarantee).changed
    if best is None or price * deleted * table.worth.min(initial=1.0) < least:
        kept = keep_labels(table, guarantee, seed)
        if best is None or price * table.cost(kept) <= least:
            return table.recoding(kept)
    return best


def _join_items(
    itemsets: Itemsets, guarantee: KmAnonymity | PrivacyConstraints, price: float, seed: int
) -> Iterator[Numbers]:
    """Return the set of each item, numbered from 0: after annealings at the price, and safe ones."""
    if isinstance(guarantee, KmAnonymity):
        if guarantee.m == 1:  # there is no rare pair to avoid
            return
        guarantee = replace(guarantee, m=min(guarantee.m or 3, 3))
    k = check_k(guarantee.k)
    if k > itemsets.n_rows:  # no sets are safe
        return
    for chance in (*_CHANCES, 0.0):
        # The deletions that an itemset costs by its support, up to the last support that matters: each row
        # with a rare one loses an item. Others become rare by these deletions: each row is lost with this
        # chance.
        margin = k * chance ** np.arange(1, _MARGIN + 1)
        prices = price * np.append(np.arange(k), margin[margin >= _LEAST])
        counted = replace(guarantee, k=len(prices))
        safe = _safe_sets(itemsets, counted)
        if safe is not None:
            search = Refinement(itemsets, safe, counted, loss="balanced", quick=True)
            yield search.anneal_at(prices, seed) if chance else search.lowest_sets()


def _safe_sets(itemsets: Itemsets, guarantee: KmAnonymity | PrivacyConstraints) -> Codes | None:
    """Return the set of each item in the better of the releases of `pcta` and `coat`, if there is one."""
    first, supports = np.arange(itemsets.n_items, dtype=np.int32), SupportIndex.of(itemsets).singles

    def loss(sets: Codes) -> float:
        return balanced_loss(sets.astype(np.int64), supports, np.bincount(sets)[sets] > 1, itemsets.n_items)

    tried = (merge_items(itemsets, guarantee, first=first, least_first=each) for each in (False, True))
    return min((sets for sets, problem in tried if problem is None), key=loss, default=None)


def keep_labels(table: LabelTable, guarantee: Any, seed: int, start: deletions.Start | None = None) -> Mask:
    """Return whether each label of a row is kept; ``start`` is a release to begin with."""
    itemsets, worth, k = table.joined, table.worth, check_k(guarantee.k)
    rows, places = _distinct_rows(SupportIndex.of(itemsets))
    if start is not None:
        start = start._replace(kept=mask_at(len(rows.codes), places[start.kept]))
    hidden = np.zeros(itemsets.n_items, np.bool_)
    if isinstance(guarantee, LmDiversity):
        hidden = guarantee.is_sensitive(itemsets)
        check_diverse(rows.keep_items(~hidden), rows.keep_items(hidden), guarantee.l, itemsets.n_present)
        most = k, guarantee.m, guarantee.l
        kept = deletions.protect_secrets(rows, *most, hidden, worth, seed, start)
        kept = deletions.with_single_items(rows, kept, k)
    elif isinstance(guarantee, PrivacyConstraints):
        listed = table.images(constraint_table(guarantee.constraints, table.itemsets))
        kept = deletions.protect_pairs(rows, k, worth, seed, start, listed)
        kept = _break_up_listed(table, guarantee, rows, places, kept)
    else:
        kept = deletions.protect(rows, k, guarantee.m, worth, seed, start)
        kept = deletions.with_single_items(rows, kept, k)
    if not isinstance(guarantee, LmDiversity):  # another row less would make a sensitive item likelier
        kept = deletions.with_enough_emptied(rows, kept, k)
    kept = _suppress_more(itemsets, kept[places], hidden, k)
    # Missing rows become empty if anything is deleted.
    check_rows(itemsets.n_present if kept.all() else rows.n_rows, k)
    return kept


def _break_up_listed(
    table: LabelTable, guarantee: PrivacyConstraints, rows: SupportIndex, places: Numbers, kept: Mask
) -> Mask:
    """Return whether each occurrence is kept, so that no row shows what is rare of a constraint."""
    k, hidden = check_k(guarantee.k), np.zeros(rows.n_items, np.bool_)
    while True:
        list_rare = partial(_list_rare, table, guarantee, rows, places, kept)
        kept[kept] = deletions.break_up(deletions.kept_rows(rows, kept), list_rare, table.worth)
        # What is deleted so that k rows are emptied may leave less of other constraints.
        emptied = deletions.with_enough_emptied(rows, kept.copy(), k)
        emptied[places] = _suppress_more(table.joined, emptied[places], hidden, k)
        if emptied.sum() == kept.sum():
            return kept
        kept = emptied


def _list_rare(
    table: LabelTable,
    guarantee: PrivacyConstraints,
    rows: SupportIndex,
    places: Numbers,
    left: Mask,
    chosen: Mask,
) -> ItemsetTable:
    """List the rare constraints, and what is rare that a row may show of one."""
    # ``left`` are labels of the distinct rows, ``chosen`` some of them. ``places`` has those of all rows.
    kept = mask_at(len(left), np.flatnonzero(left)[chosen])
    listed = constraint_table(guarantee.constraints, table.itemsets)
    lost = mask_at(table.itemsets.n_items, table.itemsets.codes[~kept[places][table.places()]])
    found = table.images(listed.with_parts(lost))
    supports = deletions.kept_rows(rows, kept).supports(found.codes, found.offsets)
    rare = (supports > 0) & (supports < check_k(guarantee.k)) & (found.lengths > 0)
    return replace(found, supports=supports).take(rare).distinct()


def _suppress_more(itemsets: Itemsets, kept: Mask, hidden: Mask, k: int) -> Mask:
    """Suppress items in all rows if fewer than k rows lost all, and other rows did not suffice."""
    # The other itemsets keep their supports. Sensitive items stay.
    plain = np.flatnonzero(~mask_at(itemsets.n_rows, itemsets.rows[hidden[itemsets.codes]]))
    units = np.where(kept, itemsets.codes, -1)
    gone = labels_to_suppress(units[itemsets.places(plain)], itemsets.take(plain), k)
    kept = kept & ~np.isin(itemsets.codes, gone)
    if len(labels_to_suppress(np.where(kept, itemsets.codes, -1), itemsets, k)):
        problem = "fewer than k rows would lose all their items, and too few others have no sensitive item"
        raise InfeasibleError(problem, where="k", got=f"k={k}", hint="choose a smaller k")
    return kept


def _fewest_deleted(itemsets: Itemsets, guarantee: KmAnonymity) -> float:
    """Return a lower bound on the share that is deleted: each row with a rare item or pair loses an item."""
    rows = SupportIndex.of(itemsets).distinct()
    exposed = rows.at_risk(check_k(guarantee.k), min(guarantee.m or 2, 2))
    return float(rows.weights[exposed].sum() / max(rows.singles.sum(), 1))


def _distinct_rows(index: SupportIndex) -> tuple[SupportIndex, Numbers]:
    """Return the distinct rows in an order of their own, and the place of each occurrence in them."""
    ranks = ranks_of(index.codes, index.offsets, index.n_items)
    _, first, number_of = np.unique(ranks, return_index=True, return_inverse=True)
    rows = index.within(first)
    weights = sums(number_of, index.weights, len(first))
    places = ranges(rows.offsets[number_of], index.lengths)[1]
    return SupportIndex(rows.codes, rows.offsets, rows.n_items, weights), places


def _delete_in_class(
    index: SupportIndex,
    _blocks: Numbers,
    _spare: int,
    k: int,
    m: int | None,
    *,
    weights: Numbers | None = None,
    l: int = 1,  # noqa: E741
    hidden: Mask | None = None,
) -> Codes:
    """Return the item of each occurrence of a class of rows; -1 if the occurrence is deleted."""
    # At most 1/l of the rows that match have one of the sensitive items, which ``hidden`` tells.
    rows, places = _distinct_rows(index)
    worth = np.ones(index.n_items) if weights is None else weights / WEIGHT_STEPS
    prices = worth[rows.codes] * np.repeat(rows.weights, rows.lengths)
    first = _seed(None)
    protect = partial(deletions.protect, rows, k, m)
    if hidden is not None:
        protect = partial(deletions.protect_secrets, rows, k, m, l, hidden)
    tried = (protect(worth, seed) for seed in range(first, first + _TRIES))
    kept = min(tried, key=lambda kept: prices[~kept].sum())
    kept = deletions.with_single_items(rows, kept, k)
    if hidden is None:  # another row less would make a sensitive item likelier
        kept = deletions.with_enough_emptied(rows, kept, k)
    return np.where(kept[places], index.codes, np.int32(-1))


def _seed(random_state: Any) -> int:
    return int(random_generator(random_state).integers(1, 2**63))


RECORD = Algorithm(
    local_suppression,
    (KmAnonymity, PrivacyConstraints, LmDiversity),
    recodes="rows",
    decide=decide,
    sets=_delete_in_class,
    options={"weights": None},
    unit="sweeps",
    keeps_type=True,
    ways=(
        Way(KmAnonymity, 120, losses=LOWERED_BY_DELETIONS, floor=_fewest_deleted),
        Way(KmAnonymity, 121, {"deletion_price": 4}, losses=("singles", "pairs")),
        Way(KmAnonymity, 122, needs="hierarchy"),
        Way(KmAnonymity, 123, {"deletion_price": 1.5}, needs="hierarchy", losses=("pairs", "meaning")),
        Way(PrivacyConstraints, 120, losses=LOWERED_BY_DELETIONS),
        Way(PrivacyConstraints, 121, {"deletion_price": 4}, losses=("singles", "pairs")),
    ),
)
