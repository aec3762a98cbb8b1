"""Choice: who says what must hold, not how, gets the best release of the algorithms that can have it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.algorithms.refinement import refine
from pdanon.algorithms.registry import ALGORITHMS, Way, algorithm, of_lists, parameters_of
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import InfeasibleError, ParameterError, ReleaseWarning, UselessWarning, one_line
from pdanon.guarantees import (
    Coherence,
    DisassociatedKm,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    LmDiversity,
    PrivacyConstraints,
    PSRules,
    PublicK,
    RhoUncertainty,
    SensitiveGroups,
    TransactionalK,
    read_guarantee,
)
from pdanon.guarantees.parameters import DEFAULT_M, check_seconds, materialize
from pdanon.guarantees.utility import partition
from pdanon.guarantees.verdict import Guarantee
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.compatibility import text_column
from pdanon.itemsets.timing import TimeLimitError, limit_time, progress_bar
from pdanon.itemsets.validation import find_name
from pdanon.recoding.counts import is_kept
from pdanon.recoding.labels import Labels, check_labels
from pdanon.recoding.result import Anonymized
from pdanon.recoding.warnings import SHORT, shortfall, warn_if_short, warn_if_useless

__all__ = ["LOSSES", "READABLE", "anonymize"]


def _of_items(result: Anonymized, *, base: int) -> float:
    """NCP (base 0) or LM (base 1) over the items that occur, for sets and nodes alike."""
    mapping = result.mapping
    n_items = len(mapping)
    sizes = mapping.groupby("generalized")["item"].transform("size").fillna(n_items).to_numpy(np.int64)
    costs = np.where(is_kept(mapping), 0, sizes - base)
    supports = mapping["support"].to_numpy()
    most = max(n_items - base, 1) * int(supports.sum())
    return float(int(costs @ supports) / most) if most else 0.0


def _mean(*names: str) -> Callable[[Anonymized], float]:
    """The mean of some losses that a result has."""
    return lambda result: float(sum(result.loss[name] for name in names) / len(names))


def _named(*names: str) -> dict[str, Callable[[Anonymized], float]]:
    """Losses that a result has, by their names."""
    return {name: _mean(name) for name in names}


READABLE = ("occurrences", "stands_for", "singles", "pairs", "suppressed")  # of items, and shown of each try
_OF_ITEMS = {"NCP": partial(_of_items, base=0), "LM": partial(_of_items, base=1)} | _named(*READABLE, "UL")
_SUPPRESSED = {"NCP": _mean("S/N"), "LM": _mean("S/N")}  # every suppressed occurrence costs 1 by both
_SUPPRESSED |= _named(*READABLE, "UL", "S/N")
_OF_BOTH = {"NCP": _mean("NCP", "NCP_relational")} | _named(*READABLE, "NCP_relational")

LOSSES: dict[type, Mapping[str, Callable[[Anonymized], float]]] = {
    KmAnonymity: _OF_ITEMS,
    PrivacyConstraints: _OF_ITEMS,
    PSRules: _OF_ITEMS,
    LmDiversity: _OF_ITEMS,
    Coherence: _SUPPRESSED,
    PublicK: _SUPPRESSED,
    RhoUncertainty: _OF_ITEMS,
    SensitiveGroups: {"NCP": _mean("KL")} | _named("KL", "pairs"),
    TransactionalK: _named(*READABLE, "NCP", "LM", "GGD", "UL"),
    DisassociatedKm: {"NCP": _mean("term_chunks")} | _named("term_chunks", "tlost", "re"),
    KAnonymity: {"NCP": _mean("NCP_relational")} | _named("NCP_relational"),
    KKm: _OF_BOTH,
    KLm: _OF_BOTH,
}


# --- Choice: who says what must hold, not how, gets the best release of the algorithms that can have it


# --- What can be tried


class Step(NamedTuple):
    """A way to a guarantee, and the algorithm that goes it; ``"refine"`` refines the best release so far."""

    algorithm: str
    way: Way

    def __str__(self) -> str:
        return ", ".join([self.algorithm, *(f"{name}={value}" for name, value in self.way.options.items())])


_REFINED = (
    Way(KmAnonymity, 40),
    Way(KmAnonymity, 110, needs="hierarchy"),
    Way(PrivacyConstraints, 40),
    Way(PSRules, 20),
    Way(TransactionalK, 30, needs="hierarchy"),
)


# What would hardly be chosen has no way: vpa, lra, suppress_public, tfirst, and the global algorithms for
# quasi-identifiers; nor has tum_bound, which merges as rum_bound does and ends elsewhere.
def steps(model: type) -> list[Step]:
    """The ways to a guarantee, the cheapest first, as the records of the algorithms have them."""
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
    m: int | None = DEFAULT_M,
    hierarchy: HierarchyLike | None = None,
    utility: Any = None,
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    loss: str = "NCP",
    time_limit: float = 60,
    random_state: int | np.random.Generator | None = None,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize so that a guarantee holds, by whichever algorithm loses least.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    guarantee : Guarantee, optional
        What must hold, such as ``pdanon.KKm(k=5, m=2, quasi=["age"])``.
    column : hashable, optional
        The list column. By default the only one.
    k, m : int, optional
        Short for ``pdanon.KmAnonymity(k, m)``: whoever knows up to m items of a row finds at least k rows
        that match; ``m=None``: all items.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        The item taxonomy, or what ``Hierarchy.of`` makes one of; an int is the fan-out of a balanced one
        over the items in order. Algorithms that publish its nodes are then tried as well.
    utility : DataFrame, mapping or iterable of list-likes, optional
        Blocks of items, as for `upcta`. Only items of one block are then published as one.
    hierarchies : mapping, optional
        Hierarchy of each quasi-identifier, in any form that ``Hierarchy.of`` accepts.
    loss : str
        What is to be least: ``"NCP"``, ``"LM"``, or what a result of this guarantee has in ``loss``, by its
        name in any case, such as ``"occurrences"``, ``"singles"`` or ``"pairs"``. See the notes.
    time_limit : float
        Seconds, above 0, for the search for a release that loses less. After that no further algorithm is
        started, and one that runs is stopped. A first release, whatever it loses, has ten times as long.
    random_state : int, Generator or None
        Seed, or source of randomness, of algorithms that begin with random rows: those for
        quasi-identifiers.
    labels : {"set", "short", "first"} or callable
        What sets of items are called: ``(a,b)``, ``G017``, ``a +1``, or the text that a function makes of the
        list of their items. ``result.legend`` says which items they stand for. Nodes keep their names.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.
    progress : bool
        Show a progress bar: the algorithms that were tried, or left out.

    Returns
    -------
    Anonymized
        The release that loses least; of equal ones, that of the first algorithm. ``tried`` has a row for
        each algorithm: ``algorithm, loss``, where there are items what can be read without a formula
        (``occurrences, stands_for, singles, pairs, suppressed``), ``seconds`` and ``reason``, which says why
        there is no loss, that next to nothing is left, or that `refine` was ended. ``cut_short`` reports what
        the time limit ended, as does what the result prints.

    Raises
    ------
    InfeasibleError
        If no algorithm finds a release, or none does within ten times the time limit.
    ParameterError
        If the guarantee has no algorithm, lacks the hierarchy that it needs, or makes no use of one, of
        blocks or of labels that are given; or a parameter is out of range.
    ColumnError, ItemsetDtypeError, HierarchyError, FormatError
        If a column, the hierarchy or a file is not what it should be.

    See Also
    --------
    compare : The same algorithm with several parameters, or several algorithms with parameters of yours.

    Notes
    -----
    Guarantee: the one that is given. The algorithms that are tried, in this order:

    - ``KmAnonymity``: `pcta`, `coat`, and the better of them after `refine`; with a hierarchy also `apriori`,
      `direct`, `mhghs`, `optimal`, `hghs` and `optimal` with ``suppress=True``, and `refine` of what is best
      then. With ``utility`` only `upcta`, `coat`, and `refine`.
    - ``PrivacyConstraints``: `pcta` and `coat`; with ``utility`` `upcta` and `coat`; then `refine`.
    - ``PSRules``: `ps_rules`, then `refine`.
    - ``LmDiversity`` (with its k): `apriori`; needs a hierarchy.
    - ``Coherence``: `coherence` by each criterion.
    - ``PublicK``: `suppress_to_k`.
    - ``SensitiveGroups``: `cahd` by each order.
    - ``RhoUncertainty``: `suppress_control`; with a hierarchy also `td_control`.
    - ``TransactionalK``: `partition` and `clump`, then `refine`; needs a hierarchy.
    - ``DisassociatedKm``: `disassociate`.
    - ``KAnonymity``: `mondrian`, `cluster` and `k_member`.
    - ``KKm``, ``KLm``: `rfirst` with classes of `mondrian` and of `cluster`, `rum_bound` with ``delta`` 0.1,
      0.25 and 0.5. The items become sets, which are refined; for ``KLm`` with a hierarchy the known ones
      become nodes as well.

    Sets and nodes are compared by one quantity: what a label stands for is counted in items that occur, so
    ``tried`` may differ from ``result.loss``, which counts the leaves of the hierarchy. An item that is kept
    costs 0; else NCP is that number over the number of all items, LM the same with 1 less in both; a
    suppressed item costs 1. For coherence and public items it is ``S/N``, for quasi-identifiers
    ``NCP_relational``, for ``SensitiveGroups`` ``KL``, for ``KKm`` and ``KLm`` the mean of ``NCP_relational``
    and ``NCP``; these have no "LM" of their own.
    `refine` lowers NCP where it cannot lower what is asked for, and counts only if that has become less, too.

    A release of which next to nothing is left, as `UselessWarning` has it, comes back only if there is no
    other one, or the others are proven for fewer known items than were asked for.

    Time: the limit bounds the search for a release that loses less. As long as there is no release, it does
    not count: the cheapest algorithm goes on to its end, for up to ten times the limit. After the limit no
    algorithm is started, and one that runs is stopped where it next reports progress. `optimal` gets half of
    what is left, with ``suppress=True`` no more than 5 seconds, and ends with what it has. `refine` ends at
    the limit with what it has, and never goes on to merge at random: call it for that. Nothing waits for the
    limit.

    The outcome depends on the speed of the machine only where the limit is reached; the result, its
    ``cut_short`` and ``tried`` report that.

    Cost: that of the algorithms, one after the other.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> result = df.txanon.anonymize(k=2, m=2)
    >>> result.guarantee
    KmAnonymity(k=2, m=2)
    >>> result.tried[["algorithm", "loss", "reason"]].round(3).head(4)
           algorithm   loss         reason
    0           pcta  0.381            NaN
    1          upcta    NaN  needs utility
    2           coat  0.381            NaN
    3  pcta, refined  0.381            NaN
    """
    began = perf_counter()
    guarantee, column = read_guarantee(guarantee, column, k, m)
    end = began + check_seconds(time_limit, "time_limit")
    given = {"hierarchy": hierarchy, "utility": utility, "hierarchies": hierarchies}
    given = {name: value for name, value in given.items() if value is not None}
    if check_labels(labels) != "set":
        given["labels"] = labels
    ways = _steps(guarantee, given)
    losses = LOSSES[type(guarantee)]
    loss = find_name(loss, losses, "loss of this guarantee", where="loss")
    measure, lowered = losses[loss], loss if loss == "LM" else "NCP"
    if utility is not None:
        given["utility"] = partition(utility)
    asked = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    asked |= given | {"random_state": random_state, "keep": materialize(keep)}
    trials = _Trials(frame, column, asked, lowered, measure, end, time_limit)
    with progress_bar(progress, "anonymize", "algorithms") as report:
        for step in ways:
            trials.add(step)
            report(1)
    return trials.outcome()


