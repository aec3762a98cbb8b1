"""Unmodified columns: columns published as they are, and the rows that they identify."""

# They are counted alone, with the released quasi-identifiers, and with released items, as `KKm` counts.

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import chain, combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, IdentifierWarning, InfeasibleError, did_you_mean, warn
from pdanon.guarantees import PublicK
from pdanon.guarantees.kkm import Crowds
from pdanon.guarantees.parameters import check_share
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets, Numbers, read_visible
from pdanon.itemsets.columns import (
    column_labels,
    counts_rows,
    is_list_column,
    label_key,
    label_positions,
    level_label,
)
from pdanon.itemsets.equality import pair_numbers, value_numbers
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.counts import FEW, is_nearly_all, percent
from pdanon.recoding.risk import Visible, hidden_items, is_hidden_item, known_items

_MOST_KNOWN = 3  # columns of the subset that explains the others
_MOST_COMBINED = 8  # columns searched for the subset
_MOST_NAMED = 8  # columns listed in a message
_MOST_VISITED = 10**8  # itemsets of an exact count
_MOST_STEPS = 2 * 10**8  # of a count of a sample; about 2 ns each


@dataclass(frozen=True, slots=True)
class UnmodifiedColumns:
    """The unmodified columns, and the number of rows identified by all of them, or by few.

    Parameters
    ----------
    columns : tuple of hashable
        Labels of the columns.
    levels : tuple of hashable
        Names of the levels of the index, as of columns. A level without a name is called as by pandas'
        ``reset_index``: ``"index"``, of several levels ``"level_0"`` and so on. An index that only counts the
        rows has none.
    judged : tuple of hashable
        Columns that the caller has reviewed, by ``keep=``; only ``with_judged`` counts them.
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
    quasi : tuple of hashable
        The released quasi-identifiers that are counted in addition; none if there is no ``known`` column.
    quasi_unique, quasi_below_k : int
        ``unique`` and ``below_k`` of all ``known`` columns and the released quasi-identifiers.
    lists : tuple of hashable
        The released list columns, in the same way.
    m : int or None
        Maximum number of released items that are known in addition; None for all items of a row.
    items_counted : int
        Number of rows that were counted with released items: ``rows``, or a random sample of them. 0 if there
        is no ``known`` column, or no released list column.
    items_below_k : int
        Number of them that fewer than k rows match in all ``known`` columns, the released quasi-identifiers
        and some set of at most m released items.

    with_judged : UnmodifiedColumns or None
        The same counts of all unmodified columns, if some are ``judged``.

    Notes
    -----
    Values are compared as in :class:`pdanon.KAnonymity`: numbers and dates as they are published, lists with
    their order. The counts are exact. Of more than 8 columns, the 8 with the most values are searched for the
    subset, as the time grows with the number of triples. ``unique`` and ``below_k`` count all columns.

    ``items_below_k`` is ``rows_at_risk`` of :class:`pdanon.KKm` with all these columns as quasi-identifiers,
    without the items that the guarantee does not let an attacker know. ``m`` is that of the guarantee. It is
    2 if the guarantee has none, and None if the guarantee is about whole rows. For more than 2 items, a
    sample is counted if an exact count could visit more than 100 million itemsets.
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
    quasi: tuple[Hashable, ...] = ()
    quasi_unique: int = 0
    quasi_below_k: int = 0
    lists: tuple[Hashable, ...] = ()
    m: int | None = None
    items_counted: int = 0
    items_below_k: int = 0
    with_judged: UnmodifiedColumns | None = None

    @property
    def published(self) -> UnmodifiedColumns:
        """The counts of all unmodified columns, reviewed or not."""
        return self.with_judged or self

    @property
    def telling(self) -> tuple[Hashable, ...]:
        """The columns to list in a hint: the subset if it is one column, or if all are too many."""
        alone = self._by_one and is_nearly_all(self.below_k, self.most_below_k)
        if self.subset and (alone or len(self.known) > _MOST_NAMED):
            return self.subset
        return self.known[:_MOST_NAMED]

    def sentences(self, rows: int | None = None) -> Iterator[str]:
        """Describe in sentences what was found, if anything."""
        # ``rows`` is the number of rows of the whole table, if only the first ones were counted.
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
        yield from self._with_released(counted)
        if first and self.most_below_k:
            yield f"In all {rows:,} rows, the shares may be lower"
        if self.incomparable:
            yield f"The values of {_join_labels(self.incomparable)} cannot be compared, and are not counted"

    def summary(self, rows: int | None) -> Iterator[tuple[str, list[float]]]:
        """Return the line of a result about all unmodified columns, if there is one, and the shares in it."""
        # ``rows`` is the number of rows of the whole table, as in `sentences`.
        if self.with_judged is not None:
            for text, shares in self.with_judged.summary(rows):
                yield f"{text} ({self._columns(self.judged)} as listed in keep)", shares
            return
        parts, shares = [], []
        what, few = self._columns([*self.known, *self.quasi]), f"fewer than {self.k} rows match for "
        of = f"the first {self.rows:,} rows" if rows is not None and rows > self.rows else "the rows"
        if self.quasi_below_k:
            shares.append(self.quasi_below_k / self.rows)
            parts.append(f"with {what}, {few}{percent(shares[0])} of {of}")
        if self.items_below_k:
            shares.append(self.items_below_k / self.items_counted)
            of = of if self._counts_all else f"{self.items_counted:,} sampled rows"
            known = f"with {self._items} for " if parts else f"with {what} and {self._items}, {few}"
            parts.append(f"{known}{percent(shares[-1])}{'' if parts and self._counts_all else f' of {of}'}")
        if parts:
            yield "; ".join(parts), shares

    @property
    def most_below_k(self) -> int:
        """Number of rows below k with all that was counted; of a sample, an estimate."""
        return max(self.quasi_below_k, self.items_below_k * self.rows // max(self.items_counted, 1))

    @property
    def _counts_all(self) -> bool:
        return self.items_counted == self.rows

    def _with_released(self, counted: str) -> Iterator[str]:
        """Describe what the columns identify together with released ones, if that is more."""
        what, parts, few = self._columns(self.known), [], f"fewer than {self.k} rows match for "
        if not self.below_k:
            what += f", which {_are(self.known)} published unmodified,"
        if self.quasi:
            what += f" and the released {_join_labels(self.quasi)}"
        if self.quasi_below_k > self.below_k:
            share = percent(self.quasi_below_k / self.rows)
            parts.append(f"With {what}, {few}{self.quasi_below_k:,} of {counted} ({share})")
        if self.items_below_k > (self.quasi_below_k if self._counts_all else 0):
            of = counted if self._counts_all else f"{self.items_counted:,} sampled rows"
            share = percent(self.items_below_k / self.items_counted)
            items = f"{self._items} for " if parts else f"{what} and {self._items}, {few}"
            parts.append(f"{'with' if parts else 'With'} {items}{self.items_below_k:,} of {of} ({share})")
        if parts:
            yield "; ".join(parts)

    @property
    def _items(self) -> str:
        if self.m is None:
            return "all released items of a row"
        return f"{self.m:,} released item{'' if self.m == 1 else 's'}"

    @staticmethod
    def _columns(labels: Sequence[Hashable]) -> str:
        return _join_labels(labels) if len(labels) <= _MOST_NAMED else f"{len(labels)} columns"

    @property
    def _by_one(self) -> bool:
        """Whether one column alone explains almost all rows that are unique or below k."""
        most_unique = is_nearly_all(self.subset_unique, self.unique)
        return len(self.subset) == 1 and most_unique and is_nearly_all(self.subset_below_k, self.below_k)

    def _sentence(self, unique: int, below_k: int, known: Sequence[Hashable], counted: str) -> str:
        what = f"{self._columns(known)}, which {_are(known)} published unmodified"
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
    lists: Sequence[int],
    guarantee: Guarantee,
    judged: Sequence[Hashable] = (),
    quasi: Sequence[int] = (),
    private: Collection[int] = (),
) -> UnmodifiedColumns:
    """Count the rows that unmodified columns without the judged ones identify with all that is published."""
    # Columns are given by position. ``judged`` are the labels that `judged_columns` returns. ``private``
    # columns are covered by the guarantee, and not counted.
    with_judged = count_unmodified(frame, lists, guarantee, (), quasi, private) if judged else None
    known, incomparable = [], []
    recoded, settled = {*lists, *quasi}, {label_key(label) for label in judged}
    for each in _unmodified_columns(frame, recoded):
        if label_key(each.label) not in settled and each.position not in private:
            numbers = value_numbers(each.values)
            known += [] if numbers is None else [(each, numbers)]
            incomparable += [each] if numbers is None else []
    k = getattr(guarantee, "k", None) or 2
    if not known:  # then the guarantee covers all that is counted
        lists = quasi = ()
    columns = [numbers for _, numbers in known]
    whole = _count(columns, k)
    least = _find_subset(columns, whole.below_k, k)
    released = (value_numbers(frame.iloc[:, place]) for place in quasi)
    columns += [numbers for numbers in released if numbers is not None]
    together = _count(columns, k)
    m = known_items(guarantee) if lists else None
    m = None if m is None else int(m)  # a default is a number like any other here
    itemsets = [read_visible(frame.iloc[:, place]) for place in lists]
    items_counted, items_below_k = _count_with_items(itemsets, columns, guarantee, k, m)
    return UnmodifiedColumns(
        columns=tuple(label for place, label in enumerate(frame.columns) if place not in recoded),
        levels=tuple(label for _, label in index_levels(frame)),
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
        quasi=tuple(frame.columns[place] for place in quasi),
        quasi_unique=together.unique,
        quasi_below_k=together.below_k,
        lists=tuple(frame.columns[place] for place in lists),
        m=m,
        items_counted=items_counted,
        items_below_k=items_below_k,
        with_judged=with_judged,
    )


def warn_if_identified(
    found: UnmodifiedColumns, guarantee: Guarantee, frame: pd.DataFrame, rows: int | None = None
) -> None:
    """Warn of rows that the unmodified columns of a released frame identify."""
    # ``rows`` is the number of rows of the whole table, if the frame holds its first ones.
    #
    # The warning is given once, if at least 20 rows are counted, and fewer than k match a row in all columns
    # and index levels that nobody has reviewed, the released quasi-identifiers and some released items. It is
    # also given if values cannot be compared.
    if found.rows >= FEW and (found.most_below_k or found.incomparable):
        warn(_warning(found, guarantee, frame, rows))


# --- Unmodified columns, and those that were reviewed


class _Column(NamedTuple):
    """An unmodified column; at position -1 a level of the index."""

    label: Hashable
    position: int
    values: pd.Series[Any]


def _unmodified_columns(frame: pd.DataFrame, recoded: Collection[int]) -> Iterator[_Column]:
    """Return the columns that are not recoded, and the levels of the index."""
    for position, label in enumerate(frame.columns):
        if position not in recoded:
            yield _Column(label, position, frame.iloc[:, position])
    for level, name in index_levels(frame):
        yield _Column(name, -1, frame.index.get_level_values(level).to_series())


def index_levels(frame: pd.DataFrame) -> Iterator[tuple[int, Hashable]]:
    """Return the levels of an index that tell more than the order of rows: number, and label."""
    for level in range(frame.index.nlevels):
        if not counts_rows(frame.index.get_level_values(level)):
            yield level, level_label(frame, level)


def judged_columns(frame: pd.DataFrame, recoded: Collection[int], keep: Any) -> tuple[Hashable, ...]:
    """Check reviewed columns of a frame: unmodified columns and index levels with comparable values."""
    names = [label for _, label in index_levels(frame)]
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
    """Check reviewed columns, given the labels of unmodified and of recoded ones; see `judged_columns`."""
    labels = column_labels(keep, "keep")
    hidden, visible = ({label_key(each) for each in some} for some in (recoded, others))
    for label in labels:
        if label_key(label) in hidden:
            remedy = "list only columns that are not recoded"
            raise ColumnError(f"column {label!r} is recoded", where="keep", hint=remedy)
        if label_key(label) not in visible:
            texts = [each for each in others if isinstance(each, str)]
            what, got = f"column {label!r} does not exist", f"columns {[*others]}"
            raise ColumnError(what, where="keep", got=got, hint=did_you_mean(label, texts))
    return labels


class RecodedColumns(NamedTuple):
    """Labels of the columns of a table outside memory that a release recodes."""

    quasi: Sequence[Any] = ()
    lists: Sequence[Any] = ()
    private: Sequence[Any] = ()

    @property
    def labels(self) -> list[Hashable]:
        """All of them."""
        return [*chain(*self)]

    def check_keep(self, columns: Iterable[Hashable], keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed, given all labels."""
        return judged_labels([label for label in columns if label not in self.labels], self.labels, keep)

    def count_others(
        self, first: pd.DataFrame, rows: int, guarantee: Guarantee, judged: Sequence[Hashable]
    ) -> UnmodifiedColumns:
        """Count the rows that other columns identify among the first ones of a release, and warn."""
        if not self.labels:  # of lines, which have columns of persons and items only
            return UnmodifiedColumns()
        quasi, lists, private = (label_positions(first, labels) for labels in self)
        judged = judged_columns(first, [*quasi, *lists, *private], judged)  # their values are known now
        found = count_unmodified(first, lists, guarantee, judged, quasi=quasi, private=private)
        warn_if_identified(found, guarantee, first, rows)
        return found


