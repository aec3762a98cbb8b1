"""Guarantees as plain data for JSON, and back; items are named only where that is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pandas as pd

from pdanon import guarantees
from pdanon.errors import ParameterError
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import format_share
from pdanon.guarantees.rules import AllRules, Rules
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets, item_texts

_OF_FILES = ("mapping", "classes")  # fields that are tables of the release
_SHARES = ("h", "c", "rho")

# Whether an item may be named, by its text.
MayName = Callable[[str], bool]


class RecountError(Exception):
    """The evidence lacks what is needed to count a guarantee again."""


def describe_guarantee(guarantee: Guarantee, column: Hashable | None, may_name: MayName) -> dict[str, Any]:
    """Return the name, the list column and the parameters of a guarantee as plain data.

    Items are ``{"number": 2, "named": ["flu"]}``: of two items, one may be named.
    """
    values = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    parameters = {name: _describe(value, may_name) for name, value in values.items() if name not in _OF_FILES}
    name = type(guarantee).__name__
    return {"name": name, "column": None if column is None else str(column), "parameters": parameters}


def _describe(value: Any, may_name: MayName) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Fraction):
        return format_share(value)
    if isinstance(value, NamedItems):
        texts = item_texts(value.values).to_pylist()
        return {"number": len(texts), "named": [text for text in texts if may_name(text)]}
    if isinstance(value, AllRules):
        return {each: _describe(getattr(value, each), may_name) for each in ("m", "sensitive", "public")}
    if isinstance(value, Rules):
        rules = zip(_texts(value.known), _texts(value.sensitive), strict=True)
        named = [[*rule] for rule in rules if _all_named([*rule[0], *rule[1]], may_name)]
        return {"number": len(value), "named": named}
    if isinstance(value, pd.Series):
        sets = _texts(Itemsets.from_series(value))
        return {"number": len(sets), "named": [each for each in sets if _all_named(each, may_name)]}
    if isinstance(value, str):  # the label of a private column
        return value
    return [str(label) for label in value]


def _texts(itemsets: Itemsets) -> list[list[str]]:
    """Return the items of each row as texts."""
    texts = itemsets.texts()
    bounds = pairwise(itemsets.offsets.tolist())
    return [[texts[code] for code in itemsets.codes[start:end]] for start, end in bounds]


def _all_named(texts: Sequence[str], may_name: MayName) -> bool:
    return all(map(may_name, texts))


# --- And back


def read_guarantee(
    described: dict[str, Any],
    frame: pd.DataFrame,
    redact: str,
    mapping: pd.DataFrame | None,
    classes: pd.DataFrame | None,
) -> tuple[Guarantee, Hashable | None]:
    """Return the guarantee and the list column that `describe_guarantee` described.

    If they cannot be restored, e.g. as items are not named, it raises `RecountError`; if they do not fit the
    release, `PdanonError`.
    """
    problem = ""
    try:
        guarantee, column = _read_guarantee(described, frame, redact, mapping, classes)
    except (TypeError, KeyError, AttributeError):  # of another type than `describe_guarantee` writes
        problem = f"a parameter of {described['name']} is missing, unknown or of another type"
    # Raised outside the handler: the chained error may show an item.
    if problem:
        raise RecountError(f"{problem}; the evidence was edited, get the file again")
    return guarantee, column


def _read_guarantee(
    described: dict[str, Any],
    frame: pd.DataFrame,
    redact: str,
    mapping: pd.DataFrame | None,
    classes: pd.DataFrame | None,
) -> tuple[Guarantee, Hashable | None]:
    kind, parameters = getattr(guarantees, described["name"]), dict(described["parameters"])
    if mapping is None and {"constraints", "rules"} & parameters.keys():
        raise RecountError("it names items of the original: pass the mapping of the release")
    if kind is guarantees.SensitiveGroups:
        if classes is None:
            raise RecountError("it needs the table of counts: pass the classes of the release")
        parameters["classes"] = classes
        if parameters["k"] is None:
            del parameters["m"]
    labels: dict[str, Hashable] = {str(label): label for label in frame.columns}
    for name, value in parameters.items():
        if name in ("quasi", "columns") and value is not None:
            parameters[name] = [_label(text, labels) for text in value]
        elif name in _SHARES:
            parameters[name] = _read_share(value, name)
        elif isinstance(value, str):  # the label of a private column
            parameters[name] = _label(value, labels)
        elif isinstance(value, dict):
            parameters[name] = _read_items(value, may_lack=redact == "unpublished")
    column = None if described["column"] is None else _label(described["column"], labels)
    guarantee: Guarantee = kind(**parameters)
    return (guarantee if mapping is None else guarantee.with_mapping(mapping)), column


def _read_share(text: Any, name: str) -> Fraction:
    """Return a share that `format_share` wrote; other texts can stand for numbers of any length."""
    if isinstance(text, str) and re.fullmatch(r"\d{1,30}/\d{1,30}|\d(\.\d{1,30})?(e-\d{1,2})?", text):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise RecountError(f"{name} is no number, such as 0.5; the evidence was edited, get the file again")


def _read_items(described: dict[str, Any], *, may_lack: bool) -> Any:
    """Return items, itemsets or rules; with ``may_lack``, items that are not named are not in the release."""
    if "number" not in described:
        parts = {
            name: _read_items(value, may_lack=may_lack) if isinstance(value, dict) else value
            for name, value in described.items()
        }
        return AllRules(**parts)
    named = described["named"]
    if len(named) < described["number"] and not (may_lack and named and isinstance(named[0], str)):
        raise RecountError("its items are not named: use evidence that names them, by redact='none'")
    return named


def _label(text: str, labels: dict[str, Hashable]) -> Hashable:
    if text not in labels:
        hint = "pass the release that the evidence is about"
        problem = "the release lacks a column of the guarantee"
        raise ParameterError(problem, where="release", got=text, hint=hint)
    return labels[text]


def named_items(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the parameters of a description that list items, itemsets or rules, with their descriptions."""
    for name, value in described["parameters"].items():
        if isinstance(value, dict):
            parts = {name: value} if "number" in value else value
            yield from ((part, items) for part, items in parts.items() if isinstance(items, dict))
