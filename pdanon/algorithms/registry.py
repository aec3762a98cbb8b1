"""Registry of all algorithms by name, with their parameters and guarantees, and requests by parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import field, fields, replace
from functools import partial
from inspect import Parameter, signature
from typing import Any, Literal, TypeAlias

import numpy as np

from pdanon.errors import ParameterError
from pdanon.guarantees import read_guarantee
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, check_k, materialize
from pdanon.guarantees.promises import requested_guarantee
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.columns import check_free, find_columns
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.timing import assigned, progress_bar
from pdanon.itemsets.validation import check_kind, check_known
from pdanon.recoding.decision import ListDecision
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

Parameters: TypeAlias = dict[str, Any]  # arguments by name
Recodes: TypeAlias = Literal["items", "rows", "groups", "chunks", "values", "both"]
# The families that recode a list column, and nothing else.
OF_LISTS: tuple[Recodes, ...] = ("items", "rows", "groups", "chunks")
BYTES_OF_SUPPORTS = 16  # per row and occurrence, that each algorithm needs


@frozen
class Way:
    """A configuration in which `pdanon.anonymize` tries an algorithm for a guarantee."""

    # ``options`` are parameters beside those of the guarantee, and ``needs`` is one of `anonymize` that it
    # requires. ``order`` sorts the fastest first. It is tried for ``losses`` (none: any), and for others if
    # ``floor``, a lower bound on its default loss, is below the lowest one so far. ``most`` bounds its
    # seconds.

    guarantee: type
    order: int
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    most: float = np.inf
    losses: tuple[str, ...] = ()
    floor: Callable[[Itemsets, Any], float] | None = None


# Whether labels go back to lines with counts or other columns, which need one label for an item in all rows:
# `anonymize` then tries deletions only for losses that they lower.
ONE_LABEL: ContextVar[bool] = ContextVar("one_label", default=False)

# The earlier release from which that of a block starts, as `pdanon.start_from` sets it.
EARLIER: ContextVar[Any] = ContextVar("earlier", default=None)

# Losses that count occurrences and itemsets as they are. By others, a deletion costs more than most sets.
LOWERED_BY_DELETIONS = ("occurrences", "singles", "pairs", "meaning")


@frozen
class Algorithm:
    """The record of an algorithm."""

    # ``function`` is public, and names it. ``guarantees`` are the classes that its releases can have.
    #
    # - ``recodes``: an item in the whole table, equal rows, groups of rows, chunks instead of rows; or values
    #   of quasi-identifiers, or both.
    # - ``decide(columns, guarantee=...)`` decides for a list column, with all parameters but the frame, the
    #   column, and those of the guarantee; ``unit`` names the steps that it counts by `count_steps`.
    # - ``keeps_type``: items are only suppressed. ``repeats``: rows are bags. ``by_pairs``: steps depend only
    #   on supports of one and two sets, if m is at most 2. ``by_value``: equal values are published equally.
    # - ``nodes(task, **options)`` or ``sets(index, blocks, spare, k, m)`` recode the items of a cluster of
    #   rows, -1 if suppressed: it can be a ``transaction=``, with ``options`` and their defaults. ``form``
    #   forms classes of rows: it can be a ``cluster=``. ``parts(parts, **options)`` decides part by part for
    #   both.
    # - ``starts``: ``decide`` takes ``start``, an earlier release whose labels it never splits.
    # - ``ways``: what `pdanon.anonymize` tries. ``adds``: columns that the frame must not have.
    #   ``bytes_per_row``: memory of a table with six items a row, measured by
    #   ``docs/scripts/groups_table.py``.

    function: Callable[..., Anonymized]
    guarantees: tuple[type, ...]
    recodes: Recodes = "items"
    decide: Callable[..., ListDecision] | None = None
    unit: str = "steps"
    keeps_type: bool = False
    repeats: bool = False
    by_pairs: bool = False
    nodes: Callable[..., Codes] | None = None
    sets: Callable[..., Codes] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Callable[..., Any] | None = None
    by_value: bool = False
    parts: Callable[..., Any] | None = None
    starts: bool = False
    ways: tuple[Way, ...] = ()
    adds: tuple[str, ...] = ()
    bytes_per_row: int = 0

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__

    @property
    def takes_persons(self) -> bool:
        """Whether it recodes the sets of persons, so that their labels can go back to several rows."""
        return self.recodes in ("items", "rows", "groups") and not self.adds

    @property
    def publishes_sets(self) -> bool:
        """Whether it may merge items to sets, which can have other names."""
        tree = parameters_of(self.function).get("hierarchy")
        if not of_lists(self.function) or (tree is not None and tree.default is tree.empty):
            return False
        return self.recodes != "chunks" and not (self.recodes == "items" and self.keeps_type)

    def release(self, arguments: Mapping[str, Any]) -> Anonymized:
        """Release a frame with a recoded list column."""
        # ``arguments`` are those of the function by name, its ``locals()``. All are recorded but the frame
        # and the column.
        given = dict(arguments)
        if (earlier := EARLIER.get()) is not None:
            given["start"] = earlier
        frame, column = given.pop("frame"), given.pop("column")
        if takes_guarantee(self.function) and isinstance(column, Guarantee):
            got, hint = type(column).__name__, "pass it by name: guarantee=pdanon.KmAnonymity(k=5, m=2)"
            raise ParameterError("the second argument is the list column", where="column", got=got, hint=hint)
        position, *private = find_columns(frame, column, given.get("private"))
        check_free(frame, self.adds)
        columns = ListColumns.of(frame, [position, *private])
        rows = columns.itemsets
        require_memory(BYTES_OF_SUPPORTS * (len(rows.codes) + rows.n_rows), self.name)
        return release(FrameWriter(frame, [position], private), partial(self.decision, columns, given))

    def decision(self, columns: ListColumns, arguments: Mapping[str, Any]) -> ListDecision:
        """Decide for list columns, wherever their rows are; ``arguments`` are those that are recorded."""
        assert self.decide is not None  # required of all algorithms for list columns
        given = self.read_guarantee({name: materialize(value) for name, value in arguments.items()})
        own, recorded = dict(given), given
        if guarantee := given.get("guarantee"):  # its parameters are recorded one by one
            promised = sorted(parameters_of_guarantee(type(guarantee)), key=len)
            others = {name: value for name, value in given.items() if name != "guarantee"}
            recorded = {name: getattr(guarantee, name) for name in promised} | others
        else:
            (kind,) = self.guarantees
            promised = parameters_of_guarantee(kind)
            own["guarantee"] = kind(**{name: own.pop(name) for name in promised if name in given})
        with progress_bar(self.name, self.unit):
            decision = self.decide(columns, **own)
        # Numbers as the guarantee read them, if they are not None (any number); none that was left out.
        named = [name for name in ("k", "m", "p") if recorded.get(name) is not None]
        numbers = {name: getattr(decision.guarantee, name, recorded[name]) for name in named}
        known = {"algorithm": self.name, **recorded, **numbers, **decision.parameters}
        known = {name: value for name, value in known.items() if not isinstance(value, DefaultNumber)}
        return replace(decision, parameters=known)

    def read_guarantee(self, arguments: Mapping[str, Any]) -> Parameters:
        """Return the arguments with the guarantee for ``guarantee, k, m``, if the algorithm takes these."""
        given = dict(arguments)
        if not takes_guarantee(self.function):
            return given
        own = [each.__name__ for each in self.guarantees]
        example = "guarantee=pdanon.LmDiversity(l=2, m=2, k=5, sensitive=['flu'])"
        asked, k, m = given.pop("guarantee", None), given.pop("k", None), given.pop("m", DEFAULT_M)
        guarantee: Any = read_guarantee(asked, "", k, m, example=example)[0]
        if not issubclass(type(guarantee), self.guarantees):
            what, got = f"{self.name} does not have this guarantee", type(guarantee).__name__
            hint = f"pass one of {', '.join(own)}; or call pdanon.anonymize, which finds an algorithm"
            raise ParameterError(what, where="guarantee", got=got, hint=hint)
        check_k(guarantee.k)
        return {"guarantee": replace(guarantee, mapping=None), **given}


ALGORITHMS: dict[str, Algorithm] = {}

_Watcher = Callable[[Algorithm], object]
_WATCHERS: list[_Watcher] = []


def register(*records: Algorithm) -> None:
    """Register algorithms for accessors, the command line, policies, streams, Dask and other algorithms."""
    for record in records:
        ALGORITHMS[record.name] = record
        for watcher in _WATCHERS:
            watcher(record)


def watch(watcher: _Watcher) -> _Watcher:
    """Call the decorated function with each record: those registered now, and later ones."""
    _WATCHERS.append(watcher)
    for record in ALGORITHMS.values():
        watcher(record)
    return watcher


def algorithm(name: Any) -> Callable[..., Anonymized]:
    """Return the function of an algorithm."""
    return ALGORITHMS[check_known(name, ALGORITHMS, "algorithm")].function


def functions(*recodes: str) -> dict[str, Callable[..., Anonymized]]:
    """Return the algorithms with any of the given recodings, by name."""
    return {name: each.function for name, each in ALGORITHMS.items() if each.recodes in recodes}


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters that are passed by name: of an algorithm, all but frame and column."""
    parameters = signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}


