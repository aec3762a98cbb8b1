"""CAHD: rows with a sensitive item join rows that are like them, and only the group says that it is there.

Ghinita, Tao, Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import row_partitions
from pdanon.algorithms.items._clustering import protect
from pdanon.algorithms.items.apriori import covering
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.states.cuts import Cut, by_first_row
from pdanon.algorithms.states.sets_search import Refinement
from pdanon.errors import EmptiedWarning, InfeasibleError, ParameterError, warn
from pdanon.guarantees import KmAnonymity, SensitiveGroups
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.gray_order import gray_ranks
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_feasible, csr
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_count, check_flag, check_known
from pdanon.recoding.counts import FEW
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.emptied import hide_emptied
from pdanon.recoding.grouped import GroupedRows
from pdanon.recoding.labels import Labels
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "Order", "cahd"]

_BATCH = 256  # rows that have their turn between reports, at most
_WORK = 30_000_000  # items that these look at, at most: some tenths of a second

Order: TypeAlias = Literal["nn", "gray", "rcm"]


@called_by_name
def cahd(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    p: int,
    sensitive: Iterable[Any],
    k: int | None = None,
    m: int | None = DEFAULT_M,
    hierarchy: HierarchyLike | None = None,
    refine: bool = True,
    order: Order = "nn",
    alpha: int = 3,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Publish all other items as they are, and sensitive ones as counts of groups of rows that are alike.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person, without a column or index level named ``group``. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    p : int
        At least 2: of a group, a sensitive item is in at most 1/p of the rows.
    sensitive : iterable
        The sensitive items, as the frame has them. All others are public.
    k : int, optional
        Protect identity as well: least number of rows that public items of a row must match; at least 2. The
        public items are then generalized; without k they are published as they are.
    m : int or None
        With k: most public items that the attacker knows; None: all of a row.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        With k: generalize to nodes of this taxonomy, or what ``Hierarchy.of`` makes one of, and not to sets.
        An int is the fan-out of a balanced one over the items in order. Sensitive items need not be in it.
    refine : bool
        With k: move items between the sets afterwards, as `pdanon.refine` does, so that the public items lose
        less. Nodes of a hierarchy are not refined.
    order : {"nn", "gray", "rcm"}
        Where a row looks for rows that are like it: among all rows; among its neighbours in the order of the
        Gray code of the public items; or among those in the order of a band matrix, by the reverse
        Cuthill-McKee algorithm.
    alpha : int
        A row looks at ``alpha * p`` neighbours on each side; at least 1. With ``"nn"`` only where too few
        rows share a public item with it.
    labels : {"set", "short", "first"} or callable
        With k: what sets of public items are called: ``(a,b)``, ``G017``, ``a +1``, or the text that a
        function makes of the list of their items.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A release of two tables. ``frame`` has the public items of each row, without k of their own type, and
        a last column ``group``. ``classes`` says how often each sensitive item is in each group: ``group,
        size, item, count``; a group without any has one line, whose item is missing. ``loss`` has ``KL``, and
        ``singles`` and ``pairs`` count what both tables tell together; the other measures are of the rows
        alone, from which sensitive items are gone.

    Raises
    ------
    InfeasibleError
        If a sensitive item is in more than one in p of the rows that are not missing: the message says the
        largest p that works.
        Or fewer than k, but more than 0, rows hold a public item.
    HierarchyError
        If the hierarchy is not a tree or lacks public items.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be, a sensitive item does not occur, there is no
        other item, the frame has something that is called ``group``, or m or a hierarchy is given without k.

    Warns
    -----
    EmptiedWarning
        If more than one in p of the rows that are published as empty had sensitive items, of 20 rows or more.

    See Also
    --------
    coherence : Protects rows as well, by suppressing public items.
    apriori : With ``l``, public items that match a row give no sensitive one away, whatever its group.

    Notes
    -----
    Guarantee: ``SensitiveGroups(p, sensitive)``, with ``k`` and ``m`` if these are asked for. Then the public
    items are made k^m-anonymous first, beside no sensitive one: merged to sets as by `pcta`, and refined, or
    generalized to nodes as by `apriori`. Groups are formed of rows as they are published, and change none.

    Each row with a sensitive item takes its turn, in the order
    of the rows. Its candidates are the nearest rows on either side that are in no group yet, and share no
    sensitive item with it or with a candidate that is nearer. Those p - 1 that have most public items in
    common with it form a group with it, unless a sensitive item were then too frequent in the rows that are
    left. Turns are taken again until none forms a group. The rows that are left are the last group. Ties: the
    nearer row, then the one before.

    With ``order="nn"`` turns are taken in the order of the Gray code, but a row is joined by those that
    differ from it in the fewest public items, of all rows that share one, one after the other; and by
    neighbours if these are fewer than p - 1.

    Groups are numbered in the order of their first rows, so that their numbers tell nothing. Missing rows
    become empty and are put into the largest group after all groups are formed. Each group hides its
    sensitive items among rows that are not missing, even from an attacker who knows which rows are.

    Without k identity is not protected. A row that holds sensitive items alone is published as an empty one:
    who knows that nobody in the table has no item knows that it had a sensitive one. With k there are none or
    at least k such rows, for which public items may be suppressed.

    Cost: memory of about 55 bytes for each occurrence, 70 with ``"rcm"``, and 150 for each row; time of
    ``2 * alpha * p`` comparisons for each row with a sensitive item, each as long as a row has items, and of
    one for each sensitive item.
    With ``order="nn"`` one pass over the rows that share an item with it, for each row with a sensitive one.
    With k the cost of `pcta` or `apriori` comes first.

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
    decision = partial(
        decide,
        p=p,
        sensitive=sensitive,
        k=k,
        m=m,
        hierarchy=hierarchy,
        refine=refine,
        order=order,
        alpha=alpha,
    )
    return RECORD.release(frame, column, decision, labels=labels, keep=keep, progress=progress)


def decide(
    columns: ListColumns,
    report: Report,
    *,
    p: int,
    sensitive: Any,
    k: int | None,
    m: int | None,
    hierarchy: HierarchyLike | None,
    refine: bool,
    order: Order,
    alpha: int,
) -> Decision[ListRows]:
    """What is published of public items, and which row is in which group."""
    guarantee = SensitiveGroups(p=p, sensitive=sensitive, k=k, m=m)
    if hierarchy is not None and guarantee.k is None:
        hint = "without k=... public items are published as they are, and nothing is generalized"
        raise ParameterError("a hierarchy is given without k", where="hierarchy", hint=hint)
    check_flag(refine, "refine")
    check_known(order, get_args(Order), "order", where="order")
    check_count(alpha, "alpha", least=1)
    itemsets = columns.itemsets
    is_sensitive = guarantee.is_sensitive(itemsets)
    index = SupportIndex.of(itemsets)
    secret = _part(index, is_sensitive)
    _check_feasible(_part(index, ~is_sensitive), secret, guarantee.p, itemsets.n_present)
    recoding = Recoding.of_suppressed(is_sensitive, itemsets)
    if guarantee.k is not None:
        hiding = KmAnonymity(guarantee.k, guarantee.m)
        recoding = _generalized(itemsets, is_sensitive, hiding, hierarchy, refine, report)
        recoding = hide_emptied(columns, recoding, hiding)  # before groups are formed of rows
    shown = recoding.targets >= 0
    labels, number = np.unique(recoding.targets[shown], return_inverse=True)
    numbers = np.full(itemsets.n_items, -1)
    numbers[shown] = number.ravel()
    public = index.recode(numbers, len(labels))  # no number is left out: the order "rcm" would go by it
    _warn_of_emptied(public, secret, guarantee.p)
    there = np.flatnonzero(~itemsets.nulls)
    groups = groups_of(public.within(there), secret.within(there), guarantee.p, order, alpha, report)
    groups = _with_missing(groups, there, itemsets.n_rows)
    grouped = GroupedRows(itemsets, recoding, groups, is_sensitive)
    classes = grouped.classes()
    decided = decide_lists(columns, recoding, guarantee.with_classes(classes))
    for name, value in grouped.losses().items():
        decided = decided.with_loss(name, value)
    rows = replace(decided.rows, classes=classes, added={GROUP: groups.astype(np.int64)})
    return replace(decided, rows=rows)


def _generalized(
    itemsets: Itemsets,
    hidden: NDArray[np.bool_],
    guarantee: KmAnonymity,
    hierarchy: HierarchyLike | None,
    refine: bool,
    report: Report,
) -> Recoding:
    """The public items as nodes or sets that have a guarantee by themselves; the others are hidden."""
    public = itemsets.recode(np.where(hidden, -1, np.arange(itemsets.n_items)), itemsets.vocabulary)
    check_feasible(SupportIndex.of(public), guarantee.k, public.n_rows)
    became = np.full(itemsets.n_items, -1, np.int32)
    if hierarchy is not None:
        tree, leaves, n_leaves = covering(hierarchy, itemsets.vocabulary, hidden)
        cut = Cut(SupportIndex.of(public), tree, leaves[~hidden])
        cut.protect(guarantee.k, guarantee.m, report)
        became[~hidden] = cut.nodes
        return Recoding.of_cut(became, tree, n_leaves=n_leaves)
    clusters = Clusters(SupportIndex.of(public))
    protect(clusters, guarantee, public, report)
    became[~hidden] = clusters.labels
    if refine:
        search = Refinement(public, clusters.labels, guarantee)
        search.descend()
        became[~hidden] = search.best
    return Recoding.of_clusters(became, itemsets)


def groups_of(
    public: SupportIndex, secret: SupportIndex, p: int, order: Order, alpha: int, report: Report
) -> Codes:
    """The group of each row, in the order of their first rows."""
    n_rows = public.n_rows
    rows = _band_order(public) if order == "rcm" else np.argsort(gray_ranks(public), kind="stable")
    placed, hidden = public.within(rows), secret.within(rows)
    starts, holders = np.zeros(1, np.int64), np.zeros(0, np.int32)
    if order == "nn":
        starts, holders, _ = placed.transpose
    width = min(alpha * p, n_rows)
    state = row_partitions.SensitiveGroups(
        *(p, width, placed.offsets, placed.codes, hidden.offsets, hidden.codes),
        *(starts, holders, secret.singles, public.n_items),
    )
    batch = max(1, min(_BATCH, _WORK // max(1, len(placed.codes))))
    while done := row_partitions.form(batch, state):
        report(done)
    of_place = np.asarray(state.group_of)
    of_row = np.empty(n_rows, np.int64)
    of_row[rows] = of_place
    return by_first_row(of_row)


def _with_missing(groups: Codes, there: NDArray[np.int64], n_rows: int) -> Codes:
    """The groups of some rows, and all others in the largest one."""
    of_row = np.full(n_rows, np.argmax(np.bincount(groups)), np.int32)
    of_row[there] = groups
    return by_first_row(of_row)


def _part(index: SupportIndex, wanted: NDArray[np.bool_]) -> SupportIndex:
    """The rows with some of their items only, numbered from 0 in their order."""
    return index.recode(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()))


def _check_feasible(public: SupportIndex, secret: SupportIndex, p: int, n_present: int) -> None:
    """Check that there is something to publish, and that one group of all rows not missing would do."""
    if not public.n_items:
        hint = "name those that nobody is to learn; all others are published row by row"
        got = f"all {secret.n_items} items"
        raise ParameterError("all items are sensitive", where="sensitive", got=got, hint=hint)
    most = int(secret.singles.max())
    if most * p > n_present:
        largest = n_present // most
        raise InfeasibleError(
            "a sensitive item is too frequent: even one group of all rows gives it away",
            where="p",
            got=f"p={p}; it is in {most} of {n_present} rows that are not missing",
            hint=f"the largest p that works is {largest}"
            if largest >= 2
            else "leave it out of the table: it is in more than half of these rows",
        )


def _warn_of_emptied(public: SupportIndex, secret: SupportIndex, p: int) -> None:
    """Warn of rows that are published as empty, if more than one in p of these held a sensitive item.

    Who knows that hardly anybody has no item at all knows then of such a row that it held one.
    """
    empty = np.diff(public.offsets) == 0
    rows, emptied = int(empty.sum()), int((empty & (np.diff(secret.offsets) > 0)).sum())
    if emptied * p > rows and len(empty) >= FEW:
        what = f"{emptied:,} of {rows:,} rows that are published as empty held sensitive items, and no others"
        hint = "leave these rows out of the table, if it may be known that nobody in it has no item"
        warn(EmptiedWarning(what, hint=hint))


def _band_order(public: SupportIndex) -> NDArray[np.int64]:
    """Rows in the order of a band matrix: of the graph of rows and items, whose edges get short."""
    from scipy.sparse import bmat
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    parts = np.ones(len(public.codes), np.int8), public.codes, public.offsets
    rows = csr(parts, public.n_rows, public.n_items)
    graph = bmat([[None, rows], [rows.T, None]], format="csr")
    order = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
    return order[order < public.n_rows]


RECORD = Algorithm(
    cahd,
    (SensitiveGroups,),
    recodes="groups",
    decide=decide,
    unit="rows",
    keeps_type=True,  # without k, as engines never call it
    adds=(GROUP,),
    ways=(
        Way(SensitiveGroups, 10, {"order": "nn"}),
        Way(SensitiveGroups, 20, {"order": "gray"}),
        Way(SensitiveGroups, 30, {"order": "rcm"}),
    ),
)
