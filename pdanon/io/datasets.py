"""Synthetic baskets and tables, and public and private items drawn from a table, for examples and reports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import count
from secrets import randbits
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon._kernels.counting import gather, sort_rows
from pdanon.errors import ColumnError, ParameterError, ReleaseWarning, warn
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, as_itemsets, canonical_rows
from pdanon.itemsets.columns import find_column, is_list_column, with_column
from pdanon.itemsets.dtype import ListArray, text_column
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import Numbers, inverse_order, mask_at, offsets_of, rows_of, take_rows
from pdanon.itemsets.table_hints import is_onehot
from pdanon.itemsets.validation import (
    MOST_DRAWN,
    Seed,
    check_count,
    check_frame,
    describe,
    is_number,
    random_generator,
)

__all__ = ["draw_private", "like", "make_baskets"]


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)


_STORES = ["centre", "east", "north", "south", "west"]
_MEAN_PATTERN = 4  # items
_SLOTS = 2**16  # number of incomplete copies of the patterns, in proportion to their weights


def make_baskets(
    rows: int,
    items: int | Sequence[str] = 1000,
    *,
    mean_length: float = 6.0,
    patterns: int = 1000,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Make a frame of baskets with correlated items and few popular ones.

    Parameters
    ----------
    rows : int
        Number of baskets.
    items : int or sequence of str
        Number of items, with names ``p0001`` and so on, or their names. Popular items are drawn at random.
    mean_length : float
        Expected number of items of a basket, from 1 to half the items.
    patterns : int
        Number of patterns: itemsets that are often bought together.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    DataFrame
        Columns ``store`` (str, five values) and ``items`` (Arrow lists; no row is missing or empty).

    Raises
    ------
    ParameterError
        If a number is outside its range, or names repeat.

    Notes
    -----
    The method follows the generator of [1]_:

    - Patterns have 4 items on average, and share some with the previous one. They prefer popular items; the
      popularity of an item is ``rank ** -0.8``.
    - Each pattern has an exponentially distributed weight. It loses each item with a probability that is
      normally distributed around one half.
    - The length of a basket is Poisson distributed above 1. Baskets are cut consecutively from a stream of
      incomplete patterns, so a pattern may extend into the next basket.
    - An item that a basket already has is replaced by one drawn uniformly from all items.

    A million baskets of 6 out of 2,000 items take about half a second and 0.3 GB.

    References
    ----------
    .. [1] R. Agrawal and R. Srikant, "Fast Algorithms for Mining Association Rules", VLDB 1994.

    Examples
    --------
    >>> from pdanon.io.datasets import make_baskets
    >>> baskets = make_baskets(1000, 50, random_state=0)
    >>> baskets.dtypes
    store       str
    items    object
    dtype: object
    >>> baskets["items"].dtype
    list<item: string>[pyarrow]
    """
    check_count(rows, "rows", least=0, most=MOST_DRAWN)
    check_count(patterns, "patterns", least=1, most=MOST_DRAWN)
    vocabulary = _vocabulary(items)
    most = (len(vocabulary) + 1) // 2
    if not is_number(mean_length) or not 1 <= float(mean_length) <= most:
        what, hint = "a basket must have from one item to half of all items on average", f"at most {most}"
        raise ParameterError(what, where="mean_length", got=describe(mean_length), hint=hint)
    rng = random_generator(random_state)
    lengths = np.minimum(1 + rng.poisson(mean_length - 1, rows), len(vocabulary))
    offsets = offsets_of(lengths)
    copies = _drop_items(*_draw_patterns(patterns, len(vocabulary), rng), len(vocabulary), rng)
    stream = _draw_stream(*copies, int(offsets[-1]), rng)
    codes = _replace_duplicates(stream, offsets, np.arange(len(vocabulary)), rng)
    baskets = Itemsets(codes, offsets, vocabulary, np.zeros(rows, np.bool_))
    stores = pa.array(_STORES).take(pa.array(rng.integers(len(_STORES), size=rows)))
    return pd.DataFrame({"store": text_column(stores), "items": baskets.to_pandas()})


@takes_tables
def draw_private(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    delta: float,
    random_state: Seed = None,
) -> tuple[pd.DataFrame, list[Any]]:
    """Draw public and private items, as in the experiments on coherence.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    delta : float
        Share of the items that are public, above 0 and below 1.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    frame : pandas.DataFrame
        The frame without the items that are neither public nor private.
    private : list
        The private items.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or the share is invalid.

    Notes
    -----
    The rule of [1]_: public items are drawn uniformly. An item is private if, in some row, it is the item
    with the highest support among those that are not public. Of equal ones, the first item counts.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pdanon
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> frame, private = pdanon.datasets.draw_private(baskets, delta=0.4, random_state=0)
    >>> len(private), len(frame["items"].itemset.items)
    (25, 45)
    """
    position = find_column(frame, column)
    if not is_number(delta) or not 0 < delta < 1:
        raise ParameterError("delta must be above 0 and below 1", where="delta", got=describe(delta))
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    n = itemsets.n_items
    is_public = mask_at(n, random_generator(random_state).permutation(n)[: round(delta * n)])
    by_support = np.argsort(-np.bincount(itemsets.codes, minlength=n), kind="stable")
    rank = inverse_order(by_support)
    is_open = ~is_public[itemsets.codes]
    leading = np.full(itemsets.n_rows, n)
    np.minimum.at(leading, itemsets.rows[is_open], rank[itemsets.codes[is_open]])
    is_private = mask_at(n, by_support[leading[leading < n]])
    kept = itemsets.keep_items(is_public | is_private)
    private = itemsets.vocabulary.filter(pa.array(is_private)).to_pylist()
    return with_column(frame, position, kept.to_pandas()), private


