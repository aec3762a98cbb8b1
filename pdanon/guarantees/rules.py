"""PS-rules as data: known items, and sensitive items that must not be inferred from them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon._kernels.itemset_search import minimal
from pdanon.errors import ColumnError, FormatError, ItemsetDtypeError, ParameterError, cause_of
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.guarantees.parameters import ItemLimit, check_m, check_size
from pdanon.io.parquet import read_parquet
from pdanon.io.text import read_csv
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import ItemsetTable, from_matrices
from pdanon.itemsets.validation import check_path, read_list

_HINT = (
    "pass pairs of lists, such as [(['rice'], ['flu'])], or a DataFrame with the list columns known and "
    "sensitive; or the path of such a .parquet file, of a .csv file with these columns and the separator "
    "';', or of a .toml file with m and sensitive, for all rules from m other items to a sensitive item"
)


@dataclass(frozen=True, eq=False, slots=True)
class Rules:
    """Listed rules from known items to sensitive items.

    Parameters
    ----------
    known : Itemsets
        The known items of each rule.
    sensitive : Itemsets
        The sensitive items of each rule.
    known_items, sensitive_items : NamedItems
        The items of each side, with the number of the first rule that contains them.
    n_given : int
        Number of rules before the removal of implied rules.

    Notes
    -----
    A rule is implied by a rule with the same known items and a subset of its sensitive items: all of them are
    in no more rows than some of them. Rules with other known items imply nothing, because more known items
    may match fewer rows, with a higher confidence.
    """

    known: Itemsets
    sensitive: Itemsets
    known_items: NamedItems
    sensitive_items: NamedItems
    n_given: int

    def __len__(self) -> int:
        return self.known.n_rows

    def antecedents(self) -> tuple[Itemsets, NDArray[np.int64]]:
        """Return the distinct sets of known items, in order, and the number of the set of each rule."""
        # Rules with the same known items are represented by the first of them.
        first = row_loops.first_equal_rows(self.known.codes, self.known.offsets)
        distinct, numbers = np.unique(first, return_inverse=True)
        return self.known.take(distinct), numbers.astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Return the rules as a table with the list columns ``known`` and ``sensitive``."""
        return pd.DataFrame({"known": self.known.to_pandas(), "sensitive": self.sensitive.to_pandas()})

    def __repr__(self) -> str:
        implied = self.n_given - len(self)
        return f"Rules({len(self)}{f', {implied} more are implied' if implied else ''})"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class AllRules:
    """A placeholder for all rules from 1 to m public items to one sensitive item.

    Parameters
    ----------
    m : int or None
        Maximum number of known items of a rule; at least 1. None: any.
    sensitive : list of items, or Series of bool
        The sensitive items, or whether an item is sensitive, by item.
    public : list of items, or Series of bool, optional
        The items that may be known. By default all other items of the data.

    Raises
    ------
    ParameterError
        If m is out of range, there is no sensitive or no public item, or an item is both.
    ItemsetDtypeError
        If the items are of several types.

    Examples
    --------
    >>> import pdanon
    >>> every = pdanon.constraints.AllRules(2, ["flu"], ["rice", "tea", "salt"])
    >>> every, len(every)
    (AllRules(m=2, public=3 items, sensitive=1 items), 6)
    >>> every.to_frame().tail(2)
                 known sensitive
    4  ['rice' 'tea']   ['flu']
    5  ['salt' 'tea']   ['flu']
    """

    m: int | None
    sensitive: Any
    public: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        if self.public is not None:
            object.__setattr__(self, "public", NamedItems.some(self.public, "public"))
            refuse_both(self.public, self.sensitive)

    def __len__(self) -> int:
        if self.public is None:
            hint = "create the rules with pdanon.constraints.ps_rules(frame, public, sensitive, m)"
            problem = "the number of public items depends on the data"
            raise ParameterError(problem, where="public", hint=hint)
        n, count = len(self.public), 0
        for size in self._sizes():
            count += len(self.sensitive) * comb(n, size)
            if count >= 2**63:  # the sum over all sizes would take minutes
                raise ParameterError("too many rules to count", where="m", got=f"{n} public items")
        return count

    @property
    def known_items(self) -> NamedItems:
        """The listed public items; empty if all other items are public."""
        return NamedItems.of([], "public") if self.public is None else self.public

    @property
    def sensitive_items(self) -> NamedItems:
        """The sensitive items of all rules."""
        return self.sensitive

    def to_frame(self) -> pd.DataFrame:
        """Return the rules as a table with the list columns ``known`` and ``sensitive``, if it fits."""
        return self.listed().to_frame()

    def listed(self) -> Rules:
        """List the rules, by the number of known items, then in their order."""
        count = len(self)
        check_size(count, f"{len(self.public):,} public and {len(self.sensitive):,} sensitive items", "m")
        items = range(len(self.public))
        sizes = [(size, np.dtype((np.int32, (size,)))) for size in self._sizes()]
        known = from_matrices([np.fromiter(combinations(items, size), kind) for size, kind in sizes])
        each = np.tile(np.arange(len(self.sensitive), dtype=np.int32), len(known))
        known = known.take(np.repeat(np.arange(len(known)), len(self.sensitive)))
        nulls = np.zeros(count, np.bool_)
        return Rules(
            Itemsets(known.codes, known.offsets, self.public.values, nulls),
            Itemsets(each, np.arange(count + 1), self.sensitive.values, nulls.copy()),
            self.public,
            self.sensitive,
            count,
        )

    def _sizes(self) -> range:
        """Return the possible numbers of known items."""
        n = len(self.public)
        return range(1, (n if self.m is None else min(self.m, n)) + 1)

    def __repr__(self) -> str:
        public = "all others" if self.public is None else f"{len(self.public)} items"
        return f"AllRules(m={self.m}, public={public}, sensitive={len(self.sensitive)} items)"


