"""Preparation: steps before a release, which are recorded with it, and the loss of what they drop."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_hashable

from pdanon.algorithms.weights import item_weights
from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees import TransactionalK
from pdanon.itemsets.arguments import called_by_name, unknown_method
from pdanon.itemsets.codes import Itemsets, item_texts
from pdanon.itemsets.columns import column_labels, is_list_column, label_position
from pdanon.itemsets.dtype import ListArray, arrow_values, text_column
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import Mask, inverse_order
from pdanon.itemsets.support import SupportIndex, support_ranks
from pdanon.itemsets.timing import assigned
from pdanon.itemsets.validation import check_count, check_frame, check_known, describe, is_number
from pdanon.recoding.loss import Remaining
from pdanon.recoding.recoding import Recoding, became_of
from pdanon.recoding.release import REVIEWED
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unit_release import by_calendar, is_time

Steps: TypeAlias = Mapping[Hashable, Mapping[str, Any]]
PERIODS = ("day", "week", "month", "quarter", "year")
STEPS = ("length", "band", "period", "max_items", "weights")
_COUNTED = ("occurrences", "suppressed")  # shares of occurrences
_SHARES = ("NCP", "LM", "GGD")  # losses in which a dropped occurrence costs 1
_HINT = "such as {'age': {'band': 10}, 'items': {'length': 3, 'max_items': 20}}"


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A prepared or reviewed table; made by `prepare`, `keep` and `start_from`.

    Its methods are `anonymize` and the algorithms, without the frame. Their results record the steps as the
    parameter ``prepared``, and count dropped items.

    Parameters
    ----------
    frame : pandas.DataFrame
        The prepared rows: the original of its results.
    steps : dict
        The steps.
    kept : tuple
        Columns that the caller has reviewed.
    earlier : Anonymized or DataFrame, optional
        The release from which its results start.
    """

    frame: pd.DataFrame
    steps: dict[Hashable, dict[str, Any]] = field(default_factory=dict)
    kept: tuple[Hashable, ...] = ()
    earlier: Anonymized | pd.DataFrame | None = None
    _whole: dict[Hashable, tuple[Itemsets, Mask]] = field(default_factory=dict)  # rows, and what is kept

    def __repr__(self) -> str:
        calls = ".prepare(...)" if self.steps else ""
        calls += f".keep({', '.join(map(repr, self.kept))})" if self.kept else ""
        calls += "" if self.earlier is None else ".start_from(...)"
        return f"df.txanon{calls}: {len(self.frame):,} rows; {self.text or 'no steps'}"

    __getattr__ = unknown_method("a prepared table has no such method", "df.txanon.prepare(...)")

    @called_by_name
    def keep(self, *columns: Hashable) -> Prepared:
        """Publish reviewed columns as they are, without a warning; see `pdanon.keep`.

        Parameters
        ----------
        *columns : hashable
            The columns. They cause no warning.
        """
        if others := [type(each).__name__ for each in columns if not is_hashable(each)]:
            hint = "pass one label after the other: keep('sex', 'born')"
            raise ParameterError("keep takes labels of columns", where="keep", got=others[0], hint=hint)
        return replace(self, kept=column_labels([*self.kept, *columns], "keep"))

    @called_by_name
    def start_from(self, earlier: Anonymized | pd.DataFrame | None) -> Prepared:
        """Keep the labels of an earlier release of the same persons; see `pdanon.start_from`.

        Parameters
        ----------
        earlier : Anonymized, DataFrame or None
            The release, or its mapping.
        """
        return replace(self, earlier=earlier)

    @property
    def text(self) -> str:
        """The steps as a text without items."""
        return "; ".join(f"{label}: {_describe(own)}" for label, own in self.steps.items())

    def release(self, run: Callable[[pd.DataFrame], Anonymized]) -> Anonymized:
        """Release the rows, record the steps, and count what they dropped as suppressed."""
        with assigned(REVIEWED, self.kept):
            result = run(self.frame)
        if not self.steps:
            return result
        for label, (before, kept) in self._whole.items():
            if not kept.all():
                result = _with_dropped(result, label, before, kept)
        return replace(result, parameters={**result.parameters, "prepared": self.text})


