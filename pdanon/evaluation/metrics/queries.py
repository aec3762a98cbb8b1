"""Query answering: the error of counts that are estimated from a release."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, ParameterError
from pdanon.evaluation.metrics.association_rules import frequent_itemsets
from pdanon.evaluation.metrics.estimates import (
    Condition,
    Mode,
    Release,
    check_condition,
    draw_conditions,
    expected_counts,
    expected_in_bags,
    restore_counts,
    subsets,
)
from pdanon.guarantees.parameters import check_share
from pdanon.hierarchy import HierarchyLike
from pdanon.io.files import replace_file
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.cards import card
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Numbers, as_itemsets
from pdanon.itemsets.columns import find_column, find_quasi, list_column
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import Floats, mask_at
from pdanon.itemsets.support import ItemsetTable
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import (
    MOST_DRAWN,
    FilePath,
    check_count,
    check_frame,
    check_known,
    random_generator,
    read_list,
)
from pdanon.recoding.identification import draw_subsets
from pdanon.recoding.recoding import Cover
from pdanon.recoding.result import Anonymized

MOST_IN_BAGS = 12  # a query of bags is a sum over the subsets of its items
_MOST_ITEMS = 2 * 10**8  # of all queries together
_BYTES = 50  # peak memory per item of a query


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class Answers:
    """Answers to a workload, and their errors. ``are, table = answers`` unpacks the first two fields.

    Parameters
    ----------
    are : float
        Average relative error over the queries with an error; NaN if there are none.
    table : pandas.DataFrame
        One row per query, in the order of the workload: ``actual`` (count in the original), ``estimate``
        (from the release) and ``error``. The error is NaN if no original row matches.
    mode : str
        The interpretation of labels.
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
        queries = f"{len(self.table):,} ({self._left_out():,} without an error)"
        return card("Answers", [("error", error), ("queries", queries), ("estimate", self.mode)])

    def _left_out(self) -> int:
        return int(self.table["error"].isna().sum())


def answer_queries(
    queries: pd.DataFrame, release: Release, mode: Mode, least: int, absent: Hashable | None = None
) -> Answers:
    """Answer queries as `Workload.are`; below ``least`` matching rows, the error is relative to ``least``."""
    check_queried_columns(queries, release.frame, "release", absent)
    original, column = release.original, release.label
    queries, *expanded = without_absent(queries, column, absent)
    wanted = _encode_itemsets(queries[column], release.items)
    labels = [label for label in queries.columns if label != column]
    conditions = [Condition.of(queries[each], original[each], release.frame[each]) for each in labels]
    if conditions:
        release.check_rows()
    itself = Cover.of_itself(release.items, release.items)
    before, after = [each.before() for each in conditions], [each.after() for each in conditions]
    actual = expected_counts(wanted, release.items, itself, "none", before)
    shown = wanted
    if release.chances is not None:
        shown, after = release.chances.remove_hidden(wanted), [*after, release.chances.factors(wanted)]
    if release.bags is None:
        estimate = expected_counts(shown, release.published, release.cover, mode, after)
    else:
        _check_bags(mode, shown)
        estimate = expected_in_bags(shown, release.bags, release.cover, after)
    if mode == "retained":
        estimate = restore_counts(estimate, shown, release.retained)
    owner, sign = expanded
    actual, estimate = (np.bincount(owner, sign * each).astype(np.float64) for each in (actual, estimate))
    base = np.maximum(actual, least)  # without a lower bound, an actual count of 0 has no error
    error = np.divide(np.abs(actual - estimate), base, out=np.full(len(base), np.nan), where=base > 0)
    table = pd.DataFrame({"actual": actual.astype(np.int64), "estimate": estimate, "error": error})
    return Answers(float(table["error"].mean()), table, mode)


def _check_bags(mode: Mode, queries: ItemsetTable) -> None:
    if mode != "subset":
        hint = 'leave mode= out: each label of a bag stands for one item, so that "subset" is known'
        raise ParameterError("a release of bags has no such estimate", where="mode", got=mode, hint=hint)
    if (longest := int(queries.lengths.max(initial=0))) > MOST_IN_BAGS:
        problem = f"a query of bags may have at most {MOST_IN_BAGS} items"
        raise ParameterError(problem, where="queries", got=f"{longest} items")


