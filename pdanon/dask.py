"""Dask: releases of frames with partitions on several machines.

Workers count the distinct transactions of each partition, and merge them by groups. The client decides for
the merged transactions. Workers recode the rows when they are computed.

The import registers ``ddf.txanon`` and ``series.itemset`` with some methods of their pandas counterparts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE, Plan, Recoder, plan
from pdanon.algorithms.registry import Algorithm, watch
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError, require_extra
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.evaluation.metrics.attack import Attack, attack_itemsets
from pdanon.evaluation.metrics.risk import remove_items, risk_of
from pdanon.evaluation.profile import Profile, profile_of
from pdanon.guarantees import KmAnonymity, check_recountable
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.arguments import MethodError, as_method, called_by_name, unknown_method
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, find_columns, is_list_column, with_column
from pdanon.itemsets.dtype import ListDtype
from pdanon.itemsets.encoded_columns import ListColumns, Reader, collapse_columns
from pdanon.itemsets.lists import read_part
from pdanon.itemsets.mapping import apply_mapping as recode_frame
from pdanon.itemsets.mapping import check_mapping, relabel
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import supports
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.decision import Decision
from pdanon.recoding.loss_bounds import check_max_loss
from pdanon.recoding.release import Facts, release
from pdanon.recoding.result import Anonymized, Labelled
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified, judged_columns

__all__ = ["LazyRelease", "anonymize", "apply_mapping", "attack", "audit", "profile", "risk"]


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "ItemsetAccessor", "TxanonAccessor"]


def _item_types(meta: pd.DataFrame, labels: list[Hashable]) -> list[pa.DataType]:
    """Return the types of the items of columns."""
    return [Itemsets.from_series(meta[label]).vocabulary.type for label in labels]


def _collapse_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int, read: Reader
) -> ListColumns:
    """Return the distinct transactions of a partition, with items of the given types."""
    pairs = zip(labels, kinds, strict=True)
    columns = [_encode(part[label], kind, number, read) for label, kind in pairs]
    return collapse_columns([columns], len(columns))


def _encode(column: pd.Series[Any], kind: pa.DataType, number: int, read: Reader) -> Itemsets:
    """Encode a column of a partition."""
    itemsets = read_part(lambda: read(column), f"partition {number}")
    if not itemsets.n_items:  # an empty partition may have any type
        return replace(itemsets, vocabulary=pa.array([], kind))
    if itemsets.vocabulary.type != kind:
        raise ItemsetDtypeError(
            "the items of a partition have another type than those of the frame",
            where=f"partition {number}",
            got=f"items of type {itemsets.vocabulary.type} instead of {kind}",
        )
    return itemsets


def _merge(parts: list[ListColumns]) -> ListColumns:
    """Merge the distinct transactions of partitions."""
    return collapse_columns((part.columns for part in parts), len(parts[0].columns))


def _recode_part(
    part: pd.DataFrame, labels: list[Hashable], became: tuple[Itemsets, pa.Array, bool]
) -> pd.DataFrame:
    """Recode a partition; a private column is written again."""
    items, texts, missing_as_empty = became
    position, *hidden = (find_column(part, label) for label in labels)
    itemsets = Itemsets.from_series(part.iloc[:, position])
    unknown = int((items.lookup(itemsets.vocabulary) < 0).sum())
    if unknown:
        raise _change_error(f"{unknown} new items")
    published = relabel(itemsets, items, texts, missing_as_empty=missing_as_empty)
    released = with_column(part, position, published.to_pandas())
    for each in hidden:
        private = Itemsets.from_series(part.iloc[:, each]).missing_as_empty()
        released = with_column(released, each, private.to_pandas())
    return released


def _change_error(got: str) -> ParameterError:
    """Return the error for rows that differ from those that were counted."""
    hint = "persist the frame first, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)


with require_extra("dask"):
    import dask
    import dask.dataframe as dd
    from dask.dataframe import extensions


# Dask dispatches on the class of a dtype.
extensions.make_array_nonempty.register(ListDtype, extensions.make_array_nonempty.dispatch(pd.ArrowDtype))

_FAN_IN = 8  # parts that are merged in one task
_LISTS_HINT = """Dask turns lists of Python objects into text: convert them to Arrow lists first, with \
pdanon.as_itemsets(...), or read them with pdanon.read_parquet or dtype_backend='pyarrow'"""


class _RowFacts(NamedTuple):
    """Facts about rows that were read again and recoded."""

    fingerprint: int  # of the original rows
    published: ListColumns  # the distinct recoded transactions
    others: pd.DataFrame  # the first rows of the unmodified columns


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class LazyRelease(Labelled):
    """A release that is computed on demand. ``frame, mapping = result`` unpacks the first two fields.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The released frame, with the partitions, index and other columns of the input. Publish what is
        computed from it, not the lazy frame: that contains the location of the input and the mapping.
    mapping : pandas.DataFrame
        The label of each item: ``group, item, generalized, support``. Not part of the release.
    guarantee : Guarantee
        The privacy guarantee, audited on ``frame``.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows.
    parameters : dict
        The parameters of the call.
    tried : pandas.DataFrame or None
        If no algorithm was named: the algorithms tried on a sample, as in `pdanon.Anonymized`.
    sample : int or None
        The number of rows of that sample.
    risk : pandas.DataFrame or None
        The risk beyond the guarantee, before and after, as in `pdanon.Anonymized`.
    """

    frame: dd.DataFrame
    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]
    tried: pd.DataFrame | None = None
    sample: int | None = None
    risk: pd.DataFrame | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.frame, self.mapping))

    def __repr__(self) -> str:
        size = f"rows={self.rows}, partitions={self.frame.npartitions}"
        return f"LazyRelease({size}, guarantee={self.guarantee!r})"


def anonymize(
    frame: dd.DataFrame,
    *,
    algorithm: str | None = "pcta",
    column: Hashable | None = None,
    max_loss: Mapping[str, float] | None = None,
    **parameters: Any,
) -> LazyRelease:
    """Anonymize a Dask DataFrame; ``ddf.txanon.pcta(k=5, m=2)`` is short for it.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row per person, with a column of Arrow lists. Divisions may be unknown.
    algorithm : str or None
        An algorithm that recodes an item equally in the whole table, such as ``pcta``. The error for any
        other algorithm lists them. None, as in ``ddf.txanon.anonymize(k=5, m=2)``: the one that loses least
        on a sample.
    column : hashable, optional
        The list column. By default, the only one, besides a private column.
    max_loss : mapping, optional
        Upper bounds on losses by measure, such as ``{"pairs": 0.5}``, as in `pdanon.anonymize`.
    **parameters
        Parameters of the algorithm, such as ``k``, ``m`` and ``hierarchy``. Without an algorithm, ``k`` and
        others of `pdanon.anonymize`.

    Returns
    -------
    LazyRelease
        The result of the algorithm, with a Dask frame.

    Raises
    ------
    ParameterError
        If the algorithm recodes groups of rows separately, or rows change between two readings.
    ColumnError, ItemsetDtypeError
        If there is no column of Arrow lists, or a partition has no lists or items of another type.
    InfeasibleError, HierarchyError
        As in the algorithm. Without one, if the sample cannot decide. If a bound on the loss is exceeded.

    Warns
    -----
    IdentifierWarning
        If other columns that are not listed in ``keep`` may identify rows. The first 10,000 rows are counted.
    UselessWarning
        If the released items are almost empty.

    Notes
    -----
    Guarantee: that of the algorithm, audited on the released frame. The release equals that of the algorithm
    for a frame with all rows, whatever the partitions.

    Without an algorithm, those with the guarantee are tried on 10,000 transactions, drawn with a fixed seed.
    The best one decides for all rows.

    The frame is computed twice, to count and to audit, and again with each computation of the release.
    Persist it first if this is expensive or may give other rows. Rows other than those counted raise an
    error before the release. If rows change later, new items raise an error, but the release is not audited
    again: audit the written files.

    Cost: a worker holds the distinct transactions of some partitions. The client holds all of them, and runs
    the algorithm.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pdanon.dask, pdanon.datasets
    >>> baskets = dd.from_pandas(pdanon.datasets.make_baskets(1000, 50, random_state=0), npartitions=4)
    >>> result = baskets.txanon.pcta(k=5, m=2)
    >>> result
    LazyRelease(rows=1000, partitions=4, guarantee=KmAnonymity(k=5, m=2))
    >>> result.frame.txanon.audit(result.guarantee).holds
    True
    """
    decide, most = plan(algorithm, parameters), check_max_loss(max_loss)
    partitions = _Partitions(frame, _list_columns(frame, column, parameters.get("private")))
    return release(partitions, partial(partitions.decide, decide), parameters.get("keep", ()), most)


@dataclass(frozen=True, eq=False, slots=True)
class _PartitionRows:
    """Recoding of rows, their number and fingerprint, and the choice of its algorithm on a sample."""

    n_rows: int
    fingerprint: int
    recoder: Recoder
    tried: pd.DataFrame | None = None
    sample: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Partitions:
    """The rows of a Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The original.
    labels : list of hashable
        Label of the list column, and of the private column if there is one.
    """

    frame: dd.DataFrame
    labels: list[Hashable]

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""
        recoded = [position for position, label in enumerate(self.frame.columns) if label in self.labels]
        return judged_columns(self.frame._meta, recoded, keep)

    def decide(self, decide: Plan) -> Decision[_PartitionRows]:
        """Decide for the distinct transactions, on the client."""
        columns = _count_transactions(self.frame, self.labels)
        known = columns.n_rows, rows_fingerprint(columns.columns)
        decision, tried, sample = decide(columns)
        return decision.with_rows(_PartitionRows(*known, decision.rows, tried, sample))

    @contextmanager
    def write(self, decision: Decision[_PartitionRows]) -> Iterator[_WrittenPartitions]:
        """Recode the partitions once for the audit. Computing the release recodes them again."""
        released, look = _recode(self.frame, self.labels, decision.rows.recoder)
        seen: _RowFacts = look.compute()
        if seen.published.n_rows != decision.rows.n_rows:
            raise _change_error(f"{seen.published.n_rows} rows instead of {decision.rows.n_rows}")
        if seen.fingerprint != decision.rows.fingerprint:
            raise _change_error("rows with other items")
        yield _WrittenPartitions(decision.rows.n_rows, released, seen)


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenPartitions:
    """A released Dask DataFrame before its audit, and the facts about its rows."""

    n_rows: int
    frame: dd.DataFrame
    seen: _RowFacts

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        judged = judged_columns(self.seen.others, [], judged)  # again, as the values can now be checked
        return count_unmodified(self.seen.others, [], guarantee, judged, rows=self.n_rows)

    def columns_left(self) -> str:
        return ""  # only list columns are recoded

    def audit(self, guarantee: Guarantee) -> Audit:
        return check_recountable(guarantee).recount(self.seen.published)

    def result(self, facts: Facts) -> LazyRelease:
        decision, rows = facts.decision, facts.decision.rows
        known = decision.mapping, facts.guarantee, decision.loss, rows.n_rows, dict(decision.parameters)
        return LazyRelease(self.frame, *known, rows.tried, rows.sample, facts.risk)


def apply_mapping(
    frame: dd.DataFrame, mapping: pd.DataFrame, column: Hashable | None = None, *, unseen: str = "error"
) -> dd.DataFrame:
    """Recode rows by the mapping of an earlier release: `pdanon.apply_mapping` for each partition.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        New rows with original items.
    mapping, column, unseen
        As in `pdanon.apply_mapping`. Unseen items raise an error when rows are computed.

    Returns
    -------
    dask.dataframe.DataFrame

    Raises
    ------
    ColumnError, ParameterError
        If there is no column of Arrow lists, or a parameter is invalid.
    """
    (label,) = _list_columns(frame, column)
    meta = recode_frame(frame._meta, mapping, label, unseen=unseen)
    once = dask.delayed(mapping.copy())  # one node of the graph, instead of a copy in each task
    return frame.map_partitions(recode_frame, once, label, unseen=unseen, meta=meta)


@called_by_name
def audit(
    frame: dd.DataFrame, guarantee: Guarantee, column: Hashable | None = None, *, progress: bool = False
) -> Audit:
    """Recount from scratch whether a Dask DataFrame has a guarantee.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        A released frame, such as one read from the written files.
    guarantee : Guarantee
        A guarantee for items: `KmAnonymity`, `PrivacyConstraints`, `PSRules`, `LmDiversity`,
        `RhoUncertainty`, `Coherence` or `PublicK`.
    column : hashable, optional
        The list column. By default, the only one.
    progress : bool
        Show a progress bar of the count on the client.

    Returns
    -------
    Audit

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If there is nothing to audit, or the guarantee covers other columns.
    """
    recountable = check_recountable(guarantee)
    private = getattr(guarantee, "private", None)
    rows = _count_transactions(frame, _list_columns(frame, column, private), read=read_visible)
    with show_activity(progress, "audit"):
        return recountable.recount(rows)


@called_by_name
def risk(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int = 2,
    quasi: Sequence[Hashable] | None = None,
    sensitive: Sequence[Any] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure the risk from an attacker with a few known items; `pdanon.risk` without ``quasi``.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default, the only one.
    k, m : int
        As in `pdanon.risk`.
    quasi : sequence of hashable, optional
        Not supported: workers reduce rows to their items, without other columns.
    sensitive : sequence, optional
        Items that the attacker does not know.
    progress : bool
        Show a progress bar of the count on the client.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid.
    """
    labels = _list_columns(frame, column)
    refuse_chunks(frame._meta)
    if quasi is not None:
        hint = "compute the columns first: ddf[[...]].compute().txanon.risk(k=..., quasi=[...])"
        raise ParameterError("Dask counts only items", where="quasi", got="columns", hint=hint)
    rows = _count_transactions(frame, labels).itemsets
    if sensitive is not None:
        rows = remove_items(rows, NamedItems.some(sensitive, "sensitive"))
    with show_activity(progress, "risk"):
        return risk_of(rows, k=k, m=m)


