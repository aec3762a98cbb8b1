"""Explanations: the threats behind a changed item, and the cost of publishing it as is."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.refinement import refine
from pdanon.algorithms.registry import algorithm, parameters_of
from pdanon.errors import ItemsetDtypeError, ParameterError, ReleaseWarning
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import constraint_table
from pdanon.guarantees.verdict import threat_table
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import with_column
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, no_itemsets
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized, labels_of, recoded_column
from pdanon.recoding.views import Explanation


def explain(result: Anonymized, item: Any, original: pd.DataFrame) -> Explanation:
    """Explain the published form of an item; see `Anonymized.explain`."""
    guarantee = _check_explainable(result)
    position = recoded_column(original, result)
    itemsets = Itemsets.from_series(original.iloc[:, position])
    labels = labels_of(result, itemsets)
    code = _find_code(item, itemsets)
    threats, rarest = _find_threats(itemsets, code, guarantee)
    k_alone = min(rarest, guarantee.k)
    became = labels[code].as_py()
    restored = _restore(itemsets, labels, code, result)
    return Explanation(
        item=item,
        became=became,
        kept=became == itemsets.texts()[code],
        k=guarantee.k,
        threats=_list_threats(itemsets, threats),
        exposed=_find_exposed(original, position, itemsets, restored, guarantee),
        k_alone=k_alone if k_alone >= 2 else None,
        loss=result.loss,
        loss_then=_loss_at(k_alone, original, position, result) if 2 <= k_alone < guarantee.k else None,
    )


def _check_explainable(result: Anonymized) -> KmAnonymity | PrivacyConstraints:
    """Return the guarantee of a result, if it can be explained item by item."""
    if not isinstance(result.guarantee, (KmAnonymity, PrivacyConstraints)):
        hint = "pass a result whose guarantee is KmAnonymity or PrivacyConstraints"
        got = type(result.guarantee).__name__
        raise ParameterError("this release cannot be explained", where="result", got=got, hint=hint)
    if result.groups is not None:
        hint = "read result.mapping, which lists the labels of an item by group; or explain a result of pcta"
        raise ParameterError("a local recoding has several labels for an item", where="result", hint=hint)
    return result.guarantee


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
    """Return the minimal threats that contain an item, and the lowest support of an itemset with it."""
    index = SupportIndex.of(itemsets)
    if isinstance(guarantee, PrivacyConstraints):
        constraints = constraint_table(guarantee.constraints, itemsets)
        return _find_rare_constraints(constraints, code, guarantee.k, index)
    rows = index.within(index.contains_any(_single(code)))
    if guarantee.m is None:
        distinct = rows.distinct()
        return rows.rare_rows(guarantee.k), int(distinct.supports(distinct.codes, distinct.offsets).min())
    return _find_rare(code, guarantee.k, guarantee.m, index, rows)


def _single(code: int, support: int = 0) -> ItemsetTable:
    """Return the itemset of one item."""
    return ItemsetTable(np.array([code], np.int32), np.array([0, 1]), np.array([support]))


def _find_rare_constraints(
    constraints: ItemsetTable, code: int, k: int, index: SupportIndex
) -> tuple[ItemsetTable, int]:
    """Find the threats of `_find_threats` among the constraints that contain an item."""
    each = SupportIndex(constraints.codes, constraints.offsets, index.n_items).distinct()
    each = each.within(each.contains_any(_single(code)))
    table = ItemsetTable(each.codes, each.offsets, index.supports(each.codes, each.offsets))
    table = table.take(table.supports > 0)
    return table.take(table.supports < k).ordered(), int(table.supports.min(initial=k))


def _find_rare(
    code: int, k: int, m: int, index: SupportIndex, rows: SupportIndex
) -> tuple[ItemsetTable, int]:
    """Find the threats of `_find_threats` among the itemsets of up to m items.

    Within the rows with the item, the support of an itemset X without it is the support of X and the item.
    X and the item are a minimal threat if X is a minimal threat within these rows, and is not rare itself.
    """
    support = int(index.singles[code])
    beside = rows.keep_items(np.arange(index.n_items) != code)
    if support < k or m == 1:
        found = _single(code, support).take(np.array([support < k]))
    else:
        others = beside.rare(k, m - 1)
        found = _add_item(code, others.take(index.supports(others.codes, others.offsets) >= k))
    return found, _lowest_support(beside, m - 1, min(support, k))


def _add_item(code: int, others: ItemsetTable) -> ItemsetTable:
    """Add an item to each itemset."""
    n_sets, sizes = len(others), np.diff(others.offsets)
    sets = np.append(np.repeat(np.arange(n_sets), sizes), np.arange(n_sets))
    codes = np.append(others.codes, np.full(n_sets, code, np.int32))
    codes = codes[np.lexsort((codes, sets))]
    offsets = offsets_of(sizes + 1)
    return ItemsetTable(codes, offsets, others.supports).ordered()


def _lowest_support(rows: SupportIndex, m: int, most: int) -> int:
    """Return the lowest support of an occurring itemset of up to m items, or ``most`` if that is lower."""
    low, high = 1, most
    # Bisect: if an itemset is rare at some k, it is rare at every larger k.
    while m and low < high:
        middle = (low + high + 1) // 2
        if rows.at_risk(middle, m).any():
            high = middle - 1
        else:
            low = middle
    return high


# --- The release with the item restored


def _restore(itemsets: Itemsets, labels: pa.StringArray, code: int, result: Anonymized) -> Recoding | None:
    """Undo one step of the recoding of an item; return None if the item is published as is."""
    hierarchy = result.parameters.get("hierarchy")
    texts = itemsets.texts()
    if labels[code].as_py() == texts[code]:
        return None
    if hierarchy is None:
        clusters = number_texts(labels)
        clusters[code] = clusters.max() + 1  # a set of its own
        return Recoding.of_clusters(clusters.astype(np.int32), itemsets)
    # Replace the node of the item by its children, for all items below the node.
    tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
    number = {label: node for node, label in enumerate(tree.labels)}
    nodes = np.array([number.get(label, -1) for label in labels.to_pylist()], np.int32)
    below = (nodes <= leaves) & (leaves < nodes + tree.size[nodes])  # nodes are in pre-order
    if not np.where(nodes < 0, labels.is_null().to_numpy(zero_copy_only=False), below).all():
        hint = "the file has changed; restore the hierarchy that the release was made with"
        raise ParameterError("not the hierarchy of the release", where="hierarchy", hint=hint)
    if nodes[code] < 0:
        nodes[code] = leaves[code]
    else:
        for each in np.flatnonzero(nodes == nodes[code]).tolist():
            nodes[each] = _child(tree, int(nodes[each]), int(leaves[each]))
    return Recoding.of_cut(nodes, tree)


def _child(tree: Hierarchy, node: int, leaf: int) -> int:
    """Return the child of a node that is an ancestor of a leaf; the child of a leaf is the leaf."""
    path = tree.ancestors_of(leaf).tolist()
    return int(path[max(path.index(node) - 1, 0)])


def _list_threats(itemsets: Itemsets, threats: ItemsetTable) -> pd.DataFrame:
    return threat_table(itemsets, threats, "rare")[["itemset", "support"]]


def _find_exposed(
    original: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    restored: Recoding | None,
    guarantee: KmAnonymity | PrivacyConstraints,
) -> pd.DataFrame:
    """Return the threats that an audit of the release with the item restored finds."""
    if restored is None:
        return _list_threats(itemsets, no_itemsets())
    frame = with_column(original, position, restored.apply(itemsets).to_pandas())
    audited = guarantee.with_mapping(mapping_table(itemsets, restored))
    return audited.audit(frame, original.columns[position]).threats[["itemset", "support"]]


def _loss_at(k: int, original: pd.DataFrame, position: int, result: Anonymized) -> pd.Series[float]:
    """Return the loss of the same algorithm with the same parameters and another k."""
    parameters = result.parameters | {"k": k}
    function = algorithm(parameters["algorithm"])
    refined = "refine_loss" in parameters  # pdanon.refine records this parameter
    if refined:
        del parameters["refine"]
    options = {name: parameters[name] for name in parameters_of(function) if name in parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # an explanation publishes nothing
        other = function(original, original.columns[position], **options)
        if refined:
            refining = {name: parameters[f"refine_{name}"] for name in ("loss", "time_limit", "random_state")}
            other = refine(original, other, **refining)
    return other.loss
