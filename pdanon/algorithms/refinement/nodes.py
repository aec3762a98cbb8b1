"""Refinement of cuts of a hierarchy, of groups of rows, and of classes of equal quasi-identifiers."""
# If each class is safe, the release is safe. So a class is refined like a small table.

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon._kernels import row_groups
from pdanon.algorithms.refinement.task import Task, extend_trace
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.relational.quasi import split_groups
from pdanon.algorithms.rt.dataset import Dataset
from pdanon.algorithms.rt.transaction import ClassSearch, keep_occurring
from pdanon.algorithms.states.clusters import first_members
from pdanon.algorithms.states.cuts import (
    BASES,
    CutRefinement,
    LeafRows,
    NodePrices,
    by_first_row,
    merge_empty_rows,
    node_counts,
)
from pdanon.algorithms.states.sets_search import Refinement, balanced_loss, suppressed_cost
from pdanon.errors import GuaranteeError, ParameterError, ReleaseWarning
from pdanon.guarantees import KmAnonymity, TransactionalK
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, item_texts
from pdanon.itemsets.dtype import arrow_values, number_texts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import find_numbers, ranges, to_numpy
from pdanon.itemsets.mapping import mapping_labels, mapping_values
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Clock, TimedSearch
from pdanon.itemsets.validation import check_known
from pdanon.recoding.loss import with_measure
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.release import release
from pdanon.recoding.result import Anonymized, other_frame

_TRIED = 8  # groups that a row may move to
_LOOKED_AT = 1000  # groups compared with a row, to find these
_PARTNERS = 2  # rows of each group that a row may swap with: the least similar
_LARGE = 200  # rows of a group beyond which none leaves it
_TURNS = 1000  # rows that take turns between checks of the time
_ENOUGH = 1000  # the search ends when a round gains less than this part of the loss


# --- Cuts


def refine_cuts(task: Task) -> Anonymized:
    """Refine a recoding to the nodes of one cut, or of one cut per block of rows."""
    itemsets, result = task.itemsets, task.result
    tree, leaves = Hierarchy.over(result.parameters["hierarchy"], itemsets.vocabulary)
    groups = groups_of(result)
    of_row = np.zeros(itemsets.n_rows, np.int32) if groups is None else groups
    became = published_nodes(result, itemsets, tree, leaves, of_row)
    index, base, km = SupportIndex.of(itemsets), task.base, result.guarantee
    assert isinstance(km, KmAnonymity)
    search = CutRefinement(index, of_row, tree, leaves, became, km, base, task.clock)
    cut_short = task.run(search)
    recoding = _recoding(search.best, itemsets, tree, groups)
    before = _recoding(became, itemsets, tree, groups)
    refined = task.publish(itemsets, recoding, search.trace, cut_short, before)
    if "gap" not in result.loss:
        return refined
    # The share of its loss that the refined release can still save, by the bound of `optimal`.
    suppresses = int(result.parameters["suppress"])
    name, whole = ("LM" if suppresses else "NCP"), len(itemsets.codes) * max(tree.n_leaves - suppresses, 1)
    earlier, after = (round(float(each.loss[name]) * whole) for each in (result, refined))
    bound = round(earlier * (1 - float(result.loss["gap"])))
    gap = (after - bound) / after if after > bound else 0.0
    return replace(refined, loss=with_measure(refined.loss, "gap", gap))


def groups_of(result: Anonymized) -> Codes | None:
    """Return the group of each row, if groups are recoded separately."""
    return None if result.groups is None else result.groups.to_numpy().astype(np.int32)