@takes_tables
def ps_rules(
    frame: pd.DataFrame, public: Any, sensitive: Any, m: ItemLimit, column: Hashable | None = None
) -> AllRules:
    """Return a placeholder for all rules from 1 to m public items of a frame to one sensitive item.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    public : list of items, Series of bool, or None
        The items that may be known, or whether an item may be known, by item. None: all items that are not
        sensitive.
    sensitive : list of items, or Series of bool
        The items that must not be inferred.
    m : int or None
        Maximum number of known items of a rule; at least 1. None: any.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    AllRules
        Pass it as ``rules=``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or m is invalid, an item does not occur or is both public and sensitive,
        or there is no public or no sensitive item.

    Notes
    -----
    All rules include known itemsets that are in no row, because merging items can make them occur. They are
    too many to list; algorithms search the rows instead.

    The rules cover the items of this frame only. `AllRules` without ``public`` covers all items of any data.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> every = pdanon.constraints.ps_rules(df, None, ["flu"], 2)
    >>> every, len(every)
    (AllRules(m=2, public=3 items, sensitive=1 items), 6)
    """
    itemsets = Itemsets.from_series(list_column(frame, column))
    is_sensitive = named_items(itemsets, NamedItems.some(sensitive, "sensitive"), "sensitive")
    is_public = ~is_sensitive
    if public is not None:
        is_public = named_items(itemsets, NamedItems.some(public, "public"), "public")
    return AllRules(
        check_m(m), *(itemsets.vocabulary.filter(pa.array(mask)) for mask in (is_sensitive, is_public))
    )


def read_rules(rules: Any) -> Rules | AllRules:
    """Read ``rules=``.

    Parameters
    ----------
    rules : Rules, AllRules, DataFrame, iterable of pairs, mapping, or path
        Pairs of lists of items, known and sensitive; a DataFrame with the list columns ``known`` and
        ``sensitive``; a ``.parquet`` file with these columns, or a ``.csv`` file with these columns and ``;``
        as the separator of items. Or a mapping or a ``.toml`` file with the parameters of `AllRules`.

    Returns
    -------
    Rules or AllRules
        The rules in the same order, without implied rules.

    Raises
    ------
    ParameterError
        If there is no rule, a side of a rule is missing or empty, or a sensitive item is known in some rule.
    ItemsetDtypeError
        If a side is not list-like, or its items are of several types.
    ColumnError, FormatError
        If a table lacks a column or a file cannot be read.
    """
    if isinstance(rules, (Rules, AllRules)):
        return rules
    if isinstance(rules, (str, os.PathLike)):
        rules = _read_file(check_path(rules, "rules"))
    if isinstance(rules, Mapping):
        return _all_rules(rules)
    sides = _columns(rules) if isinstance(rules, pd.DataFrame) else _read_pairs(rules)
    known, sensitive = (Itemsets.from_series(as_itemsets(side)) for side in sides)
    empty = int(((known.lengths == 0) | (sensitive.lengths == 0)).sum())
    if empty or not known.n_rows:
        problem = "a rule needs at least one known and one sensitive item"
        got = f"{empty} of {known.n_rows} rules lack a side" if empty else "no rules"
        raise ParameterError(problem, where="rules", got=got, hint=_HINT)
    within = known.lookup(sensitive.vocabulary)
    both = within[within >= 0]
    if len(both):
        among = np.unique(known.rows[np.isin(known.codes, both)])
        problem = "a sensitive item is among the known items of a rule"
        got = f"{len(both)} items, in {len(among)} of {known.n_rows} rules"
        hint = "remove the item from one of the sides, in all rules"
        raise ParameterError(problem, where=f"rules, rule {among[0]}", got=got, hint=hint)
    kept = _find_needed(known, sensitive)
    items = (_first_rules(known), _first_rules(sensitive))
    return Rules(known.take(kept), sensitive.take(kept), *items, known.n_rows)


