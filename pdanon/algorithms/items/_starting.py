"""Labels of an earlier release, from which a later one starts: they may grow, and are never split."""
# So persons in both have the same labels twice, or larger ones, and added rows tell nothing of a person.

from __future__ import annotations

from dataclasses import field
from math import inf
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.algorithms.states.clusters import Clusters, ItemOrder, first_members
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, find_items
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import sums, to_numpy
from pdanon.itemsets.mapping import global_mapping
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import describe
from pdanon.recoding.result import Anonymized

Model: TypeAlias = KmAnonymity | PrivacyConstraints | LmDiversity  # of algorithms that make sets
_WEAKER = (
    "its recipients were promised more; raise k and m to those of the earlier release, or leave out start"
)


class UnfitStartError(ParameterError):
    """An earlier release that this algorithm cannot start from, and others may."""


@frozen
class Start:
    """The sets from which an algorithm starts: those of an earlier release, or single items."""

    # ``set_of`` (items,): the number of the set of each item; -1 for an item that the earlier release lacks.
    # None: no release.

    set_of: Numbers | None = None

    @classmethod
    def of(cls, start: Any, itemsets: Itemsets, guarantee: Model) -> Start:
        """Read the parameter ``start``: a result, its mapping, or None."""
        if start is None:
            return cls()
        line_of, labels = _read_labels(start, itemsets, guarantee)
        _refuse_suppressed(labels)
        return cls(np.append(number_texts(labels), -1)[line_of])

    @property
    def parameters(self) -> dict[str, str]:
        """The parameter to record: the number of sets, instead of the sets."""
        if self.set_of is None:
            return {}
        return _record(self.set_of)

    def first(self, order: ItemOrder, blocks: Numbers | None = None) -> Codes:
        """Return the first item of the set of each item, once new items have joined a set."""
        # ``order``: the order of the items. ``blocks`` (items,): block of each item in this order.
        if self.set_of is None:
            return np.arange(order.itemsets.n_items, dtype=np.int32)
        supports = SupportIndex.of(order.itemsets).singles
        return _first_items(_join_new(order.arrange(self.set_of), supports, blocks))

    def kept(self, order: ItemOrder) -> Codes | None:
        """Return the first item of the set of each item; new items are alone; None without a release."""
        return None if self.set_of is None else _first_items(order.arrange(self.set_of))


@frozen
class StartCut:
    """The lowest cut of a hierarchy that may be published: that of an earlier release, or the leaves."""

    # ``hidden`` masks items that stay suppressed: nobody was protected by their label.

    nodes: Codes | None = None
    hidden: Mask | None = None
    parameters: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, start: Any, itemsets: Itemsets, guarantee: Model, tree: Hierarchy, leaves: Codes, *, drop: bool
    ) -> StartCut:
        """Read the parameter ``start``: a result, its mapping, or None."""
        # ``drop`` is whether the algorithm can suppress items.
        if start is None:
            return cls()
        line_of, labels = _read_labels(start, itemsets, guarantee)
        if not drop:
            _refuse_suppressed(labels)
        names = pa.array(tree.labels, pa.large_string())
        found = pc.index_in(labels.cast(pa.large_string()), value_set=names)
        node_of_line = np.append(to_numpy(found.fill_null(-1)), -2).astype(np.int32)
        gone = np.append(to_numpy(labels.is_null()), False)[line_of]
        nodes, own = node_of_line[line_of], (line_of < 0) | gone
        lowest = np.where(own, leaves, nodes)
        above = (lowest >= 0) & (lowest <= leaves) & (leaves < lowest + tree.size[lowest])
        cut = np.unique(lowest[~own])
        if not above.all() or (cut[1:] < cut[:-1] + tree.size[cut[:-1]]).any():
            hint = "pass the hierarchy of the earlier release, with the new items added to it"
            got = f"{int((~above).sum())} of {len(leaves)} items with labels that are no nodes above them"
            if above.all():
                got = "labels below other labels"
            problem = "the hierarchy is not that of the earlier release"
            raise UnfitStartError(problem, where="start", got=got, hint=hint)
        if len(cut):  # new items are published as a node of the cut above them, if there is one
            last = cut[np.maximum(np.searchsorted(cut, leaves, side="right") - 1, 0)]
            lowest = np.where((last <= leaves) & (leaves < last + tree.size[last]), last, lowest)
        return cls(lowest.astype(np.int32), gone, _record(nodes))


