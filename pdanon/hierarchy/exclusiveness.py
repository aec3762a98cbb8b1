"""Domain exclusiveness: of a node and a node above it, at most one is published."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.hierarchy.tree import Hierarchy
from pdanon.itemsets.codes import Itemsets, Numbers, item_texts
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.support import SupportIndex


def nested_labels(itemsets: Itemsets, tree: Hierarchy) -> pd.DataFrame:
    """List the labels of some rows that are below another label of some rows, as pairs, in pre-order.

    Labels that the hierarchy lacks, such as sensitive items, are ignored.
    """
    supports = np.zeros(tree.n_nodes + 1, np.int64)
    texts = item_texts(itemsets.vocabulary)
    node = to_numpy(pc.index_in(texts, value_set=pa.array(tree.labels, texts.type)).fill_null(-1))
    supports[node] = SupportIndex.of(itemsets).singles
    lower = np.flatnonzero(supports[:-1] > 0)  # the last element is that of other labels
    upper: Numbers = lower
    found = []
    for _ in range(tree.height):
        upper = tree.parent[upper].astype(np.int64)
        lower, upper = lower[upper >= 0], upper[upper >= 0]
        both = supports[upper] > 0
        found.append(np.stack((upper[both], lower[both])))
    above, below = np.concatenate(found, axis=1) if found else np.empty((2, 0), np.int64)
    order = np.lexsort((below, above))
    above, below = above[order], below[order]
    names = np.array([*tree.labels], object)
    return pd.DataFrame(
        {
            "label": pd.Series(names[above], dtype="str"),
            "support": supports[above],
            "below": pd.Series(names[below], dtype="str"),
            "support_below": supports[below],
        }
    )