def _steps(guarantee: Guarantee, given: Mapping[str, Any]) -> list[Step]:
    """The ways to a guarantee, if there are some that can use all that is given."""
    name = type(guarantee).__name__
    if type(guarantee) not in LOSSES:
        hint = f"known: {', '.join(each.__name__ for each in LOSSES)}"
        raise ParameterError(f"no algorithm gives {name}", where="guarantee", hint=hint)
    if isinstance(guarantee, LmDiversity) and guarantee.k is None:
        hint = "diversity alone does not hide a row: LmDiversity(l, m, sensitive, k=5)"
        raise ParameterError("no algorithm gives LmDiversity without k", where="guarantee", hint=hint)
    known = steps(type(guarantee))
    for parameter in given:
        if not any(_uses(step, parameter) for step in known if step.algorithm != "refine"):
            hint = f"leave it out, or call an algorithm that takes {parameter}= yourself"
            if parameter == "utility" and isinstance(guarantee, KKm | KLm):
                items = 'pdanon.Transaction("coat", options={"utility": ..., "max_suppressed": 1})'
                hint = f"rum_bound has sets that keep to blocks: transaction={items}"
            raise ParameterError(
                f"nothing that is tried for {name} uses {parameter}", where=parameter, hint=hint
            )
    needed = {step.way.needs for step in known}
    if len(needed) == 1 and (parameter := needed.pop()) and parameter not in given:
        raise ParameterError(f"{name} needs a {parameter}", where=parameter, hint=f"give {parameter}=")
    return known


