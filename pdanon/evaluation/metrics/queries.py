"""Query answering: how well counts over the original can be estimated from a release.

LeFevre, DeWitt, Ramakrishnan, "Workload-aware Anonymization", KDD 2006, for the relative error;
Gkoulalas-Divanis, Loukides, TDP 5, 2012, and Poulis et al., ECML PKDD 2013, for the workloads.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ParameterError
from pdanon.evaluation.metrics.attacker_candidates import (
    Condition,
    Cover,
    Factors,
    Release,
    check_condition,
    draw_conditions,
)
from pdanon.evaluation.metrics.sampling import draw_rows, holding_only, query_frame
from pdanon.guarantees.parameters import check_share
from pdanon.guarantees.verdict import facts
from pdanon.hierarchy import HierarchyLike
from pdanon.io.files import replace_file
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Offsets
from pdanon.itemsets.columns import find_column, find_quasi, list_column
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.threads import even_parts, search, share
from pdanon.itemsets.timing import halt_flag, show_activity
from pdanon.itemsets.validation import (
    MOST_DRAWN,
    check_count,
    check_frame,
    check_known,
    random_generator,
    read_list,
)
from pdanon.recoding.result import Anonymized

__all__ = ["Answers", "Mode", "Workload", "answered", "check_asked", "expected_counts", "frequent_itemsets"]

MOST_ITEMSETS = 1_000_000  # as many are listed, in about a gigabyte; dense rows can have any number


_FEWER = "choose a larger min_support, or a smaller max_size where there is one"


def frequent_itemsets(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    min_support: float,
    max_size: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """List the itemsets that a share of the rows holds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default the only one.
    min_support : float
        Least share of the rows, in (0, 1].
    max_size : int, optional
        Largest size. By default any.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    pandas.DataFrame
        ``itemset`` and ``support`` (rows), by size, then by items.

    Raises
    ------
    ParameterError
        If a number is out of range, there are more than 1,000,000 frequent itemsets, or mlxtend is missing:
        ``pip install 'pdanon[patterns]'``.

    Notes
    -----
    Mined by FP-growth, after it was counted how many there are: up to as many as are listed, so that too many
    are refused at once. Memory: one byte for each row and frequent item, and about 1,000 an itemset found.
    """
    with show_activity(progress, "frequent itemsets"):
        itemsets = Itemsets.from_series(list_column(frame, column))
        found = _mine(itemsets, _least(min_support, itemsets.n_rows), _size(max_size)).ordered()
    sets = Itemsets(found.codes, found.offsets, itemsets.vocabulary, np.zeros(len(found), np.bool_))
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": found.supports})


def _least(min_support: Any, n_rows: int) -> int:
    """Least number of rows of a frequent itemset."""
    share = check_share(min_support, "min_support")
    if share == 0:
        raise ParameterError("min_support must be above 0", got=min_support)
    return max(-(-share.numerator * n_rows // share.denominator), 1)


def _size(max_size: Any) -> int | None:
    return None if max_size is None else check_count(max_size, "max_size", least=1)


def _mine(
    itemsets: Itemsets, least: int, max_size: int | None, where: str = "min_support", hint: str = _FEWER
) -> ItemsetTable:
    """Itemsets that at least so many rows hold, in no order."""
    try:
        from mlxtend.frequent_patterns import fpgrowth
    except ImportError:
        raise ParameterError(
            "frequent itemsets need the package mlxtend", hint="pip install 'pdanon[patterns]'"
        ) from None
    index = SupportIndex.of(itemsets)
    items = np.flatnonzero(index.singles >= least)
    if _count(index, least, max_size, MOST_ITEMSETS) > MOST_ITEMSETS:
        raise ParameterError(
            "there are too many frequent itemsets to list",
            where=where,
            got=f"more than {MOST_ITEMSETS:,} that {least} of {itemsets.n_rows} rows hold",
            hint=hint,
        )
    held = np.ones(len(itemsets.codes), np.int8)
    rows = csr((held, itemsets.codes, itemsets.offsets), itemsets.n_rows, itemsets.n_items)
    found: list[frozenset[int]] = []
    supports = np.empty(0)
    longest = None if max_size is None else min(max_size, int(itemsets.lengths.max(initial=1)))
    if len(items):
        table = pd.DataFrame.sparse.from_spmatrix(rows[:, items])  # type: ignore[attr-defined]
        table = table.astype(pd.SparseDtype(np.bool_, fill_value=False))
        share = (least - 0.5) / itemsets.n_rows  # it is compared with shares of the rows, as floats
        mined = fpgrowth(table, min_support=share, max_len=longest)
        found, supports = mined["itemsets"].tolist(), mined["support"].to_numpy() * itemsets.n_rows
    offsets = offsets_of(np.array([len(each) for each in found], np.int64))
    places = [place for each in found for place in sorted(each)]
    codes = items[np.array(places, np.int64)].astype(np.int32)
    return ItemsetTable(codes, offsets, np.rint(supports).astype(np.int64))


def _count(index: SupportIndex, least: int, max_size: int | None, most: int) -> int:
    """How many itemsets so many rows hold; any number above ``most`` if there are more than that."""
    from pdanon._kernels import frequent

    items = np.flatnonzero(index.singles >= least)
    rarest_first = items[np.argsort(index.singles[items], kind="stable")]
    largest = index.longest if max_size is None else min(max_size, index.longest)

    def count() -> int:
        return frequent.count_frequent(index.rows, rarest_first, least, largest, most, halt_flag())

    return search(count, [()], inf)[0]


# --- Estimates: expected numbers of rows that hold itemsets, from what a release says


Mode: TypeAlias = Literal["subset", "uniform", "optimistic", "none"]

_CELLS = 2**22  # of the matrix of queries by values that is held at a time


def expected_counts(
    queries: ItemsetTable, published: Itemsets, cover: Cover, mode: Mode, factors: Sequence[Factors]
) -> NDArray[np.float64]:
    """Sum over the rows of the likelihood that they held the items of each query and fulfil its conditions.

    Parameters
    ----------
    queries : ItemsetTable
        Itemsets of original items.
    published : Itemsets
        The released column.
    cover : Cover
        Which of its labels stand for which items.
    mode : str
        How a label is read, as in `Workload.are`.
    factors : sequence of Factors
        The conditions, column by column.
    """
    from pdanon._kernels.estimates import estimates

    index = SupportIndex.of(published)
    if not factors:  # then equal rows count alike, and releases have many
        index = index.distinct()
    odds = _odds(cover.members, int(np.diff(queries.offsets).max(initial=0)), mode)
    values, classes = _classes(factors, len(index.weights))
    step = max(_CELLS // max(values.shape[1], *(each.n_values for each in factors), 1), 1)
    rows = index.rows

    def answer(begin: int, end: int) -> NDArray[np.float64]:
        part = queries.take(np.arange(begin, end))
        shares = np.ones((len(part), values.shape[1]))
        for factor, chosen in zip(factors, values, strict=True):
            shares *= factor.shares(slice(begin, end))[:, chosen]
        labels = cover.labels, cover.offsets
        return estimates(part.codes, part.offsets, *labels, odds, rows, classes, shares)

    blocks = [
        (first, min(first + step, end))
        for begin, end in even_parts(_looked_at(queries, index, cover))
        for first in range(begin, end, step)
    ]
    return np.concatenate(share(answer, blocks))


def _looked_at(queries: ItemsetTable, index: SupportIndex, cover: Cover) -> Offsets:
    """Rows that are looked at before each query, once for each of its items: those of the rarest, or all."""
    of_label = np.append(0, np.cumsum(np.diff(index.transpose[0])[cover.labels]))
    of_item = np.diff(of_label[cover.offsets])
    asked = np.diff(queries.offsets) > 0
    looked_at = np.full(len(queries), len(index.weights), np.int64)
    if asked.any():
        looked_at[asked] = np.minimum.reduceat(of_item[queries.codes], queries.offsets[:-1][asked])
    return offsets_of(looked_at * np.maximum(np.diff(queries.offsets), 1) + 1)


def _classes(factors: Sequence[Factors], n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The combinations of values that rows have, column by column, and the one of each row."""
    if not factors:
        return np.empty((0, 1), np.int64), np.zeros(n_rows, np.int64)
    rows = np.stack([each.values for each in factors])
    values, classes = np.unique(rows, axis=1, return_inverse=True)
    return values, classes.ravel().astype(np.int64)


