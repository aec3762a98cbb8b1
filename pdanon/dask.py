"""Dask: releases of frames whose partitions are on several machines.

Workers count: each partition becomes its distinct transactions, and these are merged group by group. The
client decides on what is left. Workers recode, when the rows are asked for.

Importing it registers ``ddf.txanon`` and ``series.itemset``, with a part of the methods that pandas has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE, Recoder, check_algorithm, decide
from pdanon.algorithms.registry import Algorithm, watch
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError, did_you_mean, require_extra
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.evaluation.metrics.risk import risk_of
from pdanon.guarantees import KmAnonymity, check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.arguments import MethodError, called_by_name
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, find_columns, is_list_column, with_column
from pdanon.itemsets.dtype import ListDtype
from pdanon.itemsets.list_columns import ListColumns, Reader, collapse_columns
from pdanon.itemsets.mapping import apply_mapping as applied_mapping
from pdanon.itemsets.mapping import relabel
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import supports
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, release
from pdanon.recoding.result import Anonymized, Labelled
from pdanon.recoding.unmodified_columns import Passing, judged_columns, passing

__all__ = ["LazyRelease", "anonymize", "apply_mapping", "audit", "risk"]


def _item_types(meta: pd.DataFrame, labels: list[Hashable]) -> list[pa.DataType]:
    """The types of the items of some columns."""
    return [Itemsets.from_series(meta[label]).vocabulary.type for label in labels]


def _collapse_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int, read: Reader
) -> ListColumns:
    """The distinct transactions of a partition, whose items are to be of known types."""
    pairs = zip(labels, kinds, strict=True)
    return collapse_columns(
        [[_encoded(part[label], kind, number, read) for label, kind in pairs]], len(labels)
    )


def _encoded(column: pd.Series[Any], kind: pa.DataType, number: int, read: Reader) -> Itemsets:
    """A column of a partition as codes."""
    problem = None
    try:
        itemsets = read(column)
    except ItemsetDtypeError as error:
        problem = str(error)
    if problem is not None:
        raise ItemsetDtypeError(f"{problem}\n  in:    partition {number}")
    if not itemsets.n_items:  # and so of any type
        return replace(itemsets, vocabulary=pa.array([], kind))
    if itemsets.vocabulary.type != kind:
        raise ItemsetDtypeError(
            "the items of a partition are of another type than the frame says",
            where=f"partition {number}",
            got=f"items of type {itemsets.vocabulary.type} instead of {kind}",
        )
    return itemsets


def _merged(parts: list[ListColumns]) -> ListColumns:
    """The distinct transactions of some partitions together."""
    return collapse_columns((part.columns for part in parts), len(parts[0].columns))


def _recoded_part(
    part: pd.DataFrame, labels: list[Hashable], became: tuple[Itemsets, pa.Array, bool]
) -> pd.DataFrame:
    """A partition with other items; a private column is built anew."""
    items, texts, missing_as_empty = became
    position, *hidden = (find_column(part, label) for label in labels)
    itemsets = Itemsets.from_series(part.iloc[:, position])
    unknown = int((items.lookup(itemsets.vocabulary) < 0).sum())
    if unknown:
        raise _rows_changed(f"{unknown} items that were not counted")
    published = relabel(itemsets, items, texts, missing_as_empty=missing_as_empty)
    released = with_column(part, position, published.to_pandas())
    for each in hidden:
        private = Itemsets.from_series(part.iloc[:, each]).missing_as_empty()
        released = with_column(released, each, private.to_pandas())
    return released


def _rows_changed(got: str) -> ParameterError:
    """What is raised where rows are not those that were counted."""
    hint = "persist the frame before, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)


# --- Dask: releases of frames whose partitions are on several machines


with require_extra("dask"):
    import dask
    import dask.dataframe as dd
    from dask.dataframe import extensions


# Dask knows a dtype by its class.
extensions.make_array_nonempty.register(ListDtype, extensions.make_array_nonempty.dispatch(pd.ArrowDtype))

_FAN_IN = 8  # parts that are merged at once
_LISTS_HINT = """Dask turns lists of Python objects into text: make them Arrow lists before, with \
pdanon.as_itemsets(...), or read them with pdanon.read_parquet or dtype_backend='pyarrow'"""


class _Seen(NamedTuple):
    """What there is to know of rows that were read again and recoded."""

    fingerprint: int  # of the rows that were read
    published: ListColumns  # what became of them, each distinct transaction once
    others: pd.DataFrame  # the first rows of the columns that pass through


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class LazyRelease(Labelled):
    """A release that is computed when it is asked for. ``frame, mapping = result`` unpacks the first two.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The released frame: partitions, index and other columns as in the input. It is not to be given away
        itself, as opposed to what is computed from it: it knows how to read the input, and the mapping.
    mapping : pandas.DataFrame
        What each item became: ``group, item, generalized, support``. Not part of the release.
    guarantee : Guarantee
        The privacy model, audited on ``frame``.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows.
    parameters : dict
        What was asked.
    """

    frame: dd.DataFrame
    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.frame, self.mapping))

    def __repr__(self) -> str:
        size = f"rows={self.rows}, partitions={self.frame.npartitions}"
        return f"LazyRelease({size}, guarantee={self.guarantee!r})"


def anonymize(
    frame: dd.DataFrame, *, algorithm: str = "pcta", column: Hashable | None = None, **parameters: Any
) -> LazyRelease:
    """Anonymize a Dask DataFrame; ``ddf.txanon.pcta(k=5, m=2)`` is short for it.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row a person, with a column of Arrow lists. Divisions need not be known.
    algorithm : str
        One that recodes an item alike in the whole table, such as ``pcta``. If another one is named, the
        error lists them.
    column : hashable, optional
        The list column. By default the only one, apart from a private column.
    **parameters
        Those of the algorithm, such as ``k``, ``m`` and ``hierarchy``.

    Returns
    -------
    LazyRelease
        What the algorithm would return, with a Dask frame.

    Raises
    ------
    ParameterError
        If the algorithm recodes groups of rows apart, or rows change between two readings.
    ColumnError, ItemsetDtypeError
        If there is no column of Arrow lists, or a partition holds something else or items of another type.
    InfeasibleError, HierarchyError
        As the algorithm.

    Warns
    -----
    IdentifierWarning
        If other columns that ``keep`` does not name tell rows apart; counted in the first 10,000 rows.
    UselessWarning
        If next to nothing is left of the items.

    Notes
    -----
    Guarantee: that of the algorithm, audited on the frame as it is released. Rows, and the recoding, are
    those of the algorithm on a frame with all rows, however they are divided into partitions.

    The frame is computed twice, once to count and once to audit, and then whenever its release is. Where
    that is expensive, or does not give the same rows each time, persist it before: other rows than those
    that were counted are refused. If rows change later, items that were not counted are refused, but nothing
    is audited again: audit what was written.

    Cost: a worker holds the distinct transactions of some partitions, the client all, and the algorithm.

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
    check_algorithm(algorithm, parameters)
    partitions = _Partitions(frame, _list_columns(frame, column, parameters.get("private")))
    return release(partitions, partial(partitions.decide, algorithm, parameters), parameters.get("keep", ()))


