"""Generalization hierarchies of items and values.

``sources`` builds trees from files, frames, dicts and rules, and compares leaves with values; ``tree`` is the
hierarchy that algorithms use.
"""

from pdanon.hierarchy.sources import Form, Nodes
from pdanon.hierarchy.tree import Hierarchy, HierarchyLike, Missing

__all__ = ["Form", "Hierarchy", "HierarchyLike", "Missing", "Nodes"]
