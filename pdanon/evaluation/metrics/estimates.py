"""Estimates from a release: what a published row may stand for, and the expected supports of itemsets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels.counting import estimates
from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.sensitive_groups import group_numbers
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.columns import is_list_column, list_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, offsets_of, rows_of, take_rows
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import ItemsetTable, SupportIndex, csr
from pdanon.itemsets.threads import even_parts, share
from pdanon.recoding.identification import count_deletions
from pdanon.recoding.recoding import Cover
from pdanon.recoding.result import Anonymized


@frozen
class Chances:
    """The probabilities of sensitive items that are published as counts of groups."""

    groups: Numbers  # by row
    shares: Any  # items by groups, sparse: the share of the rows of a group with a sensitive item
    is_hidden: Mask  # by item: sensitive, and so in no published row

    @classmethod
    def of(cls, frame: pd.DataFrame, guarantee: object, items: Itemsets) -> Chances | None:
        """Read the counts in the guarantee of a released frame; return None if there are none."""
        if not isinstance(guarantee, SensitiveGroups) or guarantee.classes is None:
            return None
        from scipy.sparse import coo_array

        counted = guarantee.classes
        item_of = items.lookup(counted.items)
        known = item_of >= 0
        shares = counted.counts / counted.sizes[counted.group]
        cells = item_of[known], counted.group[known]
        table = coo_array((shares[known], cells), shape=(items.n_items, len(counted.groups)))
        return cls(counted.places(group_numbers(frame)), table.tocsr(), guarantee.is_sensitive(items))

    def remove_hidden(self, queries: ItemsetTable) -> ItemsetTable:
        """Remove the sensitive items from queries."""
        is_shown = ~self.is_hidden[queries.codes]
        return ItemsetTable(queries.codes[is_shown], offsets_of(is_shown)[queries.offsets], queries.supports)

    def factors(self, queries: ItemsetTable) -> Factors:
        """Return the probability that a row of each group has the sensitive items of each query."""
        hidden = self.is_hidden[queries.codes]
        codes = queries.codes[hidden]
        offsets = offsets_of(hidden)[queries.offsets]

        def shares(part: slice) -> Floats:
            bounds = zip(offsets[:-1][part], offsets[1:][part], strict=True)
            return np.stack([self.shares[codes[begin:end]].toarray().prod(axis=0) for begin, end in bounds])

        return Factors(self.groups, self.shares.shape[1], shares)


# --- Conditions of queries on single-valued columns


def is_continuous(column: pd.Series[Any]) -> bool:
    """Return whether a column holds numbers or times, which have intervals."""
    dtype = column.dtype
    other = pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype)
    number = pd.api.types.is_numeric_dtype(dtype) and not other
    return bool(number or pd.api.types.is_datetime64_any_dtype(dtype))


@frozen
class Factors:
    """The probabilities that the values of a column satisfy the conditions of queries."""

    values: Numbers  # of each row: the number of its distinct value
    n_values: int
    shares: Callable[[slice], Floats]  # for a slice of the queries: queries by values; 1 without a condition


@frozen
class Condition:
    """The conditions of all queries on one column, with the original and the released column."""

    wanted: pd.Series[Any]  # closed intervals or values; missing: no condition
    original: pd.Series[Any]
    released: pd.Series[Any]

    @classmethod
    def of(cls, wanted: pd.Series[Any], original: pd.Series[Any], released: pd.Series[Any]) -> Condition:
        """Check that intervals are of numbers or times, and that values occur."""
        where = f"column {original.name!r}"
        if isinstance(wanted.dtype, pd.IntervalDtype):
            if not is_continuous(original):
                got = f"dtype {str(original.dtype).split('[')[0]}"
                raise ParameterError("an interval needs a column of numbers or times", where=where, got=got)
        else:
            unknown = wanted.notna() & ~wanted.isin(original.dropna().unique())
            if unknown.any():
                problem = "a query has a value that does not occur in the original"
                got = f"{int(unknown.sum())} of {len(wanted)} queries"
                hint = "check the spelling and type of the values"
                raise ParameterError(problem, where=where, got=got, hint=hint)
        return cls(wanted, original, released)

    def before(self) -> Factors:
        """Return 1 if an original value satisfies the condition of a query, otherwise 0."""
        codes, values = pd.factorize(self.original, use_na_sentinel=False)
        if isinstance(self.wanted.dtype, pd.IntervalDtype):
            numbers = _numbers(pd.Series(values))
            low, high = _ends(self.wanted)
        else:  # a value is an interval of one number, its position among the distinct values
            numbers = np.arange(len(values), dtype=np.float64)
            positions = pd.Index(values, dtype=object).get_indexer(pd.Index(self.wanted, dtype=object))
            low = high = positions[:, None]
        free = self._free

        def shares(queries: slice) -> Floats:
            met = (low[queries] <= numbers) & (numbers <= high[queries])
            return (met | free[queries]).astype(np.float64)

        return Factors(codes, len(values), shares)

    def after(self) -> Factors:
        """Return the share of the values behind a released value that satisfy the condition of a query."""
        if isinstance(self.released.dtype, pd.IntervalDtype) and is_continuous(self.original):
            return self._within_intervals()
        before = self.before()
        codes, labels = pd.factorize(self.released, use_na_sentinel=False)
        # Distinct pairs of a released and an original value: each original value counts once.
        pairs = np.unique(np.stack((codes, before.values)), axis=1)
        members = np.bincount(pairs[0], minlength=len(labels))
        stands_for = csr(pairs[1], offsets_of(members), before.n_values, 1 / members[pairs[0]])
        return Factors(codes, len(labels), lambda queries: (stands_for @ before.shares(queries).T).T)

    def _within_intervals(self) -> Factors:
        codes, intervals = pd.factorize(self.released, use_na_sentinel=False)
        low, high = (ends.T for ends in _ends(pd.Series(intervals)))
        if isinstance(self.wanted.dtype, pd.IntervalDtype):
            first, last = _ends(self.wanted)
        else:
            first = last = _numbers(self.wanted)[:, None]
        whole, free = pd.api.types.is_integer_dtype(self.original.dtype), self._free

        def shares(queries: slice) -> Floats:
            start, stop = np.maximum(first[queries], low), np.minimum(last[queries], high)
            if whole:  # count the whole numbers in both intervals
                share = (np.floor(stop) - np.ceil(start) + 1) / (np.floor(high) - np.ceil(low) + 1)
            else:
                width = np.where(high > low, high - low, 1.0)  # a single point has no width to divide by
                share = np.where(high > low, (stop - start) / width, stop >= start)
            return np.where(free[queries], 1.0, np.nan_to_num(np.clip(share, 0.0, 1.0)))

        return Factors(codes, len(intervals), shares)

    @property
    def _free(self) -> Mask:
        """Whether a query has no condition here, as an array of one column."""
        return self.wanted.isna().to_numpy(np.bool_)[:, None]


def draw_conditions(column: pd.Series[Any], rows: NDArray[Any], chosen: Mask, width: float) -> pd.Series[Any]:
    """Create conditions that given rows satisfy: intervals around their values, or the values."""
    values = column.iloc[rows].reset_index(drop=True)
    if not is_continuous(column):
        return values.astype(object).where(chosen, None)
    label, column, values = column.name, _plain(column), _plain(values)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (column.max() - column.min()) * (width / 2)
    if isinstance(half, float) and np.isinf([column.max(), column.min(), half]).any():
        raise ParameterError("the range of a column of queries is infinite", where=f"column {label!r}")
    low, high = (values - half).where(chosen), (values + half).where(chosen)
    return pd.Series(pd.arrays.IntervalArray.from_arrays(low, high, closed="both"))


def _plain(values: pd.Series[Any]) -> pd.Series[Any]:
    """Convert any numeric dtype to floats, and any dtype of times to nanoseconds."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return pd.Series(pd.DatetimeIndex(values).as_unit("ns"))
    return pd.Series(values.to_numpy(np.float64, na_value=np.nan))