@called_by_name
def profile(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int = 5,
    m: int = 3,
    progress: bool = False,
) -> Profile:
    """Profile a raw Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row per person.
    column : hashable, optional
        The list column. By default, the only one.
    k, m, progress
        As in `pdanon.profile`.

    Returns
    -------
    Profile
        As `pdanon.profile` of all rows. The other columns are counted in the first 10,000 rows, and repeated
        rows are not counted.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        As in `audit`.

    Notes
    -----
    Cost: workers count the rows once, and the first partitions are computed once more. The client holds the
    distinct transactions.
    """
    (label,) = _list_columns(frame, column)
    refuse_chunks(frame._meta)
    rows = _count_transactions(frame, [label]).itemsets
    others = frame.drop(columns=[label]).head(SAMPLE, npartitions=-1)
    return profile_of(rows, label, others, k=k, m=m, progress=progress)


@called_by_name
def attack(
    frame: dd.DataFrame,
    result: LazyRelease | dd.DataFrame,
    column: Hashable | None = None,
    *,
    mapping: pd.DataFrame | None = None,
    m: ItemLimit = 2,
    n: int = 1000,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
) -> Attack:
    """Simulate attacks on a release of a Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The original.
    result : LazyRelease or dask.dataframe.DataFrame
        The release, or its frame, such as one read from the written files.
    column : hashable, optional
        The list column. By default, the only one.
    mapping : pandas.DataFrame, optional
        The mapping of a frame. A result has its own.
    m, n, random_state, progress
        As in `pdanon.attack`.

    Returns
    -------
    Attack
        As `pdanon.attack`. ``row`` is the number of the attacked transaction among the distinct ones.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        As in `audit`. If the frames are not an original and its release, or a frame has no mapping.

    Notes
    -----
    Cost: workers count the rows of both. The client holds the distinct transactions of both.
    """
    if isinstance(result, LazyRelease):
        result, mapping = result
    elif mapping is None:
        hint = "pass the result itself, or the labels, mapping=mapping"
        raise ParameterError("a frame needs its mapping", where="mapping", hint=hint)
    check_mapping(mapping)
    (label,) = _list_columns(frame, column)
    _list_columns(result, label)
    original, published = (_count_transactions(each, [label]).itemsets for each in (frame, result))
    with show_activity(progress, "attack"):
        return attack_itemsets(original, published, mapping, m=m, n=n, random_state=random_state)