def _odds(members: NDArray[np.int64], most: int, mode: Mode) -> NDArray[np.float64]:
    """Odds that a label with so many members means 0, 1, ... up to ``most`` given ones of them."""
    size, wanted = members[:, None].astype(np.float64), np.arange(most + 1)
    if mode == "subset":
        return np.exp2(-wanted) / (1 - np.exp2(-size))  # 2**(s - j) / (2**s - 1), without the large powers
    if mode == "uniform":
        return size**-wanted
    return np.ones((len(members), most + 1)) * ((size == 1) | (mode == "optimistic"))


# --- Answers: what a release says of each query, and how far that is off


@dataclass(frozen=True, eq=False, slots=True)
class Answers:
    """Answers to a workload, and how far they are off. ``are, table = answers`` unpacks the first two.

    Parameters
    ----------
    are : float
        Average relative error over the queries that have one; NaN if none has.
    table : pandas.DataFrame
        One row a query, in the order of the workload: ``actual`` (count in the original), ``estimate``
        (from the release) and ``error``; NaN where that is left out because nothing matches in the original.
    mode : str
        How a label was read.
    """

    are: float
    table: pd.DataFrame
    mode: Mode

    def __iter__(self) -> Iterator[Any]:
        return iter((self.are, self.table))

    def __repr__(self) -> str:
        queries = f"queries={len(self.table)}, left_out={self._left_out()}"
        return f"Answers(are={self.are:.4g}, {queries}, mode={self.mode!r})"

    def _repr_html_(self) -> str:
        error = f"{self.are:.4g} on average, relative to the actual count"
        queries = f"{len(self.table):,}, of which {self._left_out():,} have none"
        return facts("Answers", [("error", error), ("queries", queries), ("estimate", self.mode)])

    def _left_out(self) -> int:
        return int(self.table["error"].isna().sum())


