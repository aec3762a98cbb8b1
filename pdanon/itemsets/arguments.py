"""Errors with hints for unexpected and missing arguments, and for unknown methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from pdanon.errors import GuaranteeError, ParameterError, PdanonError, did_you_mean
from pdanon.itemsets.libraries import call_with_tables, methods_take_tables
from pdanon.itemsets.memory import explain_memory
from pdanon.itemsets.timing import read_variable
from pdanon.itemsets.validation import quote_word

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Class = TypeVar("_Class", bound=type[Any])

# Examples by parameter, or by function and parameter where a name has another meaning.
_EXAMPLES = {
    "k": "k=5: the least number of rows that an attacker's knowledge must match",
    "m": "m=2: the largest number of items that an attacker knows",
    "hierarchy": "hierarchy='tree.csv', or hierarchy=5 for a balanced one with this fan-out",
    "quasi": "quasi=['age', 'sex']: the columns that an attacker may know",
    "h": "h=0.5: the largest share of the matching rows that may hold a private item",
    "p": "p=2: the largest number of public items that an attacker knows",
    "cahd.p": "p=4: in a group of rows, at most one row in p holds a sensitive item",
    "SensitiveGroups.p": "p=4: in a group of rows, at most one row in p holds a sensitive item",
    "rho": "rho=0.5: the largest confidence with which a sensitive item may be inferred",
    "sensitive": "sensitive=['flu', 'gout']: the items that must not be inferred",
    "rules": "rules=[(['rice'], ['flu'])]: background knowledge, and the items that must not be inferred",
    "c": "c=0.5: the largest confidence with which they may be inferred",
    "parts": "parts=10: the number of parts to recode",
    "rows": "rows=[0, 1]: labels of rows in the index",
    "guarantee": "pdanon.KmAnonymity(k=5, m=2)",
    "separator": "separator=';': the text between two items",
    "by": "by='person': the column that names the person of a line",
    "item": "item='product': the column of the items",
    "explain.item": "item='flu': an item of the original",
    "original": "original=frame: the frame that was anonymized",
    "result": "result=pdanon.pcta(frame, k=5, m=2)",
    "read_csv.column": "column='items': the column of the items",
    "report.path": "path='release.html': the page to write",
    "l": "l=2: an attacker infers a sensitive item with a confidence of at most 1/l",
    "private": "private=['flu']: the items that must not be inferred",
    "public": "public=['rice', 'tea']: the items that an attacker may know",
    "constraints": "constraints=[['rice', 'tea']]: the itemsets that an attacker may know",
    "Hierarchy.names": "pdanon.Hierarchy.of({'all': {'food': ['rice'], 'drink': ['tea']}})",
    "Workload.queries": "pdanon.Workload.itemsets(frame, n=100, size=2)",
    "Policy.input": "pdanon.Policy.from_toml('policy.toml')",
    "rum_bound.delta": "delta=0.5: an upper bound on the NCP of the quasi-identifiers",
    "tum_bound.delta": "delta=0.5: an upper bound on the NCP of the items",
    "mapping": "mapping=result.mapping",
    "path": "path='table.parquet'",
    "population": "population=people: a frame with a row per person, also those of the sample",
    "earlier": "earlier=january: an earlier release of the same persons, or its mapping",
    "previous": "previous=january: an earlier release, or a list of them",
    "released": "released=result.frame",
    "configurations": "configurations={'pcta': {'k': 5}}: parameters by algorithm",
}
_GUARANTEES = {
    "constraints": "pdanon.PrivacyConstraints(constraints=[['rice', 'tea']], k=5)",
    "l": "pdanon.LmDiversity(l=2, m=2, k=5, sensitive=['flu'])",
    "k": "pdanon.KmAnonymity(k=5, m=2)",
    "m": "pdanon.KmAnonymity(k=5, m=2)",
    "quasi": "pdanon.KKm(k=5, m=2, quasi=['age', 'sex'])",
    "rho": "pdanon.RhoUncertainty(rho=0.5, sensitive=['flu'])",
    "p": "pdanon.SensitiveGroups(p=10, sensitive=['flu'])",
    "sensitive": "pdanon.RhoUncertainty(rho=0.5, sensitive=['flu']), or another one",
    "rules": "pdanon.PSRules(rules=[(['rice'], ['flu'])], k=5, c=0.5)",
    "c": "pdanon.PSRules(rules=[(['rice'], ['flu'])], k=5, c=0.5)",
}
_OF_ALGORITHMS = {"sensitive": "l"}  # the only guarantee of algorithms with ``guarantee=`` that has it
# What other calls take: options of the process, of persons with several rows, and of several releases.
_BY = "take the table by person first: df.txanon.by('customer', item='product')"
_AFTER = "take the release after the others first: df.txanon.after(january, key='id')"
_MOVED = {
    "progress": "pdanon.config(progress=True)",
    "n_jobs": "pdanon.config(processes=4), or in a policy: processes = 4",
    **dict.fromkeys(("unit", "item", "counts"), _BY),
    **dict.fromkeys(("previous", "key", "spans", "linked"), _AFTER),
    "keep": "name the reviewed columns first: df.txanon.keep('store'); of persons: by('id', keep=['store'])",
    "start": "name the earlier release first: df.txanon.start_from(january).pcta(k=5, m=2); "
    "of files, name the algorithm: pdanon.stream.pcta(source, target, k=5, start=january)",
    "algorithm": "call it by its name: df.txanon.pcta(k=5), or pdanon.stream.pcta(source, target, k=5)",
    "labels": "rename the sets of the result: result.relabel('short'), or in a policy: labels = 'short'",
    "quasi_weights": "pass them as quasi: quasi={'age': 0.5, 'sex': 1}",
    "hierarchies": "pass them as quasi: quasi={'age': 'ages.csv', 'sex': None}; hierarchy= is of items",
    "max_named": "pass it with the bounds on losses: max_loss={'named': 0.1}",
    "penalty": "leave it out: a suppressed item costs 1 in UL, and other costs changed no release",
    "reserve": "pass the larger k itself, and audit the series for the smaller one",
}
# Names of other functions or libraries for a parameter.
_SYNONYMS = {"sensitive": "private", "private": "sensitive", "sep": "separator", "seed": "random_state"}
# Steps before a release of a frame, which are arguments of a release of files or partitions.
STEPS = {"keep": "keep=['store']", "start_from": "start=january.mapping"}
_NAMESPACES = ("stream", "dask")  # modules whose functions are not in `pdanon` itself
_signature = cache(inspect.signature)  # of public functions and classes, which are few
_OF_TRANSACTION = ("columns", "options", "sensitive", "l", "refine")  # parameters of pdanon.Transaction


class CallError(ParameterError, TypeError):
    """A call lacks an argument, or has one that the function does not take."""


class MethodError(PdanonError, AttributeError):
    """An accessor, a result or its plots have no method of that name."""


def as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as a method of an accessor: same name and docstring, without the frame or series."""

    @wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self._obj, *args, **kwargs)

    return method


