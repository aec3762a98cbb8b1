"""Unmodified columns: columns published as they are, and the number of rows that they identify together."""

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

_MOST_KNOWN = 3  # columns of the subset that explains the others
_MOST_COMBINED = 8  # columns searched for the subset
_MOST_NAMED = 8  # columns listed in a message


@dataclass(frozen=True, slots=True)
class UnmodifiedColumns:
    """The unmodified columns, and the number of rows identified by all of them, or by few.

    Parameters
    ----------
    columns : tuple of hashable
        Labels of the columns.
    levels : tuple of hashable
        Names of the levels of the index that have one.
    judged : tuple of hashable
        Columns that the caller has reviewed, by ``keep=``; they are not counted below.
    incomparable : tuple of hashable
        Further columns whose values cannot be compared, such as dicts; they are not counted either.
    known : tuple of hashable
        All remaining columns.
    rows : int
        Number of rows counted.
    k : int
        The k of the guarantee; 2 if it has none.
    unique : int
        Number of rows with a unique combination of values of all ``known`` columns.
    below_k : int
        Number of rows that share this combination with fewer than k rows, themselves included.
    subset : tuple of hashable
        One to three of the columns that explain most of ``below_k``: a single one if it has almost as many
        rows below k, and so on. Of equally good ones, those with the most values.
    subset_unique, subset_below_k : int
        ``unique`` and ``below_k`` of the subset.

    Notes
    -----
    Values are compared as in :class:`pdanon.KAnonymity`: numbers and dates as they are published, lists with
    their order. The counts are exact. Of more than 8 columns, the 8 with the most values are searched for the
    subset, as the time grows with the number of triples. ``unique`` and ``below_k`` count all columns.
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
        """The columns to list in a message: the subset if it is one column, or if all are too many."""
        return self.subset if self._by_one or len(self.known) > _MOST_NAMED else self.known

    def is_judged(self, label: Hashable) -> bool:
        """Return whether the caller has reviewed the columns of a label."""
        return any(same_label(label, each) for each in self.judged)

    def sentences(self, rows: int | None = None) -> Iterator[str]:
        """Describe in sentences what was found, if anything.

        Parameters
        ----------
        rows : int, optional
            Number of rows of the whole table, if only the first ones were counted. By default all were.
        """
        first = rows is not None and rows > self.rows
        counted = f"the first {self.rows:,} rows" if first else f"{self.rows:,} rows"
        if self._by_one:
            yield self._sentence(self.subset_unique, self.subset_below_k, self.subset, counted)
        elif self.below_k:
            yield self._sentence(self.unique, self.below_k, self.known, counted)
            if self.subset != self.known:
                alone = f"{self._share(self.subset_unique)} are unique, and " if self.subset_unique else ""
                few = f"fewer than {self.k} rows match for {self._share(self.subset_below_k)}"
                yield f"With {_join_labels(self.subset)} alone, {alone}{few}"
        if self.below_k and first:
            yield f"In all {rows:,} rows, the shares may be lower"
        if self.incomparable:
            yield f"The values of {_join_labels(self.incomparable)} cannot be compared, and are not counted"

    @property
    def _by_one(self) -> bool:
        """Whether one column alone explains almost all rows that are unique or below k."""
        most_unique = is_nearly_all(self.subset_unique, self.unique)
        return len(self.subset) == 1 and most_unique and is_nearly_all(self.subset_below_k, self.below_k)

    def _sentence(self, unique: int, below_k: int, known: Sequence[Hashable], counted: str) -> str:
        what = _join_labels(known) if len(known) <= _MOST_NAMED else f"{len(known)} columns"
        what += f", which {'is' if len(known) == 1 else 'are'} published unmodified"
        if not unique:
            few = f"{below_k:,} of {counted} ({percent(below_k / self.rows)})"
            return f"For {few}, fewer than {self.k} rows match in {what}"
        alone = f"{unique:,} of {counted} ({percent(unique / self.rows)}) are unique in {what}"
        few = f"; for {self._share(below_k)}, fewer than {self.k} rows match"
        return alone if below_k == unique else alone + few

    def _share(self, count: int) -> str:
        return f"{count:,} ({percent(count / self.rows)})"


def count_unmodified(
    frame: pd.DataFrame,
    recoded: Collection[int],
    guarantee: Guarantee,
    judged: Sequence[Hashable] = (),
    *,
    private: Collection[int] = (),
    rows: int | None = None,
) -> UnmodifiedColumns:
    """Count the rows that unmodified columns identify, and warn if there are any.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original, or its first rows.
    recoded : collection of int
        Positions of the recoded columns.
    guarantee : Guarantee
        Guarantee of the release, for its k.
    judged : sequence of hashable
        Columns that the caller has reviewed, as returned by `judged_columns`.
    private : collection of int
        Positions of columns that the guarantee covers: they are not counted.
    rows : int, optional
        Number of rows of the whole table, if the frame holds the first ones. By default it is the whole.

    Warns
    -----
    IdentifierWarning
        Once, if at least 20 rows are counted, and fewer than k match a row in all columns and named index
        levels that nobody has reviewed. Also if such values cannot be compared.
    """
    known, incomparable = [], []
    settled = {label_key(label) for label in judged}
    for each in _unmodified_columns(frame, recoded):
        if label_key(each.label) not in settled and each.position not in private:
            numbers = value_numbers(each.values)
            known += [] if numbers is None else [(each, numbers)]
            incomparable += [each] if numbers is None else []
    k = getattr(guarantee, "k", None) or 2
    whole = _count([numbers for _, numbers in known], k)
    least = _find_subset([numbers for _, numbers in known], whole.below_k, k)
    found = UnmodifiedColumns(
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


# --- Unmodified columns, and those that were reviewed


class _Column(NamedTuple):
    """An unmodified column; at position -1 a level of the index."""

    label: Hashable
    position: int
    values: pd.Series[Any]


def _unmodified_columns(frame: pd.DataFrame, recoded: Collection[int]) -> Iterator[_Column]:
    """Return the columns that are not recoded, and the named levels of the index."""
    for position, label in enumerate(frame.columns):
        if position not in recoded:
            yield _Column(label, position, frame.iloc[:, position])
    for level, name in enumerate(frame.index.names):
        if name is not None:
            yield _Column(name, -1, frame.index.get_level_values(level).to_series())


def judged_columns(frame: pd.DataFrame, recoded: Collection[int], keep: Any) -> tuple[Hashable, ...]:
    """Check ``keep=`` of a frame: labels of unmodified columns and index levels.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    recoded : collection of int
        Positions of the recoded columns.
    keep : iterable of hashable
        The argument of the caller.

    Raises
    ------
    ParameterError
        If it is not a list of columns, or lists one twice.
    ColumnError
        If one does not exist, is recoded, or has values that cannot be compared.
    """
    names = [name for name in frame.index.names if name is not None]
    others = [label for position, label in enumerate(frame.columns) if position not in recoded]
    judged = judged_labels([*others, *names], [frame.columns[position] for position in recoded], keep)
    settled = {label_key(label) for label in judged}
    for each in _unmodified_columns(frame, recoded) if settled else ():
        if label_key(each.label) in settled and value_numbers(each.values) is None:
            what, hint = (
                "the values of a column cannot be compared",
                "convert them to text, or drop the column",
            )
            raise ColumnError(what, where="keep", got=each.label, hint=hint)
    return judged


def judged_labels(others: Sequence[Hashable], recoded: Sequence[Hashable], keep: Any) -> tuple[Hashable, ...]:
    """Check ``keep=``, given the labels of unmodified and of recoded columns; see `judged_columns`."""
    labels = column_labels(keep, "keep")
    hidden, visible = ({label_key(each) for each in some} for some in (recoded, others))
    for label in labels:
        if label_key(label) in hidden:
            remedy = "list only columns that are not recoded"
            raise ColumnError(f"column {label!r} is recoded", where="keep", hint=remedy)
        if label_key(label) not in visible:
            texts = [each for each in others if isinstance(each, str)]
            nearest = get_close_matches(label, texts, 1) if isinstance(label, str) else []
            hint = f"did you mean {nearest[0]!r}?" if nearest else None
            what, got = f"column {label!r} does not exist", f"columns {[*others]}"
            raise ColumnError(what, where="keep", got=got, hint=hint)
    return labels


def keep_parameter(judged: Sequence[Hashable]) -> dict[str, list[Hashable]]:
    """Return ``keep=`` as a recorded parameter, if it was passed."""
    return {"keep": list(judged)} if judged else {}


# --- Counting


class _Known(NamedTuple):
    """Columns by their places, with the number of rows that are unique in them, and below k."""

    places: tuple[int, ...]
    unique: int
    below_k: int


def _count(columns: Sequence[Numbers], k: int, places: tuple[int, ...] | None = None) -> _Known:
    """Count the rows that fewer than k match in some columns, by default in all."""
    places = tuple(range(len(columns))) if places is None else places
    if not places:
        return _Known((), 0, 0)
    sizes = _sizes([columns[place] for place in places])
    return _Known(places, int(np.count_nonzero(sizes == 1)), int(sizes[sizes < k].sum()))


def _sizes(columns: Sequence[Numbers]) -> NDArray[np.int64]:
    """Count the rows of each combination of numbers; 0 where it does not occur."""
    numbers, cells = columns[0], _n_values(columns[0])
    for each in columns[1:]:
        if cells * _n_values(each) >= 2**63:  # renumbered, there are at most as many cells as rows
            numbers = np.unique(numbers, return_inverse=True)[1]
            cells = _n_values(numbers)
        numbers = numbers * _n_values(each) + each
        cells *= _n_values(each)
    if cells <= len(numbers):
        return np.bincount(numbers)
    return np.unique(numbers, return_counts=True)[1]


def _n_values(numbers: Numbers) -> int:
    return int(numbers.max(initial=0)) + 1


def _find_subset(columns: Sequence[Numbers], below_k: int, k: int) -> _Known:
    """Return the one to three columns that explain most of the rows below k."""
    if not below_k:
        return _Known((), 0, 0)
    values = [_n_values(each) for each in columns]
    tried = sorted(range(len(columns)), key=lambda place: -values[place])[:_MOST_COMBINED]
    best: list[_Known] = []
    for number in range(1, min(_MOST_KNOWN, len(tried)) + 1):
        best.append(_best_subset(columns, values, combinations(sorted(tried), number), below_k, k))
        if is_nearly_all(best[-1].below_k, below_k):
            return best[-1]
    return next(each for each in best if is_nearly_all(each.below_k, best[-1].below_k))


def _best_subset(
    columns: Sequence[Numbers],
    values: Sequence[int],
    subsets: Iterator[tuple[int, ...]],
    below_k: int,
    k: int,
) -> _Known:
    """Return the first subset that explains almost all rows below k, or the one that explains most."""
    best = _Known((), 0, -1)
    by_values = ((prod(values[place] for place in places), places) for places in subsets)
    # Most combinations first: they can explain most, and the bound below ends the search early.
    for cells, places in sorted(by_values, key=lambda each: -each[0]):
        if cells * (k - 1) <= best.below_k:  # upper bound on the rows below k in this many combinations
            return best
        best = max(best, _count(columns, k, places), key=lambda each: each.below_k)
        if is_nearly_all(best.below_k, below_k):
            return best
    return best


# --- Messages


def _warning(
    found: UnmodifiedColumns, guarantee: Guarantee, frame: pd.DataFrame, rows: int | None
) -> IdentifierWarning:
    lists = [label for place, label in enumerate(frame.columns) if is_list_column(frame.iloc[:, place])]
    quasi = [label for label in found.telling if label in found.columns and label not in lists]
    protect = f"use KKm(k={found.k}, m={getattr(guarantee, 'm', 2)}, quasi={quasi}), " if quasi else ""
    if quasi and hasattr(guarantee, "quasi"):
        protect = f"add {quasi} to quasi=, "
    keep = [*found.telling, *found.incomparable]
    review = f"drop columns that are not needed, or pass keep={keep} if they may be published as they are"
    if len(quasi) == 1 and found.subset_unique == found.rows:  # a number of the person protects nobody
        protect, review = f"drop it, such as frame.drop(columns={quasi}), ", f"{protect}or pass keep={keep}"
    return IdentifierWarning(". ".join(found.sentences(rows)), hint=protect + review)


def _join_labels(labels: Sequence[Hashable]) -> str:
    """Join labels in a sentence; labels that are not plain text as their repr."""
    plain = [
        label if isinstance(label, str) and label.isprintable() and label.strip() else repr(label)
        for label in labels
    ]
    return " and ".join([*filter(None, [", ".join(plain[:-1])]), *plain[-1:]])