def check_queried_columns(
    queries: pd.DataFrame, frame: pd.DataFrame, name: str, absent: Hashable | None = None
) -> None:
    """Check that a frame has each column of the queries once, except that of the absent items."""
    check_frame(frame, name)
    for label in queries.columns:
        if absent is not None and label == absent:
            continue
        found = int((frame.columns == label).sum())
        if found != 1:
            problem = f"the workload has a column that the {name} {'repeats' if found else 'lacks'}"
            raise ColumnError(problem, where=f"column {label!r}", got=f"columns {list(frame.columns)}")


def _encode_itemsets(wanted: pd.Series[Any], items: Itemsets) -> ItemsetTable:
    """Encode the itemsets of the queries with the codes of the original."""
    queried = Itemsets.from_series(wanted)
    found = queried.in_codes_of(items)
    unknown = int((found.lengths < queried.lengths).sum())
    if unknown:
        got = f"{unknown} of {queried.n_rows} queries"
        got += f" with {queried.n_items - len(np.unique(found.codes))} unknown items"
        hint = "check the spelling and type of the items"
        raise ParameterError("a query has an item that does not occur in the original", got=got, hint=hint)
    return ItemsetTable.listed(found.codes, found.offsets)


# --- Workloads


@constructed_by_name
@holds_tables
@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """COUNT queries: the number of rows that contain an itemset and satisfy conditions on other columns.

    Create a workload with `itemsets`, `frequent`, `rt` or `from_frame`, which check it.

    Parameters
    ----------
    queries : pandas.DataFrame
        One row per query. The list column has the items that a row must contain. Any other column has the
        condition on the column of the same name: a value, or an interval closed on both sides. A missing
        value is no condition.
    column : hashable
        Label of the list column, in the queries and in the data.
    absent : hashable, optional
        Label of a column of the queries with the items that a row must not contain.

    Notes
    -----
    The queries contain original items and values: do not publish a workload with a release.

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
    absent: Hashable | None = None

    @classmethod
    def from_frame(
        cls, queries: pd.DataFrame, column: Hashable | None = None, *, absent: Hashable | None = None
    ) -> Workload:
        """Read queries from a frame.

        Parameters
        ----------
        queries : pandas.DataFrame
            The queries, as in `Workload`.
        column : hashable, optional
            The list column. By default the only one.
        absent : hashable, optional
            Label of the column with absent items, if there is one. Pass ``column``, too.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError, ColumnError, ItemsetDtypeError
            If there is no query, a query has neither an item nor a condition, or a condition is neither a
            value nor a closed interval. If a query has more than 10 absent items, or one that is present. If
            there is no list column of sets of items.
        """
        if absent is not None and column is None:
            hint = "pass both: column= of the present items, absent= of the others"
            raise ParameterError("absent needs column", where="absent", hint=hint)
        position = find_column(queries, column)
        sets = Itemsets.from_series(queries.iloc[:, position])
        nonempty = sets.lengths > 0
        if absent is not None:
            nonempty |= check_absent(queries, sets, absent).lengths > 0
        for i, label in enumerate(queries.columns):
            if i != position and (absent is None or label != absent):
                check_condition(queries.iloc[:, i], label)
                nonempty |= queries.iloc[:, i].notna().to_numpy(np.bool_)
        if not len(queries) or not nonempty.all():
            problem = "every query needs an item or a value, and a workload needs a query"
            got = f"{int((~nonempty).sum())} empty of {len(queries)} queries"
            raise ParameterError(problem, where="queries", got=got)
        return cls(queries.reset_index(drop=True), queries.columns[position], absent)

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
        """Draw itemsets of one size, as in the experiments of [1]_.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        n : int
            Number of queries.
        size : int
            Number of items per query.
        column : hashable, optional
            The list column. By default the only one.
        items : iterable, optional
            The items to draw from, such as those that a release generalized. By default all.
        random_state : int, Generator or None
            Seed or generator of the random numbers; None is the seed 0.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError
            If n or size is below 1, an item does not occur, or no row contains ``size`` of the items.

        Notes
        -----
        Each query is drawn in two steps: a row among those with at least ``size`` of the items, then a
        subset of its items, both uniformly. Therefore every actual count is above 0, as the relative error
        requires, and itemsets with a high support are drawn more often. [1]_ does not describe its sampling.

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
        lists = _find_lists(frame, column)
        sets = Itemsets.from_series(lists)
        if items is not None:
            sets = _keep_items(sets, read_list(items, "items"))
        rng = random_generator(random_state)
        able = np.flatnonzero(sets.lengths >= size)
        queries, _ = _draw_queries(lists.name, sets, able, n, size, rng, f"rows with {size} items")
        return cls.from_frame(queries)

    @classmethod
    def frequent(
        cls,
        frame: pd.DataFrame,
        n: int = 1000,
        min_support: float = 0.05,
        *,
        column: Hashable | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Workload:
        """Draw frequent itemsets, as in the experiments on medical data of the paper of `itemsets`.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        n : int
            Number of queries. If there are fewer frequent itemsets, all of them.
        min_support : float
            Minimum share of the rows that contain an itemset, in (0, 1].
        column : hashable, optional
            The list column. By default the only one.
        random_state : int, Generator or None
            Seed or generator of the random numbers; None is the seed 0.

        Returns
        -------
        Workload
            Distinct frequent itemsets of any size, ordered by size, then by items.

        Raises
        ------
        ParameterError
            If n is below 1, min_support is outside (0, 1], or no itemset is frequent or more than
            1,000,000 are.

        Notes
        -----
        All frequent itemsets are listed, and n of them are drawn uniformly. If rows are long and similar,
        there are too many to list: pass a larger ``min_support``, or use `itemsets`, which lists nothing.
        """
        n = check_count(n, "n", least=1, most=MOST_DRAWN)
        lists = _find_lists(frame, column)
        found = frequent_itemsets(frame, column, min_support=min_support)
        if not len(found):
            got = f"{min_support}, {len(frame)} rows"
            raise ParameterError("no itemset is frequent", where="min_support", got=got)
        rng = random_generator(random_state)
        chosen = np.sort(rng.permutation(len(found))[:n])
        return cls.from_frame(pd.DataFrame({lists.name: found["itemset"].iloc[chosen]}))

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
        """Draw queries on values and items, as in the experiments of [1]_.

        Parameters
        ----------
        frame : pandas.DataFrame
            The original.
        quasi : sequence of hashable
            Labels of the columns that may have conditions.
        n : int
            Number of queries.
        relational : int
            Number of conditions per query, each on another column.
        items : int
            Number of items per query.
        width : float
            Width of the intervals on numbers and times, as a share of the range of the column, in [0, 1].
            With 0, the condition is a single value, as on all other columns.
        column : hashable, optional
            The list column. By default the only one.
        random_state : int, Generator or None
            Seed or generator of the random numbers; None is the seed 0.

        Returns
        -------
        Workload

        Raises
        ------
        ParameterError, ColumnError
            If a number is out of range, a column does not exist, or no row has ``items`` items and no missing
            value.

        Notes
        -----
        Each query is drawn in two steps: a row with at least ``items`` items and no missing value in the
        columns, then some of its items and columns. The conditions are the values of the row, or intervals
        around them. Therefore every actual count is above 0.

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
            raise ParameterError("more conditions than columns", where="relational", got=got)
        lists = _find_lists(frame, column)
        sets = Itemsets.from_series(lists)
        complete = frame.iloc[:, positions].notna().all(axis=1).to_numpy(np.bool_)
        able = np.flatnonzero(complete & (sets.lengths >= items))
        rng = random_generator(random_state)
        what = f"rows with {items} items and all of {len(positions)} values"
        queries, rows = _draw_queries(lists.name, sets, able, n, items, rng, what)
        chosen = rng.random((n, len(positions))).argsort(axis=1).argsort(axis=1) < relational
        for place, mask in zip(positions, chosen.T, strict=True):
            queries[frame.columns[place]] = draw_conditions(frame.iloc[:, place], rows, mask, share)
        return cls.from_frame(queries, lists.name)

    @classmethod
    def read_parquet(
        cls,
        path: FilePath,
        column: Hashable | None = None,
        *,
        absent: Hashable | None = None,
    ) -> Workload:
        """Read a workload that `to_parquet` wrote.

        Parameters
        ----------
        path : path
            The file.
        column : hashable, optional
            The list column. By default the only one.
        absent : hashable, optional
            Label of the column with absent items.

        Raises
        ------
        FormatError, ColumnError, ParameterError
            If the file cannot be read, or does not hold queries.
        """
        return cls.from_frame(read_parquet(path), column, absent=absent)

    def to_parquet(self, path: FilePath) -> None:
        """Write the queries to a Parquet file, to use them for several releases.

        Parameters
        ----------
        path : path
            The file, which appears whole or not at all. The queries contain original itemsets: only the
            owner of a new file can read it.
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
    ) -> Answers:
        """Measure the average relative error (ARE) of the answers that a release gives.

        Parameters
        ----------
        original : pandas.DataFrame
            The frame that was anonymized.
        released : Anonymized or DataFrame
            A result, or only its frame.
        mapping : pandas.DataFrame, optional
            The mapping, if ``released`` is a frame. Without a mapping and a hierarchy, labels are items.
        hierarchy : Hierarchy, or what describes one, optional
            The hierarchy whose nodes are the labels; a label stands for the leaves of its node. By default,
            a label stands for the items that the mapping generalizes to it, which are the leaves that occur.
        mode : {"subset", "uniform", "optimistic", "none", "retained"}
            The probability that a label for s items stands for j given ones. ``"subset"``: every
            non-empty set of the s items is equally likely; ``"uniform"``: ``(1 / s) ** j``;
            ``"optimistic"``: 1, an upper bound; ``"none"``: 0 unless s is 1, a lower bound. ``"retained"``:
            as ``"subset"``, and for deletions: the count divided by the geometric mean of the shares of the
            rows of each item that still have it, by the mapping.
        sanity : int, optional
            If the actual count is below this number, the error is relative to this number. By default, a
            query with an actual count of 0 has no error, and is omitted from the average.

        Returns
        -------
        Answers
            ``are``, and the ``table`` with ``actual, estimate, error`` of each query.

        Raises
        ------
        ParameterError, ColumnError
            If a query has an item or value that does not occur in the original, or a table lacks one of its
            columns; if the parts do not belong together; if the mode is unknown, or ``"retained"`` without
            deletions, or the release holds bags and the mode is not ``"subset"``; or if there are conditions
            and the frames differ in their index.

        Notes
        -----
        The relative error is ``abs(actual - estimate) / actual``. The estimate is the sum over the released
        rows of the probability that the original row matches. This probability is the product over the
        labels of the items and over the conditions.

        Values are uniformly distributed in a released interval; if the original has whole numbers only, over
        its whole numbers. Any other released value stands equally for the values that were generalized to
        it. To know these, a workload with conditions needs both frames in the same order.

        In a local recoding, a label stands for the items that became it in any group, because groups are not
        published. If a row contains several labels of an item, the most specific label counts. In a bag, as
        of `clump`, each label stands for one item: a label that a row has c times stands for c different
        items, any of its own equally likely, and all labels of an item count. A suppressed
        item is in no row. `cahd` counts sensitive items by groups: if ``released`` is the result, the
        probability in each row of a group is the count divided by the size of the group.

        After `local_suppression`, counts are lower bounds. With ``"retained"``, those of single items are
        exact, and those of frequent pairs are nearer on average, but still too low: items are deleted where
        they make rare pairs. The mapping is secret, so only its owner can estimate in this way.
        Cost: for each query, the rows with a label of its rarest item, split among the threads.

        References
        ----------
        .. [1] K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-aware Anonymization", KDD 2006.
        """
        check_known(mode, get_args(Mode), "mode", where="mode")
        least = 0 if sanity is None else check_count(sanity, "sanity", least=1, most=MOST_DRAWN)
        check_queried_columns(self.queries, original, "original", self.absent)
        with show_activity("answers"):
            release = Release.of(original, released, mapping, hierarchy, self.column, bags=True)
            return answer_queries(self.queries, release, mode, least, self.absent)

    def __repr__(self) -> str:
        others = (self.column,) if self.absent is None else (self.column, self.absent)
        conditions = [label for label in self.queries.columns if label not in others]
        absent = "" if self.absent is None else f", absent={self.absent!r}"
        return (
            f"Workload(queries={len(self.queries)}, column={self.column!r}{absent}, conditions={conditions})"
        )

    def _repr_html_(self) -> str:
        return card(f"Workload: {len(self.queries):,} queries", [("on", ", ".join(map(str, self.queries)))])


