"""Choice: selection of the algorithm with the lowest loss for a guarantee, or for its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.items._starting import UnfitStartError
from pdanon.algorithms.losses import (
    LOSSES,
    MEANING,
    OWN,
    READABLE,
    WITH_MEANING,
    Measure,
    counts_error,
    default_loss,
    read_loss,
)
from pdanon.algorithms.refinement import refine_release
from pdanon.algorithms.refinement.task import HURRIED
from pdanon.algorithms.registry import (
    ALGORITHMS,
    EARLIER,
    LOWERED_BY_DELETIONS,
    ONE_LABEL,
    Parameters,
    Recodes,
    Way,
    algorithm,
    known_arguments,
    of_lists,
    parameters_of,
)
from pdanon.algorithms.relational.quasi import QuasiLike
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import (
    IdentifierWarning,
    InfeasibleError,
    ParameterError,
    ReleaseWarning,
    UselessWarning,
    one_line,
)
from pdanon.guarantees import (
    DisassociatedKm,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    KMap,
    LmDiversity,
    PrivacyConstraints,
    PSRules,
    TransactionalK,
    read_guarantee,
)
from pdanon.guarantees.parameters import (
    DEFAULT_M,
    ItemLimit,
    check_seconds,
)
from pdanon.guarantees.utility import partition
from pdanon.guarantees.verdict import Guarantee
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.columns import find_columns, find_quasi, quasi_names
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.encoded_columns import encode_column, encode_once, write_texts
from pdanon.itemsets.memory import large_arrays_apart, out_of_memory
from pdanon.itemsets.timing import TimeLimitError, assigned, count_steps, limit_time, progress_bar
from pdanon.itemsets.validation import Seed
from pdanon.recoding.bounds import Bound
from pdanon.recoding.counts import NEAR, percent
from pdanon.recoding.loss import combination_error, with_measure
from pdanon.recoding.meaning import level_shares, lost_levels
from pdanon.recoding.release import (
    WITH_RISK,
    NamedBound,
    check_max_loss,
    excess,
    refuse_loss,
    with_risk,
    withhold,
)
from pdanon.recoding.result import Anonymized, is_refined
from pdanon.recoding.unmodified_columns import warn_if_identified
from pdanon.recoding.warnings import SHORT, shortfall, warn_if_short, warn_if_useless

_SHOWN = (*READABLE, "values", "meaning")


# --- The algorithms to try


class Step(NamedTuple):
    """A configuration that `anonymize` tries; the algorithm ``"refine"`` refines the best release so far."""

    algorithm: str
    way: Way

    def __str__(self) -> str:
        name = f"{self.algorithm}, nodes" if self.is_local and self.way.needs else self.algorithm
        return ", ".join([name, *(f"{name}={value}" for name, value in self.way.options.items())])

    @property
    def is_local(self) -> bool:
        """Whether an item may have a label of its own in each row."""
        return self.algorithm != "refine" and ALGORITHMS[self.algorithm].recodes == "rows"


_REFINED = (
    Way(KmAnonymity, 40),
    Way(KmAnonymity, 110, needs="hierarchy"),
    Way(PrivacyConstraints, 40),
    Way(PSRules, 20),
    Way(TransactionalK, 30, needs="hierarchy"),
)


# Algorithms that hardly ever lose least have no configuration: vpa, lra, suppress_public, tfirst, and the
# global ones for quasi-identifiers. tum_bound has none either, as its merges are those of rum_bound.
def steps(model: type) -> list[Step]:
    """Return the configurations for a guarantee in the records of the algorithms, the fastest first."""
    known = [Step(name, way) for name, record in ALGORITHMS.items() for way in record.ways]
    known += [Step("refine", way) for way in _REFINED]
    return sorted((each for each in known if each.way.guarantee is model), key=lambda each: each.way.order)


# --- The public function


@called_by_name
def anonymize(
    frame: pd.DataFrame,
    guarantee: Guarantee | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    quasi: QuasiLike | None = None,
    hierarchy: HierarchyLike | None = None,
    utility: Any = None,
    loss: str | Callable[[pd.DataFrame, Anonymized], float] | Any = None,
    max_loss: Mapping[str, float] | None = None,
    time_limit: float = 60,
    random_state: Seed = None,
) -> Anonymized:
    """Anonymize under a guarantee, with the algorithm that loses least.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    guarantee : Guarantee, optional
        The guarantee, such as ``pdanon.KKm(k=5, m=2, quasi=["age"])``.
    column : hashable, optional
        The list column. By default, the only one.
    k, m : int, optional
        Short for ``pdanon.KmAnonymity(k, m)``: at least k rows match up to m known items of a row.
        ``m=None``: all items.
    quasi : sequence of hashable or mapping, optional
        Columns that an attacker may know as well: short for ``pdanon.KKm(k, m, quasi)``. A mapping has their
        weights and hierarchies, as in `rum_bound`; beside a guarantee, of some of its columns.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        The hierarchy of the items, in any form that ``Hierarchy.of`` accepts. An int is the fan-out of a
        balanced one over the items in order. Algorithms that publish its nodes are then also tried.
    utility : DataFrame, mapping or iterable of list-likes, optional
        Blocks of items, as for `upcta`. Only items of the same block are then published as one.
    loss : str, callable or Workload, optional
        The loss to minimize: ``"NCP"``, ``"LM"``, or a loss of results of this guarantee, by its name in
        any case, such as ``"occurrences"``, ``"singles"`` or ``"pairs"``. With a ``hierarchy`` also
        ``"meaning"``: the share of its levels on which the items of a label have no common node, averaged
        over the occurrences. Or a function of the frame and the result that returns a number, or a workload:
        the average relative error of its answers. By default ``"balanced"``, as in `refine`, for
        ``KmAnonymity`` and ``PrivacyConstraints``, ``"counts"`` for ``KKm`` and ``KLm``, and ``"NCP"`` for
        others. See the notes.
    max_loss : mapping, optional
        Upper bounds by measure, such as ``{"pairs": 0.5}``: on losses of the result, and for ``KmAnonymity``
        and ``PrivacyConstraints`` on ``"named"``, the share of persons at risk whom an attacker with a sample
        names, by `attack` with ``sample="split"``. For it, releases are decided with a larger k as needed,
        and promise the given k. A release above a bound, or an almost empty one, is then an error.
    time_limit : float
        Seconds for the search for a lower loss, above 0. Afterwards no further algorithm is started, and a
        running one is stopped. The first release, whatever its loss, may take ten times as long.
    random_state : int, Generator or None
        Seed or generator of the random numbers, for algorithms that start with random rows: those for
        quasi-identifiers; None is the seed 0. Also that of a secret order of the items by which `pcta`,
        `coat` and `refine` break ties, by default by the order of the items.

    Returns
    -------
    Anonymized
        The release with the lowest loss (ties: the first algorithm). ``tried`` has a row for each algorithm:
        ``algorithm, loss, seconds, reason``, and for items the losses that need no formula (``occurrences,
        stands_for, singles, pairs, suppressed``); if bounded, also ``named``. The reason explains a
        missing loss, an almost empty release, an unfinished refinement, or a loss near the lowest. The time
        limit has ended what ``cut_short`` and the repr of the result report.

    Raises
    ------
    InfeasibleError
        If no algorithm finds a release, or none does within ten times the time limit. If every release
        exceeds a bound of ``max_loss``, or is almost empty while there are bounds.
    ParameterError
        If no algorithm supports the guarantee, the guarantee needs a hierarchy, or none of its algorithms
        uses the given hierarchy, blocks or labels. If a parameter is out of range.
    ColumnError, ItemsetDtypeError, HierarchyError, FormatError
        If a column, the hierarchy or a file is invalid.

    Notes
    -----
    Guarantee: the given one. These algorithms are tried, in this order:

    - ``KmAnonymity``: `pcta`, `coat`, and the better release after `refine`. With a hierarchy also `apriori`,
      `direct`, `mhghs`, `optimal`, `hghs` and `optimal` with ``suppress=True``, then `refine` of the best
      release, and `local_suppression` with nodes. With ``utility`` only `upcta`, `coat`, and `refine`. For
      the losses ``"occurrences"``, ``"singles"``, ``"pairs"`` and ``"meaning"`` also `local_suppression`,
      which deletes single occurrences. For singles and pairs also its mixture with sets, and for pairs and
      meaning nodes with ``deletion_price=1.5``. For other losses, deletions are tried if they may have a
      tenth of the lowest default loss so far, as where a rare answer is the only threat.
    - ``PrivacyConstraints``: `pcta` and `coat`; with ``utility`` `upcta` and `coat`; then `refine`. For the
      same losses also `local_suppression`, and its mixture.
    - ``PSRules``: `ps_rules`, then `refine`.
    - ``LmDiversity`` (with its k): `apriori`; needs a hierarchy.
    - ``Coherence``: `coherence` by each criterion. ``SensitiveGroups``: `cahd` by each order.
    - ``RhoUncertainty``: `suppress_control`; with a hierarchy also `td_control`.
    - ``TransactionalK``: `partition` and `clump`, then `refine`; needs a hierarchy.
    - ``PublicK``: `suppress_to_k`. ``DisassociatedKm``: `disassociate`.
    - ``KAnonymity``: `mondrian`, `cluster` and `k_member`.
    - ``KKm``, ``KLm``: `rfirst` with classes of `mondrian` and of `cluster`, `rum_bound` with ``delta`` 0.1,
      0.25 and 0.5. The items become sets, which are refined. For the losses of `local_suppression`, items are
      also deleted by it. For ``KLm`` with a hierarchy, known items also become nodes.

    Sets and nodes are compared by one measure: a label counts the occurring items that it stands for, so
    ``tried`` may differ from ``result.loss``. A kept item costs 0, and a suppressed one 1. Otherwise NCP is
    the number of items over that of all items, and LM the same with 1 less in both. ``"balanced"`` is the
    loss of `refine`. Coherence and public items use ``S/N``, quasi-identifiers ``NCP_relational``, and
    ``SensitiveGroups`` ``KL``. The default ``"counts"`` of ``KKm`` and ``KLm`` is the mean of two average
    relative errors, of the count of a pair of items (``pairs``) and of a combination of quasi-identifiers
    (``values``), from 200 draws, unless there are fewer. Without ``loss``, of the releases within one
    standard error of the lowest loss, the one that changes the smallest share of the occurrences is returned.
    "NCP" is the mean of ``NCP_relational`` and ``NCP``; there is no "LM".

    `refine` anneals more than 400 items once, in 0.7 of the sweeps of a call of its own, or in as many as
    move 2**18 items, but at least 10. It lowers NCP if it cannot lower the requested loss, the balanced loss
    for losses that need no formula, and the sum of both for ``"meaning"``. Its release counts only if the
    requested loss is lower, too. If a loss is named, the release that is best by the default loss is refined
    as well: so it never loses more by the named loss than the default does, without bounds and limits. An
    almost empty release, or one that is proven for fewer known items than requested, is last.

    With a bound on ``named``, all algorithms are tried again with a larger k, half as large again each time,
    and the k between the last two is narrowed down. ``parameters["decided_k"]`` is the larger. The share is
    that of 2,000 persons who hold m items (2 with constraints) that fewer than k rows hold, over four splits.

    Time: `optimal` gets half of the remaining time, with ``suppress=True`` at most 5 seconds. `refine`
    returns its best at the limit, without random merges. The result depends on the speed of the machine only
    if the limit is reached, which ``cut_short`` and ``tried`` report. Cost: the sum of the algorithms' costs.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> result = df.txanon.anonymize(k=2, m=2)
    >>> result.tried[["algorithm", "loss", "reason"]].round(3).head(4)
           algorithm   loss         reason
    0           pcta  0.555            NaN
    1          upcta    NaN  needs utility
    2           coat  0.555            NaN
    3  pcta, refined  0.555            NaN
    """
    began = perf_counter()
    described = quasi if isinstance(quasi, Mapping) else {}
    columns = None if described and isinstance(guarantee, Guarantee) else quasi_names(quasi)
    guarantee, column = read_guarantee(guarantee, column, k, m, columns)
    end = began + check_seconds(time_limit)
    given = {"hierarchy": hierarchy, "utility": utility, "start": EARLIER.get()}
    most = check_max_loss(max_loss, ["named"])
    named = most.pop("named", None)
    if named is not None and given["start"] is not None:
        hint = "leave out one of them: the bound chooses a larger k for a single release"
        raise ParameterError("a bound on named excludes start", where="max_loss", hint=hint)
    given = {name: value for name, value in given.items() if value is not None}
    ways = _steps(guarantee, given)
    unnamed, default = loss is None, default_loss(LOSSES[type(guarantee)])
    loss, losses = read_loss(loss, guarantee, hierarchy, frame)
    ways = _suited(ways, loss)
    measure, lowered = losses[loss], _lowered(loss, losses)
    parameters = _parameters(guarantee, given | {"random_state": random_state})
    if described:
        parameters["quasi"] = _describe_all(guarantee, described)
    naming = None if named is None else NamedBound.of(frame, column, guarantee, named)
    if naming is not None or ONE_LABEL.get():  # deletions that name few would end the search for k
        ways = [step for step in ways if loss in LOWERED_BY_DELETIONS or not step.is_local]
    trials = _Trials(lowered, measure, frame, column, parameters, end, time_limit, most, naming)
    if loss != default:
        trials.usual = _Best(_lowered(default, losses), losses[default])
        ways = [each for step in ways for each in _with_default(step, default)]
    if unnamed and "counts" in losses:
        trials.error = partial(counts_error, frame)
    with large_arrays_apart(), encode_once(frame), progress_bar("anonymize", "algorithms"):
        trials.try_all(ways)
        if naming is not None:
            trials = _raise_k(trials, ways)
        return trials.outcome()


def _parameters(guarantee: Guarantee, given: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a guarantee, and the given ones; blocks are read."""
    own = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    blocks = {"utility": partition(given["utility"])} if "utility" in given else {}
    return {**own, **given, **blocks, "guarantee": guarantee}


