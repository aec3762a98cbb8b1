"""Hierarchy: item taxonomies and value generalization hierarchies.

``sources`` reads what people have; ``tree`` is what the algorithms work on, with what ``arrays`` says of each
node; ``forms`` says what leaves are compared as; ``drawing`` shows its upper part.
"""

from pdanon.hierarchy.sources import Form, Nodes
from pdanon.hierarchy.tree import Hierarchy, HierarchyLike, Missing

__all__ = ["Form", "Hierarchy", "HierarchyLike", "Missing", "Nodes"]
