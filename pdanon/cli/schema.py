"""Schema of policies: the keys of the TOML file, their types, and the roles of columns."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pdanon.algorithms.registry import (
    ALGORITHMS,
    Parameters,
)
from pdanon.algorithms.rt.transaction import Transaction, as_transaction
from pdanon.errors import FormatError, ParameterError, cause_of, file_hint
from pdanon.guarantees.parameters import constraint_list
from pdanon.io.tables import read_columns, read_weights
from pdanon.itemsets.arguments import moved
from pdanon.itemsets.cards import HEAD
from pdanon.itemsets.validation import check_kind, check_known, is_code_file, is_uri

Table: TypeAlias = Mapping[str, Any]  # of the file, or of parameters

# Keys of each table of the file, and their types.
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "": {
        "algorithm": (str,),
        "input": (str, dict),
        "separator": (str,),
        **dict.fromkeys(
            ("parameters", "columns", "hierarchies", "prepare", "outputs", "compare", "head"), (dict,)
        ),
    },
    "input": {
        "file": (str,),
        "by": (str, list),
        "unit": (str,),
        "item": (str,),
        "conflicts": (str,),
        **dict.fromkeys(("onehot", "wide", "field"), (list,)),
        "no_header": (bool,),
        "types": (dict,),
        "tick": (str, int),
        **dict.fromkeys(("prefix", "separator", "delimiter", "encoding", "missing"), (str,)),
    },
    "columns": {"items": (str,), "quasi": (list,), "keep": (list,), "drop": (list,)},
    "outputs": dict.fromkeys(
        (
            *("release", "classes", "mapping", "legend", "loss", "report", "evidence", "comparison"),
            *("links", "secret"),
        ),
        (str,),
    ),
    "head": dict.fromkeys(HEAD, (str,)),
    "compare": {
        "algorithms": (dict,),
        "vary": (dict,),
        "measures": (list,),
        "processes": (int,),
        "resume": (str,),
    },
}
_NESTED = ("transaction", "options")  # parameters whose values are tables of parameters
OUTPUTS = tuple(_KEYS["outputs"])
_DEEPEST = 100  # maximum depth of tables in tables: an inline hierarchy has a few levels
# The time of the parser is quadratic in the number of parts of a key.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_DEEPEST}}}")
_UNPROTECTED = {"sensitive", "private", "secret", "confidential"}  # promises that no role keeps
_TYPES = {
    str: "text",
    list: "a list of column names",
    dict: "a table",
    int: "an integer",
    bool: "true or false",
}


def read_toml(source: Path) -> Parameters:
    """Read the parameters of `Policy` from a file; paths in it are relative to its directory."""
    tables = _load(source)
    here, resolve = partial(_resolve, source), partial(_resolve_parameter, source)
    form, compared = dict(tables["input"]), tables["compare"]
    algorithms = compared.get("algorithms", {}).items()
    return {
        "input": here(form.pop("file")),
        "form": form,
        "algorithm": tables.get("algorithm"),
        "parameters": change_all(resolve, tables["parameters"]),
        **tables["columns"],
        "hierarchies": {name: here(value) for name, value in tables["hierarchies"].items()},
        "separator": tables.get("separator"),
        "prepare": {name: change_steps(here, own) for name, own in tables["prepare"].items()},
        "outputs": {name: here(value) for name, value in tables["outputs"].items()},
        "comparison": {
            **change_all(resolve, compared),
            "algorithms": {label: change_all(resolve, own) for label, own in algorithms},
            "vary": change_varied(resolve, compared.get("vary", {})),
        },
        "head": tables["head"],
    }


def _load(source: Path) -> Parameters:
    """Read the tables of a file, absent ones as empty, and check their keys and types."""
    tables: Parameters = {}
    problem, deep = "", False
    try:
        text = source.read_bytes().decode()
        deep = _LONG_KEY.search(text) is not None
        tables = {} if deep else tomllib.loads(text)
    except RecursionError:
        problem = "lists within too many lists"
    except (OSError, ValueError) as error:
        place = re.search(r"at line \d+, column \d+", str(error))
        problem = f"{cause_of(error)}{f' {place[0]}' if place else ''}"
    if problem:  # outside the handler, as the message of the parser may contain an item
        hint = file_hint(source, "TOML")
        raise FormatError("the file cannot be read as TOML", where=str(source), got=problem, hint=hint)
    if deep:
        _refuse_depth(str(source))
    check_depth(tables, str(source))
    check_keys(tables, "", str(source))
    if "input" not in tables:
        raise ParameterError("a policy needs an input", where=str(source), hint='input = "baskets.parquet"')
    given = tables["input"]
    absent: Parameters = {name: {} for name, (kind, *_) in _KEYS[""].items() if kind is dict}
    tables = absent | tables
    tables["input"] = {"file": given} if isinstance(given, str) else given
    if "file" not in tables["input"]:
        where = f"{source}, [input]"
        raise ParameterError("the input needs a file", where=where, hint='file = "invoices.csv"')
    _check_roles(tables["columns"], f"{source}, [columns]")
    for name in filter(None, _KEYS):
        check_keys(tables[name], name, f"{source}, [{name}]")
    check_comparison(tables["compare"], f"{source}, [compare]")
    return tables


def _resolve(source: Path, value: Any) -> Any:
    """Resolve a path against the directory of the policy, unless it is a URI."""
    return source.parent / value if isinstance(value, str) and not is_uri(value) else value


def change_all(change: Callable[[str, Any], Any], parameters: Table) -> Parameters:
    """Change the value of each parameter, first in tables of parameters."""
    return {key: change_one(change, key, value) for key, value in parameters.items()}


def change_one(change: Callable[[str, Any], Any], key: str, value: Any) -> Any:
    """Change the value of a parameter, and first those in its table."""
    nested = key in _NESTED and isinstance(value, Mapping)
    return change(key, change_all(change, value) if nested else value)


def change_varied(change: Callable[[str, Any], Any], vary: Table) -> Parameters:
    """Change the values of varied parameters, each a list or a table of values."""
    return {
        key: [change_one(change, key, value) for value in values]
        if isinstance(values, list)
        else {name: change_one(change, key, value) for name, value in values.items()}
        for key, values in vary.items()
    }


def _resolve_parameter(source: Path, key: str, value: Any) -> Any:
    """Resolve the path of a parameter, and replace ``m = "all"`` by None."""
    if key in ("constraints", "hierarchy", "resume", "rules", "start", "utility", "weights"):
        return _resolve(source, value)
    if key in ("sensitive", "private", "public") and is_code_file(value):
        return _resolve(source, value)
    return None if (key, value) == ("m", "all") else value


def check_comparison(table: Table, place: str) -> None:
    """Check the types of the values of a comparison."""
    place = place.removesuffix("]")
    for name in ("algorithms", "vary"):
        check_kind(table.get(name, {}), Mapping, name, "a table")  # type: ignore[type-abstract]
    for label, parameters in table.get("algorithms", {}).items():
        if not isinstance(parameters, dict):
            where = f"{place}.algorithms]"
            raise ParameterError("an algorithm to compare must be a table", where=where, got=label)
    for key, values in table.get("vary", {}).items():
        if not isinstance(values, (list, dict)):
            where = f"{place}.vary]"
            problem = "a varied parameter needs a list of values, or a table"
            raise ParameterError(problem, where=where, got=key)


def check_depth(table: Any, where: str, left: int = _DEEPEST) -> None:
    """Check the depth of tables in tables, as a table of a Python caller may contain itself."""
    if not left:
        _refuse_depth(where)
    within = table.values() if isinstance(table, Mapping) else table if isinstance(table, list) else ()
    for each in within:
        check_depth(each, where, left - 1)


def _refuse_depth(where: str) -> NoReturn:
    hint = f"a table has up to {_DEEPEST} levels; one that contains itself has no end"
    raise ParameterError("there are too many tables within tables", where=where, hint=hint)


def _check_roles(table: Table, where: str) -> None:
    """Refuse a role whose name promises a protection that no column gets."""
    for key in table.keys() & _UNPROTECTED:
        hint = (
            "keep publishes a column as it is, drop removes it, and quasi protects its rows; list sensitive "
            "items as sensitive = [...] in [parameters]"
        )
        raise ParameterError(f"no column can be {key}", where=where, got=repr(key), hint=hint)


def check_keys(table: Table, name: str, where: str) -> None:
    """Check the keys of a table of the file, and their types."""
    known = _KEYS[name]
    for key, value in table.items():
        tables = [f"[{each}]" for each, keys in _KEYS.items() if each and key in keys]
        if key not in known and tables:
            got, hint = repr(key), f"move it to {' or '.join(tables)}"
            raise ParameterError("this key belongs to another table", where=where, got=got, hint=hint)
        check_known(
            key, known, "key of a policy", where=where, hint=moved(key, {}) if key == "n_jobs" else None
        )
        types = known[key]
        if type(value) not in types:  # not isinstance: true is no number
            kinds = " or ".join(_TYPES[each] for each in types)
            raise ParameterError(f"{key} must be {kinds}", where=where, got=type(value).__name__)


def change_steps(change: Callable[[Any], Any], own: Any) -> Any:
    """Change the weights among the steps of a column, if they are there."""
    has_weights = isinstance(own, Mapping) and "weights" in own
    return {**own, "weights": change(own["weights"])} if has_weights else own


def read_steps(steps: Mapping[Any, Parameters]) -> dict[Hashable, Parameters]:
    """Read the files of weights among the steps of a preparation."""
    read = lambda weights: read_weights(weights) if isinstance(weights, Path) else weights  # noqa: E731
    return {label: change_steps(read, own) for label, own in steps.items()}


def read_parameter(column: str | None, key: str, value: Any) -> Any:
    """Read the file of a parameter of an algorithm; return all else, and a path that the algorithm reads."""
    if not isinstance(value, Path):
        return transaction_of(value) if key == "transaction" and isinstance(value, Mapping) else value
    if key == "constraints":
        return constraint_list(value, column)
    if key == "start":
        return read_columns(value, ["group", "item", "generalized"])
    if key == "weights":
        return read_weights(value)
    return read_columns(value, ["item", "block"]) if key == "utility" else value


# --- The treatment of items beside quasi-identifiers: a table in a policy, a `Transaction` in Python


def transaction_of(value: Any) -> Transaction:
    """Return the treatment of the items for the name of an algorithm or a table."""
    known = [each.name for each in fields(Transaction)]
    for key in table_of(value):
        check_known(key, known, "key of a transaction", where="transaction", hint=moved(key, {}))
    return Transaction(**value) if isinstance(value, Mapping) else as_transaction(value)


def check_transaction(parameters: Table) -> None:
    """Check the treatment of the items, if specified, without reading files."""
    if "transaction" in parameters:
        transaction_of(parameters["transaction"])


def list_columns_of(parameters: Table) -> list[str]:
    """Return the list columns that parameters name, without the column that every algorithm takes."""
    columns = table_of(parameters.get("transaction")).get("columns")
    names = [parameters.get("private"), *(columns if isinstance(columns, list) else [])]
    return [name for name in names if isinstance(name, str)]


def table_of(value: Any) -> Table:
    """Return the table of a transaction, or an empty table for a name."""
    return value if isinstance(value, Mapping) else {}


def add_tree(transaction: Any, tree: Any) -> Any:
    """Add the hierarchy of the items to their treatment, a name or a table, if the algorithm needs it."""
    table = {"algorithm": transaction} if isinstance(transaction, str) else transaction
    name = table.get("algorithm") if isinstance(table, dict) else None
    needs = isinstance(name, str) and name in ALGORITHMS and ALGORITHMS[name].nodes is not None
    return {"hierarchy": tree} | table if needs else transaction