def _describe_all(guarantee: Guarantee, described: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return a description of all quasi-identifiers of a guarantee, given that of some."""
    known = dict.fromkeys(getattr(guarantee, "quasi", ()))
    if unknown := [*described.keys() - known]:
        hint = f"its quasi-identifiers: {[*known]}"
        raise ParameterError("the guarantee lacks columns", where="quasi", got=unknown, hint=hint)
    return known | dict(described)


def _lowered(loss: str, losses: Collection[str]) -> str:
    """Return the loss that refinement lowers for the sake of another: balanced for those it consists of."""
    if loss in ("LM", "NCP", "UL") or "balanced" not in losses:
        return "LM" if loss == "LM" else "NCP"
    return "meaning" if loss == "meaning" else "balanced"


def _with_default(step: Step, loss: str) -> list[Step]:
    """Return a step, and after a refinement that of the release which is best by the default loss."""
    usual = step._replace(way=replace(step.way, options={"loss": loss}))
    return [step, usual] if step.algorithm == "refine" else [step]


def _steps(guarantee: Guarantee, given: Mapping[str, Any]) -> list[Step]:
    """Return the configurations for a guarantee; raise if none of them uses a given parameter."""
    name = type(guarantee).__name__
    if type(guarantee) not in LOSSES:
        hint = f"known: {', '.join(each.__name__ for each in LOSSES)}"
        if isinstance(guarantee, KMap):
            hint = "decide on the population by KmAnonymity, and recode the sample by apply_mapping"
        raise ParameterError(f"no algorithm supports {name}", where="guarantee", hint=hint)
    if isinstance(guarantee, LmDiversity) and guarantee.k is None:
        hint = "pass k, as diversity alone does not hide a row: LmDiversity(l, m, sensitive, k=5)"
        raise ParameterError("no algorithm supports LmDiversity without k", where="guarantee", hint=hint)
    known = steps(type(guarantee))
    for parameter in given:
        if not any(_uses(step, parameter) for step in known if step.algorithm != "refine"):
            hint = f"leave it out, or call an algorithm with {parameter}= yourself"
            if parameter == "start":
                hint = "leave it out, or pass a guarantee such as pdanon.KmAnonymity(k=5, m=2)"
            if parameter == "utility" and isinstance(guarantee, KKm | KLm):
                items = 'pdanon.Transaction("coat", options={"utility": ..., "max_suppressed": 1})'
                hint = f"call rum_bound, whose sets can keep to blocks: transaction={items}"
            raise ParameterError(f"no algorithm for {name} uses {parameter}", where=parameter, hint=hint)
    needed = {step.way.needs for step in known}
    if len(needed) == 1 and (parameter := needed.pop()) and parameter not in given:
        raise ParameterError(f"{name} needs a {parameter}", where=parameter, hint=f"pass {parameter}=")
    return known


def _suited(ways: Iterable[Step], loss: str) -> list[Step]:
    """Return the configurations that are tried for a loss."""
    return [
        step._replace(way=replace(step.way, losses=(), floor=None)) if step.way.floor and named else step
        for step in ways
        if (named := loss in (*step.way.losses, OWN)) or step.way.floor or not step.way.losses
    ]


def _uses(step: Step, parameter: str) -> bool:
    """Return whether a configuration uses a given parameter, such as ``hierarchy`` or ``utility``."""
    if step.algorithm == "refine":
        return parameter == "utility"  # it keeps to the blocks of the release
    if parameter == "hierarchy":  # some algorithms accept one, but not with the options of the configuration
        return step.way.needs == "hierarchy"
    if parameter == "start":
        return ALGORITHMS[step.algorithm].starts
    return parameter in parameters_of(algorithm(step.algorithm))


def _arguments(step: Step, known: Mapping[str, Any]) -> Parameters:
    """Return the known parameters that the algorithm of a configuration takes."""
    taken = known_arguments(algorithm(step.algorithm), known)
    if step.way.needs != "hierarchy":
        taken.pop("hierarchy", None)
    return taken


def _transaction(known: Mapping[str, Any]) -> Transaction:
    """Return the parameters for the items, for the algorithm of a configuration."""
    parts = {each.name: known[each.name] for each in fields(Transaction) if each.name in known}
    name = known.get("transaction", Transaction.algorithm)
    if ALGORITHMS[name].nodes is None:
        parts.pop("hierarchy", None)
    return Transaction(name, **parts)


# --- Trials


_LATE = "no time left: "  # first words of a reason
_PATIENCE = 10  # factor of the limit for the first release
_CLEARLY = 10  # factor by which deletions must be able to lose less than labels that are the same in all rows
_Rank: TypeAlias = tuple[bool, bool, bool, float]
_Row: TypeAlias = dict[str, Any]  # of the table of all tries


@dataclass(slots=True)
class _Best:
    """The best of some releases by a loss."""

    loss: str  # the loss that refinement lowers
    measure: Measure
    best: Anonymized | None = field(default=None, init=False)
    # Whether it falls short, is empty, exceeds a bound; loss.
    least: _Rank = field(default=(True, True, True, np.inf), init=False)

    def offer(self, result: Anonymized, rank: _Rank) -> None:
        """Take a release if it is better than the best so far; of equal ranks, the first stays."""
        if self.best is None or rank < self.least:
            self.best, self.least = result, rank

    @property
    def basis(self) -> tuple[Anonymized | None, str]:
        """The best release, and the loss that its refinement lowers."""
        of_nodes = self.best is not None and self.best.parameters.get("hierarchy") is not None
        return self.best, "NCP" if of_nodes and self.loss in ("balanced", "meaning") else self.loss


@dataclass(slots=True)
class _Trials(_Best):
    """The configurations tried so far, and their best release."""

    frame: pd.DataFrame
    column: Hashable | None
    parameters: Mapping[str, Any]
    end: float  # a value of perf_counter()
    limit: float  # seconds
    most: Mapping[str, float] = field(default_factory=dict)  # bounds on losses
    naming: NamedBound | None = None
    # The best by the default loss of the releases that are tried if no loss is named: so a named loss is
    # never above that of the default release.
    usual: _Best | None = None
    reached: dict[str, float] = field(default_factory=dict)  # least values of the bounded losses
    bound: Bound | None = None  # on the loss of any release by sets with the guarantee, of a refined one
    warned: bool = False  # whether the warnings about other columns were issued, by a first run
    rows: list[_Row] = field(default_factory=list)
    failures: list[InfeasibleError] = field(default_factory=list)
    exhausted: Exception | None = None  # the last lack of memory
    unfit: UnfitStartError | None = None  # of the first algorithm that cannot start from the release
    late: bool = False  # whether a configuration was skipped or stopped for lack of time
    patience: int = _PATIENCE  # factor of the limit for the first release
    # The lowest loss, and the share named there.
    lowest: tuple[float, float] = field(default=(np.inf, 0.0), init=False)
    # Whether a release is within the bounds on losses, and not almost empty.
    promising: bool = field(default=False, init=False)
    error: Measure | None = None  # of the measure of a release, if it is an estimate
    near: list[tuple[_Rank, _Row, Anonymized]] = field(default_factory=list)  # within this error

    def try_all(self, ways: Iterable[Step]) -> None:
        """Try all configurations."""
        with assigned(WITH_RISK, not self._counts_risk_last()):
            for step in ways:
                self.add(step)
                count_steps()

    def with_k(self, k: int) -> _Trials:
        """Return trials with another k, in the same table; the best release is not copied."""
        guarantee = replace(self.parameters["guarantee"], k=k)
        parameters = {**self.parameters, "guarantee": guarantee, "k": k}
        trials = replace(self, parameters=parameters, patience=1)
        trials.usual = None if self.usual is None else replace(self.usual)
        return trials

    def add(self, step: Step) -> None:
        """Try one more configuration, if it applies and there is time."""
        began = perf_counter()
        left = self.end - began
        if self.best is None:  # the first release may take longer
            left += (self.patience - 1) * self.limit
        row: _Row = {"algorithm": str(step), "reason": self._reason_to_skip(step, left)}
        self.rows.append(row)
        if row["reason"]:
            return
        basis = self._basis_of(step)
        if step.algorithm == "refine" and basis[0] is not None:
            row["algorithm"] = str(step).replace("refine", f"{basis[0].parameters['algorithm']}, refined", 1)
        promised = self.naming is None or self.parameters["k"] == self.naming.k
        if not promised:
            row["algorithm"] += f", k={self.parameters['k']}"
        try:
            with limit_time(left):
                result = self._with_measures(self._run(step, left))
            if result.cut_short:
                ended = HURRIED if result.cut_short.startswith(HURRIED) else "ended with what it had"
                row["reason"], self.late = f"{_LATE}{ended}", True
            row |= {name: float(result.loss[name]) for name in _SHOWN if name in result.loss}
            row["loss"] = self.measure(result)
            falls_short = bool(shortfall(self.parameters, result.guarantee))
            if not falls_short and promised and result.groups is None:
                self.bound = result.bound or self.bound  # on the promised k
            if falls_short or result.useless:
                row["reason"] = result.useless or f"only proven: {result.guarantee!r}"
            exceeded = excess(result.loss, self.most)
            for name in self.most:
                self.reached[name] = min(self.reached.get(name, np.inf), float(result.loss[name]))
            if exceeded and not row["reason"]:
                row["reason"] = f"above max_loss: {', '.join(exceeded)}"
            self.promising |= not exceeded and not result.useless
            if self.naming is not None:
                exceeded += self._exceed_named(row, result)
            rank = falls_short, bool(result.useless), bool(exceeded), row["loss"]
            is_usual = step.algorithm != "refine" or self.usual is None or basis == self.usual.basis
            if self.usual is not None and is_usual and (not step.way.losses or step.way.floor):
                self.usual.offer(result, (*rank[:3], self.usual.measure(result)))
            self.offer(result, rank)
            if self.error is not None:
                self._keep_near((rank, row, result), self.error)
        except InfeasibleError as error:
            row["reason"] = one_line(error)
            self.failures.append(error)
        except UnfitStartError as error:  # another algorithm may start from it
            row["reason"] = one_line(error)
            self.unfit = self.unfit or error
        except TimeLimitError:
            row["reason"], self.late = f"{_LATE}stopped", True
        except MemoryError as error:
            row["reason"], self.exhausted = "not enough memory", out_of_memory(error)
        row["seconds"] = perf_counter() - began
        self.warned = True

    def _keep_near(self, new: tuple[_Rank, _Row, Anonymized], error: Measure) -> None:
        """Keep the releases within the error of the lowest loss; the best of them changes least."""
        known = [*self.near, new]
        (*flags, loss), _, lowest = min(known, key=lambda each: each[0])
        self.near = [each for each in known if each[0] <= (*flags, loss + error(lowest))]
        self.best = min(self.near, key=lambda each: (each[2].loss["occurrences"], each[0]))[2]

    def _exceed_named(self, row: _Row, result: Anonymized) -> list[str]:
        """Measure the share of persons named; return the name of the bound if it is above."""
        assert self.naming is not None
        named = row["named"] = self.naming.share(result)
        self.reached["named"] = min(self.reached.get("named", np.inf), named)
        self.lowest = min(self.lowest, (row["loss"], named))
        if named <= self.naming.most:
            return []
        row["reason"] = row["reason"] or "above max_loss: named"
        return ["named"]

    def _with_measures(self, result: Anonymized) -> Anonymized:
        """Add to the losses the meaning by a hierarchy, or the error of combinations of quasi-identifiers."""
        name, guarantee = "meaning", result.guarantee
        if isinstance(guarantee, KKm | KLm):
            positions = find_quasi(self.frame, guarantee.quasi)
            name, error = "values", combination_error(self.frame, result.frame, positions)
        elif isinstance(guarantee, WITH_MEANING) and (tree := self.parameters.get("hierarchy")) is not None:
            error = lost_levels(result.mapping, tree)
        else:
            return result
        return replace(result, loss=with_measure(result.loss, name, error))

    def _reason_to_skip(self, step: Step, left: float) -> str | None:
        """Return the reason why a configuration is skipped, if it is."""
        if step.way.needs and step.way.needs not in self.parameters:
            return f"needs {step.way.needs}"
        if step.algorithm == "refine":
            basis, _ = self._basis_of(step)
            if basis is None:
                return "there is no release to refine"
            if is_refined(basis):
                return "it is refined"
            step = self._refining(step, basis)
        for name in ("utility", "start"):
            if name in self.parameters and not _uses(step, name):
                return f"does not keep to {name}"
        if left <= 0:
            self.late = True
            return f"{_LATE}not started"
        if step.way.floor is not None:
            position, *_ = find_columns(self.frame, self.column)
            floor = step.way.floor(encode_column(self.frame, position), self.parameters["guarantee"])
            if self.best is None or _CLEARLY * floor >= (self.usual or self).least[-1]:
                return f"deletes at least {percent(floor)}"
        return None

    def _basis_of(self, step: Step) -> tuple[Anonymized | None, str]:
        """Return the release that a step would refine, and the loss that this lowers."""
        return (self.usual if self.usual is not None and step.way.options else self).basis

    def _refining(self, step: Step, basis: Anonymized) -> Step:
        """Return the call that refines a release: its algorithm's own, if sets must not be split."""
        name = basis.parameters["algorithm"]
        if "start" not in self.parameters or "refine" not in parameters_of(algorithm(name)):
            return step
        return Step(name, replace(step.way, options={"refine": True}))

    def _run(self, step: Step, left: float) -> Anonymized:
        with warnings.catch_warnings():
            for of_the_returned in (UselessWarning, IdentifierWarning):  # `outcome` warns of that release
                warnings.simplefilter("ignore", of_the_returned)
            warnings.filterwarnings("ignore", SHORT, ReleaseWarning)
            if self.warned:
                warnings.simplefilter("ignore", ReleaseWarning)
            if step.algorithm == "refine":
                basis, loss = self._basis_of(step)
                assert basis is not None
                step = self._refining(step, basis)
                if step.algorithm == "refine":
                    seed = self.parameters.get("random_state")
                    near = self.parameters["hierarchy"] if loss == "meaning" else None
                    loss = loss if near is None else "balanced"
                    return refine_release(self.frame, basis, loss, seed, near, quick=True)
            function = algorithm(step.algorithm)
            accepted = parameters_of(function)
            known = {**self.parameters, "time_limit": min(left / 2, step.way.most), **step.way.options}
            if "transaction" in accepted:
                known["transaction"] = _transaction(known)
            place = {"column": self.column} if of_lists(function) else {}
            return function(self.frame, **place, **_arguments(step, known))

    def outcome(self) -> Anonymized:
        """Return the best release with the table of all tries."""
        if self.best is None:
            if self.late:
                raise InfeasibleError(
                    f"no algorithm found a release in {_PATIENCE} times the time limit",
                    where="time_limit",
                    got=f"{self.limit:g} seconds",
                    hint="pass a longer time_limit",
                )
            if problem := self.unfit or self.exhausted:  # without it, the others may have found a release
                raise problem
            algorithms = [row for row in self.rows if not row["algorithm"].startswith("refine")]
            ran = [row for row in algorithms if "seconds" in row]
            raise InfeasibleError(
                "no algorithm found a release",
                got=f"{len(ran)} of {len(algorithms)} algorithms tried, "
                f"{len(self.failures)} of them found that there is none",
                hint=f"{ran[0]['algorithm']}: {ran[0]['reason']}",
                partial=next((self._in_full(each.partial) for each in self.failures if each.partial), None),
            )
        refuse_loss(self.best.loss, self.best.useless, self.most, self.reached)
        if self.naming is not None:
            self.naming.refuse(self.best, self.reached["named"], self.limit if self.late else None)
            self.best = self.naming.promise(self.best)
        warn_if_useless(self.best.do_not_publish, self.best.guarantee)
        warn_if_identified(self.best.unmodified, self.best.guarantee, self.best.frame)
        warn_if_short(self.parameters, self.best.guarantee)
        for _, row, result in self.near if len(self.near) > 1 else ():
            least = ", and changes least" if result is self.best else ""
            row["reason"] = row["reason"] or f"{NEAR}{least}"
        readable = [name for name in _SHOWN if name in self.best.loss]
        readable += ["named"] if self.naming is not None else []
        figures = dict.fromkeys(["loss", *readable, "seconds"], partial(pd.array, dtype="float64"))
        makers: dict[str, Callable[..., Any]] = {"algorithm": text_column, **figures, "reason": text_column}
        columns = {name: make([row.get(name) for row in self.rows]) for name, make in makers.items()}
        best, bound = self.best, self.best.bound
        if bound is None and self.bound is not None and best.groups is None:
            bound = self.bound.beside(best.loss["occurrences"])
        best = self._in_full(best)
        if best is not self.best:
            withhold(best.guarantee.audit(best.frame, self.column), "rows")
        if self._counts_risk_last():
            position, *_ = find_columns(self.frame, self.column)
            best = with_risk(best, encode_column(self.frame, position), position)
        levels = level_shares(best.mapping, self.parameters["hierarchy"]) if "meaning" in best.loss else None
        tried, cut_short = pd.DataFrame(columns), self._describe_limit()
        return replace(best, tried=tried, cut_short=cut_short, bound=bound, levels=levels)

    def _counts_risk_last(self) -> bool:
        """Return whether the risk is counted of the returned release alone: attackers know all items."""
        return isinstance(self.parameters["guarantee"], KmAnonymity | PrivacyConstraints)

    def _in_full(self, result: Anonymized) -> Anonymized:
        """Return a release with texts in its list column, which has codes for them while others are tried."""
        if isinstance(result.guarantee, DisassociatedKm | KAnonymity | KKm | KLm):
            return result  # written with texts
        position, *_ = find_columns(self.frame, self.column, self.parameters.get("private"))
        return replace(result, frame=write_texts(result.frame, position))

    def _describe_limit(self) -> str:
        """Describe the algorithms that the time limit stopped or skipped."""
        if not self.late:
            return ""
        ended: dict[str, list[str]] = {}
        for row in self.rows:
            if str(row["reason"]).startswith(_LATE):
                ended.setdefault(row["reason"].removeprefix(_LATE), []).append(row["algorithm"])
        ways = ". ".join(f"{what}: {'; '.join(names)}" for what, names in ended.items())
        what = "hurried for" if [*ended] == [HURRIED] else "stopped at"
        return f"{what} the time limit of {self.limit:g} s; more time may lose less. {ways}"


_FACTOR = 1.5  # between two values of k
_CLOSE = 1.1


def _raise_k(trials: _Trials, ways: Sequence[Step]) -> _Trials:
    """Try all configurations with larger k until few enough persons are named; return the best trials."""
    assert trials.naming is not None
    rounds, fails, meets = [trials], trials.naming.k, 0
    ways = [step for step, row in zip(ways, trials.rows, strict=True) if "seconds" in row]
    while rounds[-1].promising:  # a larger k loses more
        k = rounds[-1].parameters["k"]
        if rounds[-1].lowest[1] <= trials.naming.most:
            meets = k
        else:
            fails = k
        if meets == trials.naming.k or (
            meets and max(int((fails * meets) ** 0.5), fails + 1) >= meets / _CLOSE
        ):
            break
        following = max(int((fails * meets) ** 0.5), fails + 1) if meets else ceil(fails * _FACTOR)
        if perf_counter() >= trials.end:
            trials.rows.append({"algorithm": f"k={following}", "reason": f"{_LATE}not started"})
            trials.late = True
            break
        rounds.append(rounds[-1].with_k(following))
        rounds[-1].try_all(ways)
    best = min(rounds, key=lambda each: each.least)
    best.late = any(each.late for each in rounds)
    return best


# --- Choice on a sample, for rows that only some algorithms can recode


def choose(
    sample: pd.DataFrame,
    n_rows: int,
    guarantee: Guarantee,
    recodes: Collection[Recodes],
    *,
    loss: str | None = None,
    time_limit: float = 60,
    **given: Any,
) -> tuple[list[tuple[str, Parameters]], Callable[[Any], float], pd.DataFrame]:
    """Choose the two algorithms that lose least on a sample of the rows, and return the loss to compare."""
    # The sample has a single column of lists. Its k is smaller in proportion, as are the supports. Of a
    # sample of all rows, one algorithm is chosen. ``given`` has further parameters of `anonymize`: hierarchy,
    # utility, labels, random_state.
    if "max_loss" in given:  # from ``max_named`` alone, as bounds on losses are those of the release
        hint = "read the table into memory with pdanon.read_parquet, or leave it out"
        raise ParameterError("a bound on named needs all rows", where="max_named", hint=hint)
    end = perf_counter() + check_seconds(time_limit)
    changing = {name: value for name, value in given.items() if name != "random_state"}
    known = [step for step in _steps(guarantee, changing) if step.algorithm != "refine"]
    known = [step for step in known if ALGORITHMS[step.algorithm].recodes in recodes]
    if not known:
        name = type(guarantee).__name__
        hint = "read the table into memory, or request another guarantee, such as k and m"
        raise ParameterError(f"no algorithm for {name} recodes rows in parts", where="algorithm", hint=hint)
    name, losses = read_loss(loss, guarantee, given.get("hierarchy"), sample)
    known, measure = _suited(known, name), losses[name]
    parameters = _parameters(guarantee, given)
    fewer, is_whole = dict(parameters), len(sample) == n_rows
    if not is_whole and parameters.get("k") is not None:
        fewer["k"] = max(2, ceil(parameters["k"] * len(sample) / n_rows))
        fewer["guarantee"] = replace(guarantee, k=fewer["k"])  # type: ignore[type-var]
    trials = _Trials("NCP", measure, sample, None, fewer, end, time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # about the release of the sample, which is not kept
        with progress_bar("sample", "algorithms"):
            trials.try_all(known)
        if trials.best is None or (is_whole and trials.best.useless):
            raise InfeasibleError(
                "the sample cannot decide between the algorithms",
                where="algorithm",
                got=f"{len(sample):,} rows; no release of them keeps enough information",
                hint="name the algorithm, such as pcta: it decides on all rows",
            )
        rows = [dict(row) for row in trials.rows]  # before reasons are added
        tried = trials.outcome().tried
    assert tried is not None
    done = [
        (row["reason"] is not None, row["loss"], place) for place, row in enumerate(rows) if "loss" in row
    ]
    of_results = name == OWN or name in MEANING  # decisions for all rows do not have them
    best = [known[place] for *_, place in sorted(done)[: 1 if is_whole or of_results else 2]]
    asked = [(step, parameters | {"time_limit": time_limit, **step.way.options}) for step in best]
    return [(step.algorithm, _arguments(step, own)) for step, own in asked], measure, tried
