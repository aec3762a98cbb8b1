"""Dask: releases of frames with partitions on several machines.

The import registers ``ddf.txanon`` and ``series.itemset`` with some methods of their pandas counterparts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial, wraps
from operator import attrgetter
from typing import Any

import pandas as pd

from pdanon.algorithms.engines import SAMPLE, needs_quasi, plan
from pdanon.algorithms.registry import Algorithm, watch
from pdanon.errors import ParameterError, require_extra
from pdanon.evaluation.metrics.attack import Attack, attack_itemsets, check_attacked
from pdanon.evaluation.profile import Profile, profile_of
from pdanon.guarantees import KmAnonymity, read_guarantee
from pdanon.guarantees.class_audit import ByClasses, check_countable
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.arguments import STEPS, MethodError, as_method, called_by_name, unknown_method
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import read_visible
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import ListDtype
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.mapping import apply_mapping as recode_frame
from pdanon.itemsets.support import supports
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import Seed
from pdanon.recoding.release import check_max_loss, release
from pdanon.recoding.unmodified_columns import RecodedColumns

__all__ = [
    "ByPerson",
    "LazyRelease",
    "anonymize",
    "apply_mapping",
    "attack",
    "audit",
    "by",
    "profile",
    "risk",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "ItemsetAccessor", "TxanonAccessor"]


with require_extra("dask"):
    import dask.dataframe as dd
    from dask.dataframe import extensions

    from pdanon.dask.lazy import LazyRelease, check_frame, once
    from pdanon.dask.list_partitions import (
        ByPerson,
        ListPartitions,
        by,
        check_lists,
        count_transactions,
        list_columns,
        measure_risk,
    )
    from pdanon.dask.quasi_partitions import TablePartitions, audit_partition_classes


# Dask dispatches on the class of a dtype.
extensions.make_array_nonempty.register(ListDtype, extensions.make_array_nonempty.dispatch(pd.ArrowDtype))


def anonymize(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    max_loss: Mapping[str, float] | None = None,
    keep: Sequence[Hashable] = (),
    **request: Any,
) -> LazyRelease:
    """Anonymize a Dask DataFrame by the algorithm that loses least on a sample; ``ddf.txanon.anonymize``.

    ``ddf.txanon.pcta(k=5, m=2)``, and so on, anonymizes it by an algorithm.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row per person, with a column of Arrow lists. Divisions may be unknown.
    column : hashable, optional
        The list column. By default, the only one, besides a private column.
    max_loss : mapping, optional
        Upper bounds on losses by measure, such as ``{"pairs": 0.5}``, as in `pdanon.anonymize`.
    keep : sequence of hashable
        Columns that you have reviewed, which cause no warning.
    **request
        ``guarantee``, or ``k``, ``m`` and others of `pdanon.anonymize`. Or the parameters of the algorithm,
        such as ``hierarchy``; for quasi-identifiers also ``block_rows``, the maximum number of rows that are
        anonymized together (by default 10,000).

    Returns
    -------
    LazyRelease
        The result of the algorithm, with a Dask frame.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError, InfeasibleError, HierarchyError
        As in the algorithm. If it may recode equal rows differently, or rows change between two readings. If
        there is no column of Arrow lists, or a partition has no lists or items of another type. If the sample
        cannot decide, or a bound on the loss is exceeded.

    Warns
    -----
    IdentifierWarning, UselessWarning
        If other columns that are not listed in ``keep`` may identify rows (the first 10,000 are counted), or
        the released items are almost empty.

    Notes
    -----
    Guarantee: the requested one, audited on the released frame. The release by an algorithm equals that for a
    frame with all rows, whatever the partitions. It is one that recodes an item equally in the whole table,
    such as ``pcta``, or in equal rows, such as ``lra``; the error for any other algorithm lists them. Or one
    for quasi-identifiers, such as ``rum_bound`` or ``mondrian``.

    With quasi-identifiers, the release equals that of `pdanon.stream` for the same rows and
    ``block_rows``. Workers keep the released columns as long as the released frame exists. The order of the
    rows of a partition may not change either, and each computation checks this.

    `anonymize` tries the algorithms with the guarantee on 10,000 transactions, drawn with a fixed seed. The
    best one decides for all rows.

    The frame is computed twice, to count and to audit, and again with each computation of the release.
    Persist it first if this is expensive or may give other rows. Rows other than those counted raise an
    error before the release. If rows change later, new items raise an error, but the release is not audited
    again: audit the written files.

    Cost: a worker holds the distinct transactions of some partitions. The client holds all of them, and runs
    the algorithm. `pcta`, `coat` and `upcta` need less if m is 1 or 2 and nothing is suppressed: the client
    holds the supports of pairs, where these are fewer, and the transactions that merges shorten. The frame is
    then computed once more in each of the ``rounds``.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pdanon.dask, pdanon.datasets
    >>> rows = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> baskets = dd.from_pandas(rows, npartitions=4)
    >>> result = baskets.txanon.pcta(k=5, m=2)
    >>> result
    LazyRelease(rows=1000, partitions=4, guarantee=KmAnonymity(k=5, m=2))
    >>> result.frame.txanon.audit(result.guarantee).holds
    True
    """
    return _release(frame, None, column, max_loss=max_loss, keep=keep, **request)


def _release(
    frame: dd.DataFrame,
    algorithm: str | None,
    column: Hashable | None,
    /,
    *,
    max_loss: Mapping[str, float] | None = None,
    keep: Sequence[Hashable] = (),
    **parameters: Any,
) -> LazyRelease:
    """Release a frame by an algorithm, or without one by that which loses least on a sample."""
    most = check_max_loss(max_loss)
    if algorithm is not None and needs_quasi(algorithm, parameters):
        table = TablePartitions.of(frame, algorithm, parameters, column)
        return release(table, partial(table.decide, algorithm, parameters), keep, most)
    decide = plan(algorithm, parameters)
    label, *private = list_columns(frame, column, parameters.get("private"))
    rows = ListPartitions(frame, RecodedColumns(lists=[label], private=private))
    return release(rows, partial(rows.decide, decide), keep, most)


@called_by_name
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
    (label,) = list_columns(frame, column)
    meta = recode_frame(frame._meta, mapping, label, unseen=unseen)
    return frame.map_partitions(recode_frame, once(mapping.copy()), label, unseen=unseen, meta=meta)


@called_by_name
def audit(
    frame: dd.DataFrame,
    guarantee: Guarantee | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
) -> Audit:
    """Recount from scratch whether a Dask DataFrame has a guarantee.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        A released frame, such as one read from the written files.
    guarantee : Guarantee
        A guarantee for items: `KmAnonymity`, `KMap`, `PrivacyConstraints`, `PSRules`, `LmDiversity`,
        `RhoUncertainty`, `Coherence` or `PublicK`. Or for quasi-identifiers: `KAnonymity`, `KKm` or `KLm`.
    column : hashable, optional
        The list column. By default, the only one.
    k, m : int, optional
        Short for the guarantee ``KmAnonymity(k, m)``.

    Returns
    -------
    Audit

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If there is nothing to audit, or the guarantee covers other columns. If a column has several types.

    Notes
    -----
    With quasi-identifiers, workers exchange these columns by class, in as many parts as there are partitions.
    The first access to ``threats`` computes the frame again. It lists the classes in another order than
    `pdanon.audit`.
    """
    guarantee, column = read_guarantee(guarantee, column, k, m)
    countable = check_countable(guarantee)
    if isinstance(countable, ByClasses):
        check_frame(frame)
        with show_activity("audit"):
            return audit_partition_classes(frame, countable, column)
    private = getattr(guarantee, "private", None)
    rows = count_transactions(frame, list_columns(frame, column, private), read=read_visible)
    with show_activity("audit"):
        return countable.recount(rows)


@called_by_name
def risk(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int = 2,
    quasi: Sequence[Hashable] | None = None,
    sensitive: Sequence[Any] | None = None,
) -> pd.DataFrame:
    """Measure the risk from an attacker with a few known items; `pdanon.risk` without ``quasi``.

    Parameters
    ----------
    frame, column, k, m, quasi, sensitive : dask.dataframe.DataFrame, hashable, int, int, None, sequence
        As in `pdanon.risk`. ``quasi`` is not supported: workers reduce rows to their items, without other
        columns.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid.
    """
    labels = list_columns(frame, column)
    refuse_chunks(frame._meta)
    if quasi is not None:
        hint = "compute the columns first: ddf[['age', 'items']].compute().txanon.risk(k=5, quasi=['age'])"
        raise ParameterError("Dask counts only items", where="quasi", got="columns", hint=hint)
    return measure_risk(count_transactions(frame, labels).itemsets, k, m, sensitive)


@called_by_name
def profile(
    frame: dd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int = 5,
    m: int = 3,
) -> Profile:
    """Profile a raw Dask DataFrame.

    Parameters
    ----------
    frame, column, k, m : dask.dataframe.DataFrame, hashable, int, int
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
    (label,) = list_columns(frame, column)
    refuse_chunks(frame._meta)
    rows = count_transactions(frame, [label]).itemsets
    others = frame.drop(columns=[label]).head(SAMPLE, npartitions=-1)
    return profile_of(rows, label, others, k=k, m=m)