@extensions.register_dataframe_accessor("txanon")
class TxanonAccessor:
    """Anonymization of the list column of a Dask DataFrame.

    The methods are `anonymize`, `audit`, `risk`, `attack`, `profile`, `apply_mapping` and all algorithms,
    with the parameters of their pandas counterparts. `anonymize` and the algorithms return a `LazyRelease`.
    Algorithms that recode items differently in different rows raise an error.
    """

    def __init__(self, frame: dd.DataFrame) -> None:
        _check_lists(frame._meta)
        self._obj = frame

    def __repr__(self) -> str:
        lists = [label for label in self._obj.columns if is_list_column(self._obj._meta[label])]
        return f"ddf.txanon of {', '.join(map(repr, lists))}, in {self._obj.npartitions} partitions"

    def __getattr__(self, name: str) -> Any:
        """Raise an error that lists the methods, or says how to call the one of pandas."""
        if not name.startswith("_") and hasattr(pd.DataFrame.txanon, name):  # type: ignore[attr-defined]
            problem, hint = (
                "the method needs all rows at once",
                f"pass them: ddf.compute().txanon.{name}(...)",
            )
            raise MethodError(problem, where="ddf.txanon", got=repr(name), hint=hint)
        raise unknown_method(TxanonAccessor, name, "Dask has no such method", "ddf.txanon")

    def anonymize(self, column: Hashable | None = None, **request: Any) -> LazyRelease:
        """Release the frame by the algorithm that loses least on a sample; parameters as in `anonymize`."""
        return anonymize(self._obj, algorithm=None, column=column, **request)


