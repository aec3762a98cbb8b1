"""Utility constraints: a partition of the items into blocks; a label may only stand for items of one block.

Loukides, Gkoulalas-Divanis, Malin, "COAT: COnstraint-based Anonymization of Transactions", Knowledge and
Information Systems 28, 2011.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_hashable

from pdanon.errors import GuaranteeError, ItemsetDtypeError, ParameterError
from pdanon.guarantees.parameters import check_columns, rule_sides
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, as_itemsets, find_items
from pdanon.itemsets.mapping import global_mapping, mapping_values
from pdanon.itemsets.validation import check_count, is_integer, read_list

__all__ = ["by_level", "by_prefix", "by_size", "from_rules"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


_HINT = "pass a DataFrame with columns item and block, a dict of block -> items, or a list of lists of items"


def by_level(hierarchy: HierarchyLike, level: int) -> pd.DataFrame:
    """Create a block of the leaves below each node on one level of a hierarchy.

    Parameters
    ----------
    hierarchy : Hierarchy, path, DataFrame or dict
        The hierarchy of the items.
    level : int
        Number of edges from the root. On level 0, all items are one block; on level 1, each child of the root
        has a block. A leaf closer to the root is a block of its own.

    Returns
    -------
    pandas.DataFrame
        Columns ``item`` (str) and ``block`` (int, from 0), in the order of the leaves.

    Raises
    ------
    HierarchyError, FormatError, ParameterError
        If the hierarchy is invalid, or cannot be read, or the level is below 0.

    Examples
    --------
    >>> from pdanon.guarantees import utility
    >>> utility.by_level({"*": {"drink": ["tea", "milk"], "food": ["rice"]}}, level=1)
       item  block
    0   tea      0
    1  milk      0
    2  rice      1
    """
    check_count(level, "level", least=0)
    tree = Hierarchy.of(hierarchy)
    level = min(level, tree.height)
    leaves = np.flatnonzero(tree.is_leaf)
    starts = (tree.depth == level) | (tree.is_leaf & (tree.depth < level))
    blocks = np.cumsum(starts) - 1  # in pre-order, a node precedes its descendants
    return pd.DataFrame({"item": [tree.names[leaf] for leaf in leaves], "block": blocks[leaves]})


def by_prefix(items: Iterable[Any], length: int) -> pd.DataFrame:
    """Create a block of the codes with the same prefix, such as diagnoses of one chapter.

    Parameters
    ----------
    items : iterable
        The codes, such as ``df["codes"].itemset.items``. Repeated codes are ignored.
    length : int
        Number of characters of the prefix, at least 1. A shorter code is a prefix of its own.

    Returns
    -------
    pandas.DataFrame
        Columns ``item`` and ``block`` (int, from 0, in the order of first occurrence).

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If the length is below 1, or the codes are not text.

    Examples
    --------
    >>> from pdanon.guarantees import utility
    >>> utility.by_prefix(["E11.9", "I10", "E10.1", "E11.6"], 3)
        item  block
    0  E11.9      0
    1    I10      1
    2  E10.1      2
    3  E11.6      0
    """
    check_count(length, "length", least=1)
    distinct = _distinct(items)
    others = sum(not isinstance(item, str) for item in distinct)
    if others:
        hint = "read the codes as text, or convert them with str"
        got = f"{others} of other types"
        raise ItemsetDtypeError("codes must be text", where="items", got=got, hint=hint)
    prefixes = [item[:length] for item in distinct]
    return pd.DataFrame({"item": distinct, "block": pd.factorize(np.array(prefixes, dtype=object))[0]})


def by_size(items: Iterable[Any], size: int) -> pd.DataFrame:
    """Create blocks of a number of consecutive items.

    Parameters
    ----------
    items : iterable
        The items in the order to group them, such as the leaves of a hierarchy or
        ``df["items"].itemset.items``. Repeated items are ignored.
    size : int
        Number of items per block, at least 1. The last block may be smaller.

    Returns
    -------
    pandas.DataFrame
        Columns ``item`` and ``block`` (int, from 0).

    Raises
    ------
    ParameterError
        If the size is below 1.

    Notes
    -----
    The utility policies UR1 to UR5 of [1]_ are 25, 50, 125, 250 and 500 consecutive leaves.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> from pdanon.guarantees import utility
    >>> utility.by_size(["milk", "rice", "tea"], 2)
       item  block
    0  milk      0
    1  rice      0
    2   tea      1
    """
    check_count(size, "size", least=1)
    distinct = _distinct(items)
    return pd.DataFrame({"item": distinct, "block": np.arange(len(distinct)) // min(size, len(distinct) + 1)})


def from_rules(rules: Any, items: Iterable[Any]) -> pd.DataFrame:
    """Create a block of its own for each item of some association rules, and one block of all other items.

    Parameters
    ----------
    rules : DataFrame, or iterable of pairs of lists
        The rules to keep: a table with the list columns ``antecedent`` and ``consequent``, as
        ``pdanon.metrics.patterns.rules`` returns it; or pairs, such as ``[(["rice"], ["tea"])]``.
    items : iterable
        All items of the data, such as ``df["items"].itemset.items``. Repeated items are ignored.

    Returns
    -------
    pandas.DataFrame
        Columns ``item`` and ``block`` (int, from 0), in the order of the items.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If the rules have another form, or name an item that is not among ``items``, or these are of several
        types.

    Notes
    -----
    An item of a rule is never merged, so a rule keeps its support and confidence, unless one of its items is
    suppressed. With ``max_suppressed=0``, every rule is kept, or the release is infeasible: an item in fewer
    than k rows, or two such items in fewer than k common rows, can only be suppressed.

    Examples
    --------
    >>> from pdanon.guarantees import utility
    >>> utility.from_rules([(["rice"], ["tea"])], ["milk", "rice", "salt", "tea"])
       item  block
    0  milk      0
    1  rice      1
    2  salt      0
    3   tea      2
    """
    distinct = _distinct(items)
    hint = "pass the table of pdanon.metrics.patterns.rules, or pairs of lists: [(['rice'], ['tea'])]"
    sides = chain(*rule_sides(rules, ("antecedent", "consequent"), hint))
    lists = [read_list(side, "rules", hint, "a list of items") for side in sides]
    as_itemsets(lists)  # raises if the items are of several types
    named = set(chain.from_iterable(lists))
    if unknown := len(named.difference(distinct)):
        got = f"{unknown} of {len(named)} items of the rules"
        hint = "check the spelling and type of the items"
        raise ParameterError("a rule has an item that does not occur", where="rules", got=got, hint=hint)
    alone = distinct.isin(named).to_numpy(np.bool_)
    return pd.DataFrame({"item": distinct, "block": np.where(alone, np.cumsum(alone), 0)})


def partition(utility: Any) -> pd.DataFrame:
    """Read utility constraints: a table of ``item`` and ``block``, items by block, or lists of items."""
    names, lists = _labels_and_lists(utility)
    blocks = Itemsets.from_series(as_itemsets(lists))
    repeated = int((np.bincount(blocks.codes, minlength=blocks.n_items) > 1).sum())
    if repeated:
        got = f"{repeated} of {blocks.n_items} items are in several blocks"
        raise ParameterError("blocks must be disjoint", where="utility", got=got)
    # Labels stay if they are integers. Others become numbers: they may contain an item.
    are_numbers = all(is_integer(name) and abs(name) < 2**63 for name in names)
    numbers = np.array(names if are_numbers else range(len(names)), np.int64)
    items = pd.arrays.ArrowExtensionArray(blocks.vocabulary.take(pa.array(blocks.codes)))
    return pd.DataFrame({"item": items, "block": numbers[blocks.rows]})


def item_blocks(blocks: pd.DataFrame | None, items: pa.Array) -> Numbers:
    """Find the block of each item of the data; without blocks, all items are in block 0."""
    # Items of blocks that do not occur are ignored. An item of the data in no block is an error.
    if blocks is None:
        return np.zeros(len(items), np.int64)
    codes, found = _find_occurring(blocks, items)
    times = np.bincount(codes, minlength=len(items))
    if (times != 1).any():
        none, several = int((times == 0).sum()), int((times > 1).sum())
        got = f"{none} of {len(items)} items are in none, {several} in several"
        hint = "check the spelling and type of the items; add a block of one item for each other item"
        raise ParameterError(
            "every item of the data must be in one block", where="utility", got=got, hint=hint
        )
    by_item = np.empty(len(items), np.int64)  # filled completely, as each item is in one block
    by_item[codes] = found
    return by_item


def some_blocks(blocks: pd.DataFrame | None, items: pa.Array) -> Codes:
    """Find the block of each item of the data, numbered from 0; -1 for an item in no block."""
    by_item = np.full(len(items), -1, np.int32)
    if blocks is not None:
        codes, found = _find_occurring(blocks, items)
        by_item[codes] = np.unique(found, return_inverse=True)[1]
    return by_item


def _find_occurring(blocks: pd.DataFrame, items: pa.Array) -> tuple[Codes, Numbers]:
    """Return the items of blocks that occur in the data, and their blocks."""
    codes = find_items(mapping_values(blocks, "item"), items)
    known = codes >= 0
    return codes[known], blocks["block"].to_numpy()[known]


def check_release(mapping: pd.DataFrame, blocks: pd.DataFrame | None, allowed: int) -> None:
    """Verify from its mapping alone that a release satisfies the utility constraints."""
    # No label may stand for items of several blocks, and at most ``allowed`` items may be suppressed.
    items, labels = global_mapping(mapping)
    block = pd.Series(item_blocks(blocks, items))
    by_label = block.groupby(labels.indices.to_pandas())  # by index, because label texts can be long
    straddling = int((by_label.nunique() > 1).sum())
    suppressed = int(mapping["generalized"].isna().sum())
    if straddling or suppressed > allowed:
        problem = "the release violates the utility constraints and is withheld"
        got = f"{straddling} labels across blocks, {suppressed} suppressed items of at most {allowed}"
        hint = "this is a defect of pdanon; please report it with the parameters that were used"
        raise GuaranteeError(problem, got=got, hint=hint)


def _distinct(items: Iterable[Any]) -> pd.Series[Any]:
    """Return the distinct items in their order."""
    if isinstance(items, pd.DataFrame):  # it would be read as the names of its columns
        hint = 'pass the items of a column, such as df["items"].itemset.items'
        raise ParameterError("items must not be a table", where="items", got=type(items).__name__, hint=hint)
    known = list(items) if isinstance(items, str) else read_list(items, "items")
    as_itemsets([known])  # raises if the items are of several types
    return pd.Series(list(dict.fromkeys(known)), name="item")


def _labels_and_lists(utility: Any) -> tuple[list[Any], list[Any]]:
    """Return the labels and the items of the blocks."""
    if isinstance(utility, pd.DataFrame):
        check_columns(utility, ("item", "block"), "blocks", "utility", _HINT)
        if missing := int(utility["block"].isna().sum()):
            raise ParameterError("a block is missing", where="utility", got=f"{missing} rows without one")
        if not utility["block"].map(is_hashable).all():
            raise ParameterError("a block has a label that is a list", where="utility", hint=_HINT)
        groups = list(utility.groupby("block", sort=False, observed=True)["item"])
        return [label for label, _ in groups], [list(group) for _, group in groups]
    if isinstance(utility, Mapping):
        return list(utility), list(utility.values())
    if isinstance(utility, str) or not isinstance(utility, Iterable):
        raise ParameterError("utility must be blocks of items", got=type(utility).__name__, hint=_HINT)
    lists = read_list(utility, "utility", _HINT)
    return list(range(len(lists))), lists