@called_by_name
def attack(
    frame: dd.DataFrame,
    result: LazyRelease | dd.DataFrame,
    column: Hashable | None = None,
    *,
    mapping: pd.DataFrame | None = None,
    m: ItemLimit = 2,
    n: int = 1000,
    random_state: Seed = None,
) -> Attack:
    """Simulate attacks on a release of a Dask DataFrame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The original.
    result : LazyRelease or dask.dataframe.DataFrame
        The release, or its frame, such as one read from the written files.
    column, mapping, m, n, random_state
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
    check_attacked(mapping)
    (label,) = list_columns(frame, column)
    list_columns(result, label)
    original, published = (count_transactions(each, [label]).itemsets for each in (frame, result))
    with show_activity("attack"):
        return attack_itemsets(original, published, mapping, m=m, n=n, random_state=random_state)


@extensions.register_dataframe_accessor("txanon")
class TxanonAccessor:
    """Anonymization of the list column of a Dask DataFrame.

    The methods are `anonymize`, `audit`, `risk`, `attack`, `profile`, `apply_mapping`, `by`, and all
    algorithms, with the parameters of their pandas counterparts. `anonymize` and the algorithms return a
    `LazyRelease`. Algorithms that group rows by their items raise an error.
    """

    def __init__(self, frame: dd.DataFrame) -> None:
        self._obj = frame

    def __repr__(self) -> str:
        lists = [label for label in self._obj.columns if is_list_column(self._obj._meta[label])]
        names = ", ".join(map(repr, lists)) or "a frame without lists"
        return f"ddf.txanon of {names}, in {self._obj.npartitions} partitions"

    def __getattr__(self, name: str) -> Any:
        """Raise an error that lists the methods, or says how to call the one of pandas."""
        if not name.startswith("_") and hasattr(pd.DataFrame.txanon, name):  # type: ignore[attr-defined]
            problem = "the method needs all rows at once"
            hint = f"pass them, or a sample: ddf.compute().txanon.{name}(...)"
            if name in STEPS:
                problem = "partitions have no such step"
                hint = f"pass it to the release: ddf.txanon.pcta(k=5, {STEPS[name]})"
            raise MethodError(problem, where="ddf.txanon", got=repr(name), hint=hint)
        return unknown_method("Dask has no such method", "ddf.txanon")(self, name)


for _function in (anonymize, audit, risk, attack, profile, apply_mapping, by):
    setattr(TxanonAccessor, _function.__name__, as_method(_function))


@watch
def _offer(record: Algorithm) -> None:
    """Add a method for an algorithm."""

    @wraps(record.function)
    def method(self: TxanonAccessor, column: Hashable | None = None, **parameters: Any) -> LazyRelease:
        return _release(self._obj, record.name, column, **parameters)

    setattr(TxanonAccessor, record.name, method)


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
        check_lists(series._meta.to_frame())
        self._obj = series

    @property
    def lengths(self) -> dd.Series:
        """Number of distinct items of each row; NA for a missing row."""
        read = attrgetter("itemset.lengths")
        return self._obj.map_partitions(read, meta=read(self._obj._meta))

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
        return count_transactions(self._obj.to_frame("items"), ["items"])


def _contains(part: pd.Series[Any], itemset: Iterable[Any]) -> Any:
    return part.itemset.contains(itemset)