@called_by_name
def prepare(frame: pd.DataFrame, steps: Steps) -> Prepared:
    """Prepare a table for a release: cut codes, use bands and periods, limit the items of a row.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    steps : mapping
        By column, a mapping with one or more of:

        ``length``
            Number of characters that a text, or each item of a list, keeps: ``E11.9`` becomes ``E11``.
        ``band``
            Width of bands of numbers, from 0 on: 34 becomes ``30-39``. Bands are ordered categories.
        ``period``
            Calendar unit of dates: day, week, month, quarter or year.
        ``max_items``
            Maximum number of items in a row of a list column. The items in most rows are kept (ties: the
            first in order).
        ``weights``
            With ``max_items``: mapping or Series of weights by item. The items with the largest weights are
            kept (ties: those in most rows). Without a weight, it is 1.

    Returns
    -------
    Prepared
        With the prepared ``frame``, and the methods ``keep``, ``start_from``, ``anonymize`` and algorithms.

    Raises
    ------
    ColumnError, ParameterError
        If a column is missing or of the wrong kind, or a step is unknown or out of range.

    Notes
    -----
    A release has its guarantee for the prepared rows. If items are dropped, it does not cover attackers who
    know a dropped item of a person: no row, or rows of others, may match. In results, a dropped item counts
    as suppressed, ``loss["dropped"]`` is the share of the dropped, and the bound is one for rows that are
    limited in this way. Losses of codes, bands and periods are not measured.

    Cost: linear in the rows and items.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt", "tea"], ["rice", "tea"], ["tea"]]
    >>> df = pd.DataFrame({"age": [31, 38, 45, 47], "items": rows})
    >>> prepared = df.txanon.prepare({"age": {"band": 10}, "items": {"max_items": 2}})
    >>> prepared.frame
         age           items
    0  30-39  ['rice' 'tea']
    1  30-39  ['rice' 'tea']
    2  40-49  ['rice' 'tea']
    3  40-49         ['tea']
    >>> prepared.keep("age").pcta(k=2, m=2).loss["dropped"]
    np.float64(0.125)
    """
    known = check_steps(steps)
    frame = check_frame(frame).copy(deep=False)
    whole: dict[Hashable, tuple[Itemsets, Mask]] = {}
    for label, own in known.items():
        place = label_position(frame, label)
        column = frame.iloc[:, place]
        if not is_list_column(column):
            frame.isetitem(place, _recode_values(column, own))
            continue
        _refuse(column, own, dict.fromkeys(("band", "period"), ("lists", "pass length or max_items")))
        itemsets = Itemsets.from_series(column)
        if "length" in own:
            texts = pc.utf8_slice_codeunits(item_texts(itemsets.vocabulary), 0, own["length"])
            itemsets = itemsets.recode(np.arange(itemsets.n_items), texts.cast(pa.string()))
        if "max_items" in own:
            kept = _largest(itemsets, own["max_items"], own.get("weights"))
            if not kept.all():  # missing rows cannot be those of a dropped item
                itemsets = itemsets.missing_as_empty()
            whole[label] = itemsets, kept
            itemsets = _keep(itemsets, kept)
        frame.isetitem(place, ListArray(itemsets.to_arrow()))
    return Prepared(frame, known, _whole=whole)


@called_by_name
def keep(frame: pd.DataFrame, *columns: Hashable) -> Prepared:
    """Name the columns that you have reviewed and that may be published as they are.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    *columns : hashable
        Columns, or levels of the index, that a release does not recode.

    Returns
    -------
    Prepared
        With the methods ``anonymize`` and algorithms such as ``pcta``.

    Raises
    ------
    ParameterError, ColumnError
        If a column is named twice. In a release: if one is missing, recoded, or cannot be compared.

    Notes
    -----
    The columns cause no warning, and the result records them. They are not protected: look at their risk
    first, as `profile` counts it.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]
    >>> df = pd.DataFrame({"store": ["a", "b", "a", "b"], "items": rows})
    >>> df.txanon.keep("store").pcta(k=2, m=2).parameters["keep"]
    ['store']
    """
    return Prepared(check_frame(frame)).keep(*columns)


