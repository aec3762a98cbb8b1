"""The encoded quasi-identifiers of a table, and classes of rows with equal published values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import gcd, inf, nextafter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.algorithms.relational.attributes import (
    Attribute,
    Cells,
    Grades,
    Intervals,
    Ranges,
    Sets,
    Tree,
    common_unit,
    cover_groups,
    digest_of,
    shares,
    with_leaf,
)
from pdanon.errors import HierarchyError, ItemsetDtypeError, ParameterError
from pdanon.guarantees.parameters import check_share
from pdanon.hierarchy import Form, Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.columns import find_quasi, quasi_labels
from pdanon.itemsets.dtype import arrow_values, as_pandas_writes, type_name
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import QUASI_HINT, object_items, offsets_of, sums
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.table_hints import text_hint
from pdanon.itemsets.validation import is_integer, is_number

_BYTES = 48  # per row, that each algorithm needs for classes
_EXACT = 2**53  # all integers up to here are exact as floats
_DIGITS = 9  # after the point: the steps between numbers with more digits are not exact


QuasiLike: TypeAlias = Sequence[Hashable] | Mapping[Hashable, Any]

# The value of each row, the denominators of losses, and a function from a unit, the loss of a suppressed
# value, to the attribute.
Encoded: TypeAlias = tuple[Codes, list[int], Callable[[int], Attribute]]


def encode_column(column: pd.Series[Any], source: HierarchyLike | None) -> Encoded:
    """Encode a column: by a hierarchy, as ordered values, or as values without an order."""
    if source is None and _has_grades(column):
        return _encode_grades(column)
    values = _single_values(column)
    missing = values.lengths == 0
    n = values.n_items
    codes = np.full(values.n_rows, n, np.int32)
    codes[~missing] = values.codes
    some_missing = bool(missing.any())
    if source is not None:
        hierarchy, nodes = _cover(column.name, source, values)
        if some_missing:
            nodes, hierarchy = np.append(nodes, np.int32(hierarchy.n_nodes)), with_leaf(hierarchy)
        leaves, rank = np.unique(nodes.astype(np.int64), return_inverse=True)
        wholes = [hierarchy.n_leaves, hierarchy.height]
        return rank.astype(np.int32)[codes], wholes, partial(Tree.of, hierarchy, leaves, some_missing)
    kind = values.vocabulary.type
    sets = codes, [n + some_missing], partial(Sets.of, _texts(values.vocabulary), some_missing)
    measured = None if isinstance(column.dtype, pd.CategoricalDtype) else _measure(values.vocabulary)
    if measured is None:
        return sets
    numbers, lower, upper = measured
    if some_missing and pa.types.is_integer(kind) and n and max(-int(numbers[0]), int(numbers[-1])) > _EXACT:
        hint = "pass a hierarchy for it, or convert it to text"
        raise ParameterError(
            "a column has missing values and integers beyond 2**53, which no interval can hold",
            where=f"column {column.name!r}",
            hint=hint,
        )
    infinite = ~np.isfinite(numbers.astype(np.float64))
    if infinite.any():
        raise ParameterError(
            "a quasi-identifier holds infinite numbers",
            where=f"column {column.name!r}",
            got=f"{int(infinite[values.codes].sum())} rows",
            hint="replace them, for example by missing values",
        )
    # The range of a class of this value and missing ones would be the value: sets show the difference.
    if n == 1 and some_missing:
        return sets
    steps, ends = _steps(numbers), Intervals(lower, upper, some_missing)
    wholes = [int(steps[-1])] if n and steps is not None else []
    return codes, wholes, lambda unit: Ranges(ends, _positions(numbers, steps, unit), some_missing, unit)


def _has_grades(column: pd.Series[Any]) -> bool:
    """Return whether a column has ordered categories whose ranges differ."""
    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
        return False
    return len(dtype.categories) > 1 or not column.hasnans


def _encode_grades(column: pd.Series[Any]) -> Encoded:
    """Encode ordered categories: the distance of two is the number of steps between them."""
    categories = column.cat.categories
    if isinstance(categories, pd.IntervalIndex):
        texts = [*map(str, categories)]
    else:
        sets = _single_values(pd.Series(pd.Categorical(categories, categories), name=column.name))
        by_code = _texts(sets.vocabulary)
        texts = [by_code[code] for code in sets.codes]
    places = column.cat.codes.to_numpy().astype(np.int64)
    present = np.unique(places[places >= 0])
    codes = np.where(places < 0, len(present), np.searchsorted(present, places)).astype(np.int32)
    ends, whole, missing = Grades(texts, present), len(texts) - 1, bool(column.hasnans)
    return codes, [whole], lambda unit: Ranges(ends, shares(present, whole, unit), missing, unit)


def _single_values(column: pd.Series[Any]) -> Itemsets:
    """Return the column as sets of one value, empty where it is missing."""
    try:
        is_object = column.dtype == object
        values = object_items(list(column)) if is_object else arrow_values(column).combine_chunks()
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        present = pc.invert(pc.is_null(values, nan_is_null=True))
        offsets = offsets_of(present.to_numpy(zero_copy_only=False))
        return Itemsets.from_arrow(pa.LargeListArray.from_arrays(offsets, values.filter(present)))
    except (ItemsetDtypeError, pa.ArrowException, TypeError, ValueError):
        pass
    # Raised outside the handler: the message of Arrow, which may contain a value, is then not the context.
    raise ItemsetDtypeError(
        "the values of a quasi-identifier have no common type",
        where=f"column {column.name!r}",
        got=f"dtype {type_name(column.dtype)}",
        hint=f"{QUASI_HINT}; {text_hint(column)}",
    )


def _cover(label: Hashable, source: HierarchyLike, values: Itemsets) -> tuple[Hierarchy, Codes]:
    texts = values.texts()
    try:
        return Hierarchy.of(source, texts).cover(texts, Form.of(values.vocabulary.type))
    except (HierarchyError, ParameterError) as error:
        raise type(error)(str(error), where=f"quasi[{label!r}]") from None


def _measure(vocabulary: pa.Array) -> tuple[NDArray[Any], pd.Index[Any], pd.Index[Any]] | None:
    """Return values that have distances as numbers, and the ends of the interval of each value alone."""
    kind, types = vocabulary.type, pa.types
    is_time = types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind)
    if types.is_decimal(kind):  # parsing the text gives the nearest float
        values = vocabulary.cast(pa.string()).cast(pa.float64())
    elif types.is_floating(kind):
        values = vocabulary.cast(pa.float64())
    elif types.is_uint64(kind):
        values = vocabulary
    elif types.is_date32(kind):
        values = vocabulary.cast(pa.int32()).cast(pa.int64())
    elif types.is_integer(kind) or is_time:  # in the unit of the times
        values = vocabulary.cast(pa.int64())
    else:
        return None
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    if types.is_decimal(kind):
        pairs = [*zip(numbers.tolist(), vocabulary.to_pylist(), strict=True)]  # compared exactly
        lower = [nextafter(near, -inf) if near > exact else near for near, exact in pairs]
        upper = [nextafter(near, inf) if near < exact else near for near, exact in pairs]
        return numbers, pd.Index(lower, dtype="float64"), pd.Index(upper, dtype="float64")
    if is_time:
        times = vocabulary.cast(pa.timestamp("ms")) if types.is_date(kind) else vocabulary
        ends = pd.Index(times.to_pandas())
    else:
        ends = pd.Index(numbers)
    return numbers, ends, ends


def _texts(vocabulary: pa.Array) -> list[str]:
    """Return the texts of values in sets; durations as pandas writes them, not as integers."""
    if pa.types.is_duration(vocabulary.type):
        vocabulary = as_pandas_writes(vocabulary)
    return vocabulary.cast(pa.large_string()).to_pylist()


def _steps(numbers: NDArray[Any]) -> NDArray[np.uint64] | None:
    """Return the distance of numbers from the smallest, in common steps; None for too many digits."""
    if numbers.dtype == np.float64:
        for digits in range(_DIGITS + 1):
            whole = np.rint(numbers * 10.0**digits)
            if (np.abs(whole) >= _EXACT).any():
                return None
            if (whole / 10.0**digits == numbers).all():
                numbers = whole.astype(np.int64)
                break
        else:
            return None
    above = numbers.astype(np.uint64) - numbers[:1].astype(np.uint64)  # may exceed int64, not uint64
    return above // max(np.gcd.reduce(above, initial=np.uint64(0)), np.uint64(1))


def _positions(numbers: NDArray[Any], steps: NDArray[np.uint64] | None, unit: int) -> Numbers:
    """Return the positions of numbers from 0, the smallest, to ``unit``, the largest; rounded down."""
    whole = int(steps[-1]) if steps is not None and len(steps) else 0
    if steps is not None and whole and unit % whole == 0:
        return shares(steps.astype(np.int64), whole, unit)
    # Halves: the difference of two finite floats may be infinite.
    above = numbers * 0.5 - numbers[:1] * 0.5 if steps is None else steps.astype(np.float64)
    if not above.any():  # one number, or numbers whose differences are below the precision of floats
        return np.zeros(len(numbers), np.int64)
    positions = np.minimum(np.floor(above / above[-1] * unit).astype(np.int64), unit)
    positions[-1] = unit
    return positions


# --- Summaries of the covered values of many groups, updated as groups grow


Combine: TypeAlias = Callable[[Sequence[Numbers]], Numbers]


class Digests:
    """Summaries of each group of rows: in each column, few values with the same cover as all."""

    # ``combine`` returns the loss of a row of each group, given the losses of its values, column by column.
    # By default it is their sum.
    # Memory: two values for each group and column, or all distinct values of a column published as sets.

    def __init__(self, table: QuasiTable, groups: Sequence[Numbers], combine: Combine | None = None) -> None:
        self._attributes = table.attributes
        self._combine = partial(np.sum, axis=0) if combine is None else combine
        starts = offsets_of(np.array([*map(len, groups)], np.int64))[:-1]
        columns = table.columns(np.concatenate([np.empty(0, np.int64), *groups]))
        self._lines = [each.digests(codes, starts) for each, codes in columns]

    @property
    def losses(self) -> Numbers:
        """Loss of each row of a group."""
        return self.losses_with([np.empty(0, np.int32)] * len(self._lines))

    def losses_with(self, values: Sequence[Codes]) -> Numbers:
        """Return the losses if more values, column by column, joined each group."""
        columns = zip(self._attributes, self._lines, values, strict=True)
        return self._combine([attribute.losses_with(lines, more) for attribute, lines, more in columns])

    def of(self, group: int) -> list[Codes]:
        """Return values, column by column, with the same cover as a group."""
        return [lines[group] for lines in self._lines]

    def add(self, group: int, values: Sequence[Codes]) -> None:
        """Add values, column by column, to a group."""
        for place, (attribute, lines) in enumerate(zip(self._attributes, self._lines, strict=True)):
            digest = digest_of(attribute, np.concatenate((lines[group], values[place])))
            if len(digest) > lines.shape[1]:
                lines = np.pad(lines, ((0, 0), (0, len(digest) - lines.shape[1])), "edge")
            lines[group, : len(digest)], lines[group, len(digest) :] = digest, digest[-1]
            self._lines[place] = lines

    def remove(self, group: int) -> None:
        """Delete a group and renumber those after it."""
        self._lines = [np.delete(lines, group, axis=0) for lines in self._lines]


def join_nearest(
    table: QuasiTable, clusters: Sequence[Numbers], left: Numbers, *, of_all: bool = False
) -> Numbers:
    """Add each remaining row to a cluster, in order; return the cluster of each row."""
    # It is that with the least loss of the row in it, or with the least added loss ``of_all`` its rows. Ties:
    # the oldest cluster.
    digests, groups = Digests(table, clusters), number_groups(clusters, table.n_rows)
    sizes = np.array([*map(len, clusters)])
    for row in left.tolist():  # as each row changes the cluster that it joins
        values = [*table.codes[row, :, np.newaxis]]  # column by column
        losses = digests.losses_with(values)
        # The row's own loss, and what it adds to the loss of each member.
        chosen = int(np.argmin((sizes + 1) * losses - sizes * digests.losses if of_all else losses))
        digests.add(chosen, values)
        groups[row] = chosen
        sizes[chosen] += 1
    return groups


def number_groups(groups: Sequence[Numbers], n_rows: int) -> Numbers:
    """Return the group of each row; 0 for a row without a group."""
    of_row = np.zeros(n_rows, np.int64)
    for number, rows in enumerate(groups):
        of_row[rows] = number
    return of_row


def split_groups(groups: Numbers) -> list[Numbers]:
    """Return the rows of each group, ascending."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