def _as_method(function: Callable[..., Anonymized]) -> Callable[..., LazyRelease]:
    """Return an algorithm as a method."""

    @wraps(function)
    def method(self: TxanonAccessor, column: Hashable | None = None, **parameters: Any) -> LazyRelease:
        return anonymize(self._obj, algorithm=function.__name__, column=column, **parameters)

    return method


for _function in (audit, risk, attack, profile, apply_mapping):
    setattr(TxanonAccessor, _function.__name__, as_method(_function))


@watch
def _offer(record: Algorithm) -> None:
    """Add a method for an algorithm."""
    setattr(TxanonAccessor, record.name, _as_method(record.function))


@extensions.register_series_accessor("itemset")
class ItemsetAccessor:
    """Queries of a column of sets of a Dask DataFrame.

    Examples
    --------
    >>> import pandas as pd, pdanon.dask
    >>> import dask.dataframe as dd
    >>> baskets = dd.from_pandas(pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]), npartitions=2)
    >>> baskets.itemset.supports()
    rice    1
    tea     2
    Name: support, dtype: int64
    >>> int(baskets.itemset.lengths.sum().compute())
    3
    """

    def __init__(self, series: dd.Series) -> None:
        _check_lists(series._meta.to_frame())
        self._obj = series

    @property
    def lengths(self) -> dd.Series:
        """Number of distinct items of each row; NA for a missing row."""
        return self._obj.map_partitions(_lengths, meta=_lengths(self._obj._meta))

    def contains(self, itemset: Iterable[Any]) -> dd.Series:
        """Return for each row whether it has all of the given items; a missing row has none.

        Parameters
        ----------
        itemset : iterable
            Items; the empty itemset is in every row.
        """
        meta = _contains(self._obj._meta, itemset)
        return self._obj.map_partitions(_contains, itemset, meta=meta)

    def supports(self) -> pd.Series[int]:
        """Return the number of rows with each item, by item."""
        return supports(self._transactions().itemsets)

    def rare(self, k: int, m: ItemLimit = 2) -> pd.DataFrame:
        """List the minimal itemsets of up to m items in fewer than k rows.

        Parameters
        ----------
        k, m : int
            As in :class:`pdanon.KmAnonymity`.

        Returns
        -------
        pandas.DataFrame
            ``itemset, support``, by size, then by items.
        """
        return KmAnonymity(k, m).recount(self._transactions()).threats[["itemset", "support"]]

    def _transactions(self) -> ListColumns:
        return _count_transactions(self._obj.to_frame("items"), ["items"])


