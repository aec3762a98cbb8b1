"""Sets of an earlier release, from which a later one starts: they may grow, and are never split.

Persons in both releases then have the same labels twice, or larger ones. If rows are only added, the later
release tells nothing of a person that the earlier one hides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.states.item_order import ItemOrder
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.parameters import check_k
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, find_items
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import sums
from pdanon.itemsets.mapping import global_mapping
from pdanon.itemsets.support import MOST_ROWS, SupportIndex
from pdanon.itemsets.validation import check_count, describe
from pdanon.recoding.result import Anonymized

_Model: TypeAlias = KmAnonymity | PrivacyConstraints | LmDiversity
_WEAKER = (
    "its recipients were promised more; raise k and m to those of the earlier release, or leave out start"
)


@dataclass(frozen=True, eq=False, slots=True)
class Start:
    """The sets from which an algorithm starts: those of an earlier release, or single items.

    Parameters
    ----------
    set_of : ndarray of int64, shape (items,), or None
        The number of the set of each item; -1 for an item that the earlier release lacks. None: no release.
    """

    set_of: Numbers | None = None

    @classmethod
    def of(cls, start: Any, itemsets: Itemsets, guarantee: _Model, *, refine: bool) -> Start:
        """Read the parameter ``start``: a result, its mapping, or None.

        Raises
        ------
        ParameterError
            If it is neither, its recoding is local or suppresses an item, it has none of the items, its
            guarantee is stronger, or sets would be refined.
        """
        if start is None:
            return cls()
        if isinstance(guarantee, LmDiversity):
            hint = "leave out sensitive and l, or audit the releases together: audit(..., previous=[...])"
            raise ParameterError("start excludes sensitive items", where="start", hint=hint)
        if refine:
            hint = "refine the first release of the series, and start the others from it"
            raise ParameterError("refine would split sets of the earlier release", where="start", hint=hint)
        if isinstance(start, Anonymized):
            _check_guarantee(start.guarantee, guarantee)
        try:
            known, labels = global_mapping(start.mapping if isinstance(start, Anonymized) else start)
        except ParameterError as error:
            hint = "pass an earlier result, or its mapping"
            raise ParameterError(error.parts["what"], where="start", got=describe(start), hint=hint) from None
        if labels.null_count:
            hint = "start from a release that suppresses nothing, or leave out start"
            got = f"{labels.null_count} suppressed items"
            raise ParameterError("the earlier release suppresses items", where="start", got=got, hint=hint)
        place = find_items(itemsets.vocabulary, known.vocabulary)
        if len(place) and (place < 0).all():
            hint = "pass a release of this column, with items of the same type"
            raise ParameterError("the earlier release has none of the items", where="start", hint=hint)
        set_of = np.full(len(known.codes) + 1, -1)  # the last entry, -1, is that of items that it lacks
        set_of[known.codes] = number_texts(labels)  # line i of the mapping is about the item codes[i]
        return cls(set_of[place])

    @property
    def parameters(self) -> dict[str, str]:
        """The parameter to record: the number of sets, instead of the sets."""
        if self.set_of is None:
            return {}
        return {"start": f"{len(np.unique(self.set_of[self.set_of >= 0]))} labels of an earlier release"}

    def first(self, order: ItemOrder, blocks: Numbers | None = None) -> Codes:
        """Return the first item of the set of each item, once new items have joined a set.

        Parameters
        ----------
        order : ItemOrder
            The order of the items.
        blocks : ndarray of int64, shape (items,), optional
            Block of each item in this order.
        """
        items = np.arange(order.itemsets.n_items, dtype=np.int32)
        if self.set_of is None:
            return items
        supports = SupportIndex.of(order.itemsets).singles
        joined = _join_new(order.arrange(self.set_of), supports, blocks)
        shared = joined >= 0
        first = np.full(int(joined.max(initial=-1)) + 1, len(items), np.int32)
        np.minimum.at(first, joined[shared], items[shared])
        items[shared] = first[joined[shared]]
        return items


def clusters_of(
    index: SupportIndex, first: Codes, weights: Numbers | None, blocks: Numbers | None = None, **options: Any
) -> Clusters:
    """Return the clusters of items with the same first item. The others have no label of their own."""
    sizes = np.bincount(first, minlength=index.n_items)
    heaviest = None
    if weights is not None:
        heaviest = np.zeros_like(weights)
        np.maximum.at(heaviest, first, weights)
    if (sizes < 2).all():
        return Clusters(index, weights, blocks, **options)
    return Clusters(index.recode(first, index.n_items), heaviest, blocks, sizes=sizes, **options)


def _join_new(set_of: Numbers, supports: Numbers, blocks: Numbers | None) -> Numbers:
    """Put each new item into the set of several items, in its block, that loses least NCP by it.

    Alone, new items would be merged with each other, and with items that were published as they are. Without
    such a set, an item stays alone (-1).
    """
    known = set_of >= 0
    sizes = np.bincount(set_of[known])
    held = sums(set_of[known], supports[known], len(sizes))
    block = np.zeros(len(sizes), np.int64)
    if blocks is not None:
        block[set_of[known]] = blocks[known]
        if (block[set_of[known]] != blocks[known]).any():
            hint = "pass the utility constraints of the earlier release, or larger blocks"
            raise ParameterError("an earlier set is in several blocks", where="start", hint=hint)
    joined = set_of.copy()
    for item in np.flatnonzero(~known).tolist():
        allowed = np.flatnonzero((sizes > 1) & (block == (0 if blocks is None else blocks[item])))
        if len(allowed):
            loss = held[allowed] + supports[item] * (sizes[allowed] + 1)
            chosen = joined[item] = allowed[np.argmin(loss)]
            sizes[chosen] += 1
            held[chosen] += supports[item]
    return joined


def reserved(guarantee: _Model, reserve: int | None) -> _Model:
    """Return the guarantee for which an algorithm decides: with a larger k than is promised."""
    if reserve is None:
        return guarantee
    most = MOST_ROWS - 1
    return replace(guarantee, k=check_count(reserve, "reserve", least=check_k(guarantee.k), most=most))


def _check_guarantee(earlier: Any, guarantee: KmAnonymity | PrivacyConstraints) -> None:
    """Refuse a guarantee that promises less than that of the earlier release."""
    weaker = earlier.k > guarantee.k if isinstance(earlier, type(guarantee)) else True
    if isinstance(earlier, KmAnonymity) and isinstance(guarantee, KmAnonymity) and not weaker:
        weaker = guarantee.m is not None and (earlier.m is None or earlier.m > guarantee.m)
    if isinstance(earlier, PrivacyConstraints):
        weaker = earlier.k > guarantee.k or not _covers(guarantee, _itemsets(earlier))
    if weaker:
        problem = "the guarantee is weaker than that of the earlier release"
        raise ParameterError(problem, where="start", got=f"{guarantee!r} after {earlier!r}", hint=_WEAKER)


def _covers(guarantee: KmAnonymity | PrivacyConstraints, wanted: set[frozenset[Any]]) -> bool:
    """Return whether a guarantee covers all wanted itemsets."""
    if isinstance(guarantee, KmAnonymity):
        return guarantee.m is None or all(len(each) <= guarantee.m for each in wanted)
    return wanted <= _itemsets(guarantee)


def _itemsets(guarantee: PrivacyConstraints) -> set[frozenset[Any]]:
    """Return the constraints of a guarantee."""
    return {*map(frozenset, Itemsets.from_series(guarantee.constraints).to_arrow().to_pylist())}
