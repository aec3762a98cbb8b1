"""Releases of relational algorithms: suppressed rows, generalized columns, and the table of their classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Cells, cover_loss, digest_of
from pdanon.algorithms.relational.quasi import (
    Classes,
    Formation,
    QuasiTable,
    group_rows,
    split_groups,
)
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.guarantees.parameters import check_share, materialize
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.columns import added_label, quasi_names, release_copy, with_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import sums
from pdanon.itemsets.support import check_rows
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.decision import Decision, WrittenRows
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

# Negative gain for each suppressed row, number of the class, its suppressed rows, its remaining rows.
_Trim: TypeAlias = tuple[Fraction, int, Numbers, Numbers]


# --- Recodings that treat equal values equally: suppress the rows in classes of fewer than k


class Combinations(NamedTuple):
    """The distinct combinations of values, with the number of rows of each, and what is required of them."""

    table: QuasiTable
    k: int
    most: int  # upper bound on the suppressed rows

    @property
    def weights(self) -> Numbers:
        """Number of rows with each combination."""
        return self.table.weights

    def keys(self, cuts: Sequence[Numbers]) -> list[Numbers]:
        """Return the nodes of the combinations, column by column, given those of the values."""
        return [cut[codes] for cut, codes in zip(cuts, self.table.codes.T, strict=True)]

    def can_suppress(self, keys: Sequence[Numbers]) -> bool:
        """Return whether few enough rows are in classes of fewer than k, given some columns of `keys`."""
        sizes = sums(group_rows(keys, len(self.weights)), self.weights)
        return int(sizes[sizes < self.k].sum()) <= self.most

    def loss(self, keys: Sequence[Numbers]) -> int | None:
        """Return the loss of publishing nodes, or None if too many rows would have to be suppressed."""
        gone = _rows_to_suppress(keys, self.weights, self.k, self.most)
        if gone is None:
            return None
        pairs = zip(self.table.attributes, keys, strict=True)
        each = np.sum([attribute.taxonomy.penalties[key] for attribute, key in pairs], axis=0)
        whole = sum(attribute.whole for attribute in self.table.attributes)
        return int(self.weights[~gone] @ each[~gone]) + int(self.weights[gone].sum()) * whole

    def publish(self, cuts: Sequence[Numbers]) -> Classes | None:
        """Publish equal values equally and suppress small classes; None if these have too many rows."""
        gone = _rows_to_suppress(self.keys(cuts), self.weights, self.k, self.most)
        return None if gone is None else Classes.of_values(self.table, cuts, gone)


def by_value(choose: Callable[[Combinations], Classes]) -> Formation:
    """Form classes of the distinct combinations of values; nothing is random."""

    @wraps(choose)
    def form(table: QuasiTable, k: int, rng: np.random.Generator, most: int) -> Classes:
        groups, distinct = table.distinct()
        classes = choose(Combinations(distinct, k, most))
        return replace(classes, of_row=classes.of_row[groups], weights=table.weights)

    return form


def _rows_to_suppress(
    keys: Sequence[NDArray[np.integer]], weights: Numbers, k: int, most: int
) -> Mask | None:
    """Mark what is in classes of fewer than k, and in the smallest other class if k rows are not reached."""
    classes = group_rows(keys, len(weights))
    sizes = sums(classes, weights)
    gone = sizes < k
    if 0 < sizes[gone].sum() < k and not gone.all():
        gone[np.argmin(np.where(gone, np.iinfo(np.int64).max, sizes))] = True
    rows = sizes[gone].sum()
    return gone[classes] if rows == 0 or k <= rows <= most else None


# --- Recodings of groups of rows: suppress the rows that raise the loss of their group most


def trim_groups(table: QuasiTable, groups: Numbers, k: int, most: int) -> Classes:
    """Generalize groups of at least k rows, and suppress up to ``most`` rows that raise a loss."""
    # Largest gain for each suppressed row first (ties: the first group, the first column).
    members = enumerate(split_groups(groups) if most else ())
    waiting = [trim for number, rows in members for trim in _best_trim(table, number, rows, k)]
    heapify(waiting)
    trimmed, left = groups.copy(), most
    while waiting:
        _, number, out, rest = heappop(waiting)
        if len(out) <= left:
            trimmed[out] = -1
            left -= len(out)
            for trim in _best_trim(table, number, rest, k):
                heappush(waiting, trim)
    return Classes.of_members(table, trimmed if most - left >= k else groups)


def _best_trim(table: QuasiTable, number: int, rows: Numbers, k: int) -> list[_Trim]:
    """Return the removal with the largest gain for each suppressed row; none if no removal gains."""
    if len(rows) == k:
        return []
    codes = table.codes[rows]
    whole, before = sum(each.whole for each in table.attributes), _loss(table, codes) * len(rows)
    best: list[_Trim] = []
    for attribute, column in zip(table.attributes, codes.T, strict=True):
        for kept in _without_few(attribute, column):
            count = len(rows) - int(kept.sum())
            if len(rows) - count < k or before <= count * whole:
                continue
            gain = before - _loss(table, codes[kept]) * (len(rows) - count) - count * whole
            each = -Fraction(gain, count)  # negative: the heap returns the smallest first
            if gain > 0 and (not best or each < best[0][0]):
                best = [(each, number, rows[~kept], rows[kept])]
    return best


def _without_few(attribute: Attribute, codes: Codes) -> list[Mask]:
    """Return masks of the rows to keep: without an extreme value, with the most common, the largest part."""
    found = [codes != value for value in np.unique(digest_of(attribute, codes))]
    parts = attribute.split(codes)
    if parts is None:  # one value
        return []
    return [*found, codes == np.bincount(codes).argmax(), parts == np.bincount(parts).argmax()]


def _loss(table: QuasiTable, codes: Codes) -> int:
    """Return the loss of each of some rows if they are one class."""
    columns = zip(table.attributes, codes.T, strict=True)
    return sum(cover_loss(attribute, column) for attribute, column in columns)


# --- Released frames


_MOST_TEXT = 8 * 10**9  # characters in a column: what memory holds


def release_classes(record: Algorithm, arguments: Mapping[str, Any]) -> Anonymized:
    """Release the classes that an algorithm forms; ``arguments`` are those of its function, by name."""
    given = dict(arguments)
    frame, k, quasi = (given.pop(name) for name in ("frame", "k", "quasi"))
    quasi = materialize(quasi)
    guarantee = KAnonymity(k, quasi=quasi_names(quasi))
    table = QuasiTable.of(frame, quasi)
    check_rows(table.n_rows, guarantee.k)
    share = check_share(given["max_suppressed"], "max_suppressed")
    chance = {"random_state": given.pop("random_state")} if "random_state" in given else {}
    parameters = {"algorithm": record.name, **chance, "k": guarantee.k, "quasi": quasi, **given}
    table.require_memory(record.name)
    form = record.form
    assert form is not None  # required of all algorithms that form classes

    def decide() -> Decision[ClassRows]:
        rng = random_generator(chance.get("random_state"))
        with progress_bar(record.name, "steps"):
            classes, loss = form_classes(form, table, guarantee.k, share, rng)
        rows = ClassRows(table, classes, classes.of_row)
        return Decision(rows, guarantee, no_items(), loss, parameters)

    return release(FrameWriter(frame, [], quasi=table.positions), decide)


def form_classes(
    form: Formation, table: QuasiTable, k: int, share: Fraction, rng: np.random.Generator
) -> tuple[Classes, pd.Series[float]]:
    """Form classes, with up to a share of suppressed rows, and return them with their losses."""
    # No row is suppressed if fewer than k are allowed to be.
    n_rows = int(table.weights.sum())
    most = int(share * n_rows)
    classes = form(table, k, rng, most if most >= k else 0)
    loss = {"NCP_relational": classes.ncp}
    if share:
        loss["suppressed_rows"] = classes.suppressed / max(n_rows, 1)
    return classes, pd.Series(loss, name="loss", dtype="float64")


@frozen
class ClassRows:
    """Classes of rows with equal generalized quasi-identifiers."""

    table: QuasiTable
    classes: Classes
    # Group of each row, numbered by first rows: its class, or the cluster whose items are recoded.
    of_row: NDArray[Any]
    lists: Sequence[tuple[Itemsets, Recoding]] = ()

    def write(self, frame: pd.DataFrame, positions: Sequence[int]) -> WrittenRows:
        """Recode the quasi-identifiers and the list columns of a frame."""
        released = with_classes(frame, self.table, self.classes)
        for position, (column, recoding) in zip(positions, self.lists, strict=True):
            released = with_column(released, position, recoding.apply(column).to_pandas())
        _, first, sizes = np.unique(self.of_row, return_index=True, return_counts=True)
        classes = released.iloc[first, self.table.positions].reset_index(drop=True)
        classes.attrs = {}
        # Quasi-identifiers may be called "size" or "group" as well.
        classes.insert(0, added_label(classes, "size"), sizes, allow_duplicates=True)
        classes.insert(0, added_label(classes, "group"), np.arange(len(classes)), allow_duplicates=True)
        return WrittenRows(released, self.of_row, classes)


def with_classes(frame: pd.DataFrame, table: QuasiTable, classes: Classes) -> pd.DataFrame:
    """Return a copy of a frame with generalized quasi-identifiers; everything else is unmodified."""
    copy = release_copy(frame)
    for position, cells in zip(table.positions, classes.cells, strict=True):
        _refuse_long_texts(frame.columns[position], cells, classes.of_row)
        copy.isetitem(position, cells.values.take(cells.numbers[classes.of_row]))
    return copy


def _refuse_long_texts(label: Hashable, cells: Cells, of_row: NDArray[Any]) -> None:
    """Raise if the texts of a column exceed memory: sets of very many values in every row."""
    if not pd.api.types.is_string_dtype(cells.values.dtype):
        return
    lengths = pd.Series(cells.values).str.len().fillna(0).to_numpy(np.int64)
    characters = int(lengths[cells.numbers[of_row]].sum())
    if characters > _MOST_TEXT:
        raise ParameterError(
            "the sets of values of a column are too long to write into each row",
            where=f"quasi: column {label!r}",
            got=f"sets of up to {int(lengths.max()):,} characters, about {characters / 1e9:.0f} GB in total",
            hint=f"pass a hierarchy, quasi={{{label!r}: ...}}: a node is published as one name",
        )


def no_items() -> pd.DataFrame:
    """Return a mapping without rows: no item was recoded."""
    numbers = np.array([], np.int64)
    texts = pd.Series([], dtype=pd.ArrowDtype(pa.string()))
    return pd.DataFrame({"group": numbers, "item": texts, "generalized": texts, "support": numbers})
