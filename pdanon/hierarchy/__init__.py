"""Hierarchy: item taxonomies and value generalization hierarchies.

``sources`` reads what people have; ``tree`` is what the algorithms work on.
"""

from pdanon.hierarchy.sources import Nodes
from pdanon.hierarchy.tree import Hierarchy, HierarchyLike, Missing

__all__ = ["Hierarchy", "HierarchyLike", "Missing", "Nodes"]