def keep_parameter(judged: Sequence[Hashable]) -> dict[str, list[Hashable]]:
    """Return the reviewed columns as a recorded parameter, if there are any."""
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


def _sizes(columns: Sequence[Numbers]) -> Numbers:
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


# --- Refusal


def check_max_risk(max_risk: Any) -> Fraction | None:
    """Check an upper bound on the share of rows that unmodified columns may identify; None for no bound."""
    return None if max_risk is None else check_share(max_risk, "max_risk")


def refuse_risk(found: UnmodifiedColumns, most: Fraction | None) -> None:
    """Refuse a release in which fewer than k rows match for a larger share of rows than allowed."""
    # Columns count whether they are reviewed or not. Values that cannot be compared do not.
    found = found.published
    if most is not None and found.most_below_k > most * found.rows:
        raise InfeasibleError(
            "the unmodified columns identify more rows than max_risk allows",
            where="max_risk",
            got=". ".join(found.sentences()),
            hint=f"leave {[*found.telling]} out of the table",
        )


# --- Counting with released items


def _count_with_items(
    lists: Sequence[Itemsets], columns: Sequence[Numbers], guarantee: Guarantee, k: int, m: int | None
) -> tuple[int, int]:
    """Count the rows that fewer than k match in some columns and up to m items."""
    # Return the number of counted rows, all or a sample, and the number below k.
    if not lists:
        return 0, 0
    crowds = Crowds.of(lists, reduce(pair_numbers, columns))
    is_hidden = is_hidden_item(crowds.itemsets, hidden_items(guarantee))
    if isinstance(guarantee, PublicK):
        is_hidden = ~is_hidden_item(crowds.itemsets, guarantee.public)
    seen = Visible.of_crowds(crowds, is_hidden)
    index = crowds.index.keep_items(~seen.is_hidden & (m != 0))
    m = None if m is None else min(m, max(index.longest, 1))
    if m is None or m <= 2 or index.search_bound(m) <= _MOST_VISITED:
        below_k = crowds.at_risk(crowds.small(k), index.at_risk(k, m))
        return len(below_k), int(np.count_nonzero(below_k))
    sizes = seen.smallest(random_generator(None).permutation(seen.n_rows), k, 1, m, _MOST_STEPS)
    return len(sizes), int(np.count_nonzero(sizes[:, 0] <= m))


