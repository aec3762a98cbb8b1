"""Generalization hierarchies of items and values."""

from pdanon.hierarchy.sources import Form, Nodes
from pdanon.hierarchy.tree import Hierarchy, HierarchyLike, Missing

__all__ = ["Form", "Hierarchy", "HierarchyLike", "Missing", "Nodes"]
