"""Calls with one bad argument: every public function, method and command, from its signature.

What is public is what the reference lists, so a new function is called without a change here. Its parameters
are known by their names, which are spelled alike everywhere; one that is not listed keeps its default, or is
None, in the base call, and is tried with all that is bad like any other.
"""

from __future__ import annotations

import importlib
import inspect
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from bad_commands import COMMANDS, MORE_KEYS, POLICY, TOKENS, VALUES, run_command, toml, write_files
from bad_values import BAD, FLU, FRAMES, NUMBERS, RICE, ROWS, SALT, TEA, TREE, good_frame, released
from conftest import SECRET
from pages import names_of_the_reference

import pdanon
from pdanon.accessors import TxanonAccessor

SECONDS = 20  # of the processor: other work may keep a machine busy


class Target(NamedTuple):
    """What is called: its name, itself, and by parameter what makes a valid argument."""

    name: str
    function: Callable[..., Any]
    base: dict[str, Callable[[], Any]]
    parameters: tuple[str, ...]


class Call(NamedTuple):
    """A call with one argument replaced: as it can be told, as it can be made, and whether it is a name."""

    name: str
    make: Callable[[], Any]
    is_name: bool = False


# --- What is good


def good_dask() -> Any:
    import dask.dataframe as dd

    frame = good_frame()
    return dd.from_pandas(frame.assign(items=pdanon.as_itemsets(frame["items"])), npartitions=2)


def good_policy() -> Any:
    """A policy whose release does not exist yet: a directory is never replaced."""
    Path("written.parquet").unlink(missing_ok=True)
    return pdanon.Policy.from_toml("good.toml")