def _find_lists(frame: pd.DataFrame, column: Hashable | None) -> pd.Series[Any]:
    """Return the list column of a table with one row per record: queries count records."""
    refuse_chunks(check_frame(frame))
    return list_column(frame, column)


# --- Queries with absent items: rows that contain some items and none of others


MOST_ABSENT = 10  # a query with absent items is a sum over their subsets


def check_absent(queries: pd.DataFrame, present: Itemsets, absent: Hashable) -> Itemsets:
    """Check the absent items of queries: few, and other ones than the present items."""
    gone = Itemsets.from_series(list_column(queries, absent))
    if (longest := int(gone.lengths.max(initial=0))) > MOST_ABSENT:
        problem = f"a query may have at most {MOST_ABSENT} absent items"
        raise ParameterError(problem, where="absent", got=f"{longest} items")
    shared = gone.in_codes_of(present)
    pairs, cells = (each.rows * present.n_items + each.codes for each in (present, shared))
    both = np.isin(cells, pairs)
    if both.any():
        got = f"{len(np.unique(shared.rows[both]))} of {gone.n_rows} queries"
        raise ParameterError("an item is both present and absent in a query", where="absent", got=got)
    return gone


def without_absent(
    queries: pd.DataFrame, column: Hashable, absent: Hashable | None
) -> tuple[pd.DataFrame, Numbers, Floats]:
    """Return queries without absent items, and the query and the sign, 1 or -1, of each."""
    if absent is None:
        return queries, np.arange(len(queries)), np.ones(len(queries))
    present, gone = (
        [[*row] if pd.api.types.is_list_like(row) else [] for row in queries[label]]
        for label in (column, absent)
    )
    added = [
        (number, sorted({*present[number], *more}), 1.0 - 2 * (len(more) % 2))
        for number, items in enumerate(gone)
        for more in subsets(items)
    ]
    owner = np.array([number for number, *_ in added], np.int64)
    every = queries.drop(columns=absent).iloc[owner].reset_index(drop=True)
    every[column] = as_itemsets(pd.Series([items for _, items, _ in added], dtype=object))
    return every, owner, np.array([sign for *_, sign in added])


