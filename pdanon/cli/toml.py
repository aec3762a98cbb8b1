"""TOML: the file of a policy, with no keys but those that are known, as the parts of a policy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from pdanon.errors import FormatError, ParameterError, cause_of, file_hint
from pdanon.itemsets.values import check_kind, check_known, is_uri

__all__ = [
    "NESTED",
    "OUTPUTS",
    "check_comparison",
    "check_depth",
    "check_input",
    "each_changed",
    "read_toml",
]

# The keys of each table of the file, and of what type each is.
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "": {
        "algorithm": (str,),
        "input": (str, dict),
        "separator": (str,),
        "parameters": (dict,),
        "columns": (dict,),
        "hierarchies": (dict,),
        "outputs": (dict,),
        "compare": (dict,),
    },
    "input": {
        "file": (str,),
        "by": (str, list),
        "item": (str,),
        "conflicts": (str,),
        "onehot": (list,),
        "prefix": (str,),
        "tick": (str,),
        "separator": (str,),
        "delimiter": (str,),
        "encoding": (str,),
    },
    "columns": {"items": (str,), "quasi": (list,), "keep": (list,), "drop": (list,)},
    "outputs": {
        "release": (str,),
        "classes": (str,),
        "mapping": (str,),
        "legend": (str,),
        "loss": (str,),
        "report": (str,),
        "comparison": (str,),
    },
    "compare": {
        "algorithms": (dict,),
        "vary": (dict,),
        "measures": (list,),
        "n_jobs": (int,),
        "resume": (str,),
    },
}
NESTED = ("transaction", "options")  # parameters that are tables of parameters
OUTPUTS = tuple(_KEYS["outputs"])
_DEEPEST = 100  # tables within each other: a hierarchy that is written out has a few
# The parser takes the square of the length of a key.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_DEEPEST}}}")
_UNPROTECTED = ("sensitive", "private", "secret", "confidential")  # words that a role would not keep
_TYPES = {str: "text", list: "a list of column names", dict: "a table", int: "an integer"}


def read_toml(source: Path) -> dict[str, Any]:
    """Read the parameters of `Policy` from a file; paths in it are relative to its directory."""
    tables = _load(source)
    here = partial(_beside, source)
    table = dict(_input(tables))
    return {
        "input": here(table.pop("file")),
        "form": table,
        "algorithm": tables.get("algorithm"),
        "parameters": _values(source, tables.get("parameters", {})),
        **tables.get("columns", {}),
        "hierarchies": {name: here(value) for name, value in tables.get("hierarchies", {}).items()},
        "separator": tables.get("separator"),
        "outputs": {name: here(value) for name, value in tables.get("outputs", {}).items()},
        "comparison": _comparison(source, tables.get("compare", {})),
    }


def _load(source: Path) -> dict[str, Any]:
    """Read the tables of a file, with no keys but those that are known, of the types they have."""
    tables: dict[str, Any] = {}
    problem, deep = "", False
    try:
        text = source.read_bytes().decode()
        deep = _LONG_KEY.search(text) is not None
        tables = {} if deep else tomllib.loads(text)
    except RecursionError:
        problem = "lists within lists without end"
    except (OSError, ValueError) as error:
        place = re.search(r"at line \d+, column \d+", str(error))
        problem = f"{cause_of(error)}{f' {place[0]}' if place else ''}"
    if problem:  # raised outside the handler: the parser's own message may show an item
        hint = file_hint(source, "TOML")
        raise FormatError("the file cannot be read as TOML", where=str(source), got=problem, hint=hint)
    if deep:
        _refuse_depth(str(source))
    check_depth(tables, str(source))
    _check_keys(tables, "", str(source))
    if "input" not in tables:
        raise ParameterError("a policy needs an input", where=str(source), hint='input = "baskets.parquet"')
    if isinstance(tables["input"], dict) and "file" not in tables["input"]:
        where = f"{source}, [input]"
        raise ParameterError("the input needs a file", where=where, hint='file = "invoices.csv"')
    check_input(_input(tables), f"{source}, [input]")
    _check_roles(tables.get("columns", {}), f"{source}, [columns]")
    for name in ("columns", "outputs", "compare"):
        _check_keys(tables.get(name, {}), name, f"{source}, [{name}]")
    check_comparison(tables.get("compare", {}), f"{source}, [compare]")
    return tables


def _input(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is said of the input: a table, or its file alone."""
    said: str | Mapping[str, Any] = tables["input"]
    return {"file": said} if isinstance(said, str) else said