# --- Messages


def _are(labels: Sequence[Hashable]) -> str:
    return "is" if len(labels) == 1 else "are"


def _warning(
    found: UnmodifiedColumns, guarantee: Guarantee, frame: pd.DataFrame, rows: int | None
) -> IdentifierWarning:
    lists = [label for place, label in enumerate(frame.columns) if is_list_column(frame.iloc[:, place])]
    quasi = [label for label in found.telling if label in found.columns and label not in lists]
    m = found.m if found.lists else getattr(guarantee, "m", 2)
    protect = f"use KKm(k={found.k}, m={m}, quasi={quasi}), " if quasi else ""
    if quasi and hasattr(guarantee, "quasi"):
        protect = f"add {quasi} to quasi=, "
    names = [*found.telling, *found.incomparable]
    call = f"frame.txanon.keep({', '.join(map(repr, names))})"
    keep = f"call {call}" if rows is None else f"pass keep={names}"  # outside memory
    drop = "drop columns that are not needed"
    if any(label in found.levels for label in found.telling):
        drop += ", and an index by frame.reset_index(drop=True)"
    review = f"{drop}, or {keep} if they may be published as they are"
    # A number of the person protects nobody.
    if len(quasi) == 1 and [*found.subset] == quasi and found.subset_unique == found.rows:
        protect, review = f"drop it, such as frame.drop(columns={quasi}), ", f"{protect}or {keep}"
    return IdentifierWarning(". ".join(found.sentences(rows)), hint=protect + review)


def _join_labels(labels: Sequence[Hashable]) -> str:
    """Join labels in a sentence; labels that are not plain text as their repr."""
    plain = [
        label if isinstance(label, str) and label.isprintable() and label.strip() else repr(label)
        for label in labels
    ]
    return " and ".join([*filter(None, [", ".join(plain[:-1])]), *plain[-1:]])