# By name of the parameter, or by function and parameter where it means something of its own.
GOOD: dict[str, Callable[[], Any]] = {
    "frame": good_frame,
    "original": good_frame,
    "prepare.steps": lambda: {"items": {"max_items": 2}},
    "keep.columns": lambda: "age",
    "labels": lambda: "short",
    "series": lambda: good_frame()["items"],
    "released": lambda: released(),
    "tkd.released": good_frame,
    "ml2.mapping": lambda: released("apriori").mapping,
    "result": lambda: released(),
    "reconstruct.released": lambda: released("disassociate"),
    "DisassociatedKm.audit.frame": lambda: released("disassociate").frame,
    "write.result": lambda: released(),
    "mapping": lambda: released().mapping,
    "with_mapping.mapping": lambda: pd.DataFrame({"group": [0], "item": [FLU], "generalized": [FLU]}),
    "guarantee": lambda: pdanon.KmAnonymity(2, 2),
    "anonymize.k": lambda: 2,
    **{f"{name}.k": lambda: 2 for name in ("apriori", "coat", "local_suppression", "pcta", "upcta")},
    "audit.k": lambda: 2,
    "KMap.population": good_frame,
    "KMap.mapping": lambda: None,
    "meets.threshold": lambda: "CMS",
    "bound.k": lambda: 2,
    "cahd.k": lambda: 2,
    "SensitiveGroups.k": lambda: 2,
    "k": lambda: 2,
    "m": lambda: 2,
    "l": lambda: 2,
    "p": lambda: 2,
    "h": lambda: 1,
    "rho": lambda: 0.5,
    "r": lambda: 2,
    "n": lambda: 5,
    "size": lambda: 1,
    "itemsets.size": lambda: 1,
    "parts": lambda: 2,
    "earlier": lambda: released("pcta").mapping,
    "level": lambda: 1,
    "count": lambda: 2,
    "sizes": lambda: 1,
    "share": lambda: 1.0,
    "delta": lambda: 0.5,
    "fanout": lambda: 2,
    "width": lambda: 2,
    "rows": lambda: [0, 1],
    "top": lambda: 3,
    "ranks": lambda: (1, 3),
    "min_support": lambda: 0.5,
    "min_confidence": lambda: 0.5,
    "known": lambda: [RICE],
    "from_rules.rules": lambda: pd.DataFrame({"antecedent": [[RICE]], "consequent": [[TEA]]}),
    "dask.attack.result": lambda: good_dask().txanon.pcta(k=2, m=2),
    "time_limit": lambda: 0.2,
    "independent": lambda: True,
    "random_state": lambda: 0,
    "guarantees.sensitive": lambda: [FLU],
    "sensitive": lambda: [FLU],
    "private": lambda: [FLU],
    "public": lambda: [TEA],
    "quasi": lambda: ["age"],
    "reconstruction_error.result": lambda: released("cahd"),
    "reconstruction_error.queries": lambda: [(FLU, [RICE])],
    "classes": lambda: released("cahd").classes,
    "SensitiveGroups.audit.frame": lambda: released("cahd").frame,
    "constraints": lambda: [[RICE, TEA], [SALT]],
    "rules": lambda: [([RICE, TEA], [FLU]), ([SALT], [FLU])],
    "c": lambda: 0.5,
    "utility": lambda: [[RICE, SALT], [TEA, FLU]],
    "hierarchy": lambda: TREE,
    "source": lambda: TREE,
    "tree": lambda: TREE,
    "items": lambda: [RICE, TEA],
    "itemset": lambda: [RICE, TEA],
    "item": lambda: SALT,
    "texts": lambda: [RICE, TEA],
    "values": lambda: [1, 2, 3],
    "codes": lambda: ["25", "26"],
    "lengths": lambda: [1],
    "ranges": lambda: ["20-29", "25"],
    "length": lambda: 1,
    "node": lambda: 1,
    "lists": lambda: ROWS,
    "queries": lambda: pd.DataFrame({"items": [[RICE], [TEA]]}),
    "column": lambda: "items",
    "table": lambda: pd.DataFrame(
        {"algorithm": ["a", "b"], "k": [2, 3], "NCP": [0.1, 0.2], "risk": [0.5, 0.2]}
    ),
    "configurations": lambda: {"pcta": {}},
    "compare.k": lambda: 2,
    "file": lambda: "good.toml",
    "path": lambda: "written.parquet",
    "report.path": lambda: "written.html",
    "evidence.path": lambda: "written.json",
    "verify.evidence": lambda: "good-evidence.json",
    "verify.release": lambda: released().frame,
    "directory": lambda: f"saved-{time.monotonic_ns()}",
    "over.items": lambda: pa.array([RICE, TEA]),
    "cover_items.items": lambda: pa.array([RICE, TEA]),
    "from_csv.path": lambda: "good-tree.csv",
    "read_csv.path": lambda: "good.csv",
    "to_csv.path": lambda: "written.csv",
    "read_parquet.path": lambda: "good.parquet",
    "Workload.read_parquet.path": lambda: "good-queries.parquet",
    "separator": lambda: "|",
    "stream.anonymize.source": lambda: "good.parquet",
    "stream.anonymize.target": lambda: f"new-{time.monotonic_ns()}.parquet",
    "stream.anonymize.mapping": lambda: "written.csv",
    "stream.by.source": lambda: "good.parquet",
    "stream.by.item": lambda: "age",
    "dask.by.item": lambda: "age",
    "unit": lambda: "city",
    "previous": good_frame,
    "stream.audit.source": lambda: "good.parquet",
    "stream.risk.source": lambda: "good.parquet",
    "stream.profile.source": lambda: "good.parquet",
    "stream.attack.source": lambda: "good.parquet",
    "stream.attack.released": lambda: "good-released.parquet",
    "stream.from_long.source": lambda: "good-lines.csv",
    "stream.from_long.target": lambda: f"new-{time.monotonic_ns()}.parquet",
    "stream.from_long.by": lambda: "who",
    "stream.from_long.item": lambda: "what",
    "generalize.mapping": lambda: {RICE: "food", SALT: "food"},
    "frontier.risk": lambda: "risk",
    "from_long.frame": lambda: pd.DataFrame(
        {"id": [1, 1, 2], "age": [30, 30, 41], "item": [RICE, TEA, RICE]}
    ),
    "from_long.by": lambda: "id",
    "tradeoff.k": lambda: [2],
    "assessment.table": lambda: good_frame().txanon.assess(good_frame()),
    "tradeoff.table": lambda: pd.DataFrame({"k": [2, 3], "m": [1, 1], "occurrences": [0.1, 0.2]}),
    "tradeoff.m": lambda: [1],
    "from_long.item": lambda: "item",
    "from_onehot.frame": lambda: pd.DataFrame({RICE: [1, 0], TEA: [1, 1]}),
    "from_wide.frame": lambda: pd.DataFrame({"first": [RICE, SALT], "second": [TEA, None]}),
    "from_json.series": lambda: pd.Series([f'["{RICE}", "{TEA}"]', f'["{RICE}"]']),
    "from_text.series": lambda: pd.Series([f"{RICE};{TEA}", RICE]),
    "delimiter": lambda: ";",
    "from_text.separator": lambda: ";",
    "to_text.separator": lambda: ";",
    "make_baskets.rows": lambda: 20,
    "make_baskets.items": lambda: 30,
    "make_baskets.patterns": lambda: 5,
    "rt.items": lambda: 1,
    "from_frame.frame": lambda: pd.DataFrame({"child": ["a", "b"], "parent": ["x", "x"]}),
    "Workload.from_frame.frame": good_frame,
    "check_outputs.files": lambda: ["written.parquet"],
    "check_outputs.overwrite": lambda: True,
    "write.overwrite": lambda: True,
    "run_stream.overwrite": lambda: True,
    "write_comparison.overwrite": lambda: True,
    "input": lambda: Path("good.parquet"),
    "Policy.items": lambda: "items",
    "Policy.parameters": lambda: {"k": 2},
    "Policy.algorithm": lambda: "pcta",
    "Policy.drop": lambda: ["city"],
    "Policy.keep": lambda: ["age"],
    "Policy.quasi": lambda: [],
    "Policy.hierarchies": lambda: {"items": 2},
    "options": dict,
}
# Optional parameters that take part in the base call: the call needs them, or ends sooner with them.
ALSO = {"time_limit", "independent", "random_state", "m", "size", "ranks"}
INSTANCES: dict[str, Callable[[], Any]] = {
    "Anonymized": lambda: released(),
    "Plots": lambda: released().plot,
    "Hierarchy": lambda: pdanon.Hierarchy.of(TREE),
    "Policy": lambda: good_policy(),
    "Workload": lambda: pdanon.Workload.from_frame(pd.DataFrame({"items": [[RICE], [TEA]]})),
    "KmAnonymity": lambda: pdanon.KmAnonymity(2, 2),
    "DisassociatedKm": lambda: pdanon.DisassociatedKm(k=2, m=2),
    "TransactionalK": lambda: pdanon.TransactionalK(k=2),
    "LmDiversity": lambda: pdanon.LmDiversity(l=2, m=2, sensitive=[FLU]),
    "PrivacyConstraints": lambda: pdanon.PrivacyConstraints(constraints=[[RICE]], k=2),
    "Coherence": lambda: pdanon.Coherence(h=1, k=2, p=2, private=[FLU]),
    "PSRules": lambda: pdanon.PSRules(rules=[([RICE], [FLU])], k=2, c=0.5),
    "PublicK": lambda: pdanon.PublicK(k=2, public=[TEA]),
    "SensitiveGroups": lambda: released("cahd").guarantee,
    "RhoUncertainty": lambda: pdanon.RhoUncertainty(rho=0.5, sensitive=[FLU]),
    "KAnonymity": lambda: pdanon.KAnonymity(2, quasi=["age"]),
    "KKm": lambda: pdanon.KKm(k=2, m=2, quasi=["age"]),
    "KLm": lambda: pdanon.KLm(k=2, l=2, m=2, quasi=["age"], sensitive=[FLU]),
    "ItemsetAccessor": lambda: good_frame()["items"].itemset,
    "TxanonAccessor": lambda: good_frame().txanon,
    "dask.TxanonAccessor": lambda: good_dask().txanon,
    "dask.ItemsetAccessor": lambda: good_dask()["items"].itemset,
}
# What takes as long as it is asked to, or starts as many processes: numbers of these are fine.
LONG = {"time_limit", "processes"}
# Classes that pdanon makes and the user does not, or whose constructor says that it checks nothing.
NAMES = {
    "by",
    "item",
    "quasi",
    "keep",
    "drop",
    "max_loss",
    "columns",
    "column",
    "options",
    "configurations",
    "vary",
    "measures",
}
POLICY_PARTS = {"parameters", "outputs", "comparison", "drop", "sensitive", "form", "head"}
MADE = {
    *(
        "AfterReleases",
        "Anonymized",
        "Answers",
        "Attack",
        "Audit",
        "ByPerson",
        "Explanation",
        "Hierarchy",
        "LazyRelease",
        "Plots",
    ),
    *("Profile", "Streamed", "Threshold", "Verification", "Workload"),
}


