"""Optimal anonymization: the cut of a hierarchy that loses least, by a 0-1 program.

The problems are those of Terrovitis, Mamoulis, Kalnis, "Privacy-preserving Anonymization of Set-valued
Data", PVLDB 1(1), 2008, and, with suppression, of Liu, Wang, "Anonymizing Transaction Data by Integrating
Suppression and Generalization", PAKDD 2010; the way to solve them is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.items._generalization import covered
from pdanon.algorithms.items.mhghs import rounds
from pdanon.algorithms.record import Algorithm, Way
from pdanon.algorithms.states.cuts import Cut
from pdanon.algorithms.states.descent import Descent, Mask, Scenario
from pdanon.algorithms.states.packing import Packing
from pdanon.algorithms.states.solver import chosen
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.parameters import check_seconds
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.calling import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.deadline import TimeLimitError, limited, seconds_left
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.progress import Report
from pdanon.itemsets.support import SupportIndex, csr, threats_beyond_pairs
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.values import check_flag
from pdanon.recoding.decided import Decided
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "optimal"]

_SAMPLE = 20_000  # threats that are made demands of in a round: most of the others are met with them
_FEW = 2_000  # the same for clauses, of which there may be k - 1 for each threat


@called_by_name
def optimal(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = 2,
    hierarchy: HierarchyLike,
    suppress: bool = False,
    time_limit: float = 60,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize by generalizing items to the cut of a hierarchy with the least possible loss.

    With ``suppress=True`` nodes of the cut may be suppressed, where that loses less.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; None: all items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        The item taxonomy, or what ``Hierarchy.of`` makes one of; an int is the fan-out of a balanced one
        over the items in order.
    suppress : bool
        Whether nodes of the cut may be suppressed, as those of :func:`pdanon.hghs`. What is optimized is
        then LM, else NCP.
    time_limit : float
        Seconds to search for the optimum; not negative. Building the search comes on top, and without
        ``suppress`` the greedy solution to fall back on.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy; without ``suppress`` nothing is suppressed.
        ``loss["gap"]`` is 0 if no safe cut has a lower NCP, or with ``suppress`` LM; else, when time was up,
        the largest share of it that a better cut could still save.

    Raises
    ------
    InfeasibleError
        If fewer than k, but more than 0, rows hold an item or are not missing.
    HierarchyError
        If the hierarchy is not a tree or lacks items of the data.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KmAnonymity(k, m)``. It comes from exact counts of the chosen cut and from the audit, never
    from the solver. A tie between cuts is left to the solver.

    A 0-1 variable says of each inner node whether the cut is at it or above it. Every rare set of nodes
    demands that the parent of one of them is so; demands of nodes and pairs are all there from the start,
    those of larger sets are added as long as the optimum breaks one. A demand implied by that of a rare set
    further up is left out. HiGHS solves the program.

    When time is up, the last cut is raised until it is safe, in the way of :func:`apriori`. Where even
    the program of its demands was not solved, the cut of :func:`apriori` is released if it loses less.

    With ``suppress`` there is a variable for each node that may be published, and clauses in place of the
    demands. The linear program, in which nodes may be published in part, bounds the loss from below; what it
    publishes for the most part, made safe in the way of :func:`hghs`, bounds it from above. If the bounds
    do not meet, the 0-1 program is solved for the nodes that they leave undecided. The search begins with
    the better one of the results of :func:`hghs` and :func:`mhghs`, which it never falls behind, if there is
    time for them; else with the cut that :func:`hghs` has come down to.

    Cost: memory of 12 bytes for each pair of nodes that are in a row together; time of counting those
    pairs, for m > 2 of listing rare itemsets of the generalized rows, and of the solver, which may grow
    exponentially with the inner nodes that are neither forced nor free; there are seldom many. With
    ``suppress`` also that of :func:`hghs` and :func:`mhghs`.

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
    >>> df = pd.DataFrame({"items": [["a1"], ["a1", "a2"], ["a1", "b1"], ["b1"], ["a2", "b1"], ["b2"]]})
    >>> result = df.txanon.optimal(k=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> result.loss["gap"]
    np.float64(0.0)
    >>> result.mapping["generalized"].tolist()
    ['A', 'A', 'B', 'B']

    It loses less to suppress b2, which is in one row, than to generalize b1:

    >>> result = df.txanon.optimal(k=2, hierarchy={"A": ["a1", "a2"], "B": ["b1", "b2"]}, suppress=True)
    >>> result.mapping["generalized"].tolist()
    ['A', 'A', 'b1', <NA>]
    """
    return RECORD.released(
        frame,
        column,
        progress,
        keep=keep,
        k=k,
        m=m,
        hierarchy=hierarchy,
        suppress=suppress,
        time_limit=time_limit,
    )


