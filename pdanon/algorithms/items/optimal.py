"""Optimal anonymization: the cut of a hierarchy with the least loss, by a 0-1 program."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice
from math import floor, isfinite
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import cut_search
from pdanon.algorithms.items._generalization import choose_scenario, started_task
from pdanon.algorithms.items.hghs import paths
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import Cut, CutTask, Descent, NodePrices, Scenario
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import ItemLimit, check_seconds
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, Numbers, Offsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import Floats, mask_at, offsets_of, rows_of, sums
from pdanon.itemsets.support import ItemsetTable, SupportIndex, csr, threats_beyond_pairs
from pdanon.itemsets.timing import TimeLimitError, count_steps, limit_time, seconds_left
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized


def solve_program(
    loss: Numbers,
    rows: Any,
    least: float | NDArray[Any],
    most: float | NDArray[Any],
    seconds: float,
    allowed: tuple[Any, Any] = (0, 1),
    tolerance: float = 0,
) -> tuple[Mask | None, int, bool]:
    """Solve a 0-1 program: choose the variables with the least total loss."""
    # ``loss``: loss of choosing each variable. ``rows``: coefficients of the sums. ``least``, ``most``: lower
    # and upper bounds of the sums. ``allowed``: lower and upper bounds of the variables. ``tolerance``:
    # relative gap between loss and bound at which the search may end. Returns chosen: the chosen variables;
    # None if no choice was found. Returns bound: lower bound on the loss of any choice. Returns solved:
    # whether the search proved that the choice is optimal, or that there is none.
    from scipy.optimize import Bounds, LinearConstraint, milp

    result = milp(
        loss,
        integrality=np.ones(len(loss)),
        bounds=Bounds(*allowed),
        constraints=LinearConstraint(rows, least, most),
        options={"time_limit": seconds, "mip_rel_gap": tolerance},
    )
    nothing = int(loss[loss < 0].sum())
    if result.x is None:
        return None, nothing, result.status == 2
    yes = result.x > 0.5
    if result.status == 0 and not tolerance:
        return yes, int(loss[yes].sum()), True
    bound = result.mip_dual_bound
    return yes, floor(bound) if bound is not None and isfinite(bound) else nothing, False


# --- Packing: the most valuable nodes of a hierarchy that can be published without threats


_HASTE = 0.9  # share of the gap between choice and bound that may stay open
_BATCH = 3000  # clauses added per round: larger programs are slower, and most clauses are never needed


class Packing:
    """The choice of nodes to publish as a 0-1 program, with an upper bound on the worth of any choice."""

    def __init__(self, cut: Cut, hierarchy: Hierarchy, worth: Numbers, *, k: int, pairs: bool) -> None:
        self.most = int(worth.sum())  # upper bound on the worth of any choice
        self._worth = worth
        self._k = k
        self._cut = cut
        self._nodes, fit = np.flatnonzero(worth), worth > 0
        self._variable = np.cumsum(fit) - 1
        self._size = hierarchy.size
        above = hierarchy.parent
        while (passed := (above >= 0) & ~fit[above]).any():
            above = np.where(passed, hierarchy.parent[above], above)
        self._up = above  # the next node of some worth above each, or -1
        # Prices are fixed-point integers: as many binary places as products leave free in 63 bits.
        self._places = max(min(20, 60 - int(worth.sum()).bit_length()), 0)
        self._paths = np.empty((0, 2), np.int32)  # lower and upper end of each path
        self._offsets = np.zeros(1, np.int64)
        self._enforced = np.zeros(0, np.bool_)
        # The paths from each lowest node to the highest node above it, if there is one.
        lowest = np.setdiff1d(self._nodes[self._up[self._nodes] >= 0], self._up[self._nodes])
        tops = lowest
        while (self._up[tops] >= 0).any():
            tops = np.where(self._up[tops] >= 0, self._up[tops], tops)
        self._add(np.column_stack((lowest, tops)).astype(np.int32), np.arange(len(lowest) + 1))
        if pairs:
            ends = cut_search.pair_clauses(k, fit, self._up, self._size, cut.supports)
            self._add(ends.reshape(-1, 2), np.arange(0, len(ends) // 2 + 1, 2))

    def relax(self, seconds: float) -> Floats | None:
        """Solve the relaxation, lower ``most`` if possible, and return the shares of the nodes in time."""
        from scipy.optimize import linprog

        rows, limits = self._program()
        worth, options = self._worth[self._nodes], {"time_limit": seconds}
        result = linprog(-worth, rows, limits, bounds=(0, 1), method="highs", options=options)
        if result.status != 0:
            return None
        # By weak duality, any non-negative prices give a bound. Integers make it exact despite rounding.
        prices = np.rint(np.maximum(-result.ineqlin.marginals, 0) * 2.0**self._places).astype(np.int64)
        self._left = (worth << self._places) - prices @ rows
        self._exact = int(prices @ limits) + int(self._left[self._left > 0].sum())
        self.most = min(self.most, self._exact >> self._places)
        shares = np.zeros(len(self._worth))
        shares[self._nodes] = result.x
        return shares

    def choose(self, known: int, seconds: float, *, hasty: bool) -> Mask | None:
        """Choose the nodes to publish with the largest worth, if it exceeds the known worth."""
        # Only enforced clauses are constraints. The last relaxation fixes nodes that are in all or in none of
        # the choices above the known worth. In haste, the search stops after a part of the way from the known
        # worth to the bound.
        rows, limits = self._program()
        spare = self._exact - ((known + 1) << self._places)
        allowed = self._left > spare, self._left >= -spare
        tolerance = _HASTE * (self.most - known) / max(known, 1) if hasty else 0
        yes, bound, solved = solve_program(
            -self._worth[self._nodes], rows, -np.inf, limits, seconds, allowed, tolerance
        )
        if yes is not None or solved:
            self.most = min(self.most, max(known, -bound if yes is not None else known))
        if yes is None:
            return None
        return mask_at(len(self._worth), self._nodes[yes])

    def allows(self, published: Mask) -> bool:
        """Return whether a choice satisfies all clauses, enforced or not."""
        return bool((self._excess(published) < 0.5).all())

    def enforce(self, shares: NDArray[Any]) -> bool:
        """Enforce the clauses that shares, or a choice, break most; return whether any is broken."""
        excess = self._excess(shares)
        broken = np.flatnonzero((excess > 1e-6) & ~self._enforced)
        self._enforced[broken[np.argsort(-excess[broken], kind="stable")[:_BATCH]]] = True
        return len(broken) > 0

    def _excess(self, shares: NDArray[Any]) -> Floats:
        """Return how far the shares on the paths of each clause exceed its limit."""
        padded, above = np.append(shares.astype(np.float64), 0.0), self._up  # index -1, above the root, is 0
        sums = padded.copy()  # from each node up to the root
        while (above >= 0).any():
            sums[:-1] += padded[above]
            above = np.append(self._up, -1)[above]
        within = sums[self._paths[:, 0]] - sums[self._up[self._paths[:, 1]]]
        return np.add.reduceat(np.append(within, 0.0), self._offsets[:-1]) - self._limits

    def learn(self, threats: ItemsetTable) -> None:
        """Add the clauses of rare sets of publishable nodes; no node of a set is above another."""
        fit = self._worth > 0
        sets = threats.codes, threats.offsets
        ends, bounds = cut_search.set_clauses(self._k, *sets, fit, self._up, self._size, self._cut.supports)
        distinct = SupportIndex(ends, bounds, len(fit)).distinct()
        self._add(distinct.codes.reshape(-1, 2), distinct.offsets // 2)

    def _add(self, paths: Codes, offsets: Offsets) -> None:
        self._paths = np.concatenate((self._paths, paths))
        self._offsets = np.concatenate((self._offsets, self._offsets[-1] + offsets[1:]))
        self._enforced = np.concatenate((self._enforced, np.zeros(len(offsets) - 1, np.bool_)))

    @property
    def _limits(self) -> Numbers:
        """Return the upper bound of each clause: its paths minus 1, or 1 node if it has one path."""
        return np.maximum(np.diff(self._offsets) - 1, 1)

    def _program(self) -> tuple[Any, Numbers]:
        """Return the matrix of the enforced clauses and nodes, and the upper bound of each clause."""
        from scipy.sparse import csr_array

        which = np.flatnonzero(self._enforced)
        number = rows_of(self._offsets)
        kept = self._enforced[number]
        at, ends = self._paths[kept].T
        clause = np.searchsorted(which, number[kept])
        rows, columns = [clause], [at]
        while (inner := at != ends).any():
            at, ends, clause = self._up[at[inner]], ends[inner], clause[inner]
            rows.append(clause)
            columns.append(at)
        # HiGHS in older SciPy versions requires 32-bit indices.
        places = np.stack((np.concatenate(rows), self._variable[np.concatenate(columns)])).astype(np.int32)
        shape = len(which), len(self._nodes)
        return csr_array((np.ones(places.shape[1], np.int64), (*places,)), shape=shape), self._limits[which]


# --- The public function and its decision


_SAMPLE = 20_000  # threats per round that become demands: these satisfy most of the others
_FEW = 2_000  # the same for clauses: a threat can have k - 1 of them


@called_by_name
def optimal(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    hierarchy: HierarchyLike,
    suppress: bool = False,
    time_limit: float = 60,
) -> Anonymized:
    """Anonymize by generalizing items to the cut of a hierarchy with the least possible loss.

    With ``suppress=True``, nodes of the cut may be suppressed where that loses less.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m : int, int or None
        At least k rows match any m items that an attacker knows; None: all items. k is at least 2.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Hierarchy of the items, as for ``Hierarchy.of``; an int is the fan-out of a balanced one.
    suppress : bool
        Whether nodes of the cut may be suppressed, as in :func:`pdanon.hghs`. The minimized loss is LM with
        ``suppress``, else NCP.
    time_limit : float
        Upper bound on the search, in seconds; not negative. It excludes building the program and, without
        ``suppress``, the greedy solution that replaces an unsolved program.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy. Without ``suppress``, nothing is suppressed.
        ``loss["gap"]`` is the largest share of the minimized loss that a better cut could still save. It is 0
        if the cut is proven optimal. It can be positive if the time limit was reached, or if more was
        suppressed to hide emptied rows.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k; or if some rows are not missing, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. It follows from exact counts of the chosen cut, never from the solver,
    which breaks ties between cuts.

    A 0-1 variable states for each inner node whether the cut is at or above it. Every rare set of nodes
    demands that the parent of one of its nodes is. Demands of nodes and pairs are in the program from the
    start, those of larger sets are added while the optimum breaks one. If the time limit is reached, the last
    cut is raised until it is safe, as in :func:`apriori`, whose cut is released if not even the first program
    was solved and it loses less.

    With ``suppress``, each publishable node has a variable, and clauses replace the demands. The linear
    relaxation bounds the loss from below. The nodes that it mostly publishes, made safe as in :func:`hghs`,
    bound it from above. If the bounds differ, the 0-1 program is solved for the undecided nodes. The search
    starts with the better result of :func:`hghs` and :func:`mhghs`, or if time is short with the last cut of
    :func:`hghs`, and never returns a worse one.

    After `start_from`, ``gap`` compares with the cuts that are not below the nodes of the earlier release.
    None or at least k rows lose all their items, as in :func:`hghs`; ``gap`` includes this loss.

    Cost: memory of 12 bytes per pair of nodes that share a row. Time to count these pairs, to list rare
    itemsets of the generalized rows if m > 2, and of the solver, which may be exponential in the number of
    undecided inner nodes, usually few. With ``suppress``, the cost of :func:`hghs` and :func:`mhghs` is
    added.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving Anonymization of Set-valued Data",
       PVLDB 1(1), 2008.
    .. [2] J. Liu, K. Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization",
       PAKDD 2010.
    .. [3] Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", Mathematical
       Programming Computation 10(1), 2018. (HiGHS)

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a1"], ["a1", "a2"], ["a1", "b1"], ["b1"], ["a2", "b1"], ["a1", "b2"]]})
    >>> result = df.txanon.optimal(k=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> result.loss["gap"]
    np.float64(0.0)
    >>> result.mapping["generalized"].tolist()
    ['A', 'A', 'B', 'B']
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns,
    *,
    guarantee: KmAnonymity,
    hierarchy: HierarchyLike,
    suppress: bool,
    time_limit: float,
    start: Any = None,
) -> ListDecision:
    """Decide the node of each item, and bound how much less another decision could lose."""
    seconds = check_seconds(time_limit, zero=True)
    check_flag(suppress, "suppress")
    task, read = started_task(columns.itemsets, hierarchy, guarantee, start, drop=suppress)
    if suppress:
        found, bound = least_scenarios(task, seconds)
        prices = NodePrices.of(task.tree)
        choices = [choose_scenario(path, task, prices) for path in found]
        nodes = min(choices, key=lambda each: prices.sum_over(each, task.rows.singles))
        loss = prices.sum_over(nodes, task.rows.singles)
    else:
        cut, bound = least_cut(task, seconds)
        nodes, loss = cut.nodes, cut.loss
    gap = (loss - bound) / loss if loss > bound else 0.0
    return decide_lists(columns, Recoding.of_cut(nodes, task.tree), guarantee, read).with_loss("gap", gap)