def with_defaults(function: Callable[..., Anonymized], given: Mapping[str, Any]) -> Parameters:
    """Return all parameters of an algorithm, with their defaults where they are not given."""
    return {name: each.default for name, each in parameters_of(function).items()} | dict(given)


def starting_from(earlier: Any, name: str) -> AbstractContextManager[None]:
    """Let an algorithm, or `pdanon.anonymize`, start from an earlier release, if there is one."""
    if earlier is None:
        return nullcontext()
    if name in ALGORITHMS and not ALGORITHMS[name].starts:
        what = f"{name} cannot keep the labels of an earlier release"
        hint = ", ".join(each for each, record in ALGORITHMS.items() if record.starts)
        raise ParameterError(what, where="start", hint=f"call anonymize, or one of {hint}")
    return assigned(EARLIER, earlier)


def parameters_of_guarantee(kind: type) -> list[str]:
    """Return the names of the parameters of a guarantee, without the mapping of a release."""
    return [each.name for each in fields(kind) if each.name != "mapping"]


def takes_guarantee(function: Callable[..., Anonymized]) -> bool:
    """Return whether an algorithm takes its guarantee as one parameter, or in short as k and m."""
    return "guarantee" in signature(function).parameters


def known_arguments(function: Callable[..., Anonymized], known: Mapping[str, Any]) -> Parameters:
    """Return the known parameters that an algorithm takes: the guarantee, or its parameters."""
    promised = parameters_of_guarantee(type(known["guarantee"])) if takes_guarantee(function) else []
    return {name: known[name] for name in parameters_of(function) if name in known and name not in promised}