def decide(
    columns: ListColumns,
    report: Report,
    *,
    k: int,
    m: int | None,
    hierarchy: HierarchyLike,
    suppress: bool,
    time_limit: float,
) -> Decided:
    """What becomes of the items, and how much less another decision could lose."""
    guarantee = KmAnonymity(k, m)
    k, m = guarantee.k, guarantee.m
    seconds = check_seconds(time_limit, "time_limit", zero=True)
    check_flag(suppress, "suppress")
    index, tree, leaves = covered(columns.itemsets, hierarchy, k)
    if suppress:
        scenario, bound = least_scenario(index, tree, leaves, k, m, report, seconds)
        nodes, loss = scenario.nodes_of(leaves), scenario.cost
    else:
        cut, bound = least_cut(index, tree, leaves, k, m, report, seconds)
        nodes, loss = cut.nodes, cut.loss
    gap = (loss - bound) / loss if loss > bound else 0.0
    return Decided.of(columns, Recoding.of_cut(nodes, tree), guarantee).with_loss("gap", gap)


def least_cut(
    index: SupportIndex,
    tree: Hierarchy,
    leaves: Codes,
    k: int,
    m: int | None,
    report: Report,
    time_limit: float,
) -> tuple[Cut, int]:
    """Find a safe cut of little loss, and a loss that no safe cut is below."""
    start = Cut(index, tree, leaves)
    deadline = monotonic() + time_limit
    demands = [start.first_demands(k, pairs=m != 1)]
    cut, bound, solved = start.copy(), 0, True
    while (seconds := deadline - monotonic()) > 0:
        nodes, least, solved = _least_cover(demands, tree, start.added_losses, seconds)
        bound = max(bound, least)
        cut = start.copy()
        cut.lift(nodes)
        cut.satisfy_pairs(k, pairs=m != 1)  # nothing to do, unless the solver's rounding broke a demand
        threats = next(threats_beyond_pairs(cut.index, k, m), None)
        report(1)
        if threats is None:
            break
        demands.append(start.demands(_sample(threats, _SAMPLE), k))
    else:
        cut.protect(k, m, report)
    if not solved:
        greedy = start.copy()
        greedy.protect(k, m, report)
        cut = min(cut, greedy, key=lambda safe: safe.loss)
    return cut, bound


def _least_cover(
    demands: Sequence[ItemsetTable], tree: Hierarchy, added_losses: NDArray[np.int64], seconds: float
) -> tuple[Codes, int, bool]:
    """Choose nodes that meet all demands, at the least loss of covering them and all below them.

    Returns
    -------
    nodes : ndarray
        The chosen nodes; the root if the time did not suffice for any choice.
    bound : int
        No choice loses less.
    solved : bool
        Whether the time sufficed to prove that the chosen nodes lose no more than the bound.
    """
    nodes, columns = np.unique(np.concatenate([table.codes for table in demands]), return_inverse=True)
    n = len(nodes)
    if n == 0:
        return nodes, 0, True
    above = np.maximum(tree.parent, 0)
    variable = np.full(tree.n_nodes, -1)
    variable[nodes] = np.arange(n)
    for _ in range(tree.height):  # a node in no demand is covered exactly if the next one above it is
        variable = np.where(variable < 0, variable[above], variable)
    loss = np.zeros(n, np.int64)
    np.add.at(loss, variable[variable >= 0], added_losses[variable >= 0])

    # Each demand: a sum of at least 1. Each node below another: covered if the upper one is.
    upper = variable[above[nodes]]
    lower = np.flatnonzero((upper >= 0) & (nodes > 0))
    sizes = np.concatenate([*(np.diff(table.offsets) for table in demands), np.full(len(lower), 2)])
    signs = np.concatenate((np.ones(len(columns)), np.tile((1.0, -1.0), len(lower))))
    columns = np.concatenate((columns, np.column_stack((lower, upper[lower])).ravel()))
    rows = csr((signs, columns, offsets_of(sizes)), len(sizes), n)
    least = np.arange(len(sizes)) < len(sizes) - len(lower)
    found, bound, solved = chosen(loss, rows, least, np.inf, seconds)
    return np.zeros(1, np.int32) if found is None else nodes[found], bound, solved