_WEIGHT_STEPS = 1000  # weights are compared as integers: the number of steps from 0 to 1


def column_weights(weights: Mapping[Hashable, Any]) -> list[int]:
    """Encode the weights of columns, rounded to thousandths, as small integers."""
    # `ParameterError`: a weight is outside [0, 1], or all are 0.
    steps = [round(check_share(each, f"quasi[{label!r}]") * _WEIGHT_STEPS) for label, each in weights.items()]
    if not any(steps):
        raise ParameterError("all weights are 0", where="quasi", hint="pass a weight above 0")
    common = gcd(*steps)
    return [each // common for each in steps]


def read_quasi(quasi: QuasiLike) -> dict[Hashable, tuple[Any, Any]]:
    """Return the weight, by default 1, and the hierarchy, if any, of each quasi-identifier."""
    if not isinstance(quasi, Mapping):
        return dict.fromkeys(quasi_labels(quasi), (1, None))
    return {label: _weight_and_tree(value) for label, value in quasi.items()}


def _weight_and_tree(value: Any) -> tuple[Any, Any]:
    """Read a weight, a hierarchy, a pair of both, or None. An int above 1 is a fan-out."""
    match value:
        case (weight, tree):
            return 1 if weight is None else weight, tree
        case _ if is_number(value) and not (is_integer(value) and value > 1):
            return value, None
    return 1, value


# --- The quasi-identifiers of a table, and classes of rows with equal published values


@frozen
class QuasiTable:
    """Encoded quasi-identifiers of a frame."""

    positions: list[int]  # of the columns in the frame
    attributes: tuple[Attribute, ...]  # in the order of ``quasi``
    codes: Codes  # values of each row, shape (rows, columns)
    # Number of rows of the table that each stands for, by default 1. For algorithms that publish equal values
    # equally, each combination of values stands for all rows with it.
    counts: Numbers | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def weights(self) -> Numbers:
        """Number of rows of the table that each row stands for."""
        return np.ones(self.n_rows, np.int64) if self.counts is None else self.counts

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        quasi: QuasiLike,
        n_rows: int | None = None,
    ) -> QuasiTable:
        """Encode columns of a frame; ``n_rows`` is that of the table, if the frame only holds its values."""
        described = read_quasi(quasi)
        positions = find_quasi(frame, [*described])
        encoded = [
            encode_column(frame.iloc[:, position], tree)
            for position, (_, tree) in zip(positions, described.values(), strict=True)
        ]
        steps = column_weights({label: weight for label, (weight, _) in described.items()})
        cells = (len(frame) if n_rows is None else n_rows) * sum(steps)
        unit = common_unit([whole for _, wholes, _ in encoded for whole in wholes], cells)
        attributes = tuple(make(unit * weight) for (*_, make), weight in zip(encoded, steps, strict=True))
        return cls(positions, attributes, np.column_stack([codes for codes, *_ in encoded]))

    @property
    def most_of_row(self) -> int:
        """Loss of a row if all of its values are suppressed."""
        return sum(each.unit for each in self.attributes)

    def take(self, rows: Numbers) -> QuasiTable:
        """Select rows; the losses of values stay relative to all values of the table."""
        return replace(self, codes=self.codes[rows])

    def columns(self, rows: Numbers | slice = slice(None)) -> list[tuple[Attribute, Codes]]:
        """Return each column, and the values of some rows; by default of all."""
        return [*zip(self.attributes, np.ascontiguousarray(self.codes[rows].T), strict=True)]

    def require_memory(self, name: str, more: int = 0) -> None:
        """Check that an algorithm can allocate its memory: that for classes of rows, and more bytes."""
        require_memory(_BYTES * self.n_rows + more, name)

    def losses_with_each(self, members: Numbers, rows: Numbers) -> Numbers:
        """Return, for each of other rows, the loss of the cover of some rows and this one."""
        return counting.look_up(self.tables_of(members), self.starts, self.codes, rows)

    @property
    def starts(self) -> Numbers:
        """The first value of each column, if the values of all columns are numbered one after the other."""
        return offsets_of(np.array([each.n_values for each in self.attributes]))[:-1]

    def tables_of(self, members: Numbers) -> Numbers:
        """Return the loss of the cover of some rows and each value, column by column."""
        columns = [
            (each, np.arange(each.n_values, dtype=np.int32), codes) for each, codes in self.columns(members)
        ]
        return np.concatenate([each.losses_with(own[:, np.newaxis], codes) for each, own, codes in columns])

    def distinct(self) -> tuple[Numbers, QuasiTable]:
        """Return the combination of values of each row, and a table with each combination once."""
        groups, _ = pd.factorize(group_rows(self.codes.T, self.n_rows))
        _, first = np.unique(groups, return_index=True)
        return groups, replace(self, codes=self.codes[first], counts=sums(groups, self.weights))

    def by_height(self) -> QuasiTable:
        """Return the table with losses by the height of a node, not by its number of leaves."""
        return replace(self, attributes=tuple(each.by_height() for each in self.attributes))


