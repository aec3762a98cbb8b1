"""Forms: how the table of a file is laid out, and the frame with a row a person that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pdanon.errors import ColumnError, ParameterError, did_you_mean
from pdanon.io.csv import read_csv
from pdanon.io.encodings import check_encoding
from pdanon.io.lines import delimiter_of, is_text, read_lines
from pdanon.io.long import from_long, to_long
from pdanon.io.onehot import from_onehot
from pdanon.itemsets.values import check_known

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
        Columns that say whose a line or a row is. They are not read into the frame.
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
    def lists(self) -> str | None:
        """What the list column is called, if that is known."""
        if self.item is not None:
            return self.item
        return self.column or ("items" if self.ticked else None)

    def check(self, path: Path, spelled: Callable[[str], str] = str) -> None:
        """Check that what is said of a file goes together.

        Parameters
        ----------
        path : Path
            The file.
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
        if bool(self.by) != (self.item is not None) and not (self.by and self.ticked):
            hint = f"such as {by} customer {item} product, for a table with a line for each item"
            raise ParameterError(f"{by} and {item} go together", hint=hint)
        if self.item is not None and self.column not in (None, self.item):
            hint = "the lists are called as the items: leave it out"
            raise ParameterError(f"{spelled('column')} is not used with {item}", hint=hint)
        if self.conflicts is not None:
            check_known(self.conflicts, _CONFLICTS, "way to treat conflicts", where=spelled("conflicts"))
            if not self.by:
                raise ParameterError(f"{spelled('conflicts')} needs {by}", hint="which says whose a line is")
        for name in ("delimiter", "encoding"):
            if getattr(self, name) is not None and not is_text(path):
                raise ParameterError(f"{spelled(name)} is of CSV files", where=str(path))

    def read(self, path: Path, keep: Collection[str] = ()) -> Table:
        """Read a file, and make a row a person of it.

        Parameters
        ----------
        path : Path
            The file. If it is CSV and has lists, ``column`` and ``separator`` are needed.
        keep : collection of str
            Of a table without lists, further columns of the frame; of one with lists all columns are in it.
        """
        encoding = check_encoding(self.encoding or _UTF8)
        if not self.raw and is_text(path):
            return self._joined(path, encoding)
        text = [*self.by, *([] if self.item is None else [self.item])]
        lines = read_lines(path, text, self.delimiter, encoding)
        guessed = [lines.guessed] if lines.guessed else []
        if self.ticked:
            return Table(*self._of_columns(lines.frame, list(keep), guessed))
        if self.item is None:
            return Table(lines.frame, tuple(guessed))
        by, conflicts = list(self.by), self.conflicts or "refuse"
        frame = from_long(lines.frame, by=by, item=self.item, keep=[*keep], conflicts=conflicts)
        return Table(frame, tuple(guessed))

    def _joined(self, path: Path, encoding: str) -> Table:
        """A CSV file with joined text."""
        if self.column is None or self.separator is None:
            raise ParameterError("a CSV file needs a column and a separator", where=str(path))
        mark, guessed = delimiter_of(path, self.delimiter, encoding)
        options = {"separator": self.separator, "field_separator": mark, "encoding": encoding}
        return Table(read_csv(path, column=self.column, **options), (guessed,) if guessed else ())

    def _of_columns(
        self, frame: pd.DataFrame, keep: list[str], notes: list[str]
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """A frame with a column for each item, and what is to be said of it."""
        name, by = str(self.lists), list(self.by)
        for label in (*by, *keep):
            if label not in frame.columns:
                hint = did_you_mean(label, map(str, frame.columns))
                raise ColumnError(f"column {label!r} does not exist", hint=hint)
        others = list(dict.fromkeys([*by, *keep]))
        ticks = frame.drop(columns=others)
        if twice := [label for label in others if label in (self.onehot or ())]:
            got = ", ".join(map(repr, twice))
            raise ParameterError("a column is an item, and says who or what a person is", got=got)
        columns = self.onehot or None
        if columns is None and self.prefix is None:
            notes = [*notes, *_taken(ticks)]
        lists = from_onehot(ticks, columns=columns, prefix=self.prefix, name=name)
        lists = pd.concat([frame[others], lists[name]], axis=1)
        if not by or not lists.duplicated(by).any():
            return lists[[*keep, name]], tuple(notes)
        number = "_" * (1 + max(map(len, map(str, lists.columns))))  # which no column is called
        merged = to_long(lists, name, by=number)
        conflicts = self.conflicts or "refuse"
        return from_long(merged, by=by, item=name, keep=keep, conflicts=conflicts), tuple(notes)


def _taken(ticks: pd.DataFrame) -> Iterator[str]:
    """What was taken for columns of items, and which hold numbers that may be no counts."""
    yield f"{ticks.shape[1]} columns are taken for items"
    numbers = ticks.select_dtypes("number")
    counts = [str(label) for label in numbers if (numbers[label] > 1).any()]
    if counts:
        more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
        yield f"some of them hold counts above 1, are they items? {', '.join(counts[:5])}{more}"
