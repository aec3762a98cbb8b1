"""Arrays: what the parents of a tree's nodes, numbered in pre-order, say of each node."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.lists import Offsets, offsets_of
from pdanon.itemsets.values import is_integer, shown

__all__ = ["Nodes", "check_node", "children_of", "depths", "frozen", "levels", "path_up", "subtree_sums"]

Nodes: TypeAlias = NDArray[np.int32]


def frozen(values: Any, dtype: Any) -> NDArray[Any]:
    """A copy that cannot be written to."""
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


def check_node(node: Any, n_nodes: int) -> None:
    """Check that there is such a node."""
    if not is_integer(node) or not 0 <= node < n_nodes:
        raise ParameterError("there is no such node", where="node", got=f"{shown(node)}, {n_nodes} nodes")


def depths(parent: Nodes) -> Nodes:
    """Number of edges from the root to each node."""
    depth = [0] * len(parent)
    for node, above in enumerate(parent[1:].tolist(), start=1):
        depth[node] = depth[above] + 1
    return frozen(depth, np.int32)


def subtree_sums(parent: Nodes, own: list[int]) -> Nodes:
    """Sum of a number of each node over the nodes of each subtree; the list is used up."""
    above = parent.tolist()
    for node in range(len(own) - 1, 0, -1):
        own[above[node]] += own[node]
    return frozen(own, np.int32)


def children_of(parent: Nodes) -> tuple[Offsets, Nodes]:
    """Where the children of each node begin, and the children, in order."""
    nodes = np.argsort(parent, kind="stable")[1:]
    return offsets_of(np.bincount(parent[1:], minlength=len(parent))), frozen(nodes, np.int32)


def path_up(parent: Nodes, node: int) -> Nodes:
    """Nodes from a node, itself first, up to the root."""
    path = [node]
    while path[-1]:
        path.append(int(parent[path[-1]]))
    return np.array(path, np.int32)


def levels(parent: Nodes, nodes: Nodes, height: int) -> list[Nodes]:
    """Some nodes, their parents, and so on; -1 beyond the root."""
    above = np.append(parent, np.int32(-1))  # -1 finds this last entry, and stays -1
    found = [nodes]
    for _ in range(height):
        found.append(above[found[-1]])
    return found
