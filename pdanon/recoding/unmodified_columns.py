"""Passing: the columns that are released as they were, and how many rows they tell apart together."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError, IdentifierWarning, warn
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.columns import column_labels, is_list_column, label_key, same_label
from pdanon.itemsets.equality import Numbers, value_numbers
from pdanon.recoding.counts import FEW, is_nearly_all, percent

__all__ = ["Passing", "judged_columns", "judged_labels", "passing", "recorded"]

_MOST_KNOWN = 3  # columns that explain them
_MOST_COMBINED = 8  # columns that are tried for that
_MOST_NAMED = 8  # columns in a message


@dataclass(frozen=True, slots=True)
class Passing:
    """What is released as it was, and how many rows are found by who knows all of it, or little of it.

    Parameters
    ----------
    columns : tuple of hashable
        Labels of the columns.
    levels : tuple of hashable
        Names of the levels of the index that have one.
    judged : tuple of hashable
        Those that the caller has judged, by ``keep=``; they count nowhere below.
    incomparable : tuple of hashable
        Those of the others whose values cannot be compared, such as dicts; nor do they.
    known : tuple of hashable
        All that are left.
    rows : int
        How many rows were counted.
    k : int
        The k of the guarantee; 2 if it has none.
    unique : int
        How many rows are the only ones with their values of all that are known.
    below_k : int
        How many rows share these values with so few that they are fewer than k.
    subset : tuple of hashable
        One to three of them that explain most of that. A single one if it alone has nearly as many rows
        below k, and so on; of those that do, the ones that have the most values.
    subset_unique, subset_below_k : int
        As ``unique`` and ``below_k``, of these.

    Notes
    -----
    Values are alike as in :class:`pdanon.KAnonymity`: numbers and dates as they are published, lists with
    their order. The counts are exact. Of more than 8 columns, the 8 that have the most values are tried for
    the subset, as time grows with the number of threes; ``unique`` and ``below_k`` are always of all.
    """

    columns: tuple[Hashable, ...] = ()
    levels: tuple[Hashable, ...] = ()
    judged: tuple[Hashable, ...] = ()
    incomparable: tuple[Hashable, ...] = ()
    known: tuple[Hashable, ...] = ()
    rows: int = 0
    k: int = 2
    unique: int = 0
    below_k: int = 0
    subset: tuple[Hashable, ...] = ()
    subset_unique: int = 0
    subset_below_k: int = 0

    @property
    def telling(self) -> tuple[Hashable, ...]:
        """The columns that are to be named: all, unless one explains everything, or they are many."""
        return self.subset if self._by_one or len(self.known) > _MOST_NAMED else self.known

    def is_judged(self, label: Hashable) -> bool:
        """Tell whether the caller has judged the columns of a label."""
        return any(same_label(label, each) for each in self.judged)

    def sentences(self, rows: int | None = None) -> Iterator[str]:
        """Say in words what was found, if there is something to be said.

        Parameters
        ----------
        rows : int, optional
            Of how many rows those that were counted are the first. By default they are all.
        """
        first = rows is not None and rows > self.rows
        counted = f"the first {self.rows:,} rows" if first else f"{self.rows:,} rows"
        if self._by_one:
            yield self._found(self.subset_unique, self.subset_below_k, self.subset, counted)
        elif self.below_k:
            yield self._found(self.unique, self.below_k, self.known, counted)
            if self.subset != self.known:
                alone = f"{self._share(self.subset_unique)} alone, and " if self.subset_unique else ""
                few = f"{self._share(self.subset_below_k)} among fewer than {self.k}"
                yield f"Who knows only {_named(self.subset)} finds {alone}{few}"
        if self.below_k and first:
            yield f"Of all {rows:,} rows they may be fewer"
        if self.incomparable:
            yield f"The values of {_named(self.incomparable)} cannot be compared, and are not counted"

    @property
    def _by_one(self) -> bool:
        """Whether one column alone has nearly all rows that are unique or below k."""
        explained = is_nearly_all(self.subset_unique, self.unique) and is_nearly_all(
            self.subset_below_k, self.below_k
        )
        return len(self.subset) == 1 and explained

    def _found(self, unique: int, below_k: int, known: Sequence[Hashable], counted: str) -> str:
        what = _named(known) if len(known) <= _MOST_NAMED else f"values in {len(known)} columns"
        what += f", which {'passes' if len(known) == 1 else 'pass'} through unchanged"
        if not unique:
            few = f"{below_k:,} of {counted} ({percent(below_k / self.rows)})"
            return f"For {few} fewer than {self.k} have the same {what}"
        alone = f"{unique:,} of {counted} ({percent(unique / self.rows)}) are the only ones with their {what}"
        few = f"; for {self._share(below_k)} fewer than {self.k} have the same"
        return alone if below_k == unique else alone + few

    def _share(self, count: int) -> str:
        return f"{count:,} ({percent(count / self.rows)})"


def passing(
    frame: pd.DataFrame,
    recoded: Collection[int],
    guarantee: Guarantee,
    judged: Sequence[Hashable] = (),
    *,
    private: Collection[int] = (),
    rows: int | None = None,
) -> Passing:
    """Count what the columns tell that are released as they are, and warn if they may identify.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original, or its first rows.
    recoded : collection of int
        Positions of the columns that are not.
    guarantee : Guarantee
        What the release has; its k says how few rows are too few.
    judged : sequence of hashable
        Columns that the caller has judged: what `judged_columns` made of ``keep=``.
    private : collection of int
        Positions of columns that pass, and that the guarantee speaks of: they are not counted.
    rows : int, optional
        Of how many rows these are the first. By default they are all.

    Warns
    -----
    IdentifierWarning
        Once, if there are at least 20 rows, and one shares its values of all that nobody has judged, columns
        and levels of the index with a name, with fewer than k; or if such values cannot be compared.
    """
    known, incomparable = [], []
    settled = {label_key(label) for label in judged}
    for each in _passing_columns(frame, recoded):
        if label_key(each.label) not in settled and each.position not in private:
            numbers = value_numbers(each.values)
            known += [] if numbers is None else [(each, numbers)]
            incomparable += [each] if numbers is None else []
    k = getattr(guarantee, "k", None) or 2
    whole = _count([numbers for _, numbers in known], k)
    least = _explaining([numbers for _, numbers in known], whole.below_k, k)
    found = Passing(
        columns=tuple(label for place, label in enumerate(frame.columns) if place not in recoded),
        levels=tuple(name for name in frame.index.names if name is not None),
        judged=tuple(judged),
        incomparable=tuple(each.label for each in incomparable),
        known=tuple(each.label for each, _ in known),
        rows=len(frame),
        k=k,
        unique=whole.unique,
        below_k=whole.below_k,
        subset=tuple(known[place][0].label for place in least.places),
        subset_unique=least.unique,
        subset_below_k=least.below_k,
    )
    if len(frame) >= FEW and (found.below_k or incomparable):
        warn(_warning(found, guarantee, frame, rows))
    return found


# --- Columns that pass, and those of them that were judged


class _Column(NamedTuple):
    """A column that passes through; at position -1 a level of the index."""

    label: Hashable
    position: int
    values: pd.Series[Any]


def _passing_columns(frame: pd.DataFrame, recoded: Collection[int]) -> Iterator[_Column]:
    """The columns that are not recoded, and the levels of the index that have a name."""
    for position, label in enumerate(frame.columns):
        if position not in recoded:
            yield _Column(label, position, frame.iloc[:, position])
    for level, name in enumerate(frame.index.names):
        if name is not None:
            yield _Column(name, -1, frame.index.get_level_values(level).to_series())


def judged_columns(frame: pd.DataFrame, recoded: Collection[int], keep: Any) -> tuple[Hashable, ...]:
    """Check ``keep=`` of a frame: the labels of columns, and of levels of the index, that pass through.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    recoded : collection of int
        Positions of the columns that do not.
    keep : iterable of hashable
        What the caller says.

    Raises
    ------
    ParameterError
        If it is not a list of columns, or names one twice.
    ColumnError
        If one does not exist, is recoded, or has values that cannot be compared.
    """
    names = [name for name in frame.index.names if name is not None]
    others = [label for position, label in enumerate(frame.columns) if position not in recoded]
    judged = judged_labels([*others, *names], [frame.columns[position] for position in recoded], keep)
    settled = {label_key(label) for label in judged}
    for each in _passing_columns(frame, recoded):
        if label_key(each.label) in settled and value_numbers(each.values) is None:
            problem, hint = "the values of a column cannot be compared", "make them text, or drop the column"
            raise ColumnError(problem, where="keep", got=each.label, hint=hint)
    return judged


def judged_labels(others: Sequence[Hashable], recoded: Sequence[Hashable], keep: Any) -> tuple[Hashable, ...]:
    """Check ``keep=`` by the labels of what passes through, and of what is recoded: as `judged_columns`."""
    labels = column_labels(keep, "keep")
    hidden, visible = ({label_key(each) for each in some} for some in (recoded, others))
    for label in labels:
        if label_key(label) in hidden:
            remedy = "name columns that are released as they are"
            raise ColumnError(f"column {label!r} is recoded", where="keep", hint=remedy)
        if label_key(label) not in visible:
            texts = [each for each in others if isinstance(each, str)]
            nearest = get_close_matches(label, texts, 1) if isinstance(label, str) else []
            hint = f"did you mean {nearest[0]!r}?" if nearest else None
            raise ColumnError(
                f"column {label!r} does not exist", where="keep", got=f"columns {[*others]}", hint=hint
            )
    return labels


def recorded(judged: Sequence[Hashable]) -> dict[str, list[Hashable]]:
    """What is recorded of ``keep=`` among the parameters: nothing if nothing was said."""
    return {"keep": list(judged)} if judged else {}


# --- Counting


class _Known(NamedTuple):
    """What is known, by its places, how many rows are unique in it, and how many are below k."""

    places: tuple[int, ...]
    unique: int
    below_k: int


def _count(columns: Sequence[Numbers], k: int, places: tuple[int, ...] | None = None) -> _Known:
    """Count the rows that share their combination of some columns, by default of all, with fewer than k."""
    places = tuple(range(len(columns))) if places is None else places
    if not places:
        return _Known((), 0, 0)
    sizes = _sizes([columns[place] for place in places])
    return _Known(places, int(np.count_nonzero(sizes == 1)), int(sizes[sizes < k].sum()))


def _sizes(columns: Sequence[Numbers]) -> NDArray[np.int64]:
    """How many rows have each combination of numbers; 0 where it does not occur."""
    numbers, cells = columns[0], _n_values(columns[0])
    for each in columns[1:]:
        if cells * _n_values(each) >= 2**63:  # numbered anew there are no more than rows
            numbers = np.unique(numbers, return_inverse=True)[1]
            cells = _n_values(numbers)
        numbers = numbers * _n_values(each) + each
        cells *= _n_values(each)
    if cells <= len(numbers):
        return np.bincount(numbers)
    return np.unique(numbers, return_counts=True)[1]


def _n_values(numbers: Numbers) -> int:
    return int(numbers.max(initial=0)) + 1


def _explaining(columns: Sequence[Numbers], below_k: int, k: int) -> _Known:
    """The one to three columns that explain most of the rows below k."""
    if not below_k:
        return _Known((), 0, 0)
    values = [_n_values(each) for each in columns]
    tried = sorted(range(len(columns)), key=lambda place: -values[place])[:_MOST_COMBINED]
    best: list[_Known] = []
    for number in range(1, min(_MOST_KNOWN, len(tried)) + 1):
        best.append(_best(columns, values, combinations(sorted(tried), number), below_k, k))
        if is_nearly_all(best[-1].below_k, below_k):
            return best[-1]
    return next(each for each in best if is_nearly_all(each.below_k, best[-1].below_k))


def _best(
    columns: Sequence[Numbers],
    values: Sequence[int],
    subsets: Iterator[tuple[int, ...]],
    below_k: int,
    k: int,
) -> _Known:
    """The first of some subsets that explains nearly all rows below k, or the one that explains most."""
    best = _Known((), 0, -1)
    by_values = ((prod(values[place] for place in places), places) for places in subsets)
    for cells, places in sorted(by_values, key=lambda each: -each[0]):
        if cells * (k - 1) <= best.below_k:  # as many rows at most are below k in so many combinations
            return best
        best = max(best, _count(columns, k, places), key=lambda each: each.below_k)
        if is_nearly_all(best.below_k, below_k):
            return best
    return best


# --- Saying it


def _warning(
    found: Passing, guarantee: Guarantee, frame: pd.DataFrame, rows: int | None
) -> IdentifierWarning:
    lists = [label for place, label in enumerate(frame.columns) if is_list_column(frame.iloc[:, place])]
    quasi = [label for label in found.telling if label in found.columns and label not in lists]
    protect = f"use KKm(k={found.k}, m={getattr(guarantee, 'm', 2)}, quasi={quasi}), " if quasi else ""
    if quasi and hasattr(guarantee, "quasi"):
        protect = f"add {quasi} to quasi=, "
    keep = [*found.telling, *found.incomparable]
    hint = f"{protect}drop what is not needed, or say keep={keep} of what may be published as it is"
    return IdentifierWarning(". ".join(found.sentences(rows)), hint=hint)


def _named(labels: Sequence[Hashable]) -> str:
    """Labels in a sentence; as Python writes them where that is not plain."""
    plain = [
        label if isinstance(label, str) and label.isprintable() and label.strip() else repr(label)
        for label in labels
    ]
    return " and ".join([*filter(None, [", ".join(plain[:-1])]), *plain[-1:]])
