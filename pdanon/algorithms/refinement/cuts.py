"""Refinement of cuts: publish more specific nodes of a hierarchy, in all rows or in a block of rows.

The algorithms that raise a cut never lower it again. Refinement replaces nodes of the cut by their children
and publishes suppressed items, as long as that loses less and keeps the guarantee.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.states.cuts_search import CutRefinement
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, item_texts
from pdanon.itemsets.compatibility import arrow_values, number_texts
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.mapping import mapping_labels, mapping_values
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import check_known
from pdanon.recoding.loss import with_measure
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized, other_frame

_LOSSES = {"NCP": 0, "LM": 1}


def refine_cuts(task: Task) -> Anonymized:
    """Refine a recoding to the nodes of one cut, or of one cut per block of rows."""
    itemsets, result = task.itemsets, task.result
    tree, leaves = Hierarchy.over(result.parameters["hierarchy"], itemsets.vocabulary)
    groups = groups_of(result)
    of_row = np.zeros(itemsets.n_rows, np.int32) if groups is None else groups
    became = published_nodes(result, itemsets, tree, leaves, of_row)
    index, base, km = SupportIndex.of(itemsets), base_of(task), result.guarantee
    assert isinstance(km, KmAnonymity)
    search = CutRefinement(index, of_row, tree, leaves, became, km, base, task.started)
    cut_short = task.run(search)
    recoding = _recoding(search.best, itemsets, tree, groups)
    before = _recoding(became, itemsets, tree, groups)
    refined = task.publish(itemsets, recoding, search.trace, cut_short, before)
    loss = refined.loss
    if "gap" in result.loss:
        loss = with_measure(loss, "gap", _gap(result, refined, int(index.singles.sum()), tree.n_leaves))
    return replace(refined, loss=loss)


def _gap(result: Anonymized, refined: Anonymized, occurrences: int, n_leaves: int) -> float:
    """Return the share of its loss that a refined release can still save, by the bound of `optimal`."""
    base = int(result.parameters["suppress"])
    name, whole = ("LM" if base else "NCP"), occurrences * max(n_leaves - base, 1)
    before, after = (round(float(each.loss[name]) * whole) for each in (result, refined))
    bound = round(before * (1 - float(result.loss["gap"])))
    return (after - bound) / after if after > bound else 0.0


def base_of(task: Task) -> int:
    """Return the number to subtract from the numbers of leaves to get the loss: 0 for NCP, 1 for LM."""
    return _LOSSES[check_known(task.options["loss"], _LOSSES, "loss of a recoding to nodes", where="loss")]


def groups_of(result: Anonymized) -> Codes | None:
    """Return the group of each row, if groups are recoded separately."""
    return None if result.groups is None else result.groups.to_numpy().astype(np.int32)


def published_nodes(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """Read the node of each item in each group from the mapping table; -1 if it is suppressed or absent.

    Raises
    ------
    ParameterError
        If the mapping table has other items, nodes that are not above their items, or other supports.
    """
    n_groups = int(of_row.max(initial=0)) + 1
    groups, items, nodes = _read_mapping(result, itemsets, tree, leaves, n_groups)
    became = np.full((n_groups, itemsets.n_items), -1, np.int32)
    became[groups, items] = nodes
    check_mapping(result, itemsets, _recoding(became, itemsets, tree, of_row))
    return became


def published_occurrences(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, of_row: NDArray[Any]
) -> Codes:
    """Read the node of each occurrence, -1 if it is suppressed; as `published_nodes`, for many groups."""
    groups, items, nodes = _read_mapping(result, itemsets, tree, leaves, int(of_row.max(initial=0)) + 1)
    keys = groups * np.int64(itemsets.n_items) + items
    order = np.argsort(keys, kind="stable")
    wanted = of_row[itemsets.rows] * np.int64(itemsets.n_items) + itemsets.codes
    places = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return nodes[order][places]


def _read_mapping(
    result: Anonymized, itemsets: Itemsets, tree: Hierarchy, leaves: Codes, n_groups: int
) -> tuple[Numbers, Codes, Codes]:
    """Read the group, the item and the node of each line of a mapping table."""
    mapping = result.mapping
    items = itemsets.lookup(arrow_values(mapping["item"]))
    number = {label: node for node, label in enumerate(tree.labels)}
    labels, texts = pd.factorize(mapping["generalized"])
    nodes = np.array([*(number.get(text, tree.n_nodes) for text in texts), -1], np.int32)[labels]
    groups = mapping["group"].to_numpy()
    if (items < 0).any():
        raise other_frame(f"{int((items < 0).sum())} other items")
    if (nodes == tree.n_nodes).any() or ((groups < 0) | (groups >= n_groups)).any():
        raise _other_recoding()
    leaf = leaves[items]
    if not ((nodes < 0) | ((nodes <= leaf) & (leaf < nodes + tree.size[nodes]))).all():
        raise _other_recoding()
    return groups.astype(np.int64), items, nodes


def check_mapping(result: Anonymized, itemsets: Itemsets, recoding: Recoding) -> None:
    """Check that a recoding of a column reproduces the mapping of a result."""
    if not equal_mappings(mapping_table(itemsets, recoding), result.mapping):
        raise other_frame("items with other supports")


def _recoding(became: Codes, itemsets: Itemsets, tree: Hierarchy, groups: NDArray[Any] | None) -> Recoding:
    if groups is None:
        return Recoding.of_cut(became[0], tree)
    return Recoding.of_cut(became[groups[itemsets.rows], itemsets.codes], tree, groups.astype(np.int32))


def equal_mappings(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether two mapping tables are equal, whatever their text types."""
    if len(one) != len(other):
        return False
    items, others = (item_texts(mapping_values(table, "item")) for table in (one, other))
    labels, published = (mapping_labels(table, pa.string()) for table in (one, other))
    number = pc.index_in(published.dictionary, value_set=labels.dictionary).fill_null(len(labels.dictionary))
    same = np.append(to_numpy(number), -1)[number_texts(published)]
    return (
        items.equals(others)
        and np.array_equal(number_texts(labels), same)
        and all(np.array_equal(one[name], other[name]) for name in ("group", "support"))
    )


def _other_recoding() -> ParameterError:
    return ParameterError(
        "the release has labels that are not nodes of its hierarchy",
        where="result",
        hint="pass the result with its own hierarchy, unchanged",
    )