def _lengths(part: pd.Series[Any]) -> Any:
    return part.itemset.lengths


def _contains(part: pd.Series[Any], itemset: Iterable[Any]) -> Any:
    return part.itemset.contains(itemset)


def _check_lists(meta: pd.DataFrame) -> None:
    if not any(is_list_column(meta.iloc[:, number]) for number in range(meta.shape[1])):
        got = f"columns {meta.dtypes.astype(str).to_dict()}"
        raise ColumnError("there is no column of Arrow lists", got=got, hint=_LISTS_HINT)


def _list_columns(frame: dd.DataFrame, column: Hashable | None, private: Any = None) -> list[Hashable]:
    """Return the label of the list column, and of the private column if there is one."""
    if not isinstance(frame, dd.DataFrame):
        raise ParameterError("the first argument must be a Dask DataFrame", got=type(frame).__name__)
    meta = frame._meta
    _check_lists(meta)
    positions = find_columns(meta, column, private)
    for position in positions:
        _check_lists(meta.iloc[:, [position]])
    return [meta.columns[position] for position in positions]


def _count_transactions(
    frame: dd.DataFrame, labels: list[Hashable], *, read: Reader = Itemsets.from_series
) -> ListColumns:
    """Return the distinct transactions of a frame, on the client."""
    columns = frame[labels]  # Parquet readers then skip all other columns
    kinds, count = _item_types(columns._meta, labels), dask.delayed(_collapse_part)
    parts = enumerate(columns.to_delayed())
    counts = [count(part, labels, kinds, number, read) for number, part in parts]
    merged: ListColumns = _tree(counts, _merge).compute()
    return merged


