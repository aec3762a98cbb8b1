"""Pattern measures: lost frequent itemsets, errors of supports, and lost, new and false association rules.

ML2 and dML2: Terrovitis, Mamoulis, Kalnis, "Local and global recoding methods for anonymizing set-valued
data", VLDB Journal 20, 2011. tKd and re: Terrovitis, Liagouris, Mamoulis, Skiadopoulos, "Privacy
Preservation by Disassociation", PVLDB 5(10), 2012. Rules: Liu, Wang, "Anonymizing Transaction Data by
Integrating Suppression and Generalization", PAKDD 2010.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.evaluation.metrics.association_rules import (
    Frequent,
    RuleTable,
    _check_max_size,
    _list_frequent,
    _min_rows,
    _mine,
    as_lists,
    check_positive_share,
    frequent_itemsets,
    rules,
)
from pdanon.evaluation.metrics.estimates import Mode, Release
from pdanon.evaluation.metrics.queries import Workload, answer_queries
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.cards import card
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.libraries import holds_tables, takes_tables
from pdanon.itemsets.lists import Floats, find_numbers, mask_at, offsets_of, ranges, take_rows
from pdanon.itemsets.support import ItemsetTable, SupportIndex, from_matrices, no_itemsets
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_count, check_known
from pdanon.recoding.recoding import Cover, codes_of, read_mapping
from pdanon.recoding.result import Anonymized

__all__ = [
    "RuleErrors",
    "frequent_itemsets",
    "item_errors",
    "ml2",
    "pair_errors",
    "rule_errors",
    "rules",
    "tkd",
]


@takes_tables
def ml2(
    original: pd.DataFrame,
    mapping: pd.DataFrame,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike,
    min_support: float,
    max_size: int | None = None,
) -> pd.Series[float]:
    """Measure the share of frequent itemsets, over all levels of a hierarchy, that a release loses.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    mapping : pandas.DataFrame
        The mapping of its items to nodes of the hierarchy.
    column : hashable, optional
        The list column. By default the only one.
    hierarchy : Hierarchy, or what describes one
        The hierarchy of the release.
    min_support : float
        Minimum share of the rows, in (0, 1], on every level.
    max_size : int, optional
        Maximum number of items of an itemset. By default any.

    Returns
    -------
    pandas.Series
        ``ML2`` and ``dML2``, in [0, 1]; 0 if nothing is lost, or nothing was frequent.

    Raises
    ------
    ParameterError
        If a label is not a node, the mapping is not over the items of the original, a number is out of
        range, or a level has more than 1,000,000 frequent itemsets.

    Notes
    -----
    On level j, each item is replaced by its ancestor j steps up, or by the root if there are fewer. An
    itemset is preserved if, in every group, every item below its nodes was published as the node or below
    it. ``ML2`` is 1 minus the share of preserved itemsets among the frequent itemsets of all levels.
    ``dML2`` counts an itemset only if no frequent itemset of the level below generalizes to it. The formulas
    of [1]_ were not available: expect the same order of releases, not the same digits.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and global recoding methods for anonymizing
       set-valued data", VLDB Journal 20, 2011.
    """
    with show_activity("ML2"):
        itemsets = Itemsets.from_series(list_column(original, column))
        least, most = _min_rows(min_support, itemsets.n_rows), _check_max_size(max_size)
        tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
        items, nodes = _published_nodes(mapping, itemsets, tree)
        frequent, found = np.zeros((2, 2), np.int64)  # of ML2, and of dML2
        level, below = leaves, no_itemsets()
        for _ in range(tree.height + 1):
            table = _mine_nodes(itemsets, level, least, most)
            # In pre-order, the descendants of a node have the numbers up to node + size.
            above = level[items]
            lost = mask_at(tree.n_nodes, above[(nodes < above) | (nodes >= above + tree.size[above])])
            kept = np.diff(offsets_of(lost[table.codes])[table.offsets]) == 0
            # An itemset of the level below implies its generalization to this level.
            implied = {frozenset(tree.parent[list(each)].clip(0).tolist()) for each in below.sets()}
            detailed = np.array([frozenset(each) not in implied for each in table.sets()], np.bool_)
            counted = np.stack((np.ones(len(table), np.bool_), detailed))
            frequent += counted.sum(axis=1)
            found += (counted & kept).sum(axis=1)
            level, below = tree.parent[level].clip(0), table
        lost_shares = np.where(frequent > 0, 1 - found / np.maximum(frequent, 1), 0.0)
        return pd.Series(lost_shares, index=["ML2", "dML2"])


@takes_tables
def tkd(
    original: pd.DataFrame,
    released: pd.DataFrame,
    column: Hashable | None = None,
    *,
    top: int = 1000,
) -> float:
    """Measure the share of the most frequent itemsets that a release loses.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The two frames.
    column : hashable, optional
        The list column of both. By default the only one.
    top : int
        Number of itemsets to compare. If there are fewer, all of them.

    Returns
    -------
    float
        1 minus the share of the top itemsets of the original that are top itemsets of the release, in [0, 1].

    Raises
    ------
    ParameterError
        If top is below 1, or more than 1,000,000 itemsets are as frequent as the last of the top.

    Notes
    -----
    Itemsets are compared by the text of their items; a label of several items differs from each of them.
    Ties in support are broken by size, then by the order of the items.
    """
    with show_activity("tKd"):
        top = check_count(top, "top", least=1)
        lists = list_column(original, column)
        columns = (lists, list_column(released, lists.name))
        before, after = (_top_itemsets(Itemsets.from_series(each), top) for each in columns)
        return 1 - len(before & after) / len(before) if before else 0.0


@takes_tables
def item_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
) -> pd.DataFrame:
    """Measure the errors of the supports of items that are estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    pandas.DataFrame
        ``item``, ``actual``, ``estimate`` and ``error``, the relative error; in item order.

    Raises
    ------
    ColumnError, ParameterError
        As in `Workload.are`; also if no row has an item.
    """
    with show_activity("item errors"):
        lists = list_column(original, column)
        itemsets = Itemsets.from_series(lists)
        if not itemsets.n_items:
            raise ParameterError("no row has an item", where="original", got=f"{len(original)} rows")
        items = np.arange(itemsets.n_items, dtype=np.int32)
        workload = _workload(lists.name, itemsets, items[:, None])
        table = workload.are(original, released, mapping, hierarchy=hierarchy, mode=mode).table
        kind = pd.ArrowDtype(itemsets.vocabulary.type)
        table.insert(0, "item", pd.Series(pd.array(itemsets.vocabulary, dtype=kind)))
        return table


@takes_tables
def pair_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    ranks: tuple[int, int] = (200, 220),
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
) -> pd.DataFrame:
    """Measure the errors of the supports of pairs of items of medium frequency, estimated from a release.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.
    ranks : tuple of int
        The half-open range of ranks by descending support, counted from 0. All pairs of the items with
        these ranks are measured.

    Returns
    -------
    pandas.DataFrame
        ``itemset``, ``actual``, ``estimate`` and ``error``, with the more frequent items first. The error is
        the measure re: ``abs(actual - estimate)`` over the average of both, at most 2; NaN if both are 0.

    Raises
    ------
    ColumnError, ParameterError
        As in `Workload.are`; also if fewer than two items have these ranks.
    """
    with show_activity("pair errors"):
        lists = list_column(original, column)
        itemsets = Itemsets.from_series(lists)
        supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
        first, last = _check_ranks(ranks, itemsets.n_items)
        items = np.argsort(-supports, kind="stable")[first:last].astype(np.int32)
        left, right = np.triu_indices(len(items), 1)
        # Codes must ascend within an itemset.
        pairs = np.sort(np.stack((items[left], items[right]), axis=1), axis=1)
        workload = _workload(lists.name, itemsets, pairs)
        table = workload.are(original, released, mapping, hierarchy=hierarchy, mode=mode).table
        both = table["actual"] + table["estimate"]
        table["error"] = (table["actual"] - table["estimate"]).abs() / (both / 2).where(both > 0)
        table.insert(0, "itemset", workload.queries.iloc[:, 0])
        return table


def _workload(label: Hashable, itemsets: Itemsets, codes: Codes) -> Workload:
    """Return the queries for itemsets of one size, given as the rows of a matrix of codes."""
    return Workload.from_frame(pd.DataFrame({label: as_lists(from_matrices([codes]), itemsets)}), label)


def _check_ranks(ranks: Any, n_items: int) -> tuple[int, int]:
    pair = tuple(ranks) if isinstance(ranks, (tuple, list)) else ()
    if len(pair) != 2:
        raise ParameterError("ranks must be two integers", where="ranks", got=type(ranks).__name__)
    first, last = (check_count(each, "ranks", least=0) for each in pair)
    if min(last, n_items) - first < 2:
        got = f"({first}, {last}) of {n_items} items"
        raise ParameterError("fewer than two items have these ranks", where="ranks", got=got)
    return first, last


def _mine_nodes(itemsets: Itemsets, nodes: Codes, least: int, max_size: int | None) -> ItemsetTable:
    """Return the frequent itemsets after each item is replaced by a node."""
    used, targets = np.unique(nodes, return_inverse=True)
    replaced = itemsets.recode(targets.astype(np.int32), pa.array(np.arange(len(used), dtype=np.int32)))
    found = _mine(replaced, least, max_size)
    return ItemsetTable(used[found.codes], found.offsets, found.supports)


def _published_nodes(mapping: pd.DataFrame, itemsets: Itemsets, tree: Hierarchy) -> tuple[Numbers, Numbers]:
    """Return the item and the node of each row of a mapping table; -1 for suppressed items."""
    items, labels, texts = read_mapping(mapping, itemsets)
    nodes = codes_of(texts, tree.labels)
    if (nodes < 0).any():
        problem = "the mapping has labels that are not nodes of the hierarchy"
        got = f"{int((nodes < 0).sum())} of {len(nodes)} labels"
        hint = "pass the hierarchy of the release; ML2 is defined for recodings by a hierarchy only"
        raise ParameterError(problem, where="mapping", got=got, hint=hint)
    return items, np.append(nodes, -1)[labels]


def _top_itemsets(itemsets: Itemsets, top: int) -> set[frozenset[str]]:
    """Return the most frequent itemsets as text."""
    index = SupportIndex.of(itemsets)
    # The largest support that at least `top` itemsets have; it is 1 if there are fewer itemsets.
    supports = range(2, int(index.singles.max(initial=0)) + 1)
    least = 1 + bisect(
        supports, False, key=lambda support: len(_list_frequent(index, support, None, top)) < top
    )
    found = _mine(itemsets, least, None, where="top", hint="pass a smaller top")
    texts = itemsets.texts()
    named = [sorted(texts[code] for code in each) for each in found.sets()]
    ranked = sorted(zip(-found.supports, map(len, named), named, strict=True))
    return {frozenset(names) for _, _, names in ranked[:top]}


# --- Association rules: a release that publishes an item under several labels has rules that are false in
# the original


_MOST_PAIRS = 50_000_000  # pairs of itemsets of items and of their labels: about 2 GB


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class RuleErrors:
    """The association rules of an original and of its release, compared.

    Parameters
    ----------
    original : pandas.DataFrame
        The rules of the original, as in `rules`; ``estimate``, the confidence estimated from the release;
        and ``verdict``: ``"kept"``, ``"generalized"`` or ``"lost"``.
    released : pandas.DataFrame
        The rules of the release over its labels, as in `rules`; ``actual_support`` and ``actual_confidence``
        in the original; and ``verdict``: ``"kept"``, ``"generalized"``, ``"new"`` or ``"false"``.
    """

    original: pd.DataFrame
    released: pd.DataFrame

    @property
    def kept(self) -> int:
        """Number of rules of the original that the release has, too."""
        return int((self.original["verdict"] == "kept").sum())

    @property
    def lost(self) -> int:
        """Number of rules of the original for which no true rule of the release stands."""
        return int((self.original["verdict"] == "lost").sum())

    @property
    def new(self) -> int:
        """Number of rules of the release that are true in the original, but stand for no rule of it."""
        return int((self.released["verdict"] == "new").sum())

    @property
    def false(self) -> int:
        """Number of rules of the release that are false in the original."""
        return int((self.released["verdict"] == "false").sum())

    def __repr__(self) -> str:
        counts = f"original={len(self.original)}, released={len(self.released)}"
        verdicts = f"kept={self.kept}, lost={self.lost}, new={self.new}, false={self.false}"
        return f"RuleErrors({counts}, {verdicts})"

    def _repr_html_(self) -> str:
        before, after = len(self.original), len(self.released)
        lines = [
            ("original", f"{before:,} rules: {self.kept:,} kept, {self.lost:,} lost"),
            ("release", f"{after:,} rules: {self.new:,} new, {self.false:,} false"),
        ]
        return card("RuleErrors", lines)


@takes_tables
def rule_errors(
    original: pd.DataFrame,
    released: Anonymized | pd.DataFrame,
    mapping: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    min_support: float,
    min_confidence: float,
    max_size: int | None = None,
    hierarchy: HierarchyLike | None = None,
    mode: Mode = "subset",
) -> RuleErrors:
    """Compare the association rules of a release with those of its original.

    Parameters
    ----------
    original, released, mapping, hierarchy, mode
        As in `Workload.are`.
    column : hashable, optional
        The list column. By default the only one.
    min_support, min_confidence, max_size
        The thresholds of a rule, in both tables, as in `rules`.

    Returns
    -------
    RuleErrors
        The counts ``kept``, ``lost``, ``new`` and ``false``, and the two tables of rules.

    Raises
    ------
    ColumnError, ParameterError
        As in `Workload.are` and `rules`: multisets and chunks have no such rules.

    Notes
    -----
    A rule of the release is a statement about the original: a row contains a label if it contains at least
    one item that the label stands for. The rule is ``"false"`` if it does not reach the thresholds in the
    original.

    A rule over labels stands for a rule over items if each item of each side can be replaced by one of its
    labels to give the rule. Both are ``"kept"`` if all labels stand for one item, and ``"generalized"``
    otherwise. A true rule that stands for no rule of the original is ``"new"``. A rule of the original is
    ``"lost"`` if no true rule stands for it.

    If each item has one label in all rows, or is suppressed in all rows, every label is in the same rows
    before and after. Then no rule is false, and all confidences of the release are right [1]_. A local
    recoding publishes an item under several labels, so its rules can be false.

    The estimated confidence of a rule of the original is the expected number of rows with all its items,
    divided by that of its antecedent, as in `Workload.are`; it is 0 if the antecedent is in no row.

    References
    ----------
    .. [1] J. Liu, K. Wang, "Anonymizing Transaction Data by Integrating Suppression and Generalization",
       PAKDD 2010.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.metrics import patterns
    >>> df = pd.DataFrame({"items": [["rice", "tea"]] * 3 + [["tea"], ["salt", "tea"]]})
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> errors = patterns.rule_errors(df, result, min_support=0.4, min_confidence=0.5)
    >>> errors.kept, errors.lost, errors.new, errors.false
    (0, 0, 0, 0)
    >>> errors.released[["antecedent", "consequent", "confidence", "actual_confidence", "verdict"]]
            antecedent       consequent  confidence  actual_confidence      verdict
    0  ['(rice,salt)']          ['tea']         1.0                1.0  generalized
    1          ['tea']  ['(rice,salt)']         0.8                0.8  generalized
    """
    with show_activity("rule errors"):
        share = check_positive_share(min_confidence, "min_confidence")
        check_known(mode, get_args(Mode), "mode", where="mode")
        release = Release.of(original, released, mapping, hierarchy, column)
        least = _min_rows(min_support, release.items.n_rows)
        before = RuleTable.mine(release.items, least, share, max_size)
        after = RuleTable.mine(release.published, least, share, max_size)

        wholes, antecedents = _count_actual(after, release)
        is_true = (wholes >= least) & (wholes * share.denominator >= antecedents * share.numerator)
        rules, counterparts = _find_counterparts(before, after, release.cover)
        is_paired = is_true[counterparts]
        rules, counterparts = rules[is_paired], counterparts[is_paired]
        labels = after.frequent.sets
        several = np.diff(offsets_of(release.cover.members[labels.codes] != 1)[labels.offsets])
        is_alone = (several == 0)[after.wholes[counterparts] - 1]  # all labels stand for one item

        listed = before.to_frame(release.items)
        listed["estimate"] = _estimate_confidences(before, release, mode)
        listed["verdict"] = _verdicts("lost", len(before), rules, is_alone)
        table = after.to_frame(release.published)
        table["actual_support"], table["actual_confidence"] = wholes, wholes / antecedents
        table["verdict"] = _verdicts("new", len(after), counterparts, is_alone)
        table.loc[~is_true, "verdict"] = "false"
        return RuleErrors(listed, table)


# --- Comparison of a release with its original


def _find_counterparts(before: RuleTable, after: RuleTable, cover: Cover) -> tuple[Numbers, Numbers]:
    """Return pairs of a rule of the original and a rule of the release that stands for it."""
    owners, images = _images(before.frequent, after.frequent, cover)
    n_images = np.bincount(owners, minlength=len(before.frequent.supports))
    starts = offsets_of(n_images)
    lefts, rights = before.antecedents, before.consequents
    _check_pairs(float((n_images[lefts] * n_images[rights].astype(np.float64)).sum()))
    rules, places = ranges(starts[lefts], n_images[lefts])
    left = images[places]
    pairs, places = ranges(starts[rights[rules]], n_images[rights[rules]])
    n = len(after.frequent.supports)
    wanted = left[pairs] * n + images[places]
    found = find_numbers(after.antecedents * n + after.consequents, wanted)
    return rules[pairs][found >= 0], found[found >= 0]


def _images(before: Frequent, after: Frequent, cover: Cover) -> tuple[Numbers, Numbers]:
    """Return pairs of a frequent itemset of the original and one of labels, by original."""
    owners, labels = np.zeros(1, np.int64), np.empty((1, 0), np.int32)
    found = [np.zeros((2, 1), np.int64)]
    for numbers, codes in before.by_size():
        # Extend the label sets of the prefix by each label of the last item.
        prefixes, last = before.find(codes[:, :-1]), codes[:, -1]
        starts, ends = np.searchsorted(owners, prefixes), np.searchsorted(owners, prefixes, side="right")
        sets, places = ranges(starts, ends - starts)
        firsts, n_labels = cover.offsets[last[sets]], np.diff(cover.offsets)[last[sets]]
        _check_pairs(float(n_labels.sum()))
        pairs, chosen = ranges(firsts, n_labels)
        labels = np.column_stack((labels[places[pairs]], cover.labels[chosen]))
        labels.sort(axis=1)
        labels[:, 1:][labels[:, 1:] == labels[:, :-1]] = -1  # items may share a label
        labels.sort(axis=1)
        images, owners = after.find(labels), numbers[sets[pairs]]
        first = np.unique(owners * len(after.supports) + images, return_index=True)[1]
        first = first[images[first] >= 0]
        owners, labels = owners[first], labels[first]
        found.append(np.stack((owners, images[first])))
    owners, images = np.concatenate(found, axis=1)
    return owners, images


def _check_pairs(n_pairs: float) -> None:
    if n_pairs > _MOST_PAIRS:
        got = f"{n_pairs:,.0f} combinations of labels"
        hint = "pass a larger min_support or min_confidence, or a smaller max_size"
        raise ParameterError("too many labels stand for the items of rules", got=got, hint=hint)


def _verdicts(default: str, n_rules: int, paired: Numbers, is_alone: Mask) -> NDArray[np.object_]:
    verdicts = np.full(n_rules, default, object)
    verdicts[paired] = "generalized"
    verdicts[paired[is_alone]] = "kept"
    return verdicts


def _count_actual(after: RuleTable, release: Release) -> tuple[Numbers, Numbers]:
    """Count the original rows that contain all labels, and the antecedent, of each rule of the release."""
    items, cover, sets = release.items, release.cover, after.frequent.sets
    labels, bounds = take_rows(cover.labels, cover.offsets, items.codes)
    n = len(cover.members)
    rows = SupportIndex(labels, bounds[items.offsets], n).recode(np.arange(n), n)
    supports = np.append(rows.n_rows, rows.supports(sets.codes, sets.offsets))
    return supports[after.wholes], supports[after.antecedents]


def _estimate_confidences(before: RuleTable, release: Release, mode: Mode) -> Floats:
    """Estimate the confidence of each rule of the original from the release."""
    if not len(before):
        return np.empty(0)
    queries = pd.DataFrame({release.label: as_lists(before.frequent.sets, release.items)})
    counts = np.append(np.nan, answer_queries(queries, release, mode, 0).table["estimate"].to_numpy())
    wholes, antecedents = counts[before.wholes], counts[before.antecedents]
    return np.divide(wholes, antecedents, out=np.zeros(len(before)), where=antecedents > 0)
