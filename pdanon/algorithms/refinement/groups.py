"""Refinement of groups: rows with equal published lists move to other groups, or swap groups.

The algorithms that form groups decide row by row, or split by split, and never revise a decision. Refinement
moves or swaps rows as long as that loses less and no group has fewer than k rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import row_groups
from pdanon.algorithms.refinement.cuts import (
    base_of,
    check_mapping,
    groups_of,
    published_occurrences,
)
from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.states.cuts import LeafRows, by_first_row, empty_alike, node_counts
from pdanon.algorithms.states.sets_search import trace_of
from pdanon.errors import ParameterError
from pdanon.guarantees import TransactionalK
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.itemsets.timing import is_over
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

_TRIED = 8  # groups that a row may move to
_LOOKED_AT = 1000  # groups compared with a row, to find these
_PARTNERS = 2  # rows of each group that a row may swap with: the least similar
_LARGE = 200  # rows of a group beyond which none leaves it
_TURNS = 1000  # rows that take turns between checks of the time
_ENOUGH = 1000  # the search ends when a round gains less than this part of the loss


class GroupRefinement:
    """Groups of rows with equal published lists, between which rows move and swap.

    Parameters
    ----------
    rows : LeafRows
        All rows.
    tree : Hierarchy
        Hierarchy of the items.
    groups : ndarray of int, shape (rows,)
        The group of each row, any number; -1 for rows published without items.
    k : int
        Minimum number of rows of a group.
    bags : bool
        Whether a group is published as the multiset of nodes that its rows have in common. Otherwise it is
        published at the lowest cut where its rows have equal nodes.
    base : int
        0 for NCP, 1 for LM.
    started : float
        Start of the time limit, a value of ``time.perf_counter()``.

    Raises
    ------
    ParameterError
        If a group has fewer than k rows, or contains a row without items.
    """

    def __init__(
        self,
        rows: LeafRows,
        tree: Hierarchy,
        groups: NDArray[Any],
        k: int,
        bags: bool,
        base: int,
        started: float,
    ) -> None:
        self._tree, self._bags, self._k, self._started = tree, bags, k, started
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
        leaves = tree.leaves.astype(np.int64)
        self._most = max(tree.n_leaves - base, 1)
        price = np.append(np.where(leaves == 1, 0, leaves - base), self._most)
        self._counted = node_counts(self._rows, tree)
        starts, nodes, counts = self._counted
        self._price = price
        self._groups = row_groups.Groups(
            bags=bags,
            starts=starts,
            nodes=nodes,
            counts=counts,
            parent=tree.parent,
            size=tree.size,
            price=price,
            group_of=group_of,
            after=after,
            first=first,
            sizes=sizes,
            tried=_TRIED,
            looked_at=_LOOKED_AT,
        )
        row_groups.costs(self._groups)
        self._n_occurrences = len(rows.leaves)
        self._silent = (len(rows.leaves) - len(self._rows.leaves)) * self._most
        self._curve = [(time.perf_counter() - started, self.cost)]

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

    def trace(self, before: Codes) -> pd.DataFrame:
        """Return the least loss over time, ``seconds`` and ``loss``, starting with that of other nodes."""
        costs = [int(self._price[before].sum()), *(cost for _, cost in self._curve)]
        seconds = [self._curve[0][0], *(passed for passed, _ in self._curve)]
        most = max(self._most * len(before), 1)
        falls = [0, *(i for i in range(1, len(costs)) if costs[i] < costs[i - 1])]
        return trace_of((seconds[i], costs[i] / most) for i in falls)

    def descend(self, limit: float | None) -> None:
        """Let rows take turns, round by round, until a round gains little or the time limit is reached."""
        most = max(_LARGE, 2 * self._k)
        members = np.arange(len(self._rows.lengths))
        gained = self.cost
        while gained * _ENOUGH > self.cost:
            gained, holders = 0, self._groups_by_node()
            for start in range(0, len(members), _TURNS):
                if is_over(self._started, limit):
                    return
                turns = members[start : start + _TURNS]
                gained += row_groups.move_rows(self._k, turns, _PARTNERS, most, *holders, self._groups)
            self._curve.append((time.perf_counter() - self._started, self.cost))

    def _groups_by_node(self) -> tuple[Numbers, Numbers]:
        """Return, for each node, the groups whose rows all contain it, as CSR arrays."""
        starts, counted, _ = self._counted
        least, firsts = row_groups.least_counts(self._groups), np.asarray(self._groups.first)
        lengths = starts[firsts + 1] - starts[firsts]
        ends = np.cumsum(lengths)
        places = np.arange(lengths.sum()) + np.repeat(starts[firsts] - ends + lengths, lengths)
        groups = np.repeat(np.arange(len(firsts)), lengths)[least[places] > 0]
        nodes = counted[places][least[places] > 0]
        order = np.argsort(nodes, kind="stable")
        return np.searchsorted(nodes[order], np.arange(self._tree.n_nodes + 1)), groups[order]


# --- The refinement of a release


def refine_groups(task: Task) -> Anonymized:
    """Refine groups of rows with equal published lists."""
    itemsets, result = empty_alike(task.itemsets), task.result
    tree, leaves = Hierarchy.over(result.parameters["hierarchy"], itemsets.vocabulary)
    groups = groups_of(result)
    guarantee = result.guarantee
    assert groups is not None  # it is a local recoding
    assert isinstance(guarantee, TransactionalK)
    bags, mapping = ALGORITHMS[result.parameters["algorithm"]].repeats, result.mapping
    rows = LeafRows.of(itemsets.codes, itemsets.offsets, leaves)
    silent = ~np.isin(groups, mapping["group"][mapping["generalized"].notna()])
    group_of = np.where(silent, -1, groups)
    search = GroupRefinement(rows, tree, group_of, guarantee.k, bags, base_of(task), task.started)
    before = search.nodes if bags else published_occurrences(result, itemsets, tree, leaves, groups)
    made = Recoding.of_cut(before, tree, groups, repeats=bags)
    check_mapping(result, itemsets, made)
    search.descend(task.limit)
    cut_short = task.cut_short
    of_row = by_first_row(search.group_of)
    recoding = Recoding.of_cut(search.nodes, tree, of_row, repeats=bags)
    return task.publish(itemsets, recoding, search.trace(before), cut_short, made)
