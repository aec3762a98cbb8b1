"""Errors for unexpected or missing arguments, and for unknown methods, in place of what Python says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pdanon.errors import ParameterError, PdanonError, did_you_mean
from pdanon.itemsets.validation import quote_word

__all__ = ["CallError", "MethodError", "called_by_name", "check_call"]

_Asked = ParamSpec("_Asked")
_Result = TypeVar("_Result")

_SUCH = {
    "k": "k=5: the least number of rows that an attacker's knowledge must match",
    "m": "m=2: the largest number of items that an attacker knows",
    "hierarchy": "hierarchy='tree.csv', or hierarchy=5 for a balanced one with this fan-out",
    "quasi": "quasi=['age', 'sex']: the columns that an attacker may know",
    "h": "h=0.5: the largest share of the rows that match in which a private item may be",
    "p": "p=2: the largest number of public items that an attacker knows",
    "cahd.p": "p=4: of a group of rows, a sensitive item is in at most one in p",
    "rho": "rho=0.5: the largest share of the rows with what is known that may hold a sensitive item",
    "sensitive": "sensitive=['flu', 'gout']: the items that nobody is to learn of a person",
    "rules": "rules=[(['rice'], ['flu'])]: what may be known, and what must not be inferred from it",
    "c": "c=0.5: the largest share of the rows that match in which that may be",
    "parts": "parts=10: in how many parts it is recoded",
    "rows": "rows=[0, 1]: which rows, by their labels in the index",
    "guarantee": "pdanon.KmAnonymity(k=5, m=2)",
}
_OF_GUARANTEES = {
    "k": "pdanon.KmAnonymity(k=5, m=2)",
    "m": "pdanon.KmAnonymity(k=5, m=2)",
    "quasi": "pdanon.KKm(k=5, m=2, quasi=['age', 'sex'])",
    "rho": "pdanon.RhoUncertainty(rho=0.5, sensitive=['flu'])",
    "p": "pdanon.SensitiveGroups(p=10, sensitive=['flu'])",
    "sensitive": "pdanon.RhoUncertainty(rho=0.5, sensitive=['flu']), or another one",
    "rules": "pdanon.PSRules(rules=[(['rice'], ['flu'])], k=5, c=0.5)",
    "c": "pdanon.PSRules(rules=[(['rice'], ['flu'])], k=5, c=0.5)",
}
_OF_ITEMS = ("columns", "labels", "options", "sensitive", "l")  # what a Transaction says


class CallError(ParameterError, TypeError):
    """A function is called without what it needs, or with what it does not know."""


class MethodError(PdanonError, AttributeError):
    """The accessor has no method of that name."""


def called_by_name(function: Callable[_Asked, _Result]) -> Callable[_Asked, _Result]:
    """Let a public function say itself what is wrong with a call, and what was meant."""

    @wraps(function)
    def called(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Result:
        check_call(function, args, kwargs)
        return function(*args, **kwargs)

    return called


def check_call(function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    """Check that a function can be called so.

    Raises
    ------
    CallError
        If an argument is missing, unexpected, or there twice.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **given)
        return
    except TypeError:
        pass
    # Raised outside the handler: one message is enough.
    raise _refused(function.__name__, signature.parameters, args, given)


def _refused(
    name: str, known: Mapping[str, inspect.Parameter], args: tuple[Any, ...], given: Iterable[str]
) -> CallError:
    unknown = [each for each in given if each not in known]
    if unknown:
        hint = did_you_mean(unknown[0].lower(), known) or f"its parameters: {', '.join(known)}"
        if "transaction" in known and unknown[0] in _OF_ITEMS:
            hint = f"that is said of the items: transaction=pdanon.Transaction({unknown[0]}=...)"
        if "guarantee" in known and unknown[0] in _OF_GUARANTEES:
            hint = f"the guarantee says it: {_OF_GUARANTEES[unknown[0]]}"
        what = f"{name} has no parameter {quote_word(unknown[0])}"
        return CallError(what, where=f"pdanon.{name}", got=f"{len(unknown)} such", hint=hint)
    by_place = [each for each, parameter in known.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    if len(args) > len(by_place):
        what = f"{name} takes {' and '.join(by_place)} by place, and all else by name"
        hint = f"such as {next((_such(name, each) for each in known if each in _SUCH), 'name=value')}"
        return CallError(what, where=f"pdanon.{name}", got=f"{len(args)} by place", hint=hint)
    needed = [each for each, parameter in known.items() if parameter.default is parameter.empty]
    lacking = [each for each in needed if each not in given and each not in by_place[: len(args)]]
    if not lacking:
        twice = [each for each in by_place[: len(args)] if each in given]
        what = f"{name} is given {' and '.join(twice)} by place and by name"
        return CallError(what, where=f"pdanon.{name}", hint="once is enough")
    hint = f"such as {_such(name, lacking[0])}"
    return CallError(f"{name} needs {' and '.join(lacking)}", where=f"pdanon.{name}", hint=hint)


def _such(name: str, parameter: str) -> str:
    """How a parameter of a function is given; one name may mean something else elsewhere."""
    return _SUCH.get(f"{name}.{parameter}") or _SUCH.get(parameter, f"{parameter}=...")
