"""Searches for better sets, while the guarantee is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import inf, log2, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import set_annealing, set_moves
from pdanon._kernels.rare_clusters import LargerItemsets
from pdanon.algorithms.states.clusters import Clusters, first_members
from pdanon.algorithms.weights import item_weights
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import constraint_table
from pdanon.guarantees.verdict import Guarantee
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, sums
from pdanon.itemsets.support import ItemsetTable, SupportIndex, no_itemsets
from pdanon.itemsets.threads import share
from pdanon.itemsets.timing import Clock, Pace, TimedSearch, call_uncounted, count_steps, time_spent

# --- Annealing


SWEEPS = 40  # of an annealing without a time limit; for losses by size alone, twice as many
_HOT, _COLD = 120.0, 10.0  # first and last temperature, where the mean weight of an occurrence is 1
_AT_PRICE = np.geomspace(60.0, 1.0, 20)  # temperatures at a fixed price, where no descent follows
_PRICE_STEPS = 1000  # fixed prices are integers up to this number
_WARMER = 100  # the temperature doubles for each so many items that a changed occurrence costs
_PENALTY = 300.0  # first price of a row that is lacking, where that weight is 1
_LACKING = 0.7  # part of the sweeps in which the sets may be unsafe
_RISE, _FALL, _DROP = 1.1, 0.85, 0.7  # factors of the penalty
_PRESS = 1.25  # factor of the penalty in the last sweeps, while the sets are unsafe
_SLOTS = 2048  # sets that there is always room for
MOST_IN_CUBE = 640  # sets whose triples are all counted: 174 MB
MOST_SETS = 4096  # sets of a table that is annealed; there is room for twice as many: 270 MB for their pairs


# --- The loss that a search lowers: an exact integer, except for the balanced one


LOSSES = {"NCP": 0, "LM": 1, "UL": 2, "balanced": 3}


def balanced_costs(size: Numbers, held: Numbers, squares: Floats, n_items: int) -> Floats:
    """Return the balanced loss of sets of changed items, from sums of supports and of their squares."""
    # In tables of 60 to 3,340 items, no term decides alone.
    deviation = np.sqrt(np.maximum(size * squares - held.astype(np.float64) ** 2, 0))
    return (size + sqrt(n_items)) * held + sqrt(n_items) * deviation


def suppressed_cost(n_items: int) -> float:
    """Return the balanced loss of an occurrence that is suppressed: that of a set of all items."""
    return n_items + sqrt(n_items)


def balanced_loss(labels: Numbers, supports: Numbers, changed: Mask, n_items: int) -> float:
    """Return the balanced loss of the items that occur: 1 if all are suppressed, which is label -1."""
    sets = changed & (labels >= 0)
    size = np.bincount(labels[sets])
    worth = supports[sets].astype(np.float64)
    held, squares = (np.bincount(labels[sets], each).astype(np.float64) for each in (worth, worth**2))
    cost = float(balanced_costs(size, held.astype(np.int64), squares, n_items).sum())
    cost += suppressed_cost(n_items) * int(supports[labels < 0].sum())
    most = suppressed_cost(n_items) * int(supports.sum())
    return cost / most if most else 0.0


@frozen
class Price:
    """A loss of sets of items."""

    loss: int  # number in ``LOSSES``
    worth: Numbers  # support of each item times its importance
    singles: Numbers
    n_rows: int
    n_items: int  # number of all items, also if sets of them move together as one

    @classmethod
    def of(cls, loss: Any, itemsets: Itemsets, singles: Numbers, n_rows: int) -> Price:
        """Return the loss of the parameter ``loss`` of `pdanon.refine`."""
        if isinstance(loss, str):
            return cls(LOSSES[loss], singles, singles, n_rows, len(singles))
        weights = item_weights(loss, itemsets)
        worth = singles if weights is None else singles * weights
        return cls(LOSSES["NCP"], worth, singles, n_rows, len(singles))

    @property
    def change(self) -> float:
        """Items to add to the size of each set of several items."""
        # If it is positive, it is also the cost of the spread of the supports in a set, relative to one item.
        if self.loss == LOSSES["balanced"]:
            return sqrt(self.n_items)
        return -float(self.loss)

    @property
    def unit(self) -> float:
        """Cost that temperatures and penalties of an annealing are multiples of."""
        weight = float(self.worth.sum() / max(self.singles.sum(), 1))
        return weight * (1 + max(self.change, 0) / _WARMER)

    def cost(
        self,
        size: Numbers,
        held: Numbers,
        support: Numbers,
        gone: Mask,
        squares: Floats | None = None,
    ) -> float:
        """Return the loss: an exact integer, except for the balanced one."""
        # ``held`` is the total worth of the items of each set, ``squares`` that of their squares; ``support``
        # is the number of transactions with one of them, and ``gone`` masks the suppressed items.
        n = self.n_items
        if self.loss == LOSSES["UL"]:
            sizes, where = np.unique(size, return_inverse=True)
            supports = sums(where, support, len(sizes))
            pairs = [
                (n, int(self.worth[gone].sum())),
                *zip(sizes.tolist(), supports.tolist(), strict=True),
            ]
            return sum(((1 << size) - 1) * support for size, support in pairs)
        if self.loss == LOSSES["balanced"]:
            assert squares is not None
            costs = np.where(size > 1, balanced_costs(size, held, squares, n), 0)
            return float(costs.sum() + suppressed_cost(n) * self.worth[gone].sum())
        each = np.where(size > 1, size - self.loss, 0)
        return int(each @ held) + (n - self.loss) * int(self.worth[gone].sum())

    def share(self, cost: float) -> float:
        """Return the reported loss for a cost."""
        n = self.n_items
        if self.loss == LOSSES["UL"]:
            return log2(cost) - log2((1 << n) - 1) - log2(self.n_rows) if cost else -np.inf
        most = (n + self.change) * int(self.worth.sum())
        return cost / most if most else 0.0


@frozen
class Nearness:
    """The price of the levels of a hierarchy on which the items of a set have no common node."""

    # If it is all levels, an occurrence costs as much as one that is suppressed, by the balanced loss.

    near: float  # of one level and occurrence
    rank: Numbers  # place of the leaf of each item, among these leaves in order
    path: Codes  # nodes above each place, from the root

    @classmethod
    def of(cls, tree: Hierarchy, items: pa.Array) -> Nearness:
        """Return the price for items in this order."""
        tree, leaves = tree.cover_items(items)
        order = np.argsort(leaves, kind="stable")
        near = suppressed_cost(len(leaves)) / (tree.height + 1)
        return cls(near, np.argsort(order, kind="stable"), np.array(tree.node_paths[leaves[order]]))

    def cost(self, labels: Numbers, worth: Numbers) -> float:
        """Return the price of sets, given the set of each item."""
        kept, n = labels >= 0, int(labels.max(initial=-1)) + 1
        ends = np.full(n, len(labels) - 1), np.zeros(n, np.int64)
        for extreme, places in zip((np.minimum, np.maximum), ends, strict=True):
            extreme.at(places, labels[kept], self.rank[kept])
        low, high = (self.path[places] for places in ends)
        left = np.logical_or.accumulate(low != high, axis=1).sum(axis=1)
        return self.near * int(left @ sums(labels[kept], worth[kept], n))


# --- Sets between which items move


KINDS = "the results of pcta, coat, upcta and ps_rules can be refined"


_FIRST = 8  # items of the first stage
_ENOUGH = 4_000  # a stage ends if a round gains less than this fraction of the loss
_STEPS = 2**28  # counting steps between two checks of the time limit
_STARTS = 2  # annealings with seeds of their own, each in a thread; the result with the lowest loss is kept
_FEW = 400  # items for which two annealings with all sweeps are quick
_QUICK_PART = 0.7  # of the sweeps for more items, annealed once: the loss of eight tables is 0.3 % higher
_QUICK = 2**18  # items that these sweeps move at most
_LEAST_SWEEPS = 10
_MOST = 20_000  # clusters whose pairs are all counted, unless there are more at the start: 1.6 GB
_SPARE = 256  # empty clusters that there are always, up to that number


class Refinement(TimedSearch):
    """Clusters between which items move to lower the loss, and the best ones found."""

    # Supports are counted when the search starts, as this takes long for long rows. `ParameterError`: the
    # guarantee cannot be refined, or the clusters lack it, or they split a set of the earlier release.

    def __init__(
        self,
        itemsets: Itemsets,
        labels: NDArray[Any],  # cluster of each item; -1 if it is suppressed
        guarantee: Guarantee,
        blocks: Numbers | None = None,  # only items of the same block share a cluster
        loss: Any = "NCP",  # as in `pdanon.refine`
        clock: Clock | None = None,
        # First item of the set of each item in an earlier release; such a set moves as a whole.
        first: Codes | None = None,
        # Anneal once, and in fewer sweeps if there are many items, unless there are few.
        quick: bool = False,
        nearness: Nearness | None = None,  # added to the balanced loss
    ) -> None:
        super().__init__(clock)
        self._nearness = nearness
        self._guarantee = check_refinable(guarantee)
        index = SupportIndex.of(itemsets)
        price = Price.of(loss, itemsets, index.singles, index.n_rows)
        table = no_itemsets()
        if isinstance(guarantee, PrivacyConstraints):
            table = constraint_table(guarantee.constraints, itemsets)
        self._of_item = np.arange(index.n_items)
        mass, square = np.ones(index.n_items, np.int64), price.worth.astype(np.float64) ** 2
        if first is not None and (first != self._of_item).any():
            members, self._of_item, mass = np.unique(first, return_inverse=True, return_counts=True)
            labels, whole = labels[members], labels
            if (labels[self._of_item] != whole).any():
                hint = "pass the release that the result starts from: start=january"
                raise ParameterError(
                    "the result splits sets of the earlier release", where="start", hint=hint
                )
            blocks = None if blocks is None else blocks[members]
            index = index.recode(self._of_item, len(members))
            square = np.bincount(self._of_item, square).astype(np.float64)
            worth = sums(self._of_item, price.worth, len(members))
            price = replace(price, worth=worth, singles=index.singles)
            images = self._of_item[table.codes].astype(np.int32)
            codes, bounds = canonical_rows(images, table.offsets, len(members))
            table = ItemsetTable(codes, bounds, table.supports)
        self._price, self._mass = price, mass
        self._index = index = index.distinct()
        self._rows = index.rows
        n, kept = index.n_items, np.flatnonzero(labels >= 0)
        _, cluster = np.unique(np.where(labels < 0, -1, labels), return_inverse=True)
        cluster = cluster - int(len(kept) < n)
        n_clusters = int(cluster.max(initial=-1)) + 1
        largest = _largest(self._guarantee, n_clusters)
        self._most = min(n, MOST_IN_CUBE if largest == 3 else max(n_clusters, _MOST))
        slots = self._most if largest == 3 else min(self._most, _room(n_clusters))
        self._blocks = blocks = np.zeros(n, np.int64) if blocks is None else blocks
        words = (len(index.weights) + 63) // 64 if largest == 0 else 0
        self._options: dict[str, Any] = {
            "k": min(self._guarantee.k, index.n_rows + 1),  # there is a price for each support below k
            "largest": largest,
            "loss": price.loss,
            "change": price.change,
            "singles": index.singles,
            "worth": price.worth,
            "block": np.ascontiguousarray(blocks, np.int64),
            "itemsets": table.codes,
            "bounds": table.offsets,
            "words": words,
            "mass": mass,
            "square": square,
        }
        if nearness is not None:
            self._options |= {"near": nearness.near, "rank": nearness.rank, "path": nearness.path}
        self._state = set_moves.State(label=cluster, slots=slots, **self._options)
        self._m = None if largest == 0 else self._guarantee.m  # type: ignore[union-attr]
        self._is_exact = largest == 0 or self._m == largest
        self._space = self._make_space()
        self._order = np.argsort(price.worth, kind="stable")[::-1].copy()
        self._best = cluster.copy()
        self._pace = Pace()  # items that move between two checks of the time limit
        self._to_anneal = self._anneals()  # before the first descent
        self._starts, self._sweeps = _STARTS, SWEEPS if price.loss == LOSSES["balanced"] else 2 * SWEEPS
        if quick and n > _FEW:
            sweeps = min(round(_QUICK_PART * self._sweeps), _QUICK // n)
            self._starts, self._sweeps = 1, max(sweeps, _LEAST_SWEEPS)
        self.hurried = False  # whether the time limit left too few sweeps to the first annealing

    def _make_space(self) -> set_moves.Space:
        """Return the work space for the clusters that there is room for."""
        index, slots, larger = self._index, len(self._state.size), None
        largest, words = self._state.largest, self._options["words"]
        if not self._is_exact:
            m = index.longest if self._m is None else self._m
            larger = LargerItemsets(k=self._guarantee.k, known=largest, m=m, rows=index.rows, slots=slots)
        return set_moves.Space(larger=larger, slots=slots, largest=largest, words=words)

    def _make_room(self, n_clusters: int = 0) -> int:
        """Make room for some clusters, and for new ones; return the number of items that may move."""
        slots = len(self._state.size)
        n_empty = slots - np.count_nonzero(self._state.size)
        if slots < self._most and (n_empty < _SPARE or slots < n_clusters):
            self._state.grow(min(self._most, max(2 * slots, n_clusters)))
            self._space = self._make_space()
            return self._make_room(n_clusters)
        return self._index.n_items if slots == self._most else int(n_empty)

    def _begin(self) -> bool:
        """Count the initial supports, if they are not counted yet; return whether there was time."""
        if self._curve:
            return True
        lengths = self._index.lengths
        steps = np.cumsum(lengths.astype(np.float64) ** max(self._state.largest, 1))
        ends = np.flatnonzero(np.diff(steps // _STEPS, append=np.inf)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            if begin and self.is_over():
                return False
            set_moves.count(begin, end, self._state, self._rows, self._space)
        set_moves.count_constraints(self._state, self._rows, self._space)
        if self._state.lack or not self._larger_are_safe():
            raise ParameterError(
                "the clusters of the result are not safe in this frame",
                where="result",
                hint="pass the frame that the result was made from",
            )
        return self.is_lowest(self._cost())

    def _larger_are_safe(self) -> bool:
        """Return whether no itemset of more clusters than the state counts is rare."""
        if self._is_exact:
            return True
        index = self._index.relabel(np.asarray(self._state.label))
        return not index.at_risk(self._guarantee.k, self._m).any()

    @property
    def best(self) -> Numbers:
        """The cluster of each item in the best state, -1 if it is suppressed."""
        return self._best[self._of_item]

    def _share(self, cost: float) -> float:
        return self._price.share(cost)

    def descend(self) -> None:
        """Anneal, then move items until little is gained."""
        # The annealing comes before the first descent only. All ends when the limit is reached.
        if not self._begin():
            return
        if self._to_anneal:
            self._to_anneal = False
            self._anneal(self._sweeps, 0)
        n = self._index.n_items
        stage, all_awake, is_done = min(_FIRST, n), False, False
        while not is_done and not self.is_over():
            before = self._cost()
            self._move(self._order[:stage])
            after = self._cost()
            if (before - after) * _ENOUGH > after:
                all_awake = False
            else:
                is_done, all_awake = stage == n and all_awake, stage == n
                if all_awake:
                    set_moves.wake(self._state)
                stage = min(stage + (stage + 1) // 2, n)
            self._keep()

    def restart(self, rng: np.random.Generator) -> None:
        """Search on from the best clusters until the limit in seconds."""
        # Anneal in twice as many sweeps each time, or merge clusters at random; then descend again.
        sweeps = self._sweeps
        while self._anneals() and self._begin() and not self.is_over():
            sweeps *= 2
            self._anneal(sweeps, int(rng.integers(2**63)))
            self.descend()
        while self._begin() and not self.is_over():
            labels = self._best.copy()
            n_clusters = len(np.unique(labels[labels >= 0]))
            if n_clusters < 2:
                return
            for _ in range(rng.integers(1, 2 + n_clusters // 4)):
                one, other = rng.choice(np.flatnonzero(labels >= 0), 2)
                if self._blocks[one] == self._blocks[other]:
                    labels[labels == labels[other]] = labels[one]
            set_moves.relocate(labels, self._state, self._rows, self._space)
            if not self._state.lack:  # a random merge may have violated a constraint
                self.descend()

    def _anneals(self) -> bool:
        """Return whether annealing can lower the loss: not for m = 1, for UL, or for too many sets."""
        by_size = self._price.loss != LOSSES["UL"] and self._state.largest != 1 and self._is_exact
        # With triples, there is room for each item alone; with less, annealing ends above the moves alone.
        size = self._index.n_items if self._state.largest == 3 else np.count_nonzero(self._state.size)
        most = MOST_IN_CUBE if self._state.largest == 3 else MOST_SETS
        return by_size and self._index.n_items > 1 and int(size) <= most

    def _anneal(self, sweeps: int, seed: int) -> None:
        """Search for clusters from the best ones, with unsafe clusters on the way, and store the best."""
        labels = np.unique(self._best, return_inverse=True)[1] - int((self._best < 0).any())
        spent = partial(time_spent, time.perf_counter(), *self.clock)
        starts = [(labels, sweeps, seed + i, spent) for i in range(self._starts)]
        steps = sweeps * len(self._index.codes)
        for found, last, complete in share(self._anneal_once, starts, steps):
            self._make_room(int(max(found.max(), last.max())) + 1)
            set_moves.relocate(found, self._state, self._rows, self._space)
            self._keep()
            set_moves.relocate(last, self._state, self._rows, self._space)
            if self._state.lack and self._state.largest and not self.is_over():
                self._repair()  # of few pairs, after the whole way
            self.hurried |= not complete and sweeps == self._sweeps
        set_moves.relocate(self._best, self._state, self._rows, self._space)

    def _anneal_once(
        self, labels: Numbers, sweeps: int, seed: int, spent: Callable[[], float]
    ) -> tuple[Numbers, Numbers, bool]:
        """Return safe sets of no higher cost than the given ones, the last ones, and if time was left."""
        # The temperature falls from sweep to sweep. The penalty for a row that is lacking holds their number
        # near a bound, which falls from one for each item to 0. So neither needs to be known for the data.
        n, unit = len(labels), self._price.unit
        clusters, sweep = self._begin_annealing(labels, seed)
        penalty, cooling = _PENALTY * unit, (_COLD / _HOT) ** (1 / max(sweeps - 1, 1))
        temperature = _HOT * unit
        done, number = 0.0 if spent() < 1 else inf, 0  # sweeps of the way that are done, and sweeps in fact
        while done < sweeps or (clusters.lack and done < 2 * sweeps):
            sweep(temperature, penalty)
            left = 1 - done / (_LACKING * sweeps)
            allowed = n * left**3 if left > 0 else 0.0
            if clusters.lack > allowed:
                factor = _RISE if left > 0 else _PRESS
            else:
                factor = _DROP if 2 * clusters.lack < allowed else _FALL
            number += 1
            step = max(1.0, 2 * sweeps * spent() - done)
            done += step
            # In larger steps the price of a row must rise as far, but may fall less.
            penalty *= factor ** min(step, SWEEPS) if factor > 1 else factor
            temperature = max(temperature * cooling**step, _COLD * unit)
        return clusters.best, clusters.state["label"], done == number

    def anneal_at(self, prices: Floats, seed: int) -> Numbers:
        """Anneal with a fixed price of each support below k; return the last sets, which may be unsafe."""
        # ``prices`` are in relation to the balanced cost of an occurrence that changes, without the size of
        # its set. Too many sets stay as they are.
        labels = np.unique(self._best, return_inverse=True)[1]
        if labels.max(initial=0) >= MOST_SETS:
            return labels
        steps = np.rint(prices / prices.max() * _PRICE_STEPS).astype(np.int64)
        clusters, sweep = self._begin_annealing(labels, seed, steps)
        for temperature in _AT_PRICE * self._price.unit:
            count_steps()
            sweep(temperature, float(prices.max()) / _PRICE_STEPS * self._price.change)
        return np.unique(clusters.state["label"], return_inverse=True)[1]

    def lowest_sets(self) -> Numbers:
        """Return the sets of the lowest cost, if there are not too many to anneal, or else the first ones."""
        if self._to_anneal:
            self.descend()
        return np.unique(self.best, return_inverse=True)[1]

    def _begin_annealing(
        self, labels: Numbers, seed: int, prices: Numbers | None = None
    ) -> tuple[Any, Callable[[float, float], None]]:
        """Return the sets with their supports, and a sweep for a temperature and a penalty."""
        n, n_sets, triples = len(labels), int(labels.max(initial=-1)) + 1, self._state.largest == 3
        slots = min(n, MOST_IN_CUBE if triples else _room(n_sets))
        word = (seed * 0x9E3779B97F4A7C15 % 2**64) | 1  # not 0, and other bits for seeds next to one another
        sets = set_annealing.Annealing(label=labels, slots=slots, seed=word, prices=prices, **self._options)
        space = set_moves.Space(slots=slots, largest=self._state.largest, words=self._options["words"])
        set_moves.count(0, len(self._index.weights), sets, self._rows, space)
        set_moves.count_constraints(sets, self._rows, space)
        set_annealing.begin(sets)
        return sets, partial(set_annealing.sweep, clusters=sets, rows=self._rows, space=space)

    def _move(self, order: Numbers) -> None:
        """Apply the best move of each item."""
        first = 0
        while first < len(order) and not self.is_over():
            with self._pace as batch:
                batch = min(batch, self._make_room())
                set_moves.descend(order[first : first + batch], self._state, self._rows, self._space)
            first += batch

    def _keep(self) -> None:
        """Store the clusters if they have the guarantee and the lowest loss so far."""
        if not self._state.lack and self.is_lowest(self._cost()):
            self._best = np.array(self._state.label)

    def _cost(self) -> float:
        """Return the loss: an exact integer, except for the balanced one."""
        state = self._state
        sums_of = state.size, state.held, state.support
        size, held, support = (np.asarray(each) for each in sums_of)
        labels = np.asarray(state.label)
        cost = self._price.cost(size, held, support, labels < 0, np.asarray(state.squares))
        return cost if self._nearness is None else cost + self._nearness.cost(labels, self._price.worth)

    def _repair(self) -> None:
        """Merge clusters to protect larger itemsets too, and store them if the loss is the lowest."""
        index, labels, n = self._index, np.asarray(self._state.label), self._index.n_items
        kept, stands_in = labels >= 0, first_members(labels)
        rows = index.relabel(stands_in)
        sizes = sums(stands_in[kept], self._mass[kept], n)
        clusters = Clusters(rows, None, self._blocks, sizes=sizes)
        try:
            call_uncounted(clusters.satisfy_km, self._guarantee.k, self._guarantee.m)  # type: ignore[union-attr]
        except InfeasibleError:
            return
        merged = np.full(n, -1)
        merged[kept] = labels[clusters.labels[stands_in[kept]]]
        set_moves.relocate(merged, self._state, self._rows, self._space)
        self._keep()


def _room(n_clusters: int) -> int:
    """Return the number of clusters to make room for at first."""
    return max(2 * n_clusters, _SLOTS)


def _largest(guarantee: KmAnonymity | PrivacyConstraints, n_clusters: int) -> int:
    """Return the maximum size of itemsets with current supports; 0 for constraints."""
    if isinstance(guarantee, PrivacyConstraints):
        return 0
    largest = 3 if guarantee.m is None else min(guarantee.m, 3)
    return 2 if largest == 3 and n_clusters > MOST_IN_CUBE else largest


def check_refinable(guarantee: Guarantee) -> KmAnonymity | PrivacyConstraints:
    """Check that sets can be refined under a guarantee."""
    if not isinstance(guarantee, (KmAnonymity, PrivacyConstraints)):
        got = type(guarantee).__name__
        raise ParameterError(
            "a release with this guarantee cannot be refined", where="result", got=got, hint=KINDS
        )
    return guarantee