def published_nodes(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """Read the node of each item in each group from the mapping table; -1 if suppressed or absent."""
    # `ParameterError`: it has other items, nodes that are not above their items, or other supports.
    n_groups = int(of_row.max(initial=0)) + 1
    groups, items, nodes = _read_mapping(result, itemsets, tree, leaves, n_groups)
    became = np.full((n_groups, itemsets.n_items), -1, np.int32)
    became[groups, items] = nodes
    check_mapping(result, itemsets, _recoding(became, itemsets, tree, of_row))
    return became


def published_occurrences(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """Read the node of each occurrence, -1 if it is suppressed; as `published_nodes`, for many groups."""
    groups, items, nodes = _read_mapping(result, itemsets, tree, leaves, int(of_row.max(initial=0)) + 1)
    keys = groups * np.int64(itemsets.n_items) + items
    wanted = of_row[itemsets.rows] * np.int64(itemsets.n_items) + itemsets.codes
    return np.append(nodes, np.int32(-1))[find_numbers(keys, wanted)]


def mapped_items(result: Anonymized, itemsets: Itemsets) -> Codes:
    """Return the item of each line of a mapping table, in the codes of a column."""
    items = itemsets.lookup(arrow_values(result.mapping["item"]))
    if (items < 0).any():
        raise other_frame(f"{int((items < 0).sum())} other items")
    return items


def _read_mapping(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, n_groups: int
) -> tuple[Numbers, Codes, Codes]:
    """Read the group, the item and the node of each line of a mapping table."""
    mapping = result.mapping
    items = mapped_items(result, itemsets)
    number = {label: node for node, label in enumerate(tree.labels)}
    labels, texts = pd.factorize(mapping["generalized"])
    nodes = np.array([*(number.get(text, tree.n_nodes) for text in texts), -1], np.int32)[labels]
    groups = mapping["group"].to_numpy()
    leaf, size = leaves[items], np.append(tree.size, 0)[nodes]  # 0 for a label that is no node
    fit = (nodes < 0) | ((nodes <= leaf) & (leaf < nodes + size))
    if not (fit & (groups >= 0) & (groups < n_groups)).all():
        raise ParameterError(
            "the release has labels that are not nodes of its hierarchy",
            where="result",
            hint="pass the result with its own hierarchy, unchanged",
        )
    return groups.astype(np.int64), items, nodes


def check_mapping(result: Anonymized, itemsets: Itemsets, recoding: Recoding) -> None:
    """Check that a recoding of a column reproduces the mapping of a result."""
    if not equal_mappings(mapping_table(itemsets, recoding), result.mapping):
        raise other_frame("items with other supports")


def _recoding(became: Codes, itemsets: Itemsets, tree: Hierarchy, groups: NDArray[Any] | None) -> Recoding:
    if groups is None:
        return Recoding.of_cut(became[0], tree)
    return Recoding.of_cut(_expand_to_occurrences(became, itemsets, groups), tree, groups.astype(np.int32))


def equal_mappings(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether two mapping tables are equal, whatever their text types."""
    if len(one) != len(other):
        return False
    items, others = (item_texts(mapping_values(table, "item")) for table in (one, other))
    labels, published = (mapping_labels(table, pa.string()) for table in (one, other))
    number = pc.index_in(published.dictionary, value_set=labels.dictionary).fill_null(len(labels.dictionary))
    same = np.append(to_numpy(number), -1)[number_texts(published)]
    return (
        items.equals(others)
        and np.array_equal(number_texts(labels), same)
        and all(np.array_equal(one[name], other[name]) for name in ("group", "support"))
    )


# --- Groups of rows with equal published lists


class GroupRefinement(TimedSearch):
    """Groups of rows with equal published lists, between which rows move and swap."""

    # With ``bags``, a group is published as the multiset of nodes that its rows have in common. Otherwise it
    # is published at the lowest cut where its rows have equal nodes. `ParameterError`: a group has fewer than
    # k rows, or contains a row without items.

    def __init__(
        self,
        rows: LeafRows,
        tree: Hierarchy,
        groups: NDArray[Any],  # group of each row, any number; -1 for rows published without items
        k: int,
        bags: bool,
        base: int,  # 0 for NCP, 1 for LM
        clock: Clock,
    ) -> None:
        super().__init__(clock)
        self._tree, self._bags, self._k = tree, bags, k
        self._published = published = groups >= 0
        self._rows = rows.take(np.flatnonzero(published))
        _, first, group_of, sizes = np.unique(
            groups[published], return_index=True, return_inverse=True, return_counts=True
        )
        n_silent = int(np.count_nonzero(~published))
        if 0 < n_silent < k or (sizes < k).any() or not self._rows.lengths.all():
            raise ParameterError(
                "the groups of the result are not safe in this frame",
                where="result",
                hint="pass the original frame of the result",
            )
        order, ends = np.argsort(group_of, kind="stable"), np.cumsum(sizes)
        # Each group is a circular list: ``after`` has the next row of its group.
        after = np.empty(len(order), np.int64)
        after[order[:-1]] = order[1:]
        after[order[ends - 1]] = order[ends - sizes]
        self._most = max(tree.n_leaves - base, 1)
        self._price = np.append(NodePrices.of(tree, base).of_node, self._most)
        self._counted = node_counts(self._rows, tree)
        starts, nodes, counts = self._counted
        self._groups = row_groups.Groups(
            bags=bags,
            starts=starts,
            nodes=nodes,
            counts=counts,
            parent=tree.parent,
            size=tree.size,
            price=self._price,
            group_of=group_of,
            after=after,
            first=first,
            sizes=sizes,
            tried=_TRIED,
            looked_at=_LOOKED_AT,
        )
        self._n_occurrences = len(rows.leaves)
        self._silent = (len(rows.leaves) - len(self._rows.leaves)) * self._most

    @property
    def cost(self) -> int:
        """The loss of all occurrences, as an integer."""
        return self._silent + int(np.asarray(self._groups.cost).sum())

    @property
    def group_of(self) -> Numbers:
        """The group of each row, -1 for rows published without items."""
        groups = np.full(len(self._published), -1, np.int64)
        groups[self._published] = self._groups.group_of
        return groups

    @property
    def nodes(self) -> Codes:
        """The node of each occurrence of the column; -1 where it is suppressed."""
        starts, counted, _ = self._counted
        if self._bags:
            least, firsts = row_groups.least_counts(self._groups), np.asarray(self._groups.first)
            places = self._rows.offsets, self._rows.leaves, self._tree.parent
            bags = starts, counted, least, firsts, starts[firsts + 1]
            found = row_groups.assign(self._groups.group_of, *places, *bags)
        else:
            found = row_groups.cut_nodes(self._rows.offsets, self._rows.leaves, self._groups)
        became = np.full(self._n_occurrences, -1, np.int32)
        became[self._rows.order] = found
        return became

    def begin_trace(self, before: Codes) -> None:
        """Begin the trace with the loss of the nodes of the release, and that of the groups."""
        self.is_lowest(int(self._price[before].sum()))
        self.is_lowest(self.cost)

    def _share(self, cost: float) -> float:
        return cost / max(self._most * self._n_occurrences, 1)

    def descend(self) -> None:
        """Let rows take turns, round by round, until a round gains little or the time limit is reached."""
        most = max(_LARGE, 2 * self._k)
        members = np.arange(len(self._rows.lengths))
        gained = self.cost
        while gained * _ENOUGH > self.cost:
            gained, holders = 0, self._groups_by_node()
            for start in range(0, len(members), _TURNS):
                if self.is_over():
                    return
                turns = members[start : start + _TURNS]
                gained += row_groups.move_rows(self._k, turns, _PARTNERS, most, *holders, self._groups)
            self.is_lowest(self.cost)

    def _groups_by_node(self) -> tuple[Numbers, Numbers]:
        """Return, for each node, the groups whose rows all contain it, as CSR arrays."""
        starts, counted, _ = self._counted
        least, firsts = row_groups.least_counts(self._groups), np.asarray(self._groups.first)
        lengths = starts[firsts + 1] - starts[firsts]
        groups, places = ranges(starts[firsts], lengths)
        occurs = least[places] > 0
        groups, nodes = groups[occurs], counted[places[occurs]]
        order = np.argsort(nodes, kind="stable")
        return np.searchsorted(nodes[order], np.arange(self._tree.n_nodes + 1)), groups[order]


def refine_groups(task: Task) -> Anonymized:
    """Refine groups of rows with equal published lists."""
    itemsets, result = merge_empty_rows(task.itemsets), task.result
    tree, leaves = Hierarchy.over(result.parameters["hierarchy"], itemsets.vocabulary)
    groups = groups_of(result)
    guarantee = result.guarantee
    assert groups is not None  # it is a local recoding
    assert isinstance(guarantee, TransactionalK)
    bags, mapping = ALGORITHMS[result.parameters["algorithm"]].repeats, result.mapping
    rows = LeafRows.of(itemsets.codes, itemsets.offsets, leaves)
    silent = ~np.isin(groups, mapping["group"][mapping["generalized"].notna()])
    group_of = np.where(silent, -1, groups)
    search = GroupRefinement(rows, tree, group_of, guarantee.k, bags, task.base, task.clock)
    before = search.nodes if bags else published_occurrences(result, itemsets, tree, leaves, groups)
    made = Recoding.of_cut(before, tree, groups, repeats=bags)
    check_mapping(result, itemsets, made)
    search.begin_trace(before)
    search.descend()
    cut_short = task.cut_short
    of_row = by_first_row(search.group_of)
    recoding = Recoding.of_cut(search.nodes, tree, of_row, repeats=bags)
    return task.publish(itemsets, recoding, search.trace, cut_short, made)


# --- Classes of equal quasi-identifiers


_PARAMETERS = ("k", "m", "quasi", "transaction")


def refine_classes(task: Task) -> Anonymized:
    """Refine the transactions of a table with quasi-identifiers, class by class."""
    original, result = task.original, task.result
    parameters = {name: result.parameters[name] for name in _PARAMETERS}
    parameters["transaction"] = replace(parameters["transaction"], refine=True)
    data = Dataset.of(original, original.columns[task.position], **parameters)
    (itemsets,) = data.columns
    assert result.groups is not None  # a release with classes has groups
    groups = result.groups.to_numpy().astype(np.int64)
    class_search = data.transactions.search
    assert class_search is not None  # checked by the caller
    became = _read_nodes(result, itemsets, groups, class_search)
    made = _check_result(result, data, groups, became)
    known = BASES if class_search.cover is not None else (*BASES, "balanced")
    loss = check_known(task.options["loss"], known, "loss of the items of classes", where="loss")
    class_search = replace(class_search, loss=loss)
    search = ClassRefinement(itemsets, groups, became, class_search, task.clock)
    cut_short = task.run(search)
    numbers = _expand_to_occurrences(search.best, itemsets, groups)
    decide = partial(data.decision, groups, numbers, task.parameters)
    refined = release(data.writer, decide, result.unmodified.judged)
    trace = search.trace
    if refined.mapping["generalized"].isna().any():  # suppressed after the search, to hide emptied rows
        found = search.cost(_read_nodes(refined, itemsets, groups, class_search))
        before = search.cost(became)
        if found >= before:
            refined, trace = replace(made, parameters=refined.parameters), trace.head(1)
        else:
            trace = extend_trace(trace, found, before)
    return replace(refined, trace=trace, cut_short=cut_short)


def _read_nodes(result: Anonymized, itemsets: Itemsets, groups: Numbers, search: ClassSearch) -> Codes:
    """Return the node or set number of each item in each class; -1 if it is suppressed or absent."""
    if search.cover is not None:
        return published_nodes(result, itemsets, *search.cover, groups)
    mapping, items = result.mapping, mapped_items(result, itemsets)
    labels, texts = pd.factorize(mapping["generalized"])
    group = mapping["group"].to_numpy()
    first = first_members(np.where(labels < 0, -1, group * len(texts) + labels))
    became = np.full(
        (int(max(groups.max(initial=0), group.max(initial=0))) + 1, itemsets.n_items), -1, np.int32
    )
    became[group, items] = np.where(first < 0, -1, items[first])
    return became


def _expand_to_occurrences(became: Codes, itemsets: Itemsets, groups: NDArray[Any]) -> Codes:
    return became[groups[itemsets.rows], itemsets.codes]


def _check_result(result: Anonymized, data: Dataset, groups: Numbers, became: Codes) -> Anonymized:
    """Check that the nodes or sets that were read reproduce the result, and return it."""
    numbers = _expand_to_occurrences(became, data.columns[0], groups)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)  # this is only a check
            made = release(data.writer, partial(data.decision, groups, numbers, {}))
    except GuaranteeError:
        hint = "pass the original frame of the result"
        problem = "the classes of the result are not safe in this frame"
        raise ParameterError(problem, where="result", hint=hint) from None
    assert made.classes is not None  # it has quasi-identifiers
    assert result.classes is not None
    if not made.classes.equals(result.classes) or not equal_mappings(made.mapping, result.mapping):
        raise other_frame("other classes, or items with other supports")
    return made


@frozen
class _Class:
    """A class: its number, its rows with their items, and the codes of the items in the table."""

    number: int
    rows: Itemsets
    items: Codes

    @property
    def singles(self) -> Numbers:
        """Support of each item within the class."""
        return SupportIndex.of(self.rows).singles


class ClassRefinement(TimedSearch):
    """The node or set of each item in each class of rows, with a separate search for each class."""

    # ``became`` is safe in each class. It has -1 for items that are suppressed or absent.

    def __init__(
        self, itemsets: Itemsets, groups: Numbers, became: Codes, search: ClassSearch, clock: Clock
    ) -> None:
        super().__init__(clock)
        self._class_search = search
        self._domain = itemsets.n_items if search.cover is None else search.cover[0].n_leaves
        self.best = became.copy()
        found = (
            _Class(int(groups[rows[0]]), *keep_occurring(itemsets.take(rows)))
            for rows in split_groups(groups)
            if len(rows)
        )
        costs = [(each, self._cost(each, self.best[each.number, each.items])) for each in found]
        self._most = sum(self._cost(each, np.full(len(each.items), -1)) for each, _ in costs)
        self._classes = [each for each, cost in costs if cost]
        self._current = sum(cost for _, cost in costs)
        self.is_lowest(self._current)

    def cost(self, became: Codes) -> float:
        """Return the loss of the classes that had a loss at the start, for other nodes or sets."""
        return sum(self._cost(each, became[each.number, each.items]) for each in self._classes)

    def _search(self, each: _Class, limit: float | None) -> Refinement | CutRefinement:
        """Return a search that starts from the best state so far."""
        became, clock = self.best[each.number, each.items], self.clock._replace(limit=limit)
        return self._class_search.begin(each.rows, each.items, became, clock)

    def _share(self, cost: float) -> float:
        return cost / max(self._most, 1)

    def descend(self) -> None:
        """Make moves in each class until none gains, or the time limit is reached."""
        for each in self._classes:
            if not self.is_over():
                search = self._search(each, self.clock.limit)
                search.descend()
                self._keep(each, search.best.reshape(-1))

    def restart(self, rng: np.random.Generator) -> None:
        """Continue the search in each class for an equal share of the remaining time."""
        for done, each in enumerate(self._classes):
            if self.is_over():
                break
            passed, limit = self.clock.passed, self.clock.limit
            assert limit is not None  # otherwise there is no time for it
            search = self._search(each, passed + (limit - passed) / (len(self._classes) - done))
            search.restart(rng)
            self._keep(each, search.best.reshape(-1))

    def _keep(self, each: _Class, numbers: NDArray[Any]) -> None:
        before = self.best[each.number, each.items]
        if self._class_search.cover is None:  # an item of the set becomes its number
            first = first_members(numbers)
            numbers = np.where(first < 0, -1, each.items[first])
        saved = self._cost(each, before) - self._cost(each, numbers)
        if saved > 0:
            self.best[each.number, each.items] = numbers
            self._current -= saved
            self.is_lowest(self._current)

    def _cost(self, each: _Class, numbers: NDArray[Any]) -> float:
        """Return the loss of a class for the nodes or sets of its items: an integer, or the balanced one."""
        loss, cover = self._class_search.loss, self._class_search.cover
        if cover is None:
            sizes = np.bincount(numbers[numbers >= 0], minlength=int(numbers.max(initial=0)) + 1)[numbers]
            if loss == "balanced":
                whole = suppressed_cost(len(numbers)) * len(each.rows.codes)
                return whole * balanced_loss(numbers, each.singles, sizes > 1, len(numbers))
        else:
            sizes = cover[0].leaves[numbers].astype(np.int64)
        lost = np.where(sizes > 1, sizes - BASES[loss], 0)
        lost[numbers < 0] = max(self._domain - BASES[loss], 1)
        return int(lost @ each.singles)
