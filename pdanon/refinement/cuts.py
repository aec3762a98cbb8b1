"""Nodes of a hierarchy are published more specifically, in all rows or in a block of rows.

The algorithms that raise a cut never lower it again. Here single nodes of a cut are replaced by their
children, and what is suppressed is published, as long as that loses less and the guarantee stays.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets import Codes, Itemsets, canonical_rows
from pdanon.original import other_frame
from pdanon.parameters import check_known
from pdanon.progress import is_over
from pdanon.recoding import Recoding, mapping_table, release
from pdanon.refinement.task import Task
from pdanon.result import Anonymized
from pdanon.support import SupportIndex

__all__ = [
    "CutRefinement",
    "base_of",
    "check_mapping",
    "cover_of",
    "equal_mappings",
    "groups_of",
    "published_nodes",
    "published_occurrences",
    "refined_cuts",
]

_LOSSES = {"ncp": 0, "lm": 1}
Move = tuple[NDArray[Any], int, Codes]  # blocks, the node that is replaced there, the nodes that replace it


def refined_cuts(task: Task) -> Anonymized:
    """Refine a recoding to the nodes of one cut, or of one cut a block of rows."""
    itemsets, result = task.itemsets, task.result
    tree, leaves = cover_of(result, itemsets)
    groups = groups_of(result)
    of_row = np.zeros(itemsets.n_rows, np.int32) if groups is None else groups
    became = published_nodes(result, itemsets, tree, leaves, of_row)
    index, base, km = SupportIndex.of(itemsets), base_of(task), result.guarantee
    assert isinstance(km, KmAnonymity)
    search = CutRefinement(index, of_row, tree, leaves, became, km, base, task.started)
    task.run(search)
    recoding = _recoding(search.best, itemsets, tree, groups)
    refined = release(task.original, task.position, itemsets, recoding, km, task.parameters)
    if "gap" in result.loss:
        refined.loss["gap"] = _gap(result, refined, int(index.singles.sum()), tree.n_leaves)
    return replace(refined, trace=search.trace)


def _gap(result: Anonymized, refined: Anonymized, occurrences: int, n_leaves: int) -> float:
    """The share of its loss that a refined release may still save, by the bound that `optimal` found."""
    base = int(result.parameters["suppress"])
    name, whole = ("LM" if base else "NCP"), occurrences * max(n_leaves - base, 1)
    before, after = (round(float(each.loss[name]) * whole) for each in (result, refined))
    bound = round(before * (1 - float(result.loss["gap"])))
    return (after - bound) / after if after > bound else 0.0


def base_of(task: Task) -> int:
    """What is taken off a number of leaves, and off that of all, to have the loss: 0 for NCP, 1 for LM."""
    return _LOSSES[check_known(task.asked["loss"], _LOSSES, "loss of such a release", where="loss")]


def cover_of(result: Anonymized, itemsets: Itemsets) -> tuple[Hierarchy, Codes]:
    """The hierarchy that a result was made with, and the leaf of each item."""
    texts = itemsets.texts()
    return Hierarchy.of(result.parameters["hierarchy"], texts).cover(texts)


def groups_of(result: Anonymized) -> Codes | None:
    """The group of each row, if groups are recoded apart."""
    return None if result.groups is None else result.groups.to_numpy().astype(np.int32)


def published_nodes(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """The node of each item in each group, -1 where it is suppressed or not there, from the mapping table.

    Raises
    ------
    ParameterError
        If the mapping is not one of these items to nodes above them, or counts other rows.
    """
    n_groups = int(of_row.max(initial=0)) + 1
    groups, items, nodes = _mapped(result, itemsets, tree, leaves, n_groups)
    became = np.full((n_groups, itemsets.n_items), -1, np.int32)
    became[groups, items] = nodes
    check_mapping(result, itemsets, _recoding(became, itemsets, tree, of_row))
    return became


def published_occurrences(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """The node of each occurrence, -1 where it is suppressed; as `published_nodes`, for many groups."""
    groups, items, nodes = _mapped(result, itemsets, tree, leaves, int(of_row.max(initial=0)) + 1)
    keys = groups * np.int64(itemsets.n_items) + items
    order = np.argsort(keys, kind="stable")
    wanted = of_row[itemsets.rows] * np.int64(itemsets.n_items) + itemsets.codes
    places = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return nodes[order][places]


def _mapped(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, n_groups: int
) -> tuple[NDArray[np.int64], Codes, Codes]:
    """The group, the item and the node of each line of a mapping table."""
    mapping = result.mapping
    items = itemsets.lookup(pa.chunked_array(mapping["item"]))
    number = {label: node for node, label in enumerate(tree.labels)}
    labels, texts = pd.factorize(mapping["generalized"])
    nodes = np.array([*(number.get(text, tree.n_nodes) for text in texts), -1], np.int32)[labels]
    groups = mapping["group"].to_numpy()
    if (items < 0).any():
        raise other_frame(f"{int((items < 0).sum())} other items")
    if (nodes == tree.n_nodes).any() or ((groups < 0) | (groups >= n_groups)).any():
        raise _other_recoding()
    leaf = leaves[items]
    if not ((nodes < 0) | ((nodes <= leaf) & (leaf < nodes + tree.size[nodes]))).all():
        raise _other_recoding()
    return groups.astype(np.int64), items, nodes


def check_mapping(result: Anonymized, itemsets: Itemsets, recoding: Recoding) -> None:
    """Check that a recoding of a column is the one of a result."""
    if not equal_mappings(mapping_table(itemsets, recoding), result.mapping):
        raise other_frame("items with other supports")


def _recoding(became: Codes, itemsets: Itemsets, tree: Hierarchy, groups: NDArray[Any] | None) -> Recoding:
    if groups is None:
        return Recoding.of_cut(became[0], tree)
    return Recoding.of_cut(became[groups[itemsets.rows], itemsets.codes], tree, groups.astype(np.int32))


def equal_mappings(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two mapping tables say the same, whatever types of text they are of."""
    if len(one) != len(other):
        return False
    text = pa.large_string()
    columns = [(table[name] for table in (one, other)) for name in ("item", "generalized")]
    texts = ([pa.chunked_array(column).cast(text) for column in pair] for pair in columns)
    same = all(first.equals(second) for first, second in texts)
    return same and all(np.array_equal(one[name], other[name]) for name in ("group", "support"))


