"""Privacy constraints as data: lists of itemsets to protect, created from the data.

Each function returns a Series of lists, which can be inspected, changed, stored with `pdanon.to_parquet` and
passed as ``constraints=`` to `pdanon.PrivacyConstraints`. `all_itemsets` returns a placeholder for a list,
and `ps_rules` a placeholder for rules, to be passed as ``rules=``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.km import AllItemsets
from pdanon.guarantees.parameters import (
    ItemLimit,
    check_k,
    check_m,
    check_share,
    check_size,
    constraint_list,
)
from pdanon.guarantees.ps import AllRules, ps_rules
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.support import ItemsetTable, SupportIndex, from_matrices
from pdanon.itemsets.validation import MOST_DRAWN, Seed, check_count, random_generator

__all__ = ["AllRules", "all_itemsets", "pairs", "pgen", "ps_rules", "random", "with_subsets"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


_AT_A_TIME = 10**6  # itemsets


def allocate_sizes(count: int, sizes: int | Mapping[int, float]) -> dict[int, int]:
    """Allocate a number of itemsets to sizes in proportion, by largest remainder, then by size."""
    shares = sizes if isinstance(sizes, Mapping) else {check_count(sizes, "sizes", least=1): 1.0}
    exact = {check_count(size, "sizes", least=1): _proportion(share) for size, share in shares.items()}
    total = sum(exact.values())
    if not total:
        raise ParameterError("no proportion is above 0", where="sizes", got=f"{len(exact)} sizes")
    quotas = {size: count * exact[size] / total for size in sorted(exact)}
    counts = {size: int(quota) for size, quota in quotas.items()}
    by_remainder = sorted(counts, key=lambda size: counts[size] - quotas[size])
    for size in by_remainder[: count - sum(counts.values())]:
        counts[size] += 1
    return counts


def _proportion(share: Any) -> Fraction:
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < np.inf:
        problem = "proportions must be finite numbers of at least 0"
        raise ParameterError(problem, where="sizes", got=type(share).__name__)
    return Fraction(share).limit_denominator(10**9)


def draw_itemsets(itemsets: Itemsets, size: int, count: int, rng: np.random.Generator) -> Codes:
    """Draw distinct itemsets of one size, and return them in the order drawn, shape (count, size)."""
    rows = np.flatnonzero(itemsets.lengths >= size)
    found = np.empty((0, size if len(rows) else 0), np.int32)
    while len(found) < count:
        before = len(found)
        if len(rows):
            some = rng.choice(rows, min(max(1000, 10 * count), _AT_A_TIME))
            places = _distinct_places(itemsets.lengths[some], size, rng)
            sample = np.sort(itemsets.codes[itemsets.offsets[some][:, None] + places], axis=1)
            found = np.concatenate((found, sample))
            found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
        if len(found) == before:
            got = f"{before} of {count} itemsets of {size} items"
            raise ParameterError("the data has too few distinct itemsets", where="count", got=got)
    return found[:count]


def _distinct_places(lengths: Numbers, size: int, rng: np.random.Generator) -> Numbers:
    """Draw, for each length, a uniform subset of ``size`` numbers below it, by Floyd's algorithm."""
    places = np.empty((len(lengths), size), np.int64)
    for i in range(size):
        last = lengths - size + i
        place = rng.integers(0, last + 1)
        taken = (places[:, :i] == place[:, None]).any(axis=1)
        places[:, i] = np.where(taken, last, place)
    return places


# --- Constraints


_LONGEST = 16  # maximum number of items of a constraint whose subsets are listed


@takes_tables
def all_itemsets(frame: pd.DataFrame, m: ItemLimit, column: Hashable | None = None) -> AllItemsets:
    """Return a placeholder for all itemsets of 1 to m items: k^m-anonymity as privacy constraints.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    m : int or None
        Maximum size, at least 1. None: any.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    AllItemsets
        ``PrivacyConstraints`` of it are ``KmAnonymity(k, m)``, also for other frames.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or m is invalid.

    Notes
    -----
    Itemsets in no row are included, because merging items can make them occur.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> every = pdanon.constraints.all_itemsets(df, 2)
    >>> every
    AllItemsets(m=2, items=3)
    >>> df.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=every, k=2)).guarantee
    KmAnonymity(k=2, m=2)
    """
    return AllItemsets(check_m(m), _encode(frame, column).vocabulary)


@takes_tables
def pgen(frame: pd.DataFrame, k: int, column: Hashable | None = None) -> pd.Series[Any]:
    """List the rows that fewer than k rows contain: constraints for complete k-anonymity.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    k : int
        Minimum number of rows; at least 2.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    pandas.Series
        Distinct rows with a support below k that no larger row contains, by descending length, then in item
        order.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or k is invalid.

    Notes
    -----
    A release that satisfies the constraints satisfies ``KmAnonymity(k, m=None)``: see the page of `coat`.

    Cost: the sum, over the rows, of the support of the rarest item.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice"], ["rice", "salt", "tea"], ["tea"]]})
    >>> pdanon.constraints.pgen(df, 3)
    0    ['rice' 'salt' 'tea']
    dtype: list<item: string>[pyarrow]
    """
    least = check_k(k)
    itemsets = _encode(frame, column)
    rows = SupportIndex.of(itemsets).distinct()
    supports = rows.supports(rows.codes, rows.offsets)
    # If the support of a row is the number of its copies, no larger row contains it.
    largest = (rows.lengths > 0) & (supports < least) & (supports == rows.weights)
    listed = rows.table(supports).take(largest).ordered()
    return _decode(listed.take(np.argsort(-listed.lengths, kind="stable")), itemsets)