def _uses(step: Step, parameter: str) -> bool:
    """Whether a way makes use of ``hierarchy``, ``utility``, ``hierarchies`` or ``labels``."""
    if step.algorithm == "refine":
        return parameter == "utility"  # it keeps to the blocks of what it refines
    if parameter == "hierarchy":  # which some take, but not with the options of the way
        return step.way.needs == "hierarchy"
    accepted = parameters_of(algorithm(step.algorithm))
    return parameter in accepted or (parameter == "labels" and "transaction" in accepted)


def _transaction(known: Mapping[str, Any]) -> Transaction:
    """What is done to the items, by the algorithm that a way names."""
    parts = {each.name: known[each.name] for each in fields(Transaction) if each.name in known}
    name = known.get("transaction", Transaction.algorithm)
    parts.pop("hierarchy" if ALGORITHMS[name].nodes is None else "labels", None)
    return Transaction(name, **parts)


# --- Trials

_LATE = "no time left: "  # how a reason begins
_PATIENCE = 10  # times the limit, for the first release


@dataclass(slots=True)
class _Trials:
    """What was tried so far, and the best release of it."""

    frame: pd.DataFrame
    column: Hashable | None
    asked: Mapping[str, Any]
    loss: str  # which refinement is to lower
    measure: Callable[[Anonymized], float]
    end: float  # a value of perf_counter()
    limit: float  # seconds
    best: Anonymized | None = None
    least: tuple[bool, bool, float] = (True, True, np.inf)  # for fewer items than asked, useless, its loss
    warned: bool = False  # whether one has run, with its warnings about other columns
    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[InfeasibleError] = field(default_factory=list)
    late: bool = False  # whether a way was not tried, or not to its end, for lack of time

    def add(self, step: Step) -> None:
        """Try one more way, if there is time and it is one."""
        began = perf_counter()
        left = self.end - began
        if self.best is None:  # whatever it loses: what follows is to lose less
            left += (_PATIENCE - 1) * self.limit
        row: dict[str, Any] = {"algorithm": str(step), "reason": self._left_out(step, left)}
        self.rows.append(row)
        if row["reason"]:
            return
        if step.algorithm == "refine" and self.best is not None:
            row["algorithm"] = f"{self.best.parameters['algorithm']}, refined"
        try:
            with limit_time(left):
                result = self._run(step, left)
            if result.cut_short:
                row["reason"], self.late = f"{_LATE}ended with what it had", True
            row |= {name: float(result.loss[name]) for name in READABLE if name in result.loss}
            row["loss"] = self.measure(result)
            falls_short = bool(shortfall(self.asked, result.guarantee))
            if falls_short or result.useless:
                row["reason"] = result.useless or f"only proven: {result.guarantee!r}"
            rank = falls_short, bool(result.useless), row["loss"]
            if self.best is None or rank < self.least:
                self.best, self.least = result, rank
        except InfeasibleError as error:
            row["reason"] = one_line(error)
            self.failures.append(error)
        except TimeLimitError:
            row["reason"], self.late = f"{_LATE}stopped", True
        except MemoryError:
            row["reason"] = "not enough memory"
        row["seconds"] = perf_counter() - began
        self.warned = True

    def _left_out(self, step: Step, left: float) -> str | None:
        """Why a way is not tried, if it is not."""
        if step.way.needs and step.way.needs not in self.asked:
            return f"needs {step.way.needs}"
        if step.algorithm == "refine" and (reason := self._not_refined()):
            return reason
        if "utility" in self.asked and not _uses(step, "utility"):
            return "does not keep to utility"
        if left <= 0:
            self.late = True
            return f"{_LATE}not started"
        return None

    def _not_refined(self) -> str | None:
        """Why the best release so far is not refined, if it is not."""
        if self.best is None:
            return "there is no release to refine"
        if self.best.trace is not None:
            return "it is refined"
        return None

    def _run(self, step: Step, left: float) -> Anonymized:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UselessWarning)  # of what may not come back
            warnings.filterwarnings("ignore", SHORT, ReleaseWarning)
            if self.warned:
                warnings.simplefilter("ignore", ReleaseWarning)
            if step.algorithm == "refine":
                assert self.best is not None
                return refine(self.frame, self.best, loss=self.loss)
            function = algorithm(step.algorithm)
            accepted = parameters_of(function)
            known = {**self.asked, "time_limit": min(left / 2, step.way.most), **step.way.options}
            if "transaction" in accepted:
                known["transaction"] = _transaction(known)
            place = {"column": self.column} if of_lists(function) else {}
            return function(
                self.frame, **place, **{name: value for name, value in known.items() if name in accepted}
            )

    def outcome(self) -> Anonymized:
        """The best release with the table of what was tried."""
        if self.best is None and self.late:
            raise InfeasibleError(
                f"no algorithm found a release in {_PATIENCE} times the time limit",
                where="time_limit",
                got=f"{self.limit:g} seconds",
                hint="pass a longer time_limit, or call an algorithm, which has none",
            )
        if self.best is None:
            algorithms = [row for row in self.rows if row["algorithm"] != "refine"]
            ran = [row for row in algorithms if "seconds" in row]
            raise InfeasibleError(
                "no algorithm found a release",
                got=f"{len(ran)} of {len(algorithms)} algorithms tried, "
                f"{len(self.failures)} of them found that there is none",
                hint=f"{ran[0]['algorithm']}: {ran[0]['reason']}",
                partial=next((each.partial for each in self.failures if each.partial is not None), None),
            )
        warn_if_useless(self.best.useless, self.best.guarantee)
        warn_if_short(self.asked, self.best.guarantee)
        readable = [name for name in READABLE if name in self.best.loss]
        figures = dict.fromkeys(["loss", *readable, "seconds"], _figures)
        makers = {"algorithm": text_column, **figures, "reason": text_column}
        columns = {name: make([row.get(name) for row in self.rows]) for name, make in makers.items()}
        return replace(self.best, tried=pd.DataFrame(columns), cut_short=self._cut_short())

    def _cut_short(self) -> str:
        """What the time limit ended, or kept from being started."""
        if not self.late:
            return ""
        ended: dict[str, list[str]] = {}
        for row in self.rows:
            if str(row["reason"]).startswith(_LATE):
                ended.setdefault(row["reason"].removeprefix(_LATE), []).append(row["algorithm"])
        ways = ". ".join(f"{what}: {'; '.join(names)}" for what, names in ended.items())
        return f"stopped at the time limit of {self.limit:g} s; more time may lose less. {ways}"


def _figures(values: list[float | None]) -> pd.api.extensions.ExtensionArray:
    return pd.array(values, dtype="float64")