def _first_rules(side: Itemsets) -> NamedItems:
    """Return the items of one side of the rules, with the number of the first rule that contains them."""
    first = np.unique(side.codes, return_index=True)[1]
    return NamedItems(side.vocabulary, side.rows[first], "rule")


def refuse_both(public: NamedItems, sensitive: NamedItems) -> None:
    """Raise an error if items are public and sensitive."""
    both = int((public.find(sensitive.values) >= 0).sum())
    if both:
        got = f"{both} items"
        hint = "remove it from public= or from sensitive="
        raise ParameterError("an item is both public and sensitive", where="public", got=got, hint=hint)


def _read_file(path: str) -> pd.DataFrame | dict[str, Any]:
    """Return the table of a file, or the parameters in a TOML file."""
    if path.lower().endswith(".parquet"):
        return read_parquet(path)
    if path.lower().endswith(".toml"):
        return _read_toml(path)
    if not path.lower().endswith(".csv"):
        raise ParameterError("rules are read from .parquet, .csv and .toml files", where="rules", hint=_HINT)
    frame = read_csv(path, column="known", separator=";")
    if "sensitive" not in frame:
        raise ColumnError("the rules lack a column", where=path, got="no column 'sensitive'", hint=_HINT)
    joined = pa.array(frame["sensitive"], pa.large_string())
    split = pc.split_pattern(pc.if_else(pc.equal(joined, ""), None, joined), ";")
    return frame.assign(sensitive=Itemsets.from_arrow(split).to_pandas())


def _read_toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        problem = cause_of(error)
    # Raise outside of the handler: the message of the parser, as its context, may contain an item.
    raise FormatError("the rules cannot be read as TOML", where=path, got=problem)


def _all_rules(given: Mapping[str, Any]) -> AllRules:
    known = {"m", "sensitive", "public"}
    if not {"m", "sensitive"} <= given.keys() <= known:
        got = f"{len(given.keys() - known)} other keys; without {sorted({'m', 'sensitive'} - given.keys())}"
        hint = "pass m = 2 and sensitive = ['flu']; and public = [...], unless all other items may be known"
        raise ParameterError("all rules of a size need m and sensitive", where="rules", got=got, hint=hint)
    m = None if given["m"] == "all" else given["m"]
    return AllRules(m, given["sensitive"], given.get("public"))


def _columns(table: pd.DataFrame) -> list[pd.Series[Any]]:
    absent = [name for name in ("known", "sensitive") if list(table.columns).count(name) != 1]
    if absent:
        raise ColumnError(
            "the rules lack a column", where="rules", got=f"no column {absent[0]!r}", hint=_HINT
        )
    return [table["known"].reset_index(drop=True), table["sensitive"].reset_index(drop=True)]


def _read_pairs(rules: Any) -> list[list[Any]]:
    if not isinstance(rules, Iterable):
        raise ParameterError("rules must be pairs", where="rules", got=type(rules).__name__, hint=_HINT)
    pairs = read_list(rules, "rules", _HINT)
    odd = sum(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs)
    if odd:
        got = f"{odd} of {len(pairs)} are no pairs"
        raise ParameterError("a rule is a pair of lists", where="rules", got=got, hint=_HINT)
    if any(isinstance(side, (str, bytes)) for pair in pairs for side in pair):
        raise ItemsetDtypeError("a side of a rule is a list of items", where="rules", hint=_HINT)
    return [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]


def _find_needed(known: Itemsets, sensitive: Itemsets) -> NDArray[np.int64]:
    """Find the rules that no other rule implies.

    Each rule is encoded as an itemset: its sensitive items, and an additional code for its set of known
    items. The minimal itemsets are the needed rules.
    """
    antecedent = row_loops.first_equal_rows(known.codes, known.offsets)
    ends = sensitive.offsets[1:]
    codes = np.insert(sensitive.codes, ends, (sensitive.n_items + antecedent).astype(np.int32))
    rules = ItemsetTable(codes, offsets_of(sensitive.lengths + 1), np.arange(known.n_rows))
    first = row_loops.first_equal_rows(rules.codes, rules.offsets) == np.arange(known.n_rows)
    distinct = rules.take(first).ordered()
    return np.sort(distinct.take(minimal(distinct.codes, distinct.offsets)).supports)
