"""Releases of relational algorithms: generalized columns, and the table of their classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Cells
from pdanon.algorithms.relational.quasi import Classes, Formation, QuasiTable
from pdanon.algorithms.relational.suppression import rows_allowed
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.guarantees.parameters import check_share
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import release_copy, with_column
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.decision import Decision, WrittenRows
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

_MOST_TEXT = 8 * 10**9  # characters in a column: what memory holds


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """A frame with quasi-identifiers, encoded."""

    frame: pd.DataFrame
    guarantee: KAnonymity
    table: QuasiTable
    share: Fraction  # upper bound on the share of suppressed rows
    parameters: dict[str, Any]  # to record

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        *,
        k: int,
        quasi: Sequence[Hashable],
        hierarchies: Mapping[Hashable, HierarchyLike] | None,
        max_suppressed: float,
    ) -> Relation:
        """Encode a frame; the parameters are those of the algorithms."""
        guarantee = KAnonymity(k, quasi=quasi)
        table = QuasiTable.of(frame, guarantee.quasi, hierarchies)
        table.check_feasible(guarantee.k)
        share = check_share(max_suppressed, "max_suppressed")
        parameters = {"k": guarantee.k, "quasi": list(guarantee.quasi), "hierarchies": hierarchies}
        parameters["max_suppressed"] = max_suppressed
        return cls(frame, guarantee, table, share, parameters)

    def release(self, name: str, form: Formation, *, keep: Sequence[Hashable], **chance: Any) -> Anonymized:
        """Release the frame; ``chance`` is ``random_state``, if the algorithm has it."""
        table, k = self.table, self.guarantee.k
        table.require_memory(name)

        def decide() -> Decision[ClassRows]:
            most = rows_allowed(self.share, table.n_rows, k)
            rng = random_generator(chance.get("random_state"))
            with progress_bar(name, "steps") as report:
                classes = form(table, k, rng, report, most)
            loss = {"NCP_relational": classes.ncp}
            if self.share:
                loss["suppressed_rows"] = classes.suppressed / max(table.n_rows, 1)
            rows = ClassRows(table, classes, classes.of_row)
            measured = pd.Series(loss, name="loss", dtype="float64")
            parameters = {"algorithm": name, **chance, **self.parameters}
            return Decision(rows, self.guarantee, no_items(), measured, parameters)

        return release(FrameWriter(self.frame, [], quasi=table.positions), decide, keep)


@dataclass(frozen=True, eq=False, slots=True)
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
        return WrittenRows(released, self.of_row, _class_table(released, self.table, self.of_row))


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
            hint=f"pass a hierarchy, hierarchies={{{label!r}: ...}}: a node is published as one name",
        )


def _class_table(released: pd.DataFrame, table: QuasiTable, of_row: NDArray[Any]) -> pd.DataFrame:
    """Return one row for each class: ``group``, ``size``, and the generalized quasi-identifiers."""
    _, first, sizes = np.unique(of_row, return_index=True, return_counts=True)
    columns = released.iloc[first, table.positions].reset_index(drop=True)
    columns.attrs = {}
    # Quasi-identifiers may be called "size" or "group" as well.
    columns.insert(0, "size", sizes, allow_duplicates=True)
    columns.insert(0, "group", np.arange(len(columns)), allow_duplicates=True)
    return columns


def no_items() -> pd.DataFrame:
    """Return a mapping without rows: no item was recoded."""
    numbers = np.array([], np.int64)
    texts = pd.Series([], dtype=pd.ArrowDtype(pa.string()))
    return pd.DataFrame({"group": numbers, "item": texts, "generalized": texts, "support": numbers})