def least_cut(task: CutTask, time_limit: float) -> tuple[Cut, int]:
    """Find a safe cut with a low loss, and a lower bound on the loss of any safe cut."""
    tree, k, m = task.tree, task.k, task.m
    start = task.cut()
    deadline = monotonic() + time_limit
    demands = [start.first_demands(k, pairs=m != 1)]
    cut, bound, solved = start.copy(), 0, True
    while (seconds := deadline - monotonic()) > 0:
        nodes, least, solved = _least_cover(demands, tree, start.added_losses, seconds)
        bound = max(bound, start.loss + least)
        cut = start.copy()
        cut.lift(nodes)
        cut.satisfy_pairs(k, pairs=m != 1)  # no effect, unless rounding in the solver broke a demand
        threats = next(threats_beyond_pairs(cut.index, k, m), None)
        count_steps()
        if threats is None:
            break
        demands.append(start.demands(_sample(threats, _SAMPLE), k))
    else:
        cut.protect(k, m)
    if not solved:
        greedy = start.copy()
        greedy.protect(k, m)
        cut = min(cut, greedy, key=lambda safe: safe.loss)
    return cut, bound


def _least_cover(
    demands: Sequence[ItemsetTable], tree: Hierarchy, added_losses: Numbers, seconds: float
) -> tuple[Codes, int, bool]:
    """Choose nodes that satisfy all demands, at the least loss of covering them and all nodes below them."""
    # Returns nodes: the chosen nodes; the root if no choice was found in time. Returns bound: lower bound on
    # the loss of any choice. Returns solved: whether the search proved that the loss of the chosen nodes
    # equals the bound.
    nodes, columns = np.unique(np.concatenate([table.codes for table in demands]), return_inverse=True)
    n = len(nodes)
    if n == 0:
        return nodes, 0, True
    above = np.maximum(tree.parent, 0)
    variable = np.full(tree.n_nodes, -1)
    variable[nodes] = np.arange(n)
    for _ in range(tree.height):  # a node without a demand is covered if the next one above is
        variable = np.where(variable < 0, variable[above], variable)
    loss = sums(variable[variable >= 0], added_losses[variable >= 0], n)

    # Each demand: a sum of at least 1. Each node below another node is covered if the upper one is.
    upper = variable[above[nodes]]
    lower = np.flatnonzero((upper >= 0) & (nodes > 0))
    sizes = np.concatenate([*(table.lengths for table in demands), np.full(len(lower), 2)])
    signs = np.concatenate((np.ones(len(columns)), np.tile((1.0, -1.0), len(lower))))
    columns = np.concatenate((columns, np.column_stack((lower, upper[lower])).ravel()))
    rows = csr(columns, offsets_of(sizes), n, signs)
    least = np.arange(len(sizes)) < len(sizes) - len(lower)
    found, bound, solved = solve_program(loss, rows, least, np.inf, seconds)
    return np.zeros(1, np.int32) if found is None else nodes[found], bound, solved


