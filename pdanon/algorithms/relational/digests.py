"""What says what covers each of many groups of rows: few of its values, kept current as groups grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.itemsets.codes import Codes

__all__ = ["Digests", "numbered"]


class Digests:
    """The few values of each group of rows that say what covers it, column by column.

    Parameters
    ----------
    table : QuasiTable
        The quasi-identifiers.
    groups : sequence of ndarray of int64
        The rows of each group; each has one.

    Notes
    -----
    Memory: two values for each group and column, or all distinct ones where sets are published.
    """

    def __init__(self, table: QuasiTable, groups: Sequence[Numbers]) -> None:
        self._attributes = table.attributes
        self._lines = [
            _padded([each.digest(each.codes[rows]) for rows in groups]) for each in table.attributes
        ]

    @property
    def losses(self) -> Numbers:
        """What each row of a group loses, summed over the columns."""
        return self._lost(self._lines)

    def losses_with(self, values: Sequence[Codes]) -> Numbers:
        """The same, if more values, column by column, joined each group."""
        return self._lost(
            np.hstack((lines, np.broadcast_to(more, (len(lines), len(more)))))
            for lines, more in zip(self._lines, values, strict=True)
        )

    def of(self, group: int) -> list[Codes]:
        """Values, column by column, that are covered by the same as a group."""
        return [lines[group] for lines in self._lines]

    def add(self, group: int, values: Sequence[Codes]) -> None:
        """Let more values, column by column, join a group."""
        for place, (attribute, lines) in enumerate(zip(self._attributes, self._lines, strict=True)):
            digest = attribute.digest(np.concatenate((lines[group], values[place])))
            if len(digest) > lines.shape[1]:
                lines = np.pad(lines, ((0, 0), (0, len(digest) - lines.shape[1])), "edge")
            lines[group] = np.pad(digest, (0, lines.shape[1] - len(digest)), "edge")
            self._lines[place] = lines

    def remove(self, group: int) -> None:
        """Forget a group; those after it move up."""
        self._lines = [np.delete(lines, group, axis=0) for lines in self._lines]

    def _lost(self, digests: Iterable[Codes]) -> Numbers:
        pairs = zip(self._attributes, digests, strict=True)
        losses: Numbers = np.sum([attribute.lost(lines) for attribute, lines in pairs], axis=0)
        return losses


def _padded(digests: Sequence[Codes]) -> Codes:
    """Values as lines of one length, filled up with their last."""
    width = max(map(len, digests), default=1)
    lines = [np.pad(each, (0, width - len(each)), "edge") for each in digests]
    return np.array(lines, np.int32).reshape(len(lines), width)


def numbered(groups: Sequence[Numbers], n_rows: int) -> Numbers:
    """The group of each row; 0 for a row of none."""
    of_row = np.zeros(n_rows, np.int64)
    for number, rows in enumerate(groups):
        of_row[rows] = number
    return of_row
