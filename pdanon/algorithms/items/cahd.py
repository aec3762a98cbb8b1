"""CAHD: group each row with a sensitive item with similar rows, and publish sensitive items per group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import row_partitions
from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.items.pcta import merge_items, refine_sets
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import CutTask, by_first_row
from pdanon.errors import EmptiedWarning, InfeasibleError, ParameterError, warn
from pdanon.guarantees import KmAnonymity, SensitiveGroups
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import Floats
from pdanon.itemsets.support import SupportIndex, by_support, check_feasible, csr, ranks_of
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count, check_flag, check_known, random_generator
from pdanon.recoding.counts import FEW
from pdanon.recoding.decision import ListDecision, decide_lists, hide_emptied
from pdanon.recoding.loss import Remaining, draw_pairs, pair_error
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

# --- The release: rows with sensitive items as counts of their groups

# Ghinita, Tao, Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.


_QUERIES, _SIZE = 100, 4  # of the loss KL


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The original rows, and groups with the counts of their sensitive items."""

    # A user of the release assumes that all rows of a group have a sensitive item with the same probability.
    # This *chance* is the count of the item in the group over the size of the group. A label stands for each
    # of its items with the same probability.

    itemsets: Itemsets
    recoding: Recoding  # the same in the whole table; rows do not show the suppressed items
    groups: NDArray[Any]  # of each row, from 0 on
    is_sensitive: Mask  # items that groups count, and rows do not show

    @cached_property
    def is_shown(self) -> Mask:
        """Mask of the items that rows show, as a label."""
        return self.recoding.targets >= 0

    @cached_property
    def sizes(self) -> Numbers:
        """Number of rows of each group."""
        return np.bincount(self.groups)

    def classes(self) -> pd.DataFrame:
        """Return the published table: ``group, size, item, count``."""
        # By group, then by item. A group without a sensitive item has one line with a missing item, -1.
        hidden = self.is_sensitive[self.itemsets.codes]
        of_hidden = self.groups[self.itemsets.rows[hidden]]
        without = np.setdiff1d(self.groups, of_hidden)
        n_items = self.itemsets.n_items + 1
        cells = np.concatenate((of_hidden, without)) * np.int64(n_items)
        cells[: len(of_hidden)] += self.itemsets.codes[hidden] + 1
        cells, counts = np.unique(cells, return_counts=True)
        group, item = np.divmod(cells, n_items)
        values = self.itemsets.vocabulary.take(pa.array(item - 1, mask=item == 0))
        return pd.DataFrame(
            {
                GROUP: group,
                "size": self.sizes[group],
                "item": pd.arrays.ArrowExtensionArray(values),
                "count": np.where(item == 0, 0, counts),
            }
        )

    def losses(self) -> dict[str, float]:
        """Return the losses of both tables together; the counts of sensitive items are exact."""
        singles = self._published.singles(exact=self.is_sensitive)
        return {"singles": singles, "pairs": self.pairs(), "KL": self.mean_kl()}

    def pairs(self) -> float:
        """Return the average relative error of the counts of pairs of items, sampled as for any release."""
        codes, times = draw_pairs(self.itemsets)
        offsets = np.arange(0, codes.size + 1, 2)
        actual = self._index.supports(codes.ravel(), offsets)
        estimate, hidden = self._published.together(codes), self.is_sensitive[codes].any(axis=1)
        estimate[hidden] = [self._together(*pair) for pair in codes[hidden].tolist()]
        return pair_error((actual, estimate), times)

    def mean_kl(self) -> float:
        """Return the mean reconstruction error of 100 queries of up to 4 public items, with a fixed seed."""
        rng = random_generator(None)
        queries = self.draw_queries(_QUERIES, _SIZE, rng)
        return float(np.mean([self.kl(secret, items) for secret, items in queries])) if queries else 0.0

    def draw_queries(self, n: int, size: int, rng: np.random.Generator) -> list[tuple[int, Numbers]]:
        """Draw queries uniformly: codes of a sensitive item and of up to ``size`` public ones."""
        secrets, public = np.flatnonzero(self.is_sensitive), np.flatnonzero(self.is_shown)
        if not len(secrets) or not len(public):
            return []
        size = min(size, len(public))
        return [(int(rng.choice(secrets)), rng.choice(public, size, replace=False)) for _ in range(n)]

    def kl(self, secret: int, items: Iterable[int]) -> float:
        """Return the reconstruction error of a query: the divergence of the estimate from the truth, in nats.

        The rows with a sensitive item are divided into cells, by the public items that they have. ``Act`` is
        the share of each cell. ``Est`` is its expectation by the chances of the groups. The error is the sum
        of ``Act * log(Act / Est)`` over the cells.
        """
        codes = np.fromiter(items, np.int64)
        labels = self.recoding.targets[codes]
        held = np.zeros(self.itemsets.n_rows)
        held[_rows_with(secret, self._index)] = 1
        actual = self._by_cell(self._index, codes, held)
        estimate = self._by_cell(self._published.index, labels, self._chance(secret)[self.groups])
        for place, size in enumerate(self._published.sizes[labels].tolist()):
            without, having = estimate.reshape(-1, 2, 1 << place).swapaxes(0, 1)
            without += having * (1 - 1 / size)  # the rows that have the label for another of its items
            having /= size
        there = actual > 0  # the estimate is then positive: a row with the item has a chance
        share = actual[there] / held.sum()
        return float(share @ np.log(share / (estimate[there] / held.sum())))

    def _by_cell(self, index: SupportIndex, codes: NDArray[Any], weights: Floats) -> Floats:
        """Return the sums of row weights by cell, a number whose bits are the codes of a row."""
        cell, touched = self._cells, [np.empty(0, np.int32)]
        for place, code in enumerate(codes):
            holders = _rows_with(code, index)
            touched.append(holders[cell[holders] == 0])  # each row is listed once
            cell[holders] |= 1 << place
        rows = np.concatenate(touched)
        sums = np.bincount(cell[rows], weights[rows], minlength=1 << len(codes)).astype(np.float64)
        cell[rows] = 0
        sums[0] = weights.sum() - sums.sum()
        return sums

    @cached_property
    def _index(self) -> SupportIndex:
        return SupportIndex.of(self.itemsets)

    @cached_property
    def _published(self) -> Remaining:
        """The public items that rows show."""
        return Remaining.of(self.itemsets, self.recoding, self.recoding.changes(self.itemsets))

    @cached_property
    def _cells(self) -> Numbers:
        """Work space: 0 for each row, reset after each use."""
        return np.zeros(self.itemsets.n_rows, np.int64)

    def _chance(self, secret: int) -> Floats:
        """Return the chance of a sensitive item in each group."""
        counts = np.bincount(self.groups[_rows_with(secret, self._index)], minlength=len(self.sizes))
        return counts / self.sizes

    def _together(self, one: int, other: int) -> float:
        """Return the expected number of rows with two items, at least one of them sensitive."""
        if not self.is_sensitive[one]:
            one, other = other, one
        chance = self._chance(one)
        if self.is_sensitive[other]:
            return float((chance * self._chance(other)) @ self.sizes)
        label = self.recoding.targets[other]
        if label < 0:
            return 0.0
        rows = _rows_with(label, self._published.index)
        return float(chance[self.groups[rows]].sum() / self._published.sizes[label])