# --- What is called


def targets() -> Iterator[Target]:
    """All that the reference lists, and the methods of the accessor that forward."""
    for name in names_of_the_reference():
        here, _, last = f"pdanon.{name}".rpartition(".")
        found = getattr(importlib.import_module(here), last)
        if not callable(found):
            continue
        elif not inspect.isclass(found):
            yield target(name, found)
        elif not issubclass(found, (Exception, Warning)):
            yield from of_class(name, found)
    yield from of_class("TxanonAccessor", TxanonAccessor)


def of_class(name: str, kind: type) -> Iterator[Target]:
    if kind.__name__ not in MADE and not name.endswith("Accessor"):
        yield target(name, kind)
    for member, value in inspect.getmembers(kind, callable):
        if member.startswith("_") or member == "recount":  # of engines
            continue
        if "itemsets" in inspect.signature(value).parameters:  # of pdanon itself
            continue
        if inspect.ismethod(value):
            yield target(f"{name}.{member}", value)
        elif name in INSTANCES or kind.__name__ in INSTANCES:
            instance = INSTANCES.get(name) or INSTANCES[kind.__name__]
            yield target(f"{name}.{member}", value, instance)


def target(name: str, function: Callable[..., Any], instance: Callable[[], Any] | None = None) -> Target:
    base = {}
    parameters, first = [], []
    for parameter in list(inspect.signature(function).parameters.values())[instance is not None :]:
        if parameter.kind == parameter.VAR_KEYWORD:
            base = {"k": GOOD["k"], "m": GOOD["m"]} | base
            parameters += ["k", "m"]
            continue
        parameters.append(parameter.name)
        first = [*parameters] if parameter.kind == parameter.VAR_POSITIONAL else first
        needed = parameter.default is parameter.empty or parameter.name in ALSO
        if needed or f"{name.rpartition('.')[2]}.{parameter.name}" in GOOD:
            base[parameter.name] = good(name, parameter.name)
    called = function if instance is None else lambda *args, **given: function(instance(), *args, **given)
    if first:  # up to those of which there may be any number: one here
        by_name, called = called, lambda **given: by_name(*[given.pop(each) for each in first], **given)
    return Target(name, called, base, tuple(parameters))