def least_scenarios(task: CutTask, time_limit: float) -> tuple[list[list[Scenario]], int]:
    """Find cuts with the nodes to publish, and a lower bound on the cost of any such choice."""
    # The first list ends with the least cost found. A second list, if present, is the path of `mhghs`.
    search = _Search(task)
    try:
        with limit_time(time_limit):
            search.start()
            search.improve()
    except TimeLimitError:
        pass  # the scenarios found so far are safe, and the bound holds
    return search.found, max(search.bound, 0)


class _Search:
    """A search for the nodes to publish: the best scenarios found so far, and a bound for all."""

    def __init__(self, task: CutTask) -> None:
        self._task = task
        self._descent = Descent(task)
        # Cost of suppressing everything.
        self._whole = int(task.rows.singles.sum()) * (task.tree.n_leaves - 1)
        worth = self._descent.worth
        self._packing = Packing(task.cut(), task.tree, worth, k=task.k, pairs=task.m != 1)
        self._steps = self._descent.steps()
        self.path = [next(self._steps)]
        self.found = [self.path]

    @property
    def best(self) -> Scenario:
        """The cheapest scenario so far."""
        return self.path[-1]

    @property
    def bound(self) -> int:
        """Lower bound on the cost of any choice."""
        return self._whole - self._packing.most

    def start(self) -> None:
        """Start with the better result of `hghs`, step by step, and `mhghs`."""
        for scenario in self._steps:
            self._take(scenario)
        *_, in_rounds = paths(self._task)
        self._take(in_rounds[-1])
        self.found.append(in_rounds)

    def improve(self) -> None:
        """Raise the bound and try the choices that reach it, until none can be better."""
        packing = self._packing
        m = self._task.m
        hasty = threats_of_choices = m is None or m > 2  # smaller ones are known at the start
        while self.bound < self.best.cost:
            count_steps()
            shares = packing.relax(seconds_left())
            if shares is None:
                break
            if packing.enforce(shares):
                continue
            self._try(shares > 0.5)
            if packing.enforce(shares) or self.bound >= self.best.cost:
                continue
            published = packing.choose(self._whole - self.best.cost, seconds_left(), hasty=hasty)
            if published is None:
                break
            self._try(published)
            has_learned = packing.enforce(published)
            if not has_learned and not hasty:
                break
            hasty = has_learned and threats_of_choices

    def _try(self, published: Mask) -> None:
        """Keep a choice if it is safe; else learn its threats, and keep the safe part of it."""
        cost = self._whole - int(self._descent.worth[published].sum())
        choice = Scenario(self._descent.around(published), published, cost)
        safe = self._packing.allows(published)
        if safe:
            task = self._task
            rows = task.rows.recode(choice.nodes_of(task.leaves), task.tree.n_nodes).distinct()
            for threats in islice(threats_beyond_pairs(lambda: rows, task.k, task.m), 1):
                self._packing.learn(_sample(threats, _FEW))
                safe = False
        self._take(choice if safe else self._descent.scenario(choice.cut))

    def _take(self, scenario: Scenario) -> None:
        if scenario.cost < self.best.cost:
            self.path.append(scenario)


def _sample(threats: ItemsetTable, most: int) -> ItemsetTable:
    return threats.take(np.arange(0, len(threats), 1 + len(threats) // most))


def _nodes(task: CutTask, time_limit: float) -> Codes:
    """Return the node of each item; nothing is suppressed."""
    return least_cut(task, time_limit)[0].nodes


RECORD = Algorithm(
    optimal,
    (KmAnonymity,),
    decide=decide,
    unit="rounds",
    nodes=_nodes,
    options={"time_limit": 60},
    starts=True,
    ways=(
        Way(KmAnonymity, 80, needs="hierarchy"),
        # The best scenario is usually found early; proving that it is optimal may take minutes.
        Way(KmAnonymity, 100, {"suppress": True}, needs="hierarchy", most=5),
    ),
)