def _beside(source: Path, value: Any) -> Any:
    """A path that is relative to the directory of the policy, unless it is a URI."""
    return source.parent / value if isinstance(value, str) and not is_uri(value) else value


def _values(source: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with paths where files are meant, and None for all items of a row."""
    return {key: _value(source, key, value) for key, value in given.items()}


def _value(source: Path, key: str, value: Any) -> Any:
    if key in ("constraints", "hierarchy", "rules", "utility", "weights"):
        return _beside(source, value)
    if key in NESTED and isinstance(value, Mapping):
        return _values(source, value)
    return None if (key, value) == ("m", "all") else value


def _comparison(source: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    comparison = dict(table)
    if "resume" in table:
        comparison["resume"] = _beside(source, table["resume"])
    algorithms, vary = table.get("algorithms", {}), table.get("vary", {})
    comparison["algorithms"] = {label: _values(source, given) for label, given in algorithms.items()}
    comparison["vary"] = {
        key: each_changed(values, partial(_value, source, key)) for key, values in vary.items()
    }
    return comparison


def each_changed(values: Any, change: Callable[[Any], Any]) -> Any:
    """The values of a varied parameter, listed or by name, each changed."""
    if isinstance(values, list):
        return [change(value) for value in values]
    return {name: change(value) for name, value in values.items()}


def check_comparison(table: Mapping[str, Any], place: str) -> None:
    """Check the types within what is compared."""
    place = place.removesuffix("]")
    for name in ("algorithms", "vary"):
        check_kind(table.get(name, {}), Mapping, name, "a table")  # type: ignore[type-abstract]
    for label, given in table.get("algorithms", {}).items():
        if not isinstance(given, dict):
            where = f"{place}.algorithms]"
            raise ParameterError("an algorithm to compare is a table", where=where, got=label)
    for key, values in table.get("vary", {}).items():
        if not isinstance(values, (list, dict)):
            where = f"{place}.vary]"
            raise ParameterError(
                "a varied parameter needs a list of values, or a table", where=where, got=key
            )


def check_depth(table: Any, where: str, left: int = _DEEPEST) -> None:
    """Check that tables within tables come to an end soon: one may hold itself."""
    if not left:
        _refuse_depth(where)
    within = table.values() if isinstance(table, Mapping) else table if isinstance(table, list) else ()
    for each in within:
        check_depth(each, where, left - 1)


def _refuse_depth(where: str) -> NoReturn:
    hint = f"a table has up to {_DEEPEST} levels; one that holds itself has no end"
    raise ParameterError("there are too many tables within tables", where=where, hint=hint)


def check_input(table: Mapping[str, Any], where: str) -> None:
    """Check the keys of an input, and of what types they are."""
    _check_keys(table, "input", where)


def _check_roles(table: Mapping[str, Any], where: str) -> None:
    """Refuse a role whose word promises a protection that no column gets."""
    for key in table.keys() & {*_UNPROTECTED}:
        hint = (
            "keep publishes a column as it is, drop removes it, and quasi protects its rows; list items that "
            "nobody may learn as sensitive = [...] in [parameters]"
        )
        raise ParameterError(f"no column can be {key}", where=where, got=repr(key), hint=hint)


def _check_keys(table: Mapping[str, Any], name: str, where: str) -> None:
    known = _KEYS[name]
    for key, value in table.items():
        if key not in known and (
            tables := [f"[{each}]" for each, keys in _KEYS.items() if each and key in keys]
        ):
            got, hint = repr(key), f"it is one of {' or '.join(tables)}"
            raise ParameterError("there is no such key of a policy here", where=where, got=got, hint=hint)
        check_known(key, known, "key of a policy", where=where)
        types = known[key]
        if not isinstance(value, types) or isinstance(value, bool):
            kinds = " or ".join(_TYPES[each] for each in types)
            raise ParameterError(f"{key} must be {kinds}", where=where, got=type(value).__name__)