def good(name: str, parameter: str) -> Callable[[], Any]:
    parts = name.split(".")
    if parts[0] == "dask" and parameter == "frame":
        return good_dask
    known = [".".join([*parts[start:], parameter]) for start in range(len(parts) + 1)]
    return next((GOOD[key] for key in known if key in GOOD), lambda: None)


# --- Calls


def names_something(each: Target, parameter: str, bad: str) -> bool:
    """Tell whether what is bad is a name where it is given: of a column, a parameter, a word or a file."""
    return bad == "item" or parameter in NAMES or (each.name == "Policy" and parameter in POLICY_PARTS)


def call_of(each: Target, parameter: str, bad: str) -> Call:
    def make() -> Any:
        given = {name: value() for name, value in each.base.items()} | {parameter: BAD[bad]()}
        return each.function(**given)

    return Call(f"{each.name}({parameter}={bad})", make, names_something(each, parameter, bad))


def accessor_call(bad: str) -> Call:
    frame = FRAMES[bad]
    if isinstance(frame(), pd.Series):
        return Call(f"{bad}.itemset", lambda: frame().itemset.supports())
    return Call(f"{bad}.txanon", lambda: frame().txanon.pcta(k=2))


def series_call(bad: str, each: Target) -> Call:
    def make() -> Any:
        frame = FRAMES[bad]()
        given = {name: value() for name, value in each.base.items()}
        return getattr(frame.iloc[:, 0].itemset, each.name.split(".")[-1])(**given)

    return Call(f"{bad}.{each.name}", make)


def command_call(command: str, place: int, bad: str) -> Call:
    def make() -> Any:
        words = command.split()
        words[place] = str(TOKENS[bad]())
        return run_command(words)

    words = command.split()
    return Call(f"pdanon {' '.join([*words[:place], f'<{bad}>', *words[place + 1 :]])}", make)


