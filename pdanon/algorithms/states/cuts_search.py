"""Searches for lower cuts: nodes are replaced by their descendants while the guarantee is kept."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import local_recoding
from pdanon.algorithms.states.sets_search import trace_of
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Mask, Numbers, canonical_rows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import is_over

Move = tuple[NDArray[Any], int, Codes]  # blocks, the node to replace in them, the nodes that replace it


class CutRefinement:
    """Cuts of blocks of rows that are lowered node by node, and the best ones found.

    Labels are counted over all blocks. If nothing is suppressed at the start, nothing will be.
    `ParameterError`: the nodes at the start lack the guarantee, or are not of one cut.
    """

    def __init__(
        self,
        index: SupportIndex,
        blocks: Codes,  # the block of each row
        tree: Hierarchy,
        leaves: Codes,  # the leaf of each item
        became: Codes,  # node of each item in each block, of one cut; -1 if suppressed or absent
        guarantee: KmAnonymity,
        base: int = 0,  # 0 for NCP, 1 for LM
        started: float | None = None,  # value of ``time.perf_counter()``
    ) -> None:
        self._started = time.perf_counter() if started is None else started
        self._tree = tree
        order = np.argsort(leaves)
        self._place = np.argsort(order).astype(np.int32)  # position of each item in the hierarchy
        n_blocks, n_items = became.shape
        codes, _ = canonical_rows(self._place[index.codes], index.offsets, max(n_items, 1))
        marked = np.insert(codes, index.offsets[1:], n_items + blocks).astype(np.int32)
        offsets = index.offsets + np.arange(len(index.offsets), dtype=np.int64)
        rows = SupportIndex(marked, offsets, n_items + n_blocks, index.weights).distinct()
        within = np.concatenate((leaves[order], [tree.n_nodes]))
        nodes = np.arange(tree.n_nodes)
        self._first, self._last = np.searchsorted(within, (nodes, nodes + tree.size))
        cells = blocks[np.repeat(np.arange(len(blocks)), np.diff(index.offsets))] * np.int64(n_items) + codes
        weights = np.repeat(index.weights, np.diff(index.offsets))
        occurrences = np.bincount(cells, weights, minlength=became.size).astype(np.int64)
        price = np.where(tree.leaves == 1, 0, tree.leaves.astype(np.int64) - base)
        self._most = max(tree.n_leaves - base, 1)
        self._became = np.ascontiguousarray(became[:, order])
        self._occurrences = occurrences.reshape(became.shape)
        self._price = np.append(price, self._most)
        self._drop = bool(((self._became < 0) & (self._occurrences > 0)).any())
        # In pre-order, an only child follows its parent, and its subtree is one node smaller.
        lone = np.append(tree.size[:-1] == tree.size[1:] + 1, False)
        self._lower = np.minimum.accumulate(np.where(lone, tree.n_nodes, nodes)[::-1])[::-1]
        self._state = self._state_of(guarantee, rows)
        self._fill()
        self._check_start(rows, guarantee)
        self.best = became
        self._least = self._cost = self._current_cost()
        self._curve = [(time.perf_counter() - self._started, self._least)]

    def _state_of(self, guarantee: KmAnonymity, rows: SupportIndex) -> local_recoding.BlockCut:
        """Return the state of kernels, with the sizes of the sets of labels that are checked."""
        whole = guarantee.m is None or guarantee.m > max(rows.longest - 1, 2)
        return local_recoding.BlockCut(
            became=self._became,
            first=self._first,
            last=self._last,
            parent=self._tree.parent,
            size=self._tree.size,
            occurrences=self._occurrences,
            price=self._price,
            rows=rows.rows,
            k=guarantee.k,
            whole=whole,
            depth=0 if whole or guarantee.m is None else guarantee.m - 1,
            drop=self._drop,
        )

    def _fill(self) -> None:
        """Give absent items of a block the published node above them; check that these nodes are a cut."""
        became, occurrences = self._became, self._occurrences
        for block, node in np.argwhere(self._published()):
            below = slice(self._first[node], self._last[node])
            if (occurrences[block, below] > 0)[became[block, below] != node].any():
                hint = "no published node may be below another"
                raise ParameterError("the release is not a cut of the hierarchy", where="result", hint=hint)
            became[block, below] = node

    def _check_start(self, rows: SupportIndex, guarantee: KmAnonymity) -> None:
        n_items = len(self._place)
        items = rows.keep_items(np.arange(rows.n_items) < n_items)
        blocks = rows.codes[rows.offsets[1:] - 1] - n_items
        nodes = self._became[np.repeat(blocks, np.diff(items.offsets)), items.codes]
        offsets = offsets_of(nodes >= 0)[items.offsets]
        codes, offsets = canonical_rows(nodes[nodes >= 0], offsets, self._tree.n_nodes)
        index = SupportIndex(codes, offsets, self._tree.n_nodes, rows.weights)
        if index.at_risk(guarantee.k, guarantee.m).any():
            raise ParameterError(
                "the nodes of the result are not safe in this frame",
                where="result",
                hint="pass the frame that the result was made from",
            )

    @property
    def trace(self) -> pd.DataFrame:
        """The lowest loss over time: columns ``seconds`` and ``loss``."""
        most = self._most * int(self._occurrences.sum())
        return trace_of((seconds, cost / most if most else 0.0) for seconds, cost in self._curve)

    def descend(self, limit: float | None = None, rng: np.random.Generator | None = None) -> None:
        """Apply moves, those with the largest gain first, until none gains; keep the best.

        With a generator, the moves are shuffled.
        """
        gained = 1
        while gained and not is_over(self._started, limit):
            gained = self._replace_all(limit, rng) or self._exchange(limit)
            self._cost -= gained
            self._keep()

    def lower(self) -> None:
        """Apply single moves until none gains: a small part of the time of `descend`."""
        self._cost -= self._replace_all(None)
        self._keep()

    def _replace_all(self, limit: float | None, rng: np.random.Generator | None = None) -> int:
        """Apply all moves that gain, in rounds; return the sum of the gains."""
        total, gained = 0, 1
        while gained:
            moves = self._moves()
            if rng is not None:
                rng.shuffle(moves)
            gained = sum(self._replace(move, 0) for move in moves if not is_over(self._started, limit))
            total += gained
        return total

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Raise nodes of the best cuts at random and descend again, until the limit in seconds."""
        became, tree = self._became, self._tree
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
            self._least, self.best = self._cost, self._became[:, self._place].copy()
            self._curve.append((time.perf_counter() - self._started, self._cost))

    def _current_cost(self) -> int:
        return int((self._occurrences * self._price[self._became]).sum())

    def _replace(self, move: Move, least: int) -> int:
        blocks, top, nodes = move
        return local_recoding.replace(blocks, top, nodes.astype(np.int32), least, self._state)

    def _exchange(self, limit: float | None) -> int:
        """Apply the first move that gains together with the moves that it requires and allows."""
        became = self._became
        for _, top, nodes in self._moves() if len(became) == 1 else ():
            old = became.copy()
            if not is_over(self._started, limit) and local_recoding.force(
                top, nodes.astype(np.int32), self._state
            ):
                self._replace_all(limit)
                gained = self._cost - self._current_cost()
                if gained > 0:
                    return gained
            became[:] = old
        return 0

    def _moves(self) -> list[Move]:
        """Return the moves that would gain if they were safe: largest gain first, then by node and block.

        A node is replaced in one block, or in all blocks that publish it.
        """
        occurrences, price, tree = self._occurrences, self._price, self._tree

        def below(values: Numbers) -> Numbers:
            total = np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))
            return total[:, self._last] - total[:, self._first]

        loss, as_itself = below(occurrences * price[self._became]), below(occurrences) * price[:-1]
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

    def _published(self) -> Mask:
        """Return for each block which nodes it publishes."""
        became = self._became
        published = np.zeros((len(became), self._tree.n_nodes + 1), np.bool_)
        published[np.arange(len(became))[:, None], became] = True
        return published[:, :-1]


_ANY = -(2**62)  # below every gain