def _other_recoding() -> ParameterError:
    return ParameterError(
        "the release is not one of nodes of its hierarchy",
        where="result",
        hint="its hierarchy must be the one that it was made with",
    )


class CutRefinement:
    """Cuts of blocks of rows that go down a hierarchy node by node, and the best that were found so far.

    Labels count over all blocks. Where nothing is suppressed to begin with, nothing will be.

    Parameters
    ----------
    index : SupportIndex
        Rows of items.
    blocks : ndarray of int32, shape (rows,)
        The block of each row.
    tree : Hierarchy
        Over the items.
    leaves : ndarray of int32, shape (items,)
        The leaf of each item.
    became : ndarray of int32, shape (blocks, items)
        Node of each item in each block, -1 if it is suppressed or not there; nodes of one cut a block. They
        have the guarantee.
    guarantee : KmAnonymity
        What is to be kept.
    base : int
        0 for NCP, 1 for LM.
    started : float, optional
        Since when seconds are counted; a value of ``time.perf_counter()``.

    Raises
    ------
    ParameterError
        If the nodes do not have the guarantee, or are not those of cuts.
    """

    def __init__(
        self,
        index: SupportIndex,
        blocks: Codes,
        tree: Hierarchy,
        leaves: Codes,
        became: Codes,
        guarantee: KmAnonymity,
        base: int = 0,
        started: float | None = None,
    ) -> None:
        self._started = time.perf_counter() if started is None else started
        self._tree = tree
        order = np.argsort(leaves)
        self._place = np.argsort(order).astype(np.int32)  # of each item, in the order of the hierarchy
        n_blocks, n_items = became.shape
        codes, _ = canonical_rows(self._place[index.codes], np.diff(index.offsets), max(n_items, 1))
        marked = np.insert(codes, index.offsets[1:], n_items + blocks).astype(np.int32)
        offsets = index.offsets + np.arange(len(index.offsets), dtype=np.int64)
        rows = SupportIndex(marked, offsets, n_items + n_blocks, index.weights).distinct()
        starts, tids, _ = rows.transpose
        self._rows = rows.codes, rows.offsets, rows.weights, starts, tids
        within = np.concatenate((leaves[order], [tree.n_nodes]))
        nodes = np.arange(tree.n_nodes)
        first, last = np.searchsorted(within, (nodes, nodes + tree.size))
        cells = blocks[np.repeat(np.arange(len(blocks)), np.diff(index.offsets))] * np.int64(n_items) + codes
        weights = np.repeat(index.weights, np.diff(index.offsets))
        occurrences = np.bincount(cells, weights, minlength=became.size).astype(np.int64)
        price = np.where(tree.leaves == 1, 0, tree.leaves.astype(np.int64) - base)
        self._most = max(tree.n_leaves - base, 1)
        self._state: Any = (
            np.ascontiguousarray(became[:, order]),  # of one layout, so that kernels are compiled once
            first,
            last,
            occurrences.reshape(became.shape),
            np.append(price, self._most),
        )
        self._drop = bool(((self._state[0] < 0) & (self._state[3] > 0)).any())
        # In pre-order the only child of a node comes right after it, with a subtree one node smaller.
        lone = np.append(tree.size[:-1] == tree.size[1:] + 1, False)
        self._lower = np.minimum.accumulate(np.where(lone, tree.n_nodes, nodes)[::-1])[::-1]
        self._set_limits(guarantee, rows)
        self._fill()
        self._check_start(rows, guarantee)
        self.best = became
        self._least = self._cost = self._current_cost()
        self._curve = [(time.perf_counter() - self._started, self._least)]

    def _set_limits(self, guarantee: KmAnonymity, rows: SupportIndex) -> None:
        """How large the sets of labels are that count, and room to count them."""
        longest = rows.longest - 1
        self._whole = guarantee.m is None or guarantee.m > max(longest, 2)
        depth = 0 if self._whole or guarantee.m is None else guarantee.m - 1
        n_rows, n_nodes = len(rows.weights), self._tree.n_nodes
        self._asked = guarantee.k, self._whole
        self._space: Any = (
            np.zeros(n_rows, np.int64),
            np.zeros(1, np.int64),
            np.empty((max(depth, 1), n_rows), np.int32),
            np.zeros((depth, n_nodes), np.int64),
            np.empty((depth, n_nodes), np.int32),
            np.empty(depth, np.int64),
            np.empty(depth, np.int64),
        )

    def _fill(self) -> None:
        """Give items that a block lacks the node that is published above them; check that these are cuts."""
        became, first, last, occurrences, _ = self._state
        for block, node in np.argwhere(self._published()):
            below = slice(first[node], last[node])
            if (occurrences[block, below] > 0)[became[block, below] != node].any():
                hint = "no published node may be below another"
                raise ParameterError("the release is not one of cuts", where="result", hint=hint)
            became[block, below] = node

    def _check_start(self, rows: SupportIndex, guarantee: KmAnonymity) -> None:
        n_items = len(self._place)
        items = rows.holding_only(np.arange(rows.n_items) < n_items)
        blocks = rows.codes[rows.offsets[1:] - 1] - n_items
        nodes = self._state[0][np.repeat(blocks, np.diff(items.offsets)), items.codes]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(nodes >= 0)))[items.offsets]
        codes, lengths = canonical_rows(nodes[nodes >= 0], np.diff(offsets), self._tree.n_nodes)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        index = SupportIndex(codes, offsets, self._tree.n_nodes, rows.weights)
        if index.at_risk(guarantee.k, guarantee.m).any():
            raise ParameterError(
                "the nodes of the result are not safe in this frame",
                where="result",
                hint="give the frame that the result was made from",
            )

    @property
    def trace(self) -> pd.DataFrame:
        """The least loss over time: columns ``seconds`` and ``loss``."""
        most = self._most * int(self._state[3].sum())
        curve = [(seconds, cost / most if most else 0.0) for seconds, cost in self._curve]
        return pd.DataFrame(curve, columns=["seconds", "loss"], dtype="float64")

    def descend(self, limit: float | None = None, rng: np.random.Generator | None = None) -> None:
        """Make moves, those of most gain first, until none is left; keep the best.

        With a source of randomness, moves are made in any order.
        """
        gained = 1
        while gained and not is_over(self._started, limit):
            gained = self._replace_all(limit, rng) or self._exchange(limit)
            self._cost -= gained
            self._keep()

    def _replace_all(self, limit: float | None, rng: np.random.Generator | None = None) -> int:
        """Make all moves that gain, round after round; return the sum of gains."""
        total, gained = 0, 1
        while gained:
            moves = self._moves()
            if rng is not None:
                rng.shuffle(moves)
            gained = sum(self._replace(move, 0) for move in moves if not is_over(self._started, limit))
            total += gained
        return total

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Raise nodes of the best at random and descend again, until the limit in seconds is reached."""
        became, tree = self._state[0], self._tree
        while not is_over(self._started, limit):
            became[:] = self.best[:, np.argsort(self._place)]
            blocks, items = np.nonzero(became > 0)
            if not len(items):
                return
            for _ in range(rng.integers(1, 5)):
                place = rng.integers(len(items))
                node = became[blocks[place], items[place]]
                if node > 0:
                    above = int(tree.parent[node])
                    self._replace((blocks[[place]], above, np.array([above], np.int32)), _ANY)
            self._cost = self._current_cost()
            self.descend(limit, rng)

    def _keep(self) -> None:
        if self._cost < self._least:
            self._least, self.best = self._cost, self._state[0][:, self._place].copy()
            self._curve.append((time.perf_counter() - self._started, self._cost))

    def _current_cost(self) -> int:
        became, _, _, occurrences, price = self._state
        return int((occurrences * price[became]).sum())

    def _replace(self, move: Move, least: int) -> int:
        from pdanon._kernels import refine_cuts as kernels

        task: Any = self._drop, *self._asked, self._state, self._rows, self._space
        blocks, top, nodes = move
        return kernels.replace(blocks, top, nodes.astype(np.int32), least, *task)

    def _exchange(self, limit: float | None) -> int:
        """Make the first move that gains with what has to give way to it, and with what follows."""
        from pdanon._kernels import refine_cuts as kernels

        became, levels = self._state[0], (self._tree.parent, self._tree.size)
        task: Any = self._drop, *self._asked, *levels, self._state, self._rows, self._space
        for _, top, nodes in self._moves() if len(became) == 1 else ():
            old = became.copy()
            if not is_over(self._started, limit) and kernels.force(top, nodes.astype(np.int32), *task):
                self._replace_all(limit)
                gained = self._cost - self._current_cost()
                if gained > 0:
                    return gained
            became[:] = old
        return 0

    def _moves(self) -> list[Move]:
        """What may be replaced and would gain if it were safe: most gain first, then by node and block.

        A node is replaced in one block, or in all that publish it.
        """
        became, first, last, occurrences, price = self._state
        tree = self._tree

        def below(values: NDArray[np.int64]) -> NDArray[np.int64]:
            total = np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))
            return total[:, last] - total[:, first]

        loss, as_itself = below(occurrences * price[became]), below(occurrences) * price[:-1]
        as_children = np.zeros_like(loss)
        np.add.at(as_children.T, tree.parent[1:], as_itself.T[1:])
        gains = np.where(self._published(), loss - as_children[:, self._lower], 0).T
        found = []
        for node in np.flatnonzero((gains > 0).any(axis=1)).tolist():
            blocks = np.flatnonzero(gains[node] > 0)
            children = tree.children(int(self._lower[node]))
            if len(blocks) > 1:
                found.append((int(gains[node].sum()), (blocks, node, children)))
            found += [(int(gains[node, block]), (np.array([block]), node, children)) for block in blocks]
        for block, node in np.argwhere(loss > as_itself) if self._drop else ():
            gain = int(loss[block, node] - as_itself[block, node])
            found.append((gain, (np.array([block]), int(node), np.array([node], np.int32))))
        found.sort(key=lambda each: -each[0])
        return [move for _, move in found]

    def _published(self) -> NDArray[np.bool_]:
        """Whether each block publishes each node."""
        became = self._state[0]
        published = np.zeros((len(became), self._tree.n_nodes + 1), np.bool_)
        published[np.arange(len(became))[:, None], became] = True
        return published[:, :-1]


_ANY = -(2**62)