def least_scenario(
    index: SupportIndex,
    tree: Hierarchy,
    leaves: Codes,
    k: int,
    m: int | None,
    report: Report,
    time_limit: float,
) -> tuple[Scenario, int]:
    """Find a cut and what is kept of it at little cost, and a cost that no other such choice is below."""
    search = _Search(index, tree, leaves, k, m, report)
    try:
        with limited(time_limit):
            search.begin()
            search.go_on()
    except TimeLimitError:
        pass  # what was found so far is safe, and the bound holds
    return search.best, max(search.bound, 0)


class _Search:
    """What to publish and what to suppress: the best that was found so far, and a bound for all."""

    def __init__(
        self, index: SupportIndex, tree: Hierarchy, leaves: Codes, k: int, m: int | None, report: Report
    ) -> None:
        self._index, self._tree, self._leaves, self._k, self._m = index, tree, leaves, k, m
        self._report = report
        self._descent = Descent(index, tree, leaves, k=k, m=m)
        self._whole = int(index.singles.sum()) * (tree.n_leaves - 1)  # the cost of publishing nothing
        cut = Cut(index, tree, leaves)
        self._packing = Packing(cut, tree, self._descent.worth, k=k, pairs=m != 1)
        self._steps = self._descent.steps(report)
        self.best = next(self._steps)

    @property
    def bound(self) -> int:
        """No choice costs less."""
        return self._whole - self._packing.most

    def begin(self) -> None:
        """Take the better one of the results of `hghs`, step by step, and `mhghs`."""
        for scenario in self._steps:
            self._take(scenario)
        *_, in_rounds = rounds(self._index, self._tree, self._leaves, self._k, self._m, self._report)
        self._take(in_rounds)

    def go_on(self) -> None:
        """Raise the bound and look at what gives it, until nothing can be better."""
        packing = self._packing
        hasty = threats_of_choices = self._m is None or self._m > 2  # others are all known from the start
        while self.bound < self.best.cost:
            self._report(1)
            shares = packing.relax(seconds_left())
            if shares is None:
                break
            if packing.enforce(shares):
                continue
            self._look(shares > 0.5)
            if packing.enforce(shares) or self.bound >= self.best.cost:
                continue
            published = packing.choose(self._whole - self.best.cost, seconds_left(), hasty=hasty)
            if published is None:
                break
            self._look(published)
            learnt = packing.enforce(published)
            if not learnt and not hasty:
                break
            hasty = learnt and threats_of_choices

    def _look(self, published: Mask) -> None:
        """Take a choice if it is safe; else learn why it is not, and take what is left of it."""
        cost = self._whole - int(self._descent.worth[published].sum())
        choice = Scenario(self._descent.around(published), published, cost)
        safe = self._packing.allows(published)
        if safe:
            nodes = choice.nodes_of(self._leaves)
            rows = self._index.recoded(nodes, self._tree.n_nodes).distinct()
            for threats in islice(threats_beyond_pairs(lambda: rows, self._k, self._m), 1):
                self._packing.learn(_sample(threats, _FEW))
                safe = False
        self._take(choice if safe else self._descent.scenario(choice.cut))

    def _take(self, scenario: Scenario) -> None:
        self.best = min(self.best, scenario, key=lambda each: each.cost)


def _sample(threats: ItemsetTable, most: int) -> ItemsetTable:
    return threats.take(np.arange(0, len(threats), 1 + len(threats) // most))


def _nodes(index: SupportIndex, *task: Any, **options: Any) -> Codes:
    """The node of each occurrence; nothing is suppressed."""
    cut, _ = least_cut(index, *task, **options)
    return cut.nodes[index.codes]


RECORD = Algorithm(
    optimal,
    (KmAnonymity,),
    recodes="items",
    decide=decide,
    unit="rounds",
    nodes=_nodes,
    options={"time_limit": 60},
    ways=(
        Way(KmAnonymity, 80, needs="hierarchy"),
        # What it finds it mostly finds at once; to prove that it is the least may take minutes.
        Way(KmAnonymity, 100, {"suppress": True}, needs="hierarchy", most=5),
    ),
)