def _rows_with(code: int, index: SupportIndex) -> Codes:
    """Return the rows with a code."""
    starts, tids, _ = index.transpose
    return tids[starts[code] : starts[code + 1]]


# --- The algorithm


_BATCH = 256  # rows processed between reports, at most
_WORK = 30_000_000  # items compared between reports, at most: some tenths of a second

Order: TypeAlias = Literal["nn", "gray", "rcm"]


@called_by_name
def cahd(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    p: int,
    sensitive: Iterable[Any],
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    hierarchy: HierarchyLike | None = None,
    refine: bool = True,
    order: Order = "nn",
    alpha: int = 3,
) -> Anonymized:
    """Publish public items as they are, and sensitive items as counts per group of similar rows.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, without a column or index level ``group``; and its list column, by default the
        only one.
    p : int
        A sensitive item is in at most 1/p of the rows of a group; at least 2.
    sensitive : iterable
        The sensitive items, as in the frame. All other items are public.
    k : int, optional
        Protect identity as well: minimum number of rows that match the public items of a row; at least 2.
        Public items are then generalized. Without k, they are published as they are.
    m : int or None
        With k: maximum number of public items that the attacker knows. None: all public items of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        With k: generalize to nodes of this hierarchy, as for ``Hierarchy.of``; it may lack sensitive items.
    refine : bool
        With k: move items between the sets afterwards, as `pdanon.refine` does, to lower the loss of the
        public items. Nodes of a hierarchy are not refined.
    order : {"nn", "gray", "rcm"}
        The candidates for a group: all rows; neighbors in the order of the Gray code of the public items; or
        neighbors in the order of a band matrix, by the reverse Cuthill-McKee algorithm.
    alpha : int
        A row is compared with ``alpha * p`` neighbors on each side; at least 1. With ``"nn"``, neighbors are
        used only if too few rows share a public item with it.

    Returns
    -------
    Anonymized
        A release of two tables. ``frame`` has the public items of each row and a last column ``group``.
        Without k, public items keep their type. ``classes`` counts each sensitive item per group, in the
        columns ``group``, ``size``, ``item`` and ``count``. A group without sensitive items has one line,
        whose item is missing. ``loss`` has ``KL``, and its ``singles`` and ``pairs`` count both tables
        together. The other measures count the rows alone, without sensitive items.

    Raises
    ------
    InfeasibleError
        If a sensitive item is in more than 1/p of the rows that are not missing: the message states the
        largest p that works. Or if some rows contain a public item, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy, the column or a parameter is invalid; if a sensitive item does not occur, or no
        public item exists; if the frame has a column or index level named ``group``; or if m or a hierarchy
        is passed without k.

    Warns
    -----
    EmptiedWarning
        If more than 1/p of the rows published as empty had sensitive items, in tables of at least 20 rows.

    Notes
    -----
    Guarantee: ``SensitiveGroups(p, sensitive)``, with ``k`` and ``m`` if they are passed. The public items
    then become sets as by `pcta`, refined, or nodes as by `apriori`, before the rows are grouped.

    Rows with a sensitive item take turns, in the order of the rows. The candidates of a row are the nearest
    ungrouped rows on either side that share no sensitive item with it or with a nearer candidate. The row
    forms a group with the ``p-1`` candidates that have the most public items in common (ties: the nearer row,
    then the earlier one), unless a sensitive item would be too frequent in the remaining rows. Turns repeat
    until none forms a group. The remaining rows are the last group. With ``order="nn"``, turns follow the
    Gray code, and the rows that differ in the fewest public items join, among all rows that share one; if
    these are too few, neighbors join as well.

    Groups are numbered in the order of their first rows. Missing rows become empty rows of the largest group
    in the end, so an attacker may know them. Without k, a row with sensitive items only is published as an
    empty row; with k, there are none or at least k such rows.

    Cost: memory of about 55 bytes per occurrence, 60 with ``"nn"``, 75 with ``"rcm"``, and 150 per row. Each
    row with a sensitive item takes ``2 * alpha * p`` comparisons, each linear in the length of the rows; with
    ``"nn"``, at most all rows that share an item. With k, the cost of `pcta` or `apriori` is added.

    References
    ----------
    .. [1] G. Ghinita, Y. Tao, P. Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.
    .. [2] G. Ghinita, P. Kalnis, Y. Tao, "Anonymous Publication of Sensitive Transactional Data", IEEE
       Transactions on Knowledge and Data Engineering 23(2), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["wine", "meat", "flu"], ["wine", "meat"], ["cream", "gout"], ["cream"], ["wine"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.cahd(p=2, sensitive=["flu", "gout"])
    >>> result.frame
                 items  group
    0  ['meat' 'wine']      0
    1  ['meat' 'wine']      0
    2        ['cream']      1
    3        ['cream']      1
    4         ['wine']      2
    >>> result.classes
       group  size  item  count
    0      0     2   flu      1
    1      1     2  gout      1
    2      2     1  <NA>      0
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns,
    *,
    guarantee: SensitiveGroups,
    hierarchy: HierarchyLike | None,
    refine: bool,
    order: Order,
    alpha: int,
) -> ListDecision:
    """Decide how public items are published, and the group of each row."""
    if hierarchy is not None and guarantee.k is None:
        hint = "pass k= as well; without it, public items are published as they are"
        raise ParameterError("hierarchy is passed without k", where="hierarchy", hint=hint)
    check_flag(refine, "refine")
    check_known(order, get_args(Order), "order", where="order")
    check_count(alpha, "alpha", least=1)
    itemsets = columns.itemsets
    is_sensitive = guarantee.is_sensitive(itemsets)
    index = SupportIndex.of(itemsets)
    secret = index.select(is_sensitive)
    _check_feasible(index.select(~is_sensitive), secret, guarantee.p, itemsets.n_present)
    recoding = Recoding.of_suppressed(is_sensitive, itemsets)
    if guarantee.k is not None:
        hiding = KmAnonymity(guarantee.k, guarantee.m)
        recoding = _generalize_public(itemsets, is_sensitive, hiding, hierarchy, refine)
        recoding = hide_emptied(columns, recoding, hiding)  # before groups are formed
    # Consecutive numbers, on which the order "rcm" depends; sensitive items have -1, the first target.
    numbers = np.unique(recoding.targets, return_inverse=True)[1] - 1
    public = index.recode(numbers, int(numbers.max()) + 1)
    _warn_of_emptied(public, secret, guarantee.p)
    there = np.flatnonzero(~itemsets.nulls)
    groups = groups_of(public.within(there), secret.within(there), guarantee.p, order, alpha)
    of_row = np.full(itemsets.n_rows, np.argmax(np.bincount(groups)), np.int32)  # missing: the largest
    of_row[there] = groups
    groups = by_first_row(of_row)
    grouped = GroupedRows(itemsets, recoding, groups, is_sensitive)
    classes = grouped.classes()
    decided = decide_lists(columns, recoding, guarantee.with_classes(classes))
    for name, value in grouped.losses().items():
        decided = decided.with_loss(name, value)
    rows = replace(decided.rows, classes=classes, added={GROUP: groups.astype(np.int64)})
    return replace(decided, rows=rows)


def _generalize_public(
    itemsets: Itemsets, hidden: Mask, guarantee: KmAnonymity, hierarchy: HierarchyLike | None, refine: bool
) -> Recoding:
    """Generalize the public items to nodes or sets with a guarantee of their own; suppress the others."""
    public = itemsets.keep_items(~hidden)
    check_feasible(SupportIndex.of(public), guarantee.k, public.n_rows)
    became = np.full(itemsets.n_items, -1, np.int32)
    if hierarchy is not None:
        tree, leaves, n_leaves = find_leaves(hierarchy, itemsets.vocabulary, hidden)
        task = CutTask(SupportIndex.of(public), tree, leaves[~hidden], guarantee.k, guarantee.m)
        became[~hidden] = task.protected_cut().nodes
        return Recoding.of_cut(became, tree, n_leaves=n_leaves)
    alone = np.arange(public.n_items, dtype=np.int32)
    labels, _ = merge_items(public, guarantee, first=alone)
    if refine:
        labels, _ = refine_sets(public, labels, guarantee)
    became[~hidden] = labels
    return Recoding.of_clusters(became, itemsets)


def groups_of(public: SupportIndex, secret: SupportIndex, p: int, order: Order, alpha: int) -> Codes:
    """Return the group of each row; groups are numbered by their first rows."""
    n_rows = public.n_rows
    ranked = SupportIndex(by_support(public), public.offsets, public.n_items)
    ranks = ranks_of(ranked.codes, ranked.offsets, ranked.n_items)
    rows = _band_order(public) if order == "rcm" else np.argsort(ranks, kind="stable")
    placed, hidden = ranked.within(rows), secret.within(rows)
    width = min(alpha * p, n_rows)
    state = row_partitions.SensitiveGroups(
        *(p, width, placed.offsets, placed.codes, *placed.transpose[:2], hidden.offsets, hidden.codes),
        *(secret.singles, order == "nn"),
    )
    batch = max(1, min(_BATCH, _WORK // max(1, len(placed.codes))))
    while done := row_partitions.form(batch, state):
        count_steps(done)
    of_place = np.asarray(state.group_of)
    of_row = np.empty(n_rows, np.int64)
    of_row[rows] = of_place
    return by_first_row(of_row)


def _check_feasible(public: SupportIndex, secret: SupportIndex, p: int, n_present: int) -> None:
    """Check that public items exist, and that one group of all rows that are not missing is safe."""
    if not public.n_items:
        hint = "list the sensitive items only; all other items are published row by row"
        got = f"all {secret.n_items} items"
        raise ParameterError("all items are sensitive", where="sensitive", got=got, hint=hint)
    most = int(secret.singles.max())
    if most * p > n_present:  # products of integers: exact
        largest = n_present // most
        raise InfeasibleError(
            "a sensitive item is too frequent: no grouping of the rows is safe",
            where="p",
            got=f"p={p}; it is in {most} of {n_present} rows that are not missing",
            hint=f"the largest p that works is {largest}"
            if largest >= 2
            else "leave it out of the table: more than half of the rows contain it",
        )


def _warn_of_emptied(public: SupportIndex, secret: SupportIndex, p: int) -> None:
    """Warn if more than 1/p of the rows that are published as empty had sensitive items."""
    # If it is known that few rows are empty in the original, such a row reveals that it had a sensitive item.
    empty = public.lengths == 0
    rows, emptied = int(empty.sum()), int((empty & (secret.lengths > 0)).sum())
    if emptied * p > rows and len(empty) >= FEW:
        what = f"{emptied:,} of {rows:,} rows that are published as empty contained sensitive items only"
        hint = "leave these rows out of the table if an attacker may know that no row is empty in it"
        warn(EmptiedWarning(what, hint=hint))


def _band_order(public: SupportIndex) -> Numbers:
    """Return the rows in the order of a band matrix: the edges between rows and items become short."""
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    rows = csr(public.codes, public.offsets, public.n_items, np.int8(1))
    graph = bmat([[None, rows], [rows.T, None]], format="csr")
    order = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
    return order[order < public.n_rows]


RECORD = Algorithm(
    cahd,
    (SensitiveGroups,),
    recodes="groups",
    decide=decide,
    unit="rows",
    keeps_type=True,  # engines never pass k
    adds=(GROUP,),
    ways=(
        Way(SensitiveGroups, 10, {"order": "nn"}),
        Way(SensitiveGroups, 20, {"order": "gray"}),
        Way(SensitiveGroups, 30, {"order": "rcm"}),
    ),
    bytes_per_row=580,
)