def _ends(intervals: pd.Series[Any]) -> tuple[Floats, Floats]:
    """Return both ends of intervals, each as an array of one column."""
    array = pd.arrays.IntervalArray(intervals)
    return _numbers(pd.Series(array.left))[:, None], _numbers(pd.Series(array.right))[:, None]


def _numbers(values: pd.Series[Any]) -> Floats:
    """Return numbers, or times in nanoseconds, as floats; NaN if missing."""
    values = _plain(values)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return np.where(values.isna(), np.nan, pd.DatetimeIndex(values).asi8.astype(np.float64))
    return values.to_numpy()


def check_condition(wanted: pd.Series[Any], label: Hashable) -> None:
    """Check that the conditions on a column are intervals or values."""
    if is_list_column(wanted):
        problem = "a condition is an interval or a value, not a list"
    elif isinstance(wanted.dtype, pd.IntervalDtype) and wanted.dtype.closed != "both":
        problem = "an interval of a condition must be closed on both sides"
    else:
        return
    raise ParameterError(problem, where=f"column {label!r}")


@frozen
class Release:
    """A release with its original: both columns encoded, and the items behind the labels."""

    original: pd.DataFrame
    frame: pd.DataFrame
    label: Hashable  # of the list column
    items: Itemsets
    published: Itemsets
    cover: Cover
    chances: Chances | None  # if items are counted by groups
    bags: Itemsets | None  # the released column, if a row repeats a label
    retained: Floats | None  # of each item, if some are deleted row by row: the share of its rows

    @classmethod
    def of(
        cls,
        original: pd.DataFrame,
        released: Anonymized | pd.DataFrame,
        mapping: pd.DataFrame | None,
        hierarchy: HierarchyLike | None,
        column: Any = None,
        *,
        bags: bool = False,
    ) -> Release:
        """Encode a release and its original; the hierarchy, if any, takes precedence over the mapping."""
        guarantee = None
        if isinstance(released, Anonymized):
            mapping = released.mapping if mapping is None else mapping
            released, guarantee = released.frame, released.guarantee
        elif not isinstance(released, pd.DataFrame):
            hint = "pass the result of an algorithm, or its frame and mapping"
            raise ParameterError("not a release", where="released", got=type(released).__name__, hint=hint)
        if mapping is not None:
            check_mapping(mapping)
        refuse_chunks(released)
        lists = list_column(original, column)
        label, items = lists.name, Itemsets.from_series(lists)
        published, copies = encode_release(released, label)
        if copies is not None and not bags:
            problem, where = "the release holds bags, for which there is no estimate", f"column {label!r}"
            hint = "if the copies of a label do not matter, convert the column with pdanon.as_itemsets"
            got = f"{len(copies.codes) - len(published.codes)} repeated labels"
            raise ParameterError(problem, where=where, got=got, hint=hint)
        if len(original) != len(released):
            hint = "pass the original of the release; for a table of pdanon.reconstruct, pass the rows of "
            hint += "the original that have an item"
            got = f"{len(original)} and {len(released)} rows"
            raise ParameterError("original and release differ in the number of rows", got=got, hint=hint)
        if hierarchy is not None:
            cover = Cover.of_hierarchy(items, published, hierarchy)
        else:
            cover = Cover.of_mapping(items, published, mapping)
        chances, retained = Chances.of(released, guarantee, items), None
        if mapping is not None and "support" in mapping.columns:
            deleted = count_deletions(items, published, mapping, cover)
            retained = None if deleted is None else 1 - deleted / SupportIndex.of(items).singles
        return cls(original, released, label, items, published, cover, chances, copies, retained)

    def check_rows(self) -> None:
        """Check that both frames have the same index, so that their rows can be compared one by one."""
        if not self.original.index.equals(self.frame.index):
            hint = "pass both with the same index, in the same order"
            raise ParameterError("original and release differ in their index", where="index", hint=hint)


