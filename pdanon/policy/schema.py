"""TOML: the file of a policy, with no keys but those that are known, as the parts of a policy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from pdanon.algorithms.registry import ALGORITHMS, algorithm, of_lists, parameters_of
from pdanon.algorithms.rt.transaction import Transaction, as_transaction
from pdanon.errors import ColumnError, FormatError, ParameterError, cause_of, file_hint
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.validation import check_kind, check_known, is_uri

__all__ = [
    "NESTED",
    "OUTPUTS",
    "Roles",
    "check_comparison",
    "check_depth",
    "check_input",
    "check_transaction",
    "each_changed",
    "list_columns_of",
    "read_toml",
    "table_of",
    "transaction_of",
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


# --- What is done to the items beside quasi-identifiers: a table of a policy, one value for the algorithms


def transaction_of(said: Any) -> Transaction:
    """What a name or a table says."""
    known = [each.name for each in fields(Transaction)]
    for key in table_of(said):
        check_known(key, known, "key of what is done to the items", where="transaction")
    return Transaction(**said) if isinstance(said, Mapping) else as_transaction(said)


def check_transaction(given: Mapping[str, Any]) -> None:
    """Check what is done to the items, if that is said, as far as no file needs to be read."""
    if "transaction" in given:
        transaction_of(given["transaction"])


def list_columns_of(given: Mapping[str, Any]) -> list[str]:
    """Return the list columns that parameters name, beside the one that every algorithm takes."""
    columns = table_of(given.get("transaction")).get("columns")
    named = [given.get("private"), *(columns if isinstance(columns, list) else [])]
    return [name for name in named if isinstance(name, str)]


def table_of(said: Any) -> Mapping[str, Any]:
    """The table of what is done to the items; an empty one of a name."""
    return said if isinstance(said, Mapping) else {}


# --- Roles: what the columns of a table are, and what an algorithm is told of them


_MOST_NAMED = 20  # columns in a message
_HINT = (
    "name them in [columns] as quasi, as keep (published as they are) or as drop; None is an "
    "index without a name: name it, or reset it before the table is written"
)


@dataclass(frozen=True, eq=False, slots=True)
class Roles:
    """What each column is. Parameters as those of `Policy`."""

    items: str | None
    quasi: list[str]
    keep: list[str]
    drop: list[str]
    hierarchies: dict[str, Any]
    lists: list[str]  # columns whose role a parameter specifies

    @property
    def named(self) -> list[str]:
        """The columns that have a role."""
        items = [] if self.items is None else [self.items]
        return [*items, *self.quasi, *self.keep, *self.drop]

    def check(self, columns: str, hierarchies: str) -> None:
        """Check that no column has two roles, and that only those with values to generalize have a hierarchy.

        Parameters
        ----------
        columns, hierarchies : str
            Where they are said.
        """
        named = self.named
        if not all(isinstance(name, str) for name in named):
            raise ParameterError("a role is a list of column names", where=columns)
        if len(set(named)) < len(named):
            twice = sorted({name for name in named if named.count(name) > 1})
            raise ParameterError("a column has two roles", where=columns, got=twice)
        for name in self.hierarchies:
            if self.items is None and not self.quasi:
                hint = "name the list column as well: items = ... in [columns]"
                raise ParameterError(
                    "a hierarchy is of no column that is named", where=hierarchies, hint=hint
                )
            known = [*([] if self.items is None else [self.items]), *self.quasi]
            check_known(name, known, "column with a hierarchy", where=hierarchies)

    def check_protected(self, name: str, where: str) -> None:
        """Check that an algorithm protects the columns that are to be protected."""
        if self.items is not None and not of_lists(algorithm(name)):
            hint = "choose an algorithm for lists, or give the column another role"
            raise ParameterError(f"{name} does not protect a list column", where=where, hint=hint)
        if self.keep and ALGORITHMS[name].recodes == "chunks":
            hint = "give the columns the role drop: what is published in parts cannot be linked to them"
            raise ParameterError(f"{name} publishes no other column", where=where, hint=hint)
        if self.quasi and "quasi" not in parameters_of(algorithm(name)):
            hint = "choose an algorithm that takes quasi, or give the columns another role"
            raise ParameterError(f"{name} does not protect quasi-identifiers", where=where, hint=hint)

    def joined(self, name: Any, given: Mapping[str, Any], varied: Iterable[str] = ()) -> dict[str, Any]:
        """The parameters of an algorithm, with what the roles say as far as it takes that.

        Parameters
        ----------
        name : str
            The algorithm.
        given : mapping
            Its parameters, which come first.
        varied : iterable of str
            Parameters that roles do not say, as several values of them are compared.
        """
        accepted = parameters_of(algorithm(name)).keys() - {*varied}
        said = {key: value for key, value in self._said().items() if key in accepted}
        tree = self.hierarchies.get(self.items or "")
        if tree and "transaction" in given:
            given = {**given, "transaction": _with_tree(given["transaction"], tree)}
        return {**said, **given}

    def without_algorithm(self, frame: pd.DataFrame, given: Mapping[str, Any]) -> dict[str, Any]:
        """What `least_lossy` is called with, for what is asked for and for what the roles say."""
        lists = any(is_list_column(frame.iloc[:, place]) for place in range(frame.shape[1]))
        return {**self._said(), "lists": lists, **given}

    def _said(self) -> dict[str, Any]:
        """What the roles say, by the parameters that it is given as."""
        relational = {column: tree for column, tree in self.hierarchies.items() if column != self.items}
        tree = self.hierarchies.get(self.items or "")
        said = {"quasi": self.quasi, "keep": self.keep, "hierarchies": relational, "hierarchy": tree}
        return {key: value for key, value in said.items() if value}

    def published(self, frame: pd.DataFrame, where: str, *, lists: bool) -> pd.DataFrame:
        """A table without the columns that are dropped, in which each other one has a role.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table, which has all columns that are named.
        where : str
            Where the roles are said.
        lists : bool
            Whether the only list column needs none.
        """
        frame = frame.reset_index([name for name in frame.index.names if name in self.drop], drop=True)
        frame = frame.drop(columns=[name for name in frame.columns if name in self.drop])
        columns = [name for i, name in enumerate(frame.columns) if is_list_column(frame.iloc[:, i])]
        known = [*self.named, *self.lists]
        if self.items is None and len(columns) == 1 and lists:
            known += columns
        strange = [name for name in (*frame.columns, *frame.index.names) if name not in known]
        if isinstance(frame.index, pd.RangeIndex):
            strange = [name for name in strange if name is not None]
        if strange:
            more = f" and {len(strange) - _MOST_NAMED} more" if len(strange) > _MOST_NAMED else ""
            got = f"{strange[:_MOST_NAMED]}{more}"
            raise ColumnError("columns have no role", where=where, got=got, hint=_HINT)
        return frame


def _with_tree(transaction: Any, tree: Any) -> Any:
    """What is done to the items, a name or a table, with a hierarchy of theirs if it needs one."""
    table = {"algorithm": transaction} if isinstance(transaction, str) else transaction
    name = table.get("algorithm") if isinstance(table, dict) else None
    needs = isinstance(name, str) and name in ALGORITHMS and ALGORITHMS[name].nodes is not None
    return {"hierarchy": tree} | table if needs else transaction