@frozen
class Classes:
    """Equivalence classes: rows with equal published quasi-identifiers."""

    of_row: Numbers  # numbered in the order of their first rows
    cells: tuple[Cells, ...]  # published cell of each class, attribute by attribute
    most_of_row: int  # loss of a row if all of its values are suppressed
    suppressed: int  # number of suppressed rows; all of them are in one class
    weights: Numbers  # as in `QuasiTable`

    @classmethod
    def of_members(cls, table: QuasiTable, groups: Numbers) -> Classes:
        """Generalize groups of rows, -1 if suppressed; groups with equal published values are one class."""
        cells = [cover_groups(each, groups, codes) for each, codes in table.columns()]
        return cls._merge_equal(table, cells, groups < 0)

    @classmethod
    def of_values(cls, table: QuasiTable, groups: Sequence[Numbers], suppressed: Mask) -> Classes:
        """Publish equal values equally, throughout the table."""
        # ``groups`` has the node of each value, attribute by attribute. Without a hierarchy, it is any number
        # from 0 on, equal within a group.
        cells = [
            attribute.recode(np.where(suppressed, -1, of_value[codes]), codes)
            for (attribute, codes), of_value in zip(table.columns(), groups, strict=True)
        ]
        return cls._merge_equal(table, cells, suppressed)

    @classmethod
    def _merge_equal(cls, table: QuasiTable, cells: Sequence[Cells], suppressed: Mask) -> Classes:
        """Merge rows with equal cells, and number the classes by their first rows."""
        of_row, _ = pd.factorize(group_rows([each.numbers for each in cells], table.n_rows))
        first = np.unique(of_row, return_index=True)[1]
        published = tuple(each._replace(numbers=each.numbers[first]) for each in cells)
        gone = int(table.weights[suppressed].sum())
        return cls(of_row, published, table.most_of_row, gone, table.weights)

    @property
    def sizes(self) -> Numbers:
        """Number of rows of each class."""
        return sums(self.of_row, self.weights, len(self))

    @property
    def penalties(self) -> Numbers:
        """Loss of each row of a class, summed over the attributes."""
        return np.sum([each.penalties[each.numbers] for each in self.cells], axis=0)

    @property
    def loss(self) -> int:
        """Loss of all rows, summed over the attributes."""
        return int(self.sizes @ self.penalties)

    @property
    def ncp(self) -> float:
        """Normalized certainty penalty, averaged over rows and attributes."""
        everything = self.most_of_row * int(self.sizes.sum())
        return self.loss / everything if everything else 0.0

    def __len__(self) -> int:
        return len(self.cells[0].numbers)


# Forms classes of k rows, given a generator and an upper bound on suppressed rows.
Formation: TypeAlias = Callable[[QuasiTable, int, np.random.Generator, int], Classes]


def group_rows(keys: Iterable[NDArray[Any]], n_rows: int) -> Numbers:
    """Number the distinct combinations of keys in order; return the number of each row."""
    packed, space = np.zeros(n_rows, np.int64), 1
    for key in keys:
        base = int(key.max(initial=0)) + 1
        if space * base >= 2**62:  # renumber before the packed keys overflow
            packed = np.unique(packed, return_inverse=True)[1]
            space = int(packed.max(initial=0)) + 1
        packed, space = packed * base + key, space * base
    return np.unique(packed, return_inverse=True)[1]