def unknown_method(what: str, where: str) -> Callable[[Any, str], Any]:
    """Return a ``__getattr__`` whose error suggests a method of the class, or lists all."""

    def suggest(self: Any, name: str) -> Any:
        methods = [each for each in vars(type(self)) if not each.startswith("_")]
        hint = did_you_mean(name, methods) or f"known: {', '.join(methods)}"
        raise MethodError(what, where=where, got=repr(name), hint=hint)

    return suggest


def called_by_name(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a public function: wrong arguments and exhausted memory raise errors with a hint."""
    # The function also takes tables of other libraries, and returns its tables in the library of the first
    # one.

    @wraps(function)
    def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            check_call(function, args, kwargs)
            read_variable()  # refused by each call, also those of small tables
            return cast(_Result, call_with_tables(function, args, kwargs))
        except PdanonError as error:
            raise _from_here(error) from error.__cause__

    return explain_memory(called)


def constructed_by_name(kind: _Class) -> _Class:
    """Make a public class explain a wrong construction, as `called_by_name` does, and take other tables."""
    # An audit that exhausts the memory raises an `OutOfMemoryError`.
    construct = kind.__init__
    methods_take_tables(kind)

    @wraps(construct)
    def constructed(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            check_call(kind, args, kwargs)
            call_with_tables(construct, (self, *args), kwargs)
        except PdanonError as error:
            raise _from_here(error) from error.__cause__

    kind.__init__ = constructed
    if "audit" in vars(kind):
        kind.audit = explain_memory(kind.audit)
    return kind


def _from_here(error: PdanonError) -> PdanonError:
    """Drop the frames of pdanon from the traceback of an error that the caller can mend."""
    # A `GuaranteeError` is a defect of pdanon: it keeps them for the report.
    return error if isinstance(error, GuaranteeError) else error.with_traceback(None)


def check_call(function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    """Check that a function takes these arguments: none is missing, unexpected, or passed twice."""
    signature = _signature(function)
    try:
        signature.bind(*args, **given)
        return
    except TypeError:
        pass
    # Raised outside the handler: Python's own message is not chained.
    known = {
        name: each for name, each in signature.parameters.items() if each.kind is not each.VAR_POSITIONAL
    }
    is_method = known.pop("self", None) is not None
    public = [each for each in function.__module__.split(".") if each in _NAMESPACES]
    where = function.__qualname__ if is_method else ".".join(["pdanon", *public, function.__name__])
    raise _call_error(function.__name__, where, known, args[is_method:], given)


def moved(name: str, known: Mapping[str, inspect.Parameter]) -> str | None:
    """Return the hint for a parameter that another call or value takes; ``known`` are those of this call."""
    if "transaction" in known and name in _OF_TRANSACTION:
        return f"pass it for the items: transaction=pdanon.Transaction({name}=...)"
    if "guarantee" in known and name in _GUARANTEES:
        own = known["guarantee"].kind is inspect.Parameter.KEYWORD_ONLY  # of an algorithm
        hint = f"guarantee={_GUARANTEES[_OF_ALGORITHMS.get(name, name)]}" if own else _GUARANTEES[name]
        return f"it is a parameter of the guarantee: {hint}"
    if name == "refine" and "joint" in known:
        return "its name is joint (--joint): let clusters share chunks"
    return _MOVED.get(name)


def _call_error(
    name: str,
    where: str,
    known: Mapping[str, inspect.Parameter],
    args: tuple[Any, ...],
    given: Iterable[str],
) -> CallError:
    """Return the error for an unknown argument, or else for extra, missing or repeated ones."""

    def example(parameter: str) -> str | None:
        return _EXAMPLES.get(f"{name}.{parameter}", _EXAMPLES.get(parameter))

    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    unknown = [each for each in given if each not in known and not takes_all]
    if unknown:
        similar = did_you_mean(_SYNONYMS.get(unknown[0], ""), known) or did_you_mean(unknown[0], known)
        hint = moved(unknown[0], known) or similar or f"its parameters: {', '.join(known)}"
        what = f"{name} has no parameter {quote_word(unknown[0])}"
        return CallError(what, where=where, got=f"{len(unknown)} unknown", hint=hint)
    positional = [
        each for each, parameter in known.items() if parameter.kind <= parameter.POSITIONAL_OR_KEYWORD
    ]
    if len(args) > len(positional):
        # A method of an accessor passes the frame itself, so its caller does not count it.
        beside = positional[:1] if positional and positional[0] in ("frame", "original", "series") else []
        names = positional[len(beside) :]
        what = f"{name} takes {'only ' if names else 'no argument'}{' and '.join(names)} by position"
        what += f" beside the {beside[0]}" if beside else ""
        first = next(filter(None, map(example, known)), "column='items'")
        hint = f"pass {'the others' if names else 'them'} by name, {first}"
        return CallError(what, where=where, got=f"{len(args) - len(beside)} by position", hint=hint)
    filled = positional[: len(args)]
    missing = [
        each
        for each, parameter in known.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if each not in given and each not in filled
    ]
    if not missing:
        twice = [each for each in filled if each in given]
        what = f"{name} takes {' and '.join(twice)} once"
        return CallError(what, where=where, got="one by position and one by name", hint="leave one out")
    what = f"{name} needs {' and '.join(missing)}"
    examples = "; ".join(filter(None, map(example, missing)))
    hint = f"such as {examples}" if examples else f"its parameters: {', '.join(known)}"
    return CallError(what, where=where, hint=hint)
