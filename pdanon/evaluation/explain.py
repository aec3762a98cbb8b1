"""Explanations: the threats behind a changed item, and the cost of publishing it as is."""

from __future__ import annotations

import warnings
from bisect import bisect
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.refinement import refine
from pdanon.algorithms.registry import algorithm, known_arguments
from pdanon.errors import ItemsetDtypeError, ParameterError, ReleaseWarning
from pdanon.evaluation.fingerprint import check_original
from pdanon.guarantees import (
    Coherence,
    KKm,
    KLm,
    KmAnonymity,
    PrivacyConstraints,
    PSRules,
    RhoUncertainty,
)
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.named import unite_itemsets
from pdanon.guarantees.parameters import constraint_table
from pdanon.guarantees.verdict import EMPTY_ROWS, ROWS_WITHOUT_PUBLIC, Guarantee, mark_emptied, threat_table
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, find_items
from pdanon.itemsets.columns import find_quasi, is_list_column, with_column
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at
from pdanon.itemsets.support import ItemsetTable, SupportIndex
from pdanon.recoding.recoding import Recoding, became_of, codes_of, mapping_table
from pdanon.recoding.result import Anonymized, recoded_column
from pdanon.recoding.risk import hidden_items, is_hidden_item
from pdanon.recoding.views import Explanation

Explained: TypeAlias = KmAnonymity | PrivacyConstraints | KKm | KLm | Coherence | RhoUncertainty | PSRules
_KINDS = get_args(Explained)


def explain(result: Anonymized, item: Any, original: pd.DataFrame) -> Explanation:
    """Explain the published form of an item; see `Anonymized.explain`."""
    guarantee = _check_explainable(result)
    position = recoded_column(original, result)
    check_original(result, original, [original.columns[position]])
    itemsets, released = (Itemsets.from_series(each.iloc[:, position]) for each in (original, result.frame))
    labels = Labels.of(result, itemsets, released)
    code = _find_code(item, itemsets)
    restored = _restore(itemsets, labels, code, result)
    k_alone, loss_then = None, None
    if isinstance(guarantee, (KmAnonymity, PrivacyConstraints)):
        found, lowest = _find_threats(itemsets, code, guarantee)
        threats = threat_table(itemsets, found, "rare")[["itemset", "support"]]
        k_alone = lowest if lowest >= 2 else None
        loss_then = _loss_at(lowest, original, position, result) if 2 <= lowest < guarantee.k else None
    else:
        threats = _audit_original(result, position, itemsets, code, guarantee)
    exposed = threats.iloc[:0]
    if restored is not None:  # another audit of the release with the item restored
        exposed = _audit(guarantee, result.frame, position, itemsets, restored)
    return Explanation(
        item=item,
        became=labels.became(code),
        kept=restored is None,
        k=getattr(guarantee, "k", None),
        threats=threats,
        exposed=exposed,
        k_alone=k_alone,
        loss=result.loss,
        loss_then=loss_then,
    )


def _check_explainable(result: Anonymized) -> Explained:
    """Return the guarantee of a result, if it can be explained item by item."""
    guarantee = result.guarantee
    if not isinstance(guarantee, _KINDS):
        hint = f"pass a result with one of the guarantees {', '.join(each.__name__ for each in _KINDS)}"
        got = type(guarantee).__name__
        raise ParameterError("this release cannot be explained", where="result", got=got, hint=hint)
    if getattr(guarantee, "columns", None) is not None:
        hint = "read result.mapping, which lists the labels of an item by column and group"
        got = f"{len(guarantee.columns)} list columns"
        raise ParameterError("a release of one list column is explained", where="result", got=got, hint=hint)
    return guarantee


# --- The labels of a release


