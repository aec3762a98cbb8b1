"""Roles: what the columns of a table are, and what an algorithm is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pdanon.algorithms.registry import ALGORITHMS, algorithm, of_lists, parameters_of
from pdanon.errors import ColumnError, ParameterError
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.values import check_known

__all__ = ["Roles"]

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