@takes_tables
def like(frame: pd.DataFrame, *, random_state: Seed = None) -> pd.DataFrame:
    """Make a synthetic table of the same shape, in which no value of the original occurs.

    It shows a defect to others without real rows. It has no guarantee: do not publish it as a release.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any table, with or without lists, also an empty one. It is not modified.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is a new seed each time. Keep a seed secret: with it,
        the order of each column can be undone.

    Returns
    -------
    DataFrame
        As many rows, with new values in a random order, independent in each column, and a new index.

    Warns
    -----
    ReleaseWarning
        If several columns hold only 0 and 1. In a one-hot table, their names are the items.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the values of a column are neither items nor can be compared, such as dicts; or an argument is
        invalid.

    Notes
    -----
    **What still shows**: names of columns and types; the numbers of rows, of missing values, and of distinct
    values; how often each value or item occurs, where items of one row that coincide are drawn again; and how
    many items the rows have.

    **What does not**: values, their order and distances, which values are in one row together, the index, and
    ``attrs``. Numbers become other numbers, dates other dates, and all else text. True and False stay. Time
    and memory are linear in the table.

    Examples
    --------
    >>> import pandas as pd
    >>> import pdanon
    >>> frame = pd.DataFrame({"age": [37, 52, 37], "items": [["flu"], ["flu", "gout"], None]})
    >>> made = pdanon.datasets.like(frame, random_state=0)
    >>> sorted(made["age"].value_counts()), list(made["items"].itemset.items)
    ([1, 2], ['v0', 'v1'])
    """
    rng = random_generator(randbits(64) if random_state is None else random_state)
    columns = [column for _, column in check_frame(frame).items()]
    if is_onehot(columns):
        hint = "if they are items, convert the table first: pdanon.from_onehot(frame)"
        warn(ReleaseWarning("names of columns stay, and several columns hold only 0 and 1", hint=hint))
    encoded = [Itemsets.from_series(each) if is_list_column(each) else _factorize(each) for each in columns]
    vocabularies = [
        each.vocabulary.to_pandas() if isinstance(each, Itemsets) else each[1] for each in encoded
    ]
    levels = (frame.index.get_level_values(level) for level in range(frame.index.nlevels))
    known = {_text(value) for each in [*vocabularies, *levels] for value in each}
    made: dict[int, Any] = {}
    for place, (column, values, vocabulary) in enumerate(zip(columns, encoded, vocabularies, strict=True)):
        fresh = _fresh(pd.Series(vocabulary), known, rng)
        if isinstance(values, Itemsets):
            made[place] = _shuffle_items(values, pa.array(fresh, from_pandas=True), rng)
            continue
        codes = rng.permutation(np.append(rng.permutation(len(fresh)), -1)[values[0]])  # -1 stays -1
        if isinstance(column.dtype, pd.CategoricalDtype):
            made[place] = pd.Categorical.from_codes(
                codes, categories=pd.Index(fresh), ordered=column.dtype.ordered
            )
        else:
            made[place] = _as_before(pd.Series(fresh.array.take(codes, allow_fill=True)), column.dtype)
    table = pd.DataFrame(made, index=pd.RangeIndex(len(frame)))
    table.columns = frame.columns
    return table


def _vocabulary(items: int | Sequence[str]) -> pa.Array:
    if isinstance(items, (int, np.integer)):
        check_count(items, "items", least=1, most=MOST_DRAWN)
        numbers = pa.array(np.arange(1, items + 1)).cast(pa.string())
        return pc.binary_join_element_wise("p", pc.utf8_lpad(numbers, max(4, len(str(items))), "0"), "")
    vocabulary = Itemsets.from_series(as_itemsets([items])).vocabulary
    if not 0 < len(vocabulary) == len(items):
        got = f"{len(items)} names, {len(vocabulary)} distinct"
        raise ParameterError("items must be distinct names, at least one", where="items", got=got)
    return vocabulary