@frozen
class Labels:
    """The labels of items: of each item in a global recoding, of each occurrence in a local one."""

    items: Codes  # of each entry
    numbers: Numbers  # the label of each entry in `texts`; -1: suppressed
    texts: list[str]  # distinct labels
    own: Numbers  # the text of each entry's item in `texts`; -1: not there
    groups: Numbers  # of each entry
    of_row: Codes | None  # the group of each row in a local recoding

    @classmethod
    def of(cls, result: Anonymized, itemsets: Itemsets, released: Itemsets) -> Labels:
        """Read the mapping of a result, given the column of the original and of the release."""
        items, of_row, texts = np.arange(itemsets.n_items, dtype=np.int32), None, released.texts()
        rows = groups = np.zeros(len(items), np.int64)
        if result.groups is not None:
            of_row = result.groups.to_numpy().astype(np.int32)
            items, rows = itemsets.codes, itemsets.rows
            groups = of_row[rows].astype(np.int64)
        numbers = became_of(itemsets, released, result.mapping, result.groups, rows, items)
        return cls(items, numbers, texts, codes_of(itemsets.texts(), texts)[items], groups, of_row)

    @property
    def is_kept(self) -> Mask:
        """Whether the item of each entry is published as is."""
        return (self.numbers == self.own) & (self.numbers >= 0)

    def became(self, code: int) -> Any:
        """Return the label of an item; several labels as a tuple, that of most rows first."""
        numbers, counts = np.unique(self.numbers[self.items == code], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        found = [self.texts[number] if number >= 0 else None for number in numbers[order].tolist()]
        return found[0] if len(found) == 1 else tuple(found)


def _find_code(item: Any, itemsets: Itemsets) -> int:
    code = -1
    with suppress(ItemsetDtypeError):  # its text may contain the item
        code = int(itemsets.lookup([item])[0])
    if code < 0:
        hint = "pass one item of the original; check its spelling and type"
        raise ParameterError("the item does not occur", where="item", got=type(item).__name__, hint=hint)
    return code


# --- Threats with the item


def _find_threats(
    itemsets: Itemsets, code: int, guarantee: KmAnonymity | PrivacyConstraints
) -> tuple[ItemsetTable, int]:
    """Return the minimal threats with an item, and the lowest support of an itemset with it, at most k."""
    index, k = SupportIndex.of(itemsets), guarantee.k
    rows = index.within(index.contains_any(_single(code)))
    if isinstance(guarantee, PrivacyConstraints):
        listed = constraint_table(guarantee.constraints, itemsets)
        sets = SupportIndex(listed.codes, listed.offsets, index.n_items).distinct()
        sets = sets.within(sets.contains_any(_single(code)))
    elif guarantee.m is None:
        sets = rows.distinct()
    else:
        return _find_rare(code, k, guarantee.m, index, rows)
    table = ItemsetTable(sets.codes, sets.offsets, rows.supports(sets.codes, sets.offsets))
    table = table.take(table.supports > 0)
    return table.take(table.supports < k).ordered(), int(table.supports.min(initial=k))


def _single(code: int, support: int = 0) -> ItemsetTable:
    return ItemsetTable(np.array([code], np.int32), np.array([0, 1]), np.array([support]))


def _find_rare(
    code: int, k: int, m: int, index: SupportIndex, rows: SupportIndex
) -> tuple[ItemsetTable, int]:
    """Find the threats of `_find_threats` among the itemsets of up to m items."""
    # X and the item are a minimal threat if X is one within the rows with the item, and is not rare itself.
    support = int(index.singles[code])
    beside = rows.keep_items(np.arange(index.n_items) != code)
    if support < k or m == 1:
        found = _single(code, support).take(np.array([support < k]))
    else:
        others = beside.rare(k, m - 1)
        others = others.take(index.supports(others.codes, others.offsets) >= k)
        found = unite_itemsets(others, _single(code).take(np.zeros(len(others), np.int64)), index.n_items)
        found = found.ordered()
    if m == 1:
        return found, min(support, k)
    # If an itemset is rare at some k, it is rare at every larger k.
    tried = range(2, min(support, k) + 1)
    return found, 1 + bisect(tried, False, key=lambda k: bool(beside.at_risk(k, m - 1).any()))


# --- Threats of other guarantees, by an audit of the original


def _audit_original(
    result: Anonymized, position: int, itemsets: Itemsets, code: int, guarantee: Explained
) -> pd.DataFrame:
    """Return the threats with an item of the original, in the classes of the release."""
    # Threats of `KLm` and `Coherence` do not name the sensitive item, so its inferences are counted alone.
    name = "private" if isinstance(guarantee, Coherence) else "sensitive"
    hidden = is_hidden_item(itemsets, hidden_items(guarantee))
    alone = isinstance(guarantee, (KLm, Coherence)) and hidden[code]
    rows = np.arange(itemsets.n_rows)
    if isinstance(guarantee, KKm):  # threats do not span two classes; for KLm, all sensitive items must occur
        of_row = equal_rows(result.frame, find_quasi(result.frame, guarantee.quasi))
        rows = np.flatnonzero(np.isin(of_row, of_row[itemsets.rows[itemsets.codes == code]]))
    item = itemsets.vocabulary.take(pa.array([code]))
    if alone:
        hidden[code] = False
        itemsets = itemsets.keep_items(~hidden)
        guarantee = replace(guarantee, mapping=None, **{name: item.to_pylist()})
    itemsets = itemsets.take(rows)
    as_is = Recoding.of_suppressed(np.zeros(itemsets.n_items, np.bool_), itemsets)
    listed = _audit(guarantee, result.frame.iloc[rows], position, itemsets, as_is)
    if alone:
        return listed[listed["why"].isin(["diversity", "breach"]).to_numpy()].reset_index(drop=True)
    has_item = _has_item(listed["itemset"], item)
    if "sensitive" in listed:
        has_item |= _has_item(listed["sensitive"], item)
    return listed[has_item].reset_index(drop=True)


def _has_item(column: pd.Series[Any], item: pa.Array) -> Mask:
    """Return whether each row of a column of lists, or of items, has an item."""
    if not is_list_column(column):
        return find_items(arrow_values(column).combine_chunks(), item) >= 0
    itemsets = Itemsets.from_series(column)
    return mask_at(itemsets.n_rows, itemsets.rows[np.isin(itemsets.codes, itemsets.lookup(item))])


def _audit(
    guarantee: Explained, frame: pd.DataFrame, position: int, itemsets: Itemsets, recoding: Recoding
) -> pd.DataFrame:
    """Return the threats of a frame with this recoding of the original as its list column."""
    published, mapping = recoding.apply(itemsets), mapping_table(itemsets, recoding)
    frame = with_column(frame, position, published.to_pandas())
    if isinstance(guarantee, Coherence):
        is_known = ~is_hidden_item(itemsets, hidden_items(guarantee))
        if guarantee.effort is not None:
            is_known &= guarantee.effort.find(itemsets.vocabulary) <= guarantee.p
        n_public = itemsets.keep_items(is_known).lengths
        mapping.attrs[ROWS_WITHOUT_PUBLIC] = int(np.count_nonzero(n_public == 0))
    if isinstance(guarantee, (KKm, KLm)):  # rows that look emptied, but had no item
        class_of = equal_rows(frame, find_quasi(frame, guarantee.quasi))
        is_empty = (published.lengths == 0) & ~published.nulls
        few = mark_emptied(is_empty, published.lengths > 0, class_of, guarantee.k)
        mapping.attrs[EMPTY_ROWS] = int(np.count_nonzero(few & (itemsets.lengths == 0)))
    listed = guarantee.with_mapping(mapping).audit(frame, frame.columns[position]).threats
    return (
        listed[["itemset", "support"]] if isinstance(guarantee, (KmAnonymity, PrivacyConstraints)) else listed
    )


# --- The release with the item restored


def _restore(itemsets: Itemsets, labels: Labels, code: int, result: Anonymized) -> Recoding | None:
    """Undo one step of the recoding of an item; return None if the item is published as is."""
    changed = (labels.items == code) & ~labels.is_kept
    if not changed.any():
        return None
    transaction = result.parameters.get("transaction")
    source = result.parameters.get("hierarchy") if transaction is None else transaction.hierarchy
    if source is not None:
        return _restore_nodes(itemsets, labels, code, changed, source, result.guarantee)
    if labels.of_row is None and (labels.is_kept | (labels.numbers < 0)).all():
        return Recoding.of_suppressed((labels.numbers < 0) & ~changed, itemsets)
    # Each class has sets of its own. Without classes, groups are rows that lose the same.
    scope = 0 if isinstance(result.guarantee, (KmAnonymity, PrivacyConstraints)) else labels.groups
    clusters = np.where(labels.numbers >= 0, scope * len(labels.texts) + labels.numbers, -1)
    clusters[changed] = clusters.max() + 1  # a set of its own
    return Recoding.of_clusters(clusters, itemsets, labels.of_row)


def _restore_nodes(
    itemsets: Itemsets,
    labels: Labels,
    code: int,
    changed: Mask,
    source: Any,
    guarantee: Guarantee,
) -> Recoding:
    """Replace the node of an item by its children, for all items of the group below the node."""
    hidden = is_hidden_item(itemsets, hidden_items(guarantee))
    tree, leaf_of, n_leaves = find_leaves(source, itemsets.vocabulary, hidden)
    leaves = leaf_of[labels.items]
    number = {label: node for node, label in enumerate(tree.labels)}
    node_of = np.array([*(number.get(text, -1) for text in labels.texts), -1], np.int32)
    nodes = node_of[labels.numbers]
    below = (nodes <= leaves) & (leaves < nodes + tree.size[nodes])  # nodes are in pre-order
    if not np.where(nodes < 0, labels.numbers < 0, below).all():
        hint = "the file has changed; restore the hierarchy that the release was made with"
        raise ParameterError("not the hierarchy of the release", where="hierarchy", hint=hint)
    units = labels.groups * tree.n_nodes + nodes
    beside = (nodes >= 0) & np.isin(units, units[changed & (nodes >= 0)])
    steps, step = np.unique(nodes[beside] * np.int64(tree.n_nodes) + leaves[beside], return_inverse=True)
    children = []
    for node, leaf in zip(*(each.tolist() for each in np.divmod(steps, tree.n_nodes)), strict=True):
        path = tree.ancestors_of(leaf).tolist()
        children.append(path[max(path.index(node) - 1, 0)])  # the child of a leaf is the leaf
    nodes[changed & (nodes < 0)] = leaf_of[code]
    nodes[beside] = np.array(children, np.int32)[step] if len(children) else nodes[beside]
    return Recoding.of_cut(nodes, tree, labels.of_row, n_leaves=n_leaves)


def _loss_at(k: int, original: pd.DataFrame, position: int, result: Anonymized) -> pd.Series[float]:
    """Return the loss of the same algorithm with the same parameters and another k."""
    parameters = result.parameters | {"k": k}
    function = algorithm(parameters["algorithm"])
    refined = "refine_loss" in parameters  # pdanon.refine records this parameter
    if refined:
        del parameters["refine"]
    parameters["guarantee"] = replace(result.guarantee, k=k, mapping=None)  # type: ignore[type-var]
    options = known_arguments(function, parameters)
    with warnings.catch_warnings(
        action="ignore", category=ReleaseWarning
    ):  # an explanation publishes nothing
        other = function(original, original.columns[position], **options)
        if refined:
            refining = {name: parameters[f"refine_{name}"] for name in ("loss", "time_limit", "random_state")}
            other = refine(original, other, **refining)
    return other.loss
