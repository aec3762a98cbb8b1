"""Forms: how the table of a file is laid out, and the frame with a row a person that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pdanon.errors import ColumnError, ParameterError, did_you_mean
from pdanon.io.csv import read_joined_text
from pdanon.io.files import check_encoding
from pdanon.io.lines import delimiter_of, is_parquet, is_text, read_lines
from pdanon.io.long import from_long, to_long
from pdanon.io.onehot import describe_numbers, lists_and_numbers
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.validation import check_known, is_uri

__all__ = ["Form", "Table"]

_CONFLICTS = ("refuse", "first")
_UTF8 = "utf-8"


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """What was read of a file, and in words what nobody has said of it."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """How the table of a file is laid out: lists, unless items have a line or a column each.

    Parameters
    ----------
    by : sequence of str
        Columns that say whose a line or a row is. They are not read into the frame, and rows of the same
        person are merged.
    item : str, optional
        Of a table with a line for each item, their column.
    conflicts : {"refuse", "first"}, optional
        What to do where the lines of a person have several values in a column that is kept.
    onehot : sequence of str, optional
        Of a table with a column for each item, these columns; none named: all but those of ``by``, and kept.
    prefix : str, optional
        Of such a table, what the names of these columns begin with, which is no part of the item.
    column : str, optional
        The list column: of joined text, needed; of a table with a column for each item, what to call it.
    separator : str, optional
        What stands between two items of joined text.
    tick : str, optional
        Of a table with a column for each item, what is in a box that is ticked, such as ``x``. By default
        what `from_onehot` knows.
    delimiter : str, optional
        What stands between two fields of CSV. By default what does most often.
    encoding : str, optional
        That of CSV. By default UTF-8.
    """

    by: Sequence[str] = ()
    item: str | None = None
    conflicts: str | None = None
    onehot: Sequence[str] | None = None
    prefix: str | None = None
    column: str | None = None
    separator: str | None = None
    tick: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def ticked(self) -> bool:
        """Whether there is a column for each item."""
        return self.onehot is not None or self.prefix is not None

    @property
    def raw(self) -> bool:
        """Whether there are no lists yet."""
        return self.item is not None or self.ticked

    @property
    def chosen(self) -> bool:
        """Whether only columns that are named are read, and no others."""
        return self.raw or bool(self.by)

    @property
    def lists(self) -> str | None:
        """What the list column is called, if that is known."""
        if self.item is not None:
            return self.item
        return self.column or ("items" if self.ticked else None)

    def check(self, path: Path | str, spelled: Callable[[str], str] = str) -> None:
        """Check that what is said of a file goes together.

        Parameters
        ----------
        path : Path, or str
            The file, or its URI.
        spelled : callable
            How a part of the form is spelled where it is said: ``by`` or ``--by``.
        """
        by, item, onehot, prefix = map(spelled, ("by", "item", "onehot", "prefix"))
        if self.item is not None and self.ticked:
            hint = f"{by} and {item} for lines, {onehot} or {prefix} for columns of 0 and 1"
            raise ParameterError("items have a line each or a column each, not both", hint=hint)
        if self.onehot and self.prefix is not None:
            hint = f"say {onehot} or {prefix}"
            raise ParameterError("columns of items are named or have a prefix, not both", hint=hint)
        lists = self.column is not None or not is_text(path)
        if (self.by and not self.raw and not lists) or (self.item is not None and not self.by):
            hint = f"such as {by} customer {item} product, for a table with a line for each item"
            raise ParameterError(f"{by} and {item} go together", hint=hint)
        if self.item is not None and self.column not in (None, self.item):
            hint = "the lists are called as the items: leave it out"
            raise ParameterError(f"{spelled('column')} is not used with {item}", hint=hint)
        if self.tick is not None and not self.ticked:
            hint = (
                f"which say which columns have boxes to tick; {spelled('tick')} says what is in a ticked one"
            )
            raise ParameterError(f"{spelled('tick')} needs {onehot} or {prefix}", hint=hint)
        if self.conflicts is not None:
            check_known(self.conflicts, _CONFLICTS, "way to treat conflicts", where=spelled("conflicts"))
            if not self.by:
                raise ParameterError(f"{spelled('conflicts')} needs {by}", hint="which says whose a line is")
        if is_uri(path) and not is_parquet(path):
            hint = "copy the file to this machine first"
            raise ParameterError("of URIs only those of Parquet files are read", got=str(path), hint=hint)
        for name in ("delimiter", "encoding"):
            if getattr(self, name) is not None and not is_text(path):
                raise ParameterError(f"{spelled(name)} is of CSV files", where=str(path))

    def read(self, path: Path | str, keep: Collection[str] = ()) -> Table:
        """Read a file, and make a row a person of it.

        Parameters
        ----------
        path : Path, or str
            The file, or the URI of a Parquet file. If it is CSV and has lists, ``column`` and ``separator``
            are needed.
        keep : collection of str
            Further columns of the frame. Of a table with lists, unless ``by`` is said, all columns are in it.
        """
        encoding = check_encoding(self.encoding or _UTF8)
        if not self.raw and is_text(path):
            return self._of_lists(*self._joined(Path(path), encoding), list(keep))
        text = [*self.by, *([] if self.item is None else [self.item])]
        lines = read_lines(path, text, self.delimiter, encoding)
        guessed = [lines.guessed] if lines.guessed else []
        if self.ticked:
            return Table(*self._of_columns(lines.frame, list(keep), guessed))
        if self.item is None:
            return self._of_lists(lines.frame, guessed, list(keep))
        by, conflicts = list(self.by), self.conflicts or "refuse"
        frame = from_long(lines.frame, by=by, item=self.item, keep=[*keep], conflicts=conflicts)
        return Table(frame, tuple(guessed))

    def _joined(self, path: Path, encoding: str) -> tuple[pd.DataFrame, list[str]]:
        """A CSV file with joined text, and what is to be said of it."""
        if self.column is None or self.separator is None:
            raise ParameterError("a CSV file needs a column and a separator", where=str(path))
        mark, guessed = delimiter_of(path, self.delimiter, encoding)
        options = {"separator": self.separator, "field_separator": mark, "encoding": encoding}
        frame = read_joined_text(path, self.column, text=self.by, **options)
        return frame, [guessed] if guessed else []

    def _of_lists(self, frame: pd.DataFrame, notes: list[str], keep: list[str]) -> Table:
        """A frame that has lists, of several rows a person if it is said whose they are."""
        if self.by:
            _check_there(frame, [*self.by, *keep])
            frame = self._merged(frame, str(frame.columns[find_column(frame, self.column)]), keep)
        return Table(frame, tuple(notes))

    def _of_columns(
        self, frame: pd.DataFrame, keep: list[str], notes: list[str]
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """A frame with a column for each item, and what is to be said of it."""
        name, by = str(self.lists), list(self.by)
        _check_there(frame, [*by, *keep])
        others = list(dict.fromkeys([*by, *keep]))
        ticks = frame.drop(columns=others)
        if twice := [label for label in others if label in (self.onehot or ())]:
            got = ", ".join(map(repr, twice))
            raise ParameterError("a column is an item, and says who or what a person is", got=got)
        columns = self.onehot or None
        lists, numbers = lists_and_numbers(ticks, columns, self.prefix, name, self.tick)
        if columns is None and self.prefix is None:
            notes = [*notes, *_taken(ticks)]
        elif numbers:
            notes = [*notes, describe_numbers(numbers)]
        return self._merged(pd.concat([frame[others], lists[name]], axis=1), name, keep), tuple(notes)

    def _merged(self, lists: pd.DataFrame, name: str, keep: list[str]) -> pd.DataFrame:
        """A frame with a row a person, if there are several rows of some, and no columns but these."""
        by = list(self.by)
        if by and (unknown := int(lists[by].isna().any(axis=1).sum())):
            raise ParameterError(
                "some rows say of no person that they are theirs",
                where=", ".join(map(repr, by)),
                got=f"{unknown:,} of {len(lists):,} rows in which a value is missing",
                hint="leave these rows out, or give each the number of its person",
            )
        if not by or not lists.duplicated(by).any():
            return lists[[*keep, name]]
        number = "_" * (1 + max(map(len, map(str, lists.columns))))  # which no column is called
        merged = to_long(lists, name, by=number)
        conflicts = self.conflicts or "refuse"
        return from_long(merged, by=by, item=name, keep=keep, conflicts=conflicts)


def _check_there(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for label in columns:
        if label not in frame.columns:
            hint = did_you_mean(label, map(str, frame.columns))
            raise ColumnError(f"column {label!r} does not exist", hint=hint)


def _taken(ticks: pd.DataFrame) -> Iterator[str]:
    """What was taken for columns of items, and which hold numbers that may be no counts."""
    yield f"{ticks.shape[1]} columns are taken for items"
    numbers = ticks.select_dtypes("number")
    counts = [str(label) for label in numbers if (numbers[label] > 1).any()]
    if counts:
        more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
        yield f"some of them hold counts above 1, are they items? {', '.join(counts[:5])}{more}"