@called_by_name
def start_from(frame: pd.DataFrame, earlier: Anonymized | pd.DataFrame | None) -> Prepared:
    """Keep the labels of an earlier release of the same persons: they may grow, and are never split.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    earlier : Anonymized, DataFrame or None
        The earlier release, or its mapping. None: no release, as for the first of a series.

    Returns
    -------
    Prepared
        With the methods ``pcta``, ``coat``, ``upcta``, ``apriori``, ``optimal`` and ``hghs``, and with
        ``anonymize``, which tries these alone.

    Raises
    ------
    ParameterError
        In a release: if the earlier one has a stronger guarantee, labels that differ from row to row, or none
        of the items. If its labels are no nodes of the hierarchy, or sets in several blocks of ``utility``.
        If it suppresses items, unless for `hghs` and for `optimal` with ``suppress``. If there are sensitive
        items, or the algorithm is another one.

    Notes
    -----
    Guarantee: that of the release. Rows that are only added expose nobody in both releases together: see the
    page of series, also for other changes.

    A new item joins the set of several items whose NCP grows least. With ``refine``, the earlier sets move as
    a whole. Nodes of a hierarchy may be raised. New items must be in it. Suppressed items stay suppressed,
    and so do new items that would be published as a node above one.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> january = pd.DataFrame({"items": [["rice", "tea"], ["rice"], ["tea"], ["salt"], ["salt"]]})
    >>> first = january.txanon.pcta(k=2, m=2)
    >>> february = pd.concat([january, january], ignore_index=True)
    >>> second = february.txanon.start_from(first).pcta(k=2, m=2)
    >>> second.mapping["generalized"].unique().tolist()
    ['(rice,tea)', 'salt']
    """
    return Prepared(check_frame(frame), earlier=earlier)


def check_steps(steps: Any, where: str = "steps") -> dict[Hashable, dict[str, Any]]:
    """Check the steps of a preparation without its table."""
    if not isinstance(steps, Mapping) or not all(isinstance(own, Mapping) for own in steps.values()):
        problem = "steps must be a mapping from columns to mappings of steps"
        raise ParameterError(problem, where=where, got=type(steps).__name__, hint=_HINT)
    for own in steps.values():
        for name, value in own.items():
            check_known(name, STEPS, "step", where=where)
            if name in ("length", "max_items"):
                check_count(value, name, least=1)
            if name == "band" and not (is_number(value) and 0 < value < np.inf):
                raise ParameterError("a band must be a positive number", where=where, got=describe(value))
            if name == "period":
                check_known(value, PERIODS, "period", where=where)
        if len({"length", "band", "period"} & own.keys()) > 1:
            hint = "pass one of length, band and period for a column"
            raise ParameterError("steps exclude each other", where=where, got=", ".join(own), hint=hint)
        if "weights" in own and "max_items" not in own:
            hint = "pass the maximum number of items of a row, too"
            raise ParameterError("weights need max_items", where=where, hint=hint)
    return {label: dict(own) for label, own in steps.items()}


# --- Steps


def _describe(own: Mapping[str, Any]) -> str:
    return ", ".join("by weights" if name == "weights" else f"{name} {value}" for name, value in own.items())


def _refuse(column: pd.Series[Any], own: Mapping[str, Any], unfit: Mapping[str, tuple[str, str]]) -> None:
    """Refuse steps that a column does not allow; ``unfit`` has what it holds, and a hint."""
    for name, (holds, hint) in unfit.items():
        if name in own:
            problem = f"{name}: column {column.name!r} holds {holds}"
            raise ColumnError(problem, where="steps", got=column.dtype.name, hint=hint)


def _recode_values(column: pd.Series[Any], own: Mapping[str, Any]) -> Any:
    """Recode the values of a column without lists."""
    kinds, kind = pd.api.types, column.dtype
    hint = "convert it first, such as with pd.{}; on the command line: --types COLUMN={}"
    unfit = {"max_items": ("no lists", "pass length, band or period")}
    if not is_time(column):
        unfit["period"] = "no dates", hint.format("to_datetime", "date")
    if kinds.is_bool_dtype(kind) or not kinds.is_numeric_dtype(kind):
        unfit["band"] = "no numbers", hint.format("to_numeric", "integer")
    if kinds.is_float_dtype(kind):
        unfit["length"] = "fractions", "convert them to text or integers"
    _refuse(column, own, unfit)
    if "period" in own:
        return by_calendar(column, own["period"]).array
    if "band" in own:
        return _bands(column, own["band"])
    if "length" in own:
        texts = item_texts(arrow_values(column).combine_chunks())
        return text_column(pc.utf8_slice_codeunits(texts, 0, own["length"]).to_pandas())
    return column.array