@takes_tables
def pairs(
    frame: pd.DataFrame,
    share: float,
    column: Hashable | None = None,
    *,
    random_state: Seed = None,
) -> pd.Series[Any]:
    """List all pairs of a random share of the items.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    share : float
        Share of the occurring items, in [0, 1]. It is rounded to a number of items, which must be at least 2.
    column : hashable, optional
        The list column. By default the only one.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    pandas.Series
        The pairs in item order. They include pairs that are in no row, because merging can make them occur.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError
        If the share is outside [0, 1] or rounded to fewer than 2 items, or the column is invalid.

    Notes
    -----
    The privacy policies PR1 to PR5 of [1]_ are the shares 0.02, 0.05, 0.1, 0.25 and 0.5.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice"], ["salt", "tea"], ["milk"]]})
    >>> pdanon.constraints.pairs(df, 0.75, random_state=1).itemset.describe()[["rows", "items"]]
    rows     3.0
    items    3.0
    dtype: float64
    """
    fraction = check_share(share, "share")
    itemsets = _encode(frame, column)
    n_chosen = int(fraction * itemsets.n_items + Fraction(1, 2))  # rounded half up, on exact fractions
    if n_chosen < 2:
        got = f"{n_chosen} of {itemsets.n_items} items"
        raise ParameterError("the share is fewer than two items", where="share", got=got)
    check_size(n_chosen * (n_chosen - 1) // 2, f"{n_chosen:,} items", "share")
    rng = random_generator(random_state)
    chosen = np.sort(rng.choice(itemsets.n_items, n_chosen, replace=False)).astype(np.int32)
    both = np.column_stack(np.triu_indices(n_chosen, 1))
    return _decode(from_matrices([chosen[both]]), itemsets)


@takes_tables
def random(
    frame: pd.DataFrame,
    count: int,
    sizes: int | Mapping[int, float] = 2,
    column: Hashable | None = None,
    *,
    random_state: Seed = None,
) -> pd.Series[Any]:
    """Draw distinct itemsets that occur.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    count : int
        Number of itemsets, at least 1.
    sizes : int or mapping of int to float
        Number of items per itemset; or the proportion of each size.
    column : hashable, optional
        The list column. By default the only one.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    pandas.Series
        The itemsets by size, then in the order drawn.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError
        If a parameter is out of range, the data has too few distinct itemsets, or the column is invalid.

    Notes
    -----
    Each itemset is drawn in two steps: a row that is long enough, then a subset of its items, both uniformly.
    A repeated itemset is replaced by another draw.

    The privacy policies PR6 to PR9 of the paper of `pairs`, which does not describe the sampling, are 1000
    itemsets of sizes 1 to 4 in the proportions 33:33:33:1, 30:30:30:10, 25:25:25:25 and 16.7:16.7:16.7:50.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice"], ["salt", "tea"], ["milk"]]})
    >>> pdanon.constraints.random(df, 4, {1: 0.5, 2: 0.5}, random_state=1).itemset.lengths.tolist()
    [1, 1, 2, 2]
    """
    counts = allocate_sizes(check_count(count, "count", least=1, most=MOST_DRAWN), sizes)
    itemsets = _encode(frame, column)
    rng = random_generator(random_state)
    parts = [draw_itemsets(itemsets, size, n, rng) for size, n in counts.items() if n]
    return _decode(from_matrices(parts), itemsets)


def with_subsets(constraints: Any) -> pd.Series[Any]:
    """Add all non-empty subsets to a list of itemsets.

    Parameters
    ----------
    constraints : Series, iterable of list-likes, or path
        Itemsets of up to 16 items, as for ``constraints=``.

    Returns
    -------
    pandas.Series
        Distinct itemsets, by size, then in item order.

    Raises
    ------
    ParameterError
        If there is no itemset, or one is empty or larger.

    Notes
    -----
    ``PrivacyConstraints`` covers the listed itemsets only; with this list also their subsets, as in COAT.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.constraints.with_subsets([["rice", "tea"], ["tea"]])
    0          ['rice']
    1           ['tea']
    2    ['rice' 'tea']
    dtype: list<item: string>[pyarrow]
    """
    itemsets = Itemsets.from_series(constraint_list(constraints))
    longest = int(itemsets.lengths.max())
    if longest > _LONGEST:
        where = "constraints"
        got = f"{int((itemsets.lengths > _LONGEST).sum())} such constraints, of up to {longest} items"
        hint = "split them, because all of their subsets are listed"
        raise ParameterError(f"a constraint has more than {_LONGEST} items", where=where, got=got, hint=hint)
    subsets, given = int((2**itemsets.lengths - 1).sum()), f"{itemsets.n_rows:,} constraints"
    check_size(subsets, given, "constraints")
    parts = []
    for size in np.unique(itemsets.lengths).tolist():
        starts = itemsets.offsets[:-1][itemsets.lengths == size]
        sets = itemsets.codes[starts[:, None] + np.arange(size)]
        # The bits of a number select a subset of the columns.
        parts += [sets[:, (number >> np.arange(size)) & 1 == 1] for number in range(1, 2**size)]
    return _decode(from_matrices(parts).distinct().ordered(), itemsets)


def _encode(frame: pd.DataFrame, column: Hashable | None) -> Itemsets:
    return Itemsets.from_series(list_column(frame, column))


def _decode(table: ItemsetTable, itemsets: Itemsets) -> pd.Series[Any]:
    return pd.Series(table.to_rows(itemsets.vocabulary).to_pandas())