def answered(
    queries: pd.DataFrame, column: Hashable, original: pd.DataFrame, release: Release, mode: Mode, least: int
) -> Answers:
    """Answer queries from a release and from the original; `Workload.are` says how.

    Errors are related to ``least`` where the actual count is less.
    """
    check_asked(queries, release.frame, "release")
    wanted = _encoded(queries[column], release.items)
    conditions = [
        Condition.of(queries[label], original[label], release.frame[label])
        for label in queries.columns
        if label != column
    ]
    if conditions:
        release.check_rows()
    itself = Cover.of_itself(release.items, release.items)
    before, after = [each.before() for each in conditions], [each.after() for each in conditions]
    actual = expected_counts(wanted, release.items, itself, "none", before)
    shown = wanted
    if release.chances is not None:
        shown, after = release.chances.shown(wanted), [*after, release.chances.factors(wanted)]
    estimate = expected_counts(shown, release.published, release.cover, mode, after)
    base = np.maximum(actual, least)
    error = np.divide(np.abs(actual - estimate), base, out=np.full(len(base), np.nan), where=base > 0)
    table = pd.DataFrame({"actual": actual.astype(np.int64), "estimate": estimate, "error": error})
    return Answers(float(table["error"].mean()), table, mode)


def check_asked(queries: pd.DataFrame, frame: pd.DataFrame, name: str) -> None:
    """Check that a frame has the columns that are asked about, each once."""
    check_frame(frame, name)
    for label in queries.columns:
        found = int((frame.columns == label).sum())
        if found != 1:
            raise ColumnError(
                f"the workload asks about a column that the {name} {'repeats' if found else 'lacks'}",
                where=f"column {label!r}",
                got=f"columns {list(frame.columns)}",
            )


def _encoded(wanted: pd.Series[Any], items: Itemsets) -> ItemsetTable:
    """The itemsets of the queries in codes of the original."""
    asked = Itemsets.from_series(wanted)
    code_of = items.lookup(asked.vocabulary)
    unknown = code_of[asked.codes] < 0
    if unknown.any():
        raise ParameterError(
            "a query asks for an item that does not occur in the original",
            got=f"{len(np.unique(asked.rows[unknown]))} of {asked.n_rows} queries with "
            f"{int((code_of < 0).sum())} unknown items",
            hint="check the spelling and type of the items",
        )
    return ItemsetTable(code_of[asked.codes], asked.offsets, np.zeros(asked.n_rows, np.int64))