def _tree(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Merge adjacent parts, some at a time, until there is one."""
    while len(parts) > 1:
        groups = range(0, len(parts), _FAN_IN)
        parts = [dask.delayed(join)(parts[first : first + _FAN_IN]) for first in groups]
    return parts[0]


def _recode(frame: dd.DataFrame, labels: list[Hashable], recoder: Recoder) -> tuple[dd.DataFrame, Any]:
    """Return the released frame, and the facts about its rows; nothing is computed yet."""
    became = *recoder.labels(), recoder.missing_as_empty
    once = dask.delayed(became, traverse=False)  # one node of the graph, instead of a copy in each task
    meta = _recode_part(frame._meta, labels, became)
    released = frame.map_partitions(_recode_part, labels, once, meta=meta)
    kinds, look = _item_types(released._meta, labels), dask.delayed(_recode_and_count)
    parts = enumerate(frame.to_delayed())
    return released, _tree([look(part, labels, once, kinds, number) for number, part in parts], _merge_facts)


def _recode_and_count(
    part: pd.DataFrame,
    labels: list[Hashable],
    became: tuple[Itemsets, pa.Array, bool],
    kinds: list[pa.DataType],
    number: int,
) -> _RowFacts:
    """Recode a partition as in the release; the same reading gives the rows and their fingerprint."""
    released = _recode_part(part, labels, became)
    fingerprint = rows_fingerprint([Itemsets.from_series(part[label]) for label in labels])
    others = released.drop(columns=labels).head(SAMPLE)
    return _RowFacts(fingerprint, _collapse_part(released, labels, kinds, number, read_visible), others)


def _merge_facts(parts: list[_RowFacts]) -> _RowFacts:
    fingerprint = sum(part.fingerprint for part in parts) % 2**64
    published = _merge([part.published for part in parts])
    # Empty parts may have other dtypes: they are only concatenated if there is no other part.
    others = [part.others for part in parts if len(part.others)] or [parts[0].others]
    return _RowFacts(fingerprint, published, pd.concat(others).head(SAMPLE))