def _record(labels: Numbers | Codes) -> dict[str, str]:
    """Return the parameter ``start`` to record: the number of labels, instead of the labels."""
    return {"start": f"{len(np.unique(labels[labels >= 0]))} labels of an earlier release"}


def _read_labels(start: Any, itemsets: Itemsets, guarantee: Model) -> tuple[Codes, pa.DictionaryArray]:
    """Read an earlier release: the line of each item in its mapping, -1 without one, and their labels."""
    if isinstance(guarantee, LmDiversity):
        hint = "leave out sensitive and l, or audit both releases: df.txanon.after(january).audit(...)"
        raise ParameterError("start excludes sensitive items", where="start", hint=hint)
    if isinstance(start, Anonymized):
        _check_guarantee(start.guarantee, guarantee)
    try:
        known, labels = global_mapping(start.mapping if isinstance(start, Anonymized) else start)
    except ParameterError as error:
        hint = "pass an earlier result, or its mapping"
        raise ParameterError(error.parts["what"], where="start", got=describe(start), hint=hint) from None
    lines = find_items(itemsets.vocabulary, known)
    if len(lines) and (lines < 0).all():
        hint = "pass a release of this column, with items of the same type"
        raise ParameterError("the earlier release has none of the items", where="start", hint=hint)
    return lines, labels


def _refuse_suppressed(labels: pa.Array) -> None:
    """Refuse an earlier release that suppresses items, which an algorithm cannot keep suppressed."""
    if labels.null_count:
        hint = "start from a release that suppresses nothing, or leave out start"
        got = f"{labels.null_count} suppressed items"
        raise UnfitStartError("the earlier release suppresses items", where="start", got=got, hint=hint)


def _first_items(set_of: Numbers) -> Codes:
    """Return the first item of the set of each item; an item without a set (-1) is alone."""
    first = first_members(set_of)
    return np.where(first < 0, np.arange(len(set_of)), first).astype(np.int32)


def clusters_of(
    index: SupportIndex, first: Codes, weights: Numbers | None, blocks: Numbers | None = None, **options: Any
) -> Clusters:
    """Return the clusters of items with the same first item, -1 for none. The others have no own label."""
    if (first == np.arange(index.n_items)).all():
        return Clusters(index, weights, blocks, **options)
    kept = first >= 0
    sizes = np.bincount(first[kept], minlength=index.n_items)
    heaviest = None
    if weights is not None:
        heaviest = np.zeros_like(weights)
        np.maximum.at(heaviest, first[kept], weights[kept])
    return Clusters(index.recode(first, index.n_items), heaviest, blocks, sizes=sizes, **options)


def _join_new(set_of: Numbers, supports: Numbers, blocks: Numbers | None) -> Numbers:
    """Put each new item into the set of several items, in its block, that loses least NCP by it."""
    # Alone, new items would be merged with each other, and with items that were published as they are.
    # Without such a set, an item stays alone (-1).
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


def _check_guarantee(earlier: Any, guarantee: KmAnonymity | PrivacyConstraints) -> None:
    """Refuse a guarantee that promises less than that of the earlier release."""
    promised = _itemsets(earlier) if isinstance(earlier, PrivacyConstraints) else None
    if isinstance(guarantee, PrivacyConstraints):
        covers = promised is not None and promised <= _itemsets(guarantee)
    elif promised is not None:
        covers = max(map(len, promised), default=0) <= (guarantee.m or inf)
    else:
        covers = isinstance(earlier, KmAnonymity) and (earlier.m or inf) <= (guarantee.m or inf)
    if not covers or earlier.k > guarantee.k:
        problem = "the guarantee is weaker than that of the earlier release"
        raise ParameterError(problem, where="start", got=f"{guarantee!r} after {earlier!r}", hint=_WEAKER)


def _itemsets(guarantee: PrivacyConstraints) -> set[frozenset[Any]]:
    """Return the constraints of a guarantee."""
    return {*map(frozenset, Itemsets.from_series(guarantee.constraints).to_arrow().to_pylist())}
