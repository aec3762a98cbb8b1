"""Meaning of labels: the levels of a hierarchy on which the items of a label are below one node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Itemsets, Numbers
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.mapping import is_kept, mapping_labels, mapping_values


def level_shares(mapping: pd.DataFrame, hierarchy: HierarchyLike) -> pd.DataFrame:
    """Return the shares of all and of changed occurrences whose label stays on each level."""
    reached, supports, height = _lowest_levels(mapping, hierarchy)
    every, changed = np.arange(height + 1), ~is_kept(mapping).to_numpy(np.bool_)
    within = (reached[:, None] >= every) * supports[:, None]
    shares = [within[some].sum(axis=0) / max(supports[some].sum(), 1) for some in (slice(None), changed)]
    table = {"level": every, "occurrences": shares[0], "changed": shares[1] if changed.any() else np.nan}
    return pd.DataFrame(table)


def lost_levels(mapping: pd.DataFrame, hierarchy: HierarchyLike) -> float:
    """Return the mean share of the levels that an occurrence leaves: 0 if it is kept, 1 if deleted."""
    # In integers up to the division, so that releases of equal loss compare equal.
    reached, supports, height = _lowest_levels(mapping, hierarchy)
    return int((height - reached) @ supports) / max((height + 1) * int(supports.sum()), 1)


def _lowest_levels(mapping: pd.DataFrame, hierarchy: HierarchyLike) -> tuple[Numbers, Numbers, int]:
    """Return the lowest level of each line of a mapping, its support, and the height of the hierarchy."""
    items = mapping_values(mapping, "item")
    single = Itemsets.from_arrow(pa.LargeListArray.from_arrays(np.arange(len(items) + 1), items))
    tree, leaves = Hierarchy.over(hierarchy, single.vocabulary)
    labels = number_texts(mapping_labels(mapping, items.type))
    reached = np.where(is_kept(mapping), tree.height, -1)
    lines = np.flatnonzero((reached < 0) & (labels >= 0))
    lines = lines[np.argsort(labels[lines], kind="stable")]
    paths = tree.node_paths[leaves[single.codes[lines]]]
    starts = np.flatnonzero(np.diff(labels[lines], prepend=-1))
    if len(lines):
        least, most = (extreme.reduceat(paths, starts) for extreme in (np.minimum, np.maximum))
        shared = ((least == most) & (least >= 0)).sum(axis=1)
        reached[lines] = np.repeat(shared - 1, np.diff(starts, append=len(lines)))
    return reached, mapping["support"].to_numpy(np.int64), tree.height
