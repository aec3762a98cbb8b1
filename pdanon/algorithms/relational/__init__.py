"""Relational quasi-identifiers: encoding, classes, and the algorithms that form them.

``attributes`` and ``quasi`` are the door in, ``publishing`` is the door out, and each other file is one
algorithm: a public function, the decision that it applies, and its record, which has both.
"""

from __future__ import annotations

from pdanon.algorithms.registry import register
from pdanon.algorithms.relational import cluster, full_subtree, incognito, k_member, mondrian, top_down

__all__: list[str] = []

# In the order in which they are listed.
_FILES = (cluster, k_member, mondrian, top_down, incognito, full_subtree)
register(*(each.RECORD for each in _FILES))