def region_parameters(name: str) -> list[str]:
    """Return the parameters that an algorithm takes for rows outside memory, beside or among its own."""
    return [] if ALGORITHMS[name].recodes in OF_LISTS else ["block_rows"]


def of_lists(function: Callable[..., Anonymized]) -> bool:
    """Return whether an algorithm recodes a list column, the parameter ``column``."""
    return "column" in signature(function).parameters


# --- Requests: releases by the parameters of a guarantee, as in texts of the command line and of policies


# Parameters of a request, besides the roles of columns.
REQUEST_PARAMETERS = (
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "max_loss", "max_named", "time_limit", "random_state", "labels"),
)


def read_request(request: Mapping[str, Any], *, lists: bool = True) -> tuple[Guarantee, Parameters]:
    """Return the guarantee that a request has or describes, and its other parameters."""
    # ``lists`` tells whether there is a list column.
    own = signature(requested_guarantee).parameters
    asked = {name: value for name, value in request.items() if name in own}
    others = {name: value for name, value in request.items() if name not in own}
    if "max_named" in others:
        others["max_loss"] = {"named": others.pop("max_named")}
    if "hierarchies" in others:
        others["quasi"] = others.pop("hierarchies")
    if "guarantee" not in others:
        return requested_guarantee(**asked, lists=lists), others
    if asked:
        hint = f"leave out guarantee, or {', '.join(asked)}"
        raise ParameterError("the guarantee is given twice", where="guarantee", hint=hint)
    return read_guarantee(others.pop("guarantee"), None, None, DEFAULT_M)[0], others


def text_parameters(name: str) -> dict[str, bool]:
    """Return the parameters of an algorithm in texts, each with whether it is required."""
    # The parameters of its guarantees replace ``guarantee``. ``quasi`` lists labels alone.
    own = {each: known.default is known.empty for each, known in parameters_of(algorithm(name)).items()}
    if "quasi" in own:
        own |= {"hierarchies": False, "quasi_weights": False}
    if ALGORITHMS[name].starts:
        own["start"] = False
    if not takes_guarantee(algorithm(name)):
        return own
    promised = sorted(
        {each for kind in ALGORITHMS[name].guarantees for each in parameters_of_guarantee(kind)}
    )
    known = dict.fromkeys(["k", "m", *promised], False) | own | {"k": True}
    del known["guarantee"]
    return known


def read_named_request(name: str, request: Mapping[str, Any]) -> Parameters:
    """Return the arguments of an algorithm for its parameters in texts."""
    request = describe_quasi(request)
    if not takes_guarantee(algorithm(name)) or "guarantee" in request:
        return request
    guarantee, others = read_request(request)
    return {"guarantee": guarantee, **others}


def describe_quasi(request: Mapping[str, Any]) -> Parameters:
    """Return a request with one description of its quasi-identifiers, for weights and hierarchies apart."""
    others, apart = dict(request), []
    for name in ("quasi_weights", "hierarchies"):
        apart.append(check_kind(others.pop(name, {}), Mapping, name, "values by column"))  # type: ignore[type-abstract]
        for label in apart[-1]:
            check_known(label, others.get("quasi", ()), "quasi-identifier", where=name)
    if any(apart):
        others["quasi"] = {label: tuple(each.get(label) for each in apart) for label in others["quasi"]}
    return others