# --- Query answering: how well counts over the original can be estimated from a release


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """COUNT queries: how many rows hold these items, and have these values.

    Make one with `itemsets`, `frequent`, `rt` or `from_frame`, which check it.

    Parameters
    ----------
    queries : pandas.DataFrame
        One row a query. The list column has the items that a row must hold. Any other column has the
        condition on the column of that name: an interval closed on both sides, or a value; missing where
        there is none.
    column : hashable
        Label of the list column, in the queries as in the data.

    Notes
    -----
    The queries are about original items and values: a workload is not part of a release.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["a", "b"], ["a"], ["b", "c"], ["c"]]})
    >>> workload = pdanon.Workload.from_frame(pd.DataFrame({"items": [["a"], ["b", "c"]]}))
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> workload.are(df, result)
    Answers(are=0.1429, queries=2, left_out=0, mode='subset')
    """

    queries: pd.DataFrame
    column: Hashable

    @classmethod
    def from_frame(cls, queries: pd.DataFrame, column: Hashable | None = None) -> Workload:
        """Read queries from a frame.

        Parameters
        ----------
        queries : pandas.DataFrame
            As the parameter of the class.
        column : hashable, optional
            Its list column. By default the only one.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError
            If there is no query, one asks for nothing, or a condition is of another kind.
        ColumnError, ItemsetDtypeError
            If there is no list column, or it does not hold sets of items.
        """
        position = find_column(queries, column)
        asked = Itemsets.from_series(queries.iloc[:, position]).lengths > 0
        for i, label in enumerate(queries.columns):
            if i == position:
                continue
            check_condition(queries.iloc[:, i], label)
            asked |= queries.iloc[:, i].notna().to_numpy(np.bool_)
        if not len(queries) or not asked.all():
            raise ParameterError(
                "a query must ask for an item or a value, and there must be one",
                where="queries",
                got=f"{int((~asked).sum())} empty of {len(queries)} queries",
            )
        return cls(queries.reset_index(drop=True), queries.columns[position])

    @classmethod
    def itemsets(
        cls,
        frame: pd.DataFrame,
        n: int = 1000,
        size: int = 5,
        *,
        column: Hashable | None = None,
        items: Iterable[Any] | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Workload:
        """Draw itemsets of one size, as the experiments of [1]_ do.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        n : int
            Number of queries.
        size : int
            Items of each.
        column : hashable, optional
            The list column. By default the only one.
        items : iterable, optional
            Draw from these items only, such as those that a release generalized. By default from all.
        random_state : int, Generator or None
            Seed, or source of randomness.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError
            If n or size is below 1, an item does not occur, or no row holds so many of the items.

        Notes
        -----
        A row is drawn among those with at least ``size`` of the items, all alike, and then that many of its
        items, all subsets alike. So every query has an answer above 0, which the relative error needs;
        itemsets of many rows are drawn more often. [1]_ does not say how it draws.

        References
        ----------
        .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
           Anonymization", Transactions on Data Privacy 5, 2012.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["a", "b"], ["a", "b"], ["b"]]})
        >>> pdanon.Workload.itemsets(df, n=2, size=2, random_state=1).queries
                 items
        0  ['a' 'b']
        1  ['a' 'b']
        """
        n, size = check_count(n, "n", least=1, most=MOST_DRAWN), check_count(size, "size", least=1)
        position = _list_position(frame, column)
        sets = Itemsets.from_series(frame.iloc[:, position])
        if items is not None:
            sets = holding_only(sets, read_list(items, "items"))
        rng = random_generator(random_state)
        rows = draw_rows(np.flatnonzero(sets.lengths >= size), n, size, rng, f"rows with {size} items")
        return cls.from_frame(query_frame(frame.columns[position], sets, rows, size, rng))

    @classmethod
    def frequent(
        cls,
        frame: pd.DataFrame,
        n: int = 1000,
        min_support: float = 0.05,
        *,
        column: Hashable | None = None,
        random_state: int | np.random.Generator | None = None,
        progress: bool = False,
    ) -> Workload:
        """Draw frequent itemsets, as the experiments of [1]_ on medical data do.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        n : int
            Number of queries; all frequent itemsets if there are fewer.
        min_support : float
            Least share of the rows that hold an itemset, in (0, 1].
        column : hashable, optional
            The list column. By default the only one.
        random_state : int, Generator or None
            Seed, or source of randomness.
        progress : bool
            Show that it goes on: the parts that are done, which are as many as it takes.

        Returns
        -------
        Workload
            Frequent itemsets of any size, none twice; by size, then by items.

        Raises
        ------
        ParameterError
            If n is below 1, min_support is outside (0, 1], no itemset is frequent or more than 1,000,000
            are, or mlxtend is missing: ``pip install 'pdanon[patterns]'``.

        Notes
        -----
        All frequent itemsets are listed, and n of them drawn, all alike. Where rows are long and alike there
        are too many; a larger ``min_support``, or `itemsets`, which lists nothing, is for these.

        References
        ----------
        .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
           Anonymization", Transactions on Data Privacy 5, 2012.
        """
        from pdanon.evaluation.metrics.queries import frequent_itemsets

        n = check_count(n, "n", least=1, most=MOST_DRAWN)
        position = _list_position(frame, column)
        found = frequent_itemsets(frame, column, min_support=min_support, progress=progress)
        if not len(found):
            raise ParameterError(
                "no itemset is frequent", where="min_support", got=f"{min_support}, {len(frame)} rows"
            )
        rng = random_generator(random_state)
        chosen = np.sort(rng.permutation(len(found))[:n])
        return cls.from_frame(pd.DataFrame({frame.columns[position]: found["itemset"].iloc[chosen]}))

    @classmethod
    def rt(
        cls,
        frame: pd.DataFrame,
        quasi: Sequence[Hashable],
        n: int = 100,
        relational: int = 1,
        items: int = 2,
        *,
        width: float = 0.0,
        column: Hashable | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Workload:
        """Draw queries about values and items together, as the experiments of [1]_ do.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        quasi : sequence of hashable
            Labels of the columns that conditions may be on.
        n : int
            Number of queries.
        relational : int
            Conditions of each query, on as many of the columns.
        items : int
            Items of each query.
        width : float
            Width of the ranges asked of numbers and times, as a share of the column's range, in [0, 1].
            0 asks for one value, as all other columns do.
        column : hashable, optional
            The list column. By default the only one.
        random_state : int, Generator or None
            Seed, or source of randomness.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError
            If a number is out of range, or no row has so many items and all values.
        ColumnError
            If a column does not exist.

        Notes
        -----
        A row is drawn among those with at least so many items and no missing value in the columns; then
        its items and columns. The conditions are its values, or ranges around them. So every query has an
        answer above 0.

        References
        ----------
        .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with
           Relational and Transaction Attributes", ECML PKDD 2013.
        """
        n, items = check_count(n, "n", least=1, most=MOST_DRAWN), check_count(items, "items", least=0)
        relational, share = check_count(relational, "relational", least=0), float(check_share(width, "width"))
        positions = find_quasi(frame, quasi)
        if relational > len(positions):
            got = f"{relational} conditions on {len(positions)} columns"
            raise ParameterError("each condition is on a column of its own", where="relational", got=got)
        position = _list_position(frame, column)
        sets = Itemsets.from_series(frame.iloc[:, position])
        complete = frame.iloc[:, positions].notna().all(axis=1).to_numpy(np.bool_)
        able = np.flatnonzero(complete & (sets.lengths >= items))
        rng = random_generator(random_state)
        rows = draw_rows(able, n, items, rng, f"rows with {items} items and all of {len(positions)} values")
        queries = query_frame(frame.columns[position], sets, rows, items, rng)
        asked = rng.random((n, len(positions))).argsort(axis=1).argsort(axis=1) < relational
        for place, mask in zip(positions, asked.T, strict=True):
            queries[frame.columns[place]] = draw_conditions(frame.iloc[:, place], rows, mask, share)
        return cls.from_frame(queries, frame.columns[position])

    @classmethod
    def read_parquet(cls, path: str | os.PathLike[str], column: Hashable | None = None) -> Workload:
        """Read what `to_parquet` wrote.

        Parameters
        ----------
        path : path
            The file.
        column : hashable, optional
            Its list column. By default the only one.

        Raises
        ------
        FormatError, ColumnError, ParameterError
            If the file cannot be read, or does not hold queries.
        """
        return cls.from_frame(read_parquet(path), column)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the queries to a Parquet file, to ask the same of several releases.

        Parameters
        ----------
        path : path
            The file, which appears whole or not at all. The queries are itemsets of the original: a new
            file can be read by its owner alone.
        """
        with replace_file(path, confidential=True) as draft:
            to_parquet(self.queries, draft)

    def are(
        self,
        original: pd.DataFrame,
        released: Anonymized | pd.DataFrame,
        mapping: pd.DataFrame | None = None,
        *,
        hierarchy: HierarchyLike | None = None,
        mode: Mode = "subset",
        sanity: int | None = None,
        progress: bool = False,
    ) -> Answers:
        """Average relative error of the answers that a release gives.

        Parameters
        ----------
        original : pandas.DataFrame
            The frame that was anonymized.
        released : Anonymized or DataFrame
            A result, or only its frame.
        mapping : pandas.DataFrame, optional
            What the items became, if ``released`` is a frame. Without it and a hierarchy, labels are items.
        hierarchy : Hierarchy, or what describes one, optional
            Labels stand for the leaves of its nodes. By default they stand for the items that became them,
            which are fewer if there are leaves that do not occur.
        mode : {"subset", "uniform", "optimistic", "none"}
            How likely a label that stands for s items means certain j of them: ``"subset"``: every
            non-empty set of the s items is equally likely; ``"uniform"``: ``(1 / s) ** j``;
            ``"optimistic"``: 1, an upper bound; ``"none"``: 0 unless s is 1, a lower bound.
        sanity : int, optional
            Relate errors to this number if the actual count is less. By default a query whose actual
            count is 0 has no error, and is left out of the average.
        progress : bool
            Show that it goes on: the parts that are done, which are as many as it takes.

        Returns
        -------
        Answers
            ``are``, and the ``table`` with ``actual, estimate, error`` of each query.

        Raises
        ------
        ParameterError
            If a query asks for what does not occur in the original, the parts do not belong to each
            other, the release holds bags, the mode is unknown, or there are conditions and the frames
            differ in their index.
        ColumnError
            If the original or the release lacks a column that is asked about.

        See Also
        --------
        Workload : An example.

        Notes
        -----
        The relative error is ``abs(actual - estimate) / actual``. The estimate is the sum over the released
        rows of the likelihood that the original one matches: the product over the labels it needs and over
        its conditions. A released interval is taken to be evenly filled, by whole numbers if the original
        has only those; any other released value stands equally for the values that were released as it.
        For this, a workload with conditions needs both frames in the same order.

        Local recodings: a label stands for the items that became it in any group, since the groups are not
        part of the release. A row that holds several labels of an item is read by the most specific one.
        A suppressed item is in no row. One that `cahd` counts by groups is in each row of a group with the
        same likelihood, its count over the size of the group, if ``released`` is the result.

        Cost: for each query the rows that hold its rarest item's labels; the threads share them.

        References
        ----------
        .. [1] K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-aware Anonymization", KDD 2006.
        """
        check_known(mode, get_args(Mode), "mode", where="mode")
        least = 0 if sanity is None else check_count(sanity, "sanity", least=1, most=MOST_DRAWN)
        check_asked(self.queries, original, "original")
        with show_activity(progress, "answers"):
            release = Release.of(original, released, mapping, hierarchy, self.column)
            return answered(self.queries, self.column, original, release, mode, least)

    def __repr__(self) -> str:
        conditions = [label for label in self.queries.columns if label != self.column]
        return f"Workload(queries={len(self.queries)}, column={self.column!r}, conditions={conditions})"

    def _repr_html_(self) -> str:
        return facts(f"Workload: {len(self.queries):,} queries", [("on", ", ".join(map(str, self.queries)))])


def _list_position(frame: pd.DataFrame, column: Hashable | None) -> int:
    """The position of the list column of a table whose rows are records: queries count these."""
    refuse_chunks(check_frame(frame))
    return find_column(frame, column)