@dataclass(frozen=True, eq=False, slots=True)
class _PartitionRows:
    """What rows become, how many were counted, and their fingerprint."""

    n_rows: int
    fingerprint: int
    recoder: Recoder


@dataclass(frozen=True, eq=False, slots=True)
class _Partitions:
    """The rows of a Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The original.
    labels : list of hashable
        The list column, and the private column if there is one.
    """

    frame: dd.DataFrame
    labels: list[Hashable]

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has judged."""
        recoded = [position for position, label in enumerate(self.frame.columns) if label in self.labels]
        return judged_columns(self.frame._meta, recoded, keep)

    def decide(self, algorithm: str, parameters: dict[str, Any]) -> Decision[_PartitionRows]:
        """Decide for the distinct transactions, on the client."""
        columns = _counted(self.frame, self.labels)
        n_rows, fingerprint = columns.n_rows, rows_fingerprint(columns.columns)
        decision = decide(columns, algorithm, parameters)
        return decision.with_rows(_PartitionRows(n_rows, fingerprint, decision.rows))

    @contextmanager
    def written(self, decision: Decision[_PartitionRows]) -> Iterator[_WrittenPartitions]:
        """Recode the partitions once, to audit them; a release recodes them again."""
        released, look = _recoded(self.frame, self.labels, decision.rows.recoder)
        seen: _Seen = look.compute()
        if seen.published.n_rows != decision.rows.n_rows:
            raise _rows_changed(f"{seen.published.n_rows} rows instead of {decision.rows.n_rows}")
        if seen.fingerprint != decision.rows.fingerprint:
            raise _rows_changed("other items in the rows")
        yield _WrittenPartitions(decision.rows.n_rows, released, seen)


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenPartitions:
    """A released Dask DataFrame that is not audited yet, and what was seen of its rows."""

    n_rows: int
    frame: dd.DataFrame
    seen: _Seen

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> Passing:
        judged = judged_columns(self.seen.others, [], judged)  # now that there are values
        return passing(self.seen.others, [], guarantee, judged, rows=self.n_rows)

    def columns_left(self) -> str:
        return ""  # list columns alone are recoded

    def audit(self, guarantee: Guarantee) -> Audit:
        return check_recountable(guarantee).recount(self.seen.published)

    def result(self, facts: Facts) -> LazyRelease:
        decision = facts.decision
        parameters = dict(decision.parameters)
        return LazyRelease(
            self.frame, decision.mapping, facts.guarantee, decision.loss, self.n_rows, parameters
        )


def apply_mapping(
    frame: dd.DataFrame, mapping: pd.DataFrame, column: Hashable | None = None, *, unseen: str = "error"
) -> dd.DataFrame:
    """Recode rows with the mapping table of an earlier release: `pdanon.apply_mapping` of each partition.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        New rows, with original items.
    mapping, column, unseen
        As those of `pdanon.apply_mapping`. Items that the mapping lacks are found when rows are computed.

    Returns
    -------
    dask.dataframe.DataFrame

    Raises
    ------
    ColumnError, ParameterError
        If there is no column of Arrow lists, or a parameter is not what it should be.
    """
    (label,) = _list_columns(frame, column)
    meta = applied_mapping(frame._meta, mapping, label, unseen=unseen)
    once = dask.delayed(mapping.copy())  # in the graph, instead of in each of its tasks
    return frame.map_partitions(applied_mapping, once, label, unseen=unseen, meta=meta)


@called_by_name
def audit(
    frame: dd.DataFrame, guarantee: Guarantee, column: Hashable | None = None, *, progress: bool = False
) -> Audit:
    """Recount from scratch whether a Dask DataFrame has a guarantee.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        A released frame, such as one that was read from the files that were written.
    guarantee : Guarantee
        One of items: `KmAnonymity`, `PrivacyConstraints`, `PSRules`, `LmDiversity`, `RhoUncertainty`,
        `Coherence` or `PublicK`.
    column : hashable, optional
        The list column. By default the only one.
    progress : bool
        Show the parts of the count on the client that are done.

    Returns
    -------
    Audit

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If there is nothing to audit, or the guarantee speaks of other columns.
    """
    counted = check_recountable(guarantee)
    private = getattr(guarantee, "private", None)
    rows = _counted(frame, _list_columns(frame, column, private), read=read_visible)
    with show_activity(progress, "audit"):
        return counted.recount(rows)


@called_by_name
def risk(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int = 2,
    quasi: Sequence[Hashable] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure what an attacker who knows a few items of a row can do; as `pdanon.risk` without ``quasi``.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default the only one.
    k, m : int
        As those of `pdanon.risk`.
    quasi : sequence of hashable, optional
        Refused: workers collapse rows to their items, so that no other column can be known as well.
    progress : bool
        Show the parts of the count on the client that are done.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be.
    """
    labels = _list_columns(frame, column)
    refuse_chunks(frame._meta)
    if quasi is not None:
        hint = "compute the columns that are needed: ddf[[...]].compute().txanon.risk(k=..., quasi=[...])"
        raise ParameterError("Dask counts items alone", where="quasi", got="columns", hint=hint)
    rows = _counted(frame, labels).itemsets
    with show_activity(progress, "risk"):
        return risk_of(rows, k=k, m=m)


