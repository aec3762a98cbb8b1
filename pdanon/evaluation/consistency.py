"""Checks that the tables of a result belong together: its rows, its mapping, and the original."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.errors import GuaranteeError, IdentifierWarning, ParameterError
from pdanon.evaluation.fingerprint import column_fingerprint, has_default_index, index_levels, level_names
from pdanon.guarantees import DisassociatedKm, SensitiveGroups
from pdanon.guarantees.kkm import list_labels
from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.chunks import NAMES
from pdanon.itemsets.codes import Itemsets, Numbers
from pdanon.itemsets.columns import added_label, find_column, label_key, names_column, same_label
from pdanon.itemsets.mapping import mapping_labels, mapping_values
from pdanon.recoding.recoding import became_of
from pdanon.recoding.result import Anonymized, in_chunks, recoded_lists
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified


class Own(NamedTuple):
    """The positions of the columns of a release that are not unmodified."""

    lists: list[int]  # recoded
    quasi: list[int]  # recoded
    added: list[int]  # by the release

    @classmethod
    def of(cls, frame: pd.DataFrame, guarantee: Guarantee, column: Hashable | None) -> Own:
        """Find the columns that a guarantee names."""
        added: list[Hashable] = [*NAMES] if isinstance(guarantee, DisassociatedKm) else []
        if isinstance(guarantee, SensitiveGroups):
            added = [added_label(frame, GROUP)]
        labels = (list_labels(guarantee, column), getattr(guarantee, "quasi", ()), added)
        keys = [{label_key(label) for label in some} for some in labels]
        return cls(
            *([place for place, label in enumerate(frame.columns) if label_key(label) in own] for own in keys)
        )


def recount_unmodified(
    frame: pd.DataFrame, guarantee: Guarantee, column: Hashable | None, judged: Collection[Hashable]
) -> UnmodifiedColumns:
    """Count again what the unmodified columns of a release identify, without a warning."""
    added = Own.of(frame, guarantee, column).added
    rows = frame.iloc[:, [place for place in range(frame.shape[1]) if place not in added]]
    lists, quasi, _ = Own.of(rows, guarantee, column)
    private = getattr(guarantee, "private", None)
    kept = [find_column(rows, private)] if names_column(private) else []
    known = {label_key(label) for label in (*rows.columns, *rows.index.names, *level_names(rows))}
    present = [label for label in judged if label_key(label) in known]
    with warnings.catch_warnings(
        action="ignore", category=IdentifierWarning
    ):  # evidence and reports state the sentences
        return count_unmodified(rows, lists, guarantee, present, quasi=quasi, private=kept)


def check_release(result: Anonymized) -> list[Hashable]:
    """Check that a mapping and classes describe the rows of a result, and return its recoded list columns."""
    lists, guarantee = recoded_lists(result), result.guarantee
    if len(lists) != len(list_labels(guarantee, None)):
        raise _changed(f"{len(lists)} recoded list columns")
    if in_chunks(result):
        return lists
    if result.groups is not None and len(result.groups) != len(result.frame):
        raise _changed(f"{len(result.frame)} rows, {len(result.groups)} were released")
    for label in lists:
        _check_supports(result, label)
    if result.classes is not None and result.groups is not None and hasattr(guarantee, "quasi"):
        _check_classes(result)
    return lists


def _changed(got: str) -> GuaranteeError:
    problem = "the rows are not those that were released"
    hint = "the frame or the mapping was changed after the release; make the release again"
    return GuaranteeError(problem, where="result.frame", got=got, hint=hint)


def _check_supports(result: Anonymized, label: Hashable) -> None:
    """Compare the supports of the labels with those of the mapping."""
    released, lines = _read(result.frame, label), _lines(result, label)
    labels = _label_codes(lines, released)
    is_published = labels > -2
    supports = lines["support"].to_numpy(np.int64)
    if (labels[supports > 0] == -1).any():
        raise _changed("labels of the mapping are missing")
    by_label = pd.DataFrame({"group": lines["group"].to_numpy(), "label": labels, "support": supports})
    by_label = by_label[is_published & (labels >= 0)]
    least = by_label.groupby(["group", "label"])["support"].max().groupby("label").sum()
    most = by_label.groupby("label")["support"].sum()
    counted = pd.Series(np.bincount(released.codes, minlength=released.n_items))
    if not counted.between(least.reindex(counted.index), most.reindex(counted.index)).all():
        raise _changed("labels with other supports than in the mapping")


def _check_classes(result: Anonymized) -> None:
    """Compare the quasi-identifiers of each row with those of its class."""
    assert result.classes is not None
    assert result.groups is not None
    of_row = result.classes.iloc[result.groups.to_numpy()]
    for place, label in enumerate(result.guarantee.quasi, start=2):  # type: ignore[attr-defined]
        if column_fingerprint(of_row.iloc[:, place]) != column_fingerprint(_column(result.frame, label)):
            raise _changed("quasi-identifiers that differ from those of the classes")


# --- The original


def check_original(result: Anonymized, original: pd.DataFrame, lists: list[Hashable]) -> None:
    """Check that a release was made from a table, as far as that shows."""
    frame, places = result.frame, {key: place for place, key in enumerate(_keys(original))}
    rows_stay = not in_chunks(result)
    if rows_stay and len(original) != len(frame):
        raise _other(f"{len(original)} rows, and {len(frame)} in the release")
    column = lists[0] if lists else None
    own = {*chain(*Own.of(frame, result.guarantee, column))}
    for position, key in enumerate(_keys(frame) if rows_stay else ()):
        label, released = frame.columns[position], frame.iloc[:, position]
        if key not in places:
            if position not in own:
                raise _other(f"no column {label!r}")
            continue
        before = original.iloc[:, places[key]]
        if position not in own and column_fingerprint(before) != column_fingerprint(released):
            raise _other(f"other values in column {label!r}")
        if (
            position in own
            and isinstance(released.dtype, pd.IntervalDtype)
            and not _contain(released, before)
        ):
            raise _other(f"values outside the intervals in column {label!r}")
    if rows_stay and not has_default_index(frame) and not _same_index(frame, original):
        raise _other("another index")
    for column in lists:
        if (label_key(column), 0) not in places:
            raise _other(f"no column {column!r}")
        _check_items(result, column, _read(original, column))


def _keys(frame: pd.DataFrame) -> Iterator[tuple[Any, int]]:
    """Yield a key of each column: its label, and the number of columns before it with this label."""
    seen = Counter[Any]()
    for label in frame.columns:
        yield label_key(label), seen[label_key(label)]
        seen[label_key(label)] += 1


def _other(got: str) -> ParameterError:
    hint = "pass the original of the release"
    return ParameterError("the release was not made from this table", where="original", got=got, hint=hint)


def _same_index(frame: pd.DataFrame, original: pd.DataFrame) -> bool:
    one, other = (
        [column_fingerprint(values) for _, values in index_levels(table.index)] for table in (frame, original)
    )
    return one == other


def _contain(released: pd.Series, values: pd.Series) -> bool:
    """Return whether each interval contains the value of its row; missing ones are not compared."""
    if not pd.api.types.is_numeric_dtype(values.dtype):
        return True
    intervals, numbers = pd.arrays.IntervalArray(released), values.to_numpy(np.float64, na_value=np.nan)
    left, right = (np.asarray(each, np.float64) for each in (intervals.left, intervals.right))
    outside = (numbers < left) | (numbers > right)
    return not outside.any()


def _check_items(result: Anonymized, label: Hashable, original: Itemsets) -> None:
    """Compare the supports of the items with those of the mapping, and each row with its labels."""
    lines = _lines(result, label)
    items, supports = original.lookup(mapping_values(lines, "item")), lines["support"].to_numpy(np.int64)
    if (items[supports > 0] < 0).any():
        raise _other("items of the mapping are missing")
    known = np.bincount(items[items >= 0], supports[items >= 0], minlength=original.n_items)
    if (np.bincount(original.codes, minlength=original.n_items) != known).any():
        raise _other("items with other supports than in the mapping")
    if in_chunks(result):
        return
    released = _read(result.frame, label)
    listed = lines[items >= 0]
    if listed.duplicated(["group", "item"]).any():
        return
    groups: Numbers = np.zeros(original.n_rows, np.int64)
    if result.groups is not None and listed["group"].any():
        groups = result.groups.to_numpy().astype(np.int64)
    became = became_of(original, released, listed, groups[original.rows], original.codes)
    images = original.relabel(became.astype(np.int32), released.vocabulary)
    same_labels = images.vocabulary.equals(released.vocabulary)
    if not same_labels or not np.isin(_cells(released), _cells(images), assume_unique=True).all():
        raise _other("rows without an item of their label")


def _cells(itemsets: Itemsets) -> Numbers:
    """Number the items of all rows."""
    return itemsets.rows * max(itemsets.n_items, 1) + itemsets.codes


# --- Items and labels


def _column(frame: pd.DataFrame, label: Hashable) -> pd.Series[Any]:
    return next(column for each, column in frame.items() if same_label(each, label))


def _read(frame: pd.DataFrame, label: Hashable) -> Itemsets:
    return Itemsets.from_series(_column(frame, label))


def _lines(result: Anonymized, label: Hashable) -> pd.DataFrame:
    """Return the lines of the mapping for a list column."""
    mapping = result.mapping
    if "column" not in mapping:
        return mapping
    return mapping[[same_label(each, label) for each in mapping["column"]]]


def _label_codes(lines: pd.DataFrame, released: Itemsets) -> Numbers:
    """Return the code of the label of each line: -1 if no row has the label, and -2 if it is suppressed."""
    labels = mapping_labels(lines, released.vocabulary.type)
    codes = released.lookup(labels.dictionary).astype(np.int64)
    indices = labels.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(indices < 0, -2, np.append(codes, -2)[indices])