def _bands(column: pd.Series[Any], width: float) -> pd.Categorical[Any]:
    """Return bands of a width, as ordered categories; those of integers name their last number."""
    whole = pd.api.types.is_integer_dtype(column.dtype) and width == int(width)
    numbers = pd.to_numeric(column).astype("Float64").to_numpy(np.float64, na_value=np.nan)
    places = np.floor(numbers / width)
    codes, known = pd.factorize(np.where(np.isfinite(places), places, np.nan), sort=True)
    names = [
        f"{low * width:g}-{(low + 1) * width - 1:g}" if whole else f"[{low * width:g}, {(low + 1) * width:g})"
        for low in known
    ]
    return pd.Categorical.from_codes(codes.tolist(), pd.Index(names), ordered=True)


def _largest(itemsets: Itemsets, most: int, weights: Any) -> Mask:
    """Return whether each occurrence is among the most important ones of its row."""
    index = SupportIndex.of(itemsets)
    steps = item_weights(weights, itemsets)
    rank = support_ranks(index) if steps is None else inverse_order(np.lexsort((-index.singles, -steps)))
    place = inverse_order(np.lexsort((rank[itemsets.codes], itemsets.rows)))
    return place - itemsets.offsets[itemsets.rows] < most


def _keep(itemsets: Itemsets, kept: Mask) -> Itemsets:
    return itemsets.relabel(np.where(kept, itemsets.codes, np.int32(-1)), itemsets.vocabulary)


# --- Losses of what was dropped


def remaining_of(result: Anonymized, label: Hashable, before: Itemsets, kept: Mask) -> Remaining:
    """Return what remains of rows in a release whose original is the kept occurrences."""
    rows, published = _keep(before, kept), Itemsets.from_series(result.frame[label])
    targets = np.full(len(kept), -1, np.int32)
    targets[kept] = became_of(rows, published, result.mapping, result.groups, rows.rows, rows.codes)
    repeats = isinstance(result.guarantee, TransactionalK)
    labels, one_group = published.vocabulary, np.zeros(before.n_rows, np.int32)
    sizes = np.ones(len(labels), np.int64)
    recoding = Recoding(targets, labels, sizes, before.n_items, False, one_group, repeats)
    return Remaining.of(before, recoding, recoding.changes(before))


def _with_dropped(result: Anonymized, label: Hashable, before: Itemsets, kept: Mask) -> Anonymized:
    """Return a result whose losses and bound count the dropped occurrences as suppressed."""
    if "generalized" not in result.mapping or "column" in result.mapping or len(result.published) > 1:
        hint = "release prepared.frame, whose results do not count what was dropped"
        problem = "max_items needs a release of one list column, in rows, without a second table"
        raise ParameterError(problem, where="steps", hint=hint)
    remaining = remaining_of(result, label, before, kept)
    total, dropped = len(kept), int((~kept).sum())
    loss: dict[Hashable, float] = result.loss.to_dict()
    loss |= {name: (round(loss[name] * (total - dropped)) + dropped) / total for name in _COUNTED}
    loss |= {name: (loss[name] * (total - dropped) + dropped) / total for name in _SHARES if name in loss}
    loss |= {"singles": remaining.singles(), "pairs": remaining.pairs(), "dropped": dropped / total}
    bound = result.bound
    if bound is not None:
        changed, kind = bound.changed + dropped, f"{bound.kind} of rows so limited"
        by_sets = bound.by_sets + dropped if bound.kind == "deletions" else 0
        reached = loss["occurrences"]
        bound = replace(bound, changed=changed, total=total, reached=reached, kind=kind, by_sets=by_sets)
    return replace(result, loss=pd.Series(loss, name="loss", dtype="float64"), bound=bound)