def _draw_queries(
    label: Hashable, sets: Itemsets, able: Numbers, n: int, size: int, rng: np.random.Generator, what: str
) -> tuple[pd.DataFrame, Numbers]:
    """Draw a row for each of n queries, and a number of its items as a list column; return the rows, too."""
    if n * size > _MOST_ITEMS:
        got = f"{n:,} queries of {size} items: about {n * size * _BYTES / 1e9:.0f} GB"
        hint = "draw fewer queries, or smaller ones"
        raise ParameterError("too many items in the queries", where="n", got=got, hint=hint)
    if not len(able):
        raise ParameterError("no row to draw queries from", got=f"no {what}")
    rows = rng.choice(able, n)
    drawn = ItemsetTable.listed(*draw_subsets(sets, rows, size, rng)).to_rows(sets.vocabulary)
    return pd.DataFrame({label: drawn.to_pandas()}), rows


def _keep_items(sets: Itemsets, items: list[Any]) -> Itemsets:
    """Return the rows restricted to some items."""
    codes = sets.lookup(items)
    if not len(codes) or (codes < 0).any():
        got = f"{int((codes < 0).sum())} unknown of {len(codes)} items"
        raise ParameterError("queries need items that occur", where="items", got=got)
    return sets.keep_items(mask_at(sets.n_items, codes))
