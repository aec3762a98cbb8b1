"""Lines of a release in which a person has several: their order, and the lines of distinct persons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees.km import KmAnonymity
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.units import UnitRows
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, offsets_of, rows_of, take_rows
from pdanon.itemsets.support import ranks_of

_LINES = 2**18  # lines that are read together


@frozen
class UnitLines:
    """Lines of persons to publish. Persons with equal lines are next to each other, and stored once.

    Parameters
    ----------
    codes : ndarray of int32, shape (lines of distinct persons,)
        The label of each line; -1 for none.
    offsets : ndarray of int64, shape (distinct persons + 1,)
        The lines of each.
    weights : ndarray of int64, shape (distinct persons,)
        The number of persons with these lines.
    vocabulary : pyarrow.Array
        The labels.
    """

    codes: Codes
    offsets: Offsets
    weights: Numbers
    vocabulary: pa.Array

    @classmethod
    def of(cls, rows: UnitRows, weights: Numbers) -> UnitLines:
        """Sort the lines of distinct persons, given the number of each, as a release in memory."""
        content = label_ranks(rows, is_long=True)
        of_unit = unit_places(rows, content)
        own = of_unit[rows.numbers]
        order = np.lexsort((content, own))
        offsets = offsets_of(np.bincount(own, minlength=rows.n_units))
        sizes = weights[np.argsort(of_unit)]
        return cls((content[order] - 1).astype(np.int32), offsets, sizes, rows.bags.vocabulary)

    @property
    def n_units(self) -> int:
        """Number of persons."""
        return int(self.weights.sum())

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return int(self.weights @ np.diff(self.offsets))

    def n_lines_before(self, unit: int) -> int:
        """Number of lines of all persons before one."""
        before = np.clip(unit - offsets_of(self.weights)[:-1], 0, self.weights)  # of the persons of each
        return int(before @ np.diff(self.offsets))

    def parts(self, n_parts: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first person of each part of the lines, and the end of the part."""
        size = max(_LINES * self.n_units // max(self.n_lines, 1), 1)
        size = size if n_parts is None else max(-(-self.n_units // n_parts), 1)
        for first in range(0, self.n_units, size):
            yield first, min(first + size, self.n_units)

    def read(self, first: int, end: int) -> tuple[Numbers, pa.Array]:
        """Return the lines of some persons: their numbers and their labels."""
        persons = np.arange(first, end)
        distinct = np.searchsorted(offsets_of(self.weights), persons, side="right") - 1
        codes, offsets = take_rows(self.codes, self.offsets, distinct)
        labels = self.vocabulary.take(pa.array(codes, mask=codes < 0))
        return persons[rows_of(offsets)], labels


# --- What lines cannot show


def check_countable(guarantee: Guarantee) -> None:
    """Check that a guarantee covers how often a person has a label, and values beside it."""
    if not isinstance(guarantee, KmAnonymity):
        hint = "leave out counts= and keep= (--counts, --keep)"
        what = "only KmAnonymity covers how often, or other columns"
        raise ParameterError(what, where="unit", got=type(guarantee).__name__, hint=hint)


def local_error(algorithm: object, hint: str) -> ParameterError:
    """Return the error for single rows of a release with several labels for an item."""
    return ParameterError(
        "labels of single rows need the same label for an item in all persons",
        where="unit",
        got=f"{algorithm}, which recodes groups of persons",
        hint=f"{hint}choose an algorithm with one label for an item, such as pcta",
    )


def exposure_error(n_units: int, exposures: list[str], counts: bool) -> InfeasibleError:
    """Return the error for lines that put persons at risk, with their number for each thing known."""
    return InfeasibleError(
        "the guarantee does not cover what the rows show beside the sets of labels",
        where="counts and keep" if counts else "keep",
        got=f"of {n_units:,} persons at risk, if an attacker knows the labels and {'; '.join(exposures)}",
        hint=f"leave out {'counts=True (--counts)' if counts else 'the columns at risk'}",
    )


# --- Rows without values of other columns


def lines_of(bags: Itemsets) -> tuple[UnitRows, bool]:
    """Return a line for each label that a unit has, and whether a unit repeats a label.

    A unit without labels has a line without a label.
    """
    lengths = bags.lengths
    lines = np.maximum(lengths, 1)
    offsets = offsets_of(np.repeat(lengths > 0, lines))
    numbers = np.repeat(np.arange(len(lengths), dtype=np.int32), lines)
    units = rows_of(bags.offsets)
    repeats = (np.diff(bags.codes) == 0) & (np.diff(units) == 0)
    rows = Itemsets(bags.codes, offsets, bags.vocabulary, np.zeros(len(numbers), np.bool_))
    return UnitRows(numbers, len(lengths), rows), bool(repeats.any())


def label_column(rows: UnitRows, order: Numbers, is_long: bool) -> Any:
    """Return the column of labels: lists, or the label of each line."""
    bags = rows.bags.take(order)
    if not is_long:
        return bags.to_pandas()
    has_label = bags.lengths > 0
    codes = np.full(len(order), -1)
    codes[has_label] = bags.codes
    labels = bags.vocabulary.take(pa.array(codes, mask=~has_label))
    return pd.arrays.ArrowExtensionArray(labels)


# --- Orders that depend on content only


def label_ranks(rows: UnitRows, is_long: bool) -> Numbers:
    """Rank rows by their labels; equal ones share a rank."""
    bags = rows.bags
    if not is_long:
        return ranks_of(bags.codes, bags.offsets, len(bags.vocabulary))
    ranks = np.zeros(len(rows.numbers), np.int64)
    ranks[bags.lengths > 0] = bags.codes.astype(np.int64) + 1
    return ranks


def unit_places(rows: UnitRows, content: Numbers) -> Numbers:
    """Rank units by the contents of their rows. Ties have equal rows, and keep their order."""
    order = np.lexsort((content, rows.numbers))
    offsets = offsets_of(np.bincount(rows.numbers, minlength=rows.n_units))
    ranks = ranks_of(content[order].astype(np.int32), offsets, int(content.max(initial=-1)) + 1)
    return inverse_order(np.argsort(ranks, kind="stable"))