def encode_release(frame: pd.DataFrame, label: Any) -> tuple[Itemsets, Itemsets | None]:
    """Encode a column of a release as sets; if rows repeat labels, also as multisets."""
    if label not in frame.columns:
        got = f"column {label!r} of {list(frame.columns)}"
        raise ColumnError("the release lacks the list column of the original", got=got)
    column = list_column(frame, label)
    published, bags = Itemsets.from_series(column), Itemsets.from_series(column, repeats=True)
    return published, bags if len(bags.codes) > len(published.codes) else None


# --- Expected supports of itemsets


Mode: TypeAlias = Literal["subset", "uniform", "optimistic", "none", "retained"]

_CELLS = 2**22  # upper bound on the cells of the matrix of queries by values


def expected_counts(
    queries: ItemsetTable, published: Itemsets, cover: Cover, mode: Mode, factors: Sequence[Factors]
) -> Floats:
    """Estimate, for each query, the number of original rows that match it."""
    index = SupportIndex.of(published)
    if not factors:  # without conditions, equal rows have equal probabilities
        index = index.distinct()
    odds = _odds(cover.members, int(queries.lengths.max(initial=0)), mode)
    values, classes = _classes(factors, len(index.weights))
    # Blocks of queries bound the memory of the matrix of queries by values.
    step = max(_CELLS // max(values.shape[1], *(each.n_values for each in factors), 1), 1)
    rows = index.rows

    def answer(begin: int, end: int) -> Floats:
        part = queries.take(np.arange(begin, end))
        shares = np.ones((len(part), values.shape[1]))
        for factor, chosen in zip(factors, values, strict=True):
            shares *= factor.shares(slice(begin, end))[:, chosen]
        labels = cover.labels, cover.offsets
        return estimates(part.codes, part.offsets, *labels, odds, rows, classes, shares)

    blocks = [
        (first, min(first + step, end))
        for begin, end in even_parts(np.arange(len(queries) + 1) * len(index.weights))
        for first in range(begin, end, step)
    ]
    return np.concatenate(share(answer, blocks))


def _classes(factors: Sequence[Factors], n_rows: int) -> tuple[Numbers, Numbers]:
    """Return the combinations of values that occur, column by column, and the combination of each row."""
    if not factors:
        return np.empty((0, 1), np.int64), np.zeros(n_rows, np.int64)
    values, classes = np.unique(np.stack([each.values for each in factors]), axis=1, return_inverse=True)
    return values, classes.ravel().astype(np.int64)


def _odds(members: Numbers, most: int, mode: Mode) -> Floats:
    """Return the probability that a label stands for 0, 1, ..., ``most`` given items, by its size."""
    size, wanted = members[:, None].astype(np.float64), np.arange(most + 1)
    if mode in ("subset", "retained"):
        return np.exp2(-wanted) / (1 - np.exp2(-size))  # 2**(s - j) / (2**s - 1), without overflow
    if mode == "uniform":
        return size**-wanted
    return np.ones((len(members), most + 1)) * ((size == 1) | (mode == "optimistic"))


def restore_counts(counts: Floats, queries: ItemsetTable, retained: Floats | None) -> Floats:
    """Divide the count of each query by the geometric mean of the shares of its items that are left."""
    if retained is None:
        hint = "leave mode= out: no item is deleted in some of its rows only"
        raise ParameterError("the release has no deletions", where="mode", got="retained", hint=hint)
    left = np.log(np.where(retained > 0, retained, 1))[queries.codes]
    total = np.bincount(rows_of(queries.offsets), left, len(queries))
    restored: Floats = counts / np.exp(total / np.maximum(queries.lengths, 1))
    return restored


# --- Expected supports in bags, as Clump publishes them: each label of a bag stands for one item, and two
# labels for two different items


def expected_in_bags(
    queries: ItemsetTable, published: Itemsets, cover: Cover, factors: Sequence[Factors]
) -> Floats:
    """Estimate, for each query, the number of original rows that match it."""
    # A label that a row has c times stands for c different items of its s items, all choices equally likely.
    # They avoid j items with the product of ``(s - j - i) / (s - i)``, i < c; then inclusion and exclusion.
    bag_of, bags = SupportIndex.of(published).number_rows()
    copies = csr(bags.codes, bags.offsets, bags.n_items, np.int64(1))
    copies.sum_duplicates()  # of each label in each bag
    copies = copies.T.tocsr()
    estimates = np.empty(len(queries))
    for number, row in enumerate(queries.sets()):
        matches = _contain(row, copies, cover)[bag_of]
        for factor in factors:
            matches = matches * factor.shares(slice(number, number + 1))[0, factor.values]
        estimates[number] = matches.sum()
    return estimates


def _contain(items: Sequence[int], copies: Any, cover: Cover) -> Floats:
    """Return the probability that each bag stands for all of some items."""
    total = np.zeros(copies.shape[1])
    for absent in subsets(items):
        avoid = np.ones_like(total)
        labels, _ = take_rows(cover.labels, cover.offsets, np.array(absent, np.int64))
        labels, covered = np.unique(labels, return_counts=True)
        for label, n_covered in zip(labels.tolist(), covered.tolist(), strict=True):
            own, size = slice(copies.indptr[label], copies.indptr[label + 1]), int(cover.members[label])
            steps = np.arange(int(copies.data[own].max(initial=0)))
            odds = np.clip(size - n_covered - steps, 0, None) / np.maximum(size - steps, 1)
            avoid[copies.indices[own]] *= np.append(1.0, np.cumprod(odds))[copies.data[own]]
        total += avoid if len(absent) % 2 == 0 else -avoid
    return np.clip(total, 0.0, 1.0)


def subsets(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the subsets of some items, the smallest first."""
    for size in range(len(items) + 1):
        yield from combinations(items, size)