@extensions.register_dataframe_accessor("txanon")
class TxanonAccessor:
    """Anonymization of the list column of a Dask DataFrame.

    The methods are `audit`, `risk`, `apply_mapping` and all algorithms, with the parameters that they have in
    pandas. An algorithm returns a `LazyRelease`; one that does not recode the whole table alike is refused.
    """

    def __init__(self, frame: dd.DataFrame) -> None:
        _check_lists(frame._meta)
        self._obj = frame

    def __getattr__(self, name: str) -> Any:
        """Name the methods that there are."""
        methods = [each for each in vars(TxanonAccessor) if not each.startswith("_")]
        hint = did_you_mean(name, methods) or f"known: {', '.join(methods)}"
        raise MethodError("there is no such method for Dask", where="ddf.txanon", got=repr(name), hint=hint)


def _anonymizing(function: Callable[..., Anonymized]) -> Callable[..., LazyRelease]:
    """An algorithm as a method."""

    @wraps(function)
    def method(self: TxanonAccessor, column: Hashable | None = None, **parameters: Any) -> LazyRelease:
        return anonymize(self._obj, algorithm=function.__name__, column=column, **parameters)

    return method


def _forwarding(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of this module as a method."""

    @wraps(function)
    def method(self: TxanonAccessor, *args: Any, **kwargs: Any) -> Any:
        return function(self._obj, *args, **kwargs)

    return method


for _function in (audit, risk, apply_mapping):
    setattr(TxanonAccessor, _function.__name__, _forwarding(_function))


@watch
def _offer(record: Algorithm) -> None:
    """Make a method of an algorithm."""
    setattr(TxanonAccessor, record.name, _anonymizing(record.function))


@extensions.register_series_accessor("itemset")
class ItemsetAccessor:
    """Questions about a column of sets of a Dask DataFrame.

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
        """Tell for each row whether it holds all of the given items; a missing row holds none.

        Parameters
        ----------
        itemset : iterable
            Items; the empty itemset is in every row.
        """
        meta = _contains(self._obj._meta, itemset)
        return self._obj.map_partitions(_contains, itemset, meta=meta)

    def supports(self) -> pd.Series[int]:
        """Number of rows that hold each item, by item."""
        return supports(self._counted().itemsets)

    def rare(self, k: int, m: int | None = 2) -> pd.DataFrame:
        """List the minimal itemsets of up to m items that occur in fewer than k rows.

        Parameters
        ----------
        k, m : int
            As in :class:`pdanon.KmAnonymity`.

        Returns
        -------
        pandas.DataFrame
            ``itemset, support``, by size, then by items.
        """
        return KmAnonymity(k, m).recount(self._counted()).threats[["itemset", "support"]]

    def _counted(self) -> ListColumns:
        return _counted(self._obj.to_frame("items"), ["items"])


def _lengths(part: pd.Series[Any]) -> Any:
    return part.itemset.lengths


def _contains(part: pd.Series[Any], itemset: Iterable[Any]) -> Any:
    return part.itemset.contains(itemset)


def _check_lists(meta: pd.DataFrame) -> None:
    if not any(is_list_column(meta.iloc[:, number]) for number in range(meta.shape[1])):
        got = f"columns {meta.dtypes.astype(str).to_dict()}"
        raise ColumnError("there is no column of Arrow lists", got=got, hint=_LISTS_HINT)


def _list_columns(frame: dd.DataFrame, column: Hashable | None, private: Any = None) -> list[Hashable]:
    """The label of the list column, and of the private column if one is named."""
    if not isinstance(frame, dd.DataFrame):
        raise ParameterError("the first argument must be a Dask DataFrame", got=type(frame).__name__)
    meta = frame._meta
    _check_lists(meta)
    positions = find_columns(meta, column, private)
    for position in positions:
        _check_lists(meta.iloc[:, [position]])
    return [meta.columns[position] for position in positions]


def _counted(
    frame: dd.DataFrame, labels: list[Hashable], *, read: Reader = Itemsets.from_series
) -> ListColumns:
    """The distinct transactions of a frame, on the client."""
    columns = frame[labels]  # of Parquet files no more is read
    kinds, count = _item_types(columns._meta, labels), dask.delayed(_collapse_part)
    parts = enumerate(columns.to_delayed())
    counts = [count(part, labels, kinds, number, read) for number, part in parts]
    counted: ListColumns = _tree(counts, _merged).compute()
    return counted


def _tree(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Join parts in their order, some at a time, until there is one."""
    while len(parts) > 1:
        groups = range(0, len(parts), _FAN_IN)
        parts = [dask.delayed(join)(parts[first : first + _FAN_IN]) for first in groups]
    return parts[0]


def _first(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part for part in parts if len(part)] or parts[:1]).head(SAMPLE)


def _recoded(frame: dd.DataFrame, labels: list[Hashable], recoder: Recoder) -> tuple[dd.DataFrame, Any]:
    """The released frame, and what there is to know of its rows; nothing is computed yet."""
    became = *recoder.labels(), recoder.missing_as_empty
    once = dask.delayed(became, traverse=False)  # in the graph, instead of in each of its tasks
    released = frame.map_partitions(
        _recoded_part, labels, once, meta=_recoded_part(frame._meta, labels, became)
    )
    kinds, look = _item_types(released._meta, labels), dask.delayed(_look)
    parts = enumerate(frame.to_delayed())
    return released, _tree([look(part, labels, once, kinds, number) for number, part in parts], _together)


def _look(
    part: pd.DataFrame,
    labels: list[Hashable],
    became: tuple[Itemsets, pa.Array, bool],
    kinds: list[pa.DataType],
    number: int,
) -> _Seen:
    """Recode a partition as it will be released; what was read is that which was recoded."""
    released = _recoded_part(part, labels, became)
    fingerprint = rows_fingerprint([Itemsets.from_series(part[label]) for label in labels])
    others = released.drop(columns=labels).head(SAMPLE)
    return _Seen(fingerprint, _collapse_part(released, labels, kinds, number, read_visible), others)


def _together(parts: list[_Seen]) -> _Seen:
    fingerprint = sum(part.fingerprint for part in parts) % 2**64
    published = _merged([part.published for part in parts])
    return _Seen(fingerprint, published, _first([part.others for part in parts]))