def policy_call(command: str, key: str, bad: str) -> Call:
    def make() -> Any:
        Path("bad.toml").write_text(toml(POLICY | {key: VALUES[bad]}))
        return run_command([command, "bad.toml"], bad == "item")

    return Call(f"pdanon {command} with {key} = {bad}", make)


def all_calls() -> list[Callable[[], Call]]:
    """All calls that can be made; which value is bad is written last, so neighbours are alike."""
    calls: list[Callable[[], Call]] = []
    every = list(targets())
    for each in every:
        for parameter in each.parameters:
            bad_ones = [bad for bad in BAD if not (parameter in LONG and bad in NUMBERS)]
            calls += [lambda e=each, p=parameter, b=bad: call_of(e, p, b) for bad in bad_ones]
    frames = [bad for bad in FRAMES if isinstance(FRAMES[bad](), (pd.DataFrame, pd.Series))]
    calls += [lambda b=bad: accessor_call(b) for bad in frames]
    methods = [each for each in every if each.name.startswith("accessors.ItemsetAccessor.")]
    tables = [bad for bad in frames if getattr(FRAMES[bad](), "ndim", 1) == 2 and FRAMES[bad]().shape[1]]
    calls += [lambda b=bad, e=each: series_call(b, e) for each in methods for bad in tables]
    for command in COMMANDS:
        places = range(len(command.split()))
        calls += [
            lambda c=command, p=place, b=bad: command_call(c, p, b) for place in places for bad in TOKENS
        ]
    calls += [
        lambda c=command, k=key, b=bad: policy_call(c, k, b)
        for command in ("run", "compare")
        for key in [*POLICY, *MORE_KEYS]
        for bad in VALUES
    ]
    return calls


# --- What comes of them


class TookTooLongError(BaseException):
    """No handler for errors takes this for one of those it expects."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def problem_of(call: Call, seconds: float = SECONDS) -> str | None:
    """What is wrong with what came of a call; None if it was refused as it should be, or done."""
    start = time.process_time()
    problem = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            with limited(seconds), pdanon.config(progress=False, threads=None):  # which a call may set
                call.make()
        except pdanon.PdanonError as error:
            if not call.is_name and SECRET in "".join(traceback.format_exception(error)):
                problem = f"item text in the message: {type(error).__name__}"
        except TookTooLongError:
            problem = f"took more than {seconds} s"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)
            lines = [f"{Path(e.filename).name}:{e.lineno}" for e in place if "/pdanon/" in e.filename]
            problem = f"{type(error).__name__}: {str(error)[:150]!a} at {' '.join(lines[-2:])}"
    taken = time.process_time() - start
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    if problem is None and taken > seconds:
        problem = f"took {taken:.1f} s"
    # A warning that pandas or matplotlib words for users is as good as one of pdanon.
    ours = (UserWarning, pdanon.IdentifierWarning, pdanon.ReleaseWarning)
    strange = [each for each in told if each.category not in ours]
    if problem is None and strange:
        problem = f"warned: {strange[0].category.__name__} {str(strange[0].message)[:100]!a}"
    return problem


def warm_up() -> dict[str, str]:
    """Make every base call once, as the first loads what it needs; what went wrong, by name."""
    wrong = {}
    for each in targets():
        call = Call(each.name, lambda e=each: e.function(**{name: value() for name, value in e.base.items()}))
        problem = problem_of(call, 300)
        if problem:
            wrong[each.name] = problem
        else:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call.make()
            except pdanon.PdanonError as error:
                wrong[each.name] = str(error)
    return wrong


if __name__ == "__main__":  # python tests/bad_calls.py SEED COUNT: what is wrong with so many of them
    import os
    import random
    import resource
    import tempfile

    os.chdir(tempfile.mkdtemp())
    import matplotlib

    matplotlib.use("Agg")
    write_files()
    for name, what in warm_up().items():
        print("BASE", name, what.replace("\n", " | "))
    calls = all_calls()
    print(len(calls), "calls", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for make in random.Random(int(sys.argv[1])).sample(calls, min(len(calls), int(sys.argv[2]))):
        call = make()
        print("TRY", call.name[:300].encode("ascii", "replace").decode(), file=sys.stderr, flush=True)
        problem = problem_of(call)
        if problem:
            print(f"{problem}\n    {call.name[:300]}".encode("ascii", "replace").decode(), flush=True)
