"""The one door out for quasi-identifiers: released columns, the table of classes, and the audit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.relational.cells import Cells
from pdanon.algorithms.relational.quasi import Classes, Formation, QuasiTable
from pdanon.algorithms.relational.suppression import rows_allowed
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.guarantees.parameters import check_share
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.columns import release_copy
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.release import demand
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import judged_columns, passing, recorded
from pdanon.recoding.warnings import columns_left, warn_if_short, warn_if_useless

__all__ = ["class_table", "form", "with_classes"]

_MOST_TEXT = 8 * 10**9  # characters of a column


def form(
    frame: pd.DataFrame,
    formation: Formation,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None,
    keep: Sequence[Hashable],
    progress: bool,
    suppress: float,
    asked: Mapping[str, Any],
) -> Anonymized:
    """Encode, decide, apply, audit: what all relational algorithms do.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original; it is not modified.
    formation : Formation
        How classes are decided.
    k, quasi, hierarchies, keep, progress, suppress
        As in the algorithms.
    asked : mapping
        The name of the algorithm, and the parameters that not all have.
    """
    guarantee = KAnonymity(k, quasi)
    table = QuasiTable.of(frame, guarantee.quasi, hierarchies)
    judged = judged_columns(frame, table.positions, keep)
    table.check_feasible(guarantee.k)
    share = check_share(suppress, "suppress")
    most = rows_allowed(share, table.n_rows, guarantee.k)
    rng = random_generator(asked.get("random_state"))
    with progress_bar(progress, asked["algorithm"], "steps") as report:
        classes = formation(table, guarantee.k, rng, report, most)
    released = with_classes(frame, table, classes)
    audit = guarantee.audit(released)
    demand(audit)
    useless = columns_left(frame, released, table.positions)
    told = {
        "k": guarantee.k,
        "quasi": list(guarantee.quasi),
        "hierarchies": hierarchies,
        "suppress": suppress,
    }
    warn_if_useless(useless, audit.guarantee)
    warn_if_short(told, audit.guarantee)
    loss = {"NCP_relational": classes.ncp}
    if share:
        loss["suppressed_rows"] = classes.suppressed / max(table.n_rows, 1)
    return Anonymized(
        released,
        _no_items(),
        class_table(released, table, classes.of_row),
        pd.Series(classes.of_row, index=frame.index, name="group"),
        audit.guarantee,
        pd.Series(loss, name="loss", dtype="float64"),
        {**asked, **told} | recorded(judged),
        passing(frame, table.positions, guarantee, judged),
        useless,
    )


def with_classes(frame: pd.DataFrame, table: QuasiTable, classes: Classes) -> pd.DataFrame:
    """A copy of a frame with generalized quasi-identifiers; all else, index and attrs as they were."""
    copy = release_copy(frame)
    for position, cells in zip(table.positions, classes.cells, strict=True):
        _refuse_long_texts(frame.columns[position], cells, classes.of_row)
        copy.isetitem(position, cells.values.take(cells.numbers[classes.of_row]))
    return copy


def _refuse_long_texts(label: Hashable, cells: Cells, of_row: NDArray[Any]) -> None:
    """Refuse texts for which there is no room: sets of very many values, row after row."""
    if not pd.api.types.is_string_dtype(cells.values.dtype):
        return
    lengths = pd.Series(cells.values).str.len().fillna(0).to_numpy(np.int64)
    characters = int(lengths[cells.numbers[of_row]].sum())
    if characters > _MOST_TEXT:
        raise ParameterError(
            "the sets that values became are too long to be written in each row",
            where=f"quasi: column {label!r}",
            got=f"sets of up to {int(lengths.max()):,} characters, about {characters / 1e9:.0f} GB in all",
            hint=f"give a hierarchy, hierarchies={{{label!r}: ...}}: then a node has one name",
        )


def class_table(released: pd.DataFrame, table: QuasiTable, of_row: NDArray[Any]) -> pd.DataFrame:
    """One row a group of rows: ``group, size``, then the generalized quasi-identifiers."""
    _, first, sizes = np.unique(of_row, return_index=True, return_counts=True)
    columns = released.iloc[first, table.positions].reset_index(drop=True)
    columns.attrs = {}
    columns.insert(0, "size", sizes, allow_duplicates=True)
    columns.insert(0, "group", np.arange(len(columns)), allow_duplicates=True)
    return columns


def _no_items() -> pd.DataFrame:
    """A mapping table without rows: no item was recoded."""
    numbers = np.array([], np.int64)
    texts = pd.Series([], dtype=pd.ArrowDtype(pa.string()))
    return pd.DataFrame({"group": numbers, "item": texts, "generalized": texts, "support": numbers})