def _draw_patterns(count: int, n_items: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
    """Draw the items of all patterns, pattern after pattern, possibly with duplicates, and their sizes."""
    popularity = rng.permutation(np.arange(1.0, n_items + 1) ** -0.8)
    sizes = 1 + rng.poisson(_MEAN_PATTERN - 1, count)
    # Patterns are windows on one sequence of items. Consecutive patterns share the overlap of their windows.
    shared = (sizes * np.minimum(rng.exponential(0.5, count), 1)).astype(np.int64)
    starts = offsets_of(sizes[:-1] - np.minimum(shared[1:], sizes[:-1]))
    sequence = rng.choice(n_items, int((starts + sizes).max()), p=popularity / popularity.sum())
    return gather(sequence.astype(np.int32), starts, sizes), sizes


def _drop_items(
    codes: Codes, sizes: Numbers, n_items: int, rng: np.random.Generator
) -> tuple[Codes, Numbers]:
    """Copy patterns in proportion to their weights, and drop some items of each copy."""
    weights = rng.exponential(size=len(sizes))
    loss = np.clip(rng.normal(0.5, 0.1**0.5, len(sizes)), 0, 0.9)
    slots = (np.arange(_SLOTS) + 0.5) / _SLOTS
    pattern = np.searchsorted(np.cumsum(weights) / weights.sum(), slots)
    items, offsets = take_rows(codes, offsets_of(sizes), pattern)
    copy = rows_of(offsets)
    kept = rng.random(len(items)) >= loss[pattern[copy]]
    lengths = np.bincount(copy[kept], minlength=_SLOTS)
    codes, offsets = canonical_rows(items[kept], offsets_of(lengths), n_items)
    return codes, np.diff(offsets)


def _draw_stream(codes: Codes, lengths: Numbers, total: int, rng: np.random.Generator) -> Codes:
    """Concatenate randomly drawn copies up to a total number of items."""
    offsets = offsets_of(lengths)
    parts: list[Codes] = []
    while total > 0:
        drawn = rng.integers(len(lengths), size=int(total / lengths.mean()) + 1)
        parts.append(take_rows(codes, offsets, drawn)[0][:total])
        total -= len(parts[-1])
    return np.concatenate([np.empty(0, np.int32), *parts])


def _replace_duplicates(codes: Codes, offsets: Offsets, pool: Numbers, rng: np.random.Generator) -> Codes:
    """Replace duplicates within rows by items of a pool until there are none, and sort rows, in place."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    while len(starts):
        duplicates = sort_rows(codes, starts, lengths)
        codes[duplicates] = pool[rng.integers(len(pool), size=len(duplicates))]
        unsorted = np.flatnonzero(np.bincount(np.searchsorted(offsets, duplicates, side="right") - 1))
        starts, lengths = offsets[unsorted], offsets[unsorted + 1] - offsets[unsorted]
    return codes


def _factorize(column: pd.Series[Any]) -> tuple[Any, Any]:
    """Return codes, -1 for missing values, and the distinct values; of categories, all of them."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    try:
        return column.factorize()
    except (TypeError, NotImplementedError):
        got, hint = str(column.dtype), "drop the column, or make it text"
        where = repr(column.name)
        raise ColumnError("values of a column cannot be compared", where=where, got=got, hint=hint) from None


def _text(value: Any) -> str:
    """Return a text that is the same for a value as number, date and text."""
    return str(value).removesuffix(".0").removesuffix(" 00:00:00")


def _fresh(values: pd.Series[Any], known: set[str], rng: np.random.Generator) -> pd.Series[Any]:
    """Return as many values of the same kind, ascending, all unknown."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "boolean":
        return values
    make: Callable[[Any], Any] = _texts
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        make = pd.Series
    elif kind in ("date", "datetime", "datetime64"):
        make = _dates if kind != "date" else lambda numbers: _dates(numbers).dt.date
    for width in count():
        start = int(rng.integers(10 ** min(width, 15)))
        fresh: pd.Series[Any] = make(np.arange(start, start + len(values)))
        if known.isdisjoint(map(_text, fresh)):
            return fresh
    raise AssertionError


def _texts(numbers: Numbers) -> pd.Series[Any]:
    width = len(str(numbers[-1])) if len(numbers) else 1
    return pd.Series([f"v{number:0{width}}" for number in numbers.tolist()], dtype=object)


def _dates(numbers: Numbers) -> pd.Series[Any]:
    """Return days from 2000 on, or seconds if there are not enough days."""
    few = len(numbers) and numbers[-1] < 50_000
    return pd.Series(np.datetime64("2000-01-01", "s") + numbers % 2**32 * (86_400 if few else 1))


def _as_before(values: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Convert to the type of the original, if it can hold the values."""
    try:
        cast = values.astype(dtype)
        same = bool((cast.isna() == values.isna()).all() and (cast.dropna() == values.dropna()).all())
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return values
    return cast if same else values


def _shuffle_items(itemsets: Itemsets, vocabulary: pa.Array, rng: np.random.Generator) -> ListArray:
    """Deal the occurrences of new items to rows of the same sizes, in a random order."""
    n = len(vocabulary)
    rows = rng.permutation(itemsets.n_rows)
    offsets = offsets_of(itemsets.lengths[rows])
    codes = rng.permutation(n).astype(np.int32)[rng.permutation(itemsets.codes)] if n else itemsets.codes
    # Half of the pool has the supports; the other has all items equally often, which completes full rows.
    pool = np.concatenate([codes, np.resize(np.arange(n), len(codes))])
    codes = _replace_duplicates(codes, offsets, pool, rng)
    return Itemsets(codes, offsets, vocabulary, itemsets.nulls[rows]).to_pandas()
